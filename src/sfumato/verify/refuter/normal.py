"""Verify, refuter: programs that release sums with Gaussian noise. Comes in: a program. Goes out: a witness, or None.

On two inputs the outputs are normal with the same variances and other means. The best event is a half-space across the
line between the means, where the density on one input is e^k times that on the other: its chances differ by exactly
the curve's delta. Nothing but `witness.certified` says that a claim is false.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import erfc, exp, sqrt

from sfumato.verify.refuter.chances import NotComputed, scale_ball, with_precision
from sfumato.verify.refuter.discrete import ListingBudget
from sfumato.verify.refuter.events import OutputPattern, Test, leaves_of, reduced
from sfumato.verify.refuter.forms import Form
from sfumato.verify.refuter.paths import ProgramPath, TooManyPaths, Walker
from sfumato.verify.refuter.witness import Witness, as_input, certified, real
from sfumato.verify.run import Env, NotRun, RunFault, TooLong
from sfumato.verify.tree import Draw, Program, statements

PAIRS, CERTIFIED = 1500, 8
FINE = 10**8


@dataclass(slots=True)
class Normal:
    """The search; `best` is the greatest loss seen: there is none that is greatest."""

    program: Program
    best: float = 0.0

    def run(self) -> Witness | None:
        """The first witness."""
        if not any(isinstance(part, Draw) and part.law == "Gauss" for part in statements(self.program.body)):
            return None
        with_precision(192)
        tried = 0
        for number, (one, two) in enumerate(ListingBudget(self.program).pairs()):
            if number > PAIRS or tried >= CERTIFIED:
                return None
            event = self._event(one, two)
            if event is None:
                continue
            tried += 1
            for grid in (1000, FINE):  # small numbers, if they do
                found = certified(self.program, one, two, _rounded(event, grid))
                if found is not None:
                    return found
            with_precision(192)
        return None

    def _event(self, one: Env, two: Env) -> OutputPattern | None:
        """The half-space that tells two inputs apart best."""
        try:
            ways = [Walker(self.program, most=40).ways(as_input(env)) for env in (one, two)]
            claim = [float(real(part, one).mid()) for part in self.program.claim]
        except (NotRun, NotComputed, TooManyPaths, RunFault, TooLong, TypeError, ArithmeticError):
            return None
        if any(len(found) != 1 or found[0].tests for found in ways):
            return None
        return _half_space(ways[0][0], ways[1][0], claim[0], sum(claim[1:]))


def _half_space(first: ProgramPath, second: ProgramPath, claim: float, delta: float) -> OutputPattern | None:
    shape, leaves = leaves_of(first.output)
    other_shape, others = leaves_of(second.output)
    laws = [[noise.law for noise in way.noises] for way in (first, second)]
    if shape != other_shape or laws[0] != laws[1] or not all(isinstance(leaf, Form) for leaf in leaves):
        return None
    factors: dict[int, Fraction] = {}
    mean, squares = Fraction(0), 0.0
    used: set[int] = set()
    for (places, form), (_, moved) in zip(reduced(leaves), reduced(others), strict=True):
        if not isinstance(form, Form) and not isinstance(moved, Form) and form != moved:  # here no noise is left
            named = tuple(sorted(places.items()))
            return OutputPattern(shape, (None,) * len(leaves), (Test(named, "=", Fraction(form)),))
        if not isinstance(form, Form) or not isinstance(moved, Form) or len(form.factors) != 1:
            return None
        ((noise, size),) = form.factors
        if noise in used or first.noises[noise].law != "Gauss":
            return None
        used.add(noise)
        variance = float(size) ** 2 * float(scale_ball(first.noises[noise].scale).mid()) ** 2
        step = moved.constant - form.constant
        weight = Fraction(round(float(step) / variance * FINE), FINE)
        for place, factor in places.items():
            factors[place] = factors.get(place, Fraction(0)) + weight * factor
        mean += weight * form.constant
        squares += float(step) ** 2 / variance
    if not squares or _curve(sqrt(squares), claim) < delta * (1 - 1e-6):
        return None
    bound = mean + Fraction(squares / 2 - claim)
    kept = tuple(sorted((place, factor) for place, factor in factors.items() if factor))
    return OutputPattern(shape, (None,) * len(leaves), (Test(kept, "<=", bound),)) if kept else None


def _curve(shift: float, epsilon: float) -> float:
    """About the delta of Gaussian noise: for looking."""
    low, high = (erfc((epsilon / shift + side * shift / 2) / sqrt(2)) / 2 for side in (-1, 1))
    return low - exp(min(epsilon, 700.0)) * high


def _rounded(event: OutputPattern, grid: int) -> OutputPattern:
    """The event in multiples of 1/grid, its largest factor being one."""
    (test,) = event.tests
    largest = max(abs(factor) for _, factor in test.factors)
    factors = tuple((place, Fraction(round(factor / largest * grid), grid)) for place, factor in test.factors)
    return replace(event, tests=(Test(factors, test.sign, Fraction(round(test.bound / largest * grid), grid)),))
