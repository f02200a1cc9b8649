"""The policy: what the owner decided, read from sfumato.toml and checked before anybody may ask.

Comes in: a file, its text, or the same document as Python dicts. Goes out: a frozen `Policy`, or one PolicyError that
names the line and the column of the first mistake. Numbers are the decimals that are written. No data is touched here,
and no file but the policy.

    positions   where each key stands in the text          sections   one section: kinds, limits, refusals
    columns     one column's declared domain               tables     tables, units, contributions
    reading     the other sections, defaults, the whole    records    what goes out, and its digest
    unknown     bounds that are to be found, and the policy with what was found
    earlier_policies   one that is no longer in force, read back from what its digest is the hash of
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from sfumato.errors import PolicyError
from sfumato.policy import tables as _tables
from sfumato.policy.columns import LONGEST_PUBLIC, TYPES
from sfumato.policy.earlier_policies import read_earlier
from sfumato.policy.positions import Marks
from sfumato.policy.reading import ENGINES, read
from sfumato.policy.records import (
    AUTO,
    FEW_GROUPS,
    LIVE,
    ROW,
    Bound,
    Data,
    DataSource,
    DeclaredPoint,
    Policy,
    PolicyColumn,
    Privacy,
    Share,
    Table,
    UnitJoin,
    digest_of,
    document_of,
    units_of,
)
from sfumato.policy.sections import quote
from sfumato.policy.unknown import Unknown, unknown, with_bounds

__all__ = [
    "AUTO",
    "ENGINES",
    "FEW_GROUPS",
    "LIVE",
    "ROW",
    "TYPES",
    "Bound",
    "Data",
    "DataSource",
    "DeclaredPoint",
    "Policy",
    "PolicyColumn",
    "Privacy",
    "PublicNumbers",
    "Share",
    "Table",
    "UnitJoin",
    "Unknown",
    "document_of",
    "from_dict",
    "load",
    "parse",
    "read_earlier",
    "units_of",
    "unknown",
    "with_bounds",
    "with_public_numbers",
    "with_schema",
    "with_types",
]

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_HINTS = {
    "Cannot": "Write each key and each [section] once.",
    "Invalid value": "Put text in quotes, lists in [ ], tables in { }.",
    "Found invalid character": "Put a name with other characters than letters, digits, _ and - in quotes.",
}


def load(path: str | PathLike[str]) -> Policy:
    """The policy in a file."""
    place = Path(path).absolute()
    try:
        content = place.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        hint = "Name a policy file, usually sfumato.toml; `sfumato init` drafts one from your data."
        raise PolicyError(f"cannot read the policy {quote(path, 200)}", detail=f"{reason}.", hint=hint) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8-sig")
        hint = "Is this the policy, and not a data file? If it is, save it as UTF-8."
        raise Marks(place.name, before).at(len(before), "the policy is not UTF-8", hint) from None
    return parse(text, place)


def parse(text: str, path: str | PathLike[str] | None = None) -> Policy:
    """The policy in a text. `path` is where the text stands: errors name the file, and paths are relative to it."""
    place = None if path is None else Path(path).absolute()
    text = text.replace("\r\n", "\n")  # as the reader of TOML does, so that places agree
    marks = Marks(place.name if place else None, text)
    return read(_toml(text, marks), place, marks)


def from_dict(document: Mapping[str, Any], path: str | PathLike[str] | None = None) -> Policy:
    """The policy in a document made in Python, with the keys and the rules of the file.

    Numbers may be int, Decimal, Fraction or float (by its repr). A frame's table has the file ":memory:".

    >>> people = {"unit": "id", "rows_per_unit": 1, "columns": {"id": {"type": "integer"}}}
    >>> policy = from_dict({
    ...     "source": {"engine": "duckdb", "files": {"people": ":memory:"}},
    ...     "data": {"id": "demo"},
    ...     "privacy": {"epsilon": 4},
    ...     "tables": {"people": people},
    ... })
    >>> policy.privacy.query_epsilon, policy.tables["people"].columns["id"].type
    (Fraction(1, 10), 'integer')
    """
    if not isinstance(document, Mapping):
        raise PolicyError(f"a policy must be a dict, but is {type(document).__name__}")
    return read(document, None if path is None else Path(path).absolute(), Marks())


def with_types(policy: Policy, types: Mapping[str, Mapping[str, str]]) -> Policy:
    """The policy with the types of an engine's schema, by table and column, where the owner left them out.

    What the owner wrote stays. Rules that depend on a type are checked now; the digest is that of the whole.
    """
    tables = _tables.with_types(policy.tables, types)
    return replace(policy, tables=tables, digest=digest_of(policy.data, policy.privacy, tables))


def with_schema(policy: Policy, types: Mapping[str, Mapping[str, str]]) -> Policy:
    """The policy with an engine's types, and with those columns of public tables that the owner did not list."""
    typed = with_types(policy, types)
    tables = dict(typed.tables)
    for name, table in typed.tables.items():
        if table.public:
            there = {key: kind for key, kind in types.get(name, {}).items() if not _tables.is_reserved(key)}
            columns = {key: PolicyColumn(key, kind, max_length=LONGEST_PUBLIC) for key, kind in there.items()}
            tables[name] = replace(table, columns={**columns, **table.columns})
    return replace(typed, tables=tables)


def with_public_numbers(policy: Policy, numbers: Mapping[str, Mapping[str, PublicNumbers]]) -> Policy:
    """The policy with bounds and grids of public numbers, read from rows that are nobody's; what is written stays."""
    tables = dict(policy.tables)
    for name, columns in numbers.items():
        kept = dict(tables[name].columns)
        for key, (low, high, grid) in columns.items():
            column = kept.get(key)
            if column is None or column.low is not None or column.high is not None or column.values is not None:
                continue
            if grid is None and column.type in ("decimal", "double"):
                kept[key] = replace(column, low=low, high=high)
            elif column.type == "decimal" or (column.type == "integer" and grid == 1):
                kept[key] = replace(column, low=low, high=high, grid=grid)
        tables[name] = replace(tables[name], columns=kept)
    return replace(policy, tables=tables)


PublicNumbers = tuple[Fraction, Fraction, Fraction | None]
"""The lowest and the highest number of a column, and its grid; None where numbers are binary fractions."""


def _toml(text: str, marks: Marks) -> dict[str, Any]:
    """The document, or one error at the place where it stops to be TOML."""
    try:
        return tomllib.loads(text, parse_float=_decimal)
    except tomllib.TOMLDecodeError as error:
        words = str(error)
    except RecursionError:
        found = re.search(r"(?:[\[{]\s*){50}", text)
        raise marks.at(found.start() if found else 0, "lists or tables are nested too deeply") from None
    except ValueError as error:  # Python refuses to read whole numbers of more than 4300 digits
        found = re.search(r"[0-9_]{1000,}", text)
        raise marks.at(found.start() if found else 0, "a number has too many digits") from error
    found = _PLACE.search(words)
    words = words[: found.start()] if found else words
    hints = (hint for start, hint in _HINTS.items() if words.startswith(start))
    # Python writes a section's name as a tuple; people write it in brackets.
    words = re.sub(r"\('(.*)',?\)", lambda found: "[" + found[1].replace("', '", ".") + "]", words)
    message = f"the policy is not TOML: {words[:1].lower()}{words[1:]}"
    raise marks.at(_offset(text, found), message, next(hints, "Write key = value, one to a line."))


def _decimal(written: str) -> Decimal:
    """The decimal that is written. An exponent beyond all decimals is not a number, and refused as one."""
    try:
        return Decimal(written)
    except InvalidOperation:
        return Decimal("NaN")


def _offset(text: str, found: re.Match[str] | None) -> int:
    """The place that the reader of TOML names, as an offset: the end where it names none."""
    if found is None or found[1] is None:
        return len(text.rstrip())
    before = text.split("\n")[: int(found[1]) - 1]
    return sum(len(line) + 1 for line in before) + int(found[2]) - 1
