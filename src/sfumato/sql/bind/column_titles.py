"""The names that PostgreSQL gives the columns of a result: of a question, and of a question about the catalog.

The catalog's questions are the tools' own, with functions and casts that no other question may have.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from sfumato.sql.bind.aggregate_names import TITLES
from sfumato.sql.bind.expressions import fold

_NAMES: dict[type[exp.Expression], str] = {
    **TITLES,
    exp.Case: "case",
    exp.TimestampTrunc: "date_trunc",
    exp.DateTrunc: "date_trunc",
    exp.RowNumber: "row_number",
    exp.DenseRank: "dense_rank",
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
    exp.Trim: "btrim",
    exp.GroupConcat: "string_agg",
    exp.CurrentDate: "current_date",
    exp.SplitPart: "split_part",
    exp.RegexpReplace: "regexp_replace",
    exp.DateBin: "date_bin",
    exp.ConcatWs: "concat_ws",
    exp.NthValue: "nth_value",
    exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist",
    exp.CurrentTimestamp: "current_timestamp",
    exp.AtTimeZone: "timezone",
    exp.JSONArrayAgg: "json_agg",
    exp.JSONObjectAgg: "json_object_agg",
    exp.JSONBObjectAgg: "jsonb_object_agg",
    exp.Interval: "interval",
    exp.StrPosition: "position",
    **dict.fromkeys((exp.Pow, exp.RegexpLike, exp.RegexpILike), "?column?"),
}


def title(item: exp.Expression) -> str:  # noqa: PLR0911  one answer for each kind of item
    """The name that PostgreSQL gives a column of the result."""
    if isinstance(item, exp.Column | exp.Anonymous):
        return fold(item.this) if isinstance(item, exp.Column) else item.name.lower()
    if isinstance(item, exp.Filter | exp.Paren | exp.Window | exp.WithinGroup):
        return title(item.this)
    if isinstance(item, exp.Cast):
        base = item.this
        while isinstance(base, exp.Cast | exp.Paren):  # of several casts the last one gives its name
            base = base.this
        inner = "?column?" if isinstance(base, exp.Interval | exp.Case) else title(base)
        return inner if inner != "?column?" else _bare(item.args["to"])
    if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Select) and len(item.this.expressions) == 1:
        first = item.this.expressions[0]
        return fold(first.args["alias"]) if isinstance(first, exp.Alias) else title(first)
    if isinstance(item, exp.Func) and _is_name(item.meta.get("called")):
        return str(item.meta["called"])
    if type(item) in _NAMES:
        return _NAMES[type(item)]
    kind = type(item).__name__
    return kind.lower() if issubclass(type(item), exp.Func) and kind not in ("And", "Or") else "?column?"


def _is_name(called: Any) -> bool:
    """Whether a function was called by a plain name, which is its column's name then."""
    return isinstance(called, str) and called.replace("_", "a").isalnum()


# questions about the catalog

_CALLED: dict[type[exp.Expression], str] = {
    exp.CurrentUser: "current_user", exp.SessionUser: "session_user", exp.CurrentCatalog:
    "current_catalog", exp.CurrentSchema: "current_schema", exp.Exists: "exists", exp.Array: "array", exp.Extract:
    "extract", exp.GroupConcat: "string_agg", exp.Substring: "substring", exp.Unnest: "unnest",
    exp.CurrentDatabase: "current_database", exp.CurrentSchemas: "current_schemas", exp.ArrayToString:
    "array_to_string", exp.CurrentVersion: "version", exp.Explode: "unnest", exp.ExplodingGenerateSeries:
    "generate_series", exp.CurrentTimestamp: "current_timestamp", exp.StrPosition: "position", exp.Trim: "btrim",
    exp.Format: "format", exp.GenerateSeries: "generate_series", exp.StringToArray: "string_to_array",
    exp.Interval: "interval",
}  # fmt: skip


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
            named.append(exp.alias_(item, _catalog_title(item), quoted=True, copy=False))
    first.set("expressions", named)


def called(node: Any) -> str:
    """The name under which a function is called."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    if isinstance(node, exp.Dot):
        return called(node.expression)
    return _CALLED.get(type(node), type(node).__name__.lower())


def _catalog_title(item: Any) -> str:  # noqa: PLR0911  one line for each kind of expression
    if isinstance(item, exp.Column | exp.Dot):
        return _folded(item.this if isinstance(item, exp.Column) else item.expression)
    if isinstance(item, exp.Case):
        inner = _catalog_title(item.args.get("default"))
        return inner if inner != "?column?" else "case"
    if isinstance(item, exp.Func) and "called" in item.meta:
        return str(item.meta["called"])
    if isinstance(item, exp.Anonymous) or type(item) in _CALLED:
        return called(item)
    if isinstance(item, exp.Paren | exp.Filter | exp.Window | exp.WithinGroup | exp.Bracket | exp.Collate):
        return _catalog_title(item.this)
    if isinstance(item, exp.Cast):
        base = item.this
        while isinstance(base, exp.Cast):
            base = base.this
        inner = _catalog_title(base)
        return inner if inner != "?column?" else _bare(item.to)
    if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Select) and item.this.expressions:
        only = item.this.expressions[0]
        return _folded(only.args["alias"]) if isinstance(only, exp.Alias) else _catalog_title(only)
    if isinstance(item, exp.Func) and not isinstance(item, exp.Connector | exp.Binary):
        return str(item.sql_name()).lower()
    return "?column?"


def _folded(node: Any) -> str:
    if isinstance(node, exp.Identifier):
        return str(node.this) if node.quoted else str(node.this).lower()
    return _catalog_title(node)


def _bare(kind: exp.Expression) -> str:
    """The name of a type, as PostgreSQL titles a cast."""
    name = kind.sql(dialect="postgres").lower().partition("(")[0].rpartition(".")[2].removesuffix("[]")
    short = {"int": "int4", "smallint": "int2", "bigint": "int8", "boolean": "bool", "double precision": "float8"}
    return ({"decimal": "numeric", "real": "float4"} | short).get(name, name)
