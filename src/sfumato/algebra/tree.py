"""The expression tree of a query: a few kinds of nodes of our own, each with facts about its value.

Comes in: what `bind` has resolved. Goes out: what `plan` judges and `emit` writes. Nothing of the parser's tree is left
here.

Exact numbers (integers, decimals, doubles with a declared grid) are held as whole numbers of steps of their `grid`, in
every engine: arithmetic on them is integer arithmetic, so no sum depends on the order of rows and no cast can fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from sfumato.algebra.interval_values import Span
from sfumato.interrupts import step

INTEGER, DECIMAL, DOUBLE = "integer", "decimal", "double"
DATE, TIMESTAMP, BOOLEAN, TEXT, NULL = "date", "timestamp", "boolean", "text", "null"
INTERVAL = "interval"
"""A span of time, held as the number of seconds by which PostgreSQL compares intervals: a month has 30 days."""
JSON = "json"
PRINTED = (INTERVAL, JSON)
"""What is shown as text, and says so in `every` of its facts."""
NUMBERS = (INTEGER, DECIMAL, DOUBLE)
TIMES = (DATE, TIMESTAMP)

_READS = "_reads"
"""Where a node keeps the columns that it reads: no field, so that it takes no part in comparisons."""

Value = int | Fraction | str | bool | date | datetime | Span | None


@dataclass(frozen=True)
class Facts:
    """What holds of a value for every row that the policy admits."""

    kind: str
    low: Fraction | None = None
    high: Fraction | None = None
    grid: Fraction | None = None
    nullable: bool = True
    length: int | None = None
    values: tuple[str, ...] | tuple[int, ...] | tuple[bool, ...] | None = None
    """The declared list of a bare column; whatever is computed from it has none."""
    every: str = ""
    """Of a date or a timestamp: every value is the first moment of such a unit (hour, week, month …). Of a text that is
    shown: what it prints."""
    numeric: bool = False
    """Of a whole number: it is PostgreSQL's numeric, as EXTRACT gives, so that dividing it leaves a fraction."""

    @property
    def exact(self) -> bool:
        """A number held as whole steps of a grid."""
        return self.grid is not None and self.kind in NUMBERS

    @property
    def bounded(self) -> bool:
        """Both bounds are known, by declaration or by arithmetic on declarations."""
        return self.low is not None and self.high is not None

    @property
    def largest(self) -> Fraction:
        """The largest absolute value of a bounded number."""
        if self.low is None or self.high is None:
            raise ValueError("unbounded")
        return max(abs(self.low), abs(self.high))


PERSON, HALF, KEY, PART = "person", "half", "key", "part"


@dataclass(frozen=True)
class Column:
    """A column of the relation below; its name is the only one of its kind in the whole question.

    `unit` says by lineage whether it is the person: PERSON for the bare unit, HALF (and which side of which join) for a
    unit that is NULL where an outer join found nobody, KEY (and which) for a key that a unit is attached by,
    PART (and which, of which rows: `key_parts`) for a column of a composite one, else "".
    """

    name: str
    facts: Facts
    position: int = field(default=0, compare=False)
    unit: str = field(default="", compare=False)


@dataclass(frozen=True)
class Constant:
    """A value written in the question."""

    value: Value
    facts: Facts
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Call:
    """A function of the table FUNCTIONS, or an operator, applied to arguments; `extra` holds words such as `month`."""

    name: str
    args: tuple[Node, ...]
    facts: Facts
    extra: str = ""
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Aggregate:
    """An aggregate of the table AGGREGATES over private rows; `where` is its FILTER."""

    name: str
    arg: Node | None
    where: Node | None
    facts: Facts
    position: int = field(default=0, compare=False)
    extra: str = ""
    second: Node | None = None


@dataclass(frozen=True)
class Over:
    """A window function; below the cut its partition holds the person. `frame` is written as PostgreSQL writes it."""

    name: str
    args: tuple[Node, ...]
    partition: tuple[Node, ...]
    order: tuple[Sorted, ...]
    facts: Facts
    frame: str = ""
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Sub:
    """A sub-query in an expression: `kind` is exists, in or value; `on` ties its rows to the row around it.

    `value` is over the rows inside, `operand` over the row around. `counts` are columns that mean 0 where nothing is
    found. `place` in relations turns it into a join and a column.
    """

    kind: str
    relation: Any
    on: tuple[Node, ...]
    operand: Node | None
    value: Node | None
    facts: Facts
    counts: frozenset[str] = frozenset()
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Sorted:
    """An item of ORDER BY."""

    node: Node
    descending: bool
    nulls_first: bool


Node = Column | Constant | Call | Aggregate | Over | Sub


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below."""
    if isinstance(node, Call):
        return node.args
    if isinstance(node, Aggregate):
        return tuple(n for n in (node.arg, node.second, node.where) if n is not None)
    if isinstance(node, Over):
        return (*node.args, *node.partition, *(item.node for item in node.order))
    if isinstance(node, Sub):
        return (*node.on, *((node.operand,) if node.operand is not None else ()))
    return ()


def has(node: Node, kind: object) -> bool:
    """Whether a node of this kind is in the tree."""
    return isinstance(node, kind) or any(has(child, kind) for child in children(node))  # type: ignore[arg-type]


def size(node: Node) -> int:
    """How many nodes there are."""
    return 1 + sum(size(child) for child in children(node))


def columns_of(node: Node) -> dict[str, Column]:
    """The columns that a node reads, by name; of a sub-query those of the row around it."""
    return dict(_columns(node))


def _columns(node: Node) -> dict[str, Column]:
    """The same, worked out once for each node: a list of thousands is asked about at every relation above it."""
    if isinstance(node, Constant):
        return {}
    if isinstance(node, Column):
        return {node.name: node}
    known = vars(node)
    if _READS not in known:
        step()
        found: dict[str, Column] = {}
        for child in children(node):
            if not isinstance(child, Constant):
                found |= _columns(child)
        if isinstance(node, Sub):
            found = {name: column for name, column in found.items() if name not in node.relation.columns}
        known[_READS] = found
    kept: dict[str, Column] = known[_READS]
    return kept


def conjuncts(node: Node | None) -> list[Node]:
    """The parts of a top-level AND."""
    if node is None:
        return []
    if isinstance(node, Call) and node.name == "and":
        return [part for arg in node.args for part in conjuncts(arg)]
    return [node]
