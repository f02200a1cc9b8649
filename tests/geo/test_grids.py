"""Finite grids: certified levels, the three definitions, and the lecture's comparison."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import integrate

from sfumato.design.certificate import check
from sfumato.design.level import Level
from sfumato.design.metrics import distances, grid
from sfumato.errors import ClaimError, InputError
from sfumato.geo import evaluation
from sfumato.geo.cell_priors import count_points, read_prior, shaped_priors
from sfumato.geo.definitions import check_definitions, worst_prior
from sfumato.geo.evaluation import (
    BEST,
    CLOAKING,
    FOR_PRIOR,
    FOR_UNIFORM,
    FOR_UNIFORM_2,
    PLANAR,
    PLANAR_HERE,
    evaluate,
    grid_optimum,
)
from sfumato.geo.grid_channels import (
    GridCells,
    adversary_error,
    as_fractions,
    bayes_error,
    calibrate_planar,
    certified,
    certified_rows,
    cloaking,
    expected_loss,
    fractions_of_logs,
    needed_epsilon,
    planar,
    planar_logs,
)
from sfumato.geo.shokri import INTERIOR, optimal_for_prior
from sfumato.mechanisms import Channel
from sfumato.reals import ln, sqrt

F = Fraction
SMALL = GridCells(4, 3)


def channel_of(cells, table):
    return Channel(as_fractions(table), grid(cells.width, cells.height))


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_certified_epsilon_is_the_least_one(epsilon):
    table = planar(SMALL, epsilon)
    level = certified(SMALL, table)
    assert float(level) <= epsilon + 1e-9
    points = grid(4, 3)
    apart = [list(row) for row in distances("euclidean", points)]
    check(as_fractions(table), Level(level), apart, points)
    with pytest.raises(ClaimError):
        check(as_fractions(table), Level(level - F(1, 10**8)), apart, points)
    assert certified(SMALL, cloaking(SMALL, 2)) is None
    assert certified(SMALL, np.full((12, 12), 1 / 12)) <= F(1, 10**6)


SHAPES = [(2, 1), (1, 2), (3, 1), (2, 2), (5, 7), (20, 1), (1, 30), (13, 3), (100, 2), (20, 20), (400, 1), (1, 400)]


@pytest.mark.parametrize(("width", "height"), SHAPES)
def test_planar_noise_is_certified_on_every_shape_of_grid(width, height):
    """Differences of sums near 1 had no digits left where a report is rare, and no epsilon holds for one that never
    comes. Every probability is above 0, though no float is, and what is needed is the noise's epsilon, nearly.
    """
    cells, farthest = GridCells(width, height), max(width, height) - 1
    for epsilon in (0.5, 2.2, 40.0):
        logs = planar_logs(cells, epsilon)
        assert np.isfinite(logs).all()
        assert logs.min() < -0.4 * epsilon * farthest
        needed = needed_epsilon(logs, cells.distance)
        assert needed <= epsilon * (1 + 1e-9)
        assert needed > 0.6 * epsilon or farthest < 2  # half a cell is nothing to pay for between distant ones
        if cells.count <= 60:
            rows = fractions_of_logs(logs)
            assert all(p > 0 for row in rows for p in row)
            assert all(sum(row) == 1 for row in rows)
            assert float(certified_rows(cells, rows)) == pytest.approx(needed, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height", "side"), [(14, 14, 2), (30, 1, 2), (100, 1, 2)])
def test_the_noise_of_a_comparison_is_certified(width, height, side):
    """At the loss that `evaluate` asks for, exactly: in whole numbers of hundreds of bits."""
    cells = GridCells(width, height)
    uniform = np.full(cells.count, 1 / cells.count)
    epsilon = calibrate_planar(cells, expected_loss(cloaking(cells, side), uniform, cells.distance), uniform)
    level = certified_rows(cells, fractions_of_logs(planar_logs(cells, epsilon)))
    assert 0.9 * epsilon < float(level) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize(("width", "height", "epsilon"), [(7, 1, 9.0), (3, 4, 2.0), (1, 6, 20.0), (5, 5, 14.0)])
def test_rare_reports_have_all_their_digits(width, height, epsilon):
    """Beside sums of the same points, one report at a time, by their definition: the nearest cell of each point."""
    cells, logs = GridCells(width, height), planar_logs(GridCells(width, height), epsilon)
    far = max(width, height) + 45 / epsilon
    fine = 15
    assert 2 * far * 16 < 3000  # the finest grid that is used
    offsets = np.arange(-int(far * fine) - fine, int(far * fine) + fine + 1)
    cell = np.floor_divide(offsets + fine // 2, fine)
    mass = np.exp(-epsilon * np.hypot(offsets[:, None], offsets[None, :]) / fine)
    for x, (column, row) in enumerate(cells.places.tolist()):
        columns, rows = (cell + column).clip(0, width - 1), (cell + row).clip(0, height - 1)
        for z, (i, j) in enumerate(cells.places.tolist()):
            exact = np.log(mass[np.ix_(rows == j, columns == i)].sum() / mass.sum())
            assert logs[x, z] == pytest.approx(exact, abs=1e-9)


def test_no_entry_becomes_0_as_a_fraction():
    """They were cut at 2^-64, and a report that was rarer refuted every epsilon."""
    rows = as_fractions(np.array([[1e-300, 0.25, 0.75], [0.5, 0.5, 0.0]]))
    assert rows[0][0] == pytest.approx(F(1e-300), rel=1e-15)
    assert [sum(row) for row in rows] == [1, 1]
    assert rows[1][2] == 0
    one = GridCells(2, 1)
    assert float(certified(one, np.array([[1 - 1e-30, 1e-30], [0.5, 0.5]]))) == pytest.approx(np.log(0.5e30))


def test_planar_cells_hold_the_mass_of_the_plane():
    """Against an independent integral over one cell, and over a corner that collects what falls outside."""
    table, epsilon = planar(GridCells(3, 3), 1.6), 1.6
    density = lambda y, x: epsilon**2 / (2 * np.pi) * np.exp(-epsilon * np.hypot(x, y))  # noqa: E731  one formula
    inside = integrate.dblquad(density, -0.5, 0.5, -0.5, 0.5)[0]
    corner = integrate.dblquad(density, 0.5, 30, 0.5, 30)[0]
    assert table[4, 4] == pytest.approx(inside, rel=5e-3)
    assert table[4, 0] == pytest.approx(corner, rel=5e-3)


@pytest.mark.parametrize("name", ["planar", "optimum", "cloaking", "response"])
def test_the_three_definitions_agree(name):
    """They hold together, and fail together where the prior is the worst one."""
    chance = np.random.default_rng(2)
    if name == "optimum":
        made, level = grid_optimum(SMALL, F(1)).channel, F(1)
    else:
        table = {"planar": planar(SMALL, 1.0), "cloaking": cloaking(SMALL, 2)}.get(name)
        if table is None:
            table = chance.dirichlet(np.ones(12) * 5, 12)
        made, level = channel_of(SMALL, table), certified(SMALL, table)
    random = [F(int(w), 1000) for w in chance.multinomial(1000 - 12, np.ones(12) / 12) + 1]
    pairs = [worst_prior(12, x, y) for x, y in product(range(12), repeat=2) if x != y]
    everywhere = ["uniform", random, *pairs]
    if level is not None:
        held = check_definitions(made, level, priors=everywhere)
        assert (held.distances, held.odds, held.knowledge) == (True, True, True)
    less = F(99, 100) * level if level is not None else F(5)
    failed = check_definitions(made, less, priors=everywhere)
    assert (failed.distances, failed.odds, failed.knowledge) == (False, False, False)
    if name == "planar":  # the third definition speaks of all priors: one alone does not refute it
        assert check_definitions(made, less, priors=["uniform"]).knowledge


@pytest.mark.parametrize("seed", range(12))
def test_the_three_definitions_agree_on_random_channels(seed):
    """On the default priors, however near epsilon is to that of the channel; zeros among the probabilities, too."""
    chance = np.random.default_rng(seed)
    cells = GridCells(int(chance.integers(1, 4)), int(chance.integers(2, 4)))
    count = len(cells.distance)
    weights = chance.integers(0 if seed % 4 == 0 else 1, 9, (count, int(chance.integers(2, 6))))
    weights[:, 0] += 1
    rows = [[F(int(w), int(row.sum())) for w in row] for row in weights]
    channel = Channel(rows, grid(cells.width, cells.height))
    pairs = [(x, y, z) for x in range(count) for y in range(count) for z in range(len(rows[0])) if x != y]
    ratios = [(rows[x][z] / rows[y][z], cells.distance[x, y]) for x, y, z in pairs if rows[y][z]]
    own = max(np.log(float(ratio)) / d for ratio, d in ratios if ratio)
    smooth = all(p for row in rows for p in row)
    for factor, holds in ((F(1, 2), False), (1 - F(1, 10**9), False), (1 + F(1, 10**9), smooth), (F(2), smooth)):
        held = check_definitions(channel, F(float(own)) * factor)
        assert (held.distances, held.odds, held.knowledge) == (holds, holds, holds)


@pytest.mark.parametrize("tiny", [F(1, 10**250), F(5e-324) * F(151, 100), F(5e-324) / 7, F(1, 10**4000)])
def test_the_three_definitions_agree_on_probabilities_that_no_float_has(tiny):
    """Ratios of numbers near 0 have no digits as floats: of these reports, one refutes and the others do not."""
    for ratio, other in ((F(26, 10), F(245, 100)), (F(21, 10), F(26, 10))):
        rows = [[ratio * tiny, other / 5], [tiny, F(1, 5)]]
        channel = Channel([[*row, 1 - sum(row)] for row in rows], [(0, 0), (1, 0)])
        held = [check_definitions(channel, level) for level in ("ln 2.5", "ln 2.7")]
        assert [(one.distances, one.odds, one.knowledge) for one in held] == [(False,) * 3, (True,) * 3]


@pytest.mark.parametrize("seed", range(6))
def test_definitions_decide_as_logarithms_do_however_far_places_are_apart(seed):
    """e^(-epsilon d) was enclosed with a fixed number of digits, and below the last one everything was denied that
    holds. Ratios of 2^k beside e^(epsilon d) are compared with k ln 2, as exact reals.
    """
    dice, answers = np.random.default_rng(seed), set()
    for _ in range(12):
        power = int(dice.integers(2, 2500))
        distance, near = int(dice.integers(1, 30_000)), int(dice.integers(-2, 3))
        least = F(1, 2 ** int(dice.integers(1, 2500)))
        epsilon = F(round(power * np.log(2) / distance * 10**12) + near, 10**12)
        slope = (0, 1)[int(dice.integers(2))]  # distances that are roots, too
        apart = sqrt(distance**2 + slope) if slope else F(distance)
        holds = (apart * epsilon - ln(F(2)) * power).sign() > 0
        small = min(least, F(1, 2)) / 2**power
        channel = Channel([[1 - small, small], [1 - small * 2**power, small * 2**power]], [(0, 0), (distance, slope)])
        held = check_definitions(channel, epsilon)
        assert (held.distances, held.odds, held.knowledge) == (holds,) * 3
        answers.add(holds)
    assert answers == {True, False}


def test_the_default_priors_refute_what_the_uniform_one_does_not():
    optimum = grid_optimum(GridCells(3, 3), 1).channel
    held = [check_definitions(optimum, epsilon) for epsilon in (1, "0.99")]
    assert [(one.distances, one.odds, one.knowledge) for one in held] == [(True,) * 3, (False,) * 3]
    assert check_definitions(optimum, "0.99", priors=["uniform"]).knowledge


def test_errors_of_adversaries_by_trying_every_guess():
    cells, chance = GridCells(3, 2), np.random.default_rng(3)
    table, prior = chance.dirichlet(np.ones(6), 6), chance.dirichlet(np.ones(6))
    error = sure = 0.0
    for z in range(6):
        joint = [prior[x] * table[x, z] for x in range(6)]
        error += min(sum(joint[x] * cells.distance[x, g] for x in range(6)) for g in range(6))
        sure += max(joint)
    assert adversary_error(table, prior, cells.distance) == pytest.approx(error)
    assert bayes_error(table, prior) == pytest.approx(1 - sure)


@pytest.fixture(scope="module")
def nine():
    return evaluate(GridCells(9, 9))


def test_the_lectures_comparison_on_nine_by_nine(nine):
    assert nine.loss == pytest.approx((4 + 4 * np.sqrt(2)) / 9)
    for prior in ("uniform", "blocks", "diagonal", "across zones", "inside zones"):
        rows = {row.mechanism: row for row in nine.rows if row.prior == prior}
        for name in (CLOAKING, FOR_UNIFORM, FOR_UNIFORM_2, PLANAR, BEST, FOR_PRIOR):
            assert rows[name].loss == pytest.approx(nine.loss, rel=2e-4), name
        assert rows[FOR_PRIOR].adversary_error == pytest.approx(nine.loss, rel=1e-6)
        assert 0 < rows["9 dummies"].bayes_error < 1
    for prior in ("blocks", "diagonal", "across zones"):
        ours = nine.row(prior, PLANAR).adversary_error
        assert nine.row(prior, CLOAKING).adversary_error < ours
        assert max(nine.row(prior, name).adversary_error for name in (FOR_UNIFORM, FOR_UNIFORM_2)) < ours
        assert ours < nine.row(prior, FOR_PRIOR).adversary_error
    assert float(nine.row("uniform", PLANAR).epsilon) == pytest.approx(1.615, abs=2e-3)
    assert float(nine.row("uniform", BEST).epsilon) == pytest.approx(1.362, abs=2e-3)
    assert nine.row("uniform", CLOAKING).epsilon is None


def test_the_comparison_says_where_the_ordering_fails(nine):
    assert nine.row("inside zones", CLOAKING).adversary_error > nine.row("inside zones", PLANAR).adversary_error
    cloaked, spread = [line for line in nine.remarks if "does not hold" in line]
    assert cloaked.startswith("prior inside zones")
    assert "at loss 0.854, planar has error 0.575 at loss 0.889; better than planar noise of loss 0.854" in cloaked
    assert "at loss 2.774, planar has error 0.575 at loss 0.889; not better than planar noise of loss 2.774" in spread
    (unequal,) = [line for line in nine.remarks if "not at equal loss" in line]
    assert unequal.startswith("prior blocks")
    assert any("degenerate" in line for line in nine.remarks)


def test_what_is_compared_loses_the_same(nine):
    """Under the adversary's prior: the optimum and planar noise for it, and every row and the noise beside it."""
    for prior, weights in shaped_priors(nine.cells, 3).items():
        for name in (FOR_PRIOR, PLANAR_HERE):
            assert nine.row(prior, name).loss_here == pytest.approx(nine.loss, abs=2e-6), (prior, name)
        for row in nine.rows:
            if row.prior == prior and row.loss_here > 0:
                table = planar(nine.cells, calibrate_planar(nine.cells, row.loss_here, weights))
                assert expected_loss(table, weights, nine.cells.distance) == pytest.approx(row.loss_here, abs=2e-6)
                error = adversary_error(table, weights, nine.cells.distance)
                assert row.planar_error == pytest.approx(error, abs=1e-6)
    assert {row.loss_here for row in nine.rows if row.mechanism == CLOAKING} != {nine.loss}
    assert nine.row("uniform", "9 dummies").planar_error is None


def test_symmetry_does_not_change_the_optimum_for_a_prior():
    """With a prior without symmetries and nearly equal weights, the value is that of the symmetric program."""
    cells = GridCells(4, 4)
    uniform = np.full(16, 1 / 16)
    tilted = uniform + np.linspace(-1e-9, 1e-9, 16)
    for prior in (uniform, tilted / tilted.sum()):
        table = optimal_for_prior(cells, prior, 0.7, INTERIOR)
        assert expected_loss(table, prior, cells.distance) <= 0.7 + 1e-6
        assert adversary_error(table, prior, cells.distance) == pytest.approx(0.7, abs=1e-5)


def test_an_optimum_beats_planar_noise_of_its_level():
    made = grid_optimum(SMALL, F(1))
    uniform = np.full(12, 1 / 12)
    assert -float(made.utility) < expected_loss(planar(SMALL, 1.0), uniform, SMALL.distance)
    assert float(made.gap) < 1e-6


def test_priors_come_from_shapes_tables_and_points(tmp_path):
    nine = shaped_priors(GridCells(9, 9), 3)
    assert {name: int((p > 0).sum()) for name, p in nine.items()} == {
        "uniform": 81, "blocks": 18, "diagonal": 25, "across zones": 16, "inside zones": 16
    }  # fmt: skip
    file = tmp_path / "prior.csv"
    file.write_text("1,0,1,0\n2,2,2,2\n0,0,0,0\n")
    assert read_prior(file, SMALL)[4] == pytest.approx(0.2)
    file.write_text("1,0,1\n")
    with pytest.raises(InputError, match="not a prior for 4x3"):
        read_prior(file, SMALL)
    file.write_text("name\nx\n")
    with pytest.raises(InputError, match="neither"):
        read_prior(file, SMALL)
    counted = count_points(GridCells(2, 2), np.array([0.0, 0, 1, 1]), np.array([5.0, 6, 6, 6]))
    assert counted.tolist() == [0, 0.5, 0.25, 0.25]


def test_cells_of_points_are_square_on_the_ground():
    """A band of 60° north, twice as long in degrees as it is high, fills a square; a longer one a row of it."""
    lat = np.array([59.5, 59.5, 60.5, 60.5])
    square = count_points(GridCells(2, 2), lat, np.array([10.0, 12, 10, 12]))
    assert square.tolist() == [0.25] * 4
    row = count_points(GridCells(3, 3), np.array([60.0, 60, 60.1]), np.array([10.0, 12, 14]))
    assert row.tolist() == pytest.approx([0, 0, 0, 1 / 3, 1 / 3, 1 / 3, 0, 0, 0])


@pytest.mark.parametrize("turn", [0.0, 180.0, 181.3, -179.2])
def test_points_across_the_antimeridian_are_near(turn):
    """Turning the earth changes no share."""
    r = np.random.default_rng(3)
    lat, lon = r.uniform(-5, 5, 500), r.uniform(-10, 10, 500)
    turned = (lon + turn + 180) % 360 - 180
    assert count_points(GridCells(9, 9), lat, turned) == pytest.approx(
        count_points(GridCells(9, 9), lat, lon), abs=0.005
    )


def test_grids_are_parsed_or_refused():
    assert GridCells.parse("9x4") == GridCells(9, 4)
    for wrong in ("9", "axb", "0x3", "1x1", "100x100", "9x-1", "\u00b2x2", "9x", "x", "9x\u2460"):
        with pytest.raises(InputError):
            GridCells.parse(wrong)
    with pytest.raises(InputError, match="hide nothing"):
        evaluate(SMALL, side=1)
    with pytest.raises(InputError, match="wider than the grid"):
        planar(SMALL, 0.001)


def test_dummies_hide_nothing_from_those_who_know():
    """With a prior on one cell the adversary is never wrong; with all cells reported nothing is learned."""
    one = np.eye(12)[5]
    assert evaluation._dummies("one", one, SMALL, 4).adversary_error == 0
    uniform = np.full(12, 1 / 12)
    blind = float((SMALL.distance @ uniform).min())
    assert evaluation._dummies("all", uniform, SMALL, 12).adversary_error == pytest.approx(blind, rel=1e-2)
