"""Messages of the protocol: bytes from a client become records, and replies become bytes.

Comes in: the body of one frontend message. Goes out: a record of it, or a protocol error (08P01); and for each backend
message a function that builds it. Nothing here knows what may follow what.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sfumato.errors import QueryError, SfumatoError

SSL, GSS, CANCEL = 80877103, 80877104, 80877102
"""Request codes that stand where a protocol version stands."""
TEXT, BINARY = 0, 1


@dataclass(frozen=True, slots=True)
class Startup:
    """Who connects to what, with which settings."""

    major: int
    minor: int
    parameters: dict[str, str]


@dataclass(frozen=True, slots=True)
class EncryptionRequest:
    """SSLRequest or GSSENCRequest."""

    code: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop what another connection is doing."""

    process: int
    secret: int


@dataclass(frozen=True, slots=True)
class SimpleQuery:
    """The simple protocol: text with any number of statements."""

    sql: str


@dataclass(frozen=True, slots=True)
class Parse:
    """Prepare a statement; type 0 is left to the server."""

    name: str
    sql: str
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """Make a portal of a statement and values."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Describe:
    """What would come out of a statement (S) or a portal (P)."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    """Run a portal; `limit` 0 is all rows."""

    portal: str
    limit: int


@dataclass(frozen=True, slots=True)
class Close:
    """Forget a statement (S) or a portal (P)."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class BareMessage:
    """A message whose kind says it all: Sync (S), Flush (H), Terminate (X), and what belongs to COPY (c, d, f)."""

    kind: str


@dataclass(frozen=True, slots=True)
class AuthenticationMessage:
    """A step of authentication, read by `scram`."""

    data: bytes


Frontend = SimpleQuery | Parse | Bind | Describe | Execute | Close | BareMessage | AuthenticationMessage


def broken(what: str) -> QueryError:
    """The client does not speak the protocol."""
    return QueryError(what, sqlstate="08P01")


class _Reader:
    """A body, read from front to back; reading past its end is a protocol error."""

    def __init__(self, body: bytes) -> None:
        self.body, self.at = body, 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.body):
            raise broken("a message is shorter than its length field")
        self.at += size
        return self.body[self.at - size : self.at]

    def int16(self) -> int:
        return int(struct.unpack("!H", self.take(2))[0])

    def int32(self) -> int:
        return int(struct.unpack("!i", self.take(4))[0])

    def text(self) -> str:
        end = self.body.find(b"\0", self.at)
        if end < 0:
            raise broken("a string in a message does not end")
        raw, self.at = self.body[self.at : end], end + 1
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise QueryError("text must be in UTF-8", sqlstate="22021", hint="Use client_encoding UTF8.") from None

    def int16s(self) -> tuple[int, ...]:
        return tuple(self.int16() for _ in range(self.int16()))

    def value(self) -> bytes | None:
        size = self.int32()
        return None if size == -1 else self.take(size)

    def end(self) -> None:
        if self.at != len(self.body):
            raise broken("a message is longer than its length field")


def parse_startup(body: bytes) -> Startup | EncryptionRequest | Cancel:
    """The first message, which has no kind."""
    reader = _Reader(body)
    code = reader.int32()
    if code in (SSL, GSS):
        reader.end()
        return EncryptionRequest(code)
    if code == CANCEL:
        cancel = Cancel(reader.int32(), reader.int32())
        reader.end()
        return cancel
    parameters: dict[str, str] = {}
    while reader.at < len(body) - 1:
        name = reader.text()
        parameters[name] = reader.text()
    if reader.take(1) != b"\0":
        raise broken("the start-up message does not end")
    return Startup(code >> 16, code & 0xFFFF, parameters)


def parse(kind: str, body: bytes) -> Frontend:
    """Any later message."""
    if kind == "p":
        return AuthenticationMessage(body)
    if kind in "dcf":  # data for a COPY that we never asked for: PostgreSQL passes over it
        return BareMessage(kind)
    if kind == "F":
        raise QueryError("function calls of the protocol are not supported", sqlstate="0A000", hint="Ask in SQL.")
    if kind not in _PARSERS:
        raise broken(f"there is no message of kind {kind!r}")
    reader = _Reader(body)
    message = _PARSERS[kind](reader)
    reader.end()
    return message


def _parse(reader: _Reader) -> Parse:
    names = reader.text(), reader.text()
    return Parse(*names, tuple(reader.int32() & 0xFFFFFFFF for _ in range(reader.int16())))


def _bind(reader: _Reader) -> Bind:
    names = reader.text(), reader.text()
    formats = reader.int16s()
    values = tuple(reader.value() for _ in range(reader.int16()))
    return Bind(*names, formats, values, reader.int16s())


def _which(reader: _Reader) -> tuple[str, str]:
    which = reader.take(1).decode("latin-1")
    if which not in "SP":
        raise broken("only statements (S) and portals (P) can be named")
    return which, reader.text()


_PARSERS: dict[str, Callable[[_Reader], Frontend]] = {
    **{kind: (lambda _, kind=kind: BareMessage(kind)) for kind in "SHX"},  # type: ignore[misc]
    "Q": lambda reader: SimpleQuery(reader.text()),
    "P": _parse,
    "B": _bind,
    "D": lambda reader: Describe(*_which(reader)),
    "C": lambda reader: Close(*_which(reader)),
    "E": lambda reader: Execute(reader.text(), reader.int32()),
}


# what the server says


def message(kind: bytes, body: bytes = b"") -> bytes:
    """Any message: its kind, its length, its body."""
    return kind + struct.pack("!I", len(body) + 4) + body


def _text(value: str) -> bytes:
    return value.encode("utf-8", "replace").replace(b"\0", b"") + b"\0"


def authentication(code: int, data: bytes = b"") -> bytes:
    """0 done, 10 SASL mechanisms, 11 SASL goes on, 12 SASL's last word."""
    return message(b"R", struct.pack("!I", code) + data)


def mechanisms(names: Iterable[str]) -> bytes:
    """How a client may prove who it is."""
    return authentication(10, b"".join(map(_text, names)) + b"\0")


def key_data(process: int, secret: int) -> bytes:
    """What a cancel request must know."""
    return message(b"K", struct.pack("!II", process, secret))


def parameter_status(name: str, value: str) -> bytes:
    """A setting that clients follow."""
    return message(b"S", _text(name) + _text(value))


def negotiate(minor: int, options: Sequence[str]) -> bytes:
    """The newest minor version that is spoken here, and options that are not known."""
    return message(b"v", struct.pack("!II", minor, len(options)) + b"".join(map(_text, options)))


def ready(status: str) -> bytes:
    """I idle, T in a transaction, E in a failed one."""
    return message(b"Z", status.encode("ascii"))


def row_description(fields: Sequence[tuple[str, int, int, int]]) -> bytes:
    """Name, type, size of the type and format of each column."""
    body = [struct.pack("!H", len(fields))]
    body += [_text(name) + struct.pack("!IhIhih", 0, 0, oid, size, -1, form) for name, oid, size, form in fields]
    return message(b"T", b"".join(body))


def data_row(values: Sequence[bytes | None]) -> bytes:
    """One row."""
    cells = [struct.pack("!i", -1) if v is None else struct.pack("!I", len(v)) + v for v in values]
    return message(b"D", struct.pack("!H", len(values)) + b"".join(cells))


def parameter_description(oids: Sequence[int]) -> bytes:
    """The types of a statement's parameters."""
    return message(b"t", struct.pack(f"!H{len(oids)}I", len(oids), *oids))


def complete(tag: str) -> bytes:
    """A statement is done."""
    return message(b"C", _text(tag))


def copy_out(form: int, columns: int) -> bytes:
    """Copy data follow."""
    return message(b"H", struct.pack(f"!BH{columns}H", form, columns, *([form] * columns)))


PARSE_COMPLETE, BIND_COMPLETE, CLOSE_COMPLETE = message(b"1"), message(b"2"), message(b"3")
NO_DATA, EMPTY_QUERY, PORTAL_SUSPENDED, COPY_DONE = message(b"n"), message(b"I"), message(b"s"), message(b"c")


def report(kind: bytes, severity: str, error: SfumatoError) -> bytes:
    """An error (E) or a notice (N) with its fields."""
    fields = {
        "S": severity,
        "V": severity,
        "C": error.sqlstate,
        "M": error.message,
        "D": error.detail,
        "H": error.hint,
        "P": str(error.position) if error.position else None,
    }
    body = b"".join(name.encode("ascii") + _text(value) for name, value in fields.items() if value)
    return message(kind, body + b"\0")
