"""Dummy records: rows that stand for nobody, added to classes that are too small to be released.

Comes in: a recoding and how many rows may be added. Goes out: the recoding with those classes released, and the rows.
Whoever can tell dummies from people sees the smaller class: the check counts them, and says so.

Guarantee: which classes are filled, and to what size, depends on how many rows classes have, never on the sensitive
values of a filled class. Given the rest of the release, an attacker who takes the published distribution for the values
of people believes of each person in a filled class what its rows say: a value that n of its N rows have with
probability n/N. Every choice of as many of its rows as there are people is a possible one.
Proof: values of dummies are drawn independently from q, those of the rows that are released without dummies. Let r be
    the people's values of a class, d the drawn ones, m = r + d. There is one draw: the class is released if every value
    of m occurs in q and the models hold of m, which is a statement about m alone; so it appears as m with probability
    P(d = m - r). With r drawn from q too, all N values are exchangeable. Several draws until the models hold would
    divide by the chance that some draw does, which depends on r; a value that q lacks could not be a dummy's.
Reference: none; arithmetic.
Checked by: unit::a_filled_class_says_of_its_people_what_its_rows_say, unit::which_classes_are_filled_depends_on_sizes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.anonymity.classes import Classes, Ints
from sfumato.anonymity.compress import Compressed
from sfumato.anonymity.models import KAnonymity, Model, Presence
from sfumato.anonymity.recoding import Recoding, hold_all
from sfumato.sampling import sample_uniform

_MOST_ADDED = 4
"""A class gets at most so many dummies for each row that it has."""
_TRIED = 32
"""Classes that are drawn to find a size of which at least half hold."""


def fill(
    compressed: Compressed, recoding: Recoding, models: Sequence[Model], most: int
) -> tuple[Recoding, Classes, list[tuple[int, int, int]]]:
    """Fill classes, those first that need the fewest rows for each row they save, until `most` rows are added.

    Returns the recoding with these classes released, the classes with the rows that were added, and these rows.
    """
    if most <= 0 or recoding.held.all():
        return recoding, recoding.classes, []
    totals = compressed.tuples.totals
    values = recoding.classes.histogram[recoding.held].sum(axis=0) if len(totals) > 1 else totals
    held, histogram = recoding.held.copy(), recoding.classes.histogram.copy()
    rows: list[tuple[int, int, int]] = []
    for at, many in _planned(recoding, models, values, most):
        added = _drawn(values, many)
        one = _alone(recoding.classes, at, histogram[at] + added)
        if _may_appear(one, values, models):
            held[at] = True
            histogram[at] = one.histogram[0]
            rows += [(at, _payload(compressed, value), int(n)) for value, n in enumerate(added) if n]
    classes = Classes(recoding.classes.representative, histogram, histogram.sum(axis=1), recoding.classes.population)
    return replace(recoding, held=held), classes, rows


def _planned(recoding: Recoding, models: Sequence[Model], values: Ints, most: int) -> list[tuple[int, int]]:
    """Classes to fill and by how many rows, from their sizes alone; a draw that fails counts as well."""
    classes, sizes, plans = recoding.classes, _Sizes(tuple(models), values), []
    if not values.sum():
        return []
    for at in np.flatnonzero(~recoding.held & (classes.size > 0)).tolist():
        people = None if classes.population is None else int(classes.population[at])
        many = sizes.added(int(classes.size[at]), people)
        if many is not None:
            plans.append((many / int(classes.size[at]), at, many))
    chosen = []
    for _, at, many in sorted(plans):
        if many <= most:
            most -= many
            chosen.append((at, many))
    return chosen


@dataclass
class _Sizes:
    """To what size classes are filled: by their size and population, and by values drawn from those of the release."""

    models: tuple[Model, ...]
    values: Ints

    def __post_init__(self) -> None:
        self._known: dict[tuple[int, int | None], int | None] = {}
        self._blind = [model for model in self.models if isinstance(model, (KAnonymity, Presence))]

    def added(self, size: int, people: int | None) -> int | None:
        """Rows to add to a class of this size, or None: it is large enough, or no size would do."""
        if (size, people) not in self._known:
            self._known[size, people] = self._found(size, people)
        return self._known[size, people]

    def _found(self, size: int, people: int | None) -> int | None:
        least = max((model.least for model in self.models), default=1)
        if size >= least and self._fits(size, people):
            return None  # if it is not released, its values are the reason
        for many in range(max(least - size, 1), _MOST_ADDED * size + 1):
            if self._fits(size + many, people) and self._holds_often(size + many):
                return many
        return None

    def _fits(self, size: int, people: int | None) -> bool:
        """Whether a class of this size holds, as far as values do not count."""
        rows = np.array([size])
        one = Classes(np.zeros(1, np.int64), rows[:, None], rows, None if people is None else np.array([people]))
        return bool(hold_all(self._blind, one, rows)[0])

    def _holds_often(self, size: int) -> bool:
        """Whether at least half of the classes of this size hold that are drawn from the values of the release."""
        others = [model for model in self.models if model not in self._blind]
        if not others:
            return True
        drawn = np.stack([_drawn(self.values, size) for _ in range(_TRIED)])
        held = hold_all(others, Classes(np.zeros(_TRIED, np.int64), drawn, drawn.sum(axis=1)), self.values)
        return 2 * int(held.sum()) >= _TRIED


def _drawn(values: Ints, many: int) -> Ints:
    """So many independent draws from a distribution, counted by value."""
    ends = np.cumsum(values)
    places = np.searchsorted(ends, sample_uniform(int(ends[-1]), many), side="right")
    return np.bincount(places, minlength=len(values)).astype(np.int64)


def _alone(classes: Classes, at: int, counts: Ints) -> Classes:
    part = slice(at, at + 1)
    people = None if classes.population is None else classes.population[part]
    return Classes(classes.representative[part], counts[None, :], np.array([counts.sum()]), people)


def _may_appear(one: Classes, values: Ints, models: Sequence[Model]) -> bool:
    """Whether a filled class is released: a statement about its rows, whoever of them is real."""
    known = bool((values[one.histogram[0] > 0] > 0).all())
    return known and bool(hold_all(models, one, values)[0])


def _payload(compressed: Compressed, value: int) -> int:
    """A payload that has this sensitive value."""
    name = compressed.tuples.sensitive[value]
    return next((i for i, one in enumerate(compressed.payloads) if not one or name in ("", one[0])), 0)
