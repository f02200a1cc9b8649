"""Estimates for strings: RAPPOR by regression over candidates, the sketch by lookup, heavy hitters by extension.

Guarantee: under `holm` the chance of naming any candidate that nobody has is at most the level, and under `bh` the
expected share of such ones among those named is, up to the normal approximation.
Proof: each candidate's score is its unbiased estimate over its standard deviation, from the covariance of the bits that
the fitted shares imply. With at most half as many candidates as bits all are fitted at once and none is selected
before it is tested; with more, one half of the reports, drawn at random, selects and the other half tests. The reports
that support a prefix which nobody has are binomial, so that heavy hitters are tested without that approximation.
Reference: Erlingsson, Pihur, Korolova, CCS 2014; Holm 1979; Benjamini and Hochberg 1995; Wang, Li, Jha 2019.
Checked by: local::rappor_names_few_that_nobody_has, local::rappor_intervals_cover,
local::frequent_texts_are_found_letter_by_letter, local::heavy_hitters_name_few_that_nobody_has
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.local.base import Tally
from sfumato.local.binomials import binomial_tails
from sfumato.local.estimates import (
    Estimated,
    Floats,
    check_population,
    quantile,
    rows_of,
    score_interval,
)
from sfumato.local.rappor import Rappor
from sfumato.local.significance import adjusted, upper_tail
from sfumato.local.sketch import CountMeanSketch, PrefixExtending
from sfumato.local.tape import Octets, SystemTape, sample_coins


@dataclass(frozen=True, slots=True)
class Fit:
    """Shares of candidates, and their covariance, from the bits of all cohorts."""

    shares: Floats
    covariance: NDArray[np.float64]
    misfit: float


def design(encoder: Rappor, candidates: Sequence[str]) -> Floats:
    """One row for each bit of each cohort, one column for each candidate, and one for texts that are not listed."""
    columns = [encoder.filters(text).ravel() for text in candidates]
    spread = 1 - (1 - 1 / encoder.filter) ** encoder.hashes
    unlisted = np.full(encoder.cohorts * encoder.filter, spread)
    return np.column_stack([*columns, unlisted]).astype(np.float64)


def solution(encoder: Rappor, tally: Tally, matrix: Floats) -> Floats:
    """The matrix that turns unbiased bits of all cohorts into shares: least squares, weighted by reports."""
    counts = tally.reshape(encoder.cohorts, encoder.filter + 1)[:, 0].astype(np.float64)
    rows = np.repeat(np.sqrt(np.where(counts > 1, counts, 0.0)), encoder.filter)
    result: Floats = np.linalg.pinv(matrix * rows[:, None]) * rows[None, :]
    return result


def fit(encoder: Rappor, tally: Tally, matrix: Floats) -> Fit:
    """Least squares over the cohorts that have reports, and the covariance that the fitted shares imply."""
    table = tally.reshape(encoder.cohorts, encoder.filter + 1).astype(np.float64)
    counts = table[:, 0]
    used = counts > 1
    p, q = float(encoder.p), float(encoder.q)
    true = (table[:, 1:] / np.maximum(counts, 1)[:, None] - q) / (p - q)
    solve = solution(encoder, tally, matrix)
    shares = solve @ np.where(used[:, None], true, 0.0).ravel()
    covariance, chi, free = np.zeros((len(shares), len(shares))), 0.0, -np.linalg.matrix_rank(matrix)
    blocks = matrix.reshape(encoder.cohorts, encoder.filter, -1)
    for cohort in np.flatnonzero(used).tolist():
        spread = _bits_covariance(blocks[cohort], shares, p, q)
        part = solve[:, cohort * encoder.filter : (cohort + 1) * encoder.filter]
        covariance += part @ spread @ part.T / counts[cohort]
        rest = true[cohort] - blocks[cohort] @ shares
        chi += float((rest**2 / np.diag(spread)).sum() * counts[cohort])
        free += encoder.filter
    misfit = max(1.0, chi / free) if free > 0 else 1.0
    return Fit(shares, covariance * misfit, misfit)


def _bits_covariance(block: Floats, shares: Floats, p: float, q: float) -> NDArray[np.float64]:
    """Of the unbiased bits of one report: those of one text are set together, and each has its own noise."""
    present = np.clip(shares, 0.0, 1.0)
    rate = np.clip(block @ present, 0.0, 1.0)
    listed = block[:, :-1] * present[:-1]
    together = listed @ block[:, :-1].T - np.outer(rate, rate)
    told = q + (p - q) * rate
    np.fill_diagonal(together, told * (1 - told) / (p - q) ** 2)
    return together


def estimate_rappor(
    encoder: Rappor,
    reports: Octets,
    candidates: Sequence[str],
    *,
    population: str = "fixed",
    confidence: object = 0.95,
    correction: str = "holm",
) -> list[Estimated]:
    """Every candidate that is tested, with its interval and its adjusted p-value."""
    check_population(population)
    if not candidates or len(set(candidates)) != len(candidates):
        raise InputError("RAPPOR needs a list of candidates, each named once", hint="--candidates FILE names them.")
    chosen, kept = list(candidates), reports
    if 2 * (len(chosen) + 1) > encoder.cohorts * encoder.filter:
        chosen, kept = _screened(encoder, reports, chosen)
    return estimate_rappor_tally(
        encoder, encoder.tally(kept), chosen, population=population, confidence=confidence, correction=correction
    )


def estimate_rappor_tally(
    encoder: Rappor,
    tally: Tally,
    chosen: Sequence[str],
    *,
    population: str = "fixed",
    confidence: object = 0.95,
    correction: str = "holm",
) -> list[Estimated]:
    """The same from a tally, for candidates that are all tested at once."""
    matrix = design(encoder, chosen)
    fitted = fit(encoder, tally, matrix)
    n = int(tally.reshape(encoder.cohorts, -1)[:, 0].sum())
    if n < 2:
        raise InputError("there are no reports")
    shares, variance = fitted.shares[:-1], np.diag(fitted.covariance)[:-1]
    if population == "fixed":
        inside = np.clip(shares, 0.0, 1.0)
        variance = np.maximum(variance - inside * (1 - inside) / n, variance / 100)
    deviation = np.sqrt(variance)
    tests = adjusted(upper_tail(shares / deviation), correction)
    half = quantile(confidence) * deviation
    return [
        Estimated(text, float(s), float(s - h), float(s + h), float(t))
        for text, s, h, t in zip(chosen, shares, half, tests, strict=True)
    ]


def _screened(encoder: Rappor, reports: Octets, candidates: list[str]) -> tuple[list[str], Octets]:
    """The likeliest candidates by one half of the reports, drawn at random whatever order the reports are in; the other
    half is left for the test.
    """
    screens = sample_coins(SystemTape(), len(reports), 1 << 7, 8)
    table = encoder.tally(reports[screens]).reshape(encoder.cohorts, encoder.filter + 1).astype(np.float64)
    centred = table[:, 1:] / np.maximum(table[:, :1], 1) - float(encoder.q)
    scores = np.array([float((encoder.filters(text) * centred).sum()) for text in candidates])
    most = max(1, encoder.cohorts * encoder.filter // 4)
    best = np.sort(np.argsort(-scores)[:most])
    return [candidates[i] for i in best.tolist()], reports[~screens]


def estimate_sketch(
    encoder: CountMeanSketch,
    tally: Tally,
    candidates: Sequence[str],
    *,
    population: str = "fixed",
    confidence: object = 0.95,
) -> list[Estimated]:
    """The share of each candidate; the interval includes collisions of the public hash functions."""
    check_population(population)
    supports = encoder.supports(tally, candidates)
    n = int(supports[0])
    if n < 1:
        raise InputError("there are no reports")
    shares = (supports[1:] / n - float(encoder.q)) / float(encoder.p - encoder.q)
    inside = np.clip(shares, 0.0, 1.0)
    squares = min(1.0, float((inside**2).sum() + max(0.0, 1 - inside.sum()) ** 2))
    extra = encoder.collision_spread * squares
    low, high = score_interval(encoder.worth, shares, n, population, quantile(confidence), extra=extra)
    return rows_of(candidates, shares, low, high)


def discover(
    encoder: PrefixExtending,
    reports: Octets,
    *,
    population: str = "fixed",
    level: float = 0.05,
    most: int = 64,
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
    return code.to_bytes(letters, "big").rstrip(b"\0").decode("utf-8", "replace")
