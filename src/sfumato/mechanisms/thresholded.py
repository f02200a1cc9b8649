"""Counts of keys that nobody declared: one noise on each count, and a key is shown where its noisy count is large."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sfumato.accounting import Selection
from sfumato.errors import InputError
from sfumato.mechanisms.base import as_confidence, as_distance, as_integers, least
from sfumato.mechanisms.geometric import Geometric
from sfumato.mechanisms.parameters import AsAdjacency, AsFraction, AsWhole
from sfumato.reals import Real, ceil, exp
from sfumato.types import Adjacency, Loss, positive, probability, whole

_SLACK = 1e-9
"""Ends of intervals are computed in doubles, and moved outward by this part of the scale and one step."""


@dataclass(frozen=True)
class ThresholdedCounts:
    """Add geometric noise to the count of every key that somebody has; release a key, with its noisy count, if that
    reaches a threshold.

    Guarantee: if one person is under at most keys_per_unit keys, adds at most `norm` to their counts together and takes
        nothing from any, all keys and counts shown cost (epsilon, delta); a key of nobody is never shown.
    Proof: let r be the ratio of the noise, of scale norm/epsilon (twice that under replace). Keys that others have too
        are on both sides, and showing a noisy number or not is post-processing: they cost at most epsilon together.
        Keys that are this person's alone are on one side. As P(Z >= t) = r^t/(1+r) for t >= 0 is convex, and those
        counts add up to at most norm, the chance that any of them is shown is at most r^T (r^-norm + keys_per_unit -
        1)/(1+r), which is at most delta; under replace at most delta/2 on each side. But for that chance both sides
        show the same keys by laws within e^epsilon: P(S) <= min(1, e^epsilon p) + x and P'(S) >= (1 - y) p, where x +
        y <= delta, so that P(S) <= e^epsilon P'(S) + delta.
    Reference: Korolova, Kenthapadi, Mishra, Ntoulas, WWW 2009; Wilson and others, PoPETs 2020; decision 026.
    Checked by: laws::shown_counts_are_private, laws::one_persons_keys_are_rarely_shown,
        laws::intervals_of_shown_counts_hold_given_that_they_are_shown
    """

    norm: AsFraction = AsFraction()
    epsilon: AsFraction = AsFraction()
    delta: AsFraction = AsFraction()
    keys_per_unit: AsWhole = AsWhole(1)
    adjacency: AsAdjacency = AsAdjacency(Adjacency.ADD_REMOVE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "norm", positive(self.norm, "norm"))
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", probability(self.delta, "delta"))
        object.__setattr__(self, "keys_per_unit", whole(self.keys_per_unit, "keys_per_unit", 1))
        object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))

    @cached_property
    def noise(self) -> Geometric:
        """The noise on each count."""
        return Geometric(self.adjacency.sensitivity_l1(self.norm, nonnegative=True), self.epsilon)

    @property
    def scale(self) -> Fraction:
        """Noise has the weight e^(-|z|/scale)."""
        return self.noise.scale

    @cached_property
    def threshold(self) -> int:
        """The least count that is shown; counted from the norm on, below which the tail has another form.

        Both sides of the condition are divided by e^(norm/scale), which no memory holds for a large epsilon.
        """
        scale, sides = self.scale, 2 if self.adjacency is Adjacency.REPLACE else 1
        most = (1 + exp(-self.norm / scale) * (self.keys_per_unit - 1)) * sides
        allowed = (1 + exp(-1 / scale)) * self.delta
        first = ceil(self.norm)
        near = float(scale) * (math.log(float(most)) - math.log(2) - math.log(float(self.delta))) + float(self.norm)
        return first + least(
            lambda t: exp((self.norm - first - t) / scale) * most <= allowed, max(0, int(near) - first)
        )

    @property
    def event(self) -> Selection:
        """One release, for the accountant."""
        return Selection(self.epsilon, self.delta)

    def loss(self, distance: Any) -> Loss:
        """What one release costs for one person (distance 1), or for nobody (distance 0)."""
        people = as_distance(distance)
        if people > 1:
            raise InputError("a selection is priced for one person", hint="Use accounting.group for several people.")
        return Loss(self.epsilon, self.epsilon**2 / 2, self.delta) if people else Loss(Fraction(0), Fraction(0))

    def release(self, counts: Any) -> list[int | None]:
        """For the count of each key that somebody has, the noisy count, or None where the key is not shown."""
        exact = as_integers(counts)
        if isinstance(exact, int) or exact.ndim != 1:
            raise InputError("give the count of each key, as a list")
        if exact.size and int(exact.min()) < 0:
            raise InputError("a count is at least 0")
        noisy: list[int] = self.noise.release(exact).tolist()
        return [number if number >= self.threshold else None for number in noisy]

    def mass(self, count: int) -> Real:
        """The probability that a key with this count is shown."""
        return 1 - self.noise.cdf(self.threshold - whole(count, "count", 0) - 1)

    def interval(self, shown: int, confidence: Any = Fraction(95, 100)) -> tuple[int, int]:
        """An interval for the count of a key that is shown with this number.

        Guarantee: whatever the count is, given that its key is shown, the interval holds it with at least this
            probability.
        Proof: a count c is left out below where P(c + Z >= shown | c + Z >= threshold) is at most half of the misses,
            and above where P(c + Z <= shown | …) is; each happens with at most that probability. Both grow or fall with
            c, for the law is log-concave. Up to the threshold the first is r^(shown - threshold), the same for all c:
            there the lower end is 0. The shown number is added where the second leaves out even that.
        Reference: test inversion; Karlin (monotone likelihood ratios).
        Checked by: laws::intervals_of_shown_counts_hold_given_that_they_are_shown
        """
        half = float(1 - as_confidence(confidence)) / 2
        scale, above = float(self.scale), whole(shown, "shown") - self.threshold
        if above < 0:
            raise InputError("a key with this number is not shown")
        ratio = math.exp(-1 / scale)
        low = 0
        if above >= -math.log(half) * scale * (1 - _SLACK):
            low = max(0, self.threshold + math.floor(self._below(above, half, ratio) - _SLACK * scale) - 1)
        high = shown + math.ceil(self._beyond(above, half, ratio) + _SLACK * scale) + 1
        return low, high

    def _below(self, above: int, half: float, ratio: float) -> float:
        """Counts up to so far beyond the threshold are left out: the number is too large for them."""
        scale, low, high = float(self.scale), 0.0, float(above)
        for _ in range(80):
            c = (low + high) / 2
            here = math.exp(-(above - c) / scale) / (1 + ratio - math.exp(-(1 + c) / scale))
            low, high = (c, high) if here <= half else (low, c)
        return low

    def _beyond(self, above: int, half: float, ratio: float) -> float:
        """Counts from so far beyond the number on are left out: it is too small for them."""
        scale, low, high = float(self.scale), 0.0, float(self.scale) * (2 - math.log(half)) + 2
        below = -math.expm1(-(above + 1) / scale)
        for _ in range(80):
            c = (low + high) / 2
            here = math.exp(-c / scale) * below / (1 + ratio - math.exp(-(1 + above + c) / scale))
            low, high = (c, high) if here > half else (low, c)
        return high
