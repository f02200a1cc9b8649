"""What one unit can contribute to the numbers of a job, derived anew from the operators that the engine enforces.

Comes in: a job, and how many groups of list keys are read of its result. Goes out: a Contribution: for each bundle, for
each aggregate that is not a sum and for open keys the largest norm of one unit, with the reasons in plain words.
Nothing of the planner is used: no facts of an expression, no length of a bundle, no number of rows that anybody has
declared. `claims` compares a plan with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from weakref import WeakKeyDictionary

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.base import CHOICE, DISTINCT, Bundle
from sfumato.algebra.domains import Domains
from sfumato.algebra.job import FINE, Job, grid_of
from sfumato.algebra.relations import (
    Fixed,
    Join,
    Limited,
    MarkJoin,
    Relation,
    Release,
    Scan,
    SetOperation,
    below,
    identified_differently,
)
from sfumato.algebra.row_order import check_row_order
from sfumato.algebra.tree import Aggregate, Call, Column, Constant, Node
from sfumato.errors import PlanError
from sfumato.types import Adjacency, show

Polynomial = dict[tuple[str, ...], Fraction]
"""Coefficients by the sorted names of the columns that are multiplied."""


@dataclass(frozen=True)
class UnitChange:
    """What one unit adds to one bundle: the L1 norm and the square of the L2 norm over all groups; None if unbounded.

    Norms are of values; the engine's whole numbers are multiples of `unit`. `single`: it is one number in one group.
    `shared`: a row that feeds it feeds few other bundles (`Contribution.together`).
    """

    l1: Fraction | None
    l2_squared: Fraction | None
    unit: Fraction
    nonnegative: bool = True
    single: bool = False
    shared: bool = False
    why: tuple[str, ...] = ()

    def change(self, adjacency: Adjacency, squared: bool) -> Fraction | None:
        """How far two neighbours can be apart: in L1, or the square in L2.

        Under replace a unit's vector a becomes another one b. Where no number is negative, |a - b|² is at most |a|² +
        |b|²; and a single number that is not negative moves by the larger of the two.
        """
        norm = self.l2_squared if squared else self.l1
        if norm is None or adjacency is Adjacency.ADD_REMOVE or (self.single and self.nonnegative):
            return norm
        return norm * (4 if squared and not self.nonnegative else 2)


@dataclass(frozen=True)
class Contribution:
    """What one unit adds: to each bundle, to what is not a sum, and under how many open keys (None: there are none).

    A row feeds at most `together` of the bundles that share.
    """

    bundles: tuple[UnitChange, ...]
    extras: tuple[UnitChange, ...]
    keys: int | None
    together: int

    def joint(self, losses: Sequence[Fraction]) -> Fraction:
        """The largest sum of losses of bundles and extras that one unit causes, given what each can lose by itself.

        Losses of bundles that share are linear in how much of each row is in each bundle, or convex where squares are
        added up, so the largest sum has all rows in the `together` bundles that lose most.
        """
        every = (*self.bundles, *self.extras)
        shared = sorted((loss for loss, of in zip(losses, every, strict=True) if of.shared), reverse=True)
        others = [loss for loss, of in zip(losses, every, strict=True) if not of.shared]
        return sum((*shared[: self.together], *others), Fraction(0))


_NO_LIMIT = 1 << 62
"""Open keys, where the number that is to be kept is below zero: `[:-1]` keeps all but one."""
_KEPT: WeakKeyDictionary[Job, dict[int, Contribution]] = WeakKeyDictionary()


def contribution(job: Job, groups: int) -> Contribution:
    """The largest contribution of one unit to a job of whose list groups so many are read; worked out once for a job.

    Guarantee: on no rows of the tables does one unit add a longer vector than this says.
    Proof: see `_Work`, norm by norm; the rows and weights are those of the written meaning of a job. By `_is_private`
        and `check_row_order` no unit's rows depend on those of another, so that taking one away takes its vector and
        nothing else.
    Reference: semantics 3.1, 3.2, 3.5, 3.6; Dwork, McSherry, Nissim, Smith, TCC 2006.
    Checked by: laws::no_neighbour_exceeds_what_is_derived, laws::handmade_jobs_do_not_exceed_what_is_derived
    """
    kept = _KEPT.setdefault(job, {})
    if groups not in kept:
        if not _is_private(job.release.below):
            raise PlanError("this plan would release rows that belong to nobody")
        if identified_differently(job.release.below):
            raise PlanError("one person may have two identifiers in this plan")
        check_row_order(job.release)
        kept[groups] = _Work(job, groups).all()
    return kept[groups]


def _is_private(relation: Relation) -> bool:
    """Whether rows belong to units; PlanError where rows of two units meet, or are read as if they were public."""
    if isinstance(relation, Scan | Release):
        private = isinstance(relation, Scan) and not relation.table.public
    elif isinstance(relation, Join | MarkJoin):
        one, other = below(relation)
        private = _is_private(one)
        if _is_private(other) and not (private and relation.by_person):
            raise PlanError("this plan would join rows of different people")
    else:
        private = True in [_is_private(part) for part in below(relation)]  # every one of them is looked at
    if private != relation.private or (private and isinstance(relation, Fixed)):
        raise PlanError("this plan would read private rows as public ones")
    if private and isinstance(relation, Limited | SetOperation):
        raise PlanError("which rows of one person are read depends on the rows of others in this plan")
    return private


_ALONE = "people with more than one row are excluded"
_NOTHING = UnitChange(Fraction(0), Fraction(0), Fraction(1), why=("no group is released",))


class _Work:
    """The derivation for one job."""

    def __init__(self, job: Job, groups: int) -> None:
        self.job, self.limits, self.groups = job, job.limits, groups
        self.domains = Domains(job.release.below)

    def all(self) -> Contribution:
        keys = None
        if self.job.chosen:
            keys = 1 if self.limits.alone else self.limits.keys if self.limits.keys >= 0 else _NO_LIMIT
        bundles = tuple(map(self.bundle, self.job.bundles))
        together = len(bundles) if self.job.together is None or self.job.clip is not None else self.job.together
        values = iter(self.job.different_values)
        extras = tuple(self.other(aggregate, next(values, None)) for aggregate in self.job.extras)
        return Contribution(bundles, extras, keys, max(0, together))

    @cached_property
    def cells(self) -> int | None:
        """In how many groups that are read a unit can be."""
        if self.limits.alone:
            return 1
        if not self.job.chosen:
            return self.groups
        return self.groups * self.limits.keys if self.limits.keys >= 0 else None

    # sums
    def bundle(self, bundle: Bundle) -> UnitChange:
        """What a unit adds to the sums of a bundle."""
        if not self.groups:
            return _NOTHING
        domains = [self.domains.of(part) for part in bundle.parts]
        sizes = [domain.largest for domain in domains]
        nonnegative = all(domain.low is not None and domain.low >= 0 for domain in domains)
        apart = None if None in sizes else sum((size for size in sizes if size is not None), Fraction(0))
        constant = _constant_sum(bundle.parts) if nonnegative and apart is not None else None
        length = _least(apart, constant, self.either(bundle.parts))
        grid, limits = grid_of(bundle), self.limits
        whole = (limits.alone or (bundle.person and limits.few)) and self.job.clip is None
        single = len(bundle.parts) == 1 and self.groups == 1 and not self.job.chosen
        if self.job.clip is not None:
            l1, squared, why = self.clipped(bundle, length)
        elif limits.alone:
            l1, squared = length, _square(length)
            why = [self.a_row(length), _ALONE]
        elif bundle.person:
            l1, squared, why = self.persons(apart)
        else:
            l1, squared, why = self.weighted(length)
        shared = limits.alone or not bundle.person
        return UnitChange(l1, squared, grid if whole else grid / FINE, nonnegative, single, shared, tuple(why))

    def either(self, parts: tuple[Node, ...]) -> Fraction | None:
        """The larger of two parts of which, by one condition, a row feeds one: CASE WHEN p THEN x ELSE 0 END and
        CASE WHEN p THEN 0 ELSE y END. Where p is not true, the first is zero; where it is, the second.
        """
        if len(parts) != 2 or not all(isinstance(p, Call) and p.name == "case" and len(p.args) == 3 for p in parts):
            return None
        one, other = (part.args for part in parts if isinstance(part, Call))
        if one[0] != other[0] or not (_is_zero(one[2]) and _is_zero(other[1])):
            return None
        sizes = self.domains.of(one[1]).largest, self.domains.of(other[2]).largest
        return None if sizes[0] is None or sizes[1] is None else max(sizes[0], sizes[1])

    def a_row(self, length: Fraction | None) -> str:
        return "nothing bounds what a row adds" if length is None else f"a row adds at most {show(length)}"

    def clipped(self, bundle: Bundle, length: Fraction | None) -> tuple[Fraction | None, Fraction | None, list[str]]:
        """The weight is clip over the size of the first part of the first bundle, rounded down to steps of the grid."""
        clip, grid = self.job.clip, grid_of(bundle)
        first = bundle is self.job.bundles[0] and len(bundle.parts) == 1
        most = int(clip / grid) * grid if first and clip is not None and clip >= 0 else None
        words = "nothing clips it" if most is None else f"one person's sum over all groups is clipped at {show(most)}"
        if self.limits.alone and clip is not None and clip >= 0:
            most = _least(most, length)
            words = f"{words}; {self.a_row(length)}; {_ALONE}"
        return most, _square(most), [words]

    def persons(self, size: Fraction | None) -> tuple[Fraction | None, Fraction | None, list[str]]:
        """A unit adds its largest row in each of its g groups, times 1, C/g or C2 over the root of g."""
        limits, cells = self.limits, None if self.cells is None else Fraction(self.cells)
        counted, norm = cells, cells  # the sum, and the sum of squares, of weights over groups
        why = ["a person counts once per group"] if size == 1 else [f"per group, {self.a_row(size)} for one person"]
        if cells is not None:
            why.append(f"one person is in at most {show(cells)} released groups")
        if not limits.few and limits.bound >= 0:
            bound = limits.bound if limits.gaussian else Fraction(int(limits.bound))
            norm = _least(cells, bound**2 if limits.gaussian else bound)
            counted = _least(cells, _root(cells, bound) if limits.gaussian else bound)
            scaled = "an L2 norm" if limits.gaussian else "a total"
            why.append(f"a person in more groups is down-weighted to {scaled} of {show(bound)}")
        elif not limits.few:
            counted = norm = None
        return _times(counted, size), _times(norm, _square(size)), why

    def weighted(self, length: Fraction | None) -> tuple[Fraction | None, Fraction | None, list[str]]:
        """Weights of n rows add up to at most C; under a norm, weight² times the sum over groups of n_g² to C2²."""
        limits = self.limits
        if limits.bound < 0:
            return None, None, ["a negative weight bounds nothing"]
        if not limits.gaussian:
            rows = Fraction(int(limits.bound))
            why = [f"rows of one person are down-weighted to at most {show(rows)}", self.a_row(length)]
            return _times(rows, length), _times(rows**2, _square(length)), why
        cells = None if self.cells is None else Fraction(self.cells)
        rows_of = f"one person's row counts by group are down-weighted to an L2 norm of {show(limits.bound)}"
        why = [rows_of, self.a_row(length)]
        return _times(_root(cells, limits.bound), length), _times(limits.bound**2, _square(length)), why

    # what is not a sum
    def other(self, aggregate: Aggregate, values: int | None) -> UnitChange:
        """The weights of a unit's rows in a choice, in the engine's whole numbers; or its different values."""
        if not self.groups:
            return _NOTHING
        limits, single = self.limits, self.groups == 1 and not self.job.chosen
        measure = AGGREGATES[aggregate.name].measure
        if measure == CHOICE:
            total = 1 if limits.alone else limits.most * FINE if limits.most >= 0 else None
            weight = None if total is None else Fraction(total)
            why = (_ALONE if limits.alone else f"rows of one person are down-weighted to at most {limits.most}",)
            return UnitChange(weight, _square(weight), Fraction(1), single=single, why=why)
        if measure != DISTINCT or values is None or values < 0 or aggregate.arg is None:
            return UnitChange(None, None, Fraction(1), why=("nothing bounds it",))
        kept = min(values, 1) if limits.alone else values
        listed = self.domains.of(aggregate.arg).count
        in_group = kept if listed is None else min(kept, listed)
        why = (f"at most {kept} distinct values of one person are kept, {in_group} per group",)
        if not AGGREGATES[aggregate.name].adds_values:
            return UnitChange(Fraction(kept), Fraction(kept * in_group), Fraction(1), single=single, why=why)
        domain, grid = self.domains.of(aggregate.arg), aggregate.arg.facts.grid
        if domain.largest is None or grid is None:
            return UnitChange(None, None, Fraction(1), why=(*why, "nothing bounds a value"))
        l1, squared = kept * domain.largest, kept * in_group * domain.largest**2
        nonnegative = domain.low is not None and domain.low >= 0
        return UnitChange(
            l1,
            squared,
            grid,
            single=single,
            nonnegative=nonnegative,
            why=(*why, f"a value is at most {show(domain.largest)}"),
        )


def _is_zero(node: Node) -> bool:
    return isinstance(node, Constant) and node.value == 0


# arithmetic with what has no bound
def _least(*numbers: Fraction | None) -> Fraction | None:
    return min((number for number in numbers if number is not None), default=None)


def _times(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a * b


def _square(a: Fraction | None) -> Fraction | None:
    return _times(a, a)


def _root(cells: Fraction | None, bound: Fraction) -> Fraction | None:
    """The root of the number of groups times a bound, upward: a norm in L2 as one in L1."""
    if cells is None:
        return None
    exact = isqrt(int(cells))
    return bound * (exact if exact**2 == cells else Fraction(isqrt(int(cells) << 80) + 1, 1 << 40))


# parts that add up to a constant
def _constant_sum(parts: Iterable[Node]) -> Fraction | None:
    """What polynomials of columns add up to, if that is the same in every row; NULL and FILTER leave some out."""
    total: Polynomial = defaultdict(Fraction)
    for part in parts:
        found = _polynomial(_without_else(part))
        if found is None:
            return None
        for names, factor in found.items():
            total[names] += factor
    return total[()] if not any(factor for names, factor in total.items() if names) else None


def _without_else(node: Node) -> Node:
    """The number that a part is where it is not zero: CASE … ELSE 0 and COALESCE(…, 0) are left out."""
    while isinstance(node, Call) and node.name in ("case", "coalesce"):
        results = [*node.args[1:-1:2], node.args[-1]] if node.name == "case" else list(node.args)
        others = [one for one in results if not (isinstance(one, Constant) and one.value in (0, None))]
        if len(others) != 1:
            return node
        node = others[0]
    return node


def _polynomial(node: Node) -> Polynomial | None:
    """A sum of products of columns; None for anything else."""
    if isinstance(node, Column):
        return {(node.name,): Fraction(1)}
    if isinstance(node, Constant):
        number = isinstance(node.value, int | Fraction) and not isinstance(node.value, bool)
        return {(): Fraction(node.value)} if number else None  # type: ignore[arg-type]
    if not isinstance(node, Call) or node.name not in ("+", "-", "*") or len(node.args) != 2:
        return None
    left, right = (_polynomial(arg) for arg in node.args)
    if left is None or right is None:
        return None
    total: Polynomial = defaultdict(Fraction, left if node.name != "*" else {})
    if node.name == "*":
        for a, x in left.items():
            for b, y in right.items():
                total[tuple(sorted((*a, *b)))] += x * y
    else:
        for b, y in right.items():
            total[b] += y if node.name == "+" else -y
    return total
