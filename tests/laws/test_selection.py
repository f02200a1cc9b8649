"""Key selection on its discrete law: each key private, nothing better possible, a lone person hidden."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.mechanisms import GaussianKeySelection, KeySelection
from sfumato.reals import exp
from sfumato.types import Adjacency

F = Fraction
laws = st.builds(
    KeySelection,
    st.fractions(F(1, 10), 3, max_denominator=30),
    st.sampled_from([F(1, 10**6), F(1, 1000), F(1, 10), F(9, 10)]),
    st.integers(1, 4),
    st.sampled_from(list(Adjacency)),
)


def recursion(law: KeySelection, most: int) -> list[mpmath.mpf]:
    """The largest chances that the two inequalities allow, step by step, at 300 bits."""
    touched = law.keys_per_unit * (2 if law.adjacency is Adjacency.REPLACE else 1)
    with mpmath.workprec(300):
        grown = mpmath.e ** (mpmath.mpf(law.epsilon.numerator) / law.epsilon.denominator / touched)
        d = mpmath.mpf(law.delta.numerator) / law.delta.denominator / touched
        chances = [mpmath.mpf(0)]
        for _ in range(most):
            p = chances[-1]
            chances.append(min(grown * p + d, 1 - (1 - p - d) / grown, mpmath.mpf(1)))
        return chances


@settings(max_examples=30, deadline=None)
@given(laws)
def test_selection_is_optimal(law: KeySelection) -> None:
    """The closed form is the recursion's largest solution, at every number of people."""
    most = law.turn * 2 + 5
    for n, chance in enumerate(recursion(law, min(most, 400))):
        assert float(law.mass(n)) == pytest.approx(float(chance), rel=1e-12, abs=1e-300)


@settings(max_examples=30, deadline=None)
@given(laws)
def test_selection_keeps_each_key_private(law: KeySelection) -> None:
    """Both inequalities, in both directions, between n and n + 1 people, and nobody's key is never shown."""
    e, d = law.per_key
    touched = law.keys_per_unit * (2 if law.adjacency is Adjacency.REPLACE else 1)
    assert (e * touched, d * touched) == (law.epsilon, law.delta)
    grown, slack = float(exp(e)), 1e-12
    chances = [float(law.mass(n)) for n in range(min(2 * law.turn + 6, 400))]
    assert chances[0] == 0
    assert chances[1] == pytest.approx(float(d), rel=1e-12)
    for p, q in pairwise(chances):
        assert p <= q <= grown * p + float(d) + slack
        assert 1 - p <= grown * (1 - q) + float(d) + slack
        assert 1 - q <= grown * (1 - p) + float(d) + slack
        assert p <= grown * q + float(d) + slack


def test_selection_needs_as_many_people_as_known() -> None:
    """People for even odds at epsilon 1, delta 1e-6: 14, 67, 263 for 1, 5, 20 keys a person."""
    for keys, people in ((1, 14), (5, 67), (20, 263)):
        law = KeySelection(1, "1e-6", keys)
        assert law.mass(people) >= F(1, 2)
        assert law.mass(people - 1) < F(1, 2)
        assert law.half == people
    assert KeySelection(1, "1e-6", 5, "replace").per_key == KeySelection(1, "1e-6", 10).per_key


@settings(max_examples=30, deadline=None)
@given(laws.filter(lambda law: law.delta < F(1, 2)))
def test_a_group_of_half_is_usually_shown(law: KeySelection) -> None:
    """The number that a preview names: above even odds there, and not with one person less."""
    assert law.mass(law.half) > F(1, 2)
    assert law.mass(law.half - 1) < F(1, 2)
    gaussian = GaussianKeySelection(law.epsilon, law.delta, law.keys_per_unit, law.adjacency)
    assert gaussian.mass(gaussian.half) > F(1, 2)
    assert gaussian.mass(gaussian.half - 1) < F(1, 2)


@settings(max_examples=20, deadline=None)
@given(
    st.fractions(F(1, 50), 2, max_denominator=50),
    st.sampled_from([F(1, 10**6), F(1, 1000), F(1, 10)]),
    st.integers(1, 5),
    st.sampled_from(list(Adjacency)),
)
def test_gaussian_selection_hides_one_person(rho: Fraction, delta: Fraction, keys: int, adjacency: Adjacency) -> None:
    """All keys that hold this person alone are shown with probability at most delta, ties at the threshold counted;
    a threshold one lower would not do."""
    law = GaussianKeySelection(rho, delta, keys, adjacency)
    touched = keys * (2 if adjacency is Adjacency.REPLACE else 1)
    sigma2 = float(law.variance)
    reach = int(40 * sigma2**0.5) + 40
    weights = {z: math.exp(-z * z / (2 * sigma2)) for z in range(-reach, reach + 1)}
    whole = math.fsum(weights.values())

    def shown(threshold: int) -> float:
        return touched * math.fsum(w for z, w in weights.items() if 1 + z >= threshold) / whole

    assert shown(law.threshold) <= float(delta) * (1 + 1e-9)
    assert shown(law.threshold - 1) > float(delta)
    assert float(law.mass(1)) * touched == pytest.approx(shown(law.threshold), rel=1e-9)
    assert float(law.mass(0)) == 0


@given(st.fractions(F(1, 50), 2), st.integers(1, 9), st.sampled_from(list(Adjacency)))
def test_gaussian_selection_is_within_rho(rho: Fraction, keys: int, adjacency: Adjacency) -> None:
    """As many counts as one person can touch differ by one: their squared distance over twice the variance is rho."""
    law = GaussianKeySelection(rho, F(1, 1000), keys, adjacency)
    touched = keys * (2 if adjacency is Adjacency.REPLACE else 1)
    assert touched * F(1) / (2 * law.variance) == rho
    assert law.loss(1).rho == rho
    assert law.loss(1).delta == F(1, 1000)
    assert law.loss(1).epsilon is None


def test_selection_has_the_stated_frequencies() -> None:
    for law, counts in (
        (KeySelection(1, F(1, 100)), [0, 1, 3, 5, 6, 9, 40]),
        (GaussianKeySelection(F(1, 2), F(1, 100)), [0, 1, 2, 3, 4, 9]),
    ):
        shown = np.sum([law.release(counts) for _ in range(4000)], axis=0)
        for n, hits in zip(counts, shown, strict=True):
            chance = float(law.mass(n))
            assert stats.binomtest(int(hits), 4000, chance).pvalue > 1e-9
        assert shown[0] == 0


@settings(max_examples=20, deadline=None)
@given(laws)
def test_who_is_surely_shown_needs_no_coin(law: KeySelection) -> None:
    """One person fewer than the certain number is not certain; from there on nothing is hidden."""
    chances = recursion(law, law.certain + 1)
    assert chances[law.certain - 1] < 1
    assert chances[law.certain] >= 1 - mpmath.mpf(2) ** -250
    assert law.release([law.certain, law.certain + 7, 0]).tolist() == [True, True, False]


def test_where_the_last_bound_is_met_exactly() -> None:
    assert KeySelection(5, F(1, 2)).release([2] * 50).all()
    assert KeySelection(F(1, 3), F(3, 4)).release([2] * 50).all()


def test_a_key_of_nobody_is_never_shown() -> None:
    assert not KeySelection(5, F(1, 2)).release([0] * 1000).any()
    assert not GaussianKeySelection(F(1, 1000), F(1, 2)).release([0] * 1000).any()
