"""The checker attacked: jobs that no planner makes do not exceed what is derived of them, on any person's rows."""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from fractions import Fraction
from itertools import cycle
from typing import Any

import pytest

from sfumato.algebra.contribution import Contribution, contribution
from sfumato.engines.reference import NotInReference, Results
from sfumato.types import Adjacency
from tests.laws.jobs import WORDS, hostile
from tests.laws.shapes import BY, PRIVATE, asking
from tests.laws.test_twins import world
from tests.laws.twins import Here

_WAYS = zip(list(PRIVATE)[::2], cycle(("count", "different", "median", "most frequent")), cycle(BY), strict=False)
BASES = [
    *(asking(*way) for way in _WAYS),
    "SELECT COUNT(*) FROM v JOIN y ON v.i = y.g",
    "SELECT s, COUNT(*) FROM p CROSS JOIN y GROUP BY s",
    "SELECT v.s, COUNT(*) FROM v LEFT JOIN (SELECT MAX(g) AS g FROM y) AS y ON TRUE GROUP BY v.s",
]
Cells = dict[Any, int]
"""Whole numbers by group and place."""


def cells_of(part: Any, results: Results) -> list[Cells]:
    """What one unit adds to each bundle and to each aggregate that is not a sum, in groups that are read."""
    known, width, listed = set(part.groups), len(part.kept), [part.kept.index(i) for i in part.listed]
    sums = [(g, row) for g, row in results.sums.items() if tuple(g[i] for i in listed) in known]
    found, at = list[Cells](), 0
    for bundle in part.job.bundles:
        places, at = range(at, at + len(bundle.parts)), at + len(bundle.parts)
        found.append({(group, i): row[i] for group, row in sums for i in places})
    for extra in results.extras:
        found.append({g: n for g, n in extra.items() if tuple(g[:width][i] for i in listed) in known})
    return found


def size(cells: Cells, unit: Fraction, squared: bool) -> Fraction:
    """The L1 norm, or the square of the L2 norm, of what whole numbers of this unit stand for."""
    return sum((n * n if squared else abs(n)) for n in cells.values()) * (unit**2 if squared else unit)


def difference(a: Cells, b: Cells) -> Cells:
    return {place: a.get(place, 0) - b.get(place, 0) for place in {*a, *b}}


def contained(derived: Contribution, units: Sequence[list[Cells]], factors: list[Fraction], seen: Counter[str]) -> None:
    """No unit exceeds what is derived: bundle by bundle, all together, and as the difference of two."""
    every = (*derived.bundles, *derived.extras)
    for squared in (False, True):
        norms = [one.l2_squared if squared else one.l1 for one in every]
        for number, unit in enumerate(units):
            shown = [size(cells, one.unit, squared) for cells, one in zip(unit, every, strict=True)]
            for most, found in zip(norms, shown, strict=True):
                assert most is None or found <= most
                seen["unbounded" if most is None else "below" if found < most else "reached" if found else "zero"] += 1
            if None not in norms:
                scaled = [f * n for f, n in zip(factors, norms, strict=False) if n is not None]
                assert sum(f * n for f, n in zip(factors, shown, strict=False)) <= derived.joint(scaled)
                seen["joint"] += derived.joint(scaled) < sum(scaled)
            for one, a, b in zip(derived.bundles, unit, units[number - 1], strict=False):
                change = one.change(Adjacency.REPLACE, squared)
                assert change is None or size(difference(a, b), one.unit, squared) <= change


def attacked(seed: int, people: list[dict[str, Any]], seen: Counter[str]) -> None:
    """One job drawn by lot, on each person by herself."""
    r = random.Random(seed)
    text, drawn, place = r.choice(BASES), r.random(), r.random()
    units = []
    for number, (cut, interpreter) in enumerate(of[text] for of in people):
        part = cut.parts[int(place * len(cut.parts))]
        part = replace(part, job=hostile(random.Random(drawn), part.job, Counter() if number else seen))
        try:
            results = interpreter.run(part.job, "salt")
        except (NotInReference, ZeroDivisionError):  # a weight over nothing
            seen["no meaning"] += 1
            return
        derived = contribution(part.job, len(part.groups))
        assert derived.keys is None or len(results.people) <= derived.keys
        units.append(cells_of(part, results))
    factors = [Fraction(r.randint(1, 9), r.randint(1, 9)) for _ in range(9)]
    try:
        contained(derived, units, factors, seen)
    except AssertionError as broken:
        raise AssertionError(f"seed {seed}: {text}, {part.job.limits}, {derived}") from broken


def by_lot(seeds: range) -> None:
    """All of these jobs keep to what is derived of them, every word of `jobs` is drawn, and some bounds are reached."""
    seen: Counter[str] = Counter()
    tables, people = world("add-remove", 2), list[dict[str, Any]]()
    with ExitStack() as stack:
        for who, rows in [*tables.people.items(), (2, tables.others[2])]:
            here = stack.enter_context(closing(Here(tables.policy, tables.frames({who: rows}))))
            cuts = {text: here.planned(text, None).cuts[0] for text in BASES}
            people.append({text: (cut, here.interpreter(cut)) for text, cut in cuts.items()})
        for seed in seeds:
            attacked(seed, people, seen)
    sys.stdout.write(f"jobs made by lot: {dict(seen)}\n")
    assert [word for word in (*WORDS, "joint") if not seen[word]] == []
    assert seen["reached"] > len(seeds) / 4
    assert seen["no meaning"] < len(seeds) / 5


def test_handmade_jobs_do_not_exceed_what_is_derived() -> None:
    """Hostile limits, parts whose facts lie, columns under other names: the reference shows no more than is derived."""
    by_lot(range(200))


@pytest.mark.slow
def test_many_handmade_jobs_do_not_exceed_what_is_derived() -> None:
    by_lot(range(int(os.environ.get("SFUMATO_SEEDS", "20000"))))
