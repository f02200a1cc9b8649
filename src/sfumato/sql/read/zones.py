"""Time zones by name: how far each is from UTC, and when that changes.

Comes in: a name of the tz database (Europe/Paris). Goes out: a zone, or the moments at which its offset changes. Times
are in UTC here; a zone is written into a query by AT TIME ZONE, and becomes additions of written intervals.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from sqlglot import exp

from sfumato.interrupts import step

UTC_NAMES = ("utc", "gmt", "z", "zulu", "universal", "etc/utc", "etc/gmt", "uct", "+00", "+00:00", "00:00")
"""Names of UTC."""
ZONED = "zoned"
"""Where the parser's node keeps that its value is a timestamp with time zone."""
_LONGEST = 64


class Change(NamedTuple):
    """A moment in UTC, and the offsets before and after it."""

    at: datetime
    before: timedelta
    after: timedelta


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones()}


def zone_named(name: str) -> ZoneInfo | None:
    """The zone of a name, in any case; None where the tz database has none."""
    known = _names().get(name.lower()) if len(name) <= _LONGEST else None
    try:
        return None if known is None else ZoneInfo(known)
    except (ZoneInfoNotFoundError, OSError, ValueError):
        return None


def _offset(zone: ZoneInfo, at: datetime) -> timedelta:
    found = at.replace(tzinfo=UTC).astimezone(zone).utcoffset()
    return timedelta() if found is None else found


@lru_cache(maxsize=64)
def changes(zone: ZoneInfo, first: datetime, last: datetime) -> tuple[Change, ...]:
    """The changes of a zone between two moments of UTC, to the second; the first is at `first`, from itself."""
    start, low = first, _offset(zone, first)
    found = [Change(first, low, low)]
    while start < last:
        step()
        end = min(start + timedelta(1), last)
        high = _offset(zone, end)
        if low != high:
            found.append(Change(_between(zone, start, end), low, high))
        start, low = end, high
    return tuple(found)


def _between(zone: ZoneInfo, start: datetime, end: datetime) -> datetime:
    """The first second at which the offset is that of the end."""
    before, seconds = _offset(zone, start), int((end - start).total_seconds())
    low, high = 0, seconds
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(zone, start + timedelta(seconds=middle)) == before else (low, middle)
    return start + timedelta(seconds=high)


def to_utc(moment: datetime, zone: ZoneInfo) -> datetime:
    """A moment on the clocks of a zone, in UTC: of one that is skipped or there twice PostgreSQL's reading.

    Where clocks go forward the offset before counts, where they go back the one after.
    """
    before = moment - _offset(zone, moment - timedelta(1))
    found = changes(zone, before - timedelta(1), before + timedelta(2))
    offset = found[0].after
    for change in found[1:]:
        offset = change.after if moment >= change.at + change.after else offset
    return moment - offset


def from_utc(moment: datetime, zone: ZoneInfo) -> datetime:
    """A moment of UTC on the clocks of a zone."""
    return moment + _offset(zone, moment)


def is_zoned(node: Any) -> bool:
    """Whether an expression is a timestamp with time zone in PostgreSQL; columns of tables have none."""
    if ZONED in node.meta:
        found = node.meta[ZONED]
    elif isinstance(node, exp.AtTimeZone):
        found = not is_zoned(node.this)
    elif isinstance(node, exp.Cast):
        found = node.to.this == exp.DataType.Type.TIMESTAMPTZ
    elif isinstance(node, exp.Column):
        found = _is_zoned_below(node)
    elif isinstance(node, _KEEPING):
        found = is_zoned(node.this)
    else:
        called = isinstance(node, exp.Anonymous) and node.name.lower() == "to_timestamp"
        found = called or isinstance(node, exp.CurrentTimestamp)
    return bool(found)


_KEEPING = (exp.Paren, exp.Alias, exp.Add, exp.Sub, exp.TimestampTrunc, exp.Coalesce, exp.Min, exp.Max)
"""What has a time zone if its first part has one."""


def _is_zoned_below(column: Any) -> bool:
    """Whether a sub-query or a WITH query of the statement gives this name to a timestamp with time zone."""
    own = column.find_ancestor(exp.Select)
    if own is None:
        return False
    around = {id(select) for select in _selects_around(own)} | {id(own)}
    selects = (select for select in column.root().find_all(exp.Select) if id(select) not in around)
    items = (item for select in selects for item in select.expressions if isinstance(item, exp.Alias))
    return any(item.alias.lower() == column.name.lower() and is_zoned(item.this) for item in items)


def _selects_around(select: Any) -> list[Any]:
    found, at = [], select.find_ancestor(exp.Select)
    while at is not None:
        found.append(at)
        at = at.find_ancestor(exp.Select)
    return found
