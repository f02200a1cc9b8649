"""The second room: names become columns of the policy, with their types and bounds.

Comes in: the parser's tree and the policy. Goes out: a Question of our own tree: one table, a filter, keys, and what is
shown of keys and aggregates. Refuses names that the policy does not have (42703, 42P01) and what would show a person's
row (42501, 0A000).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from sqlglot import exp

from sfumato.errors import QueryError
from sfumato.policy import Policy, Table
from sfumato.sql.expressions import Expressions, facts_of, fold, has, rows_refused
from sfumato.sql.functions import call
from sfumato.sql.parse import place
from sfumato.sql.tree import Aggregate, Call, Column, Constant, Node, Over, Sorted


@dataclass(frozen=True)
class Question:
    """What is asked, resolved: of which table, of which rows, by which keys, and what is shown of it."""

    table: Table
    where: Node | None
    keys: tuple[tuple[str, Node], ...]
    items: tuple[tuple[str, Node], ...]
    having: Node | None
    order: tuple[Sorted, ...]
    limit: int | None
    offset: int
    distinct: bool


def bind(tree: exp.Select, policy: Policy, today: date) -> Question:
    """The question that the tree asks under this policy."""
    return _Binder(tree, policy, today).question()


class _Binder:
    """One walk over one SELECT."""

    def __init__(self, tree: exp.Select, policy: Policy, today: date) -> None:
        self.tree, self.policy = tree, policy
        self.table, alias = self._table()
        self.expressions = Expressions(self.table, alias, today)
        self.aggregated = True

    # names
    def _table(self) -> tuple[Table, str]:
        source = self.tree.args.get("from_")
        if source is None:
            raise QueryError("a question names the table that it is about", hint="Write SELECT … FROM table.")
        table = source.this
        if not isinstance(table, exp.Table) or table.args.get("joins") or self.tree.args.get("joins"):
            raise QueryError("a question is about one table; joins are not supported yet", position=place(source))
        if table.args.get("db") or table.args.get("catalog"):
            raise QueryError("tables have no schema here", position=place(table), hint=f"Write {table.name}.")
        name = fold(table.this)
        found = self.policy.tables.get(name)
        if found is None:
            known = ", ".join(sorted(self.policy.tables))
            raise QueryError(
                f'there is no table "{name}"', position=place(table), sqlstate="42P01", hint=f"There are: {known}."
            )
        alias = table.args.get("alias")
        return found, fold(alias.this) if alias is not None else name

    # the parts of the question
    def question(self) -> Question:
        tree = self.tree
        if tree.args.get("distinct") is not None and tree.args["distinct"].args.get("on") is not None:
            raise QueryError("DISTINCT ON is not supported", position=place(tree.args["distinct"]))
        where = self.expressions.condition(tree.args.get("where"))
        items = [shown for item in tree.expressions for shown in self._items(item)]
        keys = self._keys(items)
        self._check_released(keys, items)
        self.aggregated = any(has(node, Aggregate) for _, node in items)
        shown = tuple((name, self._above(node, keys)) for name, node in items)
        having = tree.args.get("having")
        return Question(
            self.table,
            where,
            tuple(keys),
            shown,
            None if having is None else self._above(self.expressions.node(having.this), keys),
            tuple(self._sorted(item, items, keys) for item in (tree.args.get("order") or exp.Order()).expressions),
            self._count(tree.args.get("limit"), "LIMIT"),
            self._count(tree.args.get("offset"), "OFFSET") or 0,
            tree.args.get("distinct") is not None,
        )

    def _items(self, item: exp.Expression) -> list[tuple[str, Node]]:
        """What an item of the list shows: all columns for *, of a public table only."""
        if isinstance(item, exp.Star) and self.table.public:
            return [(name, Column(name, facts_of(column))) for name, column in self.table.columns.items()]
        return [self._item(item)]

    def _item(self, item: exp.Expression) -> tuple[str, Node]:
        if isinstance(item, exp.Star):
            raise rows_refused(item)
        if isinstance(item, exp.Alias):
            return fold(item.args["alias"]), self.expressions.node(item.this)
        return _name(item), self.expressions.node(item)

    def _keys(self, items: list[tuple[str, Node]]) -> list[tuple[str, Node]]:
        group = self.tree.args.get("group")
        if group is None:
            return []
        for kind in ("rollup", "cube", "grouping_sets", "all", "totals"):
            if group.args.get(kind):
                raise QueryError(
                    f"GROUP BY {kind.replace('_', ' ').upper()} is not supported yet", position=place(group)
                )
        keys: list[tuple[str, Node]] = []
        for item in group.expressions:
            node = self._key(item, items)
            if has(node, Aggregate | Over):
                raise QueryError("aggregates are not allowed in GROUP BY", position=place(item), sqlstate="42803")
            if node not in [known for _, known in keys]:
                keys.append((f"_k{len(keys)}", node))
        return keys

    def _key(self, item: exp.Expression, items: list[tuple[str, Node]]) -> Node:
        """A key by its place, by its name in the list, or as an expression; a column's name comes before an alias."""
        if isinstance(item, exp.Literal) and not item.is_string:
            return self._by_place(item, items)
        if isinstance(item, exp.Column) and not item.args.get("table") and fold(item.this) not in self.table.columns:
            named = [node for name, node in items if name == fold(item.this)]
            if named:
                return named[0]
        return self.expressions.node(item)

    def _by_place(self, item: exp.Literal, items: list[tuple[str, Node]]) -> Node:
        number = int(item.this) if item.this.isdigit() and len(item.this) < 10 else 0
        if not 1 <= number <= len(items):
            raise QueryError(f"position {item.this} is not in the select list", position=place(item), sqlstate="42P10")
        return items[number - 1][1]

    def _sorted(self, item: exp.Ordered, items: list[tuple[str, Node]], keys: list[tuple[str, Node]]) -> Sorted:
        this = item.this
        named = [node for name, node in items if isinstance(this, exp.Column) and name == fold(this.this)]
        if isinstance(this, exp.Literal) and not this.is_string:
            node = self._by_place(this, items)
        elif named and not this.args.get("table"):
            node = named[0]
        else:
            node = self.expressions.node(this)
        return Sorted(self._above(node, keys), bool(item.args.get("desc")), bool(item.args.get("nulls_first")))

    def _count(self, clause: exp.Expression | None, word: str) -> int | None:
        if clause is None:
            return None
        literal = clause.expression
        if not isinstance(literal, exp.Literal) or literal.is_string or not literal.this.isdigit():
            raise QueryError(f"{word} needs a written whole number", position=place(clause))
        return int(literal.this[:16]) if len(literal.this) <= 16 else 10**15

    def _check_released(self, keys: list[tuple[str, Node]], items: list[tuple[str, Node]]) -> None:
        if not self.table.public and not keys and not any(has(node, Aggregate) for _, node in items):
            raise QueryError(
                "this question would show the rows of persons",
                sqlstate="42501",
                hint="Ask for aggregates, for example SELECT COUNT(*), or GROUP BY a column with declared values.",
            )

    def _above(self, node: Node, keys: list[tuple[str, Node]]) -> Node:
        """The node as a function of keys and aggregates: what lies above the cut."""
        for name, key in keys:
            if node == key:
                return Column(name, node.facts, node.position)
        if isinstance(node, Aggregate | Constant):
            return node
        if isinstance(node, Column) and self.table.public and not keys and not self.aggregated:
            return node
        if isinstance(node, Column):
            person = node.name == self.table.unit
            unit = " of a person" if person else ""
            raise QueryError(
                f'column "{node.name}" would show a value{unit}: it must be in GROUP BY or in an aggregate',
                position=node.position,
                sqlstate="42803",
                hint=f"Write COUNT(DISTINCT {node.name})."
                if person
                else f"Write GROUP BY {node.name}, or an aggregate such as COUNT({node.name}).",
            )
        if isinstance(node, Call):
            return call(node.name, tuple(self._above(arg, keys) for arg in node.args), node.extra, node.position)
        return Over(
            node.name,
            tuple(self._above(arg, keys) for arg in node.args),
            tuple(self._above(arg, keys) for arg in node.partition),
            tuple(Sorted(self._above(s.node, keys), s.descending, s.nulls_first) for s in node.order),
            node.facts,
            node.position,
        )


def _name(item: exp.Expression) -> str:
    """The name that PostgreSQL gives a column of the result."""
    if isinstance(item, exp.Column):
        return fold(item.this)
    if isinstance(item, exp.Filter | exp.Paren | exp.Window):
        return _name(item.this)
    if isinstance(item, exp.Cast):
        inner = _name(item.this)
        return inner if inner != "?column?" else str(item.args["to"].sql()).lower()
    names: dict[type[exp.Expression], str] = {
        exp.TimestampTrunc: "date_trunc",
        exp.DateTrunc: "date_trunc",
        exp.RowNumber: "row_number",
        exp.DenseRank: "dense_rank",
    }
    if isinstance(item, exp.Case):
        return "case"
    if type(item) in names:
        return names[type(item)]
    kind = type(item).__name__
    return kind.lower() if issubclass(type(item), exp.Func) and kind not in ("And", "Or") else "?column?"
