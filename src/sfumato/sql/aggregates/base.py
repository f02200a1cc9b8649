"""What an aggregate is made of: parts that the engine adds up, the length of a row in them, and the number that comes
of it.

An aggregate is a file with one `Kind`: its SQL name, the bounds that it needs, `parts` (what is summed over rows),
`length` (the largest total size of one row in all parts), `finish` (from noisy sums to the answer) and `spread` (its
interval from the law).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sfumato.errors import QueryError
from sfumato.mechanisms import Geometric
from sfumato.sql.functions import call
from sfumato.sql.tree import INTEGER, Aggregate, Constant, Facts, Node

ONE = Constant(1, Facts(INTEGER, Fraction(1), Fraction(1), Fraction(1), False))
ZERO = Constant(0, Facts(INTEGER, Fraction(0), Fraction(0), Fraction(1), False))

Interval = tuple[Fraction | None, Fraction | None] | None


@dataclass(frozen=True)
class Bundle:
    """Parts that are released together at one scale.

    Guarantee: for every admissible row the sizes of its parts add up to at most `length`.
    Proof: for one part it is the largest size that interval arithmetic gives; for the two ends of a mean, (x - low) and
        (high - x) are not negative and add up to high - low.
    Reference: Kulesza, Suresh, Wang, ICML 2024 (two-ended sums).
    Checked by: laws::no_row_is_longer_than_its_bundle
    """

    parts: tuple[Node, ...]
    length: Fraction
    person: bool = False

    @property
    def nonnegative(self) -> bool:
        """No part can be negative."""
        return all(part.facts.low is not None and part.facts.low >= 0 for part in self.parts)


@dataclass(frozen=True)
class Noisy:
    """Released sums of one bundle in one group, and the scale of their noise, in the unit of the values."""

    values: tuple[Fraction, ...]
    scale: Fraction
    step: Fraction


@dataclass(frozen=True)
class Kind:
    """An aggregate, as a row of the table AGGREGATES."""

    name: str
    bind: Callable[[Node | None, Node | None, int], Aggregate]
    bundle: Callable[[Aggregate], Bundle]
    finish: Callable[[Aggregate, Noisy], Fraction | None]
    spread: Callable[[Aggregate, Noisy, Fraction], Interval]


def filtered(part: Node, where: Node | None) -> Node:
    """The part where the FILTER holds, else nothing."""
    return part if where is None else call("case", (where, part, ZERO))


def known(arg: Node) -> Node:
    """The condition that the argument is not NULL."""
    return call("not", (call("is null", (arg,)),))


def bounded_number(arg: Node | None, name: str, position: int) -> Node:
    """An exact number with bounds, which sums need."""
    if arg is None:
        raise QueryError(f"{name} needs a column", position=position, sqlstate="42601")
    facts = arg.facts
    if facts.kind not in ("integer", "decimal", "double"):
        raise QueryError(f"{name} needs numbers, but was given {facts.kind}", position=position, sqlstate="42883")
    if not facts.exact:
        raise QueryError(
            f"{name} needs numbers on a grid, so that sums are exact",
            position=position,
            hint="Declare min, max and grid in the policy, or round the expression: ROUND(x, 2).",
        )
    if not facts.bounded:
        raise QueryError(
            f"{name} needs bounds: without them one person could matter without limit",
            position=position,
            hint="Declare min and max in the policy, or clamp: LEAST(GREATEST(x, 0), 100).",
        )
    return arg


@lru_cache(maxsize=4096)
def half_width(weights: tuple[Fraction, ...], scale: Fraction, step: Fraction, confidence: Fraction) -> Fraction:
    """A t with P(|sum of weight_i Z_i| <= t) >= confidence, Z_i discrete Laplace of this scale on multiples of step.

    One weight: the smallest such t, by the exact law. Two: a discrete draw and a continuous Laplace one can be coupled
    within one step, so the continuous tail at t covers the discrete at t + step (sum of |weight_i|); it is
    (a² e^(-t/a) - b² e^(-t/b))/(a² - b²), or (1 + t/2a) e^(-t/a) for a = b. The end is found by halving and rounded
    outward: this is post-processing, and errs to the wide side.
    """
    used = [abs(w) for w in weights if w]
    if not used or not scale:
        return Fraction(0)
    if len(used) == 1:
        return Geometric(Fraction(1), step / scale).interval(confidence)[1] * step * used[0]
    sizes = sorted((float(w * scale) for w in used), reverse=True)
    miss = float(1 - confidence)
    low, high = 0.0, sizes[0] * (2 + 2 * math.log(len(sizes) / miss)) * len(sizes)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if _tail(sizes, middle) <= miss else (middle, high)
    return Fraction(high) * Fraction(1_000_001, 1_000_000) + step * sum(used, Fraction(0))


def _tail(sizes: list[float], t: float) -> float:
    a, b = sizes
    if a - b < 1e-6 * a:
        return (1 + t / (2 * a)) * math.exp(-t / a)
    return (a * a * math.exp(-t / a) - b * b * math.exp(-t / b)) / (a * a - b * b)
