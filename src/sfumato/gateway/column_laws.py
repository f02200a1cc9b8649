"""Which noisy numbers a column is made of, and what draws each: for a picture of what one person changes.

Comes in: a plan and a column of it. Goes out: the laws, in public numbers only. No row is read, and a plan knows none:
a choice among candidates has a law that depends on rows, so of that only the candidates and the mechanism are told.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction

from sfumato.algebra.aggregates import order
from sfumato.algebra.tree import DATE, TIMESTAMP, Aggregate, Node
from sfumato.algebra.tree import columns_of as columns_in
from sfumato.gateway.answer import mechanism_of
from sfumato.gateway.interval_sources import laws
from sfumato.mechanisms import Gaussian, Geometric, MostFrequent, OrderStatistic
from sfumato.sql.release.plan import Plan
from sfumato.sql.release.release_plan import GEOMETRIC
from sfumato.types import show

Noise = Geometric | Gaussian
Choice = OrderStatistic | MostFrequent

EXACT = "this column has no noise: it is a key, or only public tables are read"
RUNNING = "prefix sums share their noise, so none of them has a separate distribution"
GAUSSIAN_TELLS = "Gaussian noise has no epsilon: rare outputs reveal more, with a probability that delta bounds"
KEYS_TELL = "partition selection also costs delta, so epsilon alone does not bound what a number reveals"


@dataclass(frozen=True)
class Candidates:
    """What a choice is made from: every whole place from `low` to `high`, or the numbers of `steps`."""

    low: int
    high: int
    aggregate: Aggregate
    steps: tuple[int, ...] = ()

    def shown(self, place: int) -> str:
        """The value that a place stands for."""
        place = self.steps[place] if self.steps else place
        if self.aggregate.arg is not None and self.aggregate.arg.facts.kind == DATE:
            return date.fromordinal(place).isoformat()
        if self.aggregate.arg is not None and self.aggregate.arg.facts.kind == TIMESTAMP:
            return order.moment(place).isoformat(sep=" ")
        value = order.value(self.aggregate, place)
        return show(value) if isinstance(value, Fraction) else str(value)


@dataclass(frozen=True)
class ReleasedNumber:
    """One number that is released, or a few of one law that one person moves together; `words` say what it counts."""

    words: str
    law: Noise | Choice
    unit: Fraction = Fraction(1)
    candidates: Candidates | None = None
    several: bool = False
    on_ends: Fraction = Fraction(0)
    """What the choice of its interval gives away beside it."""


@dataclass(frozen=True)
class ColumnNumbers:
    """All that a column is computed from; `epsilon` is what it gives away at most, or None where that is not the claim.

    `why` is a sentence where there are no numbers, or no epsilon.

    Guarantee: whatever is computed from these numbers, one person changes its odds by at most e^epsilon.
    Proof: in a question with one release each number has its own draw, for its law's epsilon, and a quantile
        another one for its interval, once in every grouping set: together they cost the sum. With several releases
        a later one may read an earlier one, so that all of them count. Where all noise is geometric the question
        costs the plan's epsilon in all, and no part of it more. Gaussian noise has no epsilon, and keys that are
        chosen cost delta: then nothing is claimed. The column is computed from the numbers alone, which is
        post-processing.
    Reference: semantics 2.3; accounting.compose.
    Checked by: unit::a_column_gives_away_no_more_than_its_question
    """

    numbers: tuple[ReleasedNumber, ...] = ()
    epsilon: Fraction | None = None
    why: str | None = EXACT


NOTHING = ColumnNumbers()


def numbers_of(plan: Plan, node: Node, noisy: bool) -> ColumnNumbers:
    """The released numbers behind a column; all of the question's, where they were computed with before it."""
    known = laws(plan.cuts)
    named = [known[name] for name in columns_in(node) if name in known]
    if not named and not noisy:
        return NOTHING
    atoms = [(one[0], one[2].bundle) for one in named]
    if not named:
        atoms = _bundles(plan)
    used = list(dict.fromkeys(atom for atom in atoms if atom[1] >= 0))
    if any(plan.cuts[i].parts[0].bundles[bundle].running is not None for i, bundle in used):
        return ColumnNumbers(why=RUNNING)
    found = Counter(_number(plan, i, bundle) for i, bundle in used)
    numbers = tuple(replace(one, words=f"{one.words} ({n} such numbers)") if n > 1 else one for one, n in found.items())
    if any(isinstance(one.law, Gaussian) for one in found):
        return ColumnNumbers(numbers, why=GAUSSIAN_TELLS)
    epsilon = sum(((_epsilon(one.law) + one.on_ends) * n for one, n in found.items()), Fraction(0)) * len(
        plan.cuts[0].parts
    )
    if any(part.chosen for cut in plan.cuts for part in cut.parts):
        return ColumnNumbers(numbers, why=_keys_tell(plan, epsilon, alone=len(used) == len(_bundles(plan))))
    if len(plan.cuts) > 1:
        pure = plan.noise == GEOMETRIC
        return ColumnNumbers(numbers, plan.epsilon if pure else None, None if pure else GAUSSIAN_TELLS)
    return ColumnNumbers(numbers, min(epsilon, plan.epsilon) if plan.noise == GEOMETRIC else epsilon, None)


def _bundles(plan: Plan) -> list[tuple[int, int]]:
    """All that is released: the number of a cut, and of a bundle in it."""
    return [(i, bundle) for i, part in enumerate(plan.cuts) for bundle in range(len(part.parts[0].bundles))]


def _keys_tell(plan: Plan, epsilon: Fraction, *, alone: bool) -> str:
    """Why no epsilon is claimed where keys are chosen; and what the rest of the query's epsilon pays for."""
    if len(plan.cuts) > 1 or not 0 < epsilon < plan.epsilon:
        return KEYS_TELL
    others = "" if alone else " and for the other columns"
    rest = f"the other {show(plan.epsilon - epsilon)} pays for partition selection{others}"
    return f"the query costs epsilon {show(plan.epsilon)}: {show(epsilon)} is for this column, {rest}; {KEYS_TELL}"


def _epsilon(law: Noise | Choice) -> Fraction:
    return Fraction(0) if isinstance(law, Gaussian) else law.epsilon


def _number(plan: Plan, i: int, bundle: int) -> ReleasedNumber:
    cut = plan.cuts[i]
    part = cut.parts[0]
    released = part.bundles[bundle]
    aggregate, formula = next((a, s.formula) for _, a, s in cut.sources if s.bundle == bundle)
    extra = released.extra
    if extra is not None and extra.law is not None:
        words = f"which value of {_names(aggregate)} is chosen"
        among = Candidates(*extra.candidates, extra.aggregate, extra.steps)
        on_ends = Fraction(0) if extra.around is None else extra.around.epsilon
        return ReleasedNumber(words, extra.law, candidates=among, on_ends=on_ends)
    return ReleasedNumber(
        formula.words(aggregate, _names(aggregate)),
        mechanism_of(released, part),
        released.unit,
        several=len(released.bundle.parts) > 1,
    )


def _names(aggregate: Aggregate) -> str:
    """The columns that an aggregate is about."""
    read = [node for node in (aggregate.arg, aggregate.second) if node is not None]
    return " and ".join(dict.fromkeys(name.rsplit(".", 1)[-1] for node in read for name in columns_in(node))) or "it"
