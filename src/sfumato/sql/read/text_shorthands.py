"""Functions of text and of numbers that can be written with others: the longer form is what `bind` knows.

Comes in: a node of the parser's tree. Goes out: the same at length, or None where it is another thing. The longer form
is total, since what it is made of is: `(string_to_array(x, ' '))[2]` is split_part where there is such a part, overlay
is what stands before and after, round(x, -2) counts hundreds, and width_bucket with a list is a CASE.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from sfumato.algebra.pattern_meaning import fixed_length, without_groups
from sfumato.algebra.patterns import problem, spelled_out
from sfumato.sql.read.growth import check_copies, copied

_MOST_DIGITS = 12
_MOST_ENDS = 100


def _number(node: Any) -> int | None:
    """A whole number as it is written, perhaps with its sign."""
    if isinstance(node, exp.Paren):
        return _number(node.this)
    if isinstance(node, exp.Neg):
        inner = _number(node.this)
        return None if inner is None else -inner
    text = node.name if isinstance(node, exp.Literal) and not node.is_string else ""
    return int(text) if text.isdecimal() and len(text) <= 7 else None


def _text(node: Any) -> str | None:
    return node.name if isinstance(node, exp.Literal) and node.is_string else None


def rounded(node: Any) -> Any:
    """round(x, -2) and trunc(x, -2): hundreds are counted, and multiplied again."""
    digits = _number(node.args.get("decimals"))
    if digits is None or not -_MOST_DIGITS <= digits < 0:
        return None
    share = exp.Literal.number("0." + "0" * (-digits - 1) + "1")
    parts = exp.Mul(this=exp.Paren(this=copied(node.this)), expression=share)
    return exp.Paren(this=exp.Mul(this=type(node)(this=parts), expression=exp.Literal.number(10**-digits)))


def bucket(node: Any) -> Any:
    """width_bucket(x, ARRAY[a, b, c]): how many of the ends lie at or below x; they are written in ascending order."""
    ends = node.args.get("threshold")
    if isinstance(ends, exp.Cast):
        ends = ends.this
    if not isinstance(ends, exp.Array) or not 0 < len(ends.expressions) <= _MOST_ENDS:
        return None
    check_copies(node.this, len(ends.expressions))
    steps = [
        exp.If(this=exp.LT(this=copied(node.this), expression=copied(end)), true=exp.Literal.number(place))
        for place, end in enumerate(ends.expressions)
    ]
    unknown = exp.If(this=exp.Is(this=copied(node.this), expression=exp.Null()), true=exp.Null())
    return exp.Case(ifs=[unknown, *steps], default=exp.Literal.number(len(ends.expressions)))


def overlaid(node: Any) -> Any:
    """overlay(x PLACING y FROM n FOR m): what stands before, y, and what stands after."""
    start, new = _number(node.args.get("from_")), node.expression
    written = _text(new)
    length = (
        (None if written is None else len(written)) if node.args.get("for_") is None else _number(node.args["for_"])
    )
    if start is None or length is None or start < 1 or length < 0:
        return None
    before = exp.Left(this=copied(node.this), expression=exp.Literal.number(start - 1))
    after = exp.Substring(this=copied(node.this), start=exp.Literal.number(start + length))
    return exp.Paren(
        this=exp.DPipe(this=exp.DPipe(this=before, expression=copied(new), safe=True), expression=after, safe=True)
    )


def element(node: Any) -> Any:
    """(string_to_array(x, ' '))[n] and (regexp_match(x, pattern))[1]: NULL where there is no such element."""
    inner = node.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    place = _place(node)
    if place is None:
        return None
    if isinstance(inner, exp.StringToArray) and inner.args.get("null") is None:
        return _part(inner.this, inner.expression, place)
    if isinstance(inner, exp.Anonymous) and inner.name.lower() == "regexp_match" and place == 1:
        return _match(inner.expressions)
    return None


def _place(node: Any) -> int | None:
    """The number of an element, from 1: the parser counts from 0 unless it says otherwise."""
    if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Slice):
        return None
    written = _number(node.expressions[0])
    if written is None:
        return None
    place = written + 1 - int(node.args.get("offset") or 0)
    return place if place >= 1 else None


def _part(text: Any, delimiter: Any, place: int) -> Any:
    between = _text(delimiter)
    if not between:
        return None
    part = exp.SplitPart(this=copied(text), delimiter=copied(delimiter), part_index=exp.Literal.number(place))
    if place == 1:  # an empty text has no part at all
        there: Any = exp.NEQ(this=copied(text), expression=exp.Literal.string(""))
    else:
        less = exp.Length(
            this=exp.Replace(this=copied(text), expression=copied(delimiter), replacement=exp.Literal.string(""))
        )
        taken = exp.Paren(this=exp.Sub(this=exp.Length(this=copied(text)), expression=less))
        there = exp.GTE(this=taken, expression=exp.Literal.number((place - 1) * len(between)))
    return exp.Case(ifs=[exp.If(this=there, true=part)])


def _match(args: list[Any]) -> Any:
    return exp.Substring(this=copied(args[0]), start=copied(args[1])) if len(args) == 2 and _text(args[1]) else None


def substring_of(node: Any) -> Any:
    """regexp_substr(x, pattern): the whole match, whatever groups the pattern has."""
    pattern = _text(node.expression)
    if pattern is None or any(node.args.get(part) is not None for part in ("position", "occurrence", "parameters")):
        return None
    pattern = spelled_out(pattern)
    if problem(pattern) is not None:
        return exp.Substring(this=copied(node.this), start=exp.Literal.string(pattern))  # which says why
    return exp.Substring(this=copied(node.this), start=exp.Literal.string(without_groups(pattern)))


def counted(node: Any) -> Any:
    """regexp_count(x, pattern) of matches that all have one length: how much shorter x is without them."""
    pattern = _text(node.expression)
    if pattern is None or any(node.args.get(part) is not None for part in ("position", "parameters")):
        return None
    pattern = spelled_out(pattern)
    size = fixed_length(pattern) if problem(pattern) is None else None
    if not size:
        return None
    without = exp.RegexpReplace(
        this=copied(node.this),
        expression=exp.Literal.string(pattern),
        replacement=exp.Literal.string(""),
        modifiers=exp.Literal.string("g"),
    )
    less = exp.Paren(this=exp.Sub(this=exp.Length(this=copied(node.this)), expression=exp.Length(this=without)))
    return less if size == 1 else exp.Paren(this=exp.Div(this=less, expression=exp.Literal.number(size)))


def joined_elements(node: Any) -> Any:
    """array_to_string(array_agg(x ORDER BY y), ', ') is string_agg."""
    inner = node.this
    if not isinstance(inner, exp.ArrayAgg) or node.args.get("null") is not None or _text(node.expression) is None:
        return None
    return exp.GroupConcat(this=copied(inner.this), separator=copied(node.expression))


def unicode_text(node: Any) -> Any:
    r"""U&'\0041na': a text with characters by their numbers."""
    if node.args.get("escape"):
        return None
    found, rest = "", node.name
    while rest:
        if not rest.startswith("\\"):
            found, rest = found + rest[0], rest[1:]
            continue
        if rest.startswith("\\\\"):
            found, rest = found + "\\", rest[2:]
            continue
        digits, rest = (rest[2:8], rest[8:]) if rest.startswith("\\+") else (rest[1:5], rest[5:])
        if len(digits) not in (4, 6) or not all(sign in "0123456789abcdefABCDEF" for sign in digits):
            return None
        number = int(digits, 16)
        if not 0 < number <= 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            return None
        found += chr(number)
    return exp.Literal.string(found)
