"""Intervals hold what they promise: over many draws of noise, the exact number is inside as often as was said.

Draws come from the stated law, exactly; a miss rate above the promised one by five standard errors fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from sfumato.algebra.aggregates import AGGREGATES, JOINTS
from sfumato.algebra.noise_sums import Draw, Linear, OneCell, Track, TrackSum, total
from sfumato.algebra.noise_widths import Interval, NoiseTerm
from sfumato.algebra.tree import DOUBLE, INTEGER, Aggregate, Call, Column, Constant, Facts, Node
from sfumato.gateway.interval_sources import Laws, sums_of
from sfumato.intervals import moments
from sfumato.intervals.cell_intervals import Number, ends, told
from sfumato.intervals.provenance import Leaf, Origin, PublicValue, ReleasedColumn, origin
from sfumato.intervals.sum_intervals import interval, together
from sfumato.mechanisms import Gaussian, Geometric
from sfumato.sql.release.bundles import BundleSource

F = Fraction
RUNS, SURE = 300, F(9, 10)
NUMBER = Facts(INTEGER, F(0), F(100), F(1))
X = Column("0.x", NUMBER)
COUNT = Facts(INTEGER, None, None, F(1), False)


HERE = Constant(0, Facts(INTEGER))


@dataclass
class Row:
    """One released row: exact sums, what was drawn beside them, and the noise of all."""

    laws: Laws
    exact: dict[tuple[int, int, int], Fraction]
    term: NoiseTerm
    noise: dict[tuple[int, int, int], int] = field(default_factory=dict)  # type: ignore[assignment]

    def value(self, leaf: Leaf, _: Sequence[Any]) -> Any:
        return leaf.value if isinstance(leaf, Constant) else None

    def released(self, name: str, row: int) -> Number | None:
        cut, aggregate, source, *_ = self.laws[name]
        return sums_of(cut, aggregate, source, row)

    def drawn(self, key: Draw) -> tuple[Fraction, NoiseTerm]:
        return self.exact[key[:3]] + self.noise.get(key[:3], 0), self.term

    def runs(self, _: int, __: int) -> bool:
        return False

    def told(self, node: Node, sure: Fraction) -> Interval:
        """The interval of an expression over the released columns."""
        source: Any = self
        of = origin(node, {name: ReleasedColumn(name, HERE) for name in self.laws})
        assert of is not None
        return ends(told(of, (), source), source, sure)


FORMULAS = {
    formula.name: formula
    for formula in (*(kind.formula for kind in AGGREGATES.values()), *(f for j in JOINTS for f in j.formulas.values()))
}


def known(*aggregates: tuple[str, str]) -> Any:
    return {
        f"r.{i}": (
            0,
            Aggregate(name, X, None, Facts(DOUBLE)),
            BundleSource(i if "of" not in formula else 0, FORMULAS[formula]),
        )
        for i, (name, formula) in enumerate(aggregates)
    }


def released(i: int) -> Column:
    return Column(f"r.{i}", COUNT)


def number(value: int | Fraction) -> Constant:
    return Constant(value, Facts(INTEGER, F(value), F(value), F(1), False))


def call(name: str, *args: Node, kind: str = DOUBLE) -> Call:
    return Call(name, args, Facts(kind, grid=F(1) if kind == INTEGER else None))


ROWS = [3, 20, 20, 47, 50, 51, 60, 88, 100] * 12
N, S = F(len(ROWS)), F(sum(ROWS))
THIRDS = tuple(F(sum(part(x) for x in ROWS)) for part in
               (lambda x: (100 - x) ** 2, lambda x: 2 * x * (100 - x), lambda x: x * x))  # fmt: skip
VARIANCE = sum((x - S / N) ** 2 for x in ROWS) / N
CASES: dict[str, tuple[Any, Node, dict[tuple[int, int, int], Fraction], Fraction, Fraction]] = {
    "a count": (known(("count", "count")), released(0), {(0, 0, 0): N}, N, F(5)),
    "a sum of two": (
        known(("count", "count"), ("sum", "sum")),
        call("+", released(0), call("*", number(3), released(1))),
        {(0, 0, 0): N, (0, 1, 0): S},
        N + 3 * S,
        F(5),
    ),
    "a ratio": (
        known(("sum", "sum"), ("count", "count")),
        call("/", released(0), released(1)),
        {(0, 0, 0): S, (0, 1, 0): N},
        S / N,
        F(3),
    ),
    "a percentage": (
        known(("count", "count"), ("count", "count")),
        call("/", call("*", number(100), released(0)), released(1)),
        {(0, 0, 0): F(30), (0, 1, 0): N},
        100 * F(30) / N,
        F(3),
    ),
    "a mean of ends": (
        known(("avg", "avg of ends")),
        released(0),
        {(0, 0, 0): S, (0, 0, 1): 100 * N - S},
        S / N,
        F(100),
    ),
    "a sum of thirds": (
        known(("sum", "sum of thirds")),
        released(0),
        dict(zip([(0, 0, 0), (0, 0, 1), (0, 0, 2)], THIRDS, strict=True)),
        S,
        F(3000),
    ),
    "a variance": (
        known(("var_pop", "var_pop of thirds")),
        released(0),
        dict(zip([(0, 0, 0), (0, 0, 1), (0, 0, 2)], THIRDS, strict=True)),
        VARIANCE,
        F(3000),
    ),
    "a rounded quotient": (
        known(("sum", "sum"), ("count", "count")),
        call("/", released(0), released(1), kind=INTEGER),
        {(0, 0, 0): S, (0, 1, 0): N},
        F(int(S / N)),
        F(3),
    ),
}


def noise(gaussian: bool, scale: Fraction) -> tuple[NoiseTerm, Callable[[int], Any]]:
    if gaussian:
        law = Gaussian(None, F(1, 2), squared=scale * scale)
        return NoiseTerm(scale * scale, F(1), True), lambda count: law.release([0] * count)
    pure = Geometric(1, 1 / scale)
    return NoiseTerm(scale, F(1)), lambda count: pure.release([0] * count)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_what_they_promise(name: str, gaussian: bool) -> None:
    laws, node, exact, truth, scale = CASES[name]
    term, draw = noise(gaussian, scale)
    misses = told_of = 0
    for _ in range(RUNS):
        row = Row(laws, exact, term, dict(zip(exact, map(int, draw(len(exact))), strict=True)))
        found = row.told(node, SURE)
        if found is None or found[0] is None or found[1] is None:
            continue
        told_of += 1
        misses += not found[0] <= truth <= found[1]
    assert told_of > RUNS * 0.9
    allowed = float(1 - SURE) * told_of
    assert misses <= allowed + 5 * (allowed * float(SURE)) ** 0.5


def test_intervals_are_not_generous() -> None:
    """One count: the exact law's smallest interval; a ratio's is not twice as wide as it must be."""
    laws, node, exact, truth, scale = CASES["a ratio"]
    term, draw = noise(False, scale)
    misses = 0
    for _ in range(RUNS):
        row = Row(laws, exact, term, dict(zip(exact, map(int, draw(len(exact))), strict=True)))
        found = row.told(node, F(1, 2))
        assert found is not None
        misses += not found[0] <= truth <= found[1]  # type: ignore[operator]
    assert misses > RUNS * 0.25


@pytest.mark.parametrize(
    "node",
    [
        call("%", released(0), released(1)),
        call("width_bucket", released(0), number(0), number(9), number(3)),
        call("case", call("like", released(0), number(3)), released(0), number(0)),
    ],
    ids=str,
)
def test_other_forms_have_no_interval(node: Node) -> None:
    known_columns: dict[str, Origin | None] = {f"r.{i}": ReleasedColumn(f"r.{i}", HERE) for i in (0, 1)}
    assert origin(node, known_columns) is None
    assert origin(call("+", node, released(0)), known_columns) is None
    assert origin(released(0), {"r.0": None}) is None
    assert isinstance(origin(Column("elsewhere", COUNT), known_columns), PublicValue)


def test_a_ratio_whose_divisor_may_be_zero_has_none() -> None:
    row: Any = Row({}, {(0, 0, 0): F(10), (0, 1, 0): F(2)}, NoiseTerm(F(5), F(1)))
    top, bottom = (Linear(frozenset([((0, i, 0, 0), F(1))])) for i in (0, 1))
    assert interval(top, bottom, row, SURE) is None
    assert interval(bottom, top, row, F(1, 2)) is not None


SUMS = known(("sum", "sum"), ("count", "count"))
SHARED: dict[str, tuple[Node, Node]] = {
    "twice": (call("+", released(0), released(0)), call("*", number(2), released(0))),
    "none": (call("-", call("+", released(0), released(1)), released(1)), released(0)),
    "ratios": (
        call("+", call("/", released(0), released(1)), call("/", released(1), released(1))),
        call("/", call("+", released(0), released(1)), released(1)),
    ),
    "either": (call("greatest", released(0), released(0)), released(0)),
}


@pytest.mark.parametrize("name", SHARED)
def test_a_draw_that_enters_twice_is_one_draw(name: str) -> None:
    """The interval is that of the expression with coefficients added, to the last digit."""
    row = Row(SUMS, {(0, 0, 0): S, (0, 1, 0): N}, NoiseTerm(F(9), F(1)))
    one, other = SHARED[name]
    assert row.told(one, SURE) == row.told(other, SURE)


def test_totals_and_their_own_draws_share_their_noise() -> None:
    """A total of twenty less three of them is a total of 17; two totals that overlap are added up draw by draw."""

    @dataclass
    class Rows:
        def drawn(self, key: Draw) -> tuple[Fraction, NoiseTerm]:
            return F(key[3]), NoiseTerm(F(4), F(1))

        def noise(self, pool: TrackSum) -> NoiseTerm:
            return NoiseTerm(F(4), F(1), draws=pool.end)

        def runs(self, _: int, __: int) -> bool:
            return False

    def track(rows: range) -> Track:
        totals = [sum(rows[: i + 1]) for i in range(len(rows))]
        return Track(0, 0, 0, tuple(rows), tuple(totals), F(1), {row: i for i, row in enumerate(rows)})

    def found(*weights: tuple[Any, int]) -> Interval:
        return interval(Linear(frozenset((key, F(w)) for key, w in weights)), Linear(frozenset(), F(1)), Rows(), SURE)

    many, few = track(range(20)), track(range(3, 20))
    draws = [(0, 0, 0, row) for row in range(3)]
    assert found((TrackSum(many, 20), 1), *((draw, -1) for draw in draws)) == found((TrackSum(few, 17), 1))
    assert found((TrackSum(many, 20), 1), (TrackSum(few, 17), -1)) == found(*((draw, 1) for draw in draws))
    assert found((TrackSum(many, 10), 1), (TrackSum(many, 9), -1)) == found(((0, 0, 0, 9), 1))


def test_intervals_of_several_numbers_hold_together() -> None:
    """Of two numbers each is told with half of the misses; the larger one has the larger ends."""
    row = Row(SUMS, {(0, 0, 0): S, (0, 1, 0): S}, NoiseTerm(F(9), F(1)), {(0, 0, 0): 5})
    both = [row.told(released(i), 1 - (1 - SURE) / 2) for i in (0, 1)]
    found = row.told(call("greatest", released(0), released(1)), SURE)
    assert found == tuple(max(ends) for ends in zip(*both, strict=True))  # type: ignore[arg-type, type-var]
    assert found != row.told(released(0), SURE)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("names", ["yy", "yx"])
def test_corners_hold_all_means(names: str, gaussian: bool) -> None:
    """Whatever the true means are in their box, the interval about them is within the hull of the corners."""
    draws: tuple[Draw, ...] = tuple((0, 0, part, 0) for part in range(9))
    pair = Aggregate("corr", X, None, Facts(DOUBLE), second=X)
    sums = [(100 - x) ** 2 * (100 - y) ** 2 for x in ROWS for y in (x // 2,)]
    row: Any = Row({}, {(0, 0, part): F(sum(sums)) / (part + 1) for part in range(9)}, noise(gaussian, F(10**6))[0])
    m, box = moments.of_two(pair, draws), ((F(20), F(31)), (F(40), F(55)) if names == "yx" else (F(20), F(31)))
    (hull,) = together([(moments._about(m, names, box, sure=SURE, bottom=m["00"]), OneCell(row))])
    assert hull is not None
    square, first, second = ("11", "01", "10") if names == "yx" else ("20", "10", "10")
    widths = []
    for i, j in product(range(5), repeat=2):
        a, b = (low + (high - low) * part / 4 for (low, high), part in zip(box, (i, j), strict=True))
        about = total((m[square], m[first].scaled(-a), m[second].scaled(-b), m["00"].scaled(a * b)))
        inner = interval(about, m["00"], row, SURE, chernoff=True)
        assert inner is not None
        widths.append(inner)
        assert hull[0] - F(1, 1000) <= inner[0] <= inner[1] <= hull[1] + F(1, 1000)  # type: ignore[operator]
    assert any(inner[0] > hull[0] + 1 for inner in widths)  # type: ignore[operator]
