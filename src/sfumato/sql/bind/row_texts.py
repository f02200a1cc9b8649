"""COUNT(DISTINCT (a, b)): a row as one text, which tells different rows apart.

Comes in: the parser's row and what binds its parts. Goes out: a text that two rows share only if each part of one is
not distinct from that of the other. A part ends with a comma. Before it stands nothing for NULL, the digits, the word
or the moment of a number, a truth or a time, which have no comma; a text stands after its length and a colon, so that
whatever it holds belongs to it. The text is made of functions that there are, so it is total, as long as its parts
together and a few signs, and the same in every engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from sfumato.algebra.functions import call
from sfumato.algebra.tree import DECIMAL, DOUBLE, INTEGER, NULL, TEXT, Node
from sfumato.errors import QueryError
from sfumato.sql.bind.casts_and_times import as_text
from sfumato.sql.bind.constants import constant
from sfumato.sql.read.parser import place

if TYPE_CHECKING:
    from sfumato.sql.bind.named_functions import Binds


def row_text(binds: Binds, row: exp.Tuple) -> Node:
    """One text for a row; never NULL, for a row of NULLs is a row."""
    parts: list[Node] = []
    for part in row.expressions:
        found = row_text(binds, part) if isinstance(part, exp.Tuple) else _part(binds.node(part))
        parts += [found, constant(",", place(row))]
    return call("concat", tuple(parts), "", place(row))


def _part(value: Node) -> Node:
    """A text without a comma, or one that says how long it is; NULL for NULL."""
    at, kind = value.position, value.facts.kind
    if kind == NULL:
        return constant("", at)
    if kind == DOUBLE:
        hint = "Write ROUND(x, 2)."
        raise QueryError("COUNT(DISTINCT …) needs exact values, but this is a double", position=at, hint=hint)
    if kind == DECIMAL:
        return as_text(_steps(value))
    if kind != TEXT:
        return as_text(value)
    size = call("cast", (call("length", (value,), "", at),), TEXT, at)
    return call("||", (call("||", (size, constant(":", at)), "", at), value), "", at)


def _steps(value: Node) -> Node:
    """A decimal as the number of its steps."""
    at, grid = value.position, value.facts.grid
    assert grid is not None
    whole = call("cast", (call("*", (value, constant(1 / grid, at)), "", at),), INTEGER, at)
    if not value.facts.bounded or whole.facts.nullable > value.facts.nullable:
        raise QueryError(
            "COUNT(DISTINCT …) of rows needs decimals that are bounded, and of at most 18 digits",
            position=at,
            hint="Declare min and max in the policy, or write CAST(x AS numeric(18, 2)).",
        )
    return whole
