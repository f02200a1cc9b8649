"""Expressions: names become columns with their facts, operators and functions become calls, aggregates are bound.

Comes in: the parser's nodes, and what names mean in this SELECT. Goes out: nodes of our tree. Refuses names that the
policy does not have (42703), types that do not go together (42883), and what is not of this kind (0A000).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, time
from fractions import Fraction
from functools import reduce

from sqlglot import exp

from sfumato.errors import InputError, Obstacle, QueryError
from sfumato.interrupts import step
from sfumato.sql import interval_values as intervals
from sfumato.sql import patterns
from sfumato.sql.bind import named_functions
from sfumato.sql.bind.aggregate_names import AGGREGATE_NAMES, aggregate_name
from sfumato.sql.bind.constants import cast_text, constant, interval_constant, number_constant, time_constant
from sfumato.sql.bind.different import OF_DIFFERENT
from sfumato.sql.bind.points import declared_point
from sfumato.sql.bind.scope import Scope
from sfumato.sql.functions import call
from sfumato.sql.read.parser import place
from sfumato.sql.read.spelling import spelled
from sfumato.sql.relations import One
from sfumato.sql.tree import (
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    HALF,
    INTEGER,
    INTERVAL,
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
    has,
)
from sfumato.types import as_written

_MOST_NODES = 30_000
_FEW_VALUES = 100
"""Values of an IN list that are compared one by one; more are a set."""
_WRITTEN = (exp.Literal, exp.Neg, exp.Boolean, exp.Null)
_SURELY = 18
"""Digits that are a whole number of 64 bits: in lists of thousands it matters that they are read at once."""


Aggregator = Callable[[str, tuple[Node, ...], Node | None, int], Node]
"""Name, arguments, FILTER and place: an aggregate of the kind that stands here, or what is computed of several."""
WindowFacts = Callable[[str, tuple[Node, ...], int], Facts]
"""Name, arguments and place: what is known of a window function here."""
SubQuery = Callable[[str, exp.Expression, Scope, Node | None, int], Node]
"""Kind (exists, in, value), the query, the row around it, the operand of IN, and its place."""


class Expressions:
    """The expressions of one SELECT; without an aggregator, aggregates are not allowed here."""

    def __init__(
        self,
        scope: Scope,
        today: date,
        sub: SubQuery | None = None,
        aggregator: Aggregator | None = None,
        windows: WindowFacts | None = None,
    ) -> None:
        self.scope, self.today, self.sub = scope, today, sub
        self.aggregator, self.windows = aggregator, windows
        self.grouping: Callable[[list[Node], int], Node] | None = None
        self.titles: dict[str, Node] = {}
        """What the select list shows under names that no column has: ORDER BY, HAVING and QUALIFY may say them."""
        self.met = 0

    def column(self, node: exp.Column) -> Node:
        """What a name stands for; the unit is a column like others here."""
        if isinstance(node.this, exp.Star):
            raise rows_refused(node)
        owner = None if node.args.get("table") is None else fold(node.args["table"])
        point = declared_point(self.scope, owner, fold(node.this), place(node))
        if point is not None:
            return point
        name, folded = fold(node.this), not is_quoted(node.this)
        if owner is None and name in self.titles and self.scope.look(None, name, place(node), folded=folded) is None:
            return replace(self.titles[name], position=place(node))
        found = self.scope.find(owner, name, place(node), folded=folded)
        return replace(found, position=place(node))

    def condition(self, clause: exp.Expression | None) -> Node | None:
        """A WHERE or FILTER: a condition without aggregates."""
        if clause is None:
            return None
        node = self.node(clause.this)
        if has(node, Over):
            raise QueryError(
                "window functions are not allowed in WHERE",
                position=place(clause),
                obstacle=Obstacle.WINDOW,
                sqlstate="42P20",
            )
        if node.facts.kind not in (BOOLEAN, NULL):
            raise QueryError("WHERE needs a condition", position=place(clause), sqlstate="42804")
        return node

    def node(self, node: exp.Expression) -> Node:
        """A node of our tree for one of the parser's."""
        step()
        self.met += 1
        if self.met > _MOST_NODES:
            raise QueryError("this query is too large", sqlstate="54001", hint="Split it into several queries.")
        build = _KINDS.get(type(node))
        if build is None:
            raise QueryError(f"{spelled(node)} is not supported here", position=place(node))
        return build(self, node)

    def function(self, name: str, *args: exp.Expression, extra: str = "", at: exp.Expression) -> Node:
        """A function or operator applied to its arguments."""
        nodes = _coerced(name, tuple(self.node(arg) for arg in args))
        whole = self._whole_person(nodes) if name == "coalesce" else None
        if whole is not None:
            return replace(whole, position=place(at))
        if name in ("/", "%", "div") and isinstance(nodes[1], Constant) and nodes[1].value == 0 and self._alone():
            raise QueryError("division by zero", position=place(at), sqlstate="22012")
        if name == "negate" and isinstance(nodes[0], Constant) and isinstance(nodes[0].value, int | Fraction):
            return constant(-nodes[0].value, place(at))
        return call(name, nodes, extra, place(at))

    def _alone(self) -> bool:
        """Whether no table is read here: then an error is PostgreSQL's, and not the NULL that rows get."""
        return isinstance(self.scope.relation, One)

    def _whole_person(self, nodes: tuple[Node, ...]) -> Column | None:
        """COALESCE of the persons of both sides of a FULL JOIN is the person."""
        halves = [n.unit.split(":") for n in nodes if isinstance(n, Column) and n.unit.startswith(HALF)]
        joins = {number for _, number, _ in halves}
        if len(halves) != len(nodes) or len(joins) != 1 or {side for _, _, side in halves} != {"l", "r"}:
            return None
        return self.scope.relation.columns.get(f"{joins.pop()}.unit")

    def literal(self, node: exp.Expression) -> Node:
        """A written number or text."""
        if node.is_string:
            return constant(node.this, place(node))
        if len(node.this) <= _SURELY and node.this.isdecimal() and node.this.isascii():
            return constant(int(node.this), place(node))
        try:
            number = as_written(node.this)  # which refuses exponents that would fill the memory
        except InputError:
            raise QueryError("this is not a number", position=place(node), sqlstate="42601") from None
        if len(node.this) > 60 or abs(number) > 10**30 or number.denominator > 10**30:
            raise QueryError(
                "a number may have at most 30 digits on each side of the decimal point",
                position=place(node),
                sqlstate="22003",
            )
        whole = number.denominator == 1 and "." not in node.this and "e" not in node.this.lower()
        return constant(int(number) if whole else number, place(node))

    def cast(self, node: exp.Expression) -> Node:
        """CAST and DATE '…'."""
        target = _target(node.args["to"])
        if target is None:
            raise QueryError(f"a cast to {node.args['to'].sql()} is not supported", position=place(node))
        if isinstance(node.this, exp.Literal) and node.this.is_string and target in (DATE, TIMESTAMP):
            in_utc = node.args["to"].this.value == "TIMESTAMPTZ"
            return time_constant(node.this.this, target, place(node), in_utc=in_utc)
        if target == INTERVAL:
            written = node.this.unnest()
            if not isinstance(written, exp.Literal) or not written.is_string:
                raise QueryError("an interval must be a literal", position=place(node), hint="Write INTERVAL '7 days'.")
            return interval_constant(written.this, place(node))
        inner = self.node(node.this)
        if target == TIMESTAMP == inner.facts.kind:
            return inner  # with or without a zone: all times are UTC
        if isinstance(inner, Constant) and isinstance(inner.value, date) and target in (DATE, TIMESTAMP):
            at = inner.value if isinstance(inner.value, datetime) else datetime.combine(inner.value, time())
            return constant(at.date() if target == DATE else at, place(node))
        if isinstance(inner, Constant) and isinstance(inner.value, str):
            known = cast_text(inner.value, target, place(node))
            if known is not None:
                return known
        return call("cast", (inner,), target, place(node))

    def between(self, node: exp.Expression) -> Node:
        """BETWEEN, as two comparisons."""
        low = self.function(">=", node.this, node.args["low"], at=node)
        return call("and", (low, self.function("<=", node.this, node.args["high"], at=node)), "", place(node))

    def among(self, node: exp.Expression) -> Node:
        """IN with a written list or a sub-query."""
        query = node.args.get("query")
        if query is not None:
            return self.subquery("in", query, self.node(node.this), node)
        if not node.expressions:
            raise QueryError("IN needs a list or a sub-query", position=place(node), sqlstate="42601")
        if len(node.expressions) > _FEW_VALUES and all(isinstance(value, _WRITTEN) for value in node.expressions):
            operand = self.node(node.this)
            values = dict.fromkeys(_coerced("=", (operand, self.node(value)))[1] for value in node.expressions)
            return call("in", (operand, *values), "", place(node))
        tests = [self._equal(node.this, value, node) for value in node.expressions]
        while len(tests) > 1:  # a balanced tree, so that a long list is not a deep one
            pairs = [tests[i : i + 2] for i in range(0, len(tests), 2)]
            tests = [call("or", tuple(pair), "", place(node)) if len(pair) > 1 else pair[0] for pair in pairs]
        return tests[0]

    def _equal(self, one: exp.Expression, other: exp.Expression, at: exp.Expression) -> Node:
        """one = other; for rows in brackets, part by part."""
        if not isinstance(one, exp.Tuple) and not isinstance(other, exp.Tuple):
            return self.function("=", one, other, at=at)
        sides = [side.expressions if isinstance(side, exp.Tuple) else [side] for side in (one, other)]
        if len(sides[0]) != len(sides[1]):
            raise QueryError("rows in brackets must have the same length", position=place(at), sqlstate="42601")
        tests: list[Node] = [self.function("=", a, b, at=at) for a, b in zip(*sides, strict=True)]
        return reduce(lambda a, b: call("and", (a, b), "", place(at)), tests)

    def subquery(self, kind: str, query: exp.Expression, operand: Node | None, at: exp.Expression) -> Node:
        """A sub-query in an expression."""
        if self.sub is None:
            raise QueryError("a sub-query is not allowed here", position=place(at), hint="Put it into WHERE.")
        return self.sub(kind, query, self.scope, operand, place(at))

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
        if not isinstance(digits, exp.Literal) or not _is_count(digits.this) or int(digits.this) > 12:
            raise QueryError("round needs a literal number of digits, at most 12", position=place(node))
        return self.function("round", node.this, extra=digits.this, at=node)

    def like(self, node: exp.Expression) -> Node:
        """LIKE and NOT LIKE."""
        test = self.function("like", node.this, node.expression, at=node)
        return call("not", (test,), "", place(node)) if node.args.get("negate") else test

    def text(self, node: exp.Expression) -> Node:
        """A value as text: whole numbers, truths and times as PostgreSQL prints them."""
        found = self.node(node)
        return found if found.facts.kind in (TEXT, NULL) else call("cast", (found,), TEXT, found.position)

    def aggregate(self, node: exp.Expression, where: Node | None = None) -> Node:
        """An aggregate, of the kind that stands here: released, of one person's rows, or over public rows."""
        if isinstance(node, exp.WithinGroup):
            return self._percentile(node, where)
        name = aggregate_name(node)
        assert name is not None
        if isinstance(node, exp.Anonymous):
            return self._aggregated(name, tuple(map(self.node, node.expressions)), where, place(node))
        if isinstance(node, exp.GroupConcat | exp.ArrayAgg):
            return self._listed(name, node, where)
        this: exp.Expression | None = node.this
        if name == "count" and node.args.get("expressions"):
            raise QueryError("COUNT takes one argument", position=place(node))
        if isinstance(this, exp.Distinct):
            if len(this.expressions) != 1:
                raise QueryError("COUNT(DISTINCT …) takes one column", position=place(node))
            if name not in ("count", "min", "max", "sum", *OF_DIFFERENT):
                raise QueryError(
                    f"{name.upper()}(DISTINCT …) is not supported",
                    position=place(node),
                    hint=f"Write {name.upper()}(…).",
                )
            name, this = name if name in ("min", "max") else f"{name}_distinct", this.expressions[0]
        parts = [] if this is None or isinstance(this, exp.Star) else [this]
        parts += [node.expression] if node.args.get("expression") is not None else []
        return self._aggregated(name, tuple(self.node(part) for part in parts), where, place(node))

    def _listed(self, name: str, node: exp.Expression, where: Node | None) -> Node:
        """string_agg(x, between ORDER BY y) and array_agg(x ORDER BY y): one order at most; else the values' own."""
        this, order, separator = node.this, [], node.args.get("separator")
        if isinstance(this, exp.Order):
            this, order = this.this, this.expressions
        if isinstance(this, exp.Distinct) or len(order) > 1:
            raise QueryError(f"{name} takes one value and one order", position=place(node))
        value = self.node(this)
        text = self.text(this)
        if name == "array_agg" and value.facts.kind == BOOLEAN:  # in an array, true is t
            text = call("substring", (text, constant(1), constant(1)), "", place(node))
        args = [text, constant(",") if separator is None else self.node(separator)]
        if order:
            args += [self.node(order[0].this), constant(bool(order[0].args.get("desc")))]
        elif name == "array_agg":
            args += [value, constant(False)]
        return self._aggregated(name, tuple(args), where, place(node))

    def _percentile(self, node: exp.Expression, where: Node | None) -> Node:
        """PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x), and MODE() WITHIN GROUP (ORDER BY x)."""
        order = node.expression.expressions if isinstance(node.expression, exp.Order) else []
        name = aggregate_name(node.this)
        if name is None or len(order) != 1 or order[0].args.get("desc"):
            raise QueryError("WITHIN GROUP needs a percentile and ORDER BY one column, ascending", position=place(node))
        args = [self.node(order[0].this)]
        args += [self.node(node.this.this)] if node.this.this is not None else []
        return self._aggregated(name, tuple(args), where, place(node))

    def _aggregated(self, name: str, args: tuple[Node, ...], where: Node | None, position: int) -> Node:
        if self.aggregator is None:
            raise QueryError("aggregates are not allowed here", position=position, hint="Use HAVING.", sqlstate="42803")
        if any(has(arg, Aggregate | Over) for arg in args):
            raise QueryError(
                "aggregates cannot be nested",
                position=position,
                sqlstate="42803",
                hint="Aggregate in a sub-query, then again.",
            )
        return self.aggregator(name, args, where, position)

    def filtered(self, node: exp.Expression) -> Node:
        """An aggregate with its FILTER."""
        if aggregate_name(node.this) is None and not isinstance(node.this, exp.WithinGroup):
            raise QueryError("FILTER needs an aggregate", position=place(node), sqlstate="42601")
        where = self.condition(node.expression)
        if where is not None and has(where, Aggregate):
            raise QueryError("aggregates are not allowed in FILTER", position=place(node), sqlstate="42803")
        return self.aggregate(node.this, where)

    def window(self, node: exp.Expression) -> Node:
        """A window function; `windows` says what is known of it where it stands."""
        inner = node.this
        name = WINDOW_NAMES.get(type(inner)) or aggregate_name(inner)
        name = name or spelled(inner).removeprefix("function ")
        if name not in _WINDOWS or self.windows is None:
            raise QueryError(
                f"window function {name} is not supported here", position=place(node), obstacle=Obstacle.WINDOW
            )
        if isinstance(inner.this, exp.Distinct):
            raise QueryError(
                "DISTINCT is not supported in a window function", position=place(node), obstacle=Obstacle.WINDOW
            )
        parts = [inner.this] if inner.this is not None and not isinstance(inner.this, exp.Star) else []
        args = tuple(self.node(arg) for arg in parts)
        if name in ("lag", "lead", "nth_value"):
            args += self._offset(inner)
        elif inner.args.get("expressions"):
            raise QueryError(
                f"window function {name} takes one argument", position=place(node), obstacle=Obstacle.WINDOW
            )
        order = node.args.get("order")
        return Over(
            name,
            args,
            tuple(self.node(part) for part in node.args.get("partition_by") or []),
            tuple(
                Sorted(self.node(item.this), bool(item.args.get("desc")), bool(item.args.get("nulls_first")))
                for item in (order.expressions if order is not None else [])
            ),
            self.windows(name, args, place(node)),
            _frame(node.args.get("spec")),
            place(node),
        )

    def grouped(self, node: exp.Expression) -> Node:
        """GROUPING(key, …)."""
        if self.grouping is None:
            raise QueryError("GROUPING needs a GROUP BY", position=place(node), sqlstate="42803")
        return self.grouping([self.node(part) for part in node.expressions], place(node))

    def _offset(self, inner: exp.Expression) -> tuple[Node, ...]:
        """How far LAG and LEAD look: a written whole number."""
        offset = inner.args.get("offset")
        if inner.args.get("default") is not None:
            raise QueryError("a default of LAG or LEAD is not supported", position=place(inner), hint="Use COALESCE.")
        if offset is None:
            return ()
        if not isinstance(offset, exp.Literal) or not _is_count(offset.this):
            raise QueryError("LAG and LEAD need an integer literal", position=place(inner))
        return (constant(int(offset.this)),)

    def today_or_now(self, node: exp.Expression) -> Node:
        """CURRENT_DATE, and now(): fixed at planning, part of the question.

        Where only a day is handed in, now() is its first moment, so that a question asked twice is the same one.
        """
        moment = self.today if isinstance(self.today, datetime) else datetime.combine(self.today, time())
        return constant(moment.date() if isinstance(node, exp.CurrentDate) else moment, place(node))

    def sum(self, node: exp.Expression) -> Node:
        """+ and -, also with an interval."""
        sign = 1 if isinstance(node, exp.Add) else -1
        left, right = node.this.unnest(), node.expression.unnest()
        if isinstance(right, exp.Interval):
            return self._shifted(node.this, right, sign)
        if isinstance(left, exp.Interval) and sign > 0:
            return self._shifted(node.expression, left, sign)
        return self.function("+" if sign > 0 else "-", node.this, node.expression, at=node)

    def _shifted(self, this: exp.Expression, written: exp.Interval, sign: int) -> Node:
        span = self._span(written)
        span, start = span if sign > 0 else -span, self.node(this)
        if isinstance(start, Constant) and isinstance(start.value, date):
            moved = intervals.later(start.value, span)
            if moved is None:
                raise QueryError("the result is outside the years 1 to 9999", position=start.position, sqlstate="22008")
            return constant(moved, start.position)
        return call("shift", (start,), str(span), start.position)

    def _span(self, node: exp.Interval) -> intervals.Span:
        """A written interval; the parser holds the unit of a single one beside its number."""
        unit = node.args.get("unit")
        text = f"{node.this.name} {unit.name if isinstance(unit, exp.Var) else ''}"
        written = interval_constant(text if isinstance(node.this, exp.Literal) else "", place(node.parent or node))
        assert isinstance(written.value, intervals.Span)
        return written.value

    def interval(self, node: exp.Expression) -> Node:
        """An interval by itself."""
        assert isinstance(node, exp.Interval)
        return constant(self._span(node), place(node.parent or node))

    def range(self, node: exp.Expression) -> Node:
        """BETWEEN, and BETWEEN SYMMETRIC, whose ends may stand in either order."""
        if not node.args.get("symmetric"):
            return self.between(node)
        ends = node.args["low"], node.args["high"]
        tests = [exp.Between(this=node.this, low=low, high=high) for low, high in (ends, ends[::-1])]
        return call("or", tuple(self.between(test) for test in tests), "", place(node))

    def truncated(self, node: exp.Expression) -> Node:
        """TRUNC with a written number of digits."""
        digits = node.args.get("decimals")
        written = digits is None or (isinstance(digits, exp.Literal) and _is_count(digits.this))
        if not written or (digits is not None and int(digits.this) > 12):
            raise QueryError("trunc needs a literal number of digits, at most 12", position=place(node))
        return self.function("trunc", node.this, extra="" if digits is None else digits.this, at=node)

    def logarithm(self, node: exp.Expression) -> Node:
        """LOG(x), of base 10, and LOG(base, x)."""
        if node.args.get("expression") is None:
            return self.function("log10", node.this, at=node)
        return self.function("log", node.this, node.expression, at=node)

    def width_bucket(self, node: exp.Expression) -> Node:
        """WIDTH_BUCKET with written ends and count."""
        parts = [node.args.get(part) for part in ("this", "min_value", "max_value", "num_buckets")]
        return self.function("width_bucket", *(part for part in parts if part is not None), at=node)

    def distinct(self, node: exp.Expression) -> Node:
        """IS DISTINCT FROM, and IS NOT DISTINCT FROM."""
        test = self.function("is distinct from", node.this, node.expression, at=node)
        return test if isinstance(node, exp.NullSafeNEQ) else call("not", (test,), "", place(node))

    def like_any_case(self, node: exp.Expression) -> Node:
        """ILIKE and NOT ILIKE."""
        test = self.function("ilike", node.this, node.expression, at=node)
        return call("not", (test,), "", place(node)) if node.args.get("negate") else test

    def escaped(self, node: exp.Expression) -> Node:
        """LIKE and ILIKE with a sign of escape: the same pattern with a backslash. SIMILAR TO with its own."""
        test, sign = node.this, node.expression
        if isinstance(test, exp.SimilarTo) and sign.is_string and len(sign.name) <= 1:
            return named_functions.similar_to(self, test, sign.name)
        if not isinstance(test, exp.Like | exp.ILike) or not test.expression.is_string or not sign.is_string:
            raise QueryError("ESCAPE needs LIKE with a literal pattern", position=place(node))
        pattern = patterns.without_escape(test.expression.name, sign.name) if len(sign.name) <= 1 else None
        if pattern is None:
            raise QueryError(
                "ESCAPE needs one character, which does not end the pattern", position=place(node), sqlstate="22025"
            )
        same = test.copy()
        same.set("expression", exp.Literal.string(pattern))
        return self.node(same)

    def trimmed(self, node: exp.Expression) -> Node:
        """TRIM, LTRIM, RTRIM and BTRIM, of blanks or of written characters."""
        parts = [part for part in (node.this, node.args.get("expression")) if part is not None]
        return self.function("trim", *parts, extra=str(node.args.get("position") or "").lower(), at=node)

    def joined(self, node: exp.Expression) -> Node:
        """|| and CONCAT: beside text, whole numbers, truths and times are text."""
        parts = [node.this, node.expression] if isinstance(node, exp.DPipe) else node.expressions
        nodes = [self.node(part) for part in parts]
        if isinstance(node, exp.Concat) or any(n.facts.kind == TEXT for n in nodes):
            nodes = [n if n.facts.kind in (TEXT, NULL) else call("cast", (n,), TEXT, n.position) for n in nodes]
        return call("||" if isinstance(node, exp.DPipe) else "concat", tuple(nodes), "", place(node))


def _is_count(text: str) -> bool:
    """A few digits that read as a whole number; there are others, such as a raised 2."""
    return text.isdecimal() and len(text) <= 7


def _frame(spec: exp.Expression | None) -> str:
    """The frame of a window, in the words of SQL."""
    if spec is None:
        return ""

    def end(value: object, side: object) -> str:
        if value == "CURRENT ROW":
            return "CURRENT ROW"
        if value == "UNBOUNDED":
            return f"UNBOUNDED {str(side).upper()}"
        if isinstance(value, exp.Literal) and _is_count(value.this):
            return f"{int(value.this)} {str(side).upper()}"
        raise QueryError("the frame of a window needs integer literals", position=place(spec), obstacle=Obstacle.WINDOW)

    kind, args = str(spec.args.get("kind") or "RANGE").upper(), spec.args
    first = end(args.get("start"), args.get("start_side"))
    last = end(args.get("end") or "CURRENT ROW", args.get("end_side"))
    if kind not in ("ROWS", "RANGE", "GROUPS") or (kind == "RANGE" and any(c.isdigit() for c in first + last)):
        raise QueryError("RANGE with a distance is not supported", position=place(spec), hint="Write ROWS.")
    return f"{kind} BETWEEN {first} AND {last}"


def _target(to: exp.Expression) -> str | None:
    """The word that a cast has for its type, with the numbers in its brackets."""
    word = _TYPES.get(to.this.value)
    numbers = [part.name for part in to.expressions]
    if word is None or not numbers:
        return word
    if not all(map(_is_count, numbers)) or len(numbers) > (2 if word == DECIMAL else 1):
        return None
    cut = to.this.value == "VARCHAR" and int(numbers[0]) > 0
    return f"{word}({','.join(numbers)})" if word == DECIMAL or cut else None


def rows_refused(node: exp.Expression) -> QueryError:
    """The refusal of a star."""
    return QueryError(
        "SELECT * would return rows of individual people; only aggregates are allowed",
        position=place(node),
        sqlstate="42501",
        hint="Ask for aggregates, for example COUNT(*).",
    )


def _coerced(name: str, args: tuple[Node, ...]) -> tuple[Node, ...]:
    """A written text beside a date or a number is that date or number, as in PostgreSQL."""
    if name not in ("=", "<>", "<", "<=", ">", ">=", "-", "+", "is distinct from") or len(args) != 2:
        return args
    kinds = [arg.facts.kind for arg in args]
    for i, other in ((0, 1), (1, 0)):
        arg = args[i]
        if isinstance(arg, Constant) and isinstance(arg.value, str):
            if kinds[other] in (DATE, TIMESTAMP):
                new: Node = time_constant(arg.value, kinds[other], arg.position)
            elif kinds[other] == INTERVAL:
                new = interval_constant(arg.value, arg.position)
            elif kinds[other] in NUMBERS:
                new = number_constant(arg.value, arg.position)
            else:
                continue
            return (new, args[1]) if i == 0 else (args[0], new)
    return args


def fold(identifier: exp.Expression) -> str:
    """Unquoted names fold to lower case."""
    name = str(identifier.this if isinstance(identifier, exp.Identifier) else identifier.name)
    return name if is_quoted(identifier) else name.lower()


def is_quoted(identifier: exp.Expression) -> bool:
    """Whether a name was written in double quotes."""
    return isinstance(identifier, exp.Identifier) and bool(identifier.args.get("quoted"))


_TYPES = {
    "BIGINT": INTEGER,
    "INT": "int4",
    "SMALLINT": "int2",
    "DECIMAL": DECIMAL,
    "DOUBLE": DOUBLE,
    "FLOAT": "real",
    **dict.fromkeys(("TEXT", "VARCHAR"), TEXT),
    "DATE": DATE,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPNTZ"), TIMESTAMP),
    "INTERVAL": INTERVAL,
    "BOOLEAN": BOOLEAN,
}

WINDOW_NAMES: dict[type[exp.Expression], str] = {
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
    exp.Lag: "lag",
    exp.Lead: "lead",
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
    exp.NthValue: "nth_value",
    exp.Ntile: "ntile",
    exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist",
}
_WINDOWS = (*WINDOW_NAMES.values(), "sum", "avg", "min", "max", "count")

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
    exp.CurrentDate: Expressions.today_or_now,
    exp.CurrentTimestamp: Expressions.today_or_now,
    exp.Localtimestamp: Expressions.today_or_now,
    exp.Add: Expressions.sum,
    exp.Sub: Expressions.sum,
    exp.Interval: Expressions.interval,
    exp.Trunc: Expressions.truncated,
    exp.Log: Expressions.logarithm,
    exp.WidthBucket: Expressions.width_bucket,
    exp.NullSafeEQ: Expressions.distinct,
    exp.NullSafeNEQ: Expressions.distinct,
    exp.ILike: Expressions.like_any_case,
    exp.Escape: Expressions.escaped,
    exp.Trim: Expressions.trimmed,
    exp.DPipe: Expressions.joined,
    exp.Concat: Expressions.joined,
    exp.StrPosition: lambda b, n: b.function("strpos", n.this, n.args["substr"], at=n),
    exp.Replace: lambda b, n: b.function("replace", n.this, n.expression, n.args["replacement"], at=n),
    exp.Cast: Expressions.cast,
    exp.Between: Expressions.range,
    exp.In: Expressions.among,
    exp.Is: Expressions.truth,
    exp.Case: Expressions.case,
    exp.Round: Expressions.round,
    exp.Like: Expressions.like,
    **named_functions.KINDS,
    exp.TimestampTrunc: lambda b, n: b.function("date_trunc", n.this, extra=n.args["unit"].name.lower(), at=n),
    exp.DateTrunc: lambda b, n: b.function("date_trunc", n.this, extra=n.args["unit"].name.lower(), at=n),
    exp.Filter: Expressions.filtered,
    exp.Grouping: Expressions.grouped,
    exp.Window: Expressions.window,
    exp.Exists: lambda b, n: b.subquery("exists", n.this, None, n),
    exp.Subquery: lambda b, n: b.subquery("value", n, None, n),
    exp.WithinGroup: lambda b, n: b.aggregate(n),
    **dict.fromkeys(AGGREGATE_NAMES, lambda b, n: b.aggregate(n)),
    exp.Anonymous: lambda b, n: named_functions.by_name(b, n) if aggregate_name(n) is None else b.aggregate(n),
    **{
        kind: _plain(name)
        for kind, name in (
            (exp.Mul, "*"), (exp.Div, "/"), (exp.Mod, "%"), (exp.Neg, "negate"),
            (exp.EQ, "="), (exp.NEQ, "<>"), (exp.LT, "<"), (exp.LTE, "<="), (exp.GT, ">"), (exp.GTE, ">="),
            (exp.And, "and"), (exp.Or, "or"), (exp.Not, "not"), (exp.Abs, "abs"), (exp.Sign, "sign"),
            (exp.Floor, "floor"), (exp.Ceil, "ceil"), (exp.Coalesce, "coalesce"), (exp.Nullif, "nullif"),
            (exp.Greatest, "greatest"), (exp.Least, "least"), (exp.Lower, "lower"), (exp.Upper, "upper"),
            (exp.Length, "length"), (exp.IntDiv, "div"), (exp.Pow, "power"), (exp.Ln, "ln"), (exp.Exp, "exp"),
            (exp.Sqrt, "sqrt"), (exp.Cbrt, "cbrt"), (exp.Left, "left"), (exp.Right, "right"),
            (exp.Reverse, "reverse"), (exp.StartsWith, "starts_with"), (exp.RegexpLike, "regexp_like"),
        )
    },
}  # fmt: skip
