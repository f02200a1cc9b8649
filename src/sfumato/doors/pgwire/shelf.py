"""What a session keeps: settings, the transaction, prepared statements, portals; and what a command does to them.

Comes in: commands. Goes out: results, and Work where the gateway is needed. A question is answered in `run` and nowhere
else; looking at columns never runs one. No bytes, no sockets, no threads.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from sfumato.doors.pgwire.blocks import FAILED, IDLE, Block
from sfumato.doors.pgwire.commands import (
    Command,
    CopyOut,
    Declare,
    Explain,
    Fetch,
    Forget,
    Nothing,
    Prepare,
    Question,
    Run,
    Set,
    Show,
    Transaction,
)
from sfumato.doors.pgwire.messages import TEXT
from sfumato.doors.pgwire.portals import Portal, Prepared
from sfumato.doors.pgwire.reading import moved, placed_command, read, written_options
from sfumato.doors.pgwire.results import BUDGET_FIELDS, PLAN_FIELDS, Field, Result, Task, Work
from sfumato.doors.pgwire.settings import Options, Settings, spelled
from sfumato.doors.pgwire.types import BY_ARRAY, BY_OID, decode, oid_of
from sfumato.errors import QueryError, SfumatoError
from sfumato.sql.lexer import Statement
from sfumato.sql.parameters import fill, numbers, types

Steps = Generator[bytes | Work, Any, Any]
BUDGET = "sfumato.budget"
_SAMPLES: dict[str, Any] = {"bool": True, "int": 1, "float": 1, "numeric": 1, "text": "a"}


class Shelf:
    """The memory of one session. `columns` are the types of known column names, for parameters."""

    def __init__(self, settings: Settings, columns: Mapping[str, str]) -> None:
        self.settings, self._columns = settings, columns
        self.block = Block(settings)
        self.statements: dict[str, Prepared] = {}
        self.portals: dict[str, Portal] = {}

    def options(self, kind: Command | None) -> Options:
        """What a question is asked with, from the settings and the comment before it."""
        inner = getattr(kind, "statement", None)
        return self.settings.options({} if inner is None else written_options(inner))

    def statement(self, name: str) -> Prepared:
        """A prepared statement, or 26000."""
        if name not in self.statements:
            raise self._missing("statement", name)
        return self.statements[name]

    def portal(self, name: str) -> Portal:
        """A portal or cursor, or 34000."""
        if name not in self.portals:
            raise self._missing("cursor", name)
        return self.portals[name]

    def _missing(self, what: str, name: str) -> QueryError:
        if what == "statement":
            return QueryError(f'prepared statement "{name}" does not exist', sqlstate="26000")
        return QueryError(f'cursor "{name}" does not exist', sqlstate="34000")

    def guard(self, kind: Command | None) -> None:
        """In a failed transaction nothing but its end is heard."""
        ends = isinstance(kind, Transaction) and kind.word in ("commit", "rollback", "rollback to")
        if self.block.status == FAILED and not ends:
            raise QueryError(
                "current transaction is aborted, commands ignored until end of transaction block",
                sqlstate="25P02",
                hint="Send ROLLBACK; what was spent stays spent.",
            )

    def end_of_message(self) -> None:
        """Outside of a transaction nothing outlives its message but cursors WITH HOLD."""
        self.block.leave()
        if self.block.status == IDLE:
            self.portals = {name: portal for name, portal in self.portals.items() if portal.hold}

    def prepared(self, statement: Statement | None, given: tuple[int, ...]) -> Prepared:
        """A statement with the types of its parameters: those that were given, else what their places ask for."""
        if statement is None:
            return Prepared(None, None)
        kind = placed_command(statement)
        self.guard(kind)
        wanted = types(statement, self._columns)
        count = max(numbers(statement), len(given))
        oids = tuple(
            given[i] if i < len(given) and given[i] not in (0, 705) else oid_of(wanted.get(i + 1, "text"))
            for i in range(count)
        )
        return Prepared(statement, kind, oids)

    def filled(self, prepared: Prepared, values: list[Any], options: Options, formats: tuple[int, ...]) -> Portal:
        """A portal: the statement with its values written into it, so that one walk answers both protocols."""
        if prepared.statement is None or not prepared.oids:
            return Portal(prepared.command, prepared, options, None, formats)
        filled = fill(prepared.statement, values)
        return Portal(read(filled.text)[0][1], prepared, options, filled, formats)

    def sampled(self, prepared: Prepared, options: Options) -> Steps:
        """The columns of a statement whose values are not known yet: with samples of their types in their places."""
        if options.intervals in prepared.looked:
            return prepared.looked[options.intervals]
        sample = self.filled(prepared, [_sample(oid) for oid in prepared.oids], options, ())
        try:
            return (yield from self.fields(sample))
        except SfumatoError as error:
            if not prepared.oids:
                raise
            try:
                nothing = self.filled(prepared, [None] * len(prepared.oids), options, ())
                return (yield from self.fields(nothing))
            except SfumatoError:
                raise error from None

    def fields(self, portal: Portal) -> Steps:
        """The columns that a portal will have; nothing is run for it."""
        if portal.result is not None:
            return portal.result.fields
        kind, prepared = portal.command, portal.prepared
        known = {} if prepared is None else prepared.looked
        if portal.options.intervals not in known:
            known[portal.options.intervals] = yield from self._looked(kind, portal)
        return known[portal.options.intervals]

    def _looked(self, kind: Command | None, portal: Portal) -> Steps:
        if isinstance(kind, Question):
            return (yield from self._work(Task.LOOK, kind.statement, portal))
        if isinstance(kind, Explain):
            return PLAN_FIELDS
        if isinstance(kind, Show):
            return self._show_fields(kind)
        if isinstance(kind, Fetch) and not kind.move:
            return (yield from self.fields(self.portal(kind.cursor)))
        if isinstance(kind, Run):
            return (yield from self.fields(self._runs(kind)))
        return None

    def run(self, kind: Command, portal: Portal) -> Steps:
        """The result of one command. A question is answered here and nowhere else: this spends."""
        if isinstance(kind, Question | CopyOut | Explain):
            task = Task.PREVIEW if isinstance(kind, Explain) else Task.ANSWER
            result = yield from self._work(task, kind.statement, portal)
            for name, value, local in result.sets:
                self.settings.set(name, value, local=local)
            return result
        if isinstance(kind, Fetch):
            return (yield from self._fetch(kind))
        if isinstance(kind, Run):
            return (yield from self._execute(kind))
        if isinstance(kind, Show) and spelled(kind.name) == BUDGET:
            return (yield Work(Task.BUDGET))
        if isinstance(kind, Transaction):
            result = self.block.run(kind)
            self.end_of_message()
            return result
        return self._command(kind, portal)

    def _work(self, task: Task, statement: Statement, portal: Portal) -> Steps:
        try:
            return (yield Work(task, statement.text, portal.options, self.settings.all(), self.settings.timeout()))
        except SfumatoError as error:
            placed = moved(error, statement.offset)
            if portal.filled is not None and placed.position:
                placed.position = portal.filled.place(placed.position)
            raise placed from None

    def _command(self, kind: Command, portal: Portal) -> Result:
        if isinstance(kind, Set):
            if kind.name is None:
                self.settings.reset()
            else:
                self.settings.set(kind.name, kind.value, local=kind.local)
            return Result(tag=kind.tag)
        if isinstance(kind, Show):
            return self._show(kind)
        if isinstance(kind, Prepare):
            if kind.name in self.statements:
                raise QueryError(f'prepared statement "{kind.name}" already exists', sqlstate="42P05")
            self.statements[kind.name] = self.prepared(kind.statement, tuple(oid_of(name) for name in kind.types))
            return Result(tag="PREPARE")
        if isinstance(kind, Declare):
            return self._declare(kind, portal)
        if isinstance(kind, Forget):
            return self._forget(kind)
        assert isinstance(kind, Nothing)
        return Result(tag=kind.tag)

    def _show_fields(self, kind: Show) -> tuple[Field, ...]:
        if spelled(kind.name) == BUDGET:
            return BUDGET_FIELDS
        if kind.name == "all":
            return (Field("name", "text"), Field("setting", "text"), Field("description", "text"))
        return (Field(spelled(kind.name), "text"),)

    def _show(self, kind: Show) -> Result:
        if kind.name == "all":
            rows = [(name, value, "") for name, value in self.settings.all()]
            return Result(self._show_fields(kind), rows, "SHOW")
        return Result(self._show_fields(kind), [(self.settings.get(kind.name),)], "SHOW")

    def _declare(self, kind: Declare, portal: Portal) -> Result:
        if self.block.status == IDLE and not kind.hold:
            raise QueryError("DECLARE CURSOR can only be used in transaction blocks", sqlstate="25P01")
        if kind.name in self.portals:
            raise QueryError(f'cursor "{kind.name}" already exists', sqlstate="42P03")
        inner = placed_command(kind.statement)
        made = Portal(inner, None, self.options(inner), portal.filled, hold=kind.hold, cursor=True)
        self.portals[kind.name] = made
        return Result(tag="DECLARE CURSOR")

    def _fetch(self, kind: Fetch) -> Steps:
        cursor = self.portal(kind.cursor)
        if cursor.result is None and cursor.command is not None:
            cursor.result = yield from self.run(cursor.command, cursor)
            notices = cursor.result.notices
        else:
            notices = []
        assert cursor.result is not None
        rows = cursor.fetch(kind)
        if kind.move:
            return Result(tag=f"MOVE {len(rows)}", notices=notices)
        return Result(cursor.result.fields, rows, "FETCH", notices)

    def _runs(self, kind: Run) -> Portal:
        """EXECUTE name (values): the portal that it stands for."""
        prepared = self.statement(kind.name)
        if len(kind.values) != len(prepared.oids):
            raise QueryError(
                f'wrong number of parameters for prepared statement "{kind.name}"',
                detail=f"It takes {len(prepared.oids)}, but was given {len(kind.values)}.",
                sqlstate="42601",
            )
        values = [
            decode(None if value is None else value.encode(), oid, TEXT)
            for value, oid in zip(kind.values, prepared.oids, strict=True)
        ]
        return self.filled(prepared, values, self.options(prepared.command), ())

    def _execute(self, kind: Run) -> Steps:
        portal = self._runs(kind)
        if portal.command is None:
            return Result(tag="")
        return (yield from self.run(portal.command, portal))

    def _forget(self, kind: Forget) -> Result:
        if kind.what == "everything":
            if self.block.status != IDLE:
                raise QueryError("DISCARD ALL cannot run inside a transaction block", sqlstate="25001")
            self.statements.clear()
            self.portals.clear()
            self.settings.reset()
        elif kind.what != "nothing":
            kept: dict[str, Any] = self.statements if kind.what == "statement" else self.portals
            if kind.name is None:
                kept.clear()
            elif kept.pop(kind.name, None) is None:
                raise self._missing(kind.what, kind.name)
        return Result(tag=kind.tag)


def _sample(oid: int) -> Any:
    """A value of a type, for a look at the columns."""
    if oid in BY_ARRAY:
        return [_sample(BY_ARRAY[oid].oid)]
    family = BY_OID[oid].family if oid in BY_OID else "text"
    if family in ("date", "timestamp"):
        return decode(b"2020-01-01", oid, TEXT)
    return _SAMPLES.get(family, "a")
