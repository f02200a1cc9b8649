"""x AT TIME ZONE 'Europe/Paris': additions of written intervals, by the moments at which the zone's offset changes.

Comes in: the parser's node and what binds its argument. Goes out: a CASE of times moved by an offset each. It is made
of functions that there are, so it is total and means the same in every engine, whatever time zones that engine knows.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from sfumato.algebra.functions import call
from sfumato.algebra.interval_values import Span
from sfumato.algebra.tree import DATE, TIMES, TIMESTAMP, Constant, Node, size
from sfumato.errors import QueryError
from sfumato.sql.bind.constants import constant, time_constant
from sfumato.sql.read.parser import place
from sfumato.sql.read.zones import OPERAND, UTC_NAMES, ZONED, Change, changes, from_utc, to_utc, zone_named

if TYPE_CHECKING:
    from sfumato.sql.bind.expressions import Expressions

_MOST = 250
"""Changes of one zone: a bit more than a century has, twice a year."""
_MOST_DAYS = 150 * 366
"""Days between the bounds of a timestamp: each is asked for its offset."""
_MOST_NODES = 20_000
"""Operators, columns and constants of one such expression at length: each change reads the timestamp twice."""


def at_zone(binds: Expressions, node: exp.Expression) -> Node:
    """A timestamp with time zone on the clocks of a zone; or one without, read on these clocks, in UTC."""
    name, at = node.args["zone"].name, place(node)
    zoned = node.this.meta.get(ZONED, node.meta.get(OPERAND))
    inner, zone = binds.node(node.this), zone_named(name)
    if isinstance(inner, Constant) and isinstance(inner.value, str):
        inner, zoned = time_constant(inner.value, TIMESTAMP, inner.position, in_utc=True), True
    if name.lower() in UTC_NAMES:  # times are in UTC
        return call("cast", (inner,), TIMESTAMP, at) if inner.facts.kind == DATE else inner
    if zone is None or inner.facts.kind not in TIMES:
        raise QueryError(
            f"AT TIME ZONE needs a timestamp, but was given {inner.facts.kind}", position=at, sqlstate="42883"
        )
    if zoned is None:
        raise QueryError(
            "whether this timestamp has a time zone cannot be told from the statement",
            position=at,
            hint="Say so: CAST(… AS timestamp) AT TIME ZONE …, or CAST(… AS timestamptz) AT TIME ZONE ….",
        )
    if isinstance(inner, Constant) and isinstance(inner.value, date):
        return _moved_constant(inner.value, zone, zoned=zoned, at=at)
    if inner.facts.kind == DATE:
        inner = call("cast", (inner,), TIMESTAMP, at)
    low, high = inner.facts.low, inner.facts.high
    if low is None or high is None:
        raise QueryError(
            "AT TIME ZONE needs a timestamp with bounds",
            position=at,
            hint="Declare min and max in the policy, or add the offset as an interval.",
        )
    span = [datetime.fromordinal(min(max(int(end) + more, 3), 3_652_057)) for end, more in ((low, -2), (high, 3))]
    found = changes(zone, span[0], span[1]) if (span[1] - span[0]).days <= _MOST_DAYS else ()
    if 2 * len(found) * size(inner) > _MOST_NODES:
        raise QueryError(
            "AT TIME ZONE of such a long expression is not supported",
            position=at,
            sqlstate="54001",
            hint="Convert to one time zone only, or declare narrower bounds.",
        )
    if not 0 < len(found) <= _MOST:
        raise QueryError(
            f"the bounds of this timestamp are too far apart for AT TIME ZONE '{zone.key}'",
            position=at,
            hint="Declare bounds of at most a century, or add the offset as an interval.",
        )
    return _moved(inner, found, zoned=zoned, at=at)


def _moved_constant(value: date, zone: ZoneInfo, *, zoned: bool, at: int) -> Node:
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    try:
        return constant((from_utc if zoned else to_utc)(moment, zone), at)
    except OverflowError:
        raise QueryError("timestamp out of range", position=at, sqlstate="22008") from None


def _moved(inner: Node, found: tuple[Change, ...], *, zoned: bool, at: int) -> Node:
    """The time plus the offset that counts, or minus it; a local time belongs to the offset after a change from the
    moment on that the clocks then show.
    """
    parts: list[Node] = []
    for before, change in pairwise(found):
        end = change.at if zoned else change.at + change.after
        parts += [call("<", (inner, constant(end, at)), "", at), _shifted(inner, before.after, zoned, at)]
    last = _shifted(inner, found[-1].after, zoned, at)
    return call("case", (*parts, last), "", at) if parts else last


def _shifted(inner: Node, offset: timedelta, zoned: bool, at: int) -> Node:
    micros = offset // timedelta(microseconds=1)
    span = Span(0, 0, micros if zoned else -micros)
    return call("shift", (inner,), str(span), at)


KINDS: dict[type[exp.Expression], Callable[[Any, Any], Node]] = {exp.AtTimeZone: at_zone}
"""The parser's nodes that are bound here."""
