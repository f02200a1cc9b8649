"""What the kernel's rules about turned coins, redrawn noise, two answers, last draws and formulas for delta accept is
true, and faults in them are found out.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.verify.kernel_faults import RULE_FAULTS, planted
from tests.verify.rule_fuzz import RULES, fuzz

ROOT = Path(__file__).parents[2]
SAMPLE = {"coins": 20, "redrawn": 30, "two answers": 30, "last": 8, "bell": 8}


@pytest.mark.parametrize("rule", RULES)
def test_what_these_rules_accept_is_true(rule):
    _, proved, wrong = fuzz(range(SAMPLE[rule]), (rule,))
    assert wrong == []
    assert proved[rule] > 0


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_what_these_rules_accept_of_many_programs_is_true(rule):
    _, proved, wrong = fuzz(range(1000, 1600), (rule,))
    assert wrong == []
    assert proved[rule] > 10


def is_found(name, home, seeds):
    """Whether the fuzzer finds a contradiction in a kernel with this fault."""
    environment = {**os.environ, "PYTHONPATH": f"{planted(name, home)}{os.pathsep}{ROOT}"}
    words = [sys.executable, "-m", "tests.verify.rule_fuzz", str(seeds.start), str(seeds.stop), RULE_FAULTS[name][0]]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert "programs" in done.stdout, done.stderr
    return done.returncode == 1


def test_a_coin_that_is_turned_for_nothing_is_found_out(tmp_path):
    assert is_found("a turned coin costs nothing", tmp_path, range(100))


@pytest.mark.slow
@pytest.mark.parametrize("name", RULE_FAULTS)
def test_a_fault_in_these_rules_is_found_out(name, tmp_path):
    assert is_found(name, tmp_path, range(600))
