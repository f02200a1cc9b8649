"""Intersection: two answers that hide a person each, and name her together.

Comes in: an endpoint that gives the least age, weight, or any other number of those with the secret. Goes out: claims
by the exact posterior over possible worlds. Two tables that are 2-anonymous each find one man: k-anonymity does not
compose.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.attacks.base import Claim, Endpoint, Found, Knowledge, is_exact, not_applicable
from sfumato.design.worlds import Minimum, posterior_of_minima
from sfumato.errors import BudgetError
from sfumato.words import identifier


def run(endpoint: Endpoint, knowledge: Knowledge) -> Found:
    """The least and the largest of every numeric column, among those with the secret."""
    people = [one.known for one in knowledge.people]
    columns = [
        c
        for c in (people[0] if people else {})
        if all(isinstance(p[c], (int, float)) and not isinstance(p[c], bool) for p in people)
    ]
    if not columns:
        return not_applicable("no known column is a number")
    endpoint.share(2 * len(columns))
    seen: list[Minimum] = []
    for column in columns:
        for word, sign in (("MIN", 1), ("MAX", -1)):
            sql = f"SELECT {word}({identifier(column)}) FROM {identifier(knowledge.table)} WHERE {knowledge.secret}"
            try:
                value = endpoint.number(sql)
            except BudgetError:
                value = None
            minimum = None if value is None else _minimum([sign * p[column] for p in people], sign * value)
            if minimum is not None:
                seen.append(minimum)
    if not seen:
        return Found(reason="smallest and largest values were refused, or nobody has them")
    worst = tuple(asked.sql for asked in endpoint.log[-3:])
    prior = _prior(knowledge.base_rate)
    chances = posterior_of_minima(len(people), prior, seen[:8])
    if chances is None:
        return Found(reason="no world fits these answers: they are not exact", worst=worst)
    exact = is_exact(endpoint, knowledge)
    claims = [Claim(i, c > Fraction(1, 2), certain=exact and c in (0, 1)) for i, c in enumerate(chances) if c != prior]
    return Found(tuple(claims), reason="least and largest values, intersected", worst=worst)


def _prior(rate: float) -> Fraction:
    return Fraction(max(1, min(999, round(rate * 1000))), 1000)


def _minimum(values: list[Any], least: Any) -> Minimum | None:
    """Who cannot have the secret, and who may be the one at the least value; None where nobody is there."""
    below = frozenset(i for i, value in enumerate(values) if value < least)
    there = frozenset(i for i, value in enumerate(values) if value == least)
    return Minimum(below, there) if there else None
