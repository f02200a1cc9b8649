"""A count or sum and a part of it, COUNT(*) beside COUNT(*) FILTER (WHERE p): two sums that come for one price.

A adds up the rows where p holds, B all others. A row is in one of them, so that its length in both together is the
largest value. The part is A, the whole is A + B.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sfumato.algebra.aggregates.base import ONE, ZERO, Bundle, Formula, Sums, first, first_draw
from sfumato.algebra.functions import call
from sfumato.algebra.noise_sums import Draw, Ratio, weighed
from sfumato.algebra.noise_widths import NoiseTerm
from sfumato.algebra.tree import Aggregate, Call, Constant, Node

_MANY = 3
"""With more than this many bundles the sum of two draws would be worse for the whole than its own share."""


def _both(_: Aggregate, sums: Sums, __: NoiseTerm | None) -> Fraction:
    return sums[0] + sums[1]


def _both_draws(_: Aggregate, draw: Callable[[int], Draw]) -> Ratio:
    return Ratio(weighed([Fraction(1)] * 2, [draw(0), draw(1)]))


def _words(_: Aggregate, __: str) -> str:
    return "two sums: where the condition of the part holds, and elsewhere"


PART = Formula("part of two", first, first_draw, _words)
WHOLE = Formula("both of two", _both, _both_draws, _words)


def condition_of(part: Aggregate, whole: Aggregate) -> Node | None:
    """The condition under which a row of the whole is in the part; None where it is no part of it."""
    if whole.where is not None or whole.name not in ("count", "sum"):
        return None
    if part.name == whole.name and part.arg == whole.arg:
        return part.where
    case = part.arg
    if part.name != "sum" or part.where is not None or not isinstance(case, Call) or case.name != "case":
        return None
    if len(case.args) != 3 or not isinstance(case.args[2], Constant) or case.args[2].value not in (0, None):
        return None
    counted = whole.name == "count" and whole.arg is None and _is_one(case.args[1])
    return case.args[0] if counted or (whole.name == "sum" and case.args[1] == whole.arg) else None


def _is_one(node: Node) -> bool:
    return isinstance(node, Constant) and node.value == ONE.value and not isinstance(node.value, bool)


def halves(whole: Bundle, condition: Node) -> Bundle:
    """The rows of a whole where the condition holds, and all others."""
    (number,) = whole.parts
    return Bundle((call("case", (condition, number, ZERO)), call("case", (condition, ZERO, number))), whole.length)


def pair_of(aggregates: list[Aggregate]) -> tuple[Aggregate, Aggregate, Node] | None:
    """The one whole and the one part of it among these, and the condition; None where there is no such pair."""
    if len(aggregates) > _MANY or any(one.name == "mode" for one in aggregates):  # whether a mode is told needs a count
        return None
    pairs = [
        (part, whole, condition)
        for whole in aggregates
        for part in aggregates
        if part != whole and (condition := condition_of(part, whole)) is not None
    ]
    return pairs[0] if len(pairs) == 1 else None
