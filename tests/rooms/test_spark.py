"""Spark as an engine: what is read, what is refused, what comes to the driver, and what ends when it must."""

# ruff: noqa: E501  a statement stands on one line
from __future__ import annotations

import random
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sfumato
from sfumato.engines.spark import Spark, session
from sfumato.engines.spark.session import SparkServer
from sfumato.engines.spark.spelling import once, text
from sfumato.engines.spark.tables import open_table, placed
from sfumato.errors import EngineError, InputError, PolicyError, QueryError
from sfumato.interrupts import Leash, Stopped, cancelled
from sfumato.policy import load

pytest.importorskip("pyspark")
MASTER = "local[2]"
POLICY = """
[source]
engine = "spark"
master = "local[2]"
tables = {{ person = "{person}", visit = "{visit}", city = "city.csv" }}
[data]
id = "room"
[privacy]
epsilon = 1e9
delta = 0.01
query_epsilon = 1e6
composition = "pure"
[tables.person]
unit = "id"
rows_per_unit = 1
[tables.person.columns]
id = {{ type = "integer" }}
region = {{ values = ["north", "south"] }}
born = {{ type = "date", min = 1900-01-01, max = 2024-12-31 }}
[tables.visit]
unit = {{ join = "person", on = "who = id" }}
rows_per_unit = 10
[tables.visit.columns]
who = {{ type = "integer" }}
city = {{ type = "text", max_length = 20 }}
kind = {{ values = ["a", "b"] }}
cost = {{ type = "decimal", min = 0, max = 100, grid = 0.01 }}
at = {{ type = "timestamp" }}
[tables.city]
public = true
"""
PERSON = "SELECT i::BIGINT AS id, CASE i % 2 WHEN 0 THEN 'north' ELSE 'south' END AS region, DATE '1950-01-01' + i::INT AS born FROM range(1, 101) t(i)"
VISIT = "SELECT (1 + i % 100)::BIGINT AS who, ['Paris', 'Lyon', 'Nice'][1 + i % 3] AS city, ['a', 'b'][1 + i % 2] AS kind, (i % 50)::DECIMAL(8, 2) AS cost, TIMESTAMP '2024-01-01' + i * INTERVAL 1 HOUR AS at FROM range(1, 401) t(i)"
ASKED = "SELECT kind, COUNT(*), SUM(cost) FROM visit GROUP BY kind"


def write(folder: Path, **places: str) -> Path:
    """The policy over Parquet files, and one of text."""
    with duckdb.connect() as link:
        link.execute(f"COPY ({PERSON}) TO '{folder}/person.parquet'")
        link.execute(f"COPY ({VISIT}) TO '{folder}/visit.parquet'")
    (folder / "city.csv").write_text("name,country\nParis,FR\nLyon,FR\nNice,FR\n")
    file = folder / "sfumato.toml"
    file.write_text(POLICY.format(**{"person": "person.parquet", "visit": "visit.parquet"} | places))
    return file


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return write(tmp_path)


@pytest.fixture
def server() -> Iterator[SparkServer]:
    made = SparkServer(MASTER)
    yield made
    made.close()


def answer(gate: Any, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in gate.sql(sql).rows]


def exact(engine: Spark, policy: Path, sql: str) -> Any:
    """The exact vector of a query."""
    from tests.laws.engines import Everywhere, vector

    here = Everywhere(load(policy), {"spark": engine}, {})
    plan = here.planned(engine, sql)
    return [vector(engine, cut, ()) for cut in plan.cuts]


# end to end
def test_answers_are_those_of_the_rows(policy: Path) -> None:
    """At a huge epsilon an answer is the exact one: Parquet and text, and public rows."""
    with sfumato.open(policy) as gate:
        assert answer(gate, ASKED)[:2] == [("a", 200, 4800), ("b", 200, 5000)]
        joined = "SELECT c.country, COUNT(*) FROM visit AS v JOIN city AS c ON v.city = c.name GROUP BY c.country"
        assert answer(gate, joined)[0] == ("FR", 400)
        # a text that is written as a variable of Spark's is a text
        assert answer(gate, "SELECT COUNT(*) FROM visit WHERE city = '${env:HOME}' OR city LIKE '%\\_%'")[0][0] == 0


# what comes to the driver
def _top(plan: str) -> list[str]:
    """The operators of an optimized plan, from the top down to the first that is neither a projection nor a filter."""
    section = plan.partition("== Optimized Logical Plan ==")[2].partition("== Physical Plan ==")[0]
    names = [re.sub(r"^[\s:+-]*", "", line).split(" ")[0].split("(")[0] for line in section.strip().splitlines()]
    return names[: next((i for i, name in enumerate(names) if name not in ("Project", "Filter", "Sort")), 0) + 1]


def brings_rows(server: SparkServer, sql: str, public: set[str]) -> bool:
    """Whether a statement would bring rows of a table that is not public, one by one."""
    last = _top(server.plan(sql))[-1]
    views = set(re.findall(r"`(sfumato_\w+)`", sql))
    return last not in ("Aggregate", "LocalRelation", "Range") and not views <= public


def test_no_private_row_comes_to_the_driver(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every statement but those over public rows ends in an aggregate, and there is one way out alone."""
    import pyspark.sql.classic.dataframe as frames

    ran: list[str] = []
    cells = SparkServer.cells
    monkeypatch.setattr(SparkServer, "cells", lambda self, sql, *a, **k: ran.append(sql) or cells(self, sql, *a, **k))

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("rows were collected")

    for name in ("collect", "take", "head", "first", "toPandas", "toLocalIterator", "show", "foreach"):
        monkeypatch.setattr(frames.DataFrame, name, never)
    queries = [
        ASKED,
        "SELECT city, COUNT(*) FROM visit GROUP BY city",
        "SELECT COUNT(DISTINCT city), MEDIAN(cost) FROM visit",
    ]
    with sfumato.open(policy) as gate:
        for query in queries:
            gate.sql(query)
        engine: Any = gate._engine
        public = {table.view for name, table in engine.tables.items() if name == "city"}
        assert len(ran) > 6
        assert not [sql for sql in ran if brings_rows(engine._server, sql, public)]
        stray = f"SELECT who FROM {engine.tables['visit'].place}"
        assert brings_rows(engine._server, stray, public), "the test sees what it is for"


def test_only_one_function_fetches() -> None:
    """No module of the engine fetches rows but `cells`; a plan is text."""
    folder = Path(session.__file__).parent
    fetches = re.compile(r"\.(collect|toArrow|toPandas|take|head|first|toLocalIterator|show)\(")
    found = [
        (file.name, line.strip())
        for file in sorted(folder.glob("*.py"))
        for line in file.read_text().splitlines()
        if fetches.search(line)
    ]
    assert [name for name, _ in found] == ["session.py", "session.py"]
    assert all("sql(" in line for _, line in found)


# the same numbers, however it is run
def test_the_vector_does_not_depend_on_how_spark_runs_it(policy: Path, tmp_path: Path) -> None:
    """Adaptive plans, the number of parts, generated code, the order of rows and of files: one vector."""
    queries = [ASKED, "SELECT city, kind, COUNT(*), SUM(cost) FROM visit GROUP BY city, kind"]
    engine = Spark(load(policy))
    try:
        meant = [exact(engine, policy, query) for query in queries]
        for name, value in (
            ("adaptive.enabled", "false"),
            ("shuffle.partitions", "7"),
            ("codegen.wholeStage", "false"),
            ("autoBroadcastJoinThreshold", "-1"),
        ):
            engine._server._session.conf.set(f"spark.sql.{name}", value)
        assert [exact(engine, policy, query) for query in queries] == meant
    finally:
        engine.close()
    with duckdb.connect() as link:
        for part in range(3):
            link.execute(
                f"COPY (SELECT * FROM ({VISIT}) AS q WHERE hash(who, cost) % 3 = {part} ORDER BY hash(cost, {part})) TO '{tmp_path}/part{part}.parquet'"
            )
    file = write(tmp_path, visit="part*.parquet")
    engine = Spark(load(file))
    try:
        assert [exact(engine, file, query) for query in queries] == meant
    finally:
        engine.close()


# what ends when it must
_LONG = "SELECT COUNT(*) FROM range(1000000000) AS a CROSS JOIN range(1000000) AS b WHERE hash(a.id, b.id) = 5"


def test_a_run_ends_with_its_client(server: SparkServer) -> None:
    leash = Leash()
    threading.Timer(1.0, lambda: leash.cancel(cancelled("user request"))).start()
    with pytest.raises(QueryError, match="user request"):
        server.cells(_LONG, leash)
    assert server.cells("SELECT 1 AS one").column(0)[0].as_py() == 1


def test_a_free_run_ends_with_its_time(server: SparkServer) -> None:
    with pytest.raises(QueryError):
        server.cells(_LONG, seconds=1.0)


def test_every_run_ends_with_the_server(policy: Path) -> None:
    engine = Spark(load(policy))
    try:
        engine.stop()
        with pytest.raises(Stopped):
            engine._server.cells(_LONG)
    finally:
        engine.close()


# what is refused
def test_a_key_that_is_none_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path)
    with duckdb.connect() as link:
        link.execute(f"COPY ({PERSON} UNION ALL SELECT 7, 'north', NULL) TO '{tmp_path}/person.parquet'")
    with pytest.raises(PolicyError, match="not unique"):
        Spark(load(file))


def test_files_that_changed_are_not_read(policy: Path) -> None:
    engine = Spark(load(policy))
    try:
        exact(engine, policy, ASKED)
        first = engine.marker()
        assert engine.marker() == first
        with duckdb.connect() as link:
            link.execute(f"COPY ({VISIT} WHERE i % 2 = 0) TO '{policy.parent}/visit.parquet'")
        assert engine.marker() != first
        with pytest.raises(EngineError):
            exact(engine, policy, ASKED)
    finally:
        engine.close()


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_format_without_its_jar_is_one_clear_error(kind: str, tmp_path: Path, server: SparkServer) -> None:
    with pytest.raises(PolicyError, match=f"format {kind}, whose jar Spark does not have") as refused:
        open_table(server, "visit", f"{kind}:{tmp_path}")
    assert "spark.jars.packages" in (refused.value.hint or "")


def test_tables_of_a_catalog_are_read_and_its_views_are_not(policy: Path, server: SparkServer) -> None:
    folder = policy.parent
    name = f"visit_{random.Random(str(folder)).randrange(10**9)}"
    server.cells(f"CREATE TABLE default.{name} USING parquet LOCATION '{folder}/visit.parquet'")
    try:
        server.cells(f"CREATE VIEW default.{name}_seen AS SELECT * FROM default.{name}")
        table = open_table(server, "visit", f"table:default.{name}")
        assert list(table.columns) == ["who", "city", "kind", "cost", "at"]
        found = server.cells(f"SELECT COUNT(*) AS n FROM {table.place}")
        assert found.column(0)[0].as_py() == 400
        with pytest.raises(PolicyError, match="view"):
            open_table(server, "visit", f"table:default.{name}_seen")
        with pytest.raises(PolicyError, match="the catalog has no table"):
            open_table(server, "visit", "table:default.nowhere")
    finally:
        server.cells(f"DROP VIEW IF EXISTS default.{name}_seen")
        server.cells(f"DROP TABLE IF EXISTS default.{name}")


def test_a_path_without_files_is_refused(server: SparkServer, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        open_table(server, "visit", str(tmp_path / "nothing.parquet"))


def test_the_format_is_what_is_written_or_what_the_ending_says() -> None:
    assert placed("delta:/lake/visit") == ("delta", "/lake/visit")
    assert placed("visit.csv") == ("csv", "visit.csv")
    assert placed("s3a://lake/visit") == ("parquet", "s3a://lake/visit")
    assert placed("table: lake.visit") == ("table", "lake.visit")


def test_pyspark_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(InputError, match="needs pyspark") as refused:
        SparkServer(MASTER)
    assert "sfumato[spark]" in (refused.value.hint or "")


def test_java_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_java", lambda: None)
    with pytest.raises(InputError, match="needs Java"):
        SparkServer(MASTER)


def test_java_is_found_where_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert session.find_java() == str(tmp_path)


# the policy
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('engine = "spark"\nmaster = "here"\ntables = { a = "a.parquet" }', "must say where Spark runs"),
        ('engine = "spark"', "tables"),
        ('engine = "spark"\nfiles = { a = "a.parquet" }\ntables = { a = "a.parquet" }', "reads tables"),
        ('engine = "duckdb"\nmaster = "local"\nfiles = { a = "a.parquet" }', "has master"),
    ],
)
def test_a_source_of_spark_says_where_it_runs(source: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "sfumato.toml"
    file.write_text(f'[source]\n{source}\n[data]\nid = "a"\n[privacy]\nepsilon = 1\n[tables.a]\npublic = true\n')
    with pytest.raises(PolicyError, match=said):
        load(file)


# how it is written
def test_a_text_has_no_sign_that_spark_would_read() -> None:
    written = text("it's ${env:HOME} \\ `x` \n\0é👨")
    assert not set("$`\n\0") & set(written)
    assert written.count("'") == 2
    assert "\\u0024" in written


def test_a_value_that_is_used_twice_is_computed_once() -> None:
    """An inner name never takes the place of an outer one."""
    inner = once({"x": "something_that_is_really_long(`0.a`, `0.b`, `0.c`, `0.d`, `0.e`, `0.f`)", "y": "x"}, "x + y")
    outer = once({"x": "`0.z`"}, inner)
    assert outer.count("something_that_is_really_long") == 1
    bound = re.search(r"(v\w+) -> (v\w+) \+ (`0\.z`|v\w+)", outer)
    assert bound is not None
    assert bound[1] == bound[2]
    assert bound[3] == "`0.z`"


def test_no_statement_is_rewritten_by_which_rows_there_are() -> None:
    """Adaptive plans are on, without the rules that take out what is empty or a single row (decision 077)."""
    server = SparkServer("local[2]")
    empty = "SELECT COUNT(*) FROM (SELECT id AS a FROM range(9) WHERE id > 50) JOIN (SELECT id AS a FROM range(5)) USING (a)"
    assert server.cells(empty).column(0).to_pylist() == [0]
    assert server._session.conf.get("spark.sql.adaptive.enabled") == "true"
    excluded = server._session.conf.get("spark.sql.adaptive.optimizer.excludedRules")
    server.close()
    for rule in ("AQEPropagateEmptyRelation", "ConvertToLocalRelation", "OptimizeOneRowPlan", "EliminateLimits"):
        assert rule in excluded
