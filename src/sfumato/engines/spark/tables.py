"""Where the rows of a policy's tables are, for Spark: files by their format, or names of a catalog.

Comes in: what the policy says of a table. Goes out: a view of the session with its columns; or one PolicyError that
says what is missing: a path, a table, the jar of a format.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlparse

from sfumato.engines.base import OPERATOR
from sfumato.engines.spark.session import SparkServer
from sfumato.engines.spark.source import SparkColumn, SparkTable
from sfumato.errors import PolicyError

FORMATS = ("parquet", "csv", "delta", "iceberg", "orc", "table")
"""What may stand before a colon; `table` is a name of a catalog."""
_JARS = {"delta": "io.delta:delta-spark_2.13", "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13"}


def placed(written: str) -> tuple[str, str]:
    """The format and the path of what a policy says; without a word for it, by the ending."""
    word, colon, rest = written.partition(":")
    if colon and word in FORMATS:
        return word, rest.strip()
    return "csv" if written.lower().endswith((".csv", ".csv.gz")) else "parquet", written


def open_table(server: SparkServer, name: str, written: str | tuple[str, ...]) -> SparkTable:
    """A view of a table. Only schemas are read."""
    named = [placed(one) for one in ([written] if isinstance(written, str) else written)]
    kind, paths = named[0][0], [path for _, path in named]
    if any(other != kind for other, _ in named) or (kind == "table" and len(paths) > 1):
        raise PolicyError(f'the files of table "{name}" are of several formats', hint="Name files of one format.")
    try:
        if kind == "table" and server.is_view(paths[0]):
            raise PolicyError(
                f'table "{name}" is a view of the catalog, and cannot be protected',
                hint="Name the tables that it is made of.",
            )
        frame = server.frame(kind, paths)
        fields = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
    except PolicyError:
        raise
    except Exception as error:  # noqa: BLE001  whatever Spark says
        raise _missing(name, kind, paths, str(error)) from None
    odd = [field for field, _ in fields if "`" in field or "${" in field]
    if odd:
        raise PolicyError(f'a column of table "{name}" is named "{odd[0]}"', hint="Rename it: no ` and no ${.")
    columns = {field: SparkColumn(field, type_) for field, type_ in fields}
    files = () if kind == "table" or server.connect else tuple(sorted(map(_local_path, frame.inputFiles())))
    return SparkTable(name, server.name(frame), columns, files if all(files) else ())


def _local_path(address: str) -> str:
    """The file of an address, where it is on this machine; else nothing."""
    parts = urlparse(address)
    path = unquote(parts.path)
    return path if parts.scheme in ("", "file") and Path(path).exists() else ""


def _missing(name: str, kind: str, paths: list[str], said: str) -> PolicyError:
    OPERATOR.error("table %s: %s", name, said[:10_000])
    if kind in _JARS and ("DATA_SOURCE_NOT_FOUND" in said or "ClassNotFound" in said or "Failed to find" in said):
        return PolicyError(
            f'table "{name}" is of format {kind}, whose jar Spark does not have',
            hint=f"Start Spark with spark.jars.packages = {_JARS[kind]}:VERSION, or with its jar on the class path.",
        )
    if kind == "table":
        return PolicyError(f'the catalog has no table "{paths[0]}"', hint="Names must match; Spark's catalogs decide.")
    return PolicyError(
        f'table "{name}" cannot be read from "{paths[0]}" as {kind}', hint="The operator's log has what Spark said."
    )


def stamp_of(table: SparkTable) -> tuple[tuple[str, int, int], ...] | None:
    """Name, size and time of each file, where they are on this machine; None where one is gone."""
    try:
        return tuple((file, Path(file).stat().st_size, Path(file).stat().st_mtime_ns) for file in table.files)
    except OSError:
        return None
