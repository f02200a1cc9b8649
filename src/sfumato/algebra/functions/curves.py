"""Rounding, roots, logarithms, powers and buckets of a number.

Comes in: arguments with their facts. Goes out: facts of the value; where a function has no value, it is NULL. Bounds of
doubles are moved outward by more than an engine's library may lose.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sfumato.algebra.functions.record import ScalarFunction
from sfumato.algebra.functions.rules import FARTHEST, LIMIT, Mismatch, Rule, fit, need_numbers, nullable
from sfumato.algebra.tree import DECIMAL, DOUBLE, INTEGER, Constant, Facts, Node


def away(number: Fraction) -> int:
    """The nearest whole number, halves away from zero."""
    return int(abs(number) + Fraction(1, 2)) * (1 if number >= 0 else -1)


def _rounding(whole: Callable[[Fraction], int]) -> Rule:
    """round(x, digits), floor, ceil, trunc: onto a decimal grid. None of them lets one number overtake another.

    The result is never an integer in PostgreSQL: ROUND(n) / 2 does not cut.
    """

    def rule(args: tuple[Node, ...], extra: str) -> Facts:
        need_numbers("rounding", args[:1])
        f = args[0].facts
        step = Fraction(10) ** -int(extra or 0)
        low = high = None
        if f.low is not None and f.high is not None:
            low, high = whole(f.low / step) * step, whole(f.high / step) * step
        grid = f.grid if f.exact and f.grid is not None and (f.grid / step).denominator == 1 else step
        return fit(Facts(DECIMAL, low, high, grid, f.nullable or not f.exact))

    return rule


def _outward(*ends: float) -> tuple[Fraction | None, Fraction | None]:
    """Bounds around doubles, with room for what the engine rounds; none where they are not finite."""
    if not all(map(math.isfinite, ends)):
        return None, None
    unit = 1 << 60
    low, high = Fraction(min(ends)), Fraction(max(ends))
    room = Fraction(1, 1 << 40)
    return (
        Fraction(math.floor((low - abs(low) * room) * unit), unit),
        Fraction(math.ceil((high + abs(high) * room) * unit), unit),
    )


def _curve(name: str, value: Callable[[float], float], least: Fraction | None = None, *, zero: bool = True) -> Rule:
    """A double of one number that grows with it; below `least`, or at it where it may not be `zero`, NULL."""

    def rule(args: tuple[Node, ...], _: str) -> Facts:
        need_numbers(name, args)
        f = args[0].facts
        low, high = f.low, f.high
        sure = f.exact and (least is None or (low is not None and (low > least or (zero and low == least))))
        if least is not None and low is not None and high is not None:
            low, high = (least, max(high, least)) if low < least else (low, high)
        ends: tuple[Fraction | None, Fraction | None] = (None, None)
        if low is not None and high is not None:
            try:
                ends = _outward(value(float(low)), value(float(high)))
            except (OverflowError, ValueError):
                sure = False
        return Facts(DOUBLE, *ends, None, f.nullable or not sure or ends[1] is None)

    return rule


def _logarithm(args: tuple[Node, ...], _: str) -> Facts:
    """log(base, x) = ln x / ln base; NULL where there is none."""
    need_numbers("log", args)
    base, f = args[0].facts, args[1].facts
    sure = all(g.exact and g.low is not None and g.low > 0 for g in (base, f)) and not _holds(base, Fraction(1))
    low = high = None
    if sure and base.low == base.high and base.low is not None and f.low is not None and f.high is not None:
        try:
            low, high = _outward(*(math.log(float(x)) / math.log(float(base.low)) for x in (f.low, f.high)))
        except (OverflowError, ValueError, ZeroDivisionError):
            low = high = None
    return Facts(DOUBLE, low, high, None, nullable(args) or not sure)


def _holds(f: Facts, number: Fraction) -> bool:
    return (f.low is None or f.low <= number) and (f.high is None or f.high >= number)


MOST_POWER = 8


def _power(args: tuple[Node, ...], _: str) -> Facts:
    """x to a written power from 1 to 8 is exact where x is exact and bounded; any other is a double, or NULL."""
    need_numbers("power", args)
    f, power = args[0].facts, args[1]
    double = Facts(DOUBLE, nullable=True)
    if not isinstance(power, Constant) or not isinstance(power.value, int) or not 1 <= power.value <= MOST_POWER:
        return double
    if not f.exact or f.grid is None or f.low is None or f.high is None:
        return double
    k = power.value
    ends = (f.low**k, f.high**k)
    low = Fraction(0) if k % 2 == 0 and f.low <= 0 <= f.high else min(ends)
    facts = Facts(DECIMAL, low, max(ends), f.grid**k, f.nullable)
    return facts if facts.largest / f.grid**k <= LIMIT else double


def bucket(x: Fraction, low: Fraction, high: Fraction, count: int) -> int:
    """PostgreSQL's width_bucket; where low is above high, the buckets are counted downward."""
    if low > high:
        x, low, high = -x, -low, -high
    return 0 if x < low else count + 1 if x >= high else int((x - low) * count / (high - low)) + 1


def written(args: tuple[Node, ...]) -> list[Fraction]:
    """The numbers that are written as arguments; none where one of them is not."""
    values = [arg.value for arg in args if isinstance(arg, Constant)]
    numbers = [Fraction(v) for v in values if isinstance(v, int | Fraction) and not isinstance(v, bool)]
    return numbers if len(numbers) == len(args) else []


def _width_bucket(args: tuple[Node, ...], _: str) -> Facts:
    """The number of the bucket: 0 below, count + 1 above."""
    need_numbers("width_bucket", args)
    if len(args) != 4 or not written(args[1:]):
        raise Mismatch("width_bucket needs a number, and literals for low, high and count")
    low, high, count = written(args[1:])
    if low == high or count.denominator != 1 or not 1 <= count <= FARTHEST:
        raise Mismatch(f"width_bucket needs two different bounds, and an integer count from 1 to {FARTHEST}")
    f = args[0].facts
    ends = [0, int(count) + 1]
    if f.exact and f.low is not None and f.high is not None:
        ends = sorted(bucket(end, low, high, int(count)) for end in (f.low, f.high))
    return Facts(INTEGER, Fraction(ends[0]), Fraction(ends[1]), Fraction(1), f.nullable or not f.exact)


CURVES = (
    ScalarFunction(
        "round", _rounding(away), "round(x, digits)", "rounded to n digits after the point, halves away from zero"
    ),
    ScalarFunction("floor", _rounding(math.floor), "floor(x)", "the next whole number below"),
    ScalarFunction("ceil", _rounding(math.ceil), "ceil(x)", "the next whole number above"),
    ScalarFunction("trunc", _rounding(math.trunc), "trunc(x, digits)", "truncated to n digits after the point"),
    ScalarFunction(
        "ln",
        _curve("ln", math.log, Fraction(0), zero=False),
        "ln(x)",
        "the natural logarithm; NULL unless x is above 0",
    ),
    ScalarFunction(
        "log10",
        _curve("log10", math.log10, Fraction(0), zero=False),
        "log(x)",
        "the logarithm to base 10; NULL unless x is above 0",
    ),
    ScalarFunction("log", _logarithm, "log(base, x)", "the logarithm to a base; NULL if there is none"),
    ScalarFunction("exp", _curve("exp", math.exp), "exp(x)", "e to the power x"),
    ScalarFunction("sqrt", _curve("sqrt", math.sqrt, Fraction(0)), "sqrt(x)", "the square root; NULL below 0"),
    ScalarFunction("cbrt", _curve("cbrt", math.cbrt), "cbrt(x)", "the cube root"),
    ScalarFunction("power", _power, "power(x, n)", "x to the power n; exact for a literal n from 1 to 8"),
    ScalarFunction(
        "width_bucket",
        _width_bucket,
        "width_bucket(x, low, high, n)",
        "which of n equal buckets holds x; 0 below, n + 1 above",
    ),
)
"""Functions of one number."""
