"""The source of chance: fork, threads, keys, and what it hands out."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato.chance import bits, sample_gaussian, sample_laplace
from sfumato.chance.pool import Pool
from tests.chance.enumerate_bits import ScriptedBits


def drawn() -> bytes:
    """Something from every path: words, arrays, single draws and many."""
    stream = bits.source()
    parts = [
        stream.word(64).to_bytes(8, "little"),
        stream.take(64, 64).tobytes(),
        np.asarray(sample_laplace(Fraction(10**6), 64)).tobytes(),
        np.asarray([sample_laplace(Fraction(10**6)) for _ in range(64)]).tobytes(),
        np.asarray(sample_gaussian(Fraction(10**12), 64)).tobytes(),
    ]
    return b"".join(parts)


def from_child(fork: Callable[[], int]) -> bytes:
    read, write = os.pipe()
    child = fork()
    if child == 0:
        os.write(write, drawn())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        heard = pipe.read()
    os.waitpid(child, 0)
    return heard


def words(text: bytes) -> set[bytes]:
    """8-byte words that cannot coincide by chance: the first 65 are uniform, the rest draws at scale 1e6 as vectors."""
    return {text[i : i + 8] for i in range(0, 65 * 8, 8)}


def check_fork(fork: Callable[[], int]) -> None:
    drawn()  # keys and blocks exist before the fork
    children = [from_child(fork) for _ in range(3)]
    everyone = [*children, drawn()]
    assert all(len(text) == len(everyone[0]) > 2000 for text in everyone)
    for i, one in enumerate(everyone):
        for other in everyone[i + 1 :]:
            assert not words(one) & words(other)
            for at in range(65 * 8, len(one), 64 * 8):  # each vector of 64 draws differs as a whole
                assert one[at : at + 512] != other[at : at + 512]


def test_fork_does_not_repeat() -> None:
    check_fork(os.fork)


def test_fork_below_python_does_not_repeat() -> None:
    """A library that calls fork itself runs no hook of Python's: the process number gives it away."""
    check_fork(ctypes.CDLL(None).fork)


def test_epoch_is_kept_until_a_fork() -> None:
    before = bits.epoch()
    drawn()
    assert bits.epoch() is before
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, b"same" if bits.epoch() is before else b"new ")
        os._exit(0)
    assert os.read(read, 4) == b"new "
    os.waitpid(child, 0)
    assert bits.epoch() is before


def test_threads_do_not_share() -> None:
    heard: list[np.ndarray] = []
    start = threading.Barrier(4)

    def run() -> None:
        start.wait()
        heard.append(np.concatenate([bits.source().take(97, 64) for _ in range(400)]))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = np.concatenate(heard)
    assert everything.size == 4 * 97 * 400
    assert len(np.unique(everything)) == everything.size  # a coincidence among 155,200 words: 7e-10


def test_pools_hand_out_once() -> None:
    """Four threads empty and refill one pool of single draws: every number is handed out once."""
    counter = iter(range(10**9))
    pool = Pool(lambda bits, count: np.array([next(counter) for _ in range(count)]))
    heard: list[list[int]] = []

    def run() -> None:
        heard.append([pool.take(bits.source()) for _ in range(5000)])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = [number for numbers in heard for number in numbers]
    assert len(everything) == len(set(everything)) == 20_000


def test_words_are_uniform() -> None:
    stream = bits.SystemBits()
    for width in (1, 3, 8, 16, 17, 32, 40, 64):
        sample = stream.take(200_000, width)
        assert int(sample.max()) < 1 << width
        top = (sample >> np.asarray(max(0, width - 4), sample.dtype)).astype(int)
        assert stats.chisquare(np.bincount(top, minlength=1 << min(width, 4))).pvalue > 1e-9
        low = (sample & np.asarray(1, sample.dtype)).astype(int)
        assert stats.chisquare(np.bincount(low, minlength=2)).pvalue > 1e-9
    for width in (1, 9, 64, 200):
        assert all(0 <= stream.word(width) < 1 << width for _ in range(100))
    assert max(stream.word(200).bit_length() for _ in range(100)) > 190


def test_nothing_is_handed_out_twice() -> None:
    """Draws of every size, over several keys: all 64-bit words are different."""
    stream = bits.SystemBits()
    sizes = [1, 7, 8191, 8192, 8193, 40_000, 3] * 4
    pieces = [stream.take(size, 64).copy() for size in sizes] + [
        np.array([stream.word(64)], np.uint64) for _ in range(50)
    ]
    everything = np.concatenate(pieces)
    assert everything.size > 2**17  # more than one key's worth
    assert len(np.unique(everything)) == everything.size


def test_key_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[bytes] = []
    monkeypatch.setattr(bits.os, "urandom", lambda n, real=os.urandom: keys.append(real(n)) or keys[-1])
    stream = bits.SystemBits()
    stream.take(1 << 18, 64)  # two mebibytes
    assert sorted(len(key) for key in keys) == [16, 16, 32, 32]


def test_script_stands_in_only_inside_its_block() -> None:
    script = ScriptedBits(((5, 8),))
    real = bits.source()
    with bits.scripted(script):
        assert bits.source().word(8) == 5
    assert bits.source() is real
