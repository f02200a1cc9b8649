"""Casts, written dates and times, the current time, and sums with intervals.

Comes in: the parser's node and what binds its arguments. Goes out: constants and calls of our tree.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from sfumato.algebra import interval_values as intervals
from sfumato.algebra.functions import call
from sfumato.algebra.functions.times import AGE
from sfumato.algebra.interval_values import Span
from sfumato.algebra.tree import (
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    INTEGER,
    INTERVAL,
    NULL,
    TEXT,
    TIMESTAMP,
    Call,
    Constant,
    Facts,
    Node,
)
from sfumato.errors import QueryError
from sfumato.sql.bind.constants import (
    cast_text,
    check_width,
    constant,
    interval_constant,
    is_count,
    time_constant,
)
from sfumato.sql.read.parser import place
from sfumato.sql.read.shorthands import OUTPUT

if TYPE_CHECKING:
    from sfumato.sql.bind.expressions import Expressions

Build = Callable[["Expressions", Any], Node]

_MOST_DIGITS = 12
_FROM_TODAY = {"today": 0, "yesterday": -1, "tomorrow": 1}
_TYPES = {
    "BIGINT": INTEGER,
    "INT": "int4",
    "SMALLINT": "int2",
    "DECIMAL": DECIMAL,
    "DOUBLE": DOUBLE,
    "FLOAT": "real",
    **dict.fromkeys(("TEXT", "VARCHAR"), TEXT),
    "DATE": DATE,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPNTZ"), TIMESTAMP),
    "INTERVAL": INTERVAL,
    "BOOLEAN": BOOLEAN,
}


def cast(binds: Expressions, node: exp.Expression) -> Node:
    """CAST and DATE '…'."""
    target = _target(node.args["to"])
    if target is None:
        raise QueryError(f"a cast to {node.args['to'].sql()} is not supported", position=place(node))
    if isinstance(node.this, exp.Literal) and node.this.is_string and target in (DATE, TIMESTAMP):
        return _written_time(binds, node, target)
    if target == INTERVAL:
        return _written_interval(binds, node)
    inner = binds.node(node.this)
    if node.meta.get(OUTPUT) and inner.facts.kind == BOOLEAN:
        return as_text(inner, shown=True)
    return _cast_of(inner, target, place(node))


def _cast_of(inner: Node, target: str, at: int) -> Node:
    """A cast of a value; what is written is computed here."""
    if target == TIMESTAMP == inner.facts.kind:
        return inner  # with or without a zone: all times are UTC
    text = inner.args[0] if isinstance(inner, Call) and (inner.name, inner.extra) == ("cast", TEXT) else inner
    if target in (DATE, TIMESTAMP) and isinstance(text, Constant) and isinstance(text.value, str):
        return time_constant(text.value, target, at)
    if isinstance(inner, Constant) and isinstance(inner.value, date) and target in (DATE, TIMESTAMP):
        moment = inner.value if isinstance(inner.value, datetime) else datetime.combine(inner.value, time())
        return constant(moment.date() if target == DATE else moment, at)
    if isinstance(inner, Constant) and isinstance(inner.value, int | Fraction):
        check_width(inner.value, target, at)
    if isinstance(inner, Constant) and isinstance(inner.value, str):
        known = cast_text(inner.value, target, at)
        if known is not None:
            return known
    return converted(inner, target, at)


def _written_interval(binds: Expressions, node: exp.Expression) -> Node:
    """A text, or an interval, that is written."""
    written = node.this.unnest()
    if isinstance(written, exp.Interval):
        return binds.node(written)
    if not isinstance(written, exp.Literal) or not written.is_string:
        raise QueryError("an interval must be a literal", position=place(node), hint="Write INTERVAL '7 days'.")
    return interval_constant(written.this, place(node))


def _written_time(binds: Expressions, node: exp.Expression, target: str) -> Node:
    """A day or a moment as it is written; yesterday, today and tomorrow are fixed at planning, as CURRENT_DATE."""
    days = _FROM_TODAY.get(node.this.name.strip().lower())
    if days is None:
        in_utc = node.args["to"].this.value == "TIMESTAMPTZ"
        return time_constant(node.this.this, target, place(node), in_utc=in_utc)
    day = datetime.combine(binds.today, time()) + timedelta(days)
    return constant(day.date() if target == DATE else day, place(node))


def today_or_now(binds: Expressions, node: exp.Expression) -> Node:
    """CURRENT_DATE, and now(): fixed at planning, part of the question.

    Where only a day is handed in, now() is its first moment, so that a question asked twice is the same one.
    """
    moment = binds.today if isinstance(binds.today, datetime) else datetime.combine(binds.today, time())
    return constant(moment.date() if isinstance(node, exp.CurrentDate) else moment, place(node))


def sum_or_shift(binds: Expressions, node: exp.Expression) -> Node:
    """+ and -, also with an interval."""
    sign = 1 if isinstance(node, exp.Add) else -1
    left, right = node.this.unnest(), node.expression.unnest()
    if isinstance(right, exp.Interval):
        return _shifted(binds, node.this, right, sign)
    if isinstance(left, exp.Interval) and sign > 0:
        return _shifted(binds, node.expression, left, sign)
    for moment, count in ((node.this, right), (node.expression, left)):
        if span_and_count(count) is not None and (sign > 0 or count is right):
            return call("later by", (binds.node(moment), counted_interval(binds, count, sign)), "", place(node))
    return binds.function("+" if sign > 0 else "-", node.this, node.expression, at=node)


_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)


def product(binds: Expressions, node: exp.Expression) -> Node:
    """*; a column times an interval is compared here, for as text PostgreSQL shows its days and hours apart."""
    if span_and_count(node) is None:
        return binds.function("*", node.this, node.expression, at=node)
    above = node.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    if not isinstance(above, _COMPARED):
        hint = "Write time + x * INTERVAL '1 day', or compare it with an interval."
        raise QueryError("a counted interval can be added to a time or compared", position=place(node), hint=hint)
    return counted_interval(binds, node, 1)


def span_and_count(node: exp.Expression) -> tuple[exp.Interval, exp.Expression] | None:
    """The parts of x * INTERVAL '1 day', in either order."""
    if isinstance(node, exp.Mul):
        for span, count in ((node.this, node.expression), (node.expression, node.this)):
            if isinstance(span.unnest(), exp.Interval):
                return span.unnest(), count
    return None


def counted_interval(binds: Expressions, node: exp.Expression, sign: int) -> Node:
    """x * INTERVAL '1 day' in seconds, of whole numbers and of units that all have one length."""
    parts = span_and_count(node)
    assert parts is not None
    span, value, at = written_span(parts[0]), binds.node(parts[1]), place(node)
    if span.months:
        hint = "Write x * INTERVAL '30 days', or use CASE with literal intervals."
        raise QueryError("a column times months is not supported: months differ in length", position=at, hint=hint)
    if value.facts.kind != INTEGER:
        hint = "Write FLOOR(x)::bigint * INTERVAL '1 day', or a shorter unit."
        raise QueryError("an interval can only be multiplied by whole numbers", position=at, hint=hint)
    seconds = constant(Fraction(sign * span.compared, 10**6), at)
    return call("interval_of", (call("*", (value, seconds), "", at),), "", at)


def _shifted(binds: Expressions, this: exp.Expression, written: exp.Interval, sign: int) -> Node:
    span = written_span(written)
    span, start = span if sign > 0 else -span, binds.node(this)
    if isinstance(start, Constant) and isinstance(start.value, date):
        moved = intervals.later(start.value, span)
        if moved is None:
            raise QueryError("the result is outside the years 1 to 9999", position=start.position, sqlstate="22008")
        return constant(moved, start.position)
    return call("shift", (start,), str(span), start.position)


def written_span(node: exp.Interval) -> Span:
    """A written interval; the parser holds the unit of a single one beside its number."""
    unit = node.args.get("unit")
    text = f"{node.this.name} {unit.name if isinstance(unit, exp.Var) else ''}"
    written = interval_constant(text if isinstance(node.this, exp.Literal) else "", place(node.parent or node))
    assert isinstance(written.value, Span)
    return written.value


def interval(_: Expressions, node: exp.Expression) -> Node:
    """An interval by itself."""
    assert isinstance(node, exp.Interval)
    return constant(written_span(node), place(node.parent or node))


def _digits(facts: Facts) -> int:
    """How many digits PostgreSQL prints after the point of a decimal: those of its grid."""
    if facts.kind != DECIMAL or facts.grid is None:
        return 0
    return next((digits for digits in range(_MOST_DIGITS + 1) if not 10**digits % facts.grid.denominator), 0)


def span_of(value: Node) -> Span | None:
    """A written interval, or age() of two written times; None for what rows decide."""
    if isinstance(value, Constant):
        return value.value if isinstance(value.value, Span) else None
    times = [arg.value for arg in value.args if isinstance(arg, Constant)] if isinstance(value, Call) else []
    if not isinstance(value, Call) or value.name != AGE or len(times) != 2:
        return None
    later, earlier = times
    return intervals.between(later, earlier) if isinstance(later, date) and isinstance(earlier, date) else None


def interval_text(value: Node, at: int) -> Node:
    """An interval as PostgreSQL prints it. Rows hold its length alone, which does not tell months from days."""
    span = span_of(value)
    if span is not None:
        return constant(intervals.shown(span), at)
    if value.facts.every == AGE:
        raise QueryError(
            "the months of an age are not known as text",
            position=at,
            hint="Use EXTRACT(YEAR FROM age(…)), MONTH and DAY, or subtract the times.",
        )
    return call("cast", (call("interval_text", (value,), "", at),), TEXT, at)


def as_text(value: Node, *, shown: bool = False) -> Node:
    """A value as text; `shown` as an answer shows it, where true is t."""
    if value.facts.kind in (TEXT, NULL):
        return value
    if value.facts.kind == INTERVAL:
        return interval_text(value, value.position)
    text = call("cast", (value,), TEXT, value.position)
    if shown and value.facts.kind == BOOLEAN:
        return call("substring", (text, constant(1), constant(1)), "", value.position)
    return text


def converted(value: Node, target: str, at: int) -> Node:
    """A cast; of a decimal to text put together of whole numbers: its sign, and what stands beside the point."""
    digits, number = _digits(value.facts), value
    if value.facts.kind == INTERVAL and target.partition("(")[0] == TEXT:
        value = interval_text(value, at)
    if target != TEXT or not digits:
        return call("cast", (value,), target, at)
    size, steps = call("abs", (number,), "", at), constant(10**digits, at)
    whole = call("cast", (call("floor", (size,), "", at),), INTEGER, at)
    after = call("%", (call("cast", (call("*", (size, steps), "", at),), INTEGER, at), steps), "", at)
    texts = [call("cast", (part,), TEXT, at) for part in (whole, after)]
    sign = call("case", (call("<", (number, constant(0, at)), "", at), constant("-", at), constant("", at)), "", at)
    filled = call("lpad", (texts[1], constant(digits, at), constant("0", at)), "", at)
    found = call("||", (sign, texts[0]), "", at)
    for part in (constant(".", at), filled):
        found = call("||", (found, part), "", at)
    return found


def _target(to: exp.Expression) -> str | None:
    """The word that a cast has for its type, with the numbers in its brackets."""
    word = _TYPES.get(to.this.value)
    numbers = [part.name for part in to.expressions]
    if word is None or not numbers:
        return word
    if not all(map(is_count, numbers)) or len(numbers) > (2 if word == DECIMAL else 1):
        return None
    cut = to.this.value == "VARCHAR" and int(numbers[0]) > 0
    return f"{word}({','.join(numbers)})" if word == DECIMAL or cut else None


KINDS: dict[type[exp.Expression], Build] = {
    exp.Cast: cast,
    exp.CurrentDate: today_or_now,
    exp.CurrentTimestamp: today_or_now,
    exp.Localtimestamp: today_or_now,
    exp.Add: sum_or_shift,
    exp.Sub: sum_or_shift,
    exp.Mul: product,
    exp.Interval: interval,
}
"""The parser's nodes that are bound here."""
