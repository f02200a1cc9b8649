"""Where the rows of a policy's tables are, for Spark: files by their format, or names of a catalog.

Comes in: what the policy says of a table. Goes out: a view of the session with its columns; or one PolicyError that
says what is missing: a path, a table, the jar of a format.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import Any

from sfumato.engines.base import OPERATOR
from sfumato.engines.spark import text_lines
from sfumato.engines.spark.files import check_all_are_read, check_readable, folder_keys, local_files, local_path
from sfumato.engines.spark.session import SparkServer
from sfumato.engines.spark.source import SparkColumn, SparkTable
from sfumato.errors import PolicyError
from sfumato.policy.records import CATALOG, FORMATS
from sfumato.policy.sections import quote

_KEPT_AS = ("parquet", "orc", "delta", "iceberg")
_HARMLESS = {"path", "serialization.format", "compression"}
"""Options of a catalog's table that change nothing about how it is read."""
_LOOKED_AT = 1000
"""Files that are looked at to name the one whose types differ."""
_JARS = {"delta": "io.delta:delta-spark_2.13", "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13"}


def placed(written: str) -> tuple[str, str]:
    """The format and the path of what a policy says; without a word for it, by the ending."""
    word, colon, rest = written.partition(":")
    if colon and word in (*FORMATS, CATALOG):
        return word, rest.strip()
    return "csv" if written.lower().endswith((".csv", ".csv.gz")) else "parquet", written


def open_table(
    server: SparkServer,
    name: str,
    written: str | tuple[str, ...],
    read: Iterable[str] | None = None,
    *,
    public: bool = False,
) -> SparkTable:
    """A view of a table, of which these columns will be `read`, or all of them.

    Only schemas are read, the lines of text files, which are read once to refuse odd ones, and columns that might fail.
    """
    named = [placed(one) for one in ([written] if isinstance(written, str) else written)]
    kind, paths = named[0][0], [path for _, path in named]
    if any(other != kind for other, _ in named) or (kind == CATALOG and len(paths) > 1):
        raise PolicyError(f'the files of table "{name}" are of several formats', hint="Name files of one format.")
    server.check_settings()
    try:
        if kind == CATALOG:
            _check_catalog(server, name, paths[0], public=public)
        if kind == "csv" and not public:
            return _of_lines(server, name, paths)
        frame = server.frame(kind, paths)
        columns = _columns(name, frame)
        if kind in ("parquet", "orc") and not public:
            check_all_are_read(server, name, kind, paths, frame)
    except PolicyError:
        raise
    except Exception as error:  # noqa: BLE001  whatever Spark says
        raise _missing(server, name, kind, paths, str(error)) from None
    files = () if kind == CATALOG or server.connect else local_files(frame)
    table = SparkTable(name, server.name(frame), columns, files)
    if not public:
        check_readable(server, table, read)
    return table


def _columns(name: str, frame: Any) -> dict[str, SparkColumn]:
    fields = [(field.name, _type(field)) for field in frame.schema.fields]
    odd = [field for field, _ in fields if "`" in field or "${" in field]
    if odd:
        raise PolicyError(f'a column of table "{name}" is named "{odd[0]}"', hint="Rename it: no ` and no ${.")
    return {field: SparkColumn(field, type_) for field, type_ in fields}


def _type(field: Any) -> str:
    """The type as it was declared: a schema shows CHAR and VARCHAR as text, and says in its notes what they are."""
    return str(field.metadata.get("__CHAR_VARCHAR_TYPE_STRING") or field.dataType.simpleString())


def _check_catalog(server: SparkServer, name: str, written: str, *, public: bool) -> None:
    """Refuse a view, and a private table that is not kept in files of one schema, all of them, as the catalog says it.

    What a catalog says of a table was written once; its files are others' work. Options decide how a file is read, and
    a bucket whose rows they are: the first are refused, the second is never looked at (`settings`).
    """
    if server.is_view(written):
        raise PolicyError(
            f'table "{name}" is a view of the catalog, and cannot be protected',
            hint="Name its underlying tables instead.",
        )
    if public:
        return
    said = server.described(written)
    provider, location = said.get("provider", "").lower(), said.get("location", "")
    if provider not in _KEPT_AS:
        raise PolicyError(
            f'table "{name}" is kept as {provider or "something unknown"}, and cannot be protected',
            detail="One row may decide how the rows of others are read.",
            hint="Store it as Parquet, or name its text files as csv: PATH.",
        )
    if provider not in ("parquet", "orc"):
        return
    options = {one.partition("=")[0] for one in said.get("storage properties", "").strip("[]").split(", ") if one}
    if options - _HARMLESS:
        raise PolicyError(
            f'table "{name}" is read by the catalog with the option "{min(options - _HARMLESS)}"',
            hint=f"Name its files as {provider}: PATH, or make the table without it.",
        )
    meant, kept = server.frame("table", [written]), server.frame(provider, [location])
    check_all_are_read(server, name, provider, [location], meant)
    folders = {key for file in meant.inputFiles() for key in folder_keys(file)}
    types = {field.name: field.dataType.simpleString() for field in kept.schema.fields}
    for field in meant.schema.fields:
        there = types.get(field.name, field.dataType.simpleString())
        if field.name.lower() not in folders and field.dataType.simpleString() != there:
            raise PolicyError(
                f'the files of table "{name}" keep "{field.name}" as {there}, and the catalog says another type',
                detail=f"In the catalog it is {field.dataType.simpleString()}.",
                hint="Write the files with the type of the table.",
            )


def _of_lines(server: SparkServer, name: str, paths: list[str]) -> SparkTable:
    """A private table of text files: each line decides its own row."""
    lines = server.frame("text", paths)
    check_all_are_read(server, name, "text", paths, lines)
    beside = [field for field in lines.columns if field != "value"]
    columns = _columns(name, server.frame("csv", paths))
    names = [field for field in columns if field not in beside]
    view, files = server.name(lines), () if server.connect else local_files(lines)
    odd = server.cells(text_lines.odd_files(view, names)).to_pylist()
    if odd:
        address, headers, broken = odd[0].values()
        raise _odd(name, address, names, headers=headers, broken=broken)
    rows = server.query(text_lines.rows_of(view, names, beside))
    return SparkTable(name, server.name(rows), columns, files)


def _odd(name: str, address: str, names: list[str], *, headers: int, broken: int) -> PolicyError:
    file = local_path(address)
    if headers != 1:
        return PolicyError(
            f'{quote(file or address, 200)} of table "{name}" holds the names of its columns {headers:,} times',
            hint="The first line of every file must be the same, with different names, and no other line.",
        )
    where = [str(line) for line in text_lines.odd_lines(file, len(names))] if file else []
    return PolicyError(
        f'{broken:,} lines of {quote(file or address, 200)} of table "{name}" are not as the first one says',
        detail=f"The first are {', '.join(where)}." if where else "",
        hint="Lines must be UTF-8, with one field per column, closed quotes, and no line breaks inside fields.",
    )


def _missing(server: SparkServer, name: str, kind: str, paths: list[str], said: str) -> PolicyError:
    OPERATOR.error("table %s: %s", name, said[:10_000])
    if kind in _JARS and ("DATA_SOURCE_NOT_FOUND" in said or "ClassNotFound" in said or "Failed to find" in said):
        return PolicyError(
            f'table "{name}" is of format {kind}, whose jar Spark does not have',
            hint=f"Start Spark with spark.jars.packages = {_JARS[kind]}:VERSION, or with its jar on the class path.",
        )
    if "CANNOT_MERGE_SCHEMAS" in said:
        return PolicyError(
            f'the files of table "{name}" keep a column in different types',
            detail=_first_other(server, kind, paths),
            hint="Whichever is read first would decide for all rows: write them with one type.",
        )
    if kind == CATALOG:
        return PolicyError(f'the catalog has no table "{paths[0]}"', hint="Names must match; Spark's catalogs decide.")
    return PolicyError(
        f'table "{name}" cannot be read from "{paths[0]}" as {kind}', hint="The operator's log has what Spark said."
    )


def _first_other(server: SparkServer, kind: str, paths: list[str]) -> str:
    """The first file whose types are not those of the files before it."""
    met: dict[str, tuple[str, str]] = {}
    with suppress(Exception):
        for file in islice(sorted(server.frame(kind, paths, merged=False).inputFiles()), _LOOKED_AT):
            for field in server.frame(kind, [file]).schema.fields:
                type_ = field.dataType.simpleString()
                first, meant = met.setdefault(field.name, (file, type_))
                if meant != type_:
                    return f'"{field.name}" is {meant} in {quote(first, 200)}, and {type_} in {quote(file, 200)}.'
    return ""
