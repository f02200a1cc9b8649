"""Relations that carry fine columns: from the releases up to the answer, what `fine` says of expressions.

Comes in: the relation of a question, whose public part reads released numbers on the grids of their columns. Goes out:
the same relation with a second, fine column beside each such column that needs one: SUM, AVG and arithmetic read it.
Relations of persons stay as they are: below the cut, a later stage reads released numbers as they are shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch

from sfumato.algebra import public_aggregates as plain
from sfumato.algebra.functions import union
from sfumato.algebra.relations import (
    Distinct,
    Filter,
    Fixed,
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
from sfumato.algebra.tree import Aggregate, Column, Node, Over, Sorted
from sfumato.intervals.fine_numbers import Columns, column_of, fine_grid, fine_name, finest, settled, shown

_VALUES = ("sum", "lag", "lead", "first_value", "last_value")
"""Windows whose value is that of a row, or a sum of such."""
_SMOOTH = ("avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp")

Down = Callable[[Relation], Relation]
"""What a relation below becomes."""
Items = tuple[tuple[str, Node], ...]


def carried(
    relation: Relation, order: tuple[Sorted, ...], items: Items
) -> tuple[Relation, tuple[Sorted, ...], tuple[Node, ...]]:
    """A question's relation with fine columns; its order, and what it shows, over these.

    Guarantee: a shown number that is a sum of released ones is their sum as they were drawn, brought to the grid of its
        column once: not more than half a step from the middle of its interval.
    Proof: by induction over expressions and relations a fine column holds, on a grid that all its summands lie on, what
        its column would hold if nothing were rounded; a column is `settled` from its fine one alone. Where a number
        comes of several noisy sums (semantics 3.4), or would not fit, the fine column itself is rounded to 2^-20 of a
        step, or to the finest grid that fits.
    Reference: semantics 4.3.
    Checked by: unit::a_total_is_rounded_once, unit::what_is_read_is_what_is_shown
    """
    known: dict[int, tuple[Relation, Relation]] = {}

    def down(old: Relation) -> Relation:
        if id(old) not in known:  # one that is read twice is made once
            known[id(old)] = (old, _carried(old, down))
        return known[id(old)][1]

    made = down(relation)
    return made, _sorted(order, made.columns), tuple(shown(node, made.columns) for _, node in items)


@singledispatch
def _carried(old: Relation, _: Down) -> Relation:
    return old


@_carried.register
def _(old: Release, down: Down) -> Relation:
    alone, columns = old.below.person_rows == 1, dict(old.columns)
    for name, aggregate in old.aggregates:
        grid = fine_grid(aggregate, alone)
        if grid is not None:
            columns[fine_name(name)] = Column(fine_name(name), replace(aggregate.facts, grid=grid))
    return replace(old, shape=replace(old.shape, columns=columns), below=down(old.below))


@_carried.register
def _(old: Fixed, down: Down) -> Relation:
    """Rows of persons meet released numbers as they are shown."""
    below = down(old.below)
    return old if below is old.below else replace(old, below=below)


@_carried.register
def _(old: Filter, down: Down) -> Relation:
    below = down(old.below)
    if below is old.below:
        return old
    return replace(old, shape=_beside(old, below), below=below, condition=_read(old.condition, old, below))


@_carried.register
def _(old: Join, down: Down) -> Relation:
    left, right = down(old.left), down(old.right)
    if left is old.left and right is old.right:
        return old
    on = None if old.on is None else _read(old.on, old, left, right)
    return replace(old, shape=_beside(old, left, right), left=left, right=right, on=on)


@_carried.register
def _(old: MarkJoin, down: Down) -> Relation:
    below, right = down(old.below), down(old.right)
    if below is old.below and right is old.right:
        return old
    nodes = (old.on, old.operand, old.value)
    on, operand, value = (None if node is None else _read(node, old, below, right) for node in nodes)
    return replace(old, shape=_beside(old, below), below=below, right=right, on=on, operand=operand, value=value)


@_carried.register
def _(old: Projection, down: Down) -> Relation:
    below = down(old.below)
    if below is old.below or old.private:
        return old if below is old.below else replace(old, below=below)
    items = [(name, shown(node, below.columns)) for name, node in old.items]
    finer = [(fine_name(name), finest(node, below.columns)) for name, node in old.items if node.facts.exact]
    fine = [(name, node) for name, node in finer if node is not None]
    columns = old.columns | {name: Column(name, node.facts) for name, node in fine}
    return Projection(replace(old.shape, columns=columns), below, (*items, *fine))


@_carried.register
def _(old: Distinct, down: Down) -> Relation:
    """Rows are told apart by what is shown, and have nothing finer afterwards."""
    below = down(old.below)
    if below is old.below:
        return old
    if not old.private:
        below = Projection(old.below.shape, below, tuple(old.below.columns.items()))
    return replace(old, below=below)


@_carried.register
def _(old: Limited, down: Down) -> Relation:
    below = down(old.below)
    if below is old.below:
        return old
    return replace(old, shape=_beside(old, below), below=below, order=_sorted(old.order, below.columns))


@_carried.register
def _(old: UnionAll, down: Down) -> Relation:
    parts = [(down(part), nodes) for part, nodes in old.parts]
    if old.private or _same(old, parts):
        return old if _same(old, parts) else replace(old, parts=tuple(parts))
    columns, read = dict(old.columns), [[shown(node, part.columns) for node in nodes] for part, nodes in parts]
    for i, (name, column) in enumerate(old.columns.items()):
        finer = [finest(nodes[i], part.columns) for part, nodes in parts]
        if column.facts.exact and any(finer):
            best = [fine or nodes[i] for fine, nodes in zip(finer, read, strict=True)]
            columns[fine_name(name)] = Column(fine_name(name), union([node.facts for node in best], nullable=True))
            for nodes, node in zip(read, best, strict=True):
                nodes.append(node)
    made = tuple((part, tuple(nodes)) for (part, _), nodes in zip(parts, read, strict=True))
    return replace(old, shape=replace(old.shape, columns=columns), parts=made)


@_carried.register
def _(old: SetOperation, down: Down) -> Relation:
    """EXCEPT and INTERSECT compare what is shown."""
    parts = [(down(part), nodes) for part, nodes in old.parts]
    if _same(old, parts):
        return old
    return replace(old, parts=tuple((p, tuple(shown(node, p.columns) for node in nodes)) for p, nodes in parts))


@_carried.register
def _(old: Grouped, down: Down) -> Relation:
    below = down(old.below)
    if below is old.below or old.private:
        return old if below is old.below else replace(old, below=below)
    keys = tuple((name, shown(node, below.columns)) for name, node in old.keys)
    made = [_aggregate(name, aggregate, below.columns) for name, aggregate in old.aggregates]
    shape = _made_fine(old.shape, {name: aggregate for name, aggregate in made if name not in old.columns})
    return _settling(old, replace(old, shape=shape, below=below, keys=keys, aggregates=tuple(made)))


@_carried.register
def _(old: Windowed, down: Down) -> Relation:
    below = down(old.below)
    if below is old.below or old.private:
        return old if below is old.below else replace(old, below=below)
    made = [_window(name, over, below.columns) for name, over in old.windows]
    shape = _made_fine(_beside(old, below), {name: over for name, over in made if name not in old.columns})
    return _settling(old, replace(old, shape=shape, below=below, windows=tuple(made)))


def _same(old: UnionAll | SetOperation, parts: list[tuple[Relation, tuple[Node, ...]]]) -> bool:
    return all(part is was for (part, _), (was, _) in zip(parts, old.parts, strict=True))


def _beside(old: Relation, *below: Relation) -> RelationShape:
    """The shape with the fine columns of what lies below; rows of persons have none."""
    if old.private:
        return old.shape
    found = {name: column for part in below for name, column in part.columns.items() if name not in old.columns}
    fine = {name: column for name, column in found.items() if column_of(name) in old.columns}
    return replace(old.shape, columns=old.columns | fine)


def _read(node: Node, old: Relation, *below: Relation) -> Node:
    """A condition is about shown numbers; below the cut it stays as it is."""
    if old.private:
        return node
    return shown(node, {name: column for part in below for name, column in part.columns.items()})


def _sorted(order: tuple[Sorted, ...], columns: Columns) -> tuple[Sorted, ...]:
    return tuple(replace(item, node=shown(item.node, columns)) for item in order)


def _made_fine(shape: RelationShape, fine: dict[str, Aggregate] | dict[str, Over]) -> RelationShape:
    """The shape where these columns are fine, and those that they stand for are not there yet."""
    columns = {name: column for name, column in shape.columns.items() if fine_name(name) not in fine}
    return replace(shape, columns=columns | {name: Column(name, made.facts) for name, made in fine.items()})


def _settling(old: Relation, made: Relation) -> Relation:
    """What was made with fine columns alone, with the columns that it had beside them."""
    have = made.columns
    missing = {name: column for name, column in old.columns.items() if name not in have}
    if not missing:
        return made
    items = [(name, settled(have[fine_name(name)], column.facts)) for name, column in missing.items()]
    return Projection(replace(old.shape, columns=have | missing), made, (*have.items(), *items))


def _aggregate(name: str, aggregate: Aggregate, read: Columns) -> tuple[str, Aggregate]:
    """An aggregate over public rows: of fine numbers where it is a sum or smooth, else of shown ones."""
    where = None if aggregate.where is None else shown(aggregate.where, read)
    if aggregate.arg is None:
        return name, replace(aggregate, where=where)
    fine = finest(aggregate.arg, read)
    if fine is None or aggregate.name not in ("sum", *_SMOOTH):
        second = None if aggregate.second is None else shown(aggregate.second, read)
        return name, replace(aggregate, arg=shown(aggregate.arg, read), second=second, where=where)
    made = plain.bind(aggregate.name, (fine,), where, aggregate.position)
    return (fine_name(name), made) if made.facts.exact else (name, made)


def _window(name: str, over: Over, read: Columns) -> tuple[str, Over]:
    """A window: the same rows in the same order; its value fine where it is one of the rows', or their sum or mean."""
    partition = tuple(shown(node, read) for node in over.partition)
    made = replace(over, partition=partition, order=_sorted(over.order, read))
    fine = finest(over.args[0], read) if over.args else None
    if fine is None or over.name not in (*_VALUES, "avg"):
        return name, replace(made, args=tuple(shown(arg, read) for arg in over.args))
    made = replace(made, args=(fine, *over.args[1:]))
    if not over.facts.exact:
        return name, made
    return fine_name(name), replace(made, facts=replace(over.facts, grid=fine.facts.grid))
