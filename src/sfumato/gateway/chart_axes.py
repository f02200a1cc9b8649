"""Axes of charts: where numbers and times are marked, what fits beside them, and where a line is broken.

Comes in: the ends of an axis, or the places of rows on it. Goes out: ticks with their names, and texts that are cut.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from datetime import UTC, date, datetime
from itertools import pairwise

_WIDE_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZmw@%<>&+=")


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from at or below `low` to at or above `high`: steps of 1, 2 or 5 times a power of ten."""
    span = (high - low) or abs(high) or 1.0
    rough = span / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, max(last, first + 1) + 1)]


_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_TIME_STEPS = (_MINUTE, 5 * _MINUTE, 15 * _MINUTE, _HOUR, 3 * _HOUR, 6 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY)
_MONTH_STEPS = (1, 3, 6, 12, 24, 60, 120, 300, 600, 1200, 6000, 12000)
_MONTH = 30.44 * _DAY


def time_ticks(first: float, last: float, most: int = 6) -> list[tuple[float, str]]:
    """Beginnings of years, months, days or hours between two times in seconds since 1970, with their names.

    >>> day = 86400
    >>> [name for _, name in time_ticks(18262 * day, 20058 * day)], time_ticks(0, 3 * day)[1]
    (['2020', '2021', '2022', '2023', '2024'], (86400, '1970-01-02'))
    """
    span = last - first
    step = next((size for size in _TIME_STEPS if span / size <= most), None)
    if step is not None:
        start = math.ceil(first / step)
        times = [i * step for i in range(start, math.floor(last / step) + 1)]
        return [(at, _moment(at)[:10] if step >= _DAY else _moment(at)[5:16].replace("T", " ")) for at in times]
    months = next((n for n in _MONTH_STEPS if span / (n * _MONTH) <= most), _MONTH_STEPS[-1])
    begin, found = datetime.fromtimestamp(first, UTC), []
    month = begin.year * 12 // months * months
    while (
        month // 12 <= date.max.year
        and (at := datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC).timestamp()) <= last
    ):
        if at >= first:
            found.append((at, f"{month // 12:04}" if months % 12 == 0 else f"{month // 12:04}-{month % 12 + 1:02}"))
        month += months
    return found


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def number_name(number: float) -> str:
    """A number at an axis.

    >>> number_name(1200.0), number_name(0.25)
    ('1,200', '0.25')
    """
    return f"{number:,.0f}" if number == round(number) and abs(number) < 1e15 else f"{number:,.6g}"


def value_ticks(low: float, high: float, *, from_zero: bool) -> list[float]:
    """The ticks of an axis of values: with 0, or where a line is far above 0 compared with its span from below it on.

    >>> [value_ticks(low, low + 2, from_zero=zero)[0] for low, zero in ((3, False), (40, False), (40, True))]
    [0.0, 40.0, 0.0]
    """
    if not from_zero and high > low > 2 * (high - low):
        return ticks(low, high)
    return ticks(min(0.0, low), max(0.0, high))


def usual_step(places: Sequence[float]) -> float | None:
    """The step between sorted places if three quarters of all steps are about as long as their median."""
    steps = sorted(b - a for a, b in pairwise(places))
    if not steps:
        return None
    usual = steps[len(steps) // 2]
    alike = sum(abs(step - usual) <= usual / 4 for step in steps)
    return usual if alike >= 0.75 * len(steps) else None


def gaps(at: Sequence[float], places: Sequence[float]) -> list[int]:
    """For each point of a line the number of its piece: a new one after a place that it lacks, or after a long step.

    >>> gaps([1, 2, 4], [1, 2, 3, 4]), gaps([1, 2, 3, 4, 9], [1, 2, 3, 4, 9]), gaps([1, 2, 9, 30], [1, 2, 9, 30])
    ([0, 0, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0])
    """
    index, usual, piece, result = {place: i for i, place in enumerate(places)}, usual_step(places), 0, []
    for i, here in enumerate(at):
        if i:
            before = at[i - 1]
            piece += index[here] - index[before] > 1 or (usual is not None and here - before > 1.5 * usual)
        result.append(int(piece))
    return result


def text_width(text: str) -> float:
    """About how many units a text of 12 units takes: signs of East Asia and pictures are twice as wide as letters."""
    return sum(
        13.0 if unicodedata.east_asian_width(c) in "WF" else 9.8 if c in _WIDE_LETTERS else 7.2
        for c in text
        if not unicodedata.combining(c)
    )


def fit(text: str, room: float) -> str:
    """As much of a text as fits.

    >>> fit("Cardiology", 60), fit("Cardiology", 200)
    ('Cardio…', 'Cardiology')
    """
    if text_width(text) <= room:
        return text
    cut = text
    while cut and text_width(cut) + 10 > room:
        cut = cut[:-1]
    return f"{cut}…"


def wrapped(text: str, room: float) -> list[str]:
    """A text in lines that fit."""
    lines: list[str] = []
    for part in text.split():
        if lines and text_width(f"{lines[-1]} {part}") <= room:
            lines[-1] += f" {part}"
        else:
            lines.append(fit(part, room))
    return lines
