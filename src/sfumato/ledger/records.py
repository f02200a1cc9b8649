"""The records of the ledger: what goes in as a policy, and what comes out.

Numbers are fractions; as documents they are text like "1/10", which reads back exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sfumato.accounting import PrivacyFilter
from sfumato.errors import InputError, LedgerError, PolicyError
from sfumato.ledger.steps import StepResult
from sfumato.ledger.units import Units, read_units
from sfumato.types import Adjacency, Loss, as_written, positive, show, whole

EVERYBODY = ""
"""Whose sums the total is, in the table of sums; no analyst has this name."""

HIGHEST = 10**18
"""No budget has a larger epsilon: sums are kept in a fixed number of digits, and e^(10^18) promises nothing anyway."""

LONGEST_NAME = 255


def name(value: object, what: str) -> str:
    """A name that reads back as it was written, or one clear error."""
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= LONGEST_NAME:
        raise InputError(f"{what} must be 1 to {LONGEST_NAME} printable characters, but is {value!r:.80}")
    return value


class Overtaken(InputError):
    """A better answer was to be drawn from one that is not the last word on its question any more."""


class Superseded(LedgerError):
    """A debit under a policy that is not the last one which the ledger has recorded; nothing was written."""


class Busy(LedgerError):
    """Another process held the lock for too long; nothing was written, and trying again is safe."""


class OutcomeUnknown(Busy):
    """The store fell silent in the middle of a commit: it may have been written. Nothing is released for it."""

    @classmethod
    def of(cls, cause: LedgerError) -> OutcomeUnknown:
        """The same error, for one who does not know."""
        return cls(
            cause.message,
            detail="The connection broke during a commit; it is not known whether it was written.",
            hint="Try again: what was charged stays charged, and an answer that was stored is free.",
        )


class ClaimedElsewhere(LedgerError):
    """Another gateway is about to answer the same question; nothing was written."""


class OtherStore(LedgerError):
    """The store is not the one that was served: another server, or a chain that lacks what was seen in it."""


class ServerError(Exception):
    """What a statement raises where the server of a ledger refuses or falls silent; `meaning` says what it means."""

    def __init__(self, words: str, meaning: StepResult) -> None:
        super().__init__(words)
        self.meaning = meaning


@dataclass(frozen=True, slots=True)
class Receipt:
    """One debit: `id` names it to people, `seq` is its place in the chain."""

    id: str
    analyst: str
    price: Loss
    seq: int


@dataclass(frozen=True, slots=True)
class Stored:
    """An answer that was paid for once: its bytes, the debit that paid, and the epsilon that it was drawn at."""

    answer: bytes
    receipt: Receipt
    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class BudgetState:
    """A budget: allowed in all, spent, and left to this analyst (never more than is left to everybody).

    Where a partition of people is charged, spent is the largest cell; what is left was asked for everybody or for some
    cells, and in cells that were asked about less, more is left.
    """

    total: Loss
    spent: Loss
    remaining: Loss


@dataclass(frozen=True, slots=True)
class Entry:
    """One link of the chain."""

    seq: int
    time: str
    kind: str
    analyst: str | None
    body: dict[str, Any]
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class ChargeOutcome:
    """A debit, and what became of it: `answer`, `failed`, or `open` where neither is written yet."""

    debit: Entry
    end: str


@dataclass(frozen=True, slots=True)
class SpendingPoint:
    """What one analyst and everybody together had spent after a debit."""

    seq: int
    time: str
    analyst: str
    own: Loss
    everybody: Loss


@dataclass(frozen=True, slots=True)
class SpendingCurve:
    """Some points of what was spent, and how the ledger stands: debits, entries, head, whether it is frozen."""

    debits: int
    entries: int
    head: str
    frozen: bool
    points: tuple[SpendingPoint, ...]


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What `verify` found to be true of a chain, up to its head."""

    entries: int
    debits: int
    answers: int
    failures: int
    seq: int
    hash: str
    spent: Loss


@dataclass(frozen=True, slots=True)
class SpendingTerms:
    """What the owner decided about spending: the part of a policy that the ledger enforces and records.

    `partition` names the column whose values are the cells of people; None if everything is charged to everybody.
    `units` says what one unit is in each table: see `units`.
    """

    digest: str
    composition: str
    epsilon: Fraction
    delta: Fraction
    delta_selection: Fraction
    shares: Mapping[str, Fraction]
    failures: int
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    partition: str | None = None
    units: Units = field(default_factory=dict)

    def __post_init__(self) -> None:
        if EVERYBODY in self.shares:
            raise PolicyError("an analyst with a share must have a name")
        largest = max(self.epsilon, *self.shares.values(), Fraction(0))
        if largest > HIGHEST:
            raise PolicyError(f"epsilon must be at most {HIGHEST}, but is {show(largest)}")
        self.filters()  # whatever is wrong with the numbers is said now

    @classmethod
    def of(
        cls,
        *,
        digest: str,
        composition: str,
        epsilon: object,
        delta: object,
        delta_selection: object | None,
        shares: Mapping[str, Any],
        failures: int,
        adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
        partition: str | None = None,
        units: Units | None = None,
    ) -> SpendingTerms:
        """Terms as people write them: 0.1 is 1/10, and half of delta is for selection unless said otherwise."""
        whole_delta = as_written(delta, "delta")
        return cls(
            digest,
            composition,
            positive(epsilon, "epsilon"),
            whole_delta,
            whole_delta / 2 if delta_selection is None else as_written(delta_selection, "delta_selection"),
            {who: positive(share, f'the share of "{who}"') for who, share in sorted(shares.items())},
            whole(failures, "failures", low=1),
            Adjacency.of(adjacency),
            None if partition is None else name(partition, "partition"),
            read_units(units or {}),
        )

    def filters(self) -> dict[str, PrivacyFilter]:
        """A fresh filter for everybody together, and one for each analyst with a share: her epsilon, same deltas."""
        return {who: self.filter_of(who) for who in (EVERYBODY, *self.shares)}

    def filter_of(self, who: str) -> PrivacyFilter:
        """A fresh filter for one of them; whoever has no share may spend as much as everybody together."""
        epsilon = self.shares.get(who, self.epsilon)
        return PrivacyFilter(self.composition, epsilon, self.delta, self.delta_selection)

    def to_dict(self) -> dict[str, Any]:
        """The document for the chain."""
        return {
            "digest": self.digest,
            "composition": self.composition,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "delta_selection": str(self.delta_selection),
            "shares": {who: str(share) for who, share in self.shares.items()},
            "failures": self.failures,
            "adjacency": self.adjacency.value,
            "partition": self.partition,
            "units": {table: dict(unit) for table, unit in self.units.items()},
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> SpendingTerms:
        """Read terms back from the chain.

        Format 1 had no partition and did not record the adjacency; formats 1 and 2 did not record units.
        """
        first = ("digest", "composition", "epsilon", "delta", "delta_selection", "shares", "failures")
        names = (*first, "adjacency", "partition", "units")
        if set(document) not in (set(first), set(names[:-1]), set(names)):
            raise LedgerError("the policy in the ledger is damaged", detail=f"It must have {', '.join(names)}.")
        return cls.of(**document)

    def covers_less(self, before: Mapping[str, Any] | None) -> bool:
        """Whether what was spent under the policy before was priced for fewer neighbours than these terms have.

        Under replace one person changes up to twice as much. The other way round, prices only were higher than needed.
        """
        recorded = (before or {}).get("adjacency")
        return self.adjacency is Adjacency.REPLACE and recorded == Adjacency.ADD_REMOVE.value


def loss_to_dict(loss: Loss) -> dict[str, str | None]:
    """A price as a document."""
    return {
        "epsilon": None if loss.epsilon is None else str(loss.epsilon),
        "rho": None if loss.rho is None else str(loss.rho),
        "delta": str(loss.delta),
    }


def loss_from_dict(document: Mapping[str, Any]) -> Loss:
    """Read a price back from the chain."""
    epsilon, rho = document["epsilon"], document["rho"]
    return Loss(
        None if epsilon is None else Fraction(epsilon),
        None if rho is None else Fraction(rho),
        Fraction(document["delta"]),
    )
