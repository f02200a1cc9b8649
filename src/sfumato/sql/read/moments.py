"""Written dates and timestamps, in the text forms that PostgreSQL reads and drivers send.

Comes in: text. Goes out: a date, or a moment without a zone in UTC; None for what is neither. Times have no zone here:
`timestamp` passes over a zone in the text, as PostgreSQL does, and `timestamptz` turns it into UTC.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from sfumato.sql.read.zones import to_utc, zone_named

_WORD = r"(?P<word>[A-Za-z]{3,9})\.?"
_DAY = (
    r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})",
    r"(?P<y>\d{4})/(?P<m>\d{1,2})/(?P<d>\d{1,2})",
    r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})",
    r"(?P<y>\d{4})-(?P<doy>\d{3})",
    r"(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>\d{4})",
    rf"{_WORD}[ -]+(?P<d>\d{{1,2}}),?[ -]+(?P<y>\d{{4}})",
    rf"(?P<d>\d{{1,2}})[ -]+{_WORD}[ -]+(?P<y>\d{{4}})",
    rf"(?P<y>\d{{4}})[ -]+{_WORD}[ -]+(?P<d>\d{{1,2}})",
    r"(?P<y>\d{4})\.(?P<doy>\d{3})",
)
_WEEKDAY = r"(?:(?i:sun|mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?)(?:day)?,?[ ]++)?"
_CLOCK = (
    r"(?:(?:[Tt]|[ ]++)(?P<h>\d{1,2}):(?P<mi>\d{2})(?::(?P<s>\d{2})(?:[.,](?P<f>\d{1,9}))?)?"
    r"(?:[ ]*+(?P<half>[AaPp][Mm]))?)?"
)
_ZONE = (
    r"[ ]*+(?P<zone>[Zz]|[Uu][Tt][Cc]|[Gg][Mm][Tt]|[+-]\d{1,2}(?::?\d{2})?(?::\d{2})?"
    r"|(?i:[ecmp][sd]t|[cw]?est|eest|[cew]et|bst|msk|jst)|[A-Za-z_]+/[A-Za-z_/+-]+)?"
)
_LONGEST = 60
"""Characters of a written moment: what is longer is matched with nothing."""
_COMPACT = re.compile(r"(\d{8})[Tt](\d{2})(\d{2})(\d{2})?((?:[.,]\d++)?[ ]*+[Zz+-]?[\d:]*+)", re.ASCII)
"""ISO 8601 without signs between its parts."""
_OF_DATE = re.compile(
    rf"{_WORD}[ ]+(\d{{1,2}})[ ]+(\d{{1,2}}:\d{{2}}(?::\d{{2}})?)[ ]+(?:([A-Za-z+-][A-Za-z0-9+:-]*)[ ]+)?(\d{{4}})",
    re.ASCII,
)
"""What the command date and JavaScript's clocks print: Jun 01 12:00:00 UTC 2023."""
_ABBREVIATIONS = {
    "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "cet": 1, "cest": 2,
    "wet": 0, "west": 1, "eet": 2, "eest": 3, "bst": 1, "msk": 3, "jst": 9,
}  # fmt: skip
"""Hours ahead of UTC, as PostgreSQL has them by default."""
_FORMS = tuple(re.compile(rf"\s*+{_WEEKDAY}{day}{_CLOCK}{_ZONE}\s*+", re.ASCII) for day in _DAY)


def read_timestamp(text: str, *, in_utc: bool = False) -> datetime | None:
    """The moment that a text names; `in_utc` moves it by its zone.

    >>> read_timestamp("2024-06-01T12:30:00.5Z")
    datetime.datetime(2024, 6, 1, 12, 30, 0, 500000)
    >>> read_timestamp("2024-06-01 12:30+02", in_utc=True)
    datetime.datetime(2024, 6, 1, 10, 30)
    >>> read_timestamp("June 1, 2024 03:04 PM")
    datetime.datetime(2024, 6, 1, 15, 4)
    >>> read_timestamp("2023-152")
    datetime.datetime(2023, 6, 1, 0, 0)
    >>> read_timestamp("Thu Jun 01 12:00:00 2023"), read_timestamp("20230601T120000")
    (datetime.datetime(2023, 6, 1, 12, 0), datetime.datetime(2023, 6, 1, 12, 0))
    >>> read_timestamp("2023-06-01 12:00 Europe/Paris", in_utc=True)
    datetime.datetime(2023, 6, 1, 10, 0)
    """
    if text.strip().lower() == "epoch":
        return datetime(1970, 1, 1)  # noqa: DTZ001  times have no zone here
    found = _form_of(text) if len(text) <= _LONGEST else None
    if found is None:
        return None
    parts = found.groupdict()
    fraction = round(int((parts["f"] or "0").ljust(9, "0")) / 1000)
    try:
        day = _day(parts)
        clock = [int(parts[part] or 0) for part in ("h", "mi", "s")]
        if parts["half"]:
            if clock[0] > 12:
                return None
            clock[0] = clock[0] % 12 + (12 if parts["half"].lower() == "pm" else 0)
        if not (clock[0] < 24 or clock == [24, 0, 0]) or clock[1] > 59 or clock[2] > 60:
            return None
        moment = datetime(day.year, day.month, day.day) + timedelta(  # noqa: DTZ001  times have no zone here
            hours=clock[0], minutes=clock[1], seconds=clock[2], microseconds=fraction
        )
        return _in_utc(moment, parts["zone"]) if in_utc else moment
    except (ValueError, OverflowError):
        return None


def read_date(text: str) -> date | None:
    """The day that a text names; a time and a zone after it are passed over.

    >>> read_date("2024-06-01 +00")
    datetime.date(2024, 6, 1)
    """
    moment = read_timestamp(re.sub(r"[Tt ]+\d{1,2}:.*$", "", text) if len(text) <= _LONGEST else "")
    return None if moment is None or read_timestamp(text) is None else moment.date()


def _day(parts: dict[str, str]) -> date:
    """The day of a form: by its month, or by its number in the year."""
    year = int(parts["y"])
    if "doy" in parts:  # of a year without it the 366th day is the next one, as PostgreSQL has it
        if not 1 <= int(parts["doy"]) <= 366:
            raise ValueError(parts["doy"])
        return date(year, 1, 1) + timedelta(int(parts["doy"]) - 1)
    return date(year, int(parts.get("m") or _month(parts.get("word") or "")), int(parts["d"]))


def _month(word: str) -> int:
    full = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
            "november", "december")  # fmt: skip
    low = word.lower()
    found = [i for i, name in enumerate(full, 1) if low in (name, name[:3]) or (low == "sept" and i == 9)]
    if not found:
        raise ValueError(word)
    return found[0]


def _form_of(text: str) -> re.Match[str] | None:
    """The parts of a text by the first form that it has."""
    text = _in_order(text)
    return next((match for match in (form.fullmatch(text) for form in _FORMS) if match), None)


def _in_order(text: str) -> str:
    """Forms whose year comes last, or that have no signs between their parts, as the others are written."""
    compact = _COMPACT.fullmatch(text.strip())
    if compact is not None:
        day, hours, minutes, seconds, rest = compact.groups()
        return f"{day} {hours}:{minutes}:{seconds or '00'}{rest}"
    found = _OF_DATE.fullmatch(re.sub(_WEEKDAY, "", text.strip(), count=1))
    if found is None:
        return text
    month, day, clock, zone, year = found.groups()
    return f"{month} {day} {year} {clock} {zone or ''}".rstrip()


def _in_utc(moment: datetime, zone: str | None) -> datetime:
    """A moment of a zone, in UTC."""
    if zone is not None and "/" in zone:
        named = zone_named(zone)
        if named is None:
            raise ValueError(zone)
        return to_utc(moment, named)
    return moment - _offset(zone)


def _offset(zone: str | None) -> timedelta:
    """How far a zone is ahead of UTC."""
    if zone is None or zone[0] not in "+-":
        return timedelta(hours=_ABBREVIATIONS.get((zone or "").lower(), 0))
    digits = zone[1:].replace(":", "")
    hours, rest = (digits[:2], digits[2:]) if len(digits) > 2 else (digits, "")
    size = timedelta(hours=int(hours), minutes=int(rest[:2] or 0), seconds=int(rest[2:] or 0))
    return -size if zone[0] == "-" else size
