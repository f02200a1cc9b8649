"""Sampling: exact distributions from uniform bits. `sample_` draws; nothing here knows what the noise is for."""

from sfumato.sampling.bands import sample_banded
from sfumato.sampling.bits import Bits, source
from sfumato.sampling.choice import choice_table, sample_bernoulli, sample_bernoulli_exp, sample_choice, sample_uniform
from sfumato.sampling.cuts import CutTable
from sfumato.sampling.energy import sample_flips, sample_lowest
from sfumato.sampling.fork_detection import epoch
from sfumato.sampling.gaussian import sample_gaussian
from sfumato.sampling.laplace import sample_geometric, sample_laplace

__all__ = [
    "Bits",
    "CutTable",
    "choice_table",
    "epoch",
    "sample_banded",
    "sample_bernoulli",
    "sample_bernoulli_exp",
    "sample_choice",
    "sample_flips",
    "sample_gaussian",
    "sample_geometric",
    "sample_laplace",
    "sample_lowest",
    "sample_uniform",
    "source",
]
