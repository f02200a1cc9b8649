"""Whatever `check` calls valid can be opened, and every table and column of it can be queried."""

import os
import random
from collections import Counter
from pathlib import Path

import pytest

import sfumato
from sfumato.errors import PolicyError, QueryError
from sfumato.owner.admission import check
from sfumato.types import identifier
from tests.laws.policygen import DECLARED, FILES, cells_of, make_world

QUERIES = {
    "protected": (
        "SELECT COUNT({c}) FROM {t}",
        "SELECT COUNT(*) FROM {t} WHERE {c} IS NOT NULL",
        "SELECT {c}, COUNT(*) FROM {t} GROUP BY {c}",
        "SELECT SUM({c}) FROM {t}",
        "SELECT MIN({c}), AVG({c}) FROM {t}",
        "SELECT COUNT(DISTINCT {c}) FROM {t}",
    ),
    "public": (
        "SELECT {c} FROM {t}",
        "SELECT COUNT({c}) FROM {t}",
        "SELECT {c}, COUNT(*) FROM {t} GROUP BY {c}",
        "SELECT MAX({c}) FROM {t}",
        "SELECT * FROM {t} WHERE {c} IS NOT NULL",
    ),
}
ALWAYS = 2
"""So many of them are answered whatever the column is; others may be refused because of their text."""


def ask_everything(world):
    """Ask each query of each column; returns how many were answered and how many refused."""
    done = Counter()
    with sfumato.open(world.policy) as gate:
        for table in world.tables:
            side = "public" if table.public else "protected"
            name = identifier(table.name)
            gate.sql(f"SELECT COUNT(*) FROM {name}")
            for column in gate.policy.tables[table.name].columns:
                for number, text in enumerate(QUERIES[side]):
                    sql = text.format(c=identifier(column), t=name)
                    try:
                        gate.sql(sql)
                        done["answered"] += 1
                    except QueryError:
                        assert number >= ALWAYS, sql
                        done["refused"] += 1
    return done


def run_worlds(folder, first, count, cell=None):
    done, cells = Counter(), Counter()
    for seed in range(first, first + count):
        place = Path(folder) / " ".join([str(seed), *(cell or ())])
        place.mkdir()
        world = make_world(random.Random(seed), place, cell)
        report = check(world.policy)
        if report.problems:
            done["called invalid"] += 1
            continue
        done["called valid"] += 1
        try:
            done += ask_everything(world)
        except Exception as error:
            text = world.policy.read_text(encoding="utf-8")
            raise AssertionError(f"seed {seed}: check says valid, but {error!r}\n{text}") from error
        cells += cells_of(world)
    return done, cells


def test_what_check_calls_valid_can_be_queried(tmp_path):
    """A sample at fixed seeds; with SFUMATO_SEED another one."""
    done, cells = run_worlds(tmp_path, int(os.environ.get("SFUMATO_SEED", "5000")), 24)
    print(f"{dict(done)}, {len(cells)} cells")  # noqa: T201  shown when it fails
    assert done["called valid"] >= 6
    assert done["answered"] >= 50
    assert {side for _, _, side in cells} == {"public", "protected"}


@pytest.mark.slow
def test_what_check_calls_valid_can_be_queried_for_every_declaration(tmp_path):
    done, cells = run_worlds(tmp_path, 0, 1200)
    missing = {(kind, side) for kind in DECLARED for side in QUERIES} - {(kind, side) for kind, _, side in cells}
    print(dict(done), len(cells), f"asked for: {sorted(missing)}")  # noqa: T201  what was covered
    for cell in sorted(missing):
        found = any(run_worlds(tmp_path, seed, 1, cell)[1] for seed in range(100))
        assert found, f"no policy with {cell} is valid"
    assert {file for _, file, _ in cells} == set(FILES)


def write_policy(folder, columns, *, public=True, header="a,b"):
    (folder / "t.csv").write_text(f"{header}\n1,x\n", encoding="utf-8")
    kind = "public = true" if public else 'unit = "b"\nrows_per_unit = 1'
    (folder / "sfumato.toml").write_text(
        '[source]\nengine = "duckdb"\nfiles = { t = "t.csv" }\n[data]\nid = "d"\n[privacy]\nepsilon = 4\n'
        f"[tables.t]\n{kind}\n[tables.t.columns]\n{columns}\n",
        encoding="utf-8",
    )
    return folder / "sfumato.toml"


@pytest.mark.parametrize("column", ['b = { type = "text" }', "b = {}", 'b = { values = ["x"] }'])
def test_a_public_text_needs_no_length(tmp_path, column):
    place = write_policy(tmp_path, column)
    assert check(place).problems == ()
    with sfumato.open(place) as gate:
        assert gate.sql("SELECT b FROM t").rows == [("x",)]


@pytest.mark.parametrize(
    "column",
    [
        'a = { type = "decimal", min = 0, max = 1e36, grid = 0.1 }',
        'a = { type = "decimal", min = -1e37, max = 0, grid = 1 }',
        'a = { type = "double", min = 0, max = 1e17, grid = 0.00000000000000000001 }',
    ],
)
@pytest.mark.parametrize("public", [True, False])
def test_too_many_digits_are_found_in_the_policy(tmp_path, column, public):
    place = write_policy(tmp_path, f'b = {{ type = "text", max_length = 3 }}\n{column}', public=public)
    (problem,) = check(place).problems
    assert "too many digits" in problem.message
    with pytest.raises(PolicyError, match="too many digits"):
        sfumato.open(place)


@pytest.mark.parametrize("public", [True, False])
def test_names_that_the_gateway_uses_for_itself_are_refused(tmp_path, public):
    text = 'b = { type = "text", max_length = 3 }\n"#person" = { type = "integer" }'
    place = write_policy(tmp_path, text, public=public, header="#person,b")
    (problem,) = check(place).problems
    assert "begins with #, which is reserved" in problem.message


def test_a_public_column_with_a_reserved_name_is_left_out(tmp_path):
    place = write_policy(tmp_path, "", header="#person,b")
    assert check(place).problems == ()
    with sfumato.open(place) as gate:
        assert gate.sql("SELECT * FROM t").columns == ("b",)
