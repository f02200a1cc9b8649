"""Spark elsewhere: a Connect server, and a cluster of two workers, on loopback, give the vector of local[2]."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.needed import needed
from tests.unit.test_spark import ASKED, write

pyspark = needed("pyspark")
pytestmark = pytest.mark.slow
_CLIENT = """
import sys
from pathlib import Path
from sfumato.engines.spark import Spark
from sfumato.policy import load
from tests.unit.test_spark import exact
policy = Path(sys.argv[1])
engine = Spark(load(policy))
print([sorted(map(repr, cut.items())) for cut in exact(engine, policy, sys.argv[2])])
engine.close()
"""


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def asked(policy: Path, sql: str) -> str:
    """The exact vector, computed by a client in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-c", _CLIENT, str(policy), sql],
        capture_output=True, text=True, timeout=300, check=False, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout


def at(policy: Path, master: str) -> Path:
    """The same policy, with another master."""
    file = policy.with_name(f"{abs(hash(master))}.toml")
    file.write_text(policy.read_text().replace('master = "local[2]"', f'master = "{master}"'))
    return file


@contextmanager
def started(folder: Path, port: int, *command: str) -> Iterator[None]:
    """A process of Spark's, until the block is left; it listens when the block begins."""
    home = Path(pyspark.__file__).parent
    log = folder / f"{port}.log"
    with log.open("w") as said:
        process = subprocess.Popen(
            [str(home / "bin" / command[0]), *command[1:]], stdout=said, stderr=said,
            env={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
        )  # fmt: skip
        try:
            for _ in range(600):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                assert process.poll() is None, log.read_text()[-3000:]
                time.sleep(0.2)
            yield
        finally:
            process.terminate()
            process.wait(60)


def test_a_connect_server_gives_the_same_vector(tmp_path: Path) -> None:
    needed("grpc")
    policy, port = write(tmp_path), free_port()
    server = (
        *("spark-submit", "--master", "local[2]", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.ui.enabled=false", "spark-internal"),
    )
    with started(tmp_path, port, *server):
        assert asked(at(policy, f"connect: sc://127.0.0.1:{port}"), ASKED) == asked(policy, ASKED)


def test_a_cluster_of_two_workers_gives_the_same_vector(tmp_path: Path) -> None:
    policy, port = write(tmp_path), free_port()
    deploy = "org.apache.spark.deploy"
    with ExitStack() as stack:
        master = ("spark-class", f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port))
        stack.enter_context(started(tmp_path, port, *master, "--webui-port", "0"))
        for _ in range(2):
            own = free_port()
            worker = ("spark-class", f"{deploy}.worker.Worker", f"spark://127.0.0.1:{port}", "--cores", "1")
            more = ("--memory", "1g", "--host", "127.0.0.1", "--port", str(own), "--webui-port", "0")
            stack.enter_context(started(tmp_path, own, *worker, *more))
        assert asked(at(policy, f"spark://127.0.0.1:{port}"), ASKED) == asked(policy, ASKED)
