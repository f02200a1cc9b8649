"""Queries that show no row, whatever the rows are: LIMIT 0, WHERE false, WHERE 1 = 0.

Comes in: a bound query. Goes out: the same columns over no row at all. Tools ask such queries to learn names and types;
they read no table, so they cost nothing, also where rows of persons would stand.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.algebra.relations import (
    Distinct,
    Filter,
    Fixed,
    Join,
    Limited,
    MarkJoin,
    Projection,
    Relation,
    RelationShape,
    SingleRow,
    Windowed,
)
from sfumato.algebra.tree import BOOLEAN, TEXT, Call, Column, Constant, Facts, Node, conjuncts
from sfumato.sql.bind.bound_query import Bound

NEVER = Constant(False, Facts(BOOLEAN, nullable=False))
_ORDERED = {"=": (0,), "<>": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}


def without_rows(bound: Bound) -> Bound | None:
    """The query over no row, where its text says that it shows none; else None.

    Guarantee: what comes back has the columns of the query and reads no table.
    Proof: it is a selection from the one row without columns by a condition that is the constant FALSE.
    Reference: semantics 2.4: whether a query is answered depends on its text and the policy alone.
    Checked by: unit::a_query_that_shows_no_row_reads_nothing
    """
    if bound.limit != 0 and not is_empty(bound.relation):
        return None
    nothing = Filter(
        RelationShape({}, False, 0, (frozenset(),)), SingleRow(RelationShape({}, False, 1, (frozenset(),))), NEVER
    )
    items = tuple((name, Constant(None, replace(node.facts, nullable=True))) for name, node in bound.items)
    return Bound(nothing, items)


def is_empty(relation: Relation) -> bool:
    """Whether a relation has no row, by constants in its conditions alone."""
    if isinstance(relation, Filter):
        return any(map(_never, conjuncts(relation.condition))) or is_empty(relation.below)
    if isinstance(relation, Limited):
        return relation.limit == 0 or is_empty(relation.below)
    if isinstance(relation, Projection | Windowed | Distinct | Fixed | MarkJoin):
        return is_empty(relation.below)
    if isinstance(relation, Join):
        sides = {"inner": (relation.left, relation.right), "left": (relation.left,)}.get(relation.kind, ())
        never = relation.kind == "inner" and any(map(_never, conjuncts(relation.on)))
        return never or any(map(is_empty, sides))
    return False


def is_unlisted(node: Node) -> bool:
    """Whether a condition equates a column with texts that its list does not have: it holds for no row and no group."""
    match node:
        case Call("or", args):
            return all(map(is_unlisted, args))
        case Call("=", (Constant() as value, Column() as column)):
            values: tuple[Node, ...] = (value,)
        case Call("=" | "in", (Column() as column, *rest)):
            values = tuple(rest)
        case _:
            return False
    listed = column.facts.values if column.facts.kind == TEXT else None
    return listed is not None and all(isinstance(v, Constant) and v.value not in listed for v in values)


def _never(node: Node) -> bool:  # noqa: PLR0911  one answer for each form of a condition
    """Whether a condition holds for no row, by its constants."""
    if isinstance(node, Constant):
        return node.value is False or node.value is None
    if isinstance(node, Call) and node.name == "not":
        return isinstance(node.args[0], Constant) and node.args[0].value is not False
    if isinstance(node, Call) and node.name in _ORDERED:
        values = [arg.value for arg in node.args if isinstance(arg, Constant)]
        if len(values) < 2:
            return False
        if None in values:
            return True
        try:
            order = int(values[0] > values[1]) - int(values[0] < values[1])  # type: ignore[operator]
        except TypeError:
            return False
        return order not in _ORDERED[node.name]
    return False
