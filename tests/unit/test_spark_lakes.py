"""Tables that others write: buckets, folders, views and types of a catalog, files that lie, settings of a cluster.

Each test has a table, and the same table with one person more who brings something odd: everybody else counts as
before, or the source is refused when it is opened (decision 101).
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from sfumato.algebra.job import FINE
from sfumato.engines.spark import Spark
from sfumato.engines.spark.session import SparkServer
from sfumato.engines.spark.settings import KEPT, SETTINGS
from sfumato.engines.spark.tables import open_table
from sfumato.errors import PolicyError
from sfumato.policy import load
from tests.needed import needed
from tests.unit.test_spark import ASKED, exact, visits, write

needed("pyspark")


@pytest.fixture
def server() -> Iterator[SparkServer]:
    made = SparkServer("local[2]")
    yield made
    made.close()


@pytest.fixture
def name(server: SparkServer, tmp_path: Path) -> Iterator[str]:
    """A table of the catalog that is gone after the test."""
    made = f"default.t{random.Random(str(tmp_path)).randrange(10**9)}"
    yield made
    server.cells(f"DROP TABLE IF EXISTS {made}")


def _vector(file: Path, sql: str = "SELECT COUNT(*) FROM visit") -> list[int]:
    engine = Spark(load(file))
    try:
        return [sum(cell) for cut in exact(engine, file, sql) for cell in cut.values()]
    finally:
        engine.close()


def _persons(folder: Path, count: int = 20) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        parquet.write_table(pa.table({"who": [f"p{i}"], "kind": ["a"]}), folder / f"p{i}.parquet")


# tables of a catalog
def test_a_person_in_several_buckets_is_one_person(name: str, server: SparkServer, tmp_path: Path) -> None:
    """Who writes files into a table of buckets may put one person into all of them: she counts as one still."""
    lake = tmp_path / "lake"
    made = f"CREATE TABLE {name} (who STRING, kind STRING) USING parquet CLUSTERED BY (who) INTO 4 BUCKETS"
    server.cells(f"{made} LOCATION '{lake}'")
    server.cells(f"INSERT INTO {name} SELECT concat('p', id % 40), 'a' FROM range(400)")
    file = visits(tmp_path, f"table: {name}")
    before = _vector(file)
    more = pa.table({"who": ["many"] * 50, "kind": ["a"] * 50})
    buckets = sorted(lake.glob("*.parquet"))
    for bucket in buckets:
        rows = parquet.read_table(bucket, columns=["who", "kind"]).cast(more.schema)
        parquet.write_table(pa.concat_tables([rows, more]), bucket)
        bucket.with_name(f".{bucket.name}.crc").unlink(missing_ok=True)
    weight = 5 * FINE // (50 * len(buckets))
    assert len(buckets) >= 4
    assert _vector(file) == [before[0] + 50 * len(buckets) * weight]


def test_no_folder_decides_whether_others_of_a_catalog_are_read(name: str, server: SparkServer, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    _persons(lake)
    server.cells(f"CREATE TABLE {name} (who STRING, kind STRING) USING parquet LOCATION '{lake}'")
    file = visits(tmp_path, f"table: {name}")
    assert _vector(file) == [20 * FINE]
    _persons(lake / "zz=1", 1)
    with pytest.raises(PolicyError, match=r"20 files of table .* would not be read"):
        _vector(file)


def test_a_view_of_any_kind_is_refused(server: SparkServer, tmp_path: Path) -> None:
    """Also one that other sessions share: it may take the first row of a hundred people."""
    server.query("SELECT 'x' AS who, 'a' AS kind").createOrReplaceGlobalTempView("seen")
    with pytest.raises(PolicyError, match="is a view of the catalog"):
        Spark(load(visits(tmp_path, "table: global_temp.seen")))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("(who STRING, kind STRING) USING parquet OPTIONS (ignoreCorruptFiles 'true')", "with the option"),
        ("(who STRING, kind STRING) USING parquet OPTIONS (pathGlobFilter 'p1*')", "with the option"),
        ("(who STRING, kind BIGINT) USING parquet", "the catalog says another type"),
    ],
)
def test_what_a_catalog_says_beside_its_files_is_refused(
    made: str, said: str, name: str, server: SparkServer, tmp_path: Path
) -> None:
    _persons(tmp_path / "lake", 2)
    server.cells(f"CREATE TABLE {name} {made} LOCATION '{tmp_path}/lake'")
    with pytest.raises(PolicyError, match=said):
        open_table(server, "visit", f"table:{name}")


# files
@pytest.mark.parametrize("kept", [pa.array(["x"]), pa.array([1.5]), pa.array([[1]])], ids=["text", "double", "list"])
def test_a_file_that_lies_about_its_types_is_refused(kept: Any, server: SparkServer, tmp_path: Path) -> None:
    """Spark believes what it finds written beside the schema, and fails when it comes to the rows: that was charged."""
    for i in range(3):
        parquet.write_table(pa.table({"who": [f"p{i}"], "n": pa.array([1], pa.int64())}), tmp_path / f"p{i}.parquet")
    assert open_table(server, "visit", f"{tmp_path}/*.parquet").columns["n"].type == "bigint"
    fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in (("who", "string"), ("n", "long"))]
    lie = {"org.apache.spark.sql.parquet.row.metadata": json.dumps({"type": "struct", "fields": fields})}
    parquet.write_table(pa.table({"who": ["p"], "n": kept}).replace_schema_metadata(lie), tmp_path / "q.parquet")
    with pytest.raises(PolicyError, match="holds a value that Spark cannot read"):
        open_table(server, "visit", f"{tmp_path}/*.parquet")


# settings
def test_no_setting_of_a_cluster_changes_a_statement(policy: Path, server: SparkServer) -> None:
    """Whatever is set: ours is ours, the rest is Spark's default; few settings are left to a cluster."""
    odd = {
        "spark.sql.legacy.sizeOfNull": "true",
        "spark.sql.cbo.enabled": "true",
        "spark.sql.columnNameOfCorruptRecord": "_0",
        "spark.sql.sources.useV1SourceList": "",
        "spark.sql.optimizer.metadataOnly": "true",
        "spark.sql.ansi.enabled": "false",
    }
    for one, value in odd.items():
        server._session.conf.set(one, value)
    with pytest.raises(PolicyError, match=r"spark\.sql"):
        open_table(server, "visit", str(policy.parent / "visit.parquet"))
    server.settle()
    shown = {row["key"]: row["value"] for row in server.cells("SET").to_pylist()}
    assert {one: shown[one] for one in SETTINGS} == SETTINGS
    assert not odd.keys() - SETTINGS.keys() & shown.keys()
    assert open_table(server, "visit", str(policy.parent / "visit.parquet")).columns
    every = [row["key"] for row in server.cells("SET -v").to_pylist() if row["key"].startswith("spark.sql.")]
    assert len(every) > 200
    assert not [one for one in every if KEPT.fullmatch(one) and "legacy" in one]
    assert sum(bool(KEPT.fullmatch(one)) for one in every) < 40


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return write(tmp_path)


# the driver
def sends_rows(plan: str) -> list[str]:
    """Where the driver would collect rows of files: an operator that brings rows to it, above a scan of files.

    >>> sends_rows("Join\\n:- BroadcastExchange x\\n:  +- FileScan parquet\\n+- FileScan parquet")
    ['BroadcastExchange x']
    """
    found, open_ = [], list[tuple[int, str]]()
    for line in plan.partition("== Initial Plan ==")[0].splitlines():
        words = re.sub(r"^[\s:+-]*(\*\(\d+\) )?", "", line)
        depth = len(line) - len(re.sub(r"^[\s:+-]*", "", line))
        open_ = [(at, what) for at, what in open_ if at < depth]
        if re.match(r"BroadcastExchange|CollectLimit|TakeOrdered|Subquery|Exchange rangepartitioning", words):
            open_.append((depth, words))
        if re.match(r"(File|Batch)?Scan (?!ExistingRDD|OneRow)", words):
            found += [what for _, what in open_]
    return found


JOINED = (
    ASKED,
    "SELECT city, COUNT(*) FROM visit GROUP BY city",
    "SELECT region, COUNT(DISTINCT city), SUM(cost) FROM visit AS v JOIN person AS p ON v.who = p.id GROUP BY region",
    "SELECT COUNT(*) FROM person AS p WHERE EXISTS (SELECT 1 FROM visit AS v WHERE v.who = p.id AND v.cost > 20)",
    "SELECT c.country, COUNT(*) FROM visit AS v JOIN city AS c ON v.city < c.name GROUP BY c.country",
)


def test_no_private_row_is_sent_by_the_driver(tmp_path: Path) -> None:
    """What is sent to every worker is collected by the driver first: public rows alone are, in whatever join."""
    file = write(tmp_path)
    text = file.read_text().replace('unit = { join = "person", on = "who = id" }', 'unit = "who"')
    names = "".join(f'{one} = {{ type = "text", max_length = 20 }}\n' for one in ("name", "country"))
    file.write_text(f"{text}[tables.city.columns]\n{names}")
    engine = Spark(load(file))
    try:
        plans = _plans(engine, file, JOINED)
        assert len(plans) >= len(JOINED)
        assert any("BroadcastExchange" in plan for plan in plans), "public rows are"
        assert not [what for plan in plans for what in sends_rows(plan)]
        engine._server._session.conf.set("spark.sql.autoBroadcastJoinThreshold", "10MB")
        assert any(sends_rows(plan) for plan in _plans(engine, file, JOINED[2:3])), "the test sees what it is for"
    finally:
        engine.close()


def _plans(engine: Any, file: Path, queries: tuple[str, ...]) -> list[str]:
    """How each statement was run in the end."""
    from pyspark.sql.classic.dataframe import DataFrame

    found, fetch = [], DataFrame.toArrow

    def watched(frame: Any) -> Any:
        rows = fetch(frame)
        found.append(str(frame._jdf.queryExecution().executedPlan().toString()))
        return rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DataFrame, "toArrow", watched)
        for query in queries:
            exact(engine, file, query)
    return found


# tasks that fail
_HOSTILE = """
import sys
from dataclasses import replace
from pathlib import Path
from sfumato.engines.spark import Spark
from sfumato.policy import load
from tests.unit.test_spark import exact
policy, mode = Path(sys.argv[1]), sys.argv[2]
engine = Spark(load(policy))
if mode == "fails":
    from pyspark import TaskContext
    from pyspark.sql.functions import udf
    def once(value):
        if TaskContext.get().attemptNumber() == 0:
            raise RuntimeError("this task fails the first time")
        return True
    server, table = engine._server, engine.tables["visit"]
    rows = server.query(f"SELECT * FROM {table.place}")
    view = server.name(rows.where(udf(once, "boolean")(rows["who"])))
    engine.tables = {**engine.tables, "visit": replace(table, view=view)}
print([sorted(map(repr, cut.items())) for query in sys.argv[3:] for cut in exact(engine, policy, query)])
"""
_QUERIES = ("SELECT city, kind, COUNT(*), SUM(cost) FROM visit GROUP BY city, kind",)


@pytest.mark.slow
def test_tasks_that_fail_and_settings_of_a_cluster_change_no_number(tmp_path: Path) -> None:
    """A task that is run again gives the same; so does Spark with settings that would change what SQL means."""
    policy = write(tmp_path)
    policy.write_text(policy.read_text().replace("local[2]", "local[2,4]"))
    odd = {"spark.sql.ansi.enabled": "false", "spark.sql.legacy.sizeOfNull": "true", "spark.sql.cbo.enabled": "true"}
    odd |= {"spark.sql.session.timeZone": "America/New_York", "spark.sql.sources.useV1SourceList": "none"}
    odd |= {"spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "true", "spark.speculation": "true"}
    conf = " ".join(f"--conf {one}={value}" for one, value in odd.items())
    found = []
    for mode, more in (("plain", ""), ("fails", ""), ("plain", conf)):
        run = subprocess.run(
            [sys.executable, "-c", _HOSTILE, str(policy), mode, *_QUERIES],
            capture_output=True, text=True, timeout=400, check=False,
            env={
                **os.environ,
                "SPARK_LOCAL_IP": "127.0.0.1",
                "PYSPARK_PYTHON": sys.executable,  # the workers' Python is ours
                "PYSPARK_SUBMIT_ARGS": f"{more} pyspark-shell",
            },
        )  # fmt: skip
        assert run.returncode == 0, run.stderr[-3000:]
        found.append(run.stdout)
    assert found[1:] == found[:1] * 2
