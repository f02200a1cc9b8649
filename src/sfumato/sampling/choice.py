"""Coins, uniform integers and choices from a finite distribution, exactly.

Comes in: rational numbers, or real numbers with enclosures. Goes out: truth values and indices, one or many.

Guarantee: each outcome has exactly its stated probability, if the bits are uniform.
Proof: coins and choices are the lemma of cuts.py with one cut or a few. A uniform integer below n is a word of as many
bits as n - 1 has, drawn again while it is not below n: each value below n is equally likely at every try.
Reference: von Neumann 1951 (rejection); Knuth and Yao 1976.
Checked by: sampling::coins_have_the_exact_mass, sampling::choices_have_the_exact_mass,
    sampling::uniform_has_the_exact_mass
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import Any

import numpy as np

from sfumato.errors import InputError
from sfumato.reals import Real, exp
from sfumato.sampling.bits import Bits, source
from sfumato.sampling.cuts import CutTable, cuts_of


@lru_cache(maxsize=256)
def _coin_table(probability: Fraction) -> CutTable:
    return CutTable(cuts_of([probability, 1 - probability]), 0)


@lru_cache(maxsize=256)
def _exp_table(gamma: Fraction) -> CutTable:
    chance = exp(-gamma)
    return CutTable(cuts_of([chance, 1 - chance]), 0)


def _flip(table: CutTable, count: int | None, bits: Bits | None) -> Any:
    stream = bits or source()
    if count is None:
        return table.draw(stream) == 0
    return table.draws(stream, count)[0] == 0


def sample_bernoulli(probability: Fraction, count: int | None = None, bits: Bits | None = None) -> Any:
    """True with the stated probability, a fraction from 0 to 1: one bool, or an array."""
    exact = _as_fraction(probability, "a probability")
    if not 0 <= exact <= 1:
        raise InputError("a probability must be from 0 to 1")
    return _flip(_coin_table(exact), count, bits)


def sample_bernoulli_exp(gamma: Fraction, count: int | None = None, bits: Bits | None = None) -> Any:
    """True with probability e^-gamma, gamma >= 0: one bool, or an array."""
    exact = _as_fraction(gamma, "gamma")
    if exact < 0:
        raise InputError("gamma must be at least 0")
    return _flip(_exp_table(exact), count, bits)


def sample_uniform(size: int, count: int | None = None, bits: Bits | None = None) -> Any:
    """Each integer from 0 to size - 1 equally likely: one int, or an array (of Python ints where 63 bits do not hold
    size).
    """
    if size < 1:
        raise InputError("the size must be at least 1")
    stream = bits or source()
    width = (size - 1).bit_length()
    if count is None:
        word = stream.word(width)
        while word >= size:
            word = stream.word(width)
        return word
    if width > 63:
        return np.array([sample_uniform(size, bits=stream) for _ in range(count)] + [None], object)[:-1]
    words = stream.take(count, width).astype(np.int64) if width else np.zeros(count, np.int64)
    while (again := np.flatnonzero(words >= size)).size:
        words[again] = stream.take(again.size, width)
    return words


def choice_table(weights: Sequence[Real | Fraction | int]) -> CutTable:
    """A table that draws i with probability proportional to weights[i]; keep it where it is drawn from often."""
    if not weights or len(weights) > 1 << 15:
        raise InputError("a choice must have from 1 to 32768 outcomes")
    return CutTable(cuts_of([w if isinstance(w, Real) else _as_fraction(w, "a weight") for w in weights]), 0)


def _as_fraction(number: object, what: str) -> Fraction:
    if not isinstance(number, int | float | Rational | Decimal):
        raise InputError(f"{what} must be a number, but is {type(number).__name__}")
    try:
        return Fraction(number)
    except (ValueError, OverflowError):
        raise InputError(f"{what} must be a finite number") from None


def sample_choice(weights: Sequence[Real | Fraction | int], count: int | None = None, bits: Bits | None = None) -> Any:
    """The index i with probability proportional to weights[i]: one int, or an array."""
    stream = bits or source()
    table = choice_table(weights)
    if count is None:
        return table.draw(stream)
    return table.draws(stream, count)[0].astype(np.int64)
