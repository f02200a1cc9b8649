"""Running totals: all prefix sums of a sequence for one price, better than adding up noisy entries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import GaussianRelease as GaussianEvent
from sfumato.accounting import Pure
from sfumato.errors import InputError
from sfumato.mechanisms.base import as_confidence, as_count, as_distance, as_integers, narrow, pure_loss, with_noise
from sfumato.mechanisms.nodes import Tree, best_tree
from sfumato.mechanisms.parameters import AsFraction, AsWhole, MaybeFraction
from sfumato.mechanisms.sums import sum_width
from sfumato.reals import ceil, ln, sqrt
from sfumato.sampling import sample_gaussian, sample_laplace
from sfumato.types import Loss, positive, whole

_GRID = 20
"""The factor of the square-root form has entries on multiples of 2^-20."""


@dataclass(frozen=True)
class PrefixSums:
    """All sums of the first 1, 2, ..., length entries of a sequence of integers.

    With `epsilon`: a tree of partial sums with geometric noise, each total a sum or difference of few nodes; where the
    sequence is short the tree is the sequence itself. With `rho`: the square root of the summing matrix, with discrete
    Gaussian noise; its error grows like the logarithm of the length.

    Guarantee: if neighbours' sequences differ by at most `distance` in L1, all sums together cost epsilon distance /
        sensitivity_l1, or rho (distance / sensitivity_l1)².
    Proof: (tree) an entry lies in one node of each of the `levels`, so the nodes differ by at most levels times the
        distance in L1, and the noise of a node has scale levels sensitivity_l1/epsilon; which nodes a total takes
        depends on the length alone. (root) released is y = B x plus discrete Gaussian noise, B being the lower
        triangular Toeplitz matrix of whole numbers near 2^20 C(2k, k)/4^k; a unit of one entry moves y by a column of
        B, whose squared norm is computed in whole numbers, and the norm is convex, so a distance D moves y by at most D
        times the longest column. Everything after y is post-processing, floats included. A bound on the distance in L2
        alone would not do: B stretches some directions more than others.
    Reference: Dwork, Naor, Pitassi, Rothblum, STOC 2010; Chan, Shi, Song, ICALP 2010 (tree); Andersson, Pagh,
        Torkamani, Steiner, ICML 2025 (nodes added and taken away, wide trees); Fichtenberger, Henzinger, Upadhyay, ICML
        2023; Henzinger, Upadhyay, Upadhyay, SODA 2023 (square root).
    Checked by: laws::tree_nodes_differ_by_the_levels, laws::root_moves_by_its_longest_column,
        laws::prefix_sums_are_unbiased, laws::prefix_variance_is_the_stated_one, laws::prefix_intervals_cover,
        laws::running_totals_at_once_have_the_law_of_one
    """

    sensitivity_l1: AsFraction = AsFraction()
    length: AsWhole = AsWhole()
    epsilon: MaybeFraction = MaybeFraction(None)
    rho: MaybeFraction = MaybeFraction(None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity_l1", positive(self.sensitivity_l1, "sensitivity_l1"))
        object.__setattr__(self, "length", whole(self.length, "length", 1))
        if (self.epsilon is None) == (self.rho is None):
            raise InputError("give epsilon for the tree, or rho for the square root, and not both")
        for name in ("epsilon", "rho"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, positive(getattr(self, name), name))

    @property
    def event(self) -> Pure | GaussianEvent:
        """All sums together, for the accountant."""
        if self.epsilon is not None:
            return Pure(self.epsilon)
        assert self.rho is not None
        return GaussianEvent(self.rho)

    def loss(self, distance: Any) -> Loss:
        """What all sums together cost if the sequences differ by at most `distance` in L1."""
        times = as_distance(distance) / self.sensitivity_l1
        if self.epsilon is not None:
            return pure_loss(self.epsilon * times)
        assert self.rho is not None
        return Loss(None, self.rho * times**2)

    @property
    def tree(self) -> Tree:
        """Which sums get noise."""
        return best_tree(self.length)

    @property
    def levels(self) -> int:
        """Of the tree: in how many nodes one entry lies."""
        return self.tree.levels

    @property
    def scale(self) -> Fraction:
        """Of the tree: scale of the noise in each node."""
        assert self.epsilon is not None
        return self.levels * self.sensitivity_l1 / self.epsilon

    def draws(self, end: int) -> int:
        """Of the tree: how many nodes the sum of the first `end` entries takes."""
        return int(self.tree.draws[end - 1])

    def release(self, values: Any, count: int | None = None) -> NDArray[Any]:
        """The noisy prefix sums, integers; or `count` rows of them, each at its own cost."""
        entries = as_integers(values)
        if isinstance(entries, int) or entries.shape != (self.length,):
            raise InputError(f"give a list of {self.length} whole numbers")
        count = as_count(count)
        times = 1 if count is None else count
        if self.rho is not None:
            rows = self._root(entries, times)
        else:
            nodes = [np.tile(narrow(level), (times, 1)) for level in self.tree.sums(entries)]
            noisy = [with_noise(level, lambda n: sample_laplace(self.scale, n)) for level in nodes]
            rows = narrow(self.tree.totals(noisy))
        return rows[0] if count is None else rows

    # the square root
    @property
    def factor(self) -> tuple[int, ...]:
        """The first column of B: round(2^20 C(2k, k)/4^k)."""
        return _factor(self.length)

    @property
    def variance(self) -> Fraction:
        """Of the square root: sigma² of the noise in y, in squared units of 2^-20."""
        assert self.rho is not None
        return self.sensitivity_l1**2 * _norm(self.length) / (2 * self.rho)

    def measured(self, entries: NDArray[Any]) -> NDArray[Any]:
        """B x, in whole numbers: in so many digits at once that no sum leaves 64 bits."""
        column = np.array(self.factor, np.int64)
        room = 61 - _GRID - self.length.bit_length()
        rest, shift = entries.astype(object), 0
        found: NDArray[Any] = np.zeros(self.length, object)
        while True:
            last = all(-(1 << room) <= int(value) < 1 << room for value in rest)
            digits = rest if last else rest & ((1 << room) - 1)
            found = found + (np.convolve(digits.astype(np.int64), column)[: self.length].astype(object) << shift)
            if last:
                return found
            rest, shift = rest >> room, shift + room

    def _root(self, entries: NDArray[Any], times: int) -> NDArray[Any]:
        measured = np.tile(narrow(self.measured(entries)), (times, 1))
        noisy = with_noise(measured, lambda n: sample_gaussian(self.variance, n))
        rounded = np.empty((times, self.length), object)
        for row, y in zip(rounded, noisy, strict=True):
            steps = np.convolve(y.astype(float), _inverse(self.length))[: self.length]
            row[:] = [round(total) for total in np.cumsum(steps).tolist()]
        return narrow(rounded)

    # how good the totals are
    def spread(self, end: int) -> Fraction:
        """The variance of the sum of the first `end` entries as continuous laws have it; never less than the true one.

        Geometric draws have less than twice the square of their scale; of the square root an upper bound, as its floats
        are off by less than a millionth, without the rounding at the end.
        """
        if self.epsilon is not None:
            return 2 * self.scale**2 * self.draws(end)
        return self.variance * Fraction(float(_squares(self.length)[end - 1])) * Fraction(1_000_001, 1_000_000)

    @property
    def mean_variance(self) -> float:
        """Of all totals, as the discrete laws have it and with the rounding at the end: for choosing between forms."""
        if self.epsilon is None:
            return float(self.variance) * float(_squares(self.length).mean()) + 1 / 12
        return laplace_variance(self.scale) * float(self.tree.draws.mean())

    def interval(self, confidence: Any = Fraction(95, 100), end: int | None = None) -> tuple[int, int]:
        """(-t, t) that holds the noise of the sum of the first `end` entries (default: of the worst) with this
        probability.

        Tree: from the exact law of a sum of geometric draws. Root: a discrete Gaussian draw is a rounded continuous one
        but for a total variation below 1/sigma², so the total is a rounded normal number but for at most length/sigma²;
        where that is too much, or the miss is rare, by the subgaussian tail, 2 e^(-t²/(2 s²)).
        """
        miss = 1 - as_confidence(confidence)
        place = self.length if end is None else min(whole(end, "end", 1), self.length)
        if self.epsilon is not None:
            draws = int(self.tree.draws.max()) if end is None else self.draws(place)
            t = sum_width(self.scale, draws, miss)
            return -t, t
        allowed = miss - self.length / self.variance
        if allowed < miss * Fraction(99, 100) or miss < Fraction(1, 10**9):
            t = ceil(sqrt(2 * self.spread(place) * ln(2 / miss))) + 1
        else:
            normal = -NormalDist().inv_cdf(float(allowed) / 2) * math.sqrt(self.spread(place)) * (1 + 1e-9)
            halves = math.sqrt(self.length * float(_squares(self.length)[-1]))  # |Z - X| <= 1/2 in every entry of y
            t = math.ceil(normal + halves - 0.5)
        return -t, t


def laplace_variance(scale: Fraction) -> float:
    """The variance of the discrete Laplace law: 2 r/(1-r)², r = e^(-1/scale)."""
    half = float(1 / (2 * scale))
    return 0.0 if half > 300 else 1 / (2 * math.sinh(half) ** 2)


@lru_cache(maxsize=64)
def _factor(length: int) -> tuple[int, ...]:
    value, column = Fraction(1), []
    for k in range(length):
        column.append(int(value * (1 << _GRID) + Fraction(1, 2)))
        # enough digits for the rounding; any whole numbers give a valid B
        value = Fraction(int(value * (2 * k + 1) / (2 * k + 2) * (1 << 80)), 1 << 80)
    return tuple(column)


@lru_cache(maxsize=64)
def _norm(length: int) -> int:
    """The squared norm of the longest column of B: the first."""
    return sum(entry * entry for entry in _factor(length))


@lru_cache(maxsize=64)
def _inverse(length: int) -> NDArray[np.float64]:
    """The first column of the inverse of B, by forward substitution; post-processing may use floats."""
    column = np.array(_factor(length), float)
    inverse = np.zeros(length)
    inverse[0] = 1 / column[0]
    for k in range(1, length):
        inverse[k] = -(column[1 : k + 1][::-1] @ inverse[:k]) / column[0]
    return inverse


@lru_cache(maxsize=64)
def _squares(length: int) -> NDArray[np.float64]:
    """The sums of squares of the weights with which the noise of y enters the first 1, 2, ... totals."""
    return np.asarray(np.cumsum(np.cumsum(_inverse(length)) ** 2))
