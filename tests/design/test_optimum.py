"""The best private mechanism: private in whole numbers, and proved to be the best, whatever the search did."""

import json
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from mpmath import mp
from scipy.optimize import linprog

from sfumato.design import certificate, dominance, line, optimum, program, repair, symmetry
from sfumato.design.channels import channel
from sfumato.design.metrics import grid
from sfumato.design.optimum import optimal
from sfumato.design.problem import BITS, problem_of
from sfumato.design.utilities import utility
from sfumato.errors import ClaimError, InputError
from sfumato.reals import round_up, sqrt

LINE = [[abs(x - y) for y in range(6)] for x in range(6)]
RING = [[min((x - y) % 6, (y - x) % 6) for y in range(6)] for x in range(6)]
UNEVEN = [Fraction(w, 96) for w in (14, 18, 15, 17, 13, 19)]
APART = (inf, inf)


def random_prior(count, seed):
    weights = np.random.default_rng(seed).integers(1, 1000, count)
    return [Fraction(int(w), int(weights.sum())) for w in weights]


def second_solver(problem):
    """The same program, all pairs, rows scaled, by HiGHS."""
    worth, distance, _ = problem.floats()
    outputs, places = worth.shape
    rows, right = [], np.zeros(0)
    for x in range(places):
        for y in range(places):
            if x != y and distance[x, y] < 300:
                for z in range(outputs):
                    row = np.zeros((outputs, places))
                    row[z, x], row[z, y] = np.exp(-distance[x, y] / 2), -np.exp(distance[x, y] / 2)
                    rows.append(row.ravel())
    right = np.zeros(len(rows))
    sums = np.tile(np.eye(places), outputs)
    found = linprog(
        -worth.ravel(), np.array(rows) if rows else None, right if rows else None, sums, np.ones(places), method="highs"
    )
    return -found.fun


PROBLEMS = {
    "a count, uniform": ("uniform", "identity", 1, "manhattan", {"inputs": range(7)}),
    "a count, distances": (random_prior(7, 1), "distance", "1/2", "manhattan", {}),
    "a grid": ("uniform", "loss", 1, "euclidean", {"inputs": grid(3)}),
    "a grid without symmetry": (random_prior(9, 2), "loss", 1, "euclidean", {"inputs": grid(3)}),
    "a circle": ("uniform", "identity", 1, [[min((x - y) % 5, (y - x) % 5) for y in range(5)] for x in range(5)], {}),
    "any two alike": (random_prior(5, 3), "identity", "ln 3", None, {}),
    "databases": ("uniform", "identity", 1, "hamming", {"inputs": [(a, b) for a in (0, 1) for b in (0, 1)]}),
    "fewer guesses": (random_prior(6, 4), "distance", 1, "manhattan", {"guesses": [0, 2, 5]}),
    "a prior with zeros": ([0, "1/2", 0, "1/2", 0], "distance", 1, "manhattan", {}),
    "two worlds": ("uniform", "identity", 1, [[0, 1, *APART], [1, 0, *APART], [*APART, 0, 2], [*APART, 2, 0]], {}),
    "a way apart": ("uniform", "identity", 1, [[0, 1, None], [1, 0, None], [None, None, 0]], {}),
    "no difference": (random_prior(4, 5), "identity", 1, [[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]], {}),
    "no metric": (random_prior(4, 6), "identity", 1, [[0, 1, 9, 1], [1, 0, 1, 9], [9, 1, 0, 1], [1, 9, 1, 0]], {}),
    "no metric and no difference": ("uniform", "identity", 1, [[0, 0, 1], [0, 0, 5], [1, 5, 0]], {}),
    "small epsilon": (random_prior(6, 7), "identity", "1/1000", "manhattan", {}),
    "large epsilon": (random_prior(6, 8), "distance", 12, "manhattan", {}),
    "any gain": (random_prior(4, 9), [[3, -1, 0, 0], [0, 2, -5, 1], [1, 1, 1, 1]], 1, "manhattan", {"guesses": "abc"}),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_bound_is_the_optimum_of_a_second_solver(name):
    prior, gain, epsilon, metric, options = PROBLEMS[name]
    best = optimal(prior, gain, epsilon, metric, **options)
    expected = second_solver(best.problem)
    assert float(best.utility) <= float(best.bound)
    assert float(best.gap) < 1e-9
    assert float(best.bound) == pytest.approx(expected, abs=2e-7)


@pytest.mark.parametrize("name", PROBLEMS)
def test_optima_are_private_in_whole_numbers(name):
    prior, gain, epsilon, metric, options = PROBLEMS[name]
    best = optimal(prior, gain, epsilon, metric, **options)
    for row in best.channel.matrix:
        assert sum(row) == 1
        assert min(row) >= 0
    mp.dps = 60
    epsilon = mp.log(3) if best.level.odds else fraction(best.level.times)
    for x, row in enumerate(best.channel.matrix):
        for y, other in enumerate(best.channel.matrix):
            distance = best.problem.apart[x][y]
            if x != y and distance is not None:
                apart = fraction(distance) if isinstance(distance, Fraction) else mp.sqrt(round(float(distance) ** 2))
                largest = mp.exp(epsilon * apart)
                assert all(fraction(p) <= largest * fraction(q) for p, q in zip(row, other, strict=True))


def fraction(number):
    return mp.mpf(number.numerator) / number.denominator


def test_the_matrix_has_the_epsilon_that_was_asked():
    for epsilon in (1, "1/3", "ln 2"):
        best = optimal("uniform", "loss", epsilon, "euclidean", inputs=grid(3))
        assert best.channel.epsilon("euclidean") <= round_up(best.level.epsilon)


def test_known_optima_of_grids():
    """Losses that were measured with three other solvers."""
    for width, loss in ((5, 1.2286773),):
        best = optimal("uniform", "loss", 1, "euclidean", inputs=grid(width))
        assert -float(best.utility) == pytest.approx(loss, abs=5e-8)
        assert float(best.gap) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize(("width", "loss"), [(7, 1.3946175), (9, 1.4939592), (11, 1.5606388)])
def test_known_optima_of_larger_grids(width, loss):
    best = optimal("uniform", "loss", 1, "euclidean", inputs=grid(width))
    assert -float(best.utility) == pytest.approx(loss, abs=5e-8)
    assert float(best.gap) < 1e-9


@pytest.mark.slow
def test_a_grid_without_symmetry():
    prior = np.random.default_rng(3).dirichlet(np.ones(81)).tolist()
    best = optimal(prior, "loss", 1, "euclidean", inputs=grid(9))
    assert -float(best.utility) == pytest.approx(1.3752930, abs=5e-8)
    assert float(best.gap) < 1e-8
    assert best.channel.approximate


def count_case(values, prior, gain, epsilon):
    best = optimal(prior, gain, epsilon, "manhattan", inputs=range(values))
    noise = utility(channel("truncated-geometric", range(values), epsilon=epsilon), prior, gain).gain
    assert float(noise) <= float(best.bound) + 1e-15
    assert float(best.utility) == pytest.approx(float(noise), abs=1e-9)
    assert float(best.gap) < 1e-9


@pytest.mark.parametrize("gain", ["identity", "distance"])
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_geometric_noise_is_the_optimum_of_a_count(gain, seed):
    count_case(20, "uniform" if seed is None else random_prior(20, seed), gain, "1/2")


@pytest.mark.slow
@pytest.mark.parametrize("gain", ["identity", "distance"])
@pytest.mark.parametrize("seed", [None, 1])
def test_geometric_noise_is_the_optimum_of_a_long_count(gain, seed):
    count_case(100, "uniform" if seed is None else random_prior(100, seed), gain, "1/2")


@pytest.mark.parametrize("prior", ["uniform", "binomial 1/2", "binomial 1/5", *[random_prior(9, s) for s in range(6)]])
def test_nine_values_at_epsilon_two(prior):
    """A simplex solver called a wrong answer optimal here, with rows for all pairs: coefficients up to e^16."""
    count_case(9, prior, "distance", 2)


# what a solver says is not believed


def test_a_solver_that_lies_is_found_out(monkeypatch):
    honest = optimum.maximise

    def lazy(found):
        point = honest(found)
        return optimum.InteriorPoint(
            np.full_like(point.columns, 1 / found.count.sum()), point.prices, 0.0, 1, point.rows
        )

    monkeypatch.setattr(optimum, "maximise", lazy)
    with pytest.raises(ClaimError, match="not proved to be near the best"):
        optimal(UNEVEN, "identity", 1, RING)

    def free(found):
        point = honest(found)
        return optimum.InteriorPoint(point.columns, np.zeros_like(point.prices), 0.0, 1, point.rows)

    monkeypatch.setattr(optimum, "maximise", free)
    with pytest.raises(ClaimError, match="not proved to be near the best"):
        optimal(UNEVEN, "identity", 1, RING)

    def greedy(found):
        point = honest(found)
        columns = found.whole(found.worth)[found.group.chosen] > 0
        return optimum.InteriorPoint(columns.astype(float), point.prices, 0.0, 1, point.rows)

    monkeypatch.setattr(optimum, "maximise", greedy)
    repaired = optimal(UNEVEN, "identity", 1, RING, tolerance=1)  # the identity itself is not private at all
    assert repaired.channel.epsilon(RING) <= 1


def test_a_repair_that_does_nothing_is_found_out(monkeypatch):
    def careless(columns, whole, decay, best):
        cells = np.array([[int(v * 2**100) << 28 for v in row] for row in columns.tolist()], dtype=object)
        matrix = whole(cells)
        matrix[best] += (1 << repair.WIDE) - matrix.sum(axis=0)
        return matrix

    def rounded(found):
        point = honest(found)
        return optimum.InteriorPoint(np.round(point.columns, 3), point.prices, point.gap, 1, point.rows)

    honest = optimum.maximise
    monkeypatch.setattr(optimum, "maximise", rounded)
    optimal(UNEVEN, "identity", 1, RING, tolerance="1/10")
    monkeypatch.setattr(optimum, "repaired", careless)
    with pytest.raises(ClaimError, match="not 1 d-private"):
        optimal(UNEVEN, "identity", 1, RING, tolerance="1/10")


def test_the_repair_makes_any_matrix_private():
    chance = np.random.default_rng(11)
    for size in (2, 3, 5):
        for scale in (0.01, 1.0, 20.0):
            points = chance.integers(0, 40, (size, 2)).tolist()
            problem = problem_of("uniform", "identity", scale, "euclidean", inputs=[tuple(p) for p in points])
            decay = np.array([[high for _, high in row] for row in problem.decays], dtype=object)
            found = repair.repaired(chance.dirichlet(np.ones(4), size).T, lambda c: c.copy(), decay, 0)
            rows = [[Fraction(int(p), 1 << repair.WIDE) for p in column] for column in found.T]
            certificate.check(rows, scale, "euclidean", problem.inputs)


def test_the_check_finds_the_smallest_breach():
    third = [["3/5", "1/5", "1/5"], ["1/5", "3/5", "1/5"], ["1/5", "1/5", "3/5"]]
    certificate.check(third, "ln 3")
    rows = [[Fraction(p) for p in row] for row in third]
    rows[0][0] += Fraction(1, 10**60)
    rows[0][2] -= Fraction(1, 10**60)
    with pytest.raises(ClaimError, match="not ln 3 d-private"):
        certificate.check(rows, "ln 3")
    best = optimal("uniform", "identity", 1, "manhattan", inputs=range(5))
    rows = [list(row) for row in best.channel.matrix]
    certificate.check(rows, 1, "manhattan")
    step = Fraction(1, 10**6)
    rows[0][0], rows[0][4] = rows[0][0] + step, rows[0][4] - step
    with pytest.raises(ClaimError, match="not 1 d-private"):
        certificate.check(rows, 1, "manhattan")
    rows[0][0] -= step
    with pytest.raises(ClaimError, match="no mechanism"):
        certificate.check(rows, 1, "manhattan")
    with pytest.raises(ClaimError, match="no mechanism"):
        certificate.check([[2, -1], [1, 0]], 1)


def test_the_check_rounds_against_the_mechanism():
    """A ratio that misses e^-1 by less than 2^-160 is a breach."""
    mp.dps = 80
    below = Fraction(int(mp.floor(mp.exp(-1) * mp.mpf(2) ** BITS)), 1 << BITS)
    for ratio, private in ((below, False), (below + Fraction(4, 1 << BITS), True)):
        rows = [[Fraction(1, 10), Fraction(9, 10)], [ratio / 10, 1 - ratio / 10]]
        if private:
            certificate.check(rows, 1)
        else:
            with pytest.raises(ClaimError, match="not 1 d-private"):
                certificate.check(rows, 1)


def test_the_bound_is_rounded_up():
    nothing = certificate.Prices(np.empty(0, dtype=int), np.empty(0, dtype=int), np.empty(0, dtype=object))
    thirds = problem_of("uniform", [[1, 1, 1]], 1, None, inputs=range(3), guesses=["a"])
    assert 1 <= certificate.bound_utility(thirds, [nothing]) < 1 + Fraction(1, 1 << 150)
    mp.dps = 120
    roots = problem_of("uniform", [[sqrt(2), sqrt(2)]], 1, None, inputs=range(2), guesses=["a"])
    assert fraction(certificate.bound_utility(roots, [nothing])) >= mp.sqrt(2)
    halves = problem_of("uniform", [[0, 0]], 1, None, inputs=range(2), guesses=["a"])
    price = 1 << (BITS + 60)
    paid = certificate.Prices(np.array([0]), np.array([1]), np.array([price], dtype=object))
    assert fraction(certificate.bound_utility(halves, [paid])) >= mp.mpf(2) ** 60 * (1 - mp.exp(-1))


def test_the_check_agrees_with_the_exact_epsilon():
    from sfumato.mechanisms import Channel

    chance = np.random.default_rng(5)
    for _ in range(10):
        rows = [[Fraction(int(w), int(row.sum())) for w in row] for row in chance.integers(1, 50, (4, 3))]
        level = Channel(rows).epsilon("manhattan")
        certificate.check(rows, level, "manhattan")
        with pytest.raises(ClaimError):
            certificate.check(rows, level - Fraction(2, 10**15), "manhattan")


def test_any_prices_give_a_bound():
    chance = np.random.default_rng(6)
    problem = problem_of(random_prior(5, 9), "distance", 1, "manhattan")
    best = optimal(random_prior(5, 9), "distance", 1, "manhattan")
    pairs = [(x, y) for x in range(5) for y in range(5) if x != y]
    here, there = (np.array(ends) for ends in zip(*pairs, strict=True))
    for scale in (0.0, 0.001, 0.1):
        paid = [
            certificate.Prices(
                here, there, np.array([int(p * scale * 2**BITS) for p in chance.random(20)], dtype=object)
            )
            for _ in range(5)
        ]
        assert certificate.bound_utility(problem, paid) >= best.utility
    wrong = [certificate.Prices(here, there, np.array([-1] * 20, dtype=object))] * 5
    with pytest.raises(ClaimError, match="below 0"):
        certificate.bound_utility(problem, wrong)
    itself = [certificate.Prices(here, here, np.array([1] * 20, dtype=object))] * 5
    with pytest.raises(ClaimError, match="two different inputs"):
        certificate.bound_utility(problem, itself)


def test_a_certificate_is_a_document():
    best = optimal("uniform", "identity", "ln 2", "manhattan", inputs=range(4))
    written = json.loads(json.dumps(best.certificate))
    assert Fraction(written["utility"]) == best.utility
    assert Fraction(written["bound"]) == best.bound
    assert best.bound >= Fraction(1, 2) >= best.utility > Fraction(1, 2) - Fraction(1, 10**9)
    assert written["epsilon"] == "ln 2"
    other = optimal("uniform", "identity", "ln 3", "manhattan", inputs=range(4)).certificate
    assert other["matrix"] != written["matrix"]
    assert certificate.bound_utility(best.problem, best.prices) == best.bound


# what makes it fast changes nothing


def test_symmetries_are_found_and_change_nothing(monkeypatch):
    def group_of(problem):
        worth, distance, _ = problem.floats()
        return len(symmetry.symmetries(worth, distance).inputs)

    square = problem_of("uniform", "loss", 1, "euclidean", inputs=grid(4))
    assert group_of(square) == 8
    assert group_of(problem_of("uniform", "loss", 1, "euclidean", inputs=grid(4, 3))) == 4
    assert group_of(problem_of("uniform", "identity", 1, "manhattan", inputs=range(9))) == 2
    assert group_of(problem_of(random_prior(9, 1), "identity", 1, "manhattan", inputs=range(9))) == 1
    cube = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    assert group_of(problem_of("uniform", "identity", 1, "hamming", inputs=cube)) == 48
    shuffled = [grid(4)[i] for i in np.random.default_rng(2).permutation(16)]
    assert group_of(problem_of("uniform", "loss", 1, "euclidean", inputs=shuffled)) == 8
    mirrored = [Fraction(1 + x, 40) for _, x in grid(4)]
    assert group_of(problem_of(mirrored, "loss", 1, "euclidean", inputs=grid(4))) == 2
    with_it = optimal("uniform", "loss", 1, "euclidean", inputs=grid(4))

    def alone(worth, distance):
        found = symmetry.symmetries(worth, distance)
        every = np.arange(len(worth))
        return symmetry.Group(found.inputs[:1], every[None], found.back[:1], every)

    monkeypatch.setattr(program, "symmetries", alone)
    without = optimal("uniform", "loss", 1, "euclidean", inputs=grid(4))
    assert float(with_it.utility) == pytest.approx(float(without.utility), abs=1e-9)


def test_a_symmetry_that_is_none_is_found_out(monkeypatch):
    def wishful(worth, distance):
        turn = np.roll(np.arange(len(distance)), 1)
        members = [np.arange(len(distance))]
        while (members[-1][turn] != members[0]).any():
            members.append(members[-1][turn])
        moves = np.array(members)
        return symmetry.Group(moves, moves, np.argsort(moves, axis=1), np.array([0]))

    monkeypatch.setattr(program, "symmetries", wishful)
    with pytest.raises(ClaimError):
        optimal(UNEVEN, "identity", 1, RING)


def test_guesses_that_nobody_makes_are_left_out(monkeypatch):
    prior = random_prior(30, 4)
    problem = problem_of(prior, "identity", "1/2", "manhattan")
    worth, _, own = problem.floats()
    kept = np.unique(dominance.replace(worth, own).kept)
    noise = utility(channel("truncated-geometric", range(30), epsilon="1/2"), prior, "identity")
    assert set(kept.tolist()) == set(noise.remap.values())
    monkeypatch.setattr(optimum, "on_a_line", lambda *_: None)
    with_it = optimal(prior, "identity", "1/2", "manhattan")
    everything = dominance.Places(np.arange(30), [[] for _ in range(30)])
    monkeypatch.setattr(optimum, "replace", lambda *_: everything)
    without = optimal(prior, "identity", "1/2", "manhattan")
    assert float(with_it.utility) == pytest.approx(float(without.utility), abs=1e-9)
    broken = dominance.Places(np.zeros(30, dtype=np.intp), [[] for _ in range(30)])
    monkeypatch.setattr(optimum, "replace", lambda *_: broken)
    with pytest.raises(ClaimError):
        optimal(prior, "identity", "1/2", "manhattan")


def test_a_line_takes_the_short_way_and_comes_to_the_same(monkeypatch):
    chance = np.random.default_rng(8)
    for seed in range(6):
        places = np.cumsum(chance.integers(1, 9, 12)).tolist()
        shuffled = [places[i] for i in chance.permutation(12)]
        asked = (random_prior(12, seed), ("identity", "distance")[seed % 2], "1/3", "manhattan")
        problem = problem_of(*asked, inputs=shuffled)
        worth, distance, _ = problem.floats()
        columns, _ = line.on_a_line(worth, distance)
        assert columns.sum(axis=0) == pytest.approx(np.ones(12), abs=1e-12)
        short = optimal(*asked, inputs=shuffled)
        with monkeypatch.context() as patch:
            patch.setattr(optimum, "on_a_line", lambda *_: None)
            long = optimal(*asked, inputs=shuffled)
        assert float(short.utility) == pytest.approx(float(long.utility), abs=1e-9)


def test_what_is_no_line_goes_the_long_way():
    def tried(problem):
        worth, distance, _ = problem.floats()
        return line.on_a_line(worth, distance)

    assert tried(problem_of("uniform", "identity", 1, LINE)) is not None
    assert tried(problem_of("uniform", "identity", 1, RING)) is None
    assert tried(problem_of("uniform", "loss", 1, "euclidean", inputs=grid(3))) is None
    assert tried(problem_of("uniform", "identity", 1, [[0, inf], [inf, 0]])) is None
    whims = np.random.default_rng(0).integers(-5, 6, (6, 6)).tolist()  # gains that do not fall with the distance
    assert tried(problem_of("uniform", whims, 1, LINE)) is None
    one = optimal("uniform", [[1, 3, 2, 3, 1, 2]], 1, LINE, guesses=["a"])
    assert (one.utility, one.gap < Fraction(1, 10**40)) == (2, True)


def test_pairs_on_the_way_are_left_out():
    rows = program.rows_of(np.array(LINE, dtype=float))
    assert len(rows.here) == 6 + 2 * 5
    square = problem_of("uniform", "loss", 1, "euclidean", inputs=grid(5)).floats()[1]
    coprime = sum(
        np.gcd(abs(a - c), abs(b - d)) == 1 for a in range(5) for b in range(5) for c in range(5) for d in range(5)
    )
    assert len(program.rows_of(square).here) == 25 + coprime


# degenerate problems get an answer or one clear error


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-6", "1e-3", 20, 50, 1000])
@pytest.mark.parametrize("gain", ["identity", "distance"])
def test_badly_scaled_epsilons(epsilon, gain):
    prior = random_prior(8, 12)
    best = optimal(prior, gain, epsilon, "manhattan")
    noise = utility(channel("truncated-geometric", range(8), epsilon=epsilon), prior, gain).gain
    assert float(best.utility) == pytest.approx(float(noise), abs=1e-8)
    assert best.bound >= best.utility


def test_trivial_problems():
    assert optimal([1], "identity", 1).utility == 1
    assert optimal("uniform", [[1, 1, 1]] * 3, 1, inputs=range(3)).utility == 1
    assert optimal("uniform", "identity", 1, [[0, 0], [0, 0]]).utility == Fraction(1, 2)
    apart = optimal("uniform", "identity", 1, [[0, inf], [inf, 0]])
    assert float(apart.utility) == pytest.approx(1, abs=1e-12)
    certain = optimal([0, 1, 0], "distance", 1, "manhattan")
    assert certain.utility == 2
    assert certain.gap < Fraction(1, 10**40)


def test_inputs_that_almost_touch_and_inputs_far_away():
    points = [(0, 0), (0, "1e-9"), (3, 4), (1e4, 1e4)]
    best = optimal("uniform", "identity", 1, "euclidean", inputs=points)
    assert 0.74 < float(best.utility) < 0.75
    tiny = optimal("uniform", [["1e-30", 0], [0, "1e-30"]], 1, inputs=range(2))
    assert float(tiny.utility) == pytest.approx(1e-30 / (1 + np.exp(-1)), rel=1e-6)
    huge = optimal("uniform", [[10**20, -7], [0, 10**20]], 1, inputs=range(2))
    assert float(huge.utility) == pytest.approx(1e20 / (1 + np.exp(-1)), rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("uniform", "identity", 0, "manhattan"), {"inputs": range(3)}, "epsilon must be above 0"),
        (("uniform", "identity", float("nan"), "manhattan"), {"inputs": range(3)}, "epsilon must be a finite number"),
        (("uniform", "identity", 1, [[0, 1], [2, 0]]), {}, "a metric is symmetric"),
        (("uniform", "identity", 1, [[0, 1, inf], [1, 0, 1], [1, 1, 0]]), {}, "a metric is symmetric"),
        (("uniform", "identity", 1, [[0, -1], [-1, 0]]), {}, "at least 0"),
        (("uniform", "identity", 1, [[0, float("nan")], [float("nan"), 0]]), {}, "a finite number"),
        (("uniform", "identity", 1, [[1, 1], [1, 0]]), {}, "itself is 0"),
        (("uniform", "identity", 1, [[inf, 1], [1, 0]]), {}, "distance 0 from itself"),
        (([0.5, 0.6], "identity", 1, None), {}, "must add up to 1"),
        (([float("nan"), 1], "identity", 1, None), {}, "a finite number"),
        ((["3/2", "-1/2"], "identity", 1, None), {}, "at least 0"),
        (("uniform", [[1, inf], [0, 1]], 1, None), {}, "a finite number"),
        (("uniform", "identity", 1, None), {}, "how many inputs"),
        (("uniform", "identity", 1, None), {"inputs": []}, "at least one input"),
        (("uniform", "identity", 1, None), {"inputs": [1, 1]}, "no input twice"),
        (("uniform", "identity", 1, None), {"inputs": [1, 2], "guesses": []}, "at least one guess"),
        ((random_prior(7, 1), "identity", 1, "manhattan"), {"tolerance": "x"}, "tolerance"),
    ],
)
def test_bad_problems_get_one_clear_error(arguments, options, words):
    with pytest.raises(InputError, match=words):
        optimal(*arguments, **options)


def test_problems_beyond_memory_say_so(monkeypatch):
    with pytest.raises(InputError, match="too large"):
        optimal("uniform", [[1] * 2] * 401, 1, inputs=range(2), guesses=range(401))
    monkeypatch.setattr(optimum, "LARGEST", 100)
    with pytest.raises(InputError, match="too large"):
        optimal(random_prior(6, 1), "identity", 1, RING)
