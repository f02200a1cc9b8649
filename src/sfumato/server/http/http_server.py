"""The HTTP server: an ASGI application that listens, drains and stops.

Comes in: a gateway, users, the audit log; an address. Goes out: HTTP. The server is uvicorn without its signals and its
logs: `serve` decides when to stop, and what goes wrong goes to the operator's log.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Sequence
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from sfumato.gateway import Gateway
from sfumato.server.audit_log import AuditLog
from sfumato.server.http.error_responses import unrouted
from sfumato.server.http.report_fast_path import ReportFastPath, shortened
from sfumato.server.http.request_checks import RequestGuard
from sfumato.server.http.routes import ROUTES
from sfumato.server.http.server_state import HttpLimits, HttpServerState
from sfumato.server.http.stranger_connections import protocol_of
from sfumato.server.sockets import BACKLOG, listen_on
from sfumato.server.users import Users


def build(
    office: HttpServerState, *, hosts: tuple[str, ...] = (), allow_plain: bool = False, console: ASGIApp | None = None
) -> RequestGuard:
    """The pages behind their guard. The console's own pages come last, under `/`."""
    routes: list[Route | Mount] = [Route(e.path, e.serve(office), methods=[e.method]) for e in ROUTES]
    routes += [Route(e.path, e.preflight, methods=["OPTIONS"]) for e in ROUTES if e.cross_origin]
    if console is not None:
        shown = {getattr(route, "path", "") for route in getattr(console, "routes", ())}
        routes += [Route(path, _Other(path)) for path in dict.fromkeys(e.path for e in ROUTES) if path not in shown]
        routes.append(Mount("/", console))
    app = Starlette(routes=routes, exception_handlers={HTTPException: unrouted})
    app.router.redirect_slashes = False  # a redirect would be built from the request's own words
    return RequestGuard(app, frozenset(host.lower() for host in hosts), allow_plain)


class _Other:
    """A page that is there, asked for by a method that it does not have: 405, and not the console's 404."""

    def __init__(self, path: str) -> None:
        self._allowed = ", ".join(entry.method for entry in ROUTES if entry.path == path)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = HTTPException(405, headers={"Allow": self._allowed})
        await (await unrouted(Request(scope), error))(scope, receive, send)


class HttpServer:
    """`start`, then `stop`; `swap` replaces the gateway while questions run."""

    def __init__(
        self,
        gate: Gateway,
        users: Users,
        journal: AuditLog,
        tls: ssl.SSLContext | None = None,
        *,
        limits: HttpLimits | None = None,
        hosts: tuple[str, ...] = (),
        allow_plain: bool = False,
        console: ASGIApp | None = None,
    ) -> None:
        self._limits = limits or HttpLimits()
        self._office = HttpServerState(gate, users, journal, self._limits)
        self._tls, self._hosts, self._plain, self._console = tls, hosts, allow_plain, console
        self._server: uvicorn.Server | None = None
        self._sockets: list[socket.socket] = []
        self._tasks: list[asyncio.Task[None]] = []

    def swap(self, gate: Gateway) -> asyncio.Future[None]:
        """Another gateway from now on. What is returned is done when nothing here uses the old one any more."""
        return self._office.swap(gate)

    async def start(self, host: str, port: int, *, taken: Sequence[socket.socket] = ()) -> tuple[str, int]:
        """Listen, there or on sockets that several processes share; the address that was taken."""
        self._sockets = list(taken) or await asyncio.to_thread(listen_on, host, port)
        hosts = (*self._hosts, host)
        app = build(self._office, hosts=hosts, allow_plain=self._plain, console=self._console)
        self._server = uvicorn.Server(self._config(app))
        self._server.config.load()
        self._server.lifespan = self._server.config.lifespan_class(self._server.config)
        await self._server.startup(self._sockets)
        for shared in self._sockets:
            shared.listen(BACKLOG)
        self._tasks = [asyncio.ensure_future(self._server.main_loop()), asyncio.ensure_future(self._watch())]
        name = self._sockets[0].getsockname()
        return str(name[0]), int(name[1])

    def _config(self, app: RequestGuard) -> uvicorn.Config:
        tls = self._tls
        return uvicorn.Config(
            app,
            http=shortened(protocol_of(self._office.lobby), ReportFastPath(self._office, app)),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # anybody on this machine could say that she is somebody else
            backlog=1,  # also how many are accepted at once: another process may take the next one
            timeout_graceful_shutdown=self._limits.drain + 1,  # between, what runs was told to end, and says so
            ssl_context_factory=None if tls is None else lambda *_: tls,
        )

    async def _watch(self) -> None:
        """Close what is open and asks nothing, never ends its first words, or does not take its answer."""
        assert self._server is not None
        since: dict[Any, tuple[int, float]] = {}
        while True:
            await asyncio.sleep(self._limits.idle_seconds / 4)
            now, before = time.monotonic(), since
            still = {c: _standing(c) for c in self._server.server_state.connections if not c.transport.is_closing()}
            since = {c: before.get(c, (left, now)) for c, left in still.items() if left is not None}
            since = {c: kept if still[c] == kept[0] else (still[c] or 0, now) for c, kept in since.items()}
            for connection, (left, start) in since.items():
                if now - start > self._limits.idle_seconds:
                    (connection.transport.abort if left else connection.transport.close)()

    async def stop(self) -> None:
        """No new connection; requests that run may finish; then the threads."""
        if self._server is not None:
            self._server.should_exit = True
            ending = asyncio.get_running_loop().call_later(self._limits.drain, self._office.interrupt)
            running, watching = self._tasks
            await running
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await self._server.shutdown(self._sockets)
            ending.cancel()
            self._server = None
        await self._office.close()


def _standing(connection: Any) -> int | None:
    """Bytes that wait for the client, where nothing else happens on a connection; None where something does."""
    cycle, left = getattr(connection, "cycle", None), connection.transport.get_write_buffer_size()
    return left if left or cycle is None or cycle.response_complete else None
