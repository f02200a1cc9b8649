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

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.base import CHOICE
from sfumato.algebra.group_keys import is_open, is_staged
from sfumato.algebra.relations import (
    RECURSIVE,
    Distinct,
    Filter,
    Grouped,
    Join,
    Limited,
    MarkJoin,
    Projection,
    Relation,
    RelationShape,
    Release,
    SetOperation,
    UnionAll,
    Windowed,
)
from sfumato.algebra.relations import below as relations_below
from sfumato.algebra.tree import (
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBERS,
    Aggregate,
    Call,
    Column,
    Constant,
    Facts,
    Node,
    Over,
    columns_of,
)
from sfumato.intervals.fine_numbers import column_of, fine_name
from sfumato.intervals.no_interval import ORDER, reason, reason_of
from sfumato.intervals.provenance import (
    Choice,
    Known,
    Leaf,
    ListedAggregate,
    Origin,
    PossiblyNull,
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

_FEW = 256
"""Rows of a relation up to which every row of a window lists the rows that it looks at."""
_LIST = Facts("list")
_NUMBER = Facts(INTEGER, grid=Fraction(1))
_HERE = Constant(1, replace(_NUMBER, nullable=False))
_TRUTH = Facts(BOOLEAN)
_ZERO = Constant(0, replace(_NUMBER, nullable=False))
_NOTHING = Constant(None, Facts(NULL))
_OVER_ROWS = ("sum", "avg", "min", "max")
_ONE_ROW = ("lag", "lead", "first_value", "last_value")


@dataclass(frozen=True)
class TracedRelation:
    """A relation, the origins of its noisy columns, and whether it is public which rows it has."""

    relation: Relation
    known: Known
    steady: bool = True

    def noisy(self, *nodes: Node | None) -> bool:
        """Whether any of these reads a noisy column."""
        return any(node is not None and is_noisy(node, self.known) for node in nodes)


class ProvenanceWalk:
    """One walk over a question: relations that are read twice are traced once, hidden names are never used twice."""

    def __init__(self, runs: Iterable[str]) -> None:
        self.runs = frozenset(runs)
        self.sums: set[str] = set()
        self.why: dict[str, str] = {}
        """Of each noisy column of which nothing can be told, the reason."""
        self.picked = False
        """Whether noise decides which rows are the first ones that a LIMIT or a rank leaves."""
        self._made: dict[int, tuple[Relation, TracedRelation]] = {}
        self._names = 0

    def down(self, old: Relation) -> TracedRelation:
        """What a relation becomes."""
        if id(old) not in self._made:
            made = _traced(old, self)
            self._made[id(old)] = (old, made)
            self._say_why(old, made)
        return self._made[id(old)][1]

    def _say_why(self, old: Relation, made: TracedRelation) -> None:
        """Note why nothing can be told of the columns that lost their origins here."""
        lost = [name for name, one in made.known.items() if one is None and name not in self.why]
        parts = [self.down(part) for part in relations_below(old) if lost and not part.private]
        for name in lost:
            self.why[name] = reason(
                old,
                name,
                self.why,
                steady=all(part.steady for part in parts),
                noisy=lambda *nodes: any(part.noisy(*nodes) for part in parts),
            )

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


@dataclass(frozen=True)
class TracedQuery:
    """A question's relation with hidden columns, the origins of what it shows, and the nodes that give their slots.

    `why` has for each item None, or why it is noisy and has no origin: what has neither is exact. `picked` says that
    rows are left out by their place in an order of noisy numbers.
    """

    relation: Relation
    origins: tuple[Origin | None, ...]
    slots: tuple[Node, ...]
    why: tuple[str | None, ...]
    picked: bool


def trace(relation: Relation, items: Iterable[Node], runs: Iterable[str], first: Iterable[Node] = ()) -> TracedQuery:
    """A question's relation with hidden columns, and what its items are made of.

    `runs` are the windows whose totals are known from the release alone (see `running`); `first` is what rows are
    ordered by, if only the first ones are shown.

    Guarantee: the relation has the same rows with the same values; an origin other than Exact or None is, in every row,
        made of the draws that SQL's value is made of, with public weights and choices.
    Proof: by induction. Hidden columns are read by nothing that SQL's columns are made of, and DISTINCT, the one place
        where more columns make more rows, becomes GROUP BY what it had. A leaf is carried by the same function of rows
        as the number itself: renamed, stacked, listed under the same FILTER, moved by the same window. Where noise
        decides about rows, totals over them have no origin.
    Reference: semantics 4.4.
    Checked by: unit::without_noise_intervals_are_what_is_shown, laws::what_is_traced_is_what_is_shown
    """
    walk = ProvenanceWalk(runs)
    found, nodes = walk.down(relation), tuple(items)
    origins = [
        None if node.facts.kind == BOOLEAN and found.noisy(node) else origin(node, found.known) for node in nodes
    ]
    why = tuple(reason_of(node, walk.why) if one is None else None for node, one in zip(nodes, origins, strict=True))
    made, slots = numbered([None if isinstance(one, PublicValue) else one for one in origins])
    return TracedQuery(found.relation, tuple(made), slots, why, walk.picked or found.noisy(*first))


@singledispatch
def _traced(old: Relation, _: ProvenanceWalk) -> TracedRelation:
    return TracedRelation(old, {})


@_traced.register
def _(old: Release, walk: ProvenanceWalk) -> TracedRelation:
    """Released numbers; which open keys are shown is decided by noise."""
    place, known = old.columns[old.place], Known()
    walk.sums |= {name for name, aggregate in old.aggregates if AGGREGATES[aggregate.name].never_null}
    staged = is_staged(old)
    for name, aggregate in old.aggregates:
        told = not staged and aggregate.name != "mode" and aggregate.facts.kind != BOOLEAN
        one: Origin | None = ReleasedColumn(name, place) if told else None
        if one is not None and AGGREGATES[aggregate.name].measure == CHOICE:
            one = PossiblyNull(one)  # it is NULL where its own interval says nothing
        known[name] = known[fine_name(name)] = one
    return TracedRelation(old, known, not any(is_open(node, old.below) for _, node in old.keys))


def _over(old: Relation, *below: Relation) -> RelationShape:
    """The shape with the hidden columns of what lies below."""
    hidden = {name: column for part in below for name, column in part.columns.items() if name.startswith("#")}
    return replace(old.shape, columns=old.columns | hidden)


@_traced.register
def _(old: Filter, walk: ProvenanceWalk) -> TracedRelation:
    below = walk.down(old.below)
    made = replace(old, shape=_over(old, below.relation), below=below.relation)
    walk.picked |= any(walk.why.get(name) == ORDER for name in columns_of(old.condition))
    return TracedRelation(made, below.known, below.steady and not below.noisy(old.condition))


@_traced.register
def _(old: Join, walk: ProvenanceWalk) -> TracedRelation:
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
    return TracedRelation(made, left.known | right.known, steady)


def _padded(side: TracedRelation, by_noise: bool, walk: ProvenanceWalk) -> TracedRelation:
    """A side of which an outer join may find no row: that there is one is a hidden column of its own."""
    if not side.known and not by_noise:
        return side
    old, here = side.relation, Column(walk.name(), _NUMBER)
    shape = replace(old.shape, columns=old.columns | {here.name: here})
    made = Projection(shape, old, (*old.columns.items(), (here.name, _HERE)))
    known: Known = dict.fromkeys(old.columns) if by_noise else {}
    for name, one in side.known.items():
        there = _there(here, one)
        known[name] = PossiblyNull(there) if by_noise and there is not None else there
    return replace(side, relation=made, known=known)


def _there(here: Node, one: Origin | None) -> Origin | None:
    """A number that is there where a hidden column has a 1, and NULL elsewhere."""
    return None if one is None else Choice(here, (None, one))


@_traced.register
def _(old: MarkJoin, walk: ProvenanceWalk) -> TracedRelation:
    below, right = walk.down(old.below), walk.down(old.right)
    nodes = (old.on, old.operand, old.value)
    by_noise = not right.steady or below.noisy(*nodes) or right.noisy(*nodes)
    made = replace(old, shape=_over(old, below.relation), below=below.relation)
    return TracedRelation(made, below.known | ({old.name: None} if by_noise else {}), below.steady)


@_traced.register
def _(old: Projection, walk: ProvenanceWalk) -> TracedRelation:
    below = walk.down(old.below)
    found = {name: origin(node, below.known) for name, node in old.items if below.noisy(node)}
    return _named(old, below, found, dict(old.items), walk)


def _named(
    old: Relation, below: TracedRelation, found: Known, items: dict[str, Node], walk: ProvenanceWalk
) -> TracedRelation:
    """The items as columns, and hidden ones beside them for the leaves of those that are noisy."""
    more: dict[str, Node] = {}
    move = walk.hidden(found.values(), more)
    known: Known = {name: None if one is None else moved(one, move) for name, one in found.items()}
    hidden = {name: Column(name, node.facts) for name, node in more.items()}
    shape = replace(old.shape, columns=old.columns | hidden)
    return TracedRelation(Projection(shape, below.relation, (*items.items(), *more.items())), known, below.steady)


@_traced.register
def _(old: Limited, walk: ProvenanceWalk) -> TracedRelation:
    below = walk.down(old.below)
    made = replace(old, shape=_over(old, below.relation), below=below.relation)
    by_noise = below.noisy(*(item.node for item in old.order))
    walk.picked |= by_noise
    return TracedRelation(made, below.known, below.steady and not by_noise)


@_traced.register
def _(old: UnionAll, walk: ProvenanceWalk) -> TracedRelation:
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
    return TracedRelation(replace(old, shape=shape, parts=made), known, all(part.steady for part, _ in parts))


@_traced.register
def _(old: SetOperation, walk: ProvenanceWalk) -> TracedRelation:
    """EXCEPT and INTERSECT: rows are there by what they show; a recursion carries noise from column to column."""
    parts = [(walk.down(part), nodes) for part, nodes in old.parts]
    by_noise = not all(part.steady for part, _ in parts) or any(part.noisy(*nodes) for part, nodes in parts)
    if old.kind.startswith(RECURSIVE):
        return TracedRelation(old, dict.fromkeys(old.columns), False)
    noisy = [name for i, name in enumerate(old.columns) if any(part.noisy(nodes[i]) for part, nodes in parts)]
    return TracedRelation(old, dict.fromkeys(noisy), not by_noise)


@_traced.register
def _(old: Distinct, walk: ProvenanceWalk) -> TracedRelation:
    """Each row once: one that stands for several has no origin, and which are alike noise decides."""
    below = walk.down(old.below)
    noisy = {name: below.known[name] for name in old.columns if name in below.known}
    if not noisy:
        plain = Projection(old.below.shape, below.relation, tuple(old.below.columns.items()))
        return TracedRelation(replace(old, below=plain), {}, below.steady)
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
    return TracedRelation(made, known, False)


@_traced.register
def _(old: Grouped, walk: ProvenanceWalk) -> TracedRelation:
    below = walk.down(old.below)
    if not below.steady and (whole := _before_noise(old, walk)) is not None:
        return whole
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
    return TracedRelation(made, known, not by_noise or not old.keys)


def _before_noise(old: Grouped, walk: ProvenanceWalk) -> TracedRelation | None:
    """Aggregates over rows that noisy conditions have left, as FILTERs over the rows that there were before.

    Guarantee: where it is not None, the same rows with the same values.
    Proof: an aggregate over the rows for which a condition holds is that aggregate with this FILTER. Without keys there
        is one row either way. With keys in every grouping set, a group is there if some row of it passes: if the count
        of those that do is above zero.
    Reference: semantics 4.4; SQL:2016, filter clause.
    Checked by: laws::what_is_traced_is_what_is_shown, unit::every_interval_above_the_cut_holds_what_it_promises
    """
    if old.keys and not all(old.sets):
        return None
    rows, passes = _unfiltered(old.below, walk)
    if passes is None or not rows.steady or rows.noisy(*(node for _, node in old.keys)):
        return None
    here, known, listed = walk.name(), Known(), list[tuple[str, Aggregate]]()
    made = []
    for name, aggregate in old.aggregates:
        where = passes if aggregate.where is None else _and(passes, aggregate.where)
        made.append((name, replace(aggregate, where=where)))
        known[name] = _aggregate(column_of(name), made[-1][1], rows, listed, walk)
    passed = Column(here, _NUMBER)
    listed += [(here, Aggregate("count", None, passes, _NUMBER))] if old.keys else []
    shape = replace(old.shape, columns=old.columns | {name: Column(name, one.facts) for name, one in listed})
    groups = replace(old, shape=shape, below=rows.relation, aggregates=(*made, *listed))
    if not old.keys:
        return TracedRelation(groups, known)
    return TracedRelation(Filter(shape, groups, Call(">", (passed, _ZERO), _TRUTH)), known, False)


def _unfiltered(old: Relation, walk: ProvenanceWalk) -> tuple[TracedRelation, Node | None]:
    """The rows of a relation before noise has left some out, and the condition by which it did."""
    if isinstance(old, Filter):
        rows, passes = _unfiltered(old.below, walk)
        if passes is None and not rows.noisy(old.condition):
            return walk.down(old), None
        return rows, old.condition if passes is None else _and(passes, old.condition)
    if isinstance(old, Projection):
        rows, passes = _unfiltered(old.below, walk)
        if passes is None:
            return walk.down(old), None
        here, items = Column(walk.name(), passes.facts), dict(old.items)
        items[here.name] = passes
        found = {name: origin(node, rows.known) for name, node in items.items() if rows.noisy(node)}
        shape = replace(old.shape, columns=old.columns | {here.name: here})
        return _named(replace(old, shape=shape), rows, found, items, walk), here
    return walk.down(old), None


def _and(one: Node, other: Node) -> Node:
    return Call("and", (one, other), _TRUTH)


def _aggregate(
    column: str, aggregate: Aggregate, below: TracedRelation, rows: list[tuple[str, Aggregate]], walk: ProvenanceWalk
) -> Origin | None:
    """An aggregate over steady rows: the list of what it is over is one more aggregate with the same FILTER.

    A FILTER that noise decides is part of what is listed, as is CASE WHEN without ELSE.
    """
    arg, where = _cases(aggregate, below)
    by_noise = where is not None and below.noisy(where)
    if below.noisy(aggregate.second) or (arg is None and not by_noise):
        return None
    inner = PublicValue(_HERE) if arg is None else origin(arg, below.known)
    if aggregate.name == "count" and arg is not None:
        if not by_noise and isinstance(inner, ReleasedColumn) and inner.name in walk.sums:
            return PublicValue(arg)  # such a number is there wherever its row is, which is public
        if where is not None and isinstance(inner, PublicValue):  # it counts where it is not NULL, whatever it is
            inner, where = PublicValue(_HERE), _and(where, Call("not", (Call("is null", (arg,), _TRUTH),), _TRUTH))
    condition = origin(where, below.known) if by_noise and where is not None else None
    counts = aggregate.name == "count" and by_noise
    numbers = aggregate.name in _OVER_ROWS and (arg is None or arg.facts.kind in NUMBERS)
    if inner is None or (by_noise and condition is None) or not (counts or numbers):
        return None
    (packed, test), nodes = numbered([inner, condition])
    assert packed is not None
    name = walk.name()
    rows.append((name, Aggregate("list", _row(nodes), None if by_noise else where, _LIST)))
    return ListedAggregate(aggregate.name, packed, Column(name, _LIST), column, test)


def _cases(aggregate: Aggregate, below: TracedRelation) -> tuple[Node | None, Node | None]:
    """What is aggregated, and where: CASE WHEN c THEN x END is x where c holds, for NULL is left out."""
    arg, where = aggregate.arg, aggregate.where
    match arg:
        case Call("case", (test, value, Constant(None))) if below.noisy(test):
            return value, test if where is None else _and(where, test)
    return arg, where


def _row(nodes: tuple[Node, ...]) -> Node:
    """What is listed of a row: its only leaf, or all of them together."""
    return nodes[0] if len(nodes) == 1 else Call("row", nodes, _LIST)


@_traced.register
def _(old: Windowed, walk: ProvenanceWalk) -> TracedRelation:
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
    return TracedRelation(replace(old, shape=shape, below=below.relation, windows=tuple(windows)), known, below.steady)


def _window(
    name: str, over: Over, below: TracedRelation, windows: list[tuple[str, Over]], walk: ProvenanceWalk
) -> Origin | None:
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
