"""Privacy models of a class: one record each, and the table MODELS.

Comes in: classes with their counts, and the counts of the whole table. Goes out: which classes hold, and for each class
how many of its rows can remain at most, whatever it is split into. Every model here is closed under union: if disjoint
classes hold, so does their union. That is what makes the second number a bound for every finer generalisation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.anonymity.classes import Classes, Ints
from sfumato.anonymity.close_calls import entropy_is_at_least, is_close
from sfumato.errors import InputError
from sfumato.types import as_written, positive, show, whole

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
_NEAR = 1e-9
"""Relative distance below which floats do not decide: exact integers do."""

_SAFE = 1 << 62
"""Products below this are taken in 64 bits."""
_LARGEST = Fraction(10**300)
"""A ratio above this is the same as this one for every table that fits into memory."""


class Model(Protocol):
    """A condition on each class of a release."""

    name: ClassVar[str]

    @property
    def least(self) -> int:
        """The fewest rows of a class that holds."""

    def holds(self, classes: Classes, totals: Ints) -> Flags:
        """Which classes satisfy the model; `totals` are the rows of the whole table by sensitive value."""

    def most_kept(self, classes: Classes, totals: Ints) -> Ints:
        """An upper bound on the rows of each class that remain in any split of it into classes that hold."""

    @property
    def words(self) -> str:
        """The model with its parameter, for people."""


@dataclass(frozen=True)
class KAnonymity:
    """Every class has at least k rows (Samarati and Sweeney 1998)."""

    k: int
    name: ClassVar[str] = "k-anonymity"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole(self.k, "k", 1))

    @property
    def least(self) -> int:
        """The fewest rows of a class that holds."""
        return self.k

    @property
    def words(self) -> str:
        """The model with its parameter."""
        return f"k = {self.k}"

    def holds(self, classes: Classes, _: Ints) -> Flags:
        """Classes of k rows or more."""
        return classes.size >= self.k

    def most_kept(self, classes: Classes, _: Ints) -> Ints:
        """Everything or nothing."""
        return np.where(classes.size >= self.k, classes.size, 0)


@dataclass(frozen=True)
class DistinctDiversity:
    """Every class has at least l different sensitive values (Machanavajjhala and others, ICDE 2006)."""

    l: int  # noqa: E741  the letter of the literature
    name: ClassVar[str] = "distinct l-diversity"

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", whole(self.l, "l", 1))

    @property
    def least(self) -> int:
        """The fewest rows of a class that holds."""
        return self.l

    @property
    def words(self) -> str:
        """The model with its parameter."""
        return f"distinct l = {self.l}"

    def holds(self, classes: Classes, _: Ints) -> Flags:
        """Classes with l values or more."""
        return np.asarray((classes.histogram > 0).sum(axis=1) >= self.l)

    def most_kept(self, classes: Classes, totals: Ints) -> Ints:
        """Everything or nothing: a part has no value that the whole lacks."""
        return np.where(self.holds(classes, totals), classes.size, 0)


@dataclass(frozen=True)
class EntropyDiversity:
    """The entropy of the sensitive value in every class is at least ln l."""

    l: Fraction  # noqa: E741  the letter of the literature
    name: ClassVar[str] = "entropy l-diversity"

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", as_written(self.l, "l"))
        if self.l < 1:
            raise InputError(f"l must be at least 1, but is {show(self.l)}")

    @property
    def least(self) -> int:
        """The fewest rows of a class that holds."""
        return math.ceil(self.l)

    @property
    def words(self) -> str:
        """The model with its parameter."""
        return f"entropy l = {show(self.l)}"

    def holds(self, classes: Classes, _: Ints) -> Flags:
        """Classes whose entropy is large enough; near ties are decided by integers."""
        entropy, wanted = _entropy(classes.histogram.astype(np.float64)), math.log(self.l)
        flags = np.asarray(entropy >= wanted)
        for i in np.flatnonzero((np.abs(entropy - wanted) < _NEAR) & (classes.size > 0)):
            flags[i] = entropy_is_at_least(classes.histogram[i].tolist(), self.l)
        return flags

    def most_kept(self, classes: Classes, totals: Ints) -> Ints:
        """Rows that remain if the most frequent values are capped as little as needed."""
        return _capped(classes, self.holds(classes, totals), lambda cut: _entropy(cut) >= math.log(self.l) - _NEAR)


@dataclass(frozen=True)
class RecursiveDiversity:
    """In every class the most frequent value has less than c times the rows of the l-th and rarer values together."""

    l: int  # noqa: E741  the letter of the literature
    c: Fraction = Fraction(3)
    name: ClassVar[str] = "recursive (c,l)-diversity"

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", whole(self.l, "l", 1))
        object.__setattr__(self, "c", positive(self.c, "c"))

    @property
    def least(self) -> int:
        """The fewest rows of a class that holds."""
        return self.l

    @property
    def words(self) -> str:
        """The model with its parameters."""
        return f"recursive c = {show(self.c)}, l = {self.l}"

    def holds(self, classes: Classes, _: Ints) -> Flags:
        """Classes in which r1 < c (rl + ... + rm), in whole numbers."""
        ordered = -np.sort(-classes.histogram, axis=1)
        if self.l > ordered.shape[1]:
            return np.zeros(len(classes), bool)
        tail = ordered[:, self.l - 1 :].sum(axis=1)
        return np.asarray(_times(ordered[:, 0], self.c.denominator) < _times(tail, self.c.numerator), bool)

    def most_kept(self, classes: Classes, totals: Ints) -> Ints:
        """Rows that remain if the most frequent values are capped as little as needed."""

        def diverse(cut: Floats) -> Flags:
            ordered = -np.sort(-cut, axis=1)
            tail = ordered[:, self.l - 1 :].sum(axis=1)
            return np.asarray(ordered[:, 0] <= float(min(self.c, _LARGEST)) * tail * (1 + _NEAR))

        return _capped(classes, self.holds(classes, totals), diverse)


@dataclass(frozen=True)
class Closeness:
    """The sensitive values of every class are distributed within t of the whole table (Li and others, ICDE 2007).

    `family` describes the ground distance: the earth mover's distance is the sum over sets B of weight(B) times how
    much less probable B is in the class than in the table. Each row of `family` marks a set; `weights` are multiples of
    1/`scale`.
    """

    t: Fraction
    distance: str
    family: npt.NDArray[np.bool_]
    weights: Ints
    scale: int
    name: ClassVar[str] = "t-closeness"

    @property
    def least(self) -> int:
        """The fewest rows of a class that holds."""
        return 1

    @property
    def words(self) -> str:
        """The model with its parameter."""
        return f"t = {show(self.t)} ({self.distance} distance)"

    def holds(self, classes: Classes, totals: Ints) -> Flags:
        """Classes within t; near ties are decided by integers."""
        distance, wanted = self.distances(classes, totals), float(self.t)
        flags = np.asarray(distance <= wanted)
        for i in np.flatnonzero((np.abs(distance - wanted) < _NEAR) & (classes.size > 0)):
            flags[i] = is_close(classes.histogram[i].tolist(), totals.tolist(), self)
        return flags

    def distances(self, classes: Classes, totals: Ints) -> Floats:
        """The distance of each class, as the nearest floats."""
        member = self.family.astype(np.float64)
        wanted = totals @ member.T / totals.sum()
        have = (classes.histogram @ member.T) / np.maximum(classes.size, 1)[:, None]
        return np.asarray(np.maximum(wanted - have, 0) @ self.weights / self.scale)

    def most_kept(self, classes: Classes, totals: Ints) -> Ints:
        """The largest N for which sum over B of weight (N q(B) - rows in B)+ is at most t N.

        The left side is convex in N, so Newton's steps from the right never pass below the root: each is a bound.
        """
        kept = classes.size.copy()
        worse = np.flatnonzero(~self.holds(classes, totals))
        if not len(worse):
            return kept
        member = self.family.astype(np.float64)
        have = classes.histogram[worse] @ member.T
        wanted = totals @ member.T / totals.sum()
        weight, many = self.weights / self.scale, classes.size[worse].astype(np.float64)
        for _ in range(6):
            short = (many[:, None] * wanted > have) * weight
            slope = short @ wanted - float(self.t)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.where(slope > 1e-12, (short * have).sum(axis=1) / slope, many)
            many = np.minimum(many, np.maximum(step, 0))
        kept[worse] = np.minimum(kept[worse], np.floor(many * (1 + _NEAR) + _NEAR).astype(np.int64))
        return kept


@dataclass(frozen=True)
class Likeness:
    """No sensitive value is more than 1 + beta times as frequent in a class as in the table (Cao and Karras 2012)."""

    beta: Fraction
    name: ClassVar[str] = "beta-likeness"

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", positive(self.beta, "beta"))

    @property
    def least(self) -> int:
        """The fewest rows of a class that holds."""
        return 1

    @property
    def words(self) -> str:
        """The model with its parameter."""
        return f"beta = {show(self.beta)}"

    def holds(self, classes: Classes, totals: Ints) -> Flags:
        """Classes in which h n <= (1 + beta) T c for every value; near ties by integers."""
        have = classes.histogram * float(totals.sum())
        allowed = self._most(totals) * totals * classes.size[:, None].astype(np.float64)
        flags = np.asarray((have <= allowed).all(axis=1))
        near = (np.abs(have - allowed) <= _NEAR * np.maximum(allowed, 1)).any(axis=1)
        for i in np.flatnonzero(near):
            flags[i] = self._exactly(classes.histogram[i].tolist(), totals.tolist())
        return flags

    def _most(self, totals: Ints) -> float:
        """1 + beta as a float; beyond the number of rows it excludes nothing, so that number stands for it."""
        return float(min(1 + self.beta, Fraction(int(totals.sum()))))

    def _exactly(self, counts: list[int], totals: list[int]) -> bool:
        many, rows, most = sum(counts), sum(totals), 1 + self.beta
        return all(
            h * rows * most.denominator <= most.numerator * q * many for h, q in zip(counts, totals, strict=True)
        )

    def most_kept(self, classes: Classes, totals: Ints) -> Ints:
        """The largest N for which the rows of each value, cut at (1 + beta) q N, still add up to N: Newton again."""
        kept = classes.size.copy()
        worse = np.flatnonzero(~self.holds(classes, totals))
        have, many = classes.histogram[worse], classes.size[worse].astype(np.float64)
        most = self._most(totals) * totals / totals.sum()
        for _ in range(6):
            cut = most * many[:, None] < have
            slope = 1 - cut @ most
            step = np.where(slope > 1e-12, (have * ~cut).sum(axis=1) / np.maximum(slope, 1e-12), many)
            many = np.minimum(many, np.maximum(step, 0))
        kept[worse] = np.minimum(kept[worse], np.floor(many * (1 + _NEAR) + _NEAR).astype(np.int64))
        return kept


@dataclass(frozen=True)
class Presence:
    """Of the people of a larger table in each class, a part between low and high is in this one (Nergiz 2007).

    Of people without a released class no part is in the release: with a low above 0 there must be none (`strands`).
    """

    low: Fraction
    high: Fraction
    name: ClassVar[str] = "delta-presence"

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", as_written(self.low, "delta"))
        object.__setattr__(self, "high", as_written(self.high, "delta"))
        if not 0 <= self.low <= self.high <= 1 or self.high == 0:
            raise InputError("delta-presence needs two numbers 0 <= low <= high <= 1, the second one above 0")

    @property
    def least(self) -> int:
        """The fewest rows of a class that holds."""
        return 1

    @property
    def words(self) -> str:
        """The model with its parameters."""
        return f"presence {show(self.low)}..{show(self.high)}"

    def holds(self, classes: Classes, _: Ints) -> Flags:
        """Classes whose part of the population lies between the two, in whole numbers."""
        here, there = classes.size, self._people(classes)
        enough = _times(here, self.low.denominator) >= _times(there, self.low.numerator)
        few = _times(here, self.high.denominator) <= _times(there, self.high.numerator)
        return np.asarray(enough & few, bool)

    def most_kept(self, classes: Classes, _: Ints) -> Ints:
        """At most high times the population of the class."""
        there = self._people(classes)
        most = _times(there, self.high.numerator) // self.high.denominator
        return np.minimum(classes.size, most.astype(np.int64))

    def strands(self, classes: Classes, held: Flags) -> bool:
        """Whether people are left without a released class although the lower bound holds for everybody."""
        return self.low > 0 and bool((self._people(classes)[~held] > 0).any())

    @staticmethod
    def _people(classes: Classes) -> Ints:
        if classes.population is None:
            raise InputError("delta-presence needs a population", hint="Name the larger table with --population FILE.")
        return classes.population


def _times(counts: Ints, factor: int) -> npt.NDArray[Any]:
    """Counts times a whole number, exactly: as Python integers where 64 bits could be too few."""
    fits = int(counts.max(initial=0)) * factor < _SAFE and factor < _SAFE
    return counts * factor if fits else counts.astype(object) * factor


def _entropy(counts: Floats) -> Floats:
    size = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(counts > 0, counts * np.log(counts), 0.0).sum(axis=1)
        return np.where(size > 0, np.log(size) - parts / size, 0.0)


def _capped(classes: Classes, holds: Flags, diverse: Callable[[Floats], Flags]) -> Ints:
    """For models that see only how frequent values are: the most rows whose counts, cut at a common cap, hold.

    Of all histograms with N rows below the given one, the capped one is the most even (it is majorised by the others),
    so no other choice of N rows holds if that one does not.
    """
    kept = classes.size.copy()
    worse = np.flatnonzero(~holds)
    counts = classes.histogram[worse].astype(np.float64)
    low, high = np.zeros(len(worse)), counts.max(axis=1, initial=0)
    for _ in range(40):
        middle = (low + high) / 2
        good = diverse(np.minimum(counts, middle[:, None]))
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    most = np.minimum(counts, high[:, None]).sum(axis=1)
    even = diverse(np.minimum(counts, 1e-6 + 0 * high[:, None]))  # nothing helps where even equal counts do not
    kept[worse] = np.where(even, np.floor(most * (1 + _NEAR) + _NEAR), 0).astype(np.int64)
    return kept


def closeness(t: object, distance: str, values: tuple[str, ...], tree: Any = None) -> Closeness:
    """t-closeness with the `equal`, `ordered` or `hierarchical` distance between sensitive values.

    `values` are the sensitive values, for `ordered` from low to high; `tree` gives for each of them its labels from the
    finest level to the top.
    """
    wanted = as_written(t, "t")
    if not 0 <= wanted <= 1:
        raise InputError(f"t must be between 0 and 1, but is {show(wanted)}")
    many = len(values)
    if distance == "equal":
        sets, height = [[i == j for j in range(many)] for i in range(many)], 1
    elif distance == "ordered":
        below = [[j <= i for j in range(many)] for i in range(many - 1)]
        sets, height = below + [[not inside for inside in one] for one in below], max(many - 1, 1)
    elif distance == "hierarchical":
        sets, height = _branches(values, tree)
    else:
        raise InputError(f'unknown distance "{distance}"', hint="Use equal, ordered or hierarchical.")
    family = np.array(sets, bool).reshape(-1, many)
    return Closeness(wanted, distance, family, np.ones(len(family), np.int64), height)


def _branches(values: tuple[str, ...], tree: Any) -> tuple[list[list[bool]], int]:
    """The sets below each node of the tree, level by level, and the number of levels below the root."""
    if tree is None:
        raise InputError("the hierarchical distance needs a hierarchy of the sensitive column")
    rows = [tree[value] for value in values]
    height = len(rows[0]) - 1
    sets = []
    for level in range(height):
        labels = sorted({row[level] for row in rows})
        sets += [[row[level] == label for row in rows] for label in labels]
    return sets, max(height, 1)  # a hierarchy of one value has no level above it, and no distance


MODELS: dict[str, type[Any]] = {
    model.name: model
    for model in (
        KAnonymity,
        DistinctDiversity,
        EntropyDiversity,
        RecursiveDiversity,
        Closeness,
        Likeness,
        Presence,
    )
}
"""Every model by name."""
