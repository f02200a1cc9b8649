"""Texts and intervals that a statement computes from what it writes: 'a' || '%', UPPER('ana%'), 3 * INTERVAL '1 month'.

Comes in: the parser's nodes. Goes out: the value, or None where a column or something else takes part. Drivers and
object mappers put patterns together in SQL, and tools count intervals: what is written is known before a row is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from sfumato.algebra.interval_values import Span, clocked, read

_TEXTS = (exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR)
_LONGEST = 2_000
_MOST = 10**9


def written_text(node: Any) -> str | None:
    """The text that an expression of literals is; letters change their case where every engine agrees, in ASCII."""
    found: str | None = None
    if isinstance(node, exp.Literal):
        found = node.name if node.is_string or node.name.isdecimal() else None
    elif isinstance(node, exp.Paren) or _is_text(node):
        found = written_text(node.this)
    elif isinstance(node, exp.Upper | exp.Lower):
        inner = written_text(node.this)
        if inner is not None and inner.isascii():
            found = inner.upper() if isinstance(node, exp.Upper) else inner.lower()
    elif isinstance(node, exp.DPipe | exp.Concat):
        parts = [node.this, node.expression] if isinstance(node, exp.DPipe) else node.expressions
        texts = [written_text(part) for part in parts]
        if all(text is not None for text in texts):
            found = "".join(text or "" for text in texts)
    return found if found is not None and len(found) <= _LONGEST else None


def _is_text(node: Any) -> bool:
    return isinstance(node, exp.Cast) and node.to.this in _TEXTS and not node.to.expressions


def written_span(node: Any) -> Span | None:
    """The interval that an expression of literals is."""
    build = _SPANS.get(type(node))
    return None if build is None else build(node)


def _literal(node: Any) -> Span | None:
    unit = node.args.get("unit")
    if not isinstance(node.this, exp.Literal) or not (unit is None or isinstance(unit, exp.Var)):
        return None
    return read(f"{node.this.name} {'' if unit is None else unit.name}")


def _cast(node: Any) -> Span | None:
    text = written_text(node.this) if node.to.this == exp.DataType.Type.INTERVAL else None
    return None if text is None else read(text)


def _negated(node: Any) -> Span | None:
    inner = written_span(node.this)
    return None if inner is None else -inner


def _times(node: Any) -> Span | None:
    for span, times in ((node.this, node.expression), (node.expression, node.this)):
        found, number = written_span(span), _whole(times)
        if found is not None and number is not None:
            return _held(found.months * number, found.days * number, found.microseconds * number)
    return None


def _sum(node: Any) -> Span | None:
    one = written_span(node.this)
    other = None if one is None else written_span(node.expression)
    if one is None or other is None:
        return None
    more = other if isinstance(node, exp.Add) else -other
    return _held(one.months + more.months, one.days + more.days, one.microseconds + more.microseconds)


def counted_interval(node: Any) -> Any:
    """The same interval as one literal, where it is computed from literals."""
    if isinstance(node, exp.Interval):
        return None
    span = written_span(node)
    return None if span is None else exp.Interval(this=exp.Literal.string(clocked(span)))


def with_written_pattern(node: Any) -> None:
    """LIKE and its kin with the pattern as one literal."""
    if not isinstance(node.expression, exp.Literal):
        text = written_text(node.expression)
        if text is not None:
            node.set("expression", exp.Literal.string(text))


_FIELDS = {"year": (12, 0, 0), "month": (1, 0, 0), "week": (0, 7, 0), "day": (0, 1, 0),
           "hour": (0, 0, 3600), "minute": (0, 0, 60), "second": (0, 0, 1)}  # fmt: skip


def _made(node: Any) -> Span | None:
    """make_interval(days => 3), of written whole numbers."""
    months = days = seconds = 0
    for field, value in node.args.items():
        number = _whole(value.expression if isinstance(value, exp.Kwarg) else value) if value is not None else 0
        if number is None or field not in _FIELDS:
            return None
        unit = _FIELDS[field]
        months, days, seconds = months + number * unit[0], days + number * unit[1], seconds + number * unit[2]
    return _held(months, days, seconds * 10**6)


def _whole(node: Any) -> int | None:
    """A written whole number."""
    if isinstance(node, exp.Paren):
        return _whole(node.this)
    if isinstance(node, exp.Neg):
        inner = _whole(node.this)
        return None if inner is None else -inner
    written = isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal() and len(node.name) < 10
    return int(node.name) if written else None


def _held(months: int, days: int, microseconds: int) -> Span | None:
    """An interval of numbers that can be written, and read again."""
    span = Span(months, days, microseconds)
    return span if max(abs(months), abs(days)) < _MOST and read(clocked(span)) is not None else None


_SPANS: dict[type[Any], Callable[[Any], Span | None]] = {
    exp.Paren: lambda node: written_span(node.this),
    exp.Interval: _literal,
    exp.Cast: _cast,
    exp.MakeInterval: _made,
    exp.Neg: _negated,
    exp.Mul: _times,
    exp.Add: _sum,
    exp.Sub: _sum,
}
