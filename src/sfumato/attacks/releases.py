"""Attacks on published tables: what releases say about people whose quasi-identifiers are known.

Comes in: one or more releases of the same people, and what the attacker knows. Goes out: claims about people. For each
person and release the attacker finds the classes whose labels cover the person; the rest is reasoning about the
sensitive values of these classes, in each release and in all together. RELEASE_ATTACKS is the table of all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from sfumato.attacks.base import AttackResult, Claim, Knowledge, SecretFact
from sfumato.attacks.joint import values_left_together
from sfumato.attacks.matching import Candidates
from sfumato.attacks.minimality import posterior_of_minimality
from sfumato.attacks.views import ReleaseView, view

__all__ = ["RELEASE_ATTACKS", "ReleaseAttack", "ReleaseView", "view"]

_SURE = Fraction(9, 10)
"""How probable a secret must be, or its opposite, to be claimed where it is not certain."""
_MOVED = Fraction(2)
"""Odds that moved by this factor are a finding of the skewness attack."""


def _share(values: Counter[Any], fact: SecretFact) -> Fraction:
    return Fraction(sum(n for value, n in values.items() if fact.holds(value)), values.total())


def _merged(found: Iterable[Claim]) -> tuple[Claim, ...]:
    """One claim for each person: a certain one if there is one."""
    kept: dict[int, Claim] = {}
    for claim in found:
        if claim.person not in kept or (claim.certain and not kept[claim.person].certain):
            kept[claim.person] = claim
    return tuple(kept[person] for person in sorted(kept))


def link_rows(views: Sequence[ReleaseView], knowledge: Knowledge) -> AttackResult:
    """People to whom one released row must belong: no other row fits them, or nobody else fits the row."""
    claims = []
    for one in views:
        for i, group in enumerate(one.candidates):
            left = one.left_of(group)
            if one.has_rows_for_all(i) and len(left) == 1 and one.classes[left[0]].total() == 1:
                claims.append(Claim(i, _share(one.classes[left[0]], knowledge.fact) == 1, certain=True))
            elif group not in one.forced.left:  # not all rows are somebody's, or not everybody is known
                alone = [at for at in group if one.classes[at].total() == one.fitting[at] == 1]
                claims += [Claim(i, _share(one.classes[at], knowledge.fact) == 1) for at in alone[:1]]
    found = _merged(claims)
    return AttackResult(found, reason="one row fits a person alone" if found else "several rows fit everybody")


def find_homogeneous(views: Sequence[ReleaseView], knowledge: Knowledge) -> AttackResult:
    """People all of whose possible rows agree: no row needs to be told from another."""
    claims = []
    for one in views:
        shares: dict[Candidates, Fraction] = {}
        for i, group in enumerate(one.candidates):
            if group not in shares:
                values = one.values(group)
                shares[group] = _share(values, knowledge.fact) if values else Fraction(1, 2)
            if shares[group] in (0, 1):
                claims.append(Claim(i, shares[group] == 1, certain=one.has_rows_for_all(i)))
    found = _merged(claims)
    return AttackResult(found, reason="classes whose secrets agree" if found else "every class has both answers")


def find_skewed(views: Sequence[ReleaseView], knowledge: Knowledge) -> AttackResult:
    """People whose odds of having the secret moved by a factor of two or more, and the likelier answer.

    Of several releases the one counts that moves them most.
    """
    prior = Fraction(knowledge.base_rate)
    best: dict[int, tuple[Fraction | None, Claim]] = {}
    for one in views if 0 < prior < 1 else ():

        @cache
        def having(group: Candidates, one: ReleaseView = one) -> Fraction:
            shares = one.shares(group).items()
            return sum((part for value, part in shares if knowledge.fact.holds(value)), Fraction(0))

        for i, group in enumerate(one.candidates):
            if not group:
                continue
            share = having(group)
            before, after = prior / (1 - prior), None if share == 1 else share / (1 - share)
            ratio = None if after is None or after == 0 else max(after / before, before / after)
            claim = Claim(i, 2 * share > 1, certain=share in (0, 1) and one.has_rows_for_all(i))
            held = best.get(i)
            if held is None or _is_more(ratio, claim, *held):
                best[i] = ratio, claim
    moved = {i: (ratio, claim) for i, (ratio, claim) in best.items() if ratio is None or ratio >= _MOVED}
    most = max([Fraction(1), *(ratio for ratio, _ in moved.values() if ratio is not None)])
    words = f"odds of {len(moved)} people moved by a factor of 2 or more, without certainty by up to {float(most):.1f}"
    return AttackResult(tuple(claim for _, (_, claim) in sorted(moved.items())), reason=words)


def _is_more(ratio: Fraction | None, claim: Claim, held: Fraction | None, other: Claim) -> bool:
    """Whether odds moved more than in another release; None is without bound."""
    if claim.certain is not other.certain:
        return claim.certain
    return held is not None and (ratio is None or ratio > held)


def intersect(views: Sequence[ReleaseView], knowledge: Knowledge) -> AttackResult:
    """What several releases allow together: common values (Ganta 2008), and differences of their sums."""
    if len(views) < 2:
        return AttackResult(applicable=False, reason="one release alone: name a second one with --release")
    together = values_left_together(views, knowledge.fact)
    claims = []
    for i in range(len(knowledge.people)):
        cell = tuple(one.candidates[i] for one in views)
        holding = {knowledge.fact.holds(value) for value in together.get(cell, ())}
        if len(holding) == 1:
            claims.append(Claim(i, holding.pop(), certain=True))
            continue
        sets = [one.values(group) for one, group in zip(views, cell, strict=True) if group]
        common = set.intersection(*({*one} for one in sets)) if len(sets) > 1 else set()
        holding = {knowledge.fact.holds(value) for value in common}
        if len(holding) == 1:
            claims.append(Claim(i, holding.pop()))
    return AttackResult(
        tuple(claims), reason="values that the releases allow together" if claims else "the releases allow both"
    )


def use_minimality(views: Sequence[ReleaseView], knowledge: Knowledge) -> AttackResult:
    """People in classes that would have been cut if their secrets had allowed it (Wong and others, VLDB 2007).

    That a rule refused the cut is an assumption, so that no claim is certain. Only the rarer answer of a class is
    claimed: the commoner one is what the class itself says.
    """
    claims = _merged(claim for one in views for claim in _uncut(one, knowledge))
    if not claims and not any(_may_be_refused(one, knowledge.fact) for one in views):
        return AttackResult(
            applicable=False, reason="some classes are homogeneous: nothing was refused for diversity's sake"
        )
    words = "cuts that were not made" if claims else "cuts that were not made say too little"
    return AttackResult(claims, reason=words)


def _may_be_refused(one: ReleaseView, fact: SecretFact) -> bool:
    """Whether every class has both answers, as a rule of diversity would have it."""
    return all(0 < _share(values, fact) < 1 for values in one.classes)


def _uncut(one: ReleaseView, knowledge: Knowledge) -> list[Claim]:
    """Claims from the cuts that one release does not have."""
    if not one.everybody or not _may_be_refused(one, knowledge.fact):
        return []
    members: dict[int, list[int]] = {}
    for i, candidates in enumerate(one.candidates):
        if len(candidates) == 1:
            members.setdefault(candidates[0], []).append(i)
    k = min(values.total() for values in one.classes)
    shares = [_share(values, knowledge.fact) for values in one.classes]
    most = Fraction(1, 2) if max(shares) <= Fraction(1, 2) else None
    claims = []
    for at, inside in members.items():
        if not len(inside) == one.fitting[at] == one.classes[at].total():
            continue  # somebody is in the class of whom nothing is known
        having = int(shares[at] * len(inside))
        chances = posterior_of_minimality([knowledge.people[i].known for i in inside], having, k, most)
        rarer = 2 * shares[at] <= 1
        for i, chance in zip(inside, chances or [], strict=False):
            if (chance if rarer else 1 - chance) >= _SURE:
                claims.append(Claim(i, rarer))
    return claims


@dataclass(frozen=True)
class ReleaseAttack:
    """A name, the function, what it does, and the cheapest thing that would have stopped it."""

    name: str
    run: Callable[[Sequence[ReleaseView], Knowledge], AttackResult]
    what: str
    advice: str


RELEASE_ATTACKS: dict[str, ReleaseAttack] = {
    attack.name: attack
    for attack in (
        ReleaseAttack(
            "linking", link_rows, "a released row that must be one person's", "k-anonymity: several rows for everybody"
        ),
        ReleaseAttack(
            "homogeneity",
            find_homogeneous,
            "classes in which everybody has the same secret",
            "l-diversity: several values in every class",
        ),
        ReleaseAttack(
            "skewness",
            find_skewed,
            "classes in which far more people have the secret than elsewhere, or far fewer",
            "t-closeness: classes like the whole table",
        ),
        ReleaseAttack(
            "intersection",
            intersect,
            "what several releases leave together: values that all of them allow, and differences of their sums",
            "one release only; or noisy aggregates with a ledger",
        ),
        ReleaseAttack(
            "minimality",
            use_minimality,
            "classes that would have been cut if their secrets had allowed it",
            "no rule that looks at secrets: noisy aggregates with a ledger",
        ),
    )
}
"""Every attack on releases by name."""
