"""What `sfumato anonymize` is asked for: options, a TOML file of the same words, or both; options win.

Comes in: the words of the command line. Goes out: a Request and where the release goes. Whatever has the wrong kind is
one error that names the key.
"""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from sfumato.anonymity import AnonymizeRequest
from sfumato.errors import InputError

_LISTS = ("quasi", "order", "keep", "presence")
_NUMBERS = ("k", "l", "c", "t", "beta", "suppress", "dummies", "sampling", "seconds")
_PATHS = ("data", "hierarchies", "population", "out")
_WORDS = ("sensitive", "diversity", "distance", "method")
_KEYS = (*_PATHS, *_LISTS, *_NUMBERS, *_WORDS)
_NAME = re.compile(r'\s*"((?:[^"]|"")+)"\s*(?:,|$)|([^,]*)(?:,|$)')


def request_of(data: str, words: dict[str, Any]) -> tuple[AnonymizeRequest, str | None]:
    """The request, and the target if one is named; `data` is the table or a TOML file."""
    given = {
        name: _split(name, value) if name in _LISTS else value for name, value in words.items() if value is not None
    }
    merged = {**_file(Path(data)), **given} if data.endswith(".toml") else {"data": data, **given}
    if not merged.get("quasi"):
        raise InputError("no quasi-identifiers", hint="Name them with --quasi A,B.")
    out = merged.pop("out", None)
    return AnonymizeRequest(**merged), None if out is None else str(out)


def _split(name: str, text: str) -> tuple[str, ...]:
    parts = names_in(text)
    if name == "presence" and len(parts) != 2:
        raise InputError("presence takes two numbers", hint="For example --presence 0,0.5.")
    return parts


def names_in(text: str) -> tuple[str, ...]:
    """Names between commas; one in double quotes is as it is written, with its commas, blanks and doubled quotes."""
    found = [(quoted.replace('""', '"'), plain.strip()) for quoted, plain in _NAME.findall(text)]
    return tuple(quoted or plain for quoted, plain in found if quoted or plain)


def _file(path: Path) -> dict[str, Any]:
    """The keys of a TOML file; paths are relative to it."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f'"{path.name}" is not a TOML file', detail=str(error)) from None
    unknown = sorted(set(found) - set(_KEYS))
    if unknown:
        raise InputError(f'unknown key "{unknown[0]}" in "{path.name}"', hint=f"Known: {', '.join(sorted(_KEYS))}.")
    if "data" not in found:
        raise InputError(f'"{path.name}" names no data')
    return {name: _value(path, name, value) for name, value in found.items()}


def _value(path: Path, name: str, value: Any) -> Any:
    if name in _LISTS:
        return _list(path, name, value)
    if name in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
            raise _wrong(path, name, "a number")
        return _seconds(path, value) if name == "seconds" else value
    if not isinstance(value, str) or "\0" in value or not value:
        raise _wrong(path, name, "a text")
    if name not in _PATHS:
        return value
    place = value if "://" in value else str(path.parent / value)
    return Path(place) if name == "hierarchies" else place


def _list(path: Path, name: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        return _split(name, value)
    kinds: Any = (int, Decimal, str) if name == "presence" else str
    if not isinstance(value, list) or not all(isinstance(one, kinds) and one is not True for one in value):
        raise _wrong(path, name, "a list of names" if name != "presence" else "a list of two numbers")
    if name == "presence" and len(value) != 2:
        raise _wrong(path, name, "a list of two numbers")
    return tuple(value)


def _seconds(path: Path, value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        raise _wrong(path, "seconds", "a number") from None


def _wrong(path: Path, name: str, wanted: str) -> InputError:
    return InputError(f'"{name}" in "{path.name}" must be {wanted}')
