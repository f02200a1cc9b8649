"""Which column may identify the person, and how other tables lead to it: by names and declared keys alone.

Comes in: the schemas of the tables. Goes out: candidates, the likeliest first; and, once the owner has chosen one, a
proposal for the unit of each table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sfumato.owner.presets import words_of
from sfumato.owner.schema import Schema, kind_of

_PEOPLE = (
    *("person", "people", "patient", "customer", "client", "user", "member", "employee", "student", "subject"),
    *("participant", "citizen", "household", "account", "passenger", "donor", "applicant", "respondent", "worker"),
    *("resident", "staff", "teacher", "driver", "buyer", "guest", "voter", "taxpayer", "individual", "visitor"),
)
_OWN = ("ssn", "nin", "passport", "cpf", "msisdn", "imsi", "iban", "mrn")
"""Numbers that an office gives to one person."""
_IDS = ("id", "uid", "uuid", "guid", "pid", "key", "no", "nr", "number", "code", "pseudonym", "hash")
_CAN_NAME = {None, "integer", "text", "decimal"}


@dataclass(frozen=True, slots=True)
class UnitPath:
    """How a table leads to the person: a column of its own, or by way of another table, whose column is `key`."""

    column: str
    table: str | None = None
    key: str | None = None


def singular(name: str) -> str:
    """A table's name for one of its rows.

    >>> singular("patients"), singular("visit"), singular("companies"), singular("address")
    ('patient', 'visit', 'company', 'address')
    """
    if name.endswith("ies"):
        return name[:-3] + "y"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def candidates(tables: Mapping[str, Schema]) -> list[tuple[str, str]]:
    """Columns that look like a person's identifier, as (table, column), the likeliest first."""
    scored = []
    for table, schema in tables.items():
        for column in _can_name(schema):
            score = _score(table, column)
            if score:
                others = sum(_direct(other, table, column) is not None for other in tables.values() if other != schema)
                own = (score >= 3) + (column in schema.unique)
                scored.append((-(score + min(others, 3) + own), table, column))
    order = {table: number for number, table in enumerate(tables)}
    return [(table, column) for _, table, column in sorted(scored, key=lambda one: (one[0], order[one[1]]))]


def _can_name(schema: Schema) -> Iterator[str]:
    for column, declared in schema.columns.items():
        if not schema.typed or kind_of(declared) in _CAN_NAME - {None}:
            yield column


def _score(table: str, column: str) -> int:
    """How much a name sounds like a person's own: 3 surely, 1 perhaps, 0 not at all."""
    words = words_of(column)
    if not words:
        return 0
    about = [singular(word) for word in words]
    if words[-1] in _OWN or (words[-1] in _IDS and len(words) > 1 and any(word in _PEOPLE for word in about[:-1])):
        return 3
    whole = "".join(words)
    if any(whole == person + end for person in _PEOPLE for end in ("id", "no", "key")):
        return 3
    if words[-1] in _IDS and len(words) == 1 and any(singular(word) in _PEOPLE for word in words_of(table)):
        return 3
    if words[-1] in ("email", "mail") or about[-1] in _PEOPLE:
        return 2
    return 1 if words[-1] in _IDS[:6] else 0


def ways(tables: Mapping[str, Schema], person: tuple[str, str]) -> dict[str, UnitPath]:
    """A way to the person for each table that seems to have one; the tables that are left have none."""
    known = {person[0]: UnitPath(person[1])}
    for name, schema in tables.items():
        column = _direct(schema, *person)
        if name not in known and column is not None:
            known[name] = UnitPath(column)
    while True:
        more = {name: way for name in tables if name not in known and (way := _through(name, tables, known))}
        if not more:
            return known
        known |= more


def _direct(schema: Schema, table: str, column: str) -> str | None:
    """The column of another table that holds the same identifier: a declared key, the same name, or table_column."""
    declared = [link.column for link in schema.links if (link.table, link.key) == (table, column)]
    if declared:
        return declared[0]
    names = {name.casefold(): name for name in _can_name(schema)}
    if column.casefold() in names and not _is_bare(column):
        return names[column.casefold()]
    about, words = singular(table.casefold()), words_of(column)
    joined = {f"{about}_{'_'.join(words)}", f"{about}{''.join(words)}", f"{table.casefold()}_{'_'.join(words)}"}
    for folded, name in names.items():
        if "_".join(words_of(name)) in joined or folded in joined:
            return name
    return None


def _is_bare(column: str) -> bool:
    """A name such as id, which is another thing in every table."""
    return len(words_of(column)) == 1 and words_of(column)[0] in _IDS


def _through(name: str, tables: Mapping[str, Schema], known: Mapping[str, UnitPath]) -> UnitPath | None:
    """By way of a table that leads to the person already."""
    schema = tables[name]
    for link in schema.links:
        if link.table in known and link.table != name:
            return UnitPath(link.column, link.table, link.key)
    for other in known:
        for key in _can_name(tables[other]):
            if key != known[other].column and words_of(key)[-1:] and words_of(key)[-1] in _IDS:
                column = _direct(schema, other, key)
                if column is not None:
                    return UnitPath(column, other, key)
    return None
