"""Verify, refuter: numbers for letters. Comes in: where a claim seems to break, as a function of parameters. Goes out:
witnesses.

Parameters are tried in a fixed order, plain ones first; and where the function has one letter only, also between its
roots, where it may be negative on a narrow stretch.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice, product
from typing import Any

from flint import fmpz_poly

from sfumato.verify.finite.decide import NEVER, Suspect
from sfumato.verify.finite.field import Letter, LetterRatio
from sfumato.verify.finite.signs import enclosed
from sfumato.verify.refuter.events import OutputPattern, OutputSet, leaves_of
from sfumato.verify.refuter.witness import Witness, certified
from sfumato.verify.run import Env, NotRun
from sfumato.verify.tree import Program, draws_of

CONTINUOUS = ("Laplace", "Exponential", "Gauss")
TRIES = 4000
EPS = tuple(
    map(
        Fraction,
        ("1", "1/2", "2", "1/4", "3/4", "3/2", "3", "4", "1/8", "8", "1/10", "1/20", "1/100", "12", "20", "40"),
    )
)


def witness_of(program: Program, suspect: Suspect) -> Witness | None:
    """A witness with numbers for parameters, if one is found."""
    for point in islice(_points(suspect), 3):
        one, two = (_with_numbers(env, point) for env in (suspect.one, suspect.two))
        if one is not None and two is not None:
            events: list[OutputPattern | OutputSet] = [OutputSet(suspect.outputs)]
            if any(draw.law in CONTINUOUS for draw in draws_of(program)):  # chances are added up along ways
                parts = [leaves_of(value) for value in suspect.outputs if value != NEVER]
                events = [OutputPattern(shape, tuple(leaves), ()) for shape, leaves in parts]
            for event in events:
                found = certified(program, one, two, event)
                if found is not None:
                    return found
    return None


def _with_numbers(env: Env, point: dict[str, Fraction]) -> Env | None:
    """An input with numbers for letters; None if a number is no fraction."""
    found = {name: point.get(name, value) for name, value in env.items()}
    return None if any(isinstance(value, LetterRatio) for value in found.values()) else found


def _points(suspect: Suspect) -> Iterator[dict[str, Fraction]]:
    """Parameters at which the claim is missed."""
    domain = suspect.setting.domain
    free = [name for name, value in suspect.setting.public.items() if isinstance(value, LetterRatio)]
    pools = [_pool(name, suspect) for name in free]
    for values in islice(product(*pools), TRIES):
        point = dict(zip(free, values, strict=True))
        if not isinstance(suspect.gap, LetterRatio):
            if suspect.gap < 0:
                yield point
        else:
            try:
                found = domain.field.ball(suspect.gap, point)
            except NotRun:
                return
            if found < 0:
                yield point


def _pool(name: str, suspect: Suspect) -> list[Fraction]:
    """Values of one parameter, within its range."""
    domain = suspect.setting.domain
    where = domain.range(Letter("name", name)) if name != "delta" else domain.ranges["delta"]
    low, high = where.low, where.high
    tried = list(EPS) if name == "eps" else [Fraction(k, 16) for k in range(17)]
    if low is not None and high is not None:
        tried += [low + (high - low) * Fraction(k, 64) for k in range(1, 64)]
    ends = [end for end in (low, high) if end is not None]
    tried = [*(tried if name != "delta" else []), *ends, *(end + step for end in ends for step in _STEPS)]
    tried += [*_between_roots(name, suspect)]
    inside = [
        value
        for value in dict.fromkeys(tried)
        if (low is None or value > low or (value == low and not where.low_open))
        and (high is None or value < high or (value == high and not where.high_open))
    ]
    return inside or [Fraction(0)]


_STEPS = tuple(Fraction(sign, 2**k) for k in (0, 2, 5, 10) for sign in (1, -1))


def _between_roots(name: str, suspect: Suspect) -> Iterator[Fraction]:
    """Points between the real roots of a function of one letter."""
    if not isinstance(suspect.gap, LetterRatio) or len(suspect.gap.letters()) != 1:
        return
    (letter,) = suspect.gap.letters()
    if (letter.kind, letter.name) not in (("name", name), ("decay", "")) or (letter.kind == "decay" and name != "eps"):
        return
    field = suspect.gap.field
    place = field.letters.index(letter)
    top = suspect.gap.top
    coefficients = [0] * (top.degrees()[place] + 1)
    for powers, factor in top.to_dict().items():
        coefficients[powers[place]] = int(factor)
    found: Any = fmpz_poly(coefficients).complex_roots()
    roots = sorted(float(root.real.mid()) for root, _ in found if abs(root.imag) < 1e-9)
    marks = [Fraction(root) for root in roots]
    for first, second in zip([*marks[:1], *marks], [*marks, *marks[-1:]], strict=True):
        middle = (first + second) / 2
        if letter.kind == "decay":
            if 0 < middle < 1:
                low, high = enclosed(-field.ball(middle).log() * field.root)
                yield Fraction(round((low + high) / 2 * 10**9), 10**9)
        else:
            yield middle


def all_witnesses(program: Program, suspects: list[Suspect]) -> Any:
    """The first witness among several places."""
    return next((found for suspect in suspects if (found := witness_of(program, suspect)) is not None), None)
