"""Random bytes, and the coins and uniform integers that every local encoder makes from them.

Comes in: a tape, which hands out bytes. Goes out: arrays of truth values and of integers with an exact law. The order
in which bytes are read is part of the format: the browser client reads the same bytes in the same order, so that one
set of test vectors holds for both.

Guarantee: a coin shows heads with probability exactly threshold/2^bits, and a uniform integer has each value below
size with the same probability, if the bytes are uniform.
Proof: a coin compares a random number below 2^bits with the threshold, most significant byte first, and reads a
further byte only while all bytes so far are equal. A uniform integer is a word of as many bits as size - 1 has, drawn
again while it is not below size.
Reference: Knuth and Yao 1976 (lazy comparison); von Neumann 1951 (rejection).
Checked by: local::coins_have_the_exact_law, local::uniform_integers_have_the_exact_law, local::encoders_draw_their_law
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.sampling import source

Octets = NDArray[np.uint8]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Tape(Protocol):
    """A source of uniform bytes."""

    def take(self, count: int) -> Octets:
        """The next `count` bytes."""


class SystemTape:
    """Fresh bytes of the calling thread's generator: safe across threads and forks, and never handed out twice."""

    def take(self, count: int) -> Octets:
        """The next `count` bytes."""
        words: NDArray[Any] = source().take(-(-count // 8), 64)
        return words.view(np.uint8)[:count]


class KeyedTape:
    """Bytes that a secret key and a label determine: the same choice every time, and random to all others.

    Block i is HMAC-SHA256(key, label, i as four bytes, little-endian). A permanent copy of RAPPOR is drawn from it.
    """

    def __init__(self, key: bytes, label: bytes) -> None:
        self._key, self._label, self._block, self._held = key, label, 0, b""

    def take(self, count: int) -> Octets:
        """The next `count` bytes."""
        while len(self._held) < count:
            message = self._label + self._block.to_bytes(4, "little")
            self._held += hmac.new(self._key, message, hashlib.sha256).digest()
            self._block += 1
        part, self._held = self._held[:count], self._held[count:]
        return np.frombuffer(part, np.uint8)


class PublicTape:
    """Bytes that a public text determines (SHAKE-256): for random choices that must not be tried again until they
    please, such as those of a test. Never for noise.
    """

    def __init__(self, label: bytes) -> None:
        self._label, self._part = hashlib.sha256(label).digest(), 0

    def take(self, count: int) -> Octets:
        """The next `count` bytes."""
        part = hashlib.shake_256(self._label + self._part.to_bytes(8, "little")).digest(count)
        self._part += 1
        return np.frombuffer(part, np.uint8)


class GivenTape:
    """Bytes that were given: for test vectors only."""

    def __init__(self, octets: bytes) -> None:
        self._octets, self._at = octets, 0

    def take(self, count: int) -> Octets:
        """The next `count` bytes."""
        part = self._octets[self._at : self._at + count]
        if len(part) < count:
            raise InputError("the given bytes are used up")
        self._at += count
        return np.frombuffer(part, np.uint8)


def sample_coins(tape: Tape, count: int, threshold: int, bits: int) -> Flags:
    """`count` independent coins, each true with probability threshold/2^bits; bits is a multiple of 8."""
    if threshold == 1 << bits:
        return np.ones(count, np.bool_)
    first, *rest = threshold.to_bytes(bits // 8, "big")
    octets = tape.take(count)
    heads: Flags = octets < first
    ties = np.flatnonzero(octets == first)
    for digit in rest:
        if not ties.size:
            break
        octets = tape.take(ties.size)
        heads[ties[octets < digit]] = True
        ties = ties[octets == digit]
    return heads


_STORED = {0: 0, 1: 1, 2: 2, 3: 4, 4: 4}
"""Bytes that a word of so many bytes is read from."""


def sample_uniform_bytes(tape: Tape, count: int, size: int) -> Indices:
    """`count` integers, each uniform below `size`, which is at most 2^32."""
    width = (size - 1).bit_length()
    if not width:
        return np.zeros(count, np.int64)
    words = _words(tape, count, width)
    while (again := np.flatnonzero(words >= size)).size:
        words[again] = _words(tape, again.size, width)
    return words


def _words(tape: Tape, count: int, width: int) -> Indices:
    stored = _STORED[(width + 7) // 8]
    raw = tape.take(count * stored).view(f"<u{stored}")
    words: Indices = (raw & raw.dtype.type((1 << width) - 1)).astype(np.int64)
    return words


def pack_integers(values: NDArray[Any], octets: int) -> Octets:
    """Integers as so many bytes each, little-endian, one row per integer."""
    whole = np.ascontiguousarray(values, "<i8").view(np.uint8).reshape(len(values), 8)
    return np.ascontiguousarray(whole[:, :octets])


def unpack_integers(rows: Octets) -> Indices:
    """The inverse of `pack_integers`."""
    whole = np.zeros((len(rows), 8), np.uint8)
    whole[:, : rows.shape[1]] = rows
    return whole.view("<i8").ravel().astype(np.int64)


def octets_for(size: int) -> int:
    """How many bytes hold every integer below `size`; at least one."""
    return max(1, ((size - 1).bit_length() + 7) // 8)
