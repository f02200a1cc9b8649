"""Tables of PostgreSQL: copied out to a file before the work, and copied in after it.

Comes in: an address and a table. Goes out: a CSV file of its rows; or a new table with the rows of a release.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import duckdb

from sfumato.errors import EngineError, InputError
from sfumato.types import identifier


def _connect(address: str) -> Any:
    try:
        import psycopg
    except ImportError:
        raise InputError("PostgreSQL needs psycopg", hint="pip install 'sfumato[attack]'") from None
    try:
        return psycopg.connect(address)
    except psycopg.Error:
        raise EngineError("PostgreSQL cannot be reached", hint="Check the address and who may connect.") from None


def _name(table: str) -> str:
    return ".".join(identifier(part) for part in table.split("."))


def fetch(address: str, table: str, folder: Path) -> Path:
    """The rows of a table as a CSV file in a folder that is removed afterwards."""
    file = folder / "fetched.csv"
    with _connect(address) as link, file.open("wb") as stream:
        try:
            with link.cursor().copy(f"COPY (SELECT * FROM {_name(table)}) TO STDOUT (FORMAT csv, HEADER)") as copy:
                for part in copy:
                    stream.write(part)
        except link.Error as error:
            raise InputError(f'the table "{table}" cannot be read', detail=str(error).split("\n")[0]) from None
    return file


def store(
    engine: duckdb.DuckDBPyConnection, sql: str, target: str, announced: Callable[[], AbstractContextManager[None]]
) -> None:
    """Write the rows of a query into a table that must not exist yet, in one transaction."""
    address, _, table = target.rpartition("#")
    if not address:
        raise InputError("which table?", hint="Write postgresql://…#TABLE.")
    columns = [str(row[0]) for row in engine.execute(f"DESCRIBE {sql}").fetchall()]
    with _connect(address) as link:
        try:
            cursor = link.cursor()
            cursor.execute(f"CREATE TABLE {_name(table)} ({', '.join(f'{identifier(c)} text' for c in columns)})")
            rows = engine.execute(sql)
            with cursor.copy(f"COPY {_name(table)} FROM STDIN") as copy:
                while part := rows.fetchmany(10_000):
                    for row in part:
                        copy.write_row(row)
            with announced():
                link.commit()
        except link.Error as error:
            raise InputError(f'the table "{table}" cannot be written', detail=str(error).split("\n")[0]) from None
