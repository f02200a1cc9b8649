"""Tables to anonymise: CSV and Parquet files, tables of a DuckDB database or of PostgreSQL, in an engine of our own.

Comes in: `people.csv`, `people.parquet`, `clinic.duckdb#patient` or `postgresql://…#patient`. Goes out: an engine and
the SQL that reads every column as text. How a row of a text file is read depends on the first line and on itself.
"""

from __future__ import annotations

import contextlib
import csv
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

from sfumato.errors import EngineError, InputError
from sfumato.types import identifier, string

_SIGNS = ",;\t|"
_TEXT = (".csv", ".tsv", ".txt", ".csv.gz")
_DATABASE = (".duckdb", ".db")
_REMOTE = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class SourceTable:
    """An engine that can read the rows, and the names of the columns."""

    engine: duckdb.DuckDBPyConnection
    sql: str
    columns: tuple[str, ...]
    name: str
    sign: str = ","
    text: bool = False

    def check_columns(self, wanted: list[str]) -> None:
        """Refuse a name that the table does not have."""
        for column in wanted:
            if column not in self.columns:
                raise InputError(
                    f'"{self.name}" has no column "{column}"', hint=f"Its columns are {', '.join(self.columns)}."
                )


@contextlib.contextmanager
def open_source(data: str | Path) -> Iterator[SourceTable]:
    """The table behind a name, for as long as it is needed."""
    with contextlib.ExitStack() as stack:
        engine = stack.enter_context(contextlib.closing(duckdb.connect()))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sfumato-")))
        engine.execute("SET threads = 1")
        engine.execute(f"SET temp_directory = {string(str(folder))}")
        yield _opened(engine, str(data), folder)


def _opened(engine: duckdb.DuckDBPyConnection, data: str, folder: Path) -> SourceTable:
    try:
        if data.startswith(_REMOTE):
            from sfumato.anonymity.postgres import fetch

            address, table = _parts(data)
            return _read(engine, fetch(address, table, folder), table)
        if "#" in data and data.partition("#")[0].lower().endswith(_DATABASE):
            return _attached(engine, *_parts(data))
        file = Path(data)
        if not file.is_file():
            raise InputError(f'there is no file "{data}"', sqlstate="58P01")
        if data.lower().endswith(_DATABASE):
            raise InputError(f'which table of "{file.name}"?', hint=f"Write {data}#TABLE.")
        return _read(engine, file, file.name)
    except duckdb.Error as error:
        raise unreadable(data, error) from None


def unreadable(data: str, error: duckdb.Error) -> InputError:
    """The engine's complaint about a file, as one error."""
    return InputError(
        f'"{Path(data).name}" cannot be read as a table',
        detail=str(error).split("\n")[0],
        hint="Give a Parquet file, or a CSV in UTF-8 whose first line names the columns and whose lines all match it.",
    )


def _parts(data: str) -> tuple[str, str]:
    place, _, table = data.rpartition("#")
    if not place or not table:
        raise InputError(f'which table of "{data.rpartition("@")[2]}"?', hint="Write …#TABLE.")
    return place, table


def _attached(engine: duckdb.DuckDBPyConnection, place: str, table: str) -> SourceTable:
    if not Path(place).is_file():
        raise InputError(f'there is no file "{place}"', sqlstate="58P01")
    engine.execute(f"ATTACH {string(place)} AS source (READ_ONLY)")
    reading = f"SELECT * FROM source.{'.'.join(identifier(part) for part in table.split('.'))}"
    return SourceTable(engine, reading, _names(engine, reading), table)


def _read(engine: duckdb.DuckDBPyConnection, file: Path, name: str) -> SourceTable:
    if file.stat().st_size == 0:
        raise InputError(f'"{name}" is empty')
    with file.open("rb") as stream:
        parquet = stream.read(4) == b"PAR1"
    if parquet:
        reading = f"SELECT * FROM read_parquet({string(str(file))})"
        return SourceTable(engine, reading, _names(engine, reading), name)
    if not name.lower().endswith(_TEXT) and not str(file).lower().endswith(_TEXT):
        raise InputError(f'"{name}" is neither CSV nor Parquet', hint="Give a .csv, .parquet or DATABASE.duckdb#TABLE.")
    columns, sign = header_of(file)
    shape = ", ".join(f"{string(column)}: 'VARCHAR'" for column in columns)
    reading = (
        f"SELECT * FROM read_csv({string(str(file))}, auto_detect = false, header = true, skip = 0, "
        f"delim = {string(sign)}, quote = '\"', escape = '\"', comment = '', nullstr = '', columns = {{{shape}}})"
    )
    return SourceTable(engine, reading, columns, name, sign, text=True)


def header_of(file: Path) -> tuple[tuple[str, ...], str]:
    """The names in the first line of a text file, and the sign between them."""
    import gzip

    opening = gzip.open if file.name.lower().endswith(".gz") else open
    try:
        with opening(file, "rt", encoding="utf-8-sig", newline="") as stream:
            line = stream.readline(1 << 20)
    except (UnicodeDecodeError, EOFError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise InputError(f'"{file.name}" is not UTF-8 text', hint="Save it as UTF-8.") from None
    if not line.strip() or "\0" in line:
        raise InputError(f'the first line of "{file.name}" holds no names', hint="Add the names of its columns.")
    if line.count('"') % 2:  # the engine would lose rows
        raise InputError(f'a name of a column of "{file.name}" has a line break', hint="Rename the column.")
    sign = max(_SIGNS, key=lambda one: "".join(line.split('"')[::2]).count(one))
    try:
        names = tuple(next(csv.reader([line.rstrip("\r\n")], delimiter=sign)))
    except csv.Error:
        raise InputError(f'a name of a column of "{file.name}" is too long', hint="Rename the column.") from None
    folded = [name.casefold() for name in names]
    if len(set(folded)) < len(names) or "" in folded:
        raise InputError(f'the columns of "{file.name}" do not have distinct names', hint="Name each of them once.")
    return names, sign


def _names(engine: duckdb.DuckDBPyConnection, reading: str) -> tuple[str, ...]:
    return tuple(str(row[0]) for row in engine.execute(f"DESCRIBE {reading}").fetchall())


def masked(error: duckdb.Error) -> EngineError:
    """An engine's failure that no input explains."""
    return EngineError("the engine failed", detail=type(error).__name__)
