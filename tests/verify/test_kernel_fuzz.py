"""Whatever the kernel accepts is true, and a kernel with a fault is found out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.verify.kernel_faults import FAULTS, planted
from tests.verify.kernel_fuzz import fuzz, report
from tests.verify.kernel_programs import LAWS, PLACES

ROOT = Path(__file__).parents[2]
SAMPLE = 60
MANY, PARTS = 20_000, 10


def test_what_the_kernel_accepts_is_true():
    made, proved, counts, false = fuzz(range(SAMPLE))
    sys.stdout.write(report(made, proved, counts) + "\n")
    assert false == []
    assert counts["proved"] > SAMPLE // 12
    assert {law for law, _ in made} == set(LAWS)
    assert {place for _, place in made} == set(PLACES)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_what_the_kernel_accepts_of_many_programs_is_true(part):
    """Together 20,000 programs, with every law in every place; each law and each place was accepted somewhere."""
    each = MANY // PARTS
    made, proved, counts, false = fuzz(range(1_000_000 + part * each, 1_000_000 + (part + 1) * each))
    sys.stdout.write(report(made, proved, counts) + "\n")
    assert false == []
    assert counts["not followed"] < counts["proved"] // 4
    gaps = [(law, place) for law in LAWS for place in PLACES if not made[law, place]]
    assert gaps == []
    assert {law for law, _ in proved} == set(LAWS)
    assert {place for _, place in proved} == set(PLACES)


def is_found(name, home, seeds):
    """Whether the fuzzer finds a contradiction in a kernel with this fault."""
    environment = {**os.environ, "PYTHONPATH": f"{planted(name, home)}{os.pathsep}{ROOT}"}
    words = [sys.executable, "-m", "tests.verify.kernel_fuzz", str(seeds.start), str(seeds.stop)]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert "programs" in done.stdout, done.stderr
    return done.returncode == 1


def test_a_kernel_whose_facts_leave_their_path_is_found_out(tmp_path):
    """A part of what `make slow` goes through that is known to hold such a program: all of it takes minutes."""
    assert is_found("a fact of a path holds everywhere", tmp_path, range(2_000_690, 2_000_720))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_kernel_with_a_fault_is_found_out(name, tmp_path):
    """The first contradiction ends the search: most faults need some hundred programs, a few need thousands."""
    assert is_found(name, tmp_path, range(2_000_000, 2_040_000))
