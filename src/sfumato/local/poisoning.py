"""Fake reports: how far m of them can move an estimate.

Anybody can send reports, and a collector cannot tell a fake one from an honest one. What it can tell is how much weight
a report has. Each bound compares the estimate with what it would be if the m fakes had been honest: an honest report
contributes between 0 and 1 on average, a fake one whatever the most extreme report contributes. The hash functions of
the count-mean sketch are the same for everybody: a text that never meets another contributes less than 0 to it.

Guarantee: replacing `fake` of the reports by any others moves the expectation of the estimate by at most the bound. For
RAPPOR the others are of the same cohorts, or of any where all texts are listed and can be told apart.
Proof: every estimate is a sum over reports; the bound is `fake` times the largest difference of two summands. Heavy
hitters are estimated from the reports of one length, so that all fakes may be of that length. For RAPPOR the summands
follow from the fitted regression, with as many reports in each cohort as there are. How many there are does not change
the expectation of honest reports if the regression explains it, with all texts listed. Otherwise a cohort that has more
reports has more weight, and what unlisted texts contribute there has too.
Post-processing: `nonnegative` is convex and rises by at most as much as the share, so that its expectation moves by no
more than that of the share: upwards by Jensen's inequality for the honest reports that are replaced, downwards because
a fake report contributes no less than the least that an honest one does. `simplex` subtracts one number from all shares
that stay above 0, a of k, so that a share moves with the difference between its own movement and the mean of theirs: by
at most (a - 1)/a of its difference to any other, and (1 - 1/k) of the largest. A report contributes to two shares with
a difference of at most W = high - low: m of n reports move a printed share by at most (1 - 1/k) 2 W m/n, in every
survey. In expectation honest reports contribute to two shares with a difference of at most 1, and the largest of k sums
of m numbers within W is above its expectation by at most W (m ln(k)/2)^(1/2) on average (Hoeffding): by at most
(1 - 1/k) ((W + 1) m + W (m ln(k)/2)^(1/2))/n. The smaller of the two is stated. No share of 0 to 1
moves by more than 1.
Reference: Cheu, Smith, Ullman, S&P 2021; Cao, Jia, Gong, USENIX Security 2021; Boucheron, Lugosi, Massart 2013, theorem
2.5 (the largest of sums).
Checked by: local::bounds_of_poisoning_are_exact, local::poisoning_moves_an_estimate_as_far_as_stated_and_no_further,
local::fake_reports_move_a_mean_as_far_as_stated_and_no_further, local::fakes_of_one_length_move_a_heavy_hitter,
local::fakes_move_rappor_no_further_than_stated, local::fakes_of_other_cohorts_move_rappor_no_further,
local::fakes_move_no_printed_share_further_than_stated
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

import numpy as np

from sfumato.errors import InputError
from sfumato.local.base import Frequencies, Tally, Worth
from sfumato.local.numbers import Means
from sfumato.local.rappor import Rappor
from sfumato.local.strings import design, solution
from sfumato.types import whole


def check_fakes(n: int, fake: int) -> None:
    """As many as there are reports, at most."""
    if not 0 <= whole(fake, "fake", 0) <= n:
        raise InputError(f"of {n} reports 0 to {n} can be fake, but not {fake}")


def bound_poisoning(worth: Worth, n: int, fake: int) -> tuple[float, float]:
    """How far `fake` reports among n can move the estimate of one share, down and up."""
    check_fakes(n, fake)
    return fake / n * (float(worth.low) - 1), fake / n * float(worth.high - worth.honest)


def bound_post_poisoning(encoder: Frequencies, n: int, fake: int, post: str) -> tuple[float, float]:
    """How far `fake` reports among n can move one share that was post-processed with the others, down and up."""
    down, up = bound_poisoning(encoder.worth, n, fake)
    if post != "simplex":
        return down, up
    wide = float(encoder.worth.high - encoder.worth.low)
    mean = (wide + 1) * fake + wide * sqrt(fake * log(encoder.size) / 2)
    moved = min(1.0, (1 - 1 / encoder.size) * min(2 * wide * fake, mean) / n)
    return -moved, moved


def bound_mean_poisoning(encoder: Means, n: int, fake: int) -> tuple[float, float]:
    """How far `fake` reports among n can move the estimate of the mean of u = (x - low)/(high - low), down and up."""
    check_fakes(n, fake)
    ends = [float(end) for part in encoder.parts for end in part.ends]
    return fake / n * (min(ends) - 1), fake / n * max(ends)


def bound_rappor_poisoning(encoder: Rappor, tally: Tally, candidates: Sequence[str], fake: int) -> float:
    """How far `fake` reports can move the share of any of these candidates, down or up."""
    counts = tally.reshape(encoder.cohorts, -1)[:, 0]
    check_fakes(int(counts.sum()), fake)
    weights = np.abs(solution(encoder, tally, design(encoder, candidates)))[:-1]
    total = weights.reshape(len(candidates), encoder.cohorts, encoder.filter).sum(axis=2)
    each = total / np.maximum(counts, 1) / float(encoder.p - encoder.q)
    return max(_most(row, counts, fake) for row in each)


def _most(each: np.ndarray[tuple[int, ...], np.dtype[np.float64]], counts: Tally, fake: int) -> float:
    """The fakes go to the cohorts in which one report moves most, no more to each than it has reports."""
    moved = 0.0
    for cohort in np.argsort(-each).tolist():
        here = min(fake, int(counts[cohort]))
        moved, fake = moved + here * float(each[cohort]), fake - here
    return moved
