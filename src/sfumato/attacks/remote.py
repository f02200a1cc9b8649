"""A running server as an endpoint: over HTTP with a token, or over PostgreSQL's protocol with a password.

Comes in: an address. Goes out: an Endpoint that is exactly what an analyst has. What is asked there is spent there: a
server cannot be forked from outside.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from http.client import HTTPException
from importlib import import_module
from typing import Any
from urllib import error as failures
from urllib import request

from sfumato.attacks.base import Endpoint, Rows
from sfumato.errors import BudgetError, EngineError, InputError, QueryError, SfumatoError

TOKEN = "SFUMATO_TOKEN"  # noqa: S105  the name of a variable, not a token
_SPENT = BudgetError.default_sqlstate


@contextmanager
def remote_endpoint(address: str, part: int = 1) -> Iterator[Endpoint]:
    """By the beginning of its address. One part of so many of the budget that is left is for this attack."""
    if address.startswith(("http://", "https://")):
        yield _http(address.rstrip("/"), _Price(part))
    elif address.startswith(("postgresql://", "postgres://")):
        with _connected(address) as connection:
            yield _postgres(address, connection, _Price(part))
    else:
        raise InputError(f'"{address}" is no address', hint="Use http://…, https://… or postgresql://…")


class _Price:
    """What the next questions are worth; None for what the server asks by itself."""

    def __init__(self, part: int) -> None:
        self.epsilon: Fraction | None = None
        self.part = part

    def share(self, left: Fraction, questions: int) -> None:
        """Make what is left last."""
        self.epsilon = max(Fraction(int(left * 10**12) // (max(1, questions) * self.part), 10**12), Fraction(1, 10**6))


def _http(address: str, price: _Price) -> Endpoint:
    token = os.environ.get(TOKEN)
    if not token:
        raise InputError(f"{TOKEN} is not set", hint="`sfumato user token NAME` makes a token; export it.")

    def call(path: str, document: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if document is None else json.dumps(document).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        asked = request.Request(address + path, data=data, headers=headers)  # noqa: S310  http and https alone
        try:
            with request.urlopen(asked, timeout=60) as reply:  # noqa: S310  the same
                return dict(json.loads(reply.read()))
        except failures.HTTPError as refused:
            raise _refusal(refused.read()) from None
        except (failures.URLError, OSError, ValueError, HTTPException) as error:
            raise _gone(error) from None

    def run(sql: str) -> Rows:
        document = {"sql": sql} | ({} if price.epsilon is None else {"epsilon": str(price.epsilon)})
        return [tuple(row) for row in call("/api/query", document)["rows"]]

    def amount(name: str) -> Fraction:
        return Fraction(call("/api/budget")[name]["epsilon"] or 0)

    privacy = call("/api/schema")["privacy"]
    between = 1 if privacy["adjacency"] == "replace" else 2
    total = Fraction(str(privacy["epsilon"]))
    return Endpoint(
        address,
        run,
        total,
        lambda: amount("spent"),
        lambda questions: price.share(amount("remaining"), questions),
        between=between,
        clock=time.perf_counter,
    )


def _gone(error: Exception) -> EngineError:
    """The connection is lost or was never there: no further question makes sense."""
    text = str(getattr(error, "reason", None) or error) or type(error).__name__
    return EngineError("the server cannot be reached", detail=text.split("\n")[0], sqlstate="08006")


def _refusal(body: bytes) -> SfumatoError:
    """The five fields, as the error that they were."""
    try:
        fields = json.loads(body)
        fields = fields.get("error", fields)
        message, sqlstate = str(fields["message"]), str(fields["sqlstate"])
    except (ValueError, KeyError, AttributeError):
        return EngineError("the server's reply is not one of ours", sqlstate="08P01")
    return BudgetError(message) if sqlstate == _SPENT else QueryError(message, sqlstate=sqlstate)


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    try:
        psycopg = import_module("psycopg")
    except ImportError:
        raise InputError("psycopg is not installed", hint="pip install 'sfumato[attack]'") from None
    try:
        connection = psycopg.connect(address, autocommit=True)
    except psycopg.Error as error:
        if "authentication" in str(error) or "password" in str(error):
            raise QueryError("the server refuses this user or password", sqlstate="28P01") from None
        raise _gone(error) from None
    with connection:
        yield connection


def _postgres(address: str, connection: Any, price: _Price) -> Endpoint:
    psycopg = import_module("psycopg")

    def run(sql: str) -> Rows:
        try:
            if price.epsilon is not None:
                connection.execute(f"SET sfumato.epsilon = '{price.epsilon}'")
                price.epsilon = None  # it stays set
            return list(connection.execute(sql).fetchall())
        except psycopg.Error as error:
            if connection.closed:
                raise _gone(error) from None
            message, state = str(error).split("\n")[0], error.sqlstate or "58000"
            raise BudgetError(message) if state == _SPENT else QueryError(message, sqlstate=state) from None

    def amount(name: str) -> Fraction:
        try:
            rows = connection.execute("SHOW sfumato.budget").fetchall()
        except psycopg.Error as error:
            raise _gone(error) from None
        return next(Fraction(str(row[1] or 0)) for row in rows if row[0] == name)

    name = address.rpartition("@")[2]
    if not _is_ours(connection):
        return Endpoint(name, run, clock=time.perf_counter)
    return Endpoint(
        name,
        run,
        amount("total"),
        lambda: amount("spent"),
        lambda questions: price.share(amount("remaining"), questions),
        clock=time.perf_counter,
    )


def _is_ours(connection: Any) -> bool:
    """Whether there is a budget at all: a plain database has none, and promises nothing."""
    psycopg = import_module("psycopg")
    try:
        connection.execute("SHOW sfumato.budget").fetchall()
    except psycopg.errors.UndefinedObject:
        return False
    except psycopg.Error as error:
        raise _gone(error) from None
    return True
