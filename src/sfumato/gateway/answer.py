"""What an analyst gets: rows, intervals, cost, what remains, notes and a receipt; and one document for all doors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Context, Decimal
from fractions import Fraction
from html import escape
from importlib import import_module
from typing import Any

from sfumato.errors import InputError
from sfumato.gateway.drawn import Found, Planned, laws, possible, released_as
from sfumato.gateway.sheets import Draws, bare, sheets
from sfumato.mechanisms import Gaussian, Geometric
from sfumato.sql.aggregates.base import CHOICE, Interval
from sfumato.sql.bind import Question
from sfumato.sql.cut import GAUSSIAN, Part
from sfumato.sql.cut import Released as ReleasedBundle
from sfumato.sql.forms import ONE
from sfumato.sql.origins import Choice, Made, Maybe, Origin, Released
from sfumato.sql.plan import Plan
from sfumato.sql.public import is_bare
from sfumato.sql.told import Ratio, ends, told
from sfumato.sql.tree import BOOLEAN, DATE, DECIMAL, DOUBLE, INTEGER, TEXT, TIMESTAMP, Column, Facts
from sfumato.sql.tree import columns_of as columns_in
from sfumato.words import Loss, Sheet, certainty, show

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
_WIDE = Context(prec=80)
"""More digits than a number of the engine has."""
_WIDEST = Decimal(10**24)
"""With the twelve digits behind the point that a number may have, it fits into a decimal of 38."""


Run = Callable[[str, tuple[Sheet, ...]], list[tuple[Any, ...]]]
"""Where what lies above the cut runs."""


@dataclass(frozen=True)
class Spent:
    """What was debited, or what is left: epsilon, rho and delta, and about how many more questions like this one."""

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    queries: int | None = None

    @classmethod
    def of(cls, loss: Loss, queries: int | None = None) -> Spent:
        """A loss, for people."""
        return cls(loss.epsilon, loss.rho, loss.delta, queries)

    def to_dict(self) -> dict[str, Any]:
        """Fractions as text."""
        amounts = {"epsilon": self.epsilon, "rho": self.rho, "delta": self.delta}
        document: dict[str, Any] = {name: None if x is None else str(x) for name, x in amounts.items()}
        if self.queries is not None:
            document["queries"] = self.queries
        return document


FREE = Spent(Fraction(0), Fraction(0), Fraction(0))
"""What a stored answer costs."""


@dataclass(frozen=True)
class Answer:
    """A noisy answer. `rows` are tuples of int, Decimal, str, date, bool and None."""

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

    def intervals(self, confidence: Any = None) -> list[list[tuple[Any, Any] | None]]:
        """One list per row: (low, high) for each column that is an aggregate, else None."""
        wanted = self.confidence if confidence is None else certainty(confidence)
        plan = self._plan
        if plan is None or not plan.cuts:
            return [[None] * len(self.columns) for _ in self.rows]
        origins, found = plan.question.origins, Found(plan, self._draws)
        result, nothing = [], ((),) * len(self.rows)
        for shown, slots in zip(self.rows, zip(*self._traces, strict=True) if self._traces else nothing, strict=True):
            row: list[tuple[Any, Any] | None] = []
            for value, of, (_, node) in zip(shown, origins, plan.question.items, strict=True):
                known = None if of is None else _interval(of, slots, found, wanted, missing=value is None)
                row.append(_outward(known, node.facts))
            result.append(row)
        return result

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
        """The one document of all doors: fractions, decimals and dates as text, NULL as null."""
        return {
            "columns": list(self.columns),
            "types": list(self.types),
            "rows": [[_plain(value) for value in row] for row in self.rows],
            "intervals": [
                [None if ends is None else [_plain(end) for end in ends] for ends in row] for row in self.intervals()
            ],
            "confidence": show(self.confidence),
            "cost": self.cost.to_dict(),
            "remaining": self.remaining.to_dict(),
            "notes": [list(note) for note in self.notes],
            "receipt": self.receipt,
        }

    def to_arrow(self) -> Any:
        """A pyarrow Table."""
        pyarrow = _extra("pyarrow")
        arrays = [list(column) for column in zip(*self.rows, strict=True)] or [[] for _ in self.columns]
        kinds = {
            "bigint": pyarrow.int64(),
            "date": pyarrow.date32(),
            "boolean": pyarrow.bool_(),
            "text": pyarrow.string(),
        }
        columns = [
            pyarrow.array(*_for_arrow(values, kinds.get(kind), pyarrow))
            for values, kind in zip(arrays, self.types, strict=True)
        ]
        return pyarrow.table(columns, names=_unique(self.columns))

    def to_pandas(self) -> Any:
        """A pandas DataFrame; numbers with decimals are Decimal."""
        pandas = _extra("pandas")
        rows = [dict(zip(_unique(self.columns), row, strict=True)) for row in self.rows]
        return pandas.DataFrame(rows, columns=_unique(self.columns))

    def to_polars(self) -> Any:
        """A Polars DataFrame."""
        return _extra("polars").from_arrow(self.to_arrow())

    def _repr_html_(self) -> str:
        """A table with intervals, for notebooks."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = []
        for row, intervals in zip(self.rows, self.intervals(), strict=True):
            cells = [
                f"<td>{escape('NULL' if value is None else str(value))}"
                + ("" if ends is None else f" <small>({escape(str(ends[0]))} to {escape(str(ends[1]))})</small>")
                + "</td>"
                for value, ends in zip(row, intervals, strict=True)
            ]
            body.append(f"<tr>{''.join(cells)}</tr>")
        spent = "free" if not self.cost.epsilon else f"epsilon {show(self.cost.epsilon)}"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table><p>cost: {spent}</p>"


def _extra(name: str) -> Any:
    """A library of the extra `arrow`, or the line that installs it."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"{name} is not installed", hint="pip install 'sfumato[arrow]'") from None


def _for_arrow(values: list[Any], kind: Any, pyarrow: Any) -> tuple[list[Any], Any]:
    """A column and its type: whole numbers beyond 64 bits are decimals, and what no decimal holds is a double."""
    numbers = [Decimal(value) for value in values if isinstance(value, int | Decimal) and not isinstance(value, bool)]
    if any(not number.is_finite() or abs(number) >= _WIDEST for number in numbers):
        return [None if value is None else float(value) for value in values], pyarrow.float64()
    if kind == pyarrow.int64() and any(int(number).bit_length() > 63 for number in numbers):
        return [None if value is None else Decimal(value) for value in values], pyarrow.decimal128(38, 0)
    return values, kind


def _unique(names: tuple[str, ...]) -> list[str]:
    """Column names as frames need them: a name met before gets a number."""
    met: dict[str, int] = {}
    result = []
    for name in names:
        met[name] = met.get(name, 0) + 1
        result.append(name if met[name] == 1 else f"{name}_{met[name]}")
    return result


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal | date) else value


def _interval(of: Origin, slots: tuple[Any, ...], found: Found, confidence: Fraction, *, missing: bool) -> Interval:
    """The interval of a number in one row; a released one is within its possible range (semantics 4.3).

    Where noise has made it NULL, nothing is told of it, unless it is a mean.
    """
    number = told(of, slots, found)
    known = ends(number, found, confidence)
    aggregate = released_as(of, found, slots)
    if aggregate is None:
        return None if missing else known
    low, high = possible(aggregate)
    if known is None and low is not None and high is not None and number is not None:
        return low, high  # a mean of nobody knows how many is somewhere
    if known is None or known[0] is None or known[1] is None:
        return None
    held = [end if high is None else min(high, end) for end in (known[0], known[1])]
    return (held[0], held[1]) if low is None else (max(low, held[0]), max(low, held[1]))


def _outward(known: Interval, facts: Facts) -> tuple[Any, Any] | None:
    """Interval ends in the column's own type, rounded outward."""
    if known is None or known[0] is None or known[1] is None:
        return None
    grid = facts.grid or Fraction(1, 10**9)
    return _number(known[0] // grid * grid, facts), _number(-(-known[1] // grid) * grid, facts)


def _number(value: Fraction, facts: Facts) -> int | Decimal:
    if facts.kind == INTEGER:
        return int(value)
    digits = 0
    while digits < 30 and (value * 10**digits).denominator != 1:
        digits += 1
    return Decimal(int(value * 10**digits)).scaleb(-digits, _WIDE)


def build(
    plan: Plan,
    draws: Draws,
    *,
    run: Run,
    cost: Spent,
    remaining: Spent,
    receipt: str | None,
    confidence: Fraction,
) -> Answer:
    """The answer from released whole numbers: everything from here on is post-processing."""
    question = plan.question
    released = sheets(plan.cuts, draws, plan.sql)
    across = bare(question, released[-1]) if is_bare(question) else _across(question, run(plan.sql, released))
    count, found = len(question.items), Found(plan, draws)
    traces = tuple(across[count:])
    shown = [
        _shown(values, node.facts, _ranges(of, found, traces))
        for values, (_, node), of in zip(across[:count], question.items, question.origins, strict=True)
    ]
    columns = tuple(name for name, _ in question.items)
    types = tuple(TYPES.get(node.facts.kind, "text") for _, node in question.items)
    notes: list[tuple[str | None, str]] = list(plan.notes)
    if not plan.cuts:
        notes = [(None, "exact: only public tables are read")]
    rows = list(zip(*shown, strict=True))
    return Answer(columns, types, rows, cost, remaining, notes, receipt, confidence, plan, draws, traces)


def _across(question: Question, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows as columns: the items, then what their origins need."""
    width = len(question.items) + len(question.traces)
    return list(zip(*rows, strict=True)) if rows else [()] * width


Range = tuple[Fraction | None, Fraction | None]


def _ranges(of: Origin | None, found: Found, traces: tuple[tuple[Any, ...], ...]) -> Range | Callable[[int], Range]:
    """Within what a column is shown, row by row: released numbers within what is possible for them."""

    def at(slots: tuple[Any, ...]) -> Range:
        aggregate = released_as(of, found, slots)
        return (None, None) if aggregate is None else possible(aggregate)

    if not isinstance(of, Choice | Made | Maybe):
        return at(())
    return lambda row: at(tuple(column[row] for column in traces))


def _shown(values: tuple[Any, ...], facts: Facts, within: Range | Callable[[int], Range]) -> Iterable[Any]:
    """A column for people: exact numbers from steps, doubles to twelve digits, clamped to what is possible."""
    if facts.kind not in (INTEGER, DECIMAL, DOUBLE):
        return values
    if not facts.exact or facts.grid is None:
        return [None if value is None else +Decimal(f"{float(value):.12g}") for value in values]
    steps = [None if value is None else int(value) for value in values]
    if within != (None, None):
        steps = _held(steps, within, facts.grid)
    if facts.kind == INTEGER and facts.grid == 1:
        return steps
    return [None if step is None else _number(step * facts.grid, facts) for step in steps]


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


def mechanism_of(released: ReleasedBundle, part: Part) -> Geometric | Gaussian:
    """The mechanism of a bundle, on whole numbers: multiples of the bundle's unit."""
    if released.noise == GAUSSIAN:
        return Gaussian(None, part.share, squared=released.sensitivity / released.unit**2)
    return Geometric(released.sensitivity / released.unit, part.share)


def law_of(plan: Plan, item: int) -> tuple[str, Fraction | None]:
    """The law of a column and its scale, for a preview."""
    known, node = laws(plan.cuts), plan.question.items[item][1]
    if not set(known) & set(columns_in(node)):
        return "exact", None
    released = bundle_of(plan, item)
    if released is not None:
        return released.noise, released.scale
    if isinstance(node, Column) and node.name in known and known[node.name][2].formula == CHOICE:
        return "exponential", None
    return "derived", None


def bundle_of(plan: Plan, item: int) -> ReleasedBundle | None:
    """The bundle of a column that is one noisy number by itself, in the first grouping set."""
    of, known = plan.question.origins[item], laws(plan.cuts)
    if not isinstance(of, Released) or not isinstance(plan.question.items[item][1], Column):
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
    if found is None or found[0] is None or found[1] is None:
        return None
    grid = node.facts.grid or Fraction(1, 10**6)
    return -(-((found[1] - found[0]) / 2) // grid) * grid
