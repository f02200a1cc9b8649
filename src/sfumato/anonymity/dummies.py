"""Dummy records: rows that stand for nobody, added to classes that would be suppressed.

Comes in: a recoding and how many rows may be added. Goes out: the recoding with those classes released, and the rows.
Whoever can tell dummies from people sees the smaller class: the check counts them, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.anonymity.classes import Classes, Ints
from sfumato.anonymity.compress import Compressed
from sfumato.anonymity.models import Model
from sfumato.anonymity.recoding import Recoding, hold_all

_MOST_ADDED = 4
"""A class gets at most so many dummies for each row that it has."""


def fill(
    compressed: Compressed, recoding: Recoding, models: Sequence[Model], most: int
) -> tuple[Recoding, Classes, list[tuple[int, int, int]]]:
    """Fill classes, those first that need the fewest rows for each row they save, until `most` rows are added.

    Returns the recoding with these classes released, the classes with the rows that were added, and these rows.
    """
    if most <= 0 or recoding.held.all():
        return recoding, recoding.classes, []
    tuples = compressed.tuples
    plans = []
    for at in np.flatnonzero(~recoding.held & (recoding.classes.size > 0)).tolist():
        one, counts = _alone(recoding.classes, at), recoding.classes.histogram[at]
        added = _needed(one, models, tuples.totals, min(most, _MOST_ADDED * int(counts.sum())))
        if added is not None:
            plans.append((int(added.sum()) / int(counts.sum()), at, added))
    held, histogram = recoding.held.copy(), recoding.classes.histogram.copy()
    rows: list[tuple[int, int, int]] = []
    for _, at, added in sorted(plans, key=lambda plan: plan[:2]):
        if int(added.sum()) <= most:
            most -= int(added.sum())
            held[at] = True
            histogram[at] += added
            rows += [(at, _payload(compressed, value), int(n)) for value, n in enumerate(added) if n]
    classes = Classes(recoding.classes.representative, histogram, histogram.sum(axis=1), recoding.classes.population)
    return replace(recoding, held=held), classes, rows


def _alone(classes: Classes, at: int) -> Classes:
    part = slice(at, at + 1)
    people = None if classes.population is None else classes.population[part]
    return Classes(classes.representative[part], classes.histogram[part], classes.size[part], people)


def _needed(one: Classes, models: Sequence[Model], totals: Ints, most: int) -> Ints | None:
    """Rows by sensitive value that make the one class hold: each time the value that it lacks most."""
    counts: Ints = one.histogram[0]
    added: Ints = np.zeros_like(counts)
    for _ in range(most):
        now = counts + added
        lack = totals * (now.sum() + 1) - now * totals.sum()
        lack[(now == 0) & (totals > 0)] += totals.sum() * (now.sum() + 1)  # a value that is missing comes first
        added[int(np.argmax(lack))] += 1
        now = counts + added
        filled = replace(one, histogram=now[None, :], size=np.array([now.sum()]))
        if hold_all(models, filled, totals)[0]:
            return added
    return None


def _payload(compressed: Compressed, value: int) -> int:
    """A payload that has this sensitive value."""
    name = compressed.tuples.sensitive[value]
    return next((i for i, one in enumerate(compressed.payloads) if not one or name in ("", one[0])), 0)
