"""Where rows may lie that do not fit into memory: a folder below the owner's own, for one database at a time.

Comes in: the policy, which names the state directory. Goes out: a folder that nobody else uses. Several processes serve
one policy, and an engine lives beside its successor: two databases that spill into one folder would overwrite each
other's files. A lock that dies with its process says whose a folder is; what a killed one left there is removed.
"""

from __future__ import annotations

import os
import shutil
import weakref
from pathlib import Path

from sfumato.files import make_private_directory
from sfumato.policy import Policy


class Spill:
    """A folder, and the lock that makes it ours. A frame has no folder: what does not fit into memory fails."""

    def __init__(self, folder: str = "", lock: int | None = None) -> None:
        self.folder = folder
        self._release = None if lock is None else weakref.finalize(self, os.close, lock)

    def release(self) -> None:
        """Let somebody else have it; also done by the garbage collector, where an engine could not be made."""
        if self._release is not None:
            self._release()


def take_spill(policy: Policy) -> Spill:
    """The first folder that nobody uses."""
    if policy.path is None:
        return Spill()
    home, number = Path(policy.data.state), 0
    make_private_directory(home)
    while True:
        lock = os.open(home / f"spill-{number}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        if _is_free(lock):
            break
        os.close(lock)
        number += 1
    folder = home / f"spill-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    return Spill(str(folder), lock)


def _is_free(lock: int) -> bool:
    """Take the lock, if nobody has it."""
    try:
        import fcntl
    except ImportError:  # Windows, where nothing is served: one process at a time
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
