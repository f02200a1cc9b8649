"""Verify, first step: text into words. Comes in: a program's text. Goes out: tokens with their offsets.

Errors name line and column and what was expected; `Mistake` is how every step of this room says it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sfumato.errors import InputError

_TOKEN = re.compile(
    r"(?P<blank>\s+|--[^\n]*)"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<ghost>#[A-Za-z0-9_]+)"
    r"|(?P<sign>:=\$|:=|\+\+|\.\.|&&|\|\||!=|<=|>=|[-+*/^=<>!()\[\]{},;:])"
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the text: kind is number, name, ghost, sign or end."""

    kind: str
    text: str
    at: int


def place(source: str, at: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1."""
    return source.count("\n", 0, at) + 1, at - (source.rfind("\n", 0, at) + 1) + 1


def mistake(source: str, at: int, message: str, *, detail: str | None = None, hint: str | None = None) -> InputError:
    """An error at a place of a program: its message ends with line and column."""
    line, column = place(source, at)
    return InputError(f"{message}, line {line} column {column}", detail=detail, hint=hint, position=at + 1)


def read_tokens(source: str, *, ghosts: bool = False) -> list[Token]:
    """All words of a text; `#names` are words of proofs only."""
    tokens: list[Token] = []
    at = 0
    while at < len(source):
        found = _TOKEN.match(source, at)
        if found is None or (found.lastgroup == "ghost" and not ghosts):
            raise mistake(source, at, f"expected a word of the language, found {source[at]!r}")
        if found.lastgroup != "blank":
            tokens.append(Token(str(found.lastgroup), found.group(), at))
        at = found.end()
    return [*tokens, Token("end", "the end of the text", len(source))]
