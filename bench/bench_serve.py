"""Running it, measured: from the command to `ready`, and what a reload holds up.

Start-up is compared with its floor, the same Python importing DuckDB and doing nothing, in processor time.
A reload is compared with the answers of a server that is left alone: the slowest reply while it happens.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from sfumato.cli.clinic import write_clinic
from sfumato.policy import load
from sfumato.server.pgwire.simple_client import SimpleClient
from sfumato.server.users import Users

COMMAND = [sys.executable, "-c", "from sfumato.cli import main; main()"]
PASSWORD = "correct horse"


def spent(work):
    """Wall and processor seconds of children."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def serve(policy, workers, *more):
    ports = ["--pg", "127.0.0.1:0", "--http", "127.0.0.1:0", "--workers", str(workers)]
    return [*COMMAND, "serve", "-p", str(policy), *ports, *more]


def start_up(policy):
    floor = spent(lambda: subprocess.run([sys.executable, "-c", "import duckdb"], check=True))
    print(f"floor: import duckdb            {floor[0]:6.2f} s wall  {floor[1]:6.2f} s cpu")
    for workers in (1, 3):
        words = serve(policy, workers, "--check")
        wall, cpu = min(spent(lambda w=words: subprocess.run(w, check=True, stdout=subprocess.DEVNULL)) for _ in "123")
        times = f"{wall:6.2f} s wall  {cpu:6.2f} s cpu  {cpu / floor[1]:5.1f} × floor"
        print(f"serve --workers {workers}, ready, end  {times}")


def replies(caller, seconds, happening=None):
    """How long stored answers take, in milliseconds, while something else happens."""
    took, other = [], None
    if happening is not None:
        other = threading.Thread(target=happening)
        other.start()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or (other is not None and other.is_alive()):
        began = time.perf_counter()
        caller.ask("SELECT COUNT(*) FROM visit")
        took.append(1000 * (time.perf_counter() - began))
    return took


def reload(policy):
    server = subprocess.Popen(serve(policy, 1), stdout=subprocess.PIPE, text=True)
    try:
        port = int(server.stdout.readline().rsplit(":", 1)[1].split("/")[0])
        while server.stdout.readline() != "ready\n":
            pass
        with SimpleClient("127.0.0.1", port, "ana", PASSWORD, "clinic") as caller:
            alone = replies(caller, 2)
            again = [*COMMAND, "reload", "-p", str(policy)]
            nothing = subprocess.DEVNULL
            during = replies(caller, 0, lambda: subprocess.run(again, check=True, stdout=nothing, stderr=nothing))
        for name, took in (("left alone", alone), ("while it reloads", during)):
            print(f"stored answers {name:<17} median {statistics.median(took):7.2f} ms  slowest {max(took):8.2f} ms")
        print(f"slowest reply in a reload: {max(during) / max(alone):.1f} × the slowest without one")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        write_clinic(Path(home))
        Users(load(Path(home) / "sfumato.toml").data.state).add("ana", "analyst", PASSWORD)
        start_up(Path(home) / "sfumato.toml")
        reload(Path(home) / "sfumato.toml")
