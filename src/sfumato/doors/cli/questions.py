"""The four questions of the demo: what each one costs, what one person can change, and its exact answer, sealed.

Comes in: the clinic's files. Goes out: sealed whole numbers, on a grid. What the policy declares is enforced while
reading, before anything is counted (semantics 1.4), so the sensitivities hold whatever the files contain.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

import numpy as np

from sfumato.doors.cli.clinic import COST_GRID, COST_MAX, DISEASES, PATIENT, SALARY_MAX, VISIT, VISITS_PER_PERSON
from sfumato.errors import PolicyError
from sfumato.words import Exact

WEIGHT = 1 << 20
"""A person's rows are weighed in whole parts of 2^-20 (semantics 3.1b)."""


@dataclass(frozen=True, slots=True)
class Question:
    """One release: its words, its price, and how to read its exact answer."""

    text: str
    change: str
    epsilon: Fraction
    sensitivity_l1: int
    unit: Fraction
    column: str
    groups: tuple[str, ...]
    read: Callable[[Path], Exact]


def count_diseases(directory: Path) -> Exact:
    """How many patients have each disease of the list."""
    counts = Counter(row["disease"] for row in _patients(directory))
    return Exact(np.array([counts[disease] for disease in DISEASES], dtype=np.int64))


def count_old(directory: Path) -> Exact:
    """How many patients are 65 or older."""
    ages = (_number(row["age"], 120, Fraction(1)) for row in _patients(directory))
    return Exact(sum(age is not None and age >= 65 for age in ages))


def sum_salaries(directory: Path) -> Exact:
    """The sum of all salaries, each clamped to what the policy declares."""
    salaries = (_number(row["salary"], SALARY_MAX, Fraction(1)) for row in _patients(directory))
    return Exact(sum(salary for salary in salaries if salary is not None))


def sum_costs(directory: Path) -> Exact:
    """The cost of all visits in units of grid/2^20; one person weighs as much as 20 visits at most (semantics 3.1)."""
    visits = [row for row in _rows(directory / "visit.csv", VISIT) if row["patient_ssn"]]
    visits_of = Counter(row["patient_ssn"] for row in visits)
    total = 0
    for row in visits:
        cost = _number(row["cost"], COST_MAX, Fraction(COST_GRID))
        if cost is not None:
            total += cost * weight(visits_of[row["patient_ssn"]])
    return Exact(total)


def weight(rows: int) -> int:
    """What each row of a person with so many rows counts, in parts of 2^-20.

    >>> weight(20) == WEIGHT, weight(40) == WEIGHT // 2
    (True, True)
    """
    return WEIGHT if rows <= VISITS_PER_PERSON else WEIGHT * VISITS_PER_PERSON // rows


QUESTIONS = (
    Question(
        text="How many patients have each disease?",
        change="one person changes the five counts by at most 1 in all",
        epsilon=Fraction(1, 10),
        sensitivity_l1=1,
        unit=Fraction(1),
        column="patients",
        groups=DISEASES,
        read=count_diseases,
    ),
    Question(
        text="How many patients are 65 or older?",
        change="one person changes it by at most 1",
        epsilon=Fraction(1, 10),
        sensitivity_l1=1,
        unit=Fraction(1),
        column="patients",
        groups=(),
        read=count_old,
    ),
    Question(
        text="What do all patients earn together?",
        change="one person changes it by at most 200,000",
        epsilon=Fraction(2, 10),
        sensitivity_l1=SALARY_MAX,
        unit=Fraction(1),
        column="salary",
        groups=(),
        read=sum_salaries,
    ),
    Question(
        text="What did all visits cost, with at most 20 visits a person?",
        change="one person changes it by at most 20,000",
        epsilon=Fraction(3, 10),
        sensitivity_l1=VISITS_PER_PERSON * int(COST_MAX / Fraction(COST_GRID)) * WEIGHT,
        unit=Fraction(COST_GRID) / WEIGHT,
        column="cost",
        groups=(),
        read=sum_costs,
    ),
)


def _patients(directory: Path) -> Iterator[dict[str, str]]:
    """The rows of `patient`; a person with more than the one row declared is left out (semantics 3.1d)."""
    rows = [row for row in _rows(directory / "patient.csv", PATIENT) if row["ssn"]]
    rows_of = Counter(row["ssn"] for row in rows)
    return (row for row in rows if rows_of[row["ssn"]] == 1)


def _rows(path: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        reader = csv.DictReader(file, restval="")
        missing = [column for column in columns if column not in (reader.fieldnames or ())]
        if missing:
            raise PolicyError(
                f'file "{path.name}" has no column "{missing[0]}"', hint="Run sfumato demo --fresh to write it anew."
            )
        yield from reader


def _number(text: str, high: int, grid: Fraction) -> int | None:
    """A number from 0 to `high` as a multiple of the grid: no number is none, and the bounds clamp all others."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if number.is_nan():
        return None
    places = Decimal(grid.numerator) / Decimal(grid.denominator)
    inside = min(max(number, Decimal(0)), Decimal(high)).quantize(places, rounding=ROUND_HALF_EVEN)
    return int(Fraction(inside) / grid)
