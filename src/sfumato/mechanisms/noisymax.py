"""Choosing one of many by score: the largest after noise, and by how much, for the same price."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.accounting import Pure
from sfumato.errors import InputError
from sfumato.mechanisms.base import as_count, as_distance, as_integers, has_room, pure_loss, with_noise
from sfumato.mechanisms.geometric import Geometric
from sfumato.mechanisms.parameters import AsFraction
from sfumato.reals import Enclosure, Real
from sfumato.sampling import sample_laplace
from sfumato.types import Loss, positive, whole


@dataclass(frozen=True)
class NoisyMax:
    """Add geometric noise to every score and return the index of the largest; the winning margin costs nothing extra.

    Guarantee: if each whole score moves by at most `distance` between neighbours, index and gap together cost
        epsilon = 2 distance / scale, scale = 2 sensitivity / epsilon; with `monotone` scores, distance / scale at half
        the scale.
    Proof: fix the noise of all others. The winner needs a noisy score of at least T: the largest later one, or one
        more than the largest earlier one; the gap is what it has beyond T. Let its score move by a and T by b, each at
        most d in size: moving the winner's noise by b - a, a whole number of size at most 2d, keeps winner and gap. If
        all scores move the same way, |b - a| <= d. The noise pays |b - a|/scale. (The plain distance to the runner-up
        would not do: at distance 0 it also tells that no earlier candidate is level, and costs up to 2 epsilon.)
    Reference: Dwork and Roth 2014, claim 3.9; Ding, Wang, Zhang, Kifer, PVLDB 2019 (the free gap).
    Checked by: laws::loss_is_sup_of_log_ratio, laws::choices_add_up, laws::noisy_max_gap_is_free,
        laws::choices_at_once_have_the_law_of_one, laws::gaps_at_once_are_those_of_one,
        verify::certificates_of_the_library_hold
    """

    sensitivity: AsFraction = AsFraction()
    epsilon: AsFraction = AsFraction()
    monotone: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", positive(self.sensitivity, "sensitivity"))
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))

    @property
    def scale(self) -> Fraction:
        """Noise has the weight e^(-|z|/scale)."""
        return (1 if self.monotone else 2) * self.sensitivity / self.epsilon

    @property
    def event(self) -> Pure:
        """One choice, for the accountant."""
        return Pure(self.epsilon)

    def loss(self, distance: Any) -> Loss:
        """What one choice costs if each score moves by at most `distance`."""
        return pure_loss(self.epsilon * as_distance(distance) / self.sensitivity)

    def release(self, scores: Any, count: int | None = None) -> Any:
        """The index of a candidate with a high score; or an array of `count` choices, each at its own cost."""
        return self.release_with_gap(scores, count)[0]

    def release_with_gap(self, scores: Any, count: int | None = None) -> tuple[Any, Any]:
        """(index, gap): how much lower the noisy winner could have been and still have won; or two arrays, of `count`
        choices, each at its own cost.

        The gap is the distance to the noisy runner-up, less one if that stands before the winner, since of equal ones
        the first wins; 0 where there is one candidate.
        """
        count = as_count(count)
        values = np.tile(_scores(scores), (1 if count is None else count, 1))
        noisy = with_noise(values, lambda n: sample_laplace(self.scale, n))
        if noisy.dtype != object and not has_room(noisy):
            noisy = noisy.astype(object)  # a difference of two might not fit
        every = np.arange(len(noisy))
        index = np.argmax(noisy, axis=1)  # of equal ones the first
        winner = noisy[every, index]
        needed = noisy + (np.arange(noisy.shape[1]) < index[:, None]).astype(np.int64)
        needed[every, index] = noisy.min(axis=1)
        gap = winner - needed.max(axis=1) if noisy.shape[1] > 1 else np.zeros(len(noisy), np.int64)
        return (int(index[0]), int(gap[0])) if count is None else (index, gap)

    def mass(self, output: int, scores: Any) -> Real:
        """The probability of this index: over the winner's noise, the others being below, or level and later."""
        values = [int(s) for s in _scores(scores).tolist()]
        index = whole(output, "output", 0)
        law = Geometric(Fraction(1), 1 / self.scale)
        others = [(values[index] - value) - (1 if i < index else 0) for i, value in enumerate(values) if i != index]

        def enclose(bits: int) -> Enclosure:
            reach = int(7 * bits * self.scale / 10) + 1  # beyond it the noise has mass below 2^-bits, on each side
            low = high = 0
            for z in range(-reach, reach + 1):
                part = law.mass(z)
                for shift in others:
                    part = part * law.cdf(shift + z)
                ends = part.enclose(bits)
                low, high = low + ends[0], high + ends[1]
            return low, high + 2

        return Real(enclose)


def _scores(scores: Any) -> Any:
    numbers = as_integers(scores)
    if isinstance(numbers, int) or numbers.ndim != 1 or numbers.size == 0:
        raise InputError("scores must be a list of at least one whole number")
    return numbers
