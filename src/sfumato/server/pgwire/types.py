"""PostgreSQL's types: their numbers, and values as text and as binary, in both directions.

Comes in: a Python value and the name of a type, or bytes that a client sent for a parameter. Goes out: the bytes of a
result, or the value of a parameter. Moments are UTC; what has no value of its type is refused with 22P02 or 22003.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from sfumato.algebra.interval_values import Span
from sfumato.algebra.interval_values import read as read_span
from sfumato.errors import QueryError
from sfumato.server.pgwire.messages import BINARY, broken
from sfumato.sql.read.moments import read_date, read_timestamp

_SPACE = " \t\n\r\f\v"
"""PostgreSQL's; Python would take more characters for blanks."""
_EPOCH = date(2000, 1, 1)
_MOMENT = datetime(2000, 1, 1)  # noqa: DTZ001  moments are naive and in UTC, as everywhere in the house


@dataclass(frozen=True, slots=True)
class PgType:
    """A type: its name, its number, its size, the number of its array, and what a value of it is made of."""

    name: str
    oid: int
    size: int
    array: int
    family: str


_KINDS = [
    PgType("boolean", 16, 1, 1000, "bool"),
    PgType("char", 18, 1, 1002, "text"),
    PgType("name", 19, 64, 1003, "text"),
    PgType("bigint", 20, 8, 1016, "int"),
    PgType("smallint", 21, 2, 1005, "int"),
    PgType("integer", 23, 4, 1007, "int"),
    PgType("regproc", 24, 4, 1008, "name"),
    PgType("text", 25, -1, 1009, "text"),
    PgType("oid", 26, 4, 1028, "int"),
    PgType("xid", 28, 4, 1011, "int"),
    PgType("json", 114, -1, 199, "text"),
    PgType("pg_node_tree", 194, -1, 1009, "text"),
    PgType("real", 700, 4, 1021, "float"),
    PgType("double precision", 701, 8, 1022, "float"),
    PgType("unknown", 705, -2, 1009, "text"),
    PgType("aclitem", 1033, 12, 1034, "text"),
    PgType("character", 1042, -1, 1014, "text"),
    PgType("varchar", 1043, -1, 1015, "text"),
    PgType("date", 1082, 4, 1182, "date"),
    PgType("time", 1083, 8, 1183, "time"),
    PgType("timestamp", 1114, 8, 1115, "timestamp"),
    PgType("timestamptz", 1184, 8, 1185, "timestamp"),
    PgType("interval", 1186, 16, 1187, "interval"),
    PgType("numeric", 1700, -1, 1231, "numeric"),
    PgType("regclass", 2205, 4, 2210, "name"),
    PgType("regtype", 2206, 4, 2211, "name"),
    PgType("uuid", 2950, 16, 2951, "uuid"),
]
KINDS = {kind.name: kind for kind in _KINDS}
BY_OID = {kind.oid: kind for kind in _KINDS}
BY_ARRAY = {kind.array: kind for kind in reversed(_KINDS) if kind.name not in ("unknown", "pg_node_tree")}
_FIXED = ("int", "bool", "float", "date", "time", "timestamp", "name", "interval")
"""Families whose values all have the size of their type."""
_OWN = 16_384
"""From here on types are those of a database; smaller numbers are PostgreSQL's, and each has a form of its own."""
VECTORS = {"int2vector": 22, "oidvector": 30}
BY_ARRAY |= {22: KINDS["smallint"], 30: KINDS["oid"]}
_ALIASES = {
    "int8": "bigint", "int4": "integer", "int": "integer", "int2": "smallint", "bool": "boolean", "float8":
    "double precision", "float4": "real", "decimal": "numeric", "character varying": "varchar", "bpchar": "character",
    "regnamespace": "oid", "cstring": "text", "float": "double precision", "regrole": "oid", "jsonb": "json",
}  # fmt: skip


def oid_of(name: str) -> int:
    """The number of a type or of an array of it; what is not known is text."""
    name = _ALIASES.get(name, name)
    if name in VECTORS:
        return VECTORS[name]
    if name.endswith("[]"):
        base = name.removesuffix("[]")
        return KINDS.get(_ALIASES.get(base, base), KINDS["text"]).array
    return KINDS.get(name, KINDS["text"]).oid


def size_of(oid: int) -> int:
    """The size of a type on the wire; -1 varies."""
    return BY_OID[oid].size if oid in BY_OID else -1


# results


def encode(value: Any, oid: int, form: int) -> bytes | None:
    """A value as the client asked for it."""
    if value is None:
        return None
    return _to_binary(value, oid) if form == BINARY else _to_text(value, oid).encode("utf-8")


def _to_text(value: Any, oid: int) -> str:
    if isinstance(value, bool | Decimal):
        return f"{value:f}" if isinstance(value, Decimal) else "t" if value else "f"
    if isinstance(value, datetime):
        naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return naive.isoformat(" ").rstrip("0" if naive.microsecond else "") + ("+00" if oid == 1184 else "")
    if isinstance(value, float):
        return repr(value).removesuffix(".0").replace("inf", "Infinity").replace("nan", "NaN")
    if oid in VECTORS.values():
        return " ".join(map(str, value))
    if isinstance(value, list | tuple):
        item = BY_ARRAY[oid].oid if oid in BY_ARRAY else 25
        return "{" + ",".join("NULL" if v is None else _quoted(_to_text(v, item)) for v in value) + "}"
    return str(value)


def _quoted(text: str) -> str:
    plain = text and not any(c in '{}",\\' + _SPACE for c in text) and text.lower() != "null"
    return text if plain else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _to_binary(value: Any, oid: int) -> bytes:
    if oid in BY_ARRAY:
        return _array(split_array(value) if isinstance(value, str) else list(value), BY_ARRAY[oid].oid)
    kind = BY_OID.get(oid, KINDS["text"])
    if kind.name == "aclitem":
        raise QueryError("no binary output function available for type aclitem", sqlstate="42883")
    if kind.family == "uuid":
        return bytes.fromhex(str(value).replace("-", ""))
    makers: dict[str, Callable[[Any], bytes]] = {
        "bool": lambda v: b"\1" if v else b"\0",
        "int": lambda v: _integer(int(v), kind.size),
        "name": lambda v: struct.pack("!I", v if isinstance(v, int) else 0),
        "float": lambda v: struct.pack("!d" if kind.size == 8 else "!f", float(v)),
        "date": lambda v: struct.pack("!i", (_day(v) - _EPOCH).days),
        "time": lambda v: struct.pack("!q", (datetime.combine(_EPOCH, v) - _MOMENT) // timedelta(microseconds=1)),
        "timestamp": lambda v: struct.pack("!q", _microseconds(v)),
        "numeric": lambda v: numeric(Decimal(v)),
        "interval": _span,
    }
    return makers[kind.family](value) if kind.family in makers else _to_text(value, oid).encode("utf-8")


def _span(value: Any) -> bytes:
    """An interval as PostgreSQL prints it, in its three numbers."""
    span = read_span(str(value))
    if span is None:
        raise QueryError("an interval of the answer is too long in binary", sqlstate="22008", hint="Ask for text.")
    return struct.pack("!qii", span.microseconds, span.days, span.months)


def _integer(value: int, size: int) -> bytes:
    try:
        return value.to_bytes(size, "big", signed=value < 0 or size == 8 or value < 2 ** (8 * size - 1))
    except OverflowError:
        raise QueryError(
            "a number of the answer is too large for bigint in binary",
            sqlstate="22003",
            hint="Ask again, which is free, for text; or for CAST(… AS numeric).",
        ) from None


def _day(value: Any) -> date:
    return value.date() if isinstance(value, datetime) else value


def _microseconds(value: Any) -> int:
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)  # noqa: DTZ001  it is UTC
    naive = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    return (naive - _MOMENT) // timedelta(microseconds=1)


def _array(values: list[Any], item: int) -> bytes:
    nulls = any(value is None for value in values)
    head = struct.pack("!IiI", 1 if values else 0, nulls, item)
    cells = []
    for value in values:
        data = encode(value, item, BINARY)
        cells.append(struct.pack("!i", -1) if data is None else struct.pack("!I", len(data)) + data)
    return head + (struct.pack("!II", len(values), 1) if values else b"") + b"".join(cells)


def numeric(value: Decimal) -> bytes:
    """A decimal in digits of base 10,000."""
    if not value.is_finite():
        sign = {"NaN": 0xC000, "Infinity": 0xD000, "-Infinity": 0xF000}[str(value).replace("sNaN", "NaN")]
        return struct.pack("!HhHH", 0, 0, sign, 0)
    negative, _, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    text = f"{value.copy_abs():f}"  # abs() would round to the context's digits
    whole, _, part = text.partition(".")
    whole = whole.lstrip("0")
    whole, part = whole.zfill(-(-len(whole) // 4) * 4), part.ljust(-(-len(part) // 4) * 4, "0")
    groups = [int((whole + part)[i : i + 4]) for i in range(0, len(whole + part), 4)]
    weight = len(whole) // 4 - 1
    while groups and groups[0] == 0:
        groups, weight = groups[1:], weight - 1
    while groups and groups[-1] == 0:
        groups.pop()
    if not groups:
        weight, negative = 0, 0
    return struct.pack(f"!HhHH{len(groups)}H", len(groups), weight, 0x4000 if negative else 0, scale, *groups)


# parameters


def decode(data: bytes | None, oid: int, form: int) -> Any:
    """The value of a parameter, by its type."""
    if data is None:
        return None
    kind = BY_OID.get(oid) or (KINDS["text"] if oid not in BY_ARRAY else None)
    if form == BINARY and oid and oid < _OWN and oid not in BY_OID and oid not in BY_ARRAY:
        raise QueryError(
            f"a parameter of the type with number {oid} is not supported",
            sqlstate="0A000",
            hint="Send it as text, with a cast.",
        )
    try:
        if form == BINARY:
            return _from_array(data) if kind is None else _from_binary(data, kind)
        text = data.decode("utf-8")
        return [_from_text(x, BY_ARRAY[oid]) for x in split_array(text)] if kind is None else _from_text(text, kind)
    except UnicodeDecodeError:
        raise QueryError("text must be in UTF-8", sqlstate="22021") from None
    except (ValueError, InvalidOperation, struct.error, OverflowError, IndexError):
        name = kind.name if kind is not None else BY_ARRAY[oid].name + "[]"
        raise QueryError(
            f"invalid input for a parameter of type {name}", sqlstate="22P02" if form != BINARY else "22P03"
        ) from None


def _from_text(text: str | None, kind: PgType) -> Any:
    if text is None:
        return None
    word = text.strip().lower()
    if kind.family == "bool":
        if word in ("t", "true", "y", "yes", "on", "1"):
            return True
        if word in ("f", "false", "n", "no", "off", "0"):
            return False
        raise ValueError(text)
    readers: dict[str, Callable[[str], Any]] = {
        "int": _whole,
        "float": _decimal,
        "numeric": _decimal,
        "date": _read_day,
        "time": time.fromisoformat,
        "timestamp": _naive,
        "interval": _read_span,
    }
    return readers[kind.family](text.strip()) if kind.family in readers else text


def _whole(text: str) -> int:
    if len(text) > 40 or not text.isascii():
        raise ValueError(text)
    return int(text.replace("_", "x"))


def _decimal(text: str) -> Decimal:
    if len(text) > 1000 or not text.isascii():
        raise ValueError(text)
    value = Decimal(text.replace("_", "x"))
    if value.is_finite() and abs(int(value.as_tuple().exponent)) > 1000:
        raise ValueError(text)
    return value


def _read_day(text: str) -> date:
    day = read_date(text)
    if day is None:
        raise ValueError(text)
    return day


def _naive(text: str) -> datetime:
    """A moment in UTC, without its zone."""
    moment = read_timestamp(text, in_utc=True)
    if moment is None:
        raise ValueError(text)
    return moment


def _read_span(text: str) -> Span:
    span = read_span(text)
    if span is None:
        raise ValueError(text)
    return span


def _from_binary(data: bytes, kind: PgType) -> Any:
    if kind.family in _FIXED and len(data) != kind.size:
        raise broken(f"a parameter of type {kind.name} has {len(data)} bytes")
    signed = kind.name not in ("oid", "xid", "regclass", "regproc", "regtype")
    readers: dict[str, Callable[[bytes], Any]] = {
        "int": lambda d: int.from_bytes(d, "big", signed=signed),
        "name": lambda d: int.from_bytes(d, "big", signed=False),
        "bool": lambda d: d != b"\0",
        "float": lambda d: Decimal(repr(struct.unpack("!d" if kind.size == 8 else "!f", d)[0])),
        "date": lambda d: _EPOCH + timedelta(days=struct.unpack("!i", d)[0]),
        "time": lambda d: (_MOMENT + timedelta(microseconds=struct.unpack("!q", d)[0])).time(),
        "timestamp": lambda d: _MOMENT + timedelta(microseconds=struct.unpack("!q", d)[0]),
        "numeric": _from_numeric,
        "interval": lambda d: Span(*reversed(struct.unpack("!qii", d))),
        "uuid": lambda d: f"{d[:4].hex()}-{d[4:6].hex()}-{d[6:8].hex()}-{d[8:10].hex()}-{d[10:].hex()}",
    }
    return readers[kind.family](data) if kind.family in readers else data.decode("utf-8")


def _from_numeric(data: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack_from("!HhHH", data)
    groups = struct.unpack_from(f"!{count}H", data, 8)
    if sign not in (0, 0x4000) or abs(weight) > 300 or scale > 1000 or len(data) != 8 + 2 * count:
        raise ValueError("numeric")
    digits = "".join(f"{group:04}" for group in groups) or "0"
    exponent = 4 * (weight + 1 - len(groups)) if groups else 0
    return Decimal(f"{'-' if sign else ''}{digits}e{exponent}")


def _from_array(data: bytes) -> list[Any]:
    dimensions, _, item = struct.unpack_from("!IiI", data)
    if dimensions == 0:
        return []
    if dimensions != 1:
        raise QueryError("lists of lists are not supported", sqlstate="0A000")
    (count, _), at, values = struct.unpack_from("!Ii", data, 12), 20, []
    for _ in range(min(count, len(data))):
        (size,) = struct.unpack_from("!i", data, at)
        at += 4 + max(size, 0)
        if at > len(data):
            raise ValueError("array")
        values.append(None if size < 0 else _from_binary(data[at - size : at], BY_OID.get(item, KINDS["text"])))
    return values


def split_array(text: str) -> list[str | None]:
    """The items of `{a,"b c",NULL}`."""
    text = text.strip(_SPACE)
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError(text)
    items: list[str | None] = []
    word, quoted, inside, at, body = "", False, False, 0, text[1:-1]
    while at < len(body):
        c = body[at]
        if c == "\\":
            at += 1
            word += body[at]
        elif c == '"':
            inside, quoted = not inside, True
        elif c == "," and not inside:
            items.append(_item(word, quoted))
            word, quoted = "", False
        elif c in "{}" and not inside:
            raise ValueError(text)
        else:
            word += c
        at += 1
    if inside:
        raise ValueError(text)
    return [*items, _item(word, quoted)] if body.strip(_SPACE) else []


def _item(word: str, quoted: bool) -> str | None:
    bare = word if quoted else word.strip(_SPACE)
    if not bare and not quoted:
        raise ValueError(word)
    return None if not quoted and bare.upper() == "NULL" else bare
