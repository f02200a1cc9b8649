"""Points: two columns that are a latitude and a longitude, declared as `place = { type = "point", grid = 500 }`.

In: the entries of [tables.NAME.columns] whose type is "point", and the other columns. Out: a `Point` for each. A point
is not a column of the source. Its name stands for the cell of a map grid of `grid` metres, over the declared bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sfumato.policy.records import DeclaredPoint, PolicyColumn
from sfumato.policy.sections import Section, quote
from sfumato.types import show

POINT = "point"
_NUMBERS = ("decimal", "double", "integer", None)
_LIMITS = {"lat": (Fraction(-90), Fraction(90)), "lon": (Fraction(-180), Fraction(360))}
_SIDES = (Fraction(1), Fraction(5_000_000))
_WORDS = {"lat": "latitude", "lon": "longitude"}


def is_point(section: Section) -> bool:
    """Whether an entry among the columns declares a point."""
    return section.content.get("type") == POINT


def read_point(section: Section, columns: Mapping[str, PolicyColumn]) -> DeclaredPoint:
    """One point; `lat` and `lon` name its columns, and are "lat" and "lon" where they are left out."""
    section.only("type", "grid", "lat", "lon")
    section.needs("grid", "Add the side of a cell in metres, for example grid = 500.")
    grid = section.positive("grid", Fraction(1))
    if not _SIDES[0] <= grid <= _SIDES[1]:
        section.refuse_value("grid", f"must be from 1 to 5,000,000 metres, but is {show(grid)}")
    lat, lon = (_coordinate(section, key, columns) for key in ("lat", "lon"))
    return DeclaredPoint(str(section.path[-1]), lat, lon, grid)


def _coordinate(section: Section, key: str, columns: Mapping[str, PolicyColumn]) -> str:
    """The name of a listed column with bounds that a latitude or a longitude can have."""
    name = section.text(key, key)
    if name not in columns:
        hint = f"List the column, or name another: {key} = …"
        section.refuse(key, f"{section.label} has no {_WORDS[key]}: {quote(name)} is not a listed column", hint)
    column, (least, most) = columns[name], _LIMITS[key]
    where = f"column {quote(name)}, the {_WORDS[key]} of {section.label},"
    if column.type not in _NUMBERS or column.values is not None:
        section.refuse(key, f"{where} is not a column of numbers with bounds")
    low, high = column.low, column.high
    if not isinstance(low, int | Fraction) or not isinstance(high, int | Fraction):
        section.refuse(key, f"{where} has no bounds", "Add min, max and grid in degrees: cells are listed from them.")
    if low < least or high > most or high - low > 360:
        section.refuse(key, f"{where} must lie between {show(least)} and {show(most)} degrees")
    return name
