"""One key of a policy's text changed, added or taken away; comments and everything else stay as they were written.

Comes in: a valid TOML text, the path of a key, and its new value as TOML, or None to take it away. Goes out: the new
text. It is read again and compared with the old document in which that key alone was changed, so that a text that means
anything else is never given back.
"""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from typing import Any

from sfumato.errors import InputError
from sfumato.policy.positions import Path, Spots, scan

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def edited(text: str, path: Path, literal: str | None) -> str:
    """The text with the value of one key, written as TOML; without the key for None.

    Guarantee: what is given back is TOML whose document differs from that of the old text in this key alone, and, where
        a whole section is taken away, in tables above it that held nothing else.
    Proof: both are read by tomllib, and compared after the key was changed in the old document.
    Reference: none is needed.
    Checked by: unit::an_edit_changes_one_key_and_no_comment, unit::an_edit_that_would_mean_something_else_is_refused
    """
    plain = text.replace("\r\n", "\n")
    try:
        wanted = _read(plain)
        _change(wanted, path, None if literal is None else _read(f"value = {literal}")["value"])
        spots = scan(plain)
        new = _without(plain, path, spots) if literal is None else _with(plain, path, literal, spots)
        found = _read(new)
        good = found == wanted or (path not in spots.values and literal is None and found == _pruned(wanted, path))
    except (ValueError, ArithmeticError, RecursionError, KeyError, TypeError):
        good = False
    if not good:
        raise InputError("this cannot be changed in the form", hint="Change it in the text.")
    return new


def as_key(name: str) -> str:
    """A name as a key of TOML.

    >>> as_key("age"), as_key("zip code")
    ('age', '"zip code"')
    """
    return name if _BARE.fullmatch(name) else as_text(name)


def as_text(value: str) -> str:
    r"""A text as TOML writes it: on one line, whatever is in it.

    >>> print(as_text('a "b"'))
    "a \"b\""
    """
    signs = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    plain = (signs.get(c, c if ord(c) >= 32 and ord(c) != 127 else f"\\u{ord(c):04x}") for c in value)
    return f'"{"".join(plain)}"'


def _read(text: str) -> dict[str, Any]:
    return tomllib.loads(text, parse_float=Decimal)


def _change(document: Any, path: Path, value: Any) -> None:
    for part in path[:-1]:
        document = document.setdefault(part, {}) if value is not None else document[part]
    if value is None:
        del document[path[-1]]
    else:
        document[path[-1]] = value


def _pruned(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """Without the tables above a section that was taken away, where nothing else is left in them."""
    for depth in range(len(path) - 1, 0, -1):
        above: Any = document
        for part in path[: depth - 1]:
            above = above[part]
        if above[path[depth - 1]] == {}:
            del above[path[depth - 1]]
    return document


def _with(text: str, path: Path, literal: str, spots: Spots) -> str:
    """Over the value that stands there; else at the end of its section; else in a section of its own, at the end."""
    if path in spots.values:
        return text[: spots.values[path]] + literal + text[spots.ends[path] :]
    section, pair = path[:-1], f"{as_key(str(path[-1]))} = {literal}"
    if section in spots.values:  # { a = 1 }
        end = spots.ends[section] - 1
        inside = text[spots.values[section] + 1 : end]
        comma = ", " if inside.strip() else " "
        return f"{text[:end].rstrip()}{comma}{pair} {text[end:]}"
    for index, (header, _, end) in enumerate(spots.headers):
        if header == section:
            at = _end_of_section(text, index, end, spots)
            return f"{text[:at]}\n{pair}{text[at:]}"
    name = ".".join(as_key(str(part)) for part in section)
    return f"{text.rstrip()}\n\n[{name}]\n{pair}\n"


def _end_of_section(text: str, index: int, start: int, spots: Spots) -> int:
    """The end of the line of the last value below a header."""
    after = spots.headers[index + 1][1] if index + 1 < len(spots.headers) else len(text)
    last = max((end for end in spots.ends.values() if start <= end <= after), default=start)
    line = text.find("\n", last)
    return len(text) if line < 0 else line


def _without(text: str, path: Path, spots: Spots) -> str:
    if path not in spots.values:
        return _without_section(text, path, spots)
    start, end = spots.keys[path], spots.ends[path]
    if path[:-1] in spots.values:  # in { }, with one of the commas around it
        before, after = text[:start], text[end:]
        if following := re.match(r"\s*,\s*", after):
            return before + after[following.end() :]
        return re.sub(r"\s*,\s*$", " ", before) + after.lstrip(" ")
    line = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return text[:line] + ("" if last < 0 else text[last + 1 :])


def _without_section(text: str, path: Path, spots: Spots) -> str:
    for index, (header, start, end) in enumerate(spots.headers):
        if header == path:
            last = _end_of_section(text, index, end, spots)
            rest = text[last:].lstrip("\n")
            return f"{text[:start].rstrip()}\n\n{rest}" if rest else f"{text[:start].rstrip()}\n"
    raise KeyError(path)
