"""Verify: how much a search may cost. Comes in: steps. Goes out: nothing, or an exception when all of them are spent.

Steps are counted, never seconds: the same text gives the same verdict on every machine. A step is about a microsecond
of the machine that this was measured on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sfumato.verify.run import NotRun

PROOF, LOOK, MORE = 1_700_000, 2_400_000, 120_000
"""Steps for a proof in one direction, for a witness, and for each thing that can be said where neither was found."""
_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


class EffortSpent(NotRun):
    """All steps were made: the search has found nothing."""


@contextmanager
def limited(steps: int) -> Iterator[None]:
    """Whatever is searched inside may make so many steps, and no more than are left outside."""
    outer = _left.get()
    begun = steps if outer is None else max(min(steps, outer[0]), 0)
    own = [begun]
    token = _left.set(own)
    try:
        yield
    finally:
        _left.reset(token)
        if outer is not None:
            outer[0] -= begun - own[0]


def spend(steps: int) -> None:
    """Count steps; raise Spent when there are none left. Outside of `limited` nothing is counted."""
    left = _left.get()
    if left is not None:
        left[0] -= steps
        if left[0] < 0:
            raise EffortSpent


def is_spent() -> bool:
    """Whether no steps are left."""
    left = _left.get()
    return left is not None and left[0] <= 0
