"""What is served and where: the options that a process is started with.

Comes in: addresses and a policy's text. Goes out: the order as a document for another process, and listening sockets.
The text travels along, so that a process that is started later serves the same policy as the others.
"""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, PolicyError
from sfumato.policy import Policy, load, parse
from sfumato.server.pgwire.startup import is_near
from sfumato.server.pgwire.tls import Tls, tls
from sfumato.server.sockets import listen_on

PG, HTTP = "127.0.0.1:5439", "127.0.0.1:8439"
NONE = "none"
"""The address of a door that stays shut."""
MOST_WORKERS = 64
_TRIES = 100


@dataclass(frozen=True, slots=True)
class ServeOrder:
    """What to serve. An address of None is a door that stays shut."""

    policy: str
    text: str
    pg: tuple[str, int] | None
    http: tuple[str, int] | None
    cert: str | None = None
    key: str | None = None
    plain: bool = False
    number: int = 0
    per_user: int | None = None
    """Connections of one user at the PostgreSQL door, in each process; None for the door's own limit."""

    def read(self, text: str | None = None) -> Policy:
        """The policy; of a newer text, where one is given."""
        return parse(self.text if text is None else text, self.policy)

    def numbered(self, number: int, text: str) -> ServeOrder:
        """The same for one of several processes."""
        return replace(self, number=number, text=text)

    @property
    def encrypts_http(self) -> bool:
        """TLS wherever somebody else could listen, unless plain text was asked for."""
        host = self.http[0] if self.http else "127.0.0.1"
        return self.cert is not None or not (self.plain or is_near(host) or host == "localhost")

    def to_text(self) -> str:
        """For another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> ServeOrder:
        """The same, read back."""
        fields: dict[str, Any] = json.loads(text)
        for door in ("pg", "http"):
            fields[door] = None if fields[door] is None else (fields[door][0], fields[door][1])
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Sockets:
    """Where the doors listen; several processes may share them, so that none is lost with one of them."""

    pg: tuple[socket.socket, ...]
    http: tuple[socket.socket, ...]

    def close(self) -> None:
        """Listen no more, in this process."""
        for one in (*self.pg, *self.http):
            one.close()


def read_text(path: Path) -> str:
    """The text of a policy; a file that cannot be read, or is no text, is told by the policy's own room."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError):
        load(path)
        raise


def address(text: str) -> tuple[str, int] | None:
    """HOST:PORT, [::1]:PORT or :PORT; None for the word "none"."""
    if text == NONE:
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65_535:
        raise InputError(f'"{text}" is not an address', hint=f"Write HOST:PORT, for example {PG}, or {NONE}.")
    return host.strip("[]") or "127.0.0.1", int(port)


def shown(taken: tuple[Any, ...]) -> str:
    """An address as it stands in a link."""
    return f"[{taken[0]}]:{taken[1]}" if ":" in taken[0] else f"{taken[0]}:{taken[1]}"


def listen(order: ServeOrder) -> Sockets:
    """Take the addresses of the order."""
    pg = _listen(order.pg) if order.pg else ()
    try:
        return Sockets(pg, _listen(order.http) if order.http else ())
    except BaseException:
        Sockets(pg, ()).close()
        raise


def listen_near(order: ServeOrder) -> Sockets:
    """Take the addresses of the order, or the next ports that are free."""
    taken = []
    for where in (order.pg, order.http):
        for further in range(_TRIES if where else 0):
            assert where is not None
            try:
                taken.append(_listen((where[0], where[1] + further)))
                break
            except InputError:
                if further == _TRIES - 1:
                    raise
        else:
            taken.append(())
    return Sockets(*taken)


def _listen(where: tuple[str, int]) -> tuple[socket.socket, ...]:
    try:
        return tuple(listen_on(*where))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"cannot listen on {shown(where)}: {reason}", hint="Name another address with --pg or --http."
        ) from None


def certificate(order: ServeOrder, policy: Policy) -> Tls:
    """The owner's certificate, or our own."""
    hosts = [where[0] for where in (order.pg, order.http) if where]
    given = [None if name is None else Path(name) for name in (order.cert, order.key)]
    return tls(policy.data.state, hosts[0] if hosts else "", *given)


def check_same(now: Policy, new: Policy) -> None:
    """What stands around the gateway stays: clients know the name, the budget its ledger, users their directory."""
    for what in ("id", "ledger", "anchor", "state"):
        if getattr(now.data, what) != getattr(new.data, what):
            raise PolicyError(
                f"data.{what} cannot change while serving", hint="Stop the server and start it with the new policy."
            )
