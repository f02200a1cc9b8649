"""All pages of this door in one table: path, method, who may, what it does. /openapi.json is made from it as well.

Comes in: a request that the guard let through. Goes out: a response; whatever goes wrong is five fields, and what
nobody expected goes to the operator's log.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sfumato.doors.http import desk
from sfumato.doors.http.failing import Turned, respond, status_of
from sfumato.doors.http.gatehouse import Guest, about, let_in, log_in, log_out
from sfumato.doors.http.office import Office
from sfumato.doors.http.reading import Asked, question, read_body
from sfumato.doors.http.writing import ANSWERS, JSON, LINES, reply, to_json, wanted
from sfumato.doors.users import ANALYST, AUDITOR, OWNER
from sfumato.errors import EngineError, InputError, LedgerError, QueryError, SfumatoError
from sfumato.words import whole

_OPERATOR = logging.getLogger("sfumato.operator")
Page = Callable[[Office, Request, Guest], Awaitable[Response]]
Open = Callable[[Office, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Entry:
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
        with office.seat(guest.user):
            return await self.page(office, request, guest)  # type: ignore[call-arg]

    def _check_words(self, request: Request) -> None:
        """A word that is misspelt, or stands twice, must not be passed over."""
        given = [name for name, _ in request.query_params.multi_items()]
        if len(set(given)) != len(given) or not set(given) <= set(self.asks):
            known = ", ".join(self.asks) or "none"
            raise InputError("these words are not known after the question mark", hint=f"There are {known}, once each.")


async def _asked(office: Office, request: Request) -> Asked:
    return question(await read_body(request, office.limits.body, office.limits.body_seconds))


async def _query(office: Office, request: Request, guest: Guest) -> Response:
    kind = wanted(request, ANSWERS)
    asked = await _asked(office, request)
    key = request.headers.get("idempotency-key")
    return await office.ask(partial(_answer, office=office, guest=guest, asked=asked, key=key, kind=kind))


def _answer(gate: Any, *, office: Office, guest: Guest, asked: Asked, key: str | None, kind: str) -> Response:
    return desk.answer(gate, office, guest, asked, key=key, kind=kind)


async def _explain(office: Office, request: Request, guest: Guest) -> Response:
    wanted(request)
    asked = await _asked(office, request)
    return Response(await office.ask(lambda gate: desk.preview(gate, guest, asked)), media_type=JSON)


async def _budget(office: Office, request: Request, guest: Guest) -> Response:
    wanted(request)
    named = request.query_params.get("analyst")
    return reply(await office.look(lambda gate: desk.budget(gate, guest.user, named)))


async def _schema(office: Office, request: Request, _: Guest) -> Response:
    wanted(request)
    return reply(await office.look(desk.schema))


async def _ledger(office: Office, request: Request, _: Guest) -> Response:
    kind = wanted(request, (JSON, LINES))
    after = _number(request, "after", 0, 0)
    limit = _number(request, "limit", 100, 1)
    if limit > office.limits.page:
        raise InputError(f"limit must be at most {office.limits.page}, but is {limit}")
    page = await office.look(lambda gate: desk.entries(gate, after, limit))
    if kind == LINES:
        return Response(b"".join(to_json(entry) + b"\n" for entry in page), media_type=LINES)
    return reply({"entries": page, "next": page[-1]["seq"] if len(page) == limit else None})


def _number(request: Request, name: str, otherwise: int, low: int) -> int:
    given = request.query_params.get(name)
    if given is None:
        return otherwise
    if not given.isascii() or not given.isdecimal() or len(given) > 18:
        raise InputError(f"{name} must be a whole number of at most 18 digits")
    return whole(int(given), name, low)


async def _verify(office: Office, request: Request, _: Guest) -> Response:
    wanted(request)
    return reply(await office.look(desk.verify))


async def _metrics(office: Office, _: Request, __: Guest) -> Response:
    text = await office.look(lambda gate: desk.metrics(gate, office))
    return Response(text, media_type="text/plain; version=0.0.4")


async def _me(_: Office, request: Request, guest: Guest) -> Response:
    wanted(request)
    return reply(about(guest))


async def _health(office: Office, _: Request) -> Response:
    try:
        await office.look(desk.alive)
    except (SfumatoError, OSError) as error:
        status = status_of(error) if isinstance(error, LedgerError) else 503
        return Response(to_json({"status": "the ledger is out of reach"}), status, media_type=JSON)
    return reply({"status": "live"})


async def _paper(office: Office, _: Request) -> Response:
    from sfumato.doors.http.paper import paper

    return reply(paper(office.gate.policy.data.id, ROUTES))


ASKS, READS, ALL = (ANALYST, OWNER), (OWNER, AUDITOR), (ANALYST, OWNER, AUDITOR)
ROUTES = (
    Entry("/api/query", "POST", ASKS, "Ask, and pay. Asked again, the stored answer is free.", _query),
    Entry("/api/explain", "POST", ASKS, "What asking would cost and give: free.", _explain),
    Entry("/api/budget", "GET", ALL, "What may be spent, what was, what is left.", _budget, ("analyst",)),
    Entry("/api/schema", "GET", ALL, "What the owner has declared: tables, columns, bounds, prices.", _schema),
    Entry(
        "/api/ledger",
        "GET",
        READS,
        "Every debit, answer and change of policy, page by page.",
        _ledger,
        ("after", "limit"),
    ),
    Entry("/api/ledger/verify", "GET", READS, "Recompute the whole chain.", _verify),
    Entry("/api/me", "GET", ALL, "Who asks.", _me),
    Entry("/metrics", "GET", (OWNER,), "Counts and budgets for Prometheus; no row has a part in them.", _metrics),
    Entry("/login", "POST", (), "Name and password; a cookie comes back.", log_in),
    Entry("/logout", "POST", ALL, "End the session of the cookie.", log_out),
    Entry("/healthz", "GET", (), "Whether this door serves.", _health),
    Entry("/openapi.json", "GET", (), "This description.", _paper),
)
