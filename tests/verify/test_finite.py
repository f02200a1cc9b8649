"""Programs that can be listed: laws, verdicts and certificates against an enumeration with fractions (listed.py)."""

import json
import random
from fractions import Fraction
from math import log

import pytest

from sfumato.verify.checking import faults_of
from sfumato.verify.finite.admit import surely_admitted
from sfumato.verify.finite.decide import NEVER, decide, exact_loss, whole_law
from sfumato.verify.finite.field import Letter, LetterField
from sfumato.verify.finite.inputs import Listing
from sfumato.verify.finite.law import Machine
from sfumato.verify.finite.rounds import decide_rounds
from sfumato.verify.finite.say import say_loss
from sfumato.verify.finite.signs import NumberRange, ParameterDomain, keeps_sign
from sfumato.verify.parse import read_program
from sfumato.verify.refuter.events import OutputSet
from sfumato.verify.refuter.listed import listed_chance
from sfumato.verify.verdict import verify
from tests.verify import listed

RATIO = "exp(-eps)"


def made(seeds):
    for seed in seeds:
        yield seed, listed.Maker(random.Random(seed)).program()


def verdict_of(text):
    found = verify(read_program(text))
    document = json.loads(json.dumps(found.certificate))
    assert faults_of(document) == []
    return found.verdict


def disagreements(seeds):
    """Programs whose verdict just above, at or just below their tight constant is not the true one."""
    wrong, finite = [], 0
    for seed, program in made(seeds):
        worst = listed.tight(program)
        finite += worst is not None and worst > 1
        claims = (
            [("ln 1000000", "REFUTED")]
            if worst is None
            else [(f"ln({worst})", "PROVED"), (f"ln({worst * Fraction(999, 1000)})", "REFUTED")]
        )
        if worst == 1:
            claims = claims[:1]
        for claim, truth in claims:
            found = verdict_of(listed.text_of(program, claim, "1/2"))
            if found != truth:
                wrong.append((seed, claim, found))
    return wrong, finite


def test_exact_verdicts_agree_with_an_independent_enumeration():
    wrong, finite = disagreements(range(10))
    assert wrong == []
    assert finite > 3


@pytest.mark.slow
def test_exact_verdicts_agree_with_an_independent_enumeration_of_many():
    wrong, finite = disagreements(range(1000, 1700))
    assert wrong == []
    assert finite > 200


def test_exact_laws_are_those_of_an_independent_enumeration():
    for _, program in made(range(100, 130)):
        tree = read_program(listed.text_of(program, "1", RATIO))
        listing = Listing(tree, 1)
        (setting,) = listing.settings()
        for env in listing.inputs(setting):
            law = whole_law(Machine(tree, setting.domain), env)
            true = listed.law_of(program, int(env["x"]))
            found = {
                value if isinstance(value, tuple) else (value,): at_half(weight)
                for value, weight in law.outputs.values()
            }
            assert found == {key: chance for key, chance in true.items() if chance}


def at_half(weight):
    """A weight where e^-eps = 1/2."""
    if isinstance(weight, Fraction):
        return weight
    place = weight.field.letters.index(Letter("decay"))
    top, bottom = (
        sum(int(factor) * Fraction(1, 2) ** int(powers[place]) for powers, factor in part.to_dict().items())
        for part in (weight.top, weight.bottom)
    )
    return top / bottom


def test_claims_with_a_delta_agree_with_an_independent_enumeration():
    wrong = []
    for seed, program in made(range(200, 204)):
        for factor in (Fraction(1), Fraction(3, 2)):
            delta = listed.needed_delta(program, factor)
            claims = [(delta, "PROVED"), (delta * Fraction(999, 1000), "REFUTED")][: 2 if delta else 1]
            for claimed, truth in claims:
                found = verdict_of(listed.text_of(program, f"(ln({factor}), {claimed})", "1/2"))
                wrong += [(seed, factor, claimed, found)] if found != truth else []
    assert wrong == []


def test_a_claim_at_its_tight_constant_is_proved():
    """For all epsilon at once: what is returned as the supremum is proved, a hundredth less is refuted."""
    response = (
        "P(x : private {0..3}) : public {0..3} adjacent any; claim CLAIM; b :=$ Bernoulli((exp(eps)-1)/(exp(eps)+3));"
        "if (b = 1) { return x } else { y :=$ Uniform(0..3); return y }"
    )
    assert say_loss(exact_loss(read_program(response.replace("CLAIM", "1")))) == "eps"
    assert verdict_of(response.replace("CLAIM", "eps")) == "PROVED"
    assert verdict_of(response.replace("CLAIM", "99/100*eps")) == "REFUTED"
    coin = "P(x : private {0,1}) : public {0,1} adjacent any; claim 1; b :=$ Bernoulli(3/4); return x + b - 2*x*b"
    assert say_loss(exact_loss(read_program(coin))) == "ln(3)"
    bare = "P(x : private {0,1}) : public {0,1} adjacent any; claim 1; return x"
    assert exact_loss(read_program(bare)) == "infinite"


def test_a_rejection_loop_is_a_geometric_series():
    text = (
        "P(x : private {0,1}) : public {0..2} adjacent any; claim 9; y := 3; n := 0;"
        "while (y = 3) { y :=$ Choice([1, exp(-eps), x + 1, 4]); n := 1 - n } return y"
    )
    tree = read_program(text)
    listing = Listing(tree, 1)
    (setting,) = listing.settings()
    zero, one = listing.inputs(setting)
    for env, weight in ((zero, 1), (one, 2)):
        law = whole_law(Machine(tree, setting.domain), env)
        decay = setting.domain.field.letter(Letter("decay"))
        total = 1 + decay + weight
        assert [law.at(k) for k in range(3)] == [1 / total, decay / total, weight / total]


def test_what_never_returns_is_an_output():
    text = (
        "P(x : private {0,1}) : public int adjacent any; claim 5; b :=$ Bernoulli(1/2);"
        "while (x*b = 1) { b := 1 } return 0"
    )
    tree = read_program(text)
    (setting,) = Listing(tree, 1).settings()
    law = whole_law(Machine(tree, setting.domain), {**setting.public, "x": Fraction(1)})
    assert law.at(NEVER) == Fraction(1, 2)
    found = verify(tree)
    assert found.verdict == "REFUTED"
    assert "no output" in found.certificate["witness"]["event"]["words"]


def test_a_loop_that_may_never_end_for_some_parameter_is_not_summed():
    text = (
        "P(x : private {0,1}, p : public real) : public {0,1} requires 0 <= p && p <= 1; adjacent any; claim 5; b := 0;"
        "while (b = 0) { b :=$ Bernoulli(p) } c :=$ Bernoulli(1/2); return x + c - 2*x*c"
    )
    assert decide(read_program(text)) is None
    assert decide(read_program(text.replace("0 <= p", "0 < p"))).holds


# ---- signs


def test_signs_of_polynomials_are_those_of_their_values():
    dice = random.Random(5)
    seen = {True: 0, False: 0}
    for _ in range(240):
        coefficients = [dice.randint(-3, 3) for _ in range(dice.randint(1, 5))]
        if not any(coefficients[1:]):
            continue
        while not coefficients[-1]:
            coefficients.pop()
        low, high = sorted((Fraction(dice.randint(-4, 4), 2), Fraction(dice.randint(-4, 4), 2)))
        square = dice.random() < 0.4
        if square:
            coefficients = [
                sum(
                    coefficients[j] * coefficients[k - j]
                    for j in range(len(coefficients))
                    if 0 <= k - j < len(coefficients)
                )
                for k in range(2 * len(coefficients) - 1)
            ]
        grid = [low + (high - low) * Fraction(k, 40) for k in range(1, 40)]
        values = [sum(c * point**k for k, c in enumerate(coefficients)) for point in grid]
        for strict in (False, True):
            found = keeps_sign(coefficients, NumberRange(low, high), strict=strict)
            seen[found] += 1
            if low < high and found:
                assert min(values) > 0 if strict else min(values) >= 0
            if low < high and not found:
                bad = min(values) <= 0 if strict else min(values) < 0
                touching = min(abs(value) for value in values) < Fraction(1, 2)
                assert bad or touching
        if square:
            assert keeps_sign(coefficients, NumberRange(low, high), strict=False)
    assert min(seen.values()) > 60


def test_a_polynomial_that_dips_below_zero_on_a_narrow_stretch_is_seen():
    dip = [Fraction(1, 4) - Fraction(1, 10**12), Fraction(-1), Fraction(1)]  # (x - 1/2)^2 - 10^-12
    whole = [int(value * 4 * 10**12) for value in dip]
    assert not keeps_sign(whole, NumberRange(Fraction(0), Fraction(1)), strict=False)
    whole[0] += 8
    assert keeps_sign(whole, NumberRange(Fraction(0), Fraction(1)), strict=True)


def test_signs_in_several_letters_hold_for_all_of_them():
    domain = ParameterDomain(
        LetterField(1),
        {"eps": NumberRange(Fraction(0)), "p": NumberRange(Fraction(0), Fraction(1), low_open=False, high_open=False)},
    )
    p, decay = domain.field.letter(Letter("name", "p")), domain.field.letter(Letter("decay"))
    assert domain.always(1 - p * decay, ">")
    assert not domain.always(1 - 2 * p * decay, ">=")
    eps = domain.field.letter(Letter("name", "eps"))
    assert domain.always(1 - decay * (1 + eps), ">=")
    assert not domain.always(1 - decay * (1 + 2 * eps), ">=")


# ---- certificates


LISTED = """P(x : private {0..2}) : public int requires eps <= 3; adjacent any; claim eps;
b :=$ Bernoulli((exp(eps)-1)/(exp(eps)+2)); if (b = 1) { return x } else { y :=$ Uniform(0..2); return y }"""
ROUNDS = """R(d : private {0,1} list) : public int adjacent one; claim ln 3; i := 0; s := 0; while (i < size(d)) {
b :=$ Bernoulli(3/4); if (b = 1) { y := d[i] } else { y := 1 - d[i] } s := s + y; i := i + 1 } return s"""


@pytest.mark.parametrize("text", [LISTED, ROUNDS])
def test_a_listing_with_one_changed_number_is_rejected(text):
    document = verify(read_program(text)).certificate
    assert faults_of(document) == []
    plain = json.dumps(document)
    changes = 0
    for place, sign in enumerate(plain):
        if sign.isdigit() and plain[place - 1] != "\\":
            other = plain[:place] + str((int(sign) + 1) % 10) + plain[place + 1 :]
            if place % 2 == 0:
                changes += 1
                assert faults_of(json.loads(other)), other[place - 20 : place + 20]
    assert changes > 12
    stronger = json.loads(plain.replace("claim eps", "claim eps/2").replace("claim ln 3", "claim ln 2"))
    assert faults_of(stronger) == ["the hash is not that of the program"]


# ---- rounds


def test_rounds_agree_with_listing_at_small_sizes():
    dice = random.Random(8)
    proved, refuted = 0, 0
    for _ in range(20):
        first, second = (dice.choice(["1/4", "1/2", "3/4", "2/3"]) for _ in range(2))
        more = dice.choice(["", "if (y = 1) { y :=$ Bernoulli(2/3) }", "c :=$ Bernoulli(1/3); y := y + c;"])
        keep = dice.choice(["s := s + y", "s := s + 2*y - 1", "if (y = 0) { s := s + 1 }"])
        factor = dice.choice(["3/2", "2", "3", "5", "9"])
        body = (
            f"i := 0; s := 0; while (i < size(d)) {{ b :=$ Bernoulli({first}); if (b = 1) {{ y := d[i] }} "
            f"else {{ y :=$ Bernoulli({second}) }} {more} {keep}; i := i + 1 }} return s"
        )
        text = f"R(d : private {{0,1}} list) : public int REQUIRES adjacent one; claim ln({factor}); {body}"
        small = decide(read_program(text.replace("REQUIRES", "requires size(d) <= 2;")))
        one = decide_rounds(read_program(text.replace("REQUIRES", "")))
        if one is not None:
            proved += 1
            assert small.holds
        elif not small.holds and refuted < 5:
            refuted += 1
            assert verify(read_program(text.replace("REQUIRES", ""))).verdict == "REFUTED"
    assert proved > 5
    assert refuted > 2


REMEMBERS = {
    "state read by the look": ROUNDS.replace("y := d[i] }", "y := d[i] + s - s }"),
    "an element twice": ROUNDS.replace("i := i + 1", "j := i; i := i + 1").replace("{ y := d[i] }", "{ y := d[0] }"),
    "a counter that stays": ROUNDS.replace("i := i + 1", "i := i + 0; if (s > 3) { i := size(d) }"),
    "an element read after the look": ROUNDS.replace("return s", "return s + d[0]"),
    "the counter set back": ROUNDS.replace("i := i + 1", "i := i + 1; if (s = 1) { i := 0 }"),
    "a size that tells": ROUNDS.replace("adjacent one", "adjacent any"),
}


@pytest.mark.parametrize("name", REMEMBERS)
def test_a_loop_that_remembers_is_not_taken_for_rounds(name):
    assert decide_rounds(read_program(ROUNDS)).holds
    assert decide_rounds(read_program(REMEMBERS[name])) is None


# ---- witnesses


def test_a_witness_at_a_point_that_only_rounding_admits_is_none():
    head = "P(x : private {0,1}) : public {0,1} requires eps <= ln 3; adjacent any; claim ln 3;"
    tree = read_program(f"{head} b :=$ Bernoulli(1/4); return b")
    above = Fraction(10986122886681097, 10**16)  # ln 3 is 1.09861228866810969139…
    assert float(above) <= log(3)  # in floats it is not above
    for eps, truth in (
        (above - Fraction(1, 10**16), True),
        (above, False),
        (Fraction(0), False),
        (Fraction(-1), False),
    ):
        env = {"eps": eps, "delta": Fraction(0), "x": Fraction(1)}
        assert surely_admitted(tree, env) == truth
    for value in (Fraction(2), Fraction(1, 2), True):
        assert not surely_admitted(tree, {"eps": Fraction(1), "delta": Fraction(0), "x": value})
    assert not surely_admitted(tree, {"eps": Fraction(1), "delta": Fraction(1), "x": Fraction(1)})


def test_bits_and_records_are_what_their_types_say():
    tree = read_program(
        "P(x : private {0,1}^2, y : private ({0,1}, bool) list) : public int adjacent any; claim 1; return 0"
    )
    bits, record = (Fraction(0), Fraction(1)), (Fraction(1), False)
    for x, y, truth in (
        (bits, (record,), True),
        (bits[:1], (record,), False),
        ((Fraction(2), Fraction(0)), (record,), False),
        (bits, ((Fraction(1), Fraction(0)),), False),
    ):
        assert surely_admitted(tree, {"eps": Fraction(1), "delta": Fraction(0), "x": x, "y": y}) == truth


def test_the_chance_of_never_ending_leaves_out_what_was_cut_off():
    text = (
        "P(x : private {0,1}) : public int adjacent any; claim 1; z :=$ Geometric(1/2); w :=$ Geometric(1/2);"
        "while (z > w) { z := z } return z"
    )
    chance = listed_chance(
        read_program(text), {"eps": Fraction(1), "delta": Fraction(0), "x": Fraction(0)}, OutputSet((NEVER,)), 6
    )
    equal = Fraction(1, 9) * (1 + 2 * Fraction(1, 3))  # the sum of (2^-|k|/3)^2
    true = float((1 - equal) / 2)
    assert chance.lower() <= true <= chance.upper()
    assert float(chance.upper() - chance.lower()) < 0.05


# ---- pairs


@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)])
def test_every_pair_is_compared_in_both_directions(first, second):
    text = (
        "P(x : private {0..2}) : public {0,1} adjacent any; claim ln 3.9;"
        f"if (x = {first}) {{ b :=$ Bernoulli(1/2) }} else {{ if (x = {second}) {{ b :=$ Bernoulli(1/8) }} "
        "else { b :=$ Bernoulli(1/4) } } return b"
    )
    found = decide(read_program(text))
    assert not found.holds
    assert [(int(suspect.one["x"]), int(suspect.two["x"])) for suspect in found.suspects] == [(first, second)]
    assert decide(read_program(text.replace("3.9", "4"))).holds


def test_groups_go_through_admitted_inputs():
    text = (
        "B(c : private int) : public {0,1} requires 0 <= c && c <= 2; adjacent 2(one); claim ln CLAIM;"
        "b :=$ Bernoulli((c+1)/4); return b"
    )
    assert not decide(read_program(text.replace("CLAIM", "2.9"))).holds
    assert decide(read_program(text.replace("CLAIM", "3"))).holds
    apart = text.replace("CLAIM", "2.9").replace("c <= 2", "c <= 2 && c != 1")  # no step leads from 0 to 2
    assert decide(read_program(apart)).holds


def test_false_is_not_zero():
    text = "F(x : private {0,1}) : public real list adjacent any; claim 9; if (x = 0) { return [false] } return [0]"
    assert not decide(read_program(text)).holds
