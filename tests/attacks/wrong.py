"""Mechanisms that are wrong, each known from the literature, as functions that take `size`; and some that are right.

Sources: Lyu, Su, Li, PVLDB 2017 (sparse vectors); Ding and others, CCS 2018 (noisy maxima); Wang and others, CCS 2020
(gaps and the adaptive one); Mironov, CCS 2012 (floats).
"""

import numpy as np


def fresh():
    """A generator of its own for every mechanism: what one test finds does not depend on which ran before."""
    return np.random.default_rng(20241101)


def on_grid(values):
    """Multiples of 1/1024: so that doubles betray nothing, and what is found is the law itself."""
    return np.round(values * 1024) / 1024


def laplace(scale):
    rng = fresh()

    def run(x, size):
        return on_grid(x + rng.laplace(0, scale, size))

    return run


def redrawn(scale, far):
    """Noise that is drawn anew until it lies within a bound: what is beyond it tells which neighbour it was not."""
    rng = fresh()

    def run(x, size):
        noise = rng.laplace(0, scale, size)
        while (outside := np.abs(noise) > far).any():
            noise[outside] = rng.laplace(0, scale, outside.sum())
        return on_grid(x + noise)

    return run


def noisy_max_value(scale):
    rng = fresh()

    def run(scores, size):
        return on_grid((np.array(scores) + rng.laplace(0, scale, (size, len(scores)))).max(axis=1))

    return run


def noisy_max_index(scale):
    rng = fresh()

    def run(scores, size):
        return (np.array(scores) + rng.laplace(0, scale, (size, len(scores)))).argmax(axis=1)

    return run


def sparse(a, b, *, eps=1.0, positives=1, out="yes", threshold=0.0, counted=True):
    """The sparse vector with scales a/eps and b/eps: yes is +inf or a number, no is nan, and -inf after the end."""
    rng = fresh()

    def run(q, size):
        bar = threshold + rng.laplace(0, a / eps, size)
        noisy = np.array(q, float) + (rng.laplace(0, b / eps, (size, len(q))) if b else 0)
        above = noisy >= bar[:, None]
        shown = {"yes": np.full(noisy.shape, np.inf), "value": noisy, "gap": noisy - bar[:, None]}[out]
        result = np.where(above, shown, np.nan)
        if counted:
            before = np.cumsum(above, axis=1) - above
            result = np.where(before >= positives, -np.inf, result)
        return on_grid(result)

    return run


def adaptive(eps=1.0, positives=1, threshold=0.0, out="gap"):
    """The adaptive sparse vector. The right one shows the gap in both branches, the wrong one a value in the first."""
    rng = fresh()

    def run(q, size):
        bar = threshold + rng.laplace(0, 2 / eps, size)
        cost = np.full(size, 2.0 * positives * eps)
        result = np.full((size, len(q)), -np.inf)
        for i, value in enumerate(q):
            going = cost <= 4 * positives * eps - 2 * eps
            rough = value + rng.laplace(0, 8 * positives / eps, size)
            fine = value + rng.laplace(0, 4 * positives / eps, size)
            first, second = rough - bar >= 16, fine - bar >= 0
            seen = np.where(first, rough - bar if out == "gap" else rough, np.where(second, fine - bar, 0.0))
            result[going, i] = seen[going]
            cost = cost + np.where(first, eps, np.where(second, 2 * eps, 0.0)) * going
        return on_grid(result)

    return run


SPARSE = {
    "value at 4N": (sparse(2, 4, eps=2, out="value"), 2),
    "no noise on numbers": (sparse(2, 0, counted=False), 1),
    "no end": (sparse(2, 2, counted=False), 1),
    "too little on numbers": (sparse(4, 4 / 3), 1),
    "value at 2N": (sparse(2, 2, out="value"), 1),
}


def noisy_max_exponential(scale):
    rng = fresh()

    def run(scores, size):
        return on_grid((np.array(scores) + rng.exponential(scale, (size, len(scores)))).max(axis=1))

    return run
