"""Neighbouring databases through their gateways: exact numbers move by what is claimed, and all else is the same.

Draws are fixed numbers, so rows, notes, types, intervals, previews, prices and refusals are compared as they are.
"""

from __future__ import annotations

import random
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sfumato.engines.duckdb.engine import DuckDB
from sfumato.errors import SfumatoError
from sfumato.gateway import open_policy, run_and_sample
from sfumato.gateway.clipping import Persons
from sfumato.gateway.released_tables import ReleasedSet
from sfumato.owner import preparation
from sfumato.types import Exact
from tests.laws.databases import VIEWS, Database, query
from tests.laws.neighbours import Broken, Vector
from tests.laws.twins import part_of_price

SALT = "ab" * 16


class Heard:
    """What the engine gave for each part that was run; what is released in its place has nothing to do with it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.parts: list[tuple[Any, Any]] = []
        self.seed, self.factor = "", 1
        monkeypatch.setattr(run_and_sample, "_release", self._release)
        monkeypatch.setattr(DuckDB, "salt", lambda _: SALT)
        monkeypatch.setattr(secrets, "token_hex", lambda _=None: SALT)  # one order of keys in all databases
        monkeypatch.setattr(Persons, "seen", property(lambda persons: (5, 3) + (0,) * (len(persons.counts) - 2)))

    def _release(self, part: Any, found: Any) -> ReleasedSet:
        self.parts.append((part, found))
        r, groups = random.Random(self.seed), () if part.chosen else part.groups
        return ReleasedSet((), tuple(tuple(self._drawn(of, r) for _ in groups) for of in part.bundles))

    def _drawn(self, of: Any, r: random.Random) -> tuple[int, ...]:
        if of.extra is None:
            return tuple(r.randint(-3, 30) for _ in of.bundle.parts)
        if of.extra.law is None:
            return (r.randint(0, 5),)
        number = r.randint(*of.extra.candidates)
        place = of.extra.steps[number] if of.extra.steps else number
        return (place, *(0,) * (len(of.extra.choices) - 1))

    def vector(self, cut: Any, waiting: Iterator[tuple[Any, Any]]) -> Vector:
        """The exact numbers of a cut, as `twins` has them."""
        result: Vector = {}
        for number, part in enumerate(cut.parts):
            if part.selection is None and not (part.bundles and part.groups):
                continue  # rows are not read for it
            _, found = next(waiting)
            width = sum(len(of.bundle.parts) for of in part.bundles)
            for group, row in found.sums:
                sums = tuple(n * self.factor for n in _opened(row)[:width])
                result |= {(number, *group): sums} if any(sums) else {}
            result |= {("people", number, *key): _opened(row) for key, row in found.people}
            extras = iter(found.extras)
            for place, of in enumerate(part.bundles):
                if of.extra is not None:
                    word = "places" if of.extra.law is not None else "different"
                    result |= {(word, number, place, *group): _opened(row) for group, row in next(extras)}
        return result


def _opened(row: Exact) -> tuple[int, ...]:
    return tuple(row._sealed)


def _leaves(gate: Any, text: str, noise: str | None, heard: Heard) -> tuple[tuple[Any, ...], Any, list[Any]]:
    """All that leaves, its plan, and what was heard meanwhile."""
    heard.parts, heard.seed = [], text
    seen: tuple[Any, ...] = (str(gate.explain(text, noise=noise)),)
    try:
        answer = gate.sql(text, noise=noise)
    except SfumatoError as error:
        return (*seen, type(error), str(error)), None, []
    seen += (answer.columns, answer.types, answer.rows, answer.notes, str(answer.cost), answer.intervals())
    return seen, answer.plan, heard.parts


def _check(
    seed: int, count: int, heard: Heard, home: Path, asked: Counter[Any]
) -> Iterator[tuple[str, Fraction, Counter[Any]]]:
    """Each answered query with the largest part of its price that a neighbour shows; or Broken."""
    world, r = Database(seed), random.Random(seed)
    near = [{i: rows for i, rows in world.people.items() if i != gone} for gone in world.people]
    if world.adjacency == "replace":
        near = [{**world.people, i: world.others[i]} for i in world.people]
    with ExitStack() as stack:
        gates = []
        for number, people in enumerate([world.people, *near]):
            place = world.write(people, home / f"{seed} {number}")
            if world.prepared:
                preparation.prepare(place)
            gates.append(stack.enter_context(open_policy(place)))
        for _ in range(count):
            (text, table, form), noise = query(r), r.choice([None, None, None, "auto", "gaussian"])
            here, *there = (_leaves(gate, text, noise, heard) for gate in gates)
            for seen, _, _ in there:
                if seen != here[0]:
                    raise Broken(f"what leaves depends on rows: {here[0]} and {seen}\n  {text}, seed {seed}")
            asked["asked"] += 1
            if not here[2]:
                continue
            asked.update([table, form, world.unit, world.number, "prepared" if world.prepared else "kept"])
            asked.update(word for word in ("partition", "auto", "clip") if getattr(world, word))
            yield text, _largest(here, there, heard, f"{text}, {noise}, seed {seed}"), asked


def _largest(here: Any, there: list[Any], heard: Heard, words: str) -> Fraction:
    largest = Fraction(0)
    for _, _, parts in there:
        one, other = iter(here[2]), iter(parts)
        for cut in here[1].cuts:
            try:
                largest = max(largest, part_of_price(cut, heard.vector(cut, one), heard.vector(cut, other)))
            except Broken as broken:
                raise Broken(f"{broken}\n  {words}") from None
    return largest


def _all(seeds: range, count: int, heard: Heard, home: Path) -> tuple[list[Fraction], Counter[Any]]:
    asked: Counter[Any] = Counter()
    shown = [part for seed in seeds for _, part, _ in _check(seed, count, heard, home, asked)]
    return shown, asked


def test_neighbouring_databases_show_what_is_claimed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown, asked = _all(range(4), 12, Heard(monkeypatch), tmp_path)
    assert len(shown) > asked["asked"] / 2, asked
    assert max(shown) > Fraction(9, 10)


def test_a_claim_that_is_too_small_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The test can fail: numbers of twice the size."""
    heard = Heard(monkeypatch)
    heard.factor = 2
    with pytest.raises(Broken, match="a neighbour shows"):
        _all(range(4), 12, heard, tmp_path)


def test_a_note_about_rows_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The test can fail: a number of rows that leaves beside the answer."""
    heard, right = Heard(monkeypatch), run_and_sample._release

    def told(part: Any, found: Any) -> ReleasedSet:
        if len(found.sums) % 2:
            raise SfumatoError("odd")
        return right(part, found)

    monkeypatch.setattr(run_and_sample, "_release", told)
    with pytest.raises(Broken, match="what leaves depends on rows"):
        _all(range(4), 12, heard, tmp_path)


@pytest.mark.slow
def test_many_neighbouring_databases_show_what_is_claimed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown, asked = _all(range(100, 140), 30, Heard(monkeypatch), tmp_path)
    for cell in (
        "p",
        "v",
        *VIEWS,
        "person",
        "public",
        "each",
        "window",
        "prepared",
        "kept",
        "partition",
        "auto",
        "clip",
    ):
        assert asked[cell] > 20, (cell, asked)
    assert len(shown) > asked["asked"] / 2
