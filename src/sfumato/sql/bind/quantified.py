"""Comparisons with every row of a sub-query: x > ALL (SELECT y …), by the largest and the smallest y.

Comes in: the operator, the operand and the sub-query; ANY is the opposite of ALL already. Goes out: a condition by the
logic of three values, exactly that of SQL: true of no row; else not known where it holds of all values but one is NULL.
Values of public and of released rows are compared, and one person's own; those of other people never are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from sfumato.algebra.functions import call
from sfumato.algebra.relations import Relation, releases_in
from sfumato.algebra.tree import BOOLEAN, NULL, Facts, Node, Sub, children
from sfumato.errors import GeneralHint, Obstacle, QueryError
from sfumato.sql.bind.bound_query import Bound, Names, SharedWith
from sfumato.sql.bind.constants import constant
from sfumato.sql.bind.joins import same_person
from sfumato.sql.read.growth import copied

ALL = "all "
"""Before an operator: a comparison with every row."""
SURE_ROWS, TRUE_ROWS = ROWS = ("in rows", "in true rows")
"""(a, b) IN (SELECT c, d …); where it only matters whether it is true, NULL may stand for false."""
_ROWS, _VALUE = "rows of ALL", "value"
_NEEDED: dict[str, tuple[type[Any], ...]] = {
    "=": (exp.Min, exp.Max), ">": (exp.Max,), ">=": (exp.Max,), "<": (exp.Min,), "<=": (exp.Min,),
}  # fmt: skip
"""By the operator: with which value of all it must hold, so that it holds with each."""
_PLAIN = ("expressions", "from_", "joins", "where")

Single = Callable[[Any, Names], Node]
"""Binds a sub-query of one value, with these names."""


@dataclass(frozen=True)
class EveryRow:
    """x > ALL (SELECT …): the operator and x, the sub-query as it was written and bound, and the rows around it."""

    operator: str
    operand: Node
    query: Any
    rows: Bound
    around: Relation
    position: int


def with_each(test: EveryRow, names: Names, single: Single) -> Node:
    """Whether a comparison holds with the value of each row of a sub-query."""
    operator, operand, rows, position = test.operator, test.operand, test.rows, test.position
    ((_, value),), inner, needed = rows.items, rows.relation, _NEEDED[operator]
    call(operator, (operand, value), "", position)  # the types must go together
    if value.facts.kind in (BOOLEAN, NULL):
        raise QueryError(
            f"ALL and ANY compare numbers, texts and times, but this is {value.facts.kind}",
            position=position,
            sqlstate="42883",
        )
    own = inner.private and test.around.private and same_person(list(rows.on), test.around, inner)[0]
    if inner.private and not own:
        raise QueryError(
            "with ALL or ANY over rows of other people, this row would depend on those people",
            position=position,
            hint=GeneralHint("Compare with one released number: x > (SELECT MAX(y) FROM …)."),
            obstacle=Obstacle.OTHERS_COMPARED,
        )
    kinds = (*needed, *((exp.LogicalOr,) if value.facts.nullable else ()))
    if rows.on:
        trees = [_in_place(test.query, kind, position) for kind in kinds]
        if len(kinds) > 1 and releases_in(inner):
            raise QueryError(
                "ALL and ANY cannot follow one row through several released numbers",
                position=position,
                hint="Compare with one of them: x > (SELECT MAX(y) FROM …).",
            )
    else:
        shared = SharedWith(replace(rows, items=((_VALUE, value),)))
        names = {**names, _ROWS: shared}
        trees = [_over_rows(kind) for kind in kinds]
    found = [single(tree, names) for tree in trees]
    if own and any(len(releases_in(one)) > len(releases_in(inner)) for node in found for one in _subs(node)):
        raise QueryError(  # by a key that is not the person's: groups of one person are suppressed, and look like none
            "ALL and ANY over a person's own rows must be correlated by the privacy unit",
            position=position,
            hint="Add that condition, or write EXISTS (SELECT 1 FROM … WHERE … AND y > x).",
        )
    ends = found[: len(needed)]
    holds: Node = call(operator, (operand, ends[0]), "", position)
    for end in ends[1:]:
        holds = call("and", (holds, call(operator, (operand, end), "", position)), "", position)
    if not value.facts.nullable:  # the largest is NULL where there is no row, and nowhere else
        return call("or", (call("is null", (ends[0],), "", position), holds), "", position)
    some_null = found[-1]
    known = call("nullif", (call("not", (some_null,), "", position), constant(False, position)), "", position)
    holds = call("and", (holds, known), "", position)
    return call("or", (call("is null", (some_null,), "", position), holds), "", position)


def among_rows(kind: str, rows: Bound, operands: tuple[Node, ...], position: int) -> Node:
    """(a, b) IN (SELECT c, d …): whether a row has all of these values."""
    values = [value for _, value in rows.items]
    if len(values) != len(operands):
        raise QueryError(
            f"the sub-query must return {len(operands)} columns, but it has {len(values)}",
            position=position,
            sqlstate="42601",
        )
    equal = tuple(call("=", pair, "", position) for pair in zip(operands, values, strict=True))
    if kind != TRUE_ROWS and any(test.facts.nullable for test in equal):
        raise QueryError(
            "a row of several nullable columns can only be used with IN in WHERE, combined by AND and OR",
            position=position,
            hint="Write NOT EXISTS (SELECT 1 FROM t WHERE t.a = x AND t.b = y).",
        )
    return Sub(
        "exists", rows.relation, (*rows.on, *equal), None, None, Facts(BOOLEAN, nullable=False), position=position
    )


def _subs(node: Node) -> Iterator[Relation]:
    """The relations of the sub-queries in an expression."""
    if isinstance(node, Sub):
        yield node.relation
    for child in children(node):
        yield from _subs(child)


def _aggregate(test: type[Any], value: Any) -> Any:
    return test(this=exp.Is(this=exp.Paren(this=value), expression=exp.Null()) if test is exp.LogicalOr else value)


def _over_rows(test: type[Any]) -> Any:
    """The aggregate over the rows that were bound: what is released in them is released once."""
    value = exp.Column(this=exp.Identifier(this=_VALUE, quoted=True))
    rows = exp.Table(this=exp.Identifier(this=_ROWS, quoted=True))
    return exp.Select(expressions=[_aggregate(test, value)], from_=exp.From(this=rows))


def _in_place(query: Any, test: type[Any], position: int) -> Any:
    """The aggregate in a sub-query about the row around it."""
    tree = copied(query)
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    plain = isinstance(tree, exp.Select) and all(not value or part in _PLAIN for part, value in tree.args.items())
    item = tree.expressions[0].unalias() if plain else None
    if item is None or item.find(exp.AggFunc, exp.Window, exp.Star) is not None:
        raise QueryError(
            "a correlated sub-query of ALL or ANY may have FROM and WHERE only",
            position=position,
            hint="Write x > (SELECT MAX(y) FROM …).",
        )
    tree.set("expressions", [_aggregate(test, copied(item))])
    return tree
