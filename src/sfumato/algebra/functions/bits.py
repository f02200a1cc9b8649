"""Whole numbers as 64 bits: and, or, and exclusive or. A negative number has ones in front, as in PostgreSQL.

Comes in: arguments with their facts. Goes out: facts of the value. A number without bounds that 64 bits do not hold
gives NULL; one whose bounds say so is refused.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.algebra.functions.casts import whole_range
from sfumato.algebra.functions.record import ScalarFunction
from sfumato.algebra.functions.rules import Mismatch, Rule, nullable
from sfumato.algebra.tree import INTEGER, NULL, Call, Facts, Node

_Bounds = tuple[Fraction, Fraction] | None


def check_whole(name: str, facts: Facts) -> None:
    """Refuse what is no whole number of 64 bits."""
    if facts.kind not in (INTEGER, NULL) or facts.numeric:
        kind = "numeric" if facts.numeric else facts.kind
        raise Mismatch(f"{name} needs whole numbers of an integer type, but was given {kind}; write CAST(x AS bigint)")
    first, last = whole_range(INTEGER)
    if facts.low is not None and facts.high is not None and (facts.low < first or facts.high > last):
        raise Mismatch(f"{name} needs numbers that fit into 64 bits")


def held_in_64_bits(node: Node) -> Node:
    """The number, or NULL where nothing is known of it and 64 bits do not hold it."""
    facts = node.facts
    if facts.bounded or facts.kind == NULL:
        return node
    return Call("cast", (node,), Facts(INTEGER, None, None, Fraction(1), True), INTEGER, node.position)


def _bounds(facts: Facts) -> _Bounds:
    """The ends of a number; a NULL is like any."""
    if facts.kind == NULL:
        return Fraction(0), Fraction(0)
    return None if facts.low is None or facts.high is None else (facts.low, facts.high)


def _rule(name: str) -> Rule:
    def rule(args: tuple[Node, ...], _: str) -> Facts:
        for arg in args:
            check_whole(name, arg.facts)
        a, b = (_bounds(arg.facts) for arg in args)
        low, high = _ENDS[name](a, b) or (None, None)
        outside = any(arg.facts.kind != NULL and not arg.facts.bounded for arg in args)
        return Facts(INTEGER, low, high, Fraction(1), nullable(args) or outside)

    return rule


def _power(a: _Bounds, b: _Bounds) -> Fraction | None:
    """The least power of two so that both numbers, and what bits make of them, lie from minus it to below it."""
    if a is None or b is None:
        return None
    sizes = (int(end) if end >= 0 else -int(end) - 1 for end in (*a, *b))
    return Fraction(1 << max(size.bit_length() for size in sizes))


def _both(a: _Bounds, b: _Bounds) -> _Bounds:
    """Bits that both have: no more than those of a number that is not negative."""
    tops = [ends[1] for ends in (a, b) if ends is not None and ends[0] >= 0]
    if tops:
        return Fraction(0), min(tops)
    power = _power(a, b)
    return None if power is None or a is None or b is None else (-power, max(a[1], b[1]))


def _either(a: _Bounds, b: _Bounds) -> _Bounds:
    """Bits that one has: no fewer than those of the smaller number, and negative where one of them is."""
    power = _power(a, b)
    if power is None or a is None or b is None:
        return None
    negative = a[1] < 0 or b[1] < 0
    return min(a[0], b[0]), Fraction(-1) if negative else power - 1


def _one(a: _Bounds, b: _Bounds) -> _Bounds:
    """Bits that just one has."""
    power = _power(a, b)
    if power is None or a is None or b is None:
        return None
    return (Fraction(0) if min(a[0], b[0]) >= 0 else -power), power - 1


_ENDS = {"&": _both, "|": _either, "#": _one}
BITS = (
    ScalarFunction("&", _rule("&"), "a & b", "the bits that both have; also a << n, a >> n and ~a"),
    ScalarFunction("|", _rule("|"), "a | b", "the bits that one of them has"),
    ScalarFunction("#", _rule("#"), "a # b", "the bits that just one of them has"),
)
"""Functions of bits."""
