"""Chance: exact laws from uniform bits. `sample_` draws; nothing here knows what the noise is for."""

from sfumato.chance.bits import Bits, source
from sfumato.chance.choice import choice_table, sample_bernoulli, sample_bernoulli_exp, sample_choice, sample_uniform
from sfumato.chance.fork_detection import epoch
from sfumato.chance.gaussian import sample_gaussian
from sfumato.chance.laplace import sample_geometric, sample_laplace

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
