"""Groups of nobody above a release: where they change a rank, an average or what LIMIT leaves.

Comes in: a public relation over releases, and what is shown of it. Goes out: a note, or None. Every combination of list
keys is a row of a release (semantics 3.6a), also where nobody is in it; plain SQL has no such rows. That is said by the
text and the policy alone, for whether a group is empty is private.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.algebra.group_keys import is_open
from sfumato.algebra.relations import (
    Filter,
    Grouped,
    Limited,
    Relation,
    Release,
    Windowed,
    below,
)
from sfumato.algebra.tree import Node, Sorted, columns_of
from sfumato.intervals.fine_numbers import column_of

_ADDED = ("sum", "bool_or")
"""What rows of nobody, with a count of about zero, do not change."""
_RANKS = ("rank", "dense_rank", "row_number")
"""What they do not change in other rows where they come last."""


def note(relation: Relation, order: tuple[Sorted, ...], limit: int | None) -> str | None:
    """What is said of a query whose ranks, averages over groups or LIMIT see groups of nobody."""
    touched = list(dict.fromkeys([*_limit(relation, order, limit), *_inside(relation)]))
    if not touched:
        return None
    return f"every declared group is a row, even an empty one, and counts in {' and '.join(touched)}"


def _inside(relation: Relation) -> Iterator[str]:
    """What in a public relation sees rows of nobody."""
    if isinstance(relation, Release) or relation.private:
        return
    if isinstance(relation, Windowed) and _dense(relation.below):
        for _, over in relation.windows:
            last = over.name in _RANKS and _largest_first(relation.below, over.order)
            if over.name not in _ADDED and not last:
                yield over.name.upper()
    if isinstance(relation, Grouped) and _dense(relation.below):
        yield from (one.name.upper() for _, one in relation.aggregates if one.name not in _ADDED)
    if isinstance(relation, Limited):
        yield from _limit(relation.below, relation.order, relation.limit)
    for part in below(relation):
        yield from _inside(part)


def _limit(relation: Relation, order: tuple[Sorted, ...], limit: int | None) -> Iterator[str]:
    """The first rows, where they may be those of nobody: not where the largest numbers come first."""
    numbers = bool(order) and _reads_numbers(relation, order[0].node)
    if limit is not None and numbers and not _largest_first(relation, order) and _dense(relation):
        yield "LIMIT"


def _largest_first(relation: Relation, order: tuple[Sorted, ...]) -> bool:
    """Whether groups of nobody come last."""
    return bool(order) and order[0].descending and _reads_numbers(relation, order[0].node)


def _dense(relation: Relation) -> bool:
    """Whether the rows are those of a release over list keys, and no condition on its numbers has left some out."""
    if isinstance(relation, Release):
        return bool(relation.keys) and not any(is_open(node, relation.below) for _, node in relation.keys)
    if isinstance(relation, Grouped) or relation.private:
        return False
    if isinstance(relation, Filter) and _reads_numbers(relation.below, relation.condition):
        return False
    return any(_dense(part) for part in below(relation))


def _reads_numbers(relation: Relation, node: Node) -> bool:
    """Whether an expression reads what was released, other than keys."""
    keys = {name for release in _releases(relation) for name, _ in release.keys}
    return any(column_of(name) not in keys for name in columns_of(node))


def _releases(relation: Relation) -> Iterator[Release]:
    if isinstance(relation, Release):
        yield relation
    else:
        for part in below(relation):
            yield from _releases(part)
