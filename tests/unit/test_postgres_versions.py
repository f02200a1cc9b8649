"""Every major version of PostgreSQL that can be installed: the tests of the engine and of the ledger run against it.

The oldest and the newest with a sample of these tests here; all of them, whole, in `make slow`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools.postgres_versions import PINNED

from tests.pgserver import cluster

ROOT = Path(__file__).parents[2]
ENGINE = ("tests/unit/test_postgres.py", "tests/laws/test_engines.py", "tests/end_to_end/test_postgres_engine.py")
LEDGER = ("tests/unit/test_ledger_postgres.py", "tests/end_to_end/test_postgres_ledger_cli.py")
LONGEST = "tests/laws/test_engines.py::test_two_thousand_random_jobs_give_the_same_numbers_everywhere"
SAMPLE = "scan_never_fails or every_setting or never_raises or edges or live or marker or random_jobs"


def suite(version: int, *words: str) -> int:
    """How many tests passed against a server of this version; the first failure fails this test."""
    with cluster(version=version) as server:
        environment = os.environ | {"SFUMATO_TEST_PG": server.address}
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", "-p", "no:cacheprovider", *words]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    return int(done.stdout.strip().splitlines()[-1].split(" passed")[0].split()[-1])


@pytest.mark.parametrize("version", [min(PINNED), max(PINNED)])
def test_a_sample_of_the_engines_tests_passes_in_this_version(version: int) -> None:
    assert suite(version, *ENGINE, "-k", SAMPLE) > 90


@pytest.mark.slow
@pytest.mark.parametrize("version", PINNED)
def test_all_tests_of_the_engine_and_the_ledger_pass_in_this_version(version: int) -> None:
    assert suite(version, *ENGINE, *LEDGER, "-m", "slow or not slow", "--deselect", LONGEST) > 300
