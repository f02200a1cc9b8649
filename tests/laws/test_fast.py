"""Less work, same numbers: fast plans and stored scans give, to the last unit, what the plain form gives."""

# ruff: noqa: E501  a question stands on one line

from __future__ import annotations

from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sfumato.engines.duckdb import DuckDB
from sfumato.policy import Column as Declared
from sfumato.policy import Policy, load
from sfumato.sql.bind import bind
from sfumato.sql.parse import parse
from sfumato.sql.plan import Plan, plan
from sfumato.sql.select import stored
from sfumato.sql.sources import scan_of
from tests.laws.test_relations import POLICY, QUESTIONS, rows

BOUNDED = POLICY.replace("rows_per_unit = 200", "rows_per_unit = 3\ngroups_per_unit = 2\nl2_per_unit = 2")
MORE = [
    "SELECT COUNT(*) FROM person",
    "SELECT region, COUNT(*), SUM(age) FROM person GROUP BY region",
    "SELECT region, COUNT(DISTINCT id), AVG(age) FROM person WHERE age > 20 GROUP BY region",
    "SELECT COUNT(*), SUM(cost) FROM visit",
    "SELECT SUM(cost) FROM visit",
    "SELECT COUNT(DISTINCT who) FROM visit",
    "SELECT city, ok, COUNT(*), SUM(cost), VAR_POP(cost) FROM visit GROUP BY city, ok",
    "SELECT tag, COUNT(*), SUM(cost) FROM visit GROUP BY tag",
    "SELECT tag, COUNT(DISTINCT who) FROM visit GROUP BY tag",
    "SELECT tag, SUM(cost) FROM visit GROUP BY tag",
    "SELECT tag, ok, COUNT(*) FROM visit GROUP BY tag, ok",
    "SELECT region, COUNT(*) FROM person JOIN (SELECT who, MAX(cost) AS m FROM visit GROUP BY who) t ON id = who GROUP BY 1",
]


class Home:
    """The same rows twice: as they came, and kept as their scans give them."""

    def __init__(self, folder: Path) -> None:
        with duckdb.connect(str(folder / "world.duckdb")) as connection:
            for name, (columns, listed) in rows().items():
                connection.execute(f"CREATE TABLE {name} ({columns})")
                connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(listed[0]))})", listed)
        (folder / "sfumato.toml").write_text(BOUNDED, encoding="utf-8")
        policy = load(folder / "sfumato.toml")
        self.raw, self.kept = DuckDB(policy), DuckDB(policy)
        place = policy.tables["place"]
        columns = {c: Declared(c, kind, max_length=99) for c, kind in self.raw.schema(place).items()}
        from dataclasses import replace

        self.policy: Policy = replace(policy, tables={**policy.tables, "place": replace(place, columns=columns)})
        self.kept.keep({t.name: stored(scan_of(t, self.policy, 0)) for t in self.policy.tables.values()})

    def planned(self, sql: str, engine: DuckDB, noise: str | None) -> Plan:
        tree, day = parse(sql), date(2024, 6, 1)
        asked = bind(tree, self.policy, day, engine.run_public, stored=engine.stored())
        run, unique = engine.run_public, engine.unique()
        return plan(asked, self.policy, Fraction(1), noise=noise, run=run, unique=unique)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("twice"))


def found(engine: DuckDB, sql: str, salted: bool) -> list[tuple[Any, ...]]:
    with engine._private.cursor() as cursor:
        rows = cursor.execute(sql, {"salt": "s"} if salted else None).fetchall()
    return sorted(rows, key=lambda row: [(value is None, str(value)) for value in row])


def _nothing(row: tuple[Any, ...], keys: int) -> bool:
    return not any(row[keys:])


@pytest.mark.parametrize("noise", [None, "gaussian"])
@pytest.mark.parametrize("sql", [*QUESTIONS, *MORE], ids=range(len(QUESTIONS) + len(MORE)))
def test_a_fast_plan_gives_the_same_numbers(sql: str, noise: str | None, home: Home) -> None:
    policy = home.policy
    if noise and policy.privacy.composition == "pure":
        from dataclasses import replace

        home.policy = replace(policy, privacy=replace(policy.privacy, composition="best"))
    try:
        slow, quick = home.planned(sql, home.raw, noise), home.planned(sql, home.kept, noise)
    finally:
        home.policy = policy
    assert [c.events for c in slow.cuts] == [c.events for c in quick.cuts]
    assert slow.notes == quick.notes
    for number, (a, b) in enumerate(zip(slow.cuts, quick.cuts, strict=True)):
        if number:
            break  # a later stage reads what an earlier one released
        for one, two in zip(a.parts, b.parts, strict=True):
            assert one.groups == two.groups
            if one.sql is None or two.sql is None:
                continue
            keys = len(one.kept)
            plain = [row for row in found(home.raw, one.sql, bool(one.chosen)) if not _nothing(row, keys)]
            kept = [row for row in found(home.kept, two.sql, bool(one.chosen)) if not _nothing(row, keys)]
            assert plain == kept
            if two.fast is not None:
                width = keys + sum(len(r.bundle.parts) for r in two.bundles)
                less = [row[:width] for row in found(home.kept, two.fast, bool(one.chosen))]
                assert [row for row in less if not _nothing(row, keys)] == plain
                if two.chosen and two.people is not None:
                    people = [row[:keys] + row[-1:] for row in found(home.kept, two.fast, True)]
                    assert sorted(people, key=str) == sorted(found(home.raw, one.people or "", True), key=str)


def test_fast_plans_are_used(home: Home) -> None:
    quick = [home.planned(sql, home.kept, None).cuts[0].parts[0].fast for sql in MORE]
    assert sum(sql is not None for sql in quick) >= 10
    assert home.kept.unique() == {"person"}
