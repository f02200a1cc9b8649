"""Released numbers as they were drawn: what is computed from them is rounded once, where it is read.

Comes in: an expression over columns some of which have a fine column beside them. Goes out: the same over fine columns
(`finest`), or as it is read (`shown`). Arithmetic goes on with fine numbers; whatever asks which number it is (what is
shown, comparisons, orders, keys, DISTINCT, whole division) takes it on the grid of its type. So a total over a thousand
groups is the total of what was drawn, and no place sees another number than the one that is shown (semantics 4.3).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.base import SUMS
from sfumato.algebra.functions import call
from sfumato.algebra.job import FINE
from sfumato.algebra.tree import INTEGER, NULL, NUMBERS, Aggregate, Call, Column, Constant, Facts, Node
from sfumato.errors import QueryError

SETTLE = "settle"
"""The call that brings a fine number to the grid of its column; analysts have no word for it."""
_MARK = "~"
_ROOM = 66
"""Bits for one row's number on the fine grid: with 2^40 rows and a million groups it stays within the engine's 127."""
_CURVES = ("ln", "log10", "log", "exp", "sqrt", "cbrt", "power")
_CARRIED = ("+", "-", "*", "/", "negate", "abs", "round", "cast", "case", "coalesce", "nullif", "greatest", "least")

Columns = dict[str, Column]


def fine_name(name: str) -> str:
    """The column beside another that holds its number as it was drawn."""
    return name + _MARK


def column_of(name: str) -> str:
    """The column that a fine one stands beside; any other name is its own."""
    return name.removesuffix(_MARK)


def fine_grid(aggregate: Aggregate, alone: bool) -> Fraction | None:
    """The grid on which a released number is held above the cut, where that is not the grid of its column.

    2^-20 of a step is what weighted rows are counted in (semantics 3.1b); where numbers are so large that they might
    not fit, less. Persons with a single row each count whole, and so do different values and what is chosen.
    """
    grid, arg = aggregate.facts.grid, aggregate.arg
    if not aggregate.facts.exact or grid is None or AGGREGATES[aggregate.name].measure != SUMS:
        return None
    if alone and (arg is None or aggregate.name == "count_persons"):
        return None
    most = arg.facts.largest / grid if aggregate.name == "sum" and arg is not None else Fraction(1)
    bits = min(FINE.bit_length() - 1, _ROOM - int(most).bit_length())
    return grid / (1 << bits) if bits > 0 else None


def settled(node: Node, facts: Facts) -> Node:
    """A fine number on the grid of its column: the nearest, halves upward, as released numbers are shown."""
    return node if node.facts.grid == facts.grid else Call(SETTLE, (node,), facts, position=node.position)


# expressions
def finest(node: Node, columns: Columns) -> Node | None:
    """The expression over fine columns; None where it reads none, or asks which number it is."""
    if isinstance(node, Column):
        found = columns.get(fine_name(node.name))
        return None if found is None else replace(found, position=node.position)
    if not isinstance(node, Call) or not _carries(node):
        return None
    tested = range(0, len(node.args) - 1, 2) if node.name == "case" else ()
    found_args = [None if i in tested else finest(arg, columns) for i, arg in enumerate(node.args)]
    if not any(found_args):
        return None
    args = tuple(f or shown(arg, columns) for f, arg in zip(found_args, node.args, strict=True))
    if node.name == "nullif":
        equal = call("=", (shown(node.args[0], columns), shown(node.args[1], columns)))
        return None if found_args[0] is None else _made("case", (equal, Constant(None, Facts(NULL)), args[0]), node)
    return _made(node.name, args, node)


def _carries(node: Call) -> bool:
    """Whether a call goes on with fine numbers: whole division, whole casts and exact powers are of shown ones."""
    if node.facts.kind not in NUMBERS:
        return False
    if node.name in ("/", "cast") and node.facts.kind == INTEGER:
        return False
    return node.name in _CARRIED or (node.name in _CURVES and not node.facts.exact)


def _made(name: str, args: tuple[Node, ...], node: Call) -> Node | None:
    """The call over finer arguments, with the type that it had; None where its numbers might not fit.

    A product of two fine numbers comes out finer still: it is brought back to 2^-20 of its grid.
    """
    if not node.facts.exact or node.facts.grid is None:
        return Call(name, args, node.facts, node.extra, node.position)
    try:
        facts = call(name, args, node.extra, node.position).facts
    except QueryError:
        return None
    if not facts.exact or facts.grid is None:
        return None
    made = Call(name, args, replace(facts, kind=node.facts.kind), node.extra, node.position)
    enough = node.facts.grid / FINE
    return settled(made, replace(made.facts, grid=enough)) if facts.grid < enough else made


def shown(node: Node, columns: Columns) -> Node:
    """The expression as it is read: computed with fine numbers, then on the grid of its own type; a double has none."""
    if isinstance(node, Column | Constant):
        return node
    fine = finest(node, columns)
    if fine is not None:
        return settled(fine, node.facts) if node.facts.exact else fine
    if not isinstance(node, Call):
        return node
    args = tuple(shown(arg, columns) for arg in node.args)
    return node if args == node.args else replace(node, args=args)
