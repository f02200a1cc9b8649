"""Aggregates and windows over the rows of one unit, as Spark's SQL.

Comes in: an aggregate or a window that binding has allowed below a release. Goes out: what Spark aggregates, and
the expression over them: sums are whole numbers, and a number that grows with the rows of a unit is clamped to its
bounds here, where it is derived. Spark's own percentiles are doubles: here they are taken out of a sorted array.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.algebra.aggregates.over_unit import FINER, parts_of
from sfumato.algebra.tree import Aggregate, Facts, Node, Over, Sorted
from sfumato.engines.remote.selects import UnitSql
from sfumato.engines.spark import doubles
from sfumato.engines.spark.expressions import expression, truth
from sfumato.engines.spark.spelling import WIDE, identifier, number, once, quotient, type_of, whole
from sfumato.errors import QueryError

SURELY = 1 << 30
"""Numbers of fewer steps are summed in 64 bits: 2^32 rows of one person would not leave them."""


def sort_key(item: Sorted) -> str:
    """An item of ORDER BY, NULLs where it says."""
    way, nulls = "DESC" if item.descending else "ASC", "FIRST" if item.nulls_first else "LAST"
    return f"{expression(item.node)} {way} NULLS {nulls}"


def summed(x: str, largest: Fraction | None) -> str:
    """What stands in SUM: wide where 64 bits might not hold the sum, or nothing is known of the numbers."""
    return x if largest is not None and largest < SURELY else f"CAST({x} AS {WIDE})"


def _largest(node: Node) -> Fraction | None:
    facts = node.facts
    return facts.largest / (facts.grid or 1) if facts.exact and facts.bounded else None


def clamped(x: str, facts: Facts) -> str:
    """A number that grows with the rows of a person, held to its bounds."""
    kind = type_of(facts)
    if facts.low is None or facts.high is None or facts.grid is None:
        return f"CAST({x} AS {kind})"
    low, high = (whole(int(end / facts.grid), kind == WIDE) for end in (facts.low, facts.high))
    return once({"x": x}, f"CAST(CASE WHEN x <= {low} THEN {low} WHEN x >= {high} THEN {high} ELSE x END AS {kind})")


def aggregate(name: str, of: Aggregate) -> UnitSql:
    """An aggregate inside a GROUP BY of the person; `name` is the column that it will be."""
    where = "" if of.where is None else f" FILTER (WHERE {truth(of.where)})"
    x = "*" if of.arg is None else expression(of.arg)
    first, second, third = (identifier(f"{name}#{i}") for i in range(3))
    if of.name in ("count", "count_distinct"):
        word = "DISTINCT " if of.name != "count" else ""
        return UnitSql({first: f"COUNT({word}{x}){where}"}, clamped(first, of.facts))
    assert of.arg is not None
    total = f"SUM({summed(x, _largest(of.arg))}){where}"
    if of.name == "sum":
        return UnitSql({first: total}, clamped(first, of.facts))
    if of.name == "avg":
        return UnitSql({first: total, second: f"COUNT({x}){where}"}, _mean(first, second, of.facts))
    if of.name in ("percentile_disc", "median", "percentile_cont"):
        return UnitSql({first: f"sort_array(collect_list({x}){where})"}, _quantile(of, first))
    if of.name.startswith(("var", "stddev")):
        return _variance(of, x, where, (first, second, third))
    extreme = {"bool_and": "MIN", "bool_or": "MAX"}.get(of.name, of.name)
    return UnitSql({first: f"{extreme}({x}){where}"}, first)


def _quantile(of: Aggregate, values: str) -> str:
    """One of the sorted values, or a point between two of them, by doubles; then whole steps."""
    fraction = number(float(of.extra or "0.5"))
    if of.name == "percentile_disc":
        place = f"GREATEST(CAST(ceil({fraction} * size({values})) AS INT), 1) - 1"
        return f"CASE WHEN size({values}) > 0 THEN {values}[{place}] END"
    at = f"({fraction} * CAST(size({values}) - 1 AS DOUBLE))"
    low, high = (f"CAST({values}[CAST({word}(p) AS INT)] AS DOUBLE)" for word in ("floor", "ceil"))
    between = f"{low} + ({high} - {low}) * (p - CAST(floor(p) AS DOUBLE))"
    found = f"CASE WHEN size({values}) > 0 THEN {once({'p': at}, between)} END"
    scaled = doubles.whole_of(doubles.away(f"{found} * {number(float(parts_of(of.name)))}"))
    return clamped(scaled, of.facts)


def _mean(total: str, count: str, facts: Facts) -> str:
    """A mean on its finer grid; where it was rounded it is odd, and no constant that one compares with is."""
    product = f"s * {FINER}L"
    sign = "CASE WHEN s < 0L THEN (-1L) ELSE 1L END"
    value = once(
        {"q": quotient(product, "n", sure=False)},
        f"CASE WHEN ({product}) % n <> 0L AND q % 2L = 0L THEN q + {sign} ELSE q END",
    )
    wide = {"s": f"CAST({total} AS {WIDE})", "n": f"CAST(NULLIF({count}, 0L) AS {WIDE})"}
    return clamped(once(wide, value), facts)


def _variance(of: Aggregate, x: str, where: str, names: tuple[str, str, str]) -> UnitSql:
    """(n sum of squares - square of sum) / (n (n - 1)), in whole numbers until the division."""
    assert of.arg is not None
    facts = of.arg.facts
    assert facts.low is not None
    grid = facts.grid or Fraction(1)
    near = f"(CAST({x} AS {WIDE}) - {whole(int(facts.low / grid), wide=True)})"
    squares, total, count = names
    fewer, size = "n" if of.name.endswith("pop") else "(n - 1D)", grid * grid
    value = f"((q - s * s / NULLIF(n, 0D)) / NULLIF({fewer}, 0D))"
    factors = number(float(size.numerator)), number(float(size.denominator))
    inner = {"q": f"CAST({squares} AS DOUBLE)", "s": f"CAST({total} AS DOUBLE)", "n": f"CAST({count} AS DOUBLE)"}
    scaled = f"GREATEST(v * {factors[0]} / {factors[1]}, 0D)"
    held = once({"v": once(inner, value)}, f"CASE WHEN v IS NULL THEN NULL ELSE {scaled} END")
    return UnitSql(
        {squares: f"SUM({near} * {near}){where}", total: f"SUM({near}){where}", count: f"COUNT({x}){where}"},
        held if of.name.startswith("var") else f"sqrt({held})",
    )


def window(name: str, over: Over) -> UnitSql:
    """A window over the rows of one person, who is `_u`."""
    if over.frame.startswith("GROUPS"):
        raise QueryError(
            "a frame of GROUPS is not supported over Spark yet", position=over.position, hint="Write ROWS."
        )
    parts = ["PARTITION BY " + ", ".join(["_u", *(expression(p) for p in over.partition)])]
    if over.order:
        parts.append("ORDER BY " + ", ".join(map(sort_key, over.order)))
    frame = f" OVER ({' '.join(parts)}{' ' + over.frame if over.frame else ''})"
    first, second = (identifier(f"{name}#{i}") for i in range(2))
    if over.name in ("avg", "sum"):
        x = expression(over.args[0])
        total = f"SUM({summed(x, _largest(over.args[0]))}){frame}"
        if over.name == "sum":
            return UnitSql({first: total}, clamped(first, over.facts))
        return UnitSql({first: total, second: f"COUNT({x}){frame}"}, _mean(first, second, over.facts))
    # how many rows further is a whole number of 32 bits
    x = ", ".join(f"CAST({expression(arg)} AS INT)" if i == 1 else expression(arg) for i, arg in enumerate(over.args))
    call = f"{over.name}({x or ('*' if over.name == 'count' else '')}){frame}"
    if over.name in ("lag", "lead", "first_value", "last_value", "min", "max"):
        return UnitSql({first: call}, first)
    return UnitSql({first: call}, clamped(first, over.facts))
