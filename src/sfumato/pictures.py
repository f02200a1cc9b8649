"""Every chart of the house, as SVG text. This room knows nothing of mechanisms: plain numbers come in.

Comes in: outputs and their probabilities, as floats that an exact law was rounded to. Goes out: one self-contained SVG
document, light or dark as the reader's screen is, with a title and a description for those who do not see it.
"""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.errors import InputError
from sfumato.types import show

_WIDTH, _HEIGHT = 420, 322
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 412, 66, 236
"""The frame of the bars, in a drawing as wide as a telephone: text of 12 units is 11 pixels at 390."""

_WORDS = 8
"""So many names fit side by side; of more, some are shown."""

STYLE = """
.sfumato-picture { --paper: #ffffff; --ink: #1c2530; --quiet: #5a6675; --line: #d9dee5; --out: #b9c4d2;
  --out-edge: #66768a; --in: #0f62a8;
  background: var(--paper); max-width: 760px; font: 12px system-ui, -apple-system, "Segoe UI", sans-serif;
  font-variant-numeric: tabular-nums; }
@media (prefers-color-scheme: dark) {
  .sfumato-picture { --paper: #14181d; --ink: #e8ecf1; --quiet: #a3afbd; --line: #323a44; --out: #3d4856;
    --out-edge: #9aa8b8; --in: #6cb4f5; } }
.sfumato-picture text { fill: var(--ink); }
.sfumato-picture .heading { font-size: 14px; font-weight: 600; }
.sfumato-picture .quiet { fill: var(--quiet); }
.sfumato-picture .line { stroke: var(--line); stroke-width: 1; }
.sfumato-picture .out { fill: var(--out); stroke: var(--out-edge); stroke-width: 0.6; }
.sfumato-picture .in { fill: var(--in); }
.sfumato-picture .marked { fill: none; stroke: var(--ink); stroke-width: 1.5; }
.sfumato-picture .paper { fill: var(--paper); }
.sfumato-picture .curve { fill: none; stroke: var(--in); stroke-width: 2; }
.sfumato-picture .curve-1 { stroke: var(--ink); stroke-dasharray: 6 3; }
.sfumato-picture .curve-2 { stroke: var(--out-edge); }
.sfumato-picture .curve-3 { stroke: var(--in); stroke-dasharray: 2 3; }
.sfumato-picture .curve-4 { stroke: var(--ink); stroke-width: 1; }
"""


def neighbours(
    outputs: Sequence[int | str],
    bob_out: Sequence[float],
    bob_in: Sequence[float],
    *,
    epsilon: Fraction | None,
    title: str,
    axis: str,
    labels: tuple[str, str] = ("Bob out", "Bob in"),
    bare: bool = False,
) -> str:
    """The laws of two neighbouring databases side by side: what an onlooker can see of one person.

    `outputs` are the values shown, `bob_out` and `bob_in` their probabilities without and with one person's rows, and
    `epsilon` is the claim, or None where no pure claim is made. The caption gives the largest ratio among the outputs
    shown and says whether the claim allows it. `bare` leaves the style out, for a page that has STYLE already.

    >>> neighbours(["no", "yes"], [0.75, 0.25], [0.25, 0.75], epsilon=None, title="One coin", axis="answer")[:4]
    '<svg'
    """
    _check_laws(outputs, bob_out, bob_in)
    ratio = largest_ratio(bob_out, bob_in)
    caption = _caption(ratio, epsilon)
    top = _nice_top(max(*bob_out, *bob_in))
    description = (
        f"Bars show the probability of each {axis}, from {outputs[0]} to {outputs[-1]}, "
        f"for two databases: {labels[0]} and {labels[1]}. {' '.join(caption)}"
    )
    heading = textwrap.wrap(title, 46) or [""]
    below = 18 * (len(heading) - 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT + below}"',
        'class="sfumato-picture" role="img">',
        f"<title>{_escape(title)}</title>",
        f"<desc>{_escape(description)}</desc>",
        *([] if bare else [f"<style>{STYLE}</style>"]),
        f'<rect width="{_WIDTH}" height="{_HEIGHT + below}" class="paper"/>',
        *(_text(12, 24 + 18 * i, line, "heading") for i, line in enumerate(heading)),
        f'<g transform="translate(0 {below})">',
        *_legend(labels),
        *_scale(top),
        *_bars(bob_out, bob_in, top),
        *_axis(outputs, axis),
        *(_text(12, _BOTTOM + 58 + 18 * i, line) for i, line in enumerate(caption)),
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


Curve = tuple[str, Sequence[tuple[float, float]]]
"""A name, and points from left to right."""


def curves(lines: Sequence[Curve], *, title: str, axis: str, measure: str, bare: bool = False) -> str:
    """Up to five curves over one axis, told apart by colour and dashes, with their names above.

    >>> curves([("sum", [(1, 0.1), (2, 0.2)])], title="Prices", axis="questions", measure="epsilon")[:4]
    '<svg'
    """
    points = [point for _, line in lines for point in line]
    if not 1 <= len(lines) <= 5 or not points or not all(math.isfinite(x) and math.isfinite(y) for x, y in points):
        raise InputError("a picture of curves needs one to five of them, with finite points")
    if min(y for _, y in points) < 0 or max(y for _, y in points) == 0:
        raise InputError("a picture of curves needs heights from 0 on, not all of them 0")
    first, last = min(x for x, _ in points), max(x for x, _ in points)
    top = _nice_top(max(y for _, y in points))
    wide = (last - first) or 1.0

    def place(x: float, y: float) -> str:
        return f"{_LEFT + (x - first) / wide * (_RIGHT - _LEFT):.2f},{_BOTTOM - y / top * (_BOTTOM - _TOP):.2f}"

    below = 18 * ((len(lines) - 1) // 2)
    ends = "; ".join(f"{name}: {line[-1][1]:.4g} at {line[-1][0]:g}" for name, line in lines if line)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_BOTTOM + 44 + below}"',
        'class="sfumato-picture" role="img">',
        f"<title>{_escape(title)}</title>",
        f"<desc>{_escape(f'{measure} by {axis}. {ends}.')}</desc>",
        *([] if bare else [f"<style>{STYLE}</style>"]),
        f'<rect width="{_WIDTH}" height="{_BOTTOM + 44 + below}" class="paper"/>',
        _text(12, 24, _fit(title, _WIDTH - 24), "heading"),
        *_names(lines),
        f'<g transform="translate(0 {below})">',
        *_scale(top),
    ]
    for i, (_, line) in enumerate(lines):
        parts.append(f'<polyline points="{" ".join(place(x, y) for x, y in line)}" class="curve curve-{i}"/>')
    parts += [
        _text(_LEFT, _BOTTOM + 16, f"{first:g}", "quiet"),
        _text(_RIGHT, _BOTTOM + 16, f"{last:g}", "quiet", "end"),
    ]
    parts += [
        _text((_LEFT + _RIGHT) / 2, _BOTTOM + 34, _fit(f"{measure}, by {axis}", _RIGHT - _LEFT), "quiet", "middle")
    ]
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def heat(
    matrix: Sequence[Sequence[float]],
    rows: Sequence[object],
    columns: Sequence[object],
    *,
    title: str,
    axes: tuple[str, str] = ("input", "output"),
    marked: int | None = None,
    beside: Sequence[tuple[str, Sequence[float]]] = (),
    bare: bool = False,
) -> str:
    """A matrix of probabilities as a heat map: a row for each input, darker where an output is likelier.

    One column may be `marked`; lists of numbers, one for each row, may stand `beside` it as bars.

    >>> heat([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"], title="One coin")[:4]
    '<svg'
    """
    top = _check_heat(matrix, rows, columns, marked, beside)
    left, width = 66, 340.0 - 54 * len(beside)
    wide = width / len(columns)
    high = min(wide, 340 / len(rows))
    height = round(66 + high * len(rows) + 44)
    worst = f"The largest entry is {top:.4g}."
    told = "".join(f" {head}: {', '.join(f'{p:.3f}' for p in bars)}." for head, bars in beside)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" class="sfumato-picture" role="img">',
        f"<title>{_escape(title)}</title>",
        f"<desc>{_escape(f'{len(rows)} {axes[0]}s, {len(columns)} {axes[1]}s. {worst}{told}')}</desc>",
        *([] if bare else [f"<style>{STYLE}</style>"]),
        f'<rect width="{_WIDTH}" height="{height}" class="paper"/>',
        _text(12, 24, _fit(title, _WIDTH - 24), "heading"),
        _text(12, 44, _fit(f"{axes[0]} down, {axes[1]} across. {worst}", _WIDTH - 24), "quiet"),
    ]
    for i, row in enumerate(matrix):
        for j, p in enumerate(row):
            place = f'x="{left + j * wide:.2f}" y="{66 + i * high:.2f}" width="{wide:.2f}" height="{high:.2f}"'
            says = _escape(f"{axes[0]} {rows[i]}, {axes[1]} {columns[j]}: {p:.4g}")
            parts.append(f'<rect {place} class="in" fill-opacity="{p / top:.3f}"><title>{says}</title></rect>')
    parts += [
        _text(left - 6, 66 + (i + 0.5) * high + 4, _fit(str(rows[i]), left - 10), "quiet", "end")
        for i in range(0, len(rows), math.ceil(14 / high))
    ]
    every = math.ceil((max(len(_fit(str(c), 60)) for c in columns) * 7 + 6) / wide)
    for j in range((marked or 0) % every, len(columns), every):
        middle = round(left + (j + 0.5) * wide, 2)
        kind = "" if j == marked else "quiet"
        parts.append(_text(middle, 66 + high * len(rows) + 16, _fit(str(columns[j]), 60), kind, "middle"))
    if marked is not None:
        box = f'x="{left + marked * wide:.2f}" y="66" width="{wide:.2f}" height="{high * len(rows):.2f}"'
        parts.append(f'<rect {box} class="marked"/>')
    for k, (head, bars) in enumerate(beside):
        parts += _beside(left + width + 10 + 54 * k, head, bars, high, ("out", "in")[k % 2])
    return "\n".join([*parts, "</svg>"]) + "\n"


@dataclass(frozen=True)
class BarGroup:
    """Rows under a heading, each with a number for every column; without `bars` the numbers alone are shown."""

    heading: str
    rows: Sequence[tuple[str, Sequence[float]]]
    bars: bool = True


def grouped_bars(groups: Sequence[BarGroup], columns: Sequence[str], *, title: str, bare: bool = False) -> str:
    """Named rows with a bar and a number in each of one to three columns; each column has a scale of its own.

    >>> grouped_bars([BarGroup("tails", [("fair", [0.5]), ("bent", [0.7])])], ["chance"], title="Coins")[:4]
    '<svg'
    """
    drawn = [numbers for group in groups if group.bars for _, numbers in group.rows]
    every = [numbers for group in groups for _, numbers in group.rows]
    if not drawn or not 1 <= len(columns) <= 3 or any(len(numbers) != len(columns) for numbers in every):
        raise InputError("a picture of bars needs rows, and a number for each of one to three columns")
    if not all(math.isfinite(number) and number >= 0 for numbers in every for number in numbers):
        raise InputError("a picture of bars needs numbers from 0 on")
    tops = [max(*column, 1e-300) for column in zip(*drawn, strict=True)]
    names = max(len(name) for group in groups for name, _ in group.rows)
    left = min(12 + 6.6 * names + 10, _WIDTH - 90 * len(columns))
    slot = (_WIDTH - 8 - left) / len(columns)
    parts, y = [], 66.0
    for j, column in enumerate(columns):
        parts.append(_text(round(left + j * slot, 2), 50, _fit(column, slot), "quiet"))
    for group in groups:
        parts.append(_text(12, y + 12, _fit(group.heading, _WIDTH - 24), "heading"))
        y += 20
        for name, numbers in group.rows:
            parts.append(_text(16, y + 11, _fit(name, 1.15 * (left - 22)), "quiet"))
            for j, number in enumerate(numbers):
                x, wide = left + j * slot, (slot - 46) * number / tops[j] if group.bars else 0.0
                if group.bars:
                    parts.append(
                        f'<rect x="{x:.2f}" y="{y + 2:g}" width="{wide:.2f}" height="11" class="in">'
                        f"<title>{_escape(f'{group.heading}, {name}: {columns[j]} {number:.4g}')}</title></rect>"
                    )
                parts.append(_text(round(x + wide + (4 if group.bars else 0), 2), y + 12, f"{number:.3f}"))
            y += 17
        y += 8
    told = f"{' and '.join(columns)}, for {', '.join(group.heading for group in groups)}"
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y + 6:g}" class="sfumato-picture" role="img">',
        f"<title>{_escape(title)}</title>",
        f"<desc>{_escape(told)}</desc>",
        *([] if bare else [f"<style>{STYLE}</style>"]),
        f'<rect width="{_WIDTH}" height="{y + 6:g}" class="paper"/>',
        _text(12, 24, _fit(title, _WIDTH - 24), "heading"),
    ]
    return "\n".join([*head, *parts, "</svg>"]) + "\n"


def _check_heat(
    matrix: Sequence[Sequence[float]],
    rows: Sequence[object],
    columns: Sequence[object],
    marked: int | None,
    beside: Sequence[tuple[str, Sequence[float]]],
) -> float:
    """The largest entry, if all is there that is to be drawn."""
    lists = [bars for _, bars in beside]
    if not matrix or not columns or len(matrix) != len(rows) or any(len(row) != len(columns) for row in matrix):
        raise InputError("a heat map needs a number for each row and column")
    if any(len(bars) != len(rows) for bars in lists) or not (marked is None or 0 <= marked < len(columns)):
        raise InputError("a heat map needs a number for each row beside it, and a column to mark")
    top = max(p for row in matrix for p in row)
    if not all(math.isfinite(p) and p >= 0 for row in (*matrix, *lists) for p in row) or top == 0:
        raise InputError("a heat map needs numbers from 0 on, not all of them 0")
    return top


def _beside(x: float, head: str, bars: Sequence[float], high: float, kind: str) -> list[str]:
    """Bars to the right of rows, with a head below them."""
    parts = [_text(x, 66 + high * len(bars) + 16, _fit(head, 54))]
    most = max(*bars, 1e-300)
    for i, p in enumerate(bars):
        place = f'x="{x:g}" y="{66 + i * high + 1:.2f}" width="{42 * p / most:.2f}" height="{max(1.0, high - 2):.2f}"'
        parts.append(f'<rect {place} class="{kind}"><title>{p:.4g}</title></rect>')
    return parts


def _names(lines: Sequence[Curve]) -> list[str]:
    """Two names to a line, each with a piece of its curve."""
    parts = []
    for i, (name, _) in enumerate(lines):
        x, y = 12 + 200 * (i % 2), 42 + 18 * (i // 2)
        parts.append(f'<polyline points="{x},{y} {x + 24},{y}" class="curve curve-{i}"/>')
        parts.append(_text(x + 30, y + 4, _fit(name, 166)))
    return parts


def largest_ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """The largest of p/q and q/p at one output; infinity where only one of the two is possible.

    >>> largest_ratio([0.75, 0.25], [0.25, 0.75])
    3.0
    """
    worst = 1.0
    for p, q in zip(first, second, strict=True):
        low, high = min(p, q), max(p, q)
        if high > 0:
            worst = max(worst, high / low if low > 0 else math.inf)
    return worst


def _check_laws(outputs: Sequence[int | str], bob_out: Sequence[float], bob_in: Sequence[float]) -> None:
    if not outputs or not len(outputs) == len(bob_out) == len(bob_in):
        raise InputError("a picture of two distributions needs a probability of each for every output")
    for law in (bob_out, bob_in):
        if not all(math.isfinite(p) and 0 <= p <= 1 for p in law) or not any(law):
            raise InputError("a picture of two distributions needs probabilities between 0 and 1, not all of them 0")


def _caption(ratio: float, epsilon: Fraction | None) -> list[str]:
    """Two short lines: what the picture shows, and what was promised."""
    shown = "without bound" if math.isinf(ratio) else f"{ratio:.4f}"
    first = f"Largest ratio of two bars at one output: {shown}."
    if epsilon is None:
        return [first, "No epsilon is claimed for this distribution."]
    try:
        allowed = math.exp(epsilon)
    except OverflowError:
        allowed = math.inf
    claim = f"e^{show(epsilon)}" + ("" if math.isinf(allowed) else f" = {allowed:.4f}")
    if ratio <= allowed * (1 + 1e-9):  # the ratio of two rounded floats may be off in its last digits
        return [first, f"Epsilon {show(epsilon)} allows up to {claim}."]
    return [first, f"Epsilon {show(epsilon)} allows only {claim}: the claim is false."]


def _escape(text: str) -> str:
    """Text as XML: markup escaped, and characters left out that no XML document may hold."""
    allowed = (c for c in text if c in "\t\n" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff")
    return html.escape("".join(allowed))


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    kind = f' class="{kind}"' if kind else ""
    anchor = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:g}" y="{y:g}"{kind}{anchor}>{_escape(text)}</text>'


def _fit(text: str, width: float) -> str:
    """As much of a text as fits: a character of 12 units is about 7 wide. The description keeps all of it."""
    room = max(1, int(width / 7))
    return text if len(text) <= room else text[: room - 1] + "…"


def _legend(labels: tuple[str, str]) -> list[str]:
    parts, x = [], 12.0
    for label, kind in zip((_fit(label, 150) for label in labels), ("out", "in"), strict=True):
        parts.append(f'<rect x="{x:g}" y="37" width="10" height="10" class="{kind}"/>')
        parts.append(_text(x + 15, 46, label))
        x += 15 + 7 * len(label) + 20
    return parts


def _scale(top: float) -> list[str]:
    """Three quiet lines: nothing, half, and the top of the frame."""
    parts = []
    for part in (0.0, 0.5, 1.0):
        y = _BOTTOM - part * (_BOTTOM - _TOP)
        parts.append(f'<line x1="{_LEFT}" x2="{_RIGHT}" y1="{y:g}" y2="{y:g}" class="line"/>')
        parts.append(_text(_LEFT - 6, y + 4, f"{part * top:.3g}", "quiet", "end"))
    return parts


def _bars(bob_out: Sequence[float], bob_in: Sequence[float], top: float) -> list[str]:
    slot = (_RIGHT - _LEFT) / len(bob_out)
    width = min(36.0, slot * 0.42)
    parts = []
    for i, pair in enumerate(zip(bob_out, bob_in, strict=True)):
        middle = _LEFT + (i + 0.5) * slot
        for x, p, kind in ((middle - width, pair[0], "out"), (middle, pair[1], "in")):
            height = p / top * (_BOTTOM - _TOP)
            if height > 0:
                parts.append(
                    f'<rect x="{x:.2f}" y="{_BOTTOM - height:.2f}" width="{width:.2f}" height="{height:.2f}" '
                    f'class="{kind}"/>'
                )
    return parts


def _axis(outputs: Sequence[int | str], axis: str) -> list[str]:
    """Names below the bars: every word, cut to its place; of many, or of numbers, as many as fit, with zero."""
    slot = (_RIGHT - _LEFT) / len(outputs)
    names, every = [str(output).replace("-", "\u2212") if isinstance(output, int) else output for output in outputs], 1
    if all(isinstance(output, int) for output in outputs) or len(outputs) > _WORDS:
        fits = math.ceil((max(map(len, names)) * 7 + 10) / slot)
        every = next((step for step in (1, 2, 5, 10, 20, 50, 100) if step >= fits), fits)
    else:
        names = [_fit(name, slot - 4) for name in names]
    first = (names.index("0") if "0" in names else len(names) // 2) % every
    middles = {i: min(_LEFT + (i + 0.5) * slot, _WIDTH - 4 * len(names[i])) for i in range(first, len(names), every)}
    parts = [_text(round(x, 2), _BOTTOM + 16, names[i], "quiet", "middle") for i, x in middles.items()]
    return [*parts, _text((_LEFT + _RIGHT) / 2, _BOTTOM + 34, _fit(axis, _RIGHT - _LEFT), "quiet", "middle")]


def _nice_top(highest: float) -> float:
    """The next round number: 1, 2, 4, 5, 6, 8 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(highest))
    return next(step * power for step in (1, 2, 4, 5, 6, 8, 10) if step * power >= highest * (1 - 1e-12))
