"""A running server as an endpoint: over HTTP with a token, or over PostgreSQL's protocol with a password.

Comes in: an address. Goes out: an Endpoint that is exactly what an analyst has. What is asked there is spent there: a
server cannot be forked from outside.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib import import_module
from typing import Any
from urllib import error as failures
from urllib import request

from sfumato.attacks.base import Endpoint, Rows
from sfumato.errors import BudgetError, EngineError, InputError, QueryError, SfumatoError

TOKEN = "SFUMATO_TOKEN"  # noqa: S105  the name of a variable, not a token
_SPENT = BudgetError.default_sqlstate


@contextmanager
def remote_endpoint(address: str) -> Iterator[Endpoint]:
    """By the beginning of its address."""
    if address.startswith(("http://", "https://")):
        yield _http(address.rstrip("/"))
    elif address.startswith(("postgresql://", "postgres://")):
        with _connected(address) as connection:
            yield _postgres(address, connection)
    else:
        raise InputError(f'"{address}" is no address', hint="Use http://…, https://… or postgresql://…")


class _Price:
    """What the next questions are worth; None for what the server asks by itself."""

    def __init__(self) -> None:
        self.epsilon: Fraction | None = None

    def share(self, left: Fraction, questions: int) -> None:
        """Make what is left last."""
        self.epsilon = max(Fraction(int(left * 10**12) // max(1, questions), 10**12), Fraction(1, 10**6))


def _http(address: str) -> Endpoint:
    token = os.environ.get(TOKEN)
    if not token:
        raise InputError(f"{TOKEN} is not set", hint="`sfumato user token NAME` makes a token; export it.")
    price = _Price()

    def call(path: str, document: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if document is None else json.dumps(document).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        asked = request.Request(address + path, data=data, headers=headers)  # noqa: S310  http and https alone
        try:
            with request.urlopen(asked, timeout=60) as reply:  # noqa: S310  the same
                return dict(json.loads(reply.read()))
        except failures.HTTPError as refused:
            raise _refusal(refused.read()) from None
        except (failures.URLError, OSError) as error:
            raise EngineError("the server cannot be reached", detail=str(error)) from None

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
    )


def _refusal(body: bytes) -> SfumatoError:
    """The five fields, as the error that they were."""
    try:
        fields = json.loads(body)
        fields = fields.get("error", fields)
        message, sqlstate = str(fields["message"]), str(fields["sqlstate"])
    except (ValueError, KeyError, AttributeError):
        return EngineError("the server's reply is not one of ours")
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
        raise EngineError("the server cannot be reached", detail=str(error).split("\n")[0]) from None
    with connection:
        yield connection


def _postgres(address: str, connection: Any) -> Endpoint:
    psycopg = import_module("psycopg")
    price = _Price()

    def run(sql: str) -> Rows:
        try:
            if price.epsilon is not None:
                connection.execute(f"SET sfumato.epsilon = '{price.epsilon}'")
                price.epsilon = None  # it stays set
            return list(connection.execute(sql).fetchall())
        except psycopg.Error as error:
            message, state = str(error).split("\n")[0], error.sqlstate or "58000"
            raise BudgetError(message) if state == _SPENT else QueryError(message, sqlstate=state) from None

    def amount(name: str) -> Fraction:
        rows = connection.execute("SHOW sfumato.budget").fetchall()
        return next(Fraction(str(row[1] or 0)) for row in rows if row[0] == name)

    return Endpoint(
        address.rpartition("@")[2],
        run,
        amount("total"),
        lambda: amount("spent"),
        lambda questions: price.share(amount("remaining"), questions),
    )
