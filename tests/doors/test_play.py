"""The playground's numbers are the product's own, at every corner of its sliders, and its Python gives the same."""

from fractions import Fraction
from itertools import product

import pytest

from sfumato.accounting import Pure, epsilon_of_rho, optimal, price
from sfumato.doors.http.play import PAGES, play
from sfumato.errors import InputError
from sfumato.mechanisms import Geometric


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_drawn_at_every_corner_and_its_python_runs(name):
    numbers = PAGES[name].numbers
    for values in product(*((low, high, otherwise) for low, high, otherwise in numbers.values())):
        given = dict(zip(numbers, values, strict=True))
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
    assert rows["basic: prices add up"] == "10"
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


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("nothing", {}),
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
