"""A policy as a form: every key that an owner may change there, with its value, its default and what it means.

Comes in: the text of a policy. Goes out: groups of fields; and for a change of one field the new text. The text is the
policy, and the form is read from it each time: there is no second copy that could differ. Paths, ids and the engine are
not in the form: they are where the rows are, and not what is promised about them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sfumato.accounting import suspicion
from sfumato.errors import InputError, PolicyError
from sfumato.owner.form_fields import COLUMN, DATA, OF_PEOPLE, PRIVACY, SHARE, TABLE, FormField
from sfumato.policy import Policy
from sfumato.policy.editing import edited
from sfumato.policy.positions import Path, Spots, scan
from sfumato.types import Adjacency, show

_BOUNDED = ("integer", "decimal", "double", "date", "timestamp", None)
_ONLY: dict[str, tuple[str | None, ...]] = {
    "min": _BOUNDED,
    "max": _BOUNDED,
    "grid": ("decimal", "double", "timestamp"),
    "max_length": ("text", None),
    "values": ("text", "integer", "boolean", None),
}
"""Types of columns that have these keys; None where the type is not known."""


def form_of(text: str, policy: Policy | None) -> list[dict[str, Any]] | None:
    """The fields of a text, in groups, with the defaults of the policy where it is one; None where it is no TOML."""
    plain = text.replace("\r\n", "\n")
    try:
        document = tomllib.loads(plain, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError):
        return None
    return list(_Form(plain, document, scan(plain), policy).groups())


@dataclass(frozen=True)
class _Form:
    text: str
    document: Mapping[str, Any]
    spots: Spots
    policy: Policy | None

    def groups(self) -> Iterator[dict[str, Any]]:
        policy = self.policy
        yield self._group(("privacy",), PRIVACY, policy and policy.privacy)
        for name in self._names(("analysts",)):
            yield self._group(("analysts", name), SHARE, None)
        yield self._group(("data",), DATA, policy and policy.data)
        for name in self._names(("tables",)):
            table = policy.tables.get(name) if policy is not None else None
            yield self._group(("tables", name), TABLE, table)
            for column in self._names(("tables", name, "columns")):
                declared = table.columns.get(column) if table is not None else None
                yield self._group(("tables", name, "columns", column), COLUMN, declared)

    def _names(self, path: Path) -> list[str]:
        found = self._at(path)
        return [name for name in found if isinstance(found[name], Mapping)] if isinstance(found, Mapping) else []

    def _at(self, path: Path) -> Any:
        return _value(self.document, [str(part) for part in path])

    def _group(self, path: Path, fields: tuple[FormField, ...], record: Any) -> dict[str, Any]:
        shown = [self._field(path, one, record) for one in fields]
        return {"path": list(path), "fields": [one for one in shown if one is not None]}

    def _field(self, path: Path, field: FormField, record: Any) -> dict[str, Any] | None:
        place = (*path, field.key)
        value = self._at(place)
        if isinstance(value, Mapping) or (isinstance(value, list) and field.kind != "list"):
            return None  # unit = { join … }: in the text alone
        if field.key in OF_PEOPLE and value is None and self._at((*path, "public")) is True:
            return None
        if (
            value is None
            and path[0] == "tables"
            and field.key in _ONLY
            and self._type(path, record) not in _ONLY[field.key]
        ):
            return None
        return {
            "key": field.key,
            "kind": field.kind,
            "about": field.about + self._odds(place, record),
            "options": self._options(path, field),
            "value": self._written(place, value),
            "default": None if value is not None else _default(record, field.key),
        }

    def _type(self, path: Path, record: Any) -> str | None:
        """Of a column: as it is written, as its values imply, or as its source has it."""
        values = self._at((*path, "values"))
        if isinstance(values, list) and values:
            return {bool: "boolean", int: "integer"}.get(type(values[0]), "text")
        return self._at((*path, "type")) or getattr(record, "type", None)

    def _options(self, path: Path, field: FormField) -> list[str]:
        return [*self._names((*path, "columns")), "row"] if field.key == "unit" else list(field.options)

    def _odds(self, place: Path, record: Any) -> str:
        """What an epsilon of the form does to a suspicion."""
        value = self._at(place)
        if place[-1] not in ("epsilon", "query_epsilon") or self.policy is None:
            return ""
        epsilon = getattr(record, str(place[-1]), None) if record is not None else Fraction(value)
        return "" if epsilon is None else f" A{suspicion(epsilon, self.policy.privacy.adjacency)[1:]}."

    def _written(self, place: Path, value: Any) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, list):
            return [_said(one) for one in value]
        if isinstance(value, str):
            return value
        start = self.spots.values.get(place)
        return _said(value) if start is None else self.text[start : self.spots.ends[place]]


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else str(value)


def _default(record: Any, key: str) -> str | None:
    """What holds where a key is not written."""
    value = getattr(record, key, None)
    if value is None or isinstance(value, tuple | dict):
        return None
    if isinstance(value, Adjacency):
        return value.value
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else show(value)


def change(text: str, path: list[str], given: object) -> str:
    """The text after a change of one field; a new name below [analysts] is a new share.

    A column as a whole is given as its type, if it is new, or as None, to take it away.
    """
    document = _document(text)
    field = _known(path)
    if field is None and given is not None:
        return edited(text, tuple(path), _new_column(document, path, given))
    literal = None if field is None else field.literal(given, _items_of(document, path))
    if literal == "true" and path[-1] == "public":  # nobody owns a row of a public table
        for key in OF_PEOPLE:
            text = text if _value(document, [*path[:-1], key]) is None else edited(text, (*path[:-1], key), None)
    if literal is None and _value(document, path) is None:
        return text
    return edited(text, tuple(path), literal)


def _new_column(document: Any, path: list[str], given: object) -> str:
    """A column of a type, as TOML; its bounds or values are fields of their own then."""
    if path[0] != "tables":
        raise InputError("the form has no such field")
    if _value(document, path[:2]) is None:
        raise InputError(f'the policy has no table "{path[1]}"')
    if _value(document, path) is not None:
        raise InputError(f'the policy has a column "{path[3]}" already', hint="Change it where it is.")
    return f"{{ type = {COLUMN[0].literal(given)} }}"


def _known(path: list[str]) -> FormField | None:
    """The field of a path; None for a section that may be taken away."""
    fields: tuple[FormField, ...]
    match path:
        case ["privacy", key]:
            fields = PRIVACY
        case ["data", key]:
            fields = DATA
        case ["analysts", _]:
            return None
        case ["analysts", _, key]:
            fields = SHARE
        case ["tables", _, "columns", name] if name:
            return None
        case ["tables", _, key]:
            fields = TABLE
        case ["tables", _, "columns", _, key]:
            fields = COLUMN
        case _:
            raise InputError("the form has no such field")
    found = next((field for field in fields if field.key == key), None)
    if found is None:
        raise InputError("the form has no such field")
    return found


def _document(text: str) -> Any:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"), parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError):
        raise PolicyError("the text is not TOML", hint="Correct the text first.") from None


def _value(document: Any, path: list[str]) -> Any:
    for part in path:
        document = document.get(part) if isinstance(document, Mapping) else None
    return document


def _items_of(document: Any, path: list[str]) -> type:
    """What a list of values holds, by what it held, or by the type beside it."""
    held = _value(document, path)
    if isinstance(held, list) and held:
        return type(held[0])
    return {"integer": int, "boolean": bool}.get(str(_value(document, [*path[:-1], "type"])), str)
