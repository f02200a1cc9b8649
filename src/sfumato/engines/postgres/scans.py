"""The scan: declared domains are enforced before any predicate, key or aggregate sees a value (semantics 1.4).

Comes in: a column as the policy declares it and as the server holds it. Goes out: an expression that cannot fail: NaN
becomes NULL, what lies outside becomes the bound, a text that is not in the list becomes NULL, numbers become whole
steps of their grid, and times lie within the years 1 to 9999.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa

from sfumato.algebra.tree import BOOLEAN, DATE, INTEGER, TEXT, TIMESTAMP, Facts
from sfumato.engines.postgres import casts, doubles
from sfumato.engines.postgres.source import DAY, FLOAT, MOMENT, NUMERIC, TEXTUAL, TRUTH, WHOLE, ZONED, SourceColumn
from sfumato.engines.postgres.spelling import is_small, literal, null, number, once, text, type_of, whole
from sfumato.policy import PolicyColumn as Declared
from sfumato.types import identifier as quoted

_TIME = "'^ *[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})? *$'"
_BYTES = 100_000_000


def enforced(  # noqa: PLR0911  one answer for each kind of column
    declared: Declared, column: SourceColumn, facts: Facts, alias: str = "t"
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
    exact = _numeric(column, source)
    return null(facts) if exact is None else once({"x": exact}, _of_numeric(declared, facts))


def _text(declared: Declared, column: SourceColumn, source: str, facts: Facts) -> str:
    if column.type == "bytea":  # two digits a byte: more than half a gigabyte would not be a text
        source = f"substring({source}, 1, {_BYTES})"
    value = source if column.family == TEXTUAL else f'({source}::text COLLATE "C")'
    if declared.values is not None:
        listed = ", ".join(text(str(v)) for v in declared.values)
        return f"CASE WHEN {value} IN ({listed}) THEN {value} END"
    return f"substring({value}, 1, {facts.length})"


def _truth(declared: Declared, column: SourceColumn, source: str, facts: Facts) -> str:
    value = {
        TRUTH: source,
        WHOLE: f"({source} <> 0)",
        TEXTUAL: casts.from_text(source, BOOLEAN, [], facts),
    }.get(column.family, "NULL::boolean")
    if declared.values is None:
        return value
    return f"CASE WHEN {value} IN ({', '.join(literal(v, facts) for v in declared.values)}) THEN {value} END"


def _time(declared: Declared, column: SourceColumn, source: str, kind: str) -> str:
    """Between the bounds; infinities and other millennia are beyond them."""
    first: date = datetime(1, 1, 1) if kind == TIMESTAMP else date(1, 1, 1)  # noqa: DTZ001  time has no zone here
    last: date = datetime(9999, 12, 31) if kind == TIMESTAMP else date(9999, 12, 31)  # noqa: DTZ001  the same
    ends = (
        declared.low if isinstance(declared.low, date) else first,
        declared.high if isinstance(declared.high, date) else last,
    )
    low, high = (literal(end, Facts(kind)) for end in ends)
    value = {DAY: source, MOMENT: source, ZONED: f"({source} AT TIME ZONE 'UTC')"}.get(column.family)
    if value is None and column.family == TEXTUAL:
        value = once({"x": source}, _moment() if kind == TIMESTAMP else casts.day("x"))
    if value is None:
        return null(Facts(kind))
    inner = f"x::{kind}"
    return once({"x": value}, f"CASE WHEN x <= {low} THEN {low} WHEN x >= {high} THEN {high} ELSE {inner} END")


def _moment() -> str:
    """A text as 2024-01-31 23:59:59, or a day alone."""
    day, clock = "substring(btrim(x, ' '), 1, 10)", "substring(btrim(x, ' '), 12)"
    return casts.if_short(
        "x",
        f"CASE WHEN x ~ {_TIME} AND substring({clock}, 1, 2) < '24' AND substring({clock}, 4, 2) < '60'"
        f" AND substring({clock}, 7, 2) < '60' THEN {casts.day(day)}::timestamp"
        f" + {clock}::time ELSE {casts.day('x')}::timestamp END",
    )


# numbers
def _numeric(column: SourceColumn, source: str) -> str | None:
    """The number of a column that is not a float, exactly; None where it holds none."""
    if column.family in (WHOLE, NUMERIC):
        return f"{source}::numeric"
    if column.family == TRUTH:
        return f"{source}::int::numeric"
    if column.family != TEXTUAL:
        return None
    far = f"CASE WHEN x ~* '^ *[+]?inf(inity)? *$' THEN {_FAR} WHEN x ~* '^ *-inf(inity)? *$' THEN -{_FAR}"
    return once({"x": source}, casts.if_short("x", f"{far} ELSE {casts.parsed('x')} END"))


def _ends(facts: Facts) -> tuple[int, int]:
    grid = facts.grid or Fraction(1)
    assert facts.low is not None
    assert facts.high is not None
    return int(facts.low / grid), int(facts.high / grid)


def _clamped(source: str, facts: Facts) -> str:
    """A whole number of the server between its bounds."""
    if not facts.bounded:
        return f"{source}::numeric"
    low, high = (whole(end, not is_small(facts)) for end in _ends(facts))
    inside = f"{source}::{type_of(facts)}"
    return f"CASE WHEN {source} <= {low} THEN {low} WHEN {source} >= {high} THEN {high} ELSE {inside} END"


def _listed(declared: Declared, value: str, facts: Facts) -> str:
    """A whole number that is in the list, else NULL."""
    listed = ", ".join(whole(int(v), not is_small(facts)) for v in declared.values or ())
    return once({"v": value}, f"CASE WHEN v IN ({listed}) THEN v::{type_of(facts)} END")


_FAR = "1e400"
"""What stands for a text that says infinity: beyond every bound, and no double."""
MOST_WHOLE = (1 << 63) - 1


def _of_numeric(declared: Declared, facts: Facts) -> str:
    """A numeric x on its grid and between its bounds; NaN is NULL, infinities are beyond the bounds."""
    if facts.kind == INTEGER and declared.values is not None:
        listed = ", ".join(str(int(v)) for v in declared.values)
        near = f"CASE WHEN abs(x) < {1 << 63} THEN round(x) END"
        return once({"v": near}, f"CASE WHEN v IN ({listed}) THEN v::{type_of(facts)} END")
    if not facts.bounded:
        return f"CASE WHEN x BETWEEN {-MOST_WHOLE - 1} AND {MOST_WHOLE} THEN round(x) END"
    low, high = _ends(facts)
    n, d = (facts.grid or Fraction(1)).numerator, (facts.grid or Fraction(1)).denominator
    near = f"round(x * {d})" if n == 1 else f"sign(x) * div(2 * abs(x * {d}) + {n}, {2 * n})"
    kind = type_of(facts)
    return (
        f"CASE WHEN x = 'NaN'::numeric THEN NULL WHEN {_compared('<=', facts.low)} THEN"
        f" {whole(low, not is_small(facts))} WHEN {_compared('>=', facts.high)} THEN"
        f" {whole(high, not is_small(facts))} ELSE ({near})::{kind} END"
    )


def _compared(sign: str, end: Fraction | None) -> str:
    """A numeric x against a bound, exactly."""
    assert end is not None
    places = next((k for k in range(40) if (end * 10**k).denominator == 1), None)
    if places is None:
        return f"x * {end.denominator} {sign} {end.numerator}"
    return f"x {sign} {Decimal(int(end * 10**places)).scaleb(-places):f}"


def _of_float(declared: Declared, source: str, facts: Facts) -> str:
    """A float on its grid and between its bounds."""
    x = f"{source}::float8"
    if facts.kind == INTEGER and (declared.values is not None or not facts.bounded):
        inside = f"x >= {number(-(2.0**63))} AND x < {number(2.0**63)}"
        near = once({"x": x}, f"CASE WHEN {inside} THEN {doubles.whole('round(x)')} END")
        return near if declared.values is None else _listed(declared, near, facts)
    assert facts.low is not None
    assert facts.high is not None
    low, high = _ends(facts)
    n, d = (facts.grid or Fraction(1)).numerator, (facts.grid or Fraction(1)).denominator
    scaled = "x" if d == 1 else f"x * {d}::float8"
    scaled = scaled if n == 1 else f"CASE WHEN abs(x) < 1e-290 THEN 0::float8 ELSE {scaled} / {n}::float8 END"
    near = doubles.whole(f"round({scaled})" if facts.kind == INTEGER else doubles.away(scaled))
    held = once({"v": near}, f"LEAST(GREATEST(v, {low}), {high})::{type_of(facts)}")
    return once(
        {"x": x},
        f"CASE WHEN x IS NULL OR x = 'NaN' THEN NULL WHEN x <= {number(float(facts.low))} THEN"
        f" {whole(low, not is_small(facts))} WHEN x >= {number(float(facts.high))} THEN"
        f" {whole(high, not is_small(facts))} ELSE {held} END",
    )


def _double(column: SourceColumn, source: str, facts: Facts) -> str:
    """A number without a grid: fit for conditions, not for sums."""
    exact = None if column.family == FLOAT else _numeric(column, source)
    if column.family != FLOAT and exact is None:
        return "NULL::float8"
    near = f"{source}::float8" if exact is None else doubles.of_numeric(exact)
    if column.family == WHOLE:
        near = f"{source}::float8"
    bounds = ""
    if facts.low is not None and facts.high is not None:
        low, high = number(float(facts.low)), number(float(facts.high))
        bounds = f" WHEN x <= {low} THEN {low} WHEN x >= {high} THEN {high}"
    return once({"x": near}, f"CASE WHEN x = 'NaN' THEN NULL{bounds} ELSE x END")


def public_value(column: SourceColumn) -> tuple[str, pa.DataType]:
    """A column of a public table as it is read once, and its type: nothing that a client could not hold."""
    source, name = column.raw("t"), f" AS {quoted(column.name)}"
    if column.family in (WHOLE, TRUTH, FLOAT):
        kind = {WHOLE: pa.int64(), TRUTH: pa.bool_(), FLOAT: pa.float64()}[column.family]
        return source + name, kind
    if column.family in (DAY, MOMENT, ZONED):
        word = DATE if column.family == DAY else TIMESTAMP
        bare = _time(Declared(column.name, word), column, source, word)
        return bare + name, pa.date32() if word == DATE else pa.timestamp("us")
    return f"{source}::text{name}", pa.string()
