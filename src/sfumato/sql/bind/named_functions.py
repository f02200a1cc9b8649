"""Functions that the parser knows by name only, or in a form of its own: bound one by one.

Comes in: the parser's node and what binds its arguments. Goes out: a call of our tree; written arguments are read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from functools import partial
from typing import Any, Protocol

from sqlglot import exp

from sfumato.algebra import interval_values as intervals
from sfumato.algebra import patterns
from sfumato.algebra.calendar_units import UNITS
from sfumato.algebra.functions import FUNCTIONS, add_parts, call
from sfumato.algebra.functions.interval_ends import ENDS
from sfumato.algebra.functions.times import FORMATS, LONGEST_PATTERN, pieces
from sfumato.algebra.pattern_meaning import any_case
from sfumato.algebra.tree import DATE, INTEGER, NUMBERS, TIMESTAMP, Call, Constant, Node
from sfumato.errors import QueryError
from sfumato.sql.bind import many_years
from sfumato.sql.bind.casts_and_times import as_text
from sfumato.sql.bind.constants import constant, time_constant
from sfumato.sql.bind.number_texts import number_text
from sfumato.sql.bind.points import cell_call
from sfumato.sql.read import time_formats
from sfumato.sql.read.parser import place
from sfumato.sql.read.shorthands import AS_TIME


class Binds(Protocol):
    """What binds arguments."""

    def node(self, node: exp.Expression) -> Node:
        """A node of our tree for one of the parser's."""

    def text(self, node: exp.Expression) -> Node:
        """The same; what is not text becomes text."""


def by_name(binds: Binds, node: exp.Expression) -> Node:
    """A function that the parser has no kind of node for."""
    name, args = node.name.lower(), tuple(map(binds.node, node.expressions))
    bind = FUNCTIONS[name].bind
    return call(name, args, "", place(node)) if bind is None else bind(args, place(node))


def _text_of(args: tuple[Node, ...], at: int, what: str, position: int) -> str:
    """A text that is written in the query."""
    value = args[at].value if len(args) > at and isinstance(args[at], Constant) else None  # type: ignore[union-attr]
    if not isinstance(value, str):
        raise QueryError(f"{what} must be a text literal", position=position, sqlstate="42883")
    return value


def _age(args: tuple[Node, ...], position: int) -> Node:
    return call("age", _as_times(args), "", position)


def _as_times(args: tuple[Node, ...]) -> tuple[Node, ...]:
    """Written texts as timestamps."""
    return tuple(_as_time(arg) for arg in args)


def _as_time(arg: Node) -> Node:
    written = isinstance(arg, Constant) and isinstance(arg.value, str)
    return time_constant(str(arg.value), TIMESTAMP, arg.position) if written else arg  # type: ignore[union-attr]


_OF_CATALOG = re.compile(
    '(?>YYYY|YY|Month|Mon|Day|Dy|MM|DDD|DDth|DD|HH24|HH12|HH|MI|SS(?!SS)|MS|US|AM|PM|TZ|[^A-Za-z"])*+'
)
"""Patterns that the catalog's own to_char knows, beside those of ours: tools look at the clock with them."""


def _to_char(args: tuple[Node, ...], position: int) -> Node:
    pattern = _text_of(args, 1, "the pattern of to_char", position)
    if args[0].facts.kind in NUMBERS:
        return number_text(args[0], pattern, position)
    if len(pattern) > LONGEST_PATTERN or (pieces(pattern) is None and not _OF_CATALOG.fullmatch(pattern)):
        raise QueryError(
            f"the pattern {pattern[:LONGEST_PATTERN]!r} is not supported",
            position=position,
            sqlstate="22023",
            hint=f"Write {', '.join(FORMATS)}, signs between them, and other letters in double quotes.",
        )
    return call("to_char", args[:1], pattern, position)


def _reading(kind: str) -> Callable[[tuple[Node, ...], int], Node]:
    """to_date and to_timestamp: of a written text a constant, of a column a function; of a number seconds from 1970."""
    name = "to_date" if kind == DATE else "to_timestamp"

    def bind(args: tuple[Node, ...], position: int) -> Node:
        if len(args) == 1 and kind == TIMESTAMP:
            return _from_epoch(args[0], position)
        pattern = _text_of(args, 1, f"the format of {name}", position)
        parts = time_formats.parts_of(pattern)
        why = time_formats.problem(parts)
        if parts is None or why is not None:
            hint = 'Write YYYY-MM-DD, or YYYY-MM-DD"T"HH24:MI:SS.'
            raise QueryError(
                f"the format {pattern!r} is not supported: {why}", position=position, sqlstate="22007", hint=hint
            )
        text = args[0]
        if not isinstance(text, Constant) or not isinstance(text.value, str):
            return call(name, args[:1], "".join(parts), position)
        moment = time_formats.read(text.value, parts)
        if moment is None:
            raise QueryError(
                f"{text.value!r} does not have the format {pattern!r}", position=position, sqlstate="22007"
            )
        return constant(moment.date() if kind == DATE else moment, position)

    return bind


_FROM_1970 = 946_684_800.0
"""Seconds from 1970 to 2000."""


def _from_epoch(arg: Node, position: int) -> Node:
    """to_timestamp(seconds), of a written number."""
    value = arg.value if isinstance(arg, Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        hint = "Write to_timestamp(x, 'YYYY-MM-DD')."
        raise QueryError("to_timestamp of a column needs a format", position=position, hint=hint)
    try:
        since = round((float(value) - _FROM_1970) * 10**6)  # a double from 2000 on, as PostgreSQL has it
        moment = datetime(2000, 1, 1) + timedelta(microseconds=since)  # noqa: DTZ001  the same
    except OverflowError:
        raise QueryError("timestamp out of range", position=position, sqlstate="22008") from None
    return constant(moment, position)


def _date_bin(args: tuple[Node, ...], position: int) -> Node:
    """date_bin(stride, moment, origin): a written stride without months, and a written origin."""
    if len(args) != 3:
        raise QueryError("date_bin takes a stride, a timestamp and an origin", position=position, sqlstate="42883")
    stride, moment, origin = args[0], args[1], _as_time(args[2])
    span = stride.value if isinstance(stride, Constant) else None
    if isinstance(span, str):
        span = intervals.read(span)
    start = origin.value if isinstance(origin, Constant) else None
    if not isinstance(span, intervals.Span) or not isinstance(start, date):
        raise QueryError("date_bin needs a literal stride and a literal origin", position=position, sqlstate="22007")
    width = span.days * intervals.DAY + span.microseconds
    if span.months or not 0 < width <= intervals.LAST * intervals.DAY:
        raise QueryError(
            "a stride must be in days or smaller units, and longer than zero", position=position, sqlstate="22008"
        )
    at = start if isinstance(start, datetime) else datetime.combine(start, time())
    micros = (at - datetime(1, 1, 1)) // timedelta(microseconds=1)  # noqa: DTZ001  the same
    return call("date_bin", (moment,), f"{width} {micros}", position)


def _end(name: str, args: tuple[Node, ...], position: int) -> Node:
    """sfumato_low(x) and the like."""
    if len(args) != 1:
        raise QueryError(f"{name} takes one number", position=position, sqlstate="42883")
    return call(name, args, "", position)


_BY_NAME: dict[str, Callable[[tuple[Node, ...], int], Node]] = {
    "geo_cell": cell_call,
    "age": _age,
    "to_char": _to_char,
    "to_date": _reading(DATE),
    "to_timestamp": _reading(TIMESTAMP),
    **{name: partial(_end, name) for name in ENDS},
}
"""Functions by name whose arguments are not taken as they stand."""
add_parts("bind", _BY_NAME)


# nodes of the parser
def split_part(binds: Binds, node: exp.Expression) -> Node:
    """The n-th part of a text."""
    parts = [binds.node(node.args[part]) for part in ("this", "delimiter", "part_index") if node.args.get(part)]
    return call("split_part", tuple(parts), "", place(node))


def pad(binds: Binds, node: exp.Expression) -> Node:
    """lpad and rpad; blanks fill where nothing else is written."""
    fill = node.args.get("fill_pattern")
    args = (binds.text(node.this), binds.node(node.expression), constant(" ") if fill is None else binds.node(fill))
    return call("lpad" if node.args.get("is_left") else "rpad", args, "", place(node))


def concat_ws(binds: Binds, node: exp.Expression) -> Node:
    """Texts with one between them: whole numbers, truths (t and f) and times are text here."""
    parts = tuple(as_text(binds.node(part), shown=True) for part in node.expressions)
    return call("concat_ws", parts, "", place(node))


def date_bin(binds: Binds, node: exp.Expression) -> Node:
    """date_bin, whose parts the parser names in its own way."""
    parts = [node.this, node.expression, node.args.get("unit")]
    return _date_bin(tuple(binds.node(part) for part in parts if part is not None), place(node))


def _pattern(binds: Binds, node: exp.Expression) -> Node:
    """A pattern; a written one is spelled out."""
    found = binds.node(node)
    written = isinstance(found, Constant) and isinstance(found.value, str)
    return constant(patterns.spelled_out(found.value), found.position) if written else found  # type: ignore[union-attr, arg-type]


def regexp_like(binds: Binds, node: exp.Expression) -> Node:
    """x ~ pattern."""
    return call("regexp_like", (binds.node(node.this), _pattern(binds, node.expression)), "", place(node))


def regexp_ilike(binds: Binds, node: exp.Expression) -> Node:
    """x ~* pattern: the same as ~ with both cases of every letter."""
    pattern = _pattern(binds, node.expression)
    written = any_case(pattern.value) if isinstance(pattern, Constant) and isinstance(pattern.value, str) else None
    if written is None:
        raise QueryError(
            "~* needs a literal pattern of ASCII characters",
            position=place(node),
            hint="Write LOWER(x) ~ 'é+', in lower case.",
        )
    return call("regexp_like", (binds.node(node.this), constant(written, pattern.position)), "", place(node))


def similar_to(binds: Binds, node: exp.Expression, sign: str = "\\") -> Node:
    """x SIMILAR TO pattern: a regular expression of the whole text."""
    pattern = binds.node(node.expression)
    written = isinstance(pattern, Constant) and isinstance(pattern.value, str)
    made = patterns.similar(pattern.value, sign) if written else None  # type: ignore[union-attr, arg-type]
    if made is None:
        raise QueryError(
            "SIMILAR TO needs a literal pattern that does not end with its escape character",
            position=place(node),
            sqlstate="22025",
        )
    return call("regexp_like", (binds.node(node.this), constant(made, pattern.position)), "", place(node))


def regexp_replace(binds: Binds, node: exp.Expression) -> Node:
    """A text with what matches replaced; the flag i is written into the pattern."""
    if any(node.args.get(part) is not None for part in ("position", "occurrence")):
        raise QueryError("regexp_replace takes text, pattern, replacement and flags", position=place(node))
    flags, new = node.args.get("modifiers"), node.args.get("replacement")
    words = flags.name if isinstance(flags, exp.Literal) else ""
    pattern = _pattern(binds, node.expression)
    if "i" in words and isinstance(pattern, Constant) and isinstance(pattern.value, str):
        both = any_case(pattern.value)
        if both is not None:
            pattern, words = constant(both, pattern.position), words.replace("i", "")
    args = (binds.node(node.this), pattern, constant("") if new is None else binds.node(new))
    return call("regexp_replace", args, words, place(node))


def translate(binds: Binds, node: exp.Expression) -> Node:
    """Each written character by the one in its place, or by nothing."""
    args = tuple(binds.node(part) for part in (node.this, node.args["from_"], node.args["to"]))
    return call("translate", args, "", place(node))


def substring(binds: Binds, node: exp.Expression) -> Node:
    """SUBSTRING in its three forms: by place, by place and length, and from a pattern."""
    start, length = node.args.get("start"), node.args.get("length")
    if length is None and isinstance(start, exp.Literal) and start.is_string:
        return call("regexp_substring", (binds.node(node.this), _pattern(binds, start)), "", place(node))
    parts = [part for part in (node.this, start, length) if part is not None]
    return call("substring", tuple(map(binds.node, parts)), "", place(node))


def extract(binds: Binds, node: exp.Expression) -> Node:
    """EXTRACT; of age() in whole years, months and days, also where it was given a name in a sub-query."""
    word = node.this.name.lower()
    word, inner, at = _PARTS.get(word, word), binds.node(node.expression), place(node)
    if isinstance(inner, Constant) and isinstance(inner.value, intervals.Span):
        part = intervals.part_of(inner.value, word)
        if part is not None:
            return _numeric(constant(part, at))
    of_years = many_years.part(word, inner, at)
    if of_years is not None:
        return of_years
    _check_clock(word, inner, at, as_time=bool(node.meta.get(AS_TIME)))
    if not (isinstance(inner, Call) and inner.name == "age"):
        return call("extract", (inner,), word, at)
    if word in ("year", "month", "day"):
        return call("age_part", inner.args, word, at)
    if word == "epoch":  # a year has 365.25 days here, and 360 where intervals are compared
        years = call("age_part", inner.args, "year", at)
        return call("+", (call("extract", (inner,), word, at), call("*", (years, constant(_MORE, at)), "", at)), "", at)
    return call("extract", (inner,), word, at)


def _check_clock(word: str, value: Node, at: int, *, as_time: bool) -> None:
    """Refuse the time of day of a date. What date_trunc made is a timestamp in PostgreSQL, whose hour is 0."""
    if value.facts.kind != DATE or value.facts.every in UNITS or not (as_time or word in _CLOCK):
        return
    message = f'unit "{word}" not supported for type date' if not as_time else "cannot cast type date to time"
    hint = (
        "A date has no time of day. If the column has one, declare its bounds with times, for example "
        '("2023-01-01 00:00", "2023-12-31 23:59") in sfumato.protect; in a policy, type = "timestamp".'
    )
    raise QueryError(message, position=at, hint=hint, sqlstate="42846" if as_time else "0A000")


def _numeric(node: Constant) -> Constant:
    return replace(node, facts=replace(node.facts, numeric=node.facts.kind == INTEGER))


_CLOCK = ("hour", "minute", "second")
_MORE = (36_525 - 36_000) * 864
"""Seconds of five and a quarter days."""
_PARTS = {
    "years": "year", "months": "month", "days": "day", "hours": "hour", "minutes": "minute", "seconds": "second",
    "weeks": "week", "decades": "decade", "centuries": "century", "millennia": "millennium", "dayofweek": "dow",
    "dayofyear": "doy",
}  # fmt: skip
KINDS: dict[type[exp.Expression], Callable[[Any, Any], Node]] = {
    exp.SplitPart: split_part,
    exp.Pad: pad,
    exp.ConcatWs: concat_ws,
    exp.DateBin: date_bin,
    exp.RegexpLike: regexp_like,
    exp.RegexpILike: regexp_ilike,
    exp.SimilarTo: similar_to,
    exp.RegexpReplace: regexp_replace,
    exp.Substring: substring,
    exp.Extract: extract,
    exp.Initcap: lambda binds, node: call("initcap", (binds.node(node.this),), "", place(node)),
    exp.MD5: lambda binds, node: call("md5", (binds.node(node.this),), "", place(node)),
    exp.Ascii: lambda binds, node: call("ascii", (binds.node(node.this),), "", place(node)),
    exp.Translate: translate,
}
"""The parser's nodes that are bound here."""
