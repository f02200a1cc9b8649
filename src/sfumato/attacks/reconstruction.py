"""Reconstruction: the whole column of secrets, from counts over many subsets, each about half of the people.

The subsets are conditions that an analyst can send. Four questions for each person are asked, and decoded by least
squares; if a few answers are far off, by linear programming; of very few people all subsets are asked, and all columns
tried.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import AttackResult, Claim, Endpoint, Knowledge, not_applicable
from sfumato.attacks.decode import Equations, all_subsets, closest, is_gross, least_absolute
from sfumato.attacks.subsets import Lines, SubsetSource, listed, named, source
from sfumato.errors import BudgetError, InputError

_TRIES = 20
_FEW = 60
"""People in a small set: some twenty to forty of them have the secret."""
_ALL = 8
"""People up to whom all subsets are asked."""
_PRICED = 200
"""Questions where each has a price and is long: more of them would only be worse ones."""
Floats = NDArray[np.float64]


def run(endpoint: Endpoint, knowledge: Knowledge, questions_per_person: int = 4) -> AttackResult:
    """Ask, decode, claim."""
    if len(knowledge.people) < 2:
        return not_applicable("it takes at least two people")
    if len(knowledge.people) <= _ALL:
        return _exhaustive(endpoint, knowledge)
    priced = endpoint.epsilon is not None
    asked = source(knowledge, priced=priced)
    wanted = questions_per_person * len(asked.sizes)
    if priced and not asked.short:
        wanted = min(wanted, _PRICED)
    endpoint.share(wanted)
    before = len(endpoint.log)
    lines, given = _ask(endpoint, knowledge, asked, wanted)
    worst = tuple(one.sql for one in endpoint.log[before:][-3:])
    if knowledge.only is not None and _solved(asked, lines, given) is None and not _is_framed(endpoint, knowledge):
        asked = listed(knowledge, len(asked.place))
        lines, given = _ask(endpoint, knowledge, asked, wanted)
    if len(given) < 8:
        return AttackResult(reason="subset counts were refused, or the budget was spent")
    return _decode(knowledge, asked, lines, given, worst)


def _is_framed(endpoint: Endpoint, knowledge: Knowledge) -> bool:
    """Whether about as many people are there as the attacker thinks: else her equations lack somebody."""
    if endpoint.epsilon is not None:  # what is left of the budget would tell nothing
        return True
    found = endpoint.number(knowledge.count(knowledge.only or "1 = 1"))
    many = len(knowledge.everybody)
    return found is None or abs(found - many) <= 50 + 0.1 * many


def _ask(endpoint: Endpoint, knowledge: Knowledge, asked: SubsetSource, wanted: int) -> tuple[Lines, Floats]:
    """Some small sets, some of half, some of most people; then whichever are answered, halves being the best."""
    lines: list[Lines] = []
    answers: list[float] = []
    few = min(0.5, _FEW / float(asked.sizes.sum()))
    enough = len(asked.sizes) + len(asked.sizes) // 10 + _TRIES  # for exact answers
    answered = dict.fromkeys((few, 0.5, 0.85), 0)
    for number in range(3 * wanted + 3 * _TRIES):
        if number < 3 * _TRIES:
            share = (few, 0.5, 0.85)[number // _TRIES]
        elif number == 3 * _TRIES:
            share = next((s for s in (0.5, 0.85, few) if answered[s] >= _TRIES // 2), few)
        where, line = asked.make(number, share)
        try:
            value = endpoint.number(knowledge.count(f"{where} AND {knowledge.secret}"))
        except BudgetError:
            break
        if value is not None:
            answered[share] += 1
            lines.append(line)
            answers.append(value)
        if len(answers) == enough and _solved(asked, np.array(lines), np.array(answers)) is not None:
            break
        if len(answers) == wanted or (number > 5 * _TRIES and len(answers) < _TRIES // 2):
            break
    return np.array(lines, bool), np.array(answers, float)


def _decode(
    knowledge: Knowledge, asked: SubsetSource, lines: Lines, given: Floats, worst: tuple[str, ...]
) -> AttackResult:
    equations = Equations(asked.sizes, knowledge.base_rate)
    curve, done = [], 0
    for mark in _marks(len(given)):
        equations.add(lines[done:mark], given[done:mark])
        done = mark
        curve.append((mark, _claims(asked, equations.solve(carefully=False).odds)))
    whole = _solved(asked, lines, given)
    if whole is not None:
        return AttackResult(_claims(asked, whole - 0.5, certain=True), worst=worst, curve=tuple(curve))
    equations.add(lines[done:], given[done:])
    guess = equations.solve()
    other = _absolute(lines, given, guess.counts)
    claims = _claims(asked, guess.odds if other is None else other - 0.5)
    return AttackResult(claims, worst=worst, curve=tuple(curve))


def _solved(asked: SubsetSource, lines: Lines, given: Floats) -> Floats | None:
    """The only whole numbers that fit all answers exactly, if there are any: then they are proved."""
    if len(given) < len(asked.sizes) or not _is_fine(given):
        return None
    equations = Equations(asked.sizes, 0.5)
    equations.add(lines, given)
    if not equations.is_regular():
        return None
    whole = np.round(np.linalg.solve(equations.gram, equations.right) + equations.mean)
    return whole if np.array_equal(lines @ whole, given) else None


def _is_fine(answers: Floats) -> bool:
    """Whole numbers with no common divisor: nobody rounded them."""
    return bool((answers == np.round(answers)).all()) and math.gcd(*(int(value) for value in answers)) == 1


def _absolute(lines: Lines, given: Floats, counts: Floats) -> Floats | None:
    """The least absolute errors, where a few answers are far off, and SciPy is there."""
    if lines.shape[1] > 300 or len(given) < 2 * lines.shape[1] or not is_gross(lines, given, counts):
        return None
    try:
        return least_absolute(lines, given)
    except InputError:
        return None


def _claims(asked: SubsetSource, lean: Floats, *, certain: bool = False) -> tuple[Claim, ...]:
    """Of everybody who looks like nobody else: whether the odds are for her having the secret."""
    return tuple(
        Claim(i, bool(lean[group] > 0), certain=certain)
        for i, group in enumerate(asked.place)
        if asked.sizes[group] == 1
    )


def _marks(questions: int) -> list[int]:
    return sorted({max(8, questions * part // 4) for part in range(1, 4)} - {questions})


def _exhaustive(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """All subsets of very few people: the columns that are nearest to the answers, and what these agree on."""
    subsets = all_subsets(len(knowledge.people))
    endpoint.share(len(subsets) - 1)
    answers = [0.0]
    for line in subsets[1:]:
        try:
            value = endpoint.number(knowledge.count(f"{named(knowledge, line)} AND {knowledge.secret}"))
        except BudgetError:
            return AttackResult(reason="the budget was spent before all subsets were counted")
        if value is None:
            return AttackResult(reason="counts of some subsets are refused")
        answers.append(value)
    given = np.array(answers)
    alpha, columns = closest(given)
    certain = alpha == 0 and len(columns) == 1 and _is_fine(given)
    agreed = [i for i in range(columns.shape[1]) if len(set(columns[:, i].tolist())) == 1]
    claims = tuple(Claim(i, bool(columns[0, i]), certain=certain) for i in agreed)
    reason = f"all {len(subsets)} subsets were counted, and the nearest column is off by {alpha:g}"
    return AttackResult(claims, reason=reason, worst=tuple(one.sql for one in endpoint.log[-3:]))
