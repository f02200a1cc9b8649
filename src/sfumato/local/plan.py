"""Which mechanism to use: the expected error of each, before anybody reports.

Comes in: how many values (or a range, or any text), how many people, an epsilon. Goes out: every mechanism that fits,
the best first. The error is half of the 95 % interval that `decode` gives, on average: for a value that one person in
`size` has, for a rare text, or for the mean of numbers that are spread evenly over their range (in parts of it).
`detectable` is the smallest share that is told from nothing, among all values together at level 5 %, in four of five
surveys (or the smallest shift of a mean). A value that more people have gets a wider interval where reports are mostly
true, and so does a mean of numbers at the ends of their range where a bit tells which end is nearer.

Each decoder of texts has its own error. RAPPOR fits all candidates at once, which widens the interval of each; where
there are too many candidates, half of the cohorts select those that the other half tests. `prefix` must find a text at
every length, among all children of the prefixes it has kept, and its intervals hold for all texts that it names.

Guarantee: a value or text with the stated share is named in four of five surveys or more, as far as the normal law
holds.
Proof: the interval of a value ends above 0 where its estimate, one of those that whole reports can give, is above the
noise at share 0 and the part of a report that intervals allow for; the estimate varies as it does at the share that is
tried. A candidate of RAPPOR must be among those selected and pass a test at 0.05/candidates, against random texts that
have some of its bits; the columns of other candidates take their part of the bits. For `prefix`, a share of s leaves at
most 1/s prefixes that are as frequent, so at most 256/s children are tested at each length, together at 0.05/letters; a
text must be found at every length, each with probability 0.8^(1/letters).
Reference: Wang, Li, Jha, IEEE TDSC 2019; Erlingsson, Pihur, Korolova, CCS 2014.
Checked by: local::a_text_with_the_planned_share_is_named, local::more_candidates_need_a_larger_share,
local::intervals_of_values_and_means_are_as_wide_as_planned, local::a_value_with_the_planned_share_is_told_from_nothing
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import floor, hypot, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from sfumato.errors import InputError
from sfumato.local.base import Worth
from sfumato.local.binomials import log_binomial
from sfumato.local.dbitflip import BitFlip
from sfumato.local.decoys import decoys_for
from sfumato.local.estimates import allowed_part, quantile, score_interval, share_variance
from sfumato.local.means import expected_interval
from sfumato.local.numbers import Means
from sfumato.local.rappor import Rappor
from sfumato.local.sketch import CountMeanSketch, PrefixExtending
from sfumato.local.strings import PREFIXES, is_screened, tested_at_once, testing_cohorts
from sfumato.local.table import ENCODERS
from sfumato.types import whole

_LONGEST = 1 << 17
"""Bytes of a report that anybody would send."""
_NEAR = 1.05
"""Errors within this factor of the least count as equal: then the shorter report is better."""
CANDIDATES = 1000
"""How many texts are looked for, unless it is stated."""
_LEVEL, _POWER = 0.05, 0.8
_COMMON = 2.0
"""Intervals of RAPPOR are wider by this, times the part of bits that are taken by candidates, over the root of the
number of bits: candidates have bits in common (measured).
"""
_FEWER = 0.07
"""In this part of surveys RAPPOR misses a text that it should name by the normal law (measured)."""
_NORMAL = NormalDist()
_QUANTILES = np.array([_NORMAL.inv_cdf((i + 0.5) / 64) for i in range(64)])
"""Equally likely deviations of an estimate."""


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """One mechanism, and what it would give."""

    encoder: Any
    error: float
    detectable: float
    share: float | None = None
    """The share that a value of a list has, for which the error is stated."""

    def to_dict(self) -> dict[str, Any]:
        """What `--json` shows of it."""
        return {
            "mechanism": self.encoder.name,
            "epsilon": float(self.encoder.epsilon),
            "error_95": self.error,
            "error_share": self.share,
            "detectable": self.detectable,
            "bytes": self.encoder.width,
        }


def weigh(encoder: Any, users: int, candidates: int) -> LocalPlan:
    """The plan of one encoder, for so many values or texts that are tested together."""
    users, candidates = whole(users, "users", 1), whole(candidates, "candidates", 1)
    if isinstance(encoder, PrefixExtending):
        return _weigh_prefix(encoder, users)
    if isinstance(encoder, Rappor):
        return _weigh_rappor(encoder, users, candidates)
    if isinstance(encoder, CountMeanSketch):
        return _weigh_sketch(encoder, users, candidates)
    if encoder.takes == "numbers":
        return _weigh_mean(encoder, users)
    share = 1 / encoder.size
    return LocalPlan(encoder, _half(encoder.worth, share, users), _seen_value(encoder, users, candidates), share)


def _half(worth: Worth, share: float, users: int) -> float:
    """Half of a 95 % interval, over the estimates that surveys give where a value has this share."""
    spread = sqrt(float(share_variance(worth, share, users, "fixed")))
    low, high = score_interval(worth, share + spread * _QUANTILES, users, "fixed", quantile(1 - _LEVEL))
    return float((high - low).mean()) / 2


def _seen_value(encoder: Any, users: int, tests: int) -> float:
    """The share of so many people that the interval of a value, at the level of all tests together, is above 0."""
    worth, z = encoder.worth, _needed(tests)
    low, step = float(worth.low), float(worth.high - worth.low) / users
    limit = allowed_part(z) * step + z * sqrt(float(share_variance(worth, 0.0, users, "fixed")))
    if not isinstance(encoder, BitFlip):  # its reports have several weights, so that estimates lie close together
        limit = low + step * (floor((limit - low) / step) + 0.5)  # between two numbers of reports that support a value

    def power(people: int) -> float:
        share = people / users
        spread = sqrt(float(share_variance(worth, min(share, 1.0), users, "fixed")))
        return _NORMAL.cdf((share - limit) / spread)

    most = 1
    while power(most) < _POWER:
        most *= 2
    return bisect_left(range(most), _POWER, key=power) / users


def _weigh_mean(encoder: Means, users: int) -> LocalPlan:
    """What `estimate_mean` gives where the numbers are spread evenly over the range."""
    low, high = expected_interval(encoder, users, 1 - _LEVEL)
    near, _ = expected_interval(encoder, users, 1 - 2 * _LEVEL)
    c0, c1, c2 = (float(c) for c in encoder.spread)
    spread = sqrt((c0 + c1 / 2 + c2 / 3) / users)
    return LocalPlan(encoder, (high - low) / 2, 0.5 - near + _NORMAL.inv_cdf(_POWER) * spread)


def _weigh_sketch(encoder: CountMeanSketch, users: int, candidates: int) -> LocalPlan:
    """What `estimate_sketch` gives for a rare text, where one other text is everybody's."""
    worth, z, needed = encoder.worth, quantile(1 - _LEVEL), _needed(candidates)
    spread = sqrt(float(share_variance(worth, 0.0, users, "fixed")) + encoder.collision_spread)
    step = float(worth.high - worth.low) / users + encoder.collision_step
    limit = allowed_part(needed) * step + needed * spread

    def power(share: float) -> float:
        own = float(share_variance(worth, min(share, 1.0), users, "fixed")) + encoder.collision_spread
        return _NORMAL.cdf((share - limit) / sqrt(own))

    error = allowed_part(z) * step + z * spread
    return LocalPlan(encoder, error, _least(power, 2 * limit + 40 * sqrt(float(max(worth.own, worth.other)) / users)))


def _needed(tests: float) -> float:
    """How many standard deviations an estimate must be above 0 to pass one of so many tests."""
    return -_NORMAL.inv_cdf(_LEVEL / tests)


def _weigh_rappor(encoder: Rappor, users: int, candidates: int) -> LocalPlan:
    """What `estimate_rappor` gives: the other columns of the regression take their part of the bits."""
    if candidates > _LEVEL * (decoys_for(candidates) + 1):
        raise InputError(f"rappor cannot name any of {candidates:,} candidates", hint="Look for 200,000 or fewer.")
    tested, screened = tested_at_once(encoder, candidates), is_screened(encoder, candidates)
    testing = int(testing_cohorts(encoder).sum()) if screened else encoder.cohorts
    density = 1 - (1 - 1 / encoder.filter) ** encoder.hashes
    rate = float(encoder.q) + float(encoder.p - encoder.q) * density
    own_bits = encoder.filter * density * (1 - density)  # beside the column of unlisted texts
    noise = rate * (1 - rate) / float(encoder.p - encoder.q) ** 2 / (users / encoder.cohorts)
    left_out = (candidates - tested) / candidates**2 * density * (1 - density)  # equally frequent texts, not fitted
    each = (noise + left_out) / own_bits
    selecting, alone = (sqrt(each / cohorts) for cohorts in (max(1, encoder.cohorts - testing), testing))
    bits = testing * encoder.filter
    part = tested / bits
    spread = alone / sqrt(1 - part) * (1 + _COMMON / sqrt(bits) * part)
    overlaps = _overlaps(testing * encoder.hashes, density, _LEVEL / candidates)

    def passed(share: float) -> float:
        """What an estimate must exceed: random texts that have bits in common with this one score higher, too."""
        around = hypot(spread, share * sqrt(part / (1 - part) / bits))

        def below(limit: float) -> float:
            return sum(chance * _NORMAL.cdf((limit - share * common) / around) for common, chance in overlaps)

        return _least(below, share + 40 * around, 1 - _LEVEL / candidates)

    def power(share: float) -> float:
        chosen = _NORMAL.cdf(share / selecting + _NORMAL.inv_cdf(tested / candidates)) if screened else 1.0
        return chosen * _NORMAL.cdf((share - passed(share)) / spread)

    return LocalPlan(encoder, quantile(1 - _LEVEL) * spread, _least(power, 100 * spread, _POWER + _FEWER))


def _overlaps(bits: int, density: float, level: float) -> list[tuple[float, float]]:
    """The part of a text's bits that a random text has, above the mean, with its probability; the rarest left out."""
    chances = np.exp(log_binomial(bits, np.arange(bits + 1), density))
    kept = np.flatnonzero(chances > 1e-4 * level)
    return [(k / bits - density, float(chances[k])) for k in kept.tolist()]


def _weigh_prefix(encoder: PrefixExtending, users: int) -> LocalPlan:
    """What `discover` gives: the interval of a text that has just been found, and how frequent it must be."""
    n = max(1, users // encoder.letters)
    kept = 1 + bisect_left(range(1, PREFIXES), 1.0, key=lambda prefixes: prefixes * _seen_prefix(encoder, n, prefixes))
    seen = _seen_prefix(encoder, n, kept)
    z = quantile(1 - _LEVEL / encoder.letters / (256 * kept))
    low, high = score_interval(encoder.worth, np.array([min(seen, 1.0)]), n, "sampled", z)
    return LocalPlan(encoder, float(high[0] - low[0]) / 2, seen)


def _seen_prefix(encoder: PrefixExtending, n: int, prefixes: int) -> float:
    """The share that is found at every length, with n reports on each, if so many prefixes are extended."""
    z, each = _needed(encoder.letters * 256 * prefixes), _POWER ** (1 / encoder.letters)
    worth = encoder.worth
    part = allowed_part(z) * float(worth.high - worth.low) / n
    needed = part + z * sqrt(float(share_variance(worth, 0.0, n, "fixed")))

    def power(share: float) -> float:
        return _NORMAL.cdf((share - needed) / sqrt(float(share_variance(worth, min(share, 1.0), n, "sampled"))))

    return _least(power, 2 * needed + 40 * sqrt(float(max(worth.own, worth.other) + 1) / n), each)


def _least(power: Callable[[float], float], most: float, wanted: float = _POWER) -> float:
    """The least share that is found so often, by bisection."""
    low, high = 0.0, most
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= wanted else (middle, high)
    return high


def plans(
    takes: str,
    users: int,
    epsilon: object,
    *,
    size: int = 2,
    bits: int = 32,
    only: str | None = None,
    candidates: int = CANDIDATES,
    lifetime: object | None = None,
) -> list[LocalPlan]:
    """All mechanisms for this kind of value, the best first; or one of them. `candidates` is for texts, and `lifetime`
    is what all reports of a device by RAPPOR may cost.
    """
    if only is not None and only not in ENCODERS:
        raise InputError(f'there is no mechanism "{only}"', hint=f"There are {', '.join(ENCODERS)}.")
    if only is not None and ENCODERS[only].takes != takes:
        raise InputError(f"{only} is for {ENCODERS[only].takes}, not for {takes}")
    weighed, refusals = [], []
    for name in [only] if only else _kinds(takes, size):
        try:
            encoder = _planned(name, size, epsilon, bits, lifetime)
            if only or encoder.width <= _LONGEST:
                weighed.append(weigh(encoder, users, {"numbers": 1, "strings": candidates}.get(takes, size)))
        except InputError as error:
            refusals.append(error)
    if not weighed:
        raise refusals[0] if refusals else InputError("no mechanism fits")
    return _ranked(weighed)


def _kinds(takes: str, size: int) -> Iterable[str]:
    names = [name for name, kind in ENCODERS.items() if kind.takes == takes]
    left_out = "k-ary" if size == 2 else "warner"  # the same mechanism under two names
    return [name for name in names if name != left_out]


def _planned(name: str, size: int, epsilon: object, bits: int, lifetime: object | None = None) -> Any:
    kind = ENCODERS[name]
    make: Callable[..., Any] = kind.planned
    if kind is Rappor:
        return make(epsilon, lifetime, bits=bits)
    return make(size, epsilon, bits) if kind.takes == "values" else make(epsilon, bits=bits)


def _ranked(weighed: list[LocalPlan]) -> list[LocalPlan]:
    """The shortest report among the most accurate, then the others by error."""
    by_error = sorted(weighed, key=lambda plan: plan.error)
    near = [plan for plan in by_error if plan.error <= _NEAR * by_error[0].error]
    best = min(near, key=lambda plan: plan.encoder.width)
    return [best, *(plan for plan in by_error if plan is not best)]
