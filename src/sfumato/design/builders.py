"""Mechanisms by name: the law of each input. Comes in: an order. Goes out: outputs, and their probabilities row by row.

The entries are fractions where the decays e^(-epsilon d) are, else exact reals; equal entries are one object, so that
what is computed of one is computed of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

from sfumato.design.exact import solve
from sfumato.design.level import FAR, Level
from sfumato.design.ranges import ladder
from sfumato.errors import InputError
from sfumato.mechanisms import Channel
from sfumato.mechanisms.metrics import Distance, Metric, as_distance, distances, word_function
from sfumato.reals import Real, as_real, round_down, total
from sfumato.types import as_written, show

Entry = Fraction | Real
LARGEST = 20_000
_SOLVED = 50
"""Inputs that do not lie on a line, for which tight constraints are solved where decays are not fractions: 3 s."""
_FINE = Fraction(1, 1 << 200)
"""Where decays are not fractions, tight constraints are solved for fractions this near below them."""


@dataclass(frozen=True)
class MechanismOrder:
    """What a mechanism that is called by its name is made from."""

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...] | None
    level: Level | None
    sensitivity: Fraction
    step: Fraction
    metric: Metric

    def need_level(self) -> Level:
        """The epsilon, or one clear error."""
        if self.level is None:
            raise InputError("this mechanism needs an epsilon", hint='For example 1, or "ln 2".')
        return self.level


@dataclass(frozen=True)
class InputLaws:
    """The outputs of a mechanism, and the probabilities of all of them for the input at a place."""

    outputs: Sequence[Any]
    row: Callable[[int], list[Entry]]


def check_size(rows: int, columns: int) -> None:
    """Raise InputError for a matrix that is too large to be written out and compared row by row."""
    if rows * columns > LARGEST:
        raise InputError(
            f"a channel is written out up to {LARGEST} entries, but this one has {rows} times {columns}",
            hint="Take a smaller range or a larger step, or one row.",
        )


def build(mechanism: str, order: MechanismOrder, places: Sequence[int] | None = None) -> Channel:
    """The channel of a mechanism by its name: of all inputs, or of those at some places."""
    word = mechanism.strip().lower().replace("_", "-")
    if word not in BUILDERS:
        raise InputError(
            f'mechanism "{mechanism}" is not known', hint=f"One of: {', '.join(BUILDERS)}; or a table of probabilities."
        )
    chosen = range(len(order.inputs)) if places is None else places
    check_size(len(chosen), len(order.inputs) if order.outputs is None else len(order.outputs))
    laws = BUILDERS[word](order)
    check_size(len(chosen), len(laws.outputs))
    return Channel([laws.row(x) for x in chosen], [order.inputs[x] for x in chosen], laws.outputs)


def _decays(level: Level) -> Callable[[Distance | int], Entry]:
    """e^(-epsilon d), not so small that two of them cannot be compared; equal ones are one object."""

    @cache
    def decay(distance: Distance | int) -> Entry:
        if level.is_far(distance):
            raise InputError(
                f"epsilon times distance must be at most {FAR}, but is {float(level.epsilon) * float(distance):.6g}",
                hint="Take a smaller epsilon or a smaller range.",
            )
        return level.decay(distance)

    return decay


def with_tails(places: Sequence[Any]) -> list[Any]:
    """All outputs at or beyond the first and the last input say the same: one column each, and nothing is lost."""
    if len(places) == 1:
        return list(places)
    return [f"<={show(places[0])}", *places[1:-1], f">={show(places[-1])}"]


def _geometric(order: MechanismOrder) -> InputLaws:
    laws = _truncated_geometric(order)
    return laws if order.outputs is not None else InputLaws(with_tails(laws.outputs), laws.row)


def _truncated_geometric(order: MechanismOrder) -> InputLaws:
    """a^|z-y| (1-a)/(1+a) inside, a^|z-y|/(1+a) at the ends; a = e^(-epsilon step/sensitivity)."""
    numbers = [as_written(x, "input") for x in order.inputs]
    ends = numbers if order.outputs is None else [as_written(y, "output") for y in order.outputs]
    places = ladder(min(ends), max(ends), order.step)
    if any(((x - places[0]) / order.step).denominator != 1 for x in numbers):
        raise InputError(f"inputs must be {show(order.step)} apart from each other or multiples of it")
    decay = _decays(order.need_level().over(order.sensitivity))
    a, low, high = decay(order.step), places[0], places[-1]
    within, beyond = (1 - a) / (1 + a), 1 / (1 + a)

    @cache
    def inside(distance: Fraction) -> Entry:
        return decay(distance) * within

    @cache
    def outside(distance: Fraction) -> Entry:
        return decay(distance) * beyond

    def mass(x: Fraction, y: Any) -> Entry:
        if low == high:
            return Fraction(1)
        if low < y < high:
            return inside(abs(x - y))
        if not low <= x <= high and (x < low) == (y == low):  # an input outside: the end next to it has all beyond it
            return 1 - outside(abs(x - y)) * a
        return outside(abs(x - y))

    return InputLaws(places, lambda x: [mass(numbers[x], y) for y in places])


def _randomized_response(order: MechanismOrder) -> InputLaws:
    """The truth with e^epsilon times the probability of any other answer."""
    size = len(order.inputs)
    if size < 2:
        raise InputError("randomized response needs two inputs at least")
    lie = _decays(order.need_level())(1)
    other = lie / (1 + (size - 1) * lie)
    truth = 1 / as_real(1 + (size - 1) * lie) if isinstance(lie, Real) else 1 / (1 + (size - 1) * lie)
    return InputLaws(order.outputs or order.inputs, lambda x: [truth if x == y else other for y in range(size)])


def _exponential(order: MechanismOrder) -> InputLaws:
    """Outputs by e^(-epsilon d/(2 sensitivity)), each row divided by its sum."""
    outputs = order.outputs or order.inputs
    decay = _decays(order.need_level().over(2 * order.sensitivity))
    apart = _across(order, outputs)

    def row(x: int) -> list[Entry]:
        weights = [decay(d) for d in apart(x)]
        whole = total([as_real(w) for w in weights]) if any(isinstance(w, Real) for w in weights) else sum(weights)
        shares = {id(weight): weight / whole for weight in weights}
        return [shares[id(weight)] for weight in weights]

    return InputLaws(outputs, row)


def _across(order: MechanismOrder, outputs: Sequence[Any]) -> Callable[[int], Sequence[Distance]]:
    """Distances from an input to all outputs; a number is measured by its difference unless another metric is named."""
    metric = "manhattan" if order.metric is None else order.metric
    points = order.inputs if tuple(outputs) == order.inputs else tuple(dict.fromkeys([*order.inputs, *outputs]))
    if isinstance(metric, str):
        between = word_function(metric, points)
        return lambda x: [as_distance(between(order.inputs[x], y)) for y in outputs]
    check_size(len(points), len(points))
    apart = distances(metric, points)
    place = {point: i for i, point in enumerate(points)}
    return lambda x: [apart[place[order.inputs[x]]][place[y]] for y in outputs]


def _tight_constraints(order: MechanismOrder) -> InputLaws:
    """K(z|x) = v(z) e^(-epsilon d(x, z)), every row adding up to 1: exists where all v are at least 0."""
    level, apart = order.need_level().over(order.sensitivity), _across(order, order.inputs)
    decay, outputs = _decays(level), order.outputs or order.inputs
    below: Callable[[Distance], Entry] = decay
    if len(outputs) != len(order.inputs):
        raise InputError("tight constraints have as many outputs as inputs")
    check_size(len(order.inputs), len(order.inputs))
    weights = _weights_on_a_line(apart, len(order.inputs), decay)
    if weights is None:
        below, weights = _solved([apart(x) for x in range(len(order.inputs))], level)
    by_place, used = weights, below

    @cache
    def entry(place: int, distance: Distance) -> Entry:
        return by_place[place] * used(distance)

    return InputLaws(outputs, lambda x: [entry(z, d) for z, d in enumerate(apart(x))])


def _weights_on_a_line(
    apart: Callable[[int], Sequence[Distance]], size: int, decay: Callable[[Distance], Entry]
) -> list[Entry] | None:
    """The weights v where inputs lie on a line, by their neighbours alone; None where they do not.

    Guarantee: the only solution of sum over z of v(z) a(d(x, z)) = 1 for all x, and above 0.
    Proof: v(z) = 1/(1 + r) + 1/(1 + s) - 1 with the decays r and s to the neighbours, one term alone at an end. The
        sum over all points on one side of z, taken at z, is s/(1 + s): where z' is the next one and s' the decay
        beyond it, that sum is s (v(z') + s'/(1 + s')) = s/(1 + s), by induction from the end. So the whole sum at z is
        r/(1 + r) + v(z) + s/(1 + s) = 1. The determinant is the product of all 1 - r^2, which is not 0.
    Reference: the inverse of an exponential kernel on a line is tridiagonal (Gantmacher and Krein, 1950).
    Checked by: design::tight_constraints_on_a_line_solve_the_equations
    """
    first = apart(0)
    if any(isinstance(d, Real) for d in first):
        return None
    start = apart(max(range(size), key=first.__getitem__))
    if any(isinstance(d, Real) for d in start) or len(set(start)) < size:
        return None
    for x in range(size):
        if any(isinstance(d, Real) or d != abs(start[x] - start[z]) for z, d in enumerate(apart(x))):
            return None
    order = sorted(range(size), key=start.__getitem__)
    share = [1 / (1 + decay(start[z] - start[x])) for x, z in pairwise(order)]
    ends = [Fraction(1), *share, Fraction(1)]
    weights: list[Entry] = [Fraction(1)] * size
    for at, x in enumerate(order):
        weights[x] = ends[at] + ends[at + 1] - 1
    return weights


def _solved(apart: Sequence[Sequence[Distance]], level: Level) -> tuple[Callable[[Distance], Entry], list[Entry]]:
    """The weights by linear algebra, and the decays for which they are exact: fractions, just below the true ones."""
    decay = _decays(level)
    if any(isinstance(decay(d), Real) for row in apart for d in row):
        if len(apart) > _SOLVED:
            raise InputError(
                f"tight constraints are solved for up to {_SOLVED} inputs that are not on a line, not for {len(apart)}",
                hint='Take fewer inputs, or an epsilon such as "ln 2" and whole distances.',
            )
        less = _decays(Level(level.times * (1 - Fraction(1, 1 << 100)), level.odds))  # pays for what is rounded off
        decay = cache(lambda d: _below(less(d)))
    rows = [[Fraction(w) for d in row if not isinstance(w := decay(d), Real)] for row in apart]
    weights = solve(rows, [Fraction(1)] * len(rows))
    if weights is None or min(weights) < 0:
        raise InputError(
            "no mechanism has all constraints tight here",
            detail="The weights of the outputs would have to be negative.",
            hint="Take a larger epsilon, or the optimal mechanism.",
        )
    return decay, list(weights)


def _below(decay: Entry) -> Fraction:
    return round_down(decay, _FINE) if isinstance(decay, Real) else decay


BUILDERS: dict[str, Callable[[MechanismOrder], InputLaws]] = {
    "geometric": _geometric,
    "truncated-geometric": _truncated_geometric,
    "randomized-response": _randomized_response,
    "exponential": _exponential,
    "tight-constraints": _tight_constraints,
}
"""Mechanisms by name, over any inputs."""
