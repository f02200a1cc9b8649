"""A recoding: which class every combination belongs to, and the labels of each class.

Comes in: a node of the lattice. Goes out: a Recoding, from which a release is written and measured. Mondrian makes the
same record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.anonymity.classes import Classes, Ints, Node, Tuples, group_of
from sfumato.anonymity.compress import number_rows
from sfumato.anonymity.hierarchies import Hierarchy
from sfumato.anonymity.models import Flags, Model


@dataclass(frozen=True)
class Recoding:
    """Classes with labels: `label_of[column][class]` is a place in `labels[column]`, which has a share for each label.

    `held` says which classes are released; rows of the others are suppressed. `interrupted`: more time might have found
    a better one.
    """

    class_of: Ints
    classes: Classes
    label_of: tuple[Ints, ...]
    labels: tuple[tuple[str, ...], ...]
    shares: tuple[tuple[Fraction, ...], ...]
    held: Flags
    interrupted: bool = False

    @property
    def suppressed(self) -> int:
        """Rows that are not released."""
        return int(self.classes.size[~self.held].sum())

    @property
    def loss(self) -> Fraction:
        """The mean over rows and quasi-identifiers of the part of the domain that a label hides; 1 if suppressed."""
        kept, rows = np.where(self.held, self.classes.size, 0), int(self.classes.size.sum())
        total = Fraction(self.suppressed * len(self.labels))
        for codes, shares in zip(self.label_of, self.shares, strict=True):
            counts = np.bincount(codes, weights=kept, minlength=len(shares)).astype(np.int64)
            total += sum((int(n) * share for n, share in zip(counts, shares, strict=True) if n), Fraction(0))
        return total / (rows * len(self.labels))


def at_node(tuples: Tuples, node: Node, models: Sequence[Model], hierarchies: Mapping[str, Hierarchy]) -> Recoding:
    """The global recoding of a node."""
    groups = [group_of(tuples, j, level, slice(None)).astype(np.int64) for j, level in enumerate(node)]
    labels = tuple(tuples.ladders[j].labels[level] for j, level in enumerate(node))
    first, class_of = number_rows(groups, [len(names) for names in labels])
    classes = classes_of(tuples, class_of, len(first))
    shares = tuple(
        tuple(hierarchies[ladder.column].share(level, label) for label in names)
        for ladder, level, names in zip(tuples.ladders, node, labels, strict=True)
    )
    label_of = tuple(codes[first] for codes in groups)
    return Recoding(class_of, classes, label_of, labels, shares, hold_all(models, classes, tuples.totals))


def classes_of(tuples: Tuples, class_of: Ints, many: int) -> Classes:
    """The counts of classes that are given by the class of each combination."""
    histogram = np.zeros((many, tuples.histogram.shape[1]), np.int64)
    for column in range(histogram.shape[1]):
        histogram[:, column] = np.bincount(class_of, weights=tuples.histogram[:, column], minlength=many)
    people = tuples.population
    population = None if people is None else np.bincount(class_of, weights=people, minlength=many).astype(np.int64)
    return Classes(np.zeros(many, np.int64), histogram, histogram.sum(axis=1), population)


def hold_all(models: Sequence[Model], classes: Classes, totals: Ints) -> Flags:
    """Which classes satisfy every model; a class without rows is not released."""
    held = classes.size > 0
    for model in models:
        held &= model.holds(classes, totals)
    return held
