"""Generalisation hierarchies: how a value becomes a label that stands for more values, level by level.

Comes in: rows as ARX writes them, or intervals, prefixes and dates with a declared domain. Goes out: a Hierarchy, which
labels any value of its domain and knows how many values a label stands for. No domain is taken from the data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise

from sfumato.errors import InputError
from sfumato.types import whole

_MOST_SIGNS = 1000
"""Characters of a code."""
STAR = "*"
_UNITS = ("month", "quarter", "year", "decade", "century")


@dataclass(frozen=True)
class Hierarchy:
    """Labels of a column: `labels(value)` from the value itself to `*`, or None where the value is not covered.

    `size(level, label)` is the number of values of the domain that a label stands for; `domain` that of all values,
    which are `values` if they were enumerated.
    """

    column: str
    height: int
    domain: int
    labels: Callable[[str], tuple[str, ...] | None]
    size: Callable[[int, str], int]
    kind: str = "rows"
    values: tuple[str, ...] = ()

    def share(self, level: int, label: str) -> Fraction:
        """How much of the domain a label hides: 0 for a single value, 1 for everything (GenILoss)."""
        if level == self.height:
            return Fraction(1) if self.domain > 1 else Fraction(0)
        if self.domain <= 1:
            return Fraction(0)
        return Fraction(self.size(level, label) - 1, self.domain - 1)


def keep_or_star(column: str) -> Hierarchy:
    """A column without a hierarchy: its value, or nothing."""
    return Hierarchy(column, 1, 2, lambda value: (value, STAR), lambda level, _: 1 + level, "star")


def from_rows(column: str, rows: Sequence[Sequence[str]]) -> Hierarchy:
    """A hierarchy by enumeration: each row has a value and its labels, finest first."""
    if not rows or not rows[0]:
        raise InputError(f'the hierarchy of "{column}" is empty')
    wide = len(rows[0])
    for number, row in enumerate(rows, 1):
        if len(row) != wide:
            raise InputError(
                f'the hierarchy of "{column}" has {len(row)} levels in line {number} and {wide} before it',
                hint="Give every value a label on every level.",
            )
    if len({row[-1] for row in rows}) > 1:
        rows = [[*row, STAR] for row in rows]
    table = {row[0]: tuple(row) for row in rows}
    if len(table) < len(rows):
        twice = Counter(row[0] for row in rows).most_common(1)[0][0]
        if len({tuple(row) for row in rows if row[0] == twice}) > 1:
            raise InputError(f'the hierarchy of "{column}" has two lines for "{twice}"')
    _check_nested(column, list(table.values()))
    _check_hiding(column, table)
    height = len(next(iter(table.values()))) - 1
    sizes = [Counter(row[level] for row in table.values()) for level in range(height + 1)]
    return Hierarchy(
        column, height, len(table), table.get, lambda level, label: sizes[level][label], values=tuple(table)
    )


def _check_nested(column: str, rows: list[tuple[str, ...]]) -> None:
    """A label must lie below one label of the next level: otherwise a coarser level would not be coarser."""
    for level in range(len(rows[0]) - 1):
        above: dict[str, str] = {}
        for row in rows:
            first = above.setdefault(row[level], row[level + 1])
            if first != row[level + 1]:
                raise InputError(
                    f'the hierarchy of "{column}" is not nested',
                    detail=f'On level {level} "{row[level]}" is below both "{first}" and "{row[level + 1]}".',
                    hint="Every label must belong to exactly one label of the next level.",
                )


def _check_hiding(column: str, table: dict[str, tuple[str, ...]]) -> None:
    """`*` and an empty label hide everything: above some values alone they would say less than they seem to say.

    A value that is spelt so may keep its spelling.
    """
    for label in (STAR, ""):
        for level in range(1, len(next(iter(table.values())))):
            below = {value for value, row in table.items() if row[level] == label}
            if below and below != {label} and len(below) < len(table):
                shown = f'"{label}"' if label else "an empty label"
                raise InputError(
                    f'the hierarchy of "{column}" has {shown} above some of its values only',
                    detail=f"On level {level} it is above {len(below)} of {len(table)} values.",
                    hint="Give that label another name: * and an empty cell hide every value.",
                )


def intervals(column: str, low: object, high: object, widths: Sequence[object]) -> Hierarchy:
    """Whole numbers from low to high in intervals `20..29` of growing widths, each a multiple of the one before."""
    first, last = whole(low, "low"), whole(high, "high")
    steps = [whole(width, "width", 2) for width in widths]
    if last < first:
        raise InputError(f'the domain of "{column}" is empty', detail=f"It goes from {first} to {last}.")
    for small, large in pairwise(steps):
        if large % small or large == small:
            raise InputError(f"width {large} is not a multiple of {small}", hint="Intervals must nest.")

    def bounds(number: int, width: int) -> tuple[int, int]:
        start = first + (number - first) // width * width
        return start, min(start + width - 1, last)

    def labels(value: str) -> tuple[str, ...] | None:
        number = _integer(value)
        if number is None or not first <= number <= last:
            return None
        spans = [bounds(number, width) for width in steps]
        return (value, *(f"{a}..{b}" for a, b in spans), STAR)

    def size(level: int, label: str) -> int:
        if level == 0:
            return 1
        start, _, end = label.partition("..")
        return int(end) - int(start) + 1

    return Hierarchy(column, len(steps) + 1, last - first + 1, labels, size, "intervals")


def _integer(value: str) -> int | None:
    if not re.fullmatch(r"[-+]?\d{1,18}(\.0+)?", value.strip()):
        return None
    return int(Fraction(value.strip()))


def prefixes(column: str, length: int, stars: Sequence[int], alphabet: int = 10) -> Hierarchy:
    """Codes of a fixed length whose last characters are replaced by stars: 13053, 1305*, 130**."""
    many = whole(length, "length", 1)
    if many > _MOST_SIGNS:
        raise InputError(f"length must be at most {_MOST_SIGNS}, but is {many}")
    steps = [whole(star, "stars", 1) for star in stars]
    if steps != sorted(set(steps)) or (steps and steps[-1] >= many):
        raise InputError(f"stars must grow and stay below the length {many}")

    def labels(value: str) -> tuple[str, ...] | None:
        text = value.strip()
        if len(text) != many or STAR in text:
            return None
        return (value, *(text[: many - star] + STAR * star for star in steps), STAR)

    return Hierarchy(
        column, len(steps) + 1, alphabet**many, labels, lambda level, _: alphabet ** (steps[level - 1] if level else 0),
        "prefix",
    )  # fmt: skip


def dates(column: str, low: date, high: date, units: Sequence[str]) -> Hierarchy:
    """Dates from low to high as months `2024-03`, quarters `2024-Q1`, years `2024`, decades `2020..2029`, centuries."""
    unknown = [unit for unit in units if unit not in _UNITS]
    places = [_UNITS.index(unit) for unit in units if unit in _UNITS]
    if unknown or places != sorted(set(places)):
        raise InputError(
            f'the levels of dates of "{column}" are wrong', hint=f"Use, in this order, {', '.join(_UNITS)}."
        )
    if high < low:
        raise InputError(f'the domain of "{column}" is empty', detail=f"It goes from {low} to {high}.")

    def labels(value: str) -> tuple[str, ...] | None:
        try:
            day = date.fromisoformat(value.strip()[:10])
        except ValueError:
            return None
        if not low <= day <= high:
            return None
        return (value, *(_period(day, unit) for unit in units), STAR)

    def size(level: int, label: str) -> int:
        if level == 0:
            return 1
        start, end = _days(label)
        return (min(end, high) - max(start, low)).days + 1

    return Hierarchy(column, len(units) + 1, (high - low).days + 1, labels, size, "dates")


def _period(day: date, unit: str) -> str:
    if unit == "month":
        return f"{day.year:04}-{day.month:02}"  # strftime writes the years before 1000 with fewer digits
    if unit == "quarter":
        return f"{day.year:04}-Q{(day.month + 2) // 3}"
    if unit == "year":
        return f"{day.year:04}"
    span = 10 if unit == "decade" else 100
    start = day.year // span * span
    return f"{start:04}..{start + span - 1:04}"


def _days(label: str) -> tuple[date, date]:
    """The first and the last day of a period."""
    if ".." in label:
        start, _, end = label.partition("..")
        return date(max(int(start), 1), 1, 1), date(min(int(end), 9999), 12, 31)
    if "Q" in label:
        year, quarter = int(label[:4]), int(label[-1])
        return date(year, 3 * quarter - 2, 1), _last(year, 3 * quarter)
    if "-" in label:
        year, month = int(label[:4]), int(label[5:])
        return date(year, month, 1), _last(year, month)
    return date(int(label), 1, 1), date(int(label), 12, 31)


def _last(year: int, month: int) -> date:
    if month == 12:
        return date(year, 12, 31)
    return date(year, month + 1, 1) - timedelta(days=1)


def declared(column: str, section: dict[str, object]) -> Hierarchy:
    """A hierarchy from a section of a TOML file."""
    kind = section.get("kind")
    known = {
        "intervals": {"low", "high", "widths"},
        "prefix": {"length", "stars", "alphabet"},
        "dates": {"low", "high", "levels"},
        "rows": {"rows"},
        "star": set(),
    }
    if not isinstance(kind, str) or kind not in known:
        raise InputError(
            f'the hierarchy of "{column}" has no known kind', hint=f"Use kind = one of {', '.join(sorted(known))}."
        )
    wrong = sorted(set(section) - known[str(kind)] - {"kind"})
    if wrong:
        raise InputError(f'unknown key "{wrong[0]}" in the hierarchy of "{column}"')
    missing = sorted(known[str(kind)] - set(section) - {"alphabet"})
    if missing:
        raise InputError(f'the hierarchy of "{column}" lacks "{missing[0]}"')
    return _declared(column, str(kind), section)


def _declared(column: str, kind: str, section: dict[str, object]) -> Hierarchy:
    if kind == "star":
        return keep_or_star(column)
    if kind == "intervals":
        return intervals(column, section["low"], section["high"], _listed(section, "widths"))
    if kind == "prefix":
        stars = [whole(star, "stars", 1) for star in _listed(section, "stars")]
        return prefixes(
            column, whole(section["length"], "length"), stars, whole(section.get("alphabet", 10), "alphabet", 2)
        )
    if kind == "dates":
        low, high = section["low"], section["high"]
        if type(low) is not date or type(high) is not date:
            raise InputError(f'low and high of "{column}" must be dates')
        return dates(column, low, high, [str(unit) for unit in _listed(section, "levels")])
    rows = _listed(section, "rows")
    if not all(isinstance(row, list) for row in rows):
        raise InputError(f'"rows" of "{column}" must be lists of texts')
    texts = [[str(cell) for cell in row] for row in rows]  # type: ignore[attr-defined]
    if any("?" in row[1:] for row in texts):
        raise InputError(f'a label in the hierarchy of "{column}" is still "?"', hint="Decide what it is, or use *.")
    return from_rows(column, texts)


def _listed(section: dict[str, object], key: str) -> list[object]:
    value = section[key]
    if not isinstance(value, list):
        raise InputError(f'"{key}" must be a list')
    return value
