"""Randomized response: each person tells the truth with a stated probability, and otherwise anything else."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.accounting import Pure
from sfumato.errors import InputError
from sfumato.mechanisms.base import as_distance, as_integers, narrow, pure_loss
from sfumato.mechanisms.channel import Channel
from sfumato.mechanisms.parameters import AsFraction, AsWhole
from sfumato.reals import Real, as_real, exp, ln, round_up
from sfumato.sampling import CutTable, choice_table, sample_uniform, source
from sfumato.types import Loss, positive, probability, show, whole


@dataclass(frozen=True)
class RandomizedResponse:
    """Return the true one of `size` values with probability e^epsilon / (e^epsilon + size - 1), otherwise one of the
    others.

    Guarantee: any two true values cost epsilon: it is epsilon-private for each person, before anything leaves their
        hands.
    Proof: the largest ratio of two entries of a column is (truth)/((1 - truth)/(size - 1)) = e^epsilon.
    Reference: Warner 1965; Kairouz, Oh, Viswanath, JMLR 2016 (k-ary).
    Checked by: laws::loss_is_sup_of_log_ratio, laws::response_of_three_quarters_is_ln_3,
        laws::channel_rows_are_sampled, laws::truncated_mass_adds_up, verify::certificates_of_the_library_hold
    """

    epsilon: AsFraction = AsFraction()
    size: AsWhole = AsWhole(2)
    truth: Fraction | Real = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        object.__setattr__(self, "size", whole(self.size, "size", 2))
        odds = exp(self.epsilon)
        object.__setattr__(self, "truth", odds / (odds + (self.size - 1)))

    @classmethod
    def telling_truth(cls, chance: Any, size: int = 2) -> RandomizedResponse:
        """From the probability of the truth: 3/4 of two values is epsilon = ln 3, rounded up."""
        truth, values = probability(chance, "truth"), whole(size, "size", 2)
        odds = truth * (values - 1) / (1 - truth)
        if odds <= 1:
            raise InputError(
                "the truth must be likelier than any other answer",
                detail=f"It has probability {show(truth)} among {values} values.",
                hint=f"Take more than 1/{values}.",
            )
        made = cls(round_up(ln(odds)), values)
        object.__setattr__(made, "truth", truth)  # the very fraction; epsilon is its price, rounded up
        return made

    @property
    def event(self) -> Pure:
        """One answer, for the accountant."""
        return Pure(self.epsilon)

    def loss(self, distance: Any) -> Loss:
        """What one answer costs: epsilon for any two different values, nothing for equal ones."""
        return pure_loss(self.epsilon if as_distance(distance) else Fraction(0))

    @cached_property
    def _coin(self) -> CutTable:
        return choice_table([self.truth, 1 - self.truth])

    def release(self, value: Any) -> Any:
        """A noisy index below size, or an array of them."""
        values = as_integers(value)
        if isinstance(values, int):
            return int(self.release(as_integers([values]))[0])
        if values.size and not (int(values.min()) >= 0 and int(values.max()) < self.size):
            raise InputError(f"a value is a whole number from 0 to {self.size - 1}")
        lies = (self._coin.draws(source(), values.size)[0] == 1).reshape(values.shape)
        others = sample_uniform(self.size - 1, values.size).reshape(values.shape)  # one less than the shift
        if self.size > 1 << 63:
            values, others = values.astype(object), others.astype(object)
        # values + others + 1 modulo size, without a number beyond size on the way
        left = self.size - 2 - others
        shifted = np.where(values > left, values - left - 1, values + others + 1)
        return narrow(np.where(lies, shifted, values)) if self.size > 1 << 63 else np.where(lies, shifted, values)

    def mass(self, output: int, value: int) -> Real:
        """The probability of this answer for this value."""
        if whole(output, "output", 0) >= self.size or whole(value, "value", 0) >= self.size:
            return as_real(0)
        return as_real(self.truth if output == value else (1 - self.truth) / (self.size - 1))

    def channel(self) -> Channel:
        """The matrix, the rows being true values and the columns answers."""
        other = (1 - self.truth) / (self.size - 1)
        return Channel([[self.truth if x == y else other for y in range(self.size)] for x in range(self.size)])
