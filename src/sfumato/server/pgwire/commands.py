"""What a client may send: a query or a session command, as records.

Comes in: nothing. Goes out: the records that `reading` makes of statements, and that `shelf` and `state` act on.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.sql.read.lexer import SqlStatement


@dataclass(frozen=True, slots=True)
class SelectCommand:
    """SELECT, or anything that is no command: the gateway answers or refuses it."""

    statement: SqlStatement


@dataclass(frozen=True, slots=True)
class Explain:
    """The free preview of a question."""

    statement: SqlStatement


@dataclass(frozen=True, slots=True)
class CopyOut:
    """COPY (question) TO STDOUT."""

    statement: SqlStatement
    form: str = "text"
    header: bool = False
    delimiter: str = "\t"
    null: str = "\\N"
    quote: str = '"'


@dataclass(frozen=True, slots=True)
class Transaction:
    """begin, commit, rollback, savepoint, release, rollback to."""

    word: str
    name: str = ""
    chain: bool = False


@dataclass(frozen=True, slots=True)
class Set:
    """SET and RESET; value None is the default, name None is all."""

    name: str | None
    value: str | None
    local: bool = False
    tag: str = "SET"


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW."""

    name: str


@dataclass(frozen=True, slots=True)
class Prepare:
    """PREPARE name AS statement."""

    name: str
    types: tuple[str, ...]
    statement: SqlStatement


@dataclass(frozen=True, slots=True)
class ExecuteCommand:
    """EXECUTE name (values)."""

    name: str
    values: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Declare:
    """DECLARE name CURSOR FOR question."""

    name: str
    hold: bool
    statement: SqlStatement


@dataclass(frozen=True, slots=True)
class Fetch:
    """FETCH or MOVE: how many rows from where; `count` None is all."""

    cursor: str
    count: int | None
    direction: str = "forward"
    move: bool = False


@dataclass(frozen=True, slots=True)
class DiscardCommand:
    """DISCARD, DEALLOCATE, CLOSE: what is forgotten; name None is all."""

    what: str
    name: str | None
    tag: str


@dataclass(frozen=True, slots=True)
class NoOpCommand:
    """A command that has nothing to do here."""

    tag: str


Command = (
    SelectCommand | Explain | CopyOut | Transaction | Set | Show | Prepare | ExecuteCommand | Declare | Fetch
    | DiscardCommand
    | NoOpCommand
)  # fmt: skip
