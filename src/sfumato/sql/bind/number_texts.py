"""to_char of numbers, put together of rounding, digits as text, padding and trimming: the same in every engine.

Comes in: a number and a pattern. Goes out: a text as PostgreSQL prints a numeric: rounded, halves away from zero, with
the sign before the first digit, blanks in front, and # for every digit where the number has more of them.
"""

from __future__ import annotations

from functools import reduce

from sfumato.algebra.functions import call
from sfumato.algebra.tree import INTEGER, NULL, TEXT, Node, size
from sfumato.errors import QueryError
from sfumato.sql.bind.constants import constant
from sfumato.sql.read.number_formats import HINT, NumberFormat, number_format

_MOST_NODES, _COPIES = 10_000, 12
"""Nodes of a number that is written several times."""
_FILLED = "0,"
"""What is taken away in front of the first digit that counts."""


def number_text(value: Node, pattern: str, at: int) -> Node:
    """to_char(value, pattern)."""
    form = number_format(pattern)
    if form is None:
        message = f"the pattern {pattern!r} is not supported for numbers"
        raise QueryError(message, position=at, sqlstate="22023", hint=HINT)
    if _COPIES * size(value) > _MOST_NODES:
        raise QueryError("this query is too long when its functions are written out", position=at, sqlstate="54001")
    places = len(form.after_point)
    whole = value.facts.kind == INTEGER
    rounded = value if whole else call("round", (value,), str(places) if places else "", at)
    amount = call("abs", (rounded,), "", at)
    digits = _beyond(amount, form, _digits(amount, form, at), at)
    below = call("<", (rounded, constant(0, at)), "", at)

    def sign(minus: str, plus: str) -> Node:
        return call("case", (below, constant(minus, at), constant(plus, at)), "", at)

    blank = "" if form.bare else " "
    if form.sign in ("", "S"):
        digits = _joined([sign("-", "+" if form.sign else ""), digits], at)
    if not form.bare:
        width = len(form.whole) + (places + 1 if places else 0) + (form.sign in ("", "S"))
        digits = call("lpad", (digits, constant(width, at), constant(" ", at)), "", at)
    ends = [
        [sign("-", blank) if text is None else constant(text, at) for text in part]
        for part in (form.before, form.after)
    ]
    last = [sign("-", "+")] if form.sign == "s" else []
    return _joined([*ends[0], digits, *last, *ends[1]], at)


def _beyond(amount: Node, form: NumberFormat, digits: Node, at: int) -> Node:
    """The digits, or # for each of them where there are more than the pattern has."""
    most = 10**form.digits
    if amount.facts.high is not None and amount.facts.high < most:
        return digits
    shown = "".join("," if sign == "," else "#" for sign in form.whole)
    shown += "." + "#" * len(form.after_point) if form.after_point else ""
    return call("case", (call(">=", (amount, constant(most, at)), "", at), constant(shown, at), digits), "", at)


def _digits(amount: Node, form: NumberFormat, at: int) -> Node:
    """The digits of an amount that has not too many of them, without sign and blanks."""
    begin = form.whole.find("0")  # from here on all digits are shown
    if begin < 0:
        begin = len(form.whole) if form.after_point else form.whole.rindex("9")
    floor = amount if amount.facts.kind == INTEGER else call("floor", (amount,), "", at)
    filled = _filled(floor, form.digits, at)
    filling, shown = _grouped(filled, form.whole, 0, begin, at), _grouped(filled, form.whole, begin, None, at)
    parts: list[Node] = [call("trim", (filling, constant(_FILLED, at)), "leading", at)] if filling is not None else []
    parts += [shown] if shown is not None else []
    if not form.after_point:
        return _joined(parts, at)
    rest = call("*", (call("%", (amount, constant(1, at)), "", at), constant(10 ** len(form.after_point), at)), "", at)
    parts += [constant(".", at), *_after_point(_filled(rest, len(form.after_point), at), form, at)]
    found = _joined(parts, at)
    if not form.bare or "0" in form.whole + form.after_point:
        return found
    return call("case", (call("=", (amount, constant(0, at)), "", at), constant("0.", at), found), "", at)


def _after_point(digits: Node, form: NumberFormat, at: int) -> list[Node]:
    """The digits after the point; FM takes away the zeros behind the last place that a 0 has."""
    if not form.bare:
        return [digits]
    kept = form.after_point.rindex("0") + 1 if "0" in form.after_point else 0
    if kept == len(form.after_point):
        return [digits]
    rest = call("substring", (digits, constant(kept + 1, at)), "", at)
    return [
        *([call("left", (digits, constant(kept, at)), "", at)] if kept else []),
        call("trim", (rest, constant("0", at)), "trailing", at),
    ]


def _filled(number: Node, width: int, at: int) -> Node:
    """A whole number of so many digits, filled with zeros."""
    text = call("cast", (call("cast", (number,), INTEGER, at),), TEXT, at)
    return call("lpad", (text, constant(width, at), constant("0", at)), "", at)


def _grouped(digits: Node, whole: str, first: int, last: int | None, at: int) -> Node | None:
    """The digits of a part of the pattern, with its commas."""
    place, parts = len(whole[:first].replace(",", "")) + 1, list[Node]()
    for n, group in enumerate(whole[first:last].split(",")):
        parts += [constant(",", at)] if n else []
        if group:
            parts.append(call("substring", (digits, constant(place, at), constant(len(group), at)), "", at))
        place += len(group)
    return _joined(parts, at) if parts else None


def _joined(parts: list[Node], at: int) -> Node:
    """Texts one after the other; NULL if one of them is."""
    assert all(part.facts.kind in (TEXT, NULL) for part in parts)
    return reduce(lambda a, b: call("||", (a, b), "", at), parts)
