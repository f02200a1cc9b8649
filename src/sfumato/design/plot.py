"""Pictures in a terminal, of characters. Comes in: names and numbers. Goes out: lines of text."""

from __future__ import annotations

from collections.abc import Sequence

_PARTS = " ▏▎▍▌▋▊▉█"
_SHADES = " ░▒▓█"


def bars(names: Sequence[str], values: Sequence[float], width: int = 40) -> list[str]:
    """A bar for each number, the largest as wide as is allowed.

    >>> bars(["a", "b"], [1, 0.5], width=4)
    ['a  ████ 1', 'b  ██   0.5']
    """
    top = max(values, default=0) or 1
    first = max((len(name) for name in names), default=0)
    lines = []
    for name, value in zip(names, values, strict=True):
        eighths = round(max(value, 0) / top * width * 8)
        bar = "█" * (eighths // 8) + (_PARTS[eighths % 8] if eighths % 8 else "")
        lines.append(f"{name:<{first}}  {bar:<{width}} {value:.4g}")
    return lines


def heat(rows: Sequence[str], matrix: Sequence[Sequence[float]]) -> list[str]:
    """A matrix as shades: darker is likelier, two characters for each entry."""
    top = max((p for row in matrix for p in row), default=0) or 1
    first = max((len(name) for name in rows), default=0)
    return [
        f"{name:>{first}} │" + "".join(_SHADES[min(4, round(p / top * 4 + 0.25))] * 2 for p in row) + "│"
        for name, row in zip(rows, matrix, strict=True)
    ]
