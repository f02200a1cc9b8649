"""The red team: attacks that anyone can run against a table behind a defence, or against a policy.

Comes in: an endpoint that answers SQL, and what an attacker knows. Goes out: reports with numbers, before and after.
One file for each attack and the table ATTACKS; `defences` and `gate` are what is attacked, `scene` sets up,
`decode` solves, `report` is the referee, `document` and `page` write it down. Attacks see what an analyst sees, and
nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sfumato.attacks import (
    auxiliary,
    averaging,
    differencing,
    homogeneity,
    intersection,
    likelihood,
    linking,
    membership,
    onebit,
    oracles,
    querysearch,
    reconstruction,
    singling,
    timing,
    versions,
)
from sfumato.attacks.base import AttackResult, Endpoint, Knowledge


@dataclass(frozen=True)
class Attack:
    """A name, the function, what it does, and the cheapest thing that would have stopped it."""

    name: str
    run: Callable[[Endpoint, Knowledge], AttackResult]
    what: str
    advice: str


_TABLE: Iterable[Attack] = (
    Attack(
        "differencing",
        differencing.run,
        "two questions that are harmless each, and whose difference is one person",
        "noise on every answer, and a budget: no rule about single questions helps",
    ),
    Attack(
        "averaging",
        averaging.run,
        "the same question again and again, in other words too, until the noise averages out",
        "a ledger: the same answer to the same question, and a price for other words",
    ),
    Attack(
        "reconstruction",
        reconstruction.run,
        "counts over thousands of subsets, and the whole column solved from them as from equations",
        "a total for all questions: any small noise falls to enough of them",
    ),
    Attack(
        "linking",
        linking.run,
        "rows without names, joined with a list that has names",
        "no rows, also without names: publish noisy aggregates",
    ),
    Attack(
        "homogeneity",
        homogeneity.run,
        "classes of a published table in which everybody has the same secret, or nearly everybody",
        "noisy aggregates in the place of a table of classes",
    ),
    Attack(
        "intersection",
        intersection.run,
        "extreme values that each leave some candidates, and together leave one",
        "no exact extremes: noise that makes other worlds possible",
    ),
    Attack(
        "membership",
        membership.run,
        "whether a person is in the group, from how far many averages of the group lean towards her",
        "noise in proportion to how many means are published",
    ),
    Attack(
        "timing",
        timing.run,
        "questions that take longer if one person has the secret",
        "no function whose work a value decides, and replies on a grid of time",
    ),
    Attack(
        "oracles",
        oracles.run,
        "questions that fail or are refused if one person has the secret",
        "total functions, refusals that read the text alone, and a debit before any row",
    ),
    Attack(
        "singling-out",
        singling.run,
        "a condition that one row alone fulfils, found by halving ranges: nobody is named, and yet one is isolated",
        "noise on every count: then a narrow condition finds one row by luck alone",
    ),
    Attack(
        "one-bit",
        onebit.run,
        "whether more than so many have the secret, of many random groups, and the column solved from yes and no",
        "a total for all questions: an answer of one bit has its price too",
    ),
    Attack(
        "query-search",
        querysearch.run,
        "questions that tell people apart, found by trying them out on friends whose secrets are known",
        "a total for all questions: what is tried out is paid for",
    ),
    Attack(
        "versions",
        versions.run,
        "one count of a table before and after somebody left: the difference is hers",
        "one budget for all versions of a table",
    ),
    Attack(
        "likelihood",
        likelihood.run,
        "whether the counts of a group are likelier with a person in it or without her",
        "noise in proportion to how many counts are published",
    ),
    Attack(
        "auxiliary",
        auxiliary.run,
        "an average, and a rumour that she has so many times the average: learnt whether or not her row is there",
        "none: a promise about her row is all that can be kept",
    ),
)
ATTACKS: dict[str, Attack] = {attack.name: attack for attack in _TABLE}
"""Every attack by name."""

__all__ = ["ATTACKS", "Attack", "AttackResult", "Endpoint", "Knowledge"]
