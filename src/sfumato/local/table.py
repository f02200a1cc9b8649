"""The table of all encoders, by the names that task files use."""

from __future__ import annotations

from typing import Any

from sfumato.local.dbitflip import BitFlip
from sfumato.local.hadamard import HadamardResponse
from sfumato.local.kary import KAryResponse, Warner
from sfumato.local.localhash import LocalHashing
from sfumato.local.numbers import DuchiBit, HybridNumber, Piecewise
from sfumato.local.rappor import Rappor
from sfumato.local.sketch import CountMeanSketch, PrefixExtending
from sfumato.local.subset import SubsetSelection
from sfumato.local.unary import SymmetricUnary, UnaryEncoding

ENCODERS: dict[str, type[Any]] = {
    kind.name: kind
    for kind in (
        Warner,
        KAryResponse,
        SymmetricUnary,
        UnaryEncoding,
        HadamardResponse,
        LocalHashing,
        SubsetSelection,
        BitFlip,
        Rappor,
        CountMeanSketch,
        PrefixExtending,
        DuchiBit,
        Piecewise,
        HybridNumber,
    )
}
"""Every mechanism: a frozen record with `planned`, `epsilon`, `encode`, `valid` and `tally`."""
