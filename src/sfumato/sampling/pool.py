"""Single numbers and short arrays at the cost of many and in constant time: drawn in advance, handed out once.

Comes in: a sampler of arrays. Goes out: Python ints or short arrays, cut from an array that was drawn at once.

Guarantee: a number is handed out once, in one process. How long that takes does not depend on the numbers that are
handed out, but for the refills: the call that finds too few numbers left draws several thousand.
Proof: taking the last item off a list is one step that no other thread can divide, and an array is cut from front to
back under a lock; a call that finds the lock taken (another thread, or a signal
handler within a draw) draws an array of its own. A pool carries the epoch in which it was drawn and is dropped in any
other, so after a fork parent and child share nothing. Numbers are copied out and overwritten without a look at them. A
refill takes longer where one of its numbers needed more bits than usual; that number is one of thousands.
Reference: Jin, McMurtry, Rubinstein, Ohrimenko, IEEE S&P 2022 (what the duration of a draw tells).
Checked by: sampling::fork_does_not_repeat, sampling::pools_hand_out_once,
    sampling::a_pool_does_the_same_work_for_any_number,
sampling::pools_are_not_copied
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.sampling.bits import Bits, Uncopyable
from sfumato.sampling.fork_detection import epoch

SHORT = 5_000
"""Arrays up to this length come out of a pool."""
_FIRST, _FULL = 64, 15_000
"""A pool begins with few numbers, for a law may be asked for one number only; each refill is four times as large. A
full one is drawn with arrays below 128 kB, which the C library does not return to the system after each use.
"""


class Pool(Uncopyable):
    """Draws of one law, waiting."""

    __slots__ = ("_at", "_drawn", "_epoch", "_lock", "_sample", "_single", "_size")

    def __init__(self, sample: Callable[[Bits, int], NDArray[Any]]) -> None:
        self._sample = sample
        self._lock = threading.Lock()
        self._epoch: object = None
        self._drawn: NDArray[Any] = np.empty(0, np.int64)
        self._at, self._size = 0, _FIRST
        self._single: tuple[object, list[int]] = (None, [])

    def take(self, bits: Bits) -> int:
        """One draw that nobody else gets."""
        now = epoch()
        while True:
            held, waiting = self._single
            if held is now:
                try:
                    return waiting.pop()
                except IndexError:
                    pass
            self._single = (now, self.many(bits, _FIRST).tolist())

    def many(self, bits: Bits, count: int) -> NDArray[Any]:
        """A short array of draws that nobody else gets; what is longer than SHORT is drawn directly."""
        count = operator.index(count)
        if count < 0:  # would step back to numbers that were handed out
            raise InputError("the number of draws must be at least 0")
        if count > SHORT:
            return self._sample(bits, count)
        now = epoch()
        if not self._lock.acquire(blocking=False):
            return self._sample(bits, max(_FIRST, count))[:count].copy()
        try:
            at, end = self._at, self._at + count
            if now is not self._epoch or end > self._drawn.size:
                self._drawn = self._sample(bits, max(self._size, count))
                self._epoch, self._size = now, min(4 * self._size, _FULL)
                at, end = 0, count
            self._at = end
            given = self._drawn[at:end].copy()
            self._drawn[at:end] = 0
            return given
        finally:
            self._lock.release()
