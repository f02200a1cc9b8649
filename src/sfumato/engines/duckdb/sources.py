"""Where the rows of a table come from: files, a DuckDB database, or a frame that is registered.

Comes in: the policy's source and one of its tables. Goes out: what stands in FROM, and the columns that are read of it.
Text files are read as text: scans cast text totally, so no value of a row decides a type.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from sfumato.engines.base import OPERATOR
from sfumato.engines.duckdb import text_files
from sfumato.engines.duckdb.file_layout import files_of, folder_options, parquet_reader
from sfumato.engines.duckdb.statement_nodes import nodes, read_by_place
from sfumato.errors import PolicyError
from sfumato.policy import ROW, Policy, Table
from sfumato.types import identifier, string

_NUMBERS = ("integer", "decimal", "double")
FINER = "TIMESTAMPTZ_NS"
"""A type from which the engine has no cast to a time without a zone: it is read in microseconds, as all times are."""
_LINES = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz")


def columns_of(connection: duckdb.DuckDBPyConnection, source: str) -> dict[str, str]:
    """The columns of what stands in FROM, with the engine's names of their types."""
    return {str(row[0]): str(row[1]) for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}


def read_of(connection: duckdb.DuckDBPyConnection, table: Table, source: str) -> str:
    """The SELECT of the columns that the policy names; texts by their bytes, so that no collation of the source makes
    two of them equal.

    Where each row is a person, the person is a random number: it says nothing of the row, its place or the others.
    """
    there = columns_of(connection, source)
    missing = [name for name in table.columns if name not in there]
    if missing:
        raise PolicyError(
            f'table "{table.name}" has no column "{missing[0]}"',
            detail=f"The source has: {', '.join(sorted(there))}.",
            hint="Names must match exactly.",
        )
    large = [name for name, of in table.columns.items() if there[name] == "BIGNUM" and of.type in _NUMBERS]
    if large:  # of one that does not fit into 64 bits the engine's cast fails, though it must not
        raise PolicyError(
            f'column "{large[0]}" of table "{table.name}" is of type BIGNUM, and cannot be read as numbers',
            hint="Store it as HUGEINT or DECIMAL, or declare it as text.",
        )
    shown = [
        _shown(identifier(name), there[name])
        for name in (table.columns if table.columns or table.unit == ROW else there)
    ]
    shown = [*([f"uuid() AS {identifier(ROW)}"] if table.unit == ROW else []), *shown]
    return f"SELECT {', '.join(shown) or '*'} FROM {source}"


def _shown(name: str, kind: str) -> str:
    if kind.startswith("VARCHAR"):
        return f"DECODE(ENCODE({name})) AS {name}"
    return f"TRY_CAST({name} AS TIMESTAMPTZ) AS {name}" if kind == FINER else name


def view_of(connection: duckdb.DuckDBPyConnection, table: Table, policy: Policy) -> str | None:
    """The query of a view of the attached database, or None for a stored table."""
    rows = connection.execute(
        "SELECT sql FROM duckdb_views() WHERE database_name = 'source' AND schema_name = 'main' AND view_name = ?",
        [table.name],
    ).fetchall()
    if rows:
        head, query = (part.strip().rstrip(";") for part in str(rows[0][0]).split(" AS ", 1))
        listed = ", ".join(map(identifier, columns_of(connection, f"source.{identifier(table.name)}")))
        if any(node["class"] == "STAR" for node in nodes(connection, query)):
            if head.endswith(")"):
                hint = "Write the columns in the view instead of *."
                raise PolicyError(
                    f'the view "{table.name}" names the columns of *, which are those of the policy', hint=hint
                )
            listed = ""  # * is what the policy lists, in its order: such columns keep the names that they have
        _check_places(connection, table, policy, query)
        query = query.replace("count_star()", "count(*)")
        return f"SELECT * FROM ({query}) AS v ({listed})" if listed else query
    found = connection.execute(
        "SELECT COUNT(*) FROM duckdb_tables()"
        " WHERE database_name = 'source' AND schema_name = 'main' AND table_name = ?",
        [table.name],
    ).fetchone()
    if not found or not found[0]:
        raise PolicyError(f'the database has no table "{table.name}"', hint="Names must match exactly.")
    return None


def _check_places(connection: duckdb.DuckDBPyConnection, view: Table, policy: Policy, query: str) -> None:
    """Refuse a view that means columns by their places, where the policy has others there than the database."""
    alike = {name.lower(): table for name, table in policy.tables.items()}
    for name in read_by_place(connection, query):
        read = alike.get(name.lower())
        if read is None or not read.columns:  # a WITH query of the view, or a public table with all of its columns
            continue
        if list(read.columns) != list(columns_of(connection, f"source.{identifier(read.name)}")):
            raise PolicyError(
                f'the view "{view.name}" means columns of "{read.name}" by their places',
                detail="The policy lists other columns, or in another order, than the database has.",
                hint="Write the columns in the view, or list all columns in the policy in the order of the database.",
            )


def reader(connection: duckdb.DuckDBPyConnection, paths: str | tuple[str, ...], table: Table) -> str:
    """The table function that reads a file, several, or a glob; text stays text."""
    listed = [paths] if isinstance(paths, str) else list(paths)
    ending = Path(listed[0]).name.lower()
    if ending.endswith(text_files.ENDINGS):
        if table.public:  # nobody's data: its values may say its types
            return _with_decimals(connection, text_files.public_reader(listed), table)
        return text_files.reader(listed, lambda headers: folder_options(headers, table))
    if ending.endswith((".parquet", ".pq", *_LINES)):
        files = files_of(connection, listed)
        names = f"[{', '.join(map(text_files.exactly, files))}]"
        if ending.endswith(_LINES):
            if table.public:
                return _with_decimals(connection, f"read_json_auto({names})", table)
            columns = ", ".join(f"{string(name)}: 'VARCHAR'" for name in table.columns)
            options = folder_options(dict.fromkeys(files, ()), table)
            return f"read_json({names}, format = 'newline_delimited', columns = {{{columns}}}, {options})"
        if table.public:
            return f"read_parquet({names}, union_by_name = true)"
        return parquet_reader(connection, files, table)
    raise PolicyError(
        f'files of kind "{Path(listed[0]).suffix}" cannot be read',
        hint="Use .parquet, .csv, .jsonl, or one .duckdb database.",
    )


def _with_decimals(connection: duckdb.DuckDBPyConnection, source: str, table: Table) -> str:
    """Public rows of a text file, where numbers with a few digits after the point are decimals, as they are written.

    A text file has no types, and the engine reads 1.25 as a binary fraction; sums of such are not exact.
    """
    declared = {name for name, column in table.columns.items() if column.type == "double"}
    numbers = [n for n, kind in columns_of(connection, source).items() if kind == "DOUBLE" and n not in declared]
    if not numbers:
        return source
    told = ", ".join(
        f"bool_and(regexp_full_match({text}, '{_FEW_DIGITS}')), max(length(split_part(ltrim({text}, '-'), '.', 1))), "
        f"max(length(split_part({text}, '.', 2)))"
        for text in (f"CAST({identifier(name)} AS VARCHAR)" for name in numbers)
    )
    row = connection.execute(f"SELECT {told} FROM {source}").fetchone() or ()
    found = {name: row[3 * i : 3 * i + 3] for i, name in enumerate(numbers)}
    places = {name: after for name, (plain, before, after) in found.items() if plain and before + after <= _DIGITS}
    made = [f"CAST({identifier(name)} AS DECIMAL(18, {count})) AS {identifier(name)}" for name, count in places.items()]
    return f"(SELECT * REPLACE ({', '.join(made)}) FROM {source})" if made else source


_FEW_DIGITS = r"-?([0-9]{1,12}([.][0-9]{0,6})?|[.][0-9]{1,6})"
"""A number as people write it, also without a point or without digits before it."""
_DIGITS = 15
"""So many decimal digits, before and after the point, a double keeps."""


def kind_of(declared: str) -> str:
    """A type of DuckDB in the policy's words."""
    name = declared.split("(", maxsplit=1)[0].upper()
    if name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT"):
        return "integer"
    kinds = {"DECIMAL": "decimal", "FLOAT": "double", "DOUBLE": "double", "DATE": "date", "BOOLEAN": "boolean"}
    return "timestamp" if name.startswith("TIMESTAMP") else kinds.get(name, "text")


def unreadable(error: duckdb.Error) -> PolicyError:
    """What is said of a source that cannot be read; the engine's words go to the operator."""
    OPERATOR.error("loading failed: %s", str(error)[:10_000])
    return PolicyError(
        "the source cannot be read",
        detail=text_files.words_of(str(error)),
        hint="Check the files and columns of the policy. If it is a large CSV file whose quoted texts have line "
        "breaks, store it as Parquet.",
    )
