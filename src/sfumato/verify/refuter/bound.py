"""Verify, refuter: how much one way can lose. Comes in: tests of a way, and how far they move. Goes out: a number.

The cheapest shifts of the noises that keep every test of a way; where noises hang together like a tree, found noise
by noise on a grid. It says where to look, and nothing else.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.verify.refuter.chances import CentredLaw
from sfumato.verify.refuter.forms import Form

Array = Any
_GRID = np.arange(-6, 7) / 2


def cheapest(tests: list[Form], steps: list[Fraction], noises: tuple[CentredLaw, ...]) -> float | None:
    """The least cost of shifts under which all tests hold that held before they moved by `steps`; None if not known."""
    unit = max((abs(float(step)) for step in steps), default=0.0)
    if not unit:
        return 0.0
    shifts = unit * _GRID
    tables = {number: _prices(noise, shifts) for number, noise in enumerate(noises)}
    rows = [
        ({number: float(factor) for number, factor in test.factors}, float(step))
        for test, step in zip(tests, steps, strict=True)
    ]
    total = 0.0
    while tables:
        near: dict[int, set[int]] = {number: set() for number in tables}
        for row, _ in rows:
            for number in row:
                near[number] |= row.keys() - {number}
        number = min(near, key=lambda name: (len(near[name]), name))
        if len(near[number]) > 1:
            return None
        mine = [(row, step) for row, step in rows if number in row]
        rows = [(row, step) for row, step in rows if number not in row]
        table = tables.pop(number)
        other = next(iter(near[number]), None)
        kept = np.ones((len(shifts), len(shifts)), dtype=bool)  # by the shift of the other noise, and by this one
        for row, step in mine:
            there = 0.0 if other is None else row.get(other, 0.0)
            kept &= row[number] * shifts[None, :] + there * shifts[:, None] + step >= -1e-9
        least = np.where(kept, table[None, :], np.inf).min(axis=1)
        if other is None:
            total += float(least[0])
        else:
            tables[other] = tables[other] + least
    return total


def _prices(noise: CentredLaw, shifts: Array) -> Array:
    prices = np.abs(shifts) / float(noise.scale)
    return np.where(shifts < 0, np.inf, prices) if noise.law == "Exponential" else prices
