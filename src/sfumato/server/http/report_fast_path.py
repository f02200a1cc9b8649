"""A fast path for reports of devices: a complete plain request is stored without the general parser.

Comes in: bytes of a connection on which nothing else happens. Goes out: the same reply as by the long way; or nothing,
and the long way reads these bytes from their beginning. A collector gets most of its requests in one form, and the
general way costs ten times what reading and storing them does.

Guarantee: a request that is taken here gets the reply, byte for byte but for its date, that the long way would give.
Proof: it is taken only if one expression matches all of it and every header is one of a list, once, in the form that
leaves nothing to interpret; its length is exactly what it states. Names, limits, guard, task and report are then looked
at by the functions of the long way, and whatever they refuse goes there, unread. Nothing is stored before that.
Reference: RFC 9112, 11.2 (two readers of a request must not disagree about where it ends).
Checked by: end_to_end::both_ways_give_the_same_reply, end_to_end::requests_that_leave_anything_open_go_the_long_way
"""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from h11 import IDLE
from starlette.responses import Response

from sfumato.errors import EngineError, SfumatoError
from sfumato.local.collecting import Record
from sfumato.server.http.collect import Intake, intake_of, records_of, summary
from sfumato.server.http.error_responses import HttpRefusal, respond
from sfumato.server.http.page_entry import allow_any_origin
from sfumato.server.http.request_bodies import SHORT_BODY, parse
from sfumato.server.http.request_checks import RequestGuard, dress
from sfumato.server.http.server_state import HttpServerState

_OPERATOR = logging.getLogger("sfumato.operator")
PATH = "/api/collect/{task}"
_HEAD = re.compile(
    rb"POST /api/collect/([a-z0-9][a-z0-9_-]{0,63}) HTTP/1\.1\r\n((?:[A-Za-z0-9-]+: [!-~](?:[ -~]*[!-~])?\r\n)+)\r\n"
)
"""Nothing that is folded, padded, quoted in a path, or asked by a parameter."""
_FIXED = {
    b"connection": (b"keep-alive",),
    b"content-type": (b"application/json",),
    b"accept": (b"*/*", b"application/json"),
}
_FREE = frozenset(
    b"host content-length user-agent accept-encoding accept-language origin referer priority sec-ch-ua sec-ch-ua-mobile"
    b" sec-ch-ua-platform sec-fetch-dest sec-fetch-mode sec-fetch-site".split()
)
"""Headers that the page does not look at, and those that are read below."""
LONGEST_HEAD = 4096


@dataclass(eq=False)
class ShortCycle:
    """A request on its way, as the server sees it: whether it was answered, and whether the connection may stay."""

    message_event: asyncio.Event
    disconnected: bool = False
    keep_alive: bool = True
    response_complete: bool = False


class ReportFastPath:
    """One for each door."""

    def __init__(self, office: HttpServerState, guard: RequestGuard) -> None:
        self._office, self._guard = office, guard

    def read(self, data: bytes, scheme: str, client: tuple[str, int] | None) -> tuple[Intake, list[Record]] | None:
        """The reports of one whole request, and where they go; None if the long way should see it."""
        found = _HEAD.match(data)
        if found is None or found.end() > LONGEST_HEAD:
            return None
        headers = _headers(found[2])
        if headers is None or not _states(headers, len(data) - found.end(), min(SHORT_BODY, self._office.limits.body)):
            return None
        scope = {"type": "http", "scheme": scheme, "client": client, "headers": [(b"host", headers[b"host"])]}
        try:
            self._guard.check(scope)
            intake = intake_of(self._office, found[1].decode("ascii"))
            intake.collection.task.check_open()
            return intake, records_of(parse(data[found.end() :]), intake.collection.task.encoder)
        except (SfumatoError, HttpRefusal):
            return None

    def reply(self, done: asyncio.Future[list[bool]], scheme: str, date: list[tuple[bytes, bytes]]) -> bytes:
        """What the device reads once its reports are stored, or were not."""
        self._office.requests[PATH] += 1
        return written(allow_any_origin(self._respond(done)), scheme, date)

    def _respond(self, done: asyncio.Future[list[bool]]) -> Response:
        error = done.exception()
        if error is None:
            return summary(done.result())
        if isinstance(error, SfumatoError):
            self._office.refused(error.sqlstate)
            return respond(error)
        _OPERATOR.error("a request failed", exc_info=error)
        return respond(EngineError("the server failed", sqlstate="XX000"))


def _headers(lines: bytes) -> dict[bytes, bytes] | None:
    """By name; None where one stands twice, or is not of the list, or has another form."""
    headers: dict[bytes, bytes] = {}
    for line in lines.split(b"\r\n")[:-1]:
        name, _, value = line.partition(b": ")
        name = name.lower()
        if name in headers or not (name in _FREE or value in _FIXED.get(name, ())):
            return None
        headers[name] = value
    return headers


def _states(headers: dict[bytes, bytes], there: int, longest: int) -> bool:
    """Whether all that is needed is said, and as many bytes are there as are stated."""
    length = headers.get(b"content-length", b"")
    return b"host" in headers and b"content-type" in headers and length == b"%d" % there and there <= longest


def written(response: Response, scheme: str, date: list[tuple[bytes, bytes]]) -> bytes:
    """The bytes of a response."""
    headers = dress([*date, *response.raw_headers], scheme)
    lines = [b"%s: %s\r\n" % header for header in headers]
    status = response.status_code
    start = b"HTTP/1.1 %d %s\r\n" % (status, HTTPStatus(status).phrase.encode("ascii"))
    return b"".join([start, *lines, b"\r\n", bytes(response.body)])


def shortened(protocol: type[Any], way: ReportFastPath) -> type[Any]:
    """The server's protocol, with the short way before its own."""

    class Short(protocol):  # type: ignore[misc]
        held: bytes | None = None
        """What has come in while a request was on its way; None while none is."""

        def data_received(self, data: bytes) -> None:
            if self.held is not None:
                self.held += data
                self.flow.pause_reading()
                return
            read = way.read(data, self.scheme, self.client) if self._is_idle() else None
            if read is None:
                super().data_received(data)
                return
            self._unset_keepalive_if_required()
            self.held, self.cycle = b"", ShortCycle(asyncio.Event())
            intake, records = read
            intake.store(records).add_done_callback(self.stored)

        def _is_idle(self) -> bool:
            """Whether nothing is open: no request begun, no reply unread."""
            cycle, conn = self.cycle, self.conn
            quiet = (cycle is None or cycle.response_complete) and not self.flow.write_paused
            return quiet and conn.their_state is conn.our_state is IDLE and conn.trailing_data == (b"", False)

        def stored(self, done: asyncio.Future[list[bool]]) -> None:
            cycle, held = self.cycle, self.held or b""
            self.held, cycle.response_complete = None, True
            answer = way.reply(done, self.scheme, self.server_state.default_headers)
            if cycle.disconnected or self.transport.is_closing():
                return
            self.transport.write(answer)
            if not cycle.keep_alive:
                self.transport.close()
            self.on_response_complete()
            if held and not self.transport.is_closing():
                self.data_received(held)

    return Short
