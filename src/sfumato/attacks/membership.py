"""Membership: is a person in the group with the secret, from how often each of her traits occurs in it.

Many means, each harmless, together tell who is in: Homer and others, PLoS Genetics 2008, and its likelihood form
(Sankararaman and others, Nature Genetics 2009).
"""

from __future__ import annotations

import math
from typing import Any

from sfumato.attacks.base import AttackResult, Claim, Endpoint, Knowledge, each, equals, not_applicable
from sfumato.errors import BudgetError

_MOST_VALUES = 12
_FEWEST = 8


def run(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """Frequencies of every trait among those with the secret and among everybody; then a score for each person."""
    traits = traits_of(knowledge)
    if len(traits) < _FEWEST:
        return not_applicable(f"it takes {_FEWEST} traits, and {len(traits)} are known")
    endpoint.share(2 * len(traits) + 2)
    try:
        cases = endpoint.number(knowledge.count(knowledge.secret))
        everybody = endpoint.number(knowledge.count("1 = 1"))
        weights = {}
        for column, value in traits:
            among = endpoint.number(knowledge.count(f"{equals(column, value)} AND {knowledge.secret}"))
            all_of = endpoint.number(knowledge.count(equals(column, value)))
            if among is not None and all_of is not None and cases is not None and everybody is not None:
                inside, outside = _share(among, cases), _share(all_of - among, everybody - cases)
                weights[column, value] = math.log(inside / outside), math.log((1 - inside) / (1 - outside))
    except BudgetError:
        return AttackResult(reason="the budget was spent before all traits were counted")
    if not weights:
        return AttackResult(reason="counts were refused")
    scores = [(_score(one.known, weights), i) for i, one in each(knowledge.people, len(knowledge.people))]
    cut = sorted((score for score, _ in scores), reverse=True)[max(0, round(knowledge.base_rate * len(scores)) - 1)]
    worst = tuple(asked.sql for asked in endpoint.log[2:5])
    return AttackResult(tuple(Claim(i, score >= cut) for score, i in scores), worst=worst)


def traits_of(knowledge: Knowledge) -> list[tuple[str, Any]]:
    """Values of known columns that have few of them; of two values one is enough."""
    traits = []
    for column in knowledge.people[0].known if knowledge.people else ():
        values = sorted({one.known[column] for one in knowledge.people if one.known[column] is not None}, key=repr)
        if 2 <= len(values) <= _MOST_VALUES and column != knowledge.key:
            traits += [(column, value) for value in values[1:]]
    return traits


def _share(part: float, whole: float) -> float:
    """A share that is neither nothing nor everything, also where noise has made nonsense of the counts."""
    whole = max(whole, 1.0)
    return (min(max(part, 0.0), whole) + 0.5) / (whole + 1)


def _score(known: dict[str, Any], weights: dict[tuple[str, Any], tuple[float, float]]) -> float:
    return sum(yes if known[column] == value else no for (column, value), (yes, no) in weights.items())
