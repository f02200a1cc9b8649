"""Distances of laws and databases, and liftings: against the definitions, with all events and all sets."""

import random
from fractions import Fraction
from itertools import chain, combinations
from math import isclose, log

import pytest

from sfumato.design.distance import (
    factor_of,
    hamming_distance,
    histogram,
    l1_distance,
    pure_distance,
    skewed_distance,
    skewed_from,
)
from sfumato.design.lifting import Gap, LiftedCoupling, lifting
from sfumato.errors import InputError

HALF = Fraction(1, 2)


def law(dice, values, zeros=0.3):
    weights = [0 if dice.random() < zeros else dice.randint(1, 6) for _ in values]
    weights[dice.randrange(len(weights))] += 1
    return {value: Fraction(weight, sum(weights)) for value, weight in zip(values, weights, strict=True)}


def subsets(values):
    return chain.from_iterable(combinations(values, size) for size in range(len(values) + 1))


def mass(one, event):
    return sum((one.get(value, Fraction(0)) for value in event), Fraction(0))


def pairs_of_laws(count, values="abcd"):
    dice = random.Random(7)
    return [(law(dice, values), law(dice, values)) for _ in range(count)]


@pytest.mark.parametrize("factor", [Fraction(1), Fraction(3, 2), Fraction(3)])
def test_the_skewed_distance_is_the_greatest_over_all_events(factor):
    for one, two in pairs_of_laws(60):
        there = max(mass(one, event) - factor * mass(two, event) for event in subsets("abcd"))
        back = max(mass(two, event) - factor * mass(one, event) for event in subsets("abcd"))
        assert skewed_from(one, two, f"ln {factor}").value == there
        found = skewed_distance(one, two, f"ln {factor}")
        assert found.value == max(there, back)
        first, second = (two, one) if found.swapped else (one, two)
        assert (found.chance, found.other) == (mass(first, found.event), mass(second, found.event))
        assert found.is_at_most(max(there, back))
        assert not found.is_at_most(max(there, back) - Fraction(1, 10**9))


def test_the_skewed_distance_with_a_rational_epsilon():
    for one, two in pairs_of_laws(30):
        for epsilon in (0.1, 0.5, 2):
            factor = 2.718281828459045**epsilon
            wanted = max(
                float(mass(a, event)) - factor * float(mass(b, event))
                for a, b in ((one, two), (two, one))
                for event in subsets("abcd")
            )
            assert isclose(float(skewed_distance(one, two, epsilon).value), wanted, abs_tol=1e-12)


def test_the_statistical_distance_is_half_of_l1():
    for one, two in pairs_of_laws(40):
        assert skewed_distance(one, two).value == sum(abs(one[v] - two[v]) for v in "abcd") / 2
        assert skewed_distance(one, one).value == 0


def test_the_pure_distance_is_where_the_skewed_one_ends():
    for one, two in pairs_of_laws(40):
        found = pure_distance(one, two)
        if found.ratio is None:
            assert 0 in (one.get(found.at, 0), two.get(found.at, 0))
            assert skewed_distance(one, two, "ln 1000000").value > 0
            continue
        assert skewed_distance(one, two, f"ln {found.ratio}").value == 0
        assert found.ratio == 1 or skewed_distance(one, two, f"ln {(found.ratio + 1) / 2}").value > 0
        assert isclose(float(found.nats), log(found.ratio), abs_tol=1e-12)


def test_randomized_response_loses_ln_3():
    one, two = {1: Fraction(3, 4), 0: Fraction(1, 4)}, {1: Fraction(1, 4), 0: Fraction(3, 4)}
    assert pure_distance(one, two).ratio == 3
    assert skewed_distance(one, two).value == HALF
    assert skewed_distance(one, two, "ln 2").value == Fraction(1, 4)


def test_a_law_that_is_none_is_refused():
    fine = {0: Fraction(1)}
    for wrong in ({0: HALF}, {0: Fraction(3, 2), 1: -HALF}, {0: 0.5, 1: 0.5}):
        with pytest.raises(InputError, match="law"):
            skewed_distance(fine, wrong)
    with pytest.raises(InputError, match="epsilon"):
        factor_of("-1")
    with pytest.raises(InputError, match="epsilon"):
        factor_of("ln 1/2")


def test_databases_are_histograms_and_their_distance_counts_records():
    dice = random.Random(3)
    for _ in range(50):
        one = [dice.choice("abc") for _ in range(6)]
        two = one[:3] + [dice.choice("abc") for _ in range(3)]
        assert l1_distance(histogram(one), histogram(two)) <= 2 * hamming_distance(one, two)
        assert l1_distance(histogram(one), histogram([*one, "d"])) == 1
        assert l1_distance(histogram(one), histogram(dice.sample(one, 6))) == 0
    assert hamming_distance([0, 1, 1], [1, 1, 0]) == 2
    with pytest.raises(InputError, match="sizes"):
        hamming_distance("ab", "abc")


# ---- liftings


def relations(count):
    dice = random.Random(5)
    for one, two in pairs_of_laws(count):
        yield one, two, {(a, b) for a in "abcd" for b in "abcd" if dice.random() < 0.5}, dice.choice([1, 2, 3])


def test_a_lifting_is_a_coupling_or_a_gap():
    couplings = gaps = 0
    for one, two, relation, factor in relations(150):
        found = lifting(one, two, relation, epsilon=f"ln {factor}")
        exists = all(
            mass(one, event) <= factor * mass(two, {b for a, b in relation if a in event and one[a]})
            for event in subsets("abcd")
        )
        assert isinstance(found, LiftedCoupling if exists else Gap)
        if isinstance(found, LiftedCoupling):
            couplings += 1
            assert set(found.joint) <= relation
            assert min(found.joint.values()) > 0
            assert found.first_marginal() == {value: chance for value, chance in one.items() if chance}
            second = found.second_marginal()
            assert all(second[value] <= factor * two[value] for value in second)
            if factor == 1:
                assert second == {value: chance for value, chance in two.items() if chance}
        else:
            gaps += 1
            assert {b for a, b in relation if a in found.set and two[b]} <= found.related
            assert (found.chance, found.other) == (mass(one, found.set), mass(two, found.related))
            assert found.chance > factor * found.other
    assert min(couplings, gaps) > 20


def test_the_lifting_of_equality_is_the_skewed_distance():
    def same(a, b):
        return a == b

    for one, two in pairs_of_laws(40):
        for epsilon in ("ln 2", "0.3"):
            skew = skewed_from(one, two, epsilon)
            above = min(Fraction(float(skew.value)) + Fraction(1, 10**6), Fraction(999999, 10**6))
            assert isinstance(lifting(one, two, same, epsilon=epsilon, delta=above), LiftedCoupling)
            below = Fraction(float(skew.value)) - Fraction(1, 10**6)
            if below > 0:
                found = lifting(one, two, same, epsilon=epsilon, delta=below)
                assert isinstance(found, Gap)
                assert found.set == skew.event
