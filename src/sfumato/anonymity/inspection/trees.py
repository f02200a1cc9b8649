"""Hierarchies as the check reads them: of each value its labels.

Comes in: a folder or a TOML file. Goes out: for each column the labels of its values. Nothing here is shared with the
code that makes releases.
"""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

from sfumato.errors import InputError

Trees = dict[str, tuple[str, ...]]
"""For each value its labels, finest first. Where hierarchies were given and none lists the values of a column, it is
empty: labels of that column must speak for themselves."""


def read_trees(place: Path | None, columns: tuple[str, ...]) -> dict[str, Trees]:
    """Hierarchies that list their values, of a folder or a TOML file; labels of other kinds speak for themselves."""
    if place is None:
        return {}
    if not place.exists():
        raise InputError(f'there is no file or folder "{place}"', sqlstate="58P01")
    found: dict[str, Trees] = {column: {} for column in columns}
    if not place.is_dir():
        return found | _listed(place, columns)
    for file in sorted(place.glob("*.toml"), reverse=True):  # of two sections the first file counts
        found |= _listed(file, columns)
    for file in sorted(place.glob("*_hierarchy_*.csv")):
        column = file.stem.partition("_hierarchy_")[2]
        if column in columns:
            found[column] = _rows(file)
    return found


def _listed(file: Path, columns: tuple[str, ...]) -> dict[str, Trees]:
    """The sections of a TOML file with rows of their own, or with the name of a file of rows."""
    try:
        sections = tomllib.loads(_text(file))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f'"{file.name}" is not a TOML file', detail=str(error)) from None
    found: dict[str, Trees] = {}
    for column in columns:
        section = sections.get(column)
        if isinstance(section, dict) and "file" in section:
            found[column] = _rows(file.parent / str(section["file"]))
        elif isinstance(section, dict) and isinstance(section.get("rows"), list):
            rows = [[str(cell) for cell in row] for row in section["rows"] if isinstance(row, list) and row]
            found[column] = _tree(rows)
    return found


def _rows(file: Path) -> Trees:
    text = _text(file)
    sign = ";" if ";" in text.partition("\n")[0] else ","
    try:
        return _tree([row for row in csv.reader(text.splitlines(), delimiter=sign) if row])
    except csv.Error:
        raise InputError(f'a label in "{file.name}" is too long', hint="Write shorter labels.") from None


def _tree(rows: list[list[str]]) -> Trees:
    """Labels by value; a hierarchy whose top has several labels has `*` above them."""
    if len({len(row) for row in rows}) > 1:
        raise InputError("a hierarchy has lines of different lengths", hint="Give every value a label on every level.")
    if len({row[-1] for row in rows}) > 1:
        rows = [[*row, "*"] for row in rows]
    return {row[0]: tuple(row) for row in rows}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f'"{file.name}" is not UTF-8 text', hint="Save it as UTF-8.") from None
