"""Request bodies: JSON within limits, whose numbers are the decimals that were written.

Comes in: a request. Goes out: a question with its options, or a log-in; anything else is one clear error before a
gateway is asked. 0.1 is 1/10 here as everywhere (semantics 4.2): no number passes through a float.
"""

from __future__ import annotations

import asyncio
import json
import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from starlette.requests import ClientDisconnect, Request

from sfumato.errors import InputError
from sfumato.gateway import AUTO, NOISES, Query
from sfumato.server.http.error_responses import turned
from sfumato.server.http.server_state import HttpServerState
from sfumato.server.pgwire.statement_kinds import check_length
from sfumato.types import certainty, positive

FIELDS = ("sql", "epsilon", "within", "confidence", "rows_per_unit", "noise")
WRITTEN = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?|[0-9]{1,30}/[0-9]{1,30}")
"""A number as text."""
SHORT_BODY = 2**14
"""Bytes that are read at once, while everybody else waits; a longer body is read in a thread."""
_AMOUNTS = ("epsilon", "within", "confidence")


async def read_words(office: HttpServerState, request: Request) -> dict[str, Any]:
    """The few words of a stranger, as one JSON object."""
    return parse(await read_bytes(request, office.limits.words, office.limits.body_seconds))


async def read_body(office: HttpServerState, request: Request) -> dict[str, Any]:
    """The body of a user's request, as one JSON object; a long one is read in a thread, of which a user has few."""
    body = await read_bytes(request, office.limits.body, office.limits.body_seconds)
    return parse(body) if len(body) <= SHORT_BODY else await office.look(lambda _: parse(body))


async def read_bytes(request: Request, longest: int, seconds: float) -> bytes:
    """The body of a request that says it is JSON, unread."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise turned(415, "the body must be application/json")
    stated = request.headers.get("content-length", "0")
    if stated.isdecimal() and int(stated[:20]) > longest:
        raise _too_long(longest)
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                body += part
                if len(body) > longest:
                    raise _too_long(longest)
    except TimeoutError:
        raise turned(408, "the body did not arrive in time", headers={"Connection": "close"}) from None
    except ClientDisconnect:
        raise turned(400, "the client disconnected") from None
    return bytes(body)


def _too_long(longest: int) -> Exception:
    return turned(413, f"a body may have at most {longest} bytes", headers={"Connection": "close"})


def parse(body: bytes) -> dict[str, Any]:
    """One object of JSON; numbers with a point or an exponent as Decimal, names at most once.

    >>> parse(b'{"epsilon": 0.1}')
    {'epsilon': Decimal('0.1')}
    """
    try:
        text = body.decode("utf-8")
        document = json.loads(text, parse_float=Decimal, parse_constant=_constant, object_pairs_hook=_once)
    except (ValueError, InvalidOperation, RecursionError) as error:
        hint = str(error) if isinstance(error, _Twice) else None
        raise turned(400, "the body is not JSON", hint=hint) from None
    if not isinstance(document, dict):
        raise turned(400, "the body must be a JSON object")
    return document


class _Twice(ValueError):
    """A name that stands twice: two readers could understand it in two ways."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise _Twice("A name occurs twice.")
    return document


def _constant(name: str) -> Any:
    raise ValueError(name)


def question(document: dict[str, Any]) -> Query:
    """A query with its options; null is as good as nothing."""
    check_names(document, FIELDS)
    sql = text_of(document, "sql")
    check_length(len(sql))
    options = {name: value for name, value in document.items() if name != "sql" and value is not None}
    for name in _AMOUNTS:
        if name in options:
            options[name] = _amount(name, options[name])
    rows = options.get("rows_per_unit", 1)
    if rows != AUTO and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
        raise InputError('rows_per_unit must be a whole number above 0, or "auto"')
    if options.get("noise", NOISES[0]) not in NOISES:
        raise InputError("unknown noise", hint=f"Use {' or '.join(NOISES)}.")
    return Query(sql, **options)


def _amount(name: str, value: Any) -> Fraction:
    """What a request says wrongly is the request's mistake, at /api/explain too."""
    written = isinstance(value, str) and WRITTEN.fullmatch(value)
    if isinstance(value, bool) or not (written or isinstance(value, int | Decimal)):
        raise InputError(f"{name} must be a number, or text like 0.1 or 1/10")
    return certainty(value) if name == "confidence" else positive(value, name)


def check_names(document: dict[str, Any], known: tuple[str, ...]) -> None:
    """Nothing but these names: a misspelt option must not be paid for."""
    for name in document:
        if name not in known:
            raise InputError(f'unknown field "{_shown(name)}"', hint=f"Known fields: {', '.join(known)}.")


def text_of(document: dict[str, Any], name: str) -> str:
    """A text that can be written down again."""
    value = document.get(name)
    if not isinstance(value, str):
        raise InputError(f"{name} must be a text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{name} is not Unicode text") from None
    return value


def _shown(name: str) -> str:
    return "".join(c if c.isprintable() else " " for c in name[:40])
