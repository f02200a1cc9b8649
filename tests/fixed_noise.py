"""Noise that a test's name determines, so that a test that passed passes again."""

from __future__ import annotations

import zlib

import numpy as np

_STEPS = ((16, np.uint16), (32, np.uint32), (64, np.uint64))


class FixedBits:
    """Uniform words of a seeded generator, through the source that the samplers take their bits from."""

    def __init__(self, name: str) -> None:
        self._generator = np.random.Generator(np.random.Philox(zlib.crc32(name.encode())))

    def take(self, count, width):
        """`count` words, each uniform below 2^width, width at most 64."""
        for size, dtype in _STEPS:
            if width <= size:
                words = self._generator.integers(0, np.iinfo(dtype).max, count, dtype, endpoint=True)
                return words >> dtype(size - width)
        raise ValueError("take gives at most 64 bits a word")

    def word(self, width):
        """One word uniform below 2^width, of any width."""
        count = (width + 7) // 8
        return int.from_bytes(self._generator.bytes(count), "little") >> (8 * count - width)
