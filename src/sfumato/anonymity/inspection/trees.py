"""Hierarchies as the check reads them: of each value its labels.

Comes in: a folder or a TOML file. Goes out: for each column the labels of its values. Nothing here is shared with the
code that makes releases.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable
from pathlib import Path

from sfumato.anonymity.inspection.declared import declared_tree
from sfumato.errors import InputError

Trees = dict[str, tuple[str, ...]]
"""For each value its labels, finest first. Where hierarchies were given and none lists the values of a column, it is
empty: labels of that column must speak for themselves."""


def read_trees(place: Path | None, columns: tuple[str, ...]) -> dict[str, Trees]:
    """Hierarchies that list their values, of a folder or a TOML file; labels of other kinds speak for themselves."""
    if place is None:
        return {}
    return {column: _tree_of(_find(place, column)) for column in columns}


def tree_of_values(place: Path | None, column: str, values: Iterable[str]) -> Trees:
    """The hierarchy of a column whose values these are, also where it is declared by intervals, prefixes or dates."""
    found = None if place is None else _find(place, column)
    return _tree_of(found) or (declared_tree(found, values) if isinstance(found, dict) else {})


def _tree_of(found: Path | dict[str, object] | None) -> Trees:
    """The values that a file, or a section of one, lists."""
    if isinstance(found, Path):
        return _rows(found)
    rows = [] if found is None else found.get("rows")
    if not isinstance(rows, list):
        return {}
    return _tree([[str(cell) for cell in row] for row in rows if isinstance(row, list) and row])


def _find(place: Path, column: str) -> Path | dict[str, object] | None:
    """The file of rows, or the section, that a folder or a TOML file has for a column. Two of them are refused."""
    if not place.exists():
        raise InputError(f'there is no file or folder "{place}"', sqlstate="58P01")
    files = sorted(place.glob("*_hierarchy_*.csv")) if place.is_dir() else []
    listed = [file for file in files if file.stem.partition("_hierarchy_")[2] == column]
    sections = (
        {} if listed else {file: _sections(file) for file in (place.glob("*.toml") if place.is_dir() else [place])}
    )
    declared = sorted(file for file, one in sections.items() if column in one)
    if len(listed) > 1 or len(declared) > 1:
        names = ", ".join(file.name for file in (*listed, *declared))
        raise InputError(f'"{place}" has two hierarchies of "{column}"', detail=names)
    if listed or not declared:
        return listed[0] if listed else None
    section = sections[declared[0]][column]
    if not isinstance(section, dict):
        return None
    return declared[0].parent / str(section["file"]) if "file" in section else section


def _sections(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(_text(file))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f'"{file.name}" is not a TOML file', detail=str(error)) from None


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
