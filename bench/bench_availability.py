"""One analyst runs eight endless free queries: what another analyst feels of it, and how long the server takes to end.

    python bench/bench_availability.py [--queries 20]

Prints medians in milliseconds, alone and beside the eight, and their ratio, for stored answers and for new ones, at
both interfaces. A stored answer should take under 200 ms, a new one at most three times what it takes alone, the end
ten seconds. Wall time: run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import timedelta
from pathlib import Path

import httpx
import psycopg

from sfumato.cli.clinic import write_clinic
from sfumato.policy import load
from sfumato.server.tokens import issue
from sfumato.server.users import Users

COMMAND = [sys.executable, "-c", "from sfumato.cli import main; main()"]
PASSWORD = "correct horse"
PUBLIC = f"SELECT COUNT(*) FROM region r0 {' '.join(f'CROSS JOIN region r{i}' for i in range(1, 30))}"
CATALOG = "SELECT COUNT(*) FROM generate_series(1, 1000000000) a, generate_series(1, 1000000000) b WHERE a <> b"


class Bench:
    def __init__(self, home):
        write_clinic(home)
        policy = home / "sfumato.toml"
        text = policy.read_text().replace("epsilon = 4 ", "epsilon = 100000 ")
        policy.write_text(text.replace("[analysts.ana]\nepsilon = 1 ", "[analysts.ana]\nepsilon = 90000 "))
        self.state = load(policy).data.state
        for name in ("ana", "bob"):
            Users(self.state).add(name, "analyst", PASSWORD)
        ports = ["--pg", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        self.server = subprocess.Popen(
            [*COMMAND, "serve", "-p", str(policy), *ports], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        lines = []
        while not lines or lines[-1] != "ready":
            lines.append(self.server.stdout.readline().strip())
        links = [line.partition(": ")[2] for line in lines]
        pg, self.url = (next(link for link in links if link.startswith(kind)) for kind in ("postgresql", "http:"))
        self.pg, self.number = pg.removeprefix("postgresql://").split("/")[0].split(":"), 0

    def connect(self, user):
        host, port = self.pg
        return psycopg.connect(host=host, port=port, user=user, password=PASSWORD, dbname="clinic", autocommit=True)

    def client(self, user):
        _, token = issue(Users(self.state), user, timedelta(days=1))
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {token}"}, timeout=120)

    def endless(self, kind, number):
        sql = f"{CATALOG} AND {number} = {number}" if kind == "catalog" else f"{PUBLIC} WHERE {number} = {number}"
        try:
            if kind == "public, http":
                self.client("ana").post("/api/query", json={"sql": sql})
            else:
                self.connect("ana").execute(sql)
        except (psycopg.Error, httpx.HTTPError):
            pass

    def measure(self, count):
        """Medians in milliseconds by what was asked."""
        with self.connect("bob") as bob, self.client("bob") as web:
            ways = {
                "stored, pg": lambda _: bob.execute("SELECT COUNT(*) FROM patient").fetchone(),
                "stored, http": lambda _: web.post("/api/query", json={"sql": "SELECT COUNT(*) FROM patient"}),
                "new, pg": lambda n: bob.execute(f"SELECT COUNT(*) FROM visit WHERE cost > {n / 100}").fetchone(),
                "new, http": lambda n: web.post(
                    "/api/query", json={"sql": f"SELECT COUNT(*) FROM visit WHERE cost > {n / 100}"}
                ),
            }
            found = {}
            for name, work in ways.items():
                work(self.next())
                found[name] = statistics.median(self.timed(work) for _ in range(count))
            return found

    def timed(self, work):
        number, began = self.next(), time.perf_counter()
        work(number)
        return 1000 * (time.perf_counter() - began)

    def next(self):
        self.number += 1
        return self.number


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=20)
    count = parser.parse_args().queries
    for kind in ("catalog", "public, pg", "public, http"):
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(Path(folder))
            alone = bench.measure(count)
            for number in range(8):
                threading.Thread(target=bench.endless, args=(kind, number), daemon=True).start()
            time.sleep(1.5)
            beside = bench.measure(count)
            print(f"beside eight endless queries ({kind})")
            for name, before in alone.items():
                now = beside[name]
                print(f"  {name:14} {before:8.1f} ms alone {now:8.1f} ms beside them, ratio {now / before:5.2f}")
            began = time.perf_counter()
            bench.server.send_signal(signal.SIGTERM)
            bench.server.wait()
            print(f"  the end        {time.perf_counter() - began:8.1f} s, exit code {bench.server.returncode}")


if __name__ == "__main__":
    main()
