"""Bytes that nobody would send: nothing crashes, nothing hangs, nothing is spent that was not asked for."""

import importlib.util
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.end_to_end import fuzz, pg

RUNS = 100_000
MISSING = "SELECT COUNT(*) FROM a_table_that_is_not_there WHERE age > 5"
TALKS = [
    pg.query(MISSING) + pg.query("SHOW TimeZone") + pg.query("SELECT relname FROM pg_class"),
    pg.parse(f"{MISSING} AND age < $1") + pg.describe("S") + pg.bind([b"7"]) + pg.execute() + pg.SYNC,
    pg.parse("SELECT oid, typname FROM pg_type WHERE oid = $1", types=(26,)) + pg.bind([b"20"], results=(0, 1))
    + pg.describe("P") + pg.execute("", 1) + pg.SYNC,
    pg.query(f"COPY ({MISSING}) TO STDOUT (FORMAT binary)") + pg.query("BEGIN; SAVEPOINT a; ROLLBACK TO a; COMMIT"),
]  # fmt: skip


def changed(chance, data, others):
    """A conversation with a few changes: other bytes, a piece lost, doubled, or taken from another one."""
    data = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice([1, 1, 2, 4, 16]))
        other = chance.choice(others)
        start = chance.randrange(len(other))
        piece = [
            bytes([chance.randrange(256)]),
            b"",
            bytes(data[at:end]) * 2,
            other[start : start + chance.randint(1, 40)],
            chance.choice([b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\4", b"'", b"$$", b"/*"]),
        ]
        data[at:end] = chance.choice(piece)
    return bytes(data)


@pytest.mark.parametrize("seed", range(4))
def test_changed_conversations_break_nothing(seed):
    chance = random.Random(seed)
    for run in range(1500):
        data = changed(chance, chance.choice(fuzz.SEEDS), fuzz.SEEDS)
        try:
            fuzz.one(data)
        except Exception as error:
            raise AssertionError(f"seed {seed}, run {run}: {data!r}") from error


@pytest.mark.parametrize("data", fuzz.SEEDS)
def test_the_seeds_are_good(data):
    fuzz.one(data)


def test_a_finding_is_found(monkeypatch):
    """The fuzzers fail when Describe spends."""
    monkeypatch.setattr(fuzz.Fake, "spent", property(lambda fake: len(fake.work)))
    with pytest.raises(AssertionError, match="has spent"):
        fuzz.one(fuzz.SEEDS[1])


@pytest.mark.slow
def test_atheris_finds_nothing(tmp_path):
    if importlib.util.find_spec("atheris") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("atheris is not installed; on CI nothing is skipped")
        pytest.skip("atheris is not installed (pip install atheris)")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(fuzz.SEEDS):
        (corpus / str(number)).write_bytes(seed)
    words = [f"-runs={RUNS}", "-max_total_time=150", "-timeout=10", "-max_len=2048", "-seed=1", f"{corpus}"]
    done = subprocess.run(
        [sys.executable, str(Path(fuzz.__file__)), *words],
        capture_output=True, text=True, errors="replace", check=False, timeout=400, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in (*sys.path, str(Path.cwd())) if path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    runs = int(re.search(r"Done (\d+) runs", done.stderr)[1])
    assert runs >= 1000, done.stderr[-2000:]


@pytest.mark.slow
def test_a_server_survives_changed_conversations(tmp_path, written):
    policy = pg.make_clinic(tmp_path / "c", written, *pg.RICH)
    chance = random.Random(5)
    with pg.serving(policy, encrypted=False) as served:
        for _ in range(1500):
            with pg.Raw(served) as client:
                try:
                    client.send(changed(chance, chance.choice(TALKS), TALKS), pg.SYNC)
                    client.socket.shutdown(1)
                    while client.message() is not None:
                        pass
                except (ConnectionError, BrokenPipeError):
                    pass
        with pg.Raw(served) as client:
            assert pg.kinds(client.ask(pg.query("SHOW TimeZone"))) == "TDCZ"
        assert pg.debits(served) == 0
        deadline = time.monotonic() + 60
        while served.server._seats.total() and time.monotonic() < deadline:  # it hears of the last goodbye later
            time.sleep(0.05)
        assert not served.server._seats.total()
