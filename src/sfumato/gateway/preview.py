"""The free preview: cost, law, scale, expected interval, budget before and after; no data is touched for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

from sfumato.algebra.relations import scans_in
from sfumato.algebra.tree import Column
from sfumato.errors import SfumatoError
from sfumato.gateway import display
from sfumato.gateway.answer import Spent, bundle_of, expected_width, law_of, rank_start, rank_words, type_name, width_of
from sfumato.gateway.bounds import FoundBound
from sfumato.gateway.column_laws import NOTHING, ColumnNumbers, numbers_of
from sfumato.gateway.interval_sources import Planned, laws
from sfumato.intervals.cell_intervals import is_exact, told
from sfumato.intervals.provenance import ComputedNumber, ListedAggregate, Origin, WindowTotal
from sfumato.policy import Unknown
from sfumato.reals import round_up, sqrt
from sfumato.sql.release.claims import Reason
from sfumato.sql.release.plan import Plan
from sfumato.sql.release.release_plan import GAUSSIAN, GEOMETRIC
from sfumato.sql.release.releases import contribution
from sfumato.types import Loss, certainty, show, show_grouped
from sfumato.types import told as amount_told

_FINE = Fraction(1, 10**6)
"""Square roots are shown to this step, rounded up."""

CLOSES_THE_PURE_DOOR = (
    "Gaussian noise has no pure epsilon: after this answer, the budget of all analysts is tracked in rho only,"
    " permanently"
)


@dataclass(frozen=True)
class PreviewColumn:
    """What is known of a column before it is asked for.

    `numbers` are the noisy ones that it is computed from, with the law of each.
    """

    name: str
    law: str
    scale: Fraction | None
    note: str
    _width: Callable[[Fraction], Fraction | None] = field(repr=False)
    type: str = "text"
    noisy: bool = False
    numbers: ColumnNumbers = field(default=NOTHING, repr=False)
    _supposed: Callable[[int, Fraction], Fraction | None] | None = field(default=None, repr=False)

    def half_width_for(self, rows: int, confidence: Any = Fraction(95, 100)) -> Fraction | None:
        """About ± at this confidence in a group of about so many rows, where it depends on the answer."""
        return None if self._supposed is None else self._supposed(rows, certainty(confidence))

    def half_width(self, confidence: Any = Fraction(95, 100)) -> Fraction | None:
        """± at this confidence, where it does not depend on the answer."""
        return self._width(certainty(confidence))


@dataclass(frozen=True)
class FewerRows:
    """What so many rows of each person give: ± of each column, where it is known before; and what is lost, about.

    `lost` is the part of a table's rows that would not count: known where its rows per person were paid for. `keys` are
    those of undeclared keys: how many of a person count, and from which count or number of people on about half of
    them are shown.
    """

    rows_per_unit: int
    half_widths: tuple[Fraction | None, ...]
    lost: Fraction | None = None
    keys: KeysShown | None = None

    def to_dict(self) -> dict[str, Any]:
        """Fractions as text."""
        widths = [None if width is None else str(width) for width in self.half_widths]
        lost = None if self.lost is None else f"{float(self.lost):.3g}"
        keys = None if self.keys is None else self.keys.to_dict()
        return {"rows_per_unit": self.rows_per_unit, "half_widths": widths, "lost": lost, "keys": keys}


@dataclass(frozen=True)
class KeysShown:
    """Of undeclared keys: how many of a person count, and about the size from which they are shown."""

    groups_per_unit: int
    size: int
    unit: str
    """What the size counts: "count", the number that is asked for, or "people"."""

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {"groups_per_unit": self.groups_per_unit, "size": self.size, "unit": self.unit}


@dataclass(frozen=True, repr=False)
class Preview:
    """The cost and expected error of a query, from `Gateway.explain`: nothing was charged and no row was read.

    `refused` is None, or the error that running the query would raise. `cost` would be charged; `before` and `after`
    are the remaining budget before and after. `columns` have a `name`, a `law`, a `scale`, a `note` and a
    `half_width(confidence)`.
    """

    refused: SfumatoError | None
    cost: Spent | None = None
    before: Spent | None = None
    after: Spent | None = None
    columns: tuple[PreviewColumn, ...] = ()
    notes: tuple[tuple[str | None, str], ...] = ()
    confidence: Fraction = Fraction(95, 100)
    _fewer: Callable[[Fraction], tuple[FewerRows, ...]] | None = field(default=None, repr=False)
    bounds: tuple[Unknown, ...] = ()
    """Bounds that asking would find first, and pay for."""
    why: tuple[Reason, ...] = ()
    """Why one person changes each number by no more than it is said, derived anew from the plan."""
    stored: bool = False
    """Whether it is free because the answer is stored."""

    def __repr__(self) -> str:
        return display.preview_text(self)

    def _repr_html_(self) -> str:
        return display.preview_html(self)

    @property
    def fewer(self) -> tuple[FewerRows, ...]:
        """What the rows that count give, and half and a quarter of them; nothing where that makes no difference."""
        return () if self._fewer is None else self._fewer(self.confidence)

    def to_dict(self) -> dict[str, Any]:
        """The document that all interfaces share, with half-widths at the requested confidence."""
        return {
            "refused": None if self.refused is None else self.refused.to_dict(),
            "cost": None if self.cost is None else self.cost.to_dict(),
            "before": None if self.before is None else self.before.to_dict(),
            "after": None if self.after is None else self.after.to_dict(),
            "columns": [
                {
                    "name": c.name,
                    "law": c.law,
                    "scale": None if c.scale is None else str(c.scale),
                    "half_width": None if (width := c.half_width(self.confidence)) is None else str(width),
                    "expected": [
                        {"rows": rows, "half_width": f"{float(width):.3g}"}
                        for rows in _GROUPS
                        if (width := c.half_width_for(rows, self.confidence)) is not None
                    ],
                    "note": c.note,
                }
                for c in self.columns
            ],
            "rows_per_unit": [one.to_dict() for one in self.fewer],
            "bounds": [{"table": one.table, "column": one.column} for one in self.bounds],
            "confidence": show(self.confidence),
            "notes": [list(note) for note in self.notes],
        }


def columns_of(plan: Plan) -> tuple[PreviewColumn, ...]:
    """The columns of a plan, as a preview shows them; the scale of Gaussian noise is its standard deviation."""
    result = []
    for item, (name, node) in enumerate(plan.question.items):
        law, scale = law_of(plan, item)
        if law == "exact" and _is_noisy(plan, item):
            law = "derived"
        if law == GAUSSIAN and scale is not None:
            scale = round_up(sqrt(scale), _FINE)
        kind = type_name(node.facts)
        has_interval = plan.question.origins[item] is not None
        width = partial(width_of, plan, item)
        numbers = numbers_of(plan, node, law != "exact")
        supposed = partial(expected_width, plan, item) if law == "derived" else None
        note = _note(plan, item, law)
        result.append(PreviewColumn(name, law, scale, note, width, kind, has_interval, numbers, supposed))
    return tuple(result)


def columns_unknown(plan: Plan) -> tuple[PreviewColumn, ...]:
    """The columns of a plan that was made with stand-ins: their names, types and laws, and no number."""
    missing = plan.missing
    note = f"known once {' and '.join(one.words for one in missing)} {'is' if len(missing) == 1 else 'are'} found"
    return tuple(
        column
        if column.law == "exact"
        else replace(
            column,
            scale=None,
            note=note,
            _width=lambda _: None,
            numbers=ColumnNumbers(why=f"its law is {note}"),
            _supposed=None,
        )
        for column in columns_of(plan)
    )


def less(
    plan: Plan, again: Callable[[int], Plan], found: tuple[FoundBound, ...], confidence: Fraction
) -> tuple[FewerRows, ...]:
    """What the rows that count give, then half and a quarter of them, from plans made `again`: public facts only.

    Where keys are undeclared, the same of the keys that count: how many these are decides which of them are shown.
    """
    most = min((contribution(cut.release, cut.terms) for cut in plan.cuts if cut.events), default=1)
    if most == 1:
        return ()
    keys = _keys_shown(plan)
    tried = {max(1, number // part) for number in (most, keys.groups_per_unit if keys else most) for part in (1, 2, 4)}
    least = min(contribution(cut.release, cut.terms) for cut in plan.cuts)  # no release can have more rows than it has
    shown = []
    for rows in sorted((rows for rows in tried if rows == most or rows <= least), reverse=True):
        other = plan if rows == most else again(rows)
        widths = tuple(width_of(other, item, confidence) for item in range(len(other.question.items)))
        shown.append(FewerRows(rows, widths, _lost(plan, found, rows), _keys_shown(other)))
    first = shown[0]
    return tuple(shown) if any((one.half_widths, one.keys) != (first.half_widths, first.keys) for one in shown) else ()


def _keys_shown(plan: Plan) -> KeysShown | None:
    """What is known of undeclared keys: of the grouping set that shows the fewest."""
    parts = [(part.half_shown, part.job.limits.keys) for cut in plan.cuts for part in cut.parts]
    known = [KeysShown(keys, *half) for half, keys in parts if half is not None]
    return max(known, key=lambda one: one.size, default=None)


def _lost(plan: Plan, found: tuple[FoundBound, ...], rows: int) -> Fraction | None:
    """Of the rows of the one table that is asked about, if it is one whose rows per person were found."""
    tables = {scan.table.name for cut in plan.cuts for scan in scans_in(cut.release.below) if not scan.table.public}
    known = [one for one in found if one.of.column is None and {one.of.table} == tables]
    return known[0].persons.lost(Fraction(rows)) if known else None


def notes_of(plan: Plan, composition: str, pure_door_open: bool) -> tuple[tuple[str | None, str], ...]:
    """What to keep in mind; that Gaussian noise closes a door for everybody is said before it is paid for."""
    closes = plan.noise == GAUSSIAN and plan.event is not None and composition == "best" and pure_door_open
    return (*plan.notes, *(((None, CLOSES_THE_PURE_DOOR),) if closes else ()))


def _is_noisy(plan: Plan, item: int) -> bool:
    """Whether noise has touched a column: it has an origin, or there is a reason why it has none."""
    shown = {place: of for place, _, of in plan.question.ends}.get(item, plan.question.origins[item])
    node = plan.question.items[item][1]
    if isinstance(node, Column) and node.name in (known := laws(plan.cuts)) and known[node.name][2].bundle < 0:
        return False  # a constant of the schema
    if shown is None:
        return plan.question.why_no_interval[item] is not None
    return not is_exact(told(shown, (), Planned(plan)))


def _note(plan: Plan, item: int, law: str) -> str:  # noqa: PLR0911  one for each law
    released, of = bundle_of(plan, item), plan.question.origins[item]
    if (worth := rank_words(plan, item, Fraction(95, 100))) is not None:
        starts = ", ".join(f"{_two_digits(rank_start(plan, item, rows))} for {rows:,} rows" for rows in _GROUPS)
        return f"{worth}; informative from about epsilon {starts}"
    if released is not None and law == GEOMETRIC:
        where = " in all groups together" if any(cut.release.keys for cut in plan.cuts) else ""
        return f"one person changes it by at most {show_grouped(released.sensitivity)}{where}"
    if released is not None and law == GAUSSIAN:
        moved = round_up(sqrt(released.sensitivity), _FINE)
        return f"one person changes all groups together by an L2 norm of at most {show_grouped(moved)}"
    if law == "derived":
        if of is None:
            return plan.question.why_no_interval[item] or ""
        if width_of(plan, item, Fraction(1, 2)) is None:
            return _supposed(plan, item) or "its interval depends on the answer"
        return _total(plan, of) or ""
    return "only public tables are read" if law == "exact" and not plan.cuts else ""


_GROUPS = (100, 1000, 10_000)
"""The sizes of groups for which a ratio's interval is foreseen."""


def _supposed(plan: Plan, item: int) -> str | None:
    """About how wide the interval of a mean or a ratio is in groups of some sizes: no size is taken from rows."""
    known = [(rows, expected_width(plan, item, rows, Fraction(95, 100))) for rows in _GROUPS]
    told = [f"± {_two_digits(width)} for about {rows:,} rows" for rows, width in known if width is not None]
    return ", ".join(told) or None


def _two_digits(width: Fraction) -> str:
    return f"{float(f'{float(width):.2g}'):,.0f}" if width >= 10 else f"{float(width):.2g}"


def _total(plan: Plan, of: Origin) -> str | None:
    """Of a total: where its noise is; its half width is that of the widest."""
    if isinstance(of, ComputedNumber):
        return next((found for arg in of.args if (found := _total(plan, arg)) is not None), None)
    name = of.name if isinstance(of, WindowTotal) else of.column if isinstance(of, ListedAggregate) else ""
    for cut in plan.cuts:
        bundles = {column: source.bundle for column, _, source in cut.sources}
        for window, column, _ in cut.totals:
            if window == name:
                alone = cut.parts[0].bundles[bundles[column]].running is None
                return f"noise on {'every group' if alone else 'prefix sums'}; ± is that of the widest total"
    return None


# what is left
def after(left: Spent, cost: Loss) -> Spent:
    """What is left when this is paid."""
    return Spent(_minus(left.epsilon, cost.epsilon), _minus(left.rho, cost.rho), left.delta - cost.delta)


def _minus(left: Fraction | None, cost: Fraction | None) -> Fraction | None:
    """What is left at a door; a price without a claim in its currency shuts it."""
    if left is None or cost is None:
        return None if left is None else Fraction(0)
    return max(Fraction(0), left - cost)


def least(one: Spent, other: Spent) -> Spent:
    """What two budgets both have, in each currency; None is a door that a policy does not have."""
    pairs = ((one.epsilon, other.epsilon), (one.rho, other.rho))
    epsilon, rho = (None if a is None or b is None else min(a, b) for a, b in pairs)
    return Spent(epsilon, rho, min(one.delta, other.delta))


def said(cost: Loss, left: Spent) -> str:
    """A price in the currency that is left."""
    in_rho = cost.epsilon is None or (not left.epsilon and left.rho is not None)
    return f"rho {show(cost.rho or 0)}" if in_rho else f"epsilon {show(cost.epsilon or 0)}"


def lacking(cost: Spent, left: Spent) -> str:
    """What does not suffice: delta, or epsilon, or rho where the price or what is left is counted in it."""
    if cost.delta > left.delta:
        return f"It costs delta {amount_told(cost.delta)}; {show(left.delta)} is left."
    if cost.epsilon is None or (not left.epsilon and left.rho):
        return f"It costs rho {amount_told(cost.rho or 0)}; {show(left.rho or 0)} is left."
    return f"It costs epsilon {amount_told(cost.epsilon)}; {show(left.epsilon or 0)} is left."
