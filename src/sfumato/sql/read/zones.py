"""Time zones by name: how far each is from UTC, and when that changes.

Comes in: a name of the tz database (Europe/Paris). Goes out: a zone, or the moments at which its offset changes. Times
are in UTC here; a zone is written into a query by AT TIME ZONE, and becomes additions of written intervals.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from sfumato.interrupts import step

UTC_NAMES = ("utc", "gmt", "z", "zulu", "universal", "etc/utc", "etc/gmt", "uct", "+00", "+00:00", "00:00")
"""Names of UTC."""
ZONED = "zoned"
"""Where the parser's node keeps whether its value is a timestamp with time zone, if it was written in another way."""
OPERAND = "operand"
"""Where an AT TIME ZONE keeps whether its argument is one; None where that cannot be told from the statement."""
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
