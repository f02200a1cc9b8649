"""The rows of the synthetic catalog: PostgreSQL's own types and relations, and the tables of the policy.

Comes in: the policy, and three lists of PostgreSQL 15's public facts (its relations with their columns, its types, and
the functions that read and write types). Goes out: rows by relation. Nothing here is measured: no counts, no sizes.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from sfumato.policy import AUTO, ROW, Policy, PolicyColumn, Table
from sfumato.sql.catalog.translation import CATALOG
from sfumato.types import show

FIRST = 16_384
"""The first number that PostgreSQL gives to what people make."""
DATABASE = 99_999
"""The number of the database: tools take what is below the first number for PostgreSQL's own, and hide it."""
_OWNER, _SYSTEM, _INFORMATION, _PUBLIC, _ROW_TYPES = 10, 11, 13207, 2200, 100_000
_POLICY_TYPES = {
    "integer": (20, 8), "decimal": (1700, -1), "double": (1700, -1), "text": (25, -1), "date": (1082, 4),
    "timestamp": (1114, 8), "boolean": (16, 1),
}  # fmt: skip
_TYPE = (
    "oid", "typname", "typlen", "typbyval", "typtype", "typcategory", "typispreferred", "typdelim", "typelem",
    "typarray", "typinput", "typoutput", "typreceive", "typsend", "typmodin", "typmodout", "typalign", "typstorage",
    "typcollation", "typsubscript",
)  # fmt: skip
_RANGES = (
    (3904, 23, 4451), (3906, 1700, 4532), (3908, 1114, 4533), (3910, 1184, 4534), (3912, 1082, 4535), (3926, 20, 4536),
)  # fmt: skip
_METHODS = (
    (2, "heap", "t"),
    (403, "btree", "i"),
    (405, "hash", "i"),
    (783, "gist", "i"),
    (2742, "gin", "i"),
    (3580, "brin", "i"),
    (4000, "spgist", "i"),
)
Rows = list[dict[str, Any]]


def read(name: str) -> list[list[str]]:
    """One of the three lists."""
    text = (files("sfumato.server.pgwire") / "data" / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if line]


def pairs(columns: str) -> list[tuple[str, str]]:
    """`oid oid,relname name` as names and types."""
    return [(name, kind) for name, _, kind in (part.partition(" ") for part in columns.split(","))]


def rows(policy: Policy) -> dict[str, Rows]:
    """Every row of pg_catalog."""
    found = _fixed() | {"pg_database": [_database(policy.data.id)], "pg_type": _types(), "pg_proc": _procs()}
    classes, attributes = _system()
    comments: Rows = []
    for oid, name in enumerate(sorted(policy.tables), FIRST):
        table = policy.tables[name]
        row_type = oid + _ROW_TYPES
        classes.append(_class(oid, table.name, _PUBLIC, "r", len(table.columns)) | {"reltype": row_type})
        found["pg_type"] += _row_types(row_type, oid, table.name)
        comments.append(_comment(oid, 0, _about_table(table)))
        for number, column in enumerate(table.columns.values(), 1):
            kind = _POLICY_TYPES.get(column.type or "text", _POLICY_TYPES["text"])
            attributes.append(_attribute(oid, number, column.name, *kind) | {"attnotnull": not column.nulls})
            comments.append(_comment(oid, number, _about_column(table, column)))
    comments = [comment for comment in comments if comment["description"]]
    return found | {"pg_class": classes, "pg_attribute": attributes, "pg_description": comments}


def _fixed() -> dict[str, Rows]:
    """What every database of PostgreSQL has."""
    spaces = ((_SYSTEM, "pg_catalog"), (_INFORMATION, "information_schema"), (_PUBLIC, "public"), (99, "pg_toast"))
    collations = ((100, "default"), (950, "C"), (951, "POSIX"))
    tablespaces = ((1663, "pg_default"), (1664, "pg_global"))
    languages = ((12, "internal"), (13, "c"), (14, "sql"))
    collation = {"collnamespace": _SYSTEM, "collencoding": -1, "collprovider": "d", "collowner": _OWNER}
    return {
        "pg_namespace": [{"oid": oid, "nspname": name, "nspowner": _OWNER} for oid, name in spaces],
        "pg_collation": [{"oid": oid, "collname": name, **collation} for oid, name in collations],
        "pg_language": [{"oid": oid, "lanname": name, "lanowner": _OWNER} for oid, name in languages],
        "pg_tablespace": [{"oid": oid, "spcname": name, "spcowner": _OWNER} for oid, name in tablespaces],
        "pg_am": [{"oid": oid, "amname": name, "amtype": kind} for oid, name, kind in _METHODS],
        "pg_range": [{"rngtypid": a, "rngsubtype": b, "rngmultitypid": c} for a, b, c in _RANGES],
    }


def _database(name: str) -> dict[str, Any]:
    return {
        "oid": DATABASE, "datname": name, "datdba": _OWNER, "encoding": 6, "datlocprovider": "c", "datallowconn": True,
        "datconnlimit": -1, "dattablespace": 1663, "datcollate": "C", "datctype": "C",
    }  # fmt: skip


def _types() -> Rows:
    fixed = {"typnamespace": _SYSTEM, "typowner": _OWNER, "typisdefined": True, "typtypmod": -1}
    found = [dict(zip(_TYPE, row, strict=True)) for row in read("types.tsv")]
    return [
        {**fixed, **row, "typbyval": row["typbyval"] == "t", "typispreferred": row["typispreferred"] == "t"}
        for row in found
    ]


def _procs() -> Rows:
    fixed = {
        "pronamespace": _SYSTEM, "proowner": _OWNER, "prolang": 12, "prokind": "f", "provolatile": "i",
        "proparallel": "s", "pronargs": 1,
    }  # fmt: skip
    return [{**fixed, "oid": oid, "proname": name, "prorettype": kind} for oid, name, kind in read("procs.tsv")]


def _system() -> tuple[Rows, Rows]:
    """PostgreSQL's own relations and their columns."""
    types = {row[1]: (int(row[0]), int(row[2])) for row in read("types.tsv")}
    classes, attributes = [], []
    for schema, name, oid, kind, columns in read("relations.tsv"):
        found = pairs(columns)
        home = _SYSTEM if schema == CATALOG else _INFORMATION
        classes.append(_class(int(oid), name, home, kind, len(found)))
        for number, (column, type_name) in enumerate(found, 1):
            attributes.append(_attribute(int(oid), number, column, *types.get(type_name, (25, -1))))
    return classes, attributes


def _class(oid: int, name: str, home: int, kind: str, width: int) -> dict[str, Any]:
    return {
        "oid": oid, "relname": name, "relnamespace": home, "relowner": _OWNER, "relkind": kind, "relnatts": width,
        "relam": 2 if kind == "r" else 0, "relpersistence": "p", "relispopulated": True, "relreplident": "d",
        "reltuples": -1.0,
    }  # fmt: skip


def _row_types(oid: int, table: int, name: str) -> Rows:
    """The type of a table's rows, and of lists of them."""
    fixed = {
        "typnamespace": _PUBLIC, "typowner": _OWNER, "typisdefined": True, "typtypmod": -1, "typdelim": ",",
        "typalign": "d", "typstorage": "x", "typlen": -1,
    }  # fmt: skip
    row = {
        "oid": oid, "typname": name, "typtype": "c", "typcategory": "C", "typrelid": table,
        "typarray": oid + _ROW_TYPES, "typinput": 2290, "typoutput": 2291, "typreceive": 2402, "typsend": 2403,
    }  # fmt: skip
    listed = {
        "oid": oid + _ROW_TYPES, "typname": f"_{name}", "typtype": "b", "typcategory": "A", "typelem": oid,
        "typinput": 750, "typoutput": 751, "typreceive": 2400, "typsend": 2401,
    }  # fmt: skip
    return [fixed | row, fixed | listed]


def _attribute(table: int, number: int, name: str, type_oid: int, size: int) -> dict[str, Any]:
    return {
        "attrelid": table, "attname": name, "atttypid": type_oid, "attstattarget": -1, "attlen": size, "attnum": number,
        "attcacheoff": -1, "atttypmod": -1, "attstorage": "p" if size > 0 else "x", "attalign": "i", "attislocal": True,
        "attidentity": "", "attgenerated": "", "attcompression": "", "attcollation": 100 if type_oid == 25 else 0,
    }  # fmt: skip


def _comment(table: int, number: int, text: str) -> dict[str, Any]:
    return {"objoid": table, "classoid": 1259, "objsubid": number, "description": text}


def _about_table(table: Table) -> str:
    if table.public:
        return "public: exact and free"
    if table.unit == ROW:
        return "private: each row is one person"
    unit = table.unit if isinstance(table.unit, str) else table.unit.place if table.unit else "?"
    estimated = table.rows_per_unit == AUTO
    bound = "estimated" if estimated else "1 row" if table.rows_per_unit == 1 else f"{table.rows_per_unit} rows"
    return f"private: {unit} identifies the person; contribution bound: {bound} per person"


def _about_column(table: Table, column: PolicyColumn) -> str:
    parts = ["identifies the person"] if column.name == table.unit else []
    if column.values is not None:
        parts.append(f"one of {', '.join(str(value) for value in column.values)}")
    elif column.low is not None and column.high is not None:
        ends = [str(end) if hasattr(end, "isoformat") else show(end) for end in (column.low, column.high)]
        parts.append(f"{ends[0]} to {ends[1]}")
    elif column.max_length is not None and not table.public:
        parts.append(f"any text of up to {column.max_length} characters")
    return "; ".join(parts)
