"""JSON of released and public rows: json_build_object, row_to_json, json_agg and their kin, as PostgreSQL prints it.

Comes in: the parser's node and what binds its arguments. Goes out: texts that are put together, which functions and
aggregates of text there are for. A list of many rows is an aggregate over public rows, as string_agg is: values of
people are refused there.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from sfumato.algebra.functions import call
from sfumato.algebra.tree import (
    BOOLEAN,
    INTEGER,
    JSON,
    NULL,
    NUMBERS,
    TEXT,
    TIMESTAMP,
    Aggregate,
    Call,
    Column,
    Constant,
    Node,
)
from sfumato.errors import QueryError
from sfumato.sql.bind.casts_and_times import as_text, converted
from sfumato.sql.bind.constants import constant
from sfumato.sql.bind.never_null import never_null
from sfumato.sql.read.parser import JSON_CALLS, place

if TYPE_CHECKING:
    from sfumato.sql.bind.expressions import Expressions

Members = list[tuple[Node, Node]]
"""Names and values, both as JSON."""
_DIGITS = 6
_TENTHS = tuple(Fraction(1, 10**digits) for digits in range(_DIGITS + 1))
OBJECT = {"json_object_agg": (" : ", "{ ", " }"), "jsonb_object_agg": (": ", "{", "}")}
"""What stands between a name and its value, and around all of them."""


def is_json(node: exp.Expression) -> bool:
    """Whether a function by name makes JSON."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in JSON_CALLS


def json_call(binds: Expressions, node: exp.Expression) -> Node:
    """A function that makes JSON of one row."""
    name, args, at = node.name.lower(), node.expressions, place(node)
    kept = name.startswith("jsonb") or name.endswith("jsonb")
    if name.endswith("build_object"):
        if len(args) % 2:
            raise QueryError("argument list must have even number of elements", position=at, sqlstate="22023")
        values = [value_of(binds, arg) for arg in args]
        names = [_plain(_name(binds, arg, None), at) for arg in args[::2]]
        members = [(_quoted(names[i // 2], at), values[i + 1]) for i in range(0, len(args), 2)]
        return _object(members, at, signs=(": ", "{", "}") if kept else (" : ", "{", "}"), ordered=kept)
    if name.endswith("build_array"):
        return _joined([constant("["), *_between([value_of(binds, arg) for arg in args], ", "), constant("]")], at)
    if len(args) != 1:
        raise QueryError(f"{name} takes one value", position=at, sqlstate="42883")
    return value_of(binds, args[0], kept=kept)


def value_of(binds: Expressions, node: exp.Expression, *, kept: bool = False) -> Node:
    """A value, or the row of a table that FROM names, as JSON; `kept` as jsonb prints it."""
    row = _row(binds, node)
    if row is None:
        return as_json(binds.node(node), place(node))
    members = [(_quoted(constant(name), place(node)), as_json(value, place(node))) for name, value in row]
    return _object(members, place(node), signs=(": ", "{", "}") if kept else (":", "{", "}"), ordered=kept, row=True)


def _row(binds: Expressions, node: exp.Expression) -> list[tuple[str, Node]] | None:
    """The columns of a table or sub-query that is named alone, as `t` in row_to_json(t)."""
    if not isinstance(node, exp.Column) or node.args.get("table") or isinstance(node.this, exp.Star):
        return None
    name = node.name if node.this.args.get("quoted") else node.name.lower()
    if binds.scope.look(None, name, place(node)) is not None:
        return None
    entries = binds.scope.shown(name)
    return [(entry.name, entry.node) for entry in entries] or None


def as_json(value: Node, at: int) -> Node:
    """A value as JSON; NULL is null."""
    kind = value.facts.kind
    if kind == NULL:
        return constant("null", at)
    if kind == TEXT and value.facts.every == JSON:
        found = value
    elif kind in NUMBERS:
        found = _number(value, at)
    elif kind == BOOLEAN:
        found = call("cast", (value,), TEXT, at)
    elif kind == TEXT:
        found = _quoted(value, at)
    else:
        found = _plain(value, at)
        found = _in_quotes(found, at)
    return _marked(call("coalesce", (found, constant("null", at)), "", at)) if value.facts.nullable else _marked(found)


def _plain(value: Node, at: int) -> Node:
    """A value as the text that JSON puts into quotes: a timestamp has a T there."""
    found = as_text(value)
    return call("replace", (found, constant(" "), constant("T")), "", at) if value.facts.kind == TIMESTAMP else found


def _in_quotes(text: Node, at: int) -> Node:
    """A text without signs that JSON would escape; NULL stays NULL."""
    if isinstance(text, Constant):
        return constant(f'"{text.value}"', at)
    return call("||", (call("||", (constant('"'), text), "", at), constant('"')), "", at)


def _quoted(text: Node, at: int) -> Node:
    if isinstance(text, Constant):
        return constant(json.dumps(str(text.value), ensure_ascii=False), at)
    return call("json_string", (text,), "", at)


def _number(value: Node, at: int) -> Node:
    """A number as text; one that is no decimal of a few digits is rounded to six."""
    grid = value.facts.grid
    if value.facts.kind != INTEGER and grid not in _TENTHS:
        value = call("round", (value,), str(_DIGITS), at)
    return converted(value, TEXT, at)


def _object(
    members: Members, at: int, *, signs: tuple[str, str, str], ordered: bool = False, row: bool = False
) -> Node:
    """An object; jsonb has its names by their length, and of two that are alike the last."""
    between, opened, closed = signs
    if ordered and all(isinstance(name, Constant) for name, _ in members):
        last = {str(name.value): (name, value) for name, value in members if isinstance(name, Constant)}
        members = [last[name] for name in sorted(last, key=lambda name: (len(name.encode()), name))]
    pairs = [_joined([name, constant(between), value], at) for name, value in members]
    return _joined([constant(opened), *_between(pairs, "," if row and not ordered else ", "), constant(closed)], at)


def _between(parts: list[Node], sign: str) -> list[Node]:
    found = [part for pair in parts for part in (constant(sign), pair)]
    return found[1:]


def _joined(parts: list[Node], at: int) -> Node:
    """Texts one after the other; those that are written are joined here."""
    short: list[Node] = []
    for part in parts:
        if short and isinstance(part, Constant) and isinstance(short[-1], Constant):
            short[-1] = constant(f"{short[-1].value}{part.value}", at)
        else:
            short.append(part)
    return _marked(short[0] if len(short) == 1 else call("concat", tuple(short), JSON, at))


def _marked(node: Node) -> Node:
    return replace(node, facts=replace(node.facts, every=JSON)) if isinstance(node, Call | Constant | Column) else node


def _name(binds: Expressions, node: exp.Expression, where: Node | None) -> Node:
    """The name of a member, which JSON must have: one that may be NULL is refused before anything is charged, for
    whether a released table has a NULL group is not known until then.
    """
    name = binds.node(node)
    if not never_null(name, binds.scope.relation, where):
        raise QueryError(
            "field name must not be null, and this one may be",
            position=place(node),
            sqlstate="22004",
            hint="Filter it with WHERE … IS NOT NULL, or write COALESCE(…, 'none').",
        )
    return name


def list_call(binds: Expressions, name: str, node: exp.Expression, where: Node | None) -> tuple[str, tuple[Node, ...]]:
    """The name and the arguments of an aggregate that makes JSON of many rows; their order is the one that is written,
    else that of the values.
    """
    parts: list[Any] = [part for part in (node.this, node.args.get("expression")) if isinstance(part, exp.Expression)]
    parts = list(node.expressions) if node.args.get("expressions") else parts
    order: list[Any] = []
    if parts and isinstance(parts[-1], exp.Order):
        order = parts[-1].expressions
        parts[-1] = parts[-1].this
    wanted = 2 if name in OBJECT else 1
    if len(parts) != wanted or len(order) > 1 or any(isinstance(part, exp.Distinct) for part in parts):
        raise QueryError(
            f"{name} takes {'a name and a' if wanted == 2 else 'one'} value and one order", position=place(node)
        )
    at = place(node)
    if name in OBJECT:
        key = _plain(_name(binds, parts[0], where), at)
        text = _joined([_quoted(key, at), constant(OBJECT[name][0]), value_of(binds, parts[1])], at)
        size = call("cast", (call("octet_length", (key,), "", at),), TEXT, at)
        padded = call("lpad", (size, constant(7), constant("0")), "", at)
        by: Node = key if name == "json_object_agg" else call("||", (padded, key), "", at)  # jsonb: shorter names first
    else:
        row = _row(binds, parts[0])
        text = value_of(binds, parts[0], kept=name == "jsonb_agg")
        by = text if row is not None else binds.node(parts[0])
    args = [text, constant(", " if name in OBJECT or _row(binds, parts[0]) is None else ", \n ")]
    down = constant(bool(order[0].args.get("desc"))) if order else constant(False)
    return name, (*args, binds.node(order[0].this) if order else by, down)


def is_list(aggregate: Aggregate) -> bool:
    """Whether an aggregate makes JSON of many rows."""
    return aggregate.name in ("json_agg", "jsonb_agg", *OBJECT)
