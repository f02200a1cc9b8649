"""The playground's numbers are the product's own, at every corner of its sliders, and its Python gives the same."""

import math
from fractions import Fraction
from itertools import product

import pytest

from sfumato.accounting import Pure, epsilon_of_rho, optimal, price
from sfumato.design.optimum import optimal as best_mechanism
from sfumato.errors import InputError
from sfumato.mechanisms import Geometric
from sfumato.server.http.playground import PAGES, play


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_drawn_at_every_corner_and_its_python_runs(name):
    page = PAGES[name]
    ends = [
        (low, high if high not in page.numbers else low, otherwise) for low, high, otherwise in page.numbers.values()
    ]
    for values in product(*map(dict.fromkeys, ends)):
        given = dict(zip(page.numbers, values, strict=True))
        if Fraction(given.get("seen", "0")) > Fraction(given.get("n", "0")):
            continue  # it follows n: below
        found = play(name, given)
        assert found["svg"].startswith("<svg")
        assert "<style" not in found["svg"]
        assert all(Fraction(found["numbers"][word]) == Fraction(value) for word, value in given.items())
        *imports, last = found["code"].splitlines()
        scope = {}
        exec("\n".join(imports), scope)
        assert eval(last, scope) is not None  # noqa: S307  a line that this project wrote


def test_curves_of_composition_are_those_of_the_accountant():
    rows = dict(play("composition", {"epsilon": "0.1", "delta": "1e-6", "k": "100"})["rows"])
    rho = price(Pure(Fraction(1, 10))).rho * 100
    by_rho = epsilon_of_rho(rho, Fraction(1, 10**6))
    assert rows["basic: epsilons add up"] == "10"
    assert rows["zCDP: rho adds up"] == rows["best: pure or zCDP, as the ledger counts"] == f"{float(by_rho):.4g}"
    best = optimal(Fraction(1, 10), 0, 100, total_delta=Fraction(1, 10**6))[0]
    assert rows["optimal composition"] == f"{float(best):.4g}"
    few = dict(play("composition", {"epsilon": "0.1", "delta": "1e-6", "k": "2"})["rows"])
    assert few["best: pure or zCDP, as the ledger counts"] == "0.2"  # where sums are less, they count


def test_averaging_is_the_law_of_a_mean():
    """The mean of one answer is as wide as one answer; of many, as wide as many draws are."""
    one = play("averaging", {"epsilon": "1", "k": "2"})
    assert "epsilon 2" in dict(one["rows"])["what they would cost together"]
    noise = Geometric(1, 1)
    drawn = sorted(abs(int(noise.release([0] * 50).sum())) / 50 for _ in range(2000))
    wide = float(dict(play("averaging", {"epsilon": "1", "k": "50"})["rows"])["± after 50 fresh answers"])
    assert abs(drawn[1900] - wide) < 0.1  # 95 % of 2000; four standard errors are below 0.04


def test_utility_is_that_of_the_design_room():
    """By hand for three numbers: a = e^-epsilon, the answer is right with 1/(1+a) at the ends, (1-a)/(1+a) between."""
    a = math.exp(-0.7)
    given = {"n": "2", "epsilon": "0.7", "seen": "1", "prior": "uniform", "gain": "identity"}
    found = play("utility", given)
    rows = dict(found["rows"])
    right = (2 / (1 + a) + (1 - a) / (1 + a)) / 3
    assert rows["gain of truncated geometric"] == rows["gain of geometric"] == f"{right:.4f}"
    assert rows["gain of randomized response"] == f"{1 / (1 + 2 * a):.4f}"
    assert rows["gain without any answer"] == "0.3333, by always answering 0"
    assert rows["best guess after 1"] == "1"
    after = [a, 1, a]
    told = ", ".join(f"{p / sum(after):.3f}" for p in after)
    assert f"before: 0.333, 0.333, 0.333. after 1: {told}." in found["svg"]
    assert f"truth 1, shown 1: {(1 - a) / (1 + a):.4g}" in found["svg"]
    assert rows["gain of the best private one, by a linear program"] == f"{right:.4f}; none above {right:.4f}"
    rare = dict(play("utility", given | {"prior": "rare", "gain": "distance"})["rows"])
    assert rare["best guess after 1"] == "0"
    assert rare["gain without any answer"] == "1.8000, by always answering 0"


@pytest.mark.parametrize("gain", PAGES["utility"].choices["gain"])
@pytest.mark.parametrize("prior", PAGES["utility"].choices["prior"])
def test_no_private_mechanism_is_worth_more_than_geometric_noise(prior, gain):
    """For counts it is the best for everybody: two rows of the page, found in different ways, agree."""
    for n in ("3", "12"):
        for epsilon in ("0.1", "3"):
            rows = dict(play("utility", {"n": n, "epsilon": epsilon, "prior": prior, "gain": gain})["rows"])
            found, most = rows["gain of the best private one, by a linear program"].split("; none above ")
            assert float(found) - 2e-4 <= float(rows["gain of truncated geometric"]) <= float(most) + 1e-9


def test_what_is_never_shown_has_no_posterior():
    found = play("utility", {"n": "6", "epsilon": "0.1", "prior": "rare", "mechanism": "optimal", "seen": "6"})
    assert dict(found["rows"])["best guess after 6"] == "it never occurs"
    assert "after 6" not in found["svg"]


def test_what_was_shown_follows_how_many_there_are():
    found = play("utility", {"n": "4", "seen": "9"})
    assert (found["numbers"]["seen"], found["limits"]["seen"]) == ("4", ["0", "4"])
    for name in PAGES["utility"].choices["mechanism"]:
        other = play("utility", {"n": "4", "mechanism": name})
        assert other["chosen"]["mechanism"] == name
        assert other["svg"] != found["svg"]


def test_the_grid_is_the_optimum_of_the_design_room():
    rows = dict(play("grid", {"side": "3", "epsilon": "1", "column": "2", "row": "2"})["rows"])
    cells = [(x, y) for y in range(3) for x in range(3)]
    best = best_mechanism("uniform", "loss", Fraction(1), "euclidean", inputs=cells, tolerance="1/100")
    assert rows["this cell is reported with probability"] == f"{float(best.channel.matrix[4][4]):.4f}"
    mean = sum(
        float(p) * math.dist(x, z) / 9
        for x, row in zip(cells, best.channel.matrix, strict=True)
        for z, p in zip(cells, row, strict=True)
    )
    assert rows["mean distance between report and truth, at best"] == f"{mean:.4f} cells"
    assert float(rows["no private mechanism is below"].split()[0]) <= mean + 1e-4
    assert float(rows["the exponential mechanism, then the best guess"].split()[0]) >= mean - 1e-4


def test_the_attack_is_the_red_teams_own():
    for people in (1, 8):
        rows = dict(play("attack", {"epsilon": "4", "people": str(people), "guess": "0.5"})["rows"])
        coin = 1 / (1 + math.exp(-4 / people))
        right = coin**2 + coin * (1 - coin)  # both counts say so, or one does and a coin is tossed
        assert rows["the attack is right"] == f"{100 * right:.2f} %"
        most = math.exp(8 / people) / (1 + math.exp(8 / people))
        assert rows["no attack is right more often than"] == f"{100 * most:.2f} %"
        assert right <= most


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("grid", {"side": "6"}),
        ("grid", {"column": "0"}),
        ("attack", {"guess": "0.4"}),
        ("nothing", {}),
        ("utility", {"prior": "<b>"}),
        ("utility", {"n": "13"}),
        ("utility", {"seen": "-1"}),
        ("utility", {"epsilon": "nan"}),
        ("geometric", {"gain": "identity"}),
        ("geometric", {"epsilon": "0"}),
        ("geometric", {"epsilon": "6"}),
        ("geometric", {"sensitivity": "1.5"}),
        ("geometric", {"k": "2"}),
        ("composition", {"k": "401"}),
        ("averaging", {"k": "2.5"}),
    ],
)
def test_numbers_beyond_a_page_are_refused(name, given):
    with pytest.raises(InputError):
        play(name, given)
