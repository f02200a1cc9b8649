"""The columns of a frame with their types, from its schema alone: no value is looked at.

Comes in: a frame of pandas, Polars or Arrow. Goes out: types in the policy's words, None for one that no query can
read. A column of Python objects is text: what they are would have to be read off the rows. The engine is given the
frame without its rows: of numbers in categories it would make doubles where one is missing.
"""

from __future__ import annotations

from typing import Any

import duckdb

from sfumato.errors import InputError

_UNREADABLE = ("BLOB", "STRUCT", "MAP", "UNION", "BIT", "INTERVAL", "TIME", "TIME WITH TIME ZONE")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT")
_KINDS = {"DECIMAL": "decimal", "FLOAT": "double", "DOUBLE": "double", "DATE": "date", "BOOLEAN": "boolean"}


def frame_types(frame: Any) -> dict[str, str | None]:
    """The types of a frame's columns, in their order."""
    with duckdb.connect() as connection:
        try:
            connection.register("_frame", _without_rows(frame))
            rows = connection.execute("DESCRIBE SELECT * FROM _frame").fetchall()
        except (duckdb.Error, TypeError, AttributeError, ValueError, NotImplementedError):
            kind = f"{type(frame).__module__}.{type(frame).__qualname__}"
            hint = "Pass a DataFrame of pandas or Polars, or a table of Arrow, whose columns have names."
            raise InputError(f"frame: cannot read {kind}", hint=hint) from None
    objects = object_columns(frame)
    return {str(row[0]): "text" if str(row[0]) in objects else _kind(str(row[1])) for row in rows}


def _without_rows(frame: Any) -> Any:
    """The schema of a frame, as a frame."""
    return frame.iloc[:0] if hasattr(frame, "iloc") else frame.slice(0, 0)


def _kind(declared: str) -> str | None:
    name = declared.split("(", maxsplit=1)[0].upper()
    if declared.endswith("]") or name in _UNREADABLE:
        return None
    if name in _WHOLE:
        return "integer"
    return "timestamp" if name.startswith("TIMESTAMP") else _KINDS.get(name, "text")


def object_columns(frame: Any) -> set[str]:
    """The columns of a pandas frame that hold Python objects: numbers, texts or anything else."""
    types = getattr(frame, "dtypes", None)
    if types is None or not hasattr(types, "items"):
        return set()
    return {str(name) for name, kind in types.items() if str(kind) == "object"}
