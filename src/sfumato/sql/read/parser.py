"""Parsing: text becomes a parse tree that holds known kinds of nodes only.

Comes in: the analyst's text. Goes out: one query of sqlglot's tree, every node of an allowed kind with allowed parts.
What is not listed here is refused by its name and place, before any data is touched; `bind` then says what each means.
"""

from __future__ import annotations

import logging
import re
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import sqlglot
from sqlglot import Dialect, exp
from sqlglot import errors as sqlglot_errors

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.functions import FUNCTIONS
from sfumato.algebra.interval_values import LONGEST, is_written
from sfumato.errors import GeneralHint, QueryError
from sfumato.sql.read.arrays import written_signs
from sfumato.sql.read.bounded_parser import trees
from sfumato.sql.read.normalize import normalize
from sfumato.sql.read.spelling import FAULTS, note_calls, spelled

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # it would print the analyst's text

_LONGEST = 100_000
"""A question of more characters is refused: nobody types it, and a parser has limits."""

_MOST_TOKENS = 20_000
"""Words and signs of a question, those of a list in a text included: each becomes an object of the parser, and the
interpreter stands still while it looks for unused ones among all of them."""
_DEEPEST = 1_000
"""Brackets within brackets: the parser would give up far below that, but only after it has made a frame for each."""

_PLACE = "place"
_OPENING, _CLOSING = sqlglot.TokenType.L_PAREN, sqlglot.TokenType.R_PAREN
_BINARY = (
    exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Nullif,
    exp.Extract, exp.Filter, exp.IntDiv, exp.Pow, exp.Log, exp.Left, exp.Right, exp.StartsWith, exp.RegexpLike,
    exp.RegexpILike, exp.SimilarTo, exp.Initcap,
    exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift, exp.BitwiseRightShift,
    exp.NullSafeEQ, exp.NullSafeNEQ, exp.Escape,
    exp.WithinGroup, exp.ArgMax, exp.ArgMin, exp.Corr, exp.CovarPop, exp.CovarSamp, exp.RegrSlope, exp.RegrIntercept,
    exp.RegrR2, exp.RegrCount, exp.RegrAvgx, exp.RegrAvgy, exp.RegrSxx, exp.RegrSyy, exp.RegrSxy,
)  # fmt: skip
_UNARY = (
    exp.From, exp.Paren, exp.Where, exp.Having, exp.Qualify, exp.Ntile, exp.Boolean, exp.Var, exp.Neg, exp.Not, exp.Abs,
    exp.Sign, exp.Floor, exp.Ceil, exp.Lower, exp.Upper, exp.Length, exp.Sum, exp.Avg, exp.Min, exp.Max,
    exp.LogicalAnd, exp.LogicalOr, exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Median,
    exp.PercentileCont, exp.PercentileDisc, exp.ApproxDistinct,
    exp.Mode, exp.AnyValue, exp.First, exp.Last, exp.FirstValue, exp.LastValue,
    exp.Ln, exp.Exp, exp.Sqrt, exp.Cbrt, exp.Reverse, exp.DataTypeParam, exp.All, exp.MD5, exp.Ascii, exp.BitwiseNot,
)  # fmt: skip
_ALONE = (
    exp.Star, exp.Null, exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp, exp.RowNumber, exp.Rank,
    exp.DenseRank, exp.PercentRank, exp.CumeDist,
)  # fmt: skip

ALLOWED: dict[type[exp.Expression], frozenset[str]] = {
    exp.Anonymous: frozenset({"this", "expressions"}),
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
            "qualify",
        }
    ),
    **dict.fromkeys(
        (exp.Union, exp.Except, exp.Intersect),
        frozenset({"this", "expression", "distinct", "order", "limit", "offset", "with_"}),
    ),
    exp.Subquery: frozenset({"this", "alias"}),
    exp.With: frozenset({"expressions", "recursive"}),
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
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Group: frozenset({"expressions"}),
    exp.Order: frozenset({"this", "expressions"}),
    exp.GroupConcat: frozenset({"this", "separator"}),
    exp.ArrayAgg: frozenset({"this", "nulls_excluded"}),
    exp.JSONArrayAgg: frozenset({"this"}),
    exp.JSONObjectAgg: frozenset({"expressions"}),
    exp.JSONBObjectAgg: frozenset({"this", "expression"}),
    exp.NthValue: frozenset({"this", "offset"}),
    exp.ExplodingGenerateSeries: frozenset({"start", "end", "step"}),
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
    exp.AtTimeZone: frozenset({"this", "zone"}),
    exp.TimestampTrunc: frozenset({"this", "unit"}),
    exp.DateTrunc: frozenset({"this", "unit"}),
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.SplitPart: frozenset({"this", "delimiter", "part_index"}),
    exp.Pad: frozenset({"this", "expression", "fill_pattern", "is_left"}),
    exp.ConcatWs: frozenset({"expressions", "safe", "coalesce"}),
    exp.DateBin: frozenset({"this", "expression", "unit"}),
    exp.RegexpReplace: frozenset({"this", "expression", "replacement", "modifiers", "single_replace"}),
    exp.Translate: frozenset({"this", "from_", "to"}),
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
    "TableSample": ("sampling is not allowed", "Remove TABLESAMPLE."),
    "Rand": ("random() is not allowed: the answer would differ each time", "Remove it; noise is added anyway."),
    "CurrentTime": ("the time of day is not available", "Write now(), which is the start of this day in UTC."),
    "Localtime": ("the time of day is not available", "Write now(), which is the start of this day in UTC."),
    "ReadCSV": ("files cannot be read from a query", "Query a table of the policy."),
    "Parameter": ("parameters are not supported yet", "Write the value as a literal."),
    "Placeholder": ("parameters are not supported yet", "Write the value as a literal."),
    "Lock": ("FOR UPDATE is not supported: data can only be queried", "Remove it."),
}
"""What to say of the kinds that people write most, and what to write instead."""


def parse(text: str) -> exp.Query:
    """The tree of one query, or a refusal with its place in the text."""
    if len(text) > _LONGEST:
        raise QueryError(
            f"a query may have at most {_LONGEST} characters, but this one has {len(text)}", sqlstate="54000"
        )
    _check_characters(text)
    tokens: list[Any] = []
    try:
        dialect = Dialect.get_or_raise("postgres")
        tokens = dialect.tokenize(text)
        _check_tokens(tokens)
        statements = trees(text, tokens)
    except sqlglot_errors.SqlglotError as error:
        raise _no_statement(tokens) or _syntax(text, error, tokens) from None
    except FAULTS:
        raise QueryError("syntax error", sqlstate="42601", hint=_DIALECT) from None
    except RecursionError:
        raise QueryError("the query is nested too deeply", sqlstate="54001") from None
    if not statements:
        raise QueryError("the query is empty", sqlstate="42601", hint="Write a SELECT.")
    if len(statements) > 1:
        raise QueryError(
            "only one statement is allowed", sqlstate="42601", hint="Send the statements one after the other."
        )
    tree = statements[0]
    note_calls(tree, text)
    tree = normalize(tree) if isinstance(tree, exp.Query | exp.Values) else tree
    if not isinstance(tree, exp.Query):
        raise _no_statement(tokens) or _refused(tree)
    nodes = list(tree.walk())
    for node in nodes:
        _check(node)
    _check_intervals(text)
    _place_all(nodes)
    return tree


def _check_tokens(tokens: list[Any]) -> None:
    """Refuse before parsing what would keep everybody waiting, or be refused as too deep anyway."""
    total = len(tokens) + sum(written_signs(token.text) for token in tokens if "," in token.text)
    if total > _MOST_TOKENS:
        raise QueryError(
            f"a query may have at most {_MOST_TOKENS} tokens, but this one has {total}",
            sqlstate="54000",
            hint="Split it into several queries.",
        )
    depth = 0
    for token in tokens:
        depth += (token.token_type is _OPENING) - (token.token_type is _CLOSING)
        if depth > _DEEPEST:
            raise QueryError("the query is nested too deeply", position=token.start + 1, sqlstate="54001")


_NO_CHARACTERS = re.compile("[\x00\ud800-\udfff]")


def _check_characters(text: str) -> None:
    """Halves of characters and NUL cannot be stored, sent or compared."""
    found = _NO_CHARACTERS.search(text)
    if found is not None:
        raise QueryError(
            f"U+{ord(found[0]):04X} is not allowed in a query",
            position=found.start() + 1,
            sqlstate="22021",
            hint="Remove it.",
        )


def _place_all(nodes: list[Any]) -> None:
    """Note of every node where it starts, so that nobody looks below it for that; parents come before children."""
    for node in reversed(nodes):
        below = [child.meta[_PLACE] for child in node.iter_expressions()]
        own = [node.meta["start"] + 1] if "start" in node.meta else []
        node.meta[_PLACE] = min((at for at in (*own, *below) if at), default=0)


def _check(node: Any) -> None:
    if type(node) not in ALLOWED or (isinstance(node, exp.Anonymous) and not _is_known(node.name.lower())):
        raise _refused(node)
    for part, value in node.args.items():
        absent = value in (None, []) or (value is False and part != "all")  # False: GROUP BY DISTINCT
        if not absent and part not in ALLOWED[type(node)]:
            raise _refused(value) if type(value).__name__ in _WORDS else _refused(node, part)


JSON_CALLS = (
    "json_build_object", "jsonb_build_object", "json_build_array", "jsonb_build_array", "row_to_json", "to_json",
    "to_jsonb",
)  # fmt: skip
JSON_LISTS = ("jsonb_agg",)
"""Functions and aggregates by name that make JSON."""


def _is_known(name: str) -> bool:
    """Whether a function or an aggregate that has no kind of node is known by its name."""
    if name in (*JSON_CALLS, *JSON_LISTS):
        return True
    known = FUNCTIONS.get(name) or AGGREGATES.get(name)
    return known is not None and known.by_name


def _check_intervals(text: str) -> None:
    """The parser passes over what it does not know in an interval ('1 day ago'): the words themselves are looked at."""
    if "interval" not in text.lower():
        return
    tokens = sqlglot.tokenize(text, read="postgres")
    for word, written in pairwise(tokens):
        if (word.token_type, written.token_type) != (sqlglot.TokenType.INTERVAL, sqlglot.TokenType.STRING):
            continue
        if not is_written(written.text) and not written.text.strip(" +-").isdigit():
            raise QueryError(
                f"{written.text[:LONGEST]!r} is not a supported interval",
                position=written.start + 1,
                sqlstate="22007",
                hint="Write whole numbers with their units: INTERVAL '1 year 3 months', INTERVAL '7 days'.",
            )


def place(node: Any) -> int:
    """Where a node stands in the text, from 1; 0 where the parser did not say."""
    if not isinstance(node, exp.Expression):
        return 0
    if _PLACE in node.meta:
        return int(node.meta[_PLACE])
    starts = [n.meta["start"] for n in node.walk() if "start" in n.meta]
    return min(starts) + 1 if starts else 0


def _refused(node: Any, part: str | None = None) -> QueryError:
    """Why a node, or a part of it, is not answered, and what to write instead."""
    kind = type(node).__name__
    if kind == "Anonymous":
        name = node.name.lower()
        near = get_close_matches(name, [*FUNCTIONS, *AGGREGATES], 1, _ALIKE) if name not in _INSTEAD else []
        if near and near[0] != name:
            hint = f"Did you mean {near[0]}? The SQL reference lists all functions."
            return QueryError(f"there is no function {name}", position=place(node), hint=hint)
        hint = _INSTEAD.get(name) or GeneralHint("Write the query without it.")
        return QueryError(f"function {name} is not supported yet", position=place(node), hint=hint)
    if part is None and kind in _WORDS:
        what, hint = _WORDS[kind]
        return QueryError(what, position=place(node), hint=hint)
    command = isinstance(node, exp.DML | exp.DDL | exp.Command) or kind in _COMMANDS
    if part is None and command and not isinstance(node, exp.Select):
        word = str(node.this if kind == "Command" else _COMMAND_WORDS.get(kind, kind)).upper()
        return QueryError(
            f"{word} is not supported: data can only be queried",
            position=1,
            hint="Write a SELECT. Tools that create tables need a database of their own.",
        )
    what = spelled(node, part)
    hint = _INSTEAD.get(what.removeprefix("function ")) or GeneralHint("Write the query without it.")
    return QueryError(f"{what} is not supported yet", position=place(node), hint=hint)


_INSTEAD = dict.fromkeys(("mean", "average"), "Write avg(x).")
"""What to write instead of functions that people ask for."""
_ALIKE = 0.75
"""How much a name must look like that of a function to be taken for it: coutn, avgg, stdev."""


_COMMAND_WORDS = {"Transaction": "BEGIN", "TruncateTable": "TRUNCATE", "AlterSession": "ALTER", "LoadData": "LOAD"}
_COMMANDS = ("Drop", "Set", "Values", "Transaction", "Commit", "Rollback", "Show", "Use", "Copy", "Alter", "Describe")


_DIALECT = "Use PostgreSQL syntax."
_CLAUSES = ("FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "JOIN", "UNION")


def _no_statement(tokens: list[Any]) -> QueryError | None:
    """A syntax error at the first word where no statement begins with it; the parser takes it for a column."""
    if not tokens or tokens[0].token_type not in (sqlglot.TokenType.VAR, sqlglot.TokenType.IDENTIFIER):
        return None
    word = tokens[0]
    message = f'syntax error at or near "{word.text}"'
    return QueryError(message, position=word.start + 1, sqlstate="42601", hint=_meant(word, ("SELECT", "WITH")))


def _meant(word: Any, keywords: tuple[str, ...]) -> str:
    """The hint for a word that is no keyword, but near to one."""
    plain = word is not None and word.token_type is sqlglot.TokenType.VAR and len(word.text) < 12
    near = get_close_matches(word.text.upper(), keywords, 1, 0.7) if plain else []
    return f"Did you mean {near[0]}? {_DIALECT}" if near and near[0] != word.text.upper() else _DIALECT


def _syntax(text: str, error: sqlglot_errors.SqlglotError, tokens: list[Any]) -> QueryError:
    details = error.errors[0] if isinstance(error, sqlglot_errors.ParseError) and error.errors else {}
    position, near = 0, ""
    if details.get("line"):
        lines = text.split("\n")
        end = sum(len(line) + 1 for line in lines[: details["line"] - 1]) + details.get("col", 0)
        near = str(details.get("highlight") or "")
        position = max(1, end - len(near) + 1)
    message = f'syntax error at or near "{near}"' if near else "syntax error"
    until = [token for token in tokens if token.start < position]  # the parser stops at a wrong word, or just after it
    hints = (_meant(token, _CLAUSES) for token in reversed(until[-2:]))
    hint = next((hint for hint in hints if hint != _DIALECT), _DIALECT)
    return QueryError(message, position=position, sqlstate="42601", hint=hint)
