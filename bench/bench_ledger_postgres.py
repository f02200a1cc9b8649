"""Durable charges a second in a ledger in PostgreSQL, beside plain INSERTs into the same server, as durable.

python bench/bench_ledger_postgres.py [SECONDS]

A gateway is a process with one ledger and so many threads that charge, each a question of its own; a plain INSERT is
one row of the size of an entry in one transaction, from as many connections. fsyncs are those of the server's log
(pg_stat_wal). The server is one that is made here, with PostgreSQL's settings as they come, on the disk of the
temporary directory; gateways and server share the machine, and the processor time of the clients is printed.
"""

import json
import os
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from tempfile import gettempdir

import psycopg
from tests import pgserver

from sfumato.accounting import Pure
from sfumato.ledger import Ledger

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1] != "gateway" else 4.0
LINE = "x" * 500  # about the size of one entry of the chain
CONNECTIONS = (1, 8, 64)


def gateway(place, threads, seconds):
    """Charges of one process; says how many, and how long it took."""
    policy = {"data_id": "bench", "composition": "best", "epsilon": 10**6, "delta": "1e-6"}
    counts = [0] * threads
    with Ledger.open(place, busy=30, **policy) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        end = time.monotonic() + seconds

        def work(number):
            while time.monotonic() < end:
                with ledger.asking():
                    question = f"{os.getpid()}-{number}-{counts[number]}"
                    ledger.debit("ana", Pure("0.1"), question=question, epsilon="0.1", version="1", text="SELECT 1")
                counts[number] += 1

        begun, cpu = time.monotonic(), time.process_time()
        run(threads, work)
        took, cpu = time.monotonic() - begun, time.process_time() - cpu
    print(json.dumps([sum(counts), took, cpu]), flush=True)


def run(threads, work):
    running = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def syncs(address):
    """fsyncs of the log, as far as the server has told its statistics."""
    time.sleep(1.5)
    with psycopg.connect(address, autocommit=True) as link:
        if link.info.server_version < 140000:
            return float("nan")
        table = "pg_stat_wal" if link.info.server_version < 180000 else None
        if table is None:
            return float(link.execute("SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'").fetchone()[0])
        return float(link.execute("SELECT wal_sync FROM pg_stat_wal").fetchone()[0])


def charged(address, gateways, connections):
    place = pgserver.fresh(address)
    Ledger.open(place, data_id="bench", composition="best", epsilon=10**6, delta="1e-6").close()
    words = [sys.executable, __file__, "gateway", place, str(max(1, connections // gateways)), str(SECONDS)]
    processes = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(gateways)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    before = syncs(address)
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [json.loads(process.communicate()[0]) for process in processes]
    forced = syncs(address) - before
    with Ledger.visit(place) as ledger:
        debits = ledger.verify().debits
    pgserver.drop(place)
    count = sum(number for number, *_ in told)
    assert debits == count
    return count / max(took for _, took, _ in told), forced / count, sum(cpu for *_, cpu in told) / count


def inserted(address, connections):
    counts = [0] * connections
    with psycopg.connect(address, autocommit=True) as link:
        link.execute("DROP TABLE IF EXISTS plain")
        link.execute("CREATE TABLE plain(id bigserial PRIMARY KEY, body text)")
    links = [psycopg.connect(address, autocommit=True) for _ in range(connections)]
    before = syncs(address)
    begun, cpu = time.monotonic(), time.process_time()
    end = begun + SECONDS

    def work(number):
        while time.monotonic() < end:
            links[number].execute("INSERT INTO plain(body) VALUES(%s)", (LINE,))
            counts[number] += 1

    run(connections, work)
    took, cpu = time.monotonic() - begun, time.process_time() - cpu
    forced = syncs(address) - before
    for link in links:
        link.close()
    return sum(counts) / took, forced / sum(counts), cpu / sum(counts)


def main():
    with pgserver.cluster() as made:
        with psycopg.connect(made.address) as link:
            version = link.info.server_version // 10000
        print(f"PostgreSQL {version}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, in {gettempdir()}")
        print(f"{'':34}{'a second':>10}{'fsyncs each':>13}{'client ms each':>16}")
        rows = [(f"plain INSERT, {n} connections", partial(inserted, made.address, n)) for n in CONNECTIONS]
        for gateways in (1, 3):
            name = f"gateway{'s' * (gateways > 1)}"
            rows += [
                (f"charge, {n} threads, {gateways} {name}", partial(charged, made.address, gateways, n))
                for n in CONNECTIONS
            ]
        for name, measure in rows:
            rate, forced, cpu = measure()
            print(f"{name:34}{rate:10.0f}{forced:13.2f}{cpu * 1000:16.2f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["gateway"]:
        gateway(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    else:
        assert Path("src/sfumato").exists(), "run it from the root of the project"
        main()
