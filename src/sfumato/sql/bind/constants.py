"""Written values: numbers, texts, dates, timestamps and intervals, with their facts.

Comes in: a value, or text that stands for one. Goes out: a Constant, or a refusal in PostgreSQL's words.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from fractions import Fraction

from sfumato.algebra import interval_values as intervals
from sfumato.algebra.functions.casts import WIDTHS
from sfumato.algebra.tree import (
    BOOLEAN,
    DATE,
    DECIMAL,
    INTEGER,
    INTERVAL,
    NULL,
    NUMBERS,
    TEXT,
    TIMESTAMP,
    Constant,
    Facts,
    Node,
    Value,
)
from sfumato.errors import InputError, QueryError
from sfumato.sql.read.moments import read_date, read_timestamp
from sfumato.types import as_written

SURELY = 18
"""Digits that are a whole number of 64 bits: in lists of thousands it matters that they are read at once."""
_WHOLE, _MICRO = Fraction(1), Fraction(1, 10**6)


def constant(value: Value, position: int = 0) -> Constant:
    """A written value with its facts."""
    facts = Facts(NULL)
    if isinstance(value, bool):
        facts = Facts(BOOLEAN, nullable=False)
    elif isinstance(value, int):
        whole = Fraction(value)
        facts = Facts(INTEGER, whole, whole, _WHOLE, False)
    elif isinstance(value, Fraction):
        facts = Facts(DECIMAL, value, value, Fraction(1, value.denominator), False)
    elif isinstance(value, datetime):
        day = Fraction(value.toordinal())
        facts = Facts(TIMESTAMP, day, day, nullable=False)
    elif isinstance(value, date):
        day = Fraction(value.toordinal())
        facts = Facts(DATE, day, day, Fraction(1), False)
    elif isinstance(value, str):
        facts = Facts(TEXT, nullable=False, length=len(value))
    elif isinstance(value, intervals.Span):
        seconds = Fraction(value.compared, 10**6)
        facts = Facts(INTERVAL, seconds, seconds, _MICRO, False)
    return Constant(value, facts, position)


def interval_constant(text: str, position: int) -> Constant:
    """A written interval."""
    span = intervals.read(text)
    if span is None:
        raise QueryError(
            f'invalid input syntax for type interval: "{text.strip()}"',
            position=position,
            sqlstate="22007",
            hint="Write numbers with their units: INTERVAL '1 year 3 months', INTERVAL '7 days', INTERVAL '02:30:00'.",
        )
    return constant(span, position)


def number_constant(text: str, position: int) -> Constant:
    """A text beside a number."""
    try:
        number = as_written(text)
        if len(text) > 60 or abs(number) > 10**30:
            raise ValueError
    except (ValueError, InputError):
        raise QueryError(f"{text!r} is not a number", position=position, sqlstate="22P02") from None
    return constant(int(number) if number.denominator == 1 else number, position)


def time_constant(text: str, kind: str, position: int, *, in_utc: bool = False) -> Constant:
    """A text beside a date or a timestamp; `in_utc` for a timestamp with time zone."""
    value = read_date(text) if kind == DATE else read_timestamp(text, in_utc=in_utc)
    if value is None:
        day = _DAY.match(text.strip()) is not None
        words = "date/time field value out of range" if day else f"invalid input syntax for type {kind}"
        raise QueryError(
            f'{words}: "{text}"',
            position=position,
            sqlstate="22008" if day else "22007",
            hint="Write 2024-01-31, or 2024-01-31 08:00:00.",
        )
    return constant(value, position)


_NAMES = {INTEGER: "bigint", "int4": "integer", "int2": "smallint", "decimal": "numeric", "double": "double precision"}
_TRUTHS = {**dict.fromkeys(("t", "true", "y", "yes", "on", "1"), True),
           **dict.fromkeys(("f", "false", "n", "no", "off", "0"), False)}  # fmt: skip


def cast_text(text: str, target: str, position: int) -> Constant | None:
    """A written text as a number or a truth, with PostgreSQL's errors; None for other types, which are never wrong."""
    word = target.partition("(")[0]
    if word == BOOLEAN:
        known = [truth for name, truth in _TRUTHS.items() if text.strip().lower() == name]
        if not known:
            raise _invalid("boolean", text, position)
        return constant(known[0], position)
    if word not in _NAMES or "(" in target:
        return None
    if word in WIDTHS:
        if not _DIGITS.fullmatch(text.strip()):
            raise _invalid(_NAMES[word], text, position)
        number = int(text)
        if not -(1 << WIDTHS[word]) <= number < 1 << WIDTHS[word]:
            words = f'value "{text}" is out of range for type {_NAMES[word]}'
            raise QueryError(words, position=position, sqlstate="22003")
        return constant(number, position)
    try:
        return number_constant(text.strip(), position)
    except QueryError:
        raise _invalid(_NAMES[word], text, position) from None


def check_width(number: int | Fraction, target: str, position: int) -> None:
    """Refuse a written number that its integer type cannot hold, as PostgreSQL does."""
    bits = WIDTHS.get(target)
    if bits is not None and not isinstance(number, bool) and not -(1 << bits) <= number < 1 << bits:
        raise QueryError(f"{_NAMES[target]} out of range", position=position, sqlstate="22003")


def _invalid(kind: str, text: str, position: int) -> QueryError:
    return QueryError(f'invalid input syntax for type {kind}: "{text[:60]}"', position=position, sqlstate="22P02")


_DAY = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?![0-9])", re.ASCII)
"""What looks like a day, and is refused as one that is not in the calendar."""
_DIGITS = re.compile("[+-]?[0-9]{1,30}")


def is_count(text: str) -> bool:
    """A few digits that read as a whole number; there are others, such as a raised 2."""
    return text.isdecimal() and len(text) <= 7


def coerced(name: str, args: tuple[Node, ...]) -> tuple[Node, ...]:
    """A written text beside a date or a number is that date or number, as in PostgreSQL."""
    if name not in ("=", "<>", "<", "<=", ">", ">=", "-", "+", "*", "/", "%", "is distinct from") or len(args) != 2:
        return args
    kinds = [arg.facts.kind for arg in args]
    for i, other in ((0, 1), (1, 0)):
        arg = args[i]
        if isinstance(arg, Constant) and isinstance(arg.value, str):
            if kinds[other] in (DATE, TIMESTAMP):
                new: Node = time_constant(arg.value, kinds[other], arg.position)
            elif kinds[other] == INTERVAL:
                new = interval_constant(arg.value, arg.position)
            elif kinds[other] in NUMBERS:
                new = number_constant(arg.value, arg.position)
            else:
                continue
            return (new, args[1]) if i == 0 else (args[0], new)
    return args
