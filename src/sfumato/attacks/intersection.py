"""Intersection: two answers that hide a person each, and name her together.

Comes in: an endpoint that gives the least age, weight, or any other number of those with the secret. Goes out: claims
by the exact posterior over possible worlds. Two tables that are 2-anonymous each find one man: k-anonymity does not
compose.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.attacks.base import AttackResult, Claim, Endpoint, Knowledge, is_exact, not_applicable, plain
from sfumato.design.worlds import Minimum, posterior_of_minima
from sfumato.errors import BudgetError
from sfumato.types import identifier

_SURE = Fraction(9, 10)
"""How probable a secret must be, or its opposite, to be claimed."""


def run(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """The least and the largest of every numeric column, among those with the secret."""
    people = knowledge.everybody
    columns = [c for c in people[0] if all(isinstance(p[c], (int, float)) and type(p[c]) is not bool for p in people)]
    if not columns:
        return not_applicable("no known column is a number, for everybody")
    if knowledge.only is None:
        return not_applicable("others may be in the table of whom nothing is known")
    endpoint.share(2 * len(columns) + 1)
    first = len(endpoint.log)
    seen = _extremes(endpoint, knowledge, columns, people)
    worst = tuple(asked.sql for asked in endpoint.log[first:][:3])
    if not seen:
        return AttackResult(reason="smallest and largest values were refused, or nobody has them")
    prior = _prior(knowledge.base_rate)
    chances = posterior_of_minima(len(people), prior, seen[:8])
    if chances is None:
        return AttackResult(reason="no world fits these answers: they are not exact", worst=worst)
    exact = _is_complete(endpoint, knowledge) and is_exact(endpoint, knowledge)
    mine = enumerate(chances[: len(knowledge.people)])
    claims = [Claim(i, c >= _SURE, certain=exact and c in (0, 1)) for i, c in mine if not 1 - _SURE < c < _SURE]
    if not claims:
        return AttackResult(reason="the extremes leave everybody possible", worst=worst)
    return AttackResult(tuple(claims), reason="least and largest values, intersected", worst=worst)


def _extremes(
    endpoint: Endpoint, knowledge: Knowledge, columns: list[str], people: list[dict[str, Any]]
) -> list[Minimum]:
    seen: list[Minimum] = []
    where = knowledge.among(knowledge.secret)
    for column in columns:
        for word, sign in (("MIN", 1), ("MAX", -1)):
            sql = f"SELECT {word}({identifier(column)}) FROM {identifier(knowledge.table)} WHERE {where}"
            try:
                value = endpoint.number(sql)
            except BudgetError:
                return seen
            if value is None:
                continue
            given = plain((endpoint.log[-1].rows or [(value,)])[0][0])  # as it came: a float has no room for large ones
            least = given if isinstance(given, (int, float)) else value
            minimum = _minimum([sign * p[column] for p in people], sign * least)
            if minimum is not None:
                seen.append(minimum)
    return seen


def _is_complete(endpoint: Endpoint, knowledge: Knowledge) -> bool:
    """Whether nobody is there whom the attacker does not know."""
    try:
        return endpoint.number(knowledge.count(knowledge.only or "1 = 1")) == len(knowledge.everybody)
    except BudgetError:
        return False


def _prior(rate: float) -> Fraction:
    return Fraction(max(1, min(999, round(rate * 1000))), 1000)


def _minimum(values: list[Any], least: Any) -> Minimum | None:
    """Who cannot have the secret, and who may be the one at the least value; None where nobody is there."""
    below = frozenset(i for i, value in enumerate(values) if value < least)
    there = frozenset(i for i, value in enumerate(values) if value == least)
    return Minimum(below, there) if there else None
