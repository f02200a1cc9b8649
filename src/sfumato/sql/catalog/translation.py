"""A question about the catalog, rewritten for the engine that holds the catalog: homes, types, functions.

Comes in: the parser's tree of PostgreSQL's SQL, and what the catalog has. Goes out: a tree of the engine's SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

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
    "text": "VARCHAR", "bool": "BOOLEAN", "varchar": "VARCHAR", "int": "INTEGER", "integer": "INTEGER",
    "smallint": "SMALLINT", "bigint": "BIGINT",
    "float8": "DOUBLE", "float4": "FLOAT", "aclitem": "VARCHAR", "yes_or_no": "VARCHAR",
}  # fmt: skip
_SESSION: dict[type[exp.Expression], str] = {
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentCatalog: "current_database",
    exp.CurrentSchema: "current_schema",
    exp.CurrentDatabase: "current_database",
    exp.CurrentSchemas: "current_schemas",
    exp.ArrayToString: "array_to_string",
    exp.CurrentVersion: "version",
}
ROW_FUNCTIONS = {"pg_show_all_settings": "pg_settings", "pg_available_extensions": "pg_available_extensions"}
"""Functions whose rows are those of a relation."""
_NO_GRANTS = """SELECT CAST(0 AS UINTEGER) AS grantor, CAST(0 AS UINTEGER) AS grantee, '' AS privilege_type,
 false AS is_grantable WHERE false"""
_HIDDEN = ("xmin", "xmax", "cmin", "cmax")
"""Columns that every relation has and * does not show: which transaction has made a row."""


@dataclass(frozen=True, slots=True)
class CatalogNames:
    """What the catalog has: relations by schema, functions that may be called, and columns that hold functions."""

    relations: Mapping[str, frozenset[str]]
    functions: frozenset[str]
    procs: frozenset[str] = frozenset()


def ctes(tree: exp.Query) -> set[str]:
    """Names that WITH gives: they hide relations."""
    return {cte.alias.lower() for cte in tree.find_all(exp.CTE)}


def rewritten(tree: exp.Query, known: CatalogNames) -> exp.Query:
    """The same question for the engine: relations in their homes, types and functions by names that it knows."""
    homes = _housed(tree)
    for column in list(tree.find_all(exp.Column)):
        if column.args.get("db"):  # pg_catalog.pg_class.oid: the relation's name is its alias now
            column.set("db", None)
        if column.name == "tableoid" and column.table in homes:
            column.replace(exp.Anonymous(this="pgf_regclass", expressions=[exp.Literal.string(homes[column.table])]))
        elif column.name in _HIDDEN and (column.table in homes or (not column.table and homes)):
            column.replace(exp.cast(exp.Literal.number(1), "UINTEGER", dialect="duckdb"))
    for select in tree.find_all(exp.Select):
        _regroup(select)
    for node in reversed(list(tree.walk())):  # from the leaves up: what is replaced was rewritten inside
        change = next((change for kind, change in _CHANGES if isinstance(node, kind)), None)
        made = node if change is None else change(node, known)
        if made is not node:
            node.replace(made)
    return tree


def _housed(tree: exp.Query) -> dict[str, str]:
    """Every relation in its home; and which one an alias stands for."""
    hidden, homes = ctes(tree), dict[str, str]()
    for table in list(tree.find_all(exp.Table)):
        name, schema = table.name.lower(), table.db.lower()
        name = table.this.name.lower() if isinstance(table.this, exp.Anonymous) else name
        if isinstance(table.this, exp.Anonymous) and name in ROW_FUNCTIONS:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
            name, schema = ROW_FUNCTIONS[name], CATALOG
            table.set("this", exp.to_identifier(name))
        if isinstance(table.this, exp.Anonymous) and name == "aclexplode":  # nobody was granted anything
            grants: exp.Expression = exp.maybe_parse(_NO_GRANTS, dialect="duckdb")
            table.replace(exp.Subquery(this=grants, alias=table.args.get("alias")))
        elif isinstance(table.this, exp.Identifier) and not (not schema and name in hidden):
            homes[table.alias or name] = name
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
            table.set("this", exp.to_identifier(name, quoted=True))
            table.set("db", exp.to_identifier(HOMES[schema or CATALOG]))
            table.set("catalog", None)
        elif isinstance(table.this, exp.StringToArray):  # a function that gives one value is a relation of one row
            name = table.alias or "string_to_array"
            only = exp.select(exp.alias_(table.this.copy(), name))
            table.replace(exp.Subquery(this=only, alias=exp.TableAlias(this=exp.to_identifier(name))))
        elif isinstance(table.this, exp.Func):
            table.set("db", None)
    return homes


def _regroup(select: exp.Select) -> None:
    """`GROUP BY x` where x is both a column that is shown and a relation: the engine would take the relation."""
    group = select.args.get("group")
    relations = {source.alias_or_name for source in select.find_all(exp.Table, exp.Subquery)}
    shown = {item.alias: item.this for item in select.expressions if isinstance(item, exp.Alias)}
    for name in [] if group is None else list(group.expressions):
        if isinstance(name, exp.Column) and not name.table and name.name in shown and name.name in relations:
            name.replace(shown[name.name].copy())


def _cast(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: PLR0911  one line for each kind of type
    """Types of PostgreSQL's own; a number that becomes a name is left to the cast to text above it."""
    name, array = _type_name(node.to)
    inner = node.this
    above = node.parent
    if name in _LOOKUPS and isinstance(above, exp.Cast) and not _is_text(inner) and _type_name(above.to)[0] == "text":
        return node  # type: ignore[no-any-return]
    if name in _LOOKUPS:
        return exp.Anonymous(this=_LOOKUPS[name], expressions=[inner]) if _is_text(inner) else inner
    if name in ("text", "varchar") and isinstance(inner, exp.Column) and inner.name in known.procs:
        return exp.Anonymous(this="pgf_regproc_name", expressions=[inner])
    if name in ("text", "varchar") and not array and isinstance(inner, exp.Cast):
        first, _ = _type_name(inner.to)
        if first in _LOOKUPS and not _is_text(inner.this):
            return exp.Anonymous(this=f"{_LOOKUPS[first]}_name", expressions=[inner.this])
    if array and isinstance(inner, exp.Literal) and inner.is_string and inner.this.startswith("{"):
        return exp.cast(_listed(inner.this), f"{_TYPES.get(name, 'VARCHAR')}[]", dialect="duckdb")
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
    named = isinstance(inner, exp.Anonymous) and inner.name.lower().removeprefix("pgf_") in ("format", "quote_ident")
    return named or isinstance(inner, exp.DPipe | exp.Concat | exp.Format)


def _dot(node: Any, known: CatalogNames) -> exp.Expression:
    """pg_catalog.f(x) is f(x); (f(x)).n is a part of a record."""
    left, right = node.this, node.expression
    if isinstance(left, exp.Identifier) and left.name.lower() in HOMES and isinstance(right, exp.Func | exp.Column):
        return _called(right, known)
    return node  # type: ignore[no-any-return]


SAME = {"json_build_object": "json_object", "jsonb_build_object": "json_object"}
"""Functions that the engine has under another name."""
_TRUE_TYPES = {"_pg_truetypid": "atttypid", "_pg_truetypmod": "atttypmod"}
"""Functions over whole rows of pg_attribute: there are no domains here, so that a column's type is its own."""


def _divided(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """Whole numbers are divided as such."""
    if any(isinstance(side, exp.TryCast) and "INT" in side.to.sql() for side in (node.this, node.expression)):
        return exp.IntDiv(this=node.this.copy(), expression=node.expression.copy())
    return node  # type: ignore[no-any-return]


def _called(node: Any, known: CatalogNames) -> exp.Expression:
    if isinstance(node, exp.Anonymous) and node.name.lower() == "all" and isinstance(node.parent, exp.NEQ):
        return exp.All(this=node.expressions[0])
    if isinstance(node, exp.Anonymous) and node.name.lower() in _TRUE_TYPES and node.expressions:
        return exp.column(_TRUE_TYPES[node.name.lower()], table=node.expressions[0].table)
    if isinstance(node, exp.Anonymous) and node.name.lower() in SAME:
        return exp.Anonymous(this=SAME[node.name.lower()], expressions=node.expressions)
    if isinstance(node, exp.Anonymous) and node.name.lower() in known.functions:
        return exp.Anonymous(this=f"pgf_{node.name.lower()}", expressions=node.expressions)
    return node  # type: ignore[no-any-return]


def _session(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    parts = [node.args[name] for name in ("this", "expression", "null") if node.args.get(name) is not None]
    return exp.Anonymous(this=f"pgf_{_SESSION[type(node)]}", expressions=parts)


def _column(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """`user` and `current_role` are words of the language, not columns."""
    bare = not node.table and isinstance(node.this, exp.Identifier) and not node.this.quoted
    if bare and node.name.lower() in ("user", "current_role"):
        return exp.Anonymous(this="pgf_current_user", expressions=[])
    return node  # type: ignore[no-any-return]


def _format(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    return exp.Anonymous(this="pgf_format", expressions=[node.this, *node.expressions])


def _clock(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """Of a word like current_date the engine thinks that it is the column which is given that name."""
    return exp.Anonymous(this="today" if isinstance(node, exp.CurrentDate) else "now", expressions=[])


def _substring(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """`substring(x FROM pattern)`: the first group of the pattern, or all that fits it."""
    pattern = node.args.get("start")
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        return node  # type: ignore[no-any-return]
    group = exp.Literal.number(1 if "(" in pattern.this else 0)
    found = exp.Anonymous(this="regexp_extract", expressions=[node.this.copy(), pattern.copy(), group])
    return exp.Anonymous(this="nullif", expressions=[found, exp.Literal.string("")])


def _collated(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    return node.this  # type: ignore[no-any-return]


def _listed(text: str) -> exp.Array:
    """`{a, "b"}` as a list."""
    inner = text.strip()[1:-1]
    items = [item.strip().strip('"') for item in inner.split(",")] if inner.strip() else []
    return exp.Array(expressions=[exp.Literal.string(item) for item in items])


def _like(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    r"""A backslash of a pattern takes the next character for itself, as in 'pg\_%': the engine has to be told."""
    pattern = node.expression
    plain = isinstance(pattern, exp.Literal) and "\\" not in pattern.name
    if plain or isinstance(node.parent, exp.Escape) or isinstance(pattern, exp.Any | exp.All):
        return node  # type: ignore[no-any-return]
    return exp.Escape(this=node.copy(), expression=exp.Literal.string("\\"))


def _any(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """`x = ANY('{a,b}')`: the string is a list."""
    inner = node.this.unnest() if isinstance(node.this, exp.Paren) else node.this
    if isinstance(inner, exp.Literal) and inner.is_string and inner.this.startswith("{"):
        node.set("this", _listed(inner.this))
    return node  # type: ignore[no-any-return]


def _not_all(node: Any, known: CatalogNames) -> exp.Expression:
    """`x <> ALL(list)` is NOT x = ANY(list), which the engine knows of lists."""
    if isinstance(node.expression, exp.All):
        inside = _any(exp.Any(this=node.expression.this.copy()), known)
        return exp.Not(this=exp.Paren(this=exp.EQ(this=node.this.copy(), expression=inside)))
    return node  # type: ignore[no-any-return]


def _plain(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """encode(x, form) and host(x): what there is of bytes and addresses is text here."""
    return exp.cast(node.this.copy(), "VARCHAR", dialect="duckdb")


def _among(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """`x = ANY(ARRAY(SELECT …))` and `x = ANY((SELECT …)::oid[])`: a list, which the engine takes for rows."""
    inner = node.expression.this if isinstance(node.expression, exp.Any) else None
    while isinstance(inner, exp.Paren):
        inner = inner.this
    made = isinstance(inner, exp.Array) and any(isinstance(part, exp.Query) for part in inner.expressions)
    given = isinstance(inner, exp.Cast | exp.TryCast) and inner.find(exp.Query) is not None
    if inner is None or not (made or given):
        return node  # type: ignore[no-any-return]
    return exp.Anonymous(this="list_contains", expressions=[inner.copy(), node.this.copy()])


_CHANGES: tuple[tuple[Any, Callable[[Any, CatalogNames], exp.Expression]], ...] = (
    (exp.Cast, _cast),
    (exp.Dot, _dot),
    (exp.Anonymous, _called),
    (tuple(_SESSION), _session),
    (exp.Collate, _collated),
    (exp.CurrentDate | exp.CurrentTimestamp, _clock),
    (exp.Substring, _substring),
    (exp.Column, _column),
    (exp.Format, _format),
    (exp.Like | exp.ILike, _like),
    (exp.Any, _any),
    (exp.EQ, _among),
    (exp.Encode | exp.Host, _plain),
    (exp.NEQ, _not_all),
    (exp.Div, _divided),
)
