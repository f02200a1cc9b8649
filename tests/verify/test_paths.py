"""A fact belongs to the path on which it holds: what a law says of its values in a branch proves nothing outside."""

import json

import pytest
import z3

from sfumato.verify.checking import faults_of
from sfumato.verify.kernel import laws
from sfumato.verify.kernel.check import conditions_of, contradiction, first_open, is_proved
from sfumato.verify.kernel.evaluate import Evaluator, State
from sfumato.verify.kernel.facts import Misplaced, ProofFacts
from sfumato.verify.kernel.pair import CouplingCase, CouplingProof, RunPair
from sfumato.verify.kernel.polynomial import number
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.secrecy import is_shown
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.prover.search import search
from sfumato.verify.verdict import verify
from tests.verify.kernel_programs import LAWS as EVERY

LAWS = {
    "Uniform": "Uniform(-6..n)",
    "TruncGeometric": "TruncGeometric(1/2, -6, n)",
    "Bernoulli": "Bernoulli((n + 7)/(n + 8))",
    "Choice": "Choice([n + 6, 1])",
    "Exponential": "Exponential(n + 7)",
    "Geometric": "Geometric(1/(n + 8))",
    "Laplace": "Laplace(n + 7, 0)",
    "Gauss": "Gauss(n + 7, 0)",
}
"""Each law with arguments that it allows exactly where n > -7, or at least there."""
PLACES = {
    "in a branch": "u := 0; if (n > -7) {{ u :=$ {law} }} {end}",
    "in the other branch": "u := 0; if (n <= -7) {{ u := 1 }} else {{ u :=$ {law} }} {end}",
    "in a branch of a branch": "u := 0; if (n > -8) {{ if (n > -7) {{ u :=$ {law} }} }} {end}",
    "in a loop that need not run": ("u := 0; i := 0; while (i < 1 && n > -7) {{ u :=$ {law}; i := i + 1 }} {end}"),
    "after a return of the others": "if (n > -7) {{ u :=$ {law}; {hidden} }} return c",
}
HIDDEN = "z :=$ Laplace(1/eps, 0); return c + z"
END = f"if (n > -7) {{{{ {HIDDEN} }}}} return c"


def leaking(law, place):
    """A program that hides c where n > -7, and returns it as it is elsewhere."""
    body = PLACES[place].format(law=LAWS[law], hidden=HIDDEN, end=END.format())
    return f"P(c : private real, n : public int) : public real adjacent one; claim eps; {body}"


def proof_of(text):
    """Shift what hides c; keep what a loop may change the same in both runs."""
    tree = read_program(text)
    last = 2
    return tree, Proof(
        "both",
        shifts={last: read_proof("-#shift(c)")},
        invariants={1: (read_proof("#shift(i) = 0"), read_proof("#shift(u) = 0"), read_proof("#spent1 = 0"))},
        ranks={1: read_proof("1 - i")},
    )


def test_every_law_is_planted():
    assert set(LAWS) == set(EVERY)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("law", LAWS)
def test_a_side_fact_in_a_branch_proves_nothing_outside_of_it(law, place):
    tree, proof = proof_of(leaking(law, place))
    assert not is_proved(tree, (proof,))
    kept, same = proof_of(leaking(law, place).replace("return c", "return 0 * c").replace("0 * c + z", "c + z"))
    assert is_proved(kept, (same,))  # without the leak the same proof is one


@pytest.mark.slow
def test_the_release_of_an_exact_count_is_not_proved():
    text = """Count(d : private [0,1] list, n : public int) : public real adjacent addremove; claim eps;
    u := 0; s := 0; i := 0;
    if (n > -7) { u :=$ Uniform(-6..n) }
    while (i < size(d)) { s := s + 1; i := i + 1 }
    if (n > -7) { z :=$ Geometric(exp(-eps)); return s + z }
    return s"""
    assert verify(read_program(text)).verdict != "PROVED"


SECRET = {
    "Uniform": "Uniform(-6..n)",
    "TruncGeometric": "TruncGeometric(1/2, -6, n)",
    "Bernoulli": "Bernoulli((n + 7)/(n + 8))",
    "Exponential": "Exponential(n + 7)",
    "Geometric": "Geometric(1/(n + 8))",
    "Laplace": "Laplace(n + 7, 0)",
    "Gauss": "Gauss(n + 7, 0)",
    "Choice": "Choice([n + 6, 1])",
}


@pytest.mark.parametrize("law", SECRET)
@pytest.mark.parametrize("alone", [False, True])
def test_a_side_fact_in_a_branch_shows_no_secrecy_outside_of_it(law, alone):
    text = f"""P(c : private {{0,1}}, n : public int) : public int property secrecy; u := 0;
    if (n > -7) {{ u :=$ {SECRET[law]} }}
    if (n > -7) {{ return 1 }} return LEAK"""
    case = CouplingCase(alone=frozenset({(1, 1), (2, 1)}) if alone else frozenset())
    assert not is_shown(read_program(text.replace("LEAK", "c")), CouplingProof((), (case,)))
    assert is_shown(read_program(text.replace("LEAK", "2")), CouplingProof((), (case,)))


# ---- the kernel cannot say more


def test_a_fact_about_a_drawn_value_needs_a_path():
    facts, drawn, given = ProofFacts(), z3.Int("drawn"), z3.Int("given")
    facts.require(given > 0)
    facts.bind(drawn)
    with pytest.raises(Misplaced):
        facts.require(drawn > 0)
    with pytest.raises(Misplaced):
        facts.require(given > 1)
    for term in (drawn, drawn + 1, z3.If(given > 0, given, drawn)):
        with pytest.raises(Misplaced):
            facts.define(term, term > 0)
    read = z3.Function("read", z3.IntSort(), z3.IntSort())(drawn)
    facts.define(read, read > 0)  # what is read at a drawn place says nothing about the place
    facts.learn([given > 5], drawn > 0)
    assert list(facts) == [given > 0, read > 0, z3.Implies(z3.And(given > 5), drawn > 0)]


@pytest.mark.parametrize("law", LAWS)
def test_what_a_law_knows_of_its_value_is_an_implication(law):
    """Of everything that is assumed when a program has been gone through, only implications speak of drawn values."""
    text = leaking(law, "in a branch")
    product = conditions_of(*proof_of(text))
    known = list(product.runs.facts)
    for fact in known:
        mentioned = {str(part) for part in _unknowns(fact)}
        if any(name.startswith(("u!", "z!")) for name in mentioned):
            assert z3.is_implies(fact)
            assert any(name.startswith("n") for name in mentioned)


def _unknowns(term):
    if z3.is_const(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED:
        yield term
    for part in term.children():
        yield from _unknowns(part)


def test_a_draw_at_the_top_is_known_everywhere():
    runs = Evaluator(read_program("P(c : private real) : public real adjacent one; claim eps; return 0"), "both")
    runs.inputs.start()
    state = State(dict(runs.inputs.values), {}, [])
    found = runs.unknown("u", whole=True)
    runs.learn("a range", 0, state, runs.says(found - number(3), "<="))
    assert runs.terms.proves(runs.facts, runs.says(found - number(3), "<="))


# ---- a path that is reached stays possible


def test_checking_notices_a_law_without_values(monkeypatch):
    """A law whose support is empty would prove whatever comes after it."""
    text = """P(c : private real, n : public int) : public real requires n >= 1; adjacent one; claim eps;
    if (n > 3) { u :=$ Uniform(0..n); return c } return 0"""
    tree, proof = read_program(text), Proof("both")
    assert not is_proved(tree, (proof,))
    right = laws._range

    def wrong(product, draw, state, args):
        low, high, whole = right(product, draw, state, args)
        return high + number(1), low, whole

    monkeypatch.setattr(laws, "_range", wrong)
    product = conditions_of(tree, proof)
    assert first_open(product) is None
    assert contradiction(product).label == "the support of Uniform"
    assert not is_proved(tree, (proof,))


def test_checking_notices_an_invariant_that_cannot_be(monkeypatch):
    text = """P(c : private real, n : public int) : public real adjacent one; claim eps;
    i := 0; while (i < n) { z :=$ Laplace(1, 0); i := i + 1 } return c"""
    said = {"invariants": {1: (read_proof("i < 0 && i > 0"),)}, "ranks": {1: read_proof("n - i")}}
    tree, proof = read_program(text), Proof("both", **said)
    monkeypatch.setattr(Evaluator, "require", lambda *_, **__: None)
    assert contradiction(conditions_of(tree, proof)).label == "the invariants of a loop"


def test_branches_that_nobody_reaches_are_no_contradiction():
    text = """P(c : private real, n : public int) : public real requires n >= 1; adjacent one; claim eps;
    if (n < 0) { u :=$ Uniform(3..n); return c }
    u :=$ Uniform(0..n); if (u > n) { v :=$ Uniform(u..n); return c + v } return 0"""
    verdict = verify(read_program(text))
    assert verdict.verdict == "PROVED"
    assert faults_of(json.loads(json.dumps(verdict.certificate))) == []


def test_secrecy_is_not_shown_by_a_draw_without_values(monkeypatch):
    from sfumato.verify.kernel import couple

    head = "P(c : private {0,1}, n : public int) : public int requires n >= 1; property secrecy;"
    text = f"{head} u :=$ Uniform(0..n); return c"
    right = couple._inside
    monkeypatch.setattr(couple, "_inside", lambda law, args, term: [*right(law, args, term), term < 0])
    with pytest.raises(NoProofRule, match="leaves nothing"):
        RunPair(read_program(text), CouplingCase()).run()


# ---- claims


@pytest.mark.parametrize(
    "claim", ["-1", "0 - eps", "n", "n * eps", "eps - 1", "(0, -1)", "(eps, n)", "ln(1/2)", "size(d) - 1"]
)
def test_a_claim_that_may_be_negative_is_not_proved(claim):
    text = f"F(d : private [0,1] list, n : public int) : public int adjacent one; claim {claim}; return 0"
    assert not is_proved(read_program(text), (Proof("both"),))
    assert search(read_program(text)).proofs is None


@pytest.mark.parametrize(
    ("required", "verdict"),
    [("p > 0 && p < 1", "REFUTED"), ("p >= 1/2 && p < 1", "PROVED"), ("p > 0 && p < 1/2", "REFUTED")],
)
def test_a_coin_may_not_claim_less_than_nothing(required, verdict):
    text = f"""F(x : private {{0,1}}, p : public [0,1]) : public int requires {required}; adjacent one;
    claim ln(p/(1-p)); b :=$ Bernoulli(p); if (b = 1) {{ return x }} return 1 - x"""
    assert verify(read_program(text)).verdict == verdict


@pytest.mark.parametrize("claim", ["-1", "eps - 1", "(0, -1)"])
def test_a_negative_claim_is_not_listed_either(claim):
    """Every input is adjacent to itself, also where there is no other."""
    text = f"F(x : private {{0..0}}) : public int adjacent one; claim {claim}; return 0"
    assert verify(read_program(text)).verdict != "PROVED"
