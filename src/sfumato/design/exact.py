"""Linear algebra in fractions: solve, or say why not. Nothing here rounds.

Comes in: a matrix and a right-hand side of fractions. Goes out: a solution, a non-negative solution, or a vector that
proves that there is none. Made for the tens of rows that people design with, not for thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from sfumato.errors import InputError

Matrix = Sequence[Sequence[Fraction]]
PIVOTS = 20_000


def solve(matrix: Matrix, right: Sequence[Fraction]) -> list[Fraction] | None:
    """The only x with matrix x = right, for a square matrix; None where there is not exactly one.

    >>> [str(x) for x in solve([[Fraction(2), Fraction(1)], [Fraction(1), Fraction(3)]], [Fraction(1), Fraction(0)])]
    ['3/5', '-1/5']
    """
    size = len(matrix)
    rows = [_whole([*row, b]) for row, b in zip(matrix, right, strict=True)]
    last = 1
    for k in range(size):  # fraction-free elimination: every division below is exact (Bareiss)
        pick = next((i for i in range(k, size) if rows[i][k]), None)
        if pick is None:
            return None
        rows[k], rows[pick] = rows[pick], rows[k]
        pivot = rows[k][k]
        for i in range(size):
            if i != k:
                factor = rows[i][k]
                rows[i] = [(pivot * a - factor * b) // last for a, b in zip(rows[i], rows[k], strict=True)]
        last = pivot
    return [Fraction(rows[i][size], rows[i][i]) for i in range(size)]


def _whole(row: Sequence[Fraction]) -> list[int]:
    """The same equation in whole numbers."""
    by = lcm(*(a.denominator for a in row))
    return [a.numerator * (by // a.denominator) for a in row]


def non_negative(matrix: Matrix, right: Sequence[Fraction]) -> tuple[list[Fraction] | None, list[Fraction] | None]:
    """(x, None) with matrix x = right and x >= 0; or (None, y) with y matrix <= 0 and y right > 0, which forbids it.

    Guarantee: exactly one of the two is given, and it is checked in fractions before it is returned.
    Proof: the first phase of the simplex method with Bland's rule, which ends; y are its last prices (Farkas).
    Reference: Bland, Mathematics of Operations Research 2, 1977.
    Checked by: design::a_system_has_a_solution_or_a_reason_why_not
    """
    count, width = len(matrix), len(matrix[0])
    signs = [-1 if b < 0 else 1 for b in right]
    rows = [
        [*(s * a for a in row), *(Fraction(int(i == j)) for j in range(count)), s * b]
        for i, (row, b, s) in enumerate(zip(matrix, right, signs, strict=True))
    ]
    basis = [width + i for i in range(count)]
    cost = [sum((row[j] for row in rows), Fraction(0)) for j in range(width)] + [Fraction(0)] * count
    cost.append(sum((row[-1] for row in rows), Fraction(0)))
    for _ in range(PIVOTS):
        enter = next((j for j in range(width) if cost[j] > 0), None)
        if enter is None:
            if cost[-1] == 0:
                return _checked(matrix, right, [(j, row[-1]) for j, row in zip(basis, rows, strict=True)]), None
            return None, _forbidding(matrix, right, [s * (1 + c) for s, c in zip(signs, cost[width:-1], strict=True)])
        _, leave = min(
            ((row[-1] / row[enter], basis[i]), i) for i, row in enumerate(rows) if row[enter] > 0
        )  # the sum of the artificial variables is at least 0, so that some row limits the step
        _pivot(rows, cost, leave, enter)
        basis[leave] = enter
    raise InputError("the linear program is too large for exact numbers", hint="Use fewer inputs or outputs.")


def _pivot(rows: list[list[Fraction]], cost: list[Fraction], leave: int, enter: int) -> None:
    by = rows[leave][enter]
    row = rows[leave] = [a / by if a else a for a in rows[leave]]
    held = [j for j, a in enumerate(row) if a]
    for other in [*(r for i, r in enumerate(rows) if i != leave), cost]:
        factor = other[enter]
        if factor:
            for j in held:
                other[j] -= factor * row[j]


def _checked(matrix: Matrix, right: Sequence[Fraction], basic: list[tuple[int, Fraction]]) -> list[Fraction]:
    x = [Fraction(0)] * len(matrix[0])
    for j, value in basic:
        if j < len(x):
            x[j] = value
    if any(a < 0 for a in x) or any(dot(row, x) != b for row, b in zip(matrix, right, strict=True)):
        raise ArithmeticError("the solution does not solve the system")
    return x


def _forbidding(matrix: Matrix, right: Sequence[Fraction], y: list[Fraction]) -> list[Fraction]:
    if dot(y, right) <= 0 or any(dot(y, column) > 0 for column in zip(*matrix, strict=True)):
        raise ArithmeticError("the reason does not forbid a solution")
    return y


def dot(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """The sum of products."""
    return sum((a * b for a, b in zip(one, other, strict=True) if a and b), Fraction(0))
