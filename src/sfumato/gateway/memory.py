"""What was planned and answered a moment ago, so that the same question costs next to nothing the second time.

Comes in: a question with its options, the mark of the ledger, an answer that was found there. Goes out: the same
answer, as long as nothing at all was written to the ledger since. What lies here was paid for and told before; no debit
is decided here.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, Generic, NamedTuple, TypeVar

from sfumato.gateway.answer import Answer, Spent
from sfumato.sql.plan import Plan

V = TypeVar("V")
_ROOM = 400_000
"""Values of answers, or groups of plans, that are kept at most: some tens of megabytes."""
_WRITTEN = (type(None), str, int, float, Decimal, Fraction)


class Recent(Generic[V]):
    """The last things that were used, by key, as many as weigh at most `most`. Any number of threads."""

    def __init__(self, most: int) -> None:
        self._most, self._weight, self._lock = most, 0, threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()

    def get(self, key: Hashable) -> V | None:
        """What is kept under a key."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: V, weight: int = 1) -> None:
        """Keep it, and let go of what was not used for longest; what would push out a quarter of all is not kept."""
        with self._lock:
            self._weight -= self._kept.pop(key, (None, 0))[1]
            if 4 * weight > self._most:
                return
            self._kept[key] = (value, weight)
            self._weight += weight
            while self._weight > self._most:
                self._weight -= self._kept.popitem(last=False)[1][1]


def weight(sql: str, values: int) -> int:
    """What a question and what was made of it weigh, in values."""
    return 100 + len(sql) // 50 + values


class Asking(NamedTuple):
    """Everything that a plan depends on beside the policy: the text, the options as they were written, the day."""

    sql: str
    epsilon: Any
    rows_per_unit: int | None
    noise: str | None
    within: Any
    confidence: Fraction
    day: date

    @property
    def key(self) -> Hashable | None:
        """Options by type too, since True is 1 for Python alone; None for what cannot be a key."""
        kinds = [type(value) for value in self[1:5]]
        if any(kind not in _WRITTEN for kind in kinds):
            return None
        sure = self.confidence
        return (*self[:5], *kinds, sure.numerator, sure.denominator, self.day.toordinal())


@dataclass(frozen=True, slots=True)
class Told:
    """An answer out of the ledger, the mark under which it was found there, and what was left under it, by analyst."""

    mark: int
    version: str
    answer: Answer
    asked: Plan
    left: dict[str, Spent] = field(default_factory=dict)


class Memory:
    """Plans, and answers that are stored with what is left; all of it could be worked out anew at any time.

    Guarantee: `told` gives an answer only if, on the same data version, `Ledger.again` found this very answer, and the
        ledger is as it was then. So a freeze, a closed version, a changed policy, a debit, by whichever process, is
        honoured by the next question; what is told was on the disk before; and nothing is left unpaid.
    Proof: the mark that is kept was read before the ledger was asked; if it is the same now, nothing was committed in
        between (`Ledger.mark`), and asking the ledger again would read the same rows.
    Reference: semantics 5.2 and 5.4.
    Checked by: rooms::what_is_remembered_honours_a_freeze, rooms::what_is_remembered_shows_the_budget_of_today,
        rooms::what_is_remembered_is_forgotten_with_the_version, doors::a_freeze_is_heard_by_the_next_question
    """

    def __init__(self) -> None:
        self._plans: Recent[Plan] = Recent(_ROOM)
        self._told: Recent[Told] = Recent(_ROOM)

    def plan(self, asking: Asking) -> Plan | None:
        """The plan of the same question on the same day."""
        return self._plans.get(asking.key)

    def keep_plan(self, asking: Asking, plan: Plan) -> None:
        """A plan, unless it is too large."""
        groups = sum(len(part.groups) for cut in plan.cuts for part in cut.parts)
        if asking.key is not None:
            self._plans.put(asking.key, plan, weight(asking.sql, groups))

    def told(self, asking: Asking, version: str, mark: int) -> Told | None:
        """The stored answer, if the ledger is as it was."""
        found = self._told.get(asking.key)
        return found if found is not None and (found.mark, found.version) == (mark, version) else None

    def built(self, asking: Asking, version: str, receipt: str) -> Answer | None:
        """The answer as it was made of the same stored numbers before, whatever happened to the ledger since."""
        found = self._told.get(asking.key)
        same = found is not None and (found.version, found.answer.receipt) == (version, receipt)
        return found.answer if found is not None and same else None

    def keep_answer(self, asking: Asking, told: Told) -> None:
        """An answer that the ledger holds, unless it is too large."""
        if asking.key is not None:
            values = len(told.answer.rows) * len(told.answer.columns)
            self._told.put(asking.key, told, weight(asking.sql, values))
