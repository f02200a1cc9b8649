"""The SQL of aggregates over public rows.

Comes in: an aggregate over a public or released relation. Goes out: DuckDB's SQL of it.
"""

from __future__ import annotations

from sfumato.engines.duckdb.expressions import double, expression
from sfumato.sql.bind.public_aggregates import DOUBLES
from sfumato.sql.tree import DOUBLE, Aggregate
from sfumato.types import string


def spelling(aggregate: Aggregate) -> str:
    """The SQL of an aggregate over public rows."""
    where = f" FILTER (WHERE {expression(aggregate.where)})" if aggregate.where is not None else ""
    name, arg = aggregate.name, aggregate.arg
    if arg is None:
        return f"COUNT(*){where}"
    if name.endswith("_distinct"):
        inner = double(arg) if name in DOUBLES or aggregate.facts.kind == DOUBLE else expression(arg)
        return f"{name.removesuffix('_distinct').upper()}(DISTINCT {inner}){where}"
    if name == "string_agg" and aggregate.second is not None:
        word, between = aggregate.extra.split(" ", 1)
        by = f"{expression(aggregate.second)} {word}, {expression(arg)}"
        return f"STRING_AGG({expression(arg)}, {string(between)} ORDER BY {by}){where}"
    if name == "array_agg" and aggregate.second is not None:
        word = aggregate.extra.split(" ", 1)[0]
        nulls = "FIRST" if word == "DESC" else "LAST"  # as PostgreSQL sorts them
        by = f"{expression(aggregate.second)} {word} NULLS {nulls}, {expression(arg)} NULLS LAST"
        return f"('{{' || STRING_AGG({_item(expression(arg))}, ',' ORDER BY {by}){where} || '}}')"
    if aggregate.second is not None:
        call = f"{name.upper()}({double(arg)}, {double(aggregate.second)})"
        return f"CAST({call}{where} AS BIGINT)" if name == "regr_count" else f"{call}{where}"
    inner = double(arg) if name in DOUBLES or aggregate.facts.kind == DOUBLE else expression(arg)
    second = f", {aggregate.extra}" if aggregate.extra else ""
    return f"{name.upper().replace('PERCENTILE', 'QUANTILE')}({inner}{second}){where}"


def _item(text: str) -> str:
    """An element as PostgreSQL writes it in an array: in quotes where it could be read as anything else."""
    special = f"({text} = '' OR upper({text}) = 'NULL' OR regexp_matches({text}, '[{{}},\"\\\\\\s]'))"
    quoted = f"""'"' || replace(replace({text}, '\\', '\\\\'), '"', '\\"') || '"'"""
    return f"CASE WHEN {text} IS NULL THEN 'NULL' WHEN {special} THEN {quoted} ELSE {text} END"
