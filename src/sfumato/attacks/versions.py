"""Intersection over time: the same count of a table before and after somebody left.

Comes in: one question, asked again of each version of a table; the attacker knows who left between two of them. Goes
out: what the difference says of her. Each version alone hides everybody in a crowd (a sequential release: Fung and
others, ACM Computing Surveys 2010; every dashboard that is renewed is one).
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import variance

from sfumato.attacks.base import AttackResult, Claim, Endpoint, Knowledge, not_applicable, some
from sfumato.errors import BudgetError

_LEAVING, _PRICED = 40, 16
"""People who leave, one by one; and where each version's answer has a price."""


def run(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """Count, let one leave, count again."""
    if endpoint.leave is None:
        return not_applicable("there is one version of the table only")
    leaving = some(knowledge.people, _LEAVING if endpoint.epsilon is None else _PRICED)
    leaving = leaving[: len(knowledge.people) // 2]
    endpoint.share(len(leaving) + 1)
    sql, first = knowledge.count(knowledge.secret), len(endpoint.log)
    counts: list[float] = []
    try:
        for _, one in [*leaving, (0, None)]:
            value = endpoint.number(sql)
            if value is None and not counts:
                return AttackResult(reason="the count is refused")
            if value is None:
                break
            counts.append(value)
            if one is not None:
                endpoint.leave(one.where)
    except BudgetError:
        pass
    steps = [before - after for before, after in pairwise(counts)]
    if len(steps) < 2:
        return AttackResult(reason="the budget was spent before anybody left")
    lean = _lean(steps, knowledge.base_rate)
    claims = tuple(Claim(i, odds > 0) for (i, _), odds in zip(leaving, lean, strict=False))
    worst = tuple(one.sql for one in endpoint.log[first:][:2])
    return AttackResult(claims, reason=f"one count of {len(counts)} versions of the table", worst=worst)


def _lean(steps: list[float], rate: float) -> list[float]:
    """The odds that somebody had the secret, by how far the count fell; in noise, of the spread that is seen."""
    if set(steps) <= {0.0, 1.0}:
        return [step - 0.5 for step in steps]
    prior = math.log(max(1e-9, rate) / max(1e-9, 1 - rate))
    return [prior + (step - 0.5) / max(1e-9, variance(steps)) for step in steps]
