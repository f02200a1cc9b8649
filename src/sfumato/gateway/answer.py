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
from sfumato.gateway.sheets import Draws, Numbers, bare, sheets
from sfumato.mechanisms import Gaussian, Geometric
from sfumato.sql.aggregates.base import CHOICE, Term
from sfumato.sql.bind import Question
from sfumato.sql.cut import GAUSSIAN, Cut, Part
from sfumato.sql.cut import Released as ReleasedBundle
from sfumato.sql.forms import Atom, Form, Laws, form_of, interval, laws
from sfumato.sql.plan import Plan
from sfumato.sql.public import is_bare
from sfumato.sql.running import Reading, Whole
from sfumato.sql.tree import BOOLEAN, DATE, DECIMAL, DOUBLE, INTEGER, TEXT, TIMESTAMP, Aggregate, Column, Facts, Node
from sfumato.sql.tree import columns_of as columns_in
from sfumato.words import Loss, Sheet, as_written, show

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
    _places: tuple[tuple[int, ...], ...] = field(default=(), repr=False)
    """Of each released table that the answer was made of, the row behind each row here."""

    def intervals(self, confidence: Any = None) -> list[list[tuple[Any, Any] | None]]:
        """One list per row: (low, high) for each column that is an aggregate, else None."""
        wanted = self.confidence if confidence is None else as_written(confidence, "confidence")
        plan = self._plan
        if plan is None or not plan.cuts:
            return [[None] * len(self.columns) for _ in self.rows]
        known = laws(plan.cuts)
        forms = [form_of(node, known) for _, node in plan.question.items]
        numbers = [Numbers(part, drawn) for part, drawn in zip(plan.cuts, self._draws, strict=True)]
        result, names = [], plan.question.relation.shape.places
        for number in range(len(self.rows)):
            places = {name: column[number] for name, column in zip(names, self._places, strict=True)}
            row: list[tuple[Any, Any] | None] = []
            for form, (_, node) in zip(forms, plan.question.items, strict=True):
                row.append(
                    None if form is None else _interval(form, node, known, numbers, places=places, confidence=wanted)
                )
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
        return self._places is other._places and self._draws is other._draws and self._plan is other._plan

    @property
    def noisy(self) -> tuple[bool, ...]:
        """Which columns have intervals: known from the question alone, the same for every row."""
        if self._plan is None or not self._plan.cuts:
            return (False,) * len(self.columns)
        known = laws(self._plan.cuts)
        return tuple(noisy_column(node, known) for _, node in self._plan.question.items)

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
        columns = []
        for values, kind in zip(arrays, self.types, strict=True):
            wide = kind == "bigint" and any(v is not None and not -(2**63) <= v < 2**63 for v in values)
            columns.append(pyarrow.array(values, None if wide else kinds.get(kind)))
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


def _interval(
    form: Form, node: Node, known: Laws, numbers: list[Numbers], *, places: dict[str, int], confidence: Fraction
) -> tuple[Any, Any] | None:
    def value(atom: Atom) -> tuple[Fraction, Term] | None:
        cut, bundle, part = atom[:3]
        of = numbers[cut]
        row = places.get(of.place)
        total = of.total(places, bundle, atom[3]) if len(atom) > 3 else None
        if len(atom) == 4 or (total is None and len(atom) > 3):
            return total
        if row is None:
            return None
        own = of.sums(row, bundle)[part]
        if total is not None:
            return total[0] - own, replace(total[1], draws=total[1].draws - 1)
        released = of.part(row)[0].bundles[bundle]
        return own, Term(released.scale, released.unit, released.noise == GAUSSIAN)

    found = {atom: value(atom) for atom, _ in (*form.top.terms, *form.bottom.terms)}
    known_values = {atom: number for atom, number in found.items() if number is not None}
    if len(known_values) < len(found):
        return None
    ends = interval(form, known_values.__getitem__, confidence)
    aggregate = known[node.name][1] if isinstance(node, Column) and node.name in known else None
    if aggregate is not None and aggregate.name == "avg" and aggregate.arg is not None:  # within its declared range
        low, high = aggregate.arg.facts.low, aggregate.arg.facts.high
        if low is None or high is None:
            return None
        first, last = ends if ends is not None else (low, high)
        ends = (low if first is None else max(low, first), high if last is None else min(high, last))
    return _outward(ends, node.facts, aggregate)


def _outward(ends: Any, facts: Facts, aggregate: Aggregate | None) -> tuple[Any, Any] | None:
    """Interval ends in the column's own type, rounded outward; what cannot be negative is not."""
    if ends is None or ends[0] is None or ends[1] is None:
        return None
    low, high = ends
    if aggregate is not None and _nonnegative(aggregate):
        low, high = max(Fraction(0), low), max(Fraction(0), high)
    grid = facts.grid or Fraction(1, 10**9)
    down, up = low // grid * grid, -(-high // grid) * grid
    return _number(down, facts), _number(up, facts)


def _nonnegative(node: Aggregate) -> bool:
    if node.name in ("count", "count_persons", "count_distinct", "regr_count"):
        return True
    return node.arg is not None and node.arg.facts.low is not None and node.arg.facts.low >= 0


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
    known, count = laws(plan.cuts), len(question.items)
    shown = [_shown(values, node, known) for values, (_, node) in zip(across[:count], question.items, strict=True)]
    columns = tuple(name for name, _ in question.items)
    types = tuple(TYPES.get(node.facts.kind, "text") for _, node in question.items)
    notes: list[tuple[str | None, str]] = list(plan.notes)
    if not plan.cuts:
        notes = [(None, "exact: only public tables are read")]
    rows, places = list(zip(*shown, strict=True)), tuple(across[count:])
    return Answer(columns, types, rows, cost, remaining, notes, receipt, confidence, plan, draws, places)


def _across(question: Question, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows as columns: the items, then the places of the released rows."""
    width = len(question.items) + len(question.relation.shape.places)
    return list(zip(*rows, strict=True)) if rows else [()] * width


def _shown(values: tuple[Any, ...], node: Node, known: Laws) -> Iterable[Any]:
    """A column for people: exact numbers from steps, doubles to twelve digits, clamped to what is possible."""
    facts = node.facts
    if facts.kind not in (INTEGER, DECIMAL, DOUBLE):
        return values
    if not facts.exact or facts.grid is None:
        return [None if value is None else +Decimal(f"{float(value):.12g}") for value in values]
    clamped = isinstance(node, Column) and node.name in known and _nonnegative(known[node.name][1])
    steps = [None if value is None else max(0, int(value)) if clamped else int(value) for value in values]
    if facts.kind == INTEGER and facts.grid == 1:
        return steps
    return [None if step is None else _number(step * facts.grid, facts) for step in steps]


def noisy_column(node: Node, known: Laws) -> bool:
    """Whether a column is a sum or a ratio of released numbers, and so has intervals."""
    form = form_of(node, known)
    return form is not None and not form.is_constant


def mechanism_of(released: ReleasedBundle, part: Part) -> Geometric | Gaussian:
    """The mechanism of a bundle, on whole numbers: multiples of the bundle's unit."""
    if released.noise == GAUSSIAN:
        return Gaussian(None, part.share, squared=released.sensitivity / released.unit**2)
    return Geometric(released.sensitivity / released.unit, part.share)


def law_of(plan: Plan, node: Node) -> tuple[str, Fraction | None]:
    """The law of a column and its scale, for a preview."""
    known = laws(plan.cuts)
    released = set(known) & set(columns_in(node))
    if not released:
        return "exact", None
    form = form_of(node, known)
    if isinstance(node, Column) and form is not None and len(form.top.terms) == 1 and not form.bottom.terms:
        (cut, bundle, _, *running), _ = form.top.terms[0]
        if running:
            return "derived", None
        found = plan.cuts[cut].parts[0].bundles[bundle]
        return found.noise, found.scale
    if isinstance(node, Column) and known.get(node.name, (0, None, None))[2] is not None:
        source = known[node.name][2]
        if source.formula == CHOICE:
            return "exponential", None
    return "derived", None


def longest_total(cut: Cut, bundle: int, reading: Reading | Whole) -> Term:
    """The noise of the widest total: of all totals of a track, one with the most noise."""
    part = cut.parts[0]
    released = part.bundles[bundle]
    lengths = {len(track) for track in reading.tracks(part.groups)}
    terms = [released.total(n, end) for n in lengths for end in (range(1, n + 1) if released.running else (n,))]
    return max(terms, key=lambda term: term.scale * term.draws ** (1 if term.gaussian else 2))


def width_of(plan: Plan, node: Node, confidence: Fraction) -> Fraction | None:
    """Half the width of a column's interval, where it does not depend on the answer; of running totals the widest."""
    form = form_of(node, laws(plan.cuts))
    if form is None or form.is_constant or form.bottom.terms:  # a ratio's depends on the answer
        return None
    totals = [atom[0] for atom, _ in form.top.terms if len(atom) > 3]
    if any(plan.cuts[cut].parts[0].chosen or not plan.cuts[cut].parts[0].groups for cut in totals):
        return None  # how many groups there are is not known yet

    def value(atom: Atom) -> tuple[Fraction, Term]:
        found = plan.cuts[atom[0]].parts[0].bundles[atom[1]]
        if len(atom) > 3:
            return Fraction(0), longest_total(plan.cuts[atom[0]], atom[1], atom[3])
        return Fraction(0), Term(found.scale, found.unit, found.noise == GAUSSIAN)

    ends = interval(form, value, confidence)
    if ends is None or ends[0] is None or ends[1] is None:
        return None
    grid = node.facts.grid or Fraction(1, 10**6)
    return -(-((ends[1] - ends[0]) / 2) // grid) * grid
