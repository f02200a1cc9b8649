"""Programs run for good: the laws are those of the language, and what cannot be drawn exactly is refused."""

import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache
from itertools import permutations

import pytest
from scipy import stats

from sfumato.types import Exact
from sfumato.verify import program
from sfumato.verify.release import refused, released, run_exactly, shuffled
from sfumato.verify.run import Runner, TooLong

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


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("t := 3000*c; while (t > 0) { t := t - 1 } return t", 0),  # rounds: a search stops after a thousand
        ("i := 0; y := 3; while (i < 16) { y := y*y; i := i + 1 } if (y > c) { return 1 } return 0", 1),  # 100,000 bits
        ("i := 0; y := 3; while (i < 6) { y := y^8; i := i + 1 } if (y > c) { return 1 } return 0", 1),
        ("y := 1/3; i := 0; while (i < 16) { y := y*y/2; i := i + 1 } if (y < c) { return 1 } return 0", 1),
        ("i := 0; y := [1]; while (i < 13) { y := y ++ y; i := i + 1 } return size(y)", 8192),
    ],
)
def test_no_limit_ends_a_release(body, found):
    """How often a loop goes round, and how long numbers and lists become, may follow from private rows: an error at a
    limit would tell of them what no proof speaks of.
    """
    assert exactly(body) == found
    runner = Runner(read(body))
    with pytest.raises(TooLong):  # the same program where limits are on
        for _ in runner.run({"c": F(2), "eps": F(1, 2), "delta": F(0)}):
            pass


def test_a_table_of_any_size_is_released():
    whole = program("P(d : private {0..1} list) : public int adjacent addremove; claim eps; return size(d) * 0").tree
    assert released(whole, {"eps": F(1), "delta": F(0)}, "d", [Exact((0, 700_000)), Exact((1, 700_000))], F(1)) == 0
