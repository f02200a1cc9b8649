"""A minimal client: log in, send a simple query, read rows as text. The demo checks its own server with it.

Comes in: an address, a name and a password. Goes out: rows, or the server's error. Without TLS, so for this machine.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
import struct
from base64 import b64decode, b64encode
from types import TracebackType

from sfumato.errors import QueryError
from sfumato.server.pgwire.messages import broken, message
from sfumato.server.scram import PLAIN

_VERSION = 196_608
"""3.0 of the protocol."""
Row = tuple[str | None, ...]


class SimpleClient:
    """One connection. A context manager."""

    def __init__(self, host: str, port: int, user: str, password: str, database: str) -> None:
        self._socket = socket.create_connection((host, port), timeout=60)
        self._heard = self._socket.makefile("rb")
        try:
            self._come_in(user, password, database)
        except BaseException:
            self._close()
            raise

    def _come_in(self, user: str, password: str, database: str) -> None:
        words = {"user": user, "database": database, "client_encoding": "UTF8"}
        body = b"".join(name.encode() + b"\0" + value.encode() + b"\0" for name, value in words.items())
        self._socket.sendall(struct.pack("!II", len(body) + 9, _VERSION) + body + b"\0")
        self._prove(password)
        self._until_ready()

    def __enter__(self) -> SimpleClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._socket.sendall(message(b"X"))
        self._close()

    def _close(self) -> None:
        self._heard.close()
        self._socket.close()

    def ask(self, sql: str) -> list[Row]:
        """The rows of the last statement that had some."""
        self._socket.sendall(message(b"Q", sql.encode() + b"\0"))
        return self._until_ready()

    def _next(self) -> tuple[bytes, bytes]:
        head = self._heard.read(5)
        if len(head) < 5:
            raise broken("the server has closed the connection")
        (length,) = struct.unpack("!I", head[1:])
        return head[:1], self._heard.read(length - 4)

    def _until_ready(self) -> list[Row]:
        rows: list[Row] = []
        failed: QueryError | None = None
        while True:
            kind, body = self._next()
            if kind == b"T":
                rows = []
            elif kind == b"D":
                rows.append(_row(body))
            elif kind == b"E":
                failed = _error(body)
                if failed.sqlstate.startswith(("28", "3D", "08", "57P")):
                    raise failed  # the server closes now
            elif kind == b"Z":
                if failed is not None:
                    raise failed
                return rows

    def _authentication(self, wanted: int) -> bytes:
        kind, body = self._next()
        if kind == b"E":
            raise _error(body)
        if kind != b"R" or struct.unpack("!I", body[:4]) != (wanted,):
            raise broken("the server does not want SCRAM")
        return body[4:]

    def _prove(self, password: str) -> None:
        """SCRAM-SHA-256 (RFC 5802); the server has to know the password's keys as well."""
        self._authentication(10)
        bare = f"n=,r={secrets.token_urlsafe(18)}"
        first = f"n,,{bare}".encode()
        self._socket.sendall(message(b"p", PLAIN.encode() + b"\0" + struct.pack("!I", len(first)) + first))
        said = self._authentication(11).decode()
        parts = dict(part.split("=", 1) for part in said.split(","))
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), b64decode(parts["s"]), int(parts["i"]))
        key = hmac.digest(salted, b"Client Key", "sha256")
        without = f"c={b64encode(b'n,,').decode()},r={parts['r']}"
        signed = f"{bare},{said},{without}".encode()
        signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
        proof = b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
        self._socket.sendall(message(b"p", f"{without},p={proof}".encode()))
        last = self._authentication(12)
        expected = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), signed, "sha256")
        if not hmac.compare_digest(last, b"v=" + b64encode(expected)):
            raise broken("the server does not know the password")
        self._authentication(0)


def _row(body: bytes) -> Row:
    (count,), at = struct.unpack("!H", body[:2]), 2
    cells: list[str | None] = []
    for _ in range(count):
        (size,) = struct.unpack("!i", body[at : at + 4])
        at += 4
        cells.append(None if size < 0 else body[at : at + size].decode())
        at += max(size, 0)
    return tuple(cells)


def _error(body: bytes) -> QueryError:
    fields = {part[:1]: part[1:].decode() for part in body.split(b"\0") if part}
    state, words = fields.get(b"C", "XX000"), fields.get(b"M", "no message")
    return QueryError(words, detail=fields.get(b"D"), hint=fields.get(b"H"), sqlstate=state)
