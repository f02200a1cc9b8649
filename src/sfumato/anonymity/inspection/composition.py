"""What a release and earlier ones of the same people leave together, judged by all that any of them promised.

Comes in: a release beside its original table, and earlier releases. Goes out: the k of all together, faults, and what
could not be judged together. One rule holds for all of them, in whatever order they were made: a column is known if any
release counts it as known; a column that any release protects is sensitive; what any release promises must hold of the
groups that all leave together. Where two releases disagree on a column so that this cannot be, the check does not pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from pathlib import Path

from sfumato.anonymity.inspection.case import ReleaseCase, values_of
from sfumato.anonymity.inspection.claims import is_diverse
from sfumato.anonymity.inspection.coverage import Coverage, Key, cover
from sfumato.anonymity.inspection.exact import by_class, is_alike
from sfumato.anonymity.inspection.reading import PublishedTable, read_published
from sfumato.anonymity.inspection.together import (
    EarlierRelease,
    JointGroup,
    ShownRelease,
    changed_groups,
    joint_groups,
)
from sfumato.anonymity.inspection.traces import ReleaseFault
from sfumato.anonymity.inspection.trees import Trees, read_trees, tree_of_values
from sfumato.errors import InputError
from sfumato.types import show


@dataclass
class FoundTogether:
    """What was found of earlier releases: the k of each, faults, labels whose meaning is not known, and in words what
    could not be judged together.
    """

    k: list[tuple[str, int]] = field(default_factory=list)
    faults: list[ReleaseFault] = field(default_factory=list)
    unread: dict[str, list[str]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)

    def add(self, words: str, column: str | None = None) -> None:
        """A fault, once."""
        fault = ReleaseFault("composition", words, column)
        if fault not in self.faults:
            self.faults.append(fault)


@dataclass(frozen=True)
class _Member:
    """One of the releases that are judged together: its table, what is known of it, where its labels are explained."""

    table: PublishedTable
    told: EarlierRelease
    place: Path | None
    is_this: bool = False

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def says_roles(self) -> bool:
        """Whether its quasi-identifiers are known; else every column may be one."""
        return bool(self.told.quasi)


@dataclass(frozen=True)
class _Roles:
    """What all releases together count as known, and what they protect."""

    known: frozenset[str]
    protected: tuple[str, ...]

    def columns(self, member: _Member) -> Key:
        """The columns of a release by which people are known."""
        mine = [name for name in member.table.columns if name not in self.shown(member)]
        return tuple(name for name in mine if name in self.known) or tuple(mine)

    def shown(self, member: _Member) -> Key:
        """The sensitive columns that a release shows as they are."""
        return tuple(name for name in self.protected if name in {*member.table.columns} - {*member.told.quasi})


def meet_earlier(
    case: ReleaseCase,
    earlier: Sequence[str | Path | EarlierRelease],
    keep: Key,
    hierarchies: Path | None,
    recorded: EarlierRelease | None = None,
) -> FoundTogether:
    """The smallest group that this release and earlier ones of the same people leave together, and what is wrong.

    `recorded` is what a record says of this release itself.
    """
    found = FoundTogether()
    if not earlier:
        return found
    told = EarlierRelease(
        case.published.name, case.columns, case.sensitive, claims=case.claims, order=(*case.order,), keep=keep
    )  # fmt: skip
    this = _Member(case.published, told, hierarchies, is_this=True)
    members = [this, *(_member(one, hierarchies) for one in earlier)]
    promising = [*members, *(() if recorded is None else (replace(this, told=recorded),))]
    roles = _roles(members, promising)
    for name, words in (*_known_elsewhere(case, members, roles), *_given_away(case, members, roles)):
        found.add(words, name)
    _Joint(case, members, roles, promising, found).judge()
    return found


def _member(one: str | Path | EarlierRelease, hierarchies: Path | None) -> _Member:
    told = one if isinstance(one, EarlierRelease) else EarlierRelease(one)
    return _Member(read_published(told.file), told, hierarchies if told.same_hierarchies else told.hierarchies)


def _roles(members: Sequence[_Member], promising: Sequence[_Member]) -> _Roles:
    """Known is what any release counts as known, and all that one without a record has; but for what any protects."""
    protected = tuple(dict.fromkeys(one.told.sensitive for one in promising if one.told.sensitive is not None))
    known = {name for one in promising for name in one.told.quasi}
    for member in members:
        known |= set() if member.says_roles else {*member.table.columns} - {*protected}
    return _Roles(frozenset(known), protected)


def _known_elsewhere(case: ReleaseCase, members: Sequence[_Member], roles: _Roles) -> Iterator[tuple[str, str]]:
    """Columns that are kept here as unknown and known elsewhere, or of which nobody can tell whom they cover."""
    this = members[0]
    for member in members:
        for name in this.told.keep if not member.is_this else ():
            if name in member.told.quasi:
                yield name, f'it is kept here as unknown, but is a quasi-identifier of "{member.name}"'
            elif not member.says_roles and name in member.table.columns:
                yield (
                    name,
                    f'it is kept here as unknown, but "{member.name}" has it, and no record says that it was kept',
                )
        for name in roles.columns(member):
            if name not in case.original.columns:
                words = "has this column and the original table does not: it is unknown whom its labels cover"
                yield name, f'"{member.name}" {words}'


def _given_away(case: ReleaseCase, members: Sequence[_Member], roles: _Roles) -> Iterator[tuple[str, str]]:
    """Columns that one release protects, and another one takes as known or keeps."""
    this = members[0]
    for name in roles.protected:
        who = next((one for one in members if one.told.sensitive == name), this)
        what = "sensitive here" if who.is_this else f'what "{who.name}" protects'
        if name not in case.original.columns:
            yield name, f"it is {what}, and the original table does not have it"
        for member in members:
            here = "this release" if member.is_this else f'"{member.name}"'
            if name in member.told.quasi:
                yield name, f"it is {what}, but is a quasi-identifier of {here}"
            elif name in member.told.keep:
                yield name, f"it is {what}, but {here} keeps it as it is"


@dataclass(frozen=True)
class _Joint:
    """All releases beside the original rows, for each column that any of them protects."""

    case: ReleaseCase
    members: Sequence[_Member]
    roles: _Roles
    promising: Sequence[_Member]
    found: FoundTogether

    @cached_property
    def wanted(self) -> int:
        """The largest k that any release promised; where none is claimed of this one, at least what it has."""
        least = self.case.least if self.case.claims.k is None else 1
        promised: list[int] = [one.told.claims.k for one in self.promising if one.told.claims.k is not None]
        return max([least, *promised])

    def judge(self) -> None:
        """Add the releases one by one, and judge what they leave together with all before."""
        protected = [name for name in self.roles.protected if name in self.case.original.columns]
        secrets: list[str | None] = [*protected] or [None]
        shown: dict[str | None, list[ShownRelease]] = {
            secret: [self._shown(self.members[0], secret)] for secret in secrets
        }
        views = {secret: self._views(secret) for secret in secrets}
        seen = {self._rows(self.members[0]): any(_leaves_out(one[0]) for one in shown.values())}
        least = self.case.least
        for member in self.members[1:]:
            rows = self._rows(member)
            if seen.get(rows) is False:  # a copy adds no groups, but what it promised must hold of today's table
                self._judge_copy(member, views)
                self.found.k.append((member.name, least))
                continue
            for secret in secrets:
                shown[secret].append(self._shown(member, secret))
            seen[rows] = any(_leaves_out(one[-1]) for one in shown.values())
            for secret in secrets:
                least = min(least, self._judge_last(member, shown[secret], views[secret], secret))
            self.found.k.append((member.name, least))
        if len(shown[secrets[0]]) > 1:
            self.found.left.extend(self._not_judged())
        self.found.left[:] = dict.fromkeys(self.found.left)

    def _judge_copy(self, member: _Member, views: dict[str | None, list[ReleaseCase]]) -> None:
        """Judge the rows of a release that is there already by all promises: today's table may have grown since."""
        if member.told.claims.presence not in (None, self.case.claims.presence):
            self.found.left.append(f'delta-presence, which "{member.name}" promises, is not checked together')
        columns = tuple(name for name in self.roles.columns(member) if name in self.case.original.columns)
        for secret, promised in views.items():
            if secret is not None and secret not in self.roles.shown(member):
                continue
            classes = by_class(member.table.parts(columns), values_of(member.table, secret)).values()
            groups = [JointGroup(one.total(), one) for one in classes]
            for words in _small(member.name, groups, self.wanted):
                self.found.add(words)
            for view in promised:
                for words in _worse(view, member.name, groups):
                    self.found.add(words, secret)

    def _not_judged(self) -> Iterator[str]:
        """What releases that are no copies of each other may tell together, and is not judged: none of it passes.

        Kept columns may follow from what another release counts as known, and tell its rows apart; dummies of one
        release may stand in the place of people who left.
        """
        told = "is not checked together with earlier releases"
        for name in self.case.coverage.confused:
            yield _confused(self.members[0].name, name)
        if any(one.told.claims.presence is not None for one in self.promising):
            yield f"delta-presence {told}"
        if any(one.told.keep for one in self.promising):
            yield f"what kept columns show {told}"
        if any(one.told.claims.dummies for one in self.promising):
            yield f"dummies: who of a release is real {told}"

    def _judge_last(
        self, member: _Member, shown: list[ShownRelease], views: Sequence[ReleaseCase], secret: str | None
    ) -> int:
        """Judge the groups that all releases so far leave together; the size of the smallest one."""
        groups = joint_groups(shown)
        pairs = [one for one in combinations(shown, 2) if one[1] is shown[-1] and all(part.tells for part in one)]
        changed = [(before, list(changed_groups(before, last))) for before, last in pairs]
        column = None if secret == self.case.sensitive else secret
        for words in _small(member.name, groups, self.wanted):
            self.found.add(words)
        for view in views:
            for words in _worse(view, member.name, groups):
                self.found.add(words, column)
        for before, some in changed:
            of = "" if before is shown[0] else f' of "{before.name}"'
            for words in _came(views, self.wanted, member.name, of, some):
                self.found.add(words, column)
        return min(group.size for group in (*groups, *(group for _, some in changed for group in some)))

    def _rows(self, member: _Member) -> tuple[object, ...]:
        """What a copy has in common with its original: the same rows, by which people are known alike."""
        columns, every = tuple(sorted(self.roles.columns(member))), tuple(sorted(member.table.columns))
        rows = Counter(member.table.parts(every))
        return columns, every, member.place, frozenset(rows.items())

    def _shown(self, member: _Member, secret: str | None) -> ShownRelease:
        """A release beside the original rows and their values of one column."""
        original = self.case.original
        values, tells = values_of(original, secret), secret is None or secret in self.roles.shown(member)
        if member.is_this and secret == self.case.sensitive:
            columns, classes, coverage = self.case.columns, self.case.classes, self.case.coverage
        else:
            columns, classes, coverage = self._cover(member, secret if tells else None)
        masks = [coverage.masks[key] for key in original.parts(columns)]
        return ShownRelease(member.name, _real(classes, coverage), masks, values, tells)

    def _cover(self, member: _Member, secret: str | None) -> tuple[Key, dict[Key, Counter[str]], Coverage]:
        """Which classes of a release cover whom; what is wrong with an earlier one."""
        original, table = self.case.original, member.table
        named = self.case.columns if member.is_this else self.roles.columns(member)
        columns = tuple(name for name in named if name in original.columns)
        if not columns:
            raise InputError(f'"{table.name}" shares no column with the original table')
        classes = by_class(table.parts(columns), values_of(table, secret))
        people = by_class(original.parts(columns), values_of(original, secret))
        trees: dict[str, Trees] = read_trees(member.place, columns)
        coverage = cover(columns, list(classes.items()), people, trees)
        empties = table.mixed - original.mixed  # then NULL and an empty text are one value there, and two labels here
        for name in columns:
            if name in coverage.confused or name in empties:
                self.found.left.append(_confused(table.name, name))
        if not member.is_this:
            unread = _unread(columns, classes, coverage)
            self.found.unread |= {f"{table.name}: {name}": labels for name, labels in unread.items()}
        for words in _nobody(member, coverage):
            self.found.add(words)
        return columns, classes, coverage

    def _views(self, secret: str | None) -> list[ReleaseCase]:
        """The original table with one sensitive column, for each promise about it that differs."""
        case, found = self.case, list[ReleaseCase]()
        people = by_class(case.original.parts(case.columns), values_of(case.original, secret))
        for one in self.promising:
            if secret is None or one.told.sensitive != secret:
                continue
            tree = tree_of_values(one.place, secret, values_of(case.original, secret))
            view = replace(
                case, sensitive=secret, classes={}, people=people, trees={secret: tree},
                order=one.told.order, claims=replace(one.told.claims, k=None, dummies=0, presence=None),
            )  # fmt: skip
            words = not_close(view)
            if words is not None:
                self.found.left.append(f'the t of "{one.name}" is not checked together: {words}')
            if view not in found:
                found.append(view)
        return found


def not_close(view: ReleaseCase) -> str | None:
    """Why the distance of a promised t cannot be computed."""
    kind = view.claims.distance
    if view.claims.t is None:
        return None
    if kind == "ordered" and view.order and {*view.total} - {*view.order}:
        return "its order of values lacks some of them"
    return f"there is no {kind} distance" if view.distance(kind, view.total) is None else None


def _leaves_out(shown: ShownRelease) -> bool:
    """Whether its classes cover people who are not in it: then the same rows can be those of others."""
    return any(part.many_out for part in shown.parts.values())


def _unread(columns: Key, classes: dict[Key, Counter[str]], coverage: Coverage) -> dict[str, list[str]]:
    """Labels of an earlier release whose meaning is not known, and those that stand for no value of the original."""
    found = {name: list(labels) for name, labels in coverage.unread.items()}
    for j, name in enumerate(columns):
        reached = 0
        for mask in coverage.by_column[j].values():
            reached |= mask
        lost = {key[j] for i, key in enumerate(classes) if not reached >> i & 1}
        if lost:
            found[name] = sorted({*found.get(name, ()), *lost})
    return found


def _confused(release: str, column: str) -> str:
    return f'labels of "{release}" in column "{column}" can be taken for each other: whom they cover is not checked'


def _small(name: str, groups: Sequence[JointGroup], wanted: int) -> Iterator[str]:
    """Groups that are smaller than the largest k that was promised."""
    small = [group.size for group in groups if group.size < wanted]
    if small:
        yield f'together with "{name}" {sum(small)} people are in groups below {wanted}, the smallest {min(small)}'


def _worse(view: ReleaseCase, name: str, groups: Sequence[JointGroup]) -> Iterator[str]:
    """What was promised of sensitive values and does not hold of the groups that releases leave together."""
    claims, start = view.claims, f'together with "{name}"'
    open_ = sum(group.size for group in groups if not group.settled)
    shares = claims.t is not None or claims.beta is not None
    if open_ and (shares or (claims.l is not None and claims.diversity != "distinct")):
        yield f"{start} it is not known of {open_} people who of them is in which release, nor so their l and t"
    if claims.l is not None:
        bad = sum(group.size for group in groups if not is_diverse(group.values, claims, claims.l))
        if bad:
            yield f"{start} {bad} people are in groups that are not {claims.diversity} {show(claims.l)}-diverse"
    sure = [group for group in groups if group.values]
    if claims.t is not None:
        far = max((view.distance(claims.distance, group.values) or Fraction(0) for group in sure), default=Fraction(0))
        if far > claims.t:
            yield f"{start} a group is {show(far)} from the table, farther than {show(claims.t)}"
    if claims.beta is not None:
        bad = sum(group.size for group in sure if not is_alike(group.values, view.total, claims.beta))
        if bad:
            yield f"{start} {bad} people are in groups that are not {show(claims.beta)}-like the table"


def _came(
    views: Sequence[ReleaseCase], promised: int, last: str, of: str, groups: Sequence[JointGroup]
) -> Iterator[str]:
    """Rows of a few who came or left between two releases: the difference shows their values."""
    wanted = max(2, promised)
    small = [group.size for group in groups if group.size < wanted]
    if small:
        words = f"{sum(small)} rows{of} of classes with the same people are more or fewer than"
        yield f'{words} in "{last}", the fewest {min(small)}: the difference shows who came or left'
        return
    for view in views:
        l = view.claims.l  # noqa: E741  the letter of the literature
        if l is not None and not all(is_diverse(group.values, view.claims, l) for group in groups):
            yield f'the rows{of} that are more or fewer than in "{last}" are not {show(l)}-diverse'


def _nobody(member: _Member, coverage: Coverage) -> Iterator[str]:
    """Rows of a release that stand for nobody of the original table: those who left can tell of the others."""
    many = sum(missing for _, _, missing in coverage.short)
    if many > member.told.claims.dummies:
        yield f'{many} rows of "{member.name}" match nobody in the original table, which must contain everybody'
    elif not coverage.exact:
        yield f'classes of "{member.name}" overlap too much to be matched with the original table'


def _real(classes: dict[Key, Counter[str]], coverage: Coverage) -> list[Counter[str]]:
    """The rows of each class without those that stand for nobody."""
    found = [one.copy() for one in classes.values()]
    for at, value, many in coverage.short:
        found[at][value] -= many
    return [+one for one in found]
