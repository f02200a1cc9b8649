"""The state of the protocol: which message may follow which, and the replies. No sockets, no threads, no gateway.

Comes in: one message at a time. Goes out, one at a time: bytes to be sent, and Work whose result is handed back in.
Describe asks for columns alone; Execute asks for an answer once for each portal, after Bind has succeeded; from then on
the portal holds it. A rollback takes settings back and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

from sfumato.errors import QueryError, SfumatoError
from sfumato.recent import Recent
from sfumato.server.per_user_limits import Allowance
from sfumato.server.pgwire import messages as m
from sfumato.server.pgwire.commands import CopyOut
from sfumato.server.pgwire.copy_formats import lines
from sfumato.server.pgwire.portals import Portal, Row
from sfumato.server.pgwire.results import Field, Result
from sfumato.server.pgwire.session_objects import SessionObjects, Steps, computed
from sfumato.server.pgwire.settings import Settings
from sfumato.server.pgwire.statement_kinds import check_length, read
from sfumato.server.pgwire.types import decode, encode, size_of

_FEW = 5000
_SMALL = 2**20
"""So many rows, and bytes, are put together once, and sent again as they are."""
_QUIET = ("warning", "error", "fatal", "panic")


class WireSession:
    """One connection after its log-in. `columns` are the types of known column names, for parameters.

    `allowance` bounds what is kept for this user.
    """

    def __init__(
        self, user: str, settings: Settings, columns: Mapping[str, str], allowance: Allowance | None = None
    ) -> None:
        self.user, self.settings = user, settings
        self._shelf = SessionObjects(settings, columns, allowance or Allowance())
        self._skipping = False
        self._told: dict[str, str] = {}

    def greet(self) -> Steps:
        """The settings that a client follows."""
        yield from self._changed()

    def ready(self) -> Steps:
        """What changed, then: ready for the next question."""
        yield from self._changed()
        yield m.ready(self._shelf.block.status)

    def receive(self, message: m.Frontend) -> Steps:
        """Handle one message. An error is told once; then everything up to Sync is passed over."""
        if isinstance(message, m.SimpleQuery):
            self._skipping = False
            yield from self._simple(message.sql)
            yield from self.ready()
        elif message == m.BareMessage("S"):
            self._skipping = False
            self._shelf.end_of_message()
            yield from self.ready()
        elif not self._skipping and not isinstance(message, m.BareMessage):
            self._shelf.block.enter()
            try:
                yield from self._extended(message)
            except SfumatoError as error:
                self._skipping = True
                yield self._failed(error)

    def fail(self, error: SfumatoError) -> Steps:
        """A message that could not be read: an error of the simple protocol is over, of the other it lasts to Sync."""
        self._skipping = True
        yield self._failed(error)

    def _simple(self, sql: str) -> Steps:
        self._shelf.portals.pop("", None)
        self._shelf.statements.pop("", None)
        self._shelf.block.enter()
        try:
            found = yield from _read(sql)
            if not found:
                yield m.EMPTY_QUERY
            for _, kind in found:
                self._shelf.guard(kind)
                yield from self._finish(Portal(kind, options=self._shelf.options(kind)), 0, describe=True)
        except SfumatoError as error:
            yield self._failed(error)
        self._shelf.end_of_message()

    def _failed(self, error: SfumatoError) -> bytes:
        self._shelf.block.fail()
        return m.report(b"E", "ERROR", error)

    def _changed(self) -> Steps:
        now = self._shelf.settings.reported()
        if now is self._told:
            return
        for name, value in now.items():
            if self._told.get(name) != value:
                yield m.parameter_status(name, value)
        self._told = now

    def _extended(self, message: m.Frontend) -> Steps:
        if isinstance(message, m.Parse):
            yield from self._parse(message)
        elif isinstance(message, m.Bind):
            yield from self._bind(message)
        elif isinstance(message, m.Describe):
            yield from self._describe(message)
        elif isinstance(message, m.Execute):
            portal = self._shelf.portal(message.portal)
            self._shelf.guard(portal.command)
            yield from self._finish(portal, message.limit, describe=False)
        elif isinstance(message, m.Close):
            (self._shelf.statements if message.kind == "S" else self._shelf.portals).pop(message.name, None)
            yield m.CLOSE_COMPLETE
        else:
            raise m.broken("this message does not belong here")

    def _parse(self, message: m.Parse) -> Steps:
        found = yield from _read(message.sql)
        if len(found) > 1:
            raise QueryError("cannot insert multiple commands into a prepared statement", sqlstate="42601")
        if message.name and message.name in self._shelf.statements:
            raise QueryError(f'prepared statement "{message.name}" already exists', sqlstate="42P05")
        make = partial(self._shelf.prepared, found[0][0] if found else None, message.types)
        prepared = yield from computed(make, len(message.sql))
        yield from self._shelf.checked(prepared, self._shelf.options(prepared.command))
        self._shelf.keep_statement(message.name, prepared)
        yield m.PARSE_COMPLETE

    def _bind(self, message: m.Bind) -> Steps:
        prepared = self._shelf.statement(message.statement)
        self._shelf.guard(prepared.command)
        if message.portal and message.portal in self._shelf.portals:
            raise QueryError(f'cursor "{message.portal}" already exists', sqlstate="42P03")
        size = sum(len(value) for value in message.values if value is not None)
        check_length(size)
        values = yield from computed(partial(_values, message, prepared.oids), size)
        options = self._shelf.options(prepared.command)
        if prepared.described is not None and prepared.described != options.intervals:
            hint = "sfumato.intervals has changed: prepare the statement again."
            raise QueryError("cached plan must not change result type", sqlstate="0A000", hint=hint)
        unknown = [form for form in (*message.results, *message.formats) if form not in (m.TEXT, m.BINARY)]
        if unknown:  # PostgreSQL says it of results when they are sent, which here would be after they were paid for
            hint = "There are 0 (text) and 1 (binary)."
            raise QueryError(f"unsupported format code: {unknown[0]}", sqlstate="22023", hint=hint)
        portal = yield from self._shelf.filled(prepared, values, options, message.results)
        if len(message.results) > 1:
            _formats(message.results, (yield from self._shelf.fields(portal)) or ())
        self._shelf.keep_portal(message.portal, portal)
        yield m.BIND_COMPLETE

    def _describe(self, message: m.Describe) -> Steps:
        if message.kind == "P":
            portal = self._shelf.portal(message.name)
            self._shelf.guard(portal.command)
            fields = yield from self._shelf.fields(portal)
            yield m.NO_DATA if fields is None else _description(fields, portal.formats)
            return
        prepared = self._shelf.statement(message.name)
        self._shelf.guard(prepared.command)
        options = self._shelf.options(prepared.command)
        prepared.described = options.intervals
        fields = yield from self._shelf.sampled(prepared, options)
        yield m.parameter_description(prepared.oids)
        yield m.NO_DATA if fields is None else _description(fields, ())

    def _finish(self, portal: Portal, limit: int, *, describe: bool) -> Steps:
        """Run a portal if it was not, and send its rows."""
        if portal.command is None:
            yield m.EMPTY_QUERY
            return
        fresh = portal.result is None
        if portal.result is None:
            portal.result = yield from self._shelf.run(portal.command, portal)
        result = portal.result
        for severity, notice in result.notices if fresh else ():
            if severity != "NOTICE" or self._shelf.settings.get("client_min_messages").lower() not in _QUIET:
                yield _notice(severity, notice)
        if isinstance(portal.command, CopyOut):
            yield from _copied(result, portal.command)
            return
        if result.fields is None:
            yield m.complete(result.tag)
            return
        if describe:
            yield _description(result.fields, portal.formats)
        forms = _formats(portal.formats, result.fields)
        rows, more = portal.take(limit)
        if len(rows) == len(result.rows) <= _FEW and result.size <= _SMALL:
            if forms not in result.sent:
                result.sent.clear()  # there are as many forms as clients care to ask for
                result.sent[forms] = b"".join(_rows(rows, result.fields, forms))
            yield result.sent[forms]
        else:
            yield from _rows(rows, result.fields, forms)
        counted = result.tag in ("SELECT", "FETCH")
        yield m.PORTAL_SUSPENDED if more else m.complete(f"{result.tag} {len(rows)}" if counted else result.tag)


def _read(sql: str) -> Steps:
    """The statements of a text that is not too long."""
    check_length(len(sql))
    return (yield from computed(partial(read, sql), len(sql)))


def _values(message: m.Bind, oids: tuple[int, ...]) -> list[Any]:
    if len(message.values) != len(oids):
        given = len(message.values)
        raise m.broken(f"bind message supplies {given} parameters, but the statement requires {len(oids)}")
    forms = message.formats
    if len(forms) not in (0, 1, len(oids)):
        raise m.broken(f"bind message has {len(forms)} parameter formats but {len(oids)} parameters")
    each = forms * len(oids) if len(forms) == 1 else forms or (m.TEXT,) * len(oids)
    return [decode(data, oid, form) for data, oid, form in zip(message.values, oids, each, strict=True)]


def _formats(given: tuple[int, ...], fields: tuple[Field, ...]) -> tuple[int, ...]:
    if len(given) not in (0, 1, len(fields)):
        raise m.broken(f"bind message has {len(given)} result formats but query has {len(fields)} columns")
    return given * len(fields) if len(given) == 1 else given or (m.TEXT,) * len(fields)


_DESCRIBED: Recent[bytes] = Recent(8 * 2**20)
"""Columns as messages, in so many bytes."""


def _description(fields: tuple[Field, ...], given: tuple[int, ...]) -> bytes:
    found = _DESCRIBED.get((fields, given))
    if found is None:
        shown = zip(fields, _formats(given, fields), strict=True)
        found = m.row_description([(f.name, f.oid, size_of(f.oid), form) for f, form in shown])
        _DESCRIBED.put((fields, given), found)
    return found


def _rows(rows: list[Row], fields: tuple[Field, ...], forms: tuple[int, ...]) -> Iterator[bytes]:
    """Rows as messages."""
    oids = [field.oid for field in fields]
    for row in rows:
        yield m.data_row([encode(value, oid, form) for value, oid, form in zip(row, oids, forms, strict=True)])


@lru_cache(maxsize=256)
def _notice(severity: str, notice: SfumatoError) -> bytes:
    """A notice as bytes; that of a stored answer is the same object each time."""
    return m.report(b"N", severity, notice)


def _copied(result: Result, copy: CopyOut) -> Steps:
    form, count = m.BINARY if copy.form == "binary" else m.TEXT, len(result.fields or ())
    yield m.copy_out(form, count)
    for line in lines(result, copy):
        yield m.message(b"d", line)
    yield m.COPY_DONE
    yield m.complete(f"COPY {len(result.rows)}")
