"""Names, types and constants as PostgreSQL reads them, and a value that is used several times but computed once.

Comes in: names and values of our tree. Goes out: text. Every constant has a type, so that nothing is left to the
server's guess; text has the collation "C", so that it is ordered by its bytes.
"""

from __future__ import annotations

import hashlib
import re
from datetime import date, datetime
from fractions import Fraction

from sfumato.algebra.interval_values import Span
from sfumato.algebra.tree import BOOLEAN, DATE, DOUBLE, INTERVAL, NULL, TEXT, TIMESTAMP, Facts, Node
from sfumato.engines.base import too_deep
from sfumato.errors import QueryError
from sfumato.types import identifier as quoted
from sfumato.types import string

SMALL = 1 << 62
"""Exact numbers of fewer steps are bigint: no sum of two of them leaves 64 bits. All others are numeric."""
LARGEST = 1 << 127
"""A number without bounds is NULL beyond it, as in an engine of 128 bits; numeric would fail, but far beyond."""
_FENCE = "OFFSET 0"
_BARE = re.compile(r'\(?(?:\w+\.)?(?:"[^"]+"|[a-z])(?:::\w+)?(?: COLLATE "C")?\)?(?:::\w+)?')
"""A column, perhaps in another type."""
_LONGEST_NAME = 60
_LONGEST_TEXT = 200_000
"""Characters of one expression: it may be written several times into a larger one."""


def identifier(name: str) -> str:
    """A quoted name. The server cuts names to 63 bytes, and two long ones could become one: those are hashed."""
    if len(name.encode()) > _LONGEST_NAME:
        name = "#" + hashlib.sha256(name.encode()).hexdigest()[:40]
    return quoted(name)


def is_small(facts: Facts) -> bool:
    """Whether an exact number, in steps, surely fits into 62 bits."""
    return facts.bounded and facts.grid is not None and facts.largest / facts.grid < SMALL


def type_of(facts: Facts) -> str:
    """The type in which a value is held; an exact number as whole steps of its grid."""
    if facts.exact:
        return "bigint" if is_small(facts) else "numeric"
    kinds = {
        INTERVAL: "bigint",
        DOUBLE: "float8",
        DATE: "date",
        TIMESTAMP: "timestamp",
        BOOLEAN: "boolean",
        TEXT: "text",
        NULL: "text",
    }
    return kinds.get(facts.kind, "float8")


def null(facts: Facts) -> str:
    """A missing value of a type."""
    return f"NULL::{type_of(facts)}"


def whole(number: int, wide: bool = False) -> str:
    """A whole number: bigint, or numeric where it is `wide` or large."""
    return f"({number})::{'numeric' if wide or abs(number) >= SMALL else 'bigint'}"


def text(value: str) -> str:
    """A constant text. No row can hold a NUL or half a character, and the server takes neither."""
    if "\0" in value or any(0xD800 <= ord(c) <= 0xDFFF for c in value):
        raise QueryError("this text holds a character that PostgreSQL cannot store", sqlstate="22021")
    return f'({string(value)}::text COLLATE "C")'


def literal(value: object, facts: Facts) -> str:  # noqa: PLR0911  one answer for each kind of value
    """A constant, an exact number in steps of its grid."""
    if value is None:
        return null(facts)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | Fraction):
        return whole(int(Fraction(value) / (facts.grid or 1)), wide=facts.exact and not is_small(facts))
    if isinstance(value, Span):
        return f"({value.compared})::bigint"
    if isinstance(value, datetime):
        return f"'{value:%m-%d %H:%M:%S.%f}'::timestamp".replace("'", f"'{value.year:04}-", 1)
    if isinstance(value, date):
        return f"'{value.isoformat()}'::date"
    return text(str(value))


def number(value: float) -> str:
    """A double, exactly."""
    return f"'{value!r}'::float8"


def once(values: dict[str, str], result: str) -> str:
    """A result that names each of some values several times: they are computed once, and not written again.

    OFFSET 0 keeps the planner from putting them back. Names of inner ones may be the same: each sees its own. A bare
    column is read in no time, and stands where it is named.
    """
    if _FENCE not in result and all(_BARE.fullmatch(value) for value in values.values()):
        return short(f"({_put(result, values)})")
    named = ", ".join(f"{value} AS {name}" for name, value in values.items())
    return short(f"(SELECT {result} FROM (SELECT {named} {_FENCE}) AS o)")


def _put(result: str, values: dict[str, str]) -> str:
    """The text with values for their names, outside of quotes."""
    pieces = re.split(r"('(?:[^']|'')*')", result)
    names = re.compile(r"(?<![\w.\"])(" + "|".join(values) + r")(?![\w\"(])")
    return "".join(p if i % 2 else names.sub(lambda found: values[found[1]], p) for i, p in enumerate(pieces))


def short(sql: str, node: Node | None = None) -> str:
    """Text that is not too long to go on with."""
    if len(sql) > _LONGEST_TEXT:
        raise too_deep(0 if node is None else node.position)
    return sql
