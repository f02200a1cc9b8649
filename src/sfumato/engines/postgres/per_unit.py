"""Aggregates and windows over the rows of one unit, as PostgreSQL's SQL.

Comes in: an aggregate or a window that binding has allowed below a release. Goes out: the columns that the server
aggregates, and the expression over them: sums are whole numbers, and a number that grows with the rows of a unit is
clamped to its bounds here, where it is derived.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.algebra.aggregates.over_unit import FINER, parts_of
from sfumato.algebra.tree import BOOLEAN, Aggregate, Facts, Node, Over, Sorted
from sfumato.engines.postgres import doubles
from sfumato.engines.postgres.expressions import expression, truth
from sfumato.engines.postgres.spelling import identifier, once, type_of
from sfumato.engines.remote.selects import UnitSql


def sort_key(item: Sorted) -> str:
    """An item of ORDER BY, NULLs where it says."""
    way, nulls = "DESC" if item.descending else "ASC", "FIRST" if item.nulls_first else "LAST"
    return f"{expression(item.node)} {way} NULLS {nulls}"


def clamped(x: str, facts: Facts) -> str:
    """A number that grows with the rows of a person, held to its bounds."""
    if facts.low is None or facts.high is None or facts.grid is None:
        return f"({x})::{type_of(facts)}"
    low, high = int(facts.low / facts.grid), int(facts.high / facts.grid)
    return once(
        {"x": x}, f"(CASE WHEN x <= {low} THEN {low} WHEN x >= {high} THEN {high} ELSE x END)::{type_of(facts)}"
    )


def aggregate(name: str, of: Aggregate) -> UnitSql:  # noqa: PLR0911  one answer for each kind of aggregate
    """An aggregate inside a GROUP BY of the person; `name` is the column that it will be."""
    where = "" if of.where is None else f" FILTER (WHERE {truth(of.where)})"
    x = "*" if of.arg is None else expression(of.arg)
    first, second, third = (identifier(f"{name}#{i}") for i in range(3))
    if of.name in ("count", "count_distinct"):
        word = "DISTINCT " if of.name != "count" else ""
        return UnitSql({first: f"COUNT({word}{x}){where}"}, clamped(first, of.facts))
    assert of.arg is not None
    if of.name == "sum":
        return UnitSql({first: f"SUM({x}){where}"}, clamped(first, of.facts))
    if of.name == "avg":
        return UnitSql({first: f"SUM({x}){where}", second: f"COUNT({x}){where}"}, _mean(first, second, of.facts))
    if of.name == "percentile_disc":
        return UnitSql({first: f"percentile_disc({of.extra}) WITHIN GROUP (ORDER BY {x}){where}"}, first)
    if of.name in ("median", "percentile_cont"):
        quantile = f"percentile_cont({of.extra or '0.5'}) WITHIN GROUP (ORDER BY {x}::float8){where}"
        scaled = doubles.whole(doubles.away(f"{first} * {parts_of(of.name)}"))
        return UnitSql({first: quantile}, clamped(scaled, of.facts))
    if of.name.startswith(("var", "stddev")):
        return _variance(of, x, where, (first, second, third))
    return UnitSql({first: f"{_extreme(of.name, of.arg)}({x}){where}"}, first)


def _extreme(name: str, arg: Node) -> str:
    """There is no smallest truth on the server, but all and any."""
    truths = {"min": "bool_and", "max": "bool_or"}
    return truths.get(name, name) if arg.facts.kind == BOOLEAN else name


def _mean(total: str, count: str, facts: Facts) -> str:
    """A mean on its finer grid; where it was rounded it is odd, and no constant that one compares with is."""
    whole = f"div(s * {FINER}, n)"
    value = f"CASE WHEN (s * {FINER}) % n <> 0 AND {whole} % 2 = 0 THEN {whole} + sign(s) ELSE {whole} END"
    return clamped(once({"s": f"{total}::numeric", "n": f"NULLIF({count}, 0)::numeric"}, value), facts)


def _variance(of: Aggregate, x: str, where: str, names: tuple[str, str, str]) -> UnitSql:
    """(n sum of squares - square of sum) / (n (n - 1)), in whole numbers until the division."""
    assert of.arg is not None
    facts = of.arg.facts
    assert facts.low is not None
    grid = facts.grid or Fraction(1)
    near = f"({x}::numeric - ({int(facts.low / grid)}))"
    squares, total, count = names
    fewer, size = "n" if of.name.endswith("pop") else "(n - 1)", grid * grid
    value = f"((q - s * s / NULLIF(n, 0)) / NULLIF({fewer}, 0))"
    scaled = f"GREATEST({value} * {size.numerator}::float8 / {size.denominator}::float8, 0::float8)"
    inner = {"q": f"{squares}::float8", "s": f"{total}::float8", "n": f"{count}::float8"}
    held = once(inner, f"CASE WHEN {value} IS NULL THEN NULL ELSE {scaled} END")
    return UnitSql(
        {squares: f"SUM({near} * {near}){where}", total: f"SUM({near}){where}", count: f"COUNT({x}){where}"},
        held if of.name.startswith("var") else f"sqrt({held})",
    )


def window(name: str, over: Over) -> UnitSql:
    """A window over the rows of one person, who is `_u`."""
    parts = ["PARTITION BY " + ", ".join(["_u", *(expression(p) for p in over.partition)])]
    if over.order:
        parts.append("ORDER BY " + ", ".join(map(sort_key, over.order)))
    frame = f" OVER ({' '.join(parts)}{' ' + over.frame if over.frame else ''})"
    first, second = (identifier(f"{name}#{i}") for i in range(2))
    if over.name == "avg":
        x = expression(over.args[0])
        return UnitSql({first: f"SUM({x}){frame}", second: f"COUNT({x}){frame}"}, _mean(first, second, over.facts))
    # how many rows further is a whole number of 32 bits on the server
    x = ", ".join(f"({expression(arg)})::int" if i == 1 else expression(arg) for i, arg in enumerate(over.args))
    function = _extreme(over.name, over.args[0]) if over.args else over.name
    call = f"{function}({x or ('*' if over.name == 'count' else '')}){frame}"
    if over.name in ("lag", "lead", "first_value", "last_value", "min", "max"):
        return UnitSql({first: call}, first)
    return UnitSql({first: call}, clamped(first, over.facts))
