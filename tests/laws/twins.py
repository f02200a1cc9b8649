"""Twins: the same query on tables and on a neighbour of theirs, each in an engine of its own that knows its tables.

The neighbour check of `neighbours` looks at the plain SQL of a plan. This one runs what the gateway runs: the engine
keeps the tables as their scans give them, or has them prepared, and chooses a physical plan by what it knows of its
rows, so that two neighbours may run different plans; public sub-queries are computed once; open keys are counted in
slices. On every database the physical plan is compared with the plain one as well. Worlds are small and extreme:
persons have one row or many at the ends of their domains, also where the policy declares one row.
"""

# ruff: noqa: E501  a shape of a query stands on one line
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.algebra.contribution import contribution
from sfumato.algebra.relations import fixed_in
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.duckdb.prepared_file import look
from sfumato.engines.reference import NotInReference, Reference
from sfumato.errors import QueryError
from sfumato.gateway.released_tables import ReleasedSet, released_tables
from sfumato.owner.preparation import prepare
from sfumato.policy import load
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.plan import Plan, plan
from sfumato.types import identifier
from tests.compiled import ask, fixed_tables, knowledge, number_of_rows, physical, plain
from tests.laws.neighbours import Broken, Vector, chosen, claimed, combined, loss

TODAY, FAR = date(2024, 6, 1), 2**53
_PERSON = {
    "s": ('{ values = ["a", "b"] }', ["a", "a", "a", "b", "b", "b", None, "z"], pa.string()),
    "o": ('{ type = "text", max_length = 2 }', ["x", "y", "xyz", None], pa.string()),
    "i": ('{ type = "integer", min = 0, max = 4 }', [0, 4, 4, 9, 2, None], pa.int64()),
    "m": ('{ type = "decimal", min = -1, max = 2, grid = 0.25 }', [-1.0, 2.0, 2.0, 0.3, None], pa.float64()),
    "f": ('{ type = "double" }', [float(FAR), float(FAR), 0.5, float("nan"), None], pa.float64()),
}
_PUBLIC = {
    "g": ('{ type = "integer" }', [FAR, FAR + 1, FAR + 1, 0, 4, None], pa.int64()),
    "n": ('{ type = "text", max_length = 2 }', ["a", "b", "x", None], pa.string()),
}
Rows = list[dict[str, Any]]
People = dict[int, dict[str, Rows]]


@dataclass(frozen=True)
class Twins:
    """A policy of p (one row a person), v (several) and the public y, and the rows of each person and of her others."""

    policy: str
    people: People
    others: People
    public: Rows

    def frames(self, people: People) -> dict[str, pa.Table]:
        """The tables that these people make."""
        schema = pa.schema([("u", pa.int64()), *((c, kind) for c, (_, _, kind) in _PERSON.items())])
        frames = {
            name: pa.Table.from_pylist([row for of in people.values() for row in of[name]], schema) for name in "pv"
        }
        open_ = pa.schema([(c, kind) for c, (_, _, kind) in _PUBLIC.items()])
        return {**frames, "y": pa.Table.from_pylist(self.public, open_)}


def policy(adjacency: str, rows: int, clipped: bool = False) -> str:
    """p, v with so many rows a person, and y; `clipped` bounds a lone SUM of i in both.

    The tables declare the same identifiers differently, so that 0 and 1 are two people with one identifier.
    """
    columns = "\n".join(f"{c} = {declared}" for c, (declared, _, _) in _PERSON.items())
    clip = "sum_per_unit = { i = 3 }\n" if clipped else ""
    private = "".join(
        f'[tables.{name}]\nunit = "u"\nrows_per_unit = {most}\n{clip}[tables.{name}.columns]\n{unit}\n{columns}\n'
        for name, most, unit in (
            ("p", 1, 'u = { type = "integer", min = 1, max = 9 }'),
            ("v", rows, 'u = { type = "integer", min = 0, max = 2 }'),
        )
    )
    open_ = "\n".join(f"{c} = {declared}" for c, (declared, _, _) in _PUBLIC.items())
    return (
        '[source]\nengine = "duckdb"\nfiles = { p = "p.parquet", v = "v.parquet", y = "y.parquet" }\n[data]\nid = "twins"\n'
        f'[privacy]\nepsilon = 10\nadjacency = "{adjacency}"\ndelta = 0.001\n{private}'
        f"[tables.y]\npublic = true\n[tables.y.columns]\n{open_}\n"
    )


def row(who: int, **values: Any) -> dict[str, Any]:
    """A row of a person; NULL where nothing is said, but for numbers."""
    return {"u": who, "s": None, "o": None, "i": 0, "m": 0.0, "f": None, **values}


def twins(r: random.Random) -> Twins:
    """Random tables."""
    made = policy(r.choice(["add-remove", "replace"]), r.choice([1, 2, 3]), r.random() < 0.3)

    def any_row(who: int) -> dict[str, Any]:
        return {"u": who, **{c: r.choice(pool) for c, (_, pool, _) in _PERSON.items()}}

    def person(who: int) -> dict[str, Rows]:
        many = r.random() < 0.5
        own = [any_row(who)] * r.choice([1, 3, 9]) if many else [any_row(who) for _ in range(r.choice([0, 2, 4]))]
        return {"p": [any_row(who) for _ in range(r.choice([0, 1, 1, 1, 1, 2]))], "v": own}

    public = [{c: r.choice(pool) for c, (_, pool, _) in _PUBLIC.items()} for _ in range(r.choice([1, 3, 5]))]
    everybody = range(r.randint(1, 2))
    return Twins(made, {u: person(u) for u in everybody}, {u: person(u) for u in everybody}, public)


# the check
class Here:
    """One database in an engine that keeps its tables, or has them prepared, and knows them."""

    reference: Counter[str] | None = None
    """Where it is counted how often the reference interpreter was asked; None where it is not asked."""

    def __init__(self, text: str, frames: dict[str, pa.Table], prepared: bool = False) -> None:
        self.tables = {name: frame.to_pylist() for name, frame in frames.items()}
        self._folder = TemporaryDirectory()
        home = Path(self._folder.name)
        (home / "sfumato.toml").write_text(text, encoding="utf-8")
        self.policy, self.salt = load(home / "sfumato.toml"), "salt"
        if not prepared:
            self.engine = DuckDB(self.policy, frames, threads=1)
        else:
            for name, frame in frames.items():
                pq.write_table(frame, home / f"{name}.parquet")
            prepare(home / "sfumato.toml")
            found = look(self.policy, self.policy.version_at(datetime(2024, 6, 1, tzinfo=UTC)))
            assert found is not None
            self.engine, self.salt = DuckDB(self.policy, threads=1, prepared=found), found.salt
        self.engine.keep(self.policy, self.policy.tables)

    def close(self) -> None:
        self.engine.close()
        self._folder.cleanup()

    def planned(self, text: str, noise: str | None, how: Any = None) -> Plan:
        engine, policy = self.engine, self.policy
        of: dict[str, Any] = {"stored": engine.stored(), "keeper": engine}
        if how is not None:  # a planner with a fault, which makes its own tree
            made: Plan = how(text, policy, run=engine.run_public, noise=noise, **of)
            return made
        asked = bind(parse(text), policy, TODAY, engine, **of)
        found = plan(asked, policy, Fraction(1), noise=noise, rows=engine)
        for part in (part for cut in found.cuts for part in cut.parts):
            contribution(part.job, len(part.groups))  # the gateway refuses what the checker does not admit
        return found

    def vector(self, cut: Any, released: tuple[Any, ...] = (), meant: Any = None) -> Vector:
        """The exact numbers of a cut, by the SQL that is run for them; the plain SQL gives the same.

        `meant` is the cut whose meaning they must have, where another planner made this one.
        """
        quick, plain = (self._vector(cut, released, facts) for facts in (True, False))
        if quick != plain:
            raise Broken(f"the physical plan is another function: {quick} instead of {plain}")
        if self.reference is not None:
            self._compare(cut if meant is None else meant, released, quick)
        return quick

    def _compare(self, cut: Any, released: tuple[Any, ...], found: Vector) -> None:
        """What the engine gives is what the reference interpreter gives, where it covers the job."""
        assert self.reference is not None
        try:
            meant = self._meant(cut, released)
        except NotInReference as missing:
            self.reference[str(missing)] += 1
            return
        self.reference["compared"] += 1
        if found != meant:
            raise Broken(f"the engine gives {found}, but the job means {meant}")

    def interpreter(self, cut: Any, released: tuple[Any, ...] = ()) -> Reference:
        """The reference interpreter over these tables, with the public rows of a cut."""
        fixed: dict[int, list[dict[str, Any]]] = {}
        tables = fixed_tables(cut, released, self.engine.run_public)
        for of in fixed_in(cut.release.below):
            if of.kept is not None:
                names = list(of.columns)
                shown = ", ".join(map(identifier, names)) or "NULL"  # rows without columns are rows
                rows = [row[: len(names)] for row in self.engine._look(f"SELECT {shown} FROM {of.kept.name}")]
            else:
                table = tables[of.number]
                names = list(of.columns)
                columns = [table.values(name) for name in names]
                rows = list(zip(*columns, strict=True)) if names else [()] * number_of_rows(table)
            fixed[of.number] = [
                {name: unstepped(value, of.columns[name].facts) for name, value in zip(names, row, strict=True)}
                for row in rows
            ]
        return Reference(self.policy, self.tables, fixed)

    def _meant(self, cut: Any, released: tuple[Any, ...]) -> Vector:
        reference, found = self.interpreter(cut, released), Vector()
        for number, part in enumerate(cut.parts):
            results = reference.run(part.job, self.salt)
            found |= {(number, *group): sums for group, sums in results.sums.items()}
            found |= {("people", number, *key): (count,) for key, count in results.people.items()}
            extras = iter(results.extras)
            for place, of_ in enumerate(part.bundles):
                if of_.extra is not None:
                    word = "places" if of_.extra.law is not None else "different"
                    found |= {(word, number, place, *group): (n,) for group, n in next(extras).items()}
        return found

    def _vector(self, cut: Any, released: tuple[Any, ...], facts: bool) -> Vector:
        fixed = fixed_tables(cut, released, self.engine.run_public)
        known = knowledge(self.engine, {of: number_of_rows(table) for of, table in fixed.items()})
        before, found = tuple(fixed.values()), Vector()
        for number, part in enumerate(cut.parts):
            texts = physical(part.job, known) if facts else plain(part.job)
            width, cells = len(part.kept), sum(len(released.bundle.parts) for released in part.bundles)
            for row in self._rows(texts.sums, before, width) if texts.sums is not None else ():
                if any(row[width : width + cells]):
                    found[number, *row[:width]] = row[width : width + cells]
                if part.chosen and texts.people is None:
                    found["people", number, *row[:width]] = row[-1:]
            for row in self._rows(texts.people, before, len(part.chosen)) if texts.people is not None else ():
                found["people", number, *row[:-1]] = row[-1:]
            extras = iter(texts.extras)
            for place, released_ in enumerate(part.bundles):
                if released_.extra is not None:
                    word = "places" if released_.extra.law is not None else "different"
                    for row in self._rows(next(extras), before, width + (word == "places")):
                        found[word, number, place, *row[:-1]] = row[-1:]
        return found

    def _rows(self, statement: Any, before: tuple[Any, ...], keys: int) -> list[tuple[Any, ...]]:
        return ask(self.engine, statement, self.salt, keys, before)


def unstepped(value: Any, facts: Any) -> Any:
    """A number of steps as the number that it is."""
    return value * facts.grid if isinstance(value, int) and not isinstance(value, bool) and facts.exact else value


def drawn(cut: Any, exact: Vector, r: random.Random) -> tuple[ReleasedSet, ...]:
    """What a stage might have released: the exact numbers, or others; every open key is shown."""
    result, how = [], r.choice(["exact", "exact", "zero", "random"])
    for number, part in enumerate(cut.parts):
        shown = tuple(sorted((g[2:] for g in exact if g[:2] == ("people", number)), key=str)) if part.chosen else ((),)
        cells, at = [], 0
        for released in part.bundles:
            width = max(1, len(released.bundle.parts))
            rows = []
            for key in shown:
                for group in part.groups:
                    of = dict(zip(part.chosen, key, strict=True)) | dict(zip(part.listed, group, strict=True))
                    sums = exact.get((number, *(of[i] for i in part.kept)), (0,) * 99)[at : at + width]
                    if released.extra is not None:
                        low = released.extra.low if released.extra.law is not None else 0
                        sums = (
                            r.randint(low, max(low, released.extra.high)),
                            *(0,) * (len(released.extra.choices) - 1),
                        )
                    some = {"exact": sums, "zero": (0,) * width, "random": tuple(r.randint(-9, 40) for _ in sums)}
                    rows.append(tuple(some[how] if released.extra is None else sums))
            cells.append(tuple(rows))
            at += width if released.extra is None else 0
        result.append(ReleasedSet(shown if part.chosen else (), tuple(cells)))
    return tuple(result)


@dataclass(frozen=True)
class Asked:
    """A query, its noise, and what it is an example of."""

    text: str
    noise: str | None = None
    of: tuple[tuple[str, ...], ...] = ()


def check(
    world: Twins, queries: list[Asked], how: Any = None, *, prepared: bool = False, steps: tuple[int, ...] = ()
) -> Iterator[tuple[Asked, Fraction]]:
    """Each query that is answered with the largest part of its price that a neighbour shows; or Broken.

    Everybody is taken away in turn; or, in `steps`, each of these persons, and the first one after the last.
    """
    people = world.people
    with ExitStack() as stack:

        def here(rows: People) -> Here:
            return stack.enter_context(closing(Here(world.policy, world.frames(rows), prepared)))

        first = here(people)
        near = [(first, here({u: rows for u, rows in people.items() if u != gone})) for gone in steps or people]
        if steps:  # from a table without somebody to one without two: both may keep what the policy says
            near += [(near[-1][1], here({u: rows for u, rows in people.items() if u not in (steps[0], steps[-1])}))]
        if first.policy.privacy.adjacency.value == "replace":
            near += [(first, here({**people, u: world.others[u]})) for u in people]
        for query in queries:
            try:
                asked = first.planned(query.text, query.noise, how)
            except QueryError:
                continue
            if asked.event is None:
                continue
            try:
                yield query, _shown(asked, [first, *(there for _, there in near)], near, query, how)
            except Broken as broken:
                raise Broken(f"{broken}\n  {query.text}\n  {query.noise}, prepared={prepared}, {world}") from None


def _shown(asked: Plan, everywhere: list[Here], near: list[tuple[Here, Here]], query: Asked, how: Any) -> Fraction:
    """The largest part of its price that neighbours show of a query, whatever earlier stages released."""
    plans = [asked, *(here.planned(query.text, query.noise, how) for here in everywhere[1:])]
    for again in plans:  # what is known of rows chooses the work and nothing else
        if (asked.digest, asked.event, asked.notes) != (again.digest, again.event, again.notes):
            raise Broken("the plan depends on rows")
    largest, before, r = Fraction(0), list[tuple[ReleasedSet, ...]](), random.Random(query.text)
    for number, cut in enumerate(asked.cuts):
        vectors = {}
        for here, of in zip(everywhere, plans, strict=True):
            meant = None if how is None or number else here.planned(query.text, query.noise).cuts[number]
            released = released_tables(of.cuts[:number], tuple(before))
            vectors[id(here)] = here.vector(of.cuts[number], released, meant)
        largest = max(largest, *(part_of_price(cut, vectors[id(a)], vectors[id(b)]) for a, b in near))
        if number < len(asked.cuts) - 1:
            before.append(drawn(cut, vectors[id(everywhere[0])], r))
    return largest


def part_of_price(cut: Any, a: Vector, b: Vector) -> Fraction:
    """The largest part of its price that a cut shows."""
    largest = Fraction(0)
    shown = [(loss(cut, combined([a, b], [1, -1])), claimed(cut))]
    shown += [(apart, law.epsilon) for law, apart in chosen(cut, a, b)]
    for moved, paid in shown:
        if moved > paid:
            raise Broken(f"a neighbour shows {float(moved):.4g}, but the price is {float(paid):.4g}")
        largest = max(largest, moved / paid if paid else Fraction(0))
    for place, part in enumerate(cut.parts):
        if part.selection is not None:
            people = [{g: c for g, c in v.items() if g[:2] == ("people", place)} for v in (a, b)]
            moved_keys = combined(people, [1, -1])
            most = part.selection.adjacency.keys(part.selection.keys_per_unit)
            if len(moved_keys) > most or any(abs(n) != 1 for (n,) in moved_keys.values()):
                raise Broken(f"{moved_keys} people under open keys, but K is {most}")
    return largest
