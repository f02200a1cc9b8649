"""How many rows each person has, where that is known: one, or the number stored beside each row (`sfumato prepare`).

Comes in: a table as the engine keeps it, or the relation below a release. Goes out: the SELECT that stores the rows of
a table clustered by person; and the relation with a hidden column that says, of each row, how many rows of its person
are there. A number of rows that was stored is that of the whole table: it is n(u) of a release (semantics 3.1a) only
where every row of a person is there or none, which is judged here.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from sfumato.policy import Table
from sfumato.sql.relations import Distinct, Filter, Grouped, Join, Marked, Named, Relation, Scan, Windowed
from sfumato.sql.select import UNIT
from sfumato.sql.tree import INTEGER, PERSON, Column, Facts, columns_of
from sfumato.sql.write import FINE
from sfumato.words import identifier

ROWS = "#rows"
"""Where a prepared table keeps a person's number of rows."""


def is_single(relation: Relation, unique: frozenset[str]) -> bool:
    """Whether each person surely has at most one row here, given the tables in which she has one."""
    if isinstance(relation, Scan):
        return relation.single or relation.table.name in unique
    if isinstance(relation, Grouped | Distinct):
        persons_only = all(column.unit == PERSON for column in _keys(relation))
        once = isinstance(relation, Distinct) or len(relation.sets) <= 1
        return (persons_only and once) or (isinstance(relation, Distinct) and is_single(relation.below, unique))
    if isinstance(relation, Join):
        sides = [side for side in (relation.left, relation.right) if side.private]
        return relation.kind != "full" and relation.person_rows == 1 and all(is_single(side, unique) for side in sides)
    if isinstance(relation, Filter | Marked | Named | Windowed):
        return is_single(relation.below, unique)
    return False


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


def clustered(table: Table) -> str:
    """The rows of a kept table, those of one person together, each with her number of rows and, where the policy states
    a bound, her weight at it.
    """
    name, most = identifier(table.name), table.rows_per_unit
    weight = ""
    if isinstance(most, int):
        weight = f", CAST({weight_of('p.n', most)} AS INTEGER) AS {identifier(weight_at(most))}"
    people = f"SELECT {UNIT} AS u, COUNT(*) AS n FROM {name} GROUP BY {UNIT}"
    return (
        f"SELECT CAST(p.n AS BIGINT) AS {identifier(ROWS)}{weight}, t.*"
        f" FROM {name} AS t JOIN ({people}) AS p ON t.{UNIT} = p.u ORDER BY t.{UNIT}"
    )


def counted_scan(relation: Relation, counted: Container[str], unique: frozenset[str]) -> Scan | None:
    """The prepared table whose stored number of rows is, for each row here, that of its person's rows here.

    Guarantee: n(u) of the rows here is the stored number of u, for every u who has a row here.
    Proof: by induction. A scan has all rows of the table. Columns added change no row. A join on the person alone with
        a relation in which nobody has two rows (inner, or left with it on the right) keeps every row of a person once,
        or none. So does a condition that reads only columns of such a relation, for it is the same in all her rows.
    Reference: semantics 3.1a, 1.4.
    Checked by: laws::a_prepared_plan_gives_the_same_numbers, laws::a_stored_number_is_used_only_where_it_is_the_number
    """
    if isinstance(relation, Scan):
        return relation if relation.stored and relation.table.name in counted else None
    if isinstance(relation, Named | Windowed | Marked):
        return counted_scan(relation.below, counted, unique)
    if isinstance(relation, Filter):
        alike = set(columns_of(relation.condition)) <= _personal(relation.below, unique)
        return counted_scan(relation.below, counted, unique) if alike else None
    if isinstance(relation, Join) and relation.by_person and relation.on is None:
        if relation.kind in ("inner", "left") and is_single(relation.right, unique):
            return counted_scan(relation.left, counted, unique)
        if relation.kind == "inner" and is_single(relation.left, unique):
            return counted_scan(relation.right, counted, unique)
    return None


def _personal(relation: Relation, unique: frozenset[str]) -> set[str]:
    """Columns that are the same in all rows of a person: her unit, and what comes from where she has one row."""
    if is_single(relation, unique):
        return set(relation.columns)
    if isinstance(relation, Scan):
        return {name for name, column in relation.columns.items() if column.unit == PERSON}
    if isinstance(relation, Filter):
        return _personal(relation.below, unique)
    if isinstance(relation, Join) and relation.by_person and relation.on is None and relation.kind in ("inner", "left"):
        return _personal(relation.left, unique) | _personal(relation.right, unique)
    return set()


def carrying(relation: Relation, scan: Scan, column: Column) -> Relation:
    """The same rows with one more column of a scan below, hidden from those who ask."""
    shape = replace(relation.shape, columns={**relation.columns, column.name: column})
    if relation is scan:
        return replace(relation, shape=shape)
    if isinstance(relation, Named):
        below = carrying(relation.below, scan, column)
        return replace(relation, shape=shape, below=below, items=(*relation.items, (column.name, column)))
    if isinstance(relation, Filter | Windowed | Marked):
        return replace(relation, shape=shape, below=carrying(relation.below, scan, column))
    if isinstance(relation, Join) and _holds(relation.left, scan):
        return replace(relation, shape=shape, left=carrying(relation.left, scan, column))
    assert isinstance(relation, Join)
    return replace(relation, shape=shape, right=carrying(relation.right, scan, column))


def _holds(relation: Relation, scan: Scan) -> bool:
    if isinstance(relation, Join):
        return _holds(relation.left, scan) or _holds(relation.right, scan)
    return relation is scan or (
        isinstance(relation, Filter | Named | Windowed | Marked) and _holds(relation.below, scan)
    )


def stored_column(scan: Scan, name: str) -> Column:
    """One of the two stored numbers as a column of a scan."""
    return Column(f"{scan.number}.{name}", Facts(INTEGER, nullable=False))


def people_of(table: str) -> str:
    """The prepared table that has one row for each person of another: her number of rows, and stored sums."""
    return identifier(f"#people {table}")


def stored_sum(number: int) -> str:
    """The column of a stored sum."""
    return identifier(f"#{number}")
