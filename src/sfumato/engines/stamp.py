"""Which files these are: a digest that changes when a source does.

Comes in: the policy's source. Goes out: a digest of the names, sizes, times of change and places on the disk of its
files, or None where that cannot be told. What was learnt of one state of the files is used only for that state.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from sfumato.engines.texts import found
from sfumato.policy import Policy


def stamp(policy: Policy) -> str | None:
    """The stamp of the policy's files now. A file cannot be written without a change of its `ctime`."""
    files = policy.source.files
    if isinstance(files, str):
        listed = [files, f"{files}.wal"]  # what a database has not yet moved into its file
    else:
        listed = [path for paths in (files or {}).values() for path in ([paths] if isinstance(paths, str) else paths)]
    if any("://" in path for path in listed):
        return None
    seen = []
    for file in sorted({file for path in listed for file in found(path)}):
        state = Path(file).stat()
        seen.append([file, state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino])
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()
