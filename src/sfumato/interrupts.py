"""Stopping work that nobody paid for: a leash for each request, slots for each analyst, one watchdog for all.

Comes in: engine runs, each with a function that interrupts it. Goes out: the same runs, ended when their client has
left, when the server stops, or when their time is over. Work without a leash (the command line, Python) has no limit.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic
from types import FrameType

from sfumato.errors import QueryError, SfumatoError

FREE_SECONDS = 30.0
"""How long one run may take that costs nothing: public tables, post-processing, dry runs; and all runs for which one
planning waits, together."""
PLANNING_SECONDS = 10.0
"""Processor time that planning one statement may take, beside the runs that it waits for."""
_AGAIN = 0.05
"""Seconds between two interrupts of the same run: one that arrives between two statements is lost."""
LOOK = 0.1
"""Seconds after which somebody who waits for a slot looks whether its client is still there."""

_current: ContextVar[CancelScope | None] = ContextVar("leash", default=None)
_pace: ContextVar[Pace | None] = ContextVar("pace", default=None)


class Stopped(SfumatoError):
    """The server stops. A run that was paid for ends as after a crash: the charge stands, and is no failure."""

    default_sqlstate = "57P01"


def stopped() -> Stopped:
    """The error of a run that ends with the server."""
    return Stopped("the server is shutting down", hint="Try again when it is back.")


def cancelled(why: str) -> QueryError:
    """The error of a query that is no longer wanted, in PostgreSQL's words."""
    return QueryError(
        f"canceling statement due to {why}",
        sqlstate="57014",
        hint="If it was charged, its answer is stored, and repeating the query is free.",
    )


class CancelScope:
    """Ties free work to the request that it is done for. Any thread may cancel it, once and for all."""

    def __init__(self, analyst: str = "") -> None:
        self.analyst = analyst
        self.why: SfumatoError | None = None
        """Why it was cancelled; None as long as it was not."""

    def cancel(self, why: SfumatoError) -> None:
        """End the free work of this request, now and later; the first reason counts."""
        if self.why is None:
            self.why = why
            _WATCHDOG.wake()

    def check(self) -> None:
        """Raise if it was cancelled."""
        if self.why is not None:
            raise _copy(self.why)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Do the work of this block, in this thread, for this request."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


def current() -> CancelScope | None:
    """The request that this thread works for, if any."""
    return _current.get()


@contextmanager
def detached() -> Iterator[None]:
    """Do the work of this block whether or not the client is connected, without a limit of time: it was paid for."""
    token = _pace.set(None)
    try:
        with CancelScope(who()).held():
            yield
    finally:
        _pace.reset(token)


def who() -> str:
    """The analyst that this thread works for; nobody outside of a server."""
    leash = _current.get()
    return "" if leash is None else leash.analyst


def check_wanted() -> None:
    """Raise if the request that this thread works for was cancelled."""
    leash = _current.get()
    if leash is not None:
        leash.check()


class Pace:
    """What planning one statement may take: processor time of its thread, and the runs of an engine it waits for."""

    __slots__ = ("_ends", "free", "leash", "look")

    def __init__(self, leash: CancelScope) -> None:
        self.leash, self.free = leash, FREE_SECONDS
        self._ends = time.thread_time() + PLANNING_SECONDS
        self.look = monotonic() + PLANNING_SECONDS
        """When to look at the processor time, which passes no faster than this clock and takes longer to ask for."""

    def check(self) -> None:
        """Raise if the request was cancelled or the time is over: now, and at every step from then on."""
        self.leash.check()
        left = self._ends - time.thread_time()
        self.look = monotonic() + left
        if left <= 0:
            raise QueryError(
                f"planning one query may take {PLANNING_SECONDS:g} seconds of processor time",
                sqlstate="54000",
                hint="Simplify the query: fewer aggregates, columns or joins, shorter expressions. It was not charged.",
            )

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A run of an engine, which has limits of its own: not the processor time of planning."""
        wall, own = monotonic(), time.thread_time()
        try:
            yield
        finally:
            self._ends += time.thread_time() - own
            self.free -= monotonic() - wall


def step() -> None:
    """One step of planning, in loops and recursions of the planner: raises if it must not go on.

    Guarantee: planning ends soon after its client left, cancelled, or took `PLANNING_SECONDS`; nothing else is ended,
        above all nothing after a charge.
    Proof: only `planning` sets a pace; within it nothing is charged, and `detached` takes the pace away.
    Reference: docs/threats.md, Availability.
    Checked by: end_to_end::planning_ends_with_its_client, unit::planning_has_its_time,
        unit::what_was_paid_for_has_no_pace
    """
    pace = _pace.get()
    if pace is not None and (pace.leash.why is not None or monotonic() >= pace.look):
        pace.check()


def _copy(error: SfumatoError) -> SfumatoError:
    """A new error each time, as a traceback is written into it."""
    return type(error)(error.message, detail=error.detail, hint=error.hint, sqlstate=error.sqlstate)


@dataclass(eq=False, slots=True)
class _Run:
    interrupt: Callable[[], None]
    leashes: tuple[CancelScope, ...]
    deadline: float
    seconds: float
    why: SfumatoError | None = None

    def is_over(self, now: float) -> bool:
        """Whether it must end, and why; once it must, it must."""
        if self.why is None:
            self.why = next((leash.why for leash in self.leashes if leash.why is not None), None)
        if self.why is None and now >= self.deadline:
            self.why = QueryError(
                f"a free query may run for {self.seconds:g} seconds",
                sqlstate="57014",
                hint="Reduce the query: fewer rows, fewer joined tables, a smaller result.",
            )
        return self.why is not None


class _Watchdog:
    """One thread that interrupts whatever has to end, again and again until it has ended."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._runs: set[_Run] = set()
        self._thread: threading.Thread | None = None

    def begin(self, run: _Run) -> None:
        with self._changed:
            self._runs.add(run)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="sfumato-watchdog", daemon=True)
                self._thread.start()
            elif run.deadline < float("inf"):
                self._changed.notify()

    def end(self, run: _Run) -> None:
        """After this the run is interrupted no more: its cursor may be closed."""
        with self._changed:
            self._runs.discard(run)

    def wake(self) -> None:
        with self._changed:
            self._changed.notify()

    def _watch(self) -> None:
        with self._changed:
            while True:
                self._changed.wait(self._interrupt())

    def _interrupt(self) -> float | None:
        """Interrupt what is over; seconds until there may be more, None for whenever somebody says so."""
        now = monotonic()
        over = [run for run in self._runs if run.is_over(now)]
        for run in over:
            run.interrupt()
        if over:
            return _AGAIN
        ends = min((run.deadline for run in self._runs), default=float("inf"))
        return None if ends == float("inf") else max(0.0, ends - now)


_WATCHDOG = _Watchdog()


@contextmanager
def watched(
    interrupt: Callable[[], None], *leashes: CancelScope | None, seconds: float | None = None
) -> Iterator[None]:
    """Run the block until one of these leashes is cancelled or the time is over; then `interrupt` ends it.

    Whatever the block raises because of that becomes the reason: the client's wish, the server's end, the time.

    Guarantee: `interrupt` is called within moments of the cancellation or the deadline, and again until the block is
        left; never after that.
    Proof: the watchdog holds its lock while it calls, and the block is left only after `end` has taken that lock.
    Reference: docs/threats.md, Availability.
    Checked by: unit::a_run_ends_with_its_leash, unit::a_run_ends_with_its_time,
        unit::an_interrupt_that_came_too_early_comes_again
    """
    known = tuple(leash for leash in leashes if leash is not None)
    for leash in known:
        leash.check()
    lasts, pace = float("inf") if seconds is None else seconds, _pace.get()
    left = lasts if pace is None else min(lasts, pace.free)
    run = _Run(interrupt, known, monotonic() + left, lasts)
    _WATCHDOG.begin(run)
    try:
        with nullcontext() if pace is None else pace.waiting():
            yield
    except Exception:
        if run.why is not None:
            raise _copy(run.why) from None
        raise
    finally:
        _WATCHDOG.end(run)


class Slots:
    """At most `total` at once, and at most `each` for one analyst; a cancelled request stops waiting.

    A thread that has a slot gets it again without waiting.

    Guarantee: while fewer than `total / each` analysts take all that they may, everybody else gets a slot at once; and
        work that others wait for waits no longer than for a slot of one of them.
    Proof: one analyst holds at most `each`; who waits beyond that holds none. A slot is taken in the name of whoever of
        those who wait has one left.
    Reference: docs/threats.md, Availability.
    Checked by: unit::one_analyst_cannot_take_every_slot, unit::a_cancelled_request_stops_waiting,
        unit::nobody_waits_behind_who_waits_for_their_own_slots
    """

    def __init__(self, total: int, each: int) -> None:
        self._total, self._each = total, each
        self._changed = threading.Condition()
        self._taken: Counter[str] = Counter()
        self._mine = threading.local()

    @contextmanager
    def of(self, analyst: str, others: Callable[[], Iterable[str]] = tuple) -> Iterator[None]:
        """A slot, when there is one: of this analyst, or of one of the others who want the same work done by now."""
        if getattr(self._mine, "has", False):
            yield
            return
        giver = self._take(analyst, others)
        self._mine.has = True
        try:
            yield
        finally:
            self._mine.has = False
            self._give(giver)

    def _take(self, analyst: str, others: Callable[[], Iterable[str]]) -> str:
        """Who has given the slot."""
        with self._changed:
            while True:
                left = (name for name in (analyst, *others()) if self._taken[name] < self._each)
                giver = next(left, None) if self._taken.total() < self._total else None
                if giver is not None:
                    self._taken[giver] += 1
                    return giver
                check_wanted()
                self._changed.wait(LOOK)

    def _give(self, analyst: str) -> None:
        with self._changed:
            self._taken[analyst] -= 1
            if not self._taken[analyst]:
                del self._taken[analyst]
            self._changed.notify_all()


PLANNING = Slots(4, 1)
"""Reading, planning and previewing: Python, which takes turns at the interpreter anyway."""


@contextmanager
def planning() -> Iterator[None]:
    """A slot for reading, planning or previewing one statement, and the time that this may take for a client."""
    with PLANNING.of(who()):
        leash = _current.get()
        token = _pace.set(_pace.get() or (None if leash is None else Pace(leash)))
        try:
            yield
        finally:
            _pace.reset(token)


FINISHING = Slots(8, 1)
"""Making rows, intervals and documents out of what an engine gave: the same."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C is heard when this ends, and not before; other threads than the main one never hear it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard and callable(before):
        before(*heard[0])
