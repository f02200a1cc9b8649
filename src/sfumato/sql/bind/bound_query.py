"""A bound query: its relation and what it shows; what SELECT, FROM and sub-queries hand to one another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol

from sqlglot import exp

from sfumato.algebra.functions.times import AGE
from sfumato.algebra.relations import Relation
from sfumato.algebra.tree import DOUBLE, INTERVAL, NULL, Node, Sorted
from sfumato.errors import QueryError
from sfumato.sql.bind.scope import Scope
from sfumato.sql.read.parser import place


@dataclass(frozen=True)
class Bound:
    """A query: its relation, what it shows, the conditions that reach outside of it, and its order."""

    relation: Relation
    items: tuple[tuple[str, Node], ...]
    on: tuple[Node, ...] = ()
    counts: frozenset[str] = frozenset()
    order: tuple[Sorted, ...] = ()
    limit: int | None = None
    offset: int = 0
    whole: bool = False
    """An aggregate of all rows: it has one row, whether or not there is any below."""


MOST_COLUMNS, MOST_AGGREGATES, MOST_KEYS, MOST_JOINS = 1664, 300, 100, 100
"""What one SELECT may have: planning grows with the square of it."""


def check_count(count: int, most: int, what: str, position: int) -> None:
    """Refuse more of something than is planned."""
    if count > most:
        raise QueryError(
            f"there are more than {most} {what}",
            position=position,
            sqlstate="54011",
            hint="Split it into several queries.",
        )


@dataclass
class SharedWith:
    """A WITH query, and how it is bound once more for a second use."""

    bound: Bound
    again: Callable[[], Bound] | None = None
    used: bool = False


Names = dict[str, SharedWith]
"""What WITH has named."""


@dataclass
class FreshNumbers:
    """Numbers that no two parts of a question have in common."""

    count: int = field(default=0)

    def next(self) -> int:
        """The next one."""
        self.count += 1
        return self.count - 1


class Queries(Protocol):
    """What binds whole queries, for those who bind their parts."""

    numbers: FreshNumbers
    fixes: FreshNumbers
    today: date

    def query(self, tree: exp.Expression | exp.Query, names: Names, outer: Scope | None) -> Bound:
        """A SELECT or a set operation."""

    def settled(self, bound: Bound, tree: exp.Expression) -> Bound:
        """A query as part of another."""

    def once(self, bound: Bound, position: int) -> Bound:
        """DISTINCT."""

    def placed(self, relation: Relation, node: Node) -> tuple[Relation, Node]:
        """The node over a relation that has every sub-query of it as a column."""

    def joins(self, first: exp.Expression, rest: list[exp.Join], names: Names, where: exp.Expression | None) -> Scope:
        """What FROM names."""


def written_count(clause: exp.Expression | None, word: str) -> int | None:
    """The whole number of LIMIT or OFFSET."""
    if clause is None:
        return None
    literal = clause.expression
    if not isinstance(literal, exp.Literal) or literal.is_string or not literal.this.isdecimal():
        raise QueryError(f"{word} needs an integer literal", position=place(clause))
    return int(literal.this[:16]) if len(literal.this) <= 16 else 10**15


def by_place(item: exp.Literal, items: list[tuple[str, Node]]) -> Node:
    """An item of the select list by its number."""
    number = int(item.this) if item.this.isdecimal() and len(item.this) < 10 else 0
    if not 1 <= number <= len(items):
        raise QueryError(f"position {item.this} is not in the select list", position=place(item), sqlstate="42P10")
    return items[number - 1][1]


def check_keys(nodes: list[Node], position: int) -> None:
    """Keys are exact values."""
    for node in nodes:
        if node.facts.kind == DOUBLE:
            raise QueryError(
                "a group key must be exact, but this is a double",
                position=node.position or position,
                hint="Write ROUND(x, 2), or FLOOR(x).",
            )
        if node.facts.kind == INTERVAL and node.facts.every == AGE:
            raise QueryError(
                "the result of age cannot be a group key: its months and days are not distinguished",
                position=node.position or position,
                hint="Group by EXTRACT(YEAR FROM age(a, b)), or by the difference a - b.",
            )
        if node.facts.kind == NULL:
            raise QueryError("a group key must not be the literal NULL", position=node.position or position)
