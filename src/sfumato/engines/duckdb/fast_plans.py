"""Physical plans: the same whole numbers as `Writer.sql`, with less work where the shape of a release allows it.

Comes in: a Writer, and what the engine knows of its rows. Goes out: SQL that gives the same rows. It is written when a
part is run, after the charge: planning and previews do not know it. What is known of the rows chooses the work and
nothing that anybody can see (semantics 1.4): prices, notes, scales and the key of a stored answer come from the plain
form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.base import CHOICE, ONE
from sfumato.algebra.job import Job
from sfumato.algebra.relations import Filter, Join, Projection, Relation, Scan
from sfumato.algebra.tree import Aggregate, Node
from sfumato.engines.duckdb.jobs import EngineStatement, JobWriter, place, spelled
from sfumato.engines.duckdb.key_sampling import by_key
from sfumato.engines.duckdb.row_counts import (
    ROWS,
    TableKnowledge,
    carrying,
    counted_scan,
    counts_rows,
    is_single,
    numbered,
    of_each,
    people_of,
    product,
    sizes_of,
    stored_column,
    stored_sum,
    surely_short,
    total,
    weight_at,
    weight_of,
    weighted,
)
from sfumato.errors import QueryError
from sfumato.types import identifier

_LONGEST = 2_000_000
"""Characters of the SQL of one job."""


@dataclass(frozen=True)
class _Sums:
    """What is summed over weighted rows: by which names, each value with its largest size; `where` some rows only."""

    names: list[str]
    values: list[tuple[str, Fraction, str]]
    where: tuple[str, ...] = ()

    def select(self, weight: str, *where: str) -> tuple[str, str]:
        """What a SELECT of these sums begins and ends with."""
        head = [
            total(value if weight == "1" else product(value, largest, weight), name)
            for value, largest, name in self.values
        ]
        conditions = " AND ".join([*self.where, *where])
        tail = f" GROUP BY {', '.join(self.names)}" if self.names else ""
        return f"SELECT {', '.join([*self.names, *head])}", f"{f' WHERE {conditions}' if conditions else ''}{tail}"


@dataclass(frozen=True)
class Physical:
    """The SQL that is run for a part: for its sums, for the people behind open keys, for what is not a sum.

    Without `people`, the number of persons behind each open key is the last column of the sums.
    """

    sums: EngineStatement | None
    people: EngineStatement | None
    extras: tuple[EngineStatement, ...]

    def statements(self) -> list[EngineStatement]:
        """All of them."""
        return [one for one in (self.sums, self.people, *self.extras) if one is not None]


def physical(job: Job, known: TableKnowledge) -> Physical:
    """What is run for a job on the rows that are known so.

    Guarantee: its numbers are those of the plain form on every database, also on one that breaks the policy.
    Proof: what is `known` holds of the very rows that are read, and was looked at by the engine that reads them; no
        weight is left out, and nobody is counted twice, because of what the planner concluded.
    Reference: semantics 1.4, 3.1.
    Checked by: laws::a_fast_plan_gives_the_same_numbers, laws::relations_keep_their_price_in_their_positions,
        laws::what_is_asked_of_a_relation_keeps_its_price
    """
    writer = JobWriter.of(job)
    quick = fast(writer, known)
    sums = quick if quick is not None or not writer.bundles else writer.sums()
    people = writer.people() if writer.chosen and quick is None else None
    return Physical(sums, people, tuple(_extra(writer, aggregate, known) for aggregate in writer.extras))


def plain_form(job: Job) -> Physical:
    """The plain form of a job, which uses nothing that is known of rows; written once for as long as the job lives."""
    memo, key = job.release.memo, (plain_form, job)
    if key not in memo:
        memo[key] = _plain_form(job)
    found: Physical = memo[key]
    return found


def _plain_form(job: Job) -> Physical:
    writer = JobWriter.of(job)
    sums, people = writer.sums() if writer.bundles else None, writer.people() if writer.chosen else None
    if sums is not None and len(sums.text) > _LONGEST:
        raise QueryError(
            "this query is too large for the engine", sqlstate="54001", hint="Split it into several queries."
        )
    return Physical(sums, people, tuple(writer.not_summed(aggregate) for aggregate in writer.extras))


def _extra(writer: JobWriter, aggregate: Aggregate, known: TableKnowledge) -> EngineStatement:
    quick = fast_places(writer, aggregate, known) if AGGREGATES[aggregate.name].measure == CHOICE else None
    return writer.not_summed(aggregate) if quick is None else quick


def fast(writer: JobWriter, known: TableKnowledge) -> EngineStatement | None:
    """A faster form of the writer's SQL, or None where there is none."""
    if not writer.bundles or (writer.chosen and writer.kept != writer.chosen):
        return None
    sums = _Sums(
        [f"_k{i}" for i in writer.kept], [(name, bundle.length / grid, name) for name, bundle, grid in writer.sized()]
    )
    single = writer.limits.alone and writer.clip is None and is_single(writer.release.below, known)
    if single:  # behind an open key there are as many persons as rows
        people = [("1", Fraction(1), "_people")] if writer.chosen else []
        return EngineStatement(_plain(writer, replace(sums, values=[*sums.values, *people])))
    if writer.chosen:
        return by_key(writer, known)
    stored = _stored(writer, known)
    if stored is not None:
        return EngineStatement(stored)
    if counts_rows(writer) and (writer.kept or counted_scan(writer.release.below, known) is not None):
        return EngineStatement(_weighted(writer, sums, known))
    return None if writer.kept else EngineStatement(_persons(_by_number(writer, known)))


def fast_places(writer: JobWriter, aggregate: Aggregate, known: TableKnowledge) -> EngineStatement | None:
    """A faster form of `Writer.places`: places are one more key, and the weights themselves are summed."""
    if writer.chosen:
        return None
    sums = _Sums([*(f"_k{i}" for i in writer.kept), "_x"], [("1", Fraction(1), "_w1")], ("_x IS NOT NULL",))
    looking = replace(writer, bundles=(), more=f"{place(aggregate)} AS _x", reads=(aggregate,))
    if writer.limits.alone and is_single(writer.release.below, known):
        return EngineStatement(_plain(looking, sums))
    return EngineStatement(_weighted(looking, sums, known))


def _by_number(writer: JobWriter, known: TableKnowledge) -> JobWriter:
    below = numbered(writer.release.below, known.counted)
    return replace(writer, release=replace(writer.release, below=below))


def _plain(writer: JobWriter, sums: _Sums) -> str:
    """Each person has one row, of weight one: sums over rows."""
    head, tail = sums.select("1")
    return f"WITH kept AS ({writer.every_row()}) {head} FROM kept{tail}"


def _stored(writer: JobWriter, known: TableKnowledge) -> str | None:
    """All rows of a prepared table in one group: what is summed for a person was summed when they were prepared.

    Guarantee: the numbers of the plain form, for every bound and either noise.
    Proof: here n(u) is her number of rows in the table, and there is one group: every weight but that of a lone SUM
        follows from n(u), by min(1, C/n) or by the norm n; so the sum over persons is a sum over numbers of rows n of
        the weight at n times the sums of all who have n rows. A lone SUM is cut person by person: hers are stored.
    Reference: semantics 3.1.
    Checked by: laws::what_is_stored_gives_the_same_numbers, laws::sums_of_whole_tables_are_at_hand
    """
    scan = writer.release.below
    if writer.kept or not isinstance(scan, Scan) or not scan.stored or writer.together is not None:
        return None
    kept = known.counted.get(scan.table.name, ())
    asked = [sum_ for bundle in writer.bundles for sum_ in spelled(bundle)]
    home = sizes_of(scan.table.name)
    if writer.clip is not None:
        asked, home = [of_each(sum_) for sum_ in asked], people_of(scan.table.name)
    if not set(asked) <= set(kept):
        return None
    sums, limits, weight = (
        [stored_sum(kept.index(sum_)) for sum_ in asked],
        writer.limits,
        weight_at(writer.limits.most),
    )
    if weight in kept and counts_rows(writer) and not limits.alone:
        listed = zip(sums, writer.parts, strict=True)
        head = ", ".join(total(f"{sum_} * {identifier(weight)}", name) for sum_, (name, _, _) in listed)
        return f"SELECT {head} FROM {home}"
    return _ungrouped(writer, identifier(ROWS), sums, home, [False] * len(sums))


def _persons(writer: JobWriter) -> str:
    """What is summed for each person, where there is one group."""
    sums = [
        "COUNT(*)"
        if part == ONE and not bundle.person and writer.together is None
        else f"{'MAX' if bundle.person else 'SUM'}({name})"
        for name, part, bundle in writer.parts
    ]
    return f"{writer.rows()} {_ungrouped(writer, 'COUNT(*)', sums, 'kept GROUP BY _u', surely_short(writer))}"


def _ungrouped(writer: JobWriter, rows: str, sums: list[str], source: str, short: list[bool]) -> str:
    """One group: what is summed for a person, or for persons of one weight, is already all of theirs."""
    parts = writer.parts
    shown = [f"{rows} AS _n", *(f"{sum_} AS {name}" for sum_, (name, _, _) in zip(sums, parts, strict=True))]
    shown += ["1 AS _g"] if any(bundle.person for _, _, bundle in parts) else []
    shown += [f"CAST({rows} AS HUGEINT) * {rows} AS _q"] if writer.limits.gaussian else []
    shown += [f"ABS({sums[0]}) AS _s"] if writer.clip is not None else []
    head = ", ".join(
        total(f"CAST(w.{name} AS {'BIGINT' if is_short else 'HUGEINT'}) * {weighted(writer, bundle)}", name)
        for (name, _, bundle), is_short in zip(parts, short, strict=True)
    )
    only = " WHERE w._n = 1" if writer.limits.alone else ""
    return f"SELECT {head} FROM (SELECT {', '.join(shown)} FROM {source}) AS w{only}"


def _weighted(writer: JobWriter, sums: _Sums, known: TableKnowledge) -> str:
    """Rows, each with its person's weight, summed by group at once."""
    told = _by_number(writer, known)
    scan = counted_scan(told.release.below, known)
    return _by_rows(told, sums) if scan is None else _counted(told, sums, scan, known)


def _by_rows(writer: JobWriter, sums: _Sums) -> str:
    """Her rows are counted, and each finds its person's weight."""
    weight, only = weight_of("COUNT(*)", writer.limits.most), ""
    if writer.limits.alone:
        weight, only = "1", " HAVING COUNT(*) = 1"
    # rows that are read and not made are read twice: a copy of all of them would cost memory, and more time
    held = "" if _is_made(writer.release.below) else "NOT MATERIALIZED "
    head, tail = sums.select("_w")
    return (
        f"WITH kept AS {held}({writer.every_row()}), weight AS (SELECT _u, {weight} AS _w FROM kept GROUP BY _u{only})"
        f" {head} FROM kept JOIN weight USING (_u){tail}"
    )


def _is_made(relation: Relation) -> bool:
    """Whether rows are worked out by more than reading a table, looking at each row, and finding its person's one row
    in another table.
    """
    if isinstance(relation, Join) and relation.by_person:
        sides = (relation.left, relation.right)
        return all(side.person_rows > 1 for side in sides) or any(map(_is_made, sides))
    return not isinstance(relation, Scan) and not (
        isinstance(relation, Filter | Projection) and not _is_made(relation.below)
    )


def _counted(writer: JobWriter, sums: _Sums, scan: Scan, known: TableKnowledge) -> str:
    """Each row with the number of its person's rows, or her weight at this very bound, beside it: no counting."""
    most, alone = writer.limits.most, writer.limits.alone
    at_hand = not alone and weight_at(most) in known.counted[scan.table.name]
    column = stored_column(scan, weight_at(most) if at_hand else ROWS)
    release = replace(writer.release, below=carrying(writer.release.below, scan, column))
    more = ", ".join(text for text in (writer.more, f"{identifier(column.name)} AS _w") if text)
    reads: tuple[Node, ...] = (*writer.reads, column)
    carried = replace(writer, release=release, more=more, reads=reads)
    weight = "1" if alone else "_w" if at_hand else f"({weight_of('_w', most)})"
    head, tail = sums.select(weight, *(["_w = 1"] if alone else []))
    return f"WITH kept AS ({carried.every_row()}) {head} FROM kept{tail}"
