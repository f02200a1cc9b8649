"""Utility: what an answer is worth to somebody who makes the best of it.

Comes in: a channel, a prior, a gain. Goes out: the expected gain with the best remapping, the remapping, and how much
the answer adds to what the prior was worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from operator import mul
from typing import Any

from sfumato.design.compose import Entry, summed
from sfumato.design.gains import Gain, gains
from sfumato.design.priors import Prior, as_prior, has_floats
from sfumato.design.telling import html_table, name, say
from sfumato.errors import InputError
from sfumato.mechanisms import Channel
from sfumato.mechanisms.metrics import Metric
from sfumato.reals import Enclosure, Real, as_real, combination
from sfumato.types import as_written

_BITS = 512
"""Two gains that agree to this many bits count as equal when a guess is chosen: either is as good to 1e-150."""


@dataclass(frozen=True)
class Utility:
    """The expected gain of an answer.

    Guarantee: `gain` is the expected gain under `remap`; for fractions no remapping of outputs to guesses has more, for
        reals none has more than 1e-140 of the largest gain more.
    Proof: the guess for one output does not touch another's: the best for each maximises the sum over inputs of
        prior * probability * gain, which is compared in whole numbers of a common unit, or by enclosures.
    Reference: Ghosh, Roughgarden, Sundararajan, STOC 2009; Alvim et al., The Science of Quantitative Information Flow,
        2020 (g-vulnerability).
    Checked by: design::no_remap_is_better_than_the_best, design::utility_of_the_geometric_mechanism_has_its_closed_form
    """

    gain: Entry
    remap: dict[Any, Any]
    without: Entry
    guess: Any
    approximate: bool

    @property
    def additive(self) -> Entry:
        """The leakage: how much more is gained with the answer than without."""
        return summed([self.gain, -self.without])

    @property
    def multiplicative(self) -> Entry | None:
        """The factor by which the answer raises the gain; None where nothing can be gained without."""
        zero = not isinstance(self.without, Real) and self.without == 0
        return None if zero else self.gain / self.without

    def _repr_html_(self) -> str:
        rows = [("utility", say(self.gain)), ("without an answer", say(self.without)), ("leakage", say(self.additive))]
        rows += [(f"{name(z)} is read as", name(w)) for z, w in self.remap.items()]
        return html_table(("", "approximate" if self.approximate else ""), rows)


def utility(
    channel: Channel,
    prior: Prior = "uniform",
    gain: Gain = "identity",
    *,
    guesses: Sequence[Any] | None = None,
    metric: Metric = "euclidean",
) -> Utility:
    """The utility of a channel for this prior and gain; with the gain "identity" it is the Bayes vulnerability.

    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["ill", "well"], ["yes", "no"])
    >>> utility(coin, {"ill": "1/10", "well": "9/10"}).remap
    {'yes': 'well', 'no': 'well'}
    """
    before = as_prior(prior, channel.inputs)
    among = list(channel.inputs if guesses is None else guesses)
    table = gains(gain, channel.inputs, among, metric)
    flat = _whole([g for row in table for g in row])
    scale = [flat[i : i + len(before)] for i in range(0, len(flat), len(before))]
    shares, parts = [n for n, _ in _whole(before)], _Sum()
    remap = {}
    for z, column in zip(channel.outputs, zip(*channel.matrix, strict=True), strict=True):
        w = _best(scale, [(n * low, n * high) for n, (low, high) in zip(shares, _whole(column), strict=True)])
        parts.add(before, table[w], column)
        remap[z] = among[w]
    guess = _best(scale, [(n, n) for n in shares])
    alone = _Sum()
    alone.add(before, table[guess], [Fraction(1)] * len(before))
    floats = channel.approximate or has_floats(prior) or (not callable(gain) and has_floats(gain))
    return Utility(parts.total(), remap, alone.total(), among[guess], floats)


def expected_gain(
    channel: Channel,
    prior: Prior,
    gain: Gain,
    remap: Mapping[Any, Any] | None = None,
    *,
    metric: Metric = "euclidean",
) -> Entry:
    """The expected gain under a given remapping: outputs that it leaves out, or all without one, are guesses as they
    are.
    """
    before = as_prior(prior, channel.inputs)
    guessed = [remap.get(z, z) if remap else z for z in channel.outputs]
    table = gains(gain, channel.inputs, list(dict.fromkeys(guessed)), metric)
    place = {w: i for i, w in enumerate(dict.fromkeys(guessed))}
    parts = _Sum()
    for w, column in zip(guessed, zip(*channel.matrix, strict=True), strict=True):
        parts.add(before, table[place[w]], column)
    return parts.total()


def compare(
    mechanisms: Mapping[str, Channel],
    prior: Prior = "uniform",
    gain: Gain = "identity",
    *,
    metric: Metric = None,
    distance: Metric = "euclidean",
) -> dict[str, tuple[Fraction | None, Utility]]:
    """For each mechanism its epsilon under the metric and its utility: which is worth more at what price."""
    if len({made.inputs for made in mechanisms.values()}) != 1:
        raise InputError("mechanisms that are compared have the same inputs")
    return {
        name: (made.epsilon(metric), utility(made, prior, gain, metric=distance)) for name, made in mechanisms.items()
    }


class _Sum:
    """A sum of prior * gain * probability: fractions are added as they come, reals in one enclosure at the end."""

    def __init__(self) -> None:
        self.exact, self.reals = Fraction(0), list[tuple[Fraction, Real]]()

    def add(self, before: Sequence[Fraction], row: Sequence[Entry], column: Sequence[Entry]) -> None:
        """The inputs of one output: their prior, what its guess gains and how probable the output is."""
        for p, g, q in zip(before, row, column, strict=True):
            if not isinstance(g, Real) and not isinstance(q, Real):
                self.exact += p * g * q if p and g and q else 0
            elif isinstance(g, Real):
                self.reals.append((p, g * q) if isinstance(q, Real) else (p * q, g))
            elif isinstance(q, Real):
                self.reals.append((p * g, q))

    def total(self) -> Entry:
        """A fraction if all terms are."""
        terms = [(c, x) for c, x in self.reals if c]
        return combination([*terms, (self.exact, as_real(1))]) if terms else self.exact


def _best(table: Sequence[Sequence[Enclosure]], weights: Sequence[Enclosure]) -> int:
    """The guess with the largest expected gain: decided exactly among fractions; among reals by enclosures, the first
    of those that cannot be told apart.
    """
    held = [(x, ends) for x, ends in enumerate(weights) if ends != (0, 0)]
    places, lows, highs = [x for x, _ in held], [p for _, (p, _) in held], [q for _, (_, q) in held]
    same = lows == highs
    ends = []
    for row in table:
        gains_ = [row[x] for x in places]
        if same or all(low >= 0 for low, _ in gains_):
            low = sum(map(mul, [g for g, _ in gains_], lows))
            high = sum(map(mul, [g for _, g in gains_], highs))
        else:
            low = sum(a * (p if a >= 0 else q) for (a, _), p, q in zip(gains_, lows, highs, strict=True))
            high = sum(b * (q if b >= 0 else p) for (_, b), p, q in zip(gains_, lows, highs, strict=True))
        ends.append((low, high))
    floor = max(low for low, _ in ends)
    return next(w for w, (_, high) in enumerate(ends) if high >= floor)


def _whole(entries: Sequence[Entry]) -> list[Enclosure]:
    """Numbers in one common unit as whole numbers from below and above, which are the same for fractions."""
    exact = [entry for entry in entries if not isinstance(entry, Real)]
    if len(exact) < len(entries):
        return [as_real(entry).enclose(_BITS) for entry in entries]
    unit = lcm(*(entry.denominator for entry in exact))
    return [(n, n) for n in (entry.numerator * (unit // entry.denominator) for entry in exact)]


def curve(
    mechanism: str,
    inputs: Sequence[Any],
    epsilons: Sequence[Any],
    prior: Prior = "uniform",
    gain: Gain = "identity",
    **options: Any,
) -> list[tuple[Fraction, Entry]]:
    """The utility of a mechanism, called by its name, at each epsilon: points of a curve."""
    from sfumato.design.channels import channel

    points = []
    for epsilon in epsilons:
        level = as_written(epsilon, "epsilon")
        points.append((level, utility(channel(mechanism, inputs, epsilon=level, **options), prior, gain).gain))
    return points
