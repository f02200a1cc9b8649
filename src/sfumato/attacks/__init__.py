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
        "two queries that are harmless alone, and whose difference is one person",
        "noise on every answer, and a budget: no rule about single queries helps",
    ),
    Attack(
        "averaging",
        averaging.run,
        "the same query again and again, also rewritten, until the noise averages out",
        "a ledger: the same answer to the same query, and a charge for any other",
    ),
    Attack(
        "reconstruction",
        reconstruction.run,
        "counts over thousands of subsets, from which the whole column is solved like a system of equations",
        "a budget for all queries: enough of them defeat any small noise",
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
        "noisy aggregates instead of a table of classes",
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
        "whether a person is in the group, from how far many averages of the group lean towards that person",
        "noise in proportion to how many means are published",
    ),
    Attack(
        "timing",
        timing.run,
        "queries that take longer if one person has the secret",
        "no function whose running time depends on a value, and replies at fixed times",
    ),
    Attack(
        "oracles",
        oracles.run,
        "queries that fail or are refused if one person has the secret",
        "total functions, refusals that depend on the text alone, and a charge before any row is read",
    ),
    Attack(
        "singling-out",
        singling.run,
        "a condition that only one row satisfies, found by halving ranges: one person is isolated, though not named",
        "noise on every count: then a narrow condition isolates one row only by luck",
    ),
    Attack(
        "one-bit",
        onebit.run,
        "yes-or-no answers about many random groups, from which the column is solved",
        "a budget for all queries: an answer of one bit is charged too",
    ),
    Attack(
        "query-search",
        querysearch.run,
        "queries that distinguish people, found by trying them on accomplices whose secrets are known",
        "a budget for all queries: trying them out is charged",
    ),
    Attack(
        "versions",
        versions.run,
        "one count of a table before and after somebody left: the difference is that person",
        "one budget for all versions of a table",
    ),
    Attack(
        "likelihood",
        likelihood.run,
        "whether the counts of a group are more likely with a person in it or without",
        "noise in proportion to how many counts are published",
    ),
    Attack(
        "auxiliary",
        auxiliary.run,
        "an average, and a rumour that somebody has a multiple of it: learned with that person's row or without",
        "none: only a promise about the person's own row can be kept",
    ),
)
ATTACKS: dict[str, Attack] = {attack.name: attack for attack in _TABLE}
"""Every attack by name."""

__all__ = ["ATTACKS", "Attack", "AttackResult", "Endpoint", "Knowledge"]
