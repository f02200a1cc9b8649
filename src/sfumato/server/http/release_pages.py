"""Pages for owners who publish a table: its loss, a release, and its download.

Comes in: a request of an owner. Goes out: a document or a file. A release is made by somebody who is there, by a
session and never by a token alone; who made and who downloaded it stands in the audit log.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from sfumato.errors import InputError, QueryError
from sfumato.server.http import release_calls
from sfumato.server.http.authentication import AuthenticatedUser
from sfumato.server.http.error_responses import busy
from sfumato.server.http.request_bodies import WRITTEN, check_names, read_body, text_of
from sfumato.server.http.response_bodies import CSV, reply, wanted
from sfumato.server.http.server_state import HttpServerState
from sfumato.types import whole

_CHOICES = {"diversity": ("distinct", "entropy", "recursive"), "method": ("lattice", "mondrian")}


async def _words(office: HttpServerState, request: Request, *more: str) -> dict[str, Any]:
    wanted(request)
    document = await read_body(office, request)
    check_names(document, (*release_calls.WORDS, *more))
    for name in ("table", "sensitive", "hierarchies", *_CHOICES):
        if document.get(name) is not None:
            text_of(document, name)
    for name, allowed in _CHOICES.items():
        if document.get(name) is not None and document[name] not in allowed:
            raise InputError(f"unknown {name}", hint=f"Use one of {', '.join(allowed)}.")
    for name in ("l", "t", "suppress"):
        value = document.get(name)
        if value is not None and not (isinstance(value, str) and (not value or WRITTEN.fullmatch(value))):
            raise InputError(f"{name} must be text like 0.05")
    return document


async def _done(office: HttpServerState, work: Any) -> Any:
    try:
        return await office.ask(work)
    except QueryError as error:
        raise busy(error, 5) if error.sqlstate == "53300" else error from None


async def releases(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """Tables that can be released, and releases that were made here."""
    wanted(request)
    return reply(await office.look(release_calls.tables))


async def compare(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """Loss and risk for each k."""
    words = await _words(office, request)
    return reply(await _done(office, lambda gate: release_calls.compare(gate, words)))


async def make(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """A release, and what its check says."""
    if not guest.by_cookie:
        raise QueryError("releases can only be made in the console", sqlstate="42501", hint="Log in there.")
    words = await _words(office, request, "k")
    k = whole(words.pop("k", None), "k", 1)
    document = await _done(office, lambda gate: release_calls.make(gate, words, k))
    made = document["made"]
    office.journal.write(
        "release made", user=guest.user.name, file=made["name"], table=made["table"], columns=made["quasi"], k=made["k"]
    )
    return reply(document)


async def download(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """The rows of a release that was made here."""
    wanted(request, (CSV,))
    if not guest.by_cookie:
        raise QueryError("releases can only be downloaded in the console", sqlstate="42501", hint="Log in there.")
    name = request.query_params.get("name", "")
    file = await office.look(lambda gate: release_calls.file_of(gate, name))
    office.journal.write("release downloaded", user=guest.user.name, file=name)
    return FileResponse(file, media_type=CSV, filename=f"release-{name}")
