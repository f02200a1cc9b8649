"""Why a release was refused, in numbers, and what would have passed.

Comes in: what it costs, what is left and what was allowed. Goes out: a BudgetError. A refusal depends on the ledger and
the question only, so it says nothing about anybody's rows.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from sfumato.errors import BudgetError
from sfumato.types import Loss, show, told

BUDGET_REFUSALS = _SPENT, _TOO_LITTLE = "budget is spent", "budget does not allow this query"
"""Nothing is left, or less than the query costs. The ledger adds whose budget it is."""
STEP = Fraction(1, 10**6)
"""A proposed epsilon is rounded down to this, so that a person can type it."""


def refusal(composition: str, loss: Loss, left: Loss, limit: Loss) -> BudgetError:
    """The error for a release that does not fit, in the currency of the door that it came nearest to."""
    message = _TOO_LITTLE if left.epsilon or left.rho else _SPENT
    if loss.delta > left.delta:
        detail = _detail("delta", loss.delta, left.delta, limit.delta)
        return BudgetError(message, detail=detail, hint="Group by declared keys: they cost no delta.")
    by_rho = loss.rho is not None and limit.rho is not None
    if loss.epsilon is not None and limit.epsilon is not None and (left.epsilon or not left.rho or not by_rho):
        detail = _detail("epsilon", loss.epsilon, left.epsilon, limit.epsilon)
        return BudgetError(message, detail=detail, hint=_hint(loss, left))
    if loss.rho is not None and limit.rho is not None:
        detail = _detail("rho", loss.rho, left.rho, limit.rho)
        return BudgetError(message, detail=detail, hint=_hint(loss, left))
    return _without_door(composition, loss)


def _detail(currency: str, cost: Fraction, left: Fraction | None, limit: Fraction) -> str:
    return f"It costs {currency} {told(cost)}; {show(left or 0)} of {show(limit)} is left."


def _without_door(composition: str, loss: Loss) -> BudgetError:
    """It makes no claim in any currency that this budget counts: no smaller one of its kind would pass either."""
    missing = "epsilon" if loss.epsilon is None else "rho"
    instead = "Use geometric or Laplace noise." if missing == "epsilon" else "Request a new answer at full cost."
    return BudgetError(
        f'this release cannot be charged under composition "{composition}"',
        detail=f"It claims no {missing}, which this budget counts.",
        hint=instead,
    )


def _hint(loss: Loss, left: Loss) -> str:
    """The largest request of the same kind that passes."""
    if loss.epsilon is None:
        if left.rho:
            return f"Use rho {show(left.rho)} or less, or fewer groups."
        if left.epsilon:
            return f"Use geometric or Laplace noise, with epsilon {show(left.epsilon)} or less."
    elif largest := max(left.epsilon or Fraction(0), _scaled(loss.epsilon, loss.rho, left.rho)):
        return f"Use epsilon {show(largest)} or less, or fewer groups."
    return "Nothing is left. Stored answers stay free; ask the owner for a larger budget."


def _scaled(epsilon: Fraction, rho: Fraction | None, left: Fraction | None) -> Fraction:
    """The epsilon at which this release would fit what is left of rho, which grows as epsilon²; rounded down."""
    if not rho or not left:
        return Fraction(0)
    part = Fraction(isqrt(left * 10**24 // rho), 10**12)
    return epsilon * part // STEP * STEP
