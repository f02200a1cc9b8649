"""Ties that floats cannot decide, decided by whole numbers.

Comes in: the counts of one class, and a threshold. Goes out: whether the class holds, exactly.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.anonymity.models import Closeness

_EXACT_ROWS = 20_000
"""Classes up to this size, after division by a common factor, are decided by powers of whole numbers."""


def entropy_is_at_least(counts: list[int], l: Fraction) -> bool:  # noqa: E741  the letter of the literature
    """Whether the product of (c/h)^h over the counts h of a class of c rows is at least l^c.

    Beyond 20,000 rows two hundred digits decide, and a tie that they cannot tell counts as no.
    """
    shared = math.gcd(*counts)
    counts = [count // shared for count in counts if count]
    many = sum(counts)
    if many <= _EXACT_ROWS:
        rest = math.prod(count**count for count in counts)
        return bool(many**many * l.denominator**many >= l.numerator**many * rest)
    with localcontext() as context:
        context.prec = 200
        rest = sum((count * Decimal(count).ln() for count in counts), Decimal(0))
        wanted = many * (Decimal(l.numerator) / Decimal(l.denominator)).ln()
        return many * Decimal(many).ln() - rest - wanted > Decimal("1e-150")


def distance_of(counts: list[int], totals: list[int], model: Closeness) -> Fraction:
    """The earth mover's distance between a class and the table."""
    many, rows = sum(counts), sum(totals)
    total = 0
    for members, weight in zip(model.family.tolist(), model.weights.tolist(), strict=True):
        wanted = sum(t for t, inside in zip(totals, members, strict=True) if inside)
        have = sum(h for h, inside in zip(counts, members, strict=True) if inside)
        total += weight * max(0, wanted * many - have * rows)
    return Fraction(total, model.scale * many * rows)


def is_close(counts: list[int], totals: list[int], model: Closeness) -> bool:
    """Whether a class is within t of the table."""
    return distance_of(counts, totals, model) <= model.t
