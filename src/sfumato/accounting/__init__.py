"""Accounting: the cost of a release, the composition of several, and whether one more is within the budget.

`events` describes releases and their cost, `compose` adds costs up, `curves` converts between currencies, `cells`
separates people, `filters` decides, `odds` says what an epsilon permits. Nothing here draws randomness or sees data.
"""

from sfumato.accounting.cells import Heights, TouchedCells
from sfumato.accounting.compose import advanced, group, optimal, parallel, sequential
from sfumato.accounting.curves import (
    belief,
    delta_of_rho,
    epsilon_of_renyi,
    epsilon_of_rho,
    renyi,
    renyi_limit,
    rho_star,
)
from sfumato.accounting.events import (
    KINDS,
    BoundedRange,
    Event,
    GaussianRelease,
    GaussianSelection,
    Pure,
    Refinement,
    Selection,
    Together,
    charge,
    from_dict,
    price,
)
from sfumato.accounting.filters import COMPOSITIONS, PrivacyFilter, RenyiFilter
from sfumato.accounting.odds import percent_at_most, suspicion
from sfumato.accounting.refusals import BUDGET_REFUSALS

__all__ = [
    "BUDGET_REFUSALS",
    "COMPOSITIONS",
    "KINDS",
    "BoundedRange",
    "Event",
    "GaussianRelease",
    "GaussianSelection",
    "Heights",
    "PrivacyFilter",
    "Pure",
    "Refinement",
    "RenyiFilter",
    "Selection",
    "Together",
    "TouchedCells",
    "advanced",
    "belief",
    "charge",
    "delta_of_rho",
    "epsilon_of_renyi",
    "epsilon_of_rho",
    "from_dict",
    "group",
    "optimal",
    "parallel",
    "percent_at_most",
    "price",
    "renyi",
    "renyi_limit",
    "rho_star",
    "sequential",
    "suspicion",
]
