"""Attacks on published tables: what releases say about people whose quasi-identifiers are known.

Comes in: one or more releases of the same people, and what the attacker knows. Goes out: claims about people. For each
person and release the attacker finds the classes whose labels cover the person; the rest is reasoning about the
sensitive values of these classes. RELEASE_ATTACKS is the table of all of them.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.anonymity.inspection.coverage import cover
from sfumato.anonymity.inspection.meaning import read_trees
from sfumato.anonymity.inspection.reading import PublishedTable, read_published
from sfumato.attacks.base import AttackResult, Claim, Knowledge, SecretFact, plain
from sfumato.attacks.minimality import posterior_of_minimality
from sfumato.attacks.spelling import Spelling
from sfumato.errors import InputError

_SURE = Fraction(9, 10)
"""How probable a secret must be, or its opposite, to be claimed where it is not certain."""
_MOST_WAYS = 256
"""Spellings of what is known of one person, at most."""
_MOVED = Fraction(2)
"""Odds that moved by this factor are a finding of the skewness attack."""


@dataclass(frozen=True)
class ReleaseView:
    """A release as the attacker sees it: sensitive values by class, and the classes that each person can be in."""

    name: str
    classes: tuple[Counter[Any], ...]
    candidates: tuple[tuple[int, ...], ...]
    fitting: Counter[int]
    everybody: bool = True

    def has_rows_for_all(self, person: int) -> bool:
        """Whether no class of the person has fewer rows than people who fit it: then nobody's row is missing.

        Everybody counts whom the table has, also those who are not attacked; where they are not known, nothing is sure.
        """
        return self.everybody and all(self.classes[at].total() >= self.fitting[at] for at in self.candidates[person])

    def values(self, person: int) -> Counter[Any]:
        """The sensitive values of all rows that can be the person's."""
        total: Counter[Any] = Counter()
        for at in self.candidates[person]:
            total.update(self.classes[at])
        return total


def view(
    file: str | Path,
    knowledge: Knowledge,
    hierarchies: Path | None,
    spelling: Spelling | None = None,
    everybody: Sequence[Mapping[str, Any]] | None = None,
) -> ReleaseView:
    """Read a release, and find everybody's classes.

    `everybody` has what is known of all people of the table; without it they are those whom the attacker knows.
    """
    table = read_published(file)
    if knowledge.fact.column not in table.columns:
        raise InputError(f'"{table.name}" has no column "{knowledge.fact.column}"')
    columns = tuple(c for c in knowledge.people[0].known if c in table.columns and c != knowledge.fact.column)
    if not columns:
        raise InputError(f'"{table.name}" has no column that is known of people', hint="Name some with --known A,B.")
    crowd = everybody or [*(one.known for one in knowledge.people), *knowledge.others]
    complete = everybody is not None or not knowledge.only
    return _view(
        table, columns, knowledge, hierarchies, spelling=spelling or Spelling(), crowd=crowd, complete=complete
    )


def _view(
    table: PublishedTable,
    columns: tuple[str, ...],
    knowledge: Knowledge,
    place: Path | None,
    *,
    spelling: Spelling,
    crowd: Sequence[Mapping[str, Any]],
    complete: bool,
) -> ReleaseView:
    hidden = knowledge.fact.column
    classes: dict[tuple[str, ...], Counter[Any]] = {}
    for key, (secret,) in zip(table.parts(columns), table.parts((hidden,)), strict=True):
        classes.setdefault(key, Counter())[spelling.value(hidden, secret)] += 1
    known = [_texts(one.known, columns, spelling) for one in knowledge.people]
    others = [_texts(one, columns, spelling) for one in crowd]
    people = {key: Counter({"": 1}) for keys in (*known, *others) for key in keys}
    labels: list[tuple[tuple[str, ...], Counter[str]]] = [(key, Counter()) for key in classes]
    masks = cover(columns, labels, people, read_trees(place, columns)).masks
    found = {keys: _places(keys, masks) for keys in {*known, *others}}
    fitting = Counter(at for keys in others for at in found[keys])
    return ReleaseView(table.name, tuple(classes.values()), tuple(found[keys] for keys in known), fitting, complete)


def _texts(known: Mapping[str, Any], columns: tuple[str, ...], spelling: Spelling) -> tuple[tuple[str, ...], ...]:
    """What is known of somebody, in every way in which it is spelt."""
    ways = [spelling.of(c, plain(known[c])) for c in columns]
    if math.prod(map(len, ways)) > _MOST_WAYS:
        ways = [way[:1] for way in ways]
    return tuple(itertools.product(*ways))


def _places(keys: tuple[tuple[str, ...], ...], masks: Mapping[tuple[str, ...], int]) -> tuple[int, ...]:
    """The classes that cover one of the spellings."""
    mask, found = 0, []
    for key in keys:
        mask |= masks[key]
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)


def _share(values: Counter[Any], fact: SecretFact) -> Fraction:
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
        if not len(inside) == one.fitting[at] == one.classes[at].total() or not one.everybody:
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
