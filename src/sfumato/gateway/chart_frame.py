"""What the charts of an answer share as SVG: the frame with its title, the legend, markers and the notes below.

Comes in: titles, names and notes as text of the data. Goes out: pieces of SVG in which that text is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sfumato.gateway.chart_axes import fit, text_width, wrapped
from sfumato.pictures import STYLE

WIDTH = 560
TOP = 34
"""Where the drawing starts: below the title."""
_NOTE = 16
LIGHT = ("#0f62a8", "#db3200", "#00925f", "#c672a5", "#1c2530", "#a28f46", "#1e93fb", "#6c120e")
DARK = ("#6cb4f5", "#ff9759", "#59fdc7", "#975f87", "#c5e4ff", "#ffda19", "#4062c0", "#bb363e")
"""Eight colours that stay apart for people with any colour blindness, as in the console."""


def _set(colours: Sequence[str]) -> str:
    return " ".join(f"--series-{i}: {colour};" for i, colour in enumerate(colours))


_EXTRA = (
    f"""
.sfumato-picture {{ {_set(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ .sfumato-picture {{ {_set(DARK)} }} }}
"""
    + "".join(f".sfumato-picture .series-{i} {{ --series: var(--series-{i}); }}\n" for i in range(len(LIGHT)))
    + """
.sfumato-picture .bar { fill: var(--series, var(--in)); opacity: 0.75; }
.sfumato-picture .whisker { stroke: var(--series, var(--ink)); stroke-width: 1.3; }
.sfumato-picture .bar ~ .whisker { stroke: var(--ink); }
.sfumato-picture .band { fill: var(--series, var(--in)); opacity: 0.15; stroke: none; }
.sfumato-picture .dot { fill: var(--series, var(--in)); }
.sfumato-picture .curve { stroke: var(--series, var(--in)); }
.sfumato-picture .zero { stroke: var(--quiet); }
"""
)
_SHAPES = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0Z",
    "M-3.6,-3.6H3.6V3.6H-3.6Z",
    "M0,-5L4.6,3.6H-4.6Z",
    "M0,-5.2L4.6,0L0,5.2L-4.6,0Z",
    "M-1.4,-4.8H1.4V-1.4H4.8V1.4H1.4V4.8H-1.4V1.4H-4.8V-1.4H-1.4Z",
    "M0,5L4.6,-3.6H-4.6Z",
    "M-4.4,-2.4L-2.4,-4.4L0,-2L2.4,-4.4L4.4,-2.4L2,0L4.4,2.4L2.4,4.4L0,2L-2.4,4.4L-4.4,2.4L-2,0Z",
    "M-5,-2H5V2H-5Z",
)
"""A shape for each series, for those who do not tell the colours apart."""


@dataclass(frozen=True, slots=True)
class ChartText:
    """What is written around a drawing: its title, the names of the axis and of the legend, and notes below it."""

    title: str
    axis: str = ""
    head: str = ""
    notes: tuple[str, ...] = ()


def chart_svg(text: ChartText, description: str, height: float, body: Sequence[str], more: Sequence[str] = ()) -> str:
    """A whole document: title, body and the notes below it."""
    title, lines = text.title, wrapped(" ".join([*text.notes, *more]), WIDTH - 16)
    quiet = enumerate(map(escape, lines))
    full = round(height + _NOTE * len(lines) + 6)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {full}" width="{WIDTH}"',
        'class="sfumato-picture" role="img">',
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc><style>{STYLE}{_EXTRA}</style>",
        f'<rect width="{WIDTH}" height="{full}" class="paper"/>',
        f'<text x="8" y="20" class="heading">{escape(fit(title, (WIDTH - 16) * 12 / 14))}</text>',
        *body,
        *(f'<text x="8" y="{height + _NOTE * i + 8:.0f}" class="quiet">{line}</text>' for i, line in quiet),
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def marker(i: int, x: float, y: float) -> str:
    """The mark of a series at a place."""
    return f'<path d="{_SHAPES[i % len(_SHAPES)]}" transform="translate({x:.1f} {y:.1f})" class="dot series-{i}"/>'


def legend(head: str, names: Sequence[str], *, lines: bool) -> tuple[list[str], float]:
    """The names of the series below the title, as many in a row as fit, and how high that is."""
    title = fit(head, WIDTH / 3)
    parts = [f'<text x="8" y="{TOP + 8}" class="quiet">{escape(title)}</text>']
    x, y, mark = 8 + text_width(title) + 12, TOP + 8, 30 if lines else 16
    for i, name in enumerate(names):
        text = fit(name, 280)
        room = mark + text_width(text)
        if x + room > WIDTH - 8:
            x, y = 8, y + 20
        if lines:
            parts.append(f'<line x1="{x:.1f}" x2="{x + 24:.1f}" y1="{y - 4}" y2="{y - 4}" class="curve series-{i}"/>')
        parts.append(marker(i, x + (12 if lines else 6), y - 4))
        parts.append(f'<text x="{x + mark:.1f}" y="{y}" class="name">{escape(text)}</text>')
        x += room + 12
    return parts, y + 16 - TOP


def whisker(start: tuple[float, float], end: tuple[float, float]) -> list[str]:
    """An interval between two points of one row or column, with a stop at each end."""
    (x1, y1), (x2, y2) = start, end
    if (x1, y1) == (x2, y2):
        return []
    dx, dy = (0, 4) if y1 == y2 else (3, 0)
    lines = [(x1, y1, x2, y2), (x1 - dx, y1 - dy, x1 + dx, y1 + dy), (x2 - dx, y2 - dy, x2 + dx, y2 + dy)]
    return [f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}" class="whisker"/>' for a, b, c, d in lines]
