"""Decoding: a column of bits from noisy answers about subsets of it.

Comes in: which rows each question covered, and its answer. Goes out: an estimate for each row. Least squares is best
for noise that is spread out; minimising absolute errors survives a quarter of answers that are plain wrong (Dwork,
McSherry, Talwar, STOC 2007); trying all columns needs no luck, and errs in at most 4 alpha bits (Dinur and Nissim, PODS
2003).
"""

from __future__ import annotations

from importlib import import_module
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError

Floats = NDArray[np.float64]


def least_squares(subsets: NDArray[np.bool_], answers: Floats) -> Floats:
    """Estimates by the normal equations; a ridge of one prior person keeps few questions from exploding."""
    a = subsets.astype(np.float64)
    centre = 0.5
    gram = a.T @ a
    gram[np.diag_indices_from(gram)] += 1e-3
    return np.asarray(centre + np.linalg.solve(gram, a.T @ (answers - centre * a.sum(axis=1))))


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
    n = int(np.log2(len(answers)))
    if 1 << n != len(answers):
        raise InputError("give the answers for all subsets, in the order of `all_subsets`")
    subsets = all_subsets(n).astype(float)
    for bits in product((0, 1), repeat=n):
        column = np.array(bits, float)
        if (np.abs(subsets @ column - answers) <= alpha).all():
            return column > 0.5
    return None


def all_subsets(n: int) -> NDArray[np.bool_]:
    """All 2^n subsets of n rows, one to a line."""
    return (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(bool)
