"""Attacks on published tables: what releases say about people whose quasi-identifiers are known.

Comes in: one or more releases of the same people, and what the attacker knows. Goes out: claims about people. For each
person and release the attacker finds the classes whose labels cover the person; the rest is reasoning about the
sensitive values of these classes. RELEASE_ATTACKS is the table of all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.anonymity.inspection.coverage import cover
from sfumato.anonymity.inspection.meaning import read_trees
from sfumato.anonymity.inspection.reading import PublishedTable, read_published
from sfumato.attacks.base import AttackResult, Claim, Knowledge, SecretFact
from sfumato.attacks.minimality import posterior_of_minimality
from sfumato.errors import InputError

_SURE = Fraction(9, 10)
"""How probable a secret must be, or its opposite, to be claimed where it is not certain."""
_MOVED = Fraction(2)
"""Odds that moved by this factor are a finding of the skewness attack."""


@dataclass(frozen=True)
class ReleaseView:
    """A release as the attacker sees it: sensitive values by class, and the classes that each person can be in."""

    name: str
    classes: tuple[Counter[str], ...]
    candidates: tuple[tuple[int, ...], ...]

    @cached_property
    def fitting(self) -> Counter[int]:
        """How many of the people whom the attacker knows can be in each class."""
        return Counter(at for candidates in self.candidates for at in candidates)

    def has_rows_for_all(self, person: int) -> bool:
        """Whether no class of the person has fewer rows than people: then nobody's row is known to be missing."""
        return all(self.classes[at].total() >= self.fitting[at] for at in self.candidates[person])

    def values(self, person: int) -> Counter[str]:
        """The sensitive values of all rows that can be the person's."""
        total: Counter[str] = Counter()
        for at in self.candidates[person]:
            total.update(self.classes[at])
        return total


def view(file: str | Path, knowledge: Knowledge, hierarchies: Path | None) -> ReleaseView:
    """Read a release, and find everybody's classes."""
    table = read_published(file)
    if knowledge.fact.column not in table.columns:
        raise InputError(f'"{table.name}" has no column "{knowledge.fact.column}"')
    columns = tuple(c for c in knowledge.people[0].known if c in table.columns and c != knowledge.fact.column)
    if not columns:
        raise InputError(f'"{table.name}" has no column that is known of people', hint="Name some with --known A,B.")
    return _view(table, columns, knowledge, hierarchies)


def _view(table: PublishedTable, columns: tuple[str, ...], knowledge: Knowledge, place: Path | None) -> ReleaseView:
    classes: dict[tuple[str, ...], Counter[str]] = {}
    for key, (secret,) in zip(table.parts(columns), table.parts((knowledge.fact.column,)), strict=True):
        classes.setdefault(key, Counter())[secret] += 1
    known = [tuple(_text(one.known[c]) for c in columns) for one in knowledge.people]
    people = {key: Counter({"": many}) for key, many in Counter(known).items()}
    masks = cover(columns, list(classes.items()), people, read_trees(place, columns)).masks
    candidates = {key: tuple(i for i in range(len(classes)) if mask >> i & 1) for key, mask in masks.items()}
    return ReleaseView(table.name, tuple(classes.values()), tuple(candidates[key] for key in known))


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _share(values: Counter[str], fact: SecretFact) -> Fraction:
    return Fraction(sum(n for value, n in values.items() if fact.holds(value)), values.total())


def link_rows(views: Sequence[ReleaseView], knowledge: Knowledge) -> AttackResult:
    """People whom exactly one released row fits: it is theirs."""
    claims = []
    for i in range(len(knowledge.people)):
        values = views[0].values(i)
        if values.total() == 1 and views[0].has_rows_for_all(i):
            claims.append(Claim(i, _share(values, knowledge.fact) == 1, certain=True))
    return AttackResult(tuple(claims), reason="one row fits a person alone" if claims else "several rows fit everybody")


def find_homogeneous(views: Sequence[ReleaseView], knowledge: Knowledge) -> AttackResult:
    """People all of whose possible rows agree: no row needs to be told from another."""
    claims = []
    for i in range(len(knowledge.people)):
        values = views[0].values(i)
        share = _share(values, knowledge.fact) if values else None
        if share in (0, 1):
            claims.append(Claim(i, share == 1, certain=views[0].has_rows_for_all(i)))
    return AttackResult(
        tuple(claims), reason="classes whose secrets agree" if claims else "every class has both answers"
    )


def find_skewed(views: Sequence[ReleaseView], knowledge: Knowledge) -> AttackResult:
    """People whose odds of having the secret moved by a factor of two or more, and the likelier answer."""
    prior = Fraction(knowledge.base_rate)
    claims, most = [], Fraction(1)
    for i in range(len(knowledge.people)):
        values = views[0].values(i)
        if not values or not 0 < prior < 1:
            continue
        share = _share(values, knowledge.fact)
        before, after = prior / (1 - prior), None if share == 1 else share / (1 - share)
        ratio = None if after is None or after == 0 else max(after / before, before / after)
        if ratio is None or ratio >= _MOVED:
            claims.append(Claim(i, 2 * share > 1, certain=share in (0, 1) and views[0].has_rows_for_all(i)))
            most = max(most, ratio or most)
    words = f"odds of {len(claims)} people moved by a factor of 2 or more, without certainty by up to {float(most):.1f}"
    return AttackResult(tuple(claims), reason=words)


def intersect(views: Sequence[ReleaseView], knowledge: Knowledge) -> AttackResult:
    """People whose value must be in a class of each of several releases: what all of them allow (Ganta 2008)."""
    if len(views) < 2:
        return AttackResult(applicable=False, reason="one release alone: name a second one with --release")
    claims = []
    for i in range(len(knowledge.people)):
        sets = [view.values(i) for view in views]
        if not all(sets):
            continue
        common = set.intersection(*({*one} for one in sets))
        holding = {knowledge.fact.holds(value) for value in common}
        alone = [{knowledge.fact.holds(value) for value in one} for one in sets]
        if len(holding) == 1 and all(len(one) == 2 for one in alone):  # no release says it by itself
            claims.append(Claim(i, holding.pop(), certain=all(view.has_rows_for_all(i) for view in views)))
    return AttackResult(
        tuple(claims), reason="values that every release allows" if claims else "the releases allow both"
    )


def use_minimality(views: Sequence[ReleaseView], knowledge: Knowledge) -> AttackResult:
    """People in classes that would have been cut if their secrets had allowed it (Wong and others, VLDB 2007)."""
    one = views[0]
    members: dict[int, list[int]] = {}
    for i, candidates in enumerate(one.candidates):
        if len(candidates) == 1:
            members.setdefault(candidates[0], []).append(i)
    k = min(values.total() for values in one.classes)
    shares = [_share(values, knowledge.fact) for values in one.classes]
    if not all(0 < share < 1 for share in shares):
        return AttackResult(
            applicable=False, reason="some classes are homogeneous: nothing was refused for diversity's sake"
        )
    most = Fraction(1, 2) if max(shares) <= Fraction(1, 2) else None
    claims = []
    for at, inside in members.items():
        if len(inside) != one.classes[at].total():
            continue  # somebody is in the class of whom nothing is known
        having = int(shares[at] * len(inside))
        chances = posterior_of_minimality([knowledge.people[i].known for i in inside], having, k, most)
        for i, chance in zip(inside, chances or [], strict=False):
            if not 1 - _SURE < chance < _SURE:
                claims.append(Claim(i, chance >= _SURE, certain=chance in (0, 1)))
    return AttackResult(
        tuple(claims), reason="cuts that were not made" if claims else "cuts that were not made say too little"
    )


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
            "linking", link_rows, "a released row that fits one person alone", "k-anonymity: several rows for everybody"
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
            "two releases, each of which leaves both answers, and together leave one",
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
