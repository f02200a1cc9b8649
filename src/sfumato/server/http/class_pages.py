"""Joining a class: the key of its link in, an account and a session out.

Comes in: a request of anybody. Goes out: a cookie, and the name and password for other clients, which are shown once.
"""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from sfumato.server import classroom
from sfumato.server.http.authentication import AuthenticatedUser, about, give_cookie
from sfumato.server.http.error_responses import stranger
from sfumato.server.http.request_bodies import check_names, read_words, text_of
from sfumato.server.http.response_bodies import reply
from sfumato.server.http.server_state import HttpServerState
from sfumato.server.tokens import SESSION, issue


async def join(office: HttpServerState, request: Request) -> Response:
    """The next free account of a class."""
    document = await read_words(office, request)
    check_names(document, ("key",))
    guest, password = await office.prove(partial(_join, office, text_of(document, "key")))
    response = reply(about(guest) | {"password": password, "data": office.gate.policy.data.id})
    give_cookie(response, request, guest.token, guest.shown)
    return response


def _join(office: HttpServerState, key: str) -> tuple[AuthenticatedUser, str]:
    """In a thread, one after the other."""
    users = office.users
    if not classroom.is_open(users, key):  # nothing is written down: strangers must not fill the audit log
        raise stranger("this class has ended", "Ask the teacher for a new link.")
    user, password = classroom.join(users, office.gate.policy.analysts)
    token, shown = issue(users, user.name, office.limits.session, kind=SESSION)
    office.journal.write("log-in", user=user.name, role=user.role, by="class")
    return AuthenticatedUser(user, token, shown, by_cookie=True), password
