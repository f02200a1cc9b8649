"""The SQL of aggregates and windows over the rows of one unit.

Comes in: an aggregate or a window that binding has allowed below a release. Goes out: DuckDB's SQL of it. Sums are
whole numbers, and a number that grows with the rows of a unit is clamped to its bounds here, where it is derived.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.algebra.aggregates.over_unit import FINER, parts_of
from sfumato.algebra.tree import INTEGER, Aggregate, Facts, Over
from sfumato.engines.duckdb.expressions import expression, is_small, literal, sort_key


def clamped(number: str, facts: Facts) -> str:
    """A number that grows with the rows of a person, held to its bounds: here, where it is derived."""
    if facts.low is None or facts.high is None or facts.grid is None:
        return number
    low, high = int(facts.low / facts.grid), int(facts.high / facts.grid)
    held = f"CASE WHEN {number} <= {low} THEN {low} WHEN {number} >= {high} THEN {high} ELSE {number} END"
    return f"CAST({held} AS {'BIGINT' if is_small(facts) else 'HUGEINT'})"


def spelling(aggregate: Aggregate) -> str:
    """The SQL of an aggregate inside a GROUP BY of the person."""
    where = "" if aggregate.where is None else f" FILTER (WHERE {expression(aggregate.where)})"
    name, arg = aggregate.name, aggregate.arg
    x = "*" if arg is None else expression(arg)
    total, count = f"CAST(SUM({x}){where} AS HUGEINT)", f"CAST(COUNT({x}){where} AS HUGEINT)"
    if name in ("count", "count_distinct"):
        sql = clamped(f"COUNT({'DISTINCT ' if name != 'count' else ''}{x}){where}", aggregate.facts)
    elif name == "percentile_disc":
        sql = f"QUANTILE_DISC({x}, {aggregate.extra}){where}"
    elif name in ("median", "percentile_cont"):
        sql = _quantile(aggregate, where)
    elif name == "sum":
        sql = clamped(total, aggregate.facts)
    elif name == "avg":
        sql = _quotient(total, count, aggregate.facts)
    elif name.startswith(("var", "stddev")):
        sql = _variance(aggregate, x, where, count)
    else:
        sql = f"{name.upper()}({x}){where}"
    return sql


def _quotient(total: str, count: str, facts: Facts) -> str:
    """A mean on its finer grid; where it was rounded it is odd, and no constant that one compares with is."""
    scaled = f"({total} * {FINER})"
    whole = f"({scaled} // NULLIF({count}, 0))"
    inexact = f"({scaled} % NULLIF({count}, 0)) <> 0 AND {whole} % 2 = 0"
    return clamped(f"CASE WHEN {inexact} THEN {whole} + SIGN({total}) ELSE {whole} END", facts)


def _quantile(aggregate: Aggregate, where: str) -> str:
    """Between two of her values, by doubles: the same doubles in whatever order her rows come, then whole steps."""
    assert aggregate.arg is not None
    fraction = aggregate.extra or "0.5"
    steps = f"QUANTILE_CONT(CAST({expression(aggregate.arg)} AS DOUBLE), {fraction}){where}"
    return clamped(f"TRY_CAST(ROUND({steps} * {parts_of(aggregate.name)}) AS HUGEINT)", aggregate.facts)


def _variance(aggregate: Aggregate, x: str, where: str, count: str) -> str:
    """(n sum of squares - square of sum) / (n (n - 1)), in whole numbers until the division."""
    assert aggregate.arg is not None
    facts = aggregate.arg.facts
    assert facts.low is not None
    grid = facts.grid or Fraction(1)
    from_low = f"(CAST({x} AS HUGEINT) - {literal(int(facts.low / grid), Facts(INTEGER, grid=Fraction(1)))})"
    squares, total = f"CAST(SUM({from_low} * {from_low}){where} AS DOUBLE)", f"CAST(SUM({from_low}){where} AS DOUBLE)"
    fewer = count if aggregate.name.endswith("pop") else f"({count} - 1)"
    variance = f"(({squares} - {total} * {total} / NULLIF({count}, 0)) / NULLIF({fewer}, 0))"
    size = grid * grid
    scaled = f"GREATEST({variance} * {size.numerator} / {size.denominator}, 0)"
    held = f"CASE WHEN {variance} IS NULL THEN NULL ELSE {scaled} END"
    return held if aggregate.name.startswith("var") else f"SQRT({held})"


def window(over: Over) -> str:
    """A window over the rows of one person, who is `_u`."""
    parts = ["PARTITION BY " + ", ".join(["_u", *(expression(p) for p in over.partition)])]
    if over.order:
        parts.append("ORDER BY " + ", ".join(sort_key(s.node, s.descending, s.nulls_first) for s in over.order))
    frame = f"OVER ({' '.join(parts)}{' ' + over.frame if over.frame else ''})"
    x = ", ".join(expression(arg) for arg in over.args)
    if over.name == "avg":
        total, count = f"CAST(SUM({x}) {frame} AS HUGEINT)", f"CAST(COUNT({x}) {frame} AS HUGEINT)"
        return _quotient(total, count, over.facts)
    call = f"{over.name}({x or ('*' if over.name == 'count' else '')}) {frame}"
    if over.name in ("lag", "lead", "first_value", "last_value", "min", "max"):
        return call
    return clamped(f"CAST({call} AS HUGEINT)", over.facts)
