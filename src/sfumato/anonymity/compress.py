"""A table, compressed once by the engine: distinct combinations with counts, and small codes for values.

Comes in: a source, its quasi-identifiers with hierarchies, the sensitive column and columns that are kept as they are.
Goes out: Tuples for the search, and what is needed to write the release: the rows themselves are not read again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

import duckdb
import numpy as np

from sfumato.anonymity.classes import Codes, Ints, Ladder, Tuples
from sfumato.anonymity.hierarchies import Hierarchy
from sfumato.anonymity.source import SourceTable, unreadable
from sfumato.errors import InputError
from sfumato.types import identifier, string

_UNITS = 1 << 62
"""The loss of a table of which every row is suppressed, in units, about: shares are whole numbers of units, so that
losses add up exactly."""
_MOST_COUNTS = 200_000_000
"""Cells of the table of combinations by sensitive values."""


@dataclass(frozen=True)
class Compressed:
    """The table by distinct combinations: for each line its tuple, its payload and how many rows it stands for.

    A payload is a combination of the sensitive value and the columns that are kept.
    """

    tuples: Tuples
    tuple_of: Ints
    payload_of: Ints
    counts: Ints
    payloads: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]

    def without_sensitive(self) -> Tuples:
        """The tuples with one count each, for models that do not look at the sensitive value."""
        return replace(self.tuples, histogram=self.tuples.histogram.sum(axis=1, keepdims=True), sensitive=("",))


def compress(
    source: SourceTable,
    quasi: Sequence[str],
    sensitive: str | None,
    kept: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    *,
    order: Sequence[str] = (),
    diverse: bool = True,
    population: SourceTable | None = None,
) -> Compressed:
    """Group the rows in the engine; `diverse` says whether sensitive values are counted apart."""
    layout = _Layout(tuple(quasi), sensitive, tuple(kept), hierarchies, tuple(order), diverse, population is not None)
    source.check_columns([*layout.columns])
    engine = source.engine
    shown = ", ".join(f"{_text(name)} AS c{i}" for i, name in enumerate(layout.columns))
    try:
        grouped = f"SELECT {shown}, COUNT(*) AS n, 0 AS people FROM ({source.sql}) GROUP BY ALL"
        engine.execute(f"CREATE OR REPLACE TEMP TABLE lines AS {grouped}")
        if population is not None:
            _add_population(engine, population, layout)
    except duckdb.Error as error:
        raise unreadable(source.name, error) from None
    return _coded(engine, layout)


@dataclass(frozen=True)
class _Layout:
    """Which columns there are, and how they are coded."""

    quasi: tuple[str, ...]
    sensitive: str | None
    kept: tuple[str, ...]
    hierarchies: Mapping[str, Hierarchy]
    order: tuple[str, ...]
    diverse: bool
    people: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """Quasi-identifiers, the sensitive column, and what is kept."""
        return (*self.quasi, *((self.sensitive,) if self.sensitive else ()), *self.kept)


def _text(name: str) -> str:
    return f"coalesce(CAST({identifier(name)} AS VARCHAR), '')"


def _add_population(engine: duckdb.DuckDBPyConnection, population: SourceTable, layout: _Layout) -> None:
    """Combinations of the larger table, without rows of ours."""
    population.check_columns(list(layout.quasi))
    chosen = ", ".join(_text(name) for name in layout.quasi)
    rows = population.engine.execute(f"SELECT {chosen}, COUNT(*) FROM ({population.sql}) GROUP BY ALL").fetchall()
    if not rows:
        raise InputError("the population has no rows", hint="Name a larger table with --population FILE.")
    values = [*("?" for _ in layout.quasi), *("''" for _ in layout.columns[len(layout.quasi) :]), "0", "?"]
    engine.executemany(f"INSERT INTO lines VALUES ({', '.join(values)})", [list(row) for row in rows])


def _coded(engine: duckdb.DuckDBPyConnection, layout: _Layout) -> Compressed:
    quasi, wide = layout.quasi, len(layout.columns)
    values = [_values(engine, i, ours=layout.people and i >= len(quasi)) for i in range(wide)]
    codes = _codes(engine, values)
    counts, totals = codes.pop("n"), codes.pop("people")
    if not counts.sum():
        raise InputError("the table has no rows")
    sizes = [len(distinct) for distinct in values]
    columns = [codes[f"c{i}"] for i in range(wide)]
    first, tuple_of = number_rows(columns[: len(quasi)], sizes[: len(quasi)])
    start, payload_of = number_rows(columns[len(quasi) :], sizes[len(quasi) :])
    payloads = tuple(tuple(values[i][columns[i][at]] for i in range(len(quasi), wide)) for at in start.tolist())
    unit = _unit([layout.hierarchies[name].domain for name in quasi], int(counts.sum()))
    names: tuple[str, ...] = ("",)
    if layout.sensitive is None or not layout.diverse:
        flat = np.bincount(tuple_of, weights=counts, minlength=len(first))
    else:
        names = _in_order(values[len(quasi)], layout.order)
        _check_counts(len(first), len(names))
        places = np.array([names.index(value) for value in values[len(quasi)]])[columns[len(quasi)]]
        flat = np.bincount(tuple_of * len(names) + places, weights=counts, minlength=len(first) * len(names))
    world = np.bincount(tuple_of, weights=totals, minlength=len(first)).astype(np.int64)
    tuples = Tuples(
        tuple(_ladder(name, values[i], layout.hierarchies[name], unit) for i, name in enumerate(quasi)),
        tuple(_narrow(columns[i][first], sizes[i]) for i in range(len(quasi))),
        flat.astype(np.int64).reshape(len(first), len(names)),
        names,
        unit,
        world if layout.people else None,
    )
    return Compressed(tuples, tuple_of, payload_of, counts, payloads, layout.columns)


def _unit(domains: Sequence[int], rows: int) -> int:
    """Units of one whole column: every share is a whole number of them, unless the domains ask for too fine ones."""
    most = _UNITS // (len(domains) * rows)
    steps = math.lcm(*(domain - 1 for domain in domains if domain > 1))
    return most - most % steps if steps <= most else most


def _check_counts(many: int, values: int) -> None:
    if many * values > _MOST_COUNTS:
        raise InputError(
            f"the sensitive column has too many different values ({values:,})", hint="Round or group its values first."
        )


def _values(engine: duckdb.DuckDBPyConnection, i: int, *, ours: bool) -> list[str]:
    """The distinct values of a column; only those of our rows, where lines of a population have none."""
    rows = engine.execute(f"SELECT DISTINCT c{i} FROM lines WHERE n > 0 OR NOT {ours} ORDER BY 1").fetchall()
    return [row[0] for row in rows] or [""]


def _codes(engine: duckdb.DuckDBPyConnection, values: list[list[str]]) -> dict[str, Ints]:
    """Every line with numbers in the place of texts; the engine translates."""
    parts = []
    for i, distinct in enumerate(values):
        if len(distinct) == 1:
            parts.append(f"0 AS c{i}")
            continue
        engine.execute(f"DROP TYPE IF EXISTS e{i}")
        engine.execute(f"CREATE TYPE e{i} AS ENUM ({', '.join(map(string, distinct))})")
        parts.append(f"coalesce(enum_code(TRY_CAST(c{i} AS e{i})), 0) AS c{i}")
    fetched = engine.execute(f"SELECT {', '.join([*parts, 'n', 'people'])} FROM lines").fetchnumpy()
    return {name: np.asarray(column).astype(np.int64) for name, column in fetched.items()}


def _narrow(codes: Ints, many: int) -> Codes:
    return codes.astype(np.uint8 if many <= 256 else np.uint16 if many <= 65_536 else np.uint32)


def number_rows(columns: list[Ints], sizes: list[int]) -> tuple[Ints, Ints]:
    """Distinct rows of these columns: the place of one of each, and for every row the number of its kind."""
    if not columns:
        return np.zeros(1, np.int64), np.zeros(0, np.int64)
    key, space = np.zeros(len(columns[0]), np.int64), 1
    for column, many in zip(columns, sizes, strict=True):
        if space * many >= 1 << 62:
            _, key = np.unique(key, return_inverse=True)
            space = len(key)
        key, space = key * many + column, space * many
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first, inverse


def _in_order(values: Sequence[str], order: Sequence[str]) -> tuple[str, ...]:
    """Sensitive values from low to high: as declared, as numbers if all of them are, else by their text."""
    if order:
        twice = next((value for value in order if order.count(value) > 1), None)
        if twice is not None:
            raise InputError(f'the order of sensitive values has "{twice}" twice', hint="Name each value once.")
        missing = [value for value in values if value not in order]
        if missing:
            raise InputError(f'the order of sensitive values lacks "{missing[0]}"')
        return tuple(value for value in order if value in {*values})  # the distance is over values that occur
    try:
        numbers = {value: Decimal(value) for value in values}
    except InvalidOperation:
        numbers = {"": Decimal("NaN")}
    if all(number.is_finite() for number in numbers.values()):
        return tuple(sorted(values, key=lambda value: (numbers[value], value)))
    return tuple(sorted(values))


def _ladder(name: str, values: list[str], hierarchy: Hierarchy, unit: int) -> Ladder:
    """The labels of every value that occurs, as codes."""
    rows = []
    for value in values:
        labels = hierarchy.labels(value)
        if labels is None:
            raise InputError(
                f'the hierarchy of "{name}" does not cover a value',
                detail="The value is empty." if not value.strip() else f'The value is "{value[:80]}".',
                hint="Add it to the hierarchy, or remove its rows.",
            )
        rows.append(labels)
    groups, names, shares = [], [], []
    for level in range(hierarchy.height + 1):
        distinct = sorted({row[level] for row in rows})
        place = {label: i for i, label in enumerate(distinct)}
        groups.append(_narrow(np.array([place[row[level]] for row in rows]), len(distinct)))
        names.append(tuple(distinct))
        shares.append([hierarchy.share(level, label) * unit for label in distinct])
    whole = tuple(np.array([int(share) for share in level], np.int64) for level in shares)
    exact = all(share.denominator == 1 for level in shares for share in level)
    return Ladder(name, tuple(groups), tuple(names), whole, exact, () if exact else tuple(map(tuple, shares)))
