"""What the owner decided, as frozen records: the vocabulary that the planner, the ledger and the engines read.

Comes in: what `reading` has checked. Goes out: plain data. Every number that carries a guarantee is an int or a
Fraction; moments are naive datetimes in UTC, so that no comparison depends on a machine's time zone.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, date, datetime
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from sfumato.types import Adjacency

AUTO: Literal["auto"] = "auto"
"""A bound that is to be paid for and found, once for each data version: see `unknown`."""

ROW = "#row"
"""The unit of a table in which each row is one person: written `unit = "row"`. No column of a source has this name."""

CALENDAR = {"daily": "%Y-%m-%d", "monthly": "%Y-%m"}
"""Versions that the calendar names; any other word is the owner's own name."""

LIVE = "live"
"""The version of rows that change by themselves, in a database: answers are told again while nothing has changed."""

FORMATS, CATALOG = ("parquet", "csv", "delta", "iceberg", "orc"), "table"
"""What may stand before the path of a table of Spark, and before the name of one in a catalog."""

Bound = int | Fraction | date | datetime


@dataclass(frozen=True, slots=True)
class DataSource:
    """Where the rows are. `files` maps a table to a path or several, or is the path of one .duckdb database.

    Of Spark `files` are its tables, and `dsn` is where it runs: what the policy calls its master.
    """

    engine: str
    files: dict[str, str | tuple[str, ...]] | str | None
    dsn: str | None


@dataclass(frozen=True, slots=True)
class Data:
    """Which data set this is: the budget belongs to `id`. A ledger may be a postgresql:// address."""

    id: str
    version: str
    ledger: str
    anchor: str | None
    state: str
    schema: str = "public"
    """What may stand before the name of a table: schema.table."""


@dataclass(frozen=True, slots=True)
class Privacy:
    """The promise and its prices (semantics 5.1, 5.3). `partition` is (table, column) or None."""

    epsilon: Fraction
    delta: Fraction
    delta_selection: Fraction
    adjacency: Adjacency
    composition: str
    query_epsilon: Fraction
    query_delta: Fraction
    min_epsilon: Fraction
    timing: str
    failures: int
    partition: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Share:
    """How much of the total one analyst may spend, and what the analyst's connections start with."""

    name: str
    epsilon: Fraction
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyColumn:
    """The declared domain of a column, enforced in the scan (semantics 1.4).

    `type` is None where the owner left it to the schema of a database or a Parquet file; `with_types` fills it in.
    `grid` is in the column's own unit: 1 for integers, days for dates, seconds for timestamps.
    """

    name: str
    type: str | None
    low: Bound | None = None
    high: Bound | None = None
    grid: Fraction | None = None
    values: tuple[str, ...] | tuple[int, ...] | tuple[bool, ...] | None = None
    max_length: int | None = None
    nulls: bool = True

    @property
    def domain(self) -> tuple[object, ...]:
        """What the scan makes of a value: columns that agree in this show the same value alike."""
        return (self.type, self.low, self.high, self.grid, self.values, self.max_length)


@dataclass(frozen=True, slots=True)
class DeclaredPoint:
    """Two columns that are a place on the earth, in degrees, and the side of a map cell in metres."""

    name: str
    lat: str
    lon: str
    grid: Fraction


@dataclass(frozen=True, slots=True)
class UnitJoin:
    """The unit stands in another table: `column` of this one equals `key` of `table`, which is unique there.

    Of a composite key these are the first pair, and `more` are the others, in the order of their names: all of them
    together are unique.
    """

    table: str
    column: str
    key: str
    more: tuple[tuple[str, str], ...] = ()

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All pairs of a column and the column of the key that it equals."""
        return ((self.column, self.key), *self.more)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the other table that are its key."""
        return tuple(key for _, key in self.pairs)

    @property
    def place(self) -> str:
        """The key with its table, as errors name it."""
        return f"{self.table}.{', '.join(self.keys)}"


FEW_GROUPS = 20
"""Under how many open keys a person counts where the owner does not say."""


def groups_by_default(rows: int) -> int | None:
    """What `groups_per_unit` is where the owner does not say: as many as rows, if these are few."""
    return rows if rows <= FEW_GROUPS else None


@dataclass(frozen=True, slots=True)
class Table:
    """A table that may be asked about. A public one has no unit, and None for `rows_per_unit`: nobody owns its rows.

    `unit` is the name of a column, a way to another table, or ROW: then each row is a person of its own.
    Where `rows_per_unit` is to be found, the two after it may wait for it. `groups_per_unit` is None where the owner
    does not say it and rows are more than `FEW_GROUPS`: then so many open keys of a person count, and all different
    values.
    """

    name: str
    public: bool
    unit: str | UnitJoin | None
    rows_per_unit: int | Literal["auto"] | None
    groups_per_unit: int | Literal["auto"] | None
    l2_per_unit: Fraction | Literal["auto"]
    sum_per_unit: dict[str, Fraction | Literal["auto"]]
    columns: dict[str, PolicyColumn]
    points: dict[str, DeclaredPoint] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything that the owner decided. `digest` names what it means: see `digest_of`."""

    path: Path | None
    source: DataSource
    data: Data
    privacy: Privacy
    analysts: dict[str, Share]
    tables: dict[str, Table]
    digest: str

    @property
    def dated(self) -> bool:
        """Whether the calendar names the data version, and not the owner."""
        return self.data.version in CALENDAR

    def version_at(self, now: datetime) -> str:
        """The data version at a moment: the owner's name for it, or the day or month in UTC.

        A moment without a zone is taken as UTC, as everywhere in a policy.
        """
        form = CALENDAR.get(self.data.version)
        return self.data.version if form is None else utc(now).strftime(form)


def units_of(tables: dict[str, Table]) -> dict[str, dict[str, str]]:
    """What one unit is in each table, as the ledger records it: nothing for a public table."""
    return {name: _unit(table) for name, table in tables.items()}


def _unit(table: Table) -> dict[str, str]:
    if isinstance(table.unit, UnitJoin):
        more = {"more": json.dumps(table.unit.more)} if table.unit.more else {}
        return {"column": table.unit.column, "join": table.unit.table, "key": table.unit.key} | more
    if table.unit is None:
        return {}
    if table.unit == ROW:
        return {"column": ROW}
    kind = table.columns[table.unit].type
    return {"column": table.unit} | ({} if kind is None else {"type": kind})


def utc(moment: datetime) -> datetime:
    """A moment as a naive datetime in UTC."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def digest_of(data: Data, privacy: Privacy, tables: dict[str, Table]) -> str:
    """SHA-256, in hex, of a canonical JSON of everything that changes what an answer means or costs.

    Left out, because an answer stays the same answer: paths, engine, ledger, version (it stands beside the digest in
    the key of a stored answer), budgets and shares (the ledger records them by itself; a raised budget must not make
    people pay again for what they have), timing, failures. Defaults are filled in before, so that writing a default
    down changes nothing. The order of keys means nothing; that of `values` is the order of the groups in an answer.
    """
    return hashlib.sha256(document_of(data, privacy, tables).encode("ascii")).hexdigest()


def document_of(data: Data, privacy: Privacy, tables: dict[str, Table]) -> str:
    """The canonical JSON that a digest is the hash of; `earlier_policies` reads it back."""
    meant = {"adjacency": privacy.adjacency, "partition": privacy.partition}
    document = {"format": 1, "id": data.id, "privacy": meant, "tables": tables}
    return json.dumps(document, default=_plain, sort_keys=True, separators=(",", ":"))


def _fields(record: Any) -> dict[str, Any]:
    """The parts of a record; without points or more pairs of a key it has the digest from before there were any."""
    parts = {part.name: getattr(record, part.name) for part in fields(record)}
    return {name: part for name, part in parts.items() if name not in ("points", "more") or part}


def _plain(value: object) -> object:
    """What JSON cannot say by itself."""
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return _fields(value)
    raise TypeError(f"{type(value).__name__} has no place in a digest")
