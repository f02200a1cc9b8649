"""What a worker serves: its own gateway, and the interfaces in front of it.

Comes in: an order and listening sockets. Goes out: open doors. A reload has two halves: `prepare` reads policy and rows
beside the gateway that serves, `commit` lets the new one answer; questions that are under way finish on the old one.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from sfumato.errors import SfumatoError
from sfumato.gateway import Gateway, Loaded, enter, read_rows
from sfumato.server.audit_log import AuditLog
from sfumato.server.console import console
from sfumato.server.http import HttpServer
from sfumato.server.operator_log import keep_log
from sfumato.server.pgwire.messages import Cancel
from sfumato.server.pgwire.server import WireServer
from sfumato.server.pgwire.startup import WireLimits
from sfumato.server.process.serve_options import ServeOrder, Sockets, certificate, check_same, shown
from sfumato.server.process.shutdown import raise_files
from sfumato.server.terminal_output import error_text, say_new_ledger
from sfumato.server.users import Users

DRAIN = WireLimits().drain


class InterfaceServer(Protocol):
    """What every door can do."""

    async def stop(self) -> None:
        """Let nobody in, let those who ask finish, and close."""


class WorkerServices:
    """Gateway, users, journal and doors. Making one reads the rows."""

    def __init__(self, order: ServeOrder, sockets: Sockets, forward: Callable[[Cancel], None] | None = None) -> None:
        policy = order.read()
        self._order, self._sockets, self._forward = order, sockets, forward
        keep_log(policy)
        raise_files()
        self._users = Users(policy.data.state)
        self._users.prepare()
        self._tls = certificate(order, policy)
        self._gate = enter(read_rows(policy))
        say_new_ledger(self._gate.ledger.begun)
        find_bounds(self._gate, order.number)
        self._journal = AuditLog(policy.data.state)
        self._next: Loaded | None = None
        self._doors: list[InterfaceServer] = []
        self._pg: WireServer | None = None
        self._http: HttpServer | None = None
        self._retiring: set[asyncio.Task[None]] = set()

    @property
    def gate(self) -> Gateway:
        """The one that serves."""
        return self._gate

    async def start(self) -> None:
        """Open the doors."""
        order = self._order
        if self._sockets.pg:
            self._pg = WireServer(
                self._gate,
                self._users,
                self._journal,
                limits=WireLimits() if order.per_user is None else replace(WireLimits(), per_user=order.per_user),
                tls=self._tls,
                allow_plain=order.plain,
                number=order.number,
                forward=self._forward,
            )
            self._doors.append(self._pg)
            for taken in self._sockets.pg:
                await self._pg.start("", 0, taken=taken)
        if self._sockets.http and order.http is not None:
            secure = self._tls.context if order.encrypts_http else None
            near = shown(self._sockets.pg[0].getsockname()) if self._sockets.pg else ""
            site = console(self._users, self._journal, pg=near)
            self._http = HttpServer(
                self._gate, self._users, self._journal, tls=secure, allow_plain=order.plain, console=site
            )
            self._doors.append(self._http)
            await self._http.start(*order.http, taken=self._sockets.http)

    def cancel(self, asked: Cancel) -> None:
        """A cancel request that came in at another process."""
        if self._pg is not None:
            self._pg.cancel(asked)

    async def prepare(self, text: str) -> None:
        """Read a new policy and its rows; whatever is wrong is said now, and nothing has changed."""
        policy = self._order.read(text)
        check_same(self._gate.policy, policy)
        self._next = await asyncio.to_thread(read_rows, policy)
        self._gate.line.announce(True)

    async def commit(self) -> None:
        """Let the new gateway answer. A changed policy is an entry of the ledger from here on."""
        loaded, self._next = self._next, None
        assert loaded is not None
        before = self._gate
        try:
            fresh = await asyncio.to_thread(enter, loaded)
            await asyncio.to_thread(find_bounds, fresh, self._order.number)
        except SfumatoError:
            before.line.announce(False)
            raise
        self._gate = fresh
        before.line.give_way(fresh)
        if self._pg is not None:
            await asyncio.to_thread(self._pg.swap, fresh)  # its catalog takes a moment to build
        left = None if self._http is None else self._http.swap(fresh)
        task = asyncio.ensure_future(_retire(before, left))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)
        self._journal.write("reload", policy=fresh.policy.digest, version=fresh.policy.data.version)

    async def abort(self) -> None:
        """The new one does not come after all."""
        loaded, self._next = self._next, None
        self._gate.line.announce(False)
        if loaded is not None:
            await asyncio.to_thread(loaded.engine.close)

    async def stop(self) -> None:
        """Doors first, then the ledger. Queries may finish for `DRAIN` seconds; then every run of the engine ends."""
        asyncio.get_running_loop().call_later(DRAIN, self._gate.stop)
        await asyncio.gather(*(door.stop() for door in self._doors))
        self._gate.stop()
        if self._retiring:
            await asyncio.wait(self._retiring, timeout=1.0)
        await asyncio.to_thread(self._gate.close)
        self._journal.close()


def find_bounds(gate: Gateway, number: int) -> None:
    """Buy what the policy leaves to be found, and say so; without it, questions that need no bound are answered.

    One process after another: the first one pays, and the others find what it bought.
    """
    if not gate.bounds() and not gate.missing_bounds():
        return
    with os.fdopen(os.open(Path(gate.policy.data.state) / "bounds.lock", os.O_CREAT | os.O_RDWR, 0o600)) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            for found in gate.find_bounds():
                if found.bought or number == 0:
                    sys.stderr.write(f"{'charged now: ' if found.bought else ''}{found.words}\n")
        except SfumatoError as error:  # the ledger names this policy already: who served before cannot serve on
            sys.stderr.write(error_text(error))


async def _retire(gate: Gateway, left: asyncio.Future[None] | None) -> None:
    """Close a gateway once no door and no question uses it."""
    if left is not None:
        await left
    await asyncio.to_thread(gate.retire)
