"""Relations as nested SELECTs that carry the person, hidden, as `_u`, up to the release.

Comes in: a relation and the columns that are wanted of it, and the dialect of an engine. Goes out: one SELECT, and the
public rows that it is handed. Rows of public tables are never read here: a job meets the rows that planning has
counted, which are handed to the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sfumato.algebra.column_facts import facts_of
from sfumato.algebra.relations import (
    Distinct,
    Filter,
    Fixed,
    Grouped,
    Join,
    MarkJoin,
    Projection,
    Relation,
    Scan,
    SingleRow,
    UnionAll,
    Windowed,
)
from sfumato.algebra.tree import PERSON, Aggregate, Call, Constant, Facts, Node, Over, children, columns_of
from sfumato.engines.base import bounded_sql
from sfumato.errors import QueryError
from sfumato.interrupts import step
from sfumato.policy import PolicyColumn, UnitJoin


class RemoteColumn(Protocol):
    """A column of a table that is read where it is."""

    def raw(self, alias: str) -> str:
        """The bare value, texts by their bytes."""
        ...


class RemoteTable(Protocol):
    """A table that is read where it is."""

    @property
    def columns(self) -> Mapping[str, Any]:
        """Its columns."""
        ...

    @property
    def place(self) -> str:
        """What stands in FROM."""
        ...


@dataclass(frozen=True)
class UnitSql:
    """What an engine aggregates over one unit's rows, by name, and the value that is made of it."""

    columns: dict[str, str]
    value: str


@dataclass(frozen=True)
class SelectDialect:
    """How an engine writes what is in a SELECT."""

    name: str
    identifier: Callable[[str], str]
    type_of: Callable[[Facts], str]
    null: Callable[[Facts], str]
    text: Callable[[str], str]
    literal: Callable[[object, Facts], str]
    """A constant, an exact number in steps of its grid."""
    number: Callable[[float], str]
    """A double, exactly."""
    expression: Callable[[Node], str]
    truth: Callable[[Node], str]
    """A condition; a missing one has no other type."""
    alike: Callable[[tuple[Node, ...]], list[str]]
    """Values that are compared, in one representation."""
    represented: Callable[[Node, Facts], str]
    """A value as one of a column of UNION."""
    enforced: Callable[[PolicyColumn, Any, Facts], str]
    """A column held to its declared domain."""
    is_in: Callable[[str, str, str], str]
    """An operand, a value and the FROM … WHERE of its rows: IN, by the logic of three values."""
    smallest: Callable[[str, str], str]
    """The least of the values of a column, and its type."""
    aggregate: Callable[[str, Aggregate], UnitSql]
    window: Callable[[str, Over], UnitSql]
    whole: Callable[[int, str], str]
    """A whole number in a type."""
    handed_hint: str = ""
    """Stands before the columns of rows that a statement is handed."""


def patterns_in(node: Node) -> list[str]:
    """The regular expressions of a node: a server reads one when it first meets a row, so a dry run reads them."""
    found = [pattern for child in children(node) for pattern in patterns_in(child)]
    if isinstance(node, Call) and node.name in ("regexp_like", "regexp_replace", "regexp_substring"):
        found += [str(arg.value) for arg in node.args[1:2] if isinstance(arg, Constant)]
    return found


@dataclass(frozen=True)
class PassedRows:
    """Public rows that a statement is handed: of which relation, and which columns, under which name."""

    relation: Scan | Fixed
    columns: tuple[str, ...]
    name: str


@dataclass
class SelectWriter:
    """Writes SELECTs over tables, and collects what they are handed and the patterns that they read."""

    dialect: SelectDialect
    tables: Mapping[str, RemoteTable]
    handed: list[PassedRows] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)

    def select(self, relation: Relation, wanted: Iterable[str]) -> str:
        """The SELECT that gives these columns, and the person where the relation is private."""
        step()
        forms: dict[type[Relation], Callable[[Any, list[str]], str]] = {
            SingleRow: lambda *_: "SELECT 1 AS _",
            Scan: self._scan,
            Fixed: self._handed,
            Filter: self._filter,
            Projection: self._named,
            Join: self._join,
            MarkJoin: self._marked,
            Distinct: self._distinct,
            UnionAll: self._stacked,
            Grouped: self._grouped,
            Windowed: self._windowed,
        }
        form = forms.get(type(relation))
        if form is None or not (relation.private or isinstance(relation, SingleRow | Scan | Fixed)):
            kind = type(relation).__name__.lower()
            raise QueryError(f"this query is not supported by {self.dialect.name} yet: {kind} of public rows")
        text = form(relation, sorted(set(wanted)))
        return text if isinstance(relation, Scan) else bounded_sql(text)  # domains are the policy's, however long

    def read(self, node: Node) -> str:
        """An expression whose patterns a dry run must read."""
        self.patterns += patterns_in(node)
        return self.dialect.expression(node)

    def condition(self, node: Node) -> str:
        """A condition, likewise."""
        self.patterns += patterns_in(node)
        return self.dialect.truth(node)

    def quoted(self, name: str) -> str:
        """A name as the engine reads it."""
        return self.dialect.identifier(name)

    def _names(self, names: Iterable[str]) -> list[str]:
        return [self.quoted(name) for name in names]

    # rows that are there
    def _handed(self, relation: Scan | Fixed, wanted: list[str]) -> str:
        name = f"#rows {len(self.handed)}"
        self.handed.append(PassedRows(relation, tuple(wanted), name))
        shown = ", ".join(f"h.{self.quoted(column)} AS {self.quoted(column)}" for column in wanted)
        return f"SELECT {self.dialect.handed_hint}{shown or '1 AS _'} FROM {self.quoted(name)} AS h"

    def _scan(self, scan: Scan, wanted: list[str]) -> str:
        table, prefix = scan.table, f"{scan.number}."
        if table.public:
            return self._handed(scan, wanted)
        there = self.tables[table.name]
        must = [name for name, column in table.columns.items() if not column.nulls]
        read = sorted({name.removeprefix(prefix) for name in wanted} | set(must))
        shown = [
            f"{self.dialect.enforced(table.columns[name], there.columns[name], facts_of(table.columns[name]))}"
            f" AS {self.quoted(prefix + name)}"
            for name in read
        ]
        unit, source = self.unit_of(scan)
        known = ["_u IS NOT NULL", *(f"{self.quoted(prefix + name)} IS NOT NULL" for name in must)]
        if scan.single:  # whatever a catalog says: an index may be dropped while the gateway is open
            shown.append(f"COUNT(*) OVER (PARTITION BY {unit}) AS _rows")
            known.append("_rows = 1")
        inner = f"SELECT {', '.join([f'{unit} AS _u', *shown])} FROM {source}"
        return f"SELECT {_list(scan, self._names(wanted))} FROM ({inner}) AS t WHERE {' AND '.join(known)}"

    def unit_of(self, scan: Scan) -> tuple[str, str]:
        """The raw unit of a table's rows and the FROM that has it, attached here and nowhere else (semantics 1.1)."""
        table, there = scan.table, self.tables[scan.table.name]
        source, near = f"{there.place} AS t", "t"
        for number, target in enumerate(scan.through):
            unit = table.unit
            assert isinstance(unit, UnitJoin)
            far, beyond = f"k{number}", self.tables[target.name]
            on = [f"{there.columns[c].raw(near)} = {beyond.columns[key].raw(far)}" for c, key in unit.pairs]
            source += f" JOIN {beyond.place} AS {far} ON {' AND '.join(on)}"
            table, there, near = target, beyond, far
        return there.columns[str(table.unit)].raw(near), source

    # operators
    def _filter(self, relation: Filter, wanted: list[str]) -> str:
        inner = self.select(relation.below, {*wanted, *_reads(relation.condition)})
        where = self.condition(relation.condition)
        return f"SELECT {_list(relation, self._names(wanted))} FROM ({inner}) AS q WHERE {where}"

    def _named(self, relation: Projection, wanted: list[str]) -> str:
        items = dict(relation.items)
        inner = self.select(relation.below, _reads(*(items[name] for name in wanted)))
        shown = [f"{self.read(items[name])} AS {self.quoted(name)}" for name in wanted]
        return f"SELECT {_list(relation, shown)} FROM ({inner}) AS q"

    def _join(self, relation: Join, wanted: list[str]) -> str:
        left, right, unit = relation.left, relation.right, f"{relation.number}.unit"
        halves = [
            next(c.name for c in side.columns.values() if c.unit == PERSON) for side in (left, right) if unit in wanted
        ]
        units = (
            {c.name for side in (left, right) for c in side.columns.values() if c.unit == PERSON} if halves else set()
        )
        read = {*wanted, *_reads(relation.on), *units}
        sides = [self.select(side, {name for name in read if name in side.columns}) for side in (left, right)]
        conditions = ["l._u = r._u"] if relation.by_person else []
        conditions += [self.condition(relation.on)] if relation.on is not None else []
        person = "COALESCE(l._u, r._u)" if relation.kind == "full" else "l._u" if left.private else "r._u"
        shown = [
            f"COALESCE({', '.join(map(self.quoted, halves))}) AS {self.quoted(name)}"
            if name == unit
            else self.quoted(name)
            for name in wanted
        ]
        kind = {"inner": "JOIN", "left": "LEFT JOIN", "full": "FULL JOIN"}[relation.kind]
        return (
            f"SELECT {_list(relation, shown, person)} FROM ({sides[0]}) AS l {kind} ({sides[1]}) AS r"
            f" ON {' AND '.join(conditions) or 'TRUE'}"
        )

    def _marked(self, relation: MarkJoin, wanted: list[str]) -> str:
        inner = relation.right
        outside = _reads(relation.on, relation.operand) - inner.columns.keys()
        outer = self.select(relation.below, {*(name for name in wanted if name != relation.name), *outside})
        if relation.name not in wanted:
            return f"SELECT {_list(relation, self._names(wanted))} FROM ({outer}) AS l"
        inside = _reads(relation.on, relation.value) & inner.columns.keys()
        conditions = ["r._u = l._u"] if relation.by_person else []
        conditions += [self.condition(relation.on)] if relation.on is not None else []
        rows = f"FROM ({self.select(inner, inside)}) AS r WHERE {' AND '.join(conditions) or 'TRUE'}"
        if relation.operand is not None and relation.value is not None:
            self.patterns += [*patterns_in(relation.operand), *patterns_in(relation.value)]
            operand, value = self.dialect.alike((relation.operand, relation.value))
            mark = self.dialect.is_in(operand, value, rows)
        else:
            mark = f"EXISTS (SELECT 1 {rows})"
        shown = [f"{mark} AS {self.quoted(name)}" if name == relation.name else self.quoted(name) for name in wanted]
        return f"SELECT {_list(relation, shown, 'l._u')} FROM ({outer}) AS l"

    def _distinct(self, relation: Distinct, wanted: list[str]) -> str:
        every, persons = list(relation.columns), relation.persons_columns
        below = self.select(relation.below, every)
        inner = f"SELECT DISTINCT {_list(relation, self._names(every))} FROM ({below}) AS q"
        if persons:  # tables may declare her identifier differently: then it is one of these, and she has one row
            by = self._names([name for name in every if name not in persons])
            kinds = {name: self.dialect.type_of(relation.columns[name].facts) for name in persons}
            shown = [f"{self.dialect.smallest(self.quoted(n), kind)} AS {self.quoted(n)}" for n, kind in kinds.items()]
            inner = f"SELECT {', '.join(['_u', *by, *shown])} FROM ({below}) AS q GROUP BY {', '.join(['_u', *by])}"
        return f"SELECT {_list(relation, self._names(wanted))} FROM ({inner}) AS q"

    def _stacked(self, relation: UnionAll, wanted: list[str]) -> str:
        names, texts = list(relation.columns), []
        for part, nodes in relation.parts:
            chosen = [(name, node) for name, node in zip(names, nodes, strict=True) if name in wanted]
            inner = self.select(part, _reads(*(node for _, node in chosen)))
            for _, node in chosen:
                self.patterns += patterns_in(node)
            values = {name: self.dialect.represented(node, relation.columns[name].facts) for name, node in chosen}
            shown = [f"{values[name]} AS {self.quoted(name)}" for name in wanted]
            texts.append(f"SELECT {_list(relation, shown)} FROM ({inner}) AS q")
        return " UNION ALL ".join(texts)

    # one unit's own rows
    def _grouped(self, relation: Grouped, wanted: list[str]) -> str:
        """Keys become columns first, then groups; one SELECT for each grouping set, under one another."""
        nodes = [node for _, node in relation.keys]
        for _, one in relation.aggregates:
            nodes += [node for node in (one.arg, one.where) if node is not None]
        for node in nodes:
            self.patterns += patterns_in(node)
        sets = relation.sets or (tuple(range(len(relation.keys))),)
        return " UNION ALL ".join(self._group(relation, wanted, number, kept) for number, kept in enumerate(sets))

    def _group(self, relation: Grouped, wanted: list[str], number: int, kept: tuple[int, ...]) -> str:
        made = {name: self.dialect.aggregate(name, one) for name, one in relation.aggregates if name in wanted}
        read = _reads(*(node for _, node in relation.keys))
        for _, one in relation.aggregates:
            read |= _reads(one.arg, one.where)
        inner = self.select(relation.below, read)
        keys = {f"_g{i}": node for i, (_, node) in enumerate(relation.keys) if i in kept}
        rows = ", ".join(["*", *(f"{self.dialect.expression(node)} AS {key}" for key, node in keys.items())])
        persons = {f"_g{i}" for i, (name, _) in enumerate(relation.keys) if relation.columns[name].unit == PERSON}
        by = [key for key in keys if key not in persons]
        columns = [f"{sql} AS {name}" for one in made.values() for name, sql in one.columns.items()]
        for key, node in keys.items():  # one of the values that her tables declare
            if key in persons:
                columns.append(f"{self.dialect.smallest(key, self.dialect.type_of(node.facts))} AS {key}")
        groups = f"SELECT {', '.join(['_u', *by, *columns])} FROM (SELECT {rows} FROM ({inner}) AS q) AS q"
        groups += f" GROUP BY {', '.join(['_u', *by])}"
        places = {name: i for i, (name, _) in enumerate(relation.keys)}
        shown = []
        for name in wanted:
            value = str(number)  # which grouping set it is
            if name in made:
                value = made[name].value
            elif name in places:
                value = f"_g{places[name]}" if places[name] in kept else self.dialect.null(relation.columns[name].facts)
            else:
                value = self.dialect.whole(number, self.dialect.type_of(relation.columns[name].facts))
            shown.append(f"{value} AS {self.quoted(name)}")
        return f"SELECT {_list(relation, shown)} FROM ({groups}) AS g"

    def _windowed(self, relation: Windowed, wanted: list[str]) -> str:
        windows = {name: over for name, over in relation.windows if name in wanted}
        read = {name for name in wanted if name not in windows}
        for over in windows.values():
            read |= set(columns_of(over))
            self.patterns += patterns_in(over)
        made = {name: self.dialect.window(name, over) for name, over in windows.items()}
        inner = self.select(relation.below, read)
        columns = [f"{sql} AS {name}" for one in made.values() for name, sql in one.columns.items()]
        rows = f"SELECT {', '.join(['*', *columns])} FROM ({inner}) AS q"
        shown = [f"{made[name].value} AS {self.quoted(name)}" if name in made else self.quoted(name) for name in wanted]
        return f"SELECT {_list(relation, shown)} FROM ({rows}) AS w"


def _list(relation: Relation, shown: list[str], unit: str = "_u") -> str:
    """A select list: the person first; a public relation has at least one column."""
    first = [unit if unit == "_u" else f"{unit} AS _u"] if relation.private else []
    return ", ".join([*first, *shown]) or "1 AS _"


def _reads(*nodes: Node | None) -> set[str]:
    return {name for node in nodes if node is not None for name in columns_of(node)}
