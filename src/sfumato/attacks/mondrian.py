"""A small k-anonymous release: classes of at least k rows, cut at medians (Mondrian; LeFevre and others, ICDE 2006).

Comes in: rows, the quasi-identifiers and k. Goes out: the rows with each quasi-identifier replaced by its range or set
in the class. It is a defence to attack, not the product's own release.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]


def generalize(rows: Sequence[Row], quasi: Sequence[str], secret: str, k: int) -> list[Row]:
    """The release: quasi-identifiers generalised, the secret as it is, everything else left out."""
    released: list[Row] = []
    for part in _parts(list(rows), list(quasi), k):
        shown = {column: _range([row[column] for row in part]) for column in quasi}
        released += [{**shown, secret: row[secret]} for row in part]
    return released


def _parts(rows: list[Row], quasi: list[str], k: int) -> list[list[Row]]:
    """Cut along the column with the most different values, as long as both halves keep k rows."""
    stack, done = [rows], []
    while stack:
        part = stack.pop()
        for column in sorted(quasi, key=lambda c: -len({repr(row[c]) for row in part})):
            ordered = sorted(part, key=lambda row: _order(row[column]))
            middle = _order(ordered[len(ordered) // 2][column])
            low = [row for row in ordered if _order(row[column]) < middle]
            high = [row for row in ordered if _order(row[column]) >= middle]
            if len(low) >= k and len(high) >= k:
                stack += [low, high]
                break
        else:
            done.append(part)
    return done


def _order(value: Any) -> tuple[int, Any]:
    """NULL first, then numbers, then everything else by its text."""
    if value is None:
        return (0, 0)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (1, value)
    return (2, str(value))


def _range(values: list[Any]) -> Any:
    distinct = sorted(set(values), key=_order)
    if len(distinct) == 1:
        return distinct[0]
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in distinct):
        return f"{distinct[0]}..{distinct[-1]}"
    if len(distinct) > 12 or any(v is None or "|" in str(v) for v in distinct):
        return "*"
    return "|".join(str(v) for v in distinct)
