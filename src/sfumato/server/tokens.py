"""Tokens: bearer tokens of programs, session cookies of browsers, and one-time login links.

Comes in: the users' file and a name. Goes out: a text that is shown once; the file keeps its SHA-256 alone, which is
enough for 256 random bits. A token ends by its hour, by revocation, with its user or with her password, and every door
asks anew each time: a token that has ended opens nothing, not even what it has asked already.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sfumato.errors import InputError
from sfumato.server.users import AUDITOR, OWNER, ROLES, User, Users, unknown

TOKEN, SESSION, LINK = "token", "session", "link"
_FORM = re.compile(r"sfumato_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
_NOTHING = hashlib.sha256(secrets.token_bytes(32)).hexdigest()
"""What an unknown name of a token is compared with: nothing fits it."""
_MOST = 100
"""Tokens of one kind and user; the oldest makes room."""


@dataclass(frozen=True, slots=True)
class AccessToken:
    """What is known of a token: its id names it to people, and opens nothing."""

    id: str
    user: str
    role: str | None
    kind: str
    made: datetime
    ends: datetime


def issue(
    users: Users, name: str, lasts: timedelta, *, role: str | None = None, kind: str = TOKEN
) -> tuple[AccessToken, str]:
    """A new token and its text, which is not kept. An owner may make one that only looks, as an auditor does."""
    if lasts <= timedelta(0) or lasts > timedelta(days=3660):
        raise InputError("a token must last more than 0 and at most 3660 days")
    made = datetime.now(UTC)
    token = AccessToken(secrets.token_hex(6), name, role, kind, made, made + lasts)
    text = f"sfumato_{token.id}_{secrets.token_urlsafe(32)}"
    with users.changing() as document:
        if name not in document["users"]:
            raise unknown(name)
        if role is not None and not _may(document["users"][name]["role"], role):
            raise InputError(f'a token of "{name}" cannot have the role {role}')
        kept = {one: t for one, t in document["tokens"].items() if _moment(t["ends"]) > made}
        same = [one for one, t in kept.items() if t["user"] == name and t["kind"] == kind]
        for old in sorted(same, key=lambda one: kept[one]["made"])[: max(0, len(same) + 1 - _MOST)]:
            del kept[old]
        document["tokens"] = kept | {token.id: _written(token, text)}
    return token, text


def admit(users: Users, text: str) -> tuple[User, AccessToken] | None:
    """Who shows this token, now; None if it opens nothing."""
    form = _FORM.fullmatch(text)
    document = users.document()
    entry = document["tokens"].get(form[1]) if form else None
    fits = hmac.compare_digest(_digest(text), entry["hash"] if entry else _NOTHING)
    if form is None or entry is None or not fits:
        return None
    token = _token(form[1], entry)
    user, genuine = users.find(token.user)
    role = token.role or user.role
    if not genuine or token.ends <= datetime.now(UTC) or not _may(user.role, role):
        return None
    return User(user.name, role, user.verifier), token


def link(users: Users, name: str, lasts: timedelta = timedelta(minutes=10)) -> tuple[AccessToken, str]:
    """A text that `GET /?link=TEXT` takes once, and soon, in place of name and password: nothing else takes it."""
    return issue(users, name, lasts, kind=LINK)


def redeem(users: Users, text: str, lasts: timedelta) -> tuple[User, AccessToken, str] | None:
    """A session for a link, which has ended with this; of many who come with it at once, the first gets one."""
    found = admit(users, text)
    if found is None or found[1].kind != LINK:
        return None
    user, used = found
    try:
        revoke(users, user.name, used.id)
    except InputError:  # somebody was faster
        return None
    return user, *issue(users, user.name, lasts, kind=SESSION)


def tokens(users: Users) -> list[AccessToken]:
    """Those that have not ended, by user and age."""
    now = datetime.now(UTC)
    found = [_token(which, entry) for which, entry in users.document()["tokens"].items()]
    return sorted((t for t in found if t.ends > now), key=lambda t: (t.user, t.made))


def revoke(users: Users, name: str, which: str | None = None) -> int:
    """End one token of somebody, or all of them with her sessions; how many those were."""
    with users.changing() as document:
        if name not in document["users"]:
            raise unknown(name)
        ended = [i for i, t in document["tokens"].items() if t["user"] == name and which in (None, i)]
        if which is not None and not ended:
            raise InputError(f'"{name}" has no token "{which}"', hint="`sfumato user list` shows all tokens.")
        for one in ended:
            del document["tokens"][one]
    return len(ended)


def _may(user: str, role: str) -> bool:
    return role in ROLES and (role == user or (user == OWNER and role == AUDITOR))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _written(token: AccessToken, text: str) -> dict[str, Any]:
    entry = {"user": token.user, "kind": token.kind, "hash": _digest(text)}
    entry |= {"made": token.made.isoformat(), "ends": token.ends.isoformat()}
    return entry if token.role is None else entry | {"role": token.role}


def _token(which: str, entry: dict[str, Any]) -> AccessToken:
    made, ends = _moment(entry["made"]), _moment(entry["ends"])
    return AccessToken(which, entry["user"], entry.get("role"), entry["kind"], made, ends)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
