"""One bit a question: whether more than so many have the secret, perhaps wrong; and still the column falls.

Comes in: yes or no to counts over random halves of some people, against thresholds near the middle. Goes out: claims by
a linear program: the column that contradicts the answers least. That an endpoint shows no numbers does not protect it
(Dinur and Nissim, PODS 2003; decoding by linear programming after Dwork, McSherry, Talwar, STOC 2007).
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import AttackResult, Claim, Endpoint, Knowledge, not_applicable, some
from sfumato.attacks.subsets import listed, random_numbers
from sfumato.errors import BudgetError
from sfumato.types import identifier

_PEOPLE, _DESCRIBED, _EACH = 40, 28, 20
"""People; where they have no key and conditions are long; and questions for each of them."""
_PRICED = 2
"""Questions for each where answers have a price."""
_FEWEST = 8
Floats = NDArray[np.float64]


def run(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """Ask, solve, claim."""
    if len(knowledge.people) < _FEWEST:
        return not_applicable(f"it takes at least {_FEWEST} people")
    chosen = some(knowledge.people, _PEOPLE if knowledge.key else _DESCRIBED)
    part = replace(knowledge, people=tuple(one for _, one in chosen), only=None, others=())
    wanted = (_EACH if endpoint.epsilon is None else _PRICED) * len(chosen)
    endpoint.share(wanted)
    first = len(endpoint.log)
    lines, cuts, signs = _ask(endpoint, part, wanted)
    if len(signs) < 2 * len(chosen):
        return AttackResult(reason="comparisons of counts are refused, or the budget was spent")
    column = _decode(np.array(lines, float), np.array(cuts), np.array(signs), knowledge.base_rate)
    claims = tuple(Claim(i, bool(value > 0.5)) for (i, _), value in zip(chosen, column, strict=True))
    worst = tuple(one.sql for one in endpoint.log[first:][:3])
    reason = f"{len(signs):,} answers of one bit each about {len(chosen)} people"
    return AttackResult(claims, reason=reason, worst=worst)


def _ask(endpoint: Endpoint, part: Knowledge, wanted: int) -> tuple[list[NDArray[np.bool_]], list[float], list[float]]:
    """Random halves, and thresholds that are now a little above the expected count and now a little below."""
    asked = listed(part, len(part.people))
    lines, cuts, signs = [], [], []
    for number in range(wanted):
        where, line = asked.make(number, 0.5 if part.key else 0.3)
        size = float(line.sum())
        spread = max(1.0, (size * part.base_rate * (1 - part.base_rate)) ** 0.5)
        cut = round(size * part.base_rate + spread * (random_numbers(f"cut {number}", 1)[0] / 2**31 - 1) - 0.5)
        try:
            answer = endpoint.number(
                f"SELECT COUNT(*) > {cut} FROM {identifier(part.table)} WHERE {where} AND {part.secret}"
            )
        except BudgetError:
            break
        if answer is not None:
            lines.append(line)
            cuts.append(cut + 0.5)
            signs.append(1.0 if answer else -1.0)
        elif number > _FEWEST and not signs:
            break
    return lines, cuts, signs


def _decode(lines: Floats, cuts: Floats, signs: Floats, prior: float) -> Floats:
    """The column in [0, 1] with the least sum of contradictions; without SciPy, a step of a perceptron's kind."""
    try:
        optimize = import_module("scipy.optimize")
    except ImportError:
        lean = (lines - lines.mean(axis=0)).T @ signs
        cut = np.quantile(lean, 1 - min(0.99, max(0.01, prior)))
        return np.asarray((lean > cut).astype(float))
    many, people = lines.shape
    cost = np.concatenate([np.zeros(people), np.ones(many)])
    system = np.hstack([-signs[:, None] * lines, -np.eye(many)])
    bounds = [(0, 1)] * people + [(0, None)] * many
    solved = optimize.linprog(cost, A_ub=system, b_ub=-signs * cuts - 0.5, bounds=bounds, method="highs")
    return np.full(people, prior) if solved.x is None else np.asarray(solved.x[:people])
