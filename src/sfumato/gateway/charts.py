"""The chart of an answer as SVG: bars with whiskers for categories, a line with its band for times and many numbers.

Comes in: an Answer, and which columns to draw. Goes out: a Chart, which a notebook shows and `save` writes. A line of
many rows is thinned by keeping the lowest and the highest of neighbouring rows, so that no peak is lost. Whiskers and
bands are the confidence intervals of the answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError
from sfumato.gateway.rounding import around, many, plain
from sfumato.pictures import STYLE

if TYPE_CHECKING:
    from sfumato.gateway.answer import Answer

MOST_BARS = 40
"""Categories that are drawn as bars; of more, the first so many, and the chart says so."""
_MOST_POINTS = 600
_FEWEST_POINTS = 13
"""Numbers from so many rows on are a line; fewer are bars."""
_FEW_LABELS = 6
_MOST_SERIES = 5
"""Lines in one chart, one for each combination of the other keys; more are drawn as bars."""
_CODE = re.compile(r"(^|_)(zip|zipcode|postcode|postal|plz|code|id|ward|district)(_|$)", re.IGNORECASE)
"""Whole numbers that are names: they have bars, as in the console."""
_SEPARATOR = " · "
_TIMES = ("date", "timestamp")
_WIDTH, _ROW, _TOP, _NAMES, _VALUES = 560, 24, 34, 130, 96
_HEIGHT, _LEFT, _BOTTOM = 280, 64, 44
_EXTRA = """
.sfumato-picture .bar { fill: var(--in); opacity: 0.75; }
.sfumato-picture .whisker { stroke: var(--ink); stroke-width: 1.3; }
.sfumato-picture .band { fill: var(--in); opacity: 0.18; stroke: none; }
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """One row of a chart: its key, also as text and as a number for a line; its value and the ends of its interval.

    The name has all keys of the row; the series those besides the one that is drawn over.
    """

    key: Any
    name: str
    at: float
    value: float
    low: float
    high: float
    text: str
    series: str = ""


@dataclass(frozen=True)
class Chart:
    """An SVG chart; notebooks display it."""

    svg: str

    def __repr__(self) -> str:
        return f"<Chart: SVG of {len(self.svg):,} characters; .save(path) writes it>"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the SVG to a file."""
        place = Path(path)
        place.write_text(self.svg, encoding="utf-8")
        return place


def pick(answer: Answer, x: str | None, y: str | None) -> tuple[int | None, int]:
    """The columns to draw: by default the first noisy number over the first column that is not noisy."""
    names = list(answer.columns)
    for name, what in ((x, "x"), (y, "y")):
        if name is not None and name not in names:
            raise InputError(f'{what}: there is no column "{name}"', hint=f"The columns are {', '.join(names)}.")
    numbers = [i for i, kind in enumerate(answer.types) if kind in ("bigint", "numeric")]
    keys = [i for i, noisy in enumerate(answer.noisy) if not noisy]
    if y is not None and names.index(y) not in numbers:
        raise InputError(f'y: column "{y}" does not hold numbers')
    first = names.index(x) if x is not None else next(iter(keys), None)
    drawn = [i for i in numbers if i != first]
    value = names.index(y) if y is not None else next((i for i in drawn if answer.noisy[i]), next(iter(drawn), None))
    if value is None:
        raise InputError("this answer has no column of numbers to draw")
    return first, value


def marks_of(answer: Answer, key: int | None, value: int) -> list[Mark]:
    """The rows that can be drawn: those with a finite number that is not called unknown."""
    result = []
    others = _other_keys(answer, key)
    for place, (row, ends, unknown) in enumerate(zip(answer.rows, answer.intervals(), answer.untold(), strict=True)):
        interval = ends[value]
        if row[value] is None or unknown[value] or not math.isfinite(float(row[value])):
            continue
        low, high = (float(row[value]),) * 2 if interval is None else (float(interval[0]), float(interval[1]))
        series = _SEPARATOR.join(plain(row[i]) for i in others)
        name = _SEPARATOR.join(plain(row[i]) for i in ([] if key is None else [key, *others]))
        at = float(place) if key is None else _number(row[key], place)
        text = " ".join(part for part in around(row[value], interval) if part)
        result.append(Mark(None if key is None else row[key], name, at, float(row[value]), low, high, text, series))
    return result


def _other_keys(answer: Answer, key: int | None) -> list[int]:
    """The columns without noise besides the one that is drawn over: without them two bars would have one name."""
    return [] if key is None else [i for i, noisy in enumerate(answer.noisy) if not noisy and i != key]


def _number(key: Any, place: int) -> float:
    if isinstance(key, datetime):
        return key.timestamp() if key.tzinfo else (key - datetime(1970, 1, 1)).total_seconds()  # noqa: DTZ001  naive is UTC
    if isinstance(key, date):
        return float((key - date(1970, 1, 1)).days) * _DAY
    if key is None:
        return math.nan
    return float(place) if isinstance(key, bool | str) else float(key)


def is_line(answer: Answer, key: int | None) -> bool:
    """Whether the rows are points of a line: over times, or over more numbers than fit as bars."""
    if key is None:
        return False
    kind, others = answer.types[key], _other_keys(answer, key)
    if len({tuple(row[i] for i in others) for row in answer.rows}) > _MOST_SERIES:
        return False
    if kind == "bigint" and _CODE.search(answer.columns[key]):
        return False
    points = len({row[key] for row in answer.rows})
    return kind in ("date", "timestamp") or (kind in ("bigint", "numeric") and points >= _FEWEST_POINTS)


def draw(answer: Answer, x: str | None = None, y: str | None = None) -> Chart:
    """The chart of an answer."""
    key, value = pick(answer, x, y)
    marks, title = marks_of(answer, key, value), answer.columns[value]
    if not marks:
        raise InputError("this answer has no row to draw")
    by = [] if key is None else [key, *_other_keys(answer, key)]
    head = f"{title} by {', '.join(answer.columns[i] for i in by)}" if by else title
    left_out = sum(unknown[value] for unknown in answer.untold())
    missing = [many(left_out, "unknown number")] if left_out else []
    if is_line(answer, key):
        points = _points(marks)
        if points:
            missing += ["NULL"] if len(points) < len(marks) else []
            head = f"{head} ({' and '.join(missing)} not drawn)" if missing else head
            return Chart(_line(head, points, answer.columns[key or 0], timed=answer.types[key or 0] in _TIMES))
    return Chart(_bars(f"{head} ({missing[0]} not drawn)" if missing else head, marks))


def _points(marks: Sequence[Mark]) -> list[Mark]:
    """The marks that have a place on the axis of a line, in order; a NULL has none."""
    return sorted((mark for mark in marks if math.isfinite(mark.at)), key=lambda mark: mark.at)


def _by_series(marks: Sequence[Mark]) -> dict[str, list[Mark]]:
    """The marks of each line."""
    series: dict[str, list[Mark]] = {}
    for mark in marks:
        series.setdefault(mark.series, []).append(mark)
    return series


def draw_on(axes: Any, answer: Answer, x: str | None, y: str | None) -> Any:
    """The same on axes of matplotlib, which it returns."""
    key, value = pick(answer, x, y)
    marks = marks_of(answer, key, value)
    if is_line(answer, key):
        series = _by_series(_points(marks))
        for name, points in series.items():
            label = {"label": name} if name else {}
            axes.errorbar([mark.key for mark in points], [mark.value for mark in points], yerr=_errors(points), **label)
        if len(series) > 1:
            axes.legend()
    else:
        names, values = [mark.name for mark in marks], [mark.value for mark in marks]
        axes.bar(names, values, yerr=_errors(marks), capsize=4)
    if key is not None:
        axes.set_xlabel(answer.columns[key])
    axes.set_ylabel(answer.columns[value])
    return axes


def _errors(marks: Sequence[Mark]) -> list[list[float]]:
    """How far each interval goes below and above its value, as matplotlib wants it."""
    return [[mark.value - mark.low for mark in marks], [mark.high - mark.value for mark in marks]]


def thin(marks: Sequence[Mark], most: int = _MOST_POINTS) -> list[Mark]:
    """At most so many points: of neighbouring rows the lowest and the highest, in their order."""
    if len(marks) <= most:
        return list(marks)
    size = math.ceil(2 * len(marks) / most)
    kept: list[Mark] = []
    for start in range(0, len(marks), size):
        part = list(enumerate(marks[start : start + size]))
        ends = {min(part, key=lambda one: one[1].value)[0], max(part, key=lambda one: one[1].value)[0]}
        kept += [mark for place, mark in part if place in ends]
    return kept


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


def _said(number: float) -> str:
    return f"{number:,.0f}" if number == round(number) and abs(number) < 1e15 else f"{number:,.6g}"


def _frame(title: str, description: str, height: int) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}"',
        'class="sfumato-picture" role="img">',
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc><style>{STYLE}{_EXTRA}</style>",
        f'<rect width="{_WIDTH}" height="{height}" class="paper"/>',
        f'<text x="8" y="20" class="heading">{escape(_cut(title, 70))}</text>',
    ]


def _bars(title: str, marks: Sequence[Mark]) -> str:
    shown = marks[:MOST_BARS]
    low = min(0.0, *(mark.low for mark in shown), *(mark.value for mark in shown))
    high = max(0.0, *(mark.high for mark in shown), *(mark.value for mark in shown))
    span, room = (high - low) or 1.0, _WIDTH - _NAMES - _VALUES - 16
    left = _NAMES + 8

    def place(number: float) -> float:
        return left + (number - low) / span * room

    height = _TOP + _ROW * len(shown) + (26 if len(marks) > len(shown) else 10)
    parts = _frame(title, f"Bars with confidence intervals, {len(shown)} of {len(marks)} rows.", height)
    for i, mark in enumerate(shown):
        y = _TOP + _ROW * i
        start, end = sorted((place(0), place(mark.value)))
        middle = y + _ROW / 2 - 2
        parts += [
            f"<g><title>{escape(mark.name)}: {escape(mark.text)}</title>",
            f'<text x="{_NAMES}" y="{middle + 4:.1f}" text-anchor="end">{escape(_cut(mark.name, 18))}</text>',
            f'<rect x="{start:.1f}" y="{y + 3}" width="{max(end - start, 0.5):.1f}" height="{_ROW - 10}" class="bar"/>',
            *_whisker(place(mark.low), place(mark.high), middle),
            f'<text x="{_WIDTH - 6}" y="{middle + 4:.1f}" text-anchor="end" class="quiet">{escape(mark.text)}</text>',
            "</g>",
        ]
    if len(marks) > len(shown):
        more = f"the first {len(shown)} of {len(marks):,} rows"
        parts.append(f'<text x="8" y="{height - 8}" class="quiet">{more}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _whisker(start: float, end: float, y: float) -> list[str]:
    if end <= start:
        return []
    lines = ((start, y, end, y), (start, y - 4, start, y + 4), (end, y - 4, end, y + 4))
    return [f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}" class="whisker"/>' for a, b, c, d in lines]


def _line(title: str, marks: Sequence[Mark], axis: str, *, timed: bool) -> str:
    lines = {name: thin(points) for name, points in _by_series(marks).items()}
    points = [point for line in lines.values() for point in line]
    steps = ticks(min(0.0, *(m.low for m in points)), max(0.0, *(m.high for m in points)))
    low, high = steps[0], steps[-1]
    first, last = marks[0].at, marks[-1].at
    wide, tall = _WIDTH - _LEFT - 16, _HEIGHT - _BOTTOM - _TOP
    top = _TOP + (_ROW if len(lines) > 1 else 0)
    height = top + tall + _BOTTOM

    def across(x: float) -> float:
        return _LEFT + (x - first) / ((last - first) or 1.0) * wide

    def place(x: float, y: float) -> str:
        return f"{across(x):.1f},{top + (high - y) / (high - low) * tall:.1f}"

    parts = _frame(title, f"Lines with confidence bands, {len(marks)} rows.", height)
    for step in steps:
        y = top + (high - step) / (high - low) * tall
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - 16}" y1="{y:.1f}" y2="{y:.1f}" class="line"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" class="quiet">{_said(step)}</text>')
    for i, line in enumerate(lines.values()):
        band = [place(m.at, m.high) for m in line] + [place(m.at, m.low) for m in reversed(line)]
        curve = " ".join(place(m.at, m.value) for m in line)
        parts.append(f'<polygon points="{" ".join(band)}" class="band"/>')
        parts.append(f'<polyline points="{curve}" class="curve{f" curve-{i}" if i else ""}"/>')
    parts += _legend(list(lines)) if len(lines) > 1 else []
    for at, name in _axis_names(marks, timed=timed):
        x, words = across(at), escape(_cut(name, 24))
        half = 3.4 * len(words)
        anchor = "start" if x < half else "end" if x + half > _WIDTH else "middle"
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top + tall}" y2="{top + tall + 4}" class="line"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 24}" text-anchor="{anchor}" class="quiet">{words}</text>')
    middle = f'<text x="{_LEFT + wide / 2:.0f}" y="{height - 8}" text-anchor="middle" class="quiet">'
    parts.append(f"{middle}{escape(_cut(axis, 60))}</text>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _axis_names(marks: Sequence[Mark], *, timed: bool) -> list[tuple[float, str]]:
    """Where the axis of a line is labelled: at round times or numbers, or at the rows where they are few."""
    first, last = marks[0].at, marks[-1].at
    rows = {mark.at: plain(mark.key) for mark in marks}
    if len(rows) <= _FEW_LABELS and not timed:
        return list(rows.items())
    names = time_ticks(first, last) if timed else [(x, _said(x)) for x in ticks(first, last) if first <= x <= last]
    return names if len(names) > 1 else [(first, rows[first]), (last, rows[last])]


def _legend(names: Sequence[str]) -> list[str]:
    """A short piece of each line, and its name, below the title."""
    parts, room = [], (_WIDTH - 16) / len(names)
    for i, name in enumerate(names):
        x, y = 8 + i * room, _TOP + 4
        line = f'<line x1="{x:.1f}" x2="{x + 22:.1f}" y1="{y}" y2="{y}" class="curve{f" curve-{i}" if i else ""}"/>'
        parts.append(f'{line}<text x="{x + 28:.1f}" y="{y + 4}">{escape(_cut(name, int((room - 34) / 6.5)))}</text>')
    return parts


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
