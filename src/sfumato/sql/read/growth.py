"""How long a statement may become while it is read: what is copied is counted before it is.

Comes in: a node of the parser's tree. Goes out: a copy of it, or a refusal. Shorthands inside of shorthands multiply,
and so do a name that stands for much and is used often, and names that stand for each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sfumato.errors import QueryError
from sfumato.interrupts import step

MOST_NODES = 10_000
"""Nodes by which a statement may grow, beside `FOR_EACH` for each that it has; and those of one that is repeated."""
FOR_EACH = 4


class Growth:
    """How much longer one statement may become in all."""

    def __init__(self, nodes: int) -> None:
        self.room = MOST_NODES + FOR_EACH * nodes

    def take(self, nodes: int) -> None:
        """Refuse what makes the statement too long, before it is made."""
        self.room -= nodes
        if self.room < 0:
            raise _too_long()

    def replaced(self, room: int, node: Any, longer: Any) -> None:
        """What a node is replaced by counts as far as it is longer; what was copied for it does not count again."""
        self.room = room
        self.take(max(0, size(longer) - size(node)))


_current: ContextVar[Growth | None] = ContextVar("growth", default=None)


@contextmanager
def growing(nodes: int) -> Iterator[Growth]:
    """What is copied in this block makes a statement of so many nodes longer."""
    growth = Growth(nodes)
    token = _current.set(growth)
    try:
        yield growth
    finally:
        _current.reset(token)


def copied(node: Any) -> Any:
    """A copy, within the room of its statement.

    Guarantee: a statement grows by at most `MOST_NODES` nodes, and `FOR_EACH` for each that it has, and no two copies
        are made without a step of planning between them.
    Proof: here is the only place of sql/ that copies nodes of a statement, and the copy is counted before it is made.
    Reference: docs/threats.md, Availability.
    Checked by: unit::nothing_is_copied_without_being_counted, unit::whatever_is_rewritten_has_room_for_so_many_nodes
    """
    step()
    growth = _current.get()
    if growth is not None:
        growth.take(size(node))
    return node.copy()


def check_copies(node: Any, times: int) -> None:
    """Refuse to write an expression out so often: shorthands inside of shorthands multiply."""
    if times * size(node) > MOST_NODES:
        raise _too_long()


def size(node: Any) -> int:
    """The nodes of a part of a statement."""
    return sum(1 for _ in node.walk())


def _too_long() -> QueryError:
    return QueryError(
        "this query is too long when its functions are written out",
        sqlstate="54001",
        hint="Nest fewer functions, or name parts of them in a sub-query.",
    )
