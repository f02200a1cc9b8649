"""Operators of bits: & | # are functions, a << 3 is a product, a >> 3 a quotient rounded down, and ~a is -1 - a.

Comes in: the parser's node and what binds its operands. Goes out: a call of our tree. PostgreSQL's integers have 32 or
64 bits, it counts a shift modulo that number, and drops what leaves it: a shift is refused where both might differ.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from sfumato.algebra.functions import Mismatch, call
from sfumato.algebra.functions.bits import check_whole
from sfumato.algebra.functions.casts import whole_range
from sfumato.algebra.tree import INTEGER, Aggregate, Call, Constant, Node
from sfumato.errors import QueryError
from sfumato.sql.bind.casts_and_times import converted
from sfumato.sql.bind.constants import constant
from sfumato.sql.read.parser import place

if TYPE_CHECKING:
    from sfumato.sql.bind.expressions import Expressions

_MOST_SHIFT = 62
_SHORT = 32
"""Bits of PostgreSQL's integer."""
_SAME_TYPE = ("+", "-", "*", "negate", "abs", "&", "|", "#")
_TIGHTER = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Pow)
"""What PostgreSQL computes before ~."""


def _of_bits(name: str) -> Callable[[Expressions, Any], Node]:
    def build(binds: Expressions, node: Any) -> Node:
        return call(name, (binds.node(node.this), binds.node(node.expression)), "", place(node))

    return build


def _operand(binds: Expressions, name: str, node: exp.Expression, at: int) -> Node:
    value = binds.node(node)
    try:
        check_whole(name, value.facts)
    except Mismatch as mismatch:
        raise QueryError(str(mismatch), position=at, sqlstate="42883") from None
    return value


def _inverted(binds: Expressions, node: Any) -> Node:
    """~a. The parser takes it for tighter than + and *, PostgreSQL does not."""
    at = place(node)
    if isinstance(node.parent, _TIGHTER):
        hint = "Write (~a) + b, or ~(a + b), which is what PostgreSQL makes of ~a + b."
        raise QueryError("~ beside arithmetic needs brackets", position=at, hint=hint)
    value = _operand(binds, "~", node.this, at)
    if isinstance(value, Constant) and isinstance(value.value, int):
        return constant(-1 - value.value, at)
    return call("-", (constant(-1, at), value), "", at)


def _shifted(sign: str) -> Callable[[Expressions, Any], Node]:
    def build(binds: Expressions, node: Any) -> Node:
        at = place(node)
        value, by = _operand(binds, sign, node.this, at), binds.node(node.expression)
        count = by.value if isinstance(by, Constant) else None
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= _MOST_SHIFT:
            raise QueryError(f"{sign} needs a literal count from 0 to {_MOST_SHIFT}", position=at)
        if isinstance(value, Constant) and isinstance(value.value, int) and not _is_long(value):
            return constant(_of_integer(value.value, sign, count % _SHORT), at)
        return _left(value, count, at) if sign == "<<" else _right(value, count, at)

    return build


def _of_integer(number: int, sign: str, count: int) -> int:
    """A written number of 32 bits, shifted as PostgreSQL does: what leaves it is dropped."""
    if sign == ">>":
        return number >> count
    half = 1 << (_SHORT - 1)
    return ((number << count) + half) % (2 * half) - half


def _left(value: Node, count: int, at: int) -> Node:
    made = call("*", (value, constant(1 << count, at)), "", at)
    first, last = whole_range(INTEGER if _is_long(value) else "int4")
    low, high = made.facts.low, made.facts.high
    fits = low is not None and high is not None and first <= low and high <= last
    if not _is_long(value) and (not fits or count >= _SHORT):
        raise _may_not_fit("<<", at)
    if fits:
        return made
    if low is not None:
        raise _may_not_fit("<<", at)
    return converted(made, INTEGER, at)  # NULL where 64 bits do not hold it


def _right(value: Node, count: int, at: int) -> Node:
    if not count:
        return value
    if not _is_long(value) and count >= _SHORT:
        raise _may_not_fit(">>", at)
    part = call("*", (value, constant(Fraction(1, 1 << count), at)), "", at)
    return converted(call("floor", (part,), "", at), INTEGER, at)


def _may_not_fit(sign: str, at: int) -> QueryError:
    return QueryError(
        f"what PostgreSQL makes of this {sign} depends on the type of the number",
        position=at,
        hint=f"Write CAST(x AS bigint) {sign} n, where 64 bits hold the result by the bounds of x.",
    )


def _is_long(value: Node) -> bool:
    """Whether it is surely a bigint: a count or a sum, a cast, or too large for another type."""
    first, last = whole_range("int4")
    facts = value.facts
    if facts.low is not None and facts.high is not None and (facts.low < first or facts.high > last):
        return True
    if isinstance(value, Aggregate):
        return value.name in ("count", "count_distinct", "sum", "sum_distinct")
    if not isinstance(value, Call):
        return False
    if (value.name, value.extra) == ("cast", INTEGER):
        return True
    return value.name in _SAME_TYPE and any(map(_is_long, value.args))


KINDS: dict[type[exp.Expression], Callable[[Any, Any], Node]] = {
    exp.BitwiseAnd: _of_bits("&"),
    exp.BitwiseOr: _of_bits("|"),
    exp.BitwiseXor: _of_bits("#"),
    exp.BitwiseNot: _inverted,
    exp.BitwiseLeftShift: _shifted("<<"),
    exp.BitwiseRightShift: _shifted(">>"),
}
"""The parser's nodes that are bound here."""
