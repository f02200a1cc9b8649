"""Design: how far two laws, two databases or two records are from each other, exactly.

Comes in: laws as values with fractions that sum to 1; databases as lists of records. Goes out: the statistical distance
and its skewed version, the pure distance (the privacy loss), L1 and Hamming distance, each with what attains it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from sfumato.errors import InputError
from sfumato.reals import Real, exp, ln
from sfumato.types import as_written, show

Value = TypeVar("Value", bound=Hashable)
Law = Mapping[Value, Fraction]


@dataclass(frozen=True, slots=True)
class Skew(Generic[Value]):
    """The skewed distance of two laws: event, its chance under both, and the factor e^epsilon of the second."""

    event: frozenset[Value]
    chance: Fraction
    other: Fraction
    factor: Fraction | Real
    swapped: bool
    """Whether `sampling` is that of the second law."""

    @property
    def value(self) -> Fraction | Real:
        """chance - factor * other: a fraction if the factor is one."""
        if isinstance(self.factor, Real):
            return self.chance - self.factor * self.other if self.other else self.chance
        return self.chance - self.factor * self.other

    def is_at_most(self, delta: Fraction) -> bool:
        """Whether the laws are (epsilon, delta)-indistinguishable: decided, not rounded."""
        gap = self.chance - delta
        return gap <= 0 if self.other == 0 else _reaches(self.factor, gap / self.other)


@dataclass(frozen=True, slots=True)
class PureDistance(Generic[Value]):
    """The pure distance of two laws: the value whose chances are furthest apart; `ratio` None if one of them is 0."""

    at: Value
    chance: Fraction
    other: Fraction
    ratio: Fraction | None
    swapped: bool

    @property
    def nats(self) -> Real | None:
        """ln of the ratio; None if it is infinite."""
        return None if self.ratio is None else ln(self.ratio)


def check_law(law: Law[Value], what: str = "law") -> None:
    """Raise InputError unless these are chances that sum to 1."""
    for value, chance in law.items():
        if not isinstance(chance, int | Fraction) or chance < 0:
            raise InputError(f"{what} must have chances from 0 as fractions, but {value!r} has {chance!r}")
    total = sum(law.values(), Fraction(0))
    if total != 1:
        raise InputError(f"{what} must sum to 1, but sums to {show(total)}")


def factor_of(epsilon: object) -> Fraction | Real:
    """e^epsilon, for a number from 0 or a text `ln r`: a fraction where it is one.

    >>> factor_of("ln 3"), factor_of(0)
    (Fraction(3, 1), Fraction(1, 1))
    """
    text = epsilon.strip() if isinstance(epsilon, str) else ""
    if text.startswith("ln"):
        ratio = as_written(text[2:].strip().removeprefix("(").removesuffix(")"), "ln")
        if ratio < 1:
            raise InputError(f"epsilon must be at least 0, but is ln {show(ratio)}")
        return ratio
    number = as_written(epsilon, "epsilon")
    if number < 0:
        raise InputError(f"epsilon must be at least 0, but is {show(number)}")
    return exp(number) if number else Fraction(1)


def _reaches(factor: Fraction | Real, bound: Fraction) -> bool:
    """factor >= bound. A factor e^epsilon with a rational epsilon above 0 is never rational: no ties are left open."""
    return factor >= bound


def skewed_from(one: Law[Value], two: Law[Value], epsilon: object = 0) -> Skew[Value]:
    """The greatest one(E) - e^epsilon two(E), over all events E, in this direction alone.

    Guarantee: no event has a greater difference, and `event` attains it.
    Proof: one(E) - e^epsilon two(E) is a sum over the values of E of one(v) - e^epsilon two(v); it is greatest for the
        E of exactly the values where that is above 0. Each sign is decided on fractions, or, for an irrational
        e^epsilon, by enclosures that exclude 0; a tie would make e^epsilon rational.
    Reference: Barthe, Köpf, Olmedo, Zanella, "Probabilistic relational reasoning for differential privacy", 2012.
    Checked by: design::the_skewed_distance_is_the_greatest_over_all_events
    """
    check_law(one, "first law")
    check_law(two, "second law")
    return _skew(one, two, factor_of(epsilon), swapped=False)


def _skew(one: Law[Value], two: Law[Value], factor: Fraction | Real, *, swapped: bool) -> Skew[Value]:
    zero = Fraction(0)
    event = frozenset(
        value
        for value, chance in one.items()
        if chance and (not two.get(value, zero) or not _reaches(factor, Fraction(chance) / two[value]))
    )
    chance = sum((Fraction(one[value]) for value in event), zero)
    return Skew(event, chance, sum((Fraction(two.get(v, zero)) for v in event), zero), factor, swapped)


def skewed_distance(one: Law[Value], two: Law[Value], epsilon: object = 0) -> Skew[Value]:
    """The epsilon-distance of two laws: the greater of both directions. With epsilon 0, the statistical distance.

    Guarantee: two laws are (epsilon, delta)-indistinguishable if and only if this is at most delta.
    Proof: the definition is the greatest, over events and both directions; each direction by `skewed_from`.
    Reference: the course's lecture on relational verification: the skewed version of the statistical distance.
    Checked by: design::the_skewed_distance_is_the_greatest_over_all_events,
        design::the_statistical_distance_is_half_of_l1
    """
    first = skewed_from(one, two, epsilon)
    second = _skew(two, one, first.factor, swapped=True)
    ahead, weight = first.chance - second.chance, first.other - second.other
    if weight == 0:
        return first if ahead >= 0 else second
    above = _reaches(first.factor, ahead / weight)  # the first is greater where ahead > factor * weight
    return first if above == (weight < 0) else second


def pure_distance(one: Law[Value], two: Law[Value]) -> PureDistance[Value]:
    """The privacy loss of two laws: the greatest |ln one(v)/two(v)|, infinite where only one of them is 0.

    Guarantee: the laws are epsilon-indistinguishable if and only if e^epsilon >= ratio.
    Proof: a ratio of chances of events is a mean of ratios of values, so it is greatest at a value.
    Reference: Dwork, McSherry, Nissim, Smith, "Calibrating noise to sensitivity in private data analysis", 2006.
    Checked by: design::the_pure_distance_is_where_the_skewed_one_ends
    """
    check_law(one, "first law")
    check_law(two, "second law")
    best: PureDistance[Value] | None = None
    for swapped, (first, second) in enumerate(((one, two), (two, one))):
        for value, chance in first.items():
            other = Fraction(second.get(value, Fraction(0)))
            if not chance:
                continue
            ratio = Fraction(chance) / other if other else None
            found = PureDistance(value, Fraction(chance), other, ratio, bool(swapped))
            if ratio is None:
                return found
            if best is None or best.ratio is None or ratio > best.ratio:
                best = found
    assert best is not None  # a law that sums to 1 has a value
    return best


# ---- databases


def histogram(records: Iterable[Value]) -> dict[Value, int]:
    """A database as the lectures write it: how many records there are of each kind.

    >>> histogram(["a", "b", "a"])
    {'a': 2, 'b': 1}
    """
    return dict(Counter(records))


def l1_distance(one: Mapping[Value, int], two: Mapping[Value, int]) -> int:
    """The L1 distance of two histograms: how many records must be added or removed to make one of the other.

    >>> l1_distance(histogram("aab"), histogram("abc"))
    2
    """
    return sum(abs(one.get(kind, 0) - two.get(kind, 0)) for kind in {**one, **two})


def hamming_distance(one: Sequence[Value], two: Sequence[Value]) -> int:
    """In how many places two databases of the same size differ.

    >>> hamming_distance("aab", "abc")
    2
    """
    if len(one) != len(two):
        raise InputError(f"the Hamming distance needs equal sizes, but they are {len(one)} and {len(two)}")
    return sum(a != b for a, b in zip(one, two, strict=True))
