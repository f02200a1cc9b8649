"""A release, written: CSV, Parquet, a table of a DuckDB database or of PostgreSQL.

Comes in: a compressed table and its recoding. Goes out: rows sorted by what they say, so that their order tells
nothing; the engine writes them in a stream, from counts, and the original rows are not touched again.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

import duckdb
import numpy as np

from sfumato.anonymity.compress import Compressed
from sfumato.anonymity.recoding import Recoding
from sfumato.errors import InputError
from sfumato.files import real_path
from sfumato.types import identifier, string

_DATABASE = (".duckdb", ".db")
_REMOTE = ("postgresql://", "postgres://")
Dummies = Sequence[tuple[int, int, int]]
"""Rows that stand for nobody: class, payload, how many."""
Announce = Callable[[str], AbstractContextManager[None]]
"""A context in which a release appears; it gets the address of a table with the same rows."""


def write(
    compressed: Compressed,
    recoding: Recoding,
    target: str,
    *,
    sign: str = ",",
    dummies: Dummies = (),
    announce: Announce | None = None,
) -> int:
    """Write the rows that are released, and return how many; a file appears whole or not at all."""
    with duckdb.connect() as engine:
        engine.execute("SET threads = 1")
        rows = _lines(engine, compressed, recoding, dummies)
        shown = ", ".join(f"c{i} AS {identifier(name)}" for i, name in enumerate(compressed.columns))
        texts = ", ".join(f"c{i}" for i in range(len(compressed.columns)))
        lines = f"SELECT {texts}, CAST(sum(n) AS BIGINT) AS n FROM released GROUP BY {texts}"
        engine.execute(f"CREATE TEMP TABLE ordered AS {lines} ORDER BY ALL NULLS FIRST")
        sql = f"SELECT {shown} FROM (SELECT * EXCLUDE (n), unnest(range(n)) FROM ordered)"
        _deliver(engine, sql, target, sign, announce)
    return rows


def _lines(engine: duckdb.DuckDBPyConnection, compressed: Compressed, recoding: Recoding, dummies: Dummies) -> int:
    """The table `released`: labels and payload as text, a rank for each, and how many rows are alike."""
    class_of = recoding.class_of[compressed.tuple_of]
    chosen = recoding.held[class_of] & (compressed.counts > 0)
    many = max(len(compressed.payloads), 1)
    payload = compressed.payload_of[chosen] if len(compressed.payload_of) else np.zeros(int(chosen.sum()), np.int64)
    keys, counts = class_of[chosen] * many + payload, compressed.counts[chosen]
    if dummies:
        keys = np.append(keys, [at * many + value for at, value, _ in dummies])
        counts = np.append(counts, [n for _, _, n in dummies])
    distinct, place = np.unique(keys, return_inverse=True)
    sums = np.bincount(place, weights=counts, minlength=len(distinct)).astype(np.int64)
    at, value = distinct // many, distinct % many
    wide = len(recoding.labels)
    ranks = {f"k{i}": codes[at] for i, codes in enumerate(recoding.label_of)}
    for j in range(len(compressed.columns) - wide):
        texts = [one[j] for one in compressed.payloads]
        names = sorted(set(texts))
        position = {name: i for i, name in enumerate(names)}
        ranks[f"k{wide + j}"] = np.array([position[text] for text in texts], np.int64)[value]
        _label_table(engine, wide + j, names)
    for i, labels in enumerate(recoding.labels):
        _label_table(engine, i, labels)
    engine.register("lines", {**ranks, "n": sums})
    joins = " ".join(f"JOIN labels{i} ON lines.k{i} = labels{i}.k" for i in range(len(ranks)))
    texts_ = ", ".join(f"labels{i}.label AS c{i}" for i in range(len(ranks)))
    engine.execute(f"CREATE TEMP TABLE released AS SELECT lines.*, {texts_} FROM lines {joins}")
    return int(sums.sum())


def _label_table(engine: duckdb.DuckDBPyConnection, i: int, labels: Sequence[str]) -> None:
    shown = f"unnest(range({len(labels)})) AS k, nullif(unnest(?::VARCHAR[]), '') AS label"
    engine.execute(f"CREATE TEMP TABLE labels{i} AS SELECT {shown}", [list(labels)])


def _deliver(engine: duckdb.DuckDBPyConnection, sql: str, target: str, sign: str, announce: Announce | None) -> None:
    if target.startswith(_REMOTE):
        from sfumato.anonymity.postgres import store

        with _copy(engine, sql, announce) as announced:
            store(engine, sql, target, announced)
        return
    place, _, table = target.partition("#")
    if place.lower().endswith(_DATABASE):
        if not table:
            raise InputError(f'which table of "{place}"?', hint=f"Write {place}#TABLE.")
        with _copy(engine, sql, announce) as announced:
            _store(engine, sql, Path(place), table, announced)
        return
    file = Path(target)
    form = form_of(file, sign)
    try:
        with _beside(file, announce) as part:
            engine.execute(f"COPY ({sql}) TO {string(str(part))} ({form})")
    except (OSError, duckdb.Error) as error:
        raise InputError(f'"{file}" cannot be written', detail=_first_line(error), sqlstate="58P01") from None


@contextmanager
def _copy(
    engine: duckdb.DuckDBPyConnection, sql: str, announce: Announce | None
) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """What announces a table of a database: a copy of it is there before."""
    if announce is None:
        yield nullcontext
        return
    with tempfile.TemporaryDirectory(prefix="sfumato-") as folder:
        place = Path(folder) / "release.duckdb"
        _store(engine, sql, place, "release", nullcontext)
        yield lambda: announce(f"{place}#release")


def _store(
    engine: duckdb.DuckDBPyConnection,
    sql: str,
    place: Path,
    table: str,
    announced: Callable[[], AbstractContextManager[None]],
) -> None:
    """A new table of a DuckDB database. A table of that name is never replaced: names differ by more than case."""
    new = not place.exists()
    try:
        engine.execute(f"ATTACH {string(str(place))} AS target")
        try:
            engine.execute("BEGIN")
            engine.execute(f"CREATE TABLE target.{qualified(table)} AS {sql}")
            with announced():
                engine.execute("COMMIT")
        except BaseException:
            with suppress(duckdb.Error):
                engine.execute("ROLLBACK")
            raise
        finally:
            engine.execute("DETACH target")
    except BaseException as error:
        if new:
            place.unlink(missing_ok=True)
        if not isinstance(error, duckdb.Error):
            raise  # Ctrl-C
        raise InputError(
            f'the table "{table}" cannot be written into "{place}"',
            detail=_first_line(error),
            hint="Give the name of a table that does not exist yet.",
        ) from None


def other_tables(target: str) -> list[str]:
    """What else is in the DuckDB file of a release: whoever gets the file gets that too."""
    place, _, table = target.partition("#")
    if target.startswith(_REMOTE) or not place.lower().endswith(_DATABASE):
        return []
    with duckdb.connect() as engine:
        engine.execute(f"ATTACH {string(place)} AS target (READ_ONLY)")
        kinds = (
            "SELECT schema_name, table_name FROM duckdb_tables()",
            "SELECT schema_name, view_name FROM duckdb_views()",
        )
        theirs = "database_name = 'target' AND NOT internal"
        rows = engine.execute(
            " UNION ALL ".join(f"{kind} WHERE {theirs}" for kind in kinds) + " ORDER BY ALL"
        ).fetchall()
    names = [name if schema == "main" else f"{schema}.{name}" for schema, name in rows]
    return [name for name in names if table.lower() not in (name.lower(), f"main.{name}".lower())]


def qualified(table: str) -> str:
    """A table, or a schema and a table, in quotes."""
    return ".".join(identifier(part) for part in table.split("."))


def _first_line(error: Exception) -> str:
    words = error.strerror if isinstance(error, OSError) else None
    return words or str(error).split("\n")[0]


def form_of(file: Path, sign: str) -> str:
    """How the engine writes a file of this name."""
    if file.suffix.lower() in (".parquet", ".pq"):
        return "FORMAT parquet, USE_TMP_FILE false"
    if file.suffix.lower() in (".csv", ".tsv", ".txt"):
        return f"FORMAT csv, HEADER, DELIMITER {string(sign)}, USE_TMP_FILE false"
    raise InputError(
        f'the name "{file.name}" says no format', hint="End it with .csv or .parquet, or write DATABASE.duckdb#TABLE."
    )


@contextmanager
def _beside(file: Path, announce: Announce | None) -> Iterator[Path]:
    """A file that takes its place only when it is complete; a link is followed, so that it stays a link."""
    file = real_path(file)
    handle, name = tempfile.mkstemp(prefix=".sfumato-", suffix=file.suffix, dir=file.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        part.chmod(0o644)
        with nullcontext() if announce is None else announce(str(part)):
            part.replace(file)
    finally:
        part.unlink(missing_ok=True)
