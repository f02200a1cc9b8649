"""Hierarchies from files: a folder of `NAME_hierarchy_COLUMN.csv` as ARX writes them, or one TOML file.

Comes in: a path and the columns that are wanted. Goes out: a Hierarchy for each of them; a column without one can be
kept or replaced by `*`.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from sfumato.anonymity.hierarchies import Hierarchy, declared, from_rows, keep_or_star
from sfumato.errors import InputError


def read_hierarchies(place: Path | Mapping[str, Hierarchy] | None, columns: Sequence[str]) -> dict[str, Hierarchy]:
    """The hierarchy of each column."""
    if place is None or isinstance(place, Mapping):
        return {column: (place or {}).get(column) or keep_or_star(column) for column in columns}
    if place.is_dir():
        return {column: _in_folder(place, column) for column in columns}
    if not place.is_file():
        raise InputError(f'there is no file or folder "{place}"', sqlstate="58P01")
    sections = _toml(place)
    return {column: _in_sections(place, sections, column) for column in columns}


def parse_hierarchies(text: str, columns: Sequence[str]) -> dict[str, Hierarchy]:
    """The hierarchies of a TOML text that stands by itself: it may name no file."""
    try:
        sections = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError("the hierarchies are not TOML", detail=str(error)) from None
    if any(isinstance(section, dict) and "file" in section for section in sections.values()):
        raise InputError("the hierarchies name a file", hint="Write their rows here.")
    found = {}
    for column in columns:
        section = sections.get(column, {"kind": "star"})
        if not isinstance(section, dict):
            raise InputError(f'"{column}" in the hierarchies must be a table')
        found[column] = declared(column, section)
    return found


def _in_folder(folder: Path, column: str) -> Hierarchy:
    files = sorted(folder.glob("*_hierarchy_*.csv"))
    fitting = [file for file in files if file.name.partition("_hierarchy_")[2] == f"{column}.csv"]
    if len(fitting) > 1:
        raise InputError(f'"{folder}" has two hierarchies of "{column}"', detail=", ".join(f.name for f in fitting))
    if fitting:
        return read_rows(fitting[0], column)
    sections = {file: _toml(file) for file in sorted(folder.glob("*.toml"))}
    named = [file for file, some in sections.items() if column in some]
    if len(named) > 1:
        raise InputError(f'"{folder}" has two hierarchies of "{column}"', detail=", ".join(f.name for f in named))
    return _in_sections(named[0], sections[named[0]], column) if named else keep_or_star(column)


def read_rows(file: Path, column: str) -> Hierarchy:
    """One CSV file: a line for each value, its labels separated by `;` (or `,` where there is no `;`)."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f'"{file.name}" is not UTF-8', hint="Save it as UTF-8.") from None
    sign = ";" if ";" in text.partition("\n")[0] else ","
    try:
        rows = [row for row in csv.reader(text.splitlines(), delimiter=sign) if row]
    except csv.Error:
        raise InputError(f'a label in "{file.name}" is too long', hint="Write shorter labels.") from None
    return from_rows(column, rows)


def _toml(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f'"{file.name}" is not a TOML file', detail=str(error)) from None


def _in_sections(file: Path, sections: dict[str, object], column: str) -> Hierarchy:
    section = sections.get(column)
    if section is None:
        return keep_or_star(column)
    if not isinstance(section, dict):
        raise InputError(f'"{column}" in "{file.name}" must be a table')
    if "file" in section:
        return read_rows(file.parent / str(section["file"]), column)
    return declared(column, section)
