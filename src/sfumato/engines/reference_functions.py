"""What each function of an expression means, for the reference interpreter: total, exact, NULL in and NULL out.

Comes in: a call and a way to evaluate its arguments. Goes out: its value. Exact numbers are Fractions, doubles floats.
Functions of doubles beyond the four operations, and patterns, have no meaning here: `NotCovered`.
"""

from __future__ import annotations

import hashlib
import math
import operator
from calendar import monthrange
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from typing import Any

from sfumato.algebra import geo_cells
from sfumato.algebra.functions import FUNCTIONS, add_parts
from sfumato.algebra.tree import BOOLEAN, DATE, DECIMAL, DOUBLE, INTEGER, TEXT, TIMESTAMP, Call, Node
from sfumato.engines.reference_texts import ASCII_TEXTS, TEXTS, concat_ws
from sfumato.engines.reference_times import TIMES, seconds

Evaluate = Callable[[Node], Any]
Typed = tuple[Any, str]
"""A value and its kind."""


class NotInReference(Exception):
    """An operator that the reference interpreter does not know."""


def apply(call: Call, evaluate: Evaluate) -> Any:
    """The value of a call."""
    if call.name == "clamp":
        return _clamp(call, evaluate)
    function = FUNCTIONS.get(call.name)
    if function is None or function.meaning is None:
        raise NotInReference(call.name)
    return function.meaning(call, evaluate)


def strict(meaning: Callable[..., Any]) -> Callable[[Call, Evaluate], Any]:
    """A function of known values, NULL where one of them is."""

    def value(call: Call, evaluate: Evaluate) -> Any:
        values = [evaluate(arg) for arg in call.args]
        return None if any(value is None for value in values) else meaning(call, *values)

    return value


def nearest(exact: Any) -> float:
    """The nearest double of a number, which may be infinite."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


# comparing
def compare(a: Typed, b: Typed) -> int | None:
    """-1, 0 or 1; None where one is NULL."""
    left, right = a[0], b[0]
    if left is None or right is None:
        return None
    if isinstance(left, float) or isinstance(right, float):
        left, right = nearest(left), nearest(right)
        if math.isnan(left) or math.isnan(right):  # NaN equals itself, and is above all numbers
            left, right = math.isnan(left), math.isnan(right)
    if isinstance(left, datetime) or isinstance(right, datetime):
        left, right = _moment(left), _moment(right)
    if isinstance(left, str):
        left, right = left.encode(), right.encode()
    return int(left > right) - int(left < right)


def same(a: Any, b: Any) -> bool:
    """Whether two known values are equal."""
    return compare((a, ""), (b, "")) == 0


def truth_in(operand: Typed, values: Iterable[Typed]) -> bool | None:
    """IN, by the logic of three values."""
    unknown = False
    for value in values:
        found = compare(operand, value)
        if found == 0:
            return True
        unknown |= found is None
    return None if unknown else False


def _moment(value: Any) -> datetime:
    return value if isinstance(value, datetime) else datetime.combine(value, time())


def _typed(call: Call, evaluate: Evaluate) -> list[Typed]:
    return [(evaluate(arg), arg.facts.kind) for arg in call.args]


def _comparison(holds: Callable[[int], bool]) -> Callable[[Call, Evaluate], bool | None]:
    def meaning(call: Call, evaluate: Evaluate) -> bool | None:
        a, b = _typed(call, evaluate)
        found = compare(a, b)
        return None if found is None else holds(found)

    return meaning


def _distinct(call: Call, evaluate: Evaluate) -> bool:
    a, b = _typed(call, evaluate)
    if a[0] is None or b[0] is None:
        return (a[0] is None) != (b[0] is None)
    return compare(a, b) != 0


# logic and choice
def _and(call: Call, evaluate: Evaluate) -> bool | None:
    values = [evaluate(arg) for arg in call.args]
    return False if False in values else None if None in values else True


def _or(call: Call, evaluate: Evaluate) -> bool | None:
    values = [evaluate(arg) for arg in call.args]
    return True if True in values else None if None in values else False


def as_kind(value: Any, call: Call) -> Any:
    """A result of CASE or COALESCE in the kind of the whole."""
    if value is None:
        return None
    if call.facts.kind == DOUBLE:
        return nearest(value)
    return _moment(value) if call.facts.kind == TIMESTAMP else value


def _case(call: Call, evaluate: Evaluate) -> Any:
    for test, result in zip(call.args[:-1:2], call.args[1:-1:2], strict=True):
        if evaluate(test) is True:
            return as_kind(evaluate(result), call)
    return as_kind(evaluate(call.args[-1]), call)


def _coalesce(call: Call, evaluate: Evaluate) -> Any:
    return next((as_kind(v, call) for v in map(evaluate, call.args) if v is not None), None)


def _nullif(call: Call, evaluate: Evaluate) -> Any:
    a, b = _typed(call, evaluate)
    return None if compare(a, b) == 0 else a[0]


def _extreme(sign: int) -> Callable[[Call, Evaluate], Any]:
    def meaning(call: Call, evaluate: Evaluate) -> Any:
        values = [value for value in _typed(call, evaluate) if value[0] is not None]
        best: Typed | None = None
        for value in values:
            best = value if best is None or sign * (compare(value, best) or 0) > 0 else best
        return None if best is None else as_kind(best[0], call)

    return meaning


def _concat(call: Call, evaluate: Evaluate) -> str:
    return "".join(value for value in map(evaluate, call.args) if value is not None)


def _clamp(call: Call, evaluate: Evaluate) -> Any:
    number, low, high = map(evaluate, call.args)
    return None if number is None else min(max(number, low), high)


_LAZY: dict[str, Callable[[Call, Evaluate], Any]] = {
    "=": _comparison(lambda c: c == 0),
    "<>": _comparison(lambda c: c != 0),
    "<": _comparison(lambda c: c < 0),
    "<=": _comparison(lambda c: c <= 0),
    ">": _comparison(lambda c: c > 0),
    ">=": _comparison(lambda c: c >= 0),
    "is distinct from": _distinct,
    "in": lambda call, evaluate: truth_in(_typed(call, evaluate)[0], _typed(call, evaluate)[1:]),
    "and": _and,
    "or": _or,
    "not": lambda call, evaluate: None if (v := evaluate(call.args[0])) is None else not v,
    "is null": lambda call, evaluate: evaluate(call.args[0]) is None,
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "greatest": _extreme(1),
    "least": _extreme(-1),
    "concat": _concat,
    "concat_ws": lambda call, evaluate: concat_ws([evaluate(arg) for arg in call.args]),
}
"""Functions that may have a value where an argument is NULL."""


# numbers
def _number(value: Any, call: Call) -> Any:
    return nearest(value) if call.facts.kind == DOUBLE else value


def _days(value: Any) -> int:
    return int(value)


def _plus(call: Call, a: Any, b: Any) -> Any:
    if isinstance(a, date) and not isinstance(b, date):
        return _within(a, timedelta(_days(b)))
    if isinstance(b, date):
        return _within(b, timedelta(_days(a)))
    return _number(a, call) + _number(b, call)


def _minus(call: Call, a: Any, b: Any) -> Any:
    if isinstance(a, date) and isinstance(b, date):
        if isinstance(a, datetime) or isinstance(b, datetime):
            return seconds(_moment(a) - _moment(b))
        return Fraction((a - b).days)
    if isinstance(a, date):
        return _within(a, timedelta(-_days(b)))
    return _number(a, call) - _number(b, call)


def _within(moment: Any, by: timedelta) -> Any:
    try:
        return moment + by
    except OverflowError:
        return None


def _divide(call: Call, a: Any, b: Any) -> Any:
    if b == 0:
        return None
    if call.facts.kind == INTEGER:
        return Fraction(math.trunc(Fraction(a) / Fraction(b)))
    return nearest(a) / nearest(b)


def _remainder(_: Call, a: Any, b: Any) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        raise NotInReference("a remainder of doubles")
    return None if b == 0 else a - b * math.trunc(a / b)


def _quotient(_: Call, a: Any, b: Any) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        raise NotInReference("a whole quotient of doubles")
    return None if b == 0 else Fraction(math.trunc(a / b))


def _rounded(how: Callable[[Fraction], int]) -> Callable[[Call, Any], Any]:
    def meaning(call: Call, x: Any) -> Any:
        if isinstance(x, float):
            raise NotInReference("rounded doubles")
        grid = call.facts.grid or Fraction(1)
        return how(x / grid) * grid

    return meaning


def _away(x: Fraction) -> int:
    """The nearest whole number, halves away from zero."""
    nearest = math.floor(abs(x) + Fraction(1, 2))
    return nearest if x >= 0 else -nearest


def _exact(function: Callable[[Any], Any]) -> Callable[[Call, Any], Any]:
    return lambda call, x: _number(function(x), call)


def _of_bits(bits: Callable[[int, int], int]) -> Callable[[Call, Any, Any], Fraction | None]:
    """Of numbers with endless signs in front; NULL where 64 bits do not hold one of them."""

    def meaning(_: Call, a: Any, b: Any) -> Fraction | None:
        held = all(-(1 << 63) <= number < 1 << 63 for number in (a, b))
        return Fraction(bits(int(a), int(b))) if held else None

    return meaning


# time
_CYCLE = 146_097
"""The days of 400 years."""


def _shift(call: Call, moment: Any) -> Any:
    """Months, days and microseconds later; a month that is shorter ends on its last day.

    Only the result has to be a year from 1 to 9999: where the months alone lead beyond, the same day of a year that
    differs by a multiple of 400 is taken, and its days are added again.
    """
    months, days, micros = map(int, call.extra.split())
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        cycles, year = year // 400 - 5, year % 400 + 2000
        days += cycles * _CYCLE
        if abs(days) > 25 * _CYCLE:
            return None
    month += 1
    moved = moment.replace(year=year, month=month, day=min(moment.day, monthrange(year, month)[1]))
    if call.facts.kind == DATE:
        return _within(moved, timedelta(days))
    return _within(_moment(moved), timedelta(days, microseconds=micros))


# text
def _signs(old: str, new: str) -> dict[int, str]:
    """For each character of `old` the one in its place, or nothing; of equal ones the first place counts."""
    pairs = reversed(list(enumerate(old)))
    return {ord(sign): new[place : place + 1] for place, sign in pairs}


def _substring(_: Call, text: str, start: Any, length: Any = None) -> str:
    if start < 1 or (length is not None and length < 0):
        raise NotInReference("a substring from before its text")
    first = int(start) - 1
    return text[first:] if length is None else text[first : first + int(length)]


def _side(left: bool) -> Callable[[Call, str, Any], str]:
    def meaning(_: Call, text: str, count: Any) -> str:
        if count < 0:
            raise NotInReference("left or right of less than nothing")
        n = int(count)
        return text[:n] if left else text[len(text) - min(n, len(text)) :]

    return meaning


def _trim(call: Call, text: str, characters: str = " ") -> str:
    if call.extra == "leading":
        return text.lstrip(characters)
    return text.rstrip(characters) if call.extra == "trailing" else text.strip(characters)


def _ascii(function: Callable[[str], str]) -> Callable[[Call, str], str]:
    def meaning(_: Call, text: str) -> str:
        if not text.isascii():
            raise NotInReference("letters beyond ASCII")
        return function(text)

    return meaning


def _only_ascii(meaning: Callable[..., Any]) -> Callable[..., Any]:
    return lambda call, text, *more: _ascii(lambda known: meaning(call, known, *more))(call, text)


def _cast(call: Call, value: Any) -> Any:
    casts: dict[tuple[type, str], Callable[[Any], Any]] = {
        (Fraction, INTEGER): lambda x: _on_grid(call, x),
        (Fraction, DECIMAL): lambda x: _on_grid(call, x),
        (Fraction, DOUBLE): nearest,
        (bool, INTEGER): Fraction,
        (bool, BOOLEAN): bool,
        (datetime, DATE): datetime.date,
        (datetime, TIMESTAMP): _moment,
        (date, DATE): lambda x: x,
        (date, TIMESTAMP): _moment,
        (str, TEXT): lambda x: x[: call.facts.length],
        (Fraction, TEXT): lambda x: str(int(x))[: call.facts.length],
        (bool, TEXT): lambda x: str(x).lower()[: call.facts.length],
    }
    cast = casts.get((type(value), call.facts.kind))
    if cast is None:
        raise NotInReference(f"a cast to {call.extra}")
    return cast(value)


def _on_grid(call: Call, x: Fraction) -> Fraction:
    """The nearest number on the grid of a cast, halves away from zero."""
    facts = call.facts
    number = _away(x / (facts.grid or 1)) * (facts.grid or 1)
    if facts.low is not None and facts.high is not None and not facts.low <= number <= facts.high:
        raise NotInReference("a cast out of range")
    return Fraction(number)


_STRICT: dict[str, Callable[..., Any]] = {
    "+": _plus,
    "-": _minus,
    "*": lambda call, a, b: _number(a, call) * _number(b, call),
    "/": _divide,
    "%": _remainder,
    "div": _quotient,
    **{sign: _of_bits(bits) for sign, bits in (("&", operator.and_), ("|", operator.or_), ("#", operator.xor))},
    "negate": _exact(lambda x: -x),
    "abs": _exact(abs),
    "sign": lambda call, x: _number(Fraction((x > 0) - (x < 0)), call),
    "round": _rounded(_away),
    "floor": _rounded(math.floor),
    "ceil": _rounded(math.ceil),
    "trunc": _rounded(math.trunc),
    **TIMES,
    **TEXTS,
    **{name: _only_ascii(meaning) for name, meaning in ASCII_TEXTS.items()},
    "shift": _shift,
    "lower": _ascii(str.lower),
    "upper": _ascii(str.upper),
    "length": lambda _, text: Fraction(len(text)),
    "substring": _substring,
    "left": _side(True),
    "right": _side(False),
    "reverse": _ascii(lambda text: text[::-1]),
    "replace": lambda _, text, old, new: text.replace(old, new) if old else text,
    "md5": lambda _, text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
    "ascii": lambda _, text: Fraction(ord(text[0]) if text else 0),
    "octet_length": lambda _, text: Fraction(len(text.encode())),
    "translate": lambda _, text, old, new: text.translate(_signs(old, new)),
    "strpos": lambda _, text, part: Fraction(text.find(part) + 1),
    "starts_with": lambda _, text, part: text.startswith(part),
    "||": lambda _, a, b: a + b,
    "trim": _trim,
    "cast": _cast,
    "geo_cell": lambda call, lat, lon: geo_cells.read(call.extra).cell(Fraction(lat), Fraction(lon)),
}
"""Functions that are NULL where an argument is."""
add_parts("meaning", _LAZY | {name: strict(meaning) for name, meaning in _STRICT.items()})
