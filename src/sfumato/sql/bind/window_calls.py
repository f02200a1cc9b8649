"""Window functions: names, arguments, partition, order and frame.

Comes in: the parser's node and what binds its arguments. Goes out: a window of our tree, its frame in the words of SQL.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from sfumato.algebra.tree import (
    DATE,
    TIMESTAMP,
    Node,
    Over,
    Sorted,
)
from sfumato.errors import Obstacle, QueryError
from sfumato.sql.bind.aggregate_names import aggregate_name
from sfumato.sql.bind.casts_and_times import written_span
from sfumato.sql.bind.constants import (
    SURELY,
    constant,
    is_count,
)
from sfumato.sql.read.parser import place
from sfumato.sql.read.spelling import spelled
from sfumato.types import as_written

if TYPE_CHECKING:
    from sfumato.sql.bind.expressions import Expressions

Build = Callable[["Expressions", Any], Node]

WINDOW_NAMES: dict[type[exp.Expression], str] = {
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
    exp.Lag: "lag",
    exp.Lead: "lead",
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
    exp.NthValue: "nth_value",
    exp.Ntile: "ntile",
    exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist",
}
SPREADS = ("stddev_samp", "stddev_pop", "var_samp", "var_pop")
_WINDOWS = (*WINDOW_NAMES.values(), "sum", "avg", "min", "max", "count", *SPREADS)


def window(binds: Expressions, node: exp.Expression) -> Node:
    """A window function; `windows` says what is known of it where it stands."""
    inner = node.this
    name = WINDOW_NAMES.get(type(inner)) or aggregate_name(inner)
    name = name or spelled(inner).removeprefix("function ")
    if name not in _WINDOWS or binds.windows is None:
        raise QueryError(
            f"window function {name} is not supported here", position=place(node), obstacle=Obstacle.WINDOW
        )
    if isinstance(inner.this, exp.Distinct):
        raise QueryError(
            "DISTINCT is not supported in a window function", position=place(node), obstacle=Obstacle.WINDOW
        )
    parts = [inner.this] if inner.this is not None and not isinstance(inner.this, exp.Star) else []
    args = tuple(binds.node(arg) for arg in parts)
    if name in ("lag", "lead", "nth_value"):
        args += _offset(inner)
    elif inner.args.get("expressions"):
        raise QueryError(f"window function {name} takes one argument", position=place(node), obstacle=Obstacle.WINDOW)
    order = node.args.get("order")
    items = tuple(
        Sorted(binds.node(item.this), bool(item.args.get("desc")), bool(item.args.get("nulls_first")))
        for item in (order.expressions if order is not None else [])
    )
    return Over(
        name,
        args,
        tuple(binds.node(part) for part in node.args.get("partition_by") or []),
        items,
        binds.windows(name, args, place(node)),
        _frame(node.args.get("spec"), items),
        place(node),
    )


def _offset(inner: exp.Expression) -> tuple[Node, ...]:
    """How far LAG and LEAD look: a written whole number."""
    offset = inner.args.get("offset")
    if inner.args.get("default") is not None:
        raise QueryError("a default of LAG or LEAD is not supported", position=place(inner), hint="Use COALESCE.")
    if offset is None:
        return ()
    if not isinstance(offset, exp.Literal) or not is_count(offset.this):
        raise QueryError("LAG and LEAD need an integer literal", position=place(inner))
    return (constant(int(offset.this)),)


def _frame(spec: exp.Expression | None, order: tuple[Sorted, ...]) -> str:
    """The frame of a window, in the words of SQL; a distance of RANGE in the steps in which its key is held."""
    if spec is None:
        return ""
    kind, args = str(spec.args.get("kind") or "RANGE").upper(), spec.args

    def end(value: object, side: object) -> str:
        word = str(side).upper()
        if value == "CURRENT ROW":
            return "CURRENT ROW"
        if value == "UNBOUNDED":
            return f"UNBOUNDED {word}"
        if kind == "RANGE":
            return f"{_distance(value, order, place(spec))} {word}"
        if isinstance(value, exp.Literal) and is_count(value.this):
            return f"{int(value.this)} {word}"
        raise QueryError("the frame of a window needs integer literals", position=place(spec), obstacle=Obstacle.WINDOW)

    first = end(args.get("start"), args.get("start_side"))
    last = end(args.get("end") or "CURRENT ROW", args.get("end_side"))
    return f"{kind} BETWEEN {first} AND {last}"


def _distance(value: object, order: tuple[Sorted, ...], position: int) -> str:
    """How far RANGE reaches from the key of a row: a number, or an interval for a date or a timestamp."""
    facts = order[0].node.facts if len(order) == 1 else None
    if facts is not None and facts.kind in (DATE, TIMESTAMP) and isinstance(value, exp.Interval):
        reach = written_span(value)
        if min(reach.months, reach.days, reach.microseconds) >= 0 and (
            facts.kind == TIMESTAMP or not reach.microseconds
        ):
            return f"INTERVAL '{reach.months} months {reach.days} days {reach.microseconds} microseconds'"
    if facts is not None and facts.exact and facts.grid is not None and isinstance(value, exp.Literal):
        steps = as_written(value.this) / facts.grid if not value.is_string and len(value.this) <= SURELY else None
        if steps is not None and steps.denominator == 1:
            return str(int(steps))
    raise QueryError(
        "RANGE with a distance needs ORDER BY one exact number and a literal number, or a date and an interval",
        position=position,
        hint="Write RANGE BETWEEN 5 PRECEDING AND CURRENT ROW, or RANGE BETWEEN INTERVAL '7 days' PRECEDING AND"
        " CURRENT ROW, or ROWS.",
        obstacle=Obstacle.WINDOW,
    )


KINDS: dict[type[exp.Expression], Build] = {exp.Window: window}
"""The parser's nodes that are bound here."""
