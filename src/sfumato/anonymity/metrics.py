"""Utility and risk of a release, from its classes alone.

Comes in: a Recoding. Goes out: a Measures record: information loss by several measures, and the chance that an attacker
names a row rightly, for three kinds of attackers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from sfumato.anonymity.classes import Tuples
from sfumato.anonymity.population import population_uniques
from sfumato.anonymity.recoding import Recoding


@dataclass(frozen=True)
class Measures:
    """Utility: loss (GenILoss), discernibility, average class size, non-uniform entropy (1: nothing is left).

    Risk: prosecutor (knows that the person is in the table; the worst class), journalist (knows only that the person is
    in the population), marketer (wants many: the expected part of rows), uniques (rows alone in their class), and, by
    model, the part of rows whose people are alone in the population too.
    """

    classes: int
    loss: Fraction
    discernibility: int
    average_class_size: Fraction
    entropy: float
    prosecutor: Fraction
    journalist: Fraction
    marketer: Fraction
    uniques: Fraction
    at_risk: Fraction
    population_uniques: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """The measures as one document."""
        return {
            "classes": self.classes,
            "loss": float(self.loss),
            "discernibility": self.discernibility,
            "average_class_size": float(self.average_class_size),
            "entropy": self.entropy,
            "prosecutor": float(self.prosecutor),
            "journalist": float(self.journalist),
            "marketer": float(self.marketer),
            "uniques": float(self.uniques),
            "at_risk": float(self.at_risk),
            **({"population_uniques": self.population_uniques} if self.population_uniques else {}),
        }


def measure(
    tuples: Tuples, recoding: Recoding, threshold: Fraction = Fraction(1, 5), sampling: Fraction | None = None
) -> Measures:
    """Everything that is printed about a release; `at_risk` is the part of rows whose risk is above the threshold."""
    size = recoding.classes.size[recoding.held]
    rows, kept = int(recoding.classes.size.sum()), int(size.sum())
    people = size if recoding.classes.population is None else recoding.classes.population[recoding.held]
    worst = int(size.min(initial=rows)) if len(size) else 0
    above = int(size[size * threshold.numerator < threshold.denominator].sum())
    return Measures(
        len(size),
        recoding.loss,
        sum(int(n) ** 2 for n in size.tolist()) + recoding.suppressed * rows,
        Fraction(kept, len(size)) if len(size) else Fraction(0),
        _entropy(tuples, recoding),
        Fraction(1, worst) if worst else Fraction(0),
        Fraction(1, max(int(people.min()), 1)) if len(size) else Fraction(0),
        Fraction(len(size), kept) if kept else Fraction(0),
        Fraction(int((size == 1).sum()), kept) if kept else Fraction(0),
        Fraction(above, kept) if kept else Fraction(0),
        {} if sampling is None or not kept else population_uniques(size.tolist(), sampling),
    )


def _entropy(tuples: Tuples, recoding: Recoding) -> float:
    """Non-uniform entropy: how many of the bits of the original values the labels no longer tell, from 0 to 1.

    The entropy of a column given its label, over the entropy of the column; a suppressed row loses all of its bits.
    """
    ours = np.flatnonzero(tuples.histogram.sum(axis=1))  # not those of a population alone
    weight = tuples.histogram[ours].sum(axis=1).astype(np.float64)
    class_of = recoding.class_of[ours]
    held = recoding.held[class_of]
    lost = whole = 0.0
    for codes, label_of, labels in zip(tuples.codes, recoding.label_of, recoding.labels, strict=True):
        counts = np.bincount(codes[ours], weights=weight)
        own = np.log2(weight.sum() / counts[codes[ours]])
        pairs, place = np.unique(label_of[class_of] * len(counts) + codes[ours], return_inverse=True)
        joint = np.bincount(place, weights=weight * held, minlength=len(pairs))
        total = np.bincount(pairs // len(counts), weights=joint, minlength=len(labels))
        with np.errstate(divide="ignore", invalid="ignore"):
            bits = np.where(joint > 0, np.log2(total[pairs // len(counts)] / joint), 0.0)
        lost += float((joint * bits).sum() + (weight * own)[~held].sum())
        whole += float((weight * own).sum())
    return 0.0 if math.isclose(whole, 0.0) else min(lost / whole, 1.0)
