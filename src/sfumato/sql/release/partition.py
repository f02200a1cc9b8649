"""Whom a question can be about: the cells of the policy's partition of people that it touches (semantics 5.3).

Comes in: the releases of a question. Goes out: the cells that hold everybody whose rows can change its answer, or None
for everybody.

Guarantee: a person whose cell is not among those named changes no exact sum of the question.
Proof: the partition is a column of a table in which each person has one row; who has more is left out of every scan of
    that table, before any condition, so each row of it that reaches a release holds its person's one value. Such a row
    passes the conditions that `keys.groups` applies, so that value is among the ones that pass; where an outer join may
    have put NULL in its place, nothing is concluded from a NULL. Joins keep persons of both sides, or of the preserved
    one; a union has those of its parts.
Reference: McSherry, SIGMOD 2009 (parallel composition).
Checked by: laws::who_is_not_in_a_touched_cell_changes_nothing, unit::cells_are_those_that_the_condition_leaves
"""

from __future__ import annotations

import json
from typing import Any

from sfumato.algebra import group_keys
from sfumato.algebra.public_rows import PublicRows
from sfumato.algebra.relations import Filter, Join, MarkJoin, Relation, Release, Scan, UnionAll, below, scans_in
from sfumato.policy import Policy

Cells = frozenset[Any] | None
"""Values of the partition's column; None is everybody."""


def cells_of(releases: list[Release], policy: Policy, rows: PublicRows) -> tuple[str, ...] | None:
    """The names of the cells that these releases touch together."""
    if policy.privacy.partition is None:
        return None
    found: frozenset[Any] = frozenset()
    for release in releases:
        touched = _touched(release.below, policy.privacy.partition, rows)
        if touched is None:
            return None
        found |= touched
    declared = policy.tables[policy.privacy.partition[0]].columns[policy.privacy.partition[1]]
    if declared.values is not None and found >= {*declared.values, None}:
        return None
    return tuple(sorted(json.dumps(value, default=str) for value in found)) or None


def _touched(relation: Relation, partition: tuple[str, str], rows: PublicRows) -> Cells:
    if isinstance(relation, Scan | Release):
        return None
    parts = [_touched(part, partition, rows) for part in _carried(relation)]
    if isinstance(relation, UnionAll) or (isinstance(relation, Join) and relation.kind == "full"):
        cells: Cells = None if None in parts else frozenset().union(*(part for part in parts if part is not None))
    else:
        cells = None
        for part in parts:
            cells = _both(cells, part)
    if isinstance(relation, Filter | Join):
        for scan in scans_in(relation):
            name = f"{scan.number}.{partition[1]}"
            column = relation.columns.get(name)
            if scan.table.name != partition[0] or column is None or group_keys.is_open(column, relation):
                continue
            values = frozenset(row[0] for row in group_keys.groups(relation, [column], rows))
            if None not in values or not group_keys.may_miss(
                relation, scan
            ):  # an outer join's NULL says nothing of her cell
                cells = _both(cells, values)
    return cells


def _both(one: Cells, other: Cells) -> Cells:
    if one is None or other is None:
        return one if other is None else other
    return one & other


def _carried(relation: Relation) -> tuple[Relation, ...]:
    """The private relations below whose persons are the relation's own."""
    parts = below(relation)
    if isinstance(relation, MarkJoin) or (isinstance(relation, Join) and relation.kind == "left"):
        parts = parts[:1]
    return tuple(part for part in parts if part.private)
