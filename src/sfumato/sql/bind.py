"""The second room: names become columns of the policy, with their types and bounds.

Comes in: the parser's tree and the policy. Goes out: a Question of our own tree: one table, a filter, keys, and what is
shown of keys and aggregates. Refuses names that the policy does not have (42703, 42P01) and what would show a person's
row (42501, 0A000).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction

from sqlglot import exp

from sfumato.errors import InputError, QueryError
from sfumato.policy import Bound, Policy, Table
from sfumato.policy import Column as Declared
from sfumato.sql.aggregates import AGGREGATES
from sfumato.sql.functions import call
from sfumato.sql.parse import place
from sfumato.sql.tree import (
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    INTEGER,
    NULL,
    NUMBERS,
    TEXT,
    TIMESTAMP,
    Aggregate,
    Call,
    Column,
    Constant,
    Facts,
    Node,
    Over,
    Sorted,
    Value,
    children,
)
from sfumato.words import as_written

_MOST_NODES = 20_000


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


def facts_of(column: Declared) -> Facts:
    """What the policy's declaration, enforced in the scan, makes true of a column."""
    kind, nullable = column.type or TEXT, column.nulls
    if column.values is not None and kind == INTEGER:
        numbers = [int(v) for v in column.values]
        return Facts(INTEGER, Fraction(min(numbers)), Fraction(max(numbers)), Fraction(1), nullable)
    low, high = (_end(bound) for bound in (column.low, column.high))
    if kind == INTEGER:
        return Facts(INTEGER, low, high, Fraction(1), nullable)
    if kind in (DECIMAL, DOUBLE):
        if column.grid is None or low is None:
            return Facts(DOUBLE, low, high, None, nullable)
        return Facts(DECIMAL, low, high, column.grid, nullable)
    if kind == TEXT:
        longest = max(len(str(v)) for v in column.values) if column.values is not None else column.max_length
        return Facts(TEXT, nullable=nullable, length=longest)
    return Facts(kind, low, high, Fraction(1) if kind == DATE else None, nullable)


def _end(bound: Bound | None) -> Fraction | None:
    if isinstance(bound, date):  # a datetime is a date too: its day
        return Fraction(bound.toordinal())
    return None if bound is None else Fraction(bound)


def constant(value: Value, position: int = 0) -> Constant:
    """A written value with its facts."""
    facts = Facts(NULL)
    if isinstance(value, bool):
        facts = Facts(BOOLEAN, nullable=False)
    elif isinstance(value, int):
        facts = Facts(INTEGER, Fraction(value), Fraction(value), Fraction(1), False)
    elif isinstance(value, Fraction):
        facts = Facts(DECIMAL, value, value, Fraction(1, value.denominator), False)
    elif isinstance(value, datetime):
        facts = Facts(TIMESTAMP, nullable=False)
    elif isinstance(value, date):
        day = Fraction(value.toordinal())
        facts = Facts(DATE, day, day, Fraction(1), False)
    elif isinstance(value, str):
        facts = Facts(TEXT, nullable=False, length=len(value))
    return Constant(value, facts, position)


class _Binder:
    """One walk over one SELECT."""

    def __init__(self, tree: exp.Select, policy: Policy, today: date) -> None:
        self.tree, self.policy, self.today = tree, policy, today
        self.table, self.alias = self._table()
        self.aggregated = True
        self.met = 0

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
        name = _fold(table.this)
        found = self.policy.tables.get(name)
        if found is None:
            known = ", ".join(sorted(self.policy.tables))
            raise QueryError(
                f'there is no table "{name}"', position=place(table), sqlstate="42P01", hint=f"There are: {known}."
            )
        alias = table.args.get("alias")
        return found, _fold(alias.this) if alias is not None else name

    def column(self, node: exp.Column) -> Column:
        if isinstance(node.this, exp.Star):
            raise _rows_refused(node)
        name, owner = _fold(node.this), node.args.get("table")
        if owner is not None and _fold(owner) != self.alias:
            raise QueryError(f'there is no table "{_fold(owner)}" here', position=place(node), sqlstate="42P01")
        declared = self.table.columns.get(name)
        if declared is None:
            raise QueryError(
                f'there is no column "{name}" in "{self.table.name}"',
                position=place(node),
                sqlstate="42703",
                hint=f"There are: {', '.join(self.table.columns)}.",
            )
        return Column(name, facts_of(declared), place(node))

    # the parts of the question
    def question(self) -> Question:
        tree = self.tree
        if tree.args.get("distinct") is not None and tree.args["distinct"].args.get("on") is not None:
            raise QueryError("DISTINCT ON is not supported", position=place(tree.args["distinct"]))
        where = self._condition(tree.args.get("where"))
        items = [shown for item in tree.expressions for shown in self._items(item)]
        keys = self._keys(items)
        self._check_released(keys, items)
        self.aggregated = any(_has(node, Aggregate) for _, node in items)
        shown = tuple((name, self._above(node, keys)) for name, node in items)
        having = tree.args.get("having")
        return Question(
            self.table,
            where,
            tuple(keys),
            shown,
            None if having is None else self._above(self.node(having.this), keys),
            tuple(self._sorted(item, items, keys) for item in (tree.args.get("order") or exp.Order()).expressions),
            self._count(tree.args.get("limit"), "LIMIT"),
            self._count(tree.args.get("offset"), "OFFSET") or 0,
            tree.args.get("distinct") is not None,
        )

    def _condition(self, clause: exp.Expression | None) -> Node | None:
        if clause is None:
            return None
        node = self.node(clause.this)
        if _has(node, Over):
            raise QueryError("window functions are not allowed in WHERE", position=place(clause), sqlstate="42P20")
        if _has(node, Aggregate):
            raise QueryError(
                "aggregates are not allowed in WHERE", position=place(clause), hint="Use HAVING.", sqlstate="42803"
            )
        if node.facts.kind not in (BOOLEAN, NULL):
            raise QueryError("WHERE needs a condition", position=place(clause), sqlstate="42804")
        return node

    def _items(self, item: exp.Expression) -> list[tuple[str, Node]]:
        """What an item of the list shows: all columns for *, of a public table only."""
        if isinstance(item, exp.Star) and self.table.public:
            return [(name, Column(name, facts_of(column))) for name, column in self.table.columns.items()]
        return [self._item(item)]

    def _item(self, item: exp.Expression) -> tuple[str, Node]:
        if isinstance(item, exp.Star):
            raise _rows_refused(item)
        if isinstance(item, exp.Alias):
            return _fold(item.args["alias"]), self.node(item.this)
        return _name(item), self.node(item)

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
            if _has(node, Aggregate | Over):
                raise QueryError("aggregates are not allowed in GROUP BY", position=place(item), sqlstate="42803")
            if node not in [known for _, known in keys]:
                keys.append((f"_k{len(keys)}", node))
        return keys

    def _key(self, item: exp.Expression, items: list[tuple[str, Node]]) -> Node:
        """A key by its place, by its name in the list, or as an expression; a column's name comes before an alias."""
        if isinstance(item, exp.Literal) and not item.is_string:
            return self._by_place(item, items)
        if isinstance(item, exp.Column) and not item.args.get("table") and _fold(item.this) not in self.table.columns:
            named = [node for name, node in items if name == _fold(item.this)]
            if named:
                return named[0]
        return self.node(item)

    def _by_place(self, item: exp.Literal, items: list[tuple[str, Node]]) -> Node:
        number = int(item.this) if item.this.isdigit() and len(item.this) < 10 else 0
        if not 1 <= number <= len(items):
            raise QueryError(f"position {item.this} is not in the select list", position=place(item), sqlstate="42P10")
        return items[number - 1][1]

    def _sorted(self, item: exp.Ordered, items: list[tuple[str, Node]], keys: list[tuple[str, Node]]) -> Sorted:
        this = item.this
        named = [node for name, node in items if isinstance(this, exp.Column) and name == _fold(this.this)]
        if isinstance(this, exp.Literal) and not this.is_string:
            node = self._by_place(this, items)
        elif named and not this.args.get("table"):
            node = named[0]
        else:
            node = self.node(this)
        return Sorted(self._above(node, keys), bool(item.args.get("desc")), bool(item.args.get("nulls_first")))

    def _count(self, clause: exp.Expression | None, word: str) -> int | None:
        if clause is None:
            return None
        literal = clause.expression
        if not isinstance(literal, exp.Literal) or literal.is_string or not literal.this.isdigit():
            raise QueryError(f"{word} needs a written whole number", position=place(clause))
        return int(literal.this[:16]) if len(literal.this) <= 16 else 10**15

    def _check_released(self, keys: list[tuple[str, Node]], items: list[tuple[str, Node]]) -> None:
        if not self.table.public and not keys and not any(_has(node, Aggregate) for _, node in items):
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

    # expressions
    def node(self, node: exp.Expression) -> Node:
        self.met += 1
        if self.met > _MOST_NODES:
            raise QueryError("this question is too large", sqlstate="54001", hint="Ask in several questions.")
        build = _KINDS.get(type(node))
        if build is None:
            raise QueryError(f"{type(node).__name__.upper()} is not supported here", position=place(node))
        return build(self, node)

    def function(self, name: str, *args: exp.Expression, extra: str = "", at: exp.Expression) -> Node:
        nodes = _coerced(name, tuple(self.node(arg) for arg in args))
        if name == "negate" and isinstance(nodes[0], Constant) and isinstance(nodes[0].value, int | Fraction):
            return constant(-nodes[0].value, place(at))
        return call(name, nodes, extra, place(at))

    def literal(self, node: exp.Expression) -> Node:
        if node.is_string:
            return constant(node.this, place(node))
        try:
            number = as_written(node.this)  # which refuses exponents that would fill the memory
        except InputError:
            raise QueryError("this is not a number", position=place(node), sqlstate="42601") from None
        if len(node.this) > 60 or abs(number) > 10**30 or number.denominator > 10**30:
            raise QueryError(
                "a number has at most 30 digits on each side of its point", position=place(node), sqlstate="22003"
            )
        whole = number.denominator == 1 and "." not in node.this and "e" not in node.this.lower()
        return constant(int(number) if whole else number, place(node))

    def cast(self, node: exp.Expression) -> Node:
        target = _TYPES.get(node.args["to"].this.value)
        if target is None:
            raise QueryError(f"a cast to {node.args['to'].sql()} is not supported", position=place(node))
        if isinstance(node.this, exp.Literal) and node.this.is_string and target in (DATE, TIMESTAMP):
            return _time(node.this.this, target, place(node))
        return self.function("cast", node.this, extra=target, at=node)

    def between(self, node: exp.Expression) -> Node:
        low = self.function(">=", node.this, node.args["low"], at=node)
        return call("and", (low, self.function("<=", node.this, node.args["high"], at=node)), "", place(node))

    def among(self, node: exp.Expression) -> Node:
        if not node.expressions:
            raise QueryError(
                "IN needs a written list here", position=place(node), hint="Sub-queries are not supported yet."
            )
        tests = [self.function("=", node.this, value, at=node) for value in node.expressions]
        while len(tests) > 1:  # a balanced tree, so that a long list is not a deep one
            pairs = [tests[i : i + 2] for i in range(0, len(tests), 2)]
            tests = [call("or", tuple(pair), "", place(node)) if len(pair) > 1 else pair[0] for pair in pairs]
        return tests[0]

    def truth(self, node: exp.Expression) -> Node:
        if isinstance(node.expression, exp.Null):
            test = self.function("is null", node.this, at=node)
            return call("not", (test,), "", place(node)) if node.args.get("negate") else test
        if node.args.get("negate"):
            raise QueryError("IS NOT needs NULL here", position=place(node), hint="Write NOT (x IS TRUE).")
        if isinstance(node.expression, exp.Boolean):
            test = self.function("=", node.this, node.expression, at=node)
            return call("coalesce", (test, constant(False)), "", place(node))
        raise QueryError("IS needs NULL, TRUE or FALSE", position=place(node))

    def case(self, node: exp.Expression) -> Node:
        args: list[Node] = []
        for branch in node.args["ifs"]:
            if node.this is None:
                args.append(self.node(branch.this))
            else:
                args.append(self.function("=", node.this, branch.this, at=branch))
            args.append(self.node(branch.args["true"]))
        default = node.args.get("default")
        args.append(constant(None) if default is None else self.node(default))
        return call("case", tuple(args), "", place(node))

    def round(self, node: exp.Expression) -> Node:
        digits = node.args.get("decimals")
        if digits is None:
            return self.function("round", node.this, at=node)
        if not isinstance(digits, exp.Literal) or not digits.this.isdigit() or int(digits.this) > 12:
            raise QueryError("round needs a written number of digits, at most 12", position=place(node))
        return self.function("round", node.this, extra=digits.this, at=node)

    def like(self, node: exp.Expression) -> Node:
        """LIKE and NOT LIKE."""
        test = self.function("like", node.this, node.expression, at=node)
        return call("not", (test,), "", place(node)) if node.args.get("negate") else test

    def substring(self, node: exp.Expression) -> Node:
        parts = [node.this, node.args.get("start"), node.args.get("length")]
        return self.function("substring", *(p for p in parts if p is not None), at=node)

    def aggregate(self, node: exp.Expression) -> Node:
        name = type(node).__name__.lower()
        this: exp.Expression | None = node.this
        if isinstance(this, exp.Distinct):
            return self._distinct(name, this, node)
        if name == "count" and node.args.get("expressions"):
            raise QueryError("COUNT takes one argument", position=place(node))
        arg = None if this is None or isinstance(this, exp.Star) else self.node(this)
        if arg is not None and _has(arg, Aggregate | Over):
            raise QueryError(
                "aggregates cannot be nested", position=place(node), sqlstate="42803", hint="Aggregate once."
            )
        if self.table.public:
            return _public_aggregate(name, arg, place(node))
        if name not in AGGREGATES:
            raise QueryError(
                f"{name.upper()} is not supported yet",
                position=place(node),
                hint=f"Supported: COUNT, SUM, AVG, COUNT(DISTINCT {self.table.unit}).",
            )
        return AGGREGATES[name].bind(arg, None, place(node))

    def _distinct(self, name: str, this: exp.Distinct, node: exp.Expression) -> Node:
        args = [self.node(arg) for arg in this.expressions]
        if name == "count" and len(args) == 1 and isinstance(args[0], Column) and args[0].name == self.table.unit:
            return AGGREGATES["count_persons"].bind(args[0], None, place(node))
        if name != "count":
            raise QueryError(
                f"{name.upper()}(DISTINCT …) is not supported", position=place(node), hint=f"Write {name.upper()}(…)."
            )
        raise QueryError(
            "COUNT(DISTINCT …) is supported for the person only",
            position=place(node),
            hint=f"Write COUNT(DISTINCT {self.table.unit}).",
        )

    def filtered(self, node: exp.Expression) -> Node:
        inner = self.node(node.this)
        if not isinstance(inner, Aggregate):
            raise QueryError("FILTER belongs to an aggregate", position=place(node), sqlstate="42601")
        where = self._condition(node.expression)
        return Aggregate(inner.name, inner.arg, where, inner.facts, inner.position)

    def window(self, node: exp.Expression) -> Node:
        if node.args.get("spec") is not None:
            raise QueryError("frames of windows are not supported yet", position=place(node))
        inner = node.this
        name = type(inner).__name__.lower()
        name = {"rownumber": "row_number", "denserank": "dense_rank"}.get(name, name)
        if name not in ("row_number", "rank", "dense_rank", "sum", "avg", "min", "max", "count"):
            raise QueryError(f"window function {name} is not supported", position=place(node))
        args = tuple(
            self.node(arg)
            for arg in ([inner.this] if inner.this is not None and not isinstance(inner.this, exp.Star) else [])
        )
        order = node.args.get("order")
        facts = Facts(INTEGER, grid=Fraction(1)) if not args or name in ("count", "rank") else args[0].facts
        if name == "avg":
            facts = Facts(DOUBLE)
        elif args:
            facts = Facts(facts.kind, None, None, facts.grid, True, facts.length)
        return Over(
            name,
            args,
            tuple(self.node(part) for part in node.args.get("partition_by") or []),
            tuple(
                Sorted(self.node(item.this), bool(item.args.get("desc")), bool(item.args.get("nulls_first")))
                for item in (order.expressions if order is not None else [])
            ),
            facts,
            place(node),
        )


def _rows_refused(node: exp.Expression) -> QueryError:
    return QueryError(
        "SELECT * would show the rows of persons",
        position=place(node),
        sqlstate="42501",
        hint="Ask for aggregates, for example COUNT(*).",
    )


def _public_aggregate(name: str, arg: Node | None, position: int) -> Aggregate:
    """An aggregate over public rows needs no bounds."""
    if name == "count":
        return Aggregate(name, arg, None, Facts(INTEGER, grid=Fraction(1), nullable=False), position)
    if arg is None:
        raise QueryError(f"{name.upper()} needs a column", position=position, sqlstate="42601")
    kind = arg.facts.kind
    if name in ("sum", "avg") and kind not in NUMBERS:
        raise QueryError(f"{name.upper()} needs numbers, but was given {kind}", position=position, sqlstate="42883")
    plain = Facts(kind, None, None, arg.facts.grid, True, arg.facts.length)
    return Aggregate(name, arg, None, Facts(DOUBLE) if name == "avg" else plain, position)


def _coerced(name: str, args: tuple[Node, ...]) -> tuple[Node, ...]:
    """A written text beside a date or a number is that date or number, as in PostgreSQL."""
    if name not in ("=", "<>", "<", "<=", ">", ">=", "-", "+") or len(args) != 2:
        return args
    kinds = [arg.facts.kind for arg in args]
    for i, other in ((0, 1), (1, 0)):
        arg = args[i]
        if isinstance(arg, Constant) and isinstance(arg.value, str):
            if kinds[other] in (DATE, TIMESTAMP):
                new: Node = _time(arg.value, kinds[other], arg.position)
            elif kinds[other] in NUMBERS:
                new = _number(arg.value, arg.position)
            else:
                continue
            return (new, args[1]) if i == 0 else (args[0], new)
    return args


def _number(text: str, position: int) -> Constant:
    try:
        number = as_written(text)
        if len(text) > 60 or abs(number) > 10**30:
            raise ValueError
    except (ValueError, InputError):
        raise QueryError(f"{text!r} is not a number", position=position, sqlstate="22P02") from None
    return constant(int(number) if number.denominator == 1 else number, position)


def _time(text: str, kind: str, position: int) -> Constant:
    try:
        if kind == DATE:
            return constant(date.fromisoformat(text.strip()), position)
        return constant(datetime.fromisoformat(text.strip()).replace(tzinfo=None), position)
    except ValueError:
        raise QueryError(
            f"{text!r} is not a {kind}", position=position, sqlstate="22007", hint="Write 2024-01-31."
        ) from None


def _has(node: Node, kind: object) -> bool:
    return isinstance(node, kind) or any(_has(child, kind) for child in children(node))  # type: ignore[arg-type]


def _fold(identifier: exp.Expression) -> str:
    """Unquoted names fold to lower case."""
    name = str(identifier.this if isinstance(identifier, exp.Identifier) else identifier.name)
    quoted = isinstance(identifier, exp.Identifier) and bool(identifier.args.get("quoted"))
    return name if quoted else name.lower()


def _name(item: exp.Expression) -> str:
    """The name that PostgreSQL gives a column of the result."""
    if isinstance(item, exp.Column):
        return _fold(item.this)
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


_TYPES = {
    **dict.fromkeys(("INT", "BIGINT", "SMALLINT", "TINYINT"), INTEGER),
    **dict.fromkeys(("DOUBLE", "FLOAT"), DOUBLE),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR"), TEXT),
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "BOOLEAN": BOOLEAN,
}

_Build = Callable[["_Binder", exp.Expression], Node]


def _plain(name: str) -> _Build:
    """An operator or function with its arguments in order."""

    def build(binder: _Binder, node: exp.Expression) -> Node:
        args = [node.this, node.args.get("expression"), *(node.args.get("expressions") or [])]
        return binder.function(name, *(arg for arg in args if arg is not None), at=node)

    return build


_KINDS: dict[type[exp.Expression], _Build] = {
    exp.Column: lambda b, n: b.column(n),  # type: ignore[arg-type]
    exp.Paren: lambda b, n: b.node(n.this),
    exp.Alias: lambda b, n: b.node(n.this),
    exp.Literal: _Binder.literal,
    exp.Boolean: lambda _, n: constant(bool(n.this), place(n)),
    exp.Null: lambda _, n: constant(None, place(n)),
    exp.CurrentDate: lambda b, n: constant(b.today, place(n)),
    exp.Cast: _Binder.cast,
    exp.Between: _Binder.between,
    exp.In: _Binder.among,
    exp.Is: _Binder.truth,
    exp.Case: _Binder.case,
    exp.Round: _Binder.round,
    exp.Like: _Binder.like,
    exp.Substring: _Binder.substring,
    exp.Extract: lambda b, n: b.function("extract", n.expression, extra=n.this.name.lower(), at=n),
    exp.TimestampTrunc: lambda b, n: b.function("date_trunc", n.this, extra=n.args["unit"].name.lower(), at=n),
    exp.DateTrunc: lambda b, n: b.function("date_trunc", n.this, extra=n.args["unit"].name.lower(), at=n),
    exp.Filter: _Binder.filtered,
    exp.Window: _Binder.window,
    exp.Count: _Binder.aggregate,
    exp.Sum: _Binder.aggregate,
    exp.Avg: _Binder.aggregate,
    exp.Min: _Binder.aggregate,
    exp.Max: _Binder.aggregate,
    **{
        kind: _plain(name)
        for kind, name in (
            (exp.Add, "+"), (exp.Sub, "-"), (exp.Mul, "*"), (exp.Div, "/"), (exp.Mod, "%"), (exp.Neg, "negate"),
            (exp.EQ, "="), (exp.NEQ, "<>"), (exp.LT, "<"), (exp.LTE, "<="), (exp.GT, ">"), (exp.GTE, ">="),
            (exp.And, "and"), (exp.Or, "or"), (exp.Not, "not"), (exp.Abs, "abs"), (exp.Sign, "sign"),
            (exp.Floor, "floor"), (exp.Ceil, "ceil"), (exp.Coalesce, "coalesce"), (exp.Nullif, "nullif"),
            (exp.Greatest, "greatest"), (exp.Least, "least"), (exp.Lower, "lower"), (exp.Upper, "upper"),
            (exp.Trim, "trim"), (exp.Length, "length"), (exp.DPipe, "||"),
        )
    },
}  # fmt: skip
