"""Mechanisms by name: how the matrix of each is made. Comes in: an Order. Goes out: a Channel.

The entries are fractions where the decays e^(-epsilon d) are, else exact reals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.design.exact import solve
from sfumato.design.level import FAR, Level
from sfumato.design.ranges import ladder
from sfumato.errors import InputError
from sfumato.mechanisms import Channel
from sfumato.mechanisms.metrics import Distance, Metric, distances
from sfumato.reals import Real, as_real, round_down, total
from sfumato.types import as_written, show

Entry = Fraction | Real
LARGEST = 20_000
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
            raise InputError("this mechanism needs an epsilon", hint='For example epsilon=1, or epsilon="ln 2".')
        return self.level


def check_size(rows: int, columns: int) -> None:
    """Raise InputError for a matrix that is too large to be written out and compared row by row."""
    if rows * columns > LARGEST:
        raise InputError(
            f"a channel is written out up to {LARGEST} entries, but this one has {rows} times {columns}",
            hint="Take a smaller range or a larger step.",
        )


def _decay(level: Level, distance: Distance | int) -> Entry:
    """e^(-epsilon d), not so small that two of them cannot be compared."""
    if level.is_far(distance):
        raise InputError(
            f"epsilon times distance must be at most {FAR}, but is {float(level.epsilon) * float(distance):.6g}",
            hint="Take a smaller epsilon or a smaller range.",
        )
    return level.decay(distance)


def with_tails(places: Sequence[Any]) -> list[Any]:
    """All outputs at or beyond the first and the last input say the same: one column each, and nothing is lost."""
    if len(places) == 1:
        return list(places)
    return [f"<={show(places[0])}", *places[1:-1], f">={show(places[-1])}"]


def _geometric(order: MechanismOrder) -> Channel:
    made = _truncated_geometric(order)
    return made if order.outputs is not None else Channel(made.matrix, made.inputs, with_tails(made.outputs))


def _truncated_geometric(order: MechanismOrder) -> Channel:
    """a^|z-y| (1-a)/(1+a) inside, a^|z-y|/(1+a) at the ends; a = e^(-epsilon step/sensitivity)."""
    numbers = [as_written(x, "input") for x in order.inputs]
    ends = numbers if order.outputs is None else [as_written(y, "output") for y in order.outputs]
    places = ladder(min(ends), max(ends), order.step)
    check_size(len(numbers), len(places))
    if any(((x - places[0]) / order.step).denominator != 1 for x in numbers):
        raise InputError(f"inputs must be {show(order.step)} apart from each other or multiples of it")
    level = order.need_level().over(order.sensitivity)
    a = _decay(level, order.step)
    return Channel([[_mass(level, a, places, x, y) for y in places] for x in numbers], order.inputs, places)


def _mass(level: Level, a: Entry, places: Sequence[Any], x: Fraction, y: Any) -> Entry:
    low, high = places[0], places[-1]
    if low == high:
        return Fraction(1)
    if low < y < high:
        return _decay(level, abs(x - y)) * ((1 - a) / (1 + a))
    if low <= x <= high:
        return _decay(level, abs(x - y)) / (1 + a)
    if (x < low) == (y == low):  # an input outside of the range: the end next to it has all that lies beyond
        return 1 - _decay(level, abs(x - y)) * a / (1 + a)
    return _decay(level, abs(x - y)) / (1 + a)


def _randomized_response(order: MechanismOrder) -> Channel:
    """The truth with e^epsilon times the probability of any other answer."""
    size = len(order.inputs)
    check_size(size, size)
    if size < 2:
        raise InputError("randomized response needs two inputs at least")
    lie = _decay(order.need_level(), 1)
    other = lie / (1 + (size - 1) * lie)
    truth = 1 / as_real(1 + (size - 1) * lie) if isinstance(lie, Real) else 1 / (1 + (size - 1) * lie)
    rows = [[truth if i == j else other for j in range(size)] for i in range(size)]
    return Channel(rows, order.inputs, order.outputs or order.inputs)


def _exponential(order: MechanismOrder) -> Channel:
    """Outputs by e^(-epsilon d/(2 sensitivity)), each row divided by its sum."""
    outputs = order.outputs or order.inputs
    level = order.need_level().over(2 * order.sensitivity)
    apart = _across(order, outputs)
    rows = []
    for row in apart:
        weights = [_decay(level, d) for d in row]
        whole = total([as_real(w) for w in weights]) if any(isinstance(w, Real) for w in weights) else sum(weights)
        rows.append([w / whole for w in weights])
    return Channel(rows, order.inputs, outputs)


def _across(order: MechanismOrder, outputs: Sequence[Any]) -> list[list[Any]]:
    """Distances from inputs to outputs; a number is measured by its difference unless another metric is named."""
    metric = "manhattan" if order.metric is None else order.metric
    check_size(len(order.inputs), len(outputs))
    if tuple(outputs) == order.inputs:
        return [list(row) for row in distances(metric, order.inputs)]
    points = list(dict.fromkeys([*order.inputs, *outputs]))
    apart = distances(metric, points)
    place = {point: i for i, point in enumerate(points)}
    return [[apart[place[x]][place[y]] for y in outputs] for x in order.inputs]


def _tight_constraints(order: MechanismOrder) -> Channel:
    """K(z|x) = v(z) e^(-epsilon d(x, z)), every row adding up to 1: exists where all v are at least 0."""
    level, apart = order.need_level().over(order.sensitivity), _across(order, order.inputs)
    decays = [[_decay(level, d) for d in row] for row in apart]
    if any(isinstance(w, Real) for row in decays for w in row):
        less = Level(level.times * (1 - Fraction(1, 1 << 100)), level.odds)  # pays for what is rounded off
        decays = [[_below(_decay(less, d)) for d in row] for row in apart]
    rows = [[Fraction(w) for w in row if not isinstance(w, Real)] for row in decays]
    weights = solve(rows, [Fraction(1)] * len(rows))
    if weights is None or min(weights) < 0:
        raise InputError(
            "no mechanism has all constraints tight here",
            detail="The weights of the outputs would have to be negative.",
            hint="Take a larger epsilon, or the optimal mechanism.",
        )
    made = [[v * w for v, w in zip(weights, row, strict=True)] for row in rows]
    return Channel(made, order.inputs, order.outputs or order.inputs)


def _below(decay: Entry) -> Fraction:
    return round_down(decay, _FINE) if isinstance(decay, Real) else decay


BUILDERS: dict[str, Callable[[MechanismOrder], Channel]] = {
    "geometric": _geometric,
    "truncated-geometric": _truncated_geometric,
    "randomized-response": _randomized_response,
    "exponential": _exponential,
    "tight-constraints": _tight_constraints,
}
"""Mechanisms by name, over any inputs."""


def builder(name: str) -> Callable[[MechanismOrder], Channel]:
    """The mechanism of this name."""
    word = name.strip().lower().replace("_", "-")
    if word not in BUILDERS:
        raise InputError(
            f'mechanism "{name}" is not known', hint=f"One of: {', '.join(BUILDERS)}; or a table of probabilities."
        )
    return BUILDERS[word]
