"""Where in the text of a policy each key and each value stands, so that every mistake is shown at its place.

Comes in: text that tomllib has read without complaint, so nothing is judged here. Goes out: `Marks`, which turns a path
such as ("tables", "visit", "unit") into a line and a column. The text is scanned only when there is a mistake to show.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cached_property

from sfumato.errors import PolicyError

Path = tuple[str | int, ...]
"""Keys, and indices in lists, from the top of the document down."""

DEEPEST = 40
"""Lists below this depth are skipped, not walked: a policy has no use for them, and Python's stack ends somewhere."""

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_KEY = re.compile(r"""[ \t]*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)[ \t]*""")
# A text of several lines may end in one or two quotes of its own, before the three that close it.
_TEXT = re.compile(r"""\"{3}(?:\\.|[^\\])*?\"{3}\"{0,2}|'{3}.*?'{3}'{0,2}|"(?:[^"\\]|\\.)*"|'[^']*'""", re.DOTALL)
_BARE = re.compile(r"[^,\]}#\n]+")


@dataclass(frozen=True, slots=True)
class Spots:
    """Offsets in the text: of the first mention of each key, of each value and of its end; each [header] in turn."""

    keys: dict[Path, int] = field(default_factory=dict)
    values: dict[Path, int] = field(default_factory=dict)
    ends: dict[Path, int] = field(default_factory=dict)
    headers: list[tuple[Path, int, int]] = field(default_factory=list)


def scan(text: str) -> Spots:
    """The places of everything in a valid TOML text."""
    spots, counts = Spots(), dict[Path, int]()
    section: Path = ()
    at = _blank(text, 0)
    while at < len(text):
        if text[at] == "[":
            start = at
            section, at = _header(text, at, spots, counts)
            spots.headers.append((section, start, at))
        else:
            at = _pair(text, at, section, spots)
        at = _blank(text, at)
    return spots


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _header(text: str, at: int, spots: Spots, counts: dict[Path, int]) -> tuple[Path, int]:
    """[a.b] or [[a.b]]; after [[a]], [a.b] speaks of the last a."""
    many = text.startswith("[[", at)
    parts, at = _key(text, at + 1 + many)
    path: Path = ()
    for number, (part, start) in enumerate(parts, 1):
        path = (*path, part)
        spots.keys.setdefault(path, start)
        if many and number == len(parts):
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
            spots.keys.setdefault(path, start)
    return path, at + 1 + many


def _pair(text: str, at: int, section: Path, spots: Spots) -> int:
    """One `key = value`, the key perhaps dotted."""
    parts, at = _key(text, at)
    path = section
    for part, start in parts:
        path = (*path, part)
        spots.keys.setdefault(path, start)
    return _value(text, _blank(text, at + 1), path, spots)


def _key(text: str, at: int) -> tuple[list[tuple[str, int]], int]:
    """The parts of a dotted key with their places, and where it ends."""
    parts = []
    while found := _KEY.match(text, at):
        raw = found[1]
        # Quoted keys may hold escapes; the reader of TOML knows them all.
        name = tomllib.loads(f"{raw} = 0").popitem()[0] if raw[0] in "\"'" else raw
        parts.append((name, found.start(1)))
        at = found.end()
        if text[at : at + 1] != ".":
            break
        at += 1
    return parts, at


def _value(text: str, at: int, path: Path, spots: Spots) -> int:
    """One value of any kind; gives where it ends."""
    spots.values[path] = at
    end = _end_of(text, at, path, spots)
    spots.ends[path] = at + len(text[at:end].rstrip())
    return end


def _end_of(text: str, at: int, path: Path, spots: Spots) -> int:
    if text[at] in "[{" and len(path) > DEEPEST:
        return _skip(text, at)
    if text[at] == "[":
        return _list(text, at, path, spots)
    if text[at] == "{":
        return _table(text, at, path, spots)
    found = _TEXT.match(text, at) or _BARE.match(text, at)
    return found.end() if found else at + 1


def _list(text: str, at: int, path: Path, spots: Spots) -> int:
    at, index = _blank(text, at + 1), 0
    while text[at] != "]":
        at = _blank(text, _value(text, at, (*path, index), spots))
        index += 1
        if text[at] == ",":
            at = _blank(text, at + 1)
    return at + 1


def _table(text: str, at: int, path: Path, spots: Spots) -> int:
    at = _blank(text, at + 1)
    while text[at] != "}":
        at = _blank(text, _pair(text, at, path, spots))
        if text[at] == ",":
            at = _blank(text, at + 1)
    return at + 1


def _skip(text: str, at: int) -> int:
    """Past a list or table, by counting brackets outside of texts and comments."""
    depth = 0
    while True:
        at = _blank(text, at)
        if found := _TEXT.match(text, at):
            at = found.end()
            continue
        depth += (text[at] in "[{") - (text[at] in "]}")
        at += 1
        if depth == 0:
            return at


@dataclass(frozen=True)
class Marks:
    """A policy's name and text, or neither where it was made in Python: then errors carry no place."""

    name: str | None = None
    text: str | None = None

    @cached_property
    def spots(self) -> Spots:
        """The scan, made once and only if there is something to show."""
        return scan(self.text or "")

    def error(self, path: Path, message: str, hint: str | None = None, *, value: bool = False) -> PolicyError:
        """A mistake at a key, or at its value; at the section that is nearest where the key itself is missing."""
        if self.text is None:
            return PolicyError(message, detail=self.name, hint=hint)
        return self.at(self._offset(path, value), message, hint)

    def at(self, offset: int, message: str, hint: str | None = None) -> PolicyError:
        """A mistake at a place in the text; `position` counts characters from 1, as for SQL."""
        before = (self.text or "")[:offset]
        line, column = before.count("\n") + 1, offset - before.rfind("\n")
        where = f"line {line}, column {column}"
        detail = f"{self.name}, {where}" if self.name else where
        return PolicyError(message, detail=detail, hint=hint, position=offset + 1)

    def _offset(self, path: Path, value: bool) -> int:
        if value and path in self.spots.values:
            return self.spots.values[path]
        while path:
            for known in (self.spots.keys, self.spots.values):
                if path in known:
                    return known[path]
            path = path[:-1]
        return 0
