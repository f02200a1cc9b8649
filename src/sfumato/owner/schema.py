"""What a source says of itself: the names of its columns and their types.

Comes in: files, or one database. Goes out: names with the types that the source declares. Of Parquet the footer is
read, of a database its catalogue, of a text file the first line and not one byte more, of JSON lines the names in the
first line; no value, count, smallest or largest value is looked at (semantics 1.3).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb

from sfumato.engines.duckdb.text_files import ENDINGS as TEXT
from sfumato.engines.duckdb.text_files import exactly, first_line, found, header_of, missing
from sfumato.errors import PolicyError, SfumatoError
from sfumato.policy.sections import quote
from sfumato.types import identifier, string

PARQUET = (".parquet", ".pq")
LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".json")
DATABASE = ".duckdb"
ENDINGS = (*PARQUET, *TEXT, *LINES)

_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT"}
_KINDS = {"DECIMAL": "decimal", "FLOAT": "double", "DOUBLE": "double", "DATE": "date", "BOOLEAN": "boolean"}
_NOT_A_NAME = re.compile(r"[-+]?[\d.,:/\s-]*\d[\d.,:/\s-]*|")


@dataclass(frozen=True, slots=True)
class Link:
    """A foreign key that a database declares: `column` here is `key` in `table`."""

    column: str
    table: str
    key: str


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of one table, with the source's own words for their types.

    Not `typed` is a text file, which declares no types; known `by_rows` are the names of JSON lines, where a later line
    may have more of them. `unique` are columns that a database declares to be so.
    """

    columns: dict[str, str]
    typed: bool = True
    by_rows: bool = False
    unique: frozenset[str] = frozenset()
    links: tuple[Link, ...] = field(default=())
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The values of columns that are enumerations: they are part of a schema, not of rows."""
    filled: frozenset[str] = frozenset()
    """Columns that a database keeps from being NULL."""


@dataclass(frozen=True, slots=True)
class ServerSchemas:
    """The tables of a server, the names of its views, and why the others cannot be protected."""

    tables: dict[str, Schema]
    views: tuple[str, ...]
    refused: dict[str, PolicyError]


def kind_of(declared: str) -> str | None:
    """A type of the source in the policy's words; None for what no question can read.

    >>> kind_of("DECIMAL(9,2)"), kind_of("TIMESTAMP WITH TIME ZONE"), kind_of("BLOB"), kind_of("INTEGER[]")
    ('decimal', 'timestamp', None, None)
    """
    name = declared.split("(", maxsplit=1)[0].upper()
    if declared.endswith("]") or name in {"BLOB", "STRUCT", "MAP", "UNION", "BIT", "INTERVAL"}:
        return None
    if name in _WHOLE:
        return "integer"
    return "timestamp" if name.startswith("TIMESTAMP") else _KINDS.get(name, "text")


def is_kind(path: str, endings: Iterable[str]) -> bool:
    """Whether a path ends in one of these, in whatever case."""
    return path.lower().endswith(tuple(endings))


def of_files(paths: Iterable[str]) -> Schema:
    """The schema of a table in one file or several: all names of all files, in the order of their first mention."""
    listed = [file for path in paths for file in found(path)]
    if not listed:
        raise missing(", ".join(paths))
    kinds = {is_kind(file, PARQUET) for file in listed}
    if kinds == {True}:
        named = ", ".join(map(exactly, listed))
        return Schema(_described(f"read_parquet([{named}], union_by_name = true, hive_types_autocast = false)"))
    names: dict[str, str] = {}
    for file in listed:
        for name in _names(file):
            names.setdefault(name.casefold(), name)  # to the engine they are one column
    columns = dict.fromkeys(names.values(), "VARCHAR")
    return Schema(columns, typed=False, by_rows=any(is_kind(file, LINES) for file in listed))


def of_database(path: str) -> tuple[dict[str, Schema], list[str]]:
    """The tables of a database with what its catalogue declares, and the names of its views."""
    if not Path(path).is_file():
        raise missing(path)
    with duckdb.connect() as connection:
        try:
            connection.execute(f"ATTACH {string(path)} AS source (READ_ONLY)")
            return _tables(connection), _column(connection, "duckdb_views()", "view_name", "AND NOT internal")
        except duckdb.Error as error:
            raise _unreadable(path, error) from None


def of_server(address: str, names: Iterable[str] | None = None) -> ServerSchemas:
    """These tables of a PostgreSQL server as its catalog declares them; without names, all that the role may read."""
    from sfumato.engines.postgres import catalog
    from sfumato.engines.postgres.server import PostgresServer

    server = PostgresServer(address)
    try:
        found, views = ServerSchemas({}, (), {}), list[str]()
        for name in catalog.names(server) if names is None else names:
            try:
                table = catalog.table(server, name)
            except PolicyError as error:
                found.refused[name] = error
                continue
            if table.view is not None:
                views.append(name)
                continue
            columns = {c.name: c.declared for c in table.columns.values()}
            links = tuple(Link(link.column, link.table, link.key) for link in table.foreign)
            lists = {c.name: c.enum for c in table.columns.values() if c.enum is not None}
            single = frozenset(column for key in table.unique if len(key) == 1 for column in key)
            filled = frozenset(c.name for c in table.columns.values() if c.not_null)
            found.tables[name] = Schema(columns, unique=single, links=links, lists=lists, filled=filled)
        return replace(found, views=tuple(views))
    finally:
        server.close()


def of_catalog(master: str, schema: str) -> tuple[list[str], list[str]]:
    """The names of the tables of a schema that Spark knows, and those of its views."""
    from sfumato.engines.spark.session import SparkServer

    server = SparkServer(master)
    try:
        names = server.tables_in(schema)
        views = [name for name in names if server.is_view(name)]
        return [name for name in names if name not in views], views
    except SfumatoError:
        raise
    except Exception:  # noqa: BLE001  whatever Spark says
        raise PolicyError(f"the catalog has no schema {quote(schema)}", hint="Spark's catalogs decide.") from None
    finally:
        server.close()


def of_spark(
    master: str, tables: Mapping[str, str | tuple[str, ...]]
) -> tuple[dict[str, Schema], dict[str, PolicyError]]:
    """The tables that Spark reads, as their files or catalogs declare them; and what is wrong with others.

    No row is read, but for the first line of a text file: whether rows can be protected is looked at by the engine.
    """
    from sfumato.engines.spark.session import SparkServer
    from sfumato.engines.spark.tables import open_table, placed

    server, found, wrong = SparkServer(master), dict[str, Schema](), dict[str, PolicyError]()
    try:
        for name, written in tables.items():
            try:
                table = open_table(server, name, written, public=True)
            except PolicyError as error:
                wrong[name] = error
                continue
            first = written if isinstance(written, str) else written[0]
            columns = {column.name: column.declared for column in table.columns.values()}
            found[name] = Schema(columns, typed=placed(first)[0] != "csv")
        return found, wrong
    finally:
        server.close()


def _tables(connection: duckdb.DuckDBPyConnection) -> dict[str, Schema]:
    tables = {}
    for name in _column(connection, "duckdb_tables()", "table_name"):
        rows = connection.execute(f"DESCRIBE source.{identifier(name)}").fetchall()
        unique, links = _constraints(connection, name)
        filled = frozenset(str(row[0]) for row in rows if row[2] == "NO")
        tables[name] = Schema({str(row[0]): str(row[1]) for row in rows}, unique=unique, links=links, filled=filled)
    return tables


def _column(connection: duckdb.DuckDBPyConnection, source: str, name: str, more: str = "") -> list[str]:
    sql = f"SELECT {name} FROM {source} WHERE database_name = 'source' AND schema_name = 'main' {more} ORDER BY {name}"
    return [str(row[0]) for row in connection.execute(sql).fetchall()]


def _constraints(connection: duckdb.DuckDBPyConnection, table: str) -> tuple[frozenset[str], tuple[Link, ...]]:
    """Columns that are unique by themselves, and foreign keys of one column."""
    rows = connection.execute(
        "SELECT constraint_type, constraint_column_names, referenced_table, referenced_column_names"
        " FROM duckdb_constraints() WHERE database_name = 'source' AND schema_name = 'main' AND table_name = ?",
        [table],
    ).fetchall()
    alone = [row for row in rows if len(row[1] or ()) == 1]
    unique = frozenset(str(row[1][0]) for row in alone if row[0] in ("PRIMARY KEY", "UNIQUE"))
    links = (Link(str(row[1][0]), str(row[2]), str(row[3][0])) for row in alone if row[0] == "FOREIGN KEY")
    return unique, tuple(links)


def _described(reader: str) -> dict[str, str]:
    with duckdb.connect() as connection:
        try:
            rows = connection.execute(f"DESCRIBE SELECT * FROM {reader}").fetchall()
        except duckdb.Error as error:
            raise _unreadable(reader.split("'")[1], error) from None
    return {str(row[0]): str(row[1]) for row in rows}


def _unreadable(path: str, error: Exception) -> PolicyError:
    reason = str(error).split("\n", maxsplit=1)[0]
    return PolicyError(f"cannot read {quote(path, 200)}", detail=reason, hint="Is the file complete and of this type?")


def _names(file: str) -> list[str]:
    if is_kind(file, LINES):
        return _names_of_object(file)
    if is_kind(file, TEXT):
        return _names_of_header(file)
    raise PolicyError(
        f"cannot tell the type of {quote(file, 200)} is", hint=f"Use {', '.join(ENDINGS)}, or one {DATABASE}."
    )


def _names_of_header(file: str) -> list[str]:
    """The header as the engine reads it."""
    columns = list(header_of(file).names)
    if 2 * sum(_NOT_A_NAME.fullmatch(name.strip()) is not None for name in columns) > len(columns):
        raise PolicyError(
            f"the first line of {quote(file, 200)} does not look like names",
            hint="A text file starts with the names of its columns: add that line.",
        )
    return columns


def _names_of_object(file: str) -> list[str]:
    """The names in the first line of JSON lines; its values are dropped as they are parsed."""
    try:
        names = json.loads(first_line(file, quoted=False), object_pairs_hook=lambda pairs: tuple(k for k, _ in pairs))
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, tuple):  # a list would be values
        hint = "Each line must be one JSON object by itself."
        raise PolicyError(f"the first line of {quote(file, 200)} is not a JSON object", hint=hint)
    return list(names)
