"""Design: relational lifting. Comes in: two laws and a relation of their values. Goes out: a coupling that stays in the
relation, or a set of values that shows that there is none.

Couplings are flows: mass goes from the values of the first law, along pairs of the relation, to those of the second.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from sfumato.design.distance import Law, check_law, factor_of
from sfumato.errors import InputError
from sfumato.reals import Real
from sfumato.types import as_written

Relation = Callable[[Any, Any], bool] | Collection[tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class LiftedCoupling:
    """A joint law inside a relation. With epsilon and delta its first marginal may fall short by `lost`, and its second
    may exceed the second law by the factor e^epsilon.
    """

    joint: dict[tuple[Any, Any], Fraction]
    lost: Fraction

    def first_marginal(self) -> dict[Any, Fraction]:
        """The law of the first values."""
        return self._marginal(0)

    def second_marginal(self) -> dict[Any, Fraction]:
        """The law of the second values."""
        return self._marginal(1)

    def _marginal(self, side: int) -> dict[Any, Fraction]:
        found: dict[Any, Fraction] = {}
        for pair, mass in self.joint.items():
            found[pair[side]] = found.get(pair[side], Fraction(0)) + mass
        return found


@dataclass(frozen=True, slots=True)
class Gap:
    """Why there is no coupling: the values of `set` weigh more than all values that they are related to."""

    set: frozenset[Any]
    related: frozenset[Any]
    chance: Fraction
    other: Fraction


def lifting(
    one: Law[Any], two: Law[Any], relation: Relation, *, epsilon: object = 0, delta: object = 0
) -> LiftedCoupling | Gap:
    """A coupling of two laws whose support lies in a relation, or the gap that excludes one.

    Guarantee: a Coupling has exactly these marginals (with epsilon: the second at most e^epsilon two; with delta: at
        most delta of the first is lost), and only pairs of the relation have mass. A Gap has one(set) > e^epsilon
        two(related) + delta, where `related` holds everything that the set is related to.
    Proof: a coupling is a flow through the pairs, limited by one(a) and by e^epsilon two(b); the greatest flow equals
        the least cut, and a cut that is less than 1 - delta is a set A with one(A) - e^epsilon two(R(A)) > delta. An
        irrational e^epsilon is rounded down for couplings and up for gaps.
    Reference: Strassen, "The existence of probability measures with given marginals", 1965; Barthe, Espitau, Hsu,
        Sato, Strub, "*-liftings for differential privacy", 2017.
    Checked by: design::a_lifting_is_a_coupling_or_a_gap, design::the_lifting_of_equality_is_the_skewed_distance
    """
    check_law(one, "first law")
    check_law(two, "second law")
    factor, slack = factor_of(epsilon), as_written(delta, "delta")
    if not 0 <= slack < 1:
        raise InputError("delta must be at least 0 and below 1")
    related = _related(one, two, relation)
    for low, high in _roundings(factor):
        flow, _ = _greatest_flow(one, two, low, related)
        lost = 1 - sum(flow.values(), Fraction(0))
        if lost <= slack:
            return LiftedCoupling(flow, lost)
        flow, reached = _greatest_flow(one, two, high, related)
        if 1 - sum(flow.values(), Fraction(0)) > slack:
            return _gap(one, two, related, reached)
    raise InputError("the relation is too near to its limit to decide", hint="Change epsilon or delta a little.")


def _roundings(factor: Fraction | Real) -> Iterator[tuple[Fraction, Fraction]]:
    """Fractions at or below and at or above a factor, nearer each time."""
    if not isinstance(factor, Real):
        yield factor, factor
        return
    for bits, low, high in factor.refinements():
        yield Fraction(low, 1 << bits), Fraction(high, 1 << bits)


def _related(one: Law[Any], two: Law[Any], relation: Relation) -> dict[Any, list[Any]]:
    """For each value of the first law those of the second that it is related to; values without mass are left out."""
    if callable(relation):
        return {a: [b for b in two if two[b] and relation(a, b)] for a in one if one[a]}
    pairs = frozenset(relation)
    return {a: [b for b in two if two[b] and (a, b) in pairs] for a in one if one[a]}


def _gap(one: Law[Any], two: Law[Any], related: dict[Any, list[Any]], reached: frozenset[Any]) -> Gap:
    near = frozenset(b for a in reached for b in related[a])
    chance = sum((Fraction(one[a]) for a in reached), Fraction(0))
    return Gap(reached, near, chance, sum((Fraction(two[b]) for b in near), Fraction(0)))


def _greatest_flow(
    one: Law[Any], two: Law[Any], factor: Fraction, related: dict[Any, list[Any]]
) -> tuple[dict[tuple[Any, Any], Fraction], frozenset[Any]]:
    """A greatest flow, and the first values that mass still reaches: they are the cut. By shortest ways, in whole
    numbers of a common unit.
    """
    limits = {b: factor * two[b] for b in two}
    unit = lcm(*(Fraction(x).denominator for x in (*one.values(), *limits.values())))
    left = {a: int(one[a] * unit) for a in related}
    room = {b: int(limits[b] * unit) for b in limits}
    flow: dict[tuple[Any, Any], int] = {}
    into: dict[Any, list[Any]] = {b: [a for a in related if b in related[a]] for b in two}
    while True:
        way, seen = _shortest_way(left, room, flow, related, into)
        if way is None:
            masses = {pair: Fraction(mass, unit) for pair, mass in flow.items() if mass}
            return masses, frozenset(a for side, a in seen if side == 0)
        forward, back = way[0::2], way[1::2]  # pairs that gain, pairs that lose
        amount = min([left[way[0][0]], room[way[-1][1]], *(flow[pair] for pair in back)])
        for pair in forward:
            flow[pair] = flow.get(pair, 0) + amount
        for pair in back:
            flow[pair] -= amount
        left[way[0][0]] -= amount
        room[way[-1][1]] -= amount


def _shortest_way(
    left: dict[Any, int],
    room: dict[Any, int],
    flow: dict[tuple[Any, Any], int],
    related: dict[Any, list[Any]],
    into: dict[Any, list[Any]],
) -> tuple[list[tuple[Any, Any]] | None, dict[tuple[int, Any], Any]]:
    """Pairs along which more mass can go, gaining and losing in turn; and everything that was reached."""
    before: dict[tuple[int, Any], Any] = {(0, a): None for a in left if left[a]}
    queue = deque(before)
    while queue:
        side, here = queue.popleft()
        if side == 1 and room[here]:
            way, at = [], (1, here)
            while before[at] is not None:
                last = before[at]
                way.append((last[1], at[1]) if at[0] == 1 else (at[1], last[1]))
                at = last
            return way[::-1], before
        onward = related[here] if side == 0 else [a for a in into[here] if flow.get((a, here), 0)]
        for there in onward:
            if (1 - side, there) not in before:
                before[1 - side, there] = (side, here)
                queue.append((1 - side, there))
    return None, before
