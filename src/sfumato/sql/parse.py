"""The first room: text becomes a parse tree that holds known kinds of nodes only.

Comes in: the analyst's text. Goes out: one query of sqlglot's tree, every node of an allowed kind with allowed parts.
What is not listed here is refused by its name and place, before any data is touched; `bind` then says what each means.
"""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any

import sqlglot
from sqlglot import errors as sqlglot_errors
from sqlglot import exp

from sfumato.errors import QueryError
from sfumato.sql.intervals import WRITTEN

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # it would print the analyst's text

_LONGEST = 100_000
"""A question of more characters is refused: nobody types it, and a parser has limits."""

_BINARY = (
    exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Nullif,
    exp.Extract, exp.Filter, exp.IntDiv, exp.Pow, exp.Log, exp.Left, exp.Right, exp.StartsWith, exp.RegexpLike,
    exp.NullSafeEQ, exp.NullSafeNEQ, exp.Escape,
    exp.WithinGroup, exp.ArgMax, exp.ArgMin, exp.Corr, exp.CovarPop, exp.CovarSamp, exp.RegrSlope, exp.RegrIntercept,
    exp.RegrR2, exp.RegrCount, exp.RegrAvgx, exp.RegrAvgy, exp.RegrSxx, exp.RegrSyy, exp.RegrSxy,
)  # fmt: skip
_UNARY = (
    exp.From, exp.Paren, exp.Where, exp.Having, exp.Boolean, exp.Var, exp.Neg, exp.Not, exp.Abs,
    exp.Sign, exp.Floor, exp.Ceil, exp.Lower, exp.Upper, exp.Length, exp.Sum, exp.Avg, exp.Min, exp.Max,
    exp.LogicalAnd, exp.LogicalOr, exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Median,
    exp.PercentileCont, exp.PercentileDisc, exp.ApproxDistinct,
    exp.Mode, exp.AnyValue, exp.First, exp.Last, exp.FirstValue, exp.LastValue,
    exp.Ln, exp.Exp, exp.Sqrt, exp.Cbrt, exp.Reverse, exp.DataTypeParam,
)  # fmt: skip
_ALONE = (
    exp.Star, exp.Null, exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp, exp.RowNumber, exp.Rank,
    exp.DenseRank,
)  # fmt: skip

ALLOWED: dict[type[exp.Expression], frozenset[str]] = {
    **dict.fromkeys(_BINARY, frozenset({"this", "expression"})),
    **dict.fromkeys(_UNARY, frozenset({"this"})),
    **dict.fromkeys(_ALONE, frozenset()),
    exp.Select: frozenset(
        {
            "expressions",
            "from_",
            "where",
            "group",
            "having",
            "order",
            "limit",
            "offset",
            "distinct",
            "joins",
            "with_",
        }
    ),
    **dict.fromkeys(
        (exp.Union, exp.Except, exp.Intersect),
        frozenset({"this", "expression", "distinct", "order", "limit", "offset", "with_"}),
    ),
    exp.Subquery: frozenset({"this", "alias"}),
    exp.With: frozenset({"expressions"}),
    exp.CTE: frozenset({"this", "alias"}),
    exp.Join: frozenset({"this", "side", "kind", "method", "on", "using"}),
    exp.Exists: frozenset({"this"}),
    exp.Rollup: frozenset({"expressions"}),
    exp.Cube: frozenset({"expressions"}),
    exp.GroupingSets: frozenset({"expressions"}),
    exp.Grouping: frozenset({"expressions"}),
    exp.Tuple: frozenset({"expressions"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.Table: frozenset({"this", "alias", "db", "catalog", "joins"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Column: frozenset({"this", "table"}),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Group: frozenset({"expressions"}),
    exp.Order: frozenset({"expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Offset: frozenset({"expression"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Cast: frozenset({"this", "to", "_type"}),
    exp.DataType: frozenset({"this", "expressions"}),
    exp.Div: frozenset({"this", "expression", "typed"}),
    exp.Round: frozenset({"this", "decimals"}),
    exp.Trunc: frozenset({"this", "decimals"}),
    exp.WidthBucket: frozenset({"this", "min_value", "max_value", "num_buckets"}),
    exp.Between: frozenset({"this", "low", "high", "symmetric"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Lag: frozenset({"this", "offset", "default"}),
    exp.Lead: frozenset({"this", "offset", "default"}),
    exp.Is: frozenset({"this", "expression", "negate"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true"}),
    exp.Coalesce: frozenset({"this", "expressions"}),
    exp.Greatest: frozenset({"this", "expressions", "ignore_nulls"}),
    exp.Least: frozenset({"this", "expressions", "ignore_nulls"}),
    exp.TimestampTrunc: frozenset({"this", "unit"}),
    exp.DateTrunc: frozenset({"this", "unit"}),
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.DPipe: frozenset({"this", "expression", "safe"}),
    exp.Like: frozenset({"this", "expression", "negate"}),
    exp.ILike: frozenset({"this", "expression", "negate"}),
    exp.Trim: frozenset({"this", "position", "expression"}),
    exp.StrPosition: frozenset({"this", "substr"}),
    exp.Replace: frozenset({"this", "expression", "replacement"}),
    exp.Concat: frozenset({"expressions", "safe", "coalesce"}),
    exp.Interval: frozenset({"this", "unit"}),
    exp.Count: frozenset({"this", "big_int"}),
    exp.Distinct: frozenset({"expressions", "on"}),
    exp.Window: frozenset({"this", "partition_by", "order", "over", "spec"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
}
"""What may stand in a question: kinds of nodes, and of each the parts that `bind` reads. A part that is not listed is
refused, not passed over: a parser may hold a NOT, a time zone or a side of TRIM in one."""

_WORDS: dict[str, tuple[str, str]] = {
    "TableSample": ("sampling is not allowed: every row counts", "Leave TABLESAMPLE out."),
    "Rand": ("random() is not allowed: the answer would differ each time", "Leave it out; noise is added anyway."),
    "CurrentTime": ("the clock is not part of a question", "Write now(), which is the start of this day in UTC."),
    "Localtime": ("the clock is not part of a question", "Write now(), which is the start of this day in UTC."),
    "GroupConcat": ("lists of values would show what persons have", "Ask for counts with GROUP BY."),
    "ArrayAgg": ("lists of values would show what persons have", "Ask for counts with GROUP BY."),
    "ReadCSV": ("files cannot be read from a question", "Ask about a table of the policy."),
    "RegexpILike": ("~* is not supported: letters of other scripts differ between engines", "Write LOWER(x) ~ 'a+'."),
    "SimilarTo": ("SIMILAR TO is not supported", "Write LIKE, or ~ with a regular expression."),
    "Parameter": ("parameters are not supported yet", "Write the value."),
    "Placeholder": ("parameters are not supported yet", "Write the value."),
    "Lock": ("FOR UPDATE is not a question", "Leave it out."),
}
"""What to say of the kinds that people write most, and what to write instead."""


def parse(text: str) -> exp.Query:
    """The tree of one query, or a refusal with its place in the text."""
    if len(text) > _LONGEST:
        raise QueryError(
            f"a question has at most {_LONGEST} characters, but this one has {len(text)}", sqlstate="54000"
        )
    try:
        statements = [s for s in sqlglot.parse(text, read="postgres") if s is not None]
    except sqlglot_errors.SqlglotError as error:
        raise _syntax(text, error) from None
    except RecursionError:
        raise QueryError("the question is nested too deeply", sqlstate="54001") from None
    if not statements:
        raise QueryError("there is no question in this text", sqlstate="42601", hint="Write a SELECT.")
    if len(statements) > 1:
        raise QueryError(
            "ask one question at a time", sqlstate="42601", hint="Send the statements one after the other."
        )
    tree = statements[0]
    if not isinstance(tree, exp.Query):
        raise _refused(tree)
    for node in tree.walk():
        _check(node)
    _check_intervals(text)
    return tree


def _check(node: Any) -> None:
    if type(node) not in ALLOWED:
        raise _refused(node)
    for part, value in node.args.items():
        if value not in (None, False, []) and part not in ALLOWED[type(node)]:
            raise _refused(value) if type(value).__name__ in _WORDS else _refused(node, part)


def _check_intervals(text: str) -> None:
    """The parser passes over what it does not know in an interval ('1 day ago'): the words themselves are looked at."""
    if "interval" not in text.lower():
        return
    tokens = sqlglot.tokenize(text, read="postgres")
    for word, written in pairwise(tokens):
        if (word.token_type, written.token_type) != (sqlglot.TokenType.INTERVAL, sqlglot.TokenType.STRING):
            continue
        if not WRITTEN.fullmatch(written.text) and not written.text.strip(" +-").isdigit():
            raise QueryError(
                f"{written.text!r} is not an interval that is known here",
                position=written.start + 1,
                sqlstate="22007",
                hint="Write whole numbers with their units: INTERVAL '1 year 3 months', INTERVAL '7 days'.",
            )


def place(node: Any) -> int:
    """Where a node stands in the text, from 1; 0 where the parser did not say."""
    starts = [n.meta["start"] for n in node.walk() if "start" in n.meta]
    return min(starts) + 1 if starts else 0


def _refused(node: Any, part: str | None = None) -> QueryError:
    """Why a node, or a part of it, is not answered, and what to write instead."""
    kind = type(node).__name__
    if kind == "Anonymous":
        what = f"function {node.name.lower()} is not supported yet"
        return QueryError(what, position=place(node), hint="Write the question without it.")
    if part is None and kind in _WORDS:
        what, hint = _WORDS[kind]
        return QueryError(what, position=place(node), hint=hint)
    command = isinstance(node, exp.DML | exp.DDL | exp.Command) or kind in _COMMANDS
    if part is None and command and not isinstance(node, exp.Select):
        word = str(node.this if kind == "Command" else kind).upper()
        return QueryError(f"{word} is not a question", position=1, hint="Only SELECT is answered.")
    what = kind.upper() if part is None else f"{kind.upper()} with {part.strip('_').replace('_', ' ')}"
    return QueryError(f"{what} is not supported yet", position=place(node), hint="Write the question without it.")


_COMMANDS = ("Drop", "Set", "Values", "Transaction", "Commit", "Rollback", "Show", "Use", "Copy", "Alter", "Describe")


def _syntax(text: str, error: sqlglot_errors.SqlglotError) -> QueryError:
    details = error.errors[0] if isinstance(error, sqlglot_errors.ParseError) and error.errors else {}
    position, near = 0, ""
    if details.get("line"):
        lines = text.split("\n")
        end = sum(len(line) + 1 for line in lines[: details["line"] - 1]) + details.get("col", 0)
        near = str(details.get("highlight") or "")
        position = max(1, end - len(near) + 1)
    message = f'syntax error at or near "{near}"' if near else "syntax error"
    return QueryError(message, position=position, sqlstate="42601", hint="The dialect is PostgreSQL's.")
