"""The work of planning grows with the size of a statement and no faster: counted in calls, never in seconds."""

# ruff: noqa: E501  a query stands on one line
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sqlglot import exp

import sfumato
from sfumato.algebra import relations, tree
from sfumato.engines import base
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.duckdb import relations as select
from sfumato.errors import QueryError
from sfumato.gateway import Gateway
from sfumato.server.per_user_limits import Allowance
from sfumato.server.pgwire.results import WireTask
from sfumato.server.pgwire.session_objects import SessionObjects
from sfumato.server.pgwire.settings import Settings
from sfumato.server.pgwire.statement_kinds import check_length
from sfumato.sql.read import normalize, parameters, parser
from sfumato.sql.read.lexer import statements
from sfumato.sql.read.parameters import fill, types
from sfumato.sql.release import impossible, joint_sensitivity, normal_form

PEOPLE = pd.DataFrame({"ssn": [f"p{i}" for i in range(20)], "age": [i % 20 for i in range(20)]})


@pytest.fixture
def gate() -> Iterator[Gateway]:
    with sfumato.protect(
        PEOPLE, unit="ssn", rows_per_unit=1, epsilon=10**9, bounds={"age": (0, 120)}, name="p"
    ) as made:
        yield made


def counting(patch: pytest.MonkeyPatch, *of: tuple[Any, str]) -> Counter[str]:
    """How often these functions are called from now on."""
    calls: Counter[str] = Counter()

    def counted(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            calls[name] += 1
            return inner(*args, **named)

        return call

    for module, name in of:
        patch.setattr(module, name, counted(name, getattr(module, name)))
    return calls


def joined(joins: int, values: int) -> str:
    """A list below a sub-query that is joined with itself."""
    listed = ", ".join(map(str, range(values)))
    more = " ".join(f"JOIN c AS c{i} USING (ssn)" for i in range(1, joins))
    return f"WITH c AS (SELECT ssn, age FROM p WHERE age IN ({listed})) SELECT COUNT(*) FROM c AS c0 {more}"


WORK = (
    (impossible, "_plain"),
    (joint_sensitivity, "is_atom"),
    (joint_sensitivity, "_survey"),
    (normal_form, "_constant"),
    (normal_form, "_number_key"),
    (tree, "children"),
    (relations, "_renamed"),
)


def test_a_list_that_is_read_often_is_looked_at_once_for_each_time(
    gate: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice the joins are twice the work, not four times: conditions and the columns that they read are kept."""
    calls = counting(monkeypatch, *WORK)
    found = []
    for joins in (6, 12):
        calls.clear()
        assert gate.explain(joined(joins, 150)).refused is None
        found.append(dict(calls))
    assert min(found[0].values()) > 0
    for name, often in found[1].items():
        assert often < 2.6 * found[0][name], name
    assert found[1]["_constant"] < 2 * 12 * 150, "not once for each order of equal tables"


def test_no_long_work_is_without_a_step(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done for each value of a list takes steps itself."""
    since, most = Counter[str](), Counter[str]()

    def step() -> None:
        for name, often in since.items():
            most[name] = max(most[name], often)
        since.clear()

    def counted(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            since[name] += 1
            return inner(*args, **named)

        return call

    for module in (impossible, joint_sensitivity, normal_form, relations, tree):
        monkeypatch.setattr(module, "step", step)
    for module, name in WORK:
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    values = 400
    assert gate.explain(joined(8, values)).refused is None
    step()
    assert set(most) == {name for _, name in WORK}
    for name, often in most.items():
        assert often <= 3 * values, name


# parameters
def prepared(count: int) -> str:
    return f"SELECT COUNT(*) FROM p WHERE age IN ({', '.join(f'${i + 1}' for i in range(count))})"


def test_types_of_many_parameters_are_found_in_one_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for count in (200, 400):
        (statement,) = statements(prepared(count))
        looked = list[int]()
        inner = parameters._is_value
        with monkeypatch.context() as patch:
            patch.setattr(parameters, "_is_value", lambda token, n=looked, f=inner: n.append(1) or f(token))
            assert set(types(statement, {"age": "bigint"}).values()) == {"bigint"}
        found.append(len(looked))
    assert found[0] <= len(statements(prepared(200))[0].tokens)
    assert found[1] < 2.5 * found[0]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("SELECT 1 FROM p WHERE age IN ($1, 2, $2) AND day > $3", ["bigint", "bigint", "date"]),
        ("SELECT 1 FROM p WHERE age BETWEEN $1 AND $2 OR NOT ($3 < age)", ["bigint", "bigint", "bigint"]),
        ("SELECT $1", ["text"]),
        ("SELECT $1::bigint, ($2)", ["bigint", "text"]),
        ("SELECT 1 FROM p WHERE age = ANY ($1) LIMIT $2", ["bigint[]", "bigint"]),
    ],
)
def test_types_are_those_of_the_walk_for_each(text: str, kinds: list[str]) -> None:
    (statement,) = statements(text)
    assert list(types(statement, {"age": "bigint", "day": "date"}).values()) == kinds


def test_one_value_in_many_places_is_refused_while_the_text_grows() -> None:
    """Its length counts in every place: a text of 60,000 characters in 1,000 places would be 60 MB."""
    (statement,) = statements(f"SELECT {', '.join(['$1'] * 1_000)}")
    told = list[int]()

    def check(size: int) -> None:
        told.append(size)
        check_length(size)

    with pytest.raises(QueryError) as refused:
        fill(statement, ["v" * 60_000], check)
    assert refused.value.sqlstate == "54000"
    assert len(told) == 2
    assert max(told) < 200_000


def test_a_list_is_looked_for_near_its_parameter_alone() -> None:
    (statement,) = statements("SELECT 1 FROM p WHERE age = ANY ($1" + ", 1" * 100 + ")")
    with pytest.raises(QueryError, match="a list can only be used"):
        fill(statement, [[1, 2]])
    (statement,) = statements("SELECT 1 FROM p WHERE age = ANY ($1::pg_catalog.int4[])")
    assert " IN (1, 2) " in fill(statement, [[1, 2]]).text


@pytest.mark.parametrize(
    ("text", "sqlstate", "planned"), [("a", "22023", 6), ("a" * 20_000, "22023", 2), ("a", "54000", 1)]
)
def test_a_long_statement_is_not_tried_with_every_sample(text: str, sqlstate: str, planned: int) -> None:
    """What reaches a limit reaches it with other values too; and what is long is planned twice at most."""
    (statement,) = statements(f"SELECT COUNT(*) FROM p WHERE note = '{text}' AND note = $1")
    shelf = SessionObjects(Settings("ana"), {}, Allowance(10**9))
    steps, looks = shelf.checked(shelf.prepared(statement, ()), shelf.options(None)), 0
    error: QueryError | None = None
    try:
        work = next(steps)
        while True:
            if work.task is WireTask.COMPUTE:
                work = steps.send(work.compute())
            else:
                looks += 1
                work = steps.throw(QueryError("no", sqlstate=sqlstate))
    except StopIteration:
        pass
    except QueryError as raised:
        error = raised
    assert looks == planned
    assert (error is not None) == (sqlstate == "54000")


# lists in texts
def test_elements_of_a_written_list_count_as_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted before any of them becomes a node."""
    monkeypatch.setattr(parser, "_MOST_TOKENS", 200)
    made = counting(monkeypatch, (normalize, "written_array"))
    for form in (
        "age = ANY('{{{0}}}')",
        "age < ALL('{{{0}}}')",
        "age = ANY($${{{0}}}$$)",
        "age = ANY (' {{{0}}} '::int[])",
    ):
        made.clear()
        parser.parse(f"SELECT COUNT(*) FROM p WHERE {form.format(','.join(['1'] * 80))}")
        assert made
        made.clear()
        with pytest.raises(QueryError, match="at most 200 tokens, but this one has") as refused:
            parser.parse(f"SELECT COUNT(*) FROM p WHERE {form.format(','.join(['1'] * 120))}")
        assert refused.value.sqlstate == "54000"
        assert not made
    parser.parse(f"SELECT COUNT(*) FROM p WHERE note = '{',' * 500}'")


def test_a_list_is_not_copied_for_each_of_its_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    walk = exp.Expression.walk
    for count in (100, 200):
        seen = list[int]()
        with monkeypatch.context() as patch:
            patch.setattr(
                exp.Expression,
                "walk",
                lambda node, *a, n=seen, **k: (n.append(1) or one for one in walk(node, *a, **k)),
            )
            made = counting(patch, (exp.Literal, "__init__"))
            parser.parse(f"SELECT COUNT(*) FROM p WHERE age < ALL (ARRAY[{', '.join(map(str, range(count)))}])")
        found.append((len(seen), made["__init__"]))
    assert min(found[0]) > 0
    for one, twice in zip(*found, strict=True):
        assert twice < 2.5 * one


@pytest.mark.parametrize("operator", ["< ALL", "> ANY", "= ALL", "<> ANY", ">= SOME"])
def test_a_long_list_of_few_values_is_a_set_and_one_of_many_is_refused(operator: str, gate: Gateway) -> None:
    few, many = (",".join(str(i % size) for i in range(3_000)) for size in (10, 3_000))
    short = gate.explain(f"SELECT COUNT(*) FROM p WHERE age {operator} ('{{{','.join(map(str, range(10)))}}}')")
    long = gate.explain(f"SELECT COUNT(*) FROM p WHERE age {operator} ('{{{few}}}')")
    assert long.refused is None
    assert long.cost == short.cost
    refused = gate.explain(f"SELECT COUNT(*) FROM p WHERE age {operator} ('{{{many}}}')").refused
    assert refused is not None
    assert refused.sqlstate == "54001"
    assert "more than 1000 values" in refused.message


# SQL that is written out
WIDE = {
    "unions": "WITH a0 AS (SELECT k FROM y WHERE k IN ({0})), "
    + ", ".join(f"a{i + 1} AS (SELECT * FROM a{i} UNION ALL SELECT * FROM a{i})" for i in range(5))
    + " SELECT COUNT(*) FROM a5",
    "joins": "WITH c AS (SELECT k FROM y WHERE k IN ({0})) SELECT COUNT(*) FROM c "
    + " ".join(f"JOIN c AS c{i} USING (k)" for i in range(30)),
    "grouping sets": "SELECT COUNT(*) FROM (SELECT k, v, w FROM y WHERE k IN ({0})) AS q GROUP BY CUBE (k, v, w, k + v, k + w)",
    "people": "WITH c AS (SELECT ssn FROM p WHERE age IN ({0})) SELECT COUNT(*) FROM c "
    + " ".join(f"JOIN c AS c{i} USING (ssn)" for i in range(30)),
    "people and marks": "WITH a0 AS (SELECT ssn, age FROM p WHERE age IN ({0})), "
    + ", ".join(f"a{i + 1} AS (SELECT * FROM a{i} WHERE age IN (SELECT k FROM y WHERE k IN ({{0}})))" for i in range(5))
    + " SELECT COUNT(*) FROM a5",
}


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Gateway]:
    PEOPLE.to_csv(tmp_path / "p.csv", index=False)
    pd.DataFrame({"k": range(9), "v": range(9), "w": range(9)}).to_csv(tmp_path / "y.csv", index=False)
    (tmp_path / "sfumato.toml").write_text(
        '[source]\nengine = "duckdb"\nfiles = { p = "p.csv", y = "y.csv" }\n[data]\nid = "d"\nversion = "1"\nledger = "d.ledger"\n'
        '[privacy]\nepsilon = 100\n[tables.p]\nunit = "ssn"\nrows_per_unit = 1\n[tables.p.columns]\n'
        'ssn = { type = "text", max_length = 9 }\nage = { type = "integer", min = 0, max = 120 }\n[tables.y]\npublic = true\n'
    )
    with sfumato.open(tmp_path / "sfumato.toml") as made:
        yield made


@pytest.mark.parametrize("kind", WIDE)
def test_sql_that_is_written_out_is_bounded(kind: str, beside: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read often is written often: it is refused while it is written, and no engine sees it."""
    most = 4_000 if "marks" in kind else 20_000  # public rows are computed once, and named by a word after that
    monkeypatch.setattr(base, "LONGEST_SQL", most)
    ran, longest = list[int](), list[int]()
    inner, selects = DuckDB._free_cursor, select._select
    monkeypatch.setattr(DuckDB, "_free_cursor", lambda *of: ran.append(1) or inner(*of))
    monkeypatch.setattr(select, "_select", lambda *of: longest.append(len(text := selects(*of))) or text)
    assert beside.explain(WIDE[kind].format("1, 2")).refused is None
    ran.clear()
    longest.clear()
    refused = beside.explain(WIDE[kind].format(", ".join(map(str, range(800))))).refused
    assert refused is not None
    assert (refused.sqlstate, "written out" in refused.message) == ("54001", True)
    assert max(longest) < 3 * most, "two sides of a join at most"
    assert len(ran) <= (5 if "marks" in kind else 0), "public rows that private ones meet are computed one by one"
