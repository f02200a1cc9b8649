"""Smallest, largest, median, percentiles and mode: which candidate to choose, by ranks that rows have.

Rows stand at whole places between `low` and `high`, with weights; every whole number there is a candidate. Between two
places that rows have, all candidates are equally good: they are one entry of a RankedChoice, however many they are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from sfumato.accounting import BoundedRange
from sfumato.errors import InputError
from sfumato.mechanisms.base import as_confidence, as_count, as_distance, as_integers
from sfumato.mechanisms.inputs import narrowed
from sfumato.mechanisms.parameters import AsAdjacency, AsFraction, MaybeFraction
from sfumato.mechanisms.ranked import RankedChoice
from sfumato.reals import Real, ceil, ln
from sfumato.sampling import sample_uniform
from sfumato.types import Adjacency, Exact, Loss, as_written, positive, whole

Stretch = tuple[int, int, Real]
"""Candidates that are equally likely: the first of them, how many, and the probability of all of them together."""

MISS = Fraction(1, 10_000)
"""How likely MIN may be a candidate below all rows, where there are enough rows."""


@dataclass(frozen=True)
class OrderStatistic:
    """Choose a candidate with about a given fraction of the weight below it, or about a given weight from one end.

    `fraction` q asks for a q-quantile. `fraction` None asks for the smallest (`from_end` "low") or largest ("high")
    value: the candidate that as much weight reaches as the noise needs to tell it from an empty one. Where there is
    less, it is likely the outermost candidate on the other side, which says nothing: no value is below the smallest.

    Guarantee: if the weights of one person's rows add up to at most `norm`, one choice costs epsilon (range epsilon).
        Of an end: but for one chance in ten thousand, whatever the rows are, there is a row at the candidate that is
        chosen or further out, or the candidate says nothing.
    Proof: with L, E, G the weight below, at and above a candidate and N their sum, the score of a q-quantile is max(0,
        L - qN, G - (1-q)N). A person of weight c adds to L - qN a number in [-qc, (1-q)c], and to G - (1-q)N one in
        [-(1-q)c, qc]; so no score moves by more than max(q, 1-q) norm. Where the person's rows change, the two numbers
        move by the difference of two such, which is at most norm in size. From an end, with a constant t, it is max(0,
        L - t + 1, t - L - E): L and L + E move by at most norm, upward when she comes, and either way under replace.
        The candidate that says nothing has it without the last part: so some candidate always has the score 0, and all
        candidates with no row at them or further out, whose score is t, have at most candidates e^(-rate t) together.
        Scores are multiplied by the denominators to be whole. The rest is the guarantee of RankedChoice, the candidate
        being drawn uniformly from its entry.
    Reference: Smith, STOC 2011 (quantiles by the exponential mechanism).
    Checked by: laws::no_score_of_a_rank_moves_by_more_than_the_claim, unit::order_statistics_find_what_is_there,
        laws::an_end_has_a_row_or_says_nothing
    """

    fraction: MaybeFraction = MaybeFraction()
    norm: AsFraction = AsFraction()
    epsilon: AsFraction = AsFraction()
    adjacency: AsAdjacency = AsAdjacency(Adjacency.ADD_REMOVE)
    from_end: str = "low"

    def __post_init__(self) -> None:
        if self.fraction is not None:
            object.__setattr__(self, "fraction", as_written(self.fraction, "fraction"))
            if not 0 <= self.fraction <= 1:
                raise InputError("a fraction is from 0 to 1")
        if self.from_end not in ("low", "high"):
            raise InputError(f'from_end must be "low" or "high", but is {self.from_end!r}')
        object.__setattr__(self, "norm", positive(self.norm, "norm"))
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))

    @property
    def event(self) -> BoundedRange:
        """One choice, for the accountant."""
        return BoundedRange(self.epsilon)

    @property
    def sensitivity(self) -> Fraction:
        """How far one person can move a score."""
        q = self.fraction
        if q is None or self.adjacency is Adjacency.REPLACE:
            return self.norm
        return max(q, 1 - q) * self.norm

    def reach(self, candidates: int) -> int:
        """The weight that an end must have: rarely does noise find so much where nothing is."""
        odds = ln(Fraction(max(candidates, 2)) / MISS)
        return max(1, ceil(odds * (2 * self.norm / self.epsilon)))

    def rank_error(self, candidates: int, confidence: Any = Fraction(95, 100)) -> int:
        """The weight by which the rank of what is chosen is off at most, with this probability.

        Guarantee: of a quantile: no more than q N + error of the weight lies below what is chosen, and no less than q N
            - error at or below it. Of an end: so with `reach` and the weight from that end, where there is so much.
        Proof: with enough weight some candidate has the score 0, and so a share of at least one; those with a score
            above t have at most candidates e^(-rate t) together. At t = ln(candidates/misses)/rate that is the misses.
        Reference: McSherry and Talwar, FOCS 2007.
        Checked by: laws::ranks_are_off_by_no_more_than_is_said
        """
        odds = ln(Fraction(max(candidates, 2)) / (1 - as_confidence(confidence)))
        return ceil(odds * (2 * self.sensitivity / self.epsilon))

    def scores(self, below: list[int], at: list[int], candidates: int) -> list[int]:
        """The score of each entry, given the weight below it and at it; multiplied by the denominator of q."""
        if self.fraction is None:
            return self._from_end(below, at, candidates)
        a, b = self.fraction.numerator, self.fraction.denominator
        whole = below[-1] + at[-1]
        return [max(0, b * x - a * whole, a * whole - b * (x + e)) for x, e in zip(below, at, strict=True)]

    def _from_end(self, below: list[int], at: list[int], candidates: int) -> list[int]:
        reach, whole, beyond, nothing = self.reach(candidates), below[-1] + at[-1], below, -1
        if self.from_end == "high":
            beyond, nothing = [whole - x - e for x, e in zip(below, at, strict=True)], 0
        found = [max(0, x - reach + 1, reach - x - e) for x, e in zip(beyond, at, strict=True)]
        found[nothing] = max(0, beyond[nothing] - reach + 1)  # this one is never wrong
        return found

    def loss(self, distance: Any) -> Loss:
        """What one choice costs if the weights of one person's rows add up to at most `distance`."""
        epsilon = self.epsilon * as_distance(distance) / self.norm
        return Loss(epsilon, epsilon * epsilon / 8)

    def release(self, places: Any, weights: Any, low: Any, high: Any, count: int | None = None) -> Any:
        """The chosen candidate; `places` are different and increasing, with the weight of the rows at each. Or an array
        of `count` choices, each at its own cost.
        """
        entries, scores = self._ranked(*checked_rows(places, weights, low, high))
        chosen = self._choice.release(Exact(scores), [n for _, n in entries], _times(count))
        return _listed([entries[i][0] + sample_uniform(entries[i][1]) for i in chosen.tolist()], count)

    def mass(self, places: list[int], weights: list[int], low: int, high: int) -> list[Stretch]:
        """The law of what is chosen: stretches of candidates that are equally likely, from low to high.

        It tells the weights: so they are plain numbers, which no row has a part in, and never sealed ones.
        """
        entries, scores = self._ranked(places, weights, low, high)
        masses = self._choice.mass(scores, [n for _, n in entries])
        return [(first, count, mass) for (first, count), mass in zip(entries, masses, strict=True)]

    @property
    def _choice(self) -> RankedChoice:
        scale = 1 if self.fraction is None else self.fraction.denominator
        return RankedChoice(self.sensitivity * scale, self.epsilon)

    def _ranked(
        self, places: list[int], weights: list[int], low: int, high: int
    ) -> tuple[list[tuple[int, int]], list[int]]:
        """Stretches of candidates, and the score of each; the candidate that says nothing is a stretch of its own."""
        entries, below, at = _entries(places, weights, low, high)
        side = -1 if self.from_end == "low" else 0
        if self.fraction is None and entries[side][1] > 1:
            first, count = entries[side]
            entries[side:] = [(first, count - 1), (high, 1)] if side else [(low, 1), (low + 1, count - 1), *entries[1:]]
            below.insert(side % len(below), below[side])
            at.insert(side % len(at), at[side])
        return entries, self.scores(below, at, high - low + 1)


@dataclass(frozen=True)
class MostFrequent:
    """Choose a candidate with a large weight.

    Guarantee: if the weights of one person's rows add up to at most `norm`, one choice costs epsilon (range epsilon).
    Proof: the score is the largest weight less a candidate's own, and what is the same for all candidates changes
        nothing. A person's rows only add to weights, so all move the same way by at most norm, and half the noise is
        enough; under replace each moves by at most norm either way.
    Reference: McSherry and Talwar, FOCS 2007.
    Checked by: laws::no_score_of_a_rank_moves_by_more_than_the_claim, unit::order_statistics_find_what_is_there
    """

    norm: AsFraction = AsFraction()
    epsilon: AsFraction = AsFraction()
    adjacency: AsAdjacency = AsAdjacency(Adjacency.ADD_REMOVE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "norm", positive(self.norm, "norm"))
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))

    @property
    def event(self) -> BoundedRange:
        """One choice, for the accountant."""
        return BoundedRange(self.epsilon)

    def rank_error(self, candidates: int, confidence: Any = Fraction(95, 100)) -> int:
        """The weight by which another value may have more than the chosen one, at most, with this probability.

        Guarantee and proof as of an OrderStatistic: the score is what a candidate has less than the most.
        """
        odds = ln(Fraction(max(candidates, 2)) / (1 - as_confidence(confidence)))
        return ceil(odds / self._choice.rate)

    def loss(self, distance: Any) -> Loss:
        """What one choice costs if the weights of one person's rows add up to at most `distance`."""
        epsilon = self.epsilon * as_distance(distance) / self.norm
        return Loss(epsilon, epsilon * epsilon / 8)

    def release(self, places: Any, weights: Any, low: Any, high: Any, count: int | None = None) -> Any:
        """The chosen candidate, or an array of `count` choices, each at its own cost; as of an OrderStatistic."""
        at, held, first, last = checked_rows(places, weights, low, high)
        scores, lengths = _frequent(held, last - first + 1)
        chosen = self._choice.release(Exact(scores), lengths, _times(count))
        return _listed(
            [at[i] if i < len(at) else _missing(at, first, sample_uniform(lengths[-1])) for i in chosen.tolist()], count
        )

    def mass(self, places: list[int], weights: list[int], low: int, high: int) -> list[Stretch]:
        """The law of what is chosen, as that of an OrderStatistic: of plain numbers, never of sealed ones."""
        entries, _, _ = _entries(places, weights, low, high)
        scores, lengths = _frequent(weights, high - low + 1)
        masses = self._choice.mass(scores, lengths)
        at = dict(zip(places, masses, strict=False))  # the last one is that of all places without a row
        return [(first, n, at.get(first, masses[-1] * Fraction(n, lengths[-1]))) for first, n in entries]

    @property
    def _choice(self) -> RankedChoice:
        return RankedChoice(self.norm, self.epsilon, self.adjacency is Adjacency.ADD_REMOVE)


def _frequent(held: list[int], candidates: int) -> tuple[list[int], list[int]]:
    """How much less weight than the most each place has; then all candidates together that no row has, if any."""
    empty = candidates - len(held)
    most = max(held, default=0)
    scores, lengths = [most - w for w in held], [1] * len(held)
    return ([*scores, most], [*lengths, empty]) if empty else (scores, lengths)


def _entries(
    places: list[int], weights: list[int], low: int, high: int
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Stretches of candidates (first, how many) that are equally good, with the weight below and at each."""
    entries, below, at = [], [], []
    total, last = 0, low - 1
    for place, weight in zip(places, weights, strict=True):
        if not last < place <= high:
            raise InputError("places must increase, from low to high")
        if place > last + 1:
            entries.append((last + 1, place - last - 1))
            below.append(total)
            at.append(0)
        entries.append((place, 1))
        below.append(total)
        at.append(weight)
        total, last = total + weight, place
    if last < high:
        entries.append((last + 1, high - last))
        below.append(total)
        at.append(0)
    return entries, below, at


def checked_rows(places: Any, weights: Any, low: Any, high: Any) -> tuple[list[int], list[int], int, int]:
    """Places and weights as lists of ints, and the ends, all checked."""
    first, last = whole(low, "low"), whole(high, "high")
    if first > last:
        raise InputError(f"low must be at most high, but is {first} > {last}")
    at, held = as_integers(places), as_integers(weights)
    if isinstance(at, int) or isinstance(held, int) or at.ndim != 1 or at.shape != held.shape:
        raise InputError("give a list of places, and a list with a weight for each of them")
    if held.size and held.min() < 0:
        raise InputError("a weight must be at least 0")
    rows: list[int] = at.tolist()
    if any(b <= a for a, b in pairwise([first - 1, *rows, last + 1])):
        raise InputError("places must increase, from low to high")
    return rows, held.tolist(), first, last


def numbers_of_steps(steps: Sequence[int], places: Sequence[int], weights: Exact) -> tuple[list[int], Exact]:
    """Places as numbers of increasing steps, each that of the last step up to it; weights of the same step added up.

    Guarantee: a choice among the numbers of steps costs what one among all places does.
    Proof: the number of a row's step is a function of that row alone, so one person's weights are moved, not changed.
    Reference: semantics 3.5.
    Checked by: laws::steps_keep_the_weight_of_every_person
    """
    held: dict[int, int] = {}
    for place, weight in zip(places, as_integers(weights).tolist() if places else [], strict=True):
        number = max(0, bisect_right(steps, place) - 1)
        held[number] = held.get(number, 0) + weight
    return list(held), Exact(list(held.values()))


def _times(count: int | None) -> int:
    many = as_count(count)
    return 1 if many is None else many


def _listed(values: list[int], count: int | None) -> Any:
    return values[0] if count is None else narrowed(values)


def _missing(places: list[int], low: int, index: int) -> int:
    """The candidate of this number among those that no row has."""
    value = low + index
    for place in places:
        if place > value:
            break
        value += 1
    return value
