"""Membership by likelihood ratios: what the counts of a group would be with a person in it, and without her.

Comes in: how many of the group with the secret have each trait, and the traits of everybody. Goes out: claims who is in
it. For each person two laws of the released counts are compared, of groups drawn at random with her and without her, as
shadow models are in LiRA (Carlini and others, S&P 2022); for counts they are known in closed form: normal, with the
covariance of the traits. Noise is estimated from what the counts scatter beyond that.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.attacks.base import AttackResult, Claim, Endpoint, Knowledge, equals, not_applicable
from sfumato.attacks.membership import traits_of
from sfumato.errors import BudgetError

_FEWEST = 8


def run(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """Ask for the marginals of the group alone, and weigh each person."""
    traits = traits_of(knowledge)
    if len(traits) < _FEWEST:
        return not_applicable(f"it takes {_FEWEST} traits, and {len(traits)} are known")
    if knowledge.only is None:
        return not_applicable("others may be in the table of whom nothing is known")
    endpoint.share(len(traits) + 1)
    first = len(endpoint.log)
    try:
        size = endpoint.number(knowledge.count(knowledge.among(knowledge.secret)))
        found = [
            endpoint.number(knowledge.count(knowledge.among(f"{equals(column, value)} AND {knowledge.secret}")))
            for column, value in traits
        ]
    except BudgetError:
        return AttackResult(reason="the budget was spent before all traits were counted")
    seen = [place for place, value in enumerate(found) if value is not None]
    if size is None or len(seen) < _FEWEST:
        return AttackResult(reason="counts were refused")
    people = knowledge.everybody
    table = np.array([[one[traits[j][0]] == traits[j][1] for j in seen] for one in people], float)
    counts = np.array([found[j] for j in seen], float)
    many = len(people)
    share = min(max(size / many, 1 / many), 1 - 1 / many)
    lean = _ratios(table, counts, share) + math.log(share / (1 - share))
    claims = tuple(Claim(i, bool(lean[i] > 0)) for i in range(len(knowledge.people)))
    worst = tuple(one.sql for one in endpoint.log[first:][:3])
    return AttackResult(claims, reason=f"likelihood ratios of {len(seen)} counts", worst=worst)


def _ratios(table: np.ndarray, counts: np.ndarray, share: float) -> np.ndarray:
    """For each row, the logarithm of how much likelier the counts are with it in the group than without."""
    many = len(table)
    away = table - table.mean(axis=0)
    covariance = share * (1 - share) * away.T @ away
    rest = counts - share * table.sum(axis=0)
    noise = max(0.0, float(rest @ rest - np.trace(covariance)) / len(counts))
    spread = covariance + (noise + 1e-3 * np.trace(covariance) / len(counts) + 1e-9) * np.eye(len(counts))
    weighed = np.linalg.solve(spread, away.T).T  # a row for each person
    shift = (away * weighed).sum(axis=1)
    return np.asarray(weighed @ rest - (0.5 - share) * shift) * many / max(1, many - 1)
