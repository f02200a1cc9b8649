"""What every request is checked for before a page sees it, and the headers that every response carries.

Comes in: a request as ASGI says it. Goes out: the same, or 421 or 403. The name in Host is checked where no certificate
vouches for it: a page of another site, whose name was made to lead here (DNS rebinding), must not speak to this door.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.errors import QueryError
from sfumato.server.http.error_responses import HttpRefusal, respond, turned
from sfumato.server.pgwire.startup import is_near

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none';"
    " object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
"""On every response; a page of the console may say more about caching."""
_PLAIN = tuple((name.lower().encode("ascii"), value.encode("ascii")) for name, value in HEADERS.items())
_SECURE = (*_PLAIN, (b"strict-transport-security", b"max-age=31536000"))


@dataclass(frozen=True, slots=True)
class RequestGuard:
    """Around all pages. `hosts` are names of this door beside localhost and plain addresses."""

    app: ASGIApp
    hosts: frozenset[str]
    allow_plain: bool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            raise RuntimeError("this is an HTTP server")

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = dress([*message.get("headers", ())], scope["scheme"])
            await send(message)

        try:
            self.check(scope)
        except HttpRefusal as refused:
            await respond(refused)(scope, receive, dressed)
            return
        await self.app(scope, receive, dressed)

    def check(self, scope: Scope) -> None:
        """Raise where this door is not meant, or may not be used from there."""
        if scope["scheme"] == "https":
            return
        peer = scope["client"][0] if scope.get("client") else "local"
        if not self.allow_plain and not is_near(peer):
            error = QueryError("connections from other machines must use TLS", sqlstate="28000", hint="Use https://.")
            raise HttpRefusal(403, error)
        given = [value for name, value in scope["headers"] if name == b"host"]
        if len(given) != 1 or not self._is_ours(given[0].decode("latin-1").lower()):
            hint = "Use localhost or an address, or allow this name."
            raise turned(421, "this server does not have that name", hint=hint)

    def _is_ours(self, host: str) -> bool:
        """An address cannot be made to lead elsewhere; a name can, unless it is one of ours."""
        form = _HOST.fullmatch(host)
        if form is None:
            return False
        name = form[1] or form[2]
        return name in self.hosts or name == "localhost" or _is_address(name)


_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^:\[\]]+))(?::[0-9]{0,5})?")
"""A name or an address, an address with colons in brackets, and a port: nothing before, between or after."""


def dress(headers: list[tuple[bytes, bytes]], scheme: str) -> list[tuple[bytes, bytes]]:
    """The headers of a response, with those that every response carries."""
    given = {name for name, _ in headers}
    return headers + [header for header in (_SECURE if scheme == "https" else _PLAIN) if header[0] not in given]


@lru_cache(maxsize=256)
def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
