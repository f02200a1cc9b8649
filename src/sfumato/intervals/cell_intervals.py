"""The confidence interval of one output cell, propagated from the noise of the released numbers behind it.

Comes in: an origin and a row of its slots. Goes out: a number: a ratio of sums of draws as long as that is what it is,
else a tree of functions over such ratios; or NULL, or None where nothing can be told. A ratio has the interval of its
law; a tree the interval that its functions make of those of its ratios, all of which hold together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from sfumato.algebra.exact_numbers import ExactNumbers, exact
from sfumato.algebra.functions import FUNCTIONS
from sfumato.algebra.noise_sums import ONE, CellColumns, Cells, Linear, Moment, OneCell, Pick, Ratio, total
from sfumato.algebra.noise_widths import Interval
from sfumato.algebra.tree import INTEGER, Constant
from sfumato.intervals import interval_arithmetic as boxes
from sfumato.intervals import moments, selected_rows
from sfumato.intervals.provenance import (
    TESTS,
    Choice,
    ComputedNumber,
    Leaf,
    ListedAggregate,
    Origin,
    PossiblyNull,
    PublicValue,
    ReleasedColumn,
    Slot,
    WindowTotal,
)
from sfumato.intervals.sum_intervals import ColumnEnds, PickQuestion, RatioQuestion, Steps, together

_MOST = 1000
"""Intervals that may have to hold together; of more there is none."""


@dataclass(frozen=True)
class Function:
    """A function of numbers, and in a choice of conditions, each with its interval: see `boxes`."""

    origin: ComputedNumber
    args: tuple[Told, ...]


@dataclass(frozen=True)
class Null:
    """NULL, and public that it is."""


@dataclass(frozen=True)
class PublicCondition:
    """A public condition; None is unknown."""

    value: bool | None


Basic = Ratio | Moment | Pick
Number = Basic | Function
Told = Number | Null | PublicCondition
NULL = Null()


class ReleasedSource(Cells, Protocol):
    """The released numbers, by column and row."""

    def released(self, name: str, row: Any) -> Number | Null | None:
        """A released column in a released row; None where its value is no sum, ratio or moment."""

    def run(self, name: str, row: Any) -> Number | None:
        """A window's total at a released row."""

    def listed(self, of: ListedAggregate, rows: Any) -> Number | None:
        """An aggregate over rows where the source knows it as one term; None where it does not."""

    def chosen(self, which: Leaf, slots: Sequence[Any], options: Sequence[Origin | None]) -> int | None:
        """Which of several origins a row has; None for NULL, a number beyond them where it cannot be told."""

    def value(self, leaf: Leaf, slots: Sequence[Any]) -> Any:
        """The value of a leaf."""


def told(of: Origin | None, slots: Sequence[Any], source: ReleasedSource) -> Told | None:  # noqa: PLR0911  one for each kind
    """What an origin is in this row."""
    match of:
        case PublicValue(leaf):
            return _public(leaf, source.value(leaf, slots))
        case ReleasedColumn(name, place):
            row = source.value(place, slots)
            return NULL if row is None else source.released(name, row)
        case WindowTotal(name, place):
            row = source.value(place, slots)
            return NULL if row is None else source.run(name, row)
        case Choice(which, options):
            number = source.chosen(which, slots, options)
            if number is None:
                return NULL
            return told(options[number], slots, source) if number < len(options) else None
        case PossiblyNull(inner):
            found = told(inner, slots, source)
            return None if isinstance(found, Null) else found
        case ListedAggregate():
            return _listed(of, slots, source)
        case ComputedNumber():
            return _made(of, slots, source)
        case None:
            return None


def _public(leaf: Leaf, value: Any) -> Told | None:
    """A public value: exact numbers come in steps of their grid, but for those that are written in the question."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return PublicCondition(value)
    if not isinstance(value, int | float | Fraction) or not math.isfinite(value):
        return None
    number = Fraction(value)
    if isinstance(leaf, Slot) and leaf.facts.exact and leaf.facts.grid is not None:
        number *= leaf.facts.grid
    return Ratio(Linear(frozenset(), number))


def _listed(of: ListedAggregate, slots: Sequence[Any], source: ReleasedSource) -> Told | None:
    rows = source.value(of.rows, slots)
    if rows is None:
        return Ratio(Linear()) if of.name == "count" else NULL
    if of.where is not None:
        return _selected(of, of.where, rows, source)
    return None if _nullified(of.inner) else _over_all(of, rows, source)  # what NULLIF leaves out, noise decides


def _over_all(of: ListedAggregate, rows: Any, source: ReleasedSource) -> Told | None:
    """An aggregate over all listed rows."""
    known = source.listed(of, rows)
    if known is not None or not isinstance(rows, list):
        return known
    found: list[Number] = []
    for row in rows:
        one = told(of.inner, row if isinstance(row, tuple) else (row,), source)
        if one is None or isinstance(one, PublicCondition):
            return None
        if not isinstance(one, Null):
            found.append(one)
    if not found:
        return NULL
    if of.name in ("sum", "avg"):
        plain = [one.top for one in found if isinstance(one, Ratio) and one.bottom == ONE]
        if len(plain) == len(found):
            whole = total(plain)
            return Ratio(whole if of.name == "sum" else whole.scaled(Fraction(1, len(found))))
    return Function(ComputedNumber(f"{of.name} of", (), boxes.DOUBLES), tuple(found)) if len(found) <= _MOST else None


def _selected(of: ListedAggregate, where: Origin, rows: Any, source: ReleasedSource) -> Told | None:
    """An aggregate over those of the listed rows for which a noisy condition holds: conditions and numbers by turns."""
    if not isinstance(rows, list) or _nullified(where) or _nullified(of.inner):
        return None
    found: list[Told] = []
    for row in rows:
        slots = row if isinstance(row, tuple) else (row,)
        if _may_miss(where, slots, source) or _may_miss(of.inner, slots, source):
            return None  # by noise there is not a number in this row
        test, one = told(where, slots, source), told(of.inner, slots, source)
        if test is None or one is None:
            return None
        if not isinstance(test, Null) and not isinstance(one, Null):
            found += [test, one]
    return Function(ComputedNumber(f"{of.name} where", (), boxes.DOUBLES), tuple(found))


def _may_miss(of: Origin | None, slots: Sequence[Any], source: ReleasedSource) -> bool:
    """Whether noise decides if this number is there at all, in this row."""
    match of:
        case PossiblyNull():
            return True
        case ComputedNumber(args=args):
            return any(_may_miss(arg, slots, source) for arg in args)
        case Choice(which, options):
            number = source.chosen(which, slots, options)
            return number is not None and number < len(options) and _may_miss(options[number], slots, source)
    return False


def _nullified(of: Origin | None) -> bool:
    """Whether NULLIF may make this number NULL: by noise, or by the exact number and not by the noisy one.

    Where that number divides, it does not count: a divisor that may be zero has no interval.
    """
    match of:
        case ComputedNumber("/" | "div", (above, ComputedNumber("nullif", (below, PublicValue(Constant(0)))))):
            return _nullified(above) or _nullified(below)
        case ComputedNumber(name, args):
            return name == "nullif" or any(map(_nullified, args))
        case Choice(_, options):
            return any(map(_nullified, options))
        case PossiblyNull(inner) | ListedAggregate(inner=inner):
            return _nullified(inner)
    return False


def _made(of: ComputedNumber, slots: Sequence[Any], source: ReleasedSource) -> Told | None:
    sees_null = of.name in FUNCTIONS and FUNCTIONS[of.name].sees_null
    if sees_null and of.name != "nullif" and any(map(_nullified, of.args)):
        return None  # what stands for NULL, or is left out, is another number
    if sees_null and any(_may_miss(arg, slots, source) for arg in of.args):
        return None  # without the row that noise let in, it would be another number, and not NULL
    if of.name == "case":
        return _case(of, slots, source)
    found = [told(arg, slots, source) for arg in of.args]
    if of.name == "coalesce":
        return next((one for one in found if not isinstance(one, Null)), NULL)
    args = tuple(one for one in found if one is not None)
    return _function(of, args) if len(args) == len(found) else None


def _function(of: ComputedNumber, args: tuple[Told, ...]) -> Told:
    """A function of numbers that are told of: a ratio where it is one."""
    if of.name in ("greatest", "least"):
        args = tuple(one for one in args if not isinstance(one, Null))
        return Function(of, args) if len(args) > 1 else args[0] if args else NULL
    whole = of.facts.kind == INTEGER and of.name == "/"
    same = of.name in ("nullif", "settle") or (of.name == "cast" and of.facts.grid is None and of.extra != "real")
    if same or (of.name not in TESTS and any(isinstance(one, Null) for one in args)):
        return args[0] if same else NULL  # where NULLIF is NULL, NULL is shown; what is shown is rounded at the end
    ratios = [one for one in args if isinstance(one, Ratio)]
    made: Ratio | Null | None = None
    if of.name in _RATIOS and len(ratios) == len(args) and not whole:
        made = _RATIOS[of.name](*ratios)
    return Function(of, args) if made is None else made


def _case(of: ComputedNumber, slots: Sequence[Any], source: ReleasedSource) -> Told | None:
    """The branch of the first condition that holds; from the first one on that noise decides, all that are left."""
    tests, values, last = of.args[:-1:2], of.args[1:-1:2], of.args[-1]
    undecided: list[Told] = []
    for condition, value in zip(tests, values, strict=True):
        test = told(condition, slots, source)
        if test is None:
            return None
        if isinstance(test, Null) or (isinstance(test, PublicCondition) and not test.value):
            continue
        if isinstance(test, PublicCondition):
            last = value
            break
        here = told(value, slots, source)
        if here is None or isinstance(here, Null):
            return None
        undecided += [test, here]
    rest = told(last, slots, source)
    if not undecided or rest is None:
        return rest
    return None if isinstance(rest, Null) else Function(ComputedNumber("case", (), of.facts), (*undecided, rest))


# ratios of sums
def _plus(sign: int) -> Any:
    def rule(a: Ratio, b: Ratio) -> Ratio | None:
        if a.bottom == b.bottom:
            return Ratio(a.top.plus(b.top.scaled(Fraction(sign))), a.bottom)
        if (number := b.fixed) is not None:
            return Ratio(a.top.plus(a.bottom.scaled(number * sign)), a.bottom)
        if (number := a.fixed) is not None:
            return Ratio(b.top.scaled(Fraction(sign)).plus(b.bottom.scaled(number)), b.bottom)
        return None

    return rule


def _times(a: Ratio, b: Ratio) -> Ratio | None:
    if (number := a.fixed) is not None:
        return Ratio(b.top.scaled(number), b.bottom)
    if (number := b.fixed) is not None:
        return Ratio(a.top.scaled(number), a.bottom)
    return None


def _over(a: Ratio, b: Ratio) -> Ratio | Null | None:
    if (number := b.fixed) is not None:
        return Ratio(a.top.scaled(1 / number), a.bottom) if number else NULL
    if a.bottom == b.bottom:
        return Ratio(a.top, b.top)
    if (number := a.fixed) is not None:
        return Ratio(b.bottom.scaled(number), b.top)
    return None


def _negate(a: Ratio) -> Ratio:
    return Ratio(a.top.scaled(Fraction(-1)), a.bottom)


_RATIOS: dict[str, Any] = {"+": _plus(1), "-": _plus(-1), "*": _times, "/": _over, "negate": _negate}


# intervals
def ends(of: Told | None, source: Cells, confidence: Fraction) -> Interval:
    """The interval of a number in one cell."""
    (found,) = ends_of_cells([(of, OneCell(source), 1)], confidence)
    return None if found is None else found.at(0)


def ends_of_cells(
    cells: Sequence[tuple[Told | None, CellColumns, int]], confidence: Fraction
) -> list[ColumnEnds | None]:
    """The intervals of numbers, each in so many cells.

    Guarantee: with at least this probability each holds what SQL would give of the exact sums.
    Proof: a ratio's, a moment's or a chosen value's is that of its law. Of k different ones each holds but for a
        k-th of the allowed misses, so all of them do but for all of it; and where they do, so does what `boxes`
        makes of them.
        Where a divisor may be zero nothing is ruled out: that is told by the `none` of ColumnEnds, and None is where no
        law was worked out.
    Reference: Boole's inequality; Moore, Interval Analysis, 1966.
    Checked by: unit::every_interval_above_the_cut_holds_what_it_promises, unit::half_an_interval_is_too_little
    """
    return together([(_ends(of, count, confidence), columns) for of, columns, count in cells])


def _ends(of: Told | None, count: int, confidence: Fraction) -> Steps[ColumnEnds | None]:
    if isinstance(of, Basic):
        return (yield from _basic(of, count, confidence))
    if not isinstance(of, Function):
        return None
    basics: dict[Basic, boxes.Ends | None] = {}
    _collect(of, basics)
    noisy = sum(not (isinstance(one, Ratio) and one.fixed is not None) for one in basics)
    if noisy > _MOST:
        return None
    sure = 1 - (1 - confidence) / max(1, noisy)
    columns: dict[Basic, ColumnEnds | None] = {}
    for one in basics:
        columns[one] = yield from _basic(one, count, sure)
    if None in columns.values():
        return None  # one of them has a law that is not worked out
    found = [
        _box(of, {one: None if ends is None else ends.at(cell) for one, ends in columns.items()})
        for cell in range(count)
    ]
    nothing = Fraction(0), Fraction(0)
    lows, highs = zip(*(one or nothing for one in found), strict=True)
    return ColumnEnds(list(lows), list(highs), frozenset(cell for cell, one in enumerate(found) if one is None))


def _basic(of: Basic, count: int, confidence: Fraction) -> Steps[ColumnEnds | None]:
    if isinstance(of, Moment):
        known = yield from moments.told(of.aggregate, of.draws, confidence)
        low, high = known or (Fraction(0), Fraction(0))
        return ColumnEnds([low], [high], frozenset() if known else frozenset((0,)))
    if isinstance(of, Pick):
        (found,) = yield [PickQuestion(of.draw, confidence)]
        return found
    if not of.top.terms and not of.bottom.terms:
        if of.fixed is None:
            return None
        same = exact(of.fixed)
        column = ExactNumbers(same.counts * count, same.unit)
        return ColumnEnds(column, column)
    (found,) = yield [RatioQuestion(of.top, of.bottom, confidence)]
    return found


def is_exact(of: Told | None) -> bool:
    """Whether no noise is in it: a public number, or NULL."""
    return isinstance(of, Null) or (isinstance(of, Ratio) and of.fixed is not None)


def has_moments(of: Told | None) -> bool:
    """Whether a number is made of variances and the like, whose weights are other ones in each row."""
    return isinstance(of, Moment) or (isinstance(of, Function) and any(map(has_moments, of.args)))


def has_picks(of: Told | None) -> bool:
    """Whether a number is made of values that were chosen by rank, of which nothing is known before."""
    return isinstance(of, Pick) or (isinstance(of, Function) and any(map(has_picks, of.args)))


def _collect(of: Told, found: dict[Basic, boxes.Ends | None]) -> None:
    if isinstance(of, Basic):
        found[of] = None
    elif isinstance(of, Function):
        for arg in of.args:
            _collect(arg, found)


def _box(of: Told, basics: dict[Basic, boxes.Ends | None]) -> boxes.Ends | None:
    """What functions make of the intervals of their numbers; None where it might be NULL, or anything."""
    if isinstance(of, Basic):
        return basics[of]
    if not isinstance(of, Function):
        return None
    if of.origin.name == "case":
        return _box_of_case(of, basics)
    if of.origin.name in selected_rows.RULES:
        tests, numbers = of.args[::2], of.args[1::2]
        rows = [(_test(test, basics), _box(one, basics)) for test, one in zip(tests, numbers, strict=True)]
        return selected_rows.RULES[of.origin.name](rows)
    found = [_box(arg, basics) for arg in of.args]
    known = [one for one in found if one is not None]
    return boxes.apply(of.origin, known) if len(known) == len(found) else None


def _box_of_case(of: Function, basics: dict[Basic, boxes.Ends | None]) -> boxes.Ends | None:
    """Around all branches that may be the first whose condition holds."""
    *pairs, rest = of.args
    sides = []
    for test, here in zip(pairs[::2], pairs[1::2], strict=True):
        decided = _test(test, basics)
        if decided is not False:
            sides.append(_box(here, basics))
        if decided:
            break
    else:
        sides.append(_box(rest, basics))
    known = [one for one in sides if one is not None]
    return boxes.hull(known) if len(known) == len(sides) else None


def _test(of: Told, basics: dict[Basic, boxes.Ends | None]) -> bool | None:  # noqa: PLR0911  by its kind
    """Whether a condition surely holds, or surely does not (or is unknown to SQL, which in CASE is the same)."""
    if isinstance(of, PublicCondition):
        return bool(of.value)
    if isinstance(of, Null):
        return False
    if not isinstance(of, Function):
        return None
    name = of.origin.name
    if name in ("and", "or"):
        sides = [_test(arg, basics) for arg in of.args]
        if (name == "or") in sides:
            return name == "or"
        return None if None in sides else name == "and"
    if name == "is null":
        there = _box(of.args[0], basics) is not None  # what has an interval is surely not NULL
        return True if isinstance(of.args[0], Null) else False if there else None
    if any(isinstance(arg, Null) for arg in of.args):
        return False if name != "not" else None
    if name == "not":
        inner = _test(of.args[0], basics)
        return None if inner is None or not _certain(of.args[0]) else not inner
    found = [_box(arg, basics) for arg in of.args]
    known = [one for one in found if one is not None]
    return boxes.compare(of.origin, known) if len(known) == len(found) else None


def _certain(of: Told) -> bool:
    """Whether no part of a condition is NULL, so that NOT turns false into true."""
    if isinstance(of, Function):
        return all(_certain(arg) for arg in of.args)
    return not isinstance(of, Null) and not (isinstance(of, PublicCondition) and of.value is None)
