"""What kind of statement a client sent.

Comes in: one statement as tokens. Goes out: a record of it. Only its first words decide; what a question means is for
the gateway to say, and what is no command of a session goes there too, to be refused by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from sfumato.errors import QueryError, SfumatoError
from sfumato.recent import Recent
from sfumato.server.pgwire.commands import (
    Command,
    CopyOut,
    Declare,
    DiscardCommand,
    ExecuteCommand,
    Explain,
    Fetch,
    NoOpCommand,
    Prepare,
    SelectCommand,
    Set,
    Show,
    Transaction,
)
from sfumato.sql.read.lexer import NUMBER, QUOTED, STRING, WORD, SqlStatement, SqlToken, statements

T = TypeVar("T")
_WRITTEN = re.compile(r"\b(epsilon|within|confidence|rows_per_unit|noise)\s*=\s*([\w.+/-]+)")


def written_options(statement: SqlStatement) -> dict[str, str]:
    """`/* epsilon=0.5 */` before a question, where a tool cannot SET."""
    return {name: value for comment in statement.comments for name, value in _WRITTEN.findall(comment)}


def command(statement: SqlStatement) -> Command:
    """The record of a statement."""
    words = statement.words
    reader = _READERS.get(words[0])
    return SelectCommand(statement) if reader is None else reader(statement, words)


SHORT = 2_000
"""Characters that are read in a few milliseconds: between other clients' messages. A longer text goes to a thread."""
KEPT = 10_000
"""Characters of a text that is kept with what was read in it."""
_DIGITS = 18
"""Of a number of rows."""
_ROOM = 16 * 2**20
"""Bytes of texts that are kept, with what was read in them."""
MOST_TEXT = 100_000
"""Characters that one message may hold, as many as a query may have: more is refused before it is read."""


def remembered(make: Callable[[str], T]) -> Callable[[str], T]:
    """The same for the same text, without work; long texts are not kept, nor more than there is room for."""
    kept: Recent[tuple[T]] = Recent(_ROOM)

    def made(text: str) -> T:
        found = kept.get(text) if len(text) <= KEPT else None
        if found is None:
            found = (make(text),)
            if len(text) <= KEPT:
                kept.put(text, found)
        return found[0]

    return made


def check_length(size: int) -> None:
    """Refuse a text, with the values that are to be written into it, before anybody reads it."""
    if size > MOST_TEXT:
        raise QueryError(
            f"a statement has at most {MOST_TEXT} characters, but this one has {size}",
            sqlstate="54000",
            hint="Ask for less at once: a shorter list, fewer columns.",
        )


def weight_of(statement: SqlStatement | None) -> int:
    """Roughly how many bytes a statement takes in memory: its tokens take more than its text."""
    return 0 if statement is None else len(statement.text) + 200 * len(statement.tokens)


def _read(sql: str) -> tuple[tuple[SqlStatement, Command], ...]:
    """The statements of a text, with their commands; an error has its place in the whole text."""
    return tuple((one, placed_command(one)) for one in statements(sql))


read = remembered(_read)


def placed_command(statement: SqlStatement) -> Command:
    """The command of a statement, or an error with its place in what was sent."""
    try:
        return command(statement)
    except SfumatoError as error:
        raise moved(error, statement.offset) from None


def moved(error: SfumatoError, offset: int) -> SfumatoError:
    """An error at its place in the whole text that was sent; the one that came is left as it was."""
    copy = type(error)(error.message, detail=error.detail, hint=error.hint, sqlstate=error.sqlstate)
    copy.position = None if error.position is None else error.position + offset
    return copy


def tail(statement: SqlStatement, start: int, end: int | None = None) -> SqlStatement:
    """The tokens from one to another, as a statement of its own that knows its place in what was sent."""
    tokens = statement.tokens[start:end]
    if not tokens:
        raise _syntax(statement)
    at, stop = tokens[0].start, tokens[-1].end
    moved = tuple(SqlToken(t.kind, t.text, t.start - at, t.end - at) for t in tokens)
    return SqlStatement(statement.text[at:stop], statement.offset + at, moved, statement.comments)


def _syntax(statement: SqlStatement, at: int = -1) -> QueryError:
    token = statement.tokens[min(at, len(statement.tokens) - 1)]
    return QueryError(f'syntax error at or near "{token.text}"', position=token.start + 1, sqlstate="42601")


def _name(statement: SqlStatement, at: int) -> str:
    if not 1 <= at < len(statement.tokens) or statement.tokens[at].kind not in (WORD, QUOTED):
        raise _syntax(statement, at)
    return _value(statement.tokens[at])


def _value(token: SqlToken) -> str:
    """A word, a quoted name, a string or a number as the text that it stands for."""
    if token.kind == QUOTED:
        return token.text[1:-1].replace('""', '"')
    if token.kind == STRING:
        if token.text.startswith("$"):
            tag = token.text.index("$", 1) + 1
            return token.text[tag:-tag]
        body = token.text[token.text.index("'") + 1 : -1].replace("''", "'")
        return re.sub(r"\\(.)", r"\1", body) if token.text[0] in "eE" else body
    return token.text.lower() if token.kind == WORD else token.text


def _transaction(statement: SqlStatement, words: tuple[str, ...]) -> Command:
    first = words[0]
    chain = "chain" in words and "no" not in words
    if "prepared" in words:
        return SelectCommand(statement)
    if first in ("begin", "start", "commit", "end"):
        return Transaction("begin" if first in ("begin", "start") else "commit", chain=chain)
    if first == "savepoint":
        return Transaction("savepoint", _name(statement, 1))
    if first == "release":
        return Transaction("release", _name(statement, len(words) - 1))
    if "to" in words:
        return Transaction("rollback to", _name(statement, len(words) - 1))
    return Transaction("rollback", chain=chain)


def _set(statement: SqlStatement, words: tuple[str, ...]) -> Command:
    at = 1
    local = words[1:2] == ("local",)
    if words[1:2] in (("local",), ("session",)) and words[2:3] not in (("authorization",), ("characteristics",)):
        at = 2
    rest = words[at:]
    if not rest:
        raise _syntax(statement)
    if rest[0] == "transaction" or rest[:2] == ("session", "characteristics"):
        return NoOpCommand("SET")
    if rest[:2] == ("time", "zone"):
        return Set("TimeZone", _value(statement.tokens[-1]), local)
    if rest[0] == "names":
        return Set("client_encoding", _value(statement.tokens[-1]) if len(rest) > 1 else None, local)
    if rest[0] in ("schema", "role"):
        return Set("search_path" if rest[0] == "schema" else "role", _value(statement.tokens[-1]), local)
    if rest[:2] == ("session", "authorization"):
        return Set("session_authorization", _value(statement.tokens[-1]), local)
    equals = next((i for i, word in enumerate(words) if i > at and word in ("=", "to")), None)
    if equals is None or equals + 1 >= len(words):
        raise _syntax(statement)
    name = "".join(_value(token) for token in statement.tokens[at:equals])
    return Set(name, _listed(statement.tokens[equals + 1 :]), local)


def _listed(tokens: tuple[SqlToken, ...]) -> str | None:
    """The value of SET: one word, a signed number, or several values with commas."""
    if len(tokens) == 1 and tokens[0].word == "default":
        return None
    parts: list[str] = [""]
    for token in tokens:
        if token.text == "," and token.kind != STRING:
            parts.append("")
        else:
            parts[-1] += token.text if token.kind == QUOTED and len(tokens) > 1 else _value(token)
    return ", ".join(parts)


def _reset(statement: SqlStatement, words: tuple[str, ...]) -> Command:
    if words[1:] == ("all",):
        return Set(None, None, tag="RESET")
    name = "TimeZone" if words[1:3] == ("time", "zone") else "".join(_value(t) for t in statement.tokens[1:])
    return Set("session_authorization" if words[1:2] == ("session",) else name, None, tag="RESET")


def _show(statement: SqlStatement, words: tuple[str, ...]) -> Command:
    if len(words) < 2:
        raise _syntax(statement)
    names = {("time", "zone"): "TimeZone", ("transaction", "isolation", "level"): "transaction_isolation"}
    return Show(names.get(words[1:], "".join(_value(token) for token in statement.tokens[1:])))


def _prepare(statement: SqlStatement, words: tuple[str, ...]) -> Command:
    name, at = _name(statement, 1), 2
    if words[1] == "transaction":
        return SelectCommand(statement)
    types: list[str] = []
    if words[2:3] == ("(",):
        close = words.index(")") if ")" in words else len(words)
        types = [part.strip() for part in " ".join(words[3:close]).replace(" [ ]", "[]").split(",")]
        at = close + 1
    if words[at : at + 1] != ("as",):
        raise _syntax(statement, at)
    return Prepare(name, tuple(types), tail(statement, at + 1))


def _run(statement: SqlStatement, words: tuple[str, ...]) -> Command:
    values: list[str | None] = []
    if len(words) > 2:
        if words[2] != "(" or words[-1] != ")":
            raise _syntax(statement, 2)
        group: list[SqlToken] = []
        for token in (*statement.tokens[3:-1], SqlToken("sign", ",", 0, 0)):
            if token.text == "," and token.kind != STRING:
                values.append(_argument(statement, group))
                group = []
            else:
                group.append(token)
    return ExecuteCommand(_name(statement, 1), tuple(values))


def _argument(statement: SqlStatement, tokens: list[SqlToken]) -> str | None:
    """A value of EXECUTE: a literal, perhaps with a sign before it or a cast after it."""
    sign = "-" if tokens and tokens[0].text == "-" else ""
    rest = tokens[1:] if sign else tokens
    typed = len(rest) > 1 and rest[1].kind == STRING and rest[0].word in ("date", "timestamp")
    literal = rest[1] if typed else rest[0] if rest else None
    cast = rest[2 if typed else 1 :]
    if literal is None or (cast and cast[0].text != "::"):
        raise _syntax(statement)
    if literal.word == "null":
        return None
    if literal.kind not in (STRING, NUMBER) and literal.word not in ("true", "false"):
        raise QueryError("EXECUTE takes literals", position=literal.start + 1, hint="Write the values themselves.")
    return sign + _value(literal)


def _declare(statement: SqlStatement, words: tuple[str, ...]) -> Command:
    if "cursor" not in words or "for" not in words[words.index("cursor") :]:
        raise _syntax(statement)
    start = words.index("for", words.index("cursor"))
    head = words[:start]
    return Declare(_name(statement, 1), "with" in head, tail(statement, start + 1))


def _fetch(statement: SqlStatement, words: tuple[str, ...]) -> Command:
    name = _name(statement, len(words) - 1)
    middle = [word for word in (_value(t) for t in statement.tokens[1:-1]) if word not in ("from", "in")]
    sign, move = 1, words[0] == "move"
    if "-" in middle:
        sign = -1
        middle.remove("-")
    directions = {"backward", "prior", "first", "last", "absolute", "relative"} & set(middle)
    direction = directions.pop() if directions else "forward"
    counts = [_count(statement, word) for word in middle if word.isascii() and word.isdigit()]
    count: int | None = sign * counts[0] if counts else None if "all" in middle else 1
    return Fetch(name, count, direction, move)


def _count(statement: SqlStatement, digits: str) -> int:
    if len(digits) > _DIGITS:
        raise _syntax(statement, next(i for i, token in enumerate(statement.tokens) if token.text == digits))
    return int(digits)


def _forget(statement: SqlStatement, words: tuple[str, ...]) -> Command:
    if words[0] == "discard":
        what = words[1] if len(words) > 1 else ""
        if what not in ("all", "plans", "sequences", "temp", "temporary"):
            raise _syntax(statement)
        return DiscardCommand("everything" if what == "all" else "nothing", None, f"DISCARD {what.upper()}")
    if words[0] == "close":
        everything = words[1:] == ("all",)
        return DiscardCommand(
            "cursor", None if everything else _name(statement, 1), "CLOSE CURSOR ALL" if everything else "CLOSE CURSOR"
        )
    everything = words[-1] == "all"
    name = None if everything else _name(statement, len(words) - 1)
    return DiscardCommand("statement", name, "DEALLOCATE ALL" if everything else "DEALLOCATE")


def _explain(statement: SqlStatement, words: tuple[str, ...]) -> Command:
    at = 1
    if words[1:2] == ("(",):
        at = words.index(")") + 1 if ")" in words else len(words)
    while words[at : at + 1] in (("verbose",), ("analyze",), ("analyse",)):
        at += 1
    if {"analyze", "analyse"} & set(words[1:at]):
        hint = "EXPLAIN is free; to run the query, send it without EXPLAIN."
        raise QueryError("EXPLAIN ANALYZE would have to spend", sqlstate="0A000", hint=hint, position=1)
    return Explain(tail(statement, at))


def _copy(statement: SqlStatement, words: tuple[str, ...]) -> Command:
    depth, close = 0, 0
    for close, word in enumerate(words):
        depth += (word == "(") - (word == ")")
        if depth == 0 and close > 1 and word == "to":
            break
    else:
        hint = "Write COPY (SELECT …) TO STDOUT."
        raise QueryError("nothing can be copied in here", sqlstate="0A000", hint=hint, position=1)
    if words[close + 1 : close + 2] != ("stdout",):
        hint = "Write COPY (SELECT …) TO STDOUT; psql has \\copy for files of its own machine."
        raise QueryError("answers go to STDOUT only", sqlstate="42501", hint=hint, position=1)
    if words[1] == "(":
        inner = tail(statement, 2, close - 1)
    else:
        table = tail(statement, 1, close)
        opening = next((i for i, word in enumerate(table.words) if word == "("), None)
        columns = "*" if opening is None else table.text[table.tokens[opening].end : table.tokens[-1].start]
        name = table.text if opening is None else table.text[: table.tokens[opening].start]
        written = f"SELECT {columns} FROM {name}"  # noqa: S608  the gateway reads it as it reads any question
        inner = replace(statements(written)[0], offset=table.offset)
    return _copy_options(inner, statement.tokens[close + 2 :])


def _copy_options(inner: SqlStatement, tokens: tuple[SqlToken, ...]) -> CopyOut:
    """Both ways to write them: (FORMAT csv, HEADER) and CSV HEADER."""
    values = [_value(token) if token.kind != WORD else token.word for token in tokens]
    options: dict[str, str] = {}
    padded = [*values, "", "", ""]
    for i, word in enumerate(value.lower() for value in values):
        following, after = padded[i + 1 : i + 3]
        if word in ("csv", "binary", "text"):
            options["form"] = word
        elif word == "header":
            options["header"] = following.lower() if following.lower() in ("false", "off", "0") else "on"
        elif word in ("delimiter", "null", "quote") and tokens[i].kind == WORD:
            options[word] = following if following != "as" else after
        elif word in ("force_quote", "escape", "encoding", "force", "freeze"):
            raise QueryError(f"COPY with {word} is not supported", sqlstate="0A000", position=tokens[i].start + 1)
    form = options.get("form", "text")
    csv = form == "csv"
    delimiter = options.get("delimiter", "," if csv else "\t")
    if len(delimiter.encode()) != 1 or len(options.get("quote", '"').encode()) != 1:
        raise QueryError("COPY delimiter and quote must be one byte each", sqlstate="22023")
    null = options.get("null", "" if csv else "\\N")
    header = options.get("header", "off") == "on"
    return CopyOut(inner, form, header, delimiter, null, options.get("quote", '"'))


def _nothing(statement: SqlStatement, words: tuple[str, ...]) -> Command:  # noqa: ARG001  the shape of all readers
    return NoOpCommand(words[0].upper())


_READERS: dict[str, Callable[[SqlStatement, tuple[str, ...]], Command]] = {
    **dict.fromkeys(("begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"), _transaction),
    "set": _set,
    "reset": _reset,
    "show": _show,
    "prepare": _prepare,
    "execute": _run,
    "declare": _declare,
    **dict.fromkeys(("fetch", "move"), _fetch),
    **dict.fromkeys(("discard", "deallocate", "close"), _forget),
    "explain": _explain,
    "copy": _copy,
    **dict.fromkeys(("listen", "unlisten"), _nothing),
}
