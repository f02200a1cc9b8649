"""Equalities of a join condition: which expressions of one side are compared with the other side.

Comes in: the conjuncts of a condition and one side of the join. Goes out: pairs of expressions, and whether they name
at most one row of that side.
"""

from __future__ import annotations

from sfumato.algebra.functions import call
from sfumato.algebra.relations import Relation
from sfumato.algebra.tree import DOUBLE, NUMBERS, Call, Column, Node, columns_of


def equated(parts: list[Node], side: Relation) -> list[tuple[Node, Node]]:
    """Equalities between an expression of one side and one of the other: (of this side, of the other).

    Each as it is compared: beside a double an exact number is one too, and then several of its values are equal.
    """
    found = []
    for part in parts:
        if isinstance(part, Call) and part.name == "=":
            for mine, other in (part.args, part.args[::-1]):
                inside, outside = set(columns_of(mine)), set(columns_of(other))
                if inside and inside <= side.columns.keys() and not outside & side.columns.keys():
                    lossy = mine.facts.exact and other.facts.kind in NUMBERS and not other.facts.exact
                    found.append((call("cast", (mine,), DOUBLE) if lossy else mine, other))
    return found


def is_unique(side: Relation, parts: list[Node]) -> bool:
    """Whether the equalities name at most one row of this side (of a person's rows, where it is private)."""
    names = {mine.name for mine, _ in equated(parts, side) if isinstance(mine, Column)}
    return any(key <= names for key in side.shape.keys)
