"""Numbers that the engine holds to their bounds before it adds them up.

Comes in: a job. Goes out: the same, where every number that is summed or ranked and that is not
a column of an enforced scan is clamped, in the engine, to the bounds that its price rests on. Interval arithmetic over
expressions sets those bounds; were it wrong, an answer would be biased, and no person would count for more.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.base import DISTINCT
from sfumato.algebra.job import Job
from sfumato.algebra.relations import Relation, Release, named, scans_in
from sfumato.algebra.tree import Aggregate, Call, Column, Constant, Node
from sfumato.sql.bind.rewrite import rewrite


def held(job: Job, arguments: tuple[frozenset[Node], ...]) -> Job:
    """The job whose computed numbers are columns of their own, clamped to their bounds where they are read.

    `arguments` are those of each bundle: its parts read these, and no other number that looks like a piece of them.

    Guarantee: whatever rows there are, a number that is summed or ranked lies between the bounds of its facts, or is
        NULL; where interval arithmetic is right, nothing changes.
    Proof: a bare column of a scan is clamped there (semantics 1.4); every other argument of such an aggregate becomes a
        column, which is clamped, and each part reads that. The parts of a mean or a variance are functions of that one
        clamped number, so their sizes add up to the bundle's length.
    Reference: semantics 1.4, 3.1, 3.2.
    Checked by: laws::wrong_bounds_of_an_expression_cost_no_privacy, laws::without_the_clamp_they_would
    """
    numbers = _numbers(job.release)
    if not numbers:
        return job
    below, number = job.release.below, job.release.number
    columns = list(below.columns.items())
    raw = {node: Column(f"{number}.raw{i}", node.facts) for i, node in enumerate(numbers)}
    read: dict[Node, Node] = {node: Column(f"{number}.held{i}", node.facts) for i, node in enumerate(numbers)}
    computed = named(below, [*columns, *((raw[node].name, node) for node in numbers)])
    clamped = named(computed, [*columns, *((f"{number}.held{i}", _clamp(raw[n])) for i, n in enumerate(numbers))])
    bundles = []
    for bundle, own in zip(job.bundles, arguments, strict=True):
        mine = {node: read[node] for node in own if node in read}
        bundles.append(replace(bundle, parts=tuple(rewrite(part, mine.get) for part in bundle.parts)))
    extras = tuple(_read(aggregate, read) for aggregate in job.extras)
    return replace(job, release=replace(job.release, below=clamped), bundles=tuple(bundles), extras=extras)


def _numbers(release: Release) -> list[Node]:
    """What is summed or ranked, bounded, and neither a constant nor a column of a scan."""
    args = [
        node
        for _, aggregate in release.aggregates
        if AGGREGATES[aggregate.name].measure != DISTINCT or AGGREGATES[aggregate.name].adds_values
        for node in (aggregate.arg, aggregate.second)
        if node is not None and node.facts.exact and node.facts.bounded
    ]
    return list(dict.fromkeys(node for node in args if not _is_enforced(node, release.below)))


def _is_enforced(node: Node, relation: Relation) -> bool:
    if isinstance(node, Constant):
        return True
    return isinstance(node, Column) and any(node.name in scan.columns for scan in scans_in(relation))


def _clamp(column: Column) -> Call:
    """A column between the ends of its facts; NULL stays NULL."""
    facts = column.facts
    ends = tuple(Constant(end, replace(facts, low=end, high=end, nullable=False)) for end in (facts.low, facts.high))
    return Call("clamp", (column, *ends), facts)


def _read(aggregate: Aggregate, read: dict[Node, Node]) -> Aggregate:
    """A choice among ranked numbers reads them clamped."""
    if aggregate.arg is None or aggregate.arg not in read:
        return aggregate
    return replace(aggregate, arg=read[aggregate.arg])
