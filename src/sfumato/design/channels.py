"""Channels: the matrix of any mechanism on a range of inputs. Comes in: a mechanism, by its object, its name or its
table, and the inputs. Goes out: a Channel with names, its entries fractions or exact reals.

Epsilon may be the logarithm of a fraction ("ln 2"): then the entries are fractions wherever distances are whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from sfumato.design.builders import Order, builder, with_tails
from sfumato.design.level import as_level
from sfumato.design.priors import distribution, has_floats
from sfumato.design.ranges import ladder
from sfumato.errors import InputError
from sfumato.mechanisms import (
    Channel,
    Exponential,
    Geometric,
    Laplace,
    RandomizedResponse,
    TruncatedGeometric,
    TruncatedLaplace,
)
from sfumato.mechanisms.metrics import Metric
from sfumato.reals import Real, as_real
from sfumato.words import as_written, positive

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
) -> Channel:
    """The matrix of a mechanism on these inputs.

    `mechanism` is a name of BUILDERS, an object of sfumato.mechanisms, a Channel, a table of probabilities with a row
    for each input, or a dict of dicts. `outputs` names the outputs of a table, the candidates of a choice, or the range
    into which a noisy number is brought.

    >>> [str(p) for p in channel("truncated-geometric", range(3), epsilon="ln 2").matrix[1]]
    ['1/3', '1/3', '1/3']
    """
    if isinstance(mechanism, Channel):
        return _renamed(mechanism, inputs, outputs)
    if isinstance(mechanism, str):
        if inputs is None:
            raise InputError("a channel needs its inputs", hint="For example inputs=range(11).")
        level = None if epsilon is None else as_level(epsilon)
        apart = positive(sensitivity, "sensitivity"), positive(step, "step")
        order = Order(tuple(inputs), None if outputs is None else tuple(outputs), level, *apart, metric)
        return builder(mechanism)(order)
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
        raise InputError("a channel needs its inputs", hint="For example inputs=range(11).")
    if isinstance(mechanism, Exponential):
        raise InputError(
            "a choice needs to know what the scores are",
            hint='Use channel("exponential", inputs, outputs, epsilon=…, metric=…): scores are minus distances.',
        )
    if isinstance(mechanism, (TruncatedGeometric, TruncatedLaplace)):
        step = Fraction(getattr(mechanism, "grid", 1))
        places = ladder(mechanism.low, mechanism.high, step)
        return Channel([[mechanism.mass(y, x) for y in places] for x in inputs], inputs, places)
    if not hasattr(mechanism, "cdf"):
        raise InputError(
            f"{type(mechanism).__name__} has no channel here",
            hint="Give the table of its probabilities, a row for each input.",
        )
    tails = isinstance(mechanism, (Geometric, Laplace))
    step = Fraction(getattr(mechanism, "grid", 1))
    if outputs is None and not tails:
        raise InputError("this noise needs outputs to be brought into", hint="For example outputs=range(11).")
    numbers = [as_written(x, "input") for x in inputs]
    ends = outputs if outputs is not None else numbers
    places = ladder(min(ends), max(ends), step)
    rows = [_clamped(mechanism.cdf, x, places) for x in numbers]
    return Channel(rows, inputs, with_tails(places) if outputs is None else places)


def _clamped(cdf: Callable[[Any], Real], x: Fraction, places: Sequence[Fraction]) -> list[Entry]:
    """The law of x plus noise, brought into a ladder of places."""
    up_to = [*(cdf(y - x) for y in places[:-1]), as_real(1)]
    return [up_to[0], *(b - a for a, b in pairwise(up_to))]
