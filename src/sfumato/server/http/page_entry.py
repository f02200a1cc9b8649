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
from sfumato.server.http.authentication import AuthenticatedUser, let_in
from sfumato.server.http.error_responses import HttpRefusal, respond
from sfumato.server.http.server_state import HttpServerState

_OPERATOR = logging.getLogger("sfumato.operator")
Page = Callable[[HttpServerState, Request, AuthenticatedUser], Awaitable[Response]]
Open = Callable[[HttpServerState, Request], Awaitable[Response]]


def allow_any_origin(response: Response) -> Response:
    """Let scripts of other sites read it. With `*`, browsers do not do so for a request that carried credentials."""
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response


@dataclass(frozen=True, slots=True)
class Route:
    """A page. Without roles everybody may, and nobody is asked for; `asks` are the words after the question mark.
    Scripts on pages of other sites can use a page that is `cross_origin`, without credentials.
    """

    path: str
    method: str
    roles: tuple[str, ...]
    about: str
    page: Page | Open
    asks: tuple[str, ...] = ()
    cross_origin: bool = False

    def serve(self, office: HttpServerState) -> Callable[[Request], Awaitable[Response]]:
        """The page as Starlette calls it."""

        async def served(request: Request) -> Response:
            office.requests[self.path] += 1
            response = await self._respond(office, request)
            return allow_any_origin(response) if self.cross_origin else response

        return served

    async def _respond(self, office: HttpServerState, request: Request) -> Response:
        try:
            return await self._run(office, request)
        except HttpRefusal as refused:
            office.refused(refused.error.sqlstate)
            return respond(refused)
        except SfumatoError as error:
            office.refused(error.sqlstate)
            return respond(error)
        except Exception:  # noqa: BLE001  one request must not end the others; the operator reads why
            _OPERATOR.exception("a request failed")
            return respond(EngineError("the server failed", sqlstate="XX000"))

    async def preflight(self, _: Request) -> Response:
        """What a browser asks before a script of another site may send JSON here; it is the same for everybody."""
        allowed = {"Access-Control-Allow-Methods": self.method, "Access-Control-Allow-Headers": "Content-Type"}
        return allow_any_origin(Response(status_code=204, headers=allowed | {"Access-Control-Max-Age": "86400"}))

    async def _run(self, office: HttpServerState, request: Request) -> Response:
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
