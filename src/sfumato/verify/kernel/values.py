"""Verify, kernel: values of two runs side by side. Comes in: polynomials. Goes out: records that the product program
moves.

`one` belongs to the run on the first input, `two` to the run on its neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.verify.kernel.polynomial import Poly
from sfumato.verify.tree import Type


@dataclass(frozen=True, slots=True)
class PairedNumber:
    """A number in both runs; `whole` if it is an integer in both."""

    one: Poly
    two: Poly
    whole: bool


@dataclass(frozen=True, slots=True)
class Boolean:
    """A truth in both runs."""

    one: Any
    two: Any


@dataclass(frozen=True, slots=True)
class PairedList:
    """A list whose length is known, the same in both runs."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Stream:
    """A list of which only this is known: whether it is the same in both runs, and its lengths."""

    same: Any
    length: PairedNumber


@dataclass(frozen=True, slots=True)
class Input:
    """A parameter that is a list or a record, or a row of one: read by further indices."""

    name: str
    type: Type
    at: tuple[PairedNumber, ...] = ()


Value = PairedNumber | Boolean | PairedList | Stream | Input
