"""Bounds that are found: what one person moves in the histogram before noise, and how good the chosen bound is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.algebra.unit_histogram import Histogram, histogram
from sfumato.engines.duckdb.unit_reports import histogram_sql
from sfumato.errors import QueryError
from sfumato.gateway.clipping import Persons, choose, middle
from sfumato.policy import Table
from sfumato.policy.columns import NUMBERS
from sfumato.policy.unknown import MOST_STEPS, steps_of
from sfumato.types import Adjacency
from tests.laws.neighbours import Bench
from tests.laws.worldgen import world
from tests.laws.worlds import World

FEW, MANY = range(8), range(8, 40)
SEEDS = [*FEW, *(pytest.param(seed, marks=pytest.mark.slow) for seed in MANY)]


@dataclass(frozen=True)
class Asked:
    """A histogram of a table in a world of random rows, and of which column."""

    bench: Bench
    of: Histogram
    table: Table
    column: str | None


def summable(table: Table) -> list[str]:
    """Columns whose sums a policy may leave to be found."""
    return [
        name
        for name, column in table.columns.items()
        if column.type in NUMBERS and (column.low is not None or column.values is not None) and name != table.unit
        if (steps := steps_of(column)) is not None and steps < MOST_STEPS
    ]


def asked(seed: int) -> Iterator[Asked]:
    """Every histogram that can be asked for in the world of a seed."""
    here: World = world(random.Random(seed))
    bench = Bench(here, seed)
    for table in here.policy.tables.values():
        for column in [] if table.public else [None, *summable(table)]:
            try:
                of = histogram(table, here.policy, column, stored=False)
                histogram_sql(of)
            except QueryError:  # too many digits: its policy is not served, as the same scan is refused at its opening
                continue
            yield Asked(bench, of, table, column)


def counts(one: Asked, **shown: Any) -> dict[int, int]:
    """What the engine gives: persons by bucket."""
    found = {int(bucket): int(n) for bucket, n in one.bench.show(**shown).execute(histogram_sql(one.of)).fetchall()}
    assert found.keys() <= set(range(one.of.buckets))
    return found


def apart(one: dict[int, int], other: dict[int, int]) -> int:
    return sum(abs(one.get(bucket, 0) - other.get(bucket, 0)) for bucket in one.keys() | other.keys())


def claim(adjacency: Adjacency) -> Fraction:
    """The sensitivity that the noise is scaled to."""
    return Persons((0,), Fraction(1), adjacency, alone=True).law.sensitivity_l1


@pytest.mark.parametrize("seed", SEEDS)
def test_a_person_is_in_one_bucket(seed: int) -> None:
    """Alone she is one in one bucket or nobody; the whole is the sum over persons; without her the others stay."""
    met = 0
    for one in asked(seed):
        whole = counts(one)
        for place, threads in ((1, 1), (0, 4)):
            assert counts(one, place=place, threads=threads) == whole
        alone = {person: counts(one, only=person) for person in one.bench.people}
        assert all(sum(hers.values()) <= 1 for hers in alone.values())
        for person, hers in alone.items():
            rest = counts(one, gone=person)
            assert {b: rest.get(b, 0) + hers.get(b, 0) for b in whole} == whole, person
            assert rest.keys() <= whole.keys()
            assert apart(whole, rest) <= claim(Adjacency.ADD_REMOVE) == 1
            met += sum(hers.values())
        assert sum(whole.values()) == sum(sum(hers.values()) for hers in alone.values())
    assert met or not one.bench.people


def test_replaced_she_leaves_one_bucket_and_enters_one() -> None:
    """Under replace neighbours are at most the claim apart, and somewhere just so much."""
    most = 0
    for seed in FEW:
        for one in asked(seed):
            lists = max((len(other) for other in one.bench.world.others.values()), default=0)
            whole = counts(one)
            for person in one.bench.people:
                for k in range(1, 1 + lists):
                    most = max(most, apart(whole, counts(one, gone=person, other=k)))
    assert most == claim(Adjacency.REPLACE) == 2


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bucket_holds_what_its_name_says(seed: int) -> None:
    """Alone, a person with n rows or sizes that add up to s lies where 2^(k-1) < n <= 2^k."""
    for one in asked(seed):
        for person in one.bench.people:
            (bucket,) = counts(one, only=person) or (None,)
            if bucket is None:
                continue
            inner = histogram_sql(one.of).split("AS b FROM (", 1)[1].rsplit(") AS p", 1)[0]
            ((_, size),) = one.bench.show(only=person).execute(inner).fetchall()
            assert bucket == (0 if size <= 1 else (int(size) - 1).bit_length())


# the choice


def placed(sizes: list[int], buckets: int = 22) -> list[int]:
    found = [0] * buckets
    for size in sizes:
        found[min(buckets - 1, (size - 1).bit_length())] += 1
    return found


def error(sizes: list[int], bound: int, noise: Fraction, alone: bool = False) -> Fraction:
    """Noise and loss together, as an answer over all rows has them."""
    kept = 0 if alone and bound == 1 else bound
    return noise * bound + sum(size - kept for size in sizes if size > bound)


def least(sizes: list[int], noise: Fraction) -> Fraction:
    return min(error(sizes, bound, noise, alone=True) for bound in {1, 2, *sizes})  # it is linear in between


@settings(max_examples=300)
@given(
    st.lists(st.integers(1, 1 << 20), min_size=1, max_size=60),
    st.fractions(Fraction(1, 1000), Fraction(1000)),
)
def test_the_chosen_bound_is_at_most_eight_times_as_bad_as_the_best(sizes: list[int], noise: Fraction) -> None:
    bound = choose(placed(sizes), noise, alone=True)
    assert bound is not None
    assert error(sizes, bound, noise, alone=True) <= 8 * least(sizes, noise)


SHAPES = {
    "one row each": [1] * 3000,
    "all the same": [20] * 3000,
    "uniform": [1 + i % 50 for i in range(3000)],
    "geometric": [1 + (random.Random(i).getrandbits(40) | 1 << 40).bit_count() % 7 * 3 for i in range(3000)],
    "heavy": [max(1, 3000 // (i + 1)) for i in range(3000)],
    "two kinds": [2] * 2950 + [400] * 50,
}


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "100"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_chosen_bound_is_near_the_best(shape: str, epsilon: str) -> None:
    """Without noise in the histogram: within a factor of two on distributions that tables have."""
    sizes, noise = SHAPES[shape], 1 / Fraction(epsilon)
    bound = choose(placed(sizes), noise, alone=True)
    assert bound is not None
    assert error(sizes, bound, noise, alone=True) <= 2 * least(sizes, noise)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_chosen_bound_is_near_the_best_with_noise(shape: str) -> None:
    """Numbers drawn by the law itself at epsilon 1: within a factor of four, but for two draws in twenty."""
    sizes, bad = SHAPES[shape], 0
    for _ in range(20):
        empty = Persons((), Fraction(1), Adjacency.ADD_REMOVE, alone=True)
        noisy = tuple(int(n) for n in empty.law.release(placed(sizes)))
        bound = Persons(noisy, Fraction(1), Adjacency.ADD_REMOVE, alone=True).best()
        assert bound is not None
        bad += error(sizes, bound, Fraction(1), alone=True) > 4 * least(sizes, Fraction(1))
    assert bad <= 8


@given(st.lists(st.integers(-60, 60), min_size=22, max_size=22))
def test_noise_alone_decides_nothing(noise: list[int]) -> None:
    """Numbers as noise may have made them, of either sign, move nothing: as if those buckets were empty."""
    crowd = [5000 + noise[0], 5000 + noise[1], 5000 + noise[2], *noise[3:]]
    seen = Persons(tuple(crowd), Fraction(1, 10), Adjacency.ADD_REMOVE, alone=True)
    assert seen.seen[3:] == (0,) * 19
    assert seen.best() == 4
    assert Persons(tuple(noise), Fraction(1, 10), Adjacency.ADD_REMOVE, alone=True).best() is None


def test_what_is_lost_is_what_lies_beyond() -> None:
    persons = Persons((0, 0, 0, 0, 1000), Fraction(1), Adjacency.ADD_REMOVE, alone=True)
    assert middle(4) == Fraction(9 + 16, 2)
    assert persons.lost(Fraction(10)) == (middle(4) - 10) / middle(4)
    assert persons.lost(Fraction(16)) == 0
    assert Persons((0, 0), Fraction(1), Adjacency.ADD_REMOVE, alone=True).lost(Fraction(1)) is None


def test_with_a_bound_of_one_who_has_more_is_left_out() -> None:
    """Rows: a hundred persons of two rows would be lost with both; sums: with one step each."""
    crowd = [10_000, 100, 0, 0]
    assert choose(crowd, Fraction(150), alone=True) == 2
    assert choose(crowd, Fraction(150), alone=False) == 1
