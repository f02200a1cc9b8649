"""Channels: the matrix of any mechanism on a range of inputs. Comes in: a mechanism, by its object, its name or its
table, and the inputs. Goes out: a Channel with names, its entries fractions or exact reals.

Epsilon may be the logarithm of a fraction ("ln 2"): then the entries are fractions wherever distances are whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from sfumato.design.builders import MechanismOrder, build, check_size, with_tails
from sfumato.design.level import as_level
from sfumato.design.priors import distribution, has_floats
from sfumato.design.ranges import ladder
from sfumato.errors import InputError
from sfumato.mechanisms import (
    Channel,
    Exponential,
    Geometric,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    RandomizedResponse,
    TruncatedGeometric,
    TruncatedLaplace,
)
from sfumato.mechanisms.metrics import Metric
from sfumato.reals import Real, as_real
from sfumato.types import as_written, positive, show

Entry = Fraction | Real


def channel(
    mechanism: Any,
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    *,
    epsilon: Any = None,
    sensitivity: Any = 1,
    step: Any = 1,
    metric: Metric = None,
    rows: Sequence[Any] | None = None,
) -> Channel:
    """The matrix of a mechanism on these inputs, or of some of its rows.

    `mechanism` is a name of BUILDERS, an object of sfumato.mechanisms, a Channel, a table of probabilities with a row
    for each input, or a dict of dicts. `outputs` names the outputs of a table, the candidates of a choice, or the range
    into which a noisy number is brought. `rows` names inputs whose rows alone are wanted: of a mechanism that is called
    by its name the others are not computed.

    >>> [str(p) for p in channel("truncated-geometric", range(3), epsilon="ln 2").matrix[1]]
    ['1/3', '1/3', '1/3']
    """
    if inputs is not None and len(inputs) == 0:
        raise InputError("a channel needs at least one input")
    if rows is not None and not isinstance(mechanism, str):
        return _some_rows(channel(mechanism, inputs, outputs), rows)
    if isinstance(mechanism, Channel):
        return _renamed(mechanism, inputs, outputs)
    if isinstance(mechanism, str):
        if inputs is None:
            raise InputError("a channel needs its inputs", hint="For example range(11), or --inputs 0..10.")
        level = None if epsilon is None else as_level(epsilon)
        apart = positive(sensitivity, "sensitivity"), positive(step, "step")
        order = MechanismOrder(tuple(inputs), None if outputs is None else tuple(outputs), level, *apart, metric)
        return build(mechanism, order, None if rows is None else _places(order.inputs, rows))
    if isinstance(mechanism, (Sequence, Mapping)) or hasattr(mechanism, "tolist"):
        return table(mechanism, inputs, outputs)
    return _of_object(mechanism, inputs, outputs)


def table(given: Any, inputs: Sequence[Any] | None = None, outputs: Sequence[Any] | None = None) -> Channel:
    """A channel from its table: rows of numbers, or {input: {output: probability}}."""
    if isinstance(given, Mapping):
        inputs = list(given) if inputs is None else inputs
        outputs = list(dict.fromkeys(y for row in given.values() for y in row)) if outputs is None else outputs
        given = [[given[x].get(y, 0) for y in outputs] for x in inputs]
    rows = [list(row) for row in (given.tolist() if hasattr(given, "tolist") else given)]
    if not rows or len({len(row) for row in rows}) != 1:
        raise InputError("a channel is a matrix: rows of one length, at least one row and one column")
    floats = has_floats(rows)
    if not any(isinstance(p, Real) for row in rows for p in row):
        rows = [list(distribution(row, f"row {x} of the channel")) for x, row in enumerate(rows)]
    return Channel(rows, inputs, outputs, approximate=floats)


def _places(inputs: tuple[Any, ...], rows: Sequence[Any]) -> list[int]:
    strange = next((x for x in rows if x not in inputs), None)
    if strange is not None:
        raise InputError(f"{show(strange) if isinstance(strange, Fraction) else strange} is no input of this channel")
    return [inputs.index(x) for x in rows]


def _some_rows(made: Channel, rows: Sequence[Any]) -> Channel:
    kept = [made.matrix[x] for x in _places(made.inputs, rows)]
    return Channel(kept, rows, made.outputs, approximate=made.approximate)


def _renamed(made: Channel, inputs: Sequence[Any] | None, outputs: Sequence[Any] | None) -> Channel:
    return Channel(
        made.matrix,
        made.inputs if inputs is None else inputs,
        made.outputs if outputs is None else outputs,
        approximate=made.approximate,
    )


def _of_object(mechanism: Any, inputs: Sequence[Any] | None, outputs: Sequence[Any] | None) -> Channel:
    """The channel of an object that adds noise, answers at random, or chooses."""
    if isinstance(mechanism, RandomizedResponse):
        return _renamed(mechanism.channel(), inputs, inputs if outputs is None else outputs)
    if inputs is None:
        raise InputError("a channel needs its inputs", hint="For example range(11), or --inputs 0..10.")
    if isinstance(mechanism, (Exponential, PermuteAndFlip, NoisyMax)):
        return _choice(mechanism, inputs, outputs)
    if isinstance(mechanism, (TruncatedGeometric, TruncatedLaplace)):
        places = ladder(mechanism.low, mechanism.high, Fraction(getattr(mechanism, "grid", 1)))
        if outputs is not None and list(outputs) != places:
            raise InputError("a truncated mechanism names its outputs itself, by low and high")
        return Channel([[mechanism.mass(y, x) for y in places] for x in inputs], inputs, places)
    if isinstance(mechanism, type) or not hasattr(mechanism, "cdf"):
        raise InputError(
            f"{getattr(mechanism, '__name__', type(mechanism).__name__)} has no channel here",
            hint="Give the table of its probabilities, a row for each input.",
        )
    tails = isinstance(mechanism, (Geometric, Laplace))
    step = Fraction(getattr(mechanism, "grid", 1))
    if outputs is None and not tails:
        raise InputError(
            "this noise needs outputs to be brought into", hint="For example range(11), or --outputs 0..10."
        )
    numbers = [as_written(x, "input") for x in inputs]
    if isinstance(mechanism, Laplace):
        numbers = [(x / step + Fraction(1, 2)) // 1 * step for x in numbers]  # as it is released: nearest, halves up
    ends = numbers if outputs is None else [as_written(y, "output") for y in outputs]
    if any((end / step).denominator != 1 for end in ends):
        raise InputError(f"outputs of this noise are multiples of {show(step)}")
    places = ladder(min(ends), max(ends), step)
    check_size(len(numbers), len(places))
    rows = [_clamped(mechanism.cdf, x, places) for x in numbers]
    return Channel(rows, inputs, with_tails(places) if outputs is None else places)


def _choice(mechanism: Any, inputs: Sequence[Any], outputs: Sequence[Any] | None) -> Channel:
    """A choice among candidates: an input is a tuple of their scores."""
    if any(not isinstance(scores, (tuple, list)) or len(scores) != len(inputs[0]) for scores in inputs):
        raise InputError(
            "inputs of a choice are lists of scores, one for each candidate",
            hint='Where scores are minus distances, name the mechanism "exponential", with inputs and a metric.',
        )
    places = range(len(inputs[0]))
    return Channel([[mechanism.mass(y, list(x)) for y in places] for x in inputs], inputs, outputs or places)


def _clamped(cdf: Callable[[Any], Real], x: Fraction, places: Sequence[Fraction]) -> list[Entry]:
    """The law of x plus noise, brought into a ladder of places."""
    up_to = [*(cdf(y - x) for y in places[:-1]), as_real(1)]
    return [up_to[0], *(b - a for a, b in pairwise(up_to))]
