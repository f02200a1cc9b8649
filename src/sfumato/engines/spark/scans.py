"""The scan: declared domains are enforced before any predicate, key or aggregate sees a value (semantics 1.4).

Comes in: a column as the policy declares it and as Spark holds it. Goes out: an expression that cannot fail: NaN
becomes NULL, what lies outside becomes the bound, a text that is not in the list becomes NULL, numbers become whole
steps of their grid, and times lie within the years 1 to 9999.
"""

from __future__ import annotations

import math
from datetime import date, datetime
from fractions import Fraction

import pyarrow as pa

from sfumato.algebra.tree import BOOLEAN, DATE, INTEGER, TEXT, TIMESTAMP, Facts
from sfumato.engines.spark import casts, doubles
from sfumato.engines.spark.expressions import narrowed
from sfumato.engines.spark.source import DAY, FLOAT, MOMENT, NUMERIC, TEXTUAL, TRUTH, WHOLE, SparkColumn
from sfumato.engines.spark.spelling import (
    ROOMY,
    WIDE,
    absolute,
    is_small,
    literal,
    null,
    number,
    once,
    quotient,
    text,
    too_many_digits,
    type_of,
    whole,
)
from sfumato.engines.spark.spelling import quoted as quoted_name
from sfumato.policy import PolicyColumn as Declared

_TIME = text(r"\A *[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})? *\z")
_ENDLESS = text(r"(?i)\A *[+-]?inf(inity)? *\z")
_DOUBLES = 1 << 50
"""Steps below which a double is exact enough to meet its grid as a double."""
_PLACES = 18
"""Digits after the point that a text is read with where its grid is no power of ten."""


def enforced(  # noqa: PLR0911  one answer for each kind of column
    declared: Declared, column: SparkColumn, facts: Facts, alias: str = "t"
) -> str:
    """A column as declared, of the type `type_of(facts)`."""
    kind, source = declared.type or TEXT, column.raw(alias)
    if kind == TEXT:
        return _text(declared, column, source, facts)
    if kind == BOOLEAN:
        return _truth(declared, column, source, facts)
    if kind in (DATE, TIMESTAMP):
        return _time(declared, column, source, kind)
    if not facts.exact or facts.grid is None:
        return _double(column, source, facts)
    if column.family == FLOAT:
        return _of_float(declared, source, facts)
    if column.family == WHOLE and facts.kind == INTEGER:
        return _clamped(source, facts) if declared.values is None else _listed(declared, source, facts)
    return _of_exact(declared, column, source, facts)


def _text(declared: Declared, column: SparkColumn, source: str, facts: Facts) -> str:
    value = source if column.family == TEXTUAL else f"CAST({source} AS STRING)"
    if column.type == "binary":
        value = f"hex({source})"
    elif column.family not in (TEXTUAL, WHOLE, NUMERIC, FLOAT, TRUTH, DAY, MOMENT):
        complex_ = column.type.startswith(("struct", "map", "array"))
        value = f"to_json({source})" if complex_ else f"TRY_CAST({source} AS STRING)"
    if declared.values is not None:
        listed = ", ".join(text(str(v)) for v in declared.values)
        return f"CASE WHEN {value} IN ({listed}) THEN {value} END"
    if column.family == TEXTUAL:  # bytes that are not UTF-8 are no text, and would not leave Spark
        value = f"try_validate_utf8({value})"
    return f"substring({value}, 1, {facts.length})"


def _truth(declared: Declared, column: SparkColumn, source: str, facts: Facts) -> str:
    value = {
        TRUTH: source,
        **dict.fromkeys((WHOLE, NUMERIC, FLOAT), f"({source} <> 0)"),
        TEXTUAL: casts.from_text(source, BOOLEAN, [], facts),
    }.get(column.family, "CAST(NULL AS BOOLEAN)")
    if declared.values is None:
        return value
    return f"CASE WHEN {value} IN ({', '.join(literal(v, facts) for v in declared.values)}) THEN {value} END"


def _time(declared: Declared, column: SparkColumn, source: str, kind: str) -> str:
    """Between the bounds; other millennia are beyond them."""
    first: date = datetime(1, 1, 1) if kind == TIMESTAMP else date(1, 1, 1)  # noqa: DTZ001  time has no zone here
    last: date = datetime(9999, 12, 31) if kind == TIMESTAMP else date(9999, 12, 31)  # noqa: DTZ001  the same
    ends = (
        declared.low if isinstance(declared.low, date) else first,
        declared.high if isinstance(declared.high, date) else last,
    )
    low, high = (literal(end, Facts(kind)) for end in ends)
    value = {DAY: source, MOMENT: f"CAST({source} AS TIMESTAMP)"}.get(column.family)
    if value is None and column.family == TEXTUAL:
        value = once({"x": source}, _moment()) if kind == TIMESTAMP else casts.day(source)
    if value is None:
        return null(Facts(kind))
    inner = f"CAST(x AS {kind.upper()})"
    return once({"x": value}, f"CASE WHEN x <= {low} THEN {low} WHEN x >= {high} THEN {high} ELSE {inner} END")


def _moment() -> str:
    """A text as 2024-01-31 23:59:59, or a day alone."""
    at = once({"m": "TRY_CAST(btrim(x, ' ') AS TIMESTAMP)"}, "CASE WHEN m >= TIMESTAMP'0001-01-01 00:00:00' THEN m END")
    day = f"CAST({casts.day('x')} AS TIMESTAMP)"
    return casts.if_short("x", f"CASE WHEN x RLIKE {_TIME} THEN {at} ELSE {day} END")


# numbers
def _ends(facts: Facts) -> tuple[int, int]:
    grid = facts.grid or Fraction(1)
    assert facts.low is not None
    assert facts.high is not None
    return int(facts.low / grid), int(facts.high / grid)


def _clamped(source: str, facts: Facts) -> str:
    """A whole number of the source between its bounds."""
    if not facts.bounded:
        return f"CAST({source} AS {WIDE})"
    low, high = (whole(end, not is_small(facts)) for end in _ends(facts))
    inside = f"CAST({source} AS {type_of(facts)})"
    return f"CASE WHEN {source} <= {low} THEN {low} WHEN {source} >= {high} THEN {high} ELSE {inside} END"


def _listed(declared: Declared, value: str, facts: Facts) -> str:
    """A whole number that is in the list, else NULL."""
    listed = ", ".join(whole(int(v), not is_small(facts)) for v in declared.values or ())
    return once({"v": value}, f"CASE WHEN v IN ({listed}) THEN CAST(v AS {type_of(facts)}) END")


def _units(column: SparkColumn, source: str, places: int) -> str:
    """A number that is not a float, exactly, as a wide whole number of its last digits after the point."""
    if column.family == WHOLE:
        return f"CAST({source} AS {WIDE})"
    if column.family == TRUTH:
        return f"CAST(CAST({source} AS INT) AS {WIDE})"
    if column.family == TEXTUAL:
        return casts.steps_of(source, places)
    precision, scale = column.digits
    if places < scale:  # rounded as the grid would, halves away from zero
        return casts.without_point(f"CAST({source} AS DECIMAL(38, {places}))", places)
    if precision + scale + 1 <= 38:
        return f"CAST({source} * {10**scale}BD AS {WIDE})"
    return casts.without_point(source, scale)


def _places(column: SparkColumn, facts: Facts) -> int:
    """How many digits after the point `_units` has: those of its grid, or as many as there are and 38 hold."""
    if column.family not in (NUMERIC, TEXTUAL):
        return 0
    grid, own = facts.grid or Fraction(1), column.digits[1] if column.family == NUMERIC else _PLACES
    exact = next((k for k in range(38) if grid == Fraction(1, 10**k)), None)
    if exact is not None:
        return exact if column.family == TEXTUAL else min(exact, own)
    if not facts.bounded:
        return min(own, _PLACES)
    return next((k for k in range(own, 0, -1) if _fits(facts, k)), 0)


def _fits(facts: Facts, places: int) -> bool:
    """Whether 37 digits hold what `_on_grid` computes."""
    n, d = _ratio(facts, places)
    return bool(2 * facts.largest * 10**places * d + n <= ROOMY)


def _ratio(facts: Facts, places: int) -> tuple[int, int]:
    """A step of the grid in units of so many digits, as a fraction."""
    step = (facts.grid or Fraction(1)) * 10**places
    return step.numerator, step.denominator


def _of_exact(declared: Declared, column: SparkColumn, source: str, facts: Facts) -> str:
    """A number that is not a float on its grid and between its bounds."""
    if column.family not in (WHOLE, NUMERIC, TRUTH, TEXTUAL):
        return null(facts)
    places = _places(column, facts)
    units = _units(column, source, places)
    if facts.kind == INTEGER and (declared.values is not None or not facts.bounded):
        size = 10**places
        near = quotient(f"2L * {absolute('x')} + {whole(size, wide=True)}", whole(2 * size, wide=True), sure=False)
        ends = (whole(sign * (1 << 63) * size, wide=True) for sign in (-1, 1))
        within = f"x BETWEEN {' AND '.join(ends)}"
        signed = f"CASE WHEN {within} THEN CASE WHEN x < 0L THEN (-1L) ELSE 1L END * {near} END"
        if declared.values is not None:
            return _listed(declared, once({"x": units}, signed), facts)
        low, high = whole(-(1 << 63), wide=True), whole((1 << 63) - 1, wide=True)
        return once({"v": once({"x": units}, signed)}, f"CASE WHEN v BETWEEN {low} AND {high} THEN v END")
    assert facts.low is not None
    assert facts.high is not None
    wide = not is_small(facts)
    low, high = (whole(end, wide) for end in _ends(facts))
    below, above = math.floor(facts.low * 10**places), math.ceil(facts.high * 10**places)
    inside = narrowed(_on_grid(facts, places), facts)
    value = once(
        {"x": units},
        f"CASE WHEN x <= {whole(below, wide=True)} THEN {low} WHEN x >= {whole(above, wide=True)} THEN {high}"
        f" ELSE {inside} END",
    )
    return value if column.family != TEXTUAL else _of_text(source, value, facts, (low, high))


def _on_grid(facts: Facts, places: int) -> str:
    """x units of so many digits on a grid, halves away from zero."""
    n, d = _ratio(facts, places)
    if not _fits(facts, places):
        raise too_many_digits()
    if n == 1:
        return f"(x * {whole(d, wide=True)})"
    twice = f"2L * {absolute('x')} * {whole(d, wide=True)} + {whole(n, wide=True)}"
    near = quotient(twice, whole(2 * n, wide=True), sure=False)
    return f"(CASE WHEN x < 0L THEN (-1L) ELSE 1L END * {near})"


def _of_text(source: str, value: str, facts: Facts, ends: tuple[str, str]) -> str:
    """A text is first read as a double: what is far beyond its bounds needs more digits than there are."""
    assert facts.low is not None
    assert facts.high is not None
    low, high = number(float(facts.low)), number(float(facts.high))
    return once(
        {"w": _near(source)},
        f"CASE WHEN w IS NULL OR isnan(w) THEN NULL WHEN w < {low} THEN {ends[0]} WHEN w > {high} THEN {ends[1]}"
        f" ELSE {value} END",
    )


def _near(source: str) -> str:
    """A text as a double, which may be infinite; NULL where it is none."""
    read = (
        f"CASE WHEN x RLIKE {casts.NUMBER} OR x RLIKE {_ENDLESS} THEN TRY_CAST(btrim(x, {casts.BLANKS}) AS DOUBLE) END"
    )
    return once({"x": source}, casts.if_short("x", read))


def _of_float(declared: Declared, source: str, facts: Facts) -> str:
    """A float on its grid and between its bounds."""
    x = f"CAST({source} AS DOUBLE)"
    if facts.kind == INTEGER and (declared.values is not None or not facts.bounded):
        inside = f"x >= {number(-(2.0**63))} AND x < {number(2.0**63)}"
        near = once({"x": x}, f"CASE WHEN {inside} THEN {doubles.whole_of('rint(x)')} END")
        return near if declared.values is None else _listed(declared, near, facts)
    assert facts.low is not None
    assert facts.high is not None
    low, high = _ends(facts)
    grid, wide = facts.grid or Fraction(1), not is_small(facts)
    scaled = "x" if grid.denominator == 1 else f"x * {number(float(grid.denominator))}"
    scaled = scaled if grid.numerator == 1 else f"{scaled} / {number(float(grid.numerator))}"
    nearest = f"rint({scaled})" if facts.kind == INTEGER else doubles.away(scaled)
    ends = whole(low, wide), whole(high, wide)
    if facts.largest / grid < _DOUBLES:
        held = f"LEAST(GREATEST(CAST({nearest} AS BIGINT), {ends[0]}), {ends[1]})"
    else:
        near = doubles.whole_of(nearest, beyond=True)
        limits = whole(low, wide=True), whole(high, wide=True)
        held = once({"v": near}, f"CAST(LEAST(GREATEST(v, {limits[0]}), {limits[1]}) AS {type_of(facts)})")
    return once(
        {"x": x},
        f"CASE WHEN x IS NULL OR isnan(x) THEN NULL WHEN x <= {number(float(facts.low))} THEN"
        f" {ends[0]} WHEN x >= {number(float(facts.high))} THEN {ends[1]} ELSE {held} END",
    )


def _double(column: SparkColumn, source: str, facts: Facts) -> str:
    """A number without a grid: fit for conditions, not for sums."""
    if column.family == TEXTUAL:
        near = _near(source)
    elif column.family in (WHOLE, NUMERIC, FLOAT):
        near = f"CAST({source} AS DOUBLE)"
    elif column.family == TRUTH:
        near = f"CAST(CAST({source} AS INT) AS DOUBLE)"
    else:
        return "CAST(NULL AS DOUBLE)"
    bounds = ""
    if facts.low is not None and facts.high is not None:
        low, high = number(float(facts.low)), number(float(facts.high))
        bounds = f" WHEN x <= {low} THEN {low} WHEN x >= {high} THEN {high}"
    return once({"x": near}, f"CASE WHEN isnan(x) THEN NULL{bounds} ELSE x END")


def public_value(column: SparkColumn) -> tuple[str, pa.DataType]:
    """A column of a public table as it is read once, and its type: times as numbers, all but plain numbers as text."""
    source, name = column.raw("t"), f" AS {quoted_name(column.name)}"
    if column.family in (WHOLE, TRUTH, FLOAT):
        word, kind = {WHOLE: ("BIGINT", pa.int64()), TRUTH: ("BOOLEAN", pa.bool_()), FLOAT: ("DOUBLE", pa.float64())}[
            column.family
        ]
        return f"CAST({source} AS {word}){name}", kind
    if column.family in (DAY, MOMENT):
        word = DATE if column.family == DAY else TIMESTAMP
        bare = _time(Declared(column.name, word), column, source, word)
        if word == DATE:
            return f"unix_date({bare}){name}", pa.date32()
        return f"unix_micros({bare}){name}", pa.timestamp("us")
    return _text(Declared(column.name, TEXT), column, source, Facts(TEXT, length=1 << 30)) + name, pa.string()
