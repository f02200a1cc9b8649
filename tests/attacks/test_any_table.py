"""Attacks take any table: names, values and columns of every kind."""

import json

import pytest

from sfumato.attacks import differencing
from sfumato.attacks.base import Endpoint, is_exact
from sfumato.attacks.defences import TABLE, make, read_sheet
from sfumato.attacks.report import referee
from sfumato.attacks.scene import set_scene
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
            assert report["outcome"] == "lost"


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
