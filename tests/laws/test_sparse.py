"""The sparse vector on exact transcript masses, and its session."""

from __future__ import annotations

import copy
import math
import os
import pickle
import sys
import threading
from fractions import Fraction
from functools import partial
from itertools import product
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import BudgetError, InputError
from sfumato.mechanisms import SparseVector
from sfumato.mechanisms.sparse import Session

F = Fraction


def transcript_mass(law: SparseVector, values: list[int], answers: list[int | None]) -> float:
    """P(answers) for these values, threshold 0: the sum over the threshold's noise of the product over the numbers."""
    rt, rn = math.exp(-1 / law.threshold_scale), math.exp(-1 / law.number_scale)

    def mass(r: float, z: int) -> float:
        return (1 - r) / (1 + r) * r ** abs(z)

    def below(z: int) -> float:
        return rn ** (1 - z) / (1 + rn) if z <= 0 else 1 - rn**z / (1 + rn)  # P(noise < z)

    reach = int(45 * law.threshold_scale) + 5
    total = 0.0
    for t in range(-reach, reach + 1):
        part = mass(rt, t)
        for value, answer in zip(values, answers, strict=True):
            part *= below(t - value) if answer is None else mass(rn, t + answer - value)
        total += part
    return total


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 2),
    st.fractions(F(1, 2), 3, max_denominator=10),
    st.booleans(),
    st.lists(st.integers(-3, 3), min_size=3, max_size=3),
    st.data(),
)
def test_sparse_vector_transcripts_are_private(
    positives: int, epsilon: Fraction, monotone: bool, values: list[int], data: st.DataObject
) -> None:
    """Every transcript, gaps included, of neighbouring streams: the whole session costs epsilon."""
    law = SparseVector(1, epsilon, positives, monotone)
    moves = st.integers(0, 1) if monotone else st.integers(-1, 1)
    neighbour = [v + data.draw(moves) for v in values]
    for answers in product((None, 0, 1, 4), repeat=3):
        if sum(a is not None for a in answers) <= positives:
            p, q = (transcript_mass(law, stream, list(answers)) for stream in (values, neighbour))
            assert abs(math.log(p / q)) <= float(epsilon) * (1 + 1e-6)


def test_sparse_vector_uses_its_epsilon() -> None:
    """The worst transcript comes near the price: it is not padded."""
    law = SparseVector(1, 2)
    values = [0] * 12
    worse = [1] * 11 + [-1]
    answers: list[int | None] = [None] * 11 + [3]
    ratio = math.log(transcript_mass(law, values, answers) / transcript_mass(law, worse, answers))
    assert 1.7 < ratio <= 2


def test_answers_have_their_law() -> None:
    law = SparseVector(1, 2)
    seen = [tuple(law.release([0, 1])) for _ in range(6000)]
    for answers in ((None, None), (None, 0), (0,), (2,)):
        chance = transcript_mass(law, [0, 1][: len(answers)], list(answers))
        assert stats.binomtest(seen.count(answers), 6000, chance).pvalue > 1e-9


def test_sparse_vector_stops() -> None:
    """After `positives` times yes nothing more is told, however often it is asked."""
    session = SparseVector(1, 50, 2).start(10)
    assert session.ask(-(10**6)) is None
    gaps = [session.ask(10**6), session.ask(10**6)]
    assert all(gap is not None and gap > 9 * 10**5 for gap in gaps)
    assert session.finished
    with pytest.raises(BudgetError, match="all of its positive answers"):
        session.ask(-(10**6))
    assert SparseVector(1, 50, 1).release([-(10**6), 10**6, 10**6], 10)[0] is None


def test_sparse_vector_does_not_survive_a_fork() -> None:
    """Two processes with one noisy threshold would each say yes as often as one may: the child refuses."""
    session = SparseVector(1, 1, 3).start(0)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            session.ask(5)
            os.write(write, b"answered")
        except InputError:
            os.write(write, b"refused ")
        os._exit(0)
    assert os.read(read, 8) == b"refused "
    os.waitpid(child, 0)
    session.ask(-(10**9))


def test_threads_share_the_positives() -> None:
    """Eight threads ask one session about numbers far above its threshold: together they hear one yes."""
    law = SparseVector(1, 50, 1)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    heard: list[int] = []
    try:
        for _ in range(40):
            session, gaps, start = law.start(0), [], threading.Barrier(8)
            ask = partial(_ask_until_it_ends, session, gaps, start)
            threads = [threading.Thread(target=ask) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            heard.append(len(gaps))
    finally:
        sys.setswitchinterval(interval)
    assert heard == [1] * 40


def _ask_until_it_ends(session: Session, gaps: list[int], start: threading.Barrier) -> None:
    start.wait()
    try:
        for _ in range(4):
            gap = session.ask(10**6)
            if gap is not None:
                gaps.append(gap)
    except BudgetError:
        pass


def test_a_question_within_a_question_is_refused() -> None:
    """A signal handler that asks the session which is just answering would hear what is not paid for."""
    session = SparseVector(1, 50, 1).start(0)
    refused = []

    def within(_: object) -> None:
        with pytest.raises(InputError, match="answering another query"):
            session.ask(10**6)
        refused.append(True)

    with mock.patch.object(session, "_is_wide", lambda noisy: within(noisy) or True):
        assert session.ask(10**6) is not None
    assert refused == [True]
    assert session.finished


def test_a_session_is_not_copied() -> None:
    session = SparseVector(1, 1).start(0)
    for twice in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            twice(session)


def test_the_threshold_is_kept_secret() -> None:
    session = SparseVector(1, 1).start(123456789)
    assert "123456" not in repr(session)
    with pytest.raises(TypeError):
        pickle.dumps(session)


def test_parts_follow_the_rule() -> None:
    """The threshold's part to the numbers' part is 1 to (2c)^(2/3), or c^(2/3) if monotone."""
    for positives, monotone, weight in ((1, False, 2 ** (2 / 3)), (4, False, 4.0), (8, True, 4.0)):
        threshold, numbers = SparseVector(1, 1, positives, monotone)._parts
        assert float(numbers / threshold) == pytest.approx(weight, abs=2e-3)
        assert threshold + numbers == 1
