"""Running totals of a question: which noise they get, what they cost, what they mean, and how far off they are."""

# ruff: noqa: E501  questions stand on one line
from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import sfumato
from sfumato.gateway import Gateway
from sfumato.gateway import run_and_sample as drawing
from sfumato.intervals.prefix_sums import Running, WindowReading
from sfumato.mechanisms import PrefixSums
from tests.laws import neighbours
from tests.laws.directed import DAYS, EXAMPLES, INT, LIST, example, planned, policy
from tests.plans import plan_of

F = Fraction
FIRST, LENGTH = date(2024, 1, 1), 120
CITIES = ["Oslo", "Århus", "Bergen", "zürich"]
PLAIN = "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) FROM visit GROUP BY day"


def frame(people: int = 60, rows: int = 3) -> pd.DataFrame:
    """Some days are empty, some unknown."""
    made = [
        {
            "ssn": f"p{i:03}",
            "day": None if (i + 7 * k) % 11 == 0 else FIRST + timedelta(days=(i * i + 31 * k) % LENGTH),
            "city": None if (i + k) % 13 == 0 else CITIES[(i + k) % 4],
            "cost": (i * 17 + k) % 50 - 10,
        }
        for i in range(people)
        for k in range(rows)
    ]
    return pd.DataFrame(made)


@contextmanager
def gateway(data: pd.DataFrame | None = None, rows: int = 3, **more: Any) -> Iterator[Gateway]:
    with sfumato.protect(
        frame() if data is None else data,
        "ssn",
        rows,
        10**12,
        bounds={"day": (FIRST, FIRST + timedelta(days=LENGTH - 1)), "cost": (-10, 50)},
        values={"city": CITIES},
        name="visit",
        delta=F(1, 10**6),
        **more,
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def gate() -> Iterator[Gateway]:
    with gateway() as opened:
        yield opened


@pytest.fixture
def fresh() -> Iterator[Gateway]:
    """Where nothing has been asked yet."""
    with gateway() as opened:
        yield opened


@pytest.fixture(scope="module")
def exact() -> dict[str, list[Fraction]]:
    """What the questions below mean, row by row: answered with next to no noise."""
    with gateway() as opened:
        return {text: [F(row[-1]) for row in opened.sql(text, 10**5).rows] for text in COVERED}


def law(gate: Gateway, text: str, epsilon: Any = 1, **more: Any) -> list[Running | None]:
    """The laws of all bundles of a question; asking for them is free."""
    asked = plan_of(gate, text, epsilon, noise=more.get("noise"))
    return [r.running for part in asked.cuts for kept in part.parts for r in kept.bundles]


SO = {
    "as it is": PLAIN,
    "falling": "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day DESC) FROM visit GROUP BY day",
    "NULL first": "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day NULLS FIRST) FROM visit GROUP BY day",
    "falling, NULL last": "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day DESC NULLS LAST) FROM visit GROUP BY day",
    "rows": "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day ROWS UNBOUNDED PRECEDING) FROM visit GROUP BY day",
    "range": "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS n FROM visit GROUP BY 1",
    "a sum": "SELECT day, SUM(SUM(cost)) OVER (ORDER BY day) FROM visit GROUP BY day",
    "persons": "SELECT day, SUM(COUNT(DISTINCT ssn)) OVER (ORDER BY day) FROM visit GROUP BY day",
    "a sub-query": "SELECT day, SUM(n) OVER (ORDER BY day) FROM (SELECT day, COUNT(*) AS n FROM visit GROUP BY day) AS t",
    "WITH": "WITH t AS (SELECT day AS d, SUM(cost) AS n FROM visit GROUP BY day) SELECT SUM(n) OVER (ORDER BY d) AS r, d FROM t",
    "twice over": "SELECT r, day FROM (SELECT day, SUM(n) OVER (ORDER BY day) AS r, n FROM (SELECT day, COUNT(*) AS n FROM visit GROUP BY day) AS t) AS s",
    "without NULL": "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) FROM visit WHERE day IS NOT NULL GROUP BY day",
    "what is above": "SELECT * FROM (SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) AS r FROM visit GROUP BY day) AS t WHERE r > 20 ORDER BY r DESC, day LIMIT 5",
    "by city": "SELECT city, day, SUM(COUNT(*)) OVER (PARTITION BY city ORDER BY day) FROM visit GROUP BY city, day",
    "by city, the other way": "SELECT SUM(COUNT(*)) OVER (PARTITION BY city ORDER BY day DESC) AS r, city, day FROM visit GROUP BY day, city",
    "by two": "SELECT city, day, SUM(COUNT(*)) OVER (ORDER BY city DESC, day) FROM visit GROUP BY city, day",
    "by a class": "SELECT date_trunc('month', day) AS m, day, SUM(COUNT(*)) OVER (PARTITION BY date_trunc('month', day) ORDER BY day) FROM visit GROUP BY 1, 2",
    "two": "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day), SUM(SUM(cost)) OVER (ORDER BY day DESC) FROM visit GROUP BY day",
    "of itself": "SELECT day, 2 * SUM(COUNT(*)) OVER (ORDER BY day) + 1 FROM visit GROUP BY day",
}  # fmt: skip
OTHERWISE = {
    "the sum, too": "SELECT day, COUNT(*), SUM(COUNT(*)) OVER (ORDER BY day) FROM visit GROUP BY day",
    "HAVING": "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) FROM visit GROUP BY day HAVING COUNT(*) > 2",
    "in order of it": "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) FROM visit GROUP BY day ORDER BY COUNT(*)",
    "both ways": "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day), SUM(COUNT(*)) OVER (ORDER BY day DESC) FROM visit GROUP BY day",
    "three days": "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day ROWS 2 PRECEDING) FROM visit GROUP BY day",
    "to the end": "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM visit GROUP BY day",
    "by the count": "SELECT day, SUM(COUNT(*)) OVER (ORDER BY COUNT(*)) FROM visit GROUP BY day",
    "the mean": "SELECT day, AVG(COUNT(*)) OVER (ORDER BY day) FROM visit GROUP BY day",
    "some of them": "SELECT day, SUM(n) OVER (ORDER BY day) FROM (SELECT day, COUNT(*) AS n FROM visit GROUP BY day) AS t WHERE day > DATE '2024-02-01'",
    "ties": "SELECT city, day, SUM(COUNT(*)) OVER (ORDER BY day) FROM visit GROUP BY city, day",
    "of an expression": "SELECT day, SUM(n + 1) OVER (ORDER BY day) FROM (SELECT day, COUNT(*) AS n FROM visit GROUP BY day) AS t",
    "few groups": "SELECT EXTRACT(month FROM day), SUM(COUNT(*)) OVER (ORDER BY EXTRACT(month FROM day)) FROM visit GROUP BY 1",
    "each row once": "SELECT DISTINCT n, r FROM (SELECT day, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY day) AS r FROM visit GROUP BY day) AS t",
    "two sums of one": "SELECT day, SUM(AVG(cost)) OVER (ORDER BY day) FROM visit GROUP BY day",
    "a second stage": "WITH t AS (SELECT day, COUNT(*) AS n FROM visit GROUP BY day), r AS (SELECT day, SUM(n) OVER (ORDER BY day) AS s FROM t) SELECT t.n, r.s FROM t JOIN r ON t.day = r.day",
    "the first of them": "WITH t AS (SELECT day, COUNT(*) AS n FROM visit GROUP BY day), r AS (SELECT day, n, SUM(n) OVER (ORDER BY day) AS s FROM t), f AS (SELECT s FROM r ORDER BY n DESC, day LIMIT 5) SELECT s FROM f",
    "among them": "WITH t AS (SELECT day, COUNT(*) AS n FROM visit GROUP BY day), r AS (SELECT day, n, SUM(n) OVER (ORDER BY day) AS s FROM t) SELECT s FROM r WHERE s IN (SELECT n FROM t)",
    "one under the other": "WITH t AS (SELECT day, COUNT(*) AS n FROM visit GROUP BY day), r AS (SELECT day, n, SUM(n) OVER (ORDER BY day) AS s FROM t) SELECT s FROM r UNION ALL SELECT n FROM t",
    "the highest": "WITH t AS (SELECT day, COUNT(*) AS n FROM visit GROUP BY day), r AS (SELECT day, n, SUM(n) OVER (ORDER BY day) AS s FROM t) SELECT s, (SELECT MAX(n) FROM t) FROM r",
    "a later stage": "WITH t AS (SELECT day, COUNT(*) AS n FROM visit GROUP BY day), r AS (SELECT day, n, SUM(n) OVER (ORDER BY day) AS s FROM t) SELECT s, (SELECT COUNT(*) FROM visit WHERE cost > (SELECT MAX(n) FROM t)) AS c FROM r",
    "grouping sets": "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) FROM visit GROUP BY ROLLUP(day)",
}  # fmt: skip


COVERED = [SO["as it is"], SO["by a class"], SO["a sum"], OTHERWISE["the sum, too"]]


@pytest.mark.parametrize("name", SO)
def test_what_is_read_as_running_totals_gets_its_noise_there(name: str, gate: Gateway) -> None:
    assert all(running is not None and running.epsilon is not None for running in law(gate, SO[name]))


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_is_read_otherwise_keeps_its_own_noise(name: str, gate: Gateway) -> None:
    assert law(gate, OTHERWISE[name]) in ([None], [None, None])


@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
@pytest.mark.parametrize("text", [*SO.values(), *OTHERWISE.values()], ids=[*SO, *OTHERWISE])
def test_running_totals_are_those_of_plain_sql_as_epsilon_grows(text: str, noise: str, gate: Gateway) -> None:
    """Against the rows themselves in an engine; empty groups are released, too, so they are joined in by hand."""
    if "AVG" in text or "ROLLUP" in text:
        return
    answer = gate.sql(text, 10**5, noise=noise)
    days = f"SELECT DATE '{FIRST}' + i::INTEGER AS day FROM range({LENGTH}) AS r(i)"
    nulls = "" if "IS NOT NULL" in text else " UNION ALL SELECT NULL"
    with duckdb.connect() as connection:
        connection.execute("SET default_null_order = 'nulls_last_on_asc_first_on_desc'")  # as PostgreSQL has it
        connection.register("rows_of_persons", frame())
        connection.execute("CREATE TABLE visits AS SELECT ssn, day::DATE AS day, city, cost FROM rows_of_persons")
        connection.execute("CREATE TABLE cities AS SELECT unnest(?) AS city", [[*CITIES, None]])
        keys = f"({days}{nulls}) AS d CROSS JOIN cities AS c" if "city" in text else f"({days}{nulls}) AS d"
        same = "v.day IS NOT DISTINCT FROM d.day" + (
            " AND v.city IS NOT DISTINCT FROM c.city" if "city" in text else ""
        )
        city = "c.city" if "city" in text else "v.city"
        connection.execute(
            f"CREATE VIEW visit AS SELECT ssn, d.day AS day, {city} AS city, cost FROM {keys} LEFT JOIN visits AS v ON {same}"
        )
        wanted = connection.execute(re.sub(r"COUNT\(\*\)", "COUNT(ssn)", text)).fetchall()
    shown = [[0 if v is None or (isinstance(v, int | float) and v < 0) else v for v in row] for row in answer.rows]
    truth = [[0 if v is None or (isinstance(v, int | float) and v < 0) else v for v in row] for row in wanted]
    assert len(shown) == len(truth)
    assert sorted(map(_plain, shown)) == sorted(map(_plain, truth))


def _plain(row: list[Any]) -> list[str]:
    return [
        str(v.date()) if hasattr(v, "date") else str(v if isinstance(v, str | date) else round(float(v))) for v in row
    ]


def test_the_order_is_that_of_the_window() -> None:
    """NULL where the window puts it, falling or not, each city by itself; text by its code points."""
    groups = tuple((city, day) for city in ("b", "é", "Z", None) for day in (1, 2, None))
    plain = WindowReading((), ((1, False, False), (0, True, True)))
    assert [groups[i] for i in plain.tracks(groups)[0]] == [
        (None, 1), ("é", 1), ("b", 1), ("Z", 1), (None, 2), ("é", 2), ("b", 2), ("Z", 2),
        (None, None), ("é", None), ("b", None), ("Z", None),
    ]  # fmt: skip
    apart = WindowReading((0,), ((1, True, True),)).tracks(groups)
    assert sorted([[groups[i] for i in track] for track in apart], key=str) == sorted(
        [[(city, None), (city, 2), (city, 1)] for city in ("b", "é", "Z", None)], key=str
    )


# what one person can move
@pytest.mark.parametrize("name", [name for name in EXAMPLES if "running totals" in name])
def test_one_person_moves_running_totals_by_what_is_paid(name: str) -> None:
    """On the engine's own SQL: the nodes, or B x, between neighbours, against the noise that they get."""
    asked = planned(EXAMPLES[name].text, EXAMPLES[name].made, noise=EXAMPLES[name].noise, run=EXAMPLES[name].world.run)
    assert all(r.running is not None for r in asked.cuts[0].parts[0].bundles)
    assert 0 < EXAMPLES[name].check() <= 1


def test_tracks_share_the_sensitivity() -> None:
    """Her rows in four trees, or in one, cost the same: all of what is paid, and not more."""
    made = policy({"d": DAYS, "s": LIST}, 4)
    text = "SELECT s, d, SUM(COUNT(*)) OVER (PARTITION BY s ORDER BY d) FROM t GROUP BY s, d"
    for rows in ("a:0,x a:7,y a:7,z a:40,", "a:0,x*4", "a:80,x a:80,x a:80,x a:79,x"):
        assert example(made, rows, text).check() == 1


def test_a_lone_person_costs_all_of_rho() -> None:
    """All her rows on the first day: the longest column of B, C times."""
    case = EXAMPLES["running totals with a norm"]
    worst = example(case.made, "a:0*3 b:3", case.text, noise="gaussian")
    assert worst.check() == 1


def test_all_noise_is_paid_for_once(fresh: Gateway) -> None:
    for text in SO.values():
        cost = fresh.explain(text, F(1, 4)).cost
        assert cost is not None
        assert cost.epsilon == F(1, 4)
    cost = fresh.explain(PLAIN, F(1, 4), noise="gaussian").cost
    assert cost is not None
    assert (cost.epsilon, cost.rho) == (None, F(1, 32))


# which is better
def test_the_smaller_error_is_chosen(gate: Gateway) -> None:
    """Few groups, or hardly any noise: independent noise. The comparison is that of the mean variances."""
    few = "SELECT cost, SUM(COUNT(*)) OVER (ORDER BY cost) FROM visit WHERE cost BETWEEN 1 AND {} GROUP BY cost"
    assert law(gate, few.format(28)) == [None]
    assert law(gate, few.format(29)) != [None]
    alone = sfumato.protect(
        frame(rows=1), "ssn", 1, 10**12, bounds={"day": (FIRST, FIRST + timedelta(days=LENGTH - 1))}, name="visit"
    )
    with alone:
        assert law(alone, PLAIN, 1) != [None]
        assert law(alone, PLAIN, 20) == [None]
        running = law(alone, PLAIN, 1)[0]
        assert running is not None
        tree, n = running.law(LENGTH + 1), LENGTH + 1
        r = np.exp(-1.0)
        assert tree.mean_variance < 2 * r / (1 - r) ** 2 * (n + 1) / 2


def test_gaussian_totals_need_rows_and_not_a_norm() -> None:
    """A small norm that is declared makes independent noise the better one; then her rows count by their norm again."""
    data = frame()
    with gateway(data) as opened:
        assert law(opened, PLAIN, noise="gaussian") != [None]
        assert "more than 3 rows" in str(opened.explain(PLAIN, 1, noise="gaussian").notes)
    made = EXAMPLES["running totals with a norm"].made.tables["t"]
    assert made.l2_per_unit == 3
    text = "SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) FROM t GROUP BY d"
    small = policy({"d": DAYS}, 100, l2_per_unit=2)
    object.__setattr__(small.privacy, "composition", "zcdp")
    assert planned(text, small, noise="gaussian").cuts[0].parts[0].bundles[0].running is None


def test_two_bundles_with_gaussian_noise_keep_their_own(gate: Gateway) -> None:
    assert law(gate, SO["two"], noise="gaussian") == [None, None]


# the ledger
def test_running_totals_and_the_histogram_are_different_answers() -> None:
    with gateway() as opened:
        plain = "SELECT day, COUNT(*) FROM visit GROUP BY day"
        digests = [_digest(opened, text) for text in (plain, SO["as it is"], SO["falling"], OTHERWISE["the sum, too"])]
        assert digests[0] == digests[3]
        assert len(set(digests)) == 3
        assert _digest(opened, SO["a sub-query"]) == digests[1]
        assert opened.sql(plain, 1).cost.epsilon == 1
        first = opened.sql(PLAIN, 1)
        assert first.cost.epsilon == 1
        again = opened.sql(SO["a sub-query"], F(1, 2))
        assert again.cost.epsilon == 0
        assert again.rows == first.rows
        assert opened.sql(OTHERWISE["the sum, too"], 1).cost.epsilon == 0


def _digest(gate: Gateway, text: str) -> str:
    return plan_of(gate, text, 1).digest


def test_a_better_answer_of_running_totals_costs_in_full() -> None:
    """The conditional law is that of one geometric draw; a histogram gets its better answer for the difference."""
    with gateway(composition="pure") as opened:
        for text, cost in ((PLAIN, 2), ("SELECT day, COUNT(*) FROM visit GROUP BY day", 1)):
            opened.sql(text, 1)
            assert opened.sql(text, 2).cost.epsilon == cost


# how far off
@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
@pytest.mark.parametrize("text", [COVERED[0], *(pytest.param(text, marks=pytest.mark.slow) for text in COVERED[1:])])
def test_intervals_of_running_totals_cover(text: str, noise: str, exact: dict[str, list[Fraction]]) -> None:
    """At least as often as stated, and not much more: totals of few groups and of many. Bounding does not bite here."""
    runs, places = 150, (40, 80, 100, 118)
    hits: dict[int, int] = dict.fromkeys(places, 0)
    narrow = dict(hits)
    with gateway() as opened:
        first = opened.sql(text, 1, noise=noise, confidence=F(8, 10))
        asked = first._plan
        assert asked is not None
        for _ in range(runs):  # drawn as for an answer, without paying each time
            drawn = tuple(
                tuple(drawing._release(kept, opened._engine.run(kept.job, {}, "salt")) for kept in cut.parts)
                for cut in asked.cuts
            )
            answer = opened._answer(asked, drawn, cost=first.cost, analyst="owner", confidence=F(8, 10))
            found = answer.intervals()
            for row in places:
                low, high = (F(end) for end in found[row][-1])  # type: ignore[union-attr]
                far = abs(F(answer.rows[row][-1]) - exact[text][row])
                hits[row] += low <= exact[text][row] <= high
                narrow[row] += far <= F(6, 10) * (high - F(answer.rows[row][-1]))
    for row in places:
        assert stats.binomtest(hits[row], runs, 0.8, alternative="less").pvalue > 1e-11
        assert stats.binomtest(narrow[row], runs, 0.8, alternative="greater").pvalue > 1e-11


@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
@pytest.mark.parametrize("name", ["as it is", "falling", "NULL first", "persons", "without NULL"])
def test_each_row_has_the_interval_of_its_own_total(name: str, noise: str, fresh: Gateway) -> None:
    """With the law's own coverage (laws::intervals_of_trees_are_those_of_the_exact_law) nothing is left to chance."""
    answer = fresh.sql(SO[name], 1, noise=noise)
    assert answer.plan is not None
    (part,) = answer.plan.cuts[0].parts
    (bundle,) = part.bundles
    assert bundle.running is not None
    rows = {row[:-1]: ends[-1] for row, ends in zip(answer.rows, answer.intervals(), strict=True)}
    (track,) = bundle.running.reading.tracks(part.groups)
    mechanism, half = bundle.running.law(len(track)), F(0)
    for end, place in enumerate(track, 1):
        low, high = rows[part.groups[place]]  # type: ignore[misc]
        half = mechanism.interval(F(95, 100), end)[1] * bundle.unit
        assert 2 * half <= high - low <= 2 * half + 2  # ends are rounded outward
    assert half > 5


def test_the_preview_knows_the_widest_total(fresh: Gateway) -> None:
    for text in (PLAIN, SO["by city"], OTHERWISE["the sum, too"], SO["of itself"]):
        for noise in ("geometric", "gaussian"):
            column = fresh.explain(text, 20, noise=noise).columns[-1]
            answer = fresh.sql(text, 20, noise=noise)  # so that the totals are far above their noise, and above zero
            widths = [ends[-1][1] - ends[-1][0] for ends in answer.intervals() if ends[-1][0] > 0]  # type: ignore[index]
            assert (column.law, column.noisy, column.scale) == ("derived", True, None)
            assert "prefix sums" in column.note or "every group" in column.note
            assert max(widths) <= 2 * column.half_width() + 2 <= F(max(widths)) * F(5, 4) + 4


def test_totals_that_share_their_noise_have_an_interval_only_where_it_is_known(fresh: Gateway) -> None:
    """Noise on every group: a total without its own group is a total of the others. Noise on totals: none is told."""
    text = "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) - COUNT(*), COUNT(*) FROM visit GROUP BY day"
    answer = fresh.sql(text, 1)
    before, after = (ends[1][1] - ends[1][0] for ends in (answer.intervals()[row] for row in (40, 80)))  # type: ignore[index]
    assert 0 < before < after
    steps = f"SELECT day, s - LAG(s) OVER (ORDER BY day) FROM ({PLAIN.replace(' OVER (ORDER BY day)', ' OVER (ORDER BY day) AS s')}) AS q"
    answer = fresh.sql(steps, 1)
    assert answer._plan is not None
    assert any(r.running for cut in answer._plan.cuts for part in cut.parts for r in part.bundles)
    assert {row[1] for row in answer.intervals()} == {None}


def test_within_holds_for_running_totals(fresh: Gateway) -> None:
    """The epsilon that is found gives totals within the width, and hardly less would do."""
    for text in (PLAIN, OTHERWISE["the sum, too"]):
        column = fresh.explain(text, within=40).columns[-1]
        width = column.half_width()
        assert width is not None
        assert 39 <= width <= 41
        cost = fresh.explain(text, within=40).cost
        assert cost is not None
        assert cost.epsilon is not None
        assert fresh.explain(text, cost.epsilon * F(9, 10)).columns[-1].half_width() > 41


def test_what_is_stored_adds_up_to_the_totals() -> None:
    """Differences of neighbours, track by track: the windows give back what the mechanism drew, whatever it was."""
    drawn: list[list[int]] = []
    release = PrefixSums.release

    def spied(law: PrefixSums, values: Any) -> Any:
        drawn.append(release(law, values).tolist())
        return np.array(drawn[-1])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PrefixSums, "release", spied)
        data = frame(rows=1)
        bounds = {"cost": (-10, 50), "day": (FIRST, FIRST + timedelta(days=LENGTH - 1))}
        with sfumato.protect(data, "ssn", 1, 100, bounds=bounds, values={"city": CITIES}, name="visit") as opened:
            rows = opened.sql(
                "SELECT city, day, SUM(SUM(cost)) OVER (PARTITION BY city ORDER BY day) FROM visit GROUP BY city, day",
                1,
            ).rows
    assert len(drawn) == 5
    shown = {city: [int(total) for c, _, total in rows if c == city] for city in [*CITIES, None]}
    assert sorted(shown.values()) == sorted(drawn)


@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
def test_totals_are_rounded_and_not_what_they_grow_by(noise: str, fresh: Gateway) -> None:
    """Rows are weighed in 2^-20: every total that is shown is the nearest whole number of what was drawn."""
    answer = fresh.sql("SELECT day, SUM(SUM(cost)) OVER (ORDER BY day) FROM visit GROUP BY day", 1, noise=noise)
    assert answer._plan is not None
    unit, whole, off = answer._plan.cuts[0].parts[0].bundles[0].unit, F(0), []
    assert unit < 1
    for (_, total), (cell,) in zip(answer.rows, answer._draws[0][0].cells[0], strict=True):
        whole += cell * unit
        off.append(abs(F(total) - whole))
    assert max(off) <= F(1, 2)


def test_neighbours_hold_where_totals_are_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The promise does not rest on the choice: also where totals are worse, on few groups."""
    monkeypatch.setattr(Running, "better", lambda *_: True)
    for rows, noise in (("a:1,x a:9,y*4 a:2,z b:3,x", None), ("a:1,x*9 b:3,x", None)):
        text = "SELECT s, SUM(COUNT(*)) OVER (ORDER BY s), SUM(SUM(i)) OVER (ORDER BY s) FROM t GROUP BY s"
        case = example(policy({"i": INT, "s": LIST}, 3), rows, text, noise=noise)
        asked = planned(case.text, case.made, run=case.world.run)
        assert all(r.running for r in asked.cuts[0].parts[0].bundles)
        assert neighbours.check(case.world, asked) <= 1
