"""Dates and timestamps as PostgreSQL's SQL: nothing leaves the years that its types hold.

Comes in: calls over dates and timestamps of the years 1 to 9999, which the scan sees to. Goes out: text.
"""

from __future__ import annotations

from datetime import date

from sfumato.algebra import interval_values as intervals
from sfumato.algebra.tree import DATE, Call
from sfumato.engines.postgres.spelling import once
from sfumato.errors import QueryError

_EARLIEST, _LATEST = -4000 * 366, 200_000 * 365
"""Days from the year 1 on that a timestamp of the server surely holds."""


def arithmetic(node: Call, a: str, b: str) -> str:
    """A date and days, or the days between two dates; the bounds of both are known."""
    if node.facts.kind != DATE:
        return f"({a} - {b})::bigint"
    if node.args[0].facts.kind != DATE:
        a, b = b, a
    return f"({a} {node.name} ({b})::int)"


def shift(node: Call, x: str) -> str:
    """Months, then days, then the clock; beyond the years 1 to 9999 NULL.

    The server adds them one after the other, and each stage must stay within what it holds: what leaves that far is
    refused where bounds say so, for nothing that comes after it can be told from a row that was there.
    """
    span, facts = intervals.stored(node.extra), node.args[0].facts
    low = intervals.FIRST if facts.low is None else int(facts.low)
    high = intervals.LAST if facts.high is None else int(facts.high)
    months = sorted((span.months * 28, span.months * 31))
    stages = [months, [months[0] + span.days, months[1] + span.days]]
    clock = span.microseconds // intervals.DAY
    stages.append([stages[1][0] + clock, stages[1][1] + clock + 1])
    least, most = min(stage[0] for stage in stages), max(stage[1] for stage in stages)
    moved = f"({x}::timestamp + {_interval(span)})"
    if low + least < _EARLIEST or high + most > _LATEST:
        if high + most > _LATEST or not node.facts.nullable or max(*months, span.days, clock) > 0:
            raise QueryError(
                "this interval leads too far away from the years 1 to 9999",
                position=node.position,
                hint="Use a shorter interval.",
            )
        # all stages go down: what starts before this day ends long before the year 1
        first = min(max(_EARLIEST - least, intervals.FIRST), intervals.LAST)
        moved = f"CASE WHEN {x} >= '{date.fromordinal(first).isoformat()}'::date THEN {moved} END"
    if node.facts.nullable:
        last = "'9999-12-31 23:59:59.999999'::timestamp"
        moved = once({"x": moved}, f"CASE WHEN x BETWEEN '0001-01-01'::timestamp AND {last} THEN x END")
    return moved


def _interval(span: intervals.Span) -> str:
    """An interval in the three numbers that the server keeps, each exactly."""
    hours, rest = divmod(span.microseconds, intervals.DAY // 24)
    seconds, micros = divmod(rest, 1_000_000)  # version 13 reads no number of 32 bits and more here
    clock = f"'{seconds} seconds {micros} microseconds'::interval"
    return f"(make_interval(0, {span.months}, 0, {span.days}, {hours}) + {clock})"
