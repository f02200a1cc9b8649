"""The gallery: pictures and curves of the product's own laws. No row is read, and nothing is spent.

Comes in: a question and a column of it, or an epsilon. Goes out: probabilities, rounded from the exact law, with the
SVG that `pictures` draws of them. A page shows these; it knows no formula of its own.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any

from sfumato.accounting import belief
from sfumato.doors.http.gatehouse import Guest
from sfumato.doors.http.reading import Asked
from sfumato.errors import InputError
from sfumato.gateway import Gateway
from sfumato.mechanisms import Gaussian, Geometric
from sfumato.pictures import neighbours
from sfumato.words import show

HALF = Fraction(1, 2)
_BARS = 41
"""So many outputs fit side by side on a telephone."""
_SHOWN = Fraction(995, 1000)
"""The part of the law that a picture shows."""


def odds(epsilon: Fraction) -> dict[str, str]:
    """What a suspicion of one half becomes at most."""
    if epsilon < 0 or epsilon > 10**6:
        raise InputError("epsilon must be from 0 to 1000000")
    return {"epsilon": show(epsilon), "before": show(HALF), "at_most": show(belief(HALF, epsilon))}


def column_law(gate: Gateway, guest: Guest, asked: Asked, number: int) -> dict[str, Any]:
    """What is shown of one released number with one person in the data and without her, and what that gives away."""
    preview = gate.explain(asked.sql, analyst=guest.user.asks_as, **asked.options)
    if preview.refused is not None and not preview.columns:
        raise preview.refused
    if number >= len(preview.columns):
        raise InputError(f"there are {len(preview.columns)} columns, and none has the number {number}")
    column = preview.columns[number]
    if column.mechanism is None:
        raise InputError(
            "this column is no single noisy number",
            detail=f"Its law is {column.law}.",
            hint="A picture can be drawn of counts and sums.",
        )
    title = f"{column.name}: what one person changes"
    return {"column": column.name, "law": column.law, **two_laws(column.mechanism, column.unit, title)}


def two_laws(mechanism: Geometric | Gaussian, unit: Fraction, title: str) -> dict[str, Any]:
    """The law without one person and with her, who moves the number as far as she can."""
    moves = _reach(mechanism)
    half = mechanism.interval(_SHOWN)[1]
    wide = max(1, -(-(2 * half + moves + 1) // _BARS))
    starts = [wide * i - wide // 2 for i in range(-((half + wide) // wide), (half + moves) // wide + 1)]
    out = [_between(mechanism, start, wide) for start in starts]
    with_her = [_between(mechanism, start - moves, wide) for start in starts]
    middles = [(start + wide // 2) * unit for start in starts]
    epsilon = mechanism.epsilon if isinstance(mechanism, Geometric) else None
    axis = "shown number, less the true one without Bob"
    labels = (
        [int(middle) for middle in middles] if all(m.denominator == 1 for m in middles) else list(map(show, middles))
    )
    return {
        "moves": show(moves * unit),
        "epsilon": None if epsilon is None else show(epsilon),
        "at_most": None if epsilon is None else show(belief(HALF, epsilon)),
        "outputs": [show(middle) for middle in middles],
        "bob_out": out,
        "bob_in": with_her,
        "belief": [b / (a + b) if a + b else 0.5 for a, b in zip(out, with_her, strict=True)],
        "svg": neighbours(labels, out, with_her, epsilon=epsilon, title=title, axis=axis, bare=True),
    }


def _reach(mechanism: Geometric | Gaussian) -> int:
    """How far one person can move the whole number: the sensitivity, rounded down to a whole step."""
    if isinstance(mechanism, Geometric):
        return max(1, int(mechanism.sensitivity_l1))
    assert mechanism.squared is not None
    return max(1, isqrt(int(mechanism.squared)))


def _between(mechanism: Geometric | Gaussian, start: int, wide: int) -> float:
    """The probability of noise from `start` on, in so many steps."""
    if wide == 1:
        return float(mechanism.mass(start))
    return float(mechanism.cdf(start + wide - 1) - mechanism.cdf(start - 1))
