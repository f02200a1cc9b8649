"""The pages of the console and which role may see which; login by a one-time link.

Comes in: requests that no page for programs has taken. Goes out: shells of HTML, and the files that they name. A shell
holds no data; still a page that is for owners alone is shown to nobody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from sfumato.server.audit_log import AuditLog
from sfumato.server.console.static_files import StaticFiles
from sfumato.server.http.authentication import give_cookie, let_in
from sfumato.server.http.error_responses import HttpRefusal, unrouted
from sfumato.server.tokens import redeem
from sfumato.server.users import ANALYST, AUDITOR, OWNER, Users

ASKS, READS, ALL = (ANALYST, OWNER), (OWNER, AUDITOR), (ANALYST, OWNER, AUDITOR)
SESSION = timedelta(hours=12)
_HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """A path, the shell that is shown there, its title, and whom it is for."""

    path: str
    name: str
    title: str
    roles: tuple[str, ...]


PAGES = (
    ConsolePage("/", "ask", "Ask", ASKS),
    ConsolePage("/history", "history", "History", ASKS),
    ConsolePage("/ledger", "ledger", "Ledger", READS),
    ConsolePage("/redteam", "redteam", "Attacks", READS),
    ConsolePage("/people", "people", "Users", (OWNER,)),
    ConsolePage("/release", "release", "Release", (OWNER,)),
    ConsolePage("/policy", "policy", "Policy", (OWNER,)),
    ConsolePage("/surveys", "surveys", "Surveys", ALL),
    ConsolePage("/play", "play", "Playground", ALL),
    ConsolePage("/learn", "learn", "Exercises", ALL),
    ConsolePage("/bob", "bob", "Bob in, Bob out", ASKS),
    ConsolePage("/map", "map", "Location privacy", ALL),
    ConsolePage("/wizard", "wizard", "New policy", (OWNER,)),
)


def console(users: Users, journal: AuditLog, *, pg: str = "127.0.0.1:5439") -> ASGIApp:
    """The whole site. `pg` is where PostgreSQL clients come in, for the lines that people copy."""
    shelf = StaticFiles.load()
    routes = [Route(page.path, _shown(page, shelf, users, journal, pg), methods=["GET"]) for page in PAGES]
    routes.append(Route("/login", lambda _: _html(shelf.page("login", "Log in", "", pg)), methods=["GET"]))
    joining = shelf.page("class", "Join the class", "", pg)
    routes.append(Route("/class/{key}", lambda _: _html(joining), methods=["GET"]))
    routes.append(Route("/survey/{task}", lambda _: _html(shelf.page("survey", "Survey", "", "")), methods=["GET"]))
    routes.append(Route("/static/{name:path}", _file(shelf), methods=["GET"]))

    async def missing(request: Request, error: Exception) -> Response:
        """People get a page, programs the document of an error."""
        if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
            return _html(shelf.page("missing", "Page not found", "", ""), 404)
        return await unrouted(request, error)

    return Starlette(routes=routes, exception_handlers={404: missing, 405: unrouted})


def _html(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type=_HTML)


def _shown(
    page: ConsolePage, shelf: StaticFiles, users: Users, journal: AuditLog, pg: str
) -> Callable[[Request], Awaitable[Response]]:
    async def served(request: Request) -> Response:
        link = request.query_params.get("link")
        if page.path == "/" and link is not None:
            return await asyncio.to_thread(_by_link, request, users, journal, shelf, link)
        try:
            guest = let_in(request, users)
        except HttpRefusal:
            query = f"?{request.url.query}" if request.url.query else ""
            return RedirectResponse(f"/login?next={quote(page.path + query, safe='')}", 303)
        if guest.user.role not in page.roles:
            if page.path == "/":  # an auditor's first page is the record
                return RedirectResponse("/ledger", 303)
            return _html(shelf.page("denied", "Not allowed", guest.user.role, pg), 403)
        return _html(shelf.page(page.name, page.title, guest.user.role, pg))

    return served


def _by_link(request: Request, users: Users, journal: AuditLog, shelf: StaticFiles, link: str) -> Response:
    """Log in, then to the same page without the link: by a page of our own, so that the strict cookie comes along."""
    found = redeem(users, link, SESSION)
    if found is None:  # nothing is written down: strangers must not fill the audit log
        return _html(shelf.page("spent", "This link has expired", "", ""), 401)
    user, token, shown = found
    journal.write("log-in", user=user.name, role=user.role, by="link")
    response = _html(shelf.page("enter", "Welcome", "", ""))
    give_cookie(response, request, token, shown)
    return response


def _file(shelf: StaticFiles) -> Callable[[Request], Awaitable[Response]]:
    async def served(request: Request) -> Response:
        return shelf.response(request)

    return served
