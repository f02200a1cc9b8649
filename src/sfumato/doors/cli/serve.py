"""`sfumato serve`: the doors on ports, until SIGTERM or Ctrl-C.

Comes in: a policy and addresses. Goes out: one line for each door that is open, then `ready`; at the end connections
are drained, then the ledger is closed.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from sfumato.doors.cli.say import error_text
from sfumato.doors.journal import Journal
from sfumato.doors.operator import keep_log
from sfumato.doors.pgwire.server import Server
from sfumato.doors.pgwire.tls import tls
from sfumato.doors.users import Users
from sfumato.errors import BudgetError, InputError
from sfumato.gateway import Gateway, open_policy
from sfumato.policy import load

HERE = "127.0.0.1:5439"


def serve(path: Path, pg: str, cert: Path | None, key: Path | None, *, plain: bool, check: bool) -> None:
    """Open the doors, and stay."""
    host, port = address(pg)
    policy = load(path)
    keep_log(policy)
    users = Users(policy.data.state)
    users.prepare()
    if not users.list():
        sys.stderr.write("nobody may come in yet: `sfumato user add NAME --role analyst` lets somebody\n")
    secure = tls(policy.data.state, host, cert, key)
    journal = Journal(policy.data.state)
    with open_policy(path) as gate:
        _find_bounds(gate)
        try:
            server = Server(gate, users, journal, tls=secure, allow_plain=plain)
            asyncio.run(_stay(server, gate, host, port, check=check))
        finally:
            journal.close()


def _find_bounds(gate: Gateway) -> None:
    """Buy what the policy leaves to be found, and say so; without it, questions that need no bound are answered."""
    try:
        for found in gate.find_bounds():
            sys.stderr.write(f"{'paid for now: ' if found.bought else ''}{found.words}\n")
    except BudgetError as error:
        sys.stderr.write(error_text(error))


async def _stay(server: Server, gate: Gateway, host: str, port: int, *, check: bool) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    taken = await server.start(host, port)
    shown = f"[{taken[0]}]" if ":" in taken[0] else taken[0]
    print(f"postgresql://{shown}:{taken[1]}/{gate.policy.data.id}\nready", flush=True)  # noqa: T201  what a person waits for
    if not check:
        await stopped.wait()
    await server.stop()


def address(text: str) -> tuple[str, int]:
    """HOST:PORT, [::1]:PORT or :PORT."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65_535:
        raise InputError(f'"{text}" is not an address', hint=f"Write HOST:PORT, for example {HERE}.")
    return host.strip("[]") or "127.0.0.1", int(port)
