"""Decoding: a column of bits from noisy answers about subsets of it.

Comes in: which rows each question covered, and its answer. Goes out: an estimate for each row. Least squares is best
for noise that is spread out, and with what is known beforehand it is never worse than a guess; minimising absolute
errors survives a quarter of answers that are plain wrong (Dwork, McSherry, Talwar, STOC 2007); trying all columns needs
no luck, and errs in at most 4 alpha bits (Dinur and Nissim, PODS 2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GroupGuess:
    """Of each group of people who look alike: how many have the secret, and the log-odds that one of them has it."""

    counts: Floats
    odds: Floats


def least_squares(subsets: NDArray[np.bool_], answers: Floats) -> Floats:
    """Estimates by the normal equations; a ridge of one prior person keeps few questions from exploding."""
    a = subsets.astype(np.float64)
    centre = 0.5
    gram = a.T @ a
    gram[np.diag_indices_from(gram)] += 1e-3
    return np.asarray(centre + np.linalg.solve(gram, a.T @ (answers - centre * a.sum(axis=1))))


class Equations:
    """The normal equations of least squares, to which questions are added and which are solved now and then.

    `sizes` says how many people of each column look alike, and `prior` how common the secret is. The noise is estimated
    from what is left over; each person's estimate and its own error then give her odds by Bayes' rule, as for a bit in
    normal noise: an estimate that says nothing leaves the prior as it was. How many have it in all is known about as
    well as from as many people again: else one error that all answers share would turn everybody's odds at once.
    """

    def __init__(self, sizes: Floats, prior: float) -> None:
        self.prior = min(max(prior, 0.5 / len(sizes)), 1 - 0.5 / len(sizes))
        self.mean, self.spread = sizes * self.prior, sizes * self.prior * (1 - self.prior)
        self.gram = np.zeros((len(sizes), len(sizes)))
        self.right = np.zeros(len(sizes))
        self.squares, self.questions, self.expected = 0.0, 0, 0.0

    def add(self, subsets: NDArray[np.bool_], answers: Floats) -> None:
        """More questions; sums of zeros and ones are exact in single precision, and take half the time."""
        a = subsets.astype(np.float32)
        rest = answers - subsets @ self.mean
        self.gram += a.T @ a
        self.right += subsets.T @ rest
        self.squares += float(rest @ rest)
        self.expected += float((subsets @ self.spread).sum())
        self.questions += len(answers)

    def solve(self, *, carefully: bool = True) -> GroupGuess:
        """The best estimate of the column from what has been added so far; carefully: with the noise it leaves over."""
        noise = self._first_noise()
        inverse = self._inverse(noise)
        if carefully:
            noise = self._left_over(inverse)
            inverse = self._inverse(noise)
        moved = inverse @ self.right
        gain = np.clip(1 - noise * np.diag(inverse) / self.spread, 1e-12, 1 - 1e-12)
        error = self.spread * (1 - gain) / gain
        unbiased = self.mean + moved / gain
        odds = np.log(self.prior / (1 - self.prior)) + (unbiased - 0.5) / error
        return GroupGuess(self.mean + moved, odds)

    def _inverse(self, noise: float) -> Floats:
        total = noise / float(self.spread.sum())  # everybody together, as if asked with an error of the whole spread
        return np.asarray(np.linalg.inv(self.gram + total + np.diag(noise / self.spread)))

    def _first_noise(self) -> float:
        """The variance of an answer, by how much more answers vary than people who are independent would make them."""
        return max(1e-6, (self.squares - self.expected) / self.questions, 0.02 * self.squares / self.questions)

    def _left_over(self, inverse: Floats) -> float:
        """The variance that the estimate leaves over, for each question beyond those that went into the estimate."""
        moved = inverse @ self.right
        rest = self.squares - 2 * float(moved @ self.right) + float(moved @ self.gram @ moved)
        free = self.questions - float((self.gram * inverse).sum())
        return max(1e-6, rest / max(free, 1.0))

    def is_regular(self) -> bool:
        """Whether there is one solution only."""
        try:
            np.linalg.cholesky(self.gram - np.diag(np.full(len(self.right), 1e-6)))
        except np.linalg.LinAlgError:
            return False
        return True


def least_absolute(subsets: NDArray[np.bool_], answers: Floats) -> Floats:
    """Estimates in [0, 1] with the least sum of absolute errors, by linear programming (SciPy)."""
    try:
        optimize, sparse = import_module("scipy.optimize"), import_module("scipy.sparse")
    except ImportError:
        raise InputError("scipy is not installed", hint="pip install 'sfumato[attack]'") from None
    m, n = subsets.shape
    a, one = sparse.csr_matrix(subsets.astype(float)), sparse.eye(m)
    # x in [0, 1], and answer = A x + up - down with up, down >= 0
    system = sparse.hstack([a, one, -one], format="csr")
    cost = np.concatenate([np.zeros(n), np.ones(2 * m)])
    bounds = [(0, 1)] * n + [(0, None)] * (2 * m)
    solved = optimize.linprog(cost, A_eq=system, b_eq=answers, bounds=bounds, method="highs")
    if solved.x is None:
        raise InputError("the linear program was not solved", detail=str(solved.message))
    return np.asarray(solved.x[:n])


def is_gross(subsets: NDArray[np.bool_], answers: Floats, estimate: Floats) -> bool:
    """Whether a few answers are far off and most are near: then absolute errors are the better measure."""
    rest = np.abs(answers - subsets.astype(float) @ (estimate > 0.5))
    typical = float(np.median(rest))
    return bool(np.mean(rest > 6 * typical + 3) > 0.02)


def exhaustive(answers: Floats, alpha: float) -> NDArray[np.bool_] | None:
    """Some column that fits the answers to all subsets within alpha; None if none does.

    Guarantee: if every answer is within alpha of the truth, what is found differs from it in at most 4 alpha bits.
    Proof: let S be the bits that are 1 in what was found and 0 in truth. The truth has 0 of them, so the answer for S
        is at most alpha, and what was found has at most 2 alpha there; likewise for the bits that are 0 in it and 1 in
        truth.
    Reference: Dinur and Nissim, PODS 2003, theorem 2.
    Checked by: attacks::all_subsets_within_alpha_give_all_but_four_alpha
    """
    errors = _largest_errors(answers)
    fitting = np.flatnonzero(errors <= alpha)
    return all_subsets(int(np.log2(len(answers))))[fitting[0]] if len(fitting) else None


def closest(answers: Floats) -> tuple[float, NDArray[np.bool_]]:
    """The least alpha with which some column fits the answers to all subsets, and every column that fits then."""
    errors = _largest_errors(answers)
    return float(errors.min()), all_subsets(int(np.log2(len(answers))))[errors <= errors.min() + 1e-9]


def _largest_errors(answers: Floats) -> Floats:
    n = int(np.log2(len(answers)))
    if 1 << n != len(answers):
        raise InputError("give the answers for all subsets, in the order of `all_subsets`")
    subsets = all_subsets(n).astype(float)
    return np.asarray(np.abs(subsets @ subsets.T - answers[:, None]).max(axis=0))


def all_subsets(n: int) -> NDArray[np.bool_]:
    """All 2^n subsets of n rows, one to a line."""
    return (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(bool)
