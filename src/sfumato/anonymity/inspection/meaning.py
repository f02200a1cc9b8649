"""What a released label stands for: whether it covers an original value.

Comes in: a label, a value, and the hierarchy of the column if there is one. Goes out: yes, no, or None where the label
has no meaning that can be read. A hierarchy that puts a value under a label defines that label; where the label's text
says otherwise, as `20-39` for 40, readers are misled, and `misleads` says so.
"""

from __future__ import annotations

import csv
import re
import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path

from sfumato.anonymity.inspection.reading import NULL
from sfumato.errors import InputError

Trees = dict[str, tuple[str, ...]]
"""For each value its labels, finest first. Where hierarchies were given and none lists the values of a column, it is
empty: labels of that column must speak for themselves."""
_N = r"\s*([-+]?(?:\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|inf|∞))\s*"
_TO = r"(?:\.\.|–|—|\bto\b)"
_SPANS = (
    (re.compile(rf"{_N}{_TO}{_N}"), "[]"),
    (re.compile(rf"{_N}-{_N}"), "[]"),
    (re.compile(rf"\[{_N}[,;]{_N}\]"), "[]"),
    (re.compile(rf"\[{_N}[,;]{_N}[)\[]"), "[)"),
    (re.compile(rf"[(\]]{_N}[,;]{_N}\]"), "(]"),
    (re.compile(rf"[(\]]{_N}[,;]{_N}[)\[]"), "()"),
)
_EMPTY = frozenset({"", NULL})
_BOUND = re.compile(rf"(<=|>=|<|>|≤|≥|⩽|⩾){_N}")
_FROM = re.compile(rf"{_N}\+")
_DATE = re.compile(r"(\d{4})(?:-(\d{2})|-Q([1-4]))?")
_DAYS = re.compile(rf"(\d{{4}}-\d{{2}}-\d{{2}})\s*(?:{_TO}|/)\s*(\d{{4}}-\d{{2}}-\d{{2}})")
_YEARS = re.compile(r"(\d{4})(?:\.\.|-)(\d{4})")


def covers(label: str, value: str, tree: Trees | None = None, others: frozenset[str] = frozenset()) -> bool | None:
    """Whether a label stands for a value; `others` are the original values of the column: they mean themselves."""
    if label in _EMPTY and (value in _EMPTY or (others and not others & _EMPTY)):
        return True  # a cell that was emptied hides its value
    if label == value or (label and not label.strip("*")) or (tree is not None and label in tree.get(value, ())):
        return True
    read = None if "|" in label else _read(label, value, compact=_are_days(others))
    if read is not None:
        return read
    if tree is not None and value in tree and _is_label(label, tree):
        return False
    if label in others:
        return False
    found = _set(label, value, tree, others)
    return False if found is None and tree is not None else found  # no hierarchy knows the label


def covered(label: str, tree: Trees | None, others: frozenset[str]) -> Sequence[str]:
    """The original values that a label stands for, or may if it has no meaning; a range finds them by halving."""
    numbers = None if tree or _are_days(others) else _numbers(others)
    span = None if numbers is None else _span(label)
    if numbers is None or span is None:
        answers = {value: covers(label, value, tree, others) for value in others}
        opaque = None in answers.values() and not has_meaning(label, tree, others)
        return [value for value, answer in answers.items() if answer or (answer is None and opaque)]
    low, high, ends = span
    start = (bisect_left if ends[0] == "[" else bisect_right)(numbers[0], low)
    return numbers[1][start : (bisect_right if ends[1] == "]" else bisect_left)(numbers[0], high)]


@lru_cache(maxsize=64)
def _numbers(values: frozenset[str]) -> tuple[list[Decimal], list[str]] | None:
    """Values with their numbers, from low to high, if all of them are numbers."""
    found = [(number, value) for value in values if (number := _number(value)) is not None]
    if len(found) < len(values):
        return None
    return [number for number, _ in sorted(found)], [value for _, value in sorted(found)]


def has_meaning(label: str, tree: Trees | None, others: frozenset[str], *, alone: bool = True) -> bool:
    """Whether a label can be read, as a label or as a range or prefix. One that is not alone, but a member of a set,
    must stand for a value: whatever is said there beside would cover nobody and not be missed.
    """
    if not label.strip("*") or label == NULL or label in others or (tree and _is_label(label, tree)):
        return True
    parts = _parts(label)
    if parts:
        return all(has_meaning(part, tree, others, alone=False) for part in parts)
    read = (_read(label, value, compact=_are_days(others)) for value in others)
    return any(found is not None if alone else found for found in read)


def _is_label(label: str, tree: Trees) -> bool:
    return label in tree or any(label in row for row in tree.values())


def misleads(label: str, value: str, tree: Trees | None) -> bool:
    """Whether a hierarchy puts a value under a label whose text excludes it."""
    if tree is None or label in (value, "*") or label not in tree.get(value, ()):
        return False
    return _read(label, value) is False


def _set(label: str, value: str, tree: Trees | None, others: frozenset[str]) -> bool | None:
    parts = _parts(label)
    if not parts or value in parts:
        return True if parts else None
    labels = () if tree is None else tree.get(value, ())
    answers = [part in labels if part in others else covers(part, value, tree, others) for part in parts]
    if True in answers:
        return True
    return None if None in answers else False


@lru_cache(maxsize=1 << 14)
def _parts(label: str) -> frozenset[str]:
    """The members of a set `a|b` or `{a, b}`; nothing where the label is no set."""
    inner = label[1:-1] if label.startswith("{") and label.endswith("}") else label
    sign = "|" if "|" in inner else "," if inner is not label else None
    return frozenset() if sign is None else frozenset(part.strip() for part in inner.split(sign))


@lru_cache(maxsize=1 << 18)
def _read(label: str, value: str, *, compact: bool = False) -> bool | None:
    """The meaning of ranges, bounds, prefixes and dates; None where the label is none of these for such a value.

    `compact`: every value of the column is a day, those without signs between their parts, as 20240301, too.
    """
    if compact and (day := _compact(value)) is not None:
        found = _period(label, day)
        if found is not None:
            return found
    number = _number(value)
    if number is not None:
        found = _numeric(label, number)
        if found is not None:
            return found
    day = _day(value)
    if day is not None:
        found = _period(label, day)
        if found is not None:
            return found
    if "*" in label and label.strip("*") and "|" not in label:
        pattern = "".join("." if sign == "*" else re.escape(sign) for sign in label)
        return any(re.fullmatch(pattern, text) for text in (value, value.strip()))
    return None


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _numeric(label: str, number: Decimal) -> bool | None:
    try:
        return _within(label, number)
    except InvalidOperation:
        return None  # an exponent beyond all numbers


def _within(label: str, number: Decimal) -> bool | None:
    span = _span(label)
    if span:
        low, high, ends = span
        above = low <= number if ends[0] == "[" else low < number
        return above and (number <= high if ends[1] == "]" else number < high)
    bound = _BOUND.fullmatch(label.strip())
    if bound:
        limit = _end(bound[2])
        if bound[1] in "<>":
            return number < limit if bound[1] == "<" else number > limit
        return number <= limit if bound[1] in ("<=", "≤", "⩽") else number >= limit
    start = _FROM.fullmatch(label)
    if start:
        return number >= _end(start[1])
    alone = _number(label)
    return None if alone is None else number == alone  # a number stands for itself


@lru_cache(maxsize=1 << 14)
def _span(label: str) -> tuple[Decimal, Decimal, str] | None:
    """The ends of a range of numbers, and which of them belong to it; None where the label is no such range."""
    for pattern, ends in _SPANS:
        span = pattern.fullmatch(label)
        if span:
            try:
                return _end(span[1]), _end(span[2]), ends
            except InvalidOperation:
                return None  # an exponent beyond all numbers
    return None


def _end(text: str) -> Decimal:
    return Decimal(text.replace("∞", "inf"))


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text.strip()[:10]) if "-" in text else None
    except ValueError:
        return None


def _compact(text: str) -> date | None:
    try:
        return date.fromisoformat(text.strip()) if re.fullmatch(r"\s*\d{8}\s*", text, re.ASCII) else None
    except ValueError:
        return None


@lru_cache(maxsize=64)
def _are_days(values: frozenset[str]) -> bool:
    """Whether all values are days, with signs between their parts or without; a number makes all of them numbers."""
    return bool(values) and all((_compact(value) or _day(value)) is not None for value in values if value.strip())


def _period(label: str, day: date) -> bool | None:
    days = _DAYS.fullmatch(label)
    if days:
        first, last = _day(days[1]), _day(days[2])
        return None if first is None or last is None else first <= day <= last
    years = _YEARS.fullmatch(label)
    if years:
        return int(years[1]) <= day.year <= int(years[2])
    one = _DATE.fullmatch(label)
    if one is None:
        return None
    if one[2]:
        return (day.year, day.month) == (int(one[1]), int(one[2]))
    if one[3]:
        return (day.year, (day.month + 2) // 3) == (int(one[1]), int(one[3]))
    return day.year == int(one[1])


def read_trees(place: Path | None, columns: tuple[str, ...]) -> dict[str, Trees]:
    """Hierarchies that list their values, of a folder or a TOML file; labels of other kinds speak for themselves."""
    if place is None:
        return {}
    if not place.exists():
        raise InputError(f'there is no file or folder "{place}"', sqlstate="58P01")
    found: dict[str, Trees] = {column: {} for column in columns}
    if not place.is_dir():
        return found | _listed(place, columns)
    for file in sorted(place.glob("*.toml"), reverse=True):  # of two sections the first file counts
        found |= _listed(file, columns)
    for file in sorted(place.glob("*_hierarchy_*.csv")):
        column = file.stem.partition("_hierarchy_")[2]
        if column in columns:
            found[column] = _rows(file)
    return found


def _listed(file: Path, columns: tuple[str, ...]) -> dict[str, Trees]:
    """The sections of a TOML file with rows of their own, or with the name of a file of rows."""
    try:
        sections = tomllib.loads(_text(file))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f'"{file.name}" is not a TOML file', detail=str(error)) from None
    found: dict[str, Trees] = {}
    for column in columns:
        section = sections.get(column)
        if isinstance(section, dict) and "file" in section:
            found[column] = _rows(file.parent / str(section["file"]))
        elif isinstance(section, dict) and isinstance(section.get("rows"), list):
            rows = [[str(cell) for cell in row] for row in section["rows"] if isinstance(row, list) and row]
            found[column] = _tree(rows)
    return found


def _rows(file: Path) -> Trees:
    text = _text(file)
    sign = ";" if ";" in text.partition("\n")[0] else ","
    try:
        return _tree([row for row in csv.reader(text.splitlines(), delimiter=sign) if row])
    except csv.Error:
        raise InputError(f'a label in "{file.name}" is too long', hint="Write shorter labels.") from None


def _tree(rows: list[list[str]]) -> Trees:
    """Labels by value; a hierarchy whose top has several labels has `*` above them."""
    if len({len(row) for row in rows}) > 1:
        raise InputError("a hierarchy has lines of different lengths", hint="Give every value a label on every level.")
    if len({row[-1] for row in rows}) > 1:
        rows = [[*row, "*"] for row in rows]
    return {row[0]: tuple(row) for row in rows}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f'"{file.name}" is not UTF-8 text', hint="Save it as UTF-8.") from None
