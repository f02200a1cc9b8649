"""Relations as PostgreSQL's SQL: nested SELECTs that carry the person, hidden, as `_u`, up to the release.

Comes in: a relation and the columns that are wanted of it. Goes out: one SELECT, and the public rows that it is handed.
Rows of public tables are never read here: a job meets the rows that planning has counted, which are parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from sfumato.engines.base import bounded_sql
from sfumato.engines.postgres import per_unit
from sfumato.engines.postgres.expressions import alike, expression, patterns_in, represented, truth
from sfumato.engines.postgres.scans import enforced
from sfumato.engines.postgres.source import Tables
from sfumato.engines.postgres.spelling import identifier, null, type_of
from sfumato.errors import QueryError
from sfumato.interrupts import step
from sfumato.policy import UnitJoin
from sfumato.sql.column_facts import facts_of
from sfumato.sql.relations import (
    Distinct,
    Filter,
    Fixed,
    Grouped,
    Join,
    Marked,
    Named,
    One,
    Relation,
    Scan,
    Stacked,
    Windowed,
)
from sfumato.sql.tree import PERSON, Facts, Node, columns_of


@dataclass(frozen=True)
class Handed:
    """Public rows that a statement is handed as arrays: of which relation, and which columns, under which name."""

    relation: Scan | Fixed
    columns: tuple[str, ...]
    name: str


@dataclass
class Writer:
    """Writes SELECTs over the tables of a server, and collects what they are handed and the patterns that they read."""

    tables: Tables
    handed: list[Handed] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)

    def select(self, relation: Relation, wanted: Iterable[str]) -> str:
        """The SELECT that gives these columns, and the person where the relation is private."""
        step()
        forms: dict[type[Relation], Callable[[Any, list[str]], str]] = {
            One: lambda *_: "SELECT 1 AS _",
            Scan: self._scan,
            Fixed: self._handed,
            Filter: self._filter,
            Named: self._named,
            Join: self._join,
            Marked: self._marked,
            Distinct: self._distinct,
            Stacked: self._stacked,
            Grouped: self._grouped,
            Windowed: self._windowed,
        }
        form = forms.get(type(relation))
        if form is None or not (relation.private or isinstance(relation, One | Scan | Fixed)):
            raise QueryError(
                f"this query is not supported by PostgreSQL yet: {type(relation).__name__.lower()} of public rows"
            )
        text = form(relation, sorted(set(wanted)))
        return text if isinstance(relation, Scan) else bounded_sql(text)  # domains are the policy's, however long

    def read(self, node: Node) -> str:
        """An expression whose patterns a dry run must read."""
        self.patterns += patterns_in(node)
        return expression(node)

    def condition(self, node: Node) -> str:
        """A condition, likewise."""
        self.patterns += patterns_in(node)
        return truth(node)

    # rows that are there
    def _handed(self, relation: Scan | Fixed, wanted: list[str]) -> str:
        name = f"#rows {len(self.handed)}"
        self.handed.append(Handed(relation, tuple(wanted), name))
        shown = ", ".join(f"h.{identifier(column)} AS {identifier(column)}" for column in wanted)
        return f"SELECT {shown or '1 AS _'} FROM {identifier(name)} AS h"

    def _scan(self, scan: Scan, wanted: list[str]) -> str:
        table, prefix = scan.table, f"{scan.number}."
        if table.public:
            return self._handed(scan, wanted)
        there = self.tables[table.name]
        must = [name for name, column in table.columns.items() if not column.nulls]
        read = sorted({name.removeprefix(prefix) for name in wanted} | set(must))
        shown = [
            f"{enforced(table.columns[name], there.columns[name], facts_of(table.columns[name]))}"
            f" AS {identifier(prefix + name)}"
            for name in read
        ]
        unit, source = self.unit_of(scan)
        known = ["_u IS NOT NULL", *(f"{identifier(prefix + name)} IS NOT NULL" for name in must)]
        if scan.single:  # whatever the catalog says: an index may be dropped while the gateway is open
            shown.append(f"COUNT(*) OVER (PARTITION BY {unit}) AS _rows")
            known.append("_rows = 1")
        inner = f"SELECT {', '.join([f'{unit} AS _u', *shown])} FROM {source}"
        return f"SELECT {_list(scan, _names(wanted))} FROM ({inner}) AS t WHERE {' AND '.join(known)}"

    def unit_of(self, scan: Scan) -> tuple[str, str]:
        """The raw unit of a table's rows and the FROM that has it, attached here and nowhere else (semantics 1.1)."""
        table, there = scan.table, self.tables[scan.table.name]
        source, near = f"{there.place} AS t", "t"
        for number, target in enumerate(scan.through):
            unit = table.unit
            assert isinstance(unit, UnitJoin)
            far, beyond = f"k{number}", self.tables[target.name]
            here, key = there.columns[unit.column].raw(near), beyond.columns[unit.key].raw(far)
            source += f" JOIN {beyond.place} AS {far} ON {here} = {key}"
            table, there, near = target, beyond, far
        return there.columns[str(table.unit)].raw(near), source

    # operators
    def _filter(self, relation: Filter, wanted: list[str]) -> str:
        inner = self.select(relation.below, {*wanted, *_reads(relation.condition)})
        where = self.condition(relation.condition)
        return f"SELECT {_list(relation, _names(wanted))} FROM ({inner}) AS q WHERE {where}"

    def _named(self, relation: Named, wanted: list[str]) -> str:
        items = dict(relation.items)
        inner = self.select(relation.below, _reads(*(items[name] for name in wanted)))
        shown = [f"{self.read(items[name])} AS {identifier(name)}" for name in wanted]
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
            f"COALESCE({', '.join(map(identifier, halves))}) AS {identifier(name)}"
            if name == unit
            else identifier(name)
            for name in wanted
        ]
        kind = {"inner": "JOIN", "left": "LEFT JOIN", "full": "FULL JOIN"}[relation.kind]
        return (
            f"SELECT {_list(relation, shown, person)} FROM ({sides[0]}) AS l {kind} ({sides[1]}) AS r"
            f" ON {' AND '.join(conditions) or 'TRUE'}"
        )

    def _marked(self, relation: Marked, wanted: list[str]) -> str:
        inner = relation.right
        outside = _reads(relation.on, relation.operand) - inner.columns.keys()
        outer = self.select(relation.below, {*(name for name in wanted if name != relation.name), *outside})
        if relation.name not in wanted:
            return f"SELECT {_list(relation, _names(wanted))} FROM ({outer}) AS l"
        inside = _reads(relation.on, relation.value) & inner.columns.keys()
        conditions = ["r._u = l._u"] if relation.by_person else []
        conditions += [self.condition(relation.on)] if relation.on is not None else []
        rows = f"FROM ({self.select(inner, inside)}) AS r WHERE {' AND '.join(conditions) or 'TRUE'}"
        if relation.operand is not None and relation.value is not None:
            self.patterns += [*patterns_in(relation.operand), *patterns_in(relation.value)]
            operand, value = alike((relation.operand, relation.value))
            mark = f"({operand} IN (SELECT {value} {rows}))"
        else:
            mark = f"EXISTS (SELECT 1 {rows})"
        shown = [f"{mark} AS {identifier(name)}" if name == relation.name else identifier(name) for name in wanted]
        return f"SELECT {_list(relation, shown, 'l._u')} FROM ({outer}) AS l"

    def _distinct(self, relation: Distinct, wanted: list[str]) -> str:
        every = list(relation.below.columns)
        below = self.select(relation.below, every)
        inner = f"SELECT DISTINCT {_list(relation, _names(every))} FROM ({below}) AS q"
        return f"SELECT {_list(relation, _names(wanted))} FROM ({inner}) AS q"

    def _stacked(self, relation: Stacked, wanted: list[str]) -> str:
        names, texts = list(relation.columns), []
        for part, nodes in relation.parts:
            chosen = [(name, node) for name, node in zip(names, nodes, strict=True) if name in wanted]
            inner = self.select(part, _reads(*(node for _, node in chosen)))
            for _, node in chosen:
                self.patterns += patterns_in(node)
            values = {name: represented(node, relation.columns[name].facts) for name, node in chosen}
            shown = [f"{values[name]} AS {identifier(name)}" for name in wanted]
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
        made = {name: per_unit.aggregate(name, one) for name, one in relation.aggregates if name in wanted}
        read = _reads(*(node for _, node in relation.keys))
        for _, one in relation.aggregates:
            read |= _reads(one.arg, one.where)
        inner = self.select(relation.below, read)
        keys = {f"_g{i}": node for i, (_, node) in enumerate(relation.keys) if i in kept}
        rows = ", ".join(["*", *(f"{expression(node)} AS {key}" for key, node in keys.items())])
        persons = {f"_g{i}" for i, (name, _) in enumerate(relation.keys) if relation.columns[name].unit == PERSON}
        by = [key for key in keys if key not in persons]
        columns = [f"{sql} AS {name}" for one in made.values() for name, sql in one.columns.items()]
        for key, node in keys.items():  # the person's own column is the same in all her rows
            if key in persons:
                smallest = "bool_and" if type_of(node.facts) == "boolean" else "MIN"
                columns.append(f"{smallest}({key}) AS {key}")
        groups = f"SELECT {', '.join(['_u', *by, *columns])} FROM (SELECT {rows} FROM ({inner}) AS q) AS q"
        groups += f" GROUP BY {', '.join(['_u', *by])}"
        places = {name: i for i, (name, _) in enumerate(relation.keys)}
        shown = []
        for name in wanted:
            value = str(number)  # which grouping set it is
            if name in made:
                value = made[name].value
            elif name in places:
                value = f"_g{places[name]}" if places[name] in kept else null(relation.columns[name].facts)
            else:
                value = f"({number})::{type_of(relation.columns[name].facts)}"
            shown.append(f"{value} AS {identifier(name)}")
        return f"SELECT {_list(relation, shown)} FROM ({groups}) AS g"

    def _windowed(self, relation: Windowed, wanted: list[str]) -> str:
        windows = {name: over for name, over in relation.windows if name in wanted}
        read = {name for name in wanted if name not in windows}
        for over in windows.values():
            read |= set(columns_of(over))
            self.patterns += patterns_in(over)
        made = {name: per_unit.window(name, over) for name, over in windows.items()}
        inner = self.select(relation.below, read)
        columns = [f"{sql} AS {name}" for one in made.values() for name, sql in one.columns.items()]
        rows = f"SELECT {', '.join(['*', *columns])} FROM ({inner}) AS q"
        shown = [f"{made[name].value} AS {identifier(name)}" if name in made else identifier(name) for name in wanted]
        return f"SELECT {_list(relation, shown)} FROM ({rows}) AS w"


def _list(relation: Relation, shown: list[str], unit: str = "_u") -> str:
    """A select list: the person first; a public relation has at least one column."""
    first = [unit if unit == "_u" else f"{unit} AS _u"] if relation.private else []
    return ", ".join([*first, *shown]) or "1 AS _"


def _reads(*nodes: Node | None) -> set[str]:
    return {name for node in nodes if node is not None for name in columns_of(node)}


def _names(wanted: list[str]) -> list[str]:
    return [identifier(name) for name in wanted]


def handed_type(facts: Facts) -> str:
    """The type of an array of public values."""
    return type_of(facts)
