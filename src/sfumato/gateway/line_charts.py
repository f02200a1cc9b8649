"""Lines over times or numbers: one for each series, with bands or whiskers, broken where a point is missing.

Comes in: the marks of each line, sorted, and the places of all rows. Goes out: SVG. A line of many rows is thinned by
keeping the lowest and the highest of neighbouring rows, so that no peak is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

from sfumato.gateway.chart_axes import fit, gaps, number_name, text_width, ticks, time_ticks, value_ticks
from sfumato.gateway.chart_frame import TOP, WIDTH, ChartText, chart_svg, legend, marker, whisker
from sfumato.gateway.chart_marks import Mark

_MOST_POINTS = 600
_MOST_WHISKERS = 60
_MARKERS = 10
"""About so many markers on a line with many points."""
_FEW_LABELS, _SHORT = 6, 4
_HEIGHT, _LEFT, _BOTTOM = 202, 64, 44


class Spot(NamedTuple):
    """A mark in the drawing, and in which piece of its line it is."""

    mark: Mark
    piece: int
    x: float
    y: float
    low: float
    high: float


def has_bands(lines: Mapping[str, Sequence[Mark]]) -> bool:
    """Whether there are too many points for whiskers."""
    return sum(map(len, lines.values())) > _MOST_WHISKERS


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


def line_chart(
    text: ChartText, lines: Mapping[str, Sequence[Mark]], places: Mapping[float, str], *, timed: bool
) -> str:
    """The lines with their axes, and a legend if there are several keys. `places` names each place of the axis."""
    marks = [mark for line in lines.values() for mark in line]
    steps = value_ticks(min(m.low for m in marks), max(m.high for m in marks), from_zero=False)
    low, high, at = steps[0], steps[-1], sorted(places)
    names, down = legend(text.head, list(lines), lines=True) if text.head else ([], 0.0)
    top, wide = TOP + down, WIDTH - _LEFT - 16
    whiskers = len(lines) > 1 and not has_bands(lines)
    apart = min(6.0, 0.7 * wide / len(at) / len(lines)) if whiskers else 0.0
    margin = apart * len(lines) / 2

    def across(x: float) -> float:
        return _LEFT + margin + (x - at[0]) / ((at[-1] - at[0]) or 1.0) * (wide - 2 * margin)

    def up(y: float) -> float:
        return top + (high - y) / (high - low) * _HEIGHT

    parts = [*names]
    for step in steps:
        kind = "zero" if step == 0 else "line"
        parts.append(f'<line x1="{_LEFT}" x2="{WIDTH - 16}" y1="{up(step):.1f}" y2="{up(step):.1f}" class="{kind}"/>')
        name = number_name(step)
        parts.append(f'<text x="{_LEFT - 6}" y="{up(step) + 4:.1f}" text-anchor="end" class="quiet">{name}</text>')
    for i, line in enumerate(lines.values()):
        shift = (i - (len(lines) - 1) / 2) * apart
        pieces = gaps([mark.at for mark in line], at)
        spots = {
            id(mark): Spot(mark, piece, across(mark.at) + shift, up(mark.value), up(mark.low), up(mark.high))
            for mark, piece in zip(line, pieces, strict=True)
        }
        kept = [spots[id(mark)] for mark in thin(line)]
        drawn = _curve(kept, bands=not whiskers)
        drawn += _markers(kept, i, len(lines), whiskers=whiskers) if text.head else []
        parts += [f'<g class="series-{i}">' if text.head else "<g>", *drawn, "</g>"]
    parts += _axis(places, across, top + _HEIGHT, timed=timed)
    middle = f'<text x="{_LEFT + wide / 2:.0f}" y="{top + _HEIGHT + 36:.0f}" text-anchor="middle" class="quiet">'
    parts.append(f"{middle}{escape(fit(text.axis, wide))}</text>")
    more = [f"The axis starts at {number_name(low)}, not at 0."] if low > 0 else []
    description = f"Lines with confidence intervals, {len(marks)} rows."
    return chart_svg(text, description, top + _HEIGHT + _BOTTOM + 12, parts, more)


def _curve(spots: Sequence[Spot], *, bands: bool) -> list[str]:
    """The pieces of a line, as one path, and its band below it."""
    pieces = [part for _, group in groupby(spots, key=lambda spot: spot.piece) if len(part := list(group)) > 1]
    band = "".join(
        _path([*((s.x, s.high) for s in part), *((s.x, s.low) for s in reversed(part))]) + "Z" for part in pieces
    )
    line = "".join(_path([(spot.x, spot.y) for spot in part]) for part in pieces)
    alone = {spot.piece for spot in spots} - {spot.piece for part in pieces for spot in part}
    dots = [f'<circle cx="{s.x:.1f}" cy="{s.y:.1f}" r="2" class="dot"/>' for s in spots if s.piece in alone]
    return [*([f'<path d="{band}" class="band"/>'] if bands else []), f'<path d="{line}" class="curve"/>', *dots]


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "".join(f"{'L' if i else 'M'}{x:.1f},{y:.1f}" for i, (x, y) in enumerate(points))


def _markers(spots: Sequence[Spot], i: int, lines: int, *, whiskers: bool) -> list[str]:
    """The shape of a series at each point, with its whisker; at about ten of many points, each line's at its own."""
    every = 1 if whiskers else max(1, round(len(spots) / _MARKERS))
    parts = []
    for spot in spots[every * i // lines :: every]:
        words = f"<title>{escape(spot.mark.name)}: {escape(spot.mark.text)}</title>"
        ends = whisker((spot.x, spot.low), (spot.x, spot.high)) if whiskers else []
        parts += ["<g>", words, *ends, marker(i, spot.x, spot.y), "</g>"]
    return parts


def _axis(places: Mapping[float, str], across: Callable[[float], float], y: float, *, timed: bool) -> list[str]:
    """Labels at round times or numbers, or at the rows where they are few; none runs into another."""
    parts, free = [], 0.0
    for at, name in _labels(places, timed=timed):
        words = fit(name, 150)
        x, half = across(at), text_width(words) / 2
        middle = min(max(x, half + 2), WIDTH - half - 2)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" y2="{y + 4:.1f}" class="line"/>')
        if middle - half >= free:
            label = f'<text x="{middle:.1f}" y="{y + 20:.1f}" text-anchor="middle" class="quiet">'
            parts.append(f"{label}{escape(words)}</text>")
            free = middle + half + 6
    return parts


def _labels(places: Mapping[float, str], *, timed: bool) -> list[tuple[float, str]]:
    at = sorted(places)
    short = len(at) <= 2 * _FEW_LABELS and max(map(len, places.values())) <= _SHORT
    if len(at) == 1 or (not timed and (len(at) <= _FEW_LABELS or short)):
        return [(x, places[x]) for x in at]
    if timed:
        names = time_ticks(at[0], at[-1])
    else:
        names = [(x, number_name(x)) for x in ticks(at[0], at[-1]) if at[0] <= x <= at[-1]]
    return names if len(names) > 1 else [(at[0], places[at[0]]), (at[-1], places[at[-1]])]
