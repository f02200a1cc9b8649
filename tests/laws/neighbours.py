"""The neighbour check: emitted SQL on a table, on its neighbours, in other orders, with more threads, person by person.

Every number is exact. The vector of a table is what the engine's SQL returns: for each group the whole numbers of each
bundle. Nothing here knows how the plan was made; it reads only what the gateway reads: sql, groups, bundles, epsilon.
"""

# ruff: noqa: E501  SQL stands on one line
from __future__ import annotations

import random
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import duckdb

from sfumato.words import identifier
from tests.laws.sqlgen import World

Vector = dict[tuple[Any, ...], tuple[int, ...]]


class Broken(AssertionError):
    """The promise does not hold for this question on these rows."""


class Bench:
    """The rows of a world in two physical orders, with one and four threads; a table t that shows any part of them.

    Part 0 is the table itself, part k the k-th list of rows that a person might have had instead.
    """

    _connections: dict[int, duckdb.DuckDBPyConnection] = {}  # noqa: RUF012  one for all worlds: connecting costs more than asking

    def __init__(self, world: World, seed: int = 0) -> None:
        self.world, self.name = world, next(iter(world.policy.tables))
        self.unit = str(world.policy.tables[self.name].unit)
        rows = [(0, None, *row) for row in world.rows]
        rows += [(k + 1, who, *row) for who, lists in world.others.items() for k, other in enumerate(lists) for row in other]
        shuffled = random.Random(seed).sample(rows, len(rows))
        for threads in (1, 4):
            for place, order in enumerate((rows, shuffled)):
                self._fill(self._connection(threads), f"base{place}", order)
        found = self._connection(1).execute(
            f"SELECT DISTINCT {identifier(self.unit)}::VARCHAR FROM base0 WHERE part = 0 AND {identifier(self.unit)} IS NOT NULL ORDER BY 1"
        )
        self.people = [row[0] for row in found.fetchall()]

    def _connection(self, threads: int) -> duckdb.DuckDBPyConnection:
        if threads not in self._connections:
            self._connections[threads] = duckdb.connect(":memory:", config={"threads": threads})
            if threads > 1:  # small tables are worth many threads, too
                self._connections[threads].execute("PRAGMA verify_parallelism")
        return self._connections[threads]

    def _fill(self, connection: duckdb.DuckDBPyConnection, name: str, rows: list[tuple[Any, ...]]) -> None:
        declared = list(self.world.policy.tables[self.name].columns)
        heads = ", ".join(["part", "who", *(f"c{i}" for i in range(len(declared)))])
        listed = ", ".join("(" + ", ".join(_text(value) for value in row) + ")" for row in rows)
        casts = ", ".join(f"TRY_CAST(c{i} AS {self.world.types[c]}) AS {identifier(c)}" for i, c in enumerate(declared))
        values = f"(VALUES {listed}) AS r({heads})" if rows else f"(SELECT {', '.join(f'NULL::VARCHAR AS {h}' for h in heads.split(', '))}) WHERE false"
        connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT part::INTEGER AS part, {casts} FROM {values}")

    def show(self, keep: str, place: int = 0, threads: int = 1) -> duckdb.DuckDBPyConnection:
        """The connection, with the table t made of these rows."""
        connection = self._connection(threads)
        columns = ", ".join(identifier(c) for c in self.world.policy.tables[self.name].columns)
        if place:  # a stored copy, in its own order
            connection.execute(f"DROP VIEW IF EXISTS {identifier(self.name)}")
        connection.execute(
            f"CREATE OR REPLACE VIEW {identifier(self.name)} AS SELECT {columns} FROM base{place} WHERE {keep}"
        )
        return connection

    def who(self, person: str) -> str:
        return f"{identifier(self.unit)}::VARCHAR = {_text(person)}"


def _text(value: Any) -> str:
    if isinstance(value, int):
        return str(value)
    return "NULL::VARCHAR" if value is None else "'" + str(value).replace("'", "''") + "'"


def vector(connection: duckdb.DuckDBPyConnection, asked: Any) -> Vector:
    """What the engine returns, group by group; groups without rows are left out."""
    keys, known = len(asked.question.keys), set(asked.groups)
    try:
        rows = connection.execute(asked.sql).fetchall()
    except (duckdb.Error, OverflowError, ValueError) as error:
        raise Broken(f"the engine raised: {str(error).splitlines()[0]}") from None
    result: Vector = {}
    for row in rows:
        group, cells = tuple(row[:keys]), tuple(row[keys:])
        if group not in known:
            raise Broken(f"a group that the plan does not have: {group!r}")
        if group in result:
            raise Broken(f"a group twice: {group!r}")
        if any(type(cell) is not int for cell in cells):
            raise Broken(f"not a whole number: {cells!r}")
        if any(cells):
            result[group] = cells
    return result


def values(asked: Any, sums: Vector) -> dict[tuple[Any, ...], tuple[Fraction, ...]]:
    """Whole numbers as the values that they stand for."""
    units = [released.unit for released in asked.bundles for _ in released.bundle.parts]
    return {group: tuple(n * unit for n, unit in zip(cells, units, strict=True)) for group, cells in sums.items()}


def combined(vectors: Iterable[Vector], signs: Iterable[int] | None = None) -> Vector:
    """The signed sum."""
    total: dict[tuple[Any, ...], list[int]] = {}
    listed = list(vectors)
    for sign, part in zip(signs or [1] * len(listed), listed, strict=True):
        for group, cells in part.items():
            kept = total.setdefault(group, [0] * len(cells))
            for i, cell in enumerate(cells):
                kept[i] += sign * cell
    return {group: tuple(cells) for group, cells in total.items() if any(cells)}


def loss(asked: Any, difference: Vector) -> Fraction:
    """Over the bundles: L1 distance in the unit of the values, over the scale."""
    total, at = Fraction(0), 0
    for released in asked.bundles:
        width = len(released.bundle.parts)
        moved = sum(abs(cell) for cells in difference.values() for cell in cells[at : at + width]) * released.unit
        at += width
        if moved and not released.scale:
            raise Broken(f"no noise at all, but one person moves it by {moved}")
        total += moved / released.scale if moved else 0
    return total


def check(world: World, asked: Any, seed: int = 0) -> Fraction:
    """Raise Broken, or give the largest loss that any neighbour of this table shows."""
    if asked.sql is None:
        return Fraction(0)
    bench = Bench(world, seed)
    whole = vector(bench.show("part = 0"), asked)
    for place, threads in ((1, 1), (0, 4), (1, 4)):
        if vector(bench.show("part = 0", place, threads), asked) != whole:
            raise Broken(f"the sums depend on the order of rows or on threads (order {place}, threads {threads})")
    alone = {p: vector(bench.show(f"part = 0 AND {bench.who(p)}"), asked) for p in bench.people}
    if combined(alone.values()) != whole:
        raise Broken("the sums of all are not the sum over persons: somebody's rows count differently beside others")
    largest = Fraction(0)
    for person in bench.people:
        for k in range(1 + _replacements(world)):
            beside = f"part = 0 AND NOT coalesce({bench.who(person)}, false)"
            other = vector(bench.show(f"({beside}) OR (part = {k} AND {bench.who(person)})" if k else beside), asked)
            difference = combined([whole, other], [1, -1])
            if k == 0 and difference != alone[person]:
                raise Broken(f"without {person!r} other people's sums change")
            found = loss(asked, difference)
            largest = max(largest, found)
            if found > asked.epsilon:
                raise Broken(f"{person!r} is worth {found} = {float(found):.4g}, but the claim is {asked.epsilon}")
    return largest


def _replacements(world: World) -> int:
    """How many lists of other rows are tried; without any she is taken away, also under replace: no other row passes."""
    if world.policy.privacy.adjacency.value != "replace":
        return 0
    return max((len(lists) for lists in world.others.values()), default=0)
