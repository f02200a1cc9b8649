"""Verify, first step: text into words. Comes in: a program's text. Goes out: tokens with their offsets.

Errors name line and column and what was expected; `Mistake` is how every step of this room says it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sfumato.errors import InputError

_TOKEN = re.compile(
    r"(?P<blank>\s+|--[^\n]*)"
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<ghost>#[A-Za-z0-9_]+)"
    r"|(?P<sign>:=\$|:=|\+\+|\.\.|&&|\|\||!=|<=|>=|[-+*/^=<>!()\[\]{},;:])"
)


LONGEST = 200_000
"""Characters of a text that is read."""


@dataclass(frozen=True, slots=True)
class ProgramToken:
    """A word of the text: kind is number, name, ghost, sign or end."""

    kind: str
    text: str
    at: int


def place(source: str, at: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1."""
    return source.count("\n", 0, at) + 1, at - (source.rfind("\n", 0, at) + 1) + 1


def column_of(source: str, at: int) -> int:
    """How far from the beginning of its line an offset is; a tab reaches to the next multiple of eight."""
    return len(source[source.rfind("\n", 0, at) + 1 : at].expandtabs(8))


def begins_line(source: str, at: int) -> bool:
    """Whether nothing but blanks stands before an offset in its line."""
    return not source[source.rfind("\n", 0, at) + 1 : at].strip()


def indent_of(source: str, at: int) -> int:
    """How far the line of an offset is indented."""
    line = source[source.rfind("\n", 0, at) + 1 :].partition("\n")[0].expandtabs(8)
    return len(line) - len(line.lstrip())


def mistake(source: str, at: int, message: str, *, detail: str | None = None, hint: str | None = None) -> InputError:
    """An error at a place of a program: its message ends with line and column."""
    line, column = place(source, at)
    return InputError(f"{message}, line {line} column {column}", detail=detail, hint=hint, position=at + 1)


def read_tokens(source: str, *, ghosts: bool = False) -> list[ProgramToken]:
    """All words of a text; `#names` are words of proofs only."""
    if len(source) > LONGEST:
        raise InputError(f"expected a text of at most {LONGEST} characters, found {len(source)}")
    tokens: list[ProgramToken] = []
    at = 0
    while at < len(source):
        found = _TOKEN.match(source, at)
        if found is None or (found.lastgroup == "ghost" and not ghosts):
            raise mistake(source, at, f"expected a word of the language, found {source[at]!r}")
        if found.lastgroup != "blank":
            tokens.append(ProgramToken(str(found.lastgroup), found.group(), at))
        at = found.end()
    return [*tokens, ProgramToken("end", "the end of the text", len(source))]
