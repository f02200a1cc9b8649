"""Which times of a statement have a time zone, by PostgreSQL's types: AT TIME ZONE moves those one way, others back.

Comes in: the parser's tree and the policy. Goes out: the same tree; each AT TIME ZONE knows of what kind its argument
is. What cannot be told from the statement stays unknown, and is refused where it is bound: the wrong direction would be
a wrong answer without a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from sqlglot import exp

from sfumato.interrupts import step
from sfumato.policy import Policy
from sfumato.sql.bind.expressions import fold
from sfumato.sql.read.zones import OPERAND, ZONED

_DEEPEST = 200


class Kind(Enum):
    """What a value is, as far as AT TIME ZONE asks."""

    ZONED = "timestamp with time zone"
    PLAIN = "timestamp without time zone"
    DATE = "date"
    TEXT = "a literal whose type depends on what is around it"
    OTHER = "another type"
    UNKNOWN = "not known from the statement"


_HAS_ZONE = {Kind.ZONED: True, Kind.DATE: True, Kind.TEXT: True, Kind.PLAIN: False}
"""Whether AT TIME ZONE takes it for a moment: PostgreSQL makes one of a date and of a literal."""


def mark_zones(tree: Any, policy: Policy) -> None:
    """Note at each AT TIME ZONE whether its argument has a time zone."""
    found = list(tree.find_all(exp.AtTimeZone))
    if found:
        kinds = _Kinds(policy)
        for node in found:
            node.meta[OPERAND] = _HAS_ZONE.get(kinds.of(node.this, node.find_ancestor(exp.Select)))


def _common(kinds: Iterator[Kind] | list[Kind]) -> Kind:
    """The type that several values get together: with a time zone if one of them has one."""
    found = {kind for kind in kinds if kind is not Kind.TEXT}
    if not found:
        return Kind.TEXT
    if len(found) == 1:
        return found.pop()
    if found & {Kind.UNKNOWN, Kind.OTHER}:
        return Kind.UNKNOWN
    return Kind.ZONED if Kind.ZONED in found else Kind.PLAIN


def _with_time(kind: Kind) -> Kind:
    """What a function of timestamps makes of it: of a date, one with time zone."""
    return Kind.ZONED if kind in (Kind.DATE, Kind.TEXT) else kind


_CAST = {
    exp.DataType.Type.TIMESTAMPTZ: Kind.ZONED,
    exp.DataType.Type.TIMESTAMP: Kind.PLAIN,
    exp.DataType.Type.DATE: Kind.DATE,
}
_FIRST = (exp.Paren, exp.Alias, exp.Min, exp.Max, exp.Window, exp.Filter, exp.AnyValue, exp.FirstValue, exp.LastValue,
          exp.NthValue, exp.Lag, exp.Lead, exp.IgnoreNulls, exp.RespectNulls, exp.Distinct)  # fmt: skip
"""What is of the kind of its first part."""
_CALLED = {
    "to_timestamp": Kind.ZONED, "make_timestamptz": Kind.ZONED, "now": Kind.ZONED, "make_timestamp": Kind.PLAIN,
    "to_date": Kind.DATE, "make_date": Kind.DATE, "age": Kind.OTHER,
}  # fmt: skip
_FIXED: dict[type[Any], Kind] = {
    exp.CurrentTimestamp: Kind.ZONED, exp.StrToTime: Kind.ZONED, exp.UnixToTime: Kind.ZONED,
    exp.Localtimestamp: Kind.PLAIN, exp.CurrentDate: Kind.DATE, exp.Interval: Kind.OTHER, exp.Null: Kind.TEXT,
}  # fmt: skip


@dataclass
class _Kinds:
    """The kinds of the values of one statement."""

    policy: Policy
    depth: int = 0
    known: dict[tuple[int, int | None, str | None], Kind | None] = field(default_factory=dict)
    """What queries show: a query that is read twice is looked at once."""

    def of(self, node: Any, select: Any) -> Kind:
        """The kind of an expression that stands in a SELECT."""
        step()
        self.depth += 1
        try:
            return Kind.UNKNOWN if self.depth > _DEEPEST else self._of(node, select)
        finally:
            self.depth -= 1

    def _of(self, node: Any, select: Any) -> Kind:  # noqa: PLR0911  a line for each kind of expression
        if ZONED in node.meta:
            return Kind.ZONED if node.meta[ZONED] else Kind.PLAIN
        if type(node) in _FIXED:
            return _FIXED[type(node)]
        if isinstance(node, exp.AtTimeZone):
            inner = self.of(node.this, select)
            return inner if inner in (Kind.UNKNOWN, Kind.OTHER) else _TURNED[_with_time(inner)]
        if isinstance(node, exp.Cast | exp.TryCast):
            return _CAST.get(node.to.this, Kind.OTHER)
        if isinstance(node, exp.Literal):
            return Kind.TEXT if node.is_string else Kind.OTHER
        if isinstance(node, exp.Column):
            return self._column(node, select)
        if isinstance(node, exp.Subquery):
            return self._shown(node.this, 0, None) or Kind.UNKNOWN
        return self._composed(node, select)

    def _composed(self, node: Any, select: Any) -> Kind:  # noqa: PLR0911  as above
        """A function or an operator, by its parts."""
        if isinstance(node, _FIRST):
            return self.of(node.this, select)
        if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
            return _with_time(self.of(node.this, select))
        if isinstance(node, exp.DateBin):
            return _with_time(_common([self.of(one, select) for one in (node.expression, node.args["unit"])]))
        if isinstance(node, exp.Coalesce | exp.Greatest | exp.Least):
            return _common([self.of(one, select) for one in (node.this, *node.expressions)])
        if isinstance(node, exp.Nullif):
            first = self.of(node.this, select)
            return self.of(node.expression, select) if first is Kind.TEXT else first
        if isinstance(node, exp.Case):
            parts = [branch.args["true"] for branch in node.args["ifs"]]
            return _common([self.of(one, select) for one in (*parts, node.args.get("default")) if one is not None])
        if isinstance(node, exp.Add | exp.Sub):
            return self._moved(node, select)
        if isinstance(node, exp.Anonymous):
            return _CALLED.get(node.name.lower(), Kind.UNKNOWN)
        return Kind.UNKNOWN

    def _moved(self, node: Any, select: Any) -> Kind:
        """A time and an interval: a date with an interval is a timestamp, with a number of days it is a date."""
        left, right = self.of(node.this, select), self.of(node.expression, select)
        times = [kind for kind in (left, right) if kind not in (Kind.OTHER, Kind.TEXT)]
        if len(times) != 1 or Kind.UNKNOWN in times:
            return Kind.UNKNOWN
        if times[0] is not Kind.DATE:
            return times[0]
        other = node.expression if left is Kind.DATE else node.this
        if isinstance(other, exp.Interval):
            return Kind.PLAIN
        return Kind.DATE if isinstance(other, exp.Literal) and not other.is_string else Kind.UNKNOWN

    def _column(self, column: Any, select: Any) -> Kind:
        """A column, by what the nearest FROM that has it reads."""
        while select is not None:
            found = [
                kind
                for name, source in _sources(select)
                if not column.table or name == fold(column.args["table"])
                for kind in [self._named(source, fold(column.this), select)]
                if kind is not None
            ]
            if found:
                return found[0] if len(found) == 1 else _alike(found)
            select = select.find_ancestor(exp.Select)
        return Kind.UNKNOWN

    def _named(self, source: Any, name: str, select: Any) -> Kind | None:
        """The kind of a column of a table or sub-query; None where it has no column of this name."""
        query, alias = _query_of(source, select)
        if query is None:
            return self._stored(source, name)
        names = [] if alias is None else [fold(one) for one in alias.args.get("columns") or []]
        if name in names:
            return self._shown(query, names.index(name), None)
        return self._shown(query, None, name)

    def _stored(self, source: Any, name: str) -> Kind | None:
        """A column of a table of the policy."""
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            return Kind.UNKNOWN
        wanted = fold(source.this)
        tables = [table for key, table in self.policy.tables.items() if key == wanted or key.lower() == wanted]
        columns = [c for table in tables for key, c in table.columns.items() if key == name or key.lower() == name]
        if not tables or (len(tables) > 1 and columns):
            return Kind.UNKNOWN
        kinds = {"timestamp": Kind.PLAIN, "date": Kind.DATE, None: Kind.UNKNOWN, "text": Kind.OTHER}
        return kinds.get(columns[0].type, Kind.OTHER) if columns else None

    def _shown(self, query: Any, place: int | None, name: str | None) -> Kind | None:
        """What a query shows at a place, or under a name; of a union all its parts together."""
        key = id(query), place, name
        if key not in self.known:
            self.known[key] = Kind.UNKNOWN  # until it is known: a recursion asks for itself
            selects = list(_selects(query))
            if None not in selects:
                self.known[key] = self._shown_as(selects, name) if name is not None else self._at(selects, place or 0)
        return self.known[key]

    def _at(self, selects: list[Any], place: int) -> Kind:
        """What the parts of a union show at a place."""
        kinds = [self._item(select, place) for select in selects]
        return Kind.UNKNOWN if None in kinds else _common([kind for kind in kinds if kind is not None])

    def _shown_as(self, selects: list[Any], name: str) -> Kind | None:
        """A column by its name, which the first part of a union gives."""
        first = selects[0]
        for place, item in enumerate(first.expressions):
            if item.is_star and len(selects) > 1:
                return Kind.UNKNOWN
            if item.is_star:
                return self._column(exp.Column(this=exp.to_identifier(name, quoted=True)), first)
            if _title(item) == name:
                return self._at(selects, place)
        return None if all(_title(item) for item in first.expressions) else Kind.UNKNOWN

    def _item(self, select: Any, place: int) -> Kind | None:
        items = select.expressions
        if place >= len(items) or any(item.is_star for item in items):
            return None
        return self.of(items[place], select)


_TURNED = {Kind.ZONED: Kind.PLAIN, Kind.PLAIN: Kind.ZONED}


def _alike(kinds: list[Kind]) -> Kind:
    return kinds[0] if len(set(kinds)) == 1 else Kind.UNKNOWN


def _title(item: Any) -> str:
    """The name under which a query shows an item; empty where it gives none."""
    if isinstance(item, exp.Alias):
        return fold(item.args["alias"])
    return fold(item.this) if isinstance(item, exp.Column) else ""


def _sources(select: Any) -> Iterator[tuple[str, Any]]:
    """Names and tables, sub-queries and others that a SELECT reads."""
    start = select.args.get("from_")
    joins = select.args.get("joins") or []
    todo = [*([] if start is None else [start.this]), *(join.this for join in joins)]
    while todo:
        source = todo.pop(0)
        todo += [join.this for join in source.args.get("joins") or []]
        if isinstance(source, exp.Subquery) and isinstance(source.this, exp.Table):  # brackets around a join
            todo.append(source.this)
            continue
        alias = source.args.get("alias")
        named = alias.this if isinstance(alias, exp.TableAlias) and alias.this is not None else None
        own = source.this if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier) else None
        name = named if named is not None else own
        yield ("" if name is None else fold(name)), source


def _query_of(source: Any, select: Any) -> tuple[Any, Any]:
    """The query behind a source, and what renames its columns; no query where it is a table of the policy."""
    alias = source.args.get("alias")
    alias = alias if isinstance(alias, exp.TableAlias) and alias.args.get("columns") else None
    if isinstance(source, exp.Subquery):
        return source.this, alias
    if isinstance(source, exp.Lateral) and isinstance(source.this, exp.Subquery):
        return source.this.this, alias
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        return exp.Null(), alias
    at = select
    while at is not None:
        for cte in at.args["with_"].expressions if at.args.get("with_") is not None else []:
            if fold(cte.args["alias"].this) == fold(source.this):
                return cte.this, alias or cte.args["alias"]
        at = at.parent
    return None, alias


def _selects(query: Any) -> Iterator[Any]:
    """The SELECTs of a query, those of a union in their order; None for what is neither."""
    if isinstance(query, exp.Select):
        yield query
    elif isinstance(query, exp.SetOperation):
        yield from _selects(query.this)
        yield from _selects(query.expression)
    elif isinstance(query, exp.Subquery):
        yield from _selects(query.this)
    else:
        yield None
