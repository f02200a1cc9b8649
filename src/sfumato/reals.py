"""Real numbers that carry a guarantee: enclosed by integers, refined until the question about them is decided.

Comes in: fractions, and e^x, ln x, sqrt x of them. Goes out: comparisons that are right, floats that are correctly
rounded, and fractions rounded in a named direction. No float takes part in any decision.

An *enclosure* of x at `bits` is a pair of integers lo <= x * 2^bits <= hi. Functions named `bound_` compute one from a
fraction; `Real` combines them by interval arithmetic and asks for more bits until the answer no longer depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import isqrt, lcm

from sfumato.types import UNIT

Enclosure = tuple[int, int]

_FIRST, _LAST = 96, 1 << 15
"""Bits at the first try, and where a comparison gives up: two numbers that agree to 32768 bits count as undecided."""


class TooCoarse(ArithmeticError):
    """The enclosure is too wide for the next step: more bits are needed."""


def ceil_shift(value: int, bits: int) -> int:
    """ceil(value / 2^bits)."""
    return -((-value) >> bits)


@lru_cache(maxsize=8192)  # a matrix has the same powers of e in many places
def bound_exp_neg(x: Fraction, bits: int) -> Enclosure:
    """Enclose e^-x for a fraction x >= 0.

    Proof: y = x/2^k <= 2^-6. The term t_i of the alternating series of e^-y, in units of 2^-G, is computed by two
    truncations from t_(i-1); if t_(i-1) is off by at most 6, t_i is off by at most 6/64 + 1 (y truncated) + 2 < 6.
    After n terms the sum is off by at most 6n, and the rest of an alternating series by its first term left out, at
    most 6 + 1. Each squaring rounds outward, so the enclosure stays one. The guard bits only keep it narrow.
    """
    if x < 0:
        raise ValueError("bound_exp_neg needs x >= 0")
    if x == 0:
        return 1 << bits, 1 << bits
    if 10 * x >= 7 * (bits + 1):  # ln 2 < 7/10, so e^-x < 2^-(bits+1)
        return 0, 1
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 6)
    guard = bits + halvings + 24
    one = 1 << guard
    y = (x.numerator << guard) // (x.denominator << halvings)
    term, total, n = one, one, 0
    while term:
        n += 1
        term = (term * y >> guard) // n
        total += -term if n & 1 else term
    slack = 6 * n + 8
    low, high = total - slack, total + slack
    for _ in range(halvings):
        low, high = low * low >> guard, ceil_shift(high * high, guard)
    shift = guard - bits
    return max(0, low >> shift), min(1 << bits, ceil_shift(high, shift))


def bound_exp(x: Fraction, bits: int) -> Enclosure:
    """Enclose e^x for any fraction x: for x > 0 as the reciprocal of e^-x, taken with bits to spare."""
    if x <= 0:
        return bound_exp_neg(-x, bits)
    spare = bits + 2 * (3 * x.numerator // (2 * x.denominator) + 2)  # e^x < 2^(3x/2 + 1)
    low, high = bound_exp_neg(x, spare)
    return (1 << (spare + bits)) // high, -((-1 << (spare + bits)) // low)


@lru_cache(maxsize=64)
def _bound_ln2(bits: int) -> Enclosure:
    return _bound_artanh(1, 3, bits)


def _bound_artanh(p: int, q: int, bits: int) -> Enclosure:
    """Enclose 2 artanh(p/q) for 0 <= p/q <= 1/3: all terms are positive and each is at most 1/9 of the one before.

    With u = p/q truncated, p is off by at most 1 + 2/9 < 2 units, each term by at most 3 more by its division; the rest
    of the series is below an eighth of the last term, which is below the units counted.
    """
    guard = bits + 24
    power = (p << guard) // q
    square = power * power >> guard
    total, n = 0, 0
    while power:
        total += power // (2 * n + 1)
        power = power * square >> guard
        n += 1
    return (2 * total) >> 24, ceil_shift(2 * (total + 4 * n + 4), 24)


def bound_ln(x: Fraction, bits: int) -> Enclosure:
    """Enclose ln x for a fraction x > 0: x = m 2^e with 2/3 < m <= 4/3, ln x = e ln 2 + 2 artanh((m-1)/(m+1))."""
    if x <= 0:
        raise ValueError("bound_ln needs x > 0")
    e = x.numerator.bit_length() - x.denominator.bit_length()
    m = x / Fraction(2) ** e
    while m > Fraction(4, 3):
        m, e = m / 2, e + 1
    while 3 * m <= 2:
        m, e = m * 2, e - 1
    guard = e.bit_length() + 8
    two = _bound_ln2(bits + guard)
    t = (m - 1) / (m + 1)
    low, high = _bound_artanh(abs(t.numerator), t.denominator, bits + guard)
    if t < 0:
        low, high = -high, -low
    ends = (e * two[0], e * two[1])
    return (low + min(ends)) >> guard, ceil_shift(high + max(ends), guard)


def bound_sqrt(x: Fraction, bits: int) -> Enclosure:
    """Enclose the square root of a fraction x >= 0."""
    if x < 0:
        raise ValueError("bound_sqrt needs x >= 0")
    scaled, rest = divmod(x.numerator << (2 * bits), x.denominator)
    root = isqrt(scaled)
    return root, root if rest == 0 and root * root == scaled else root + 1


@lru_cache(maxsize=64)
def bound_pi(bits: int) -> Enclosure:
    """Enclose pi by Machin's formula, 16 arctan(1/5) - 4 arctan(1/239), each series off by under its term count."""
    guard = bits + 32

    def arctan_inverse(q: int) -> tuple[int, int]:
        power, total, n = (1 << guard) // q, 0, 0
        while power:
            total += (-1 if n & 1 else 1) * (power // (2 * n + 1))
            power //= q * q
            n += 1
        return total, 3 * n + 3

    five, slack5 = arctan_inverse(5)
    other, slack239 = arctan_inverse(239)
    middle, slack = 16 * five - 4 * other, 16 * slack5 + 4 * slack239
    return (middle - slack) >> 32, ceil_shift(middle + slack, 32)


class Real:
    """A real number given by its enclosures: `enclose(bits)` holds it, and narrows as bits grow."""

    __slots__ = ("_cache", "_enclose")

    def __init__(self, enclose: Callable[[int], Enclosure]) -> None:
        self._enclose = enclose
        self._cache: dict[int, Enclosure] = {}

    def enclose(self, bits: int) -> Enclosure:
        """Integers lo <= x * 2^bits <= hi. May raise TooCoarse: ask again with more bits."""
        ends = self._cache.get(bits)
        if ends is None:
            ends = self._cache[bits] = self._enclose(bits)
        return ends

    def refinements(self) -> Iterator[tuple[int, int, int]]:
        """(bits, lo, hi) with bits doubling each time, as long as a caller is not satisfied."""
        bits = _FIRST
        while bits <= _LAST:
            try:
                yield (bits, *self.enclose(bits))
            except TooCoarse:
                pass
            bits *= 2
        raise ArithmeticError(f"undecided at {_LAST} bits: the two numbers may be equal")

    # arithmetic: intervals, rounded outward
    def __neg__(self) -> Real:
        def enclose(bits: int) -> Enclosure:
            low, high = self.enclose(bits)
            return -high, -low

        return Real(enclose)

    def __add__(self, other: Real | Fraction | int) -> Real:
        right = as_real(other)

        def enclose(bits: int) -> Enclosure:
            (a, b), (c, d) = self.enclose(bits), right.enclose(bits)
            return a + c, b + d

        return Real(enclose)

    __radd__ = __add__

    def __sub__(self, other: Real | Fraction | int) -> Real:
        return self + (-as_real(other))

    def __rsub__(self, other: Real | Fraction | int) -> Real:
        return as_real(other) + (-self)

    def __mul__(self, other: Real | Fraction | int) -> Real:
        right = as_real(other)

        def enclose(bits: int) -> Enclosure:
            (a, b), (c, d) = self.enclose(bits), right.enclose(bits)
            products = (a * c, a * d, b * c, b * d)
            return min(products) >> bits, ceil_shift(max(products), bits)

        return Real(enclose)

    __rmul__ = __mul__

    def reciprocal(self) -> Real:
        """1/x for x != 0."""

        def enclose(bits: int) -> Enclosure:
            low, high = self.enclose(bits)
            if low <= 0 <= high:
                raise TooCoarse
            return (1 << (2 * bits)) // high, -((-1 << (2 * bits)) // low)

        return Real(enclose)

    def __truediv__(self, other: Real | Fraction | int) -> Real:
        return self * as_real(other).reciprocal()

    def __rtruediv__(self, other: Real | Fraction | int) -> Real:
        return as_real(other) * self.reciprocal()

    def __pow__(self, n: int) -> Real:
        """x^n for a whole n >= 0, by squaring."""
        result, base = as_real(1), self
        while n:
            if n & 1:
                result = result * base
            base, n = base * base, n >> 1
        return result

    # questions
    def sign(self) -> int:
        """-1, 0 or 1; raises ArithmeticError where the number is too near to zero to tell."""
        for _, low, high in self.refinements():
            if low > 0:
                return 1
            if high < 0:
                return -1
            if low == high == 0:
                return 0
        raise AssertionError("unreachable")

    def __eq__(self, other: object) -> bool:
        """With a float: whether it is the nearest one. With exact numbers it cannot be decided, and says so."""
        if isinstance(other, float):
            return float(self) == other
        if isinstance(other, Real | Fraction | int):
            raise TypeError("real numbers are compared by < and >: enclosures cannot decide whether two are equal")
        return NotImplemented

    __hash__ = object.__hash__

    def __lt__(self, other: Real | Fraction | int) -> bool:
        return (self - other).sign() < 0

    def __le__(self, other: Real | Fraction | int) -> bool:
        return (self - other).sign() <= 0

    def __gt__(self, other: Real | Fraction | int) -> bool:
        return (self - other).sign() > 0

    def __ge__(self, other: Real | Fraction | int) -> bool:
        return (self - other).sign() >= 0

    def __float__(self) -> float:
        """The nearest float: refined until both ends round to the same one."""
        for bits, low, high in self.refinements():
            first = low / (1 << bits)
            if first == high / (1 << bits):
                return first
        raise AssertionError("unreachable")

    def __abs__(self) -> Real:
        def enclose(bits: int) -> Enclosure:
            low, high = self.enclose(bits)
            return (max(low, -high, 0), max(-low, high))

        return Real(enclose)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec)

    def __repr__(self) -> str:
        return f"<real {float(self)!r}>"


def as_real(x: Real | Fraction | int) -> Real:
    """A fraction as a Real."""
    if isinstance(x, Real):
        return x
    value = Fraction(x)

    def enclose(bits: int) -> Enclosure:
        low, rest = divmod(value.numerator << bits, value.denominator)
        return low, low + (rest != 0)

    return Real(enclose)


def _monotone(bound: Callable[[Fraction, int], Enclosure], x: Real | Fraction | int, positive: bool) -> Real:
    """An increasing function given by its `bound_` on fractions, applied to a Real or a fraction."""
    if not isinstance(x, Real):
        value = Fraction(x)
        return Real(lambda bits: bound(value, bits))
    inner = x

    def enclose(bits: int) -> Enclosure:
        low, high = inner.enclose(bits)
        if positive and low <= 0:
            raise TooCoarse
        return bound(Fraction(low, 1 << bits), bits)[0], bound(Fraction(high, 1 << bits), bits)[1]

    return Real(enclose)


def exp(x: Real | Fraction | int) -> Real:
    """e^x."""
    return _monotone(bound_exp, x, positive=False)


def ln(x: Real | Fraction | int) -> Real:
    """The natural logarithm of x > 0."""
    return _monotone(bound_ln, x, positive=True)


def sqrt(x: Real | Fraction | int) -> Real:
    """The square root of x > 0 (a fraction may be 0)."""
    return _monotone(bound_sqrt, x, positive=True)


def total(terms: list[Real]) -> Real:
    """The sum of many Reals, in one enclosure instead of a chain of them."""

    def enclose(bits: int) -> Enclosure:
        ends = [term.enclose(bits) for term in terms]
        return sum(a for a, _ in ends), sum(b for _, b in ends)

    return Real(enclose)


def combination(parts: Sequence[tuple[Fraction, Real]]) -> Real:
    """The sum of c x over all (c, x), in one enclosure: the coefficients are whole numbers of one unit."""
    unit = lcm(*(c.denominator for c, _ in parts))
    whole = [(c.numerator * (unit // c.denominator), x) for c, x in parts]

    def enclose(bits: int) -> Enclosure:
        low = high = 0
        for times, x in whole:
            a, b = x.enclose(bits)
            low += times * (a if times >= 0 else b)
            high += times * (b if times >= 0 else a)
        return low // unit, -(-high // unit)

    return Real(enclose)


PI = Real(bound_pi)


def round_up(x: Real | Fraction | int, unit: Fraction = UNIT) -> Fraction:
    """A multiple of `unit` that is at least x; the smallest such one for a fraction."""
    if not isinstance(x, Real):
        return -((-Fraction(x)) // unit) * unit
    high = _close(x, unit)[1]
    return -((-high) // unit) * unit


def round_down(x: Real | Fraction | int, unit: Fraction = UNIT) -> Fraction:
    """A multiple of `unit` that is at most x; the largest such one for a fraction."""
    if not isinstance(x, Real):
        return Fraction(x) // unit * unit
    return _close(x, unit)[0] // unit * unit


def _close(x: Real, unit: Fraction) -> tuple[Fraction, Fraction]:
    """Ends of an enclosure that is far narrower than the unit."""
    for bits, low, high in x.refinements():
        if Fraction(high - low, 1 << bits) * 2**20 <= unit:
            return Fraction(low, 1 << bits), Fraction(high, 1 << bits)
    raise AssertionError("unreachable")


def ceil(x: Real | Fraction | int) -> int:
    """The least whole number that is at least x."""
    if not isinstance(x, Real):
        return -((-Fraction(x)) // 1)
    for bits, low, high in x.refinements():
        least = ceil_shift(low, bits)
        if least == ceil_shift(high, bits):
            return least
    raise AssertionError("unreachable")
