"""Sparse records: whose record is it, from a few items that somebody is known to have (Narayanan, Shmatikov, S&P 2008).

Comes in: a table of records, one row for each item of a person (person, item, value), or one row for each person with a
column for each item; and what is known of some people. Goes out: a Report. The referee knows whose a record is by its
first column, which the attacker does not see. What is known may be partly wrong: a match is claimed if it stands out.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Endpoint, Knowledge, Person, SecretFact
from sfumato.attacks.linking import Sparse
from sfumato.attacks.promise import SURE
from sfumato.attacks.report import AttackReport
from sfumato.attacks.sheet import TABLE
from sfumato.audit import bound_above, bound_below
from sfumato.errors import InputError, SfumatoError
from sfumato.types import identifier

KNOWN = 6
"""Items that are known of a person, where no list says which."""
_MOST = 200
Records = dict[str, dict[str, Any]]


def records_of(rows: Sequence[dict[str, Any]]) -> Records:
    """By person: long tables have three columns and persons who come again, wide ones a column for each item."""
    columns = list(rows[0]) if rows else []
    if len(columns) < 2:
        raise InputError(
            "sparse records need a person and items",
            hint="Give three columns (person, item, value), or one row for each person with a column for each item.",
        )
    found: Records = {}
    names = [str(row[columns[0]]) for row in rows]
    if len(columns) == 3 and len(set(names)) < len(names):
        for name, row in zip(names, rows, strict=True):
            found.setdefault(name, {})[str(row[columns[1]])] = row[columns[2]]
        return found
    for name, row in zip(names, rows, strict=True):
        if name in found:
            raise InputError("a person has two rows", hint=f'The first column, "{columns[0]}", must name the person.')
        found[name] = {item: row[item] for item in columns[1:] if row[item] is not None}
    return found


def known_of(records: Records, given: Records | None) -> Records:
    """What the attacker has: a list of her own, or some items of each of the first people who have more than that."""
    if given is not None:
        met = {name: items for name, items in given.items() if name in records}
        if not met:
            raise InputError("nobody on the list is in the table", hint="Both name people in their first column.")
        return dict(list(met.items())[:_MOST])
    enough = [(name, items) for name, items in records.items() if len(items) > KNOWN][:_MOST]
    if not enough:
        raise InputError(f"nobody has more than {KNOWN} items", hint="Say what is known with --with FILE.")
    return {name: {item: items[item] for item in _some(name, list(items))} for name, items in enough}


def _some(name: str, items: list[str]) -> list[str]:
    """Items that look drawn at random and are the same each time."""
    return sorted(items, key=lambda item: hashlib.sha256(f"{name} {item}".encode()).digest())[:KNOWN]


def attack_sparse(endpoint: Endpoint, columns: Sequence[str], records: Records, known: Records) -> AttackReport:
    """Ask for the rows with a number in the place of the person, and link."""
    number = f"DENSE_RANK() OVER (ORDER BY {identifier(columns[0])})"
    sql = f"SELECT {', '.join([number, *map(identifier, columns[1:])])} FROM {identifier(TABLE)}"
    start = time.process_time()
    try:
        endpoint.ask(sql)
        refused = False
    except SfumatoError:
        refused = True
    asking = time.process_time() - start
    names = list(records)
    claims = right = 0
    if not refused:
        linker = Sparse(list(records.values()))
        for name, items in known.items():
            place, _ = linker.find(items)
            claims += place is not None
            right += place is not None and names[place] == name
    rate = 1 / len(records)
    interval = (bound_below(right, claims, 0.025), bound_above(right, claims, 0.025)) if claims else (0.0, 1.0)
    return AttackReport(
        "linking",
        endpoint.name,
        applicable=True,
        reason="rows are refused, and none are published" if refused else "rare items name a record",
        queries=1,
        refused=int(refused),
        spent=None,
        total=None,
        asking=asking,
        thinking=time.process_time() - start - asking,
        people=len(known),
        claims=claims,
        right=right,
        base_rate=rate,
        interval=interval,
        certain=0,
        certain_right=0,
        bound=None,
        succeeded=bool(claims) and bound_below(right, claims, SURE) > rate,
        worst=() if refused else (sql,),
        advice=ATTACKS["linking"].advice,
        curve=(),
        transcript=((sql, "rows are refused" if refused else None),),
    )


def knowledge_of(known: Records, records: Records) -> Knowledge:
    """For the page: what was attacked is whose a record is."""
    people = tuple(Person({f"{len(items)} items": None}, "") for items in known.values())
    return Knowledge(TABLE, SecretFact("the owner of a record", "she"), people, None, 1 / len(records))
