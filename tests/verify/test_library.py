"""The house's own mechanisms as programs: their certificates hold, and they are the mechanisms."""

import json
import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from functools import cache

import pytest
from scipy import stats

from sfumato.mechanisms import (
    MECHANISMS,
    Exponential,
    Geometric,
    NoisyMax,
    PermuteAndFlip,
    RandomizedResponse,
    SparseVector,
    TruncatedGeometric,
)
from sfumato.verify import program
from sfumato.verify.checking import faults_of
from sfumato.verify.library import FOLDER, NOT_WRITTEN, PROGRAMS, certificate_of, names, text_of
from sfumato.verify.release import run_exactly
from sfumato.verify.tree import Draw, statements

F = Fraction
EPS = F(3, 4)
RUNS, UNLIKELY = 600, 1e-9


def test_every_mechanism_is_in_the_library_or_says_why_not():
    assert set(PROGRAMS) | set(NOT_WRITTEN) == set(MECHANISMS)
    assert not set(PROGRAMS) & set(NOT_WRITTEN)
    assert {path.stem for path in FOLDER.glob("*.sfp")} == {path.stem for path in FOLDER.glob("*.json")} == set(names())


@pytest.mark.parametrize("name", names())
def test_certificates_of_the_library_hold(name):
    document = certificate_of(name)
    assert document["program"] == text_of(name)
    assert document["verdict"] == "PROVED"
    assert faults_of(document) == []


@pytest.mark.parametrize("name", ["geometric", "exponential", "randomized_response"])
def test_a_certificate_of_the_library_with_less_noise_is_rejected(name):
    document = certificate_of(name)
    weaker = json.loads(json.dumps(document).replace("exp(-eps", "exp(-2*eps").replace("exp(eps", "exp(2*eps"))
    assert weaker != document
    assert faults_of(weaker)


def test_certificates_do_not_depend_on_the_order_of_sets():
    """The same bytes in another process, whatever its hashes of words are: with seed 1 they were others once."""
    code = (
        "import json; from sfumato.verify import program; from sfumato.verify.library import text_of;"
        "print(json.dumps(program(text_of('permute_and_flip')).verify().certificate, indent=1))"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        )
        assert json.loads(done.stdout) == certificate_of("permute_and_flip")


@cache
def tree(name):
    return program(text_of(name)).tree


def drawn(name, **inputs):
    """Outputs of a program."""
    env = {"eps": EPS, "delta": F(0)} | inputs
    return Counter(run_exactly(tree(name), env) for _ in range(RUNS))


def agree(counts, mass, outputs):
    """Outputs, and all others together, are as frequent as their masses say."""
    chances = [float(mass(output)) for output in outputs]
    seen = [counts[output] for output in outputs]
    rest = 1 - sum(chances)
    if rest > 1e-9:
        seen, chances = [*seen, RUNS - sum(seen)], [*chances, rest]
    return stats.chisquare(seen, [RUNS * p / sum(chances) for p in chances]).pvalue > UNLIKELY


SCORES = (F(2), F(3), F(1), F(3))


def test_programs_of_the_library_have_the_laws_of_their_mechanisms():
    noise = Geometric(1, EPS)
    assert agree(drawn("geometric", c=F(5)), lambda y: noise.mass(y - 5), range(1, 10))
    second = Counter(output[1] - 7 for output in drawn("histogram", q=(F(1), F(7))).elements())
    assert agree(second, noise.mass, range(-4, 5))
    held = TruncatedGeometric(1, EPS, 0, 4)
    counts = drawn("truncated_geometric", c=F(3), low=F(0), high=F(4))
    assert agree(counts, lambda y: held.mass(y, 3), range(5))
    whole = [int(score) for score in SCORES]
    for name, law in (
        ("noisy_max", NoisyMax(1, EPS)),
        ("noisy_max_monotone", NoisyMax(1, EPS, monotone=True)),
        ("exponential", Exponential(1, EPS)),
    ):
        inputs = {"u" if name == "exponential" else "q": SCORES}
        assert agree(drawn(name, **inputs), lambda y, law=law: law.mass(y, whole), range(4))
    for name, size in (("randomized_response", 2), ("randomized_response_four", 4)):
        said = RandomizedResponse(EPS, size)
        assert agree(drawn(name, x=F(1)), lambda y, said=said: said.mass(y, 1), range(size))


def test_the_sparse_vector_of_the_library_has_the_scales_of_the_mechanism():
    """Everything between the draws is the same comparison; what could differ is how wide they are."""
    for name, monotone in (("sparse_vector", False), ("sparse_vector_monotone", True)):
        law = SparseVector(1, EPS, 3, monotone)
        weight = law._parts[1] / law._parts[0]
        scales = _scales(name, {"w": weight, "N": F(3)})
        assert scales == [law.threshold_scale, law.number_scale]


def test_permute_and_flip_of_the_library_has_the_rate_of_the_mechanism():
    """Its law is real-valued noise, so the programs are not run: by the rate, and by masses for two candidates."""
    for name, monotone in (("permute_and_flip", False), ("permute_and_flip_monotone", True)):
        law = PermuteAndFlip(1, EPS, monotone)
        (scale,) = _scales(name, {})
        for gap in range(4):  # the larger of two with gap g wins but for e^(-g/scale)/2
            assert float(law.mass(1, [gap, 0])) == pytest.approx(
                float(F(1, 2)) * 2.718281828459045 ** -float(gap / scale)
            )


def _scales(name, env):
    from sfumato.verify.run import Runner

    found = tree(name)
    runner = Runner(found)
    rates = []
    for statement in statements(found.body):
        if isinstance(statement, Draw):
            first = statement.args[0]
            if statement.law == "Exponential":
                rates.append(runner.code(first)({"eps": EPS, **env}))
            else:
                rates.append(-1 / runner.code(first.args[0])({"eps": EPS, **env}))
    return rates
