"""Averaging: the same question again and again, until its noise cancels.

If the same words bring the same answer, other words for the same set are tried: conditions that hold for everybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean, stdev

from sfumato.attacks.base import Claim, Endpoint, Found, Knowledge, each
from sfumato.errors import BudgetError
from sfumato.words import identifier

PEOPLE = 32
REPEATS = 6000
PRICED = 20
"""Where answers have a price: splitting a budget further makes each answer worse than averaging makes them better."""


def run(endpoint: Endpoint, knowledge: Knowledge) -> Found:
    """Each person's own row, often enough for noise of a few units to vanish."""
    people = list(each(knowledge.people, PEOPLE))
    repeats = REPEATS if endpoint.epsilon is None else PRICED
    endpoint.share(len(people) * repeats)
    claims: list[Claim] = []
    worst: list[str] = []
    curve = []
    for i, one in people:
        try:
            found = mean(endpoint, knowledge, f"{one.where} AND {knowledge.secret}", repeats)
        except BudgetError:
            break
        if found is None:
            return Found(tuple(claims), reason="small sets are refused: averaging finds nothing to average")
        claims.append(Claim(i, found > 0.5))
        worst = worst or [asked.sql for asked in endpoint.log[-3:]]
        curve.append((len(endpoint.log), tuple(claims)))
    return Found(tuple(claims), worst=tuple(worst), curve=tuple(curve))


def mean(endpoint: Endpoint, knowledge: Knowledge, where: str, repeats: int) -> float | None:
    """The average answer; stops early where nothing varies, or where one half is 2.5 standard errors away."""
    answers: list[float] = []
    for sql in _wordings(endpoint, knowledge, where):
        value = endpoint.number(sql)
        if value is None:
            return None
        answers.append(value)
        if len(answers) == repeats or (len(answers) == 16 and len(set(answers)) == 1):
            break
        if len(answers) % 64 == 0 and abs(fmean(answers) - 0.5) > 2.5 * stdev(answers) / len(answers) ** 0.5:
            break
    return fmean(answers)


def _wordings(endpoint: Endpoint, knowledge: Knowledge, where: str) -> Iterator[str]:
    """The same question; and as soon as two answers to the same words agree, the same set in other words."""
    first = knowledge.count(where)
    yield first
    yield first
    same = [asked.rows for asked in endpoint.log[-2:]]
    column = identifier(knowledge.key or next(iter(knowledge.people[0].known)))
    number = 0
    while True:
        number += 1
        other = f"{where} AND {column} IS NOT NULL AND {number} = {number}"
        yield knowledge.count(other) if same[0] == same[1] else first
