"""Which candidates are named: each is compared with random texts, which set bits as a text does that nobody has.

Comes in: the fitted bits of all cohorts. Goes out: a p-value for every candidate.

Guarantee: under `holm` an absent candidate is named with a chance of at most the level, whatever texts people have
(listed or not), however many reports there are, and whatever the law of their noise is. The chance is over the hash
functions: candidates must not be chosen by their bits. The same reports and candidates give the same p-values.
Proof: hash functions scatter the bits of a candidate that nobody has as they scatter those of a random text, whatever
was reported. Its score adds up, over its bits, what all other candidates leave unexplained, and is one of 1 + `decoys`
exchangeable scores: its rank among them is a p-value. A candidate that is screened away has the p-value 1, and the
others that are tested with one that is not, and those that are not tested, do not depend on its bits. Holm needs no
more. Decoys are drawn from a digest of what was counted, as a new hash function would be: nobody can draw them again
until a name appears. Benjamini and Hochberg need p-values that are positively dependent. That is not proved, for
candidates compete for the same bits: it was measured.
Reference: Phipson and Smyth 2010 (ranks among random draws); Holm 1979; Benjamini and Yekutieli 2001 (dependence).
Checked by: local::rappor_names_few_where_frequent_texts_are_not_listed, local::decoys_set_bits_as_texts_do,
local::decoding_again_names_the_same, local::ranks_among_decoys_are_uniform
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.local.rappor import Rappor
from sfumato.local.significance import adjusted
from sfumato.local.tape import Indices, PublicTape, Tape, sample_uniform_bytes

Floats = NDArray[np.float64]
_EACH, _LEAST, _MOST = 200, 2000, 1 << 22
"""Decoys for each candidate that is tried, so that a p-value of 1/200 is possible after Holm's correction."""
_CHUNK = 1 << 14
_NEAR = 0.25
"""A candidate whose adjusted p-value is below this is compared with decoys of its own."""


def decoy_tests(
    encoder: Rappor, fitted: tuple[Floats, Floats, Floats], tried: int, method: str, counted: bytes
) -> Floats:
    """Adjusted p-values of candidates, of which `tried` were looked at in all; what was counted determines the decoys.

    Fitted are the scores of the candidates, what all of them leave unexplained, and what all but one leave, a row each.
    A decoy's score is the sum, over its bits, of what all leave; a candidate that may be named is compared with the
    sums of what all others leave, as the exact comparison has it.
    """
    scores, residuals, left = fitted
    many = decoys_for(tried)
    room = 1e-9 * float(np.abs(residuals).sum())
    above = np.zeros(len(scores))
    for at in draw_decoys(encoder, many, PublicTape(counted)):
        drawn = np.sort(_sums(residuals, at))
        above += len(drawn) - np.searchsorted(drawn, scores - room)
    tests = (above + 1) / (many + 1)
    near = np.flatnonzero(_over_all(tests, tried, method) < _NEAR)
    own = np.zeros(len(near))
    for at in draw_decoys(encoder, many, PublicTape(counted)) if len(near) else ():
        own += [int((_sums(left[one], at) >= scores[one] - room).sum()) for one in near.tolist()]
    tests[near] = np.maximum(tests[near], (own + 1) / (many + 1))
    return _over_all(tests, tried, method)


def decoys_for(tried: int) -> int:
    """How many decoys so many candidates are compared with: the least p-value after Holm's correction is tried/(1 +
    this).
    """
    return min(max(_EACH * tried, _LEAST), _MOST)


def _over_all(tests: Floats, tried: int, method: str) -> Floats:
    """Candidates that were left out before the test count as tried."""
    return adjusted(np.concatenate([tests, np.ones(tried - len(tests))]), method)[: len(tests)]


def _sums(over: Floats, at: Indices) -> Floats:
    """For each decoy the sum over its bits; the last place stands for a bit that is set already."""
    result: Floats = np.append(over, 0.0)[at].sum(axis=1)
    return result


def draw_decoys(encoder: Rappor, many: int, tape: Tape) -> Iterator[Indices]:
    """Where random texts set their bits, some texts at a time: `hashes` places in each cohort, or the one behind all
    where two of them are the same.
    """
    cohorts, hashes, size = encoder.cohorts, encoder.hashes, encoder.filter
    step = max(1, 64 * _CHUNK // (cohorts * hashes))
    for start in range(0, many, step):
        n = min(step, many - start)
        places = sample_uniform_bytes(tape, n * cohorts * hashes, size).reshape(n, cohorts, hashes)
        at = places + (np.arange(cohorts) * size)[None, :, None]
        for i in range(1, hashes):
            again = (places[:, :, :i] == places[:, :, i : i + 1]).any(axis=2)
            at[:, :, i] = np.where(again, cohorts * size, at[:, :, i])
        yield at.reshape(n, -1)
