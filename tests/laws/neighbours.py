"""The neighbour check: emitted SQL on tables, on their neighbours, in other orders, with more threads, by person.

Every number is exact. The vector of a cut is what the engine's SQL returns: for each grouping set and group the whole
numbers of each bundle, and for open keys the number of persons. Nothing here knows how the plan was made; it reads only
what the gateway reads: jobs, groups, bundles, events. What an earlier stage released is fixed, the same for both
neighbours.
"""

# ruff: noqa: E501  SQL stands on one line
from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np

from sfumato.accounting import price
from sfumato.algebra.column_facts import facts_of
from sfumato.engines.duckdb.scans import enforced
from sfumato.gateway.released_tables import ReleasedSet, released_tables
from sfumato.policy import UnitJoin
from sfumato.types import identifier
from tests.compiled import fixed_tables, temporary, unclamped
from tests.laws.worlds import World, fill, owned, text

Vector = dict[tuple[Any, ...], tuple[int, ...]]
"""By grouping set and group: the whole numbers of all bundles; under "people" and a key, the number of persons."""


class Broken(AssertionError):
    """The promise does not hold for this question on these rows."""


_SEEN = """(part = 0 AND (getvariable('just') IS NULL OR who = getvariable('just'))
    AND (getvariable('gone') IS NULL OR who IS DISTINCT FROM getvariable('gone')))
    OR (part = getvariable('other') AND who = getvariable('gone'))"""


class Bench:
    """The rows of a world in two physical orders, with one and four threads; views that show any part of them.

    Part 0 is what is there, part k the k-th list of rows that a person might have had instead.
    """

    _connections: dict[int, duckdb.DuckDBPyConnection] = {}  # noqa: RUF012  one for all worlds: connecting costs more than asking

    def __init__(self, world: World, seed: int = 0, used: set[str] | None = None) -> None:
        self.world = world
        self.tables = {name: table for name, table in world.policy.tables.items() if used is None or name in used}
        r = random.Random(seed)
        for name, table in self.tables.items():
            rows: list[tuple[Any, ...]] = [(0, None, *row) for row in world.rows.get(name, [])]
            for lists in world.others.values():
                rows += [(k + 1, None, *row) for k, other in enumerate(lists) for row in other.get(name, [])]
            shuffled = r.sample(rows, len(rows))
            for threads in (1, 4):
                for place, order in enumerate((rows, shuffled)):
                    stored = f"order{place}.{identifier('rows ' + name)}"
                    fill(self.connection(threads), stored, table, world.types[name], order)
        for threads in (1, 4):
            for place in (0, 1):
                self._views(self.connection(threads), f"order{place}")
        private = [name for name, table in self.tables.items() if not table.public]
        names = " UNION ".join(f"SELECT who FROM order0.{identifier('rows ' + n)} WHERE part = 0" for n in private)
        found = f"SELECT who FROM ({names}) WHERE who IS NOT NULL ORDER BY 1"
        self.people = [row[0] for row in self.connection(1).execute(found).fetchall()] if names else []

    def _views(self, connection: duckdb.DuckDBPyConnection, place: str) -> None:
        owned(connection, self.tables, place)
        for name, table in self.tables.items():
            columns = ", ".join(identifier(c) for c in table.columns) or "1 AS _"
            where = "part = 0" if table.public else _SEEN
            stored = identifier("rows " + name)
            connection.execute(
                f"CREATE OR REPLACE VIEW {place}.{identifier(name)} AS SELECT {columns} FROM {place}.{stored} WHERE {where}"
            )

    def connection(self, threads: int) -> duckdb.DuckDBPyConnection:
        """The engine with so many threads."""
        if threads not in self._connections:
            made = self._connections[threads] = duckdb.connect(":memory:", config={"threads": threads})
            made.execute("CREATE SCHEMA order0; CREATE SCHEMA order1")
            if threads > 1:  # small tables are worth many threads, too
                made.execute("PRAGMA verify_parallelism")
        return self._connections[threads]

    def show(
        self,
        only: str | None = None,
        gone: str | None = None,
        other: int | None = None,
        *,
        place: int = 0,
        threads: int = 1,
    ) -> duckdb.DuckDBPyConnection:
        """The connection that shows everybody, only one person, all but one, or all but one with her other rows."""
        connection = self.connection(threads)
        connection.execute(f"SET search_path = 'order{place}'")
        for name, value in (("just", only), ("gone", gone), ("other", -1 if other is None else other)):
            connection.execute(f"SET VARIABLE {name} = {text(value)}")
        return connection


def _asked(connection: duckdb.DuckDBPyConnection, statement: Any, salt: str) -> list[tuple[Any, ...]]:
    try:
        used = {"salt": salt} if statement.salted else None
        return [tuple(row) for row in connection.execute(statement.text, used).fetchall()]
    except (duckdb.Error, OverflowError, ValueError, RuntimeError) as error:
        raise Broken(f"the engine raised: {str(error).splitlines()[0]}") from None


def vector(
    connection: duckdb.DuckDBPyConnection, cut: Any, released: tuple[Any, ...] = (), salt: str = "salt"
) -> Vector:
    """What the engine returns for a cut, group by group; groups without rows are left out."""
    _create(connection, [temporary(table) for table in _fixed(connection, cut, released).values()])
    result: Vector = {}
    for number, part in enumerate(cut.parts):
        texts = unclamped(cut, part)
        if texts.people is not None:
            result |= _people(_asked(connection, texts.people, salt), number, len(part.chosen))
        extras = iter(texts.extras)
        for place, of in enumerate(part.bundles):
            if of.extra is not None:
                result |= _extra(_asked(connection, next(extras), salt), part, number, place)
        if texts.sums is not None:
            result |= _sums(_asked(connection, texts.sums, salt), part, number)
    return result


def _create(connection: duckdb.DuckDBPyConnection, tables: Iterable[Any]) -> None:
    for table in tables:
        connection.execute(table.create, list(table.values))


def _fixed(connection: duckdb.DuckDBPyConnection, cut: Any, released: tuple[Any, ...]) -> dict[int, Any]:
    """Public rows made of what was released before, on this connection."""

    def run(sql: str, tables: Iterable[Any]) -> list[tuple[Any, ...]]:
        _create(connection, tables)
        return [tuple(row) for row in connection.execute(sql).fetchall()]

    return fixed_tables(cut, released, run)


def _sums(rows: list[tuple[Any, ...]], part: Any, number: int) -> Vector:
    known, width = set(part.groups), len(part.kept)
    result: Vector = {}
    for row in rows:
        group, cells = row[:width], row[width:]
        if tuple(group[part.kept.index(i)] for i in part.listed) not in known:
            raise Broken(f"a group that the plan does not have: {group!r}")
        if (number, *group) in result:
            raise Broken(f"a group twice: {group!r}")
        if any(type(cell) is not int for cell in cells):
            raise Broken(f"not a whole number: {cells!r}")
        if any(cells):
            result[number, *group] = cells
    return result


def _extra(rows: list[tuple[Any, ...]], part: Any, number: int, place: int) -> Vector:
    """What is not a sum: different values by group, or the weight of rows by group and place."""
    extra, width = part.bundles[place].extra, len(part.kept)
    word, known = ("places" if extra.law is not None else "different"), set(part.groups)
    result: Vector = {}
    for row in rows:
        if tuple(row[part.kept.index(i)] for i in part.listed) not in known:
            raise Broken(f"a group that the plan does not have: {row!r}")
        key = (word, number, place, *row[:-1])
        if key in result or type(row[-1]) is not int or len(row) != width + 1 + (word == "places"):
            raise Broken(f"not what is asked for: {row!r}")
        if word == "places" and not extra.low <= row[-2] <= extra.high:
            raise Broken(f"a place that is no candidate: {row!r}")
        result[key] = (row[-1],)
    return result


def _people(rows: list[tuple[Any, ...]], number: int, width: int) -> Vector:
    result: Vector = {}
    for row in rows:
        key = ("people", number, *row[:width])
        if key in result:
            raise Broken(f"an open key twice: {key!r}")
        if type(row[width]) is not int or len(row) != width + 1:
            raise Broken(f"not a number of persons: {row!r}")
        result[key] = (row[width],)
    return result


def values(cut: Any, sums: Vector) -> dict[tuple[Any, ...], tuple[Fraction, ...]]:
    """Whole numbers as the values that they stand for, of a cut without grouping sets."""
    units = [released.unit for released in cut.parts[0].bundles for _ in released.bundle.parts]
    return {
        group[1:]: tuple(n * unit for n, unit in zip(cells, units, strict=True))
        for group, cells in sums.items()
        if not isinstance(group[0], str)
    }


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


def loss(cut: Any, difference: Vector) -> Fraction:
    """Over grouping sets and bundles: L1 distance over the scale, or squared L2 distance over twice the variance."""
    total = Fraction(0)
    for number, part in enumerate(cut.parts):
        at, cells = 0, [moved for group, moved in difference.items() if group[0] == number]
        for place, released in enumerate(part.bundles):
            width = len(released.bundle.parts)
            moved = [abs(cell) * released.unit for row in cells for cell in row[at : at + width] if cell]
            at += width
            if released.extra is not None:
                moved = [
                    abs(row[0]) * released.unit
                    for group, row in difference.items()
                    if group[:3] == ("different", number, place)
                ]
            if released.running is not None:
                total += _running(
                    released, part, {g[1:]: row[at - width] for g, row in difference.items() if g[0] == number}
                )
                continue
            if moved and not released.scale:
                raise Broken(f"no noise at all, but one person moves it by {sum(moved)}")
            if released.noise == "gaussian":
                total += sum(m * m for m in moved) / (2 * released.scale) if moved else 0
            else:
                total += sum(moved) / released.scale if moved else 0
    return total


def _running(released: Any, part: Any, moved: dict[tuple[Any, ...], int]) -> Fraction:
    """Running totals: what gets noise is the sums of a tree's nodes, or the entries of B x, track by track."""
    total = Fraction(0)
    for track in released.running.reading.tracks(part.groups):
        law = released.running.law(len(track))
        entries = np.array([moved.get(part.groups[i], 0) for i in track], object)
        if law.epsilon is not None:
            total += sum(abs(int(node)) for level in law.tree.sums(entries) for node in level) / law.scale
        else:
            total += sum(int(y) ** 2 for y in law.measured(entries)) / (2 * law.variance)
    return total


def additive(sums: Vector) -> Vector:
    """All but numbers of different values, which persons share."""
    return {group: cells for group, cells in sums.items() if group[0] != "different"}


def chosen(cut: Any, one: Vector, other: Vector) -> Iterator[tuple[Any, Fraction]]:
    """The law of each choice, and how far its log-ratios lie apart between two neighbours, over all groups.

    With scores that move by a_c the log-ratio of a candidate c is -rate a_c and a constant: rate (max a - min a).
    """
    for number, part in enumerate(cut.parts):
        for place, released in enumerate(part.bundles):
            if released.extra is None or released.extra.law is None:
                continue
            extra, total, end = released.extra, Fraction(0), 3 + len(part.kept)
            mine = [{g: c[0] for g, c in sums.items() if g[:3] == ("places", number, place)} for sums in (one, other)]
            for group in {g[3:end] for held in mine for g in held}:
                rows = [{g[end]: w for g, w in held.items() if g[3:end] == group} for held in mine]
                near = {p + d for held in rows for p in held for d in (-1, 0, 1)} | {extra.low, extra.high}
                tried = sorted(c for c in near if extra.low <= c <= extra.high)
                scores = [_scores(extra, held, tried) for held in rows]
                moves = [b - a for a, b in zip(*scores, strict=True)]
                total += max(moves) - min(moves)
            yield extra.law, total
            if extra.around is not None:
                yield extra.around, _rungs_apart(extra, mine, end)


def _rungs_apart(extra: Any, mine: list[dict[tuple[Any, ...], int]], end: int) -> Fraction:
    """The same of the choice of an interval, whatever was chosen before: over groups, the worst centre of each."""
    law, total = extra.around, Fraction(0)
    rate = law.epsilon / (2 * law.sensitivity * law.fraction.denominator)
    for group in {g[3:end] for held in mine for g in held}:
        rows = [sorted((g[end], w) for g, w in held.items() if g[3:end] == group) for held in mine]
        near = {p + d for held in rows for p, _ in held for d in (-1, 0, 1)} | {extra.low, extra.high}
        worst = Fraction(0)
        for centre in sorted(c for c in near if extra.low <= c <= extra.high)[:8]:
            one, two = (
                law.scores([p for p, _ in held], [w for _, w in held], extra.low, extra.high, centre) for held in rows
            )
            moves = [rate * (b - a) for a, b in zip(one, two, strict=True)]
            worst = max(worst, max(moves) - min(moves))
        total += worst
    return total


def _scores(extra: Any, held: dict[int, int], tried: list[int]) -> list[Fraction]:
    """Scores times the rate of the choice."""
    law = extra.law
    if hasattr(law, "fraction"):
        below = [sum(w for p, w in held.items() if p < c) for c in tried]
        scores = law.scores(below, [held.get(c, 0) for c in tried], extra.high - extra.low + 1)
        scale = 1 if law.fraction is None else law.fraction.denominator
        rate = law.epsilon / (2 * law.sensitivity * scale)
    else:
        scores = [-held.get(c, 0) for c in tried]
        rate = law.epsilon / law.norm / (1 if law.adjacency.value == "add-remove" else 2)
    return [rate * score for score in scores]


def claimed(cut: Any) -> Fraction:
    """What the values of a cut are said to spend: epsilon, or rho for Gaussian noise."""
    found = [event for event in cut.events if event.kind in ("pure", "gaussian")]
    if len(found) > 1:
        raise Broken(f"the values of a cut are paid for by {len(found)} events")
    if any(part.least is not None for part in cut.parts):  # one noise for counts and keys, and one event
        found += [event for event in cut.events if event.kind == "selection"]
    if not found:
        return Fraction(0)
    return Fraction(found[0].rho if found[0].kind == "gaussian" else found[0].epsilon)


def books(asked: Any, delta: Fraction) -> None:
    """All events of a question add up to no more than what was asked for, and each choice has its own."""
    for cut in asked.cuts:
        laws = [
            law
            for part in cut.parts
            if part.groups
            for r in part.bundles
            if r.extra is not None
            for law in r.extra.choices
        ]
        paid = sum((event.epsilon for event in cut.events if event.kind == "range"), Fraction(0))
        if paid < sum((law.epsilon for law in laws), Fraction(0)):
            raise Broken("a choice is made that is not paid for")
    if asked.event is None:
        if any(cut.events for cut in asked.cuts):
            raise Broken("a cut spends, but the question is free")
        return
    total = price(asked.event)
    parts = [price(event) for cut in asked.cuts for event in cut.events]
    slack = Fraction(len(parts) + 1, 10**15)  # each price is rounded up by itself
    for word in ("epsilon", "rho", "delta"):
        sums = [getattr(part, word) for part in parts]
        if None not in sums and getattr(total, word) < sum(sums, Fraction(0)) - slack:
            raise Broken(f"less is debited than the cuts spend, in {word}")
    if total.delta > delta:
        raise Broken(f"delta is {total.delta}, but the policy allows {delta}")
    wanted = asked.epsilon**2 / 2 if asked.noise == "gaussian" else asked.epsilon
    spent = total.rho if asked.noise == "gaussian" else total.epsilon
    if spent is None or spent > wanted + slack:
        raise Broken(f"{spent} is spent, more than {wanted}")


def _keys(cut: Any, difference: Vector, factor: int, person: str) -> None:
    """Open keys: one person is one of the people under at most K keys."""
    for number, part in enumerate(cut.parts):
        moved = [cells[0] for group, cells in difference.items() if group[:2] == ("people", number)]
        if part.selection is None:
            continue
        if len(moved) > factor * part.selection.keys_per_unit or any(abs(n) != 1 for n in moved):
            raise Broken(f"{person!r} is worth {moved} people under open keys, but K is {part.selection.keys_per_unit}")
        if part.least is not None and factor == 1:
            _shown(part, number, difference, person)


def _shown(part: Any, number: int, difference: Vector, person: str) -> None:
    """Were all of her keys hers alone, some of them would be shown with at most delta: by the noise that is drawn."""
    scale, threshold = float(part.bundles[0].scale / part.bundles[0].unit), float(part.least / part.bundles[0].unit)
    counts = {group[1:]: abs(cells[0]) for group, cells in difference.items() if group[0] == number}
    keys = [group[2:] for group in difference if group[:2] == ("people", number)]
    tails = [math.exp(-(threshold - counts.get(key, 0)) / scale) / (1 + math.exp(-1 / scale)) for key in keys]
    if sum(tails) > float(part.selection.delta) * (1 + 1e-9):
        raise Broken(f"keys of {person!r} alone are shown with {sum(tails)}, but delta is {part.selection.delta}")


def stages(bench: Bench, asked: Any, seed: int) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Each cut with what the stages before it have released: the exact sums, or numbers that have nothing to do with them."""
    r, drawn = random.Random(seed), []
    for number, cut in enumerate(asked.cuts):
        before = released_tables(asked.cuts[:number], tuple(drawn))
        yield cut, before
        if number < len(asked.cuts) - 1:
            drawn.append(released(bench, cut, before, r))


def released(bench: Bench, cut: Any, before: tuple[Any, ...], r: random.Random) -> tuple[ReleasedSet, ...]:
    """What a stage might have released."""
    exact, how, result = vector(bench.show(), cut, before), r.choice(["exact", "exact", "zero", "random"]), []
    for number, part in enumerate(cut.parts):
        shown: tuple[tuple[Any, ...], ...] = ()
        if part.chosen:
            shown = tuple(group[2:] for group in exact if group[:2] == ("people", number))
        keys = shown if part.chosen else ((),)
        cells, at = [], 0
        for bundle in part.bundles:
            width = len(bundle.bundle.parts)
            if bundle.extra is not None:
                ends = (bundle.extra.low, bundle.extra.high) if bundle.extra.law is not None else (0, 9)
                rung = (0,) * (len(bundle.extra.choices) - 1)
                cells.append(tuple((r.randint(*ends), *rung) for _ in range(len(keys) * len(part.groups))))
                continue
            rows = []
            for key in keys:
                for group in part.groups:
                    of = dict(zip(part.chosen, key, strict=True)) | dict(zip(part.listed, group, strict=True))
                    sums = exact.get((number, *(of[i] for i in part.kept)), (0,) * 99)[at : at + width]
                    some = {"exact": sums, "zero": (0,) * width, "random": tuple(r.randint(-9, 40) for _ in sums)}[how]
                    rows.append(tuple(some))
            cells.append(tuple(rows))
            at += width
        result.append(ReleasedSet(shown, tuple(cells)))
    return tuple(result)


def read_by(world: World, asked: Any) -> set[str]:
    """The tables that a question reads, and those on the way to their units."""
    parts = [(cut, part) for cut in asked.cuts for part in cut.parts]
    texts = [statement.text for cut, part in parts for statement in unclamped(cut, part).statements()]
    used = {name for name in world.policy.tables if any(identifier(name) in text for text in texts)}
    for _ in world.policy.tables:
        used |= {unit.table for name in used if isinstance(unit := world.policy.tables[name].unit, UnitJoin)}
    return used | ({world.policy.privacy.partition[0]} if world.policy.privacy.partition is not None else set())


def cells_of(bench: Bench, part: int = 0) -> dict[str, str]:
    """The cell of each person who has one row in the table of the policy's partition, as the ledger names it."""
    if bench.world.policy.privacy.partition is None:
        return {}
    name, column = bench.world.policy.privacy.partition
    table = bench.world.policy.tables[name]
    read = {c: d for c, d in table.columns.items() if c == column or not d.nulls}
    shown = {c: enforced(d, identifier(c), facts_of(d)) for c, d in read.items()}
    known = " AND ".join(f"({shown[c]}) IS NOT NULL" for c, d in table.columns.items() if not d.nulls) or "TRUE"
    rows = bench.connection(1).execute(
        f"SELECT who, CASE WHEN {known} THEN {shown[column]} END FROM order0.{identifier('rows ' + name)}"
        f" WHERE part = {part} QUALIFY COUNT(*) OVER (PARTITION BY who) = 1"
    )
    return {who: json.dumps(value, default=str) for who, value in rows.fetchall() if who is not None}


def check(world: World, asked: Any, seed: int = 0) -> Fraction:
    """Raise Broken, or give the largest part of what is claimed that any neighbour of these tables shows."""
    books(asked, world.policy.privacy.query_delta)
    bench, largest = Bench(world, seed, read_by(world, asked)), Fraction(0)
    for cut, before in stages(bench, asked, seed):
        if any(part.bundles or part.chosen for part in cut.parts):
            largest = max(largest, _check(bench, cut, before, asked.cells))
    return largest


def _check(bench: Bench, cut: Any, before: tuple[Any, ...], charged: tuple[str, ...] | None) -> Fraction:
    whole = vector(bench.show(), cut, before)
    for place, threads in ((1, 1), (0, 4), (1, 4)):
        if vector(bench.show(place=place, threads=threads), cut, before) != whole:
            raise Broken(f"the sums depend on the order of rows or on threads (order {place}, threads {threads})")
    alone = {p: vector(bench.show(only=p), cut, before) for p in bench.people}
    if combined(additive(sums) for sums in alone.values()) != combined([additive(whole)]):
        raise Broken("the sums of all are not the sum over persons: somebody's rows count differently beside others")
    largest, lists = Fraction(0), _replacements(bench.world)
    cells = [cells_of(bench, k) for k in range(1 + lists)] if charged is not None else []
    for person in bench.people:
        for k in range(1 + lists):
            other = vector(bench.show(gone=person, other=k or None), cut, before)
            difference = combined([whole, other], [1, -1])
            if k == 0 and additive(difference) != combined([additive(alone[person])]):
                raise Broken(f"without {person!r} other people's sums change")
            hers = {of.get(person, "null") for of in cells[: 1 + k]}
            if charged is not None and difference and not hers & set(charged):
                raise Broken(f"{person!r} is of the cells {hers} and changes the answer, but {charged} are charged")
            _keys(cut, difference, 2 if k else 1, person)
            largest = max(largest, _worth(cut, whole, other, person))
    return largest


def _worth(cut: Any, whole: Vector, other: Vector, person: str) -> Fraction:
    """The part of the claim that is between two neighbours; no choice may cost more than its own."""
    for law, apart in chosen(cut, whole, other):
        if apart > law.epsilon:
            raise Broken(f"{person!r} moves a choice by {float(apart):.4g}, but the claim is {law.epsilon}")
    found, limit = loss(cut, combined([whole, other], [1, -1])), claimed(cut)
    if found > limit:
        raise Broken(f"{person!r} is worth {found} = {float(found):.4g}, but the claim is {limit}")
    return found / limit if limit else Fraction(0)


def _replacements(world: World) -> int:
    """How many lists of other rows are tried; without any she is taken away, also under replace: no other row passes."""
    if world.policy.privacy.adjacency.value != "replace":
        return 0
    return max((len(lists) for lists in world.others.values()), default=0)
