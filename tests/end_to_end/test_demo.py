"""The demo as a person runs it: a first screen, lines to copy that work, doors that stay open until Ctrl-C."""

import json
import re
import shlex
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree as ET

import httpx
import pytest
from tests.end_to_end.served import COMMAND, Running, command

from sfumato.accounting import PrivacyFilter
from sfumato.cli import clinic, demo, demo_check
from sfumato.cli.serve import reachable
from sfumato.errors import ClaimError, QueryError
from sfumato.gateway import open_policy
from sfumato.ledger import Ledger
from sfumato.policy import load
from sfumato.server.pgwire.simple_client import SimpleClient
from sfumato.types import Loss


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
        for words in ("Cold", "NULL", "95 %", "30 % left, epsilon 0.3 of 1", "at most 66.9 %", "the answer was stored"):
            assert words in shown.text
        assert "100 % left, epsilon 1 of 1" in shown.text  # the demo's own queries leave ana all of her budget
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
            SimpleClient(host, port, "ana", second["password"], "clinic")


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


def test_one_link_starts_a_class_and_gives_each_student_an_account(tmp_path):
    """Everybody who joins gets another account with a budget of its own; the key opens nothing else."""
    with Shown(tmp_path / "class", "--json", "--students", "3") as shown:
        document = json.loads(shown.lines[0])
        url, key = document["class"].rsplit("/class/", 1)
        assert document["students"] == 3

        def join(given):
            with httpx.Client(base_url=url, trust_env=False) as browser:
                reply = browser.post("/api/class", json={"key": given})
                names = browser.get("/api/me").json().get("name") if reply.is_success else None
                return reply, names

        with httpx.Client(base_url=url, trust_env=False) as browser:
            assert "Join the class" in browser.get(f"/class/{key}").text  # a look takes no account
        with ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(join, [key] * 4))
        seats = [reply.json() for reply, _ in replies if reply.is_success]
        assert sorted(seat["name"] for seat in seats) == ["student01", "student02", "student03"]
        assert sorted(name for _, name in replies if name) == ["student01", "student02", "student03"]
        (full,) = [reply for reply, _ in replies if not reply.is_success]
        assert (full.status_code, full.json()["message"]) == (429, "this class is full")
        for wrong in (document["token"], key[:-1] + "!", "", document["console"].rsplit("=", 1)[1]):
            assert join(wrong)[0].status_code == 401
        with httpx.Client(base_url=url, trust_env=False) as stranger:
            assert stranger.get("/api/me", headers={"Authorization": f"Bearer {key}"}).status_code == 401
            assert stranger.get("/api/me", headers={"Cookie": f"sfumato={key}"}).status_code == 401
            assert stranger.get("/", params={"link": key}).status_code == 401
        host, port = shown.link('{"pg": "postgresql')
        one, other = seats[:2]
        with SimpleClient(host, port, one["name"], one["password"], "clinic") as caller:
            before = caller.ask("SHOW sfumato.budget")
            caller.ask("SELECT COUNT(*) FROM visit WHERE cost > 500")
            assert caller.ask("SHOW sfumato.budget") != before
        with SimpleClient(host, port, other["name"], other["password"], "clinic") as caller:
            assert caller.ask("SHOW sfumato.budget") == before
    demo_check.check_document(document)


@pytest.mark.parametrize("students", [1, 30, demo.MOST_STUDENTS])
def test_no_student_spends_what_another_has(tmp_path, students):
    """Whoever comes last may spend all of a share, after all others have spent theirs in the way that takes most."""
    clinic.write_clinic(tmp_path, students=students)
    policy = load(tmp_path / clinic.POLICY_FILE)
    privacy, (least, delta) = policy.privacy, (policy.privacy.min_epsilon, policy.privacy.query_delta)

    def filtered(epsilon):
        return PrivacyFilter(privacy.composition, epsilon, privacy.delta, privacy.delta_selection)

    total = filtered(privacy.epsilon)
    assert len(policy.analysts) == students + 2
    for share in policy.analysts.values():
        own, query = filtered(share.epsilon), Loss(least, least**2 / 2, delta)
        count = own.remaining_count(query)
        assert count > 0
        total.spend(Loss(count * query.epsilon, count * query.rho, count * query.delta))


def test_a_class_pays_in_pure_epsilon_and_not_too_little(tmp_path):
    """A query without an epsilon would close the total to those who pay with theirs; a small one would take delta."""
    clinic.write_clinic(tmp_path, students=2)
    by_key = "SELECT note, COUNT(*) FROM visit WHERE cost > {} GROUP BY note"
    with open_policy(tmp_path / clinic.POLICY_FILE) as gate:
        with pytest.raises(QueryError, match="Gaussian noise has no epsilon"):
            gate.sql(by_key.format(0), noise="gaussian", analyst="student01")
        with pytest.raises(QueryError, match=r"epsilon must be at least 0\.001"):
            gate.sql(by_key.format(0), epsilon="0.0009", analyst="student01")
        for cost in range(5):
            gate.sql(by_key.format(cost), epsilon="0.001", analyst="student01")
        most = 5 * gate.policy.privacy.query_delta
        assert gate.budget("student01").spent.delta == gate.budget().spent.delta == most
        union = " UNION ALL ".join(by_key.format(cost) for cost in range(5, 15))
        gate.sql(union, epsilon="0.001", analyst="student01")
        assert gate.budget().spent.delta <= most + gate.policy.privacy.query_delta


def test_a_fresh_class_has_all_its_places_and_nobody_of_the_last_one(tmp_path):
    def joined(shown):
        url, key = json.loads(shown.lines[0])["class"].rsplit("/class/", 1)
        with httpx.Client(base_url=url, trust_env=False) as browser:
            return browser.post("/api/class", json={"key": key}), browser.cookies.get("sfumato")

    with Shown(tmp_path, "--json", "--students", "1") as shown:
        first, cookie = joined(shown)
        assert joined(shown)[0].status_code == 429
    with Shown(tmp_path, "--json", "--students", "1") as shown:  # the same class goes on
        assert joined(shown)[0].status_code == 429
    with Shown(tmp_path, "--json", "--students", "1", "--fresh") as shown:
        url = json.loads(shown.lines[0])["http"]
        with httpx.Client(base_url=url, trust_env=False) as browser:
            old = {"name": "student01", "password": first.json()["password"]}
            assert browser.get("/api/me", headers={"Cookie": f"sfumato={cookie}"}).status_code == 401
            assert browser.post("/login", json=old).status_code == 401
        again, _ = joined(shown)
        assert (again.status_code, again.json()["name"]) == (200, "student01")


def test_a_class_needs_places_in_its_policy(tmp_path, call):
    assert call("demo", tmp_path, "--students", "2", "--check").returncode == 0
    done = call("demo", tmp_path, "--students", "3", "--check")
    assert done.returncode == 2
    assert "has no places for 3 students" in done.stderr
    assert call("demo", tmp_path, "--students", "1", "--check").returncode == 0
    assert call("demo", tmp_path, "--students", "501", "--check").returncode == 2


def test_a_link_for_all_addresses_names_one_that_others_can_open():
    assert reachable("http://127.0.0.1:8439") == "http://127.0.0.1:8439"
    assert re.fullmatch(r"http://(?!0\.0)[\w.-]+:8439", reachable("http://0.0.0.0:8439"))


def test_a_budget_that_was_used_up_ends_no_demo(made, call):
    guide = ("-p", made / "sfumato.toml", "--analyst", clinic.GUIDE, "--epsilon")
    assert call("query", "SELECT COUNT(*) FROM visit", *guide, "1").returncode == 0
    shown = ended(made)
    assert shown.text.count("ERROR 53400: ") == 5
    assert "--fresh starts over" in shown.text
    assert "0 % left, epsilon 0 of 1" in shown.text


def test_check_needs_no_directory_asks_through_every_door_and_leaves_nothing_behind(tmp_path):
    done = command("demo", "--json", "--check", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["answers"]) == len(demo.QUESTIONS) + 2
    assert not list(tmp_path.iterdir())


SPOILED = [
    lambda d: d["answers"][0].update(answer=None),
    lambda d: d["guide"]["remaining"].update(epsilon="1"),
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


def test_commands_to_copy_work_from_another_directory(monkeypatch, tmp_path):
    """A relative policy path is not found elsewhere, nor is a program that was started as a module."""
    monkeypatch.setattr(sys, "argv", [str(Path(demo.__file__).parents[1] / "__main__.py")])
    assert demo.own_command() == f"{shlex.quote(sys.executable)} -m sfumato"
    monkeypatch.chdir(tmp_path)
    clinic.write_clinic(Path("made"))
    assert demo._welcome(Path("made/sfumato.toml"), {"http": ""})["policy"] == str(tmp_path / "made/sfumato.toml")
