"""What is known of an aggregate over at most so many rows of one person: below the release, before anything is noisy.

Comes in: an aggregate's name, its arguments, and how many rows of a person count. Goes out: facts of its value. What
grows with the number of rows is clamped where it is derived (semantics 1.4).
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.algebra.relations import size_of
from sfumato.algebra.tree import BOOLEAN, DECIMAL, DOUBLE, INTEGER, NUMBERS, Facts, Node
from sfumato.errors import QueryError

FINER = 2_000_000
"""A mean lies on this part of its grid; odd where it was rounded, so that comparisons are those of fractions."""


def counted(_: str, _args: tuple[Node, ...], rows: int, _position: int) -> Facts:
    """A number of rows."""
    return Facts(INTEGER, Fraction(0), Fraction(rows), Fraction(1), nullable=False)


def different(_: str, args: tuple[Node, ...], rows: int, _position: int) -> Facts:
    """Of a list there are not more values than the list has."""
    size = size_of(args[0].facts)
    most = rows if size is None else min(rows, size - args[0].facts.nullable)
    return Facts(INTEGER, Fraction(0), Fraction(most), Fraction(1), nullable=False)


def _number(name: str, args: tuple[Node, ...], position: int, most: int) -> Facts:
    """An exact bounded number whose sums fit into 127 bits."""
    facts = args[0].facts
    if facts.kind not in NUMBERS:
        raise QueryError(
            f"{name.upper()} needs numbers, but was given {facts.kind}", position=position, sqlstate="42883"
        )
    if not facts.exact or not facts.bounded or facts.grid is None:
        raise QueryError(
            f"{name.upper()} over one person's rows needs a number with bounds and a grid",
            position=position,
            hint="Declare min, max and grid in the policy, or write ROUND(LEAST(GREATEST(x, 0), 100), 2).",
        )
    if facts.largest / facts.grid >= most:
        raise QueryError(
            f"{name.upper()} of numbers this large might exceed 127 bits",
            position=position,
            hint="Declare narrower bounds or a coarser grid.",
        )
    return facts


def summed(name: str, args: tuple[Node, ...], rows: int, position: int) -> Facts:
    """A sum grows with the number of rows."""
    f = _number(name, args, position, 1 << 80)
    assert f.low is not None
    assert f.high is not None
    low, high = (end * rows if outward else end for end, outward in ((f.low, f.low < 0), (f.high, f.high > 0)))
    return Facts(f.kind, low, high, f.grid)


def averaged(name: str, args: tuple[Node, ...], _: int, position: int) -> Facts:
    """A mean, on a finer grid."""
    f = _number(name, args, position, 1 << 60)
    assert f.grid is not None
    return Facts(DECIMAL, f.low, f.high, f.grid / FINER)


def spread(name: str, args: tuple[Node, ...], _: int, position: int) -> Facts:
    """A variance or a standard deviation."""
    f = _number(name, args, position, 1 << 40)
    assert f.low is not None
    assert f.high is not None
    width = f.high - f.low
    return Facts(DOUBLE, Fraction(0), width * width if name.startswith("var") else width)


def one_of_them(_: str, args: tuple[Node, ...], _rows: int, _position: int) -> Facts:
    """One of the values."""
    f = args[0].facts
    return Facts(f.kind, f.low, f.high, f.grid, True, f.length, f.values, every=f.every)


def truth(name: str, args: tuple[Node, ...], _: int, position: int) -> Facts:
    """A truth of truths."""
    if args[0].facts.kind != BOOLEAN:
        raise QueryError(f"{name.upper()} needs a condition", position=position, sqlstate="42883")
    return Facts(BOOLEAN)


def interpolated(name: str, args: tuple[Node, ...], _: int, position: int) -> Facts:
    """Between two of her values: a median on halves of the grid, other percentiles on a finer one."""
    f = _number(name, args, position, 1 << 50)
    assert f.grid is not None
    return Facts(DECIMAL, f.low, f.high, f.grid / parts_of(name))


def parts_of(name: str) -> int:
    """In how many parts a step of the grid is divided: a median lies between two steps."""
    return 2 if name == "median" else FINER
