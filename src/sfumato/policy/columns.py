"""The declared domain of one column: its type, bounds, grid or list of values.

Comes in: one section such as `{ type = "integer", min = 0, max = 120 }`. Goes out: a Column whose parts fit each other.
Bounds and lists are what the owner says about the world, never what the data show.

Where the owner gives no grid, a decimal with bounds takes the coarsest of 1, 0.1, 0.01, … of which both bounds are
multiples: whole bounds give 1, and 0.10 gives what 0.1 gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from numbers import Integral
from typing import Any, NoReturn

from sfumato.policy.records import Bound, PolicyColumn, utc
from sfumato.policy.sections import Section, kind_of, quote
from sfumato.types import show

TYPES = ("integer", "decimal", "double", "date", "timestamp", "boolean", "text")
NUMBERS = ("integer", "decimal", "double")

MOST_VALUES = 1_000_000
"""More groups than that are refused in an answer, so a longer list could not be used."""

MOST_STEPS = 10**38
"""Bounds count fewer grid steps than this: the widest decimals of the engines have 38 digits."""

MOST_DIGITS, MANY_STEPS = 37, 2**50
"""Digits of a decimal that the engines hold with room to round; from so many steps on they read numbers that way."""

LONGEST_PUBLIC = 10_000
"""Texts of public tables are read to this length, where the owner names none."""

SMALLEST, LARGEST = -(2**63), 2**63 - 1
"""What a bigint holds."""

MICROSECOND = Fraction(1, 10**6)
"""The resolution of a timestamp in every engine."""

_OWN_GRID = {"integer": Fraction(1), "date": Fraction(1), "timestamp": MICROSECOND}
_EXAMPLE = {
    "date": "Write dates without quotes, for example 2023-01-01.",
    "timestamp": "Write moments without quotes, for example 2023-01-01T00:00:00.",
}


def read_column(section: Section, *, type_required: bool, public: bool) -> PolicyColumn:
    """One column. A text file says nothing about types, so there the type is required."""
    section.only("type", "min", "max", "grid", "values", "max_length", "nulls")
    name, kind = str(section.path[-1]), section.choice("type", TYPES, None)
    max_length, nulls = section.whole("max_length", None), section.flag("nulls", True)
    if "values" in section:
        implied, values = _read_values(section, kind, max_length)
        return PolicyColumn(name, implied, None, None, _OWN_GRID.get(implied), values, max_length, nulls)
    low, high = _read_bounds(section)
    grid = section.positive("grid", None)
    if grid is not None and low is None:
        section.refuse("grid", f"grid in {section.label} needs min and max", "Add both, or leave the grid out.")
    if kind is None and isinstance(low, date):  # a moment is a date, too
        kind = "timestamp" if isinstance(low, datetime) else "date"
    if kind is None and type_required:
        section.needs("type", f"A text file does not declare types: add type = one of {', '.join(TYPES)}.")
    return settle(PolicyColumn(name, kind, low, high, grid, None, max_length, nulls), section, public=public)


def settle(column: PolicyColumn, section: Section, *, public: bool) -> PolicyColumn:
    """Check what depends on the type, and fill in the grid. A column that waits for its type passes as it is."""
    kind = column.type
    if kind is None:
        return column
    if kind != "text" and column.max_length is not None:
        _no_place(section, "max_length", kind)
    if kind in {"boolean", "text"}:
        if column.low is not None:
            _no_place(section, "min", kind)
        if kind == "text" and column.max_length is None and column.values is None:
            if not public:
                hint = "Add max_length = the longest text in characters: longer ones are truncated."
                section.refuse(None, f"{section.label} is text and has no max_length", hint)
            return replace(column, max_length=LONGEST_PUBLIC)
        return column
    grid = _grid(column, kind, section)
    if column.low is None or column.high is None:
        return replace(column, grid=grid)
    low, high = (_fit(key, bound, kind, grid, section) for key, bound in (("min", column.low), ("max", column.high)))
    if kind in NUMBERS and grid is not None:
        _check_digits(section, max(abs(_position(low)), abs(_position(high))), grid)
    return replace(column, low=low, high=high, grid=grid)


def _check_digits(section: Section, largest: Fraction, grid: Fraction) -> None:
    """Numbers of many steps are read by the engine as decimals, which have 38 digits in all."""
    if largest / grid < MANY_STEPS:
        return
    digits = next((digits for digits in range(MOST_DIGITS) if (grid * 10**digits).denominator == 1), MOST_DIGITS)
    if largest * 10**digits >= 10**MOST_DIGITS:
        message = f"{section.label} has too many digits: at most {MOST_DIGITS} are allowed before and after the point"
        section.refuse(None, message, "Write a coarser grid, or narrower bounds.")


def _no_place(section: Section, key: str, kind: str) -> NoReturn:
    section.refuse(key, f"{key} in {section.label} does not apply to a column of type {kind}", f"Leave {key} out.")


def _read_bounds(section: Section) -> tuple[Bound, Bound] | tuple[None, None]:
    """Both bounds, of one kind and in order; or neither."""
    for key, other in (("min", "max"), ("max", "min")):
        if key in section and other not in section:
            section.refuse(key, f"{section.label} has {key} but no {other}", f"Add {other}, or leave {key} out.")
    if "min" not in section:
        return None, None
    low, high = _read_bound(section, "min"), _read_bound(section, "max")
    if type(low) is not type(high):
        kinds = f"{kind_of(section.content['min'])} and {kind_of(section.content['max'])}"
        section.refuse_value("max", f"must be of the same kind as min, but they are {kinds}")
    if low > high:  # type: ignore[operator]  # they are of one kind, as the lines above made sure
        section.refuse_value("min", f"must not be above max, but {_say(low)} is above {_say(high)}")
    return low, high


def _read_bound(section: Section, key: str) -> Bound:
    value = section.content[key]
    if isinstance(value, datetime):
        try:
            return utc(value)
        except OverflowError:  # the year 1 or 9999, moved by its zone
            section.refuse_value(key, "is outside the years 1 to 9999 in UTC")
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        section.refuse_kind(key, "a number, a date or a date with a time", "Write it without quotes.")
    number = section.number(key, None)
    assert number is not None  # the key is there
    return number


def _grid(column: PolicyColumn, kind: str, section: Section) -> Fraction | None:
    """The step of the column's values: its own, the one that is written, or the rule for decimals."""
    own, given = _OWN_GRID.get(kind), column.grid
    if kind in {"integer", "date"} and given not in (None, own):
        section.refuse_value("grid", f"must be 1 for type {kind}, but is {show(given or 0)}", "Leave it out.")
    if kind == "timestamp" and given is not None and (given / MICROSECOND).denominator != 1:
        section.refuse_value("grid", f"must be whole microseconds, but is {show(given)} seconds")
    if own is not None:
        return given or own
    if kind == "double" and given is None and column.low is not None:
        hint = "Add the step to which values are rounded, for example grid = 0.01."
        section.refuse(None, f"{section.label} is double with bounds and has no grid", hint)
    if kind == "decimal" and given is None and isinstance(column.low, Fraction) and isinstance(column.high, Fraction):
        return _finest(column.low, column.high)
    return given


def _finest(low: Fraction, high: Fraction) -> Fraction | None:
    """The coarsest of 1, 1/10, 1/100, … of which both are multiples; None where no decimal ends (1/3 from Python)."""
    step = Fraction(1)
    for _ in range(130):
        if (low / step).denominator == (high / step).denominator == 1:
            return step
        step /= 10
    return None


def _fit(key: str, bound: Bound, kind: str, grid: Fraction | None, section: Section) -> Bound:
    """A bound as the type holds it: a number, day or moment on the grid."""
    wanted = {"date": date, "timestamp": datetime}.get(kind, Fraction)
    if type(bound) is not wanted:
        words = {"date": "a date", "timestamp": "a date with a time"}.get(kind, "a number")
        section.refuse_value(key, f"must be {words}, but is {kind_of(bound)}", _EXAMPLE.get(kind))
    if grid is None:
        section.refuse_value(key, "is not a finite decimal", "Add a grid of which both bounds are multiples.")
    steps = _position(bound) / grid
    if steps.denominator != 1:
        hint = "Write a whole number." if kind == "integer" else f"Write a multiple of {show(grid)}, or a finer grid."
        section.refuse_value(key, f"must be a multiple of grid {show(grid)}, but is {_say(bound)}", hint)
    if kind == "integer":
        if not SMALLEST <= steps <= LARGEST:
            section.refuse_value(key, f"must fit in 64 bits, but is {_say(bound)}")
        return int(steps)
    if abs(steps) >= MOST_STEPS:
        section.refuse_value(key, f"must be fewer than 10^38 steps of grid {show(grid)}", "Write a coarser grid.")
    return bound


def _position(bound: Bound) -> Fraction:
    """Where a bound lies, in the unit of its grid: itself, days, or seconds from 1970."""
    if isinstance(bound, datetime):
        return Fraction((bound - datetime(1970, 1, 1)) // timedelta(microseconds=1)) * MICROSECOND  # noqa: DTZ001  naive means UTC
    return Fraction(bound.toordinal() if isinstance(bound, date) else bound)


def _say(bound: Bound) -> str:
    return bound.isoformat() if isinstance(bound, date) else show(bound)


def _read_values(section: Section, kind: str | None, max_length: int | None) -> tuple[str, tuple[Any, ...]]:
    """A list of values and the type that it implies."""
    for key in ("min", "max", "grid"):
        if key in section:
            section.refuse(key, f"{section.label} has both values and {key}", "A list of values needs no bounds.")
    given = _read_list(section)
    implied = _implied(given[0])
    values = tuple(_one_value(section, index, value, implied) for index, value in enumerate(given))
    _check_duplicates(section, values)
    if kind is not None and kind != implied:
        section.refuse_value("type", f"must be {implied}, as its values are, but is {kind}", "Leave type out.")
    if max_length is not None:
        _check_lengths(section, str(implied), values, max_length)
    return str(implied), values


def _read_list(section: Section) -> Sequence[Any]:
    given = section.content["values"]
    if not isinstance(given, list | tuple):
        section.refuse_kind("values", "a list", 'Write, for example, values = ["north", "south"].')
    if not given:
        section.refuse_value("values", "must not be empty", "Leave it out if any value may occur.")
    if len(given) > MOST_VALUES:
        rule = f"must have at most {MOST_VALUES:,} values, but has {len(given):,}"
        section.refuse_value("values", rule, "Leave it out: grouping by the column then needs partition selection.")
    return given


def _check_lengths(section: Section, implied: str, values: tuple[Any, ...], max_length: int) -> None:
    if implied != "text":
        _no_place(section, "max_length", implied)
    for index, value in enumerate(values):
        if len(value) > max_length:
            rule = f"holds {quote(value)}, which is longer than max_length {max_length}"
            section.refuse_value("values", rule, "Leave max_length out: the list determines it.", index)


def _implied(value: object) -> str | None:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    return "integer" if isinstance(value, Integral) else None


def _one_value(section: Section, index: int, value: Any, implied: str | None) -> str | int | bool:
    kind = _implied(value)
    if kind is None:
        rule = f"must hold text, whole numbers or true and false, but holds {kind_of(value)}"
        section.refuse_value("values", rule, index=index)
    if kind != implied:
        section.refuse_value("values", f"must hold one type, but holds {implied} and {kind}", index=index)
    if isinstance(value, str):
        if "\0" in value:
            section.refuse_value("values", "holds a text with NUL, which no engine can store", index=index)
        return str(value)
    if isinstance(value, bool):
        return value
    if not SMALLEST <= value <= LARGEST:
        section.refuse_value("values", "holds a number that does not fit in 64 bits", index=index)
    return int(value)


def _check_duplicates(section: Section, values: tuple[Any, ...]) -> None:
    seen = set()
    for index, value in enumerate(values):
        if value in seen:
            said = quote(value) if isinstance(value, str) else str(value).lower()
            section.refuse_value("values", f"holds {said} twice", "Write each value once.", index)
        seen.add(value)
