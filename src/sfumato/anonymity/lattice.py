"""The best global recoding: an exact search of the lattice of generalisations, with a lower bound at every moment.

Comes in: compressed tuples, models, and how many rows may be suppressed. Goes out: the node with the least loss, a
proven lower bound on the loss of every node, and whether the two are equal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from sfumato.anonymity.classes import Classes, Grouping, Ints, Node, Tuples, share_of, tuple_of
from sfumato.anonymity.models import Flags, Model, Presence
from sfumato.errors import InputError

WHOLE = 2_000_000
"""Lattices of up to so many nodes are held as arrays; larger ones are searched column by column."""
_AT_ONCE = 4096
"""So many nodes are looked up in the arrays at once."""
_TELL = 0.25
"""Seconds between two reports of progress."""
PATIENCE = 30.0
"""Seconds after which a search ends by itself, with the gap that is left, if no other time was given."""
Progress = Callable[[int, float, float], None]
"""Told now and then: nodes checked, best loss and lower bound, both in units."""


class NoRelease(InputError):
    """No generalisation satisfies the models, or none was found in time."""


@dataclass(frozen=True)
class Checked:
    """One node: rows that it suppresses, rows that every finer node suppresses too, and its loss in units.

    `loss` is a whole number, of which fractions were left out; `exact` is the loss itself, where the node was a release
    that could be the best one. A node that leaves people of the population without a class (`stranded`) is no release,
    whatever it suppresses.
    """

    node: Node
    suppressed: int
    must: int
    loss: int
    classes: int
    stranded: bool = False
    exact: Fraction = Fraction(0)


@dataclass(frozen=True)
class LatticeSearch:
    """What a search found: the best node, and a bound that no node undercuts, in units of loss.

    Guarantee: if `optimal`, no node that is a release has a smaller loss, in fractions.
    Proof: units are rounded down, so that a node's loss is at least its units. The search leaves out only nodes that
        are no release, and those whose units, or a bound below them, are at least the exact loss of the best node
        (`Checker.most` is that loss, rounded up); all others are checked, and compared by their exact losses.
    Reference: none; arithmetic.
    Checked by: unit::the_search_agrees_with_enumeration, unit::losses_that_rounding_makes_equal_are_compared_exactly
    """

    best: Checked
    bound: int
    checks: int
    nodes: int
    interrupted: bool = False
    optimal: bool = False


class Checker:
    """Evaluates nodes of one lattice and remembers the best that is feasible.

    Guarantee: `must` of a node is at most the number of rows that any node at or below it (finer in every column)
        suppresses; the loss of a node is at least `floor` + `must` times the least loss by which a suppressed row
        exceeds a kept one.
    Proof: every model is closed under union. Let v be finer than u and C a class of u: the classes of v inside C that
        hold are disjoint, so their union R holds too, and R is a part of C; hence v keeps at most as many rows of C as
        the largest part of C that holds, which `most_kept` bounds for each model and therefore for all of them jointly;
        a union with fewer rows than `least` is empty. `must` sums what is left over. The loss is the sum over kept rows
        of their shares and over suppressed rows of the whole: `floor` counts every row as kept.
    Reference: LeFevre, DeWitt, Ramakrishnan, SIGMOD 2005 (roll-up); Kohlmayer and others, SocialCom 2012 (paths).
    Checked by: unit::the_search_agrees_with_enumeration, unit::no_finer_node_suppresses_less_than_the_bound
    """

    def __init__(self, tuples: Tuples, models: Sequence[Model], limit: int) -> None:
        self.tuples, self.models, self.limit = tuples, tuple(models), limit
        self.grouping = Grouping(tuples)
        self.totals = tuples.totals
        self.least = max((model.least for model in models), default=1)
        self.whole = tuples.unit * len(tuples.ladders)
        self.nested = tuples.population is None or bool((tuples.population >= tuples.histogram.sum(axis=1)).all())
        self.checks = 0
        self.best: Checked | None = None
        self.floors = [self._column_floors(column) for column in range(len(tuples.ladders))]
        self.tops = [[int(share.max()) for share in ladder.shares] for ladder in tuples.ladders]

    def _column_floors(self, column: int) -> list[int]:
        """The loss of a column at each level, if no row is suppressed."""
        ladder, codes = self.tuples.ladders[column], self.tuples.codes[column]
        weight = self.tuples.histogram.sum(axis=1)
        rows = np.bincount(codes, weights=weight, minlength=len(ladder.groups[0])).astype(np.int64)
        return [int((rows * share[groups]).sum()) for groups, share in zip(ladder.groups, ladder.shares, strict=True)]

    def floor(self, node: Node) -> int:
        """The loss of a node if no row were suppressed: never more than its loss."""
        return sum(floors[level] for floors, level in zip(self.floors, node, strict=True))

    def spare(self, node: Node) -> int:
        """By how much a suppressed row costs more than any kept row, at least."""
        return self.whole - sum(tops[level] for tops, level in zip(self.tops, node, strict=True))

    def holds(self, classes: Classes) -> tuple[Flags, Ints]:
        """Which classes hold, and the most rows of each that finer nodes keep."""
        flags = [model.holds(classes, self.totals) for model in self.models]
        held = reduce(np.logical_and, flags, np.ones(len(classes), bool))
        kept = classes.size.copy()
        worse = np.flatnonzero(~held)
        if len(worse):
            part = classes[~held]
            most = reduce(np.minimum, (model.most_kept(part, self.totals) for model in self.models))
            kept[worse] = np.where(most >= self.least, most, 0)
        return held, kept

    def check(self, node: Node) -> Checked:
        """One node, evaluated."""
        self.checks += 1
        classes = self.grouping.classes(node)
        held, kept = self.holds(classes)
        worse = classes.size * ~held
        suppressed = int(worse.sum())
        loss = self.floor(node)
        if suppressed:
            bad = np.flatnonzero(worse)
            loss += int((worse[bad] * (self.whole - share_of(self.tuples, node, classes.representative[bad]))).sum())
        stranded = any(isinstance(model, Presence) and model.strands(classes, held) for model in self.models)
        found = Checked(node, suppressed, int((classes.size - kept).sum()), loss, int(held.sum()), stranded)
        if self.allows(found) and loss <= self.most:
            found = replace(found, exact=Fraction(loss) + self._rest(node, classes, worse))
            if self.best is None or (found.exact, node) < (self.best.exact, self.best.node):
                self.best = found
        return found

    def _rest(self, node: Node, classes: Classes, worse: Ints) -> Fraction:
        """What rounding left out of the loss of a node: of kept rows alone, as a suppressed row is a whole number."""
        rest = Fraction(0)
        for column, (ladder, level) in enumerate(zip(self.tuples.ladders, node, strict=True)):
            if ladder.exact:
                continue
            labels = ladder.groups[level][self.tuples.codes[column][classes.representative]]
            rows = np.bincount(labels, weights=classes.size - worse, minlength=len(ladder.labels[level]))
            parts = zip(rows.tolist(), ladder.fractions[level], ladder.shares[level].tolist(), strict=True)
            rest += sum((int(many) * (share - units) for many, share, units in parts), Fraction(0))
        return rest

    def allows(self, checked: Checked) -> bool:
        """Whether a node is a release."""
        return checked.suppressed <= self.limit and not checked.stranded

    def excludes(self, checked: Checked) -> bool:
        """Whether no finer node is a release.

        If all classes with people hold in a finer node, so do their unions; these are the classes of this node, unless
        it has rows of which the population knows nothing.
        """
        return checked.must > self.limit or (checked.stranded and self.nested)

    def descend(self) -> Iterator[Checked]:
        """From the best node so far, or the top, each time to the feasible neighbour with the least loss."""
        node = self.tuples.top if self.best is None else self.best.node
        while True:
            below: list[Checked] = []
            for column, level in enumerate(node):
                if level:
                    child = self.check((*node[:column], level - 1, *node[column + 1 :]))
                    yield child
                    if self.allows(child):
                        below.append(child)
            if not below:
                return
            node = min(below, key=lambda child: (child.loss, child.classes, child.node)).node

    @property
    def most(self) -> int:
        """The best loss so far, rounded up; more than any loss as long as no node was feasible."""
        return self.whole * self.tuples.rows + 1 if self.best is None else math.ceil(self.best.exact)

    def none(self, *, interrupted: bool) -> NoRelease:
        """There is no release, or none was found in time."""
        if interrupted:
            return NoRelease("no release was found in time", hint="Give the search more time, or relax the request.")
        top = self.check(self.tuples.top)
        failing = [model.words for model in self.models if not self._alone(model, top.node)]
        return NoRelease(
            f"no release satisfies {' and '.join(failing) or ' and '.join(model.words for model in self.models)}",
            detail="Some people of the population would be in no released class."
            if top.stranded and top.suppressed <= self.limit
            else f"Even with every quasi-identifier replaced by * {top.suppressed} rows would be suppressed.",
            hint="Relax the request, allow more suppression, or add rows.",
        )

    def _alone(self, model: Model, node: Node) -> bool:
        return bool(model.holds(self.grouping.classes(node), self.totals).all())


def search(
    tuples: Tuples,
    models: Sequence[Model],
    limit: int,
    *,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> LatticeSearch:
    """The least loss over all nodes that suppress at most `limit` rows; Ctrl-C or the time limit end it early.

    The bound then says how much better a node could be that was not looked at.
    """
    from sfumato.anonymity.columns import search_columns

    checker = Checker(tuples, models, limit)
    nodes = _size(tuples)
    run = WholeLattice(checker) if nodes <= WHOLE else search_columns(checker)
    deadline = time.monotonic() + (PATIENCE if seconds is None else seconds)
    interrupted, told = False, time.monotonic() + _TELL
    try:
        for _ in run:
            if time.monotonic() >= told and progress is not None:
                progress(checker.checks, checker.most, run.bound())
                told = time.monotonic() + _TELL
            if time.monotonic() > deadline:
                interrupted = True
                break
    except KeyboardInterrupt:
        interrupted = True
    if checker.best is None:
        raise checker.none(interrupted=interrupted)
    bound = run.bound()
    is_best = bound >= checker.most
    return LatticeSearch(checker.best, min(bound, checker.best.loss), checker.checks, nodes, interrupted, is_best)


def _size(tuples: Tuples) -> int:
    return reduce(lambda so_far, ladder: so_far * (ladder.height + 1), tuples.ladders, 1)


class WholeLattice:
    """The search of a lattice that fits into arrays: nodes in the order of their floor, each with a path to the top."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        shape = tuple(ladder.height + 1 for ladder in checker.tuples.ladders)
        self.floor = _outer_sum(checker.floors, shape)
        self.spare = checker.whole - _outer_sum(checker.tops, shape)
        self.must = np.zeros(shape, np.int64)
        self.done = np.zeros(shape, bool)
        self.order = np.argsort(self.floor, axis=None, kind="stable")
        self._note(checker.check(checker.tuples.top))

    def bound(self) -> int:
        """No node that is not excluded has a loss below this; the best loss where none is left."""
        open_ = ~self.done & (self.must <= self.checker.limit)
        least = (self.floor + self.must * self.spare)[open_]
        return min(int(least.min()), self.checker.most) if len(least) else self.checker.most

    def __iter__(self) -> Iterator[None]:
        yield from self._path(tuple_of([0] * self.must.ndim))
        for checked in self.checker.descend():
            self._note(checked)
            yield None
        for start in range(0, len(self.order), _AT_ONCE):
            places = self.order[start : start + _AT_ONCE]
            levels = np.unravel_index(places, self.must.shape)
            open_ = self._are_open(levels)
            for node in zip(*(column[open_].tolist() for column in levels), strict=True):
                if self._are_open(node):
                    yield from self._path(node)
            yield None

    def _are_open(self, at: tuple[Any, ...]) -> Any:
        """Whether a node, or each of several, is unchecked and may still be better than the best one."""
        must = self.must[at]
        worth = self.floor[at] + must * self.spare[at] < self.checker.most
        return ~self.done[at] & (must <= self.checker.limit) & worth

    def _path(self, start: Node) -> Iterator[None]:
        """Bisect a path from this node to the top down to the coarsest node that excludes finer ones.

        It excludes the most; the node above it is usually a release, the first one if there was none.
        """
        path = self._climb(start)
        low, high = 0, len(path) - 1
        while low < high:
            middle = (low + high) // 2
            node = path[middle]
            if not self.done[node]:
                self._note(self.checker.check(node))
                yield None
            if self.must[node] > self.checker.limit:
                low = middle + 1
            else:
                high = middle
        if self._are_open(start):
            self._note(self.checker.check(start))
            yield None

    def _climb(self, node: Node) -> list[Node]:
        """Up to the top, each time by the column that adds least to the floor; of those, the one with most values."""
        path, floors, ladders = [node], self.checker.floors, self.checker.tuples.ladders
        while True:
            steps = [
                (floors[column][level + 1] - floors[column][level], -len(ladders[column].labels[level]), column)
                for column, level in enumerate(node)
                if level + 1 < len(floors[column])
            ]
            if not steps:
                return path
            column = min(steps)[-1]
            node = (*node[:column], node[column] + 1, *node[column + 1 :])
            path.append(node)

    def _note(self, checked: Checked) -> None:
        """What is true of a node's finer nodes, for all of them at once."""
        self.done[checked.node] = True
        must = self.checker.limit + 1 if self.checker.excludes(checked) else checked.must
        if must:
            below = self.must[tuple(slice(level + 1) for level in checked.node)]
            np.maximum(below, must, out=below)


def _outer_sum(parts: Sequence[Sequence[int]], shape: tuple[int, ...]) -> Ints:
    total = np.zeros(shape, np.int64)
    for axis, values in enumerate(parts):
        total += np.array(values, np.int64).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return total
