"""What stands in a statement that a DuckDB database stores, as the engine's own parser reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb


def nodes(connection: duckdb.DuckDBPyConnection, statement: str) -> Iterator[dict[str, Any]]:
    """The parts of its expressions, each with its `class`; one of class UNREADABLE where it cannot be read."""
    return (part for part in _parts(_read(connection, statement)) if "class" in part)


def read_by_place(connection: duckdb.DuckDBPyConnection, statement: str) -> list[str]:
    """The tables it names, where the order or the number of their columns says what it means; none where it does not.

    So it is where the columns of * get names by their place, are compared with each other (DISTINCT) or with others
    (UNION), and in a NATURAL JOIN.
    """
    parts = list(_parts(_read(connection, statement)))
    natural = any(part.get("ref_type") == "NATURAL" for part in parts)
    starred = any(part.get("class") == "STAR" for part in parts)
    return (
        _tables(parts) if natural or (starred and any(_is_by_place(part) and _tables(part) for part in parts)) else []
    )


def _is_by_place(part: dict[str, Any]) -> bool:
    kinds = [part.get("type"), *(one["type"] for one in part.get("modifiers") or ())]
    return bool(
        part.get("column_name_alias") or part.get("aliases") or {"SET_OPERATION_NODE", "DISTINCT_MODIFIER"} & {*kinds}
    )


def _tables(document: Any) -> list[str]:
    return [part["table_name"] for part in _parts(document) if part.get("type") == "BASE_TABLE"]


def _read(connection: duckdb.DuckDBPyConnection, statement: str) -> list[Any]:
    found = connection.execute("SELECT json_serialize_sql(?)", [statement]).fetchone()
    document: dict[str, Any] = json.loads(found[0]) if found else {"error": True}
    return [{"class": "UNREADABLE"}] if document["error"] else list(document["statements"])


def _parts(document: Any) -> Iterator[dict[str, Any]]:
    """Every object of a document."""
    waiting = [document]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
