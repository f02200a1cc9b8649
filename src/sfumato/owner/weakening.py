"""What a change of policy takes away from the people in the data, in words that an owner can weigh.

Comes in: the policy that is served, and one that may follow it. Goes out: each change that makes the promise weaker,
with the odds before and after; and apart from them changes that leave the promise over all answers as it is, but let
one answer, one analyst or one person count for more. A smaller number or a narrower domain is not named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from sfumato.accounting import percent_at_most, suspicion
from sfumato.policy import ROW, Policy, Table, UnitJoin
from sfumato.types import Adjacency, show


@dataclass(frozen=True, slots=True)
class Weakening:
    """A key of the policy, and what its change means."""

    what: str
    words: str


def weakenings(now: Policy, then: Policy) -> list[Weakening]:
    """Every change that weakens the promise over all answers."""
    return [*_ledger(now, then), *_privacy(now, then), *_tables(now, then)]


def other_changes(now: Policy, then: Policy) -> list[Weakening]:
    """Changes that the promise over all answers survives: one answer, one analyst or one person counts for more."""
    return [*_answers(now, then), *_shares(now, then), *_bounds(now, then)]


def _ledger(now: Policy, then: Policy) -> Iterator[Weakening]:
    """Another ledger knows nothing of what was spent before it."""
    if (now.data.id, now.data.ledger) == (then.data.id, then.data.ledger):
        return
    both = now.privacy.epsilon + then.privacy.epsilon
    yield Weakening(
        "data.ledger" if now.data.id == then.data.id else "data.id",
        "the budget starts anew in another ledger, which does not count what was spent so far: with both budgets,"
        f" {suspicion(both, then.privacy.adjacency, instead_of=now.privacy.epsilon)}",
    )


def _privacy(now: Policy, then: Policy) -> Iterator[Weakening]:
    old, new = now.privacy, then.privacy
    if new.epsilon > old.epsilon:
        yield Weakening(
            "privacy.epsilon",
            f"epsilon rises from {show(old.epsilon)} to {show(new.epsilon)}:"
            f" {suspicion(new.epsilon, new.adjacency, instead_of=old.epsilon)}",
        )
    if new.delta > old.delta:
        yield Weakening(
            "privacy.delta",
            f"delta rises from {show(old.delta)} to {show(new.delta)}: with this probability the bound on the odds may"
            " not hold",
        )
    if old.composition == "pure" and new.composition != "pure":
        yield Weakening(
            "privacy.composition",
            f"composition changes from pure to {new.composition}: small charges then add up to less epsilon, and the"
            f" bound on the odds may fail with probability {show(new.delta)} instead of {show(old.delta_selection)}",
        )
    if old.adjacency is Adjacency.REPLACE and new.adjacency is not Adjacency.REPLACE:
        yield Weakening(
            "privacy.adjacency",
            "adjacency changes from replace to add-remove: the content of a person's rows is then protected with up to"
            f" twice the epsilon, {percent_at_most(2 * new.epsilon)} % instead of {percent_at_most(old.epsilon)} %",
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
        if new.public:
            yield from _public(now, then, name)
        elif old is not None and not old.public:
            if new.unit != old.unit:
                yield _unit_change(f'the privacy unit of "{name}"', old, new, then)
        else:
            rows = _place(then, name)
            for other in now.tables.values():
                if not other.public and _place(now, other.name) == rows and other.unit != new.unit:
                    yield _unit_change(f'table "{name}" reads the rows of "{other.name}": their unit', other, new, then)


def _public(now: Policy, then: Policy, name: str) -> Iterator[Weakening]:
    """Rows that are answered exactly, and were not before."""
    old, key = now.tables.get(name), f"tables.{name}.public"
    exact = "its rows are answered exactly, and a suspicion about anybody in them becomes 100 %"
    if old is None:
        yield Weakening(key, f'table "{name}" is new and public: {exact}')
    elif not old.public:
        steps = 1 if now.privacy.adjacency is Adjacency.REPLACE else 2
        before = percent_at_most(steps * now.privacy.epsilon)
        yield Weakening(key, f'table "{name}" becomes public: {exact} instead of at most {before} %')
    elif _place(now, name) != _place(then, name):
        yield Weakening(key, f'the public table "{name}" is read from another place: {exact}')


def _unit_change(subject: str, old: Table, new: Table, then: Policy) -> Weakening:
    words = f"{subject} changes from {_unit(old)} to {_unit(new)}"
    rows, epsilon = old.rows_per_unit, then.privacy.epsilon
    if new.unit == ROW and isinstance(rows, int):
        grown = f"a person with {rows} rows is then protected with {rows} times the epsilon"
        words = f"{words}: {grown}, {suspicion(rows * epsilon, then.privacy.adjacency, instead_of=epsilon)}"
    else:
        words = f"{words}: other people, or parts of people, are protected"
    return Weakening(f"tables.{new.name}.unit", words)


def _unit(table: Table) -> str:
    if table.unit == ROW:
        return "each row"
    return table.unit.place if isinstance(table.unit, UnitJoin) else str(table.unit)


def _place(policy: Policy, table: str) -> object:
    """Where the rows of a table are."""
    files = policy.source.files
    if not isinstance(files, dict):
        return (policy.source.engine, files, policy.source.dsn, table)
    listed = files[table]
    return (policy.source.engine, policy.source.dsn, frozenset([listed] if isinstance(listed, str) else listed))


def _answers(now: Policy, then: Policy) -> Iterator[Weakening]:
    old, new = now.privacy, then.privacy
    if new.query_epsilon > old.query_epsilon:
        yield Weakening(
            "privacy.query_epsilon",
            f"query_epsilon rises from {show(old.query_epsilon)} to {show(new.query_epsilon)}: after one answer at the"
            f" default cost, {suspicion(new.query_epsilon, new.adjacency, instead_of=old.query_epsilon)}",
        )
    if new.query_delta > old.query_delta:
        yield Weakening(
            "privacy.query_delta",
            f"query_delta rises from {show(old.query_delta)} to {show(new.query_delta)}: with this probability one"
            " answer may show a group of a single person",
        )


def _shares(now: Policy, then: Policy) -> Iterator[Weakening]:
    """What one analyst may spend; who has no share may spend all that is left."""
    for name in sorted({*now.analysts, *then.analysts}):
        old, new = (
            policy.analysts[name].epsilon if name in policy.analysts else policy.privacy.epsilon
            for policy in (now, then)
        )
        if new > old:
            yield Weakening(
                f"analysts.{name}",
                f"{name} may spend epsilon {show(new)} instead of {show(old)}: by the answers that {name} pays for,"
                f" {suspicion(new, then.privacy.adjacency, instead_of=old)}",
            )


def _bounds(now: Policy, then: Policy) -> Iterator[Weakening]:
    """What of one person counts: engines enforce it, and noise grows with it."""
    for name, new in then.tables.items():
        old = now.tables.get(name)
        if old is None or old.public or new.public:
            continue
        keys = ("rows_per_unit", "groups_per_unit", "l2_per_unit")
        pairs = [(key, getattr(old, key), getattr(new, key)) for key in keys]
        follows = (new.rows_per_unit, None)
        pairs = [pair for pair in pairs if pair[0] == keys[0] or pair[2] not in follows]
        pairs += [
            (f"sum_per_unit of {column} in", before, new.sum_per_unit.get(column))
            for column, before in old.sum_per_unit.items()
        ]
        for key, before, after in pairs:
            if _rises(before, after):
                yield Weakening(
                    f"tables.{name}.{key.partition(' ')[0]}",
                    f'{key} {"" if " " in key else "of "}"{name}" changes from {_number(before)} to {_number(after)}:'
                    " more of one person counts, and more noise covers it; as before,"
                    f" {suspicion(then.privacy.epsilon, then.privacy.adjacency)}",
                )


def _rises(before: int | Fraction | str | None, after: int | Fraction | str | None) -> bool:
    if isinstance(before, str) or isinstance(after, str) or before is None or after is None:
        return before != after
    return after > before


def _number(value: int | Fraction | str | None) -> str:
    return "none" if value is None else value if isinstance(value, str) else show(value)
