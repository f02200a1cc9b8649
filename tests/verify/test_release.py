"""Programs run for good: the laws are those of the language, and what cannot be drawn exactly is refused."""

import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache
from itertools import permutations

import pytest
from scipy import stats

from sfumato.verify import program
from sfumato.verify.release import refused, released, run_exactly, shuffled
from sfumato.words import Exact

F = Fraction
RUNS = 2000
UNLIKELY = 1e-9


def exactly(body, **env):
    return run_exactly(read(body), {"c": F(2), "eps": F(1, 2), "delta": F(0), **env})


@lru_cache
def read(body):
    return program(f"P(c : private int) : public int adjacent one; claim eps; {body}").tree


def fits(drawn, law):
    """Whether frequencies are those of a law, given as chances of the values; the last is for the rest."""
    counts = Counter(drawn)
    seen = [counts[value] for value in law]
    rest = 1 - sum(law.values())
    if rest > 1e-12:
        return stats.chisquare([*seen, RUNS - sum(seen)], [RUNS * p for p in (*law.values(), rest)]).pvalue > UNLIKELY
    assert sum(seen) == RUNS
    return stats.chisquare(seen, [RUNS * p for p in law.values()]).pvalue > UNLIKELY


E2 = math.exp(-0.5)


@pytest.mark.parametrize(
    ("body", "law"),
    [
        ("z :=$ Geometric(exp(-eps)); return c + z", {2 + k: (1 - E2) / (1 + E2) * E2 ** abs(k) for k in range(-6, 7)}),
        (
            "z :=$ TruncGeometric(exp(-eps), 0, 3, c); return z",
            {0: E2**2 / (1 + E2), 1: (1 - E2) / (1 + E2) * E2, 2: (1 - E2) / (1 + E2), 3: E2 / (1 + E2)},
        ),
        ("b :=$ Bernoulli(1/4); return b", {0: 0.75, 1: 0.25}),
        ("b :=$ Bernoulli(exp(eps)/(1+exp(eps))); return b", {0: E2 / (1 + E2), 1: 1 / (1 + E2)}),
        ("k :=$ Choice([1, 0, 3*exp(-eps)]); return k", {0: 1 / (1 + 3 * E2), 2: 3 * E2 / (1 + 3 * E2)}),
        ("u :=$ Uniform(-1..c); return u", dict.fromkeys((-1, 0, 1, 2), 0.25)),
        ("u :=$ Uniform({0,1}^2); return int(u)", dict.fromkeys((0, 1, 2, 3), 0.25)),
    ],
)
def test_an_exact_run_has_the_law_of_the_program(body, law):
    assert fits([int(exactly(body)) for _ in range(RUNS)], law)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("z :=$ Laplace(1/eps, 0); return z", "Laplace noise cannot be drawn exactly"),
        ("z :=$ Gauss(1, 0); return z", "Gauss noise cannot be drawn exactly"),
        ("z :=$ Geometric(1/2); return z", "the ratio of Geometric noise must be written as exp(-t)"),
        ("z :=$ Geometric(exp(-ln 3)); return z", "the ratio of Geometric noise must be written as exp(-t)"),
        (
            "if (c > exp(eps)) { return 1 } else { return 0 }",
            "exp, ln and sqrt may only be used in the arguments of a distribution",
        ),
    ],
)
def test_what_cannot_be_drawn_exactly_is_refused(body, message):
    error = refused(read(body))
    assert error is not None
    assert error.message == message


def test_elements_come_in_any_order():
    law = dict.fromkeys(permutations((1, 2, 3)), 1 / 6)
    assert fits([shuffled([1, 2, 3]) for _ in range(RUNS)], law)


def test_sealed_elements_are_opened_step_by_step():
    text = "P(d : private real list) : public real adjacent addremove; claim eps; return d[0] + d[1] + d[2] + size(d)"
    sealed = [Exact((3, 2)), Exact((-1, 1))]
    assert released(program(text).tree, {}, "d", sealed, F(1, 2)) == F(5, 2) + 3
