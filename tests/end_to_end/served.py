"""What the tests of running it share: `sfumato serve` in a process of its own, as an owner starts it."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import httpx
import psycopg
from tests.end_to_end.hosting import dsn, let_in

from sfumato.policy import load
from sfumato.server.tokens import issue
from sfumato.server.users import Users

COMMAND = [sys.executable, "-c", "from sfumato.cli import main; main()"]

SMALL = """
[source]
engine = "duckdb"
files = { visit = "visit.csv" }
[data]
id = "clinic"
version = "one"
[privacy]
epsilon = 100
query_epsilon = 1
[tables.visit]
unit = "person"
rows_per_unit = 3
[tables.visit.columns]
person = { type = "text", max_length = 9 }
age = { type = "integer", min = 0, max = 100 }
city = { values = ["Paris", "Lyon"] }
"""
"""A hundred questions for epsilon 1, under pure composition."""


def write_small(home, *, people=50, changes=()):
    """A small clinic; `people` tells its versions apart."""
    rows = "\n".join(f"p{i},{i % 90},{'Paris' if i % 3 else 'Lyon'}" for i in range(people))
    (home / "visit.csv").write_text(f"person,age,city\n{rows}\n", encoding="utf-8")
    text = SMALL
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (home / "sfumato.toml").write_text(text, encoding="utf-8")
    return home / "sfumato.toml"


def command(*words, **options):
    """A command that ends."""
    return subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True, check=False, **options)


class Running:
    """A server: its lines, its links, its end."""

    def __init__(self, policy, *words, verb="serve", wait=60.0, program=COMMAND):
        self.policy = Path(policy)
        self.process = subprocess.Popen(
            [*program, verb, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.lines = []
        late = threading.Timer(wait, self.process.kill)
        late.start()
        while not self.lines or self.lines[-1] != "ready":
            line = self.process.stdout.readline()
            if not line:
                late.cancel()
                raise AssertionError(f"not ready: {self.lines} {self.process.communicate()}")
            self.lines.append(line.rstrip("\n"))
        late.cancel()
        self.state = Path(load(self.policy).data.state)

    def link(self, scheme):
        """HOST, PORT of a door."""
        found = [re.search(rf"(?:^| ){scheme}://([^:/]+):(\d+)", line) for line in self.lines]
        return next((m[1], int(m[2])) for m in found if m)

    def url(self):
        """Where HTTP is served."""
        return next(line.partition(": ")[2] for line in self.lines if line.startswith("HTTP"))

    def dsn(self, user="ana", **more):
        return dsn(*self.link("postgresql"), user, **more)

    def client(self, user="ana", **options):
        """Over HTTP, with a token."""
        _, token = issue(Users(self.state), user, timedelta(days=1))
        url = self.url()
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False, **options)

    def connect(self, user="ana", **more):
        return psycopg.connect(self.dsn(user, **more), autocommit=True)

    def workers(self):
        """The numbers of the processes that serve."""
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii").split()
        return [int(number) for number in found]

    def log(self, name="operator.log"):
        return [json.loads(line) for line in (self.state / name).read_text(encoding="utf-8").splitlines()]

    def stop(self, number=signal.SIGTERM, wait=40):
        """The exit code, with what was said on stderr."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            _, said = self.process.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            for worker in self.workers():
                os.kill(worker, signal.SIGKILL)
            self.process.kill()
            raise
        return self.process.returncode, said


@contextlib.contextmanager
def running(policy, *words, users=("ana",), program=COMMAND):
    """`sfumato serve` on free ports of this machine, with users."""
    state = load(policy).data.state
    let_in(Users(state), users)
    ports = [] if "--pg" in words else ["--pg", "127.0.0.1:0"]
    ports += [] if "--http" in words else ["--http", "127.0.0.1:0"]
    server = Running(policy, "-p", policy, *ports, *words, program=program)
    try:
        yield server
    finally:
        server.stop()


def is_alive(process):
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:  # noqa: PTH123 - a file of the kernel's
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
