"""Listening sockets: on every address that a name resolves to, all with one port.

Comes in: a host and a port, 0 for any. Goes out: sockets, bound and ready to be shared among processes.
"""

from __future__ import annotations

import socket
from typing import Any

BACKLOG = 1024


def listen_on(host: str, port: int) -> list[socket.socket]:
    """The sockets; an address that this machine does not have is left out, as long as there is another."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    made: list[socket.socket] = []
    failed: OSError | None = None
    for family, kind, protocol, _, address in dict.fromkeys(found):
        taken = made[0].getsockname()[1] if made else port
        try:
            made.append(_bound(family, kind, protocol, (address[0], taken, *address[2:])))
        except OSError as error:
            failed = failed or error
    if not made:
        raise failed or OSError(f'"{host}" has no address')
    return made


def _bound(family: int, kind: int, protocol: int, address: tuple[Any, ...]) -> socket.socket:
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    made.setblocking(False)
    return made
