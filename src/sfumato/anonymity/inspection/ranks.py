"""The orders in which a column can have been sorted: as numbers, as dates in usual forms, as texts.

Comes in: the cells of a column as text. Goes out: for each order the ranks of the rows. Cells that are empty, or not of
the kind, stand before all others or behind them, as engines put them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime

_DATES = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y",
          "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")  # fmt: skip
"""Forms of dates whose order is not that of their texts."""
_PART = 0.5
"""Which part of the cells that are not empty must be of a kind for the column to be read as such."""

_TRIED = 40
"""Cells that are tried before all of them are read."""


def ranks_of(texts: Sequence[str]) -> list[list[float]]:
    """The ranks of the rows in every order that the column can be read in, each order once."""
    values = set(texts)
    filled = sorted(text for text in values if text.strip())
    readings: list[dict[str, float]] = []
    some = filled[:: max(1, len(filled) // _TRIED)]
    for read in (_number, *(_date(form) for form in _DATES)):
        if sum(read(text) is not None for text in some) < _PART / 2 * len(some):
            continue
        found = {text: number for text in filled if (number := read(text)) is not None}
        if len(found) < max(1.0, _PART * len(filled)):
            continue
        ends = (math.inf, -math.inf) if len(found) < len(values) else (math.inf,)
        readings += [{text: found.get(text, end) for text in values} for end in ends]
    ordered = sorted(values)
    readings.append({text: float(i) for i, text in enumerate(ordered)})
    if "" in values:
        readings.append({text: math.inf if text == "" else float(i) for i, text in enumerate(ordered)})
    kept: dict[tuple[int, ...], list[float]] = {}
    for one in readings:
        kept.setdefault(_shape(one, ordered), [one[text] for text in texts])
    return list(kept.values())


def _shape(ranks: dict[str, float], ordered: Sequence[str]) -> tuple[int, ...]:
    """An order without its numbers, by which two readings are compared."""
    place = {number: i for i, number in enumerate(sorted(set(ranks.values())))}
    return tuple(place[ranks[text]] for text in ordered)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _date(form: str) -> Callable[[str], float | None]:
    def read(text: str) -> float | None:
        try:
            return float(datetime.strptime(text.strip(), form).toordinal())  # noqa: DTZ007  a day has no zone
        except ValueError:
            return None

    return read
