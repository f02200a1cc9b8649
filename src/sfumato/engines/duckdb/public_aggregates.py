"""The SQL of aggregates over public rows.

Comes in: an aggregate over a public or released relation. Goes out: DuckDB's SQL of it.
"""

from __future__ import annotations

from sfumato.algebra.public_aggregates import DIFFERENT_ITEMS, DIFFERENT_TEXTS, DOUBLES, JSON_ENDS, LISTS
from sfumato.algebra.tree import DOUBLE, Aggregate, Node
from sfumato.engines.duckdb.expressions import double, expression, is_fixed
from sfumato.types import string


def spelling(aggregate: Aggregate) -> str:
    """The SQL of an aggregate over public rows."""
    where = f" FILTER (WHERE {expression(aggregate.where)})" if aggregate.where is not None else ""
    name, arg = aggregate.name, aggregate.arg
    if arg is None:
        return f"COUNT(*){where}"
    if name in LISTS:
        return _listed(aggregate, arg, where)
    if name.endswith("_distinct"):
        return f"{_of_different(aggregate, arg)}{where}"
    if aggregate.second is not None:
        call = f"{name.upper()}({double(arg)}, {double(aggregate.second)})"
        return f"CAST({call}{where} AS BIGINT)" if name == "regr_count" else f"{call}{where}"
    inner = double(arg) if name in DOUBLES or aggregate.facts.kind == DOUBLE else expression(arg)
    second = f", {aggregate.extra}" if aggregate.extra else ""
    second = _by((arg, "")) if name == "mode" else second  # of several the first in their order, as in PostgreSQL
    return f"{name.upper().replace('PERCENTILE', 'QUANTILE')}({inner}{second}){where}"


def _listed(aggregate: Aggregate, arg: Node, where: str) -> str:
    """The SQL of an aggregate that puts many values into one text."""
    name, (word, between) = aggregate.name, aggregate.extra.split(" ", 1)
    nulls, text = "FIRST" if word == "DESC" else "LAST", expression(arg)  # as PostgreSQL sorts them
    second = arg if aggregate.second is None else aggregate.second
    if name in JSON_ENDS:
        start, end = map(string, JSON_ENDS[name])
        by = _by((second, f"{word} NULLS {nulls}"), (arg, ""))
        return f"({start} || STRING_AGG({text}, {string(between)}{by}){where} || {end})"
    if name == DIFFERENT_ITEMS:
        items = f"LIST(DISTINCT {text}{_by((arg, f'{word} NULLS {nulls}'))}){where}"
        return f"('{{' || ARRAY_TO_STRING(LIST_TRANSFORM({items}, lambda x: {_item('x')}), ',') || '}}')"
    if name == "array_agg":
        by = _by((second, f"{word} NULLS {nulls}"), (arg, "NULLS LAST"))
        return f"('{{' || STRING_AGG({_item(text)}, ','{by}){where} || '}}')"
    if name == DIFFERENT_TEXTS:
        return f"STRING_AGG(DISTINCT {text}, {string(between)}{_by((arg, word))}){where}"
    return f"STRING_AGG({text}, {string(between)}{_by((second, word), (arg, ''))}){where}"


def _of_different(aggregate: Aggregate, arg: Node) -> str:
    """The SQL of an aggregate of different values."""
    name = aggregate.name
    inner = double(arg) if name in DOUBLES or aggregate.facts.kind == DOUBLE else expression(arg)
    return f"{name.removesuffix('_distinct').upper()}(DISTINCT {inner})"


def _by(*items: tuple[Node, str]) -> str:
    """The order in which an aggregate reads its rows; a constant orders nothing, and DuckDB refuses it there. A NULL
    of whatever type is one.
    """
    shown = [f"{expression(node)} {how}".strip() for node, how in items if not is_fixed(node)]
    return f" ORDER BY {', '.join(shown)}" if shown else ""


def _item(text: str) -> str:
    """An element as PostgreSQL writes it in an array: in quotes where it could be read as anything else."""
    special = f"({text} = '' OR upper({text}) = 'NULL' OR regexp_matches({text}, '[{{}},\"\\\\\\s]'))"
    quoted = f"""'"' || replace(replace({text}, '\\', '\\\\'), '"', '\\"') || '"'"""
    return f"CASE WHEN {text} IS NULL THEN 'NULL' WHEN {special} THEN {quoted} ELSE {text} END"
