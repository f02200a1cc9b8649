"""Expressions: names become columns with their facts, operators and functions become calls, aggregates are bound.

Comes in: the parser's nodes, and what names mean in this SELECT. Goes out: nodes of our tree. Refuses names that the
policy does not have (42703), types that do not go together (42883), and what is not of this kind (0A000).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sfumato.algebra.functions import call
from sfumato.algebra.relations import SingleRow
from sfumato.algebra.tree import (
    BOOLEAN,
    HALF,
    INTEGER,
    NULL,
    Column,
    Constant,
    Facts,
    Node,
    Over,
    has,
)
from sfumato.errors import InputError, Obstacle, QueryError
from sfumato.interrupts import step
from sfumato.sql.bind import (
    aggregate_calls,
    bits,
    casts_and_times,
    comparisons,
    json_texts,
    named_functions,
    operators,
    window_calls,
    zone_times,
)
from sfumato.sql.bind.aggregate_calls import aggregate
from sfumato.sql.bind.aggregate_names import aggregate_name
from sfumato.sql.bind.casts_and_times import as_text
from sfumato.sql.bind.constants import (
    SURELY,
    coerced,
    constant,
)
from sfumato.sql.bind.points import declared_point
from sfumato.sql.bind.scope import Scope
from sfumato.sql.read.parser import place
from sfumato.sql.read.spelling import spelled
from sfumato.types import as_written

_MOST_NODES = 30_000


Aggregator = Callable[[str, tuple[Node, ...], Node | None, int], Node]
"""Name, arguments, FILTER and place: an aggregate of the kind that stands here, or what is computed of several."""
WindowFacts = Callable[[str, tuple[Node, ...], int], Facts]
"""Name, arguments and place: what is known of a window function here."""
SubQuery = Callable[[str, exp.Expression, Scope, tuple[Node, ...], int], Node]
"""Kind (exists, in, value and those of `quantified`), the query, the row around it, what IN compares, and its place."""


class Expressions:
    """The expressions of one SELECT; without an aggregator, aggregates are not allowed here."""

    def __init__(
        self,
        scope: Scope,
        today: date,
        sub: SubQuery | None = None,
        aggregator: Aggregator | None = None,
        windows: WindowFacts | None = None,
    ) -> None:
        self.scope, self.today, self.sub = scope, today, sub
        self.aggregator, self.windows = aggregator, windows
        self.grouping: Callable[[list[Node], int], Node] | None = None
        self.titles: dict[str, Node] = {}
        """What the select list shows under names that no column has: ORDER BY, HAVING and QUALIFY may say them."""
        self.asked: set[int] = set()
        """Which tests of a condition only matter where they are true."""
        self.met = 0

    def column(self, node: exp.Column) -> Node:
        """What a name stands for; the unit is a column like others here."""
        if isinstance(node.this, exp.Star):
            raise rows_refused(node)
        owner = None if node.args.get("table") is None else fold(node.args["table"])
        point = declared_point(self.scope, owner, fold(node.this), place(node))
        if point is not None:
            return point
        name, folded = fold(node.this), not is_quoted(node.this)
        if owner is None and name in self.titles and self.scope.look(None, name, place(node), folded=folded) is None:
            return replace(self.titles[name], position=place(node))
        found = self.scope.find(owner, name, place(node), folded=folded)
        return replace(found, position=place(node))

    def condition(self, clause: exp.Expression | None) -> Node | None:
        """A WHERE or FILTER: a condition without aggregates."""
        if clause is None:
            return None
        self.asked |= {id(test) for test in _only_true(clause.this)}
        node = self.node(clause.this)
        if has(node, Over):
            raise QueryError(
                "window functions are not allowed in WHERE",
                position=place(clause),
                obstacle=Obstacle.WINDOW,
                sqlstate="42P20",
            )
        if node.facts.kind not in (BOOLEAN, NULL):
            raise QueryError("WHERE needs a condition", position=place(clause), sqlstate="42804")
        return node

    def node(self, node: exp.Expression) -> Node:
        """A node of our tree for one of the parser's."""
        step()
        self.met += 1
        if self.met > _MOST_NODES:
            raise QueryError("this query is too large", sqlstate="54001", hint="Split it into several queries.")
        build = _KINDS.get(type(node))
        if build is None:
            raise QueryError(f"{spelled(node)} is not supported here", position=place(node))
        return build(self, node)

    def function(self, name: str, *args: exp.Expression, extra: str = "", at: exp.Expression) -> Node:
        """A function or operator applied to its arguments."""
        nodes = coerced(name, tuple(self.node(arg) for arg in args))
        whole = self._whole_person(nodes) if name == "coalesce" else None
        if whole is not None:
            return replace(whole, position=place(at))
        if name in ("/", "%", "div") and isinstance(nodes[1], Constant) and nodes[1].value == 0 and self._alone():
            raise QueryError("division by zero", position=place(at), sqlstate="22012")
        if name == "negate" and isinstance(nodes[0], Constant) and isinstance(nodes[0].value, int | Fraction):
            return constant(-nodes[0].value, place(at))
        if name == "/":
            return _divided(nodes, place(at))
        return call(name, nodes, extra, place(at))

    def _alone(self) -> bool:
        """Whether no table is read here: then an error is PostgreSQL's, and not the NULL that rows get."""
        return isinstance(self.scope.relation, SingleRow)

    def _whole_person(self, nodes: tuple[Node, ...]) -> Column | None:
        """COALESCE of the persons of both sides of a FULL JOIN is the person."""
        halves = [n.unit.split(":") for n in nodes if isinstance(n, Column) and n.unit.startswith(HALF)]
        joins = {number for _, number, _ in halves}
        if len(halves) != len(nodes) or len(joins) != 1 or {side for _, _, side in halves} != {"l", "r"}:
            return None
        return self.scope.relation.columns.get(f"{joins.pop()}.unit")

    def literal(self, node: exp.Expression) -> Node:
        """A written number or text."""
        if node.is_string:
            return constant(node.this, place(node))
        if len(node.this) <= SURELY and node.this.isdecimal() and node.this.isascii():
            return constant(int(node.this), place(node))
        try:
            number = as_written(node.this)  # which refuses exponents that would fill the memory
        except InputError:
            raise QueryError("this is not a number", position=place(node), sqlstate="42601") from None
        if len(node.this) > 60 or abs(number) > 10**30 or number.denominator > 10**30:
            raise QueryError(
                "a number may have at most 30 digits on each side of the decimal point",
                position=place(node),
                sqlstate="22003",
            )
        whole = number.denominator == 1 and "." not in node.this and "e" not in node.this.lower()
        return constant(int(number) if whole else number, place(node))

    def subquery(self, kind: str, query: exp.Expression, operands: tuple[Node, ...], at: exp.Expression) -> Node:
        """A sub-query in an expression."""
        if self.sub is None:
            raise QueryError("a sub-query is not allowed here", position=place(at), hint="Put it into WHERE.")
        return self.sub(kind, query, self.scope, operands, place(at))

    def text(self, node: exp.Expression) -> Node:
        """A value as text: whole numbers, truths and times as PostgreSQL prints them."""
        return as_text(self.node(node))


def _divided(nodes: tuple[Node, ...], position: int) -> Node:
    """a / b. What EXTRACT gives, divided by a written number, stays exact, so that it can be a key."""
    quotient = call("/", nodes, "", position)
    by = nodes[1].value if isinstance(nodes[1], Constant) else None
    if not nodes[0].facts.numeric or quotient.facts.kind == INTEGER or not isinstance(by, int | Fraction) or by == 0:
        return quotient
    return call("*", (nodes[0], constant(1 / Fraction(by), nodes[1].position)), "", position)


def _only_true(tree: exp.Expression) -> Iterator[exp.Expression]:
    """The tests of a condition, joined by AND and OR alone: one that is not known there might as well be false."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, exp.And | exp.Or):
            waiting += [part.this, part.expression]
        elif isinstance(part, exp.Paren):
            waiting.append(part.this)
        else:
            yield part


def rows_refused(node: exp.Expression) -> QueryError:
    """The refusal of a star."""
    return QueryError(
        "SELECT * would return rows of individual people; only aggregates are allowed",
        position=place(node),
        sqlstate="42501",
        hint="Ask for aggregates, for example COUNT(*).",
    )


def fold(identifier: exp.Expression) -> str:
    """Unquoted names fold to lower case."""
    name = str(identifier.this if isinstance(identifier, exp.Identifier) else identifier.name)
    return name if is_quoted(identifier) else name.lower()


def is_quoted(identifier: exp.Expression) -> bool:
    """Whether a name was written in double quotes."""
    return isinstance(identifier, exp.Identifier) and bool(identifier.args.get("quoted"))


def _by_name(binds: Expressions, node: exp.Expression) -> Node:
    """A function that the parser knows by name only."""
    if json_texts.is_json(node):
        return json_texts.json_call(binds, node)
    return named_functions.by_name(binds, node) if aggregate_name(node) is None else aggregate(binds, node)


_Build = Callable[["Expressions", Any], Node]
_KINDS: dict[type[exp.Expression], _Build] = {
    exp.Column: Expressions.column,
    exp.Paren: lambda binds, node: binds.node(node.this),
    exp.Alias: lambda binds, node: binds.node(node.this),
    exp.Literal: Expressions.literal,
    exp.Boolean: lambda _, node: constant(bool(node.this), place(node)),
    exp.Null: lambda _, node: constant(None, place(node)),
    exp.Exists: lambda binds, node: binds.subquery("exists", node.this, (), node),
    exp.Subquery: lambda binds, node: binds.subquery("value", node, (), node),
    exp.Anonymous: lambda binds, node: (named_functions.by_name if aggregate_name(node) is None else aggregate)(
        binds, node
    ),
    **operators.KINDS,
    **bits.KINDS,
    **comparisons.KINDS,
    **casts_and_times.KINDS,
    **zone_times.KINDS,
    **named_functions.KINDS,
    **aggregate_calls.KINDS,
    **window_calls.KINDS,
    exp.Anonymous: _by_name,
}
