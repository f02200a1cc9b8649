"""Whether a value is surely not NULL in the rows of a relation, by its facts and by the conditions on those rows.

Comes in: a value and the relation whose columns it reads. Goes out: yes, or no where it cannot be told. Nothing here
reads a row: which groups a release has is known only after the charge.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.algebra.functions import call
from sfumato.algebra.relations import Distinct, Filter, Fixed, Grouped, Join, Limited, Projection, Relation, Release
from sfumato.algebra.relations import Windowed as Windows
from sfumato.algebra.tree import Call, Column, Constant, Node, conjuncts
from sfumato.interrupts import step

_STRICT = ("=", "<>", "<", "<=", ">", ">=", "in", "like", "ilike", "starts_with", "regexp_like")
"""Tests that are not true of NULL."""


def never_null(value: Node, relation: Relation, *conditions: Node | None) -> bool:
    """Whether a value has no NULL in the rows of which the conditions are true."""
    if not value.facts.nullable or any(_excludes(test, value) for where in conditions for test in conjuncts(where)):
        return True
    if isinstance(value, Call) and all(never_null(arg, relation, *conditions) for arg in value.args):
        return not call(value.name, tuple(map(_known, value.args)), value.extra).facts.nullable
    return isinstance(value, Column) and _never(value, relation)


def _known(node: Node) -> Node:
    return node if isinstance(node, Constant) else replace(node, facts=replace(node.facts, nullable=False))


def _never(column: Column, relation: Relation) -> bool:
    step()
    if isinstance(relation, Filter):
        return never_null(column, relation.below, relation.condition)
    if isinstance(relation, Projection):
        return _of_item(column, relation.items, relation.below)
    if isinstance(relation, Grouped | Release):
        kept = [key for i, key in enumerate(relation.keys) if all(i in chosen for chosen in relation.sets)]
        return _of_item(column, tuple(kept), relation.below)
    if isinstance(relation, Windows | Limited | Distinct | Fixed):
        return _below(column, relation.below)
    if isinstance(relation, Join):
        sides = {"inner": (relation.left, relation.right), "left": (relation.left,), "right": (relation.right,)}
        return any(_below(column, side) for side in sides.get(relation.kind, ()))
    return False


def _below(column: Column, relation: Relation) -> bool:
    return column.name in relation.columns and _never(column, relation)


def _of_item(column: Column, items: tuple[tuple[str, Node], ...], below: Relation) -> bool:
    """A column that the items name, by what it is made of."""
    return any(name == column.name and never_null(node, below) for name, node in items)


def _excludes(test: Node, value: Node) -> bool:
    """Whether a test is not true where the value is NULL."""
    if not isinstance(test, Call):
        return False
    if test.name == "not" and isinstance(test.args[0], Call) and test.args[0].name == "is null":
        return _same(test.args[0].args[0], value)
    if test.name in ("and", "or"):
        return (any if test.name == "and" else all)(_excludes(part, value) for part in test.args)
    return test.name in _STRICT and any(_same(arg, value) for arg in test.args[:2])


def _same(a: Node, b: Node) -> bool:
    return a == b or (isinstance(a, Column) and isinstance(b, Column) and a.name == b.name)
