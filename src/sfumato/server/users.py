"""Users: names, roles, SCRAM verifiers and hashed tokens, in a file that only the owner can read; no password.

Comes in: the policy's state directory. Goes out: users, and the verifier that a log-in is checked against; a name that
is not known gets one too, which no password fits. The file is replaced in one step, and read again when it changes.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, QueryError, SfumatoError
from sfumato.files import make_private_directory, replace_file
from sfumato.server.login_throttle import LoginThrottle
from sfumato.server.scram import Verifier, mock, verifier

ANALYST, OWNER, AUDITOR = "analyst", "owner", "auditor"
ROLES = (ANALYST, OWNER, AUDITOR)
USERS_FILE = "users.json"
_SHORTEST = 8
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,63}")


@dataclass(frozen=True, slots=True)
class User:
    """A name, what it may do, and what proves its password."""

    name: str
    role: str
    verifier: Verifier

    @property
    def asks_as(self) -> str:
        """The name under which the ledger knows what this user spends: owners share what has no share."""
        return OWNER if self.role == OWNER else self.name


class Users:
    """The users of one policy. Any number of threads and processes may use the file.

    `failures` counts failed log-ins for all doors that are handed this object.
    """

    def __init__(self, state: str | Path) -> None:
        self._home = Path(state)
        self._file = self._home / USERS_FILE
        self.failures = LoginThrottle()
        self._lock = threading.Lock()
        self._read: tuple[tuple[int, int, int], dict[str, Any]] | None = None

    def list(self) -> list[User]:
        """Everybody, by name."""
        return [_user(name, entry) for name, entry in sorted(self.document()["users"].items())]

    def find(self, name: str) -> tuple[User, bool]:
        """Somebody, and whether she is real: a stranger cannot tell by the exchange that follows."""
        document = self.document()
        if name in document["users"]:
            return _user(name, document["users"][name]), True
        return User(name, ANALYST, mock(name, bytes.fromhex(document["key"]))), False

    def add(self, name: str, role: str, password: str) -> User:
        """A new user, or a new role and password for an old one, whose tokens end with the old password."""
        if role not in ROLES:
            raise InputError(f'role "{role}" is not known', hint=f"There are {', '.join(ROLES)}.")
        if not _NAME.fullmatch(name) or name.strip() != name:
            raise InputError("a name must have 1 to 63 characters, without surrounding blanks or control characters")
        if name == OWNER and role != OWNER:
            raise InputError('the name "owner" is reserved for the owner', hint="Use another name, or --role owner.")
        if len(password) < _SHORTEST:
            raise InputError(f"a password must have at least {_SHORTEST} characters, but this one has {len(password)}")
        user = User(name, role, verifier(password))
        with self.changing() as document:
            document["users"][name] = {"role": role, "verifier": user.verifier.to_text()}
            _forget(document, name)
        return user

    def remove(self, name: str) -> None:
        """Somebody who can no longer log in, nor her tokens; what she has spent stays in the ledger."""
        with self.changing() as document:
            if document["users"].pop(name, None) is None:
                raise unknown(name)
            _forget(document, name)

    def prepare(self) -> None:
        """Make the file, with its key for strangers, before anybody asks."""
        with self.changing():
            pass

    @contextmanager
    def changing(self) -> Iterator[dict[str, Any]]:
        """The document, to be changed by one process at a time; written when the block ends."""
        with _naming_the_disk():
            make_private_directory(self._home)
            handle = os.open(self._home / "users.lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            document = self.document()
            yield document
            with _naming_the_disk():
                self._write(document)
        finally:
            os.close(handle)

    def _write(self, document: dict[str, Any]) -> None:
        replace_file(self._file, json.dumps(document, indent=2).encode())

    def document(self) -> dict[str, Any]:
        """What the file says now: `users` and `tokens` by name, and the key for strangers."""
        with self._lock:
            try:
                found = self._file.stat()
            except FileNotFoundError:
                self._read = self._read if self._read and self._read[0] == (0, 0, 0) else ((0, 0, 0), _empty())
                return _copy(self._read[1])
            mark = (found.st_mtime_ns, found.st_size, found.st_ino)
            if self._read is None or self._read[0] != mark:
                if found.st_mode & 0o077:
                    raise InputError(f'"{self._file}" must be readable by its owner only', hint="Run chmod 600 on it.")
                self._read = (mark, json.loads(self._file.read_text(encoding="utf-8")))
            return _copy(self._read[1])


@contextmanager
def _naming_the_disk() -> Iterator[None]:
    """A file that cannot be written is no fault of who logs in: the error says what is wrong."""
    try:
        yield
    except OSError as error:
        raise SfumatoError(
            "the file of users could not be written",
            detail=f"{(error.strerror or type(error).__name__).capitalize()}.",
            hint="The owner must free space or repair the disk.",
            sqlstate="53100" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "58030",
        ) from None


def check_may_ask(user: User) -> None:
    """Auditors look at the record, not at the data."""
    if user.role == AUDITOR:
        raise QueryError("an auditor cannot run queries", sqlstate="42501", hint="Ask the owner for the analyst role.")


def unknown(name: str) -> InputError:
    """Nobody has this name."""
    return InputError(f'there is no user "{name}"', hint="`sfumato user list` shows all users.")


def _empty() -> dict[str, Any]:
    return {"format": 1, "key": secrets.token_hex(32), "users": {}, "tokens": {}}


def _copy(document: dict[str, Any]) -> dict[str, Any]:
    return document | {"users": dict(document["users"]), "tokens": dict(document.get("tokens", {}))}


def _forget(document: dict[str, Any], name: str) -> None:
    """The tokens of somebody end."""
    document["tokens"] = {one: token for one, token in document["tokens"].items() if token["user"] != name}


def _user(name: str, entry: dict[str, Any]) -> User:
    return User(name, entry["role"], Verifier.from_text(entry["verifier"]))
