"""Channels, posteriors, utilities, refinement: exact, and held against sums that are written out here."""

import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sfumato import design
from sfumato.design.compose import pairs, worst_pair
from sfumato.design.exact import dot, non_negative, solve
from sfumato.design.level import Level, as_level
from sfumato.errors import InputError
from sfumato.mechanisms import (
    Channel,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    RandomizedResponse,
    TruncatedGeometric,
    TruncatedLaplace,
)
from sfumato.reals import Real

F = Fraction
NOISY = {
    30: {30: "4/7", 40: "2/7", 50: "1/7"},
    40: {30: "1/4", 40: "1/2", 50: "1/4"},
    50: {30: "1/7", 40: "2/7", 50: "4/7"},
}
AGES, WEIGHTS = (30, 30, 40, 40, 50, 50), (60, 90, 90, 100, 60, 100)


def floats(channel):
    return [[float(p) for p in row] for row in channel.matrix]


def some_channel(chance, inputs, outputs):
    rows = []
    for _ in range(inputs):
        weights = [chance.choice((0, 0, 1, 2, 3)) for _ in range(outputs)]
        weights[chance.randrange(outputs)] += 1
        rows.append([F(w, sum(weights)) for w in weights])
    return Channel(rows)


def test_geometric_matrices_are_the_formula_of_the_lecture():
    a, n = F(1, 3), 6
    made = design.channel("truncated-geometric", range(n + 1), epsilon="ln 3")
    for y in range(n + 1):
        plain = {z: (1 - a) / (1 + a) * a ** abs(z - y) for z in range(1, n)}
        left = (1 - a) / (1 + a) * a**y / (1 - a)
        right = (1 - a) / (1 + a) * a ** (n - y) / (1 - a)
        assert made.matrix[y] == (left, *plain.values(), right)
    assert design.channel("geometric", range(n + 1), epsilon="ln 3").outputs == ("<=0", 1, 2, 3, 4, 5, ">=6")
    assert made.witness("manhattan")[3] == design.pairs(made, "manhattan")[0].epsilon
    assert design.pairs(made, "manhattan")[0].ratio == 3


def test_an_object_and_its_name_have_one_matrix():
    named = design.channel("truncated-geometric", range(5), epsilon="1/2", sensitivity=2)
    for made in (
        design.channel(TruncatedGeometric(2, "1/2", 0, 4), range(5)),
        design.channel(Geometric(2, "1/2"), range(5)),
        design.channel(Geometric(2, "1/2"), range(5), range(5)),
    ):
        assert floats(made) == pytest.approx(np.array(floats(named)), abs=1e-15)
    wide = design.channel(TruncatedGeometric(1, 1, 0, 3), [-2, 5])
    assert floats(wide) == pytest.approx(
        np.array(floats(design.channel("truncated-geometric", [-2, 5], range(4), epsilon=1)))
    )
    fine = design.channel(TruncatedLaplace(1, 1, "1/2", 0, 2), [0, 1, 2])
    assert fine.outputs == (0, F(1, 2), 1, F(3, 2), 2)
    again = design.channel("truncated-geometric", [0, 1, 2], epsilon=1, step="1/2")
    assert floats(fine) == pytest.approx(np.array(floats(again)))
    assert floats(design.channel(Laplace(1, 1, "1/2"), [0, 1, 2])) == pytest.approx(np.array(floats(again)))
    between = ["0.2", "0.9"]
    rounded = design.channel(Laplace(1, 1, "1/2"), between, [0, 2])
    assert floats(rounded) == pytest.approx(
        np.array(floats(design.channel(TruncatedLaplace(1, 1, "1/2", 0, 2), between)))
    )
    asked = design.channel(RandomizedResponse.telling_truth("3/4"), ["yes", "no"])
    assert (asked.matrix[0], asked.outputs) == ((F(3, 4), F(1, 4)), ("yes", "no"))
    assert asked.matrix == design.channel("randomized-response", ["yes", "no"], epsilon="ln 3").matrix
    chosen = design.channel(Exponential(1, "1/2"), [(0, 1, 2), (1, 1, 2)], ["a", "b", "c"])
    weights = [math.exp(score / 4) for score in (0, 1, 2)]
    assert floats(chosen)[0] == pytest.approx([w / sum(weights) for w in weights])
    assert float(chosen.epsilon()) <= 0.5
    assert all(abs(sum(row) - 1) < 1e-12 for row in floats(design.channel(Gaussian(1, 1), range(3), range(-2, 5))))


def test_tails_of_the_geometric_mechanism_are_one_column_and_lose_nothing():
    narrow = design.channel("geometric", range(4), epsilon="ln 2")
    wide = design.channel("truncated-geometric", range(4), range(-9, 14), epsilon="ln 2")
    assert design.refines(narrow, wide).holds
    assert design.refines(wide, narrow).holds
    for prior in ("uniform", "binomial 1/3"):
        for gain in ("identity", "distance"):
            assert design.utility(narrow, prior, gain).gain == design.utility(wide, prior, gain).gain
    assert list(design.posterior("uniform", narrow, "<=0").values()) == list(
        design.posterior("uniform", wide, -5).values()
    )


def test_the_noisy_ages_are_a_choice_with_epsilon_ln_4():
    ranks = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    given = design.channel(NOISY)
    assert given.matrix == design.channel("exponential", [30, 40, 50], epsilon="ln 4", metric=ranks).matrix
    assert design.pairs(given)[0].ratio == 4
    assert design.pairs(given, ranks)[0].ratio == F(16, 7)  # not 2, as the halving from value to value seems to say
    assert given.epsilon() == design.pairs(given)[0].epsilon
    assert 0 <= float(given.epsilon(ranks)) - math.log(16 / 7) < 1e-14


def test_tight_constraints_are_the_geometric_mechanism_on_a_line_and_may_not_exist():
    line = design.channel("truncated-geometric", range(5), epsilon="ln 2")
    assert design.channel("tight-constraints", range(5), epsilon="ln 2").matrix == line.matrix
    plane = design.channel("tight-constraints", design.grid(3), epsilon=1, metric="euclidean")
    assert plane.outputs == plane.inputs
    assert all(sum(row) == 1 for row in plane.matrix)
    assert float(plane.epsilon("euclidean")) == pytest.approx(1, abs=1e-13)
    star = [[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]]
    assert design.channel("tight-constraints", range(4), epsilon="ln 2", metric=star).matrix[0][0] == 0
    with pytest.raises(InputError, match="tight"):
        design.channel("tight-constraints", range(4), epsilon="ln 1.5", metric=star)


def test_floats_are_accepted_and_say_so():
    third = 1 / 3
    rough = design.channel([[third, third, third], [0.2, 0.3, 0.5]])
    assert rough.approximate
    assert sum(rough.matrix[0]) == 1
    assert design.channel(np.array([[0.5, 0.5], [0.25, 0.75]])).approximate
    assert not design.channel([["1/3", "2/3"]]).approximate
    coin = design.channel([["3/4", "1/4"], ["1/4", "3/4"]])
    assert design.utility(coin, [0.1, 0.9]).approximate
    assert design.belief([0.1, 0.9], coin, 0).approximate
    assert not design.utility(coin, ["0.1", "0.9"]).approximate
    with pytest.raises(InputError, match="add up to 1"):
        design.channel([[0.5, 0.4]])
    with pytest.raises(InputError, match="add up to 1"):
        design.channel([["1/3", "0.6666666666667"]])


def test_channels_one_after_another_and_side_by_side():
    first = design.channel(NOISY)
    old = design.deterministic(lambda z: "old" if z >= 50 else "young", first.outputs)
    both = design.cascade(first, old)
    assert both.outputs == ("young", "old")
    assert both.column("old") == (F(1, 7), F(1, 4), F(4, 7))
    assert both.epsilon() <= first.epsilon()
    chance = random.Random(2)
    for _ in range(20):
        one, other = some_channel(chance, 3, 4), some_channel(chance, 4, 3)
        worst = design.pairs(one)[0].ratio
        made = design.pairs(design.cascade(one, other))[0].ratio
        assert worst is None or (made is not None and made <= worst)
        two = some_channel(chance, 3, 2)
        for x, y in ((0, 1), (1, 0), (0, 2)):
            ratios = [c.ratio(x, y) for c in (one, two, design.parallel(one, two))]
            a, b, c = ((F(1) if r is None else r[1]) for r in ratios)
            assert c == (None if a is None or b is None else a * b)
    pair = design.parallel(first, first)
    assert pair.column((40, 50))[1] == F(1, 8)
    assert design.pairs(pair)[0].ratio == design.pairs(first)[0].ratio ** 2
    query = design.after(min, [(30, 40), (50, 40)], first)
    assert query.matrix == (first.matrix[0], first.matrix[1])
    smaller, groups = design.reduced(Channel([["1/4", "1/4", "1/2", 0], ["1/6", "1/6", "2/3", 0]]))
    assert (smaller.matrix, groups) == (((F(1, 2), F(1, 2)), (F(1, 3), F(2, 3))), [[0, 1], [2]])
    with pytest.raises(InputError):
        design.cascade(both, first)
    with pytest.raises(InputError):
        design.parallel(first, both, Channel([[1]]))


def test_sixteen_of_two_hundred_and_eighty_five():
    """Two noisy answers about six people, one of whom is ill: the lecture's tables, all chances as fractions."""
    noise = [design.channel(NOISY), design.channel(NOISY, None, None)]
    noise[1] = Channel(noise[1].matrix, (60, 90, 100), (60, 90, 100))
    answers = [design.told("min", AGES, noise[0], 40), design.told("min", WEIGHTS, noise[1], 100)]
    found = design.who(6, answers, having=1)
    after = [found.of(lambda world, i=i: world[i])[1] for i in range(6)]
    assert after == [F(16, 285), F(28, 285), F(49, 285), F(112, 285), F(16, 285), F(64, 285)]
    certain = design.who(6, [design.told("min", AGES, None, 40), design.told("min", WEIGHTS, None, 100)])
    assert [certain.of(lambda world, i=i: world[i])[1] for i in range(6)] == [0, 0, 0, 1, 0, F(1, 2)]


def test_a_belief_stays_within_its_bounds():
    chance = random.Random(11)
    for _ in range(60):
        made = some_channel(chance, 3, chance.randint(1, 4))
        weights = [chance.randint(1, 5) for _ in range(3)]
        prior = [F(w, sum(weights)) for w in weights]
        for z in made.outputs:
            joint = [p * q for p, q in zip(prior, made.column(z), strict=True)]
            if not sum(joint):
                continue
            found = design.belief(prior, made, z, z) if chance.random() < 0.3 else design.belief(prior, made, z)
            if found.chance == sum(joint):
                assert list(found.posterior.values()) == [j / sum(joint) for j in joint]
            for x, p in found.posterior.items():
                assert found.low(x) <= p <= found.high(x)
                if found.ratio is not None:  # the slide's form, e^-eps <= posterior/prior <= e^eps, is weaker
                    assert found.prior[x] / found.ratio <= found.low(x)
                    assert found.high(x) <= found.prior[x] * found.ratio


def test_the_bounds_of_a_belief_are_reached():
    coin = design.channel("randomized-response", ["ill", "well"], epsilon="ln 3")
    found = design.belief({"ill": "1/10", "well": "9/10"}, coin, "ill")
    assert found.posterior["ill"] == found.high("ill") == F(1, 4)
    assert found.posterior["well"] == found.low("well") == F(3, 4)


def test_the_bayesian_reading_is_the_definition():
    """Lecture 6: if no posterior exceeds e^eps times its prior, for any prior, no ratio of a column exceeds e^eps."""
    chance = random.Random(5)
    for _ in range(30):
        made = some_channel(chance, 2, 3)
        ratio = design.belief("uniform", made, next(z for z in made.outputs if any(made.column(z)))).ratio
        worst = F(0)
        for part in (F(1, 2), F(1, 10**3), F(1, 10**9)):
            for prior in ((part, 1 - part), (1 - part, part)):
                for z in made.outputs:
                    if any(made.column(z)):
                        after = design.posterior(prior, made, z)
                        worst = max(worst, *(after[x] / prior[x] for x in made.inputs))
        if ratio is None:
            assert worst > 10**8
        else:
            assert ratio * (1 - F(1, 10**7)) < worst <= ratio


def test_no_remap_is_better_than_the_best():
    chance = random.Random(7)
    for _ in range(25):
        made = some_channel(chance, 3, 3)
        weights = [chance.randint(0, 4) + (i == 0) for i in range(3)]
        prior = [F(w, sum(weights)) for w in weights]
        table = [[F(chance.randint(-3, 3)) for _ in range(3)] for _ in range(3)]
        found = design.utility(made, prior, table)
        worth = [
            sum(prior[x] * made.matrix[x][z] * table[guess[z]][x] for x in range(3) for z in range(3))
            for guess in product(range(3), repeat=3)
        ]
        assert found.gain == max(worth)
        assert found.gain == sum(
            prior[x] * made.matrix[x][z] * table[found.remap[z]][x] for x in range(3) for z in range(3)
        )
        assert found.without == max(sum(prior[x] * table[w][x] for x in range(3)) for w in range(3))
        assert found.additive == found.gain - found.without


@pytest.mark.parametrize("n", [1, 4, 9])
def test_utility_of_the_geometric_mechanism_has_its_closed_form(n):
    """Exercises 4 and 5 of lecture 7: n + 1 answers, all alike; the best guess is told by nobody but by the sums."""
    for odds in (2, 3, F(3, 2)):
        a = 1 / F(odds)
        for name in ("geometric", "truncated-geometric"):
            made = design.channel(name, range(n + 1), epsilon=f"ln {odds}")
            assert design.utility(made).gain == ((n - 1) * (1 - a) + 2) / ((1 + a) * (n + 1))
        made = design.channel("truncated-geometric", range(n + 1), epsilon=f"ln {odds}")
        best = sum(
            max(sum(made.matrix[y][z] * (n - abs(w - y)) for y in range(n + 1)) for w in range(n + 1))
            for z in range(n + 1)
        )
        assert design.utility(made, "uniform", "distance").gain == best / (n + 1)
        real = design.channel(
            "truncated-geometric", range(n + 1), epsilon=f"{float(as_level(f'ln {odds}').below()):.17g}"
        )
        assert float(design.utility(real, "uniform", "distance").gain) == pytest.approx(float(best / (n + 1)))
        plain = design.expected_gain(made, "uniform", "distance")
        assert plain <= best / (n + 1)


def test_a_prior_may_make_the_answer_worthless():
    made = design.channel("truncated-geometric", range(3), epsilon="ln 2")
    found = design.utility(made, ["98/100", "1/100", "1/100"])
    assert found.remap == {0: 0, 1: 0, 2: 0}
    assert (found.additive, found.multiplicative) == (0, 1)


def test_mechanisms_are_compared_at_one_epsilon_and_along_a_curve():
    inputs = range(4)
    words = ("truncated-geometric", "randomized-response", "exponential")
    table = design.compare({w: design.channel(w, inputs, epsilon="ln 2") for w in words}, metric="manhattan")
    assert table["truncated-geometric"][1].gain > table["randomized-response"][1].gain
    assert all(epsilon <= F(69315, 10**5) for epsilon, _ in table.values())
    line = design.curve("truncated-geometric", inputs, [F(1, 2), 1, 2])
    assert [float(u) for _, u in line] == sorted(float(u) for _, u in line)


def test_a_system_has_a_solution_or_a_reason_why_not():
    chance = random.Random(1)
    kinds = set()
    for _ in range(200):
        rows, columns = chance.randint(1, 4), chance.randint(1, 5)
        matrix = [[F(chance.randint(-3, 3)) for _ in range(columns)] for _ in range(rows)]
        right = [F(chance.randint(-4, 4)) for _ in range(rows)]
        x, y = non_negative(matrix, right)
        kinds.add(x is None)
        if x is not None:
            assert y is None
            assert min(x) >= 0
            assert [dot(row, x) for row in matrix] == right
        else:
            assert dot(y, right) > 0
            assert max(dot(y, column) for column in zip(*matrix, strict=True)) <= 0
    assert kinds == {True, False}
    assert solve([[F(1), F(2)], [F(2), F(4)]], [F(1), F(1)]) is None
    assert solve([[F(0), F(2)], [F(3), F(4)]], [F(1), F(1)]) == [F(-1, 3), F(1, 2)]


def test_a_post_processing_is_found_again():
    chance = random.Random(3)
    for _ in range(40):
        made = some_channel(chance, chance.randint(2, 4), chance.randint(1, 6))
        second = design.cascade(made, some_channel(chance, len(made.outputs), chance.randint(1, 4)))
        verdict = design.refines(made, second)
        assert verdict.holds
        assert design.cascade(made, verdict.factor).matrix == second.matrix
    fine, coarse = (design.channel("truncated-geometric", range(8), epsilon=f"ln {q}") for q in (3, 2))
    assert design.refines(fine, coarse).holds
    assert not design.refines(coarse, fine).holds


def test_what_is_no_post_processing_has_a_gain_that_says_so():
    chance = random.Random(4)
    refused = 0
    for _ in range(60):
        size = chance.randint(2, 4)
        first, second = (some_channel(chance, size, chance.randint(1, 5)) for _ in range(2))
        verdict = design.refines(first, second)
        if verdict.holds:
            continue
        refused += 1
        outputs = range(len(verdict.gain))
        worth = [
            sum(
                max(sum(row[z] * verdict.gain[w][x] for x, row in enumerate(made.matrix)) for w in outputs)
                for z in made.outputs
            )
            for made in (first, second)
        ]
        assert worth[0] < worth[1]
        assert verdict.utilities == (worth[0] / size, worth[1] / size)
    assert refused > 20
    with pytest.raises(InputError, match="fractions"):
        design.refines(*(design.channel("truncated-geometric", range(3), epsilon=e) for e in (1, 2)))


def test_laplace_densities_are_those_of_the_lecture():
    law = design.laplace(10, 1)
    assert law.peak == F(1, 20)
    for z in (-5, 0, 10, 20, 33):
        assert float(law.density(z, 10)) == pytest.approx(math.exp(-abs(z - 10) / 10) / 20)
        ratio = float(law.density(z, 10) / law.density(z, 20))
        assert ratio == pytest.approx(math.e if z <= 10 else 1 / math.e)
    assert float(law.density(15, 10) / law.density(15, 20)) == 1


def test_a_truncated_density_has_its_mass_in_atoms():
    law = design.laplace("1/10", "1/100", 0, 100)
    for y in (0, 30, 100):
        low, high = map(float, law.atoms(y))
        inside = sum(float(law.density(F(2 * i + 1, 4), y)) for i in range(200)) / 2
        assert low + high + inside == pytest.approx(1, abs=1e-3)
        assert float(law.cdf(50, y)) == pytest.approx(low + float(law.cdf(50, y) - law.cdf(0, y)))
    assert float(law.atoms(0)[0]) == 0.5
    assert law.density(0, 30) == law.density(100, 30) == law.density(101, 30) == 0
    cells = law.cells([0, 30, 100], range(0, 100, 10))
    assert float(cells.epsilon("manhattan")) <= 0.1 + 1e-14


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (lambda: design.channel("geometrical", range(3), epsilon=1), "not known"),
        (lambda: design.channel("geometric", range(3)), "epsilon"),
        (lambda: design.channel("geometric", epsilon=1), "inputs"),
        (lambda: design.channel("geometric", range(3), epsilon=0), "above 0"),
        (lambda: design.channel("geometric", range(3), epsilon="ln 1"), "above 0"),
        (lambda: design.channel("geometric", [0, F(1, 2)], epsilon=1), "multiples"),
        (lambda: design.channel("randomized-response", ["a"], epsilon=1), "two inputs"),
        (lambda: design.channel([[1, 0], [1]]), "matrix"),
        (lambda: design.channel(Gaussian(1, 1), range(3)), "outputs"),
        (lambda: design.channel(object(), range(3)), "has no channel"),
        (lambda: design.channel(Geometric, range(3)), "has no channel"),
        (lambda: design.channel("geometric", range(1000), epsilon=1), "20000 entries"),
        (lambda: design.channel("exponential", range(1000), epsilon=1), "20000 entries"),
        (lambda: design.channel("geometric", range(3), epsilon=10**6), "at most 20000"),
        (lambda: design.channel("geometric", range(4), epsilon="ln 1e4000"), "an exponent of at most 1000"),
        (lambda: design.channel("geometric", range(100), epsilon="ln 1e1000"), "at most 20000"),
        (lambda: design.channel(TruncatedGeometric(1, 1, 0, 2), range(3), range(5)), "by low and high"),
        (lambda: design.channel(Exponential(1, 1), range(3)), "lists of scores"),
        (lambda: design.channel("geometric", [], epsilon=1), "at least one input"),
        (lambda: design.channel("geometric", [1, 1], epsilon=1), "no name twice"),
        (lambda: design.channel(Laplace(1, 1, 2), [0, 4], [0, 3]), "multiples of 2"),
        (lambda: design.channel(Geometric(1, 1), [0, "1/2"]), "multiples of 1"),
        (lambda: design.posterior("uniform", design.channel(NOISY)), "observed output"),
        (lambda: design.posterior("uniform", design.channel(NOISY), 35), "not an output"),
        (lambda: design.posterior("flat", design.channel(NOISY), 30), "not known"),
        (lambda: design.posterior([1, 0], design.channel(NOISY), 30), "one probability"),
        (lambda: design.posterior({35: 1}, design.channel(NOISY), 30), "does not have"),
        (lambda: design.posterior([0, 1], Channel([[1, 0], [0, 1]]), 0), "impossible under this prior"),
        (lambda: design.who(2, [design.told("min", [1], None, 1)]), "each of the 2"),
        (lambda: design.laplace(1, 1, 2, 2), "below high"),
    ],
)
def test_what_cannot_be_made_is_one_clear_error(given, says):
    with pytest.raises(InputError, match=says):
        given()


def test_levels_are_parts_of_each_other_exactly_where_their_odds_are_powers_of_one_number():
    dice = random.Random(3)
    for _ in range(200):
        base = F(dice.randint(2, 30), dice.randint(1, 29))
        base = base if base > 1 else 1 / base if base < 1 else F(3, 2)
        a, b, times = dice.randint(1, 9), dice.randint(1, 9), F(dice.randint(1, 9), dice.randint(1, 9))
        assert Level(times, base**a).parts_of(Level(F(1), base**b)) == times * a / b
    assert as_level("ln 1e900").parts_of(as_level("ln 10")) == 900
    assert as_level("3").parts_of(as_level("2")) == F(3, 2)
    for one, two in (
        ("ln 2", "ln 3"),
        ("ln 4", "1"),
        ("1", "ln 4"),
        ("ln 12", "ln 18"),
        ("ln 6", "ln 2"),
        ("ln 3/2", "ln 9/2"),
    ):
        parts = as_level(one).parts_of(as_level(two))
        assert isinstance(parts, Real)
        assert float(parts) == pytest.approx(float(as_level(one).epsilon) / float(as_level(two).epsilon))


def test_levels_are_exact_where_they_can_be():
    assert as_level("ln 4").decay(F(3, 2)) == F(1, 8)
    assert as_level("1/3 ln 8").decay(2) == F(1, 4)
    assert isinstance(as_level("ln 2").decay(F(1, 2)), Real)
    assert float(as_level("ln 2").decay(F(1, 2))) == pytest.approx(2**-0.5)
    assert float(as_level("0.5").decay(design.distances("euclidean", [(0, 0), (1, 1)])[0][1])) == pytest.approx(
        math.exp(-0.5 * 2**0.5)
    )
    assert as_level("ln 2").below() <= F(math.log(2)) + F(1, 10**15)


def test_pictures_and_html():
    made = design.channel("truncated-geometric", range(4), epsilon=1)
    assert made._repr_html_().startswith("<svg")
    assert made.picture().count("<rect") == 17
    found = design.utility(made)
    assert "utility" in found._repr_html_()
    assert "<table" in design.belief("uniform", made, 0)._repr_html_()
    assert "<table" in design.swing("sum", 0, 2)._repr_html_()


@pytest.mark.parametrize("metric", [None, "manhattan"])
@pytest.mark.parametrize("name", ["geometric", "truncated-geometric", "randomized-response", "tight-constraints"])
def test_the_pair_that_needs_the_most_is_found_without_the_others(name, metric):
    """The same epsilon as the first of all pairs, in fractions and in powers of e."""
    for epsilon in ("ln 2", "1/3"):
        made = design.channel(name, range(7), epsilon=epsilon)
        worst, first = worst_pair(made, metric), pairs(made, metric)[0]
        assert worst.epsilon == first.epsilon
    never = design.channel("randomized-response", range(3), epsilon="ln 2")
    identity = type(never)([[1, 0], [0, 1]])
    assert worst_pair(identity).epsilon is None
    assert worst_pair(type(never)([[1]])) is None


MECHANISMS = ["geometric", "truncated-geometric", "randomized-response", "exponential", "tight-constraints"]


@pytest.mark.parametrize("epsilon", ["ln 3", "2/3"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_some_rows_are_those_of_the_matrix(name, epsilon):
    inputs = [0, 1, 2, 5, 7]
    whole = design.channel(name, inputs, epsilon=epsilon)
    for x in inputs:
        other = 7 if x != 7 else 1
        some = design.channel(name, inputs, epsilon=epsilon, rows=[x, other])
        assert (some.inputs, some.outputs) == ((x, other), whole.outputs)
        assert floats(some) == [floats(whole)[inputs.index(one)] for one in (x, other)]
    assert design.channel([["1/2", "1/2"], ["1/4", "3/4"]], rows=[1]).matrix == ((F(1, 4), F(3, 4)),)
    with pytest.raises(InputError, match="no input"):
        design.channel(name, inputs, epsilon=epsilon, rows=[3])


def test_a_row_of_a_channel_that_is_too_large_is_computed_alone():
    row = design.channel("exponential", range(3000), epsilon=2, rows=[4])
    assert len(row.matrix[0]) == 3000
    half = (1 + 2 * sum(math.exp(-k) for k in range(1, 60))) - sum(math.exp(-k) for k in range(5, 60))
    assert float(row.matrix[0][4]) == pytest.approx(1 / half)
    for name in MECHANISMS:
        with pytest.raises(InputError, match="3000 times 3000"):
            design.channel(name, range(3000), epsilon=2)


def test_tight_constraints_on_a_line_solve_the_equations():
    """Against linear algebra in fractions, on lines with gaps in any order; and what is near a line goes that way."""
    rng = random.Random(4)
    for _ in range(60):
        points = rng.sample(range(20), rng.randint(1, 7))
        odds = F(rng.randint(4, 18), rng.choice([2, 3]))
        apart = [[F(abs(x - z)) for z in points] for x in points]
        if len(points) > 2 and rng.random() < 0.3:  # no line any more, and perhaps nothing is tight
            apart[0][1] = apart[1][0] = apart[0][1] + 1
        decays = [[1 / odds**d for d in row] for row in apart]
        weights = solve(decays, [F(1)] * len(points))
        if weights is None or min(weights) < 0:
            with pytest.raises(InputError, match="tight"):
                design.channel("tight-constraints", points, epsilon=f"ln {odds}", metric=apart)
            continue
        made = design.channel("tight-constraints", points, epsilon=f"ln {odds}", metric=apart)
        assert made.matrix == tuple(tuple(v * w for v, w in zip(weights, row, strict=True)) for row in decays)


def test_tight_constraints_of_reals_are_the_mechanism_on_a_line_and_are_limited_elsewhere():
    line = design.channel("tight-constraints", range(6), epsilon="2/7")
    other = design.channel("truncated-geometric", range(6), epsilon="2/7")
    for row, same in zip(line.matrix, other.matrix, strict=True):
        assert all(abs(p - q) < F(1, 10**40) for p, q in zip(row, same, strict=True))
    assert line.epsilon("manhattan") == other.epsilon("manhattan")
    with pytest.raises(InputError, match="not on a line"):
        design.channel("tight-constraints", design.grid(8), epsilon=1, metric="euclidean")


def plain_utility(channel, before, table):
    """The sum over outputs of the best guess's expected gain, in floats of many digits or in fractions."""
    best = F(0)
    for column in zip(*channel.matrix, strict=True):
        exact = [q if not isinstance(q, Real) else F(q.enclose(300)[0], 1 << 300) for q in column]
        best += max(sum(p * g * q for p, g, q in zip(before, row, exact, strict=True)) for row in table)
    return best


@pytest.mark.parametrize("epsilon", ["ln 2", "1/3"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_utility_is_the_plain_sum(name, epsilon):
    """With priors that leave inputs out, and gains below 0; also for a remapping that is given."""
    rng = random.Random(f"{name} {epsilon}")
    made = design.channel(name, range(6), epsilon=epsilon)
    for _ in range(8):
        counts = [rng.choice([0, 1, 2, 7]) for _ in range(5)] + [1]
        before = [F(n, sum(counts)) for n in counts]
        table = [[F(rng.randint(-6, 6), rng.randint(1, 3)) for _ in range(6)] for _ in range(6)]
        found = design.utility(made, before, lambda w, x, table=table: table[w][x])
        plain = plain_utility(made, before, table)
        assert abs(found.gain - plain) < F(1, 10**70)
        assert isinstance(found.gain, Real) == (epsilon == "1/3" or name == "exponential")
        given = design.expected_gain(made, before, lambda w, x, table=table: table[w][x], found.remap)
        assert abs(given - found.gain) < F(1, 10**70)


def test_gains_that_are_roots_are_summed_as_well():
    plane = design.channel("exponential", design.grid(3), epsilon=1, metric="euclidean")
    found = design.utility(plane, "uniform", "loss", metric="euclidean")
    table = [[-math.dist(w, x) for x in plane.inputs] for w in plane.inputs]
    columns = list(zip(*floats(plane), strict=True))
    best = sum(max(sum(g * q for g, q in zip(row, column, strict=True)) for row in table) for column in columns) / 9
    assert float(found.gain) == pytest.approx(best, rel=1e-12)
