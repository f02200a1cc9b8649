"""Jobs made by hand and by lot, which no planner would make: hostile limits, parts and facts that lie.

A job is taken from a plan, and everything that the checker looks at is drawn anew: the parts of bundles are random
expressions whose facts say that they are zero; limits, clip, `together` and `different_values` are random, also below
zero; the relation below may compute, clamp, rename and stack columns once more.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.algebra.aggregates.base import ONE, ZERO, Bundle
from sfumato.algebra.job import ContributionLimits, Job
from sfumato.algebra.relations import Filter, Projection, Relation, RelationShape, UnionAll
from sfumato.algebra.tree import BOOLEAN, Call, Column, Constant, Facts, Node

WORDS = (
    *("alone", "gaussian", "few", "clip", "together", "open keys", "extras", "persons"),
    *("clamp", "ends", "as it is", "named", "swapped", "stacked", "filter"),
)
"""What a job may have."""
FINEST = Fraction(1, 4**40)
"""A grid that every product here lies on."""
LIES = Facts("decimal", Fraction(0), Fraction(0), FINEST, nullable=False)
TRUTH = Facts(BOOLEAN)


def call(name: str, args: tuple[Node, ...]) -> Call:
    """A function of numbers, whose facts say that it is zero."""
    return Call(name, args, TRUTH if name in ("is null", "not") else LIES)


@dataclass
class Maker:
    """Random parts over the columns of a relation."""

    r: random.Random
    columns: list[Column]
    seen: Counter[str]

    def constant(self) -> Constant:
        value = Fraction(self.r.randint(-12, 12), self.r.choice([1, 1, 4]))
        return Constant(value, LIES)

    def clamp(self, inner: Node) -> Node:
        ends = [self.constant(), self.constant()]
        if self.r.random() < 0.8:
            ends.sort(key=lambda end: end.value)  # type: ignore[arg-type,return-value]
        self.seen["clamp"] += 1
        return call("clamp", (inner, *ends))

    def number(self, depth: int) -> Node:
        """An exact number on the grid 1/4, or on its powers."""
        kind = self.r.random()
        if depth == 0 or kind < 0.25:
            return self.r.choice([*self.columns, *self.columns, self.constant(), ZERO, ONE])
        if kind < 0.45:
            return self.clamp(self.number(depth - 1))
        if kind < 0.6:
            return self.case(self.number(depth - 1), self.r.choice([ZERO, ZERO, self.number(depth - 1)]))
        if kind < 0.68:
            return call("coalesce", (self.number(depth - 1), self.r.choice([ZERO, self.constant()])))
        return call(self.r.choice("+-*"), (self.number(depth - 1), self.number(depth - 1)))

    def case(self, one: Node, other: Node) -> Node:
        column = self.r.choice(self.columns)
        tests = [
            call("is null", (column,)),
            call("not", (call("is null", (column,)),)),
            Call(self.r.choice(["<", ">=", "="]), (column, self.constant()), TRUTH),
        ]
        return call("case", (self.r.choice(tests), one, other))

    def ends(self) -> tuple[Node, ...]:
        """Parts as of a mean or a variance, of a column or of a clamped number, with ends that may be wrong."""
        column = self.r.choice(self.columns)
        low, high = column.facts.low, column.facts.high
        if low is None or high is None or self.r.random() < 0.2:
            low, high = Fraction(self.r.randint(-3, 0)), Fraction(self.r.randint(0, 5))
        a, b = (Constant(v, LIES) for v in (low, high))
        up, down = call("-", (column, a)), call("-", (b, column))
        self.seen["ends"] += 1
        two = Constant(2, LIES)
        if self.r.random() < 0.5:
            return up, down
        return call("*", (up, up)), call("*", (two, call("*", (up, down)))), call("*", (down, down))

    def bundle(self) -> Bundle:
        parts = self.ends() if self.r.random() < 0.4 else tuple(self.number(3) for _ in range(self.r.choice([1, 1, 2])))
        if self.r.random() < 0.4:
            parts = tuple(self.case(part, ZERO) for part in parts)
        return Bundle(tuple(replace(part, facts=LIES) for part in parts), Fraction(0), person=self.r.random() < 0.25)


def below(r: random.Random, relation: Relation, seen: Counter[str]) -> Relation:
    """The relation with one more operator on top: computed columns, one name for another, itself twice, or a filter."""
    numbers = [c for c in relation.columns.values() if c.facts.exact]
    kind = r.choice(["", "named", "swapped", "stacked", "filter"])
    seen[kind or "as it is"] += 1
    if not numbers or not kind:
        return relation
    maker, items = Maker(r, numbers, seen), list(relation.columns.items())
    if kind == "filter":
        return Filter(relation.shape, relation, Call("=", (numbers[0], maker.constant()), TRUTH))
    made: dict[str, Node] = dict(items)
    for column in numbers:
        other = r.choice(numbers) if kind == "swapped" else maker.number(2)
        if kind != "stacked" or r.random() < 0.5:
            made[column.name] = other
    # columns keep the facts of their names, whatever they hold now
    facts = {name: replace(c.facts, grid=FINEST) if c.facts.exact else c.facts for name, c in items}
    columns = {name: replace(c, facts=facts[name]) for name, c in items}
    shape = RelationShape(columns, relation.private, relation.shape.rows)
    if kind == "stacked":
        return UnionAll(shape, ((relation, tuple(made.values())), (relation, tuple(dict(items).values()))))
    return Projection(shape, relation, tuple(made.items()))


def hostile(r: random.Random, job: Job, seen: Counter[str]) -> Job:
    """A job like this one, drawn anew."""
    relation = below(r, job.release.below, seen)
    numbers = [c for c in relation.columns.values() if c.facts.exact and c.facts.kind != "double"]
    bound = Fraction(r.choice(["0", "1", "1", "2", "2", "3", "3", "5/2", "1/2", "-1"]))
    limits = ContributionLimits(
        alone=r.random() < 0.3,
        gaussian=r.random() < 0.4,
        bound=bound,
        most=r.choice([-1, 0, 1, 1, 2, 2, 3]),
        keys=r.choice([-1, 0, 1, 1, 2, 2]),
        few=r.random() < 0.3,
    )
    maker = Maker(r, numbers, seen)
    bundles = tuple(maker.bundle() for _ in range(r.choice([1, 1, 2, 3]))) if numbers else ()
    clip = r.choice([None, None, None, None, None, Fraction(0), Fraction(3), Fraction(7, 3), Fraction(-2)])
    together = r.choice([None, None, -1, 0, 1, 2])
    values = tuple(r.choice([-1, 0, 1, 2, 5]) for _ in job.extras)
    for word, there in {
        "alone": limits.alone, "gaussian": limits.gaussian, "few": limits.few, "clip": clip is not None,
        "together": together is not None, "open keys": bool(job.chosen), "extras": bool(job.extras),
        "persons": any(bundle.person for bundle in bundles),
    }.items():  # fmt: skip
        seen[word] += there
    release = replace(job.release, below=relation)
    return replace(
        job, release=release, limits=limits, bundles=bundles, clip=clip, together=together, different_values=values
    )
