"""Differencing: questions that are harmless each and name one person together; and the general tracker.

The four examples of illegitimate use are tried in turn: a person's own row, the union of two, everybody minus one, and
background knowledge. Where an endpoint refuses small sets the tracker goes around it: a large set T with and without
one person more (Denning, Denning, Schwartz, TODS 1979).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sfumato.attacks.base import (
    AttackResult,
    Claim,
    Endpoint,
    Knowledge,
    Person,
    each,
    equals,
    is_exact,
    is_over,
    literal,
    not_applicable,
    some,
)
from sfumato.attacks.promise import crowd, repeats
from sfumato.errors import BudgetError, SfumatoError
from sfumato.types import identifier

_MOST = 400
Trick = Callable[[Endpoint, Knowledge, int], float | None]


def run(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """The first trick that gives each of the first people nobody or one; or else the first that is answered at all."""
    if len(knowledge.people) < 4:
        return not_applicable("it takes at least four people")
    if endpoint.epsilon is not None:
        return _few(endpoint, knowledge)
    answered: Trick | None = None
    try:
        moved = endpoint.number(knowledge.count("1 = 0")) not in (None, 0.0)
        for trick in (own_row, union, all_but_one, tracker, background):
            tried = [trick(endpoint, knowledge, i) for i in range(4)]
            if any(value is None for value in tried):
                continue
            answered = answered or trick
            # where nobody is somebody, plain counts that look right do so by luck
            if set(tried) <= {0.0, 1.0} and not (moved and trick in (own_row, union)):
                answered = trick
                break
    except BudgetError:
        return AttackResult(reason="the budget was spent before a trick was found")
    if answered is None:
        return AttackResult(reason="every form of the query was refused")
    return _everybody(endpoint, knowledge, answered)


def _few(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """A budget is spent on few people: each is counted with the secret and without it, which costs no more than one
    count where a person is in or out. What the two counts agree on is claimed. Where the ledger can be copied all of
    the budget is spent on one person, and this is measured on several.
    """
    assert endpoint.epsilon is not None
    total, one_at_a_time = float(endpoint.epsilon), endpoint.fresh is not None
    many = (repeats if one_at_a_time else crowd)(total, endpoint.between, knowledge.guess)
    chosen = some(knowledge.people, many)
    price = total if one_at_a_time else total / len(chosen)  # each count moves the odds by a factor of e^price
    before = math.log(max(1e-9, knowledge.base_rate) / max(1e-9, 1 - knowledge.base_rate))
    claims: list[Claim] = []
    first, spent_on = len(endpoint.log), 0
    for at, (i, one) in enumerate(chosen):
        if endpoint.fresh is not None and at:
            endpoint.fresh()
        if endpoint.fresh is not None or not at:
            endpoint.share(1 if one_at_a_time else len(chosen))
        try:
            counts = _with_and_without(endpoint, knowledge, one)
        except BudgetError:
            break
        except SfumatoError as error:
            if is_over(error):
                raise
            return AttackResult(tuple(claims), reason="a count of one person is refused")
        spent_on += 1
        signs = [1 if count > 0.5 else -1 for count in counts]
        lean = signs[0] if len(signs) == 1 else signs[0] - signs[1]
        if lean:
            claims.append(Claim(i, before + price * lean > 0))
    worst = tuple(asked.sql for asked in endpoint.log[first:][:3])
    how = "the whole budget on one person" if one_at_a_time else f"the budget on {spent_on} people"
    measured = f", repeated for {spent_on} of the people with a copy of the ledger each" if one_at_a_time else ""
    return AttackResult(tuple(claims), reason=f"{how}, counted with the secret and without it{measured}", worst=worst)


def _with_and_without(endpoint: Endpoint, knowledge: Knowledge, one: Person) -> list[float]:
    """How many are she and have the secret; and, where it costs nothing more, how many are she and have it not."""
    counts = [f"COUNT(*) FILTER (WHERE {knowledge.secret})", f"COUNT(*) FILTER (WHERE NOT ({knowledge.secret}))"]
    shown = counts[:1] if endpoint.between == 1 else counts
    rows = endpoint.ask(f"SELECT {', '.join(shown)} FROM {identifier(knowledge.table)} WHERE {one.where}")
    return [float(value or 0) for value in rows[0]]


def _everybody(endpoint: Endpoint, knowledge: Knowledge, trick: Trick) -> AttackResult:
    claims: list[Claim] = []
    curve: list[tuple[int, tuple[Claim, ...]]] = []
    exact = is_exact(endpoint, knowledge)
    worst: tuple[str, ...] = ()
    for i, _ in each(knowledge.people, _MOST):
        before = len(endpoint.log)
        try:
            value = trick(endpoint, knowledge, i)
        except BudgetError:
            break
        if value is None:
            continue
        if len(worst) < 3:
            worst = tuple(dict.fromkeys([*worst, *_questions(endpoint, before)]))
        claims.append(Claim(i, value > 0.5, certain=exact and value in (0.0, 1.0)))
        if i % 50 == 0:
            curve.append((len(endpoint.log), tuple(claims)))
    if not claims:
        return AttackResult(reason="the budget was spent before anybody was found")
    return AttackResult(tuple(claims), reason=_sentence(trick), worst=worst, curve=tuple(curve))


def _questions(endpoint: Endpoint, before: int) -> tuple[str, ...]:
    """What was asked about one person, after what was asked once for all."""
    asked = [one.sql for one in endpoint.log[before:]]
    shared = [sql for sql in endpoint.noted if any(own.startswith(sql) for own in asked)]
    return (*shared, *asked)


def _sentence(trick: Trick) -> str:
    return (trick.__doc__ or "").rstrip(".")


def own_row(endpoint: Endpoint, knowledge: Knowledge, i: int) -> float | None:
    """A person's own row: how many are she and have the secret."""
    return endpoint.number(knowledge.count(f"{knowledge.people[i].where} AND {knowledge.secret}"))


def union(endpoint: Endpoint, knowledge: Knowledge, i: int) -> float | None:
    """The union trick: she or a second person, and the second or a third; together they tell."""
    n = len(knowledge.people)
    a, b, c = (knowledge.people[(i + step) % n].where for step in range(3))
    both = endpoint.number(knowledge.count(f"(({a}) OR ({b})) AND {knowledge.secret}"))
    rest = endpoint.number(knowledge.count(f"(({b}) OR ({c})) AND {knowledge.secret}"))
    third = endpoint.number(knowledge.count(f"(({a}) OR ({c})) AND {knowledge.secret}"))
    if both is None or rest is None or third is None:
        return None
    return (both - rest + third) / 2


def all_but_one(endpoint: Endpoint, knowledge: Knowledge, i: int) -> float | None:
    """Differencing: everybody with the secret, and everybody but her."""
    everybody = endpoint.once(knowledge.count(knowledge.secret))
    others = endpoint.number(knowledge.count(f"{knowledge.secret} AND NOT ({knowledge.people[i].where})"))
    return None if everybody is None or others is None else everybody - others


def background(endpoint: Endpoint, knowledge: Knowledge, i: int) -> float | None:
    """Background knowledge: all who are like her in one thing have the secret, or none has."""
    one = knowledge.people[i]
    best: float | None = None
    for column in one.known:
        like = equals(column, one.known[column])
        size = endpoint.number(knowledge.count(like))
        having = endpoint.number(knowledge.count(f"{like} AND {knowledge.secret}"))
        if size and having is not None and (best is None or abs(having / size - 0.5) > abs(best - 0.5)):
            best = having / size
    return best


def tracker(endpoint: Endpoint, knowledge: Knowledge, i: int) -> float | None:
    """The tracker: a large set that does not hold her, with her and without her, if she has the secret."""
    for fence in fences(knowledge, knowledge.people[i]):
        base = endpoint.once(knowledge.count(fence))
        more = endpoint.number(knowledge.count(f"{fence} OR ({knowledge.people[i].where} AND {knowledge.secret})"))
        if base is not None and more is not None:
            return more - base
    return None


def fences(knowledge: Knowledge, one: Person) -> list[str]:
    """Sets without her: on the other side of the middle of a column, or of everybody who has another value there."""
    halves, others = [], []
    for column, value in sorted(one.known.items(), key=lambda item: item[0] != knowledge.key):
        if value is None:
            continue
        middle = _middle(knowledge, column)
        if middle is not None:
            halves.append(f"{identifier(column)} {'>=' if value < middle else '<'} {literal(middle)}")
        if column != knowledge.key:
            others.append(f"NOT ({equals(column, value)})")
    return [*halves[:3], *others[:3]]


@lru_cache(maxsize=256)
def _middle(knowledge: Knowledge, column: str) -> Any:
    """The middle value of a column among those who are known, None where it has no order or none have values."""
    values = [p.known[column] for p in knowledge.people if p.known[column] is not None]
    if len(values) < 8 or isinstance(values[0], bool) or len({type(v) for v in values}) > 1:
        return None
    return sorted(values)[len(values) // 2]
