"""A plan's claims against what is derived of its jobs: a plan that claims less is not run, and nothing is charged.

Comes in: the cuts of a plan, the adjacency of the policy, the event that would be charged. Goes out: Reasons, which
people can read (`explain --why`), or a PlanError. The derivation is in `contribution`; here is what a plan says: how
far one unit moves each number, how much noise that gets, under how many keys it is, and what all of it costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.accounting import BoundedRange, Event, GaussianRelease, GaussianSelection, Pure, Selection, Together
from sfumato.algebra.contribution import Contribution, UnitChange, contribution
from sfumato.algebra.tree import Column
from sfumato.errors import PlanError
from sfumato.mechanisms import GaussianKeySelection, MostFrequent, ThresholdedCounts
from sfumato.sql.release.release_plan import GAUSSIAN, GroupingSetPlan, ReleasedBundle, ReleasePlan
from sfumato.types import Adjacency, show


@dataclass(frozen=True)
class Reason:
    """Why one number moves by no more than it is said to: what is derived, what is claimed, and the steps."""

    name: str
    derived: Fraction
    claimed: Fraction
    norm: str
    why: tuple[str, ...]

    def words(self) -> str:
        """One line for people."""
        so = f"therefore one person changes it by at most {show(self.derived)}{self.norm}"
        paid = "" if self.derived == self.claimed else f" (the noise is calibrated to {show(self.claimed)})"
        return f"{self.name}: {'; '.join((*self.why, so))}{paid}"

    def to_dict(self) -> dict[str, Any]:
        """Fractions as text."""
        steps = list(self.why)
        return {"name": self.name, "derived": str(self.derived), "claimed": str(self.claimed), "why": steps}


def check(cuts: tuple[ReleasePlan, ...], adjacency: Adjacency, event: Event | None) -> tuple[Reason, ...]:
    """The reasons why these cuts cost no more than the event; PlanError where a claim is below what is derived.

    Guarantee: whatever the planner concluded, noise is for the change that the engine's operators allow, and the event
        covers the noise.
    Proof: `contribution` bounds the norm of one unit; neighbours differ by one of these vectors, or under replace by
        two. Each claim is compared with that, then the losses are added up: over bundles that a row feeds together,
        over grouping sets, choices, selections and cuts.
    Reference: semantics 3.1, 3.2.
    Checked by: laws::faults_of_the_planner_are_refused, laws::every_shape_is_accepted
    """
    reasons = tuple(reason for cut in cuts for reason in _cut(cut, adjacency))
    needed, paid = Counter[Event](), Counter[Event](_flat(event))
    for cut in cuts:
        needed.update(_flat(Together(cut.events)) if cut.events else ())
    if needed - paid:
        raise PlanError("this plan would not be charged for all of its releases")
    return reasons


def _flat(event: Event | None) -> Iterator[Event]:
    if isinstance(event, Together):
        for part in event.events:
            yield from _flat(part)
    elif event is not None:
        yield event


def _cut(cut: ReleasePlan, adjacency: Adjacency) -> Iterator[Reason]:
    """One release: each of its numbers, then what they cost together."""
    loss, chosen, keys = Fraction(0), Fraction(0), [Fraction(0), Fraction(0)]
    for part in cut.parts:
        if not part.groups and part.selection is None:
            continue  # no number leaves, and no key: keys are shown by a selection alone
        if (part.kept, part.chosen) != (part.job.kept, part.job.chosen) or len(part.bundles) != len(
            part.job.bundles
        ) + len(part.job.extras):
            raise PlanError("this plan would read other numbers than its job computes")
        if len(set(part.groups)) != len(part.groups):
            raise PlanError("this plan draws noise twice for one number")
        derived = contribution(part.job, len(part.groups))
        yield from _keys(part, derived, adjacency)
        for place, (released, moved) in enumerate(zip(part.bundles, (*derived.bundles, *derived.extras), strict=True)):
            yield _number(_name(cut, place), released, moved, adjacency)
        if part.selection is not None:
            spent = part.selection.rho if isinstance(part.selection, GaussianKeySelection) else part.selection.epsilon
            keys = [keys[0] + spent, keys[1] + part.selection.delta]
        spent_together = _together(part, derived, adjacency)
        if isinstance(part.selection, ThresholdedCounts):
            _thresholded(part, part.selection, derived, adjacency, spent_together)
            continue  # paid for by the selection
        loss += spent_together
        chosen += sum((law.epsilon for r in part.bundles if r.extra for law in r.extra.choices), Fraction(0))
    _afford(cut, loss, chosen, keys)


def _afford(cut: ReleasePlan, loss: Fraction, chosen: Fraction, keys: list[Fraction]) -> None:
    """The events of a cut cover its noise, its choices and its selections."""
    paid, picked, opened = Fraction(0), Fraction(0), [Fraction(0), Fraction(0)]
    for event in cut.events:
        if isinstance(event, Pure | GaussianRelease):
            if isinstance(event, GaussianRelease) != (cut.terms.noise == GAUSSIAN):
                raise PlanError("this plan would be charged in the wrong currency")
            paid += event.rho if isinstance(event, GaussianRelease) else event.epsilon
        elif isinstance(event, BoundedRange):
            picked += event.epsilon
        elif isinstance(event, Selection | GaussianSelection):
            opened[0] += event.rho if isinstance(event, GaussianSelection) else event.epsilon
            opened[1] += event.delta
    for words, needs, has in (
        ("noise", loss, paid),
        ("choices", chosen, picked),
        ("keys", keys[0], opened[0]),
        ("keys, in delta,", keys[1], opened[1]),
    ):
        if needs > has:
            raise PlanError(
                f"this plan's {words} would cost {show(needs)}, but it claims {show(has)}",
                hint="This is a fault of the planner, and nothing was spent; please report the query.",
            )


def _keys(part: GroupingSetPlan, derived: Contribution, adjacency: Adjacency) -> Iterator[Reason]:
    """Open keys: one unit is counted under no more than the selection is made for."""
    if derived.keys is None and part.selection is None:
        return
    if derived.keys is None or part.selection is None:
        raise PlanError("this plan would return keys that were not selected")
    law, twice = part.selection, 2 if adjacency is Adjacency.REPLACE else 1
    touched, claimed = twice * derived.keys, law.keys_per_unit * (2 if law.adjacency is Adjacency.REPLACE else 1)
    why = (f"one person contributes to at most {derived.keys} undeclared keys, once to each",)
    yield _compared(Reason("undeclared keys", Fraction(touched), Fraction(claimed), "", why))


def _thresholded(
    part: GroupingSetPlan, law: ThresholdedCounts, derived: Contribution, adjacency: Adjacency, loss: Fraction
) -> None:
    """One noise for counts and keys: it is drawn for the norm that is derived, and nothing else is in the part."""
    if len(part.bundles) != 1 or part.bundles[0].extra is not None or part.groups != ((),) or part.listed:
        raise PlanError("this plan would select keys by a number that is not their count")
    (released,), (moved,) = part.bundles, derived.bundles
    if not moved.nonnegative or moved.l1 is None or moved.l1 / moved.unit > law.norm:
        raise PlanError("this plan would return keys of one person more often than it claims")
    if law.adjacency is not adjacency or released.unit != moved.unit or law.scale * released.unit != released.scale:
        raise PlanError("this plan would draw another noise for its keys than for its counts")
    if loss > law.epsilon or part.share != law.epsilon:
        raise PlanError("this plan's keys and counts would cost more than it claims")


def _number(name: str, released: ReleasedBundle, moved: UnitChange, adjacency: Adjacency) -> Reason:
    """One bundle or aggregate: the change that is derived against the change that noise is for."""
    if released.extra is not None and released.extra.law is not None:
        return _choice(name, released, moved, adjacency)
    change = moved.change(adjacency, _by_square(released))
    if change is None:
        raise PlanError(f"nothing bounds what one unit adds to {name}", detail="; ".join(moved.why))
    # noise is drawn on the engine's whole numbers: the plan must know their unit
    change *= (released.unit / moved.unit) ** (2 if _by_square(released) else 1)
    if _by_square(released):
        return _compared(Reason(name, change, released.sensitivity, " (squared L2 norm)", moved.why))
    claimed = released.sensitivity if released.running is None else released.running.sensitivity * released.unit
    return _compared(Reason(name, change, claimed, " over all groups together", moved.why))


def _choice(name: str, released: ReleasedBundle, moved: UnitChange, adjacency: Adjacency) -> Reason:
    """A choice: the weight of one unit, twice where it may leave one group for another, against the norm of its laws.

    What is chosen around a quantile is looked at, too: the first law that claims too little is told of.
    """
    assert released.extra is not None
    if moved.l1 is None:
        raise PlanError(f"nothing bounds the weight of one unit in {name}")
    reasons = []
    for law in released.extra.choices:
        weight = moved.l1
        if adjacency is Adjacency.REPLACE and not (
            law.adjacency is Adjacency.REPLACE and (moved.single or isinstance(law, MostFrequent))
        ):
            weight *= 2
        reasons.append(_compared(Reason(name, weight, law.norm, " in weight", moved.why)))
    return reasons[0]


def _compared(reason: Reason) -> Reason:
    if reason.derived > reason.claimed:
        derived, claimed = show(reason.derived), show(reason.claimed)
        raise PlanError(
            f"one unit could change {reason.name} by {derived}, but the plan claims {claimed}",
            detail="; ".join(reason.why),
            hint="This is a fault of the planner, and nothing was spent; please report the query.",
        )
    return reason


def _together(part: GroupingSetPlan, derived: Contribution, adjacency: Adjacency) -> Fraction:
    """What all noisy numbers of a grouping set lose together: each by itself, or those that one row can feed."""
    alone, apart = list[Fraction](), list[Fraction]()
    for released, moved in zip(part.bundles, (*derived.bundles, *derived.extras), strict=True):
        choice = released.extra is not None and released.extra.law is not None  # paid for by itself
        for found, of in ((alone, moved), (apart, replace(moved, single=False))):
            change = of.change(adjacency, _by_square(released))
            found.append(Fraction(0) if choice else _loss(released, of, part.share, change))
    return min(sum(alone, Fraction(0)), derived.joint(apart))


def _by_square(released: ReleasedBundle) -> bool:
    return released.noise == GAUSSIAN and released.running is None


def _loss(released: ReleasedBundle, moved: UnitChange, share: Fraction, change: Fraction | None) -> Fraction:
    """Epsilon or rho of one bundle: as noise is drawn (sensitivity and share), and by the scale that is told."""
    assert change is not None
    steps = change / moved.unit**2 if _by_square(released) else change / moved.unit
    if not steps:
        return Fraction(0)
    if released.running is not None:
        part = steps / released.running.sensitivity
        law = released.running
        return law.epsilon * part if law.epsilon is not None else (law.rho or Fraction(0)) * part**2
    if not released.sensitivity or not released.scale:
        raise PlanError("a number of this plan has no noise")
    if _by_square(released):
        drawn = share * steps * released.unit**2 / released.sensitivity
        return max(drawn, steps * released.unit**2 / (2 * released.scale))
    return max(share * steps * released.unit / released.sensitivity, steps * released.unit / released.scale)


def _name(cut: ReleasePlan, place: int) -> str:
    """The aggregates that come of a bundle, as people write them."""
    names = []
    for _, aggregate, source in cut.sources:
        if source.bundle == place:
            arg = aggregate.arg
            of = "*" if arg is None else arg.name.partition(".")[2] if isinstance(arg, Column) else "…"
            names.append(f"{aggregate.name.upper()}({of}){' FILTER (…)' if aggregate.where is not None else ''}")
    return " and ".join(dict.fromkeys(names)) or "a number"
