"""One page: its path and method, the roles that may use it, its parameters; and what happens around every request.

Comes in: a request that the guard let through. Goes out: a response; whatever goes wrong is five fields, and what
nobody expected goes to the operator's log.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from sfumato.errors import EngineError, InputError, QueryError, SfumatoError
from sfumato.server.http.authentication import Guest, let_in
from sfumato.server.http.error_responses import Turned, respond
from sfumato.server.http.server_state import Office

_OPERATOR = logging.getLogger("sfumato.operator")
Page = Callable[[Office, Request, Guest], Awaitable[Response]]
Open = Callable[[Office, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Route:
    """A page. Without roles everybody may, and nobody is asked for; `asks` are the words after the question mark."""

    path: str
    method: str
    roles: tuple[str, ...]
    about: str
    page: Page | Open
    asks: tuple[str, ...] = ()

    def serve(self, office: Office) -> Callable[[Request], Awaitable[Response]]:
        """The page as Starlette calls it."""

        async def served(request: Request) -> Response:
            office.requests[self.path] += 1
            try:
                return await self._run(office, request)
            except Turned as refused:
                office.refused(refused.error.sqlstate)
                return respond(refused)
            except SfumatoError as error:
                office.refused(error.sqlstate)
                return respond(error)
            except Exception:  # noqa: BLE001  one request must not end the others; the operator reads why
                _OPERATOR.exception("a request failed")
                return respond(EngineError("the server failed", sqlstate="XX000"))

        return served

    async def _run(self, office: Office, request: Request) -> Response:
        if not self.roles:
            self._check_words(request)
            return await self.page(office, request)  # type: ignore[call-arg]
        guest = let_in(request, office.users)
        if guest.user.role not in self.roles:
            raise QueryError(
                f"this page is not for the role {guest.user.role}",
                sqlstate="42501",
                hint=f"It is for {' and '.join(self.roles)}.",
            )
        self._check_words(request)
        with office.seat(guest.user, request):
            return await self.page(office, request, guest)  # type: ignore[call-arg]

    def _check_words(self, request: Request) -> None:
        """A word that is misspelt, or stands twice, must not be passed over."""
        given = [name for name, _ in request.query_params.multi_items()]
        if len(set(given)) != len(given) or not set(given) <= set(self.asks):
            known = ", ".join(self.asks) or "none"
            raise InputError("unknown query parameters", hint=f"Known parameters: {known}, once each.")
