"""One SELECT: FROM, WHERE, GROUP BY, HAVING, windows, the list, DISTINCT, ORDER BY, LIMIT, in this order.

Comes in: the parser's SELECT and what is named around it. Goes out: a Bound query. Here the cut is made: an aggregate
over private rows that does not carry the person is a release; with her among the keys it is a person's own (semantics
2.1, 2.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from sfumato.algebra import public_aggregates as plain
from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.functions import call
from sfumato.algebra.public_aggregates import OF_DIFFERENT
from sfumato.algebra.relations import (
    Relation,
    RelationShape,
    Release,
    SingleRow,
    filtered,
    grouped,
    released,
    windowed,
)
from sfumato.algebra.tree import (
    BOOLEAN,
    DECIMAL,
    DOUBLE,
    HALF,
    INTEGER,
    NULL,
    NUMBERS,
    PERSON,
    Aggregate,
    Call,
    Column,
    Constant,
    Facts,
    Node,
    Over,
    Sorted,
    Sub,
    columns_of,
    conjuncts,
    has,
)
from sfumato.errors import GeneralHint, Obstacle, QueryError
from sfumato.sql.bind import hints
from sfumato.sql.bind import per_unit as persons
from sfumato.sql.bind.aggregate_names import aggregate_name
from sfumato.sql.bind.bound_query import (
    MOST_AGGREGATES,
    MOST_COLUMNS,
    MOST_KEYS,
    Bound,
    Names,
    Queries,
    by_place,
    check_count,
    check_keys,
    written_count,
)
from sfumato.sql.bind.column_titles import title
from sfumato.sql.bind.correlated import check_windows, inside, tied, value_around
from sfumato.sql.bind.different import of_different
from sfumato.sql.bind.empty import is_unlisted
from sfumato.sql.bind.expressions import Aggregator, Expressions, fold
from sfumato.sql.bind.factoring import factored
from sfumato.sql.bind.grouping import check_sets, grouping, grouping_sets
from sfumato.sql.bind.joins import is_own_person
from sfumato.sql.bind.quantified import ALL, ROWS, EveryRow, among_rows, with_each
from sfumato.sql.bind.rewrite import collect, rewrite
from sfumato.sql.bind.scope import Scope
from sfumato.sql.bind.top_keys import met_keys
from sfumato.sql.bind.window_calls import SPREADS
from sfumato.sql.read.parser import place


class Clauses:
    """One SELECT: FROM, WHERE, GROUP BY, HAVING, windows, the list, DISTINCT, ORDER BY, LIMIT, in this order."""

    def __init__(self, queries: Queries, tree: exp.Select, names: Names, outer: Scope | None, nested: bool) -> None:
        self.queries, self.tree, self.names, self.nested = queries, tree, names, nested
        where = tree.args.get("where")
        self.where = None if where is None else factored(where)
        first = tree.args.get("from_")
        if first is None:
            self.scope = Scope(SingleRow(RelationShape({}, False, 1, (frozenset(),))), [])
        else:
            rest = [*(first.this.args.get("joins") or []), *(tree.args.get("joins") or [])]
            if isinstance(first.this, exp.Subquery):
                rest = list(tree.args.get("joins") or [])
            self.scope = queries.joins(first.this, rest, names, self.where)
        self.scope.outer = outer
        self.on: list[Node] = []
        self.counts: frozenset[str] = frozenset()
        self._releases = False

    def expressions(self, aggregator: Aggregator | None = None, windows: bool = False) -> Expressions:
        """What binds the expressions of this SELECT."""
        return Expressions(
            self.scope, self.queries.today, self.sub, aggregator, self._window_facts if windows else None
        )

    # sub-queries in expressions of this SELECT
    def sub(self, kind: str, query: exp.Expression, around: Scope, operands: tuple[Node, ...], position: int) -> Node:
        """A sub-query, bound inside this scope."""
        return self._sub(kind, query, around, operands, names=self.names, position=position)

    def _sub(
        self,
        kind: str,
        query: exp.Expression,
        around: Scope,
        operands: tuple[Node, ...],
        *,
        names: Names,
        position: int,
    ) -> Node:
        bound = tied(kind, self.queries.query(query, names, around), position)
        bound = self.queries.settled(bound, query)
        if kind in ROWS:
            return among_rows(kind, bound, operands, position)
        if kind != "exists" and len(bound.items) != 1:
            raise QueryError("a sub-query here must return one column", position=position, sqlstate="42601")
        if kind.startswith(ALL):

            def single(tree: exp.Expression, names: Names) -> Node:
                return self._sub("value", tree, around, (), names=names, position=position)

            test = EveryRow(kind.removeprefix(ALL), operands[0], query, bound, around.relation, position)
            return with_each(test, names, single)
        if kind == "value" and not bound.whole:
            bound = inside(bound, self.queries.numbers)
        value = bound.items[0][1] if kind != "exists" else None
        facts = Facts(BOOLEAN, nullable=kind == "in")
        if kind == "value" and value is not None:
            facts = value_around(value, bound.relation, bound.counts, 0).facts
        operand = operands[0] if operands else None
        if operand is not None and value is not None:
            call("=", (operand, value), "", position)  # the types must go together
        return Sub(kind, bound.relation, bound.on, operand, value, facts, bound.counts, position)

    def bound(self) -> Bound:
        """The whole SELECT."""
        tree = self.tree
        check_count(len(tree.expressions), MOST_COLUMNS, "columns", place(tree))
        for clause, word in (("group", "keys in GROUP BY"), ("order", "keys in ORDER BY")):
            check_count(len((tree.args.get(clause) or exp.Order()).expressions), MOST_KEYS, word, place(tree))
        once = tree.args.get("distinct")
        if once is not None and once.args.get("on") is not None:
            raise QueryError(
                "DISTINCT ON depends on which row comes first",
                position=place(once),
                hint=hints.each_person_once(self.scope.relation),
            )
        self._where()
        aggregated = self._is_aggregated()
        items, order = self._grouped() if aggregated else self._rows()
        bound = Bound(
            self.scope.relation,
            tuple(items),
            tuple(self.on),
            self.counts,
            tuple(order),
            written_count(tree.args.get("limit"), "LIMIT"),
            written_count(tree.args.get("offset"), "OFFSET") or 0,
            whole=aggregated and tree.args.get("group") is None and tree.args.get("having") is None,
        )
        self._check_inside(bound)
        return self._once(bound) if once is not None else bound

    def _once(self, bound: Bound) -> Bound:
        nodes = [node for _, node in bound.items]
        if any(s.node not in nodes for s in bound.order):
            raise QueryError(
                "for SELECT DISTINCT, ORDER BY expressions must appear in the select list",
                position=place(self.tree),
                sqlstate="42P10",
            )
        places = [nodes.index(s.node) for s in bound.order]
        after = self.queries.once(replace(bound, order=()), place(self.tree))
        order = [replace(s, node=after.items[i][1]) for s, i in zip(bound.order, places, strict=True)]
        return replace(after, order=tuple(order))

    def _check_inside(self, bound: Bound) -> None:
        """Only WHERE may speak of the row around a sub-query."""
        for node in [node for _, node in bound.items] + [s.node for s in bound.order]:
            outside = [c for name, c in columns_of(node).items() if name not in bound.relation.columns]
            if outside:
                raise QueryError(
                    "a sub-query may refer to the outer query in its WHERE only", position=outside[0].position
                )

    # WHERE
    def _where(self) -> None:
        """The filter; what speaks of the row around is kept apart."""
        condition = self.expressions().condition(self.where)
        inside: Node | None = None
        relation = self.scope.relation
        for part in conjuncts(condition):
            if relation.private and is_own_person(part, relation):
                continue  # as a join's condition it says that both rows are one person's: they are
            if set(columns_of(part)) <= relation.columns.keys():
                inside = part if inside is None else call("and", (inside, part))
            elif has(part, Sub):
                raise QueryError(
                    "a nested sub-query may refer to the query directly around it only", position=part.position
                )
            else:
                self.on.append(part)
        if inside is not None:
            relation, inside = self.queries.placed(relation, inside)
            self.scope.relation = filtered(relation, inside)

    # without aggregates
    def _rows(self) -> tuple[list[tuple[str, Node]], list[Sorted]]:
        expressions = self.expressions(windows=True)
        items = self._shown(expressions)
        order = self._order(items, expressions)
        return self._finished(items, order, self._qualify(expressions))

    def _qualify(self, expressions: Expressions) -> Node | None:
        """QUALIFY: a condition about windows."""
        clause = self.tree.args.get("qualify")
        if clause is None:
            return None
        node = expressions.node(clause.this)
        if node.facts.kind not in (BOOLEAN, NULL):
            raise QueryError("QUALIFY needs a condition", position=place(clause), sqlstate="42804")
        return node

    def _finished(
        self, items: list[tuple[str, Node]], order: list[Sorted], qualify: Node | None = None
    ) -> tuple[list[tuple[str, Node]], list[Sorted]]:
        """Sub-queries and windows become columns; then QUALIFY is asked."""
        relation = self.scope.relation
        nodes = [node for _, node in items] + [s.node for s in order] + ([] if qualify is None else [qualify])
        for i, node in enumerate(nodes):
            relation, nodes[i] = self.queries.placed(relation, node)
        found: list[Node] = []
        for node in nodes:
            collect(node, Over, found)
        if found:
            windows = [node for node in found if isinstance(node, Over)]
            check_windows(windows, self.on)
            _check_nested(windows)
            relation, overs = self._windows(windows, relation)
            number = self.queries.numbers.next()
            relation = windowed(relation, [(f"{number}.w{i}", over) for i, over in enumerate(overs)])
            columns = {node: relation.columns[f"{number}.w{i}"] for i, node in enumerate(found)}
            nodes = [rewrite(node, lambda n: columns.get(n) if isinstance(n, Over) else None) for node in nodes]
        if qualify is not None:
            relation = filtered(relation, nodes.pop())
        self.scope.relation = relation
        shown = [(name, node) for (name, _), node in zip(items, nodes, strict=False)]
        return shown, [replace(s, node=node) for s, node in zip(order, nodes[len(items) :], strict=True)]

    def _window_facts(self, name: str, args: tuple[Node, ...], position: int) -> Facts:
        """What is known of a window: over one person's rows, or over public rows."""
        if self.scope.relation.private and not self._releases:
            return persons.window_facts(name, args, self.scope.relation.person_rows, position)
        if name in ("row_number", "rank", "dense_rank", "count", "ntile"):
            rows = None if name == "ntile" or self._is_aggregated() else self.scope.relation.shape.rows
            low, high = (None, None) if rows is None else (Fraction(0), Fraction(rows))
            return Facts(INTEGER, low, high, Fraction(1), nullable=name == "ntile")
        if name in ("percent_rank", "cume_dist"):
            return Facts(DOUBLE, nullable=False)
        if not args:
            raise QueryError(f"{name.upper()} needs an argument", position=position, sqlstate="42601")
        facts = args[0].facts
        if name in ("sum", "avg", *SPREADS) and facts.kind not in NUMBERS:
            words = f"{name.upper()} needs numbers, but was given {facts.kind}"
            raise QueryError(words, position=position, sqlstate="42883")
        if name in ("avg", *SPREADS):
            return Facts(DOUBLE)
        if name == "sum":  # a sum of counts is numeric in PostgreSQL, and does not divide whole
            return Facts(DECIMAL if facts.kind == INTEGER else facts.kind, grid=facts.grid)
        return Facts(facts.kind, facts.low, facts.high, facts.grid, True, facts.length)

    def _windows(self, windows: list[Over], relation: Relation) -> tuple[Relation, list[Over]]:
        """Windows below the cut are over one person's rows, and do not depend on how rows lie (semantics 2.2).

        Guarantee: what the windows of one SELECT give for a person is the same whatever the order of the rows, and
            whatever rows other people have.
        Proof: a window that tells ties apart is ordered by every column that can be seen of a row, and rows that still
            tie are alike: whichever is first, the same rows come out. Of two such windows over other parts or in
            another order each would be first in its own way, and pairs of numbers would depend on it. So these are
            ordered by one number of each row, which a window below them gives, itself ordered by every column. No two
            rows of a person have the same, however many there are: it has no bound that an engine would enforce.
            A frame of RANGE or GROUPS is admitted only where no column is open, so that rows which tie are alike.
        Reference: semantics 2.2; docs/decisions/161-ties-of-several-windows.md.
        Checked by: laws::how_rows_lie_changes_no_number, laws::faults_of_ties_are_seen
        """
        if not relation.private:
            return relation, windows
        windows = [replace(over, frame="") if over.name in persons.FRAMELESS else over for over in windows]
        parts = [self._of_one_person(over, relation) for over in windows]
        seen = self._seen_of_rows(relation)
        sensitive = [over.name in persons.ORDERED or over.frame.startswith("ROWS") for over in windows]
        apart = [self._told_apart(over, seen) if ties else over for over, ties in zip(windows, sensitive, strict=True)]
        apart = [replace(over, partition=part) for over, part in zip(apart, parts, strict=True)]
        sorts = {(over.partition, over.order) for over, ties in zip(apart, sensitive, strict=True) if ties}
        if len(sorts) < 2:
            return relation, apart
        facts = Facts(INTEGER, Fraction(1), None, Fraction(1), nullable=False)  # a bound would make two rows one number
        identifiers = set(relation.persons_columns)
        order = tuple(Sorted(node, False, False) for node in seen if not columns_of(node).keys() <= identifiers)
        name = f"{self.queries.numbers.next()}.row"
        relation = windowed(relation, [(name, Over("row_number", (), (), order, facts))])
        last = Sorted(relation.columns[name], False, False)
        return relation, [
            replace(over, order=(*written.order, last)) if ties and over.frame[:4] in ("", "ROWS") else over
            for over, written, ties in zip(apart, windows, sensitive, strict=True)
        ]

    def _of_one_person(self, over: Over, relation: Relation) -> tuple[Node, ...]:
        """What the window is partitioned by beside the person."""
        person = [p for p in over.partition if isinstance(p, Column) and p.unit == PERSON]
        if not person:
            raise QueryError(
                "this window function would read rows of other people",
                position=over.position,
                hint=hints.window_per_person(relation),
                obstacle=Obstacle.OTHERS_IN_WINDOW,
            )
        if over.frame.startswith("RANGE") and any(sign.isdigit() for sign in over.frame):
            raise QueryError(
                "RANGE with a distance is not supported over rows of people", position=over.position, hint="Write ROWS."
            )
        return tuple(p for p in over.partition if p not in person)

    def _seen_of_rows(self, relation: Relation) -> list[Column]:
        """Every column that can be seen of a row: what is read under the names of this query, after GROUP BY every key
        and aggregate; and those of its sub-queries, of which a row may have several where rows break what the policy
        declares. Not the values of expressions that have a name: EXTRACT of an age tells apart what is equal as an age.
        """
        before = self.scope.relation.columns
        nameable = list(before.values()) if self._is_aggregated() else [entry.node for entry in self.scope.entries]
        read = {name: column for node in nameable for name, column in columns_of(node).items()}
        read |= {name: column for name, column in relation.columns.items() if name not in before}
        return list(read.values())

    def _told_apart(self, over: Over, seen: list[Column]) -> Over:
        """The window with ties decided by every other column that can be seen of a row. SQL leaves ties open."""
        identifiers = set(self.scope.relation.persons_columns)
        parts = [p for p in over.partition if not (isinstance(p, Column) and p.name in identifiers)]
        fixed = {*parts, *(s.node for s in over.order)}
        names = {node.name for node in fixed if isinstance(node, Column)} | identifiers
        open_columns = [node for node in seen if node not in fixed and not columns_of(node).keys() <= names]
        if open_columns and not over.frame.startswith("ROWS") and (over.frame or over.name == "last_value"):
            raise QueryError(
                f"{over.name.upper()} depends on the physical order of rows that tie in ORDER BY",
                position=over.position,
                hint=hints.window_per_person(self.scope.relation),
                obstacle=Obstacle.TIES_IN_WINDOW,
            )
        return replace(over, order=(*over.order, *(Sorted(node, False, False) for node in open_columns)))

    def _shown(self, expressions: Expressions) -> list[tuple[str, Node]]:
        """The select list; from here on its names may be said."""
        items, names = [], []
        for item in self.tree.expressions:
            found = self._items(item, expressions)
            names += found if isinstance(item, exp.Alias) else []
            items += found
        expressions.titles = dict(reversed(names))
        return items

    def _items(self, item: exp.Expression, expressions: Expressions) -> list[tuple[str, Node]]:
        """What an item of the list shows: all columns for *."""
        star = isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))
        if not star:
            return [self._item(item, expressions)]
        owner = item.args.get("table") if isinstance(item, exp.Column) else None
        shown = self.scope.shown(None if owner is None else fold(owner))
        if not shown:
            raise QueryError("SELECT * without tables is not valid", position=place(item), sqlstate="42P01")
        return [(entry.name, entry.node) for entry in shown]

    def _item(self, item: exp.Expression, expressions: Expressions) -> tuple[str, Node]:
        if isinstance(item, exp.Alias):
            return fold(item.args["alias"]), expressions.node(item.this)
        return title(item), expressions.node(item)

    def _order(self, items: list[tuple[str, Node]], expressions: Expressions) -> list[Sorted]:
        result = []
        for item in (self.tree.args.get("order") or exp.Order()).expressions:
            this = item.this
            named_so = [node for name, node in items if isinstance(this, exp.Column) and name == fold(this.this)]
            if isinstance(this, exp.Literal) and not this.is_string:
                node = by_place(this, items)
            elif named_so and not this.args.get("table"):
                node = named_so[0]
            else:
                node = expressions.node(this)
            result.append(Sorted(node, bool(item.args.get("desc")), bool(item.args.get("nulls_first"))))
        return result

    # with aggregates
    def _is_aggregated(self) -> bool:
        tree = self.tree
        parts = [*tree.expressions, tree.args.get("order")]
        return bool(tree.args.get("group") or tree.args.get("having")) or any(
            part is not None and _aggregates_in(part) for part in parts
        )

    def _grouped(self) -> tuple[list[tuple[str, Node]], list[Sorted]]:
        """GROUP BY: a release, a person's own groups, or groups of public rows."""
        queries, relation = self.queries, self.scope.relation
        keys, sets = self._keys()
        keys, sets = self._outer_keys(keys, sets)
        person = [i for i, key in enumerate(keys) if isinstance(key, Column) and key.unit == PERSON]
        by_person = relation.private and bool(person) and all(any(i in kept for i in person) for kept in sets)
        if relation.private and not by_person:
            self._check_mixed(keys, bool(person))
        self._releases = relation.private and not by_person
        number = queries.numbers.next()
        names = [f"{number}.k{i}" for i in range(len(keys))]
        expressions = self.expressions(self._aggregator(by_person), windows=True)
        expressions.grouping = lambda nodes, at: grouping(nodes, keys, sets, number, at)
        items = self._shown(expressions)
        order = self._order(items, expressions)
        having = self.tree.args.get("having")
        condition = None if having is None else expressions.condition(having)
        relation = self._without_unlisted(relation, condition)
        qualify = self._qualify(expressions)
        nodes = [node for _, node in items] + [s.node for s in order]
        nodes += [node for node in (condition, qualify) if node is not None]
        found: list[Node] = []
        for node in nodes:
            collect(node, Aggregate, found)
            check_count(len(found), MOST_AGGREGATES, "different aggregates in one SELECT", node.position)
        placed_keys = []
        for key in keys:
            relation, placed = queries.placed(relation, key)
            placed_keys.append(placed)
        placed_aggregates: list[tuple[str, Aggregate]] = []
        for i, node in enumerate(found):
            relation, placed = queries.placed(relation, node)
            assert isinstance(placed, Aggregate)
            placed_aggregates.append((f"{number}.a{i}", placed))
        for part in (*placed_keys, *(a for _, a in placed_aggregates)):
            outside = [c for name, c in columns_of(part).items() if name not in relation.columns]
            if outside:
                raise QueryError(
                    "a sub-query may refer to the outer query in its WHERE only", position=outside[0].position
                )
        build = released if self._releases else grouped
        after = build(relation, list(zip(names, placed_keys, strict=True)), placed_aggregates, sets, number)
        above = self._above(keys, found, after, number)
        kept = met_keys(after, lambda: str(queries.numbers.next())) if isinstance(after, Release) else after
        self.scope.relation = kept
        self.on = [rewrite(part, above) for part in self.on]
        if self.on:
            self.counts = frozenset(name for name, a in placed_aggregates if a.name.startswith("count"))
            if condition is not None:
                raise QueryError("HAVING is not supported in a correlated sub-query", position=place(having))
        if condition is not None:
            relation, condition = queries.placed(kept, rewrite(condition, above))
            self.scope.relation = filtered(relation, condition)
        items = [(name, rewrite(node, above)) for name, node in items]
        order = [replace(s, node=rewrite(s.node, above)) for s in order]
        return self._finished(items, order, None if qualify is None else rewrite(qualify, above))

    def _without_unlisted(self, relation: Relation, having: Node | None) -> Relation:
        """The rows that are released: none where HAVING asks for a key that is not listed, for no group has it."""
        unlisted = [part for part in conjuncts(having) if self._releases and not self.on and is_unlisted(part)]
        return filtered(relation, unlisted[0] if unlisted else None)

    def _above(
        self, keys: list[Node], found: list[Node], after: Relation, number: int
    ) -> Callable[[Node], Node | None]:
        """Keys and aggregates as columns of what has been grouped; anything else of a row may not be shown."""
        columns = {node: after.columns[f"{number}.a{i}"] for i, node in enumerate(found)}

        def change(node: Node) -> Node | None:
            for i, key in enumerate(keys):
                if node == key and not isinstance(node, Constant):
                    return replace(after.columns[f"{number}.k{i}"], position=node.position)
            if isinstance(node, Aggregate):
                return replace(columns[node], position=node.position)
            if isinstance(node, Column) and node.name in after.columns:
                return node
            if isinstance(node, Column) and node.name in self.scope_columns:
                raise _not_grouped(node)
            return None

        return change

    @property
    def scope_columns(self) -> set[str]:
        """The columns below, which may not be shown by themselves."""
        return {name for entry in self.scope.entries for name in columns_of(entry.node)}

    def _aggregator(self, by_person: bool) -> Aggregator:
        private, rows = self.scope.relation.private, self.scope.relation.shape.rows

        def aggregate(name: str, args: tuple[Node, ...], where: Node | None, position: int) -> Node:
            if not private:
                return plain.bind(name, args, where, position)
            if by_person:
                return persons.bind(name, args, where, rows or 1, position)
            if name.endswith("_distinct") and name.removesuffix("_distinct") in OF_DIFFERENT:
                of = name.removesuffix("_distinct")
                return of_different(of, args[0], lambda one, arg: aggregate(one, (arg,), where, position), position)
            return _released_aggregate(name, args, where, position, self.scope.relation)

        return aggregate

    def _check_mixed(self, keys: list[Node], person: bool) -> None:
        """Keys of a release are attributes; inside a query, a function of the person surely meant the person."""
        for key in keys:
            if person or (self.nested and any(c.unit == PERSON for c in columns_of(key).values())):
                raise QueryError(
                    "these groups would mix people: every grouping set must contain the privacy unit as a plain column",
                    position=key.position,
                    hint=hints.per_person(self.scope.relation),
                    obstacle=Obstacle.PERSON_MISSING,
                )
        check_keys(keys, place(self.tree))

    def _outer_keys(
        self, keys: list[Node], sets: tuple[tuple[int, ...], ...]
    ) -> tuple[list[Node], tuple[tuple[int, ...], ...]]:
        """An aggregate about the row around it: what is compared with that row is a key here."""
        if not self.on:
            return keys, sets
        if self.tree.args.get("group") is not None:
            raise QueryError("GROUP BY is not supported in a correlated sub-query", position=place(self.tree))
        inner = self.scope.relation.columns.keys()
        for i, part in enumerate(self.on):
            sides = part.args if isinstance(part, Call) and part.name == "=" else ()
            mine = [side for side in sides if columns_of(side) and columns_of(side).keys() <= inner]
            if len(mine) != 1:
                raise QueryError(
                    "an aggregate in a correlated sub-query can be correlated by equalities only",
                    position=part.position,
                    hint="Write WHERE inner.column = outer.column.",
                )
            if mine[0] not in keys:
                keys.append(mine[0])
            other = next(side for side in sides if side is not mine[0])
            self.on[i] = replace(part, args=(mine[0], other)) if isinstance(part, Call) else part
        return keys, (tuple(range(len(keys))),)

    def _keys(self) -> tuple[list[Node], tuple[tuple[int, ...], ...]]:
        """The keys, and the grouping sets over them."""
        group = self.tree.args.get("group")
        if group is None:
            return [], ((),)
        check_sets(group)
        keys: dict[Node, int] = {}

        def number(item: exp.Expression) -> int:
            node = self._key(item)
            if has(node, Aggregate | Over):
                raise QueryError("aggregates are not allowed in GROUP BY", position=place(item), sqlstate="42803")
            return keys.setdefault(node, len(keys))

        sets: list[tuple[int, ...]] = [()]
        for item in group.expressions:
            choices = grouping_sets(item, number)
            sets = [tuple(dict.fromkeys((*kept, *more))) for kept in sets for more in choices]
        return list(keys), tuple(tuple(sorted(kept)) for kept in sets)

    def _key(self, item: exp.Expression) -> Node:
        """A key by its place, by its name in the list, or as an expression; a column's name comes before an alias."""
        expressions = self.expressions()
        listed = self.tree.expressions
        if isinstance(item, exp.Literal) and not item.is_string:
            number = int(item.this) if item.this.isdecimal() and len(item.this) < 10 else 0
            if not 1 <= number <= len(listed):
                raise QueryError(
                    f"position {item.this} is not in the select list", position=place(item), sqlstate="42P10"
                )
            if _aggregates_in(listed[number - 1]):
                raise QueryError("aggregates are not allowed in GROUP BY", position=place(item), sqlstate="42803")
            return self._item(listed[number - 1], expressions)[1]
        if isinstance(item, exp.Column) and not item.args.get("table"):
            name = fold(item.this)
            known = any(entry.name == name and not entry.hidden for entry in self.scope.entries)
            named_so = [i.this for i in listed if isinstance(i, exp.Alias) and fold(i.args["alias"]) == name]
            if named_so and not known:
                if _aggregates_in(named_so[0]):
                    raise QueryError("aggregates are not allowed in GROUP BY", position=place(item), sqlstate="42803")
                return expressions.node(named_so[0])
        return expressions.node(item)


def _released_aggregate(
    name: str, args: tuple[Node, ...], where: Node | None, position: int, relation: Relation
) -> Aggregate:
    """An aggregate over all persons."""
    arg = args[0] if args else None
    if name == "count_distinct" and isinstance(arg, Column) and arg.unit:
        if arg.unit == PERSON:
            return AGGREGATES["count_persons"].bind(args, where, position)
        if arg.unit.startswith(HALF):
            known = call("not", (call("is null", (arg,)),))
            where = known if where is None else call("and", (known, where))
            return AGGREGATES["count_persons"].bind(args, where, position)
    if isinstance(arg, Column) and arg.unit == PERSON and name != "count":
        raise QueryError(
            f"{name.upper()} of the privacy unit would return the identifier of a person",
            position=position,
            sqlstate="42501",
            hint=hints.count_persons(relation),
            obstacle=Obstacle.PERSON_SHOWN,
        )
    if name not in AGGREGATES:
        raise QueryError(
            f"{name.upper()} would return values of individual people"
            if name in plain.LISTS
            else f"aggregate {name.upper()} is not supported",
            position=position,
            hint=GeneralHint(f"Supported aggregates: {', '.join(sorted(AGGREGATES)).upper()}."),
        )
    return AGGREGATES[name].bind(args, where, position)


def _not_grouped(node: Column) -> QueryError:
    name = node.name.split(".", 1)[1]
    person = node.unit == PERSON
    return QueryError(
        f'column "{name}" must appear in GROUP BY or in an aggregate:'
        f" otherwise the query would return {'the identifier' if person else 'values'} of individual people",
        position=node.position,
        sqlstate="42803",
        hint=f"Write COUNT(DISTINCT {name})."
        if person
        else f"Write GROUP BY {name}, or an aggregate such as COUNT({name}).",
    )


def _aggregates_in(tree: exp.Expression) -> bool:
    """Whether an aggregate stands in an expression by itself: not as a window, not inside a sub-query."""
    if isinstance(tree, exp.Query):
        return False
    if isinstance(tree, exp.Window):
        inner = tree.this.this if isinstance(tree.this, exp.Filter) else tree.this
        parts = [part for part in [*inner.iter_expressions(), *tree.iter_expressions()] if part is not tree.this]
        return any(_aggregates_in(part) for part in parts)
    if aggregate_name(tree) is not None or isinstance(tree, exp.WithinGroup | exp.Grouping):
        return True
    return any(_aggregates_in(part) for part in tree.iter_expressions())


def _check_nested(windows: list[Over]) -> None:
    """A window may not stand in another one, also not by a name of the list."""
    for over in windows:
        parts = (*over.args, *over.partition, *(item.node for item in over.order))
        if any(has(part, Over) for part in parts):
            raise QueryError(
                "window function calls cannot be nested",
                position=over.position,
                sqlstate="42P20",
                hint="Compute the inner one in a sub-query.",
            )
