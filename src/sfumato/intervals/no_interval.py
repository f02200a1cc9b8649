"""Why a noisy column has no interval, in words: from the query alone, before any row is read.

Comes in: the relation in which a noisy column loses its origin. Goes out: a sentence. A number that is shown without an
interval and without such a sentence is exact (semantics 4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sfumato.algebra.group_keys import is_staged
from sfumato.algebra.relations import (
    RECURSIVE,
    Grouped,
    Join,
    MarkJoin,
    Projection,
    Relation,
    Release,
    SetOperation,
    Windowed,
)
from sfumato.algebra.tree import BOOLEAN, Node, columns_of

ROWS = "no interval: noise decides which rows are added up or counted"
ORDER = "no interval: noise decides the order of the rows"
EQUAL = "no interval: noise decides which rows are equal"
JOINED = "no interval: noise decides which rows are joined"
SOUGHT = "no interval: noise decides which rows are found"
STAGED = "no interval: a noisy number of this query decides which rows are counted"
TRUTH = "no interval: noisy numbers decide whether it is true"
REPEATED = "no interval: it comes from a recursion over noisy numbers"
FUNCTION = "no interval: none is known for this function of noisy numbers"

PICKED = "noise decides which rows come first and are kept: rows with close numbers may stand in each other's place"

_OTHER = {BOOLEAN: TRUTH}

Noisy = Callable[..., bool]
"""Whether any of these nodes reads what noise has touched, below a relation."""


def reason(old: Relation, name: str, why: Mapping[str, str], *, steady: bool, noisy: Noisy) -> str:  # noqa: PLR0911  one for each operator
    """Why nothing can be told of a column that this relation makes; `why` has those of the columns below it."""
    if isinstance(old, Release):
        return STAGED if is_staged(old) else reason_of(old.columns.get(name), {})
    if isinstance(old, SetOperation):
        return REPEATED if old.kind.startswith(RECURSIVE) else EQUAL
    if isinstance(old, Join):
        return JOINED
    if isinstance(old, MarkJoin):
        return SOUGHT
    if isinstance(old, Projection):
        return reason_of(dict(old.items).get(name), why)
    if isinstance(old, Grouped):
        aggregate = dict(old.aggregates).get(name)
        if aggregate is None:
            return EQUAL
        unsteady = not steady or noisy(aggregate.where, *(node for _, node in old.keys))
        return ROWS if unsteady else reason_of(aggregate.arg, why)
    if isinstance(old, Windowed):
        over = dict(old.windows)[name]
        if not steady:
            return ROWS
        by_noise = noisy(*over.partition, *(item.node for item in over.order))
        return ORDER if by_noise else reason_of(over.args[0] if over.args else None, why)
    return FUNCTION


def reason_of(node: Node | None, why: Mapping[str, str]) -> str:
    """Why nothing can be told of an expression: what is said of the first of its columns, else of the expression."""
    if node is None:
        return FUNCTION
    return next((why[name] for name in columns_of(node) if name in why), _OTHER.get(node.facts.kind, FUNCTION))
