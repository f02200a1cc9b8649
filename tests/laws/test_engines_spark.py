"""Spark in the one suite for all engines: every function, every kind of relation and random jobs, as DuckDB has them.

What takes minutes is slow: a statement of Spark is planned, compiled and run in parts, whatever its rows are.
"""

# ruff: noqa: E501  a fault stands on one line

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from sfumato.algebra.functions import FUNCTIONS
from sfumato.algebra.tree import Facts
from sfumato.engines.duckdb import expressions as of_duckdb
from sfumato.engines.remote.engine import CompiledJob
from sfumato.engines.spark import expressions as of_spark
from sfumato.engines.spark.engine import ARROW, sent
from sfumato.engines.spark.jobs import compile_job
from sfumato.engines.spark.session import SparkServer
from sfumato.engines.spark.spelling import type_of
from sfumato.errors import QueryError
from tests.laws import test_engines as suite
from tests.laws import test_functions as functions
from tests.laws.engines import everywhere
from tests.laws.neighbours import Broken
from tests.laws.shapes import ASKED, MET, POSITIONS, PRIVATE, askings, meetings
from tests.laws.test_twins import REFUSED
from tests.needed import needed

needed("pyspark")
SPARK = ("duckdb", "spark")


# every function
@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[duckdb.DuckDBPyConnection, SparkServer, str]]:
    """The rows of `test_functions` in both engines."""
    rows: duckdb.DuckDBPyConnection = functions.engine.__wrapped__()  # type: ignore[attr-defined]
    server = SparkServer("local[2]")
    listed, arrays = rows.execute("SELECT * FROM rows").fetchall(), []
    for i, (facts, _, _) in enumerate(functions.COLUMNS.values()):
        kind = ARROW[type_of(facts)]
        arrays.append(pa.array([sent(row[i], kind) for row in listed], kind))
    place = str(tmp_path_factory.mktemp("values") / "rows.parquet")
    numbers = pa.array(range(len(listed)), pa.int64())
    parquet.write_table(pa.table([numbers, *arrays], ["n", *functions.COLUMNS]), place)
    yield rows, server, server.name(server.frame("parquet", [place]))
    server.close()
    rows.close()


def _leaving(sql: str, facts: Facts) -> str:
    return {"DATE": f"unix_date({sql})", "TIMESTAMP": f"unix_micros({sql})"}.get(type_of(facts), sql)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1)) // timedelta(microseconds=1)  # noqa: DTZ001  times have no zone here
    return (value - date(1970, 1, 1)).days if isinstance(value, date) else value


NAMES = sorted(set(FUNCTIONS) - suite.ABOVE - set(of_spark.NOT_YET))


@pytest.mark.parametrize("cases", [1, pytest.param(60, marks=pytest.mark.slow)])
def test_every_function_means_the_same_and_never_raises(cases: int, both: Any) -> None:
    """Alone and nested, over extremes of every kind of argument; several in one statement.

    Few cases are interpreted, which is faster; many are compiled, as production has them.
    """
    rows, server, view = both
    server._session.conf.set("spark.sql.codegen.wholeStage", str(cases > 1).lower())
    server._session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if cases > 1 else "NO_CODEGEN")
    made: list[tuple[str, Any, str]] = []
    for name in NAMES:
        r, of = random.Random(f"{name} {cases} spark"), 0
        for n in range(4 * cases):
            node = functions.Maker(r, n % 3).make(name)
            if node is None or "cbrt" in str(node):  # the last bit of a cube root is the library's
                continue
            try:
                made.append((name, node, of_spark.expression(node)))
            except QueryError:  # too long, too many digits, or leads too far away
                continue
            of += 1
            if of >= cases:
                break
    for first in range(0, len(made), 30):
        some = made[first : first + 30]
        shown = ", ".join(f"{_leaving(sql, node.facts)} AS c{i}" for i, (_, node, sql) in enumerate(some))
        found = server.cells(f"SELECT n, {shown} FROM `{view}` ORDER BY n")
        for i, (name, node, sql) in enumerate(some):
            meant = [
                _plain(row[0]) for row in rows.execute(f"SELECT {of_duckdb.expression(node)} FROM rows").fetchall()
            ]
            for row, (a, b) in enumerate(zip(meant, found.column(i + 1).to_pylist(), strict=True)):
                assert suite.alike(a, b), f"{name}, row {row}: {a!r} and {b!r}\n{node}\n{sql}"
    assert {name for name, _, _ in made} >= set(NAMES) - {"cbrt"}


# every kind of relation
def _some(count: int) -> list[Any]:
    """Each kind of private relation with something asked of it; each kind of public one in some position."""
    asked = {(query.of[0][0], query.of[0][1]): query for query in askings(3)}
    kinds, words = list(PRIVATE), list(ASKED)
    some = [asked[k, words[i % len(words)]] for i, k in enumerate(kinds) if (k, words[i % len(words)]) in asked]
    cells, places = {query.of[0]: query for query in meetings(3)}, list(POSITIONS)
    for i, kind in enumerate(MET):
        free = [(kind, places[(i + k) % len(places)]) for k in range(len(places))]
        some.append(next(cells[cell] for cell in free if cell in cells and cell not in REFUSED))
    return some[:: max(1, len(some) // count)]


def test_kinds_of_relations_mean_the_same(tmp_path: Path) -> None:
    met = suite.run_shapes(_some(5), tmp_path, "", SPARK)
    assert met["jobs"] >= 4


@pytest.mark.slow
def test_every_kind_of_relation_means_the_same(tmp_path: Path) -> None:
    met = suite.run_shapes(_some(10**6), tmp_path, "", SPARK)
    suite.shown("private relations, the same numbers in Spark", PRIVATE, met)
    suite.shown("public and released relations", MET, met)


# random jobs on hostile rows
def test_random_jobs_give_the_same_numbers() -> None:
    found = suite.run_worlds(range(1), 4, "", engines=SPARK)
    assert found["jobs"] >= 2


@pytest.mark.slow
def test_two_thousand_random_jobs_give_the_same_numbers() -> None:
    found = suite.run_worlds(range(3000, 4000), 40, "", most=2000, engines=SPARK)
    assert found["jobs"] >= 2000
    assert found["not by the reference"] < found["answered"] / 3


# faults
FAULTS = {
    "a weight is rounded up": ("SELECT COUNT(*) FROM v", "2097152L div GREATEST(p._n, 1L)", "2097152L div GREATEST(p._n, 1L) + 1L"),
    "one more key is kept": ("SELECT o, COUNT(*) FROM v GROUP BY o", "WHERE _place <= 2)", "WHERE _place <= 3)"),
    "who has two rows counts": ("SELECT COUNT(*) FROM p", " WHERE p._n = 1", ""),
    "a bound is not enforced": ("SELECT SUM(i) FROM v", "WHEN t.`i` >= 4L THEN 4L", ""),
    "rows without a key are lost": ("SELECT o, s, COUNT(*) FROM v GROUP BY o, s", "a._k0 <=> b._k0", "a._k0 = b._k0"),
    "rows without a person count": ("SELECT SUM(i) FROM v", "_u IS NOT NULL", "TRUE"),
}  # fmt: skip


@pytest.mark.parametrize(
    "fault", [*list(FAULTS)[:2], *(pytest.param(fault, marks=pytest.mark.slow) for fault in list(FAULTS)[2:])]
)
def test_faults_of_the_compiler_are_caught(fault: str, tmp_path: Path) -> None:
    """A fault in the SQL of a job changes an exact number, and the comparison sees it."""
    text, old, new = FAULTS[fault]
    world = suite.twin_world(tmp_path)
    more = [(who, "a", "x", i, "1.0", "0.5") for who, i in ((None, "3"), ("2", "1"), ("2", "1"), ("2", "2"))]
    world = replace(world, rows={**world.rows, "v": [*world.rows["v"], *more]})
    with everywhere(world, "", SPARK) as here:
        here.compare(text, None, None, random.Random(0))
        engine: Any = here.engines["spark"]

        def faulty(job: Any) -> CompiledJob[Any]:
            right = compile_job(job, engine.tables)
            assert any(old in statement.text for statement in right.statements()), right.sums
            broken = [
                None if s is None else replace(s, text=s.text.replace(old, new)) for s in (right.sums, right.people)
            ]
            return CompiledJob(broken[0], broken[1], right.extras)

        engine.compiled = faulty
        with pytest.raises(Broken):
            here.compare(text, None, None, random.Random(0))


# the text
def test_the_sql_of_a_sample_is_as_it_was(tmp_path: Path, golden: Any) -> None:
    shown: list[str] = []
    with everywhere(suite.twin_world(tmp_path), "", SPARK) as here:
        engine: Any = here.engines["spark"]
        views = {table.view: f"the {name}" for name, table in engine.tables.items()}
        for text in suite.SAMPLE:
            jobs = [part.job for cut in here.planned(engine, text).cuts for part in cut.parts]
            statements = [one.text for job in jobs for one in engine.compiled(job).statements()]
            named = [re.sub(r"sfumato_\w+", lambda found: views[found[0]], one) for one in statements]
            shown.append("\n".join([f"-- {text}", *named]))
    golden("sql/spark.sql", "\n\n".join(shown) + "\n")
