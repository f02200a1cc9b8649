"""Where chance comes from: the operating system's generator, stretched by AES-256 in counter mode.

Comes in: nothing. Goes out: words of uniform bits, as arrays or as Python integers. Each thread has its own stream; a
stream is keyed by the operating system, keyed anew after every mebibyte, and thrown away after a fork. There is no
seed. Tests put a scripted source in its place with `scripted`.

Guarantee: no two processes, threads or calls are handed the same bits, and what was handed out cannot be had again.
Proof: a block is an immutable bytes object that is cut once from front to back by one thread; the key is 32 fresh bytes
of the operating system; a forked child sees another epoch and drops key and block before it draws.
Reference: NIST SP 800-38A (counter mode); the fork trap is documented by tmlt.core's rng module.
Checked by: chance::fork_does_not_repeat, chance::fork_below_python_does_not_repeat, chance::threads_do_not_share,
chance::words_are_uniform
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

Words = NDArray[np.unsignedinteger[Any]]

_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)
_BLOCKS_PER_KEY = 16
_STEPS: tuple[tuple[int, np.dtype[Any]], ...] = tuple((size, np.dtype(f"u{size // 8}")) for size in (16, 32, 64))


class Bits(Protocol):
    """A source of uniform, independent bits."""

    def take(self, count: int, width: int) -> Words:
        """`count` words, each uniform below 2^width, width at most 64."""

    def word(self, width: int) -> int:
        """One word uniform below 2^width, of any width."""


class _Epoch:
    """Changes with every fork: at once where Python forks, at the next draw where a library forks below Python."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.process = os.getpid()
        self.token = object()

    def current(self) -> object:
        if os.getpid() != self.process:
            self.renew()
        return self.token


_epoch = _Epoch()
os.register_at_fork(after_in_child=_epoch.renew)


def epoch() -> object:
    """A token that is the same object until this process is forked; what was drawn in another epoch is not used."""
    return _epoch.current()


class SystemBits:
    """The stream of one thread."""

    def __init__(self) -> None:
        self._epoch: object = None
        self._blocks_left = 0
        self._block = b""
        self._at = 0
        self._stream: CipherContext

    def _fresh_block(self) -> bytes:
        if self._blocks_left == 0:
            self._stream = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor()
            self._blocks_left = _BLOCKS_PER_KEY
        self._blocks_left -= 1
        return self._stream.update(_ZEROS)

    def _bytes(self, count: int) -> tuple[bytes, int]:
        """Bytes nobody has seen, as (object, offset); whole blocks are joined where one is not enough."""
        now = _epoch.current()
        if now is not self._epoch:
            self._epoch, self._blocks_left, self._block, self._at = now, 0, b"", 0
        if count > len(self._block) - self._at:
            if count > _BLOCK:
                return b"".join(self._fresh_block() for _ in range(-(-count // _BLOCK))), 0
            self._block, self._at = self._fresh_block(), 0
        at = self._at
        self._at = at + count
        return self._block, at

    def take(self, count: int, width: int) -> Words:
        """`count` words, each uniform below 2^width, width at most 64."""
        for size, dtype in _STEPS:
            if width <= size:
                held, at = self._bytes(count * (size // 8))
                words: Words = np.frombuffer(held, dtype, count, at)
                return words if width == size else words >> np.asarray(size - width, dtype)
        raise ValueError("take gives at most 64 bits a word")

    def word(self, width: int) -> int:
        """One word uniform below 2^width, of any width."""
        count = (width + 7) // 8
        held, at = self._bytes(count)
        return int.from_bytes(held[at : at + count], "little") >> (8 * count - width)


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
