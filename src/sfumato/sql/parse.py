"""The first room: text becomes a parse tree that holds known kinds of nodes only.

Comes in: the analyst's text. Goes out: one SELECT of sqlglot's tree, every node of an allowed kind. What is not listed
here is refused by its name and place, before any data is touched; `bind` then says what each allowed kind means.
"""

from __future__ import annotations

from typing import Any

import sqlglot
from sqlglot import errors as sqlglot_errors
from sqlglot import exp

from sfumato.errors import QueryError

_LONGEST = 100_000
"""A question of more characters is refused: nobody types it, and a parser has limits."""

ALLOWED: frozenset[type[exp.Expression]] = frozenset(
    {
        exp.Select, exp.From, exp.Table, exp.TableAlias, exp.Identifier, exp.Column, exp.Star, exp.Alias, exp.Paren,
        exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset,
        exp.Literal, exp.Boolean, exp.Null, exp.Cast, exp.DataType, exp.DataTypeParam, exp.Var,
        exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Abs, exp.Sign, exp.Round, exp.Floor, exp.Ceil,
        exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.Is, exp.And, exp.Or, exp.Not,
        exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least,
        exp.Extract, exp.TimestampTrunc, exp.DateTrunc, exp.CurrentDate,
        exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.Substring, exp.DPipe, exp.Like,
        exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Filter, exp.Distinct,
        exp.Window, exp.WindowSpec, exp.RowNumber, exp.Rank, exp.DenseRank,
    }
)  # fmt: skip

_NAMES: dict[type[exp.Expression], str] = {
    exp.Join: "JOIN",
    exp.Subquery: "a sub-query",
    exp.With: "WITH",
    exp.Union: "UNION",
    exp.Anonymous: "this function",
    exp.TableSample: "TABLESAMPLE",
    exp.Rollup: "ROLLUP",
    exp.Cube: "CUBE",
    exp.GroupingSets: "GROUPING SETS",
}


def parse(text: str) -> exp.Select:
    """The tree of one SELECT, or a refusal with its place in the text."""
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
    if not isinstance(tree, exp.Select):
        raise _refused(tree)
    for node in tree.walk():
        if type(node) not in ALLOWED:
            raise _refused(node)
    return tree


def place(node: Any) -> int:
    """Where a node stands in the text, from 1; 0 where the parser did not say."""
    starts = [n.meta["start"] for n in node.walk() if "start" in n.meta]
    return min(starts) + 1 if starts else 0


def _refused(node: Any) -> QueryError:
    kind: type[Any] = type(node)
    named = _NAMES.get(kind, kind.__name__.upper())
    what = f"function {node.name.lower()}" if kind is exp.Anonymous else named
    if isinstance(node, exp.DML | exp.DDL | exp.Command) and not isinstance(
        node, exp.Select | exp.Subquery | exp.Union
    ):
        return QueryError(f"{what} is not a question", position=place(node), hint="Only SELECT is answered.")
    return QueryError(f"{what} is not supported yet", position=place(node), hint="Write the question without it.")


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
