"""Among which values MIN, MAX, percentiles and MODE choose, where not every step of the grid is one.

Comes in: an aggregate, and the relation that it is over. Goes out: the places of the values that its argument can have.
A truncated date has the first days of months, FLOOR(x / 10) * 10 every tenth number, a CASE those in its branches. From
declared domains alone: no row is read.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from sfumato.algebra.aggregates import order
from sfumato.algebra.calendar_units import CLOCK, days
from sfumato.algebra.group_keys import image
from sfumato.algebra.public_rows import PublicRows
from sfumato.algebra.relations import Relation
from sfumato.algebra.tree import BOOLEAN, DATE, TIMESTAMP, Aggregate, Column, Facts, Node

_MOST = 20_000
"""Combinations of declared values that are gone through; of more, a choice is made among all steps of the grid."""
_DAY = 86_400
_BETWEEN = ("median", "percentile_cont")
"""These may be numbers between two values."""


def steps_of(aggregate: Aggregate, relation: Relation, rows: PublicRows) -> tuple[int, ...]:
    """The places of the values that the argument can have, increasing; none where these are all places.

    Guarantee: whatever the rows are, the place of each value of the argument is among them.
    Proof: an expression is a function of its columns, and all values of these that the policy admits are gone through;
        a column of first moments of a unit has no others (`Facts.every`).
    Reference: semantics 3.5.
    Checked by: laws::every_value_of_an_argument_is_a_step
    """
    arg = aggregate.arg
    assert arg is not None
    low, high = order.candidates(aggregate)
    if aggregate.name in _BETWEEN or (aggregate.name == "mode" and _is_listed(arg.facts)):
        return ()
    places = _firsts(arg.facts, low, high) if isinstance(arg, Column) else _image(arg, relation, rows)
    if places is None:
        return ()
    found = tuple(sorted({place for place in places if low <= place <= high}))
    return found if len(found) < high - low + 1 else ()


def _is_listed(facts: Facts) -> bool:
    return facts.kind == BOOLEAN or facts.values is not None


def _image(arg: Node, relation: Relation, rows: PublicRows) -> list[int] | None:
    """The places of all values of an expression."""
    values = image(arg, relation, rows, _MOST)
    return None if values is None else [_place(value) for value in values]


def _place(value: Any) -> int:
    """A moment by its second, a day by its number, a number by its steps."""
    if isinstance(value, datetime):
        return (value - datetime(1, 1, 1)) // timedelta(seconds=1)  # noqa: DTZ001  times have no zone here
    return value.toordinal() if isinstance(value, date) else int(value)


def _firsts(facts: Facts, low: int, high: int) -> list[int] | None:
    """The first moments of a unit, for a column that has no others."""
    unit = facts.every
    if facts.kind == DATE and unit not in ("", "day"):
        return [day.toordinal() for day in days(unit, date.fromordinal(low), date.fromordinal(high))]
    if facts.kind != TIMESTAMP or unit in ("", "second"):
        return None
    if unit in CLOCK:
        size = CLOCK[unit]
        return list(range(-(-low // size) * size, high + 1, size)) if (high - low) // size < _MOST else None
    first, last = (date.fromordinal(end // _DAY + 1) for end in (low, high))
    return [(day.toordinal() - 1) * _DAY for day in days(unit, first, last)]
