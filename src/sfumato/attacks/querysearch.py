"""Query search: which questions tell people apart is not known beforehand, but found by trying them out.

Comes in: an endpoint, and friends whose secrets the attacker knows anyway. Goes out: claims about others. Candidates
are counts of sets around a person, in several words; a small set of them is kept if a linear rule made of their answers
gives the friends' secrets, each friend's from the others, and is changed at random where it does not: an evolution, as
QuerySnout has it (Cretu, Houssiau, Cully, de Montjoye, CCS 2022). Nothing is known here of how an endpoint defends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import AttackResult, Claim, Endpoint, Knowledge, Person, equals, is_over, not_applicable, some
from sfumato.attacks.differencing import fences
from sfumato.attacks.subsets import random_numbers
from sfumato.errors import BudgetError, SfumatoError

_FRIENDS, _TARGETS = 24, 80
_PRICED_FRIENDS, _PRICED_TARGETS = 8, 12
_POOL, _PRICED_POOL = 40, 4
"""Questions that are tried out on the friends, at most."""
_GENERATIONS, _KEPT, _CHILDREN, _LARGEST = 12, 4, 8, 4
_RIDGE = 1e-3
_PER_PERSON = ("{me}", "NOT ({me})", "{like} AND NOT ({me})", "{fence} OR ({me} AND {fact})", "{like}")
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Question:
    """A form of a condition, whether the secret is asked for, its opposite or neither, and in which words."""

    form: str
    fact: int
    words: int

    def where(self, knowledge: Knowledge, one: Person) -> str | None:
        fact = (knowledge.secret, f"NOT ({knowledge.secret})", "1 = 1")[self.fact]
        fence = next(iter(fences(knowledge, one)), "1 = 0")
        column = next((c for c in one.known if c != knowledge.key and one.known[c] is not None), None)
        like = "1 = 1" if column is None else equals(column, one.known[column])
        inside = self.form.format(me=one.where, fact=fact, fence=fence, like=like)
        tail = "" if "{fact}" in self.form else f" AND {fact}"
        return f"({inside}){tail}" + (f" AND {self.words} = {self.words}" if self.words else "")


@dataclass
class _Search:
    """Answers so far, and which questions are refused."""

    endpoint: Endpoint
    knowledge: Knowledge
    friends: Sequence[int]
    pool: int
    answers: dict[_Question, Floats | None] = field(default_factory=dict)

    def ask(self, question: _Question, people: Sequence[int]) -> Floats | None:
        """The answers about these people; None where one is refused."""
        found = []
        for i in people:
            where = question.where(self.knowledge, self.knowledge.people[i])
            value = None if where is None else self.endpoint.number(self.knowledge.count(where))
            if value is None:
                return None
            found.append(value)
        return np.array(found)

    def features(self, questions: Sequence[_Question]) -> Floats | None:
        """The friends' answers to each question; None where one is refused or no more may be tried."""
        for question in questions:
            if question not in self.answers:
                if len(self.answers) >= self.pool:
                    return None
                self.answers[question] = self.ask(question, self.friends)
        columns = [self.answers[question] for question in questions]
        if any(column is None for column in columns):
            return None
        return np.array([column for column in columns if column is not None]).T

    def fitness(self, questions: Sequence[_Question]) -> float:
        """How often a friend's secret is right by a rule that was made from the other friends."""
        features = self.features(questions)
        if features is None:
            return -1.0
        bits = np.array([self.knowledge.told[i] for i in self.friends], float)
        design = np.hstack([_scaled(features, features), np.ones((len(bits), 1))])
        gram = design.T @ design + _RIDGE * len(bits) * np.eye(design.shape[1])
        hat = design @ np.linalg.solve(gram, design.T)
        errors = (bits - hat @ bits) / np.maximum(1e-9, 1 - np.diag(hat))
        return float(np.mean(np.abs(errors) < 0.5)) - 1e-3 * len(questions) - 1e-3 * float(np.mean(np.abs(errors)))


def run(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """Search on friends, then ask about others."""
    priced = endpoint.epsilon is not None
    friends = [i for i in knowledge.told if i < len(knowledge.people)][: _PRICED_FRIENDS if priced else _FRIENDS]
    if len({knowledge.told[i] for i in friends}) < 2:
        return not_applicable("it takes friends with the secret and without it")
    others = [i for i, _ in some(knowledge.people, len(knowledge.people)) if i not in knowledge.told]
    others = others[: _PRICED_TARGETS if priced else _TARGETS]
    pool = _PRICED_POOL if priced else _POOL
    endpoint.share(pool * len(friends) + 2 * len(others))
    search, first = _Search(endpoint, knowledge, friends, pool), len(endpoint.log)
    try:
        best = _evolve(search)
        if best is None:
            return AttackResult(reason="every query that was tried is refused")
        return _apply(search, best, others, first)
    except BudgetError:
        return AttackResult(reason="the budget was spent before the search ended")


def _evolve(search: _Search) -> tuple[_Question, ...] | None:
    """Small sets of questions: the best are kept, and changed by one question at random."""
    pool = [_Question(form, fact, words) for words in range(3) for form in _PER_PERSON for fact in range(3)]
    found: dict[tuple[_Question, ...], float] = {}
    parents: list[tuple[_Question, ...]] = [(question,) for question in pool[: len(_PER_PERSON) * 3 : 3]]
    for generation in range(_GENERATIONS):
        for genome in parents:
            found.setdefault(genome, search.fitness(genome))
        kept = sorted((g for g in found if found[g] >= 0), key=lambda g: -found[g])[:_KEPT]
        if kept and found[kept[0]] > 0.99:
            break
        drawn = iter(random_numbers(f"generation {generation}", 3 * _CHILDREN))
        parents = [_changed(kept[next(drawn) % len(kept)] if kept else (), pool, next(drawn), next(drawn))
                   for _ in range(_CHILDREN)]  # fmt: skip
    alive = [genome for genome in found if found[genome] >= 0]
    return max(alive, key=lambda genome: found[genome]) if alive else None


def _changed(genome: tuple[_Question, ...], pool: Sequence[_Question], which: int, how: int) -> tuple[_Question, ...]:
    """One question more, or another in the place of one."""
    new = pool[which % len(pool)]
    kept = list(genome)
    if kept and (len(kept) >= _LARGEST or how % 3 == 0):
        kept.pop(how // 3 % len(kept))
    return tuple(sorted({*kept, new}, key=repr))


def _apply(search: _Search, best: tuple[_Question, ...], others: Sequence[int], first: int) -> AttackResult:
    """The rule of the best questions, for people whose secrets are not known."""
    features = search.features(best)
    assert features is not None
    bits = np.array([search.knowledge.told[i] for i in search.friends], float)
    design = np.hstack([_scaled(features, features), np.ones((len(bits), 1))])
    gram = design.T @ design + _RIDGE * len(bits) * np.eye(design.shape[1])
    rule = np.linalg.solve(gram, design.T @ bits)
    claims, start = [], len(search.endpoint.log)
    for i in others:
        try:
            rows = [search.ask(question, [i]) for question in best]
        except SfumatoError as error:
            if is_over(error):
                break
            raise
        if any(row is None for row in rows):
            continue
        line = np.array([[row[0] for row in rows if row is not None]])
        value = float(np.append(_scaled(line, features)[0], 1.0) @ rule)
        claims.append(Claim(i, value > 0.5))
    tried, asked = len(search.answers), len(search.endpoint.log) - first
    reason = f"{tried} queries tried on {len(search.friends)} accomplices, {len(best)} used; {asked:,} asked in all"
    return AttackResult(
        tuple(claims), reason=reason, worst=tuple(a.sql for a in search.endpoint.log[start:][: len(best)])
    )


def _scaled(values: Floats, model: Floats) -> Floats:
    spread = np.where(model.std(axis=0) > 0, model.std(axis=0), 1.0)
    return np.asarray((values - model.mean(axis=0)) / spread)
