"""Traces: many positions of one person, with a budget for all of them and a prediction that saves much of it.

Independent reports about one place average out, so each costs its level again. The predictive mechanism first tests
privately whether the last report is still good enough: if it is, it is reported again and only the test is paid. A
person who stays at a place mostly gets the same answer again, without a cache whose hits would tell that it is the same
place. When the budget does not allow a test and a fresh report, the last report is held for good.

The default threshold is the distance that holds 95 % of fresh reports plus twice the scale of the test's noise. With
the default test, a quarter of the level, a person who stays gets the same answer in 97 % of the repetitions, and each
costs 0.28 levels. The price is accuracy: a person who leaves keeps the last report up to about the threshold, 1.9 km
for ln 4 within 200 m. A larger threshold would save at most 0.03 levels more; a dearer test allows a smaller one.

Guarantee: for two traces of one person whose positions differ by at most `radius` metres at every time, the
probabilities of everything that is reported differ by a factor of at most e^budget.
Proof: the test compares floor(|z - g|), a whole number of grid steps that two positions at distance D change by at most
(D + slack)/step + 1, with a threshold plus two-sided geometric noise whose rate per step is test/(radius + slack +
step): its outcome costs at most `test`. A fresh report costs `level` (mechanism). Costs add up, no charge exceeds the
budget (amounts are multiples of the rounded level: a test is rounded up from its part of it, the budget down), and what
is spent is charged before a report leaves: before each draw, or a batch in one transaction. Whether a step is a
repetition, a fresh report or a held one is decided by noisy outcomes and by what was spent, never by the position: one
outside of a planar region counts as a place of it, for a trace that ends at the border would tell where it went.
Projecting and clipping move no two places apart.
Reference: Chatzikokolakis, Palamidessi, Stronati, PETS 2014 (predictive mechanism); the spending rule is a filter.
Checked by: geo::the_test_of_a_prediction_costs_what_it_says, geo::a_trace_never_exceeds_its_budget,
geo::a_person_who_stays_mostly_gets_the_same_answer, geo::a_budget_of_n_levels_pays_for_n_reports
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from math import exp, factorial, isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.design.level import Level
from sfumato.errors import BudgetError, InputError
from sfumato.geo.frames import slack
from sfumato.geo.mechanism import LocationMechanism, sized_level
from sfumato.geo.purse import MemoryPurse, Point, Purse
from sfumato.geo.retrieval import quantile
from sfumato.reals import Real, round_down, round_up
from sfumato.sampling import Bits, sample_laplace
from sfumato.types import sized

Floats = NDArray[np.float64]
FRESH, REPEATED, HELD = "fresh", "repeated", "held"
TOGETHER = 2000
"""Positions that are charged in one transaction: enough to share its cost, few enough that other processes which spend
from the same ledger do not wait for long."""
_CONFIDENCE, _SCALES = 0.95, 2
"""The default threshold: this part of fresh reports, and so many times the scale of the test's noise."""


@dataclass(frozen=True)
class TraceStep:
    """One report of a trace, and how it came about."""

    lat: float
    lon: float
    kind: str
    spent: Fraction


_Drawn = tuple[Point, str, Fraction]
"""The grid point of a step, its kind and its cost."""


@dataclass(frozen=True, eq=False)
class TraceMechanism:
    """Reports for a person's positions, one after another.

    `budget` is a level within the mechanism's radius, for the whole trace; `test` is the level of one test, a quarter
    of the mechanism's own where none is named; `threshold` is how far off a report may be to be repeated, in metres
    (a report that is exactly so far off is repeated with a chance of one half).
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
        """With defaults: a quarter of the level for a test, and the threshold that the module describes."""
        own = mechanism.level
        tested = Level(own.times / 4, own.odds) if test is None else sized_level(test)
        metres = Fraction(0) if threshold is None else sized(threshold, "threshold")
        trace = cls(mechanism, sized_level(budget), tested, metres, purse or MemoryPurse())
        if trace.test_rate <= 0:
            raise InputError(
                "the level of a test is too small for its noise", hint="Leave it out, or name a larger one."
            )
        return replace(trace, threshold=trace._usual_threshold()) if threshold is None else trace

    def _usual_threshold(self) -> Fraction:
        frame = self.mechanism.frame

        def tail(t: float) -> float:
            """P(epsilon |noise| > t) with all its dimensions, as the test sees it."""
            return exp(-t) * sum(t**k / factorial(k) for k in range(frame.dimensions))

        fresh = quantile(tail, _CONFIDENCE) / float(self.mechanism.noise.rate)
        return frame.step * round(fresh + _SCALES / float(self.test_rate))

    @cached_property
    def total(self) -> Fraction:
        """The budget of each person as an amount."""
        return round_down(self._levels(self.budget) * self._fresh_cost)

    @cached_property
    def _test_cost(self) -> Fraction:
        return round_up(self._levels(self.test) * self._fresh_cost)

    @cached_property
    def _fresh_cost(self) -> Fraction:
        return round_up(self.mechanism.level.epsilon)

    def _levels(self, level: Level) -> Fraction | Real:
        """How many times the mechanism's level: a fraction where both are logarithms of powers of one number. Rounding
        the logarithms themselves would make a budget of 20 ln 4 smaller than twenty reports at ln 4, or at 2 ln 2.
        """
        return level.parts_of(self.mechanism.level)

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
        """The next report of a person; each cost is charged before its draw."""
        points = self._points([float(lat)], [float(lon)], None)
        return self._steps([self._next(self.purse, person, points[0])])[0]

    def report_many(self, people: Sequence[str], lat: Any, lon: Any) -> list[TraceStep]:
        """The next report for each position, in their order. Charges are made together, `TOGETHER` positions at a time;
        all of them are made when this returns.
        """
        rows = list(zip(people, self._points(lat, lon), strict=True))
        drawn: list[_Drawn] = []
        for first in range(0, len(rows), TOGETHER):
            drawn += self.purse.together(partial(self._next_many, rows[first : first + TOGETHER]))
        return self._steps(drawn)

    def _points(self, lat: Any, lon: Any, first: int | None = 0) -> list[Point]:
        degrees = np.asarray(lat, np.float64), np.asarray(lon, np.float64)
        grid = self.mechanism.frame.to_grid(*degrees, first, refuse=False)
        return [tuple(point) for point in grid.tolist()]

    def _next_many(self, rows: Sequence[tuple[str, Point]], purse: Purse) -> list[_Drawn]:
        return [self._next(purse, person, point) for person, point in rows]

    def _next(self, purse: Purse, person: str, point: Point) -> _Drawn:
        held = purse.held(person)
        spent = Fraction(0)
        if held.last is not None:
            if held.spent + self._test_cost + self._fresh_cost > self.total:
                return held.last, HELD, spent
            purse.charge(person, self._test_cost, self.total)
            spent = self._test_cost
            if self.passes(tuple(a - b for a, b in zip(point, held.last, strict=True))):
                return held.last, REPEATED, spent
        purse.charge(person, self._fresh_cost, self.total)
        noise = self.mechanism.noise.sample(1)[0].tolist()
        fresh = tuple(a + b for a, b in zip(point, noise, strict=True))
        purse.remember(person, fresh)
        return fresh, FRESH, spent + self._fresh_cost

    def _steps(self, drawn: Sequence[_Drawn]) -> list[TraceStep]:
        points = np.array([point for point, _, _ in drawn], np.int64).reshape(-1, self.mechanism.frame.dimensions)
        lat, lon = self.mechanism.frame.from_grid(points)
        rows = zip(lat.tolist(), lon.tolist(), drawn, strict=True)
        return [TraceStep(a, b, kind, spent) for a, b, (_, kind, spent) in rows]

    def check_first(self) -> None:
        """Raise BudgetError where the budget does not allow a single report."""
        if self._fresh_cost > self.total:
            raise BudgetError(
                "the budget does not allow a single report",
                detail=f"A report costs {self.mechanism.level}; the budget is {self.budget}.",
            )
