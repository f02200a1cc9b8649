"""The meaning of a Job: plain Python over plain rows, exact and slow, written apart from every compiler.

Comes in: a job, the raw rows of its tables, public rows that were computed before, a hash key. Goes out: what an engine
must return for it: sums by group, the number of people behind each open key, and what is not a sum. Exact numbers are
Fractions here, and become whole steps of their grid where they leave. A function that has no meaning here yet raises
`NotCovered`; the tests that compare engines with this module say how often.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.base import CHOICE, Bundle
from sfumato.algebra.job import FINE, Job, grid_of
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
    UnionAll,
    Windowed,
)
from sfumato.algebra.tree import (
    BOOLEAN,
    DATE,
    INTEGER,
    PERSON,
    TEXT,
    TIMESTAMP,
    Aggregate,
    Call,
    Column,
    Constant,
    Facts,
    Node,
)
from sfumato.engines.reference_functions import NotInReference, apply, nearest, same, truth_in
from sfumato.engines.reference_units import aggregate_of, window_of
from sfumato.policy import ROW, Policy, Table, UnitJoin
from sfumato.policy import PolicyColumn as Declared

Row = tuple[Any, dict[str, Any]]
"""A unit, as it stands in its table, and values by column."""
Group = tuple[Any, ...]


@dataclass(frozen=True)
class Results:
    """What a job returns: whole numbers by group; people by open key; for each aggregate of `extras` its numbers."""

    sums: dict[Group, tuple[int, ...]]
    people: dict[Group, int]
    extras: tuple[dict[Group, int], ...]


class Reference:
    """Raw tables, and public rows by the number of the relation that they were computed for."""

    def __init__(
        self, policy: Policy, tables: Mapping[str, list[dict[str, Any]]], fixed: Mapping[int, list[dict[str, Any]]]
    ) -> None:
        self._policy, self._tables, self._fixed = policy, tables, fixed

    def run(self, job: Job, salt: str) -> Results:
        """The rows of a job."""
        rows = [_seen(row, job) for row in self.rows(job.release.below)]
        if job.chosen:
            rows, people = _few_keys(rows, job, salt)
        else:
            people = {}
        extras = tuple(_extra(aggregate, rows, job, salt) for aggregate in job.extras)
        return Results(_sums(rows, job), people, extras)

    # relations
    def rows(self, relation: Relation) -> list[Row]:
        """The rows of a relation, each with its unit."""
        meanings: dict[type[Relation], Callable[[Any], list[Row]]] = {
            Scan: self._scan,
            Fixed: lambda fixed: [(None, row) for row in self._fixed[fixed.number]],
            Filter: self._filter,
            Projection: self._named,
            Join: self._join,
            MarkJoin: self._marked,
            Distinct: self._distinct,
            UnionAll: self._stacked,
            Grouped: self._grouped,
            Windowed: lambda windowed: window_of(windowed, self.rows(windowed.below), value_of),
        }
        meaning = meanings.get(type(relation))
        if meaning is None:
            raise NotInReference(type(relation).__name__)
        return meaning(relation)

    def _filter(self, relation: Filter) -> list[Row]:
        return [row for row in self.rows(relation.below) if value_of(relation.condition, row[1]) is True]

    def _named(self, relation: Projection) -> list[Row]:
        below = self.rows(relation.below)
        return [(unit, {name: value_of(node, row) for name, node in relation.items}) for unit, row in below]

    def _distinct(self, relation: Distinct) -> list[Row]:
        persons = relation.persons_columns
        names = [name for name in relation.columns if name not in persons]
        groups: dict[Group, list[dict[str, Any]]] = defaultdict(list)
        for unit, row in self.rows(relation.below):
            groups[(unit, *(_same_key(row[name]) for name in names))].append(row)
        return [(unit, rows[0] | {name: _least(rows, name) for name in persons}) for (unit, *_), rows in groups.items()]

    def _stacked(self, relation: UnionAll) -> list[Row]:
        names = list(relation.columns)
        return [
            (unit, {name: value_of(node, row) for name, node in zip(names, nodes, strict=True)})
            for part, nodes in relation.parts
            for unit, row in self.rows(part)
        ]

    def _scan(self, scan: Scan) -> list[Row]:
        table = scan.table
        raws = self._tables[table.name]
        if table.unit == ROW:
            rows: list[tuple[Any, dict[str, Any]]] = [(raw.get(ROW, place), raw) for place, raw in enumerate(raws)]
        else:
            rows = [(None if table.public else self._unit(table, raw), raw) for raw in raws]
        if scan.single:
            count = _counted(unit for unit, _ in rows)
            rows = [(unit, raw) for unit, raw in rows if unit is not None and count[unit] == 1]
        found = []
        for unit, raw in rows:
            row = {name: enforce(declared, raw.get(name)) for name, declared in table.columns.items()}
            must = [name for name, declared in table.columns.items() if not declared.nulls]
            if (unit is not None or table.public) and all(row[name] is not None for name in must):
                found.append((unit, {f"{scan.number}.{name}": value for name, value in row.items()}))
        return found

    def _unit(self, table: Table, raw: dict[str, Any]) -> Any:
        """Whose row it is, by the raw value of the unit, or of the key that leads to it."""
        while isinstance(step := table.unit, UnitJoin):
            led = [(raw.get(column), key) for column, key in step.pairs]
            there = [
                other
                for other in self._tables[step.table]
                if all(value is not None and other.get(key) == value for value, key in led)
            ]
            if not there:
                return None
            raw, table = there[0], self._policy.tables[step.table]
        return raw.get(str(table.unit))

    def _join(self, join: Join) -> list[Row]:
        left, right = self.rows(join.left), self.rows(join.right)
        found, met = list[Row](), set[int]()
        for unit, row in left:
            alone = True
            for place, (other, more) in enumerate(right):
                if join.by_person and unit != other:
                    continue
                if join.on is None or value_of(join.on, row | more) is True:
                    found.append((unit, row | more))
                    met.add(place)
                    alone = False
            if alone and join.kind in ("left", "full"):
                found.append((unit, row | dict.fromkeys(join.right.columns)))
        if join.kind == "full":
            missing = dict.fromkeys(join.left.columns)
            found += [(other, missing | more) for place, (other, more) in enumerate(right) if place not in met]
        return [(unit, _with_unit(join, row)) for unit, row in found]

    def _marked(self, marked: MarkJoin) -> list[Row]:
        right, found = self.rows(marked.right), []
        for unit, row in self.rows(marked.below):
            fits = [
                row | more
                for other, more in right
                if (not marked.by_person or other == unit)
                and (marked.on is None or value_of(marked.on, row | more) is True)
            ]
            mark: Any = bool(fits)
            if marked.operand is not None and marked.value is not None:
                values = [(value_of(marked.value, both), marked.value.facts.kind) for both in fits]
                mark = truth_in((value_of(marked.operand, row), marked.operand.facts.kind), values)
            found.append((unit, row | {marked.name: mark}))
        return found

    def _grouped(self, grouped: Grouped) -> list[Row]:
        below, found = self.rows(grouped.below), list[Row]()
        for number, kept in enumerate(grouped.sets or (tuple(range(len(grouped.keys))),)):
            groups: dict[Group, list[Row]] = defaultdict(list)
            for unit, row in below:
                values = [value_of(node, row) if i in kept else None for i, (_, node) in enumerate(grouped.keys)]
                persons = [name in grouped.persons_columns for name, _ in grouped.keys]
                told = (_same_key(v) for v, person in zip(values, persons, strict=True) if not person)
                groups[(unit, *told)].append((unit, dict(zip((n for n, _ in grouped.keys), values, strict=True)) | row))
            for (unit, *_), rows in groups.items():
                made = {name: rows[0][1][name] for name, _ in grouped.keys}
                made |= {
                    name: _least([row for _, row in rows], name) for name in made if name in grouped.persons_columns
                }
                made |= {
                    name: aggregate_of(one, [row for _, row in rows], value_of) for name, one in grouped.aggregates
                }
                found.append((unit, made | {f"{grouped.number}.set": Fraction(number)}))
        return found


def _with_unit(join: Join, row: dict[str, Any]) -> dict[str, Any]:
    """FULL JOIN has a column for whichever person is there."""
    name = f"{join.number}.unit"
    if name not in join.columns:
        return row
    halves = [c.name for side in (join.left, join.right) for c in side.columns.values() if c.unit == PERSON]
    return row | {name: next((row[half] for half in halves if row[half] is not None), None)}


# values
def value_of(node: Node, row: dict[str, Any]) -> Any:
    """The value of an expression in a row."""
    if isinstance(node, Column):
        return row[node.name]
    if isinstance(node, Constant):
        value = node.value
        return Fraction(value) if isinstance(value, int | Fraction) and not isinstance(value, bool) else value
    if isinstance(node, Call):
        return apply(node, lambda arg: value_of(arg, row))
    raise NotInReference(type(node).__name__)


def enforce(declared: Declared, raw: Any) -> Any:
    """A raw value as the policy declares it (semantics 1.4): never an error."""
    kind = declared.type or TEXT
    if raw is None:
        return None
    if kind == BOOLEAN:
        return raw if isinstance(raw, bool) and (declared.values is None or raw in declared.values) else None
    if kind == TEXT:
        text = str(raw)
        if declared.values is not None:
            return text if text in declared.values else None
        return text[: declared.max_length]
    if kind in (DATE, TIMESTAMP):
        low, high = (end if isinstance(end, date) else None for end in (declared.low, declared.high))
        return raw if low is None or high is None else min(max(raw, low), high)
    return _number(declared, raw, kind)


def _read(raw: Any) -> Any:
    """A number that a text is written as; one that is not finite is a double."""
    if isinstance(raw, str):
        try:
            raw = Decimal(raw.strip())
        except InvalidOperation:
            return math.nan
    return float(raw) if isinstance(raw, Decimal) and not raw.is_finite() else raw


def _number(declared: Declared, raw: Any, kind: str) -> Any:  # noqa: PLR0911  one answer for each kind of number
    raw = _read(raw)
    if isinstance(raw, float) and math.isnan(raw):
        return None
    low, high = declared.low, declared.high
    if isinstance(raw, float) and math.isinf(raw):
        end = high if raw > 0 else low
        return (
            (raw if kind in ("decimal", "double") and declared.grid is None else None)
            if end is None
            else _typed(end, declared, kind)
        )
    try:
        exact = Fraction(raw if not isinstance(raw, Decimal) else str(raw))
    except (ValueError, InvalidOperation, TypeError):
        return None
    if kind in ("decimal", "double") and (declared.grid is None or low is None):
        bounded = exact if low is None else min(max(exact, Fraction(low)), Fraction(high))  # type: ignore[arg-type]
        return nearest(bounded)
    grid = Fraction(1) if kind == INTEGER else Fraction(declared.grid or 1)
    steps = exact / grid
    if isinstance(raw, float) and kind != INTEGER and abs(steps) < 1 << 50:  # a double meets its grid as a double
        steps = Fraction(raw * grid.denominator / grid.numerator)
    # halves of doubles go to the even whole number, other halves away from zero
    whole = (
        round(steps)
        if kind == INTEGER and isinstance(raw, float)
        else math.floor(abs(steps) + Fraction(1, 2)) * (1 if steps > 0 else -1)
    )
    value = whole * grid
    if declared.values is not None:
        return value if value in [Fraction(v) for v in declared.values] else None
    if low is None:
        return value if -(1 << 63) <= value < 1 << 63 else None
    return min(max(value, Fraction(low)), Fraction(high))  # type: ignore[arg-type]


def _typed(end: Any, declared: Declared, kind: str) -> Any:
    return float(end) if kind in ("decimal", "double") and declared.grid is None else Fraction(end)


def _same_key(value: Any) -> Any:
    """Values that GROUP BY puts together; a truth is not the number one."""
    return (type(value).__name__, value)


def _least(rows: list[dict[str, Any]], name: str) -> Any:
    """A person's identifier, of those that her tables declare: the least that is not NULL."""
    return min((row[name] for row in rows if row[name] is not None), default=None)


def _counted(values: Iterable[Any]) -> dict[Any, int]:
    count: dict[Any, int] = defaultdict(int)
    for value in values:
        count[value] += 1
    return count


# the bound
@dataclass(frozen=True)
class _Seen:
    """A row as the release sees it: its unit, its group, its open keys, whole steps of each part, and itself."""

    unit: Any
    group: Group
    opened: Group
    parts: tuple[tuple[int, ...], ...]
    row: dict[str, Any]


def stepped(value: Any, facts: Facts) -> Any:
    """A value as it leaves: exact numbers are whole steps of their grid."""
    if isinstance(value, Fraction) and facts.exact and facts.grid is not None:
        return int(value / facts.grid)
    return value


def _seen(row: Row, job: Job) -> _Seen:
    unit, values = row
    keys = {i: stepped(value_of(job.release.keys[i][1], values), job.release.keys[i][1].facts) for i in job.kept}
    parts = [tuple(_steps(part, bundle, values) for part in bundle.parts) for bundle in job.bundles]
    shared = [i for i, bundle in enumerate(job.bundles) if job.limits.alone or not bundle.person]
    if job.together is not None and sum(any(parts[i]) for i in shared) > job.together:
        parts = [(0,) * len(part) if i in shared else part for i, part in enumerate(parts)]
    return _Seen(unit, tuple(keys.values()), tuple(keys[i] for i in job.chosen), tuple(parts), values)


def _steps(part: Node, bundle: Bundle, values: dict[str, Any]) -> int:
    number = value_of(part, values)
    steps = Fraction(0 if number is None else number) / grid_of(bundle)
    assert steps.denominator == 1, "a part lies on the grid of its bundle"
    return int(steps)


def _few_keys(rows: list[_Seen], job: Job, salt: str) -> tuple[list[_Seen], dict[Group, int]]:
    """The rows under the open keys that are kept of each unit, and the number of units under each key."""
    if job.limits.alone:
        count = _counted(row.unit for row in rows)
        rows = [row for row in rows if count[row.unit] == 1]
    pairs: dict[Any, set[Group]] = defaultdict(set)
    for row in rows:
        pairs[row.unit].add(row.opened)
    kept = {(unit, key) for unit, keys in pairs.items() for key in _first(unit, keys, job.limits.keys, salt)}
    people = _counted(key for _, key in kept)
    return [row for row in rows if (row.unit, row.opened) in kept], dict(people)


def _first(unit: Any, keys: Iterable[Group], most: int, salt: str) -> list[Group]:
    """The first of a unit's keys in the order of a keyed hash."""
    return sorted(keys, key=lambda key: hashlib.md5((salt + _text((unit, *key))).encode()).hexdigest())[:most]  # noqa: S324  no secret rests on it


def _text(values: tuple[Any, ...]) -> str:
    return "\x1f".join("" if value is None else "=" + _written(value) for value in values)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)


def _sums(rows: list[_Seen], job: Job) -> dict[Group, tuple[int, ...]]:
    """Sums over units of what each contributes under its weight."""
    units: dict[Any, dict[Group, list[_Seen]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        units[row.unit][row.group].append(row)
    total: dict[Group, list[int]] = {}
    for groups in units.values():
        vector = {group: _contribution(own, job) for group, own in groups.items()}
        numbers = [len(own) for own in groups.values()]
        if job.limits.alone and sum(numbers) != 1:
            continue
        for group, parts in vector.items():
            kept = total.setdefault(group, [0] * sum(map(len, parts)))
            flat = [
                n * _weight(bundle, numbers, vector, job)
                for bundle, of in zip(job.bundles, parts, strict=True)
                for n in of
            ]
            for i, number in enumerate(flat):
                kept[i] += number
    return {group: tuple(numbers) for group, numbers in total.items() if any(numbers)}


def _contribution(rows: list[_Seen], job: Job) -> list[tuple[int, ...]]:
    """What a unit has in one group: sums of parts, or for a count of units the largest."""
    found = []
    for i, bundle in enumerate(job.bundles):
        combine = max if bundle.person else sum
        found.append(tuple(combine(row.parts[i][j] for row in rows) for j in range(len(bundle.parts))))
    return found


def _weight(bundle: Bundle, numbers: list[int], vector: dict[Group, list[tuple[int, ...]]], job: Job) -> int:
    limits, n, g = job.limits, sum(numbers), len(numbers)
    if job.clip is not None:
        most, size = int(job.clip / grid_of(bundle)), sum(abs(parts[0][0]) for parts in vector.values())
        return FINE if size <= most else FINE * most // size
    if limits.alone or (bundle.person and limits.few):
        return 1
    if not limits.gaussian:
        most, counted = int(limits.bound), g if bundle.person else n
        return FINE if counted <= most else FINE * most // counted
    squared, bound = g if bundle.person else sum(number * number for number in numbers), limits.bound
    if squared * (bound**2).denominator <= (bound**2).numerator:
        return FINE
    root = math.ceil(math.sqrt(squared) * FINE * 1.000000001)
    return FINE * FINE * bound.numerator // (root * bound.denominator)


def _extra(aggregate: Aggregate, rows: list[_Seen], job: Job, salt: str) -> dict[Group, int]:
    """What is not a sum: weights by group and place, or numbers of different values by group."""
    count = _counted(row.unit for row in rows)
    if job.limits.alone:
        rows = [row for row in rows if count[row.unit] == 1]
    looked = [(row, _looked(aggregate, row.row)) for row in rows]
    known = [(row, value) for row, value in looked if value is not None]
    if AGGREGATES[aggregate.name].measure == CHOICE:
        weights: dict[Group, int] = defaultdict(int)
        most = job.limits.most
        for row, value in known:
            n = count[row.unit]
            weight = 1 if job.limits.alone else FINE if n <= most else FINE * most // n
            weights[(*row.group, _place(aggregate, value))] += weight
        return dict(weights)
    pairs: dict[Any, set[Group]] = defaultdict(set)
    for row, value in known:
        assert aggregate.arg is not None
        pairs[row.unit].add((*row.group, stepped(value, aggregate.arg.facts)))
    most = dict(zip(job.extras, job.different_values, strict=True))[aggregate]
    kept = {pair for unit, own in pairs.items() for pair in _first(unit, own, most, salt)}
    different: dict[Group, int] = defaultdict(int)
    for pair in kept:
        different[pair[:-1]] += pair[-1] if AGGREGATES[aggregate.name].adds_values else 1
    return dict(different) if job.kept else {(): different.get((), 0)}


def _looked(aggregate: Aggregate, row: dict[str, Any]) -> Any:
    """The value that an aggregate looks at: NULL where its FILTER does not hold."""
    if aggregate.where is not None and value_of(aggregate.where, row) is not True:
        return None
    assert aggregate.arg is not None
    return value_of(aggregate.arg, row)


def _place(aggregate: Aggregate, value: Any) -> int:
    """The place of a value among the candidates of a choice: its step, its day, or its place in a list."""
    assert aggregate.arg is not None
    facts = aggregate.arg.facts
    if aggregate.name == "mode" and (facts.values is not None or facts.kind == BOOLEAN):
        listed = facts.values if facts.values is not None else (False, True)
        return next(i for i, one in enumerate(listed) if same(one, value))
    if isinstance(value, datetime) and facts.kind == TIMESTAMP:
        return (value - datetime(1, 1, 1)) // timedelta(seconds=1)  # noqa: DTZ001  times have no zone here
    return int(value.toordinal()) if isinstance(value, date) else int(stepped(value, facts))
