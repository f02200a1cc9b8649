"""Physical plans: the same whole numbers as `Writer.sql`, with less work where the shape of a release allows it.

Comes in: a Writer, and the tables in which no person has two rows. Goes out: SQL that gives the same rows, or None.
What is known of the data chooses the work and nothing that anybody can see (semantics 1.4): prices, notes, scales and
the key of a stored answer come from the plain form.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.sql.relations import Distinct, Filter, Grouped, Join, Marked, Named, Relation, Scan, Windowed
from sfumato.sql.tree import PERSON, Column
from sfumato.sql.write import FINE, Writer


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


def fast(writer: Writer, unique: frozenset[str]) -> str | None:
    """A faster form of the writer's SQL, or None where there is none."""
    if not writer.bundles:
        return None
    if writer.chosen:
        return _open(writer) if writer.kept == writer.chosen else None
    if writer.limits.alone and is_single(writer.release.below, unique):
        return _plain(writer)
    if not writer.kept:
        return _ungrouped(writer)
    if writer.limits.gaussian or writer.clip is not None or any(bundle.person for bundle in writer.bundles):
        return None
    return _by_rows(writer)


def _total(value: str, name: str) -> str:
    return f"COALESCE(CAST(SUM({value}) AS HUGEINT), 0) AS {name}"


def _plain(writer: Writer) -> str:
    """Each person has one row, of weight one: sums over rows."""
    names = [f"_k{i}" for i in writer.kept]
    head = ", ".join([*names, *(_total(name, name) for name, _, _ in writer.parts)])
    tail = f" GROUP BY {', '.join(names)}" if names else ""
    return f"{writer.rows()} SELECT {head} FROM kept{tail}"


def _ungrouped(writer: Writer) -> str:
    """One group: what is summed for a person is already all of hers."""
    sums = [f"{'MAX' if b.person else 'SUM'}({name}) AS {name}" for name, _, b in writer.parts]
    first = writer.parts[0][0]
    person = f"SELECT _u, COUNT(*) AS _n, {', '.join(sums)} FROM kept GROUP BY _u"
    more = f"SELECT *, 1 AS _g, CAST(_n AS HUGEINT) * _n AS _q, ABS({first}) AS _s FROM person"
    head = ", ".join(
        _total(f"CAST(w.{name} AS HUGEINT) * {writer.weight(bundle)}", name) for name, _, bundle in writer.parts
    )
    only = " WHERE w._n = 1" if writer.limits.alone else ""
    return f"{writer.rows()}, person AS ({person}) SELECT {head} FROM ({more}) AS w{only}"


def _by_rows(writer: Writer) -> str:
    """Rows, each with its person's weight, summed by group at once."""
    most, names = int(writer.limits.bound), [f"_k{i}" for i in writer.kept]
    weight = f"SELECT _u, CASE WHEN COUNT(*) <= {most} THEN {FINE} ELSE {FINE * most} // COUNT(*) END AS _w"
    tail = " FROM kept GROUP BY _u"
    if writer.limits.alone:
        weight, tail = "SELECT _u, 1 AS _w", " FROM kept GROUP BY _u HAVING COUNT(*) = 1"
    head = ", ".join(
        [
            *(f"p.{name} AS {name}" for name in names),
            *(_total(_product(f"p.{name}", bundle.length / grid), name) for name, bundle, grid in writer.sized()),
        ]
    )
    return (
        f"{writer.rows()}, weight AS ({weight}{tail}) SELECT {head} FROM kept AS p JOIN weight AS w ON p._u = w._u"
        f" GROUP BY {', '.join(f'p.{name}' for name in names)}"
    )


def _product(value: str, largest: Fraction) -> str:
    """A part times a weight of at most 2^20; in 64 bits where it surely fits."""
    return f"CAST({value} AS BIGINT) * w._w" if largest < 1 << 40 else f"CAST({value} AS HUGEINT) * w._w"


def _open(writer: Writer) -> str:
    """Sums of each person and key first; then at most K keys of hers, looked at only where she has more.

    The number of persons behind a key is its last column.
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
    hashed = writer.hashed(names).replace("CAST(_", "CAST(p._").replace(", _k", ", p._k")
    ranked = f"SELECT p.*, row_number() OVER (PARTITION BY p._u ORDER BY {hashed}) AS _r"
    totals = ["SUM(_n) AS _n", "COUNT(*) AS _g"]
    totals += ["SUM(CAST(_n AS HUGEINT) * _n) AS _q"] if writer.limits.gaussian else []
    totals += [f"SUM(ABS({writer.parts[0][0]})) AS _s"] if writer.clip is not None else []
    head = ", ".join(
        [
            *(f"p.{name} AS {name}" for name in names),
            *(_total(f"CAST(p.{name} AS HUGEINT) * {writer.weight(bundle)}", name) for name, _, bundle in writer.parts),
        ]
    )
    return (
        f"WITH all_rows AS ({writer.every_row()}){alone}, pairs AS MATERIALIZED ({pairs}), "
        f"many AS (SELECT _u FROM pairs GROUP BY _u HAVING COUNT(*) > {writer.limits.keys}), "
        f"person AS (SELECT {shown} FROM pairs WHERE _u NOT IN (SELECT _u FROM many) UNION ALL "
        f"SELECT {shown} FROM ({ranked} FROM pairs AS p JOIN many AS m ON p._u = m._u)"
        f" WHERE _r <= {writer.limits.keys}), "
        f"weight AS (SELECT _u, {', '.join(totals)} FROM person GROUP BY _u) "
        f"SELECT {head}, COUNT(*) AS _people FROM person AS p JOIN weight AS w ON p._u = w._u"
        f" GROUP BY {', '.join(f'p.{name}' for name in names)}"
    )
