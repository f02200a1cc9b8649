"""Uniqueness in a population, estimated from a sample: models, and no guarantees.

Comes in: the sizes of the classes of a sample, and the part of the population that the sample is. Goes out: the part of
rows alone in the sample whose people are alone in the population too, by each model. Anybody who knows the
quasi-identifiers of such a person can name the row, without knowing who was sampled.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

_STEPS = 80
"""Steps of a golden section: they leave 1e-16 of an interval."""
_GOLDEN = (math.sqrt(5) - 1) / 2


def estimate_population_uniques(sizes: Sequence[int], fraction: Fraction) -> float:
    """The part of rows alone in a sample that are alone in the population too, by Zayatz's estimator.

    Classes of the population are taken to have the sizes that classes of the sample have; a class of j people shows one
    of them with probability j f (1 - f)^(j - 1) (Zayatz 1991).
    """
    part, counts = float(fraction), Counter(int(size) for size in sizes)
    shown = math.fsum(many * size * (1 - part) ** (size - 1) for size, many in counts.items())
    return counts[1] / shown if shown else 0.0


@dataclass(frozen=True)
class PitmanModel:
    """Two parameters of the Ewens-Pitman sampling formula: 0 <= alpha < 1 and theta > -alpha.

    After n people in u classes the next person opens a new class with probability (theta + u alpha)/(theta + n), and
    joins a class of j people with probability (j - alpha)/(theta + n).
    """

    alpha: float
    theta: float

    def stay_alone(self, seen: int, everybody: int) -> float:
        """The chance that a person alone among `seen` people is alone among `everybody`.

        Proof: the person i + 1 leaves a class of one alone with probability (theta + i - 1 + alpha)/(theta + i); the
        product over i from `seen` to `everybody` - 1 telescopes into gamma functions.
        """
        a, t = self.alpha, self.theta
        top = math.lgamma(t + a + everybody - 1) - math.lgamma(t + a + seen - 1)
        return math.exp(min(0.0, top - math.lgamma(t + everybody) + math.lgamma(t + seen)))


def fit_pitman(sizes: Sequence[int]) -> PitmanModel:
    """The parameters under which the classes are most likely (Pitman 1995; Hoshino 2001)."""
    counts = Counter(int(size) for size in sizes)
    classes, rows = sum(counts.values()), sum(size * many for size, many in counts.items())

    def likelihood(alpha: float) -> tuple[float, float]:
        within = math.fsum(many * (math.lgamma(j - alpha) - math.lgamma(1 - alpha)) for j, many in counts.items())

        def of(log: float) -> float:
            ratio = math.exp(log) / alpha  # theta / alpha + 1
            opened = (classes - 1) * math.log(alpha) + math.lgamma(ratio + classes - 1) - math.lgamma(ratio)
            theta = math.exp(log) - alpha
            return opened - math.lgamma(theta + rows) + math.lgamma(theta + 1) + within

        best = _highest(of, -20.0, 40.0)
        return of(best), math.exp(best) - alpha

    alpha = _highest(lambda a: likelihood(a)[0], 1e-6, 1 - 1e-6)
    return PitmanModel(alpha, likelihood(alpha)[1])


def _highest(of: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one hill is highest, by golden section."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = of(left), of(right)
    for _ in range(_STEPS):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = of(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = of(left)
    return (low + high) / 2


def population_uniques(sizes: Sequence[int], fraction: Fraction) -> dict[str, float]:
    """The part of all rows of the sample that are alone in the population, by each model."""
    rows, alone = sum(sizes), sum(1 for size in sizes if size == 1)
    if not alone:
        return {"zayatz": 0.0, "pitman": 0.0}
    whole = round(rows / fraction)
    pitman = 1.0 if alone == rows else fit_pitman(sizes).stay_alone(rows, whole)
    return {
        "zayatz": alone / rows * estimate_population_uniques(sizes, fraction),
        "pitman": alone / rows * pitman,
    }
