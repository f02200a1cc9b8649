"""Relations: what stands between the tables and the answer, each knowing whose rows it has.

Comes in: what `bind` has resolved. Goes out: a tree that `select` writes and `plan` prices. A relation is *private* as
long as each of its rows belongs to one person (semantics 2.1): the person travels along, hidden, as `_u`. Only Release
has a private relation below and is public itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, wraps
from math import prod
from typing import Any, Protocol, TypeVar

from sfumato.algebra import geo_cells
from sfumato.algebra.calendar_units import units_between
from sfumato.algebra.tree import (
    BOOLEAN,
    DATE,
    INTEGER,
    PERSON,
    TEXT,
    TIMES,
    Aggregate,
    Call,
    Column,
    Constant,
    Facts,
    Node,
    Over,
    Sorted,
    columns_of,
    conjuncts,
)
from sfumato.interrupts import step
from sfumato.policy import Table

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class RelationShape:
    """What is known of a relation before any data is touched.

    `rows`: the most rows of one person that count (private), or of all rows (public), None where that is not known.
    `keys`: sets of columns that no two rows of one person (public: no two rows) have in common. `places`: the columns
    that its rows are naturally sorted by.
    """

    columns: dict[str, Column]
    private: bool
    rows: int | None = None
    keys: tuple[frozenset[str], ...] = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Relation:
    """A node of the tree; two are equal only if they are the same one."""

    shape: RelationShape

    @property
    def columns(self) -> dict[str, Column]:
        """Its columns by their inner names."""
        return self.shape.columns

    @property
    def private(self) -> bool:
        """Each row belongs to one person."""
        return self.shape.private

    @cached_property
    def persons_columns(self) -> list[str]:
        """Columns that hold the person's identifier. Tables may declare it differently, so that one person may have
        several values in these: what is one row of a person is told by the hidden unit, never by them.
        """
        return [name for name, column in self.columns.items() if self.private and column.unit == PERSON]

    @cached_property
    def size(self) -> int:
        """How many relations there are once those that are read twice are written twice."""
        return 1 + sum(part.size for part in below(self))

    @cached_property
    def conditions(self) -> tuple[Node, ...]:
        """What is known to hold of every row: see the function of this name."""
        return tuple(_conditions(self))

    @property
    def person_rows(self) -> int:
        """C: how many rows of one person count (semantics 3.1c)."""
        if not self.private or self.shape.rows is None:
            raise AssertionError("only private relations have rows of persons")
        return self.shape.rows


@dataclass(frozen=True, eq=False)
class SingleRow(Relation):
    """The single row, without columns, of a SELECT without FROM."""


@dataclass(frozen=True, eq=False)
class Series(Relation):
    """Written values, one in each row: generate_series."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Scan(Relation):
    """A table of the policy, its domains enforced; `through` are the tables on the way to its unit.

    `single`: who has several rows is left out here, before any condition, for the table says which cell she is in.
    """

    table: Table
    number: int
    through: tuple[Table, ...] = ()
    single: bool = False
    stored: bool = False
    """The engine holds the rows as this scan would give them: see `engines.duckdb.relations.stored`."""
    numbered: bool = False
    """Persons are told apart by their stored numbers: see `engines.duckdb.row_counts.numbered`."""


@dataclass(frozen=True, eq=False)
class Filter(Relation):
    """The rows for which a condition holds."""

    below: Relation
    condition: Node


@dataclass(frozen=True, eq=False)
class Join(Relation):
    """Pairs of rows: inner, left or full; `by_person` adds that both rows are the same person's."""

    kind: str
    left: Relation
    right: Relation
    on: Node | None
    by_person: bool
    number: int


@dataclass(frozen=True, eq=False)
class MarkJoin(Relation):
    """All rows, with a column: whether `right` has a row for them, or whether `operand` is among its values."""

    below: Relation
    right: Relation
    on: Node | None
    by_person: bool
    name: str
    operand: Node | None = None
    value: Node | None = None


@dataclass(frozen=True, eq=False)
class Projection(Relation):
    """Expressions that have become columns."""

    below: Relation
    items: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, eq=False)
class Grouped(Relation):
    """One row for each group: of a person's rows (her unit is among the keys), or of public rows."""

    below: Relation
    keys: tuple[tuple[str, Node], ...]
    aggregates: tuple[tuple[str, Aggregate], ...]
    sets: tuple[tuple[int, ...], ...] = ()
    number: int = 0


@dataclass(frozen=True, eq=False)
class Windowed(Relation):
    """All rows, with window functions as columns."""

    below: Relation
    windows: tuple[tuple[str, Over], ...]


@dataclass(frozen=True, eq=False)
class Distinct(Relation):
    """Each row once; below the cut, each row of a person once."""

    below: Relation


@dataclass(frozen=True, eq=False)
class UnionAll(Relation):
    """UNION ALL: the rows of several relations under common names."""

    parts: tuple[tuple[Relation, tuple[Node, ...]], ...]


@dataclass(frozen=True, eq=False)
class SetOperation(Relation):
    """EXCEPT and INTERSECT of public relations; and RECURSIVE: the first part, and the second over the rows that were
    new the last time, read as `Itself`, until there are none.
    """

    kind: str
    parts: tuple[tuple[Relation, tuple[Node, ...]], ...]


RECURSIVE = "RECURSIVE"
MOST_RECURSIVE_ROWS = 1000
"""Rows of a recursion over released numbers: engines stop there."""
MOST_RECURSIVE_LETTERS = 10_000
"""Letters of a text in such a row."""


@dataclass(frozen=True, eq=False)
class Itself(Relation):
    """In the second part of a recursion: its newest rows. `depth` says of which, where one stands in another."""

    number: int
    depth: int


@dataclass(frozen=True, eq=False)
class Limited(Relation):
    """The first rows of a public relation in some order."""

    below: Relation
    order: tuple[Sorted, ...]
    limit: int | None
    offset: int


class HeldRows(Protocol):
    """Public rows that an engine holds, under a name of its own, and how many they are."""

    name: str
    rows: int


@dataclass(frozen=True, eq=False)
class Fixed(Relation):
    """Public rows that private rows meet, computed once: the rows that are counted are the rows that are read.

    They are computed before anything is charged, and `kept`; rows made of a release are computed once as soon as it is
    there (`kept` is None), and read under `fixed_name`.
    """

    below: Relation
    number: int
    kept: HeldRows | None = None


def fixed_name(fixed: Fixed) -> str:
    """The name of the table that holds public rows made of a release."""
    return f"fixed {fixed.number}"


@dataclass(frozen=True, eq=False)
class Release(Relation):
    """The cut: sums over all persons by keys; what is above is public. `sets` are the grouping sets, by key number."""

    below: Relation
    keys: tuple[tuple[str, Node], ...]
    aggregates: tuple[tuple[str, Aggregate], ...]
    sets: tuple[tuple[int, ...], ...]
    number: int
    place: str = field(default="")
    memo: dict[Hashable, Any] = field(init=False, repr=False, default_factory=dict)
    """What was worked out of it, for as long as it lives: see `remembered`."""


def released_name(release: Release) -> str:
    """The name of the table that holds a release."""
    return f"released {release.number}"


def remembered(function: Callable[..., T]) -> Callable[..., T]:
    """The function of a release, computed once for each of its other arguments; the result is kept with the release."""

    @wraps(function)
    def once(release: Release, *args: Any, **named: Any) -> T:
        key = (function, args, *sorted(named.items()))
        if key not in release.memo:
            release.memo[key] = function(release, *args, **named)
        found: T = release.memo[key]
        return found

    return once


def below(relation: Relation) -> tuple[Relation, ...]:
    """The relations right below."""
    if isinstance(relation, Filter | Projection | Grouped | Windowed | Distinct | Limited | Fixed | Release):
        return (relation.below,)
    if isinstance(relation, Join):
        return relation.left, relation.right
    if isinstance(relation, MarkJoin):
        return relation.below, relation.right
    if isinstance(relation, UnionAll | SetOperation):
        return tuple(part for part, _ in relation.parts)
    return ()


def releases_in(relation: Relation) -> list[Release]:
    """The releases below, each once, those that another needs before it."""
    found: list[Release] = []
    for part in below(relation):
        found += [release for release in releases_in(part) if release not in found]
    return [*found, relation] if isinstance(relation, Release) else found


def recursions_in(relation: Relation) -> list[Itself]:
    """The places where the rows of a recursion around it are read; a recursion that is whole has none of its own."""
    if isinstance(relation, Itself):
        return [relation]
    found = [itself for part in below(relation) for itself in recursions_in(part)]
    if isinstance(relation, SetOperation) and relation.kind.startswith(RECURSIVE):
        own = itself_of(relation)
        found = [itself for itself in found if itself is not own]
    return found


def itself_of(recursion: SetOperation) -> Itself:
    """Where a recursion reads its own rows: the innermost, for those around it are less deep."""
    return max(recursions_in(recursion.parts[1][0]), key=lambda itself: itself.depth)


def scans_in(relation: Relation, through: bool = False) -> list[Scan]:
    """The tables below, down to the releases or `through` them."""
    if isinstance(relation, Scan):
        return [relation]
    if isinstance(relation, Release) and not through:
        return []
    return [scan for part in below(relation) for scan in scans_in(part, through)]


def identified_differently(relation: Relation) -> bool:
    """Whether tables below declare the identifier of a person differently: longer texts, other bounds. Then columns
    that hold it may differ between rows of one person (`Relation.persons_columns`), and a window that takes them for
    one value depends on how rows lie. A policy gives them one domain; the checker of plans asks here.
    """
    tables = [scan.table for scan in scans_in(relation) if isinstance(scan.table.unit, str)]
    return len({table.columns[str(table.unit)].domain for table in tables if table.unit in table.columns}) > 1


def _renamed(node: Node, names: dict[str, Column]) -> Node:
    """A condition over other names of the same columns."""
    if isinstance(node, Column):
        return names[node.name]
    return replace(node, args=tuple(_renamed(arg, names) for arg in node.args)) if isinstance(node, Call) else node


def conditions(relation: Relation) -> list[Node]:
    """What is known to hold of every row, as far as it speaks of the relation's own columns."""
    return list(relation.conditions)


def _conditions(relation: Relation) -> list[Node]:
    step()
    found: list[Node] = []
    if isinstance(relation, Filter):
        found = [*conjuncts(relation.condition), *conditions(relation.below)]
    elif isinstance(relation, Join):
        found = conditions(relation.left) if relation.kind != "full" else []
        if relation.kind == "inner":
            found = [*found, *conjuncts(relation.on), *conditions(relation.right)]
    elif isinstance(relation, MarkJoin | Windowed | Distinct | Fixed):
        found = conditions(relation.below)
    elif isinstance(relation, Projection):
        names = {node.name: relation.columns[name] for name, node in relation.items if isinstance(node, Column)}
        found = [
            _renamed(part, names) for part in conditions(relation.below) if columns_of(part).keys() <= names.keys()
        ]
    return [part for part in found if columns_of(part).keys() <= relation.columns.keys()]


def fixed_in(relation: Relation) -> list[Fixed]:
    """The public rows that a private relation meets, down to releases, each once."""
    if isinstance(relation, Fixed):
        return [relation]
    if isinstance(relation, Release):
        return []
    return list(dict.fromkeys(fixed for part in below(relation) for fixed in fixed_in(part)))


# facts of a column that an expression has become
def listed(node: Node) -> tuple[Any, ...] | None:
    """The values that an expression can have by its form: lists, constants, and what CASE and COALESCE make of them."""
    if isinstance(node, Column):
        return node.facts.values
    if isinstance(node, Constant):
        return () if node.value is None else (node.value,)
    if isinstance(node, Call) and node.name in ("case", "coalesce"):
        results = [*node.args[1:-1:2], node.args[-1]] if node.name == "case" else list(node.args)
        values: dict[Any, None] = {}
        for result in results:
            inner = listed(result)
            if inner is None:
                return None
            values |= dict.fromkeys(inner)
        return tuple(values)
    if isinstance(node, Call) and node.name == "nullif":
        return listed(node.args[0])
    return geo_cells.names(geo_cells.read(node.extra)) if isinstance(node, Call) and node.name == "geo_cell" else None


def column(name: str, node: Node) -> Column:
    """The column that holds an expression: what is known of it stays known."""
    facts = node.facts
    if facts.kind == TEXT and facts.values is None:
        values = listed(node)
        if values and all(isinstance(value, str) for value in values):
            facts = replace(facts, values=values)
    return Column(name, facts, node.position, node.unit if isinstance(node, Column) else "")


def size_of(facts: Facts) -> int | None:
    """How many values a column can have, with NULL; None without a limit."""
    count: int | None = None
    if facts.values is not None:
        count = len(facts.values)
    elif facts.kind == BOOLEAN:
        count = 2
    elif facts.low is not None and facts.high is not None and facts.kind in TIMES and facts.every:
        count = units_between(facts.every, int(facts.low), int(facts.high))
    elif facts.low is not None and facts.high is not None and (facts.exact or facts.kind == DATE):
        count = int((facts.high - facts.low) / (facts.grid or Fraction(1))) + 1
    return None if count is None else count + facts.nullable


# building
def series(name: str, facts: Facts, values: tuple[Any, ...]) -> Series:
    """Different values, one in each row."""
    column = Column(name, facts)
    return Series(RelationShape({name: column}, False, len(values), (frozenset((name,)),), (name,)), name, values)


def filtered(relation: Relation, condition: Node | None) -> Relation:
    """The rows for which the condition holds."""
    return relation if condition is None else Filter(relation.shape, relation, condition)


def named(relation: Relation, items: list[tuple[str, Node]]) -> Relation:
    """The items as columns; nothing is done where they are the relation's own columns."""
    columns = {name: column(name, node) for name, node in items}
    renamed = {node.name: name for name, node in items if isinstance(node, Column)}
    keys = tuple(frozenset(renamed[c] for c in key) for key in relation.shape.keys if key <= renamed.keys())
    places = tuple(renamed[c] for c in relation.shape.places if c in renamed)
    return Projection(
        RelationShape(columns, relation.private, relation.shape.rows, keys, places), relation, tuple(items)
    )


def _product(relation: Relation, sizes: list[int | None]) -> int:
    """Rows of one person in different groups: no more than rows, and no more than values."""
    rows = relation.person_rows
    return rows if None in sizes else max(1, min(rows, prod(size for size in sizes if size is not None)))


def grouped(
    relation: Relation,
    keys: list[tuple[str, Node]],
    aggregates: list[tuple[str, Aggregate]],
    sets: tuple[tuple[int, ...], ...],
    number: int,
) -> Grouped:
    """One row for each group of a person's rows, or of public rows."""
    columns = {name: column(name, node) for name, node in keys}
    if len(sets) > 1:
        columns = {name: replace(c, facts=replace(c.facts, nullable=True)) for name, c in columns.items()}
        columns[f"{number}.set"] = Column(f"{number}.set", Facts(INTEGER, grid=Fraction(1), nullable=False))
    unique = frozenset(name for name, c in columns.items() if c.unit != PERSON or not relation.private)
    rows: int | None = None if any(sets) else max(1, len(sets))  # each empty grouping set has one row
    if relation.private:
        rows = len(sets) * _product(relation, [size_of(columns[n].facts) for n, _ in keys if columns[n].unit != PERSON])
    columns |= {name: Column(name, aggregate.facts) for name, aggregate in aggregates}
    places = tuple(name for name, _ in keys)
    shape = RelationShape(columns, relation.private, rows, (unique,), places)
    return Grouped(shape, relation, tuple(keys), tuple(aggregates), sets, number)


def windowed(relation: Relation, windows: list[tuple[str, Over]]) -> Relation:
    """Window functions as columns."""
    if not windows:
        return relation
    columns = relation.columns | {name: Column(name, over.facts) for name, over in windows}
    return Windowed(replace(relation.shape, columns=columns), relation, tuple(windows))


def distinct(relation: Relation) -> Relation:
    """Each row once."""
    columns = relation.columns
    rows, key = relation.shape.rows, frozenset(columns)
    if relation.private:
        rows = _product(relation, [size_of(c.facts) for c in columns.values() if c.unit != PERSON])
        key = frozenset(name for name, c in columns.items() if c.unit != PERSON)
    shape = replace(relation.shape, rows=rows, keys=(*relation.shape.keys, key), places=tuple(columns))
    return Distinct(shape, relation)


def limited(relation: Relation, order: tuple[Sorted, ...], limit: int | None, offset: int) -> Relation:
    """The first rows of a public relation."""
    rows = relation.shape.rows
    if limit is not None:
        rows = limit if rows is None else min(rows, limit)
    keys = (frozenset[str](),) if rows is not None and rows <= 1 else relation.shape.keys
    return Limited(replace(relation.shape, rows=rows, keys=keys), relation, order, limit, offset)


def stacked(parts: list[tuple[Relation, tuple[Node, ...]]], columns: dict[str, Column]) -> UnionAll:
    """UNION ALL."""
    private = parts[0][0].private
    counts = [part.shape.rows for part, _ in parts]
    rows = None if None in counts else sum(count for count in counts if count is not None)
    return UnionAll(RelationShape(columns, private, rows), tuple(parts))


def released(
    relation: Relation,
    keys: list[tuple[str, Node]],
    aggregates: list[tuple[str, Aggregate]],
    sets: tuple[tuple[int, ...], ...],
    number: int,
) -> Release:
    """The cut."""
    several = len(sets) > 1
    columns = {name: column(name, node) for name, node in keys}
    columns = {
        name: replace(c, unit="", facts=replace(c.facts, nullable=True) if several else c.facts)
        for name, c in columns.items()
    }
    if several:
        columns[f"{number}.set"] = Column(f"{number}.set", Facts(INTEGER, grid=Fraction(1), nullable=False))
    unique = frozenset(columns)
    columns |= {name: Column(name, aggregate.facts) for name, aggregate in aggregates}
    place = f"{number}.#"
    columns[place] = Column(place, Facts(INTEGER, grid=Fraction(1), nullable=False))
    sizes = [size_of(node.facts) for _, node in keys]
    rows = None if None in sizes else len(sets) * prod(size for size in sizes if size is not None)
    shape = RelationShape(columns, False, rows, (unique, frozenset((place,))), (place,))
    return Release(shape, relation, tuple(keys), tuple(aggregates), sets, number, place)
