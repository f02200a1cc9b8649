"""The functions that may stand below the cut: each total, bounded in cost and size, with what is known of its value.

Comes in: arguments with their facts. Goes out: a Call with its own facts, or a refusal. `emit` has a spelling for each
name here. An operation that PostgreSQL would fail on gives NULL instead (a division by zero, a cast that does not fit):
an error would tell whether a row was there.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from fractions import Fraction

from sfumato.errors import QueryError
from sfumato.sql import geo_cells, patterns
from sfumato.sql import interval_values as intervals
from sfumato.sql.calendar_units import DAYS
from sfumato.sql.function_rules import Mismatch as _Mismatch
from sfumato.sql.interval_ends import END_FUNCTIONS
from sfumato.sql.text_functions import TEXT_FUNCTIONS
from sfumato.sql.time_functions import AGE, TIME_FUNCTIONS, difference
from sfumato.sql.tree import (
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    INTEGER,
    INTERVAL,
    NULL,
    NUMBERS,
    TEXT,
    TIMES,
    TIMESTAMP,
    Call,
    Constant,
    Facts,
    Node,
)

_FARTHEST = 1_000_000
_LIMIT = Fraction(1 << 100)
"""Beyond this many steps of the grid an intermediate number might not fit into the engine's 127 bits."""
_LONGEST = 100_000
"""Beyond this many characters a text is not made."""
WIDTHS = {INTEGER: 63, "int4": 31, "int2": 15}
"""The bits of PostgreSQL's whole numbers, by the word that a cast has for them."""


def call(name: str, args: tuple[Node, ...], extra: str = "", position: int = 0) -> Call:
    """A function applied: its facts are inferred, or it is refused with the place in the text."""
    rule = FUNCTIONS.get(name)
    if rule is None:
        raise QueryError(
            f"function {name} is not supported", position=position, hint=f"Supported: {', '.join(sorted(FUNCTIONS))}."
        )
    try:
        facts = rule(args, extra)
    except IndexError:
        many = f"{len(args)} argument{'' if len(args) == 1 else 's'}"
        raise QueryError(f"function {name} does not take {many}", position=position, sqlstate="42883") from None
    except _Mismatch as mismatch:
        raise QueryError(str(mismatch), position=position, sqlstate="42883") from None
    except _TooLarge:
        raise QueryError(
            "the values of this expression may exceed 100 bits",
            position=position,
            hint="Declare narrower bounds, or compute with smaller numbers.",
        ) from None
    _count(name, 1 if name == "in" else max(1, len(args) - 1), facts, position)
    return Call(name, args, facts, extra, position)


_MOST_TEXT, _SHORT = 250_000, 250
"""Characters of all texts that a query makes of one row, where each is not short: an engine holds them for 2,048 rows
at once, and its own limit of memory does not count them."""
_MOST_CONDITIONS = 1_000
"""ANDs and ORs of one query: DuckDB compares each condition with each other one, and hears no interrupt meanwhile."""
_MOST_CALLS = 3_000
"""Operators and functions of one query, one of many arguments counted as so many: each takes a third of a millisecond
of planning. A list after IN is one operator."""
_made: ContextVar[Counter[str] | None] = ContextVar("made", default=None)


@contextmanager
def bounded_work() -> Iterator[None]:
    """Within this block a query is bound: its texts, its conditions and its calls are bounded together."""
    token = _made.set(Counter())
    try:
        yield
    finally:
        _made.reset(token)


def _count(name: str, calls: int, facts: Facts, position: int) -> None:
    made = _made.get()
    if made is None:
        return
    made["calls"] += calls
    if made["calls"] > _MOST_CALLS:
        raise QueryError(
            f"this query has more than {_MOST_CALLS} operators and functions",
            position=position,
            sqlstate="54001",
            hint="Put long lists of cases into a public table and join it, or split the query.",
        )
    if name in ("and", "or"):
        made["conditions"] += 1
        if made["conditions"] > _MOST_CONDITIONS:
            raise QueryError(
                f"this query joins more than {_MOST_CONDITIONS} conditions by AND and OR",
                position=position,
                sqlstate="54001",
                hint="Write x IN (1, 2, 3) instead of x = 1 OR x = 2 OR x = 3, or split the query.",
            )
    if facts.kind == TEXT and (facts.length or 0) > _SHORT:
        made["characters"] += facts.length or 0
        if made["characters"] > _MOST_TEXT:
            raise QueryError(
                f"the texts of this query may have more than {_MOST_TEXT} characters in one row",
                position=position,
                sqlstate="54000",
                hint="Truncate them with LEFT(x, 100), or declare shorter lengths.",
            )


TypesDiffer = _Mismatch


class _TooLarge(Exception):
    """Bounds that an engine cannot hold."""


def _nullable(args: tuple[Node, ...]) -> bool:
    return any(arg.facts.nullable for arg in args)


def _numbers(name: str, args: tuple[Node, ...]) -> None:
    for arg in args:
        if arg.facts.kind not in (*NUMBERS, NULL):
            raise _Mismatch(f"{name} needs numbers, but was given {arg.facts.kind}")


def fit(facts: Facts) -> Facts:
    """Refuse exact numbers that could outgrow the engine."""
    if facts.exact and facts.bounded and facts.grid is not None and facts.largest / facts.grid > _LIMIT:
        raise _TooLarge
    return facts


def _widest(args: tuple[Node, ...]) -> str:
    kinds = {arg.facts.kind for arg in args}
    return DOUBLE if DOUBLE in kinds else DECIMAL if DECIMAL in kinds else INTEGER


def common_grid(*grids: Fraction | None) -> Fraction | None:
    """The coarsest grid that holds multiples of all: gcd of fractions."""
    known = [g for g in grids if g is not None]
    if len(known) < len(grids) or not known:
        return None
    result = known[0]
    for other in known[1:]:
        a, b = result, other
        while b:
            a, b = b, a % b
        result = a
    return result


def _exact_kind(args: tuple[Node, ...]) -> str:
    return INTEGER if all(arg.facts.kind in (INTEGER, NULL) for arg in args) else DECIMAL


def _sum_rule(sign: int) -> Callable[[tuple[Node, ...], str], Facts]:
    def rule(args: tuple[Node, ...], _: str) -> Facts:
        a, b = args[0].facts, args[1].facts
        if a.kind in TIMES or b.kind in TIMES:
            return _time_sum(args, sign)
        _numbers("arithmetic", args)
        if not (a.exact and b.exact):
            return Facts(DOUBLE, *_sum_ends(a, b, sign), None, _nullable(args))
        return fit(Facts(_exact_kind(args), *_sum_ends(a, b, sign), common_grid(a.grid, b.grid), _nullable(args)))

    return rule


def _sum_ends(a: Facts, b: Facts, sign: int) -> tuple[Fraction | None, Fraction | None]:
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return None, None
    return (a.low + b.low, a.high + b.high) if sign > 0 else (a.low - b.high, a.high - b.low)


def _time_sum(args: tuple[Node, ...], sign: int) -> Facts:
    """date ± whole days, date - date in days, and a difference with a timestamp, which is an interval."""
    a, b = args[0].facts, args[1].facts
    if a.kind in TIMES and b.kind in TIMES and sign < 0 and TIMESTAMP in (a.kind, b.kind):
        return difference(a, b, _nullable(args))
    if a.kind == DATE and b.kind == DATE and sign < 0:
        return Facts(INTEGER, *_sum_ends(a, b, sign), Fraction(1), _nullable(args))
    if a.kind == DATE and b.kind == INTEGER and b.bounded:
        low, high = _sum_ends(a, b, sign)
        first, last = Fraction(date(1, 1, 1).toordinal()), Fraction(date(9999, 12, 31).toordinal())
        if low is None or high is None or low < first or high > last:
            raise _Mismatch("a date plus days needs a date and days with declared bounds, within the years 1 to 9999")
        return Facts(DATE, low, high, Fraction(1), _nullable(args))
    raise _Mismatch("dates allow date + days, date - days and date - date")


def _multiply(args: tuple[Node, ...], _: str) -> Facts:
    _numbers("arithmetic", args)
    a, b = args[0].facts, args[1].facts
    low = high = None
    if a.low is not None and a.high is not None and b.low is not None and b.high is not None:
        ends = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
        low, high = min(ends), max(ends)
    if a.grid is None or b.grid is None:
        return Facts(DOUBLE, low, high, None, _nullable(args))
    return fit(Facts(_exact_kind(args), low, high, a.grid * b.grid, _nullable(args)))


def _divide(args: tuple[Node, ...], _: str) -> Facts:
    """Whole numbers: toward zero, as PostgreSQL does. Others: a double, without a grid. By zero: NULL."""
    _numbers("arithmetic", args)
    a, b = args[0].facts, args[1].facts
    nullable = _nullable(args) or not b.exact or b.low is None or b.high is None or b.low <= 0 <= b.high
    low = high = None
    if a.low is not None and a.high is not None:
        if _exact_kind(args) == INTEGER and a.exact and b.exact:
            # no divisor but zero makes a whole number larger in size
            low, high = -a.largest, a.largest
            if b.low is not None and b.low > 0 and b.high is not None:
                ends = [int(x / y) for x in (a.low, a.high) for y in (b.low, b.high)]
                low, high = Fraction(min(ends)), Fraction(max(ends))
        elif b.low is not None and b.high is not None and (b.low > 0 or b.high < 0):
            quotients = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]
            low, high = min(quotients), max(quotients)
    if _exact_kind(args) == INTEGER and a.exact and b.exact:
        return Facts(INTEGER, low, high, Fraction(1), nullable)
    return Facts(DOUBLE, low, high, None, nullable)


def _exact_numbers(name: str, args: tuple[Node, ...]) -> None:
    _numbers(name, args)
    if not all(arg.facts.exact for arg in args):
        raise _Mismatch(f"{name} needs exact numbers: whole numbers, or decimals with a declared grid")


def _not_zero(f: Facts) -> bool:
    """An exact number that is surely not zero."""
    return f.low is not None and f.high is not None and not f.low <= 0 <= f.high


def _modulo(args: tuple[Node, ...], _: str) -> Facts:
    """% and MOD: the rest has the sign of the dividend, and is smaller than the divisor."""
    _exact_numbers("%", args)
    a, b = args[0].facts, args[1].facts
    grid = common_grid(a.grid, b.grid)
    assert grid is not None
    sizes = [f.largest - less for f, less in ((a, Fraction(0)), (b, grid)) if f.bounded]
    low = high = None
    if sizes:
        most = max(Fraction(0), min(sizes))
        low = Fraction(0) if a.low is not None and a.low >= 0 else -most
        high = Fraction(0) if a.high is not None and a.high <= 0 else most
    return fit(Facts(_exact_kind(args), low, high, grid, _nullable(args) or not _not_zero(b)))


def _whole_quotient(args: tuple[Node, ...], _: str) -> Facts:
    """DIV: the quotient toward zero, a numeric in PostgreSQL."""
    _exact_numbers("div", args)
    a, b = args[0].facts, args[1].facts
    low = high = None
    if a.low is not None and a.high is not None:
        smallest = b.grid or Fraction(1)
        if b.low is not None and b.high is not None and _not_zero(b):
            smallest = min(abs(b.low), abs(b.high))
        most = Fraction(int(a.largest / smallest))
        signed = not (b.low is not None and b.low >= 0)
        low = Fraction(0) if a.low >= 0 and not signed else -most
        high = Fraction(0) if a.high <= 0 and not signed else most
    return fit(Facts(DECIMAL, low, high, Fraction(1), _nullable(args) or not _not_zero(b)))


def _negate(args: tuple[Node, ...], _: str) -> Facts:
    _numbers("-", args)
    f = args[0].facts
    return Facts(f.kind, None if f.high is None else -f.high, None if f.low is None else -f.low, f.grid, f.nullable)


def _absolute(args: tuple[Node, ...], _: str) -> Facts:
    _numbers("abs", args)
    f = args[0].facts
    if f.low is None or f.high is None:
        return Facts(f.kind, None, None, f.grid, f.nullable)
    low = Fraction(0) if f.low <= 0 <= f.high else min(abs(f.low), abs(f.high))
    return Facts(f.kind, low, f.largest, f.grid, f.nullable)


def _sign(args: tuple[Node, ...], _: str) -> Facts:
    _numbers("sign", args)
    return Facts(DECIMAL, Fraction(-1), Fraction(1), Fraction(1), args[0].facts.nullable)


def away(number: Fraction) -> int:
    """The nearest whole number, halves away from zero."""
    return int(abs(number) + Fraction(1, 2)) * (1 if number >= 0 else -1)


def _rounding(whole: Callable[[Fraction], int]) -> Callable[[tuple[Node, ...], str], Facts]:
    """round(x, digits), floor, ceil, trunc: onto a decimal grid. None of them lets one number overtake another.

    The result is never an integer in PostgreSQL: ROUND(n) / 2 does not cut.
    """

    def rule(args: tuple[Node, ...], extra: str) -> Facts:
        _numbers("rounding", args[:1])
        f = args[0].facts
        step = Fraction(10) ** -int(extra or 0)
        low = high = None
        if f.low is not None and f.high is not None:
            low, high = whole(f.low / step) * step, whole(f.high / step) * step
        grid = f.grid if f.exact and f.grid is not None and (f.grid / step).denominator == 1 else step
        return fit(Facts(DECIMAL, low, high, grid, f.nullable or not f.exact))

    return rule


def _outward(*ends: float) -> tuple[Fraction | None, Fraction | None]:
    """Bounds around doubles, with room for what the engine rounds; none where they are not finite."""
    if not all(map(math.isfinite, ends)):
        return None, None
    unit = 1 << 60
    low, high = Fraction(min(ends)), Fraction(max(ends))
    room = Fraction(1, 1 << 40)
    return (
        Fraction(math.floor((low - abs(low) * room) * unit), unit),
        Fraction(math.ceil((high + abs(high) * room) * unit), unit),
    )


def _curve(
    name: str, value: Callable[[float], float], least: Fraction | None = None, *, zero: bool = True
) -> Callable[[tuple[Node, ...], str], Facts]:
    """A double of one number that grows with it; below `least`, or at it where it may not be `zero`, NULL."""

    def rule(args: tuple[Node, ...], _: str) -> Facts:
        _numbers(name, args)
        f = args[0].facts
        low, high = f.low, f.high
        sure = f.exact and (least is None or (low is not None and (low > least or (zero and low == least))))
        if least is not None and low is not None and high is not None:
            low, high = (least, max(high, least)) if low < least else (low, high)
        ends: tuple[Fraction | None, Fraction | None] = (None, None)
        if low is not None and high is not None:
            try:
                ends = _outward(value(float(low)), value(float(high)))
            except (OverflowError, ValueError):
                sure = False
        return Facts(DOUBLE, *ends, None, f.nullable or not sure or ends[1] is None)

    return rule


def _logarithm(args: tuple[Node, ...], _: str) -> Facts:
    """log(base, x) = ln x / ln base; NULL where there is none."""
    _numbers("log", args)
    base, f = args[0].facts, args[1].facts
    sure = all(g.exact and g.low is not None and g.low > 0 for g in (base, f)) and not _holds(base, Fraction(1))
    low = high = None
    if sure and base.low == base.high and base.low is not None and f.low is not None and f.high is not None:
        try:
            low, high = _outward(*(math.log(float(x)) / math.log(float(base.low)) for x in (f.low, f.high)))
        except (OverflowError, ValueError, ZeroDivisionError):
            low = high = None
    return Facts(DOUBLE, low, high, None, _nullable(args) or not sure)


def _holds(f: Facts, number: Fraction) -> bool:
    return (f.low is None or f.low <= number) and (f.high is None or f.high >= number)


MOST_POWER = 8


def _power(args: tuple[Node, ...], _: str) -> Facts:
    """x to a written power from 1 to 8 is exact where x is exact and bounded; any other is a double, or NULL."""
    _numbers("power", args)
    f, power = args[0].facts, args[1]
    double = Facts(DOUBLE, nullable=True)
    if not isinstance(power, Constant) or not isinstance(power.value, int) or not 1 <= power.value <= MOST_POWER:
        return double
    if not f.exact or f.grid is None or f.low is None or f.high is None:
        return double
    k = power.value
    ends = (f.low**k, f.high**k)
    low = Fraction(0) if k % 2 == 0 and f.low <= 0 <= f.high else min(ends)
    facts = Facts(DECIMAL, low, max(ends), f.grid**k, f.nullable)
    return facts if facts.largest / f.grid**k <= _LIMIT else double


def bucket(x: Fraction, low: Fraction, high: Fraction, count: int) -> int:
    """PostgreSQL's width_bucket; where low is above high, the buckets are counted downward."""
    if low > high:
        x, low, high = -x, -low, -high
    return 0 if x < low else count + 1 if x >= high else int((x - low) * count / (high - low)) + 1


def written(args: tuple[Node, ...]) -> list[Fraction]:
    """The numbers that are written as arguments; none where one of them is not."""
    values = [arg.value for arg in args if isinstance(arg, Constant)]
    numbers = [Fraction(v) for v in values if isinstance(v, int | Fraction) and not isinstance(v, bool)]
    return numbers if len(numbers) == len(args) else []


def _width_bucket(args: tuple[Node, ...], _: str) -> Facts:
    """The number of the bucket: 0 below, count + 1 above."""
    _numbers("width_bucket", args)
    if len(args) != 4 or not written(args[1:]):
        raise _Mismatch("width_bucket needs a number, and literals for low, high and count")
    low, high, count = written(args[1:])
    if low == high or count.denominator != 1 or not 1 <= count <= _FARTHEST:
        raise _Mismatch(f"width_bucket needs two different bounds, and an integer count from 1 to {_FARTHEST}")
    f = args[0].facts
    ends = [0, int(count) + 1]
    if f.exact and f.low is not None and f.high is not None:
        ends = sorted(bucket(end, low, high, int(count)) for end in (f.low, f.high))
    return Facts(INTEGER, Fraction(ends[0]), Fraction(ends[1]), Fraction(1), f.nullable or not f.exact)


def _compare(args: tuple[Node, ...], _: str) -> Facts:
    a, b = args[0].facts.kind, args[1].facts.kind
    numbers, times = (*NUMBERS, NULL), (*TIMES, NULL)
    if not (a == b or NULL in (a, b) or (a in numbers and b in numbers) or (a in times and b in times)):
        raise _Mismatch(f"{a} cannot be compared with {b}")
    return Facts(BOOLEAN, nullable=_nullable(args))


def _among(args: tuple[Node, ...], _: str) -> Facts:
    """IN: the first is compared with each of the others."""
    for value in args[1:]:
        _compare((args[0], value), "")
    return Facts(BOOLEAN, nullable=_nullable(args))


def _logic(args: tuple[Node, ...], _: str) -> Facts:
    for arg in args:
        if arg.facts.kind not in (BOOLEAN, NULL):
            raise _Mismatch(f"a condition is needed here, but this is {arg.facts.kind}")
    return Facts(BOOLEAN, nullable=_nullable(args))


def _distinct(args: tuple[Node, ...], _: str) -> Facts:
    """IS DISTINCT FROM: two NULLs are alike, so this is never NULL."""
    _compare(args, "")
    return Facts(BOOLEAN, nullable=False)


def _is_null(_args: tuple[Node, ...], _: str) -> Facts:
    return Facts(BOOLEAN, nullable=False)


def union(facts: list[Facts], nullable: bool) -> Facts:
    """What holds of a value that is one of several."""
    known = [f for f in facts if f.kind != NULL]
    if not known:
        return Facts(NULL, nullable=True)
    kinds = {f.kind for f in known}
    if len(kinds) > 1 and not kinds <= set(NUMBERS) and not kinds <= set(TIMES):
        raise _Mismatch(f"these types cannot be combined: {', '.join(sorted(kinds))}")
    lows, highs = [f.low for f in known], [f.high for f in known]
    low = min(x for x in lows if x is not None) if None not in lows else None
    high = max(x for x in highs if x is not None) if None not in highs else None
    if kinds <= set(NUMBERS):
        exact = all(f.exact for f in known)
        kind = DOUBLE if not exact else INTEGER if kinds == {INTEGER} else DECIMAL
        return fit(Facts(kind, low, high, common_grid(*(f.grid for f in known)) if exact else None, nullable))
    lengths = [f.length for f in known]
    length = max(x for x in lengths if x is not None) if None not in lengths else None
    kind = TIMESTAMP if TIMESTAMP in kinds else kinds.pop()
    units = {f.every for f in known}
    every = AGE if AGE in units else units.pop() if len(units) == 1 else ""
    grid = known[0].grid if kind in (DATE, INTERVAL) else None
    return Facts(kind, low, high, grid, nullable, length, every=every)


def _case(args: tuple[Node, ...], _: str) -> Facts:
    """condition, value, condition, value, ..., default."""
    _logic(args[:-1:2], "")
    results = [*args[1:-1:2], args[-1]]
    return union([r.facts for r in results], any(r.facts.nullable for r in results))


def _coalesce(args: tuple[Node, ...], _: str) -> Facts:
    return union([a.facts for a in args], all(a.facts.nullable for a in args))


def _nullif(args: tuple[Node, ...], _: str) -> Facts:
    _compare(args, "")
    f = args[0].facts
    return Facts(f.kind, f.low, f.high, f.grid, True, f.length, every=f.every)


def _extreme(sign: int) -> Callable[[tuple[Node, ...], str], Facts]:
    """GREATEST (1) and LEAST (-1): NULLs are passed over, as in PostgreSQL; what is never NULL clamps the others."""

    def rule(args: tuple[Node, ...], _: str) -> Facts:
        facts = union([a.facts for a in args], all(a.facts.nullable for a in args))
        sure = [a.facts for a in args if not a.facts.nullable]
        near = [f.low if sign > 0 else f.high for f in sure]
        clamps = [end for end in near if end is not None]
        low, high = facts.low, facts.high
        if clamps and sign > 0:
            low = max(clamps) if low is None else max(low, *clamps)
        elif clamps:
            high = min(clamps) if high is None else min(high, *clamps)
        return fit(Facts(facts.kind, low, high, facts.grid, facts.nullable, facts.length, every=facts.every))

    return rule


def _shift(args: tuple[Node, ...], extra: str) -> Facts:
    """A date or a timestamp and an interval: a timestamp; NULL beyond the years 1 to 9999."""
    f, span = args[0].facts, intervals.stored(extra)
    if f.kind not in TIMES:
        raise _Mismatch(f"an interval can only be added to a date or a timestamp, but this is {f.kind}")
    first, last = intervals.FIRST, intervals.LAST
    clock = intervals.DAY - 1 if f.kind == TIMESTAMP else 0
    low = intervals.later_day(first if f.low is None else int(f.low), span)
    high = intervals.later_day(last if f.high is None else int(f.high), span, clock)
    if high < first or low > last:
        raise _Mismatch("the result is outside the years 1 to 9999")
    inside = first <= low and high <= last
    return Facts(TIMESTAMP, Fraction(max(low, first)), Fraction(min(high, last)), None, f.nullable or not inside)


def _text(args: tuple[Node, ...], _: str) -> Facts:
    f = args[0].facts
    if f.kind not in (TEXT, NULL):
        raise _Mismatch(f"text is needed here, but this is {f.kind}")
    return Facts(TEXT, nullable=_nullable(args), length=0 if f.kind == NULL else f.length)


def _cased(args: tuple[Node, ...], _: str) -> Facts:
    """Changing the case of one character may give up to three (ß, ŉ)."""
    facts = _text(args, "")
    return Facts(TEXT, nullable=facts.nullable, length=None if facts.length is None else 3 * facts.length)


def _length(args: tuple[Node, ...], _: str) -> Facts:
    f = _text(args, "")
    high = None if f.length is None else Fraction(f.length)
    return Facts(INTEGER, Fraction(0), high, Fraction(1), f.nullable)


def _substring(args: tuple[Node, ...], _: str) -> Facts:
    for arg in args[1:]:
        if not isinstance(arg, Constant) or not isinstance(arg.value, int) or not 0 <= arg.value <= _FARTHEST:
            raise _Mismatch(f"substring needs integer literals from 0 to {_FARTHEST} for its position and length")
    return _text(args[:1], "")


def _side(args: tuple[Node, ...], _: str) -> Facts:
    """left(s, n) and right(s, n): at most n characters."""
    number = args[1].value if isinstance(args[1], Constant) else None
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= _FARTHEST:
        raise _Mismatch(f"left and right need an integer literal from 0 to {_FARTHEST}")
    f = _text(args[:1], "")
    return Facts(TEXT, nullable=f.nullable, length=number if f.length is None else min(number, f.length))


def _written_text(arg: Node, longest: int) -> str:
    if not isinstance(arg, Constant) or not isinstance(arg.value, str) or len(arg.value) > longest:
        raise _Mismatch(f"a text literal of at most {longest} characters is needed here")
    return arg.value


def _trim(args: tuple[Node, ...], _: str) -> Facts:
    """Blanks, or written characters, taken from one side or both."""
    for arg in args[1:]:
        _written_text(arg, 100)
    return _text(args[:1], "")


def _replace(args: tuple[Node, ...], _: str) -> Facts:
    """Each place of a written text by another one: the length grows by a known factor at most."""
    f, old, new = _text(args[:1], ""), _written_text(args[1], 1000), _written_text(args[2], 1000)
    if f.length is None:
        raise _Mismatch("replace needs text of declared length")
    length = f.length
    if old:
        length = max(length, length // len(old) * len(new) + length % len(old))
    if length > _LONGEST:
        raise _Mismatch(f"this could produce a text of more than {_LONGEST} characters")
    return Facts(TEXT, nullable=f.nullable, length=length)


def _position(args: tuple[Node, ...], _: str) -> Facts:
    """strpos(s, part): 0 where it is not found; the empty text is found at 1."""
    f, _part = _text(args[:1], ""), _text(args[1:], "")
    high = None if f.length is None else Fraction(max(f.length, 1))
    return Facts(INTEGER, Fraction(0), high, Fraction(1), _nullable(args))


def _starts_with(args: tuple[Node, ...], _: str) -> Facts:
    for arg in args:
        _text((arg,), "")
    return Facts(BOOLEAN, nullable=_nullable(args))


def _regular(args: tuple[Node, ...], _: str) -> Facts:
    """x ~ pattern, for the patterns by which PostgreSQL and the engine mean the same."""
    _text(args[:1], "")
    why = patterns.problem(_written_text(args[1], patterns.LONGEST))
    if why is not None:
        raise _Mismatch(f"this regular expression is not supported: {why}")
    return Facts(BOOLEAN, nullable=_nullable(args))


def _added(args: tuple[Node, ...]) -> int:
    """The length of texts one after the other."""
    lengths = [_text((arg,), "").length for arg in args]
    length = sum(x for x in lengths if x is not None) if None not in lengths else None
    if length is None or length > _LONGEST:
        raise _Mismatch("|| needs text of declared length")
    return length


def _concat(args: tuple[Node, ...], _: str) -> Facts:
    return Facts(TEXT, nullable=_nullable(args), length=_added(args))


def _concat_known(args: tuple[Node, ...], _: str) -> Facts:
    """concat(a, b, …): NULLs are passed over."""
    return Facts(TEXT, nullable=False, length=_added(args))


def _like(args: tuple[Node, ...], _: str) -> Facts:
    if not isinstance(args[1], Constant) or not isinstance(args[1].value, str) or len(args[1].value) > 1000:
        raise _Mismatch("LIKE needs a literal pattern of at most 1000 characters")
    if (len(args[1].value) - len(args[1].value.rstrip("\\"))) % 2:
        raise _Mismatch("a LIKE pattern cannot end with a single backslash")
    _text(args[:1], "")
    return Facts(BOOLEAN, nullable=_nullable(args))


def _geo_cell(args: tuple[Node, ...], extra: str) -> Facts:
    """The name of the cell that holds a point; `points` writes the grid into `extra`."""
    _exact_numbers("geo_cell", args)
    if len(args) != 2 or not extra:
        raise _Mismatch("geo_cell needs a latitude, a longitude and a literal side in metres")
    return Facts(TEXT, nullable=_nullable(args), length=geo_cells.longest_name(geo_cells.read(extra)))


def _cast(args: tuple[Node, ...], extra: str) -> Facts:
    """What does not fit, or does not read as the type, is NULL."""
    f = args[0].facts
    word, numbers = target(extra)
    rule = _CASTS.get((_family(f.kind), word))
    if f.kind == NULL:
        return f
    if rule is None:
        raise _Mismatch(f"a cast from {f.kind} to {extra} is not supported")
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
        raise _Mismatch("this number is out of range for its type")
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
        raise _Mismatch("numeric(p, s) needs p from 1 to 30, and s from 0 to 12 and at most p")
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
            raise _Mismatch("a cast to text is supported for whole numbers, not for decimals")
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
        raise _Mismatch(f"a cast from {f.kind} to boolean is not supported")
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


FUNCTIONS: dict[str, Callable[[tuple[Node, ...], str], Facts]] = {
    "+": _sum_rule(1),
    "-": _sum_rule(-1),
    "*": _multiply,
    "/": _divide,
    "%": _modulo,
    "negate": _negate,
    "abs": _absolute,
    "sign": _sign,
    "round": _rounding(away),
    "floor": _rounding(math.floor),
    "ceil": _rounding(math.ceil),
    "trunc": _rounding(math.trunc),
    "div": _whole_quotient,
    "ln": _curve("ln", math.log, Fraction(0), zero=False),
    "log10": _curve("log10", math.log10, Fraction(0), zero=False),
    "log": _logarithm,
    "exp": _curve("exp", math.exp),
    "sqrt": _curve("sqrt", math.sqrt, Fraction(0)),
    "cbrt": _curve("cbrt", math.cbrt),
    "power": _power,
    "width_bucket": _width_bucket,
    "=": _compare,
    "<>": _compare,
    "<": _compare,
    "<=": _compare,
    ">": _compare,
    ">=": _compare,
    "in": _among,
    "and": _logic,
    "or": _logic,
    "not": _logic,
    "is null": _is_null,
    "is distinct from": _distinct,
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "greatest": _extreme(1),
    "least": _extreme(-1),
    **TIME_FUNCTIONS,
    **TEXT_FUNCTIONS,
    **END_FUNCTIONS,
    "shift": _shift,
    "lower": _cased,
    "upper": _cased,
    "trim": _trim,
    "length": _length,
    "substring": _substring,
    "left": _side,
    "right": _side,
    "reverse": _text,
    "replace": _replace,
    "strpos": _position,
    "starts_with": _starts_with,
    "||": _concat,
    "concat": _concat_known,
    "like": _like,
    "ilike": _like,
    "regexp_like": _regular,
    "cast": _cast,
    "geo_cell": _geo_cell,
}
"""Every function by name, with the rule for what is known of its value."""
