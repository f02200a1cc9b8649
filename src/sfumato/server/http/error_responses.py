"""Errors over HTTP: five fields as JSON, and the status code that programs look at first.

Comes in: an error of the house, or one that only HTTP knows (no such page, a body that is too long). Goes out: a
response. 400 the request, 401 who, 402 budget, 403 not allowed, 422 other refusals, 503 engine or ledger, 507 a
collector without room.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.errors import (
    BudgetError,
    CollectionFull,
    EngineError,
    InputError,
    LedgerError,
    PolicyError,
    QueryError,
    SfumatoError,
)

_STATUS = {
    "42501": 403,
    "28000": 401,
    "28P01": 401,
    "08P01": 400,
    "53300": 429,
    "57P01": 503,
    "53100": 503,
    "58030": 503,
    "XX000": 500,
}


class HttpRefusal(Exception):
    """A request that HTTP itself turns away, with its status and headers."""

    def __init__(self, status: int, error: SfumatoError, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(error.message)
        self.status, self.error, self.headers = status, error, dict(headers or {})


def turned(
    status: int, message: str, *, hint: str | None = None, headers: Mapping[str, str] | None = None
) -> HttpRefusal:
    """A request that cannot be read or served as it came."""
    return HttpRefusal(status, QueryError(message, hint=hint, sqlstate="08P01"), headers)


def stranger(message: str, hint: str | None = None) -> HttpRefusal:
    """Somebody who has not shown who she is: the same words for every cause."""
    error = QueryError(message, hint=hint, sqlstate="28000")
    return HttpRefusal(401, error, {"WWW-Authenticate": 'Bearer realm="sfumato"'})


def busy(error: SfumatoError, seconds: int) -> HttpRefusal:
    """Too much at once, or too many failures: when to come back."""
    return HttpRefusal(429, error, {"Retry-After": str(seconds)})


def status_of(error: SfumatoError) -> int:
    """The status of an error of the house."""
    if isinstance(error, BudgetError):
        return 402
    if isinstance(error, EngineError | LedgerError) and error.sqlstate != "XX000":
        return 503
    if isinstance(error, CollectionFull) or error.sqlstate in _STATUS:
        return 507 if isinstance(error, CollectionFull) else _STATUS[error.sqlstate]
    if isinstance(error, PolicyError):  # on the owner's pages: a policy or its files, not the request
        return 422
    if isinstance(error, QueryError):  # a parameter beside the question is the request's; what is in it, the question's
        return 400 if error.sqlstate == InputError.default_sqlstate and not error.position else 422
    return 500


def respond(error: SfumatoError | HttpRefusal) -> Response:
    """The five fields, with the status."""
    if isinstance(error, HttpRefusal):
        return _response(error.status, error.error, error.headers)
    return _response(status_of(error), error, {})


async def unrouted(_: Request, error: Exception) -> Response:
    """No such page, or not by this method."""
    assert isinstance(error, HTTPException)
    missing = error.status_code == 404
    message = "there is no such page" if missing else "this method is not allowed for this page"
    hint = "/openapi.json lists all pages." if missing else f"Use {dict(error.headers or {}).get('Allow', '')}."
    return _response(error.status_code, QueryError(message, hint=hint, sqlstate="08P01"), dict(error.headers or {}))


def _response(status: int, error: SfumatoError, headers: Mapping[str, str]) -> Response:
    return Response(json.dumps(error.to_dict()), status, headers, "application/json")
