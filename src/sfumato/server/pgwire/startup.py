"""From the first byte to a session: start-up, TLS, SCRAM, limits.

Comes in: a wire. Goes out: who it is and the settings that came along, or an error, told in the same way for a wrong
password and for a name that does not exist.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from sfumato.errors import QueryError, SfumatoError
from sfumato.server.audit_log import AuditLog
from sfumato.server.per_user_limits import MOST
from sfumato.server.pgwire import messages as m
from sfumato.server.pgwire.connection import LONGEST_STARTUP, ClientLeft, Wire
from sfumato.server.pgwire.settings import Settings
from sfumato.server.pgwire.tls import Tls
from sfumato.server.scram import ScramExchange
from sfumato.server.users import User, Users

_OURS = ("user", "database", "options", "replication")


@dataclass(frozen=True, slots=True)
class WireLimits:
    """What one client may take. Seconds, bytes, counts.

    `entering` are connections that have not said yet who they are: they have a room of their own, so that whoever only
    knocks cannot keep others out. `workers` are threads, `working` those of one user; most of them wait for the disk,
    so that an fsync serves many. `drain` is how long queries may finish when the server stops, `grace` how long it
    waits for them to hear that they are interrupted. `kept` is what is kept for one user.
    """

    startup: float = 10.0
    entering: int = 100
    message: int = 2**20
    connections: int = 500
    per_user: int = 100
    failures: int = 10
    workers: int = 128
    working: int = 32
    drain: float = 5.0
    grace: float = 1.5
    abandoned: int = 4
    kept: int = MOST


@dataclass(frozen=True, slots=True)
class LoginSettings:
    """What a log-in needs to know."""

    database: str
    users: Users
    journal: AuditLog
    limits: WireLimits
    tls: Tls | None = None
    allow_plain: bool = False
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By user: what the policy lets their connections start with."""

    async def receive(self, wire: Wire) -> m.Cancel | tuple[User, Settings]:
        """Who comes in; or what is to be cancelled."""
        async with asyncio.timeout(self.limits.startup):
            first, secured = await self._first(wire)
            if isinstance(first, m.Cancel):
                return first
            unknown = [name for name in first.parameters if name.startswith("_pq_.")]
            if first.major != 3:
                version = f"{first.major}.{first.minor}"
                raise QueryError(f"unsupported frontend protocol {version}: server supports 3.0", sqlstate="0A000")
            if first.minor or unknown:
                await wire.write(m.negotiate(0, unknown))
            name = first.parameters.get("user", "")
            if not name:
                raise QueryError("no user name was given", sqlstate="28000")
            wire.is_named = True
            if not secured and not self.allow_plain and not is_near(wire.peer):
                raise QueryError(
                    "connections from other machines must use TLS", sqlstate="28000", hint="Use sslmode=require."
                )
            user = await self._prove(wire, name, secured=secured)
            return user, self._admitted(user, first)

    async def _first(self, wire: Wire) -> tuple[m.Startup | m.Cancel, bool]:
        secured = False
        for _ in range(4):
            message = m.parse_startup(await wire.startup())
            if not isinstance(message, m.EncryptionRequest):
                return message, secured
            if message.code == m.SSL and self.tls is not None and not secured:
                await wire.secure(self.tls.context)
                secured = True
            else:
                await wire.write(b"N")
        raise m.broken("there is no end to these requests")

    async def _prove(self, wire: Wire, name: str, *, secured: bool) -> User:
        self._check(name, wire.peer)
        user, genuine = self.users.find(name)
        exchange = ScramExchange(
            user.verifier, genuine=genuine, binding=self.tls.binding if secured and self.tls is not None else None
        )
        await wire.write(m.mechanisms(exchange.offers))
        mechanism, _, rest = (await _secret(wire)).partition(b"\0")
        await wire.write(m.authentication(11, exchange.first(mechanism.decode("latin-1"), rest[4:])))
        said = await _secret(wire)
        self._check(name, wire.peer)  # again: who tries many at once has failed meanwhile
        proof = exchange.final(said)
        if proof is None:
            self.users.failures.add(name, wire.peer)
            self.journal.write("log-in failed", user=name, peer=wire.peer)
            raise QueryError(f'password authentication failed for user "{name}"', sqlstate="28P01")
        await wire.write(m.authentication(12, proof))
        return user

    def _check(self, name: str, peer: str) -> None:
        self.users.failures.check(name, peer, self.limits.failures)

    def _admitted(self, user: User, first: m.Startup) -> Settings:
        database = first.parameters.get("database") or user.name
        if database != self.database:
            raise QueryError(
                f'database "{database}" does not exist', sqlstate="3D000", hint=f'The database is "{self.database}".'
            )
        settings = Settings(user.name)
        settings.start(dict(self.settings.get(user.name, {})))
        settings.start(_options(first.parameters.get("options", "")))
        given = {name: v for name, v in first.parameters.items() if name not in _OURS and not name.startswith("_pq_.")}
        settings.start(given)
        return settings


async def _secret(wire: Wire) -> bytes:
    kind, body = await wire.message(LONGEST_STARTUP)
    if kind == "X":
        raise ClientLeft
    if kind != "p":
        raise m.broken("expected a SASL response")
    return body


def is_near(peer: str) -> bool:
    """Whether a client is on this machine."""
    try:
        return ip_address(peer.split("%", maxsplit=1)[0]).is_loopback
    except ValueError:
        return peer == "local"


def _options(text: str) -> dict[str, str]:
    """`-c name=value` and `--name=value`; a backslash keeps a blank."""
    words = [word.replace("\0", " ") for word in text.replace("\\ ", "\0").split()]
    found: dict[str, str] = {}
    for i, word in enumerate(words):
        setting = word[2:] if word.startswith("--") or (word.startswith("-c") and len(word) > 2) else ""
        if word == "-c" and i + 1 < len(words):
            setting = words[i + 1]
        name, equals, value = setting.partition("=")
        if equals:
            found[name.replace("-", "_")] = value
    return found


def fatal(error: SfumatoError) -> bytes:
    """The last word on a connection."""
    return m.report(b"E", "FATAL", error)
