"""An answer as a frame of pandas, Polars or Arrow: whole numbers as 64-bit integers, other numbers as doubles.

Comes in: an Answer. Goes out: frames whose columns plot and add up without a cast. With `intervals`, each noisy column
NAME is followed by NAME_low and NAME_high. `exact` keeps every digit: numbers that are not whole are decimals. A number
that carries no information is null, as it is at every interface; its ends stand beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError

if TYPE_CHECKING:
    from sfumato.gateway.answer import Answer

_WIDEST = Decimal(10**24)
"""With the twelve digits behind the point that a number may have, it fits into a decimal of 38."""
Series = tuple[str, str, list[Any]]
"""A column: its name, PostgreSQL's type, its values."""


def series_of(answer: Answer, *, intervals: bool) -> list[Series]:
    """The columns of an answer, under names that are all different."""
    worth = answer.worth() if intervals else answer.worth_of_doubtful()
    values = [list(column) for column in zip(*answer.known_rows(worth), strict=True)] or [[] for _ in answer.columns]
    names = unique(answer.columns)
    taken, result = set(names), list[Series]()
    ends = [[(None, None) if one.interval is None else one.interval for one in row] for row in worth]
    for i, (name, kind, noisy) in enumerate(zip(names, answer.types, answer.noisy, strict=True)):
        result.append((name, kind, values[i]))
        if intervals and noisy:
            for side, word in enumerate(("low", "high")):
                free = _free(f"{name}_{word}", taken)
                result.append((free, kind, [row[i][side] for row in ends]))
    return result


def unique(names: Sequence[str]) -> list[str]:
    """Column names as frames need them: a name that already exists gets a number that makes it new."""
    taken: set[str] = set()
    return [_free(name, taken) for name in names]


def _free(name: str, taken: set[str]) -> str:
    """A name that is not taken: itself, or with the first number that makes it one."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free)
    return free


def library(name: str) -> Any:
    """A library of the extra `arrow`, or an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"{name} is not installed", hint="pip install 'sfumato[arrow]'") from None


def to_arrow(answer: Answer, *, intervals: bool, exact: bool) -> Any:
    """A pyarrow Table."""
    pyarrow = library("pyarrow")
    columns = series_of(answer, intervals=intervals)
    arrays = [pyarrow.array(*_for_arrow(values, kind, pyarrow, exact=exact)) for _, kind, values in columns]
    return pyarrow.table(arrays, names=[name for name, _, _ in columns])


def to_pandas(answer: Answer, *, intervals: bool) -> Any:
    """A pandas DataFrame: Int64, float64, boolean, datetime64 and text."""
    pandas = library("pandas")
    columns = series_of(answer, intervals=intervals)
    made = {name: pandas.Series(*_for_pandas(values, kind)) for name, kind, values in columns}
    return pandas.DataFrame(made, columns=[name for name, _, _ in columns], index=range(len(answer.rows)))


def to_polars(answer: Answer, *, intervals: bool, exact: bool) -> Any:
    """A Polars DataFrame."""
    return library("polars").from_arrow(to_arrow(answer, intervals=intervals, exact=exact))


def _for_arrow(values: list[Any], kind: str, pyarrow: Any, *, exact: bool) -> tuple[list[Any], Any]:
    """A column and its type."""
    if kind not in ("bigint", "numeric"):
        kinds = {"date": pyarrow.date32(), "boolean": pyarrow.bool_(), "text": pyarrow.string()}
        return values, kinds.get(kind)
    if kind == "bigint" and _fits(values):
        return values, pyarrow.int64()
    if not exact or not all(_is_decimal(value) for value in values):
        return [None if value is None else float(value) for value in values], pyarrow.float64()
    decimals = [None if value is None else Decimal(value) for value in values]
    return decimals, pyarrow.decimal128(38, 0) if kind == "bigint" else None


def _for_pandas(values: list[Any], kind: str) -> tuple[list[Any], None, str]:
    """What pandas.Series takes: values, no index, and a type."""
    if kind == "bigint" and _fits(values):
        return values, None, "Int64"
    if kind in ("bigint", "numeric"):
        return [float("nan") if value is None else float(value) for value in values], None, "float64"
    types = {"boolean": "boolean", "date": "datetime64[s]", "timestamp": "datetime64[us]"}
    return values, None, types.get(kind, "object")


def _fits(values: list[Any]) -> bool:
    return all(value is None or int(value).bit_length() <= 63 for value in values)


def _is_decimal(value: Any) -> bool:
    """Whether a decimal of 38 digits holds it."""
    return value is None or (Decimal(value).is_finite() and abs(Decimal(value)) < _WIDEST)
