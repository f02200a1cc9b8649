"""Which noise gives the narrower intervals for the same price: `noise = "auto"`, and what a preview says of the other.

Comes in: plans of one question with either noise, the policy's composition, and whether epsilon is still counted. Goes
out: which of them is taken. From the text, the policy and the ledger alone: no row is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sfumato.algebra.tree import Column
from sfumato.errors import SfumatoError
from sfumato.gateway.answer import expected_width, rank_words, width_of
from sfumato.gateway.interval_sources import laws
from sfumato.sql.release.plan import Plan
from sfumato.sql.release.ranks import ranks
from sfumato.sql.release.release_plan import GAUSSIAN, GEOMETRIC

_ROWS = 1000
"""The size of groups for which ratios are compared."""
_WORTH_SAYING = Fraction(9, 10)
"""A preview speaks of the other noise where its intervals are at most so wide."""


def chosen(
    planned: Callable[[str], Plan], *, composition: str, epsilon_open: bool, stored: Callable[[Plan], bool]
) -> str:
    """The noise that "auto" stands for.

    A Gaussian charge closes the epsilon side of `best` for everybody, for good: that is never done unasked, so while
    that side is open it is geometric noise. Otherwise both have the same price in rho: an answer that is stored is
    free, and taken; else it is the noise with the narrower intervals, geometric noise where they are equal.
    """
    if composition == "pure" or (composition == "best" and epsilon_open):
        return GEOMETRIC
    usual = GAUSSIAN if composition == "zcdp" else GEOMETRIC
    try:
        plans = {noise: planned(noise) for noise in (GEOMETRIC, GAUSSIAN)}
    except SfumatoError:  # asking says why
        return usual
    if any(plan.missing or plan.event is None for plan in plans.values()):
        return usual
    known = [noise for noise, plan in plans.items() if stored(plan)]
    if known:
        return known[0]
    part = width_ratio(plans[GAUSSIAN], plans[GEOMETRIC])
    return GAUSSIAN if part is not None and part < 1 else GEOMETRIC


def width_ratio(one: Plan, other: Plan) -> float | None:
    """How wide the intervals of one plan are against those of the other, in the geometric mean over columns.

    Where a width chose the price, it is the prices in epsilon that are compared. None where nothing can be compared.
    """
    if one.epsilon != other.epsilon:
        return float(one.epsilon / other.epsilon)
    pairs = [(_width(one, item), _width(other, item)) for item in range(len(one.question.items))]
    logs = [math.log(a / b) for a, b in pairs if a and b]
    return math.exp(sum(logs) / len(logs)) if logs else None


def _width(plan: Plan, item: int) -> float | None:
    """The expected half width of a column: of a ratio in a group of some size, of a choice in ranks."""
    sure = Fraction(95, 100)
    if rank_words(plan, item, sure) is not None:
        node = plan.question.items[item][1]
        assert isinstance(node, Column)
        cut, _, source, *_ = laws(plan.cuts)[node.name]
        found = ranks(plan.cuts[cut], plan.cuts[cut].parts[0].bundles[source.bundle], sure)
        return None if found is None else float(found.error)
    width = width_of(plan, item, sure)
    if width is None:
        width = expected_width(plan, item, _ROWS, sure)
    return None if width is None else float(width)


def about_the_other(plan: Plan, planned: Callable[[str], Plan], *, composition: str, epsilon_open: bool) -> str | None:
    """What a preview says of the other noise, where that is clearly better for the same price in rho."""
    if composition == "pure" or plan.event is None:
        return None
    other = GEOMETRIC if plan.noise == GAUSSIAN else GAUSSIAN
    try:
        part = width_ratio(planned(other), plan)
    except SfumatoError:
        return None
    if part is None or part > _WORTH_SAYING:
        return None
    closes = ". From then on the budget of all analysts is tracked in rho only"
    closes = closes if other == GAUSSIAN and composition == "best" and epsilon_open else ""
    less = f"about {100 * (1 - part):.0f} % narrower at the same rho"
    return f'{other.capitalize()} noise would make intervals {less} (noise = "{other}"){closes}'
