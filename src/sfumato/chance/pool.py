"""Single draws at the price of many, and without a clock in them: a few are drawn at once and handed out one by one.

Comes in: a sampler of arrays. Goes out: one Python int at a time, each handed out once.

Guarantee: a number is handed out once, in one process; how long that takes does not depend on the number.
Proof: taking the last item off a list is one step that no other thread can divide; a pool carries the epoch in which it
was drawn and is dropped in any other, so after a fork parent and child share nothing. The list holds finished integers.
Reference: Jin, McMurtry, Rubinstein, Ohrimenko, IEEE S&P 2022 (what the duration of a draw tells).
Checked by: chance::fork_does_not_repeat, chance::pools_hand_out_once
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from sfumato.chance.bits import Bits, epoch

_SIZE = 64


class Pool:
    """Draws of one law, waiting."""

    __slots__ = ("_drawn", "_sample")

    def __init__(self, sample: Callable[[Bits, int], NDArray[Any]]) -> None:
        self._sample = sample
        self._drawn: tuple[object, list[int]] = (None, [])

    def take(self, bits: Bits) -> int:
        """One draw that nobody else gets."""
        now = epoch()
        while True:
            held, waiting = self._drawn
            if held is now:
                try:
                    return waiting.pop()
                except IndexError:
                    pass
            self._drawn = (now, self._sample(bits, _SIZE).tolist())
