"""Relations above the release with hidden columns that record, row by row, which released rows each number comes from.

Comes in: the public relation of a question. Goes out: the same rows and columns, the hidden columns that the origins of
its noisy columns speak of, and what noise has decided: a relation whose rows are there or not by noise is not steady,
and of totals, windows and counts over it nothing can be told. Relations below the cut stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch

from sfumato.sql.aggregates import AGGREGATES
from sfumato.sql.aggregates.base import CHOICE
from sfumato.sql.group_keys import is_open, is_staged
from sfumato.sql.intervals.fine_numbers import column_of, fine_name
from sfumato.sql.intervals.provenance import (
    Choice,
    Known,
    Leaf,
    ListedAggregate,
    Maybe,
    Origin,
    PublicValue,
    ReleasedColumn,
    Slot,
    WindowTotal,
    is_noisy,
    leaves,
    moved,
    numbered,
    origin,
)
from sfumato.sql.relations import (
    Combined,
    Distinct,
    Filter,
    Grouped,
    Join,
    Limited,
    Marked,
    Named,
    Relation,
    RelationShape,
    Release,
    Stacked,
    Windowed,
)
from sfumato.sql.tree import BOOLEAN, INTEGER, NULL, NUMBERS, Aggregate, Call, Column, Constant, Facts, Node, Over

_FEW = 256
"""Rows of a relation up to which every row of a window lists the rows that it looks at."""
_LIST = Facts("list")
_NUMBER = Facts(INTEGER, grid=Fraction(1))
_HERE = Constant(1, replace(_NUMBER, nullable=False))
_NOTHING = Constant(None, Facts(NULL))
_OVER_ROWS = ("sum", "avg", "min", "max")
_ONE_ROW = ("lag", "lead", "first_value", "last_value")


@dataclass(frozen=True)
class Traced:
    """A relation, the origins of its noisy columns, and whether it is public which rows it has."""

    relation: Relation
    known: Known
    steady: bool = True

    def noisy(self, *nodes: Node | None) -> bool:
        """Whether any of these reads a noisy column."""
        return any(node is not None and is_noisy(node, self.known) for node in nodes)


class Walk:
    """One walk over a question: relations that are read twice are traced once, hidden names are never used twice."""

    def __init__(self, runs: Iterable[str]) -> None:
        self.runs = frozenset(runs)
        self.sums: set[str] = set()
        self._made: dict[int, tuple[Relation, Traced]] = {}
        self._names = 0

    def down(self, old: Relation) -> Traced:
        """What a relation becomes."""
        if id(old) not in self._made:
            self._made[id(old)] = (old, _traced(old, self))
        return self._made[id(old)][1]

    def name(self) -> str:
        """A name for a hidden column."""
        self._names += 1
        return f"#{self._names}"

    def hidden(self, origins: Iterable[Origin | None], columns: dict[str, Node]) -> Callable[[Leaf], Leaf]:
        """How leaves become columns of a relation above: `columns` gets what these are."""
        found: dict[Node, Column] = {}
        for one in origins:
            for leaf in leaves(one):
                if not isinstance(leaf, Slot | Constant) and leaf not in found:
                    name = self.name()
                    found[leaf] = Column(name, leaf.facts)
                    columns[name] = leaf
        return lambda leaf: leaf if isinstance(leaf, Slot) else found.get(leaf, leaf)


def trace(
    relation: Relation, items: Iterable[Node], runs: Iterable[str]
) -> tuple[Relation, tuple[Origin | None, ...], tuple[Node, ...]]:
    """A question's relation with hidden columns, the origins of what it shows, and the nodes that give their slots.

    `runs` are the windows whose totals are known from the release alone (see `running`).

    Guarantee: the relation has the same rows with the same values; an origin other than Exact or None is, in every row,
        made of the draws that SQL's value is made of, with public weights and choices.
    Proof: by induction. Hidden columns are read by nothing that SQL's columns are made of, and DISTINCT, the one place
        where more columns make more rows, becomes GROUP BY what it had. A leaf is carried by the same function of rows
        as the number itself: renamed, stacked, listed under the same FILTER, moved by the same window. Where noise
        decides about rows, totals over them have no origin.
    Reference: semantics 4.4.
    Checked by: unit::without_noise_intervals_are_what_is_shown, laws::what_is_traced_is_what_is_shown
    """
    found = Walk(runs).down(relation)
    origins = [origin(node, found.known) for node in items]
    made, nodes = numbered([None if isinstance(one, PublicValue) else one for one in origins])
    return found.relation, tuple(made), nodes


@singledispatch
def _traced(old: Relation, _: Walk) -> Traced:
    return Traced(old, {})


@_traced.register
def _(old: Release, walk: Walk) -> Traced:
    """Released numbers; which open keys are shown is decided by noise."""
    place, known = old.columns[old.place], Known()
    walk.sums |= {name for name, aggregate in old.aggregates if AGGREGATES[aggregate.name].never_null}
    staged = is_staged(old)
    for name, aggregate in old.aggregates:
        told = not staged and aggregate.name != "mode" and aggregate.facts.kind != BOOLEAN
        one: Origin | None = ReleasedColumn(name, place) if told else None
        if one is not None and AGGREGATES[aggregate.name].measure == CHOICE:
            one = Maybe(one)  # it is NULL where its own interval says nothing
        known[name] = known[fine_name(name)] = one
    return Traced(old, known, not any(is_open(node, old.below) for _, node in old.keys))


def _over(old: Relation, *below: Relation) -> RelationShape:
    """The shape with the hidden columns of what lies below."""
    hidden = {name: column for part in below for name, column in part.columns.items() if name.startswith("#")}
    return replace(old.shape, columns=old.columns | hidden)


@_traced.register
def _(old: Filter, walk: Walk) -> Traced:
    below = walk.down(old.below)
    made = replace(old, shape=_over(old, below.relation), below=below.relation)
    return Traced(made, below.known, below.steady and not below.noisy(old.condition))


@_traced.register
def _(old: Join, walk: Walk) -> Traced:
    """Rows that an outer join did not find are NULL; where noise decides that, nothing can be told of such a NULL."""
    left, right = walk.down(old.left), walk.down(old.right)
    by_noise = left.noisy(old.on) or right.noisy(old.on)
    steady = left.steady and right.steady and not by_noise
    if old.kind in ("left", "full"):
        right = _padded(right, by_noise or not right.steady or (old.kind == "full" and not steady), walk)
    if old.kind == "full":
        left = _padded(left, not steady, walk)
    shape = _over(old, left.relation, right.relation)
    made = replace(old, shape=shape, left=left.relation, right=right.relation)
    return Traced(made, left.known | right.known, steady)


def _padded(side: Traced, by_noise: bool, walk: Walk) -> Traced:
    """A side of which an outer join may find no row: that there is one is a hidden column of its own."""
    if not side.known and not by_noise:
        return side
    old, here = side.relation, Column(walk.name(), _NUMBER)
    shape = replace(old.shape, columns=old.columns | {here.name: here})
    made = Named(shape, old, (*old.columns.items(), (here.name, _HERE)))
    known: Known = dict.fromkeys(old.columns) if by_noise else {}
    for name, one in side.known.items():
        there = _there(here, one)
        known[name] = Maybe(there) if by_noise and there is not None else there
    return replace(side, relation=made, known=known)


def _there(here: Node, one: Origin | None) -> Origin | None:
    """A number that is there where a hidden column has a 1, and NULL elsewhere."""
    return None if one is None else Choice(here, (None, one))


@_traced.register
def _(old: Marked, walk: Walk) -> Traced:
    below, right = walk.down(old.below), walk.down(old.right)
    nodes = (old.on, old.operand, old.value)
    by_noise = not right.steady or below.noisy(*nodes) or right.noisy(*nodes)
    made = replace(old, shape=_over(old, below.relation), below=below.relation)
    return Traced(made, below.known | ({old.name: None} if by_noise else {}), below.steady)


@_traced.register
def _(old: Named, walk: Walk) -> Traced:
    below = walk.down(old.below)
    found = {name: origin(node, below.known) for name, node in old.items if below.noisy(node)}
    return _named(old, below, found, dict(old.items), walk)


def _named(old: Relation, below: Traced, found: Known, items: dict[str, Node], walk: Walk) -> Traced:
    """The items as columns, and hidden ones beside them for the leaves of those that are noisy."""
    more: dict[str, Node] = {}
    move = walk.hidden(found.values(), more)
    known: Known = {name: None if one is None else moved(one, move) for name, one in found.items()}
    hidden = {name: Column(name, node.facts) for name, node in more.items()}
    shape = replace(old.shape, columns=old.columns | hidden)
    return Traced(Named(shape, below.relation, (*items.items(), *more.items())), known, below.steady)


@_traced.register
def _(old: Limited, walk: Walk) -> Traced:
    below = walk.down(old.below)
    made = replace(old, shape=_over(old, below.relation), below=below.relation)
    return Traced(made, below.known, below.steady and not below.noisy(*(item.node for item in old.order)))


@_traced.register
def _(old: Stacked, walk: Walk) -> Traced:
    """UNION ALL: which part a row is of is public, and so is which of the origins it has."""
    parts = [(walk.down(part), nodes) for part, nodes in old.parts]
    which = Column(walk.name(), _NUMBER)
    columns, read = dict(old.columns), [list(nodes) for _, nodes in parts]
    options: dict[str, list[Origin | None]] = {}
    for i, name in enumerate(old.columns):
        if any(part.noisy(nodes[i]) for part, nodes in parts):
            options[name] = [origin(nodes[i], part.known) for part, nodes in parts]
    for number in range(len(parts)):
        more: dict[str, Node] = {}
        move = walk.hidden((found[number] for found in options.values()), more)
        for found in options.values():
            one = found[number]
            found[number] = None if one is None else moved(one, move)
        columns |= {name: Column(name, node.facts) for name, node in more.items()}
        for other, nodes in enumerate(read):
            nodes += [node if other == number else _NOTHING for node in more.values()]
    columns[which.name] = which
    for number, nodes in enumerate(read):
        nodes.append(Constant(number, _NUMBER))
    known: Known = {name: Choice(which, tuple(found)) for name, found in options.items()}
    made = tuple((part.relation, tuple(nodes)) for (part, _), nodes in zip(parts, read, strict=True))
    shape = replace(old.shape, columns=columns)
    return Traced(replace(old, shape=shape, parts=made), known, all(part.steady for part, _ in parts))


@_traced.register
def _(old: Combined, walk: Walk) -> Traced:
    """EXCEPT and INTERSECT: rows are there by what they show."""
    parts = [(walk.down(part), nodes) for part, nodes in old.parts]
    by_noise = not all(part.steady for part, _ in parts) or any(part.noisy(*nodes) for part, nodes in parts)
    noisy = [name for i, name in enumerate(old.columns) if any(part.noisy(nodes[i]) for part, nodes in parts)]
    return Traced(old, dict.fromkeys(noisy), not by_noise)


@_traced.register
def _(old: Distinct, walk: Walk) -> Traced:
    """Each row once: one that stands for several has no origin, and which are alike noise decides."""
    below = walk.down(old.below)
    noisy = {name: below.known[name] for name in old.columns if name in below.known}
    if not noisy:
        plain = Named(old.below.shape, below.relation, tuple(old.below.columns.items()))
        return Traced(replace(old, below=plain), {}, below.steady)
    more: dict[str, Node] = {}
    move = walk.hidden(noisy.values(), more)
    keys = tuple(old.below.columns.items())
    single = Column(walk.name(), _NUMBER)
    aggregates = [(name, Aggregate("any_value", node, None, node.facts)) for name, node in more.items()]
    aggregates.append((single.name, Aggregate("count", None, None, single.facts)))
    hidden = {name: Column(name, aggregate.facts) for name, aggregate in aggregates}
    shape = replace(old.shape, columns=old.columns | hidden)
    made = Grouped(shape, below.relation, keys, tuple(aggregates), (tuple(range(len(keys))),))
    known: Known = {name: _there(single, None if one is None else moved(one, move)) for name, one in noisy.items()}
    return Traced(made, known, False)


@_traced.register
def _(old: Grouped, walk: Walk) -> Traced:
    below = walk.down(old.below)
    by_noise = not below.steady or below.noisy(*(node for _, node in old.keys))
    known: Known = {name: None for name, node in old.keys if below.noisy(node)}
    rows: list[tuple[str, Aggregate]] = []
    for name, aggregate in old.aggregates:
        if by_noise:
            known[name] = None
        elif below.noisy(aggregate.arg, aggregate.second, aggregate.where):
            found = _aggregate(column_of(name), aggregate, below, rows, walk)
            if not isinstance(found, PublicValue):
                known[name] = found
    columns = old.columns | {name: Column(name, aggregate.facts) for name, aggregate in rows}
    shape = replace(old.shape, columns=columns)
    made = replace(old, shape=shape, below=below.relation, aggregates=(*old.aggregates, *rows))
    return Traced(made, known, not by_noise or not old.keys)


def _aggregate(
    column: str, aggregate: Aggregate, below: Traced, rows: list[tuple[str, Aggregate]], walk: Walk
) -> Origin | None:
    """An aggregate over steady rows: the list of what it is over is one more aggregate with the same FILTER."""
    if aggregate.arg is None or below.noisy(aggregate.where, aggregate.second):
        return None
    inner = origin(aggregate.arg, below.known)
    if aggregate.name == "count" and isinstance(inner, ReleasedColumn) and inner.name in walk.sums:
        return PublicValue(aggregate.arg)  # such a number is there wherever its row is, which is public
    if inner is None or aggregate.name not in _OVER_ROWS or aggregate.arg.facts.kind not in NUMBERS:
        return None
    (packed,), nodes = numbered([inner])
    assert packed is not None
    name = walk.name()
    rows.append((name, Aggregate("list", _row(nodes), aggregate.where, _LIST)))
    return ListedAggregate(aggregate.name, packed, Column(name, _LIST), column)


def _row(nodes: tuple[Node, ...]) -> Node:
    """What is listed of a row: its only leaf, or all of them together."""
    return nodes[0] if len(nodes) == 1 else Call("row", nodes, _LIST)


@_traced.register
def _(old: Windowed, walk: Walk) -> Traced:
    below = walk.down(old.below)
    windows, known = list(old.windows), dict(below.known)
    for name, over in old.windows:
        parts = (*over.args, *over.partition, *(item.node for item in over.order))
        if not below.steady or below.noisy(*over.partition, *(item.node for item in over.order)):
            known[name] = None
        elif below.noisy(*parts):
            known[name] = _window(name, over, below, windows, walk)
    columns = old.columns | {name: Column(name, over.facts) for name, over in windows}
    shape = replace(_over(old, below.relation), columns=_over(old, below.relation).columns | columns)
    return Traced(replace(old, shape=shape, below=below.relation, windows=tuple(windows)), known, below.steady)


def _window(name: str, over: Over, below: Traced, windows: list[tuple[str, Over]], walk: Walk) -> Origin | None:
    """A window over steady rows in a public order."""
    inner = origin(over.args[0], below.known)
    if inner is None or below.noisy(*over.args[1:]) or over.args[0].facts.kind not in NUMBERS:
        return None
    if over.name == "sum" and column_of(name) in walk.runs and isinstance(inner, ReleasedColumn):
        return WindowTotal(column_of(name), inner.place)
    if over.name in _ONE_ROW and len(over.args) <= 2:
        more: dict[str, Node] = {}
        move, here = walk.hidden([inner], more), Column(walk.name(), _NUMBER)
        more[here.name] = _HERE
        windows += [(hid, replace(over, args=(node, *over.args[1:]), facts=node.facts)) for hid, node in more.items()]
        return _there(here, moved(inner, move))
    rows = below.relation.shape.rows
    if over.name not in _OVER_ROWS or rows is None or rows > _FEW:
        return None
    (packed,), nodes = numbered([inner])
    assert packed is not None
    hid = walk.name()
    windows.append((hid, replace(over, name="list", args=(_row(nodes),), facts=_LIST)))
    return ListedAggregate(over.name, packed, Column(hid, _LIST), column_of(name))
