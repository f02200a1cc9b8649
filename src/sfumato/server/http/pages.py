"""Pages for queries and budgets: each reads a request and calls the gateway.

Comes in: a request of somebody who may. Goes out: a response.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sfumato.errors import InputError, LedgerError, SfumatoError
from sfumato.gateway import Query
from sfumato.interrupts import planning
from sfumato.server.http import distribution_plots, gateway_calls, playground
from sfumato.server.http.attack_report import newest
from sfumato.server.http.authentication import AuthenticatedUser, about
from sfumato.server.http.error_responses import status_of
from sfumato.server.http.request_bodies import WRITTEN, question, read_body
from sfumato.server.http.response_bodies import ANSWERS, JSON, LINES, reply, to_json, wanted
from sfumato.server.http.server_state import HttpServerState
from sfumato.types import Adjacency, as_written, whole


async def _asked(office: HttpServerState, request: Request) -> Query:
    return question(await read_body(office, request))


async def query(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """Ask, and pay."""
    kind = wanted(request, ANSWERS)
    asked = await _asked(office, request)
    key = request.headers.get("idempotency-key")
    response = await office.ask(partial(_answer, office=office, guest=guest, asked=asked, key=key, kind=kind))
    office.allowance(guest.user).hold(response, len(response.body))
    return response


def _answer(
    gate: Any, *, office: HttpServerState, guest: AuthenticatedUser, asked: Query, key: str | None, kind: str
) -> Response:
    return gateway_calls.answer(gate, office, guest, asked, key=key, kind=kind)


async def explain(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """The free preview."""
    wanted(request)
    asked = await _asked(office, request)
    return Response(await office.ask(lambda gate: gateway_calls.preview(gate, guest, asked)), media_type=JSON)


async def budget(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """Where somebody stands."""
    wanted(request)
    named = request.query_params.get("analyst")
    return reply(await office.look(lambda gate: gateway_calls.budget(gate, guest.user, named)))


async def schema(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """What was declared."""
    wanted(request)
    return reply(await office.look(gateway_calls.schema))


async def history(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """What somebody has paid for herself, page by page."""
    wanted(request)
    before = _number(request, "before", 2**62, 1)
    limit = _page(office, request)
    return reply(await office.look(lambda gate: gateway_calls.history(gate, guest.user, before, limit)))


async def law(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """The exact law of one column, with one person in and out."""
    wanted(request)
    document = await read_body(office, request)
    column = document.pop("column", 0)
    if isinstance(column, bool) or not isinstance(column, int) or column < 0:
        raise InputError("column must be a whole number, at least 0")
    asked = question(document)
    return reply(await office.ask(lambda gate: distribution_plots.column_law(gate, guest, asked, column)))


async def odds(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """What an epsilon makes of a suspicion, under the policy's adjacency or another one."""
    wanted(request)
    given = request.query_params.get("epsilon", "")
    if not WRITTEN.fullmatch(given):
        raise InputError("epsilon must be a number like 0.1 or 1/10")
    words = {adjacency.value: adjacency for adjacency in Adjacency}
    adjacency = request.query_params.get("adjacency", office.gate.policy.privacy.adjacency.value)
    if adjacency not in words:
        raise InputError(f"adjacency must be {' or '.join(words)}")
    return reply(distribution_plots.odds(as_written(given, "epsilon"), words[adjacency]))


async def play(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """A page of the playground."""
    wanted(request)
    given = dict(request.query_params)
    name = given.pop("page", "geometric")

    def draw(_: Any) -> dict[str, Any]:
        with planning():  # some pages compute for a while
            return playground.play(name, given)

    return reply(await office.look(draw))


async def ledger(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """A page of the chain, as one document or as lines."""
    kind = wanted(request, (JSON, LINES))
    after = _number(request, "after", 0, 0)
    limit = _page(office, request)
    page = await office.look(lambda gate: gateway_calls.entries(gate, after, limit))
    if kind == LINES:
        return Response(b"".join(to_json(entry) + b"\n" for entry in page), media_type=LINES)
    return reply({"entries": page, "next": page[-1]["seq"] if len(page) == limit else None})


def _page(office: HttpServerState, request: Request) -> int:
    """How many are wanted at once."""
    limit = _number(request, "limit", 100, 1)
    if limit > office.limits.page:
        raise InputError(f"limit must be at most {office.limits.page}, but is {limit}")
    return limit


def _number(request: Request, name: str, otherwise: int, low: int) -> int:
    given = request.query_params.get(name)
    if given is None:
        return otherwise
    if not given.isascii() or not given.isdecimal() or len(given) > 18:
        raise InputError(f"{name} must be a whole number of at most 18 digits")
    return whole(int(given), name, low)


async def verify(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """The chain, recomputed."""
    wanted(request)
    return reply(await office.look(gateway_calls.verify))


async def redteam(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """What attackers found, when somebody let them try."""
    wanted(request)
    return reply(await office.look(newest))


async def metrics(office: HttpServerState, _: Request, __: AuthenticatedUser) -> Response:
    """Counts and budgets."""
    text = await office.look(lambda gate: gateway_calls.metrics(gate, office))
    return Response(text, media_type="text/plain; version=0.0.4")


async def me(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """Who asks, and which data there are."""
    wanted(request)
    return reply({**about(guest), "data": office.gate.policy.data.id})


async def health(office: HttpServerState, _: Request) -> Response:
    """Whether this door serves."""
    try:
        await office.look(gateway_calls.alive)
    except (SfumatoError, OSError) as error:
        status = status_of(error) if isinstance(error, LedgerError) else 503
        return Response(to_json({"status": "the ledger cannot be reached"}), status, media_type=JSON)
    return reply({"status": "live"})
