"""Random bits: the operating system's generator, expanded by AES-256 in counter mode.

Comes in: nothing. Goes out: words of uniform bits, as arrays or as Python integers. Each thread has its own stream; a
stream is keyed by the operating system, keyed anew after every mebibyte, and thrown away after a fork. There is no
seed. Tests put a scripted source in its place with `scripted`.

Guarantee: no two processes, threads or calls are handed the same bits, and the state of a stream does not tell the bits
that it has handed out.
Proof: a buffer is cut from front to back under a lock; a call that finds the lock taken (another thread with the same
stream, or a signal handler within a draw) gets its bits from the operating system instead. A forked child sees another
epoch and drops key and buffer before it draws. A stream refuses to be copied or pickled. (erasure) each key makes one
run of the cipher: its first 32 bytes are the next key, the rest is handed out; the key is overwritten when the run is
made, and bytes are overwritten in the buffer when they are handed out. So the state consists of a key and of bytes that
nobody has seen. What a caller was given, and what Python or the cipher library copied on the way, is not erased.
Reference: NIST SP 800-38A (counter mode); Bernstein 2017 (fast key erasure).
Checked by: sampling::fork_does_not_repeat, sampling::fork_below_python_does_not_repeat,
sampling::fork_with_the_same_process_number_does_not_repeat, sampling::threads_do_not_share,
sampling::one_stream_in_many_threads_repeats_nothing, sampling::a_signal_within_a_draw_repeats_nothing,
sampling::streams_are_not_copied, sampling::used_bits_are_erased, sampling::words_are_uniform
"""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from sfumato.sampling.fork_detection import epoch

Words = NDArray[np.unsignedinteger[Any]]

_BLOCK = 1 << 17
_ZEROS = memoryview(bytes(_BLOCK))
_DIRECT = 1 << 16
"""So many bytes are a run of their own, written where the caller has them."""
_SPARE = 15
"""The cipher asks for a buffer so much longer than what it writes."""
_KEY = 32
_FROM_ZERO = modes.CTR(bytes(16))
"""Every key is used for one run, so the counter may begin at zero."""
_PER_SYSTEM_KEY = 1 << 20
"""After so many bytes the next key comes from the operating system again."""
_STEPS: tuple[tuple[int, np.dtype[Any]], ...] = tuple((size, np.dtype(f"u{size // 8}")) for size in (16, 32, 64))


class Bits(Protocol):
    """A source of uniform, independent bits."""

    def take(self, count: int, width: int) -> Words:
        """`count` words, each uniform below 2^width, width at most 64."""

    def word(self, width: int) -> int:
        """One word uniform below 2^width, of any width."""


class Uncopyable:
    """Holds chance that must not exist twice: copying and pickling raise."""

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} holds random bits and is not copied or stored")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse


class _KeyStream(Uncopyable):
    """Bytes of one epoch. It holds everything that a draw changes, so that no draw can see it half renewed."""

    def __init__(self, now: object) -> None:
        self.epoch = now
        self._lock = threading.Lock()
        self._key = bytearray(_KEY + _SPARE)
        self._left = 0
        self._buffer = bytearray(_BLOCK + _SPARE)
        self._view = memoryview(self._buffer)
        self._at = _BLOCK

    def _run(self, out: Any, count: int) -> None:
        """Write `count` fresh bytes into a buffer that is longer by _SPARE, and replace the key."""
        key = memoryview(self._key)
        if self._left <= 0:
            key[:_KEY] = os.urandom(_KEY)
            self._left = _PER_SYSTEM_KEY
        self._left -= count
        stream = Cipher(algorithms.AES(key[:_KEY]), _FROM_ZERO).encryptor()
        stream.update_into(_ZEROS[:_KEY], key)
        view = memoryview(out)
        for at in range(0, count, _BLOCK):
            size = min(_BLOCK, count - at)
            stream.update_into(_ZEROS[:size], view[at : at + size + _SPARE])

    def cut(self, count: int) -> Any:
        """Bytes nobody has seen, which from here on belong to the caller."""
        if count < 0:  # would step back to bytes that were handed out
            raise ValueError("the number of bytes must be at least 0")
        if not self._lock.acquire(blocking=False):
            return os.urandom(count)
        try:
            if count >= _DIRECT:
                out = np.empty(count + _SPARE, np.uint8)
                self._run(out, count)
                return out[:count]
            at, end = self._at, self._at + count
            if end > _BLOCK:
                self._at = _BLOCK  # an interrupted run leaves nothing to hand out
                self._run(self._view, _BLOCK)
                at, end = 0, count
            self._at = end
            given = self._buffer[at:end]
            self._view[at:end] = _ZEROS[:count]
            return given
        finally:
            self._lock.release()


class SystemBits(Uncopyable):
    """The stream of one thread."""

    def __init__(self) -> None:
        self._stream = _KeyStream(None)

    def _bytes(self, count: int) -> Any:
        now, stream = epoch(), self._stream
        if stream.epoch is not now:
            stream = self._stream = _KeyStream(now)
        return stream.cut(count)

    def take(self, count: int, width: int) -> Words:
        """`count` words, each uniform below 2^width, width at most 64."""
        count = operator.index(count)
        for size, dtype in _STEPS:
            if width <= size:
                words: Words = np.frombuffer(self._bytes(count * (size // 8)), dtype, count)
                return words if width == size else words >> np.asarray(size - width, dtype)
        raise ValueError("take gives at most 64 bits a word")

    def word(self, width: int) -> int:
        """One word uniform below 2^width, of any width."""
        count = (width + 7) // 8
        return int.from_bytes(self._bytes(count), "little") >> (8 * count - width)


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.source: Bits = SystemBits()


_thread = _PerThread()


def source() -> Bits:
    """The stream of the calling thread."""
    return _thread.source


@contextmanager
def scripted(bits: Bits) -> Iterator[None]:
    """For tests only: every draw of this thread comes from `bits` inside the block."""
    kept, _thread.source = _thread.source, bits
    try:
        yield
    finally:
        _thread.source = kept
