"""`sfumato user`: the users of the network interfaces.

Comes in: a policy file and names. Goes out: the users' file in the policy's state directory, and a password or a token
that is shown once.
"""

from __future__ import annotations

import getpass
import secrets
import sys
from datetime import timedelta
from pathlib import Path

from rich.table import Table

from sfumato.errors import InputError
from sfumato.policy import load
from sfumato.server.terminal_output import console, print_json, print_table
from sfumato.server.tokens import AccessToken, issue, revoke, tokens
from sfumato.server.users import Users
from sfumato.types import whole


def add(path: Path, name: str, role: str, *, from_stdin: bool) -> None:
    """Let somebody in; for a name that is there, a new role and password."""
    policy = load(path)
    made = None
    if from_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
    elif sys.stdin.isatty():
        password = getpass.getpass(f"password for {name}: ")
        if password != getpass.getpass("again: "):
            raise InputError("the two passwords differ")
    else:
        password = made = secrets.token_urlsafe(18)
    Users(policy.data.state).add(name, role, password)
    out = console()
    out.print(f'"{name}" can now log in as {role}')
    if made is not None:
        out.print(f"password: {made}", soft_wrap=True)
        console(stderr=True).print("It is not stored and is not shown again.")
    if role == "analyst" and name not in policy.analysts:
        console(stderr=True).print(
            f"[analysts.{name}] is not in the policy: this analyst may use what is left of the total."
        )


def show(path: Path, *, as_json: bool) -> None:
    """Who there is, and which tokens there are; of a token its id, which opens nothing."""
    known = Users(load(path).data.state)
    users, made = known.list(), tokens(known)
    if as_json:
        found = [{"name": user.name, "role": user.role} for user in users]
        print_json({"users": found, "tokens": [_document(token) for token in made]})
        return
    out = console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name")
    table.add_column("role")
    for user in users:
        table.add_row(user.name, user.role)
    print_table(out, table)
    if not made:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("token", "user", "kind", "expires (UTC)"):
        table.add_column(head)
    for token in made:
        table.add_row(token.id, token.user, token.kind, f"{token.ends:%Y-%m-%d %H:%M}")
    out.print()
    print_table(out, table)


def _document(token: AccessToken) -> dict[str, str]:
    found = {"id": token.id, "user": token.user, "kind": token.kind, "ends": token.ends.isoformat()}
    return found if token.role is None else found | {"role": token.role}


def remove(path: Path, name: str) -> None:
    """Let somebody in no more, nor her tokens; connections of PostgreSQL clients stay until they end."""
    Users(load(path).data.state).remove(name)
    console().print(f'"{name}" can no longer log in')


def make_token(path: Path, name: str, days: int, role: str | None, *, as_json: bool) -> None:
    """A token for programs, shown once."""
    token, text = issue(Users(load(path).data.state), name, timedelta(days=whole(days, "days", low=1)), role=role)
    if as_json:
        print_json(_document(token) | {"token": text})
        return
    console().print(text, soft_wrap=True)
    console(stderr=True).print(f"It expires on {token.ends:%Y-%m-%d}, is not stored and is not shown again.")


def end_tokens(path: Path, name: str, which: str) -> None:
    """One token, or all of somebody with her sessions, from now on."""
    count = revoke(Users(load(path).data.state), name, None if which == "all" else which)
    console().print(f'revoked: {count} of "{name}"')
