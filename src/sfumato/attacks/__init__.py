"""The red team: attacks that anyone can run against a table behind a defence, or against a policy.

Comes in: an endpoint that answers SQL, and what an attacker knows. Goes out: reports with numbers, before and after.
One file for each attack and the table ATTACKS; `defences`, `mondrian` and `gate` are what is attacked, `scene` sets up,
`decode` solves, `report` is the referee, `page` writes it down. Attacks see what an analyst sees, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sfumato.attacks import (
    averaging,
    differencing,
    homogeneity,
    intersection,
    linking,
    membership,
    oracles,
    reconstruction,
)
from sfumato.attacks.base import Endpoint, Found, Knowledge


@dataclass(frozen=True)
class Attack:
    """A name, the function, and the cheapest thing that would have stopped it."""

    name: str
    run: Callable[[Endpoint, Knowledge], Found]
    advice: str


_TABLE: Iterable[Attack] = (
    Attack(
        "differencing", differencing.run, "noise on every answer, and a budget: no rule about single questions helps"
    ),
    Attack("averaging", averaging.run, "a ledger: the same answer to the same question, and a price for other words"),
    Attack("reconstruction", reconstruction.run, "a total for all questions: any small noise falls to enough of them"),
    Attack("linking", linking.run, "no rows, also without names: publish noisy aggregates"),
    Attack("homogeneity", homogeneity.run, "noisy aggregates in the place of a table of classes"),
    Attack("intersection", intersection.run, "no exact extremes: noise that makes other worlds possible"),
    Attack("membership", membership.run, "noise in proportion to how many means are published"),
    Attack("oracles", oracles.run, "total functions, refusals that read the text alone, and a debit before any row"),
)
ATTACKS: dict[str, Attack] = {attack.name: attack for attack in _TABLE}
"""Every attack by name."""

__all__ = ["ATTACKS", "Attack", "Endpoint", "Found", "Knowledge"]
