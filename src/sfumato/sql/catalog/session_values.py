"""Queries without tables that call functions of the catalog: what the catalog knows is looked up, the gateway computes.

Comes in: text, the policy and the names of the catalog. Goes out: a question for the catalog, about the calls alone,
and with its answer the query that is left. The catalog's engine has its own meaning of 7/2 and of 'abc'::int, so that
it computes nothing that the gateway can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlglot import errors as sqlglot_errors
from sqlglot import exp

from sfumato.errors import QueryError
from sfumato.sql.bind.column_titles import titled
from sfumato.sql.catalog.translation import LOOKUPS, SESSION, CatalogNames
from sfumato.sql.read.bounded_parser import trees
from sfumato.sql.read.growth import copied
from sfumato.sql.read.spelling import FAULTS, note_calls

_CLOCKS = (exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime, exp.Localtime, exp.Localtimestamp)
_CLOCK_CALLS = ("clock_timestamp", "statement_timestamp", "transaction_timestamp")
_OF_TIME = (exp.Extract, exp.TimestampTrunc, exp.AtTimeZone, exp.Paren)
_OF_TIME_CALLS = ("to_char", "age")
_TIME_TYPES = ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIME", "TIMETZ", "TEXT")
_NUMBERED = ("oid", "xid")
_WHOLE = ("smallint", "integer", "bigint", "numeric", "double precision", "real")
_TEXTS = ("text", "name", "varchar", "char", "character")


@dataclass(frozen=True, slots=True)
class SessionValues:
    """A query in two parts: `question` for the catalog, one column for each call; `tree` with the calls in it.

    `whole` are the calls that are columns of their own, by their place: they are shown as the catalog gives them.
    """

    question: str
    tree: exp.Query
    calls: tuple[exp.Expression, ...]
    whole: dict[int, int]

    def left(self, row: tuple[Any, ...], types: tuple[str, ...]) -> str | None:
        """The query with the values of the calls; None where a value cannot be written down."""
        places = {id(call): number for number, call in enumerate(self.calls)}
        shown = set(self.whole.values())
        tree = copied(self.tree)
        for node, copy in zip(list(self.tree.walk()), list(tree.walk()), strict=True):
            if (number := places.get(id(node))) is not None:
                made = exp.Literal.number(0) if number in shown else _written(row[number], types[number])
                if made is None:
                    return None
                copy.replace(made)
        return str(tree.sql(dialect="postgres", comments=False))


def session_values(text: str, known: CatalogNames, alone: Callable[[str], bool]) -> SessionValues | None:
    """The parts of a query without tables; None where it has tables, or nothing is left to compute."""
    try:
        found = trees(text)
        if len(found) != 1 or not isinstance(found[0], exp.Query):
            return None
        tree = found[0]
        note_calls(tree, text)
        titled(tree)
        calls = tuple(_calls(tree, known, alone))
    except (sqlglot_errors.SqlglotError, *FAULTS, RecursionError, QueryError):
        return None
    inside = {id(node) for call in calls for node in call.walk()}
    rest = [node for node in tree.walk() if id(node) not in inside]
    if not calls or any(isinstance(node, exp.Table) and not _is_named(node, tree) for node in rest):
        return None
    if not any(map(_computes, rest)) or any(map(_reads_columns, calls)):
        return None
    queries = any(isinstance(call, exp.Subquery | exp.Exists) for call in calls)
    if queries and any(isinstance(node, exp.Column) for node in rest):  # it may be about the row around it
        return None
    columns = [exp.alias_(copied(call), f"c{number}", copy=False) for number, call in enumerate(calls)]
    return SessionValues(exp.Select(expressions=columns).sql(dialect="postgres"), tree, calls, _columns(tree, calls))


def _computes(node: Any) -> bool:
    """Whether a part has a meaning of its own; NULL and numbers of some type have none."""
    if isinstance(node, exp.Cast):
        return not isinstance(node.this, exp.Null) and not node.this.is_number
    return isinstance(node, exp.Binary | exp.Func | exp.Unary)


def _reads_columns(call: exp.Expression) -> bool:
    """Whether a call is about columns of the query around it."""
    if isinstance(call, exp.Subquery | exp.Exists):
        return False
    words = ("user", "current_role")
    return any(column.table or column.name.lower() not in words for column in call.find_all(exp.Column))


def _is_named(table: exp.Table, tree: exp.Query) -> bool:
    return not table.db and table.name.lower() in {cte.alias.lower() for cte in tree.find_all(exp.CTE)}


def _columns(tree: exp.Query, calls: tuple[exp.Expression, ...]) -> dict[int, int]:
    """Which columns of the only row are calls and nothing else."""
    plain = ("from_", "joins", "group", "having", "distinct", "order", "with_", "windows", "qualify")
    if not isinstance(tree, exp.Select) or any(tree.args.get(part) for part in plain):
        return {}
    numbers = {id(call): number for number, call in enumerate(calls)}
    places = {i: numbers.get(id(item.unalias())) for i, item in enumerate(tree.expressions)}
    return {i: number for i, number in places.items() if number is not None}


def _calls(node: Any, known: CatalogNames, alone: Callable[[str], bool]) -> list[exp.Expression]:
    """The largest parts that only the catalog knows."""
    if _is_call(node, known, alone):
        return [node]
    return [call for child in node.iter_expressions() for call in _calls(child, known, alone)]


def _is_call(node: Any, known: CatalogNames, alone: Callable[[str], bool]) -> bool:
    if _is_time(node):
        return True
    if isinstance(node, exp.Expression) and (type(node) in SESSION or _is_known(node, known)):
        return not alone(f"SELECT {node.sql(dialect='postgres')}")
    if isinstance(node, exp.Dot):
        return isinstance(node.this, exp.Identifier) and isinstance(node.expression, exp.Func)
    if isinstance(node, exp.Column):
        bare = not node.table and isinstance(node.this, exp.Identifier) and not node.this.quoted
        return bare and node.name.lower() in ("user", "current_role")
    if isinstance(node, exp.Cast):
        kind = node.to.sql(dialect="postgres").lower().removeprefix("pg_catalog.")
        return kind in LOOKUPS or kind in _NUMBERED or (kind == "text" and _is_call(node.this, known, alone))
    inner = node.this if isinstance(node, exp.Subquery | exp.Exists) else None
    return isinstance(inner, exp.Query) and _reads_catalog(node, inner, known)


def _is_known(node: Any, known: CatalogNames) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in known.functions


def _is_time(node: Any) -> bool:
    """A clock, or what is made of it without numbers: the catalog has moments with a zone, the gateway has days."""
    if isinstance(node, _CLOCKS) or (isinstance(node, exp.Anonymous) and node.name.lower() in _CLOCK_CALLS):
        return True
    if isinstance(node, exp.Cast):
        return node.to.this.name in _TIME_TYPES and _is_time(node.this)
    if isinstance(node, exp.Add | exp.Sub):
        sides = (node.this, node.expression)
        return any(map(_is_time, sides)) and all(isinstance(side, exp.Interval) or _is_time(side) for side in sides)
    if isinstance(node, _OF_TIME) or (isinstance(node, exp.Anonymous) and node.name.lower() in _OF_TIME_CALLS):
        return any(_is_time(child) for child in node.iter_expressions())
    return False


def _reads_catalog(node: Any, inner: exp.Query, known: CatalogNames) -> bool:
    """A sub-query in an expression that reads the catalog alone."""
    if isinstance(node.parent, exp.From | exp.Join | exp.CTE | exp.SetOperation):
        return False
    tables = [table for table in inner.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    return bool(tables) and all(t.name.lower() in known.relations.get(t.db.lower() or "pg_catalog", ()) for t in tables)


def _written(value: Any, kind: str) -> exp.Expression | None:
    """A value of the catalog as a constant of its type."""
    if kind in ("oid", "xid"):
        kind = "bigint"
    if value is None:
        return None if kind.endswith("[]") else exp.cast(exp.Null(), "text" if kind in _TEXTS else kind)
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, int | float | Decimal) and kind in _WHOLE:
        return exp.cast(exp.Literal.string(str(value)), kind)
    if isinstance(value, datetime):
        return exp.cast(exp.Literal.string(value.isoformat(" ")), "timestamp")
    if isinstance(value, date):
        return exp.cast(exp.Literal.string(value.isoformat()), "date")
    return exp.cast(exp.Literal.string(value), "text") if isinstance(value, str) and kind in _TEXTS else None
