"""What an attack works with and what it hands in: an endpoint to ask, what the attacker knows, claims about people.

Comes in: SQL through `Endpoint.ask`, which is all that an analyst sees. Goes out: `Found`, claims with the number of
questions that they took. The truth is not here: only the referee in `report` has it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any

from sfumato.errors import BudgetError, SfumatoError
from sfumato.words import identifier, string

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Asked:
    """One question of the transcript; `rows` is None where it was refused."""

    sql: str
    rows: Rows | None
    refusal: str | None
    seconds: float


@dataclass
class Endpoint:
    """Something that answers questions. `epsilon` is what it promises never to exceed, None if it promises nothing.

    `share` is told how many questions are coming, so that an attacker who may set prices can make a budget last.
    `release` is a table that is published instead of answers. `between` is how many steps of the promise lie between
    two values of one person's secret: one under replace, two under add-remove.
    """

    name: str
    run: Callable[[str], Rows]
    epsilon: Fraction | None = None
    spent: Callable[[], Fraction] | None = None
    share: Callable[[int], None] = lambda _: None
    release: list[dict[str, Any]] | None = None
    between: int = 2
    log: list[Asked] = field(default_factory=list)
    noted: dict[str, float | None] = field(default_factory=dict)

    def ask(self, sql: str) -> Rows:
        """The answer, or the endpoint's refusal as an exception; both are written down."""
        start = time.process_time()
        try:
            rows = self.run(sql)
        except SfumatoError as error:
            self.log.append(Asked(sql, None, error.message, time.process_time() - start))
            raise
        self.log.append(Asked(sql, rows, None, time.process_time() - start))
        return rows

    def number(self, sql: str) -> float | None:
        """The one number of an answer; None where it is refused or empty."""
        try:
            rows = self.ask(sql)
        except BudgetError:
            raise
        except SfumatoError:
            return None
        return None if not rows or rows[0][0] is None else float(rows[0][0])

    def once(self, sql: str) -> float | None:
        """A number that is needed again and again, asked for once."""
        if sql not in self.noted:
            self.noted[sql] = self.number(sql)
        return self.noted[sql]


@dataclass(frozen=True)
class Person:
    """Somebody in the data, as far as the attacker knows her."""

    known: dict[str, Any]
    where: str


@dataclass(frozen=True)
class Knowledge:
    """What the attacker has before asking: whom to attack, which fact is secret, how common it is among people."""

    table: str
    secret: str
    secret_column: str
    secret_value: Any
    people: tuple[Person, ...]
    key: str | None
    base_rate: float

    def count(self, where: str) -> str:
        """The question how many rows fulfil a condition."""
        return f"SELECT COUNT(*) FROM {identifier(self.table)} WHERE {where}"


@dataclass(frozen=True)
class Claim:
    """One person, by her place in `people`; whether she has the secret; whether this follows with certainty."""

    person: int
    has: bool
    certain: bool = False


@dataclass(frozen=True)
class Found:
    """What an attack hands in. `curve` has (questions asked so far, claims so far) where it goes person by person."""

    claims: tuple[Claim, ...] = ()
    applicable: bool = True
    reason: str = ""
    worst: tuple[str, ...] = ()
    curve: tuple[tuple[int, tuple[Claim, ...]], ...] = ()


def not_applicable(reason: str) -> Found:
    """The attack cannot be tried here."""
    return Found(applicable=False, reason=reason)


def literal(value: Any) -> str:
    """A value in SQL."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, date):
        return f"DATE {string(value.isoformat())}"
    return string(str(value))


def equals(column: str, value: Any) -> str:
    """Column = value, also for NULL."""
    name = identifier(column)
    return f"{name} IS NULL" if value is None else f"{name} = {literal(value)}"


def person(known: dict[str, Any], columns: Iterable[str]) -> Person:
    """A person by these columns."""
    return Person(known, " AND ".join(equals(column, known[column]) for column in columns))


def is_exact(endpoint: Endpoint, knowledge: Knowledge) -> bool:
    """Whether counts add up: of two sets, as of their union and what they share; and are not all on a coarse grid.

    With noise they do not add up; rounded ones may by luck.
    """
    conditions = [
        f"{identifier(column)} > {literal(value)}"
        for one in knowledge.people[1:6]
        for column, value in one.known.items()
        if value is not None and not isinstance(value, bool)
    ]
    tried, grid = 0, 0
    for one, other in zip(conditions, conditions[1:] + conditions[:1], strict=True):
        sets = (one, other, f"({one}) OR ({other})", f"({one}) AND ({other})")
        try:
            a, b, either, both = (endpoint.number(knowledge.count(where)) for where in sets)
        except BudgetError:
            return False
        if a is None or b is None or either is None or both is None:
            continue
        if a + b != either + both or any(count != int(count) for count in (a, b, either, both)):
            return False
        grid = math.gcd(grid, *(int(count) for count in (a, b, either, both)))
        tried += 1
        if tried == 8:
            break
    return tried > 2 and grid <= 1


def each(people: Sequence[Person], most: int) -> Iterator[tuple[int, Person]]:
    """The first so many people with their places."""
    yield from list(enumerate(people))[:most]
