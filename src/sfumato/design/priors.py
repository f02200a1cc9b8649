"""Priors: what is believed before anything is seen. Comes in: a word, a list, a dict. Goes out: a fraction each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from sfumato.errors import InputError
from sfumato.types import as_written, show

Prior = str | Mapping[Any, Any] | Sequence[Any]
SLACK = Fraction(1, 10**9)
"""How far the sum of floats may be from 1 before they count as a mistake."""


def as_prior(prior: Prior, inputs: Sequence[Any]) -> tuple[Fraction, ...]:
    """A probability for each input, in their order.

    "uniform"; "binomial P": how many of the people have something, each of them with probability P on her own; a list
    in the order of the inputs; a dict by input, which may leave out those of probability 0.

    >>> [str(p) for p in as_prior("binomial 1/3", [0, 1, 2])]
    ['4/9', '4/9', '1/9']
    """
    count = len(inputs)
    if isinstance(prior, str):
        return _by_word(prior, count)
    if isinstance(prior, Mapping):
        strange = [key for key in prior if key not in inputs]
        if strange:
            raise InputError(f"the prior speaks of {len(strange)} inputs that the channel does not have")
        prior = [prior.get(x, 0) for x in inputs]
    given = list(prior)
    if len(given) != count:
        raise InputError(f"a prior has one probability for each input: {count}, but this one has {len(given)}")
    return distribution(given, "the prior")


def _by_word(word: str, count: int) -> tuple[Fraction, ...]:
    if word == "uniform":
        return (Fraction(1, count),) * count
    if word.startswith("binomial"):
        p, n = as_written(word.removeprefix("binomial").strip(" ()"), "binomial"), count - 1
        if not 0 <= p <= 1:
            raise InputError(f"a probability lies between 0 and 1, but is {show(p)}")
        return tuple(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(count))
    raise InputError(
        f'prior "{word}" is not known', hint='Write uniform, "binomial 1/2", or one probability per input.'
    )


def distribution(given: Sequence[Any], what: str) -> tuple[Fraction, ...]:
    """Probabilities that add up to 1: exactly, or, where floats are among them, nearly, and then rescaled."""
    numbers = [as_written(p, "probability") for p in given]
    if any(p < 0 for p in numbers):
        raise InputError(f"a probability is at least 0, but {what} has one below")
    total = sum(numbers, Fraction(0))
    if total != 1 and not (has_floats(given) and abs(total - 1) <= SLACK):
        raise InputError(
            f"{what} must add up to 1, but adds up to {show(total)}",
            hint="Write fractions, such as 1/3, where decimals do not end.",
        )
    return tuple(p / total for p in numbers)


def has_floats(given: Any) -> bool:
    """Whether a number came as a float: what is computed from it is approximate."""
    if isinstance(given, Mapping):
        return has_floats(list(given.values()))
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        return isinstance(given, float) or type(given).__name__.startswith("float")
    return any(has_floats(item) for item in given)
