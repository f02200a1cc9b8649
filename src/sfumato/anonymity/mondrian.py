"""Local recoding: classes cut at medians, all classes of a round at once (Mondrian; LeFevre and others, ICDE 2006).

Comes in: compressed tuples and models. Goes out: a Recoding whose labels are ranges `20..29` of numbers and unions of
hierarchy labels `a|b` of words. A cut is made where both sides satisfy every model, along the widest column that allows
it; all rows are suppressed if the whole table does not satisfy them, and none otherwise. So the classes after any round
are a release, and Ctrl-C or a time limit end the cuts with these. `generalize` does the same for plain rows.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.anonymity.classes import Classes, Ints, Ladder, Tuples
from sfumato.anonymity.compress import number_rows
from sfumato.anonymity.hierarchies import STAR, Hierarchy, keep_or_star
from sfumato.anonymity.models import Flags, KAnonymity, Model
from sfumato.anonymity.recoding import Recoding, classes_of, hold_all
from sfumato.errors import InputError
from sfumato.interrupts import check_wanted

_PLAIN_NUMBER = re.compile(r"[-+]?\d{1,18}(\.\d{1,18})?")
_PLAIN_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LISTED = 12
"""A set of more values without a hierarchy is shown as `*`."""
_PARTS = 100
"""A set of more labels of a hierarchy is shown as the label above all of them."""
Places = npt.NDArray[np.signedinteger[Any]]
_TAKEN = np.int64(1 << 40)
"""Farther from the median than any cut."""


@dataclass(frozen=True)
class Axis:
    """A column in an order: `place` of each value code, `leaves` the values, `rows` their labels up to `*`.

    `numbers` are those of an enumerated domain, in their order. `taken` are texts that have a meaning already: values,
    and labels that the hierarchy lists. A range or a set of labels that is spelt like one of them is not written, since
    it would be read as that one.
    """

    place: Ints
    leaves: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: bool
    extent: float
    numbers: tuple[Fraction, ...] = ()
    taken: frozenset[str] = frozenset()


def cut_classes(
    tuples: Tuples, models: Sequence[Model], hierarchies: Mapping[str, Hierarchy], seconds: float | None = None
) -> Recoding:
    """The classes, with their labels; after so many seconds no further cut is made."""
    if tuples.population is not None:
        raise InputError("delta-presence is not supported by Mondrian", hint="Use --method lattice.")
    axes = [_axis(ladder.labels[0], hierarchies[ladder.column]) for ladder in tuples.ladders]
    places = [_narrow(axis.place)[codes] for axis, codes in zip(axes, tuples.codes, strict=True)]
    counted = tuples
    if all(isinstance(model, KAnonymity) for model in models):  # sensitive values decide no cut
        counted = replace(tuples, histogram=tuples.histogram.sum(axis=1, keepdims=True), sensitive=("",))
    cutter = _Cutter(counted, tuple(models), np.stack(places), [axis.extent for axis in axes])
    class_of, interrupted = cutter.run(None if seconds is None else time.monotonic() + seconds)
    members = stable_order(class_of, int(class_of.max()) + 1)
    starts = np.flatnonzero(np.diff(class_of[members], prepend=-1))
    parts = [
        _labelled(axis, hierarchies[ladder.column], place[members], starts)
        for axis, ladder, place in zip(axes, tuples.ladders, places, strict=True)
    ]
    return replace(_merged(tuples, models, class_of, parts), interrupted=interrupted)


@dataclass(frozen=True)
class _Cutter:
    """Rounds of cuts, each of them for all classes that can still be cut.

    `places` has one row for each column and one entry for each combination.
    """

    tuples: Tuples
    models: tuple[Model, ...]
    places: Places
    extents: list[float]

    @cached_property
    def sizes(self) -> Ints:
        """Rows of each combination."""
        return np.asarray(self.tuples.histogram.sum(axis=1))

    def run(self, deadline: float | None) -> tuple[Ints, bool]:
        """The class of each combination, and whether the time or Ctrl-C ended the rounds."""
        many, finished, interrupted = len(self.tuples.histogram), 0, False
        class_of, order, starts = np.zeros(many, np.int64), np.arange(many), np.zeros(1, np.int64)
        while len(starts):
            check_wanted()
            lengths = np.diff(np.append(starts, len(order)))
            interrupted = deadline is not None and time.monotonic() >= deadline
            cut, side = np.zeros(len(starts), bool), np.zeros(len(order), bool)
            try:
                if not interrupted:
                    cut, side = self._cuts(order, starts, lengths)
            except KeyboardInterrupt:
                interrupted = True
            owner = np.repeat(np.arange(len(cut)), lengths)
            done = ~cut[owner]
            class_of[order[done]] = (np.cumsum(~cut) - 1 + finished)[owner[done]]
            finished += int((~cut).sum())
            key = owner[~done] * 2 + side[~done]
            turned = stable_order(key, 2 * len(cut))
            order, key = order[~done][turned], key[turned]
            starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]]) if len(key) else np.zeros(0, np.int64)
        return class_of, interrupted

    def _cuts(self, order: Ints, starts: Ints, lengths: Ints) -> tuple[Flags, Flags]:
        """One round: for each class whether it is cut, and for each combination on which side it lies."""
        least = 2 * max((model.least for model in self.models), default=1)
        cut, side = np.add.reduceat(self.sizes[order], starts) >= least, np.zeros(len(order), bool)
        chosen = np.flatnonzero(cut)
        rows = slice(None) if len(chosen) == len(cut) else np.flatnonzero(np.repeat(cut, lengths))
        cut[chosen], side[rows] = self._round(order[rows], lengths[chosen])
        return cut, side

    def _round(self, order: Ints, lengths: Ints) -> tuple[Flags, Flags]:
        """The same for classes that have enough rows."""
        cut, along, limit = np.zeros(len(lengths), bool), np.zeros(len(lengths), np.int64), np.zeros(len(lengths), int)
        if not len(lengths):
            return cut, np.zeros(0, bool)
        places = self.places.take(order, axis=1)
        starts = np.cumsum(lengths) - lengths
        widths = (np.maximum.reduceat(places, starts, axis=1) - np.minimum.reduceat(places, starts, axis=1)).T
        widths = widths / np.maximum(self.extents, 1)
        owner = np.repeat(np.arange(len(lengths)), lengths)
        left = np.arange(len(lengths))
        for _ in range(len(places)):
            column = widths[left].argmax(axis=1)
            wide = widths[left, column] > 0
            left, column = left[wide], column[wide]
            if not len(left):
                break
            along[left], widths[left, column] = column, -1
            number = np.full(len(lengths), -1)
            number[left] = np.arange(len(left))
            rows = np.flatnonzero(number[owner] >= 0) if len(left) < len(lengths) else np.arange(len(order))
            local = number[owner[rows]]
            at, border = self._borders(places[column[local], rows].astype(np.int64), order[rows], local, len(left))
            cut[left[at]] = True
            limit[left[at]] = border
            left = left[~cut[left]]
        side = cut[owner] & (places[along[owner], np.arange(len(order))] > limit[owner])
        return cut, side

    def _borders(self, values: Ints, rows: Ints, owner: Ints, many: int) -> tuple[Ints, Ints]:
        """Classes that can be cut along their column, and the last value of the lower side.

        The cut is made at the value nearest to the median, or at the next nearest.
        """
        span = int(values.max()) + 1
        key = owner * span + values
        turned = stable_order(key, many * span)
        key = key[turned]
        last = np.flatnonzero(np.r_[key[1:] != key[:-1], True])  # of each value of each class
        counted = np.cumsum(self.tuples.histogram[rows[turned]], axis=0)[last]
        group, value = np.divmod(key[last], span)
        closing = np.flatnonzero(np.r_[group[1:] != group[:-1], True])
        before = np.concatenate([np.zeros((1, counted.shape[1]), np.int64), counted[closing[:-1]]])
        whole = counted[closing] - before
        ends = np.flatnonzero(np.r_[group[1:] == group[:-1], False])
        group, value = group[ends], value[ends]
        left = counted[ends] - before[group]
        away = np.abs(2 * left.sum(axis=1) - whole[group].sum(axis=1))
        lead = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
        done, borders, finished = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], np.zeros(many, bool)
        for _ in range(2):
            nearest = np.minimum.reduceat(away * len(ends) + np.arange(len(ends)), lead) % len(ends)
            best = nearest[~finished[group[nearest]] & (away[nearest] < _TAKEN)]
            low, high = left[best], whole[group[best]] - left[best]
            best = best[self._hold(low) & self._hold(high)]
            done.append(group[best])
            borders.append(value[best])
            away[nearest] = _TAKEN
            finished[group[best]] = True
        return np.concatenate(done), np.concatenate(borders)

    def _hold(self, histogram: Ints) -> Flags:
        return hold_all(self.models, _bare(histogram), self.tuples.totals)


def stable_order(keys: Ints, most: int) -> Ints:
    """The order of keys, which are below `most`; equal ones stay as they stand. Sorting packed numbers is fastest."""
    bits = len(keys).bit_length()
    if most.bit_length() + bits > 63:
        return np.argsort(keys, kind="stable")
    packed = keys << bits
    packed |= np.arange(len(keys))
    packed.sort()
    packed &= (1 << bits) - 1
    return packed


def _bare(histogram: Ints) -> Classes:
    return Classes(np.zeros(len(histogram), np.int64), histogram, histogram.sum(axis=1))


def _axis(values: Sequence[str], hierarchy: Hierarchy) -> Axis:
    """Values in the order of their numbers or dates, or else of their hierarchy from the top."""
    rows = tuple(hierarchy.labels(value) or (value, STAR) for value in values)
    listed = frozenset(label for value in hierarchy.values for label in hierarchy.labels(value) or ())
    taken = listed | {*values}
    numbers = [_number(value) for value in values]
    mixed = len({"-" in value.strip()[1:] for value in values}) > 1
    if mixed or any(number is None for number in numbers):
        place = _ranks([tuple(reversed(row)) for row in rows])
        return Axis(place, tuple(values), rows, numeric=False, extent=float(len(values) - 1), taken=taken)
    enumerated = sorted(number for number in map(_number, hierarchy.values) if number is not None)
    return Axis(_ranks(numbers), tuple(values), rows, True, float(len(set(numbers)) - 1), tuple(enumerated), taken)


def _narrow(places: Ints) -> Places:
    """As few bytes as the places need: they are read in random order, again and again."""
    most = int(places.max(initial=0))
    return places.astype(np.int16 if most < 1 << 15 else np.int32 if most < 1 << 31 else np.int64)


def _number(value: str) -> Fraction | None:
    """A plain number, or the number of a day."""
    if _PLAIN_NUMBER.fullmatch(value.strip()):
        return Fraction(value.strip())
    try:
        return Fraction(date.fromisoformat(value).toordinal()) if _PLAIN_DATE.fullmatch(value) else None
    except ValueError:
        return None


def _ranks(keys: Sequence[Any]) -> Ints:
    rank = {key: i for i, key in enumerate(sorted(set(keys)))}
    return np.array([rank[key] for key in keys], np.int64)


@dataclass(frozen=True)
class _Line:
    """The values of an axis in their order, and where each label is on it.

    The values between two places are next to each other, so a label stands for some of them alone if its first and its
    last value lie between these places. `spans` has both for each label of each level, and how many values it has.
    """

    axis: Axis
    hierarchy: Hierarchy

    @cached_property
    def order(self) -> list[int]:
        """Values from the first to the last."""
        return sorted(range(len(self.axis.leaves)), key=lambda i: (int(self.axis.place[i]), self.axis.leaves[i]))

    @cached_property
    def starts(self) -> list[int]:
        """For each place its first value, and the end of all."""
        places = self.axis.place[self.order]
        return list(map(int, np.searchsorted(places, np.arange(int(places[-1]) + 2))))

    @cached_property
    def spans(self) -> list[dict[str, tuple[int, int, int]]]:
        """The first and the last value of each label, and how many there are, level by level."""
        found: list[dict[str, tuple[int, int, int]]] = [{} for _ in self.axis.rows[0]]
        for at, i in enumerate(self.order):
            for level, label in enumerate(self.axis.rows[i]):
                first, _, many = found[level].get(label, (at, at, 0))
                found[level][label] = first, at, many + 1
        return found

    def label(self, low: int, high: int) -> tuple[str, Fraction]:
        """What stands for the values from one place to another, and its share."""
        axis, hierarchy, first, end = self.axis, self.hierarchy, self.starts[low], self.starts[high + 1]
        least, most = (axis.leaves[self.order[at]] for at in (first, end - 1))
        if end - first == 1:
            return least, Fraction(0)
        between = f"{least}..{most}"
        if axis.numeric and between not in axis.taken:
            return between, _numeric_share(axis, hierarchy, least, most)
        if hierarchy.kind == "star":
            leaves = [axis.leaves[i] for i in self.order[first : min(end, first + _LISTED + 1)]]
            plain = len(leaves) <= _LISTED and all(_is_plain(leaf) and STAR not in leaf for leaf in leaves)
            return _joined(leaves, axis) if plain else STAR, Fraction(1)
        parts = self.cover(first, end)
        if len(parts) > _PARTS:
            parts = [self.above(first, end)]
        label = _joined([label for _, label in parts], axis) if len(parts) > 1 else parts[0][1]
        if label == STAR or (len(parts) > 1 and not all(_is_plain(label) for _, label in parts)):
            return STAR, Fraction(1) if hierarchy.domain > 1 else Fraction(0)
        size = sum(
            hierarchy.domain if level == hierarchy.height else hierarchy.size(level, label) for level, label in parts
        )
        share = Fraction(size - 1, hierarchy.domain - 1) if hierarchy.domain > 1 else Fraction(0)
        return label, share

    def cover(self, first: int, end: int) -> list[tuple[int, str]]:
        """Labels that together stand for these values, as high up as no value outside of them is met in the data."""
        parts: dict[tuple[int, str], None] = {}
        at = first
        while at < end and len(parts) <= _PARTS:
            row, level = self.axis.rows[self.order[at]], 0
            for higher in range(len(row) - 1, 0, -1):
                start, last, _ = self.spans[higher][row[higher]]
                if first <= start and last < end:
                    level = higher
                    break
            start, last, many = self.spans[level][row[level]]
            parts[level, row[level]] = None
            at = last + 1 if last - start + 1 == many else at + 1  # its values may have others between them
        return list(parts)

    def above(self, first: int, end: int) -> tuple[int, str]:
        """The lowest label that stands for all of these values."""
        row = self.axis.rows[self.order[first]]
        for level, label in enumerate(row):
            start, last, many = self.spans[level][label]
            if start <= first and end <= last + 1 and last - start + 1 == many:
                return level, label
        return len(row) - 1, row[-1]


def _labelled(axis: Axis, hierarchy: Hierarchy, places: Places, starts: Ints) -> tuple[Ints, list[str], list[Fraction]]:
    """The label of each class along one column: what lies between its least and its greatest value."""
    low = np.minimum.reduceat(places, starts).astype(np.int64)
    high = np.maximum.reduceat(places, starts).astype(np.int64)
    span = int(high.max()) + 1
    pairs, label_of = np.unique(low * span + high, return_inverse=True)
    line = _Line(axis, hierarchy)
    labels, shares = [], []
    for pair in pairs.tolist():
        check_wanted()
        label, share = line.label(pair // span, pair % span)
        labels.append(label)
        shares.append(share)
    return label_of, labels, shares


def _is_plain(text: str) -> bool:
    """Whether a text can be a member of a set `a|b` and be read back."""
    return text != "" and text == text.strip() and not set(text) & set("|{}\r\n")


def _joined(parts: Sequence[str], axis: Axis) -> str:
    """The set of these labels; `*` if a value of the column, or a label of its hierarchy, is spelt like that set."""
    text = "|".join(parts)
    return STAR if text in axis.taken else text


def _numeric_share(axis: Axis, hierarchy: Hierarchy, low: str, high: str) -> Fraction:
    """The part of the declared domain between two numbers; everything where no domain was declared."""
    if hierarchy.kind == "star" or hierarchy.domain <= 1:
        return Fraction(1)
    first, last = _number(low), _number(high)
    assert first is not None
    assert last is not None
    if hierarchy.values:
        others = bisect_right(axis.numbers, last) - bisect_left(axis.numbers, first) - 1
        return Fraction(others, hierarchy.domain - 1)
    return min(Fraction(1), (last - first) / (hierarchy.domain - 1))


def _merged(
    tuples: Tuples, models: Sequence[Model], class_of: Ints, parts: list[tuple[Ints, list[str], list[Fraction]]]
) -> Recoding:
    """Classes that have the same labels are one class: a union of classes that hold."""
    names = [_same(labels) for _, labels, _ in parts]
    codes = [place[label_of] for (label_of, _, _), (place, _) in zip(parts, names, strict=True)]
    first, merged = number_rows(codes, [len(kept) for _, kept in names])
    class_of = merged[class_of]
    classes = classes_of(tuples, class_of, len(first))
    return Recoding(
        class_of,
        classes,
        tuple(code[first] for code in codes),
        tuple(tuple(kept) for _, kept in names),
        tuple(_largest(shares, place, len(kept)) for (_, _, shares), (place, kept) in zip(parts, names, strict=True)),
        hold_all(models, classes, tuples.totals),
    )


def _same(labels: list[str]) -> tuple[Ints, list[str]]:
    kept = sorted(set(labels))
    place = {label: i for i, label in enumerate(kept)}
    return np.array([place[label] for label in labels], np.int64), kept


def _largest(shares: list[Fraction], places: Ints, many: int) -> tuple[Fraction, ...]:
    """The share of each label; of one that several ranges have, the largest."""
    kept = [Fraction(0)] * many
    for share, place in zip(shares, places.tolist(), strict=True):
        kept[place] = max(kept[place], share)
    return tuple(kept)


Row = dict[str, Any]


def generalize(rows: Sequence[Row], quasi: Sequence[str], secret: str, k: int) -> list[Row]:
    """A k-anonymous release of plain rows: quasi-identifiers generalised, the secret as it is, all else left out."""
    if not quasi or not rows:
        return [{secret: row[secret]} for row in rows]
    texts = [["" if row[column] is None else str(row[column]) for row in rows] for column in quasi]
    values = [sorted(set(column)) for column in texts]
    codes = [np.unique(np.array(column, dtype=object), return_inverse=True)[1] for column in texts]
    first, tuple_of = number_rows(codes, [len(kept) for kept in values])
    counts = np.bincount(tuple_of, minlength=len(first))[:, None]
    ladders = tuple(Ladder(name, (), (tuple(kept),), ()) for name, kept in zip(quasi, values, strict=True))
    tuples = Tuples(ladders, tuple(code[first] for code in codes), counts, ("",), 1)
    recoding = cut_classes(tuples, [KAnonymity(k)], {name: keep_or_star(name) for name in quasi})
    classes = recoding.class_of[tuple_of]
    released = []
    for i in np.argsort(classes, kind="stable").tolist():
        at = classes[i]
        shown = {
            name: labels[place[at]]
            for name, labels, place in zip(quasi, recoding.labels, recoding.label_of, strict=True)
        }
        released.append({**shown, secret: rows[i][secret]})
    return released
