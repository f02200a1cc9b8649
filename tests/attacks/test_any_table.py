"""Attacks take any table: names, values and columns of every kind."""

import json

import pytest

from sfumato.attacks import ATTACKS, averaging, defences, differencing
from sfumato.attacks.base import Endpoint, is_exact
from sfumato.attacks.defences import make
from sfumato.attacks.report import referee
from sfumato.attacks.scene import set_scene
from sfumato.attacks.sheet import TABLE, read_sheet
from sfumato.errors import InputError, QueryError
from tests.attacks.people import QUASI, scene_of, write_people


@pytest.mark.parametrize("defence", ["raw", "suppress", "kanon"])
def test_nulls_quotes_and_key_words_are_attacked_too(call, tmp_path, defence):
    """Columns named as SQL's own words, quotes in names and values, secrets and known values that are missing."""
    lines = ['select,"say ""it""",group,order']
    lines += [
        f"""{i},"O'Brien ""{i % 7}""\",{"" if i % 3 else i},{"" if i % 5 == 0 else "yn"[i % 2]}""" for i in range(60)
    ]
    (tmp_path / "odd.csv").write_text("\n".join(lines) + "\n")
    for name in ("differencing", "linking", "oracles", "intersection"):
        code, out, err = call("attack", name, "--csv", "odd.csv", "--defence", defence, "--json")
        assert code in (0, 1), err
        report = json.loads(out)["reports"][0]
        assert report["certain"] == report["certain_right"]
        if name == "differencing" and defence != "kanon":
            assert report["outcome"] == "broken"


def test_exactness_is_noticed(tmp_path):
    sheet, knowledge, _ = scene_of(tmp_path, 120)
    assert is_exact(make("raw", sheet, "state", QUASI), knowledge)
    for defence in ("round", "sticky", "laplace"):
        assert not is_exact(make(defence, sheet, "state", QUASI), knowledge)
    rounded = Endpoint("round", lambda sql: [(100 if " OR " in sql else 0 if " AND " in sql else 50,)])
    assert not is_exact(rounded, knowledge)  # they add up, by luck, and are all multiples of fifty


def test_the_classical_front_answers_aggregates_only(tmp_path):
    sheet, _, _ = scene_of(tmp_path, 60)
    endpoint = make("round", sheet, "state", QUASI)
    for sql in (
        "SELECT * FROM data",
        "SELECT COUNT(*) FROM data WHERE id IN (SELECT 1003)",
        "SELECT COUNT(*) FROM data; DROP TABLE data",
    ):
        with pytest.raises(QueryError):
            endpoint.ask(sql)
    assert endpoint.ask('SELECT AVG("age") FROM data')
    assert [asked.rows is None for asked in endpoint.log] == [True, True, True, False]
    with pytest.raises(InputError, match="not known"):
        make("nothing", sheet, "state", QUASI)


def test_people_without_a_key_are_described(tmp_path):
    """A table without identifiers, as census extracts are: what is known of a person names her."""
    path = tmp_path / "people.csv"
    write_people(path, 120)
    lines = [line.partition(",")[2] for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines) + "\n")
    sheet = read_sheet(path)
    knowledge, truth = set_scene(sheet.records(), TABLE, None, None)
    assert knowledge.key is None
    assert "state" in knowledge.secret
    report = referee("differencing", differencing.run, make("raw", sheet, "state", QUASI), knowledge, truth, advice="")
    assert report.succeeded
    assert len(knowledge.people) > 100


def lines(head, one, count):
    return "\n".join([head, *(one(i) for i in range(count))]) + "\n"


ODD = {
    "five rows": lines("id,age,state", lambda i: f"{i},{20 + i},{'yn'[i % 2]}", 5),
    "eight rows": lines("name,age,state", lambda i: f"n{i},{20 + i},{'yynn'[i % 4]}", 8),
    "no names": lines("a,b,état", lambda i: f"{i % 7},{i * i % 11 or ''},{['<b>', 'O’x', ''][i % 3]}", 60),
    "one value": lines("id,age,state", lambda i: f"{i},{i % 5},same", 50),
    "codes": lines("id,age,flag", lambda i: f"{i:03},{i % 30},{['01', '1', '001'][i * i % 3]}", 60),
    "moments": lines("at,x,ok", lambda i: f"2020-01-01 10:{i:02}:00,{i / 7},{['true', 'false'][i % 2]}", 50),
    "large numbers": lines("id,pay", lambda i: f"{2**62 + i},{1000 * i}", 50),
}


OFTEN = ("five rows", "no names", "large numbers")


@pytest.mark.parametrize("table", [pytest.param(name, marks=() if name in OFTEN else pytest.mark.slow) for name in ODD])
def test_no_claim_of_certainty_is_wrong_on_any_table(tmp_path, monkeypatch, table):
    """Every attack on every classical defence: it claims, or says why not, and what is certain is so."""
    monkeypatch.setattr(averaging, "PEOPLE", 3)
    path = tmp_path / "odd.csv"
    path.write_text(ODD[table], encoding="utf-8")
    sheet = read_sheet(path)
    knowledge, truth = set_scene(sheet.records(), TABLE, None, None)
    quasi = tuple(c for c in knowledge.people[0].known if c != knowledge.key)
    for defence in ("raw", "suppress", "overlap", "round", "constant", "kanon"):
        for name in set(ATTACKS) - {"timing"}:
            endpoint = make(defence, sheet, knowledge.fact.column, quasi)
            report = referee(name, ATTACKS[name].run, endpoint, knowledge, truth, advice="")
            assert report.certain == report.certain_right, (defence, name)
            assert report.claims or report.reason, (defence, name)
        if defence == "raw" and len(truth) > 3:
            endpoint = make(defence, sheet, knowledge.fact.column, quasi)
            assert differencing.run(endpoint, knowledge).claims


def test_a_refusal_that_overlaps_is_no_proof(tmp_path):
    """An auditor of overlaps refuses, whatever her secret is: two questions about her fare alike."""
    sheet, knowledge, truth = scene_of(tmp_path, 120)
    endpoint = make("overlap", sheet, "state", QUASI)
    report = referee("oracles", ATTACKS["oracles"].run, endpoint, knowledge, truth, advice="")
    assert report.certain == report.certain_right
    broken = Endpoint("shut", lambda _: (_ for _ in ()).throw(QueryError("no")))
    assert not ATTACKS["oracles"].run(broken, knowledge).claims


@pytest.mark.parametrize("drawn", [8, 9, 10, 11])
def test_one_number_on_every_answer_is_no_defence(arena, monkeypatch, drawn):
    """The unsafe mechanism of the first lecture, with -2, -1, 1 and 2: the number cancels in a difference."""
    monkeypatch.setattr(defences, "sample_uniform", lambda _: drawn)
    report = arena("differencing", "constant", 60)
    assert report.right == report.claims == 60
    assert report.certain == report.certain_right
