"""The ledger: what was spent, durable before any row is read, chained by hash, never refunded.

`book` is the room's one object; `records` are what comes out of it. Behind it: `chain` links entries, `groupcommit`
lets one fsync serve all who wait, step by step as `steps` says, `sums` are the running sums and `cells` those of some
people only, `decide` is one debit, `settle` its answer or its failure, `standing` says what is left, `audit`
recomputes everything, `anchor` keeps the head elsewhere and `last_head` in the state directory, `units` says what one
unit is, `moving` and `moved` take a ledger to another place, `tell` speaks to the owner. `protocol` is what they need
of a store: `sqlite` is one, with `schema` inside, `store` outside and `guard` around its file; `postgres` is the
other, with `postgres_schema` inside and `postgres_link` for one connection.
"""

from sfumato.ledger.last_head import accept_loss, check_found, place_of_last_head, read_last_head
from sfumato.ledger.ledger import Ledger
from sfumato.ledger.opening import accept_server, has_ledger, is_address
from sfumato.ledger.records import (
    Bought,
    ChainReport,
    Entry,
    Overtaken,
    Receipt,
    SpendingTerms,
    Standing,
    Stored,
    Superseded,
)

__all__ = [
    "Bought",
    "ChainReport",
    "Entry",
    "Ledger",
    "Overtaken",
    "Receipt",
    "SpendingTerms",
    "Standing",
    "Stored",
    "Superseded",
    "accept_loss",
    "accept_server",
    "check_found",
    "has_ledger",
    "is_address",
    "place_of_last_head",
    "read_last_head",
]
