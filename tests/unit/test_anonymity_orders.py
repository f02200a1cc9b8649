"""Orders of sensitive values, and the risk beside a population: what the search and the check both compute."""

import csv
from fractions import Fraction

import pytest

from sfumato.anonymity import AnonymizeRequest, anonymize, check_release
from sfumato.anonymity.compress import _in_order
from sfumato.anonymity.inspection.exact import in_order
from sfumato.errors import InputError


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    return path


def test_an_order_with_a_value_twice_is_refused(tmp_path):
    """`low,high,high` has three places and two values: every ordered distance would be half of what it is."""
    rows = [("1", v) for v in "lllh"] + [("2", v) for v in "lhhh"]
    raw = write(tmp_path / "raw.csv", ("a", "v"), rows)
    release = write(tmp_path / "release.csv", ("a", "v"), sorted(rows))
    wanted = AnonymizeRequest(str(raw), ("a",), "v", k=2, t="0.2", distance="ordered", order=("l", "h", "h"))
    with pytest.raises(InputError, match='has "h" twice'):
        anonymize(wanted)
    with pytest.raises(InputError, match='has "h" twice'):
        check_release(release, raw, ("a",), "v", order=("l", "h", "h"))


def test_numbers_that_are_equal_stand_in_the_order_of_their_texts():
    """Otherwise the ordered distance depends on the seed of hashes; what is no finite number is text."""
    texts = ["2", "1.0", "01", "1"]
    for names in (texts, texts[::-1]):
        assert in_order(names) == list(_in_order(names, ())) == ["01", "1", "1.0", "2"]
        assert in_order([*names, "nan"]) == list(_in_order([*names, "nan"], ())) == ["01", "1", "1.0", "2", "nan"]
    large = ["-9007199254740993", "-9007199254740992", "9007199254740992.5", "9007199254740993", "1e400"]
    for names in (large, large[::-1]):  # as floats some are equal, and one is infinite
        assert in_order(names) == list(_in_order(names, ())) == large


def test_the_journalist_meets_the_population_however_large_it_is(tmp_path):
    """Four rows of a class that has a hundred people: one in a hundred, not one in four."""
    data = write(tmp_path / "d.csv", ("a", "v"), [("1", "x"), ("1", "y")] * 2)
    world = write(tmp_path / "p.csv", ("a",), [("1",)] * 100)
    done = anonymize(AnonymizeRequest(str(data), ("a",), "v", k=2, population=str(world)))
    assert (done.measures.prosecutor, done.measures.journalist) == (Fraction(1, 4), Fraction(1, 100))
