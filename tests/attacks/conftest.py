"""One attack on one defence as a report, and the command line, for every file of this room."""

import sys
from contextlib import ExitStack
from fractions import Fraction

import pytest

from sfumato.attacks import ATTACKS
from sfumato.attacks.defences import make
from sfumato.attacks.gate import table_endpoint
from sfumato.attacks.report import referee
from sfumato.attacks.scene import set_scene
from sfumato.attacks.sheet import TABLE, read_sheet
from sfumato.cli import main
from tests.attacks.people import QUASI, write_people


@pytest.fixture
def arena(tmp_path):
    """arena(name of an attack, of a defence, people): the report."""
    with ExitStack() as stack:

        def attack(name, defence, count=60, *, traits=0):
            sheet = read_sheet(write_people(tmp_path / "people.csv", count, traits))
            knowledge, truth = set_scene(sheet.records(), TABLE, "state", None)
            if defence == "dp":
                endpoint = stack.enter_context(table_endpoint(sheet, knowledge.key, Fraction(1)))
            else:
                endpoint = make(defence, sheet, "state", QUASI)
            return referee(
                name, ATTACKS[name].run, endpoint, knowledge, truth, advice=ATTACKS[name].advice, exact=sheet.count
            )

        yield attack


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    def run(*words):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        return (stopped.value.code or 0, *capsys.readouterr())

    return run
