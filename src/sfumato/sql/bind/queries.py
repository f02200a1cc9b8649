"""Whole queries: WITH, set operations, and sub-queries that stand in expressions.

Comes in: the parser's tree. Goes out: Bound queries. A sub-query in an expression becomes a join and a column: of the
same person's rows, of public rows, or of what an earlier stage releases (semantics 2.2, 2.3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from sqlglot import exp

from sfumato.algebra.equalities import is_unique
from sfumato.algebra.functions import Mismatch, call, union
from sfumato.algebra.public_rows import PublicRows
from sfumato.algebra.relations import (
    Relation,
    RelationShape,
    SetOperation,
    distinct,
    filtered,
    limited,
    listed,
    named,
    released,
    releases_in,
    stacked,
)
from sfumato.algebra.tree import BOOLEAN, INTEGER, PERSON, TEXT, Column, Facts, Node, Sorted, Sub, columns_of
from sfumato.errors import Obstacle, QueryError
from sfumato.policy import Policy
from sfumato.sql.bind import hints
from sfumato.sql.bind.bound_query import Bound, FreshNumbers, Names, SharedWith, by_place, check_keys, written_count
from sfumato.sql.bind.clauses import Clauses
from sfumato.sql.bind.constants import constant
from sfumato.sql.bind.correlated import value_around
from sfumato.sql.bind.empty import NEVER
from sfumato.sql.bind.expressions import Expressions, fold
from sfumato.sql.bind.joins import among, joined, marked, same_person
from sfumato.sql.bind.recursion import Recursion, names_itself
from sfumato.sql.bind.rewrite import rewrite
from sfumato.sql.bind.scope import Scope, ScopeColumn
from sfumato.sql.bind.sources import Sources, renamed
from sfumato.sql.read.parser import place
from sfumato.sql.read.spelling import spelled

_DEEPEST = 60
_MOST_RELATIONS = 1000
"""Relations of a query: tables, filters, joins and so on, as often as they are read."""


@dataclass
class Binder:
    """One walk over one question."""

    policy: Policy
    today: date
    look: PublicRows | None
    views: dict[str, str] = field(default_factory=dict)
    stored: frozenset[str] = frozenset()
    keeper: PublicRows | None = None
    numbers: FreshNumbers = field(default_factory=FreshNumbers)
    fixes: FreshNumbers = field(default_factory=FreshNumbers)
    """Of public rows that are computed once: apart, for the numbers of relations are in the key of a stored answer."""
    depth: int = field(default=0)
    recursions: int = field(default=0)
    placed_before: dict[tuple[str, int], tuple[Relation, Node]] = field(default_factory=dict)

    @property
    def sources(self) -> Sources:
        """What FROM names."""
        return Sources(self, self.policy, self.look, self.views, self.stored, self.keeper)

    def joins(self, first: exp.Expression, rest: list[exp.Join], names: Names, where: exp.Expression | None) -> Scope:
        """What FROM names, joined."""
        return self.sources.joins(first, rest, names, where)

    def query(self, tree: exp.Expression | exp.Query, names: Names, outer: Scope | None) -> Bound:
        """A SELECT, a set operation, or either in brackets, with its WITH."""
        if isinstance(tree, exp.Subquery):
            if tree.args.get("alias") is None and isinstance(tree.this, exp.Query):
                return self.query(tree.this, names, outer)
            raise QueryError("this is not allowed here", position=place(tree))
        self.depth += 1
        if self.depth > _DEEPEST:
            raise QueryError("the query is nested too deeply", sqlstate="54001", position=place(tree))
        try:
            names = self._with(tree, names)
            if isinstance(tree, exp.Select):
                return self._limited(Clauses(self, tree, names, outer, self.depth > 1).bound(), tree)
            if isinstance(tree, exp.SetOperation):
                return self._limited(self._set(tree, names, outer), tree)
        finally:
            self.depth -= 1
        raise QueryError(f"{spelled(tree)} is not allowed here", position=place(tree))

    def _limited(self, bound: Bound, tree: exp.Expression) -> Bound:
        """A query that stays within what is planned: sub-queries that are read twice count twice."""
        if bound.relation.size > _MOST_RELATIONS:
            raise QueryError(
                "this query is too large once its sub-queries are written out",
                position=place(tree),
                sqlstate="54001",
                hint="Split it into several queries.",
            )
        return bound

    def _with(self, tree: exp.Expression | exp.Query, names: Names) -> Names:
        """The names that WITH gives."""
        clause, known = tree.args.get("with_"), dict(names)
        for part in clause.expressions if clause is not None else []:
            recursive = clause is not None and clause.args.get("recursive") and names_itself(part)
            rows = self._recursive(part, known) if recursive else part.this
            alias = part.args["alias"]
            shared = SharedWith(renamed(rows, alias)) if isinstance(rows, Bound) else self._named(part, rows, known)
            known = {**known, fold(alias.this): shared}
        return known

    def _named(self, part: exp.Expression, rows: exp.Query, known: Names) -> SharedWith:
        """A WITH query with the names that are known where it stands."""

        def bound() -> Bound:
            return renamed(self.settled(self.query(rows, known, None), part), part.args["alias"])

        return SharedWith(bound(), bound)

    def _recursive(self, part: exp.Expression, known: Names) -> exp.Query | Bound:
        """A query that names itself, as its rows, or as a step of finishing."""
        name, alias = fold(part.args["alias"].this), part.args["alias"]

        def binds(tree: exp.Query, rows: Bound | None) -> Bound:
            more = known if rows is None else {**known, name: SharedWith(renamed(rows, alias))}
            return self.settled(self.query(tree, more, None), part)

        look = self.look if self.keeper is None else self.keeper
        self.recursions += 1
        try:
            found: exp.Query | Bound = Recursion(part, binds, look, self.numbers.next, self.recursions).rows()
        finally:
            self.recursions -= 1
        return found

    def settled(self, bound: Bound, tree: exp.Expression) -> Bound:
        """A query as part of another: its LIMIT is carried out, its order alone means nothing."""
        if bound.limit is None and not bound.offset:
            return replace(bound, order=())
        if bound.limit == 0:
            return replace(bound, relation=filtered(bound.relation, NEVER), order=(), limit=None, offset=0, whole=False)
        if bound.relation.private:
            raise QueryError(
                "LIMIT over rows of individual people would make the selection depend on other people",
                position=place(tree),
                hint=hints.each_person_once(bound.relation),
                obstacle=Obstacle.ROWS_CUT,
            )
        relation = limited(bound.relation, bound.order, bound.limit, bound.offset)
        return replace(bound, relation=relation, order=(), limit=None, offset=0, whole=False)

    def _set(self, tree: exp.SetOperation, names: Names, outer: Scope | None) -> Bound:
        """UNION, EXCEPT and INTERSECT."""
        if tree.args.get("distinct") is None:
            raise AssertionError("a set operation needs ALL or DISTINCT")
        parts = [self.settled(self.query(side, names, outer), side) for side in (tree.this, tree.expression)]
        left, right = parts
        word, once = type(tree).__name__.upper(), bool(tree.args["distinct"])
        if left.on or right.on:
            raise QueryError(f"a {word} cannot refer to the outer query", position=place(tree))
        if len(left.items) != len(right.items):
            raise QueryError(
                f"each part of a {word} must have the same number of columns", position=place(tree), sqlstate="42601"
            )
        if left.relation.private != right.relation.private:
            raise QueryError(
                f"{word} cannot combine rows of people with public rows: some rows would belong to nobody",
                position=place(tree),
                hint="Query both separately, or aggregate first.",
                obstacle=Obstacle.NOBODYS_ROWS,
            )
        columns = self._common(word, left, right, tree)
        sides = [(part.relation, tuple(node for _, node in part.items)) for part in parts]
        if isinstance(tree, exp.Union):
            relation: Relation = stacked(sides, columns)
            bound = Bound(relation, tuple((n, c) for (n, _), c in zip(left.items, columns.values(), strict=True)))
            bound = self.once(bound, place(tree)) if once else bound
        elif left.relation.private:
            bound = self._members(word, left, right, once=once, position=place(tree))
        else:
            relation = SetOperation(RelationShape(columns, False), word + ("" if once else " ALL"), tuple(sides))
            bound = Bound(relation, tuple((n, c) for (n, _), c in zip(left.items, columns.values(), strict=True)))
        return self._ordered(tree, bound)

    def _common(self, word: str, left: Bound, right: Bound, tree: exp.Expression) -> dict[str, Column]:
        """The columns of a set operation: what holds of both sides."""
        number, columns = self.numbers.next(), {}
        for i, ((_, a), (_, b)) in enumerate(zip(left.items, right.items, strict=True)):
            try:
                facts = union([a.facts, b.facts], a.facts.nullable or b.facts.nullable)
            except Mismatch as differ:
                raise QueryError(f"{word}: {differ}", position=place(tree), sqlstate="42804") from None
            alike = a.facts.kind == b.facts.kind and a.facts.kind in (INTEGER, TEXT)  # each written one is known
            lists = [listed(node) if alike else node.facts.values for node in (a, b)]
            if None not in lists:
                shared: Any = tuple(dict.fromkeys(v for values in lists for v in values or ()))
                facts = replace(facts, values=shared)
            person = all(isinstance(node, Column) and node.unit == PERSON for node in (a, b))
            columns[f"{number}.{i}"] = Column(f"{number}.{i}", facts, unit=PERSON if person else "")
        return columns

    def _members(self, word: str, left: Bound, right: Bound, *, once: bool, position: int) -> Bound:
        """EXCEPT and INTERSECT below the cut: rows of the same person, by her hidden unit."""
        pairs = [(a, b) for (_, a), (_, b) in zip(left.items, right.items, strict=True)]
        by_person = any(all(isinstance(n, Column) and n.unit == PERSON for n in pair) for pair in pairs)
        if not by_person or not once:
            raise QueryError(
                f"{word} over private rows needs the privacy unit in the same column of both sides, and no ALL",
                position=position,
                hint=hints.persons_among(left.relation, right.relation),
                obstacle=Obstacle.PERSON_MISSING,
            )
        mark = f"{self.numbers.next()}.mark"
        relation = marked(left.relation, right.relation, tuple(_alike(a, b) for a, b in pairs), mark, position)
        test: Node = Column(mark, Facts(BOOLEAN, nullable=False))
        condition = test if word == "INTERSECT" else call("not", (test,))
        return self.once(Bound(filtered(relation, condition), left.items), position)

    def once(self, bound: Bound, position: int) -> Bound:
        """DISTINCT: with the person a relation of persons; without her it stops carrying her, and is a release."""
        number = self.numbers.next()
        items = [(f"{number}.{i}", node) for i, (_, node) in enumerate(bound.items)]
        if bound.relation.private and not any(isinstance(n, Column) and n.unit == PERSON for _, n in items):
            check_keys([node for _, node in items], position)
            relation: Relation = released(bound.relation, items, [], (tuple(range(len(items))),), number)
        else:
            relation = distinct(named(bound.relation, items))
        shown = tuple((name, relation.columns[inner]) for (name, _), (inner, _) in zip(bound.items, items, strict=True))
        return replace(bound, relation=relation, items=shown)

    def _ordered(self, tree: exp.Expression, bound: Bound) -> Bound:
        """The order and limit of a set operation, by names and places."""
        scope = Scope(bound.relation, [ScopeColumn("", name, node) for name, node in bound.items])
        expressions = Expressions(scope, self.today)
        order = []
        for item in (tree.args.get("order") or exp.Order()).expressions:
            this = item.this
            numbered = isinstance(this, exp.Literal) and not this.is_string
            node = by_place(this, list(bound.items)) if numbered else expressions.node(this)
            order.append(Sorted(node, bool(item.args.get("desc")), bool(item.args.get("nulls_first"))))
        limit, offset = (
            written_count(tree.args.get("limit"), "LIMIT"),
            written_count(tree.args.get("offset"), "OFFSET") or 0,
        )
        return replace(bound, order=tuple(order), limit=limit, offset=offset)

    def placed(self, relation: Relation, node: Node) -> tuple[Relation, Node]:
        """The node over a relation that has every sub-query of it as a column."""

        def change(part: Node) -> Node | None:
            nonlocal relation
            if not isinstance(part, Sub):
                return None
            _, known = self.placed_before.get((part.kind, id(part.relation)), (None, None))
            if known is not None and columns_of(known).keys() <= relation.columns.keys():
                return known  # the same sub-query, in the list and in ORDER BY
            outside = [c for name, c in columns_of(part).items() if name not in relation.columns]
            if outside:
                raise QueryError(
                    "a nested sub-query may refer to the query directly around it only",
                    position=outside[0].position or part.position,
                )
            relation, column = self._place(relation, part)
            self.placed_before[part.kind, id(part.relation)] = (part.relation, column)  # held: its id stays its own
            return column

        placed = rewrite(node, change)
        return relation, placed

    def _place(self, relation: Relation, sub: Sub) -> tuple[Relation, Node]:
        if relation.private:
            sub = replace(sub, relation=self.sources.fixed(sub.relation))
        if sub.kind == "value":
            return self._value(relation, sub)
        name = f"{self.numbers.next()}.mark"
        if sub.kind == "in" and sub.operand is not None and sub.value is not None:
            if not sub.relation.private:
                inner = among(relation, sub.relation, sub.on, name, operand=sub.operand, value=sub.value)
                return inner, inner.columns[name]
            bare = all(isinstance(n, Column) and n.unit == PERSON for n in (sub.operand, sub.value))
            if not bare:
                raise QueryError(
                    "IN with a private sub-query can only compare the privacy unit:"
                    " with any other column, the result would depend on another person's row",
                    position=sub.position,
                    hint=hints.persons_among(relation, sub.relation),
                    obstacle=Obstacle.OTHERS_COMPARED,
                )
            sub = replace(sub, on=(*sub.on, call("=", (sub.operand, sub.value))))
        outer = marked(relation, sub.relation, sub.on, name, sub.position)
        return outer, outer.columns[name]

    def _value(self, relation: Relation, sub: Sub) -> tuple[Relation, Node]:
        """A sub-query as a value: joined to the row around it, NULL where there is none."""
        inner, number = sub.relation, self.numbers.next()
        assert sub.value is not None
        if inner.private:
            found, rest = same_person(list(sub.on), relation, inner) if relation.private else (False, [])
            if not found:
                raise QueryError(
                    "this sub-query would read a row of another person",
                    position=sub.position,
                    hint="Aggregate it: (SELECT AVG(x) FROM …).",
                )
            if not is_unique(inner, rest):
                raise _several_rows(sub)
        condition: Node | None = None
        for part in sub.on:
            condition = part if condition is None else call("and", (condition, part))
        join = joined(
            "left", relation, inner, condition, number=number, fan_out=self._single(sub), position=sub.position
        )

        return join, value_around(sub.value, inner, sub.counts, number)

    def _single(self, sub: Sub) -> Callable[[Relation, list[Node]], int]:
        def fan_out(relation: Relation, equal: list[Node]) -> int:
            rows = relation.shape.rows if releases_in(relation) else self.sources.fan_out(relation, equal)
            if rows is None or rows > 1:
                raise _several_rows(sub)
            return rows

        return fan_out


def _several_rows(sub: Sub) -> QueryError:
    return QueryError(
        "a sub-query used as an expression must return one row",
        position=sub.position,
        sqlstate="21000",
        hint="Aggregate it, or compare with all of its keys.",
    )


def _alike(a: Node, b: Node) -> Node:
    """a IS NOT DISTINCT FROM b; persons are never unknown."""
    equal = call("=", (a, b))
    if isinstance(a, Column) and a.unit == PERSON:
        return equal
    both = call("and", (call("is null", (a,)), call("is null", (b,))))
    return call("or", (call("coalesce", (equal, constant(False))), both))
