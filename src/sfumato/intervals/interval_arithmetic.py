"""What functions make of intervals: their ends mapped, outward where doubles or roundings are between.

Comes in: a function of SQL and an interval for each argument. Goes out: an interval that holds the function's value
wherever the arguments are in theirs; None where it may be NULL, or without limit, or the function is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sfumato.algebra.functions import FUNCTIONS, add_parts
from sfumato.algebra.functions.casts import WIDTHS, decimal_size, target, whole_range
from sfumato.algebra.tree import DOUBLE, INTEGER, Facts
from sfumato.intervals.provenance import ComputedNumber

Ends = tuple[Fraction, Fraction]
DOUBLES = Facts(DOUBLE)
_HALF = Fraction(1, 2)
_SLACK = Fraction(1, 10**12)
"""More than doubles lose in a function of the library, relatively."""
_FLOAT = Fraction(1, 1 << 23)


def hull(ends: list[Ends]) -> Ends:
    """The least interval that holds all of these."""
    return min(low for low, _ in ends), max(high for _, high in ends)


def apply(of: ComputedNumber, args: list[Ends]) -> Ends | None:
    """A function of intervals."""
    function = FUNCTIONS.get(of.name)
    rule = function.interval if function is not None else _OVER_ROWS.get(of.name)
    return None if rule is None else rule(of, args)


def compare(of: ComputedNumber, args: list[Ends]) -> bool | None:
    """Whether a comparison surely holds, or surely does not, also of numbers as they are shown."""
    (a, b), (c, d) = (shown(ends, facts) for ends, facts in zip(args, of.grids, strict=True))
    if of.name in ("=", "<>"):
        if b < c or d < a:
            return of.name == "<>"
        return of.name == "=" if a == b == c == d else None
    if of.name in (">", ">="):
        (a, b), (c, d) = (c, d), (a, b)
    if of.name in ("<", ">"):
        return True if b < c else False if d <= a else None
    return True if b <= c else False if d < a else None


def shown(ends: Ends, facts: Facts) -> Ends:
    """A number, or that number on the grid of its type: what asks which number it is takes it as it is shown."""
    grid = facts.grid
    if not facts.exact or grid is None:
        return ends
    low, high = ends
    return min(low, ((low / grid + _HALF) // 1) * grid), max(high, ((high / grid + _HALF) // 1) * grid)


# arithmetic
def _plus(_: ComputedNumber, args: list[Ends]) -> Ends:
    return sum((low for low, _ in args), Fraction(0)), sum((high for _, high in args), Fraction(0))


def _minus(_: ComputedNumber, args: list[Ends]) -> Ends:
    (a, b), (c, d) = args
    return a - d, b - c


def _times(_: ComputedNumber, args: list[Ends]) -> Ends:
    corners = [x * y for x in args[0] for y in args[1]]
    return min(corners), max(corners)


def _over(of: ComputedNumber, args: list[Ends]) -> Ends | None:
    whole = of.facts.kind == INTEGER or of.name == "div"
    if whole:
        args = [shown(ends, facts) for ends, facts in zip(args, of.grids, strict=True)]
    c, d = args[1]
    if c <= 0 <= d:
        return None
    ends = _times(of, [args[0], (1 / d, 1 / c)])
    return (Fraction(math.trunc(ends[0])), Fraction(math.trunc(ends[1]))) if whole else ends


def _abs(_: ComputedNumber, args: list[Ends]) -> Ends:
    low, high = args[0]
    return (max(low, -high, Fraction(0)), max(-low, high))


def _mean(_: ComputedNumber, args: list[Ends]) -> Ends:
    low, high = _plus(_, args)
    return low / len(args), high / len(args)


def _most(_: ComputedNumber, args: list[Ends]) -> Ends:
    return max(low for low, _ in args), max(high for _, high in args)


def _least(_: ComputedNumber, args: list[Ends]) -> Ends:
    return min(low for low, _ in args), min(high for _, high in args)


def _sign(_: ComputedNumber, args: list[Ends]) -> Ends:
    low, high = args[0]
    return Fraction((low > 0) - (low < 0)), Fraction((high > 0) - (high < 0))


# roundings
def _rounded(of: ComputedNumber, args: list[Ends]) -> Ends | None:
    """Onto a grid; halves go either way, for engines and types differ there."""
    grid = of.facts.grid
    if grid is None:
        return None
    low, high = (end / grid for end in shown(args[0], of.grids[0]))
    if of.name == "floor":
        steps = low // 1, high // 1
    elif of.name == "ceil":
        steps = -(-low // 1), -(-high // 1)
    elif of.name == "trunc":
        steps = math.trunc(low), math.trunc(high)
    else:
        steps = -(-(low - _HALF) // 1), (high + _HALF) // 1
    return steps[0] * grid, steps[1] * grid


def _cast(of: ComputedNumber, args: list[Ends]) -> Ends | None:
    """What does not fit into a type is NULL, so that what may not fit has no interval; a float has fewer digits."""
    word, numbers = target(of.extra)
    if word == "real":
        low, high = args[0]
        return low - abs(low) * _FLOAT - _FLOAT**6, high + abs(high) * _FLOAT + _FLOAT**6
    if of.facts.grid is None or (not numbers and word == "decimal"):
        return args[0]
    ends = _rounded(of, args)
    most = decimal_size(numbers)[1] if word == "decimal" else whole_range(word)[1] if word in WIDTHS else None
    return None if ends is None or (most is not None and max(-ends[0], ends[1]) > most) else ends


# curves
def _curve(
    function: Callable[[float], float], least: Fraction | None = None
) -> Callable[[ComputedNumber, list[Ends]], Ends | None]:
    """A growing function of the library, of numbers above `least`."""

    def rule(_: ComputedNumber, args: list[Ends]) -> Ends | None:
        low, high = args[0]
        if least is not None and low <= least:
            return None
        return outward(function, low, high)

    return rule


def outward(function: Callable[[float], float], low: Fraction, high: Fraction) -> Ends | None:
    """A growing function in doubles, its ends moved outward by more than they lose."""
    try:
        ends = [Fraction(function(float(end))) for end in (low, high)]
    except (OverflowError, ValueError):
        return None
    down, up = ends
    return down - abs(down) * _SLACK - _SLACK, up + abs(up) * _SLACK + _SLACK


def _root(_: ComputedNumber, args: list[Ends]) -> Ends | None:
    """NULL below zero; what is surely not below has a root."""
    low, high = args[0]
    if low < 0:
        return None
    ends = outward(math.sqrt, low, high)
    return None if ends is None else (max(Fraction(0), ends[0]), ends[1])


def _log(_: ComputedNumber, args: list[Ends]) -> Ends | None:
    """log(base, x) for a base above one."""
    (base, same), (low, high) = args
    if base != same or base <= 1 or low <= 0:
        return None
    return outward(lambda x: math.log(x) / math.log(base), low, high)


def _power(_: ComputedNumber, args: list[Ends]) -> Ends | None:
    """x to a fixed power: of whole ones by multiplication, of others for numbers above zero."""
    (low, high), (power, same) = args
    if power != same:
        return None
    if power.denominator == 1 and 0 < power <= 16:
        n = int(power)
        corners = [low**n, high**n]
        return (Fraction(0) if n % 2 == 0 and low < 0 < high else min(corners)), max(corners)
    if low <= 0:
        return None
    fixed = float(power)
    ends = outward(lambda x: x**fixed, low, high) if power > 0 else outward(lambda x: -(x**fixed), low, high)
    return ends if ends is None or power > 0 else (-ends[1], -ends[0])


_OVER_ROWS: dict[str, Callable[[ComputedNumber, list[Ends]], Ends | None]] = {
    "sum of": _plus,
    "avg of": _mean,
    "min of": _least,
    "max of": _most,
}
"""Totals of rows that are listed."""
_RULES: dict[str, Callable[[ComputedNumber, list[Ends]], Ends | None]] = {
    "+": _plus,
    "-": _minus,
    "*": _times,
    "/": _over,
    "div": _over,
    "negate": lambda _, args: (-args[0][1], -args[0][0]),
    "abs": _abs,
    "sign": _sign,
    "greatest": _most,
    "least": _least,
    "round": _rounded,
    "floor": _rounded,
    "ceil": _rounded,
    "trunc": _rounded,
    "cast": _cast,
    "exp": _curve(math.exp),
    "ln": _curve(math.log, Fraction(0)),
    "log10": _curve(math.log10, Fraction(0)),
    "log": _log,
    "sqrt": _root,
    "cbrt": _curve(lambda x: math.copysign(abs(x) ** (1 / 3), x)),
    "power": _power,
}
add_parts("interval", _RULES)
