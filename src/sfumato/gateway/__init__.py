"""The gateway: a query becomes a noisy answer, in the order that the promise needs.

Comes in: a Query and an analyst's name. Goes out: an Answer, or a preview. Order, always (semantics 5.2): plan, charge
(durable), run, sample, store the answer (durable), reply. A crash may waste budget, never privacy.
"""

from sfumato.gateway.answer import FREE, Answer, Spent, width_of
from sfumato.gateway.bounds import FoundBound
from sfumato.gateway.budgets import AnalystBudget
from sfumato.gateway.charts import Chart
from sfumato.gateway.column_laws import Candidates, ReleasedNumber
from sfumato.gateway.gateway import Gateway
from sfumato.gateway.opening import Loaded, enter, fork_policy, open_policy, read_rows
from sfumato.gateway.preview import Preview
from sfumato.gateway.protecting import protect
from sfumato.gateway.query import AUTO, NOISES, OWNER, Query, Rows
from sfumato.gateway.shown_intervals import NumberWorth
from sfumato.gateway.worth_notes import all_notes

__all__ = [
    "AUTO",
    "FREE",
    "NOISES",
    "OWNER",
    "AnalystBudget",
    "Answer",
    "Candidates",
    "Chart",
    "FoundBound",
    "Gateway",
    "Loaded",
    "NumberWorth",
    "Preview",
    "Query",
    "ReleasedNumber",
    "Rows",
    "Spent",
    "all_notes",
    "enter",
    "fork_policy",
    "open_policy",
    "protect",
    "read_rows",
    "width_of",
]
