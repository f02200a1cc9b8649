"""Relations as engine SQL: nested SELECTs that carry the person, hidden, as `_u`, up to the cut.

Comes in: a relation and the columns that are wanted of it. Goes out: one SELECT. Every column has a name of its own in
the whole question, so that nothing is ever ambiguous; a released table is read under `released_name`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import singledispatch

from sfumato.algebra.column_facts import facts_of
from sfumato.algebra.relations import (
    MOST_RECURSIVE_LETTERS,
    MOST_RECURSIVE_ROWS,
    RECURSIVE,
    Distinct,
    Filter,
    Fixed,
    Grouped,
    Itself,
    Join,
    Limited,
    MarkJoin,
    Projection,
    Relation,
    Release,
    Scan,
    Series,
    SetOperation,
    SingleRow,
    UnionAll,
    Windowed,
    fixed_name,
    itself_of,
    released_name,
    releases_in,
)
from sfumato.algebra.table_scans import scan_of
from sfumato.algebra.tree import (
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    INTEGER,
    INTERVAL,
    PERSON,
    TEXT,
    TIMESTAMP,
    Column,
    Node,
    Sorted,
    columns_of,
)
from sfumato.engines.base import bounded_sql
from sfumato.engines.duckdb import per_unit, public_aggregates
from sfumato.engines.duckdb.expressions import alike, expression, is_fixed, literal, over, represented, sort_key
from sfumato.engines.duckdb.scans import enforced
from sfumato.interrupts import step
from sfumato.policy import Policy, UnitJoin
from sfumato.types import identifier

_TYPES = {
    INTEGER: "HUGEINT",
    DECIMAL: "HUGEINT",
    DOUBLE: "DOUBLE",
    DATE: "DATE",
    TIMESTAMP: "TIMESTAMP",
    BOOLEAN: "BOOLEAN",
    INTERVAL: "HUGEINT",
}
Reads = dict[str, set[str]]
"""The finished tables that a statement reads, by name, and which of their columns."""
_reads_of: ContextVar[Reads | None] = ContextVar("reads", default=None)


def engine_type(kind: str) -> str:
    """The type by which finished values of a kind are held: exact numbers as whole steps of their grid."""
    return _TYPES.get(kind, "VARCHAR")


@contextmanager
def reading() -> Iterator[Reads]:
    """Collect which released and fixed tables the SELECTs read that are written meanwhile."""
    reads: Reads = {}
    token = _reads_of.set(reads)
    try:
        yield reads
    finally:
        _reads_of.reset(token)


def _finished(name: str, wanted: list[str]) -> str:
    """A SELECT from a table that the engine is handed as finished rows."""
    reads = _reads_of.get()
    if reads is not None:
        reads.setdefault(name, set()).update(wanted)
    return f"SELECT {', '.join(_named(wanted)) or '1 AS _'} FROM {identifier(name)} AS q"


def ordering(order: Iterable[Sorted]) -> list[Sorted]:
    """The items of ORDER BY that can decide anything: a constant cannot, and engines refuse to sort by it."""
    return [item for item in order if not is_fixed(item.node)]


def select(relation: Relation, wanted: Iterable[str]) -> str:
    """The SELECT that gives these columns, and the person where the relation is private."""
    step()
    text = _select(relation, sorted(set(wanted)))
    return text if isinstance(relation, Scan) else bounded_sql(text)  # domains are the policy's, however long


@singledispatch
def _select(relation: Relation, wanted: list[str]) -> str:
    raise AssertionError(f"no SQL for {type(relation).__name__} with {wanted}")


def _list(relation: Relation, shown: list[str], unit: str = "_u") -> str:
    """A select list: the person first; a public relation has at least one column."""
    first = [unit if unit == "_u" else f"{unit} AS _u"] if relation.private else []
    return ", ".join([*first, *shown]) or "1 AS _"


def _reads(*nodes: Node | None) -> set[str]:
    return {name for node in nodes if node is not None for name in columns_of(node)}


def _named(wanted: list[str]) -> list[str]:
    return [identifier(name) for name in wanted]


@_select.register
def _(_: SingleRow, _wanted: list[str]) -> str:
    return "SELECT 1 AS _"


@_select.register
def _(relation: Series, _wanted: list[str]) -> str:
    facts, name = relation.columns[relation.name].facts, identifier(relation.name)
    values = ", ".join(literal(value, facts) for value in relation.values)
    if not values:
        kind = {INTEGER: "BIGINT", TIMESTAMP: "TIMESTAMP"}[facts.kind]
        return f"SELECT CAST(NULL AS {kind}) AS {name} WHERE FALSE"
    return f"SELECT unnest([{values}]) AS {name}"


@_select.register
def _(relation: Scan, wanted: list[str]) -> str:
    table, prefix = relation.table, f"{relation.number}."
    if relation.stored:
        named = [f"t.{identifier(name.removeprefix(prefix))} AS {identifier(name)}" for name in wanted]
        unit = NUMBER if relation.numbered else UNIT
        return f"SELECT {_list(relation, named, f't.{unit}')} FROM {identifier(table.name)} AS t"
    must = [name for name, column in table.columns.items() if not column.nulls]
    read = sorted({name.removeprefix(prefix) for name in wanted} | set(must))
    shown = [
        f"{enforced(table.columns[name], 't.' + identifier(name), facts_of(table.columns[name]))}"
        f" AS {identifier(prefix + name)}"
        for name in read
    ]
    if table.public and not must:
        return f"SELECT {', '.join(shown) or '1 AS _'} FROM {identifier(table.name)} AS t"
    if table.public:
        filled = " AND ".join(f"{identifier(prefix + name)} IS NOT NULL" for name in must)
        inner = f"SELECT {', '.join(shown)} FROM {identifier(table.name)} AS t"
        return f"SELECT {_list(relation, _named(wanted))} FROM ({inner}) WHERE {filled}"
    unit, source = unit_of(relation)
    inner = f"SELECT {', '.join([f'{unit} AS _u', *shown])} FROM {source}"
    known = " AND ".join(f"{name} IS NOT NULL" for name in ["_u", *(identifier(prefix + name) for name in must)])
    once = f" QUALIFY COUNT(*) OVER (PARTITION BY {unit}) = 1" if relation.single else ""
    return f"SELECT {_list(relation, _named(wanted))} FROM ({inner}{once}) WHERE {known}"


UNIT = identifier("#person")
"""Where a stored table keeps the raw unit of each row: no column of a source that people write has this name."""
NUMBER = identifier("#number")
"""Where a prepared table keeps a number in its place: see `counted.numbered`."""


def everybody(tables: Iterable[str]) -> str:
    """The SELECT of the persons of these kept tables, one or several, each person once, as `u`."""
    rows = " UNION ALL ".join(f"SELECT {UNIT} AS u FROM {identifier(name)}" for name in tables)
    return f"SELECT DISTINCT u FROM ({rows})"


def stored(scan: Scan) -> str:
    """The rows of a table as its scan gives them, for an engine to keep: domains enforced, units attached, once.

    What a question reads of it is the same as if it were scanned each time; it is only faster.
    """
    names = ", ".join(f"{identifier(name)} AS {identifier(name.split('.', 1)[1])}" for name in scan.columns)
    unit = f"_u AS {UNIT}, " if scan.private else ""
    return f"SELECT {unit}{names} FROM ({select(scan, scan.columns)})"


def stored_scans(policy: Policy, names: Iterable[str]) -> dict[str, str]:
    """For each of these tables the SELECT by which it is kept."""
    return {name: stored(scan_of(policy.tables[name], policy, 0)) for name in names}


def unit_of(scan: Scan) -> tuple[str, str]:
    """The raw unit of a table's rows and the FROM that has it, attached here and nowhere else (semantics 1.1)."""
    source, table = f"{identifier(scan.table.name)} AS t", scan.table
    for number, target in enumerate(scan.through):
        unit = table.unit
        assert isinstance(unit, UnitJoin)
        near = "t" if number == 0 else f"k{number - 1}"
        on = [f"{near}.{identifier(column)} = k{number}.{identifier(key)}" for column, key in unit.pairs]
        source += f" JOIN {identifier(target.name)} AS k{number} ON {' AND '.join(on)}"
        table = target
    owner = f"k{len(scan.through) - 1}" if scan.through else "t"
    return f"{owner}.{identifier(str(table.unit))}", source


@_select.register
def _(relation: Filter, wanted: list[str]) -> str:
    inner = select(relation.below, {*wanted, *_reads(relation.condition)})
    return f"SELECT {_list(relation, _named(wanted))} FROM ({inner}) AS q WHERE {expression(relation.condition)}"


@_select.register
def _(relation: Join, wanted: list[str]) -> str:
    left, right = relation.left, relation.right
    unit = f"{relation.number}.unit"
    halves = [
        next(identifier(c.name) for c in side.columns.values() if c.unit == PERSON)
        for side in (left, right)
        if unit in wanted
    ]
    units = {c.name for side in (left, right) for c in side.columns.values() if c.unit == PERSON} if halves else set()
    read = {*wanted, *_reads(relation.on), *units}
    sides = [select(side, {name for name in read if name in side.columns}) for side in (left, right)]
    conditions = ["l._u = r._u"] if relation.by_person else []
    conditions += [expression(relation.on)] if relation.on is not None else []
    person = "COALESCE(l._u, r._u)" if relation.kind == "full" else "l._u"
    shown = [
        f"COALESCE({', '.join(halves)}) AS {identifier(name)}" if name == unit else identifier(name) for name in wanted
    ]
    kind = {"inner": "JOIN", "left": "LEFT JOIN", "full": "FULL JOIN"}[relation.kind]
    return (
        f"SELECT {_list(relation, shown, person)} FROM ({sides[0]}) AS l {kind} ({sides[1]}) AS r"
        f" ON {' AND '.join(conditions) or 'TRUE'}"
    )


@_select.register
def _(relation: MarkJoin, wanted: list[str]) -> str:
    inner = relation.right
    outside = _reads(relation.on, relation.operand) - inner.columns.keys()
    outer = select(relation.below, {*(name for name in wanted if name != relation.name), *outside})
    if relation.name not in wanted:
        return f"SELECT {_list(relation, _named(wanted))} FROM ({outer}) AS l"
    inside = (_reads(relation.on, relation.value)) & inner.columns.keys()
    conditions = ["r._u = l._u"] if relation.by_person else []
    conditions += [expression(relation.on)] if relation.on is not None else []
    where = " AND ".join(conditions) or "TRUE"
    rows = f"FROM ({select(inner, inside)}) AS r WHERE {where}"
    if relation.operand is not None and relation.value is not None:
        operand, value = alike((relation.operand, relation.value))
        mark = f"({operand} IN (SELECT {value} {rows}))"
    else:
        mark = f"EXISTS (SELECT 1 {rows})"
    shown = [f"{mark} AS {identifier(name)}" if name == relation.name else identifier(name) for name in wanted]
    return f"SELECT {_list(relation, shown, 'l._u')} FROM ({outer}) AS l"


@_select.register
def _(relation: Projection, wanted: list[str]) -> str:
    items = dict(relation.items)
    inner = select(relation.below, _reads(*(items[name] for name in wanted)))
    shown = [f"{expression(items[name])} AS {identifier(name)}" for name in wanted]
    return f"SELECT {_list(relation, shown)} FROM ({inner}) AS q"


@_select.register
def _(relation: Grouped, wanted: list[str]) -> str:
    """One SELECT for each grouping set, under one another."""
    nodes = [node for _, node in relation.keys]
    for _, aggregate in relation.aggregates:
        nodes += [node for node in (aggregate.arg, aggregate.second, aggregate.where) if node is not None]
    sets = relation.sets or (tuple(range(len(relation.keys))),)
    inner = bounded_sql(select(relation.below, _reads(*nodes)), len(sets))
    return " UNION ALL ".join(_group(relation, wanted, inner, number, kept) for number, kept in enumerate(sets))


def _group(relation: Grouped, wanted: list[str], inner: str, number: int, kept: tuple[int, ...]) -> str:
    private, persons_columns = relation.private, relation.persons_columns
    by = [expression(node) for i, (name, node) in enumerate(relation.keys) if i in kept and name not in persons_columns]
    shown = [
        f"{_grouped_column(relation, name, number, kept, persons_columns)} AS {identifier(name)}" for name in wanted
    ]
    groups = (["_u"] if private else []) + by
    summed = any(name in wanted for name, _ in relation.aggregates)
    tail = f" GROUP BY {', '.join(groups)}" if groups else ("" if summed else " GROUP BY ()")
    return f"SELECT {_list(relation, shown)} FROM ({inner}) AS q{tail}"


def _grouped_column(relation: Grouped, name: str, number: int, kept: tuple[int, ...], persons: list[str]) -> str:
    for i, (key, node) in enumerate(relation.keys):
        if key == name and i not in kept:
            return "NULL"
        if key == name:  # one of the values that her tables declare
            return f"MIN({expression(node)})" if name in persons else expression(node)
    for known, aggregate in relation.aggregates:
        if known == name:
            return per_unit.spelling(aggregate) if relation.private else public_aggregates.spelling(aggregate)
    return str(number)  # which grouping set it is


@_select.register
def _(relation: Windowed, wanted: list[str]) -> str:
    windows = dict(relation.windows)
    asked = [windows[name] for name in wanted if name in windows]
    read = {name for name in wanted if name not in windows}
    for node in asked:
        read |= set(columns_of(node))
    inner = select(relation.below, read)
    spell = per_unit.window if relation.private else over
    shown = [
        f"{spell(windows[name])} AS {identifier(name)}" if name in windows else identifier(name) for name in wanted
    ]
    return f"SELECT {_list(relation, shown)} FROM ({inner}) AS q"


@_select.register
def _(relation: Distinct, wanted: list[str]) -> str:
    every, below = list(relation.columns), select(relation.below, list(relation.columns))
    persons = relation.persons_columns
    inner = f"SELECT DISTINCT {_list(relation, _named(every))} FROM ({below}) AS q"
    if persons:  # tables may declare her identifier differently: then it is one of these, and she has one row
        by = [identifier(name) for name in every if name not in persons]
        shown = [f"MIN({identifier(name)}) AS {identifier(name)}" for name in persons]
        inner = f"SELECT {', '.join(['_u', *by, *shown])} FROM ({below}) AS q GROUP BY {', '.join(['_u', *by])}"
    return f"SELECT {_list(relation, _named(wanted))} FROM ({inner}) AS q"


def _parts(relation: UnionAll | SetOperation, wanted: list[str]) -> list[str]:
    """The parts of a set operation, each value in the common representation of its column."""
    names = list(relation.columns)
    texts = []
    for part, nodes in relation.parts:
        chosen = [(name, node) for name, node in zip(names, nodes, strict=True) if name in wanted]
        inner = select(part, _reads(*(node for _, node in chosen)))
        shown = [f"{represented(node, relation.columns[name].facts)} AS {identifier(name)}" for name, node in chosen]
        texts.append(f"SELECT {_list(relation, shown)} FROM ({inner}) AS q")
    return texts


@_select.register
def _(relation: UnionAll, wanted: list[str]) -> str:
    return " UNION ALL ".join(_parts(relation, wanted))


@_select.register
def _(relation: SetOperation, wanted: list[str]) -> str:
    if relation.kind.startswith(RECURSIVE):
        return _recursive(relation, wanted)
    parts = [f"SELECT * FROM ({part})" for part in _parts(relation, list(relation.columns))]
    return f"SELECT {', '.join(_named(wanted)) or '1 AS _'} FROM ({f' {relation.kind} '.join(parts)}) AS q"


ENDLESS = f"more than {MOST_RECURSIVE_ROWS:,} rows, or a text of more than {MOST_RECURSIVE_LETTERS:,} letters"
TOO_LONG = f"error('{ENDLESS}')"
"""What ends a recursion that does not end by itself."""


def _recursive(relation: SetOperation, wanted: list[str]) -> str:
    """WITH RECURSIVE in its place: the engine stops after so many rows, and does not show a part of them."""
    names = list(relation.columns)
    held = ", ".join(_held(identifier(name), relation.columns[name].facts.kind) for name in names)
    texts = [f"SELECT {held} FROM ({part})" for part in _parts(relation, names)]
    itself = itself_of(relation)
    inner = ", ".join(identifier(name) for name in itself.columns)
    union = f" UNION{relation.kind.removeprefix(RECURSIVE)} ".join(texts)
    table = _itself(itself)
    rows = f"WITH RECURSIVE {table}({inner}) AS ({union}) SELECT * FROM {table} LIMIT {MOST_RECURSIVE_ROWS + 1}"
    pairs = [pair for pair in zip(itself.columns, names, strict=True) if pair[1] in wanted]
    shown = [f"{identifier(inner_name)} AS {identifier(name)}" for inner_name, name in pairs]
    counted = f"SELECT *, COUNT(*) OVER () AS _n FROM ({rows})"
    ends = f"CASE WHEN _n > {MOST_RECURSIVE_ROWS} THEN {TOO_LONG} ELSE TRUE END"
    return f"SELECT {', '.join(shown) or '1 AS _'} FROM ({counted}) AS q WHERE {ends}"


def _held(name: str, kind: str) -> str:
    """A value of a step, of the type that all steps have."""
    value = f"CAST({name} AS {engine_type(kind)})"
    if kind != TEXT:
        return value
    return f"CASE WHEN LENGTH({name}) > {MOST_RECURSIVE_LETTERS} THEN {TOO_LONG} ELSE {value} END"


def _itself(relation: Itself) -> str:
    return identifier(f"again {relation.number}")


@_select.register
def _(relation: Itself, wanted: list[str]) -> str:
    return f"SELECT {', '.join(_named(wanted)) or '1 AS _'} FROM {_itself(relation)} AS q"


@_select.register
def _(relation: Limited, wanted: list[str]) -> str:
    places = [Column(name, relation.columns[name].facts) for name in relation.shape.places]
    read = {*wanted, *_reads(*(s.node for s in relation.order)), *(p.name for p in places)}
    inner = select(relation.below, read)
    by = [sort_key(s.node, s.descending, s.nulls_first) for s in ordering(relation.order)]
    by += [sort_key(place, False, False) for place in places]
    tail = f" ORDER BY {', '.join(by)}" if by else ""
    tail += (f" LIMIT {relation.limit}" if relation.limit is not None else "") + (
        f" OFFSET {relation.offset}" if relation.offset else ""
    )
    return f"SELECT {_list(relation, _named(wanted))} FROM ({inner}) AS q{tail}"


@_select.register
def _(relation: Fixed, wanted: list[str]) -> str:
    if relation.kept is None and not releases_in(relation.below):  # nobody keeps rows here
        return select(relation.below, wanted)
    if relation.kept is None:
        return _finished(fixed_name(relation), wanted)
    return f"SELECT {', '.join(_named(wanted)) or '1 AS _'} FROM {relation.kept.name} AS q"


@_select.register
def _(relation: Release, wanted: list[str]) -> str:
    return _finished(released_name(relation), wanted)
