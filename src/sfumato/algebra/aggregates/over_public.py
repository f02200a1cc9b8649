"""What is known of an aggregate over public rows: released tables and public ones, where it is exact and free.

Comes in: an aggregate's name and arguments. Goes out: facts of its value; no bounds are needed.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.algebra.tree import BOOLEAN, DECIMAL, DOUBLE, INTEGER, NUMBERS, Facts, Node
from sfumato.errors import QueryError

_COUNT = Facts(INTEGER, grid=Fraction(1), nullable=False)


def counted(_: str, _args: tuple[Node, ...], _position: int) -> Facts:
    """A number of rows or of values."""
    return _COUNT


def as_double(name: str, args: tuple[Node, ...], position: int) -> Facts:
    """A double of numbers."""
    _need_numbers(name, args[:1], position)
    return Facts(DOUBLE)


def summed(name: str, args: tuple[Node, ...], position: int) -> Facts:
    """A sum; as in PostgreSQL, a sum of counts is numeric, and does not divide whole."""
    _need_numbers(name, args[:1], position)
    facts = args[0].facts
    if facts.kind == INTEGER:
        return Facts(DECIMAL, grid=facts.grid)
    return Facts(facts.kind, None, None, facts.grid, True, facts.length)


def one_of_them(_: str, args: tuple[Node, ...], _position: int) -> Facts:
    """One of the values."""
    facts = args[0].facts
    return Facts(facts.kind, facts.low, facts.high, facts.grid, True, facts.length)


def truth(name: str, args: tuple[Node, ...], position: int) -> Facts:
    """A truth of truths."""
    if args[0].facts.kind != BOOLEAN:
        raise QueryError(f"{name.upper()} needs a condition", position=position, sqlstate="42883")
    return one_of_them(name, args, position)


def of_pairs(name: str, args: tuple[Node, ...], position: int) -> Facts:
    """A correlation, covariance or regression: y, then x."""
    if len(args) != 2:
        raise QueryError(f"{name.upper()} takes two arguments", position=position, sqlstate="42883")
    _need_numbers(name, args, position)
    return _COUNT if name == "regr_count" else Facts(DOUBLE)


def _need_numbers(name: str, args: tuple[Node, ...], position: int) -> None:
    for arg in args:
        if arg.facts.kind not in NUMBERS:
            words = f"{name.upper()} needs numbers, but was given {arg.facts.kind}"
            raise QueryError(words, position=position, sqlstate="42883")
