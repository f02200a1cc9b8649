"""The demo as a person runs it: a first screen, lines to copy that work, doors that stay open until Ctrl-C."""

import json
import re
import shlex
import signal
import socket
import subprocess
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.end_to_end.served import COMMAND, Running, command

from sfumato.cli import clinic, demo, demo_check
from sfumato.errors import ClaimError, QueryError
from sfumato.ledger import Ledger
from sfumato.server.pgwire.simple_client import Caller


class Shown(Running):
    """A demo that is ready."""

    def __init__(self, home, *words):
        self.home = home
        super().__init__(home / "sfumato.toml", home, *words, verb="demo")
        self.text = "\n".join(self.lines)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGINT)


def ended(home, *words):
    """What a demo has shown when Ctrl-C ended it."""
    with Shown(home, *words) as shown:
        pass
    assert shown.process.returncode == 0
    return shown


def test_the_demo_answers_opens_its_doors_and_every_line_to_copy_works(tmp_path, call):
    with Shown(tmp_path / "a clinic") as shown:
        for words in ("Cold", "NULL", "95 %", "epsilon 0.3 of 1 left", "at most 66.9 %", "the answer was stored"):
            assert words in shown.text
        assert "ERROR 42501: " in shown.text
        assert {*clinic.FILES, "bob.svg", "clinic.ledger"} <= {path.name for path in shown.home.iterdir()}
        hint = re.search(r"^HINT: Try this instead: (SELECT .*)\.$", shown.text, re.MULTILINE)
        assert call("explain", hint[1], "-p", shown.policy).returncode == 0
        lines = re.findall(r"^  (\S*sfumato .*)$", shown.text, re.MULTILINE)
        assert [shlex.split(line)[1] for line in lines] == ["explain", "query", "ledger"]
        for line in lines[:2]:
            assert call(*shlex.split(line)[1:]).returncode == 0, line
        (psql,) = re.findall(r"^  (psql .*)$", shown.text, re.MULTILINE)
        said = subprocess.run(
            [*shlex.split(psql), "-Atc", demo.TO_TRY.sql], capture_output=True, text=True, check=False
        )
        assert re.fullmatch(r"\d+(\.\d+)?", said.stdout.strip()), said.stderr
        code = re.findall(r"^  ((?:import|rows|pandas).*)$", shown.text, re.MULTILINE)
        names = {}
        exec("\n".join(code).replace("pandas.DataFrame(", "frame = pandas.DataFrame("), names)
        assert str(names["frame"].iloc[0, 0]) == said.stdout.strip()
        names["rows"].connection.close()
        (curl,) = re.findall(r"^  (curl .*)$", shown.text, re.MULTILINE)
        reply = subprocess.run(shlex.split(f"{curl} -s"), capture_output=True, text=True, check=False)
        assert json.loads(reply.stdout)["cost"]["epsilon"] == "1/10"
        followed = shlex.split(lines[2])[1:]
        assert "AVG(age)" in follow(*followed)
        assert call("demo", shown.home, "--fresh").returncode == 2  # its ledger is in use


def follow(*words):
    """What `--follow` prints in a while, until Ctrl-C, which is no error."""
    running = subprocess.Popen([*COMMAND, *map(str, words)], stdout=subprocess.PIPE, text=True)
    lines = []
    while not lines or "AVG(age)" not in lines[-1]:
        lines.append(running.stdout.readline())
        assert lines[-1], lines
    running.send_signal(signal.SIGINT)
    rest, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    return "".join(lines) + rest


def test_follow_goes_on_with_what_is_written(made, call):
    policy = made / "sfumato.toml"
    assert call("query", "SELECT COUNT(*) FROM visit", "-p", policy).returncode == 0
    words = ("ledger", "show", "--follow", "--json", "-p", policy)
    running = subprocess.Popen([*COMMAND, *map(str, words)], stdout=subprocess.PIPE, text=True)
    first = [json.loads(running.stdout.readline()) for _ in range(4)]
    assert [entry["kind"] for entry in first] == ["opened", "policy", "debit", "answer"]
    assert call("query", "SELECT SUM(cost) FROM visit", "-p", policy).returncode == 0
    later = [json.loads(running.stdout.readline()) for _ in range(2)]
    assert [(entry["seq"], entry["kind"]) for entry in later] == [(5, "debit"), (6, "answer")]
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 0


@pytest.fixture(scope="module")
def open_demo(tmp_path_factory):
    """A demo for programs, with its doors open."""
    with Shown(tmp_path_factory.mktemp("demo") / "here", "--json") as shown:
        yield shown


def test_json_is_one_line_with_what_a_program_needs_then_ready(open_demo):
    assert len(open_demo.lines) == 2
    document = json.loads(open_demo.lines[0])
    assert {"pg", "http", "token", "user", "password", "policy", "console"} <= set(document)
    demo_check.check_document(document)
    demo_check.check_doors(document)
    for spoil in ("rows", "password"):
        spoiled = json.loads(open_demo.lines[0])
        if spoil == "rows":
            spoiled["answers"][0]["answer"]["rows"][0][1] += 1
        else:
            spoiled["password"] = "x" * 16
        with pytest.raises((ClaimError, QueryError), match=r"another answer than Python|password authentication"):
            demo_check.check_doors(spoiled)


def test_two_demos_take_different_ports_and_new_passwords(open_demo, tmp_path):
    with Shown(tmp_path / "two", "--json") as two:
        first, second = (json.loads(shown.lines[0]) for shown in (open_demo, two))
        assert first["pg"] != second["pg"]
        assert first["password"] != second["password"]
        host, port = open_demo.link('{"pg": "postgresql')
        with pytest.raises(QueryError, match="password authentication failed"):
            Caller(host, port, "ana", second["password"], "clinic")


def test_a_second_run_gets_the_same_answers_for_nothing_and_fresh_starts_over(tmp_path):
    first, second, third = (
        json.loads(ended(tmp_path / "here", "--json", *words).lines[0]) for words in ([], [], ["--fresh"])
    )
    rows = [[entry["answer"]["rows"] for entry in run["answers"][:5]] for run in (first, second, third)]
    assert rows[0] == rows[1]
    assert all(entry["answer"]["cost"]["epsilon"] == "0" for entry in second["answers"][:5])
    assert first["budget"] == second["budget"] == third["budget"]
    # twenty noisy numbers agree by chance with probability below 1e-12
    assert rows[0] != rows[2]


def test_a_budget_that_was_used_up_ends_no_demo(made, call):
    ana = ("-p", made / "sfumato.toml", "--analyst", "ana", "--epsilon")
    assert call("query", "SELECT COUNT(*) FROM visit", *ana, "1").returncode == 0
    shown = ended(made)
    assert shown.text.count("ERROR 53400: ") == 5
    assert "--fresh` starts over" in shown.text
    assert "epsilon 0 of 1 left" in shown.text


def test_check_needs_no_directory_asks_through_every_door_and_leaves_nothing_behind(tmp_path):
    done = command("demo", "--json", "--check", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["answers"]) == len(demo.QUESTIONS) + 2
    assert not list(tmp_path.iterdir())


SPOILED = [
    lambda d: d["answers"][0].update(answer=None),
    lambda d: d["budget"]["remaining"].update(epsilon="1"),
    lambda d: d["answers"][0]["answer"]["rows"][0].__setitem__(1, 10**9),
    lambda d: d["answers"][4]["answer"]["cost"].update(epsilon="1/10"),
    lambda d: d["answers"][4]["answer"].update(rows=[]),
    lambda d: d["answers"][5].update(refused=None),
]


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """A whole document, and the clinic that it is about."""
    done = command("demo", tmp_path_factory.mktemp("demo"), "--json", "--check")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_check_finds_nothing_in_a_whole_document(document):
    demo_check.check_document(json.loads(document))


@pytest.mark.parametrize("spoil", SPOILED)
def test_check_finds_a_document_that_is_not_whole(document, spoil):
    spoiled = json.loads(document)
    spoil(spoiled)
    with pytest.raises(ClaimError, match="demo is broken"):
        demo_check.check_document(spoiled)


def test_a_door_that_cannot_be_opened_ends_the_check(document):
    """Its port is taken by somebody who does not listen: nobody else can open a door there meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        shut = json.loads(document) | {"pg": f"postgresql://127.0.0.1:{taken.getsockname()[1]}/clinic"}
        with pytest.raises(OSError, match="refused"):
            demo_check.check_doors(shut)


def test_the_picture_of_bob_is_drawn_without_reading_a_row(golden):
    golden("bob.svg", demo.draw_bob())


def test_the_picture_of_bob_shows_the_price_of_the_first_question(document):
    first = json.loads(document)["answers"][0]
    assert Fraction(first["epsilon"]) == demo.PRICE
    ET.parse(json.loads(document)["picture"])


def test_what_the_demo_released_is_in_its_ledger(document):
    with Ledger.visit(Path(json.loads(document)["policy"]).parent / "clinic.ledger") as ledger:
        report = ledger.verify()
        assert (report.debits, report.answers, report.failures) == (4, 4, 0)
