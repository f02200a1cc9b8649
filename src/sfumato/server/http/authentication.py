"""Authentication: bearer tokens for programs, cookies for the console; a name and password create a cookie.

Comes in: a request. Goes out: somebody with a role, or 401. A cookie is a token too, in a browser's hands: whatever
changes something by cookie needs a second word, which other sites cannot read (X-CSRF-Token, made from the token).
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from sfumato.errors import QueryError
from sfumato.server import scram
from sfumato.server.http.error_responses import HttpRefusal, busy, stranger
from sfumato.server.http.request_bodies import check_names, read_words, text_of
from sfumato.server.http.response_bodies import reply
from sfumato.server.http.server_state import HttpServerState
from sfumato.server.login_throttle import too_many
from sfumato.server.tokens import SESSION, TOKEN, AccessToken, admit, issue, revoke
from sfumato.server.users import User, Users

_SAFE = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class AuthenticatedUser:
    """Somebody who was let in, and what she showed."""

    user: User
    token: AccessToken
    shown: str
    by_cookie: bool = False


def cookie_name(request: Request) -> str:
    """Under TLS browsers see to it that nobody but this host has set it."""
    return "__Host-sfumato" if request.url.scheme == "https" else "sfumato"


def let_in(request: Request, users: Users) -> AuthenticatedUser:
    """Who asks, or 401."""
    given = request.headers.get("authorization")
    if given is not None:
        scheme, _, shown = given.partition(" ")
        found = admit(users, shown.strip()) if scheme.lower() == "bearer" else None
        if found is None or found[1].kind != TOKEN:
            raise stranger("the token is not valid", "`sfumato user token NAME` creates one.")
        return AuthenticatedUser(*found, shown.strip())
    shown = _cookie(request)
    if not shown:
        raise stranger("no token was sent", "Send `Authorization: Bearer TOKEN`, or log in.")
    found = admit(users, shown)
    if found is None or found[1].kind != SESSION:
        raise stranger("the session has ended", "Log in again.")
    guest = AuthenticatedUser(*found, shown, by_cookie=True)
    if request.method not in _SAFE:
        _check_own(request, guest)
    return guest


def _cookie(request: Request) -> str:
    """The session that a browser shows, as it stands.

    The standard library's reader of cookies undoes quotes, for which Python before 3.11.10 takes a time that grows with
    the square of their number (CVE-2024-7592), and everybody may send some.
    """
    name = cookie_name(request)
    pairs = (part.partition("=") for part in request.headers.get("cookie", "").split(";"))
    return next((value.strip() for key, _, value in pairs if key.strip() == name), "")


def still_in(guest: AuthenticatedUser, users: Users) -> None:
    """Asked again before a debit and before a reply: a token that was revoked meanwhile opens nothing."""
    found = admit(users, guest.shown)
    if found is None or found[0].role != guest.user.role:
        raise stranger("the token is not valid", "It has expired or was revoked.")


def _check_own(request: Request, guest: AuthenticatedUser) -> None:
    """The request comes from a page of this door, not from another site in the same browser."""
    origin = request.headers.get("origin")
    own = origin is None or origin == f"{request.url.scheme}://{request.headers.get('host', '')}"
    said = request.headers.get("x-csrf-token", "").encode("utf-8", "replace")
    if not own or not hmac.compare_digest(said, csrf(guest.shown).encode("ascii")):
        error = QueryError("the request does not come from the console", sqlstate="42501", hint="Send X-CSRF-Token.")
        raise HttpRefusal(403, error)


def csrf(shown: str) -> str:
    """The second word of a session: who has it knows the cookie, or was told by a page of this door."""
    return hmac.digest(shown.encode("utf-8"), b"sfumato csrf", "sha256").hex()


async def log_in(office: HttpServerState, request: Request) -> Response:
    """Name and password in, a cookie out."""
    document = await read_words(office, request)
    check_names(document, ("name", "password"))
    name, password = text_of(document, "name"), text_of(document, "password")
    peer = request.client.host if request.client else "local"
    guest = await office.prove(partial(_prove, office, name, password, peer))
    response = reply(about(guest))
    give_cookie(response, request, guest.token, guest.shown)
    return response


def give_cookie(response: Response, request: Request, token: AccessToken, shown: str) -> None:
    """A session into the hands of a browser, which sends it to this door alone and shows it to no script."""
    response.set_cookie(
        cookie_name(request),
        shown,
        max_age=int((token.ends - token.made).total_seconds()),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


def _prove(office: HttpServerState, name: str, password: str, peer: str) -> AuthenticatedUser:
    """In a thread: slow on purpose, and as slow for a name that does not exist."""
    users, journal = office.users, office.journal
    seconds = users.failures.wait(name, peer, office.limits.failures)
    if seconds:
        raise busy(too_many(seconds), seconds)
    user, genuine = users.find(name)
    known = user.verifier
    made = scram.verifier(password, known.salt, known.iterations)
    if not (hmac.compare_digest(made.stored_key, known.stored_key) and genuine):
        users.failures.add(name, peer)
        journal.write("log-in failed", user=name, peer=peer)
        raise QueryError(f'password authentication failed for user "{name}"', sqlstate="28P01")
    token, shown = issue(users, name, office.limits.session, kind=SESSION)
    journal.write("log-in", user=user.name, role=user.role, peer=peer)
    return AuthenticatedUser(user, token, shown, by_cookie=True)


async def log_out(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """The session ends, here and in the browser; a token for programs is ended by the owner, not by using it."""
    if not guest.by_cookie:
        raise QueryError(
            "there is no session to end", sqlstate="42501", hint="A token is revoked with `sfumato user token`."
        )
    await office.prove(partial(revoke, office.users, guest.user.name, guest.token.id))
    office.journal.write("log-out", user=guest.user.name)
    response = Response(status_code=204)
    secure = request.url.scheme == "https"
    response.delete_cookie(cookie_name(request), path="/", secure=secure, httponly=True, samesite="strict")
    return response


def about(guest: AuthenticatedUser) -> dict[str, str]:
    """What somebody may know of herself; the second word of a session, for the console."""
    document = {"name": guest.user.name, "role": guest.user.role, "ends": guest.token.ends.isoformat()}
    return document | ({"csrf": csrf(guest.shown)} if guest.by_cookie else {})
