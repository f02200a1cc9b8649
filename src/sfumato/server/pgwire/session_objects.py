"""What a session keeps: settings, the transaction, prepared statements, portals; and what each command does to them.

Comes in: commands. Goes out: results, and Work where the gateway is needed. A question is answered in `run` and nowhere
else; looking at columns never runs one. No bytes, no sockets, no threads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from datetime import time
from functools import partial
from typing import Any

from sfumato.errors import QueryError, SfumatoError
from sfumato.server.per_user_limits import Allowance
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
from sfumato.server.pgwire.messages import TEXT
from sfumato.server.pgwire.portals import Portal, PreparedStatement
from sfumato.server.pgwire.results import BUDGET_FIELDS, PLAN_FIELDS, Field, Result, WireTask, Work
from sfumato.server.pgwire.settings import Options, Settings, check_zone, spelled
from sfumato.server.pgwire.statement_kinds import (
    KEPT,
    SHORT,
    check_length,
    moved,
    placed_command,
    read,
    weight_of,
    written_options,
)
from sfumato.server.pgwire.transaction_blocks import FAILED, IDLE, TransactionBlock
from sfumato.server.pgwire.types import BY_ARRAY, BY_OID, decode, oid_of
from sfumato.sql.read.lexer import SqlStatement
from sfumato.sql.read.parameters import FilledStatement, fill, numbers, types

Steps = Generator[bytes | Work, Any, Any]
BUDGET = "sfumato.budget"
MOST = 1000
"""Prepared statements, and cursors, of one session."""
_BY_TEXT = ("42", "0A", "54")
"""Classes of refusals that are about the text of a question, not about a value in it."""
_LIMIT = "54"
"""The class of limits: other values of the same types are planned as long, and are refused as well."""
_WORDS = ("day", "2020-01-01", "1 day", "1")
"""Texts that a place may take which takes no other: a unit of time, a moment, an interval, a number."""
_FILLING = 4
"""Filling in values takes so many times as long as reading the text: both tokenizers read it before and after."""
_POINTER = 8
"""Bytes of a row that somebody else holds."""
_SAMPLES: dict[str, Any] = {"bool": True, "int": 1, "float": 1, "numeric": 1, "text": "a", "time": time(12)}


def computed(make: Callable[[], Any], size: int) -> Steps:
    """What a function returns: called here where its text is short, and elsewhere where it takes long."""
    return make() if size <= SHORT else (yield Work(WireTask.COMPUTE, compute=make))


class SessionObjects:
    """The memory of one session. `columns` are the types of known column names, for parameters."""

    def __init__(self, settings: Settings, columns: Mapping[str, str], allowance: Allowance) -> None:
        self.settings, self._columns, self.allowance = settings, columns, allowance
        self.block = TransactionBlock(settings)
        self.statements: dict[str, PreparedStatement] = {}
        self.portals: dict[str, Portal] = {}

    def options(self, kind: Command | None) -> Options:
        """What a question is asked with, from the settings and the comment before it."""
        inner = getattr(kind, "statement", None)
        return self.settings.options({} if inner is None else written_options(inner))

    def statement(self, name: str) -> PreparedStatement:
        """A prepared statement, or 26000."""
        if name not in self.statements:
            raise self._missing("statement", name)
        return self.statements[name]

    def portal(self, name: str) -> Portal:
        """A portal or cursor, or 34000."""
        if name not in self.portals:
            raise self._missing("cursor", name)
        return self.portals[name]

    def keep_statement(self, name: str, prepared: PreparedStatement) -> None:
        """Keep a prepared statement, as long as there are not too many."""
        self.allowance.hold(prepared, weight_of(prepared.statement))
        _put(self.statements, name, prepared, "prepared statements")

    def keep_portal(self, name: str, portal: Portal) -> None:
        """Keep a portal or cursor, as long as there are not too many; its text counts unless a statement holds it."""
        shared = portal.prepared is not None and portal.command is portal.prepared.command
        filled = 0 if portal.filled is None else len(portal.filled.text)
        self.allowance.hold(portal, 0 if shared else filled + weight_of(getattr(portal.command, "statement", None)))
        _put(self.portals, name, portal, "cursors")

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

    def prepared(self, statement: SqlStatement | None, given: tuple[int, ...]) -> PreparedStatement:
        """A statement with the types of its parameters: those that were given, else what their places ask for."""
        if statement is None:
            return PreparedStatement(None, None)
        kind = placed_command(statement)
        self.guard(kind)
        wanted = types(statement, self._columns)
        count = max(numbers(statement), len(given))
        oids = tuple(
            given[i] if i < len(given) and given[i] not in (0, 705) else oid_of(wanted.get(i + 1, "text"))
            for i in range(count)
        )
        return PreparedStatement(statement, kind, oids)

    def checked(self, prepared: PreparedStatement, options: Options) -> Steps:
        """Refuse a question when it is prepared, if no value could mend it; nothing is run for it.

        PostgreSQL does, and drivers rely on it: after an error that comes later some of them are out of step.
        """
        if not isinstance(prepared.command, SelectCommand):
            return
        if not prepared.oids:
            yield from self.fields(Portal(prepared.command, prepared, options))
            return
        refused: list[SfumatoError] = []
        for values in _samples(prepared):
            try:
                portal = yield from self.filled(prepared, values, options, ())
                yield from self.fields(replace(portal, prepared=None))
                return
            except SfumatoError as error:
                if error.sqlstate.startswith(_LIMIT):
                    raise
                refused.append(error)
        if len({(error.sqlstate, error.message) for error in refused}) == 1 and refused[0].sqlstate[:2] in _BY_TEXT:
            raise refused[0]

    def filled(
        self, prepared: PreparedStatement, values: list[Any], options: Options, formats: tuple[int, ...]
    ) -> Steps:
        """A portal: the statement with its values written into it, so that one walk answers both protocols."""
        if prepared.statement is None or not prepared.oids:
            return Portal(prepared.command, prepared, options, None, formats)
        size = len(prepared.statement.text) + sum(len(v) if isinstance(v, str | list) else 8 for v in values)
        check_length(size)
        filled, command = yield from computed(partial(_fill, prepared.statement, values), _FILLING * size)
        return Portal(command, prepared, options, filled, formats)

    def sampled(self, prepared: PreparedStatement, options: Options) -> Steps:
        """The columns of a statement whose values are not known yet: with samples of their types in their places."""
        if options.intervals in prepared.looked:
            return prepared.looked[options.intervals]
        refused: SfumatoError | None = None
        for values in _samples(prepared):
            try:
                return (yield from self.fields((yield from self.filled(prepared, values, options, ()))))
            except SfumatoError as error:
                if error.sqlstate.startswith(_LIMIT):
                    raise
                refused = refused or error
        assert refused is not None
        raise refused

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
        if isinstance(kind, SelectCommand):
            return (yield from self._work(WireTask.LOOK, kind.statement, portal))
        if isinstance(kind, Explain):
            return PLAN_FIELDS
        if isinstance(kind, Show):
            return self._show_fields(kind)
        if isinstance(kind, Fetch) and not kind.move:
            return (yield from self.fields(self.portal(kind.cursor)))
        if isinstance(kind, ExecuteCommand):
            return (yield from self.fields((yield from self._runs(kind))))
        return None

    def run(self, kind: Command, portal: Portal) -> Steps:
        """The result of one command. A question is answered here and nowhere else: this spends."""
        if isinstance(kind, SelectCommand | CopyOut | Explain):
            task = WireTask.PREVIEW if isinstance(kind, Explain) else WireTask.ANSWER
            result = replace((yield from self._work(task, kind.statement, portal)))  # what is at hand is held elsewhere
            self.allowance.hold(result, result.size)
            _check_described(portal, result)
            for name, value, local in result.sets:
                self.settings.set(name, value, local=local)
            return result
        if isinstance(kind, Fetch):
            return (yield from self._fetch(kind))
        if isinstance(kind, ExecuteCommand):
            return (yield from self._execute(kind))
        if isinstance(kind, Show) and spelled(kind.name) == BUDGET:
            return (yield Work(WireTask.BUDGET))
        if isinstance(kind, Transaction):
            result = self.block.run(kind, self.allowance)
            self.end_of_message()
            return result
        if isinstance(kind, Prepare):
            result = yield from self._prepare(kind)
        elif isinstance(kind, Declare):
            result = yield from self._declare(kind, portal)
        else:
            result = self._command(kind)
        return result

    def _work(self, task: WireTask, statement: SqlStatement, portal: Portal) -> Steps:
        try:
            check_zone(statement, self.settings.get("TimeZone"))
            return (yield Work(task, statement.text, portal.options, self.settings.all(), self.settings.timeout()))
        except SfumatoError as error:
            placed = moved(error, statement.offset)
            if portal.filled is not None and placed.position:
                placed.position = portal.filled.place(placed.position)
            raise placed from None

    def _command(self, kind: Command) -> Result:
        if isinstance(kind, Set):
            if kind.name is None:
                self.settings.reset()
            else:
                self.settings.set(kind.name, kind.value, local=kind.local)
            return Result(tag=kind.tag)
        if isinstance(kind, Show):
            return self._show(kind)
        if isinstance(kind, DiscardCommand):
            return self._forget(kind)
        assert isinstance(kind, NoOpCommand)
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

    def _prepare(self, kind: Prepare) -> Steps:
        if kind.name in self.statements:
            raise QueryError(f'prepared statement "{kind.name}" already exists', sqlstate="42P05")
        make = partial(self.prepared, kind.statement, tuple(oid_of(name) for name in kind.types))
        self.keep_statement(kind.name, (yield from computed(make, len(kind.statement.text))))
        return Result(tag="PREPARE")

    def _declare(self, kind: Declare, portal: Portal) -> Steps:
        if self.block.status == IDLE and not kind.hold:
            raise QueryError("DECLARE CURSOR can only be used in transaction blocks", sqlstate="25P01")
        if kind.name in self.portals:
            raise QueryError(f'cursor "{kind.name}" already exists', sqlstate="42P03")
        inner = yield from computed(partial(placed_command, kind.statement), len(kind.statement.text))
        made = Portal(inner, None, self.options(inner), portal.filled, hold=kind.hold, cursor=True)
        self.keep_portal(kind.name, made)
        return Result(tag="DECLARE CURSOR")

    def _fetch(self, kind: Fetch) -> Steps:
        cursor = self.portal(kind.cursor)
        if cursor.result is None and cursor.command is not None:
            cursor.result = yield from self.run(cursor.command, cursor)
            notices = cursor.result.notices
        else:
            notices = []
        assert cursor.result is not None
        passed = cursor.move(kind)
        if kind.move:
            return Result(tag=f"MOVE {len(passed)}", notices=notices)
        fetched = Result(cursor.result.fields, cursor.rows(passed), "FETCH", notices)
        self.allowance.hold(fetched, _POINTER * len(passed))
        return fetched

    def _runs(self, kind: ExecuteCommand) -> Steps:
        """EXECUTE name (values): the portal that it stands for."""
        prepared = self.statement(kind.name)
        if len(kind.values) != len(prepared.oids):
            raise QueryError(
                f'wrong number of parameters for prepared statement "{kind.name}"',
                detail=f"It takes {len(prepared.oids)}, but was given {len(kind.values)}.",
                sqlstate="42601",
            )
        size = sum(len(value) for value in kind.values if value is not None)
        values = yield from computed(partial(_decoded, kind.values, prepared.oids), size)
        return (yield from self.filled(prepared, values, self.options(prepared.command), ()))

    def _execute(self, kind: ExecuteCommand) -> Steps:
        portal = yield from self._runs(kind)
        if portal.command is None:
            return Result(tag="")
        return (yield from self.run(portal.command, portal))

    def _forget(self, kind: DiscardCommand) -> Result:
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


def _fill(statement: SqlStatement, values: list[Any]) -> tuple[FilledStatement, Command]:
    """The text with its values, and its command."""
    filled = fill(statement, values, check_length)
    check_length(len(filled.text))
    return filled, read(filled.text)[0][1]


def _decoded(values: tuple[str | None, ...], oids: tuple[int, ...]) -> list[Any]:
    """The values of EXECUTE."""
    given = [None if value is None else value.encode() for value in values]
    return [decode(value, oid, TEXT) for value, oid in zip(given, oids, strict=True)]


def _check_described(portal: Portal, result: Result) -> None:
    """Refuse columns of other types than the client was told: the owner has changed policy or files meanwhile."""
    prepared = portal.prepared
    told = None if prepared is None else prepared.looked.get(portal.options.intervals)
    if prepared is None or told is None or [field.oid for field in told] == [f.oid for f in result.fields or ()]:
        return
    prepared.looked.clear()
    hint = "What is served has changed: prepare the statement again. The answer is stored, and asking for it is free."
    raise QueryError("cached plan must not change result type", sqlstate="0A000", hint=hint)


def _put(kept: dict[str, Any], name: str, thing: Any, what: str) -> None:
    if name not in kept and len(kept) >= MOST:
        raise QueryError(f"a session has at most {MOST} {what}", sqlstate="54000", hint="Close some of them.")
    kept[name] = thing


def _samples(prepared: PreparedStatement) -> Iterator[list[Any]]:
    """Values of its types, for a look at the columns: one of them may be one that its place takes.

    A long statement is planned twice at most: each time takes as long as planning may.
    """
    oids, statement = prepared.oids, prepared.statement
    yield [_sample(oid) for oid in oids]
    if oids:
        yield [None] * len(oids)
        short = statement is None or len(statement.text) <= KEPT
        for word in _WORDS if short and any(_family(oid) == "text" for oid in oids) else ():
            yield [word if _family(oid) == "text" else _sample(oid) for oid in oids]


def _family(oid: int) -> str:
    return BY_OID[oid].family if oid in BY_OID else "" if oid in BY_ARRAY else "text"


def _sample(oid: int) -> Any:
    """A value of a type, for a look at the columns."""
    if oid in BY_ARRAY:
        return [_sample(BY_ARRAY[oid].oid)]
    if _family(oid) in ("date", "timestamp"):
        return decode(b"2020-01-01", oid, TEXT)
    return _SAMPLES.get(_family(oid), "a")
