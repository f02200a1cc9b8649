"""How fast the PostgreSQL door answers, beside an echo of the same bytes and PostgreSQL itself, in one run.

    python bench/bench_wire.py [--seconds 2] [--spend 300] [--idle 500]

The server runs on the first core, its clients on the last one: raw sockets that send prepared bytes and count replies,
so that the clients cost little. Floors: a server that sends a stored answer back without reading it (echo), and SHOW.
PostgreSQL is measured where `initdb` is found. fsync is counted by a small library that the loader puts before libc's,
where there is a C compiler; else it is not measured. The ledger is on the disk of the current directory.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import json
import os
import pwd
import resource
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.end_to_end import pg

GROUPED = "SELECT disease, COUNT(*) AS n, AVG(age) AS age FROM patient GROUP BY disease"
CATALOG = {
    "one": "SELECT 1",
    "tables": "SELECT n.nspname, c.relname, c.relkind FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n"
    " ON n.oid = c.relnamespace WHERE c.relkind IN ('r','p','v') AND n.nspname <> 'pg_catalog' ORDER BY 1, 2",
    "columns": "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull FROM"
    " pg_catalog.pg_attribute a WHERE a.attrelid = 'patient'::regclass AND a.attnum > 0 AND NOT a.attisdropped",
    "settings": "SELECT current_setting('server_version_num'), current_setting('search_path'), current_user",
}
SLOW = 5
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
static atomic_long count;
long sfumato_syncs(void) { return count; }
static void wait(void) {
  const char *ms = getenv("SFUMATO_BENCH_SYNC_MS");
  count++;
  if (ms) usleep(1000 * atoi(ms));
}
int fsync(int f) { wait(); return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(f); }
int fdatasync(int f) { wait(); return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(f); }
"""


# the server's side


def serve(home, first):
    """A door over the sample clinic with a wide budget; a line comes in, numbers go out."""
    import sfumato
    from sfumato.cli import clinic
    from sfumato.server.pgwire.startup import WireLimits

    os.sched_setaffinity(0, {first})
    written = Path(home) / "written"
    written.mkdir()
    clinic.write_clinic(written)
    rich = [(old, new.replace("1000 #", "1000000 #").replace("900 #", "900000 #")) for old, new in pg.RICH]
    policy = pg.make_clinic(Path(home) / "clinic", written, *rich)
    with sfumato.open(policy) as gate:
        served = pg.Served(gate, limits=WireLimits(connections=700, per_user=700, entering=700), encrypted=False)
        print(served.port, flush=True)
        for _ in sys.stdin:
            print(json.dumps(numbers()), flush=True)
        served.stop()


def numbers():
    """Processor time, memory and fsyncs of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    status = Path("/proc/self/status").read_text()
    resident = int(status.partition("VmRSS:")[2].split()[0])
    try:
        syncs = ctypes.CDLL(None).sfumato_syncs()
    except AttributeError:
        syncs = None
    return {"cpu": used.ru_utime + used.ru_stime, "rss": resident, "syncs": syncs}


def echo(answer, first):
    """Answers every message with the same bytes: what asyncio and the socket alone cost."""
    os.sched_setaffinity(0, {first})

    class Echo(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport, self.heard = transport, b""

        def data_received(self, data):
            self.heard += data
            while len(self.heard) >= 5:
                size = struct.unpack("!I", self.heard[1:5])[0] + 1
                if len(self.heard) < size:
                    return
                self.heard = self.heard[size:]
                self.transport.write(answer)

    async def run():
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Echo, "127.0.0.1", 0)
        loop.add_reader(sys.stdin, lambda: sys.stdin.readline() and print(json.dumps(numbers()), flush=True))
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(run())


# the clients' side


class Client(asyncio.Protocol):
    """Sends the next message when ReadyForQuery has come; notes how long each took."""

    def __init__(self, messages, until, took):
        self.messages, self.until, self.took = messages, until, took
        self.heard, self.failed, self.done = b"", None, asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        self.transport = transport

    def go(self):
        message = next(self.messages, None)
        if message is None or time.perf_counter() > self.until[0]:
            self.done.set_result(None)
            return
        self.at = time.perf_counter()
        self.transport.write(message)

    def data_received(self, data):
        self.heard = self.heard + data if self.heard else data
        if self.heard[-6:-1] != b"Z\0\0\0\5":
            return
        if b"SFATAL" in self.heard or b"SERROR" in self.heard:
            self.failed = self.heard
            self.done.set_result(None)
            return
        self.heard = b""
        self.took.append(time.perf_counter() - self.at)
        self.go()

    def connection_lost(self, _):
        if not self.done.done():
            self.done.set_result(None)


class Here:
    """Where a server listens, as `pg.Raw` wants it."""

    def __init__(self, port):
        self.host, self.port = "127.0.0.1", port


def connected(port, how):
    """A socket that is ready for a question: after SCRAM, after a start-up that is trusted, or at once."""
    raw = pg.Raw(Here(port), login=how == "scram")
    if how == "trust":
        raw.send(pg.startup())
        raw.greeting = raw.until("Z")
    assert how == "bare" or raw.greeting[-1][0] == "Z", raw.greeting
    return raw.socket


async def load(port, connections, messages, seconds, how="scram"):
    """Replies a second, and how long one took, with so many connections."""
    until, took, clients = [0.0], [], []
    loop = asyncio.get_running_loop()
    for number in range(connections):
        made = connected(port, how)
        made.setblocking(False)
        _, client = await loop.create_connection(lambda n=number: Client(messages(n), until, took), sock=made)
        clients.append(client)
    begun = time.perf_counter()
    until[0] = begun + seconds
    for client in clients:
        client.go()
    await asyncio.gather(*(client.done for client in clients))
    ended = time.perf_counter()
    for client in clients:
        client.transport.close()
        assert client.failed is None, client.failed
    return len(took) / (ended - begun), took


def forever(message):
    while True:
        yield message


def extended(sql):
    """What drivers send: parse, bind, describe, execute, sync, with results in binary."""
    return b"".join([pg.parse(sql), pg.bind(results=(1,)), pg.describe("P"), pg.execute(), pg.SYNC])


def postgres(first):
    """A PostgreSQL server with the same table, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or (str(found[-1]) if found else None)
    if initdb is None:
        return None
    user = "postgres" if os.getuid() == 0 else None
    place = Path(tempfile.mkdtemp(dir="/tmp"))
    if user is not None:
        os.chown(place, pwd.getpwnam(user).pw_uid, -1)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    run = {"user": user, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": place}
    subprocess.run([initdb, "-D", place / "d", "-A", "trust", "-U", "ana"], check=True, **run)
    words = [Path(initdb).with_name("postgres"), "-D", place / "d", "-p", str(port), "-k", place]
    server = subprocess.Popen(["taskset", "--cpu-list", str(first), *words], **run)
    import psycopg

    for _ in range(100):
        try:
            with psycopg.connect(f"host=127.0.0.1 port={port} user=ana dbname=postgres", autocommit=True) as connection:
                connection.execute("CREATE DATABASE clinic")
            break
        except psycopg.OperationalError:
            time.sleep(0.1)
    with psycopg.connect(f"host=127.0.0.1 port={port} user=ana dbname=clinic", autocommit=True) as connection:
        connection.execute("CREATE TABLE patient (disease text, age int)")
        connection.execute("INSERT INTO patient SELECT 'D' || i % 5, i % 100 FROM generate_series(1, 4000) i")
    return Postgres(server, port, place)


class Postgres:
    """PostgreSQL's own server; its processes are not counted."""

    def __init__(self, process, port, place):
        self.process, self.port, self.place = process, port, place

    def numbers(self):
        return {"cpu": float("nan")}

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.place)


class Child:
    """A server in a process of its own."""

    def __init__(self, *words, **environment):
        command = [sys.executable, __file__, *map(str, words)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=os.environ | environment, **pipes)
        self.port = int(self.process.stdout.readline())

    def numbers(self):
        print(file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def stop(self, *, kill=False):
        if kill:
            self.process.kill()
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


def shim(home):
    """The library that counts fsync, or nothing."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return {}
    source, made = Path(home) / "syncs.c", Path(home) / "syncs.so"
    source.write_text(SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(made)}


def rates(server, message, seconds, how="scram"):
    """Replies a second with 1, 8 and 64 connections; of 64 the median and 99th percentile in ms, and processor us."""
    found = []
    for connections in (1, 8, 64):
        before = server.numbers()
        rate, took = asyncio.run(load(server.port, connections, lambda _: forever(message), seconds, how))
        used = server.numbers()["cpu"] - before["cpu"]
        found.append(rate)
    took.sort()
    return found, (statistics.median(took) * 1e3, took[int(len(took) * 0.99)] * 1e3, used / len(took) * 1e6)


def line(name, found, spread, floor):
    shown = "".join(f"{rate:9.0f}" for rate in found)
    ratios = "".join(f"{rate / base:7.2f}" for rate, base in zip(found, floor, strict=True))
    middle, late, used = spread
    print(f"{name:34}{shown}   {ratios}   {middle:6.1f} {late:6.1f}  {late / middle:4.1f} {used:8.0f}", flush=True)


def answers(door, home, first, seconds):
    """Stored answers and the catalog, over and over."""
    with pg.Raw(Here(door.port)) as raw:
        raw.ask(pg.query(GROUPED))  # paid for once
        raw.send(pg.query(GROUPED))
        stored = b"".join(kind.encode() + struct.pack("!I", len(body) + 4) + body for kind, body in raw.until("Z"))
    (Path(home) / "answer").write_bytes(stored)
    floor = Child("--echo", Path(home) / "answer", "--core", first)
    head = f"replies a second with              {'1':>8}{'8':>9}{'64':>9}   share of the echo's"
    print(f"{head}   p50 ms p99 ms ratio  CPU us")
    try:
        base, spread = rates(floor, pg.query(GROUPED), seconds, "bare")
    finally:
        floor.stop(kill=True)
    line("echo of the stored answer", base, spread, base)
    cases = {"SHOW TimeZone": pg.query("SHOW TimeZone"), "stored answer, simple": pg.query(GROUPED)}
    cases["stored answer, extended, binary"] = extended(GROUPED)
    cases |= {f"catalog: {name}": pg.query(sql) for name, sql in CATALOG.items()}
    for name, message in cases.items():
        found, spread = rates(door, message, seconds)
        line(name, found, spread, base)
    server = postgres(first)
    if server is None:
        print("PostgreSQL is not installed: not measured")
        return
    try:
        for name, sql in (("SELECT 1", "SELECT 1"), ("the same, no privacy", GROUPED)):
            found, spread = rates(server, pg.query(sql), seconds, "trust")
            line(f"PostgreSQL: {name}", found, spread, base)
    finally:
        server.stop()


def spending(door, count):
    """New questions, each of which is paid for: the rate, fsyncs and processor time of one."""
    rate_of_one = None
    for turn, connections in enumerate((1, 8, 64)):
        each = min(300, max(1, count // max(8, connections)))

        def fresh(number, turn=turn, each=each):
            for i in range(each):  # no two of all these questions are the same
                yield pg.query(f"SELECT COUNT(*) FROM patient WHERE salary > {1000 * number + 300 * turn + i}")

        before = door.numbers()
        rate, took = asyncio.run(load(door.port, connections, fresh, 600))
        after = door.numbers()
        asked = connections * each
        rate_of_one = rate_of_one or rate
        syncs = "not counted" if after["syncs"] is None else f"{(after['syncs'] - before['syncs']) / asked:.2f}"
        took.sort()
        print(
            f"spending with {connections:3} connections    {rate:9.0f}   {rate / rate_of_one:.2f} of one connection's;"
            f" fsyncs a question {syncs}; processor {(after['cpu'] - before['cpu']) / asked * 1e3:.1f} ms;"
            f" memory {after['rss'] / 1024:.0f} MB;"
            f" p50 {statistics.median(took) * 1e3:.0f} ms, p99 {took[int(len(took) * 0.99)] * 1e3:.0f} ms", flush=True,
        )  # fmt: skip


def idle(door, count):
    """What connections cost that say nothing."""
    before = door.numbers()["rss"]
    held = [connected(door.port, "scram") for _ in range(count)]
    grown = door.numbers()["rss"] - before
    print(f"{count} idle connections             {grown / 1024:9.1f} MB, {grown / count:.1f} kB each")
    for made in held:
        made.close()


def main():
    """Print the table."""
    words = argparse.ArgumentParser()
    words.add_argument("--seconds", type=float, default=2)
    words.add_argument("--spend", type=int, default=640)
    words.add_argument("--idle", type=int, default=500)
    words.add_argument("--serve")
    words.add_argument("--echo")
    words.add_argument("--core", type=int)
    given = words.parse_args()
    if given.serve:
        return serve(given.serve, given.core)
    if given.echo:
        return echo(Path(given.echo).read_bytes(), given.core)
    every = sorted(range(os.cpu_count() or 1))
    first, last = every[0], every[-1]
    os.sched_setaffinity(0, {last})
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as home:
        door = Child("--serve", home, "--core", first, **shim(home))
        try:
            idle(door, given.idle)
            spending(door, given.spend)
            answers(door, home, first, given.seconds)
        finally:
            door.stop()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as home:
        library = shim(home)
        if library:
            print(f"on a disk whose fsync takes {SLOW} ms longer:")
            door = Child("--serve", home, "--core", first, SFUMATO_BENCH_SYNC_MS=str(SLOW), **library)
            try:
                spending(door, given.spend)
            finally:
                door.stop()
    return None


if __name__ == "__main__":
    main()
