"""Files that a command writes, and files that it reads: the one is never the other.

Comes in: where something goes, and what is read. Goes out: an error where a file would be written over that is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sfumato.errors import InputError


def check_apart(out: str | Path | None, option: str, inputs: Iterable[str | Path | None]) -> None:
    """Refuse to write over a file that is read, by whatever name; of a folder that is read, over a file in it."""
    if out is None or "://" in str(out):
        return
    place = _file(out)
    for one in inputs:
        if one is None or "://" in str(one):
            continue
        read = _file(one)
        inside = read.is_dir() and place.parent == read.resolve() and place.exists() and _is_hierarchy(place)
        same = place.exists() and read.exists() and place.samefile(read)
        if place == read or same or inside:
            raise InputError(f'{option} would write over "{place.name}", which is read', hint="Give another name.")


def _file(name: str | Path) -> Path:
    text = str(name)
    return (Path(text) if Path(text).exists() else Path(text.partition("#")[0])).resolve()


def _is_hierarchy(file: Path) -> bool:
    return file.suffix == ".toml" or "_hierarchy_" in file.stem
