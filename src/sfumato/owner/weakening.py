"""What a change of policy takes away from the people in the data, in words that an owner can weigh.

Comes in: the policy that is served, and one that may follow it. Goes out: each change that makes the promise weaker,
with the odds before and after. More noise, a smaller share or a narrower domain weaken nothing and are not named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from sfumato.policy import ROW, Policy, Table, UnitJoin
from sfumato.reals import exp, round_up
from sfumato.words import Adjacency, show

_MOST = Fraction(50)
"""Beyond this epsilon a suspicion becomes a certainty, to all digits that are shown."""


@dataclass(frozen=True, slots=True)
class Weakening:
    """A key of the policy, and what its change means."""

    what: str
    words: str


def odds(epsilon: Fraction) -> str:
    """What a suspicion of one half can become, in per cent, rounded up."""
    if epsilon > _MOST:
        return "100"
    return show(round_up(100 / (1 + exp(-epsilon)), Fraction(1, 10)))


def weakenings(now: Policy, then: Policy) -> list[Weakening]:
    """Every change that weakens the promise."""
    return [*_privacy(now, then), *_tables(now, then)]


def _privacy(now: Policy, then: Policy) -> Iterator[Weakening]:
    old, new = now.privacy, then.privacy
    if new.epsilon > old.epsilon:
        yield Weakening(
            "privacy.epsilon",
            f"epsilon rises from {show(old.epsilon)} to {show(new.epsilon)}: a suspicion of 50 % about one person can"
            f" become at most {odds(new.epsilon)} % instead of {odds(old.epsilon)} %",
        )
    if new.delta > old.delta:
        yield Weakening(
            "privacy.delta",
            f"delta rises from {show(old.delta)} to {show(new.delta)}: with this probability the bound on the odds may"
            " not hold",
        )
    if old.adjacency is Adjacency.REPLACE and new.adjacency is not Adjacency.REPLACE:
        yield Weakening(
            "privacy.adjacency",
            "adjacency changes from replace to add-remove: the content of a person's rows is then protected with up to"
            f" twice the epsilon, {odds(2 * new.epsilon)} % instead of {odds(old.epsilon)} %",
        )
    if old.timing == "padded" and new.timing == "plain":
        yield Weakening(
            "privacy.timing", "timing changes from padded to plain: the duration of an answer may reveal rows"
        )
    if new.partition != old.partition and new.partition is not None:
        yield Weakening(
            "privacy.partition",
            f"people are divided by {'.'.join(new.partition)}: each cell gets the whole budget, and the promise holds"
            " only for people who stay in one cell",
        )


def _tables(now: Policy, then: Policy) -> Iterator[Weakening]:
    for name, new in then.tables.items():
        old = now.tables.get(name)
        if old is None or old.public:
            continue
        if new.public:
            yield Weakening(
                f"tables.{name}.public", f'table "{name}" becomes public: its rows are answered exactly, 100 %'
            )
        elif new.unit != old.unit:
            words = f'the privacy unit of "{name}" changes from {_unit(old)} to {_unit(new)}'
            yield Weakening(f"tables.{name}.unit", f"{words}: other people, or parts of people, are protected")


def _unit(table: Table) -> str:
    if table.unit == ROW:
        return "each row"
    return f"{table.unit.table}.{table.unit.key}" if isinstance(table.unit, UnitJoin) else str(table.unit)
