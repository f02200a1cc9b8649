"""Random small policies with the files that they name: whatever `check` calls valid can be opened and queried.

A world is a folder with a policy and its data. Columns are drawn from DECLARED, which has every kind of declaration
that a policy may hold; the cells of the coverage matrix are (kind of declaration, kind of file, protected or public).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from sfumato.types import identifier

NAMES = (
    "age",
    "Größe",
    "select",
    'a"b',
    "two words",
    "x-y",
    "A.B",
    "it's",
    "%s",
    "#person",
    "column0",
    "1st",
    "n",
    "rowid",
)
"""Of columns; every one is a column that somebody has."""
TABLES = ("patient", "Visit", "order", "my table", "t", "reg'ion", "größe")
TEXTS = (
    "",
    "a",
    "Paris",
    "é" * 3,
    "O'Neil",
    '"q"',
    "a,b",
    "a;b",
    "tab\there",
    "NULL",
    "0",
    "-1",
    "3.5",
    "2024-02-30",
    "nan",
)
NUMBERS = ("0", "1", "-1", "3.7", "1e3", "99999999999999999999", "-9223372036854775808", "1e400", "nan", "inf", "x", "")
MOMENTS = (
    "2024-01-31",
    "2024-02-30",
    "0001-01-01",
    "9999-12-31",
    "2024-01-31 10:11:12.5",
    "1969-12-31T23:59:59",
    "x",
    "",
)
TRUTHS = ("true", "false", "t", "0", "1", "yes", "")

DECLARED: dict[str, tuple[str, tuple[str, ...]]] = {
    "text": ('type = "text", max_length = 5', TEXTS),
    "text, unbounded": ('type = "text"', TEXTS),
    "text, length 1": ('type = "text", max_length = 1', TEXTS),
    "text, huge length": ('type = "text", max_length = 2000000000', TEXTS),
    "text list": ('values = ["a", "Paris", "O\'Neil", "", "é"]', TEXTS),
    "text list and length": ('values = ["a", "b"], max_length = 3', TEXTS),
    "integer": ('type = "integer"', NUMBERS),
    "integer, bounds": ('type = "integer", min = -5, max = 120', NUMBERS),
    "integer, all of them": ('type = "integer", min = -9223372036854775808, max = 9223372036854775807', NUMBERS),
    "integer, one": ('type = "integer", min = 7, max = 7', NUMBERS),
    "integer list": ("values = [1, 2, 9223372036854775807, -9223372036854775808]", NUMBERS),
    "decimal": ('type = "decimal"', NUMBERS),
    "decimal, bounds": ('type = "decimal", min = 0, max = 1000', NUMBERS),
    "decimal, grid": ('type = "decimal", min = 0, max = 1, grid = 0.01', NUMBERS),
    "decimal, fine grid": ('type = "decimal", min = 0, max = 1, grid = 0.00000000000000000001', NUMBERS),
    "decimal, coarse grid": ('type = "decimal", min = 0, max = 3000, grid = 1000', NUMBERS),
    "decimal, third of ten": ('type = "decimal", min = -30, max = 30, grid = 3', NUMBERS),
    "decimal, wide": ('type = "decimal", min = 0, max = 1e35, grid = 0.1', NUMBERS),
    "double": ('type = "double"', NUMBERS),
    "double, grid": ('type = "double", min = -1, max = 1, grid = 0.5', NUMBERS),
    "date": ('type = "date"', MOMENTS),
    "date, bounds": ('type = "date", min = 2020-01-01, max = 2030-12-31', MOMENTS),
    "date, all of them": ('type = "date", min = 0001-01-01, max = 9999-12-31', MOMENTS),
    "timestamp": ('type = "timestamp"', MOMENTS),
    "timestamp, bounds": ('type = "timestamp", min = 2020-01-01T00:00:00, max = 2030-01-01T00:00:00', MOMENTS),
    "timestamp, grid": ('type = "timestamp", min = 2020-01-01T00:00:00, max = 2030-01-01T00:00:00, grid = 60', MOMENTS),
    "boolean": ('type = "boolean"', TRUTHS),
    "boolean list": ("values = [true, false]", TRUTHS),
    "nothing": ("", TEXTS),
    "no nulls": ('type = "integer", min = 0, max = 9, nulls = false', NUMBERS),
    "length alone": ("max_length = 4", TEXTS),
    "bounds alone": ("min = 0, max = 9", NUMBERS),
    "days alone": ("min = 2020-01-01, max = 2024-12-31", MOMENTS),
}
STORED = (
    *("VARCHAR", "INTEGER", "BIGINT", "DOUBLE", "DECIMAL(9,2)", "DATE", "TIMESTAMP", "BOOLEAN", "UTINYINT", "HUGEINT"),
    *("FLOAT", "TIMESTAMPTZ", "TIME", "UUID", "BLOB", "INTEGER[]", "ENUM('a', 'b')"),
)
"""What a typed file may hold; `check` refuses what no query can read."""
FILES = ("csv", "tsv", "csv.gz", "jsonl", "parquet", "duckdb", "several")


@dataclass
class Written:
    """One table of a world: its name, whether it is public, and its columns by the kind of their declaration."""

    name: str
    public: bool
    columns: dict[str, str]
    unit: str | None = None


@dataclass
class World:
    """A folder with a policy; `files` is the kind of its files."""

    policy: Path
    files: str
    tables: list[Written] = field(default_factory=list)


def make_world(chance: random.Random, folder: Path, cell: tuple[str, str] | None = None) -> World:
    """Write a random policy with one to three tables and a dozen rows each, or with one column of a kind and a side."""
    world = World(folder / "sfumato.toml", chance.choice(FILES))
    names = chance.sample(TABLES, 1 if cell else chance.randint(1, 3))
    parts, stored = [], {}
    for number, name in enumerate(names):
        public = chance.random() < 0.4 and (number > 0 or len(names) == 1) if cell is None else cell[1] == "public"
        table = Written(name, public, {})
        for column in chance.sample(NAMES, 1 if cell else chance.randint(1, 4)):
            table.columns[column] = chance.choice(list(DECLARED)) if cell is None else cell[0]
        if not public:
            table.unit = "who"
        rows = [_row(chance, table) for _ in range(chance.choice((0, 1, 12)))]
        stored[name] = _store(chance, world, table, rows)
        parts.append(_section(chance, table))
        world.tables.append(table)
    extra = chance.choice(("", 'adjacency = "replace"\n', 'composition = "zcdp"\ndelta = 1e-6\n', "delta = 1e-6\n"))
    source = (
        '"data.duckdb"'
        if world.files == "duckdb"
        else f"{{ {', '.join(f'{_key(n)} = {f}' for n, f in stored.items())} }}"
    )
    world.policy.write_text(
        f'[source]\nengine = "duckdb"\nfiles = {source}\n[data]\nid = "d"\n'
        f"[privacy]\nepsilon = 1000\nquery_epsilon = 1\n{extra}{''.join(parts)}",
        encoding="utf-8",
    )
    return world


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _section(chance: random.Random, table: Written) -> str:
    head = f"[tables.{_key(table.name)}]\n"
    if table.public:
        head += "public = true\n"
        if chance.random() < 0.3:
            table.columns = {}
            return head
    else:
        head += f'unit = "who"\nrows_per_unit = {chance.choice(("1", "3", "3"))}\n'
    lines = [f"{_key(column)} = {{ {DECLARED[kind][0]} }}\n" for column, kind in table.columns.items()]
    who = [] if table.public else ['who = { type = "text", max_length = 4 }\n']
    return head + f"[tables.{_key(table.name)}.columns]\n" + "".join([*who, *lines])


def _row(chance: random.Random, table: Written) -> dict[str, str]:
    cells = {column: chance.choice(DECLARED[kind][1]) for column, kind in table.columns.items()}
    return cells if table.public else {"who": chance.choice(("p1", "p2", "p3", "p4")), **cells}


def _store(chance: random.Random, world: World, table: Written, rows: list[dict[str, str]]) -> str:
    """Write the rows; return what the policy says of them."""
    folder, number, kind = world.policy.parent, len(world.tables), world.files
    columns = [*([] if table.public else ["who"]), *table.columns]
    if kind in ("parquet", "duckdb"):
        return _store_typed(chance, world, table.name, columns, rows)
    if kind == "several":
        half = len(rows) // 2
        for i, part in enumerate((rows[:half], rows[half:])):
            _text(folder / f"t{number}-{i}.csv", columns, part)
        both = f'["t{number}-0.csv", "t{number}-1.csv"]'
        return both if chance.random() < 0.5 else f'"t{number}-*.csv"'
    place = folder / f"t{number}.{kind}"
    if kind == "jsonl":
        lines = [json.dumps(row) for row in rows or [dict.fromkeys(columns)]]
        place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        _text(place, columns, rows)
    return f'"{place.name}"'


def _text(place: Path, columns: list[str], rows: list[dict[str, str]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, delimiter="\t" if place.suffix == ".tsv" else ",")
    writer.writeheader()
    writer.writerows(rows)
    data = text.getvalue().encode()
    place.write_bytes(gzip.compress(data) if place.suffix == ".gz" else data)


def _store_typed(chance: random.Random, world: World, name: str, columns: list[str], rows: list[dict[str, str]]) -> str:
    folder, number = world.policy.parent, len(world.tables)
    types = {column: "VARCHAR" if column == "who" else chance.choice(("VARCHAR", *STORED)) for column in columns}
    declared = ", ".join(f"{identifier(column)} {kind}" for column, kind in types.items())
    in_file = world.files == "duckdb"
    with duckdb.connect(str(folder / "data.duckdb") if in_file else ":memory:") as connection:
        stored = identifier(name if in_file else "t")
        connection.execute(f"CREATE TABLE {stored} ({declared})")
        for row in rows:
            marks = ", ".join(f"TRY_CAST(? AS {types[column]})" for column in columns)
            connection.execute(f"INSERT INTO {stored} SELECT {marks}", [row[column] for column in columns])
        if not in_file:
            connection.execute(f"COPY {stored} TO '{folder}/t{number}.parquet' (FORMAT parquet)")
    return f'"t{number}.parquet"'


def cells_of(world: World) -> Counter[tuple[str, str, str]]:
    """What a world covers: declarations by kind of file, protected and public."""
    who = (
        (kind, "public" if table.public else "protected") for table in world.tables for kind in table.columns.values()
    )
    return Counter((kind, world.files, side) for kind, side in who)
