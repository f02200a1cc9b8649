"""The ledger: what was spent, durable before any row is read, chained by hash, never refunded.

`book` is the room's one object; `records` are what comes out of it. Behind it: `chain` links entries, `schema` is the
file inside and `store` the file outside, `groupcommit` lets one fsync serve all who wait, `sums` are the running sums
and `cells` those of some people only, `decide` is one debit, `settle` its answer or its failure, `standing` says what
is left, `audit` recomputes everything, `anchor` keeps the head elsewhere, `tell` speaks to the owner.
"""

from sfumato.ledger.book import Ledger
from sfumato.ledger.records import Bought, Entry, Overtaken, Receipt, Report, Standing, Stored, Superseded, Terms

__all__ = ["Bought", "Entry", "Ledger", "Overtaken", "Receipt", "Report", "Standing", "Stored", "Superseded", "Terms"]
