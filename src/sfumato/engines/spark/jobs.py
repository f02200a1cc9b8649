"""Spark's SQL of one job: rows with the person, limited to some keys of hers, sums, her weight, sums again.

Comes in: a job. Goes out: statements with one weight per person for everything (semantics 3.1), in whole numbers of
2^-20; nothing looks at other people's rows, at the order of rows or at chance, so that a task that is run again gives
the same. `engines/reference.py` says what a job means. What leaves a statement is one row for each group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.engines.spark import doubles
from sfumato.engines.spark.expressions import expression, steps
from sfumato.engines.spark.per_unit import SURELY
from sfumato.engines.spark.relations import SparkHanded, SparkWriter
from sfumato.engines.spark.source import SparkTables
from sfumato.engines.spark.spelling import WIDE, absolute, literal, once, quotient, type_of, whole
from sfumato.engines.spark.times import micros
from sfumato.sql.aggregates import AGGREGATES
from sfumato.sql.aggregates.base import CHOICE, Bundle, filtered_to_null
from sfumato.sql.job import FINE, Job, grid_of
from sfumato.sql.tree import BOOLEAN, DATE, TIMESTAMP, Aggregate, Facts, Node, columns_of

SALT = "`#salt`"
"""Stands for the hash key until a statement is run."""
_HELD = 1 << 62


@dataclass(frozen=True)
class SparkStatement:
    """SQL over views: the rows that it is `handed` have names of their own in it, as has the hash key.

    `kinds` are the types of the groups' columns, which come first; dates and moments leave as whole numbers.
    """

    text: str
    handed: tuple[SparkHanded, ...]
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class SparkJob:
    """The statements of a job."""

    sums: SparkStatement | None
    people: SparkStatement | None
    extras: tuple[SparkStatement, ...]

    def statements(self) -> Iterator[SparkStatement]:
        """All of them."""
        yield from (one for one in (self.sums, self.people, *self.extras) if one is not None)


def compile_job(job: Job, tables: SparkTables) -> SparkJob:
    """The statements of a job over these tables."""
    return SparkJob(
        _JobWriter(job, tables).sums() if job.bundles else None,
        _JobWriter(job, tables).people() if job.chosen and not is_one_pass(job) else None,
        tuple(_JobWriter(job, tables).not_summed(aggregate) for aggregate in job.extras),
    )


class _JobWriter:
    """Writes one statement of a job."""

    def __init__(self, job: Job, tables: SparkTables) -> None:
        self.job, self.writer = job, SparkWriter(tables)
        self.keys = [f"_k{i}" for i in job.kept]
        self.parts = [
            (f"_p{i}_{j}", part, bundle) for i, bundle in enumerate(job.bundles) for j, part in enumerate(bundle.parts)
        ]

    def statement(self, text: str, keys: Sequence[int], others: Sequence[str], more: str = "") -> SparkStatement:
        """The text, its groups first; times among them leave as whole numbers."""
        kinds = [type_of(self.job.release.keys[i][1].facts) for i in keys]
        shown = [_leaving(f"_k{i}", kind) for i, kind in zip(keys, kinds, strict=True)]
        if more:
            shown.append(more)
            kinds.append("BIGINT")
        outer = f"SELECT {', '.join([*shown, *others])} FROM ({text}) AS leaving"
        return SparkStatement(outer, tuple(self.writer.handed), tuple(kinds))

    # rows
    def every_row(self, bundles: bool = True, more: str = "", reads: tuple[Node, ...] = ()) -> str:
        """The rows that reach the release: person, keys, parts of the bundles."""
        job, parts = self.job, self.parts if bundles else []
        nodes = [job.release.keys[i][1] for i in job.kept]
        looked = [*nodes, *(part for _, part, _ in parts), *reads]
        read = {name for node in looked for name in columns_of(node)}
        shown = [f"{expression(node)} AS _k{i}" for i, node in zip(job.kept, nodes, strict=True)]
        shown += [f"{_part(part, grid_of(bundle))} AS {name}" for name, part, bundle in parts]
        shown += [more] if more else []
        rows = f"SELECT {', '.join(['_u', *shown])} FROM ({self.writer.select(job.release.below, read)}) AS q"
        return self._fed_together(rows) if job.together is not None and bundles and job.bundles else rows

    def _fed_together(self, rows: str) -> str:
        """The rows; the parts of those that feed more bundles than the price rests on are zero."""
        shared = [bundle for bundle in self.job.bundles if self.job.limits.alone or not bundle.person]
        names = [[name for name, _, of in self.parts if of is bundle] for bundle in shared]
        feeds = [" OR ".join(f"{name} <> 0" for name in of) for of in names]
        fed = " + ".join(f"CAST(COALESCE({one}, FALSE) AS INT)" for one in feeds)
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
        same = " AND ".join(["a._u = b._u", *(f"a.{name} <=> b.{name}" for name in names)])
        listed = ", ".join(["_u", *names])
        return (
            f"WITH all_rows AS ({rows}){alone}, pairs AS (SELECT {listed} FROM {base} GROUP BY {listed}), "
            f"few AS (SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY _u ORDER BY {_hashed(names)}) AS _place"
            f" FROM pairs) AS p WHERE _place <= {job.limits.keys}), "
            f"kept AS (SELECT a.* FROM {base} AS a JOIN few AS b ON {same})"
        )

    # statements
    def people(self) -> SparkStatement:
        """The number of different persons under each open key."""
        names = ", ".join(f"_k{i}" for i in self.job.chosen)
        text = f"{self.kept(self.every_row())} SELECT {names}, COUNT(*) AS n FROM few GROUP BY {names}"
        return self.statement(text, self.job.chosen, ["n"])

    def sums(self) -> SparkStatement:
        """Sums per person and group, the person's weight, sums per group."""
        job, names = self.job, [name for name, _, _ in self.parts]
        if is_one_pass(job):
            return self.statement(self._of_pairs(), job.kept, [*names, "_people"])
        head = self.kept(self.every_row())
        person = f"SELECT {', '.join(['_u', *self.keys, 'COUNT(*) AS _n', *self._own()])} FROM kept"
        person += f" GROUP BY {', '.join(['_u', *self.keys])}"
        if not self.keys:  # one group a person: her own numbers are the totals
            shown = ["_n", "1L AS _g", *names]
            shown += [f"{_squared('_n')} AS _q"] if job.limits.gaussian else []
            shown += [f"{absolute(names[0])} AS _s"] if job.clip is not None else []
            joined, alias = f"(SELECT {', '.join(shown)} FROM person) AS p", "p"
        else:
            head_ = f"SELECT _u, {', '.join(self._totals())} FROM person GROUP BY _u"
            joined, alias = f"person AS p JOIN ({head_}) AS w ON p._u = w._u", "w"
        only = f" WHERE {alias}._n = 1" if job.limits.alone else ""
        by = f" GROUP BY {', '.join(f'p.{name}' for name in self.keys)}" if self.keys else ""
        shown_ = ", ".join([*(f"p.{name} AS {name}" for name in self.keys), *self._weighted(alias)])
        return self.statement(f"{head}, person AS ({person}) SELECT {shown_} FROM {joined}{only}{by}", job.kept, names)

    def _own(self) -> list[str]:
        """What a person has in a group."""
        return [
            f"{'MAX' if b.person else 'SUM'}({name if b.person else _summed(name, part, b)}) AS {name}"
            for name, part, b in self.parts
        ]

    def _totals(self) -> list[str]:
        """What a weight is made of, over a person's groups."""
        totals = ["SUM(_n) AS _n", "COUNT(*) AS _g"]
        totals += [f"SUM({_squared('_n')}) AS _q"] if self.job.limits.gaussian else []
        totals += [f"SUM(CAST({absolute(self.parts[0][0])} AS {WIDE})) AS _s"] if self.job.clip is not None else []
        return totals

    def _weighted(self, alias: str) -> list[str]:
        """Sums over all persons of what each has under her weight."""
        weights = {bundle: self.weight(bundle) for bundle in self.job.bundles}
        found = []
        for name, part, bundle in self.parts:
            weight = weights[bundle].replace("w._", f"{alias}._")
            number = f"CAST(p.{name} AS {WIDE})"
            if weight != "1":  # of a person the product is at most this, whatever she has
                most = FINE * max(self.job.limits.bound, Fraction(1)) * _size(part, bundle) * 2
                small = self.job.clip is None and _size(part, bundle) < SURELY and most < _HELD
                number = f"CAST(p.{name} * {weight} AS {WIDE})" if small else f"{number} * {weight}"
            found.append(f"COALESCE(SUM({number}), 0) AS {name}")
        return found

    def _of_pairs(self) -> str:
        """Where all keys are open a person's groups are her keys: some of them are kept, with what was summed in each.

        The last number is that of the people under each key.
        """
        job, keys = self.job, ", ".join(self.keys)
        person = f"SELECT {', '.join(['_u', keys, 'COUNT(*) AS _n', *self._own()])} FROM all_rows GROUP BY _u, {keys}"
        if job.limits.alone:  # who has several rows where one is declared is left out before her keys are looked at
            person = f"SELECT * FROM (SELECT *, SUM(_n) OVER (PARTITION BY _u) AS _rows FROM ({person}) AS p) AS p"
            person += " WHERE _rows = 1"
        ranked = f"SELECT *, row_number() OVER (PARTITION BY _u ORDER BY {_hashed(self.keys)}) AS _place FROM person"
        shown = ", ".join([*(f"p.{n} AS {n}" for n in self.keys), *self._weighted("w"), "COUNT(*) AS _people"])
        return (
            f"WITH all_rows AS ({self.every_row()}), person AS ({person}), few AS (SELECT * FROM ({ranked}) AS p"
            f" WHERE _place <= {job.limits.keys}), weight AS (SELECT _u, {', '.join(self._totals())} FROM few"
            f" GROUP BY _u) SELECT {shown} FROM few AS p JOIN weight AS w ON p._u = w._u"
            f" GROUP BY {', '.join(f'p.{name}' for name in self.keys)}"
        )

    def weight(self, bundle: Bundle) -> str:
        """The person's weight in units of 2^-20, toward zero, over `w`; 1 where each person has one row."""
        job = self.job
        if job.clip is not None:
            most = int(job.clip / grid_of(bundle))
            return f"CASE WHEN w._s <= {whole(most, wide=True)} THEN {FINE}L ELSE {_per('w._s', FINE * most)} END"
        if job.limits.alone or (bundle.person and job.limits.few):
            return "1"
        bound = job.limits.bound
        if not job.limits.gaussian:
            counted, most = "w._g" if bundle.person else "w._n", int(bound)
            return f"CASE WHEN {counted} <= {whole(most)} THEN {FINE}L ELSE {_per(counted, FINE * most)} END"
        squared, limit = "w._g" if bundle.person else "w._q", bound**2
        # the square root, upward: a double is off by less than one part in 2^50; wide, for a person may have many rows
        size = f"sqrt(CAST({squared} AS DOUBLE)) * CAST({FINE} AS DOUBLE) * CAST('1.000000001' AS DOUBLE)"
        root = doubles.whole_of(doubles.ceil(size))
        below = f"{squared} <= {whole(limit.numerator // limit.denominator, wide=True)}"
        top = whole(FINE * FINE * bound.numerator, wide=True)
        counted = f"GREATEST({root} * {whole(bound.denominator, wide=True)}, 1L)"
        share = f"CAST({quotient(top, counted, sure=False)} AS BIGINT)"
        return f"CASE WHEN {below} THEN {FINE}L ELSE {share} END"

    def _others(self, aggregate: Aggregate, place: str) -> str:
        """The rows with the place or value that an aggregate looks at, and each person's number of rows."""
        head = self.kept(self.every_row(bundles=False, more=f"{place} AS _x", reads=(aggregate,)))
        return f"{head}, person AS (SELECT _u, COUNT(*) AS _n FROM kept GROUP BY _u)"

    def not_summed(self, aggregate: Aggregate) -> SparkStatement:
        """What is not a sum."""
        return self.places(aggregate) if AGGREGATES[aggregate.name].measure == CHOICE else self.different(aggregate)

    def places(self, aggregate: Aggregate) -> SparkStatement:
        """Keys, places and the weight of the rows there, for a choice; weights as for sums (semantics 3.1)."""
        alone, most = self.job.limits.alone, self.job.limits.most
        head = self._others(aggregate, _place(aggregate))
        weight = f"CASE WHEN w._n <= {whole(most)} THEN {FINE}L ELSE {_per('w._n', FINE * most)} END"
        only = " AND w._n = 1" if alone else ""
        keys = "".join(f"k.{name}, " for name in self.keys)
        weights = f"SUM(CAST({'1' if alone else weight} AS {WIDE}))"
        text = (
            f"{head} SELECT {keys}k._x AS _x, {weights} AS _w FROM kept AS k JOIN person AS w ON k._u = w._u"
            f" WHERE k._x IS NOT NULL{only} GROUP BY {keys}k._x"
        )
        return self.statement(text, self.job.kept, ["_w"], more="_x")

    def different(self, aggregate: Aggregate) -> SparkStatement:
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
        text = (
            f"{head}, values_of AS (SELECT {shown} FROM kept AS k{only} WHERE k._x IS NOT NULL GROUP BY {shown}), "
            f"chosen AS (SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY _u ORDER BY"
            f" {_hashed([*self.keys, '_x'])}) AS _place FROM values_of) AS v WHERE _place <= {most})"
            f" SELECT {by}{_over_values(aggregate)} AS n FROM chosen{tail}"
        )
        return self.statement(text, job.kept, ["n"])


def is_one_pass(job: Job) -> bool:
    """Whether sums and people come of one statement: all keys are open, and something is summed."""
    return bool(job.chosen) and bool(job.bundles) and set(job.chosen) == set(job.kept)


def _leaving(name: str, kind: str) -> str:
    """A group's column as it leaves: a day or a moment as a whole number, which no time zone changes."""
    return {"DATE": f"unix_date({name}) AS {name}", "TIMESTAMP": f"unix_micros({name}) AS {name}"}.get(kind, name)


def _size(part: Node, bundle: Bundle) -> Fraction:
    """The most steps of a part; many where nothing is known of it."""
    return part.facts.largest / grid_of(bundle) if part.facts.bounded else Fraction(10**38)


def _part(part: Node, grid: Fraction) -> str:
    """A part in steps of the grid of its bundle: BIGINT where that holds it; what is missing counts for nothing."""
    small = part.facts.bounded and part.facts.largest / grid < _HELD
    return f"COALESCE({steps(part, grid, wide=not small)}, 0)"


def _summed(name: str, part: Node, bundle: Bundle) -> str:
    """What stands in the sum over the rows of a person."""
    return name if _size(part, bundle) < SURELY else f"CAST({name} AS {WIDE})"


def _squared(name: str) -> str:
    return f"CAST({name} AS {WIDE}) * CAST({name} AS {WIDE})"


def _per(counted: str, most: int) -> str:
    """A written number divided by a positive one, toward zero."""
    if abs(most) < _HELD and "_s" not in counted:
        return f"{whole(most)} div GREATEST({counted}, 1L)"
    return f"CAST({quotient(whole(most, wide=True), f'GREATEST({counted}, 1L)', sure=False)} AS BIGINT)"


def _hashed(names: list[str]) -> str:
    """The order in which keys of a person are kept: by a keyed hash of her and them."""
    texts = ", '\\u001F', ".join(f"COALESCE(concat('=', CAST({name} AS STRING)), '')" for name in ("_u", *names))
    return ", ".join([f"md5(concat({SALT}, {texts}))", *names])


def _place(aggregate: Aggregate) -> str:
    """A row's place among the candidates of a choice, NULL where it does not take part."""
    arg = aggregate.arg
    assert arg is not None
    facts: Facts = arg.facts
    inner = expression(filtered_to_null(arg, aggregate.where))
    if facts.kind == DATE:
        return f"(CAST(unix_date({inner}) AS BIGINT) + 719163L)"
    if facts.kind == TIMESTAMP:  # whole seconds from the first day on; no moment is before it
        return f"(({micros(inner)} + 62135596800000000L) div 1000000L)"
    if aggregate.name != "mode" or (facts.kind != BOOLEAN and facts.values is None):
        return inner
    values = facts.values if facts.values is not None else (False, True)
    branches = " ".join(f"WHEN x = {literal(value, facts)} THEN {i}L" for i, value in enumerate(values))
    return once({"x": inner}, f"CASE {branches} END")


def _over_values(aggregate: Aggregate) -> str:
    """The number of the different values that people keep, or their sum: nothing adds up to nothing."""
    adds = AGGREGATES[aggregate.name].adds_values
    return "COALESCE(SUM(DISTINCT CAST(_x AS DECIMAL(38, 0))), 0)" if adds else "COUNT(DISTINCT _x)"
