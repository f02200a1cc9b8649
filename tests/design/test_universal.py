"""Whether geometric noise is best for everybody: graphs of queries, and linear programs of their own."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from sfumato import design
from sfumato.design.asking import ask
from sfumato.design.gains import gains
from sfumato.design.metrics import along
from sfumato.design.priors import as_prior
from sfumato.design.universality import _graph, _line

F = Fraction


def line(query, *args, **options):
    answers, edges, _ = _graph(ask(query, *args, **options))
    return _line(answers, edges)


def test_counting_queries_are_lines_and_others_are_not():
    assert line("count", 0, 1, size=4) == (0, 1, 2, 3, 4)
    assert line("count", 0, 2, min_size=0, max_size=3, adjacency="add-remove") == (0, 1, 2, 3)
    assert line("sum", 0, 2, size=2) is None
    assert line("median", 0, 2, size=3) is None
    assert line("average", 0, 1, min_size=1, max_size=3) is None
    assert line(lambda x: sum(x) % 3, 0, 1, size=3) is None  # a triangle
    assert line(lambda x: min(sum(x), 2), 0, 1, size=4) == (0, 1, 2)
    assert _line("abcde", ["ab", "bc", "cd", "bd", "de"]) is None  # two ends, and a circle between them
    assert _line("abcd", ["ab", "cd"]) is None
    assert _line("bca", ["ab", "bc"]) == ("a", "b", "c")
    assert _line("a", []) == ("a",)


def test_the_graph_and_the_optimum_together():
    count = design.universal("count", size=4)
    assert (count.path, count.answers) == (True, (0, 1, 2, 3, 4))
    assert count.gap < 1e-6
    total = design.universal("sum", 0, 2, size=2)
    assert not total.path
    apart = along(total.edges, total.answers)
    for user in total.users:
        prior = as_prior(user.prior, total.answers)
        best = optimum(prior, gains(user.gain, total.answers), apart, 2)
        assert user.optimum == pytest.approx(best, abs=1e-6)
        assert user.gap == pytest.approx(best - float(user.noise), abs=1e-6)
    assert total.gap > 0.06
    mine = design.universal(lambda x: sum(x) % 3, 0, 1, size=3, users=[("uniform", "identity")], epsilon=1)
    assert (mine.path, len(mine.users)) == (False, 1)
    assert "<table" in mine._repr_html_()


def test_under_normalised_manhattan_sums_averages_and_percentiles_are_lines():
    for query in ("sum", "average", "percentile", "max", "min"):
        assert line(query, 0, 3, size=3, metrics="normalised-manhattan") is not None
    assert line("sum", 0, 2, size=2, metrics="normalised-manhattan") == (0, 1, 2, 3, 4)


def optimum(prior, table, apart, odds):
    """The best expected gain of any mechanism that reports guesses: a program of its own, by scipy."""
    n = len(prior)
    cost = -np.array([[float(prior[x] * table[w][x]) for w in range(n)] for x in range(n)]).ravel()
    rows = []
    for x in range(n):
        for other in range(n):
            if apart[x][other] == 1:
                for w in range(n):
                    row = np.zeros(n * n)
                    row[x * n + w], row[other * n + w] = 1, -float(odds)
                    rows.append(row)
    sums = np.kron(np.eye(n), np.ones(n))
    done = linprog(cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(n), bounds=(0, 1))
    assert done.status == 0
    return -done.fun


@pytest.mark.parametrize("gain", ["identity", "distance"])
def test_noise_is_optimal_on_a_line(gain):
    inputs = range(5)
    table = gains(gain, inputs)
    apart = design.distances("manhattan", inputs)
    made = design.channel("truncated-geometric", inputs, epsilon="ln 2")
    for weights in ((1, 1, 1, 1, 1), (8, 1, 3, 1, 7), (1, 5, 5, 1, 1)):
        prior = [F(w, sum(weights)) for w in weights]
        best = optimum(prior, table, apart, 2)
        assert float(design.utility(made, prior, gain).gain) == pytest.approx(best, abs=1e-9)
