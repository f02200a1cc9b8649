"""Verify: searches that may fail. Comes in: a search. Goes out: what it found, or nothing.

Proofs and witnesses are checked by others, so a search that runs into a limit (numbers too large for floats, formulas
too deep, memory) has found nothing, and that is all. Errors of the program itself are not held back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sfumato.verify.run import NotRun, RunFault

Found = TypeVar("Found")
LIMITS = (NotRun, RunFault, ArithmeticError, LookupError, TypeError, ValueError, RecursionError, MemoryError)


def attempted(search: Callable[[], Found], otherwise: Found) -> Found:
    """What a search finds; `otherwise` if it fails."""
    try:
        return search()
    except LIMITS:
        return otherwise
