"""Hash functions whose collisions are known exactly: h(x) = bucket of (a x + b) modulo a prime.

Guarantee: for two different values below the prime and a, b uniform, the two sums are independent and uniform, so the
probability that both fall into one bucket is exactly the sum of (bucket size/prime)².
Proof: for x != x' the map (a, b) -> (a x + b, a x' + b) is one to one modulo a prime.
Reference: Carter and Wegman 1979.
Checked by: local::collisions_are_exactly_as_stated
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.local.tape import Indices

PRIME = (1 << 31) - 1
LIMB = 30
"""Bits of a limb: a value of up to 60 bits is two of them, each with a multiplier of its own."""
_MOST_BUCKETS = 1 << 16


@dataclass(frozen=True)
class Buckets:
    """The numbers below `prime`, cut into `count` consecutive buckets whose sizes differ by at most one."""

    prime: int
    count: int

    def __post_init__(self) -> None:
        if not 2 <= self.prime <= PRIME or not is_prime(self.prime):
            raise InputError(f"prime must be a prime number of at most 2^31 - 1, but is {self.prime}")
        if not 2 <= self.count <= min(self.prime, _MOST_BUCKETS):
            raise InputError(f"there must be 2 to {min(self.prime, _MOST_BUCKETS)} buckets, but there are {self.count}")

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each bucket begins, and where the last one ends."""
        return np.array([-(-k * self.prime // self.count) for k in range(self.count + 1)], np.int64)

    @cached_property
    def collision(self) -> Fraction:
        """The probability that two different values fall into the same bucket."""
        sizes = np.diff(self.starts)
        return Fraction(sum(int(size) ** 2 for size in sizes), self.prime**2)

    def of(self, sums: NDArray[Any]) -> Indices:
        """The bucket of each number below the prime: floor(sum count/prime)."""
        result: Indices = (sums.astype(np.int64) * self.count) // self.prime
        return result


@lru_cache(maxsize=64)
def is_prime(number: int) -> bool:
    """By trial division, for numbers of at most 31 bits."""
    return all(number % divisor for divisor in range(2, isqrt(number) + 1))


def hashed(a: Any, b: Any, values: Any, prime: int) -> Indices:
    """(a x + b) modulo the prime; below 2^62 before it is reduced."""
    result: Indices = (a * values + b) % prime
    return result
