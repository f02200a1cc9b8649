"""An engine without tables, for what planning works out of declared domains alone."""

from __future__ import annotations

import threading
from typing import Any

import duckdb

from sfumato.errors import QueryError
from tests.compiled import Rows


def open_tableless() -> duckdb.DuckDBPyConnection:
    """A fresh in-memory engine without access to anything outside."""
    return duckdb.connect(":memory:", config={"threads": 1, "enable_external_access": False})


_thread = threading.local()


def run(sql: str) -> list[tuple[Any, ...]]:
    """Rows of SQL that reads no table."""
    if not hasattr(_thread, "connection"):
        _thread.connection = open_tableless()
    try:
        return [tuple(row) for row in _thread.connection.execute(sql).fetchall()]
    except duckdb.Error:
        raise QueryError("the post-processing of the released numbers cannot be computed", sqlstate="22000") from None


def tableless() -> Rows:
    """Public rows where there is no table."""
    return Rows(run)
