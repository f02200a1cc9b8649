"""Averaging: the same question again and again, until its noise cancels.

If the same words bring the same answer, other words for the same set are tried: conditions that hold for everybody.
A person is done with as soon as the answers tell (a sequential test: Wald 1945).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from sfumato.attacks.base import AttackResult, Claim, Endpoint, Knowledge, each, some
from sfumato.attacks.promise import crowd
from sfumato.errors import BudgetError
from sfumato.types import identifier

PEOPLE = 64
REPEATS = 10_000
SECONDS = 45.0
"""For all people together, of the endpoint's time."""
FEW, PRICED = 12, 20
"""People and repeats where answers have a price: splitting a budget further makes each answer worse than averaging
makes them better."""
_FEWEST = 16
_LEAST = 40
"""People, where there are so many: a guess from the others' rows may be better than the commoner value."""
_ODDS = math.log(50)
"""An answer is believed when the other one is fifty times less likely."""


def run(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """Each person's own row, often enough for noise of a few units to vanish."""
    repeats = REPEATS if endpoint.epsilon is None else PRICED
    if endpoint.epsilon is None:
        people = list(each(knowledge.people, min(PEOPLE, _enough(knowledge.base_rate))))
    else:
        people = some(knowledge.people, min(FEW, crowd(float(endpoint.epsilon), 1, knowledge.guess)))
    endpoint.share(len(people) * repeats)
    claims: list[Claim] = []
    worst: list[str] = []
    curve = []
    before = len(endpoint.log)
    for i, one in people:
        try:
            found = mean(endpoint, knowledge, f"{one.where} AND {knowledge.secret}", repeats)
        except BudgetError:
            break
        if found is None:
            return AttackResult(tuple(claims), reason="small sets are refused: averaging finds nothing to average")
        claims.append(Claim(i, found > 0.5))
        worst = worst or [asked.sql for asked in endpoint.log[-3:]]
        curve.append((len(endpoint.log) - before, tuple(claims)))
        if sum(asked.seconds for asked in endpoint.log[before:]) > SECONDS:
            break
    reason = "" if claims else "the budget was spent before anything was averaged"
    return AttackResult(tuple(claims), reason=reason, worst=tuple(worst), curve=tuple(curve))


def _enough(rate: float) -> int:
    """People of whom all but one in fifty are found, and that is more than luck, given how good a guess is."""
    return max(_LEAST, math.ceil(1.5 * math.log(0.001) / math.log(min(0.99, max(rate, 1 - rate)))))


def mean(endpoint: Endpoint, knowledge: Knowledge, where: str, repeats: int) -> float | None:
    """The average answer; stops early where nothing varies, or where it is clear on which side of one half it is."""
    centre, squares = 0.0, 0.0  # Welford's sums
    for count, sql in enumerate(_wordings(endpoint, knowledge, where), 1):
        value = endpoint.number(sql)
        if value is None:
            return None
        away = value - centre
        centre += away / count
        squares += away * (value - centre)
        if count == repeats or (count == _FEWEST and squares == 0):
            break
        if count >= _FEWEST and squares and abs(centre - 0.5) * count > _ODDS * squares / (count - 1):
            break
    return centre


def _wordings(endpoint: Endpoint, knowledge: Knowledge, where: str) -> Iterator[str]:
    """The same question; and as soon as two answers to the same words agree, the same set in other words."""
    first = knowledge.count(where)
    yield first
    yield first
    same = [asked.rows for asked in endpoint.log[-2:]]
    column = identifier(knowledge.key or next(iter(knowledge.people[0].known)))
    always = f"({column} IS NULL OR {column} IS NOT NULL)"
    number = 0
    while True:
        number += 1
        yield knowledge.count(f"{where} AND {always} AND {number} = {number}") if same[0] == same[1] else first
