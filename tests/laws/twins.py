"""Twins: the same question on tables and on a neighbour of theirs, each in an engine of its own that knows its tables.

The neighbour check of `neighbours` looks at the plain SQL of a plan. This one looks at what is run: the engine keeps the
tables as their scans give them and knows where nobody has two rows, so that the two neighbours may run different plans;
and at every price of a question by itself. Worlds are small and extreme: persons have one row or many at
the ends of their domains, and other persons' rows at the other ends.
"""

# ruff: noqa: E501  a shape of a question stands on one line
from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

import pyarrow as pa

from sfumato.engines.duckdb import DuckDB, _asked
from sfumato.errors import QueryError
from sfumato.policy import Policy, from_dict
from sfumato.sql.bind import bind
from sfumato.sql.counted import Known
from sfumato.sql.parse import parse
from sfumato.sql.plan import Plan, plan
from sfumato.sql.sources import stored_scans
from tests.laws.neighbours import Broken, Vector, _extra, chosen, claimed, combined, loss

TODAY, FAR = date(2024, 6, 1), 2**53
_PERSON = {
    "s": ({"values": ["a", "b"]}, ["a", "a", "a", "b", "b", "b", None, "z"], pa.string()),
    "o": ({"type": "text", "max_length": 2}, ["x", "y", "xyz", None], pa.string()),
    "i": ({"type": "integer", "min": 0, "max": 4}, [0, 4, 4, 9, 2, None], pa.int64()),
    "m": ({"type": "decimal", "min": -1, "max": 2, "grid": Fraction(1, 4)}, [-1.0, 2.0, 2.0, 0.3, None], pa.float64()),
    "f": ({"type": "double"}, [float(FAR), float(FAR), 0.5, float("nan"), None], pa.float64()),
}
_PUBLIC = {
    "g": ({"type": "integer"}, [FAR, FAR + 1, FAR + 1, 0, 4, None], pa.int64()),
    "n": ({"type": "text", "max_length": 2}, ["a", "b", "x", None], pa.string()),
}
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Twins:
    """A policy of p (one row a person), v (several) and the public y, and the rows of each person and of her others."""

    policy: Policy
    people: dict[int, dict[str, Rows]]
    others: dict[int, dict[str, Rows]]
    public: Rows

    def frames(self, people: dict[int, dict[str, Rows]]) -> dict[str, pa.Table]:
        """The tables that these people make."""
        schema = pa.schema([("u", pa.int64()), *((c, kind) for c, (_, _, kind) in _PERSON.items())])
        frames = {
            name: pa.Table.from_pylist([row for of in people.values() for row in of[name]], schema) for name in "pv"
        }
        open_ = pa.schema([(c, kind) for c, (_, _, kind) in _PUBLIC.items()])
        return {**frames, "y": pa.Table.from_pylist(self.public, open_)}


def policy(adjacency: str, rows: int, clipped: bool = False) -> Policy:
    """p, v with so many rows a person, and y."""
    columns = {"u": {"type": "integer"}, **{c: declared for c, (declared, _, _) in _PERSON.items()}}
    many = {"rows_per_unit": rows, "unit": "u", "columns": columns}
    return from_dict(
        {
            "source": {"engine": "duckdb", "files": dict.fromkeys("pvy", ":memory:")},
            "data": {"id": "twins"},
            "privacy": {"epsilon": 10, "adjacency": adjacency, "delta": Fraction(1, 1000)},
            "tables": {
                "p": many | {"rows_per_unit": 1},
                "v": many | ({"sum_per_unit": {"i": 5}} if clipped else {}),
                "y": {"public": True, "columns": {c: declared for c, (declared, _, _) in _PUBLIC.items()}},
            },
        }
    )


def twins(r: random.Random) -> Twins:
    """Random tables."""
    made = policy(r.choice(["add-remove", "replace"]), r.choice([1, 2, 3]), r.random() < 0.3)

    def row(who: int) -> dict[str, Any]:
        return {"u": who, **{c: r.choice(pool) for c, (_, pool, _) in _PERSON.items()}}

    def person(who: int) -> dict[str, Rows]:
        own = [row(who)] * r.choice([1, 3, 9]) if r.random() < 0.5 else [row(who) for _ in range(r.choice([0, 2, 4]))]
        return {"p": [row(who) for _ in range(r.choice([0, 1, 1, 1, 1, 2]))], "v": own}

    public = [{c: r.choice(pool) for c, (_, pool, _) in _PUBLIC.items()} for _ in range(r.choice([1, 3, 5]))]
    everybody = range(r.randint(1, 2))
    return Twins(made, {u: person(u) for u in everybody}, {u: person(u) for u in everybody}, public)


# questions
def question(r: random.Random) -> str:
    """Aggregates that may share a price, over one of a few relations, now and then by groups."""
    relation, scope, unit = _relation(r)
    column = r.choice([c for c in scope if c[-1] in "sssoim"])
    items = [_aggregate(r, scope, unit, column) for _ in range(r.choice([1, 2, 2, 3]))]
    if r.random() < 0.5:  # filters that no row passes two of
        values = r.sample(_written(column), 2)
        items = [f"{r.choice(_calls(r, scope, unit, column))} FILTER (WHERE {column} = {value})" for value in values]
        items += [r.choice(_calls(r, scope, unit, column))] * r.randint(0, 1)
    where = f" WHERE {_condition(r, column)}" if r.random() < 0.25 else ""
    key, tail = r.choice([c for c in scope if c[-1] in "soi"]), ""
    if r.random() < 0.4:
        tail = f" GROUP BY {r.choice([key, key, f'ROLLUP ({key})'])}"
        items = [key, *items]
    if tail and "ROLLUP" not in tail and r.random() < 0.2:
        items = [key, f"SUM(COUNT(*)) OVER (ORDER BY {key})"]
    return f"SELECT {', '.join(items)} FROM {relation}{where}{tail}"


def _relation(r: random.Random) -> tuple[str, list[str], str]:
    one = r.choice("pv")
    scope = [f"{one}.{c}" for c in _PERSON]
    on = r.choice(["{0}.f = y.g", "{0}.i = y.g", "{0}.o = y.n", "{0}.s = y.n AND {0}.f = y.g"]).format(one)
    keyed = r.choice(["y", "(SELECT g, MAX(n) AS n FROM y GROUP BY g) AS y", "(SELECT DISTINCT g, n FROM y) AS y"])
    tied = f"{one}.u IN (SELECT u FROM v WHERE {_condition(r, 'v.s')})"
    own = f"(SELECT u, s, COUNT(*) AS i, MAX(m) AS m, MIN(o) AS o FROM v WHERE {_condition(r, 'v.i')} GROUP BY u, s)"
    return r.choice(
        [
            (one, scope, f"{one}.u"),
            (f"{one} {r.choice(['JOIN', 'LEFT JOIN'])} {keyed} ON {on}", [*scope, "y.n"], f"{one}.u"),
            (f"p {r.choice(['JOIN', 'LEFT JOIN'])} v ON p.u = v.u", ["p.s", "p.i", "v.s", "v.i", "v.m"], "p.u"),
            (f"{own} AS q", ["q.s", "q.i", "q.m", "q.o"], "q.u"),
            (f"(SELECT u, s, i, m FROM {one} WHERE {tied}) AS q", ["q.s", "q.i", "q.m"], "q.u"),
        ]
    )


def _condition(r: random.Random, column: str, depth: int = 1) -> str:
    if depth and r.random() < 0.3:
        a, b = _condition(r, column, 0), _condition(r, column, 0)
        return r.choice([f"({a} OR {b})", f"({a} AND {b})", f"NOT ({a})"])
    written = _written(column)
    equal = f"{column} = {r.choice(written)}"
    return r.choice([equal, equal, equal, f"{column} <> {r.choice(written)}", f"{column} IS NULL"])


def _written(column: str) -> list[str]:
    return ["'a'", "'b'", "'x'"] if column[-1] in "son" else ["0", "2", "4", "-1"]


def _aggregate(r: random.Random, scope: list[str], unit: str, column: str) -> str:
    call = r.choice(_calls(r, scope, unit, column))
    return f"{call} FILTER (WHERE {_condition(r, column)})" if r.random() < 0.7 else call


def _calls(r: random.Random, scope: list[str], unit: str, column: str) -> list[str]:
    number = r.choice([c for c in scope if c[-1] in "im"])
    return [
        "COUNT(*)", "COUNT(*)", f"SUM({number})", f"AVG({number})", f"VAR_POP({number})", f"COUNT(DISTINCT {unit})",
        f"COUNT(DISTINCT {column})", f"MEDIAN({number})", f"MAX({number})", f"SUM({number} * {number} - 1)",
    ]  # fmt: skip


# the check
class Here:
    """One database in an engine that keeps its tables and knows them."""

    def __init__(self, policy: Policy, frames: dict[str, pa.Table]) -> None:
        self.policy, self.engine = policy, DuckDB(policy, frames, threads=1)
        self.engine.keep(stored_scans(policy, policy.tables))
        self.known = Known(self.engine.unique(), self.engine.counted())

    def close(self) -> None:
        self.engine.close()

    def planned(self, text: str, noise: str | None, how: Any = None) -> Plan:
        engine, policy = self.engine, self.policy
        if how is not None:  # a planner with a fault, which makes its own tree
            made: Plan = how(text, policy, run=engine.run_public, stored=engine.stored(), known=self.known, noise=noise)
            return made
        asked = bind(parse(text), policy, TODAY, engine.run_public, stored=engine.stored())
        return plan(asked, policy, Fraction(1), noise=noise, run=engine.run_public, known=self.known)

    def vector(self, cut: Any) -> Vector:
        """The exact numbers of a cut, by the SQL that is run for them."""
        found: Vector = {}
        for number, part in enumerate(cut.parts):
            width, sql = len(part.kept), part.fast or part.sql
            cells = sum(len(released.bundle.parts) for released in part.bundles)
            for row in self._rows(sql) if sql is not None else ():
                if any(row[width : width + cells]):
                    found[number, *row[:width]] = row[width : width + cells]
                if part.people is not None and part.fast is not None:
                    found["people", number, *row[:width]] = row[-1:]
            for row in self._rows(part.people) if part.people is not None and part.fast is None else ():
                found["people", number, *row[:-1]] = row[-1:]
            for place, released in enumerate(part.bundles):
                if released.extra is not None:
                    with self.engine._private.cursor() as cursor:
                        found |= _extra(cursor, part, number, place, "salt")
        return found

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in _asked(self.engine._private, sql, (), "salt" if "$salt" in sql else None)]


def check(world: Twins, texts: list[tuple[str, str | None]], how: Any = None) -> Iterator[Fraction]:
    """For each question that is answered, the largest part of its price that a neighbour shows; or Broken."""
    people = world.people
    with ExitStack() as stack:

        def here(rows: dict[int, dict[str, Rows]]) -> Here:
            return stack.enter_context(closing(Here(world.policy, world.frames(rows))))

        first = here(people)
        near = [here({u: rows for u, rows in people.items() if u != gone}) for gone in people]
        if world.policy.privacy.adjacency.value == "replace":
            near += [here({**people, u: world.others[u]}) for u in people]
        for text, noise in texts:
            try:
                asked = first.planned(text, noise, how)
            except QueryError:
                continue
            if asked.event is None:
                continue
            try:
                yield max(_worth(asked, first, other, other.planned(text, noise, how)) for other in near)
            except Broken as broken:
                raise Broken(f"{broken}\n  {text}\n  {noise}, {world}") from None


def _worth(asked: Plan, here: Here, there: Here, again: Plan) -> Fraction:
    """What two neighbours show of the price; what is known of their rows chooses the work and nothing else."""
    if (asked.digest, asked.event, asked.notes, asked.sql) != (again.digest, again.event, again.notes, again.sql):
        raise Broken("the plan depends on rows")
    largest = Fraction(0)
    for cut, same in zip(asked.cuts, again.cuts, strict=True):
        a, b = here.vector(cut), there.vector(same)
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
