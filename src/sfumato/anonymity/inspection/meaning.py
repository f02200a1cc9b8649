"""What a released label stands for: whether it covers an original value.

Comes in: a label, a value, and the hierarchy of the column if there is one. Goes out: yes, no, or None where the label
has no meaning that can be read. A hierarchy that puts a value under a label defines that label; where the label's text
says otherwise, as `20-39` for 40, readers are misled.
"""

from __future__ import annotations

import re
from collections.abc import Set
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from sfumato.anonymity.inspection.reading import NULL
from sfumato.anonymity.inspection.trees import Trees

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
EMPTY = frozenset({"", NULL})
_LEAST, _MOST = Decimal("-inf"), Decimal("inf")
_BOUND = re.compile(rf"(<=|>=|<|>|≤|≥|⩽|⩾){_N}")
_FROM = re.compile(rf"{_N}\+")
_DATE = re.compile(r"(\d{4})(?:-(\d{2})|-Q([1-4]))?")
_DAYS = re.compile(rf"(\d{{4}}-\d{{2}}-\d{{2}})\s*(?:{_TO}|/)\s*(\d{{4}}-\d{{2}}-\d{{2}})")
_YEARS = re.compile(r"(\d{4})(?:\.\.|-)(\d{4})")


def covers(
    label: str,
    value: str,
    tree: Trees | None = None,
    others: frozenset[str] = frozenset(),
    labels: Set[str] | None = None,
) -> bool | None:
    """Whether a label stands for a value; `others` are the original values of the column: they mean themselves.

    A label of a hierarchy means what the hierarchy says, whatever its text says, also if that is `*` or nothing:
    reading it as a range, or as everybody, would give people to classes in which they are not. A `*` that no hierarchy
    lists hides everything. `labels` are those of the hierarchy, if they were listed before.
    """
    if tree is not None and value in tree and label in (labels_of(tree) if labels is None else labels):
        return label in tree[value]
    if label in EMPTY and (value in EMPTY or (others and not others & EMPTY)):
        return True  # a cell that was emptied hides its value
    if label == value or (label and not label.strip("*")):
        return True
    read = None if "|" in label else read_label(label, value, compact=are_days(others))
    if read is not None:
        return read
    if label in others:
        return False
    found = _set(label, value, tree, others, labels)
    return False if found is None and tree is not None else found  # no hierarchy knows the label


def labels_of(tree: Trees | None) -> frozenset[str]:
    """All labels of a hierarchy, values too."""
    return frozenset(label for row in (tree or {}).values() for label in row)


def has_meaning(label: str, labels: Set[str], others: frozenset[str], *, alone: bool = True) -> bool:
    """Whether a label can be read, as one of `labels`, a range or a prefix. One that is not alone, but a member of a
    set, must stand for a value: whatever is said there beside would cover nobody and not be missed.
    """
    if not label.strip("*") or label == NULL or label in others or label in labels:
        return True
    parts = members(label)
    if parts:
        return all(has_meaning(part, labels, others, alone=False) for part in parts)
    read = (read_label(label, value, compact=are_days(others)) for value in others)
    return any(found is not None if alone else found for found in read)


def _set(label: str, value: str, tree: Trees | None, others: frozenset[str], labels: Set[str] | None) -> bool | None:
    parts = members(label)
    if not parts or value in parts:
        return True if parts else None
    mine = () if tree is None else tree.get(value, ())
    answers = [part in mine if part in others else covers(part, value, tree, others, labels) for part in parts]
    if True in answers:
        return True
    return None if None in answers else False


@lru_cache(maxsize=1 << 14)
def members(label: str) -> frozenset[str]:
    """The members of a set `a|b` or `{a, b}`; nothing where the label is no set."""
    inner = label[1:-1] if label.startswith("{") and label.endswith("}") else label
    sign = "|" if "|" in inner else "," if inner is not label else None
    return frozenset() if sign is None else frozenset(part.strip() for part in inner.split(sign))


@lru_cache(maxsize=1 << 18)
def read_label(label: str, value: str, *, compact: bool = False) -> bool | None:
    """The meaning of ranges, bounds, prefixes and dates; None where the label is none of these for such a value.

    `compact`: every value of the column is a day, those without signs between their parts, as 20240301, too.
    """
    if compact and (day := _compact(value)) is not None:
        found = _period(label, day)
        if found is not None:
            return found
    number = number_of(value)
    if number is not None:
        found = _within(label, number)
        if found is not None:
            return found
    day = day_of(value)
    if day is not None:
        found = _period(label, day)
        if found is not None:
            return found
    if "*" in label and label.strip("*") and "|" not in label:
        pattern = "".join("." if sign == "*" else re.escape(sign) for sign in label)
        return any(re.fullmatch(pattern, text) for text in (value, value.strip()))
    return None


def number_of(text: str) -> Decimal | None:
    """The number that a text is."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _within(label: str, number: Decimal) -> bool | None:
    reach = reach_of(label)
    if reach is None:
        return None
    low, high, ends = reach
    above = low <= number if ends[0] == "[" else low < number
    return above and (number <= high if ends[1] == "]" else number < high)


@lru_cache(maxsize=1 << 14)
def reach_of(label: str) -> tuple[Decimal, Decimal, str] | None:
    """The numbers that a label stands for, from where to where, and whether the ends belong to them: a range, a bound,
    or a number, which stands for itself. None where it is none of these.
    """
    try:
        return _reach(label)
    except InvalidOperation:
        return None  # an exponent beyond all numbers


def _reach(label: str) -> tuple[Decimal, Decimal, str] | None:
    for pattern, ends in _SPANS:
        span = pattern.fullmatch(label)
        if span:
            return _end(span[1]), _end(span[2]), ends
    bound = _BOUND.fullmatch(label.strip())
    if bound:
        limit, is_in = _end(bound[2]), bound[1] not in "<>"
        if bound[1] in ("<", "<=", "≤", "⩽"):
            return _LEAST, limit, "[]" if is_in else "[)"
        return limit, _MOST, "[]" if is_in else "(]"
    start = _FROM.fullmatch(label)
    if start:
        return _end(start[1]), _MOST, "[]"
    alone = number_of(label)
    return None if alone is None else (alone, alone, "[]")


def _end(text: str) -> Decimal:
    return Decimal(text.replace("∞", "inf"))


def day_of(text: str) -> date | None:
    """The day that a text is, or begins with."""
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
def are_days(values: frozenset[str]) -> bool:
    """Whether all values are days, with signs between their parts or without; a number makes all of them numbers."""
    return bool(values) and all((_compact(value) or day_of(value)) is not None for value in values if value.strip())


def is_period(label: str) -> bool:
    """Whether a label can be a span of days."""
    return any(pattern.fullmatch(label) for pattern in (_DAYS, _YEARS, _DATE))


def _period(label: str, day: date) -> bool | None:
    days = _DAYS.fullmatch(label)
    if days:
        first, last = day_of(days[1]), day_of(days[2])
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
