"""What the others tell: how often a secret is guessed right from what is known of a person and everybody else's rows.

Comes in: rows and people. Goes out: a rate. That husbands are men is no secret of any one of them: whoever learns it
from the rest of the data has learnt nothing that her own row gave away, and no privacy forbids it. So an attack has to
do better than this, and what a promise allows is counted from here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sfumato.attacks.base import Knowledge, plain
from sfumato.audit import bound_below

_BINS = 8
_MOST_VALUES = 200


def rate_of_trend(rows: Sequence[dict[str, Any]], knowledge: Knowledge, truth: Sequence[bool]) -> float:
    """The part of people whom a naive Bayes rule gets right, made for each from all rows but her own; at least that.

    Guarantee: with 97.5 % confidence no more than what somebody has who sees all rows but one and guesses the last.
    Proof: the rule for a person is made of counts from which her own row was taken away, so some guesser follows it;
        what it got right of these people is a sample, and the lower end of its exact interval is taken.
    Reference: Dwork's stability, as in the second lecture: what could be learned by the same analysis without her.
    Checked by: attacks::what_the_others_tell_is_no_loss, attacks::a_trend_leaves_her_own_row_out
    """
    has = [knowledge.fact.holds(row[knowledge.fact.column]) for row in rows]
    whole = Counter(has)
    cells, counts = {}, {}
    for column in knowledge.people[0].known:
        values = [plain(row[column]) for row in rows]
        cell = _cells(values)
        if column != knowledge.key and 1 < len(set(cell.values())) <= _MOST_VALUES:
            cells[column] = cell
            counts[column] = Counter((cell[value], bit) for value, bit in zip(values, has, strict=True))
    right = 0
    for one, bit in zip(knowledge.people, truth, strict=True):
        lean = _log_odds(one.known, bit, whole, cells, counts)
        right += (lean > 0) is bit
    return bound_below(right, len(truth), 0.025)


def _log_odds(known: dict[str, Any], bit: bool, whole: Any, cells: Any, counts: Any) -> float:
    """For the secret and against it, by counts of everybody but her, whose own secret is `bit`."""
    lean = 0.0
    for guess, sign in ((True, 1), (False, -1)):
        own = int(bit is guess)
        left = whole[guess] - own
        lean += sign * math.log(left + 0.5)
        for column, cell in cells.items():
            agreeing = counts[column][cell[known[column]], guess] - own
            lean += sign * math.log((agreeing + 0.5) / (left + 1))
    return lean


def _cells(values: Sequence[Any]) -> dict[Any, Any]:
    """Each value, or of many different numbers an eighth of them each."""
    numbers = sorted(v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool))
    if len(set(numbers)) <= 2 * _BINS or len(numbers) < len([v for v in values if v is not None]):
        return {value: value for value in values}
    edges = [numbers[len(numbers) * i // _BINS] for i in range(1, _BINS)]
    return {value: None if value is None else sum(value >= edge for edge in edges) for value in set(values)}
