"""Which rows these are: a digest that changes when a source does, or how it is read.

Comes in: the policy's source. Goes out: a digest of the names, sizes, times of change and places on the disk of each
table's files, of DuckDB's version and of our way to read files, or None where that cannot be told. What was learnt of
one state of the files is used only for that state.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import duckdb

from sfumato.engines.duckdb.text_files import found
from sfumato.policy import Policy

_WAY = 6
"""How files become rows. Another way is another number: what was prepared or drawn from rows read in the first way, in
which NaN of a Parquet file could become a number, in the second, in which folders and other files decided types, in the
third, in which prepared rows of one table were there many times, in the fourth, in which the machine's time zone and
the clock had a part in them, or in the fifth, in which times with a zone in nanoseconds were missing, is not about the
rows that are read now."""


def stamp(policy: Policy) -> str | None:
    """The stamp of the policy's files now. A file cannot be written without a change of its `ctime`."""
    files = policy.source.files
    if files is None:
        return None
    named = (
        {"": [files, f"{files}.wal"]} if isinstance(files, str) else files
    )  # a database may have rows in its log yet
    listed = {table: [paths] if isinstance(paths, str) else paths for table, paths in named.items()}
    if any("://" in path for paths in listed.values() for path in paths):
        return None
    seen = []
    for table, paths in sorted(listed.items()):  # two tables may change their files, or share them
        for file in sorted({file for path in paths for file in found(path)}):
            state = Path(file).stat()
            seen.append([table, file, state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino])
    return hashlib.sha256(json.dumps([_WAY, duckdb.__version__, seen]).encode()).hexdigest()
