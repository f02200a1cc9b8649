"""Conditions that stand in every branch of an OR, taken out of it: a join then sees the keys that it is on.

Comes in: a condition as it was parsed. Goes out: an equal one: (a AND x) OR (a AND y) is a AND (x OR y).

Guarantee: the condition has the same value, TRUE, FALSE or NULL, in every row.
Proof: the logic of three values is a distributive lattice: AND is the least and OR the largest of FALSE < NULL < TRUE.
    Parts are taken out only where they are the same tree without a sub-query, and no function here has chance in it.
Reference: Kleene, 1938; semantics 2.2.
Checked by: laws::factoring_keeps_every_truth
"""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from sfumato.sql.read.growth import copied


def factored(node: exp.Expression) -> exp.Expression:
    """The condition with common parts of alternatives taken out; the node itself where there are none."""
    if isinstance(node, exp.Where):
        inner = factored(node.this)
        return node if inner is node.this else exp.Where(this=inner)
    if isinstance(node, exp.Paren | exp.And):
        parts = _parts(node, exp.And)
        changed = [factored(part) if isinstance(part, exp.Or) else part for part in parts]
        return node if all(a is b for a, b in zip(parts, changed, strict=True)) else _all(changed)
    if not isinstance(node, exp.Or):
        return node
    branches = [_parts(branch, exp.And) for branch in _parts(node, exp.Or)]
    common = [part for part in branches[0] if not part.find(exp.Query) and all(part in branch for branch in branches)]
    if not common:
        return node
    rests = [[part for part in branch if part not in common] for branch in branches]
    if not all(rests):
        return _all(common)
    either = reduce(lambda a, b: exp.Or(this=a, expression=b), map(_all, rests))
    return _all([*common, exp.Paren(this=either)])


def _parts(node: exp.Expression, kind: type[exp.Connector]) -> list[exp.Expression]:
    """The operands of a chain of AND or OR, without their brackets, from left to right."""
    found, left = list[exp.Expression](), [node]
    while left:
        part = left.pop()
        if isinstance(part, exp.Paren):
            left.append(part.this)
        elif isinstance(part, kind):
            left += [part.expression, part.this]
        else:
            found.append(part)
    return found


def _all(parts: list[exp.Expression]) -> exp.Expression:
    copies = [exp.Paren(this=copied(part)) if isinstance(part, exp.Or) else copied(part) for part in parts]
    return reduce(lambda a, b: exp.And(this=a, expression=b), copies)
