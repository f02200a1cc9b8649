"""Minimality: a class that was not cut says that a cut would have broken the rule (Wong and others, VLDB 2007).

Comes in: what is known of the people of a class, how many of them have the secret, and the rule. Goes out: for each of
them the probability of having it, exactly, over all worlds in which every cut that k allows breaks the rule.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

_MOST_WORLDS = 200_000


def posterior_of_minimality(
    people: Sequence[dict[str, Any]], having: int, k: int, most: Fraction | None
) -> list[Fraction] | None:
    """The chance of each person, given that no cut was made; None where nothing follows or worlds are too many.

    The rule is that a class has both answers, or, if `most` is given, the secret in at most that part of its rows. The
    cut that would have been made along a column is the one nearest to the middle, where both sides keep k people.
    """
    many = len(people)
    cuts = [cut for column in people[0] if (cut := _cut([one[column] for one in people], k)) is not None]
    if not cuts or math.comb(many, having) > _MOST_WORLDS:
        return None
    counts, worlds = [0] * many, 0
    for chosen in itertools.combinations(range(many), having):
        held = frozenset(chosen)
        if all(_breaks(held, low, many, most) for low in cuts):
            worlds += 1
            for i in chosen:
                counts[i] += 1
    return [Fraction(count, worlds) for count in counts] if worlds else None


def _cut(values: Sequence[Any], k: int) -> frozenset[int] | None:
    """The people on the lower side of the cut along one column."""
    order = sorted(range(len(values)), key=lambda i: _rank(values[i]))
    ends = [
        n
        for n in range(k, len(values) - k + 1)
        if 0 < n < len(values) and _rank(values[order[n - 1]]) != _rank(values[order[n]])
    ]
    if not ends:
        return None
    end = min(ends, key=lambda n: (abs(2 * n - len(values)), n))
    return frozenset(order[:end])


def _rank(value: Any) -> tuple[int, Any]:
    try:
        return (0, float(value))
    except (TypeError, ValueError):
        return (1, str(value))


def _breaks(held: frozenset[int], low: frozenset[int], many: int, most: Fraction | None) -> bool:
    """Whether one of the two sides would not have kept the rule."""
    for size, having in ((len(low), len(held & low)), (many - len(low), len(held - low))):
        if most is not None and having > most * size:
            return True
        if most is None and having in (0, size):
            return True
    return False
