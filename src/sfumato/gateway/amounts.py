"""Amounts of budget, as answers and previews carry them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.types import Loss


@dataclass(frozen=True)
class Spent:
    """What was charged, or what is left: epsilon, rho and delta, and about how many more queries like this one."""

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    queries: int | None = None

    @classmethod
    def of(cls, loss: Loss, queries: int | None = None) -> Spent:
        """The amounts of a privacy loss."""
        return cls(loss.epsilon, loss.rho, loss.delta, queries)

    def to_dict(self) -> dict[str, Any]:
        """Fractions as text."""
        amounts = {"epsilon": self.epsilon, "rho": self.rho, "delta": self.delta}
        document: dict[str, Any] = {name: None if x is None else str(x) for name, x in amounts.items()}
        if self.queries is not None:
            document["queries"] = self.queries
        return document


FREE = Spent(Fraction(0), Fraction(0), Fraction(0))
"""What a stored answer costs."""
