"""A design problem as it was asked: inputs, guesses, prior, gain, epsilon and distances, in exact numbers.

Comes in: what a person writes. Goes out: a Problem, and its two faces: enclosures in whole numbers for what is
promised, floats for what is searched. Inputs at distance 0 must be treated alike: they are one *place* of the problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.design.gains import Gain, gains
from sfumato.design.level import Level, as_level
from sfumato.design.priors import Prior, as_prior, has_floats
from sfumato.errors import InputError
from sfumato.mechanisms.metrics import Distance, Metric, distances, is_zero
from sfumato.reals import Enclosure, Real, as_real

Floats = NDArray[np.float64]
Apart = tuple[tuple[Distance | None, ...], ...]
"""Distances between inputs; None: nothing is asked of these two."""
BITS = 160
"""Bits of the enclosures of e^(-epsilon d) and of gains."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What is asked. `gain` has a row for each guess and a column for each input."""

    inputs: tuple[Any, ...]
    guesses: tuple[Any, ...]
    prior: tuple[Fraction, ...]
    gain: tuple[tuple[Fraction | Real, ...], ...]
    level: Level
    apart: Apart
    approximate: bool

    @cached_property
    def place(self) -> tuple[int, ...]:
        """For each input its place: inputs at distance 0 share one."""
        found: list[int] = []
        for x, row in enumerate(self.apart):
            joined = {found[y] for y in range(x) if (d := row[y]) is not None and is_zero(d)}
            mine = min(joined, default=max(found, default=-1) + 1)
            found = [mine if place in joined else place for place in found]
            found.append(mine)
        names = {place: i for i, place in enumerate(dict.fromkeys(found))}
        return tuple(names[place] for place in found)

    @property
    def places(self) -> int:
        """How many places there are."""
        return max(self.place) + 1

    @cached_property
    def decays(self) -> list[list[Enclosure]]:
        """Between places: e^(-epsilon d), enclosed in units of 2^-BITS; (0, 0) where nothing is asked."""
        known: dict[object, Enclosure] = {}
        table: list[list[Enclosure]] = [[(0, 0)] * self.places for _ in range(self.places)]
        for x, row in zip(self.place, self.apart, strict=True):
            for y, d in zip(self.place, row, strict=True):
                if x != y and d is not None:
                    key = id(d) if isinstance(d, Real) else d.as_integer_ratio()
                    if key not in known:
                        known[key] = as_real(self.level.decay(d)).enclose(BITS)
                    table[x][y] = max(table[x][y], known[key])
        return table

    @cached_property
    def worth(self) -> list[list[int]]:
        """For each guess and place: prior times gain, over all inputs of the place, in units of 2^-BITS, from above."""
        known: dict[int, int] = {}
        table = []
        for row in self.gain:
            sums = [0] * self.places
            for x, (p, g) in enumerate(zip(self.prior, row, strict=True)):
                if id(g) not in known:
                    known[id(g)] = as_real(g).enclose(BITS)[1]
                sums[self.place[x]] -= -p.numerator * known[id(g)] // p.denominator
            table.append(sums)
        return table

    def floats(self) -> tuple[Floats, Floats, Floats]:
        """(worth, epsilon d along shortest ways, epsilon d) between places, for the search.

        Infinity where nothing is asked. The last table also has infinity where a way by others is shorter, which
        happens where the distances are no metric.
        """
        unit = 2.0**-BITS
        worth = np.array([[high * unit for high in row] for row in self.worth], dtype=np.float64)
        near: dict[object, float] = {}
        epsilon = float(self.level.epsilon)
        table = np.full((self.places, self.places), inf)
        np.fill_diagonal(table, 0)
        for x, row in zip(self.place, self.apart, strict=True):
            for y, d in zip(self.place, row, strict=True):
                if x != y and d is not None:
                    key = id(d) if isinstance(d, Real) else d.as_integer_ratio()
                    if key not in near:
                        near[key] = float(d)
                    table[x, y] = min(table[x, y], near[key] * epsilon)
        short = table
        for y in range(len(short)):
            via = short[:, y, None] + short[None, y, :]
            short = np.where(via < short * (1 - 1e-12), via, short)
        return worth, short, np.where(short < table, inf, table)


def problem_of(
    prior: Prior,
    gain: Gain,
    epsilon: Any,
    metric: Metric,
    *,
    inputs: Sequence[Any] | None = None,
    guesses: Sequence[Any] | None = None,
    distance: Metric = "euclidean",
) -> Problem:
    """What a person wrote; `distance` is the one of the gains "distance" and "loss"."""
    names = tuple(inputs) if inputs is not None else _counted(prior, gain, metric)
    if len(set(names)) != len(names) or not names:
        raise InputError("a problem needs at least one input, and no input twice")
    among = names if guesses is None else tuple(guesses)
    if len(set(among)) != len(among) or not among:
        raise InputError("a problem needs at least one guess, and no guess twice")
    return Problem(
        names,
        among,
        as_prior(prior, names),
        gains(gain, names, among, distance),
        as_level(epsilon),
        apart_of(metric, names),
        has_floats(prior) or (not callable(gain) and has_floats(gain)),
    )


def apart_of(metric: Metric, inputs: Sequence[Any]) -> Apart:
    """The table of distances; infinity or None in a matrix says that nothing is asked of two inputs."""
    if metric is None or isinstance(metric, str) or callable(metric):
        return distances(metric, inputs)
    table = [list(row) for row in metric]
    free = [[d is None or (isinstance(d, float) and d == inf) for d in row] for row in table]
    finite = [[0 if f else d for f, d in zip(*rows, strict=True)] for rows in zip(free, table, strict=True)]
    known = distances(finite, inputs)
    if any(free[x][y] != free[y][x] or free[x][x] for x in range(len(free)) for y in range(x + 1)):
        raise InputError("a metric is symmetric, and an input is at distance 0 from itself")
    return tuple(tuple(None if f else d for f, d in zip(*rows, strict=True)) for rows in zip(free, known, strict=True))


def _counted(prior: Prior, gain: Gain, metric: Metric) -> tuple[Any, ...]:
    """The inputs, where they are not named: those of the prior, else as many as a matrix has columns."""
    if isinstance(prior, Mapping):
        return tuple(prior)
    if not isinstance(prior, str):
        return tuple(range(len(prior)))
    for matrix in (metric, gain):
        if matrix is not None and not isinstance(matrix, str) and not callable(matrix) and len(matrix):
            return tuple(range(len(matrix[0])))
    raise InputError("how many inputs are there?", hint="Name them: inputs=range(11), or design.grid(5).")
