"""The tree that a question becomes: our own few kinds of nodes, each knowing what is true of its value.

Comes in: what `bind` has resolved. Goes out: what `plan` judges and `emit` writes. Nothing of the parser's tree is left
here.

Exact numbers (integers, decimals, doubles with a declared grid) are held as whole numbers of steps of their `grid`, in
every engine: arithmetic on them is integer arithmetic, so no sum depends on the order of rows and no cast can fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction

INTEGER, DECIMAL, DOUBLE = "integer", "decimal", "double"
DATE, TIMESTAMP, BOOLEAN, TEXT, NULL = "date", "timestamp", "boolean", "text", "null"
NUMBERS = (INTEGER, DECIMAL, DOUBLE)
TIMES = (DATE, TIMESTAMP)

Value = int | Fraction | str | bool | date | datetime | None


@dataclass(frozen=True)
class Facts:
    """What holds of a value for every row that the policy admits."""

    kind: str
    low: Fraction | None = None
    high: Fraction | None = None
    grid: Fraction | None = None
    nullable: bool = True
    length: int | None = None

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


@dataclass(frozen=True)
class Column:
    """A column of the relation below: of a table, or of a released one."""

    name: str
    facts: Facts
    position: int = field(default=0, compare=False)


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


@dataclass(frozen=True)
class Over:
    """A window function above the cut."""

    name: str
    args: tuple[Node, ...]
    partition: tuple[Node, ...]
    order: tuple[Sorted, ...]
    facts: Facts
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Sorted:
    """An item of ORDER BY."""

    node: Node
    descending: bool
    nulls_first: bool


Node = Column | Constant | Call | Aggregate | Over


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below."""
    if isinstance(node, Call):
        return node.args
    if isinstance(node, Aggregate):
        return tuple(n for n in (node.arg, node.where) if n is not None)
    if isinstance(node, Over):
        return (*node.args, *node.partition, *(item.node for item in node.order))
    return ()


def columns_of(node: Node) -> dict[str, Column]:
    """The columns that a node reads, by name."""
    if isinstance(node, Column):
        return {node.name: node}
    found: dict[str, Column] = {}
    for child in children(node):
        found |= columns_of(child)
    return found


def conjuncts(node: Node | None) -> list[Node]:
    """The parts of a top-level AND."""
    if node is None:
        return []
    if isinstance(node, Call) and node.name == "and":
        return [part for arg in node.args for part in conjuncts(arg)]
    return [node]
