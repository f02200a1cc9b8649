"""Choosing one of very many by rank: entries that each stand for many candidates, the lower score the better."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import BoundedRange
from sfumato.errors import InputError
from sfumato.mechanisms.base import as_count, as_distance, as_integers
from sfumato.mechanisms.parameters import AsFraction
from sfumato.reals import Real, exp, total
from sfumato.sampling import sample_banded
from sfumato.types import Loss, positive


@dataclass(frozen=True)
class RankedChoice:
    """Choose an entry with probability proportional to length e^(-rate score), rate = epsilon / (2 sensitivity).

    An entry stands for `length` candidates of one score; a million entries take some ten milliseconds. The time depends
    on the number of entries, on whether scores fit 64 bits, on the number of tries (fewer than three on average; a try
    is kept with probability e^-f, f being the part of rate (score - best) behind the point), and a little on how many
    entries lie near the one that is chosen. Entries far from the best take as long as near ones.

    Guarantee: if each score moves by at most `distance` between neighbours, one choice costs epsilon = 2 rate distance
        and rho = epsilon²/8. With `monotone` rate is epsilon / sensitivity, and one choice costs epsilon = rate
        distance and rho = epsilon²/8, provided that all scores move in the same direction, or stay: neighbours by
        add-remove, and a person never helps one candidate and harms another. Under replace it would cost twice the
        epsilon. A number added to all scores alike does not count as a move. If the index is shown, neighbours must
        have the same lengths; if a candidate drawn uniformly from the entry is shown instead, each neighbour may cut
        the same candidates into entries in its own way.
    Proof: an entry and then one of its candidates is a candidate c with weight e^(-rate score_c), however they are
        cut; where lengths are the same, the index is a function of c. Let score_c move by a_c, and by a number that is
        the same for all. The log-ratio of c is -rate a_c plus a term that is the same for all c: that number, and the
        logarithm of the ratio of the two sums. All a_c lie in [-d, d], so the log-ratios lie in an interval of width
        2 rate d; where all move the same way, all a_c lie in [0, d] or all in [-d, 0], and the width is rate d. Either
        way it is epsilon. Both laws sum to one, so 0 is in the interval, and no log-ratio exceeds epsilon. For rho,
        only the width counts: with Z the log-ratio, K(t) = ln E e^(t Z) under the second law has K(0) = K(1) = 0, and
        K'' is the variance of a number in that interval, at most epsilon²/4; so K(t) <= t (t - 1) epsilon²/8 for t >=
        1, and the divergence of order t, K(t)/(t - 1), is at most t epsilon²/8.
    Reference: McSherry and Talwar, FOCS 2007; Dong, Durfee, Rogers, ICML 2020 (bounded range); Cesar and Rogers, ALT
        2021 (rho).
    Checked by: laws::ranked_loss_is_sup_of_log_ratio, laws::ranked_range_is_epsilon, laws::ranked_rho_holds,
        laws::ranked_monotone_needs_one_direction, laws::ranked_common_moves_do_not_count,
        laws::ranked_cuts_do_not_matter, laws::ranked_draws_have_their_law,
        laws::ranked_choices_at_once_have_the_law_of_one, sampling::bands_give_the_exact_mass
    """

    sensitivity: AsFraction = AsFraction()
    epsilon: AsFraction = AsFraction()
    monotone: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", positive(self.sensitivity, "sensitivity"))
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))

    @property
    def rate(self) -> Fraction:
        """What one point of score costs."""
        return self.epsilon / (self.sensitivity if self.monotone else 2 * self.sensitivity)

    @property
    def event(self) -> BoundedRange:
        """One choice, for the accountant."""
        return BoundedRange(self.epsilon)

    def loss(self, distance: Any) -> Loss:
        """What one choice costs if each score moves by at most `distance`."""
        epsilon = self.epsilon * as_distance(distance) / self.sensitivity
        return Loss(epsilon, epsilon * epsilon / 8)

    def release(self, scores: Any, lengths: Any = None, count: int | None = None) -> Any:
        """The index of an entry with a low score, entries of many candidates being likelier; or an array of `count`
        choices, each at its own cost.
        """
        gaps, many = _entries(scores, lengths)
        return sample_banded(self.rate, gaps, many, as_count(count))

    def mass(self, scores: Any, lengths: Any = None) -> list[Real]:
        """The probability of each entry."""
        gaps, many = _entries(scores, lengths)
        sizes = [1] * gaps.size if many is None else many.tolist()
        weights = [size * exp(-self.rate * gap) for size, gap in zip(sizes, gaps.tolist(), strict=True)]
        whole = total(weights)
        return [weight / whole for weight in weights]


def _entries(scores: Any, lengths: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """How far each score is above the best one, and the lengths."""
    values = _at_least(as_integers(scores), 0, "scores must be a list of whole numbers, one or more, each at least 0")
    gaps = values - values.min()
    if lengths is None:
        return gaps, None
    words = "lengths must be a list of whole numbers, one for each score, each at least 1"
    many = _at_least(as_integers(lengths), 1, words)
    if many.size != gaps.size:
        raise InputError(words)
    return gaps, many


def _at_least(values: Any, low: int, words: str) -> NDArray[Any]:
    if isinstance(values, int) or values.ndim != 1 or values.size == 0 or values.min() < low:
        raise InputError(words)
    return np.asarray(values)
