"""What is audited: a black box that can be run many times, and the pairs of neighbours to run it on.

Comes in: a Python function, or the name of a mechanism with a claim. Goes out: a Subject. A function that takes `size`
is asked for many outputs at once; an exception that it raises is an output like any other, for an analyst sees it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.accounting import rho_star
from sfumato.audit.neighbours import Pair, pairs_of
from sfumato.audit.outputs import ABSENT, NONE, NUMBER, OutputTable, encode
from sfumato.errors import InputError, SfumatoError
from sfumato.mechanisms import MECHANISMS

Sampler = Callable[[Any, int], OutputTable]


@dataclass(frozen=True)
class Subject:
    """`sample(input, count)` runs it; `pairs` are neighbours."""

    name: str
    sample: Sampler
    pairs: tuple[Pair, ...]


def of_function(function: Callable[..., Any], adjacent: str | None = None, name: str | None = None) -> Subject:
    """Any callable of one input. With no word, a function that has `pairs` says itself what its neighbours are; one
    that takes a number is given numbers, and else lists.
    """
    sample = _sampler(function)
    called = name or str(getattr(function, "__name__", "function"))
    own = getattr(function, "pairs", None)
    if adjacent is None and own:
        return Subject(called, sample, tuple((a, b) for a, b in own))
    word = adjacent or ("number" if _takes(function, 0) else "one")
    pairs = tuple((a, b) for a, b in pairs_of(word) if _takes(function, a) or _takes(function, b))
    if not pairs:
        reason = _reason(function, pairs_of(word)[0][0])
        raise InputError(
            f"the function raises for every input of adjacency {word!r}",
            detail=reason,
            hint="Name what it takes with --adjacent, for example one or all for lists of numbers.",
        )
    return Subject(called, sample, pairs)


def _takes(function: Callable[..., Any], given: Any) -> bool:
    return _reason(function, given) is None


def _reason(function: Callable[..., Any], given: Any) -> str | None:
    try:
        function(given, size=2) if _is_many(function) else function(given)
    except Exception as error:  # noqa: BLE001  anything may come out of a black box
        return f"{type(error).__name__}: {error}"
    return None


def _is_many(function: Callable[..., Any]) -> bool:
    """Whether it can be asked for many outputs at once."""
    try:
        return "size" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # a function of C without a signature
        return False


def _sampler(function: Callable[..., Any]) -> Sampler:
    if not _is_many(function):
        return lambda given, count: encode([_run(function, given) for _ in range(count)])

    def sample(given: Any, count: int) -> OutputTable:
        found = function(given, size=count)
        if len(found) != count:
            raise InputError(f"the function must return {count} outputs, but returned {len(found)}")
        return encode(found)

    return sample


def _run(function: Callable[..., Any], given: Any) -> Any:
    try:
        return function(given)
    except Exception as error:  # noqa: BLE001  an exception is something that an analyst sees
        return f"raises {type(error).__name__}"


def of_mechanism(name: str, epsilon: Fraction, delta: Fraction) -> Subject:
    """One of MECHANISMS, built for this claim."""
    build = _BUILD.get(name)
    if build is None:
        raise InputError(f'mechanism "{name}" is not known', hint=f"One of: {', '.join(MECHANISMS)}.")
    try:
        return build(name, epsilon, delta)
    except SfumatoError as error:
        if delta == 0 and "delta" in error.message:
            raise InputError(f"{name} needs a delta", hint="Write --claim E,D, for example --claim 1,0.001.") from None
        raise


def _entries(name: str, release: Callable[[Any], Any], *pairs: Pair) -> Subject:
    """Entries of an array are independent releases: many at once."""
    return Subject(name, lambda given, count: encode(_plain(release(np.full(count, given)))), pairs)


def _plain(values: Any) -> Any:
    return values.astype(np.float64) if values.dtype == object else values


def _many(name: str, release: Callable[[Any, int], Any], *pairs: Pair) -> Subject:
    """Releases of a vector by the code that serves, many at once."""
    return Subject(name, lambda given, count: encode(_plain(release(given, count))), pairs)


def _on_entries(*arguments: Any, pairs: tuple[Pair, ...]) -> Callable[[str, Fraction, Fraction], Subject]:
    """`...` stands for epsilon."""

    def build(name: str, epsilon: Fraction, _: Fraction) -> Subject:
        made = MECHANISMS[name](*(epsilon if a is ... else a for a in arguments))
        return _entries(name, made.release, *pairs)

    return build


def _on_vectors(*arguments: Any, pairs: tuple[Pair, ...]) -> Callable[[str, Fraction, Fraction], Subject]:
    def build(name: str, epsilon: Fraction, _: Fraction) -> Subject:
        made = MECHANISMS[name](*(epsilon if a is ... else a for a in arguments))
        return _many(name, lambda given, count: made.release(given, count=count), *pairs)

    return build


def _noisy_max(name: str, epsilon: Fraction, _: Fraction) -> Subject:
    """With the gap, which is released for the same price."""
    made = MECHANISMS[name](1, epsilon)
    return _many(name, lambda given, count: np.stack(made.release_with_gap(given, count), axis=1), *_SCORES)


def _sparse(name: str, epsilon: Fraction, _: Fraction) -> Subject:
    made = MECHANISMS[name](1, epsilon, 2)

    def sample(given: Any, count: int) -> OutputTable:
        said, gaps = made.release(given, count=count)
        kinds = np.select([said == 1, said == 0], [NUMBER, NONE], ABSENT)
        return OutputTable(gaps.astype(np.float64), kinds.astype(np.int64))

    return Subject(name, sample, _STREAMS)


def _ranks(*arguments: Any) -> Callable[[str, Fraction, Fraction], Subject]:
    """Rows at the places 0 to 3, by their weights; neighbours have one row more."""

    def build(name: str, epsilon: Fraction, _: Fraction) -> Subject:
        made = MECHANISMS[name](*arguments, 1, epsilon)
        return _many(name, lambda weights, count: made.release([0, 1, 2, 3], weights, 0, 3, count), *_WEIGHTS)

    return build


def _rungs(name: str, epsilon: Fraction, _: Fraction) -> Subject:
    """The same rows around the centre 0."""
    made = MECHANISMS[name](Fraction(1, 2), 1, epsilon)
    return _many(name, lambda w, count: made.release([0, 1, 2, 3], w, 0, 3, 0, count=count), *_WEIGHTS)


def _gaussian(name: str, epsilon: Fraction, delta: Fraction) -> Subject:
    """Priced in rho: the most that this claim allows; with no delta, the rho that epsilon alone would be worth."""
    rho = rho_star(epsilon, delta) if delta else epsilon**2 / 2
    return _entries(name, MECHANISMS[name](2, rho).release, (0, 2))


def _channel(name: str, epsilon: Fraction, _: Fraction) -> Subject:
    matrix = MECHANISMS["TruncatedGeometric"](1, epsilon, 0, 3).channel().matrix
    return _entries(name, MECHANISMS[name](matrix).release, (0, 1), (1, 2))


def _selection(name: str, epsilon: Fraction, delta: Fraction) -> Subject:
    turn = MECHANISMS[name](epsilon, delta).turn
    return _entries(name, MECHANISMS[name](epsilon, delta).release, (0, 1), (1, 2), (turn - 1, turn), (turn, turn + 1))


def _gaussian_selection(name: str, epsilon: Fraction, delta: Fraction) -> Subject:
    made = MECHANISMS[name](rho_star(epsilon, delta / 2), delta / 2)
    return _entries(name, made.release, (0, 1), (1, 2), (made.threshold - 1, made.threshold))


def _thresholded(name: str, epsilon: Fraction, delta: Fraction) -> Subject:
    """Two keys of one person, or one; hidden counts are None."""
    made = MECHANISMS[name](2, epsilon, delta, 2)

    def sample(count: int, times: int) -> OutputTable:
        told = made.release([count] * times)
        kinds = np.array([[NONE if number is None else NUMBER] for number in told], np.int64)
        return OutputTable(np.array([[0 if number is None else number] for number in told], np.float64), kinds)

    near = made.threshold - 1
    return Subject(name, sample, ((0, 2), (near, near + 2), (near - 2, near)))


_SCORES: tuple[Pair, ...] = (([1, 1, 1], [2, 0, 0]), ([3, 2, 1], [2, 3, 2]))
_WEIGHTS: tuple[Pair, ...] = (([1, 0, 0, 1], [1, 0, 0, 2]), ([2, 1, 1, 2], [2, 2, 1, 2]))
_STREAMS: tuple[Pair, ...] = (([0, 0, 1], [1, 1, 0]), ([0, 0, 0, 0], [1, 1, 1, 1]))
_BUILD: dict[str, Callable[[str, Fraction, Fraction], Subject]] = {
    "Geometric": _on_entries(2, ..., pairs=((0, 2), (5, 3))),
    "TruncatedGeometric": _on_entries(1, ..., 0, 4, pairs=((0, 1), (2, 3))),
    "Laplace": _on_entries(1, ..., Fraction(1, 4), pairs=((0, 1),)),
    "TruncatedLaplace": _on_entries(1, ..., Fraction(1, 4), 0, 4, pairs=((0, 1), (2, 3))),
    "Gaussian": _gaussian,
    "Exponential": _on_vectors(1, ..., pairs=_SCORES),
    "PermuteAndFlip": _on_vectors(1, ..., pairs=_SCORES),
    "NoisyMax": _noisy_max,
    "RankedChoice": _on_vectors(1, ..., pairs=(([1, 1, 1], [0, 2, 2]), ([0, 1, 2], [1, 0, 1]))),
    "OrderStatistic": _ranks(Fraction(1, 2)),
    "MostFrequent": _ranks(),
    "RankInterval": _rungs,
    "RandomizedResponse": _on_entries(..., 4, pairs=((0, 1),)),
    "Staircase": _on_vectors(3, ..., pairs=((0, 3), (0, 1))),
    "SparseVector": _sparse,
    "Channel": _channel,
    "KeySelection": _selection,
    "GaussianKeySelection": _gaussian_selection,
    "ThresholdedCounts": _thresholded,
    "PrefixSums": _on_vectors(1, 4, ..., pairs=(([0, 0, 0, 0], [1, 0, 0, 0]), ([0, 0, 0, 0], [0, 0, 0, 1]))),
}
"""How each mechanism is built and run: by `release`, with a count where one release is of a vector."""
