"""Columns that are released as they are: what they tell of quasi-identifiers, and whether they identify their rows.

Comes in: a release beside its original table, and its kept columns. Goes out: faults. Others know the quasi-identifiers
of people. A kept column that follows from them, as the decade of birth from the age, is known too, and belongs to the
labels of a class; one from which a quasi-identifier follows, as the age from the day of birth, tells it in spite of its
label. In both cases k is that of the smaller classes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations

from sfumato.anonymity.inspection.case import ReleaseCase
from sfumato.anonymity.inspection.coverage import Key
from sfumato.anonymity.inspection.traces import ReleaseFault

_MANY = 10
"""Rows from which on a kept column is an identifier: few rows differ by chance."""
_LARGE = 100
_ALONE = 0.9
"""The part of rows whose value nobody else has, from which on a column identifies them, if there are 100 or more."""
_CLEAR = 40.0
"""Bits of evidence before a column is said to follow from others."""
_HOLDS = 0.99
"""How often a rule holds by which one column follows from others: a few cells are wrong or missing."""
_CHANCE = math.log(1e-6)


def find_kept(case: ReleaseCase, kept: Key) -> Iterator[ReleaseFault]:
    """What kept columns give away."""
    found = list(_identifiers(case, kept))
    yield from found
    named = {fault.column for fault in found}
    yield from _told(case, tuple(name for name in kept if name not in named))


def _identifiers(case: ReleaseCase, kept: Key) -> Iterator[ReleaseFault]:
    """Columns of which nearly every value occurs once: whoever knows one knows whose row it is, whatever k says."""
    many = len(case.published.rows)
    if many < _MANY:
        return
    columns = {name: case.published.cells(name) for name in kept}
    alone = {name: sum(1 for n in Counter(values).values() if n == 1) for name, values in columns.items()}
    found = [name for name in kept if alone[name] == many or (many >= _LARGE and alone[name] >= _ALONE * many)]
    for name in found:
        words = "every value of a kept column occurs once: it identifies its row, and belongs to no release"
        if alone[name] < many:
            words = f"{alone[name]} of {many} values of a kept column occur once: they identify their rows"
        yield ReleaseFault("identifier", words, name)
    rest = [name for name in kept if name not in found]
    for pair in combinations(rest, 2):
        if _is_number(columns[pair[0]], columns[pair[1]]):
            words = f'"{pair[0]}" and "{pair[1]}" together number the rows: hardly two rows have the same'
            yield ReleaseFault("identifier", words, pair[0])


def _is_number(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two columns agree in both values far less often than columns that know nothing of each other.

    Pairs of rows that agree in both are about as many as Poisson's law says; fewer have a chance of at most
    e^-m (e m / x)^x (Chernoff), where m are expected and x are there.
    """
    many = len(one)
    alike = [Counter(one), Counter(other)]
    expected = float(math.comb(many, 2))
    for counts in alike:
        expected = expected * sum(n * (n - 1) for n in counts.values()) / (many * (many - 1))
    seen = sum(math.comb(n, 2) for n in Counter(zip(one, other, strict=True)).values())
    if seen >= expected / 4:
        return False
    return -expected + (seen + seen * math.log(expected / seen) if seen else 0.0) < _CHANCE


def _told(case: ReleaseCase, kept: Key) -> Iterator[ReleaseFault]:
    """Classes that are too small once kept columns are read that tell, or are told by, quasi-identifiers."""
    keys, lines = case.published.parts(case.columns), case.original.parts(case.columns)
    for name in kept:
        values = case.original.cells(name)
        shown = case.published.cells(name)
        source = _source(case.columns, lines, values)
        more: list[Hashable] = list(shown)
        words = f"the column follows from {_named(source or ())}, which others know"
        if source is None:
            told = [j for j in range(len(case.columns)) if follows([row[j] for row in lines], values)]
            if not told:
                continue
            rule = {value: tuple(row[j] for j in told) for value, row in zip(values, lines, strict=True)}
            more = [rule.get(value) for value in shown]
            words = f"{_named([case.columns[j] for j in told])} follow{'s' * (len(told) == 1)} from the column"
        yield from _small(case, Counter(zip(keys, more, strict=True)), name, words)


def _small(case: ReleaseCase, classes: Counter[tuple[Key, Hashable]], name: str, words: str) -> Iterator[ReleaseFault]:
    wanted = case.least if case.claims.k is None else case.claims.k
    small = [n for n in classes.values() if n < wanted]
    if small:
        text = f"{words}: with it {len(small)} classes have fewer than {wanted} rows, the smallest {min(small)}"
        yield ReleaseFault("kept", text, name)


def _named(columns: Sequence[str]) -> str:
    return " and ".join(f'"{name}"' for name in columns)


def _source(columns: Key, lines: Sequence[Key], values: Sequence[str]) -> Sequence[str] | None:
    """The quasi-identifiers from which a column follows: one, two, or all of them."""
    places = range(len(columns))
    for chosen in (*combinations(places, 1), *combinations(places, 2), tuple(places)):
        if follows(values, [tuple(row[j] for j in chosen) for row in lines]):
            return [columns[j] for j in chosen]
    return None


def follows(values: Sequence[str], groups: Sequence[Hashable]) -> bool:
    """Whether values follow from groups: in nearly every group all rows have the same, and that is no chance.

    Proof: a row is predicted by the commonest value of the rows of its group before it. That it has this value with
        probability 0.99, and else any value as often as in the table, is a law of all rows; the evidence is the
        logarithm of its likelihood over the one of values that know nothing of groups. Under the latter it exceeds 40
        bits with a chance of at most 2^-40 (Markov).
    Checked by: unit::a_kept_column_that_follows_from_quasi_identifiers_is_found
    """
    total, many = Counter(values), len(values)
    seen: dict[Hashable, Counter[str]] = {}
    best: dict[Hashable, str] = {}
    right = told = 0
    bits = 0.0
    for value, group in zip(values, groups, strict=True):
        counts = seen.setdefault(group, Counter())
        share = total[value] / many
        if counts:
            hit = best[group] == value
            right, told = right + hit, told + 1
            bits += math.log2(((_HOLDS if hit else 0.0) + (1 - _HOLDS) * share) / share)
        counts[value] += 1
        if counts[value] >= counts[best.setdefault(group, value)]:
            best[group] = value
    return bits >= _CLEAR and right >= _HOLDS * told
