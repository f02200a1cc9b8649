"""reals.py against mpmath at 2000 bits: enclosures hold and are narrow, questions are answered rightly."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.reals import (
    PI,
    Real,
    as_real,
    bound_exp,
    bound_exp_neg,
    bound_ln,
    bound_pi,
    bound_sqrt,
    ceil,
    ceil_shift,
    exp,
    ln,
    round_down,
    round_up,
    sqrt,
    total,
)
from sfumato.types import UNIT

mp = mpmath.mp.clone()
mp.prec = 2000
SLACK = mp.mpf(2) ** -1000
"""How far mpmath itself may be off, in units of the enclosures below: far less than this."""

bits = st.sampled_from([1, 8, 53, 64, 96, 192, 500])
fractions_up = st.builds(
    Fraction,
    st.one_of(st.integers(0, 200), st.integers(0, 10**30)),
    st.one_of(st.integers(1, 9), st.integers(1, 10**30)),
)
small = fractions_up.filter(lambda x: x < 400)
positive = fractions_up.filter(lambda x: x > 0)
signed = st.builds(lambda x, sign: sign * x, small, st.sampled_from([-1, 1]))


def precise(x):
    return mp.mpf(x.numerator) / x.denominator


def check_enclosure(enclosure, value, at_bits, width):
    """The pair holds value * 2^bits and is at most `width` units wide."""
    low, high = enclosure
    scaled = value * mp.mpf(2) ** at_bits
    assert low <= scaled + SLACK
    assert scaled - SLACK <= high
    assert high - low <= width


@given(small, bits)
@example(Fraction(1, 10**40), 64)
@example(Fraction(0), 64)
@example(Fraction(399), 500)
@example(Fraction(1), 1)
def test_e_to_the_minus_x_is_enclosed_within_two_units(x, at_bits):
    check_enclosure(bound_exp_neg(x, at_bits), mp.exp(-precise(x)), at_bits, 2)


@given(signed, st.sampled_from([8, 64, 192]))
@example(Fraction(1), 64)
@example(Fraction(-1), 64)
def test_e_to_the_x_is_enclosed_within_two_units(x, at_bits):
    check_enclosure(bound_exp(x, at_bits), mp.exp(precise(x)), at_bits, 2)


@given(positive, bits)
@example(Fraction(1), 96)
@example(Fraction(4, 3), 96)
@example(Fraction(2, 3), 96)
@example(Fraction(10**40 + 1, 10**40), 96)
@example(Fraction(1, 2**300), 96)
@example(Fraction(3), 8)
def test_the_logarithm_is_enclosed_within_two_units(x, at_bits):
    check_enclosure(bound_ln(x, at_bits), mp.log(precise(x)), at_bits, 2)


@given(fractions_up, bits)
@example(Fraction(2), 96)
@example(Fraction(9, 4), 96)
def test_the_square_root_is_enclosed_within_one_unit(x, at_bits):
    check_enclosure(bound_sqrt(x, at_bits), mp.sqrt(precise(x)), at_bits, 1)


def as_fraction(value):
    """A number of mpmath as the fraction that it is."""
    sign, mantissa, exponent, _ = mp.mpf(value)._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent


HARD = (
    st.integers(1, 2**20 - 1),
    st.sampled_from([20, 64, 200]),
    st.sampled_from([-1, 1]),
    st.sampled_from([8, 40, 300]),
)


@given(*HARD)
def test_logarithms_a_hair_from_a_whole_number_of_units_fall_on_the_right_side(k, at_bits, side, hair):
    """x = e^((k ± 2^-hair) / 2^bits): an end that is off by a hair would lie on the wrong side of k."""
    units = mp.mpf(k) + side * mp.mpf(2) ** -hair
    for sign in (1, -1):
        x = as_fraction(mp.exp(sign * units / mp.mpf(2) ** at_bits))
        check_enclosure(bound_ln(x, at_bits), mp.log(precise(x)), at_bits, 2)


@given(*HARD)
def test_exponentials_a_hair_from_a_whole_number_of_units_fall_on_the_right_side(k, at_bits, side, hair):
    units = mp.mpf(k) + side * mp.mpf(2) ** -hair
    x = as_fraction(-mp.log(units / mp.mpf(2) ** at_bits))
    check_enclosure(bound_exp_neg(x, at_bits), mp.exp(-precise(x)), at_bits, 2)
    y = as_fraction(mp.log(units))
    check_enclosure(bound_exp(y, 0), mp.exp(precise(y)), 0, 2)


def test_a_root_that_is_a_whole_number_of_units_is_exact():
    assert bound_sqrt(Fraction(9, 4), 10) == (1536, 1536)


@pytest.mark.parametrize("at_bits", [1, 8, 53, 96, 500, 1500])
def test_pi_is_enclosed_within_two_units(at_bits):
    check_enclosure(bound_pi(at_bits), mp.pi, at_bits, 2)


@pytest.mark.parametrize(
    ("bound", "x"),
    [(bound_exp_neg, Fraction(-1)), (bound_ln, Fraction(0)), (bound_ln, Fraction(-1)), (bound_sqrt, Fraction(-1))],
)
def test_outside_of_their_domain_the_bounds_raise(bound, x):
    with pytest.raises(ValueError, match="needs x"):
        bound(x, 64)


@given(st.integers(-(10**9), 10**9), st.integers(0, 40))
def test_ceil_shift_rounds_up(value, by):
    assert ceil_shift(value, by) == math.ceil(Fraction(value, 2**by))


EXPRESSIONS = {
    "sum": (lambda a, b: exp(a) + exp(b), lambda a, b: mp.exp(a) + mp.exp(b)),
    "difference": (lambda a, b: exp(a) - ln(b + 1), lambda a, b: mp.exp(a) - mp.log(b + 1)),
    "product": (lambda a, b: (exp(a) - 2) * (ln(b + 1) - 1), lambda a, b: (mp.exp(a) - 2) * (mp.log(b + 1) - 1)),
    "quotient": (lambda a, b: exp(-a) / (exp(b) + 1), lambda a, b: mp.exp(-a) / (mp.exp(b) + 1)),
    "negative quotient": (lambda a, b: a / -exp(b), lambda a, b: -a / mp.exp(b)),
    "right hand": (lambda a, b: 2 - 3 / (1 + exp(a)) + b, lambda a, b: 2 - 3 / (1 + mp.exp(a)) + b),
    "power": (lambda a, b: (exp(-a) - b) ** 5, lambda a, b: (mp.exp(-a) - b) ** 5),
    "nested": (
        lambda a, b: ln(1 + exp(exp(-a))) * sqrt(PI + b),
        lambda a, b: mp.log(1 + mp.exp(mp.exp(-a))) * mp.sqrt(mp.pi + b),
    ),
    "total": (lambda a, b: total([exp(a), ln(b + 1), PI]), lambda a, b: mp.exp(a) + mp.log(b + 1) + mp.pi),
}
modest = st.fractions(min_value=0, max_value=20, max_denominator=10**6)


@pytest.mark.parametrize("name", EXPRESSIONS)
@given(a=modest, b=modest)
def test_expressions_are_enclosed_and_round_to_the_nearest_float(name, a, b):
    ours, theirs = EXPRESSIONS[name][0](a, b), EXPRESSIONS[name][1](precise(a), precise(b))
    low, high = ours.enclose(200)
    scaled = theirs * mp.mpf(2) ** 200
    assert low <= scaled + SLACK
    assert scaled - SLACK <= high
    if theirs != 0:
        assert float(ours) == nearest(theirs)


def nearest(value):
    """The float nearest to a number of mpmath, by way of an exact fraction: Python rounds those correctly."""
    return float(as_fraction(value))


@given(positive, positive)
def test_comparisons_agree_with_mpmath(a, b):
    left, right = ln(a), sqrt(b)
    ahead = mp.log(precise(a)) - mp.sqrt(precise(b))
    if abs(ahead) > SLACK:
        assert (left < right) == (left <= right) == (ahead < 0)
        assert (left > right) == (left >= right) == (ahead > 0)
        assert (left - right).sign() == (1 if ahead > 0 else -1)


def test_numbers_that_differ_far_behind_the_point_are_told_apart():
    near = exp(1) + Fraction(1, 10**400)
    assert near > exp(1)
    assert exp(1) < near


def test_equal_fractions_compare_as_equal_and_equal_reals_are_undecided():
    third = as_real(Fraction(1, 2))
    assert third <= Fraction(1, 2)
    assert not third < Fraction(1, 2)
    with pytest.raises(ArithmeticError, match="undecided"):
        _ = ln(exp(1)) < 1


def test_division_by_what_may_be_zero_asks_for_more_bits():
    tiny = exp(1) - (exp(1) - Fraction(1, 2**150))
    assert float(1 / tiny) == 2.0**150
    assert (1 / tiny).sign() == 1
    assert (-tiny).reciprocal().sign() == -1
    assert 1 / tiny > 2**149
    with pytest.raises(ArithmeticError):
        float(1 / (exp(1) - exp(1)))


units = st.sampled_from([UNIT, Fraction(1), Fraction(1, 10), Fraction(3, 7), Fraction(1, 10**60)])


@given(st.fractions(), units)
def test_fractions_round_to_the_nearest_multiple_in_the_named_direction(x, unit):
    up, down = round_up(x, unit), round_down(x, unit)
    assert (up / unit).denominator == (down / unit).denominator == 1
    assert x <= up < x + unit
    assert x - unit < down <= x


@given(signed, units)
def test_reals_round_in_the_named_direction(x, unit):
    value = exp(x / 10)
    truth = mp.exp(precise(x) / 10)
    up, down = round_up(value, unit), round_down(value, unit)
    assert (up / unit).denominator == (down / unit).denominator == 1
    assert precise(down) <= truth + SLACK
    assert truth - SLACK <= precise(up)
    assert up - down <= 2 * unit
    if x:
        assert up - down == unit, "an irrational number lies between two neighbours"


@given(signed)
@example(Fraction(0))
@example(Fraction(7))
def test_ceil_is_the_least_whole_number_that_is_not_below(x):
    assert ceil(x) == math.ceil(x)
    assert ceil(as_real(x)) == math.ceil(x)
    assert ceil(exp(x / 10)) == int(mp.ceil(mp.exp(precise(x) / 10)))


def test_ceil_decides_a_hair_above_a_whole_number():
    assert ceil(5 + exp(-500)) == 6
    assert ceil(5 - exp(-500)) == 5


def test_a_real_prints_as_its_nearest_float():
    assert repr(PI) == "<real 3.141592653589793>"
    assert repr(as_real(Fraction(1, 10))) == "<real 0.1>"


def test_enclosures_narrow_as_bits_grow():
    value = exp(Fraction(1, 3)) * ln(7)
    widths = [Fraction(high - low, 2**b) for b, low, high in zip_refinements(value, 4)]
    assert all(later < earlier for earlier, later in pairwise(widths))


def zip_refinements(value: Real, count: int):
    return [step for step, _ in zip(value.refinements(), range(count), strict=False)]


def test_a_real_number_among_floats():
    """In a test, a plot or a text it behaves as its nearest float; among exact numbers equality stays undecided."""
    half = exp(Fraction(0)) * Fraction(1, 2)
    third = ln(exp(Fraction(1, 3)))
    assert half == 0.5
    assert third == pytest.approx(1 / 3, abs=1e-15)
    assert third != pytest.approx(0.34, abs=1e-3)
    assert f"{third:.3f}" == "0.333"
    assert abs(-third) == 1 / 3
    assert abs(third - half) < 0.17
    assert float(abs(half - third)) == pytest.approx(1 / 6)
    assert sum([third, third]) > 0.66
    for exact in (third, Fraction(1, 3), 0):
        with pytest.raises(TypeError):
            _ = third == exact
    assert third != "a third"
