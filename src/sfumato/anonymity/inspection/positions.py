"""Rows that stand where the people of the original table stand: whoever knows the order of people knows which is whose.

Comes in: a release beside its original table. Goes out: faults of the kind `order`. A release may be sorted or grouped
by what it says: that order tells nothing. Within it rows are compared with the original ones, as they stand in the
table and sorted by each of its columns, forwards and backwards.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sfumato.anonymity.inspection.case import ReleaseCase, values_of
from sfumato.anonymity.inspection.coverage import Key
from sfumato.anonymity.inspection.homes import homes_of
from sfumato.anonymity.inspection.order import blocks_of
from sfumato.anonymity.inspection.ranks import ranks_of
from sfumato.anonymity.inspection.sequences import find_followed
from sfumato.anonymity.inspection.traces import ReleaseFault

_CLEAR = 40.0
"""Bits of evidence before an order is called the original one: a dozen rows have too few arrangements to tell."""
Shown = tuple[int, str]
"""The class of a row, and its sensitive value."""


@dataclass(frozen=True)
class RowStanding:
    """Released rows in their order, and original rows in theirs.

    `rows` are classes and sensitive values; `people` the same of original rows, each in the class that homes_of gives
    it, `covering` all classes that cover them.
    """

    rows: Sequence[Shown]
    people: Sequence[Shown]
    covering: Sequence[int]


def find_positions(case: ReleaseCase, keep: Key) -> Iterator[ReleaseFault]:
    """The first order of the original rows that released rows are found in, if any."""
    place = {key: i for i, key in enumerate(case.classes)}
    keys = case.published.parts(case.columns)
    at = [place[key] for key in keys]
    values, secrets = values_of(case.published, case.sensitive), values_of(case.original, case.sensitive)
    masks = [case.coverage.masks[key] for key in case.original.parts(case.columns)]
    homes = homes_of(masks, [one.total() for one in case.classes.values()])
    standing = RowStanding(list(zip(at, values, strict=True)), list(zip(homes, secrets, strict=True)), masks)
    if not _is_sorted(keys, values):
        faults = list(find_order(standing))
        if faults:
            yield from faults
            return
    columns = {name: case.original.cells(name) for name in case.original.columns}
    columns.pop(case.sensitive or "", None)
    hidden = {name: texts for name, texts in columns.items() if name not in keep}  # others can be seen
    faults = list(find_sorted(standing, hidden))
    if faults:
        yield from faults
        return
    shown_as = (*((case.sensitive,) if case.sensitive else ()), *keep)
    table = [case.published.cells(name) for name in (*case.columns, *shown_as)]
    blocks = blocks_of(table, len(at))
    rows: list[Hashable] = list(zip(at, case.published.parts(shown_as), strict=True))
    people: list[Hashable] = list(zip(homes, case.original.parts(shown_as), strict=True))
    yield from find_followed(blocks, at, rows, people, columns)


def _is_sorted(keys: Sequence[Key], values: Sequence[str]) -> bool:
    """Whether rows are sorted by what they say."""
    return all(before <= after for before, after in pairwise(zip(keys, values, strict=True)))


def find_order(standing: RowStanding) -> Iterator[ReleaseFault]:
    """Rows in the order of the original ones: the n-th row is the n-th person.

    The order may be that of the whole table, forwards or backwards, or that of each class alone, which tools leave that
    sort by labels.
    """
    clear = arrangements(Counter(standing.rows).values()) >= _CLEAR
    for backwards in (False, True):
        step = -1 if backwards else 1
        way = " backwards" if backwards else ""
        if clear and _follows(standing, step):
            words = f"the rows are in the order of the original table{way}, which identifies them"
            yield ReleaseFault("order", words, None, 1)
            return
        if _by_class(standing.rows, standing.people[::step]):
            words = f"in each class the rows are in the order of the original table{way}, which identifies them"
            yield ReleaseFault("order", words, None, 1)
            return


def arrangements(counts: Iterable[int]) -> float:
    """How many bits it takes to say in which order rows stand of which so many are alike."""
    many = list(counts)
    return (math.lgamma(sum(many) + 1) - sum(math.lgamma(n + 1) for n in many)) / math.log(2)


def _follows(standing: RowStanding, step: int) -> bool:
    """Whether the rows can be found one after the other in the original table."""
    masks, secrets = standing.covering[::step], [value for _, value in standing.people[::step]]
    at = 0
    for where, value in standing.rows:
        while at < len(masks) and not (secrets[at] == value and masks[at] >> where & 1):
            at += 1
        if at == len(masks):
            return False
        at += 1
    return True


def _by_class(rows: Sequence[Shown], people: Sequence[Shown]) -> bool:
    """Whether in every class that has all of its people the sensitive values stand as theirs do, and that is no chance.

    A class whose values are sorted says nothing.
    """
    released, original = _values(rows), _values(people)
    evidence = 0.0
    for at, values in released.items():
        here = original.get(at, [])
        if len(here) != len(values) or values == sorted(values):
            continue
        if values != here:
            return False
        evidence += arrangements(Counter(values).values())
    return evidence >= _CLEAR


def _values(rows: Iterable[Shown]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for at, value in rows:
        found.setdefault(at, []).append(value)
    return found


def find_sorted(standing: RowStanding, columns: Mapping[str, Sequence[str]]) -> Iterator[ReleaseFault]:
    """Classes whose rows stand in the order of an original column, of which the labels tell less.

    Whoever knows the order of people by that column, as by age, knows which row is whose.
    """
    released = {at: values for at, values in _values(standing.rows).items() if values != sorted(values)}
    counts = {at: Counter(values) for at, values in released.items()}
    original = {at: values for at, values in _values(standing.people).items() if at in released}
    full = {at: values for at, values in released.items() if Counter(original.get(at, ())) == counts[at]}
    if sum(arrangements(counts[at].values()) for at in full) < _CLEAR:
        return
    people = [(i, at, value) for i, (at, value) in enumerate(standing.people) if at in full]
    for name, texts in columns.items():
        ways = (way for places in ranks_of(texts) for way in _sorted_ways(full, people, places))
        if (way := next(ways, None)) is not None:
            yield ReleaseFault("order", f"in each class the rows are in the order of the original values{way}", name, 1)


def _sorted_ways(
    released: Mapping[int, list[str]], people: Sequence[tuple[int, int, str]], places: Sequence[float]
) -> Iterator[str]:
    """The directions in which every class is sorted by some numbers of its people."""
    inside: dict[int, list[tuple[float, str]]] = {at: [] for at in released}
    for i, at, value in people:
        inside[at].append((places[i], value))
    for sign, way in ((1, ""), (-1, " backwards")):
        if _sorted_bits(released, inside, sign) >= _CLEAR:
            yield way


def _sorted_bits(released: Mapping[int, list[str]], people: Mapping[int, list[tuple[float, str]]], sign: int) -> float:
    """Bits of evidence that every class that has all of its people is sorted by their numbers; 0 where one is not.

    The n-th row with a sensitive value can only be the n-th of the people who have it. Rows of people with the same
    number may stand in any order, and say nothing.
    """
    bits = 0.0
    for at, values in released.items():
        here = people[at]
        waiting: dict[str, list[float]] = {}
        for number, value in sorted(((sign * number, value) for number, value in here), reverse=True):
            waiting.setdefault(value, []).append(number)
        numbers = [waiting[value].pop() for value in values]
        if any(after < before for before, after in pairwise(numbers)):
            return 0.0
        alike: dict[float, Counter[str]] = {}
        for number, value in here:
            alike.setdefault(number, Counter())[value] += 1
        free = sum(arrangements(tied.values()) for tied in alike.values())
        bits += arrangements(Counter(values).values()) - free
    return bits
