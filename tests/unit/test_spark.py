"""Spark as an engine: what is read, what is refused, what comes to the driver, and what ends when it must."""

# ruff: noqa: E501  a statement stands on one line
from __future__ import annotations

import itertools
import json
import math
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
from sfumato.algebra.functions import call
from sfumato.algebra.job import FINE
from sfumato.algebra.pattern_meaning import read
from sfumato.algebra.tree import TEXT, Column, Facts
from sfumato.engines.spark import Spark, going_back, session, text_lines, texts
from sfumato.engines.spark.expressions import expression
from sfumato.engines.spark.session import SparkServer
from sfumato.engines.spark.settings import SETTINGS
from sfumato.engines.spark.spelling import once, text
from sfumato.engines.spark.tables import open_table, placed
from sfumato.errors import EngineError, InputError, PolicyError, QueryError
from sfumato.interrupts import CancelScope, Stopped, cancelled
from sfumato.policy import load
from sfumato.sql.bind.constants import constant
from tests.needed import needed

needed("pyspark")
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
    leash = CancelScope()
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


# each row alone
_VISITS = """
[source]
engine = "spark"
master = "local[2]"
tables = {{ visit = "{visit}" }}
[data]
id = "room"
[privacy]
epsilon = 1e9
delta = 0.01
query_epsilon = 1e6
composition = "pure"
[tables.visit]
unit = "who"
rows_per_unit = 5
[tables.visit.columns]
who = {{ type = "text", max_length = 20 }}
kind = {{ values = ["a", "b"] }}
"""
BY_KIND = "SELECT kind, COUNT(*) FROM visit GROUP BY kind"


def visits(folder: Path, place: str) -> Path:
    """A policy over one table of visits, of which five of a person count; with a ledger of its own."""
    home = folder / f"gate{len(list(folder.glob('gate*')))}"
    home.mkdir()
    file = home / "sfumato.toml"
    file.write_text(_VISITS.format(visit=place if ":" in place else folder / place))
    return file


def counted(file: Path, sql: str = BY_KIND) -> list[tuple[Any, ...]]:
    with sfumato.open(file) as gate:
        return answer(gate, sql)


_BASE = b"who,kind\n" + b"".join(b"p%d,%s\n" % (i, b"ab"[i % 2 : i % 2 + 1]) for i in range(40))


def _lines(*lines: bytes) -> bytes:
    return _BASE + b"".join(line + b"\n" for line in lines)


@pytest.mark.parametrize(
    ("odd", "line"),
    [
        (_BASE.replace(b"p3,", b'"p3,'), "5"),
        (_BASE.replace(b"p3,b", b'p3,"b'), "5"),
        (_lines(b'ev"il,a'), "42"),
        (_lines(b'"ev"il,a', b'"ev"il,a'), "42, 43"),
        (_lines("Müller,a".encode("latin-1"), "Möller,b".encode("latin-1")), "42, 43"),
        (_lines(b"few"), "42"),
        (_lines(b"many,a,b"), "42"),
        (_lines(b"many,a" + b",x" * 21_000), "42"),
        (_lines(b"nu\0l,a"), "42"),
        (_lines(b"ev\ril,a"), "42"),
        (_lines(b'"two', b'lines",a'), "42, 43"),
    ],
)
def test_a_text_file_is_read_whole_or_refused_over_spark(odd: bytes, line: str, tmp_path: Path) -> None:
    """With its name and its lines: quotes that do not close, other encodings, fields that are missing or too many."""
    (tmp_path / "visit.csv").write_bytes(odd)
    with pytest.raises(PolicyError, match=rf"visit.csv.* are not as the first one says(.|\n)*{line}[.]"):
        Spark(load(visits(tmp_path, "visit.csv")))


def test_a_text_file_without_the_names_of_its_columns_is_refused(tmp_path: Path) -> None:
    """Of several files each begins with the same names; none has them twice."""
    folder = tmp_path / "lake"
    folder.mkdir()
    (folder / "a.csv").write_bytes(_BASE)
    for other in (b"kind,who\na,p1\n", b"p1,a\n", b"who,kind\np1,a\nwho,kind\n"):
        (folder / "b.csv").write_bytes(other)
        with pytest.raises(PolicyError, match=r"[ab].csv.* holds the names of its columns [02] times"):
            Spark(load(visits(tmp_path, f"csv:{folder}")))


def test_a_line_decides_its_own_row_alone(tmp_path: Path, server: SparkServer) -> None:
    """Lines that nobody has refused, for they came later: what is wrong with one changes no row of another."""
    kept = {f"p{i}": 1 for i in range(40)} | {"last": 1}
    odd = (
        b'"p99,a',
        b'p99,"a',
        b'p9"9,a',
        b"p\xfc,a",
        b"p99",
        b"p99,a,b",
        b"p99" + b",a" * 21_000,
        b"p\0,a",
        b"",
        b"who,kind",
    )
    for i, line in enumerate(odd):
        file = tmp_path / f"{i}.csv"
        file.write_bytes(_lines(line, b"last,a"))
        lines = server.name(server.frame("text", [str(file)]))
        rows = text_lines.rows_of(lines, ["who", "kind"], [])
        shown = server.cells(f"SELECT who, COUNT(*) AS n FROM ({rows}) AS t GROUP BY who")
        found = dict(zip(shown.column(0).to_pylist(), shown.column(1).to_pylist(), strict=True))
        assert found.pop(None, 0) == (line not in (b"", b"who,kind")), line
        assert found == kept, line


def test_what_a_text_file_may_hold(tmp_path: Path) -> None:
    """Quotes, commas and quotes in quotes, a mark of the order of bytes, line ends of Windows, blank lines, gzip."""
    import gzip

    written = '\ufeffwho,kind,more\r\n"Müller, ""A""",a,\r\n\r\nMöller,"b","x,y"\r\n'.encode()
    (tmp_path / "visit.csv").write_bytes(written)
    asked = "SELECT COUNT(*) FROM visit WHERE who = 'Müller, \"A\"' OR who = 'Möller'"
    assert counted(visits(tmp_path, "visit.csv"), asked) == [(2,)]
    (tmp_path / "visit.csv.gz").write_bytes(gzip.compress(written))
    assert counted(visits(tmp_path, "visit.csv.gz"), asked) == [(2,)]


def test_a_line_is_whole_by_the_same_rule_in_spark_and_here(server: SparkServer) -> None:
    """Random lines of few signs: Spark's expression, the one that names lines, and a reader of another hand agree."""
    import csv

    chance = random.Random("lines")
    lines = ["".join(chance.choices('",ab\\\0é', (6, 5, 3, 1, 1, 0.2, 1), k=chance.randrange(9))) for _ in range(1500)]
    written = ", ".join(f"({text(line)})" for line in lines)
    for width in (1, 2, 3):
        rule = text_lines._is_whole("value", width)
        fields = text_lines._parsed("lines", [f"n{i}" for i in range(width)]).partition("CASE")[2].rpartition(" END")[0]
        rows = server.cells(
            f"SELECT {rule} AS sound, to_json(CASE{fields} END, map('ignoreNullFields', 'false')) AS fields FROM VALUES {written} AS t(value)"
        ).to_pylist()
        for line, row in zip(lines, rows, strict=True):
            assert row["sound"] == text_lines.is_whole(line, width), line
            if row["sound"] and line.strip():
                meant = [field or None for field in next(csv.reader([line], strict=True))]
                assert list(json.loads(row["fields"]).values()) == meant, line


def test_no_value_of_a_folder_decides_the_type_of_others(tmp_path: Path) -> None:
    """A column that is named in folders is text, with its zeros, whoever else is there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    answers = []
    for others in ([], ["A1"]):
        lake = tmp_path / f"lake{len(others)}"
        for i, kind in enumerate(["00123", "00456", *others]):
            (lake / f"kind={kind}").mkdir(parents=True)
            pq.write_table(pa.table({"who": [f"p{i}"] * 3}), lake / f"kind={kind}" / "part.parquet")
        file = visits(tmp_path, f"parquet:{lake}")
        file.write_text(file.read_text().replace('values = ["a", "b"]', 'type = "text", max_length = 5'))
        answers.append(counted(file, "SELECT COUNT(*) FROM visit WHERE kind = '00123' OR LENGTH(kind) = 3"))
    assert answers == [[(3,)], [(3,)]]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("folder", ["zz=1", "sub", "kind=a/zz=1"])
def test_no_folder_decides_whether_others_are_read(kind: str, folder: str, tmp_path: Path) -> None:
    """Beside a folder key=value, and below other folders, Spark leaves files out without a word."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    lake = tmp_path / "lake"

    def add(place: Path, who: str) -> None:
        place.mkdir(parents=True, exist_ok=True)
        if kind == "csv":
            (place / f"{who}.csv").write_text(f"who,kind\n{who},a\n", encoding="utf-8")
        else:
            pq.write_table(pa.table({"who": [who], "kind": ["a"]}), place / f"{who}.parquet")

    for who in ("p1", "p2"):
        add(lake, who)
    file = visits(tmp_path, f"{kind}:{lake}")
    assert counted(file, "SELECT COUNT(*) FROM visit") == [(2,)]
    add(lake / folder, "p3")
    with pytest.raises(PolicyError, match="would not be read"):
        counted(file, "SELECT COUNT(*) FROM visit")


@pytest.mark.parametrize("kind", ["parquet", "orc", "table"])
def test_files_of_other_types_are_refused_by_name(kind: str, tmp_path: Path, server: SparkServer) -> None:
    """Which file is read first would decide for all; a column that some files do not have is NULL in theirs."""
    import pyarrow as pa
    from pyarrow import orc, parquet

    (tmp_path / "lake").mkdir()
    write = orc.write_table if kind == "orc" else parquet.write_table
    write(pa.table({"who": ["a"], "n": pa.array([1], pa.int64())}), tmp_path / "lake" / "a.part")
    name, place = f"t{random.Random(str(tmp_path)).randrange(10**9)}", f"{kind}:{tmp_path}/lake"
    if kind == "table":
        server.cells(f"CREATE TABLE default.{name} USING parquet LOCATION '{tmp_path}/lake'")
        place = f"table:default.{name}"
    try:
        write(pa.table({"who": ["b"]}), tmp_path / "lake" / "b.part")
        assert server.cells(f"SELECT COUNT(n), COUNT(*) FROM {open_table(server, 't', place).place} AS t").to_pylist()
        for other in (pa.array([1], pa.int32()), pa.array(["x"]), pa.array([1.5])):
            write(pa.table({"who": ["c"], "n": other}), tmp_path / "lake" / "c.part")
            with pytest.raises(PolicyError, match="keep a column in different types") as refused:
                open_table(server, "t", place)
            assert kind == "table" or "c.part" in (refused.value.detail or "")
    finally:
        server.cells(f"DROP TABLE IF EXISTS default.{name}")


def test_text_tables_of_a_catalog_are_refused(tmp_path: Path, server: SparkServer) -> None:
    """Their options say how they are read: over several lines, by a guess, without rows that do not fit."""
    (tmp_path / "visit.csv").write_bytes(_BASE)
    name = f"t{random.Random(str(tmp_path)).randrange(10**9)}"
    server.cells(f"CREATE TABLE default.{name} (who STRING, kind STRING) USING csv LOCATION '{tmp_path}/visit.csv'")
    try:
        with pytest.raises(PolicyError, match="is kept as csv, and cannot be protected"):
            open_table(server, "visit", f"table:default.{name}")
    finally:
        server.cells(f"DROP TABLE default.{name}")


def test_two_people_are_two_whatever_their_collation(tmp_path: Path, server: SparkServer) -> None:
    """A person of 5000 rows takes nothing of the weight of another whose name a collation takes for hers."""
    alone = "SELECT 'MULLER' AS who, 'a' AS kind FROM range(5)"
    both = f"{alone} UNION ALL SELECT 'muller', 'b' FROM range(5000)"
    for i, rows in enumerate((alone, both)):
        folder = str(tmp_path / f"lake{i}")
        server.write(f"SELECT CAST(who AS STRING COLLATE UTF8_LCASE) AS who, kind FROM ({rows})", folder)
        found = counted(visits(tmp_path, folder))
        assert found[0] == ("a", 5)
        assert found[1][1] == 5 * i
    asked = "SELECT COUNT(*) FROM visit AS v JOIN visit AS w ON v.who = w.who WHERE v.kind = 'a' AND w.kind = 'b'"
    assert counted(visits(tmp_path, folder), asked) == [(0,)]


def test_a_text_of_fixed_length_names_one_person_in_joins_and_groups(server: SparkServer) -> None:
    """Every two text types of a catalog: where two rows are one person to a join, they are one group, and one text."""
    number = random.Random("fixed length").randrange(10**9)
    types = {"CHAR(5)": "c5", "CHAR(10)": "c10", "VARCHAR(7)": "v7", "STRING": "s"}
    names = {kind: f"t{number}{short}" for kind, short in types.items()}
    try:
        for kind, name in names.items():
            server.cells(f"CREATE TABLE default.{name} (u {kind}, x INT) USING parquet")
            server.cells(f"INSERT INTO default.{name} VALUES ('ab', 1), ('cd', 2)")
        tables = {kind: open_table(server, names[kind], f"table:default.{names[kind]}") for kind in names}
        people = {k: f"SELECT {t.columns['u'].raw('t')} AS _u FROM {t.place} AS t" for k, t in tables.items()}
        assert [tables[kind].columns["u"].type for kind in ("CHAR(5)", "VARCHAR(7)")] == ["char(5)", "varchar(7)"]
        for one, other in itertools.combinations_with_replacement(people, 2):
            pair = f"({people[one]}) AS l JOIN ({people[other]}) AS r ON l._u = r._u"
            joined = f"SELECT COUNT(*), COUNT_IF(l._u IS DISTINCT FROM concat(r._u, '')) FROM {pair}"
            both = f"SELECT COUNT(DISTINCT _u), COUNT(DISTINCT md5(_u)) FROM ({people[one]} UNION ALL {people[other]}) AS q"
            assert [c[0].as_py() for c in server.cells(joined).columns] == [2, 0], (one, other)
            assert [c[0].as_py() for c in server.cells(both).columns] == [2, 2], (one, other)
    finally:
        for name in names.values():
            server.cells(f"DROP TABLE IF EXISTS default.{name}")


def test_a_type_that_may_take_two_people_for_one_names_nobody(tmp_path: Path, server: SparkServer) -> None:
    for i, type_ in enumerate(("array(who)", "named_struct('w', who)")):
        folder = str(tmp_path / f"lake{i}")
        server.write(f"SELECT {type_} AS who, 'a' AS kind FROM (SELECT 'a' COLLATE UTF8_LCASE AS who)", folder)
        with pytest.raises(PolicyError, match="identifies people, but its type"):
            Spark(load(visits(tmp_path, folder)))


def test_a_text_that_is_not_utf8_is_none_and_names_its_own_person(tmp_path: Path, server: SparkServer) -> None:
    """In Parquet: as a key it is NULL, and does not end a run; as a unit its bytes are compared."""
    folder = str(tmp_path / "lake")
    server.write(
        "SELECT CAST(who AS STRING) AS who, CAST(who AS STRING) AS kind, 'a' AS more FROM VALUES (X'FF'), (X'FE'), (X'61') AS t(who)",
        folder,
    )
    file = visits(tmp_path, folder)
    file.write_text(
        file.read_text()
        .replace('values = ["a", "b"]', 'type = "text", max_length = 5')
        .replace("rows_per_unit = 5", "rows_per_unit = 1")
    )
    rows = counted(file, BY_KIND)
    assert all(kind in (None, "a") for kind, _ in rows)
    assert counted(file, "SELECT COUNT(*), COUNT(kind) FROM visit") == [(3, 1)], "one row a person: three persons"


def test_a_moment_that_spark_cannot_hold_refuses_its_file(tmp_path: Path, server: SparkServer) -> None:
    """Milliseconds of 64 bits are more than microseconds of 64 bits: a run would end at that row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = tmp_path / "visit.parquet"
    for last, held in ((10**12, True), (2**63 - 1, False)):
        at = pa.array([0, last], pa.int64()).cast(pa.timestamp("ms"))
        pq.write_table(pa.table({"who": ["a", "b"], "at": at}), file)
        if held:
            assert list(open_table(server, "visit", str(file)).columns) == ["who", "at"]
        else:
            with pytest.raises(PolicyError, match="holds a value that Spark cannot read"):
                open_table(server, "visit", str(file))


def test_a_setting_that_decides_types_is_looked_at(policy: Path, server: SparkServer) -> None:
    """In every session, when a source is opened; and each that we set is what the session has."""
    name = "spark.sql.sources.partitionColumnTypeInference.enabled"
    assert {one: server._session.conf.get(one) for one in SETTINGS} == SETTINGS
    server._session.conf.set(name, "true")
    with pytest.raises(PolicyError, match=f"Spark does not let {name} be set"):
        open_table(server, "visit", str(policy.parent / "visit.parquet"))


def test_a_person_of_many_rows_has_her_weight(tmp_path: Path) -> None:
    """Under Gaussian noise a root of 2^20 parts is multiplied by a bound's 2^20: 64 bits hold that of 2^23 rows alone."""
    from tests.laws.engines import Everywhere, vector

    many = (1 << 23) + 1000
    with duckdb.connect() as link:
        link.execute(
            f"COPY (SELECT CASE WHEN i < 50 THEN 'p' || i ELSE 'many' END AS who, 'a' AS kind FROM range({many + 50}) t(i)) TO '{tmp_path}/visit.parquet'"
        )
    file = visits(tmp_path, "visit.parquet")
    written = file.read_text().replace('composition = "pure"', 'composition = "zcdp"')
    file.write_text(written.replace("rows_per_unit = 5", "rows_per_unit = 5\nl2_per_unit = 2.236067977"))
    engine = Spark(load(file))
    try:
        plan = Everywhere(load(file), {"spark": engine}, {}).planned(
            engine, "SELECT COUNT(*) FROM visit", noise="gaussian"
        )
        found = next(iter(vector(engine, plan.cuts[0], ()).values()))[0]
        bound = plan.cuts[0].parts[0].job.limits.bound
    finally:
        engine.close()
    root = math.ceil(math.sqrt(float(many**2)) * FINE * 1.000000001)
    weight = FINE * FINE * bound.numerator // (root * bound.denominator)
    assert root * bound.denominator > 1 << 63
    assert found == 50 * FINE + many * weight


# patterns
def test_like_is_what_it_is_and_goes_back_over_no_text(server: SparkServer) -> None:
    """Random texts and patterns of few signs, by another hand's LIKE; and a text over which a machine would go back."""
    chance = random.Random("like")
    cases = [
        (
            "".join(chance.choices("ab_%\n", k=chance.randrange(9))),
            "".join(chance.choices("ab_%%", k=chance.randrange(7))),
        )
        for _ in range(400)
    ]
    cases += [
        ("a" * 3000, "%a" * 9 + "%b"),
        ("a" * 3000 + "b", "%a" * 9 + "%b"),
        ("ab" * 1500, "%a_" * 100 + "a"),
        ("x", "x" + "%" * 90),
    ]
    shown = ", ".join(
        f"{texts.matches(text(value), texts.like(pattern))} AS c{i}" for i, (value, pattern) in enumerate(cases)
    )
    found = list(server.cells(f"SELECT {shown}").to_pylist()[0].values())
    with duckdb.connect() as link:
        meant = [link.execute("SELECT ? LIKE ?", case).fetchone() for case in cases]
    assert found == [row[0] for row in meant if row is not None]


@pytest.mark.parametrize(
    ("pattern", "taken"),
    [
        ("^[a-z]+@[a-z]+[.]com$", True),
        ("[0-9]{3}-[0-9]{4}", True),
        (".*a.*b", True),
        ("[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*0", False),
        ("(a|[a-z]*)(b|[a-z]*)(c|[a-z]*)(d|[a-z]*)0", False),
        ("a?" * 60 + "a" * 20, False),
    ],
)
def test_a_pattern_that_goes_back_too_often_is_refused(pattern: str, taken: bool) -> None:
    made = call("regexp_like", (Column("s", Facts(TEXT, length=200)), constant(pattern)))
    if taken:
        assert "RLIKE" in expression(made)
    else:
        with pytest.raises(QueryError, match="may go back over a text too often"):
            expression(made)


def test_the_bound_is_above_what_a_machine_counts() -> None:
    """A machine that tries one way after another, as Java's does, counts its steps over random patterns and texts."""
    chance, most = random.Random("steps"), 0.0
    for _ in range(600):
        pattern = "^" * chance.randrange(2) + "".join(
            chance.choice(["a", "b", "[ab]", ".", "(a|b)", "(ab|a)?"]) if chance.random() < 0.5
            else chance.choice(["a", "b", "[ab]", "."]) + chance.choice(["*", "+", "?", "{1,3}"])
            for _ in range(chance.randrange(1, 6))
        ) + chance.choice(["", "$", "c"])  # fmt: skip
        value = "".join(chance.choices("ab", k=10))
        counted = _counted(pattern, value)
        bound = going_back.steps(pattern, len(value)) * len(pattern)
        assert counted <= bound, (pattern, value)
        most = max(most, counted / bound)
    assert most > 0.1, "the bound is not far above"


def _counted(pattern: str, value: str) -> int:
    """How many pieces a machine tries that goes back."""
    tried = 0

    def matched(pieces: Any, at: int, then: Any) -> bool:
        nonlocal tried
        tried += 1
        if not pieces:
            return bool(then(at))
        piece, rest = pieces[0], pieces[1:]
        if piece.anchor:
            return at == (0 if piece.anchor == "^" else len(value)) and matched(rest, at, then)
        if piece.branches:
            further = lambda end: matched(rest, end, then)  # noqa: E731  one line
            return any(matched(branch, at, further) for branch in piece.branches) or (not piece.least and further(at))
        ends = [at]
        while ends[-1] < len(value) and (piece.most is None or len(ends) <= piece.most):
            tried += 1
            if (value[ends[-1]] in piece.characters.members) == piece.characters.negated:
                break
            ends.append(ends[-1] + 1)
        return any(matched(rest, end, then) for end in reversed(ends[piece.least :]))

    branches = read(pattern)
    any(matched(branch, start, lambda _: True) for start in range(len(value) + 1) for branch in branches)
    return tried


# what is refused
def test_a_key_that_is_none_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path)
    with duckdb.connect() as link:
        link.execute(f"COPY ({PERSON} UNION ALL SELECT 7, 'north', NULL) TO '{tmp_path}/person.parquet'")
    with pytest.raises(PolicyError, match="not unique"):
        Spark(load(file))


def test_a_composite_key_leads_to_persons(tmp_path: Path) -> None:
    """By both columns: one of them leads to several people. Where both do, it is no key."""
    file = write(tmp_path)
    text = file.read_text().replace('on = "who = id"', 'on = "who = id AND kind = region"')
    file.write_text(
        text.replace('unit = "id"', 'unit = "ssn"').replace("id = {", 'ssn = { type = "integer" }\nid = {', 1)
    )
    twice = "SELECT 10 * id + n AS ssn, id, ['a', 'b'][n] AS region, born FROM p, range(1, 3) r(n)"
    with duckdb.connect() as link:
        link.execute(f"CREATE TABLE p AS {PERSON}")
        link.execute(f"COPY ({twice}) TO '{tmp_path}/person.parquet'")
        file.write_text(file.read_text().replace('["north", "south"]', '["a", "b"]'))
        engine = Spark(load(file))
        try:
            found = exact(
                engine,
                file,
                "SELECT COUNT(*), COUNT(DISTINCT ssn) FROM visit v JOIN person p ON who = id AND kind = region",
            )
        finally:
            engine.close()
        assert sorted(found[0].values()) == [(400 << 20, 100)]
        link.execute(f"COPY ({twice} UNION ALL SELECT 7, 1, 'a', NULL) TO '{tmp_path}/person.parquet'")
    with pytest.raises(PolicyError, match=r"person\.region, id.*not unique"):
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
