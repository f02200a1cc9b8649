"""One world in all engines: DuckDB, PostgreSQL, Spark and the reference interpreter hold the same rows and jobs.

A world of `worldgen` is typed once, by DuckDB; PostgreSQL gets the same values in types of its own, Spark a Parquet
file of each table, and the reference interpreter plain Python values. Exact vectors before noise must
be identical, group by group.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import psycopg

from sfumato.algebra.relations import fixed_in
from sfumato.algebra.tree import Facts
from sfumato.engines import ENGINES, Engine
from sfumato.engines.duckdb.scans import enforced
from sfumato.engines.reference import NotInReference, Reference
from sfumato.gateway.released_tables import ReleasedSet, released_tables
from sfumato.policy import DataSource, Policy, UnitJoin
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.plan import Plan, plan
from sfumato.types import identifier
from tests.laws.neighbours import Broken, Vector
from tests.laws.twins import drawn, unstepped
from tests.laws.worldgen import world
from tests.laws.worlds import World, fill

TODAY, SALT = date(2024, 6, 1), "salt"
_TYPES = {"HUGEINT": "numeric", "DOUBLE": "float8", "FLOAT": "float4", "VARCHAR": "text"}


@dataclass
class Everywhere:
    """A world in all engines."""

    policy: Policy
    engines: dict[str, Engine]
    raw: dict[str, list[dict[str, Any]]]

    def planned(self, engine: Engine, text: str, noise: str | None = None, rows: int | None = None) -> Plan:
        """The plan of a query, as the gateway makes it with this engine."""
        of: dict[str, Any] = {"stored": engine.stored(), "keeper": engine}
        question = bind(parse(text), self.policy, TODAY, engine, **of)
        asked = plan(question, self.policy, Fraction(1), rows, noise=noise, rows=engine)
        for cut in asked.cuts:
            for part in cut.parts:
                engine.compile(part.job)
        return asked

    def compare(self, text: str, noise: str | None, rows: int | None, r: random.Random) -> int:
        """How many jobs of this query give the same vectors everywhere; Broken where they do not."""
        plans = {name: self.planned(engine, text, noise, rows) for name, engine in self.engines.items()}
        first, jobs, drew = plans["duckdb"], 0, list[tuple[ReleasedSet, ...]]()
        for number, cut in enumerate(first.cuts):
            found = {}
            for name, engine in self.engines.items():
                own = plans[name].cuts[number]
                before = released_tables(plans[name].cuts[:number], tuple(drew))
                found[name] = vector(engine, own, before)
                if name == "duckdb":
                    meant = self.meant(engine, own, before)
            if meant is not None:
                found["the reference"] = meant
            for name, other in found.items():
                if other != found["duckdb"]:
                    raise Broken(f"{text}\n{name}: {_apart(other, found['duckdb'])}")
            jobs += len(cut.parts)
            drew.append(drawn(cut, found["duckdb"], r))
        return jobs

    def meant(self, engine: Any, cut: Any, before: tuple[Any, ...]) -> Vector | None:
        """What the reference interpreter says; None where it does not cover the job."""
        fixed: dict[int, list[dict[str, Any]]] = {}
        for of in fixed_in(cut.release.below):
            names = sorted(of.columns)
            if of.kept is not None:
                rows = engine.public_rows(of, names)
            else:
                table = engine.fixed_table(of, before)
                columns = [table.values(name) for name in names]
                count = len(table.values(next(iter(table.kinds))))
                rows = list(zip(*columns, strict=True)) if names else [()] * count
            fixed[of.number] = [
                {n: unstepped(v, of.columns[n].facts) for n, v in zip(names, row, strict=False)} for row in rows
            ]
        reference, found = Reference(self.policy, self.raw, fixed), Vector()
        try:
            for number, part in enumerate(cut.parts):
                results = reference.run(part.job, SALT)
                found |= {(number, *group): sums for group, sums in results.sums.items()}
                found |= {("people", number, *key): (count,) for key, count in results.people.items()}
                for place, extra in enumerate(results.extras):
                    found |= {("extra", number, place, *group): (n,) for group, n in extra.items()}
        except NotInReference as missing:
            self.uncovered = str(missing)
            return None
        return found

    uncovered: str = ""


def vector(engine: Engine, cut: Any, before: tuple[Any, ...]) -> Vector:
    """The exact numbers that an engine gives for a cut."""
    fixed = {of.number: engine.fixed_table(of, before) for of in fixed_in(cut.release.below) if of.kept is None}
    found = Vector()
    with engine.snapshot():
        for number, part in enumerate(cut.parts):
            engine.dry_run(part.job, fixed)
            rows = engine.run(part.job, fixed, SALT)
            cells = sum(len(bundle.parts) for bundle in part.job.bundles)
            for group, sums in rows.sums:
                if any(sums._sealed[:cells]):
                    found[number, *group] = tuple(sums._sealed[:cells])
            found |= {("people", number, *group): tuple(count._sealed[:1]) for group, count in rows.people}
            for place, extra in enumerate(rows.extras):
                found |= {("extra", number, place, *group): tuple(n._sealed) for group, n in extra}
    return found


def _apart(one: Vector, other: Vector) -> str:
    keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
    return ", ".join(f"{key}: {one.get(key)} instead of {other.get(key)}" for key in keys[:4])


# the same rows everywhere
def some_world(r: random.Random) -> World:
    """A world whose times have types of their own: texts that stand for times are read by each engine in its way."""
    made = world(r)
    types = {
        name: {
            c: {"d": "DATE", "t": "TIMESTAMP"}.get(c, kind) if kind == "VARCHAR" else kind for c, kind in kinds.items()
        }
        for name, kinds in made.types.items()
    }
    rows = {
        name: [tuple(None if value == "1.995" else value for value in row) for row in rows]  # a tie that doubles miss
        for name, rows in made.rows.items()
    }
    return replace(made, types=types, rows=rows)


@contextmanager
def everywhere(world: World, address: str, names: tuple[str, ...] = ("duckdb", "postgres")) -> Iterator[Everywhere]:
    """Engines over the rows of a world; each test file has Spark or PostgreSQL beside DuckDB."""
    whole = replace(world.policy.privacy, partition=None)  # a live database has no cells of people
    world = replace(world, policy=replace(world.policy, privacy=whole))
    with ExitStack() as stack:
        schema = f"world{os.getpid()}"
        folder = Path(stack.enter_context(TemporaryDirectory()))
        typed = stack.enter_context(closing(duckdb.connect(str(folder / "world.duckdb"))))
        for name, table in world.policy.tables.items():
            fill(typed, identifier(name), table, world.types[name], [(0, None, *row) for row in world.rows[name]])
            typed.execute(f"ALTER TABLE {identifier(name)} DROP COLUMN part")
            typed.execute(f"ALTER TABLE {identifier(name)} DROP COLUMN who")
        raw = {name: list(_raw(typed, world, name)) for name in world.policy.tables}
        copied = {name: _printed(typed, world, name) for name in world.policy.tables}
        for name in world.policy.tables if "spark" in names else ():
            _write_parquet(typed, world, name, folder)
        typed.close()
        if "postgres" in names:
            _fill_postgres(world, address, schema, copied)
        sources = {
            "duckdb": DataSource("duckdb", str(folder / "world.duckdb"), None),
            "postgres": DataSource("postgres", None, f"{address}?options=-csearch_path%3D{schema}"),
            "spark": DataSource("spark", {n: str(folder / f"{n}.parquet") for n in world.policy.tables}, "local[2]"),
        }
        engines: dict[str, Engine] = {}
        data = replace(world.policy.data, state=str(folder / "state"))
        (folder / "state").mkdir()
        for name in names:
            policy = replace(world.policy, source=sources[name], data=data)
            engines[name] = stack.enter_context(closing(ENGINES[name](policy, None, False, False)))
            engines[name].keep(policy, policy.tables)
        yield Everywhere(world.policy, engines, raw)


def _printed(typed: duckdb.DuckDBPyConnection, world: World, name: str) -> list[tuple[str | None, ...]]:
    columns = ", ".join(f"CAST({identifier(c)} AS VARCHAR)" for c in world.policy.tables[name].columns)
    return [tuple(row) for row in typed.execute(f"SELECT {columns or 'NULL'} FROM {identifier(name)}").fetchall()]


def _write_parquet(typed: duckdb.DuckDBPyConnection, world: World, name: str, folder: Path) -> None:
    """The rows as Spark reads them: whole numbers of 128 bits as decimals, times of other millennia as bounds."""
    shown = []
    for column in world.policy.tables[name].columns:
        kind, x = world.types[name][column], identifier(column)
        if kind == "HUGEINT":
            x = f"CAST({x} AS DECIMAL(38, 0))"
        elif kind in ("DATE", "TIMESTAMP"):
            first, last = f"{kind} '0001-01-01'", f"{kind} '9999-12-31'"
            x = f"CASE WHEN {x} < {first} THEN {first} WHEN {x} > {last} THEN {last} ELSE {x} END"
        shown.append(f"{x} AS {identifier(column)}")
    sql = f"SELECT {', '.join(shown) or 'NULL AS none'} FROM {identifier(name)}"
    typed.execute(f"COPY ({sql}) TO '{folder / name}.parquet' (FORMAT parquet)")


def _raw(typed: duckdb.DuckDBPyConnection, world: World, name: str) -> Iterator[dict[str, Any]]:
    """Plain values for the reference; times in their declared type, and within the years that Python knows."""
    table, shown = world.policy.tables[name], []
    for column, declared in table.columns.items():
        x = identifier(column)
        if declared.type in ("date", "timestamp"):
            bare = replace(declared, low=None, high=None)
            x = f"CAST({enforced(bare, x, Facts(declared.type))} AS {declared.type})"
        elif declared.type == "boolean":
            x = f"TRY_CAST({x} AS BOOLEAN)"
        shown.append(x)
    rows = typed.execute(f"SELECT {', '.join(shown) or 'NULL'} FROM {identifier(name)}").fetchall()
    for row in rows:
        yield dict(zip(table.columns, row, strict=False))


def _fill_postgres(world: World, address: str, schema: str, copied: dict[str, Any]) -> None:
    with psycopg.connect(address) as link:
        link.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        link.execute(f"CREATE SCHEMA {schema}")
        for name, table in world.policy.tables.items():
            kinds = {c: _TYPES.get(kind, kind.lower()) for c, kind in world.types[name].items()}
            columns = ", ".join(f"{identifier(c)} {kinds[c]}" for c in table.columns)
            link.execute(f"CREATE TABLE {schema}.{identifier(name)} ({columns})")
            with link.cursor().copy(f"COPY {schema}.{identifier(name)} FROM STDIN") as copy:
                for row in copied[name]:
                    pairs = zip(row, kinds.values(), strict=False)
                    copy.write_row([_in_range(value, kind) for value, kind in pairs])
        for table in world.policy.tables.values():
            if isinstance(table.unit, UnitJoin):
                place = f"{schema}.{identifier(table.unit.table)}"
                link.execute(f"CREATE UNIQUE INDEX ON {place} ({identifier(table.unit.key)})")
            elif table.unit is not None:
                with suppress(psycopg.errors.UniqueViolation), link.transaction():  # where nobody has two rows
                    link.execute(f"CREATE UNIQUE INDEX ON {schema}.{identifier(table.name)} ({identifier(table.unit)})")


def _spelled(unit: Any) -> Any:
    """One value for all spellings of a number."""
    try:
        return float(unit)
    except (TypeError, ValueError):
        return str(unit)


def one_row_each(world: World) -> World:
    """The same world without the second rows of people in tables that allow one."""
    rows = dict(world.rows)
    for name, table in world.policy.tables.items():
        if table.rows_per_unit == 1 and isinstance(table.unit, str) and table.unit in table.columns:
            place = list(table.columns).index(table.unit)
            rows[name] = list({_spelled(row[place]): row for row in rows[name]}.values())
    return replace(world, rows=rows)


def _in_range(value: str | None, kind: str) -> str | None:
    """Times that PostgreSQL does not hold are infinite there."""
    if value is None or kind not in ("date", "timestamp"):
        return value
    if "BC" in value:
        return "-infinity"
    year = int(value.split("-")[0]) if value[0].isdigit() else 0
    return "infinity" if year > (5874000 if kind == "date" else 290000) else value
