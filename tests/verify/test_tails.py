"""Far noise that is left to delta: exactly the tail of its law, and only where the rule says so."""

from dataclasses import replace

import pytest

from sfumato.verify.checking import faults_of
from sfumato.verify.kernel import certificate
from sfumato.verify.kernel.check import conditions_of, is_proved
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.parse import read_program, read_proof

TEXT = (
    "P(c : private int, T : public int) : public real requires c >= 0 && T >= 1; adjacent one; claim (eps, {delta});"
    "{draw}; if (c = 0) {{ return 0 }} if (c + z {over}) {{ return c + z }} return 0"
)
LAWS = {
    "Laplace": ("z :=$ Laplace(1/eps, 0)", "> T", "T - 1", "exp(-(T - 1)*eps)/2"),
    "Geometric": ("z :=$ Geometric(exp(-eps))", "> T", "T", "exp(-T*eps)/(1 + exp(-eps))"),
    "Geometric, at least": ("z :=$ Geometric(exp(-eps))", ">= T", "T - 1", "exp(-(T - 1)*eps)/(1 + exp(-eps))"),
}
RIGHT = Proof("both", shifts={1: read_proof("-#shift(c)")}, one_return=True, tail=(1, "above", read_proof("T")))


def made(law, delta=None, bound=None):
    draw, over, where, tail = LAWS[law]
    proof = replace(RIGHT, tail=(1, "above", read_proof(bound or where)))
    return read_program(TEXT.format(draw=draw, over=over, delta=delta or tail)), proof


@pytest.mark.parametrize("law", LAWS)
def test_a_tail_is_left_to_delta_and_no_more(law):
    tree, proof = made(law)
    assert is_proved(tree, (proof,))
    assert faults_of(certificate.write(tree, (proof,))) == []
    less, _ = made(law, f"0.999*{LAWS[law][3]}")
    assert not is_proved(less, (proof,))
    for bound in (f"{LAWS[law][2]} + 1", f"{LAWS[law][2]} - 1"):
        assert not is_proved(made(law)[0], (made(law, bound=bound)[1],))


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        ({"pointwise": True}, "", ""),
        ({"tail": (2, "above", read_proof("T"))}, "", ""),
        ({"tail": (1, "outside", read_proof("T"))}, "", ""),
        ({"tail": (1, "above", read_proof("c + T"))}, "", ""),
        ({"tail": (1, "above", read_proof("#answer"))}, "", ""),
        ({"tail": (1, "above", read_proof("T/2"))}, "", ""),
        ({"curve": (1, read_proof("0"), read_proof("eps"))}, "", ""),
        ({}, "adjacent one", "adjacent 2(one)"),
        ({}, "claim (eps, exp(-T*eps)/(1 + exp(-eps)))", "claim eps"),
        ({}, "z :=$ Geometric(exp(-eps))", "z :=$ Uniform(0..9)"),
        ({}, "z :=$ Geometric(exp(-eps))", "z :=$ Laplace(1/eps, c)"),
        ({"tail": (1, "below", read_proof("T"))}, "z :=$ Geometric(exp(-eps))", "z :=$ Exponential(1/eps)"),
        ({}, "z :=$ Geometric(exp(-eps));", "i := 0; while (i < 2) { z :=$ Geometric(exp(-eps)); i := i + 1 }"),
    ],
)
def test_what_the_rule_about_tails_does_not_cover(change, old, new):
    tree, proof = made("Geometric")
    text = tree.source
    assert old in text
    with pytest.raises(NoProofRule):
        conditions_of(read_program(text.replace(old, new, 1) if old else text), replace(proof, **change))


@pytest.mark.parametrize("bound", ["0 - T", "0"])
def test_a_tail_that_begins_elsewhere_proves_nothing(bound):
    tree, proof = made("Geometric", bound=bound)
    assert not is_proved(tree, (proof,))


GAUSS = (
    "P(c : private real) : public real requires eps >= 1; adjacent one; claim (eps, 0.127);"
    "z :=$ Gauss(1, 0); return c + z"
)


@pytest.mark.parametrize(
    ("normal", "holds"),
    [
        (("1", "1", "0.127"), True),
        (("1", "1", "0.126"), False),  # the curve at 1 is 0.12694
        (("2", "1", "0.127"), False),  # epsilon may be less
        (("1", "1/2", "0.127"), False),  # squares are more
        (("1", "1", "0.2"), False),  # delta is less
        (("-1", "1", "0.127"), False),
    ],
)
def test_gaussian_claims_about_all_epsilon_are_asked_at_their_numbers(normal, holds):
    from sfumato.verify.finite.gauss import keeps_within

    proof = Proof(
        "both",
        shifts={1: read_proof("-#shift(c)")},
        gauss=(read_proof("0"), read_proof("1")),
        normal=tuple(map(read_proof, normal)),
    )
    assert is_proved(read_program(GAUSS), (proof,), keeps_within) == holds
    assert not is_proved(read_program(GAUSS), (replace(proof, normal=None),), keeps_within)


ENDLESS = "P(c : private int) : public int adjacent one; claim 0; {draw} while (c = c) {{ skip }} return c"


@pytest.mark.parametrize("draw", ["z :=$ Laplace(abs(c - 12345), 0);", "z :=$ Uniform(c..7);", "z := 1/(c - 5);"])
def test_before_a_quiet_loop_that_never_ends_nothing_may_fail(draw):
    """What a failure shows is shown before the loop begins."""
    assert is_proved(read_program(ENDLESS.format(draw="")), (Proof("both"),))
    assert not is_proved(read_program(ENDLESS.format(draw=draw)), (Proof("both"),))


def test_a_quiet_loop_without_a_rank_is_gone_round_together():
    head = "P(c : private {0..1}) : public int adjacent one; claim 0;"
    text = head + "i := 0; while (i < 1 || c = 1) { i := i + 1 } return 0"
    invariants = {1: (read_proof("#shift(i) = 0"),)}
    assert not is_proved(read_program(text), (Proof("both", invariants=invariants),))
    public = text.replace("|| c = 1", "")
    assert is_proved(read_program(public), (Proof("both", invariants=invariants),))


def test_an_explanation_speaks_of_the_program_that_was_proved():
    from sfumato.verify.explain import explained
    from sfumato.verify.verdict import verify

    tree = made("Geometric")[0]
    lines = "\n".join(explained(tree, verify(tree)))
    assert "That draw 1 is at least T is left to delta." in lines
    assert "each run decides (c = 0) separately" in lines
    coins = read_program(
        "P(c : private int) : public int adjacent one; claim (0, 1/2); n := 0; b :=$ Bernoulli(1/2);"
        "while (b = 1) { n := n + 1; b :=$ Bernoulli(1/2) } return c + n"
    )
    assert "steps1 :=$ Steps(1 / 2)" in "\n".join(explained(coins, verify(coins)))
