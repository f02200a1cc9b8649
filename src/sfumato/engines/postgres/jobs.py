"""PostgreSQL's SQL of one job: rows with the person, limited to some keys of hers, sums, her weight, sums again.

Comes in: a job. Goes out: statements with one weight per person for everything (semantics 3.1), in whole numbers of
2^-20; nothing looks at other people's rows, at the order of rows or at chance. `engines/reference.py` says what a job
means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from sfumato.engines.postgres.expressions import expression, steps
from sfumato.engines.postgres.moments import micros
from sfumato.engines.postgres.relations import Handed, Writer
from sfumato.engines.postgres.source import Tables
from sfumato.engines.postgres.spelling import identifier, literal, type_of
from sfumato.sql.aggregates import AGGREGATES
from sfumato.sql.aggregates.base import CHOICE, Bundle, filtered_to_null
from sfumato.sql.job import FINE, Job, grid_of
from sfumato.sql.tree import BOOLEAN, DATE, TIMESTAMP, Aggregate, Node, columns_of


@dataclass(frozen=True)
class Statement:
    """SQL with parameters: first the hash key where it is `salted`, then an array for each column of `handed` rows."""

    text: str
    salted: bool
    handed: tuple[Handed, ...]
    patterns: tuple[str, ...]


@dataclass(frozen=True)
class Compiled:
    """The statements of a job."""

    sums: Statement | None
    people: Statement | None
    extras: tuple[Statement, ...]

    def statements(self) -> Iterator[Statement]:
        """All of them."""
        yield from (one for one in (self.sums, self.people, *self.extras) if one is not None)


def compile_job(job: Job, tables: Tables) -> Compiled:
    """The statements of a job over these tables."""
    return Compiled(
        _JobWriter(job, tables).sums() if job.bundles else None,
        _JobWriter(job, tables).people() if job.chosen and not _is_one_pass(job) else None,
        tuple(_JobWriter(job, tables).not_summed(aggregate) for aggregate in job.extras),
    )


class _JobWriter:
    """Writes one statement of a job."""

    def __init__(self, job: Job, tables: Tables) -> None:
        self.job, self.writer = job, Writer(tables)
        self.keys = [f"_k{i}" for i in job.kept]
        self.parts = [
            (f"_p{i}_{j}", part, bundle) for i, bundle in enumerate(job.bundles) for j, part in enumerate(bundle.parts)
        ]

    def statement(self, text: str, *, salted: bool) -> Statement:
        """The text with the rows that it is handed, before everything else."""
        named, place = [], 2 if salted else 1
        for handed in self.writer.handed:
            arrays, names = [], []
            for name in handed.columns:
                arrays.append(f"${place}::{type_of(handed.relation.columns[name].facts)}[]")
                names.append(identifier(name))
                place += 1
            rows = f"unnest({', '.join(arrays)}) AS h({', '.join(names)})"
            if not names:
                rows, place = f"generate_series(1, ${place}::int) AS h(_)", place + 1
            shown = ", ".join(_collated(name, handed) for name in handed.columns) or "_"
            named.append(f"{identifier(handed.name)} AS (SELECT {shown} FROM {rows})")
        head = f"WITH {', '.join(named)}, " if named else "WITH "
        text = text.replace("WITH ", head, 1)
        return Statement(text, salted, tuple(self.writer.handed), tuple(dict.fromkeys(self.writer.patterns)))

    # rows
    def every_row(self, bundles: bool = True, more: str = "", reads: tuple[Node, ...] = ()) -> str:
        """The rows that reach the release: person, keys, parts of the bundles."""
        job, parts = self.job, self.parts if bundles else []
        nodes = [job.release.keys[i][1] for i in job.kept]
        looked = [*nodes, *(part for _, part, _ in parts), *reads]
        read = {name for node in looked for name in columns_of(node)}
        shown = [f"{self.writer.read(node)} AS _k{i}" for i, node in zip(job.kept, nodes, strict=True)]
        for name, part, bundle in parts:
            self.writer.read(part)
            shown.append(f"{_part(part, grid_of(bundle))} AS {name}")
        shown += [more] if more else []
        rows = f"SELECT {', '.join(['_u', *shown])} FROM ({self.writer.select(job.release.below, read)}) AS q"
        return self._fed_together(rows) if job.together is not None and bundles and job.bundles else rows

    def _fed_together(self, rows: str) -> str:
        """The rows; the parts of those that feed more bundles than the price rests on are zero."""
        shared = [bundle for bundle in self.job.bundles if self.job.limits.alone or not bundle.person]
        names = [[name for name, _, of in self.parts if of is bundle] for bundle in shared]
        fed = " + ".join(f"COALESCE({' OR '.join(f'{name} <> 0' for name in of)}, FALSE)::int" for of in names)
        held = {name for of in names for name in of}
        parts = [
            f"CASE WHEN _fed <= {self.job.together} THEN {name} ELSE 0 END AS {name}" if name in held else name
            for name, _, _ in self.parts
        ]
        shown = ", ".join(["_u", *self.keys, *parts])
        return f"SELECT {shown} FROM (SELECT *, {fed or '0'} AS _fed FROM ({rows}) AS f) AS f"

    def kept(self, rows: str) -> str:
        """WITH … kept: the rows that count; with open keys, those of at most K keys of a person, by a keyed hash."""
        job = self.job
        if not job.chosen:
            return f"WITH kept AS ({rows})"
        names = [f"_k{i}" for i in job.chosen]
        base, alone = "all_rows", ""
        if job.limits.alone:  # who has several rows where one is declared is left out before her keys are looked at
            base = "single"
            alone = (
                ", single AS (SELECT * FROM (SELECT *, COUNT(*) OVER (PARTITION BY _u) AS _rows FROM all_rows) AS a"
                " WHERE _rows = 1)"
            )
        same = " AND ".join(["a._u = b._u", *(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in names)])
        listed = ", ".join(["_u", *names])
        return (
            f"WITH all_rows AS MATERIALIZED ({rows}){alone}, pairs AS (SELECT {listed} FROM {base} GROUP BY {listed}), "
            f"few AS (SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY _u ORDER BY {_hashed(names)}) AS _place"
            f" FROM pairs) AS p WHERE _place <= {job.limits.keys}), "
            f"kept AS (SELECT a.* FROM {base} AS a JOIN few AS b ON {same})"
        )

    # statements
    def people(self) -> Statement:
        """The number of different persons under each open key."""
        names = ", ".join(f"_k{i}" for i in self.job.chosen)
        text = f"{self.kept(self.every_row())} SELECT {names}, COUNT(*) AS n FROM few GROUP BY {names}"
        return self.statement(text, salted=True)

    def sums(self) -> Statement:
        """Sums per person and group, the person's weight, sums per group."""
        job, salted = self.job, bool(self.job.chosen)
        if _is_one_pass(job):
            return self.statement(self._of_pairs(), salted=True)
        head = self.kept(self.every_row())
        sums = [f"{'MAX' if b.person else 'SUM'}({name}) AS {name}" for name, _, b in self.parts]
        person = f"SELECT {', '.join(['_u', *self.keys, 'COUNT(*) AS _n', *sums])} FROM kept"
        person += f" GROUP BY {', '.join(['_u', *self.keys])}"
        totals = ["SUM(_n) AS _n", "COUNT(*) AS _g"]
        if job.limits.gaussian:
            totals.append("SUM(_n::numeric * _n) AS _q")
        if job.clip is not None:
            totals.append(f"SUM(abs({self.parts[0][0]})) AS _s")
        weights = {bundle: self.weight(bundle) for bundle in job.bundles}
        if not self.keys:  # one group a person: her own numbers are the totals
            own = {
                "SUM(_n) AS _n": "_n",
                "COUNT(*) AS _g": "1 AS _g",
                "SUM(_n::numeric * _n) AS _q": "_n::numeric * _n AS _q",
            }
            shown = ", ".join(own.get(total, total.replace("SUM(", "(", 1)) for total in totals)
            names = "".join(f", {name}" for name, _, _ in self.parts)
            joined, alias = f"(SELECT {shown}{names} FROM person) AS p", "p"
        else:
            head_ = f"SELECT _u, {', '.join(totals)} FROM person GROUP BY _u"
            joined, alias = f"person AS p JOIN ({head_}) AS w ON p._u = w._u", "w"
        weighted = [
            f"COALESCE(SUM({_weighted(f'p.{name}', weights[b], alias)}), 0) AS {name}" for name, _, b in self.parts
        ]
        only = f" WHERE {alias}._n = 1" if job.limits.alone else ""
        by = f" GROUP BY {', '.join(f'p.{name}' for name in self.keys)}" if self.keys else ""
        shown = ", ".join([*(f"p.{name} AS {name}" for name in self.keys), *weighted])
        return self.statement(f"{head}, person AS ({person}) SELECT {shown} FROM {joined}{only}{by}", salted=salted)

    def _of_pairs(self) -> str:
        """Where all keys are open a person's groups are her keys: some of them are kept, with what was summed in each.

        The last number is that of the people under each key.
        """
        job, keys = self.job, ", ".join(self.keys)
        sums = [f"{'MAX' if b.person else 'SUM'}({name}) AS {name}" for name, _, b in self.parts]
        person = f"SELECT {', '.join(['_u', keys, 'COUNT(*) AS _n', *sums])} FROM all_rows GROUP BY _u, {keys}"
        if job.limits.alone:  # who has several rows where one is declared is left out before her keys are looked at
            person = f"SELECT * FROM (SELECT *, SUM(_n) OVER (PARTITION BY _u) AS _rows FROM ({person}) AS p) AS p"
            person += " WHERE _rows = 1"
        ranked = f"SELECT *, row_number() OVER (PARTITION BY _u ORDER BY {_hashed(self.keys)}) AS _place FROM person"
        totals = ["SUM(_n) AS _n", "COUNT(*) AS _g"]
        totals += ["SUM(_n::numeric * _n) AS _q"] if job.limits.gaussian else []
        totals += [f"SUM(abs({self.parts[0][0]})) AS _s"] if job.clip is not None else []
        weights = {bundle: self.weight(bundle) for bundle in job.bundles}
        weighted = [f"COALESCE(SUM({_weighted(f'p.{n}', weights[b], 'w')}), 0) AS {n}" for n, _, b in self.parts]
        shown = ", ".join([*(f"p.{name} AS {name}" for name in self.keys), *weighted, "COUNT(*) AS _people"])
        return (
            f"WITH all_rows AS ({self.every_row()}), person AS ({person}), few AS (SELECT * FROM ({ranked}) AS p"
            f" WHERE _place <= {job.limits.keys}), weight AS (SELECT _u, {', '.join(totals)} FROM few GROUP BY _u)"
            f" SELECT {shown} FROM few AS p JOIN weight AS w ON p._u = w._u GROUP BY {keys.replace('_k', 'p._k')}"
        )

    def weight(self, bundle: Bundle) -> str:
        """The person's weight in units of 2^-20, toward zero, over `w`; 1 where each person has one row."""
        job = self.job
        if job.clip is not None:
            most = int(job.clip / grid_of(bundle))
            return f"CASE WHEN w._s <= {most} THEN {FINE} ELSE div({FINE * most}::numeric, w._s) END"
        if job.limits.alone or (bundle.person and job.limits.few):
            return "1"
        bound = job.limits.bound
        if not job.limits.gaussian:
            counted, most = "w._g" if bundle.person else "w._n", int(bound)
            return f"CASE WHEN {counted} <= {most} THEN {FINE} ELSE div({FINE * most}::numeric, {counted}) END"
        squared, limit = "w._g" if bundle.person else "w._q", bound**2
        # the square root, upward: a double is off by less than one part in 2^50
        root = f"ceil(sqrt({squared}::float8) * {FINE} * 1.000000001::float8)::numeric"
        return (
            f"CASE WHEN {squared}::numeric * {limit.denominator} <= {limit.numerator} THEN {FINE}"
            f" ELSE div({FINE * FINE * bound.numerator}::numeric, {root} * {bound.denominator}) END"
        )

    def _others(self, aggregate: Aggregate, place: str) -> str:
        """The rows with the place or value that an aggregate looks at, and each person's number of rows."""
        self.writer.read(filtered_to_null(aggregate.arg, aggregate.where)) if aggregate.arg is not None else None
        head = self.kept(self.every_row(bundles=False, more=f"{place} AS _x", reads=(aggregate,)))
        return f"{head}, person AS (SELECT _u, COUNT(*) AS _n FROM kept GROUP BY _u)"

    def not_summed(self, aggregate: Aggregate) -> Statement:
        """What is not a sum."""
        return self.places(aggregate) if AGGREGATES[aggregate.name].measure == CHOICE else self.different(aggregate)

    def places(self, aggregate: Aggregate) -> Statement:
        """Keys, places and the weight of the rows there, for a choice; weights as for sums (semantics 3.1)."""
        alone, most = self.job.limits.alone, self.job.limits.most
        head = self._others(aggregate, _place(aggregate))
        weight = "1" if alone else f"CASE WHEN w._n <= {most} THEN {FINE} ELSE div({FINE * most}::numeric, w._n) END"
        only = " AND w._n = 1" if alone else ""
        keys = "".join(f"k.{name}, " for name in self.keys)
        return self.statement(
            f"{head} SELECT {keys}k._x AS _x, SUM({weight}) AS _w FROM kept AS k JOIN person AS w ON k._u = w._u"
            f" WHERE k._x IS NOT NULL{only} GROUP BY {keys}k._x",
            salted=bool(self.job.chosen),
        )

    def different(self, aggregate: Aggregate) -> Statement:
        """Keys and the number of different values, of each person at most K by a keyed hash (semantics 3.5)."""
        assert aggregate.arg is not None
        job = self.job
        head = self._others(aggregate, expression(filtered_to_null(aggregate.arg, aggregate.where)))
        only = " JOIN person AS w ON k._u = w._u AND w._n = 1" if job.limits.alone else ""
        listed = ["_u", *self.keys, "_x"]
        shown = ", ".join(f"k.{name}" for name in listed)
        by = "".join(f"{name}, " for name in self.keys)
        most = dict(zip(job.extras, job.different_values, strict=False)).get(aggregate, job.limits.keys)
        tail = f" GROUP BY {', '.join(self.keys)}" if self.keys else ""
        return self.statement(
            f"{head}, values_of AS (SELECT {shown} FROM kept AS k{only} WHERE k._x IS NOT NULL GROUP BY {shown}), "
            f"chosen AS (SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY _u ORDER BY"
            f" {_hashed([*self.keys, '_x'])}) AS _place FROM values_of) AS v WHERE _place <= {most})"
            f" SELECT {by}{_over_values(aggregate)} AS n FROM chosen{tail}",
            salted=True,
        )


def _is_one_pass(job: Job) -> bool:
    """Whether sums and people come of one statement: all keys are open, and something is summed."""
    return bool(job.chosen) and bool(job.bundles) and set(job.chosen) == set(job.kept)


def _part(part: Node, grid: Fraction) -> str:
    """A part in steps of the grid of its bundle: bigint where that holds it."""
    small = part.facts.bounded and part.facts.largest / grid < 1 << 62
    return steps(part, grid, wide=not small)


def _weighted(number: str, weight: str, alias: str) -> str:
    if weight == "1":
        return number
    return f"{number}::numeric * {weight.replace('w._', f'{alias}._')}"


def _hashed(names: list[str]) -> str:
    """The order in which keys of a person are kept: by a keyed hash of her and them."""
    text = " || chr(31) || ".join(f"COALESCE('=' || {name}::text, '')" for name in ("_u", *names))
    return ", ".join([f'md5($1::text || {text}) COLLATE "C"', *names])


def _collated(name: str, handed: Handed) -> str:
    quoted = identifier(name)
    is_text = type_of(handed.relation.columns[name].facts) == "text"
    return f'{quoted} COLLATE "C" AS {quoted}' if is_text else quoted


def _place(aggregate: Aggregate) -> str:
    """A row's place among the candidates of a choice, NULL where it does not take part."""
    arg = aggregate.arg
    assert arg is not None
    facts, inner = arg.facts, expression(filtered_to_null(arg, aggregate.where))
    if facts.kind == DATE:
        return f"({inner} - '0001-01-01'::date)::bigint + 1"
    if facts.kind == TIMESTAMP:  # whole seconds from the first day on; no moment is before it
        return f"(({micros(inner)} + 62135596800000000) / 1000000)"
    if aggregate.name != "mode" or (facts.kind != BOOLEAN and facts.values is None):
        return inner
    values = facts.values if facts.values is not None else (False, True)
    branches = " ".join(f"WHEN {literal(value, facts)} THEN {i}" for i, value in enumerate(values))
    return f"(CASE {inner} {branches} END)::bigint"


def _over_values(aggregate: Aggregate) -> str:
    """The number of the different values that people keep, or their sum: nothing adds up to nothing."""
    adds = AGGREGATES[aggregate.name].adds_values
    return "COALESCE(SUM(DISTINCT CAST(_x AS numeric)), 0)" if adds else "COUNT(DISTINCT _x)"
