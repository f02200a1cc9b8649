"""Which rows these are: a digest that changes when a source does, or how it is read.

Comes in: the policy's source. Goes out: a digest of the names, sizes, times of change and places on the disk of its
files, of DuckDB's version and of our way to read files, or None where that cannot be told. What was learnt of one state
of the files is used only for that state.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import duckdb

from sfumato.engines.duckdb.text_files import found
from sfumato.policy import Policy

_WAY = 4
"""How files become rows. Another way is another number: what was prepared or drawn from rows read in the first way, in
which NaN of a Parquet file could become a number, in the second, in which folders and other files decided types, or in
the third, in which prepared rows of one table were there many times, is not about the rows that are read now."""


def stamp(policy: Policy) -> str | None:
    """The stamp of the policy's files now. A file cannot be written without a change of its `ctime`."""
    files = policy.source.files
    if files is None:
        return None
    if isinstance(files, str):
        listed = [files, f"{files}.wal"]  # what a database has not yet moved into its file
    else:
        listed = [path for paths in files.values() for path in ([paths] if isinstance(paths, str) else paths)]
    if any("://" in path for path in listed):
        return None
    seen = []
    for file in sorted({file for path in listed for file in found(path)}):
        state = Path(file).stat()
        seen.append([file, state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino])
    return hashlib.sha256(json.dumps([_WAY, duckdb.__version__, seen]).encode()).hexdigest()
