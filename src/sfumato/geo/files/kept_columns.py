"""Kept columns from one format to another: the values of each row, as the other format writes them.

CSV and GPX files declare no types, so that their values stay text; tracks and segments of GPX are rows in their order.
GPX has no columns to write to, and a property of GeoJSON no single type that a Parquet column could have: these are
refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from sfumato.errors import InputError
from sfumato.geo.files.columns import Columns
from sfumato.geo.files.streams import Batch

_PLAIN = ("lat", "lon")
_NOT_NAMED = ("latitude ", "@lat")
"""What stands for the latitude where the format itself holds positions, and no column does."""
_TO = {
    "csv": ("geojson", "parquet"),
    "geojson": ("csv",),
    "gpx": ("csv", "geojson", "parquet"),
    "parquet": ("csv", "geojson"),
}
Convert = Callable[[Batch], Batch]


def convert(columns: Columns, source: str, target: str) -> tuple[Columns, dict[str, Any], Convert]:
    """The columns as they are named in another format, how it is written, and a batch with what it keeps."""
    if columns.lat in _NOT_NAMED and target != "gpx":
        columns = _with_plain_names(columns)
    if not columns.kept:
        return columns, {}, lambda batch: replace(batch, rest=None)
    if target not in _TO.get(source, ()):
        others = " or ".join(_TO.get(source, ()))
        raise InputError(
            f"other columns of {source} cannot be kept in {target}",
            detail=f"These would be kept: {', '.join(columns.kept)}.",
            hint="Drop them, or write to a file with the same ending" + (f", or to {others}." if others else "."),
        )
    if target == "csv":
        return (
            columns,
            {},
            lambda batch: replace(batch, rest=[[_text(v) for v in row] for row in _rows(batch, columns)]),
        )
    if target == "geojson":
        return (
            columns,
            {},
            lambda batch: replace(batch, rest=[_properties(columns, row) for row in _rows(batch, columns)]),
        )
    return _to_parquet(columns)


def _with_plain_names(columns: Columns) -> Columns:
    twice = next((name for name in _PLAIN if name in columns.kept), None)
    if twice is not None:
        raise InputError(f'a kept column is named as the positions are: "{twice}"', hint="Rename it.")
    return replace(columns, lat=_PLAIN[0], lon=_PLAIN[1])


def _rows(batch: Batch, columns: Columns) -> list[list[Any]]:
    """The kept values of each row, in the order of the columns."""
    rest = batch.rest
    if not isinstance(rest, list):
        return [list(row) for row in zip(*(rest.column(name).to_pylist() for name in columns.kept), strict=True)]
    if rest and isinstance(rest[0], dict):
        return [[row["properties"].get(name, row.get(name)) for name in columns.kept] for row in rest]
    if rest and isinstance(rest[0], tuple):
        return [[inside.get(name) for name in columns.kept] for tag, inside in rest if tag[0] not in "<>"]
    return rest


def _text(value: object) -> str:
    """A cell of a CSV file; nothing where there is no value, JSON where there are several."""
    value = _plain(value)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _properties(columns: Columns, row: list[Any]) -> dict[str, Any]:
    return {"properties": {name: _plain(value) for name, value in zip(columns.kept, row, strict=True)}}


def _plain(value: object) -> Any:
    """A value as JSON has it: days and moments as ISO texts, decimals as texts with all their digits."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    raise InputError(
        f"a kept column holds {type(value).__name__}, which has no text of its own",
        hint="Drop it, or write to a file with the same ending.",
    )


def _to_parquet(columns: Columns) -> tuple[Columns, dict[str, Any], Convert]:
    import pyarrow as pa

    fields = [pa.field(name, pa.string()) for name in columns.kept]

    def converted(batch: Batch) -> Batch:
        rows = _rows(batch, columns)
        cells = [pa.array([row[i] for row in rows], pa.string()) for i in range(len(fields))]
        return replace(batch, rest=pa.record_batch(cells, schema=pa.schema(fields)))

    return columns, {"kept": fields, "order": [columns.lat, columns.lon, *columns.kept]}, converted
