"""The groups of a query: from declared domains and public tables alone, before any private row is read.

Comes in: the keys of a release and what is known of the rows below. Goes out: for list keys every group in list order
(semantics 3.6a), and which keys are open: those whose values nobody declared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from sfumato.algebra.calendar_units import CLOCK, days
from sfumato.algebra.key_ranges import FINER, Range, finest, grain, narrowed, with_ranges
from sfumato.algebra.public_rows import DeclaredValues, KeyList, PublicRows, TableValues
from sfumato.algebra.relations import Join, Relation, Release, Scan, below, conditions, listed, releases_in, scans_in
from sfumato.algebra.tied_keys import MOST_TRIED, clusters, tied
from sfumato.algebra.tree import BOOLEAN, DATE, TIMESTAMP, Call, Column, Constant, Node, children, columns_of
from sfumato.errors import QueryError
from sfumato.interrupts import step

MOST_GROUPS = 1_000_000
MOST_BYTES = 64 * 2**20
"""Bytes of the keys of all groups: characters of texts, and `VALUE` for each value."""
VALUE = 8
_DAY = 86_400


def is_open(node: Node, relation: Relation) -> bool:
    """Whether nobody declared the values of this key."""
    if _formed(node, relation):
        return False
    columns = columns_of(node).values()
    return any(_countless(c, relation, (node,)) for c in columns) or _too_many(node, relation)


def _too_many(node: Node, relation: Relation) -> bool:
    """Whether a key's own columns have more combinations than are listed: then it is chosen like an open one."""
    known = conditions(relation)
    return prod(_count(c, relation, (node,), known) for c in columns_of(node).values()) > MOST_GROUPS


def _count(column: Column, relation: Relation, nodes: tuple[Node, ...], known: list[Node]) -> int:
    """How many values are gone through of a column; those of a public table are counted elsewhere."""
    return 1 if _home(column, relation) is not None else _listing(column, nodes, known).count


def is_staged(release: Release) -> bool:
    """Whether noise of an earlier release decides which rows this one is about, or what is computed of them."""
    return any(
        earlier.aggregates or any(is_open(node, earlier.below) for _, node in earlier.keys)
        for earlier in releases_in(release.below)
    )


def _formed(node: Node, relation: Relation) -> bool:
    """Whether the form of a key says which values it can have, under the conditions on the rows."""
    facts = node.facts
    if isinstance(node, Column):
        return False
    if facts.kind == BOOLEAN or listed(node) is not None:
        return True
    if not facts.exact or facts.low is None or facts.high is None:
        return False
    return _is_short(node) or _is_short(_under(node, conditions(relation)))


def _is_short(node: Node) -> bool:
    """Whether an exact number has not more values between its bounds than are listed."""
    assert node.facts.low is not None
    assert node.facts.high is not None
    return (node.facts.high - node.facts.low) / _stride(node) < MOST_GROUPS


def _under(node: Node, known: list[Node]) -> Node:
    """A key over what the conditions leave of its columns."""
    return with_ranges(node, {name: narrowed(column, known) for name, column in columns_of(node).items()})


def _stride(node: Node) -> Fraction:
    """How far apart two values of an exact number are at least, counted from its lower bound: FLOOR(x / 300) * 300.

    Guarantee: every value is its lower bound and a whole number of strides.
    Proof: without a product by a constant, the bound and every value are multiples of the grid, which is the stride. A
        constant factor stretches the values of the other side and their bounds alike; a constant summand moves them.
    Reference: semantics 3.6a.
    Checked by: laws::no_row_is_outside_of_the_list_of_its_key
    """
    if isinstance(node, Call) and node.name in ("*", "+", "-") and node.facts.exact:
        inner, constant = node.args if isinstance(node.args[1], Constant) else node.args[::-1]
        value = constant.value if isinstance(constant, Constant) else None
        turned = node.name == "-" and inner is node.args[1]
        if isinstance(value, int) and not isinstance(value, bool) and value and inner.facts.bounded and not turned:
            return _stride(inner) * (abs(value) if node.name == "*" else 1)
    assert node.facts.grid is not None
    return node.facts.grid


def _by_form(node: Node, relation: Relation) -> bool:
    """Whether a key is listed by its form: it holds cells of a map, or a column of it has no declared values."""
    if _formed(node, relation) and _has_cells(node):  # of a public table only those cells that it has
        return all(_home(c, relation) is None for c in columns_of(node).values())
    if not _formed(node, relation):
        return False
    columns = columns_of(node).values()
    if any(c.facts.kind == TIMESTAMP and grain(node, c.name) != "day" for c in columns):
        return True  # the hours of a day are fewer than those of all days
    return any(_countless(c, relation, (node,)) for c in columns) or _too_many(node, relation)


def _has_cells(node: Node) -> bool:
    """Whether a node holds a cell of a map: its coordinates have too many values to go through."""
    return (isinstance(node, Call) and node.name == "geo_cell") or any(map(_has_cells, children(node)))


def _countless(column: Column, relation: Relation, nodes: tuple[Node, ...]) -> bool:
    """Whether nobody declared the values of a column as these keys look at it: a timestamp by its days, or hours."""
    facts = column.facts
    if facts.values is not None or facts.kind == BOOLEAN or _home(column, relation) is not None:
        return False
    if facts.kind == TIMESTAMP:
        return not facts.bounded or finest(grain(node, column.name) for node in nodes) is None
    return not (facts.bounded and (facts.exact or facts.kind == DATE))


def _home(column: Column, relation: Relation) -> Scan | None:
    """The public table that a column comes from."""
    for scan in scans_in(relation):
        if scan.table.public and column.name in scan.columns:
            return scan
    return None


def groups(relation: Relation, nodes: list[Node], rows: PublicRows) -> list[tuple[Any, ...]]:
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
    lists = [(indices, _images(relation, [nodes[i] for i in indices], known, rows)) for indices, _ in together]
    for number, (indices, images) in enumerate(lists):
        left = _left(relation, [nodes[i] for i in indices], known, rows)
        lists[number] = indices, images if left is None else [image for image in images if image in left]
    total = prod(len(images) for _, images in lists)
    check_groups(total)
    if total:
        check_bytes(sum(_bytes(images) * (total // len(images)) for _, images in lists))
    found = _combined(len(nodes), lists)
    for indices in clusters(together, [_read(part, relation) for part in known]):
        left = _left(relation, [nodes[i] for i in indices], known, rows)
        if left is not None:
            found = [group for group in found if tuple(group[i] for i in indices) in left]
    return found


def _left(relation: Relation, nodes: list[Node], known: list[Node], rows: PublicRows) -> set[tuple[Any, ...]] | None:
    """What conditions leave of these keys that tie them to each other or to public tables; None where none do."""
    used: dict[str, Column] = {}
    for node in nodes:
        used |= columns_of(node)
    if not used or any(_by_form(node, relation) for node in nodes):
        return None

    def home(column: Column) -> int | None:
        scan = _home(column, relation)
        return None if scan is None else scan.number

    def count(columns: dict[str, Column]) -> int:
        return _domains(relation, columns, nodes, known, rows)[1]

    more = tied(used, known, home, count)
    if (len(nodes) == 1 and len(more) == len(used)) or count(more) > MOST_TRIED:
        return None
    sources, _ = _domains(relation, more, nodes, known, rows)
    applied = tuple(part for part in known if columns_of(part).keys() <= more.keys() and _applies(part, nodes))
    return set(rows.images(KeyList(sources, applied, tuple(nodes), tuple(more)))) if applied else None


def _read(part: Node, relation: Relation) -> set[str]:
    """What a condition reads, as `_sources` names it."""
    homes = {name: _home(column, relation) for name, column in columns_of(part).items()}
    return {name if home is None else f"table {home.number}" for name, home in homes.items()}


def check_groups(total: int) -> None:
    """Refuse more groups than are released (semantics 3.6a)."""
    if total > MOST_GROUPS:
        raise QueryError(
            f"this query has {total:,} groups, more than {MOST_GROUPS:,}",
            hint="Group by fewer columns, or by wider classes such as date_trunc('month', day).",
        )


def check_bytes(size: int) -> None:
    """Refuse keys that would take too much room, before they are written out."""
    if size > MOST_BYTES:
        raise too_long()


def too_long() -> QueryError:
    """The error of groups whose keys take too much room."""
    return QueryError(
        f"the keys of this query's groups are longer than {MOST_BYTES >> 20} MiB together",
        sqlstate="54000",
        hint="Group by shorter texts or fewer columns. A value that is the same in every group can be added later.",
    )


def _bytes(images: list[tuple[Any, ...]]) -> int:
    """Bytes of the keys of these groups."""
    size = 0
    for image in images:
        step()
        size += VALUE * len(image) + sum(len(value) for value in image if isinstance(value, str))
    return size


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
        step()
        row: list[Any] = [None] * count
        for (indices, _), image in zip(lists, combination, strict=True):
            for i, value in zip(indices, image, strict=True):
                row[i] = value
        result.append(tuple(row))
    return sorted(result, key=lambda row: [ranks[i][value] for i, value in enumerate(row)])


def _images(relation: Relation, nodes: list[Node], known: list[Node], rows: PublicRows) -> list[tuple[Any, ...]]:
    """The values that these keys take over all declared values of the columns that they read, in the order of these."""
    used: dict[str, Column] = {}
    for node in nodes:
        used |= columns_of(node)
    if _by_form(nodes[0], relation):  # such a key stands alone
        return [(value,) for value in _possible(_under(nodes[0], known))]
    sources, count = _domains(relation, used, nodes, known, rows)
    if count > MOST_GROUPS:
        raise QueryError(
            f"listing these groups takes {count:,} combinations, more than {MOST_GROUPS:,}",
            position=nodes[0].position,
            hint="Group by fewer columns, or declare narrower bounds.",
        )
    applied = tuple(part for part in known if columns_of(part).keys() <= used.keys() and _applies(part, nodes))
    return rows.images(KeyList(sources, applied, tuple(nodes), tuple(used)))


def image(node: Node, relation: Relation, rows: PublicRows, most: int) -> list[Any] | None:
    """The values that an expression takes over all declared values of the columns that it reads, without NULL.

    None where it reads no column or a public one, where values are not declared, or are more than `most`.
    """
    columns = columns_of(node)
    if not columns or any(_home(c, relation) is not None or _countless(c, relation, (node,)) for c in columns.values()):
        return None
    if prod(_listing(c, (node,), []).count + 1 for c in columns.values()) > most:
        return None
    sources, _ = _domains(relation, columns, [node], [], rows)
    found = rows.images(KeyList(sources, (), (node,), tuple(columns)))
    return [value for (value,) in found if value is not None]


def _applies(part: Node, nodes: list[Node]) -> bool:
    """Whether a condition can be asked of listed values: of a timestamp only first moments of units are listed."""
    columns = columns_of(part)
    for name, column in columns.items():
        if column.facts.kind == TIMESTAMP and column.facts.values is None:
            listed_by, asked = (finest(grain(node, name) for node in some) for some in (nodes, [part]))
            if listed_by is None or asked is None or FINER.index(asked) > FINER.index(listed_by):
                return False
    return bool(columns)


def _possible(node: Node) -> list[Any]:
    """The values that a key can have by its form alone, and NULL."""
    values = listed(node)
    facts = node.facts
    if values is None and facts.kind == BOOLEAN:
        values = (False, True)
    if values is None:
        assert facts.low is not None
        assert facts.high is not None
        assert facts.grid is not None
        first, last = int(facts.low / facts.grid), int(facts.high / facts.grid)
        stride = int(_stride(node) / facts.grid)
        return [*range(first, last + 1, stride), *([None] if facts.nullable else [])]
    if facts.exact and facts.grid is not None:
        values = tuple(int(Fraction(value) / facts.grid) for value in values)
    if facts.kind == TIMESTAMP:  # a day among moments is its first one
        moments = (v if isinstance(v, datetime) else datetime.combine(v, time()) for v in values)
        values = tuple(dict.fromkeys(moments))
    return [*values, *([None] if facts.nullable else [])]


def _domains(
    relation: Relation, used: dict[str, Column], nodes: list[Node], known: list[Node], rows: PublicRows
) -> tuple[tuple[DeclaredValues | TableValues, ...], int]:
    """Where the values of the columns come from, and how many combinations there are."""
    public: dict[Scan, list[Column]] = {}
    sources: list[DeclaredValues | TableValues] = []
    count = 1
    for column in used.values():
        home = _home(column, relation)
        if home is not None:
            public.setdefault(home, []).append(column)
            continue
        declared = _listing(column, tuple(nodes), known)
        count *= declared.count + declared.nullable
        if count <= MOST_GROUPS:
            sources.append(declared.values())
    for home, columns in public.items():
        table = TableValues(home, tuple(columns), may_miss(relation, home))
        sources.append(table)
        count *= rows.count_values(table)
    return tuple(sources), count


def may_miss(relation: Relation, scan: Scan) -> bool:
    """Whether an outer join may find no row of this table."""
    if isinstance(relation, Join):
        if scan in scans_in(relation.right):
            return relation.kind != "inner" or may_miss(relation.right, scan)
        return relation.kind == "full" or may_miss(relation.left, scan)
    return any(may_miss(part, scan) for part in below(relation) if scan in scans_in(part))


@dataclass(frozen=True)
class _Listing:
    """The values of a column that are gone through: how many, whether NULL is besides, and the values themselves."""

    count: int
    nullable: bool
    values: Callable[[], DeclaredValues]


def _listing(column: Column, nodes: tuple[Node, ...], known: list[Node]) -> _Listing:
    """A column's declared values: a list, or the steps between its bounds as far as conditions leave them."""
    facts = column.facts
    if facts.values is not None or facts.kind == BOOLEAN:
        shown = facts.values if facts.values is not None else (False, True)
        return _Listing(len(shown), facts.nullable, lambda: DeclaredValues(column, shown, 0, len(shown)))
    left = narrowed(column, known)
    facts, kept = left.facts, replace(column, facts=left.facts)
    assert facts.low is not None
    assert facts.high is not None
    if facts.kind == TIMESTAMP:
        return _moments(kept, left, finest(grain(node, column.name) for node in nodes) or "second")
    if facts.kind == DATE and facts.every not in ("", "day"):
        unit, ends = facts.every, [date.fromordinal(int(end)) for end in (facts.low, facts.high)]
        firsts = tuple(days(unit, *ends))
        return _Listing(len(firsts), facts.nullable, lambda: DeclaredValues(kept, firsts, 0, len(firsts)))
    grid = facts.grid or Fraction(1)
    low, high = int(facts.low / grid), int(facts.high / grid)
    return _Listing(high - low + 1, facts.nullable, lambda: DeclaredValues(kept, None, low, high - low + 1))


def _moments(column: Column, left: Range, unit: str) -> _Listing:
    """The first moments of the units that a timestamp can fall into."""
    assert left.first is not None
    assert left.last is not None
    size = CLOCK.get(unit, _DAY)
    low, high = (_second(end) // size for end in (left.first, left.last))
    count = max(1, high - low + 1)
    return _Listing(count, column.facts.nullable, lambda: DeclaredValues(column, None, low * size, count, size))


def _second(moment: datetime) -> int:
    """Whole seconds from the first day on."""
    return (moment - datetime(1, 1, 1)) // timedelta(seconds=1)  # noqa: DTZ001  times have no zone here
