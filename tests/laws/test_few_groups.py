"""Where the policy has no groups_per_unit: a person counts under few undeclared keys, and noise is for these."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

import pytest

from sfumato.engines.reference import Reference
from sfumato.errors import PlanError
from sfumato.policy import FEW_GROUPS, Policy, from_dict, with_bounds
from sfumato.policy.unknown import Unknown
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.claims import check
from sfumato.sql.release.plan import Plan, plan
from tests import tableless

ASKED = [
    "SELECT o, COUNT(*) FROM v GROUP BY o",
    "SELECT o, COUNT(DISTINCT u) FROM v GROUP BY o",
    "SELECT o, COUNT(*), SUM(x) FROM v GROUP BY o",
    "SELECT o, x, COUNT(*) FROM v GROUP BY o, x",
]


def of(adjacency: str = "add-remove", **said: Any) -> Policy:
    columns = {"u": {"type": "integer"}, "o": {"type": "integer"}, "x": {"type": "integer", "min": 0, "max": 2}}
    table = {"unit": "u", "rows_per_unit": 60, "columns": columns} | said
    return from_dict(
        {
            "source": {"engine": "duckdb", "files": {"v": "a", "w": "b"}},
            "data": {"id": "k"},
            "privacy": {"epsilon": 10, "delta": 0.01, "adjacency": adjacency},
            "tables": {"v": table, "w": {"unit": "u", "rows_per_unit": 3, "columns": {"u": {"type": "integer"}}}},
        }
    )


def planned(sql: str, policy: Policy, **more: Any) -> Plan:
    return plan(bind(parse(sql), policy, date(2024, 1, 1)), policy, Fraction(1), rows=tableless.tableless(), **more)


@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("sql", ASKED)
def test_neighbours_differ_in_few_keys(sql: str, adjacency: str, noise: str) -> None:
    """By the written meaning of a job: of a person with fifty keys no more than those that are paid for are touched."""
    policy = of(adjacency)
    asked = planned(sql, policy, noise=noise)
    check(asked.cuts, policy.privacy.adjacency, asked.event)
    (part,) = asked.cuts[0].parts
    assert part.selection is not None
    assert part.selection.keys_per_unit == part.job.limits.keys == FEW_GROUPS
    chance, most = random.Random(111), 0
    for _ in range(3):
        rows = [{"u": u, "o": chance.randrange(60), "x": chance.randrange(3)} for u in range(3) for _ in range(70)]
        for salt in ("a", "b"):
            everybody, others = (
                Reference(policy, {"v": there, "w": []}, {}).run(part.job, salt)
                for there in (rows, [row for row in rows if row["u"]])
            )
            keys = {key[: len(part.chosen)] for key in everybody.sums | others.sums}
            touched = [
                key
                for key in keys
                if {k: s for k, s in everybody.sums.items() if k[0] == key[0]}
                != {k: s for k, s in others.sums.items() if k[0] == key[0]}
            ]
            most = max(most, len(touched))
            for at, released in enumerate(part.bundles):
                change = sum(
                    abs(everybody.sums.get(k, (0,) * 9)[at] - others.sums.get(k, (0,) * 9)[at])
                    for k in everybody.sums | others.sums
                )
                if noise == "geometric":
                    assert change * released.unit <= released.sensitivity
    assert most == FEW_GROUPS


def test_a_selection_for_fewer_keys_than_count_is_refused() -> None:
    policy = of()
    asked = planned(ASKED[2], policy)
    (part,) = asked.cuts[0].parts
    assert part.selection is not None
    short = replace(part, selection=replace(part.selection, keys_per_unit=FEW_GROUPS - 1))
    with pytest.raises(PlanError, match="undeclared keys"):
        check((replace(asked.cuts[0], parts=(short,)),), policy.privacy.adjacency, asked.event)


def kept(policy: Policy, sql: str = ASKED[0], **more: Any) -> int:
    return planned(sql, policy, **more).cuts[0].parts[0].job.limits.keys


def test_what_is_written_holds_and_only_silence_is_few() -> None:
    assert kept(of()) == FEW_GROUPS
    assert kept(of(groups_per_unit=60)) == 60
    assert kept(of(groups_per_unit=7)) == 7
    assert kept(of(rows_per_unit=FEW_GROUPS)) == FEW_GROUPS
    assert kept(of(), rows_per_unit=6) == 6
    assert kept(of(), rows_per_unit=40) == 40  # the analyst says
    assert kept(of(), "SELECT o, COUNT(*) FROM v JOIN w ON v.u = w.u GROUP BY o") == 3 * FEW_GROUPS
    found = with_bounds(of(rows_per_unit="auto"), {Unknown("v"): Fraction(64)})
    assert kept(found) == FEW_GROUPS
    assert found.tables["v"].groups_per_unit is None


def test_different_values_are_as_many_as_rows_where_nothing_is_said() -> None:
    """Leaving values out is a bias that grows with the answer; noise for more of them does not."""
    sql = "SELECT COUNT(DISTINCT o) FROM v"
    assert planned(sql, of()).cuts[0].parts[0].job.different_values == (60,)
    assert planned(sql, of(groups_per_unit=7)).cuts[0].parts[0].job.different_values == (7,)


def test_writing_few_rows_down_as_groups_changes_no_digest() -> None:
    assert of(rows_per_unit=FEW_GROUPS).digest == of(rows_per_unit=FEW_GROUPS, groups_per_unit=FEW_GROUPS).digest
    assert of().digest != of(groups_per_unit=60).digest
