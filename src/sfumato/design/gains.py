"""Gains: how useful a guess is when the truth is known. Comes in: a word, a matrix, a function. Goes out: a table.

"identity" is 1 for the truth and 0 for anything else. "distance" is the lecture's D - d(w, x), D being the largest
distance between a guess and a truth. "loss" is -d(w, x), for answers without a largest distance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from sfumato.errors import InputError
from sfumato.mechanisms.metrics import Distance, Metric, distances, largest
from sfumato.reals import Real
from sfumato.types import as_written

Gain = str | Callable[[Any, Any], Any] | Sequence[Sequence[Any]]
"""A word of GAINS, a function of guess and truth, or a matrix with a row for each guess and a column for each truth."""
GAINS = ("identity", "distance", "loss")


def gains(
    gain: Gain, truths: Sequence[Any], guesses: Sequence[Any] | None = None, metric: Metric = "euclidean"
) -> tuple[tuple[Fraction | Real, ...], ...]:
    """The table of gains: a row for each guess, a column for each truth. Guesses are the truths unless named.

    >>> [[int(g) for g in row] for row in gains("distance", [0, 1, 2])]
    [[2, 1, 0], [1, 2, 1], [0, 1, 2]]
    """
    among = list(truths if guesses is None else guesses)
    if not isinstance(gain, str):
        if callable(gain):
            return tuple(tuple(_entry(gain(w, x)) for x in truths) for w in among)
        return _given(gain, len(among), len(truths))
    if gain == "identity":
        return tuple(tuple(Fraction(int(w == x)) for x in truths) for w in among)
    if gain not in GAINS:
        raise InputError(f'gain "{gain}" is not known', hint=f"One of: {', '.join(GAINS)}; or a matrix, or a function.")
    table = _between(metric, among, list(truths))
    most = largest([d for row in table for d in row]) if gain == "distance" else Fraction(0)
    return tuple(tuple(_minus(most, d) for d in row) for row in table)


def _minus(most: Distance, distance: Distance) -> Distance:
    return Fraction(0) if most is distance else most - distance


def _between(metric: Metric, guesses: list[Any], truths: list[Any]) -> list[list[Distance]]:
    """Distances of guesses to truths; a matrix of distances is one between the truths."""
    points = list(dict.fromkeys([*truths, *guesses]))
    table = distances(metric, points)
    place = {point: i for i, point in enumerate(points)}
    return [[table[place[w]][place[x]] for x in truths] for w in guesses]


def _given(matrix: Sequence[Sequence[Any]], guesses: int, truths: int) -> tuple[tuple[Fraction | Real, ...], ...]:
    table = tuple(tuple(_entry(g) for g in row) for row in matrix)
    if not table or any(len(row) != truths for row in table) or len(table) != guesses:
        raise InputError(
            f"a matrix of gains has {guesses} rows, one for each guess, of {truths} numbers, one for each truth",
            detail=f"This one has {len(table)} rows.",
        )
    return table


def _entry(gain: Any) -> Fraction | Real:
    return gain if isinstance(gain, Real) else as_written(int(gain) if isinstance(gain, bool) else gain, "gain")
