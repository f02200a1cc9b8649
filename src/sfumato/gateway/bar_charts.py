"""Horizontal bars with whiskers: one for each row, or groups of one colour for each value of a second key.

Comes in: the marks of an answer. Goes out: SVG. Bars start at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from sfumato.gateway.chart_axes import fit, text_width
from sfumato.gateway.chart_frame import TOP, WIDTH, ChartText, chart_svg, legend, marker, whisker
from sfumato.gateway.chart_marks import Mark

MOST_BARS = 40
"""Categories that are drawn as bars; of more, the first so many, and the chart says so."""
_MOST_GROUPED = 64
_ROW, _GROUPED_ROW, _GAP = 24, 18, 8
_NAMES, _VALUES = 130, 190


def bar_chart(text: ChartText, marks: Sequence[Mark]) -> str:
    """A bar for each mark, with its name to the left and its number to the right."""
    shown = marks[:MOST_BARS]
    place = _scale(shown, _NAMES + 8)
    parts = []
    for i, mark in enumerate(shown):
        y = TOP + _ROW * i + _ROW / 2 - 2
        name = f'<text x="{_NAMES}" y="{y + 4:.1f}" text-anchor="end">{escape(fit(mark.name, _NAMES - 8))}</text>'
        parts += ["<g>", name, *_bar(mark, place, y, 14), "</g>"]
    more = [f"Showing the first {len(shown)} of {len(marks):,} rows."] if len(marks) > len(shown) else []
    description = f"Bars with confidence intervals, {len(shown)} of {len(marks)} rows."
    return chart_svg(text, description, TOP + _ROW * len(shown) + 12, parts, more)


def grouped_bar_chart(text: ChartText, marks: Sequence[Mark], series: Sequence[str]) -> str:
    """For each group a bar of each series; where the answer has no number for it, that is written in its place."""
    groups: dict[str, dict[str, Mark]] = {}
    for mark in marks:
        groups.setdefault(mark.group, {})[mark.series] = mark
    shown = list(groups.items())[: max(1, _MOST_GROUPED // max(1, len(series)))]
    drawn = [mark for _, row in shown for mark in row.values() if mark.drawn]
    names, down = legend(text.head, series, lines=False)
    place, top, high = _scale(drawn, _NAMES + 24), TOP + down, len(series) * _GROUPED_ROW + _GAP
    parts = list(names)
    for g, (group, row) in enumerate(shown):
        middle = top + g * high + (high - _GAP) / 2 + 4
        words = escape(fit(group, _NAMES - 8))
        parts.append(
            f'<text x="{_NAMES}" y="{middle:.1f}" text-anchor="end"><title>{escape(group)}</title>{words}</text>'
        )
        for i, name in enumerate(series):
            y, found = top + g * high + (i + 0.5) * _GROUPED_ROW, row.get(name)
            parts.append(marker(i, _NAMES + 12, y))
            if found is None or not found.drawn:
                word = "no row" if found is None else "unknown"
                parts.append(f'<text x="{place(0) + 6:.1f}" y="{y + 4:.1f}" class="quiet">{word}</text>')
            else:
                parts += [f'<g class="series-{i}">', *_bar(found, place, y, 10), "</g>"]
    fewer = len(shown) < len(groups)
    more = [f"Showing the first {len(shown)} of {len(groups):,} groups (by {text.axis})."] if fewer else []
    description = f"Bars with confidence intervals, {len(drawn)} in {len(shown)} groups."
    return chart_svg(text, description, top + high * len(shown) + 8, parts, more)


def _scale(marks: Sequence[Mark], left: float) -> Callable[[float], float]:
    """Where a number stands, between the names and the numbers: 0 is on the axis."""
    low = min([0.0, *(mark.low for mark in marks), *(mark.value for mark in marks)])
    high = max([0.0, *(mark.high for mark in marks), *(mark.value for mark in marks)])
    values = min(_VALUES, 12 + max((text_width(mark.text) for mark in marks), default=0.0))
    span, room = (high - low) or 1.0, WIDTH - left - values - 8
    return lambda number: left + (number - low) / span * room


def _bar(mark: Mark, place: Callable[[float], float], y: float, height: float) -> list[str]:
    """A bar, its whisker and its number."""
    start, end = sorted((place(0), place(mark.value)))
    size = f'width="{max(end - start, 0.5):.1f}" height="{height}"'
    number = escape(fit(mark.text, _VALUES))
    return [
        f"<title>{escape(mark.name)}: {escape(mark.text)}</title>",
        f'<rect x="{start:.1f}" y="{y - height / 2:.1f}" {size} class="bar"/>',
        *whisker((place(mark.low), y), (place(mark.high), y)),
        f'<text x="{WIDTH - 6}" y="{y + 4:.1f}" text-anchor="end" class="quiet">{number}</text>',
    ]
