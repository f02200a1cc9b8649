"""Differencing: questions that are harmless each and name one person together; and the general tracker.

The four examples of illegitimate use are tried in turn: a person's own row, the union of two, everybody minus one, and
background knowledge. Where an endpoint refuses small sets the tracker goes around it: a large set T with and without
one person more (Denning, Denning, Schwartz, TODS 1979).
"""

from __future__ import annotations

from collections.abc import Callable

from sfumato.attacks.base import Claim, Endpoint, Found, Knowledge, Person, each, equals, is_exact, not_applicable
from sfumato.errors import BudgetError
from sfumato.words import identifier

_MOST = 1000
Trick = Callable[[Endpoint, Knowledge, int], float | None]


def run(endpoint: Endpoint, knowledge: Knowledge) -> Found:
    """One trick that works for the first people is used for all; the sharpest first."""
    if len(knowledge.people) < 4:
        return not_applicable("it takes at least four people")
    endpoint.share(len(knowledge.people) + 20)
    for trick in (own_row, union, all_but_one, background, tracker):
        try:
            tried = [trick(endpoint, knowledge, i) for i in range(3)]
        except BudgetError:
            return Found(reason="the budget was spent before a trick was found")
        if all(value is not None and abs(value) < 1e6 for value in tried):
            try:
                return _everybody(endpoint, knowledge, trick)
            except BudgetError:
                return Found(reason="the budget was spent before anybody was found")
    return Found(reason="every form of the question was refused")


def _everybody(endpoint: Endpoint, knowledge: Knowledge, trick: Trick) -> Found:
    claims, curve = [], []
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
        worst = worst or tuple(asked.sql for asked in endpoint.log[before:][:3])
        claims.append(Claim(i, value > 0.5, certain=exact and value in (0.0, 1.0)))
        curve.append((len(endpoint.log), tuple(claims)) if i % 50 == 0 else None)
    return Found(tuple(claims), reason=trick.__doc__ or "", worst=worst, curve=tuple(point for point in curve if point))


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
    for fence in _fences(knowledge, knowledge.people[i]):
        base = endpoint.once(knowledge.count(fence))
        more = endpoint.number(knowledge.count(f"{fence} OR ({knowledge.people[i].where} AND {knowledge.secret})"))
        if base is not None and more is not None:
            return more - base
    return None


def _fences(knowledge: Knowledge, one: Person) -> list[str]:
    """Sets without her, each about half of the data: by the middle of a known column, on the other side of her."""
    fences = []
    for column, value in one.known.items():
        if value is None or isinstance(value, bool):
            continue
        values = sorted(p.known[column] for p in knowledge.people if isinstance(p.known[column], type(value)))
        if len(values) < 8:
            continue
        middle = values[len(values) // 2]
        sign = ">=" if value < middle else "<"
        edge = equals(column, middle).partition(" = ")[2]
        fences.append(f"{identifier(column)} {sign} {edge}")
    key = knowledge.key
    return sorted(fences, key=lambda fence: key is None or not fence.startswith(identifier(key)))[:3]
