"""Which mechanism to use: the expected error of each, before anybody reports.

Comes in: how many values (or a range, or any text), how many people, an epsilon. Goes out: every mechanism that fits,
the best first. The error is half of a 95 % interval around the share of a rare value (or around a mean, in parts of its
range); `detectable` is the smallest share that is told from nothing, among all values together at level 5 %, in four of
five surveys (or the smallest shift of a mean).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from sfumato.errors import InputError
from sfumato.local.estimates import quantile, share_variance
from sfumato.local.rappor import Rappor
from sfumato.local.sketch import CountMeanSketch, PrefixExtending
from sfumato.local.table import ENCODERS
from sfumato.types import whole

_LONGEST = 1 << 17
"""Bytes of a report that anybody would send."""
_NEAR = 1.05
"""Errors within this factor of the least count as equal: then the shorter report is better."""
_TRIED = {"numbers": 1, "strings": 1000}
"""How many tests are made at once: one of a mean, as many as there are values, a thousand texts."""


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """One mechanism, and what it would give."""

    encoder: Any
    error: float
    detectable: float

    def to_dict(self) -> dict[str, Any]:
        """What `--json` shows of it."""
        return {
            "mechanism": self.encoder.name,
            "epsilon": float(self.encoder.epsilon),
            "error_95": self.error,
            "detectable": self.detectable,
            "bytes": self.encoder.width,
        }


def deviation(encoder: Any, users: int) -> float:
    """The standard deviation of the estimate of a rare value's share, or of a mean in parts of its range."""
    if encoder.takes == "numbers":
        c0, c1, c2 = (float(c) for c in encoder.spread)
        return sqrt(max(float(c0 + c1 * u + c2 * u * u) for u in np.linspace(0, 1, 101)) / users)
    if isinstance(encoder, Rappor):
        p, q = float(encoder.p), float(encoder.q)
        return sqrt(q * (1 - q) / encoder.hashes / users) / (p - q)
    people = users / encoder.letters if isinstance(encoder, PrefixExtending) else float(users)
    variance = float(share_variance(encoder.worth, 0.0, people, "fixed"))
    return sqrt(variance + (encoder.collision_spread if isinstance(encoder, CountMeanSketch) else 0.0))


def weigh(encoder: Any, users: int, candidates: int) -> LocalPlan:
    """The plan of one encoder."""
    spread, normal = deviation(encoder, whole(users, "users", 1)), NormalDist()
    seen = -normal.inv_cdf(0.05 / max(1, candidates)) + normal.inv_cdf(0.8)
    return LocalPlan(encoder, quantile(0.95) * spread, seen * spread)


def plans(
    takes: str, users: int, epsilon: object, *, size: int = 2, bits: int = 32, only: str | None = None
) -> list[LocalPlan]:
    """All mechanisms for this kind of value, the best first; or one of them."""
    if only is not None and only not in ENCODERS:
        raise InputError(f'there is no mechanism "{only}"', hint=f"There are {', '.join(ENCODERS)}.")
    if only is not None and ENCODERS[only].takes != takes:
        raise InputError(f"{only} is for {ENCODERS[only].takes}, not for {takes}")
    weighed, refusals = [], []
    for name in [only] if only else _kinds(takes, size):
        try:
            encoder = _planned(name, size, epsilon, bits)
        except InputError as error:
            refusals.append(error)
            continue
        if only or encoder.width <= _LONGEST:
            weighed.append(weigh(encoder, users, _TRIED.get(takes, size)))
    if not weighed:
        raise refusals[0] if refusals else InputError("no mechanism fits")
    return _ranked(weighed)


def _kinds(takes: str, size: int) -> Iterable[str]:
    names = [name for name, kind in ENCODERS.items() if kind.takes == takes]
    left_out = "k-ary" if size == 2 else "warner"  # the same mechanism under two names
    return [name for name in names if name != left_out]


def _planned(name: str, size: int, epsilon: object, bits: int) -> Any:
    kind = ENCODERS[name]
    make: Callable[..., Any] = kind.planned
    return make(size, epsilon, bits) if kind.takes == "values" else make(epsilon, bits=bits)


def _ranked(weighed: list[LocalPlan]) -> list[LocalPlan]:
    """The shortest report among the most accurate, then the others by error."""
    by_error = sorted(weighed, key=lambda plan: plan.error)
    near = [plan for plan in by_error if plan.error <= _NEAR * by_error[0].error]
    best = min(near, key=lambda plan: plan.encoder.width)
    return [best, *(plan for plan in by_error if plan is not best)]
