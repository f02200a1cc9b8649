"""Ways of looking at an output: each view sorts outputs into cells, and cells are what an event is made of.

Comes in: outputs of two neighbours, for training. Goes out: functions from outputs to whole numbers. A view may be
clumsy or wrong: anything computed from an output is post-processing, so no view can accuse an innocent mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.outputs import ABSENT, NUMBER, OutputTable, together
from sfumato.audit.profile import logistic, profile_score
from sfumato.audit.worth import Worth

Cells = NDArray[np.int64]
Read = Callable[[OutputTable], tuple[NDArray[np.float64], NDArray[np.int64]]]
_RANGES = 2
"""Ranges of a number that are said in words."""
_BINS = 200
_FAR = 4
"""How often the outermost quantiles are halved."""
_PLACES = 4
"""Single places that get a view of their own."""
_FITTED = 3000
"""Runs of each side that a score is fitted to."""


@dataclass(frozen=True)
class View:
    """A name for people, and the function."""

    name: str
    cells: Callable[[OutputTable], Cells]
    bits: bool = False
    """Whether it looks at how a number is stored, not only at how large it is."""
    ordered: bool = False
    """Whether the cells are a score's: the larger, the likelier for the first neighbour."""
    ends: bool = False
    """Whether its events are all that lies beyond one number."""
    say: Callable[[Cells], str | None] | None = None
    """Cells in words, where there are any that say more than their number."""


def views_of(
    one: OutputTable, other: OutputTable, worth: Worth, *, few: bool = False, named: set[str] | None = None
) -> Iterator[View]:
    """All views worth trying, fitted to the outputs of two neighbours by what counts are worth; or a few, to tell which
    pair is promising; or those of these names.
    """
    both = together([one, other])
    for name, build in _views(one, other, both, worth, few=few):
        if named is None or name in named:
            view = build()
            if view is not None:
                yield view


def _views(
    one: OutputTable, other: OutputTable, both: OutputTable, worth: Worth, *, few: bool
) -> Iterator[tuple[str, Callable[[], View | None]]]:
    name = "the kinds of values and how many there are"
    yield name, partial(View, name, _shape)
    yield "the whole output", lambda: _if_few("the whole output", both)
    places = both.numbers.shape[1]
    numeric = [j for j in range(places) if (both.symbols[:, j] == NUMBER).any()]
    for j in numeric[: 1 if few else _PLACES]:
        name = f"place {j + 1}" if places > 1 else "the value"
        yield name, partial(_place, name, both, _column(j))
        for side, word in ((1, "large"), (-1, "small")):
            yield f"{name}, if {word}", partial(_beyond, f"{name}, if {word}", name, both, _column(j), side)
        name = f"the lowest bit of place {j + 1}"
        yield name, partial(View, name, _low_bit_view(j), bits=True)
    if len(numeric) > 1:
        for name, summary in (("the sum", _sum), ("the largest", _max), ("the smallest", _min)):
            yield f"{name} of all numbers", partial(_place, f"{name} of all numbers", both, summary)
    if places > 1 and numeric:
        name = "where the first number stands, and how small or large it is"
        yield name, lambda: _profile_view(name, one, other, both, worth)
    if places > 1 and numeric and not few:
        yield "kinds of values, with their sum", lambda: _kinds_and_sum(both)
    if places > 1 and not (few and numeric):
        yield "a score of all places together", lambda: _score(one, other)


def _if_few(name: str, both: OutputTable) -> View | None:
    return View(name, _whole) if len(np.unique(_whole(both))) <= len(both) // 8 else None


def _profile_view(name: str, one: OutputTable, other: OutputTable, both: OutputTable, worth: Worth) -> View | None:
    score = profile_score(one, other, worth)
    return None if score is None else _binned(name, score, both)


def _kinds_and_sum(both: OutputTable) -> View:
    summed = _place("the sum", both, _sum, bins=24).cells
    return View("kinds of values, with their sum", lambda o: _mix(_shape(o), summed(o)))


def _mix(one: Cells, other: Cells) -> Cells:
    with np.errstate(over="ignore"):
        return one * np.int64(-7046029254386353131) ^ (other + np.int64(1)) * np.int64(-4417276706812531889)


def _hashed(columns: NDArray[np.int64]) -> Cells:
    """Rows of whole numbers as one number each; two rows that share one by chance only blur the view."""
    cells = np.zeros(len(columns), np.int64)
    for column in columns.T:
        cells = _mix(cells, column)
    return cells


def _shape(outputs: OutputTable) -> Cells:
    return _hashed(np.where(outputs.symbols == NUMBER, NUMBER, outputs.symbols))


def _whole(outputs: OutputTable) -> Cells:
    bits = np.ascontiguousarray(outputs.numbers + 0.0).view(np.int64)  # + 0.0: minus zero is zero
    return _mix(_hashed(bits), _shape(outputs))


def _column(j: int) -> Callable[[OutputTable], tuple[NDArray[np.float64], NDArray[np.int64]]]:
    return lambda o: (o.numbers[:, j], o.symbols[:, j]) if j < o.numbers.shape[1] else _nothing(o)


def _nothing(o: OutputTable) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return np.zeros(len(o)), np.full(len(o), ABSENT, np.int64)


def _sum(o: OutputTable) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return o.numbers.sum(axis=1), (o.symbols == NUMBER).sum(axis=1)


def _max(o: OutputTable) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return np.where(o.symbols == NUMBER, o.numbers, -np.inf).max(axis=1), np.zeros(len(o), np.int64)


def _min(o: OutputTable) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return np.where(o.symbols == NUMBER, o.numbers, np.inf).min(axis=1), np.zeros(len(o), np.int64)


def _place(
    name: str,
    both: OutputTable,
    read: Read,
    bins: int = _BINS,
) -> View:
    """A number sorted into quantiles, atoms having cells of their own; symbols beside it."""
    edges = _edges(both, read, bins)

    def cells(o: OutputTable) -> Cells:
        found, symbols = read(o)
        left = np.searchsorted(edges, found, side="left") + np.searchsorted(edges, found, side="right")
        return left.astype(np.int64) + symbols * np.int64(8 * bins)

    return View(name, cells, say=lambda members: _said(name, edges, members))


def _edges(both: OutputTable, read: Read, bins: int) -> NDArray[np.float64]:
    """Quantiles of a number."""
    numbers, symbols = read(both)
    # where no number stands there is a zero: it must not take the quantiles of those that do
    there = symbols > 0 if read is _sum else symbols == NUMBER
    finite = numbers[np.isfinite(numbers) & there]
    far = 2.0 ** -np.arange(1, _FAR + 1) / bins  # what is cut off or drawn anew lies in the tails
    levels = np.concatenate([np.linspace(0, 1, bins + 1), far, 1 - far])
    return np.unique(np.quantile(finite, levels)) if finite.size else np.zeros(1)


def _beyond(name: str, place: str, both: OutputTable, read: Read, side: int) -> View:
    """A number by its size alone: events are all that lies above (side 1) or below (-1) one of its quantiles."""
    edges = _edges(both, read, _BINS)

    def cells(o: OutputTable) -> Cells:
        found, symbols = read(o)
        left = np.searchsorted(edges, found, side="left") + np.searchsorted(edges, found, side="right")
        return np.where(symbols == NUMBER, side * left, -len(edges) * 4).astype(np.int64)

    return View(
        name, cells, ordered=True, ends=True, say=lambda members: _said(place, edges, _filled(side * members, edges))
    )


def _filled(members: Cells, edges: NDArray[np.float64]) -> Cells:
    """All cells on one side of a number: also those that no training run fell into."""
    codes = members[members >= 0]
    if len(codes) < len(members) or not len(codes):
        return members  # there are outputs without a number in it
    last = 2 * len(edges)
    return np.arange(0, codes.max() + 1) if codes.min() <= last - codes.max() else np.arange(codes.min(), last + 1)


def _said(name: str, edges: NDArray[np.float64], members: Cells) -> str | None:
    """Cells of a number as ranges, if there are few: an odd one is an edge, an even one lies between two of them."""
    codes = np.unique(members)
    lone = [code for code in (codes + 1).tolist() if code % 2 and code + 1 in codes]  # an edge between two of them
    codes = np.union1d(codes, np.array(lone, np.int64))
    if not len(codes) or codes[0] < 0 or codes[-1] > 2 * len(edges):
        return None
    starts = codes[np.flatnonzero(np.diff(codes, prepend=-9) > 1)]
    stops = codes[np.flatnonzero(np.diff(codes, append=codes[-1] + 9) > 1)]
    if len(starts) > _RANGES:
        return None
    ranges = []
    for low, high in zip(starts.tolist(), stops.tolist(), strict=True):
        bounds = [f"above {edges[low // 2 - 1]:.6g}"] if low > 1 else []
        bounds += [f"below {edges[(high + 1) // 2]:.6g}"] if (high + 1) // 2 < len(edges) else []
        ranges.append(" and ".join(bounds) or "any number")
    return f"{name} is {' or '.join(ranges)}"


def _low_bit_view(j: int) -> Callable[[OutputTable], Cells]:
    """Which power of two the last set bit of a double is: sums of floats lie on grids that their parts betray.

    With it, coarsely, how large the number is: it decides which grid rounding left.
    """

    def cells(o: OutputTable) -> Cells:
        numbers, symbols = _column(j)(o)
        mantissa, exponent = np.frexp(numbers)
        digits = np.abs(mantissa * 2.0**53).astype(np.int64)
        lowest = digits & -digits
        place = np.where(digits == 0, 5000, exponent - 53 + np.log2(np.maximum(lowest, 1)).astype(np.int64))
        return np.asarray(place + 8192 + 20000 * np.clip(exponent, -8, 8) + np.int64(1 << 22) * symbols, np.int64)

    return cells


def _score(one: OutputTable, other: OutputTable) -> View:
    """An additive score of all places, by logistic regression on coarse cells of each place and of differences."""
    one, other = one.rows(0, _FITTED), other.rows(0, _FITTED)
    both = together([one, other])
    features = _features_of(both)
    x = features(both)
    label = np.concatenate([np.ones(len(one)), np.zeros(len(other))])
    weights = logistic(x, label)
    return _binned("a score of all places together", lambda o: np.einsum("ij,j->i", features(o), weights), both)


def _binned(name: str, score: Callable[[OutputTable], NDArray[np.float64]], both: OutputTable) -> View:
    """A score in quantiles, finer toward both ends, where the events are that tell most."""
    tail = np.geomspace(1e-4, 0.05, _BINS // 2)
    edges = np.unique(np.quantile(score(both), np.concatenate([tail, np.linspace(0.05, 0.95, _BINS), 1 - tail])))
    return View(name, lambda o: np.searchsorted(edges, score(o), side="left").astype(np.int64), ordered=True)


def _features_of(both: OutputTable) -> Callable[[OutputTable], NDArray[np.float64]]:
    places = min(both.numbers.shape[1], 24)
    cuts = np.linspace(0, 1, 6 if places <= 8 else 4)[1:-1]
    edges = [np.unique(np.quantile(c, cuts)) for c in _channels(both, places).T]
    symbols = [np.unique(both.symbols[:, j])[:8] for j in range(places)]

    def features(o: OutputTable) -> NDArray[np.float64]:
        columns = [np.ones(len(o))]
        for channel, cuts in zip(_channels(o, places).T, edges, strict=True):
            columns += [(channel > cut).astype(float) for cut in cuts]
        wide = o.wide(places).symbols
        for j, known in enumerate(symbols):
            columns += [(wide[:, j] == symbol).astype(float) for symbol in known[1:]]
        return np.stack(columns, axis=1)

    return features


def _channels(o: OutputTable, places: int) -> NDArray[np.float64]:
    numbers = o.wide(places).numbers
    if places > 8:
        return numbers
    return np.concatenate([numbers, np.diff(numbers, axis=1)], axis=1)
