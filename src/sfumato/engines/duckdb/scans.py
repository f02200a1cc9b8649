"""The scan: declared domains are enforced before any predicate, key or aggregate sees a value (semantics 1.4).

Comes in: a column as the policy declares it and where the engine has it. Goes out: an expression that cannot fail: NaN
becomes NULL, what lies outside becomes the bound, a text that is not in the list becomes NULL, numbers become whole
steps of their grid.
"""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction

from sfumato.algebra.tree import BOOLEAN, DATE, INTEGER, TEXT, TIMESTAMP, Facts
from sfumato.engines.duckdb.expressions import is_small, literal
from sfumato.errors import QueryError
from sfumato.policy import PolicyColumn as Declared


def enforced(column: Declared, source: str, facts: Facts) -> str:
    """A column as declared: NaN to NULL, outside to the bound, not in the list to NULL, never an error."""
    kind = column.type or TEXT
    if kind in (DATE, TIMESTAMP):
        return _enforced_time(column, source, kind)
    if kind not in (TEXT, BOOLEAN):
        return _enforced_number(column, source, facts)
    value = f"CAST({source} AS VARCHAR)" if kind == TEXT else f"TRY_CAST({source} AS BOOLEAN)"
    if column.values is not None:
        listed = ", ".join(literal(v, facts) for v in column.values)
        return f"CASE WHEN {value} IN ({listed}) THEN {value} END"
    return value if kind == BOOLEAN else f"SUBSTRING({value}, 1, {facts.length})"


def _enforced_time(column: Declared, source: str, kind: str) -> str:
    """Within the declared bounds, or within the years 1 to 9999: beyond them functions of time fail."""
    value = f"TRY_CAST({source} AS {kind.upper()})"
    first: date = datetime(1, 1, 1) if kind == TIMESTAMP else date(1, 1, 1)  # noqa: DTZ001  time has no zone here
    last: date = datetime(9999, 12, 31) if kind == TIMESTAMP else date(9999, 12, 31)  # noqa: DTZ001  the same
    ends = (
        column.low if isinstance(column.low, date) else first,
        column.high if isinstance(column.high, date) else last,
    )
    low, high = (literal(end, Facts(kind)) for end in ends)
    return f"CASE WHEN {value} <= {low} THEN {low} WHEN {value} >= {high} THEN {high} ELSE {value} END"


def _enforced_number(column: Declared, source: str, facts: Facts) -> str:
    near = f"TRY_CAST({source} AS DOUBLE)"
    if not facts.exact or facts.grid is None:
        return _enforced_double(near, facts)
    if facts.kind == INTEGER:
        exact = f"COALESCE(TRY_CAST({source} AS BIGINT), TRY_CAST(ROUND_EVEN({near}, 0) AS BIGINT))"
        if column.values is not None:
            listed = ", ".join(str(int(v)) for v in column.values)
            return _roomy(f"CASE WHEN {exact} IN ({listed}) THEN {exact} END", facts)
        if not facts.bounded:
            return _roomy(exact, facts)
    else:
        exact = _on_grid(source, near, facts)
    assert facts.low is not None
    assert facts.high is not None
    low, high = int(facts.low / facts.grid), int(facts.high / facts.grid)
    first, last = repr(float(facts.low)), repr(float(facts.high))
    ends = f"WHEN {near} <= {first} THEN {low} WHEN {near} >= {last} THEN {high}"
    if facts.largest / facts.grid >= 1 << 50:  # as doubles numbers beside a bound may be the bound: they are looked at
        ends = (
            f"WHEN {near} < {first} THEN {low} WHEN {near} > {last} THEN {high} "
            f"WHEN {exact} IS NULL THEN CASE {ends} END"
        )
    bounded = (
        f"CASE WHEN {near} IS NULL OR isnan({near}) THEN NULL {ends} WHEN {exact} IS NULL THEN NULL "
        f"ELSE LEAST(GREATEST({exact}, {low}), {high}) END"
    )
    return _roomy(bounded, facts)


def _roomy(number: str, facts: Facts) -> str:
    """Numbers of 62 bits or more in 127 bits: the lowest of 64 bits has no negative, no size, no quotient by -1."""
    return number if is_small(facts) else f"CAST({number} AS HUGEINT)"


def _enforced_double(near: str, facts: Facts) -> str:
    """A number without a grid: fit for conditions, not for sums."""
    bounds = ""
    if facts.low is not None and facts.high is not None:
        low, high = repr(float(facts.low)), repr(float(facts.high))
        bounds = f" WHEN {near} <= {low} THEN {low} WHEN {near} >= {high} THEN {high}"
    return f"CASE WHEN isnan({near}) THEN NULL{bounds} ELSE {near} END"


def _on_grid(source: str, near: str, facts: Facts) -> str:
    """The nearest whole number of steps, halves away from zero; by doubles where 50 bits hold it, else by decimals."""
    grid = facts.grid or Fraction(1)
    if facts.largest / grid < 1 << 50:
        return f"TRY_CAST(ROUND({near} * {grid.denominator} / {grid.numerator}) AS BIGINT)"
    digits = 0
    while (grid * 10**digits).denominator != 1:
        digits += 1
    step = int(grid * 10**digits)
    if facts.largest * 10**digits >= 10**37:
        raise QueryError("this column has too many digits for the engine", hint="Declare a coarser grid.")
    # a decimal printed without its point is its number of smallest steps
    whole = f"TRY_CAST(REPLACE(CAST(TRY_CAST({source} AS DECIMAL(38, {digits})) AS VARCHAR), '.', '') AS HUGEINT)"
    return f"CAST(SIGN({whole}) * ((2 * ABS({whole}) + {step}) // {2 * step}) AS HUGEINT)"
