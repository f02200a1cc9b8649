"""Released numbers as the ledger keeps them, and what stands for them before there are any.

Comes in: what was drawn, or stored bytes and the plan that they were drawn by. Goes out: the other of the two.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from sfumato.algebra.tree import DATE, TIMESTAMP
from sfumato.gateway.released_tables import Draws, ReleasedSet
from sfumato.sql.release.digest import Layout
from sfumato.sql.release.plan import Plan
from sfumato.sql.release.release_plan import ReleasedBundle, ReleasePlan


def write(draws: Draws, layout: Layout | None, rows: str = "") -> bytes:
    """Released numbers as they are stored, in the order of the layout; keys that JSON does not know as text.

    `rows` names the rows that they were drawn for: see `rows_of`.

    Guarantee: `read` gives the same numbers and keys, of the same types.
    Proof: whole numbers, texts and truths are JSON's own, without a limit of digits; dates and timestamps are written
        in ISO's form, and come back by the type of their key. A layout is a permutation, and is undone.
    Reference: semantics 5.2 and 5.4.
    Checked by: unit::what_is_written_is_what_was_drawn
    """
    document = [
        [{"keys": [[_plain(value) for value in key] for key in part.keys], "cells": part.cells} for part in drawn]
        for drawn in (draws if layout is None else _moved(draws, layout, _put))
    ]
    return json.dumps({"format": 2, "rows": rows, "cuts": document}, separators=(",", ":")).encode()


def rows_of(stored: bytes) -> str:
    """Which rows the numbers were drawn for; nothing where that was not kept."""
    return str(json.loads(stored).get("rows", ""))


def read(stored: bytes, asked: Plan) -> Draws:
    """What was released, in the types of the plan that it was drawn by."""
    document = json.loads(stored)
    draws = tuple(
        tuple(
            ReleasedSet(
                tuple(
                    tuple(
                        _typed(value, part.release.keys[i][1].facts.kind)
                        for i, value in zip(kept.chosen, key, strict=True)
                    )
                    for key in found["keys"]
                ),
                tuple(tuple(tuple(group) for group in bundle) for bundle in found["cells"]),
            )
            for kept, found in zip(part.parts, drawn, strict=True)
        )
        for part, drawn in zip(asked.cuts, document["cuts"], strict=True)
    )
    return draws if asked.layout is None else _moved(draws, asked.layout, _back)


Cells = tuple[Any, ...]


def _moved(draws: Draws, layout: Layout, move: Callable[[Cells, tuple[int, ...]], Cells]) -> Draws:
    """The same numbers in another order, of bundles and of groups."""
    return tuple(
        tuple(
            replace(
                one,
                cells=move(
                    one.cells if how.groups is None else tuple(move(bundle, how.groups) for bundle in one.cells),
                    how.bundles,
                ),
            )
            for one, how in zip(drawn, arranged, strict=True)
        )
        for drawn, arranged in zip(draws, layout, strict=True)
    )


def _put(items: Cells, order: tuple[int, ...]) -> Cells:
    """The items, in this order."""
    return tuple(items[i] for i in order)


def _back(items: Cells, order: tuple[int, ...]) -> Cells:
    """The items as they were before they were put into this order."""
    found = [None] * len(order)
    for item, i in zip(items, order, strict=True):
        found[i] = item
    return tuple(found)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def _typed(value: Any, kind: str) -> Any:
    """A stored key in its own type."""
    if value is None or kind not in (DATE, TIMESTAMP):
        return value
    return datetime.fromisoformat(value) if kind == TIMESTAMP else date.fromisoformat(value)


def first_groups(part: ReleasePlan) -> ReleasePlan:
    """A cut with one group in each grouping set."""
    return replace(part, parts=tuple(replace(kept, groups=kept.groups[:1]) for kept in part.parts))


def nothing(asked: Plan, rows: int | None = None) -> Draws:
    """Zeros in all groups, or in the first ones; open keys are none, or one that is NULL."""
    draws = []
    for part in asked.cuts:
        found = []
        for kept in part.parts:
            keys = ((None,) * len(kept.chosen),) if kept.chosen and rows else ()
            count = len(kept.groups[:rows]) * (len(keys) if kept.chosen else 1)
            cells = tuple((_zeros(released),) * count for released in kept.bundles)
            found.append(ReleasedSet(keys, cells))
        draws.append(tuple(found))
    return tuple(draws)


def _zeros(released: ReleasedBundle) -> tuple[int, ...]:
    """What stands for nothing: zeros, or the first candidate."""
    if released.extra is not None:
        return (released.extra.low,) if released.extra.around is None else (released.extra.low, 0)
    return (0,) * len(released.bundle.parts)
