"""The cells of a map grid: which cell holds a point, and the list of all cells, from declared bounds alone.

In: the declared bounds of a latitude and a longitude, and the side of a cell in metres. Out: a `CellGrid`. Every number
is an integer or a Fraction, so the reference interpreter, the engine and the list of keys agree on each point.

Rows run along parallels and columns along meridians. A cell is `side` metres high and wide at the middle latitude of
the bounds; elsewhere its height in degrees is the same, and its width in metres shrinks with the cosine of the
latitude. No noise depends on the size of a cell, so this changes what a map shows and not what it reveals.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

MOST_CELLS = 1_000_000
LEAST_SIDE, MOST_SIDE = 1, 5_000_000
MOST_DIGITS = 7
"""Digits after the point of a cell's name: 1e-7 degrees are about a centimetre."""
LATITUDES, LONGITUDES = (-90, 90), (-180, 360)
_DECIMALS = Context(prec=50)
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582")
_RADIUS, _FLATTENING = Decimal(6_378_137), Decimal(1) / Decimal("298.257223563")
"""WGS 84."""


class GridRefused(ValueError):
    """Bounds or a side that give no grid; `str` says why, `hint` what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class CellGrid:
    """Cells of equal size in degrees: `height` and `width` are even numbers of 10^-`digits` degrees.

    Row 0 begins at `south`, column 0 at `west`. A cell holds its southern and western edge; the last row and the last
    column hold both edges.

    Guarantee: `cell` gives every point one of the `names`, also a point outside of the bounds.
    Proof: `_place` clamps the row to 0..rows - 1 and the column to 0..columns - 1; `names` goes through all of them.
    Reference: none; whole numbers.
    Checked by: laws::the_cell_of_a_point_is_the_same_in_the_engine, laws::every_cell_is_listed_once
    """

    digits: int
    south: Fraction
    height: int
    rows: int
    west: Fraction
    width: int
    columns: int

    @property
    def unit(self) -> Fraction:
        """The last digit of a name, in degrees."""
        return Fraction(1, 10**self.digits)

    @property
    def first(self) -> tuple[int, int]:
        """The centre of row 0 and column 0 in units, rounded down."""
        return (
            floor(self.south / self.unit) + self.height // 2,
            floor(self.west / self.unit) + self.width // 2,
        )

    def cell(self, lat: Fraction, lon: Fraction) -> str:
        """The name of the cell that holds a point."""
        row = _place((lat - self.south) / (self.height * self.unit), self.rows)
        column = _place((lon - self.west) / (self.width * self.unit), self.columns)
        return self.name(row, column)

    def name(self, row: int, column: int) -> str:
        """The centre of a cell as "latitude,longitude"."""
        lat, lon = self.first
        return f"{_degrees(lat + row * self.height, self.digits)},{_degrees(lon + column * self.width, self.digits)}"

    def written(self) -> str:
        """The grid as one line of text, which `read` reads."""
        return f"{self.digits} {self.south} {self.height} {self.rows} {self.west} {self.width} {self.columns}"


@lru_cache(maxsize=16)
def names(grid: CellGrid) -> tuple[str, ...]:
    """Every cell once, row by row from the south-west."""
    lat, lon = grid.first
    south_north = [_degrees(lat + row * grid.height, grid.digits) for row in range(grid.rows)]
    west_east = [_degrees(lon + column * grid.width, grid.digits) for column in range(grid.columns)]
    return tuple(f"{north},{east}" for north in south_north for east in west_east)


@lru_cache(maxsize=256)
def read(text: str) -> CellGrid:
    """The grid that `written` wrote."""
    digits, south, height, rows, west, width, columns = text.split()
    return CellGrid(int(digits), Fraction(south), int(height), int(rows), Fraction(west), int(width), int(columns))


def longest_name(grid: CellGrid) -> int:
    """Characters of the longest name: the ends of both axes are the longest."""
    return max(len(grid.name(row, column)) for row in (0, grid.rows - 1) for column in (0, grid.columns - 1))


def grid_over(lats: tuple[Fraction, Fraction], lons: tuple[Fraction, Fraction], side: Fraction) -> CellGrid:
    """The grid of cells of `side` metres over these bounds, or GridRefused."""
    _check(lats, lons, side)
    north_metre, east_metre = _degrees_of_a_metre((lats[0] + lats[1]) / 2)
    digits = next((d for d in range(1, MOST_DIGITS) if Fraction(1, 10**d) <= north_metre * side / 100), MOST_DIGITS)
    unit = Fraction(1, 10**digits)
    height = _even(side * north_metre / unit)
    width = min(_even(side * east_metre / unit), _even(Fraction(360) / unit))
    rows = _count(lats, height * unit, LATITUDES[1])
    columns = _count(lons, width * unit, 180 if lons[1] <= 180 else LONGITUDES[1])
    if rows * columns > MOST_CELLS:
        raise GridRefused(
            f"these bounds have {rows * columns:,} cells of this size, more than {MOST_CELLS:,}",
            "Use larger cells, or declare narrower bounds.",
        )
    return CellGrid(digits, lats[0], height, rows, lons[0], width, columns)


def _check(lats: tuple[Fraction, Fraction], lons: tuple[Fraction, Fraction], side: Fraction) -> None:
    if not LEAST_SIDE <= side <= MOST_SIDE:
        raise GridRefused(
            f"a cell is {LEAST_SIDE} to {MOST_SIDE:,} metres wide", "For example, geo_cell(lat, lon, 500)."
        )
    if lats[0] < LATITUDES[0] or lats[1] > LATITUDES[1]:
        raise GridRefused(
            "a latitude must be between -90 and 90 degrees", "Declare the latitude's bounds in the policy."
        )
    if lons[0] < LONGITUDES[0] or lons[1] > LONGITUDES[1] or lons[1] - lons[0] > 360:
        raise GridRefused(
            "a longitude must be between -180 and 360 degrees, and its bounds at most 360 degrees apart",
            "Declare the longitude's bounds in the policy; across the antimeridian, longitudes go from 0 to 360.",
        )


def _count(ends: tuple[Fraction, Fraction], size: Fraction, most: int) -> int:
    """How many cells an axis has: the last one may reach beyond the bounds, but its centre is a place on the earth."""
    count = max(1, ceil((ends[1] - ends[0]) / size))
    beyond = ends[0] + (count - Fraction(1, 2)) * size > most
    return count - 1 if beyond and count > 1 else count


def _place(steps: Fraction, count: int) -> int:
    return min(max(floor(steps), 0), count - 1)


def _even(number: Fraction) -> int:
    """The nearest even whole number, at least 2: half of it is a whole number of units."""
    return max(2, 2 * floor(number / 2 + Fraction(1, 2)))


def _degrees(units: int, digits: int) -> str:
    whole, rest = divmod(abs(units), 10**digits)
    return f"{'-' if units < 0 else ''}{whole}.{rest:0{digits}d}"


def _degrees_of_a_metre(latitude: Fraction) -> tuple[Fraction, Fraction]:
    """One metre to the north and to the east at a latitude, in degrees, on the ellipsoid of WGS 84.

    In decimals of 50 digits and not in floats: each machine gets the same grid.
    """
    c = _DECIMALS
    angle = c.divide(
        c.multiply(c.divide(Decimal(latitude.numerator), Decimal(latitude.denominator)), _PI), Decimal(180)
    )
    cosine = _cosine(angle)
    squash = c.multiply(_FLATTENING, c.subtract(Decimal(2), _FLATTENING))
    bent = c.subtract(Decimal(1), c.multiply(squash, c.subtract(Decimal(1), c.multiply(cosine, cosine))))
    across = c.divide(_RADIUS, c.sqrt(bent))
    along = c.divide(c.multiply(across, c.subtract(Decimal(1), squash)), bent)
    degree = c.divide(_PI, Decimal(180))
    least = Decimal("1e-6")  # at a pole a metre to the east has no end; a cell is never wider than the whole circle
    around = c.multiply(across, max(cosine, least))
    return tuple(1 / Fraction(c.multiply(degree, length)) for length in (along, around))  # type: ignore[return-value]


def _cosine(angle: Decimal) -> Decimal:
    """The cosine of an angle of at most a right one, by its series."""
    c = _DECIMALS
    square, term, total = c.multiply(angle, angle), Decimal(1), Decimal(1)
    for n in range(1, 40):
        term = c.divide(c.multiply(-term, square), Decimal((2 * n - 1) * 2 * n))
        total = c.add(total, term)
    return total
