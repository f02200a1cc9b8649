"""Gaussian noise: the curve, the kernel's rule for squares, and what it must not accept."""

import json
from fractions import Fraction

import pytest
from mpmath import mp, mpf, ncdf

from sfumato.verify import checking
from sfumato.verify.finite.field import with_precision
from sfumato.verify.finite.gauss import curve, keeps_within
from sfumato.verify.kernel import laws
from sfumato.verify.kernel.certificate import faults_of
from sfumato.verify.kernel.check import conditions_of, first_open, is_proved
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.refuter.chances import CentredLaw, ball, chance
from sfumato.verify.refuter.forms import form
from sfumato.verify.verdict import verify

RELEASE = (
    "G(c : private real) : public real requires eps = 1; adjacent one; claim CLAIM; z :=$ Gauss(2, 0); return c + z"
)


def true_delta(shift, epsilon):
    mp.dps = 40
    return ncdf(shift / 2 - epsilon / shift) - mp.exp(epsilon) * ncdf(-shift / 2 - epsilon / shift)


@pytest.mark.parametrize(("shift", "epsilon"), [("1", "1"), ("1/2", "1"), ("1/10", "1/2"), ("3", "1/4"), ("1/20", "2")])
def test_gaussian_curves_agree_with_quadrature(shift, epsilon):
    with_precision(200)
    mp.dps = 40
    found = curve(ball(Fraction(shift)), ball(Fraction(epsilon)))
    s, e = (mpf(Fraction(text).numerator) / Fraction(text).denominator for text in (shift, epsilon))
    cut = e / s - s / 2  # where the density at 0 is e^epsilon times that at `shift`, to the left of it
    density = [lambda x, m=m: mp.npdf(x, m, 1) for m in (mpf(0), s)]
    integral = mp.quad(lambda x: density[0](x) - mp.exp(e) * density[1](x), [-cut - 12, -cut - 4, -cut])
    assert abs(mpf(str(found.mid().str(40, radius=False))) - integral) < mpf(10) ** -18
    assert abs(true_delta(s, e) - integral) < mpf(10) ** -18


def test_gaussian_claims_are_decided_by_the_curve():
    delta = float(true_delta(mpf(1) / 2, mpf(1)))
    for factor, truth in ((1.0001, "PROVED"), (0.9999, "REFUTED")):
        text = RELEASE.replace("CLAIM", f"(eps, {Fraction(delta * factor).limit_denominator(10**12)})")
        found = verify(read_program(text))
        assert found.verdict == truth
    assert verify(read_program(RELEASE.replace("CLAIM", "(eps, 0)"))).verdict == "REFUTED"
    assert verify(read_program(RELEASE.replace("CLAIM", "30*eps"))).verdict == "REFUTED"


def test_tests_of_gaussian_noise_have_the_chance_of_a_normal_number():
    with_precision(200)
    noises = [CentredLaw("Gauss", Fraction(3)), CentredLaw("Gauss", Fraction(4)), CentredLaw("Laplace", Fraction(1))]
    both = form(Fraction(1), {0: Fraction(1), 1: Fraction(-1)})  # 1 + 3 z0 - 4 z1 >= 0
    alone = form(Fraction(0), {2: Fraction(1)})
    found = chance(noises, [both, alone])
    assert abs(float(found.mid()) - float(ncdf(mpf(1) / 5)) / 2) < 1e-15


# ---- the kernel's rule


def proof(shift="-#shift(c)", squares="1/4", pure="0", **more):
    return Proof("both", shifts={1: read_proof(shift)}, gauss=(read_proof(pure), read_proof(squares)), **more)


def program(claim="(eps, 1/10)"):
    return read_program(RELEASE.replace("CLAIM", claim))


def test_a_gaussian_proof_needs_its_squares_and_its_curve():
    assert is_proved(program(), (proof(),), keeps_within)
    assert not is_proved(program(), (proof(),))  # nobody knows the curve
    assert not is_proved(program(), (proof(squares="0.2499"),), keeps_within)
    assert not is_proved(program(), (proof(shift="0"),), keeps_within)
    assert not is_proved(program("(eps, 1/1000)"), (proof(),), keeps_within)
    assert not is_proved(program(), (proof(squares="4"),), keeps_within)
    assert is_proved(program(), (proof(pure="eps/2"),), keeps_within)  # delta(1/2) is 0.053
    assert not is_proved(program(), (proof(pure="eps"),), keeps_within)  # delta(0) is 0.197


@pytest.mark.parametrize(
    "bad",
    [
        proof(pointwise=True),
        proof(shift="#if(#noise > 0, -#shift(c), -#shift(c))"),
        proof(shift="#if(#noise > 0, -#shift(c), 0)"),
    ],
)
def test_what_the_gaussian_rule_does_not_cover_is_no_proof(bad):
    with pytest.raises(NoProofRule):
        conditions_of(program(), bad)


def test_a_group_pays_the_square_of_its_size():
    text = RELEASE.replace("CLAIM", "(eps, 1/2)").replace("adjacent one", "adjacent 3(one)")
    assert first_open(conditions_of(read_program(text), proof(squares="9/4"))) is None
    assert first_open(conditions_of(read_program(text), proof(squares="8/4"))) is not None
    with pytest.raises(NoProofRule):
        conditions_of(read_program(text), proof(squares="9/4", pure="eps"))


def test_a_gaussian_certificate_with_one_changed_number_is_rejected():
    document = verify(program()).certificate
    assert checking.faults_of(document) == []
    assert faults_of(document) == ["the Gaussian curve exceeds the claim"]
    plain = json.dumps(document)
    for old, new in (('"gauss": ["0", "', '"gauss": ["0", "9 + '), ('"1": "-#shift(c)"', '"1": "-#shift(c) * 2"')):
        assert old in plain
        assert checking.faults_of(json.loads(plain.replace(old, new)))


def test_a_kernel_that_charges_half_the_square_is_caught(monkeypatch):
    spend = laws._spend

    def cheap(product, draw, state, size, scale):
        spend(product, draw, state, size * laws.number(Fraction(1, 2)), scale)

    assert not is_proved(program("(eps, 1/1000)"), (proof(squares="1/8"),), keeps_within)
    monkeypatch.setattr(laws, "_spend", cheap)
    assert is_proved(program("(eps, 2/1000)"), (proof(squares="1/8"),), keeps_within)  # false: the curve says 0.0068


# ---- choices


CHOICE = (
    "S(u : private real list) : public int requires size(u) = 2; adjacent all; claim CLAIM;"
    "k :=$ Choice([exp(eps*u[0]), exp(eps*u[1])]); return k"
)


def test_a_choice_costs_what_its_weights_move_apart():
    alike = Proof("both", units={1: read_proof("eps")})
    assert is_proved(read_program(CHOICE.replace("CLAIM", "2*eps")), (alike,))
    assert not is_proved(read_program(CHOICE.replace("CLAIM", "1.99*eps")), (alike,))
    moved = Proof("both", shifts={1: read_proof("1")}, units={1: read_proof("eps")})
    assert not is_proved(read_program(CHOICE.replace("CLAIM", "2*eps")), (moved,))
    bare = CHOICE.replace("exp(eps*u[1])", "u[1]*u[1] + 1").replace("CLAIM", "2*eps")
    assert not is_proved(read_program(bare), (alike,))


def test_logarithms_and_powers_cancel_exactly():
    for ratio, claim in (
        ("1/2", "ln 4"),
        ("exp(-ln(2))", "2*ln(2)"),
        ("1/8", "6*ln(2)"),
        ("exp(-2)", "4"),
        ("4/9", "4*ln(3/2)"),
    ):
        text = f"C(c : private int) : public int adjacent one; claim {claim}; z :=$ Geometric({ratio}); return 2*c + z"
        shift = Proof("both", shifts={1: read_proof("-2*#shift(c)")})
        assert is_proved(read_program(text), (shift,)), ratio
        assert not is_proved(read_program(text.replace("return 2*c", "return 3*c")), (shift,))
        less = text.replace(f"claim {claim}", f"claim 999/1000*({claim})")
        assert not is_proved(read_program(less), (shift,))


def test_half_a_step_of_whole_noise_is_no_shift():
    text = "C(c : private real) : public real adjacent one; claim eps; z :=$ Geometric(exp(-eps)); return c + z"
    with pytest.raises(NoProofRule):
        conditions_of(read_program(text), Proof("both", shifts={1: read_proof("-#shift(c)")}))
    assert verify(read_program(text)).verdict == "REFUTED"
