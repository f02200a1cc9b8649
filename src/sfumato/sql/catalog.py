"""Questions about the catalog: PostgreSQL's SQL over synthetic relations becomes SQL of the engine that holds them.

Comes in: text, and the names of the catalog's relations and functions. Goes out: whether it reads the catalog alone,
and if so, the same question for an engine that holds public metadata only. Nothing is recognised by its text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import errors as sqlglot_errors
from sqlglot import exp

from sfumato.errors import QueryError
from sfumato.sql.lexer import statements

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
_WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Alter, exp.Command, exp.Copy)
_TABLE_FUNCTIONS = ("generate_series", "unnest", "pg_get_keywords", "pg_show_all_settings", "string_to_array")


@dataclass(frozen=True, slots=True)
class Known:
    """What the catalog has: relations by schema, functions that may be called, and columns that hold functions."""

    relations: Mapping[str, frozenset[str]]
    functions: frozenset[str]
    procs: frozenset[str] = frozenset()


def translate(text: str, known: Known) -> str | None:
    """The question for the catalog's engine; None where it is not about the catalog, or not about it alone."""
    try:
        text = _prepared(text)
        found = [tree for tree in sqlglot.parse(text, read="postgres") if tree is not None]
    except (sqlglot_errors.SqlglotError, RecursionError, ValueError):
        return None
    if len(found) != 1 or not isinstance(found[0], exp.Query) or not _is_catalog(found[0], known):
        return None
    tree = found[0]
    for name in tree.find_all(exp.Identifier):
        if not name.quoted:
            name.set("this", str(name.this).lower())
    for call in tree.find_all(exp.Func):  # the parser forgets how a function was called, but not where
        if "start" in call.meta:
            call.meta["called"] = text[call.meta["start"] : call.meta["end"] + 1].lower()
    titled(tree)
    return _rewritten(tree, known).sql(dialect="duckdb", comments=False)


def configured(text: str) -> list[tuple[str, str, bool]]:
    """What `set_config(name, value, is_local)` in a question sets: only literals can say it."""
    found = []
    for tree in sqlglot.parse(_prepared(text), read="postgres"):
        for call in [] if tree is None else tree.find_all(exp.Anonymous):
            if call.name.lower() == "set_config":
                name, value, local = [*call.expressions, None, None, None][:3]
                literals = all(isinstance(part, exp.Literal) and part.is_string for part in (name, value))
                if not (literals and isinstance(local, exp.Boolean) and name is not None and value is not None):
                    raise QueryError("set_config takes literals here", sqlstate="0A000", hint="Write SET name = value.")
                found.append((str(name.this), str(value.this), bool(local.this)))
    return found


def _prepared(text: str) -> str:
    """What the parser does not know: OPERATOR(pg_catalog.~), words of the language as names, lists of types."""
    (statement,) = statements(text)
    words, tokens, cuts = statement.words, statement.tokens, list[tuple[int, int, str]]()
    for i, word in enumerate(words):
        start = tokens[i].start
        if word == "operator" and words[i + 1 : i + 4] == ("(", "pg_catalog", ".") and ")" in words[i:]:
            close = words.index(")", i)
            cuts.append((start, tokens[close].end, "".join(words[i + 4 : close])))
        elif word == "pg_catalog" and words[i + 1 : i + 2] == (".",) and words[i + 3 : i + 4] == ("(",):
            cuts.append((start, tokens[i + 1].end, ""))  # a function: with its schema the parser knows none by its name
        elif word == "as" and words[i + 1 : i + 2] and words[i + 1] in _RESERVED and words[i + 2 : i + 3] != ("(",):
            cuts.append((start, tokens[i + 1].end, f'AS "{words[i + 1]}"'))
        elif word == "::" and words[i + 1 : i + 4] == ("regtype", "[", "]"):
            cuts.append((start, tokens[i + 3].end, ""))
    for start, end, made in reversed(cuts):
        text = text[:start] + made + text[end:]
    return text


_RESERVED = ("select", "insert", "update", "delete", "table", "order", "group", "from", "where", "user", "default")


def _is_catalog(tree: exp.Query, known: Known) -> bool:
    """Whether every relation is the catalog's; a question without relations is, if it only computes."""
    if any(isinstance(node, _WRITES) for node in tree.walk()) or tree.find(exp.Into, exp.Lock):
        return False
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
    if name in known.functions or name in _SAME or name == "all":
        return True
    raise QueryError(f"function {name} is not supported yet", sqlstate="42883", hint="Write the question without it.")


def _function(node: Any) -> str:
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    if isinstance(node, exp.Dot):
        return _function(node.expression)
    return _NAMES.get(type(node), type(node).__name__.lower())


# names of columns


def titled(tree: exp.Query) -> None:
    """Give every column of the outermost SELECT the name that PostgreSQL gives it."""
    first = tree
    while isinstance(first, exp.SetOperation):
        first = first.this
    if not isinstance(first, exp.Select):
        return
    named: list[Any] = []
    for item in first.expressions:
        if isinstance(item, exp.Alias | exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            named.append(item)
        else:
            named.append(exp.alias_(item, _title(item), quoted=True))
    first.set("expressions", named)


_NAMES: dict[type[exp.Expression], str] = {
    exp.CurrentUser: "current_user", exp.SessionUser: "session_user", exp.CurrentCatalog:
    "current_catalog", exp.CurrentSchema: "current_schema", exp.Exists: "exists", exp.Array: "array", exp.Extract:
    "extract", exp.GroupConcat: "string_agg", exp.Substring: "substring", exp.Unnest: "unnest",
    exp.CurrentDatabase: "current_database", exp.CurrentSchemas: "current_schemas", exp.ArrayToString:
    "array_to_string", exp.CurrentVersion: "version", exp.Explode: "unnest", exp.ExplodingGenerateSeries:
    "generate_series", exp.CurrentTimestamp: "current_timestamp", exp.StrPosition: "position", exp.Trim: "btrim",
    exp.Format: "format", exp.GenerateSeries: "generate_series", exp.StringToArray: "string_to_array",
}  # fmt: skip


def _title(item: Any) -> str:  # noqa: PLR0911  one line for each kind of expression
    if isinstance(item, exp.Column | exp.Dot):
        return _folded(item.this if isinstance(item, exp.Column) else item.expression)
    if isinstance(item, exp.Case):
        inner = _title(item.args.get("default"))
        return inner if inner != "?column?" else "case"
    if isinstance(item, exp.Func) and "called" in item.meta:
        return str(item.meta["called"])
    if isinstance(item, exp.Anonymous) or type(item) in _NAMES:
        return _function(item)
    if isinstance(item, exp.Paren | exp.Filter | exp.Window | exp.Bracket | exp.Collate):
        return _title(item.this)
    if isinstance(item, exp.Cast):
        base = item.this
        while isinstance(base, exp.Cast):
            base = base.this
        inner = _title(base)
        return inner if inner != "?column?" else _bare(item.to)
    if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Select) and item.this.expressions:
        only = item.this.expressions[0]
        return _folded(only.args["alias"]) if isinstance(only, exp.Alias) else _title(only)
    if isinstance(item, exp.Func) and not isinstance(item, exp.Connector | exp.Binary):
        return str(item.sql_name()).lower()
    return "?column?"


def _folded(node: Any) -> str:
    if isinstance(node, exp.Identifier):
        return str(node.this) if node.quoted else str(node.this).lower()
    return _title(node)


def _bare(kind: exp.Expression) -> str:
    """The name of a type, as PostgreSQL titles a cast."""
    name = kind.sql(dialect="postgres").lower().partition("(")[0].rpartition(".")[2].removesuffix("[]")
    short = {"int": "int4", "smallint": "int2", "bigint": "int8", "boolean": "bool", "double precision": "float8"}
    return ({"decimal": "numeric", "real": "float4"} | short).get(name, name)


# rewriting


def _rewritten(tree: exp.Query, known: Known) -> exp.Query:
    homes = _housed(tree)
    for column in list(tree.find_all(exp.Column)):
        if column.args.get("db"):  # pg_catalog.pg_class.oid: the relation's name is its alias now
            column.set("db", None)
        if column.name == "tableoid" and column.table in homes:
            column.replace(exp.Anonymous(this="pgf_regclass", expressions=[exp.Literal.string(homes[column.table])]))
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
    hidden, homes = _ctes(tree), dict[str, str]()
    for table in list(tree.find_all(exp.Table)):
        name, schema = table.name.lower(), table.db.lower()
        if isinstance(table.this, exp.Identifier) and not (not schema and name in hidden):
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


def _cast(node: Any, known: Known) -> exp.Expression:  # noqa: PLR0911  one line for each kind of type
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


def _dot(node: Any, known: Known) -> exp.Expression:
    """pg_catalog.f(x) is f(x); (f(x)).n is a part of a record."""
    left, right = node.this, node.expression
    if isinstance(left, exp.Identifier) and left.name.lower() in HOMES and isinstance(right, exp.Func | exp.Column):
        return _called(right, known)
    return node  # type: ignore[no-any-return]


_SAME = {"json_build_object": "json_object", "jsonb_build_object": "json_object"}
"""Functions that the engine has under another name."""
_TRUE_TYPES = {"_pg_truetypid": "atttypid", "_pg_truetypmod": "atttypmod"}
"""Functions over whole rows of pg_attribute: there are no domains here, so that a column's type is its own."""


def _divided(node: Any, known: Known) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """Whole numbers are divided as such."""
    if any(isinstance(side, exp.TryCast) and "INT" in side.to.sql() for side in (node.this, node.expression)):
        return exp.IntDiv(this=node.this.copy(), expression=node.expression.copy())
    return node  # type: ignore[no-any-return]


def _called(node: Any, known: Known) -> exp.Expression:
    if isinstance(node, exp.Anonymous) and node.name.lower() == "all" and isinstance(node.parent, exp.NEQ):
        return exp.All(this=node.expressions[0])
    if isinstance(node, exp.Anonymous) and node.name.lower() in _TRUE_TYPES and node.expressions:
        return exp.column(_TRUE_TYPES[node.name.lower()], table=node.expressions[0].table)
    if isinstance(node, exp.Anonymous) and node.name.lower() in _SAME:
        return exp.Anonymous(this=_SAME[node.name.lower()], expressions=node.expressions)
    if isinstance(node, exp.Anonymous) and node.name.lower() in known.functions:
        return exp.Anonymous(this=f"pgf_{node.name.lower()}", expressions=node.expressions)
    return node  # type: ignore[no-any-return]


def _session(node: Any, known: Known) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    parts = [node.args[name] for name in ("this", "expression", "null") if node.args.get(name) is not None]
    return exp.Anonymous(this=f"pgf_{_SESSION[type(node)]}", expressions=parts)


def _column(node: Any, known: Known) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """`user` and `current_role` are words of the language, not columns."""
    bare = not node.table and isinstance(node.this, exp.Identifier) and not node.this.quoted
    if bare and node.name.lower() in ("user", "current_role"):
        return exp.Anonymous(this="pgf_current_user", expressions=[])
    return node  # type: ignore[no-any-return]


def _format(node: Any, known: Known) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    return exp.Anonymous(this="pgf_format", expressions=[node.this, *node.expressions])


def _clock(node: Any, known: Known) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """Of a word like current_date the engine thinks that it is the column which is given that name."""
    return exp.Anonymous(this="today" if isinstance(node, exp.CurrentDate) else "now", expressions=[])


def _substring(node: Any, known: Known) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """`substring(x FROM pattern)`: the first group of the pattern, or all that fits it."""
    pattern = node.args.get("start")
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        return node  # type: ignore[no-any-return]
    group = exp.Literal.number(1 if "(" in pattern.this else 0)
    found = exp.Anonymous(this="regexp_extract", expressions=[node.this.copy(), pattern.copy(), group])
    return exp.Anonymous(this="nullif", expressions=[found, exp.Literal.string("")])


def _collated(node: Any, known: Known) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    return node.this  # type: ignore[no-any-return]


def _listed(text: str) -> exp.Array:
    """`{a, "b"}` as a list."""
    inner = text.strip()[1:-1]
    items = [item.strip().strip('"') for item in inner.split(",")] if inner.strip() else []
    return exp.Array(expressions=[exp.Literal.string(item) for item in items])


def _any(node: Any, known: Known) -> exp.Expression:  # noqa: ARG001  the shape of all changes
    """`x = ANY('{a,b}')`: the string is a list."""
    inner = node.this.unnest() if isinstance(node.this, exp.Paren) else node.this
    if isinstance(inner, exp.Literal) and inner.is_string and inner.this.startswith("{"):
        node.set("this", _listed(inner.this))
    return node  # type: ignore[no-any-return]


def _not_all(node: Any, known: Known) -> exp.Expression:
    """`x <> ALL(list)` is NOT x = ANY(list), which the engine knows of lists."""
    if isinstance(node.expression, exp.All):
        inside = _any(exp.Any(this=node.expression.this.copy()), known)
        return exp.Not(this=exp.Paren(this=exp.EQ(this=node.this.copy(), expression=inside)))
    return node  # type: ignore[no-any-return]


_CHANGES: tuple[tuple[Any, Callable[[Any, Known], exp.Expression]], ...] = (
    (exp.Cast, _cast),
    (exp.Dot, _dot),
    (exp.Anonymous, _called),
    (tuple(_SESSION), _session),
    (exp.Collate, _collated),
    (exp.CurrentDate | exp.CurrentTimestamp, _clock),
    (exp.Substring, _substring),
    (exp.Column, _column),
    (exp.Format, _format),
    (exp.Any, _any),
    (exp.NEQ, _not_all),
    (exp.Div, _divided),
)
