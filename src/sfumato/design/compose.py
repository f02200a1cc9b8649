"""Channels put together: one after another, side by side, after a function; and what each pair of inputs needs.

Comes in: channels. Goes out: channels, exact as what they were made of; and the epsilon of every pair with its witness.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.mechanisms import Channel, needed_epsilon
from sfumato.mechanisms.metrics import Distance, Metric, distances
from sfumato.reals import Real, as_real, total

_NEAR = 1e-9
"""Logarithms of probabilities are floats right to 1e-12; what is further apart than this is decided by them."""
Entry = Fraction | Real
LARGEST = 250_000
"""Entries of a channel that is written out."""


def cascade(first: Channel, second: Channel) -> Channel:
    """Post-processing: what comes out of the first goes into the second.

    Guarantee: under any metric its epsilon is at most that of the first.
    Proof: an entry of the product is a mean of a row of the first with weights that do not depend on the input.
    Reference: Dwork and Roth 2014, proposition 2.1.
    Checked by: design::channels_one_after_another_and_side_by_side
    """
    if first.outputs != second.inputs:
        raise InputError(
            "the outputs of the first channel must be the inputs of the second",
            detail=f"The first has {len(first.outputs)} outputs, the second {len(second.inputs)} inputs.",
        )
    columns = list(zip(*second.matrix, strict=True))
    rows = [[summed([p * q for p, q in zip(row, column, strict=True)]) for column in columns] for row in first.matrix]
    return Channel(rows, first.inputs, second.outputs, approximate=first.approximate or second.approximate)


def parallel(*channels: Channel) -> Channel:
    """All of them on one input, independently: outputs are tuples.

    Guarantee: the epsilon of two inputs is the sum of their epsilons in each channel.
    Proof: probabilities of tuples are products, and the largest ratio of products of independent choices is the product
        of the largest ratios.
    Reference: Dwork, McSherry, Nissim, Smith, TCC 2006 (composition).
    Checked by: design::channels_one_after_another_and_side_by_side
    """
    if not channels or any(one.inputs != channels[0].inputs for one in channels):
        raise InputError("channels side by side have the same inputs")
    size = len(channels[0].inputs)
    rows: list[list[Entry]] = [[Fraction(1)] for _ in range(size)]
    names: list[tuple[Any, ...]] = [()]
    for one in channels:
        if size * len(names) * len(one.outputs) > LARGEST:
            raise InputError(f"a channel is written out up to {LARGEST} entries", hint="Take fewer observations.")
        rows = [[p * q for p in row for q in one.matrix[x]] for x, row in enumerate(rows)]
        names = [(*name, y) for name in names for y in one.outputs]
    return Channel(rows, channels[0].inputs, names, approximate=any(one.approximate for one in channels))


def deterministic(
    function: Callable[[Any], Any], inputs: Sequence[Any], outputs: Sequence[Any] | None = None
) -> Channel:
    """The channel of a function: a query that is answered exactly."""
    answers = [function(x) for x in inputs]
    names = list(dict.fromkeys(answers)) if outputs is None else list(outputs)
    if any(answer not in names for answer in answers):
        raise InputError("the function gives an answer that is not among the outputs")
    return Channel([[Fraction(int(answer == y)) for y in names] for answer in answers], inputs, names)


def after(query: Callable[[Any], Any], databases: Sequence[Any], noise: Channel) -> Channel:
    """An oblivious mechanism: the query's answer, through the noise. Each database has the row of its answer."""
    place = {y: i for i, y in enumerate(noise.inputs)}
    answers = [query(x) for x in databases]
    if any(answer not in place for answer in answers):
        raise InputError("the query has an answer that is no input of the noise")
    rows = [noise.matrix[place[answer]] for answer in answers]
    return Channel(rows, databases, noise.outputs, approximate=noise.approximate)


def reduced(channel: Channel) -> tuple[Channel, list[list[int]]]:
    """Outputs that say the same are one output, those that never happen none; and which columns became which.

    Two outputs say the same where their columns are proportional: for fractions this is decided exactly.
    """
    groups: dict[tuple[Fraction, ...], list[int]] = {}
    for j, column in enumerate(zip(*channel.matrix, strict=True)):
        whole = [as_fraction(p) for p in column]
        total_ = sum(whole, Fraction(0))
        if total_:
            groups.setdefault(tuple(p / total_ for p in whole), []).append(j)
    kept = list(groups.values())
    rows = [[summed([row[j] for j in group]) for group in kept] for row in channel.matrix]
    names = [channel.outputs[g[0]] if len(g) == 1 else tuple(channel.outputs[j] for j in g) for g in kept]
    return Channel(rows, channel.inputs, names, approximate=channel.approximate), kept


def as_fraction(entry: Entry) -> Fraction:
    """An entry that must be a fraction for what is asked of it."""
    if isinstance(entry, Real):
        raise InputError(
            "this needs a channel of fractions, but its entries are powers of e",
            hint='Give epsilon as the logarithm of a fraction, for example "ln 2".',
        )
    return entry


def summed(terms: Sequence[Entry]) -> Entry:
    """The sum: a fraction if all are, else one real."""
    if any(isinstance(term, Real) for term in terms):
        return total([as_real(term) for term in terms])
    return sum((term for term in terms if not isinstance(term, Real)), Fraction(0))


@dataclass(frozen=True)
class TellingPair:
    """Two inputs, the output that tells them apart best, and what that needs."""

    first: Any
    second: Any
    output: Any
    ratio: Fraction | None
    distance: Distance
    epsilon: Fraction | None


def pairs(channel: Channel, metric: Metric = None) -> list[TellingPair]:
    """For any two inputs the larger of the two directions, those that need the most first.

    `ratio` is the largest ratio of probabilities of one output (from above, where entries are powers of e), None where
    one of them is 0; `epsilon` is its logarithm over the distance, rounded up to 1e-15; None where none is enough.
    """
    apart = distances(metric, channel.inputs)
    found = [_pair(channel, other, x, apart[x][other]) for x in range(len(channel.inputs)) for other in range(x)]
    return sorted(found, key=lambda pair: (pair.epsilon is not None, -(pair.epsilon or 0)))


def worst_pair(channel: Channel, metric: Metric = None) -> TellingPair | None:
    """The first of `pairs`, without the others: floats leave out pairs, and outputs of a pair, that are far from it;
    None for one input.
    """
    many = len(channel.inputs)
    if many < 2:
        return None
    apart = distances(metric, channel.inputs)
    logs = channel.logarithms()
    lower, upper = np.tril_indices(many, -1)[::-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        ways = [np.nanmax(logs[a] - logs[b], axis=1) for a, b in ((lower, upper), (upper, lower))]
        needed = np.maximum(*ways) / np.array([float(apart[b][a]) for a, b in zip(lower, upper, strict=True)])
    if not np.isfinite(needed).all():
        return pairs(channel, metric)[0]
    near = np.flatnonzero(needed >= needed.max() - _NEAR * (1 + abs(needed.max())))
    places = zip(lower[near].tolist(), upper[near].tolist(), strict=True)
    found = [_pair(channel, x, z, apart[z][x], logs) for x, z in places]
    return min(found, key=lambda pair: (pair.epsilon is not None, -(pair.epsilon or 0)))


def _pair(
    channel: Channel, x: int, other: int, distance: Distance, logs: NDArray[np.float64] | None = None
) -> TellingPair:
    sides = []
    for a, b in ((x, other), (other, x)):
        worst = channel.ratio(a, b, None if logs is None else _telling(logs[a], logs[b]))
        if worst is not None:
            sides.append((worst[1] is None, worst[1] or Fraction(0), a, b, worst[0]))
    if not sides:
        return TellingPair(channel.inputs[x], channel.inputs[other], None, Fraction(1), distance, Fraction(0))
    never, ratio, a, b, y = max(sides, key=lambda side: side[:2])
    needed = None if never else needed_epsilon(ratio, distance)
    return TellingPair(
        channel.inputs[a], channel.inputs[b], channel.outputs[y], None if never else ratio, distance, needed
    )


def _telling(one: NDArray[np.float64], other: NDArray[np.float64]) -> list[int]:
    """The outputs whose ratio is the largest, as far as floats tell."""
    with np.errstate(invalid="ignore"):
        gap = one - other  # nan where neither can give the output
    most = np.nanmax(gap)
    return [int(y) for y in np.flatnonzero(gap >= most - _NEAR * (1 + abs(most)))]
