"""Trees made anew: nodes replaced, and what is known of the nodes above them worked out again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sfumato.algebra.functions import call
from sfumato.algebra.tree import Aggregate, Call, Node, Over, Sub, children, size
from sfumato.errors import QueryError
from sfumato.interrupts import step

_LARGEST = 2000
"""Nodes of one expression, sub-queries written out: beyond it a chain of sub-queries could double without end."""

Change = Callable[[Node], Node | None]
"""The node that stands for another, or None to look below it."""


def rewrite(node: Node, change: Change) -> Node:
    """The tree with every node that `change` replaces."""
    step()
    replaced = change(node)
    if replaced is not None:
        return replaced
    if isinstance(node, Call):
        args = tuple(rewrite(arg, change) for arg in node.args)
        return node if args == node.args else call(node.name, args, node.extra, node.position)
    if isinstance(node, Aggregate):
        arg = None if node.arg is None else rewrite(node.arg, change)
        second = None if node.second is None else rewrite(node.second, change)
        return replace(node, arg=arg, second=second, where=None if node.where is None else rewrite(node.where, change))
    if isinstance(node, Over):
        return replace(
            node,
            args=tuple(rewrite(arg, change) for arg in node.args),
            partition=tuple(rewrite(arg, change) for arg in node.partition),
            order=tuple(replace(item, node=rewrite(item.node, change)) for item in node.order),
        )
    if isinstance(node, Sub):
        operand = None if node.operand is None else rewrite(node.operand, change)
        return replace(node, on=tuple(rewrite(part, change) for part in node.on), operand=operand)
    return node


def collect(node: Node, kind: type[Node], found: list[Node]) -> None:
    """The topmost nodes of a kind, each once, in the order in which they are met."""
    step()
    if isinstance(node, kind):
        if node not in found:
            found.append(node)
        return
    for child in children(node):
        collect(child, kind, found)


def bounded(node: Node) -> Node:
    """The node, if it has not grown beyond measure."""
    if size(node) > _LARGEST:
        raise QueryError(
            "this expression is too large once its sub-queries are written out",
            position=node.position,
            sqlstate="54001",
            hint="Split it into several queries.",
        )
    return node
