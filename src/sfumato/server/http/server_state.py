"""State that all pages share: the current gateway, users, audit log, limits and threads.

Comes in: work that is synchronous. Goes out: its result, from a bounded pool of threads, of which one user has a part.
Work that nobody waits for any more is interrupted, unless it was paid for. A gateway can be replaced while questions
run: each ends with the one that it began with.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request

from sfumato.errors import QueryError
from sfumato.gateway import Gateway
from sfumato.interrupts import CancelScope, cancelled, stopped
from sfumato.server.audit_log import AuditLog
from sfumato.server.http.error_responses import busy, turned
from sfumato.server.http.stranger_connections import StrangerConnections
from sfumato.server.login_throttle import MOST
from sfumato.server.per_user_limits import MOST as MOST_KEPT
from sfumato.server.per_user_limits import Allowance
from sfumato.server.users import User, Users

T = TypeVar("T")
_asking: ContextVar[tuple[Request, str] | None] = ContextVar("asking", default=None)
"""The request that is answered in this task, and the name of its user."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """What one client may take. Seconds, bytes, counts.

    `strangers` are connections on which nobody has shown a token yet, `connections` those of one user, `per_user` her
    requests at the same time. `workers` are threads for queries, `working` those of one user; `lookers` and `looking`
    the same for short work. `upload` is for a file of rows that an owner sends. `drain` and `grace` are for the end: to
    finish, and to hear of it.
    """

    body: int = 2**20
    upload: int = 2**30
    upload_seconds: float = 3600.0
    words: int = 10_000
    body_seconds: float = 20.0
    idle_seconds: float = 30.0
    strangers: int = 300
    connections: int = 300
    per_user: int = 100
    failures: int = MOST
    workers: int = 64
    working: int = 8
    lookers: int = 16
    looking: int = 2
    kept: int = MOST_KEPT
    drain: int = 5
    grace: float = 1.5
    page: int = 1000
    session: timedelta = timedelta(hours=12)


class HttpServerState:
    """One for each door."""

    def __init__(self, gate: Gateway, users: Users, journal: AuditLog, limits: HttpLimits) -> None:
        self.gate, self.users, self.journal, self.limits = gate, users, journal, limits
        self.requests: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.lobby = StrangerConnections(limits.strangers, limits.connections)
        self._queries = _Pool(limits.workers, limits.working, "sfumato-http")
        self._looks = _Pool(limits.lookers, limits.looking, "sfumato-look")
        self._proving = ThreadPoolExecutor(1, thread_name_prefix="sfumato-login")
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="sfumato-reports")
        self._seats: Counter[str] = Counter()
        self._allowances: dict[str, Allowance] = {}
        self._doing: dict[asyncio.Task[Any], CancelScope] = {}
        self._using: Counter[Gateway] = Counter()
        self._waiting: dict[Gateway, list[asyncio.Future[None]]] = {}

    async def ask(self, work: Callable[[Gateway], T]) -> T:
        """Work with the gateway that may take long."""
        return await self._with_gate(self._queries, work)

    async def look(self, work: Callable[[Gateway], T]) -> T:
        """Work that is short, and must not wait behind questions."""
        return await self._with_gate(self._looks, work)

    async def prove(self, work: Callable[[], T]) -> T:
        """One log-in after the other: who tries many at once is counted as if she had waited."""
        return await asyncio.get_running_loop().run_in_executor(self._proving, work)

    async def read(self, work: Callable[[], T]) -> T:
        """One long body of a stranger after the other, beside everything else: nobody waits for all of them."""
        return await asyncio.get_running_loop().run_in_executor(self._reading, work)

    async def _with_gate(self, pool: _Pool, work: Callable[[Gateway], T]) -> T:
        """Work that has begun is waited for, also by nobody: the gateway stays open until it has ended."""
        gate, (request, user) = self.gate, _asking.get() or (None, "")
        leash = CancelScope(user)
        self._using[gate] += 1
        doing = asyncio.ensure_future(pool.run(leash, partial(work, gate)))
        self._doing[doing] = leash
        doing.add_done_callback(lambda done: self._leave(gate, done))
        gone = asyncio.ensure_future(_disconnected(request))
        try:
            await asyncio.wait((doing, gone), return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                return doing.result()
            leash.cancel(cancelled("user request"))
            raise turned(400, "the client disconnected")
        except asyncio.CancelledError:
            leash.cancel(stopped())
            raise
        finally:
            gone.cancel()

    def _leave(self, gate: Gateway, done: asyncio.Task[T]) -> None:
        del self._doing[done]
        if not done.cancelled():
            done.exception()  # whoever asked may be gone: what happened was written down where it happened
        self._using[gate] -= 1
        if not self._using[gate]:
            del self._using[gate]
            for left in self._waiting.pop(gate, []):
                left.set_result(None)

    def swap(self, gate: Gateway) -> asyncio.Future[None]:
        """Another gateway from now on; done when nothing here uses the old one any more."""
        old, self.gate = self.gate, gate
        left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if old is gate or not self._using[old]:
            left.set_result(None)
        else:
            self._waiting.setdefault(old, []).append(left)
        return left

    def allowance(self, user: User) -> Allowance:
        """What is kept for somebody, of all her requests together."""
        return self._allowances.setdefault(user.name, Allowance(self.limits.kept))

    @contextmanager
    def seat(self, user: User, request: Request) -> Iterator[None]:
        """A place for one more request of somebody, while it lasts; what is done for it, is done for her."""
        connection = request.scope.get("state", {}).get("connection")
        if connection is not None:
            self.lobby.know(connection, user.name)
        if self._seats[user.name] >= self.limits.per_user:
            error = QueryError("too many requests at once", sqlstate="53300", hint="Wait for some of them to finish.")
            raise busy(error, 1)
        self._seats[user.name] += 1
        token = _asking.set((request, user.name))
        try:
            yield
        finally:
            _asking.reset(token)
            self._seats[user.name] -= 1

    def interrupt(self) -> None:
        """End the free work of all requests: the server stops."""
        for leash in self._doing.values():
            leash.cancel(stopped())

    async def close(self) -> None:
        """Interrupt what still runs, and wait a moment for it; a thread that hears nothing ends with the process."""
        self.interrupt()
        if self._doing:
            await asyncio.wait(list(self._doing), timeout=self.limits.grace)
        for pool in (self._reading, self._proving, self._looks.threads, self._queries.threads):
            pool.shutdown(wait=not self._doing, cancel_futures=True)

    def refused(self, state: str) -> None:
        """For the counts of /metrics: engine failures are not counted, for they depend on rows (semantics 6.2)."""
        if state != "58000":
            self.refusals[state] += 1


class _Pool:
    """Threads, of which one user has a part; who waits for one, waits without one."""

    def __init__(self, total: int, each: int, name: str) -> None:
        self.threads, self._each = ThreadPoolExecutor(total, thread_name_prefix=name), each
        self._rooms: dict[str, asyncio.Semaphore] = {}

    async def run(self, leash: CancelScope, work: Callable[[], T]) -> T:
        """The result of work that is done for a request."""
        async with self._rooms.setdefault(leash.analyst, asyncio.Semaphore(self._each)):
            leash.check()

            def held() -> T:
                leash.check()  # it may have waited for a thread
                with leash.held():
                    return work()

            return await asyncio.get_running_loop().run_in_executor(self.threads, held)


async def _disconnected(request: Request | None) -> None:
    """Until the client of a request, whose body was read, has left."""
    while request is None or (await request.receive())["type"] != "http.disconnect":
        await asyncio.sleep(3600 if request is None else 0.05)
