"""Bounds on the work of planning, and the dry run: what the text of a query alone can break is found for free."""

# ruff: noqa: E501  a query stands on one line
from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sqlglot import Dialect
from sqlglot.parser import Parser

import sfumato
from sfumato import interrupts
from sfumato.algebra import domains, group_keys
from sfumato.algebra.functions import FUNCTIONS
from sfumato.engines.duckdb import DuckDB, slices
from sfumato.engines.duckdb import engine as duckdb_engine
from sfumato.engines.duckdb import expressions as emit
from sfumato.engines.duckdb import fast_plans as fast
from sfumato.engines.duckdb import fixed_rows as fixed
from sfumato.engines.duckdb import relations as select
from sfumato.engines.duckdb.fast_plans import physical
from sfumato.errors import BudgetError, EngineError, LedgerError, PlanError, QueryError
from sfumato.gateway import Gateway
from sfumato.gateway import gateway as corridor
from sfumato.gateway.recent_answers import Recent, RecentAnswers
from sfumato.interrupts import CancelScope, Stopped, cancelled, planning, step, stopped
from sfumato.policy import tables as policy_tables
from sfumato.sql.bind import bound_query as bound
from sfumato.sql.bind import expressions, rewrite
from sfumato.sql.read import parser as parsing
from sfumato.sql.release import bundles, normal_rows
from sfumato.sql.release import releases as cut

PEOPLE = pd.DataFrame(
    {
        "ssn": [f"p{i}" for i in range(60)],
        "age": [i % 50 for i in range(60)],
        "x": ["a", "b", None] * 20,
        "o": ["u", "v", "w"] * 20,
    }
)


@pytest.fixture
def gate() -> Iterator[Gateway]:
    made = sfumato.protect(
        PEOPLE, unit="ssn", rows_per_unit=1, epsilon=10**9, bounds={"age": (0, 120)}, values={"x": ["a", "b"]}, name="p"
    )
    with made:
        yield made


def chain(step: str, count: int, last: str = "SELECT COUNT(*) FROM a{0}") -> str:
    """WITH queries each of which reads the one before it twice."""
    steps = ", ".join(f"a{i + 1} AS ({step.format(i)})" for i in range(count))
    return f"WITH a0 AS (SELECT * FROM p), {steps} {last.format(count)}"


LIST = ", ".join(map(str, range(100)))
BOMBS = {
    "unions": chain("SELECT * FROM a{0} UNION ALL SELECT * FROM a{0}", 26),
    "joins": chain("SELECT u.* FROM a{0} AS u JOIN a{0} AS v ON u.ssn = v.ssn", 26),
    "members": chain("SELECT * FROM a{0} WHERE ssn IN (SELECT ssn FROM a{0})", 26),
    "releases": "WITH a0 AS (SELECT COUNT(*) AS c FROM p), "
    + ", ".join(f"a{i + 1} AS (SELECT u.c + v.c AS c FROM a{i} AS u CROSS JOIN a{i} AS v)" for i in range(26))
    + " SELECT c FROM a26",
    "expressions": "SELECT COUNT(*) FROM "
    + "".join(f"(SELECT ssn, {'+'.join(['x'] * 9)} AS x FROM " for _ in range(20))
    + "(SELECT ssn, age AS x FROM p) AS q"
    + ") AS q" * 20
    + " WHERE x > 1",
    "aggregates": f"SELECT {', '.join(f'SUM(age + {i})' for i in range(1000))} FROM p",
    "columns": f"SELECT {', '.join(['COUNT(*)'] * 5000)} FROM p",
    "keys": f"SELECT COUNT(*) FROM p GROUP BY {', '.join(f'age + {i}' for i in range(500))}",
    "many joins": f"SELECT COUNT(*) FROM p {' '.join(f'JOIN p AS p{i} ON p.ssn = p{i}.ssn' for i in range(500))}",
    "brackets": f"SELECT COUNT(*) FROM p WHERE {'(' * 5000}age > 1{')' * 5000}",
    "conditions": f"SELECT COUNT(*) FROM p WHERE {' AND '.join(f'age > {i}' for i in range(8000))}",
    "pairs": f"SELECT COUNT(*) FROM p WHERE (age, age) IN ({', '.join(f'({i}, 1)' for i in range(2500))})",
    "many lists": f"SELECT COUNT(*) FROM p WHERE {' AND '.join(f'age NOT IN ({LIST})' for _ in range(50))}",
    "square brackets": f"SELECT age{'[1]' * 2000} FROM p",
    "cases": f"SELECT SUM(CASE {' '.join(f'WHEN age = {i} THEN {i}' for i in range(1500))} END) FROM p",
    "cases above": "SELECT CASE "
    + " ".join(f"WHEN c = {i} THEN {i}" for i in range(1500))
    + " END FROM (SELECT COUNT(*) AS c FROM p) AS q",
    "arguments": f"SELECT SUM(GREATEST({', '.join(['age'] * 5000)})) FROM p",
    "list": f"SELECT COUNT(*) FROM p WHERE age IN ({','.join(map(str, range(12_000)))})",
    "characters": f"SELECT COUNT(*) FROM p WHERE age IN ({', '.join(map(str, range(20_000)))})",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_query_that_would_grow_without_end_is_refused(bomb: str, gate: Gateway) -> None:
    refused = gate.explain(BOMBS[bomb]).refused
    assert isinstance(refused, QueryError)
    assert refused.sqlstate in ("54000", "54001", "54011")
    assert gate.budget().spent.epsilon == 0


def test_as_many_cases_as_are_allowed_are_planned_and_told(gate: Gateway) -> None:
    """Hundreds of branches that noise decides are one list, not one inside the other: nothing is nested too deeply."""
    branches = " ".join(f"WHEN c = {i} THEN {i}" for i in range(900))
    sql = f"SELECT CASE {branches} ELSE -1 END AS c FROM (SELECT COUNT(*) AS c FROM p) AS q"
    assert gate.explain(sql, epsilon=1).refused is None
    answer = gate.sql(sql, epsilon=1)
    assert answer.intervals() == answer.intervals(Fraction(95, 100))
    assert gate.explain(sql.replace("= ", "> "), epsilon=1).refused is None
    assert answer.intervals(Fraction(1, 2))[0][0] is not None


ALTERNATIVES = {
    "arrays": ("array[", "]"),
    "calls": ("coalesce(", ", 1)"),
    "brackets": ("(", ")"),
    "cases": ("CASE WHEN ", " THEN 1 END"),
    "sub-queries": ("(SELECT ", ")"),
    "structures": ("{'a': ", "}"),
    "intervals": ("INTERVAL ", ""),
    "casts": ("CAST(", " AS integer)"),
}


@pytest.mark.parametrize("kind", ALTERNATIVES)
def test_parsing_does_not_double_with_each_level(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser goes back and tries again. However it does that, its moves are bounded by the number of tokens."""
    before, after = ALTERNATIVES[kind]
    move, moves, most = Parser._advance, 0, 0

    def counted(self: Any, times: int = 1) -> None:
        nonlocal moves
        moves += 1
        if moves > most:
            raise RecursionError
        move(self, times)

    monkeypatch.setattr(Parser, "_advance", counted)
    for level in (5, 20, 60):
        text = f"SELECT {before * level}age{after * level} FROM p"
        moves, most = 0, 10_000 + 10 * len(Dialect.get_or_raise("postgres").tokenize(text))
        with suppress(QueryError):
            parsing.parse(text)
        assert 0 < moves <= most


def test_equal_tables_are_not_put_into_every_order(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty of them have more orders than any memory holds; a digest tries a few."""
    tried = 0

    def counted(items: list[Any]) -> Iterator[tuple[Any, ...]]:
        nonlocal tried
        for order in permutations(items):
            tried += 1
            assert tried < 1000
            yield order

    monkeypatch.setattr(normal_rows, "permutations", counted)
    joins = " ".join(f"JOIN p AS p{i} ON p.ssn = p{i}.ssn" for i in range(1, 20))
    assert gate.explain(f"SELECT COUNT(*) FROM p {joins}").refused is None
    assert tried > 0


def test_too_many_words_and_deep_brackets_are_refused_before_they_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed, read = list[str](), list[str]()
    monkeypatch.setattr(Parser, "parse", lambda *_: parsed.append("") or [])
    with monkeypatch.context() as patched:
        patched.setattr(Dialect, "tokenize", lambda *_: read.append("") or [])
        with pytest.raises(QueryError, match="100000 characters"):
            parsing.parse(f"SELECT 1 /*{'x' * parsing._LONGEST}*/")
        assert read == []
    signs = "SELECT " + "+".join(["1"] * (parsing._MOST_TOKENS // 2))
    brackets = "(" * parsing._DEEPEST
    for text, state in (
        (f"{signs}+1", "54000"),
        (f"SELECT ({brackets}1{brackets.replace('(', ')')})", "54001"),
        (f"SELECT ('{brackets}')", "42601"),  # in a text they are none: it is handed to the parser, here an empty one
    ):
        with pytest.raises(QueryError) as refused:
            parsing.parse(text)
        assert refused.value.sqlstate == state
        assert len(parsed) == (state == "42601")


LARGE = f"SELECT {', '.join(f'SUM(age + age + age + age + age + age + {i})' for i in range(90))} FROM p"
"""Some tenths of a second of planning."""


def test_planning_has_its_time(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a client of a server; it is free, and the same query is planned where there is time for it."""
    monkeypatch.setattr(interrupts, "PLANNING_SECONDS", 0.01)
    with CancelScope("ana").held():
        refused = gate.explain(LARGE).refused
        with pytest.raises(QueryError, match=r"planning one query may take 0.01 seconds of processor time"):
            gate.sql(LARGE, epsilon=1)
    assert isinstance(refused, QueryError)
    assert refused.sqlstate == "54000"
    assert spent(gate) == (0, [])
    assert gate.explain(LARGE).refused is None, "Python has no limit"


@pytest.mark.parametrize("at", [1, 2, 50, 1000, 2000])
def test_planning_ends_where_it_is_cancelled(at: int, gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the next step, wherever that is."""
    leash, taken = CancelScope("ana"), list[str]()

    def counted() -> None:
        taken.append("")
        if len(taken) == at:
            leash.cancel(cancelled("user request"))
        step()

    for module in STEPPING:
        monkeypatch.setattr(module, "step", counted)
    with leash.held(), planning():
        refused = gate.explain(LARGE).refused
    assert isinstance(refused, QueryError)
    assert (refused.sqlstate, len(taken)) == ("57014", at)


STEPPING = (expressions, emit, bundles, rewrite, select, domains)


@pytest.mark.parametrize("module", STEPPING)
def test_every_part_of_planning_takes_steps(module: Any, gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """More of them for a larger query: none of these parts can go on and on without one."""
    found = list[int]()
    for count in (2, 8):
        taken = list[str]()
        monkeypatch.setattr(module, "step", lambda taken=taken: taken.append(""))
        sums = ", ".join(f"SUM(age + {i}) AS c{i}" for i in range(count))
        unions = " UNION ALL ".join(["SELECT age, x FROM p"] * count)
        assert gate.explain(f"SELECT x, {sums} FROM ({unions}) AS q GROUP BY x HAVING SUM(age + 1) > 0").refused is None
        found.append(len(taken))
    assert found[1] >= found[0] + 6


def test_what_was_paid_for_has_no_pace(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the time of planning nor its client's wish ends what comes after the charge."""
    leash, drawn = CancelScope("ana"), corridor.draw

    def late(*of: Any) -> Any:
        monkeypatch.setattr(interrupts, "PLANNING_SECONDS", -1.0)
        leash.cancel(cancelled("user request"))
        step()
        return drawn(*of)

    monkeypatch.setattr(corridor, "draw", late)
    with leash.held():
        assert gate.sql("SELECT COUNT(*) FROM p", epsilon=10**6).rows == [(60,)]
    with CancelScope("ana").held(), planning():
        with pytest.raises(QueryError):
            step()
        with interrupts.detached():
            step()


def test_joins_and_groups_are_counted_by_themselves(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the other limits, which larger queries meet first."""
    joins = " ".join(f"JOIN p AS p{i} ON p.ssn = p{i}.ssn" for i in range(bound.MOST_JOINS + 1))
    refused = [gate.explain(f"SELECT COUNT(*) FROM p {joins}").refused]
    monkeypatch.setattr(group_keys, "MOST_GROUPS", 3)
    assert gate.explain("SELECT x, COUNT(*) FROM p GROUP BY x").refused is None
    refused.append(gate.explain("SELECT x, age > 3, COUNT(*) FROM p GROUP BY 1, 2").refused)
    assert [one.sqlstate for one in refused if one is not None] == ["54011", "0A000"]


def test_sub_queries_may_be_read_often(gate: Gateway) -> None:
    """Nothing that people write is near the limit."""
    assert gate.explain(chain("SELECT * FROM a{0} UNION ALL SELECT * FROM a{0}", 6)).refused is None


LISTS = [
    ("age", [str(i) for i in range(0, 300, 2)]),
    ("age", ["NULL", *(str(i) for i in range(-150, 20))]),
    ("age + 0.5", [f"{i}.5" for i in range(0, 200, 3)] * 2),
    ("x", ["'b'", *(f"'k{i}'" for i in range(150))]),
    ("ssn", [f"'p{i}'" for i in range(0, 400, 3)]),
]


@pytest.mark.parametrize(("operand", "values"), LISTS)
@pytest.mark.parametrize("no", ["", "NOT "])
def test_a_long_list_means_what_a_short_one_means(operand: str, values: list[str], no: str, gate: Gateway) -> None:
    """More than a hundred values are a set; in pieces they are compared one by one."""
    assert len(values) > 100
    pieces = [values[i : i + 50] for i in range(0, len(values), 50)]
    parts = " OR ".join(f"{operand} IN ({', '.join(piece)})" for piece in pieces)
    asked = [f"SELECT COUNT(*) FROM p WHERE {no}({part})" for part in (f"{operand} IN ({', '.join(values)})", parts)]
    found = [gate.sql(sql, epsilon=10**6).rows for sql in asked]
    assert found[0] == found[1]


def test_a_list_of_thousands_is_answered(gate: Gateway) -> None:
    sql = f"SELECT COUNT(*) FILTER (WHERE age IN ({', '.join(map(str, range(1, 9_900)))})) FROM p"
    assert gate.sql(sql, epsilon=10**6).rows == [(58,)]


def spent(gate: Gateway) -> tuple[Any, list[str]]:
    return gate.budget().spent.epsilon, [entry.kind for entry in gate.ledger.entries() if entry.kind == "debit"]


def test_what_the_text_alone_breaks_is_free(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as somebody tries: the data version stays open for everybody."""
    broken = {**FUNCTIONS["reverse"].spellings, "duckdb": lambda _: "NO_SUCH_FUNCTION(1)"}
    monkeypatch.setitem(FUNCTIONS, "reverse", replace(FUNCTIONS["reverse"], spellings=broken))
    for i in range(5):
        sql = f"SELECT COUNT(*) FROM p WHERE reverse(x) = 'k{i}'"
        with pytest.raises(QueryError, match="the engine cannot run this query"):
            gate.sql(sql, epsilon=1)
        assert isinstance(gate.explain(sql).refused, QueryError)
    assert spent(gate) == (0, [])
    assert len(gate.sql("SELECT COUNT(*) FROM p", epsilon=1).rows) == 1


def test_a_physical_plan_that_cannot_run_is_no_failure(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain form was tried before the charge: it is run instead."""
    monkeypatch.setattr(fast, "_plain", lambda *_: "SELECT nothing FROM nowhere")
    assert gate.sql("SELECT COUNT(*) FROM p", epsilon=10**6).rows == [(60,)]
    assert [entry.kind for entry in gate.ledger.entries()][-2:] == ["debit", "answer"]


@pytest.mark.parametrize("error", [EngineError("no"), QueryError("no memory", sqlstate="53200"), RecursionError()])
def test_a_look_that_fails_is_no_failure(error: Exception, beside: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choosing a physical plan looks at public rows: where that fails, the plain form is run instead."""
    looked = list[str]()

    def look(sql: str) -> Any:
        looked.append(sql)
        raise error

    engine = beside._engine
    assert isinstance(engine, DuckDB)
    monkeypatch.setattr(engine, "known", replace(engine.known, look=look))
    sql = "SELECT COUNT(*) FROM p JOIN y ON p.age = y.g WHERE y.n = 'a'"
    assert beside.sql(sql, epsilon=10**6).rows == [(20,)]
    assert looked
    assert [entry.kind for entry in beside.ledger.entries()][-2:] == ["debit", "answer"]


def test_a_look_that_the_end_interrupts_is_the_end(beside: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a crash: the charge stands, nothing is run any more, and the data version has not failed."""

    def look(_: str) -> Any:
        raise stopped()

    engine = beside._engine
    assert isinstance(engine, DuckDB)
    monkeypatch.setattr(engine, "known", replace(engine.known, look=look))
    with pytest.raises(Stopped):
        beside.sql("SELECT COUNT(*) FROM p JOIN y ON p.age = y.g WHERE y.n = 'a'", epsilon=1)
    assert [entry.kind for entry in beside.ledger.entries()][-1] == "debit"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY ssn ORDER BY LAG(age) OVER (PARTITION BY ssn ORDER BY age)) AS r FROM p) AS q",
        "SELECT x, SUM(RANK() OVER (ORDER BY x)) OVER (ORDER BY x) FROM p GROUP BY x",
    ],
)
def test_a_window_inside_a_window_is_refused_by_its_name(sql: str, gate: Gateway) -> None:
    with pytest.raises(QueryError, match="window function calls cannot be nested") as refused:
        gate.sql(sql, epsilon=1)
    assert refused.value.sqlstate == "42P20"
    assert spent(gate) == (0, [])


def test_a_plan_that_claims_too_little_is_free(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one person can change is derived anew before the charge, and a preview says the same."""
    monkeypatch.setattr(cut._Work, "bound", Fraction(1, 2))
    with pytest.raises(PlanError, match=r"one unit could change COUNT\(\*\) by 1, but the plan claims 0.5"):
        gate.sql("SELECT COUNT(*) FROM p", epsilon=1)
    assert isinstance(gate.explain("SELECT COUNT(*) FROM p", epsilon=1).refused, PlanError)
    assert spent(gate) == (0, [])


@pytest.mark.parametrize("sql", [
    "SELECT COUNT(*) FROM p CROSS JOIN (SELECT 'B' AS z ORDER BY z LIMIT 1) AS r",
    "SELECT COUNT(*) FROM p CROSS JOIN (SELECT 1 AS a, 'B' AS z ORDER BY z, a LIMIT 1) AS r WHERE age > a",
    "SELECT COUNT(*) FROM p CROSS JOIN (SELECT DATE '2024-01-01' AS z ORDER BY z DESC LIMIT 1) AS r",
    "SELECT COUNT(*) AS n FROM p ORDER BY 'x' LIMIT 1",
])  # fmt: skip
def test_an_order_by_a_constant_is_no_order(sql: str, gate: Gateway) -> None:
    assert len(gate.sql(sql, epsilon=1).rows) == 1


@pytest.mark.parametrize("character", ["\ud800", "\x00"])
def test_what_is_no_character_is_refused(character: str, gate: Gateway) -> None:
    refused = gate.explain(f"SELECT COUNT(*) FROM p WHERE x = 'a{character}'").refused
    assert isinstance(refused, QueryError)
    assert (refused.sqlstate, refused.position) == ("22021", 36)


def test_a_day_among_moments_is_a_key(gate: Gateway) -> None:
    sql = "SELECT CASE WHEN age > 20 THEN TIMESTAMP '2024-01-01 10:00' ELSE DATE '2024-01-02' END, COUNT(*) FROM p GROUP BY 1"
    assert sorted(count for _, count in gate.sql(sql, epsilon=10**6).rows) == [29, 31]


TIES = "(SELECT n, g, ROW_NUMBER() OVER (ORDER BY g) AS k FROM y) AS w"
MEETS = [
    f"SELECT COUNT(*) FROM p JOIN {TIES} ON p.x = w.n WHERE w.k <= 2",
    f"SELECT COUNT(*) FROM p LEFT JOIN {TIES} ON p.age < w.k",
    f"SELECT COUNT(*) FROM p WHERE age > (SELECT MAX(k) FROM {TIES})",
    f"SELECT COUNT(*) FROM p WHERE x IN (SELECT n FROM {TIES} WHERE k = 1)",
    f"SELECT COUNT(*) FROM p WHERE NOT EXISTS (SELECT 1 FROM {TIES} WHERE w.n = p.x AND k = 2)",
    f"SELECT x, COUNT(*) FROM p JOIN (SELECT MAX(k) AS m FROM {TIES}) AS z ON p.age > z.m GROUP BY x",
    "SELECT COUNT(*) FROM p JOIN (SELECT x AS n, COUNT(*) AS c, ROW_NUMBER() OVER (ORDER BY MAX(age)) AS k FROM p GROUP BY x) AS w ON p.x = w.n WHERE w.k = 1",
]


def test_a_plan_in_which_a_person_may_have_two_identifiers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checker does not rely on the policy, which gives all unit columns one domain."""
    PEOPLE.to_parquet(tmp_path / "p.parquet")
    PEOPLE.to_parquet(tmp_path / "v.parquet")
    private, _, _ = _POLICY.partition("[tables.y]")
    wider = private[private.index("[tables.p]") :].replace("tables.p", "tables.v").replace("length = 9", "length = 8")
    place = tmp_path / "sfumato.toml"
    place.write_text(private.replace('y = "y', 'v = "v') + wider)
    both = "SELECT COUNT(*) FROM (SELECT ssn FROM p UNION ALL SELECT ssn FROM v) AS q"
    with sfumato.open(place) as gate:
        assert gate.explain(both, epsilon=1).refused is None
    monkeypatch.setattr(policy_tables, "_with_one_domain", lambda tables, marks: tables)
    with sfumato.open(place) as gate:
        assert gate.explain("SELECT COUNT(*) FROM v", epsilon=1).refused is None
        with pytest.raises(PlanError, match="one person may have two identifiers in this plan"):
            gate.sql(both, epsilon=1)
        assert spent(gate)[0] == 0


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Gateway]:
    """p, and a public table whose rows tie."""
    PEOPLE.to_parquet(tmp_path / "p.parquet")
    pd.DataFrame({"n": ["a", "b", "a", "b"] * 5, "g": [1] * 20}).to_parquet(tmp_path / "y.parquet")
    (tmp_path / "sfumato.toml").write_text(_POLICY)
    with sfumato.open(tmp_path / "sfumato.toml") as made:
        yield made


_POLICY = (
    '[source]\nengine = "duckdb"\nfiles = { p = "p.parquet", y = "y.parquet" }\n[data]\nid = "d"\n[privacy]\nepsilon = 1e9\ndelta = 0.1\n'
    '[tables.p]\nunit = "ssn"\nrows_per_unit = 1\n[tables.p.columns]\nssn = { type = "text", max_length = 9 }\n'
    'age = { type = "integer", min = 0, max = 120 }\nx = { values = ["a", "b"] }\no = { type = "text", max_length = 5 }\n[tables.y]\npublic = true\n'
)


@pytest.mark.parametrize("sql", MEETS)
def test_public_rows_are_computed_once(sql: str, beside: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that were counted are the rows that are read: nothing that is run computes them again."""
    run, ran = duckdb_engine.fetch, list[str]()

    def noted(cursor: Any, statement: Any, *more: Any) -> Any:
        ran.append(statement.text)
        return run(cursor, statement, *more)

    monkeypatch.setattr(duckdb_engine, "fetch", noted)
    beside.sql(sql, epsilon=1)
    private = [text for text in ran if '"p"' in text]
    assert private
    assert [text for text in private if "row_number" in text.lower()] == []


def test_kept_rows_are_let_go(beside: Gateway) -> None:
    """They live as long as a plan that reads them; tables of forgotten plans are dropped."""
    engine = beside._engine
    assert isinstance(engine, DuckDB)

    def kept() -> int:
        return len(engine._private.execute("SELECT 1 FROM duckdb_tables() WHERE schema_name = '#fixed'").fetchall())

    for number in range(3):
        beside.explain(f"SELECT COUNT(*) FROM p JOIN (SELECT DISTINCT n, g + {number} AS g FROM y) AS w ON p.age = w.g")
    assert kept() == 3
    beside._planner._questions = Recent(1)
    beside._planner._plans = Recent(1)
    beside._memory = RecentAnswers()
    gc.collect()
    beside.explain("SELECT COUNT(*) FROM p JOIN (SELECT DISTINCT n, g + 9 AS g FROM y) AS w ON p.age = w.g")
    assert kept() == 1


def test_more_public_rows_than_are_kept_are_refused(beside: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed, "MOST_ROWS", 100)
    refused = beside.explain(
        "SELECT COUNT(*) FROM p JOIN (SELECT DISTINCT a.n, b.n AS m, a.g FROM y AS a CROSS JOIN y AS b UNION ALL SELECT a.n, b.n, 3 FROM y AS a CROSS JOIN y AS b) AS w ON p.x = w.n"
    ).refused
    assert isinstance(refused, QueryError)
    assert refused.sqlstate == "54000"


def test_large_tables_are_tried_in_one_piece(beside: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open keys of large tables are counted in slices of persons; the dry run has no persons to slice."""
    monkeypatch.setattr(slices, "_LARGE", 0)
    assert beside.sql("SELECT o, COUNT(*) FROM p GROUP BY o", epsilon=10**6).rows == [("u", 20), ("v", 20), ("w", 20)]


def test_nothing_before_the_charge_depends_on_rows(beside: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal would tell by its time whether anybody has two rows, if what the engine knows were asked before it."""
    asked = list[str]()
    monkeypatch.setattr(fast, "physical", lambda *of: asked.append("physical") or physical(*of))
    engine = beside._engine
    assert isinstance(engine, DuckDB)
    monkeypatch.setattr(type(engine.known), "__getattribute__", _noted(asked))
    sql = "SELECT COUNT(*) FROM p JOIN y ON p.age = y.g + 1"
    assert beside.explain(sql, epsilon=1).refused is None
    with pytest.raises(BudgetError):
        beside.sql(sql, epsilon=10**10)
    assert asked == []
    beside.sql(sql, epsilon=1)
    assert "physical" in asked
    assert len(asked) > 1


def _noted(asked: list[str]) -> Any:
    def get(known: Any, name: str) -> Any:
        if not name.startswith("__"):
            asked.append(name)
        return object.__getattribute__(known, name)

    return get


def test_an_answer_over_computed_public_rows_is_not_refined(tmp_path: Path) -> None:
    """These rows may come out otherwise the next time, and a better number would be drawn for another exact one."""
    PEOPLE.to_parquet(tmp_path / "p.parquet")
    pd.DataFrame({"n": ["a", "b"], "g": [1, 2]}).to_parquet(tmp_path / "y.parquet")
    (tmp_path / "sfumato.toml").write_text(_POLICY.replace("delta = 0.1\n", ""))
    with sfumato.open(tmp_path / "sfumato.toml") as gate:
        for sql, refined in (
            ("SELECT COUNT(*) FROM p JOIN y ON p.x = y.n", True),
            ("SELECT COUNT(*) FROM p JOIN (SELECT n, MAX(g) AS g FROM y GROUP BY n) AS w ON p.x = w.n", False),
            ("SELECT COUNT(*) FROM p WHERE age > (SELECT SUM(g) FROM y)", False),
        ):
            gate.sql(sql, epsilon=1)
            assert gate.sql(sql, epsilon=3).cost.epsilon == (2 if refined else 3), sql


def test_nulls_that_are_declared_away_leave_public_rows_too(tmp_path: Path) -> None:
    """Bounds of expressions rest on it: one person moved a sum by a hundred times the claim."""
    pd.DataFrame({"id": range(11), "i": [0] * 11, "k": [1] * 10 + [2]}).to_parquet(tmp_path / "d.parquet")
    pd.DataFrame({"g": [1, 2], "x": [995, None]}, dtype="Int64").to_parquet(tmp_path / "y.parquet")
    (tmp_path / "sfumato.toml").write_text(
        '[source]\nengine = "duckdb"\nfiles = { d = "d.parquet", y = "y.parquet" }\n[data]\nid = "d"\n[privacy]\nepsilon = 1e9\n'
        '[tables.d]\nunit = "id"\nrows_per_unit = 1\n[tables.d.columns]\nid = { type = "integer" }\n'
        "i = { type = 'integer', min = 0, max = 1000 }\nk = { type = 'integer', min = 0, max = 10 }\n[tables.y]\npublic = true\n"
        "[tables.y.columns]\ng = { type = 'integer', min = 0, max = 10 }\nx = { type = 'integer', min = 990, max = 1000, nulls = false }\n"
    )
    with sfumato.open(tmp_path / "sfumato.toml") as gate:
        assert gate.sql("SELECT SUM(1000 - GREATEST(y.x, i)) FROM d JOIN y ON d.k = y.g", epsilon=10**6).rows == [(50,)]
        assert gate.sql("SELECT COUNT(*) FROM y", epsilon=1).rows == [(1,)]


def test_a_better_answer_for_a_hair_more_is_no_failure(tmp_path: Path) -> None:
    """A refinement whose two epsilons nearly agree needs more bits; it closed the data version for everybody."""
    PEOPLE.to_parquet(tmp_path / "p.parquet")
    pd.DataFrame({"n": ["a"], "g": [1]}).to_parquet(tmp_path / "y.parquet")
    (tmp_path / "sfumato.toml").write_text(_POLICY.replace("delta = 0.1\n", ""))
    with sfumato.open(tmp_path / "sfumato.toml") as gate:
        for digits in (44, 52, 60):
            sql = f"SELECT COUNT(*) FROM p WHERE age > {digits}"
            gate.sql(sql, epsilon="0.000001")
            assert len(gate.sql(sql, epsilon="0.000001" + "0" * (digits - 7) + "1").rows) == 1
        for low, high in ((200, 201), (5000, 5001)):
            sql = f"SELECT COUNT(*) FROM p WHERE age > {low}"
            gate.sql(sql, epsilon=low)
            assert len(gate.sql(sql, epsilon=high).rows) == 1


def test_a_mean_of_a_constant_is_part_of_the_question(gate: Gateway) -> None:
    """A later stage depends on the constant: the stored answer of another one is not given."""
    found = [
        gate.sql(f"SELECT COUNT(*) FROM p WHERE age > (SELECT AVG({n}) FROM p)", epsilon=10**6).rows for n in (0, 30)
    ]
    assert found[0] != found[1]


@pytest.mark.parametrize(
    "item",
    ["COALESCE(w.c, 0)", "GREATEST(w.c, 0)", "CASE WHEN w.c IS NULL THEN 0 ELSE w.c END", "COALESCE(w.c + 1, 0)"],
)
def test_what_noise_may_leave_out_has_no_interval_behind_a_default(item: str, beside: Gateway) -> None:
    """Had noise left the row out, SQL would give the default: the interval of the other number says nothing of it."""
    released = "(SELECT x, COUNT(*) AS c FROM p GROUP BY x HAVING COUNT(*) > 1)"
    sql = f"SELECT y.n, {item} AS v FROM (SELECT DISTINCT n FROM y) AS y LEFT JOIN {released} AS w ON w.x = y.n"
    answer = beside.sql(sql, epsilon=10**6)
    assert [row[1] is None for row in answer.intervals()] == [True] * len(answer.rows)
    assert any(row[1] for row in answer.rows)


@pytest.mark.parametrize(
    "item", ["CEIL()", "FLOOR()", "DIV()", "DIV(age)", "REPLACE(x, x)", "TS_OR_DS_TO_DATE_STR()", "ROUND()"]
)
def test_a_function_with_too_few_arguments_is_refused(item: str, gate: Gateway) -> None:
    for sql in (f"SELECT {item} FROM p", f"SELECT COUNT(*) FROM p WHERE {item} = 1"):
        assert isinstance(gate.explain(sql).refused, QueryError)


def test_public_rows_that_are_kept_are_bounded_in_bytes(beside: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed, "MOST_BYTES", 1000)
    sql = "SELECT COUNT(*) FROM p JOIN (SELECT DISTINCT n, n || 'zzzzzzzzzzzzzzzzzzzzz' || g AS w FROM y) AS w ON p.x = w.n"
    assert beside.explain(sql).refused is None
    monkeypatch.setattr(fixed, "MOST_BYTES", 50)
    assert beside.explain(sql.replace("'z", "'y")).refused.sqlstate == "54000"  # type: ignore[union-attr]


STAGED = (
    "WITH r AS (SELECT age, COUNT(*) AS n FROM p GROUP BY age) SELECT COUNT(*) FROM p"
    " WHERE age > (SELECT SUM(a.n * b.n + c.n * d.n + {0}) FROM r a CROSS JOIN r b CROSS JOIN r c CROSS JOIN r d)"
)


def test_what_text_alone_breaks_between_stages_closes_nothing(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sub-query is fast over one group and without end over all of them: 121^4 rows. It reads no private row."""
    monkeypatch.setattr(duckdb_engine, "FREE_SECONDS", 0.2)
    for i in range(4):  # three failures would close the data version
        with CancelScope("ann").held():
            assert gate.explain(STAGED.format(i), epsilon=1).refused is None
            with pytest.raises(QueryError, match="may run for") as refused:
                gate.sql(STAGED.format(i), epsilon=1)
        assert refused.value.sqlstate == "57014"
        assert refused.value.detail == "The charge stands."
    assert gate.budget().spent.epsilon == 4
    assert gate.sql("SELECT COUNT(*) FROM p", epsilon=1).rows


def test_a_failure_between_stages_is_one_of_the_query(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's own words stay with the operator; what fails over private rows still counts."""
    engine, ran = gate._engine, list[int]()
    run, between = engine.run, engine.fixed_table

    def failing(*_: Any) -> Any:
        raise EngineError("the engine could not run this query")

    monkeypatch.setattr(engine, "run", lambda *args: (ran.append(1), run(*args))[1])
    monkeypatch.setattr(engine, "fixed_table", lambda *args: failing() if ran else between(*args))
    for i in range(4):
        ran.clear()
        with pytest.raises(QueryError, match="this query's released numbers cannot be computed"):
            gate.sql(f"SELECT COUNT(*) FROM p WHERE age > (SELECT COUNT(*) FROM p) + {i}", epsilon=1)
    assert gate.sql("SELECT COUNT(*) FROM p", epsilon=1).rows
    monkeypatch.setattr(engine, "run", failing)
    for i in range(3):
        with pytest.raises(EngineError):
            gate.sql(f"SELECT COUNT(*) FROM p WHERE age > {i}", epsilon=1)
    with pytest.raises(LedgerError, match="closed"):
        gate.sql("SELECT COUNT(*) FROM p WHERE age > 9", epsilon=1)
