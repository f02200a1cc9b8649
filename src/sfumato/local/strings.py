"""Estimates for strings: RAPPOR by regression over candidates, the sketch by lookup, heavy hitters by extension.

Guarantee: under `holm` the chance of naming any candidate that nobody has is at most the level, also for few reports,
and where frequent texts are not among the candidates. Under `bh` the expected share of such ones among those named is
at most the level in all surveys that were simulated. The same reports, in any order, and the same candidates give the
same estimates and names.
Proof: the p-value of a candidate for RAPPOR is its rank among random texts (`decoys`), and all candidates that were
tried are counted. With more than half as many candidates as bits, one half of the cohorts selects those that the other
half tests, and all others have one column together. Each cohort has hash functions of its own: which candidates were
selected says nothing about their bits in the cohorts that test, so that there they share bits with a text that is not
listed as random texts do. A candidate that the bits cannot tell from a combination of others has no unbiased estimate:
it is not named, and its interval is from 0 to 1. Intervals follow from the covariance of the bits that the fitted
shares imply, by the normal law. The reports that support a prefix which nobody has are binomial.
Reference: Erlingsson, Pihur, Korolova, CCS 2014; Holm 1979; Benjamini and Hochberg 1995; Wang, Li, Jha 2019.
Checked by: local::rappor_names_few_that_nobody_has, local::rappor_intervals_cover,
local::candidates_that_cannot_be_told_apart_are_not_named, local::decoding_again_names_the_same,
local::frequent_texts_are_found_letter_by_letter, local::heavy_hitters_name_few_that_nobody_has,
local::intervals_of_a_frequent_text_cover_where_candidates_are_screened,
local::intervals_cover_where_candidates_are_screened_and_a_frequent_text_is_not_listed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.local.base import Tally
from sfumato.local.binomials import binomial_tails
from sfumato.local.decoys import decoy_tests
from sfumato.local.estimates import (
    Estimated,
    Floats,
    check_population,
    quantile,
    rows_of,
    score_interval,
)
from sfumato.local.rappor import Rappor
from sfumato.local.significance import adjusted
from sfumato.local.sketch import CountMeanSketch, PrefixExtending
from sfumato.local.tape import Octets

PREFIXES = 64
"""So many prefixes of one length are extended."""
_RANK, _SLACK = 1e-10, 1e-6
"""Singular values below the first, in parts of the largest, are rounding errors; the second is room for them."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Shares of candidates, and their covariance, from the bits of all cohorts."""

    shares: Floats
    covariance: NDArray[np.float64]
    misfit: float
    told_apart: NDArray[np.bool_]
    """Whose share the bits determine: other combinations of candidates cannot explain the same bits."""
    scores: Floats
    residuals: Floats
    left: Floats
    """What a test compares: how well the bits of each candidate agree with what all others leave, what all leave, and
    what all but one leave, each weighted by reports (`decoys`).
    """


def design(encoder: Rappor, candidates: Sequence[str], beside: Floats | None = None) -> Floats:
    """One row for each bit of each cohort, one column for each candidate, one for candidates that are not fitted
    (`beside`: the mean of their filters), and one for texts that are not listed.
    """
    columns = [encoder.filters(text).ravel() for text in candidates] + ([] if beside is None else [beside])
    spread = 1 - (1 - 1 / encoder.filter) ** encoder.hashes
    unlisted = np.full(encoder.cohorts * encoder.filter, spread)
    return np.column_stack([*columns, unlisted]).astype(np.float64)


def solution(encoder: Rappor, tally: Tally, matrix: Floats) -> Floats:
    """The matrix that turns unbiased bits of all cohorts into shares: least squares, weighted by reports."""
    counts = tally.reshape(encoder.cohorts, encoder.filter + 1)[:, 0].astype(np.float64)
    rows = np.repeat(np.sqrt(counts), encoder.filter)
    result: Floats = np.linalg.pinv(matrix * rows[:, None], rcond=_RANK) * rows[None, :]
    return result


def fit(encoder: Rappor, tally: Tally, matrix: Floats, texts: int) -> Fit:
    """Least squares over the cohorts that have reports, and the covariance that the fitted shares imply. The first
    columns are those of so many texts.
    """
    table = tally.reshape(encoder.cohorts, encoder.filter + 1).astype(np.float64)
    counts = table[:, 0]
    used = counts > 0
    p, q = float(encoder.p), float(encoder.q)
    true = (table[:, 1:] / np.maximum(counts, 1)[:, None] - q) / (p - q)
    solve = solution(encoder, tally, matrix)
    shares = solve @ np.where(used[:, None], true, 0.0).ravel()
    seen = (solve * np.repeat(used, encoder.filter)) @ matrix  # the projection onto what the bits determine
    covariance, chi, free = np.zeros((len(shares), len(shares))), 0.0, -round(float(np.trace(seen)))
    blocks = matrix.reshape(encoder.cohorts, encoder.filter, -1)
    for cohort in np.flatnonzero(used).tolist():
        spread = _bits_covariance(blocks[cohort], shares, texts, p, q)
        part = solve[:, cohort * encoder.filter : (cohort + 1) * encoder.filter]
        covariance += part @ spread @ part.T / counts[cohort]
        rest = true[cohort] - blocks[cohort] @ shares
        chi += float((rest**2 / np.diag(spread)).sum() * counts[cohort])
        free += encoder.filter
    misfit = max(1.0, chi / free) if free > 0 else 1.0
    told_apart = np.diag(seen) > 1 - _SLACK
    weights = np.repeat(counts, encoder.filter)
    residuals = weights * (np.where(used[:, None], true, 0.0).ravel() - matrix @ shares)
    norms = (solve**2 / np.maximum(weights, 1)).sum(axis=1) + ~told_apart
    scores = shares / norms
    return Fit(shares, covariance * misfit, misfit, told_apart, scores, residuals, residuals + scores[:, None] * solve)


def _bits_covariance(block: Floats, shares: Floats, texts: int, p: float, q: float) -> NDArray[np.float64]:
    """Of the unbiased bits of one report: those of one text are set together, and each has its own noise."""
    present = np.clip(shares, 0.0, 1.0)
    rate = np.clip(block @ present, 0.0, 1.0)
    listed = block[:, :texts] * present[:texts]
    together = listed @ block[:, :texts].T - np.outer(rate, rate)
    told = q + (p - q) * rate
    np.fill_diagonal(together, told * (1 - told) / (p - q) ** 2)
    return together


def estimate_rappor(encoder: Rappor, reports: Octets, candidates: Sequence[str], **words: Any) -> list[Estimated]:
    """Every candidate that is tested, with its interval and its adjusted p-value; `estimate_rappor_tally` has words."""
    return estimate_rappor_tally(encoder, encoder.tally(reports), candidates, **words)


def estimate_rappor_tally(
    encoder: Rappor,
    tally: Tally,
    candidates: Sequence[str],
    *,
    population: str = "fixed",
    confidence: object = 0.95,
    correction: str = "holm",
) -> list[Estimated]:
    """The same from a tally."""
    check_population(population)
    _check_candidates(candidates)
    if not tally.reshape(encoder.cohorts, -1)[:, 0].any():
        raise InputError("there are no reports")
    chosen, beside = list(candidates), None
    if is_screened(encoder, len(chosen)):
        chosen, tally, beside = _screened(encoder, tally, chosen)
        population = "sampled"  # those in the cohorts that test are a sample of all
    count, n = len(chosen), int(tally.reshape(encoder.cohorts, -1)[:, 0].sum())
    fitted = fit(encoder, tally, design(encoder, chosen, beside), count)
    shares, variance = fitted.shares[:count], np.diag(fitted.covariance)[:count]
    if population == "fixed":
        inside = np.clip(shares, 0.0, 1.0)
        variance = np.maximum(variance - inside * (1 - inside) / n, variance / 100)
    known = fitted.told_apart[:count] & (variance > 0)  # one report may have none
    deviation = np.sqrt(np.maximum(variance, 0.0))
    tests = np.ones(count)
    if known.any():
        parts = fitted.scores[:count][known], fitted.residuals, fitted.left[:count][known]
        tests[known] = decoy_tests(encoder, parts, len(candidates), correction, tally.tobytes())
    half = quantile(confidence) * deviation
    low, high = np.where(known, shares - half, 0.0), np.where(known, shares + half, 1.0)
    return [
        Estimated(text, float(s), float(a), float(b), float(t))
        for text, s, a, b, t in zip(chosen, shares, low, high, tests, strict=True)
    ]


def _check_candidates(candidates: Sequence[str]) -> None:
    if not candidates or len(set(candidates)) != len(candidates):
        raise InputError("RAPPOR needs a list of candidates, each named once", hint="--candidates FILE names them.")


def is_screened(encoder: Rappor, candidates: int) -> bool:
    """Whether so many candidates are more than the regression can test at once: half as many as there are bits."""
    return 2 * (candidates + 1) > encoder.cohorts * encoder.filter


def tested_at_once(encoder: Rappor, candidates: int) -> int:
    """How many of so many candidates are tested: all of them, or the likeliest by the cohorts that select."""
    if not is_screened(encoder, candidates):
        return candidates
    return max(1, encoder.filter * int(testing_cohorts(encoder).sum()) // 4)


def testing_cohorts(encoder: Rappor) -> NDArray[np.bool_]:
    """Where candidates are selected: the cohorts that test them, every second one. The others select them."""
    if encoder.cohorts < 2:
        raise InputError(
            "one cohort cannot tell so many candidates apart",
            hint=f"Look for {encoder.filter // 2 - 1} or fewer, or plan a task with more cohorts.",
        )
    result: NDArray[np.bool_] = np.arange(encoder.cohorts) % 2 == 0
    return result


def _screened(encoder: Rappor, tally: Tally, candidates: list[str]) -> tuple[list[str], Tally, Floats]:
    """The likeliest candidates by one half of the cohorts; the tally of the other half, for the test; and the mean
    filter of all other candidates, which together are better described by it than by random texts.

    Candidates that share bits with a frequent text look likely, whether that text is listed or not. In the cohorts that
    selected them they would take what it leaves, and the estimates of others with it; in those with other hash
    functions they share no more bits with it than any text does.
    """
    tests = testing_cohorts(encoder)
    table = tally.reshape(encoder.cohorts, encoder.filter + 1)
    counted = table[~tests].astype(np.float64)
    centred = counted[:, 1:] / np.maximum(counted[:, :1], 1) - float(encoder.q) * (counted[:, :1] > 0)
    scores, sums = np.empty(len(candidates)), np.zeros((encoder.cohorts, encoder.filter))
    for at, text in enumerate(candidates):
        filters = encoder.filters(text)
        scores[at] = (filters[~tests] * centred).sum()
        sums += filters
    best = np.sort(np.argsort(-scores, kind="stable")[: tested_at_once(encoder, len(candidates))])
    chosen = [candidates[i] for i in best.tolist()]
    for text in chosen:
        sums -= encoder.filters(text)
    kept: Tally = np.where(tests[:, None], table, 0).ravel()
    return chosen, kept, sums.ravel() / max(1, len(candidates) - len(chosen))


def estimate_sketch(
    encoder: CountMeanSketch,
    tally: Tally,
    candidates: Sequence[str],
    *,
    population: str = "fixed",
    confidence: object = 0.95,
) -> list[Estimated]:
    """The share of each candidate; the interval includes collisions of the public hash functions.

    A text that meets a frequent one meets it in every report, and nobody knows how frequent the texts are that were not
    listed: they count as one text, with as much of what the listed ones leave as their noise allows.
    """
    check_population(population)
    supports = encoder.supports(tally, candidates)
    n = int(supports[0])
    if n < 1:
        raise InputError("there are no reports")
    shares = (supports[1:] / n - float(encoder.q)) / float(encoder.p - encoder.q)
    z, inside = quantile(confidence), np.clip(shares, 0.0, 1.0)
    doubt = z * sqrt(len(shares) * (float(encoder.worth.other) / n + encoder.collision_spread))
    unlisted = min(1.0, max(0.0, 1 - float(shares.sum()) + doubt))
    squares = np.minimum(1.0, (inside**2).sum() - inside**2 + unlisted**2)
    largest = np.maximum(unlisted, _largest_other(inside))
    common: Any = {"extra": encoder.collision_spread * squares, "step": encoder.collision_step * largest}
    low, high = score_interval(encoder.worth, shares, n, population, z, **common)
    return rows_of(candidates, shares, low, high)


def _largest_other(shares: Floats) -> Floats:
    """For each share the largest of the others, or 0."""
    first, second = np.sort(np.append(shares, [0.0, 0.0]))[:-3:-1]
    result: Floats = np.where(shares == first, second, first)
    return result


def discover(
    encoder: PrefixExtending,
    reports: Octets,
    *,
    population: str = "fixed",
    level: float = 0.05,
    most: int = PREFIXES,
) -> list[Estimated]:
    """Frequent texts, found letter by letter, with intervals that hold for all of them together.

    A prefix is extended if its share is significant among all that were tried at its length (Holm).
    """
    check_population(population)
    people = population if encoder.letters == 1 else "sampled"  # those who report on one length are a sample of all
    groups = encoder.tally(reports)
    parents = np.zeros(1, np.int64)
    found: list[Estimated] = []
    for group in range(encoder.letters):
        n = int(groups[group])
        if n < 2 or not len(parents):
            return []
        counts = encoder.supports(reports, group, parents).ravel()
        children = (parents[:, None] * 256 + np.arange(256)[None, :]).ravel()
        shares = (counts / n - float(encoder.q)) / float(encoder.p - encoder.q)
        tests = adjusted(binomial_tails(counts, n, float(encoder.q)), "holm")
        kept = np.flatnonzero(tests < level / encoder.letters)
        kept = kept[np.argsort(-shares[kept])][:most]
        parents = children[kept]
        z = quantile(1 - level / encoder.letters / max(1, len(children)))
        low, high = score_interval(encoder.worth, shares[kept], n, people, z)
        texts = [_text(int(code), group + 1) for code in parents]
        found = [
            Estimated(text, float(s), float(a), float(b), float(t))
            for text, s, a, b, t in zip(texts, shares[kept], low, high, tests[kept], strict=True)
        ]
    return found


def _text(code: int, letters: int) -> str:
    return code.to_bytes(letters, "big").rstrip(b"\0").decode("utf-8", "backslashreplace")
