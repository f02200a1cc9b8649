"""The catalog that tools look at: synthetic relations of PostgreSQL, with nothing in them but public metadata.

Comes in: the policy. Goes out: answers to questions about tables, columns and types, from an engine of its own that
holds no row of anybody. Bounds, lists and units stand in the comments of columns. Asking here is exact and free.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import duckdb

from sfumato.algebra.interval_values import read as read_interval
from sfumato.algebra.interval_values import shown
from sfumato.engines.duckdb.fetching import fetch_bounded
from sfumato.errors import QueryError
from sfumato.policy import Policy
from sfumato.server.pgwire.macros import FUNCTIONS, MACROS
from sfumato.server.pgwire.relations import pairs, read, rows
from sfumato.server.pgwire.results import Field, Result
from sfumato.server.pgwire.settings import VERSION
from sfumato.server.pgwire.statement_kinds import remembered
from sfumato.server.pgwire.views import VIEWS
from sfumato.sql.catalog.queries import translate
from sfumato.sql.catalog.text_types import text_types
from sfumato.sql.catalog.translation import CATALOG, HOMES, INFORMATION, CatalogNames
from sfumato.sql.read.lexer import statements
from sfumato.types import identifier, string

MOST_ROWS, MOST_BYTES = 100_000, 64 * 2**20
"""What one query may answer with."""
_ENGINE_TYPES = {
    "oid": "UINTEGER", "xid": "UINTEGER", "regtype": "UINTEGER", "regproc": "UHUGEINT", "int2": "SMALLINT",
    "int4": "INTEGER", "int8": "BIGINT", "bool": "BOOLEAN", "float4": "FLOAT", "float8": "DOUBLE",
    "timestamptz": "TIMESTAMP", "oidvector": "UBIGINT[]", "int2vector": "USMALLINT[]", "anyarray": "VARCHAR[]",
    "_oid": "UINTEGER[]", "_int2": "SMALLINT[]", "_text": "VARCHAR[]", "_char": "VARCHAR[]", "_name": "VARCHAR[]",
    "_aclitem": "VARCHAR[]", "_regtype": "UINTEGER[]",
}  # fmt: skip
"""The engine's types for PostgreSQL's: each that matters on the wire has one of its own, all others are text."""
_WIRE_TYPES = {
    "UINTEGER": "oid", "UHUGEINT": "regproc", "UBIGINT[]": "oidvector", "USMALLINT[]": "int2vector", "TINYINT":
    "smallint", "SMALLINT": "smallint", "INTEGER": "integer", "BIGINT": "bigint", "HUGEINT": "numeric", "UBIGINT":
    "numeric", "BOOLEAN": "boolean", "FLOAT": "real", "DOUBLE": "double precision", "VARCHAR": "text", "DATE": "date",
    "JSON": "json", "TIMESTAMP": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "TIME": "time",
}  # fmt: skip
_CLOCKS = frozenset(
    {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp", "now", "today", "random"}
)
"""Words of the language that tell the time, beside the engine's own list of functions that are not the same twice."""
_ZONED, _SPAN = "TIMESTAMP WITH TIME ZONE", "INTERVAL"
_BEGIN = datetime(1970, 1, 1)  # noqa: DTZ001  moments are naive and in UTC, as everywhere in the house
_NUMBERS = ("UINTEGER", "UHUGEINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE")
_HINT = "Only catalog queries that common tools send are supported."
_REFUSALS = (
    (r'[Cc]olumn "([^"]+)" (?:not found|referenced)', 'column "{}" does not exist', "42703"),
    (r'does not have a column named "([^"]+)"', 'column "{}" does not exist', "42703"),
    (r'Referenced table "([^"]+)" not found', 'missing FROM-clause entry for table "{}"', "42P01"),
    (r'Ambiguous reference to column name "([^"]+)"', 'column reference "{}" is ambiguous', "42702"),
    (r'column "([^"]+)" must appear in the GROUP BY', 'column "{}" must appear in the GROUP BY clause', "42803"),
    (r"[Dd]ivision by zero", "division by zero", "22012"),
    (r"Type with name (\w+) does not exist", 'type "{}" does not exist', "42704"),
)
"""What the engine says of names that the query itself wrote, and what PostgreSQL says of the same."""
_KINDS = {
    "Binder Error": ("the names or types of this catalog query do not match", "42804"),
    "Catalog Error": ("this catalog query calls a function that is not supported", "42883"),
    "Parser Error": ("syntax error in a catalog query", "42601"),
    "Conversion Error": ("a value in this catalog query does not have the type that its place needs", "22P02"),
    "Invalid Input Error": ("a value in this catalog query is not valid for its function", "22023"),
    "Out of Range Error": ("a number in this catalog query is out of range", "22003"),
    "Out of Memory Error": ("this catalog query exceeds its memory limit", "53200"),
}
"""The rest, by the kind of the engine's error; its text goes nowhere."""


class Proc(int):
    """The number of a function that prints as its name."""

    name: str = "-"

    def __str__(self) -> str:
        return self.name


class Catalog:
    """An engine in memory. Any number of threads may ask; nobody can change it."""

    def __init__(self, policy: Policy) -> None:
        config: dict[str, Any] = {"threads": 1, "memory_limit": "256MB", "temp_directory": ""}
        self._engine = duckdb.connect(":memory:", config=config)
        self._relations = {(r[0], r[1]): pairs(r[4]) for r in read("relations.tsv")}
        self._procs = {int(oid): name for oid, name, _ in read("procs.tsv")}
        self._build(policy)
        names = {home: {name for schema, name in self._relations if schema == home} for home in HOMES}
        own = {name.lower() for name in policy.tables}
        procs = {name for columns in self._relations.values() for name, kind in columns if kind == "regproc"}
        relations = {CATALOG: frozenset(names[CATALOG] - own), INFORMATION: frozenset(names[INFORMATION])}
        known = CatalogNames(relations, FUNCTIONS, frozenset(procs))
        self.names = known
        """What the catalog has."""
        self.question: Callable[[str], str | None] = remembered(partial(translate, known=known))
        """The question in the engine's SQL; None if it is not about the catalog alone."""
        self.texts: Callable[[str], tuple[str | None, ...]] = remembered(partial(text_types, relations=self._relations))
        """Which columns of a question are name, "char" or varchar."""
        self._moving = self._find_moving()
        self._engine.execute("SET enable_external_access = false")
        self._engine.execute("SET lock_configuration = true")

    def _find_moving(self) -> set[str]:
        """Words that may mean another thing a moment later: functions of the engine, and what is made of them.

        `getvariable` is none: it holds the user and the settings, by which results are kept apart.
        """
        unsteady = "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE stability <> 'CONSISTENT'"
        moving = {name for (name,) in self._engine.execute(unsteady).fetchall()} | _CLOCKS
        moving -= {"getvariable"}
        named = [(words[2], words[3:]) for text in MACROS for words in (statements(text)[0].words,)]
        while more := {name for name, words in named if name not in moving and not moving.isdisjoint(words)}:
            moving |= more
        return moving

    def is_moving(self, question: str) -> bool:
        """Whether the same question may have another answer a moment later: it names a clock, chance, or the like."""
        return not self._moving.isdisjoint(word for one in statements(question) for word in one.words)

    def reads_settings(self, question: str) -> bool:
        """Whether its answer may depend on the settings of who asks."""
        return "setting" in question.lower()

    def close(self) -> None:
        """Let go of it."""
        self._engine.close()

    def run(self, question: str, user: str, settings: tuple[tuple[str, str], ...]) -> Result:
        """The answer. It costs nothing, so that a look at its columns may run it, too."""
        with self._engine.cursor() as cursor:
            try:
                cursor.execute("SET VARIABLE session_user = $1", [user])
                if self.reads_settings(question):
                    values = [[row[i] for row in settings] for i in (0, 1)]
                    cursor.execute("SET VARIABLE settings = map($1::VARCHAR[], $2::VARCHAR[])", values)
                cursor.execute("BEGIN TRANSACTION READ ONLY")
                cursor.execute(question)
                described = [(str(column[0]), str(column[1])) for column in cursor.description or ()]
                fields, kinds = tuple(Field(n, _wire_type(kind)) for n, kind in described), [k for _, k in described]
                retold = not {_ZONED, _SPAN}.isdisjoint(kinds)
                if retold:
                    cursor.execute(_counted(question, kinds))
                found, size = fetch_bounded(cursor, MOST_BYTES, MOST_ROWS)
                rows = [_dated(row, kinds) for row in found] if retold else found
                return Result(fields, [self._shown(row, fields) for row in rows], size=size)
            except duckdb.Error as error:
                raise _refused(error) from None

    def _shown(self, row: tuple[Any, ...], fields: tuple[Field, ...]) -> tuple[Any, ...]:
        """Functions are numbers with names: the name in text, the number in binary."""
        if all(field.type != "regproc" for field in fields):
            return row
        together = zip(row, fields, strict=True)
        return tuple(self._proc(value) if field.type == "regproc" and value else value for value, field in together)

    def _proc(self, oid: Any) -> Proc:
        made = Proc(oid)
        made.name = self._procs.get(int(oid), "-")
        return made

    def _build(self, policy: Policy) -> None:
        run = self._engine.execute
        for home in HOMES.values():
            run(f"CREATE SCHEMA {home}")
        for (schema, name), columns in self._relations.items():
            if f"{schema}.{name}" not in VIEWS:
                described = ", ".join(f"{identifier(c)} {_engine_type(t)}" for c, t in columns)
                run(f"CREATE TABLE {HOMES[schema]}.{identifier(name)} ({described})")
        for name, found in rows(policy).items():
            self._insert(name, found)
        run("SET VARIABLE session_user = ''")
        run("SET VARIABLE settings = map([]::VARCHAR[], []::VARCHAR[])")
        database = string(policy.data.id)
        for text in MACROS:
            run(text.replace("%DATABASE%", database).replace("%VERSION%", VERSION))
        for name, view in VIEWS.items():
            schema, _, bare = name.partition(".")
            text = _complete(view, self._relations[schema, bare]).replace("%DATABASE%", database)
            run(f"CREATE VIEW {HOMES[schema]}.{identifier(bare)} AS {text}")

    def _insert(self, name: str, found: list[dict[str, Any]]) -> None:
        """Rows by column name; what is not named is 0, false or NULL."""
        kinds = [(c, _engine_type(t)) for c, t in self._relations[CATALOG, name]]
        kinds = [(c, kind) for c, kind in kinds if not kind.endswith("[]")]
        values = [[row.get(c, _nothing(kind)) for row in found] for c, kind in kinds]
        names = ", ".join(identifier(c) for c, _ in kinds)
        shown = ", ".join(f"unnest(${i}::{kind}[])" for i, (_, kind) in enumerate(kinds, 1))
        self._engine.execute(f"INSERT INTO {HOMES[CATALOG]}.{identifier(name)} ({names}) SELECT {shown}", values)


def _refused(error: duckdb.Error) -> QueryError:
    """What went wrong, in PostgreSQL's words: the engine's own name its types and functions, which nobody wrote."""
    kind, _, words = str(error).split("\n", 1)[0].partition(": ")
    found = (re.search(pattern, words) for pattern, _, _ in _REFUSALS)
    for match, (_, message, state) in zip(found, _REFUSALS, strict=True):
        if match is not None:
            return QueryError(message.format(*match.groups()), sqlstate=state, hint=_HINT)
    message, state = _KINDS.get(kind, ("this catalog query is not supported", "0A000"))
    return QueryError(message, sqlstate=state, hint=_HINT)


def _counted(question: str, kinds: list[str]) -> str:
    """The same question with moments as microseconds: the engine's own moments need a table of time zones.

    Intervals are text: Python's have no months.
    """
    forms = {_ZONED: "epoch_us(#{})", _SPAN: "CAST(#{} AS VARCHAR)"}
    columns = [forms.get(kind, "#{}").format(i) for i, kind in enumerate(kinds, 1)]
    return f"SELECT {', '.join(columns)} FROM ({question})"


def _dated(row: tuple[Any, ...], kinds: list[str]) -> tuple[Any, ...]:
    return tuple(_retold(value, kind) for value, kind in zip(row, kinds, strict=True))


def _retold(value: Any, kind: str) -> Any:
    """A moment, or an interval as PostgreSQL prints it."""
    if value is None or kind not in (_ZONED, _SPAN):
        return value
    if kind == _ZONED:
        return _BEGIN + timedelta(microseconds=value)
    span = read_interval(value)
    return value if span is None else shown(span)


def _nothing(kind: str) -> Any:
    return 0 if kind in _NUMBERS else False if kind == "BOOLEAN" else None


def _engine_type(name: str) -> str:
    return _ENGINE_TYPES.get(name, "VARCHAR")


def _wire_type(kind: str) -> str:
    if kind in _WIRE_TYPES:
        return _WIRE_TYPES[kind]
    if kind.endswith("[]"):
        return f"{_wire_type(kind[:-2])}[]"
    return "numeric" if kind.startswith("DECIMAL") else "text"


def _complete(view: dict[str, str], columns: list[tuple[str, str]]) -> str:
    """A view with all columns of the relation, in their order; those that it does not give are NULL."""
    given = [f"CAST({view.get(name, 'NULL')} AS {_engine_type(kind)}) AS {identifier(name)}" for name, kind in columns]
    return f"SELECT {', '.join(given)} FROM {view['']}"
