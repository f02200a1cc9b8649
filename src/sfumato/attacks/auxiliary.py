"""Auxiliary knowledge: a statistic, and a rumour that ties one person's number to it.

Comes in: an average; and rumours such as "she earns twice the average". Goes out: claims about her number. Any answer
that is of use to anybody makes them come true, whatever mechanism gave it, and whether or not her row is in the table:
that nothing at all can be learnt about anybody is impossible (Dwork, ICALP 2006). So the same claims are made from the
average of everybody but those people, and what it tells anyway is no loss of theirs: a promise is about the difference.
"""

from __future__ import annotations

from sfumato.attacks.base import AttackResult, Claim, Endpoint, Knowledge, not_applicable, some
from sfumato.errors import BudgetError
from sfumato.types import identifier

_PEOPLE = 40


def run(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """The average of everybody, and that of everybody but the people of whom something is said."""
    rumours = [(i, one) for i, one in some(knowledge.people, len(knowledge.people)) if i in knowledge.hints]
    if not rumours or not knowledge.fact.above:
        return not_applicable("it takes a secret that is a number, with many values")
    chosen = rumours[: min(_PEOPLE, len(rumours) // 2)]
    endpoint.share(2)
    sql = f"SELECT AVG({identifier(knowledge.fact.column)}) FROM {identifier(knowledge.table)}"
    absent = " AND ".join(f"NOT ({one.where})" for _, one in chosen)
    try:
        average, others = endpoint.number(sql), endpoint.number(f"{sql} WHERE {absent}")
    except BudgetError:
        return AttackResult(reason="the budget was spent before there were two averages")
    if average is None or others is None:
        return AttackResult(reason="averages are refused")
    claims, without = (
        tuple(Claim(i, knowledge.hints[i] * number > knowledge.fact.value) for i, _ in chosen)
        for number in (average, others)
    )
    reason = "an average and rumours; the average of everybody else reveals as much, and no mechanism can prevent that"
    return AttackResult(claims, reason=reason, worst=(sql,), without=without)
