"""Numbers that no float has, digits of other scripts, and nothing: each is one clear error of the commands for places
and surveys, or an answer, and nothing is spent on the way.
"""

import random

import pytest

from sfumato.cli import app
from sfumato.errors import SfumatoError

ODD = [
    "1e400", "1e-400", "1e308", "-1e308", "1e999", "5e-324", "1e-320", "1e-100", "1e100", "1e101", "1e18", "nan", "inf",
    "-inf", "-1", "0", "-0", "", " ", "\u00b2", "\u0663", "\u2460", "1_000", "0x10", "1/3", "1/0", "1/1e400", "ln 1",
    "ln 1e400", "1e400 ln 2", "1e-400 ln 2", "ln 1.0000000000000000000000000000001",
    "0.999999999999999999999999", "1.5",
    "99999999999999999999",
]  # fmt: skip
PLACES = ["48.8,2.3", "1e2,3", "\u0663,\u0663", "\u00b2,2", "nan,1", "90,180", "", "48.8", "0,-540"]
GRIDS = ["2x2", "1x2", "\u00b2x2", "\u0662x1", "2x\u2460", "x", "0x3", "2x", "1e1x2", "-1x2", "", "2x2x2", "400x400"]
COMMANDS = {
    "place": (["geo", "obfuscate"], ["48.8,2.3"], ("--level", "--radius", "--grid", "--reach"), ("--around",)),
    "trace": (
        ["geo", "obfuscate", "points.csv", "-o", "out.csv", "--ledger", "ledger"], [],
        ("--level", "--radius", "--budget", "--test", "--threshold"), ("--around",),
    ),
    "retrieve": (["geo", "retrieve"], [], ("--interest", "--level", "--radius", "--confidence"), ("--around",)),
    "attack": (["geo", "attack", "--trials", "2"], [], ("--level", "--radius"), ()),
    "evaluate": (["geo", "evaluate"], [], ("--side",), ()),
    "optimal": (["geo", "optimal"], [], ("--epsilon",), ()),
    "plan": (["local", "plan", "--values", "a,b"], [], ("--users", "--epsilon", "--batch", "--delta"), ()),
    "domain": (["local", "plan"], [], ("--domain", "--users", "--epsilon", "--lifetime"), ()),
    "texts": (["local", "plan", "--strings"], [], ("--users", "--epsilon", "--candidates", "--lifetime"), ()),
    "range": (["local", "plan"], [], ("--range", "--users", "--epsilon"), ()),
}  # fmt: skip
USUAL = {
    "--level": "ln 4", "--radius": "200", "--interest": "300", "--epsilon": "1", "--users": "1000", "--domain": "5",
    "--range": "0,1", "--grid": "2x2", "--budget": "5 ln 4", "--side": "2",
}  # fmt: skip


def outcome(words):
    """The exit code, as `main` has it; a traceback is an error of the test."""
    try:
        app(words, standalone_mode=False)
    except SfumatoError:
        return 2
    except SystemExit as end:
        return end.code
    except OSError:
        return 2
    except Exception as error:
        if not hasattr(error, "exit_code"):  # the command line's own errors have one
            raise
        return error.exit_code
    return 0


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "points.csv").write_text("lat,lon\n48.1,2.1\n48.2,2.2\n")
    return tmp_path


def words_of(name, changed):
    start, last, numbers, _ = COMMANDS[name]
    given = {option: USUAL[option] for option in numbers if option in USUAL}
    if name in ("evaluate", "optimal"):
        given["--grid"] = "4x4" if name == "evaluate" else "2x2"
    elif "--grid" in given:
        del given["--grid"]
    return [*start, *(f"{option}={value}" for option, value in (given | changed).items()), *last]


@pytest.mark.parametrize("name", COMMANDS)
def test_odd_numbers_are_one_clear_error_or_an_answer(name, home, capsys):
    check_odd(name, random.Random(name), 4, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_all_odd_numbers_are_one_clear_error_or_an_answer(name, home, capsys):
    check_odd(name, random.Random(name), len(ODD), 60)


def check_odd(name, dice, many, pairs):
    """Odd numbers in every option by itself, then in two options at random."""
    _, _, numbers, places = COMMANDS[name]
    refused = answered = 0
    tried = [{}] + [{option: value} for option in numbers for value in dice.sample(ODD, many)]
    tried += [{option: value} for option in places for value in PLACES]
    if "--range" in numbers:
        tried += [{"--range": f"{low},{high}"} for low in dice.sample(ODD, many) for high in dice.sample(ODD, 3)]
    if name in ("evaluate", "optimal"):
        tried += [{"--grid": grid} for grid in GRIDS]
    tried += [{a: dice.choice(ODD) for a in dice.sample(numbers, min(2, len(numbers)))} for _ in range(pairs)]
    for changed in tried:
        words = words_of(name, changed)
        code = outcome(words)
        assert code in (0, 1, 2), words
        refused, answered = refused + (code != 0), answered + (code == 0)
    assert refused > 1
    assert answered > 0


@pytest.mark.parametrize(
    ("command", "option"), [("texts", "--candidates"), ("texts", "--lifetime"), ("attack", "--radius")]
)
@pytest.mark.parametrize("value", ["1e400", "1e-400", "5e-324", "1e308"])
def test_numbers_that_no_float_has_are_refused_wherever_one_is_computed(command, option, value, home):
    assert outcome(words_of(command, {option: value})) == 2


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-9", "1e-15", "700"])
def test_what_a_library_says_of_numbers_is_not_printed(epsilon, capfd):
    """LAPACK writes to the terminal itself, before its caller knows that anything is wrong."""
    outcome(["geo", "optimal", "--grid", "2x2", "--epsilon", epsilon])
    out, err = capfd.readouterr()
    assert "On entry" not in out + err


@pytest.mark.parametrize("weights", ["1e308,1e308,1,1", "5e-324,5e-324,0,0", "1e308,1e308,1e308,1e308"])
def test_weights_of_any_size_are_a_prior(weights, home):
    (home / "prior.csv").write_text(weights)
    assert outcome(["geo", "optimal", "--grid", "2x2", "--epsilon", "1", "--prior", "prior.csv"]) == 0


@pytest.mark.parametrize("target", ["taken.csv", "none/out.csv", "out.xyz", "points.csv"])
def test_nothing_is_spent_where_the_result_cannot_be_written(target, home, capsys):
    (home / "taken.csv").mkdir()
    words = ["geo", "obfuscate", "points.csv", "--level", "ln 4", "--radius", "200", "--budget", "5 ln 4"]
    assert outcome([*words, "--ledger", "ledger", "-o", target]) == 2
    if (home / "ledger").exists():
        assert outcome(["geo", "budget", "ledger", "--json"]) == 0
        assert '"people": []' in capsys.readouterr().out
    assert outcome([*words, "--ledger", "ledger", "-o", "out.csv"]) == 0
