"""What was released: frozen records, and what each of them costs.

Comes in: the parameters of a release, fixed before its noise is drawn. Goes out: a `Loss` in three currencies, and a
document for the ledger that reads back as the same record.

Kinds are append-only. A ledger written today must mean the same in ten years, so a kind is never renamed, removed or
given another price; a better analysis is a new kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

from sfumato.errors import InputError, LedgerError
from sfumato.reals import round_up
from sfumato.types import Loss, positive, probability, show


class _Record:
    """Fields are checked as they come in, and written as text that reads back exactly."""

    __slots__ = ()
    kind: ClassVar[str]

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            checked = _CHECKS[field.name](getattr(self, field.name), field.name)
            object.__setattr__(self, field.name, checked)

    def to_dict(self) -> dict[str, Any]:
        """The document for the ledger: fractions as text like "1/10"."""
        values = {field.name: _write(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind, **values}


@dataclass(frozen=True, slots=True)
class Pure(_Record):
    """The geometric and Laplace mechanisms, permute-and-flip, randomized response: whatever is epsilon-private."""

    kind: ClassVar[str] = "pure"
    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class BoundedRange(_Record):
    """The exponential mechanism: log-ratios lie in an interval of length epsilon, wherever that interval lies."""

    kind: ClassVar[str] = "range"
    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class Selection(_Record):
    """Keys kept by a noisy threshold: epsilon-private but for an event of probability delta."""

    kind: ClassVar[str] = "selection"
    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class GaussianRelease(_Record):
    """Gaussian noise, rho = distance² / (2 sigma²). No epsilon without a delta, so none is claimed."""

    kind: ClassVar[str] = "gaussian"
    rho: Fraction


@dataclass(frozen=True, slots=True)
class GaussianSelection(_Record):
    """Keys kept by a threshold with Gaussian noise: rho-zCDP but for an event of probability delta."""

    kind: ClassVar[str] = "gaussian-selection"
    rho: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Refinement(_Record):
    """A better geometric answer, drawn conditioned on the earlier one, which this same ledger has charged."""

    kind: ClassVar[str] = "refinement"
    epsilon_before: Fraction
    epsilon: Fraction

    def __post_init__(self) -> None:
        _Record.__post_init__(self)
        if self.epsilon <= self.epsilon_before:
            low, high = show(self.epsilon_before), show(self.epsilon)
            raise InputError(f"epsilon of a refinement must be above the earlier {low}, but is {high}")


@dataclass(frozen=True, slots=True)
class Together(_Record):
    """Several parts of one question, released at once; their losses add."""

    kind: ClassVar[str] = "together"
    events: tuple[Event, ...]


Event: TypeAlias = Pure | BoundedRange | Selection | GaussianRelease | GaussianSelection | Refinement | Together

KINDS: dict[str, type[Event]] = {
    kind.kind: kind
    for kind in (Pure, BoundedRange, Selection, GaussianRelease, GaussianSelection, Refinement, Together)
}


def _events(value: object, what: str) -> tuple[Event, ...]:
    """One event or more, nothing else."""
    parts = tuple(value) if isinstance(value, (list, tuple)) else ()
    if not parts or not all(isinstance(part, _Record) for part in parts):
        raise InputError(f"{what} must be one event or more, but is {value!r}")
    return parts


_CHECKS: dict[str, Callable[[object, str], object]] = {
    "epsilon": positive,
    "epsilon_before": positive,
    "rho": positive,
    "delta": probability,
    "events": _events,
}


def _write(value: object) -> object:
    return [part.to_dict() for part in value] if isinstance(value, tuple) else str(value)


def from_dict(document: Mapping[str, Any]) -> Event:
    """Read an event back from the ledger; what is not understood is an error, never a guess."""
    kind = document.get("kind") if isinstance(document, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise LedgerError(
            f"event kind {kind!r} is unknown",
            detail=f"This version knows {', '.join(KINDS)}.",
            hint="The ledger was written by newer code: upgrade sfumato.",
        )
    names = {field.name for field in fields(KINDS[kind])}
    if set(document) != names | {"kind"}:
        raise LedgerError(f'event of kind "{kind}" must have the fields {", ".join(sorted(names))}')
    try:
        return KINDS[kind](**{name: _read(document[name]) for name in names})
    except InputError as error:
        raise LedgerError(f'event of kind "{kind}" is damaged', detail=error.message) from error


def _read(value: object) -> Any:
    if isinstance(value, list):
        return tuple(from_dict(part) for part in value)
    if isinstance(value, str):
        return value
    raise InputError(f"a number in the ledger must be text, but is {type(value).__name__}")


def charge(event: Event) -> Loss:
    """What an event costs, exactly (semantics 5.3).

    Guarantee: but for an event of probability delta, the release is epsilon-private and rho-zCDP. None claims nothing.
    Proof: an epsilon-private pair of laws is (epsilon²/2)-zCDP, and (epsilon²/8)-zCDP where the log-ratio has range
        epsilon, by Hoeffding's lemma under tilting. A selection is such a pair with weight 1 - delta. A refinement and
        the answer before it are together a random function of the better answer alone, so the log-ratios of the two
        add up to at most the later epsilon; no such bound is known for rho. Parts of one question compose.
    Reference: Bun, Steinke, TCC 2016; Cesar, Rogers, ALT 2021; Durfee, Rogers, NeurIPS 2019.
    Checked by: unit::charges_are_those_of_the_table, laws::randomized_response_costs_what_is_charged,
        laws::a_range_costs_an_eighth, laws::together_adds
    """
    match event:
        case Pure(epsilon):
            loss = Loss(epsilon, epsilon**2 / 2)
        case BoundedRange(epsilon):
            loss = Loss(epsilon, epsilon**2 / 8)
        case Selection(epsilon, delta):
            loss = Loss(epsilon, epsilon**2 / 2, delta)
        case GaussianRelease(rho):
            loss = Loss(None, rho)
        case GaussianSelection(rho, delta):
            loss = Loss(None, rho, delta)
        case Refinement(before, epsilon):
            loss = Loss(epsilon - before, None)
        case Together(events):
            loss = add([charge(part) for part in events])
    return loss


def add(losses: list[Loss]) -> Loss:
    """Losses side by side in each currency; one part without a claim leaves the whole without it."""
    return Loss(
        _sum([loss.epsilon for loss in losses]),
        _sum([loss.rho for loss in losses]),
        sum((loss.delta for loss in losses), Fraction(0)),
    )


def _sum(amounts: list[Fraction | None]) -> Fraction | None:
    return None if None in amounts else sum((amount for amount in amounts if amount is not None), Fraction(0))


def price(event: Event) -> Loss:
    """What is debited and shown: the charge, each currency rounded up once to a multiple of 1e-15.

    Guarantee: a price is at least the charge, and above it by less than 1e-15; prices add up as integers.
    Proof: rounding is upward, and happens after the parts of a question have been added exactly.
    Reference: semantics 5.3.
    Checked by: unit::a_price_is_rounded_up_once, laws::a_price_covers_the_charge
    """
    exact = charge(event)
    return Loss(
        None if exact.epsilon is None else round_up(exact.epsilon),
        None if exact.rho is None else round_up(exact.rho),
        round_up(exact.delta),
    )
