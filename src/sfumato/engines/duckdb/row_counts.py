"""How many rows each person has, where that is known: one, or the number stored beside each row (`sfumato prepare`).

Comes in: the relation below a release, and what is stored of tables. Goes out: the prepared table whose stored numbers
are those of the rows here; and the relation with a hidden column of it. A number of rows that was stored is that of the
whole table: it is n(u) of a release (semantics 3.1a) only where every row of a person is there or none, which is judged
here.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from sfumato.algebra.aggregates.base import Bundle
from sfumato.algebra.equalities import equated
from sfumato.algebra.job import FINE
from sfumato.algebra.relations import (
    Distinct,
    Filter,
    Fixed,
    Grouped,
    Join,
    Limited,
    MarkJoin,
    Projection,
    Relation,
    Scan,
    SetOperation,
    UnionAll,
    Windowed,
    scans_in,
)
from sfumato.algebra.tree import DOUBLE, INTEGER, PERSON, Column, Facts, columns_of, conjuncts
from sfumato.engines.duckdb.expressions import expression
from sfumato.engines.duckdb.jobs import JobWriter
from sfumato.engines.duckdb.relations import select
from sfumato.types import identifier

Look = Callable[[str], list[tuple[Any, ...]]]
ROWS = "#rows"
"""Where a prepared table keeps a person's number of rows."""
SAME = "same {0}"
"""That a column of a prepared table is the same in all rows of each person, by its name among what is known."""


@dataclass(frozen=True, eq=False)
class TableKnowledge:
    """What the engine knows of its tables: in which nobody has two rows; and what is stored of prepared ones, by the
    names that `standing` gives: sums as they are spelt, weights at a bound, lots of open keys, columns that are the
    same in all rows of each person.
    """

    unique: frozenset[str] = frozenset()
    counted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    look: Look | None = None
    """Reads public tables and rows that are kept, where private rows meet them."""
    sizes: Mapping[int, int] = field(default_factory=dict)
    """How many rows there are of what was made of a release, by the number of its relation."""


def is_single(relation: Relation, known: TableKnowledge) -> bool:
    """Whether each person has at most one row here.

    Guarantee: it holds of these very rows, whatever the planner concluded and whatever the policy declares.
    Proof: by induction. A table was looked at when it was loaded. The engine's own GROUP BY, by the hidden person and
        by no column that holds an identifier, makes one group for each person; DISTINCT is such a GROUP BY. A join on
        the person of two relations in which nobody has two rows makes none who has; nor does a join with public rows
        of which each row meets at most one: these are looked at. Conditions and columns make no row.
    Reference: semantics 3.1d, 1.4.
    Checked by: laws::relations_keep_their_price_in_their_positions, laws::faults_of_what_is_run_are_caught
    """
    if isinstance(relation, Scan):
        return relation.single or relation.table.name in known.unique
    if isinstance(relation, Grouped | Distinct):
        persons_only = all(column.unit == PERSON for column in _keys(relation))
        once = isinstance(relation, Distinct) or len(relation.sets) <= 1
        return (persons_only and once) or (isinstance(relation, Distinct) and is_single(relation.below, known))
    if isinstance(relation, Join) and relation.kind in ("inner", "left"):
        if relation.by_person:
            return is_single(relation.left, known) and is_single(relation.right, known)
        return is_single(relation.left, known) and _meets_one(relation, known)
    if isinstance(relation, Filter | MarkJoin | Projection | Windowed):
        return relation.private and is_single(relation.below, known)
    return False


def _meets_one(join: Join, known: TableKnowledge) -> bool:
    """Whether a row meets at most one row of the public side: seen in the rows that it meets."""
    right = join.right
    if right.private or not join.left.private:
        return False
    if isinstance(right, Fixed) and right.kept is None:
        return known.sizes.get(right.number, 2) <= 1
    if known.look is None or not isinstance(right, Scan | Fixed):
        return False
    nodes = [mine for mine, _ in equated(conjuncts(join.on), right) if mine.facts.kind != DOUBLE]  # -0 equals 0
    by = [expression(node) for node in nodes]
    rows = f"SELECT 1 FROM ({select(right, {name for node in nodes for name in columns_of(node)})}) AS q"
    tail = f" WHERE {' AND '.join(f'{key} IS NOT NULL' for key in by)} GROUP BY {', '.join(by)}" if by else ""
    return not known.look(f"{rows}{tail}{' HAVING COUNT(*) > 1 LIMIT 1' if by else ' OFFSET 1 LIMIT 1'}")


def _keys(relation: Grouped | Distinct) -> list[Column]:
    """The columns by which a person's rows are told apart."""
    if isinstance(relation, Distinct):
        return list(relation.columns.values())
    return [relation.columns[name] for name, _ in relation.keys]


def weight_of(rows: str, most: int) -> str:
    """min(1, most/rows) in whole numbers of 2^-20, toward zero (semantics 3.1b)."""
    return f"CASE WHEN {rows} <= {most} THEN {FINE} ELSE {FINE * most} // CAST({rows} AS BIGINT) END"


def weight_at(most: int) -> str:
    """Where a prepared table keeps a person's weight at this bound."""
    return f"#weight {most}"


def counts_rows(writer: JobWriter) -> bool:
    """Whether a person's weight is that of her number of rows, for everything that is summed."""
    return not writer.limits.gaussian and writer.clip is None and not any(b.person for b in writer.bundles)


def weighted(writer: JobWriter, bundle: Bundle) -> str:
    """The writer's weight; by a quotient of 64 bits where the rows are counted."""
    limits = writer.limits
    if writer.clip is not None or limits.alone or limits.gaussian or (bundle.person and limits.few):
        return writer.weight(bundle)
    return weight_of("w._g" if bundle.person else "w._n", int(limits.bound))


def surely_short(writer: JobWriter) -> list[bool]:
    """Whether each sum of one person, n L, and it times her weight, at most C L 2^20, surely fit into 64 bits."""
    most = writer.limits.most if counts_rows(writer) else 1 << 63
    return [size < 1 << 31 and size * most < 1 << 42 for size in (b.length / grid for _, b, grid in writer.sized())]


def total(value: str, name: str) -> str:
    """A sum over all rows."""
    return f"COALESCE(CAST(SUM({value}) AS HUGEINT), 0) AS {name}"


def product(value: str, largest: Fraction, weight: str) -> str:
    """A part times a weight of at most 2^20; in 64 bits where it surely fits."""
    return f"CAST({value} AS {'BIGINT' if largest < 1 << 40 else 'HUGEINT'}) * {weight}"


def counted_scan(relation: Relation, known: TableKnowledge) -> Scan | None:
    """The prepared table whose stored number of rows is, for each row here, that of its person's rows here.

    Guarantee: n(u) of the rows here is the stored number of u, for every u who has a row here.
    Proof: by induction. A scan has all rows of the table. Columns added change no row. A join on the person alone with
        a relation in which nobody has two rows (inner, or left with it on the right) keeps every row of a person once,
        or none. So does a condition that reads only columns of such a relation, or of the table such as are the same
        in all rows of each person, for it is the same in all her rows.
    Reference: semantics 3.1a, 1.4.
    Checked by: laws::a_prepared_plan_gives_the_same_numbers, laws::a_stored_number_is_used_only_where_it_is_the_number
    """
    return _scan(relation, known, whole=True)


def seen_once(relation: Relation, known: TableKnowledge) -> Scan | None:
    """The prepared table each of whose rows is here at most once, and every row here one of its rows.

    Proof: as above; conditions and joins with at most one row of the same person make no second row.
    """
    return _scan(relation, known, whole=False)


def _scan(relation: Relation, known: TableKnowledge, *, whole: bool) -> Scan | None:
    if isinstance(relation, Scan):
        return relation if relation.stored and relation.table.name in known.counted else None
    if isinstance(relation, Projection | Windowed | MarkJoin):
        return _scan(relation.below, known, whole=whole)
    if isinstance(relation, Filter):
        alike = not whole or set(columns_of(relation.condition)) <= _personal(relation.below, known)
        return _scan(relation.below, known, whole=whole) if alike else None
    if isinstance(relation, Join) and relation.by_person and not (whole and relation.on is not None):
        if relation.kind in ("inner", "left") and is_single(relation.right, known):
            return _scan(relation.left, known, whole=whole)
        if relation.kind == "inner" and is_single(relation.left, known):
            return _scan(relation.right, known, whole=whole)
    return None


def _personal(relation: Relation, known: TableKnowledge) -> set[str]:
    """Columns that are the same in all rows of a person: her unit, what comes from where she has one row, and what was
    seen to be so in all rows of a prepared table.
    """
    if is_single(relation, known):
        return set(relation.columns)
    if isinstance(relation, Scan):
        stored = known.counted.get(relation.table.name, ()) if relation.stored else ()
        return {
            name
            for name, column in relation.columns.items()
            if column.unit == PERSON or SAME.format(name.split(".", 1)[1]) in stored
        }
    if isinstance(relation, Filter):
        return _personal(relation.below, known)
    if isinstance(relation, Join) and relation.by_person and relation.on is None and relation.kind in ("inner", "left"):
        return _personal(relation.left, known) | _personal(relation.right, known)
    return set()


def carrying(relation: Relation, scan: Scan, column: Column) -> Relation:
    """The same rows with one more column of a scan below, hidden from those who ask."""
    shape = replace(relation.shape, columns={**relation.columns, column.name: column})
    if relation is scan:
        return replace(relation, shape=shape)
    if isinstance(relation, Projection):
        below = carrying(relation.below, scan, column)
        return replace(relation, shape=shape, below=below, items=(*relation.items, (column.name, column)))
    if isinstance(relation, Filter | Windowed | MarkJoin):
        return replace(relation, shape=shape, below=carrying(relation.below, scan, column))
    if isinstance(relation, Join) and _holds(relation.left, scan):
        return replace(relation, shape=shape, left=carrying(relation.left, scan, column))
    assert isinstance(relation, Join)
    return replace(relation, shape=shape, right=carrying(relation.right, scan, column))


def _holds(relation: Relation, scan: Scan) -> bool:
    if isinstance(relation, Join):
        return _holds(relation.left, scan) or _holds(relation.right, scan)
    return relation is scan or (
        isinstance(relation, Filter | Projection | Windowed | MarkJoin) and _holds(relation.below, scan)
    )


def numbered(relation: Relation, counted: Container[str]) -> Relation:
    """The same rows, their persons told apart by stored numbers, where every table here has them; else as it is.

    Guarantee: whoever is told apart by the unit is told apart by the number, and the other way round; no hash, key or
        sum reads it. (Which number she has depends on who else is there.)
    Proof: all persons of all prepared tables were numbered together, one after the other. A scan gives the number under
        the hidden name `_u` alone, which relations compare and group by; plans that hash are given the unit.
    Reference: semantics 2.1, 3.6b.
    Checked by: laws::persons_are_told_apart_by_their_numbers, laws::no_hash_reads_the_number_of_a_person
    """
    private = [scan for scan in scans_in(relation) if not scan.table.public]
    if all(scan.stored and scan.table.name in counted for scan in private):
        return _numbered(relation)
    return relation


def _numbered(relation: Relation) -> Relation:
    if isinstance(relation, Scan):
        return relation if relation.table.public else replace(relation, numbered=True)
    if isinstance(relation, Filter | Projection | Grouped | Windowed | Distinct | Limited):
        return replace(relation, below=_numbered(relation.below))
    if isinstance(relation, Join):
        return replace(relation, left=_numbered(relation.left), right=_numbered(relation.right))
    if isinstance(relation, MarkJoin):
        return replace(relation, below=_numbered(relation.below), right=_numbered(relation.right))
    if isinstance(relation, UnionAll | SetOperation):
        return replace(relation, parts=tuple((_numbered(part), nodes) for part, nodes in relation.parts))
    return relation  # a release, or no table: nobody is there


def stored_column(scan: Scan, name: str) -> Column:
    """A number that is stored beside each row, as a column of a scan."""
    return Column(f"{scan.number}.{name}", Facts(INTEGER, nullable=False))


def people_of(table: str) -> str:
    """The prepared table that has one row for each person of another: her number of rows, and stored sums."""
    return identifier(f"#people {table}")


def sizes_of(table: str) -> str:
    """The prepared table that has one row for each number of rows that a person of another has: sums over these."""
    return identifier(f"#sizes {table}")


def of_each(sum_: str) -> str:
    """The name of a sum that is stored for each person, beside that of the same sum over all who have as many rows."""
    return f"each {sum_}"


def stored_sum(number: int) -> str:
    """The column of a stored sum."""
    return identifier(f"#{number}")
