"""How far around a chosen quantile the true one lies: a distance from a public ladder, chosen by ranks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

from sfumato.accounting import BoundedRange
from sfumato.errors import InputError
from sfumato.mechanisms.base import as_confidence, as_count, as_distance
from sfumato.mechanisms.order import OrderStatistic, checked_rows
from sfumato.mechanisms.parameters import AsAdjacency, AsFraction, AsWhole
from sfumato.mechanisms.ranked import RankedChoice
from sfumato.reals import Real, ceil, ln
from sfumato.types import Adjacency, Exact, Loss, whole

MISSES = Fraction(1, 20)
"""How often the distance that is chosen may be too short; for fewer misses longer ones are taken."""


@dataclass(frozen=True)
class RankInterval:
    """Choose a distance from a ladder 0, 1, 2, 3, 4, 6, 8, 12, …: the interval that reaches so far to both sides of a
    released candidate (the centre) has enough weight beyond the quantile on both sides.

    `row` is the weight of a row that counts whole. Rungs have the odds 1, 2, 4, …: two of them double the distance.

    Guarantee: if the weights of one person's rows add up to at most `norm`, one choice costs epsilon (range epsilon).
        Whatever the rows are, `ends` hold the quantile of the rows with the stated probability, also one that lies
        between two neighbouring rows.
    Proof: with L(x) the weight below x, H(x) that at or below x, and N all of it, the interval [a, b] has the margin
        min(q N - L(a), H(b) - q N); a side at the end of all candidates does not count, and where both are there, the
        margin is infinite. A person of weight c adds to q N - L(a) a number in [-(1-q)c, qc], to the other side one in
        [-qc, (1-q)c]: the margin moves by at most max(q, 1-q) norm, and by norm where rows become others. The score of
        rung k is max(0, s - margin_k, margin_(k-1) - s) for a constant s, the last rung's without the middle part: it
        moves by no more. The rest is the guarantee of RankedChoice; the odds of rungs depend on no row.
        Margins grow with k. Let k* be the first rung with a margin of at least s, or the last: its score is 0. A
        quantile lies between two rows of which the first has H >= q N - row and the second L <= q N + row; where [a,
        b] does not hold both, its margin is at most `row`. So if rung k + j is too short, k + j < k*, and the score of
        k is at least s - row. These k have the odds 2^(k* - j) together at most, and k* has 2^k*: the chance of one of
        them is at most 2^-j e^(-rate (s - row)), which is 2^-j misses.
    Reference: McSherry and Talwar, FOCS 2007 (with odds of candidates); Smith, STOC 2011.
    Checked by: laws::no_margin_moves_by_more_than_the_claim, laws::neighbours_choose_rungs_within_epsilon,
        laws::rank_intervals_hold_the_quantile
    """

    fraction: AsFraction = AsFraction()
    norm: AsFraction = AsFraction()
    epsilon: AsFraction = AsFraction()
    adjacency: AsAdjacency = AsAdjacency(Adjacency.ADD_REMOVE)
    row: AsWhole = AsWhole(1)

    def __post_init__(self) -> None:
        like = OrderStatistic(self.fraction, self.norm, self.epsilon, self.adjacency)
        if like.fraction is None:
            raise InputError("a fraction is from 0 to 1")
        for name in ("fraction", "norm", "epsilon", "adjacency"):
            object.__setattr__(self, name, getattr(like, name))
        object.__setattr__(self, "row", whole(self.row, "row", 1))

    @property
    def event(self) -> BoundedRange:
        """One choice, for the accountant."""
        return BoundedRange(self.epsilon)

    @property
    def sensitivity(self) -> Fraction:
        """How far one person can move a score."""
        return OrderStatistic(self.fraction, self.norm, self.epsilon, self.adjacency).sensitivity

    @cached_property
    def enough(self) -> int:
        """The margin that is looked for: rarely does noise take one of less than a row for it."""
        return ceil(ln(1 / MISSES) * (2 * self.sensitivity / self.epsilon)) + self.row

    def loss(self, distance: Any) -> Loss:
        """What one choice costs if the weights of one person's rows add up to at most `distance`."""
        epsilon = self.epsilon * as_distance(distance) / self.norm
        return Loss(epsilon, epsilon * epsilon / 8)

    def release(self, places: Any, weights: Any, low: Any, high: Any, centre: Any, *, count: int | None = None) -> Any:
        """The number of a rung; `places` are different and increasing, with the weight of the rows at each. The centre
        is public: a candidate that was released. Or an array of `count` choices, each at its own cost.
        """
        at, held, first, last = checked_rows(places, weights, low, high)
        middle = whole(centre, "centre")
        if not first <= middle <= last:
            raise InputError("the centre must be from low to high")
        scores = self.scores(at, held, first, last, middle)
        return self._choice.release(Exact(scores), _odds(len(scores)), as_count(count))

    def mass(self, places: list[int], weights: list[int], low: int, high: int, centre: int) -> list[Real]:
        """The probability of each rung: of plain numbers, never of sealed ones."""
        scores = self.scores(places, weights, low, high, centre)
        return self._choice.mass(scores, _odds(len(scores)))

    def scores(self, places: list[int], weights: list[int], low: int, high: int, centre: int) -> list[int]:
        """The score of each rung, multiplied by the denominator of q."""
        a, b = self.fraction.numerator, self.fraction.denominator
        upto = [0, *accumulate(weights)]
        enough, before, found = b * self.enough, None, []
        for distance in rungs(low, high, centre):
            left, right = centre - distance, centre + distance
            sides = []
            if left > low:
                sides.append(a * upto[-1] - b * upto[bisect_left(places, left)])
            if right < high:
                sides.append(b * upto[bisect_right(places, right)] - a * upto[-1])
            margin = min(sides, default=None)
            too_short = 0 if margin is None else enough - margin
            found.append(max(0, too_short, 0 if before is None else before - enough))
            before = margin
        return found

    def ends(self, low: int, high: int, centre: int, rung: int, confidence: Any = Fraction(95, 100)) -> tuple[int, int]:
        """The interval that a rung stands for, as many rungs further as this confidence needs."""
        misses, further = 1 - as_confidence(confidence), 0
        while MISSES / 2**further > misses:
            further += 1
        ladder = rungs(low, high, centre)
        distance = ladder[min(rung + further, len(ladder) - 1)]
        return max(low, centre - distance), min(high, centre + distance)

    @property
    def _choice(self) -> RankedChoice:
        return RankedChoice(self.sensitivity * self.fraction.denominator, self.epsilon)


def rungs(low: int, high: int, centre: int) -> list[int]:
    """Distances from the centre; the last one reaches all candidates."""
    most, found = max(centre - low, high - centre), [0]
    size = 1
    while found[-1] < most:
        found += [size, size + size // 2] if size > 1 else [size]
        size *= 2
    reached = next(i for i, distance in enumerate(found) if distance >= most)
    return [*found[:reached], most]


def _odds(count: int) -> list[int]:
    return [1 << k for k in range(count)]
