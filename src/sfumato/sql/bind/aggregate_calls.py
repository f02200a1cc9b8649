"""Aggregates with their arguments, FILTER, WITHIN GROUP and order; GROUPING.

Comes in: the parser's node and what binds its arguments. Goes out: what the aggregator of this SELECT makes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from sfumato.algebra.functions import call
from sfumato.algebra.functions.times import AGE
from sfumato.algebra.public_aggregates import DIFFERENT_ITEMS, DIFFERENT_TEXTS, JSON_ENDS, OF_DIFFERENT
from sfumato.algebra.tree import (
    INTERVAL,
    TEXT,
    Aggregate,
    Node,
    Over,
    has,
)
from sfumato.errors import QueryError
from sfumato.sql.bind import json_texts
from sfumato.sql.bind.aggregate_names import AGGREGATE_NAMES, aggregate_name
from sfumato.sql.bind.casts_and_times import as_text
from sfumato.sql.bind.constants import constant
from sfumato.sql.bind.row_texts import row_text
from sfumato.sql.read.parser import place

if TYPE_CHECKING:
    from sfumato.sql.bind.expressions import Expressions

Build = Callable[["Expressions", Any], Node]


def aggregate(binds: Expressions, node: exp.Expression, where: Node | None = None) -> Node:
    """An aggregate, of the kind that stands here: released, of one person's rows, or over public rows."""
    if isinstance(node, exp.WithinGroup):
        return _percentile(binds, node, where)
    name = aggregate_name(node)
    assert name is not None
    if name in JSON_ENDS:
        name, args = json_texts.list_call(binds, name, node, where)
        return _aggregated(binds, name, args, where, place(node))
    if isinstance(node, exp.Anonymous):
        return _aggregated(binds, name, tuple(map(binds.node, node.expressions)), where, place(node))
    if isinstance(node, exp.GroupConcat | exp.ArrayAgg):
        return _listed(binds, name, node, where)
    this: exp.Expression | None = node.this
    if name == "count" and node.args.get("expressions"):
        raise QueryError("COUNT takes one argument", position=place(node))
    if isinstance(this, exp.Distinct):
        if len(this.expressions) != 1:
            shown = ", ".join(part.sql("postgres") for part in this.expressions)
            hint = f"Write COUNT(DISTINCT ({shown})) for the number of different rows." if name == "count" else None
            raise QueryError(f"{name.upper()}(DISTINCT …) takes one column", position=place(node), hint=hint)
        if name not in ("count", "min", "max", "sum", *OF_DIFFERENT):
            raise QueryError(
                f"{name.upper()}(DISTINCT …) is not supported",
                position=place(node),
                hint=f"Write {name.upper()}(…).",
            )
        name, this = name if name in ("min", "max") else f"{name}_distinct", this.expressions[0]
        if name == "count_distinct" and isinstance(this, exp.Tuple):
            return _aggregated(binds, name, (row_text(binds, this),), where, place(node))
    parts = [] if this is None or isinstance(this, exp.Star) else [this]
    parts += [node.expression] if node.args.get("expression") is not None else []
    return _aggregated(binds, name, tuple(binds.node(part) for part in parts), where, place(node))


def _listed(binds: Expressions, name: str, node: exp.Expression, where: Node | None) -> Node:
    """string_agg(x, between ORDER BY y) and array_agg(x ORDER BY y): one order at most; else the values' own."""
    this, order, separator = node.this, [], node.args.get("separator")
    if isinstance(this, exp.Order):
        this, order = this.this, this.expressions
    different = isinstance(this, exp.Distinct) and len(this.expressions) == 1
    this = this.expressions[0] if different else this
    if isinstance(this, exp.Distinct) or len(order) > 1:
        raise QueryError(f"{name} takes one value and one order", position=place(node))
    if different and order and order[0].this != this:
        raise QueryError(f"{name}(DISTINCT x) is ordered by x", position=place(node), sqlstate="42P10")
    value = binds.node(this)
    text = as_text(value, shown=name == "array_agg")  # in an array, true is t
    args = [text, constant(",") if separator is None else binds.node(separator)]
    if order:
        args += [binds.node(order[0].this), constant(bool(order[0].args.get("desc")))]
    elif name == "array_agg":
        args += [value, constant(False)]
    if different:
        name = DIFFERENT_TEXTS if name == "string_agg" else DIFFERENT_ITEMS
        if name == DIFFERENT_ITEMS and value.facts.kind != TEXT:
            raise QueryError(
                "array_agg(DISTINCT x) needs text", position=place(node), hint="Write string_agg(DISTINCT …)."
            )
    return _aggregated(binds, name, tuple(args), where, place(node))


def _percentile(binds: Expressions, node: exp.Expression, where: Node | None) -> Node:
    """PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x), and MODE() WITHIN GROUP (ORDER BY x)."""
    order = node.expression.expressions if isinstance(node.expression, exp.Order) else []
    name = aggregate_name(node.this)
    if name is None or len(order) != 1 or order[0].args.get("desc"):
        raise QueryError("WITHIN GROUP needs a percentile and ORDER BY one column, ascending", position=place(node))
    args = [binds.node(order[0].this)]
    args += [binds.node(node.this.this)] if node.this.this is not None else []
    return _aggregated(binds, name, tuple(args), where, place(node))


def _aggregated(binds: Expressions, name: str, args: tuple[Node, ...], where: Node | None, position: int) -> Node:
    if binds.aggregator is None:
        raise QueryError("aggregates are not allowed here", position=position, hint="Use HAVING.", sqlstate="42803")
    if any(has(arg, Aggregate | Over) for arg in args):
        raise QueryError(
            "aggregates cannot be nested",
            position=position,
            sqlstate="42803",
            hint="Aggregate in a sub-query, then aggregate its result.",
        )
    if args and name in ("avg", "sum") and args[0].facts.kind == INTERVAL and args[0].facts.every != AGE:
        seconds = binds.aggregator(name, (call("extract", args, "epoch", position),), where, position)
        return call("interval_of", (call("round", (seconds,), "6", position),), "", position)
    return binds.aggregator(name, args, where, position)


def filtered(binds: Expressions, node: exp.Expression) -> Node:
    """An aggregate with its FILTER."""
    if aggregate_name(node.this) is None and not isinstance(node.this, exp.WithinGroup):
        raise QueryError("FILTER needs an aggregate", position=place(node), sqlstate="42601")
    where = binds.condition(node.expression)
    if where is not None and has(where, Aggregate):
        raise QueryError("aggregates are not allowed in FILTER", position=place(node), sqlstate="42803")
    return aggregate(binds, node.this, where)


def grouped(binds: Expressions, node: exp.Expression) -> Node:
    """GROUPING(key, …)."""
    if binds.grouping is None:
        raise QueryError("GROUPING needs a GROUP BY", position=place(node), sqlstate="42803")
    return binds.grouping([binds.node(part) for part in node.expressions], place(node))


KINDS: dict[type[exp.Expression], Build] = {
    exp.Filter: filtered,
    exp.Grouping: grouped,
    exp.WithinGroup: aggregate,
    **dict.fromkeys(AGGREGATE_NAMES, aggregate),
}
"""The parser's nodes that are bound here."""
