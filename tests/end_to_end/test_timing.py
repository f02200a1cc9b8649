"""Reply times with a person whose rows make questions slow, and without her: can they be told apart?

Two gateways of the same data, but for one person with very many rows, are asked the same questions, in turns that
chance orders, by a clock that is as good as it gets: in the same process. The test is a two-sample Kolmogorov–Smirnov
test, and a threshold trained on one half of the times and tried on the other.
"""

import random
import time

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import sfumato
from sfumato.gateway.timing import grid_of

PEOPLE = 2000


def world(home, name, rows):
    """People with one row each, and one person with so many."""
    person = [f"p{i}" for i in range(PEOPLE)] + ["slow"] * rows
    frame = pd.DataFrame({"person": person, "age": np.arange(len(person)) % 90})
    return sfumato.protect(
        frame, unit="person", rows_per_unit=3, epsilon=10**6, bounds={"age": (0, 100)}, ledger=home / f"{name}.ledger"
    )


def reply_times(home, timing, rows, tries):
    """Two samples: without the person, and with her."""
    order, times = random.Random(7), ([], [])
    with world(home, "absent", 0) as absent, world(home, "present", rows) as present:
        for gate in (absent, present):
            gate._grid = grid_of(timing)
            gate.sql("SELECT SUM(age) FROM data", epsilon=1)  # what is slow only once is over
        for i in range(tries // 2):
            for which in order.sample((0, 1), 2):
                began = time.perf_counter()
                (absent, present)[which].sql(f"SELECT SUM(age) FROM data WHERE age <> {1000 + i}", epsilon=1)
                times[which].append(time.perf_counter() - began)
    return np.array(times[0]), np.array(times[1])


def chance_of(absent, present):
    """The smaller of two p-values: that both samples have one law, and that a trained threshold only guesses."""
    same = stats.ks_2samp(absent, present).pvalue
    half = len(absent) // 2
    train = np.concatenate([absent[:half], present[:half]])
    cuts = np.unique(train)
    right = [(absent[:half] < cut).mean() + (present[:half] >= cut).mean() for cut in cuts]
    cut = cuts[int(np.argmax(right))]
    hits = int((absent[half:] < cut).sum() + (present[half:] >= cut).sum())
    guessed = stats.binomtest(hits, 2 * (len(absent) - half), 0.5, alternative="greater").pvalue
    return float(min(same, guessed))


def test_the_trial_itself_tells_apart_what_differs_and_nothing_else():
    chance = np.random.default_rng(1)
    base = chance.exponential(1, (2, 1000))
    assert chance_of(base[0], base[1]) > 0.001
    assert chance_of(base[0], base[1] + 0.5) < 1e-6


def test_plain_replies_can_be_told_apart(tmp_path):
    assert chance_of(*reply_times(tmp_path, "plain", rows=1_000_000, tries=160)) < 0.001


def test_padded_replies_cannot_be_told_apart(tmp_path):
    """A small sample, and an alarm that is false once in a billion: a machine at work may push replies over an edge.

    Were they all different, the two samples would have 1e-17.
    """
    assert chance_of(*reply_times(tmp_path, "padded", rows=200_000, tries=60)) > 1e-9


@pytest.mark.slow
def test_two_thousand_padded_replies_cannot_be_told_apart_and_plain_ones_can(tmp_path):
    for timing in ("plain", "padded"):
        (tmp_path / timing).mkdir()
        found = chance_of(*reply_times(tmp_path / timing, timing, rows=200_000, tries=2000))
        assert (found > 0.001) is (timing == "padded"), (timing, found)
