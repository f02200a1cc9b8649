"""Joins: the rules by which rows meet below the cut (semantics 2.2), and how many rows that makes.

Comes in: two relations and a condition. Goes out: a Join, or a Marked relation for IN and EXISTS; or a refusal, where
rows of different persons would meet or rows would belong to nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sfumato.algebra.equalities import equated, is_unique
from sfumato.algebra.functions import union
from sfumato.algebra.key_parts import is_part, names_a_row
from sfumato.algebra.relations import Join, MarkJoin, Relation, RelationShape, releases_in
from sfumato.algebra.tree import (
    BOOLEAN,
    HALF,
    KEY,
    PERSON,
    Call,
    Column,
    Facts,
    Node,
    conjuncts,
)
from sfumato.errors import Obstacle, QueryError
from sfumato.sql.bind import hints

MOST_ROWS = 1_000_000
"""Rows of one person after joins; more are refused, for the engine would have to make them (semantics 6.1)."""

FanOut = Callable[[Relation, list[Node]], int]
"""How many rows of a public relation one row can meet, given the expressions of it that equal something outside."""


def joined(
    kind: str,
    left: Relation,
    right: Relation,
    on: Node | None,
    *,
    number: int,
    fan_out: FanOut,
    position: int = 0,
    written: str = "",
) -> Join:
    """A join of two relations under the rules of semantics 2.2.

    Guarantee: where a side is private, each row of the result is a function of one person's rows and of public ones.
    Proof: rows of two persons never meet, for `by_person` compares the hidden units, which are never NULL and never
        cast; a public row is preserved by itself only where nobody's rows are on the other side.
    Reference: semantics 2.2.
    Checked by: laws::neighbours_differ_by_at_most_the_claim, unit::joins_of_people_are_refused
    """
    if right.private and not left.private and kind == "inner":
        left, right = right, left
    parts = conjuncts(on)
    by_person, rest = False, parts
    if left.private and right.private:
        by_person, rest = same_person(parts, left, right)
        if not by_person:
            raise QueryError(
                "this join would combine rows of different people",
                position=position,
                hint=hints.join_persons(left, right),
                obstacle=Obstacle.OTHERS_JOINED,
            )
    elif right.private or (left.private and kind == "full"):
        raise QueryError(
            "this join would create rows that belong to nobody",
            position=position,
            hint=hints.private_first(*((right, left) if right.private else (left, right)), written),
            obstacle=Obstacle.NOBODYS_ROWS,
        )
    condition = _all_of(rest)
    columns = left.columns | right.columns
    if kind in ("left", "full"):
        columns |= {name: unmatched(c, number, "r") for name, c in right.columns.items()}
    if kind == "full":
        columns |= {name: unmatched(c, number, "l") for name, c in left.columns.items()}
        units = [c for side in (left, right) for c in side.columns.values() if c.unit == PERSON]
        if by_person and units:
            facts = union([c.facts for c in units], nullable=False)
            columns[f"{number}.unit"] = Column(f"{number}.unit", facts, unit=PERSON)
    rows, once = _joined_rows(kind, left, right, rest, fan_out=fan_out, position=position)
    keys = tuple(a | b for a in left.shape.keys for b in right.shape.keys)
    if kind == "inner" and left.private == right.private and is_unique(left, rest):
        keys = (*right.shape.keys, *keys)  # each row of the right side is there at most once
    if kind != "full" and once:
        keys = (*left.shape.keys, *keys)
    keys = tuple(dict.fromkeys(keys))[:8]
    places = (*left.shape.places, *right.shape.places)
    shape = RelationShape(columns, left.private, rows, keys, places)
    return Join(shape, kind, left, right, condition, by_person, number)


def _joined_rows(
    kind: str, left: Relation, right: Relation, rest: list[Node], *, fan_out: FanOut, position: int
) -> tuple[int | None, bool]:
    """How many rows of one person, or of a public join, there are at most; and whether a left row meets one at most.

    Of two private sides each row may meet one row of the other side at most, where that side has a key: then there are
    no more rows than this side has. That sets C, which engines enforce: privacy does not depend on it (semantics 3.1c).
    """
    once = is_unique(right, rest)
    if not left.private:
        if left.shape.rows is None or right.shape.rows is None:
            return None, once
        rows = left.shape.rows * max(1, right.shape.rows) if kind != "full" else left.shape.rows + right.shape.rows
        return rows, once
    if right.private:
        rows = _own_rows(kind, left, right, rest)
    else:
        counted = not releases_in(right)  # rows that can be looked at are not guessed
        each = 1 if once and not counted else max(1, fan_out(right, [mine for mine, _ in equated(rest, right)]))
        rows, once = left.person_rows * each, each == 1
    if rows > MOST_ROWS:
        raise QueryError(
            f"this join could give one person {rows:,} rows, more than {MOST_ROWS:,}",
            position=position,
            hint="Join on a key of the public table, or aggregate per person first.",
        )
    return rows, once


def _own_rows(kind: str, left: Relation, right: Relation, rest: list[Node]) -> int:
    """Rows of a join of one person's rows with her own: pairs, and rows without a partner where they are kept."""
    one, other = left.person_rows, right.person_rows
    once, back = is_unique(right, rest), is_unique(left, rest)
    pairs = min(one if once else one * other, other if back else one * other)
    if kind == "full" and rest:
        return max(pairs, one + other)
    if kind == "left" and once:
        return one
    if kind == "left" and back:  # all but one of hers may be without a partner
        return min(one * other, one + other - 1)
    return pairs


def unmatched(found: Column, number: int, side: str) -> Column:
    """A column of a side that may be missing: NULL is possible, and the person is not certain any more."""
    unit = f"{HALF}:{number}:{side}" if found.unit == PERSON else found.unit
    return replace(found, facts=replace(found.facts, nullable=True), unit=unit)


def same_person(parts: list[Node], left: Relation, right: Relation) -> tuple[bool, list[Node]]:
    """Whether a conjunct equates the two persons, and what remains to be said beside that."""
    found, rest = names_a_row(_parts(parts, left, right)), []
    for part in parts:
        tags = _tags(part, left, right)
        if tags is None:
            rest.append(part)
            continue
        found = True
        assert isinstance(part, Call)
        if any(tag.startswith(KEY) for tag in tags):
            rest.append(part)
        rest += [
            Call("not", (Call("is null", (arg,), Facts(BOOLEAN, nullable=False)),), Facts(BOOLEAN, nullable=False))
            for arg, tag in zip(part.args, tags, strict=True)
            if tag.startswith(HALF)
        ]
    return found, rest


def _parts(parts: list[Node], left: Relation, right: Relation) -> list[tuple[str, str]]:
    """The tags of equal columns that are the same part of a composite key, on two sides: left and right."""
    found = []
    for part in parts:
        if isinstance(part, Call) and part.name == "=":
            for a, b in (part.args, part.args[::-1]):
                if not isinstance(a, Column) or not isinstance(b, Column) or not is_part(a.unit, b.unit):
                    continue
                if a.name in left.columns and b.name in right.columns:
                    found.append((a.unit, b.unit))
    return found


def is_own_person(part: Node, relation: Relation) -> bool:
    """Whether a conjunct equates two columns of a private relation that are both the person of its row."""
    if not isinstance(part, Call) or part.name != "=":
        return False
    return all(isinstance(arg, Column) and arg.unit == PERSON and arg.name in relation.columns for arg in part.args)


def _tags(part: Node, left: Relation, right: Relation) -> tuple[str, str] | None:
    """The tags of `a = b` where both are the person, or the same key of persons, on two sides."""
    if not isinstance(part, Call) or part.name != "=":
        return None
    a, b = part.args
    if not isinstance(a, Column) or not isinstance(b, Column):
        return None
    sides = [name in side.columns for name, side in ((a.name, left), (b.name, right))]
    back = [name in side.columns for name, side in ((b.name, left), (a.name, right))]
    if not all(sides) and not all(back):
        return None
    persons = all(c.unit == PERSON or c.unit.startswith(HALF) for c in (a, b))
    if persons or (a.unit.startswith(KEY) and a.unit == b.unit):
        return a.unit, b.unit
    return None


def _all_of(parts: list[Node]) -> Node | None:
    result: Node | None = None
    for part in parts:
        result = part if result is None else Call("and", (result, part), Facts(BOOLEAN))
    return result


def marked(outer: Relation, right: Relation, on: tuple[Node, ...], name: str, position: int) -> MarkJoin:
    """Rows with a mark: whether `right` has a row for them. Below the cut, a row of the same person."""
    by_person, rest = False, list(on)
    if right.private:
        by_person, rest = same_person(list(on), outer, right) if outer.private else (False, [])
        if not by_person:
            raise QueryError(
                "this row would depend on rows of other people",
                position=position,
                hint=hints.persons_among(outer, right),
                obstacle=Obstacle.OTHERS_DECIDE,
            )
    columns = outer.columns | {name: Column(name, Facts(BOOLEAN, nullable=False))}
    return MarkJoin(replace(outer.shape, columns=columns), outer, right, _all_of(rest), by_person, name)


def among(outer: Relation, right: Relation, on: tuple[Node, ...], name: str, *, operand: Node, value: Node) -> MarkJoin:
    """Rows with a mark: whether a value is among those of a public relation, by the logic of three values."""
    columns = outer.columns | {name: Column(name, Facts(BOOLEAN))}
    return MarkJoin(replace(outer.shape, columns=columns), outer, right, _all_of(list(on)), False, name, operand, value)
