"""The first version of digests, by the engine's SQL: answers that were stored under one are found again.

Comes in: the cuts of a plan. Goes out: the digest that versions before the normal form gave it. Nothing new is stored
under such a digest, but a better answer is drawn from one that is.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato.algebra.relations import (
    Distinct,
    Filter,
    Fixed,
    Grouped,
    Join,
    Limited,
    MarkJoin,
    Projection,
    Relation,
    SetOperation,
    UnionAll,
    Windowed,
)
from sfumato.algebra.tree import Aggregate
from sfumato.engines.duckdb.jobs import JobWriter
from sfumato.mechanisms import OrderStatistic
from sfumato.policy import Policy
from sfumato.sql.release.bundles import BundleSource, as_json, bundles_of
from sfumato.sql.release.release_plan import GAUSSIAN, GroupingSetPlan, ReleasedBundle, ReleasePlan


def first_digest(policy: Policy, noise: str, cuts: tuple[ReleasePlan, ...]) -> str:
    """What makes two questions the same one: the private part with its bounds, not the text (semantics 5.4).

    A later stage reads what an earlier one released under its name: the constants of a stage are in the answer itself.
    """
    sources = [_source(name, aggregate, source) for cut in cuts for name, aggregate, source in cut.sources]
    parts = [_part(cut, part) for cut in cuts for part in cut.parts]
    document = _list(as_json(policy.digest), as_json(noise), as_json(sources), _list(*parts))
    return hashlib.sha256(document.encode()).hexdigest()


def _source(name: str, aggregate: Aggregate, source: BundleSource) -> list[Any]:
    """Where a number comes from; of a mean of what never changes, what that is: a later stage may depend on it."""
    constant = [] if source.formula.name != "constant" or aggregate.arg is None else [str(aggregate.arg.facts.low)]
    return [name, source.bundle, source.formula.name, *constant]


def _list(*texts: str) -> str:
    """A list of JSON, as the library writes it: the groups of a question are written once (see `listed`)."""
    return f"[{', '.join(texts)}]"


def _part(cut: ReleasePlan, part: GroupingSetPlan) -> str:
    """One grouping set: its statements as they were written then, its groups, and what each number is."""
    made, job = bundles_of(cut.release), part.job
    release = replace(cut.release, below=_inlined(cut.release.below))
    writer = JobWriter(release, job.limits, part.kept, part.chosen, made.bundles, job.clip, made.extras)
    sums, people = writer.sums().text if made.bundles else None, writer.people().text if part.chosen else None
    numbers = [
        [str(released.sensitivity), str(released.unit), _extra(released, writer), *_running(part, released)]
        for released in part.bundles
    ]
    return _list(
        as_json([part.kept, part.chosen, sums, people]),
        part.words,
        as_json(numbers),
        as_json([str(part.share / _whole(cut)), None if part.selection is None else str(part.selection.delta)]),
    )


def _extra(released: ReleasedBundle, writer: JobWriter) -> list[str] | None:
    """What is not a sum: which aggregate, of what, among which candidates."""
    extra = released.extra
    if extra is None:
        return None
    text = writer.not_summed(extra.aggregate).text
    steps = [as_json(extra.steps)] if extra.steps else []  # answers that were stored before chose among all places
    found = [extra.aggregate.name, extra.aggregate.extra, text, str(extra.low), str(extra.high), *steps]
    return [*found, "since intervals"] if isinstance(extra.law, OrderStatistic) else found


def _running(part: GroupingSetPlan, released: ReleasedBundle) -> list[list[str]]:
    """That noise is on running totals, and on which sums of groups: another answer than noise on every group."""
    if released.running is None:
        return []
    return [released.running.text([len(track) for track in released.running.reading.tracks(part.groups)])]


def _whole(cut: ReleasePlan) -> Fraction:
    return cut.terms.rho if cut.terms.noise == GAUSSIAN else cut.terms.epsilon


def _inlined(relation: Relation) -> Relation:
    """The same relation with public sub-queries where they are read, instead of rows that were computed."""
    if isinstance(relation, Fixed):
        return _inlined(relation.below)
    if isinstance(relation, Join):
        return replace(relation, left=_inlined(relation.left), right=_inlined(relation.right))
    if isinstance(relation, MarkJoin):
        return replace(relation, below=_inlined(relation.below), right=_inlined(relation.right))
    if isinstance(relation, UnionAll | SetOperation):
        return replace(relation, parts=tuple((_inlined(part), nodes) for part, nodes in relation.parts))
    if isinstance(relation, Filter | Projection | Grouped | Windowed | Distinct | Limited):
        return replace(relation, below=_inlined(relation.below))
    return relation
