"""Options, records and column names drawn at random: each is answered or is one clear error, and nothing is written."""

import json
import random
import sys
import tomllib
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from sfumato.anonymity.draft import DeclaredColumn, draft_hierarchies
from sfumato.anonymity.hierarchy_files import parse_hierarchies

TEXTS = [
    "", " ", ",", "0", "-1", "1", "2", "1.5", "1/2", "1/0", "nan", "inf", "-inf", "1e400", "1e-400", "1e999999999",
    "*", "a", "age", "age,age", "d", "zip,d", "\ud83d", "\U0001f600", "0,1", "0,0", "1,0", "none",
    "9" * 400, "\x00", "'", '"',
]  # fmt: skip
OPTIONS = {
    "anonymize": ["--quasi", "--sensitive", "-k", "-l", "-t", "--beta", "--c", "--diversity", "--distance", "--order",
                  "--keep", "--suppress", "--dummies", "--sampling", "--presence", "--population", "--method",
                  "--hierarchies", "--seconds"],
    "release-check": ["--quasi", "--sensitive", "-k", "-l", "-t", "--beta", "--c", "--diversity", "--distance",
                      "--order", "--keep", "--dummies", "--presence", "--population", "--hierarchies", "--earlier",
                      "--record"],
}  # fmt: skip
JSON = [None, [], {}, 5, -1, 1.5, "", "x", "\x00", True, [1], [[]], "/", ".", {"k": 1}, "nan", "1/0", float("inf")]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(1)
    rows = "".join(f"{20 + i % 7},{i % 3},{rng.choice('abc')}\n" for i in range(30))
    (tmp_path / "t.csv").write_text(f"age,zip,d\n{rows}")
    (tmp_path / "h.toml").write_text('[age]\nkind = "intervals"\nlow = 20\nhigh = 29\nwidths = [5]\n')
    return tmp_path


@pytest.fixture
def rel(home, call):
    done = call(
        "anonymize", "t.csv", "--quasi", "age,zip", "--sensitive", "d", "-k", "2", "--hierarchies", "h.toml",
        "--record", "rec", "-o", "rel.csv",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return home


def check_answer(done, words):
    """Exit code 0 or 1 with an answer, or 2 and more with one error that says what is wrong."""
    assert done.returncode in (0, 1, 2, 3, 4, 5), words
    assert "Traceback" not in done.stderr, words
    if done.returncode > 1:
        assert done.stdout == "", words
        assert done.stderr.strip(), words


def test_options_drawn_at_random_are_answered_or_one_error(rel, call):
    rng, seen = random.Random("options"), Counter()
    before = {path: path.read_bytes() for path in rel.iterdir()}
    for number in range(320):
        name = rng.choice(list(OPTIONS))
        words = {"--quasi": "age", "--sensitive": "d", "-k": "2"}
        for option in rng.sample(OPTIONS[name], rng.choice([1, 1, 2, 3])):
            words[option] = rng.choice(TEXTS)
        if number < 2 * len(TEXTS):  # every text as a name of the sensitive column
            name = list(OPTIONS)[number % 2]
            words["--sensitive"] = TEXTS[number // 2]
        given = [part for pair in words.items() for part in pair]
        first = ("anonymize", "t.csv", "--dry-run") if name == "anonymize" else (name, "rel.csv", "--raw", "t.csv")
        done = call(*first, *given)
        check_answer(done, (name, words))
        assert {path: path.read_bytes() for path in rel.iterdir()} == before, words
        seen[name, done.returncode] += 1
    sys.stdout.write(f"{dict(seen)}\n")
    assert all(seen[name, 2] > 20 for name in OPTIONS), seen
    assert sum(many for (_, code), many in seen.items() if code < 2) > 10, seen


def test_lines_of_a_record_drawn_at_random_are_answered_or_one_error(rel, call):
    good, seen = json.loads(Path("rec").read_text()), Counter()
    rng = random.Random("record")
    parts = [(key,) for key in good] + [("promised", key) for key in good["promised"]]
    tried = [(part, value) for part in parts for value in JSON]
    for part, value in [*((("out_digest",), one) for one in JSON), *rng.sample(tried, 180)]:
        line = json.loads(json.dumps(good))
        (line if len(part) == 1 else line["promised"])[part[-1]] = value
        second = [json.dumps(good)] if rng.random() < 0.5 else []
        Path("rec2").write_text("\n".join([json.dumps(line), *second]) + "\n")
        words = ("--quasi", "age,zip", "--sensitive", "d", "--record", "rec2")
        done = call("release-check", "rel.csv", "--raw", "t.csv", *words)
        check_answer(done, (part, value))
        seen[done.returncode] += 1
    assert min(seen[code] for code in (0, 1, 2)) > 10, seen


NAMES = [
    "\U0001f600",
    "\U0001f600 a",
    'a"b',
    "a\\b",
    "a.b",
    "\x7f",
    "\t",
    "é",
    "a\nb",
    "'",
    "#",
    "[x]",
    "\x01",
    "\u2028",
]


def test_hierarchies_are_drafted_whatever_columns_are_called(home, call):
    with duckdb.connect() as engine:
        quoted = ", ".join('1 AS "' + name.replace('"', '""') + '"' for name in NAMES)
        engine.execute(f"COPY (SELECT {quoted}) TO 'x.parquet'")
    done = call("hierarchy", "draft", "x.parquet")
    assert done.returncode == 0, done.stderr
    assert list(tomllib.loads(done.stdout)) == NAMES
    for decided in (False, True):
        text = draft_hierarchies({name: DeclaredColumn("text", values=NAMES) for name in NAMES}, decided=decided)
        found = tomllib.loads(text)
        assert list(found) == NAMES
        assert decided or [row[0] for row in found[NAMES[0]]["rows"]] == NAMES
    assert set(parse_hierarchies(text, NAMES)) == set(NAMES)
