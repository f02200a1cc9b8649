"""Laws of a partition of people: against a slow reckoning of what each possible person has paid."""

import math
from fractions import Fraction
from heapq import nlargest
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.accounting import GaussianRelease, Heights, PrivacyFilter, Pure, Selection, TouchedCells, price
from sfumato.errors import BudgetError
from sfumato.ledger import Ledger
from sfumato.types import UNIT, Adjacency, Loss
from tests.laws.test_accounting import STEP, menu, strongest

REGIONS = ("north", "south", "east", "west")
VERSIONS = ("1", "2")
ANALYSTS = ("ana", "bob")

adjacencies = st.sampled_from(Adjacency)
some_cells = st.none() | st.sets(st.sampled_from(REGIONS), min_size=1).map(lambda names: tuple(sorted(names)))
small = st.integers(1, 60).map(lambda n: Fraction(n, 1000))
events = (
    st.builds(Pure, small)
    | st.builds(Pure, small)
    | st.builds(Selection, small, st.integers(1, 9).map(lambda n: Fraction(n, 10**7)))
    | st.builds(GaussianRelease, small.map(lambda n: n / 50))
)
"""No refinement: it follows an answer of its own question, which these debits do not have."""
questions = st.tuples(events, some_cells, st.sampled_from(VERSIONS), st.sampled_from(ANALYSTS))


# one currency


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=4),
    st.lists(st.integers(0, 20), max_size=4),
    st.integers(1, 2),
    st.integers(0, 30),
    st.integers(1, 5),
)
def test_rooms_of_cells_are_exact(touched, others, most, left, cost):
    """What fits, fits; one more does not; and of all others the largest are enough."""
    everything = Heights(tuple(touched), tuple(others))
    room = everything.room(most, left)
    assert everything.growth(most, room) <= left < everything.growth(most, room + 1)
    assert everything.peak(most) == sum(nlargest(most, touched + others))
    assert everything.growth(most, cost) == sum(nlargest(most, [t + cost for t in touched] + others)) - sum(
        nlargest(most, touched + others)
    )
    ranked = nlargest(most, [(t, True) for t in touched] + [(o, False) for o in others])
    enough = Heights(tuple(touched), tuple(paid for paid, is_touched in ranked if not is_touched))
    assert enough.growth(most, cost) == everything.growth(most, cost)
    assert enough.room(most, left) == room


# all possible people


def paths(adjacency):
    """Where a person may be in each version: in one region; under replace she leaves one and enters one."""
    places = [{one} for one in REGIONS]
    if adjacency is Adjacency.REPLACE:
        places = [{one, other} for one in REGIONS for other in REGIONS]
    return [dict(zip(VERSIONS, chosen, strict=True)) for chosen in product(places, repeat=len(VERSIONS))]


def paid(path, charged, *, once):
    """What this person has paid: for each release that touches her once, or once for each of her cells."""
    epsilon, rho, delta = Fraction(0), Fraction(0), Fraction(0)
    for loss, touched, version in charged:
        hers = 1 if touched is None else len(path[version] & set(touched))
        times = min(hers, 1) if once else hers
        if times:
            epsilon = None if epsilon is None or loss.epsilon is None else epsilon + times * loss.epsilon
            rho = None if rho is None or loss.rho is None else rho + times * loss.rho
            delta += times * loss.delta
    return Loss(epsilon, rho, delta)


def worst(adjacency, charged, *, once=False):
    """The largest that any person has paid, in each currency by itself."""
    every = [paid(path, charged, once=once) for path in paths(adjacency)]

    def largest(amounts):
        return None if None in amounts else max(amounts)

    return Loss(
        largest([loss.epsilon for loss in every]),
        largest([loss.rho for loss in every]),
        max(loss.delta for loss in every),
    )


def open_book(adjacency, composition="best", epsilon=10**6, delta="1e-2", shares=None):
    return Ledger.open(
        ":memory:",
        data_id="clinic",
        composition=composition,
        epsilon=epsilon,
        delta=delta,
        delta_selection=Fraction(delta) / 2,
        shares=shares,
        adjacency=adjacency,
        partition="patient.region",
    )


def ask(ledger, number, question):
    event, touched, version, analyst = question
    return ledger.debit(analyst, event, question=str(number), epsilon=1, version=version, text="", cells=touched)


@given(adjacencies, st.lists(questions, max_size=12))
def test_spent_is_the_worst_path(adjacency, asked):
    """In the ledger, and again when it is replayed: for everybody and for each analyst."""
    with open_book(adjacency) as ledger:
        charged = []
        for number, question in enumerate(asked):
            event, touched, version, analyst = question
            try:
                ask(ledger, number, question)
            except BudgetError:  # a Gaussian and a refinement shut both doors
                continue
            charged.append((analyst, (price(event), touched, version)))
        total = worst(adjacency, [charge for _, charge in charged])
        assert ledger.budget().spent == total == ledger.verify().spent
        for analyst in ANALYSTS:
            hers = worst(adjacency, [charge for who, charge in charged if who == analyst])
            assert ledger.budget(analyst).spent == hers
        exact = worst(adjacency, [charge for _, charge in charged], once=True)
        assert covers(total, exact)
        alone = all(touched is None or len(touched) == 1 for _, (_, touched, _) in charged)
        if alone or adjacency is Adjacency.ADD_REMOVE:  # and no smaller number would be true
            assert total == exact


def covers(claim, truth):
    pairs = [(claim.epsilon, truth.epsilon), (claim.rho, truth.rho), (claim.delta, truth.delta)]
    return all(a is None or (b is not None and b <= a) for a, b in pairs)


def within(limit, loss):
    """The rule of all three compositions, for one person: a limit of None is a door that is not there."""
    by_epsilon = None not in (limit.epsilon, loss.epsilon) and loss.epsilon <= limit.epsilon
    by_rho = None not in (limit.rho, loss.rho) and loss.rho <= limit.rho
    return loss.delta <= limit.delta and (by_epsilon or by_rho)


@given(
    adjacencies,
    st.sampled_from(["pure", "zcdp", "best"]),
    st.lists(questions, max_size=25),
    st.integers(1, 6).map(lambda n: Fraction(n, 20)),
    st.integers(1, 6).map(lambda n: Fraction(n, 20)),
)
def test_no_person_pays_more_than_is_promised(adjacency, composition, asked, epsilon, share):
    """What passes keeps the promise to every person; what is refused is too much for the worst in each currency."""
    delta = "2e-6"
    limit = PrivacyFilter(composition, epsilon, delta).limit
    own = PrivacyFilter(composition, share, delta).limit
    with open_book(adjacency, composition, epsilon, delta, {"ana": share}) as ledger:
        charged = []
        for number, question in enumerate(asked):
            event, touched, version, analyst = question
            new, loss = (analyst, (price(event), touched, version)), price(event)
            hers = [charge for who, charge in [*charged, new] if who == analyst]
            everybodys = [charge for _, charge in [*charged, new]]
            fits = within(limit, worst(adjacency, everybodys)) and (
                analyst != "ana" or within(own, worst(adjacency, hers))
            )
            count = ledger.remaining_count(analyst, loss, cells=touched, version=version)
            left = ledger.budget(analyst, cells=touched, version=version).remaining
            assert fits == (count > 0)
            by_epsilon = None not in (left.epsilon, loss.epsilon) and loss.epsilon <= left.epsilon
            by_rho = None not in (left.rho, loss.rho) and loss.rho <= left.rho
            if fits:
                assert loss.delta <= left.delta
                # what two budgets have in common may be nothing where each is open by another door
                assert by_epsilon or by_rho or analyst == "ana"
            try:
                ask(ledger, number, question)
            except BudgetError:
                assert not fits
            else:
                assert fits
                charged.append(new)
        for path in paths(adjacency):
            assert within(limit, paid(path, [charge for _, charge in charged], once=True))
            assert within(own, paid(path, [charge for who, charge in charged if who == "ana"], once=True))
        ledger.verify()


@given(
    adjacencies,
    st.sampled_from(["pure", "zcdp", "best"]),
    st.lists(questions, max_size=8),
    st.builds(Pure, small) | st.builds(Selection, small, st.just(Fraction(1, 10**7))),
    st.tuples(some_cells, st.sampled_from(VERSIONS)),
)
def test_remaining_counts_of_cells_are_exact(adjacency, composition, asked, event, where):
    with open_book(adjacency, composition, Fraction(1, 4), "2e-6") as ledger:
        charged = []
        for number, question in enumerate(asked):
            try:
                ask(ledger, number, question)
            except BudgetError:
                continue
            charged.append((price(question[0]), *question[1:3]))
        cost = price(event)
        count = ledger.remaining_count(None, cost, cells=where[0], version=where[1])
        limit = PrivacyFilter(composition, Fraction(1, 4), "2e-6").limit

    def fits(times):
        more = Loss(times * cost.epsilon, times * cost.rho, times * cost.delta)
        return within(limit, worst(adjacency, [*charged, (more, *where)]))

    assert count == 0 or fits(count)
    assert not fits(count + 1)


# the worst adversary


def strongest_among_cells(budget, epsilon, moves, adjacency, hers):
    """As `strongest`, where each question also says whom it asks about: a, b, or everybody.

    She who is looked for is in cell a; under replace she is in a on one side and in b on the other. `hers` are the
    cells whose answers differ between the two sides.
    """
    known, start = {}, {**budget.state(), "debits": 0}

    def value(ratio, state, sums):
        key = (ratio, *state.values(), sums)
        if key not in known:
            here = math.exp(ratio * STEP)
            best = max(0.0, here - math.exp(epsilon))
            for (loss, catastrophe, outcomes), where in product(moves, ("a", "b", None)):
                budget.restore(state)
                cells = None if where is None else stand(adjacency, sums, where)
                if not budget.admits(loss, cells):
                    continue
                budget.spend(loss, cells)
                after = {**budget.state(), "debits": 0}
                then = sums if where is None else charge(sums, where, loss)
                if where is None or where in hers:
                    good = sum(q * value(ratio + jump, after, then) for jump, q in outcomes)
                    best = max(best, catastrophe * here + (1 - catastrophe) * good)
                else:
                    best = max(best, value(ratio, after, then))
            known[key] = best
        return known[key]

    reached = value(0, start, ((0, 0, 0), (0, 0, 0)))
    budget.restore(start)
    return reached


def stand(adjacency, sums, where):
    touched, other = (sums[0], sums[1]) if where == "a" else (sums[1], sums[0])
    return TouchedCells(adjacency, *(Heights((t,), (o,)) for t, o in zip(touched, other, strict=True)))


def charge(sums, where, loss):
    more = [int((part or 0) / UNIT) for part in (loss.epsilon, loss.rho, loss.delta)]
    a, b = sums
    if where == "a":
        return tuple(x + y for x, y in zip(a, more, strict=True)), b
    return a, tuple(x + y for x, y in zip(b, more, strict=True))


@pytest.mark.parametrize("composition", ["pure", "zcdp", "best"])
@pytest.mark.parametrize("chosen", [(2, 4), (3, 6), (4, 6)])
def test_no_adversary_gains_by_cells(composition, chosen):
    """Whoever is in one cell, or moves between two: asking about cells tells no more than asking about everybody."""
    terms, moves = (0.5, "0.1", "0.01"), [menu()[i] for i in chosen]
    alone = strongest(PrivacyFilter(composition, *terms), 0.5, moves)
    assert alone <= 0.1
    kept = strongest_among_cells(PrivacyFilter(composition, *terms), 0.5, moves, Adjacency.ADD_REMOVE, {"a"})
    assert kept == pytest.approx(alone, abs=1e-12)
    moved = strongest_among_cells(PrivacyFilter(composition, *terms), 0.5, moves, Adjacency.REPLACE, {"a", "b"})
    assert moved == pytest.approx(alone, abs=1e-12)


def test_the_adversary_beats_one_cell_where_she_may_be_in_two():
    budget, moves = PrivacyFilter("pure", 0.5, "0.1", "0.01"), [menu()[4]]
    assert strongest_among_cells(budget, 0.5, moves, Adjacency.REPLACE, {"a", "b"}) <= 0.1
    assert strongest_among_cells(budget, 0.5, moves, Adjacency.ADD_REMOVE, {"a", "b"}) > 0.1
