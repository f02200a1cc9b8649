"""LATERAL, and lists in FROM: rewritten into joins, expressions and sub-queries that mean the same.

Comes in: one SELECT of the parser's tree. Goes out: the same SELECT without LATERAL, as far as one of these forms fits;
what is left is refused by its name. A sub-query without FROM is its expressions; one of aggregates alone has one row,
and is a sub-query in the place of each of its columns; rows of VALUES are numbered, and a CASE chooses among them; any
other is a join on what its WHERE says of the row beside it, with LIMIT as a number of the row among those that match.
Whose rows may meet whose is judged afterwards, as of everything that is written out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from sqlglot import exp

from sfumato.interrupts import step
from sfumato.sql.read.growth import copied

_Rows = Callable[[list[list[Any]], list[str]], Any]
"""Makes a query of written rows with these names."""


def without_lateral(select: Any, rows: _Rows) -> None:
    """Each LATERAL of a SELECT in another form, where there is one."""
    joins = list(select.args.get("joins") or [])
    for place, join in enumerate(joins):
        step()
        if any(str(later.args.get("side") or "").upper() in ("RIGHT", "FULL") for later in joins[place + 1 :]):
            continue  # which of its columns are NULL then, no expression says
        if isinstance(join.this, exp.Lateral) and isinstance(join.this.this, exp.Subquery):
            alias = join.this.args.get("alias")
            inner: Any = join.this.this
            while isinstance(inner, exp.Subquery):
                inner = inner.this
            named_twice = alias is not None and _is_named_below(select, join, alias.name.lower())
            special = any(
                inner.args.get(part) for part in ("with_", "distinct", "qualify") if isinstance(inner, exp.Select)
            )
            if alias is not None and not named_twice and not special:
                _rewritten(select, join, inner, alias, rows)
        elif isinstance(join.this, exp.Lateral) and isinstance(join.this.this, exp.ExplodingGenerateSeries):
            join.set("this", exp.Table(this=copied(join.this.this), alias=copied(join.this.args["alias"])))


def _is_named_below(select: Any, join: Any, owner: str) -> bool:
    """Whether a sub-query elsewhere gives this name to a table of its own: then the name does not say what is meant."""
    inside = {id(node) for node in join.walk()}
    sources = select.find_all(exp.Table, exp.Subquery)
    return any(
        source.alias_or_name.lower() == owner
        and id(source) not in inside
        and source.find_ancestor(exp.Select) is not select
        for source in sources
    )


def _rewritten(select: Any, join: Any, inner: Any, alias: Any, rows: _Rows) -> None:
    always = join.args.get("on") is None or isinstance(join.args["on"], exp.Boolean)
    side = str(join.args.get("side") or "").upper()
    if (
        side not in ("", "LEFT")
        or join.args.get("using")
        or (isinstance(join.args.get("on"), exp.Boolean) and not join.args["on"].this)
    ):
        return
    parts = _written(inner)
    if parts is not None and always:
        _chosen(select, join, alias, parts, rows)
    elif isinstance(inner, exp.Select) and inner.args.get("from_") is None and always:
        if not any(inner.args.get(part) for part in ("where", "group", "having", "limit", "offset", "order")):
            _replaced(select, join, alias, _named(inner, alias), lambda item: exp.Paren(this=copied(item)))
    elif isinstance(inner, exp.Select) and _aggregates(inner) and always:
        _replaced(select, join, alias, _named(inner, alias), lambda item: _alone(inner, item))
    elif isinstance(inner, exp.Select):
        _joined(select, join, inner, alias)


def _named(inner: Any, alias: Any) -> dict[str, Any]:
    """The columns of a sub-query by their names, as they are seen from outside."""
    names = [column.name.lower() for column in alias.args.get("columns") or []]
    items = [item for item in inner.expressions if not item.find(exp.Star) or item.find(exp.Count)]
    if len(items) != len(inner.expressions):
        return {}
    return {
        (names[i] if i < len(names) else item.alias_or_name.lower() or item.key): item.unalias()
        for i, item in enumerate(items)
    }


def _aggregates(inner: Any) -> bool:
    """Whether a sub-query has exactly one row: aggregates alone, and nothing that divides or cuts them."""
    if any(inner.args.get(part) for part in ("group", "having", "limit", "offset", "order")):
        return False
    return all(item.find(exp.AggFunc) and not item.find(exp.Window) for item in inner.expressions)


def _alone(inner: Any, item: Any) -> Any:
    """One column of a sub-query, as a sub-query."""
    one = copied(inner)
    one.set("expressions", [copied(item)])
    return exp.Subquery(this=one)


def _replaced(select: Any, join: Any, alias: Any, columns: dict[str, Any], make: Callable[[Any], Any]) -> bool:
    """The columns of a LATERAL by what they stand for, wherever they are named, and its join left out.

    Inside of a sub-query the names of an expression could mean other tables: such a use is not replaced.
    """
    owner = alias.name.lower()
    if not columns or any(isinstance(item, exp.Star) or _is_star_of(item, owner) for item in select.expressions):
        return False
    uses = [
        node
        for node in select.find_all(exp.Column)
        if node.name.lower() in columns
        and (node.table.lower() == owner or (not node.table and node.find_ancestor(exp.Select) is select))
    ]
    if any(
        node.find_ancestor(exp.Select) is not select and columns[node.name.lower()].find(exp.Column) for node in uses
    ):
        return False
    joins = [one for one in select.args["joins"] if one is not join]
    select.set("joins", joins or None)
    for column in uses:
        made = make(columns[column.name.lower()])
        if column.parent is select and column.arg_key == "expressions":
            made = exp.Alias(this=made, alias=exp.to_identifier(column.name))
        column.replace(made)
    return True


def _is_star_of(item: Any, owner: str) -> bool:
    return isinstance(item, exp.Column) and isinstance(item.this, exp.Star) and item.table.lower() == owner


def _written(inner: Any) -> list[list[Any]] | None:
    """The rows of VALUES: a union of SELECTs that have nothing but expressions."""
    if isinstance(inner, exp.Union) and not inner.args.get("distinct"):
        sides = [_written(inner.this), _written(inner.expression)]
        return None if sides[0] is None or sides[1] is None else [*sides[0], *sides[1]]
    if isinstance(inner, exp.Select) and {name for name, part in inner.args.items() if part} <= {"expressions"}:
        plain = [isinstance(item, exp.Alias) and item.alias.startswith("column") for item in inner.expressions]
        return [[item.unalias() for item in inner.expressions]] if all(plain) else None
    return None


def _chosen(select: Any, join: Any, alias: Any, written: list[list[Any]], rows: _Rows) -> None:
    """VALUES of the row beside it: as many numbers, and each column a CASE of them."""
    names = [column.name.lower() for column in alias.args.get("columns") or []]
    names += [f"column{i + 1}" for i in range(len(names), len(written[0]))]
    owner = alias.name
    if any(isinstance(item, exp.Star) or _is_star_of(item, owner.lower()) for item in select.expressions):
        return
    which = exp.Column(this=exp.to_identifier("_row"), table=exp.to_identifier(owner))
    columns = {
        name: exp.Case(
            ifs=[
                exp.If(this=exp.EQ(this=copied(which), expression=exp.Literal.number(k)), true=copied(row[i]))
                for k, row in enumerate(written[:-1])
            ],
            default=copied(written[-1][i]),
        )
        if len(written) > 1
        else written[0][i]
        for i, name in enumerate(names)
    }
    if not _replaced(select, join, alias, columns, lambda item: exp.Paren(this=copied(item))):
        return
    numbers = rows([[exp.Literal.number(k)] for k in range(len(written))], ["_row"])
    cross = exp.Join(this=exp.Subquery(this=numbers, alias=exp.TableAlias(this=exp.to_identifier(owner))), kind="CROSS")
    select.set("joins", [*(select.args.get("joins") or []), cross])


def _joined(select: Any, join: Any, inner: Any, alias: Any) -> None:
    """A sub-query of rows: a join on the conditions that speak of the row beside it."""
    if any(inner.args.get(part) for part in ("group", "having", "offset")) or inner.find(exp.AggFunc, exp.Window):
        return
    own = {source.alias_or_name.lower() for source in _sources(inner)}
    owner = alias.name
    limit, order, where = (inner.args.get(part) for part in ("limit", "order", "where"))
    conditions = (
        [] if where is None else list(where.this.flatten() if isinstance(where.this, exp.And) else [where.this])
    )
    outside = [one for one in conditions if _speaks_of_others(one, own)]
    inside = [one for one in conditions if not _speaks_of_others(one, own)]
    rest = [
        part for part in (*inner.expressions, *([order] if order is not None else [])) if _speaks_of_others(part, own)
    ]
    shown = any(isinstance(item, exp.Star) or _is_star_of(item, owner.lower()) for item in select.expressions)
    if (
        rest
        or shown
        or any(one.find(exp.Query) for one in outside)
        or (limit is not None and not all(_is_key(one, own) for one in outside))
    ):
        return
    made, hidden, moved, keys = copied(inner), list[Any](), list[Any](), list[Any]()
    for one in outside:
        test = copied(one)
        for column in [test] if isinstance(test, exp.Column) else list(test.find_all(exp.Column)):
            if column.table and column.table.lower() not in own:
                continue
            name = f"_l{len(hidden)}"
            hidden.append(exp.Alias(this=copied(column), alias=exp.to_identifier(name)))
            keys.append(copied(column))
            column.replace(exp.Column(this=exp.to_identifier(name), table=exp.to_identifier(owner)))
        moved.append(exp.Paren(this=test))
    if limit is not None:
        window = exp.Window(
            this=exp.RowNumber(), partition_by=keys, order=None if order is None else copied(order), over="OVER"
        )
        hidden.append(exp.Alias(this=window, alias=exp.to_identifier("_n")))
        number = exp.Column(this=exp.to_identifier("_n"), table=exp.to_identifier(owner))
        moved.append(exp.LTE(this=number, expression=copied(limit.expression)))
    made.set("expressions", [*made.expressions, *hidden])
    made.set(
        "where",
        exp.Where(this=_all([copied(one) for one in inside])) if inside else None,
    )
    made.set("limit", None)
    made.set("order", None)
    on = join.args.get("on")
    moved += [] if on is None or isinstance(on, exp.Boolean) else [exp.Paren(this=copied(on))]
    join.set("this", exp.Subquery(this=made, alias=copied(alias)))
    join.set("kind", None if moved else "CROSS")
    join.set("on", _all(moved) if moved else exp.true() if join.args.get("side") else None)


def _is_key(condition: Any, own: set[str]) -> bool:
    """Whether a condition is an own column, as it is, equal to something of the row beside it."""
    if not isinstance(condition, exp.EQ):
        return False
    sides = (condition.this, condition.expression), (condition.expression, condition.this)
    return any(
        isinstance(mine, exp.Column)
        and (not mine.table or mine.table.lower() in own)
        and all(column.table and column.table.lower() not in own for column in other.find_all(exp.Column))
        for mine, other in sides
    )


def _sources(inner: Any) -> list[Any]:
    start = inner.args.get("from_")
    return [] if start is None else [start.this, *(join.this for join in inner.args.get("joins") or [])]


def _speaks_of_others(node: Any, own: set[str]) -> bool:
    return any(column.table and column.table.lower() not in own for column in node.find_all(exp.Column))


def _all(parts: list[Any]) -> Any:
    return reduce(lambda a, b: exp.And(this=a, expression=b), parts)
