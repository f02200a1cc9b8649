"""Stability prevents over-fitting: the same adaptive analysis on a hold-out, with the gateway in front and without it.

Comes in: numbers of people and features, all of them coins. Goes out: what the hold-out says of the classifier that was
chosen with its help, and what fresh people say. There is nothing to be learnt: what is above one half is over-fitted.
The analyst keeps the features on which training and hold-out agree, and takes their majority, as in the reusable
hold-out (Dwork, Feldman, Hardt, Pitassi, Reingold, Roth, Science 2015).
"""

from __future__ import annotations

import csv
import hashlib
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Endpoint
from sfumato.attacks.gate import table_endpoint
from sfumato.attacks.sheet import TABLE, read_sheet
from sfumato.pictures import curves

PEOPLE, FEATURES, FRESH = 400, 100, 20_000
EPSILON = Fraction(4)
"""All that the hold-out may give away; half of it is for what is asked of the classifiers."""
_SIZES = (1, 3, 7, 15, 25)
"""Features of a classifier: odd numbers, so that there are no ties."""
Signs = NDArray[np.int8]


@dataclass(frozen=True)
class HoldoutPoint:
    """A classifier of so many features: how often the hold-out says that it is right, and how often it is."""

    features: int
    said: float
    true: float


@dataclass(frozen=True)
class HoldoutRun:
    """One analysis: a point for each number of features that were kept, and what was spent."""

    name: str
    points: tuple[HoldoutPoint, ...]
    spent: Fraction | None

    @property
    def last(self) -> HoldoutPoint:
        """The classifier that the analyst ends with."""
        return self.points[-1]


@dataclass(frozen=True)
class HoldoutStudy:
    """With the gateway and without it."""

    without: HoldoutRun
    gateway: HoldoutRun

    def picture(self) -> str:
        """What was said and what is true, by the number of features, in SVG."""
        lines = [
            ("hold-out, exact", [(float(p.features), 100 * p.said) for p in self.without.points]),
            ("through the gateway", [(float(p.features), 100 * p.said) for p in self.gateway.points]),
            ("fresh people, exact", [(float(p.features), 100 * p.true) for p in self.without.points]),
            ("fresh, gateway", [(float(p.features), 100 * p.true) for p in self.gateway.points]),
        ]
        return curves(lines, title="Over-fitting a hold-out of coins", axis="features kept", measure="% right")

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            run.name: {
                "spent": None if run.spent is None else str(run.spent),
                "points": [{"features": p.features, "said": p.said, "true": p.true} for p in run.points],
            }
            for run in (self.without, self.gateway)
        }


def study(people: int = PEOPLE, features: int = FEATURES, epsilon: Fraction = EPSILON) -> HoldoutStudy:
    """Run the analysis twice on the same coins."""
    sizes = {"training": people, "held out": people, "fresh": FRESH}
    train, hold, fresh = (_coins(name, many, features) for name, many in sizes.items())
    exact = _run("exact", train, hold, fresh, None)
    with tempfile.TemporaryDirectory(prefix="sfumato-learn-") as folder:
        sheet = read_sheet(_written(Path(folder) / "holdout.csv", hold))
        with table_endpoint(sheet, "id", epsilon) as endpoint:
            private = _run("gateway", train, hold, fresh, endpoint)
    return HoldoutStudy(exact, private)


def _coins(name: str, people: int, features: int) -> Signs:
    """Rows of signs that look random and are the same each time; the last column is the label."""
    many = people * (features + 1)
    bits = np.unpackbits(np.frombuffer(hashlib.shake_128(name.encode()).digest(many // 8 + 1), np.uint8))[:many]
    return (2 * bits.astype(np.int8) - 1).reshape(people, features + 1)


def _written(path: Path, rows: Signs) -> Path:
    """The hold-out as a table: of each feature whether it agrees with the label."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *(f"f{j}" for j in range(rows.shape[1] - 1))])
        for i, row in enumerate(rows):
            writer.writerow([i, *(int(sign == row[-1]) for sign in row[:-1])])
    return path


def _run(name: str, train: Signs, hold: Signs, fresh: Signs, endpoint: Endpoint | None) -> HoldoutRun:
    """Ask how often each feature agrees with the label; keep those that lean as in training; take their majority."""
    features = train.shape[1] - 1
    agree = [float(np.mean(train[:, j] == train[:, -1])) - 0.5 for j in range(features)]
    asked = [_agreement(hold, j, endpoint, features) for j in range(features)]
    both = [j for j in range(features) if agree[j] * asked[j] > 0]
    order = sorted(both, key=lambda j: -abs(asked[j] + agree[j]))
    sizes = [size for size in _SIZES if size <= len(order)]
    points: list[HoldoutPoint] = []
    for size in sizes:
        kept = order[:size]
        signs = np.sign([asked[j] for j in kept])
        said = _right(hold, kept, signs)
        if endpoint is not None:
            said = _asked_right(endpoint, kept, signs, len(hold), len(sizes) - len(points))
        points.append(HoldoutPoint(size, said, _right(fresh, kept, signs)))
    return HoldoutRun(name, tuple(points), None if endpoint is None or endpoint.spent is None else endpoint.spent())


def _agreement(hold: Signs, feature: int, endpoint: Endpoint | None, features: int) -> float:
    """By how much more than one half a feature agrees with the label."""
    if endpoint is None:
        return float(np.mean(hold[:, feature] == hold[:, -1])) - 0.5
    if feature == 0:
        endpoint.share(2 * features)
    found = endpoint.number(f"SELECT COUNT(*) FROM {TABLE} WHERE f{feature} = 1")
    return (found or 0.0) / len(hold) - 0.5


def _asked_right(endpoint: Endpoint, kept: list[int], signs: NDArray[np.float64], people: int, parts: int) -> float:
    """How often the hold-out says that a majority is right, for a part of what is left."""
    endpoint.share(parts)
    total = " + ".join(f"{'' if sign > 0 else '1 - '}f{j}" for j, sign in zip(kept, signs, strict=True))
    found = endpoint.number(f"SELECT COUNT(*) FROM {TABLE} WHERE {total} > {len(kept) // 2}")
    return min(1.0, max(0.0, (found or 0.0) / people))


def _right(rows: Signs, kept: list[int], signs: NDArray[np.float64]) -> float:
    """How often a majority is right; ties are wrong, of an odd number there are none."""
    return float(np.mean(np.sign(rows[:, kept] @ signs) == rows[:, -1]))
