"""Waiting until somebody stops the server: signals, the control socket, and messages on the way.

Comes in: what to serve, and with how many workers. Goes out: an exit code. SIGTERM and SIGINT end it in order, a
second one at once; SIGHUP reloads, as `sfumato reload` does, and only the operator's log hears how that went.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, SfumatoError
from sfumato.policy import Policy
from sfumato.server.operator_log import tell, warn
from sfumato.server.process.control import Control
from sfumato.server.process.serve_options import ServeOrder, Sockets, read_text
from sfumato.server.process.shutdown import LAST, end_within
from sfumato.server.process.supervisor import WorkerPool
from sfumato.types import show


@dataclass
class ServeRun:
    """One serving, from its start to its end."""

    order: ServeOrder
    sockets: Sockets
    workers: int
    ready: Callable[[], None]
    """Called when all doors are open."""
    visit: Callable[[], None] | None = None
    """What to do while the doors are open, instead of waiting for a signal; then it stops."""
    leave: Callable[[], None] = lambda: None
    """Called at the very end, where a signal said stop: nothing is left to be done."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    failure: SfumatoError | None = None
    _reloading: asyncio.Lock = field(default_factory=asyncio.Lock)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def run(self) -> None:
        """Stay; raise if it could not be started, or not be kept up."""
        self._policy = self.order.read()
        self.serving = WorkerPool(self.order, self.sockets, self.workers, self.fail)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._end, number)
        loop.add_signal_handler(signal.SIGHUP, self._hang_up)
        control = Control(self._policy.data.state, self._answer)
        try:
            if await self._started():
                await control.start()
                tell("ready", policy=self._policy.digest, version=self._policy.data.version)
                self.ready()
                await (self.ended.wait() if self.visit is None else asyncio.to_thread(self.visit))
        finally:
            await control.stop()
            await self.serving.stop()
            tell("stopped")
        if self.failure is not None:
            raise self.failure
        if self.visit is None:
            self.leave()

    async def _started(self) -> bool:
        """Whether all doors are open; somebody may say stop before."""
        starting = asyncio.gather(self.serving.start(), asyncio.to_thread(_stamp, self._policy))
        ended = asyncio.ensure_future(self.ended.wait())
        await asyncio.wait((starting, ended), return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            return False
        ended.cancel()
        _, self._stamp = starting.result()
        return True

    def fail(self, error: SfumatoError) -> None:
        """It cannot be kept up."""
        self.failure = error
        self.ended.set()

    def _end(self, number: int) -> None:
        if self.ended.is_set():  # the second time: what was paid for is on the disk anyway
            self.serving.kill()
            os._exit(128 + number)
        end_within(LAST, first=self.serving.kill)
        self.ended.set()

    def _hang_up(self) -> None:
        task = asyncio.ensure_future(self._reload_quietly())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reload_quietly(self) -> None:
        try:
            await self.reload()
        except SfumatoError:
            pass  # it stands in the operator's log

    async def _answer(self, document: dict[str, Any]) -> dict[str, Any]:
        if document.get("do") != "reload":
            raise InputError("the only request that a server accepts is reload")
        return await self.reload()

    async def reload(self) -> dict[str, Any]:
        """Read the policy anew and serve it; what is told of it."""
        async with self._reloading:
            path = Path(self.order.policy)
            try:
                text = await asyncio.to_thread(read_text, path)
                policy = self.order.read(text)
                now = await asyncio.to_thread(_stamp, policy)
                await self.serving.replace(text)
            except SfumatoError as error:
                warn("the reload failed; the old policy stays in force", error=error.to_dict())
                raise
            except OSError as error:
                warn("the reload failed; the old policy stays in force", error=str(error))
                raise InputError(f"cannot read the policy: {error.strerror}", sqlstate="58P01") from None
            said = _told(self._policy, policy, same_files=now == self._stamp)
            self._policy, self._stamp = policy, now
            tell("reloaded", **said)
            return said


def _stamp(policy: Policy) -> str | None:
    """Which files these are. Imported when called: a crew is up before its own process knows any SQL."""
    from sfumato.engines.duckdb.stamp import stamp

    return stamp(policy)


def _told(before: Policy, now: Policy, *, same_files: bool) -> dict[str, Any]:
    """What changed, and what the owner may have forgotten."""
    from sfumato.owner.admission import facts

    moment = datetime.now(UTC)
    version = now.version_at(moment)
    warnings = []
    if not same_files and before.data.version == now.data.version and before.version_at(moment) == version:
        warnings.append(
            f'the files have changed, but the version is "{version}" as before: '
            "earlier queries return answers about the old rows"
        )
    if facts(now, version) is None:
        warnings.append(f'version "{version}" was not admitted with these files: `sfumato check` does it')
    return {
        "policy": now.digest,
        "version": version,
        "epsilon": {"before": show(before.privacy.epsilon), "now": show(now.privacy.epsilon)},
        "warnings": warnings,
    }
