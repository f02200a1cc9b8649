"""When numbers that were drawn from rows come to light: at once, or on a grid of times (semantics 6.3).

Comes in: the moment at which a question arrived, and the work on rows. Goes out: the same result, at a moment of the
grid: 50 ms after the arrival, or 100 ms, 200 ms, and so on. The walk puts debit, engine and noise in front of that
moment, and behind it what sees released numbers only: storing the answer, a record of failure, the reply. So the grid
holds for whoever measures the reply, and for whoever asks meanwhile, on another connection, whether it is stored yet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

FIRST = 0.05
"""Seconds to the first moment: most questions on a million rows end before it, two writes to a disk included."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The moments; `now` and `sleep` are the operating system's, but in tests. A grid of 0 is plain: nothing waits."""

    first: float = FIRST
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    @contextmanager
    def hidden(self, arrived: float) -> Iterator[None]:
        """Work whose length is not shown; a failure waits like a result.

        Guarantee: under `timing = "padded"` what follows the block begins at `arrived` + first·2^k, late only by the
            operating system; k is the least whole number for which the work had ended by then. Two runs with the same
            k cannot be told apart by when they go on, whatever they took and whether they failed.
        Proof: the block is left only after the clock has reached that moment, which is computed from k alone. It does
            not cover which k it is: log2 of the number of moments per question, and nothing where both runs end
            between the same two. It does not cover what other questions feel of processor, memory and disk.
        Reference: semantics 6.3; Haeberlen, Pierce, Narayan, USENIX Security 2011 (fixed durations).
        Checked by: rooms::what_follows_begins_on_the_grid, rooms::an_answer_is_stored_on_the_grid,
            rooms::a_failure_waits_like_an_answer, doors::padded_replies_cannot_be_told_apart,
            doors::plain_replies_can_be_told_apart
        """
        try:
            yield
        finally:
            if self.first:
                self._wait(arrived)

    def _wait(self, arrived: float) -> None:
        wanted = arrived + slot(self.now() - arrived, self.first)
        while (left := wanted - self.now()) > 0:  # a sleep may end early
            self.sleep(left)


def slot(elapsed: float, first: float = FIRST) -> float:
    """The first of 50 ms, 100 ms, 200 ms, … that is not over yet.

    >>> [slot(seconds) for seconds in (0, 0.01, 0.05, 0.051, 0.3)]
    [0.05, 0.05, 0.05, 0.1, 0.4]
    """
    moment = first
    while moment < elapsed:
        moment *= 2
    return moment


def grid_of(timing: str) -> Grid:
    """What the policy says: "plain" or "padded"."""
    return Grid(FIRST if timing == "padded" else 0)
