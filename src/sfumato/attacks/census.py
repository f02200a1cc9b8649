"""Published tables: every block of people that fits them, found by a solver, and a proof that there is no second one.

Comes in: statistics of a block (how many, the median and the mean of their ages, by group), some of them suppressed
because few people are behind them. Goes out: the people, and whether they are the only ones. After Garfinkel, Abowd,
Martindale, Communications of the ACM 62(3), 2019. Needs SciPy (the extra `attack`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError

Person = tuple[int, tuple[str, ...]]
"""An age, and the value of each attribute."""


@dataclass(frozen=True)
class Published:
    """A line of a table: of all people with these attributes and ages; None for what was suppressed.

    A suppressed count means that one or two people, or nobody, are behind it (`below` them). The mean is rounded to
    `digits` places.
    """

    where: dict[int, str]
    count: int | None = None
    median: Fraction | int | None = None
    mean: Fraction | None = None
    low: int = 0
    high: int = 125
    below: int = 3
    digits: int = 1

    def has(self, one: Person) -> bool:
        """Whether this person is counted here."""
        return self.low <= one[0] <= self.high and all(one[1][i] == value for i, value in self.where.items())


@dataclass(frozen=True)
class CensusBlock:
    """Who lives there, and whether nobody else could."""

    people: tuple[Person, ...]
    unique: bool


def reconstruct(
    tables: Sequence[Published],
    attributes: Sequence[Sequence[str]],
    *,
    oldest: int = 115,
    impossible: Sequence[Published] = (),
) -> CensusBlock | None:
    """Some block that fits all tables, and whether it is the only one; None if none fits.

    Guarantee: the people found fit every table, checked in whole numbers and fractions; if `unique`, the solver has
        shown that no other multiset of people of these ages and attributes does.
    Proof: a block is a whole number of people for each age and combination of attributes. Counts and rounded means are
        linear in them; a median says how many are below and above it, and of an even number of people, by how much the
        two middle ones lie apart on either side. A second solution has fewer people in some cell of the first.
    Reference: Garfinkel, Abowd, Martindale, Communications of the ACM 62(3), 2019.
    Checked by: attacks::seven_people_are_found_from_their_tables, attacks::a_second_block_is_noticed
    """
    cells = [(age, combination) for age in range(oldest + 1) for combination in product(*attributes)]
    cells = [cell for cell in cells if not any(rule.has(cell) for rule in impossible)]
    program = _Program(len(cells), max(20, *(table.count or 0 for table in tables)))
    for table in tables:
        _add_table(program, cells, table)
    first = program.solve()
    if first is None:
        return None
    counts = first[: len(cells)]
    people = tuple(cell for cell, count in zip(cells, counts, strict=True) for _ in range(count))
    for table in tables:
        _check(table, people)
    fewer = []
    for i, count in enumerate(counts):
        if count:
            switch = program.variable(1)
            fewer.append(switch)
            # switch = 1 means that fewer are in this cell: x_i <= count - switch + most (1 - switch)
            program.add({i: 1, switch: 1 + len(people)}, None, count + len(people))
    program.add(dict.fromkeys(fewer, 1), 1, None)
    return CensusBlock(people, program.solve() is None)


class _Program:
    """Whole variables, ranges of sums, and a solver that finds a point or shows that there is none."""

    def __init__(self, variables: int, top: int) -> None:
        self.tops: list[float] = [top] * variables
        self.rows: list[tuple[dict[int, float], float, float]] = []

    def variable(self, top: int) -> int:
        """One more, from 0 to top."""
        self.tops.append(top)
        return len(self.tops) - 1

    def add(self, weights: dict[int, float], low: float | None, high: float | None) -> None:
        """low <= sum <= high."""
        self.rows.append((weights, -np.inf if low is None else low, np.inf if high is None else high))

    def solve(self) -> list[int] | None:
        """A point, or None where there is none."""
        try:
            optimize, sparse = import_module("scipy.optimize"), import_module("scipy.sparse")
        except ImportError:
            raise InputError("scipy is not installed", hint="pip install 'sfumato[attack]'") from None
        size = len(self.tops)
        places = [(r, c, w) for r, (weights, _, _) in enumerate(self.rows) for c, w in weights.items()]
        rows, columns, values = zip(*places, strict=True)
        matrix = sparse.csr_matrix((values, (rows, columns)), shape=(len(self.rows), size))
        limits = optimize.LinearConstraint(matrix, [low for _, low, _ in self.rows], [high for _, _, high in self.rows])
        solved = optimize.milp(
            np.zeros(size),
            constraints=limits,
            integrality=np.ones(size),
            bounds=optimize.Bounds(np.zeros(size), np.array(self.tops)),
        )
        if solved.status == 2:  # infeasible
            return None
        if solved.x is None:
            raise InputError("the solver gave up", detail=str(solved.message))
        found: NDArray[np.int64] = np.round(solved.x).astype(np.int64)
        return [int(value) for value in found]


def _add_table(program: _Program, cells: Sequence[Person], table: Published) -> None:
    inside = [i for i, cell in enumerate(cells) if table.has(cell)]
    if table.count is None:
        program.add(dict.fromkeys(inside, 1.0), 0, table.below - 1)
        return
    n = table.count
    program.add(dict.fromkeys(inside, 1.0), n, n)
    if table.mean is not None:
        half = Fraction(1, 2 * 10**table.digits)
        low, high = -(-(table.mean - half) * n // 1), (table.mean + half) * n // 1
        program.add({i: float(cells[i][0]) for i in inside}, float(low), float(high))
    if table.median is None:
        return
    middle = Fraction(table.median)
    if n % 2:
        half_of = (n - 1) // 2
        program.add({i: 1.0 for i in inside if cells[i][0] < middle}, None, half_of)
        program.add({i: 1.0 for i in inside if cells[i][0] > middle}, None, half_of)
        return
    _add_even(program, cells, inside, middle, n)


def _add_even(program: _Program, cells: Sequence[Person], inside: list[int], middle: Fraction, n: int) -> None:
    """The two middle ages are middle - d and middle + d for one d; a switch for each d, exactly one of them on."""
    switches: dict[int, float] = {}
    twice = int(2 * middle)
    for low in range(int(middle) + 1):
        high = twice - low
        if high < low:
            continue
        switch = program.variable(1)
        switches[switch] = 1.0
        half = n // 2
        # on: at most half - 1 are below low, at least half are at or below it, and the mirror of both above high
        program.add({**{i: 1.0 for i in inside if cells[i][0] < low}, switch: float(n)}, None, half - 1 + n)
        program.add({**{i: 1.0 for i in inside if cells[i][0] <= low}, switch: -float(half)}, 0, None)
        program.add({**{i: 1.0 for i in inside if cells[i][0] > high}, switch: float(n)}, None, half - 1 + n)
        program.add({**{i: 1.0 for i in inside if cells[i][0] >= high}, switch: -float(half)}, 0, None)
    program.add(switches, 1, 1)


def _check(table: Published, people: Sequence[Person]) -> None:
    """In fractions: a solver in floats is not believed."""
    ages = sorted(one[0] for one in people if table.has(one))
    if table.count is None:
        fits = len(ages) < table.below
    else:
        n = len(ages)
        fits = n == table.count
        if fits and table.median is not None:
            fits = Fraction(ages[(n - 1) // 2] + ages[n // 2], 2) == table.median
        if fits and table.mean is not None:
            fits = abs(Fraction(sum(ages), n) - table.mean) <= Fraction(1, 2 * 10**table.digits)
    if not fits:
        raise InputError("the solver's answer does not fit the tables")


def agree(found: Sequence[Any], truth: Sequence[Any]) -> int:
    """How many people two blocks share."""
    return sum((Counter(found) & Counter(truth)).values())
