"""A file of lines that is only appended to and that nobody else may read; a full disk stops nobody.

Comes in: lines. Goes out: the file, made by its first line, and made anew after it was moved away. What cannot be
written is counted, and said in the file itself as soon as it can be: a gap is a line too. Nothing is raised: a log that
fails must not cost an answer.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

from sfumato.files import make_private_directory


class Lines:
    """Whole lines, from any number of threads. `gap` writes down how many lines are missing."""

    def __init__(self, path: Path, gap: Callable[[int], str]) -> None:
        self._path, self._gap = path, gap
        self._lock = threading.Lock()
        self._handle: int | None = None
        self._lost, self._torn = 0, False

    def append(self, line: str) -> str | None:
        """One more line; or, for the first that does not fit, why it is lost (no later one, until one fits again)."""
        with self._lock:
            try:
                if self._lost:
                    self._write(self._gap(self._lost))
                self._lost = 0
                self._write(line)
            except OSError as error:
                self._lost += 1
                return os.strerror(error.errno or 0) if self._lost == 1 else None
            return None

    def _write(self, line: str) -> None:
        if self._handle is not None and self._is_moved(self._handle):
            os.close(self._handle)
            self._handle, self._torn = None, False
        if self._handle is None:
            make_private_directory(self._path.parent)
            self._handle = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        data = ("\n" * self._torn + line + "\n").encode("utf-8", "backslashreplace")
        done = os.write(self._handle, data)
        self._torn = (self._torn and done == 0) or 0 < done < len(data)
        if done < len(data):  # a disk that is full takes a part, and says so only at the next write
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _is_moved(self, handle: int) -> bool:
        """Whether the file that is open has lost its name: somebody has moved it away, to keep it elsewhere."""
        try:
            named, ours = self._path.stat(), os.fstat(handle)
        except OSError:
            return True
        return (named.st_dev, named.st_ino) != (ours.st_dev, ours.st_ino)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._handle is not None:
                os.close(self._handle)
                self._handle = None
