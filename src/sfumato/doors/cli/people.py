"""`sfumato user`: who may come in through the doors on ports.

Comes in: a policy file and names. Goes out: the users' file in the policy's state directory, and a password that is
shown once if none was given.
"""

from __future__ import annotations

import getpass
import secrets
import sys
from pathlib import Path

from rich.table import Table

from sfumato.doors.cli.say import console, print_json
from sfumato.doors.users import Users
from sfumato.errors import InputError
from sfumato.policy import load


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
    out.print(f'"{name}" may come in as {role}')
    if made is not None:
        out.print(f"password: {made}", soft_wrap=True)
        console(stderr=True).print("It is not stored and is not shown again.")
    if role == "analyst" and name not in policy.analysts:
        console(stderr=True).print(f"[analysts.{name}] is not in the policy: what is left of the total may be used.")


def show(path: Path, *, as_json: bool) -> None:
    """Who there is."""
    users = Users(load(path).data.state).list()
    if as_json:
        print_json({"users": [{"name": user.name, "role": user.role} for user in users]})
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name")
    table.add_column("role")
    for user in users:
        table.add_row(user.name, user.role)
    console().print(table)


def remove(path: Path, name: str) -> None:
    """Let somebody in no more; connections that are open stay until they end."""
    Users(load(path).data.state).remove(name)
    console().print(f'"{name}" may not come in any more')
