"""What is said where nothing was decided: intervals, short lists, invariants that are offered, audits."""

import json

import pytest

from sfumato.errors import InputError
from sfumato.verify import program
from sfumato.verify.explain import summary
from sfumato.verify.kernel.certificate import faults_of
from sfumato.verify.parse import read_program
from sfumato.verify.verdict import verify

HISTOGRAM = """Hist(q : private real list) : public real list
adjacent all; claim {claim}; i := 0; r := [];
while (i < size(q)) {{ z :=$ Laplace(1/eps, 0); r := r ++ [q[i] + z]; i := i + 1 }} return r"""
FOUND = """S(d : private [0,1] list) : public real
adjacent one; claim eps; i := 0; s := 0; a := 1; b := 2;
while (i < size(d)) { if (a + b = 3) { s := s + d[i] } else { s := s + 5*d[i] } t := a; a := b; b := t; i := i + 1 }
z :=$ Laplace(1/eps, 0); return s + z"""


@pytest.fixture(scope="module")
def short():
    return program(HISTOGRAM.format(claim="20*eps")).verify()


def test_a_proof_for_short_lists_says_so(short):
    """It loses size(q) * eps: 20 elements are fine, and lists of 21 are longer than the refuter looks."""
    assert (short.verdict, short.scope, short.exit_code) == ("PROVED", {"size": 20}, 6)
    assert "PROVED for size(q) <= 20 only" in summary(read_program(HISTOGRAM.format(claim="20*eps")), short)[0]
    assert short.at_least == "0.5 * (20 * eps)"
    assert faults_of(json.loads(json.dumps(short.certificate))) == []


@pytest.mark.parametrize("scope", ["all", {"size": 21}, {"size": 0}, {"size": True}, {"size": 20, "more": 1}, None, 20])
def test_the_scope_of_a_certificate_cannot_be_changed(short, scope):
    made = json.loads(json.dumps(short.certificate))
    made["scope"] = scope
    assert faults_of(made)


def test_a_proof_for_short_lists_is_true_there():
    assert verify(read_program(HISTOGRAM.format(claim="3*eps").replace("adjacent", "requires size(q) <= 4; adjacent"))
                  ).verdict == "REFUTED"  # fmt: skip
    short = program(HISTOGRAM.format(claim="3*eps").replace("adjacent", "requires size(q) <= 3; adjacent")).verify()
    assert (short.verdict, short.scope) == ("PROVED", "all")


def test_an_interval_is_said_where_nothing_was_decided():
    verdict = program(FOUND).verify()
    assert (verdict.verdict, verdict.exit_code) == ("UNKNOWN", 6)
    assert verdict.at_least == "0.99 * (eps)"
    assert "it is proved that the loss is more than 0.99 * (eps)" in verdict.note


def test_an_invariant_that_is_offered_is_tried_and_never_believed():
    assert program(FOUND, invariants=["a + b = 3"]).verify().exit_code == 0
    assert program(FOUND, invariants=["a + b = 3", "s = 0", "#shift(s) = 7", "nothing = 1"]).verify().exit_code == 0
    wrong = FOUND.replace("b := 2", "b := 1")
    assert program(wrong, invariants=["a + b = 3", "a = b && b = 2"]).verify().verdict == "REFUTED"
    with pytest.raises(InputError, match="expected an expression"):
        program(FOUND, invariants=["a + "])


@program(adjacent="one", claim="eps", invariants=["s >= 0 || s < 0"])
def total(d: "private [0,1] list") -> "public real":  # noqa: F722  read as the language reads it
    """A sum, as a Python function."""
    i = 0
    s = 0
    while i < len(d):
        s = s + d[i]
        i += 1
    z = Laplace(1 / eps, 0)  # noqa: F821  a word of the language
    return s + z


def test_a_python_function_offers_invariants_too():
    assert len(total.invariants) == 1
    assert total.verify().exit_code == 0


def test_a_program_is_audited():
    """An honest one is accused with a chance below 1/1000 by construction; at this size the bound is far away."""
    text = "C(x : private real) : public real adjacent one; claim eps; z :=$ Laplace({}/eps, 0); return x + z"
    assert program(text.format("1/4")).audit(epsilon=1, samples=4000).refuted
    honest = program(text.format("4")).audit(epsilon=1, samples=4000)
    assert not honest.refuted
    assert honest.epsilon < 0.6
    with pytest.raises(InputError, match="no adjacent inputs"):
        program(text.format("1").replace("adjacent", "requires eps > 2; adjacent")).audit(epsilon=1)


def test_the_gateway_takes_no_proof_for_some_sizes(short):
    from sfumato.errors import ClaimError
    from sfumato.gateway.programs import _proved

    with pytest.raises(ClaimError, match="for all sizes"):
        _proved(short.certificate)
