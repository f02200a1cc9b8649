"""Every number above the cut has an interval that holds what it promises, or honestly none.

What SQL gives of the exact sums is the truth; noise of the stated law comes from a source with a seed. Groups are
independent, so that misses are counted against the exact binomial law, with a chance of a wrong verdict below 1e-9.
"""

# ruff: noqa: E501  questions stand on one line
from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.gateway import Gateway, open_policy
from sfumato.gateway.answer import Answer, Spent, build
from sfumato.gateway.released_tables import Draws, ReleasedSet
from sfumato.gateway.run_and_sample import draw
from sfumato.sql.release.plan import Plan
from sfumato.sql.release.release_plan import ReleasedBundle
from tests.plans import plan_of

F = Fraction
FREE = Spent(F(0), F(0), F(0))
GROUPS = 60
EXACT, NOISY = 10**12, F(1, 8)
POLICY = """
[source]
engine = "duckdb"
files = { t = "t.csv", side = "side.csv" }
[data]
id = "d"
[privacy]
epsilon = 1e15
composition = "best"
delta = 0.1
[tables.t]
unit = "u"
rows_per_unit = 1
[tables.t.columns]
u = { type = "integer" }
g = { type = "integer", min = 0, max = 59, nulls = false }
c = { values = ["a", "b", "c"], nulls = false }
x = { type = "integer", min = 0, max = 10, nulls = false }
y = { type = "integer", min = -5, max = 5, nulls = false }
[tables.side]
public = true
[tables.side.columns]
k = { type = "integer", min = 0, max = 999 }
w = { type = "integer", min = 0, max = 9 }
"""


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    home: Path = tmp_path_factory.mktemp("told")
    chance = random.Random(3)
    rows = []
    for u in range(GROUPS * 3 * 150):
        g, x = u % GROUPS, chance.randint(0, 10)
        y = max(-5, min(5, x // 2 - 2 + chance.randint(-1, 2)))
        rows.append(f"{u},{g},{'abc'[u // GROUPS % 3]},{x},{y}")
    (home / "t.csv").write_text("\n".join(["u,g,c,x,y", *rows]) + "\n", encoding="utf-8")
    side = [f"{k},{k % 10}" for k in range(2 * GROUPS)]
    (home / "side.csv").write_text("\n".join(["k,w", *side]) + "\n", encoding="utf-8")
    (home / "sfumato.toml").write_text(POLICY, encoding="utf-8")
    with open_policy(home / "sfumato.toml") as opened:
        yield opened


def planned(gate: Gateway, sql: str, epsilon: int | Fraction, noise: str | None = None) -> Plan:
    return plan_of(gate, sql, epsilon, noise=noise)


def answered(gate: Gateway, asked: Plan, draws: Draws) -> Answer:
    return build(
        asked, draws, finish=gate._engine.finish, cost=FREE, remaining=FREE, receipt=None, confidence=F(19, 20)
    )


def noise_of(chance: np.random.Generator, released: ReleasedBundle, count: int) -> list[int]:
    """Noise of the stated law, or the Gaussian one nearest to it."""
    if released.noise == "gaussian":
        return [round(z) for z in chance.normal(0, float(released.scale) ** 0.5 / float(released.unit), count)]
    rate = -np.expm1(-float(released.unit / released.scale))
    return (chance.geometric(rate, count) - chance.geometric(rate, count)).tolist()


def with_noise(asked: Plan, exact: Draws, chance: np.random.Generator) -> Draws:
    made = []
    for cut, drawn in zip(asked.cuts, exact, strict=True):
        parts = []
        for part, found in zip(cut.parts, drawn, strict=True):
            cells = []
            for released, groups in zip(part.bundles, found.cells, strict=True):
                width = len(groups[0])
                noise = iter(noise_of(chance, released, len(groups) * width))
                cells.append(tuple(tuple(cell + next(noise) for cell in group) for group in groups))
            parts.append(ReleasedSet(found.keys, tuple(cells)))
        made.append(tuple(parts))
    return tuple(made)


def too_many(samples: int, miss: Fraction) -> int:
    """The least number of misses that happens with a chance below 1e-10 where each has at most this chance."""
    least, tail = samples + 1, F(0)
    while least > 0:
        tail += comb(samples, least - 1) * miss ** (least - 1) * (1 - miss) ** (samples - least + 1)
        if tail > F(1, 10**10):
            return least
        least -= 1
    return 0


N = "SELECT g, COUNT(*) AS n, COUNT(*) FILTER (WHERE c = 'a') AS m FROM t GROUP BY g"
C = "SELECT g, c, COUNT(*) AS n FROM t GROUP BY g, c"
KINDS: dict[str, str] = {
    "behind UNION ALL": f"SELECT g, n FROM ({N}) AS q UNION ALL SELECT 100 + g, m FROM ({N}) AS q",
    "a total behind UNION ALL": f"SELECT g, SUM(v) FROM (SELECT g, n AS v FROM ({N}) AS q UNION ALL SELECT g, 2 * n FROM ({C}) AS r) AS u GROUP BY g",
    "behind UNION": f"SELECT g, n FROM ({N}) AS q WHERE g < 30 UNION SELECT 100 + g, m FROM ({N}) AS q",
    "a second use": f"WITH q AS ({N}) SELECT a.g, b.n FROM q AS a JOIN q AS b ON b.g = (a.g + 1) % 60",
    "two uses as one": f"WITH q AS ({N}) SELECT a.g, a.n + b.n FROM q AS a JOIN q AS b ON b.g = a.g",
    "subtotals": f"SELECT g, SUM(n) FROM ({C}) AS q GROUP BY GROUPING SETS ((g))",
    "a cube": f"SELECT g, c, SUM(n) FROM ({C}) AS q GROUP BY CUBE (g, c) HAVING g IS NOT NULL AND c IS NOT NULL",
    "a rollup": f"SELECT g, c, SUM(n) FROM ({C}) AS q GROUP BY ROLLUP (g, c) HAVING g IS NOT NULL AND c IS NULL",
    "sets below the cut": "SELECT g, SUM(n) FROM (SELECT g, c, COUNT(*) AS n FROM t GROUP BY GROUPING SETS ((g, c), (g))) AS q GROUP BY g",
    "a filtered total": f"SELECT g, SUM(n) FILTER (WHERE c <> 'a') FROM ({C}) AS q GROUP BY g",
    "a total of chosen keys": f"SELECT g, SUM(n) FROM ({C}) AS q WHERE c IN ('a', 'b') GROUP BY g",
    "a weighted total": f"SELECT g, SUM(n * w) FROM ({C}) AS q JOIN side ON k = g + CASE WHEN c = 'a' THEN 1 ELSE 2 END GROUP BY g",
    "a mean of groups": f"SELECT g, AVG(n) FROM ({C}) AS q GROUP BY g",
    "a choice by keys": f"SELECT g, CASE WHEN g % 2 = 0 THEN n WHEN g > 30 THEN m - 1 ELSE 2 * m END FROM ({N}) AS q",
    "a choice by noise": f"SELECT g, CASE WHEN n > 455 THEN n ELSE m END FROM ({N}) AS q",
    "at least": f"SELECT g, GREATEST(n - 400, 0) FROM ({N}) AS q",
    "a size": f"SELECT g, ABS(n - 450) FROM ({N}) AS q",
    "rounded": f"SELECT g, ROUND(n / 7.0, 1) FROM ({N}) AS q",
    "a floor": f"SELECT g, FLOOR(n * 0.3) FROM ({N}) AS q",
    "a whole quotient": f"SELECT g, -n / 3 FROM ({N}) AS q",
    "a whole number": f"SELECT g, (n * 0.7)::int FROM ({N}) AS q",
    "what is missing": f"WITH q AS ({N}) SELECT k, COALESCE(n, 0) FROM side LEFT JOIN q ON g = k WHERE k < 60",
    "a root": f"SELECT g, SQRT(n) FROM ({N}) AS q",
    "a logarithm": f"SELECT g, LN(n) FROM ({N}) AS q",
    "a power": f"SELECT g, POWER(n, 2) FROM ({N}) AS q",
    "growth": f"SELECT g, EXP(-n / 400.0) FROM ({N}) AS q",
    "a product": f"SELECT g, n * m FROM ({N}) AS q",
    "a neighbour": f"SELECT * FROM (SELECT g, n - LAG(n) OVER (ORDER BY g) FROM ({N}) AS q) AS r WHERE g % 2 = 1",
    "a moving total": f"SELECT * FROM (SELECT g, SUM(n) OVER (ORDER BY g ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM ({N}) AS q) AS r WHERE g % 3 = 2",
    "the most of many": f"SELECT c, MAX(n) FROM ({C}) AS q GROUP BY c",
    "the most": f"SELECT g, MAX(n) FROM ({C}) AS q GROUP BY g",
    "a share of a sub-query": f"WITH q AS ({C}) SELECT g, n * 1.0 / (SELECT SUM(r.n) FROM q AS r WHERE r.g = q.g) FROM q WHERE c = 'a'",
    "totals that overlap": f"SELECT * FROM (SELECT g, c, SUM(n) OVER (PARTITION BY g) - SUM(n) OVER (PARTITION BY g, c) FROM ({C}) AS q) AS r WHERE c = 'b'",
    "the one before": f"SELECT * FROM (SELECT g, COALESCE(LAG(COALESCE(n, 5)) OVER (ORDER BY g), 7) FROM ({N}) AS q) AS r",
    "who was not found": f"WITH q AS (SELECT g, COALESCE(n, 3) AS v FROM ({N}) AS s WHERE g < 30) SELECT k, COALESCE(v, 9) FROM side LEFT JOIN q ON g = k WHERE k < 60",
    "a sum of squares": f"SELECT g, SUM(v) FROM (SELECT g, n * n AS v FROM ({C}) AS q) AS r GROUP BY g",
}  # fmt: skip
SELECTED: dict[str, str] = {
    "a sum of what passes": f"SELECT g, SUM(n) FROM ({C}) AS q WHERE n > 155 OR c = 'a' GROUP BY g",
    "a sum of what surely passes": f"SELECT g, SUM(n) FROM ({C}) AS q WHERE n > 60 GROUP BY g",
    "a sum under a noisy FILTER": f"SELECT g, SUM(n) FILTER (WHERE n > 60 AND c <> 'b') FROM ({C}) AS q GROUP BY g",
    "how many pass": f"SELECT g, COUNT(*) FROM ({C}) AS q WHERE n > 149 OR c = 'a' GROUP BY g",
    "how many pass a FILTER": f"SELECT g, COUNT(c) FILTER (WHERE n >= 150), COUNT(CASE WHEN n < 150 THEN 1 END) FROM ({C}) AS q GROUP BY g",
    "a mean of what passes": f"SELECT g, AVG(n) FROM ({C}) AS q WHERE n <= 155 OR c = 'b' GROUP BY g",
    "the most of what passes": f"SELECT g, MAX(n) FROM ({C}) AS q WHERE n < 155 OR c = 'c' GROUP BY g",
    "the least of what passes": f"SELECT g, MIN(n) FILTER (WHERE n < 155 OR c = 'c') FROM ({C}) AS q GROUP BY g",
    "CASE without ELSE": f"SELECT g, SUM(CASE WHEN n > 60 THEN n END) FROM ({C}) AS q GROUP BY g",
    "HAVING below a total": "SELECT g, SUM(n) FROM (SELECT g, c, COUNT(*) AS n FROM t GROUP BY g, c HAVING COUNT(*) > 60) AS q GROUP BY g",
    "a share of what passes": f"SELECT g, SUM(n) FILTER (WHERE n > 60 AND c <> 'b') * 1.0 / SUM(n) FROM ({C}) AS q GROUP BY g",
}  # fmt: skip
"""Noise decides which rows are added up or counted; each row has 150 people."""
KINDS |= SELECTED
TWO = "SELECT g, {}(y, x) FROM t GROUP BY g"
PAIRS = ("COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2", "REGR_SXX", "REGR_SYY", "REGR_SXY", "REGR_AVGX", "REGR_AVGY", "REGR_COUNT")  # fmt: skip
KINDS |= {name: TWO.format(name) for name in PAIRS}
KINDS |= {
    name: f"SELECT g, {name}(x) FROM t GROUP BY g" for name in ("VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP")
}
MOMENTS = ("COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2", "REGR_SXX", "REGR_SYY", "REGR_SXY", "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP")  # fmt: skip
SURE = F(99, 100)
GENEROUS = {"CORR": 5, "REGR_R2": 5, "REGR_SLOPE": 5, "REGR_INTERCEPT": 8, "a product": 3, "a sum of squares": 4, "a total behind UNION ALL": 3, "a share of a sub-query": 3}  # fmt: skip
GENEROUS |= dict.fromkeys(set(MOMENTS) - GENEROUS.keys(), 4)
GENEROUS |= dict.fromkeys(SELECTED, 8)
"""Where several intervals must hold together, half of the width is not too little; this part of it is."""


def intervals(answer: Answer, draws: Draws, sure: Fraction) -> list[list[Any]]:
    """The intervals that these draws would have; which rows there are, and of what, is public in these questions."""
    return replace(answer, _draws=draws).intervals(sure)


def first(answer: Answer, rows: int) -> Answer:
    """Its first rows."""
    return replace(answer, rows=answer.rows[:rows], _traces=tuple(trace[:rows] for trace in answer._traces))


def epsilon_of(name: str) -> Fraction:
    return F(2) if name in (*MOMENTS, *PAIRS) else NOISY


def counted(gate: Gateway, name: str, noise: str, *, runs: int, rows: int) -> tuple[int, int, int, int]:
    """Numbers with an interval, misses, misses of a narrower one about the same middle, and all numbers."""
    exact = draw(gate._engine, planned(gate, KINDS[name], EXACT))
    asked = planned(gate, KINDS[name], epsilon_of(name), noise)
    truth, chance = first(answered(gate, asked, exact), rows), np.random.default_rng(7)
    part = GENEROUS.get(name, 2)
    told = missed = narrow = every = 0
    for _ in range(runs):
        for row, ends in zip(truth.rows, intervals(truth, with_noise(asked, exact, chance), SURE), strict=True):
            for value, noisy, found in zip(row, truth.noisy, ends, strict=True):
                every += noisy and value is not None
                if found is not None:
                    low, high, true = F(found[0]), F(found[1]), F(value)
                    told, missed = told + 1, missed + (not low <= true <= high)
                    narrow += abs(2 * true - low - high) * part > high - low
    return told, missed, narrow, every


@pytest.mark.parametrize("name", KINDS)
def test_every_interval_above_the_cut_holds_what_it_promises(gate: Gateway, name: str) -> None:
    told, missed, _, every = counted(gate, name, "geometric", runs=1, rows=6 if name in MOMENTS else GROUPS)
    assert told >= 0.95 * every > 0
    assert missed < too_many(told, 1 - SURE)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
@pytest.mark.parametrize("name", KINDS)
def test_half_an_interval_is_too_little(gate: Gateway, name: str, noise: str) -> None:
    """Over some hundred draws: misses are as rare as said, and those of half as wide an interval are not."""
    told, missed, narrow, every = counted(gate, name, noise, runs=4 if name in MOMENTS else 15, rows=GROUPS)
    assert told >= 0.95 * every
    assert missed < too_many(told, 1 - SURE) <= narrow


@pytest.mark.parametrize("name", KINDS)
def test_without_noise_intervals_are_what_is_shown(gate: Gateway, name: str) -> None:
    """As epsilon grows the interval becomes the answer of plain SQL."""
    asked = planned(gate, KINDS[name], EXACT)
    answer = first(answered(gate, asked, draw(gate._engine, asked)), 4)
    seen = 0
    for row, ends in zip(answer.rows, answer.intervals(SURE), strict=True):
        for value, noisy, found in zip(row, answer.noisy, ends, strict=True):
            if noisy and value is not None:
                low, high, shown = F(found[0]), F(found[1]), F(value)
                assert low <= shown + F(1, 10**6) * (1 + abs(shown))
                assert shown <= high + F(1, 10**6) * (1 + abs(shown))
                assert high - low <= F(1, 10**5) * (1 + abs(shown)) + (0 if isinstance(found[0], int) else F(1, 10**8))
                seen += 1
    assert seen


def test_rows_that_noise_has_chosen_keep_what_is_told_of_each(gate: Gateway) -> None:
    """HAVING and LIMIT by noise: of each group that is there the interval is its own; of what is missing none is told."""
    sql = f"WITH q AS (SELECT * FROM ({N}) AS s WHERE n > 450) SELECT k, n, COALESCE(n, 0), q.g FROM side LEFT JOIN q ON g = k WHERE k < 60"
    plain = f"SELECT g, n FROM ({N}) AS q"
    exact = draw(gate._engine, planned(gate, plain, EXACT))
    asked = planned(gate, sql, NOISY)
    draws = with_noise(asked, exact, np.random.default_rng(1))
    chosen, whole = answered(gate, asked, draws), answered(gate, planned(gate, plain, NOISY), draws)
    own = {row[0]: ends[1] for row, ends in zip(whole.rows, whole.intervals(), strict=True)}
    found = {row[0]: (row[1], ends) for row, ends in zip(chosen.rows, chosen.intervals(), strict=True)}
    assert 10 < sum(n is None for n, _ in found.values()) < 50
    for g, (n, ends) in found.items():
        assert ends == ([None, own[g], None, None] if n is not None else [None] * 4)  # a default speaks of both cases


@pytest.mark.parametrize("value", ["COALESCE(n, 0)", "CASE WHEN n IS NULL THEN 0 ELSE n END", "GREATEST(n, 0)"])
@pytest.mark.parametrize("above", ["{}", "SELECT DISTINCT * FROM ({}) AS d", "{} UNION ALL SELECT 999, 5"])
def test_a_default_for_rows_that_noise_left_out_has_no_interval(gate: Gateway, above: str, value: str) -> None:
    """SQL gives the default where the exact number does not pass; so the number that passed by noise says nothing."""
    joined = f"SELECT k, n FROM side LEFT JOIN (SELECT * FROM ({N}) AS s WHERE n > 455) AS q ON q.g = side.k"
    asked = planned(gate, f"SELECT k, n, {value} FROM ({above.format(joined)}) AS z WHERE k < 60", NOISY)
    answer = answered(gate, asked, draw(gate._engine, asked))
    found = [(row[1], ends) for row, ends in zip(answer.rows, answer.intervals(), strict=True)]
    assert sum(n is not None for n, _ in found) > 3
    assert all((own is None) == (n is None) and default is None for n, (_, own, default) in found)


LEFT_OUT = ("SUM(NULLIF(n, 450))", "AVG(NULLIF(n, 450))", "MIN(NULLIF(n, 450))", "MAX(2 * NULLIF(n, 450))")
REPLACED = (
    "COALESCE(NULLIF(n, 450), 0)",
    "CASE WHEN NULLIF(n, 450) IS NULL THEN 0 ELSE n END",
    "GREATEST(NULLIF(n, 450) + 1, 0)",
    "LEAST(n, NULLIF(m, 150))",
)


@pytest.mark.parametrize("value", [*LEFT_OUT, *REPLACED])
def test_what_stands_for_a_number_that_nullif_left_out_has_no_interval(gate: Gateway, value: str) -> None:
    """Each group has 450 rows: the exact number is NULL there, and noise makes another number of it."""
    by = "1 AS one" if value in LEFT_OUT else "g"
    asked = planned(gate, f"SELECT {by}, {value} FROM ({N}) AS q", NOISY)
    answer = answered(gate, asked, draw(gate._engine, asked))
    assert {ends[1] for ends in answer.intervals()} == {None}


@pytest.mark.parametrize("kind", ["smallint", "decimal(4, 1)"])
def test_what_may_not_fit_into_its_type_has_no_interval(gate: Gateway, kind: str) -> None:
    """Where the exact number does not fit it is NULL, and SUM leaves it out."""
    larger, smaller = f"CAST(n * 100 AS {kind})", f"CAST(n AS {kind})"
    asked = planned(gate, f"SELECT COALESCE({larger}, 5), {smaller} FROM ({N}) AS q", NOISY)
    answer = answered(gate, asked, draw(gate._engine, asked))
    assert all(ends[0] is None and ends[1] is not None for ends in answer.intervals())
    asked = planned(gate, f"SELECT SUM({larger}), SUM({smaller}) FROM ({N}) AS q", NOISY)
    answer = answered(gate, asked, draw(gate._engine, asked))
    assert [ends is None for ends in answer.intervals()[0]] == [True, False]


def test_nullif_that_keeps_a_divisor_from_zero_keeps_the_interval(gate: Gateway) -> None:
    asked = planned(gate, f"SELECT NULLIF(n, 5), COALESCE(m * 1.0 / NULLIF(n, 0), 0) FROM ({N}) AS q", NOISY)
    answer = answered(gate, asked, draw(gate._engine, asked))
    assert all(None not in row for row in answer.intervals())


OPEN = "(SELECT w, COUNT(*) AS n FROM words GROUP BY w) AS q"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT SUM(n) FROM {OPEN}",
        f"SELECT AVG(n) FROM {OPEN}",
        f"SELECT MIN(n) FROM {OPEN}",
        f"SELECT SUM(n) OVER () FROM {OPEN}",
        f"SELECT LAG(n) OVER (ORDER BY w) FROM {OPEN}",
        f"SELECT COALESCE(n, 0) FROM (SELECT 'big' AS v UNION ALL SELECT 'small 7') AS s LEFT JOIN {OPEN} ON w = v",
    ],
)
def test_what_depends_on_which_open_keys_are_shown_has_no_interval(sql: str, tmp_path: Path) -> None:
    """Noise decides about keys of few people: here 300 of 500 people are under keys that are hardly ever shown."""
    people = [*(f"{u},big" for u in range(200)), *(f"{u},small {u % 100}" for u in range(200, 500))]
    (tmp_path / "words.csv").write_text("\n".join(["u,w", *people]) + "\n", encoding="utf-8")
    policy = """
[source]
engine = "duckdb"
files = { words = "words.csv" }
[data]
id = "d"
[privacy]
epsilon = 100
delta = 1e-5
query_delta = 1e-6
[tables.words]
unit = "u"
rows_per_unit = 1
[tables.words.columns]
u = { type = "integer" }
w = { type = "text", max_length = 20 }
"""
    (tmp_path / "sfumato.toml").write_text(policy, encoding="utf-8")
    with open_policy(tmp_path / "sfumato.toml") as words:
        assert {ends[0] for ends in words.sql(sql, epsilon=1).intervals()} == {None}
        assert None not in {ends[1] for ends in words.sql(f"SELECT w, n FROM {OPEN}", epsilon=1).intervals()}


def test_rows_alike_are_not_told_apart(gate: Gateway) -> None:
    """UNION shows each row once: one that stands for two released numbers has no interval."""
    sql = f"SELECT n FROM ({N}) AS q UNION SELECT m FROM ({N}) AS q"
    asked = planned(gate, sql, NOISY)
    cells = (((100, 0), (100, 0), *((200 + i, 0) for i in range(GROUPS - 2))),)  # m, and the rest of n
    other = tuple(tuple((number + 1000, rest) for number, rest in bundle) for bundle in cells)
    answer = answered(gate, asked, ((ReleasedSet((), cells),), (ReleasedSet((), other),)))
    found = {row[0]: ends[0] for row, ends in zip(answer.rows, answer.intervals(), strict=True)}
    assert {n for n, ends in found.items() if ends is None} == {100, 1100}
    assert len(found) == 2 * (GROUPS - 1)
