"""Planning: what an answer will cost and how it is made, before any data is touched.

Comes in: a Question. Goes out: a Plan: its cuts in the order in which they run, the Event that is debited, and the
digest that makes two questions the same one. A question with several releases divides its epsilon equally among them:
the whole price is fixed before the first (semantics 2.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.accounting import Event, Together
from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.base import CHOICE
from sfumato.algebra.group_keys import check_groups, is_open
from sfumato.algebra.public_rows import PublicRows
from sfumato.algebra.relations import Release
from sfumato.algebra.tree import Column
from sfumato.errors import QueryError
from sfumato.intervals.no_interval import PICKED, STAGED
from sfumato.intervals.prefix_sums import read_as_totals, totals_in, wholes_in
from sfumato.policy import Policy, Unknown
from sfumato.sql.query_binding import BoundQuery
from sfumato.sql.release import empty_groups
from sfumato.sql.release.bundles import bundles_of
from sfumato.sql.release.digest import Layout, digest
from sfumato.sql.release.impossible import nobody
from sfumato.sql.release.partition import cells_of
from sfumato.sql.release.release_plan import GAUSSIAN, GEOMETRIC, ReleasePlan, ReleaseTerms
from sfumato.sql.release.releases import cut


@dataclass(frozen=True)
class Plan:
    """Everything about a question that is known before any data is touched."""

    question: BoundQuery
    epsilon: Fraction
    noise: str
    cuts: tuple[ReleasePlan, ...]
    event: Event | None
    cells: tuple[str, ...] | None
    digest: str
    layout: Layout | None
    """The order in which released numbers are stored; None where it is the plan's own, as under first digests."""
    notes: tuple[tuple[str | None, str], ...]
    missing: tuple[Unknown, ...] = ()
    """Bounds that are to be found first: this plan was made with stand-ins for them, and is not to be run."""

    def cut_of(self, release: Release) -> ReleasePlan:
        """The cut of a release."""
        return next(part for part in self.cuts if part.release is release)


def plan(
    question: BoundQuery,
    policy: Policy,
    epsilon: Fraction,
    rows_per_unit: int | None = None,
    *,
    noise: str | None = None,
    rows: PublicRows,
) -> Plan:
    """How this question is answered for this epsilon; the analyst may lower the rows that count per person."""
    law = noise_of(policy, noise)
    if law == GAUSSIAN and policy.privacy.composition == "pure":
        raise QueryError(
            "Gaussian noise has no epsilon, and this policy counts in epsilon",
            hint='Use noise = "geometric".',
        )
    releases = question.releases
    count = max(1, sum(pays(release) for release in releases))
    each = epsilon / count if law == GEOMETRIC else _equal_rho(epsilon, count)
    terms = ReleaseTerms(each, law, policy.privacy.query_delta / count, rows_per_unit)
    totals, wholes = totals_in(question.relation), wholes_in(question.relation)
    read = (*question.computed, *(item.node for item in question.order))
    orders = read_as_totals(question.relation, read, totals)
    made: list[ReleasePlan] = []
    for release in releases:
        above = (*totals.get(release, ()), *wholes.get(release, ()))
        made.append(cut(release, policy, terms, rows, totals=above, orders=orders))
        check_groups(sum(len(part.groups) for one in made for part in one.parts))
    cuts = tuple(made)
    events = [event for part in cuts for event in part.events]
    event: Event | None = None
    if events:
        event = events[0] if len(events) == 1 else Together(tuple(events))
    empty = empty_groups.note(question.relation, question.order, question.limit) if events else None
    picked = PICKED if events and question.picked and any(release.keys for release in releases) else None
    more = tuple((None, words) for words in (empty, picked) if words is not None)
    bare = _without_interval(question, cuts) if events else ()
    notes = tuple(dict.fromkeys((*(note for part in cuts for note in part.notes), *more, *bare)))
    cells = cells_of(releases, policy, rows)
    return Plan(question, epsilon, law, cuts, event, cells, *digest(policy, law, cuts), notes)


def _without_interval(question: BoundQuery, cuts: tuple[ReleasePlan, ...]) -> tuple[tuple[str | None, str], ...]:
    """Why columns have no interval, for those that are noisy; of a choice by rank something else is said."""
    sources = {name: (aggregate, source) for part in cuts for name, aggregate, source in part.sources}
    notes = []
    for (name, node), why in zip(question.items, question.why_no_interval, strict=True):
        aggregate, source = sources.get(node.name, (None, None)) if isinstance(node, Column) else (None, None)
        constant = source is not None and source.bundle < 0
        ranked = aggregate is not None and AGGREGATES[aggregate.name].measure == CHOICE and why != STAGED
        if why is not None and not constant and not ranked:
            notes.append((name, why))
    return tuple(notes)


def noise_of(policy: Policy, noise: str | None) -> str:
    """The noise that was asked for, or the policy's own."""
    return noise or (GAUSSIAN if policy.privacy.composition == "zcdp" else GEOMETRIC)


def pays(release: Release) -> bool:
    """Whether a release spends anything: a list of keys by itself is a constant of the schema."""
    opened = not nobody(release) and any(is_open(node, release.below) for _, node in release.keys)
    return opened or any(source.bundle >= 0 for _, _, source in bundles_of(release).sources)


def _equal_rho(epsilon: Fraction, count: int) -> Fraction:
    """The epsilon whose rho, count times, is at most that of the whole: rounded down, to twelve digits."""
    if count == 1:
        return epsilon
    scaled = 10**12
    low, high = 0, scaled
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count * middle * middle <= scaled * scaled else (low, middle)
    return epsilon * low / scaled
