"""What a file gives away beside its labels: row numbers, other columns, the order of rows, odd spellings, metadata.

Comes in: the release, and the original table. Goes out: faults.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import pairwise

from sfumato.anonymity.inspection.coverage import Key
from sfumato.anonymity.inspection.order import CHANCE, Unit, blocks_of, log_chance
from sfumato.anonymity.inspection.ranks import ranks_of
from sfumato.anonymity.inspection.reading import PublishedTable

_CLEAR = 40.0
"""Bits of evidence before an order is called the original one: a dozen rows have too few arrangements to tell."""
_MANY = 10
"""Rows from which on a kept column without a value twice is an identifier: few rows differ by chance."""
Kind = tuple[int, Key]
"""The class of a row, and its values that are released as they are."""


@dataclass(frozen=True)
class ReleaseFault:
    """What is wrong with a release: of which kind, in which column and row (from 1) if there is one, and in words."""

    kind: str
    words: str
    column: str | None = None
    row: int | None = None

    def to_dict(self) -> dict[str, object]:
        """The fault as one document."""
        return {"kind": self.kind, "column": self.column, "row": self.row, "words": self.words}


def find_columns(release: PublishedTable, raw: PublishedTable, known: Sequence[str]) -> Iterator[ReleaseFault]:
    """Columns that nobody declared: row numbers above all."""
    for name in release.columns:
        if name in known:
            continue
        values = [row[release.columns.index(name)] for row in release.rows]
        numbers = [int(v) for v in values if v.isdecimal()]
        alone = sum(1 for n in Counter(values).values() if n == 1)
        if len(numbers) == len(values) > 0 and alone == len(values):
            inside = all(0 <= number <= len(raw.rows) for number in numbers)
            what = "row numbers of the original table" if inside else "unique numbers"
            yield ReleaseFault("index", f"the column holds {what}: every row is unique", name, 1)
        elif name in raw.columns:
            yield ReleaseFault("column", "an original column is released that was not declared", name, None)
        else:
            yield ReleaseFault("column", f"the column was not declared; {alone} of its values occur once", name, None)


def find_identifiers(release: PublishedTable, kept: Key) -> Iterator[ReleaseFault]:
    """Kept columns of which every value occurs once: whoever knows one knows whose row it is, whatever k says."""
    for name in kept:
        values = [row[0] for row in release.parts((name,))]
        if len(values) >= _MANY and len(set(values)) == len(values):
            words = "every value of a kept column occurs once: it identifies its row, and belongs to no release"
            yield ReleaseFault("identifier", words, name)


def find_order(
    shown: Sequence[tuple[Key, str]], bits: Sequence[int], original: Sequence[tuple[int, str]]
) -> Iterator[ReleaseFault]:
    """Rows in the order of the original ones: the n-th row is the n-th person.

    `shown` are labels and sensitive values of the released rows, `bits` their classes; `original` has for each original
    row the classes that cover it and its sensitive value. Rows that are sorted by what they say have an order that
    tells nothing. The order may be that of the whole table, forwards or backwards, or that of each class alone, which
    tools leave that sort by labels.
    """
    if shown == sorted(shown):
        return
    rows = [(bit, value) for (_, value), bit in zip(shown, bits, strict=True)]
    for backwards in (False, True):
        ahead = list(reversed(original)) if backwards else original
        way = " backwards" if backwards else ""
        if _arrangements(Counter(rows).values()) >= _CLEAR and _follows(rows, ahead):
            yield ReleaseFault(
                "order", f"the rows are in the order of the original table{way}, which identifies them", None, 1
            )
            return
        if _by_class(rows, ahead):
            words = f"in each class the rows are in the order of the original table{way}, which identifies them"
            yield ReleaseFault("order", words, None, 1)
            return


def _arrangements(counts: Iterable[int]) -> float:
    """How many bits it takes to say in which order rows stand of which so many are alike."""
    many = list(counts)
    return (math.lgamma(sum(many) + 1) - sum(math.lgamma(n + 1) for n in many)) / math.log(2)


def _follows(rows: Sequence[tuple[int, str]], original: Sequence[tuple[int, str]]) -> bool:
    """Whether the rows can be found one after the other in the original table."""
    at = 0
    for bit, value in rows:
        while at < len(original) and not (original[at][0] & bit and original[at][1] == value):
            at += 1
        if at == len(original):
            return False
        at += 1
    return True


def _by_class(rows: Sequence[tuple[int, str]], original: Sequence[tuple[int, str]]) -> bool:
    """Whether in every class that has all of its people the sensitive values stand as theirs do, and that is no chance.

    A class whose values are sorted says nothing.
    """
    released: dict[int, list[str]] = {}
    for bit, value in rows:
        released.setdefault(bit, []).append(value)
    people: dict[int, list[str]] = {bit: [] for bit in released}
    for mask, value in original:
        if mask and not mask & (mask - 1) and mask in people:  # of one class alone
            people[mask].append(value)
    evidence = 0.0
    for bit, values in released.items():
        if len(people[bit]) != len(values) or values == sorted(values):
            continue
        if values != people[bit]:
            return False
        evidence += _arrangements(Counter(values).values())
    return evidence >= _CLEAR


def find_sorted(
    rows: Sequence[tuple[int, str]], original: Sequence[tuple[int, str]], columns: Mapping[str, Sequence[str]]
) -> Iterator[ReleaseFault]:
    """Classes whose rows stand in the order of an original column, of which the labels tell less.

    `rows` and `original` are as in `find_order`, by class. Whoever knows the order of people by that column, as by age,
    knows which row is whose.
    """
    if not rows or [value for _, value in rows] == sorted(value for _, value in rows):
        return
    released: dict[int, list[str]] = {}
    for bit, value in rows:
        released.setdefault(bit, []).append(value)
    for name, texts in columns.items():
        ways = (way for places in ranks_of(texts) for way in _sorted_ways(released, original, places))
        if (way := next(ways, None)) is not None:
            yield ReleaseFault("order", f"in each class the rows are in the order of the original values{way}", name, 1)


def _sorted_ways(
    released: Mapping[int, list[str]], original: Sequence[tuple[int, str]], places: Sequence[float]
) -> Iterator[str]:
    """The directions in which every class is sorted by some numbers of its people."""
    people: dict[int, list[tuple[float, str]]] = {bit: [] for bit in released}
    for (mask, value), place in zip(original, places, strict=True):
        if mask in people:  # of one class alone
            people[mask].append((place, value))
    for sign, way in ((1, ""), (-1, " backwards")):
        if _sorted_bits(released, people, sign) >= _CLEAR:
            yield way


def _sorted_bits(released: Mapping[int, list[str]], people: Mapping[int, list[tuple[float, str]]], sign: int) -> float:
    """Bits of evidence that every class that has all of its people is sorted by their numbers; 0 where one is not.

    The n-th row with a sensitive value can only be the n-th of the people who have it. Rows of people with the same
    number may stand in any order, and say nothing.
    """
    bits = 0.0
    for bit, values in released.items():
        here = people[bit]
        if Counter(value for _, value in here) != Counter(values) or values == sorted(values):
            continue
        waiting: dict[str, list[float]] = {}
        for number, value in sorted(((sign * number, value) for number, value in here), reverse=True):
            waiting.setdefault(value, []).append(number)
        numbers = [waiting[value].pop() for value in values]
        if any(after < before for before, after in pairwise(numbers)):
            return 0.0
        alike: dict[float, Counter[str]] = {}
        for number, value in here:
            alike.setdefault(number, Counter())[value] += 1
        free = sum(_arrangements(tied.values()) for tied in alike.values())
        bits += _arrangements(Counter(values).values()) - free
    return bits


def find_followed(
    table: Sequence[Sequence[str]],
    rows: Sequence[Kind],
    people: Sequence[Kind],
    columns: Mapping[str, Sequence[str]],
) -> Iterator[ReleaseFault]:
    """Rows that follow the original ones more closely than chance allows: all but a few, a sample, in moved pieces.

    `table` are the released columns, `rows` the class and the other values of released rows, `people` the classes and
    the same values of original ones, `columns` original values. Where the release is sorted or grouped by what it says,
    only rows within a group are compared: with those of the table, and with those of their class.
    """
    blocks = blocks_of(table, len(rows))
    alone = [(i, kind) for i, kind in enumerate(people) if kind[0] and not kind[0] & (kind[0] - 1)]
    inside: dict[tuple[int, int], list[Kind]] = {}
    for at, block in enumerate(blocks):
        for i in block:
            inside.setdefault((at, rows[i][0]), []).append(rows[i])
    whole = [[rows[i] for i in block] for block in blocks]
    parts = list(inside.values())
    orders: list[tuple[str | None, list[float]]] = [(None, [float(i) for i in range(len(people))])]
    orders += [(column, ranks) for column, texts in columns.items() for ranks in ranks_of(texts)]
    limit = math.log(CHANCE / (8 * len(orders)))
    for name, ranks in orders:
        for sign, way in ((1, ""), (-1, " backwards")):
            ordered = _stable(alone, ranks, sign)
            kinds = [kind for _, kind in ordered]
            found = min(log_chance(_units(whole, kinds)), log_chance(_units(parts, kinds)))
            if found >= limit and name is not None:
                fitted = _fitted(ordered, rows)
                found = min(
                    log_chance(_units(whole, fitted)) + _free((rank, kind) for rank, kind in ordered),
                    log_chance(_units(parts, fitted)) + _free(((rank, kind[0]), kind) for rank, kind in ordered),
                )
            if found < limit:
                what = "table" if name is None else "values"
                words = f"the rows follow the order of the original {what}{way}: by chance less than once in a million"
                yield ReleaseFault("order", words, name, 1)
                return


def _stable(alone: Sequence[tuple[int, Kind]], ranks: Sequence[float], sign: int) -> list[tuple[float, Kind]]:
    """People by their numbers, those of one number in the order of the table."""
    return sorted(((sign * ranks[i], kind) for i, kind in alone), key=lambda one: one[0])


def _fitted(ordered: Sequence[tuple[float, Kind]], rows: Sequence[Kind]) -> list[Kind]:
    """People by their numbers, those of one number as the released rows stand: the n-th row of a kind is the n-th."""
    places: dict[Kind, list[int]] = {}
    for i in range(len(rows) - 1, -1, -1):
        places.setdefault(rows[i], []).append(i)
    at = [places[kind].pop() if places.get(kind) else len(rows) for _, kind in ordered]
    chosen = sorted(range(len(ordered)), key=lambda i: (ordered[i][0], at[i]))
    return [ordered[i][1] for i in chosen]


def _free(tied: Iterable[tuple[Hashable, Kind]]) -> float:
    """The logarithm of the number of orders among which those of people with one number were chosen."""
    alike: dict[Hashable, Counter[Kind]] = {}
    for number, kind in tied:
        alike.setdefault(number, Counter())[kind] += 1
    return sum(_arrangements(one.values()) for one in alike.values()) * math.log(2)


def _units(parts: Sequence[list[Kind]], ordered: Sequence[Kind]) -> list[Unit]:
    """Every part beside the original rows of its kinds."""
    if len(parts) == 1:
        return [(parts[0], ordered)]
    owner: dict[Kind, list[int]] = {}
    for at, part in enumerate(parts):
        for kind in set(part):
            owner.setdefault(kind, []).append(at)
    people: list[list[Kind]] = [[] for _ in parts]
    for kind in ordered:
        for at in owner.get(kind, ()):
            people[at].append(kind)
    return [(part, there) for part, there in zip(parts, people, strict=True) if len(part) > 1]


def find_formats(release: PublishedTable, raw: PublishedTable, columns: Key, k: int) -> Iterator[ReleaseFault]:
    """Spellings of one value of which one is rare: it marks its rows, and counts as a value of its own.

    Spellings that the original table has are values of its own: codes 01 and 1.
    """
    for name in columns:
        place = release.columns.index(name)
        counts = Counter(row[place] for row in release.rows)
        original = {row[0] for row in raw.parts((name,))}
        forms: dict[str, list[str]] = {}
        for text in counts:
            forms.setdefault(_plain(text), []).append(text)
        for spellings in forms.values():
            if original.issuperset(spellings):
                continue
            rare = min(spellings, key=lambda text: counts[text])
            if len(spellings) > 1 and counts[rare] < max(k, 2):
                row = next(i for i, row in enumerate(release.rows, 1) if row[place] == rare)
                yield ReleaseFault("format", f"{counts[rare]} rows spell a value differently", name, row)


def _plain(text: str) -> str:
    """One spelling for numbers and words that differ in zeros, capitals and blanks alone."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return " ".join(text.casefold().split())
    return str(number.normalize()) if number.is_finite() else text.casefold()


def find_extras(release: PublishedTable) -> Iterator[ReleaseFault]:
    """What the file holds beside the rows."""
    for extra in release.extras:
        yield ReleaseFault("metadata", f"the file also holds {extra}")
