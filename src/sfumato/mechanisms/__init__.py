"""Mechanisms: one file each, one guarantee each. `release` draws, `loss` is its cost, and the distribution is exact.

One idea unites them: `loss(distance)` under a metric. Distance in rows gives differential privacy, any two values local
privacy, metres give location privacy.
"""

from typing import Any

from sfumato.mechanisms.base import opened
from sfumato.mechanisms.channel import Channel, needed_epsilon
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.gaussian import Gaussian
from sfumato.mechanisms.geometric import Geometric, TruncatedGeometric
from sfumato.mechanisms.laplace import Laplace, TruncatedLaplace
from sfumato.mechanisms.noisymax import NoisyMax
from sfumato.mechanisms.order import MISS, MostFrequent, OrderStatistic, numbers_of_steps
from sfumato.mechanisms.permute import PermuteAndFlip
from sfumato.mechanisms.prefix import PrefixSums, laplace_variance
from sfumato.mechanisms.rank_interval import RankInterval
from sfumato.mechanisms.ranked import RankedChoice
from sfumato.mechanisms.response import RandomizedResponse
from sfumato.mechanisms.selection import GaussianKeySelection, KeySelection
from sfumato.mechanisms.sparse import SparseVector
from sfumato.mechanisms.staircase import Staircase
from sfumato.mechanisms.sums import sum_width
from sfumato.mechanisms.thresholded import ThresholdedCounts

MECHANISMS: dict[str, type[Any]] = {
    mechanism.__name__: mechanism
    for mechanism in (
        Geometric,
        TruncatedGeometric,
        Laplace,
        TruncatedLaplace,
        Gaussian,
        Exponential,
        PermuteAndFlip,
        NoisyMax,
        RankedChoice,
        OrderStatistic,
        MostFrequent,
        RankInterval,
        RandomizedResponse,
        Staircase,
        SparseVector,
        Channel,
        KeySelection,
        GaussianKeySelection,
        ThresholdedCounts,
        PrefixSums,
    )
}
"""Every mechanism by name: laws, chance tests and the documentation page go over this table."""

__all__ = [
    "MECHANISMS",
    "MISS",
    "Channel",
    "Exponential",
    "Gaussian",
    "GaussianKeySelection",
    "Geometric",
    "KeySelection",
    "Laplace",
    "MostFrequent",
    "NoisyMax",
    "OrderStatistic",
    "PermuteAndFlip",
    "PrefixSums",
    "RandomizedResponse",
    "RankInterval",
    "RankedChoice",
    "SparseVector",
    "Staircase",
    "ThresholdedCounts",
    "TruncatedGeometric",
    "TruncatedLaplace",
    "laplace_variance",
    "needed_epsilon",
    "numbers_of_steps",
    "opened",
    "sum_width",
]
