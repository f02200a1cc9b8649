"""Units that are found by composite keys: nobody's rows are counted as another's, and joins along them mean SQL's."""

from __future__ import annotations

import random
from datetime import date
from fractions import Fraction
from typing import Any

import duckdb
import pandas as pd
import pytest

from sfumato.engines.duckdb import DuckDB
from sfumato.engines.reference import Reference
from sfumato.errors import PolicyError, QueryError
from sfumato.ledger.units import find_conflict, show_unit
from sfumato.policy import Policy, from_dict, units_of
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.claims import check
from sfumato.sql.release.plan import Plan, plan
from tests import tableless

NUMBER, ID = {"type": "integer", "min": 0, "max": 9}, {"type": "integer"}
PAIR = "ticket = ticket AND item = item"


def policy_of(on: str = PAIR, adjacency: str = "add-remove") -> Policy:
    sales = {"u": ID, "ticket": ID, "item": ID, "x": NUMBER}
    back = {"unit": {"join": "sales", "on": on}, "rows_per_unit": 3}
    return from_dict(
        {
            "source": {"engine": "duckdb", "files": {name: f"{name}.parquet" for name in ("sales", "back", "note")}},
            "data": {"id": "k"},
            "privacy": {"epsilon": 10, "adjacency": adjacency},
            "tables": {
                "sales": {"unit": "u", "rows_per_unit": 4, "columns": sales},
                "back": back | {"columns": {"ticket": ID, "item": ID, "y": NUMBER, "n": ID}},
                "note": {
                    "unit": {"join": "back", "on": "n = n"},
                    "rows_per_unit": 2,
                    "columns": {"n": ID, "z": NUMBER},
                },
            },
        }
    )


POLICY = policy_of()
SOURCES = {
    "back": 3,
    "note": 2,
    "sales s JOIN back b ON s.ticket = b.ticket AND s.item = b.item": 3,
    "back b, sales s WHERE b.item = s.item AND s.ticket = b.ticket AND x > 2": 3,
    "sales s LEFT JOIN back b ON s.ticket = b.ticket AND s.item = b.item": 6,
    "(SELECT ticket AS t, item AS i, x FROM sales) s JOIN back b ON s.t = b.ticket AND s.i = b.item": 3,
    "sales s JOIN back b ON s.ticket = b.ticket AND s.item = b.item JOIN note USING (n)": 2,
}
REFUSED = [
    "sales s JOIN back b ON s.ticket = b.ticket",
    "sales s JOIN back b ON s.ticket = b.item AND s.item = b.ticket",
    "sales s JOIN sales t ON s.u = t.u JOIN back b ON s.ticket = b.ticket AND t.item = b.item",
    "back b JOIN (SELECT s.ticket, t.item FROM sales s, sales t WHERE s.u = t.u) q USING (ticket, item)",
    "sales s JOIN back b ON s.ticket = b.ticket AND s.item + 0 = b.item",
]
TWICE = (
    "WITH c AS (SELECT * FROM sales) SELECT COUNT(*) FROM back b JOIN (SELECT s.ticket, t.item FROM c s JOIN c t"
    " ON s.u = t.u) q ON q.ticket = b.ticket AND q.item = b.item"
)


def planned(sql: str, policy: Policy = POLICY) -> Plan:
    return plan(bind(parse(sql), policy, date(2024, 1, 1)), policy, Fraction(1), rows=tableless.tableless())


def tables(chance: random.Random, unique: bool = True) -> dict[str, list[dict[str, Any]]]:
    """Tickets and items that each recur with other persons; only both together are a key, or not even these."""
    places = [(t, i) for t in range(4) for i in range(3)]
    sales = [{"u": chance.randrange(4), "ticket": t, "item": i, "x": chance.randrange(10)} for t, i in places]
    if not unique:
        sales += [dict(row, u=chance.randrange(4)) for row in sales]
    at = [chance.choice([*places, (9, 9), (None, 1)]) for _ in range(30)]
    back = [{"ticket": t, "item": i, "y": chance.randrange(10), "n": n} for n, (t, i) in enumerate(at)]
    return {"sales": sales, "back": back, "note": [{"n": chance.randrange(30), "z": 1} for _ in range(30)]}


def without(rows: dict[str, list[dict[str, Any]]], person: int) -> dict[str, list[dict[str, Any]]]:
    """The database without one person: whose a return is, is what its first sale says."""
    owner = {(row["ticket"], row["item"]): row["u"] for row in reversed(rows["sales"])}
    of_back = {row["n"]: owner.get((row["ticket"], row["item"])) for row in rows["back"]}
    return {
        "sales": [row for row in rows["sales"] if row["u"] != person],
        "back": [row for row in rows["back"] if of_back[row["n"]] != person],
        "note": [row for row in rows["note"] if of_back[row["n"]] != person],
    }


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("source", SOURCES)
def test_neighbours_differ_by_what_is_claimed_along_composite_keys(source: str, adjacency: str) -> None:
    """Also where the key is not unique: what bounds one person are the weights."""
    policy = policy_of(adjacency=adjacency)
    asked = planned(f"SELECT COUNT(*) FROM {source}", policy)
    assert asked.cuts[0].contribution == SOURCES[source]
    check(asked.cuts, policy.privacy.adjacency, asked.event)
    (part,), chance, moved = asked.cuts[0].parts, random.Random(112), 0
    for unique in (True, False):
        for _ in range(5):
            rows = tables(chance, unique)
            for person in range(4):
                one, other = (
                    Reference(policy, there, {}).run(part.job, "salt").sums.get((), (0,))[0]
                    for there in (rows, without(rows, person))
                )
                assert abs(one - other) * part.bundles[0].unit <= part.bundles[0].sensitivity
                moved = max(moved, abs(one - other))
    assert moved


@pytest.mark.parametrize("source", SOURCES)
def test_engines_find_the_person_by_all_parts_of_the_key(source: str) -> None:
    """DuckDB's sums are those of the written meaning."""
    asked, chance, met = planned(f"SELECT COUNT(*) FROM {source}"), random.Random(7), 0
    (part,) = asked.cuts[0].parts
    for _ in range(6):
        rows = tables(chance)
        frames = {name: pd.DataFrame(found).astype("Int64") for name, found in rows.items()}
        engine = DuckDB(POLICY, frames)
        try:
            found = [number for _, sums in engine.run(part.job, {}, "00" * 16).sums for number in sums._sealed]
        finally:
            engine.close()
        meant = Reference(POLICY, rows, {}).run(part.job, "salt").sums.get((), (0,))
        assert found == list(meant)
        met += found[0] > 0
    assert met


@pytest.mark.parametrize("source", REFUSED)
def test_a_part_of_a_key_or_parts_of_two_rows_name_nobody(source: str) -> None:
    with pytest.raises(QueryError, match="different people"):
        planned(f"SELECT COUNT(*) FROM {source}")


def test_two_uses_of_a_with_query_are_two_rows() -> None:
    with pytest.raises(QueryError, match="different people"):
        planned(TWICE)
    planned(TWICE.replace("t.item FROM", "s.item FROM"))


@pytest.mark.parametrize(
    "second", ["c.ticket = b.ticket AND c.item = b.item", "b.item = c.item AND c.ticket = b.ticket"]
)
@pytest.mark.parametrize("where", ["JOIN back b ON {0}", "WHERE EXISTS (SELECT 1 FROM back b WHERE {0})"])
def test_columns_of_two_rows_are_of_two_rows_in_every_use_of_a_with_query(second: str, where: str) -> None:
    """The ticket of one sale and the item of another are no key, however often they are read."""
    for item, shown in (("t.item", False), ("s.item", True)):
        pairs = f"WITH c AS (SELECT s.u, s.ticket, {item} FROM sales s JOIN sales t ON s.u = t.u)"
        for source in ("c", "(SELECT u FROM c GROUP BY u) d JOIN c ON c.u = d.u"):  # read once, and once more
            text = f"{pairs} SELECT COUNT(*) FROM {source} {where.format(second)}"
            if shown:
                planned(text)
            else:
                with pytest.raises(QueryError, match=r"different people|rows of other people"):
                    planned(text)


def test_a_composite_key_that_is_not_unique_is_not_admitted() -> None:
    rows = tables(random.Random(3), unique=False)
    frames = {name: pd.DataFrame(found).astype("Int64") for name, found in rows.items()}
    with pytest.raises(PolicyError, match=r"sales\.item, ticket.*not unique"):
        DuckDB(POLICY, frames)
    frames["sales"] = frames["sales"].assign(ticket=None, u=1).astype("Int64")  # NULL leads to nobody
    DuckDB(POLICY, frames).close()


def test_the_order_of_the_pairs_means_nothing_and_one_pair_is_another_unit() -> None:
    turned, one = policy_of("item = item and ticket = ticket"), policy_of("ticket = ticket")
    assert turned.digest == POLICY.digest != one.digest
    assert units_of(turned.tables) == units_of(POLICY.tables)
    conflict = find_conflict(units_of(POLICY.tables), units_of(one.tables))
    assert conflict is not None
    assert "item = sales.item AND ticket = sales.ticket" in conflict
    assert show_unit(units_of(one.tables)["back"]) == '"ticket = sales.ticket"'
    for wrong in ("ticket = item", "item", "item = nothing"):
        with pytest.raises(PolicyError):
            policy_of(f"ticket = ticket AND {wrong}")


def test_plain_sql_agrees_where_no_bound_cuts() -> None:
    """By an engine that knows nothing of units: each source, with one row for each sale."""
    rows = tables(random.Random(5))
    rows["sales"] = [dict(row, u=number) for number, row in enumerate(rows["sales"])]
    rows["back"] = [dict(row, n=number) for number, row in enumerate(rows["back"][:1] + rows["back"][1:12:4])]
    rows["note"] = [{"n": number, "z": 1} for number in range(4)]
    plain = duckdb.connect()
    for name, found in rows.items():
        plain.register(name, pd.DataFrame(found).astype("Int64"))
    for source in SOURCES:
        if source in ("back", "note"):
            continue  # rows of nobody are not there
        (part,) = planned(f"SELECT COUNT(*) FROM {source}").cuts[0].parts
        sums = Reference(POLICY, rows, {}).run(part.job, "salt").sums.get((), (0,))
        assert sums[0] * part.bundles[0].unit == plain.execute(f"SELECT COUNT(*) FROM {source}").fetchall()[0][0]
