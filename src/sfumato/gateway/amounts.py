"""Amounts of budget, as answers and previews carry them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.types import Loss, show_small


@dataclass(frozen=True)
class Spent:
    """What was charged, or what is left: epsilon, rho and delta, and about how many more queries like this one."""

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    queries: int | None = None

    def __repr__(self) -> str:
        amounts = {"epsilon": self.epsilon, "rho": self.rho, "delta": self.delta}
        words = ", ".join(f"{name}={show_small(x) if x is not None else x}" for name, x in amounts.items())
        return f"Spent({words}, queries={self.queries})"

    @classmethod
    def of(cls, loss: Loss, queries: int | None = None) -> Spent:
        """The amounts of a privacy loss."""
        return cls(loss.epsilon, loss.rho, loss.delta, queries)

    def plus(self, other: Spent) -> Spent:
        """Both together; there is no amount in a currency in which one of them has none."""

        def both(one: Fraction | None, two: Fraction | None) -> Fraction | None:
            return None if one is None or two is None else one + two

        return Spent(both(self.epsilon, other.epsilon), both(self.rho, other.rho), self.delta + other.delta)

    def to_dict(self) -> dict[str, Any]:
        """Fractions as text."""
        amounts = {"epsilon": self.epsilon, "rho": self.rho, "delta": self.delta}
        document: dict[str, Any] = {name: None if x is None else str(x) for name, x in amounts.items()}
        if self.queries is not None:
            document["queries"] = self.queries
        return document


FREE = Spent(Fraction(0), Fraction(0), Fraction(0))
"""What a stored answer costs."""
