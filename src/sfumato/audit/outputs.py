"""Outputs of any shape as arrays: numbers, truth values, texts, None, exceptions, and lists of these of any length.

Comes in: what a black box returned, many times. Goes out: one row per run, a number and a symbol per place. Every later
step looks at these rows only; what is lost here (digits beyond a double) can hide a leak, never invent one.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBER, ABSENT, NONE, FALSE, TRUE, NAN, PLUS, MINUS, OTHER = range(9)
"""Symbols: a number, beyond the end of a list, None, False, True, not a number, the two infinities; texts from OTHER
on, by a checksum.
"""
LONGEST = 64
"""Places of a list that are looked at."""


@dataclass(frozen=True)
class OutputTable:
    """n runs by k places: `symbols` says what stands there, `numbers` which number (0 where none does)."""

    numbers: NDArray[np.float64]
    symbols: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.numbers)

    def rows(self, start: int, stop: int) -> OutputTable:
        """Some of the runs."""
        return OutputTable(self.numbers[start:stop], self.symbols[start:stop])

    def wide(self, places: int) -> OutputTable:
        """The same with so many places."""
        have = self.numbers.shape[1]
        if have >= places:
            return OutputTable(self.numbers[:, :places], self.symbols[:, :places])
        pad = ((0, 0), (0, places - have))
        return OutputTable(np.pad(self.numbers, pad), np.pad(self.symbols, pad, constant_values=ABSENT))


def together(parts: Sequence[OutputTable]) -> OutputTable:
    """Runs after runs, as wide as the widest."""
    places = max(part.numbers.shape[1] for part in parts)
    padded = [part.wide(places) for part in parts]
    return OutputTable(np.concatenate([p.numbers for p in padded]), np.concatenate([p.symbols for p in padded]))


def encode(values: Any) -> OutputTable:
    """Rows from an array (one run per entry of its first axis) or from a list of outputs."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        return _encode_array(values)
    rows = [_flat(value) for value in values]
    places = min(LONGEST, max((len(row) for row in rows), default=1)) or 1
    numbers = np.zeros((len(rows), places))
    symbols = np.full((len(rows), places), ABSENT, np.int64)
    for i, row in enumerate(rows):
        for j, item in enumerate(row[:places]):
            symbols[i, j], numbers[i, j] = _item(item)
    return _special(OutputTable(numbers, symbols))


def _encode_array(values: NDArray[Any]) -> OutputTable:
    flat = values.reshape(len(values), -1)[:, :LONGEST]
    if values.dtype.kind == "b":
        return OutputTable(np.zeros(flat.shape), np.where(flat, TRUE, FALSE).astype(np.int64))
    return _special(OutputTable(flat.astype(np.float64), np.zeros(flat.shape, np.int64)))


def _special(outputs: OutputTable) -> OutputTable:
    """What is a float but no finite number becomes a symbol."""
    if np.isfinite(outputs.numbers).all():
        return outputs
    symbols, numbers = outputs.symbols.copy(), outputs.numbers.copy()
    symbols[np.isnan(numbers)] = NAN
    symbols[np.isposinf(numbers)] = PLUS
    symbols[np.isneginf(numbers)] = MINUS
    numbers[~np.isfinite(numbers)] = 0.0
    return OutputTable(numbers, symbols)


def _flat(value: Any) -> list[Any]:
    """The places of one output: lists in lists are opened, a dictionary is its items in order of their keys' texts."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        value = sorted(value.items(), key=lambda item: repr(item[0]))
    if not isinstance(value, (list, tuple)):
        return [value]
    flat: list[Any] = []
    for item in value[:LONGEST]:
        flat.extend(_flat(item) if isinstance(item, (list, tuple, dict, np.ndarray)) else [item])
    return flat


def _item(item: Any) -> tuple[int, float]:
    if item is None:
        return NONE, 0.0
    if isinstance(item, (bool, np.bool_)):
        return (TRUE if item else FALSE), 0.0
    if not isinstance(item, (str, bytes)):
        try:
            return NUMBER, float(item)
        except OverflowError:
            return (PLUS if item > 0 else MINUS), 0.0
        except (TypeError, ValueError):
            pass
    return OTHER + zlib.crc32(repr(item).encode()), 0.0


def show_row(outputs: OutputTable, row: int) -> str:
    """One output, for people."""
    names = {NONE: "None", FALSE: "False", TRUE: "True", NAN: "nan", PLUS: "inf", MINUS: "-inf"}
    shown = []
    for symbol, number in zip(outputs.symbols[row].tolist(), outputs.numbers[row].tolist(), strict=True):
        if symbol != ABSENT:
            shown.append(f"{number:g}" if symbol == NUMBER else names.get(symbol, "text"))
    return shown[0] if outputs.numbers.shape[1] == 1 and shown else "[" + ", ".join(shown) + "]"
