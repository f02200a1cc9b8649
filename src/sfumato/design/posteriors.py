"""Posteriors: what is believed after something was seen, beside what epsilon allows. All of it in exact numbers.

Comes in: a prior, a channel or one for each observation, and what was seen. Goes out: probabilities by input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.design.compose import Entry, summed
from sfumato.design.priors import Prior, as_prior, has_floats
from sfumato.design.telling import html_table, name, say, short
from sfumato.errors import InputError
from sfumato.mechanisms import Channel
from sfumato.reals import Real


@dataclass(frozen=True)
class Belief:
    """What is believed of each input before and after, and the bounds that the channel's worst ratio sets.

    Guarantee: whatever is seen, the belief in an input lies between `low` and `high`.
    Proof: by Bayes' rule the odds of x against the rest are multiplied by p(z|x) over a mean of p(z|x') with x' != x,
        which lies within [1/r, r] where r is the largest ratio of two entries of a column; for several observations r
        is the product. p/(p + (1 - p) r) and p r/(p r + 1 - p) are the ends.
    Reference: Kasiviswanathan, Smith, Journal of Privacy and Confidentiality 6, 2014.
    Checked by: design::a_belief_stays_within_its_bounds, design::the_bounds_of_a_belief_are_reached
    """

    prior: dict[Any, Fraction]
    posterior: dict[Any, Entry]
    chance: Entry
    ratio: Fraction | None
    approximate: bool

    def low(self, x: Any) -> Fraction:
        """The least that may be believed of x after any answers of these channels."""
        return self.bounds(self.prior[x])[0]

    def high(self, x: Any) -> Fraction:
        """The most that may be believed of x after any answers of these channels."""
        return self.bounds(self.prior[x])[1]

    def bounds(self, p: Fraction) -> tuple[Fraction, Fraction]:
        """How far the belief in a statement of this prior probability may move."""
        if p in (0, 1):
            return p, p
        if self.ratio is None:
            return Fraction(0), Fraction(1)
        return p / (p + (1 - p) * self.ratio), p * self.ratio / (p * self.ratio + 1 - p)

    def _repr_html_(self) -> str:
        rows = [
            (name(x), short(self.prior[x]), say(p), short(self.low(x)), short(self.high(x)))
            for x, p in self.posterior.items()
        ]
        return html_table(("input", "prior", "posterior", "at least", "at most"), rows)

    def of(self, holds: Callable[[Any], bool]) -> tuple[Fraction, Entry]:
        """The probability of a statement about the input, before and after."""
        before = sum((p for x, p in self.prior.items() if holds(x)), Fraction(0))
        return before, summed([p for x, p in self.posterior.items() if holds(x)])


def posterior(prior: Prior, channel: Channel | Sequence[Channel], *seen: Any) -> dict[Any, Entry]:
    """The probability of each input, given what was seen.

    `channel` is one channel, through which all of `seen` came independently, or a list with one for each observation.
    A dict of probabilities names the rows of a channel that has no names.

    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["ill", "well"], ["yes", "no"])
    >>> posterior("uniform", coin, "yes", "yes")
    {'ill': Fraction(9, 10), 'well': Fraction(1, 10)}
    >>> posterior({"ill": "1/2", "well": "1/2"}, Channel([["3/4", "1/4"], ["1/4", "3/4"]]), 0)
    {'ill': Fraction(3, 4), 'well': Fraction(1, 4)}
    """
    return belief(prior, channel, *seen).posterior


def belief(prior: Prior, channel: Channel | Sequence[Channel], *seen: Any) -> Belief:
    """The posterior with the prior, the chance of what was seen, and the bounds that hold for any observation."""
    through = [channel] * len(seen) if isinstance(channel, Channel) else list(channel)
    if not seen or len(through) != len(seen):
        raise InputError(
            "a posterior needs one observed output for each channel",
            detail=f"There are {len(through)} channels and {len(seen)} observations.",
        )
    inputs = through[0].inputs
    if any(one.inputs != inputs for one in through):
        raise InputError("all channels of a posterior have the same inputs")
    if isinstance(prior, Mapping) and tuple(inputs) == tuple(range(len(prior))) and not set(inputs) & set(prior):
        inputs = tuple(prior)  # a matrix without names: the prior names its rows
    before = as_prior(prior, inputs)
    weights: list[Entry] = list(before)
    for one, z in zip(through, seen, strict=True):
        column = one.column(z)
        weights = [w * p if w_ else Fraction(0) for w, p, w_ in zip(weights, column, before, strict=True)]
    chance = summed(weights)
    if not isinstance(chance, Real) and chance == 0:
        raise InputError("the observed outputs are impossible under this prior")
    after = {x: w / chance if p else Fraction(0) for x, w, p in zip(inputs, weights, before, strict=True)}
    approximate = has_floats(prior) or any(one.approximate for one in through)
    return Belief(dict(zip(inputs, before, strict=True)), after, chance, _worst(through), approximate)


def _worst(channels: Sequence[Channel]) -> Fraction | None:
    """The product of the largest ratios of two entries in a column; None where one has no bound."""
    known: dict[int, Fraction | None] = {}
    product = Fraction(1)
    for one in channels:
        if id(one) not in known:
            known[id(one)] = _largest_ratio(one)
        ratio = known[id(one)]
        if ratio is None:
            return None
        product *= ratio
    return product


def _largest_ratio(channel: Channel) -> Fraction | None:
    most = Fraction(1)
    for x in range(len(channel.inputs)):
        for other in range(len(channel.inputs)):
            found = channel.ratio(x, other) if x != other else None
            if found is not None:
                if found[1] is None:
                    return None
                most = max(most, found[1])
    return most
