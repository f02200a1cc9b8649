"""Refinement: is one channel a post-processing of another? If so, by which channel; if not, for whom it is worth more.

Comes in: two channels of fractions over the same inputs. Goes out: a factor with first * factor = second, or a gain
under which the second is worth more than the first, which no post-processing can be. Both are checked in fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.design.compose import as_fraction, reduced
from sfumato.design.exact import Matrix, non_negative, solve
from sfumato.design.utilities import utility
from sfumato.errors import InputError
from sfumato.mechanisms import Channel

LARGEST = 900
"""Unknowns that the simplex method takes in fractions: 30 outputs into 30."""


@dataclass(frozen=True)
class RefinementVerdict:
    """Whether the first channel can be turned into the second, with the reason.

    Guarantee: `factor` is a channel whose cascade after the first is the second; or `gain`, a matrix with a row for
        each output of the second and a column for each input, gives the second more utility under the uniform prior.
    Proof: post-processing adds nothing to anybody's utility; and where no factor exists, a hyperplane separates the
        second channel from all post-processings of the first, whose coefficients are such a gain.
    Reference: McIver, Meinicke, Morgan, FoSSaCS 2014 (the coriaceous theorem); Blackwell 1953.
    Checked by: design::a_post_processing_is_found_again, design::what_is_no_post_processing_has_a_gain_that_says_so
    """

    holds: bool
    factor: Channel | None
    gain: tuple[tuple[Fraction, ...], ...] | None
    utilities: tuple[Fraction, Fraction] | None


def refines(first: Channel, second: Channel) -> RefinementVerdict:
    """Whether the second channel is the first with something done to its outputs.

    >>> fair, copy = Channel([["1/2", "1/2"], ["1/2", "1/2"]]), Channel([[1, 0], [0, 1]])
    >>> refines(copy, fair).holds, refines(fair, copy).holds
    (True, False)
    """
    if first.inputs != second.inputs:
        raise InputError("channels that are compared have the same inputs")
    smaller, groups = reduced(first)
    left = [[as_fraction(p) for p in row] for row in smaller.matrix]
    right = [[as_fraction(p) for p in row] for row in second.matrix]
    factor, gain = _unique(left, right) or _simplex(left, right)
    if factor is not None:
        return _found(first, second, groups, factor)
    assert gain is not None
    return _refused(first, second, gain)


def _unique(
    left: list[list[Fraction]], right: list[list[Fraction]]
) -> tuple[list[list[Fraction]] | None, list[list[Fraction]] | None] | None:
    """Independent columns have one factor at most: solve for it. None where they are not independent."""
    square = [[sum((r[i] * r[j] for r in left), Fraction(0)) for j in range(len(left[0]))] for i in range(len(left[0]))]
    columns = []
    for b in zip(*right, strict=True):
        projected = [sum((row[i] * p for row, p in zip(left, b, strict=True)), Fraction(0)) for i in range(len(square))]
        solved = solve(square, projected)
        if solved is None:
            return None
        columns.append(solved)
    outputs = len(columns)
    for j, (b, solved) in enumerate(zip(zip(*right, strict=True), columns, strict=True)):
        rest = [
            p - sum((a * r for a, r in zip(row, solved, strict=True)), Fraction(0))
            for row, p in zip(left, b, strict=True)
        ]
        if any(rest):  # the part of the column outside of the span: orthogonal to all that the first can become
            return None, [rest if i == j else [Fraction(0)] * len(left) for i in range(outputs)]
        worst = min(range(len(solved)), key=solved.__getitem__)
        if solved[worst] < 0:
            unit = solve(square, [Fraction(int(i == worst)) for i in range(len(square))])
            assert unit is not None
            dual = [-sum((a * u for a, u in zip(row, unit, strict=True)), Fraction(0)) for row in left]
            return None, [dual if i == j else [Fraction(0)] * len(left) for i in range(outputs)]
    return [list(row) for row in zip(*columns, strict=True)], None


def _simplex(
    left: list[list[Fraction]], right: list[list[Fraction]]
) -> tuple[list[list[Fraction]] | None, list[list[Fraction]] | None]:
    """left factor = right, the rows of the factor adding up to 1: an equation for each entry of right."""
    middle, outputs, inputs = len(left[0]), len(right[0]), len(left)
    if middle * outputs > LARGEST:
        raise InputError(
            f"whether one is a post-processing of the other is decided up to {LARGEST} entries of the factor",
            detail=f"Here it has {middle} times {outputs}.",
        )
    rows, values = [], []
    for x in range(inputs):
        for w in range(outputs):
            rows.append([left[x][z] if v == w else Fraction(0) for z in range(middle) for v in range(outputs)])
            values.append(right[x][w])
    for z in range(middle):
        rows.append([Fraction(int(y == z)) for y in range(middle) for _ in range(outputs)])
        values.append(Fraction(1))
    solution, prices = non_negative(rows, values)
    if solution is not None:
        return [solution[z * outputs : (z + 1) * outputs] for z in range(middle)], None
    assert prices is not None
    return None, [[prices[x * outputs + w] for x in range(inputs)] for w in range(outputs)]


def _found(first: Channel, second: Channel, groups: list[list[int]], factor: Matrix) -> RefinementVerdict:
    """The factor on all outputs of the first: those that say the same are treated the same."""
    place = {j: g for g, group in enumerate(groups) for j in group}
    never = [Fraction(int(w == 0)) for w in range(len(second.outputs))]  # an output that does not happen
    rows = [list(factor[place[j]]) if j in place else never for j in range(len(first.outputs))]
    made = Channel(rows, first.outputs, second.outputs)
    for x, row in enumerate(first.matrix):
        for w in range(len(second.outputs)):
            value = sum((as_fraction(p) * rows[z][w] for z, p in enumerate(row)), Fraction(0))
            if value != second.matrix[x][w]:
                raise ArithmeticError("the factor does not give the second channel")
    return RefinementVerdict(True, made, None, None)


def _refused(first: Channel, second: Channel, gain: list[list[Fraction]]) -> RefinementVerdict:
    """The gain, and what both channels are worth under it: a claim that the caller can check by `utility`."""
    scale = max((abs(g) for row in gain for g in row), default=Fraction(1)) or Fraction(1)
    table = tuple(tuple(g / scale for g in row) for row in gain)
    guesses = [("guess", w) for w in range(len(table))]
    worth = [utility(one, "uniform", table, guesses=guesses).gain for one in (first, second)]
    before, after = (as_fraction(value) for value in worth)
    if before >= after:
        raise ArithmeticError("the gain does not distinguish the channels")
    return RefinementVerdict(False, None, table, (before, after))
