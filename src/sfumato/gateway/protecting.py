"""`sfumato.protect`: a frame in memory and the owner's decisions become a gateway.

Comes in: a frame of pandas, Polars or Arrow, and keyword arguments. Goes out: a Gateway over one table. Types come from
the frame's schema, which is public; bounds and lists come from the caller, never from the rows. An argument that does
not fit is named in the error.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from sfumato.engines.duckdb.frame_rows import in_memory
from sfumato.engines.duckdb.frame_types import frame_types, object_columns
from sfumato.errors import InputError, PolicyError
from sfumato.gateway.frame_columns import Declared
from sfumato.gateway.gateway import Gateway
from sfumato.gateway.opening import enter, read_rows
from sfumato.gateway.tracebacks import short_tracebacks
from sfumato.policy import from_dict

MEMORY_ONLY = "no ledger file: the budget is kept in memory and is lost when this process exits; pass ledger="


@short_tracebacks
def protect(
    frame: Any,
    unit: str,
    rows_per_unit: int | Literal["auto"] | None = None,
    epsilon: Any = None,
    *,
    bounds: Mapping[str, tuple[Any, ...]] | None = None,
    values: Mapping[str, Iterable[Any]] | None = None,
    columns: Iterable[str] | None = None,
    hide: Iterable[str] = (),
    name: str = "data",
    ledger: str | Path | None = None,
    delta: Any = 0,
    adjacency: str = "add-remove",
    composition: str | None = None,
    version: str = "1",
) -> Gateway:
    """A gateway over one frame of pandas, Polars or Arrow.

    frame: the rows. Column types come from its schema.
    unit: the column that identifies a person, or "row" if each row is one person.
    rows_per_unit: the contribution bound: the maximum number of rows per person; always 1 for unit="row".
        With "auto", the first query that needs it also pays for estimating it.
    epsilon: the total budget of all analysts, permanently. 1 is careful, 4 is generous.
    bounds: column to (low, high), or (low, high, grid) for numbers that are not whole. Values outside count as the
        bound. Dates and times may be datetime, pandas.Timestamp or ISO text. A SUM or AVG needs bounds.
    values: column to the list of its values; any other value becomes NULL. GROUP BY then shows each of them.
    columns: the columns that can be used, besides those in bounds and values. By default all columns of the frame.
    hide: columns that cannot be used at all.
    name: the name of the table in SQL, and of the data set in the ledger.
    ledger: the file that keeps the budget and the answers. Without it they are lost when the process exits.
    delta: the delta of the guarantee; above 0 it also allows GROUP BY of columns without a list (thresholding).
    adjacency: "add-remove" (a person's rows are present or absent) or "replace" (they are other rows).
    composition: "pure", "zcdp" or "best"; by default "best" if delta is above 0, else "pure".
    version: the version name of the rows. Use a new one when the rows change: answers are stored per version.
    """
    if epsilon is None:
        raise InputError("epsilon is missing", hint="Pass the whole budget, for example epsilon=1.")
    rows = in_memory(frame)
    types = frame_types(rows)
    table: dict[str, Any] = {"unit": unit}
    if rows_per_unit is not None:
        table["rows_per_unit"] = rows_per_unit
    elif unit != "row":
        hint = 'Pass the maximum number of rows per person, or "auto"; 1 if nobody has two rows.'
        raise InputError("rows_per_unit is missing", hint=hint)
    table["columns"] = Declared(types, unit, bounds or {}, values or {}, columns, hide, object_columns(rows)).columns()
    privacy: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "adjacency": adjacency}
    if composition is not None:
        privacy["composition"] = composition
    document = {
        "source": {"engine": "duckdb", "files": {name: ":memory:"}},
        "data": {"id": name, "version": version},
        "privacy": privacy,
        "tables": {name: table},
    }
    try:
        policy = from_dict(document)
    except PolicyError as error:
        raise _in_arguments(error) from None
    if ledger is None:
        warnings.warn(MEMORY_ONLY, UserWarning, stacklevel=3)
    return enter(read_rows(policy, {name: rows}), ":memory:" if ledger is None else str(ledger))


def _in_arguments(error: PolicyError) -> PolicyError:
    """A mistake of the policy that was made from the arguments, in their names: "epsilon in [privacy]" is `epsilon`."""
    message = re.sub(r" in \[(?:privacy|data|tables\.[^\]]*)\]", "", error.message)
    hint = None if error.hint == "Write it without quotes." else error.hint
    return PolicyError(message, detail=error.detail, hint=hint, sqlstate=error.sqlstate)
