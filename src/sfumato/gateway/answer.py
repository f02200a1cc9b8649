"""What an analyst gets: rows, intervals, cost, what remains, notes and a receipt; one document for all interfaces."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.base import CHOICE
from sfumato.algebra.finished_tables import FinishedTable
from sfumato.algebra.functions.interval_ends import HIGH, LOW
from sfumato.algebra.noise_sums import ONE, Ratio
from sfumato.algebra.post_processing import PostProcessing
from sfumato.algebra.tree import (
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    INTEGER,
    PRINTED,
    TEXT,
    TIMESTAMP,
    Column,
    Facts,
    Node,
)
from sfumato.algebra.tree import columns_of as columns_in
from sfumato.errors import InputError
from sfumato.gateway import charts, display, frames
from sfumato.gateway.amounts import FREE, Spent
from sfumato.gateway.interval_sources import DrawnNumbers, Planned, Supposed, laws, possible, released_as
from sfumato.gateway.released_tables import Draws, bare, is_bare, released_tables
from sfumato.gateway.shown_intervals import NumberWorth, Range, decimal_of, intervals_shown
from sfumato.gateway.worth_notes import NO_VALUE, all_notes
from sfumato.intervals.cell_intervals import Null, PublicCondition, ends, has_picks, told
from sfumato.intervals.provenance import Choice, ComputedNumber, Origin, PossiblyNull, ReleasedColumn
from sfumato.mechanisms import Gaussian, Geometric
from sfumato.sql.query_binding import BoundQuery
from sfumato.sql.release.plan import Plan
from sfumato.sql.release.ranks import ranks
from sfumato.sql.release.release_plan import GAUSSIAN, GroupingSetPlan, ReleasedBundle
from sfumato.types import certainty, show

__all__ = ["FREE", "TYPES", "Answer", "Spent"]

TYPES = {
    INTEGER: "bigint",
    DECIMAL: "numeric",
    DOUBLE: "numeric",
    TEXT: "text",
    DATE: "date",
    TIMESTAMP: "timestamp",
    BOOLEAN: "boolean",
}
"""PostgreSQL's names."""


def type_name(facts: Facts) -> str:
    """The type of a column that is shown: intervals and JSON are texts that say what they are."""
    if facts.kind == TEXT and facts.every in PRINTED:
        return facts.every
    return TYPES.get(facts.kind, "text")


CLAMPED = (
    "are shown as at least 0, so adding them up overestimates the total; compute totals in SQL (free and unbiased)"
)

Finish = Callable[[PostProcessing, tuple[FinishedTable, ...]], list[tuple[Any, ...]]]
"""Where what lies above the cut runs."""


@dataclass(frozen=True, repr=False)
class Answer:
    """A noisy answer: iterate over its rows, take a column by name, or turn it into a frame.

    `rows` are tuples of int, Decimal, str, date, bool and None; `types` are PostgreSQL's names. `cost` was charged for
    it, `remaining` is left, `notes` are (column or None, text), and `receipt` names it in the ledger. `rows` have every
    number; frames, CSV and JSON have NULL in place of those that carry no information (see `untold`). Counts and sums
    are shown as at least 0: take their totals in SQL, which adds up the numbers as they were drawn.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    cost: Spent
    remaining: Spent
    notes: list[tuple[str | None, str]]
    receipt: str | None
    confidence: Fraction = Fraction(95, 100)
    _plan: Plan | None = field(default=None, repr=False)
    _draws: Draws = field(default=(), repr=False)
    _traces: tuple[tuple[Any, ...], ...] = field(default=(), repr=False)
    """What origins need of each row: which released rows are behind it, and what is public in it."""

    def intervals(self, confidence: Any = None, *, first: int | None = None) -> list[list[tuple[Any, Any] | None]]:
        """Confidence intervals, one list per row: (low, high) for each noisy column, else None.

        With `first`, only those of the first rows, which is faster for long answers.
        """
        wanted = self.confidence if confidence is None else certainty(confidence)
        return [[one.interval for one in row] for row in self.worth(wanted, first=first)]

    def worth(self, confidence: Any = None, *, first: int | None = None) -> list[list[NumberWorth]]:
        """For each number, row by row: its interval, and where it has none, whether it is noisy."""
        confidence = self.confidence if confidence is None else certainty(confidence)
        return self._worth(confidence, first, range(len(self.columns)))

    def worth_of_doubtful(self) -> list[list[NumberWorth]]:
        """`worth` for the columns in which a number may be unknown alone: of a long answer, the cheap part of it."""
        plan = self._plan
        doubtful = [] if plan is None else [i for i in range(len(self.columns)) if may_be_unknown(plan, i)]
        return self._worth(self.confidence, None, doubtful)

    def _worth(self, confidence: Fraction, first: int | None, places: Collection[int]) -> list[list[NumberWorth]]:
        """What the numbers of these columns are worth; nothing is said of the others."""
        plan, rows = self._plan, self.rows[:first]
        if plan is None or plan.event is None or not places:
            return [[NumberWorth()] * len(self.columns) for _ in rows]
        slots, found = self._slots(first), DrawnNumbers(plan, self._draws)
        columns = [
            intervals_shown(of, [row[i] for row in rows], slots, (found, confidence), node.facts)
            if i in places
            else [NumberWorth()] * len(rows)
            for i, (of, (_, node)) in enumerate(zip(plan.question.origins, plan.question.items, strict=True))
        ]
        return [list(row) for row in zip(*columns, strict=True)]

    def _slots(self, first: int | None) -> list[tuple[Any, ...]]:
        """What origins need of each row."""
        if not self._traces:
            return [()] * len(self.rows[:first])
        return list(zip(*(column[:first] for column in self._traces), strict=True))

    def untold(self, *, first: int | None = None) -> list[list[bool]]:
        """Which numbers carry no information: their intervals span the whole declared range; null in frames."""
        return [[one.unknown for one in row] for row in self.worth(first=first)]

    def known_rows(self, worth: Sequence[Sequence[NumberWorth]] | None = None) -> list[tuple[Any, ...]]:
        """The rows as every interface hands them out: None in place of a number that carries no information.

        `worth` is what `worth` or `worth_of_doubtful` gave, where it is known already.
        """
        worth = self.worth_of_doubtful() if worth is None else worth
        return [
            tuple(None if one.unknown else value for value, one in zip(row, told, strict=True))
            if any(one.unknown for one in told)
            else row
            for row, told in zip(self.rows, worth, strict=True)
        ]

    def again(self, cost: Spent, remaining: Spent) -> Answer:
        """The same answer, told another time; what one who holds it does to its rows is not seen by others."""
        return replace(self, rows=list(self.rows), notes=list(self.notes), cost=cost, remaining=remaining)

    @property
    def plan(self) -> Plan | None:
        """The plan that it was drawn by."""
        return self._plan

    def is_again(self, other: Answer) -> bool:
        """Whether both are one answer, told twice."""
        return self._traces is other._traces and self._draws is other._draws and self._plan is other._plan

    @property
    def noisy(self) -> tuple[bool, ...]:
        """Which columns have intervals: known from the question alone, the same for every row."""
        if self._plan is None or not self._plan.cuts:
            return (False,) * len(self.columns)
        return tuple(of is not None for of in self._plan.question.origins)

    def to_dict(self) -> dict[str, Any]:
        """The document that all interfaces share: fractions, decimals and dates as text, NULL as null.

        `unknown` lists [row, column] of numbers that carry no information: their intervals span the whole range, and
        the rows have null in their place.
        """
        told = self.worth()
        return {
            "columns": list(self.columns),
            "types": list(self.types),
            "rows": [[_plain(value) for value in row] for row in self.known_rows(told)],
            "intervals": [
                [None if one.interval is None else [_plain(end) for end in one.interval] for one in row] for row in told
            ],
            "unknown": [[i, j] for i, row in enumerate(told) for j, one in enumerate(row) if one.unknown],
            "confidence": show(self.confidence),
            "cost": self.cost.to_dict(),
            "remaining": self.remaining.to_dict(),
            "notes": [list(note) for note in all_notes(self, told)],
            "receipt": self.receipt,
        }

    def to_arrow(self, *, intervals: bool = False, exact: bool = False) -> Any:
        """A pyarrow Table: int64, float64, date32, bool and string.

        With `intervals`, each noisy column NAME is followed by NAME_low and NAME_high. `exact` keeps every digit:
        a value that is not a 64-bit integer is a decimal.
        """
        return frames.to_arrow(self, intervals=intervals, exact=exact)

    def to_pandas(self, *, intervals: bool = False) -> Any:
        """A pandas DataFrame: Int64, float64, boolean, datetime64 and text, ready for arithmetic and plots.

        With `intervals`, each noisy column NAME is followed by NAME_low and NAME_high. A number that is `unknown` is
        missing. Take totals of counts in SQL: those that noise has carried below 0 are shown as 0.
        """
        return frames.to_pandas(self, intervals=intervals)

    def to_polars(self, *, intervals: bool = False, exact: bool = False) -> Any:
        """A Polars DataFrame, with the options of `to_arrow`."""
        return frames.to_polars(self, intervals=intervals, exact=exact)

    def plot(self, x: str | None = None, y: str | None = None, *, ax: Any = None) -> Any:
        """A chart with confidence intervals: bars for categories, a line for times and for many numbers.

        By default it draws the first noisy column over the first column that is not noisy. With several such columns
        the axis is a time, or else a number, and each combination of the others is a line; two columns of names are
        bars in groups. Of more than eight lines or colours the largest are drawn. It returns a Chart, which a notebook
        shows and `save` writes as SVG; with `ax`, matplotlib axes, it draws there and returns them.
        """
        return charts.draw(self, x, y) if ax is None else charts.draw_on(ax, self, x, y)

    def __len__(self) -> int:
        return len(self.rows)

    def __bool__(self) -> bool:
        """An answer is an answer also where it has no row."""
        return True

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> list[Any]:
        """The values of a column; of several with one name, the first."""
        if column not in self.columns:
            names = ", ".join(self.columns)
            raise InputError(f"there is no column {column!r}", hint=f"The columns are {names}; rows are in .rows.")
        place = self.columns.index(column)
        return [row[place] for row in self.rows]

    def __repr__(self) -> str:
        return display.answer_text(self)

    def _repr_html_(self) -> str:
        return display.answer_html(self)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal | date) else value


def build(
    plan: Plan,
    draws: Draws,
    *,
    finish: Finish,
    cost: Spent,
    remaining: Spent,
    receipt: str | None,
    confidence: Fraction,
) -> Answer:
    """The answer from released whole numbers: everything from here on is post-processing."""
    question = plan.question
    released = released_tables(plan.cuts, draws)
    if is_bare(question):
        across = bare(question, released[-1])
    else:
        across = _across(question, finish(question.post_processing, released))
    count, found = len(question.items), DrawnNumbers(plan, draws)
    traces = tuple(across[count:])
    shown = [
        list(_shown(values, node.facts, _ranges(of, found, traces)))
        for values, (_, node), of in zip(across[:count], question.items, question.origins, strict=True)
    ]
    columns = tuple(name for name, _ in question.items)
    types = tuple(type_name(node.facts) for _, node in question.items)
    notes: list[tuple[str | None, str]] = list(plan.notes)
    worth = [(name, rank_words(plan, item, confidence)) for item, name in enumerate(columns)]
    notes += [(name, words) for name, words in worth if words is not None]
    for (name, words), values, (_, node) in zip(worth, shown, question.items, strict=True):
        if words is not None and None in values:
            why = "its interval is the whole declared range"
            if isinstance(node, Column) and laws(plan.cuts)[node.name][1].name == "mode":
                why = "even at the upper end of its count, the group is too small"
            notes.append((name, f"{NO_VALUE}: {why}"))
        elif words is None and None in values and _divides(plan, node):
            notes.append((name, f"{NO_VALUE}: with this much noise, too few rows are left to compute it from"))
    notes += _clamp_notes(across, shown, question, (found, traces))
    if not plan.cuts:
        notes = [(None, "exact: only public tables are read")]
    rows = _with_ends(list(zip(*shown, strict=True)), question, traces, found, confidence)
    return Answer(columns, types, rows, cost, remaining, notes, receipt, confidence, plan, draws, traces)


def _clamp_notes(
    drawn: Sequence[Sequence[Any]],
    shown: Sequence[Sequence[Any]],
    question: BoundQuery,
    behind: tuple[DrawnNumbers, tuple[tuple[Any, ...], ...]],
) -> list[tuple[str | None, str]]:
    """A note where a count or a sum among several was drawn below 0 and is shown as 0: what people add up is biased."""
    found, traces = behind
    names: set[str] = set()
    for values, column, of, (_, node) in zip(drawn, shown, question.origins, question.items, strict=False):
        if of is None or node.facts.kind not in (INTEGER, DECIMAL, DOUBLE) or len(column) < 2:
            continue
        for row, (number, held) in enumerate(zip(values, column, strict=True)):
            if number is not None and number < 0 and held == 0:
                aggregate = released_as(of, found, tuple(trace[row] for trace in traces))
                names |= set() if aggregate is None else {aggregate.name}
    names = {name for name in names if AGGREGATES[name].never_null}
    sums = [name.startswith("sum") for name in names]
    what = " and ".join(["counts"] * (not all(sums)) + ["sums"] * any(sums))
    return [(None, f"{what} {CLAMPED}")] if names else []


def _divides(plan: Plan, node: Node) -> bool:
    """Whether a column is a mean, a variance or another noisy number that needs some rows."""
    known = laws(plan.cuts).get(node.name) if isinstance(node, Column) else None
    return known is not None and known[2].bundle >= 0 and not AGGREGATES[known[1].name].never_null


def _with_ends(
    rows: list[tuple[Any, ...]],
    question: BoundQuery,
    traces: tuple[tuple[Any, ...], ...],
    found: DrawnNumbers,
    sure: Fraction,
) -> list[tuple[Any, ...]]:
    """The rows with ends of intervals in the place of the numbers that asked for them; NULL where there is none."""
    if not question.ends:
        return rows
    slots = list(zip(*traces, strict=True)) if traces else [()] * len(rows)
    shown = [list(row) for row in rows]
    for i, word, of in question.ends:
        values = [row[i] for row in rows]
        ends = intervals_shown(of, values, slots, (found, sure), question.items[i][1].facts)
        for cells, value, (around, *_) in zip(shown, values, ends, strict=True):
            cells[i] = None
            if around is not None:
                low, high = around
                middle = None if value is None else min(max(value, low), high)  # as it is shown, within its range
                cells[i] = {LOW: low, HIGH: high}.get(
                    word, None if middle is None else max(high - middle, middle - low)
                )
    return [tuple(cells) for cells in shown]


def _across(question: BoundQuery, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows as columns: the items, then what their origins need."""
    width = len(question.items) + len(question.traces)
    return list(zip(*rows, strict=True)) if rows else [()] * width


def _ranges(
    of: Origin | None, found: DrawnNumbers, traces: tuple[tuple[Any, ...], ...]
) -> Range | Callable[[int], Range]:
    """Within what a column is shown, row by row: released numbers within what is possible for them."""

    def at(slots: tuple[Any, ...]) -> Range:
        aggregate = released_as(of, found, slots)
        return (None, None) if aggregate is None else possible(aggregate)

    if not isinstance(of, Choice | ComputedNumber | PossiblyNull):
        return at(())
    return lambda row: at(tuple(column[row] for column in traces))


def _shown(values: tuple[Any, ...], facts: Facts, within: Range | Callable[[int], Range]) -> Iterable[Any]:
    """A column for people: exact numbers from steps, doubles to twelve digits, clamped to what is possible."""
    if facts.kind not in (INTEGER, DECIMAL, DOUBLE):
        return values
    if not facts.exact or facts.grid is None:
        return [
            None
            if value is None
            else +Decimal(f"{_clamped(float(value), within(row) if callable(within) else within):.12g}")
            for row, value in enumerate(values)
        ]
    steps = [None if value is None else int(value) for value in values]
    if within != (None, None):
        steps = _held(steps, within, facts.grid)
    if facts.kind == INTEGER and facts.grid == 1:
        return steps
    return [None if step is None else _number(step * facts.grid, facts) for step in steps]


def _clamped(value: float, within: Range) -> float:
    """A double within its possible range."""
    low, high = within
    value = value if low is None else max(float(low), value)
    return value if high is None else min(float(high), value)


def _number(value: Fraction, facts: Facts) -> int | Decimal:
    return int(value) if facts.kind == INTEGER else decimal_of(value)


def _held(steps: list[int | None], within: Range | Callable[[int], Range], grid: Fraction) -> list[int | None]:
    """Whole numbers of steps, each within its range."""
    if not callable(within):
        low, high = (None if end is None else int(end / grid) for end in within)
        if high is None and low is not None:
            return [None if step is None else max(low, step) for step in steps]
        same = within
        return _held(steps, lambda _: same, grid)
    held = list(steps)
    for row, step in enumerate(steps):
        least, most = within(row) if step is not None else (None, None)
        if step is not None and least is not None:
            held[row] = max(int(-(-least // grid)), step)
        if step is not None and most is not None:
            held[row] = min(int(most // grid), held[row] or 0)
    return held


def mechanism_of(released: ReleasedBundle, part: GroupingSetPlan) -> Geometric | Gaussian:
    """The mechanism of a bundle, on whole numbers: multiples of the bundle's unit."""
    if released.noise == GAUSSIAN:
        return Gaussian(None, part.share, squared=released.sensitivity / released.unit**2)
    return Geometric(released.sensitivity / released.unit, part.share)


def law_of(plan: Plan, item: int) -> tuple[str, Fraction | None]:
    """The law of a column and its scale, for a preview."""
    known, node = laws(plan.cuts), plan.question.items[item][1]
    if not {name for name, one in known.items() if one[2].bundle >= 0} & set(columns_in(node)):
        return "exact", None
    released = bundle_of(plan, item)
    if released is not None:
        return released.noise, released.scale
    if isinstance(node, Column) and node.name in known and AGGREGATES[known[node.name][1].name].measure == CHOICE:
        return "exponential", None
    return "derived", None


def expected_width(plan: Plan, item: int, rows: int, confidence: Fraction) -> Fraction | None:
    """Half the width of an interval that depends on the answer, in a group of about so many rows whose sums are in the
    middle: of means, ratios, variances, correlations and what is computed of them. None for every other number.
    """
    of, supposed = plan.question.origins[item], Supposed(plan, rows)
    number = None if of is None else told(of, (), supposed)
    if number is None or isinstance(number, Null | PublicCondition) or has_picks(number):
        return None
    if isinstance(number, Ratio) and not number.bottom.terms:
        return None
    found = ends(number, supposed, confidence)
    return None if found is None else (found[1] - found[0]) / 2


def rank_words(plan: Plan, item: int, confidence: Fraction) -> str | None:
    """What a column that is chosen by rank is worth; None for every other one."""
    node, known = plan.question.items[item][1], laws(plan.cuts)
    if not isinstance(node, Column) or node.name not in known or known[node.name][2].bundle < 0:
        return None
    cut, _, source, *_ = known[node.name]
    found = ranks(plan.cuts[cut], plan.cuts[cut].parts[0].bundles[source.bundle], confidence)
    return None if found is None else found.words(confidence)


def rank_start(plan: Plan, item: int, rows: int) -> Fraction:
    """About the epsilon from which on a choice by rank says something of a group of so many rows.

    All numbers of rows that a choice needs are proportional to one over epsilon, but for the one row that is added.
    """
    node = plan.question.items[item][1]
    assert isinstance(node, Column)
    cut, _, source, *_ = laws(plan.cuts)[node.name]
    found = ranks(plan.cuts[cut], plan.cuts[cut].parts[0].bundles[source.bundle], Fraction(95, 100))
    assert found is not None
    return plan.epsilon * found.starts / rows


def may_be_unknown(plan: Plan, item: int) -> bool:
    """Whether a number of a column may have its whole range as its interval. A plain count or sum has no upper end."""
    of = plan.question.origins[item]
    if not isinstance(of, ReleasedColumn):
        return of is not None
    _, aggregate, source, *_ = laws(plan.cuts)[of.name]
    return not source.formula.plain or None not in possible(aggregate)


def bundle_of(plan: Plan, item: int) -> ReleasedBundle | None:
    """The bundle of a column that is one noisy number by itself, in the first grouping set."""
    of, known = plan.question.origins[item], laws(plan.cuts)
    if not isinstance(of, ReleasedColumn) or not isinstance(plan.question.items[item][1], Column):
        return None
    number = told(of, (), Planned(plan))
    if not isinstance(number, Ratio) or number.bottom != ONE or len(number.top.terms) != 1:
        return None
    cut, _, source, *_ = known[of.name]
    return plan.cuts[cut].parts[0].bundles[source.bundle]


def width_of(plan: Plan, item: int, confidence: Fraction) -> Fraction | None:
    """Half the width of a column's interval, where it does not depend on the answer; of running totals the widest."""
    of, node, planned = plan.question.origins[item], plan.question.items[item][1], Planned(plan)
    number = None if of is None else told(of, (), planned)
    if not isinstance(number, Ratio) or number.bottom.terms or not number.top.terms:  # a ratio's depends on the answer
        return None
    found = ends(number, planned, confidence)
    if found is None:
        return None
    grid = node.facts.grid or Fraction(1, 10**6)
    return -(-((found[1] - found[0]) / 2) // grid) * grid
