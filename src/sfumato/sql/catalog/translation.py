"""A question about the catalog, rewritten for the engine that holds the catalog: homes, types, functions.

Comes in: the parser's tree of PostgreSQL's SQL, and what the catalog has. Goes out: a tree of the engine's SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sfumato.algebra.patterns import similar
from sfumato.errors import QueryError
from sfumato.sql.read.growth import Growth, copied, growing

CATALOG, INFORMATION = "pg_catalog", "information_schema"
HOMES = {CATALOG: "pgx", INFORMATION: "infx"}
"""Where the relations live: the engine has schemas of these names already."""
LOOKUPS = {
    "regclass": "pgf_regclass", "regtype": "pgf_regtype", "regproc": "pgf_regproc", "regnamespace": "pgf_regnamespace",
    "regrole": "pgf_regrole",
}  # fmt: skip
"""Types of names that are looked up, and the macros that do it."""
_TYPES = {
    "oid": "UINTEGER", "xid": "UINTEGER", "name": "VARCHAR", "char": "VARCHAR", "cardinal_number": "INTEGER",
    "sql_identifier": "VARCHAR", "character_data": "VARCHAR", "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT",
    "text": "VARCHAR", "bool": "BOOLEAN", "varchar": "VARCHAR", "int": "INTEGER", "integer": "INTEGER",
    "smallint": "SMALLINT", "bigint": "BIGINT",
    "float8": "DOUBLE", "float4": "FLOAT", "aclitem": "VARCHAR", "yes_or_no": "VARCHAR",
}  # fmt: skip
SESSION: dict[type[exp.Expression], str] = {
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentCatalog: "current_database",
    exp.CurrentSchema: "current_schema",
    exp.CurrentDatabase: "current_database",
    exp.CurrentSchemas: "current_schemas",
    exp.ArrayToString: "array_to_string",
    exp.CurrentVersion: "version",
}
"""Words and functions about the session, and the macros of their names."""
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
    with growing(sum(1 for _ in tree.walk())) as growth:
        return _rewritten(tree, known, growth)


def _rewritten(tree: exp.Query, known: CatalogNames, growth: Growth) -> exp.Query:
    _shown_names(tree)
    homes = _housed(tree)
    for with_ in tree.find_all(exp.With):
        _widen_decimals(with_)
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
        change, room = next((change for kind, change in _CHANGES if isinstance(node, kind)), None), growth.room
        made = node if change is None else change(node, known)
        if made is not node:
            growth.replaced(room, node, made)
            node.replace(made)
    return tree


def _widen_decimals(with_: exp.With) -> None:
    """A recursion begins with the decimals that it may come to: the engine takes its types of the first rows."""
    for part in with_.expressions if with_.args.get("recursive") else ():
        first = part.this.this if isinstance(part.this, exp.Union) else None
        for number in list(first.find_all(exp.Literal)) if first is not None else ():
            if not number.is_string and "." in number.name:
                number.replace(exp.cast(copied(number), "DECIMAL(38, 16)", copy=False, dialect="duckdb"))


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
            only = exp.Select(expressions=[exp.alias_(copied(table.this), name, copy=False)])
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
            name.replace(copied(shown[name.name]))


def _cast(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: PLR0911  one line for each kind of type
    """Types of PostgreSQL's own; a number that becomes a name is left to the cast to text above it."""
    name, array = _type_name(node.to)
    inner = node.this
    above = node.parent
    if name in LOOKUPS and isinstance(above, exp.Cast) and not _is_text(inner) and _type_name(above.to)[0] == "text":
        return node  # type: ignore[no-any-return]
    if name in LOOKUPS:
        return exp.Anonymous(this=LOOKUPS[name], expressions=[inner]) if _is_text(inner) else inner
    if name in ("text", "varchar") and isinstance(inner, exp.Column) and inner.name in known.procs:
        return exp.Anonymous(this="pgf_regproc_name", expressions=[inner])
    if name in ("text", "varchar") and not array and isinstance(inner, exp.Cast):
        first, _ = _type_name(inner.to)
        if first in LOOKUPS and not _is_text(inner.this):
            return exp.Anonymous(this=f"{LOOKUPS[first]}_name", expressions=[inner.this])
    if name in ("text", "varchar") and not array and _is_looked_up(inner):
        return exp.Anonymous(this=f"{_looked_up_as(inner)}_name", expressions=[inner])
    if name in ("varchar", "char", "bpchar") and not array and (length := _length(node.to)) is not None:
        return _of_length(inner, length, filled=name != "varchar")
    if array and isinstance(inner, exp.Literal) and inner.is_string and inner.this.startswith("{"):
        return exp.cast(_listed(inner.this), f"{_TYPES.get(name, 'VARCHAR')}[]", copy=False, dialect="duckdb")
    if name in _TYPES:
        _check_whole(inner, name)
        return exp.TryCast(this=inner, to=exp.DataType.build(_TYPES[name] + ("[]" if array else ""), dialect="duckdb"))
    return node  # type: ignore[no-any-return]


def _check_whole(written: Any, name: str) -> None:
    """A written text that is no whole number is refused, as PostgreSQL refuses it: TRY_CAST would make it NULL."""
    if name not in _WHOLE_TYPES or not isinstance(written, exp.Literal) or not written.is_string:
        return
    if re.fullmatch(r"\s*[-+]?[0-9]+\s*", written.name, re.ASCII) is None:
        message = f'invalid input syntax for type {_WHOLE_TYPES[name]}: "{written.name}"'
        raise QueryError(message, sqlstate="22P02")


_WHOLE_TYPES = {
    "int": "integer", "integer": "integer", "int4": "integer", "bigint": "bigint", "int8": "bigint",
    "smallint": "smallint", "int2": "smallint",
}  # fmt: skip


def _length(kind: exp.Expression) -> int | None:
    """The n of varchar(n) and char(n)."""
    size = kind.expressions[0].this if kind.expressions else None
    return int(size.name) if isinstance(size, exp.Literal) and size.name.isdecimal() else None


def _of_length(text: exp.Expression, length: int, *, filled: bool) -> exp.Expression:
    number = exp.Literal.number(length)
    whole = exp.cast(text, "VARCHAR", copy=False, dialect="duckdb")
    if not filled:
        return exp.Anonymous(this="left", expressions=[whole, number])
    return exp.Anonymous(this="rpad", expressions=[whole, number, exp.Literal.string(" ")])


def _looked_up_as(node: Any) -> str:
    """The lookup that a function of the catalog is: pgf_to_regclass is pgf_regclass."""
    return str(node.name).lower().replace("pgf_to_reg", "pgf_reg") if isinstance(node, exp.Anonymous) else ""


def _is_looked_up(node: Any) -> bool:
    return _looked_up_as(node) in LOOKUPS.values()


def _shown_names(tree: exp.Query) -> None:
    """What is shown of type regclass prints as a name: only the list of the whole query, for inside it is a number."""
    if not isinstance(tree, exp.Select):
        return
    for item in tree.expressions:
        inner = item.unalias()
        kind = _type_name(inner.to)[0] if isinstance(inner, exp.Cast) else ""
        called = str(inner.name).lower() if isinstance(inner, exp.Anonymous) else ""
        if kind in ("regclass", "regtype", "regnamespace", "regrole") or called in ("to_regclass", "to_regtype"):
            inner.replace(exp.cast(copied(inner), "text", copy=False))


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


SAME = {
    "json_build_object": "json_object", "jsonb_build_object": "json_object", "jsonb_agg": "json_group_array",
    "json_object_agg": "json_group_object", "jsonb_object_agg": "json_group_object",
}  # fmt: skip
"""Functions that the engine has under another name."""
_TRUE_TYPES = {"_pg_truetypid": "atttypid", "_pg_truetypmod": "atttypmod"}
"""Functions over whole rows of pg_attribute: there are no domains here, so that a column's type is its own."""


def _divided(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """Whole numbers are divided as such, and nothing by zero."""
    sides = [copied(node.this), copied(node.expression)]
    if all(map(_is_whole, sides)):
        return exp.Paren(this=exp.IntDiv(this=sides[0], expression=sides[1]))
    return exp.Anonymous(this="pgf_divided", expressions=sides)


def _is_whole(node: Any) -> bool:
    """Whether a value is a whole number, as far as its form tells it."""
    if isinstance(node, exp.Literal):
        return not node.is_string and node.name.isdecimal()
    if isinstance(node, exp.Cast):  # TRY_CAST is one of them
        return "INT" in node.to.sql().upper()
    if isinstance(node, exp.Paren | exp.Neg):
        return _is_whole(node.this)
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.IntDiv | exp.Mod):
        return _is_whole(node.this) and _is_whole(node.expression)
    return isinstance(node, exp.Count | exp.Length)


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
    return exp.Anonymous(this=f"pgf_{SESSION[type(node)]}", expressions=parts)


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
    found = exp.Anonymous(this="regexp_extract", expressions=[copied(node.this), copied(pattern), group])
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
    return exp.Escape(this=copied(node), expression=exp.Literal.string("\\"))


def _any(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """`x = ANY('{a,b}')`: the string is a list."""
    inner = node.this.unnest() if isinstance(node.this, exp.Paren) else node.this
    if isinstance(inner, exp.Literal) and inner.is_string and inner.this.startswith("{"):
        node.set("this", _listed(inner.this))
    return node  # type: ignore[no-any-return]


def _not_all(node: Any, known: CatalogNames) -> exp.Expression:
    """`x <> ALL(list)` is NOT x = ANY(list), which the engine knows of lists."""
    if isinstance(node.expression, exp.All):
        inside = _any(exp.Any(this=copied(node.expression.this)), known)
        return exp.Not(this=exp.Paren(this=exp.EQ(this=copied(node.this), expression=inside)))
    return node  # type: ignore[no-any-return]


def _macro_of(name: str) -> Callable[[Any, CatalogNames], exp.Expression]:
    """A function that the parser has a node for, by the macro of its name."""

    def change(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
        parts = [node.args[part] for part in ("this", "charset") if node.args.get(part) is not None]
        return exp.Anonymous(this=f"pgf_{name}", expressions=[copied(part) for part in parts])

    return change


def _similar(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """SIMILAR TO has signs of LIKE and of regular expressions: the engine takes all of it for the latter."""
    pattern = similar(node.expression.name) if isinstance(node.expression, exp.Literal) else None
    if pattern is None:
        return node  # type: ignore[no-any-return]
    return exp.Anonymous(this="regexp_matches", expressions=[copied(node.this), exp.Literal.string(pattern)])


def _among(node: Any, known: CatalogNames) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """`x = ANY(ARRAY(SELECT …))` and `x = ANY((SELECT …)::oid[])`: a list, which the engine takes for rows."""
    inner = node.expression.this if isinstance(node.expression, exp.Any) else None
    while isinstance(inner, exp.Paren):
        inner = inner.this
    made = isinstance(inner, exp.Array) and any(isinstance(part, exp.Query) for part in inner.expressions)
    given = isinstance(inner, exp.Cast | exp.TryCast) and inner.find(exp.Query) is not None
    if inner is None or not (made or given):
        return node  # type: ignore[no-any-return]
    return exp.Anonymous(this="list_contains", expressions=[copied(inner), copied(node.this)])


_CHANGES: tuple[tuple[Any, Callable[[Any, CatalogNames], exp.Expression]], ...] = (
    (exp.Cast, _cast),
    (exp.Dot, _dot),
    (exp.Anonymous, _called),
    (tuple(SESSION), _session),
    (exp.Collate, _collated),
    (exp.CurrentDate | exp.CurrentTimestamp, _clock),
    (exp.Substring, _substring),
    (exp.Column, _column),
    (exp.Format, _format),
    (exp.Like | exp.ILike, _like),
    (exp.Any, _any),
    (exp.EQ, _among),
    (exp.Encode, _macro_of("encode")),
    (exp.Host, _macro_of("host")),
    (exp.Hex | exp.LowerHex, _macro_of("to_hex")),
    (exp.BitLength, _macro_of("bit_length")),
    (exp.SimilarTo, _similar),
    (exp.NEQ, _not_all),
    (exp.Div, _divided),
)
