"""Files of values and of reports, read and written in batches; and `sfumato local encode`.

DuckDB reads and writes Parquet; answers in CSV are read row by row, as they stand. What passes through here at once is
a batch, not the file.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from sfumato.cli.outputs import check_apart
from sfumato.csv_rows import CsvRows
from sfumato.errors import InputError
from sfumato.local.signing import check_signature
from sfumato.local.task import LocalTask, read_task
from sfumato.types import identifier, string

BATCH = 1 << 16
_NUMBERS = {"FLOAT", "DOUBLE", "INTEGER", "UINTEGER"} | {
    sign + size + "INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")
}
_MARK = "sfumato_task"
"""Under this key a file of reports says what task it belongs to."""


def load_task(path: Path, key: Path | None = None) -> LocalTask:
    """A task file; signed by the holder of a key, if one is given."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f'"{path}" is not a task file', hint="sfumato local plan --task FILE writes one.") from None
    if key is not None:
        check_signature(text, key.read_bytes())
    return read_task(text)


def read_answers(path: Path, column: str | None, takes: str) -> Iterator[tuple[int | None, list[Any]]]:
    """The number of rows, where it is known, with each batch of the answers of a column."""
    if not _is_csv(path):
        yield from read_batches(path, column, "DOUBLE" if takes == "numbers" else "VARCHAR")
        return
    _check_there(path)
    try:
        file = CsvRows.open(path)
        place = file.names.index(_column(path, column, file.names))
        for _, rows in file.batches():
            yield None, [row[place] or None for row in rows]
    except UnicodeDecodeError:
        raise InputError(f'"{path.name}" is not UTF-8 text', hint="Save it as UTF-8.") from None
    except csv.Error as error:
        raise InputError(f'"{path.name}" is damaged', detail=f"{str(error).capitalize()}.") from None


def read_batches(path: Path, column: str | None, kind: str) -> Iterator[tuple[int, list[Any]]]:
    """The number of rows, with each batch of a column of a Parquet file, cast to a type.

    A text is not cast to a number: it has the grammar of numbers that all files have.
    """
    _check_there(path)
    source = f"read_parquet({string(str(path))})"
    with duckdb.connect() as engine:
        try:
            kinds = {row[0]: row[1] for row in engine.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
            wanted = _column(path, column, list(kinds))
            total = int((engine.execute(f"SELECT count(*) FROM {source}").fetchone() or (0,))[0])
            plain = kinds[wanted] in _NUMBERS or kinds[wanted].startswith("DECIMAL")
            cast = "VARCHAR" if kind == "DOUBLE" and not plain else kind
            rows = engine.execute(f"SELECT CAST({identifier(wanted)} AS {cast}) FROM {source}")
            while batch := rows.fetchmany(BATCH):
                yield total, [row[0] for row in batch]
        except duckdb.Error as error:
            first = str(error).partition("\n")[0]
            raise InputError(f'cannot read "{path}"', detail=first) from None


def _check_there(path: Path) -> None:
    if not path.exists():
        raise InputError(f'cannot use file "{path}": no such file', sqlstate="58P01")


def _column(path: Path, column: str | None, names: list[str]) -> str:
    """The column that was named, or the first."""
    wanted = names[0] if column is None else column
    if names.count(wanted) != 1:
        many = "no" if wanted not in names else "more than one"
        raise InputError(f'"{path}" has {many} column "{wanted}"', hint=f"It has {', '.join(names[:10])}.")
    return wanted


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() in (".csv", ".tsv", ".txt")


def check_task(path: Path, task: LocalTask) -> None:
    """Refuse a file of reports that says itself that it belongs to another task. One that says nothing is taken."""
    if _is_csv(path) or not path.exists():
        return
    ask = f"SELECT value FROM parquet_kv_metadata({string(str(path))}) WHERE key = '{_MARK}'"
    try:
        with duckdb.connect() as engine:
            found = engine.execute(ask).fetchone()
    except duckdb.Error:
        return  # no Parquet file: whoever reads it will say so
    if found is not None and bytes(found[0]).decode("ascii", "replace") != task.digest:
        raise InputError(
            f'the reports in "{path}" belong to another task',
            detail="Its mechanism, parameters, values or ends differ.",
            hint="Decode them with the task file that they were encoded with.",
        )


@contextmanager
def report_writer(out: Path, task: LocalTask) -> Iterator[Any]:
    """A function that takes batches of reports, which are a Parquet file when all is done; nothing if it fails."""
    if not out.absolute().parent.is_dir():
        raise InputError(f'cannot use file "{out}": no such file or directory', sqlstate="58P01")
    with tempfile.TemporaryDirectory(prefix="sfumato-", dir=out.absolute().parent) as place:
        with duckdb.connect(str(Path(place) / "reports.duckdb")) as engine:
            engine.execute("CREATE TABLE reports (report BLOB)")

            def write(reports: Any) -> None:
                raw, width = reports.tobytes(), reports.shape[1]
                rows = [raw[i : i + width] for i in range(0, len(raw), width)]
                engine.execute("INSERT INTO reports SELECT unnest($1::BLOB[])", [rows])

            yield write
            done = Path(place) / "done.parquet"
            mark = f"KV_METADATA {{{_MARK}: {string(task.digest)}}}"
            engine.execute(f"COPY reports TO {string(str(done))} (FORMAT parquet, {mark})")
        done.replace(out)


def write_table(rows: list[dict[str, object]], out: Path) -> None:
    """Estimates as a table that a policy can declare public."""
    kinds = {"value": "VARCHAR", "estimate": "DOUBLE", "low": "DOUBLE", "high": "DOUBLE", "p_value": "DOUBLE"}
    names = [name for name in kinds if rows and name in rows[0]]
    shown = ", ".join(f"unnest(${i}::{kinds[name]}[]) AS {name}" for i, name in enumerate(names, start=1))
    form = "csv, HEADER" if _is_csv(out) else "parquet"
    with duckdb.connect() as engine:
        engine.execute(f"CREATE TABLE decoded AS SELECT {shown}", [[row[name] for row in rows] for name in names])
        try:
            engine.execute(f"COPY decoded TO {string(str(out))} (FORMAT {form})")
        except duckdb.Error as error:
            first = str(error).partition("\n")[0]
            raise InputError(f'cannot write "{out}"', detail=first, sqlstate="58P01") from None


@contextmanager
def progress(what: str) -> Iterator[Any]:
    """A function that is told (done, total): a bar on a terminal, else nothing."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.progress import Progress

    from sfumato.server.terminal_output import console

    with Progress(console=console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def run_encode(source: Path, task_file: Path, out: Path, *, column: str | None, key: Path | None) -> None:
    """The command."""
    check_apart(out, "-o", [source, task_file, key])
    task = load_task(task_file, key)
    task.check_open()
    done = 0
    with progress("encoding") as step, report_writer(out, task) as write:
        for total, values in read_answers(source, column, task.encoder.takes):
            if None in values:
                row = done + values.index(None) + 1
                raise InputError(
                    f"row {row} has no value", hint="If a missing answer is possible, name a value for it."
                )
            write(task.encode(values, first=done + 1))
            done += len(values)
            step(done, total)
        if not done:
            raise InputError(f'"{source}" has no rows')
    sys.stderr.write(f"Wrote {done:,} report{'' if done == 1 else 's'} to {out}\n")
