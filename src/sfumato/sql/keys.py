"""Which groups a question has: from declared domains and public tables alone, before any private row is read.

Comes in: the keys of a release and what is known of the rows below. Goes out: for list keys every group in list order
(semantics 3.6a), and which keys are open: those whose values nobody declared.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from sfumato.errors import QueryError
from sfumato.sql.emit import expression, literal
from sfumato.sql.relations import Join, Relation, Scan, below, conditions, listed, scans_in
from sfumato.sql.select import select
from sfumato.sql.tree import BOOLEAN, DATE, INTEGER, Column, Facts, Node, columns_of
from sfumato.words import identifier

MOST_GROUPS = 1_000_000
Run = Callable[[str], list[tuple[Any, ...]]]
"""Where public SQL runs: an engine that holds nobody's row."""


def is_open(node: Node, relation: Relation) -> bool:
    """Whether nobody declared the values of this key."""
    return not _formed(node) and any(_countless(c, relation) for c in columns_of(node).values())


def _formed(node: Node) -> bool:
    """Whether the form of a key alone says which values it can have."""
    facts = node.facts
    if isinstance(node, Column):
        return False
    if facts.kind == BOOLEAN or listed(node) is not None:
        return True
    return facts.kind == INTEGER and facts.bounded


def _by_form(node: Node, relation: Relation) -> bool:
    """Whether a key is listed by its form: a column that it reads has no declared values."""
    return _formed(node) and any(_countless(c, relation) for c in columns_of(node).values())


def _countless(column: Column, relation: Relation) -> bool:
    facts = column.facts
    if facts.values is not None or facts.kind == BOOLEAN or _home(column, relation) is not None:
        return False
    return not (facts.bounded and (facts.exact or facts.kind == DATE))


def _home(column: Column, relation: Relation) -> Scan | None:
    """The public table that a column comes from."""
    for scan in scans_in(relation):
        if scan.table.public and column.name in scan.columns:
            return scan
    return None


def groups(relation: Relation, nodes: list[Node], run: Run) -> list[tuple[Any, ...]]:
    """Every group that these list keys can have, in list order.

    Keys that read the same columns, or columns of the same public table, are worked out together: all combinations of
    the columns' values, and NULL, that pass those conditions that read nothing else.
    """
    together: list[tuple[list[int], set[str]]] = []
    for i, node in enumerate(nodes):
        indices, reads = [i], _sources(node, relation)
        for part in [part for part in together if part[1] & reads]:
            together.remove(part)
            indices, reads = part[0] + indices, part[1] | reads
        together.append((indices, reads))
    known = conditions(relation)
    lists = [(indices, _images(relation, [nodes[i] for i in indices], known, run)) for indices, _ in together]
    check_groups(prod(len(images) for _, images in lists))
    return _combined(len(nodes), lists)


def check_groups(total: int) -> None:
    """Refuse more groups than are released (semantics 3.6a)."""
    if total > MOST_GROUPS:
        raise QueryError(
            f"this question has {total:,} groups, more than {MOST_GROUPS:,}",
            hint="Group by fewer columns, or by wider classes such as date_trunc('month', day).",
        )


def _sources(node: Node, relation: Relation) -> set[str]:
    """What a key is worked out from: columns, and whole public tables; nothing, where its form says it all."""
    if _by_form(node, relation):
        return set()
    found = set()
    for name, column in columns_of(node).items():
        home = _home(column, relation)
        found.add(name if home is None else f"table {home.number}")
    return found


def _combined(count: int, lists: list[tuple[list[int], list[tuple[Any, ...]]]]) -> list[tuple[Any, ...]]:
    """All combinations, sorted by the keys in their order, each in the order of its own list."""
    ranks: list[dict[Any, int]] = [{} for _ in range(count)]
    for indices, images in lists:
        for image in images:
            for i, value in zip(indices, image, strict=True):
                ranks[i].setdefault(value, len(ranks[i]))
    for rank in ranks:
        if None in rank:
            rank[None] = len(rank) + 1
    if all(len(indices) == 1 for indices, _ in lists):  # each key by itself: their sorted lists, all with all
        sorted_lists = [
            sorted((image[0] for image in images), key=ranks[i].__getitem__) for (i,), images in sorted(lists)
        ]
        return list(product(*sorted_lists))
    result = []
    for combination in product(*(images for _, images in lists)):
        row: list[Any] = [None] * count
        for (indices, _), image in zip(lists, combination, strict=True):
            for i, value in zip(indices, image, strict=True):
                row[i] = value
        result.append(tuple(row))
    return sorted(result, key=lambda row: [ranks[i][value] for i, value in enumerate(row)])


def _images(relation: Relation, nodes: list[Node], known: list[Node], run: Run) -> list[tuple[Any, ...]]:
    """The values that these keys take over all declared values of the columns that they read, in the order of these."""
    used: dict[str, Column] = {}
    for node in nodes:
        used |= columns_of(node)
    if _by_form(nodes[0], relation):  # such a key stands alone
        return [(value,) for value in _possible(nodes[0])]
    sources, count = _domains(relation, used, nodes[0].position, run)
    if count > MOST_GROUPS:
        raise QueryError(
            f"working out these groups takes {count:,} combinations, more than {MOST_GROUPS:,}",
            position=nodes[0].position,
            hint="Group by fewer columns, or declare narrower bounds.",
        )
    applied = [part for part in known if columns_of(part) and set(columns_of(part)) <= set(used)]
    condition = " AND ".join(expression(part) for part in applied) or "TRUE"
    places = "".join(f", {identifier('#' + name)}" for name in used)
    shown = ", ".join(f"{expression(node)} AS k{i}" for i, node in enumerate(nodes))
    source = " CROSS JOIN ".join(sources) or "(SELECT 1)"
    by = ", ".join(f"k{i}" for i in range(len(nodes)))
    order = ", ".join(f"min({identifier('#' + name)})" for name in used) or "1"
    inner = f"SELECT {shown}{places} FROM {source} WHERE {condition}"
    return [tuple(row) for row in run(f"SELECT {by} FROM ({inner}) GROUP BY {by} ORDER BY {order}")]


def _possible(node: Node) -> list[Any]:
    """The values that a key can have by its form alone, and NULL."""
    values = listed(node)
    facts = node.facts
    if values is None and facts.kind == BOOLEAN:
        values = (False, True)
    if values is None:
        assert facts.low is not None
        assert facts.high is not None
        if facts.high - facts.low >= MOST_GROUPS:
            raise QueryError(
                f"this key can have {int(facts.high - facts.low) + 1:,} values, more than {MOST_GROUPS:,}",
                position=node.position,
                hint="Group by wider classes.",
            )
        values = tuple(range(int(facts.low), int(facts.high) + 1))
    if facts.exact and facts.grid is not None:
        values = tuple(int(Fraction(value) / facts.grid) for value in values)
    return [*values, *([None] if facts.nullable else [])]


def _domains(relation: Relation, used: dict[str, Column], position: int, run: Run) -> tuple[list[str], int]:
    """Sub-queries that give all values of the columns with their places, and how many combinations there are."""
    public: dict[Scan, list[Column]] = {}
    sources, count = [], 1
    for column in used.values():
        home = _home(column, relation)
        if home is not None:
            public.setdefault(home, []).append(column)
            continue
        source, size = _domain(column, position)
        sources.append(source)
        count *= size
    for home, columns in public.items():
        source = _table(home, columns, may_miss(relation, home))
        sources.append(source)
        count *= int(run(f"SELECT COUNT(*) FROM {source}")[0][0])
    return sources, count


def _table(home: Scan, columns: list[Column], missing: bool) -> str:
    """The different rows of a public table in these columns; NULL besides where an outer join may not find one."""
    names = ", ".join(identifier(c.name) for c in columns)
    rows = f"SELECT DISTINCT {names} FROM ({select(home, [c.name for c in columns])})"
    if missing:
        rows = f"({rows}) UNION SELECT {', '.join('NULL' for _ in columns)}"
    ranks = ", ".join(
        f"dense_rank() OVER (ORDER BY {identifier(c.name)} NULLS LAST) AS {identifier('#' + c.name)}" for c in columns
    )
    return f"(SELECT {names}, {ranks} FROM ({rows}))"


def may_miss(relation: Relation, scan: Scan) -> bool:
    """Whether an outer join may find no row of this table."""
    if isinstance(relation, Join):
        if scan in scans_in(relation.right):
            return relation.kind != "inner" or may_miss(relation.right, scan)
        return relation.kind == "full" or may_miss(relation.left, scan)
    return any(may_miss(part, scan) for part in below(relation) if scan in scans_in(part))


def _domain(column: Column, position: int) -> tuple[str, int]:
    """A column's declared values with their places, as a sub-query, and how many they are; NULL comes last."""
    facts = column.facts
    if facts.values is not None or facts.kind == BOOLEAN:
        shown = facts.values if facts.values is not None else (False, True)
        rows = [f"({literal(value, facts)}, {place})" for place, value in enumerate(shown)]
        count, values = len(rows), f"SELECT v, p FROM (VALUES {', '.join(rows)}) AS d(v, p)"
    else:
        count, values = _range(column.facts, position)
    null = f" UNION ALL SELECT NULL, {count}" if facts.nullable else ""
    select_ = f"SELECT v AS {identifier(column.name)}, p AS {identifier('#' + column.name)} FROM ({values}{null})"
    return f"({select_})", count + facts.nullable


def _range(facts: Facts, position: int) -> tuple[int, str]:
    if facts.low is None or facts.high is None:
        raise QueryError("the values of this key are not declared", position=position)
    grid = facts.grid or Fraction(1)
    low, high = int(facts.low / grid), int(facts.high / grid)
    count, first = high - low + 1, f"i + {low}"
    if facts.kind == DATE:
        first = f"{literal(date.fromordinal(low), facts)} + i::INTEGER"
    return count, f"SELECT {first} AS v, i AS p FROM range({min(count, MOST_GROUPS + 1)}) AS r(i)"
