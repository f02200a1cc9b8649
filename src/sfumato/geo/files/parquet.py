"""Parquet and GeoParquet files, a row group at a time. Needs pyarrow.

Positions are two columns of numbers, or a GeoParquet geometry of points in degrees (WKB). Metadata of the file is
written anew: a bounding box of the true points is never copied.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import InputError
from sfumato.geo.files.columns import ColumnChoice, Columns, decide
from sfumato.geo.files.streams import Batch, Floats, Write

_ROWS = 1 << 17
_DEGREES = {"OGC:CRS84", "EPSG:4326"}
_POINT = np.dtype([("order", "u1"), ("kind", "<u4"), ("x", "<f8"), ("y", "<f8")])
_SIZES = {1: 21, 1001: 29, 2001: 29, 3001: 37, 0x80000001: 29, 0x40000001: 29, 0xC0000001: 37}
"""The kinds of points, in both dialects of WKB, and how many bytes they have: with altitude, with a measure, with both.
One that brings a reference system of its own is none of them.
"""


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError("Parquet files need pyarrow", hint="Install sfumato[geo].") from None
    return pa, pq


def open_parquet(path: Path, choice: ColumnChoice) -> tuple[Columns, Iterator[Batch], dict[str, Any]]:
    """The plan, the batches, and the schema of what is kept."""
    pa, pq = _arrow()
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid:
        raise InputError(f'"{path.name}" is not a Parquet file') from None
    names, schema = file.schema_arrow.names, file.schema_arrow
    geometry = None if choice.lat or choice.lon else _geometry(schema.metadata or {})
    if geometry is not None and geometry not in names:
        raise InputError(f'there is no geometry column "{geometry}", though the metadata of the file names it')
    if geometry is not None:
        beside = [*_beside(schema), *_in_geometry(file, geometry)]
        columns = decide([*names, "@lat"], choice, position=("@lat", geometry), beside=beside)
    else:
        columns = decide(names, choice, beside=_beside(schema))
    kept = [_plain(schema.field(name)) for name in columns.kept]
    return columns, _batches(file, columns, geometry), {"kept": kept, "geometry": geometry, "order": names}


def _beside(schema: Any) -> list[str]:
    """What people wrote into the file beside its columns; what libraries write to read it again is not listed."""
    usual = {b"geo", b"pandas", b"ARROW:schema"}
    found = [f'metadata "{key.decode("utf-8", "replace")}"' for key in schema.metadata or () if key not in usual]
    return found + [f'metadata of the column "{field.name}"' for field in schema if _has_metadata(field)]


def _has_metadata(field: Any) -> bool:
    """In the field, or in one inside of it."""
    if any(key != b"PARQUET:field_id" for key in field.metadata or ()) or hasattr(field.type, "extension_name"):
        return True
    return any(_has_metadata(one) for one in _inner(field.type))


def _inner(kind: Any) -> list[Any]:
    """The fields inside of a type."""
    return [kind.field(i) for i in range(kind.num_fields)]


def _in_geometry(file: Any, geometry: str) -> list[str]:
    """What is written beside the positions: a bounding box of them, numbers after the first two of a point."""
    import pyarrow.compute as pc

    kind = file.schema_arrow.field(geometry).type
    if str(kind) not in ("binary", "large_binary"):
        raise InputError(f'the geometry column "{geometry}" holds {kind}, not WKB')
    document = json.loads(file.schema_arrow.metadata[b"geo"])
    found = ["bounding box"] if any("bbox" in one for one in document["columns"].values()) else []
    if any(
        pc.any(pc.greater(pc.binary_length(table.column(geometry)), _POINT.itemsize)).as_py()
        for table in _tables(file, [geometry])
    ):
        found.append("altitude")
    return found


def _plain(field: Any) -> Any:
    """A column of plain values: without a dictionary, which may hold values that no row has, and without the words that
    somebody wrote into its type.
    """
    pa, _ = _arrow()
    kind = field.type.storage_type if hasattr(field.type, "extension_name") else field.type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.field(field.name, _bare(kind, field.name), field.nullable)


def _bare(kind: Any, name: str) -> Any:
    """The type without the metadata of fields inside of it."""
    pa, _ = _arrow()
    if pa.types.is_dictionary(kind) or hasattr(kind, "extension_name"):
        raise InputError(
            f'the column "{name}" has a dictionary inside, or a type of its own', hint="Drop it, or write plain values."
        )
    inner = [pa.field(one.name, _bare(one.type, name), one.nullable) for one in _inner(kind)]
    if not inner:
        return kind
    if pa.types.is_struct(kind):
        return pa.struct(inner)
    if pa.types.is_list(kind):
        return pa.list_(inner[0])
    if pa.types.is_large_list(kind):
        return pa.large_list(inner[0])
    raise InputError(f'the column "{name}" is of a kind that cannot be kept: {kind}', hint="Drop it.")


def _geometry(metadata: dict[bytes, bytes]) -> str | None:
    """The name of the geometry column of a GeoParquet file, if it is one."""
    if b"geo" not in metadata:
        return None
    try:
        document = json.loads(metadata[b"geo"])
        name = str(document["primary_column"])
        column = document["columns"][name]
        crs = column.get("crs")
        code = "OGC:CRS84" if crs is None else _code(crs.get("id", {}))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(
            "the GeoParquet metadata of the file is not understood",
            hint="Name two columns of degrees with --lat and --lon.",
        ) from None
    if code not in _DEGREES:
        raise InputError("the geometry is not in degrees", detail=f"Its reference system is {code}.")
    if column.get("encoding") != "WKB":
        raise InputError(f"a geometry encoded as {column.get('encoding')} is not read", hint="Write it as WKB.")
    return name


def _code(identifier: Any) -> str:
    """The name of a reference system, such as EPSG:4326."""
    return f"{identifier.get('authority', '')}:{identifier.get('code', '')}"


def _batches(file: Any, columns: Columns, geometry: str | None) -> Iterator[Batch]:
    done = 0
    wanted = [*columns.kept, *([geometry] if geometry else [columns.lat, columns.lon])]
    for table in _tables(file, wanted):
        if geometry:
            lat, lon = _points(table.column(geometry), done)
        else:
            lat, lon = (_numbers(table.column(name), done) for name in (columns.lat, columns.lon))
        yield Batch(lat, lon, table.select(list(columns.kept)), done)
        done += table.num_rows


def _tables(file: Any, wanted: list[str]) -> Iterator[Any]:
    """Parts of one size, however the file is cut into row groups: its cuts may follow people or places."""
    pa, _ = _arrow()
    held: list[Any] = []
    rows = 0
    try:
        for batch in file.iter_batches(batch_size=_ROWS, columns=wanted):
            held.append(batch)
            rows += batch.num_rows
            if rows >= _ROWS:
                whole = _joined(held)
                yield whole.slice(0, _ROWS)
                held, rows = [whole.slice(_ROWS)], rows - _ROWS
        if rows:
            yield _joined(held)
    except pa.ArrowException as error:
        raise InputError("the Parquet file is damaged", detail=str(error).strip().splitlines()[0]) from None


def _joined(batches: list[Any]) -> Any:
    pa, _ = _arrow()
    whole = [batch for batch in batches if batch.num_rows]
    return whole[0] if len(whole) == 1 else pa.Table.from_batches(whole).combine_chunks().to_batches()[0]


def _numbers(column: Any, done: int) -> Floats:
    pa, _ = _arrow()
    try:
        values = np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError("a position column does not hold numbers") from None
    missing = np.flatnonzero(np.isnan(values))
    if missing.size:
        raise InputError(f"row {done + int(missing[0]) + 1} has no position", hint="Remove rows without one.")
    return values


def _points(column: Any, done: int) -> tuple[Floats, Floats]:
    """WKB points, little-endian, two-dimensional; anything else one by one, or refused."""
    lat, lon = [], []
    for i, data in enumerate(column.to_pylist()):
        if data is None or len(data) < _POINT.itemsize:
            raise InputError(f"row {done + i + 1} has no point", hint="Only points are protected one by one.")
        point = np.frombuffer(data[: _POINT.itemsize], _POINT if data[0] == 1 else _POINT.newbyteorder(">"))[0]
        kind = int(point["kind"])
        if len(data) != _SIZES.get(kind) or data[0] > 1:
            raise InputError(f"row {done + i + 1} is not a point", hint="Only points are protected one by one.")
        lat.append(float(point["y"]))
        lon.append(float(point["x"]))
    return np.array(lat), np.array(lon)


@contextmanager
def write_parquet(
    path: Path, columns: Columns, *, kept: Any = (), geometry: str | None = None, order: Any = ()
) -> Iterator[Write]:
    """A new file: reports and kept columns in the order of the old one, no metadata but that of the geometry."""
    pa, pq = _arrow()
    plain = {"@lat": "lat", "@lon": "lon", "latitude ": "lat", "longitude ": "lon"}
    lat_name, lon_name = plain.get(columns.lat, columns.lat), plain.get(columns.lon, columns.lon)
    ours = (
        [pa.field(geometry, pa.binary())]
        if geometry
        else [pa.field(lat_name, pa.float64()), pa.field(lon_name, pa.float64())]
    )
    fields = {f.name: f.remove_metadata() for f in [*kept, *ours]}
    if len(fields) < len(kept) + len(ours):
        raise InputError(f'a kept column is named as the positions are: "{ours[0].name}"', hint="Rename it.")
    names = [*(name for name in order if name in fields), *(name for name in fields if name not in order)]
    metadata = None
    if geometry:
        column = {"encoding": "WKB", "geometry_types": ["Point"]}
        geo = {"version": "1.1.0", "primary_column": geometry, "columns": {geometry: column}}
        metadata = {b"geo": json.dumps(geo).encode()}
    schema = pa.schema([fields[name] for name in names], metadata=metadata)
    with pq.ParquetWriter(path, schema) as writer:

        def write(batch: Batch, lat: Floats, lon: Floats) -> None:
            if geometry:
                arrays = {geometry: pa.array(_wkb(lat, lon), pa.binary())}
            else:
                arrays = {lat_name: pa.array(lat), lon_name: pa.array(lon)}
            arrays |= {f.name: _decoded(batch.rest.column(f.name)) for f in kept}
            writer.write_batch(pa.record_batch([arrays[name] for name in names], schema=schema))

        yield write


def _decoded(column: Any) -> Any:
    stored = getattr(column, "storage", column)
    return stored.dictionary_decode() if hasattr(stored, "dictionary_decode") else stored


def _wkb(lat: Floats, lon: Floats) -> list[bytes]:
    points = np.empty(len(lat), _POINT)
    points["order"], points["kind"], points["x"], points["y"] = 1, 1, lon, lat
    data, size = points.tobytes(), _POINT.itemsize
    return [data[i : i + size] for i in range(0, len(data), size)]
