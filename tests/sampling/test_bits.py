"""The source of chance: fork, threads, keys, and what it hands out."""

from __future__ import annotations

import copy
import ctypes
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

from sfumato.errors import InputError
from sfumato.sampling import bits, fork_detection, laplace, pool, sample_gaussian, sample_laplace
from sfumato.sampling.cuts import UNDECIDED
from sfumato.sampling.pool import Pool
from tests.sampling.enumerate_bits import ScriptedBits


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


NAMESPACES = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
USER, PID = 0x10000000, 0x20000000

def inside(flags):
    if libc.unshare(flags):
        print("not allowed"), sys.exit()
    child = libc.fork()
    if child:
        os.waitpid(child, 0)
    return child

if inside(USER | PID):  # the child is process 1 of its namespace
    sys.exit()
from sfumato.sampling import bits
bits.source().word(64)
assert os.getpid() == 1
inside(PID)  # and so is its child
print(os.getpid(), bits.source().word(128), flush=True)
"""


def test_fork_with_the_same_process_number_does_not_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """C code may fork into a new pid namespace, where the child has the number of its parent."""
    if not fork_detection.sees_every_fork():
        pytest.skip("this system does not mark forked memory")
    with monkeypatch.context() as patched:
        patched.setattr(os, "getpid", lambda: fork_detection._epoch.process)
        check_fork(ctypes.CDLL(None).fork)
    source = Path(bits.__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-c", NAMESPACES],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source)},
    )
    if "not allowed" in run.stdout:
        return  # the half above has been checked
    lines = [line.split() for line in run.stdout.splitlines()]
    assert [number for number, _ in lines] == ["1", "1"], run.stdout + run.stderr
    assert lines[0][1] != lines[1][1]


def test_without_marked_memory_the_process_number_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_detection._epoch, "page", None)
    assert not fork_detection.sees_every_fork()
    check_fork(ctypes.CDLL(None).fork)


def test_a_system_without_the_mark_has_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_detection, "_WIPE_ON_FORK", 10**6)
    assert fork_detection._marked_page() is None


def test_epoch_is_kept_until_a_fork() -> None:
    before = bits.epoch()
    drawn()
    assert bits.epoch() is before
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        kept = bits.epoch() is bits.epoch()
        os.write(write, b"same" if bits.epoch() is before else b"new " if kept else b"lost")
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


@contextmanager
def hasty() -> Iterator[None]:
    """Threads take turns after every few steps."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def in_threads(run: Callable[[], object], count: int = 4) -> None:
    threads = [threading.Thread(target=run) for _ in range(count)]
    with hasty():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def test_pools_hand_out_once() -> None:
    """Four threads empty and refill one pool of single draws: every number is handed out once."""
    counter = iter(range(10**9))
    shared = Pool(lambda bits, count: np.array([next(counter) for _ in range(count)]))
    heard: list[list[int]] = []

    def run() -> None:
        mine = []
        for i in range(2500):
            mine.append(shared.take(bits.source()))
            mine += shared.many(bits.source(), i % 7).tolist()
        heard.append(mine)

    in_threads(run)
    everything = [number for numbers in heard for number in numbers]
    assert len(everything) == len(set(everything)) == 4 * (2500 + sum(i % 7 for i in range(2500)))


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
    assert [len(key) for key in keys] == [32]  # one run, one key
    for _ in range(20):
        stream.take(1 << 13, 64)  # 64 kB a time
    assert [len(key) for key in keys] == [32] * 3


def test_script_stands_in_only_inside_its_block() -> None:
    script = ScriptedBits(((5, 8),))
    real = bits.source()
    with bits.scripted(script):
        assert bits.source().word(8) == 5
    assert bits.source() is real


def test_one_stream_in_many_threads_repeats_nothing() -> None:
    """A stream belongs to a thread; where it is used by several all the same, nothing is handed out twice."""
    stream = bits.SystemBits()
    heard: list[list[int]] = []
    start = threading.Barrier(4)

    def run() -> None:
        start.wait()
        heard.append([stream.word(64) for _ in range(20_000)])

    in_threads(run)
    everything = [word for words in heard for word in words]
    assert len(everything) == len(set(everything)) == 80_000


def test_a_signal_within_a_draw_repeats_nothing() -> None:
    """A handler that draws runs between two steps of a draw: after every line of the code, one after the other."""
    stream = bits.SystemBits()
    stream.word(64)
    heard: list[int] = []
    lines = wanted = 0

    def handler(*_: object) -> None:
        heard.append(stream.word(64))

    def trace(frame: object, event: str, _: object) -> object:
        nonlocal lines
        if frame.f_code.co_filename != bits.__file__:  # type: ignore[attr-defined]
            return None
        if event == "line":
            lines += 1
            if lines == wanted:
                signal.raise_signal(signal.SIGUSR1)
        return trace

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        for step in range(1, 40):
            lines, wanted = 0, step
            sys.settrace(trace)
            try:
                heard.append(stream.word(64))
            finally:
                sys.settrace(None)
            heard += [stream.word(64) for _ in range(3)]
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(heard) > 39 * 4 + 10  # the handler did run within draws
    assert len(heard) == len(set(heard))


def test_streams_are_not_copied() -> None:
    for held in (bits.source(), bits.SystemBits()):
        for twice in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="not copied"):
                twice(held)


def test_pools_are_not_copied() -> None:
    sample_laplace(Fraction(7))
    for held in (laplace._plan(Fraction(7)).pool, laplace._plan(Fraction(7))):
        for twice in (copy.deepcopy, pickle.dumps):
            with pytest.raises((TypeError, pickle.PicklingError)):
                twice(held)


def made_by(key: bytes, count: int) -> bytes:
    """The run of a key: the next key, and what is handed out."""
    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(32 + count))


def test_used_bits_are_erased() -> None:
    """Whoever reads the state of a stream can tell what it will hand out next, and nothing that it has handed out."""
    for sizes in ([1, 100, 1000, 3], [20_000, 5], [1 << 14, 1 << 15, 7], [5, 1 << 16, 9, 9000, 9000]):
        stream = bits.SystemBits()
        given = [stream.take(size, 64).copy() for size in sizes]
        key, held = bytes(stream._stream._key), bytes(stream._stream._buffer)
        future = made_by(key[:32], 1 << 20)
        state = held + key + future
        for words in given:
            text = words.tobytes()
            assert not any(text[i : i + 8] in state for i in range(0, len(text), max(8, len(text) // 400 * 8)))
        assert not any(held[: stream._stream._at])
        rest = b"".join(stream.take(1, 64).tobytes() for _ in range((bits._BLOCK - stream._stream._at) // 8))
        assert rest in held
        assert stream.take(100, 64).tobytes() == future[32:832]


def work(run: Callable[[], object]) -> int:
    """How many calls are made, of functions in Python and in C."""
    calls = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("size", [1, 8, 100])
def test_a_pool_does_the_same_work_for_any_number(size: int) -> None:
    """Short arrays take the same steps whatever numbers they get; no clock is read, so nothing is left to chance."""
    scale = Fraction(10)
    sample_laplace(scale, 100_000)
    plan = laplace._plan(scale)
    found: dict[int, list[int]] = {}
    for _ in range(3000):
        before = plan.pool._at
        heard: list[np.ndarray] = []
        calls = work(lambda: heard.append(sample_laplace(scale, size)))  # noqa: B023  it is called here
        if plan.pool._at > before > 0:  # not a refill
            found.setdefault(calls, []).append(int(np.abs(heard[0]).max()))
    assert len(found) == 1
    (sizes,) = found.values()
    assert max(sizes) > 50  # rare and usual ones
    assert min(sizes) < 50


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(10), Fraction(1000)])
def test_long_arrays_do_the_same_work_with_and_without_rare_numbers(scale: Fraction) -> None:
    """Where sixteen bits do not decide, more are drawn in steps that are taken in any case."""
    plan = laplace._Plan(scale)
    plan.many(bits.source(), 100_000)
    table = plan.top
    assert (table.guide == UNDECIDED).sum() > 2
    found = set()
    rare = []
    for _ in range(400):
        stream = bits.SystemBits()
        stream.word(64)
        heard: list[np.ndarray] = []
        found.add(work(lambda: heard.append(table.draws(stream, 200)[1])))  # noqa: B023  it is called here
        rare.append(heard[0].size)
    assert min(rare) == 0 < max(rare)
    assert len(found) == 1


def test_longer_arrays_are_drawn_directly() -> None:
    asked: list[int] = []
    shared = Pool(lambda _, count: asked.append(count) or np.zeros(count, np.int64))
    shared.many(bits.source(), pool.SHORT + 1)
    for _ in range(2000):
        shared.many(bits.source(), 100)
    assert asked[0] == pool.SHORT + 1
    assert asked[1:6] == [100, 256, 1024, 4096, 15_000]
    assert set(asked[6:]) == {15_000}


def test_nothing_steps_back_to_what_was_handed_out() -> None:
    """What was handed out is overwritten with zeros: a draw of less than nothing must not make them the next noise."""
    scale = Fraction(10**9)
    for bad in (-1, -1000):
        before = sample_laplace(scale, 5).tolist()
        for refused in (
            lambda: sample_laplace(scale, bad),  # noqa: B023  it is called here
            lambda: sample_gaussian(scale**2, bad),  # noqa: B023  the same
            lambda: bits.source().take(bad, 64),  # noqa: B023  the same
        ):
            with pytest.raises((InputError, ValueError), match="at least 0"):
                refused()
        for wrong in (1.5, "2", None):
            with pytest.raises(TypeError):
                bits.source().take(wrong, 64)
        after = [sample_laplace(scale, 3).tolist(), sample_gaussian(scale**2, 3).tolist(), [bits.source().word(64)]]
        assert 0 not in [number for numbers in after for number in numbers]  # by chance once in 1e8 runs
        assert not set(before) & set(after[0])
