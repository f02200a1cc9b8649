"""What the kernel's rules about delta, one-sided noise, counted coins and single returns accept is true, and faults in
them are found out.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.verify.delta_fuzz import FORMS, NOISES, SHAPES, fuzz, report
from tests.verify.kernel_faults import DELTA_FAULTS, planted

ROOT = Path(__file__).parents[2]
SAMPLE = 60


def test_what_the_kernel_accepts_about_delta_is_true():
    made, proved, counts, false = fuzz(range(SAMPLE))
    sys.stdout.write(report(made, proved, counts) + "\n")
    assert false == []
    assert counts["proved"] > SAMPLE // 12
    assert {law for law, _ in made} == set(NOISES)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_what_the_kernel_accepts_about_delta_of_many_programs_is_true(part):
    made, proved, counts, false = fuzz(range(10_000 + part * 1000, 11_000 + part * 1000))
    sys.stdout.write(report(made, proved, counts) + "\n")
    assert false == []
    assert counts["not followed"] < counts["proved"] // 2
    assert min(counts["by curve"], counts["by tail"]) > 20
    assert {law for law, _ in proved} == set(NOISES)
    assert {shape for _, shape in proved} == {*SHAPES, *FORMS}


@pytest.mark.slow
@pytest.mark.parametrize("name", DELTA_FAULTS)
def test_a_fault_in_the_rules_about_delta_is_found_out(name, tmp_path):
    environment = {**os.environ, "PYTHONPATH": f"{planted(name, tmp_path)}{os.pathsep}{ROOT}"}
    words = [sys.executable, "-m", "tests.verify.delta_fuzz", "5000", "5800"]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert "programs" in done.stdout, done.stderr
    assert done.returncode == 1
