"""A class on sample data: one link for all students, and an account with a budget of its own for each of them.

Comes in: the policy's shares and the users' file. Goes out: a key for the link, and for everybody who shows it the
next free account. The key gives accounts of students and nothing else; it ends by its hour or with its owner.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from datetime import timedelta

from sfumato.errors import QueryError
from sfumato.server.scram import verifier
from sfumato.server.tokens import admit, issue
from sfumato.server.users import ANALYST, OWNER, User, Users

CLASS = "class"
"""The kind of the key in a class's link."""
_STUDENT = re.compile(r"student[0-9]+")


def student(number: int) -> str:
    """The account of a student, as the policy names its share."""
    return f"student{number:02}"


def open_class(users: Users, lasts: timedelta) -> str:
    """A new key for the link of a class."""
    return issue(users, OWNER, lasts, kind=CLASS)[1]


def is_open(users: Users, key: str) -> bool:
    """Whether a key still gives accounts."""
    found = admit(users, key)
    return found is not None and found[1].kind == CLASS


def join(users: Users, shares: Iterable[str]) -> tuple[User, str]:
    """The next student's account, with a new password; of many who come at once everybody gets another one."""
    names = sorted((name for name in shares if _STUDENT.fullmatch(name)), key=lambda name: (len(name), name))
    password = secrets.token_urlsafe(12)
    proof = verifier(password)
    with users.changing() as document:
        free = next((name for name in names if name not in document["users"]), None)
        if free is None:
            raise QueryError(
                "this class is full",
                sqlstate="53300",
                hint="All of its accounts are taken. Ask the teacher to start a larger one.",
            )
        document["users"][free] = {"role": ANALYST, "verifier": proof.to_text()}
    return User(free, ANALYST, proof), password
