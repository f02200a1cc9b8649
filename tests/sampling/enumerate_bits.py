"""A scripted bit source, and the exact law of anything that draws from it: every bit string is tried."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction

import numpy as np


class OutOfBits(Exception):
    """The script ended: the sampler wants `wanted` more bits."""

    def __init__(self, wanted: int) -> None:
        super().__init__(wanted)
        self.wanted = wanted


class ScriptedBits:
    """Hands out the words of a script, one after the other, checking that each has the width that is asked for."""

    def __init__(self, script: tuple[tuple[int, int], ...]) -> None:
        self.script, self.at = script, 0

    def word(self, width: int) -> int:
        if width == 0:
            return 0
        if self.at == len(self.script):
            raise OutOfBits(width)
        value, stated = self.script[self.at]
        assert stated == width, "the sampler is not a function of its bits"
        self.at += 1
        return value

    def take(self, count: int, width: int) -> np.ndarray:
        return np.array([self.word(width) for _ in range(count)], np.uint64)


def exact_law(sample: Callable[[ScriptedBits], Hashable], most_bits: int) -> tuple[dict[Hashable, Fraction], Fraction]:
    """(mass of each outcome, mass of the bit strings that were still undecided after `most_bits` bits)."""
    mass: dict[Hashable, Fraction] = defaultdict(Fraction)
    undecided = Fraction(0)
    waiting: list[tuple[tuple[tuple[int, int], ...], int]] = [((), 0)]
    while waiting:
        script, used = waiting.pop()
        source = ScriptedBits(script)
        try:
            outcome = sample(source)
            assert source.at == len(script), "bits were drawn and not used"
            mass[outcome] += Fraction(1, 1 << used)
        except OutOfBits as more:
            if used + more.wanted > most_bits:
                undecided += Fraction(1, 1 << used)
                continue
            waiting += [((*script, (word, more.wanted)), used + more.wanted) for word in range(1 << more.wanted)]
    return dict(mass), undecided
