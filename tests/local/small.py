"""Encoders small enough to list every report, with every threshold a multiple of 64 of 256, and random ones."""

import random
from dataclasses import replace
from itertools import product

import numpy as np

from sfumato.errors import InputError
from sfumato.local import ENCODERS
from sfumato.local.dbitflip import BitFlip
from sfumato.local.hadamard import HadamardResponse
from sfumato.local.kary import KAryResponse, Warner
from sfumato.local.localhash import LocalHashing
from sfumato.local.numbers import DuchiBit, HybridNumber, Piecewise
from sfumato.local.rappor import Rappor
from sfumato.local.sketch import CountMeanSketch, PrefixExtending
from sfumato.local.subset import SubsetSelection
from sfumato.local.unary import SymmetricUnary, UnaryEncoding

COIN = (0, 64, 128, 192)
"""A byte compared with a multiple of 64 says as much as one of these."""
TEXTS = ["a", "b", "c", "dd"]

DRAWN = [
    (Warner(2, 192, 8), [COIN]),
    (KAryResponse(3, 128, 8), [COIN, (0, 1)]),
    (KAryResponse(5, 192, 8), [COIN, (0, 1, 2, 3)]),
    (UnaryEncoding(3, 128, 64, 8), [COIN] * 4),
    (SymmetricUnary(2, 192, 64, 8), [COIN] * 3),
    (HadamardResponse(4, 192, 8), [(0, 1, 2, 3), COIN]),
    (HadamardResponse(3, 192, 8), [(0, 1, 2, 3), COIN]),
    (LocalHashing(2, 2, 192, 2, 8), [(0, 1), (0, 1), COIN]),
    (SubsetSelection(3, 1, 128, 8), [COIN, (0, 1)]),
    (SubsetSelection(3, 2, 192, 8), [COIN, (0, 1)]),
    (BitFlip(4, 1, 192, 8), [(0, 1, 2, 3), COIN]),
    (BitFlip(2, 2, 192, 8), [(0, 1), COIN, COIN]),
    (DuchiBit(192, 4, 8), [(0, 1, 2, 3), COIN]),
    (Piecewise(2, 128, 6, 8), [COIN, (0, 1), (0, 1, 2, 3)]),
    (HybridNumber(64, 2, 128, 192, 6, 8), [COIN, COIN, (0, 1), (0, 1, 2, 3), (0, 1, 2, 3), COIN]),
    (Rappor(2, 1, 2, 64, 192, 64, 8), [(0, 1), *[COIN] * 6]),
    (Rappor(2, 2, 2, 64, 256, 0, 8), [(0, 1), *[COIN] * 4]),
    (CountMeanSketch(2, 2, 192, 3, 5, 8), [(0, 1), COIN, COIN]),
    (PrefixExtending(1, 2, 192, 2, 8), [(0, 1), (0, 1), (0, 1), COIN]),
]
"""Each with the bytes that it can draw, one alphabet for each place."""


def same_salt(encoder):
    """An encoder that several processes name alike: a planned sketch draws its salt."""
    return replace(encoder, salt=0) if isinstance(encoder, CountMeanSketch) else encoder


class AllTapes:
    """Every tape at once: row r reads the r-th combination of the alphabets."""

    def __init__(self, alphabets):
        self.rows = np.array(list(product(*alphabets)), np.uint8)
        self._at = 0

    def take(self, count):
        many = count // len(self.rows)
        assert many * len(self.rows) == count, "a row drew more than the others"
        part = self.rows[:, self._at : self._at + many]
        assert part.shape[1] == many, "more was drawn than is listed"
        self._at += many
        return np.ascontiguousarray(part).ravel()

    @property
    def used_up(self):
        return self._at == self.rows.shape[1]


def inputs(encoder):
    """All inputs of a small encoder."""
    if encoder.takes == "strings":
        return TEXTS
    return range(encoder.size if encoder.takes == "values" else encoder.grid + 1)


def as_input(encoder, value, many):
    return [value] * many if encoder.takes == "strings" else np.full(many, value, np.int64)


def random_encoder(name, dice: random.Random):
    """A small encoder with arbitrary thresholds, at the ends now and then; None where it says nothing."""
    bits = dice.choice([8, 8, 16, 32])
    unit = 1 << bits

    def threshold():
        return dice.choice([1, unit - 1, unit // 2, dice.randrange(1, unit), dice.randrange(1, unit)])

    size, window, half = dice.randint(2, 5), dice.randint(1, 3), threshold()
    make = {
        "warner": lambda: Warner(2, threshold(), bits),
        "k-ary": lambda: KAryResponse(size, threshold(), bits),
        "symmetric-unary": lambda: SymmetricUnary(size, half, unit - half, bits),
        "optimised-unary": lambda: UnaryEncoding(size, threshold(), threshold(), bits),
        "hadamard": lambda: HadamardResponse(size, threshold(), bits),
        "local-hashing": lambda: LocalHashing(size, dice.randint(2, 3), threshold(), dice.choice([5, 7]), bits),
        "subset": lambda: SubsetSelection(size, dice.randint(1, size - 1), threshold(), bits),
        "dbitflip": lambda: BitFlip(size, dice.randint(1, size), threshold(), bits),
        "rappor": lambda: Rappor(
            dice.randint(2, 5), dice.randint(1, 2), dice.randint(1, 2), threshold(), threshold(), threshold(), bits
        ),
        "count-mean-sketch": lambda: CountMeanSketch(2, dice.randint(2, 4), threshold(), dice.randint(0, 99), 5, bits),
        "prefix": lambda: PrefixExtending(dice.randint(1, 2), dice.randint(2, 3), threshold(), 3, bits),
        "duchi": lambda: DuchiBit(threshold(), dice.randint(1, 6), bits),
        "piecewise": lambda: Piecewise(window, threshold(), window + dice.randint(1, 5), bits),
        "hybrid": lambda: HybridNumber(
            dice.choice([0, unit, threshold()]), window, threshold(), threshold(), window + 2, bits
        ),
    }
    assert set(make) == set(ENCODERS)
    try:
        return make[name]()
    except InputError:
        return None
