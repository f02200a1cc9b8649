"""Binding as a whole: names become columns of the policy, and a SELECT becomes a tree of relations with its releases.

Comes in: the parser's tree and the policy. Goes out: a Question: a public relation and what is shown of it. Refuses
names that the policy does not have (42703, 42P01) and what would show a person's row (42501, 0A000). Going up from the
tables, everything is private until an aggregate stops carrying the person; from there on it is public (semantics 2.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from sqlglot import exp

from sfumato.algebra.functions import call
from sfumato.algebra.functions.interval_ends import without_ends
from sfumato.algebra.interval_values import shown
from sfumato.algebra.post_processing import PostProcessing
from sfumato.algebra.public_rows import PublicRows
from sfumato.algebra.relations import Relation, Release, releases_in
from sfumato.algebra.tree import INTERVAL, PERSON, Column, Node, Sorted
from sfumato.errors import QueryError
from sfumato.intervals.fine_columns import carried
from sfumato.intervals.prefix_sums import totals_in, wholes_in
from sfumato.intervals.provenance import Origin
from sfumato.intervals.row_provenance import trace
from sfumato.policy import Policy
from sfumato.sql.bind import casts_and_times, hints
from sfumato.sql.bind.bound_query import Bound
from sfumato.sql.bind.constants import constant
from sfumato.sql.bind.empty import without_rows
from sfumato.sql.bind.nearest_statement import mended
from sfumato.sql.bind.queries import Binder
from sfumato.sql.bind.schemas import without_schema
from sfumato.sql.bind.zoned_values import mark_zones
from sfumato.sql.read.parser import parse, place
from sfumato.types import identifier


@dataclass(frozen=True)
class BoundQuery:
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
    why_no_interval: tuple[str | None, ...] = ()
    """Of each item that is noisy and has no interval in any row, the reason; None for all others."""
    ends: tuple[tuple[int, str, Origin | None], ...] = ()
    """Which items show an end of an interval instead of their number, and what that number is made of."""
    picked: bool = False
    """Whether rows are left out by their place in an order of noisy numbers."""

    @property
    def post_processing(self) -> PostProcessing:
        """What an engine computes above the releases: each item's value, then what intervals need of the row."""
        return PostProcessing(self.traced, (*self.computed, *self.traces), self.order, self.limit, self.offset)

    @property
    def releases(self) -> list[Release]:
        """The cuts, those that another needs before it."""
        return releases_in(self.relation)


def bind(
    tree: exp.Query,
    policy: Policy,
    today: date,
    look: PublicRows | None = None,
    *,
    views: dict[str, str] | None = None,
    stored: frozenset[str] = frozenset(),
    keeper: PublicRows | None = None,
) -> BoundQuery:
    """The question that the tree asks under this policy: what is at the top must be public.

    `stored` are tables that the engine keeps as their scans would give them; `keeper` computes public sub-queries that
    private rows meet. Without it they are part of what is run.
    """
    tree = without_schema(tree, policy)
    mark_zones(tree, policy)

    def make(of: exp.Query) -> BoundQuery:
        return _question(of, Binder(policy, today, look, views or {}, stored, keeper))

    def refusal(of: exp.Query) -> QueryError | None:
        try:
            make(of)
        except QueryError as error:
            return error
        return None

    try:
        return make(tree)
    except QueryError as refused:
        if hints.may_be_nearer(refused.hint):
            nearest = mended(tree, policy, refusal)
            refused.hint = refused.hint if nearest is None else hints.answered(nearest)
        raise


def _question(tree: exp.Query, binder: Binder) -> BoundQuery:
    bound = binder.query(tree, {}, None)
    bound = without_rows(bound) or bound
    bound = replace(bound, items=tuple((name, _printed(node)) for name, node in bound.items))
    if bound.relation.private:
        raise _would_show_rows(tree, bound)
    return question_of(bound)


def question_of(bound: Bound) -> BoundQuery:
    """A query that is public at its top, with what intervals are computed from."""
    shown, places = without_ends(bound.items)
    by_number = tuple(replace(s, node=without_ends((("", s.node),))[0][0][1]) for s in bound.order)
    bound = replace(bound, items=shown, order=by_number)
    relation, order, computed = carried(bound.relation, bound.order, bound.items)
    runs = [
        name for found in (totals_in(relation), wholes_in(relation)) for kept in found.values() for name, *_ in kept
    ]
    first = [] if bound.limit is None and not bound.offset else [item.node for item in bound.order]
    traced = trace(relation, [node for _, node in bound.items], runs, first)
    ends = tuple((i, word, traced.origins[i]) for i, word in places)
    told = tuple(None if i in dict(places) else of for i, of in enumerate(traced.origins))
    return BoundQuery(
        relation,
        bound.items,
        order,
        bound.limit,
        bound.offset,
        computed,
        traced.relation,
        told,
        traced.slots,
        traced.why,
        ends,
        traced.picked,
    )


def _printed(node: Node) -> Node:
    """An interval as the text that PostgreSQL prints; everything else as it is."""
    if node.facts.kind != INTERVAL:
        return node
    span = casts_and_times.span_of(node)
    if span is not None:
        return _as_interval(shown(span), node.position)
    return call("interval_text", (node,), "", node.position)


def _as_interval(text: str, position: int) -> Node:
    written = constant(text, position)
    return replace(written, facts=replace(written.facts, every=INTERVAL))


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
    what, position = "rows of individual people", place(keys[0]) if keys else first
    if shown and not starred:
        what, position = "identifiers of individual people", shown[0] or position
    return QueryError(
        f"this query would return {what}; only aggregates are allowed",
        position=position,
        sqlstate="42501",
        hint=hints.aggregate_it(tree, bound.relation),
    )


def refused_views(policy: Policy, views: dict[str, str], look: PublicRows) -> Iterator[tuple[str, QueryError]]:
    """Views that would be refused in every question about them, with the refusal (semantics 1.1)."""
    for name in views:
        try:
            bind(parse(f"SELECT COUNT(*) FROM {identifier(name)}"), policy, date(2000, 1, 1), look, views=views)
        except QueryError as refused:
            yield name, refused
