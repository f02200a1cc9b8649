"""The scene: whom to attack, and by what they are known. The owner's side, which has the rows, sets it up.

Comes in: rows, the secret column, the columns that an attacker knows. Goes out: Knowledge for the attacker, and the
truth for the referee. Of a large table some hundred people are attacked, who can be described together: by the lowest
numbers of a key, or else by some values of a column.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from sfumato.attacks.base import Knowledge, Person, SecretFact, equals, literal, person, plain, some
from sfumato.errors import InputError
from sfumato.types import identifier

_MOST = 1000
_DESCRIBED = 400
"""People who are attacked where none has a key: questions about them are long."""
_FRIENDS = 24
"""People whose secrets the attacker knows anyway, at most: a third of all where there are few."""
_MANY = 12
"""Different values beyond which a secret number is asked about by whether it is above its middle."""
_RARE = 0.05
"""A text is asked about by whether it comes after another if no single one is as common as this."""
Row = dict[str, Any]


def set_scene(
    rows: Sequence[Row], table: str, secret: str | None, known: Sequence[str] | None, key: str | None = None
) -> tuple[Knowledge, tuple[bool, ...]]:
    """People who can be told apart by what is known of them; the secret is the fact that is nearest to one half."""
    if not rows:
        raise InputError("the table has no rows")
    hidden, seen, fact = _told_of(rows, secret, known)
    key = key or _key(rows, seen)
    if key is not None:
        knowledge, truth, values = _by_key(rows, table, fact, seen, key)
    else:
        knowledge, truth, values = _by_description(rows, table, fact, seen)
    friends = {i: truth[i] for i, _ in some(knowledge.people, min(_FRIENDS, len(truth) // 3))}
    return replace(knowledge, told=friends, hints=_hints([row[hidden] for row in rows], values)), truth


def set_release_scene(
    rows: Sequence[Row], table: str, secret: str | None, known: Sequence[str] | None
) -> tuple[Knowledge, tuple[bool, ...]]:
    """Everybody, for attacks on published tables, which ask nothing: a release may show a few people alone."""
    if not rows:
        raise InputError("the table has no rows")
    hidden, seen, fact = _told_of(rows, secret, known)
    people = tuple(person({c: plain(row[c]) for c in seen}, seen) for row in rows)
    truth = tuple(fact.holds(row[hidden]) for row in rows)
    return Knowledge(table, fact, people, _key(rows, seen), sum(truth) / len(truth)), truth


def _told_of(rows: Sequence[Row], secret: str | None, known: Sequence[str] | None) -> tuple[str, list[str], SecretFact]:
    """The secret column, the known ones, and the secret."""
    columns = list(rows[0])
    hidden, wanted = _hidden(columns, secret)
    for column in (hidden, *(known or ())):
        if column not in columns:
            raise InputError(f'the table has no column "{column}"', detail=f"It has: {', '.join(columns)}.")
    seen = [c for c in (known or columns) if c != hidden]
    if not seen:
        raise InputError("nothing is known of anybody", hint="The attacker needs a column besides the secret one.")
    return hidden, seen, _fact([row[hidden] for row in rows], hidden, wanted)


def _hints(column: Sequence[Any], values: Sequence[Any]) -> dict[int, float]:
    """How many times the average each person's number is: what is said of people."""
    numbers = [float(plain(v)) for v in column if v is not None and not isinstance(v, (bool, str, date))]
    average = sum(numbers) / len(numbers) if numbers else 0.0
    if len(numbers) < len([v for v in column if v is not None]) or not average or not math.isfinite(average):
        return {}
    return {i: float(plain(value)) / average for i, value in enumerate(values) if value is not None}


def _by_key(
    rows: Sequence[Row], table: str, fact: SecretFact, seen: Sequence[str], key: str
) -> tuple[Knowledge, tuple[bool, ...], list[Any]]:
    only = ""
    if len(rows) > _MOST:
        rows = sorted(rows, key=lambda row: row[key])[:_MOST]
        only = f"{identifier(key)} <= {literal(plain(rows[-1][key]))}"
    shown = list(dict.fromkeys([key, *seen]))
    people = []
    for row in rows:
        facts = {c: plain(row[c]) for c in shown}
        people.append(Person(facts, equals(key, facts[key])))
    truth = tuple(fact.holds(row[fact.column]) for row in rows)
    values = [row[fact.column] for row in rows]
    return Knowledge(table, fact, tuple(people), key, sum(truth) / len(truth), only), truth, values


def _by_description(
    rows: Sequence[Row], table: str, fact: SecretFact, seen: Sequence[str]
) -> tuple[Knowledge, tuple[bool, ...], list[Any]]:
    needed = _needed(rows, seen)
    apart = _apart(rows, needed)
    if not any(apart):
        raise InputError(
            "the attacker's knowledge distinguishes nobody",
            detail=f"Everybody's {', '.join(needed)} are somebody else's too.",
            hint="Name more columns with --known, or one that is unique.",
        )
    only, inside = _frame(rows, apart, needed, fact)
    people: list[Person] = []
    others: list[Row] = []
    truth: list[bool] = []
    values: list[Any] = []
    for place in inside:
        row = rows[place]
        facts = {c: plain(row[c]) for c in seen}
        if apart[place] and len(people) < min(_MOST, _DESCRIBED):
            people.append(person(facts, needed))
            truth.append(fact.holds(row[fact.column]))
            values.append(row[fact.column])
        else:
            others.append(facts)
    rate = sum(truth) / len(truth)
    return Knowledge(table, fact, tuple(people), None, rate, only, tuple(others)), tuple(truth), values


def _hidden(columns: Sequence[str], secret: str | None) -> tuple[str, str | None]:
    """The secret column, and the value that was asked for as COLUMN=VALUE."""
    if secret is None or secret in columns or "=" not in secret:
        return secret or columns[-1], None
    column = max((c for c in columns if secret.startswith(f"{c}=")), key=len, default=secret.partition("=")[0])
    return column, secret[len(column) + 1 :]


def _fact(values: Sequence[Any], column: str, wanted: str | None) -> SecretFact:
    """One value, or of numbers, dates and names that hardly come again, all above one: whichever is nearest to half."""
    counts = Counter(plain(value) for value in values if value is not None)
    if not counts:
        raise InputError(f'the column "{column}" is empty')
    if wanted is not None:
        found = next((value for value in counts if str(value).casefold() == wanted.casefold()), None)
        if found is None:
            raise InputError(f'nobody has the secret "{wanted}"', hint=f'It is no value of the column "{column}".')
        return SecretFact(column, found)
    best = min(counts, key=lambda value: (abs(counts[value] / len(values) - 0.5), str(value)))
    text = isinstance(best, str)
    if isinstance(best, bool) or len(counts) <= _MANY or (text and counts[best] > _RARE * len(values)):
        return SecretFact(column, best)
    ordered, below, away = sorted(counts), 0, {}
    for value in ordered[:-1]:
        below += counts[value]
        away[value] = abs((len(values) - below) / len(values) - 0.5)
    middle = min(away, key=lambda value: (away[value], str(value)))
    nearer = away[middle] < abs(counts[best] / len(values) - 0.5)
    return SecretFact(column, middle, above=True) if nearer else SecretFact(column, best)


def _key(rows: Sequence[Row], columns: Sequence[str]) -> str | None:
    """A known column that names each person: all different, and no measurement."""
    for column in columns:
        values = [row[column] for row in rows]
        if all(isinstance(v, (int, str)) and not isinstance(v, bool) for v in values) and len(set(values)) == len(rows):
            return column
    return None


def _needed(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    """Fewer columns that still tell nearly as many people apart: shorter questions."""
    needed = list(columns)
    least = 0.95 * sum(_apart(rows, needed))
    for column in columns:
        fewer = [c for c in needed if c != column]
        if fewer and sum(_apart(rows, fewer)) >= least:
            needed = fewer
    return needed


def _apart(rows: Sequence[Row], columns: Sequence[str]) -> list[bool]:
    """Of each row whether no other one is like it."""
    lines = list(zip(*([row[c] for row in rows] for c in columns), strict=True))
    counts = Counter(lines)
    return [counts[line] == 1 for line in lines]


def _frame(
    rows: Sequence[Row], apart: Sequence[bool], columns: Sequence[str], fact: SecretFact
) -> tuple[str, list[int]]:
    """A condition, and the places of those who fulfil it: few enough to be solved for, and many to be told apart.

    Values of one column are put together, or where each alone is too common, of one column within a value of another.
    """
    places = list(range(len(rows)))
    conditions: list[str] = []
    while len(places) > min(_MOST, _DESCRIBED):
        best = max((_slice(rows, places, apart, c, fact) for c in columns), key=lambda found: found[0])
        if best[0] > 0:
            return " AND ".join([*conditions, best[1]]), best[2]
        column, value = _most_told(rows, places, apart, columns)
        conditions.append(equals(column, plain(value)))
        places = [place for place in places if rows[place][column] == value]
        columns = [c for c in columns if c != column]
        if not columns:
            break
    return " AND ".join(conditions), places


def _slice(
    rows: Sequence[Row], places: Iterable[int], apart: Sequence[bool], column: str, fact: SecretFact
) -> tuple[float, str, list[int]]:
    """The values of a column whose people can be told apart best, up to some hundred rows; worth most if the secret is
    open among them.
    """
    by: dict[Any, list[int]] = {}
    for place in places:
        if rows[place][column] is not None:
            by.setdefault(rows[place][column], []).append(place)
    told = {value: sum(apart[place] for place in inside) for value, inside in by.items()}
    chosen: list[Any] = []
    taken = 0
    for value in sorted(by, key=lambda v: (-told[v] / len(by[v]), -len(by[v]), str(v))):
        if taken + len(by[value]) <= min(_MOST, _DESCRIBED) and told[value]:
            chosen.append(value)
            taken += len(by[value])
    inside = sorted(place for value in chosen for place in by[value])
    having = sum(apart[place] and fact.holds(rows[place][fact.column]) for place in inside)
    people = sum(apart[place] for place in inside)
    if not chosen or not people:
        return 0.0, "", []
    worth = min(having, people - having) + people / 1000
    listed = ", ".join(literal(plain(value)) for value in chosen)
    return worth, f"{identifier(column)} IN ({listed})", inside


def _most_told(
    rows: Sequence[Row], places: Sequence[int], apart: Sequence[bool], columns: Sequence[str]
) -> tuple[str, Any]:
    told = Counter((c, rows[place][c]) for place in places if apart[place] for c in columns)
    (column, value), _ = max(told.items(), key=lambda item: (item[1], str(item[0])))
    return column, value
