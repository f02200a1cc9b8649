"""Casts: what does not fit, or does not read as the type, is NULL.

Comes in: a value's facts and the name of a type. Goes out: facts of the value in that type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from sfumato.algebra import interval_values as intervals
from sfumato.algebra.calendar_units import DAYS
from sfumato.algebra.functions.curves import away
from sfumato.algebra.functions.record import ScalarFunction
from sfumato.algebra.functions.rules import Mismatch, fit
from sfumato.algebra.tree import (
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    INTEGER,
    NULL,
    NUMBERS,
    TEXT,
    TIMES,
    TIMESTAMP,
    Facts,
    Node,
)

WIDTHS = {INTEGER: 63, "int4": 31, "int2": 15}
"""The bits of PostgreSQL's whole numbers, by the word that a cast has for them."""


def _cast(args: tuple[Node, ...], extra: str) -> Facts:
    """What does not fit, or does not read as the type, is NULL."""
    f = args[0].facts
    word, numbers = target(extra)
    rule = _CASTS.get((_family(f.kind), word))
    if f.kind == NULL:
        return f
    if rule is None:
        raise Mismatch(f"a cast from {f.kind} to {extra} is not supported")
    return rule(f, word, numbers)


def target(extra: str) -> tuple[str, list[int]]:
    """The word of a cast, and the numbers in its brackets: decimal(9,2), text(3)."""
    word, *numbers = re.findall(r"\w+", extra)
    return word, [int(n) for n in numbers]


def _family(kind: str) -> str:
    return "number" if kind in NUMBERS else kind


def _to_whole(f: Facts, word: str, _: list[int]) -> Facts:
    """Rounded; what the type does not hold is NULL. Where the number has no bounds, its type gives none."""
    if f.kind == BOOLEAN:
        return Facts(INTEGER, Fraction(0), Fraction(1), Fraction(1), f.nullable)
    if f.kind == TEXT or f.low is None or f.high is None:
        return Facts(INTEGER, None, None, Fraction(1), True)
    ends = Fraction(f.low // 1), Fraction(-(-f.high // 1))
    if f.exact:
        ends = Fraction(away(f.low)), Fraction(away(f.high))
    return _held(Facts(INTEGER, *ends, Fraction(1), f.nullable or not f.exact), whole_range(word))


def whole_range(word: str) -> tuple[Fraction, Fraction]:
    """What a type of whole numbers holds."""
    most = 1 << WIDTHS[word]
    return Fraction(-most), Fraction(most - 1)


def _held(facts: Facts, ends: tuple[Fraction, Fraction]) -> Facts:
    """A bounded number in a type that holds these: what is outside is NULL."""
    assert facts.low is not None
    assert facts.high is not None
    if facts.low > ends[1] or facts.high < ends[0]:
        raise Mismatch("this number is out of range for its type")
    outside = facts.low < ends[0] or facts.high > ends[1]
    low, high = max(facts.low, ends[0]), min(facts.high, ends[1])
    return fit(Facts(facts.kind, low, high, facts.grid, facts.nullable or outside, facts.length))


def _to_decimal(f: Facts, _: str, numbers: list[int]) -> Facts:
    """numeric(p, s): rounded to s digits, and NULL beyond p - s digits before the point. Bare: as it is."""
    if not numbers:
        if f.kind == TEXT:
            return Facts(DOUBLE, nullable=True)
        return Facts(DECIMAL if f.exact else DOUBLE, f.low, f.high, f.grid, f.nullable)
    step, most = decimal_size(numbers)
    if f.kind == TEXT:
        return Facts(DECIMAL, None, None, step, True)
    grid = f.grid if f.exact and f.grid is not None and (f.grid / step).denominator == 1 else step
    if f.low is None or f.high is None:
        return Facts(DECIMAL, None, None, grid, True)
    low, high, last = away(f.low / step) * step, away(f.high / step) * step, most // grid * grid
    return _held(Facts(DECIMAL, low, high, grid, f.nullable or not f.exact), (-last, last))


def decimal_size(numbers: list[int]) -> tuple[Fraction, Fraction]:
    """The step of numeric(p, s) and its largest number."""
    digits, places = numbers[0], numbers[1] if len(numbers) > 1 else 0
    if not 1 <= digits <= 30 or not 0 <= places <= min(digits, 12):
        raise Mismatch("numeric(p, s) needs p from 1 to 30, and s from 0 to 12 and at most p")
    step = Fraction(1, 10**places)
    return step, 10**digits * step - step


def _to_double(f: Facts, word: str, _: list[int]) -> Facts:
    """double precision, and real, which keeps 24 bits."""
    if f.kind == TEXT:
        return Facts(DOUBLE, nullable=True)
    low, high = f.low, f.high
    if word == "real" and low is not None and high is not None:
        tiny = Fraction(1, 1 << 140)
        low, high = low - abs(low) / (1 << 23) - tiny, high + abs(high) / (1 << 23) + tiny
    return Facts(DOUBLE, low, high, None, f.nullable or word == "real")


def _to_text(f: Facts, _: str, numbers: list[int]) -> Facts:
    """varchar(n) cuts; whole numbers, truths and times as PostgreSQL prints them."""
    length = {BOOLEAN: 5, DATE: 10, TIMESTAMP: 26, TEXT: f.length}.get(f.kind)
    if f.kind in NUMBERS:
        if f.kind != INTEGER:
            raise Mismatch("a cast to text is supported for whole numbers, not for decimals")
        known = f.low is not None and f.high is not None
        length = max(len(str(int(end))) for end in (f.low, f.high) if end is not None) if known else 40
    if numbers:
        length = numbers[0] if length is None else min(numbers[0], length)
    return Facts(TEXT, nullable=f.nullable, length=length)


def _to_date(f: Facts, _: str, _more: list[int]) -> Facts:
    """A text is read as 2024-01-31 and in no other form."""
    if f.kind == TEXT:
        return Facts(DATE, Fraction(intervals.FIRST), Fraction(intervals.LAST), Fraction(1), True)
    every = f.every if f.every in DAYS else ""
    return Facts(DATE, f.low, f.high, Fraction(1), f.nullable, every=every)


def _to_timestamp(f: Facts, _: str, _more: list[int]) -> Facts:
    return Facts(TIMESTAMP, f.low, f.high, None, f.nullable, every=f.every or ("day" if f.kind == DATE else ""))


def _to_truth(f: Facts, _: str, _more: list[int]) -> Facts:
    """The words that PostgreSQL knows; a whole number but zero is true."""
    if f.kind in NUMBERS and f.kind != INTEGER:
        raise Mismatch(f"a cast from {f.kind} to boolean is not supported")
    return Facts(BOOLEAN, nullable=f.nullable or f.kind == TEXT)


_CASTS: dict[tuple[str, str], Callable[[Facts, str, list[int]], Facts]] = {
    **{(kind, word): _to_whole for kind in ("number", BOOLEAN, TEXT) for word in WIDTHS},
    **{(kind, DECIMAL): _to_decimal for kind in ("number", TEXT)},
    **{(kind, DOUBLE): _to_double for kind in ("number", TEXT)},
    ("number", "real"): _to_double,
    **{(kind, TEXT): _to_text for kind in ("number", BOOLEAN, DATE, TIMESTAMP, TEXT)},
    **{(kind, DATE): _to_date for kind in (DATE, TIMESTAMP, TEXT)},
    **{(kind, TIMESTAMP): _to_timestamp for kind in TIMES},
    **{(kind, BOOLEAN): _to_truth for kind in ("number", BOOLEAN, TEXT)},
}
"""From which kind to which, with what is known of the result."""

CAST = ScalarFunction("cast", _cast, "CAST(x AS type), x::type", "the value in another type; NULL if it does not fit")
