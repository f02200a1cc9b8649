"""`sfumato design`, as a person runs it: programs, files, mistakes. What it prints stands in docs/lectures.md."""

import json
from fractions import Fraction
from functools import partial

import pytest

PROBLEM = """
mechanism = "truncated-geometric"
inputs = "0..4"
epsilon = "ln 2"
prior = [0.1, 0.2, 0.4, 0.2, 0.1]
gain = "distance"
seen = 3
"""


@pytest.fixture
def call(call, tmp_path):
    return partial(call, "design", at=tmp_path)


def document(done):
    assert done[0] == 0, done
    return json.loads(done[1])


def test_programs_get_exact_numbers_as_strings(call):
    made = document(call("channel", "truncated-geometric", "--inputs", "0..2", "--epsilon", "ln 2", "--json"))
    assert made["matrix"][0] == ["2/3", "1/6", "1/6"]
    assert (made["pairs"][0]["ratio"], made["approximate"]) == ("4", False)
    worth = document(call("utility", "truncated-geometric", "--inputs", "0..10", "--epsilon", "ln 2", "--json"))
    assert Fraction(worth["utility"]) == Fraction(13, 33)
    real = document(call("utility", "truncated-geometric", "--inputs", "0..10", "--epsilon", "1", "--json"))
    assert real["utility"] == pytest.approx(0.511015597509)
    moved = document(call("sensitivity", "average", "--low", "0", "--high", "120", "--min-size", "100", "--json"))
    assert moved["sensitivity"] == "6/5"
    apart = document(call("distance", "a=1/2,b=1/2", "a=1/4,b=3/4", "--json"))
    assert (apart["statistical_distance"], apart["largest_ratio"]) == ("1/4", "2")
    dense = document(call("channel", "laplace", "--inputs", "1", "--epsilon", "1", "--at", "1,2", "--json"))
    assert dense["density"]["1"]["2"] == pytest.approx(0.5 * 2.718281828**-1)
    refined = document(
        call(
            "channel",
            "geometric",
            "--inputs",
            "0..2",
            "--epsilon",
            "ln 2",
            "--refines",
            "randomized-response",
            "--json",
        )
    )
    assert refined["refines"]["holds"] is False


def test_the_best_mechanism_and_whether_noise_is(call, tmp_path):
    best = document(call("optimal", "--inputs", "0..3", "--epsilon", "ln 2", "--metric", "manhattan", "--json"))
    rows = [[Fraction(p) for p in row] for row in best["matrix"]]
    assert all(sum(row) == 1 for row in rows)
    assert all(
        rows[x][z] <= 2 * rows[x + 1][z] and rows[x + 1][z] <= 2 * rows[x][z] for x in range(3) for z in range(4)
    )
    assert Fraction(best["utility"]) <= Fraction(best["bound"]) <= Fraction(best["utility"]) + Fraction(1, 10**6)
    assert best["certificate"]["epsilon"] == "ln 2"
    (tmp_path / "p.toml").write_text('inputs = "0..3"\nepsilon = 1\nmetric = "manhattan"\ngain = "distance"\n')
    code, out, _ = call("optimal", "p.toml", "--plot", "--svg", "best.svg")
    assert (code, "checked in whole numbers" in out) == (0, True)
    line = document(call("universal", "count", "--size", "3", "--json"))
    assert (line["path"], len(line["users"])) == (True, 4)
    one = document(call("universal", "sum", "--low", "0", "--high", "2", "--size", "2", "--gain", "identity", "--json"))
    assert (one["path"], len(one["users"]), one["gap"] > 0.04) == (False, 1, True)


def test_a_problem_may_stand_in_a_file_and_options_win(call, tmp_path):
    (tmp_path / "problem.toml").write_text(PROBLEM)
    found = document(call("posterior", "problem.toml", "--json"))
    prior = [Fraction(n, 10) for n in (1, 2, 4, 2, 1)]
    weights = [p * Fraction(1, 3) / 2 ** abs(3 - y) for y, p in enumerate(prior)]
    assert [Fraction(one["posterior"]) for one in found["inputs"].values()] == [w / sum(weights) for w in weights]
    assert found["approximate"] is False  # decimals of a file are what is written
    other = document(call("posterior", "problem.toml", "--seen", "0", "--json"))
    assert other["inputs"]["0"] != found["inputs"]["0"]
    assert document(call("utility", "problem.toml", "--json"))["remap"][0] == [0, 1]


def test_a_python_function_of_a_file(call, tmp_path):
    (tmp_path / "mine.py").write_text("def top(x):\n    return max(x)\n\nother = 3\n")
    found = document(call("sensitivity", "mine.py:top", "--low", "0", "--high", "3", "--size", "2", "--json"))
    assert (found["sensitivity"], found["pair"]["databases"]) == ("3", ["(0, 0)", "(3, 0)"])
    assert call("sensitivity", "mine.py:other", "--low", "0", "--high", "1")[0] == 2
    assert call("sensitivity", "gone.py:top", "--low", "0", "--high", "1")[0] == 2


def test_pictures_in_the_terminal_and_in_files(call, tmp_path):
    shape = ("--inputs", "0..3", "--epsilon", "1", "--plot", "--svg", "a.svg")
    for words in (("channel", "geometric"), ("posterior", "geometric", "--seen", "1"), ("utility", "geometric")):
        code, out, err = call(*words, *shape)
        assert (code, err) == (0, "Wrote a.svg\n")
        assert any(sign in out for sign in "█░")
        assert (tmp_path / "a.svg").read_text().startswith("<svg")
        (tmp_path / "a.svg").unlink()
    code, out, _ = call("channel", "geometric", "--row", "3", *shape)
    assert (code, out.count("█") > 10) == (0, True)
    assert "input 3" in (tmp_path / "a.svg").read_text()
    code, out, _ = call("channel", "laplace", "--inputs", "10,20", "--epsilon", "1", "--plot", "--svg", "b.svg")
    assert code == 0
    assert "█" in out
    assert (tmp_path / "b.svg").read_text().count("<polyline") == 4
    tops = [
        min(float(pair.split(",")[1]) for pair in line.split('"')[1].split()) for line in _lines(tmp_path / "b.svg")
    ]
    assert tops[0] == tops[1]  # both meet their peak, c = 1/2, where the answer itself is


def _lines(file):
    return [line for line in file.read_text().splitlines() if 'class="curve curve-' in line and line.count(",") > 9]


def test_one_row_of_a_large_channel_and_pairs_as_inputs(call):
    large = ("channel", "exponential", "--inputs", "0..2000", "--epsilon", "1")
    code, out, err = call(*large)
    assert (code, "2001 times 2001" in err) == (2, True)
    code, out, _ = call(*large, "--row", "3")
    assert (code, "input 3" in out, "one row of 2001" in out) == (0, True, True)
    code, out, _ = call(*large, "--row", "3", "--json")
    assert (code, len(json.loads(out)["row"])) == (0, 2001)
    code, _, err = call(*large, "--row", "2001")
    assert (code, "no input" in err) == (2, True)
    for inputs in ("grid 2x2", "grid 30x30"):
        code, out, _ = call("channel", "exponential", "--inputs", inputs, "--epsilon", "1", "--row", "(1,0)")
        assert (code, "input (1, 0)" in out) == (0, True)
    seen = ("posterior", "exponential", "--inputs", "grid 2x2", "--epsilon", "1", "--seen", "(1,0)")
    assert call(*seen)[0] == 0
    code, _, err = call("utility", "exponential", "--inputs", "grid 1000x1000", "--epsilon", "1")
    assert (code, "at most 10000 points" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["sensitivity", "averge", "--low", "0", "--high", "1"], "not known"),
        (["sensitivity", "sum", "--low", "x", "--high", "1"], "low must be"),
        (["sensitivity", "sum", "--low", "0", "--high", "1", "--adjacency", "some"], "adjacency"),
        (["sensitivity", "count", "--where", "?"], "no property"),
        (["sensitivity", "gone.toml"], "cannot use file"),
        (["channel"], "name a mechanism"),
        (["channel", "geometric"], "inputs"),
        (["channel", "geometric", "--inputs", "5..1", "--epsilon", "1"], "goes up"),
        (["channel", "geometric", "--inputs", "0..3"], "needs an epsilon"),
        (["channel", "geometric", "--inputs", "0..3", "--epsilon", "-1"], "above 0"),
        (["channel", "geometric", "--inputs", "0..3", "--epsilon", "1", "--row", "7"], "no input"),
        (["channel", "geometric", "--inputs", "0..3", "--epsilon", "1", "--metric", "taxi"], "not known"),
        (["channel", "--table", "1/2,1/3;1,0"], "add up to 1"),
        (["channel", "--table", "a,b;1,0"], "entry of a matrix"),
        (["channel", "geometric", "--query", "sum", "--inputs", "0..3", "--epsilon", "1"], "databases"),
        (["channel", "geometric", "--inputs", "0..3", "--epsilon", "1", "--then", "1;1"], "one name for each input"),
        (["channel", "geometric", "--inputs", "0..3", "--epsilon", "1", "--beside", "noise"], "not known"),
        (["channel", "laplace", "--inputs", "1"], "density needs"),
        (["channel", "truncated-laplace", "--inputs", "1", "--epsilon", "1"], "--low and --high"),
        (["posterior", "geometric", "--inputs", "0..3", "--epsilon", "1"], "observed output"),
        (["posterior", "geometric", "--inputs", "0..3", "--epsilon", "1", "--seen", "9"], "not an output"),
        (["posterior", "geometric", "--inputs", "0..3", "--epsilon", "1", "--seen", "1", "--prior", "1,2"], "one prob"),
        (["utility", "geometric", "--inputs", "0..3", "--epsilon", "1", "--gain", "much"], "not known"),
        (["optimal", "--inputs", "0..3"], "--epsilon"),
        (["optimal", "geometric", "--inputs", "0..3", "--epsilon", "1"], "problem file"),
        (["universal", "sum", "--low", "0", "--high", "200", "--size", "4"], "databases"),
        (["distance", "a=1/2"], "one of two"),
        (["distance", "a=1/2,b=1/2", "1,2"], "no distance"),
        (["distance", "a=1/2,b=1/3", "a=1"], "sum to 1"),
    ],
)
def test_a_mistake_is_one_clear_error_with_exit_code_2(call, words, says):
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert says in err
    assert err.startswith("ERROR ")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "text",
    [
        "mechanism = 3",
        "mechanims = 'geometric'",
        "not toml",
        "people = ['a']",
        "people = ['a']\n[[answers]]\nquery = 'min'",
    ],
)
def test_a_file_with_a_mistake_is_one_clear_error(call, tmp_path, text):
    (tmp_path / "wrong.toml").write_text(text)
    code, out, err = call("posterior", "wrong.toml")
    assert (code, out) == (2, "")
    assert err.startswith("ERROR 22023")
