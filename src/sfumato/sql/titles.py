"""The names that PostgreSQL gives the columns of a result."""

from __future__ import annotations

from sqlglot import exp

from sfumato.sql.expressions import fold

_NAMES: dict[type[exp.Expression], str] = {
    exp.Case: "case",
    exp.TimestampTrunc: "date_trunc",
    exp.DateTrunc: "date_trunc",
    exp.RowNumber: "row_number",
    exp.DenseRank: "dense_rank",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.PercentileCont: "percentile_cont",
    exp.PercentileDisc: "percentile_disc",
    exp.VariancePop: "var_pop",
    exp.StddevPop: "stddev_pop",
    exp.StddevSamp: "stddev_samp",
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
}


def title(item: exp.Expression) -> str:
    """The name that PostgreSQL gives a column of the result."""
    if isinstance(item, exp.Column):
        return fold(item.this)
    if isinstance(item, exp.Filter | exp.Paren | exp.Window | exp.WithinGroup):
        return title(item.this)
    if isinstance(item, exp.Cast):
        inner = title(item.this)
        return inner if inner != "?column?" else str(item.args["to"].sql()).lower()
    if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Select) and len(item.this.expressions) == 1:
        first = item.this.expressions[0]
        return fold(first.args["alias"]) if isinstance(first, exp.Alias) else title(first)
    if type(item) in _NAMES:
        return _NAMES[type(item)]
    kind = type(item).__name__
    return kind.lower() if issubclass(type(item), exp.Func) and kind not in ("And", "Or") else "?column?"
