"""Ranges of numbers: whole ones as ints, all of them exact. Comes in: ends and a step. Goes out: a list."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.errors import InputError
from sfumato.types import as_written, positive, show


def ladder(low: Any, high: Any, step: Any = 1) -> list[Any]:
    """From low to high, whole numbers as such."""
    first, last, by = as_written(low, "low"), as_written(high, "high"), positive(step, "step")
    if first > last or (last - first) / by > 10_000:
        raise InputError(
            "a range goes up from its low to its high end, in at most 10000 steps",
            detail=f"This one goes from {show(first)} to {show(last)} in steps of {show(by)}.",
        )
    return [tidy(first + i * by) for i in range(int((last - first) / by) + 1)]


def tidy(number: Fraction) -> int | Fraction:
    """A whole number as an int."""
    return int(number) if number.denominator == 1 else number
