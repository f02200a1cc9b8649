"""Families of programs that were once undecided. Each verdict was derived by hand: losses of draws add up, and a
refuted program shows an output that its neighbour cannot have, or loses more than it claims.
"""

import re
from pathlib import Path

import pytest

from sfumato.verify.checking import faults_of
from sfumato.verify.parse import read_program
from sfumato.verify.verdict import verify

BLOCKS = re.split(r"^== (\w+) (\w+)\n", (Path(__file__).parent / "families.txt").read_text(), flags=re.MULTILINE)[1:]
FAMILIES = {name: (text, expected) for name, expected, text in zip(*[iter(BLOCKS)] * 3, strict=True)}
SLOW = {
    "suppressed",
    "chosen_k_times",
    "backward_flag",
    "suppressed_sum",
    "coin_sum_wide",
    "budget_overdrawn",
    "halving_late",
    "gap_monotone",
    "top_two",
}


def check(name):
    text, expected = FAMILIES[name]
    found = verify(read_program(text))
    assert (found.verdict, found.scope) == (expected, "all"), found.note
    assert faults_of(found.certificate) == []


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - SLOW))
def test_a_program_of_every_family_is_decided(name):
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SLOW))
def test_a_program_of_a_family_that_takes_longer_is_decided(name):
    check(name)
