"""Arithmetic: exact numbers stay exact on a grid, dates take days, and a division by zero gives NULL.

Comes in: arguments with their facts. Goes out: facts of the value; bounds follow by interval arithmetic.
"""

from __future__ import annotations

from datetime import date
from fractions import Fraction

from sfumato.algebra.functions.record import ScalarFunction
from sfumato.algebra.functions.rules import (
    Mismatch,
    Rule,
    common_grid,
    exact_kind,
    fit,
    need_exact,
    need_numbers,
    not_zero,
    nullable,
)
from sfumato.algebra.functions.times import difference
from sfumato.algebra.tree import DATE, DECIMAL, DOUBLE, INTEGER, TIMES, TIMESTAMP, Column, Facts, Node


def _sum_rule(sign: int) -> Rule:
    def rule(args: tuple[Node, ...], _: str) -> Facts:
        a, b = args[0].facts, args[1].facts
        if a.kind in TIMES or b.kind in TIMES:
            return _time_sum(args, sign)
        need_numbers("arithmetic", args)
        if not (a.exact and b.exact):
            return Facts(DOUBLE, *_sum_ends(a, b, sign), None, nullable(args))
        return fit(Facts(exact_kind(args), *_sum_ends(a, b, sign), common_grid(a.grid, b.grid), nullable(args)))

    return rule


def _sum_ends(a: Facts, b: Facts, sign: int) -> tuple[Fraction | None, Fraction | None]:
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return None, None
    return (a.low + b.low, a.high + b.high) if sign > 0 else (a.low - b.high, a.high - b.low)


def _time_sum(args: tuple[Node, ...], sign: int) -> Facts:
    """date ± whole days, date - date in days, and a difference with a timestamp, which is an interval."""
    a, b = args[0].facts, args[1].facts
    if a.kind in TIMES and b.kind in TIMES and sign < 0 and TIMESTAMP in (a.kind, b.kind):
        return difference(a, b, nullable(args))
    if a.kind == DATE and b.kind == DATE and sign < 0:
        return Facts(INTEGER, *_sum_ends(a, b, sign), Fraction(1), nullable(args))
    if a.kind == DATE and b.kind == INTEGER and b.bounded:
        low, high = _sum_ends(a, b, sign)
        first, last = Fraction(date(1, 1, 1).toordinal()), Fraction(date(9999, 12, 31).toordinal())
        if low is None or high is None or low < first or high > last:
            raise Mismatch("a date plus days needs a date and days with declared bounds, within the years 1 to 9999")
        return Facts(DATE, low, high, Fraction(1), nullable(args))
    raise Mismatch("dates allow date + days, date - days and date - date")


def _multiply(args: tuple[Node, ...], _: str) -> Facts:
    need_numbers("arithmetic", args)
    a, b = args[0].facts, args[1].facts
    low = high = None
    if a.low is not None and a.high is not None and b.low is not None and b.high is not None:
        ends = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
        low, high = min(ends), max(ends)
    if a.grid is None or b.grid is None:
        return Facts(DOUBLE, low, high, None, nullable(args))
    missing = nullable(args) or (low is None and _may_outgrow(*args))
    return fit(Facts(exact_kind(args), low, high, a.grid * b.grid, missing))


def _may_outgrow(one: Node, other: Node) -> bool:
    """Whether a product without bounds may need more than 127 bits, where it is NULL; bare integers have 63."""
    sizes = [_most_steps(one), _most_steps(other)]
    return None in sizes or sizes[0] * sizes[1] >= 1 << 127  # type: ignore[operator]


def _most_steps(node: Node) -> Fraction | None:
    facts = node.facts
    if facts.bounded and facts.grid is not None:
        return facts.largest / facts.grid
    return Fraction(1 << 63) if isinstance(node, Column) and facts.kind == INTEGER else None


def _divide(args: tuple[Node, ...], _: str) -> Facts:
    """Whole numbers: toward zero, as PostgreSQL does. Others: a double, without a grid. By zero: NULL."""
    need_numbers("arithmetic", args)
    a, b = args[0].facts, args[1].facts
    whole = exact_kind(args) == INTEGER and a.exact and b.exact and not (a.numeric or b.numeric)
    unsure = nullable(args) or not b.exact or b.low is None or b.high is None or b.low <= 0 <= b.high
    low = high = None
    if a.low is not None and a.high is not None:
        if whole:
            # no divisor but zero makes a whole number larger in size
            low, high = -a.largest, a.largest
            if b.low is not None and b.low > 0 and b.high is not None:
                ends = [int(x / y) for x in (a.low, a.high) for y in (b.low, b.high)]
                low, high = Fraction(min(ends)), Fraction(max(ends))
        elif b.low is not None and b.high is not None and (b.low > 0 or b.high < 0):
            quotients = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]
            low, high = min(quotients), max(quotients)
    return Facts(INTEGER, low, high, Fraction(1), unsure) if whole else Facts(DOUBLE, low, high, None, unsure)


def _modulo(args: tuple[Node, ...], _: str) -> Facts:
    """% and MOD: the rest has the sign of the dividend, and is smaller than the divisor."""
    need_exact("%", args)
    a, b = args[0].facts, args[1].facts
    grid = common_grid(a.grid, b.grid)
    assert grid is not None
    sizes = [f.largest - less for f, less in ((a, Fraction(0)), (b, grid)) if f.bounded]
    low = high = None
    if sizes:
        most = max(Fraction(0), min(sizes))
        low = Fraction(0) if a.low is not None and a.low >= 0 else -most
        high = Fraction(0) if a.high is not None and a.high <= 0 else most
    return fit(Facts(exact_kind(args), low, high, grid, nullable(args) or not not_zero(b)))


def _whole_quotient(args: tuple[Node, ...], _: str) -> Facts:
    """DIV: the quotient toward zero, a numeric in PostgreSQL."""
    need_exact("div", args)
    a, b = args[0].facts, args[1].facts
    low = high = None
    if a.low is not None and a.high is not None:
        smallest = b.grid or Fraction(1)
        if b.low is not None and b.high is not None and not_zero(b):
            smallest = min(abs(b.low), abs(b.high))
        most = Fraction(int(a.largest / smallest))
        signed = not (b.low is not None and b.low >= 0)
        low = Fraction(0) if a.low >= 0 and not signed else -most
        high = Fraction(0) if a.high <= 0 and not signed else most
    return fit(Facts(DECIMAL, low, high, Fraction(1), nullable(args) or not not_zero(b)))


def _negate(args: tuple[Node, ...], _: str) -> Facts:
    need_numbers("-", args)
    f = args[0].facts
    return Facts(f.kind, None if f.high is None else -f.high, None if f.low is None else -f.low, f.grid, f.nullable)


def _absolute(args: tuple[Node, ...], _: str) -> Facts:
    need_numbers("abs", args)
    f = args[0].facts
    if f.low is None or f.high is None:
        return Facts(f.kind, None, None, f.grid, f.nullable)
    low = Fraction(0) if f.low <= 0 <= f.high else min(abs(f.low), abs(f.high))
    return Facts(f.kind, low, f.largest, f.grid, f.nullable)


def _sign(args: tuple[Node, ...], _: str) -> Facts:
    need_numbers("sign", args)
    return Facts(DECIMAL, Fraction(-1), Fraction(1), Fraction(1), args[0].facts.nullable)


ARITHMETIC = (
    ScalarFunction("+", _sum_rule(1), "a + b", "a sum, or a date some days later"),
    ScalarFunction(
        "-", _sum_rule(-1), "a - b", "a difference: of numbers, of dates in days, of timestamps as an interval"
    ),
    ScalarFunction("*", _multiply, "a * b", "a product"),
    ScalarFunction("/", _divide, "a / b", "a quotient, of whole numbers toward zero; NULL where b is 0"),
    ScalarFunction("%", _modulo, "a % b", "the remainder, with the sign of a; NULL where b is 0"),
    ScalarFunction("div", _whole_quotient, "div(a, b)", "the whole part of a quotient; NULL where b is 0"),
    ScalarFunction("negate", _negate, "-a", "the negated number"),
    ScalarFunction("abs", _absolute, "abs(a)", "the absolute value"),
    ScalarFunction("sign", _sign, "sign(a)", "-1, 0 or 1"),
)
"""Arithmetic."""
