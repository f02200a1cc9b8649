"""Choosing one of many by score: the exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from numpy.typing import NDArray

from sfumato.accounting import BoundedRange
from sfumato.errors import InputError
from sfumato.mechanisms.base import as_count, as_distance, as_integers, opened
from sfumato.mechanisms.inputs import as_rational
from sfumato.mechanisms.parameters import AsFraction
from sfumato.reals import Real, exp, total
from sfumato.sampling import sample_lowest
from sfumato.types import Loss, positive, whole


def as_gaps(scores: Any) -> tuple[NDArray[Any], int]:
    """How far each score is below the best one, in whole steps of 1/denominator; floats are refused."""
    scores, denominator = opened(scores), 1
    if type(scores) in (list, tuple):
        items = [as_rational(score) for score in scores]
        denominator = lcm(*(item.denominator for item in items))
        scores = [int(item * denominator) for item in items]
    numbers = as_integers(scores)
    if isinstance(numbers, int) or numbers.ndim != 1 or numbers.size == 0:
        raise InputError("scores must be a list of at least one number")
    values = numbers.astype(object)
    return max(values.tolist()) - values, denominator


@dataclass(frozen=True)
class Exponential:
    """Choose an index with probability proportional to e^(rate score), rate = epsilon / (2 sensitivity).

    Guarantee: if each score moves by at most `distance` between neighbours, one choice costs epsilon = 2 rate distance,
        and as its log-ratios lie within a range of that width it costs rho = epsilon²/8. With `monotone` (all scores
        move in the same direction) rate is epsilon / sensitivity and the cost rate distance.
    Proof: a weight changes by a factor within [e^(-rate d), e^(rate d)], the sum of the weights by a factor within the
        same bounds, independent of the index: the log-ratios of all indices lie in a range of 2 rate d around the
        sum's. Where all scores move the same way, all factors lie in [1, e^(rate d)] or all in [e^(-rate d), 1].
    Reference: McSherry and Talwar, FOCS 2007; Dong, Durfee, Rogers, ICML 2020 (bounded range); Cesar and Rogers, ALT
        2021 (rho).
    Checked by: laws::loss_is_sup_of_log_ratio, laws::exponential_range_is_epsilon, laws::choices_add_up,
        laws::choices_at_once_have_the_law_of_one, sampling::lowest_has_the_exact_mass,
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
    def event(self) -> BoundedRange:
        """One choice, for the accountant."""
        return BoundedRange(self.epsilon)

    def loss(self, distance: Any) -> Loss:
        """What one choice costs if each score moves by at most `distance`."""
        epsilon = self.epsilon * as_distance(distance) / self.sensitivity
        return Loss(epsilon, epsilon * epsilon / 8)

    def release(self, scores: Any, count: int | None = None) -> Any:
        """The index of a candidate with a high score; or an array of `count` choices, each at its own cost."""
        gaps, denominator = as_gaps(scores)
        return sample_lowest(self.rate / denominator, gaps, as_count(count))

    def mass(self, output: int, scores: Any) -> Real:
        """The probability of this index for these scores."""
        gaps, denominator = as_gaps(scores)
        weights = [exp(-self.rate * gap / denominator) for gap in gaps.tolist()]
        return weights[whole(output, "output", 0)] / total(weights)
