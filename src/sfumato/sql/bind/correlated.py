"""Sub-queries about the row around them: what they may say of it, and what they are where nothing fits it.

Comes in: a bound sub-query of an expression. Goes out: the same, fit to become a join and a column (see `queries`), or
a refusal. SQL says the condition on the row around first, and everything else of the sub-query after it; here it is
the condition of a join, and applied last. So whatever would see the difference is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sfumato.algebra.functions import call
from sfumato.algebra.relations import Relation, named
from sfumato.algebra.tree import Call, Column, Node, Over
from sfumato.errors import Obstacle, QueryError
from sfumato.sql.bind.bound_query import Bound, FreshNumbers
from sfumato.sql.bind.constants import constant
from sfumato.sql.bind.joins import unmatched
from sfumato.sql.bind.rewrite import rewrite


def tied(kind: str, bound: Bound, position: int) -> Bound:
    """A sub-query of this kind (exists, in, value) that says the same when the row around comes last."""
    if kind == "exists" and bound.limit and not bound.offset:
        bound = replace(bound, limit=None)  # one row is enough
    if bound.on and (bound.limit is not None or bound.offset):
        raise QueryError(
            "LIMIT is not supported in a correlated sub-query",
            position=position,
            hint="Aggregate it: (SELECT MIN(x) FROM …).",
        )
    if bound.on and bound.whole and kind != "value":
        raise QueryError(
            f"{kind.split(maxsplit=1)[0].upper()} of a correlated aggregate is not supported: it always has one row",
            position=position,
            hint="Write x = (SELECT MAX(y) FROM …), or EXISTS (SELECT 1 FROM …).",
        )
    return bound


def check_windows(overs: Iterable[Over], on: Iterable[Node]) -> None:
    """A window looks at the rows that fit the row around it only where its partition says which these are."""
    for over, part in ((over, part) for over in overs for part in on):
        sides = part.args if isinstance(part, Call) and part.name == "=" else ()
        if not any(side in over.partition for side in sides):
            raise QueryError(
                "a window in a correlated sub-query would read other rows too",
                position=over.position,
                hint="Put the correlated columns into PARTITION BY.",
                obstacle=Obstacle.WINDOW,
            )


def inside(bound: Bound, numbers: FreshNumbers) -> Bound:
    """The value as a column of the rows inside: where there is no row it is NULL, whatever it is made of."""
    (name, value), relation = bound.items[0], bound.relation
    if isinstance(value, Column):
        return bound
    inner = f"{numbers.next()}.value"
    shown = named(relation, [*relation.columns.items(), (inner, value)])
    return replace(bound, relation=shown, items=((name, shown.columns[inner]),))


def value_around(value: Node, inner: Relation, counts: frozenset[str], number: int) -> Node:
    """The value of a sub-query as the row around it has it: NULL where nothing is found, but 0 for a count."""

    def change(node: Node) -> Node | None:
        if not isinstance(node, Column):
            return None
        found = unmatched(node, number, "r") if node.name in inner.columns else node
        return call("coalesce", (found, constant(0))) if node.name in counts else found

    return rewrite(value, change)
