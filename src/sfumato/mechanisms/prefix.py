"""Running totals: all prefix sums of a sequence for one price, far better than one release each."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.events import Gaussian as GaussianEvent
from sfumato.accounting.events import Pure
from sfumato.chance import sample_gaussian, sample_laplace
from sfumato.errors import InputError
from sfumato.mechanisms.base import as_confidence, as_distance, as_integers, least, narrow, pure_loss, with_noise
from sfumato.mechanisms.tails import laplace_sum_tail
from sfumato.reals import ceil, ln, sqrt
from sfumato.words import Loss, positive, whole

_GRID = 20
"""The factor of the square-root form has entries on multiples of 2^-20."""


@dataclass(frozen=True)
class PrefixSums:
    """All sums of the first 1, 2, ..., length entries of a sequence of whole numbers.

    With `epsilon`: a binary tree of partial sums with geometric noise. With `rho`: the square root of the summing
    matrix, with discrete Gaussian noise; its error grows like the logarithm of the length.

    Guarantee: if neighbours' sequences differ by at most `distance` in L1, all sums together cost epsilon distance /
        sensitivity_l1, or rho (distance / sensitivity_l1)².
    Proof: (tree) an entry lies in one node of each of the `levels` = floor(log2 length) + 1 levels, so the nodes differ
        by at most levels times the distance in L1, and every sum adds up nodes. (root) released is y = B x plus
        discrete Gaussian noise, B being the lower triangular Toeplitz matrix of whole numbers near 2^20 C(2k, k)/4^k; a
        unit of one entry moves y by a column of B, whose squared norm is computed in whole numbers, and the norm is
        convex, so a distance D moves y by at most D times the longest column. Everything after y is post-processing,
        floats included.
    Reference: Dwork, Naor, Pitassi, Rothblum, STOC 2010; Chan, Shi, Song, ICALP 2010 (tree); Fichtenberger, Henzinger,
        Upadhyay, ICML 2023; Henzinger, Upadhyay, Upadhyay, SODA 2023 (square root).
    Checked by: laws::tree_nodes_differ_by_the_levels, laws::root_moves_by_its_longest_column,
        laws::prefix_sums_are_unbiased, laws::prefix_intervals_cover
    """

    sensitivity_l1: Fraction
    length: int
    epsilon: Fraction | None = None
    rho: Fraction | None = None

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
    def levels(self) -> int:
        """Of the tree: in how many nodes one entry lies."""
        return self.length.bit_length()

    @property
    def scale(self) -> Fraction:
        """Of the tree: scale of the noise in each node."""
        assert self.epsilon is not None
        return self.levels * self.sensitivity_l1 / self.epsilon

    def release(self, values: Any) -> NDArray[Any]:
        """The noisy running totals, whole numbers."""
        entries = as_integers(values)
        if isinstance(entries, int) or entries.shape != (self.length,):
            raise InputError(f"give a list of {self.length} whole numbers")
        return self._tree(entries) if self.epsilon is not None else self._root(entries)

    # the tree
    def nodes(self, entries: NDArray[Any]) -> list[NDArray[Any]]:
        """Exact sums of the nodes, level by level: node i of level j holds entries i 2^j up to (i+1) 2^j."""
        level = entries.astype(object)
        tree = [level]
        while len(tree[-1]) > 1:
            below = tree[-1][: len(tree[-1]) // 2 * 2]
            tree.append(below[::2] + below[1::2])
        return tree

    def _tree(self, entries: NDArray[Any]) -> NDArray[Any]:
        noisy = [
            with_noise(narrow(level), lambda n: sample_laplace(self.scale, n)).astype(object)
            for level in self.nodes(entries)
        ]
        sums = np.empty(self.length, object)
        for end in range(1, self.length + 1):
            sums[end - 1] = sum(noisy[j][(end >> j) - 1] for j in range(self.levels) if end >> j & 1)
        return narrow(sums)

    # the square root
    @cached_property
    def factor(self) -> list[int]:
        """The first column of B: round(2^20 C(2k, k)/4^k)."""
        value, column = Fraction(1), []
        for k in range(self.length):
            column.append(int(value * (1 << _GRID) + Fraction(1, 2)))
            # enough digits for the rounding; any whole numbers give a valid B
            value = Fraction(int(value * (2 * k + 1) / (2 * k + 2) * (1 << 80)), 1 << 80)
        return column

    @property
    def variance(self) -> Fraction:
        """Of the square root: sigma² of the noise in y, in squared units of 2^-20."""
        assert self.rho is not None
        return self.sensitivity_l1**2 * sum(entry * entry for entry in self.factor) / (2 * self.rho)

    def measured(self, entries: NDArray[Any]) -> NDArray[Any]:
        """B x, in whole numbers."""
        column = np.array(self.factor, object)
        most = max((abs(int(x)) for x in entries.tolist()), default=0)
        if most * self.length << _GRID < 1 << 62:
            return np.convolve(entries.astype(np.int64), column.astype(np.int64))[: self.length]
        return np.convolve(entries.astype(object), column)[: self.length]

    @cached_property
    def _inverse(self) -> NDArray[np.float64]:
        """The first column of the inverse of B, by forward substitution; post-processing may use floats."""
        column = np.array(self.factor, float)
        inverse = np.zeros(self.length)
        inverse[0] = 1 / column[0]
        for k in range(1, self.length):
            inverse[k] = -(column[1 : k + 1][::-1] @ inverse[:k]) / column[0]
        return inverse

    def _root(self, entries: NDArray[Any]) -> NDArray[Any]:
        noisy = with_noise(narrow(self.measured(entries).astype(object)), lambda n: sample_gaussian(self.variance, n))
        steps = np.convolve(noisy.astype(float), self._inverse)[: self.length]
        rounded = np.empty(self.length, object)
        rounded[:] = [round(total) for total in np.cumsum(steps).tolist()]
        return narrow(rounded)

    def interval(self, confidence: Any = Fraction(95, 100), end: int | None = None) -> tuple[int, int]:
        """(-t, t) that holds the noise of the sum of the first `end` entries (default: of the worst) with this
        probability.

        Tree: from the exact law of a sum of geometric draws. Root: a bound by the subgaussian tail, 2 e^(-t²/(2 s²)),
        with one unit for rounding.
        """
        miss = 1 - as_confidence(confidence)
        if self.epsilon is not None:
            worst = (
                max(range(1, self.length + 1), key=int.bit_count)
                if self.length < 1 << 16
                else (1 << self.levels - 1) - 1
            )
            count = (worst if end is None else whole(end, "end", 1)).bit_count()
            t = least(
                lambda t: 2 * laplace_sum_tail(self.scale, count, t + 1) <= miss, int(2 * self.scale * count**0.5)
            )
        else:
            weights = np.cumsum(self._inverse)[: self.length if end is None else whole(end, "end", 1)]
            # an upper bound of the sum of squares: its floats are off by less than a millionth of it
            spread = Fraction(float(weights @ weights)) * Fraction(1_000_001, 1_000_000)
            t = ceil(sqrt(2 * self.variance * spread * ln(2 / miss))) + 1
        return -t, t
