"""The scene: whom to attack, and by what they are known. The owner's side, which has the rows, sets it up.

Comes in: rows, the secret column, the columns that an attacker knows. Goes out: Knowledge for the attacker, and the
truth for the referee.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any

from sfumato.attacks.base import Knowledge, Person, equals, person
from sfumato.errors import InputError

_MOST = 1000
Row = dict[str, Any]


def set_scene(
    rows: Sequence[Row], table: str, secret: str | None, known: Sequence[str] | None, key: str | None = None
) -> tuple[Knowledge, tuple[bool, ...]]:
    """People who can be told apart by what is known of them; the secret is the value that is nearest to one half."""
    if not rows:
        raise InputError("the table has no rows")
    columns = list(rows[0])
    hidden = secret or columns[-1]
    for column in (hidden, *(known or ())):
        if column not in columns:
            raise InputError(f'the table has no column "{column}"', detail=f"It has: {', '.join(columns)}.")
    seen = [c for c in (known or columns) if c != hidden]
    value = _value(rows, hidden)
    key = key or _key(rows, seen)
    people, truth = [], []
    needed = seen if key else _needed(rows, seen)
    for row in _told_apart(rows, needed, key)[:_MOST]:
        facts = {c: _plain(row[c]) for c in ([key] if key and key not in seen else []) + seen}
        people.append(Person(facts, equals(key, facts[key])) if key else person(facts, needed))
        truth.append(row[hidden] == value)
    if not people:
        raise InputError(
            "nobody can be told apart by what is known", hint="Name more columns with --known, or one that is unique."
        )
    rate = sum(truth) / len(truth)
    return Knowledge(table, equals(hidden, _plain(value)), hidden, value, tuple(people), key, rate), tuple(truth)


def _value(rows: Sequence[Row], column: str) -> Any:
    counts = Counter(row[column] for row in rows if row[column] is not None)
    if not counts:
        raise InputError(f'the column "{column}" is empty')
    return min(counts, key=lambda value: (abs(counts[value] / len(rows) - 0.5), str(value)))


def _key(rows: Sequence[Row], columns: Sequence[str]) -> str | None:
    """A known column that names each person: all different, and no measurement."""
    for column in columns:
        values = [row[column] for row in rows]
        if len(set(values)) == len(values) and all(isinstance(v, (int, str)) for v in values):
            return column
    return None


def _needed(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    """Fewer columns that still tell nearly as many people apart: shorter questions."""
    needed = list(columns)
    least = 0.95 * len(_told_apart(rows, needed, None))
    for column in columns:
        fewer = [c for c in needed if c != column]
        if fewer and len(_told_apart(rows, fewer, None)) >= least:
            needed = fewer
    return needed


def _told_apart(rows: Sequence[Row], columns: Sequence[str], key: str | None) -> list[Row]:
    if key:
        return list(rows)
    counts = Counter(tuple(row[c] for c in columns) for row in rows)
    return [row for row in rows if counts[tuple(row[c] for c in columns)] == 1]


def _plain(value: Any) -> Any:
    """As an attacker would write it in SQL."""
    return value if value is None or isinstance(value, (bool, int, float, str, date)) else float(value)
