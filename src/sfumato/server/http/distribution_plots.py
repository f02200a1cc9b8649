"""Plots of the product's own distributions. No row is read, and nothing is spent.

Comes in: a question and a column of it, or an epsilon. Goes out: probabilities, rounded from the exact law, with the
SVG that `pictures` draws of them. A page shows these; it knows no formula of its own.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, pairwise
from math import ceil, floor, isqrt, log10
from typing import Any

from sfumato.accounting import belief, suspicion
from sfumato.errors import InputError
from sfumato.gateway import Candidates, Gateway, Query, ReleasedNumber
from sfumato.interrupts import planning
from sfumato.mechanisms import Gaussian, Geometric, MostFrequent, OrderStatistic
from sfumato.pictures import largest_ratio, neighbours
from sfumato.server.http.authentication import AuthenticatedUser
from sfumato.types import Adjacency, show

HALF = Fraction(1, 2)
_BARS = 41
"""So many outputs fit side by side on a telephone."""
_SHOWN = Fraction(995, 1000)
"""The part of the law that a picture shows."""


def odds(epsilon: Fraction, adjacency: Adjacency) -> dict[str, str]:
    """What a suspicion of one half becomes at most: by one step of the adjacency, and in words."""
    if epsilon < 0 or epsilon > 10**6:
        raise InputError("epsilon must be from 0 to 1000000")
    return {
        "epsilon": show(epsilon),
        "before": show(HALF),
        "at_most": show(belief(HALF, epsilon)),
        "words": suspicion(epsilon, adjacency),
    }


def column_law(gate: Gateway, guest: AuthenticatedUser, query: Query, number: int) -> dict[str, Any]:
    """What is shown of a column with one person in the data and without her, and what that gives away.

    One picture for each noisy number that it is computed from; none, and why, where there is nothing to be drawn.
    """
    with planning():
        return _column_law(gate, guest, query, number)


def _column_law(gate: Gateway, guest: AuthenticatedUser, query: Query, number: int) -> dict[str, Any]:
    preview = gate.preview(query, guest.user.asks_as)
    if preview.refused is not None and not preview.columns:
        raise preview.refused
    if number >= len(preview.columns):
        raise InputError(f"there are {len(preview.columns)} columns, and none has the number {number}")
    column = preview.columns[number]
    made, plain = column.numbers, column.law in ("geometric", "gaussian")
    return {
        "column": column.name,
        "law": column.law,
        "why": made.why,
        **_claim(made.epsilon),
        "pictures": [
            {"what": one.words, "several": one.several, **_picture(one, column.name, plain=plain)}
            for one in made.numbers
        ],
    }


def _picture(number: ReleasedNumber, column: str, *, plain: bool) -> dict[str, Any]:
    """The column's own name is for a number that is shown as it was drawn."""
    if isinstance(number.law, Geometric | Gaussian):
        title = (
            f"{column}: what one person changes"
            if plain
            else f"{number.words[0].upper()}{number.words[1:]}: what one person changes"
        )
        return {"assumed": None, **two_laws(number.law, number.unit, title)}
    assert number.candidates is not None
    return two_choices(number.law, number.candidates, f"{column}: what one person changes")


def _claim(epsilon: Fraction | None) -> dict[str, str | None]:
    """An epsilon, and what a suspicion of one half becomes at most."""
    if epsilon is None:
        return {"epsilon": None, "at_most": None}
    return {"epsilon": show(epsilon), "at_most": show(belief(HALF, epsilon))}


def _law(out: list[float], inside: list[float]) -> dict[str, list[float]]:
    """Two laws, and what each output makes of a suspicion of one half."""
    found = [b / (a + b) if a + b else 0.5 for a, b in zip(out, inside, strict=True)]
    return {"bob_out": out, "bob_in": inside, "belief": found}


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
    axis = "shown number minus the true number without Bob"
    whole = all(middle.denominator == 1 for middle in middles)
    labels = [int(m) for m in middles] if whole else [_short(m, wide * unit) for m in middles]
    return {
        "moves": show(moves * unit),
        **_claim(epsilon),
        "outputs": [show(middle) for middle in middles],
        **_law(out, with_her),
        "svg": neighbours(labels, out, with_her, epsilon=epsilon, title=title, axis=axis, bare=True),
    }


def two_choices(law: OrderStatistic | MostFrequent, among: Candidates, title: str) -> dict[str, Any]:
    """The law of a choice for people who are made up, and for one more of them, or one who is another; no row is read.

    Everybody weighs as much as one person may. They stand evenly over the declared range; for the most frequent value,
    the first has the most. So many of them that the noise leaves something to be seen: 40/epsilon.
    """
    people = ceil(Fraction(40) / law.epsilon)
    cells = min(people, _BARS - 1, among.high - among.low + 1)
    places, many = _made_up(people, cells, among, ramp=isinstance(law, MostFrequent))
    out = _binned(law, places, many, among)
    ends = (places[0], places[-1], places[min(1, cells - 1)])
    leaves = places[cells // 2] if law.adjacency is Adjacency.REPLACE else None
    laws = [_binned(law, places, _moved(places, many, leaves, end), among) for end in ends]
    inside = max(laws, key=lambda one: largest_ratio(out, one))  # she does what tells the most of her
    labels = [among.shown(start) for start in _starts(among)]
    axis = "shown value" if len(labels) == among.high - among.low + 1 else "shown value, from"
    how = f"most of them at {labels[0]}" if isinstance(law, MostFrequent) else "evenly"
    return {
        "assumed": f"{people} made-up people, from {labels[0]} to {among.shown(among.high)}, {how}",
        "moves": None,
        **_claim(law.epsilon),
        "outputs": labels,
        **_law(out, inside),
        "svg": neighbours(labels, out, inside, epsilon=law.epsilon, title=title, axis=axis, bare=True),
    }


def _made_up(people: int, cells: int, among: Candidates, *, ramp: bool) -> tuple[list[int], list[int]]:
    """Places over the range, and how many people are at each."""
    span = among.high - among.low + 1
    places = [among.low + span * i // cells + span // cells // 2 for i in range(cells)]
    parts = [cells - i for i in range(cells)] if ramp else [1] * cells
    sums = [0, *accumulate(parts)]
    return places, [people * b // sums[-1] - people * a // sums[-1] for a, b in pairwise(sums)]


def _moved(places: list[int], many: list[int], leaves: int | None, comes: int) -> list[int]:
    """With one person more at a place; under replace she leaves another."""
    return [n + (place == comes) - (place == leaves and n > 0) for place, n in zip(places, many, strict=True)]


def _starts(among: Candidates) -> list[int]:
    """Where the bars begin: as many as fit, each of so many candidates."""
    return list(range(among.low, among.high + 1, -(-(among.high - among.low + 1) // _BARS)))


def _binned(law: OrderStatistic | MostFrequent, places: list[int], many: list[int], among: Candidates) -> list[float]:
    """The probability that what is chosen falls into each bar."""
    held = [(place, n * int(law.norm)) for place, n in zip(places, many, strict=True) if n]
    stretches = law.mass([p for p, _ in held], [n for _, n in held], among.low, among.high)
    starts = _starts(among)
    bars = [0.0] * len(starts)
    wide = starts[1] - starts[0] if len(starts) > 1 else 1
    for first, count, mass in stretches:
        each = float(mass) / count
        for bar in range((first - among.low) // wide, (first + count - 1 - among.low) // wide + 1):
            bars[bar] += each * (min(first + count, starts[bar] + wide) - max(first, starts[bar]))
    return [min(1.0, bar) for bar in bars]


def _short(value: Fraction, step: Fraction) -> int | str:
    """A number for an axis: as many digits as tell it from the one beside it."""
    places = max(0, -floor(log10(step)))
    if not value:
        return "0"
    return f"{float(value):.{places}f}".replace("-", "\u2212") if places else round(value)


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
