"""Decades, centuries and millennia: parts of dates and of intervals, and where they begin.

Comes in: a unit and the bound date, timestamp or interval. Goes out: what EXTRACT and date_trunc give, or None where
the unit is another one. A calendar counts centuries from its first year, and every year here is after Christ; an
interval counts them from zero: of 13 months the century is 0.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.algebra import interval_values as intervals
from sfumato.algebra.functions import call
from sfumato.algebra.tree import INTERVAL, Call, Node, size
from sfumato.errors import QueryError
from sfumato.sql.bind.casts_and_times import converted, span_of
from sfumato.sql.bind.constants import constant

_MOST_NODES = 10_000
"""Nodes of a time that is written twice."""
_BEFORE = {"decade": 0, "century": 99, "millennium": 999}
"""Years by which those of a calendar are counted later than from zero."""


def part(word: str, value: Node, at: int) -> Node | None:
    """EXTRACT(decade FROM value) and its kin."""
    if word not in intervals.YEARS:
        return None
    years = intervals.YEARS[word]
    if value.facts.kind == INTERVAL:
        if not isinstance(value, Call) or value.name != "age":
            raise QueryError(f"the {word} is known only of a written interval and of age()", position=at)
        return call("div", (call("age_part", value.args, "year", at), constant(years, at)), "", at)
    counted = call("+", (call("extract", (value,), "year", at), constant(_BEFORE[word], at)), "", at)
    return call("floor", (call("*", (counted, constant(Fraction(1, years), at)), "", at),), "", at)


def begun(word: str, value: Node, at: int) -> Node | None:
    """date_trunc('decade', value) and its kin; every unit of a written interval."""
    if value.facts.kind == INTERVAL:
        span = span_of(value)
        if span is None:
            hint = "Truncate one of the times, or use EXTRACT."
            raise QueryError("date_trunc of an interval needs a literal", position=at, sqlstate="22023", hint=hint)
        start = intervals.truncated(span, word)
        if start is None:
            raise QueryError(f'unit "{word}" not supported for type interval', position=at, sqlstate="22023")
        return constant(start, at)
    if word not in intervals.YEARS:
        return None
    if 2 * size(value) > _MOST_NODES:
        raise QueryError("this query is too long when its functions are written out", position=at, sqlstate="54001")
    year = call("extract", (value,), "year", at)
    passed = call("+", (year, constant(_BEFORE[word], at)), "", at)
    over = call("%", (passed, constant(intervals.YEARS[word], at)), "", at)
    first = converted(call("-", (year, over), "", at), "int4", at)
    return call("make_date", (first, constant(1, at), constant(1, at)), "", at)
