"""What every test may use: golden files, the sample clinic, and hypothesis without a stopwatch."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from sfumato.cli import clinic
from sfumato.sampling.bits import scripted
from tests.fixed_noise import FixedBits

GOLDEN = Path(__file__).parent / "golden"

# A shared machine may stop a test for a second: a deadline would only measure the neighbours.
settings.register_profile("house", deadline=None, print_blob=True)
settings.load_profile("house")


@pytest.fixture(autouse=True)
def fixed_noise(request):
    """What a test draws in its own thread is fixed by its name: no landing waits for a test that has bad luck.

    Other threads and processes draw as in production, and so do the tests of the samplers, in tests/sampling.
    """
    with scripted(FixedBits(request.node.nodeid)):
        yield


def pytest_addoption(parser):
    parser.addoption("--rewrite-golden", action="store_true", help="write the golden files instead of comparing")


@pytest.fixture
def golden(request):
    """golden("demo/answer.txt", text): compare with that file below tests/golden, or write it (--rewrite-golden)."""

    def compare(name, text):
        path = GOLDEN / name
        if request.config.getoption("--rewrite-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{name} is not there yet: `make golden` writes it"
        assert text == path.read_text(encoding="utf-8"), f"differs from tests/golden/{name}; `make golden` rewrites it"

    return compare


@pytest.fixture(scope="session")
def pg():
    """The address of a PostgreSQL server; see tests/pgserver.py for how it is found."""
    from tests.pgserver import server

    with server() as address:
        yield address


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """The sample clinic, written once: tests copy its files, and ask nothing here."""
    home = tmp_path_factory.mktemp("clinic")
    clinic.write_clinic(home)
    before = sorted((file.name, file.read_bytes()) for file in home.iterdir())
    yield home
    assert sorted((file.name, file.read_bytes()) for file in home.iterdir()) == before, (
        "what all tests share is as it was"
    )
