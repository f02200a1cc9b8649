"""Bounds that the policy leaves to be found: paid for once, told, stored; and what fewer rows would give."""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from sfumato.accounting import Pure, price
from sfumato.algebra.unit_histogram import histogram
from sfumato.errors import BudgetError, EngineError, InputError, PolicyError, QueryError
from sfumato.gateway import Gateway, open_policy, protect
from sfumato.gateway import planner as corridor
from sfumato.gateway.bounds import AutoBounds
from sfumato.gateway.timing import FIRST, Grid
from sfumato.ledger import Entry, Ledger
from sfumato.mechanisms import Geometric, KeySelection
from sfumato.policy import AUTO, FEW_GROUPS, Unknown, from_dict, parse, unknown, with_bounds
from sfumato.types import Adjacency
from tests.plans import plan_of
from tests.unit.test_timing import Clock

POLICY = """
[source]
engine = "duckdb"
files = { t = "t.csv" }
[data]
id = "d"
version = "one"
[privacy]
epsilon = 2e9
query_epsilon = 1e6
[tables.t]
unit = "u"
rows_per_unit = "auto"
sum_per_unit = { n = "auto" }
[tables.t.columns]
u = { type = "text", max_length = 9 }
n = { type = "decimal", min = -5, max = 10, grid = 0.5 }
k = { values = ["a", "b"] }
"""
ASK = "SELECT COUNT(*) FROM t"
SUM = "SELECT SUM(n) FROM t"
ROWS, SUMS = Unknown("t"), Unknown("t", "n")
EACH = Fraction(10**6)


def rows(people: int = 300, each: int = 6, value: str = "2") -> str:
    lines = [f"p{i},{value},{'ab'[j % 2]}" for i in range(people) for j in range(each)]
    return "u,n,k\n" + "\n".join([*lines, ",1,a"]) + "\n"


def write(folder: Path, *changes: tuple[str, str], data: str | None = None) -> Path:
    """The policy with these changes, and its rows."""
    text = POLICY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "t.csv").write_text(rows() if data is None else data, encoding="utf-8")
    (folder / "sfumato.toml").write_text(text, encoding="utf-8")
    return folder / "sfumato.toml"


@pytest.fixture
def gate(tmp_path: Path) -> Any:
    with open_policy(write(tmp_path)) as opened:
        yield opened


def entries(folder: Path) -> list[Entry]:
    with Ledger.visit(folder / "d.ledger") as other:
        return list(other.entries())


def texts(folder: Path) -> list[str]:
    return [entry.body["text"] for entry in entries(folder) if entry.kind == "debit"]


# paying


def test_a_bound_is_paid_before_it_is_read_and_only_once(gate: Gateway, tmp_path: Path, monkeypatch: Any) -> None:
    seen: list[list[str]] = []
    run = gate._engine._paid
    monkeypatch.setattr(
        gate._engine, "_paid", lambda *asked: seen.append([e.kind for e in entries(tmp_path)]) or run(*asked)
    )
    answer = gate.sql(ASK)
    first = "bound rows_per_unit of t"
    assert texts(tmp_path) == [first, ASK]
    assert [(kinds.count("debit"), kinds.count("answer")) for kinds in seen] == [(1, 0), (2, 1)]
    assert (None, 'rows_per_unit of "t" for version "one": 8; estimated for epsilon 1000000') in answer.notes
    assert answer.cost.epsilon == EACH
    assert gate.budget().spent.epsilon == 2 * EACH
    again = gate.sql(ASK + " WHERE n > 1")
    assert texts(tmp_path) == [first, ASK, ASK + " WHERE n > 1"]
    assert not any("found" in text for _, text in again.notes)


def test_a_bound_is_found_by_all_who_share_a_ledger(tmp_path: Path) -> None:
    """Opened again, or beside: free, and no change of the policy."""
    path = write(tmp_path)
    with open_policy(path) as gate, open_policy(path) as beside:
        gate.sql(ASK)
        assert beside.sql(ASK).cost.epsilon == 0
        assert [found.bought for found in beside._bounds.buy([ROWS], "one")] == [False]
    with open_policy(path) as later:
        assert [(found.of, found.value) for found in later.bounds()] == [(ROWS, 8)]
        assert later.missing_bounds() == (SUMS,)
        assert later.sql(ASK).cost.epsilon == 0
    assert texts(tmp_path) == ["bound rows_per_unit of t", ASK]
    assert [entry.kind for entry in entries(tmp_path)].count("policy") == 1
    with Ledger.visit(tmp_path / "d.ledger") as book:
        book.verify()


def test_a_bound_that_others_buy_meanwhile_is_used(tmp_path: Path, monkeypatch: Any) -> None:
    """A plan with stand-ins is never run, also if the bound is known when it is made."""
    path = write(tmp_path)
    with open_policy(path) as gate, open_policy(path) as beside:
        bind = corridor.bind

        def slow(*asked: Any, **more: Any) -> Any:
            question = bind(*asked, **more)
            beside.find_bounds()
            return question

        monkeypatch.setattr(corridor, "bind", slow)
        answer = gate.sql(ASK)
    assert answer.notes == [
        (None, "possible bias: people with more than 8 rows are down-weighted to 8 (contribution bound)")
    ]
    assert texts(tmp_path) == ["bound rows_per_unit of t", "bound sum_per_unit of t.n", ASK]


def test_threads_pay_for_one_bound_once(gate: Gateway, tmp_path: Path) -> None:
    together = [threading.Thread(target=gate.sql, args=(f"{ASK} WHERE n > {i}",)) for i in range(8)]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()
    assert sorted(texts(tmp_path)).count("bound rows_per_unit of t") == 1
    assert len(texts(tmp_path)) == 9


def test_a_new_version_is_paid_for_anew(tmp_path: Path) -> None:
    with open_policy(write(tmp_path)) as gate:
        gate.sql(ASK)
        assert gate.bounds()[0].value == 8
    with open_policy(write(tmp_path, ('"one"', '"two"'), data=rows(each=3))) as gate:
        assert gate.missing_bounds() == (ROWS, SUMS)
        gate.sql(ASK)
        assert gate.bounds()[0].value == 4
    assert texts(tmp_path) == ["bound rows_per_unit of t", ASK] * 2


def test_the_calendar_may_turn_while_it_is_open(tmp_path: Path) -> None:
    days = [datetime.now(UTC) + timedelta(days=1), datetime.now(UTC) + timedelta(days=2)]
    with open_policy(write(tmp_path, ('"one"', '"daily"'))) as gate:
        for day in days:
            gate._clock = lambda day=day: day
            gate.sql(ASK)
            assert gate.explain(ASK).cost.epsilon == 0
    assert texts(tmp_path) == ["bound rows_per_unit of t", ASK] * 2


def test_a_bound_that_failed_is_recorded(gate: Gateway, tmp_path: Path, monkeypatch: Any) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("secret")

    monkeypatch.setattr(gate._engine, "_paid", broken)
    with pytest.raises(EngineError, match="the engine could not run this query"):
        gate.sql(ASK)
    assert [entry.kind for entry in entries(tmp_path)][2:] == ["debit", "failed"]
    assert gate.missing_bounds() == (ROWS, SUMS)
    monkeypatch.undo()
    gate.sql(ASK)
    assert texts(tmp_path) == ["bound rows_per_unit of t"] * 2 + [ASK]


def test_what_is_refused_finds_nothing(gate: Gateway, tmp_path: Path) -> None:
    for wrong in ("SELECT x FROM t", "SELECT n FROM t", "SELECT COUNT(* FROM t", "SELECT FIRST(n) FROM t"):
        with pytest.raises(QueryError):
            gate.sql(wrong)
    for options in ({"rows_per_unit": 0}, {"rows_per_unit": "x"}, {"epsilon": -1}, {"within": 0}, {"noise": "x"}):
        with pytest.raises(InputError):
            gate.sql(ASK, **options)
    assert gate.sql("SELECT k FROM t GROUP BY k").cost.epsilon == 0  # a list of keys is a constant of the schema
    assert texts(tmp_path) == []


def test_only_what_a_question_needs_is_bought(gate: Gateway, tmp_path: Path) -> None:
    gate.sql("SELECT SUM(n), COUNT(*) FROM t")
    assert texts(tmp_path)[:-1] == ["bound rows_per_unit of t"]
    gate.sql(SUM)
    assert texts(tmp_path)[2:-1] == ["bound sum_per_unit of t.n"]
    assert {found.of: found.value for found in gate.bounds()} == {ROWS: 8, SUMS: 16}  # six times 2, in steps of 1/2
    assert gate.explain(SUM).notes == (
        (None, "possible bias: each person's sum is clipped at 16 (contribution bound)"),
    )


def test_the_budget_may_not_allow_it(tmp_path: Path) -> None:
    with open_policy(write(tmp_path, ("2e9", "1e6"))) as gate:
        preview = gate.explain(SUM)
        assert isinstance(preview.refused, BudgetError)
        with pytest.raises(BudgetError, match=r"is not known, and the budget"):
            gate.sql(SUM)
        assert texts(tmp_path) == []  # refused before anything is bought


def test_a_query_that_cannot_be_paid_buys_no_bound(tmp_path: Path) -> None:
    """Also where the budget would allow the bound, and not the query after it."""
    with open_policy(write(tmp_path, ("2e9", "1.5e6"))) as gate:
        assert isinstance(gate.explain(ASK).refused, BudgetError)
        with pytest.raises(BudgetError):
            gate.sql(ASK)
        assert texts(tmp_path) == []


@pytest.mark.parametrize(("took", "fails", "moment"), [(0.02, False, 0.1), (0.09, False, 0.1), (0.15, True, 0.2)])
def test_a_bound_is_bought_on_the_grid(
    took: float, fails: bool, moment: float, gate: Gateway, monkeypatch: Any
) -> None:
    """How long the histogram takes is not shown, and a failure waits like a result."""
    clock, noted, run = Clock(), list[float](), gate._engine._paid
    monkeypatch.setattr(gate._bounds, "_grid", Grid(FIRST, clock.now, clock.sleep))

    def slow(*words: Any) -> Any:
        clock.time += took
        if fails:
            raise EngineError("the engine could not run this query")
        return run(*words)

    monkeypatch.setattr(gate._engine, "_paid", slow)
    for name in ("store", "fail"):
        real = getattr(gate._ledger, name)
        monkeypatch.setattr(gate._ledger, name, lambda *of, real=real: (noted.append(clock.time), real(*of))[1])
    with suppress(EngineError):
        gate.find_bounds()
    assert round(noted[0] - 1000, 6) == moment


def test_an_analysts_share_is_not_charged(tmp_path: Path) -> None:
    with open_policy(write(tmp_path, ("[tables.t]\n", "[analysts.ana]\nepsilon = 1e6\n[tables.t]\n"))) as gate:
        before = gate.explain(ASK, analyst="ana")
        assert (before.refused, before.after.epsilon) == (None, 0)  # type: ignore[union-attr]
        gate.sql(ASK, analyst="ana")
        assert gate.budget("ana").spent.epsilon == EACH
        assert gate.budget().spent.epsilon == 2 * EACH


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_noise_is_that_of_the_price(adjacency: Adjacency, tmp_path: Path, monkeypatch: Any) -> None:
    """Drawn at the epsilon that was debited, for one bucket that a person is in, or two under replace."""
    drawn: list[tuple[Fraction, Fraction, int]] = []
    release = Geometric.release

    def watched(law: Geometric, exact: Any) -> Any:
        noisy = release(law, exact)
        drawn.append((law.sensitivity_l1, law.epsilon, len(noisy)))
        return noisy

    monkeypatch.setattr(Geometric, "release", watched)
    with open_policy(write(tmp_path, ("query_epsilon", f'adjacency = "{adjacency.value}"\nquery_epsilon'))) as gate:
        found = gate.find_bounds()
        table = gate.policy.tables["t"]
        buckets = [histogram(table, gate.policy, one.of.column, stored=False).buckets for one in found]
    assert [len(one.persons.counts) for one in found] == buckets  # also the empty ones, whatever the rows are
    paid = [Fraction(entry.body["price"]["epsilon"]) for entry in entries(tmp_path) if entry.kind == "debit"]
    moved = adjacency.sensitivity_l1(1, nonnegative=True)
    assert drawn == [(moved, epsilon, count) for epsilon, count in zip(paid, buckets, strict=True)]
    assert paid == [EACH, EACH]


@pytest.mark.parametrize(("composition", "noise"), [("pure", "geometric"), ("best", "gaussian"), ("zcdp", None)])
def test_every_ledger_can_pay(composition: str, noise: str | None, tmp_path: Path) -> None:
    terms = f'epsilon = 10\ndelta = 1e-6\ncomposition = "{composition}"\nquery_epsilon = 1\n'
    with open_policy(write(tmp_path, ("epsilon = 2e9\nquery_epsilon = 1e6\n", terms))) as gate:
        gate.sql(SUM, epsilon="0.1", noise=noise)
    paid = [entry.body["price"] for entry in entries(tmp_path) if entry.kind == "debit"]
    bounds = 2 if noise == "geometric" else 1  # Gaussian noise clips nothing at sum_per_unit
    assert len(paid) == bounds + 1
    cost = price(Pure(Fraction(1)))
    assert [(Fraction(p["epsilon"]), Fraction(p["rho"])) for p in paid[:bounds]] == [(cost.epsilon, cost.rho)] * bounds


def test_a_bound_is_charged_to_everybody(tmp_path: Path) -> None:
    """Also where the question that needs it touches one cell of the partition."""
    (tmp_path / "p.csv").write_text("u,area\n" + "\n".join(f"p{i},{'ns'[i % 2]}" for i in range(300)) + "\n")
    table = '[tables.p]\nunit = "u"\nrows_per_unit = 1\ncolumns.u = { type = "text", max_length = 9 }\n'
    path = write(
        tmp_path,
        ('{ t = "t.csv" }', '{ t = "t.csv", p = "p.csv" }'),
        ("query_epsilon", 'partition = "p.area"\nquery_epsilon'),
        ("[tables.t]\n", table + 'columns.area = { values = ["n", "s"] }\n[tables.t]\n'),
    )
    with open_policy(path) as gate:
        gate.sql("SELECT COUNT(*) FROM t JOIN p USING (u) WHERE area = 'n'")
    assert [e.body["cells"] for e in entries(tmp_path) if e.kind == "debit"] == [None, ['"n"']]


# what is known, and what is not


def test_a_preview_buys_nothing_and_says_what_asking_buys(gate: Gateway, tmp_path: Path, monkeypatch: Any) -> None:
    def touched(*_: Any, **__: Any) -> Any:
        raise AssertionError("the engine was touched")

    monkeypatch.setattr(gate._engine, "_paid", touched)
    preview = gate.explain(SUM)
    assert (preview.refused, preview.bounds) == (None, (ROWS, SUMS))
    assert [(c.name, c.law, c.scale, c.half_width(), c.type) for c in preview.columns] == [
        ("sum", "geometric", None, None, "numeric")
    ]
    assert [text.split(":")[1] for _, text in preview.notes] == [
        " running the query first estimates it, for epsilon 1000000, once per data version"
    ] * 2
    assert preview.to_dict()["bounds"] == [{"table": "t", "column": None}, {"table": "t", "column": "n"}]
    assert texts(tmp_path) == []
    monkeypatch.undo()
    answer = gate.sql(SUM)
    assert preview.cost.epsilon == answer.cost.epsilon  # type: ignore[union-attr]
    assert preview.after.epsilon == answer.remaining.epsilon == 2 * 10**9 - 3 * EACH  # type: ignore[union-attr]


def test_a_width_chooses_its_price_when_the_bound_is_known(gate: Gateway) -> None:
    preview = gate.explain(ASK, within=3)
    assert (preview.refused, preview.cost, preview.bounds) == (None, None, (ROWS,))
    paid = gate.sql(ASK, within=3).cost.epsilon
    then = gate.explain(ASK, within=3)
    assert then.cost.epsilon == 0  # type: ignore[union-attr]
    assert 0 < then.columns[0].half_width() <= 3  # type: ignore[operator]
    assert then.columns[0].scale == 8 / paid  # type: ignore[operator]


def test_rows_may_be_lowered_below_what_is_found(gate: Gateway) -> None:
    assert gate.sql(ASK, rows_per_unit=2).rows == [(600,)]
    with pytest.raises(QueryError, match="the policy says 8"):
        gate.sql(ASK, rows_per_unit=9)


ASKED = [
    ASK,
    SUM,
    "SELECT k, COUNT(*), SUM(n), AVG(n) FROM t GROUP BY k",
    "SELECT SUM(n) FROM t GROUP BY k",
    "SELECT c, COUNT(*) FROM (SELECT u, COUNT(*) AS c FROM t GROUP BY u) AS s GROUP BY c",
    "SELECT COUNT(*) FROM t AS a JOIN t AS b ON a.u = b.u",
    "SELECT MEDIAN(n), COUNT(DISTINCT n) FROM t",
    "SELECT COUNT(*) FROM t WHERE n > (SELECT AVG(n) FROM t)",
]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_what_is_found_is_used_as_if_it_were_written(adjacency: str, tmp_path: Path) -> None:
    """The same engine SQL, scales, prices, notes and answers as with the numbers in the policy."""
    same = ("2e9\nquery_epsilon", f'1e17\nadjacency = "{adjacency}"\nquery_epsilon')
    homes = [tmp_path / name for name in ("found", "written")]
    for home in homes:
        home.mkdir()
    number = ('rows_per_unit = "auto"\nsum_per_unit = { n = "auto" }', "rows_per_unit = 8\nsum_per_unit = { n = 16 }")
    with open_policy(write(homes[0], same)) as found, open_policy(write(homes[1], same, number)) as written:
        found.find_bounds()
        for text in ASKED:
            one, other = (plan_of(g, text) for g in (found, written))
            assert one.missing == ()
            assert [cut.parts for cut in one.cuts] == [cut.parts for cut in other.cuts]
            assert (one.event, one.notes) == (other.event, other.notes)
            assert one.digest != other.digest  # another policy: nothing that was stored under it is given
            assert found.sql(text, 10**12).rows == written.sql(text, 10**12).rows
            shown, expected = (g.explain(text, "0.1").to_dict() for g in (found, written))
            known = [line | {"lost": None} for line in shown["rows_per_unit"]]
            assert (shown | {"rows_per_unit": known, "before": 0, "after": 0}) == expected | {"before": 0, "after": 0}


def test_another_number_is_another_question(tmp_path: Path) -> None:
    """Answers of one version are never given for another bound, whatever the text."""
    digests = []
    for value in (8, 16):
        policy = with_bounds(parse((write(tmp_path)).read_text()), {ROWS: Fraction(value)})
        with open_policy(tmp_path / "sfumato.toml") as gate:
            gate._planner._bounds = AutoBounds(policy, gate._ledger, gate._engine, gate._grid)
            asked = plan_of(gate, ASK, 1)
            digests.append(asked.digest)
            assert gate.policy.digest == policy.digest
    assert digests[0] != digests[1]


def test_sizes_are_added_up_so_that_no_key_exceeds_them(tmp_path: Path) -> None:
    """Six times 2 and six times -2: their sum is zero, but by sign they are twelve and twelve."""
    lines = [f"p{i},{value},{key}" for i in range(300) for value, key in ((2, "a"), (-2, "b")) for _ in range(6)]
    with open_policy(write(tmp_path, data="u,n,k\n" + "\n".join(lines) + "\n")) as gate:
        assert {found.of: found.value for found in gate.find_bounds()} == {ROWS: 16, SUMS: 32}
        assert gate.sql("SELECT SUM(n) FROM t GROUP BY k").rows == [(3600,), (-3600,), (0,)]


def test_too_few_people_are_said_and_nothing_is_guessed(tmp_path: Path, monkeypatch: Any) -> None:
    """Six persons in a bucket are what noise of scale one may well make; here it made nothing else."""
    monkeypatch.setattr(Geometric, "release", lambda _, exact: [6] + [0] * (len(exact._sealed) - 1))
    with open_policy(write(tmp_path, ("2e9", "100"), ("1e6", "1"))) as gate:
        found = {one.of: one for one in gate.find_bounds()}
        assert (found[ROWS].value, found[SUMS].value) == (2, None)
        assert all("too few people" in one.words for one in found.values())
        assert gate.explain(SUM).notes == (
            (None, "possible bias: each person's sum is clipped at 20 (contribution bound)"),
        )


def test_a_view_has_the_bounds_of_its_tables(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "x.duckdb")) as base:
        base.execute("CREATE TABLE t AS SELECT 'p' || (i // 6) AS u, 2.0 AS n, 'a' AS k FROM range(1800) AS r(i)")
        base.execute("CREATE VIEW v AS SELECT u, n FROM t")
    view = '[tables.v]\nunit = "u"\nrows_per_unit = "auto"\ncolumns.u = { type = "text", max_length = 9 }\n[tables.t]\n'
    changes = [('{ t = "t.csv" }', '"x.duckdb"'), ("[tables.t]\n", view)]
    with open_policy(write(tmp_path, *changes)) as gate:
        assert gate.missing_bounds() == (ROWS, SUMS)
        assert gate.sql("SELECT COUNT(*) FROM v").rows == [(1800,)]
    assert texts(tmp_path)[0] == "bound rows_per_unit of t"


# what fewer rows would give

WRITTEN = ('rows_per_unit = "auto"\nsum_per_unit = { n = "auto" }', "rows_per_unit = 20")


def test_fewer_rows_give_what_asking_with_them_gives(tmp_path: Path) -> None:
    with open_policy(write(tmp_path, WRITTEN)) as gate:
        asked = "SELECT k, COUNT(*) AS c, AVG(n) AS m FROM t GROUP BY k"
        preview = gate.explain(asked, epsilon="0.1")
        shown = {one.rows_per_unit: one.half_widths for one in preview.fewer}
        assert list(shown) == [20, 10, 5]
        for rows_, widths in shown.items():
            columns = gate.explain(asked, epsilon="0.1", rows_per_unit=rows_).columns
            assert widths == tuple(column.half_width() for column in columns)
        counted = [width for _, width, _ in shown.values() if width is not None]
        assert counted == sorted(counted, reverse=True)
        assert counted[0] > 2 * counted[2] > 0
        assert [(widths[0], widths[2]) for widths in shown.values()] == [(None, None)] * 3
        lower = gate.explain(asked, epsilon="0.1", rows_per_unit=3)
        assert [one.rows_per_unit for one in lower.fewer] == [3, 1]
    assert {one.rows_per_unit: one.half_widths for one in preview.fewer} == shown  # also when it is closed
    widths = [None, str(counted[2]), None]
    told = {"rows_per_unit": 5, "half_widths": widths, "lost": None, "keys": None}
    assert preview.to_dict()["rows_per_unit"][2] == told


def test_a_preview_says_from_which_size_undeclared_keys_are_shown() -> None:
    """By every number of rows what asking with it gives: how many people are shown half of the time, or which count."""
    people = pd.DataFrame({"id": [i // 4 for i in range(8000)], "w": [f"w{i % 3}" for i in range(8000)]})
    with protect(people, unit="id", rows_per_unit=100, epsilon=100, delta=1e-5) as gate:
        sql = "SELECT w, COUNT(*) AS n FROM data GROUP BY w"
        fewer = gate.explain(sql, epsilon=1).fewer
        assert [one.rows_per_unit for one in fewer] == [100, 50, 25, 20, 10, 5]
        assert [one.keys.groups_per_unit for one in fewer if one.keys] == [20, 50, 25, 20, 10, 5]
        assert [one.keys.unit for one in fewer if one.keys] == ["people", "count", "count", "count", "count", "count"]
        sizes = [one.keys.size for one in fewer if one.keys]
        assert sizes[1] > sizes[2] > sizes[3] > sizes[4] > sizes[5] > 0
        for rows in (20, 5):
            note = next(text for _, text in gate.explain(sql, epsilon=1, rows_per_unit=rows).notes if "shown" in text)
            assert f"at least {next(one.keys.size for one in fewer if one.keys and one.rows_per_unit == rows)} " in note
        few = KeySelection(Fraction(1, 2), Fraction(1, 10**7), FEW_GROUPS)
        assert sizes[0] == few.half
        assert few.mass(sizes[0] - 1) < Fraction(1, 2) <= few.mass(sizes[0] + 1)


def test_where_fewer_rows_change_nothing_nothing_is_said(tmp_path: Path) -> None:
    clipped = (WRITTEN[0], "rows_per_unit = 20\nsum_per_unit = { n = 3 }")
    with open_policy(write(tmp_path, clipped)) as gate:
        assert gate.explain(SUM).fewer == ()
        assert gate.explain("SELECT AVG(n) FROM t").fewer == ()
        assert gate.explain("SELECT k FROM t GROUP BY k").fewer == ()
    alone = tmp_path / "alone"
    alone.mkdir()
    with open_policy(write(alone, (WRITTEN[0], "rows_per_unit = 1"))) as gate:
        assert gate.explain(ASK).fewer == ()


def test_what_would_be_lost_is_told_where_it_was_paid_for(gate: Gateway) -> None:
    gate.sql(ASK)
    assert [(one.rows_per_unit, one.lost) for one in gate.explain(ASK, "0.1").fewer] == [
        (8, Fraction(0)),
        (4, Fraction(5, 13)),  # all have 5 to 8 rows, which counts as 13/2
        (2, Fraction(9, 13)),
    ]


# the policy


def of(**table: Any) -> dict[str, Any]:
    columns = {
        "u": {"type": "integer", "min": 0, "max": 9},
        "n": {"type": "integer", "min": 0, "max": 9},
        "d": {"type": "date", "min": date(2020, 1, 1), "max": date(2021, 1, 1)},
        "v": {"values": [1, -4]},
        "s": {"values": ["x"]},
        "w": {"type": "integer"},
        "x": {"min": 0, "max": 5},
        "huge": {"type": "decimal", "min": 0, "max": 2**62, "grid": 1},
    }
    return {
        "source": {"engine": "duckdb", "files": {"t": ":memory:"}},
        "data": {"id": "d"},
        "privacy": {"epsilon": 1},
        "tables": {"t": {"unit": "u", "rows_per_unit": "auto", "columns": columns} | table},
    }


def test_one_auto_is_for_all_columns_that_can_be_summed() -> None:
    policy = from_dict(of(sum_per_unit="auto"))
    assert policy.tables["t"].sum_per_unit == {"n": AUTO, "v": AUTO, "x": AUTO}
    assert unknown(policy) == (Unknown("t"), *(Unknown("t", c) for c in ("n", "v", "x")))


def test_what_depends_on_the_rows_follows_them() -> None:
    found = {Unknown("t"): Fraction(16)}
    table = with_bounds(from_dict(of()), found).tables["t"]
    assert (table.rows_per_unit, table.groups_per_unit, table.l2_per_unit) == (16, 16, 16)
    table = with_bounds(from_dict(of(groups_per_unit=50, l2_per_unit=3)), found).tables["t"]
    assert (table.rows_per_unit, table.groups_per_unit, table.l2_per_unit) == (16, 16, 3)
    policy = from_dict(of(groups_per_unit=5))
    assert with_bounds(policy, found).tables["t"].groups_per_unit == 5
    assert with_bounds(policy, found).digest == policy.digest


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"sum_per_unit": {"n": "many"}}, 'must be a number or "auto"'),
        ({"sum_per_unit": "all"}, 'must be a table or "auto"'),
        ({"sum_per_unit": {"d": "auto"}}, "cannot be summed"),
        ({"sum_per_unit": {"w": "auto"}}, "has no bounds"),
        ({"sum_per_unit": {"huge": "auto"}}, "2^62 steps"),
        ({"sum_per_unit": "auto", "columns": {"u": {"type": "integer"}}}, "no column can be summed"),
    ],
)
def test_what_cannot_be_found_is_refused_by_the_policy(table: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as refused:
        from_dict(of(**table))
    assert words in refused.value.message
