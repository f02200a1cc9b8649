"""Groups that an earlier release rules out: of a query that joins a released top-N only its keys are shown.

Comes in: a release, and the query's counter of names. Goes out: the release, without the groups whose key is not among
the released rows that every row of the group has met. Nobody is in such a group, whatever the rows are, so that leaving
it out is post-processing: which groups stay is a function of what was released before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sfumato.algebra.relations import (
    Fixed,
    MarkJoin,
    Relation,
    Release,
    below,
    conditions,
    filtered,
    fixed_in,
    releases_in,
)
from sfumato.algebra.tree import Call, Column, Node, columns_of
from sfumato.sql.bind.joins import among


def met_keys(after: Release, name: Callable[[], str]) -> Relation:
    """The release with the groups that earlier released rows leave; all of them for several grouping sets."""
    if after.sets != (tuple(range(len(after.keys))),):
        return after
    found: Relation = after
    for inner, key in after.keys:
        for rows, value in _met(after.below, key):
            mark = f"{name()}.mark"
            found = among(found, rows.below, (), mark, operand=after.columns[inner], value=value)
            found = filtered(found, found.columns[mark])
    return found


def _met(relation: Relation, key: Node) -> Iterator[tuple[Fixed, Node]]:
    """Released rows, with a value of theirs that is equal to the key in every row of the relation."""
    known = [rows for rows in fixed_in(relation) if releases_in(rows)]
    if not known:
        return
    marks = {one.name: one for one in _marked(relation)}
    for part in conditions(relation):
        if isinstance(part, Column) and part.name in marks:
            mark = marks[part.name]
            if mark.operand == key and mark.value is not None and mark.on is None and mark.right in known:
                assert isinstance(mark.right, Fixed)
                yield mark.right, mark.value
        elif isinstance(part, Call) and part.name == "=":
            for one, other in (part.args, part.args[::-1]):
                reads = columns_of(other).keys()
                owner = next((rows for rows in known if reads and reads <= rows.columns.keys()), None)
                if one == key and owner is not None:
                    yield owner, other


def _marked(relation: Relation) -> Iterator[MarkJoin]:
    """The marks of a relation's rows, down to releases."""
    if isinstance(relation, MarkJoin):
        yield relation
    if not isinstance(relation, Release | Fixed):
        for part in below(relation):
            yield from _marked(part)
