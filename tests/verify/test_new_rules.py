"""Turned coins, redrawn noise, draws that are made last, and formulas for delta: what each rule proves, exactly so
much, and what it does not cover.
"""

import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product as product_of

import pytest
import z3

from sfumato.verify import program
from sfumato.verify.checking import faults_of
from sfumato.verify.kernel.check import conditions_of, first_open, is_open, is_proved
from sfumato.verify.kernel.facts import values_in
from sfumato.verify.kernel.items import one_item
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.redraws import made_again, redrawn
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.run import REJECTED, AtDraw, Runner
from sfumato.verify.verdict import verify


def shifts(**nodes):
    return {int(name[1:]): read_proof(text) for name, text in nodes.items()}


COIN = "P(x : private {{0,1}}) : public int adjacent any; claim {claim}; b :=$ Bernoulli({p}); {body}"
BOTH = "if (b = 1) {{ return x }} return 1 - x"


@pytest.mark.parametrize(
    ("p", "claim", "holds"),
    [
        ("3/4", "ln 3", True),
        ("1/4", "ln 3", True),
        ("3/4", "ln 2.99", False),
        ("exp(eps)/(1 + exp(eps))", "eps", True),
        ("1 - 1/(1 + exp(eps))", "eps", True),
        ("exp(eps)/(1 + exp(eps))", "0.999*eps", False),
        ("1/2", "0", True),
        ("1", "ln 3", False),
        ("0", "ln 3", False),
    ],
)
def test_a_coin_is_turned_at_its_odds(p, claim, holds):
    tree = read_program(COIN.format(p=p, claim=claim, body="if (b = 1) { v := x } else { v := 1 - x } return v"))
    assert is_proved(tree, (Proof("both", shifts=shifts(_1="#turn(#shift(x) != 0)")),)) == holds


BY_A_NUMBER = """P(u : private real list, k : public int) : public int list adjacent all;
requires size(u) >= 1; requires k >= 1; claim eps; out := []; j := 0; while (j < k) { w := []; i := 0;
while (i < size(u)) { w := w ++ [exp(eps*u[i]/(2*k))]; i := i + 1 } r :=$ Choice(w); out := out ++ [r]; j := j + 1 }
return out"""


def test_weights_by_a_public_number_of_rounds_are_proved():
    found = verify(read_program(BY_A_NUMBER))
    assert (found.verdict, found.scope) == ("PROVED", "all")
    assert faults_of(json.loads(json.dumps(found.certificate))) == []
    assert verify(read_program(BY_A_NUMBER.replace("(2*k)", "k"))).verdict != "PROVED"


def test_of_towers_of_exponents_nothing_is_known():
    text = "P(c : private real) : public real adjacent one; claim eps; z :=$ Laplace(exp({}), 0); return c + z"
    for exponent in ("exp(12)", "exp(1000)", "exp(exp(12))"):
        assert not is_proved(read_program(text.format(exponent)), (Proof("both", shifts=shifts(_1="-#shift(c)")),))


@pytest.mark.parametrize(("key", "value"), [("pointwise", 0), ("pointwise", 0.0), ("counted", False), ("bell", 0)])
def test_entries_of_another_type_are_not_read(key, value):
    tree = read_program(
        "P(c : private real) : public real adjacent one; claim eps; z :=$ Laplace(1/eps, 0); return c + z"
    )
    document = json.loads(json.dumps(verify(tree).certificate))
    assert faults_of(document) == []
    document["proofs"][0][key] = value
    assert faults_of(document) == ["a proof has entries that no check reads"]


def test_a_coin_that_is_turned_only_where_it_shows_heads_pays_for_heads():
    """Tails show nothing, and heads are three times as likely as tails: turned, they cost ln 3 one way."""
    text = COIN.format(p="3/4", claim="{claim}", body="if (b = 1) { v := 1 } else { v := 0 } return v")
    proof = Proof("both", shifts=shifts(_1="#turn(true)"))
    assert not is_proved(read_program(text.replace("{claim}", "2")), (proof,))  # outputs differ then


@pytest.mark.parametrize("node", ["#turn(#noise = 1)", "#turn(x)", "#turn(b = 1)", "1", "#if(x = 1, 1, 0)"])
def test_where_a_coin_is_turned_reads_what_was_before(node):
    tree = read_program(COIN.format(p="3/4", claim="ln 3", body="return b"))
    with pytest.raises(NoProofRule):
        conditions_of(tree, Proof("both", shifts=shifts(_1=node)))


def outputs(tree, env, reach=6):
    """All outputs with their chances; Geometric(1/2) noise up to a reach, the rest is left out."""
    found, waiting = Counter(), [()]
    while waiting:
        drawn, weight = waiting.pop(), Fraction(1)
        running, used = Runner(tree, exact=True).run({**env, "eps": Fraction(1), "delta": Fraction(0)}, 40), 0
        try:
            stop = next(running)
            while True:
                value = None
                if isinstance(stop, AtDraw):
                    outcomes = _outcomes(stop, reach)
                    if used == len(drawn):
                        waiting += [(*drawn, k) for k in range(1, len(outcomes))]
                        drawn = (*drawn, 0)
                    value, chance = outcomes[drawn[used]]
                    used, weight = used + 1, weight * chance
                stop = running.send(value)
        except StopIteration as end:
            found["again" if end.value is REJECTED else end.value] += weight
    return found


def _outcomes(stop, reach):
    if stop.draw.law == "Bernoulli":
        return [(Fraction(1), Fraction(stop.args[0])), (Fraction(0), 1 - Fraction(stop.args[0]))]
    return [(Fraction(k), Fraction(1, 3) * Fraction(1, 2) ** abs(k)) for k in range(-reach, reach + 1)]


ITEMS = [
    "r := []; b :=$ Bernoulli(1/4); if (b = 1) { r := r ++ [x] } else { r := r ++ [5 - x] } return r",
    "b :=$ Bernoulli(1/4); c :=$ Bernoulli(1/2); r := [7]; if (b = c) { y := x; r := r ++ [y] } else { r := r ++ [2] } return r",  # noqa: E501  one program
    "c :=$ Bernoulli(1/2); r := [7]; if (c = 0) { r := r ++ [1] } else { r := r ++ [x] } r := r ++ r; return r",
    "r := []; b :=$ Bernoulli(1/4); if (b = 1) { r := r ++ [r] } else { r := r ++ [1] } return r",
    "r := []; b :=$ Bernoulli(1/4); if (b = 1) { r := r ++ [1]; r := r ++ [x] } else { r := r ++ [1] } return r",
    "r := []; b :=$ Bernoulli(1/4); if (b = 1) { r := r ++ [x = 1] } else { r := r ++ [1] } return r",
]


@pytest.mark.parametrize("body", ITEMS)
def test_one_item_for_both_branches_keeps_outputs(body):
    tree = read_program(f"P(x : private {{0..2}}) : public int list adjacent any; claim eps; {body}")
    for x in range(3):
        assert outputs(tree, {"x": Fraction(x)}) == outputs(one_item(tree), {"x": Fraction(x)})


FORMS = [
    "z :=$ {law}; while ({test}) {{ z :=$ {law} }} return c + z",
    "w := 3; z :=$ {law}; y := c + z; while ({test}) {{ z :=$ {law}; y := c + z }} return y",
    "ok := false; while (!ok) {{ z :=$ {law}; ok := !({test}) }} return c + z",
    "go := 1; while (go = 1) {{ z :=$ {law}; if (!({test})) {{ go := 0 }} }} return c + z + go",
]


@pytest.mark.parametrize("test", ["c + z < 0", "z > 1 || c + z < 0", "c + z != 2"])
@pytest.mark.parametrize("form", FORMS)
def test_redrawn_noise_keeps_the_law_of_outputs(form, test):
    """What is accepted has the law of one round under the condition that it is: so ends a loop of such rounds."""
    text = form.format(law="Geometric(1/2)", test=test)
    tree = read_program(f"P(c : private {{0..2}}) : public int adjacent one; claim eps; {text}")
    once = redrawn(tree)
    assert len(made_again(once)) == 1
    for c in range(3):
        law = outputs(once, {"c": Fraction(c)})
        again = law.pop("again", 0)
        total = sum(law.values())
        kept = {out: mass / total for out, mass in law.items()}
        accepted = {z: Fraction(1, 3) * Fraction(1, 2) ** abs(z) for z in range(-6, 7) if _accepts(test, c, z)}
        wanted = {c + z: mass / sum(accepted.values()) for z, mass in accepted.items()}
        assert kept == wanted
        assert total + again == sum(Fraction(1, 3) * Fraction(1, 2) ** abs(z) for z in range(-6, 7))


def _accepts(test, c, z):
    return not {"c + z < 0": c + z < 0, "z > 1 || c + z < 0": z > 1 or c + z < 0, "c + z != 2": c + z != 2}[test]


@pytest.mark.parametrize(
    "body",
    [
        "z :=$ Geometric(1/2); while (z > 1) { z :=$ Geometric(1/3) } return z",  # another law
        "z :=$ Geometric(1/2); n := 0; while (z > 1) { z :=$ Geometric(1/2); n := n + 1 } return z + n",  # rounds count
        "z :=$ Geometric(1/2); while (z > c) { z :=$ Geometric(1/2); c := c + 1 } return z",
        "ok := true; while (!ok) { z :=$ Geometric(1/2); ok := z > 1 } return 1",  # not even once
        "ok := false; while (!ok) { z :=$ Geometric(1/2); ok := ok || z > 1 } return z",
        "y := 0; z :=$ Geometric(1/2); y := y + z; while (y > 1) { z :=$ Geometric(1/2); y := y + z } return y",
        "z :=$ Bernoulli(1/2); while (z = 1) { z :=$ Bernoulli(1/2) } return z",
    ],
)
def test_loops_whose_rounds_are_not_alike_are_left_as_they_are(body):
    tree = read_program(f"P(c : private int) : public int adjacent one; claim eps; {body}")
    assert redrawn(tree) == tree


AGAIN = (
    "P(c : private real) : public real requires c >= 0 && c <= 4; adjacent one; claim {claim};"
    "z :=$ Laplace(1/eps, 0); while (c + z < 0 || c + z > 4) {{ z :=$ Laplace(1/eps, 0) }} return c + z"
)


def test_redrawn_noise_costs_twice():
    proof = Proof("both", shifts=shifts(_1="-#shift(c)"), redrawn=True)
    assert is_proved(read_program(AGAIN.format(claim="2*eps")), (proof,))
    assert not is_proved(read_program(AGAIN.format(claim="1.99*eps")), (proof,))
    assert not is_proved(read_program(AGAIN.format(claim="2*eps")), (replace(proof, redrawn=False),))
    wrong = program(AGAIN.format(claim="eps")).verify()
    assert wrong.verdict == "REFUTED"  # at epsilon 1 the loss is ln(2e - 1) and a little less
    assert faults_of(wrong.certificate) == []


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        ({"shifts": shifts(_1="#if(#noise > 0, -#shift(c), 0)")}, "", ""),
        ({"pointwise": True}, "", ""),
        ({"one_return": True}, "", ""),
        ({"curve": (1, read_proof("0"), read_proof("eps"))}, "claim 2*eps", "claim (2*eps, 1/2)"),
        ({"tail": (1, "above", read_proof("1"))}, "claim 2*eps", "claim (2*eps, 1/2)"),
    ],
)
def test_what_the_rule_about_redraws_does_not_cover(change, old, new):
    proof = Proof("both", shifts=shifts(_1="-#shift(c)"), redrawn=True)
    text = AGAIN.format(claim="2*eps").replace(old, new, 1)
    with pytest.raises(NoProofRule):
        conditions_of(read_program(text), replace(proof, **change))


GAP = (
    "P(q : private real list) : public (int, real) requires size(q) >= 2; adjacent all; claim {claim};"
    "i := 0; b := 0; s := 0; m := 0; while (i < size(q)) {{ e :=$ Laplace(2/eps, 0); v := q[i] + e;"
    "if (i = 0 || v > b) {{ s := b; b := v; m := i }} else {{ if (i = 1 || v > s) {{ s := v }} }} i := i + 1 }}"
    "return (m, b - s)"
)


@pytest.fixture(scope="module")
def gap():
    return program(GAP.format(claim="eps")).verify()


def test_a_gap_is_free(gap):
    """The same noise as for the place alone; its certificate is checked, and proves no smaller claim."""
    assert (gap.verdict, gap.scope) == ("PROVED", "all")
    assert faults_of(gap.certificate) == []
    (proof,) = gap.proofs
    assert proof.last is not None
    assert not is_proved(read_program(GAP.format(claim="0.99*eps")), (proof,))
    assert not is_proved(read_program(GAP.format(claim="eps").replace("(m, b - s)", "(m, b)")), (proof,))
    assert not is_proved(read_program(GAP.format(claim="eps").replace("(m, b - s)", "(m, s)")), (proof,))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("while (i < size(q))", "while (i < size(q) && b < 100)"),  # how long it goes on tells of the draw
        ("e :=$ Laplace(2/eps, 0);", "e :=$ Laplace(2/eps, b);"),
        ("e :=$ Laplace(2/eps, 0);", "if (b < 9) { e :=$ Laplace(2/eps, 0) }"),
        ("i := i + 1 }", "f :=$ Laplace(2/eps, 0); i := i + 1 }"),
        ("i := i + 1 }", "if (b > 5) { return (0, 0) } i := i + 1 }"),
        ("e :=$ Laplace(2/eps, 0);", "e :=$ Exponential(2/eps);"),
        ("i := i + 1 }", "i := i + 1; if (v > 3) { i := i + 1 } }"),
    ],
)
def test_what_is_made_last_reads_nothing_of_its_loop(gap, old, new):
    text = GAP.format(claim="eps")
    assert old in text
    with pytest.raises(NoProofRule):
        conditions_of(read_program(text.replace(old, new, 1)), gap.proofs[0])


@pytest.mark.parametrize(
    "last",
    [
        (1, "max", "b", "#shift(#most) - #shift(q[#answer])"),
        (1, "max", "q[i]", "#shift(#own)"),
        (1, "max", "q[i]", "#shift(b)"),
        (1, "max", "q[i]", "#shift(q[i])"),
        (1, "max", "q[i]", "#noise"),
        (1, "max", "#last", "0"),
        (1, "mean", "q[i]", "0"),
        (2, "max", "q[i]", "0"),
    ],
)
def test_what_moves_the_last_draw_is_known_without_it(gap, last):
    site, word, base, moved = last
    with pytest.raises(NoProofRule):
        conditions_of(
            read_program(GAP.format(claim="eps")),
            replace(gap.proofs[0], last=(site, word, read_proof(base), read_proof(moved))),
        )


BELL = (
    "P(c : private real) : public real requires eps <= {top} && delta > 0; adjacent one; claim (eps, delta);"
    "z :=$ Gauss({times}*sqrt(2*ln(1.25/delta))/eps, 0); return c + z"
)


@pytest.mark.parametrize(
    ("top", "times", "verdict"), [("1", "1", "PROVED"), ("2", "1.2", "PROVED"), ("1", "0.7", "REFUTED")]
)
def test_a_formula_for_delta_is_proved_where_the_curve_keeps_it(top, times, verdict):
    found = program(BELL.format(top=top, times=times)).verify()
    assert found.verdict == verdict
    assert faults_of(found.certificate) == []


def test_the_tail_of_a_bell_is_below_what_the_rule_says():
    """Both bounds of kernel/bell.py, against the tail itself."""
    for k in range(-400, 401):
        t = k / 100
        tail = 0.5 * math.erfc(t / math.sqrt(2))
        assert tail <= 0.5 + max(-t, 0) * 2 / 5
        assert t < 0 or tail <= math.exp(-t * t / 2) / 2


@pytest.mark.parametrize("change", [{"gauss": None}, {"pointwise": True}])
def test_what_the_rule_about_bells_does_not_cover(change):
    tree = read_program(BELL.format(top="1", times="1"))
    proof = Proof("both", shifts=shifts(_1="-#shift(c)"), gauss=(read_proof("0"), read_proof("1")), bell=True)
    with pytest.raises(NoProofRule):
        conditions_of(tree, replace(proof, **change))


@pytest.mark.parametrize("shown", ["[m, n]", "[n, m]"])
def test_two_answers_of_one_list_are_proved_with_their_certificate(shown):
    text = (
        "P(a : private real, b : private real, c : private real) : public int list adjacent all; claim {claim};"
        "x :=$ Laplace(4/eps, 0); y :=$ Laplace(4/eps, 0); z :=$ Laplace(4/eps, 0);"
        "p := a + x; q := b + y; r := c + z; m := 0; n := 0;"
        "if (p >= q && p >= r) { m := 0; if (q >= r) { n := 1 } else { n := 2 } }"
        "else { if (q >= r) { m := 1; if (p >= r) { n := 0 } else { n := 2 } }"
        "else { m := 2; if (p >= q) { n := 0 } else { n := 1 } } }"
    )
    found = program(f"{text.replace('{claim}', 'eps')} return {shown}").verify()
    assert found.verdict == "PROVED"
    assert faults_of(found.certificate) == []


ONE_WAY = (
    "P(x : private {{0,1}}) : public (int, int) adjacent inc; claim {claim};"
    "b :=$ Bernoulli({p}); c :=$ Bernoulli(3/4);"
    "if (x = 0) {{ v := b; w := c }} else {{ v := 1 - b; if (b = 0) {{ w := 1 - c }} else {{ w := c }} }} return (v, w)"
)


@pytest.mark.parametrize("p", ["3/4", "1 - 1/4", "1 - (1 - 3/4)"])
@pytest.mark.parametrize(("claim", "holds"), [("ln 9", True), ("ln 8.9", False), ("ln 3", False)])
def test_a_turned_coin_pays_for_heads_with_the_sign_of_its_odds(p, claim, holds):
    """From 0 to 1 the second coin is turned only where the first shows heads: (3/4 * 3/4)/(1/4 * 1/4) is 9. Were heads
    paid with the odds of tails, ln 3 would do in this direction.
    """
    turns = shifts(_1="#turn(#shift(x) != 0)", _2="#turn(#shift(x) != 0 && b = 1)")
    product = conditions_of(read_program(ONE_WAY.format(p=p, claim=claim)), Proof("up", shifts=turns))
    assert (first_open(product) is None) == holds


@pytest.mark.parametrize(("p", "claim"), [("1/4", "ln 2.99"), ("1/4", "0"), ("1 - 3/4", "ln 2.99"), ("2/8", "ln 2.99")])
def test_tails_of_a_turned_coin_are_paid_too(p, claim):
    tree = read_program(COIN.format(p=p, claim=claim, body="if (b = 1) { v := x } else { v := 1 - x } return v"))
    assert not is_proved(tree, (Proof("both", shifts=shifts(_1="#turn(#shift(x) != 0)")),))


def test_a_coin_that_may_show_one_side_alone_is_not_turned():
    text = COIN.format(p="p", claim="ln 3", body="return b").replace("P(x", "P(p : public real, x")
    text = text.replace("adjacent any", "requires p >= 0 && p <= 1/2; adjacent any")
    product = conditions_of(read_program(text), Proof("both", shifts=shifts(_1="#turn(#shift(x) != 0)")))
    assert any(is_open(product, found) for found in product.conditions if found.kind == "support")


@pytest.mark.parametrize(
    "shift",
    [
        "#if(i = #answer, #last, #shift(b))",  # other rounds would read what was drawn
        "#if(i = #answer, #last, #last)",
        "#if(i = #answer, #last, #spent1)",
        "#if(i = #answer, 1, 0)",
        "#if(m = #answer, #last, 0)",  # more than one round could be special
        "#if(i = #answer, 0, #last)",
        "#last",
    ],
)
def test_the_answers_round_alone_is_moved_last(gap, shift):
    with pytest.raises(NoProofRule):
        conditions_of(read_program(GAP.format(claim="eps")), replace(gap.proofs[0], shifts=shifts(_1=shift)))


@pytest.mark.parametrize("shift", ["#last", "#shift(#most)", "#own", "#if(#passed, 1, 0)"])
def test_no_other_draw_is_moved_by_what_is_made_last(gap, shift):
    text = GAP.format(claim="eps").replace("return (m, b - s)", "f :=$ Laplace(1/eps, 0); return (m, b - s + f)")
    (proof,) = gap.proofs
    conditions_of(read_program(text), replace(proof, shifts=proof.shifts | shifts(_2="0")))
    with pytest.raises(NoProofRule):
        conditions_of(read_program(text), replace(proof, shifts=proof.shifts | shifts(_2=shift)))


def test_both_runs_count_their_rounds_alike(gap):
    """Without an invariant that says so, it is a condition, and an open one."""
    (proof,) = gap.proofs
    kept = {
        loop: tuple(n for n in nodes if n != read_proof("#shift(i) = 0")) for loop, nodes in proof.invariants.items()
    }
    product = conditions_of(read_program(GAP.format(claim="eps")), replace(proof, invariants=kept))
    found = [condition for condition in product.conditions if condition.label == "rounds are counted alike"]
    assert len(found) == 1
    assert is_open(product, found[0])


def test_of_two_that_are_the_same_nothing_else_is_left_out(gap):
    """After the loop is learned that own and most differ, if both were made: not which is greater."""
    product = conditions_of(read_program(GAP.format(claim="eps")), gap.proofs[0])
    (fact,) = (step.after[-1] for step in product.steps if step.label == "no two are the same")
    letters = {str(leaf).split("!")[0]: leaf for leaf in values_in(fact)}
    assert set(letters) == {"#own", "#most", "#seen", "#passed"}
    for own, most, seen, passed in product_of((0, 1), (0, 1), (False, True), (False, True)):
        values = {"#own": own, "#most": most, "#seen": seen, "#passed": passed}
        put = [
            (leaf, z3.BoolVal(values[name], fact.ctx) if z3.is_bool(leaf) else z3.RealVal(values[name], fact.ctx))
            for name, leaf in letters.items()
        ]
        wanted = own != most or not (seen and passed)
        assert z3.is_true(z3.simplify(z3.substitute(fact, *put))) == wanted
