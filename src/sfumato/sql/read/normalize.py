"""Other spellings of SQL: what tools and drivers write becomes the few forms that `bind` knows.

Comes in: the parser's tree. Goes out: the same query in fewer kinds of nodes. Every change here is one that PostgreSQL
itself would make: LIMIT ALL is no limit, x = ANY (ARRAY[…]) is IN, OVER w is the window that WINDOW names, and in UTC
AT TIME ZONE 'UTC' changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from sqlglot import exp

from sfumato.errors import QueryError
from sfumato.interrupts import step
from sfumato.sql.read.arrays import written_array
from sfumato.sql.read.clock_parts import epoch_step, part_of_clock
from sfumato.sql.read.growth import check_copies, copied, growing
from sfumato.sql.read.lateral import without_lateral
from sfumato.sql.read.shorthands import (
    at_once,
    by_clock,
    formatted,
    overlapping,
    repeated,
    series_of_rows,
    some_unknown,
    tied_rows,
    with_default,
)
from sfumato.sql.read.text_shorthands import (
    bucket,
    counted,
    element,
    joined_elements,
    overlaid,
    rounded,
    substring_of,
    unicode_text,
)
from sfumato.sql.read.written import counted_interval, with_written_pattern
from sfumato.sql.read.zones import UTC_NAMES, ZONED, zone_named

_MOST_ROWS = 1_000
"""Rows of one VALUES list."""
_MOST_TESTS = 1_000
"""Values of a list that are compared one by one: as many as there may be ANDs and ORs."""


def normalize(tree: Any) -> Any:
    """The tree with other spellings rewritten; places in the text stay with the nodes."""
    tree = _rewritten(tree)
    nodes = list(tree.walk())
    with growing(len(nodes)) as growth:
        for node in reversed(nodes):  # what is below first: what is above may copy it
            step()
            change, room = _CHANGES.get(type(node)), growth.room
            replacement = None if change is None else change(node)
            if replacement is not None:
                growth.replaced(room, node, replacement)
                _put(node, replacement)
    return tree


def _rewritten(tree: Any) -> Any:
    """VALUES as a whole statement."""
    return _rows(tree) if isinstance(tree, exp.Values) else tree


def _put(node: Any, replacement: Any) -> None:
    """A replacement in its place, under the name that PostgreSQL shows it by."""
    _keep_place(node, replacement)
    title = node.name.lower() if isinstance(node, exp.Anonymous) else _TITLES.get(type(node))
    if isinstance(node.parent, exp.Select) and node.arg_key == "expressions" and title:
        replacement = exp.Alias(this=replacement, alias=exp.to_identifier(title))
    node.replace(replacement)


def _keep_place(old: Any, new: Any) -> None:
    starts = [n.meta["start"] for n in old.walk() if "start" in n.meta]
    if starts and not any("start" in n.meta for n in new.walk()):
        new.meta["start"] = min(starts)


# LIMIT and FETCH
def _limit(node: Any) -> Any:
    """LIMIT ALL and LIMIT NULL are no limit; LIMIT 5::integer is 5."""
    value = node.expression
    while isinstance(value, exp.Paren | exp.Cast):
        value = value.this
    if isinstance(value, exp.Null) or (isinstance(value, exp.Var) and value.name.upper() == "ALL"):
        node.parent.set(node.arg_key, None)
        return None
    if value is not node.expression and isinstance(value, exp.Literal):
        number = value.this if value.is_string else value.name
        node.set("expression", exp.Literal.number(number.strip()))
    return None


def _fetch(node: Any) -> Any:
    options = node.args.get("limit_options")
    if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
        return None  # refused by its name
    count = node.args.get("count")
    limit = exp.Limit(expression=exp.Literal.number(1) if count is None else copied(count))
    _keep_place(node, limit)
    node.replace(limit)
    _limit(limit)
    return None


# lists
def _array(node: Any) -> list[Any] | None:
    """The elements of ARRAY[…], '{…}' or '{…}'::type[]."""
    while isinstance(node, exp.Paren):
        node = node.this
    kind: Any = None
    if isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.ARRAY:
        kind, node = node.to.expressions[0] if node.to.expressions else None, node.this
        while isinstance(node, exp.Paren):
            node = node.this
    if isinstance(node, exp.Array) and not any(isinstance(one, exp.Query) for one in node.expressions):
        found = list(node.expressions)
    elif isinstance(node, exp.Literal) and node.is_string:
        texts = written_array(node.name)
        if texts is None:
            raise QueryError(f'malformed array literal: "{node.name[:40]}"', sqlstate="22P02")
        found = [exp.Null() if text is None else exp.Literal.string(text) for text in texts]
    else:
        return None
    return found if kind is None else [exp.Cast(this=copied(one), to=copied(kind)) for one in found]


def _listed(node: Any) -> tuple[bool, list[Any]] | None:
    """Whether it is ALL, and its elements, where a list stands to the right of an operator."""
    right = node.expression
    if isinstance(right, exp.Any):
        found = _array(right.this)
        return None if found is None else (False, found)
    if isinstance(right, exp.All):
        found = _array(right.this)
        return None if found is None else (True, found)
    if isinstance(right, exp.Anonymous) and right.name.upper() in ("ALL", "SOME") and len(right.expressions) == 1:
        found = _array(right.expressions[0])
        return None if found is None else (right.name.upper() == "ALL", found)
    return None


def _quantified(node: Any) -> Any:
    """x op ANY (list), and x op ALL (list): one comparison with each element."""
    sub = _any_of_query(node) or _row_by_row(node) or by_clock(node)
    if sub is not None:
        return sub
    parts = _listed(node)
    if parts is None:
        return None
    every, values = parts
    if not values:  # of no element: ANY is false and ALL is true, whatever x is
        return exp.Boolean(this=every)
    if isinstance(node, exp.EQ) and not every:
        return exp.In(this=copied(node.this), expressions=[copied(value) for value in values])
    if isinstance(node, exp.NEQ) and every:
        return exp.Not(this=exp.In(this=copied(node.this), expressions=[copied(value) for value in values]))
    if len(values) > _MOST_TESTS:  # what is written twice is tested once
        values = list({_word(value): value for value in values}.values())
    if len(values) > _MOST_TESTS:
        raise QueryError(
            f"a list of more than {_MOST_TESTS} values can only be compared by = ANY or <> ALL",
            sqlstate="54001",
            hint="Compare with the smallest or the largest of them, or put them into a public table.",
        )
    check_copies(node.this, len(values))
    tests = [_with(node, value) for value in values]
    joined: Any = exp.And if every else exp.Or
    return exp.Paren(this=reduce(lambda a, b: joined(this=a, expression=b), tests))


def _matched(node: Any) -> Any:
    """LIKE and its kin: a pattern that is put together of literals is one literal, a list is compared one by one."""
    with_written_pattern(node)
    return _quantified(node)


def _row_by_row(node: Any) -> Any:
    """(a, b) = (c, d): each with each; <> is the opposite."""
    left, right = node.this, node.expression
    if not (isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple) and isinstance(node, exp.EQ | exp.NEQ)):
        return None
    if len(left.expressions) != len(right.expressions):
        raise QueryError("unequal number of entries in row expressions", sqlstate="42601")
    pairs = zip(left.expressions, right.expressions, strict=True)
    tests: list[Any] = [exp.EQ(this=copied(a), expression=copied(b)) for a, b in pairs]
    same = exp.Paren(this=reduce(lambda a, b: exp.And(this=a, expression=b), tests))
    return same if isinstance(node, exp.EQ) else exp.Not(this=same)


def _raw(node: Any) -> Any:
    """$$text$$ is a text."""
    return exp.Literal.string(node.name)


def _word(value: Any) -> tuple[Any, ...]:
    """What tells two values of a list apart; anything but a literal is only like itself."""
    if isinstance(value, exp.Literal):
        return value.is_string, value.name
    return (exp.Null,) if isinstance(value, exp.Null) else (id(value),)


def _with(node: Any, value: Any) -> Any:
    """The same comparison with another value; the list itself is not copied for each of its elements."""
    test = type(node)(this=copied(node.this), expression=copied(value))
    test.meta.update(node.meta)
    return test


_OPPOSITE: dict[type[Any], type[Any]] = {
    exp.EQ: exp.NEQ, exp.NEQ: exp.EQ, exp.LT: exp.GTE, exp.GTE: exp.LT, exp.GT: exp.LTE, exp.LTE: exp.GT,
}  # fmt: skip
"""What holds of two values where the other does not; of NULL neither is known."""


def _any_of_query(node: Any) -> Any:
    """x = ANY (SELECT …) is IN, x <> ALL (SELECT …) is NOT IN, and x < ANY (SELECT …) is NOT (x >= ALL (SELECT …))."""
    right, every = node.expression, isinstance(node.expression, exp.All)
    inner = right.this if isinstance(right, exp.Any | exp.All) else None
    if isinstance(right, exp.Anonymous) and right.name.upper() in ("ALL", "SOME") and len(right.expressions) == 1:
        inner, every = right.expressions[0], right.name.upper() == "ALL"
    inner = _query_of(inner)
    if inner is None or type(node) not in _OPPOSITE:
        return None
    if isinstance(node, exp.NEQ if every else exp.EQ):
        found = exp.In(this=copied(node.this), query=copied(inner))
        return exp.Not(this=found) if every else found
    with_all = type(node) if every else _OPPOSITE[type(node)]
    found = with_all(this=copied(node.this), expression=exp.All(this=copied(inner.this)))
    return found if every else exp.Not(this=found)


def _query_of(node: Any) -> Any:
    """The sub-query in brackets; ARRAY(SELECT …) holds the rows of one, too."""
    if isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Array) and len(node.expressions) == 1:
        node = node.expressions[0]
    while isinstance(node, exp.Subquery) and node.args.get("alias") is None and isinstance(node.this, exp.Subquery):
        node = node.this
    if isinstance(node, exp.Query) and not isinstance(node, exp.Subquery):
        node = exp.Subquery(this=copied(node))
    return node if isinstance(node, exp.Subquery) else None


_OF_ROWS = ("from_", "joins", "where")
_OF_ONE = (*_OF_ROWS, "expressions", "limit", "order")


def _exists_alone(node: Any) -> Any:
    """SELECT EXISTS (SELECT … FROM t …), beside no table: whether t has such a row is bool_or(true) over them."""
    outer, inner = node.find_ancestor(exp.Select), node.this
    if isinstance(inner, exp.Subquery) and not any(inner.args.get(part) for part in ("alias", "limit", "offset")):
        inner = inner.this
    alone = outer is not None and outer.args.get("from_") is None and outer.find_ancestor(exp.Select) is None
    if not alone or not isinstance(inner, exp.Select) or inner.args.get("from_") is None:
        return None
    limit = inner.args.get("limit")
    some = limit is None or (isinstance(limit, exp.Limit) and limit.expression.name not in ("", "0"))
    if not some or any(value for part, value in inner.args.items() if part not in _OF_ONE):
        return None
    if any(one.find(exp.AggFunc) is not None for one in inner.expressions):
        return None  # an aggregate has a row whatever there is
    found = exp.Coalesce(this=exp.LogicalOr(this=exp.true()), expressions=[exp.false()])
    return exp.Subquery(this=exp.Select(expressions=[found], **{part: inner.args.get(part) for part in _OF_ROWS}))


# time
def _zone(node: Any) -> Any:
    """A zone that nobody can tell is refused; of the others `bind` knows the offsets."""
    zone = node.args.get("zone")
    name = zone.name if isinstance(zone, exp.Literal) else None
    if name is None or (name.lower() not in UTC_NAMES and zone_named(name) is None):
        raise QueryError(
            f"time zone {'expressions' if name is None else name} is not supported",
            sqlstate="22023",
            hint="Write a name such as AT TIME ZONE 'Europe/Paris', or add the offset as an interval.",
        )


def _truncated(node: Any) -> Any:
    """date_trunc(unit, x, zone): on the clocks of the zone, and back."""
    zone = node.args.get("zone")
    if zone is None:
        return None
    node.set("zone", None)
    if isinstance(zone, exp.Literal) and zone.name.lower() in UTC_NAMES:
        node.meta[ZONED] = True
        return None
    moment = copied(node.this)
    moment.meta[ZONED] = True
    local = exp.AtTimeZone(this=moment, zone=copied(zone))
    _zone(local)
    first = type(node)(this=local, unit=copied(node.args["unit"]))
    first.meta[ZONED] = False
    return exp.AtTimeZone(this=first, zone=copied(zone))


def _date(node: Any) -> Any:
    """date(x) is a cast."""
    if node.this is None or any(node.args.get(part) for part in ("zone", "expressions")):
        return None
    return exp.Cast(this=copied(node.this), to=exp.DataType.build("date"))


def _called(node: Any) -> Any:
    """Functions that are another spelling of what there is."""
    name, args = node.name.lower(), node.expressions
    if name == "timezone" and len(args) == 2:
        found = exp.AtTimeZone(this=copied(args[1]), zone=copied(args[0]))
        _zone(found)
        return found
    if name == "row" and args and isinstance(node.parent, _OF_A_ROW):
        return exp.Tuple(expressions=[copied(arg) for arg in args])
    if name == "every" and len(args) == 1:
        return exp.LogicalAnd(this=copied(args[0]))
    if name == "age" and len(args) == 1:
        return exp.Anonymous(this="age", expressions=[exp.CurrentDate(), copied(args[0])])
    if name == "to_timestamp" and len(args) == 1:
        step_of_time = epoch_step(args[0])
        if step_of_time is not None:
            step_of_time.meta[ZONED] = True
        return step_of_time
    return None


_OF_A_ROW = (exp.Distinct, exp.EQ, exp.NEQ, exp.In, exp.Tuple)
"""Where ROW(a, b) is (a, b)."""


# windows
def _named_windows(node: Any) -> Any:
    """OVER w, and OVER (w ORDER BY …), by what WINDOW names."""
    named = {window.this.name.lower(): window for window in node.args.get("windows") or []}
    if not named:
        return
    for window in node.find_all(exp.Window):
        alias = window.args.get("alias")
        if alias is None or window.find_ancestor(exp.Select) is not node:
            continue
        known = named.get(alias.name.lower())
        if known is None:
            raise QueryError(f'window "{alias.name}" does not exist', sqlstate="42704")
        window.set("alias", None)
        for part in ("partition_by", "order", "spec"):
            value = known.args.get(part)
            if value and not window.args.get(part):
                window.set(part, [copied(one) for one in value] if isinstance(value, list) else copied(value))
    node.set("windows", None)


def _select(node: Any) -> None:
    _named_windows(node)
    tied_rows(node, _named)
    _distinct_on(node)
    series_of_rows(node)
    _listed_rows(node)
    without_lateral(node, _union_of)


def _distinct_on(node: Any) -> None:
    """DISTINCT ON (k) … ORDER BY k, o: the first row of each k, which is QUALIFY row_number() OVER (…) = 1."""
    once = node.args.get("distinct")
    on = once.args.get("on") if once is not None else None
    if on is None:
        return
    keys = [_named(node, part) for part in (on.expressions if isinstance(on, exp.Tuple) else [on])]
    order = node.args.get("order")
    items = [] if order is None else [copied(item) for item in order.expressions]
    for item in items:
        item.set("this", _named(node, item.this))
    window = exp.Window(
        this=exp.RowNumber(), partition_by=keys, order=exp.Order(expressions=items) if items else None, over="OVER"
    )
    first = exp.EQ(this=window, expression=exp.Literal.number(1))
    known = node.args.get("qualify")
    node.set(
        "qualify", exp.Qualify(this=first if known is None else exp.And(this=copied(known.this), expression=first))
    )
    node.set("distinct", None)


def _named(node: Any, part: Any) -> Any:
    """What a number or an alias of the select list stands for."""
    listed = node.expressions
    if (
        isinstance(part, exp.Literal)
        and not part.is_string
        and part.name.isdecimal()
        and 0 < int(part.name) <= len(listed)
    ):
        return copied(listed[int(part.name) - 1].unalias())
    name = part.name.lower() if isinstance(part, exp.Column) and not part.args.get("table") else None
    found = [item.this for item in listed if isinstance(item, exp.Alias) and item.alias.lower() == name]
    return copied(found[0] if found else part)


def _listed_rows(node: Any) -> None:
    """SELECT unnest(ARRAY[…]): a query over these rows."""
    if node.args.get("from_") is not None or len(node.expressions) != 1:
        return
    item = node.expressions[0]
    inner = item.unalias()
    listed = inner.expressions[0] if isinstance(inner, exp.Unnest) and inner.expressions else inner.this
    if not isinstance(inner, exp.Unnest | exp.Explode) or not (values := _array(listed)):
        return
    name = item.alias or "unnest"
    rows = _union_of([[value] for value in values], [name])
    node.set("from_", exp.From(this=exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("unnest")))))
    node.set("expressions", [exp.column(exp.to_identifier(name))])


def _unnested(node: Any) -> Any:
    """unnest(ARRAY[…]) in FROM: rows, called as the list is."""
    values = _array(node.expressions[0]) if len(node.expressions) == 1 else None
    if not values or node.args.get("offset") or not isinstance(node.parent, exp.From | exp.Join):
        return None
    alias = node.args.get("alias")
    owner = "unnest" if alias is None or alias.this is None else alias.name
    columns = [] if alias is None else alias.args.get("columns") or []
    rows = _union_of([[value] for value in values], [columns[0].name if columns else owner])
    return exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(owner)))


def _union_of(rows: list[list[Any]], names: list[str]) -> Any:
    """Written rows as a query, with these names."""
    found = _rows(exp.Values(expressions=[exp.Tuple(expressions=[copied(value) for value in row]) for row in rows]))
    for select in found.find_all(exp.Select):
        for item, name in zip(select.expressions, names, strict=False):
            item.set("alias", exp.to_identifier(name))
    return found


# VALUES
def _values(node: Any) -> Any:
    """VALUES in FROM: a sub-query."""
    if not isinstance(node.parent, exp.From | exp.Join | exp.Subquery):
        return None
    alias = node.args.get("alias")
    return exp.Subquery(this=_rows(node), alias=None if alias is None else copied(alias))


def _rows(node: Any) -> Any:
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    if len({len(row) for row in rows}) != 1:
        raise QueryError("VALUES lists must all be the same length", sqlstate="42601")
    if len(rows) > _MOST_ROWS:
        raise QueryError(
            f"VALUES has more than {_MOST_ROWS} rows", sqlstate="54000", hint="Split it into several queries."
        )
    selects: list[Any] = [
        exp.Select(
            expressions=[
                exp.Alias(this=copied(value), alias=exp.to_identifier(f"column{i}")) for i, value in enumerate(row, 1)
            ]
        )
        for row in rows
    ]
    while len(selects) > 1:  # a balanced tree, so that a long list is not a deep one
        pairs = [selects[i : i + 2] for i in range(0, len(selects), 2)]
        selects = [
            exp.Union(this=pair[0], expression=pair[1], distinct=False) if len(pair) > 1 else pair[0] for pair in pairs
        ]
    return selects[0]


_TITLES: dict[type[Any], str] = {
    exp.AtTimeZone: "timezone", exp.Date: "date", exp.Cast: "interval", exp.Exists: "exists",
    exp.MakeInterval: "make_interval", exp.Extract: "extract", exp.Overlaps: "overlaps", exp.Format: "format",
    exp.Repeat: "repeat", exp.TimestampTrunc: "date_trunc", exp.DateTrunc: "date_trunc", exp.Round: "round",
    exp.Trunc: "trunc", exp.WidthBucket: "width_bucket", exp.Overlay: "overlay", exp.RegexpSubstr: "regexp_substr",
    exp.RegexpCount: "regexp_count", exp.ArrayToString: "array_to_string", exp.UnicodeString: "?column?",
    exp.Max: "max", exp.Pi: "pi",
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Neg), "?column?"),
}  # fmt: skip
"""What PostgreSQL calls a column that is shown under no name of its own."""
_CHANGES: dict[type[Any], Callable[[Any], Any]] = {
    exp.Limit: _limit,
    exp.Offset: _limit,
    exp.Fetch: _fetch,
    exp.AtTimeZone: _zone,
    exp.Add: lambda node: part_of_clock(node) or counted_interval(node),
    **dict.fromkeys((exp.Sub, exp.Mul, exp.Neg, exp.Cast, exp.MakeInterval), counted_interval),
    exp.TimestampTrunc: _truncated,
    exp.DateTrunc: _truncated,
    exp.Date: _date,
    exp.Anonymous: _called,
    exp.Select: _select,
    exp.Values: _values,
    exp.Unnest: _unnested,
    exp.RawString: _raw,
    exp.ByteString: _raw,
    exp.SimilarTo: with_written_pattern,
    exp.Exists: _exists_alone,
    exp.Between: by_clock,
    exp.Overlaps: overlapping,
    exp.Format: formatted,
    exp.Repeat: repeated,
    exp.Round: rounded,
    exp.Trunc: rounded,
    exp.WidthBucket: bucket,
    exp.Overlay: overlaid,
    exp.Bracket: element,
    exp.RegexpSubstr: substring_of,
    exp.RegexpCount: counted,
    exp.ArrayToString: joined_elements,
    exp.UnicodeString: unicode_text,
    exp.Window: with_default,
    exp.Max: some_unknown,
    exp.Pi: lambda _: exp.Literal.number("3.141592653589793"),
    exp.CTE: at_once,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _quantified),
    **dict.fromkeys((exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike), _matched),
}
