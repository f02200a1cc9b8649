"""PostgreSQL's words: text into tokens and statements, before anybody asks what they mean.

Comes in: text as a client sent it. Goes out: statements with their tokens and comments, each with its place. Strings,
dollar quotes, nested comments and `$1` are told apart as PostgreSQL does it; a semicolon inside them divides nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from sfumato.errors import QueryError

WORD, QUOTED, STRING, NUMBER, PARAMETER, SIGN = "word", "quoted", "string", "number", "parameter", "sign"

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\n\r\f\v]+)
  | (?P<line>--[^\r\n]*)
  | (?P<block>/\*)
  | (?P<string>[eE]'(?:[^'\\]|\\.|'')*+' | (?:[uU]&|[bBxXnN])?'(?:[^']|'')*+')
  | (?P<quoted>(?:[uU]&)?"(?:[^"]|"")*+")
  | (?P<dollar>\$(?:[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*)?\$)
  | (?P<parameter>\$[0-9]+)
  | (?P<word>[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_$\u0080-\U0010ffff]*)
  | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
  | (?P<sign>::|<>|!=|<=|>=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_PREFIXES = tuple("eEbBxXnN")
"""A string that starts with one of these and does not end is not a word and a string."""
_COMMENT_EDGE = re.compile(r"/\*|\*/")


class SqlToken(NamedTuple):
    """One word of SQL: `text` as it stands there, `start` and `end` its place, from 0."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """A bare word in lower case; nothing for strings and quoted names."""
        return self.text.lower() if self.kind == WORD else self.text if self.kind == SIGN else ""


@dataclass(frozen=True, slots=True)
class SqlStatement:
    """One statement: its text, where that starts in what was sent, its tokens, and the comments before the first."""

    text: str
    offset: int
    tokens: tuple[SqlToken, ...]
    comments: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """Its bare words and signs in lower case, to be compared."""
        return tuple(token.word for token in self.tokens)


def statements(text: str) -> list[SqlStatement]:
    """The statements of a text, divided at semicolons; places of tokens count from the start of their statement."""
    found, tokens, comments, start = [], list[SqlToken](), list[str](), 0
    for token, comment in _scan(text):
        if comment is not None:
            comments += [comment] if not tokens else []
        elif token is not None and token.text == ";" and token.kind == SIGN:
            found.append(SqlStatement(text[start : token.start], start, tuple(tokens), tuple(comments)))
            tokens, comments, start = [], [], token.end
        elif token is not None:
            tokens.append(SqlToken(token.kind, token.text, token.start - start, token.end - start))
    found.append(SqlStatement(text[start:], start, tuple(tokens), tuple(comments)))
    return [statement for statement in found if statement.tokens]


def without_schema(text: str, database: str) -> str:
    """`public.` and `database.public.` before a name become blanks: tools write them, and there is no other schema."""
    out = text
    for statement in statements(text):
        tokens, base = statement.tokens, statement.offset
        for i, token in enumerate(tokens[:-2]):
            starts = i == 0 or tokens[i - 1].text != "."
            names = [_named(one) for one in tokens[i : i + 4]]
            width = 4 if names == [database, ".", "public", "."] else 2 if names[:2] == ["public", "."] else 0
            if starts and width and i + width < len(tokens) and tokens[i + width].kind in (WORD, QUOTED):
                start, end = base + token.start, base + tokens[i + width - 1].end
                out = out[:start] + " " * (end - start) + out[end:]
    return out


def _named(token: SqlToken) -> str:
    return token.text[1:-1].replace('""', '"') if token.kind == QUOTED else token.word


def _scan(text: str) -> list[tuple[SqlToken | None, str | None]]:
    """Tokens and comments in their order."""
    found: list[tuple[SqlToken | None, str | None]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None  # the last alternative takes any character
        kind, end = str(match.lastgroup), match.end()
        if kind == "block":
            end = _after_comment(text, at)
            found.append((None, text[at + 2 : end - 2]))
        elif kind == "line":
            found.append((None, text[at + 2 : end]))
        elif kind == "dollar":
            close = text.find(match[0], end)
            if close < 0:
                raise _open("dollar-quoted string", text, at)
            end = close + len(match[0])
            found.append((SqlToken(STRING, text[at:end], at, end), None))
        elif kind != "space":
            if match[0] in ("'", '"') or (match[0] in _PREFIXES and text[end : end + 1] == "'"):
                raise _open("quoted name" if match[0] == '"' else "string", text, at)
            found.append((SqlToken(kind, match[0], at, end), None))
        at = end
    return found


def _after_comment(text: str, start: int) -> int:
    """The end of a comment, which may hold comments."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    raise _open("comment", text, start)


def _open(what: str, text: str, at: int) -> QueryError:
    near = text[at : at + 30].split("\n", 1)[0]
    return QueryError(f'unterminated {what} at or near "{near}"', position=at + 1, sqlstate="42601", hint="Close it.")
