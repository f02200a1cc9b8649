"""Verify, refuter: the search for a witness against a claim about Rényi divergence. Comes in: a program. Goes out: two
inputs, an order and sets of outputs, certified by divergence.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from math import exp, inf, log
from typing import Any

from flint import arb

from sfumato.verify.effort import LOOK, EffortSpent, limited
from sfumato.verify.finite.law import Law
from sfumato.verify.refuter.chances import scale_ball, with_precision
from sfumato.verify.refuter.discrete import ListingBudget
from sfumato.verify.refuter.divergence import (
    FAILS,
    FAR,
    REACH,
    Cells,
    DivergenceGrid,
    DivergenceWitness,
    Factors,
    are_apart,
    certified,
    chances_of,
)
from sfumato.verify.refuter.events import OutputPattern, OutputSet, leaves_of, reduced
from sfumato.verify.refuter.forms import Form
from sfumato.verify.refuter.listed import law_at, with_balls
from sfumato.verify.refuter.paths import ProgramPath, Walker
from sfumato.verify.refuter.points import CONTINUOUS
from sfumato.verify.refuter.witness import as_input, real
from sfumato.verify.run import REJECTED, Env, Runner
from sfumato.verify.tree import Draw, Program, expressions, names, statements

ORDERS = tuple(map(Fraction, ("1.0001", "1.1", "1.5", "2", "3", "5", "8", "16", "32")))
PAIRS, EACH, CERTIFIED = 4000, 4, 3
"""Pairs of inputs that are made, how many are looked at for the same parameters, and how many are certified."""
COARSE, FINE = (40, 12, 5), (320, 24, 8)
"""Bounds of each combination of outputs, where there are one, two or three of them."""
WIDE = 14
"""How many scales around its centre noise is looked at."""
TINY = 1e-40


@dataclass(frozen=True, slots=True)
class DivergenceRow:
    """A combination of outputs, its centres on both inputs, its scale, and whether all its noise is Gaussian."""

    factors: Factors
    centres: list[Any]
    scale: float
    is_bell: bool


@dataclass(slots=True)
class DivergenceSearch:
    """The search; `best` is the greatest part of the claim that was seen."""

    program: Program
    best: float = 0.0
    exact: Runner = field(init=False)

    def __post_init__(self) -> None:
        self.exact = Runner(self.program, exact=True)

    def run(self) -> DivergenceWitness | None:
        """The first witness."""
        tried: list[tuple[float, Env, Env]] = []
        with limited(LOOK), suppress(EffortSpent):
            for one, two in self._pairs():
                share, shown = self._tried(one, two, COARSE)
                if shown is not None:
                    return shown
                tried.append((share, one, two))
        tried.sort(key=lambda row: -row[0])
        with limited(LOOK), suppress(EffortSpent):
            for share, one, two in tried[:CERTIFIED]:
                shown = self._tried(one, two, FINE)[1] if share > 0.5 else None
                if shown is not None:
                    return shown
        return None

    def _tried(self, one: Env, two: Env, fine: tuple[int, ...]) -> tuple[float, DivergenceWitness | None]:
        """How much of the claim two inputs lose, and a witness if it is more than all of it."""
        with_precision(192)
        found = self._looked(one, two, fine)
        if found is None:
            return 0.0, None
        share, order, cells = found
        self.best = max(self.best, min(share, 1.0))
        return share, certified(self.program, one, two, order, cells) if share > 1 else None

    def _pairs(self) -> Iterator[tuple[Env, Env]]:
        """Adjacent inputs, from both sides: some for each of several parameters."""
        seen: Counter[str] = Counter()
        private = {param.name for param in self.program.params if param.private}
        read = {name for part in statements(self.program.body) for node in expressions(part) for name in names(node)}
        read |= {name for node in (*self.program.requires, *self.program.renyi) for name in names(node)}
        for one, two in islice(ListingBudget(self.program).pairs(), PAIRS):
            key = str({name: value for name, value in one.items() if name in read - private})
            seen[key] += 1
            if seen[key] <= EACH:
                yield one, two
                yield two, one

    def _looked(self, one: Env, two: Env, fine: tuple[int, ...]) -> tuple[float, Fraction, Cells] | None:
        """How much of the claim two inputs lose, at which order, and by which sets of outputs."""
        try:
            most = real(self.program.renyi[-1], one)
            orders = [Fraction(self.exact.code(part)(one)) for part in self.program.renyi[:-1]]
            cells = self._cells(one, two, fine)
            if not cells:
                return None
            sides = [chances_of(self.program, env, cells, self._reach(fine)) for env in (one, two)]
            chances = [[_about(chance) for chance in side] for side in sides]
        except EffortSpent:
            raise
        except FAILS:
            return None
        tried = orders or list(ORDERS)
        best: tuple[float, Fraction] | None = None
        for order in tried:
            limit = float(most.mid()) * (1 if orders else float(order))
            found = divergence_of(chances[0], chances[1], float(order)) if order > 1 else 0.0
            share = found / limit if limit > 0 else inf if found > 1e-12 else 0.0
            if best is None or share > best[0]:
                best = share, order
        return None if best is None else (*best, cells)

    @staticmethod
    def _reach(fine: tuple[int, ...]) -> int:
        return REACH if fine is COARSE else FAR

    def _cells(self, one: Env, two: Env, fine: tuple[int, ...]) -> Cells:
        drawn = {part.law for part in statements(self.program.body) if isinstance(part, Draw)}
        if not drawn & set(CONTINUOUS):
            return _by_ratio(
                *(law_at(self.program, env, self._reach(fine), with_balls, most=6000) for env in (one, two))
            )
        walks = [Walker(self.program, most=40).ways(as_input(env)) for env in (one, two)]
        found: list[DivergenceGrid] = []
        for way in walks[0]:
            if way.output is REJECTED:
                continue
            grid = _grid(way, walks, fine)
            if all(are_apart(grid.pattern, other.pattern) for other in found):
                found.append(grid)
        return tuple(found)


def _by_ratio(first: Law, second: Law) -> Cells:
    """Outputs that are told apart equally well lie in one set: no divergence is lost."""
    found: dict[float | None, list[Any]] = {}
    for key, (value, weight) in first.outputs.items():
        p, q = (float(arb(chance).mid()) for chance in (weight, second.outputs.get(key, (None, 0))[1]))
        found.setdefault(round(log(p / q), 9) if p > TINY and q > TINY else None, []).append(value)
    return tuple(OutputSet(tuple(values)) for values in found.values())


def _grid(way: ProgramPath, walks: list[list[ProgramPath]], fine: tuple[int, ...]) -> DivergenceGrid:
    """Bounds for the outputs of a way: around the centres that combinations of outputs have on both inputs."""
    shape, leaves = leaves_of(way.output)
    pattern = OutputPattern(shape, tuple(None if isinstance(leaf, Form) else leaf for leaf in leaves), ())
    rows: list[DivergenceRow] = []
    for factors, value in reduced(leaves):
        if not isinstance(value, Form):
            continue
        centres, scale = [value.constant], _scale(way, value)
        for other in walks[1]:
            outer, others = leaves_of(other.output) if other.output is not REJECTED else (None, [])
            if outer == shape and len(others) == len(leaves) and other.output is not REJECTED:
                moved: Any = Fraction(0)
                for place, factor in factors.items():
                    moved = moved + others[place] * factor
                centres.append(moved.constant if isinstance(moved, Form) else moved)
        if len(set(centres)) > 1:
            laws = {way.noises[noise].law for noise, _ in value.factors}
            rows.append(DivergenceRow(tuple(sorted(factors.items())), centres, scale, laws == {"Gauss"}))
    rows = _as_one(rows)
    rows.sort(key=lambda row: -float(max(row.centres) - min(row.centres)) / row.scale)
    rows = rows[:3]
    cuts = tuple((row.factors, _bounds(row.centres, row.scale, fine[len(rows) - 1])) for row in rows)
    return DivergenceGrid(pattern, cuts)


def _as_one(rows: list[DivergenceRow]) -> list[DivergenceRow]:
    """Gaussian rows as one: across the line between the centres, which tells them apart as well as all of them do."""
    bells = [row for row in rows if row.is_bell and len(row.centres) == 2]
    if len(bells) < 2:
        return rows
    factors: dict[int, Fraction] = {}
    centres, variance = [Fraction(0), Fraction(0)], 0.0
    for row in bells:
        weight = _near(float(row.centres[1] - row.centres[0]) / row.scale**2)
        for place, factor in row.factors:
            factors[place] = factors.get(place, Fraction(0)) + weight * factor
        centres = [total + weight * centre for total, centre in zip(centres, row.centres, strict=True)]
        variance += float(weight) ** 2 * row.scale**2
    both = DivergenceRow(
        tuple(sorted((place, factor) for place, factor in factors.items() if factor)),
        centres,
        variance**0.5,
        is_bell=True,
    )
    return [*(row for row in rows if row not in bells), both]


def _scale(way: ProgramPath, value: Form) -> float:
    return max(abs(float(size)) * float(scale_ball(way.noises[noise].scale).mid()) for noise, size in value.factors)


def _near(number: float) -> Fraction:
    """A short fraction near a number: where sets of outputs are cut decides only how much they show."""
    return Fraction(round(number * (1 << 20)), 1 << 20) or Fraction(1, 1 << 20)


def _bounds(centres: list[Any], scale: float, count: int) -> tuple[Fraction, ...]:
    """Bounds from far below to far above all centres, and the centres themselves."""
    low, high = float(min(centres)) - WIDE * scale, float(max(centres)) + WIDE * scale
    fine = 1 << 16
    steps = [low + (high - low) * place / (count - 1) for place in range(count)]
    rounded = {Fraction(round(step / scale * fine), fine) * _near(scale) for step in steps}
    return tuple(sorted(rounded | {Fraction(centre) for centre in centres}))


def _about(chance: Any) -> float:
    """A chance as a float: 0 only where it is 0, and TINY where that is not clear."""
    return 0.0 if chance.is_zero() else max(float(chance.mid()), TINY)


def divergence_of(first: list[float], second: list[float], order: float) -> float:
    """About the divergence of order a of two lists of chances: for looking."""
    parts = []
    for p, q in zip(first, second, strict=True):
        if p > TINY and q == 0:
            return inf
        if p > TINY and q > TINY:
            parts.append(order * log(p) + (1 - order) * log(q))
    if not parts:
        return 0.0
    top = max(parts)
    return (top + log(sum(exp(part - top) for part in parts))) / (order - 1)
