"""The ledger: what was spent, durable before any row is read, chained by hash, never refunded.

`ledger` is the one object that others use; `records` are what it takes and returns. Behind it: `chain` links entries by
hash, `group_commit` lets one fsync serve all who wait, in the order of `steps`; `charging` decides one charge,
`answers` keeps its answer or its failure, `running_sums`, `cells` and `balance` are what was spent and what is left,
`spending` is the curve of it; `audit` recomputes everything; `anchor` keeps the head of the chain elsewhere and
`last_head` in the state directory, as `kept_policies` do with policies; `earlier_use` misses a ledger that is gone;
`units` says what one unit is; `person_budgets` are budgets of traces; `moving` and `moved_ledger` take a ledger to
another place. `protocol` is what they need of a store: `sqlite` is one, with `schema` inside, `store` outside and
`file_guard` around its file; `postgres` is the other, with `postgres_schema` and `postgres_link`.
"""

from sfumato.ledger.earlier_use import accept_loss, check_found, find_earlier_use
from sfumato.ledger.kept_policies import keep_policy, read_kept_policy
from sfumato.ledger.last_head import place_of_last_head, read_last_head
from sfumato.ledger.ledger import Ledger
from sfumato.ledger.opening import accept_server, has_ledger, is_address
from sfumato.ledger.operator_messages import OPERATOR
from sfumato.ledger.person_budgets import LedgerPurse
from sfumato.ledger.records import (
    BudgetState,
    ChainReport,
    ChargeOutcome,
    Entry,
    Overtaken,
    Receipt,
    ServerError,
    SpendingTerms,
    Stored,
    Superseded,
)

__all__ = [
    "OPERATOR",
    "BudgetState",
    "ChainReport",
    "ChargeOutcome",
    "Entry",
    "Ledger",
    "LedgerPurse",
    "Overtaken",
    "Receipt",
    "ServerError",
    "SpendingTerms",
    "Stored",
    "Superseded",
    "accept_loss",
    "accept_server",
    "check_found",
    "find_earlier_use",
    "has_ledger",
    "is_address",
    "keep_policy",
    "place_of_last_head",
    "read_kept_policy",
    "read_last_head",
]
