"""Trees of hierarchies that list no values, but say how labels follow from them: intervals, prefixes, dates.

Comes in: a section of a TOML file, and values. Goes out: for each value its labels, as far as the section covers all of
them. Written from the documentation of these kinds; nothing is shared with the code that makes releases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation

Labels = Callable[[str], tuple[str, ...] | None]


def declared_tree(section: Mapping[str, object], values: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The labels of the values, up to `*`; nothing where the section is of another kind or leaves a value out."""
    kinds: dict[object, Callable[[Mapping[str, object]], Labels]] = {
        "intervals": _intervals,
        "prefix": _prefixes,
        "dates": _dates,
    }
    kind = section.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        return {}
    try:
        labels = kinds[kind](section)
        rows = {value: labels(value) for value in values}
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return {}  # no such section makes a release
    found = {value: (value, *row, "*") for value, row in rows.items() if row is not None}
    return found if len(found) == len(rows) else {}


def _intervals(section: Mapping[str, object]) -> Labels:
    low, high = _whole(section["low"]), _whole(section["high"])
    widths = [_whole(width) for width in _list(section["widths"])]

    def labels(value: str) -> tuple[str, ...] | None:
        try:
            number = Decimal(value.strip())
        except InvalidOperation:
            return None
        if not number.is_finite() or number != number.to_integral_value() or not low <= number <= high:
            return None
        steps = [(int(number) - low) // width for width in widths]
        return tuple(
            f"{low + step * width}..{min(high, low + (step + 1) * width - 1)}"
            for step, width in zip(steps, widths, strict=True)
        )

    return labels


def _prefixes(section: Mapping[str, object]) -> Labels:
    length, stars = _whole(section["length"]), [_whole(star) for star in _list(section["stars"])]

    def labels(value: str) -> tuple[str, ...] | None:
        code = value.strip()
        return None if len(code) != length else tuple(code[: length - many] + "*" * many for many in stars)

    return labels


def _dates(section: Mapping[str, object]) -> Labels:
    low, high, units = section["low"], section["high"], [_UNITS[str(unit)] for unit in _list(section["levels"])]
    if not isinstance(low, date) or not isinstance(high, date):
        raise TypeError

    def labels(value: str) -> tuple[str, ...] | None:
        try:
            day = date.fromisoformat(value.strip()[:10])
        except ValueError:
            return None
        return tuple(unit(day) for unit in units) if low <= day <= high else None

    return labels


def _years(day: date, many: int) -> str:
    first = day.year - day.year % many
    return f"{first:04}..{first + many - 1:04}"


_UNITS: dict[str, Callable[[date], str]] = {
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04}-Q{1 + (day.month - 1) // 3}",
    "year": lambda day: f"{day.year:04}",
    "decade": lambda day: _years(day, 10),
    "century": lambda day: _years(day, 100),
}


def _whole(number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, int | str):
        raise TypeError
    return int(number)


def _list(one: object) -> list[object]:
    if not isinstance(one, list):
        raise TypeError
    return one
