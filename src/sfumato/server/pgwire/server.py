"""Connections, threads for the gateway, cancel requests, and an orderly shutdown.

Comes in: connections. Goes out: what `state` says. The gateway is synchronous and runs in a bounded pool of threads, of
which one user has a part. When a client leaves or cancels, free work is interrupted; a query that was paid for runs on,
its answer is stored, and asking again is free.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

from sfumato.errors import EngineError, QueryError, SfumatoError
from sfumato.gateway import Gateway
from sfumato.interrupts import CancelScope, cancelled, stopped
from sfumato.server.audit_log import AuditLog
from sfumato.server.per_user_limits import Allowance
from sfumato.server.pgwire import messages as m
from sfumato.server.pgwire.connection import ClientLeft, Wire
from sfumato.server.pgwire.gateway_calls import GatewayCalls
from sfumato.server.pgwire.protocol_state import WireSession
from sfumato.server.pgwire.results import Work
from sfumato.server.pgwire.session_objects import Steps
from sfumato.server.pgwire.startup import LoginSettings, WireLimits, fatal
from sfumato.server.pgwire.tls import Tls
from sfumato.server.sockets import BACKLOG
from sfumato.server.users import User, Users

_OPERATOR = logging.getLogger("sfumato.operator")
_CHUNK = 1 << 16
_TURN = 0.005
"""Seconds after which one client lets the others speak, between two of its statements or rows."""
_POLITE = 1.0
"""Seconds that everybody who has said a name has to prove it, however many knock."""
_FULL = QueryError("too many connections", sqlstate="53300", hint="Try again, or close some.")
_STOPPED = QueryError("terminating connection due to administrator command", sqlstate="57P01")


class Connection:
    """One client, from the first byte to the last."""

    def __init__(self, server: WireServer, wire: Wire) -> None:
        self._server, self.wire = server, wire
        self.secret = secrets.randbits(32)
        self.process = secrets.randbits(23) << 8 | server.number  # as a cancel request may meet another process
        self.cancelled: asyncio.Event | None = None
        self.busy = False
        self._turn_ends = 0.0
        self._out = bytearray()
        self._user: User | None = None

    async def run(self) -> None:
        """Everything; whatever goes wrong ends this connection alone."""
        try:
            await self._serve()
        except (ClientLeft, ConnectionError, TimeoutError, OSError):
            pass
        except SfumatoError as error:
            await self._last(error)
        except Exception:  # noqa: BLE001  one client must not end the others; the operator reads why
            _OPERATOR.exception("a connection failed")
            await self._last(EngineError("the server failed", sqlstate="XX000"))
        finally:
            await self.wire.close()

    async def _last(self, error: SfumatoError) -> None:
        try:
            await self.wire.write(bytes(self._out) + fatal(error))
        except (ClientLeft, ConnectionError, OSError):
            pass

    async def _serve(self) -> None:
        came = await self._server.entrance.receive(self.wire)
        if isinstance(came, m.Cancel):
            self._server.cancel(came)
            return
        self._user, settings = came
        with self._server.seat(self, self._user):
            self._server.journal.write("log-in", user=self._user.name, role=self._user.role, peer=self.wire.peer)
            self.wire.widen(self._server.limits.message)
            allowance = self._server.allowance(self._user)
            session = WireSession(self._user.name, settings, self._server.columns, allowance)
            self._out += m.authentication(0)
            await self._drive(session.greet())
            self._out += m.key_data(self.process, self.secret)
            await self._drive(session.ready())
            await self._flush()
            await self._talk(session)

    async def _talk(self, session: WireSession) -> None:
        while True:
            kind, body = await self._next_message()
            if kind == "X":
                return
            self.busy = True
            try:
                message = m.parse(kind, body)
            except SfumatoError as error:
                await self._drive(session.fail(error))
                if kind in "QFS":  # an error in one of these is over with it
                    await self._drive(session.receive(m.BareMessage("S")))
            else:
                if isinstance(message, m.AuthenticationMessage):
                    raise m.broken("there is nothing to prove any more")
                await self._drive(session.receive(message))
            if not self.wire.waiting:
                await self._flush()
            self.busy = False
            if self._server.stopping:
                raise _STOPPED

    async def _next_message(self) -> tuple[str, bytes]:
        waits = not self.wire.waiting
        message = await self.wire.message()
        if waits:
            self._turn_ends = monotonic() + _TURN
        elif monotonic() > self._turn_ends:
            await self._yield_turn()
        return message

    async def _drive(self, steps: Steps) -> None:
        """Send what the state machine says, and do what it asks for."""
        try:
            step = next(steps)
            while True:
                if isinstance(step, Work):
                    try:
                        done = self._server.recall(step, self._who)
                        if done is None:
                            await self._flush()
                            done = await self._work(step)
                    except SfumatoError as error:
                        step = steps.throw(error)
                    else:
                        step = steps.send(done)
                    continue
                self._out += step
                if len(self._out) > _CHUNK:
                    await self._flush()
                if monotonic() > self._turn_ends:
                    await self._yield_turn()
                step = next(steps)
        except StopIteration:
            return

    async def _yield_turn(self) -> None:
        """Let the others speak: who sends without end, or much in one message, does not keep them waiting."""
        await asyncio.sleep(0)
        self._turn_ends = monotonic() + _TURN

    @property
    def _who(self) -> User:
        assert self._user is not None
        return self._user

    async def _flush(self) -> None:
        if self._out:
            data, self._out = bytes(self._out), bytearray()
            await self.wire.write(data)

    async def _work(self, work: Work) -> Any:
        """In a thread, until it is done, cancelled, late, or nobody listens any more."""
        doing = self._server.submit(work, self._who)
        self.cancelled = asyncio.Event()
        stops = [asyncio.ensure_future(event.wait()) for event in (self.cancelled, self.wire.gone)]
        try:
            await asyncio.wait([doing.task, *stops], timeout=work.timeout, return_when=asyncio.FIRST_COMPLETED)
            if doing.task.done():
                return doing.task.result()
            late = not self.cancelled.is_set() and not self.wire.gone.is_set()
            why = cancelled("statement timeout" if late else "user request")
            self._server.abandon(doing, self._who, why)
            if self.wire.gone.is_set():
                raise ClientLeft
            raise why
        except asyncio.CancelledError:  # the server stops, or somebody else needs the place
            self._server.abandon(doing, self._who, stopped())
            raise
        finally:
            self.cancelled = None
            for stop in stops:
                stop.cancel()


class ThreadWork:
    """Work in a thread, or on its way there."""

    def __init__(self, leash: CancelScope) -> None:
        self.leash, self.begun = leash, False
        self.task: asyncio.Task[Any]


class WireServer:
    """The door. `start`, then `stop`."""

    def __init__(
        self,
        gateway: Gateway,
        users: Users,
        journal: AuditLog,
        *,
        limits: WireLimits | None = None,
        tls: Tls | None = None,
        allow_plain: bool = False,
        number: int = 0,
        forward: Callable[[m.Cancel], None] | None = None,
    ) -> None:
        self.limits = limits or WireLimits()
        self.number, self._forward = number, forward
        self.journal, self.stopping = journal, False
        self._desk = GatewayCalls(gateway, journal)
        self.columns = self._desk.columns()
        given = {name: dict(share.settings) for name, share in gateway.policy.analysts.items()}
        self.entrance = LoginSettings(gateway.policy.data.id, users, journal, self.limits, tls, allow_plain, given)
        self._pool = ThreadPoolExecutor(self.limits.workers, thread_name_prefix="sfumato-pg")
        self._open: dict[Connection, asyncio.Task[None]] = {}
        self._entering: dict[Connection, float] = {}
        self._seats: Counter[str] = Counter()
        self._left: Counter[str] = Counter()
        self._rooms: dict[str, asyncio.Semaphore] = {}
        self._allowances: dict[str, Allowance] = {}
        self._doing: set[ThreadWork] = set()
        self._listening: list[asyncio.Server] = []
        self._refusing: set[asyncio.Future[None]] = set()

    async def start(self, host: str, port: int, *, taken: socket.socket | None = None) -> tuple[str, int]:
        """Listen, there or on a socket that several processes share; the address that was taken."""
        loop = asyncio.get_running_loop()
        if taken is not None:
            listening = await loop.create_server(self._accept, sock=taken, backlog=1)  # others take the next one
            taken.listen(BACKLOG)
        else:
            listening = await loop.create_server(self._accept, host, port, backlog=BACKLOG)
        self._listening.append(listening)
        name = listening.sockets[0].getsockname()
        return str(name[0]), int(name[1])

    def swap(self, gateway: Gateway) -> None:
        """Another gateway, for sessions that are open as well; the desk before it ends with its last question."""
        self._desk = GatewayCalls(gateway, self.journal)
        known = self._desk.columns()
        for gone in set(self.columns) - set(known):
            del self.columns[gone]
        self.columns.update(known)

    def _accept(self) -> Wire:
        wire = Wire()
        asyncio.get_running_loop().call_soon(self._begin, wire)
        return wire

    def _begin(self, wire: Wire) -> None:
        if self.stopping or self._is_full() or not self._may_enter():
            refusing = asyncio.ensure_future(_refuse(wire, _FULL))
            self._refusing.add(refusing)
            refusing.add_done_callback(self._refusing.discard)
            return
        connection = Connection(self, wire)
        self._entering[connection] = time.monotonic()
        task = asyncio.ensure_future(connection.run())
        self._open[connection] = task
        task.add_done_callback(lambda _: self._forget(connection))

    def _forget(self, connection: Connection) -> None:
        self._open.pop(connection, None)
        self._entering.pop(connection, None)

    def _is_full(self) -> bool:
        return self._seats.total() >= self.limits.connections

    def _may_enter(self) -> bool:
        """Whether one more may say who it is.

        Where the entrance is full, the oldest that has named nobody makes room at once; one that has named somebody has
        a second to prove it.
        """
        if len(self._entering) < self.limits.entering:
            return True
        silent = next((one for one in self._entering if not one.wire.is_named), None)
        oldest = next(iter(self._entering)) if silent is None else silent
        if silent is None and time.monotonic() - self._entering[oldest] < _POLITE:
            return False
        del self._entering[oldest]
        self._open[oldest].cancel()
        oldest.wire.abort()  # a task that has not begun is cancelled without a word, and would leave it open
        return True

    def seat(self, connection: Connection, user: User) -> _Seat:
        """A place for a connection of somebody who has proved who she is, while it lasts."""
        if self._is_full():
            raise _FULL
        if self._seats[user.name] >= self.limits.per_user:
            raise QueryError(f'too many connections for role "{user.name}"', sqlstate="53300", hint="Close some.")
        self._entering.pop(connection, None)
        return _Seat(self._seats, user.name)

    def recall(self, work: Work, user: User) -> Any:
        """What is at hand, without a thread; None where there is work to do."""
        return self._desk.recall(work, user)

    def allowance(self, user: User) -> Allowance:
        """What is kept for somebody, on all connections together."""
        return self._allowances.setdefault(user.name, Allowance(self.limits.kept))

    def submit(self, work: Work, user: User) -> ThreadWork:
        """Let a thread do it, as soon as this user has one left."""
        if self._left[user.name] >= self.limits.abandoned:
            raise QueryError(
                "too many cancelled queries are still running", sqlstate="53000", hint="Wait for them to end."
            )
        doing = ThreadWork(CancelScope(user.name))
        self._doing.add(doing)
        doing.task = asyncio.ensure_future(self._do(doing, work, user))
        doing.task.add_done_callback(lambda _: self._doing.discard(doing))
        return doing

    async def _do(self, doing: ThreadWork, work: Work, user: User) -> Any:
        room = self._rooms.setdefault(user.name, asyncio.Semaphore(self.limits.working))
        async with room:
            doing.leash.check()
            doing.begun, desk = True, self._desk

            def run() -> Any:
                doing.leash.check()  # it may have waited for a thread
                with doing.leash.held():
                    return desk.do(work, user)

            return await asyncio.get_running_loop().run_in_executor(self._pool, run)

    def abandon(self, doing: ThreadWork, user: User, why: SfumatoError) -> None:
        """Nobody waits for it: what has not begun never does, free work is interrupted, paid work stores its answer."""
        doing.leash.cancel(why)
        if not doing.begun:
            doing.task.cancel()
            return
        self._left[user.name] += 1

        def over(done: asyncio.Future[Any]) -> None:
            self._left[user.name] -= 1
            if not done.cancelled():
                done.exception()

        doing.task.add_done_callback(over)

    def cancel(self, asked: m.Cancel) -> None:
        """What a connection does now, if the key fits; nothing is ever said. The last byte names the process."""
        if asked.process & 0xFF != self.number and self._forward is not None:
            self._forward(asked)
            return
        for connection in self._open:
            mine, theirs = (key.to_bytes(4, "big") for key in (connection.secret, asked.secret & 0xFFFFFFFF))
            same = connection.process == asked.process and secrets.compare_digest(mine, theirs)
            if same and connection.cancelled is not None:
                connection.cancelled.set()

    async def stop(self) -> None:
        """No new connection; idle ones are told; those that work may finish, for a while; then they are interrupted."""
        self.stopping = True
        for listening in self._listening:
            listening.close()
        idle = [connection.wire for connection in self._open if not connection.busy]
        await asyncio.gather(*(_refuse(wire, _STOPPED) for wire in idle))
        await _wait([*self._open.values(), *self._refusing], self.limits.drain)
        for doing in list(self._doing):
            doing.leash.cancel(stopped())
        self._desk.stop()
        await _wait(list(self._open.values()), self.limits.grace)
        late = [*self._open.values(), *self._refusing]
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        await _wait([doing.task for doing in self._doing], self.limits.grace)
        # a thread that hears nothing ends with the process
        self._pool.shutdown(wait=not self._doing, cancel_futures=True)
        self._desk.close()


async def _wait(tasks: list[Any], seconds: float) -> None:
    if tasks:
        await asyncio.wait(tasks, timeout=seconds)


class _Seat:
    """Counts a connection while it is open."""

    def __init__(self, seats: Counter[str], name: str) -> None:
        self._seats, self._name = seats, name

    def __enter__(self) -> None:
        self._seats[self._name] += 1

    def __exit__(self, *_: object) -> None:
        self._seats[self._name] -= 1


async def _refuse(wire: Wire, error: SfumatoError) -> None:
    try:
        await wire.write(fatal(error))
    except ClientLeft:
        pass
    await wire.close()
