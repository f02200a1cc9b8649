"""Expressions: names become columns with their facts, operators and functions become calls, aggregates are bound.

Comes in: the parser's nodes, and the table that the question is about. Goes out: nodes of our tree. Refuses names that
the policy does not have (42703), types that do not go together (42883), and what is not of this kind (0A000).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction

from sqlglot import exp

from sfumato.errors import InputError, QueryError
from sfumato.policy import Bound, Table
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


class Expressions:
    """The expressions of one SELECT about one table."""

    def __init__(self, table: Table, alias: str, today: date) -> None:
        self.table, self.alias, self.today = table, alias, today
        self.met = 0

    def column(self, node: exp.Column) -> Column:
        """A column of the policy; the unit is one like others here."""
        if isinstance(node.this, exp.Star):
            raise rows_refused(node)
        name, owner = fold(node.this), node.args.get("table")
        if owner is not None and fold(owner) != self.alias:
            raise QueryError(f'there is no table "{fold(owner)}" here', position=place(node), sqlstate="42P01")
        declared = self.table.columns.get(name)
        if declared is None:
            raise QueryError(
                f'there is no column "{name}" in "{self.table.name}"',
                position=place(node),
                sqlstate="42703",
                hint=f"There are: {', '.join(self.table.columns)}.",
            )
        return Column(name, facts_of(declared), place(node))

    def condition(self, clause: exp.Expression | None) -> Node | None:
        """A WHERE or FILTER: a condition without aggregates."""
        if clause is None:
            return None
        node = self.node(clause.this)
        if has(node, Over):
            raise QueryError("window functions are not allowed in WHERE", position=place(clause), sqlstate="42P20")
        if has(node, Aggregate):
            raise QueryError(
                "aggregates are not allowed in WHERE", position=place(clause), hint="Use HAVING.", sqlstate="42803"
            )
        if node.facts.kind not in (BOOLEAN, NULL):
            raise QueryError("WHERE needs a condition", position=place(clause), sqlstate="42804")
        return node

    def node(self, node: exp.Expression) -> Node:
        """A node of our tree for one of the parser's."""
        self.met += 1
        if self.met > _MOST_NODES:
            raise QueryError("this question is too large", sqlstate="54001", hint="Ask in several questions.")
        build = _KINDS.get(type(node))
        if build is None:
            raise QueryError(f"{type(node).__name__.upper()} is not supported here", position=place(node))
        return build(self, node)

    def function(self, name: str, *args: exp.Expression, extra: str = "", at: exp.Expression) -> Node:
        """A function or operator applied to its arguments."""
        nodes = _coerced(name, tuple(self.node(arg) for arg in args))
        if name == "negate" and isinstance(nodes[0], Constant) and isinstance(nodes[0].value, int | Fraction):
            return constant(-nodes[0].value, place(at))
        return call(name, nodes, extra, place(at))

    def literal(self, node: exp.Expression) -> Node:
        """A written number or text."""
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
        """CAST and DATE '…'."""
        target = _TYPES.get(node.args["to"].this.value)
        if target is None:
            raise QueryError(f"a cast to {node.args['to'].sql()} is not supported", position=place(node))
        if isinstance(node.this, exp.Literal) and node.this.is_string and target in (DATE, TIMESTAMP):
            return _time(node.this.this, target, place(node))
        return self.function("cast", node.this, extra=target, at=node)

    def between(self, node: exp.Expression) -> Node:
        """BETWEEN, as two comparisons."""
        low = self.function(">=", node.this, node.args["low"], at=node)
        return call("and", (low, self.function("<=", node.this, node.args["high"], at=node)), "", place(node))

    def among(self, node: exp.Expression) -> Node:
        """IN with a written list."""
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
        """IS NULL, IS TRUE and their like."""
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
        """CASE in both forms."""
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
        """ROUND with a written number of digits."""
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
        """SUBSTRING in both forms."""
        parts = [node.this, node.args.get("start"), node.args.get("length")]
        return self.function("substring", *(p for p in parts if p is not None), at=node)

    def aggregate(self, node: exp.Expression) -> Node:
        """COUNT, SUM, AVG over the rows of the table."""
        name = type(node).__name__.lower()
        this: exp.Expression | None = node.this
        if isinstance(this, exp.Distinct):
            return self._distinct(name, this, node)
        if name == "count" and node.args.get("expressions"):
            raise QueryError("COUNT takes one argument", position=place(node))
        arg = None if this is None or isinstance(this, exp.Star) else self.node(this)
        if arg is not None and has(arg, Aggregate | Over):
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
        """An aggregate with its FILTER."""
        inner = self.node(node.this)
        if not isinstance(inner, Aggregate):
            raise QueryError("FILTER belongs to an aggregate", position=place(node), sqlstate="42601")
        where = self.condition(node.expression)
        return Aggregate(inner.name, inner.arg, where, inner.facts, inner.position)

    def window(self, node: exp.Expression) -> Node:
        """A window function, which stands above the cut."""
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


def rows_refused(node: exp.Expression) -> QueryError:
    """The refusal of a star."""
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


def has(node: Node, kind: object) -> bool:
    """Whether a node of this kind is in the tree."""
    return isinstance(node, kind) or any(has(child, kind) for child in children(node))  # type: ignore[arg-type]


def fold(identifier: exp.Expression) -> str:
    """Unquoted names fold to lower case."""
    name = str(identifier.this if isinstance(identifier, exp.Identifier) else identifier.name)
    quoted = isinstance(identifier, exp.Identifier) and bool(identifier.args.get("quoted"))
    return name if quoted else name.lower()


_TYPES = {
    **dict.fromkeys(("INT", "BIGINT", "SMALLINT", "TINYINT"), INTEGER),
    **dict.fromkeys(("DOUBLE", "FLOAT"), DOUBLE),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR"), TEXT),
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "BOOLEAN": BOOLEAN,
}

_Build = Callable[["Expressions", exp.Expression], Node]


def _plain(name: str) -> _Build:
    """An operator or function with its arguments in order."""

    def build(expressions: Expressions, node: exp.Expression) -> Node:
        args = [node.this, node.args.get("expression"), *(node.args.get("expressions") or [])]
        return expressions.function(name, *(arg for arg in args if arg is not None), at=node)

    return build


_KINDS: dict[type[exp.Expression], _Build] = {
    exp.Column: lambda b, n: b.column(n),  # type: ignore[arg-type]
    exp.Paren: lambda b, n: b.node(n.this),
    exp.Alias: lambda b, n: b.node(n.this),
    exp.Literal: Expressions.literal,
    exp.Boolean: lambda _, n: constant(bool(n.this), place(n)),
    exp.Null: lambda _, n: constant(None, place(n)),
    exp.CurrentDate: lambda b, n: constant(b.today, place(n)),
    exp.Cast: Expressions.cast,
    exp.Between: Expressions.between,
    exp.In: Expressions.among,
    exp.Is: Expressions.truth,
    exp.Case: Expressions.case,
    exp.Round: Expressions.round,
    exp.Like: Expressions.like,
    exp.Substring: Expressions.substring,
    exp.Extract: lambda b, n: b.function("extract", n.expression, extra=n.this.name.lower(), at=n),
    exp.TimestampTrunc: lambda b, n: b.function("date_trunc", n.this, extra=n.args["unit"].name.lower(), at=n),
    exp.DateTrunc: lambda b, n: b.function("date_trunc", n.this, extra=n.args["unit"].name.lower(), at=n),
    exp.Filter: Expressions.filtered,
    exp.Window: Expressions.window,
    exp.Count: Expressions.aggregate,
    exp.Sum: Expressions.aggregate,
    exp.Avg: Expressions.aggregate,
    exp.Min: Expressions.aggregate,
    exp.Max: Expressions.aggregate,
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
