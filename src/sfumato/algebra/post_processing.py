"""What lies above the releases, as an engine runs it: rows of a public relation, what is computed of each, their order.

Comes in: nothing; it is a value. Goes out: the same. It is post-processing of released numbers, and free.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.algebra.relations import Relation
from sfumato.algebra.tree import Node, Sorted


@dataclass(frozen=True)
class PostProcessing:
    """Values of each row of a public relation, sorted, from `offset` on, at most `limit` rows."""

    relation: Relation
    values: tuple[Node, ...]
    order: tuple[Sorted, ...]
    limit: int | None
    offset: int
