"""Which aggregate a node of the parser is, and the title that PostgreSQL gives its column."""

from __future__ import annotations

from sqlglot import exp

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.sql.read.parser import JSON_LISTS

AGGREGATE_NAMES: dict[type[exp.Expression], str] = {
    **{node: kind.name for kind in AGGREGATES.values() for node in kind.nodes},
    exp.ApproxDistinct: "count_distinct",
    exp.AnyValue: "any_value",
    exp.First: "first",
    exp.Last: "last",
    exp.ArgMax: "arg_max",
    exp.ArgMin: "arg_min",
    exp.GroupConcat: "string_agg",
    exp.ArrayAgg: "array_agg",
    exp.JSONArrayAgg: "json_agg",
    exp.JSONObjectAgg: "json_object_agg",
    exp.JSONBObjectAgg: "jsonb_object_agg",
}
"""The parser's aggregates and their names here."""
TITLES = {kind.nodes[0]: kind.name for kind in AGGREGATES.values() if kind.nodes and kind.nodes[0] is not exp.Variance}
"""By the kind of node; of VARIANCE and VAR_SAMP the parser makes one kind."""


def aggregate_name(node: exp.Expression) -> str | None:
    """The name of an aggregate, also of one that the parser has no kind of node for; None of any other node."""
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        if name in JSON_LISTS:
            return name
        return name if name in AGGREGATES and AGGREGATES[name].by_name else None
    return AGGREGATE_NAMES.get(type(node))
