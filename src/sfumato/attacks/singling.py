"""Singling out: a condition that exactly one row fulfils, though a row drawn at random hardly ever does.

Comes in: counts. Goes out: bets that one row is described. Nobody is named: isolating a row is what the law calls
singling out, and what an attacker without answers cannot do but by luck (Cohen and Nissim, PNAS 2020). A number that
looks random is made of each row, and the range of it is halved again and again, towards the side with fewer rows. After
one row is left the halving goes on until a condition is so narrow that luck explains nothing.
"""

from __future__ import annotations

from sfumato.attacks.base import AttackResult, Bet, Endpoint, Knowledge
from sfumato.attacks.subsets import hashed
from sfumato.errors import BudgetError

_TRIES, _PRICED = 8, 2
"""Rows to single out; and where answers have a price: two of two are no luck either."""
_RARE = 1e-3
"""Rows that a condition is expected to find by luck, at most."""
_STEPS = 60


def run(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """Several rows, one after the other; where a budget is spent, each with a copy of the ledger, or one alone."""
    first = len(endpoint.log)
    tries = _TRIES if endpoint.epsilon is None else 1 if endpoint.fresh is None else _PRICED
    bets: list[Bet] = []
    none = "no range was left with one row"
    for number in range(tries):
        if number and endpoint.epsilon is not None and endpoint.fresh is not None:
            endpoint.fresh()
        endpoint.share(_STEPS // 2)
        try:
            bet = _isolate(endpoint, knowledge, number)
        except BudgetError:
            none = "the budget was spent before one row was left"
            continue
        if bet is not None:
            bets.append(bet)
        elif endpoint.log[-1].rows is None and not bets:
            return AttackResult(reason="counts of ranges are refused")
    if not bets:
        return AttackResult(reason=none)
    worst = tuple(one.sql for one in endpoint.log[first:][-3:])
    how = "ranges of a number made of each row, halved until one is left"
    return AttackResult(bets=tuple(bets), reason=how, worst=worst)


def _isolate(endpoint: Endpoint, knowledge: Knowledge, number: int) -> Bet | None:
    """Halve the range of one number, and then of a second one within its last range."""
    rows = endpoint.once(knowledge.count("1 = 1"))
    if rows is None:
        return None
    left, weight, where, steps = max(rows, 1.0), 1.0, "", 0
    for part in range(3):
        expression, modulus = hashed(knowledge, 3 * number + part)
        low, high = 0, modulus
        while high - low > 1 and steps < _STEPS:
            if left < 1.5 and weight * rows < _RARE:
                return Bet(_within(where, expression, low, high), weight)
            steps += 1
            middle = (low + high) // 2
            found = endpoint.number(knowledge.count(_within(where, expression, low, middle)))
            if found is None:
                return None
            other = left - found
            lower = found >= 0.5 and (found <= other or other < 0.5)
            weight *= (middle - low if lower else high - middle) / (high - low)
            low, high, left = (low, middle, found) if lower else (middle, high, max(other, 1.0))
        where = _within(where, expression, low, high)
    return Bet(where, weight) if weight * rows < _RARE else None


def _within(where: str, expression: str, low: int, high: int) -> str:
    """The condition so far, and the range of one more number."""
    before = f"{where} AND " if where else ""
    return f"{before}{expression} = {low}" if high - low == 1 else f"{before}{expression} BETWEEN {low} AND {high - 1}"
