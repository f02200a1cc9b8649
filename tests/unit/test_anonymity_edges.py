"""Inputs at the edge: what is refused in one sentence, and sound releases that must pass their check."""

import csv
from dataclasses import replace

import pytest

from sfumato.anonymity import AnonymizeRequest, anonymize, check_release
from sfumato.anonymity.hierarchies import declared, prefixes
from sfumato.anonymity.inspection.meaning import covers
from sfumato.cli.attack_release import graph
from sfumato.errors import InputError


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    return path


def test_tables_without_rows_are_refused(tmp_path):
    full = write(tmp_path / "d.csv", ("a", "v"), [("1", "x"), ("1", "y")])
    empty = write(tmp_path / "e.csv", ("a", "v"), [])
    with pytest.raises(InputError, match=r'"e\.csv" has no rows'):
        check_release(full, empty, ("a",), "v")
    with pytest.raises(InputError, match="the population has no rows"):
        anonymize(AnonymizeRequest(str(full), ("a",), "v", k=2, population=str(empty)))


def test_a_network_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "edges.csv").write_bytes(b"\xff\xfe,1\n")
    with pytest.raises(InputError, match="not UTF-8"):
        graph(tmp_path / "edges.csv", as_json=True)


def test_a_kind_that_is_no_text_and_a_length_without_end_are_refused():
    with pytest.raises(InputError, match="no known kind"):
        declared("a", {"kind": ["x"]})
    with pytest.raises(InputError, match="at most 1000"):
        prefixes("a", 10**8, [1])
    assert prefixes("a", 1000, [1]).height == 2


def test_a_hierarchy_of_one_value_has_no_distance(tmp_path):
    """Height 0 was divided by: a warning, and no release although every class is like the table."""
    raw = write(tmp_path / "d.csv", ("a", "v"), [("1", "p"), ("2", "p")])
    (tmp_path / "x_hierarchy_v.csv").write_text("p\n", encoding="utf-8")
    wanted = AnonymizeRequest(str(raw), ("a",), "v", k=1, t="0", distance="hierarchical", hierarchies=tmp_path)
    done = anonymize(wanted)
    assert (done.released, done.t) == (2, 0.0)


DATES = '[a]\nkind = "dates"\nlow = 2024-01-01\nhigh = 2024-12-31\nlevels = ["month", "year"]\n'
CODES = '[a]\nkind = "prefix"\nlength = 5\nstars = [1, 2]\n'
SOUND = {
    "days without signs": (DATES, ["20240301", "20240302", "20240405", "20240406"], ["x", "y", "x", "y"]),
    "codes with blanks": (CODES, [" 13053", "13054", "13055", "13056 "], ["x", "y", "x", "y"]),
    "codes 01 and 1": ("", ["1", "2"] * 10, ["01"] * 9 + ["1"] * 3 + ["02"] * 8),
    "one column with empty cells": ("", ["1", "", "1", ""], None),
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_release_passes_its_check(tmp_path, name):
    toml, values, secrets = SOUND[name]
    hierarchies = tmp_path / "h.toml"
    hierarchies.write_text(toml, encoding="utf-8")
    rows = [(value,) for value in values] if secrets is None else list(zip(values, secrets, strict=True))
    raw, out = write(tmp_path / "raw.csv", ("a", "v")[: len(rows[0])], rows), tmp_path / "out.csv"
    sensitive = None if secrets is None else "v"
    anonymize(AnonymizeRequest(str(raw), ("a",), sensitive, k=2, hierarchies=hierarchies), str(out))
    assert check_release(out, raw, ("a",), sensitive, hierarchies=hierarchies).faults == ()


def test_numbers_of_eight_digits_are_days_only_where_all_values_are():
    days, numbers = frozenset(["20240301", "20240405"]), frozenset(["20240301", "99999999"])
    assert covers("2024-03", "20240301", None, days) is True
    assert covers("2024-04", "20240301", None, days) is False
    assert covers("2020..2029", "20240301", None, days) is True
    assert covers("2020..2029", "20240301", None, numbers) is False
    assert covers("20240000..20249999", "20240301", None, days) is True


def test_a_release_without_rows_is_none(tmp_path):
    """All rows may be suppressed: stars for everybody lose as much and keep the rows; where nothing holds, an error."""
    data = tmp_path / "raw.csv"
    data.write_text("age,ill\n" + "".join(f"{i},{'flu' if i < 3 else 'hiv'}\n" for i in range(6)), encoding="utf-8")
    request = AnonymizeRequest(str(data), ("age",), "ill", k=2, t=0, suppress=1)
    assert anonymize(request, str(tmp_path / "r.csv")).released == 6
    with pytest.raises(InputError):
        anonymize(replace(request, beta="0.1", l=3, t=None), str(tmp_path / "none.csv"))
    data.write_text("age,ill\n1,flu\n2,flu\n3,hiv\n", encoding="utf-8")
    with pytest.raises(InputError, match="no release satisfies"):
        anonymize(replace(request, k=1, t=None, diversity="entropy", l="1.99"), str(tmp_path / "none.csv"))
    assert not (tmp_path / "none.csv").exists()
