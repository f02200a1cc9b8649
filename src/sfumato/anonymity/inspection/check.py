"""`check_release`: an independent look at a release, which shares no code with what makes releases.

Comes in: the released table, the original one, the columns, and optionally what is claimed. Goes out: a ReleaseReport
with k, l, t and risks in exact numbers, and every fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from sfumato.anonymity.inspection.canonical import find_form
from sfumato.anonymity.inspection.case import ReleaseCase, values_of
from sfumato.anonymity.inspection.claims import Claims, is_diverse
from sfumato.anonymity.inspection.composition import FoundTogether, meet_earlier, not_close
from sfumato.anonymity.inspection.coverage import Key, count_covered, cover
from sfumato.anonymity.inspection.exact import (
    by_class,
    distinct_of,
    entropy_of,
    is_alike,
    recursive_of,
)
from sfumato.anonymity.inspection.kept import find_kept
from sfumato.anonymity.inspection.orders import find_order
from sfumato.anonymity.inspection.reading import NULL, PublishedTable, locate, read_published
from sfumato.anonymity.inspection.scope import CheckScope, scope_of
from sfumato.anonymity.inspection.together import EarlierRelease
from sfumato.anonymity.inspection.traces import ReleaseFault, ReleaseNote, find_columns
from sfumato.anonymity.inspection.trees import read_trees, tree_of_values
from sfumato.errors import InputError
from sfumato.types import show

_SHOWN = 20
"""Faults of one kind that are listed one by one."""


@dataclass(frozen=True)
class ReleaseReport:
    """What a release is, and what is wrong with it. `dummies` are rows that stand for nobody, as far as allowed."""

    rows: int
    k: int
    classes: int
    distinct: int | None
    entropy: float | None
    recursive_c: Fraction | None
    t: dict[str, Fraction]
    discernibility: int
    average_class_size: Fraction
    prosecutor: Fraction
    journalist: Fraction
    marketer: Fraction
    faults: tuple[ReleaseFault, ...]
    unread: dict[str, list[str]] = field(default_factory=dict)
    meet: tuple[tuple[str, int], ...] = ()
    exact: bool = True
    misleading: dict[str, list[str]] = field(default_factory=dict)
    k_with_kept: int | None = None
    scope: CheckScope = field(default_factory=CheckScope)
    notes: tuple[ReleaseNote, ...] = ()
    not_together: tuple[str, ...] = ()
    dummies: int = 0

    @property
    def faultless(self) -> bool:
        """Whether there is no fault, and nothing that could not be checked."""
        return not self.faults and not self.unread and self.exact and not self.not_together

    @property
    def passed(self) -> bool:
        """Whether the order of rows and the bytes of the file are also those of its one form, without room for more."""
        return self.faultless and not self.notes

    def to_dict(self) -> dict[str, object]:
        """The report as one document: fractions as strings."""
        return {
            "passed": self.passed,
            "scope": self.scope.to_dict(),
            "rows": self.rows,
            "dummies": self.dummies,
            "k": self.k,
            "k_with_kept": self.k_with_kept,
            "classes": self.classes,
            "l": {
                "distinct": self.distinct,
                "entropy": self.entropy,
                "recursive_c": None if self.recursive_c is None else str(self.recursive_c),
            },
            "t": {name: str(value) for name, value in self.t.items()},
            "discernibility": self.discernibility,
            "average_class_size": str(self.average_class_size),
            "risk": {
                "prosecutor": str(self.prosecutor),
                "journalist": str(self.journalist),
                "marketer": str(self.marketer),
            },
            "faults": [fault.to_dict() for fault in self.faults],
            "notes": [note.to_dict() for note in self.notes],
            "not_checked": self.unread,
            "misleading": self.misleading,
            "coverage_exact": self.exact,
            "not_checked_together": list(self.not_together),
            "with_earlier": [{"release": name, "k": k} for name, k in self.meet],
        }


def check_release(
    release: str | Path,
    raw: str | Path,
    quasi: Sequence[str],
    sensitive: str | None = None,
    *,
    keep: Sequence[str] = (),
    hierarchies: Path | None = None,
    earlier: Sequence[str | Path | EarlierRelease] = (),
    claims: Claims | None = None,
    order: Sequence[str] = (),
    population: str | Path | None = None,
    recorded: EarlierRelease | None = None,
) -> ReleaseReport:
    """Check a release against its original table; `recorded` is what a record says of the release, which counts too.

    Guarantee: k, l and t are those of the released rows by definition, in whole numbers and fractions; a release with
        no coverage fault and `exact` has for every row an original row of its own that its labels cover and that has
        its sensitive value. `scope` says what else was decided, by which means, and what was not looked at.
    Proof: classes are counted from the file; the matching is a maximum flow, so it leaves a row over only if every
        matching does (max-flow min-cut).
    Reference: Sweeney 2002; Machanavajjhala and others 2006; Li, Li, Venkatasubramanian 2007; Ford and Fulkerson 1956.
    Checked by: unit::a_forged_release_is_refused, unit::a_matching_is_found_exactly_where_one_exists
    """
    columns = tuple(quasi)
    if not columns:
        raise InputError("no quasi-identifiers", hint="Name them with --quasi A,B.")
    if sensitive == "":
        raise InputError("the sensitive column has no name", hint="Name it with --sensitive COLUMN.")
    twice = [name for name, many in Counter((*columns, sensitive, *keep)).items() if many > 1]
    if twice:
        raise InputError(f'"{twice[0]}" is named twice', hint="A column is a quasi-identifier, sensitive, or kept.")
    published, original = read_published(release), read_published(raw)
    only = sorted(published.mixed - original.mixed)
    original = original.merged(published.mixed)
    if not published.rows:
        raise InputError(f'"{published.name}" has no rows')
    if not original.rows:
        raise InputError(f'"{original.name}" has no rows')
    known = (*columns, *((sensitive,) if sensitive else ()))
    classes = by_class(published.parts(columns), values_of(published, sensitive))
    people = by_class(original.parts(columns), values_of(original, sensitive))
    trees = read_trees(hierarchies, columns)
    if sensitive:
        secrets = {*original.cells(sensitive), *published.cells(sensitive)}
        trees[sensitive] = tree_of_values(hierarchies, sensitive, secrets)
    coverage = cover(columns, list(classes.items()), people, trees)
    case = ReleaseCase(
        published, original, columns, sensitive, classes, people, coverage, trees, order, claims or Claims()
    )
    _check_order(case)
    together = meet_earlier(case, earlier, tuple(keep), hierarchies, recorded)
    world = None if population is None else _Population.of(case, population)
    promised = [case, *_promised(case, recorded, together.left)]
    if any(one.claims.presence is not None for one in promised[1:]) and case.claims.presence is None:
        together.left.append("the record promises delta-presence: name --presence and --population")
    form = tuple(find_form(release, published))
    notes = tuple(one for one in form if isinstance(one, ReleaseNote))
    is_sorted = not any(note.kind == "order" for note in notes)
    left_over = () if is_sorted else tuple(find_order(case, tuple(keep)))
    faults = (
        *dict.fromkeys(fault for one in promised for fault in (*_claimed(one), *_far_but_for_dummies(one))),
        *_present(case, world),
        *_uncovered(case),
        *_kept(case, tuple(keep)),
        *find_columns(published, original, (*known, *keep)),
        *find_kept(case, tuple(keep)),
        *left_over,
        *(one for one in form if one not in notes),
        *(ReleaseFault("format", "it has both NULL and empty texts, which can mark rows", name) for name in only),
        *together.faults,
    )
    kept = None if not keep else min(Counter(published.parts((*columns, *keep))).values())
    scope = scope_of(
        locate(release).kind, {note.kind for note in notes},
        claims=case.claims, sensitive=sensitive, kept=bool(keep), earlier=len(earlier), left=together.left,
    )  # fmt: skip
    shown = (note for note in notes if note.kind != "order" or not left_over)
    said = (*shown, *dict.fromkeys(note for one in promised for note in _diverse_with_dummies(one)))
    return replace(_report(case, faults, together, world), k_with_kept=kept, scope=scope, notes=said)


def _promised(case: ReleaseCase, recorded: EarlierRelease | None, left: list[str]) -> Iterator[ReleaseCase]:
    """The release with what a record says that it promises, if that is about the same sensitive column.

    A t whose distance is not known today, as that of an order that lacks a new value, is added to what is `left`.
    """
    if recorded is None or recorded.sensitive != case.sensitive:
        return
    view = replace(case, claims=recorded.claims, order=recorded.order)
    words = not_close(view)
    if words is not None:
        left.append(f"the t that the record promises is not checked: {words}")
        view = replace(view, claims=replace(view.claims, t=None))
    yield view


def _claimed(case: ReleaseCase) -> Iterator[ReleaseFault]:
    """What is claimed and does not hold; a row that is alone is a fault without any claim."""
    claims, classes = case.claims, case.classes
    wanted = 2 if claims.k is None else claims.k
    small = [one.total() for one in classes.values() if one.total() < wanted]
    if small:
        yield ReleaseFault("k", f"{len(small)} classes have fewer than {wanted} rows, the smallest {min(small)}")
    if (claims.l is not None or claims.t is not None or claims.beta is not None) and case.sensitive is None:
        raise InputError("l, t and beta need a sensitive column", hint="Name it with --sensitive COLUMN.")
    if claims.beta is not None:
        bad = sum(not is_alike(one, case.total, claims.beta) for one in classes.values())
        if bad:
            yield ReleaseFault("beta", f"{bad} classes are not {show(claims.beta)}-like the table", case.sensitive)
    if claims.l is not None:
        bad = sum(not is_diverse(one, claims, claims.l) for one in classes.values())
        if bad:
            yield ReleaseFault(
                "l", f"{bad} classes are not {claims.diversity} {show(claims.l)}-diverse", case.sensitive
            )
    if claims.t is not None:
        found = case.distances.get(claims.distance)
        if found is None:
            raise InputError(f"the {claims.distance} distance cannot be computed", hint="Give --hierarchies DIR.")
        if found > claims.t:
            yield ReleaseFault(
                "t", f"a class is {show(found)} from the table, farther than {show(claims.t)}", case.sensitive
            )


def _diverse_with_dummies(case: ReleaseCase) -> Iterator[ReleaseNote]:
    """l of a class with dummies means what it says only if these were drawn without a look at whom they hide."""
    if case.claims.l is not None and case.coverage.short and case.claims.dummies:
        words = "dummies count towards l, and no file shows whether they were drawn independently of the rows they hide"
        yield ReleaseNote("dummies", words, case.sensitive)


def _far_but_for_dummies(case: ReleaseCase) -> Iterator[ReleaseFault]:
    """A class is near the table for its dummies, which depend on whom they hide if they were added until it was."""
    promised = [name for name in ("t", "beta") if getattr(case.claims, name) is not None]
    if promised and case.coverage.short and case.claims.dummies:
        words = f"dummies count towards {promised[0]}, so that they can tell of those whom they hide"
        yield ReleaseFault("dummies", words, case.sensitive)


@dataclass(frozen=True)
class _Population:
    """The people of a larger table: how many the labels of each class cover, and how many are in no class."""

    covered: list[int]
    stranded: int

    @classmethod
    def of(cls, case: ReleaseCase, population: str | Path) -> _Population:
        """Read and counted by class."""
        table = read_published(population)
        everybody = by_class(table.parts(case.columns), [""] * len(table.rows))
        labels: list[tuple[Key, Counter[str]]] = [(key, Counter()) for key in case.classes]
        masks = cover(case.columns, labels, everybody, case.trees).masks
        stranded = sum(counts.total() for key, counts in everybody.items() if not masks[key])
        return cls(count_covered(len(labels), everybody, masks), stranded)


def _present(case: ReleaseCase, population: _Population | None) -> Iterator[ReleaseFault]:
    """Classes of which a larger or smaller part of the population is in the table than is claimed (delta-presence)."""
    if case.claims.presence is None:
        return
    if population is None:
        raise InputError("delta-presence needs the larger table of all people", hint="Name it with --population DATA.")
    low, high = case.claims.presence
    parts = [(one.total(), many) for one, many in zip(case.classes.values(), population.covered, strict=True)]
    bad = sum(not low * many <= here <= high * many for here, many in parts)
    if bad:
        yield ReleaseFault("presence", f"of {bad} classes another part of the population is released than claimed")
    if low > 0 and population.stranded:
        yield ReleaseFault(
            "presence", f"{population.stranded} people of the population are in no class: none of them is released"
        )


def _uncovered(case: ReleaseCase) -> Iterator[ReleaseFault]:
    """Released rows that stand for nobody."""
    short, classes = case.coverage.short, list(case.classes.items())
    for column, labels in case.coverage.open_labels.items():
        for label in labels:
            shown = f'"{label.replace(NULL, "NULL")}"'
            words = (
                f"the label {shown} hides a cell, or stands for what the hierarchy has below it: nobody can tell which"
            )
            yield ReleaseFault("label", words, column)
    if sum(many for _, _, many in short) <= case.claims.dummies:
        yield from _strange(case)
        return
    first: dict[Key, int] = {}
    for i, key in enumerate(case.published.parts(case.columns), 1):
        first.setdefault(key, i)
    few: Counter[tuple[int, int | None]] = Counter()
    for at, value, many in short[:_SHOWN]:
        key, counts = classes[at]
        if value not in case.total:
            words = "a sensitive value is released that the original table does not have"
            yield ReleaseFault("value", words, case.sensitive, first[key])
            continue
        few[at, case.coverage.culprit(at, value, case.people, counts[value])] += many
    for (at, wrong), many in few.items():
        key = classes[at][0]
        label = "" if wrong is None else f' "{key[wrong][:60].replace(NULL, "NULL")}"'
        rows = "1 row of a class matches" if many == 1 else f"{many} rows of a class match"
        words = f"{rows} no original row that its label{label} covers"
        yield ReleaseFault("coverage", words, None if wrong is None else case.columns[wrong], first[key])
    if len(short) > _SHOWN:
        yield ReleaseFault("coverage", f"{len(short) - _SHOWN} more classes match too few original rows")


def _strange(case: ReleaseCase) -> Iterator[ReleaseFault]:
    """Dummies that can be told from rows: by a value that nobody has, or labels that cover nobody."""
    reached = 0
    for mask in case.coverage.masks.values():
        reached |= mask
    for at, value, _ in case.coverage.short:
        if value not in case.total:
            yield ReleaseFault("value", "a dummy has a value that the original table does not have", case.sensitive)
        elif not reached >> at & 1:
            yield ReleaseFault("coverage", "dummies have labels that cover nobody")


def _kept(case: ReleaseCase, keep: Key) -> Iterator[ReleaseFault]:
    """Columns that are released as they are: a row must have the values of one original row of its class."""
    if not keep or sum(many for _, _, many in case.coverage.short) > case.claims.dummies:
        return
    names = (*((case.sensitive,) if case.sensitive else ()), *keep)

    def rows(table: PublishedTable) -> dict[Key, Counter[str]]:
        return by_class(table.parts(case.columns), [repr(part) for part in table.parts(names)])

    people = rows(case.original)
    found = cover(case.columns, list(rows(case.published).items()), people, case.trees)
    if {value for _, value, _ in found.short} - {value for one in people.values() for value in one}:
        yield ReleaseFault("coverage", "a row has values in kept columns that no original row has together", keep[0])
        return
    many = sum(missing for _, _, missing in found.short)
    if many > case.claims.dummies:
        words = f"{many} rows have values in kept columns that no original row of their class has"
        yield ReleaseFault("coverage", words, keep[0] if len(keep) == 1 else None)


def _check_order(case: ReleaseCase) -> None:
    """Refuse an order that lacks a value or has one twice: the ordered distance would come out wrong."""
    twice = [name for name, many in Counter(case.order).items() if many > 1]
    if twice:
        raise InputError(f'the order of sensitive values has "{twice[0][:60]}" twice', hint="Name each value once.")
    lacking = sorted({*case.total} - {*case.order}) if case.order and case.sensitive else []
    if lacking:
        raise InputError(f'the order of sensitive values lacks "{lacking[0][:60]}"')


def _report(
    case: ReleaseCase, faults: tuple[ReleaseFault, ...], together: FoundTogether, world: _Population | None
) -> ReleaseReport:
    classes = case.classes.values()
    sizes = [one.total() for one in classes]
    many, everybody, known = len(case.published.rows), case.total.total(), case.sensitive is not None
    unread = bool(case.coverage.unread)  # labels that are not read cover too much
    least, fitting = min(sizes), count_covered(len(sizes), case.people, case.coverage.masks)
    dummies = sum(missing for _, _, missing in case.coverage.short)
    if world is not None:  # the journalist looks for somebody of the population
        fitting = world.covered
    elif dummies <= case.claims.dummies:  # nobody who looks for a person can tell them from people
        for at, _, missing in case.coverage.short:
            fitting[at] += missing
    return ReleaseReport(
        rows=many,
        k=min(sizes),
        classes=len(sizes),
        distinct=distinct_of(classes) if known else None,
        entropy=entropy_of(classes) if known else None,
        recursive_c=recursive_of(classes, max(2, int(case.claims.l or 2))) if known else None,
        t=case.distances,
        discernibility=sum(size * size for size in sizes) + max(0, everybody - many) * everybody,
        average_class_size=Fraction(many, len(sizes)),
        prosecutor=Fraction(1, min(sizes)),
        journalist=Fraction(1, least if unread else max(1, min(fitting))),
        marketer=Fraction(len(sizes), many),
        faults=faults,
        unread=case.coverage.unread | together.unread,
        meet=tuple(together.k),
        exact=case.coverage.exact,
        misleading=case.coverage.misleading,
        not_together=tuple(together.left),
        dummies=dummies if dummies <= case.claims.dummies else 0,
    )
