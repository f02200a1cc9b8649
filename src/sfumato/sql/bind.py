"""The second room: names become columns of the policy, and a SELECT becomes a tree of relations with the cut in it.

Comes in: the parser's tree and the policy. Goes out: a Question: a public relation and what is shown of it. Refuses
names that the policy does not have (42703, 42P01) and what would show a person's row (42501, 0A000). Going up from the
tables, everything is private until an aggregate stops carrying the person; from there on it is public (semantics 2.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from sqlglot import exp

from sfumato.errors import QueryError
from sfumato.policy import Policy
from sfumato.sql import hints
from sfumato.sql.bound import Bound, Look
from sfumato.sql.carried import carried
from sfumato.sql.origins import Origin
from sfumato.sql.parse import parse, place
from sfumato.sql.queries import Binder
from sfumato.sql.relations import Relation, Release, releases_in
from sfumato.sql.running import totals_in, wholes_in
from sfumato.sql.traced import trace
from sfumato.sql.tree import PERSON, Column, Node, Sorted
from sfumato.words import identifier


@dataclass(frozen=True)
class Question:
    """What is asked, resolved: a public relation, what is shown of it, in which order, and how much."""

    relation: Relation
    items: tuple[tuple[str, Node], ...]
    order: tuple[Sorted, ...]
    limit: int | None
    offset: int
    computed: tuple[Node, ...]
    """The items as they are computed: with released numbers as they were drawn, rounded once (see `fine`)."""
    traced: Relation
    """The relation with hidden columns, for intervals (see `traced`)."""
    origins: tuple[Origin | None, ...]
    """What each noisy item is made of; None for what is public, and where nothing can be told."""
    traces: tuple[Node, ...]
    """The slots of the origins."""

    @property
    def releases(self) -> list[Release]:
        """The cuts, those that another needs before it."""
        return releases_in(self.relation)


def bind(
    tree: exp.Query,
    policy: Policy,
    today: date,
    look: Look | None = None,
    *,
    views: dict[str, str] | None = None,
    stored: frozenset[str] = frozenset(),
) -> Question:
    """The question that the tree asks under this policy: what is at the top must be public.

    `stored` are tables that the engine keeps as their scans would give them.
    """
    bound = Binder(policy, today, look, views or {}, stored).query(tree, {}, None)
    if bound.relation.private:
        raise _would_show_rows(tree, bound)
    relation, order, computed = carried(bound.relation, bound.order, bound.items)
    runs = [
        name for found in (totals_in(relation), wholes_in(relation)) for kept in found.values() for name, *_ in kept
    ]
    traced, origins, traces = trace(relation, [node for _, node in bound.items], runs)
    return Question(relation, bound.items, order, bound.limit, bound.offset, computed, traced, origins, traces)


def _would_show_rows(tree: exp.Query, bound: Bound) -> QueryError:
    """Why a private relation is no answer."""
    first = place(tree.expressions[0]) if tree.expressions else 0
    starred = [
        item
        for item in tree.expressions
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))
    ]
    shown = [node.position for _, node in bound.items if isinstance(node, Column) and node.unit == PERSON]
    keys = [node for group in tree.find_all(exp.Group) for node in group.expressions]
    what, position = "the rows of persons", place(keys[0]) if keys else first
    if shown and not starred:
        what, position = "persons", shown[0] or position
    return QueryError(
        f"this question would show {what}",
        position=position,
        sqlstate="42501",
        hint=hints.aggregate_it(tree, bound.relation),
    )


def refused_views(policy: Policy, views: dict[str, str], look: Look) -> Iterator[tuple[str, QueryError]]:
    """Views that would be refused in every question about them, with the refusal (semantics 1.1)."""
    for name in views:
        try:
            bind(parse(f"SELECT COUNT(*) FROM {identifier(name)}"), policy, date(2000, 1, 1), look, views=views)
        except QueryError as refused:
            yield name, refused
