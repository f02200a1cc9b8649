"""Laws of accounting: what holds for all losses, events and orders of asking."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.accounting import (
    BoundedRange,
    GaussianRelease,
    GaussianSelection,
    PrivacyFilter,
    Pure,
    Refinement,
    RenyiFilter,
    Selection,
    Together,
    advanced,
    charge,
    delta_of_rho,
    epsilon_of_renyi,
    epsilon_of_rho,
    from_dict,
    group,
    optimal,
    parallel,
    price,
    renyi,
    renyi_limit,
    rho_star,
    sequential,
)
from sfumato.errors import BudgetError
from sfumato.types import UNIT, Loss

amounts = st.fractions(Fraction(1, 1000), 3, max_denominator=1000)
deltas = st.integers(1, 10**6).map(lambda n: Fraction(n, 3 * 10**12))
orders = st.fractions(Fraction(11, 10), 60, max_denominator=10)
maybe = st.none() | st.fractions(0, 5, max_denominator=60)
losses = st.builds(Loss, maybe, maybe, st.fractions(0, 1, max_denominator=60))


def plain(sizes):
    """Events of every kind but together, with epsilons and rhos of these sizes."""
    return (
        st.builds(Pure, sizes)
        | st.builds(BoundedRange, sizes)
        | st.builds(Selection, sizes, deltas)
        | st.builds(GaussianRelease, sizes)
        | st.builds(GaussianSelection, sizes, deltas)
        | st.builds(lambda before, more: Refinement(before, before + more), sizes, sizes)
    )


events = st.recursive(plain(amounts), lambda parts: st.lists(parts, min_size=1, max_size=3).map(Together), max_leaves=6)
affordable = plain(st.integers(1, 60).map(lambda n: Fraction(n, 1000))) | st.builds(Pure, amounts)
"""Small enough for many of them to pass, so that sequences reach the limits and shut doors on the way."""


def at_most(left, right):
    """Whether a loss is covered by another; None is without bound."""
    pairs = [(left.epsilon, right.epsilon), (left.rho, right.rho), (left.delta, right.delta)]
    return all(b is None or (a is not None and a <= b) for a, b in pairs)


# events


@given(events)
def test_events_read_back_exactly(event):
    assert from_dict(event.to_dict()) == event


@given(events)
def test_a_price_covers_the_charge(event):
    exact, asked = charge(event), price(event)
    assert at_most(exact, asked)
    for a, b in ((exact.epsilon, asked.epsilon), (exact.rho, asked.rho), (exact.delta, asked.delta)):
        assert (a is None) == (b is None)
        assert b is None or (b - a < UNIT and (b / UNIT).denominator == 1)


@given(st.lists(events, min_size=1, max_size=4))
def test_together_adds(parts):
    assert charge(Together(parts)) == sequential([charge(part) for part in parts])


def renyi_of(p, q, order):
    """The Renyi divergence of two laws on finitely many points, in floats."""
    return math.log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)


def response(epsilon):
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    return (keep, 1 - keep), (1 - keep, keep)


@given(st.floats(0.01, 3), st.floats(1.01, 20))
def test_randomized_response_costs_what_is_charged(epsilon, order):
    p, q = response(epsilon)
    loss = charge(Pure(epsilon))
    assert max(abs(math.log(a / b)) for a, b in zip(p, q, strict=True)) == pytest.approx(float(loss.epsilon))
    truth, claim = renyi_of(p, q, order), order * float(loss.rho)
    assert truth <= claim * (1 + 1e-6) + 1e-12
    if order * epsilon < 0.3:  # and no smaller constant would do
        assert truth > 0.9 * claim


@given(st.floats(0.05, 3), st.floats(0.01, 0.99), st.floats(1.01, 20))
def test_a_range_costs_an_eighth(epsilon, where, order):
    """Two points whose log-ratios are t and t - epsilon: the extreme laws of range epsilon."""
    top = where * epsilon
    q = (1 - math.exp(top - epsilon)) / (math.exp(top) - math.exp(top - epsilon))
    p = q * math.exp(top)
    claim = order * float(charge(BoundedRange(epsilon)).rho)
    truth = renyi_of((p, 1 - p), (q, 1 - q), order)
    assert truth <= claim * (1 + 1e-6) + 1e-10
    if abs(where - 0.5) < 0.1 and order * epsilon < 0.3:
        assert truth > 0.85 * claim


# composition


@given(losses, losses, losses)
def test_sequential_is_associative_and_monotone(a, b, c):
    assert sequential([sequential([a, b]), c]) == sequential([a, sequential([b, c])]) == sequential([c, b, a])
    assert at_most(sequential([a, b]), sequential([a, b, c]))
    assert sequential([a]) == a


@given(losses, losses, losses)
def test_parallel_is_the_least_upper_bound(a, b, c):
    both = parallel([a, b])
    assert at_most(a, both)
    assert at_most(b, both)
    assert both == parallel([b, a]) == parallel([a, b, a])
    assert parallel([both, c]) == parallel([a, parallel([b, c])])
    assert at_most(both, sequential([a, b]))
    assert both.epsilon in (a.epsilon, b.epsilon)
    assert both.rho in (a.rho, b.rho)
    assert both.delta in (a.delta, b.delta)


@given(st.lists(st.floats(0.05, 1), min_size=1, max_size=5), st.floats(1.1, 10))
def test_randomized_responses_add(epsilons, order):
    """The joint law of several responses, outcome by outcome, against the sum of their prices."""
    pairs = [response(epsilon) for epsilon in epsilons]
    outcomes = list(product((0, 1), repeat=len(pairs)))
    p = [math.prod(pair[0][bit] for pair, bit in zip(pairs, bits, strict=True)) for bits in outcomes]
    q = [math.prod(pair[1][bit] for pair, bit in zip(pairs, bits, strict=True)) for bits in outcomes]
    loss = sequential([charge(Pure(epsilon)) for epsilon in epsilons])
    assert max(math.log(a / b) for a, b in zip(p, q, strict=True)) == pytest.approx(float(loss.epsilon))
    assert renyi_of(p, q, order) <= order * float(loss.rho) * (1 + 1e-9)
    assert renyi_of(p, q, order) > 0.4 * min(order * float(loss.rho), float(loss.epsilon))


@given(
    st.fractions(0, 2, max_denominator=50), st.fractions(0, Fraction(1, 10), max_denominator=1000), st.integers(1, 8)
)
def test_group_formula(epsilon, delta, people):
    """Person by person: delta_k = e^epsilon delta_(k-1) + delta."""
    step = Fraction(0)
    for _ in range(people):
        step = Fraction(math.exp(epsilon)) * step + delta
    loss = group(Loss(epsilon, epsilon**2 / 2, delta), people)
    assert loss.epsilon == people * epsilon
    assert loss.rho == people**2 * epsilon**2 / 2
    assert float(loss.delta) == pytest.approx(min(1, float(step)), rel=1e-12)
    assert loss.delta >= min(1, people * delta)


def hockey_stick(epsilon, count, total):
    """Sum of (P - e^total Q)+ over the number of true answers, in floats."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    masses = [math.comb(count, n) * keep**n * (1 - keep) ** (count - n) for n in range(count + 1)]
    return sum(max(0, a - math.exp(total) * b) for a, b in zip(masses, reversed(masses), strict=True))


@given(st.floats(0.01, 2), st.floats(0, 0.01), st.integers(1, 40), st.floats(0, 1))
def test_optimal_is_the_hockey_stick(epsilon, delta, count, part):
    total = part * epsilon * count
    ours = float(optimal(epsilon, delta, count, total_epsilon=total)[1])
    direct = 1 - (1 - delta) ** count * (1 - hockey_stick(epsilon, count, total))
    assert ours == pytest.approx(direct, rel=1e-9, abs=1e-12)


@given(
    amounts,
    st.integers(0, 100),
    st.integers(1, 40),
    st.fractions(Fraction(1, 10**6), Fraction(1, 2), max_denominator=10**6),
)
def test_optimal_inverts_itself(epsilon, parts, count, more):
    delta = Fraction(parts, 10**9)
    total = more + count * delta
    wanted, _ = optimal(epsilon, delta, count, total_delta=total)
    assert optimal(epsilon, delta, count, total_epsilon=wanted)[1] <= total
    if wanted > Fraction(1, 10**9):
        assert optimal(epsilon, delta, count, total_epsilon=wanted - Fraction(1, 10**9))[1] > total


@given(amounts, st.integers(1, 60), deltas)
def test_optimal_is_below_the_others(epsilon, count, delta):
    best = optimal(epsilon, 0, count, total_delta=delta)[0]
    assert best <= count * epsilon
    assert best <= advanced(epsilon, 0, count, delta)[0]
    assert best <= epsilon_of_rho(count * epsilon**2 / 2, delta)


# curves


def gaussian_delta(rho, epsilon):
    """The exact delta of the Gaussian mechanism with distance / sigma = sqrt(2 rho)."""
    mu = math.sqrt(2 * rho)
    below = lambda x: math.erfc(-x / math.sqrt(2)) / 2  # noqa: E731 - a formula
    return below(mu / 2 - epsilon / mu) - math.exp(epsilon) * below(-mu / 2 - epsilon / mu)


@given(st.floats(1e-4, 3), st.floats(1e-9, 0.1))
def test_conversions_cover_the_gaussian(rho, delta):
    epsilon = float(epsilon_of_rho(rho, delta))
    assert gaussian_delta(rho, epsilon) <= delta * (1 + 1e-9) + 1e-16
    assert gaussian_delta(rho, 0.85 * epsilon) >= delta * 0.2 or epsilon < 0.05  # and not absurdly far above it
    simple = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert epsilon <= simple
    order = 1 + math.sqrt(math.log(1 / delta) / rho)
    assert epsilon <= float(epsilon_of_renyi(order, order * rho, delta)) + 1e-12


@given(st.fractions(Fraction(1, 1000), 3, max_denominator=1000), deltas)
def test_delta_and_epsilon_of_rho_agree(rho, delta):
    epsilon = epsilon_of_rho(rho, delta)
    assert delta * (1 - Fraction(1, 10**9)) <= delta_of_rho(rho, epsilon) <= delta * (1 + Fraction(1, 10**9))
    assert delta_of_rho(rho, epsilon + Fraction(1, 10**6)) < delta


@given(st.fractions(Fraction(1, 100), 20, max_denominator=100), deltas)
def test_rho_star_is_safe_and_maximal(epsilon, delta):
    rho = rho_star(epsilon, delta)
    assert (rho / UNIT).denominator == 1
    assert epsilon_of_rho(rho, delta) <= epsilon + UNIT
    assert delta_of_rho(rho, epsilon) <= delta
    assert epsilon_of_rho(rho * (1 + Fraction(1, 10**9)) + UNIT, delta) > epsilon
    assert delta_of_rho(rho * (1 + Fraction(1, 10**9)) + UNIT, epsilon) > delta


@given(orders, amounts, deltas)
def test_renyi_limit_is_the_inverse(order, epsilon, delta):
    limit = renyi_limit(order, epsilon, delta)
    assert limit >= 0
    if limit:
        assert epsilon - 2 * UNIT <= epsilon_of_renyi(order, limit, delta) <= epsilon + UNIT
    else:
        assert epsilon_of_renyi(order, 0, delta) >= epsilon - UNIT


@given(st.floats(0.01, 3), orders)
def test_renyi_of_randomized_response(epsilon, order):
    truth = renyi_of(*response(epsilon), float(order))
    ours = renyi(Pure(epsilon), order)
    assert float(ours) == pytest.approx(truth, rel=1e-6, abs=1e-9)
    assert ours <= min(Fraction(str(epsilon)), order * Fraction(str(epsilon)) ** 2 / 2 + UNIT)


# filters


def admitted(budget, asked):
    """The events that passed, each checked for doing what `admits` and `remaining_count` said."""
    passed = []
    for event in asked:
        cost, before = price(event), budget.state()
        fits, count = budget.admits(cost), budget.remaining_count(cost)
        assert fits == (count > 0)
        try:
            budget.spend(cost)
        except BudgetError:
            assert not fits
            assert budget.state() == before
        else:
            assert fits
            passed.append(event)
    return passed


def doors(losses):
    """The sums of exact charges, None where some part makes no claim."""
    whole = sequential(losses)
    return whole.epsilon, whole.rho, whole.delta


@given(
    st.sampled_from(["pure", "zcdp", "best"]),
    st.lists(affordable | events, max_size=25),
    st.fractions(Fraction(1, 2), 4, max_denominator=20),
    st.integers(2, 4 * 10**6).map(lambda n: Fraction(n, 10**12)),
)
def test_a_filter_never_exceeds(composition, asked, epsilon, delta):
    """From the charges alone: the sums of what passed are within the promise; what was refused would not have been."""
    budget = PrivacyFilter(composition, epsilon, delta)
    assert delta_of_rho(budget.limit.rho or 0, epsilon) + budget.limit.delta <= delta  # each part of delta once
    passed = admitted(budget, asked)
    e, rho, d = doors([charge(event) for event in passed])
    by_epsilon = composition != "zcdp" and e is not None and e <= epsilon
    by_rho = composition != "pure" and rho is not None and delta_of_rho(rho, epsilon) <= delta / 2
    assert by_epsilon or by_rho
    assert d <= delta / 2
    other = PrivacyFilter(composition, epsilon, delta)
    other.restore(budget.state())
    for event in asked:
        assert other.admits(price(event)) == budget.admits(price(event))
        e, rho, d = doors([price(part) for part in passed] + [price(event)])
        by_epsilon = composition != "zcdp" and e is not None and e <= epsilon
        by_rho = composition != "pure" and rho is not None and rho <= rho_star(epsilon, delta / 2)
        slack = d <= delta / 2 - 2 * UNIT  # the limit itself is rounded down
        assert budget.admits(price(event)) or not (slack and (by_epsilon or by_rho)) or near(e, epsilon)


def near(sum_, limit):
    return sum_ is not None and limit - UNIT < sum_ <= limit


@given(st.lists(st.builds(Pure, amounts), min_size=1, max_size=20), amounts)
def test_the_hint_is_true(asked, epsilon):
    """What a refusal proposes, passes."""
    for composition in ("pure", "zcdp", "best"):
        budget = PrivacyFilter(composition, epsilon, "1e-6")
        for event in asked:
            try:
                budget.spend(price(event))
            except BudgetError as error:
                hint, words = error.hint, error.hint.split()
                if words[1] == "epsilon":
                    assert budget.admits(price(Pure(words[2])))
                else:
                    assert hint.startswith("Nothing is left.")
                    assert not budget.admits(price(Pure("0.001")))


@given(events, st.fractions(Fraction(1, 2), 8, max_denominator=20))
def test_remaining_count_is_exact(event, epsilon):
    for composition in ("pure", "zcdp", "best"):
        budget = PrivacyFilter(composition, epsilon, "1e-6")
        count = budget.remaining_count(price(event))
        budget.restore({**budget.state(), **_times(price(event), count - 1)} if count else budget.state())
        if count:
            budget.spend(price(event))
        assert not budget.admits(price(event))


def _times(loss, count):
    units = [0 if part is None else int(part / UNIT) * count for part in (loss.epsilon, loss.rho, loss.delta)]
    shut = [int(count > 0 and part is None) for part in (loss.epsilon, loss.rho)]
    return dict(zip(("epsilon", "rho", "delta", "epsilon_shut", "rho_shut"), units + shut, strict=True))


@given(st.lists(events, max_size=15), orders, st.fractions(2, 8, max_denominator=20))
def test_a_renyi_filter_never_exceeds(asked, order, epsilon):
    if renyi_limit(order, epsilon, "5e-7") == 0:
        return
    budget, passed = RenyiFilter(order, epsilon, "1e-6"), []
    for event in asked:
        if budget.admits(event):
            budget.spend(event)
            passed.append(event)
        else:
            with pytest.raises(BudgetError):
                budget.spend(event)
    values = [renyi(event, order) for event in passed]
    assert None not in values
    assert epsilon_of_renyi(order, sum(values, Fraction(0)), "5e-7") <= epsilon + UNIT or not passed
    assert sum(charge(event).delta for event in passed) <= Fraction(5, 10**7)


# the worst adversary

STEP = 0.125
"""All log-ratios of the game are multiples of this, so that positions repeat and are solved once."""


def ternary(jump, rare):
    """A law with log-ratios jump, 0 and -jump, the outer ones rare: rho-zCDP, and no use as a pure release."""
    p = (rare * math.exp(jump), 1 - rare * (1 + math.exp(jump)), rare)
    q = tuple(reversed(p))
    rho = max(renyi_of(p, q, 1 + t / 20) / (1 + t / 20) for t in range(1, 2000))
    return Fraction(rho * 1.001).limit_denominator(10**9), q


def menu():
    """What the adversary may ask: loss to pay, chance of catastrophe, and (log-ratio, probability under Q) pairs."""
    moves = []
    for steps in (1, 2, 4):
        epsilon = steps * STEP
        up = 1 / (1 + math.exp(epsilon))
        outcomes = ((steps, up), (-steps, 1 - up))
        moves.append((price(Pure(epsilon)), 0.0, outcomes))
        moves.append((price(Selection(epsilon, "0.01")), 0.01, outcomes))
    rho, q = ternary(12 * STEP, 0.004)
    moves.append((price(GaussianRelease(rho)), 0.0, ((12, q[0]), (0, q[1]), (-12, q[2]))))
    return moves


def strongest(budget, epsilon, moves):
    """The largest P(S) - e^epsilon Q(S) that any adaptive way of asking reaches before the filter stops it.

    A position is the log-ratio so far and the state of the filter; its value is per unit of mass under Q. A catastrophe
    has mass under P only, and counts in full.
    """
    known, start = {}, {**budget.state(), "debits": 0}

    def value(ratio, state):
        key = (ratio, *state.values())
        if key not in known:
            here = math.exp(ratio * STEP)
            best = max(0.0, here - math.exp(epsilon))
            for loss, catastrophe, outcomes in moves:
                budget.restore(state)
                if budget.admits(loss):
                    budget.spend(loss)
                    after = {**budget.state(), "debits": 0}
                    good = sum(q * value(ratio + jump, after) for jump, q in outcomes)
                    best = max(best, catastrophe * here + (1 - catastrophe) * good)
            known[key] = best
        return known[key]

    reached = value(0, start)
    budget.restore(start)
    return reached


@pytest.mark.parametrize(
    ("epsilon", "delta", "selection"), [(1, "0.05", "0.02"), (0.5, "0.1", "0.01"), (1.25, "0.01", 0)]
)
@pytest.mark.parametrize("composition", ["pure", "zcdp", "best"])
def test_no_adversary_exceeds_the_best_filter(composition, epsilon, delta, selection):
    reached = strongest(PrivacyFilter(composition, epsilon, delta, selection), epsilon, menu())
    assert reached <= float(delta) + 1e-12
    if composition != "pure":  # an adversary who reached nothing would prove nothing
        assert reached > 0.25 * float(delta)


def loose_rho(budget):
    budget._rho *= 3


def loose_epsilon(budget):
    budget._epsilon = int(budget._epsilon * 1.5)


def loose_delta(budget):
    budget._delta *= 3


@pytest.mark.parametrize(("loosen", "moves"), [(loose_rho, (0, 2)), (loose_epsilon, (2, 4)), (loose_delta, (1, 3, 5))])
def test_the_adversary_beats_a_filter_that_is_too_generous(loosen, moves):
    budget, few = PrivacyFilter("best", 1, "0.05", "0.02"), [menu()[i] for i in moves]
    assert strongest(budget, 1, few) <= 0.05
    loosen(budget)
    assert strongest(budget, 1, few) > 0.05


def test_the_adversary_beats_a_gaussian_with_an_epsilon_made_up():
    budget, (gaussian, catastrophe, outcomes) = PrivacyFilter("best", 1, "0.05", "0.02"), menu()[-1]
    assert strongest(budget, 1, [(gaussian, catastrophe, outcomes)]) <= 0.05
    made_up = Loss(Fraction(1, 25), gaussian.rho)
    assert strongest(budget, 1, [(made_up, catastrophe, outcomes)]) > 0.05
