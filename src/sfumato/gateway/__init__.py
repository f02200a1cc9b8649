"""The corridor: a question walks from the analyst's words to a noisy answer, in the order that the promise needs.

Comes in: SQL and who asks. Goes out: an Answer, or a preview. Order, always (semantics 5.2): plan, price, debit
durable, run, draw, store the answer durable, reply. A crash may waste budget, never privacy.
"""

from sfumato.gateway.answer import Answer, Spent
from sfumato.gateway.bounds import Found
from sfumato.gateway.corridor import Gateway
from sfumato.gateway.opening import Loaded, enter, fork_policy, open_policy, protect, read_rows
from sfumato.gateway.preview import Preview

__all__ = [
    "Answer",
    "Found",
    "Gateway",
    "Loaded",
    "Preview",
    "Spent",
    "enter",
    "fork_policy",
    "open_policy",
    "protect",
    "read_rows",
]
