"""Reconstruction: the whole column of secrets, from counts over many subsets, each about half of the people.

The subsets are conditions that an analyst can send. Four questions for each person are asked, and decoded by least
squares; if a few answers are far off, by linear programming; of very few people all subsets are asked, and all columns
tried. An estimate is believed if it foretells answers that it was not made from better than a guess does; until one is,
the guess is claimed: so that what noise suggests is not taken for what it hides.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import AttackResult, Claim, Endpoint, Knowledge, not_applicable, some
from sfumato.attacks.decode import Equations, all_subsets, closest, is_gross, least_absolute
from sfumato.attacks.subsets import Lines, SubsetSource, listed, named, source
from sfumato.errors import BudgetError, InputError

_TRIES = 20
_FEW = 60
"""People in a small set: some twenty to forty of them have the secret."""
_ALL = 8
"""People up to whom all subsets are asked."""
_SHARP = 100
"""People whom a budget reconstructs: its square divided by this."""
_BEYOND = 1.0
"""Standard errors by which an estimate must foretell answers better than a guess to be believed."""
_PARTS, _MANY = 5, 300
"""Parts into which answers are cut, each foretold from the others; and people beyond whom they are halves."""
_PRICED = 60
"""Questions where each has a price: more of them would only be worse ones."""
Floats = NDArray[np.float64]


def run(endpoint: Endpoint, knowledge: Knowledge, questions_per_person: int = 4) -> AttackResult:
    """Ask, decode, claim."""
    if len(knowledge.people) < 2:
        return not_applicable("it takes at least two people")
    if len(knowledge.people) <= _ALL:
        return _exhaustive(endpoint, knowledge)
    priced = endpoint.epsilon is not None
    few = 0 if endpoint.epsilon is None else int(float(endpoint.epsilon) ** 2 / _SHARP)
    if _ALL < few < len(knowledge.people):
        return _among_few(endpoint, knowledge, few, questions_per_person)
    asked = source(knowledge, priced=priced)
    wanted = questions_per_person * len(asked.sizes)
    if priced:
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


def _among_few(endpoint: Endpoint, knowledge: Knowledge, few: int, questions_per_person: int) -> AttackResult:
    """A budget that is spent on few people: noise of standard deviation 1.4 q/epsilon in q answers, about as many as
    there are people, leaves each of them an error of about the root of 8 people/epsilon^2.
    """
    chosen = some(knowledge.people, few)
    part = replace(knowledge, people=tuple(one for _, one in chosen), only=None, others=())
    asked = listed(part, few)
    wanted = min(2, questions_per_person) * few
    endpoint.share(wanted)
    before = len(endpoint.log)
    lines, given = _ask(endpoint, part, asked, wanted, few=True)
    if len(given) < 8:
        return AttackResult(reason="subset counts were refused, or the budget was spent")
    found = _decode(part, asked, lines, given, tuple(one.sql for one in endpoint.log[before:][-3:]))
    back = [i for i, _ in chosen]
    claims = tuple(replace(claim, person=back[claim.person]) for claim in found.claims)
    return replace(found, claims=claims, curve=(), reason=f"the budget spent on {few} people")


def _is_framed(endpoint: Endpoint, knowledge: Knowledge) -> bool:
    """Whether about as many people are there as the attacker thinks: else her equations lack somebody."""
    if endpoint.epsilon is not None:  # what is left of the budget would tell nothing
        return True
    found = endpoint.number(knowledge.count(knowledge.only or "1 = 1"))
    many = len(knowledge.everybody)
    return found is None or abs(found - many) <= 50 + 0.1 * many


def _ask(
    endpoint: Endpoint, knowledge: Knowledge, asked: SubsetSource, wanted: int, *, few: bool = False
) -> tuple[Lines, Floats]:
    """Some small sets, some of half, some of most people; then whichever are answered, halves being the best."""
    lines: list[Lines] = []
    answers: list[float] = []
    small = min(0.5, _FEW / float(asked.sizes.sum()))
    enough = len(asked.sizes) + len(asked.sizes) // 10 + _TRIES  # for exact answers
    answered = dict.fromkeys((small, 0.5, 0.85), 0)
    for number in range(3 * wanted + 3 * _TRIES):
        if few:
            share = 0.5
        elif number < 3 * _TRIES:
            share = (small, 0.5, 0.85)[number // _TRIES]
        elif number == 3 * _TRIES:
            share = next((s for s in (0.5, 0.85, small) if answered[s] >= _TRIES // 2), small)
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
    whole = _solved(asked, lines, given)
    equations = Equations(asked.sizes, knowledge.base_rate)
    best, sharpest = _claims(asked, np.full(len(asked.sizes), knowledge.base_rate - 0.5)), _BEYOND
    marks = [*_marks(len(given)), len(given)]
    curve = [(marks[0], best)]
    for start, mark, after in zip([0, *marks], marks, marks[1:], strict=False):
        equations.add(lines[start:mark], given[start:mark])
        guess = equations.solve(carefully=False)
        sharp = _foretells(equations.mean, guess.counts, lines[mark:after], given[mark:after])
        if sharp >= sharpest:
            best, sharpest = _claims(asked, guess.odds), sharp
        curve.append((after, best))
    if whole is not None:
        claims = _claims(asked, whole - 0.5, certain=True)
        return AttackResult(claims, worst=worst, curve=tuple(curve[:-1]))
    last = marks[-2] if len(marks) > 1 else 0
    equations.add(lines[last:], given[last:])
    guess = equations.solve()
    other = _absolute(lines, given, guess.counts)
    if other is not None and _is_close(other, equations.mean, lines, given):
        return AttackResult(_claims(asked, other - 0.5), worst=worst, curve=tuple(curve[:-1]))
    if _is_believed(asked, knowledge.base_rate, lines, given):
        return AttackResult(_claims(asked, guess.odds), worst=worst, curve=tuple(curve[:-1]))
    reason = "the answers reveal no more than a guess, so the guess is claimed" if sharpest == _BEYOND else ""
    return AttackResult(best, reason=reason, worst=worst, curve=tuple(curve[:-1]))


def _is_believed(asked: SubsetSource, prior: float, lines: Lines, given: Floats) -> bool:
    """Whether each fifth of the answers is foretold better from the others than by a guess, all fifths together."""
    gains = np.zeros(len(given))
    parts = _PARTS if len(asked.sizes) <= _MANY else 2
    for part in range(parts):
        kept = np.arange(len(given)) % parts == part
        equations = Equations(asked.sizes, prior)
        equations.add(lines[~kept], given[~kept])
        gains[kept] = _gains(equations.mean, equations.solve().counts, lines[kept], given[kept])
    return float(gains.mean()) * math.sqrt(len(gains)) > _BEYOND * float(gains.std())


def _is_close(estimate: Floats, guess: Floats, lines: Lines, given: Floats) -> bool:
    """Whether most answers are far nearer to an estimate than to a guess: twice as many answers as people do not let a
    wrong one come close.
    """
    return bool(2 * np.median(np.abs(given - lines @ estimate)) < np.median(np.abs(given - lines @ guess)))


def _gains(guess: Floats, estimate: Floats, lines: Lines, given: Floats) -> Floats:
    """How much nearer an estimate is than a guess to answers that it was not made from."""
    return np.asarray(np.abs(given - lines @ guess) - np.abs(given - lines @ estimate))


def _foretells(guess: Floats, estimate: Floats, lines: Lines, given: Floats) -> float:
    """By how many standard errors an estimate is nearer than a guess to answers that it was not made from."""
    gains = _gains(guess, estimate, lines, given)
    spread = float(gains.std())
    return float(gains.mean()) * len(gains) ** 0.5 / spread if spread else math.copysign(math.inf, float(gains.mean()))


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
