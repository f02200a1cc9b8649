"""Public LEFT JOIN private: whether the public rows that meet nobody count in anything that is computed.

Comes in: the parser's tree of a SELECT, its last join, and which columns are of the private side. Goes out: whether the
join may be read as an inner one. Its groups are listed by the public side either way, so that a group of nobody has a
row with 0: what an outer join adds are rows with NULL in every private column, and these feed no aggregate here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from sqlglot import exp

_IsFar = Callable[[exp.Column], bool]
_STRICT = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Paren, exp.Cast, exp.Extract, exp.TimestampTrunc,
    exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift, exp.BitwiseRightShift,
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike, exp.Not,
    exp.Upper, exp.Lower, exp.Trim, exp.Abs, exp.Round, exp.Floor, exp.Ceil, exp.Distinct,
)  # fmt: skip
"""Of these the value is NULL where one part is."""
_SKIP_NULL = (
    exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance,
    exp.VariancePop, exp.Median,
)  # fmt: skip
_UNKNOWN: Final = object()


def count_in_nothing(join: exp.Join, is_far: _IsFar) -> bool:
    """Whether rows of the near side without a partner leave every group, and every number, as it is."""
    tree = join.parent
    if not isinstance(tree, exp.Select) or tree.args["joins"][-1] is not join or tree.args.get("distinct"):
        return False
    on, where, group = join.args.get("on"), tree.args.get("where"), tree.args.get("group")
    if on is None or not all(any(map(is_far, part.find_all(exp.Column))) for part in _conjuncts(on)):
        return False  # a condition on the public side alone would take groups away
    if where is not None and any(map(is_far, where.find_all(exp.Column))) and _drops(where.this, is_far) is False:
        return False
    if group is not None and any(map(is_far, group.find_all(exp.Column))):
        return False
    parts = [*tree.expressions, *(tree.args[word] for word in ("having", "order", "qualify") if tree.args.get(word))]
    aggregates = [node for part in parts for node in part.find_all(exp.AggFunc)]
    columns = (column for part in parts for column in part.find_all(exp.Column))
    outside = (column for column in columns if column.find_ancestor(exp.AggFunc, exp.Filter) is None)
    return bool(aggregates) and not any(map(is_far, outside)) and all(_skips(node, is_far) for node in aggregates)


def _conjuncts(node: Any) -> Iterator[Any]:
    if isinstance(node, exp.Paren):
        yield from _conjuncts(node.this)
    elif isinstance(node, exp.And):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.expression)
    else:
        yield node


def _drops(condition: Any, is_far: _IsFar) -> bool:
    """Whether a condition does not hold where the private columns are NULL."""
    return any(_alone(part, is_far) in (None, False) for part in _conjuncts(condition))


def _skips(node: Any, is_far: _IsFar) -> bool:
    """Whether an aggregate is the same without the rows that meet nobody."""
    if isinstance(node.parent, exp.Filter) and _drops(node.parent.expression.this, is_far):
        return True
    if not isinstance(node, _SKIP_NULL):
        return False
    value = _alone(node.this, is_far)
    return value is None or (isinstance(node, exp.Sum) and value == 0 and value is not False)


def _alone(node: Any, is_far: _IsFar) -> Any:  # noqa: C901, PLR0911  one line for each kind of expression
    """The value of an expression where the private columns are NULL; `_UNKNOWN` where the public ones matter."""
    if isinstance(node, exp.Column):
        return None if is_far(node) else _UNKNOWN
    if isinstance(node, exp.Literal):
        return int(node.this) if not node.is_string and node.this.isdigit() else node.this
    if isinstance(node, exp.Null | exp.Boolean):
        return node.this if isinstance(node, exp.Boolean) else None
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        value = _alone(node.this, is_far)
        return value if value is _UNKNOWN else (value is None) is not bool(node.args.get("negate"))
    if isinstance(node, exp.Not) and (value := _alone(node.this, is_far)) in (True, False):
        return not value
    if isinstance(node, exp.Case) and node.args.get("this") is None:
        if all(_drops(branch.this, is_far) for branch in node.args["ifs"]):
            return None if node.args.get("default") is None else _alone(node.args["default"], is_far)
        return _UNKNOWN
    if isinstance(node, exp.Coalesce):
        return next((v for part in (node.this, *node.expressions) if (v := _alone(part, is_far)) is not None), None)
    if isinstance(node, exp.Between) or (isinstance(node, exp.In) and not node.args.get("query")):
        return None if _alone(node.this, is_far) is None else _UNKNOWN
    if isinstance(node, _STRICT):
        parts = [part for part in node.iter_expressions() if not isinstance(part, exp.DataType | exp.Var)]
        return None if any(_alone(part, is_far) is None for part in parts) else _UNKNOWN
    return _UNKNOWN
