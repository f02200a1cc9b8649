"""Exercises: answers are computed, and by other means they are the same."""

import json
import math
import sys
from fractions import Fraction

import pytest

from sfumato.cli import main
from sfumato.errors import InputError
from sfumato.learn import EXERCISES, check
from sfumato.learn.exercises import read_number
from sfumato.learn.holdout import study

BY_HAND = {
    "coins": lambda: math.log(3),
    "belief": lambda: (0.1 * 0.75) / (0.1 * 0.75 + 0.9 * 0.25),
    "estimator": lambda: 0.3,
    "variance": lambda: 4 / 1000**2 * 1000 * (3 / 4) * (1 / 4),  # 4/n² times the variance of n coins
    "sum": lambda: 120,
    "average": lambda: 120 / 100,
    "forty": lambda: 40 * 0.1,
    "family": lambda: 3 * 0.5,
    "advanced": lambda: 0.1 * math.sqrt(2 * 100 * math.log(1e6)) + 100 * 0.1 * (math.e**0.1 - 1),
    "geometric": lambda: (1 - math.exp(-1)) / (1 + math.exp(-1)),
    "guess": lambda: (2 / 3 + 1 / 3 + 2 / 3) / 3,
    "distance": lambda: 0.5,
    "promise": lambda: math.e**2 / (1 + math.e**2),
    "one-person": lambda: 1 / (1 + math.exp(-4)),
}


def test_every_answer_is_what_one_finds_by_hand():
    assert set(BY_HAND) == set(EXERCISES)
    for name, exercise in EXERCISES.items():
        assert exercise.answer() == pytest.approx(BY_HAND[name](), rel=1e-9), name
        assert check(name, f"{BY_HAND[name]():.9f}")
        assert not check(name, f"{1.1 * BY_HAND[name]() + 0.01:.9f}")


def test_numbers_are_read_as_people_write_them():
    for text, value in (
        ("1/4", 0.25),
        (" 25 % ", 0.25),
        ("ln 3", math.log(3)),
        ("ln(4/3)", math.log(4 / 3)),
        ("-2", -2),
    ):
        assert read_number(text) == pytest.approx(value)
    for text in ("", "a lot", "1/0", "ln 0", "ln -1"):
        with pytest.raises(InputError):
            read_number(text)
    with pytest.raises(InputError, match="not known"):
        check("nothing", "1")


def test_a_hold_out_is_over_fitted_and_through_the_gateway_it_is_not():
    """Coins: fresh people say one half. The exact hold-out says more, beyond chance; the gateway's is nearer."""
    found = study(people=400, features=100, epsilon=Fraction(4))
    sigma = math.sqrt(0.25 / 400)
    assert max(point.said for point in found.without.points) > 0.5 + 3 * sigma
    assert all(abs(point.true - 0.5) < 0.02 for run in (found.without, found.gateway) for point in run.points)
    assert found.gateway.spent <= 4
    exact = sum(point.said - point.true for point in found.without.points)
    assert sum(point.said - point.true for point in found.gateway.points) < exact
    assert found.picture().startswith("<svg")


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    def run(*words):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        return (stopped.value.code or 0, *capsys.readouterr())

    return run


def test_the_command_asks_checks_and_shows(call):
    code, out, _ = call("learn")
    assert code == 0
    assert all(f"{name}: " in out for name in (*EXERCISES, "holdout"))
    assert "sfumato learn coins --answer NUMBER" in call("learn", "coins")[1]
    assert call("learn", "coins", "--answer", "ln 3")[:2] == (0, f"{EXERCISES['coins'].question}\nRight.\n")
    assert call("learn", "coins", "--answer", "2")[0] == 1
    assert call("learn", "coins", "--answer", "two")[0] == 2
    assert call("learn", "nothing")[0] == 2
    document = json.loads(call("learn", "forty", "--show", "--json")[1])
    assert document["answer"] == 4
    assert len(json.loads(call("learn", "--json")[1])["exercises"]) == len(EXERCISES)
