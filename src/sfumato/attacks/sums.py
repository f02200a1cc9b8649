"""What the sums of several releases leave: intersection and subtraction, as far as bounds are passed on.

Comes in: cells of people whom no release tells apart, and sums: so many people of these cells have each value. Goes
out: for each cell the values that remain possible. Whatever is excluded is excluded in every world that fits the
releases; some things that follow only from many sums at once are not found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_ROUNDS = 30
"""How often bounds are passed on, at most."""


@dataclass(frozen=True)
class ValueSum:
    """The people of `plus` without those of `minus` have at least `values` of each, and at most `slack` more.

    `below` is how many fewer there can be, where a difference was taken of sums that are not exact.
    """

    plus: tuple[Hashable, ...]
    minus: tuple[Hashable, ...]
    values: Counter[Any]
    slack: int = 0
    below: int = 0


def possible_values(
    cells: Mapping[Hashable, int], allowed: Mapping[Hashable, set[Any] | None], sums: Sequence[ValueSum]
) -> dict[Hashable, set[Any]]:
    """For each cell the values that somebody in it can have; a cell of which anything is possible is left out.

    `allowed` has the values of a cell's own classes, None where she may be in no release.
    """
    universe = {value for one in sums for value in one.values} | {v for one in allowed.values() if one for v in one}
    high = {c: dict.fromkeys(universe if allowed[c] is None else allowed[c] or (), many) for c, many in cells.items()}
    low: dict[Hashable, dict[Any, int]] = {cell: {} for cell in cells}
    for _ in range(_ROUNDS):
        before = sum(sum(one.values()) for one in high.values()) - sum(sum(one.values()) for one in low.values())
        for one in sums:
            for value in universe:
                _pass_on(one, value, low, high)
        for cell, many in cells.items():
            _share_out(many, low[cell], high[cell], closed=allowed[cell] is not None)
        after = sum(sum(one.values()) for one in high.values()) - sum(sum(one.values()) for one in low.values())
        if any(low[cell].get(v, 0) > n for cell, one in high.items() for v, n in one.items()):
            return {}  # no world fits: the releases are not of these people, and nothing follows
        if after == before:
            break
    return {cell: {v for v, n in high[cell].items() if n > 0} for cell in cells if allowed[cell] is not None}


def _pass_on(
    one: ValueSum, value: Any, low: dict[Hashable, dict[Any, int]], high: dict[Hashable, dict[Any, int]]
) -> None:
    """Bounds of each cell from those of the others in the sum."""
    least, most = one.values[value] - one.below, one.values[value] + one.slack
    plus = [cell for cell in one.plus if high[cell].get(value, 0)]
    minus = [cell for cell in one.minus if high[cell].get(value, 0)]
    down = sum(low[cell].get(value, 0) for cell in plus) - sum(high[cell][value] for cell in minus)
    up = sum(high[cell][value] for cell in plus) - sum(low[cell].get(value, 0) for cell in minus)
    for cell in plus:
        floor, roof = low[cell].get(value, 0), high[cell][value]
        low[cell][value] = max(floor, least - (up - roof))
        high[cell][value] = min(roof, most - (down - floor))
    for cell in minus:
        floor, roof = low[cell].get(value, 0), high[cell][value]
        low[cell][value] = max(floor, (down + roof) - most)
        high[cell][value] = min(roof, (up + floor) - least)


def _share_out(many: int, low: dict[Any, int], high: dict[Any, int], *, closed: bool) -> None:
    """Bounds within a cell, whose people have one value each."""
    floors, roofs = sum(low.values()), sum(high.values())
    for value, roof in high.items():
        floor = low.get(value, 0)
        high[value] = min(roof, many - (floors - floor))
        if closed:
            low[value] = max(floor, many - (roofs - roof))
