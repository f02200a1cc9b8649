"""Columns that a DuckDB database computes when they are read: such as depend on their row alone.

Comes in: the attached database and one of its tables. Goes out: nothing, or PolicyError. DuckDB stores of a generated
column its expression. One that reads the clock, chance, a setting or the number of a row gives other values of the same
file each time it is read, and those of one row may follow from other rows.
"""

from __future__ import annotations

import duckdb

from sfumato.engines.duckdb.statement_nodes import nodes
from sfumato.errors import PolicyError
from sfumato.policy import Table

_CLASSES = ("BETWEEN", "CASE", "CAST", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "OPERATOR", "TYPE")
_FUNCTIONS = frozenset(
    (
        *("+", "-", "*", "/", "//", "%", "**", "||", "~~", "!~~", "~~*", "!~~*"),
        *("abs", "ceil", "ceiling", "exp", "floor", "greatest", "least", "ln", "log", "mod", "power", "round", "sign"),
        *("sqrt", "trunc", "concat", "contains", "left", "length", "lower", "lpad", "ltrim", "md5", "regexp_extract"),
        *("regexp_matches", "regexp_replace", "replace", "right", "rpad", "rtrim", "sha256", "split_part"),
        *("starts_with", "strftime", "strptime", "strpos", "substr", "substring", "trim", "upper", "date_diff"),
        *("date_part", "date_trunc", "datediff", "datepart", "datetrunc", "day", "dayofweek", "dayofyear", "hour"),
        *("last_day", "make_date", "make_timestamp", "minute", "month", "quarter", "second", "week", "year", "nullif"),
    )
)
"""Functions of their arguments. What DuckDB says of its functions does not do: `age(x)` reads the clock, and is said to
be consistent.
"""


def check_generated(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    """Raise PolicyError where a column that the policy names is computed from more than its row.

    Guarantee: what is read of the same file is the same each time, and of each row by itself.
    Proof: of what stands in the expression, and in those of generated columns that it reads, everything is a constant,
        a column of the table, or a function in the list, which the database does not define in another way. The time
        zone, on which casts depend, is set (`loading`).
    Reference: semantics 1.3, 5.3, 5.4.
    Checked by: unit::a_generated_column_depends_on_its_row_alone
    """
    rows = connection.execute(
        "SELECT column_name, generation_expression FROM duckdb_columns()"
        " WHERE database_name = 'source' AND schema_name = 'main' AND table_name = ?",
        [table.name],
    ).fetchall()
    columns: dict[str, str | None] = {str(name).lower(): made for name, made in rows}
    own = connection.execute("SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE NOT internal")
    known = _FUNCTIONS - {str(row[0]) for row in own.fetchall()}
    waiting = [(name, name.lower()) for name in table.columns or (str(name) for name, _ in rows)]
    seen: set[str] = set()
    while waiting:
        name, column = waiting.pop()
        made = columns.get(column)
        if column in seen or made is None:
            continue
        seen.add(column)
        for node in nodes(connection, f"SELECT {made}"):
            called, read = node.get("function_name"), [part.lower() for part in node.get("column_names") or ()]
            if called not in known if node["class"] == "FUNCTION" else node["class"] not in _CLASSES:
                raise _refused(table, name, str(called or node["class"].lower()))
            if read and (len(read) > 1 or read[0] not in columns):
                raise _refused(table, name, ".".join(read))
            waiting += [(name, part) for part in read]


def _refused(table: Table, column: str, what: str) -> PolicyError:
    return PolicyError(
        f'column "{column}" of table "{table.name}" is generated with {what}',
        detail="A generated column must depend on its row only and give the same value every time.",
        hint="Store its values in a column of their own, or leave it out of the policy.",
    )
