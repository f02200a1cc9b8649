"""One suite for all engines: random jobs and every function on hostile values give identical exact numbers everywhere.

DuckDB, PostgreSQL and the reference interpreter get the same rows; `test_engines_spark` has Spark beside them. What an engine does not do is marked and counted:
`works`, `not yet` (refused before anything is charged) or `never`.
"""

# ruff: noqa: E501  a fault stands on one line

from __future__ import annotations

import math
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sfumato.algebra.functions import FUNCTIONS, call
from sfumato.algebra.functions.interval_ends import ENDS
from sfumato.algebra.tree import Column
from sfumato.engines import ENGINES
from sfumato.engines.duckdb import expressions as of_duckdb
from sfumato.engines.postgres import expressions as of_postgres
from sfumato.engines.postgres.jobs import compile_job
from sfumato.engines.postgres.server import PostgresServer
from sfumato.engines.postgres.spelling import type_of
from sfumato.engines.remote.engine import CompiledJob
from sfumato.engines.spark import expressions as of_spark
from sfumato.errors import QueryError
from sfumato.policy import load
from sfumato.sql.bind.constants import constant
from sfumato.types import identifier
from tests.laws import test_functions as functions
from tests.laws import twins
from tests.laws.engines import everywhere, one_row_each, some_world
from tests.laws.neighbours import Broken
from tests.laws.questions import Asker
from tests.laws.shapes import ASKED, MET, POSITIONS, PRIVATE, askings, meetings
from tests.laws.sqlgen import Words
from tests.laws.test_twins import OPEN, PEOPLE, REFUSED
from tests.laws.worlds import World
from tests.needed import needed

psycopg = needed("psycopg")
WORKS, NOT_YET, NEVER = "works", "not yet", "never"
ABOVE = {"settle", "row", *ENDS}
"""What is written above the releases alone: that is DuckDB's work, whatever engine holds the rows."""


@pytest.fixture(scope="module")
def address(pg: str) -> str:
    """A server for the tests of this file."""
    return pg


# every function
def _mark(name: str, engine: str, written: Any) -> str:
    if name in ABOVE and engine != "duckdb":
        return NEVER
    if name in {"postgres": of_postgres.NOT_YET, "spark": of_spark.NOT_YET}.get(engine, ()):
        return NOT_YET
    return WORKS if name in written else ""


def test_every_function_has_a_mark_in_every_engine() -> None:
    """The coverage of functions below a release: an empty cell fails."""
    written = {
        of.ENGINE: {*of.INTERNAL, *(name for name, function in FUNCTIONS.items() if of.ENGINE in function.spellings)}
        for of in (of_duckdb, of_postgres, of_spark)
    }
    names = sorted({*FUNCTIONS, "clamp", *ABOVE})
    marks = {(name, engine): _mark(name, engine, of) for name in names for engine, of in written.items()}
    lines = [f"{name:>18}  " + "  ".join(f"{marks[name, e]:<8}" for e in ENGINES) for name in names]
    sys.stdout.write("\n" + " " * 20 + "  ".join(f"{e:<8}" for e in ENGINES) + "\n" + "\n".join(lines) + "\n")
    assert set(written) == set(ENGINES)
    assert all(marks.values()), [cell for cell, mark in marks.items() if not mark]
    for engine in ("postgres", "spark"):
        of = {name: mark for (name, where), mark in marks.items() if where == engine}
        assert [name for name, mark in of.items() if mark == NEVER] == sorted(ABOVE)
        assert [name for name, mark in of.items() if mark == NOT_YET] == ["initcap"]


@pytest.fixture(scope="module")
def both(address: str) -> Iterator[tuple[duckdb.DuckDBPyConnection, PostgresServer]]:
    """The rows of `test_functions` in both engines, in one order."""
    rows: duckdb.DuckDBPyConnection = functions.engine.__wrapped__()  # type: ignore[attr-defined]
    kinds = {c: type_of(facts) for c, (facts, _, _) in functions.COLUMNS.items()}
    columns = ", ".join(f"{identifier(c)} {kind}" + (' COLLATE "C"' * (kind == "text")) for c, kind in kinds.items())
    with psycopg.connect(address, autocommit=True) as link:
        link.execute("DROP TABLE IF EXISTS public.values_of_functions")
        link.execute(f"CREATE TABLE public.values_of_functions (n int, {columns})")
        holes = ", ".join(["%s"] * (len(kinds) + 1))
        listed = [(i, *row) for i, row in enumerate(rows.execute("SELECT * FROM rows").fetchall())]
        link.cursor().executemany(f"INSERT INTO public.values_of_functions VALUES ({holes})", listed)
    server = PostgresServer(address)
    yield rows, server
    server.close()


def alike(a: Any, b: Any) -> bool:
    """The same value; the last bits of logarithms and powers are the library's."""
    b = int(b) if isinstance(b, Decimal) else b
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-14)
    return type(a) is type(b) and bool(a == b)


def test_the_lowest_number_of_127_bits_is_no_product(both: Any) -> None:
    """The embedded engine multiplies sizes, so that -2^127 is NULL as a product, though its type holds the number."""
    rows, server = both
    far, whole = (Column(name, functions.COLUMNS[name][0]) for name in ("far", "any"))
    made = call("*", (call("abs", (call("+", (far, far)),)), whole))
    meant = [row[0] for row in rows.execute(f"SELECT {of_duckdb.expression(made)} FROM rows").fetchall()]
    with server.reading() as cursor:
        sql = f"SELECT {of_postgres.expression(made)} FROM public.values_of_functions ORDER BY n"
        found = [row[0] for row in cursor.execute(sql).fetchall()]
    assert all(alike(a, b) for a, b in zip(meant, found, strict=True))
    exact = rows.execute('SELECT "far", "any" FROM rows').fetchall()
    assert -(1 << 127) in [abs(a + a) * b for a, b in exact if a is not None and b is not None]


@pytest.mark.parametrize("operator", ["+", "-", "*", "<"])
def test_numbers_without_bounds_end_alike(operator: str, both: Any) -> None:
    """Beyond 127 bits they are NULL, also on a finer grid and where they are compared."""
    rows, server = both
    exact = call("trunc", (Column("f", functions.COLUMNS["f"][0]),), "12")
    huge = call("*", (call("*", (exact, constant(1 << 62))), constant(40_000)))  # of 745: 1.4e38 steps, of 2^127 below
    made = call(operator, (huge, call("negate", (huge,)) if operator == "-" else huge))
    if operator == "<":
        made = call("<", (huge, call("*", (exact, exact))))  # on the finer grid of the square
    meant = [row[0] for row in rows.execute(f"SELECT {of_duckdb.expression(made)} FROM rows").fetchall()]
    with server.reading() as cursor:
        sql = f"SELECT {of_postgres.expression(made)} FROM public.values_of_functions ORDER BY n"
        found = [row[0] for row in cursor.execute(sql).fetchall()]
    assert all(alike(a, b) for a, b in zip(meant, found, strict=True)), list(zip(meant, found, strict=True))


@pytest.mark.parametrize("cases", [5, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - ABOVE - set(of_postgres.NOT_YET)))
def test_a_function_means_the_same_in_both_and_never_raises(name: str, cases: int, both: Any) -> None:
    """Alone and nested, over extremes of every kind of argument."""
    rows, server = both
    r, compared = random.Random(f"{name} {cases} both"), 0
    for n in range(8 * cases):
        made = functions.Maker(r, n % 3).make(name)
        if made is None:
            continue
        try:
            sql = of_postgres.expression(made)
        except QueryError:  # too long, or leads too far away
            continue
        meant = [row[0] for row in rows.execute(f"SELECT {of_duckdb.expression(made)} FROM rows").fetchall()]
        with server.reading() as cursor:
            found = [
                row[0] for row in cursor.execute(f"SELECT {sql} FROM public.values_of_functions ORDER BY n").fetchall()
            ]
        for row, (a, b) in enumerate(zip(meant, found, strict=True)):
            assert alike(a, b), f"row {row}: {a!r} and {b!r}\n{made}\n{sql}"
        compared += 1
        if compared >= cases:
            break
    assert compared >= min(cases, 4)


# every kind of relation
def twin_world(folder: Path) -> World:
    """The small extreme tables of the twins."""
    file = folder / "sfumato.toml"
    file.write_text(twins.policy("add-remove", 2, clipped=True), encoding="utf-8")
    policy = load(file)
    private = {"u": "BIGINT", "s": "VARCHAR", "o": "VARCHAR", "i": "BIGINT", "m": "DOUBLE", "f": "DOUBLE"}
    types = {"p": private, "v": private, "y": {"g": "BIGINT", "n": "VARCHAR"}}

    def texts(rows: list[dict[str, Any]], columns: Any) -> list[tuple[str | None, ...]]:
        return [tuple(None if row[c] is None else str(row[c]) for c in columns) for row in rows]

    rows = {name: texts([row for own in PEOPLE.values() for row in own[name]], types[name]) for name in "pv"}
    return World(policy, types, {**rows, "y": texts(OPEN, types["y"])})


def known(refused: QueryError, text: str) -> None:
    """A refusal is the planner's: none of them is for one engine alone, but for those that are named here."""
    assert "PostgreSQL" not in refused.message or "INITCAP" in refused.message, text
    ours = ("INITCAP", "a group that is repeated", "GROUPS", "37 digits")
    assert "Spark" not in refused.message or any(word in refused.message for word in ours), text


BOTH = ("duckdb", "postgres")


def run_shapes(queries: list[twins.Asked], folder: Path, address: str, engines: tuple[str, ...] = BOTH) -> Counter[Any]:
    """How often each cell was met, with identical numbers everywhere."""
    met: Counter[Any] = Counter()
    with everywhere(twin_world(folder), address, engines) as here:
        for query in queries:
            try:
                jobs = here.compare(query.text, query.noise, None, random.Random(0))
            except QueryError as refused:
                known(refused, query.text)
                continue
            met["jobs"] += jobs
            for cell in query.of:
                for name in cell:
                    met[name] += 1
    return met


def shown(title: str, kinds: Any, met: Counter[Any]) -> None:
    sys.stdout.write(f"\n{title}\n" + "\n".join(f"{kind:>26} {met[kind]:>5}" for kind in kinds) + "\n")
    assert not [kind for kind in kinds if not met[kind]]


def test_every_kind_of_relation_means_the_same_everywhere(tmp_path: Path, address: str) -> None:
    """Each kind of private relation with each thing asked of it in turn, each kind of public one in some position."""
    asked = {(query.of[0][0], query.of[0][1]): query for query in askings(3)}
    kinds, words = list(PRIVATE), list(ASKED)
    some = [
        asked[kind, words[i % len(words)]] for i, kind in enumerate(kinds) if (kind, words[i % len(words)]) in asked
    ]
    some += [
        asked[kinds[i % len(kinds)], word] for i, word in enumerate(words) if (kinds[i % len(kinds)], word) in asked
    ]
    cells = {query.of[0]: query for query in meetings(3)}
    places = list(POSITIONS)
    for i, kind in enumerate(MET):
        free = [(kind, places[(i + k) % len(places)]) for k in range(len(places))]
        some.append(next(cells[cell] for cell in free if cell in cells and cell not in REFUSED))
    met = run_shapes(some, tmp_path, address)
    shown("private relations, the same numbers everywhere", PRIVATE, met)
    shown("public and released relations", MET, met)
    assert met["jobs"] > 60


@pytest.mark.slow
def test_every_shape_means_the_same_everywhere(tmp_path: Path, address: str) -> None:
    met = run_shapes([*meetings(5), *askings(5)], tmp_path, address)
    for title, kinds in (("private", PRIVATE), ("asked", ASKED), ("met", MET), ("positions", POSITIONS)):
        shown(title, kinds, met)


SAMPLE = [
    "SELECT COUNT(*), SUM(i) FROM p",
    "SELECT s, COUNT(*), AVG(m) FROM v GROUP BY s",
    "SELECT o, COUNT(*) FROM v GROUP BY o",
    "SELECT COUNT(*) FROM v JOIN y ON v.i = y.g WHERE v.f / 3 > 0.5",
    "SELECT MEDIAN(a) FROM (SELECT u, AVG(i) AS a FROM v GROUP BY u) AS q",
]


def test_the_sql_of_a_sample_is_as_it_was(tmp_path: Path, address: str, golden: Any) -> None:
    shown = []
    with everywhere(twin_world(tmp_path), address) as here:
        engine: Any = here.engines["postgres"]
        for text in SAMPLE:
            jobs = [part.job for cut in here.planned(engine, text).cuts for part in cut.parts]
            statements = [one.text for job in jobs for one in engine.compiled(job).statements()]
            shown.append("\n".join([f"-- {text}", *(one.replace(f"world{os.getpid()}", "room") for one in statements)]))
    golden("sql/postgres.sql", "\n\n".join(shown) + "\n")


# random jobs on hostile rows
def run_worlds(
    seeds: range, each: int, address: str, most: int = 10**9, engines: tuple[str, ...] = BOTH
) -> Counter[str]:
    """Random worlds and random queries; what the reference does not cover is counted by name."""
    found: Counter[str] = Counter()
    for seed in seeds:
        r = random.Random(seed)
        world = some_world(r)
        with everywhere(world, address, engines) as here:
            for _ in range(each):
                letters = world.policy.tables["t"].columns
                single = Words(r, letters, letters["u"].type == "text")
                text = single.question() if r.random() < 0.3 else Asker(r, world).question()
                pure = world.policy.privacy.composition == "pure"
                noise, rows = None if pure else r.choice([None, None, "gaussian"]), r.choice([None, None, None, 1])
                here.uncovered = ""
                try:
                    found["jobs"] += here.compare(text, noise, rows, r)
                except QueryError as refused:
                    known(refused, text)
                    found["refused"] += 1
                    continue
                found["answered"] += 1
                found["not by the reference"] += bool(here.uncovered)
        if found["jobs"] >= most:
            break
    sys.stdout.write(f"\n{dict(found)}\n")
    return found


def test_random_jobs_give_the_same_numbers_everywhere(address: str) -> None:
    found = run_worlds(range(4), 9, address)
    assert found["jobs"] > 15
    assert found["not by the reference"] < found["answered"] / 2


@pytest.mark.slow
def test_two_thousand_random_jobs_give_the_same_numbers_everywhere(address: str) -> None:
    found = run_worlds(range(1000, 2000), 20, address, most=2000)
    assert found["jobs"] >= 2000
    assert found["not by the reference"] < found["answered"] / 3


@pytest.mark.parametrize("seeds", [range(32, 50), pytest.param(range(100, 200), marks=pytest.mark.slow)])
def test_one_row_a_person_gives_the_same_numbers(seeds: range, address: str) -> None:
    """Where the server keeps units unique, sums are taken over rows: as DuckDB, the reference and the other form have them."""
    found: Counter[str] = Counter()
    for seed in seeds:
        r = random.Random(f"one row {seed}")
        world = one_row_each(some_world(r))
        with everywhere(world, address) as here:
            engine: Any = here.engines["postgres"]
            found["tables"] += len(engine._units)
            written = engine.compiled

            def counted(job: Any, one_row: frozenset[str] = frozenset(), written: Any = written) -> Any:
                right, plain = written(job, one_row), written(job, frozenset())
                for kind in ("sums", "people", "extras"):
                    found[kind] += bool(one_row) and getattr(right, kind) != getattr(plain, kind)
                return right

            engine.compiled = counted
            for _ in range(12):
                try:
                    found["jobs"] += here.compare(Asker(r, world).question(), None, None, r)
                except QueryError as refused:
                    known(refused, "")
    sys.stdout.write(f"\n{dict(found)}\n")
    assert min(found[kind] for kind in ("tables", "jobs", "sums", "people", "extras")) > 0, found


# faults
FAULTS = {
    "a weight is rounded up": ("SELECT COUNT(*) FROM v", "div(2097152::numeric, p._n)", "div(2097152::numeric, p._n) + 1"),
    "one more key is kept": ("SELECT o, COUNT(*) FROM v GROUP BY o", "WHERE _place <= 2)", "WHERE _place <= 3)"),
    "who has two rows counts": ("SELECT COUNT(*) FROM p", " WHERE p._n = 1", ""),
    "a bound is not enforced": ("SELECT SUM(i) FROM v", 'WHEN t."i" >= (4)::bigint THEN (4)::bigint', ""),
    "rows without a key are lost": ("SELECT o, s, COUNT(*) FROM v GROUP BY o, s", "a._k0 IS NOT DISTINCT FROM b._k0", "a._k0 = b._k0"),
    "a mean is rounded to the even step": ("SELECT SUM(a) FROM (SELECT u, AVG(i) AS a FROM v WHERE s = 'a' OR s IS NULL GROUP BY u) AS q", "% 2 = 0 THEN", "% 2 <> 0 THEN"),
    "rows without a person count": ("SELECT SUM(i) FROM v", "_u IS NOT NULL", "TRUE"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_the_compiler_are_caught(fault: str, tmp_path: Path, address: str) -> None:
    """A fault in the SQL of a job changes an exact number, and the comparison sees it."""
    text, old, new = FAULTS[fault]
    world = twin_world(tmp_path)
    more = [(who, "a", "x", i, "1.0", "0.5") for who, i in ((None, "3"), ("2", "1"), ("2", "1"), ("2", "2"))]
    world = replace(world, rows={**world.rows, "v": [*world.rows["v"], *more]})
    with everywhere(world, address) as here:
        here.compare(text, None, None, random.Random(0))
        engine: Any = here.engines["postgres"]

        def faulty(job: Any, _: frozenset[str] = frozenset()) -> Any:
            right = compile_job(job, engine.tables)
            assert any(old in statement.text for statement in right.statements())
            broken = [
                None if s is None else replace(s, text=s.text.replace(old, new)) for s in (right.sums, right.people)
            ]
            return CompiledJob(broken[0], broken[1], right.extras)

        engine.compiled = faulty
        with pytest.raises(Broken):
            here.compare(text, None, None, random.Random(0))
