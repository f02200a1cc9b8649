"""The functions of the catalog: PostgreSQL's, as macros in the engine's SQL.

Comes in: nothing. Goes out: the statements that make them, and their names: nothing else may be called. What would
measure data (sizes, numbers of rows, statistics) answers 0 or NULL; nobody has a privilege but to ask.
"""

from __future__ import annotations

_BARE = """replace(list_last(string_split(CAST(x AS VARCHAR), '.')), '"', '')"""
_NULL = "CAST(NULL AS VARCHAR)"
_ZERO = "CAST(0 AS BIGINT)"
_JSON_TYPE = (
    "CASE json_type(x) WHEN 'OBJECT' THEN 'object' WHEN 'ARRAY' THEN 'array' WHEN 'VARCHAR' THEN 'string' "
    "WHEN 'BOOLEAN' THEN 'boolean' WHEN 'NULL' THEN 'null' ELSE 'number' END"
)
_GRANTS = "STRUCT(grantor UINTEGER, grantee UINTEGER, privilege_type VARCHAR, is_grantable BOOLEAN)"
_CLOCK = (
    ("YYYY", "%Y"), ("YY", "%y"), ("Month", "%B"), ("Mon", "%b"), ("Day", "%A"), ("Dy", "%a"), ("MM", "%m"),
    ("DDD", "%j"), ("DDth", "%d"), ("DD", "%d"), ("HH24", "%H"), ("HH12", "%I"), ("HH", "%I"), ("MI", "%M"),
    ("SS", "%S"), ("MS", "%g"), ("US", "%f"), ("AM", "%p"), ("PM", "%p"), ("TZ", "UTC"),
)  # fmt: skip
_ORDINAL = (
    "CASE day(CAST(x AS TIMESTAMP)) WHEN 1 THEN 'st' WHEN 21 THEN 'st' WHEN 31 THEN 'st' WHEN 2 THEN 'nd'"
    " WHEN 22 THEN 'nd' WHEN 3 THEN 'rd' WHEN 23 THEN 'rd' ELSE 'th' END"
)
_NINE = ("Month", "Day")
"""Names that PostgreSQL fills up to nine letters."""


def _told() -> str:
    """The moment `x` in the form `y`: the words of PostgreSQL that tools write for the parts of a moment.

    Each word becomes a mark first, so that no letter of a name is taken for a word.
    """
    text = "y"
    for number, (word, _) in enumerate(_CLOCK):
        text = f"replace({text}, '{word}', chr({_MARKS + number}))"
    for number, (word, part) in enumerate(_CLOCK):
        told = f"strftime(CAST(x AS TIMESTAMP), '{part}')"
        told = f"rpad({told}, 9, ' ')" if word in _NINE else told
        told = f"{told} || {_ORDINAL}" if word == "DDth" else told
        text = f"replace({text}, chr({_MARKS + number}), {told})"
    return text


_MARKS = 0xE000
"""Letters that no text has: those that Unicode leaves to everybody."""


def _as_name(x: str) -> str:
    quoted = f"""'"' || replace({x}, '"', '""') || '"'"""
    return f"CASE WHEN regexp_full_match({x}, '[a-z_][a-z0-9_$]*') THEN {x} ELSE {quoted} END"


def _as_literal(x: str) -> str:
    return f"'''' || replace({x}, '''', '''''') || ''''"


def _put_in(names: str) -> str:
    """format(f, …): values between the pieces of `f`, as names (%I), as literals (%L) or as they are (%s)."""
    pieces, kinds = "string_split_regex(f, '%[IsL]')", "regexp_extract_all(f, '%[IsL]')"
    found = [f"replace({pieces}[1], '%%', '%')"]
    for number, name in enumerate(names, 1):
        quoted, literal = (spelled(f"CAST({name} AS VARCHAR)") for spelled in (_as_name, _as_literal))
        found.append(
            f"CASE {kinds}[{number}] WHEN '%I' THEN {quoted} WHEN '%L' THEN coalesce({literal}, 'NULL') "
            f"ELSE coalesce(CAST({name} AS VARCHAR), '') END"
        )
        found.append(f"coalesce(replace({pieces}[{number + 1}], '%%', '%'), '')")
    return " || ".join(found)


_SIMPLE: dict[str, str] = {
    "version()": "'PostgreSQL %VERSION% (sfumato)'",
    "current_database()": "%DATABASE%",
    "current_catalog()": "%DATABASE%",
    "current_schema()": "'public'",
    "current_schemas(implicit)": "CASE WHEN implicit THEN ['pg_catalog', 'public'] ELSE ['public'] END",
    "current_user()": "CAST(getvariable('session_user') AS VARCHAR)",
    "session_user()": "CAST(getvariable('session_user') AS VARCHAR)",
    "pg_backend_pid()": "1",
    "pg_is_in_recovery()": "false",
    "pg_postmaster_start_time()": "CAST(NULL AS TIMESTAMP)",
    "pg_conf_load_time()": "CAST(NULL AS TIMESTAMP)",
    "pg_my_temp_schema()": "CAST(0 AS UINTEGER)",
    "pg_is_other_temp_schema(x)": "false",
    "inet_server_addr()": _NULL,
    "inet_server_port()": "CAST(NULL AS INTEGER)",
    "inet_client_addr()": _NULL,
    "inet_client_port()": "CAST(NULL AS INTEGER)",
    "txid_current()": "CAST(1 AS BIGINT)",
    "pg_export_snapshot()": _NULL,
    "pg_advisory_unlock_all()": _NULL,
    "pg_advisory_lock(x)": _NULL,
    "pg_advisory_unlock(x)": "true",
    "pg_try_advisory_lock(x)": "true",
    "pg_cancel_backend(x)": "false",
    "pg_terminate_backend(x)": "false",
    "pg_encoding_to_char(x)": "CASE x WHEN 6 THEN 'UTF8' ELSE 'SQL_ASCII' END",
    "pg_char_to_encoding(x)": "CASE upper(x) WHEN 'UTF8' THEN 6 ELSE 0 END",
    "pg_client_encoding()": "'UTF8'",
    "pg_table_is_visible(x)": (
        "(SELECT k.relnamespace IN (11, 2200) FROM pgx.pg_class k WHERE k.oid = TRY_CAST(x AS UINTEGER))"
    ),
    "pg_type_is_visible(x)": "true",
    "pg_function_is_visible(x)": "true",
    "pg_operator_is_visible(x)": "true",
    "pg_opclass_is_visible(x)": "true",
    "pg_collation_is_visible(x)": "true",
    "pg_opfamily_is_visible(x)": "true",
    "pg_ts_dict_is_visible(x)": "true",
    "pg_ts_parser_is_visible(x)": "true",
    "pg_ts_template_is_visible(x)": "true",
    "getdatabaseencoding()": "'UTF8'",
    "clock_timestamp()": "now()",
    "statement_timestamp()": "now()",
    "transaction_timestamp()": "now()",
    "current_query()": _NULL,
    "pg_blocking_pids(x)": "CAST([] AS INTEGER[])",
    "pg_typeof(x)": (
        "CASE WHEN typeof(x) LIKE 'DECIMAL%' THEN 'numeric' "
        "ELSE coalesce(%TYPED%[lower(typeof(x))], lower(typeof(x))) END"
    ),
    "array_remove(x, y)": "[part FOR part IN x IF part IS DISTINCT FROM y]",
    "array_position(x, y)": "nullif(list_position(x, y), 0)",
    "to_regrole(x)": "pgf_regrole(x)",
    "pg_get_statisticsobjdef(x)": _NULL,
    "pg_get_publication_tables(x)": _NULL,
    "pg_current_wal_lsn()": _NULL,
    "pg_last_wal_receive_lsn()": _NULL,
    "pg_last_wal_replay_lsn()": _NULL,
    "pg_is_wal_replay_paused()": "false",
    "pg_stat_get_dead_tuples(x)": _ZERO,
    "has_server_privilege(a, b)": "false",
    "has_server_privilege(a, b, c)": "false",
    "has_foreign_data_wrapper_privilege(a, b)": "false",
    "row_security_active(x)": "false",
    "pg_jit_available()": "false",
    "pg_conversion_is_visible(x)": "true",
    "pg_statistics_obj_is_visible(x)": "true",
    "pg_ts_config_is_visible(x)": "true",
    "pg_get_userbyid(x)": "CASE WHEN x = 10 THEN 'owner' ELSE 'unknown (OID=' || x || ')' END",
    "pg_get_expr(a, b)": _NULL,
    "pg_get_expr(a, b, c)": _NULL,
    "pg_get_partkeydef(x)": _NULL,
    "pg_get_constraintdef(x)": _NULL,
    "pg_get_constraintdef(x, y)": _NULL,
    "pg_get_indexdef(x)": _NULL,
    "pg_get_indexdef(x, y, z)": _NULL,
    "pg_get_viewdef(x)": _NULL,
    "pg_get_viewdef(x, y)": _NULL,
    "pg_get_triggerdef(x)": _NULL,
    "pg_get_triggerdef(x, y)": _NULL,
    "pg_get_ruledef(x)": _NULL,
    "pg_get_ruledef(x, y)": _NULL,
    "pg_get_functiondef(x)": _NULL,
    "pg_get_function_result(x)": _NULL,
    "pg_get_function_arguments(x)": _NULL,
    "pg_get_function_identity_arguments(x)": _NULL,
    "pg_get_function_sqlbody(x)": _NULL,
    "pg_get_statisticsobjdef_columns(x)": _NULL,
    "pg_get_serial_sequence(x, y)": _NULL,
    "pg_relation_is_publishable(x)": "false",
    "pg_relation_size(x)": _ZERO,
    "pg_relation_size(x, y)": _ZERO,
    "pg_total_relation_size(x)": _ZERO,
    "pg_table_size(x)": _ZERO,
    "pg_indexes_size(x)": _ZERO,
    "pg_database_size(x)": _ZERO,
    "pg_tablespace_size(x)": _ZERO,
    "pg_size_pretty(x)": "x || ' bytes'",
    "pg_stat_get_numscans(x)": _ZERO,
    "pg_stat_get_live_tuples(x)": _ZERO,
    "pg_tablespace_location(x)": "''",
    "shobj_description(x, y)": _NULL,
    "obj_description(x)": "(SELECT d.description FROM pgx.pg_description d WHERE d.objoid = x AND d.objsubid = 0)",
    "obj_description(x, y)": (
        "(SELECT d.description FROM pgx.pg_description d WHERE d.objoid = x AND d.objsubid = 0 AND y = 'pg_class')"
    ),
    "col_description(x, y)": "(SELECT d.description FROM pgx.pg_description d WHERE d.objoid = x AND d.objsubid = y)",
    "has_table_privilege(a, b)": "upper(b) LIKE '%SELECT%'",
    "has_table_privilege(a, b, c)": "upper(c) LIKE '%SELECT%'",
    "has_any_column_privilege(a, b)": "upper(b) LIKE '%SELECT%'",
    "has_any_column_privilege(a, b, c)": "upper(c) LIKE '%SELECT%'",
    "has_column_privilege(a, b, c)": "upper(c) LIKE '%SELECT%'",
    "has_column_privilege(a, b, c, d)": "upper(d) LIKE '%SELECT%'",
    "has_schema_privilege(a, b)": "upper(b) LIKE '%USAGE%'",
    "has_schema_privilege(a, b, c)": "upper(c) LIKE '%USAGE%'",
    "has_database_privilege(a, b)": "upper(b) LIKE '%CONNECT%'",
    "has_database_privilege(a, b, c)": "upper(c) LIKE '%CONNECT%'",
    "has_function_privilege(a, b)": "false",
    "has_function_privilege(a, b, c)": "false",
    "has_sequence_privilege(a, b)": "false",
    "has_sequence_privilege(a, b, c)": "false",
    "has_tablespace_privilege(a, b)": "false",
    "has_language_privilege(a, b)": "false",
    "has_type_privilege(a, b)": "true",
    "pg_has_role(a, b)": "a = 10",
    "pg_has_role(a, b, c)": "a = b",
    "current_setting(x)": "getvariable('settings')[x]",
    "current_setting(x, y)": "getvariable('settings')[x]",
    "set_config(x, y, z)": "y",
    "quote_ident(x)": _as_name("x"),
    "quote_literal(x)": _as_literal("x"),
    "quote_nullable(x)": f"coalesce({_as_literal('x')}, 'NULL')",
    "num_nulls(x)": "CAST(x IS NULL AS INTEGER)",
    "num_nulls(x, y)": "CAST(x IS NULL AS INTEGER) + CAST(y IS NULL AS INTEGER)",
    "num_nonnulls(x, y)": "CAST(x IS NOT NULL AS INTEGER) + CAST(y IS NOT NULL AS INTEGER)",
    "cardinality(x)": "CAST(len(x) AS INTEGER)",
    "to_hex(x)": "lower(printf('%x', x))",
    "octet_length(x)": "CAST(strlen(x) AS INTEGER)",
    "bit_length(x)": "CAST(8 * strlen(x) AS INTEGER)",
    "make_date(x, y, z)": "make_date(x, y, z)",
    "make_time(x, y, z)": "make_time(x, y, z)",
    "make_timestamp(a, b, c, d, e, f)": "make_timestamp(a, b, c, d, e, f)",
    "gcd(x, y)": "gcd(x, y)",
    "lcm(x, y)": "lcm(x, y)",
    "factorial(x)": "factorial(x)",
    "isfinite(x)": "isfinite(x)",
    "sind(x)": "sin(radians(x))",
    "cosd(x)": "cos(radians(x))",
    "array_cat(x, y)": "list_concat(x, y)",
    "array_append(x, y)": "list_append(x, y)",
    "array_prepend(x, y)": "list_prepend(x, y)",
    "array_ndims(x)": "CASE WHEN len(x) > 0 THEN 1 END",
    "json_build_array(x)": "json_array(x)",
    "json_build_array(x, y)": "json_array(x, y)",
    "json_build_array(x, y, z)": "json_array(x, y, z)",
    "json_typeof(x)": _JSON_TYPE,
    "jsonb_typeof(x)": _JSON_TYPE,
    "json_array_length(x)": "CAST(json_array_length(x) AS INTEGER)",
    "jsonb_array_length(x)": "CAST(json_array_length(x) AS INTEGER)",
    "to_json(x)": "to_json(x)",
    "to_jsonb(x)": "to_json(x)",
    "regexp_match(x, y)": "regexp_extract_all(x, y, CASE WHEN contains(y, '(') THEN 1 ELSE 0 END)[1:1]",
    "justify_hours(x)": "to_days(CAST(floor(epoch(x) / 86400) AS INTEGER)) + to_seconds(epoch(x) % 86400)",
    **{f"format(f, {', '.join(names)})": _put_in(names) for names in ("a", "ab", "abc", "abcd")},
    "parse_ident(x)": "[replace(part, '\"', '') FOR part IN string_split(x, '.')]",
    "array_lower(x, y)": "CASE WHEN len(x) > 0 THEN 1 END",
    "array_upper(x, y)": "CASE WHEN len(x) > 0 THEN len(x) END",
    "array_length(x, y)": "CASE WHEN len(x) > 0 THEN len(x) END",
    "array_to_string(x, y)": "array_to_string([CAST(part AS VARCHAR) FOR part IN x IF part IS NOT NULL], y)",
    "array_to_string(x, y, z)": "array_to_string([coalesce(CAST(part AS VARCHAR), z) FOR part IN x], y)",
    "generate_subscripts(x, y)": "unnest(range(1, len(x) + 1))",
    "_pg_expandarray(x)": "unnest([{'x': x[i], 'n': i} FOR i IN range(1, len(x) + 1)])",
    "_pg_truetypid(a, t)": "a.atttypid",
    "_pg_truetypmod(a, t)": "a.atttypmod",
    "_pg_char_max_length(a, b)": "CAST(NULL AS INTEGER)",
    "_pg_char_octet_length(a, b)": "CAST(NULL AS INTEGER)",
    "_pg_numeric_precision(a, b)": "CASE a WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 701 THEN 53 END",
    "_pg_numeric_precision_radix(a, b)": "CASE WHEN a IN (20, 21, 23, 700, 701) THEN 2 WHEN a = 1700 THEN 10 END",
    "_pg_numeric_scale(a, b)": "CASE WHEN a IN (20, 21, 23) THEN 0 END",
    "_pg_datetime_precision(a, b)": "CASE WHEN a = 1082 THEN 0 WHEN a IN (1114, 1184) THEN 6 END",
    "aclexplode(x)": f"unnest(CAST([] AS {_GRANTS}[]))",
    "row_to_json(x)": "to_json(x)",
    "oidvectortypes(x)": (
        "coalesce((SELECT string_agg(k.typname, ', ' ORDER BY list_position(x, k.oid)) FROM pgx.pg_type k"
        " WHERE list_contains(x, k.oid)), '')"
    ),
    "bpchar(x)": "CAST(x AS VARCHAR)",
    "host(x)": "CAST(x AS VARCHAR)",
    "encode(x)": "CAST(x AS VARCHAR)",
    "encode(x, y)": (
        "CASE CAST(y AS VARCHAR) WHEN 'hex' THEN lower(hex(CAST(x AS VARCHAR))) "
        "WHEN 'base64' THEN base64(CAST(CAST(x AS VARCHAR) AS BLOB)) ELSE CAST(x AS VARCHAR) END"
    ),
    "to_char(x, y)": _told(),
    "to_regclass(x)": "pgf_regclass(x)",
    "to_regtype(x)": "pgf_regtype(x)",
    "to_regproc(x)": "pgf_regproc(x)",
    "to_regnamespace(x)": "pgf_regnamespace(x)",
    "format_type(x, y)": (
        "coalesce((SELECT CASE WHEN k.typcategory = 'A' THEN coalesce(%SPELLED%[e.typname], e.typname) || '[]' "
        "ELSE coalesce(%SPELLED%[k.typname], k.typname) || CASE WHEN coalesce(y, -1) < 4 THEN '' "
        "WHEN x IN (1042, 1043) THEN '(' || (y - 4) || ')' "
        "WHEN x = 1700 THEN '(' || ((y - 4) >> 16) || ',' || ((y - 4) & 65535) || ')' ELSE '' END END "
        "FROM pgx.pg_type k "
        "LEFT JOIN pgx.pg_type e ON e.oid = k.typelem WHERE k.oid = x), CASE WHEN x IS NOT NULL THEN '???' END)"
    ),
}

_LOOKUPS = {
    "pgf_regclass(x)": "(SELECT min(k.oid) FROM pgx.pg_class k WHERE k.relname = %BARE%)",
    "pgf_regtype(x)": "(SELECT min(k.oid) FROM pgx.pg_type k WHERE k.typname = coalesce(%SHORT%[%BARE%], %BARE%))",
    "pgf_regproc(x)": "(SELECT min(k.oid) FROM pgx.pg_proc k WHERE k.proname = %BARE%)",
    "pgf_regnamespace(x)": "(SELECT min(k.oid) FROM pgx.pg_namespace k WHERE k.nspname = %BARE%)",
    "pgf_regrole(x)": "CAST(CASE WHEN x = 'owner' THEN 10 ELSE 16383 END AS UINTEGER)",
    "pgf_regclass_name(x)": "coalesce((SELECT k.relname FROM pgx.pg_class k WHERE k.oid = x), CAST(x AS VARCHAR))",
    "pgf_regtype_name(x)": "pgf_format_type(x, NULL)",
    "pgf_regproc_name(x)": "coalesce((SELECT k.proname FROM pgx.pg_proc k WHERE k.oid = x), '-')",
    "pgf_regnamespace_name(x)": (
        "coalesce((SELECT k.nspname FROM pgx.pg_namespace k WHERE k.oid = x), CAST(x AS VARCHAR))"
    ),
    "pgf_regrole_name(x)": "pgf_pg_get_userbyid(x)",
    "pgf_divided(x, y)": (
        "CASE WHEN y = 0 THEN error('division by zero') WHEN typeof(x) LIKE '%INT%' AND typeof(y) LIKE '%INT%' "
        "THEN x // y ELSE x / y END"
    ),
}

_SPELLED = {
    "int2": "smallint", "int4": "integer", "int8": "bigint", "bool": "boolean", "float4": "real",
    "float8": "double precision", "varchar": "character varying", "bpchar": "character", "char": '"char"',
    "timestamp": "timestamp without time zone", "timestamptz": "timestamp with time zone",
    "time": "time without time zone", "timetz": "time with time zone", "varbit": "bit varying",
}  # fmt: skip
_SHORT = {long: short for short, long in _SPELLED.items()} | {"int": "int4", "decimal": "numeric", "float": "float8"}


_TYPED = {
    "varchar": "text", "double": "double precision", "float": "real", "uinteger": "oid", "string_literal": "unknown",
    "timestamp": "timestamp without time zone", "time": "time without time zone", "hugeint": "numeric",
    "integer_literal": "integer", "varchar[]": "text[]",
}  # fmt: skip


def _map(pairs: dict[str, str]) -> str:
    quoted = [["'" + text.replace("'", "''") + "'" for text in side] for side in (pairs.keys(), pairs.values())]
    return f"map([{', '.join(quoted[0])}], [{', '.join(quoted[1])}])"


def _macro(name: str, bodies: list[tuple[str, str]]) -> str:
    text = ", ".join(f"({arguments}) AS {body}" for arguments, body in bodies)
    tables = {"%SPELLED%": _SPELLED, "%SHORT%": _SHORT, "%TYPED%": _TYPED}
    for mark, meant in {"%BARE%": _BARE, **{mark: _map(table) for mark, table in tables.items()}}.items():
        text = text.replace(mark, meant)
    return f"CREATE MACRO {name} {text}"


def _macros() -> tuple[str, ...]:
    found: dict[str, list[tuple[str, str]]] = {}
    for head, body in _SIMPLE.items():
        name, _, arguments = head.partition("(")
        found.setdefault(f"pgf_{name}", []).append((arguments.rstrip(")"), body))
    for head, body in _LOOKUPS.items():
        name, _, arguments = head.partition("(")
        found.setdefault(name, []).append((arguments.rstrip(")"), body))
    tables = [_macro(name, bodies) for name, bodies in sorted(found.items(), key=_late)]
    keywords = (
        "CREATE MACRO pgf_pg_get_keywords() AS TABLE SELECT keyword_name AS word, 'U' AS catcode, true AS barelabel, "
        "'unreserved' AS catdesc, 'can be bare label' AS baredesc FROM duckdb_keywords()"
    )
    return (*tables, keywords)


def _late(item: tuple[str, list[tuple[str, str]]]) -> tuple[int, str]:
    """What calls another macro is made after it."""
    text = " ".join(body for _, body in item[1])
    return (1 if "pgf_" in text else 0, item[0])


MACROS = _macros()
FUNCTIONS = frozenset(head.partition("(")[0] for head in (*_SIMPLE, "pg_get_keywords()"))
"""PostgreSQL's functions that may be called in questions about the catalog."""
