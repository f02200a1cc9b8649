"""Operators and functions that the parser has a node for, with their written arguments.

Comes in: the parser's node and what binds its arguments. Goes out: calls of our tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from sfumato.algebra.functions import call
from sfumato.algebra.tree import TEXT, Node
from sfumato.errors import QueryError
from sfumato.sql.bind import many_years
from sfumato.sql.bind.casts_and_times import as_text
from sfumato.sql.bind.constants import (
    is_count,
)
from sfumato.sql.read.parser import place

if TYPE_CHECKING:
    from sfumato.sql.bind.expressions import Expressions

Build = Callable[["Expressions", Any], Node]


def rounded(binds: Expressions, node: exp.Expression) -> Node:
    """ROUND with a written number of digits."""
    digits = node.args.get("decimals")
    if digits is None:
        return binds.function("round", node.this, at=node)
    if not isinstance(digits, exp.Literal) or not is_count(digits.this) or int(digits.this) > 12:
        raise QueryError("round needs a literal number of digits, at most 12", position=place(node))
    return binds.function("round", node.this, extra=digits.this, at=node)


def truncated(binds: Expressions, node: exp.Expression) -> Node:
    """TRUNC with a written number of digits."""
    digits = node.args.get("decimals")
    written = digits is None or (isinstance(digits, exp.Literal) and is_count(digits.this))
    if not written or (digits is not None and int(digits.this) > 12):
        raise QueryError("trunc needs a literal number of digits, at most 12", position=place(node))
    return binds.function("trunc", node.this, extra="" if digits is None else digits.this, at=node)


def cut_off(binds: Expressions, node: exp.Expression) -> Node:
    """date_trunc of a date, a timestamp or a written interval."""
    word, value = node.args["unit"].name.lower(), binds.node(node.this)
    begun = many_years.begun(word, value, place(node))
    return call("date_trunc", (value,), word, place(node)) if begun is None else begun


def logarithm(binds: Expressions, node: exp.Expression) -> Node:
    """LOG(x), of base 10, and LOG(base, x)."""
    if node.args.get("expression") is None:
        return binds.function("log10", node.this, at=node)
    return binds.function("log", node.this, node.expression, at=node)


def width_bucket(binds: Expressions, node: exp.Expression) -> Node:
    """WIDTH_BUCKET with written ends and count."""
    parts = [node.args.get(part) for part in ("this", "min_value", "max_value", "num_buckets")]
    return binds.function("width_bucket", *(part for part in parts if part is not None), at=node)


def trimmed(binds: Expressions, node: exp.Expression) -> Node:
    """TRIM, LTRIM, RTRIM and BTRIM, of blanks or of written characters."""
    parts = [part for part in (node.this, node.args.get("expression")) if part is not None]
    return binds.function("trim", *parts, extra=str(node.args.get("position") or "").lower(), at=node)


def joined(binds: Expressions, node: exp.Expression) -> Node:
    """|| and CONCAT: beside text, whole numbers, truths and times are text; CONCAT writes true as t."""
    parts = [node.this, node.expression] if isinstance(node, exp.DPipe) else node.expressions
    nodes, whole = [binds.node(part) for part in parts], isinstance(node, exp.Concat)
    if whole or any(n.facts.kind == TEXT for n in nodes):
        nodes = [as_text(n, shown=whole) for n in nodes]
    return call("||" if isinstance(node, exp.DPipe) else "concat", tuple(nodes), "", place(node))


def _plain(name: str) -> Build:
    """An operator or function with its arguments in order."""

    def build(binds: Expressions, node: exp.Expression) -> Node:
        args = [node.this, node.args.get("expression"), *(node.args.get("expressions") or [])]
        return binds.function(name, *(arg for arg in args if arg is not None), at=node)

    return build


KINDS: dict[type[exp.Expression], Build] = {
    exp.Round: rounded,
    exp.Trunc: truncated,
    exp.Log: logarithm,
    exp.WidthBucket: width_bucket,
    exp.Trim: trimmed,
    exp.DPipe: joined,
    exp.Concat: joined,
    exp.StrPosition: lambda binds, n: binds.function("strpos", n.this, n.args["substr"], at=n),
    exp.Replace: lambda binds, n: binds.function("replace", n.this, n.expression, n.args["replacement"], at=n),
    exp.TimestampTrunc: cut_off,
    exp.DateTrunc: cut_off,
    **{
        kind: _plain(name)
        for kind, name in (
            (exp.Div, "/"), (exp.Mod, "%"), (exp.Neg, "negate"),
            (exp.And, "and"), (exp.Or, "or"), (exp.Not, "not"), (exp.Abs, "abs"), (exp.Sign, "sign"),
            (exp.Floor, "floor"), (exp.Ceil, "ceil"), (exp.Coalesce, "coalesce"), (exp.Nullif, "nullif"),
            (exp.Greatest, "greatest"), (exp.Least, "least"), (exp.Lower, "lower"), (exp.Upper, "upper"),
            (exp.Length, "length"), (exp.IntDiv, "div"), (exp.Pow, "power"), (exp.Ln, "ln"), (exp.Exp, "exp"),
            (exp.Sqrt, "sqrt"), (exp.Cbrt, "cbrt"), (exp.Left, "left"), (exp.Right, "right"),
            (exp.Reverse, "reverse"), (exp.StartsWith, "starts_with"),
        )
    },
}  # fmt: skip
"""The parser's nodes that are bound here."""
