"""Running sums of what everybody and each analyst has spent, so that every decision costs the same.

Comes in: the state of a filter. Goes out: the same state, read inside the transaction that decides on it. Sums are kept
for analysts without a share too: one given later counts what she has spent before.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sfumato.accounting import PrivacyFilter
from sfumato.errors import LedgerError
from sfumato.ledger.protocol import StoreConnection
from sfumato.ledger.records import EVERYBODY, SpendingTerms
from sfumato.ledger.schema import DIGITS
from sfumato.types import UNIT, Loss

AMOUNTS = ("epsilon", "rho", "delta")
COUNTS = ("epsilon_shut", "rho_shut", "debits")
ZERO: dict[str, int] = dict.fromkeys((*AMOUNTS, *COUNTS), 0)


def add(state: Mapping[str, int], loss: Loss) -> dict[str, int]:
    """The state after one more debit, whether or not a filter stands before it; prices are whole units."""
    return {
        "epsilon": state["epsilon"] + (loss.epsilon or 0) // UNIT,
        "rho": state["rho"] + (loss.rho or 0) // UNIT,
        "delta": state["delta"] + loss.delta // UNIT,
        "epsilon_shut": state["epsilon_shut"] | (loss.epsilon is None),
        "rho_shut": state["rho_shut"] | (loss.rho is None),
        "debits": state["debits"] + 1,
    }


def write_units(units: int) -> str:
    """A sum in digits of fixed width."""
    text = str(units).rjust(DIGITS, "0")
    if units < 0 or len(text) > DIGITS:
        raise LedgerError("a sum of the ledger is out of range", detail=f"It has {len(text)} digits.")
    return text


def read_sums(connection: StoreConnection, who: str) -> dict[str, int]:
    """The state of a filter; an analyst who never asked has spent nothing."""
    row = connection.execute(
        "SELECT epsilon, rho, delta, epsilon_shut, rho_shut, debits FROM sums WHERE analyst = ?", (who,)
    ).fetchone()
    if row is None and who == EVERYBODY:  # left out, it would be budget given back
        raise LedgerError("the sums of the ledger are missing")
    return dict(ZERO) if row is None else {name: int(value) for name, value in zip(ZERO, row, strict=True)}


def write_sums(connection: StoreConnection, who: str, state: Mapping[str, int]) -> None:
    """Put down the state after a debit, inside the transaction that is open."""
    if state["debits"] == 1:
        _make_row(connection, who)
    connection.execute(
        "UPDATE sums SET epsilon = ?, rho = ?, delta = ?, epsilon_shut = ?, rho_shut = ?, debits = ? WHERE analyst = ?",
        (*columns(state), who),
    )


def columns(state: Mapping[str, int]) -> tuple[str | int, ...]:
    """A state as it stands in the table."""
    return (*(write_units(state[name]) for name in AMOUNTS), *(state[name] for name in COUNTS))


def _make_row(connection: StoreConnection, who: str) -> None:
    connection.execute(
        "INSERT INTO sums(analyst, epsilon, rho, delta, epsilon_shut, rho_shut, debits)"
        " VALUES(?, ?, ?, ?, 0, 0, 0) ON CONFLICT DO NOTHING",
        (who, *[write_units(0)] * 3),
    )


def limits_of(terms: SpendingTerms) -> dict[str, tuple[str | None, str | None, str | None]]:
    """The limits of everybody and of each share, as they stand beside the sums for the walls of the schema."""
    return {who: _limits(budget) for who, budget in terms.filters().items()}


def _limits(budget: PrivacyFilter) -> tuple[str | None, str | None, str | None]:
    limit = budget.limit
    return _digits(limit.epsilon), _digits(limit.rho), _digits(limit.delta)


def _digits(amount: Fraction | None) -> str | None:
    return None if amount is None else write_units(amount // UNIT)


def write_limits(connection: StoreConnection, terms: SpendingTerms) -> None:
    """Put the limits of a policy beside the sums. What was spent stays; a limit may well be below it."""
    connection.execute("UPDATE sums SET epsilon_limit = NULL, rho_limit = NULL, delta_limit = NULL")
    for who, limits in limits_of(terms).items():
        _make_row(connection, who)
        connection.execute(
            "UPDATE sums SET epsilon_limit = ?, rho_limit = ?, delta_limit = ? WHERE analyst = ?", (*limits, who)
        )
