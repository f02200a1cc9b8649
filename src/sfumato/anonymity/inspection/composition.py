"""What a release and earlier ones of the same people leave together, judged by what is claimed.

Comes in: a release beside its original table, and earlier releases. Goes out: the k of all together, faults, and labels
of earlier releases whose meaning is not known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from sfumato.anonymity.inspection.case import ReleaseCase, values_of
from sfumato.anonymity.inspection.claims import is_diverse
from sfumato.anonymity.inspection.coverage import Coverage, Key, cover
from sfumato.anonymity.inspection.exact import by_class
from sfumato.anonymity.inspection.meaning import read_trees
from sfumato.anonymity.inspection.reading import PublishedTable, read_published
from sfumato.anonymity.inspection.together import (
    EarlierRelease,
    JointGroup,
    ShownRelease,
    changed_groups,
    joint_groups,
)
from sfumato.anonymity.inspection.traces import ReleaseFault
from sfumato.errors import InputError
from sfumato.types import show


@dataclass
class FoundTogether:
    """What was found of earlier releases: the k of each, faults, and labels whose meaning is not known."""

    k: list[tuple[str, int]] = field(default_factory=list)
    faults: list[ReleaseFault] = field(default_factory=list)
    unread: dict[str, list[str]] = field(default_factory=dict)


def meet_earlier(
    case: ReleaseCase, earlier: Sequence[str | Path | EarlierRelease], keep: Key, hierarchies: Path | None
) -> FoundTogether:
    """The smallest group that this release and earlier ones of the same people leave together."""
    original, values = case.original, values_of(case.original, case.sensitive)
    masks = [case.coverage.masks[key] for key in original.parts(case.columns)]
    this = ShownRelease(case.published.name, list(case.classes.values()), masks)
    shown, found = [this], FoundTogether()
    for one in earlier:
        known = one if isinstance(one, EarlierRelease) else EarlierRelease(one)
        table = read_published(known.file)
        columns = _known_columns(case, table, known.quasi, keep)
        before = by_class(table.parts(columns), values_of(table, case.sensitive if _has(case, table) else None))
        people = by_class(original.parts(columns), [""] * len(original.rows))
        coverage = cover(columns, [(key, Counter()) for key in before], people, read_trees(hierarchies, columns))
        covering = [coverage.masks[key] for key in original.parts(columns)]
        found.unread |= {f"{table.name}: {name}": labels for name, labels in _unread(columns, before, coverage).items()}
        shown.append(ShownRelease(table.name, list(before.values()), covering))
        groups = joint_groups(shown, values)
        changed = list(changed_groups(this, shown[-1])) if _has(case, table) else []
        found.k.append((table.name, min([case.least, *(group.size for group in [*groups, *changed])])))
        found.faults += [ReleaseFault("composition", words) for words in _worse(case, table, groups)]
        found.faults += [ReleaseFault("composition", words) for words in _came(case, table, changed)]
    return found


def _has(case: ReleaseCase, table: PublishedTable) -> bool:
    """Whether an earlier release has the sensitive column too."""
    return case.sensitive is not None and case.sensitive in table.columns


def _known_columns(case: ReleaseCase, table: PublishedTable, quasi: Key, keep: Key) -> Key:
    """The columns of an earlier release by which people are known: its quasi-identifiers; else all that may be."""
    there = [name for name in table.columns if name in case.original.columns and name != case.sensitive]
    named = tuple(name for name in there if name in quasi)
    columns = named or tuple(name for name in there if name not in keep) or tuple(there)
    if not columns:
        raise InputError(f'"{table.name}" shares no column with the original table')
    return columns


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


def _worse(case: ReleaseCase, table: PublishedTable, groups: Sequence[JointGroup]) -> Iterator[str]:
    """What is claimed and does not hold of the groups that releases leave together; of k, else what this one has."""
    claims, start = case.claims, f'together with "{table.name}"'
    wanted = case.least if claims.k is None else claims.k
    small = [group.size for group in groups if group.size < wanted]
    if small:
        yield f"{start} {sum(small)} people are in groups below {wanted}, the smallest {min(small)}"
    if not _has(case, table):
        return
    if claims.l is not None:
        bad = sum(group.size for group in groups if not is_diverse(group.values, claims, claims.l))
        if bad:
            yield f"{start} {bad} people are in groups that are not {claims.diversity} {show(claims.l)}-diverse"
    if claims.t is not None:
        far = max(
            (case.distance(claims.distance, group.values) or Fraction(0) for group in groups), default=Fraction(0)
        )
        if far > claims.t:
            yield f"{start} a group is {show(far)} from the table, farther than {show(claims.t)}"


def _came(case: ReleaseCase, table: PublishedTable, groups: Sequence[JointGroup]) -> Iterator[str]:
    """Rows of a few who came or left between two releases: the difference shows their values."""
    claims = case.claims
    wanted = max(2, case.least if claims.k is None else claims.k)
    small = [group.size for group in groups if group.size < wanted]
    if small:
        words = f"{sum(small)} rows of classes with the same people are more or fewer than"
        yield f'{words} in "{table.name}", the fewest {min(small)}: the difference shows who came or left'
    elif claims.l is not None and not all(is_diverse(group.values, claims, claims.l) for group in groups):
        yield f'the rows that are more or fewer than in "{table.name}" are not {show(claims.l)}-diverse'
