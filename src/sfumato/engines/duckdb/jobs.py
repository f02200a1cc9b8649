"""The engine's SQL of one release: rows with the person, limited to some keys of hers, sums, her weight, sums again.

Comes in: a release and what bounds one person in it. Goes out: SQL with one weight per person for everything (semantics
3.1), in whole numbers of 2^-20; nothing looks at other people's rows, at the order of rows or at chance.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.base import CHOICE, Bundle, filtered_to_null
from sfumato.algebra.job import FINE, Job, grid_of
from sfumato.algebra.tree import BOOLEAN, DATE, TIMESTAMP, Aggregate, Node, columns_of
from sfumato.engines.duckdb.expressions import expression, literal, steps
from sfumato.engines.duckdb.relations import select


def spelled(bundle: Bundle) -> list[str]:
    """What is summed of one person's rows, as SQL over the rows below a release."""
    return [f"{'MAX' if bundle.person else 'SUM'}({steps(part, grid_of(bundle))})" for part in bundle.parts]


def hashed(names: list[str], unit: str = "_u", salt: str = "$salt") -> str:
    """The order in which keys of a person are kept: by a keyed hash of her and them."""
    text = " || chr(31) || ".join(f"COALESCE('=' || CAST({name} AS VARCHAR), '')" for name in (unit, *names))
    return ", ".join([f"md5({salt} || {text})", *names])


def place(aggregate: Aggregate) -> str:
    """The SQL of a row's place, NULL where it does not take part."""
    arg = aggregate.arg
    assert arg is not None
    facts = arg.facts
    inner = expression(filtered_to_null(arg, aggregate.where))
    if facts.kind == DATE:
        return f"CAST({inner} - DATE '0001-01-01' AS BIGINT) + 1"
    if facts.kind == TIMESTAMP:  # whole seconds from the first day on; no moment is before it
        return f"((epoch_us({inner}) + 62135596800000000) // 1000000)"
    if aggregate.name != "mode" or (facts.kind != BOOLEAN and facts.values is None):
        return inner
    values = facts.values if facts.values is not None else (False, True)
    branches = " ".join(f"WHEN {literal(value, facts)} THEN {i}" for i, value in enumerate(values))
    return f"CASE {inner} {branches} END"


@dataclass(frozen=True)
class EngineStatement:
    """SQL that an engine runs: whether it reads the hash key `$salt`, and whether it may be run slice by slice."""

    text: str
    salted: bool = False
    sliced: bool = False


@dataclass(frozen=True, eq=False)
class JobWriter(Job):
    """The engine's SQL of a job: rows, limited to some keys of a person, sums per person, her weight, sums.

    `more` are further columns of the rows, and `reads` what these read.
    """

    more: str = ""
    reads: tuple[Node, ...] = ()

    @classmethod
    def of(cls, job: Job) -> JobWriter:
        """What writes a job."""
        return cls(**{field.name: getattr(job, field.name) for field in fields(Job)})

    @property
    def parts(self) -> list[tuple[str, Node, Bundle]]:
        """What is summed: its name, and its bundle."""
        return [
            (f"_p{i}_{j}", part, bundle) for i, bundle in enumerate(self.bundles) for j, part in enumerate(bundle.parts)
        ]

    def every_row(self) -> str:
        """The rows that reach the release: person, keys, parts of the bundles."""
        nodes = [self.release.keys[i][1] for i in self.kept]
        looked = [*nodes, *(part for _, part, _ in self.parts), *self.reads]
        read = {name for node in looked for name in columns_of(node)}
        shown = [f"{expression(node)} AS _k{i}" for i, node in zip(self.kept, nodes, strict=True)]
        shown += [f"{steps(part, grid_of(bundle))} AS {name}" for name, part, bundle in self.parts]
        shown += [self.more] if self.more else []
        rows = f"SELECT {', '.join(['_u', *shown])} FROM ({select(self.release.below, read)}) AS q"
        return self._fed_together(rows) if self.together is not None and self.bundles else rows

    def _fed_together(self, rows: str) -> str:
        """The rows; the parts of those that feed more bundles than the price rests on are zero."""
        shared = [bundle for bundle in self.bundles if self.limits.alone or not bundle.person]
        names = [[name for name, _, of in self.parts if of is bundle] for bundle in shared]
        fed = " + ".join(f"CAST({' OR '.join(f'{name} <> 0' for name in of)} AS INTEGER)" for of in names)
        parts = (f"CASE WHEN _fed <= {self.together} THEN {name} ELSE 0 END AS {name}" for of in names for name in of)
        return f"SELECT * EXCLUDE (_fed) REPLACE ({', '.join(parts)}) FROM (SELECT *, {fed} AS _fed FROM ({rows}))"

    def rows(self) -> str:
        """The rows that count; with open keys, those of at most K keys of a person, by a keyed hash (3.6b)."""
        if not self.chosen:
            return f"WITH kept AS ({self.every_row()})"
        names = [f"_k{i}" for i in self.chosen]
        order = hashed(names)
        # who has several rows where one is declared is left out before her keys are looked at
        base = "all_rows"
        alone = ""
        if self.limits.alone:
            base = "single"
            alone = ", single AS (SELECT * FROM all_rows QUALIFY COUNT(*) OVER (PARTITION BY _u) = 1)"
        same = " AND ".join(["a._u = b._u", *(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in names)])
        return (
            f"WITH all_rows AS ({self.every_row()}){alone}, "
            f"pairs AS (SELECT _u, {', '.join(names)} FROM {base} GROUP BY ALL), "
            f"few AS (SELECT * FROM pairs QUALIFY row_number() OVER (PARTITION BY _u ORDER BY {order})"
            f" <= {self.limits.keys}), "
            f"kept AS (SELECT a.* FROM {base} AS a JOIN few AS b ON {same})"
        )

    def sized(self) -> list[tuple[str, Bundle, Fraction]]:
        """What is summed, with its grid."""
        return [(name, bundle, grid_of(bundle)) for name, _, bundle in self.parts]

    def people(self) -> EngineStatement:
        """The number of different persons under each open key."""
        names = ", ".join(f"_k{i}" for i in self.chosen)
        return EngineStatement(f"{self.rows()} SELECT {names}, COUNT(*) AS n FROM few GROUP BY {names}", salted=True)

    def sums(self) -> EngineStatement:
        """Sums per person and group, the person's weight, sums per group."""
        parts, alone = self.parts, self.limits.alone
        names = [f"_k{i}" for i in self.kept]
        sums = [f"{'MAX' if b.person else 'SUM'}({name}) AS {name}" for name, _, b in parts]
        by = ", ".join(["_u", *names])
        person = f"SELECT {', '.join(['_u', *names, 'COUNT(*) AS _n', *sums])} FROM kept GROUP BY {by}"
        totals = ["SUM(_n) AS _n", "COUNT(*) AS _g"]
        if self.limits.gaussian:
            totals.append("SUM(CAST(_n AS HUGEINT) * _n) AS _q")
        if self.clip is not None:
            totals.append(f"SUM(ABS({parts[0][0]})) AS _s")
        weight = f"SELECT _u, {', '.join(totals)} FROM person GROUP BY _u"
        weighted = [
            f"COALESCE(CAST(SUM(CAST(p.{name} AS HUGEINT) * {self.weight(b)}) AS HUGEINT), 0) AS {name}"
            for name, _, b in parts
        ]
        only = " WHERE w._n = 1" if alone else ""
        tail = f" GROUP BY {', '.join(f'p.{name}' for name in names)}" if names else ""
        head = ", ".join([*(f"p.{name} AS {name}" for name in names), *weighted])
        return EngineStatement(
            f"{self.rows()}, person AS ({person}), weight AS ({weight}) "
            f"SELECT {head} FROM person AS p JOIN weight AS w ON p._u = w._u{only}{tail}",
            salted=bool(self.chosen),
        )

    def _others(self, aggregate: Aggregate, place: str) -> tuple[str, list[str]]:
        """The rows with the place or value that an aggregate looks at, each person's number of rows, and the keys."""
        writer = replace(self, bundles=(), more=f"{place} AS _x", reads=(aggregate,))
        names = [f"_k{i}" for i in self.kept]
        return f"{writer.rows()}, person AS (SELECT _u, COUNT(*) AS _n FROM kept GROUP BY _u)", names

    def not_summed(self, aggregate: Aggregate) -> EngineStatement:
        """What is not a sum."""
        return self.places(aggregate) if AGGREGATES[aggregate.name].measure == CHOICE else self.different(aggregate)

    def places(self, aggregate: Aggregate) -> EngineStatement:
        """Keys, places and the weight of the rows there, for a choice; weights as for sums (semantics 3.1)."""
        head, names = self._others(aggregate, place(aggregate))
        most = self.limits.most
        weight = f"CASE WHEN w._n <= {most} THEN {FINE} ELSE ({FINE}::HUGEINT * {most}) // w._n END"
        only = " AND w._n = 1" if self.limits.alone else ""
        keys_ = "".join(f"k.{name}, " for name in names)
        return EngineStatement(
            f"{head} SELECT {keys_}CAST(k._x AS HUGEINT) AS _x,"
            f" CAST(SUM({'1' if self.limits.alone else weight}) AS HUGEINT) AS _w"
            f" FROM kept AS k JOIN person AS w ON k._u = w._u WHERE k._x IS NOT NULL{only} GROUP BY {keys_}k._x",
            salted=bool(self.chosen),
        )

    def different(self, aggregate: Aggregate) -> EngineStatement:
        """Keys and the number of different values, of each person at most K by a keyed hash (semantics 3.5)."""
        assert aggregate.arg is not None
        head, names = self._others(aggregate, expression(filtered_to_null(aggregate.arg, aggregate.where)))
        listed = ["_u", *names, "_x"]
        text = " || chr(31) || ".join(f"COALESCE('=' || CAST({name} AS VARCHAR), '')" for name in listed)
        only = " JOIN person AS w ON k._u = w._u AND w._n = 1" if self.limits.alone else ""
        shown = ", ".join(f"k.{name}" for name in listed)
        ranked = ", ".join([f"md5($salt || {text})", *names, "_x"])
        by = "".join(f"{name}, " for name in names)
        most = dict(zip(self.extras, self.different_values, strict=False)).get(aggregate, self.limits.keys)
        tail = f" GROUP BY {', '.join(names)}" if names else ""
        return EngineStatement(
            f"{head}, values_of AS (SELECT {shown} FROM kept AS k{only} WHERE k._x IS NOT NULL GROUP BY {shown}), "
            f"chosen AS (SELECT * FROM values_of QUALIFY row_number() OVER (PARTITION BY _u ORDER BY {ranked})"
            f" <= {most}) SELECT {by}CAST({_over_values(aggregate)} AS HUGEINT) AS n FROM chosen{tail}",
            salted=True,
        )

    def weight(self, bundle: Bundle) -> str:
        """The person's weight in units of 2^-20, toward zero; 1 where each person has one row."""
        if self.clip is not None:
            most = int(self.clip / grid_of(bundle))
            return f"CASE WHEN w._s <= {most} THEN {FINE} ELSE ({FINE}::HUGEINT * {most}) // w._s END"
        if self.limits.alone or (bundle.person and self.limits.few):
            return "1"
        bound = self.limits.bound
        if not self.limits.gaussian:
            counted, most = "w._g" if bundle.person else "w._n", int(bound)
            return f"CASE WHEN {counted} <= {most} THEN {FINE} ELSE ({FINE}::HUGEINT * {most}) // {counted} END"
        squared, limit = "w._g" if bundle.person else "w._q", bound**2
        # the square root, upward: a double is off by less than one part in 2^50
        root = f"CAST(CEIL(SQRT(CAST({squared} AS DOUBLE)) * {FINE} * 1.000000001) AS HUGEINT)"
        return (
            f"CASE WHEN {squared}::HUGEINT * {limit.denominator} <= {limit.numerator} THEN {FINE}"
            f" ELSE ({FINE * FINE}::HUGEINT * {bound.numerator}) // ({root} * {bound.denominator}) END"
        )


def _over_values(aggregate: Aggregate) -> str:
    """The number of the different values that people keep, or their sum: nothing adds up to nothing."""
    adds = AGGREGATES[aggregate.name].adds_values
    return "COALESCE(SUM(DISTINCT CAST(_x AS HUGEINT)), 0)" if adds else "COUNT(DISTINCT _x)"
