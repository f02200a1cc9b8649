"""Pages for owners: users and tokens, freezing, spending over time, the policy and drafts of new ones.

Comes in: a request of an owner (auditors may look at spending). Goes out: a response, and a line in the audit log for
whatever was changed. People and policies are changed by somebody who is there: by a session, never by a token alone, so
that a token that was lost makes no new owners.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sfumato.errors import InputError, QueryError
from sfumato.gateway import Gateway, Spent
from sfumato.server import tokens
from sfumato.server.http import policy_editor as study
from sfumato.server.http.authentication import AuthenticatedUser
from sfumato.server.http.request_bodies import check_names, read_body, text_of
from sfumato.server.http.response_bodies import reply, wanted
from sfumato.server.http.server_state import HttpServerState
from sfumato.server.process.control import tell_all, unpacked
from sfumato.types import show, whole

_POINTS = 400
"""So many points make a curve."""


async def _body(office: HttpServerState, request: Request, *names: str) -> dict[str, Any]:
    wanted(request)
    document = await read_body(office, request)
    check_names(document, names)
    return document


def _present(guest: AuthenticatedUser) -> None:
    if not guest.by_cookie:
        raise QueryError(
            "users and policies can only be changed in the console", sqlstate="42501", hint="Log in there."
        )


# looking


async def spending(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """What was spent when and by whom, and whether the budget is frozen."""
    wanted(request)
    return reply(await office.look(_spending))


def _spending(gate: Gateway) -> dict[str, Any]:
    """The sums that the ledger has written beside its debits, at some of them."""
    curve = gate.ledger.spending(_POINTS)
    return {
        "frozen": curve.frozen,
        "debits": curve.debits,
        "entries": curve.entries,
        "head": curve.head,
        "total": Spent.of(gate.budget().total).to_dict(),
        "partition": gate.policy.privacy.partition is not None,
        "points": [
            {
                "seq": point.seq,
                "time": point.time,
                "analyst": point.analyst,
                "own": Spent.of(point.own).to_dict(),
                "everybody": Spent.of(point.everybody).to_dict(),
            }
            for point in curve.points
        ],
    }


async def freeze(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """Stop all answers, or answer again; in every process, at once."""
    document = await _body(office, request, "frozen")
    frozen = document.get("frozen")
    if not isinstance(frozen, bool):
        raise InputError("frozen must be true or false")

    def work(gate: Gateway) -> None:
        (gate.ledger.freeze if frozen else gate.ledger.thaw)(guest.user.name)

    await office.look(work)
    office.journal.write("frozen" if frozen else "thawed", user=guest.user.name)
    return reply({"frozen": frozen})


# people


async def people(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """Who may come in, and which tokens there are; of a token its id, which opens nothing."""
    wanted(request)
    shares = {name: show(share.epsilon) for name, share in office.gate.policy.analysts.items()}
    users = [{"name": u.name, "role": u.role, "share": shares.get(u.name)} for u in office.users.list()]
    found = [
        {"id": t.id, "user": t.user, "kind": t.kind, "role": t.role, "ends": t.ends.isoformat()}
        for t in tokens.tokens(office.users)
    ]
    return reply({"users": users, "tokens": found})


async def add_person(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """Somebody new, or a new role and password; a password that nobody gave is made up and shown once."""
    _present(guest)
    document = await _body(office, request, "name", "role", "password")
    name, role = text_of(document, "name"), text_of(document, "role")
    password = text_of(document, "password") if document.get("password") else secrets.token_urlsafe(18)
    if name == guest.user.name and role != guest.user.role:
        raise InputError("owners cannot give up their own role here", hint="`sfumato user add` does it.")
    await office.prove(partial(office.users.add, name, role, password))
    office.journal.write("user added", user=guest.user.name, name=name, role=role)
    return reply({"name": name, "role": role, "password": None if document.get("password") else password})


async def remove_person(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """Somebody who can no longer log in; what was spent stays in the ledger."""
    _present(guest)
    name = text_of(await _body(office, request, "name"), "name")
    if name == guest.user.name:
        raise InputError("owners cannot remove themselves here", hint="`sfumato user remove` does it.")
    await office.prove(partial(office.users.remove, name))
    office.journal.write("user removed", user=guest.user.name, name=name)
    return reply({"name": name})


async def add_token(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """A token for programs, shown once."""
    _present(guest)
    document = await _body(office, request, "name", "days")
    name, days = text_of(document, "name"), whole(document.get("days", 90), "days", 1)
    lasts = timedelta(days=min(days, 100_000))
    token, text = await office.prove(lambda: tokens.issue(office.users, name, lasts))
    office.journal.write("token made", user=guest.user.name, name=name, token=token.id)
    return reply({"id": token.id, "user": name, "ends": token.ends.isoformat(), "token": text})


async def end_token(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """One token of somebody ends, from now on."""
    _present(guest)
    document = await _body(office, request, "name", "id")
    name, which = text_of(document, "name"), text_of(document, "id")
    await office.prove(partial(tokens.revoke, office.users, name, which))
    office.journal.write("token revoked", user=guest.user.name, name=name, token=which)
    return reply({"id": which})


# the policy


async def policy(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """The text of the policy file."""
    wanted(request)
    return reply(await office.look(study.shown))


async def check_policy(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """What is wrong with a text, and how it differs from the file."""
    text = text_of(await _body(office, request, "text"), "text")
    return reply(await office.look(lambda gate: study.judged(gate, text)))


async def apply_policy(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """Write the policy file."""
    _present(guest)
    document = await _body(office, request, "text", "mark", "confirm")
    text, mark, confirmed = text_of(document, "text"), text_of(document, "mark"), document.get("confirm", [])
    if not isinstance(confirmed, list) or not all(isinstance(words, str) for words in confirmed):
        raise InputError("confirm must be a list of the changes as they were named")
    write = partial(study.apply, text=text, mark=mark, confirmed=confirmed)
    return await _changed(office, guest, "policy written", write, confirmed=confirmed)


async def edit_policy(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """A text after a change of one field of its form; nothing is written."""
    document = await _body(office, request, "text", "path", "value")
    text, path = text_of(document, "text"), document.get("path")
    if not isinstance(path, list) or not all(isinstance(part, str) for part in path):
        raise InputError("path must be a list of names")
    value = document.get("value")
    return reply(await office.look(lambda _gate: study.changed(text, path, value)))


async def reload_policy(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """Have every server of this policy read it anew; as `sfumato reload` does, and no gateway is held meanwhile."""
    _present(guest)
    await _body(office, request)
    heard = await asyncio.to_thread(tell_all, office.gate.policy.data.state, {"do": "reload"})
    office.journal.write("reload asked", user=guest.user.name)
    failed = next((said["error"] for said in heard if "error" in said), None)
    if failed is not None:
        raise unpacked(failed)
    return reply({"servers": len(heard), "warnings": [warning for said in heard for warning in said["warnings"]]})


async def sources(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """Files beside the policy, and how large one may be that is uploaded."""
    wanted(request)
    return reply({**await office.look(study.sources), "most": office.limits.upload})


async def draft(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """Who may be the person in these files; with a person, the draft of a policy."""
    document = await _body(office, request, "files", "unit")
    names = document.get("files")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError("files must be a list of names")
    unit = document.get("unit")
    if unit is None:
        return reply(await office.look(lambda gate: {"text": None, "problems": [], **study.people(gate, names)}))
    said = text_of(document, "unit")
    return reply(await office.look(lambda gate: study.drafted(gate, names, said)))


async def write_policy(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """A new policy file."""
    _present(guest)
    document = await _body(office, request, "name", "text")
    name, text = text_of(document, "name"), text_of(document, "text")
    return await _changed(office, guest, "policy drafted", lambda gate: study.write_new(gate, name, text))


async def _changed(
    office: HttpServerState,
    guest: AuthenticatedUser,
    event: str,
    work: Callable[[Gateway], dict[str, Any]],
    **more: Any,
) -> Response:
    done = await office.look(work)
    office.journal.write(event, user=guest.user.name, file=done["name"], mark=done["mark"], **more)
    return reply(done)
