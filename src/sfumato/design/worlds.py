"""Possible worlds: what answers say together about who has a secret, as exact probabilities.

Comes in: a prior and observations. Goes out: posterior probabilities as fractions. Small cases are enumerated; answers
about least values are combined by inclusion and exclusion, for any number of people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, product
from typing import TypeVar

from sfumato.errors import InputError

World = TypeVar("World")


def posterior(prior: dict[World, Fraction], chance: Callable[[World], Fraction]) -> dict[World, Fraction]:
    """Bayes: worlds by how likely they are given something that each world shows with the stated chance.

    >>> posterior({"ill": Fraction(1, 2), "well": Fraction(1, 2)}, lambda w: Fraction(3 if w == "ill" else 1, 4))
    {'ill': Fraction(3, 4), 'well': Fraction(1, 4)}
    """
    weights = {world: weight * chance(world) for world, weight in prior.items()}
    total = sum(weights.values(), Fraction(0))
    if total == 0:
        raise InputError("no possible world produces the observed outputs")
    return {world: weight / total for world, weight in weights.items() if weight}


def all_worlds(people: int, each: Fraction) -> dict[tuple[bool, ...], Fraction]:
    """Who has the secret: every combination, each person having it independently with this probability."""
    if people > 20:
        raise InputError(f"worlds are written out for at most 20 people, but there are {people}")
    worlds = {}
    for world in product((False, True), repeat=people):
        having = sum(world)
        worlds[world] = each**having * (1 - each) ** (people - having)
    return worlds


@dataclass(frozen=True, slots=True)
class Minimum:
    """An answer about a least value: nobody of `below` has the secret, and somebody of `there` has it."""

    below: frozenset[int]
    there: frozenset[int]


def posterior_of_minima(people: int, each: Fraction, seen: Sequence[Minimum]) -> list[Fraction] | None:
    """For each person the exact probability that she has the secret, given these answers; None if no world fits.

    Guarantee: the probabilities are those of Bayes' rule, the prior being independent with probability `each`.
    Proof: outside of all `below` everybody is free. The answers say that none of the sets `there` is empty of secrets;
        the probability of that is the alternating sum, over sub-families, of the probability that a whole union has
        none, (1 - each)^size. With a person who has the secret the sets that hold her are satisfied.
    Reference: inclusion and exclusion; the two tables of the course: each hides a man among two, both name him.
    Checked by: attacks::minima_agree_with_all_worlds, attacks::two_harmless_answers_name_don
    """
    excluded = frozenset().union(*(m.below for m in seen)) if seen else frozenset()
    sets = [m.there - excluded for m in seen]
    whole = _all_met(sets, each)
    if whole == 0:
        return None
    kinds = [None if i in excluded else tuple(k for k, s in enumerate(sets) if i not in s) for i in range(people)]
    chances = {  # people who are in the same sets have the same chance
        kind: each * _all_met([sets[k] for k in kind], each) / whole for kind in set(kinds) if kind is not None
    }
    return [Fraction(0) if kind is None else chances[kind] for kind in kinds]


def _all_met(sets: Sequence[frozenset[int]], each: Fraction) -> Fraction:
    """The probability that every set has somebody with the secret."""
    families: Iterable[tuple[frozenset[int], ...]] = chain.from_iterable(
        combinations(sets, size) for size in range(len(sets) + 1)
    )
    return sum(
        (
            (-1) ** len(family) * (1 - each) ** len(frozenset().union(*family) if family else frozenset())
            for family in families
        ),
        Fraction(0),
    )
