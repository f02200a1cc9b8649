"""Which keys may be shown: selection by the number of different people behind each."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import GaussianSelection, Selection
from sfumato.errors import InputError
from sfumato.mechanisms.base import as_distance, as_integers, least
from sfumato.mechanisms.parameters import AsAdjacency, AsFraction, AsWhole
from sfumato.mechanisms.tails import gaussian_tail
from sfumato.reals import Real, as_real, ceil, exp, ln
from sfumato.sampling import choice_table, sample_gaussian, source
from sfumato.types import Adjacency, Loss, positive, probability, whole

_ENOUGH = Fraction(100)


@dataclass(frozen=True)
class KeySelection:
    """Release a key with the largest probability that its number of people allows.

    Guarantee: if one person is counted under at most keys_per_unit keys, the set of keys shown costs (epsilon, delta);
        a key of nobody is never shown.
    Proof: let e and d be epsilon and delta over the number of keys that one person can touch (twice keys_per_unit under
        replace). The chance p(n) to show a key of n people is the largest with p(0) = 0, p(n) <= e^e p(n-1) + d and
        1 - p(n-1) <= e^e (1 - p(n)) + d, so each key is (e, d)-private, whichever side the person is on; the keys are
        chosen independently, and the parts add up. An (e, d)-private choice is with probability 1 - d a choice that is
        e-private: this is what the accountant charges.
    Reference: Desfontaines, Voss, Gipson, Mandayam, PoPETs 2022; Murtagh and Vadhan, TCC 2016 (the decomposition).
    Checked by: laws::selection_keeps_each_key_private, laws::selection_is_optimal,
        laws::selection_has_the_stated_frequencies
    """

    epsilon: AsFraction = AsFraction()
    delta: AsFraction = AsFraction()
    keys_per_unit: AsWhole = AsWhole(1)
    adjacency: AsAdjacency = AsAdjacency(Adjacency.ADD_REMOVE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", probability(self.delta, "delta"))
        object.__setattr__(self, "keys_per_unit", whole(self.keys_per_unit, "keys_per_unit", 1))
        object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))

    @property
    def per_key(self) -> tuple[Fraction, Fraction]:
        """(e, d) of one key; an epsilon beyond 100 would change no coin that anybody could tell from certainty."""
        touched = self.adjacency.keys(self.keys_per_unit)
        return min(self.epsilon / touched, _ENOUGH), self.delta / touched

    @property
    def event(self) -> Selection:
        """One selection, for the accountant."""
        return Selection(self.epsilon, self.delta)

    def loss(self, distance: Any) -> Loss:
        """What one selection costs for one person (distance 1), or for nobody (distance 0)."""
        people = as_distance(distance)
        if people > 1:
            raise InputError("a selection is priced for one person", hint="Use accounting.group for several people.")
        return Loss(self.epsilon, self.epsilon**2 / 2, self.delta) if people else Loss(Fraction(0), Fraction(0))

    @cached_property
    def turn(self) -> int:
        """The n up to which p(n) = e^e p(n-1) + d; from there on the second bound is the smaller one.

        The first bound is the smaller as long as p(n-1) <= (1 - d)/(e^e + 1), and p(n-1) = d (e^((n-1)e) - 1)/(e^e -
        1).
        """
        e, d = self.per_key
        grown = exp(e)
        return ceil(ln((grown - (1 - 2 * d)) / (d * (grown + 1))) / e)  # floor + 1: never a whole number

    @cached_property
    def certain(self) -> int:
        """The least n that is surely shown.

        Nothing is hidden at b beyond the turn t if e^e - 1 <= d (e^(te) + e^(be) - 2). As e^e is transcendental the two
        are equal only as polynomials: for t = b = 1 and d = 1/2. From d = 1/2 on two people are surely shown.
        """
        if self.per_key[1] >= Fraction(1, 2):
            return 2
        return self.turn + least(lambda beyond: not self._hidden(beyond) > 0, self.turn)

    @property
    def half(self) -> int:
        """The number of people from which on a key is shown with probability above one half.

        It is the turn or the next number: p(t - 1) <= (1 - d)/(e^e + 1) is below one half, and p(t + 1) is above.
        """
        half, d = Fraction(1, 2), self.per_key[1]
        if d >= half:  # p(1) = d
            return 1 if d > half else 2
        return self.turn if self.mass(self.turn) > half else self.turn + 1

    def _rising(self, n: int) -> Real:
        e, d = self.per_key
        return d * (exp(n * e) - 1) / (exp(e) - 1)

    def _hidden(self, beyond: int) -> Real:
        """What the second bound leaves hidden so many people beyond the turn, if it is above zero."""
        e, d = self.per_key
        shrunk = exp(-beyond * e)
        return shrunk * (1 - self._rising(self.turn)) - d * (1 - shrunk) / (exp(e) - 1)

    def mass(self, people: int) -> Real:
        """The probability that a key of this many people is shown."""
        n = whole(people, "people", 0)
        if n == 0:
            return as_real(0)
        if n <= self.turn:
            return self._rising(n)
        return 1 - self._hidden(n - self.turn) if n < self.certain else as_real(1)

    def release(self, people: Any) -> NDArray[np.bool_]:
        """For each key's number of people, whether the key is shown."""
        counts = _counts(people)
        shown = counts >= self.certain
        distinct, place, sizes = np.unique(counts[~shown], return_inverse=True, return_counts=True)
        members, bits = np.flatnonzero(~shown)[np.argsort(place, kind="stable")], source()
        for n, some in zip(distinct.tolist(), np.split(members, np.cumsum(sizes)[:-1]), strict=False):
            shown[some] = _coin(self, n).draws(bits, some.size)[0] == 0
        return shown


@lru_cache(maxsize=4096)
def _coin(law: KeySelection, people: int) -> Any:
    chance = law.mass(people)
    return choice_table([chance, 1 - chance])


def _counts(people: Any) -> NDArray[Any]:
    counts = as_integers(people)
    if isinstance(counts, int) or counts.ndim != 1:
        raise InputError("give the number of people of each key, as a list")
    if counts.size and int(counts.min()) < 0:
        raise InputError("a number of people is at least 0")
    return np.asarray(counts)


@dataclass(frozen=True)
class GaussianKeySelection:
    """Release a key if its number of people plus discrete Gaussian noise reaches a threshold.

    Guarantee: if one person is counted under at most keys_per_unit keys, the set of keys shown is rho-zCDP but for an
        event of probability delta; a key of nobody is never shown.
    Proof: let K be the number of keys that one person can touch (twice keys_per_unit under replace). Among keys that
        have somebody on both sides at most K counts differ, by one: K/(2 sigma²) = rho. A key that has somebody on one
        side only has that person alone, and is shown with probability P(1 + Z >= threshold) <= delta/K by the discrete
        law, ties included; given that none of the at most K such keys is shown, both sides choose among the same keys.
    Reference: Wilson and others, PoPETs 2020; Swanberg, Desfontaines, Haney, PoPETs 2023 (the Gaussian form).
    Checked by: laws::gaussian_selection_hides_one_person, laws::gaussian_selection_is_within_rho,
        laws::selection_has_the_stated_frequencies
    """

    rho: AsFraction = AsFraction()
    delta: AsFraction = AsFraction()
    keys_per_unit: AsWhole = AsWhole(1)
    adjacency: AsAdjacency = AsAdjacency(Adjacency.ADD_REMOVE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive(self.rho, "rho"))
        object.__setattr__(self, "delta", probability(self.delta, "delta"))
        object.__setattr__(self, "keys_per_unit", whole(self.keys_per_unit, "keys_per_unit", 1))
        object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))

    @property
    def variance(self) -> Fraction:
        """sigma² of the noise on each count."""
        return self.adjacency.keys(self.keys_per_unit) / (2 * self.rho)

    @cached_property
    def threshold(self) -> int:
        """The least whole number that one person alone reaches with probability at most delta/K."""
        allowed = self.delta / self.adjacency.keys(self.keys_per_unit)
        guess = int((2 * float(self.variance) * 20) ** 0.5)
        return 1 + least(lambda t: gaussian_tail(self.variance, t) <= allowed, guess)

    @property
    def half(self) -> int:
        """The number of people from which on a key is shown with probability above one half."""
        return self.threshold

    @property
    def event(self) -> GaussianSelection:
        """One selection, for the accountant."""
        return GaussianSelection(self.rho, self.delta)

    def loss(self, distance: Any) -> Loss:
        """What one selection costs for one person (distance 1), or for nobody (distance 0)."""
        people = as_distance(distance)
        if people > 1:
            raise InputError("a selection is priced for one person", hint="Use accounting.group for several people.")
        return Loss(None, self.rho, self.delta) if people else Loss(Fraction(0), Fraction(0))

    def mass(self, people: int) -> Real:
        """The probability that a key of this many people is shown."""
        n = whole(people, "people", 0)
        return gaussian_tail(self.variance, self.threshold - n) if n else as_real(0)

    def release(self, people: Any) -> NDArray[np.bool_]:
        """For each key's number of people, whether the key is shown."""
        counts = _counts(people)
        noise = sample_gaussian(self.variance, counts.size)
        shown = np.asarray(counts.astype(object) + noise.astype(object) >= self.threshold, bool)
        shown[counts == 0] = False
        return shown
