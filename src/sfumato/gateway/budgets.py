"""What an analyst may spend, as `Gateway.budget` returns it."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.gateway.display import budget_html, budget_text
from sfumato.ledger import BudgetState
from sfumato.types import Loss


@dataclass(frozen=True, repr=False)
class AnalystBudget:
    """The total, spent and remaining budget, each with `epsilon`, `rho` and `delta` as Fractions.

    Without an `analyst` it is the total budget of all analysts. An analyst never has more left than the total has.
    """

    total: Loss
    spent: Loss
    remaining: Loss
    analyst: str | None = None

    @classmethod
    def of(cls, standing: BudgetState, analyst: str | None) -> AnalystBudget:
        """What the ledger says."""
        return cls(standing.total, standing.spent, standing.remaining, analyst)

    def __repr__(self) -> str:
        return budget_text(self)

    def _repr_html_(self) -> str:
        return budget_html(self)
