"""Conditions: comparisons, IN, BETWEEN, LIKE, IS and CASE.

Comes in: the parser's node and what binds its arguments. Goes out: calls of our tree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from sfumato.algebra import patterns
from sfumato.algebra.functions import call
from sfumato.algebra.tree import (
    Node,
)
from sfumato.errors import QueryError
from sfumato.sql.bind import named_functions
from sfumato.sql.bind.constants import (
    coerced,
    constant,
)
from sfumato.sql.bind.quantified import ALL, SURE_ROWS, TRUE_ROWS
from sfumato.sql.read.growth import copied
from sfumato.sql.read.parser import place

if TYPE_CHECKING:
    from sfumato.sql.bind.expressions import Expressions

Build = Callable[["Expressions", Any], Node]

_FEW_VALUES = 100
"""Values of an IN list that are compared one by one; more are a set."""
_WRITTEN = (exp.Literal, exp.Neg, exp.Boolean, exp.Null)


def between(binds: Expressions, node: exp.Expression) -> Node:
    """BETWEEN, as two comparisons."""
    low = binds.function(">=", node.this, node.args["low"], at=node)
    return call("and", (low, binds.function("<=", node.this, node.args["high"], at=node)), "", place(node))


def among(binds: Expressions, node: exp.Expression) -> Node:
    """IN with a written list or a sub-query."""
    query = node.args.get("query")
    if query is not None:
        if isinstance(node.this, exp.Tuple):
            kind = TRUE_ROWS if id(node) in binds.asked else SURE_ROWS
            return binds.subquery(kind, query, tuple(map(binds.node, node.this.expressions)), node)
        return binds.subquery("in", query, (binds.node(node.this),), node)
    if not node.expressions:
        raise QueryError("IN needs a list or a sub-query", position=place(node), sqlstate="42601")
    if len(node.expressions) > _FEW_VALUES and all(isinstance(value, _WRITTEN) for value in node.expressions):
        operand = binds.node(node.this)
        values = dict.fromkeys(coerced("=", (operand, binds.node(value)))[1] for value in node.expressions)
        return call("in", (operand, *values), "", place(node))
    tests = [_equal(binds, node.this, value, node) for value in node.expressions]
    while len(tests) > 1:  # a balanced tree, so that a long list is not a deep one
        pairs = [tests[i : i + 2] for i in range(0, len(tests), 2)]
        tests = [call("or", tuple(pair), "", place(node)) if len(pair) > 1 else pair[0] for pair in pairs]
    return tests[0]


def _equal(binds: Expressions, one: exp.Expression, other: exp.Expression, at: exp.Expression) -> Node:
    """one = other; for rows in brackets, part by part."""
    if not isinstance(one, exp.Tuple) and not isinstance(other, exp.Tuple):
        return binds.function("=", one, other, at=at)
    sides = [side.expressions if isinstance(side, exp.Tuple) else [side] for side in (one, other)]
    if len(sides[0]) != len(sides[1]):
        raise QueryError("rows in brackets must have the same length", position=place(at), sqlstate="42601")
    tests: list[Node] = [binds.function("=", a, b, at=at) for a, b in zip(*sides, strict=True)]
    return reduce(lambda a, b: call("and", (a, b), "", place(at)), tests)


def compared(binds: Expressions, name: str, node: exp.Expression) -> Node:
    """A comparison, of two values or with every row of a sub-query."""
    every = node.expression
    if not isinstance(every, exp.All):
        return binds.function(name, node.this, every, at=node)
    return binds.subquery(ALL + name, every.this, (binds.node(node.this),), node)


def truth(binds: Expressions, node: exp.Expression) -> Node:
    """IS NULL, IS TRUE and their like."""
    if isinstance(node.expression, exp.Null):
        test = binds.function("is null", node.this, at=node)
        return call("not", (test,), "", place(node)) if node.args.get("negate") else test
    if node.args.get("negate"):
        raise QueryError("IS NOT needs NULL here", position=place(node), hint="Write NOT (x IS TRUE).")
    if isinstance(node.expression, exp.Boolean):
        test = binds.function("=", node.this, node.expression, at=node)
        return call("coalesce", (test, constant(False)), "", place(node))
    raise QueryError("IS needs NULL, TRUE or FALSE", position=place(node))


def in_range(binds: Expressions, node: exp.Expression) -> Node:
    """BETWEEN, and BETWEEN SYMMETRIC, whose ends may stand in either order."""
    if not node.args.get("symmetric"):
        return between(binds, node)
    ends = node.args["low"], node.args["high"]
    tests = [exp.Between(this=node.this, low=low, high=high) for low, high in (ends, ends[::-1])]
    return call("or", tuple(between(binds, test) for test in tests), "", place(node))


def distinct(binds: Expressions, node: exp.Expression) -> Node:
    """IS DISTINCT FROM, and IS NOT DISTINCT FROM."""
    test = binds.function("is distinct from", node.this, node.expression, at=node)
    return test if isinstance(node, exp.NullSafeNEQ) else call("not", (test,), "", place(node))


def like(binds: Expressions, node: exp.Expression) -> Node:
    """LIKE and NOT LIKE."""
    test = binds.function("like", node.this, node.expression, at=node)
    return call("not", (test,), "", place(node)) if node.args.get("negate") else test


def like_any_case(binds: Expressions, node: exp.Expression) -> Node:
    """ILIKE and NOT ILIKE."""
    test = binds.function("ilike", node.this, node.expression, at=node)
    return call("not", (test,), "", place(node)) if node.args.get("negate") else test


def escaped(binds: Expressions, node: exp.Expression) -> Node:
    """LIKE and ILIKE with a sign of escape: the same pattern with a backslash. SIMILAR TO with its own."""
    test, sign = node.this, node.expression
    if isinstance(test, exp.SimilarTo) and sign.is_string and len(sign.name) <= 1:
        return named_functions.similar_to(binds, test, sign.name)
    if not isinstance(test, exp.Like | exp.ILike) or not test.expression.is_string or not sign.is_string:
        raise QueryError("ESCAPE needs LIKE with a literal pattern", position=place(node))
    pattern = patterns.without_escape(test.expression.name, sign.name) if len(sign.name) <= 1 else None
    if pattern is None:
        raise QueryError(
            "ESCAPE needs a single character, and the pattern must not end with it",
            position=place(node),
            sqlstate="22025",
        )
    same = copied(test)
    same.set("expression", exp.Literal.string(pattern))
    return binds.node(same)


def case(binds: Expressions, node: exp.Expression) -> Node:
    """CASE in both forms."""
    args: list[Node] = []
    for branch in node.args["ifs"]:
        if node.this is None:
            args.append(binds.node(branch.this))
        else:
            args.append(binds.function("=", node.this, branch.this, at=branch))
        args.append(binds.node(branch.args["true"]))
    default = node.args.get("default")
    args.append(constant(None) if default is None else binds.node(default))
    return call("case", tuple(args), "", place(node))


def comparing(name: str) -> Build:
    """A comparison with its operator."""
    return lambda binds, node: compared(binds, name, node)


KINDS: dict[type[exp.Expression], Build] = {
    exp.Between: in_range,
    exp.In: among,
    exp.Is: truth,
    exp.NullSafeEQ: distinct,
    exp.NullSafeNEQ: distinct,
    exp.Like: like,
    exp.ILike: like_any_case,
    exp.Escape: escaped,
    exp.Case: case,
    **{
        kind: comparing(name)
        for kind, name in (
            (exp.EQ, "="), (exp.NEQ, "<>"), (exp.LT, "<"), (exp.LTE, "<="), (exp.GT, ">"), (exp.GTE, ">="),
        )
    },
}  # fmt: skip
"""The parser's nodes that are bound here."""
