"""Which values an expression can have below a release, by what the engine enforces and nothing else.

Comes in: a relation and expressions over its rows. Goes out: for each the interval of its numbers and how many
different values it has. A scan enforces the domains of its policy; `clamp` holds a number between two constants; CASE,
COALESCE, sums and products of such numbers follow. Everything else is unbounded here, whatever its facts say: facts are
what the planner has concluded, and this module checks the planner.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from math import prod

from sfumato.algebra import geo_cells
from sfumato.algebra.calendar_units import CLOCK, first_day, units_between
from sfumato.algebra.relations import (
    Distinct,
    Filter,
    Fixed,
    Grouped,
    Join,
    Limited,
    MarkJoin,
    Projection,
    Relation,
    Scan,
    SetOperation,
    UnionAll,
    Windowed,
)
from sfumato.algebra.tree import BOOLEAN, DATE, DECIMAL, INTEGER, TEXT, Call, Column, Constant, Node, columns_of
from sfumato.interrupts import step
from sfumato.policy import PolicyColumn as Declared

_TRUTHS = ("=", "<>", "<", "<=", ">", ">=", "is distinct from", "in", "and", "or", "not", "is null")
_EXACT = (INTEGER, DECIMAL)


@dataclass(frozen=True)
class Domain:
    """The values that are not NULL: numbers from `low` to `high`, and at most `count` different ones.

    None where nothing is enforced. `nullable`: NULL may be among them.
    """

    low: Fraction | None = None
    high: Fraction | None = None
    count: int | None = None
    nullable: bool = True
    days: tuple[int, int] | None = None
    """Of dates and timestamps: the first and the last day, by their numbers."""

    @property
    def largest(self) -> Fraction | None:
        """The largest size of a number; None without a bound."""
        return None if self.low is None or self.high is None else max(abs(self.low), abs(self.high))


ANYTHING = Domain()


class Domains:
    """The domains of expressions over the rows of a relation; each column is looked up once.

    Guarantee: no rows of the tables give an expression a value outside of its domain.
    Proof: by the written meaning of jobs. A scan replaces what lies outside of a declared domain; clamp(x, a,
        b) is min(max(x, a), b); CASE, COALESCE and NULLIF give one of their results; exact sums, differences
        and products of numbers in intervals lie in the interval of the ends; the first day of a unit is one of
        the units of its days; the least and the largest of a unit's values are among them; a function has no
        more values than its columns have combinations. Other operators hand columns on, or add NULL.
    Reference: semantics 1.4; engines/reference.py.
    Checked by: laws::derived_domains_hold_in_every_row, laws::no_neighbour_exceeds_what_is_derived
    """

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._below: dict[int, Domains] = {}
        self._columns: dict[str, Domain] = {}

    def of(self, node: Node) -> Domain:
        """The domain of an expression over the rows."""
        if isinstance(node, Column):
            if node.name not in self._columns:
                self._columns[node.name] = self._column(self._relation, node.name)
            return self._columns[node.name]
        if isinstance(node, Constant):
            return _constant(node)
        return self._call(node) if isinstance(node, Call) else ANYTHING

    def _call(self, node: Call) -> Domain:
        step()
        made = ANYTHING
        if node.name in ("case", "coalesce"):
            results = [*node.args[1:-1:2], node.args[-1]] if node.name == "case" else node.args
            made = _any_of(self.of(result) for result in results) if node.facts.kind in (*_EXACT, TEXT, DATE) else made
        elif node.name == "nullif":
            made = self.of(node.args[0])
        elif node.name == "clamp":
            made = _clamped(node, self.of(node.args[0]).count)
        elif node.name in _ARITHMETIC and all(of.facts.kind in _EXACT for of in (node, *node.args)):
            made = _ARITHMETIC[node.name](*(self.of(arg) for arg in node.args))
        elif node.name == "geo_cell":
            grid = geo_cells.read(node.extra)
            made = Domain(count=grid.rows * grid.columns)
        elif node.name == "date_trunc":
            made = _truncated(node.extra, self.of(node.args[0]).days)
        elif node.name in _TRUTHS:
            made = Domain(count=2)
        inner = [self.of(column) for column in columns_of(node).values()]
        sizes = [None if one.count is None else one.count + one.nullable for one in inner]
        counts = [count for count in (made.count, _product(sizes)) if count is not None]
        return Domain(made.low, made.high, min(counts, default=None), days=made.days)

    # columns
    def _at(self, relation: Relation) -> Domains:
        return self._below.setdefault(id(relation), Domains(relation))

    def _column(self, relation: Relation, name: str) -> Domain:  # noqa: PLR0911  one case for each operator
        if isinstance(relation, Scan):
            number, _, own = name.partition(".")
            declared = relation.table.columns.get(own) if number == str(relation.number) else None
            return ANYTHING if declared is None else _declared(declared, relation.table.public)
        if isinstance(relation, Projection):
            node = dict(relation.items).get(name)
            return ANYTHING if node is None else self._at(relation.below).of(node)
        if isinstance(relation, Join):
            return self._joined(relation, name)
        if isinstance(relation, UnionAll | SetOperation):
            place = list(relation.columns).index(name) if name in relation.columns else None
            if place is None:
                return ANYTHING
            return _any_of(self._at(part).of(nodes[place]) for part, nodes in relation.parts)
        if isinstance(relation, Grouped):
            return self._grouped(relation, name)
        if isinstance(relation, MarkJoin) and name == relation.name:
            return Domain(count=2)
        if isinstance(relation, Windowed) and name in dict(relation.windows):
            return ANYTHING
        if isinstance(relation, Filter | Distinct | Limited | MarkJoin | Windowed | Fixed):
            return self._at(relation.below).column(name)
        return ANYTHING

    def column(self, name: str) -> Domain:
        """The domain of a column of the relation."""
        return self._column(self._relation, name)

    def _joined(self, join: Join, name: str) -> Domain:
        """A column of either side, the right one's where both have it; NULL where a side is missing."""
        if name == f"{join.number}.unit":
            return ANYTHING
        right = name in join.right.columns
        found = self._at(join.right if right else join.left).column(name)
        outer = join.kind == "full" or (right and join.kind != "inner")
        return Domain(found.low, found.high, found.count, found.nullable or outer, found.days)

    def _grouped(self, grouped: Grouped, name: str) -> Domain:
        below, aggregate = self._at(grouped.below), dict(grouped.aggregates).get(name)
        if name == f"{grouped.number}.set":
            return ANYTHING
        key = dict(grouped.keys).get(name)
        if aggregate is not None:
            key = aggregate.arg if aggregate.name in ("min", "max") else None
        elif name in grouped.below.columns and not (isinstance(key, Column) and key.name == name):
            return ANYTHING  # two columns of one name: no telling which is read
        found = ANYTHING if key is None else below.of(key)
        return Domain(found.low, found.high, found.count, days=found.days)


def _declared(declared: Declared, public: bool) -> Domain:
    """What a scan enforces of a column."""
    nullable, low, high = public or declared.nulls, declared.low, declared.high
    if declared.values is not None:
        numbers = [Fraction(v) for v in declared.values if isinstance(v, int)] if declared.type == INTEGER else []
        return Domain(min(numbers, default=None), max(numbers, default=None), len(declared.values), nullable)
    if declared.type == BOOLEAN:
        return Domain(count=2, nullable=nullable)
    if low is None or high is None:
        return Domain(nullable=nullable)
    if isinstance(low, date) or isinstance(high, date):
        ends = low.toordinal(), high.toordinal()  # type: ignore[union-attr]
        return Domain(count=ends[1] - ends[0] + 1 if declared.type == DATE else None, nullable=nullable, days=ends)
    grid = Fraction(1) if declared.type == INTEGER else declared.grid
    if grid is None:
        return Domain(nullable=nullable)  # a double without a grid is fit for conditions, not for sums
    return Domain(Fraction(low), Fraction(high), _steps(Fraction(low), Fraction(high), grid), nullable)


def _truncated(unit: str, days: tuple[int, int] | None) -> Domain:
    """First days, or first moments, of the units that hold these days."""
    if days is None:
        return ANYTHING
    if unit in CLOCK:
        return Domain(count=units_between(unit, *days), days=days)
    low, high = (first_day(unit, date.fromordinal(day)).toordinal() for day in days)
    return Domain(count=units_between(unit, low, high), days=(low, high))


def _steps(low: Fraction, high: Fraction, grid: Fraction) -> int:
    """How many values there are on a grid between two ends, with the ends."""
    return max(0, int((high - low) / grid)) + (1 if not low % grid and not high % grid else 2)


def _constant(node: Constant) -> Domain:
    if node.value is None:
        return Domain(count=0)
    exact = isinstance(node.value, int | Fraction) and not isinstance(node.value, bool)
    number = Fraction(node.value) if exact else None  # type: ignore[arg-type]
    return Domain(number, number, 1, nullable=False)


def _clamped(node: Call, count: int | None) -> Domain:
    """Between constants; a value that is clamped is one number, so there are no more of them than before."""
    ends = [end.value if isinstance(end, Constant) else None for end in node.args[1:]]
    if node.args[0].facts.kind not in _EXACT or len(ends) != 2:
        return ANYTHING
    if any(isinstance(end, bool) or not isinstance(end, int | Fraction) for end in ends):
        return ANYTHING
    low, high = (Fraction(end) for end in ends)  # type: ignore[arg-type]
    return Domain(min(low, high), high, count)


def _any_of(domains: Iterable[Domain]) -> Domain:
    """The domain of what is one of several; one that is always NULL adds no number."""
    every = list(domains)
    known = [one for one in every if one.count != 0]
    low, high = ([getattr(one, end) for one in known] for end in ("low", "high"))
    counts = [one.count for one in every]
    spans = [one.days for one in known]
    days = None
    if spans and None not in spans:
        days = min(span[0] for span in spans if span), max(span[1] for span in spans if span)
    return Domain(
        None if None in low else min(low, default=None),
        None if None in high else max(high, default=None),
        None if None in counts else sum(count for count in counts if count is not None),
        days=days,
    )


def _product(sizes: list[int | None]) -> int | None:
    return None if None in sizes else prod(size for size in sizes if size is not None)


def _plus(a: Domain, b: Domain) -> Domain:
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return ANYTHING
    return Domain(a.low + b.low, a.high + b.high)


def _minus(a: Domain, b: Domain) -> Domain:
    return ANYTHING if b.low is None or b.high is None else _plus(a, Domain(-b.high, -b.low))


def _times(a: Domain, b: Domain) -> Domain:
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return ANYTHING
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return Domain(min(ends), max(ends))


_ARITHMETIC = {"+": _plus, "-": _minus, "*": _times}
