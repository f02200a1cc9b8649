"""Grouping sets: what ROLLUP, CUBE and GROUPING SETS stand for, and the GROUPING function."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from math import prod

from sqlglot import exp

from sfumato.algebra.functions import call
from sfumato.algebra.tree import INTEGER, Column, Facts, Node
from sfumato.errors import QueryError
from sfumato.sql.bind.constants import constant
from sfumato.sql.read.parser import place

MOST_SETS = 64


_MOST_CUBED = 6


def check_sets(group: exp.Expression) -> None:
    """Refuse more grouping sets than are answered, before any key is looked at."""
    sets = prod(_count(item) for item in group.expressions)
    if sets > MOST_SETS:
        raise QueryError(f"there are more than {MOST_SETS} grouping sets", position=place(group))


def _count(item: exp.Expression) -> int:
    """How many grouping sets one item of GROUP BY stands for."""
    if isinstance(item, exp.Rollup):
        return len(item.expressions) + 1
    if isinstance(item, exp.Cube):
        if len(item.expressions) > _MOST_CUBED:
            raise QueryError("CUBE takes at most six keys", position=place(item))
        return int(2 ** len(item.expressions))
    return sum(_count(part) for part in item.expressions) if isinstance(item, exp.GroupingSets) else 1


def grouping_sets(item: exp.Expression, number: Callable[[exp.Expression], int]) -> list[tuple[int, ...]]:
    """The grouping sets that one item of GROUP BY stands for."""

    def members(part: exp.Expression) -> tuple[int, ...]:
        if isinstance(part, exp.Tuple):
            return tuple(number(inner) for inner in part.expressions)
        return (number(part.this if isinstance(part, exp.Paren) else part),)

    if isinstance(item, exp.Rollup):
        parts = [members(part) for part in item.expressions]
        return [tuple(i for part in parts[:kept] for i in part) for kept in range(len(parts), -1, -1)]
    if isinstance(item, exp.Cube):
        parts = [members(part) for part in item.expressions]
        chosen = [c for kept in range(len(parts), -1, -1) for c in combinations(parts, kept)]
        return [tuple(i for part in choice for i in part) for choice in chosen]
    if isinstance(item, exp.GroupingSets):
        return [choice for part in item.expressions for choice in grouping_sets(part, number)]
    return [members(item)]


def grouping(
    nodes: list[Node], keys: list[Node], sets: tuple[tuple[int, ...], ...], number: int, position: int
) -> Node:
    """GROUPING(a, b): a bit for each key, set where the row is over all of its values."""
    for node in nodes:
        if node not in keys:
            raise QueryError("GROUPING needs keys of GROUP BY", position=position, sqlstate="42803")
    values = [sum((keys.index(n) not in kept) << i for i, n in enumerate(reversed(nodes))) for kept in sets]
    if len(sets) == 1:
        return constant(values[0], position)
    which = Column(f"{number}.set", Facts(INTEGER, grid=Fraction(1), nullable=False))
    args: list[Node] = []
    for i, value in enumerate(values[:-1]):
        args += [call("=", (which, constant(i))), constant(value)]
    return call("case", (*args, constant(values[-1])), "", position)
