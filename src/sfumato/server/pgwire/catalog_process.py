"""Catalog queries in processes of their own, which can be killed and cannot take more memory than they are given.

Comes in: a query in the catalog's own SQL. Goes out: its result. The SQL of a catalog query is whatever tools write, so
that one value of it can fill the memory and no interrupt is heard inside of one vector of the engine: a process with a
limit of the operating system ends in every case. It holds public metadata and nothing else.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import weakref
from multiprocessing.connection import Connection
from typing import Any

from sfumato.errors import QueryError, SfumatoError
from sfumato.interrupts import CancelScope, Slots, current, stopped, watched, who
from sfumato.policy import Policy
from sfumato.server.pgwire.catalog import Catalog
from sfumato.server.pgwire.results import Result

SECONDS = 20.0
"""What one catalog query may take."""
_MOST, _EACH = 4, 1
"""Catalog queries at the same time, and of one analyst."""
_STARTING = 120.0
"""Seconds that one of these processes has to start: it imports Python, and gives way on a busy machine."""
_MEMORY = 1 << 30
"""Bytes of data that one of these processes may have."""
_NICE = 5
"""They give way to the server itself."""


class _Child:
    """One process, as the server sees it."""

    def __init__(self, policy: Policy) -> None:
        ours, theirs = socket.socketpair()
        alive, self._life = os.pipe()  # its end is the server's end: the process then ends in the middle of its work
        files = (theirs.fileno(), alive)
        command = (sys.executable, "-m", "sfumato.server.pgwire.catalog_process", *map(str, files))
        try:
            self.process = subprocess.Popen(  # noqa: S603  our own interpreter and module
                command, stdin=subprocess.DEVNULL, pass_fds=files
            )
        except OSError:
            ours.close()
            os.close(self._life)
            raise
        finally:
            theirs.close()
            os.close(alive)
        self._line = Connection(ours.detach())
        self._line.send(policy)
        self._is_ready = False

    def begin(self) -> None:
        """Wait until it can be asked."""
        if not self._is_ready:
            self._line.recv()
            self._is_ready = True

    def ask(self, question: str, user: str, settings: tuple[tuple[str, str], ...]) -> Any:
        """What it answers; EOFError where it has died."""
        self._line.send((question, user, settings))
        return self._line.recv()

    def kill(self) -> None:
        """End it; any number of times."""
        self.process.kill()

    def bury(self) -> None:
        """End it, and wait until it has ended."""
        self.kill()
        self.process.wait()
        if not self._line.closed:
            self._line.close()
            os.close(self._life)


class CatalogProcesses:
    """The processes of one catalog, started when they are needed. Any number of threads may ask."""

    def __init__(self, policy: Policy) -> None:
        self._policy, self._slots, self._life = policy, Slots(_MOST, _EACH), CancelScope()
        self._lock, self._idle = threading.Lock(), list[_Child]()
        self._end = weakref.finalize(self, _bury, self._idle, self._lock)

    def run(self, question: str, user: str, settings: tuple[tuple[str, str], ...]) -> Result:
        """The result of a catalog query, or why it was not answered."""
        with self._slots.of(who()):
            with self._lock:
                child = self._idle.pop() if self._idle else None
            try:
                child = child or _Child(self._policy)
            except OSError:
                raise QueryError("the catalog is busy", sqlstate="53000", hint="Try again.") from None
            try:
                with watched(child.kill, current(), self._life, seconds=_STARTING):
                    child.begin()
                with watched(child.kill, current(), self._life, seconds=SECONDS):
                    answer = child.ask(question, user, settings)
            except (EOFError, OSError):
                child.bury()
                raise _no_memory() from None
            except BaseException:
                child.bury()
                raise
            with self._lock:
                self._idle.append(child)
        if isinstance(answer, SfumatoError):
            raise answer
        assert isinstance(answer, Result)
        return answer

    def stop(self) -> None:
        """End what runs, now and later."""
        self._life.cancel(stopped())

    def close(self) -> None:
        """End all processes."""
        self.stop()
        self._end()


def _bury(idle: list[_Child], lock: threading.Lock) -> None:
    with lock:
        while idle:
            idle.pop().bury()


def _no_memory() -> QueryError:
    return QueryError(
        "this catalog query exceeds its memory limit",
        sqlstate="53200",
        hint="Ask for less: fewer rows, fewer joined relations, shorter texts.",
    )


def main() -> None:
    """`python -m sfumato.server.pgwire.catalog_process LINE LIFE`: numbers of open files that lead to the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to everybody: the server decides
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    line = Connection(int(sys.argv[1]))
    threading.Thread(target=_follow, args=(int(sys.argv[2]),), daemon=True).start()
    try:
        catalog = Catalog(line.recv())
        line.send(None)
        while True:
            line.send(_answer(catalog, *line.recv()))
    except (EOFError, OSError):
        pass  # the server is gone


def _follow(life: int) -> None:
    """End with the server, in the middle of whatever is computed."""
    os.read(life, 1)
    os._exit(0)


def _answer(catalog: Catalog, question: str, user: str, settings: tuple[tuple[str, str], ...]) -> Any:
    try:
        return catalog.run(question, user, settings)
    except SfumatoError as error:
        return error
    except MemoryError:
        return _no_memory()


if __name__ == "__main__":
    main()
