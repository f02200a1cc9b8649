"""Choosing one of many by score, better under pure privacy: permute and flip."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.accounting import Pure
from sfumato.mechanisms.base import as_count, as_distance, pure_loss
from sfumato.mechanisms.exponential import as_gaps
from sfumato.mechanisms.parameters import AsFraction
from sfumato.reals import Real, as_real, exp, total
from sfumato.sampling import sample_flips, sample_uniform
from sfumato.types import Loss, positive, whole


@dataclass(frozen=True)
class PermuteAndFlip:
    """Go through the candidates in random order, flip a coin of probability e^(rate (score - best)), stop at the first
    heads.

    Guarantee: if each score moves by at most `distance` between neighbours, one choice costs epsilon = 2 rate distance,
        where rate = epsilon / (2 sensitivity); with `monotone` scores rate is epsilon / sensitivity and the cost rate
        distance. Its rho is epsilon²/2: its log-ratios do not lie within a range of epsilon.
    Proof: the choice has the law of the best score plus one-sided exponential noise of this rate; raising the winner's
        noise by twice the distance (once, if monotone) keeps it the winner, at that price. As each coin is flipped at
        most once and the order is independent of them, the choice is uniform among the candidates whose coins show
        heads, the best always among them.
    Reference: McKenna and Sheldon, NeurIPS 2020; Ding and others 2021 (noisy max with exponential noise is the same
        law).
    Checked by: laws::loss_is_sup_of_log_ratio, laws::choices_add_up, laws::permute_and_flip_is_no_worse,
        laws::choices_at_once_have_the_law_of_one, sampling::flips_have_the_exact_mass,
        verify::certificates_of_the_library_hold
    """

    sensitivity: AsFraction = AsFraction()
    epsilon: AsFraction = AsFraction()
    monotone: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", positive(self.sensitivity, "sensitivity"))
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))

    @property
    def rate(self) -> Fraction:
        """The weight of one point of score."""
        return self.epsilon / (self.sensitivity if self.monotone else 2 * self.sensitivity)

    @property
    def event(self) -> Pure:
        """One choice, for the accountant."""
        return Pure(self.epsilon)

    def loss(self, distance: Any) -> Loss:
        """What one choice costs if each score moves by at most `distance`."""
        return pure_loss(self.epsilon * as_distance(distance) / self.sensitivity)

    def release(self, scores: Any, count: int | None = None) -> Any:
        """The index of a candidate with a high score; or an array of `count` choices, each at its own cost."""
        gaps, denominator = as_gaps(scores)
        count = as_count(count)
        times = 1 if count is None else count
        heads = sample_flips(self.rate / denominator, gaps, times)
        showing = heads.sum(axis=1)
        wanted = np.empty(times, np.int64)
        for many in np.unique(showing).tolist():
            places = np.flatnonzero(showing == many)
            wanted[places] = sample_uniform(many, len(places))
        index = np.argmax(heads.cumsum(axis=1) > wanted[:, None], axis=1)
        return int(index[0]) if count is None else index

    def mass(self, output: int, scores: Any) -> Real:
        """The probability of this index: its coin times the mean of 1/(1 + other heads), by the law of their number."""
        gaps, denominator = as_gaps(scores)
        coins = [exp(-self.rate * gap / denominator) for gap in gaps.tolist()]
        mine = coins.pop(whole(output, "output", 0))
        heads = [as_real(1)]
        for coin in coins:
            fewer, more = [h * (1 - coin) for h in heads], [h * coin for h in heads]
            heads = [fewer[0], *(f + m for f, m in zip(fewer[1:], more, strict=False)), more[-1]]
        return mine * total([h * Fraction(1, i + 1) for i, h in enumerate(heads)])
