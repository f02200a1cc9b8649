"""Verify, refuter: one way with letters for inputs. Comes in: a way, walked with a letter for each private element.
Goes out: which elements make its event less likely when they grow, and what it can lose when some of them change.

One walk says for every element how far each test moves with it. Nothing is concluded from it but where to look.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.verify.refuter.bound import cheapest
from sfumato.verify.refuter.events import leaves_of, reduced
from sfumato.verify.refuter.forms import Form, form
from sfumato.verify.refuter.paths import INPUT, ProgramPath

Slopes = dict[int, Fraction]
"""How far something moves with each letter."""


@dataclass(frozen=True, slots=True)
class Lettered:
    """A way: its tests and free outputs without letters, and how each moves with them."""

    way: ProgramPath
    tests: tuple[tuple[Form, Slopes], ...]
    shown: tuple[tuple[Form | None, Slopes], ...]  # combinations of outputs; None: without noise
    hidden: bool  # whether inputs alone decide something


def lettered(way: ProgramPath) -> Lettered:
    """Take the letters out of a way."""
    _, leaves = leaves_of(way.output)
    hidden = way.hidden
    tests = tuple((left, slopes) for left, slopes in map(_split, way.tests) if isinstance(left, Form))
    plain = _stripped(way.output)
    way = ProgramPath(way.decided, way.noises, tuple(left for left, _ in tests), way.weight, plain)
    pairs = [_split(leaf) for leaf in leaves]
    shown: list[tuple[Form | None, Slopes]] = []
    for factors, value in reduced([left for left, _ in pairs]):
        slopes: Slopes = {}
        for place, factor in factors.items():
            for letter, slope in pairs[place][1].items():
                slopes[letter] = slopes.get(letter, Fraction(0)) + factor * slope
        shown.append((value if isinstance(value, Form) else None, slopes))
    shown += [(None, slopes) for left, slopes in pairs if not isinstance(left, Form) and slopes]
    return Lettered(way, tests, tuple(shown), hidden)


def _split(value: Any) -> tuple[Any, Slopes]:
    if not isinstance(value, Form):
        return value, {}
    slopes = {letter: slope for letter, slope in value.factors if letter >= INPUT}
    return form(value.constant, {number: factor for number, factor in value.factors if number < INPUT}), slopes


def _stripped(output: Any) -> Any:
    return tuple(_stripped(item) for item in output) if isinstance(output, tuple) else _split(output)[0]


def signs(found: Lettered, side: int, letters: list[int]) -> dict[int, int]:
    """+1 where a greater element makes the event less likely, -1 where more likely, 0 where it does nothing."""
    rows = [slopes for _, slopes in found.tests]
    rows += [{letter: slope * (side or 1) for letter, slope in slopes.items()} for left, slopes in found.shown if left]
    bare = [slopes for left, slopes in found.shown if left is None]
    result = {}
    for letter in letters:
        steps = [slopes.get(letter, Fraction(0)) for slopes in rows]
        moved = any(steps) or any(slopes.get(letter) for slopes in bare)
        result[letter] = 0 if not moved else 1 if sum(steps) <= 0 else -1
    return result


def most(found: Lettered, side: int, change: Mapping[int, Fraction]) -> float | None:
    """What may be lost when letters change so: infinitely much if that shows without noise; None if it is not known."""
    if any(left is None and _move(slopes, change) for left, slopes in found.shown):
        return float("inf")
    tests = [left for left, _ in found.tests]
    steps = [_move(slopes, change) for _, slopes in found.tests]
    for left, slopes in found.shown:
        if left is not None:
            step = _move(slopes, change)
            way = side or (-1 if step >= 0 else 1)
            tests.append(left if way > 0 else -left)
            steps.append(way * step)
    costs = [cheapest(tests, moved, found.way.noises) for moved in (steps, [-step for step in steps])]
    return None if None in costs else max(cost for cost in costs if cost is not None)


def _move(slopes: Slopes, change: Mapping[int, Fraction]) -> Fraction:
    return sum((slope * change.get(letter, Fraction(0)) for letter, slope in slopes.items()), Fraction(0))
