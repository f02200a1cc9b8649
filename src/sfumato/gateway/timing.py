"""When results drawn from rows become visible: at once, or on a fixed time grid (semantics 6.3).

Comes in: the moment at which a question arrived, and the work on rows. Goes out: the same result, at a moment of the
grid. Two things can be seen, and each has its moments, counted from the arrival:

    plan, debit, engine, noise  ──▶  100 ms, 200 ms, 400 ms, …   the answer is stored, or the failure recorded
    store, finish               ──▶  every 50 ms                 the reply leaves

The first is for who asks meanwhile, on another connection, whether the answer is there. The second is for who measures
the reply: storing and finishing see released numbers only, but run on a processor whose caches remember the engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

FIRST = 0.1
"""Seconds to the first moment: ten times what a question on a million rows takes, two writes to a disk included, so
that work at the edge of a slot is rare."""


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
        Checked by: unit::what_follows_begins_on_the_grid, unit::an_answer_is_stored_on_the_grid,
            unit::a_failure_waits_like_an_answer, end_to_end::padded_replies_cannot_be_told_apart,
            end_to_end::plain_replies_can_be_told_apart
        """
        try:
            yield
        finally:
            if self.first:
                self._wait(arrived + slot(self.now() - arrived, self.first))

    @contextmanager
    def even(self, arrived: float, *, wait: bool) -> Iterator[None]:
        """What leaves at the next multiple of half a first slot; where no row was read there is nothing to wait for."""
        try:
            yield
        finally:
            if self.first and wait:
                step = self.first / 2
                self._wait(arrived + step * -(-(self.now() - arrived) // step))

    def _wait(self, moment: float) -> None:
        while (left := moment - self.now()) > 0:  # a sleep may end early
            self.sleep(left)


def slot(elapsed: float, first: float = FIRST) -> float:
    """The first of 100 ms, 200 ms, 400 ms, … that is not over yet.

    >>> [slot(seconds) for seconds in (0, 0.01, 0.1, 0.11, 0.5)]
    [0.1, 0.1, 0.1, 0.2, 0.8]
    """
    moment = first
    while moment < elapsed:
        moment *= 2
    return moment


def grid_of(timing: str) -> Grid:
    """What the policy says: "plain" or "padded"."""
    return Grid(FIRST if timing == "padded" else 0)
