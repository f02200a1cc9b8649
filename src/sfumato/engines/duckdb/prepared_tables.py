"""What is stored when rows are prepared: each table once more, clustered by person, and sums that questions ask for.

Comes in: a policy, its protected tables as the engine keeps them, a hash key. Goes out: the SELECTs that are stored,
and the names of what they hold, by which a plan finds it: a sum has its spelling for a name, for the same words over
the same rows are the same number.

    "T"           its rows; beside each her person's number, number of rows and weight, and the lots of open keys
    "#sizes T"    a row for each number of rows that somebody has: sums over all who have so many
    "#people T"   a row for each person: sums that are cut person by person (semantics 3.1f)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date

from sfumato.algebra.group_keys import is_open
from sfumato.algebra.job import grid_of
from sfumato.algebra.relations import Release, Scan
from sfumato.algebra.table_scans import scan_of
from sfumato.algebra.tree import Column
from sfumato.engines.duckdb.jobs import spelled
from sfumato.engines.duckdb.key_sampling import FIRST, LOT, ROWID, lots
from sfumato.engines.duckdb.relations import NUMBER, UNIT, everybody, select
from sfumato.engines.duckdb.row_counts import ROWS, SAME, of_each, people_of, sizes_of, stored_sum, weight_at, weight_of
from sfumato.errors import QueryError
from sfumato.policy import Policy, Table, with_bounds
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.bundles import bundles_of
from sfumato.types import identifier

_OF_A_COLUMN = ("COUNT({0})", "SUM({0})", "AVG({0})", "VAR_POP({0})", "COUNT(DISTINCT {0})")
_SURELY = 1 << 31
"""Steps of one row whose sum over any person's rows is held in 64 bits; what is longer is held in 128."""


Same = Callable[[str], Iterable[str]]


@dataclass(frozen=True)
class StoredTables:
    """What is stored of each table, by its names in order; and, by SQL's names of tables, the SELECTs that give it."""

    names: dict[str, tuple[str, ...]]
    selects: dict[str, str]


def standing(policy: Policy, tables: Iterable[str], salt: str, same: Same) -> StoredTables:
    """What is stored of these private tables; `salt` is the hash key by which a person's open keys have their order,
    `same` says which columns of a table are the same in all rows of each person.
    """
    settled, listed = with_bounds(policy, {}), tuple(tables)  # sums and keys are the same whatever the bounds are
    names, rows, beside = {}, {}, {}
    for name in listed:
        sums, opened, table = _sums(settled, name), _open(settled, name), policy.tables[name]
        most = table.rows_per_unit if isinstance(table.rows_per_unit, int) else None
        weights = () if most is None else (weight_at(most),)
        alike = [SAME.format(column) for column in same(name)]
        names[name] = (*sums, *weights, *(LOT.format(column) for column in opened), *alike)
        rows[name] = _clustered(table, listed, opened, salt)
        scan = scan_of(settled.tables[name], settled, 0, stored=True)
        beside[sizes_of(name)], beside[people_of(name)] = _sizes(scan, sums, most), _people(scan, sums)
    return StoredTables(names, {identifier(name): sql for name, sql in rows.items()} | beside)


def _releases(policy: Policy, question: str) -> tuple[Release, ...]:
    """What a question releases; nothing where it would be refused."""
    try:
        releases = tuple(bind(parse(question), policy, date(2000, 1, 1)).releases)
        _ = [bundles_of(release) for release in releases]  # numbers may be too long to be summed
    except QueryError:
        return ()
    return releases


def _sums(policy: Policy, table: str) -> dict[str, str]:
    """The sums of COUNT(*) and of what can be asked of each column, with types; those of a lone SUM for each, too."""
    columns, found = [identifier(name) for name in policy.tables[table].columns], dict[str, str]()
    for form in ("COUNT(*)", *(text.format(name) for name in columns for text in _OF_A_COLUMN)):
        for release in _releases(policy, f"SELECT {form} FROM {identifier(table)}"):
            for bundle in bundles_of(release).bundles:
                narrow = "BIGINT" if bundle.length / grid_of(bundle) < _SURELY else "HUGEINT"
                found |= dict.fromkeys(spelled(bundle), narrow)
                found |= dict.fromkeys(map(of_each, spelled(bundle)), narrow) if form.startswith("SUM") else {}
    return found


def _open(policy: Policy, table: str) -> list[str]:
    """The columns that are open keys when somebody groups by them, if rows of the table can be told apart."""
    if ROWID in {name.casefold() for name in policy.tables[table].columns}:  # its own column is read by that name
        return []
    return [
        name
        for name in policy.tables[table].columns
        for release in _releases(policy, f"SELECT {identifier(name)}, COUNT(*) FROM {identifier(table)} GROUP BY 1")
        if all(isinstance(node, Column) and not node.unit and is_open(node, release.below) for _, node in release.keys)
    ]


def _clustered(table: Table, tables: tuple[str, ...], opened: list[str], salt: str) -> str:
    """The rows of a kept table, those of one person together, and what is stored beside each of them."""
    name, most = identifier(table.name), table.rows_per_unit
    beside = [f"p.i AS {NUMBER}", f"p.n AS {identifier(ROWS)}"]
    beside += [_weight("p.n", most)] if isinstance(most, int) else []
    numbers = f"SELECT u, row_number() OVER (ORDER BY u) AS i FROM ({everybody(tables)})"
    people = f"SELECT {UNIT} AS u, COUNT(*) AS n FROM {name} GROUP BY {UNIT}"
    source = f"{name} AS t JOIN (SELECT * FROM ({people}) JOIN ({numbers}) USING (u)) AS p ON t.{UNIT} = p.u"
    for i, column in enumerate(opened):
        source += f" JOIN ({lots(name, column, salt)}) AS l{i} ON l{i}._u = t.{UNIT}"
        source += f" AND l{i}._k IS NOT DISTINCT FROM t.{identifier(column)}"
        first = f"CASE WHEN l{i}._n = 1 THEN 2 WHEN l{i}._first = t.{ROWID} THEN 1 ELSE 0 END"
        beside.append(f"l{i}._r AS {identifier(LOT.format(column))}")
        beside.append(f"CAST({first} AS TINYINT) AS {identifier(FIRST.format(column))}")
    return f"SELECT {', '.join(beside)}, t.* FROM {source} ORDER BY t.{UNIT}"


def _weight(rows: str, most: int) -> str:
    return f"CAST({weight_of(rows, most)} AS INTEGER) AS {identifier(weight_at(most))}"


def _summed(scan: Scan, sums: dict[str, str], each: bool) -> str:
    """One row for each person: her number of rows, and those sums that are stored for each, or those that are not."""
    shown = [
        f"CAST({sum_.removeprefix(of_each(''))} AS {kind}) AS {stored_sum(i)}"
        for i, (sum_, kind) in enumerate(sums.items())
        if sum_.startswith(of_each("")) == each
    ]
    head = ", ".join([f"COUNT(*) AS {identifier(ROWS)}", *shown])
    return f"SELECT {head} FROM ({select(scan, scan.columns)}) AS q GROUP BY _u"


def _people(scan: Scan, sums: dict[str, str]) -> str:
    return _summed(scan, sums, each=True)


def _sizes(scan: Scan, sums: dict[str, str], most: int | None) -> str:
    rows = identifier(ROWS)
    here = [stored_sum(i) for i, sum_ in enumerate(sums) if not sum_.startswith(of_each(""))]
    shown = [rows, *(f"CAST(SUM({column}) AS HUGEINT) AS {column}" for column in here)]
    shown += [] if most is None else [_weight(rows, most)]
    return f"SELECT {', '.join(shown)} FROM ({_summed(scan, sums, each=False)}) AS p GROUP BY {rows} ORDER BY {rows}"
