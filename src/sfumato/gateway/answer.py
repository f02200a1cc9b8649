"""What an analyst gets: rows, intervals, cost, what remains, notes and a receipt; and one document for all doors."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from html import escape
from importlib import import_module
from typing import Any

from sfumato.errors import InputError
from sfumato.sql.aggregates.base import Noisy
from sfumato.sql.plain import Plain
from sfumato.sql.plan import Plan, Source, above, noisy_of, spread_of, value_of
from sfumato.sql.public import finish
from sfumato.sql.tree import BOOLEAN, DATE, DECIMAL, DOUBLE, INTEGER, TEXT, TIMESTAMP, Aggregate, Column, Facts, Node
from sfumato.words import Loss, as_written, show

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

Cells = tuple[tuple[tuple[int, ...], ...], ...]
"""Released whole numbers: by bundle, by group, by part."""


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
    _cells: Cells = field(default=(), repr=False)
    _places: tuple[int, ...] = field(default=(), repr=False)

    def intervals(self, confidence: Any = None) -> list[list[tuple[Any, Any] | None]]:
        """One list per row: (low, high) for each column that is an aggregate, else None."""
        wanted = self.confidence if confidence is None else as_written(confidence, "confidence")
        plan = self._plan
        if plan is None:
            return [[None] * len(self.columns) for _ in self.rows]
        sources = dict(plan.sources)
        result = []
        for place in self._places:
            row: list[tuple[Any, Any] | None] = []
            for _, node in plan.question.items:
                if place < 0 or not isinstance(node, Aggregate):
                    row.append(None)
                    continue
                source = sources[node]
                noisy = _noisy(plan, source, self._cells)[place]
                row.append(_outward(spread_of(node, source, noisy, wanted), node))
            result.append(row)
        return result

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


def _outward(ends: Any, node: Aggregate) -> tuple[Any, Any] | None:
    """Interval ends in the column's own type, rounded outward; what cannot be negative is not."""
    if ends is None or ends[0] is None or ends[1] is None:
        return None
    low, high = ends
    if _nonnegative(node):
        low, high = max(Fraction(0), low), max(Fraction(0), high)
    grid = node.facts.grid or Fraction(1, 10**9)
    down, up = low // grid * grid, -(-high // grid) * grid
    return _number(down, node.facts), _number(up, node.facts)


def _nonnegative(node: Aggregate) -> bool:
    if node.name in ("count", "count_persons"):
        return True
    return node.arg is not None and node.arg.facts.low is not None and node.arg.facts.low >= 0


def _number(value: Fraction, facts: Facts) -> int | Decimal:
    if facts.kind == INTEGER:
        return int(value)
    digits = 0
    while digits < 30 and (value * 10**digits).denominator != 1:
        digits += 1
    return Decimal(int(value * 10**digits)).scaleb(-digits)


def build(
    plan: Plan,
    cells: Cells,
    *,
    cost: Spent,
    remaining: Spent,
    receipt: str | None,
    confidence: Fraction,
) -> Answer:
    """The answer from released whole numbers: everything from here on is post-processing."""
    question = plan.question
    released: dict[str, tuple[Facts, list[Any]]] = {}
    for i, (name, node) in enumerate(question.keys):
        released[name] = (node.facts, [group[i] for group in plan.groups])
    names: dict[Aggregate, str] = {}
    for n, (aggregate, source) in enumerate(plan.sources):
        names[aggregate] = f"_a{n}"
        noisy = _noisy(plan, source, cells)
        released[f"_a{n}"] = (aggregate.facts, [_released(aggregate, value_of(aggregate, source, x)) for x in noisy])
    if not released:
        released["_none"] = (Facts(INTEGER, grid=Fraction(1)), [0] * len(plan.groups))
    rows = finish(
        released,
        [above(node, names) for _, node in question.items],
        having=None if question.having is None else above(question.having, names),
        order=tuple(type(s)(above(s.node, names), s.descending, s.nulls_first) for s in question.order),
        limit=question.limit,
        offset=question.offset,
        distinct=question.distinct,
    )
    shown = [tuple(_shown(value, node) for value, (_, node) in zip(row, question.items, strict=False)) for row in rows]
    columns = tuple(name for name, _ in question.items)
    types = tuple(TYPES.get(node.facts.kind, "text") for _, node in question.items)
    notes = list(plan.notes) if plan.bundles else []
    places = tuple(int(row[-1]) for row in rows)
    return Answer(columns, types, shown, cost, remaining, notes, receipt, confidence, plan, cells, places)


def build_plain(asked: Plain, rows: list[tuple[Any, ...]], remaining: Spent) -> Answer:
    """The answer to a question about public rows: exact and free."""
    question = asked.question
    released = {name: (facts, [row[i] for row in rows]) for i, (name, facts) in enumerate(asked.columns)}
    finished = finish(
        released,
        [above(node, asked.names) for _, node in question.items],
        having=None if question.having is None else above(question.having, asked.names),
        order=tuple(type(s)(above(s.node, asked.names), s.descending, s.nulls_first) for s in question.order),
        limit=question.limit,
        offset=question.offset,
        distinct=question.distinct,
    )
    columns = tuple(name for name, _ in question.items)
    types = tuple(TYPES.get(node.facts.kind, "text") for _, node in question.items)
    nodes = [above(node, asked.names) for _, node in question.items]  # not aggregates: nothing is clamped
    shown = [tuple(_shown(value, node) for value, node in zip(row, nodes, strict=False)) for row in finished]
    free = Spent(Fraction(0), Fraction(0), Fraction(0))
    return Answer(columns, types, shown, free, remaining, [(None, "exact: this table is public")], None)


def _noisy(plan: Plan, source: Source, cells: Cells) -> list[Noisy]:
    """The released sums of an aggregate's bundle, group by group; a constant has none."""
    if source.bundle < 0:
        return [Noisy((), Fraction(0), Fraction(1))] * len(plan.groups)
    return [noisy_of(plan.bundles[source.bundle], cell) for cell in cells[source.bundle]]


def _released(aggregate: Aggregate, value: Fraction | None) -> Any:
    """A released number as the engine above holds it: nearest whole steps, or a double; unclamped (semantics 4.3)."""
    if value is None:
        return None
    if aggregate.facts.exact and aggregate.facts.grid is not None:
        return int((value / aggregate.facts.grid + Fraction(1, 2)) // 1)
    return float(value)


def _shown(value: Any, node: Node) -> Any:
    """A value for people: exact numbers from steps, doubles to twelve digits, clamped to what is possible."""
    facts = node.facts
    if value is None or facts.kind not in (INTEGER, DECIMAL, DOUBLE):
        return value
    if facts.exact and facts.grid is not None:
        number = int(value) * facts.grid
        if isinstance(node, Aggregate) and _nonnegative(node):
            number = max(Fraction(0), number)
        return _number(number, facts)
    return +Decimal(f"{float(value):.12g}")


def law_of(plan: Plan, node: Node) -> tuple[str, Fraction | None]:
    """The law of a column and its scale, for a preview."""
    if isinstance(node, Column):
        return "exact", None
    if isinstance(node, Aggregate):
        source = dict(plan.sources)[node]
        if source.bundle >= 0 and len(plan.bundles[source.bundle].bundle.parts) == 1 and source.formula != "constant":
            return "geometric", plan.bundles[source.bundle].scale
    return "derived", None


def width_of(plan: Plan, node: Node, confidence: Fraction) -> Fraction | None:
    """Half the width of a column's interval, where it does not depend on the answer."""
    if law_of(plan, node)[0] == "geometric" and isinstance(node, Aggregate):
        source = dict(plan.sources)[node]
        released = plan.bundles[source.bundle]
        ends = spread_of(node, source, Noisy((Fraction(0),), released.scale, released.unit), confidence)
        grid = node.facts.grid or Fraction(1, 10**6)
        return None if ends is None or ends[1] is None else -(-ends[1] // grid) * grid
    return None
