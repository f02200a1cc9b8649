"""What FROM names: tables of the policy, WITH queries and sub-queries, joined one after the other.

Comes in: the FROM of a SELECT. Goes out: a Scope: the relation, and what each visible column is of it. The unit of a
table is attached here, in its scan, and followed by lineage from there on (semantics 1.1, 2.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from sfumato.algebra.functions import call
from sfumato.algebra.key_parts import of_another_row
from sfumato.algebra.public_rows import PublicRows
from sfumato.algebra.relations import (
    Fixed,
    Relation,
    RelationShape,
    Scan,
    SingleRow,
    named,
    recursions_in,
    releases_in,
    scans_in,
    series,
)
from sfumato.algebra.table_scans import scan_of
from sfumato.algebra.tree import HALF, PERSON, Column, Node, columns_of, conjuncts
from sfumato.errors import Obstacle, QueryError
from sfumato.policy import Policy, Table
from sfumato.sql.bind.bound_query import MOST_JOINS, Bound, Names, Queries, SharedWith, check_count
from sfumato.sql.bind.expressions import Expressions, fold, is_quoted
from sfumato.sql.bind.factoring import factored
from sfumato.sql.bind.joins import joined, same_person
from sfumato.sql.bind.nobodys_rows import count_in_nothing
from sfumato.sql.bind.recursion import people_followed
from sfumato.sql.bind.rewrite import bounded, rewrite
from sfumato.sql.bind.scope import Scope, ScopeColumn, there_are
from sfumato.sql.bind.series import written_series
from sfumato.sql.bind.zoned_values import mark_zones
from sfumato.sql.read.parser import parse, place


@dataclass
class Sources:
    """The tables and queries that a question reads."""

    queries: Queries
    policy: Policy
    look: PublicRows | None
    views: dict[str, str]
    stored: frozenset[str] = frozenset()
    keeper: PublicRows | None = None

    def source(self, node: exp.Expression, names: Names) -> Scope:
        """A table, a WITH query, or a sub-query, with its alias."""
        if isinstance(node, exp.Subquery):
            if isinstance(node.this, exp.Table):  # brackets around a join
                return self.joins(node.this, node.this.args.get("joins") or [], names, None)
            bound = self.queries.settled(self.queries.query(node.this, names, None), node)
            alias = node.args.get("alias")
            if alias is None or alias.this is None:  # nobody can say its name, but it is one of its own
                return _scope(bound, f"sub-query {self.queries.numbers.next()}")
            return _scope(renamed(bound, alias), fold(alias.this))
        if isinstance(node, exp.Table) and isinstance(node.this, exp.ExplodingGenerateSeries):
            return self._series(node)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise QueryError("FROM needs tables of the policy, or sub-queries", position=place(node))
        name, alias = fold(node.this), node.args.get("alias")
        owner = fold(alias.this) if alias is not None and alias.this is not None else name
        if name in names:
            bound = self._shared(names[name])
            return _scope(bound if alias is None else renamed(bound, alias), owner)
        table = self._known(node.this, name)
        if table is None:
            hint = there_are(name, sorted(self.policy.tables), "Tables")
            raise QueryError(f'there is no table "{name}"', position=place(node), sqlstate="42P01", hint=hint)
        bound = self._view(table) if table.name in self.views else self._table(table)
        return _scope(bound if alias is None else renamed(bound, alias), owner)

    def _known(self, written: exp.Identifier, name: str) -> Table | None:
        """The table of a name; without quotes the one that has it when case is left aside."""
        alike = [t for t in self.policy.tables.values() if t.name.lower() == name and not is_quoted(written)]
        return self.policy.tables.get(name) or (alike[0] if len(alike) == 1 else None)

    def _series(self, node: exp.Table) -> Scope:
        """generate_series(from, to, step) of written values."""
        ends = Expressions(Scope(SingleRow(RelationShape({}, False, 1, (frozenset(),))), []), self.queries.today)
        parts = [
            None if node.this.args.get(p) is None else ends.node(node.this.args[p]) for p in ("start", "end", "step")
        ]
        number, alias = self.queries.numbers.next(), node.args.get("alias")
        owner = "generate_series" if alias is None or alias.this is None else fold(alias.this)
        facts, values = written_series(parts, place(node))
        relation = series(f"{number}.value", facts, values)
        bound = Bound(relation, ((owner, relation.columns[f"{number}.value"]),))
        return _scope(bound if alias is None else renamed(bound, alias), owner)

    def _table(self, table: Table) -> Bound:
        scan = self._scan(table)
        return Bound(scan, tuple(zip(table.columns, scan.columns.values(), strict=True)))

    def _view(self, table: Table) -> Bound:
        """A view is its query, judged like any other (semantics 1.1): what it shows must still be the person's."""
        wrong, tree = f'the view "{table.name}"', parse(self.views[table.name])
        mark_zones(tree, self.policy)
        if tree.find(exp.Div) is not None:
            raise QueryError(f"{wrong} divides, which engines do differently", hint="Divide in the query.")
        if any(self._is_elsewhere(part) for part in tree.find_all(exp.Table)):
            raise QueryError(f"{wrong} reads a table of another schema", hint="Name its underlying tables instead.")
        if any(_is_renamed(part) and self._known(part.this, fold(part.this)) for part in tree.find_all(exp.Table)):
            raise QueryError(f"{wrong} renames columns of a table by position", hint="Use the original column names.")
        bound = self.queries.settled(self.queries.query(tree, {}, None), exp.Select())
        if releases_in(bound.relation):
            raise QueryError(f"{wrong} aggregates people", hint="Name its tables in the policy, and aggregate in SQL.")
        if bound.relation.private == table.public:
            raise QueryError(f"{wrong} is {'not ' if table.public else ''}public", hint="Correct the policy.")
        shown = tuple((name, node) for name, node in bound.items if not table.columns or name in table.columns)
        if not table.public and not any(
            name == table.unit and isinstance(node, Column) and node.unit == PERSON for name, node in shown
        ):
            raise QueryError(
                f"{wrong} does not return the privacy unit",
                hint="It must select the unit column unchanged.",
                obstacle=Obstacle.PERSON_MISSING,
            )
        return replace(bound, items=shown)

    def _is_elsewhere(self, table: exp.Table) -> bool:
        """Whether a view means a table that is not where those of the policy are: a database of DuckDB has these in
        `main`, and a server writes a schema only where the bare name would mean another table.
        """
        schema, own = table.args.get("db"), "main" if self.policy.source.engine == "duckdb" else None
        return table.args.get("catalog") is not None or (schema is not None and fold(schema) != own)

    def _scan(self, table: Table) -> Scan:
        return scan_of(table, self.policy, self.queries.numbers.next(), table.name in self.stored)

    def _shared(self, shared: SharedWith) -> Bound:
        """A WITH query. A column's name is its own in the question, so a second use has other names.

        Where public tables are read it is bound once more, as if it were written twice: which values a column of such a
        table has as a key is known by the table. What was released is one draw, under new names.
        """
        if not shared.used:
            shared.used = True
            return shared.bound
        relation = shared.bound.relation
        if shared.again is not None and any(s.table.public for s in scans_in(relation)) and not releases_in(relation):
            return shared.again()
        number = self.queries.numbers.next()
        items = [(f"{number}.{i}", node) for i, (_, node) in enumerate(shared.bound.items)]
        relation = named(relation, items)
        columns = {name: replace(c, unit=of_another_row(c.unit, number)) for name, c in relation.columns.items()}
        relation = replace(relation, shape=replace(relation.shape, columns=columns))
        shown = tuple((name, c) for (name, _), c in zip(shared.bound.items, relation.columns.values(), strict=True))
        return Bound(relation, shown)

    def joins(self, first: exp.Expression, rest: list[exp.Join], names: Names, where: exp.Expression | None) -> Scope:
        """The tables of FROM, joined one after the other; a comma takes its condition from WHERE."""
        check_count(len(rest), MOST_JOINS, "joins", place(first))
        scope = self.source(first, names)
        waiting = []
        for join in rest:
            waiting.append((self.source(join.this, names), join))
            for inner in join.this.args.get("joins") or [] if isinstance(join.this, exp.Table) else []:
                raise QueryError("write these joins one after the other", position=place(inner))
        written = [entry.owner for part in (scope, *(right for right, _ in waiting)) for entry in part.entries]
        listed = all(_is_comma(join) for join in rest)
        moved = False
        while waiting:
            at = self._next(scope, waiting, where) if listed and where is not None else 0
            scope, moved = self._join(scope, *waiting.pop(at), where), moved or at > 0
        if moved:  # a comma has no order, but what * shows has
            scope.entries.sort(key=lambda entry: written.index(entry.owner))
        return scope

    def _next(self, scope: Scope, waiting: list[tuple[Scope, exp.Join]], where: exp.Expression) -> int:
        """Which table of a list to join next: the first that WHERE ties to those before it, persons by their person."""
        tied = []
        for at, (right, _) in enumerate(waiting):
            parts = list(self._borrowed(Scope(scope.relation, [*scope.entries, *right.entries]), scope, right, where))
            both = scope.relation.private and right.relation.private
            if parts and (not both or same_person(parts, scope.relation, right.relation)[0]):
                if at == 0:
                    return 0
                tied.append(at)
        return tied[0] if tied else 0

    def _join(self, left: Scope, right: Scope, join: exp.Join, where: exp.Expression | None) -> Scope:
        taken = {entry.owner for entry in left.entries} & {entry.owner for entry in right.entries}
        if taken:
            raise QueryError(
                f'table "{taken.pop()}" is specified more than once',
                position=place(join),
                sqlstate="42712",
                hint="Give it an alias.",
            )
        side = str(join.args.get("side") or "").lower()
        kind = {"": "inner", "left": "left", "right": "left", "full": "full"}.get(side)
        word, method = (str(join.args.get(part) or "").upper() for part in ("kind", "method"))
        if kind is None or word not in ("", "INNER", "OUTER", "CROSS") or method not in ("", "NATURAL"):
            what = word or side if method in ("", "NATURAL") else method
            raise QueryError(f"{what} JOIN is not supported", position=place(join))
        number = self.queries.numbers.next()
        near, far = (right, left) if side == "right" else (left, right)
        if kind == "left" and far.relation.private and not near.relation.private:
            owners = {entry.owner for entry in far.entries}
            names = {entry.name for entry in far.entries} - {entry.name for entry in near.entries}
            if count_in_nothing(join, lambda c: fold(c.args["table"]) in owners if c.table else fold(c.this) in names):
                kind = "inner"
        if kind != "inner":  # what may be missing is missing whole: only bare columns can pass as they are
            right = self._bare(right) if side != "right" else right
            left = self._bare(left) if side != "left" else left
        both = Scope(left.relation, [*left.entries, *right.entries])
        using = self._using(left, right, join)
        parts: list[Node] = [
            call("=", (left.find(None, a, place(join)), right.find(None, b, place(join))), "", place(join))
            for a, b in using
        ]
        if join.args.get("on") is not None:
            expressions = Expressions(both, self.queries.today)
            parts += conjuncts(expressions.condition(exp.Where(this=factored(join.args["on"]))))
        if not parts and kind == "inner" and where is not None:
            parts = list(self._borrowed(both, left, right, where))
        near, far = (right, left) if side == "right" else (left, right)
        if near.relation.private != far.relation.private:
            near, far = (replace(scope, relation=self.fixed(scope.relation)) for scope in (near, far))
        condition: Node | None = None
        for part in parts:
            condition = part if condition is None else call("and", (condition, part))
        relation = joined(
            kind,
            near.relation,
            far.relation,
            condition,
            number=number,
            fan_out=self.fan_out,
            position=place(join),
            written=f"USING ({', '.join(a for a, _ in using)})" if using else _written(join),
        )
        return self._visible(relation, left, right, using=using, side=side, number=number)

    def _visible(
        self,
        relation: Relation,
        left: Scope,
        right: Scope,
        *,
        using: list[tuple[str, str]],
        side: str,
        number: int,
    ) -> Scope:
        """The columns after a join, as they are there; what USING names stands first, once."""

        def there(node: Node) -> Node:
            return relation.columns.get(node.name, node) if isinstance(node, Column) else node

        def present(entry: ScopeColumn) -> ScopeColumn:
            return replace(entry, node=rewrite(entry.node, lambda n: there(n) if isinstance(n, Column) else None))

        entries = [present(entry) for entry in (*left.entries, *right.entries)]
        merged = []
        for name, other in using:
            a, b = there(left.find(None, name, 0)), there(right.find(None, other, 0))
            node = b if side == "right" else a
            if side == "full":
                whole = relation.columns.get(f"{number}.unit")
                halves = all(isinstance(n, Column) and n.unit.startswith(HALF) for n in (a, b))
                node = whole if whole is not None and halves else call("coalesce", (a, b))
            merged.append(ScopeColumn("", name, node))
        named_so = [{a for a, _ in using}] * len(left.entries) + [{b for _, b in using}] * len(right.entries)
        hidden = [
            replace(entry, hidden=True) if entry.name in names else entry
            for entry, names in zip(entries, named_so, strict=True)
        ]
        return Scope(relation, [*merged, *hidden])

    def _bare(self, scope: Scope) -> Scope:
        """The scope with every visible expression as a column of its own."""
        if all(isinstance(entry.node, Column) for entry in scope.entries):
            return scope
        number = self.queries.numbers.next()
        items = [(f"{number}.{i}", entry.node) for i, entry in enumerate(scope.entries)]
        relation = named(scope.relation, items)
        pairs = zip(scope.entries, relation.columns.values(), strict=True)
        return Scope(relation, [replace(entry, node=column) for entry, column in pairs])

    def _using(self, left: Scope, right: Scope, join: exp.Join) -> list[tuple[str, str]]:
        """The columns that USING compares, as each side spells them."""
        if str(join.args.get("method") or "").upper() == "NATURAL":
            names = {entry.name for entry in right.shown()}
            return [(entry.name, entry.name) for entry in left.shown() if entry.name in names]

        def spelled(name: exp.Expression, scope: Scope) -> str:
            found = scope.look(None, fold(name), place(join), folded=not is_quoted(name))
            return fold(name) if found is None else found.name

        return [(spelled(name, left), spelled(name, right)) for name in join.args.get("using") or []]

    def _borrowed(self, both: Scope, left: Scope, right: Scope, where: exp.Expression) -> Iterator[Node]:
        """The parts of WHERE that speak of both sides of a comma, and of nothing else."""
        parts = [where.this]
        while parts:
            part = parts.pop(0)
            if isinstance(part, exp.And):
                parts[:0] = [part.this, part.expression]
                continue
            if isinstance(part, exp.Paren):
                parts.insert(0, part.this)
                continue
            if part.find(exp.Query) is not None:
                continue
            try:
                node = Expressions(both, self.queries.today).node(part)
            except QueryError:
                continue
            reads = columns_of(node)
            if reads.keys() & left.relation.columns.keys() and reads.keys() & right.relation.columns.keys():
                yield node

    def fixed(self, relation: Relation) -> Relation:
        """A public relation as private rows meet it: computed once; tables do not change, and stay as they are."""
        if relation.private or isinstance(relation, Scan | Fixed):
            return relation
        if recursions_in(relation):
            raise people_followed(0)
        number, shape = self.queries.fixes.next(), relation.shape
        if self.keeper is None or releases_in(relation):
            return Fixed(shape, relation, number)
        kept = self.keeper.fix(relation)
        return Fixed(replace(shape, rows=kept.rows), relation, number, kept)

    def fan_out(self, relation: Relation, equal: list[Node]) -> int:
        """How many rows of a public relation one row can meet: counted, for it is nobody's data."""
        if releases_in(relation):
            if relation.shape.rows is None:
                raise QueryError(
                    "the number of released rows that one row matches cannot be known in advance",
                    hint="Join on all keys of the released table.",
                )
            return relation.shape.rows
        rows = self.look if self.keeper is None else self.keeper
        if rows is None:
            raise QueryError("public tables cannot be read here")
        return rows.most_alike(relation, equal)


def renamed(bound: Bound, alias: exp.Expression) -> Bound:
    """AS t(a, b): the first columns under new names."""
    names = [fold(name.this if isinstance(name, exp.ColumnDef) else name) for name in alias.args.get("columns") or []]
    if len(names) > len(bound.items):
        raise QueryError(
            f"there are {len(bound.items)} columns, but {len(names)} names", position=place(alias), sqlstate="42P10"
        )
    renamed = [(names[i] if i < len(names) else name, node) for i, (name, node) in enumerate(bound.items)]
    return replace(bound, items=tuple(renamed))


def _is_renamed(part: exp.Table) -> bool:
    """Whether a table has new names for its columns: in a view for those of the source, not for those of the policy."""
    alias = part.args.get("alias")
    return isinstance(part.this, exp.Identifier) and alias is not None and bool(alias.args.get("columns"))


def _scope(bound: Bound, owner: str) -> Scope:
    return Scope(bound.relation, [ScopeColumn(owner, name, bounded(node)) for name, node in bound.items])


def _is_comma(join: exp.Join) -> bool:
    """Whether a table is one of a list, or written with CROSS JOIN: it has no condition of its own."""
    words = [join.args.get(word) for word in ("on", "using", "side", "method")]
    return not any(words) and str(join.args.get("kind") or "").upper() in ("", "CROSS")


def _written(join: exp.Join) -> str:
    """The condition as it was written, where it names columns by themselves."""
    on = join.args.get("on")
    if on is None or any(column.args.get("table") for column in on.find_all(exp.Column)):
        return ""
    return f"ON {on.sql(dialect='postgres')}"
