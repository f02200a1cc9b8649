"""Sampling: exact distributions from uniform bits. `sample_` draws; nothing here knows what the noise is for."""

from sfumato.sampling.bits import Bits, source
from sfumato.sampling.choice import choice_table, sample_bernoulli, sample_bernoulli_exp, sample_choice, sample_uniform
from sfumato.sampling.fork_detection import epoch
from sfumato.sampling.gaussian import sample_gaussian
from sfumato.sampling.laplace import sample_geometric, sample_laplace

__all__ = [
    "Bits",
    "choice_table",
    "epoch",
    "sample_bernoulli",
    "sample_bernoulli_exp",
    "sample_choice",
    "sample_gaussian",
    "sample_geometric",
    "sample_laplace",
    "sample_uniform",
    "source",
]
