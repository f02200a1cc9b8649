"""Which numbers above the cut have an interval: sums, and ratios of sums, of released numbers.

Comes in: an expression over released columns. Goes out: its form: a linear combination of noisy sums, or a ratio of
two, found by the shape of the expression; None where the shape is another, and then there honestly is no interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sfumato.sql.aggregates import spread
from sfumato.sql.aggregates.base import DISTINCT, Interval, Term, noise_of, wide_enough, width_of
from sfumato.sql.aggregates.mean import ends_of
from sfumato.sql.bundles import Source
from sfumato.sql.cut import Cut
from sfumato.sql.running import FORMULAS, Reading, Whole
from sfumato.sql.tree import DOUBLE, INTEGER, Aggregate, Call, Column, Constant, Node

Atom = tuple[int, int, int] | tuple[int, int, int, Reading | Whole] | tuple[int, int, int, Whole, str]
"""A noisy sum: which cut, which bundle of it, which part of the bundle; or a total of such sums, or (REST) what a total
has beside the sum of its own row."""
REST = "rest"


@dataclass(frozen=True)
class Linear:
    """A sum of weighted noisy sums and a constant."""

    terms: tuple[tuple[Atom, Fraction], ...] = ()
    constant: Fraction = Fraction(0)

    def scaled(self, factor: Fraction) -> Linear:
        """Times a number."""
        return Linear(tuple((atom, weight * factor) for atom, weight in self.terms), self.constant * factor)

    def split(self, atoms: set[Atom]) -> Linear:
        """Totals of windows as the sum of their own row, where that is among these too, and the rest."""
        whole = Linear((), self.constant)
        for atom, weight in self.terms:
            parts: tuple[Atom, ...] = (atom,)
            if len(atom) == 4 and isinstance(atom[3], Whole) and atom[3].names is None and atom[:3] in atoms:
                parts = (atom[:3], (*atom[:3], atom[3], REST))
            whole = whole.plus(Linear(tuple((part, weight) for part in parts)))
        return whole

    def plus(self, other: Linear) -> Linear:
        """The sum of two."""
        total = dict(self.terms)
        for atom, weight in other.terms:
            total[atom] = total.get(atom, Fraction(0)) + weight
        return Linear(tuple((atom, w) for atom, w in total.items() if w), self.constant + other.constant)


ONE = Linear((), Fraction(1))


@dataclass(frozen=True)
class Form:
    """top/bottom, shown within `rounding` of it."""

    top: Linear
    bottom: Linear = ONE
    rounding: Fraction = Fraction(0)

    @property
    def is_constant(self) -> bool:
        """No noise is in it."""
        return not self.top.terms and not self.bottom.terms

    @property
    def has_law(self) -> bool:
        """Whether its noisy sums are independent: a total shares its noise with its own sums, and with other totals."""
        atoms = {atom for atom, _ in (*self.top.terms, *self.bottom.terms)}
        totals = [atom for atom in atoms if len(atom) > 3]
        alone = [atom[:2] for atom in totals if len(atom) == 4]
        bundles = [atom[:2] for atom in totals] + [atom[:2] for atom in atoms if len(atom) == 3 and atom[:2] in alone]
        return len(bundles) == len(set(bundles))

    def apart(self) -> Form:
        """The same with totals over the row's own part of the table split into the sum of this row and the rest."""
        atoms = {atom for atom, _ in (*self.top.terms, *self.bottom.terms)}
        if isinstance(self, Spread) or not any(len(atom) == 4 and atom[:3] in atoms for atom in atoms):
            return self
        return Form(self.top.split(atoms), self.bottom.split(atoms), self.rounding)


@dataclass(frozen=True)
class Spread(Form):
    """A variance or its root, from three sums: it is shown by itself, or not with an interval."""

    cut: int = 0
    aggregate: Aggregate | None = None
    source: Source | None = None


Laws = dict[str, tuple[int, Aggregate, Source] | tuple[int, Aggregate, Source, Reading | Whole]]
"""Released columns: their cut, what they are, and where their number comes from; and totals of them, each with its
groups and, where it is running, their order."""


def laws(cuts: tuple[Cut, ...]) -> Laws:
    """The released columns of all cuts, and their running totals."""
    known: Laws = {name: (i, a, s) for i, part in enumerate(cuts) for name, a, s in part.sources}
    for part in cuts:
        for window, column, reading in part.totals:
            i, aggregate, source = known[column][:3]
            if source.formula in FORMULAS:
                known[window] = (i, aggregate, source, reading)
    return known


def form_of(node: Node, known: Laws) -> Form | None:
    """The form of an expression, or None."""
    if isinstance(node, Constant):
        value = node.value
        plain = isinstance(value, int | Fraction) and not isinstance(value, bool)
        return Form(Linear((), Fraction(value))) if plain else None  # type: ignore[arg-type]
    if isinstance(node, Column):
        return _of_column(known, node.name)
    if not isinstance(node, Call) or node.name not in _RULES:
        return None
    forms = [form_of(arg, known) for arg in node.args]
    if any(isinstance(form, Spread) for form in forms):
        return None
    if forms[0] is None or (node.name in "+-*/" and forms[1] is None):
        return None
    form = _RULES[node.name](node, forms)
    form = None if form is None else form.apart()
    return form if form is not None and form.has_law else None


def _of_column(known: Laws, name: str) -> Form | None:
    if name not in known:
        return None
    cut, aggregate, source, *reading = known[name]
    if not reading:
        return _released(cut, aggregate, source)
    return Form(Linear((((cut, source.bundle, 0, reading[0]), Fraction(1)),)))


def _released(cut: int, aggregate: Aggregate, source: Source) -> Form | None:
    atoms: list[Atom] = [(cut, source.bundle, part) for part in (0, 1)]
    one = Fraction(1)
    if source.formula == "zero":
        return Form(Linear())
    if source.formula in ("count", "count_persons", "sum", DISTINCT):
        return Form(Linear(((atoms[0], one),)))
    arg = aggregate.arg
    if arg is None or arg.facts.low is None or arg.facts.high is None:
        return None
    low, high = arg.facts.low, arg.facts.high
    width = high - low
    if source.formula.endswith("of thirds"):
        count, total, _ = _thirds(cut, source.bundle, low, high)
        shifted = total.plus(count.scaled(low))
        forms = {"count": Form(count), "sum": Form(shifted), "avg": Form(shifted, count)}
        return forms.get(aggregate.name) or Spread(shifted, count, cut=cut, aggregate=aggregate, source=source)
    if not source.formula.endswith("of ends"):
        return None
    total = Linear(tuple((a, w / width) for a, w in zip(atoms, (high, low), strict=True) if w))
    count = Linear(tuple((a, one / width) for a in atoms))
    return {"sum of ends": Form(total), "count of ends": Form(count), "avg of ends": Form(total, count)}.get(
        source.formula
    )


def _thirds(cut: int, bundle: int, low: Fraction, high: Fraction) -> list[Linear]:
    """COUNT, SUM and sum of squares of x - low from the three sums of a variance."""
    return [
        Linear(tuple(((cut, bundle, part), weight) for part, weight in enumerate(row) if weight))
        for row in spread.weights(low, high)
    ]


def _spread_interval(form: Spread, value: Value, confidence: Fraction) -> Interval:
    """The interval of a variance or its root: where m is the mean, the sum of (x - m)² is linear in the three sums.

    With a third of the allowed error each, the mean is in its own interval, the sum of squares about it is within its
    noise, and so is the count; the variance is then within the extremes over all such means.
    """
    aggregate, source = form.aggregate, form.source
    assert aggregate is not None
    assert source is not None
    low, high = ends_of(aggregate)
    count, total, squares = _thirds(form.cut, source.bundle, low, high)
    sure = 1 - (1 - confidence) / 3
    means = interval(Form(total, count), value, sure)
    counts = interval(Form(count), value, sure)
    if means is None or counts is None or None in means or None in counts:
        return None
    first, last = max(Fraction(0), means[0] or Fraction(0)), min(high - low, means[1] or Fraction(0))
    middle = min(last, max(first, (first + last) / 2))
    lows, highs = [], []
    for m in (first, (first + middle) / 2, middle, (middle + last) / 2, last):
        about = squares.plus(total.scaled(-2 * m)).plus(count.scaled(m * m))
        ends = interval(Form(about, count), value, sure)
        if ends is None or ends[0] is None or ends[1] is None:
            return None
        lows.append(ends[0])
        highs.append(ends[1])
    down, up = max(Fraction(0), min(lows)), max(Fraction(0), *highs)
    if aggregate.name.endswith("samp"):
        fewest = counts[0] or Fraction(0)
        if fewest <= 1:
            return None
        up = up * fewest / (fewest - 1)
    most = aggregate.facts.high
    up = up if most is None else min(up, most if aggregate.name.startswith("var") else most * most)
    if aggregate.name.startswith("var"):
        return down, up
    return Fraction(math.sqrt(down)) * Fraction(999_999_999, 10**9), Fraction(math.sqrt(up)) * Fraction(
        10**9 + 1, 10**9
    )


def _sum(sign: int) -> Callable[[Node, list[Form | None]], Form | None]:
    def rule(_: Node, forms: list[Form | None]) -> Form | None:
        a, b = forms
        assert a is not None
        assert b is not None
        rounding = a.rounding + b.rounding
        if a.bottom == b.bottom:
            return Form(a.top.plus(b.top.scaled(Fraction(sign))), a.bottom, rounding)
        if b.is_constant and b.bottom == ONE:
            return Form(a.top.plus(a.bottom.scaled(b.top.constant * sign)), a.bottom, rounding)
        if a.is_constant and a.bottom == ONE:
            return Form(b.top.scaled(Fraction(sign)).plus(b.bottom.scaled(a.top.constant)), b.bottom, rounding)
        return None

    return rule


def _times(_: Node, forms: list[Form | None]) -> Form | None:
    a, b = forms
    assert a is not None
    assert b is not None
    if a.is_constant:
        a, b = b, a
    if not b.is_constant or b.bottom != ONE:
        return None
    factor = b.top.constant
    return Form(a.top.scaled(factor), a.bottom, a.rounding * abs(factor))


def _divide(node: Node, forms: list[Form | None]) -> Form | None:
    """A ratio; whole numbers are cut off toward zero, which moves them by less than one."""
    a, b = forms
    assert a is not None
    assert b is not None
    whole = Fraction(1 if node.facts.kind == INTEGER else 0)
    if b.is_constant and b.bottom == ONE:
        divisor = b.top.constant
        return None if not divisor else Form(a.top.scaled(1 / divisor), a.bottom, a.rounding / abs(divisor) + whole)
    if a.bottom == b.bottom and not a.rounding and not b.rounding:
        return Form(a.top, b.top, whole)
    return None


def _same(_: Node, forms: list[Form | None]) -> Form | None:
    return forms[0]


def _negate(_: Node, forms: list[Form | None]) -> Form | None:
    form = forms[0]
    return None if form is None else Form(form.top.scaled(Fraction(-1)), form.bottom, form.rounding)


def _round(node: Node, forms: list[Form | None]) -> Form | None:
    """Rounding moves a number by at most one step of where it is rounded to."""
    form, grid = forms[0], node.facts.grid
    if isinstance(node, Call) and node.args[0].facts.grid == grid:  # it lies there already
        return form
    return None if form is None or grid is None else Form(form.top, form.bottom, form.rounding + grid)


def _cast(node: Node, forms: list[Form | None]) -> Form | None:
    return _same(node, forms) if node.facts.kind == DOUBLE else _round(node, forms)


_RULES: dict[str, Callable[[Node, list[Form | None]], Form | None]] = {
    "+": _sum(1),
    "-": _sum(-1),
    "*": _times,
    "/": _divide,
    "negate": _negate,
    "round": _round,
    "floor": _round,
    "ceil": _round,
    "cast": _cast,
    "nullif": _same,
    "coalesce": _same,
}

Value = Callable[[Atom], tuple[Fraction, Term]]
"""The released number of an atom in one row, and its noise."""


def interval(form: Form, value: Value, confidence: Fraction) -> Interval:
    """The interval of a form in one row; a ratio's by test inversion, None where its divisor may be zero."""
    if form.is_constant:
        return None
    if isinstance(form, Spread):
        return _spread_interval(form, value, confidence)
    atoms = {atom: value(atom) for atom, _ in (*form.top.terms, *form.bottom.terms)}
    if any(term.law is not None for _, term in atoms.values()) and (len(atoms) > 1 or form.bottom.terms):
        return None  # such a law is known by itself only

    def at(linear: Linear) -> Fraction:
        return linear.constant + sum((weight * atoms[atom][0] for atom, weight in linear.terms), Fraction(0))

    def width(linear: Linear) -> Fraction:
        return width_of(tuple((weight, atoms[atom][1]) for atom, weight in linear.terms), confidence)

    if not form.bottom.terms:
        centre, half = at(form.top) / form.bottom.constant, width(form.top) / abs(form.bottom.constant)
        return centre - half - form.rounding, centre + half + form.rounding
    below = at(form.bottom)
    if abs(below) <= width(form.bottom):
        return None
    return _inverted(form, {atom: (float(v), term) for atom, (v, term) in atoms.items()}, float(1 - confidence))


def _inverted(form: Form, atoms: dict[Atom, tuple[float, Term]], miss: float) -> Interval:
    """All ratios that the noise does not rule out: those whose gap, top - ratio bottom, is within its own noise."""
    top, bottom = dict(form.top.terms), dict(form.bottom.terms)
    rows = [(float(top.get(atom, 0)), float(bottom.get(atom, 0)), v, term) for atom, (v, term) in atoms.items()]
    first, last = float(form.top.constant), float(form.bottom.constant)
    above = first + sum(a * v for a, _, v, *_ in rows)
    below = last + sum(b * v for _, b, v, *_ in rows)
    middle = above / below

    def possible(ratio: float) -> bool:
        gap = first - ratio * last + sum((a - ratio * b) * v for a, b, v, *_ in rows)
        noise = [noise_of(a - ratio * b, term) for a, b, _, term in rows]
        return abs(gap) <= wide_enough(noise, miss) * (1 + 1e-9)

    noise = [noise_of(a - middle * b, term) for a, b, _, term in rows]
    step = max(wide_enough(noise, miss) / abs(below), abs(middle) * 1e-9, 1e-30)
    ends = [_end(middle, step * sign, possible) for sign in (-1, 1)]
    if ends[0] is None or ends[1] is None:
        return None
    loose = abs(Fraction(ends[1]) - Fraction(ends[0])) / 10**6
    return Fraction(ends[0]) - loose - form.rounding, Fraction(ends[1]) + loose + form.rounding


def _end(inside: float, step: float, possible: Callable[[float], bool]) -> float | None:
    """Where the possible ratios end: by doubling, then halving; rounded outward."""
    middle, outside = inside, inside + step
    for _ in range(40):
        if not possible(outside):
            break
        inside, step = outside, step * 2
        outside = middle + step
    else:
        return None
    for _ in range(20):
        half = (inside + outside) / 2
        inside, outside = (half, outside) if possible(half) else (inside, half)
    return outside
