"""What several releases of the same people leave together: groups that one release alone does not show.

Comes in: releases beside the original rows: sensitive values by class, and for each person the classes that cover her.
Goes out: the groups of people whom no release tells apart. Who is in one release and not in another is told apart by
that too: subtraction. Rows that the same people have more or fewer of in two releases are those of who came or left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from sfumato.anonymity.inspection.claims import Claims
from sfumato.anonymity.inspection.coverage import places

Mark = tuple[int, ...]
Place = tuple[int, int]
"""Which of two releases, and which of its classes."""


@dataclass(frozen=True)
class EarlierRelease:
    """An earlier release of the same people, and its quasi-identifiers; without them all columns count as known.

    `sensitive` is the column that it protected, `keep` are those that it kept as they are. Its labels are read with its
    own `hierarchies` (None: it had none), or with those of the release that is checked. `claims` is what it promised,
    with its number of dummies, and `order` its sensitive values from low to high.
    """

    file: str | Path
    quasi: tuple[str, ...] = ()
    sensitive: str | None = None
    same_hierarchies: bool = True
    hierarchies: Path | None = None
    claims: Claims = field(default_factory=Claims)
    order: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShownRelease:
    """A release beside the original rows: sensitive values by class, and for each original row a bit for each class.

    `values` are the sensitive values of the original rows; `tells` says whether the release has them too.
    """

    name: str
    classes: list[Counter[str]]
    masks: list[int]
    values: Sequence[str]
    tells: bool = True

    @cached_property
    def parts(self) -> dict[int, CoveredPart]:
        """For each set of classes that covers somebody the part that it is in."""
        tops, sums = _Parts(), dict[Place, CoveredPart]()
        for mask in {*self.masks} - {0}:
            tops.join([(0, i) for i in places(mask)])
        found = {mask: tops.top((0, next(places(mask)))) for mask in {*self.masks} - {0}}
        for mask, value in zip(self.masks, self.values, strict=True):
            if mask:
                sums.setdefault(found[mask], CoveredPart(self.tells)).people[value] += 1
        for at in list(tops.above):
            sums[tops.top(at)].rows.update(self.classes[at[1]])
        return {mask: sums[at] for mask, at in found.items()}


@dataclass(frozen=True, eq=False)
class CoveredPart:
    """Classes of a release that share people: their rows, and everybody whom they cover."""

    tells: bool
    people: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)

    @cached_property
    def many_out(self) -> int:
        """How many of the people are not in the release."""
        out = self.people - self.rows if self.tells else Counter(all=self.people.total() - self.rows.total())
        return max(0, out.total())

    @cached_property
    def most_out(self) -> Counter[str]:
        """Of each value, how many people at most are covered and not in the release."""
        if self.tells:
            return self.people - self.rows
        return Counter({value: min(n, self.many_out) for value, n in self.people.items() if self.many_out})

    def least_out(self, values: Counter[str]) -> tuple[int, Counter[str]]:
        """How many of some people of this part are surely not in the release, and how many of each value."""
        if self.tells:
            sure = self.most_out - (self.people - values)
            return sure.total(), sure
        many = max(0, self.many_out - (self.people - values).total())
        return many, +Counter({value: many - (values.total() - n) for value, n in values.items()})

    def settles(self, values: Counter[str]) -> bool:
        """Whether it is known how many of some people of this part are in the release."""
        return all(values[value] in (0, self.people[value]) for value in self.most_out) and (
            self.tells or not self.many_out
        )


@dataclass(frozen=True)
class JointGroup:
    """People of the same classes in all releases, and their sensitive values.

    They are in all of these releases, or one of them leaves them out. Where it is not known whom it leaves out,
    `values` are those of which it is sure, and `settled` says whether there are no others.
    """

    size: int
    values: Counter[str]
    settled: bool = True


def joint_groups(shown: Sequence[ShownRelease]) -> list[JointGroup]:
    """The people whom no release tells apart: those of the same classes in every release (the meet of the partitions).

    Guarantee: nobody who knows the quasi-identifiers of everybody and all of these releases can tell the people of a
        group apart, nor who knows in addition in which of the releases somebody is: a row that can be one's can be that
        of each of them, and each can have every value of the group.
    Proof: rows can be given to people in some ways that fit all releases, one of which is true. Exchange two people
        whom the same classes cover in every release and who are in the same releases: what was a way is one. Who is in
        one release alone is in another group: subtraction. Classes that share people have the rows of all those whom
        they cover but `many_out`; at most so many are subtracted from a group, and whoever of a group is surely left
        out is a group of its own. Where two releases leave somebody out, nobody is surely out of both or of one.
    Reference: Ganta, Kasiviswanathan, Smith 2008.
    Checked by: unit::whoever_passes_is_one_of_k_with_l_values_in_all_worlds,
        unit::whoever_is_known_to_be_in_releases_that_pass_has_l_values,
        unit::groups_that_pass_hold_for_who_knows_the_members_of_every_release
    """
    groups: dict[Mark, Counter[str]] = {}
    for mark, value in zip(zip(*(one.masks for one in shown), strict=True), shown[0].values, strict=True):
        if any(mark):
            groups.setdefault(mark, Counter())[value] += 1
    return [group for mark, values in groups.items() for group in _apart(shown, mark, values)]


def _apart(shown: Sequence[ShownRelease], mark: Mark, values: Counter[str]) -> Iterator[JointGroup]:
    """People of the same classes: those who are in all of these releases, and those whom one leaves out."""
    parts = [one.parts[mask] for one, mask in zip(shown, mark, strict=True) if mask]
    lacking = [part for part in parts if any(value in part.most_out for value in values)]
    sure = values.copy()
    for part in lacking:
        sure -= part.most_out
    settled = not lacking or (len(lacking) == 1 and lacking[0].settles(values))
    yield JointGroup(max(1, sure.total()), sure, settled)
    if lacking and len(parts) > 1:  # who is in no release at all is shown by none
        many, out = lacking[0].least_out(values) if len(lacking) == 1 else (0, Counter[str]())
        yield JointGroup(max(1, many), out, settled)


def changed_groups(one: ShownRelease, other: ShownRelease) -> Iterator[JointGroup]:
    """Rows that one of two releases has more of, where both cover the same people: those of who came or left."""
    pairs = {pair for pair in zip(one.masks, other.masks, strict=True) if any(pair)}
    parts = _Parts()
    for pair in pairs:
        parts.join([(side, i) for side, mask in enumerate(pair) for i in places(mask)])
    apart = {parts.top((side, next(places(pair[side])))) for pair in pairs for side in (0, 1) if not pair[1 - side]}
    rows: dict[Place, tuple[Counter[str], Counter[str]]] = {}
    for at in list(parts.above):
        rows.setdefault(parts.top(at), (Counter(), Counter()))[at[0]].update((one, other)[at[0]].classes[at[1]])
    for name, (here, there) in rows.items():
        found = () if name in apart else (here - there, there - here)
        yield from (JointGroup(rest.total(), rest) for rest in found if rest)


@dataclass(frozen=True)
class _Parts:
    """Classes of two releases in parts that share people."""

    above: dict[Place, Place] = field(default_factory=dict)

    def top(self, at: Place) -> Place:
        self.above.setdefault(at, at)
        while self.above[at] != at:
            self.above[at] = self.above[self.above[at]]
            at = self.above[at]
        return at

    def join(self, places: Sequence[Place]) -> None:
        for at in places:
            self.above[self.top(at)] = self.top(places[0])
