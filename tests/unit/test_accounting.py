"""Examples of accounting: prices, sums, conversions, decisions, and the same numbers from dp_accounting."""

import json
import math
import re
import sys
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest

from sfumato.accounting import (
    KINDS,
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
    belief,
    charge,
    delta_of_rho,
    epsilon_of_renyi,
    epsilon_of_rho,
    from_dict,
    group,
    optimal,
    parallel,
    percent_at_most,
    price,
    renyi,
    rho_star,
    sequential,
    suspicion,
)
from sfumato.errors import BudgetError, InputError, LedgerError, PolicyError
from sfumato.types import Adjacency, Loss

MILLIONTH = Fraction(1, 10**6)

# One record of each kind as it stands in ledgers. Never edit a line: kinds are append-only.
GOLDEN = [
    (Pure("0.1"), {"kind": "pure", "epsilon": "1/10"}),
    (BoundedRange("0.1"), {"kind": "range", "epsilon": "1/10"}),
    (Selection(1, "1e-6"), {"kind": "selection", "epsilon": "1", "delta": "1/1000000"}),
    (GaussianRelease("0.005"), {"kind": "gaussian", "rho": "1/200"}),
    (GaussianSelection("0.005", "1e-6"), {"kind": "gaussian-selection", "rho": "1/200", "delta": "1/1000000"}),
    (Refinement("0.1", "0.3"), {"kind": "refinement", "epsilon_before": "1/10", "epsilon": "3/10"}),
    (
        Together([Pure("1/3"), GaussianRelease(2)]),
        {"kind": "together", "events": [{"kind": "pure", "epsilon": "1/3"}, {"kind": "gaussian", "rho": "2"}]},
    ),
]


# events


def test_kinds_are_pinned():
    assert list(KINDS) == ["pure", "range", "selection", "gaussian", "gaussian-selection", "refinement", "together"]
    assert [type(event) for event, _ in GOLDEN] == list(KINDS.values())


@pytest.mark.parametrize(("event", "document"), GOLDEN, ids=lambda x: getattr(x, "kind", ""))
def test_documents_are_pinned(event, document):
    assert event.to_dict() == document
    assert from_dict(json.loads(json.dumps(document))) == event


def test_charges_are_those_of_the_table():
    assert charge(Pure("0.1")) == Loss(Fraction(1, 10), Fraction(1, 200), Fraction(0))
    assert charge(BoundedRange("0.1")) == Loss(Fraction(1, 10), Fraction(1, 800), Fraction(0))
    assert charge(Selection("0.1", "1e-6")) == Loss(Fraction(1, 10), Fraction(1, 200), MILLIONTH)
    assert charge(GaussianRelease("0.005")) == Loss(None, Fraction(1, 200), Fraction(0))
    assert charge(GaussianSelection("0.005", "1e-6")) == Loss(None, Fraction(1, 200), MILLIONTH)
    assert charge(Refinement("0.1", "0.3")) == Loss(Fraction(1, 5), None, Fraction(0))
    both = Together([Selection(1, "1e-6"), BoundedRange(2), Selection(1, "1e-6")])
    assert charge(both) == Loss(Fraction(4), Fraction(3, 2), 2 * MILLIONTH)
    assert charge(Together([Pure(1), GaussianRelease(1)])) == Loss(None, Fraction(3, 2), Fraction(0))
    assert charge(Together([Pure(1), Refinement(1, 2)])) == Loss(Fraction(2), None, Fraction(0))


def test_a_price_is_rounded_up_once():
    third = Fraction(333333333333334, 10**15)
    assert price(Pure("1/3")) == Loss(third, Fraction(55555555555556, 10**15), Fraction(0))
    assert price(Together([Pure("1/3")] * 3)).epsilon == 1  # rounding each part would give 1.000000000000002
    assert price(Selection(1, Fraction(1, 10**16))).delta == Fraction(1, 10**15)
    assert price(GaussianRelease(1)) == Loss(None, Fraction(1), Fraction(0))
    assert price(Refinement(1, 2)) == Loss(Fraction(1), None, Fraction(0))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Pure(0), "epsilon must be above 0, but is 0"),
        (lambda: Pure(-1), "epsilon must be above 0, but is -1"),
        (lambda: Pure(float("nan")), "epsilon must be a finite number"),
        (lambda: Pure(None), "epsilon must be a number"),
        (lambda: GaussianRelease(0), "rho must be above 0"),
        (lambda: Selection(1, 0), "delta must be above 0 and below 1, but is 0"),
        (lambda: Selection(1, 1), "delta must be above 0 and below 1, but is 1"),
        (lambda: GaussianSelection(1, 2), "delta must be above 0 and below 1, but is 2"),
        (lambda: Refinement(1, 1), "epsilon of a refinement must be above the earlier 1, but is 1"),
        (lambda: Together([]), "events must be one event or more"),
        (lambda: Together([Pure(1), 2]), "events must be one event or more"),
    ],
)
def test_events_say_what_is_allowed(make, words):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"kind": "quantum", "epsilon": "1"}, "newer code"),
        ({"epsilon": "1"}, "newer code"),
        ({"kind": ["pure"], "epsilon": "1"}, "newer code"),
        ({"kind": "pure"}, "must have the fields epsilon"),
        ({"kind": "pure", "epsilon": "1", "rho": "1"}, "must have the fields epsilon"),
        ({"kind": "pure", "epsilon": "0"}, "is damaged"),
        ({"kind": "pure", "epsilon": 0.1}, "must be text"),
        ({"kind": "together", "events": []}, "is damaged"),
        ({"kind": "together", "events": [{"kind": "quantum"}]}, "newer code"),
        ({"kind": "together", "events": ["pure"]}, "newer code"),
        ({"kind": "pure", "epsilon": [{"kind": "pure", "epsilon": "1"}]}, "is damaged"),
    ],
)
def test_a_ledger_that_is_not_understood_is_an_error(document, words):
    with pytest.raises(LedgerError) as caught:
        from_dict(document)
    assert words in str(caught.value)


# composition


def test_sequential_adds():
    assert sequential([]) == Loss(Fraction(0), Fraction(0), Fraction(0))
    assert sequential([Loss(Fraction(1), Fraction(2), Fraction(3))] * 2) == Loss(Fraction(2), Fraction(4), Fraction(6))
    assert sequential([Loss(None, Fraction(2)), Loss(Fraction(1), None)]) == Loss(None, None, Fraction(0))


def test_parallel_takes_the_largest():
    assert parallel([]) == Loss(Fraction(0), Fraction(0), Fraction(0))
    assert parallel(
        [Loss(Fraction(1), Fraction(5), Fraction(0)), Loss(Fraction(2), Fraction(3), Fraction(1, 9))]
    ) == Loss(Fraction(2), Fraction(5), Fraction(1, 9))
    assert parallel([Loss(None, Fraction(1)), Loss(Fraction(9), Fraction(2))]) == Loss(None, Fraction(2), Fraction(0))


def test_three_people_at_epsilon_four():
    loss = group(Loss(Fraction(4), Fraction(8), MILLIONTH), 3)
    assert (loss.epsilon, loss.rho) == (12, 72)
    assert float(loss.delta / MILLIONTH) == pytest.approx(1 + math.exp(4) + math.exp(8), rel=1e-12)
    assert loss.delta / MILLIONTH > 3036  # k times delta would be 3


def test_group_of_a_gaussian():
    assert group(Loss(None, Fraction(1, 2)), 3) == Loss(None, Fraction(9, 2), Fraction(0))
    assert group(Loss(Fraction(0), Fraction(0), MILLIONTH), 5) == Loss(Fraction(0), Fraction(0), 5 * MILLIONTH)
    assert group(Loss(Fraction(100), None, MILLIONTH), 5) == Loss(Fraction(500), None, Fraction(1))
    assert group(Loss(None, Fraction(1), MILLIONTH), 1) == Loss(None, Fraction(1), MILLIONTH)
    with pytest.raises(InputError, match="no delta without an epsilon"):
        group(Loss(None, Fraction(1), MILLIONTH), 2)
    with pytest.raises(InputError, match="people must be at least 1"):
        group(Loss(Fraction(1), Fraction(1)), 0)


TABLE = [  # releases, advanced, optimal, zCDP; epsilon 0.1 or sigma 10 at delta 1e-6
    (1, 0.536, 0.100, 0.430),
    (10, 1.767, 0.999, 1.472),
    (100, 6.308, 4.775, 5.222),
    (1000, 27.14, 19.34, 20.55),
]


@pytest.mark.parametrize(("count", "wanted"), [(k, a) for k, a, _, _ in TABLE])
def test_advanced_composition_of_the_table(count, wanted):
    epsilon, delta = advanced("0.1", 0, count, "1e-6")
    assert float(epsilon) == pytest.approx(wanted, rel=5e-4)
    assert delta == MILLIONTH
    direct = 0.1 * math.sqrt(2 * count * math.log(1e6)) + count * 0.1 * math.expm1(0.1)
    assert float(epsilon) == pytest.approx(direct, rel=1e-12)
    assert advanced("0.1", "1e-9", count, "1e-6")[1] == MILLIONTH + count * Fraction(1, 10**9)


@pytest.mark.parametrize(("count", "wanted"), [(k, o) for k, _, o, _ in TABLE])
def test_optimal_composition_of_the_table(count, wanted):
    epsilon, delta = optimal("0.1", 0, count, total_delta="1e-6")
    assert float(epsilon) == pytest.approx(wanted, abs=6e-4 * max(1, wanted))
    assert delta == MILLIONTH


@pytest.mark.parametrize("count", [1, 10, 100, 1000])
@pytest.mark.parametrize("delta", [0, 1e-10])
def test_optimal_composition_agrees_with_dp_accounting(count, delta):
    from dp_accounting.pld import common, privacy_loss_distribution

    parameters = common.DifferentialPrivacyParameters(0.1, delta)
    one = privacy_loss_distribution.from_privacy_parameters(parameters, value_discretization_interval=0.1)
    theirs = one.self_compose(count)
    epsilon = optimal("0.1", delta, count, total_delta="1e-6")[0]
    assert theirs.get_epsilon_for_delta(1e-6) == pytest.approx(float(epsilon), rel=1e-8)
    middle = Fraction(int(epsilon * 5), 10)
    exact = optimal("0.1", delta, count, total_epsilon=middle)[1]
    assert theirs.get_delta_for_epsilon(float(middle)) == pytest.approx(float(exact), rel=1e-8)


@pytest.mark.parametrize("count", [1, 10, 100])  # theirs overflows at 1000
def test_optimal_composition_meets_the_lattice_of_dp_accounting(count):
    from dp_accounting.pld import accountant, common

    ours = optimal("0.1", "1e-10", count, total_delta="1e-6")[0]
    theirs = accountant.advanced_composition(common.DifferentialPrivacyParameters(0.1, 1e-10), count, 1e-6)
    assert theirs - 0.2 < float(ours) <= theirs  # theirs answers in steps of 0.2 only
    assert optimal("0.1", "1e-10", count, total_epsilon=round(theirs, 9))[1] <= MILLIONTH


def test_optimal_composition_at_its_ends():
    assert optimal("0.1", 0, 10, total_delta=0) == (1, 0)
    assert optimal("0.1", 0, 10, total_epsilon=1) == (1, 0)
    assert optimal("0.1", "1e-6", 1, total_delta="1e-6") == (Fraction(1, 10), MILLIONTH)
    assert optimal("0.1", 0, 10, total_delta="0.9")[0] <= Fraction(1, 10**15)
    with pytest.raises(InputError, match="at least what 10 releases cost"):
        optimal("0.1", "1e-6", 10, total_delta="1e-6")
    with pytest.raises(InputError, match="either total_epsilon or total_delta"):
        optimal("0.1", 0, 10)


# curves


@pytest.mark.parametrize(("count", "wanted"), [(k, z) for k, _, _, z in TABLE])
def test_zcdp_conversion_agrees_with_dp_accounting(count, wanted):
    from dp_accounting import dp_event
    from dp_accounting.rdp import RdpAccountant

    ours = float(epsilon_of_rho(Fraction(count, 200), "1e-6"))
    assert ours == pytest.approx(wanted, abs=6e-4 * max(1, wanted))
    best = 1 + math.sqrt(math.log(1e6) / (count / 200))
    orders = [1 + (best - 1) * math.exp(t / 2000) for t in range(-1500, 1500)]
    accountant = RdpAccountant(orders).compose(dp_event.GaussianDpEvent(10.0), count)
    theirs = accountant.get_epsilon(1e-6)
    assert theirs * (1 - 1e-6) <= ours <= theirs * (1 + 1e-12)  # ours is the best of all orders, theirs of 3000


@pytest.mark.parametrize("order", [1.5, 2, 8, 32.5])
def test_renyi_conversion_agrees_with_dp_accounting(order):
    from dp_accounting.rdp import rdp_privacy_accountant

    theirs = rdp_privacy_accountant.compute_epsilon([order], [0.7], 1e-6)[0]
    assert float(epsilon_of_renyi(order, "0.7", "1e-6")) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("order", [1.5, 2, 8, 32.5])
@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
def test_renyi_agrees_with_dp_accounting(order, epsilon):
    from dp_accounting import dp_event
    from dp_accounting.privacy_accountant import NeighboringRelation
    from dp_accounting.rdp import RdpAccountant

    response = dp_event.RandomizedResponseDpEvent(2 / (1 + math.exp(epsilon)), 2)
    theirs = RdpAccountant([order], NeighboringRelation.REPLACE_ONE).compose(response)._rdp[0]
    assert float(renyi(Pure(epsilon), order)) == pytest.approx(theirs, rel=1e-9)
    assert renyi(Selection(epsilon, "1e-9"), order) == renyi(Pure(epsilon), order)
    eighth = float(renyi(BoundedRange(epsilon), order))
    assert eighth == pytest.approx(min(theirs, order * epsilon**2 / 8), rel=1e-9)


def test_renyi_of_the_other_kinds():
    assert renyi(GaussianRelease("0.1"), 8) == renyi(GaussianSelection("0.1", "1e-9"), 8) == Fraction(4, 5)
    assert renyi(Together([GaussianRelease("0.1"), GaussianRelease("0.2")]), 2) == Fraction(3, 5)
    assert renyi(Refinement(1, 2), 2) is None
    assert renyi(Together([Pure(1), Refinement(1, 2)]), 2) is None
    with pytest.raises(InputError, match="order must be above 1"):
        renyi(Pure(1), 1)


def test_conversions_at_their_ends():
    assert epsilon_of_rho(0, "1e-6") == delta_of_rho(0, 1) == 0
    assert delta_of_rho(100, 0) == 1
    assert epsilon_of_rho("1e-9", "0.9") == 0
    assert epsilon_of_renyi(2, 0, "0.9") == 0
    with pytest.raises(InputError, match="rho must be at least 0"):
        epsilon_of_rho(-1, "1e-6")


def test_rho_star_is_the_number_rounded_down():
    assert rho_star("4.000001", "5e-7") == Fraction(296131556743955, 10**15)  # 0.29613155674395535 by mpmath


# filters


TENTHS = [0.1, Decimal("0.1"), "0.1", json.loads("0.1"), json.loads("0.1", parse_float=Decimal), Fraction(1, 10)]


@pytest.mark.parametrize("tenth", TENTHS, ids=repr)
def test_ten_tenths_are_one(tenth):
    budget = PrivacyFilter("pure", 1)
    for _ in range(10):
        budget.spend(price(Pure(tenth)))
    assert budget.spent == Loss(Fraction(1), Fraction(1, 20), Fraction(0))
    assert budget.remaining() == Loss(Fraction(0), None, Fraction(0))
    assert not budget.admits(price(Pure("1e-15")))


@pytest.mark.parametrize("epsilon", [4, 4.0, "4.0"])
def test_forty_tenths_are_four(epsilon):
    budget = PrivacyFilter("pure", epsilon)
    assert budget.remaining_count(price(Pure(0.1))) == 40
    for _ in range(40):
        budget.spend(price(Pure(0.1)))
    with pytest.raises(BudgetError):
        budget.spend(price(Pure(0.1)))


def test_fifty_nine_tenths_under_best():
    budget, cost = PrivacyFilter("best", 4, "1e-6"), price(Pure(0.1))
    assert budget.remaining_count(cost) == 59
    for left in range(59, 0, -1):
        assert budget.remaining_count(cost) == left
        budget.spend(cost)
    assert not budget.admits(cost)
    assert PrivacyFilter("zcdp", 4, "1e-6").remaining_count(cost) == 59
    assert PrivacyFilter("best", 4, "1e-6", 0).remaining_count(cost) == 62  # all of delta converts
    assert PrivacyFilter("best", 4).remaining_count(cost) == 40  # no delta, no conversion: pure


def refused(budget, loss):
    before = budget.state()
    with pytest.raises(BudgetError) as caught:
        budget.spend(loss)
    assert budget.state() == before
    return str(caught.value).split("\n")


def test_a_refusal_says_what_would_pass():
    budget = PrivacyFilter("pure", 2)
    budget.spend(price(Pure("1.8")))
    assert refused(budget, price(Pure("0.5"))) == [
        "budget does not allow this query",
        "DETAIL: It costs epsilon 0.5; 0.2 of 2 is left.",
        "HINT: Use epsilon 0.2 or less, or fewer groups.",
    ]
    assert refused(budget, price(GaussianRelease(1))) == [
        'this release cannot be charged under composition "pure"',
        "DETAIL: It claims no epsilon, which this budget counts.",
        "HINT: Use geometric or Laplace noise.",
    ]
    assert refused(budget, price(Selection("0.1", "1e-6"))) == [
        "budget does not allow this query",
        "DETAIL: It costs delta 0.000001; 0 of 0 is left.",
        "HINT: Group by declared keys: they cost no delta.",
    ]


def test_a_refusal_by_the_rho_door():
    budget = PrivacyFilter("best", 4, "1e-6")
    for _ in range(59):
        budget.spend(price(Pure("0.1")))
    assert refused(budget, price(Pure("0.1"))) == [
        "budget does not allow this query",
        "DETAIL: It costs rho 0.005; 0.001131423331097 of 0.296131423331097 is left.",
        "HINT: Use epsilon 0.047569 or less, or fewer groups.",
    ]
    assert budget.admits(price(Pure("0.047569")))
    assert refused(budget, price(GaussianRelease(1)))[2] == "HINT: Use rho 0.001131423331097 or less, or fewer groups."
    budget.spend(price(GaussianRelease("0.001131423331097")))
    assert refused(budget, price(Pure("0.1")))[2].startswith("HINT: Nothing is left.")
    assert (
        refused(PrivacyFilter("zcdp", 4, "1e-6"), price(Refinement(1, 2)))[2]
        == "HINT: Request a new answer at full cost."
    )


def test_a_gaussian_shuts_the_pure_door():
    budget = PrivacyFilter("best", 4, "1e-6")
    budget.spend(price(GaussianRelease("0.29")))
    assert budget.spent == Loss(None, Fraction(29, 100), Fraction(0))
    assert budget.remaining() == Loss(Fraction(0), Fraction(6131423331097, 10**15), Fraction(1, 2 * 10**6))
    assert budget.admits(price(Pure("0.1")))
    assert not budget.admits(price(Pure("0.2")))  # rho 0.02; the pure door, never used, would have let it pass
    assert not budget.admits(price(Refinement("0.1", "0.101")))
    assert not PrivacyFilter("pure", 4, "1e-6").admits(price(GaussianRelease("1e-9")))


def test_a_refinement_shuts_the_rho_door():
    budget = PrivacyFilter("best", 4, "1e-6")
    budget.spend(price(Pure("0.1")))
    budget.spend(price(Refinement("0.1", "0.3")))
    assert budget.spent == Loss(Fraction(3, 10), None, Fraction(0))
    assert budget.remaining().rho == 0
    assert budget.remaining_count(price(Pure("0.1"))) == 37
    assert not budget.admits(price(GaussianRelease("1e-9")))
    assert not PrivacyFilter("zcdp", 4, "1e-6").admits(price(Refinement("0.1", "0.3")))
    late = PrivacyFilter("best", 4, "1e-6")
    for _ in range(59):
        late.spend(price(Pure("0.1")))
    assert not late.admits(price(Refinement("0.1", "0.11")))  # the pure door is overrun, the other would shut


@pytest.mark.parametrize("composition", ["pure", "zcdp", "best"])
def test_deltas_of_releases_stay_within_their_part(composition):
    budget, cost = PrivacyFilter(composition, 4, "1e-6"), price(Selection("0.001", "1e-7"))
    assert budget.remaining_count(cost) == 5
    for _ in range(5):
        budget.spend(cost)
    assert not budget.admits(cost)
    assert budget.admits(price(Pure("0.001")))
    assert PrivacyFilter(composition, 4, "1e-6", "9e-7").remaining_count(cost) == 9


def test_policies_that_do_not_hold_together():
    for delta, selection in ((0, None), ("1e-6", "1e-6")):
        with pytest.raises(PolicyError, match="needs a delta"):
            PrivacyFilter("zcdp", 1, delta, selection)
    with pytest.raises(PolicyError, match="composition must be"):
        PrivacyFilter("pld", 1)
    with pytest.raises(InputError, match="delta_selection must be between 0 and delta"):
        PrivacyFilter("best", 1, "1e-6", "2e-6")
    with pytest.raises(InputError, match="delta must be at least 0"):
        PrivacyFilter("best", 1, 1)
    with pytest.raises(InputError, match="epsilon must be above 0"):
        PrivacyFilter("best", 0)


def test_nothing_is_refunded():
    budget = PrivacyFilter("best", 1, "1e-6")
    for loss in (
        Loss(Fraction(-1), Fraction(1)),
        Loss(Fraction(1), Fraction(-1)),
        Loss(Fraction(1), Fraction(1), Fraction(-1)),
    ):
        with pytest.raises(InputError, match="a loss must be at least 0"):
            budget.spend(loss)
    assert not budget.admits(Loss(None, None))
    assert not budget.admits(Loss(Fraction(1) + Fraction(1, 10**30), None))  # rounded up, also when it was never priced


def test_limits_are_rounded_down():
    assert PrivacyFilter("pure", "1/3").limit.epsilon == Fraction(333333333333333, 10**15)
    assert not PrivacyFilter("pure", "1/3").admits(price(Pure("1/3")))
    assert PrivacyFilter("pure", 1, "2/3").limit.delta == Fraction(333333333333333, 10**15)


def test_state_goes_through_a_ledger():
    budget, copy = PrivacyFilter("best", 4, "1e-6"), PrivacyFilter("best", 4, "1e-6")
    budget.spend(price(Selection("0.1", "1e-7")))
    budget.spend(price(GaussianRelease("0.1")))
    copy.restore(json.loads(json.dumps(budget.state())))
    assert copy.spent == budget.spent
    assert copy.remaining() == budget.remaining()
    assert budget.state() == {
        "epsilon": 10**14,
        "rho": 105 * 10**12,
        "delta": 10**8,
        "epsilon_shut": 1,
        "rho_shut": 0,
        "debits": 2,
    }
    good = budget.state()
    for bad in ({}, {**good, "more": 1}, {**good, "rho": -1}, {**good, "rho": 0.5}, {**good, "rho": True}):
        with pytest.raises(LedgerError, match="is damaged"):
            copy.restore(bad)
    assert copy.state() == good


def test_a_smaller_budget_admits_nothing_more():
    budget = PrivacyFilter("best", 1, "1e-6")
    budget.restore({**budget.state(), "epsilon": 10**16, "rho": 10**16})
    assert budget.remaining() == Loss(Fraction(0), Fraction(0), Fraction(1, 2 * 10**6))
    assert budget.remaining_count(Loss(Fraction(0), Fraction(0))) == 0
    assert not budget.admits(Loss(Fraction(0), Fraction(0)))


def test_a_decision_after_ten_thousand_debits_is_as_much_work_as_after_one():
    """In calls, which no other program on the machine changes."""
    budget, cost = PrivacyFilter("best", 10**4, "1e-6"), price(Pure("0.1"))

    def work():
        calls = []
        sys.setprofile(lambda frame, event, argument: calls.append(event))
        try:
            assert budget.admits(cost)
        finally:
            sys.setprofile(None)
        return len(calls)

    budget.spend(cost)
    first = work()
    for _ in range(9_999):
        budget.spend(cost)
    assert 1 < work() <= first


def test_renyi_filter_counts():
    budget = RenyiFilter(8, 4, "1e-6")
    direct = 4 - math.log(1 / (8 * 5e-7)) / 7 - math.log(7 / 8)
    assert float(budget.limit) == pytest.approx(direct, rel=1e-12)
    cost = GaussianRelease("0.1")  # 0.8 at order 8, and the limit is 2.358
    budget.spend(cost)
    budget.spend(cost)
    assert budget.remaining() == budget.limit - Fraction(8, 5)
    assert not budget.admits(cost)
    with pytest.raises(BudgetError, match=r"costs 0\.8 at order 8; 0\.\d+ of 2\.\d+ remains"):
        budget.spend(cost)
    with pytest.raises(BudgetError, match="claims no divergence"):
        budget.spend(Refinement(1, 2))
    assert not budget.admits(Selection("0.01", "6e-7"))
    assert budget.admits(Selection("0.01", "5e-7"))
    with pytest.raises(PolicyError, match="leaves nothing to spend"):
        RenyiFilter(2, 1, "1e-6")
    with pytest.raises(PolicyError, match="needs a delta"):
        RenyiFilter(8, 1, 0)


def test_a_belief_moves_by_the_ratio():
    """By hand: odds of 1 to 3 times e^ln 2 (rounded up) are 2 to 3; and never more than that at any epsilon."""
    from sfumato.reals import ln, round_up

    two = round_up(ln(Fraction(2)))
    assert belief(Fraction(1, 4), two) == Fraction(400_001, 1_000_000)  # 2/5 and a little, as ln 2 was rounded up
    assert belief(Fraction(1, 2), Fraction(1, 10)) == Fraction(524_980, 1_000_000)
    assert belief("0.25", 0) == Fraction(1, 4)
    assert belief("0.5", 1000) == 1
    for wrong in (0, 1, -1):
        with pytest.raises(InputError):
            belief(wrong, 1)


def test_a_belief_is_reached_by_randomized_response():
    """The bound is not loose: somebody who sees the answer of a randomized response comes to hold it."""
    from sfumato.mechanisms import RandomizedResponse

    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3)):
        said = RandomizedResponse(epsilon)
        prior = Fraction(1, 5)
        reached = prior * said.mass(1, 1) / (prior * said.mass(1, 1) + (1 - prior) * said.mass(1, 0))
        assert 0 <= float(belief(prior, epsilon)) - float(reached) <= 1e-6


def belief_after_a_histogram(epsilon, adjacency):
    """The largest posterior, from 1/2, of which of two values Bob has: each is counted with geometric noise.

    Under add-remove Bob moves one count by 1. Under replace he moves both, and the noise is twice as wide.
    """
    ratio = math.exp(-epsilon / (1 if adjacency is Adjacency.ADD_REMOVE else 2))
    laws = [
        {seen: ratio ** (abs(seen[0] - first) + abs(seen[1] - second)) for seen in product(range(-3, 5), repeat=2)}
        for first, second in ((1, 0), (0, 1))
    ]
    return max(laws[0][seen] / (laws[0][seen] + laws[1][seen]) for seen in laws[0])


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(7, 10), Fraction(2)])
def test_a_suspicion_stays_within_its_sentence(epsilon, adjacency):
    """The number that is shown for values bounds what a histogram gives away, and is not reached by more than 0.1 %."""
    shown = [float(number) for number in re.findall(r"at most ([\d.]+) %", suspicion(epsilon, adjacency))]
    assert len(shown) == (2 if adjacency is Adjacency.ADD_REMOVE else 1)
    reached = 100 * belief_after_a_histogram(epsilon, adjacency)
    assert shown[-1] - 0.1 <= reached <= shown[-1]


def test_a_suspicion_about_values_moves_by_two_steps():
    """Under add-remove the number for being in the data does not bound it: a page that shows it alone is wrong."""
    presence = float(percent_at_most(Fraction(1, 10)))
    assert 100 * belief_after_a_histogram(Fraction(1, 10), Adjacency.ADD_REMOVE) > presence + 2
    both = suspicion(Fraction(1), Adjacency.ADD_REMOVE, delta=Fraction(1, 10**6), instead_of=Fraction(1, 2))
    assert both == (
        "a 50 % suspicion that somebody is in the data becomes at most 73.2 % instead of 62.3 %, one about their values"
        " at most 88.1 % instead of 73.2 % (up to delta 1e-6, for values 3.8e-6)"
    )


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_delta_of_values_is_that_of_two_steps(epsilon):
    """An event that one value never causes, nobody's rows cause with delta, and the other value as often as is allowed.

    It is (epsilon, delta)-private, and tells the two values apart with the probability that the sentence states.
    """
    delta = 1e-6
    one, nobody, other = 0.0, delta, delta * (1 + math.exp(epsilon))
    for a, b in ((one, nobody), (nobody, one), (nobody, other), (other, nobody)):
        for p, q in ((a, b), (1 - a, 1 - b)):
            assert p <= math.exp(epsilon) * q + delta * (1 + 1e-9)
    words = suspicion(epsilon, Adjacency.ADD_REMOVE, delta=Fraction(1, 10**6))
    stated = float(words.rpartition(" ")[2].rstrip(")"))
    assert other <= stated <= 1.1 * other
