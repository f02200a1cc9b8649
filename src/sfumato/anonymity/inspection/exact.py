"""k, l and t of a published table, in exact numbers and straight from their definitions.

Comes in: for each class how often it has each sensitive value. Goes out: whole numbers and fractions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction

Values = Mapping[str, int]


def distinct_of(classes: Iterable[Values]) -> int:
    """The fewest different values of a class."""
    return min(sum(1 for n in one.values() if n) for one in classes)


def entropy_of(classes: Iterable[Values]) -> float:
    """The least e^H of a class: as many equally frequent values would be as uncertain."""
    return min(math.exp(_entropy(list(one.values()))) for one in classes)


def _entropy(counts: list[int]) -> float:
    many = sum(counts)
    return math.fsum(-n / many * math.log(n / many) for n in counts if n)


def is_entropy_diverse(values: Values, l: Fraction) -> bool:  # noqa: E741  the letter of the literature
    """Whether e^H >= l, exactly: c^c >= l^c times the product of h^h."""
    counts = [n for n in values.values() if n]
    if l > len(counts):
        return False  # e^H is at most the number of values
    gap = _entropy(counts) - math.log(l)
    if abs(gap) > 1e-9:
        return gap > 0
    many = sum(counts)
    powers = [(many, many), (l.denominator, many), (l.numerator, -many), *((n, -n) for n in counts)]
    return _is_one(powers) or _exceeds_one(powers)


def _is_one(powers: list[tuple[int, int]]) -> bool:
    """Whether a product of powers is 1: over factors without a common divisor every exponent is 0."""
    left, base = list(powers), dict[int, int]()
    while left:
        number, power = left.pop()
        other = next((one for one in base if math.gcd(number, one) > 1), None)
        if number == 1 or not power:
            continue
        if other is None or other == number:
            base[number] = base.get(number, 0) + power
            continue
        shared, before = math.gcd(number, other), base.pop(other)
        left += [(shared, power), (number // shared, power), (shared, before), (other // shared, before)]
    return not any(base.values())


def _exceeds_one(powers: list[tuple[int, int]]) -> bool:
    """Whether a product of powers, which is not 1, is above 1: its logarithm with digits enough to tell."""
    digits = 50
    while True:
        with localcontext() as context:
            context.prec = digits
            terms = [Decimal(n).ln() * e for n, e in powers]
            total, size = sum(terms, Decimal(0)), sum(map(abs, terms), Decimal(1))
            if abs(total) > size * len(terms) * Decimal(10) ** (3 - digits):
                return total > 0
        digits *= 2


def recursive_of(classes: Iterable[Values], l: int) -> Fraction | None:  # noqa: E741  the letter of the literature
    """The largest r1/(rl + ... + rm) of a class, which must be below c; None where a class has fewer values."""
    worst = Fraction(0)
    for one in classes:
        ordered = sorted(one.values(), reverse=True)
        rest = sum(ordered[l - 1 :])
        if not rest:
            return None
        worst = max(worst, Fraction(ordered[0], rest))
    return worst


def is_alike(values: Values, whole: Values, beta: Fraction) -> bool:
    """Whether no value is more than 1 + beta times as frequent as in the whole table (beta-likeness)."""
    many, rows = sum(values.values()), sum(whole.values())
    return all(Fraction(n, many) <= (1 + beta) * Fraction(whole.get(v, 0), rows) for v, n in values.items())


def equal_distance(values: Values, whole: Values) -> Fraction:
    """Half the sum of the differences of probabilities."""
    many, rows = sum(values.values()), sum(whole.values())
    names = {*values, *whole}
    return (
        sum((abs(Fraction(values.get(v, 0), many) - Fraction(whole.get(v, 0), rows)) for v in names), Fraction(0)) / 2
    )


def ordered_distance(values: Values, whole: Values, order: Sequence[str]) -> Fraction:
    """The mean over cuts of the order of the difference of what lies below."""
    many, rows = sum(values.values()), sum(whole.values())
    if len(order) < 2:
        return Fraction(0)
    below, total = Fraction(0), Fraction(0)
    for name in order[:-1]:
        below += Fraction(values.get(name, 0), many) - Fraction(whole.get(name, 0), rows)
        total += abs(below)
    return total / (len(order) - 1)


def hierarchical_distance(values: Values, whole: Values, tree: Mapping[str, tuple[str, ...]]) -> Fraction:
    """The cost of moving mass in a tree, height by height, as Li, Li and Venkatasubramanian define it."""
    many, rows = sum(values.values()), sum(whole.values())
    names = {*values, *whole}
    extra = {v: Fraction(values.get(v, 0), many) - Fraction(whole.get(v, 0), rows) for v in names}
    height = len(next(iter(tree.values()))) - 1
    level: dict[tuple[str, ...], Fraction] = {}
    for v, amount in extra.items():
        key = tuple(reversed(tree[v]))
        level[key] = level.get(key, Fraction(0)) + amount
    total = Fraction(0)
    for up in range(1, height + 1):
        above: dict[tuple[str, ...], list[Fraction]] = {}
        for key, amount in level.items():
            above.setdefault(key[:-1], []).append(amount)
        for amounts in above.values():
            more = sum((a for a in amounts if a > 0), Fraction(0))
            less = -sum((a for a in amounts if a < 0), Fraction(0))
            total += Fraction(up, height) * min(more, less)
        level = {key: sum(amounts, Fraction(0)) for key, amounts in above.items()}
    return total


def in_order(values: Iterable[str]) -> list[str]:
    """Values as numbers if all of them are, those of one number (`1`, `1.0`) by their text; else by their text."""
    names = list(values)
    try:
        numbers = {name: Decimal(name) for name in names}
    except InvalidOperation:
        return sorted(names)
    if not all(number.is_finite() for number in numbers.values()):
        return sorted(names)
    return sorted(names, key=lambda name: (numbers[name], name))


def by_class(keys: Iterable[tuple[str, ...]], sensitive: Iterable[str]) -> dict[tuple[str, ...], Counter[str]]:
    """The classes of a table: for each combination of labels its sensitive values."""
    classes: dict[tuple[str, ...], Counter[str]] = {}
    for key, value in zip(keys, sensitive, strict=True):
        found = classes.get(key)
        if found is None:
            found = classes[key] = Counter()
        found[value] += 1
    return classes
