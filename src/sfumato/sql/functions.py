"""The functions that may stand below the cut: each total, bounded in cost and size, with what is known of its value.

Comes in: arguments with their facts. Goes out: a Call with its own facts, or a refusal. `emit` has a spelling for each
name here. An operation that PostgreSQL would fail on gives NULL instead (a division by zero, a cast that does not fit):
an error would tell whether a row was there.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from fractions import Fraction

from sfumato.errors import QueryError
from sfumato.sql.tree import (
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
    Call,
    Constant,
    Facts,
    Node,
)

_FARTHEST = 1_000_000
_LIMIT = Fraction(1 << 100)
"""Beyond this many steps of the grid an intermediate number might not fit into the engine's 127 bits."""


def call(name: str, args: tuple[Node, ...], extra: str = "", position: int = 0) -> Call:
    """A function applied: its facts are inferred, or it is refused with the place in the text."""
    rule = FUNCTIONS.get(name)
    if rule is None:
        raise QueryError(
            f"function {name} is not supported", position=position, hint=f"Supported: {', '.join(sorted(FUNCTIONS))}."
        )
    try:
        facts = rule(args, extra)
    except _Mismatch as mismatch:
        raise QueryError(str(mismatch), position=position, sqlstate="42883") from None
    except _TooLarge:
        raise QueryError(
            "the numbers of this expression may grow beyond 100 bits",
            position=position,
            hint="Declare narrower bounds, or compute with smaller numbers.",
        ) from None
    return Call(name, args, facts, extra, position)


class _Mismatch(Exception):
    """Types that do not go together."""


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
    """date ± whole days, and date - date in days."""
    a, b = args[0].facts, args[1].facts
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
    nullable = _nullable(args) or b.low is None or b.high is None or b.low <= 0 <= b.high
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


def _modulo(args: tuple[Node, ...], _: str) -> Facts:
    a, b = args[0].facts, args[1].facts
    if a.kind != INTEGER or b.kind != INTEGER:
        raise _Mismatch("% needs whole numbers")
    low = high = None
    if b.bounded:
        most = max(Fraction(0), b.largest - 1)
        low = Fraction(0) if a.low is not None and a.low >= 0 else -most
        high = Fraction(0) if a.high is not None and a.high <= 0 else most
    sure = b.low is not None and b.high is not None and not b.low <= 0 <= b.high
    return Facts(INTEGER, low, high, Fraction(1), _nullable(args) or not sure)


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
    return Facts(INTEGER, Fraction(-1), Fraction(1), Fraction(1), args[0].facts.nullable)


def _rounded(args: tuple[Node, ...], extra: str) -> Facts:
    """round(x, digits), floor, ceil: onto a decimal grid; what was bounded stays bounded, one step outward."""
    _numbers("rounding", args[:1])
    f = args[0].facts
    step = Fraction(10) ** -int(extra or 0)
    kind = INTEGER if f.kind == INTEGER or step >= 1 else DECIMAL
    low, high = (None, None) if f.low is None or f.high is None else (f.low // step * step, -(-f.high // step) * step)
    return fit(Facts(kind, low, high, step if kind == DECIMAL else max(step, Fraction(1)), f.nullable))


def _compare(args: tuple[Node, ...], _: str) -> Facts:
    a, b = args[0].facts.kind, args[1].facts.kind
    numbers, times = (*NUMBERS, NULL), (*TIMES, NULL)
    if not (a == b or NULL in (a, b) or (a in numbers and b in numbers) or (a in times and b in times)):
        raise _Mismatch(f"{a} cannot be compared with {b}")
    return Facts(BOOLEAN, nullable=_nullable(args))


def _logic(args: tuple[Node, ...], _: str) -> Facts:
    for arg in args:
        if arg.facts.kind not in (BOOLEAN, NULL):
            raise _Mismatch(f"a condition is needed here, but this is {arg.facts.kind}")
    return Facts(BOOLEAN, nullable=_nullable(args))


def _is_null(_args: tuple[Node, ...], _: str) -> Facts:
    return Facts(BOOLEAN, nullable=False)


def union(facts: list[Facts], nullable: bool) -> Facts:
    """What holds of a value that is one of several."""
    known = [f for f in facts if f.kind != NULL]
    if not known:
        return Facts(NULL, nullable=True)
    kinds = {f.kind for f in known}
    if len(kinds) > 1 and not kinds <= set(NUMBERS) and not kinds <= set(TIMES):
        raise _Mismatch(f"these cannot stand for one another: {', '.join(sorted(kinds))}")
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
    return Facts(kind, low, high, Fraction(1) if kind == DATE else None, nullable, length)


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
    return Facts(f.kind, f.low, f.high, f.grid, True, f.length)


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
        return fit(Facts(facts.kind, low, high, facts.grid, facts.nullable, facts.length))

    return rule


_PARTS: dict[str, tuple[int, int]] = {
    "month": (1, 12),
    "day": (1, 31),
    "quarter": (1, 4),
    "dow": (0, 6),
    "isodow": (1, 7),
    "doy": (1, 366),
    "week": (1, 53),
    "hour": (0, 23),
    "minute": (0, 59),
}


def _extract(args: tuple[Node, ...], extra: str) -> Facts:
    f = args[0].facts
    if f.kind not in TIMES:
        raise _Mismatch(f"extract needs a date or a timestamp, but was given {f.kind}")
    if extra in _PARTS:
        low, high = _PARTS[extra]
        return Facts(INTEGER, Fraction(low), Fraction(high), Fraction(1), f.nullable)
    if extra != "year":
        raise _Mismatch(f"extract knows year, {', '.join(_PARTS)}, but not {extra}")
    if f.low is None or f.high is None:
        return Facts(INTEGER, None, None, Fraction(1), f.nullable)
    low, high = (date.fromordinal(int(end)).year for end in (f.low, f.high))
    return Facts(INTEGER, Fraction(low), Fraction(high), Fraction(1), f.nullable)


def _date_trunc(args: tuple[Node, ...], extra: str) -> Facts:
    f = args[0].facts
    if f.kind not in TIMES:
        raise _Mismatch(f"date_trunc needs a date or a timestamp, but was given {f.kind}")
    if extra not in ("year", "quarter", "month", "week", "day"):
        raise _Mismatch(f"date_trunc knows year, quarter, month, week and day, but not {extra}")
    low = None if f.low is None else max(f.low - 366, Fraction(1))
    return Facts(DATE, low, f.high, Fraction(1), f.nullable)


def _text(args: tuple[Node, ...], _: str) -> Facts:
    f = args[0].facts
    if f.kind not in (TEXT, NULL):
        raise _Mismatch(f"text is needed here, but this is {f.kind}")
    return Facts(TEXT, nullable=_nullable(args), length=f.length)


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
            raise _Mismatch(f"substring needs written whole numbers from 0 to {_FARTHEST} for its place and length")
    return _text(args[:1], "")


def _concat(args: tuple[Node, ...], _: str) -> Facts:
    lengths = [_text((arg,), "").length for arg in args]
    length = sum(x for x in lengths if x is not None) if None not in lengths else None
    if length is None or length > 100_000:
        raise _Mismatch("|| needs text of declared length")
    return Facts(TEXT, nullable=_nullable(args), length=length)


def _like(args: tuple[Node, ...], _: str) -> Facts:
    if not isinstance(args[1], Constant) or not isinstance(args[1].value, str) or len(args[1].value) > 1000:
        raise _Mismatch("LIKE needs a written pattern of at most 1000 characters")
    if (len(args[1].value) - len(args[1].value.rstrip("\\"))) % 2:
        raise _Mismatch("a LIKE pattern cannot end with a single backslash")
    _text(args[:1], "")
    return Facts(BOOLEAN, nullable=_nullable(args))


def _cast(args: tuple[Node, ...], extra: str) -> Facts:
    """To integer (rounded), text or date; what does not fit is NULL."""
    f = args[0].facts
    if extra == INTEGER and f.kind in (*NUMBERS, BOOLEAN):
        low, high = (Fraction(0), Fraction(1)) if f.kind == BOOLEAN else (None, None)
        if f.low is not None and f.high is not None:
            low, high = Fraction(f.low // 1), Fraction(-(-f.high // 1))
        return fit(Facts(INTEGER, low, high, Fraction(1), f.nullable or not f.exact))
    if extra == DOUBLE and f.kind in NUMBERS:
        return Facts(DOUBLE, f.low, f.high, None, f.nullable)
    if extra == DATE and f.kind in TIMES:
        return Facts(DATE, f.low, f.high, Fraction(1), f.nullable)
    if extra == f.kind:
        return f
    raise _Mismatch(f"a cast from {f.kind} to {extra} is not supported")


FUNCTIONS: dict[str, Callable[[tuple[Node, ...], str], Facts]] = {
    "+": _sum_rule(1),
    "-": _sum_rule(-1),
    "*": _multiply,
    "/": _divide,
    "%": _modulo,
    "negate": _negate,
    "abs": _absolute,
    "sign": _sign,
    "round": _rounded,
    "floor": _rounded,
    "ceil": _rounded,
    "=": _compare,
    "<>": _compare,
    "<": _compare,
    "<=": _compare,
    ">": _compare,
    ">=": _compare,
    "and": _logic,
    "or": _logic,
    "not": _logic,
    "is null": _is_null,
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "greatest": _extreme(1),
    "least": _extreme(-1),
    "extract": _extract,
    "date_trunc": _date_trunc,
    "lower": _cased,
    "upper": _cased,
    "trim": _text,
    "length": _length,
    "substring": _substring,
    "||": _concat,
    "like": _like,
    "cast": _cast,
}
"""Every function by name, with the rule for what is known of its value."""
