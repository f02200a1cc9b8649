"""Physical plans: the same whole numbers as `Writer.sql`, with less work where the shape of a release allows it.

Comes in: a Writer, and what is known of the tables. Goes out: SQL that gives the same rows, or None.
What is known of the data chooses the work and nothing that anybody can see (semantics 1.4): prices, notes, scales and
the key of a stored answer come from the plain form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sfumato.sql.aggregates.base import Bundle
from sfumato.sql.counted import (
    ROWS,
    carrying,
    counted_scan,
    is_single,
    people_of,
    stored_column,
    stored_sum,
    weight_at,
    weight_of,
)
from sfumato.sql.relations import Filter, Join, Named, Relation, Scan
from sfumato.sql.write import Writer, spelled
from sfumato.words import identifier


@dataclass(frozen=True, eq=False)
class Known:
    """What the engine knows of its tables: in which nobody has two rows; beside whose rows the number of their person's
    rows stands, with those sums of a person's rows that are stored, as they are spelt, and her weight at a bound.
    """

    unique: frozenset[str] = frozenset()
    counted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def fast(writer: Writer, known: Known) -> str | None:
    """A faster form of the writer's SQL, or None where there is none."""
    if not writer.bundles or (writer.chosen and writer.kept != writer.chosen):
        return None
    if writer.chosen:
        return _open(writer)
    if writer.limits.alone and is_single(writer.release.below, known.unique):
        return _plain(writer)
    by_rows = not writer.limits.gaussian and writer.clip is None and not any(b.person for b in writer.bundles)
    scan = counted_scan(writer.release.below, known.counted, known.unique)
    stored = _stored(writer, known)
    if by_rows and scan is not None and stored is None:
        return _counted(writer, scan, weight_at(int(writer.limits.bound)) in known.counted[scan.table.name])
    if writer.kept:
        return _by_rows(writer) if by_rows else None
    return _ungrouped(writer, stored)


def _total(value: str, name: str) -> str:
    return f"COALESCE(CAST(SUM({value}) AS HUGEINT), 0) AS {name}"


def _plain(writer: Writer) -> str:
    """Each person has one row, of weight one: sums over rows."""
    names = [f"_k{i}" for i in writer.kept]
    head = ", ".join([*names, *(_total(name, name) for name, _, _ in writer.parts)])
    tail = f" GROUP BY {', '.join(names)}" if names else ""
    return f"{writer.rows()} SELECT {head} FROM kept{tail}"


def _stored(writer: Writer, known: Known) -> str | None:
    """All rows of a prepared table in one group: what is summed for a person was summed when they were prepared."""
    scan = writer.release.below
    if writer.kept or not isinstance(scan, Scan) or not scan.stored:
        return None
    kept = known.counted.get(scan.table.name, ())
    asked = [sum_ for bundle in writer.bundles for sum_ in spelled(bundle)]
    if not set(asked) <= set(kept):
        return None
    sums = [f"{stored_sum(kept.index(sum_))} AS {name}" for sum_, (name, _, _) in zip(asked, writer.parts, strict=True)]
    return f"SELECT {identifier(ROWS)} AS _n, {', '.join(sums)} FROM {people_of(scan.table.name)}"


def _ungrouped(writer: Writer, stored: str | None) -> str:
    """One group: what is summed for a person is already all of hers."""
    sums = [f"{'MAX' if b.person else 'SUM'}({name}) AS {name}" for name, _, b in writer.parts]
    first = writer.parts[0][0]
    counted = f"SELECT _u, COUNT(*) AS _n, {', '.join(sums)} FROM kept GROUP BY _u"
    rows = f"{writer.rows()}, person AS ({counted})" if stored is None else f"WITH person AS ({stored})"
    more = f"SELECT *, 1 AS _g, CAST(_n AS HUGEINT) * _n AS _q, ABS({first}) AS _s FROM person"
    head = ", ".join(
        _total(f"CAST(w.{name} AS HUGEINT) * {_weight(writer, bundle)}", name) for name, _, bundle in writer.parts
    )
    only = " WHERE w._n = 1" if writer.limits.alone else ""
    return f"{rows} SELECT {head} FROM ({more}) AS w{only}"


def _weight(writer: Writer, bundle: Bundle) -> str:
    """The writer's weight; by a quotient of 64 bits where the rows are counted."""
    limits = writer.limits
    if writer.clip is not None or limits.alone or limits.gaussian or (bundle.person and limits.few):
        return writer.weight(bundle)
    return weight_of("w._g" if bundle.person else "w._n", int(writer.limits.bound))


def _by_rows(writer: Writer) -> str:
    """Rows, each with its person's weight, summed by group at once."""
    most, names = int(writer.limits.bound), [f"_k{i}" for i in writer.kept]
    weight = f"SELECT _u, {weight_of('COUNT(*)', most)} AS _w"
    tail = " FROM kept GROUP BY _u"
    if writer.limits.alone:
        weight, tail = "SELECT _u, 1 AS _w", " FROM kept GROUP BY _u HAVING COUNT(*) = 1"
    head = ", ".join(
        [
            *(f"p.{name} AS {name}" for name in names),
            *(
                _total(_product(f"p.{name}", bundle.length / grid, "w._w"), name)
                for name, bundle, grid in writer.sized()
            ),
        ]
    )
    # rows that are read and not made are read twice: a copy of all of them would cost memory, and more time
    held = "" if _is_made(writer.release.below) else "NOT MATERIALIZED "
    rows = f"WITH kept AS {held}({writer.every_row()})"
    return (
        f"{rows}, weight AS ({weight}{tail}) SELECT {head} FROM kept AS p JOIN weight AS w ON p._u = w._u"
        f" GROUP BY {', '.join(f'p.{name}' for name in names)}"
    )


def _is_made(relation: Relation) -> bool:
    """Whether rows are worked out by more than reading a table, looking at each row, and finding its person's one row
    in another table.
    """
    if isinstance(relation, Join) and relation.by_person:
        sides = (relation.left, relation.right)
        return all(side.person_rows > 1 for side in sides) or any(map(_is_made, sides))
    return not isinstance(relation, Scan) and not (
        isinstance(relation, Filter | Named) and not _is_made(relation.below)
    )


def _counted(writer: Writer, scan: Scan, weighted: bool) -> str:
    """Each row with the number of its person's rows, or her weight at this very bound, beside it: no counting."""
    most, names = int(writer.limits.bound), [f"_k{i}" for i in writer.kept]
    at_hand = weighted and not writer.limits.alone
    column = stored_column(scan, weight_at(most) if at_hand else ROWS)
    release = replace(writer.release, below=carrying(writer.release.below, scan, column))
    carried = replace(writer, release=release, more=f"{identifier(column.name)} AS _w", reads=column)
    weight = "1" if writer.limits.alone else "_w" if at_hand else f"({weight_of('_w', most)})"
    sums = [_total(_product(name, bundle.length / grid, weight), name) for name, bundle, grid in writer.sized()]
    only = " WHERE _w = 1" if writer.limits.alone else ""
    tail = f" GROUP BY {', '.join(names)}" if names else ""
    return f"{carried.rows()} SELECT {', '.join([*names, *sums])} FROM kept{only}{tail}"


def _product(value: str, largest: Fraction, weight: str) -> str:
    """A part times a weight of at most 2^20; in 64 bits where it surely fits."""
    return f"CAST({value} AS {'BIGINT' if largest < 1 << 40 else 'HUGEINT'}) * {weight}"


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
            *(
                _total(f"CAST(p.{name} AS HUGEINT) * {_weight(writer, bundle)}", name)
                for name, _, bundle in writer.parts
            ),
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
