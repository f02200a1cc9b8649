"""The chart of an answer as SVG: bars with whiskers for categories, a line with its band for times and many numbers.

Comes in: an Answer, and which columns to draw. Goes out: a Chart, which a notebook shows and `save` writes. A line of
many rows is thinned by keeping the lowest and the highest of neighbouring rows, so that no peak is lost. Whiskers and
bands are the confidence intervals of the answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
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
_WIDTH, _ROW, _TOP, _NAMES, _VALUES = 560, 24, 34, 130, 96
_HEIGHT, _LEFT, _BOTTOM = 280, 64, 44
_EXTRA = """
.sfumato-picture .bar { fill: var(--in); opacity: 0.75; }
.sfumato-picture .whisker { stroke: var(--ink); stroke-width: 1.3; }
.sfumato-picture .band { fill: var(--in); opacity: 0.18; stroke: none; }
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """One row of a chart: its key, also as text and as a number for a line; its value and the ends of its interval."""

    key: Any
    name: str
    at: float
    value: float
    low: float
    high: float
    text: str


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
    for place, (row, ends, unknown) in enumerate(zip(answer.rows, answer.intervals(), answer.untold(), strict=True)):
        interval = ends[value]
        if row[value] is None or unknown[value] or not math.isfinite(float(row[value])):
            continue
        low, high = (float(row[value]),) * 2 if interval is None else (float(interval[0]), float(interval[1]))
        name = "" if key is None else plain(row[key])
        at = float(place) if key is None else _number(row[key], place)
        text = " ".join(part for part in around(row[value], interval) if part)
        result.append(Mark(None if key is None else row[key], name, at, float(row[value]), low, high, text))
    return result


def _number(key: Any, place: int) -> float:
    if isinstance(key, datetime):
        return key.timestamp() if key.tzinfo else (key - datetime(1970, 1, 1)).total_seconds()  # noqa: DTZ001  naive is UTC
    if isinstance(key, date):
        return float(key.toordinal()) * 86400
    if key is None:
        return math.nan
    return float(place) if isinstance(key, bool | str) else float(key)


def is_line(answer: Answer, key: int | None) -> bool:
    """Whether the rows are points of a line: over times, or over more numbers than fit as bars."""
    if key is None:
        return False
    kind = answer.types[key]
    return kind in ("date", "timestamp") or (kind in ("bigint", "numeric") and len(answer.rows) >= _FEWEST_POINTS)


def draw(answer: Answer, x: str | None = None, y: str | None = None) -> Chart:
    """The chart of an answer."""
    key, value = pick(answer, x, y)
    marks, title = marks_of(answer, key, value), answer.columns[value]
    if not marks:
        raise InputError("this answer has no row to draw")
    head = title if key is None else f"{title} by {answer.columns[key]}"
    left_out = sum(unknown[value] for unknown in answer.untold())
    if left_out:
        head = f"{head} ({many(left_out, 'unknown number')} not drawn)"
    if is_line(answer, key):
        known = sorted((mark for mark in marks if math.isfinite(mark.at)), key=lambda mark: mark.at)
        if known:
            return Chart(_line(head, known, answer.columns[key or 0]))
    return Chart(_bars(head, marks))


def draw_on(axes: Any, answer: Answer, x: str | None, y: str | None) -> Any:
    """The same on axes of matplotlib, which it returns."""
    key, value = pick(answer, x, y)
    marks = marks_of(answer, key, value)
    values = [mark.value for mark in marks]
    errors = [[mark.value - mark.low for mark in marks], [mark.high - mark.value for mark in marks]]
    if is_line(answer, key):
        axes.errorbar([mark.key for mark in marks], values, yerr=errors)
    else:
        axes.bar([mark.name for mark in marks], values, yerr=errors, capsize=4)
    if key is not None:
        axes.set_xlabel(answer.columns[key])
    axes.set_ylabel(answer.columns[value])
    return axes


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


def _line(title: str, marks: Sequence[Mark], axis: str) -> str:
    points = thin(marks)
    steps = ticks(min(0.0, *(m.low for m in points)), max(0.0, *(m.high for m in points)))
    low, high = steps[0], steps[-1]
    first, last = points[0].at, points[-1].at
    wide, tall, top = _WIDTH - _LEFT - 16, _HEIGHT - _BOTTOM - _TOP, _TOP

    def place(x: float, y: float) -> str:
        across = _LEFT + (x - first) / ((last - first) or 1.0) * wide
        return f"{across:.1f},{top + (high - y) / (high - low) * tall:.1f}"

    parts = _frame(title, f"A line with its confidence band, {len(marks)} rows.", _HEIGHT)
    for step in steps:
        y = top + (high - step) / (high - low) * tall
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - 16}" y1="{y:.1f}" y2="{y:.1f}" class="line"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" class="quiet">{_said(step)}</text>')
    band = [place(m.at, m.high) for m in points] + [place(m.at, m.low) for m in reversed(points)]
    parts.append(f'<polygon points="{" ".join(band)}" class="band"/>')
    parts.append(f'<polyline points="{" ".join(place(m.at, m.value) for m in points)}" class="curve"/>')
    ends = ((_LEFT, "start", points[0].name), (_WIDTH - 16, "end", points[-1].name))
    for x, anchor, text in ends:
        words = escape(_cut(text, 24))
        parts.append(f'<text x="{x}" y="{_HEIGHT - 24}" text-anchor="{anchor}" class="quiet">{words}</text>')
    middle = f'<text x="{_LEFT + wide / 2:.0f}" y="{_HEIGHT - 8}" text-anchor="middle" class="quiet">'
    parts.append(f"{middle}{escape(_cut(axis, 60))}</text>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
