"""`sfumato budget`: the total, what was spent, what is left; and how to split the rest equally.

Comes in: a policy file. Goes out: three lines, or one document. The data are not opened: policy and ledger are enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from rich.table import Table
from rich.text import Text

from sfumato.accounting import Pure, price, suspicion
from sfumato.cli.ledger import open_book
from sfumato.cli.opened_gateway import OWNER, say_no_share
from sfumato.errors import BudgetError
from sfumato.gateway import Spent
from sfumato.gateway.rounding import DELTA, amount, budget_title, enough_for
from sfumato.ledger import BudgetState, Ledger
from sfumato.policy import Policy
from sfumato.server.terminal_output import console, print_json, print_table
from sfumato.types import UNIT, Loss, show, whole

_CELLS = 40


def show_budget(policy: Path, analyst: str | None, *, as_json: bool) -> None:
    """Where an analyst stands, or everybody together."""
    with open_book(policy) as (owner, ledger):
        standing = ledger.budget(_named(analyst))
        count = ledger.remaining_count(_named(analyst), price(Pure(owner.privacy.query_epsilon)))
    if as_json:
        print_json(_document(analyst, standing) | {"queries": count})
        return
    _print(owner, analyst, standing, count)
    say_no_share(owner, analyst)


def split(policy: Path, analyst: str | None, questions: int, *, as_json: bool) -> None:
    """The largest epsilon that so many questions may each cost, under the policy's composition: exact."""
    count = whole(questions, "N", low=1)
    with open_book(policy) as (owner, ledger):
        epsilon = _largest(ledger, _named(analyst), count)
        standing = ledger.budget(_named(analyst))
    least = owner.privacy.min_epsilon
    if epsilon < least:
        raise BudgetError(
            f"the remaining budget cannot be split into {count:,} queries",
            detail=f"Each would cost epsilon {show(epsilon)}; a query costs {show(least)} or more.",
            hint="Use fewer queries." if epsilon else "Nothing is left; stored answers stay free.",
        )
    if as_json:
        print_json({"questions": count, "epsilon": str(epsilon), **_document(analyst, standing)})
        return
    out = console()
    composed = f"(composition {owner.privacy.composition})"
    each = "1 query may cost" if count == 1 else f"{count:,} queries may each cost"
    short = max(least, _rounded_down(epsilon))
    rounded = "" if short == epsilon else ", rounded down"
    out.print(f"{each} epsilon {show(short)}{rounded} {composed}.")
    out.print(Text(f"sfumato query SQL --epsilon {show(short)}", style="dim"))


def _rounded_down(epsilon: Fraction) -> Fraction:
    """An epsilon to four digits, never above it.

    >>> [show(_rounded_down(Fraction(text))) for text in ("0.099657268508393", "12.34567", "0.1")]
    ['0.09965', '12.34', '0.1']
    """
    step = Fraction(10) ** (Decimal(float(epsilon)).adjusted() - 3)
    return epsilon // step * step


def _largest(ledger: Ledger, analyst: str | None, count: int) -> Fraction:
    """By doubling and halving over multiples of 1e-15: what fits is what the ledger itself would admit."""

    def fits(units: int) -> bool:
        return ledger.remaining_count(analyst, price(Pure(units * UNIT))) >= count

    high = 1
    while fits(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low * UNIT


def _named(analyst: str | None) -> str | None:
    """The owner has no share: their budget is that of everybody together."""
    return None if analyst == OWNER else analyst


def _document(analyst: str | None, standing: BudgetState) -> dict[str, object]:
    parts = {"total": standing.total, "spent": standing.spent, "remaining": standing.remaining}
    return {"analyst": analyst, **{name: Spent.of(loss).to_dict() for name, loss in parts.items()}}


def _print(owner: Policy, analyst: str | None, standing: BudgetState, count: int) -> None:
    out = console()
    title = budget_title(_named(analyst))
    out.print(Text(f'{title}, data "{owner.data.id}", composition {owner.privacy.composition}', style="bold"))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for head in ("", "epsilon", "rho", DELTA):
        table.add_column(head, justify="left" if head == "" else "right")
    for name, loss in (("total", standing.total), ("spent", standing.spent), ("remaining", standing.remaining)):
        amounts = (loss.epsilon, loss.rho, loss.delta)
        table.add_row(name, *("–" if value is None else amount(value) for value in amounts))
    print_table(out, table)
    out.print(bar(standing.remaining, standing.total))
    each = Spent.of(price(Pure(owner.privacy.query_epsilon)))
    out.print(enough_for(count, each, Spent.of(standing.remaining), default=True))
    for line in _in_odds(owner, standing):
        out.print(line, soft_wrap=True, highlight=False)


def _in_odds(owner: Policy, standing: BudgetState) -> Iterator[str]:
    """What the budget, and what was spent of it, does to a suspicion about one person."""
    privacy, spent = owner.privacy, standing.spent
    total = privacy.epsilon if standing.total.epsilon is None else standing.total.epsilon
    is_beyond = _is_beyond(spent, standing.total)
    if spent.epsilon and (is_beyond or spent.epsilon <= total):
        yield f"spent so far: {suspicion(spent.epsilon, privacy.adjacency, delta=spent.delta)}"
    if is_beyond:
        yield "more was spent than the total is now: nothing is left, and the total does not bound the answers so far"
    else:
        yield f"all of it: {suspicion(total, privacy.adjacency, delta=privacy.delta)}"


def _is_beyond(spent: Loss, total: Loss) -> bool:
    """Whether more was spent than the total, in each currency that it has: it was lowered since."""
    pairs = ((spent.epsilon, total.epsilon), (spent.rho, total.rho))
    return all(limit is None or used is None or used > limit for used, limit in pairs)


def bar(left: Loss, total: Loss) -> Text:
    """Forty cells, full ones for what is left of the currency that has most left; rounded down."""
    rooms = [
        Fraction(0 if now is None else now) / limit
        for now, limit in ((left.epsilon, total.epsilon), (left.rho, total.rho))
        if limit
    ]
    share = max(rooms, default=Fraction(0))
    full = int(_CELLS * share)
    return Text.assemble(("█" * full, "yellow"), ("░" * (_CELLS - full), "dim"), f" {int(100 * share)} % left")
