"""Short words of PostgreSQL for what can be written at length: the longer form is what `bind` knows.

Comes in: a node of the parser's tree. Goes out: the same at length, or None where it is another thing. A clock is the
seconds since midnight, OVERLAPS a few comparisons, and format('%s') a text put together.
"""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from sfumato.sql.read.growth import check_copies, copied

OUTPUT = "output"
"""Marks a cast to text that writes a value as an answer shows it: true is t there."""
AS_TIME = "as time"
"""Marks the seconds of a moment whose day is taken away: a date has none."""
_MOST_TIMES = 100
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")


def by_clock(node: Any) -> Any:
    """t::time >= '08:00', and BETWEEN: the seconds since midnight are compared."""
    moment = _clock_of(node.this)
    names = ("low", "high") if isinstance(node, exp.Between) else ("expression",)
    seconds = [_written_clock(node.args[name]) for name in names]
    if moment is None or None in seconds:
        return None
    day = exp.Extract(this=exp.Var(this="EPOCH"), expression=_midnight(moment))
    whole = exp.Extract(this=exp.Var(this="EPOCH"), expression=copied(moment))
    whole.meta[AS_TIME] = True
    passed = exp.Sub(this=whole, expression=day)
    ends = {name: exp.Literal.number(number) for name, number in zip(names, seconds, strict=True)}
    return type(node)(this=exp.Paren(this=passed), **ends)


def _midnight(moment: Any) -> Any:
    return exp.cast(exp.cast(copied(moment), "date", copy=False), "timestamp", copy=False)


def _clock_of(node: Any) -> Any:
    while isinstance(node, exp.Paren):
        node = node.this
    is_time = isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.TIME
    return node.this if is_time and not isinstance(node.this, exp.Literal) else None


def _written_clock(node: Any) -> int | None:
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    found = _CLOCK.fullmatch(node.name.strip()) if isinstance(node, exp.Literal) and node.is_string else None
    if found is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds


def overlapping(node: Any) -> Any:
    """(a, b) OVERLAPS (c, d): the later start lies before the end of the other; equal starts overlap."""
    pairs = [side.expressions if isinstance(side, exp.Tuple) else [] for side in (node.this, node.expression)]
    if any(len(pair) != 2 for pair in pairs):
        return None
    ends = [(a, exp.Add(this=copied(a), expression=b) if isinstance(b, exp.Interval) else b) for a, b in pairs]
    (first, first_end), (second, second_end) = [(_of(exp.Least, a, b), _of(exp.Greatest, a, b)) for a, b in ends]
    known: Any = exp.and_(*(_is_known(end) for pair in ends for end in pair), copy=False)
    later = exp.If(this=exp.GT(this=first, expression=second), true=exp.LT(this=copied(first), expression=second_end))
    sooner = exp.LT(this=copied(first), expression=copied(second))
    earlier = exp.If(this=sooner, true=exp.LT(this=copied(second), expression=first_end))
    return exp.Paren(this=exp.Case(ifs=[later, earlier], default=known))


def _of(kind: Any, a: Any, b: Any) -> Any:
    return kind(this=copied(a), expressions=[copied(b)])


def _is_known(node: Any) -> Any:
    return exp.Not(this=exp.Is(this=copied(node), expression=exp.Null()))


def formatted(node: Any) -> Any:
    """format('%s of %s', a, b): texts and values, put together; NULL is nothing."""
    written, values = node.this, list(node.expressions)
    if not isinstance(written, exp.Literal) or not written.is_string:
        return None
    pieces = re.split(r"(%s|%%)", written.name)
    if any("%" in piece for piece in pieces[::2]) or pieces.count("%s") != len(values):
        return None
    parts: list[Any] = []
    for piece in pieces:
        if piece == "%s":
            parts.append(exp.Cast(this=copied(values.pop(0)), to=exp.DataType.build("text")))
            parts[-1].meta[OUTPUT] = True
        elif piece:
            parts.append(exp.Literal.string("%" if piece == "%%" else piece))
    return exp.Concat(expressions=parts, safe=True, coalesce=True) if parts else exp.Literal.string("")


def repeated(node: Any) -> Any:
    """repeat(text, 3): the text three times."""
    times = node.args.get("times")
    written = times.name if isinstance(times, exp.Literal) and not times.is_string else ""
    number = int(written) if written.isdecimal() and len(written) < 4 else 0
    if not 0 < number <= _MOST_TIMES:
        return None
    check_copies(node.this, number)
    found = copied(node.this)
    for _ in range(number - 1):
        found = exp.DPipe(this=found, expression=copied(node.this), safe=True)
    return exp.Paren(this=found)


def some_unknown(node: Any) -> Any:
    """MAX(CASE WHEN x IS NULL THEN 1 ELSE 0 END), which Power BI adds to the number of different values: whether there
    is one is known where the largest of two values that are both 0 is not.
    """
    case = node.this
    ifs = case.args.get("ifs") or [] if isinstance(case, exp.Case) and case.args.get("this") is None else []
    if len(ifs) != 1 or [_digit(ifs[0].args.get("true")), _digit(case.args.get("default"))] != ["1", "0"]:
        return None
    test = ifs[0].this.unnest()
    if not isinstance(test, exp.Is) or not isinstance(test.expression, exp.Null) or test.args.get("negate"):
        return None
    some = exp.If(this=exp.LogicalOr(this=copied(test)), true=exp.Literal.number(1))
    return exp.Case(ifs=[some], default=exp.Literal.number(0))


def _digit(node: Any) -> str:
    return node.name if isinstance(node, exp.Literal) and not node.is_string else ""


def with_default(node: Any) -> Any:
    """LAG(x, n, d) OVER w: d where there is no row so far away."""
    inner = node.this
    if not isinstance(inner, exp.Lag | exp.Lead) or inner.args.get("default") is None:
        return None
    default = copied(inner.args["default"])
    value, there = copied(node), copied(node)
    for window in (value, there):
        window.this.set("default", None)
    there.this.set("this", exp.Literal.number(1))
    missing = exp.Is(this=there, expression=exp.Null())
    return exp.Case(ifs=[exp.If(this=missing, true=default)], default=value)


def tied_rows(node: Any, named: Any) -> None:
    """FETCH FIRST n ROWS WITH TIES: QUALIFY rank() OVER (ORDER BY …) <= n, in a SELECT with an order and no OFFSET."""
    fetch, order = node.args.get("limit"), node.args.get("order")
    options = fetch.args.get("limit_options") if isinstance(fetch, exp.Fetch) else None
    ties = options is not None and options.args.get("with_ties") and not options.args.get("percent")
    if not ties or order is None or node.args.get("offset") or node.args.get("qualify") or node.args.get("distinct"):
        return
    items = [copied(item) for item in order.expressions]
    for item in items:
        item.set("this", named(node, item.this))
    rank = exp.Window(this=exp.Rank(), order=exp.Order(expressions=items), over="OVER")
    count = fetch.args.get("count")
    most = exp.Literal.number(1) if count is None else copied(count)
    node.set("qualify", exp.Qualify(this=exp.LTE(this=rank, expression=most)))
    node.set("limit", None)


def series_of_rows(node: Any) -> None:
    """SELECT generate_series(…)::date AS m, beside no table: a query over these rows."""
    calls = [call for item in node.expressions for call in item.find_all(exp.ExplodingGenerateSeries)]
    if node.args.get("from_") is not None or len(calls) != 1:
        return
    (call,) = calls
    name = "generate_series"
    owner = next(item for item in node.expressions if call in item.find_all(exp.ExplodingGenerateSeries))
    rows = exp.Table(this=copied(call), alias=exp.TableAlias(this=exp.to_identifier(name)))
    if not isinstance(owner, exp.Alias):
        owner.replace(exp.Alias(this=copied(owner), alias=exp.to_identifier(name)))
        call = next(call for item in node.expressions for call in item.find_all(exp.ExplodingGenerateSeries))
    call.replace(exp.column(exp.to_identifier(name)))
    node.set("from_", exp.From(this=rows))


def at_once(node: Any) -> None:
    """WITH t AS MATERIALIZED: how it is computed is the engine's."""
    node.set("materialized", None)
