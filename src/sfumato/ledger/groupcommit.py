"""Group commit: many threads ask, one thread writes, one fsync serves all who wait.

Comes in: work to do inside a transaction. Goes out: its result, once the transaction is on the disk. Each piece of work
stands behind its own savepoint, so a refusal takes back its own writes only. What could not be committed is never tried
again: after a failed fsync nobody knows what the disk holds, so the writer is dead, says so from then on, and the owner
is told why.

Questions are planned one after the other, so that under load work trickles in faster than fsyncs end but slower than
they could be shared. Where many questions are on their way (`asking`), a commit therefore waits for some of them.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from sfumato.errors import LedgerError
from sfumato.ledger.store import is_busy, unreachable
from sfumato.ledger.tell import AGAIN, Owner

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

MOST = 256
"""Pieces of work in one transaction: enough to share an fsync, few enough that nobody waits for all the others."""

MANY, GROUP, PATIENCE = 16, 32, 0.002
"""From so many questions on their way, a commit waits for half of them or so many pieces of work, while the other half
is thought about; at most so many seconds for each question, which is little beside the time that it takes to plan them
all. With fewer nobody waits."""

CHECKPOINT = 2000
"""After so many changed rows the log is copied into the database, which keeps it at a few megabytes."""


class Writer:
    """The one thread of this process that writes.

    Before anybody is told the outcome of a commit, `check` is called, and `committed` if there was something to commit.
    A `patient` one lets commits wait for each other under load.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        check: Callable[[], None],
        committed: Work[None],
        owner: Owner,
        *,
        patient: bool = True,
    ) -> None:
        self._connection = connection
        self._check, self._committed, self._owner = check, committed, owner
        self._patient = patient
        self._changes = self._copied = connection.total_changes
        self._jobs: deque[tuple[Work[Any], Future[Any]]] = deque()
        self._wake = threading.Condition()
        self._end: str | None = None
        self._asking, self._wanted = 0, 1
        self._why: str | None = None
        self._thread = threading.Thread(target=self._run, name="sfumato-ledger", daemon=True)
        self._thread.start()

    def check_alive(self) -> None:
        """Raise what every call raises once the writer has ended."""
        if self._end is not None:
            raise LedgerError(self._end, detail=self._why, hint=AGAIN if self._why else "Open the ledger again.")

    @property
    def ended(self) -> bool:
        """Whether nothing can be written any more."""
        return self._end is not None

    def check_files(self) -> None:
        """The files still have their names; if not, every call raises from now on."""
        try:
            self._check()
        except LedgerError as error:
            self.give_up(error)
            raise

    @property
    def changes(self) -> int:
        """How many rows this writer has changed and committed."""
        return self._changes

    def submit(self, work: Work[T]) -> T:
        """Do this inside a transaction; return when that transaction is durable."""
        future: Future[T] = Future()
        with self._wake:
            self.check_alive()
            self._jobs.append((work, future))
            if len(self._jobs) >= self._wanted:
                self._wake.notify()
        return future.result()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """A question is on its way, and may soon have something to write."""
        with self._wake:
            self._asking += 1
        try:
            yield
        finally:
            with self._wake:
                self._asking -= 1
                if self._jobs and len(self._jobs) >= self._asking:  # nobody is left to wait for
                    self._wake.notify()

    def close(self) -> None:
        """Finish what was asked for, then end."""
        with self._wake:
            self._end = self._end or "the ledger is closed"
            self._wake.notify()
        if threading.current_thread() is not self._thread:  # the garbage collector may call from anywhere
            self._thread.join()

    def _run(self) -> None:
        while batch := self._take():
            try:
                self._serve(batch)
            except BaseException as error:  # noqa: BLE001 - nobody may wait for a thread that has ended
                self._die(error)
                _tell_all(batch, error)
            del batch  # results must not live until the next question
        self._connection.close()

    def _take(self) -> list[tuple[Work[Any], Future[Any]]]:
        with self._wake:
            while not self._jobs and self._end is None:
                self._wake.wait()
            self._gather()
            return [self._jobs.popleft() for _ in range(min(MOST, len(self._jobs)))]

    def _gather(self) -> None:
        """Under load, let others catch the same fsync; never for those who cannot come, and never for long."""
        late = time.monotonic() + PATIENCE * self._asking
        while self._patient and self._end is None and self._asking >= MANY:
            self._wanted = min(GROUP, self._asking // 2)
            left = late - time.monotonic()
            if len(self._jobs) >= self._wanted or left <= 0:
                break
            self._wake.wait(left)
        self._wanted = 1

    def _serve(self, batch: list[tuple[Work[Any], Future[Any]]]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            if not is_busy(error):  # a lock held by others is their transaction, not a failure of ours
                self._die(error)
            return _tell_all(batch, error)
        try:
            outcomes = [self._attempt(work) for work, _ in batch]
            self._connection.execute("COMMIT")
            self._check()
            if self._connection.total_changes != self._changes:
                self._changes = self._connection.total_changes
                self._committed(self._connection)
        except Exception as error:  # noqa: BLE001 - whatever it was, nobody may be told that it is on the disk
            self._die(error)
            return _tell_all(batch, error)
        for (_, future), (result, refusal) in zip(batch, outcomes, strict=True):
            future.set_exception(refusal) if refusal is not None else future.set_result(result)
        return self._checkpoint()

    def _attempt(self, work: Work[Any]) -> tuple[Any, Exception | None]:
        """One piece of work behind its own savepoint. What SQLite itself refuses is no refusal: it ends the writer."""
        self._connection.execute("SAVEPOINT work")
        try:
            result, refusal = work(self._connection), None
        except sqlite3.Error:
            raise
        except Exception as error:  # noqa: BLE001 - it goes to the thread that asked
            result, refusal = None, error
            self._connection.execute("ROLLBACK TO work")
        self._connection.execute("RELEASE work")
        return result, refusal

    def _checkpoint(self) -> None:
        """Copy the log into the database now and then; after the answers, whose commits do not depend on it."""
        if self._changes - self._copied < CHECKPOINT:
            return
        self._copied = self._changes
        try:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.Error as error:
            self._die(error)

    def _die(self, error: BaseException) -> None:
        """End for good. Closing gives the lock back to other processes and writes no more commits."""
        self.give_up(error)
        self._connection.close()

    def give_up(self, error: BaseException) -> None:
        """From now on every call raises, and the thread ends; whoever waits is told why, and so is the owner."""
        cause = unreachable(error)
        with self._wake:
            self._end, self._why = "the ledger failed and serves no more", f"First {cause.message}: {cause.detail}"
            left = list(self._jobs)
            self._jobs.clear()
            self._wake.notify()
        self._owner.tell(LedgerError(self._end, detail=self._why, hint=AGAIN), logging.CRITICAL)
        _tell_all(left, error)


def _tell_all(batch: list[tuple[Work[Any], Future[Any]]], error: BaseException) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(unreachable(error))  # one error a thread: a traceback is written into it
