"""Above the cut numbers are computed as they were drawn, and rounded once: totals, windows, ratios, and what is read.

Draws are put in by hand, so that every expected number is a fraction worked out here: nothing depends on chance.
"""

# ruff: noqa: E501  questions stand on one line
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.algebra.job import FINE
from sfumato.algebra.relations import fixed_in
from sfumato.engines.duckdb.finishing import finish
from sfumato.engines.duckdb.relations import reading, select
from sfumato.gateway import Gateway, open_policy
from sfumato.gateway.answer import Answer, Spent, build
from sfumato.gateway.answer_codec import read, write
from sfumato.gateway.released_tables import Draws, ReleasedSet, released_tables
from sfumato.gateway.run_and_sample import draw
from sfumato.sql.release.plan import Plan
from sfumato.sql.release.release_plan import ReleasedBundle
from tests.plans import plan_of

F = Fraction
FREE = Spent(F(0), F(0), F(0))
GROUPS = 1000
POLICY = """
[source]
engine = "duckdb"
files = { t = "t.csv", one = "one.csv", big = "big.csv", side = "side.csv" }
[data]
id = "d"
[privacy]
epsilon = 1e15
composition = "best"
delta = 0.1
[tables.t]
unit = "u"
rows_per_unit = 2
[tables.t.columns]
u = { type = "integer" }
g = { type = "integer", min = 0, max = 999, nulls = false }
c = { values = ["a", "b", "c"], nulls = false }
x = { type = "decimal", min = 0, max = 7, grid = 0.01, nulls = false }
[tables.one]
unit = "u"
rows_per_unit = 1
[tables.one.columns]
u = { type = "integer" }
c = { values = ["a", "b", "c"], nulls = false }
x = { type = "integer", min = 0, max = 7, nulls = false }
[tables.big]
unit = "u"
rows_per_unit = 2
[tables.big.columns]
u = { type = "integer" }
c = { values = ["a", "b", "c"], nulls = false }
x = { type = "decimal", min = 0, max = 3_000_000_000_000_000, grid = 0.0001, nulls = false }
[tables.side]
public = true
[tables.side.columns]
k = { type = "integer", min = 0, max = 999 }
w = { type = "integer", min = 0, max = 9 }
"""


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A thousand persons with three rows each where two count: every row weighs two thirds, rounded down."""
    home: Path = tmp_path_factory.mktemp("rounding")
    rows = [f"{u},{(u + 333 * i) % GROUPS},{'abc'[i]},0.01" for u in range(GROUPS) for i in range(3)]
    tables = {
        "t": ["u,g,c,x", *rows],
        "one": ["u,c,x", "1,a,3"],
        "big": ["u,c,x", "1,a,3"],
        "side": ["k,w", *(f"{k},{k % 10}" for k in range(GROUPS))],
    }
    for name, lines in tables.items():
        (home / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (home / "sfumato.toml").write_text(POLICY, encoding="utf-8")
    with open_policy(home / "sfumato.toml") as opened:
        yield opened


def planned(gate: Gateway, sql: str, epsilon: int = 1, noise: str | None = None) -> Plan:
    return plan_of(gate, sql, epsilon, noise=noise)


def made_up(asked: Plan, size: int = 40, seed: int = 0) -> Draws:
    """Whole numbers of units that nobody drew: about as large as `size`, of either sign, with halves among them."""
    chance = random.Random(seed)

    def cell(released: ReleasedBundle) -> int:
        most = int(size / released.unit)
        number = chance.randint(-most // 8, most)
        return number if chance.random() < 0.8 or released.unit == 1 else (number // FINE) * FINE + FINE // 2

    return tuple(
        tuple(
            ReleasedSet((), tuple(tuple(tuple(cell(r) for _ in r.bundle.parts) for _ in p.groups) for r in p.bundles))
            for p in cut.parts
        )
        for cut in asked.cuts
    )


def answered(gate: Gateway, asked: Plan, draws: Draws) -> Answer:
    return build(
        asked, draws, finish=gate._engine.finish, cost=FREE, remaining=FREE, receipt=None, confidence=F(19, 20)
    )


def drawn(asked: Plan, draws: Draws, cut: int = 0, bundle: int = 0) -> list[Fraction]:
    """The numbers of a bundle of one sum, as they were drawn."""
    unit = asked.cuts[cut].parts[0].bundles[bundle].unit
    return [cell[0] * unit for part in draws[cut] for cell in part.cells[bundle]]


ONE = F(1)


def nearest(value: Fraction, grid: Fraction = ONE) -> Fraction:
    return (value / grid + F(1, 2)) // 1 * grid


def above_zero(value: Fraction) -> Fraction:
    return max(F(0), value)


N = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
S = "SELECT g, SUM(x) AS n FROM t GROUP BY g"
C = "SELECT g, c, COUNT(*) AS n FROM t GROUP BY g, c"
TOTALS: dict[str, tuple[str, Callable[[list[Fraction]], list[Fraction]]]] = {
    "a total": (f"SELECT SUM(n) FROM ({N}) AS s", lambda n: [nearest(sum(n))]),
    "a total of sums": (f"SELECT SUM(n) FROM ({S}) AS s", lambda n: [nearest(sum(n), F(1, 100))]),
    "twice and more": (f"SELECT 2 * SUM(n) + 0.25 FROM ({N}) AS s", lambda n: [nearest(2 * sum(n) + F(1, 4), F(1, 4))]),
    "groups of groups": (f"SELECT c, SUM(n) FROM ({C}) AS s GROUP BY c", lambda n: [nearest(sum(n[i::3])) for i in range(3)]),
    "subtotals": (f"SELECT c, SUM(n) FROM ({C}) AS s GROUP BY ROLLUP (c)", lambda n: [*(nearest(sum(n[i::3])) for i in range(3)), nearest(sum(n))]),
    "totals of totals": (f"SELECT SUM(m) FROM (SELECT c, SUM(n) AS m FROM ({C}) AS s GROUP BY c) AS r", lambda n: [nearest(sum(n))]),
    "a window": (f"SELECT g, n, SUM(n) OVER () FROM ({N}) AS s LIMIT 1", lambda n: [nearest(sum(n))]),
    "a window by keys": (f"SELECT g, c, SUM(n) OVER (PARTITION BY c) FROM ({C}) AS s LIMIT 3", lambda n: [nearest(sum(n[i::3])) for i in range(3)]),
    "a running total": ("SELECT g, COUNT(*), SUM(COUNT(*)) OVER (ORDER BY g) FROM t GROUP BY g", lambda n: [nearest(sum(n[: i + 1])) for i in range(GROUPS)]),
    "a moving total": (f"SELECT SUM(n) OVER (ORDER BY g ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) FROM ({N}) AS s", lambda n: [nearest(sum(n[max(0, i - 6) : i + 1])) for i in range(GROUPS)]),
    "a change": (f"SELECT n - LAG(n) OVER (ORDER BY g) FROM ({N}) AS s OFFSET 1", lambda n: [nearest(b - a) for a, b in pairwise(n)]),
    "a first value": (f"SELECT n - FIRST_VALUE(n) OVER (ORDER BY g) FROM ({N}) AS s", lambda n: [nearest(b - n[0]) for b in n]),
    "what a condition leaves": (f"SELECT SUM(n) FROM ({N}) AS s WHERE n > 20", lambda n: [nearest(sum(x for x in n if nearest(x) > 20))]),
    "a filter": (f"SELECT SUM(n) FILTER (WHERE n > 20) FROM ({N}) AS s", lambda n: [nearest(sum(x for x in n if nearest(x) > 20))]),
    "a case": (f"SELECT SUM(CASE WHEN n > 20 THEN n ELSE 1 END) FROM ({N}) AS s", lambda n: [nearest(sum(x if nearest(x) > 20 else 1 for x in n))]),
    "no nothing": (f"SELECT SUM(NULLIF(n, 3)), COUNT(NULLIF(n, 3)) FROM ({N}) AS s", lambda n: [F(sum(nearest(x) != 3 for x in n))]),
    "a cap": (f"SELECT SUM(LEAST(n, 20)) FROM ({N}) AS s", lambda n: [nearest(sum(min(x, F(20)) for x in n))]),
    "stages": (f"WITH s AS ({N}), r AS (SELECT g, n + 1 AS m FROM s WHERE g < 500) SELECT SUM(m) FROM r", lambda n: [nearest(sum(n[:500]) + 500)]),
    "the first ones": ("SELECT SUM(n) FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g ORDER BY g LIMIT 300) AS s", lambda n: [nearest(sum(n[:300]))]),
    "a table beside": (f"SELECT SUM(n * w) FROM ({N}) AS s JOIN side ON k = g", lambda n: [nearest(sum(x * (i % 10) for i, x in enumerate(n)))]),
    "a product": (f"SELECT n * n FROM ({N}) AS s", lambda n: [nearest(x * x) for x in n]),
    "a rounding of one's own": (f"SELECT ROUND(SUM(n) * 0.1) FROM ({N}) AS s", lambda n: [nearest(sum(n) / 10)]),
    "under one another": (f"SELECT SUM(n) FROM (SELECT g, n FROM ({N}) AS s UNION ALL SELECT g, n FROM ({S}) AS r) AS q", lambda n: [nearest(sum(n), F(1, 100))]),
    "outer": (f"WITH s AS ({N}) SELECT SUM(COALESCE(a.n, 0)) FROM side LEFT JOIN s AS a ON a.g = k + 500", lambda n: [nearest(sum(n[500:]))]),
}  # fmt: skip


@pytest.mark.parametrize("name", TOTALS)
def test_a_total_is_rounded_once(gate: Gateway, name: str) -> None:
    """The last column is what was drawn, added up, and then rounded to the grid of its type."""
    sql, wanted = TOTALS[name]
    asked = planned(gate, sql)
    draws = made_up(asked)
    numbers = [number for cut in range(len(asked.cuts)) for number in drawn(asked, draws, cut)]
    assert [F(row[-1]) for row in answered(gate, asked, draws).rows] == wanted(numbers)


def test_a_mean_and_a_ratio_are_of_what_was_drawn(gate: Gateway) -> None:
    asked = planned(gate, f"SELECT AVG(n), VAR_POP(n), SUM(n) / COUNT(*), SUM(n)::float FROM ({N}) AS s")
    draws = made_up(asked)
    n = drawn(asked, draws)
    mean = sum(n) / len(n)
    (row,) = answered(gate, asked, draws).rows
    wanted = [mean, sum((x - mean) ** 2 for x in n) / len(n), mean, sum(n)]
    assert [float(value) for value in row] == pytest.approx([float(value) for value in wanted], rel=1e-11)
    asked = planned(
        gate, "SELECT 100.0 * COUNT(*) FILTER (WHERE c = 'a') / NULLIF(COUNT(c), 0), COUNT(c) FROM t GROUP BY g"
    )
    draws = made_up(asked)
    a, n = drawn(asked, draws), drawn(asked, draws, bundle=1)
    found = answered(gate, asked, draws).rows
    assert sum(nearest(x) == 0 for x in n) > 5
    for (ratio, _), x, y in zip(found, a, n, strict=True):
        assert ratio is None if nearest(y) == 0 else float(ratio) == pytest.approx(float(100 * x / y), rel=1e-11)


def test_what_is_read_is_what_is_shown(gate: Gateway) -> None:
    """Conditions, orders, keys and whole division take the number that a column shows, before it is held to zero."""
    base = planned(gate, f"SELECT g, n, 1 - n FROM ({N}) AS s")
    draws = made_up(base)
    shown = {int(g): 1 - int(turned) for g, _, turned in answered(gate, base, draws).rows}
    n = {g: nearest(x) for g, x in enumerate(drawn(base, draws))}
    assert sum(shown[g] != n[g] for g in n) < GROUPS / 4  # 1 - n is rounded by itself: halves go the other way
    assert [int(m) for _, m, _ in answered(gate, base, draws).rows] == [above_zero(x) for x in n.values()]

    def rows(sql: str) -> list[tuple[Any, ...]]:
        asked = planned(gate, sql)
        assert asked.digest == base.digest
        return answered(gate, asked, draws).rows

    assert [g for (g,) in rows("SELECT g FROM t GROUP BY g HAVING COUNT(*) > 10")] == [g for g in n if n[g] > 10]
    assert [g for (g,) in rows("SELECT g FROM t GROUP BY g HAVING COUNT(*) = 10")] == [g for g in n if n[g] == 10]
    assert [g for (g,) in rows(f"SELECT g FROM ({N}) AS s WHERE n IN (SELECT k FROM side)")] == [
        g for g in n if n[g] >= 0
    ]
    assert [g for (g,) in rows(f"SELECT g FROM ({N}) AS s WHERE n + 1 = 11")] == [g for g in n if n[g] == 10]
    assert [g for g, _ in rows(f"SELECT g, n FROM ({N}) AS s ORDER BY n DESC, g")] == sorted(
        n, key=lambda g: (-n[g], g)
    )
    assert [r for _, r in rows(f"SELECT g, RANK() OVER (ORDER BY n) FROM ({N}) AS s")] == [
        1 + sum(m < n[g] for m in n.values()) for g in n
    ]
    assert {int(m): int(k) for m, k in rows(f"SELECT n + 0, COUNT(*) FROM ({N}) AS s GROUP BY n + 0")} == {
        m: list(n.values()).count(m) for m in n.values()
    }
    assert [int(m) for (m,) in rows(f"SELECT DISTINCT n + 0 FROM ({N}) AS s ORDER BY 1")] == sorted(set(n.values()))
    assert [int(m) for (m,) in rows(f"SELECT COUNT(DISTINCT n) FROM ({N}) AS s")] == [len(set(n.values()))]
    assert [(int(a), int(b)) for a, b in rows(f"SELECT n / 7, n % 7 FROM ({N}) AS s")] == [
        (int(m / 7), m - 7 * int(m / 7)) for m in n.values()
    ]
    assert [int(m) for (m,) in rows(f"SELECT FLOOR(n * 0.1) FROM ({N}) AS s")] == [
        nearest(x / 10, F(1, 10)) // 1 for x in drawn(base, draws)
    ]
    assert [int(m) for (m,) in rows(f"SELECT MAX(n) FROM ({N}) AS s")] == [max(n.values())]
    assert [m for (m,) in rows(f"SELECT CAST(n AS TEXT) FROM ({N}) AS s")] == [str(m) for m in n.values()]
    kept = rows(f"SELECT n + 0 FROM ({N}) AS s EXCEPT SELECT k FROM side")
    assert {int(m) for (m,) in kept} == {m for m in n.values() if m < 0}


def test_types_stay_what_they_were(gate: Gateway) -> None:
    asked = planned(
        gate,
        "SELECT COUNT(*), COUNT(*) + COUNT(*), 2 * COUNT(*), -COUNT(*), COUNT(*) / 2, SUM(x), COUNT(*) * 1.5, COUNT(*)::float FROM t",
    )
    answer = answered(gate, asked, made_up(asked))
    assert answer.types == ("bigint",) * 5 + ("numeric",) * 3
    assert [type(value) for value in answer.rows[0]] == [int] * 5 + [Decimal] * 3


@pytest.mark.parametrize("sql", [
    "SELECT SUM(n) FROM (SELECT c, COUNT(*) AS n FROM one GROUP BY c) AS s",
    "SELECT SUM(n) FROM (SELECT c, COUNT(DISTINCT u) AS n FROM one GROUP BY c) AS s",
    "SELECT c, COUNT(*) FROM t GROUP BY c HAVING COUNT(*) > 3 ORDER BY 2",
])  # fmt: skip
def test_what_needs_no_fine_column_has_none(gate: Gateway, sql: str) -> None:
    """Whole numbers of persons, and columns that are only read, are asked of the engine as they ever were."""
    reads = finish(planned(gate, sql).question.post_processing).reads
    assert not any(name.endswith("~") for names in reads.values() for name in names)


@pytest.mark.parametrize("name", ["one", "t"])
def test_numbers_of_several_sums_are_rounded_far_below_a_step(gate: Gateway, name: str) -> None:
    """COUNT and SUM beside AVG come of two noisy sums: fractions of any kind, held within 2^-21 of a step each."""
    asked = planned(
        gate,
        f"SELECT SUM(m) * 1000, SUM(n) * 1000 FROM (SELECT c, COUNT(x) AS m, SUM(x) AS n, AVG(x) AS a FROM {name} GROUP BY c) AS s",
    )
    draws = made_up(asked)
    unit = asked.cuts[0].parts[0].bundles[0].unit
    ends = [(a * unit, b * unit) for a, b in draws[0][0].cells[0]]
    count, total = sum(a + b for a, b in ends) / 7, sum(7 * a for a, _ in ends) / 7
    (found,) = answered(gate, asked, draws).rows
    assert abs(F(found[0]) - 1000 * count) <= F(1, 2) + F(3000, 2 * FINE)
    assert abs(F(found[1]) - 1000 * total) <= (F(1, 2) + F(3000, 2 * FINE)) * (1 if name == "one" else F(1, 100))


def test_numbers_that_hardly_fit_are_held_less_finely(gate: Gateway) -> None:
    """Nearly 65 bits a row: no overflow, also of a total of numbers as large as two to the fortieth such rows."""
    asked = planned(
        gate, "SELECT SUM(n), MAX(n) - MIN(n), AVG(n) FROM (SELECT c, SUM(x) AS n FROM big GROUP BY c) AS s"
    )
    (released,) = asked.cuts[0].parts[0].bundles
    grid, most = F(1, 10_000), 3 * 10**15 << 40
    assert released.unit == grid / FINE
    cells = (most * 10_000 * FINE, (most - 1) * 10_000 * FINE, most * 10_000 * FINE + 9 * FINE // 8)
    total, spread, mean = answered(gate, asked, ((ReleasedSet((), (tuple((cell,) for cell in cells),)),),)).rows[0]
    assert F(total) == 3 * most - 1 + grid
    assert F(spread) == 1 + grid
    assert float(mean) == pytest.approx(most)


def test_products_do_not_outgrow_the_engine(gate: Gateway) -> None:
    """Three counts of ten millions; and SUM over a thousand products of two sums of ten thousand millions."""
    asked = planned(gate, "SELECT COUNT(*) * COUNT(*) * COUNT(*) FROM t")
    assert answered(gate, asked, ((ReleasedSet((), (((10**7 * FINE + 1,),),)),),)).rows == [
        (pytest.approx(10**21, rel=1e-12),)
    ]
    asked = planned(gate, f"SELECT SUM(n * n) FROM ({S}) AS s")
    many: Draws = ((ReleasedSet((), (((10**12 * FINE + 1,),) * GROUPS,)),),)
    ((found,),) = answered(gate, asked, many).rows
    assert float(found) == pytest.approx(GROUPS * 1e20, rel=1e-12)


def read_by_a_later_stage(asked: Plan) -> set[str]:
    """The released columns that the second release reads."""
    with reading() as reads:
        for fixed in fixed_in(asked.cuts[1].release.below):
            select(fixed.below, fixed.columns)
    return {name for names in reads.values() for name in names}


def test_a_later_stage_reads_what_is_shown_and_adds_what_was_drawn(gate: Gateway) -> None:
    """A condition below the cut is about shown numbers, in the words that it ever had; a total there is rounded once."""
    shown = planned(gate, f"SELECT COUNT(*) FROM t WHERE g IN (SELECT g FROM ({N}) AS s WHERE n > 10)")
    assert not any(name.endswith("~") for name in read_by_a_later_stage(shown))
    asked = planned(gate, f"SELECT COUNT(*) FROM one WHERE x * 100 < (SELECT SUM(n) FROM ({N}) AS s)")
    first = asked.cuts[0]
    assert any(name.endswith("~") for name in read_by_a_later_stage(asked))
    half = FINE // 2  # a thousand halves make 500; rounded one by one they would be 1000
    there: Draws = ((ReleasedSet((), (((half,),) * GROUPS,)),),)
    (table,) = released_tables((first,), there)
    fine = [table.values(name) for name in table.kinds if name.endswith("~")]
    assert [sum(values) for values in fine] == [half * GROUPS]


def test_stored_numbers_are_those_of_the_law(gate: Gateway) -> None:
    """What the ledger keeps are whole numbers as they were drawn: one question's total is another's sum of groups."""
    asked = planned(gate, f"SELECT SUM(n) FROM ({C}) AS s", 10**9)
    draws = draw(gate._engine, asked)
    again = planned(gate, C, 10**9)
    assert again.digest == asked.digest
    kept = read(write(draws, again.layout), again)
    assert kept == draws
    ((total,),) = answered(gate, asked, draws).rows
    assert F(total) == nearest(sum(drawn(again, kept)))
    assert F(total) == 2 * GROUPS
    assert sum(n for *_, n in answered(gate, again, kept).rows) == 3 * GROUPS  # two thirds each, shown as one


def kinds(value: Any) -> Any:
    return tuple(kinds(part) for part in value) if isinstance(value, tuple) else type(value)


def test_what_is_written_is_what_was_drawn(tmp_path: Path) -> None:
    """Open keys of every type, with NULL, and numbers of many digits: a fresh answer is told from memory, a stored one from here."""
    lines = [
        "u,k,i,d,w,b",
        *(
            f"{u},key {u % 2},{u % 3 - 1},{u % 2}.25,2024-01-0{1 + u % 2},{'true' if u % 2 else 'false'}"
            for u in range(99)
        ),
    ]
    (tmp_path / "t.csv").write_text(
        "\n".join([*lines, *(f"{u},,,,," for u in range(100, 150))]) + "\n", encoding="utf-8"
    )
    columns = 'u = {type = "integer"}\nk = {type = "text", max_length = 9}\ni = {type = "integer"}\nd = {type = "decimal"}\nw = {type = "date"}\nb = {type = "boolean"}'
    (tmp_path / "sfumato.toml").write_text(
        '[source]\nengine = "duckdb"\nfiles = { t = "t.csv" }\n[data]\nid = "d"\n[privacy]\nepsilon = 1e12\ndelta = 0.1\nquery_delta = 1e-3\n'
        f'[tables.t]\nunit = "u"\nrows_per_unit = 2\n[tables.t.columns]\n{columns}\n', encoding="utf-8")  # fmt: skip
    with open_policy(tmp_path / "sfumato.toml") as gate:
        for key in ("k", "i", "ROUND(d, 2)", "w", "b", "k, w, i", "w + INTERVAL '1 hour'"):
            asked = planned(
                gate, f"SELECT {key}, COUNT(*), AVG(1 + LEAST(GREATEST(i, 0), 3)) FROM t GROUP BY {key}", 10
            )
            drawn_now = draw(gate._engine, asked)
            assert len(drawn_now[0][0].cells[0]) >= 3, key
            again = read(write(drawn_now, asked.layout), asked)
            assert (again, kinds(again[0][0].keys), kinds(again[0][0].cells)) == (
                drawn_now,
                kinds(drawn_now[0][0].keys),
                kinds(drawn_now[0][0].cells),
            )
            big = ((ReleasedSet(drawn_now[0][0].keys, (((10**40, -(10**40)),),)),),)
            assert read(write(big, None), replace(asked, layout=None)) == big


def test_the_interval_of_a_total_covers_and_is_about_the_shown_number(gate: Gateway) -> None:
    """A thousand weighted counts with noise far below one: what is shown is the middle, rounded; misses are as rare as said.

    The noise is that of the plan, from a source with a seed. Rounded group by group, the totals would be 333 off.
    """
    sql = "SELECT g, COUNT(*), SUM(COUNT(*)) OVER (ORDER BY g) FROM t GROUP BY g ORDER BY g DESC LIMIT 1"
    asked = planned(gate, sql, 100)
    (released,) = asked.cuts[0].parts[0].bundles
    chance, weight = np.random.default_rng(11), 2 * FINE // 3
    rate = -np.expm1(-float(released.unit / released.scale))
    exact, misses, runs = [3 * weight] * GROUPS, 0, 60
    truth = F(3 * weight * GROUPS, FINE)
    for _ in range(runs):
        noise = chance.geometric(rate, GROUPS) - chance.geometric(rate, GROUPS)
        draws: Draws = ((ReleasedSet((), (tuple((e + int(z),) for e, z in zip(exact, noise, strict=True)),)),),)
        answer = answered(gate, asked, draws)
        (low, high), middle = answer.intervals()[0][2], sum(drawn(asked, draws))  # type: ignore[misc]
        assert F(answer.rows[0][2]) == nearest(middle)
        assert F(low) <= F(answer.rows[0][2]) <= F(high)
        assert F(low) + F(high) - 2 * middle <= 2
        misses += not F(low) <= truth <= F(high)
    assert misses <= 0.05 * runs + 5 * (0.05 * 0.95 * runs) ** 0.5


CN = "SELECT c, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY c"
TOLD: dict[str, tuple[str, Callable[[list[Fraction], list[Fraction]], list[Fraction]]]] = {
    "a total": (f"SELECT SUM(n) FROM ({CN}) AS q", lambda n, _: [sum(n, F(0))]),
    "totals of groups": (f"SELECT c, SUM(n), SUM(s) FROM ({CN}) AS q GROUP BY c", lambda _, s: s),
    "a ratio of totals": (f"SELECT SUM(s) / SUM(n) FROM ({CN}) AS q", lambda n, s: [sum(s) / sum(n)]),
    "a share": (f"SELECT c, s, 100.0 * n / SUM(n) OVER () FROM ({CN}) AS q", lambda n, _: [100 * x / sum(n) for x in n]),
    "the others": (f"SELECT c, s, SUM(n) OVER () - n FROM ({CN}) AS q", lambda n, _: [sum(n) - x for x in n]),
    "the odds": (f"SELECT c, s, n * 1.0 / (SUM(n) OVER () - n) FROM ({CN}) AS q", lambda n, _: [x / (sum(n) - x) for x in n]),
    "ratios as they run": (f"SELECT c, SUM(s) OVER (ORDER BY c) / SUM(n) OVER (ORDER BY c) FROM ({CN}) AS q", lambda n, s: [sum(s[: i + 1]) / sum(n[: i + 1]) for i in range(3)]),
}  # fmt: skip


@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
@pytest.mark.parametrize("name", TOLD)
def test_intervals_of_totals_hold_what_they_promise(gate: Gateway, name: str, noise: str) -> None:
    """Misses are as rare as said, at nine tenths and at one half; and half a chance is missed often enough to be no waste."""
    sql, truth = TOLD[name]
    asked = planned(gate, sql, noise=noise)
    chance, n, s = np.random.default_rng(5), [F(200), F(400), F(300)], [F(900), F(1100), F(1300)]
    bundles = asked.cuts[0].parts[0].bundles
    exact, wanted = [n, s][: len(bundles)], truth(n, s)
    runs, misses = 50, dict.fromkeys((F(9, 10), F(1, 2)), 0)
    for _ in range(runs):
        cells = []
        for released, numbers in zip(bundles, exact, strict=True):
            drawn_noise = noisy(chance, released, len(numbers))
            cells.append(tuple((int(x / released.unit) + z,) for x, z in zip(numbers, drawn_noise, strict=True)))
        answer = answered(gate, asked, ((ReleasedSet((), tuple(cells)),),))
        for sure in misses:
            ends = [row[-1] for row in answer.intervals(sure)]
            assert None not in ends
            misses[sure] += sum(not F(low) <= x <= F(high) for (low, high), x in zip(ends, wanted, strict=True))  # type: ignore[misc]
    for sure, missed in misses.items():
        allowed = float(1 - sure) * runs * len(wanted)
        most = allowed + 5 * (allowed * len(wanted)) ** 0.5  # the rows of one answer are not independent
        assert missed <= most, sure
    # one sum of draws has its exact law, and ends are rounded outward; of ratios the bound is Chernoff's
    assert misses[F(1, 2)] >= (0.2 if "/" not in sql else 0.01) * runs * len(wanted)


def noisy(chance: np.random.Generator, released: ReleasedBundle, count: int) -> list[int]:
    """Noise of the stated law, or the Gaussian one nearest to it, from a source with a seed."""
    if released.noise == "gaussian":
        return [round(z) for z in chance.normal(0, float(released.scale) ** 0.5 / float(released.unit), count)]
    rate = -np.expm1(-float(released.unit / released.scale))
    return (chance.geometric(rate, count) - chance.geometric(rate, count)).tolist()


@pytest.mark.parametrize("sql", [
    f"SELECT SUM(n) OVER (ORDER BY n) FROM ({CN}) AS q",
    f"SELECT SUM(n) OVER (PARTITION BY s) FROM ({CN}) AS q",
    f"SELECT SUM(n) FROM (SELECT n FROM ({CN}) AS q ORDER BY s LIMIT 2) AS r",
    f"SELECT SUM(n) FROM (SELECT DISTINCT n FROM ({CN}) AS q) AS r",
    f"SELECT n, SUM(s) FROM ({CN}) AS q GROUP BY n",
    f"SELECT n % 7 FROM ({CN}) AS q",
    f"SELECT STDDEV_POP(n) FROM ({CN}) AS q",
    f"SELECT n FROM ({CN}) AS q EXCEPT SELECT k + 5000 FROM side",
    f"SELECT RANK() OVER (ORDER BY n) FROM ({CN}) AS q",
    f"SELECT n - LAG(n) OVER (ORDER BY s) FROM ({CN}) AS q",
])  # fmt: skip
def test_totals_whose_noise_is_not_known_have_no_interval(gate: Gateway, sql: str) -> None:
    """Noise that decided which rows are there, or in which order they stand: cannot tell, and a note says so."""
    asked = planned(gate, sql)
    answer = answered(gate, asked, made_up(asked))
    assert not any(answer.noisy)
    assert {name for name, text in answer.notes if text.startswith("no interval: ")} == set(answer.columns)
    assert {ends for row in answer.intervals() for ends in row} == {None}


def test_a_total_that_an_outer_join_did_not_find_has_no_interval(gate: Gateway) -> None:
    sql = f"WITH q AS (SELECT g, SUM(n) AS m FROM ({C}) AS s WHERE g < 999 GROUP BY g) SELECT k, m FROM side LEFT JOIN q ON q.g = k + 998"
    asked = planned(gate, sql.replace(" WHERE g < 999", ""))
    answer = answered(gate, asked, made_up(asked))
    assert [ends is None for _, ends in answer.intervals()] == [m is None for _, m in answer.rows]
    assert sum(m is None for _, m in answer.rows) == GROUPS - 2
