"""The scene: any file is read, the secret is a fact that is open, and people are described so that SQL agrees."""

import gzip
from datetime import date

import duckdb
import pytest

from sfumato.attacks import scene
from sfumato.attacks.base import SecretFact
from sfumato.attacks.defences import make
from sfumato.attacks.scene import set_scene
from sfumato.attacks.sheet import TABLE, read_sheet
from sfumato.attacks.subsets import listed, source
from sfumato.errors import InputError
from tests.attacks.people import number, pick, write_people

PLAIN = "id,zip,state\n1,02139,a\n2,00501,b\n3,94305,a\n"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", PLAIN.encode()),
        ("a.csv", PLAIN.replace(",", ";").encode()),
        ("a.tsv", PLAIN.replace(",", "\t").encode()),
        ("a.csv", b"\xef\xbb\xbf" + PLAIN.encode()),
        ("a.csv", PLAIN.replace("\n", "\r\n").encode()),
        ("a.csv.gz", gzip.compress(PLAIN.encode(), mtime=0)),
        ("a.txt", PLAIN.encode()),
    ],
    ids=["comma", "semicolon", "tab", "mark", "returns", "packed", "text"],
)
def test_any_kind_of_csv_is_read(tmp_path, name, data):
    """And codes keep their zeros: they are names."""
    (tmp_path / name).write_bytes(data)
    sheet = read_sheet(tmp_path / name)
    assert sheet.columns == ("id", "zip", "state")
    assert sheet.records()[0] == {"id": 1, "zip": "02139", "state": "a"}


def test_the_first_line_names_the_columns_also_where_all_is_text(tmp_path):
    (tmp_path / "a.csv").write_text("name,town\nada,Köln\nbob,Bonn\n", encoding="utf-8")
    assert read_sheet(tmp_path / "a.csv").records() == [
        {"name": "ada", "town": "Köln"},
        {"name": "bob", "town": "Bonn"},
    ]


def test_odd_kinds_become_text_and_what_is_no_table_is_said(tmp_path):
    file = tmp_path / "odd.parquet"
    row = "1 AS id, [1, 2] AS many, 'nan'::DOUBLE AS none, 1.5::FLOAT AS half, TIME '10:00' AS at"
    duckdb.sql(f"COPY (SELECT {row}) TO '{file}'")
    row = read_sheet(file).records()[0]
    assert row == {"id": 1, "many": "[1, 2]", "none": "nan", "half": 1.5, "at": "10:00:00"}
    (tmp_path / "latin.csv").write_bytes("name,a\nJürgen,1\n".encode("latin-1"))
    (tmp_path / "bytes.parquet").write_bytes(b"PAR1 and nothing else")
    for name in ("latin.csv", "bytes.parquet"):
        with pytest.raises(InputError, match="cannot be read as a table"):
            read_sheet(tmp_path / name)


@pytest.mark.parametrize(
    ("values", "secret", "fact"),
    [
        (["y"] * 4 + ["n"] * 3 + ["m"] * 2, None, SecretFact("s", "y")),
        ([True, False, False, False], None, SecretFact("s", False)),
        ([0, 1, 1, 1], None, SecretFact("s", 0)),
        (list(range(100)), None, SecretFact("s", 49, above=True)),
        ([date(2000, 1, day + 1) for day in range(20)], None, SecretFact("s", date(2000, 1, 10), above=True)),
        ([f"name {i:02}" for i in range(40)], None, SecretFact("s", "name 19", above=True)),
        ([0] * 50 + list(range(1, 51)), None, SecretFact("s", 0)),
        (["a", "b", "b", None, None, None], None, SecretFact("s", "b")),
        (["01", "1", "1"], "s=01", SecretFact("s", "01")),
        (["Yes", "no", "no"], "s=yes", SecretFact("s", "Yes")),
    ],
)
def test_the_secret_is_the_fact_that_is_nearest_to_one_half(values, secret, fact):
    rows = [{"id": i, "s": value} for i, value in enumerate(values)]
    knowledge, truth = set_scene(rows, TABLE, secret, None)
    assert knowledge.fact == fact
    assert truth == tuple(v is not None and (v > fact.value if fact.above else v == fact.value) for v in values)


def test_a_scene_that_cannot_be_set_is_said_in_one_line():
    rows = [{"a": 1, "b": 2, "s": "y"}] * 4
    for words, match in (
        ((rows, TABLE, None, None), "the attacker's knowledge distinguishes nobody"),
        (([{"s": 1}], TABLE, None, None), "nothing is known"),
        ((rows, TABLE, "s=z", None), "nobody has the secret"),
        ((rows, TABLE, "t", None), 'no column "t"'),
        (([{"a": 1, "s": None}], TABLE, None, None), "is empty"),
        (([], TABLE, None, None), "no rows"),
    ):
        with pytest.raises(InputError, match=match):
            set_scene(*words)


def write_without_names(path, count):
    """Numbers with gaps, dates, measurements, text with quotes; nobody has a name, and some look alike."""
    lines = ["age,born,weight,town,ok,state"]
    for i in range(count):
        age = "" if number("gap", i) % 9 == 0 else number("age", i) % 80 - 20
        born = f"19{60 + number('y', i) % 30}-0{1 + number('m', i) % 9}-01"
        town = pick(["Köln", "O'Hara", '"x""y"', ""], "town", i)
        weight, ok = number("w", i) % 300 / 7, pick(["true", "false"], "ok", i)
        lines.append(f"{age},{born},{weight:.3f},{town},{ok},{pick('yn', 's', i)}")
    path.write_text("\n".join([*lines, *lines[1:9]]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(("named", "most"), [(True, 1000), (True, 60), (False, 1000), (False, 60)])
def test_who_fulfils_a_condition_is_what_the_engine_says(tmp_path, monkeypatch, named, most):
    """By patterns of a key, sums of weights, and lists; of a whole table, and of the part that is attacked."""
    monkeypatch.setattr(scene, "_MOST", most)
    write = write_people if named else write_without_names
    sheet = read_sheet(write(tmp_path / "t.csv", 200))
    knowledge, _ = set_scene(sheet.records(), TABLE, "state", None)
    raw = make("raw", sheet, "state", ())
    assert raw.number(knowledge.count(knowledge.only or "1 = 1")) == len(knowledge.everybody)
    assert len(knowledge.people) <= most
    for one in knowledge.people[:30]:
        assert raw.number(knowledge.count(one.where)) == 1
    for asked in (source(knowledge, priced=False), listed(knowledge, 20)):
        for question in range(12):
            where, line = asked.make(question, (0.2, 0.5, 0.85)[question % 3])
            assert raw.number(knowledge.count(where)) == line @ asked.sizes
            assert line.any()
