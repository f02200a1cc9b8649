"""One worker or several over one ledger: started, restarted, reloaded together, stopped together.

Comes in: an order and how many. Goes out: workers that share the listening sockets. The crew itself reads no row and
answers no question, so that it hears signals and ends its workers in time whatever they do. A worker that dies is
replaced; too many in a minute end the whole, for something is wrong then.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sfumato.errors import EngineError, SfumatoError
from sfumato.server.operator_log import keep_log, tell, warn
from sfumato.server.process.control import unpacked
from sfumato.server.process.serve_options import ServeOrder, Sockets, certificate, check_same
from sfumato.server.process.shutdown import CREW
from sfumato.server.users import Users

_TERMINAL = (signal.SIGINT, signal.SIGHUP)
"""What a terminal sends to everybody: the crew alone decides."""
COMMAND = (sys.executable, "-m", "sfumato.server.process.worker")
MOST_DEATHS = 10
"""In a minute, of all workers together."""


class WorkerLost(EngineError):
    """A worker died; another one may live."""


@dataclass(eq=False)
class WorkerHandle:
    """One worker, as the crew sees it."""

    number: int
    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    ready: asyncio.Future[None]
    waiting: dict[int, asyncio.Future[None]] = field(default_factory=dict)

    @property
    def serves(self) -> bool:
        """Whether its doors have been opened."""
        return self.ready.done() and not self.ready.cancelled() and self.ready.exception() is None

    def say(self, document: dict[str, Any]) -> None:
        """One line."""
        if not self.writer.is_closing():
            self.writer.write(json.dumps(document).encode() + b"\n")

    async def do(self, what: str, **more: Any) -> None:
        """Tell it, and wait until it is done; what it raised is raised here."""
        number = len(self.waiting) + int(time.monotonic_ns())
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting[number] = done
        self.say({"do": what, "id": number, **more})
        try:
            await done
        finally:
            self.waiting.pop(number, None)

    def kill(self) -> None:
        """End it at once; it may have ended."""
        with suppress(ProcessLookupError):
            self.process.kill()

    def lost(self) -> None:
        """Nobody will answer any more."""
        for future in (self.ready, *self.waiting.values()):
            if not future.done():
                future.set_exception(WorkerLost("a worker exited before it replied", hint="See the operator's log."))


class WorkerPool:
    """The workers. `fail` is called when they cannot be kept up."""

    def __init__(self, order: ServeOrder, sockets: Sockets, count: int, fail: Callable[[SfumatoError], None]) -> None:
        self._order, self._sockets, self._count, self._fail = order, sockets, count, fail
        self._policy = order.read()
        self._text = order.text
        self._hands: dict[int, WorkerHandle] = {}
        self._watching: set[asyncio.Task[None]] = set()
        self._deaths: deque[float] = deque(maxlen=MOST_DEATHS)
        self._changing = asyncio.Lock()
        self._stopping = False
        keep_log(self._policy)
        Users(self._policy.data.state).prepare()  # once, before several would make the same files
        certificate(order, self._policy)

    async def start(self) -> None:
        """All workers, each with its doors open."""
        hands = await asyncio.gather(*(self._hire(number) for number in range(self._count)))
        await asyncio.gather(*(hand.ready for hand in hands))

    async def _hire(self, number: int) -> WorkerHandle:
        ours, theirs = socket.socketpair()
        files = [[one.fileno() for one in part] for part in (self._sockets.pg, self._sockets.http)]
        words = [str(os.getpid()), str(theirs.fileno()), *(",".join(map(str, part)) for part in files)]
        inherited = (theirs.fileno(), *files[0], *files[1])
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _TERMINAL)  # a worker inherits it, and hears none of them
        try:
            process = await asyncio.create_subprocess_exec(
                *COMMAND, *words, stdin=asyncio.subprocess.DEVNULL, pass_fds=inherited, start_new_session=False
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=2**24)
        order = self._order.numbered(number, self._text)
        writer.write(order.to_text().encode() + b"\n")  # not on its command line, which everybody can read
        hand = WorkerHandle(number, process, reader, writer, asyncio.get_running_loop().create_future())
        hand.ready.add_done_callback(lambda done: done.cancelled() or done.exception())  # it may be asked for late
        self._hands[number] = hand
        task = asyncio.ensure_future(self._watch(hand))
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)
        return hand

    async def _watch(self, hand: WorkerHandle) -> None:
        """Hear what a worker says; when it has died, replace it."""
        try:
            while line := await hand.reader.readline():
                self._heard(hand, json.loads(line))
        except (ConnectionError, ValueError):
            pass
        code = await hand.process.wait()
        was_ready = hand.serves
        hand.lost()
        hand.writer.close()
        if self._stopping or not was_ready:
            return
        warn("a worker died", worker=hand.number, code=code)
        await self._replace(hand.number)

    def _heard(self, hand: WorkerHandle, document: dict[str, Any]) -> None:
        if document.get("say") == "cancel":
            wanted = self._hands.get(document["process"] & 0xFF)
            if wanted is not None:
                wanted.say({"do": "cancel", "process": document["process"], "secret": document["secret"]})
            return
        future = hand.ready if "say" in document else hand.waiting.get(document["id"])
        if future is None or future.done():
            return
        if "error" in document:
            future.set_exception(unpacked(document["error"]))
        else:
            future.set_result(None)

    async def _replace(self, number: int) -> None:
        """Another worker in its place, with the policy that is served; not in the middle of a reload."""
        while True:
            now = time.monotonic()
            self._deaths.append(now)
            if len(self._deaths) == MOST_DEATHS and now - self._deaths[0] < 60:
                self._fail(EngineError(f"{MOST_DEATHS} workers died within a minute", hint="See the operator's log."))
                return
            try:
                async with self._changing:
                    if self._stopping:
                        return
                    await (await self._hire(number)).ready
            except WorkerLost:
                continue
            except SfumatoError as error:
                warn("a worker cannot be replaced", worker=number, error=error.to_dict())
                self._fail(error)
            else:
                tell("a worker was replaced", worker=number)
            return

    async def replace(self, text: str) -> None:
        """A new policy at every worker, or at none: all read it first, then the first records it, then all answer."""
        async with self._changing:
            policy = self._order.read(text)
            check_same(self._policy, policy)
            hands = [hand for hand in self._hands.values() if hand.process.returncode is None]
            try:
                await _all([hand.do("prepare", text=text) for hand in hands])
                await hands[0].do("commit")
            except SfumatoError:
                await asyncio.gather(*(hand.do("abort") for hand in hands), return_exceptions=True)
                raise
            self._text, self._policy = text, policy
            outcomes = await asyncio.gather(*(hand.do("commit") for hand in hands[1:]), return_exceptions=True)
            for hand, outcome in zip(hands[1:], outcomes, strict=True):
                if isinstance(outcome, BaseException) and hand.process.returncode is None:
                    warn("a worker did not reload and is replaced", worker=hand.number)
                    hand.kill()

    async def stop(self) -> None:
        """Every worker in order; who does not end in time is killed, as is who does not serve yet.

        Guarantee: all workers are gone shortly after `CREW` seconds, also where one does not run any Python.
        Proof: this process does nothing else, and the kernel ends who is killed.
        Reference: docs/threats.md, Availability; docs/decisions/037.
        Checked by: end_to_end::a_server_ends_whose_interpreter_is_held,
            end_to_end::a_server_ends_within_ten_seconds_whatever_runs
        """
        self._stopping = True
        self._sockets.close()
        hands = list(self._hands.values())
        for hand in hands:
            if hand.serves:
                hand.say({"do": "stop"})
            else:
                hand.kill()
        if self._watching:
            await asyncio.wait(self._watching, timeout=CREW)
        for hand in hands:
            if hand.process.returncode is None:
                warn("a worker did not end and was killed; what was charged stays charged", worker=hand.number)
        self.kill()
        if self._watching:
            await asyncio.wait(self._watching)

    def kill(self) -> None:
        """At once."""
        for hand in self._hands.values():
            hand.kill()


async def _all(works: list[Any]) -> None:
    """Wait for all, then raise what the first of them raised."""
    for outcome in await asyncio.gather(*works, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
