"""What an aggregate is made of: parts that the engine adds up, the length of a row in them, and the number that comes
of it.

An aggregate is a file with one `Kind`: its SQL name, the bounds that it needs, `parts` (what is summed over rows),
`length` (the largest total size of one row in all parts) and `finish` (from noisy sums to the answer). Intervals come
from the draws that a number is made of: see `told`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sfumato.errors import QueryError
from sfumato.mechanisms import Gaussian, Geometric, PrefixSums
from sfumato.mechanisms.sums import sum_width
from sfumato.sql.functions import call
from sfumato.sql.tree import INTEGER, NULL, Aggregate, Constant, Facts, Node

ONE = Constant(1, Facts(INTEGER, Fraction(1), Fraction(1), Fraction(1), False))
ZERO = Constant(0, Facts(INTEGER, Fraction(0), Fraction(0), Fraction(1), False))

SUMS, DISTINCT, CHOICE = "sums", "distinct", "choice"
"""How an aggregate is released: noise on sums, noise on a number of different values, or a choice by ranks."""

Interval = tuple[Fraction | None, Fraction | None] | None


@dataclass(frozen=True)
class Bundle:
    """Parts that are released together at one scale.

    Guarantee: for every admissible row the sizes of its parts add up to at most `length`.
    Proof: for one part it is the largest size that interval arithmetic gives; for the two ends of a mean, (x - low) and
        (high - x) are not negative and add up to high - low; the three parts of a variance are the terms of that sum's
        square, the nine of two numbers those of a product of two squares.
    Reference: Kulesza, Suresh, Wang, ICML 2024 (two-ended sums); Bernstein's polynomials.
    Checked by: laws::no_row_is_longer_than_its_bundle
    """

    parts: tuple[Node, ...]
    length: Fraction
    person: bool = False
    whole: bool = False
    """No part is negative, and together they are as long as the bundle in every row that is known."""

    @property
    def nonnegative(self) -> bool:
        """No part can be negative."""
        return self.whole or all(part.facts.low is not None and part.facts.low >= 0 for part in self.parts)


@dataclass(frozen=True)
class Kind:
    """An aggregate, as a row of the table AGGREGATES."""

    name: str
    bind: Callable[[tuple[Node, ...], Node | None, int], Aggregate]
    bundle: Callable[[Aggregate], Bundle]
    finish: Callable[[Aggregate, tuple[Fraction, ...]], Fraction | None]
    measure: str = SUMS


def filtered(part: Node, where: Node | None) -> Node:
    """The part where the FILTER holds, else nothing."""
    return part if where is None else call("case", (where, part, ZERO))


def filtered_to_null(arg: Node, where: Node | None) -> Node:
    """The value where the FILTER holds, else NULL."""
    return arg if where is None else call("case", (where, arg, Constant(None, Facts(NULL))))


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


@dataclass(frozen=True)
class Term:
    """The noise of one released sum: geometric with a scale, or Gaussian with a variance, on multiples of step.

    Of a total: the sum of so many independent `draws`; of a running one also that of the first `end` entries by a `law`
    of its own, which stands alone in its form: see `forms`.
    """

    scale: Fraction
    step: Fraction
    gaussian: bool = False
    draws: int = 1
    law: PrefixSums | None = None
    end: int = 0


@lru_cache(maxsize=4096)
def width_of(terms: tuple[tuple[Fraction, Term], ...], confidence: Fraction, chernoff: bool = False) -> Fraction:
    """A t with P(|sum of weight Z| <= t) >= confidence, for independent noise Z.

    One term: the smallest such t, by its exact law, also where it is a sum of several draws of one law. Two geometric
    ones: a discrete draw and a continuous Laplace one can be coupled within one step, so the continuous tail at t
    covers the discrete at t + the sum of |weight| step; it is (a² e^(-t/a) - b² e^(-t/b))/(a² - b²), or (1 + t/2a)
    e^(-t/a) for a = b. More: Chernoff's bound with the moments of the continuous laws, which exceed those of the
    discrete ones: for a geometric Z of scale b, E e^(lZ) <= 1/(1 - l² b²), because (cosh y - 1)/y² grows with y; for a
    Gaussian it is at most e^(l² s²/2). Ends are rounded outward: this is post-processing, and errs to the wide side.
    With `chernoff` it is this bound for any number of terms: a convex function of the weights (see `moments`).
    """
    used = tuple((abs(weight), term) for weight, term in terms if weight and term.scale)
    if not used:
        return Fraction(0)
    if len(used) == 1 and not chernoff:
        return _alone(used[0][1], confidence) * used[0][0]
    noise = [noise_of(float(weight), term) for weight, term in used]
    wide = Fraction(wide_enough(noise, float(1 - confidence), chernoff)) * Fraction(1_000_001, 1_000_000)
    if chernoff:
        return wide
    steps = [weight * term.step for weight, term in used]  # the sum is a multiple of what divides all of these
    whole = math.lcm(*(step.denominator for step in steps))
    grid = Fraction(math.gcd(*(int(step * whole) for step in steps)), whole)
    return wide // grid * grid


def _alone(term: Term, confidence: Fraction) -> Fraction:
    """The least width of one term, by its law."""
    if term.law is not None:
        return term.law.interval(confidence, term.end)[1] * term.step
    if term.draws > 1:
        scale = term.scale / term.step ** (2 if term.gaussian else 1)
        return sum_width(scale, term.draws, 1 - confidence, term.gaussian) * term.step
    if term.gaussian:
        law = Gaussian(None, Fraction(1, 2), squared=term.scale / term.step**2)
        return law.interval(confidence)[1] * term.step
    return Geometric(Fraction(1), term.step / term.scale).interval(confidence)[1] * term.step


Noise = tuple[float, float, float, bool, int]
"""Weight, scale, step, whether it is Gaussian, and how many independent draws of it are added up."""


def noise_of(weight: float, term: Term) -> Noise:
    """The noise of a term, in doubles."""
    return weight, float(term.scale), float(term.step), term.gaussian, term.draws


def wide_enough(terms: list[Noise], miss: float, chernoff: bool = False) -> float:
    """`width_of` for several terms, in doubles.

    The bounds are proved, and what doubles lose is far below what they leave.
    """
    known = [(abs(w) * scale, draws) for w, scale, _, gaussian, draws in terms if not gaussian and w]
    sizes = sorted(known, reverse=True)
    variance = sum(draws * w * w * scale for w, scale, _, gaussian, draws in terms if gaussian)
    bound = _chernoff(sizes, variance, math.log(2 / miss))
    if sum(draws for _, draws in sizes) <= 2 and not variance and not chernoff:
        single = [size for size, draws in sizes for _ in range(draws)]
        slack = sum(draws * abs(w) * step for w, _, step, _, draws in terms)
        tail = _two(single, miss) if len(single) == 2 else single[0] * -math.log(miss) if single else 0.0
        return min(bound, slack + tail)  # where noise is far below a step, the slack is most of it
    return bound


def _chernoff(sizes: list[tuple[float, int]], variance: float, needed: float) -> float:
    """The least bound over some l, by golden section; every l gives a true one."""

    def bound(rate: float) -> float:
        moments = variance * rate * rate / 2 - sum(draws * math.log1p(-((rate * size) ** 2)) for size, draws in sizes)
        return (needed + moments) / rate

    if not sizes:
        return math.sqrt(2 * variance * needed)
    low, high = 0.0, 1 / sizes[0][0]
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = bound(left), bound(right)
    for _ in range(24):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = bound(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = bound(right)
    return min(at_left, at_right)


def _two(sizes: list[float], miss: float) -> float:
    """Where the tail of two continuous Laplace draws falls below `miss`, outward."""
    low, high = 0.0, sizes[0] * (2 + 2 * math.log(2 / miss)) * 2
    for _ in range(32):
        middle = (low + high) / 2
        low, high = (low, middle) if _tail(sizes, middle) <= miss else (middle, high)
    return high


def _tail(sizes: list[float], t: float) -> float:
    a, b = sizes
    if a - b < 1e-6 * a:
        return (1 + t / (2 * a)) * math.exp(-t / a)
    return (a * a * math.exp(-t / a) - b * b * math.exp(-t / b)) / (a * a - b * b)
