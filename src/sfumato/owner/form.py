"""A policy as a form: every key that an owner may change there, with its value, its default and what it means.

Comes in: the text of a policy. Goes out: groups of fields; and for a change of one field the new text. The text is the
policy, and the form is read from it each time: there is no second copy that could differ. Paths, ids and the engine are
not in the form: they are where the rows are, and not what is promised about them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sfumato.accounting import COMPOSITIONS
from sfumato.errors import InputError, PolicyError
from sfumato.owner.weakening import odds
from sfumato.policy import AUTO, TYPES, Policy
from sfumato.policy.editing import as_text, edited
from sfumato.policy.positions import Path, Spots, scan
from sfumato.words import Adjacency, show

_NUMBER = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]+)?([eE][-+]?[0-9]+)?")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z?)?")
_LONGEST = 100_000


@dataclass(frozen=True, slots=True)
class FormField:
    """A key: how it is written (`number`, `bound`, `text`, `choice`, `flag`, `list`), and what it means.

    `options` are the words of a choice, words that a number may be instead, or what holds for a flag that is not there.
    """

    key: str
    kind: str
    about: str
    options: tuple[str, ...] = ()

    def literal(self, given: object, like: type = str) -> str | None:
        """What an owner typed, as TOML, with items of lists `like` this; None where nothing is left: the default."""
        if given is None or given in ("", []):
            return None
        if self.kind == "flag" and isinstance(given, bool):
            return "true" if given else "false"
        if self.kind == "list" and isinstance(given, list) and all(isinstance(one, str) for one in given):
            return f"[{', '.join(_item(one, like) for one in given)}]"
        if not isinstance(given, str) or len(given) > _LONGEST or self.kind in ("flag", "list"):
            raise InputError(f"{self.key} cannot have this value")
        text = given.strip()
        if self.kind in ("number", "bound"):
            if AUTO in self.options and text == AUTO:
                return as_text(AUTO)
            form = _NUMBER if self.kind == "number" else re.compile(f"{_NUMBER.pattern}|{_MOMENT.pattern}")
            if not form.fullmatch(text):
                example = "0.5 or 1e-6" if self.kind == "number" else "120, 0.5 or 2024-12-31"
                raise InputError(f"{self.key} must be a number, like {example}")
            return text
        if self.kind == "choice" and text not in self.options:
            raise InputError(f"{self.key} must be one of {', '.join(self.options)}")
        return as_text(text)


def _item(text: str, like: type) -> str:
    if (like is int and re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", text)) or (like is bool and text in ("true", "false")):
        return text
    return as_text(text)


_AUTO = (AUTO,)
_OF_PEOPLE = ("unit", "rows_per_unit", "groups_per_unit", "l2_per_unit", "sum_per_unit")
PRIVACY = (
    FormField("epsilon", "number", "How much all analysts together may ever learn."),
    FormField("delta", "number", "With this probability the bound may fail. Needed for groups that are not declared."),
    FormField("query_epsilon", "number", "What a query costs if the analyst does not say."),
    FormField("adjacency", "choice", "Neighbours: one person more or less, or other rows of one person.",
              tuple(word.value for word in Adjacency)),
    FormField("composition", "choice", "How charges add up.", COMPOSITIONS),
    FormField("timing", "choice", "padded: answers come at fixed times.", ("plain", "padded")),
    FormField("partition", "text", "table.column that divides people; each cell has the whole budget."),
    FormField("delta_selection", "number", "The part of delta for groups that are not declared."),
    FormField("query_delta", "number", "What one query spends of it."),
    FormField("min_epsilon", "number", "The least that a query may spend."),
    FormField("failures", "number", "After so many failures of the engine no more answers, until you look."),
)  # fmt: skip
SHARE = (FormField("epsilon", "number", "What this analyst may spend of the total."),)
DATA = (FormField("version", "text", "Name of the rows; a new one when they change. Or daily, monthly."),)
TABLE = (
    FormField("public", "flag", "No row is about a person: rows are answered exactly.", ("false",)),
    FormField("unit", "text", "The column that identifies a person, or row: each row is one person."),
    FormField("rows_per_unit", "number", "The most rows of one person that count, or auto.", _AUTO),
    FormField("groups_per_unit", "number", "The most groups that one person counts in.", _AUTO),
    FormField("l2_per_unit", "number", "The same bound in the Euclidean norm, for Gaussian noise.", _AUTO),
)
COLUMN = (
    FormField("type", "choice", "", TYPES),
    FormField("min", "bound", "Lower values count as this one."),
    FormField("max", "bound", "Higher values count as this one."),
    FormField("grid", "number", "Values are rounded to multiples of it."),
    FormField("max_length", "number", "Longer texts are truncated."),
    FormField("values", "list", "One to a line; any other value becomes NULL."),
    FormField("nulls", "flag", "NULL may occur. If not, rows with NULL are left out.", ("true",)),
)


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
        if field.key in _OF_PEOPLE and value is None and self._at((*path, "public")) is True:
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
        return "" if epsilon is None else f" A suspicion of 50 % becomes at most {odds(epsilon)} %."

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
    """The text after a change of one field; a new name below [analysts] is a new share."""
    document = _document(text)
    field = _known(path)
    if field is None and given is not None:
        raise InputError("the form has no such field")
    literal = None if field is None else field.literal(given, _items_of(document, path))
    if literal == "true" and path[-1] == "public":  # nobody owns a row of a public table
        for key in _OF_PEOPLE:
            text = text if _value(document, [*path[:-1], key]) is None else edited(text, (*path[:-1], key), None)
    if literal is None and _value(document, path) is None:
        return text
    return edited(text, tuple(path), literal)


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
        raise PolicyError("the text is not TOML", hint="Mend the text first.") from None


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
