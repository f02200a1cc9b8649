"""Questions about the catalog: PostgreSQL's SQL over synthetic relations becomes SQL of the engine that holds them.

Comes in: text, and the names of the catalog's relations and functions. Goes out: whether it reads the catalog alone, and
if so, the same question for an engine that never held anything but public metadata. Nothing is recognised by its text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import errors as sqlglot_errors
from sqlglot import exp

from sfumato.errors import QueryError

CATALOG, INFORMATION = "pg_catalog", "information_schema"
HOMES = {CATALOG: "pgx", INFORMATION: "infx"}
"""Where the relations live: the engine has schemas of these names already."""
_LOOKUPS = {
    "regclass": "pgf_regclass", "regtype": "pgf_regtype", "regproc": "pgf_regproc", "regnamespace": "pgf_regnamespace",
    "regrole": "pgf_regrole",
}  # fmt: skip
_TYPES = {
    "oid": "UINTEGER", "xid": "UINTEGER", "name": "VARCHAR", "char": "VARCHAR", "cardinal_number": "INTEGER",
    "sql_identifier": "VARCHAR", "character_data": "VARCHAR", "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT",
    "text": "VARCHAR", "bool": "BOOLEAN", "varchar": "VARCHAR", "int2vector": "SMALLINT[]", "oidvector": "UINTEGER[]",
    "float8": "DOUBLE", "float4": "FLOAT", "aclitem": "VARCHAR", "yes_or_no": "VARCHAR",
}  # fmt: skip
_SESSION: dict[type[exp.Expression], str] = {
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentCatalog: "current_database",
    exp.CurrentSchema: "current_schema",
}
_TABLE_FUNCTIONS = ("generate_series", "unnest", "pg_get_keywords", "pg_show_all_settings", "string_to_array")


@dataclass(frozen=True, slots=True)
class Known:
    """What the catalog has: relations by schema, and functions with the macros that stand for them."""

    relations: Mapping[str, frozenset[str]]
    functions: frozenset[str]


def translate(text: str, known: Known) -> str | None:
    """The question for the catalog's engine; None where it is not about the catalog, or not about it alone."""
    try:
        found = [tree for tree in sqlglot.parse(_prepared(text), read="postgres") if tree is not None]
    except (sqlglot_errors.SqlglotError, RecursionError):
        return None
    if len(found) != 1 or not isinstance(found[0], exp.Query) or not _is_catalog(found[0], known):
        return None
    tree = found[0]
    titled(tree)
    return _rewritten(tree, known).sql(dialect="duckdb", comments=False)


def _prepared(text: str) -> str:
    """What the parser does not know: OPERATOR(pg_catalog.~), and lists of types that end in brackets."""
    for sign in ("!~~", "!~", "~~", "~", "=", "<>"):
        text = text.replace(f"OPERATOR(pg_catalog.{sign})", sign)
    return text.replace("::regtype[]", "").replace("COLLATE pg_catalog.default", "")


def _is_catalog(tree: exp.Query, known: Known) -> bool:
    """Whether every relation is the catalog's; a question without relations is, if it only computes."""
    for table in tree.find_all(exp.Table):
        name, schema = table.name.lower(), table.db.lower()
        if isinstance(table.this, exp.Func):
            if _function(table.this) not in _TABLE_FUNCTIONS:
                return False
        elif not schema and name in _ctes(tree):
            continue
        elif name not in known.relations.get(schema or CATALOG, ()):
            return False
    return all(_may_call(node, known) for node in tree.find_all(exp.Anonymous))


def _ctes(tree: exp.Query) -> set[str]:
    return {cte.alias.lower() for cte in tree.find_all(exp.CTE)}


def _may_call(node: exp.Anonymous, known: Known) -> bool:
    """A function that is not PostgreSQL's would be the engine's own: nobody may call those."""
    name = node.name.lower()
    if name in known.functions:
        return True
    raise QueryError(f"function {name} is not supported yet", sqlstate="42883", hint="Write the question without it.")


def _function(node: exp.Expression) -> str:
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    if isinstance(node, exp.Dot):
        return _function(node.expression)
    names = {exp.Unnest: "unnest", exp.GenerateSeries: "generate_series", exp.StringToArray: "string_to_array"}
    return names.get(type(node), type(node).__name__.lower())


# names of columns


def titled(tree: exp.Query) -> None:
    """Give every column of the outermost SELECT the name that PostgreSQL gives it."""
    first = tree
    while isinstance(first, exp.SetOperation):
        first = first.this
    if not isinstance(first, exp.Select):
        return
    named = []
    for item in first.expressions:
        if isinstance(item, exp.Alias | exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            named.append(item)
        else:
            named.append(exp.alias_(item, _title(item), quoted=True))
    first.set("expressions", named)


_NAMES: dict[type[exp.Expression], str] = {
    exp.Case: "case", exp.CurrentUser: "current_user", exp.SessionUser: "session_user", exp.CurrentCatalog:
    "current_catalog", exp.CurrentSchema: "current_schema", exp.Exists: "exists", exp.Array: "array", exp.Extract:
    "extract", exp.GroupConcat: "string_agg", exp.Boolean: "bool", exp.Substring: "substring", exp.Unnest: "unnest",
}  # fmt: skip


def _title(item: Any) -> str:
    if isinstance(item, exp.Column | exp.Dot):
        return _folded(item.this if isinstance(item, exp.Column) else item.expression)
    if isinstance(item, exp.Anonymous):
        return item.name.lower()
    if isinstance(item, exp.Paren | exp.Filter | exp.Window | exp.Bracket | exp.Collate):
        return _title(item.this)
    if isinstance(item, exp.Cast):
        inner = _title(item.this)
        return inner if inner != "?column?" else _bare(item.to)
    if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Select) and item.this.expressions:
        only = item.this.expressions[0]
        return _folded(only.args["alias"]) if isinstance(only, exp.Alias) else _title(only)
    if type(item) in _NAMES:
        return _NAMES[type(item)]
    if isinstance(item, exp.Func) and not isinstance(item, exp.Connector | exp.Binary):
        return str(item.sql_name()).lower()
    return "?column?"


def _folded(node: Any) -> str:
    if isinstance(node, exp.Identifier):
        return str(node.this) if node.quoted else str(node.this).lower()
    return _title(node)


def _bare(kind: exp.Expression) -> str:
    """The name of a type, as PostgreSQL titles a cast."""
    name = kind.sql(dialect="postgres").lower().rpartition(".")[2]
    return {"int": "int4", "smallint": "int2", "bigint": "int8", "boolean": "bool", "double precision": "float8"}.get(name, name)


# rewriting


def _rewritten(tree: exp.Query, known: Known) -> exp.Expression:
    hidden = _ctes(tree)

    def step(node: exp.Expression) -> exp.Expression:
        for kind, change in _CHANGES:
            if isinstance(node, kind):
                return change(node, known)
        return node

    for table in list(tree.find_all(exp.Table)):
        name, schema = table.name.lower(), table.db.lower()
        if isinstance(table.this, exp.Identifier) and not (not schema and name in hidden):
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
            table.set("this", exp.to_identifier(name, quoted=True))
            table.set("db", exp.to_identifier(HOMES[schema or CATALOG]))
        elif isinstance(table.this, exp.Func):
            table.set("db", None)
    for column in tree.find_all(exp.Column):
        if column.args.get("db"):  # pg_catalog.pg_class.oid: the relation's name is its alias now
            column.set("db", None)
    return tree.transform(step)


def _cast(node: Any, known: Known) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    name, array = _type_name(node.to)
    inner = node.this
    if name in _LOOKUPS:
        return exp.Anonymous(this=_LOOKUPS[name], expressions=[inner]) if _is_text(inner) else inner
    if name in ("text", "varchar") and not array and isinstance(inner, exp.Cast):
        first, _ = _type_name(inner.to)
        if first in _LOOKUPS and not _is_text(inner.this):
            return exp.Anonymous(this=f"{_LOOKUPS[first]}_name", expressions=[inner.this])
    if array and isinstance(inner, exp.Literal) and inner.is_string and inner.this.startswith("{"):
        items = [part.strip('"') for part in inner.this[1:-1].split(",")] if inner.this != "{}" else []
        listed = exp.Array(expressions=[exp.Literal.string(item) for item in items])
        return exp.cast(listed, f"{_TYPES.get(name, 'VARCHAR')}[]", dialect="duckdb")
    if name in _TYPES:
        return exp.TryCast(this=inner, to=exp.DataType.build(_TYPES[name] + ("[]" if array else ""), dialect="duckdb"))
    return node  # type: ignore[no-any-return]


def _type_name(kind: exp.Expression) -> tuple[str, bool]:
    """The bare name of a type, and whether it is an array of it."""
    text = kind.sql(dialect="postgres").lower().removeprefix("pg_catalog.").removeprefix("information_schema.")
    return text.removesuffix("[]").strip('"').partition("(")[0], text.endswith("[]")


def _is_text(node: Any) -> bool:
    """Whether a value is a name that is to be looked up: a string, or what makes one."""
    inner = node.unnest() if isinstance(node, exp.Paren) else node
    if isinstance(inner, exp.Literal):
        return bool(inner.is_string and not inner.this.isdigit())
    makes = (exp.DPipe, exp.Concat, exp.Format, exp.SafeConcat) if hasattr(exp, "SafeConcat") else (exp.DPipe, exp.Concat)
    return isinstance(inner, makes) or (
        isinstance(inner, exp.Anonymous) and inner.name.lower() in ("format", "quote_ident", "pgf_format", "pgf_quote_ident")
    )


def _dot(node: Any, known: Known) -> exp.Expression:
    """pg_catalog.f(x) is f(x); (f(x)).n is a part of a record."""
    left, right = node.this, node.expression
    if isinstance(left, exp.Identifier) and left.name.lower() in HOMES and isinstance(right, exp.Func):
        return _called(right, known)
    return node  # type: ignore[no-any-return]


def _called(node: Any, known: Known) -> exp.Expression:
    if isinstance(node, exp.Anonymous) and node.name.lower() in known.functions:
        return exp.Anonymous(this=f"pgf_{node.name.lower()}", expressions=node.expressions)
    return node  # type: ignore[no-any-return]


def _session(node: Any, known: Known) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    return exp.Anonymous(this=f"pgf_{_SESSION[type(node)]}", expressions=[])


def _format(node: Any, known: Known) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    return exp.Anonymous(this="pgf_format", expressions=[node.this, *node.expressions])


def _collated(node: Any, known: Known) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    return node.this  # type: ignore[no-any-return]


def _version(node: Any, known: Known) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    return exp.Anonymous(this="pgf_version", expressions=[])


def _any(node: Any, known: Known) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """`x = ANY('{a,b}')`: the string is a list."""
    inner = node.this.unnest() if isinstance(node.this, exp.Paren) else node.this
    if isinstance(inner, exp.Literal) and inner.is_string and inner.this.startswith("{"):
        items = inner.this[1:-1].split(",") if inner.this != "{}" else []
        node.set("this", exp.Array(expressions=[exp.Literal.string(item.strip('"')) for item in items]))
    return node  # type: ignore[no-any-return]


_CHANGES: tuple[tuple[Any, Callable[[Any, Known], exp.Expression]], ...] = (
    (exp.Cast, _cast),
    (exp.Dot, _dot),
    (exp.Anonymous, _called),
    (tuple(_SESSION), _session),
    (exp.Collate, _collated),
    (exp.CurrentVersion, _version),
    (exp.Format, _format),
    ((exp.Any, exp.All), _any),
)
