"""Formats of to_date and to_timestamp, and written texts that are read by them as PostgreSQL does.

Comes in: a format. Goes out: its parts, numbers of a time as strptime names them and other characters as they are; or
why it is refused. What PostgreSQL reads as another thing than it looks like is refused: a T without quotes, which makes
an ordinal of DD before it, parts that contradict each other, and formats without a year, which name the year 1 BC.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

_WORDS = {
    "YYYY": "%Y", "YY": "%y", "MM": "%m", "MON": "%b", "MONTH": "%B", "DD": "%d", "DDD": "%j", "HH24": "%H",
    "HH": "%I", "HH12": "%I", "MI": "%M", "SS": "%S", "MS": "%L", "US": "%f", "FF6": "%f", "AM": "%p", "PM": "%p",
}  # fmt: skip
_NAMED = ("Mon", "Month")
_PIECE = re.compile(r'"([^"%]*)"|([A-Za-z][A-Za-z0-9]*)|([^A-Za-z0-9"%])')
_ONE = re.compile("|".join(sorted(_WORDS, key=len, reverse=True)))
_SAME = ({"%Y", "%y"}, {"%m", "%b", "%B", "%j"}, {"%d", "%j"}, {"%H", "%I"}, {"%L", "%f"})
"""Parts of which a format has one at most."""
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_NAMES = "|".join(sorted({*_MONTHS, *(name[:3] for name in _MONTHS)}, key=len, reverse=True))
_DIGITS = {"%Y": "[0-9]{4}", "%y": "[0-9]{2}", "%j": "[0-9]{1,3}", "%L": "[0-9]{1,3}", "%f": "[0-9]{1,6}"}


def parts_of(pattern: str) -> list[str] | None:
    """The parts of a format; None where one is not known."""
    found, at = list[str](), 0
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        words = None if piece is None else [piece[1] or piece[3] or ""] if piece[2] is None else _split(piece[2])
        if piece is None or words is None:
            return None
        found += words if piece[2] is not None else list(words[0])
        at = piece.end()
    return found


def _split(letters: str) -> list[str] | None:
    """Words that stand side by side, as in HH24MISS: in capitals, in small letters, or the name of a month."""
    if letters not in _NAMED and letters not in (letters.upper(), letters.lower()):
        return None
    rest, found = letters.upper(), list[str]()
    while rest:
        word = _ONE.match(rest)
        if word is None:
            return None
        found.append(_WORDS[word[0]])
        rest = rest[word.end() :]
    return found


def problem(parts: list[str] | None) -> str | None:
    """Why a format is refused."""
    if parts is None:
        return "it has a part that is not known; put other letters into double quotes"
    words = [part for part in parts if len(part) == 2]
    if len(set(words)) < len(words) or any(len(same & set(words)) > 1 for same in _SAME):
        return "it names a part of the time twice"
    if "%p" in words and "%I" not in words:
        return "AM and PM need HH12"
    if not {"%Y", "%y"} & set(words):
        return "it has no year"
    return None


def read(text: str, parts: list[str]) -> datetime | None:
    """The time that a text names; None where it does not have this format."""
    pattern = "".join(_pattern(part) for part in parts)
    found = re.fullmatch(pattern, text.strip(), re.ASCII | re.IGNORECASE)
    if found is None:
        return None
    words = dict(zip((part for part in parts if len(part) == 2), found.groups(), strict=True))
    number = {part: int(word) for part, word in words.items() if word.isdecimal()}
    year = number.get("%Y", number.get("%y", 0))
    if "%y" in number:  # the year nearest to 2020
        year += 2000 if year < 70 else 1900
    try:
        day = date(year, number.get("%m", _month(words)), number.get("%d", 1))
        if "%j" in number:
            day = date(year, 1, 1) + timedelta(number["%j"] - 1)
        clock = (_hour(number, words.get("%p", "")), number.get("%M", 0), number.get("%S", 0))
        micros = words.get("%f", words.get("%L", "")).ljust(6, "0")
        return datetime(day.year, day.month, day.day, *clock, int(micros)) if day.year == year else None  # noqa: DTZ001  times have no zone here
    except (ValueError, OverflowError):
        return None


def _pattern(part: str) -> str:
    if len(part) < 2:
        return re.escape(part)
    if part in ("%b", "%B"):
        return f"({_NAMES})"
    return "(am|pm)" if part == "%p" else f"({_DIGITS.get(part, '[0-9]{1,2}')}+)"  # a number takes all it can


def _month(words: dict[str, str]) -> int:
    name = words.get("%b", words.get("%B", "jan")).lower()
    return next(i for i, month in enumerate(_MONTHS, 1) if name in (month, month[:3]))


def _hour(number: dict[str, int], half: str) -> int:
    """Hours from midnight; HH and HH12 count from 1 to 12, in the morning where nothing is said."""
    if "%I" not in number:
        return number.get("%H", 0)
    if not 1 <= number["%I"] <= 12:
        raise ValueError("hour")
    return number["%I"] % 12 + (12 if half.lower() == "pm" else 0)
