"""What an attack works with and what it hands in: an endpoint to ask, what the attacker knows, claims about people.

Comes in: SQL through `Endpoint.ask`, which is all that an analyst sees. Goes out: `Found`, claims with the number of
questions that they took. The truth is not here: only the referee in `report` has it.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sfumato.errors import BudgetError, SfumatoError
from sfumato.types import identifier, string

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class TranscriptEntry:
    """One question of the transcript; `rows` is None where it was refused."""

    sql: str
    rows: Rows | None
    refusal: str | None
    seconds: float


@dataclass
class Endpoint:
    """Something that answers questions. `epsilon` is what it promises never to exceed, None if it promises nothing.

    `share` is told how many questions are coming, so that an attacker who may set prices can make a budget last.
    `release` is a table that is published instead of answers. `leave` removes a person's row, as time does, so that the
    next answers are about another version of the table; None where there is one version only. `fresh` begins again on
    another copy of the ledger, so that an attack on few people can be measured on many; None where that is not to be
    had. `between` is how many steps of the promise lie between
    two values of one person's secret: one under replace, two under add-remove. `clock` tells how long an answer took:
    the processor's time of this process, where the engine is in it.
    """

    name: str
    run: Callable[[str], Rows]
    epsilon: Fraction | None = None
    spent: Callable[[], Fraction] | None = None
    share: Callable[[int], None] = lambda _: None
    release: list[dict[str, Any]] | None = None
    leave: Callable[[str], None] | None = None
    fresh: Callable[[], None] | None = None
    between: int = 2
    clock: Callable[[], float] = time.process_time
    log: list[TranscriptEntry] = field(default_factory=list)
    noted: dict[str, float | None] = field(default_factory=dict)

    def ask(self, sql: str) -> Rows:
        """The answer, or the endpoint's refusal as an exception; both are written down."""
        start = self.clock()
        try:
            rows = self.run(sql)
        except SfumatoError as error:
            self.log.append(TranscriptEntry(sql, None, error.message, self.clock() - start))
            raise
        self.log.append(TranscriptEntry(sql, rows, None, self.clock() - start))
        return rows

    def number(self, sql: str) -> float | None:
        """The one number of an answer; None where it is refused or empty."""
        try:
            rows = self.ask(sql)
        except SfumatoError as error:
            if is_over(error):
                raise
            return None
        return None if not rows or rows[0][0] is None else float(rows[0][0])

    def once(self, sql: str) -> float | None:
        """A number that is needed again and again, asked for once."""
        if sql not in self.noted:
            self.noted[sql] = self.number(sql)
        return self.noted[sql]


@dataclass(frozen=True)
class SecretFact:
    """What is secret about a person: that a column has this value; or, of numbers and the like, one above it."""

    column: str
    value: Any
    above: bool = False

    @property
    def sql(self) -> str:
        """The condition; whoever has no value has not the secret."""
        return f"{identifier(self.column)} > {literal(self.value)}" if self.above else equals(self.column, self.value)

    @property
    def words(self) -> str:
        """The value, for people."""
        return f"more than {self.value}" if self.above else str(self.value)

    def holds(self, value: Any) -> bool:
        """Whether somebody with this value has the secret, as SQL would say; a door may have made text of a value."""
        if value is None:
            return False
        if isinstance(value, Decimal):
            value = float(value)
        if isinstance(value, str) and not isinstance(self.value, str):
            try:
                value = _like(self.value, value)
            except ValueError:
                return False  # a text that is no value of this kind
        if isinstance(self.value, str) and not isinstance(value, str):
            value = str(value)
        return bool(value > self.value if self.above else value == self.value)


def _like(model: Any, text: str) -> Any:
    """Text as a value of the model's kind."""
    if isinstance(model, bool):
        return text.casefold() in ("true", "t", "1")
    if isinstance(model, datetime):
        return datetime.fromisoformat(text)
    if isinstance(model, date):
        return date.fromisoformat(text[:10])
    return type(model)(text)


@dataclass(frozen=True)
class Person:
    """Somebody in the data, as far as the attacker knows her."""

    known: dict[str, Any]
    where: str


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What the attacker has before asking: whom to attack, which fact is secret, how common it is among people.

    `only` is a condition that holds for `people` and `others` and for nobody else in the table (empty: they are the
    whole table); None where she cannot tell who else is there. `others` cannot be told apart by what is known. `told`
    are people whose secrets she knows anyway: friends, by whom she may tune an attack, and about whom nothing is
    claimed. `hints` are what she has heard of people's numbers: how many times the average each has.
    """

    table: str
    fact: SecretFact
    people: tuple[Person, ...]
    key: str | None
    base_rate: float
    only: str | None = ""
    others: tuple[dict[str, Any], ...] = ()
    told: dict[int, bool] = field(default_factory=dict)
    hints: dict[int, float] = field(default_factory=dict)

    @property
    def guess(self) -> float:
        """How often a guess is right that asks nothing."""
        return max(self.base_rate, 1 - self.base_rate)

    @property
    def secret(self) -> str:
        """The secret as a condition."""
        return self.fact.sql

    @property
    def everybody(self) -> list[dict[str, Any]]:
        """What is known of everybody for whom `only` holds: the people first."""
        return [*(one.known for one in self.people), *self.others]

    def count(self, where: str) -> str:
        """The question how many rows fulfil a condition."""
        return f"SELECT COUNT(*) FROM {identifier(self.table)} WHERE {where}"

    def among(self, where: str) -> str:
        """The condition, of these people alone."""
        return f"{self.only} AND {where}" if self.only else where


@dataclass(frozen=True)
class Claim:
    """One person, by her place in `people`; whether she has the secret; whether this follows with certainty."""

    person: int
    has: bool
    certain: bool = False


@dataclass(frozen=True)
class Bet:
    """That exactly one row fulfils a condition, which a row drawn at random does with probability `weight`."""

    where: str
    weight: float


@dataclass(frozen=True)
class AttackResult:
    """What an attack hands in. `curve` has (questions asked so far, claims so far) where it goes person by person.

    `without` are the claims that it makes of the same people from answers about everybody else: what it would have
    learnt if they had stayed away. `bets` single rows out, in the place of claims about people.
    """

    claims: tuple[Claim, ...] = ()
    applicable: bool = True
    reason: str = ""
    worst: tuple[str, ...] = ()
    curve: tuple[tuple[int, tuple[Claim, ...]], ...] = ()
    without: tuple[Claim, ...] = ()
    bets: tuple[Bet, ...] = ()


def is_over(error: SfumatoError) -> bool:
    """Whether no further question makes sense: the budget is spent, or the server is gone (class 08) or shut (28)."""
    return isinstance(error, BudgetError) or error.sqlstate[:2] in ("08", "28")


def not_applicable(reason: str) -> AttackResult:
    """The attack cannot be tried here."""
    return AttackResult(applicable=False, reason=reason)


def literal(value: Any) -> str:
    """A value in SQL."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, datetime):
        return f"TIMESTAMP {string(value.isoformat(sep=' '))}"
    if isinstance(value, date):
        return f"DATE {string(value.isoformat())}"
    return string(str(value))


def plain(value: Any) -> Any:
    """A value of an engine as an attacker would write it in SQL."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value if value is None or isinstance(value, (bool, int, float, str, date)) else str(value)


def equals(column: str, value: Any) -> str:
    """Column = value, also for NULL."""
    name = identifier(column)
    return f"{name} IS NULL" if value is None else f"{name} = {literal(value)}"


def person(known: dict[str, Any], columns: Iterable[str]) -> Person:
    """A person by these columns."""
    return Person(known, " AND ".join(equals(column, known[column]) for column in columns))


def is_exact(endpoint: Endpoint, knowledge: Knowledge) -> bool:
    """Whether counts add up: of two sets, as of their union and what they share; and are not all on a coarse grid.

    With noise they do not add up; rounded ones may by luck, and so do those to which one number is always added: but
    then nobody would be somebody.
    """
    conditions = [
        f"{identifier(column)} > {literal(value)}"
        for one in _spread(knowledge.people)
        for column, value in one.known.items()
        if value is not None and not isinstance(value, bool)
    ]
    tried, grid = 0, 0
    try:
        if endpoint.number(knowledge.count("1 = 0")) not in (0.0, None):
            return False
        for one, other in zip(conditions, conditions[1:] + conditions[:1], strict=True):
            sets = (one, other, f"({one}) OR ({other})", f"({one}) AND ({other})")
            a, b, either, both = (endpoint.number(knowledge.count(where)) for where in sets)
            if a is None or b is None or either is None or both is None:
                continue
            if a + b != either + both or any(count != int(count) for count in (a, b, either, both)):
                return False
            grid = math.gcd(grid, *(int(count) for count in (a, b, either, both)))
            tried += 1
            if tried == 8:
                break
    except BudgetError:
        return False
    return tried > 2 and grid == 1


def _spread(people: Sequence[Person]) -> list[Person]:
    """Some people from all over the list: what is above their values is neither nobody nor everybody."""
    return [people[len(people) * part // 7] for part in (3, 2, 4, 1, 5, 6)]


def each(people: Sequence[Person], most: int) -> Iterator[tuple[int, Person]]:
    """The first so many people with their places."""
    yield from list(enumerate(people))[:most]


def some(people: Sequence[Person], most: int) -> list[tuple[int, Person]]:
    """So many people with their places, who look drawn at random and are the same each time: tables may be sorted."""
    order = sorted(range(len(people)), key=lambda i: hashlib.sha256(f"person {i}".encode()).digest())
    return [(i, people[i]) for i in order[:most]]
