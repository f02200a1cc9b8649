"""Which of a person's rows is first: decided by what is read of them, never by how they lie.

Comes in: the rows of a release, with all that is read of them. Goes out: nothing, or PlanError. `contribution` takes a
window for a function of one person's rows. It is one only if rows that it cannot tell apart are alike in every column
that anything above it reads: otherwise the engine's sort of everybody's rows decides which of them is first.
"""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.algebra.relations import (
    Distinct,
    Filter,
    Grouped,
    Join,
    MarkJoin,
    Projection,
    Relation,
    Release,
    UnionAll,
    Windowed,
    below,
)
from sfumato.algebra.tree import Column, Node, Over, columns_of
from sfumato.errors import PlanError

_ALIKE = ("rank", "dense_rank", "percent_rank", "cume_dist", "count", "sum", "avg", "min", "max")
"""Window functions that give rows which tie in the order one value, unless their frame counts rows."""
_ENDS = ("first_value", "last_value")
"""Functions that take their value from one of the rows that tie, if the frame does not count rows: the same one from
each of them, where its columns are among those that the rows are sorted by.
"""


def check_row_order(release: Release) -> None:
    """Refuse a plan in which a window's value may depend on how rows lie.

    Guarantee: in a plan that is not refused, each window over private rows gives a person the same rows whatever the
        order in which the engine holds them, and whatever rows other people have.
    Proof: from the release down, `read` holds every column of a relation that anything above it reads. If two rows of a
        person tie in a window, they are alike in all of these, or none tie, as no two have the same number. Exchanged,
        alike rows give the same rows above, as long as all windows that tell them apart exchange them together: these
        have one order, or that number. The identifiers are one value for a person (`identified_differently`).
    Reference: semantics 2.2; docs/decisions/165-what-is-read-of-a-row.md.
    Checked by: laws::ties_change_no_number, laws::the_checker_refuses_faults_of_ties
    """
    _check(release.below, _columns(node for _, node in (*release.keys, *release.aggregates)))


def _columns(nodes: Iterable[Node | None]) -> frozenset[str]:
    return frozenset(name for node in nodes if node is not None for name in columns_of(node))


def _check(relation: Relation, read: frozenset[str]) -> None:
    if not relation.private:
        return
    if isinstance(relation, Windowed):
        windows = [over for name, over in relation.windows if name in read]
        for over in windows:
            read |= _columns((*over.args, *_sorted_by(over)))
        _check_windows(windows, relation.below, read)
    if isinstance(relation, UnionAll):
        for part, nodes in relation.parts:
            _check(part, _columns(node for name, node in zip(relation.columns, nodes, strict=True) if name in read))
        return
    read = _read_below(relation, read)
    for part in below(relation):
        _check(part, read)


def _read_below(relation: Relation, read: frozenset[str]) -> frozenset[str]:
    """What is read of the relations right below, by the relation itself and, through it, above it."""
    if isinstance(relation, Projection):
        return _columns(node for name, node in relation.items if name in read)
    if isinstance(relation, Grouped):
        return _columns(node for _, node in (*relation.keys, *relation.aggregates))
    if isinstance(relation, Distinct):
        return frozenset(relation.columns)
    if isinstance(relation, Filter):
        return read | _columns((relation.condition,))
    if isinstance(relation, Join):
        return read | _columns((relation.on,))
    return read | _columns((relation.on, relation.operand, relation.value)) if isinstance(relation, MarkJoin) else read


def _sorted_by(over: Over) -> tuple[Node, ...]:
    return (*over.partition, *(item.node for item in over.order))


def _check_windows(windows: list[Over], rows: Relation, read: frozenset[str]) -> None:
    """Rows that a window does not tell apart are alike; windows that tell alike rows apart agree which is first."""
    numbers, sorts = _numbers(rows), set()
    for over in windows:
        by_rows = over.frame.startswith("ROWS")
        if over.name in _ALIKE and not by_rows:
            continue
        fixed = {node.name for node in _sorted_by(over) if isinstance(node, Column)}
        ends = over.name in _ENDS and not by_rows
        if not fixed & numbers:
            decided = fixed | set(rows.persons_columns)
            if ((_columns(over.args) if ends else read) & rows.columns.keys()) - decided:
                raise PlanError("how rows lie decides which row of one person is first in this plan")
        if not ends:
            sorts.add(() if fixed & numbers else (over.partition, over.order))
    if len(sorts) > 1:
        raise PlanError("how rows lie decides which row of one person is first in this plan, once for each window")


def _numbers(rows: Relation) -> set[str]:
    """Columns of which no two rows of a person have the same value: the numbers of all her rows, without a bound."""
    windows = rows.windows if isinstance(rows, Windowed) else ()
    return {
        name
        for name, over in windows
        if (over.name, over.partition, over.frame, over.facts.high) == ("row_number", (), "", None)
    }
