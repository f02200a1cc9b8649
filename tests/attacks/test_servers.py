"""Running servers: asked as an analyst asks them; and what is said if they are down, shut, or have nothing left."""

import csv
import json
import socket
from fractions import Fraction

import psycopg
import pytest

import sfumato
from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Endpoint
from sfumato.attacks.defences import make
from sfumato.attacks.document import document
from sfumato.attacks.remote import _postgres, _Price
from sfumato.attacks.report import referee
from sfumato.attacks.sheet import read_sheet
from sfumato.cli.clinic import write_clinic
from sfumato.errors import BudgetError, EngineError
from tests.attacks.people import scene_of, write_people
from tests.end_to_end.pg import Served
from tests.end_to_end.web import Web


def test_a_server_is_asked_as_an_analyst_asks_it(tmp_path, call, monkeypatch):
    """Over HTTP and over PostgreSQL's protocol: the same questions, the same refusals, the same budget."""
    write_clinic(tmp_path)
    with sfumato.open(tmp_path / "sfumato.toml") as gate:
        rows = read_sheet(tmp_path / "patient.parquet").records()[:60]
        with (tmp_path / "patient.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["ssn", "age", "disease"], extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        words = ("attack", "differencing", "--csv", "patient.csv", "--secret", "disease", "--json", "--target")
        web = Web(gate, names=("bob",))
        try:
            assert call(*words, web.url)[0] == 2  # no --spend: nothing is asked
            assert gate.budget().spent.epsilon == 0
            monkeypatch.setenv("SFUMATO_TOKEN", web.tokens["bob"])
            code, out, err = call(*words, web.url, "--spend")
        finally:
            web.stop()
        assert code == 0, err
        report = json.loads(out)["reports"][0]
        assert 0 < report["claims"] <= 60
        assert report["total"] == "4"
        assert 0 < gate.budget().spent.epsilon <= 4
        served = Served(gate, encrypted=False, users=("ana",))
        try:
            code, out, err = call(*words, f"postgresql://ana:correct%20horse@127.0.0.1:{served.port}/clinic", "--spend")
        finally:
            served.stop()
        assert code == 0, err
        assert json.loads(out)["reports"][0]["total"] == "1"  # ana's share
        assert json.loads(out)["reports"][0]["claims"] > 0


def raising(error):
    def run(_):
        raise error

    return run


@pytest.mark.parametrize("name", sorted(set(ATTACKS) - {"homogeneity"}))
def test_a_server_that_is_gone_is_no_refusal(tmp_path, name):
    """An attack stops at once, and does not take silence for an answer; an empty budget is told apart from it."""
    _, knowledge, _ = scene_of(tmp_path, 40)
    gone = Endpoint("gone", raising(EngineError("the server cannot be reached", sqlstate="08006")), Fraction(1))
    if name not in ("membership", "likelihood", "auxiliary", "versions"):  # not applicable to these people
        with pytest.raises(EngineError, match="reached"):
            ATTACKS[name].run(gone, knowledge)
        assert len(gone.log) == 1
    poor = Endpoint("poor", raising(BudgetError("the budget is spent")), Fraction(1))
    found = ATTACKS[name].run(poor, knowledge)
    assert not found.claims
    assert found.reason


def test_a_server_that_does_not_let_anybody_in_is_said_in_one_line(tmp_path, call, monkeypatch):
    write_clinic(tmp_path)
    write_people(tmp_path / "patient.csv", 20)
    words = ("attack", "all", "--csv", "patient.csv", "--secret", "state", "--spend", "--target")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = free.getsockname()[1]
    monkeypatch.setenv("SFUMATO_TOKEN", "sfu_wrong")
    with sfumato.open(tmp_path / "sfumato.toml") as gate:
        served, web = Served(gate, encrypted=False, users=("ana",)), Web(gate, names=())
        try:
            for address, match in (
                (f"http://127.0.0.1:{closed}", "the server cannot be reached"),
                (f"postgresql://ana:x@127.0.0.1:{closed}/clinic", "the server cannot be reached"),
                (f"postgresql://ana:wrong@127.0.0.1:{served.port}/clinic", "the server refuses this user or password"),
                (web.url, "token"),
                ("ftp://127.0.0.1", "is no address"),
            ):
                code, out, err = call(*words, address)
                assert code not in (0, 1), (address, out)
                assert match in err
                assert "Traceback" not in err
        finally:
            web.stop()
            served.stop()
        assert gate.budget().spent.epsilon == 0


def test_a_plain_database_promises_nothing(tmp_path):
    """PostgreSQL knows no parameter of ours: its answers are exact, and have no price."""
    sheet, knowledge, truth = scene_of(tmp_path, 40)
    raw = make("raw", sheet, "state", ())

    class Plain:
        closed = False

        def execute(self, sql):
            if sql.startswith("SHOW"):
                raise psycopg.errors.UndefinedObject('unrecognized configuration parameter "sfumato.budget"')
            self.rows = raw.run(sql)
            return self

        def fetchall(self):
            return self.rows

    endpoint = _postgres("postgresql://ana:word@127.0.0.1:5432/db", Plain(), _Price(9))
    assert endpoint.epsilon is None
    assert endpoint.name == "127.0.0.1:5432/db"  # without the password
    report = referee("reconstruction", ATTACKS["reconstruction"].run, endpoint, knowledge, truth, advice="")
    assert report.right == report.certain == 40
    assert document([report], "db", knowledge)["defences"][0]["what"] == "a server that promises nothing"
