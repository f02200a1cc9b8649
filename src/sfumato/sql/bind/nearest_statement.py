"""The answerable statement nearest to a refused one: what stood in the way is changed, and the rest is kept.

Comes in: the parser's tree of a refused question, the policy, and a way to ask whether a tree is refused. Goes out: SQL
for a hint, or nothing. Every statement that is proposed was bound under the same policy. What is changed, one thing at
a time: a join of different people gets the person as one more condition; rows of people become groups with their
number; aggregates that would show or add up people's values count them; else the item that was refused is left out.
Nothing is proposed that is about one person: `ssn = '123'` and `ssn IN ('123')` are left out first.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from sqlglot import exp

from sfumato.errors import Obstacle, QueryError
from sfumato.policy import ROW, Policy
from sfumato.sql.read.growth import copied
from sfumato.sql.read.parser import place
from sfumato.types import identifier

_LONGEST = 400
_STEPS = 6
"""Changes that are tried one after the other."""
_SHOWING = (exp.ArrayAgg, exp.GroupConcat, exp.AnyValue, exp.First, exp.Last)
_WINDOWS = (Obstacle.OTHERS_IN_WINDOW, Obstacle.TIES_IN_WINDOW, Obstacle.WINDOW)
_MOST_NODES = 2_000
"""Nodes of a statement for which a nearer one is looked for."""
_PERSON = (Obstacle.PERSON_SHOWN, Obstacle.PERSON_MISSING, Obstacle.OTHERS_COMPARED)
_Refusal = Callable[[Any], QueryError | None]


def mended(tree: Any, policy: Policy, refusal: _Refusal) -> str | None:
    """The text of the nearest statement that is answered; None where no change helps."""
    if sum(1 for _ in islice(tree.walk(), _MOST_NODES + 1)) > _MOST_NODES:
        return None  # its text would not be shown, and each try copies it
    tree, units = copied(tree), _units(policy)
    _drop_singling(tree, units)
    windows = any(not _is_of_group(window) for window in tree.find_all(exp.Window))
    for _ in range(_STEPS):
        refused = refusal(copied(tree))
        if refused is None:
            text = tree.sql(dialect="postgres", comments=False)
            lost = windows and tree.find(exp.Window) is None and tree.find(exp.Group) is None
            return text if len(text) <= _LONGEST and not lost and not is_about_one(tree, units) else None
        changes = (change for fix in _FIXES if (change := fix(copied(tree), policy, refused)) is not None)
        changed = next((one for one in changes if one != tree), None)
        if changed is None:
            return None
        tree = changed
    return None


def is_about_one(tree: Any, units: set[str]) -> bool:
    """Whether a statement compares one of these columns, which name people, with constants."""
    return any(_singles_out(node, units) for node in tree.find_all(exp.EQ, exp.In))


def _drop_singling(tree: Any, units: set[str]) -> None:
    """Take out of WHERE what singles out people."""
    for where in list(tree.find_all(exp.Where)):
        condition = _without_singling(where.this, units)
        if condition is None:
            where.pop()
        else:
            where.set("this", condition)


def _without_singling(condition: Any, units: set[str]) -> Any:
    """A condition without those of its conjuncts that single out people; None where nothing is left."""
    if isinstance(condition, exp.Paren):
        inner = _without_singling(condition.this, units)
        return None if inner is None else exp.Paren(this=inner)
    if isinstance(condition, exp.And):
        parts = [_without_singling(part, units) for part in (condition.left, condition.right)]
        kept = [part for part in parts if part is not None]
        return exp.And(this=kept[0], expression=kept[1]) if len(kept) == 2 else next(iter(kept), None)
    return None if _singles_out(condition, units) else copied(condition)


def _singles_out(node: Any, units: set[str]) -> bool:
    """Whether a condition compares the person with constants."""
    if isinstance(node, exp.In):
        return _names_person(node.this, units) and bool(node.expressions) and all(map(_is_constant, node.expressions))
    if not isinstance(node, exp.EQ):
        return False
    sides = (node.left, node.right), (node.right, node.left)
    return any(_names_person(one, units) and _is_constant(other) for one, other in sides)


def _units(policy: Policy) -> set[str]:
    """The columns that name a person."""
    return {table.unit for table in policy.tables.values() if isinstance(table.unit, str)}


def _by_person(tree: Any, policy: Policy, refused: QueryError) -> Any:
    """Each join of two private tables on the person, too."""
    if refused.obstacle not in (Obstacle.OTHERS_JOINED, Obstacle.OTHERS_DECIDE, Obstacle.OTHERS_IN_WINDOW):
        return None
    changed = False
    for select in tree.find_all(exp.Select):
        start = select.args.get("from_")
        tables = [] if start is None else [start.this]
        for join in select.args.get("joins") or []:
            left, right = _person(tables, policy), _person([join.this], policy)
            tables.append(join.this)
            if left is None or right is None or join.args.get("using"):
                continue
            same = exp.EQ(this=left, expression=right)
            on = join.args.get("on")
            join.set("on", same if on is None else exp.And(this=exp.Paren(this=copied(on)), expression=same))
            join.set("kind", None if str(join.args.get("kind") or "").upper() == "CROSS" else join.args.get("kind"))
            changed = True
    return tree if changed else None


def _person(tables: list[Any], policy: Policy) -> Any:
    """The column that names the person, of the last private table of a list."""
    for table in reversed(tables):
        known = policy.tables.get(table.name.lower()) if isinstance(table, exp.Table) else None
        if known is not None and not known.public and isinstance(known.unit, str) and known.unit != ROW:
            return exp.Column(this=_word(known.unit), table=_word(table.alias_or_name))
    return None


def _preserved(tree: Any, policy: Policy, refused: QueryError) -> Any:
    """A public table that would keep its rows without people is joined to people alone."""
    if refused.obstacle is not Obstacle.NOBODYS_ROWS or not isinstance(tree, exp.Query):
        return None
    sides = [join for join in tree.find_all(exp.Join) if join.args.get("side")]
    for join in sides:
        if (_person([join.this], policy) is not None) == (str(join.args["side"]).upper() != "RIGHT"):
            join.set("side", None)
            join.set("kind", None)
    return tree


def _among_persons(tree: Any, policy: Policy, refused: QueryError) -> Any:
    """IN with a private sub-query, between the people of both."""
    found = [node for node in tree.find_all(exp.In) if node.args.get("query") is not None]
    if refused.obstacle is not Obstacle.OTHERS_COMPARED or not found:
        return None
    for node in found:
        outer, inner = node.find_ancestor(exp.Select), node.args["query"].find(exp.Select)
        start, below = (part.args.get("from_") if part is not None else None for part in (outer, inner))
        if start is None or below is None:
            continue
        mine, theirs = _person([start.this], policy), _person([below.this], policy)
        if mine is not None and theirs is not None and len(inner.expressions) == 1:
            node.set("this", mine)
            inner.set("expressions", [theirs])
    return tree


def _with_released(tree: Any, policy: Policy, refused: QueryError) -> Any:  # noqa: ARG001  the shape of all fixes
    """x > ALL (SELECT y …) of other people: x > (SELECT MAX(y) …), a released number."""
    found = [node for node in tree.find_all(*_ENDS) if isinstance(node.expression, exp.All)]
    if refused.obstacle is not Obstacle.OTHERS_COMPARED or not found:
        return None
    for node in found:
        select = node.expression.this
        plain = isinstance(select, exp.Select) and len(select.expressions) == 1 and not select.args.get("group")
        if plain and select.expressions[0].find(exp.AggFunc) is None:
            select.set("expressions", [_ENDS[type(node)](this=copied(select.expressions[0].unalias()))])
            node.set("expression", exp.Subquery(this=copied(select)))
    return tree


_ENDS: dict[type[Any], type[Any]] = {exp.GT: exp.Max, exp.GTE: exp.Max, exp.LT: exp.Min, exp.LTE: exp.Min}


def _not_cut(tree: Any, policy: Policy, refused: QueryError) -> Any:  # noqa: ARG001  the shape of all fixes
    """Rows of people are neither cut by LIMIT nor chosen by QUALIFY or DISTINCT ON."""
    chosen = tree.find(exp.Qualify) is not None and refused.obstacle in _WINDOWS
    if not chosen and refused.obstacle is not Obstacle.ROWS_CUT:
        return None
    for select in tree.find_all(exp.Select):
        if refused.obstacle is Obstacle.ROWS_CUT:
            if select.parent is not None:
                for part in ("limit", "offset", "order"):
                    select.set(part, None)
        else:
            select.set("qualify", None)
    return tree


def _own_windows(tree: Any, policy: Policy, refused: QueryError) -> Any:
    """Windows over each person's own rows."""
    if refused.obstacle is not Obstacle.OTHERS_IN_WINDOW:
        return None
    for window in tree.find_all(exp.Window):
        select = window.find_ancestor(exp.Select)
        start = None if select is None else select.args.get("from_")
        person = None if start is None else _person([start.this], policy)
        parts = window.args.get("partition_by") or []
        if person is not None and person not in parts:
            window.set("partition_by", [person, *(copied(part) for part in parts)])
    return tree


def _word(name: str) -> Any:
    plain = name.isidentifier() and name == name.lower()
    return exp.Identifier(this=name if plain else identifier(name)[1:-1].replace('""', '"'), quoted=not plain)


def _grouped(tree: Any, policy: Policy, refused: QueryError) -> Any:
    """Rows of people as groups: each item that is no person's name is a key, beside how many rows it has."""
    if (
        refused.sqlstate != "42501"
        or not isinstance(tree, exp.Select)
        or tree.args.get("group")
        or tree.find(exp.AggFunc)
    ):
        return None
    units = _units(policy)
    keys = [item for item in tree.expressions if not _names_person(item, units) and not _is_constant(item)]
    keys = [] if any(item.find(exp.Star) for item in keys) else [key for key in keys if key.find(exp.Window) is None]
    count = exp.Count(this=exp.Star(), big_int=True)
    tree.set("expressions", [*(copied(key) for key in keys), count])
    tree.set("group", exp.Group(expressions=[copied(key.unalias()) for key in keys]) if keys else None)
    for part in ("order", "limit", "offset", "distinct", "qualify"):
        tree.set(part, None)
    return tree


def _names_person(item: Any, units: set[str]) -> bool:
    inner = item.unalias()
    return isinstance(inner, exp.Column) and inner.name in units


def _is_constant(item: Any) -> bool:
    return item.find(exp.Column, exp.Star) is None


def _as_key(tree: Any, policy: Policy, refused: QueryError) -> Any:  # noqa: ARG001  the shape of all fixes
    """The first or last of texts as a key: each of them that enough people share, with its number of rows."""
    if refused.obstacle is not Obstacle.TEXT_ORDERED or not isinstance(tree, exp.Select):
        return None
    at = next((item for item in tree.expressions if _is_at(item, refused)), None)
    found = None if at is None else at.unalias()
    if not isinstance(found, exp.Min | exp.Max):
        return None
    key, rest = copied(found.this), [copied(item) for item in tree.expressions if item is not at]
    counted = any(item.find(exp.AggFunc) is not None for item in rest)
    place_of = tree.expressions.index(at)
    count = [] if counted else [exp.Count(this=exp.Star(), big_int=True)]
    group = tree.args.get("group")
    keys = [] if group is None else [copied(part) for part in group.expressions]
    tree.set("expressions", [*rest[:place_of], key, *rest[place_of:], *count])
    tree.set("group", exp.Group(expressions=[*keys, copied(key)]))
    for part in ("order", "limit", "offset"):
        tree.set(part, None)
    return tree


def _window_groups(tree: Any, policy: Policy, refused: QueryError) -> Any:  # noqa: ARG001  the shape of all fixes
    """Aggregates over all rows beside each row, COUNT(*) OVER (PARTITION BY k), as aggregates of the groups k."""
    if refused.obstacle is not Obstacle.OTHERS_IN_WINDOW or not isinstance(tree, exp.Select) or tree.args.get("group"):
        return None
    windows = list(tree.find_all(exp.Window))
    alone = all(map(_is_of_group, windows))
    keys = windows[0].args.get("partition_by") or [] if windows else []
    if not windows or not alone or any((window.args.get("partition_by") or []) != keys for window in windows):
        return None
    shown = [copied(item) for item in tree.expressions if item.find(exp.Window) is not None or item.unalias() in keys]
    for item in shown:
        for window in list(item.find_all(exp.Window)):
            if window is item:
                shown[shown.index(item)] = copied(window.this)
            else:
                window.replace(copied(window.this))
    tree.set("expressions", shown)
    tree.set("group", exp.Group(expressions=[copied(key) for key in keys]) if keys else None)
    for part in ("order", "limit", "offset", "distinct", "qualify"):
        tree.set(part, None)
    return tree


def _is_of_group(window: Any) -> bool:
    """Whether a window shows an aggregate of its whole partition."""
    return isinstance(window.this, _OF_GROUPS) and not window.args.get("order")


_OF_GROUPS = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)


def _counted(tree: Any, policy: Policy, refused: QueryError) -> Any:  # noqa: ARG001  the shape of all fixes
    """Sums of different values, and aggregates that would show people's values, as the number of different values."""
    changed = False
    unit = refused.obstacle in _PERSON
    for node in list(tree.find_all(exp.Sum, exp.Avg, *_SHOWING, *((exp.Min, exp.Max) if unit else ()))):
        inner = node.this.this if isinstance(node.this, exp.Order) else node.this
        if (
            not isinstance(node, _SHOWING)
            and not isinstance(inner, exp.Distinct)
            and not (unit and _is_at(node, refused))
        ):
            continue
        different = inner if isinstance(inner, exp.Distinct) else exp.Distinct(expressions=[copied(inner)])
        node.replace(exp.Count(this=copied(different), big_int=True))
        changed = True
    return tree if changed else None


def _is_at(node: Any, refused: QueryError) -> bool:
    return any(place(part) == refused.position for part in node.walk())


def _without_item(tree: Any, policy: Policy, refused: QueryError) -> Any:  # noqa: ARG001  the shape of all fixes
    """The question without the shown item, or the part of its order, that was refused."""
    if not isinstance(tree, exp.Select) or not refused.position:
        return None
    order = tree.args.get("order")
    for holder in (tree, *([order] if order is not None else [])):
        parts = holder.expressions
        held = [part for part in parts if _is_at(part, refused)]
        if len(held) == 1 and (len(parts) > 1 or holder is order):
            holder.set("expressions", [part for part in parts if part is not held[0]])
            if holder is order and not order.expressions:
                tree.set("order", None)
            return tree
    return None


_FIXES: tuple[Callable[[Any, Policy, QueryError], Any], ...] = (
    _window_groups,
    _by_person,
    _preserved,
    _among_persons,
    _with_released,
    _own_windows,
    _not_cut,
    _grouped,
    _as_key,
    _counted,
    _without_item,
)
