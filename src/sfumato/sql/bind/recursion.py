"""WITH RECURSIVE over public rows: worked out when the question is bound, for these rows are nobody's.

Comes in: the parser's tree of a query that names itself, and what binds queries. Goes out: its rows, as a query of
written values. Rows of people are never followed: which row comes next would be another person's. Of released rows
nothing is known before they are drawn, so that recursion stays below them: join its rows with what is released.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sfumato.errors import QueryError
from sfumato.sql.bind.bound_query import Bound
from sfumato.sql.public_rows import PublicRows
from sfumato.sql.read.parser import place
from sfumato.sql.relations import releases_in
from sfumato.sql.tree import DOUBLE, INTEGER, Facts

MOST_ROWS, MOST_STEPS = 300, 300
"""Rows of a recursive query, and how often it names itself in turn."""
Row = tuple[Any, ...]
_Binds = Callable[[Any, Bound | None], Bound]
"""Binds a query in which the recursive name stands for rows."""


def names_itself(part: Any) -> bool:
    """Whether a WITH query names itself."""
    name = part.alias.lower()
    return any(not table.db and table.name.lower() == name for table in part.this.find_all(exp.Table))


def recursive_rows(part: Any, binds: _Binds, look: PublicRows | None) -> Any:
    """The rows of a recursive query, as a tree of written values."""
    tree = part.this
    if not isinstance(tree, exp.Union) or any(tree.args.get(word) for word in ("order", "limit", "offset", "with_")):
        raise QueryError(
            f'recursive query "{part.alias}" does not have the form non-recursive-term UNION [ALL] recursive-term',
            position=place(part),
            sqlstate="42P19",
        )
    if look is None:
        raise QueryError("public tables cannot be read here", position=place(part))
    once = bool(tree.args.get("distinct"))
    first = _public(binds(tree.this, None), part)
    names = [name for name, _ in first.items]
    kinds = [node.facts for _, node in first.items]
    last = _fresh(_rows(first, look, part), set() if once else None)
    found, seen = list(last), set(last)
    for _ in range(MOST_STEPS):
        if not last:
            return written(found, names, kinds)
        step = _public(binds(tree.expression, binds(written(last, names, kinds), None)), part)
        if len(step.items) != len(names):
            raise QueryError(
                "each part of a UNION must have the same number of columns", position=place(part), sqlstate="42601"
            )
        last = _fresh(_rows(step, look, part), seen if once else None)
        seen.update(last)
        found += last
        if len(found) > MOST_ROWS:
            break
    raise QueryError(
        f'the recursive query "{part.alias}" has more than {MOST_ROWS} rows or {MOST_STEPS} steps',
        position=place(part),
        sqlstate="54000",
        hint="Let its condition end it sooner; for numbers and days write generate_series.",
    )


def _fresh(rows: list[Row], seen: set[Row] | None) -> list[Row]:
    """The rows that were not there before, each once; all of them for UNION ALL."""
    return rows if seen is None else [row for row in dict.fromkeys(rows) if row not in seen]


def _public(bound: Bound, part: Any) -> Bound:
    if bound.relation.private:
        raise QueryError(
            "recursion over rows of people would go from one person's row to another's",
            position=place(part),
            hint="Recur over public tables or written values, and join people with the result.",
        )
    if releases_in(bound.relation):
        raise QueryError(
            "recursion over released rows is not supported",
            position=place(part),
            hint="Recur over public tables or written values, and join the result with what is released.",
        )
    return bound


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
