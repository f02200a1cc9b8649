"""Neighbouring shops through their gateways: what `test_databases` says, for relations on relations along keys; and
whoever is in no touched cell of the partition changes nothing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import SfumatoError
from sfumato.gateway import open_policy, run_and_sample
from sfumato.gateway.released_tables import ReleasedSet
from sfumato.owner import preparation
from tests.laws.neighbours import Broken
from tests.laws.shops import KINDS, Asking, Shop
from tests.laws.test_databases import Heard, _largest, _leaves


class HeardWithKeys(Heard):
    """Undeclared keys that the first database has are shown in all of them: later stages meet released rows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(monkeypatch)
        self.first, self.shown = True, dict[int, tuple[Any, ...]]()
        monkeypatch.setattr(run_and_sample, "_release", self._release_keys)

    def _release_keys(self, part: Any, found: Any) -> ReleasedSet:
        self.parts.append((part, found))
        if part.chosen and self.first:
            self.shown[len(self.parts)] = tuple(sorted((key for key, _ in found.people), key=str))[:3]
        keys = self.shown.get(len(self.parts), ()) if part.chosen else ((),)
        r, count = random.Random(self.seed), len(keys) * len(part.groups)
        cells = tuple(tuple(self._drawn(of, r) for _ in range(count)) for of in part.bundles)
        return ReleasedSet(keys if part.chosen else (), cells)


def _check(seed: int, count: int, heard: HeardWithKeys, home: Path, put: Counter[str]) -> Iterator[Fraction]:
    """The largest part of its price that a neighbour shows, for each answered query; or Broken."""
    shop, r = Shop(seed), random.Random(seed)
    replaced = shop.adjacency == "replace"
    near = [
        {**shop.people, i: shop.others[i]} if replaced else {j: of for j, of in shop.people.items() if j != i}
        for i in shop.people
    ]
    with ExitStack() as stack:
        gates = []
        for number, people in enumerate([shop.people, *near]):
            place = shop.write(people, home / f"{seed} {number}")
            if shop.prepared:
                preparation.prepare(place)
            gates.append(stack.enter_context(open_policy(place)))
        for _ in range(count):
            asked, noise = Asking(r), r.choice([None, None, None, "gaussian"])
            found = []
            heard.shown = {}
            for number, gate in enumerate(gates):
                heard.first = number == 0
                found.append(_leaves(gate, asked.text, noise, heard))
            here, *there = found
            put["asked"] += 1
            words = f"{asked.text}, {noise}, seed {seed}"
            if any(seen != here[0] for seen, _, _ in there):
                raise Broken(f"what leaves depends on rows: {[seen for seen, _, _ in found]}\n  {words}")
            if not here[2]:
                continue
            put.update(asked.put)
            put.update(["answered", shop.adjacency, "prepared" if shop.prepared else "kept"])
            put["cells"] += _outside(shop, here, there, heard, words)
            yield _largest(here, there, heard, words)


def _outside(shop: Shop, here: Any, there: list[Any], heard: Heard, words: str) -> int:
    """How many neighbours are outside of the cells that are charged; they change nothing."""
    outside = 0
    for i, (_, _, parts) in zip(shop.people, there, strict=True):
        others = [shop.others[i]] if shop.adjacency == "replace" else []
        if here[1].cells is None or shop.cells(shop.people[i], *others) & {*here[1].cells}:
            continue
        one, other = iter(here[2]), iter(parts)
        if any(heard.vector(cut, one) != heard.vector(cut, other) for cut in here[1].cuts):
            raise Broken(f"somebody outside of {here[1].cells} changes the answer\n  {words}")
        outside += 1
    return outside


def _all(seeds: range, count: int, heard: HeardWithKeys, home: Path) -> tuple[list[Fraction], Counter[str]]:
    put: Counter[str] = Counter()
    return [part for seed in seeds for part in _check(seed, count, heard, home, put)], put


def test_neighbouring_shops_show_what_is_claimed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown, put = _all(range(4), 6, HeardWithKeys(monkeypatch), tmp_path)
    assert put["answered"] > put["asked"] / 2, put
    assert max(shown) > Fraction(9, 10)


def test_a_claim_that_is_too_small_for_a_shop_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The test can fail: numbers of twice the size."""
    heard = HeardWithKeys(monkeypatch)
    heard.factor = 2
    with pytest.raises(Broken, match="a neighbour shows"):
        _all(range(3), 8, heard, tmp_path)


@pytest.mark.slow
def test_a_key_that_is_shown_for_some_rows_only_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The test can fail: an answer that is refused where a group has an odd number of rows."""
    heard = HeardWithKeys(monkeypatch)
    right = heard._release_keys

    def told(part: Any, found: Any) -> ReleasedSet:
        if len(found.sums) % 2:
            raise SfumatoError("odd")
        return right(part, found)

    monkeypatch.setattr(run_and_sample, "_release", told)
    with pytest.raises(Broken, match="what leaves depends on rows"):
        _all(range(8), 10, heard, tmp_path)


@pytest.mark.slow
def test_many_neighbouring_shops_show_what_is_claimed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown, put = _all(range(100, 150), 25, HeardWithKeys(monkeypatch), tmp_path)
    for kind in (*KINDS, "add-remove", "replace", "prepared", "kept", "cells"):
        assert put[kind] > 5, (kind, put)
    assert put["answered"] > put["asked"] / 2
    assert max(shown) == 1
