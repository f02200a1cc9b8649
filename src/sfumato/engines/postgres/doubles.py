"""Arithmetic of doubles that never fails: PostgreSQL raises where a result is too large, too small, or not real.

Comes in: the text of doubles. Goes out: the text of a double: infinity, zero or NULL where the server would raise, as
IEEE 754 has it. An error would tell that a row was there.

Guarantee: no expression of this module raises, whatever its arguments are: NaN, infinities, zeros of either sign, the
    smallest and the largest numbers.
Proof: `*` and `/` are computed only where their result is neither zero nor infinite, which is decided by the numbers
    themselves, scaled by powers of two. Scaling is exact: numbers are first held to a range where neither end is left,
    and what is held there decides as the number itself would. With a = max(|x|, 1) 2^-512 and b = max(|y|, 1) 2^-512,
    both in [2^-512, 2^512), a b rounds to at least 1 exactly where x y rounds to 2^1024; a b is at least 2^-1024 and
    at most (1 - 2^-53)^2 2^1024, which rounds to a double. x y rounds to zero where |x y| <= 2^-1075. With the smaller
    number s = min(|x|, |y|, 2^-537) 2^537 and the larger one l = min(max(|x|, |y|), 1) 2^537, s l lies in
    [2^-1074, 2^537] and is compared with 1/2: a rounded product that is more or less than 1/2 was so before it was
    rounded, and where it is 1/2, Dekker's product has the sign of the rest, exactly. |x / y| rounds to 2^1024 where
    |x| 2^-512 >= |y| 2^512 (of two different doubles the smaller is at most 1 - 2^-53 of the larger, which rounds to a
    double), and to zero where |x| 2^537 <= |y| 2^-538. No condition raises, in whatever order they are looked at.
    Sums of halves cannot overflow; `exp`, `power` and `ln` are computed only inside their domains. The server computes
    a branch of CASE only after its condition held, and columns are not constants.
Reference: PostgreSQL, float.c and utils/float.h. T. J. Dekker, A floating-point technique for extending the available
    precision, 1971.
Checked by: unit::no_arithmetic_of_doubles_raises, unit::products_and_quotients_at_the_edges_are_those_of_ieee
"""

from __future__ import annotations

from sfumato.engines.postgres.spelling import number, once

_LEAST = "2.47032822920624e-324"
"""Just above half of the smallest double, as a decimal."""
_INFINITE = "('Infinity'::float8, '-Infinity'::float8, 'NaN'::float8)"
_ODD = f"x IN {_INFINITE} OR y IN {_INFINITE}"
_MIDDLE = "abs(x) BETWEEN 1e-150 AND 1e150 AND abs(y) BETWEEN 1e-150 AND 1e150"
_SIGNED = "CASE WHEN (x < 0) = (y < 0) THEN 'Infinity'::float8 ELSE '-Infinity'::float8 END"
_ZERO = "CASE WHEN (x < 0) = (y < 0) THEN 0::float8 ELSE '-0'::float8 END"
_EDGE = number(2.0**1023)
_HALF, _ONE = number(0.5), number(1.0)


def add(a: str, b: str, sign: str = "+") -> str:
    """a + b or a - b: infinite beyond the largest double."""
    return once(
        {"x": a, "y": b},
        f"CASE WHEN abs(x) < 8e307 AND abs(y) < 8e307 OR {_ODD} OR abs(x) < 1 OR abs(y) < 1 THEN x {sign} y"
        f" WHEN x * 0.5 {sign} y * 0.5 >= {_EDGE} THEN 'Infinity'::float8"
        f" WHEN x * 0.5 {sign} y * 0.5 <= -{_EDGE} THEN '-Infinity'::float8 ELSE x {sign} y END",
    )


def _scaled(size: str, power: int) -> str:
    return f"{size} * {number(2.0**power)}"


def multiply(a: str, b: str) -> str:
    """a * b: infinite beyond the largest double, zero below the smallest."""
    large = [f"({_scaled(f'GREATEST(abs({name}), {_ONE})', -512)})" for name in "xy"]
    small = [
        f"({_scaled(f'LEAST(abs(x), abs(y), {number(2.0**-537)})', 537)})",
        f"({_scaled(f'LEAST(GREATEST(abs(x), abs(y)), {_ONE})', 537)})",
    ]
    return once(
        {"x": a, "y": b},
        f"CASE WHEN x IS NULL OR y IS NULL THEN NULL WHEN x = 0 OR y = 0 OR {_ODD} OR ({_MIDDLE}) THEN x * y"
        f" WHEN {' * '.join(large)} >= {_ONE} THEN {_SIGNED}"
        f" WHEN {' * '.join(small)} > {_HALF} THEN x * y"
        f" WHEN {' * '.join(small)} < {_HALF} OR NOT {_is_more_than_half(*small)} THEN {_ZERO} ELSE x * y END",
    )


def _is_more_than_half(a: str, b: str) -> str:
    """Whether a * b, which is rounded to 1/2, is more: by the products of halves of 26 bits, which are exact."""
    split = number(2.0**27 + 1)
    (p, q), (r, s) = ((f"({split} * {x} - ({split} * {x} - {x}))", x) for x in (a, b))
    q, s = f"({q} - {p})", f"({s} - {r})"
    return f"({p} * {r} - {_HALF} + {p} * {s} + {q} * {r} + {q} * {s} > 0)"


def divide(a: str, b: str) -> str:
    """a / b; NULL where b is zero."""
    over, small = _scaled(f"GREATEST(abs(x), {number(2.0**-60)})", -512), _scaled(f"LEAST(abs(y), {_ONE})", 512)
    under, large = _scaled(f"LEAST(abs(x), {number(2.0**-50)})", 537), _scaled(f"GREATEST(abs(y), {_ONE})", -538)
    return once(
        {"x": a, "y": b},
        f"CASE WHEN y = 0 OR x IS NULL OR y IS NULL THEN NULL WHEN x = 'NaN' OR y = 'NaN' THEN 'NaN'::float8"
        f" WHEN abs(y) = 'Infinity' THEN CASE WHEN abs(x) = 'Infinity' THEN 'NaN'::float8 ELSE 0::float8 END"
        f" WHEN x = 0 OR abs(x) = 'Infinity' OR ({_MIDDLE}) THEN x / y"
        f" WHEN {over} >= {small} THEN {_SIGNED} WHEN {under} <= {large} THEN {_ZERO} ELSE x / y END",
    )


def exp(a: str) -> str:
    """e to the x; NULL where that is infinite, zero where it is smaller than every double."""
    return once(
        {"x": a},
        "CASE WHEN x = 'NaN' THEN x WHEN x > 709.782712893383 THEN NULL WHEN x < -745.13 THEN 0::float8"
        " ELSE exp(x) END",
    )


def ln(a: str, function: str = "ln") -> str:
    """A logarithm; NULL of what has none."""
    return once({"x": a}, f"CASE WHEN x = 'NaN' THEN x WHEN x > 0 THEN {function}(x) END")


def sqrt(a: str) -> str:
    """The square root; NULL of what is negative."""
    return once({"x": a}, "CASE WHEN x >= 0 THEN sqrt(x) END")


def power(a: str, b: str) -> str:
    """x to the y where that is a finite number, else NULL."""
    size = "ln(abs(x)) * y"
    return once(
        {"x": a, "y": b},
        "CASE WHEN x IS NULL OR y IS NULL THEN NULL WHEN y = 0 OR x = 1 THEN 1::float8"
        " WHEN x = 'NaN' OR y = 'NaN' THEN NULL"
        " WHEN x = 0 THEN CASE WHEN y > 0 THEN 0::float8 END"
        " WHEN abs(x) = 'Infinity' THEN CASE WHEN y < 0 THEN 0::float8 END"
        " WHEN abs(y) = 'Infinity' THEN"
        " CASE WHEN abs(x) = 1 THEN 1::float8 WHEN (abs(x) < 1) = (y > 0) THEN 0::float8 END"
        " WHEN x < 0 AND y <> floor(y) THEN NULL WHEN abs(x) = 1 THEN CASE WHEN x = 1 OR abs(y) >= 9007199254740992 OR"
        " y::bigint % 2 = 0 THEN 1::float8 ELSE -1::float8 END"
        " WHEN abs(y) > 1e20 THEN CASE WHEN (abs(x) < 1) = (y > 0) THEN 0::float8 END"
        f" WHEN abs(y) < 1e-300 THEN 1::float8 WHEN {size} > 709.782712893 THEN NULL"
        f" WHEN {size} < -745.13 THEN 0::float8"
        " ELSE power(x, y) END",
    )


def away(a: str) -> str:
    """The nearest whole double, halves away from zero."""
    return once(
        {"x": a},
        "CASE WHEN abs(x) >= 4503599627370496 THEN x WHEN abs(x - trunc(x)) >= 0.5 THEN trunc(x) + sign(x)"
        " ELSE trunc(x) END",
    )


def whole(a: str) -> str:
    """A whole double as a numeric, exactly; NULL where it is not finite or 127 bits do not hold it."""
    far = number(2.0**64)
    return once(
        {"x": a},
        f"CASE WHEN abs(x) < {number(2.0**62)} THEN x::bigint::numeric WHEN x >= {number(-(2.0**127))} AND"
        f" x < {number(2.0**127)} THEN trunc(x / {far})::bigint::numeric * {2**64}"
        f" + ((x - trunc(x / {far}) * {far}) / 2)::bigint::numeric * 2 END",
    )


def of_numeric(a: str) -> str:
    """The nearest double of a numeric: NaN stays, and what is too large is infinite."""
    return once(
        {"x": a},
        "CASE WHEN x = 'NaN'::numeric THEN 'NaN'::float8 WHEN x > 1.7976931348623157e308 THEN 'Infinity'::float8"
        " WHEN x < -1.7976931348623157e308 THEN '-Infinity'::float8"
        f" WHEN abs(x) <= {_LEAST} THEN 0::float8 ELSE x::float8 END",
    )
