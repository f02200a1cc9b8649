"""Every mistake in a policy is told once, at its line, and none hides another."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.owner.policy_mistakes import read_all
from tests.unit.owner_sample import GOOD

BAD = {
    ('engine = "duckdb"', 'engine = "oracle"'): [(2, "engine")],
    ("epsilon = 4", 'epsilon = "?"'): [(8, "is not decided yet")],
    ("epsilon = 4", "epsilon = 0\nquery_epsilon = 9\ntimign = 1"): [(8, "above 0"), (10, "unknown key")],
    ("rows_per_unit = 1\n", 'rows_per_unit = "?"\ngroups_per_unit = 0\n'): [(13, "not decided"), (14, "at least 1")],
    ("min = 0, max = 120", 'min = "?", max = "?"'): [(16, "min in"), (16, "max in")],
    ("min = 0, max = 120", "min = 9, max = 1"): [(16, "above max")],
    ('unit = "id"', 'unit = "idd"'): [(12, "not a listed column")],
    ('unit = "id"\nrows_per_unit = 1', ""): [(11, "has no unit"), (11, "has no rows_per_unit")],
    ('join = "p"', 'join = "q"'): [(19, "not a table of the policy")],
    ("epsilon = 1\n", "epsilon = 5\n"): [(10, "must be at most")],
    ('id = "d"', 'id = "a/b"\nversoin = 1'): [(5, "must have no /"), (6, "unknown key")],
    ("[analysts.ana]", "[analyst.ana]"): [(9, "unknown key")],
    ('v = "v.csv" }', "v = 3 }"): [(3, "must be text")],
    ('{ values = ["f", "m"] }', "3"): [(17, "must be a table")],
    ("grid = 0.01", "grid = 0.03"): [(23, "multiple of grid")],
    (', v = "v.csv"', ""): [(18, "has no file")],
    ("[data]", "[data"): [(4, "not TOML")],
    ("epsilon = 4", "epsilon = 4\npartition = 'v.day'"): [(9, "partition")],
}


def test_a_good_policy_has_no_mistakes(tmp_path: Path) -> None:
    policy, found = read_all(GOOD, tmp_path / "sfumato.toml")
    assert found == []
    assert policy is not None


@pytest.mark.parametrize("change", BAD, ids=lambda change: change[1][:30])
def test_a_mistake_is_told_once_at_its_line(change: tuple[str, str], tmp_path: Path) -> None:
    old, new = change
    assert GOOD.count(old) == 1
    policy, found = read_all(GOOD.replace(old, new), tmp_path / "sfumato.toml")
    assert policy is None
    assert len(found) == len(BAD[change]), [str(error) for error in found]
    for error, (line, words) in zip(found, BAD[change], strict=True):
        assert words in error.message
        assert error.detail is not None
        assert error.detail.startswith(f"sfumato.toml, line {line}, column ")


def test_all_mistakes_are_told_in_the_order_of_their_lines(tmp_path: Path) -> None:
    """One change of every kind that leaves the others where they are."""
    text, lines = GOOD, []
    for (old, new), found in BAD.items():
        if "\n" not in old + new and text.count(old) == 1 and new and "TOML" not in found[0][1]:
            text = text.replace(old, new)
            lines += [line for line, _ in found]
    assert len(lines) >= 10
    _, told = read_all(text, tmp_path / "sfumato.toml")
    seen = [int(str(error.detail).split()[2].rstrip(",")) for error in told]
    assert seen == sorted(seen)
    assert set(lines) - {9} <= set(seen)  # a table [analyst] is told, and then nobody's share is too large


def test_an_empty_policy_lacks_all_of_it(tmp_path: Path) -> None:
    _, found = read_all("", tmp_path / "sfumato.toml")
    lacking = ["the policy has no [source]", "the policy has no [data]", "the policy has no [privacy]"]
    assert [error.message for error in found] == [*lacking, "the policy names no table"]
    _, found = read_all("tables = 3\nprivacy = 4\nsource = 5\n", tmp_path / "sfumato.toml")
    assert [error.message.split(" must")[0] for error in found] == [lacking[1], "tables", "privacy", "source"]


def test_one_mistake_does_not_hide_another(tmp_path: Path) -> None:
    text = GOOD.replace("[tables.p.columns]", "columns = 4\n[tables.x]").replace("rows_per_unit = 2", "public = 3")
    text = text.replace('{ p = "p.csv", v = "v.csv" }', "{}")
    _, found = read_all(text, tmp_path / "sfumato.toml")
    told = [error.message for error in found]
    assert not [words for words in told if '"t"' in words], "only what the owner wrote is named"
    for words in ('table "p" has no file', 'table "v" has no file', "columns in [tables.p]", "public in [tables.v]"):
        assert any(words in one for one in told), words
