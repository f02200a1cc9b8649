"""Arithmetic of doubles as Spark's SQL, which follows IEEE 754 but for a division by zero: that would raise.

Comes in: the text of doubles. Goes out: the text of a double, or of a whole number of 38 digits. No expression of this
module raises, whatever its arguments are: what raises stands in a branch of CASE behind the condition that excludes it.
"""

from __future__ import annotations

from sfumato.engines.spark.spelling import MOST, WIDE, number, once, whole

INFINITE = number(float("inf"))
_EXACT = number(2.0**52)
_ONE = "1D"


def divide(a: str, b: str) -> str:
    """a / b; NULL where b is zero."""
    return f"({a} / NULLIF({b}, 0D))"


def exp(a: str) -> str:
    """e to the x; NULL where that is infinite."""
    return f"NULLIF(exp({a}), {INFINITE})"


def ln(a: str, function: str = "ln") -> str:
    """A logarithm; NULL of what has none."""
    return once({"x": a}, f"CASE WHEN x > 0D THEN {function}(x) END")


def sqrt(a: str) -> str:
    """The square root; NULL of what is negative."""
    return once({"x": a}, "CASE WHEN x >= 0D THEN sqrt(x) END")


def power(a: str, b: str) -> str:
    """x to the y where that is a finite number, else NULL. One to any power is one, which Java does not say."""
    result = once({"p": "power(x, y)"}, f"CASE WHEN abs(p) < {INFINITE} THEN p END")
    return once(
        {"x": a, "y": b},
        "CASE WHEN x IS NULL OR y IS NULL THEN NULL WHEN y = 0D OR x = 1D THEN 1D"
        f" WHEN x = -1D AND abs(y) = {INFINITE} THEN 1D ELSE {result} END",
    )


def truncated(x: str) -> str:
    """Toward zero. Names its argument several times."""
    return f"CASE WHEN abs({x}) >= {_EXACT} THEN {x} ELSE CAST(CAST({x} AS BIGINT) AS DOUBLE) END"


def floor(a: str) -> str:
    """The largest whole double that is not above; Spark's own is of 64 bits."""
    return once({"x": a}, f"CASE WHEN abs(x) >= {_EXACT} THEN x ELSE CAST(floor(x) AS DOUBLE) END")


def ceil(a: str) -> str:
    """The smallest whole double that is not below."""
    return once({"x": a}, f"CASE WHEN abs(x) >= {_EXACT} THEN x ELSE CAST(ceil(x) AS DOUBLE) END")


def trunc(a: str) -> str:
    """Toward zero."""
    return once({"x": a}, truncated("x"))


def away(a: str) -> str:
    """The nearest whole double, halves away from zero."""
    near = "CAST(CAST(x AS BIGINT) AS DOUBLE)"
    return once(
        {"x": a},
        f"CASE WHEN abs(x) >= {_EXACT} THEN x WHEN abs(x - {near}) >= 0.5D THEN {near} + signum(x) ELSE {near} END",
    )


def whole_of(a: str, *, beyond: bool = False) -> str:
    """A whole double as a number of 38 digits, exactly; NULL where it is not finite or 127 bits do not hold it.

    What 127 bits hold but 38 digits do not is the last number of 38 digits where it goes `beyond` a bound anyway.
    """
    far, half = number(2.0**64), "CAST((x - {0} * {1}) / 2D AS BIGINT)"
    high = f"CAST(CAST(x / {far} AS BIGINT) AS DOUBLE)"
    low = half.format(high, far)
    last, most = number(1e38), number(2.0**127)
    edge = ""
    if beyond:
        ends = whole(MOST, wide=True), whole(-MOST, wide=True)
        edge = f" WHEN x >= {last} AND x < {most} THEN {ends[0]} WHEN x <= -{last} AND x >= -{most} THEN {ends[1]}"
    return once(
        {"x": a},
        f"CASE WHEN abs(x) < {number(2.0**62)} THEN CAST(CAST(x AS BIGINT) AS {WIDE})"
        f" WHEN abs(x) < {last} THEN CAST(CAST(x / {far} AS BIGINT) AS {WIDE}) * {whole(2**64, wide=True)}"
        f" + CAST({low} AS {WIDE}) * 2L{edge} END",
    )
