"""WITH RECURSIVE: over public rows worked out when the question is bound, over released ones a step of finishing.

Comes in: the parser's tree of a query that names itself, and what binds queries. Goes out: of public rows its rows, as
a query of written values, for they are nobody's and can be keys; of released rows, of which nothing is known before
they are drawn, a relation that the finishing engine runs. Rows of people are never followed: which row comes next would
be another person's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sfumato.algebra.functions import Mismatch, union
from sfumato.algebra.public_rows import PublicRows
from sfumato.algebra.relations import (
    MOST_RECURSIVE_LETTERS,
    MOST_RECURSIVE_ROWS,
    RECURSIVE,
    Itself,
    RelationShape,
    SetOperation,
    recursions_in,
    releases_in,
)
from sfumato.algebra.tree import DOUBLE, INTEGER, NUMBERS, TEXT, Column, Facts
from sfumato.errors import QueryError
from sfumato.sql.bind.bound_query import Bound
from sfumato.sql.read.parser import place

MOST_ROWS, MOST_STEPS = 300, 300
"""Rows of a recursive query, and how often it names itself in turn."""
_WIDENINGS = 4
"""How often the types of a recursion may change until they are those of every step."""
Row = tuple[Any, ...]
_Binds = Callable[[Any, Bound | None], Bound]
"""Binds a query in which the recursive name stands for rows."""


def names_itself(part: Any) -> bool:
    """Whether a WITH query names itself."""
    name = part.alias.lower()
    return any(not table.db and table.name.lower() == name for table in part.this.find_all(exp.Table))


@dataclass(frozen=True)
class Recursion:
    """A query that names itself; what binds its parts, what reads public rows, and its numbers."""

    part: Any
    binds: _Binds
    look: PublicRows | None
    number: Callable[[], int]
    depth: int

    def rows(self) -> Any:
        """Its rows as a tree of written values; where it reads released rows, a Bound query."""
        part, tree = self.part, self.part.this
        if not isinstance(tree, exp.Union) or any(
            tree.args.get(word) for word in ("order", "limit", "offset", "with_")
        ):
            raise QueryError(
                f'recursive query "{part.alias}" does not have the form non-recursive-term UNION [ALL] recursive-term',
                position=place(part),
                sqlstate="42P19",
            )
        if self.look is None:
            raise QueryError("public tables cannot be read here", position=place(part))
        once = bool(tree.args.get("distinct"))
        first = _public(self.binds(tree.this, None), part)
        if releases_in(first.relation):
            return self._over_releases(first, once)
        names = [name for name, _ in first.items]
        kinds = [node.facts for _, node in first.items]
        last = _fresh(_rows(first, self.look, part), set() if once else None)
        found, seen = list(last), set(last)
        for _ in range(MOST_STEPS):
            if not last:
                return written(found, names, kinds)
            step = _public(self.binds(tree.expression, self.binds(written(last, names, kinds), None)), part)
            self._check_width(step, len(names))
            if releases_in(step.relation):
                return self._over_releases(first, once)
            last = _fresh(_rows(step, self.look, part), seen if once else None)
            seen.update(last)
            found += last
            if len(found) > MOST_ROWS:
                break
        raise QueryError(
            f'the recursive query "{part.alias}" has more than {MOST_ROWS} rows or {MOST_STEPS} steps',
            position=place(part),
            sqlstate="54000",
            hint="Add a condition that ends it sooner; for numbers and days, use generate_series.",
        )

    def _check_width(self, step: Bound, width: int) -> None:
        if len(step.items) != width:
            raise QueryError(
                "each part of a UNION must have the same number of columns", position=place(self.part), sqlstate="42601"
            )

    def _over_releases(self, first: Bound, once: bool) -> Bound:
        """A recursion that runs above the releases: what is known of its columns holds of every step.

        Guarantee: what a person changes in the result is what the releases in both parts say.
        Proof: no release stands over the rows of the recursion, so that each is drawn once; the steps are a function of
            what was drawn.
        Reference: semantics 2.1, 2.3.
        Checked by: end_to_end::what_would_not_be_the_same_is_refused, end_to_end::both_answer_alike
        """
        part, kinds = self.part, [_any_value(node.facts) for _, node in first.items]
        for _ in range(_WIDENINGS):
            number = self.number()
            columns = {f"{number}.{i}": Column(f"{number}.{i}", kind) for i, kind in enumerate(kinds)}
            itself = Itself(RelationShape(columns, False, MOST_RECURSIVE_ROWS), number, self.depth)
            named = zip((name for name, _ in first.items), columns.values(), strict=True)
            _check_step(part)
            step = _public(self.binds(part.this.expression, Bound(itself, tuple(named))), part)
            self._check_width(step, len(kinds))
            if itself not in recursions_in(step.relation):
                raise QueryError(
                    f'recursive query "{part.alias}" does not read itself', position=place(part), sqlstate="42P19"
                )
            if any(recursions_in(release.below) for release in releases_in(step.relation)):
                raise people_followed(place(part))
            try:
                both = [
                    _any_value(union([kind, node.facts], nullable=True))
                    for kind, (_, node) in zip(kinds, step.items, strict=True)
                ]
            except Mismatch as differ:
                raise QueryError(f"recursive query: {differ}", position=place(part), sqlstate="42804") from None
            if both == kinds:
                sides = tuple((b.relation, tuple(node for _, node in b.items)) for b in (first, step))
                kind = RECURSIVE if once else f"{RECURSIVE} ALL"
                own = self.number()
                shown = {f"{own}.{i}": Column(f"{own}.{i}", facts) for i, facts in enumerate(kinds)}
                relation = SetOperation(RelationShape(shown, False, MOST_RECURSIVE_ROWS), kind, sides)
                items = zip((name for name, _ in first.items), shown.values(), strict=True)
                return Bound(relation, tuple(items))
            finer = [was.kind in NUMBERS and was != now for was, now in zip(kinds, both, strict=True)]
            kinds = [Facts(DOUBLE) if late else now for now, late in zip(both, finer, strict=True)]
        raise QueryError("the types of this recursion differ in every step", position=place(part), sqlstate="42804")


def _check_step(part: Any) -> None:
    """PostgreSQL has no aggregates in what is repeated, either."""
    step = part.this.expression
    if any(node.find_ancestor(exp.Select) is step for node in step.find_all(exp.AggFunc) if not _is_window(node)):
        raise QueryError(
            "aggregate functions are not allowed in a recursive query's recursive term",
            position=place(part),
            sqlstate="42P19",
        )


def _is_window(node: Any) -> bool:
    return isinstance(node.parent, exp.Window)


def _any_value(facts: Facts) -> Facts:
    """What holds of a value whatever the step it comes of: its type."""
    length = MOST_RECURSIVE_LETTERS if facts.kind == TEXT else None
    return Facts(facts.kind, grid=facts.grid, length=length, numeric=facts.numeric)


def _fresh(rows: list[Row], seen: set[Row] | None) -> list[Row]:
    """The rows that were not there before, each once; all of them for UNION ALL."""
    return rows if seen is None else [row for row in dict.fromkeys(rows) if row not in seen]


def _public(bound: Bound, part: Any) -> Bound:
    if bound.relation.private:
        raise people_followed(place(part))
    return bound


def people_followed(position: int) -> QueryError:
    """Why rows of people cannot be part of a recursion."""
    return QueryError(
        "recursion over rows of people would go from one person's row to another's",
        position=position,
        hint="Recurse over public tables, literal values or released results, and join people with the result.",
    )


def _rows(bound: Bound, look: PublicRows, part: Any) -> list[Row]:
    facts = [node.facts for _, node in bound.items]
    if any(one.kind == DOUBLE for one in facts):
        raise QueryError("recursion over doubles is not supported", position=place(part), hint="Write ROUND(x, 2).")
    rows = look.rows(bound.relation, [node for _, node in bound.items], MOST_ROWS + 1)
    return [tuple(_value(value, one) for value, one in zip(row, facts, strict=True)) for row in rows]


def _value(value: Any, facts: Facts) -> Any:
    """A value of the engine as it is written: exact numbers are held in steps of their grid."""
    if value is None or not facts.exact:
        return value
    number = Fraction(value) * (facts.grid or 1)
    return int(number) if facts.kind == INTEGER else number


def written(rows: list[Row], names: list[str], kinds: list[Facts]) -> Any:
    """Rows as a query of written values, with these names; of no row one that is left out."""
    shown = rows or [(None,) * len(names)]
    selects: list[Any] = [
        exp.Select(
            expressions=[
                exp.Alias(this=_literal(value, kind), alias=exp.to_identifier(name, quoted=True))
                for value, name, kind in zip(row, names, kinds, strict=True)
            ]
        )
        for row in shown
    ]
    if not rows:
        selects[0].set("where", exp.Where(this=exp.false()))
    while len(selects) > 1:  # a balanced tree, so that a long list is not a deep one
        pairs = [selects[i : i + 2] for i in range(0, len(selects), 2)]
        selects = [
            exp.Union(this=pair[0], expression=pair[1], distinct=False) if len(pair) > 1 else pair[0] for pair in pairs
        ]
    return selects[0]


def _literal(value: Any, facts: Facts) -> Any:
    if value is None or isinstance(value, bool):
        return exp.Null() if value is None else exp.Boolean(this=value)
    if isinstance(value, int | Fraction | Decimal):
        size = abs(Fraction(value))
        text = str(size.numerator) if size.denominator == 1 else _decimal(size)
        number = exp.Literal.number(text)
        return exp.Neg(this=number) if value < 0 else number
    if isinstance(value, datetime):
        return exp.cast(exp.Literal.string(value.isoformat(" ")), "timestamp")
    if isinstance(value, date):
        return exp.cast(exp.Literal.string(value.isoformat()), "date")
    if isinstance(value, str):
        return exp.Literal.string(value)
    raise QueryError(f"recursion over {facts.kind} is not supported")


def _decimal(size: Fraction) -> str:
    digits = 0
    while (size * 10**digits).denominator != 1:
        digits += 1
    text = str(int(size * 10**digits)).zfill(digits + 1)
    return f"{text[:-digits]}.{text[-digits:]}"
