"""Draws that are paid with delta: exactly as far as the curve of the noise reaches, and never twice."""

from dataclasses import replace
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from sfumato.verify.checking import faults_of
from sfumato.verify.kernel import certificate
from sfumato.verify.kernel.check import conditions_of, is_proved
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.verdict import verify

F = Fraction
ONE = """P(c : private {kind}) : public real requires eps = {eps}; adjacent one; claim ({k}, {delta});
  z :=$ {law};
  return c + z
"""
LAWS = {"Laplace": ("real", "Laplace(1/eps, 0)"), "Geometric": ("int", "Geometric(exp(-eps))")}
PLACES = [
    ("1", "1/2"),
    ("1", "0"),
    *(pytest.param(*place, marks=pytest.mark.slow) for place in (("2", "3/2"), ("1/4", "1/8"), ("3", "1/3"))),
]


def exact(law, eps, k):
    """The sum of all positive parts of p - e^k q, for noise and noise moved by one: by adding up, not by formulas."""
    if law == "Geometric":
        a = exp(-eps)
        chance = [(1 - a) / (1 + a) * a ** abs(z) for z in range(-400, 402)]
        return sum(max(0.0, p - exp(k) * q) for p, q in zip(chance[1:], chance, strict=False))
    points = np.linspace(-80, 80, 1_600_001) / eps
    p, q = (eps / 2 * np.exp(-eps * np.abs(points - shift)) for shift in (0, 1))
    return float(np.sum(np.maximum(p - exp(k) * q, 0)) * (points[1] - points[0]))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("eps", "k"), PLACES)
def test_a_delta_is_proved_down_to_the_curve(law, eps, k):
    kind, said = LAWS[law]
    true = exact(law, float(F(eps)), float(F(k)))
    above, below = F(round((true + 2e-4) * 10**6), 10**6), F(round((true - 2e-4) * 10**6), 10**6)
    made = ONE.format(kind=kind, law=said, eps=eps, k=k, delta=above)
    found = verify(read_program(made))
    assert (found.verdict, found.scope) == ("PROVED", "all")
    assert faults_of(found.certificate) == []
    tight = read_program(made.replace(str(above), str(below)))
    assert not is_proved(tight, found.proofs)
    assert verify(tight).verdict != "PROVED"


@pytest.mark.parametrize(
    ("claim", "proved"),
    [
        ("(eps/2, 1 - exp(-eps/4))", True),
        ("(eps/2, 1 - exp(-eps/5))", False),
        ("(0, 1 - exp(-eps/2))", True),
        ("(0, (1 - exp(-eps/2))/2)", False),
        ("(eps, 0)", True),
        ("(99*eps/100, 0)", False),
    ],
)
def test_a_delta_may_depend_on_epsilon(claim, proved):
    text = f"P(c : private real) : public real adjacent one; claim {claim}; z :=$ Laplace(1/eps, 0); return c + z"
    assert (verify(read_program(text)).verdict == "PROVED") == proved


MANY = """P(c : private real, d : private real) : public real list requires eps = 1; adjacent all; claim (3/2, {delta});
  x :=$ Laplace(1/eps, 0);
  y :=$ Laplace(1/eps, 0);
  return [c + x, d + y]
"""


def test_other_draws_are_paid_with_the_claim():
    """Each draw may lose 1: one is paid in full, the other gets 1/2 and the delta of its curve, 1 - e^(-1/4)."""
    found = verify(read_program(MANY.format(delta="0.2213")))
    assert found.verdict == "PROVED"
    assert not is_proved(read_program(MANY.format(delta="0.2211")), found.proofs)
    (proof,) = found.proofs
    less = replace(proof, curve=(proof.curve[0], read_proof("eps/2"), proof.curve[2]))
    assert not is_proved(read_program(MANY.format(delta="0.5")), (less,))


BEGUN = Proof("both", shifts={1: read_proof("-#shift(c)")}, curve=(1, read_proof("0"), read_proof("eps")))
HEAD = "P(c : private real) : public real list requires eps = 1; adjacent one; claim (1/2, 0.3);"
RIGHT = HEAD + "z :=$ Laplace(1/eps, 0); return [c + z]"


def test_a_draw_that_is_paid_with_delta_is_made_once():
    assert is_proved(read_program(RIGHT), (BEGUN,))
    again = HEAD + "i := 0; r := []; while (i < 2) { z :=$ Laplace(1/eps, 0); r := r ++ [c + z]; i := i + 1 } return r"
    with pytest.raises(NoProofRule, match="made once"):
        conditions_of(read_program(again), replace(BEGUN, unrolled=frozenset({1})))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"pointwise": True}, RIGHT),
        ({"shifts": {1: read_proof("#if(#noise > 0, -#shift(c), -#shift(c))")}}, RIGHT),
        ({}, RIGHT.replace("adjacent one", "adjacent 2(one)")),
        ({}, RIGHT.replace("claim (1/2, 0.3)", "claim 1/2")),
        ({"curve": (2, read_proof("0"), read_proof("eps"))}, RIGHT),
        ({"curve": (1, read_proof("c - c + 0*c"), read_proof("c"))}, RIGHT),
    ],
)
def test_what_the_rule_does_not_cover(change, text):
    with pytest.raises(NoProofRule):
        conditions_of(read_program(text), replace(BEGUN, **change))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"curve": (1, read_proof("0"), read_proof("eps/2"))}, RIGHT),  # moved further than is said
        ({"curve": (1, read_proof("0-eps"), read_proof("eps"))}, RIGHT),  # others cost less than nothing
        ({"curve": (1, read_proof("eps"), read_proof("eps"))}, RIGHT),  # and more than the claim
        ({"curve": (1, read_proof("0"), read_proof("0-eps"))}, RIGHT),
        ({}, RIGHT.replace("Laplace(1/eps, 0)", "Laplace(1/(2*eps), 0)")),
        ({}, RIGHT.replace("0.3", "0.2")),
        ({}, RIGHT.replace("z :=$ Laplace(1/eps, 0)", "z :=$ Geometric(exp(-2*eps))").replace("real)", "int)")),
    ],
)
def test_what_is_not_met_is_not_proved(change, text):
    assert not is_proved(read_program(text), (replace(BEGUN, **change),))


def test_a_certificate_holds_the_draw_that_is_paid_with_delta():
    document = certificate.write(read_program(RIGHT), (BEGUN,))
    assert faults_of(document) == []
    assert document["proofs"][0]["curve"][0] == 1
    del document["proofs"][0]["curve"]
    assert faults_of(document) != []
