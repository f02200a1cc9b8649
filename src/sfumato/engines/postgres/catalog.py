"""What a server's catalog says of tables: no row of theirs is read.

Comes in: a server and names of tables. Goes out: SourceTables, or a PolicyError for what cannot be protected: tables
whose rows the server filters by row security, foreign tables, stored results of views, and types that a server's user
has made, whose functions might fail.
"""

from __future__ import annotations

from typing import Any

from sfumato.engines.postgres.server import PostgresServer
from sfumato.engines.postgres.source import ForeignKey, ServerTable, SourceColumn
from sfumato.errors import PolicyError
from sfumato.types import identifier as quoted

_COLUMNS = """
WITH RECURSIVE base AS (
  SELECT a.attnum, a.attname, a.atttypmod AS mod, a.attgenerated,
    a.attnotnull AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint c WHERE c.conrelid = a.attrelid
      AND c.contype = 'n' AND c.conkey[1] = a.attnum AND NOT c.convalidated) AS filled,
    t.oid, t.typname, t.typtype, t.typbasetype, t.typnamespace, t.typtypmod
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT b.attnum, b.attname, CASE WHEN b.typtypmod < 0 THEN b.mod ELSE b.typtypmod END, b.attgenerated,
    b.filled, t.oid, t.typname, t.typtype, t.typbasetype, t.typnamespace, t.typtypmod
  FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.typbasetype WHERE b.typtype = 'd'
)
SELECT b.attname::text, b.typname::text, b.typtype::text, n.nspname::text, b.filled,
  (SELECT array_agg(e.enumlabel::text ORDER BY e.enumsortorder) FROM pg_catalog.pg_enum e WHERE e.enumtypid = b.oid),
  has_column_privilege($1::oid, b.attnum, 'SELECT'),
  CASE WHEN b.typname = 'numeric' AND b.mod >= 4 THEN (b.mod - 4) & 2047 END,
  b.attgenerated::text
FROM base b JOIN pg_catalog.pg_namespace n ON n.oid = b.typnamespace
WHERE b.typtype <> 'd' ORDER BY b.attnum
"""
_UNIQUE = """
SELECT array_agg(a.attname::text) FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1])
WHERE i.indrelid = $1::oid AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indisready AND i.indislive
  AND i.indpred IS NULL AND i.indexprs IS NULL
GROUP BY i.indexrelid
"""
_STILL = _UNIQUE.replace("$1::oid", "to_regclass($1::text)")
_FOREIGN = """
SELECT a.attname::text, f.relname::text, k.attname::text
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
JOIN pg_catalog.pg_class f ON f.oid = c.confrelid
JOIN pg_catalog.pg_attribute k ON k.attrelid = c.confrelid AND k.attnum = c.confkey[1]
WHERE c.conrelid = $1::oid AND c.contype = 'f' AND c.convalidated AND NOT c.condeferrable AND cardinality(c.conkey) = 1
  AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_trigger g WHERE g.tgconstraint = c.oid AND g.tgenabled NOT IN ('O', 'A'))
ORDER BY c.conname
"""
_PARTS = """
WITH RECURSIVE parts AS (
  SELECT $1::oid AS oid UNION ALL SELECT i.inhrelid FROM parts p JOIN pg_catalog.pg_inherits i ON i.inhparent = p.oid
)
SELECT bool_and(c.relkind IN ('r', 'p')), COUNT(*) FROM parts p JOIN pg_catalog.pg_class c ON c.oid = p.oid
"""
_NAMES = """
SELECT c.relname::text FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname = current_schema() AND NOT c.relispartition
  AND has_table_privilege(c.oid, 'SELECT') ORDER BY c.relname
"""


def names(server: PostgresServer) -> list[str]:
    """The tables and the views of the role's own schema that it may read, also those that cannot be protected."""
    with server.reading(bare=True) as cursor:
        return [name for (name,) in cursor.execute(_NAMES).fetchall()]


def table(server: PostgresServer, name: str) -> ServerTable:
    """A table or view that the role finds under this name."""
    with server.reading(bare=True) as cursor:
        return _table(cursor, name)


def _table(cursor: Any, name: str) -> ServerTable:
    found = cursor.execute(
        "SELECT c.oid, n.nspname::text, c.relname::text, c.relkind::text, c.relhassubclass, row_security_active(c.oid)"
        " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
        " WHERE c.oid = to_regclass($1::text)",
        [quoted(name)],
    ).fetchone()
    if found is None:
        hint = "Names must match exactly; the search path of the role decides which schema is read."
        raise PolicyError(f'the database has no table "{name}"', hint=hint)
    oid, schema, own, kind, children, filtered = found
    rows = cursor.execute(_COLUMNS, [oid]).fetchall()
    if kind == "v":
        text = cursor.execute("SELECT pg_get_viewdef($1::oid)", [oid]).fetchone()[0]
        listed = ", ".join(quoted(row[0]) for row in rows)
        columns = {row[0]: SourceColumn(row[0], row[1], row[5] and tuple(row[5])) for row in rows}
        return ServerTable(own, schema, columns, view=f"SELECT * FROM ({text.strip().rstrip(';')}) AS v ({listed})")
    whole, parts = cursor.execute(_PARTS, [oid]).fetchone()
    _check(name, kind, filtered=filtered, whole=whole)
    inherits = kind == "r" and children and parts > 1  # what holds in a parent need not hold in what inherits from it
    columns = {
        row[0]: SourceColumn(row[0], row[1], row[5] and tuple(row[5]), row[4] and not inherits, row[7])
        for row in rows
        if _is_known(row)
    }
    unique = frozenset() if inherits else _unique(cursor, _UNIQUE, oid)
    foreign = tuple(ForeignKey(*row) for row in cursor.execute(_FOREIGN, [oid]).fetchall())
    return ServerTable(own, schema, columns, unique, foreign, only=kind == "r" and not inherits)


def _unique(cursor: Any, sql: str, table: Any) -> frozenset[frozenset[str]]:
    """The columns of each index that keeps them unique together."""
    return frozenset(frozenset(row[0]) for row in cursor.execute(sql, [table]).fetchall())


def not_unique(cursor: Any, keys: frozenset[tuple[str, frozenset[str]]]) -> list[tuple[str, frozenset[str]]]:
    """Keys, as full names of tables with columns, that the server does not keep unique in this snapshot."""
    return [(full, key) for full, key in sorted(keys, key=str) if not is_unique(key, _unique(cursor, _STILL, full))]


def is_unique(key: frozenset[str], unique: frozenset[frozenset[str]]) -> bool:
    """Whether columns are unique together: where some of them are, all are."""
    return any(one <= key for one in unique)


def _is_known(row: tuple[Any, ...]) -> bool:
    """A column that the role may read, of a type of the server's own or of an enumeration, and that is stored.

    One that is computed whenever it is read (version 18) may fail for a row, and the failure would tell of it.
    """
    _, kind, of, schema, _, _, readable, _, generated = row
    own = of in ("b", "e") and (schema == "pg_catalog" or of == "e" or kind == "citext")
    return bool(readable) and own and generated != "v"


def _check(name: str, kind: str, *, filtered: bool, whole: bool) -> None:
    if filtered:
        raise PolicyError(
            f'row security filters "{name}" for this role',
            detail="Whether a row is seen might depend on other people's rows.",
            hint="Give the role BYPASSRLS, or a policy on the table that does not apply to it.",
        )
    if kind not in ("r", "p") or not whole:
        kinds = {"m": "a materialized view", "f": "a foreign table"}
        raise PolicyError(
            f'"{name}" is {kinds.get(kind, "partly kept elsewhere")}, and cannot be protected',
            hint="Name its underlying tables instead.",
        )
