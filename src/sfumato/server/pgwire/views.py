"""Catalog relations that are derived from others, as views.

Comes in: nothing. Goes out: for each relation the expressions of its columns, by name, and under "" where they come
from. A column that is not named is NULL. `%DATABASE%` stands for the name of the database, in quotes.
"""

from __future__ import annotations

_ME = "CAST(getvariable('session_user') AS VARCHAR)"
_ROLES = f"(SELECT 10 AS oid, 'owner' AS name UNION ALL SELECT 16383, {_ME} WHERE {_ME} <> 'owner')"
_PLACED = "pgx.pg_class c JOIN pgx.pg_namespace n ON n.oid = c.relnamespace"
_ROLE = {
    "": _ROLES, "oid": "oid", "rolname": "name", "rolsuper": "oid = 10", "rolinherit": "true", "rolcreaterole": "false",
    "rolcreatedb": "false", "rolcanlogin": "true", "rolreplication": "false", "rolconnlimit": "-1",
    "rolbypassrls": "false",
}  # fmt: skip

_UNCOUNTED = {
    "": "pgx.pg_class c WHERE c.relnamespace = 2200", "relid": "c.oid", "schemaname": "'public'",
    "relname": "c.relname", "seq_scan": "0", "n_live_tup": "0",
}  # fmt: skip
"""Statistics of tables, which nobody counts."""

VIEWS: dict[str, dict[str, str]] = {
    "pg_catalog.pg_roles": {**_ROLE, "rolpassword": "'********'"},
    "pg_catalog.pg_authid": _ROLE,
    "pg_catalog.pg_user": {
        "": _ROLES, "usename": "name", "usesysid": "oid", "usesuper": "oid = 10", "usecreatedb": "false",
        "userepl": "false", "usebypassrls": "false", "passwd": "'********'",
    },
    "pg_catalog.pg_tables": {
        "": f"{_PLACED} WHERE c.relkind = 'r'", "schemaname": "n.nspname", "tablename": "c.relname",
        "tableowner": "'owner'", "hasindexes": "false", "hasrules": "false", "hastriggers": "false",
        "rowsecurity": "false",
    },
    "pg_catalog.pg_views": {
        "": f"{_PLACED} WHERE c.relkind = 'v'", "schemaname": "n.nspname", "viewname": "c.relname",
        "viewowner": "'owner'",
    },
    "pg_catalog.pg_settings": {
        "": "(SELECT unnest(map_entries(getvariable('settings'))) AS e)", "name": "e.key", "setting": "e.value",
        "category": "'Preset'", "short_desc": "''", "context": "'user'", "vartype": "'string'", "source": "'default'",
        "boot_val": "e.value", "reset_val": "e.value", "pending_restart": "false",
    },
    "pg_catalog.pg_stat_gssapi": {
        "": "(SELECT 1)", "pid": "pgf_pg_backend_pid()", "gss_authenticated": "false", "encrypted": "false",
    },
    "pg_catalog.pg_statio_user_tables": {name: _UNCOUNTED[name] for name in ("", "relid", "schemaname", "relname")},
    "pg_catalog.pg_statio_all_tables": {name: _UNCOUNTED[name] for name in ("", "relid", "schemaname", "relname")},
    "pg_catalog.pg_stat_user_tables": _UNCOUNTED,
    "pg_catalog.pg_stat_all_tables": _UNCOUNTED,
    "information_schema.tables": {
        "": _PLACED, "table_catalog": "%DATABASE%", "table_schema": "n.nspname", "table_name": "c.relname",
        "table_type": "CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'BASE TABLE' END", "is_insertable_into": "'NO'",
        "is_typed": "'NO'",
    },
    "information_schema.schemata": {
        "": "pgx.pg_namespace", "catalog_name": "%DATABASE%", "schema_name": "nspname", "schema_owner": "'owner'",
    },
    "information_schema.columns": {
        "": f"{_PLACED} JOIN pgx.pg_attribute a ON a.attrelid = c.oid LEFT JOIN pgx.pg_type k ON k.oid = a.atttypid",
        "table_catalog": "%DATABASE%", "table_schema": "n.nspname", "table_name": "c.relname",
        "column_name": "a.attname", "ordinal_position": "a.attnum",
        "is_nullable": "CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END",
        "data_type": "CASE WHEN k.typcategory = 'A' THEN 'ARRAY' ELSE pgf_format_type(a.atttypid, NULL) END",
        "numeric_precision": "pgf__pg_numeric_precision(a.atttypid, -1)",
        "numeric_precision_radix": "pgf__pg_numeric_precision_radix(a.atttypid, -1)",
        "numeric_scale": "pgf__pg_numeric_scale(a.atttypid, -1)",
        "datetime_precision": "pgf__pg_datetime_precision(a.atttypid, -1)", "udt_catalog": "%DATABASE%",
        "udt_schema": "'pg_catalog'", "udt_name": "k.typname", "dtd_identifier": "a.attnum",
        "is_self_referencing": "'NO'", "is_identity": "'NO'", "identity_cycle": "'NO'", "is_generated": "'NEVER'",
        "is_updatable": "'NO'",
    },
    "information_schema.character_sets": {
        "": "(SELECT 1)", "character_set_name": "'UTF8'", "character_repertoire": "'UCS'", "form_of_use": "'UTF8'",
        "default_collate_catalog": "%DATABASE%", "default_collate_schema": "'pg_catalog'",
        "default_collate_name": "'C'",
    },
    "information_schema.information_schema_catalog_name": {"": "(SELECT 1)", "catalog_name": "%DATABASE%"},
    "information_schema.enabled_roles": {"": "(SELECT 1)", "role_name": _ME},
}  # fmt: skip
