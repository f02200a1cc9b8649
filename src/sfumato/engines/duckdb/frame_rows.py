"""The rows of a frame, as they are read: held in memory, with the types that the frame states.

Comes in: what somebody passes for a table. Goes out: a frame of pandas or Polars or a table of Arrow whose columns have
types of their own, or a refusal. What is read from files later, by somebody else's rules, finds types in the rows.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from sfumato.errors import InputError

_FRAMES = (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table"), ("pyarrow", "RecordBatch"))
_STREAM = ("pyarrow", "RecordBatchReader")
_LAZY = (("polars", "LazyFrame"), ("pyarrow", "Dataset"), ("pyarrow", "Scanner"), ("duckdb", "DuckDBPyRelation"))


def in_memory(frame: Any) -> Any:
    """A frame whose rows are in memory; the batches of a stream, whose types are stated, are read once.

    Guarantee: no row and no name of a file decides what type the values of others have.
    Proof: a lazy frame or a dataset reads its files when it is asked, and takes types from all of them, from folder
        names and from values of text files. It is refused; whoever collects it sees its types and states them.
    Reference: semantics 1.3.
    Checked by: unit::rows_that_are_read_later_are_refused
    """
    if any(_is(frame, *kind) for kind in _FRAMES):
        return frame
    if any(_is(frame, *kind) for kind in _LAZY):
        raise InputError(
            f"rows must be in memory, but {type(frame).__qualname__} reads them later",
            hint="Name the files in a policy, or pass the rows, by collect() or to_table(), if you know their types.",
        )
    if _is(frame, *_STREAM):
        return frame.read_all()
    kind = f"{type(frame).__module__}.{type(frame).__qualname__}".removeprefix("builtins.")
    hint = "Pass a DataFrame of pandas or Polars, or a table of Arrow."
    if isinstance(frame, str | PathLike):
        hint = f"{hint} For files, write a policy and use sfumato.open."
    raise InputError(f"frame: cannot read an object of type {kind}", hint=hint)


def as_read(frame: Any) -> Any:
    """A frame as it is read: of pandas, columns of Python objects become text, value by value.

    Guarantee: what a row holds does not depend on other rows.
    Proof: other columns have a type of their own. DuckDB would look at the objects of a column for the type of all of
        them, and make doubles of numbers in categories where one is missing; here each becomes its own text, and a
        missing one stays missing.
    Reference: semantics 1.3.
    Checked by: unit::an_object_of_a_frame_does_not_change_what_others_hold,
        unit::a_category_of_a_frame_does_not_change_what_others_hold
    """
    held = in_memory(frame)
    if not _is(held, "pandas", "DataFrame"):
        return held
    objects = [name for name, kind in held.dtypes.items() if kind == object or str(kind) == "category"]  # noqa: E721  a kind of pandas equals a class
    texts = {name: _texts(held[name], name) for name in objects}
    return held.assign(**texts) if texts else held


def _texts(column: Any, name: Any) -> Any:
    try:
        return column.astype(object).map(str, na_action="ignore").astype("string")
    except Exception:  # noqa: BLE001  objects are anybody's, and their own words may tell what they hold
        raise InputError(
            f'a value in column "{name}" has no text', hint="Is it text with half of a surrogate pair? Make it text."
        ) from None


def _is(frame: Any, home: str, name: str) -> bool:
    """Whether it is an instance of this class, or of an heir of it, wherever its package keeps it."""
    return any(kind.__name__ == name and kind.__module__.split(".")[0] == home for kind in type(frame).__mro__)
