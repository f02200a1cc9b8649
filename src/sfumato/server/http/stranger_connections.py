"""Connections without a login, bounded separately from those of users: half-sent requests of strangers block nobody.

Comes in: connections of the HTTP server, and who was recognised on them. Goes out: the oldest ones, closed, where there
are too many. A connection belongs to strangers until somebody shows a token or a cookie on it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


class StrangerConnections:
    """All open connections of one server.

    Guarantee: there are never more than `strangers` connections on which nobody was recognised, nor more than
        `per_user` of one user; a new connection is always let in.
    Proof: each one that comes in closes the oldest where there would be too many; who is recognised moves to the user.
    Reference: docs/threats.md, Availability.
    Checked by: end_to_end::half_requests_of_strangers_keep_nobody_out, end_to_end::one_user_has_a_number_of_connections
    """

    def __init__(self, strangers: int, per_user: int) -> None:
        self._most, self._per_user = strangers, per_user
        self._strangers: dict[Any, None] = {}
        self._users: dict[str, dict[Any, None]] = {}

    def come(self, connection: Any) -> None:
        """A connection was opened."""
        self._strangers[connection] = None
        _shrink(self._strangers, self._most)

    def know(self, connection: Any, user: str) -> None:
        """Somebody was recognised on it."""
        self.leave(connection)
        known = self._users.setdefault(user, {})
        known[connection] = None
        _shrink(known, self._per_user)

    def leave(self, connection: Any) -> None:
        """It was closed, or belongs to somebody else from now on."""
        self._strangers.pop(connection, None)
        for user, known in list(self._users.items()):
            if known.pop(connection, 0) is None and not known:
                del self._users[user]


def _shrink(connections: dict[Any, None], most: int) -> None:
    while len(connections) > most:
        oldest = next(iter(connections))
        del connections[oldest]
        oldest.transport.abort()


def protocol_of(lobby: StrangerConnections) -> type[asyncio.Protocol]:
    """The server's protocol, whose connections are in the lobby; a request finds its own in `scope["state"]`."""

    class Counted(H11Protocol):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.app_state = {**self.app_state, "connection": self}

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            lobby.come(self)

        def connection_lost(self, exc: Exception | None) -> None:
            lobby.leave(self)
            super().connection_lost(exc)

    return Counted
