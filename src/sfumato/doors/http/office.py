"""The office: what every page of this door shares. The gateway of the moment, users, audit log, limits and threads.

Comes in: work that is synchronous. Goes out: its result, from a bounded pool of threads. A gateway can be replaced
while questions run: each ends with the one that it began with.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from sfumato.doors.failures import MOST
from sfumato.doors.http.failing import busy
from sfumato.doors.journal import Journal
from sfumato.doors.users import User, Users
from sfumato.errors import QueryError
from sfumato.gateway import Gateway

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one client may take. Seconds, bytes, counts."""

    body: int = 2**20
    body_seconds: float = 20.0
    idle_seconds: float = 30.0
    connections: int = 1000
    per_user: int = 200
    failures: int = MOST
    workers: int = 8
    drain: int = 10
    page: int = 1000
    session: timedelta = timedelta(hours=12)


class Office:
    """One for each door."""

    def __init__(self, gate: Gateway, users: Users, journal: Journal, limits: Limits) -> None:
        self.gate, self.users, self.journal, self.limits = gate, users, journal, limits
        self.requests: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self._asking = ThreadPoolExecutor(limits.workers, thread_name_prefix="sfumato-http")
        self._looking = ThreadPoolExecutor(2, thread_name_prefix="sfumato-look")
        self._proving = ThreadPoolExecutor(1, thread_name_prefix="sfumato-login")
        self._seats: Counter[str] = Counter()
        self._using: Counter[Gateway] = Counter()
        self._waiting: dict[Gateway, list[asyncio.Future[None]]] = {}

    async def ask(self, work: Callable[[Gateway], T]) -> T:
        """Work with the gateway that may take long."""
        return await self._with_gate(self._asking, work)

    async def look(self, work: Callable[[Gateway], T]) -> T:
        """Work that is short, and must not wait behind questions."""
        return await self._with_gate(self._looking, work)

    async def prove(self, work: Callable[[], T]) -> T:
        """One log-in after the other: who tries many at once is counted as if she had waited."""
        return await asyncio.get_running_loop().run_in_executor(self._proving, work)

    async def _with_gate(self, pool: ThreadPoolExecutor, work: Callable[[Gateway], T]) -> T:
        """Work that has begun is waited for, also by nobody: the gateway stays open until it has ended."""
        gate = self.gate
        self._using[gate] += 1
        doing = asyncio.get_running_loop().run_in_executor(pool, work, gate)
        doing.add_done_callback(lambda done: self._leave(gate, done))
        return await asyncio.shield(doing)

    def _leave(self, gate: Gateway, done: asyncio.Future[T]) -> None:
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

    @contextmanager
    def seat(self, user: User) -> Iterator[None]:
        """A place for one more request of somebody, while it lasts."""
        if self._seats[user.name] >= self.limits.per_user:
            error = QueryError("too many requests at once", sqlstate="53300", hint="Wait for some of them to end.")
            raise busy(error, 1)
        self._seats[user.name] += 1
        try:
            yield
        finally:
            self._seats[user.name] -= 1

    async def close(self) -> None:
        """Let threads finish what they do."""

        def end() -> None:
            for pool in (self._proving, self._looking, self._asking):
                pool.shutdown()

        await asyncio.get_running_loop().run_in_executor(None, end)

    def refused(self, state: str) -> None:
        """For the counts of /metrics: engine failures are not counted, for they depend on rows (semantics 6.2)."""
        if state != "58000":
            self.refusals[state] += 1
