"""Traces: many positions of one person, with a budget for all of them and a prediction that saves most of it.

Independent reports about one place average out, so each costs its level again. The predictive mechanism first tests
privately whether the last report is still good enough: if it is, it is reported again and only the test is paid. A
person who stays at a place gets the same answer again, without a cache whose hits would tell that it is the same place.
When the budget does not allow a test and a fresh report, the last report is held for good.

Guarantee: for two traces of one person whose positions differ by at most `radius` metres at every time, the
probabilities of everything that is reported differ by a factor of at most e^budget.
Proof: the test compares floor(|z - g|), a whole number of grid steps that two positions at distance D change by at most
(D + slack)/step + 1, with a threshold plus two-sided geometric noise whose rate per step is test/(radius + slack +
step): its outcome costs at most `test`. A fresh report costs `level` (mechanism). Costs add up, what is spent is
charged before a draw, and no charge exceeds the budget. Whether a step is a repetition, a fresh report or a held one is
decided by noisy outcomes and by what was spent, never by the position: one outside of a planar region counts as a place
of it, for a trace that ends at the border would tell where it went. Projecting and clipping move no two places apart.
Reference: Chatzikokolakis, Palamidessi, Stronati, PETS 2014 (predictive mechanism); the spending rule is a filter.
Checked by: geo::the_test_of_a_prediction_costs_what_it_says, geo::a_trace_never_exceeds_its_budget
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.design.level import Level, as_level
from sfumato.errors import BudgetError
from sfumato.geo.frames import slack
from sfumato.geo.mechanism import LocationMechanism
from sfumato.geo.purse import MemoryPurse, Point, Purse
from sfumato.geo.retrieval import planar_tail, quantile, spatial_tail
from sfumato.reals import round_down, round_up
from sfumato.sampling import Bits, sample_laplace

Floats = NDArray[np.float64]
FRESH, REPEATED, HELD = "fresh", "repeated", "held"


@dataclass(frozen=True)
class TraceStep:
    """One report of a trace, and how it came about."""

    lat: float
    lon: float
    kind: str
    spent: Fraction


@dataclass(frozen=True, eq=False)
class TraceMechanism:
    """Reports for a person's positions, one after another.

    `budget` is a level within the mechanism's radius, for the whole trace; `test` is the level of one test, a quarter
    of the mechanism's own where none is named; `threshold` is how far off a report may be to be repeated, in metres.
    """

    mechanism: LocationMechanism
    budget: Level
    test: Level
    threshold: Fraction
    purse: Purse = field(default_factory=MemoryPurse)

    @classmethod
    def of(
        cls,
        mechanism: LocationMechanism,
        budget: Any,
        *,
        test: Any = None,
        threshold: Any = None,
        purse: Purse | None = None,
    ) -> TraceMechanism:
        """With defaults: the threshold is the radius that holds 95 % of fresh reports."""
        own = mechanism.level
        tested = Level(own.times / 4, own.odds) if test is None else as_level(test)
        if threshold is None:
            tail = planar_tail if mechanism.frame.dimensions == 2 else spatial_tail
            metres = Fraction(round(quantile(tail, 0.95) / float(mechanism.inner.epsilon)))
        else:
            metres = Fraction(threshold)
        return cls(mechanism, as_level(budget), tested, metres, purse or MemoryPurse())

    @cached_property
    def total(self) -> Fraction:
        """The budget of each person as an amount, rounded down."""
        return round_down(self.budget.epsilon)

    @cached_property
    def _test_cost(self) -> Fraction:
        return round_up(self.test.epsilon)

    @cached_property
    def _fresh_cost(self) -> Fraction:
        return round_up(self.mechanism.level.epsilon)

    @cached_property
    def test_rate(self) -> Fraction:
        """The rate of the test's noise per grid step, a fraction from below."""
        frame = self.mechanism.frame
        metres = self.mechanism.radius * frame.stretch + slack(frame) + frame.step
        exact = self.test.over(metres / frame.step).epsilon
        return round_down(exact, Fraction(1, 1 << 60))

    def passes(self, offset: Point, bits: Bits | None = None) -> bool:
        """The private test: whether a grid point at this offset from the last report counts as near it."""
        steps = isqrt(sum(c * c for c in offset))
        return steps <= int(self.threshold / self.mechanism.frame.step) + int(
            sample_laplace(1 / self.test_rate, bits=bits)
        )

    def report(self, person: str, lat: Any, lon: Any) -> TraceStep:
        """The next report of a person."""
        frame = self.mechanism.frame
        point = tuple(frame.to_grid(np.array([float(lat)]), np.array([float(lon)]), refuse=False)[0].tolist())
        held = self.purse.held(person)
        before = held.spent
        if held.last is not None:
            if before + self._test_cost + self._fresh_cost > self.total:
                return self._step(person, held.last, HELD, before)
            self.purse.charge(person, self._test_cost, self.total)
            if self.passes(tuple(a - b for a, b in zip(point, held.last, strict=True))):
                return self._step(person, held.last, REPEATED, before)
        self.purse.charge(person, self._fresh_cost, self.total)
        noise = self.mechanism.noise.sample(1)[0].tolist()
        fresh = tuple(a + b for a, b in zip(point, noise, strict=True))
        self.purse.remember(person, fresh)
        return self._step(person, fresh, FRESH, before)

    def _step(self, person: str, point: Point, kind: str, before: Fraction) -> TraceStep:
        lat, lon = self.mechanism.frame.from_grid(np.array([point], np.int64))
        return TraceStep(float(lat[0]), float(lon[0]), kind, self.purse.held(person).spent - before)

    def check_first(self) -> None:
        """Raise BudgetError where the budget does not allow a single report."""
        if self._fresh_cost > self.total:
            raise BudgetError(
                "the budget does not allow a single report",
                detail=f"A report costs {self.mechanism.level}; the budget is {self.budget}.",
            )
