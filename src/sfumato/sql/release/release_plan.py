"""What a release is planned as: the terms it is bought on, its groups, its noise, and how its values are finished.

Comes in: nothing. Goes out: the records that `releases` fills in, and that checking, charging, running and finishing
read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sfumato.accounting import Event
from sfumato.algebra.aggregates.base import Bundle
from sfumato.algebra.job import Job
from sfumato.algebra.noise_widths import NoiseTerm
from sfumato.algebra.relations import Release
from sfumato.algebra.tree import Aggregate
from sfumato.intervals.prefix_sums import Running, Total
from sfumato.mechanisms import (
    GaussianKeySelection,
    KeySelection,
    MostFrequent,
    OrderStatistic,
    RankInterval,
    ThresholdedCounts,
)
from sfumato.sql.release.bundles import (
    BundleSource,
    Sources,
)

GEOMETRIC, GAUSSIAN = "geometric", "gaussian"


@dataclass(frozen=True)
class ReleaseTerms:
    """What a release may spend: epsilon, or rho = epsilon²/2 for Gaussian noise, and delta for choosing open keys."""

    epsilon: Fraction
    noise: str
    delta: Fraction
    rows_per_unit: int | None

    @property
    def rho(self) -> Fraction:
        """What this epsilon buys in zCDP."""
        return self.epsilon**2 / 2


@dataclass(frozen=True)
class ReleasedBundle:
    """A bundle as it is released: what one person can move, the size of the noise, and the unit of its numbers.

    Geometric: `sensitivity` in L1, `scale` = sensitivity/epsilon. Gaussian: `sensitivity` is the square of L2, and
    `scale` the variance. Both in the unit of the values; the engine's whole numbers are multiples of `unit`.
    """

    bundle: Bundle
    sensitivity: Fraction
    scale: Fraction
    unit: Fraction
    noise: str = GEOMETRIC
    extra: Extra | None = None
    running: Running | None = None
    """The law where the sums are read as running totals only, and noise on these is the smaller error."""

    def total(self, length: int, end: int) -> NoiseTerm:
        """The noise of a running total: of the first `end` groups of so many."""
        if self.running is not None:
            return self.running.term(length, end, self.unit)
        return NoiseTerm(self.scale, self.unit, self.noise == GAUSSIAN, draws=end)


@dataclass(frozen=True)
class Extra:
    """What is not a sum: a number of different values, or a choice by ranks, whose law chooses from `low` to `high`.

    Where not all of these are values of the argument, the law chooses among the numbers of `steps`, which are. Around a
    quantile, `around` chooses how far its interval reaches.
    """

    aggregate: Aggregate
    law: OrderStatistic | MostFrequent | None = None
    low: int = 0
    high: int = 0
    steps: tuple[int, ...] = ()
    around: RankInterval | None = None

    @property
    def choices(self) -> tuple[OrderStatistic | MostFrequent | RankInterval, ...]:
        """All that is chosen in a group, each for its own price."""
        return tuple(law for law in (self.law, self.around) if law is not None)

    @property
    def candidates(self) -> tuple[int, int]:
        """From where to where the law chooses: places, or numbers of steps."""
        return (0, len(self.steps) - 1) if self.steps else (self.low, self.high)


@dataclass(frozen=True)
class GroupingSetPlan:
    """One grouping set: `kept` are its keys by number, of which `chosen` are open and come by selection.

    `groups` are the combinations of the list keys among `kept`. `job` says what is computed; how, the engine that runs
    it decides by what it has looked at in its own rows.
    """

    kept: tuple[int, ...]
    chosen: tuple[int, ...]
    groups: tuple[tuple[Any, ...], ...]
    bundles: tuple[ReleasedBundle, ...]
    share: Fraction
    job: Job = field(compare=False, repr=False)
    selection: KeySelection | GaussianKeySelection | ThresholdedCounts | None
    words: str
    """All groups as text, for the digest of the question."""

    @property
    def least(self) -> Fraction | None:
        """The least number that is shown, where one noise decides which keys are; None where numbers decide nothing."""
        if not isinstance(self.selection, ThresholdedCounts):
            return None
        return self.selection.threshold * self.bundles[0].unit

    @property
    def half_shown(self) -> tuple[int, str] | None:
        """From about which count, or number of people, an open key is shown half of the time, and which it is."""
        if self.selection is None:
            return None
        if self.least is not None:
            return int(_rounded(self.least)), "count"
        assert isinstance(self.selection, KeySelection | GaussianKeySelection)
        return self.selection.half, "people"

    @property
    def listed(self) -> tuple[int, ...]:
        """The list keys among the kept ones."""
        return tuple(i for i in self.kept if i not in self.chosen)


@dataclass(frozen=True)
class ReleasePlan:
    """Everything about a release that is known before any data is touched."""

    release: Release
    terms: ReleaseTerms
    contribution: Fraction
    parts: tuple[GroupingSetPlan, ...]
    sources: Sources
    events: tuple[Event, ...]
    notes: tuple[tuple[str | None, str], ...]
    totals: tuple[Total, ...] = ()


def _rounded(least: Fraction) -> Fraction:
    """The whole number that the least shown number is shown as."""
    return Fraction((least + Fraction(1, 2)) // 1)


def value_of(
    aggregate: Aggregate, source: BundleSource, sums: tuple[Fraction, ...], released: ReleasedBundle | None
) -> Any:
    """An aggregate's value from the sums of its bundle, or from what was chosen."""
    noise = None if released is None else NoiseTerm(released.scale, released.unit, released.noise == GAUSSIAN)
    return source.formula.value(aggregate, sums, noise)
