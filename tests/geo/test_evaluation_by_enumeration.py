"""`geo evaluate` on grids so small that everything can be tried: strategies, sets of dummies, programs."""

from itertools import combinations, product
from math import comb, inf, log, sqrt

import numpy as np
import pytest
from scipy.optimize import linprog

from sfumato.geo import evaluation
from sfumato.geo.evaluation import BEST, CLOAKING, FOR_PRIOR, FOR_UNIFORM, FOR_UNIFORM_2, PLANAR, evaluate
from sfumato.geo.grid_channels import GridCells, calibrate_planar

GRIDS = [GridCells(3, 2), GridCells(2, 3), GridCells(5, 1)]
SIDE = 2


def apart(cells):
    places = [(i % cells.width, i // cells.width) for i in range(cells.count)]
    return [[sqrt((a - c) ** 2 + (b - d) ** 2) for c, d in places] for a, b in places]


def priors(cells):
    chance = np.random.default_rng(cells.count)
    sparse = chance.dirichlet(np.ones(cells.count))
    sparse[1] = 0
    return {
        "uniform": np.full(cells.count, 1 / cells.count),
        "random": chance.dirichlet(np.ones(cells.count)),
        "sparse": sparse / sparse.sum(),
        "sure": np.eye(cells.count)[0],
    }


@pytest.fixture(scope="module", params=GRIDS, ids=lambda cells: f"{cells.width}x{cells.height}")
def tried(request):
    """An evaluation, and the matrices that it scored."""
    seen = {}
    real = evaluation._scored

    def scored(prior, name, one, weights, cells):
        seen[prior, name] = one.table
        return real(prior, name, one, weights, cells)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation, "_scored", scored)
        done = evaluate(request.param, side=SIDE, priors=priors(request.param))
    return done, seen


def test_no_strategy_does_better_than_the_adversary_and_one_does_as_well(tried):
    """All functions from reports to guesses, one after another; reports that never happen are left out."""
    done, seen = tried
    distance = apart(done.cells)
    for (prior, name), table in seen.items():
        weights, row = priors(done.cells)[prior], done.row(prior, name)
        cells = range(done.cells.count)
        reports = [z for z in cells if any(weights[x] * table[x][z] > 0 for x in cells)]
        joint = {z: [weights[x] * table[x][z] for x in cells] for z in reports}
        far = {(z, g): sum(joint[z][x] * distance[x][g] for x in cells) for z in reports for g in cells}
        hit = {(z, g): joint[z][g] for z in reports for g in cells}
        error, sure = inf, 0.0
        for guesses in product(cells, repeat=len(reports)):
            pairs = list(zip(reports, guesses, strict=True))
            error, sure = min(error, sum(map(far.get, pairs))), max(sure, sum(map(hit.get, pairs)))
        assert row.adversary_error == pytest.approx(error, abs=1e-12), (prior, name)
        assert row.bayes_error == pytest.approx(1 - sure, abs=1e-12), (prior, name)
        lost = sum(weights[x] * table[x][z] * distance[x][z] for x in cells for z in cells)
        assert row.loss_here == pytest.approx(lost, abs=1e-12)


def test_mechanisms_are_what_their_names_say(tried):
    done, seen = tried
    cells, distance = done.cells, apart(done.cells)
    n = cells.count
    zones = seen["uniform", CLOAKING]
    for x in range(n):
        row, column = x // cells.width // SIDE * SIDE, x % cells.width // SIDE * SIDE
        middle = (row + min(row + SIDE, cells.height) - 1) // 2, (column + min(column + SIDE, cells.width) - 1) // 2
        assert zones[x].tolist() == np.eye(n)[middle[0] * cells.width + middle[1]].tolist()
    loss = sum(distance[x][int(zones[x].argmax())] for x in range(n)) / n
    assert done.loss == pytest.approx(loss, abs=1e-12)
    epsilon = calibrate_planar(cells, loss, np.full(n, 1 / n))
    assert float(done.row("uniform", PLANAR).epsilon) <= epsilon + 1e-6
    fine = np.arange(-int(600 / epsilon), int(600 / epsilon) + 1) / 15  # noise drawn finely, then the nearest cell
    east, north = np.meshgrid(fine, fine)
    mass = np.exp(-epsilon * np.hypot(east, north))
    for x in range(n):
        column = np.clip(np.rint(x % cells.width + east), 0, cells.width - 1)
        row = np.clip(np.rint(x // cells.width + north), 0, cells.height - 1)
        direct = np.bincount((row * cells.width + column).astype(int).ravel(), mass.ravel(), minlength=n) / mass.sum()
        assert seen["uniform", PLANAR][x] == pytest.approx(direct, abs=1e-9)
    for name in (PLANAR, BEST, FOR_UNIFORM, FOR_UNIFORM_2):
        assert done.row("uniform", name).loss == pytest.approx(loss, rel=2e-4)


def least_epsilon(table, cells, distance):
    """The least epsilon of a matrix, from every pair of cells and every report."""
    n = cells.count
    return max(log(table[x][z] / table[y][z]) / distance[x][y] for x, y, z in product(range(n), repeat=3) if x != y)


def test_certified_epsilons_are_the_least_ones(tried):
    done, seen = tried
    for (prior, name), table in seen.items():
        epsilon = done.row(prior, name).epsilon
        if (np.asarray(table) > 0).all():
            least = least_epsilon(table, done.cells, apart(done.cells))
            assert -1e-9 <= float(epsilon) - least <= 2e-6, (prior, name)
        if name == CLOAKING:
            assert epsilon is None
    assert done.row("uniform", PLANAR).epsilon is not None


def test_the_optimum_for_a_prior_hides_as_much_as_any_mechanism_can(tried):
    """The whole linear program without symmetries, with an unknown for each entry."""
    done, _ = tried
    n, distance = done.cells.count, np.array(apart(done.cells))
    for prior, weights in priors(done.cells).items():
        goal = np.concatenate([np.zeros(n * n), -np.ones(n)])
        rows, bounds = [], []
        for z, g in product(range(n), repeat=2):
            row = np.zeros(n * n + n)
            row[[x * n + z for x in range(n)]] = -weights * distance[:, g]
            row[n * n + z] = 1
            rows.append(row)
            bounds.append(0.0)
        rows.append(np.concatenate([(weights[:, None] * distance).ravel(), np.zeros(n)]))
        sums = np.hstack([np.kron(np.eye(n), np.ones(n)), np.zeros((n, n))])
        best = -linprog(goal, rows, [*bounds, done.loss], sums, np.ones(n), bounds=(0, None)).fun
        row = done.row(prior, FOR_PRIOR)
        assert row.adversary_error == pytest.approx(best, abs=1e-7)
        blind = min(float(weights @ distance[:, g]) for g in range(n))
        assert best == pytest.approx(min(done.loss, blind), abs=1e-7)
        assert row.loss <= done.loss + 1e-7


def test_no_mechanism_of_the_same_epsilon_loses_less_than_the_optimum(tried):
    """Every constraint between every two cells, none left out."""
    done, _ = tried
    n, distance = done.cells.count, np.array(apart(done.cells))
    row = done.row("uniform", BEST)
    rows = []
    for x, y, z in product(range(n), repeat=3):
        if x != y:
            one = np.zeros(n * n)
            one[x * n + z], one[y * n + z] = np.exp(-float(row.epsilon) * distance[x, y]), -1
            rows.append(one)
    sums = np.kron(np.eye(n), np.ones(n))
    least = linprog(distance.ravel() / n, rows, np.zeros(len(rows)), sums, np.ones(n), bounds=(0, None)).fun
    assert row.loss == pytest.approx(least, abs=1e-5)


def test_dummies_by_all_sets_of_them(tried):
    """Estimated from random reports there; here every set of dummies has its exact chance."""
    done, _ = tried
    n, distance = done.cells.count, apart(done.cells)
    k = min(SIDE * SIDE, n)
    far, luck = max(map(max, distance)), 6 / (2 * sqrt(evaluation._SAMPLES))  # six standard errors of a mean in [0, 1]
    for prior, weights in priors(done.cells).items():
        error = wrong = 0.0
        for members in combinations(range(n), k):
            joint = {x: weights[x] / comb(n - 1, k - 1) for x in members}
            error += min(sum(p * distance[x][g] for x, p in joint.items()) for g in range(n))
            wrong += sum(joint.values()) - max(joint.values())
        row = done.row(prior, f"{k} dummies")
        assert row.adversary_error == pytest.approx(error, abs=luck * far)
        assert row.bayes_error == pytest.approx(wrong, abs=luck)
