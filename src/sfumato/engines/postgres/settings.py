"""Settings of a PostgreSQL server: those that are set in every transaction, those that are looked at, and the others.

Comes in: nothing. Goes out: tables of settings. A role or a database may have any setting that `pg_settings` lists
with the context user, superuser or backend. Each is in one of the tables below, with the reason; a test asks a server
for its own list, so that a setting of a new version is met here first.

Guarantee: no setting of a role, of a database or of a pooler changes what a value means, leaves rows out, or ends a run
    that was paid for by how many rows there are.
Proof: what could do so is set at the beginning of each transaction (`SET`) or, where only a superuser may set it, is
    looked at on each new connection (`LOOKED_AT`), which is refused. The rest concerns plans, logs, writing, or text
    that no statement of ours reads.
Reference: PostgreSQL 13 to 18, chapter 19 (server configuration).
Checked by: unit::every_setting_of_the_server_is_set_looked_at_or_cannot_matter,
    unit::a_setting_of_the_role_changes_no_value
"""

from __future__ import annotations

SET = {
    "search_path": "pg_catalog, pg_temp",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "array_nulls": "on",  # off: the NULLs of the public rows that a job is handed would be texts
    "transform_null_equals": "off",
    "quote_all_identifiers": "off",  # the text of a view
    "gin_fuzzy_search_limit": "0",  # above: an index would give some of the rows that meet a condition
    "row_security": "off",
    "jit": "off",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "xmloption": "content",
    "xmlbinary": "base64",
    "client_min_messages": "error",
}
"""What decides how values are read and written."""
TIMEOUTS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
"""Limits of time, set to none: how long a run takes depends on rows, and an error would tell it."""
LATER = {"client_connection_check_interval": (140000, "2000"), "transaction_timeout": (170000, "0")}
"""Settings that older versions do not have: from which version on, and their value."""
LOOKED_AT = {
    "temp_file_limit": ("-1", "A charged query would fail if there are more rows than the limit allows."),
    "zero_damaged_pages": ("off", "Rows of a damaged page would be left out without a word."),
    "ignore_checksum_failure": ("off", "A damaged page would be read as if it were whole."),
}
"""Settings that only a superuser changes: what they must be, and why."""
CANNOT_MATTER = {
    "plans alone; every plan of a statement gives the same rows": (
        *("Query Tuning /", "force_parallel_mode", "debug_parallel_query", "synchronize_seqscans", "jit_expressions"),
        *("jit_tuple_deforming", "enable_", "max_parallel_", "parallel_leader_participation"),
    ),
    "logs, messages, statistics, and tools of a developer": (
        *("Reporting and Logging /", "Statistics /", "jit_debugging_support", "jit_dump_bitcode", "lc_messages"),
        *("jit_profiling_support", "trace_", "backtrace_functions", "debug_discard_caches", "escape_string_warning"),
        *("post_auth_delay", "exit_on_error", "wal_consistency_checking", "log_", "check_function_bodies"),
        *("debug_logical_replication_streaming", "debug_copy_parse_plan_trees", "debug_raw_expression_coverage_test"),
        *("debug_write_read_parse_plan_trees", "md5_password_warnings", "pre_auth_delay"),
        *("operator_precedence_warning", "update_process_title"),
    ),
    "writing, maintenance and replication; a transaction of ours reads": (
        *("Write-Ahead Log /", "Replication /", "Resource Usage / Cost-Based Vacuum Delay", "Vacuuming", "vacuum_"),
        *("default_table_access_method", "default_tablespace", "default_toast_compression", "gin_pending_list_limit"),
        *("lo_compat_privileges", "allow_in_place_tablespaces", "allow_system_table_mods", "password_encryption"),
        *(
            "session_replication_role",
            "event_triggers",
            "createrole_self_grant",
            "scram_iterations",
            "file_copy_method",
        ),
        *("icu_validation_level", "commit_timestamp_buffers", "file_extend_method"),
    ),
    "memory, disks, the network and locks: how fast a run is": (
        *("Resource Usage / Memory", "Resource Usage / Asynchronous Behavior", "Resource Usage / I/O"),
        *("Connections and Authentication / Connection Settings", "Connections and Authentication / TCP Settings"),
        *("Lock Management", "temp_tablespaces", "ignore_system_indexes", "tcp_"),
    ),
    "the beginning of our transactions says it": (
        *("default_transaction_", "transaction_deferrable", "transaction_isolation", "transaction_read_only"),
        "client_encoding",
    ),
    "an idle connection that has ended is replaced": ("idle_session_timeout",),
    "no statement of ours uses it": (
        *("default_text_search_config", "timezone_abbreviations", "dynamic_library_path", "extension_destdir"),
        "extension_control_path",
    ),
    "refuses a statement before anything is charged": ("restrict_nonsystem_relation_kind",),
    "code that the owner has put into the server": (
        *("local_preload_libraries", "session_preload_libraries", "Customized Options"),
    ),
}
"""Beginnings of names or of categories of the other settings, by the reason why they cannot matter."""
