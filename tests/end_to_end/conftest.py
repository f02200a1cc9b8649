"""What the tests of the doors may ask for: the console script, and the sample clinic in a place of its own."""

import sys

import pytest
from tests.end_to_end.pg import make_clinic
from tests.end_to_end.terminal import Done

from sfumato.cli import main


@pytest.fixture
def call(monkeypatch, capsys):
    """The console script in this process: the same function, without the second that Python takes to start."""

    def run(*arguments, at=None):
        if at is not None:
            monkeypatch.chdir(at)
        monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        return Done(stopped.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture
def made(written, tmp_path):
    """The clinic in a place of its own, without a ledger."""
    return make_clinic(tmp_path / "clinic", written).parent
