"""Answers of a moment ago, so that the same query costs next to nothing the second time.

Comes in: a query, the mark of the ledger, an answer that was found there. Goes out: the same answer, as long as nothing
at all was written to the ledger since. What lies here was paid for and returned before; no charge is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sfumato.gateway.answer import Answer, Spent
from sfumato.gateway.query import Query, QueryTime
from sfumato.recent import Recent
from sfumato.sql.release.plan import Plan

_ROOM = 64 * 2**20
"""Bytes of answers that are kept at most."""


@dataclass(frozen=True, slots=True)
class RememberedAnswer:
    """An answer out of the ledger, the mark under which it was found there, and what was left under it, by analyst."""

    mark: int
    version: str
    answer: Answer
    asked: Plan
    left: dict[str, Spent] = field(default_factory=dict)


class RecentAnswers:
    """Answers that are stored, with what is left; all of it could be worked out anew at any time.

    Guarantee: `told` gives an answer only if, on the same data version, `Ledger.again` found this very answer, and the
        ledger is as it was then. So a freeze, a closed version, a changed policy, a debit, by whichever process, is
        honoured by the next question; what is told was on the disk before; and nothing is left unpaid.
    Proof: the mark that is kept was read before the ledger was asked; if it is the same now, nothing was committed in
        between (`Ledger.mark`), and asking the ledger again would read the same rows.
    Reference: semantics 5.2 and 5.4.
    Checked by: unit::what_is_remembered_honours_a_freeze, unit::what_is_remembered_shows_the_budget_of_today,
        unit::what_is_remembered_is_forgotten_with_the_version, end_to_end::a_freeze_is_heard_by_the_next_question
    """

    def __init__(self) -> None:
        self._told: Recent[RememberedAnswer] = Recent(_ROOM)

    def told(self, query: Query, at: QueryTime, version: str, mark: int) -> RememberedAnswer | None:
        """The stored answer, if the ledger is as it was."""
        found = self._told.get(query.key(at))
        return found if found is not None and (found.mark, found.version) == (mark, version) else None

    def built(self, query: Query, at: QueryTime, version: str, receipt: str) -> Answer | None:
        """The answer as it was made of the same stored numbers before, whatever happened to the ledger since."""
        found = self._told.get(query.key(at))
        same = found is not None and (found.version, found.answer.receipt) == (version, receipt)
        return found.answer if found is not None and same else None

    def keep_answer(self, query: Query, at: QueryTime, told: RememberedAnswer) -> None:
        """An answer that the ledger holds, unless it is too large."""
        key = query.key(at)
        if key is not None:
            self._told.put(key, told)
