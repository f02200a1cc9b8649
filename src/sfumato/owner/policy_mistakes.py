"""Every mistake in the text of a policy with its line, not only the first.

Comes in: the text of a policy. Goes out: PolicyErrors, all that can be told apart, in the order of their lines. The
policy's own reader stops at the first mistake; here it reads one piece after the other, and what is wrong is replaced
by something harmless before it reads on, so that one mistake is told once.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.errors import PolicyError
from sfumato.owner.presets import UNDECIDED
from sfumato.policy import Policy, parse
from sfumato.policy.positions import Marks
from sfumato.policy.reading import read
from sfumato.policy.sections import Section

Place = tuple[str | int, ...]
Document = dict[str, Any]

_SECTIONS = ("source", "data", "privacy", "analysts", "tables")
_STUB = "\ufffc"
"""The name of a column that no owner writes."""
_LARGE = {"epsilon": 10**100, "delta": Decimal("0.999"), "min_epsilon": Decimal("1e-30"), "rows_per_unit": 10**100}
"""What replaces a wrong number, so that nothing that is compared with it becomes wrong as well."""
_MOST = 1000

_HINTS = {
    "epsilon": "Write the total privacy budget of all analysts: 1 is careful, 4 is generous.",
    "unit": "Name the column that identifies the person of a row; or write public = true, if no row is about a person.",
    "rows_per_unit": "Write the maximum number of rows per person; rows of people with more are down-weighted.",
    "min": "Write the lowest possible value, from domain knowledge; lower values count as this one.",
    "max": "Write the highest possible value, from domain knowledge; higher values count as this one.",
    "values": "Write the list of possible values; any other becomes NULL.",
    "max_length": "Write the longest text in characters: longer ones are truncated.",
}


def read_all(text: str, path: Path) -> tuple[Policy | None, list[PolicyError]]:
    """The policy, or all that is wrong with its text."""
    try:
        return parse(text, path), []
    except PolicyError as error:
        first = error
    plain = text.replace("\r\n", "\n")
    try:
        document = tomllib.loads(plain, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError):
        return None, [first]
    reader = _Reader(document, path, Marks(path.name, plain))
    found = {one.position: [one] for one in undecided(document, reader.marks)}
    open_ends = set(found)
    for mistake in (*reader.mistakes(), first):
        told = found.setdefault(mistake.position, [])
        if mistake.position not in open_ends and mistake.message not in [one.message for one in told]:
            told.append(mistake)
    return None, [mistake for position in sorted(found, key=lambda at: at or 0) for mistake in found[position]]


def undecided(document: Mapping[str, Any], marks: Marks) -> Iterator[PolicyError]:
    """Every "?" that a draft left to the owner."""
    for place in _undecided(document, ()):
        section, key = Section({}, place[:-1], marks), str(place[-1])
        hint = _HINTS.get(key, "Write your decision.")
        yield marks.error(place, f"{section.name(key)} is not decided yet", hint, value=True)


def _undecided(content: Mapping[str, Any], path: Place) -> Iterator[Place]:
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from _undecided(value, (*path, key))
        elif value == UNDECIDED and path[:1] != ("source",):  # a file may well be "?"
            yield (*path, key)


@dataclass(frozen=True)
class _Reader:
    """One document, read in pieces."""

    document: Document
    path: Path
    marks: Marks

    def mistakes(self) -> Iterator[PolicyError]:
        """Sections first, each beside harmless others; then columns, each by itself; then tables together."""
        strange = {key: value for key, value in self.document.items() if key not in _SECTIONS}
        yield from self._read({**_harmless(), **strange}, lambda piece, place: piece.pop(str(place[0]), None))
        for key in ("source", "data", "privacy"):
            if key not in self.document:
                yield from self._read({k: v for k, v in _harmless().items() if k != key}, None)
        yield from self._source()
        if "data" in self.document:
            yield from self._read(_harmless(data=self.document["data"]), _mend_section)
        privacy = _without(self.document.get("privacy", {}), "partition")
        found = list(self._read(_harmless(privacy=privacy), _mend_section)) if "privacy" in self.document else []
        yield from found
        if "analysts" in self.document:
            large = {"epsilon": _LARGE["epsilon"], "min_epsilon": _LARGE["min_epsilon"], "query_epsilon": 1}
            beside = large if found or "privacy" not in self.document else privacy
            yield from self._read(_harmless(privacy=beside, analysts=self.document["analysts"]), _mend_analyst)
        yield from self._tables()

    def _read(self, piece: Document, mend: Callable[[Document, Place], object] | None) -> Iterator[PolicyError]:
        """The mistakes of one piece: after each of them it is mended, and read again."""
        piece, seen = copy.deepcopy(piece), set()
        for _ in range(_MOST):
            try:
                read(piece, self.path, self.marks)
            except PolicyError as error:
                if (error.position, error.message) in seen:
                    return
                seen.add((error.position, error.message))
                yield error
                place = self._places.get((error.position or 1) - 1)
                if mend is None or place is None:
                    return
                mend(piece, place)
            else:
                return

    @cached_property
    def _places(self) -> dict[int, Place]:
        spots = self.marks.spots
        return {at: place for known in (spots.keys, spots.values) for place, at in known.items()}

    def _source(self) -> Iterator[PolicyError]:
        if "source" not in self.document:
            return
        source = self.document["source"]
        files = source.get("files") if isinstance(source, Mapping) else None
        if files == {}:  # each table says by itself that it has no file
            source = {**source, "files": {"t": ":memory:"}}
        name = next((name for name in files if name), "t") if isinstance(files, Mapping) else "t"
        yield from self._read(_harmless(source=source, tables={name: {"public": True}}), _mend_section)

    def _tables(self) -> Iterator[PolicyError]:
        tables = self.document.get("tables", {})
        if not isinstance(tables, Mapping) or not tables:
            yield from self._read(_harmless(tables=tables), None)
            return
        tables, wrong = copy.deepcopy(dict(tables)), []
        for name, table in tables.items():
            columns = table.get("columns") if isinstance(table, Mapping) else None
            for column, declared in columns.items() if isinstance(columns, Mapping) else ():
                found = list(self._column(name, table, column, declared))
                yield from found
                if found or any(_undecided({"": declared}, ("tables",))):
                    wrong.append((table, column))
        for table, column in wrong:
            table["columns"][column] = {}
            if isinstance(table.get("sum_per_unit"), Mapping):
                table["sum_per_unit"] = _without(table["sum_per_unit"], column)
        files = self._files
        names = dict.fromkeys(files if isinstance(files, Mapping) else tables, ":memory:")
        source = {"engine": "duckdb", "files": names}
        yield from self._read(_harmless(source=source, tables=tables), _mend_table)

    def _column(self, name: str, table: Mapping[str, Any], column: str, declared: object) -> Iterator[PolicyError]:
        if any(_undecided({"": declared}, ("tables",))):
            return
        files = self._files
        file = files.get(name, ":memory:") if isinstance(files, Mapping) else ":memory:"
        alone: Document = {"unit": _STUB, "rows_per_unit": 1, "columns": {column: declared, _STUB: {"type": "integer"}}}
        if table.get("public") is True:
            alone = {"public": True, "columns": {column: declared}}
        piece = _harmless(source={"engine": "duckdb", "files": {name: file}}, tables={name: alone})
        yield from self._read(piece, None)

    @cached_property
    def _files(self) -> object:
        """The files of the source, where it says them well."""
        source = self.document.get("source")
        if not isinstance(source, Mapping) or next(self._source(), None) is not None:
            return None
        return source.get("files")


def _harmless(**sections: Any) -> Document:
    """A small policy in which nothing is wrong, with these sections instead of its own."""
    own: Document = {
        "source": {"engine": "duckdb", "files": {"t": ":memory:"}},
        "data": {"id": "d"},
        "privacy": {"epsilon": 1},
        "tables": {"t": {"public": True}},
    }
    return own | sections


def _without(content: object, key: str) -> object:
    return {k: v for k, v in content.items() if k != key} if isinstance(content, Mapping) else content


def _mend_section(piece: Document, place: Place) -> None:
    """Take a wrong key away, or put a number there that fits everything."""
    if len(place) < 2 or not isinstance(piece.get(str(place[0])), dict):
        return
    section, key = piece[str(place[0])], str(place[1])
    if key in _LARGE:
        section[key] = _LARGE[key]
    elif place[:2] == ("source", "files") and len(place) > 2 and isinstance(section["files"], dict):
        section["files"][place[2]] = ":memory:"
    elif key != "files":
        section.pop(key, None)
        section |= {"engine": "duckdb"} if key == "engine" else {}
        section |= {"id": "d"} if key == "id" else {}


def _mend_analyst(piece: Document, place: Place) -> None:
    if len(place) > 1 and isinstance(piece["analysts"], dict):
        piece["analysts"].pop(place[1], None)


def _mend_table(piece: Document, place: Place) -> None:
    """What is wrong with a table, beside its columns."""
    if place[:1] != ("tables",) or len(place) < 2 or not isinstance(piece["tables"].get(place[1]), dict):
        return
    table, key = piece["tables"][place[1]], str(place[2]) if len(place) > 2 else ""
    files = piece["source"]["files"]
    if not key and place[1] not in files:
        files[place[1]] = ":memory:"
    elif key == "unit" or (not key and "unit" not in table) or not isinstance(table.get("columns", {}), dict):
        if not isinstance(table.get("columns", {}), dict):
            table["columns"] = {}
        table.setdefault("columns", {})[_STUB] = {}
        table["unit"] = _STUB
    elif key == "rows_per_unit" or (not key and "rows_per_unit" not in table):
        table["rows_per_unit"] = _LARGE["rows_per_unit"]
    elif key != "columns":
        table.pop(key, None)
