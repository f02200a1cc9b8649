"""What conditions leave of a key's range, and how finely a key looks at a timestamp.

Comes in: keys, and conditions that every row fulfils. Goes out: narrower bounds of columns, and the unit of the
calendar that decides a key's value. Conditions only ever leave out values that no row has: a list of keys may be too
long, never too short.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from fractions import Fraction

from sfumato.algebra.calendar_units import CLOCK
from sfumato.algebra.functions import FUNCTIONS, call
from sfumato.algebra.functions.times import FORMATS, pieces
from sfumato.algebra.interval_values import DAY, stored
from sfumato.algebra.tree import DATE, TIMESTAMP, Call, Column, Constant, Facts, Node, children

FINER = ("day", "hour", "minute", "second")
"""From the coarsest to the finest unit by which timestamps are listed."""
_DAYS = ("year", "isoyear", "quarter", "month", "week", "day", "dow", "isodow", "doy")
_PARTS = {**dict.fromkeys(_DAYS, "day"), "hour": "hour", "minute": "minute"}
"""The unit that decides a part of a timestamp. Of a part that is not named here every moment counts."""
_DATES = [
    "YYYY", "YY", "MM", "DD", "DDD", "IW", "IYYY", "Q", "D", "ID", "Dy", "DY", "dy", "Mon", "MON", "mon",
    "Day", "DAY", "day", "Month", "MONTH", "month", "WW", "W",
]  # fmt: skip
_WORDS = {
    **dict.fromkeys(_DATES, "day"),
    **dict.fromkeys(("HH24", "HH12", "HH", "AM", "PM", "am", "pm"), "hour"),
    "MI": "minute",
    **dict.fromkeys(("SS", "SSSS", "SSSSS"), "second"),
}
"""The same of the words of to_char."""
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_TICK = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  times have no zone here


@dataclass(frozen=True)
class Range:
    """What is left of a column: its facts, and of a timestamp the first and the last moment."""

    facts: Facts
    first: datetime | None = None
    last: datetime | None = None


def narrowed(column: Column, known: Iterable[Node]) -> Range:
    """The column under conditions that compare it, bare, with a constant.

    Guarantee: no row that fulfils the conditions has a value outside.
    Proof: a row for which col < c holds has a value, and one below c; so for the other comparisons. Bounds of days take
        the day of c itself in.
    Reference: semantics 3.6a.
    Checked by: laws::no_row_is_outside_of_the_list_of_its_key
    """
    facts = column.facts
    if facts.low is None or facts.high is None:
        return Range(facts)
    moments: tuple[datetime | None, datetime | None] = _ends(facts) if facts.kind == TIMESTAMP else (None, None)
    low, high, nullable = facts.low, facts.high, facts.nullable
    for sign, value in _comparisons(column, known):
        nullable = False
        place = _place(value)
        if place is None:
            continue
        low = max(low, place) if sign in (">", ">=", "=") else low
        high = min(high, place) if sign in ("<", "<=", "=") else high
        moments = _moments(moments, sign, value)
    if low > high:  # nothing is left: one value too many is no harm
        low = high = min(max(low, facts.low), facts.high)
    if facts.grid is not None:  # whole steps, outward
        low, high = low // facts.grid * facts.grid, -(-high // facts.grid) * facts.grid
        low, high = max(low, facts.low), min(high, facts.high)
    return Range(replace(facts, low=low, high=high, nullable=nullable), *moments)


def _ends(facts: Facts) -> tuple[datetime, datetime]:
    assert facts.low is not None
    assert facts.high is not None
    first, last = (datetime.combine(date.fromordinal(int(end)), time()) for end in (facts.low, facts.high))
    return first, last + timedelta(microseconds=DAY - 1)


def _moments(
    ends: tuple[datetime | None, datetime | None], sign: str, value: object
) -> tuple[datetime | None, datetime | None]:
    first, last = ends
    if first is None or last is None or not isinstance(value, date):
        return ends
    at = value if isinstance(value, datetime) else datetime.combine(value, time())
    if sign in (">", ">=", "="):
        first = max(first, at)
    if sign in ("<", "<=", "="):
        last = min(last, at - _TICK if sign == "<" and at > first else at)
    return first, last


def _comparisons(column: Column, known: Iterable[Node]) -> Iterable[tuple[str, object]]:
    for part in known:
        if not isinstance(part, Call) or part.name not in _TURNED:
            continue
        left, right = part.args
        if isinstance(left, Constant):
            left, right, sign = right, left, _TURNED[part.name]
        else:
            sign = part.name
        if isinstance(left, Column) and left.name == column.name and isinstance(right, Constant):
            yield sign, right.value


def _place(value: object) -> Fraction | None:
    """Where a constant stands among bounds: a number, or the number of its day."""
    if isinstance(value, date):
        return Fraction(value.toordinal())
    return Fraction(value) if isinstance(value, int | Fraction) and not isinstance(value, bool) else None


def with_ranges(node: Node, ranges: dict[str, Range]) -> Node:
    """The expression over narrower columns: what is known of it is worked out again.

    Guarantee: no row whose columns are in their ranges gives the expression a value outside of its facts.
    Proof: facts of a timestamp are whole days, and every function's facts hold for all moments of these days. Seconds
        since 1970 grow with the moment, so that those of the first and of the last one are their ends.
    Reference: semantics 3.6a.
    Checked by: laws::no_row_is_outside_of_the_list_of_its_key
    """
    if isinstance(node, Column) and node.name in ranges:
        return replace(node, facts=ranges[node.name].facts)
    if not isinstance(node, Call) or node.name not in FUNCTIONS:
        return node
    made = call(node.name, tuple(with_ranges(arg, ranges) for arg in node.args), node.extra, node.position)
    inner = made.args[0] if isinstance(made, Call) and made.name == "extract" and made.extra == "epoch" else None
    left = ranges.get(inner.name) if isinstance(inner, Column) and inner.facts.kind == TIMESTAMP else None
    if left is None or left.first is None or left.last is None or left.first > left.last:
        return made
    low, high = (Fraction((end - _EPOCH) // _TICK, 10**6) for end in (left.first, left.last))
    return replace(made, facts=replace(made.facts, low=low, high=high))


# how finely a key looks at a timestamp
def grain(node: Node, column: str) -> str | None:
    """The coarsest unit in which a timestamp column decides the value of a node; None where every moment counts.

    Guarantee: two moments of the same unit give the node the same value.
    Proof: date_trunc, a cast to a day and the parts of a date are functions of the day, or of the hour or minute that
        they name; a bin whose width and start are whole units holds whole units; a function of such is one. A time that
        is moved by whole units, or by one of several such moves that comparisons with first moments of units choose
        (AT TIME ZONE), moves the moments of one unit into one unit.
    Reference: semantics 3.6a.
    Checked by: laws::a_key_is_a_function_of_its_grain
    """
    if isinstance(node, Column):
        if node.name != column:
            return "day"
        return (node.facts.every if node.facts.every in CLOCK else "day") if node.facts.every else None
    if isinstance(node, Call) and len(node.args) == 1:
        inner = node.args[0]
        if (
            isinstance(inner, Column)
            and inner.name == column
            and inner.facts.kind == TIMESTAMP
            and not inner.facts.every
        ):
            return _own(node)
        moved = None if isinstance(inner, Column) else _moved(inner, column)
        if moved is not None:
            own = _own(node)
            return None if own is None else finest((own, moved))
    return finest(grain(child, column) for child in children(node))


def _moved(node: Node, column: str) -> str | None:
    """The coarsest unit of which all moments of the column are moved into one; None where it is not known."""
    if isinstance(node, Column):
        return "day" if node.name == column and node.facts.kind == TIMESTAMP and not node.facts.every else None
    if not isinstance(node, Call):
        return None
    if node.name == "shift":
        return finest((_moved(node.args[0], column), _whole(stored(node.extra).microseconds)))
    if node.name != "case" or len(node.args) % 2 == 0:
        return None
    tests, values = node.args[:-1:2], (*node.args[1::2], node.args[-1])
    return finest([*(_chosen(test, column) for test in tests), *(_moved(value, column) for value in values)])


def _chosen(test: Node, column: str) -> str | None:
    """The coarsest unit whose moments are all before a written one, or all not."""
    if not isinstance(test, Call) or test.name not in ("<", ">="):
        return None
    left, right = test.args
    if not isinstance(right, Constant) or not isinstance(right.value, date):
        return None
    clock = datetime.combine(right.value, time()) if not isinstance(right.value, datetime) else right.value
    passed = (clock - datetime.combine(clock.date(), time())) // _TICK
    return finest((_moved(left, column), _whole(passed)))


def _whole(microseconds: int) -> str | None:
    """The coarsest unit of which this is a whole number."""
    sizes = (("day", DAY), *((unit, CLOCK[unit] * 10**6) for unit in FINER[1:]))
    return next((unit for unit, size in sizes if microseconds % size == 0), None)


def finest(units: Iterable[str | None]) -> str | None:
    """The finest of several units; None where one of them is None."""
    found = list(units)
    if any(unit is None for unit in found):
        return None
    return max((unit for unit in found if unit is not None), key=FINER.index, default="day")


def _own(node: Call) -> str | None:  # noqa: PLR0911  one answer for each function
    """The unit of a function of a bare timestamp."""
    if node.name == "is null":
        return "day"
    if node.name == "date_trunc":
        return node.extra if node.extra in CLOCK else "day"
    if node.name == "cast":
        return "day" if node.facts.kind == DATE else None
    if node.name == "extract":
        return _PARTS.get(node.extra)
    if node.name == "to_char":
        words = [part.removeprefix("FM") for part in pieces(node.extra) or []]
        return finest(_WORDS.get(word) for word in words if word in FORMATS)
    if node.name == "date_bin":
        width, origin = map(int, node.extra.split())
        sizes = (("day", DAY), *((unit, size * 10**6) for unit, size in CLOCK.items()))
        return next((unit for unit, size in sizes if width % size == 0 and origin % size == 0), None)
    return None
