"""Undeclared keys: which of a person's keys are kept is decided by a keyed hash, stored when rows are prepared.

Comes in: a Writer whose one key is open. Goes out: SQL that gives what `Writer.sql` gives, and the number of persons
behind each key as its last column. A lot is the place of a key among all keys of a person in the whole table, in the
order of the keyed hash (semantics 3.6b). Whatever rows of hers a condition leaves, her keys there stand in the order of
their lots: the K smallest are those that the hash would choose, and nothing is hashed again.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.algebra.relations import Filter, Join, MarkJoin, Projection, Relation, Scan, Windowed
from sfumato.algebra.tree import Column, Node
from sfumato.engines.duckdb.jobs import EngineStatement, JobWriter, hashed
from sfumato.engines.duckdb.relations import UNIT
from sfumato.engines.duckdb.row_counts import (
    TableKnowledge,
    carrying,
    counted_scan,
    counts_rows,
    numbered,
    product,
    seen_once,
    stored_column,
    surely_short,
    total,
    weight_of,
    weighted,
)
from sfumato.types import identifier, string

LOT = "#lot {0}"
"""Where a prepared table keeps the lot of a row's key in this column: 1 for the first that is kept."""
FIRST = "#first {0}"
"""Where it keeps whether the row is the only one of its person under its key (2), the first of several (1), or not."""
ROWID = "rowid"
"""The engine's own number of a row, unless the table has a column of this name."""
SLICE = "COALESCE(hash(_u) % getvariable('slices') = getvariable('slice'), TRUE)"
"""The condition by which persons are taken in slices. Without these variables it holds for everybody."""
_MOST = 1000
"""Of so many keys the largest lot is looked for; beyond it nearly nobody has more, and they are hashed."""


def lots(table: str, column: str, salt: str) -> str:
    """Each person's keys in a column with their lots, numbers of rows, and the first row of each."""
    pairs = (
        f"SELECT {UNIT} AS _u, {identifier(column)} AS _k, COUNT(*) AS _n, MIN({ROWID}) AS _first"
        f" FROM {table} GROUP BY ALL"
    )
    order = hashed(["_k"], salt=string(salt))
    return f"SELECT *, CAST(row_number() OVER (PARTITION BY _u ORDER BY {order}) AS INTEGER) AS _r FROM ({pairs})"


def by_key(writer: JobWriter, known: TableKnowledge) -> EngineStatement:
    """Sums by one open key, or several that are one, and the number of persons behind each.

    Guarantee: the numbers are those of the plain form under the hash key by which the lots were drawn; so a person
        is one of the people under at most K keys, and nobody's keys depend on another's rows.
    Proof: the lots of a person number her keys in the order of the hash of her unit and the key, which nothing else
        enters; in a part of her rows her keys stand in the same order. A lot up to K has fewer than K before it in the
        whole table, hence here; beyond it as many are kept as are missing, the smallest first. Where all her rows are
        here, none is missing. A hash key that is drawn before anybody asks and fixed is as good as a new one: the claim
        holds for each hash key, and it is drawn without a look at the rows.
    Reference: semantics 3.6b, 1.4.
    Checked by: laws::what_is_stored_gives_the_same_numbers, laws::lots_are_used_where_they_are_those_of_the_rows,
        laws::one_person_moves_stored_numbers_by_what_is_claimed
    """
    column = _drawn(writer, known)
    if column is None or writer.limits.alone or writer.limits.keys > _MOST:
        return EngineStatement(_hashed(writer), salted=True, sliced=True)
    drawn = _with_lots(writer, known, column)
    whole = counted_scan(writer.release.below, known) is not None
    return EngineStatement(_all_rows(drawn) if whole and counts_rows(writer) else _some_rows(drawn))


def _drawn(writer: JobWriter, known: TableKnowledge) -> str | None:
    """The column that is the key, where its lots are stored beside rows that are here once."""
    below, nodes = writer.release.below, [writer.release.keys[i][1] for i in writer.kept]
    scan = seen_once(below, known)
    column = None if scan is None or len(nodes) > 1 else _origin(below, nodes[0], scan)
    stored = scan is not None and column is not None and LOT.format(column) in known.counted[scan.table.name]
    return column if stored else None


def _origin(relation: Relation, node: Node, scan: Scan) -> str | None:
    """The column of a table below that a key is, under whatever names it has come here."""
    if not isinstance(node, Column) or node.name not in relation.columns:
        return None
    if relation is scan:
        return node.name.split(".", 1)[1]
    if isinstance(relation, Projection):
        return _origin(relation.below, dict(relation.items)[node.name], scan)
    if isinstance(relation, Join):
        return _origin(relation.left, node, scan) or _origin(relation.right, node, scan)
    return _origin(relation.below, node, scan) if isinstance(relation, Filter | Windowed | MarkJoin) else None


def _with_lots(writer: JobWriter, known: TableKnowledge, column: str) -> JobWriter:
    """The writer whose rows have the lot of their key as `_r` and whether they are the first under it as `_f`."""
    below: Relation = numbered(writer.release.below, known.counted)
    hidden: list[Column] = []
    for name in (LOT, FIRST):
        scan = seen_once(below, known)
        assert scan is not None
        hidden.append(stored_column(scan, name.format(column)))
        below = carrying(below, scan, hidden[-1])
    shown = f"{identifier(hidden[0].name)} AS _r, {identifier(hidden[1].name)} AS _f"
    return replace(writer, release=replace(writer.release, below=below), more=shown, reads=tuple(hidden))


def _all_rows(writer: JobWriter) -> str:
    """All rows of a person are here, or none: the first K lots are kept, and each pair has its first row."""
    limits, names = writer.limits, [f"_k{i}" for i in writer.kept]
    sums = [total(product(name, b.length / grid, "_w"), name) for name, b, grid in writer.sized()]
    return (
        f"WITH kept AS NOT MATERIALIZED (SELECT * FROM ({writer.every_row()}) WHERE _r <= {limits.keys}), "
        f"weight AS (SELECT _u, {weight_of('COUNT(*)', limits.most)} AS _w FROM kept GROUP BY _u) "
        f"SELECT {', '.join([*names, *sums])}, COUNT(*) FILTER (WHERE _f > 0) AS _people"
        f" FROM kept JOIN weight USING (_u) GROUP BY {', '.join(names)}"
    )


def _some_rows(writer: JobWriter) -> str:
    """Sums of each person and key; then the K smallest lots that are left: those up to K, and as many as are missing.

    A row that has its key for itself in the whole table has it here: only the others are grouped.
    """
    most, (key,) = writer.limits.keys, [f"_k{i}" for i in writer.kept]
    parts = [name for name, _, _ in writer.parts]
    single = ", ".join(["_u", "_r", key, "1::BIGINT AS _n", *parts])
    sums = [
        f"{'MAX' if b.person else 'SUM'}({name})::{'BIGINT' if short else 'HUGEINT'} AS {name}"
        for (name, _, b), short in zip(writer.parts, surely_short(writer), strict=True)
    ]
    several = ", ".join(["_u", "_r", f"ANY_VALUE({key}) AS {key}", "COUNT(*) AS _n", *sums])
    missing = f"MIN(_r, {most}) FILTER (WHERE _r > {most})[:{most} - COUNT(*) FILTER (WHERE _r <= {most})]"
    return (
        f"WITH all_rows AS NOT MATERIALIZED ({writer.every_row()}), pairs AS MATERIALIZED ("
        f"SELECT {single} FROM all_rows WHERE _f = 2 UNION ALL "
        f"SELECT {several} FROM all_rows WHERE _f < 2 GROUP BY _u, _r), "
        f"last AS (SELECT _u, LIST_MAX({missing}) AS _last FROM pairs GROUP BY _u), "
        f"person AS MATERIALIZED (SELECT * FROM pairs WHERE _r <= {most} UNION ALL "
        f"SELECT p.* FROM pairs AS p JOIN last AS l ON p._u = l._u AND p._r > {most} AND p._r <= l._last"
        f" WHERE l._last IS NOT NULL), {_totals(writer)}"
    )


def _totals(writer: JobWriter) -> str:
    """From what is kept of each person to sums by key."""
    names = [f"_k{i}" for i in writer.kept]
    totals = ["SUM(_n) AS _n", "COUNT(*) AS _g"]
    totals += ["SUM(CAST(_n AS HUGEINT) * _n) AS _q"] if writer.limits.gaussian else []
    totals += [f"SUM(ABS({writer.parts[0][0]})) AS _s"] if writer.clip is not None else []
    head = ", ".join(
        [
            *(f"p.{name} AS {name}" for name in names),
            *(
                total(f"CAST(p.{name} AS {'BIGINT' if short else 'HUGEINT'}) * {weighted(writer, bundle)}", name)
                for (name, _, bundle), short in zip(writer.parts, surely_short(writer), strict=True)
            ),
        ]
    )
    return (
        f"weight AS (SELECT _u, {', '.join(totals)} FROM person GROUP BY _u) "
        f"SELECT {head}, COUNT(*) AS _people FROM person AS p JOIN weight AS w ON p._u = w._u"
        f" GROUP BY {', '.join(f'p.{name}' for name in names)}"
    )


def _hashed(writer: JobWriter) -> str:
    """Sums of each person and key first; then at most K keys of hers, hashed only where she has more.

    All pairs of a person and a key are there at once, so persons may be taken in slices: everything before the last
    sums is about one person, and the sums of slices add up.
    """
    names = [f"_k{i}" for i in writer.kept]
    by = ", ".join(["_u", *names])
    sums = [f"{'MAX' if b.person else 'SUM'}({name}) AS {name}" for name, _, b in writer.parts]
    shown = ", ".join(["_u", *names, "_n", *(name for name, _, _ in writer.parts)])
    base, alone = "all_rows", ""
    if writer.limits.alone:
        base = "single"
        alone = ", single AS (SELECT * FROM all_rows QUALIFY COUNT(*) OVER (PARTITION BY _u) = 1)"
    pairs = f"SELECT {', '.join(['_u', *names, 'COUNT(*) AS _n', *sums])} FROM {base} GROUP BY {by}"
    order = hashed([f"p.{name}" for name in names], "p._u")
    ranked = f"SELECT p.*, row_number() OVER (PARTITION BY p._u ORDER BY {order}) AS _r"
    return (
        f"WITH all_rows AS (SELECT * FROM ({writer.every_row()}) WHERE {SLICE}){alone}, "
        f"pairs AS MATERIALIZED ({pairs}), "
        f"many AS (SELECT _u FROM pairs GROUP BY _u HAVING COUNT(*) > {writer.limits.keys}), "
        f"person AS (SELECT {shown} FROM pairs WHERE _u NOT IN (SELECT _u FROM many) UNION ALL "
        f"SELECT {shown} FROM ({ranked} FROM pairs AS p JOIN many AS m ON p._u = m._u)"
        f" WHERE _r <= {writer.limits.keys}), {_totals(writer)}"
    )
