"""What a preview predicts: a refusal that the query would meet, and bounds that would be estimated first.

Comes in: a plan, who asks, and what is left. Goes out: what is told, for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.accounting import Pure, Together, price
from sfumato.errors import BudgetError, LedgerError, SfumatoError
from sfumato.gateway.answer import Spent
from sfumato.gateway.bounds import AutoBounds
from sfumato.gateway.preview import Preview, after, columns_unknown, lacking, least, said
from sfumato.ledger import Ledger
from sfumato.policy import Policy
from sfumato.sql.release.plan import Plan
from sfumato.types import Loss


@dataclass(frozen=True)
class ExpectedRefusals:
    """Looks ahead, and changes nothing."""

    policy: Policy
    ledger: Ledger
    bounds: AutoBounds
    rows: str
    """The name of the rows: cells are cells of these."""

    def closed(self, version: str) -> SfumatoError | None:
        """What every query meets now, whatever it says: a frozen ledger, or a version that failures closed."""
        try:
            self.ledger.check_serving(version)
        except (BudgetError, LedgerError) as error:
            return error
        return None

    def refused(self, analyst: str | None, asked: Plan, cost: Loss, before: Spent, version: str) -> BudgetError | None:
        """What asking would raise if it costs more than is left, for an analyst or for everybody."""
        if self.ledger.remaining_count(analyst, cost, cells=asked.cells, version=version, rows=self.rows) >= 1:
            return None
        who = "everybody" if analyst is None else f'"{analyst}"'
        return BudgetError(
            f'budget of {who} on "{self.policy.data.id}" does not allow this query',
            detail=lacking(Spent.of(cost), before),
            hint="Use a smaller epsilon, or ask the owner for a larger budget; stored answers stay free.",
        )

    def not_known(
        self, asked: Plan, analyst: str, before: Spent, version: str, *, priced: bool, confidence: Fraction
    ) -> Preview:
        """The preview of a question for which bounds are to be found first: what they cost, and what it costs then.

        Free, so nothing that depends on the bounds is told; where the width is to choose the price, not even that.
        """
        assert asked.event is not None
        missing, columns = asked.missing, columns_unknown(asked)
        shown = Preview(None, None, before, None, columns, confidence=confidence, bounds=missing)
        each, left = self.bounds.price, Spent.of(self.ledger.budget(None).remaining)
        once = f"is not known yet: running the query first estimates it, for {said(each, left)}, once per data version"
        shown = replace(shown, notes=tuple((None, f"{one.words} {once}") for one in missing))
        if self.ledger.remaining_count(None, each) < len(missing):
            return replace(shown, refused=self.bounds.refused(missing[0], lacking(Spent.of(each), left)))
        if not priced:
            return shown
        cost = price(asked.event)
        for _ in missing:
            left = after(left, each)
        bought = Together((*(Pure(self.policy.privacy.query_epsilon) for _ in missing), asked.event))
        refused = self.refused(analyst, asked, cost, before, version) or self.refused(
            None, asked, price(bought), Spent.of(self.ledger.budget(None).remaining), version
        )
        mine, everybody = after(before, cost), after(left, cost)
        return replace(shown, refused=refused, cost=Spent.of(cost), after=least(mine, everybody))
