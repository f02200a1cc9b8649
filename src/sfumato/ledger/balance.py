"""The balance of a budget: allowed, spent, left, and how many more queries of one cost fit.

Comes in: a connection with one snapshot of the file, and the terms. Goes out: amounts; nothing is written.
"""

from __future__ import annotations

from sfumato.accounting import PrivacyFilter
from sfumato.ledger.charging import find_cells
from sfumato.ledger.protocol import StoreConnection
from sfumato.ledger.records import EVERYBODY, BudgetState, SpendingTerms
from sfumato.ledger.running_sums import read_sums
from sfumato.types import Loss


def find_standing(
    connection: StoreConnection,
    terms: SpendingTerms,
    analyst: str | None,
    *,
    cells: tuple[str, ...] | None,
    version: str | None,
    rows: str | None,
) -> BudgetState:
    """Of an analyst, or of everybody together; what is left is for a question to all, or to these cells."""

    def left(budget: PrivacyFilter, who: str) -> Loss:
        budget.restore(read_sums(connection, who))
        return budget.remaining(find_cells(connection, terms, who, cells=cells, version=version, rows=rows))

    total = terms.filter_of(EVERYBODY)
    to_all = left(total, EVERYBODY)
    if analyst is None:
        return BudgetState(total.limit, total.spent, to_all)
    own = terms.filter_of(analyst)
    to_her = left(own, analyst)
    return BudgetState(own.limit, own.spent, _least(to_all, to_her) if analyst in terms.shares else to_all)


def count_left(
    connection: StoreConnection,
    terms: SpendingTerms,
    analyst: str | None,
    loss: Loss,
    *,
    cells: tuple[str, ...] | None,
    version: str | None,
    rows: str | None,
) -> int:
    """How many more releases of this price fit, for an analyst or for everybody."""
    names = (EVERYBODY,) if analyst is None or analyst not in terms.shares else (EVERYBODY, analyst)
    filters = {who: terms.filter_of(who) for who in names}
    for who, budget in filters.items():
        budget.restore(read_sums(connection, who))
    touched = {who: find_cells(connection, terms, who, cells=cells, version=version, rows=rows) for who in filters}
    return min(budget.remaining_count(loss, touched[who]) for who, budget in filters.items())


def _least(one: Loss, other: Loss) -> Loss:
    """The smaller of two rooms at each door; both have the same doors."""
    return Loss(
        None if one.epsilon is None or other.epsilon is None else min(one.epsilon, other.epsilon),
        None if one.rho is None or other.rho is None else min(one.rho, other.rho),
        min(one.delta, other.delta),
    )
