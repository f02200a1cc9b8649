"""The HTTP door beside what is behind it and beside the PostgreSQL door: questions a second and CPU a question.

    python bench/bench_http.py [--seconds 4] [--clients 64]

One worker, over loopback, in a process of its own; clients in this one. Stored answers: one question, asked before;
the floor is a page that asks nothing (/healthz reads the ledger once) and the gateway called directly. Spending: every
question is new, so every one is a durable debit; the same questions over PostgreSQL's protocol are the peer.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import multiprocessing
import resource
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import asyncpg

import sfumato
from sfumato.cli import clinic
from sfumato.server.audit_log import AuditLog
from sfumato.server.http import HttpServer
from sfumato.server.pgwire.server import WireServer
from sfumato.server.tokens import issue
from sfumato.server.users import Users

PASSWORD = "correct horse"
COUNT = "SELECT disease, COUNT(*) AS n FROM patient GROUP BY disease"
RICH = (("epsilon = 4 ", "epsilon = 1000000 "), ("epsilon = 1 ", "epsilon = 900000 "))
_number = itertools.count()


def make(home: Path) -> Path:
    """The clinic, with more budget than anybody can spend here."""
    clinic.write_clinic(home)
    policy = home / clinic.POLICY_FILE
    text = policy.read_text()
    for old, new in RICH:
        assert text.count(old) == 1
        text = text.replace(old, new)
    policy.write_text(text)
    return policy


def serve(policy: Path, pipe: multiprocessing.connection.Connection) -> None:
    """Both doors on one gateway, until told to stop; CPU seconds on request."""

    async def run() -> None:
        with sfumato.open(policy) as gate:
            users, journal = Users(gate.policy.data.state), AuditLog(gate.policy.data.state)
            users.add("ana", "analyst", PASSWORD)
            token = issue(users, "ana", timedelta(days=1))[1]
            door, wire = HttpServer(gate, users, journal), WireServer(gate, users, journal)
            pipe.send((await door.start("127.0.0.1", 0), await wire.start("127.0.0.1", 0), token))
            while await asyncio.get_running_loop().run_in_executor(None, pipe.recv) == "cpu":
                used = resource.getrusage(resource.RUSAGE_SELF)
                pipe.send(used.ru_utime + used.ru_stime)
            await door.stop()
            await wire.stop()

    asyncio.run(run())


async def by_http(address: tuple[str, int], head: bytes, bodies: object, until: float) -> int:
    """Ask over one connection until the time is over; how many answers came. A client as lean as can be."""
    reader, writer = await asyncio.open_connection(*address)
    done = 0
    while time.perf_counter() < until:
        body = next(bodies)  # type: ignore[call-overload]
        writer.write(head.replace(b"LENGTH", str(len(body)).encode()) + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200"), answer
        length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        done += 1
    writer.close()
    return done


async def by_wire(address: tuple[str, int], until: float) -> int:
    """The same by asyncpg's simple protocol."""
    host, port = address
    connection = await asyncpg.connect(
        host=host, port=port, user="ana", password=PASSWORD, database="clinic", ssl=False, statement_cache_size=0
    )
    done = 0
    while time.perf_counter() < until:
        await connection.execute(new())
        done += 1
    await connection.close()
    return done


def new() -> str:
    """A question that nobody has asked."""
    n = next(_number)
    zipcode = 75000 + n // 120 % 1000
    return f"SELECT COUNT(*) FROM patient WHERE age <> {n % 120} AND zipcode <> {zipcode} AND salary <> {n}"


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=4)
    options.add_argument("--clients", type=int, default=64)
    given = options.parse_args()
    here, there = multiprocessing.Pipe()
    with tempfile.TemporaryDirectory() as folder:
        policy = make(Path(folder))
        process = multiprocessing.get_context("spawn").Process(target=serve, args=(policy, there))
        process.start()
        http, wire, token = here.recv()
        bearer = f"Host: localhost\r\nAuthorization: Bearer {token}\r\n"
        post = f"POST /api/query HTTP/1.1\r\n{bearer}Content-Type: application/json\r\nContent-Length: LENGTH\r\n\r\n"
        get = f"GET /api/me HTTP/1.1\r\n{bearer}\r\n"

        def measure(name: str, clients: int, ask: object) -> float:
            here.send("cpu")
            before, start = here.recv(), time.perf_counter()

            async def run() -> int:
                until = start + given.seconds
                return sum(await asyncio.gather(*(ask(until) for _ in range(clients))))  # type: ignore[operator]

            done = asyncio.run(run())
            rate = done / (time.perf_counter() - start)
            here.send("cpu")
            print(f"{rate:9.0f}/s  {(here.recv() - before) / done * 1e3:7.2f} ms CPU  {name}")
            return rate

        def question(sql: str) -> bytes:
            return json.dumps({"sql": sql, "epsilon": 0.01}).encode()

        print(f"one worker, {given.seconds:g} s each")
        stored = itertools.repeat(question(COUNT))
        asyncio.run(by_http(http, post.encode(), stored, time.perf_counter() + 0.1))
        floor = measure(
            "a page that asks nothing, 4 clients", 4, lambda u: by_http(http, get.encode(), itertools.repeat(b""), u)
        )
        rate = measure("a stored answer, 4 clients", 4, lambda u: by_http(http, post.encode(), stored, u))
        print(f"           stored answers are {rate / floor:.2f} of the floor, {rate / 500:.2f} of 500/s")
        fresh = (question(new()) for _ in itertools.count())
        spending = measure(
            f"new questions over HTTP, {given.clients} clients",
            given.clients,
            lambda u: by_http(http, post.encode(), fresh, u),
        )
        peer = measure(
            f"new questions over PostgreSQL, {given.clients} clients", given.clients, lambda u: by_wire(wire, u)
        )
        print(f"           HTTP spends at {spending / peer:.2f} of the wire's rate")
        here.send("stop")
        process.join(60)


if __name__ == "__main__":
    main()
