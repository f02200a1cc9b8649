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
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sfumato.errors import LedgerError
from sfumato.ledger import chain
from sfumato.ledger.operator_messages import AGAIN, Owner
from sfumato.ledger.protocol import Head, Store, StoreConnection, Work
from sfumato.ledger.records import OutcomeUnknown
from sfumato.ledger.steps import NEXT, Step, StepReply, StepResult
from sfumato.ledger.store import unreachable

T = TypeVar("T")
Jobs = list[tuple[Work[Any], Future[Any]]]

MOST = 256
"""Pieces of work in one transaction: enough to share an fsync, few enough that nobody waits for all the others."""

MANY, GROUP, PATIENCE = 16, 32, 0.002
"""From so many questions on their way, a commit waits for half of them or so many pieces of work, while the other half
is thought about; at most so many seconds for each question, which is little beside the time that it takes to plan them
all. With fewer nobody waits."""


@dataclass(slots=True)
class _Batch:
    """One transaction: what is asked for, what came of it, and the head of the chain with it."""

    jobs: Jobs
    connection: StoreConnection | None = None
    outcomes: list[tuple[Any, Exception | None]] = field(default_factory=list)
    head: Head = (0, chain.FIRST)
    error: BaseException | None = None


class LedgerWriter:
    """The one thread of this process that writes.

    The store is checked before and after each commit, and `committed` is called if there was something to commit,
    before anybody is told the outcome. What follows what is written in `steps.NEXT`.
    """

    def __init__(self, store: Store, committed: Callable[[Head], None], owner: Owner) -> None:
        self._store, self._committed, self._owner = store, committed, owner
        self._changes = store.changes()
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
        self._close()

    def _take(self) -> Jobs:
        with self._wake:
            while not self._jobs and self._end is None:
                self._wake.wait()
            self._gather()
            return [self._jobs.popleft() for _ in range(min(MOST, len(self._jobs)))]

    def _gather(self) -> None:
        """Under load, let others catch the same fsync; never for those who cannot come, and never for long."""
        late = time.monotonic() + PATIENCE * self._asking
        while self._store.shares_commits and self._end is None and self._asking >= MANY:
            self._wanted = min(GROUP, self._asking // 2)
            left = late - time.monotonic()
            if len(self._jobs) >= self._wanted or left <= 0:
                break
            self._wake.wait(left)
        self._wanted = 1

    def _serve(self, jobs: Jobs) -> None:
        """One transaction, step by step, until it is known what to tell."""
        batch = _Batch(jobs)
        at: Step | StepReply = Step.BEGIN
        while isinstance(at, Step):
            try:
                heard = self._do(at, batch)
            except Exception as error:  # noqa: BLE001 - whatever it was, nobody may be told that it is on the disk
                batch.error, heard = error, self._store.hear(error)
            at = NEXT[at, heard]
        if at is StepReply.RESULTS:
            for (_, future), (result, refusal) in zip(jobs, batch.outcomes, strict=True):
                future.set_exception(refusal) if refusal is not None else future.set_result(result)
            self._keep_up()
            return
        if at is StepReply.END:
            assert batch.error is not None
            self._die(batch.error)
        else:
            self._store.undo()
        _tell_all(jobs, batch.error, unknown=at is StepReply.UNKNOWN)

    def _do(self, step: Step, batch: _Batch) -> StepResult:
        match step:
            case Step.BEGIN:
                batch.connection = self._store.begin()
            case Step.WORK:
                assert batch.connection is not None
                batch.outcomes = [self._attempt(batch.connection, work) for work, _ in batch.jobs]
                batch.head = chain.head(batch.connection)
            case Step.COMMIT:
                self._store.commit()
            case Step.LOOK:
                return StepResult.DONE if self._store.look(batch.head) else StepResult.ABSENT
            case Step.NOTE:
                self._store.check_after(batch.head)
                if self._store.changes() != self._changes:
                    self._changes = self._store.changes()
                    self._committed(batch.head)
        return StepResult.DONE

    def _attempt(self, connection: StoreConnection, work: Work[Any]) -> tuple[Any, Exception | None]:
        """One piece of work behind its own savepoint. What the store itself refuses is no refusal."""
        connection.execute("SAVEPOINT work")
        try:
            result, refusal = work(connection), None
        except self._store.faults:
            raise
        except Exception as error:  # noqa: BLE001 - it goes to the thread that asked
            result, refusal = None, error
            connection.execute("ROLLBACK TO work")
        connection.execute("RELEASE work")
        return result, refusal

    def _keep_up(self) -> None:
        try:
            self._store.keep_up()
        except Exception as error:  # noqa: BLE001 - a store that cannot be kept up cannot be trusted
            self._die(error)
        else:
            self._changes = self._store.changes()

    def _die(self, error: BaseException) -> None:
        """End for good."""
        self.give_up(error)
        self._store.fail(error)

    def _close(self) -> None:
        """Close the store at the end, unless it was overwritten meanwhile."""
        try:
            self._store.close()
        except LedgerError as error:
            self._owner.tell(error, logging.CRITICAL)

    def give_up(self, error: BaseException) -> None:
        """From now on every call raises, and the thread ends; whoever waits is told why, and so is the owner."""
        cause = unreachable(error)
        with self._wake:
            self._end, self._why = "the ledger failed and is no longer served", f"First {cause.message}: {cause.detail}"
            left = list(self._jobs)
            self._jobs.clear()
            self._wake.notify()
        self._owner.tell(LedgerError(self._end, detail=self._why, hint=AGAIN), logging.CRITICAL)
        _tell_all(left, error)


def _tell_all(jobs: Jobs, error: BaseException | None, *, unknown: bool = False) -> None:
    for _, future in jobs:
        if not future.done():  # one error a thread: a traceback is written into it
            cause = unreachable(error or RuntimeError("it ended"))
            future.set_exception(OutcomeUnknown.of(cause) if unknown else cause)
