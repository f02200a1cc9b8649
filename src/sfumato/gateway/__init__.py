"""The gateway: a query becomes a noisy answer, in the order that the promise needs.

Comes in: a Query and an analyst's name. Goes out: an Answer, or a preview. Order, always (semantics 5.2): plan, charge
(durable), run, sample, store the answer (durable), reply. A crash may waste budget, never privacy.
"""

from sfumato.gateway.answer import Answer, Spent
from sfumato.gateway.bounds import FoundBound
from sfumato.gateway.budgets import AnalystBudget
from sfumato.gateway.charts import Chart
from sfumato.gateway.gateway import Gateway
from sfumato.gateway.opening import Loaded, enter, fork_policy, open_policy, read_rows
from sfumato.gateway.preview import Preview
from sfumato.gateway.protecting import protect
from sfumato.gateway.query import NOISES, OWNER, Query

__all__ = [
    "NOISES",
    "OWNER",
    "AnalystBudget",
    "Answer",
    "Chart",
    "FoundBound",
    "Gateway",
    "Loaded",
    "Preview",
    "Query",
    "Spent",
    "enter",
    "fork_policy",
    "open_policy",
    "protect",
    "read_rows",
]
