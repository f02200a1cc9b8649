"""Timing: work that one person's row alone causes; how long the answer takes is her secret.

After Haeberlen, Pierce, Narayan, USENIX Security 2011. A condition builds a long text for her, if she has the secret,
and nothing for anybody else. An endpoint that refuses such work, or bounds it, is not told apart by it. What the rows
themselves cost an engine, without such help, is not measured here.
"""

from __future__ import annotations

from statistics import median

from sfumato.attacks.base import Claim, Endpoint, Found, Knowledge, each
from sfumato.errors import BudgetError

_MOST = 60
_APART = 4.0
"""How many times as long the slow one must take, at least, for the clock to be believed."""
_SLOW = "LENGTH(REPEAT('x', CASE WHEN {fact} THEN 40000000 ELSE 1 END)) > 0"


def run(endpoint: Endpoint, knowledge: Knowledge) -> Found:
    """Calibrate on somebody who is surely there, then time everybody."""
    endpoint.share(2 * _MOST)
    there = knowledge.people[0].where
    try:
        # in other words each time: an answer that is kept takes no time at all
        slow = [_seconds(endpoint, knowledge, f"{there} AND {n} = {n}") for n in range(3)]
        fast = [_seconds(endpoint, knowledge, f"{there} AND {n} = 9") for n in range(3)]
        if None in slow or None in fast:
            return Found(reason="work that one row causes is refused")
        high, low = median(s or 0.0 for s in slow), median(s or 0.0 for s in fast)
        if high <= _APART * low:
            return Found(reason="answers take as long with such work as without it")
        cut = (high * max(low, 1e-9)) ** 0.5
        claims = []
        for i, one in each(knowledge.people, _MOST):
            took = _seconds(endpoint, knowledge, f"{one.where} AND {knowledge.secret}")
            if took is not None:
                claims.append(Claim(i, took > cut))
    except BudgetError:
        return Found(reason="the budget was spent before the clock told anything")
    return Found(tuple(claims), reason="time tells the secret", worst=tuple(a.sql for a in endpoint.log[-3:]))


def _seconds(endpoint: Endpoint, knowledge: Knowledge, fact: str) -> float | None:
    """How long one answer took; None where it was refused."""
    if endpoint.number(knowledge.count(_SLOW.format(fact=fact))) is None:
        return None
    return endpoint.log[-1].seconds
