"""Parameters: `$1` in a prepared statement becomes a literal, by its type, before the question is parsed.

Comes in: a statement with its tokens, and values. Goes out: which parameters it has, the types that their places ask
for, and text with literals in their stead. Every value is one literal for the parser too: its own tokenizer is asked.

Guarantee: a value never becomes anything but a literal of the statement that was prepared.
Proof: it is written in quotes that are doubled inside, or as digits, with blanks around it and a minus sign in
parentheses; then the parser's tokenizer must find exactly these tokens at exactly these places, or it is refused.
Reference: PostgreSQL 15, chapter 4.1.2, lexical structure of constants.
Checked by: end_to_end::a_value_stays_a_literal_whatever_it_holds
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import errors as sqlglot_errors

from sfumato.algebra.interval_values import Span, clocked
from sfumato.errors import QueryError
from sfumato.interrupts import step
from sfumato.sql.read.lexer import PARAMETER, SIGN, WORD, SqlStatement, SqlToken, statements
from sfumato.types import string

MOST = 65_535
"""Parameters of one statement: the wire counts them in two bytes."""


@dataclass(frozen=True, slots=True)
class FilledStatement:
    """Text with its literals, and how a place in it is found again in the statement as it was written."""

    text: str
    moved: tuple[tuple[int, int, int], ...] = ()

    def place(self, position: int) -> int:
        """The place, from 1, in the statement with parameters."""
        shift = 0
        for at, size, was in self.moved:
            if position - 1 < at:
                break
            if position - 1 < at + size:
                return at - shift + 1
            shift += size - was
        return position - shift


def numbers(statement: SqlStatement) -> int:
    """How many parameters a statement has: the highest number in it."""
    return max((_number(token) for token in statement.tokens if token.kind == PARAMETER), default=0)


def _number(token: SqlToken) -> int:
    """N of `$N`."""
    digits = token.text[1:]
    if len(digits) > len(str(MOST)) or not 0 < int(digits) <= MOST:
        raise QueryError("there is no such parameter", sqlstate="42P02", hint="Parameters are $1, $2, and so on.")
    return int(digits)


def fill(
    statement: SqlStatement, values: Sequence[Any], check: Callable[[int], None] = lambda _: None
) -> FilledStatement:
    """The statement with literals in the place of its parameters; `check` is told how long it is as it grows, for one
    value may stand in thousands of places.
    """
    if numbers(statement) > len(values):
        raise QueryError(
            f"the statement has {numbers(statement)} parameters, but {len(values)} values were given", sqlstate="08P01"
        )
    pieces, moved, last, size = [], [], 0, 0
    for start, end, text in _replacements(statement, values):
        step()
        pieces += [statement.text[last:start], text]
        size += start - last
        moved.append((size, len(text), end - start))
        size += len(text)
        check(size)
        last = end
    filled = FilledStatement("".join([*pieces, statement.text[last:]]), tuple(moved))
    _check(statement, filled)
    return filled


def _replacements(statement: SqlStatement, values: Sequence[Any]) -> Iterator[tuple[int, int, str]]:
    tokens = statement.tokens
    for i, token in enumerate(tokens):
        if token.kind != PARAMETER:
            continue
        value = values[_number(token) - 1]
        if isinstance(value, list | tuple):
            first, last = _any_of(tokens, i)
            yield tokens[first].start, tokens[last].end, _listed(value, tokens[first].text != "=")
        else:
            yield token.start, token.end, f" {literal(value)} "


_CAST = 16
"""Words and signs that a parameter has before its bracket closes, with a cast."""


def _any_of(tokens: tuple[SqlToken, ...], at: int) -> tuple[int, int]:
    """The span of `= ANY ($1)` or `<> ALL ($1)` around a parameter that is a list."""
    near = range(at + 1, min(at + _CAST, len(tokens)))
    first = at - 2 if at > 1 and [token.word for token in tokens[at - 2 : at]] == ["cast", "("] else at
    closing = [i for i in near if tokens[i].text == ")"][: 1 if first == at else 2]
    before = [token.word for token in tokens[max(0, first - 3) : first]]
    known = (["=", "any", "("], ["=", "some", "("], ["<>", "all", "("], ["!=", "all", "("])
    if before not in known or len(closing) < (1 if first == at else 2):
        raise QueryError(
            "a list can only be used in = ANY or <> ALL", position=tokens[at].start + 1, hint="Write x = ANY ($1)."
        )
    return first - 3, closing[-1]


def _listed(values: Sequence[Any], negated: bool) -> str:
    """`x = ANY (list)` as IN; an empty list is false, and its negation true, also for NULL."""
    word = "NOT IN" if negated else "IN"
    if not values:
        return f" {word} (NULL) IS {'NOT FALSE' if negated else 'TRUE'} "
    return f" {word} ({', '.join(literal(value) for value in values)}) "


def literal(value: Any) -> str:
    """A value in SQL; what has no literal is refused."""
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, int | Decimal):
        if isinstance(value, Decimal) and not value.is_finite():
            raise QueryError(f"{value} is not a number that can be compared", sqlstate="22003")
        text = f"{value:f}" if isinstance(value, Decimal) else str(value)
        return f"({text})" if text.startswith("-") else text
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(' ', 'microseconds')}'"
    if isinstance(value, date | time):
        return f"{'DATE' if isinstance(value, date) else 'TIME'} '{value.isoformat()}'"
    if isinstance(value, Span):
        return f"INTERVAL '{clocked(value)}'"
    if isinstance(value, str):
        if "\x00" in value:
            raise QueryError("text cannot hold a zero byte", sqlstate="22021")
        return string(value)
    raise QueryError(f"a parameter of type {type(value).__name__} is not supported")


def _check(statement: SqlStatement, filled: FilledStatement) -> None:
    """The parser's tokenizer, and ours, see the literals and nothing else in the new places."""
    if not filled.moved:
        return
    parts = [filled.text[at : at + size] for at, size, _ in filled.moved]
    first = _query_start(statement)
    if first > filled.moved[0][0]:
        raise QueryError("a value can only be used in a query", sqlstate="0A000", position=first + 1)
    places = [(at - first, size) for at, size, _ in filled.moved]
    try:
        known = {part: [(t.token_type, t.text) for t in sqlglot.tokenize(part, read="postgres")] for part in set(parts)}
        seen = sqlglot.tokenize(filled.text[first:], read="postgres")
    except sqlglot_errors.SqlglotError:
        raise QueryError("the statement cannot be read", sqlstate="42601") from None
    inside: list[list[tuple[Any, str]]] = [[] for _ in parts]
    which = 0
    for token in seen:
        while which < len(parts) and token.start >= sum(places[which]):
            which += 1
        if which < len(parts) and token.start >= places[which][0]:
            ends_inside = token.end < sum(places[which])
            inside[which].append((token.token_type, token.text if ends_inside else ""))
    if inside != [known[part] for part in parts] or len(statements(filled.text)) != len(statements(statement.text)):
        raise QueryError("a value cannot be used at this place of the statement", sqlstate="0A000")


_BEFORE = ("declare", "explain", "copy", "prepare")
"""Words before a query, for which the parser has one token and nothing inside."""


def _query_start(statement: SqlStatement) -> int:
    """Where the query begins in a statement that has other words before it."""
    tokens = statement.tokens
    if tokens[0].word not in _BEFORE:
        return 0
    return next((token.start for token in tokens if token.word in ("select", "with", "values")), len(statement.text))


def types(statement: SqlStatement, columns: Mapping[str, str]) -> dict[int, str]:
    """The type that each parameter's place asks for, in PostgreSQL's words; `columns` are the types of known names.

    A cast says it, else the nearest word beside an operator that compares or computes; what nothing says is text.
    """
    found: dict[int, str] = {}
    stops = _stops(statement.tokens)
    for i, token in enumerate(statement.tokens):
        if token.kind == PARAMETER:
            step()
            kind = _cast(statement.tokens, i) or _beside(statement.tokens, i, columns, stops)
            number = _number(token)
            if kind is not None and found.get(number, kind) == kind:
                found[number] = kind
    return {number: found.get(number, "text") for number in range(1, numbers(statement) + 1)}


_COMPARE = ("=", "<>", "!=", "<", ">", "<=", ">=", "like", "ilike", "in", "between", "is")
_COMPUTE = ("+", "-", "*", "/", "%")
_PASSED = ("(", ")", ",", "[", "array", "not", "distinct", "from", "symmetric", "and", "any", "some", "all")


def _cast(tokens: tuple[SqlToken, ...], at: int) -> str | None:
    """`$1::type` or `CAST($1 AS type)`."""
    after = tokens[at + 1 : at + 7]
    if len(after) > 1 and (after[0].text == "::" or after[0].word == "as") and after[1].kind == WORD:
        if after[0].word == "as" and not (at > 1 and tokens[at - 2].word == "cast"):
            return None
        words = [token.word for token in after[1:]]
        if "pg_catalog" in words[:1]:
            words = words[2:]
        name = " ".join(words[:2]) if words[:2] in (["double", "precision"], ["character", "varying"]) else words[0]
        name = "character" if name == "char" else name  # without quotes it is not the type of one byte
        return f"{name}[]" if "[" in words[1:4] and "]" in words[1:5] else name
    return None


def _stops(tokens: tuple[SqlToken, ...]) -> list[int]:
    """For each token the nearest one, itself or before it, that is no value, bracket or comma of a list: found in one
    walk, for a list may have thousands of parameters.
    """
    found: list[int] = []
    for i, token in enumerate(tokens):
        passed = i > 0 and (token.word in _PASSED or _is_value(token))
        found.append(found[i - 1] if passed else i)
    return found


def _beside(tokens: tuple[SqlToken, ...], at: int, columns: Mapping[str, str], stops: list[int]) -> str | None:
    """What a parameter is compared or computed with."""
    before = at - 1
    if before >= 0 and tokens[before].word in ("limit", "offset", "fetch"):
        return "bigint"
    listed = before > 0 and tokens[before].text == "(" and tokens[before - 1].word in ("any", "some", "all")
    before = stops[before] if before > 0 else before
    if before > 0 and tokens[before].word in (*_COMPARE, *_COMPUTE):
        kind = _named(tokens, before - 1, columns, -1)
        if kind is not None:
            return _computed(kind, tokens[before].word) if not listed else f"{kind}[]"
    after = at + 1
    if after + 1 < len(tokens) and tokens[after].word in (*_COMPARE, *_COMPUTE):
        kind = _named(tokens, after + 1, columns, 1)
        return None if kind is None else _computed(kind, tokens[after].word)
    return None


def _is_value(token: SqlToken) -> bool:
    return token.kind not in (WORD, SIGN, "quoted")


def _named(tokens: tuple[SqlToken, ...], at: int, columns: Mapping[str, str], step: int) -> str | None:
    """The type of the nearest known column, or of a literal, walking away from the operator."""
    for _ in range(6):
        if not 0 <= at < len(tokens):
            return None
        token = tokens[at]
        name = token.text.strip('"') if token.kind == "quoted" else token.word
        if token.kind in (WORD, "quoted") and name in columns:
            return "interval" if columns[name] == "timestamp" and _is_difference(tokens, at, columns) else columns[name]
        if token.word in ("count", "sum", "avg"):
            return "bigint" if token.word == "count" else "numeric"
        if token.kind == "number":
            return "numeric" if "." in token.text else "bigint"
        if token.word in ("and", "or", "where", "having", "on", "select", ",", "then", "when"):
            return None
        at += step
    return None


def _is_difference(tokens: tuple[SqlToken, ...], at: int, columns: Mapping[str, str]) -> bool:
    """Whether the timestamp at this place is taken from another one, or another one from it."""
    words = [token.text.strip('"') if token.kind == "quoted" else token.word for token in tokens]
    start = at - 2 if at > 1 and words[at - 1] == "." else at  # with the name of its table
    before = words[start - 2 : start] if start > 1 else []
    after = words[at + 1 : at + 5]
    other = (
        before[0]
        if before[1:] == ["-"]
        else after[3]
        if after[2:3] == ["."] and len(after) > 3
        else "".join(after[1:2])
    )
    return "-" in (*before[1:], *after[:1]) and columns.get(other) == "timestamp"


def _computed(kind: str, sign: str) -> str:
    """A date plus something is a date plus days, a timestamp plus something is moved by an interval."""
    if kind == "timestamp" and sign == "+":
        return "interval"
    return "bigint" if kind == "date" and sign in ("+", "-") else kind
