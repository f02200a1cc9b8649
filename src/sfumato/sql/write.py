"""The engine's SQL of one release: rows with the person, limited to some keys of hers, sums, her weight, sums again.

Comes in: a release and what bounds one person in it. Goes out: SQL with one weight per person for everything (semantics
3.1), in whole numbers of 2^-20; nothing looks at other people's rows, at the order of rows or at chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.sql.aggregates import order
from sfumato.sql.aggregates.base import Bundle, filtered_to_null
from sfumato.sql.emit import expression, steps
from sfumato.sql.functions import common_grid
from sfumato.sql.relations import Release
from sfumato.sql.select import select
from sfumato.sql.tree import Aggregate, Node, columns_of

FINE = 1 << 20
"""Weights are whole numbers of 2^-20 (semantics 3.1b)."""


@dataclass(frozen=True)
class Limits:
    """What bounds one person: `alone` where she has one row; C (or C2), rows, and open keys or different values.

    `few`: she is in no more groups than count, so that in counts of persons her weight is one.
    """

    alone: bool
    gaussian: bool
    bound: Fraction
    most: int
    keys: int
    few: bool = False


def grid_of(bundle: Bundle) -> Fraction:
    """The grid on which all parts of a bundle lie."""
    return common_grid(*(part.facts.grid for part in bundle.parts)) or Fraction(1)


def spelled(bundle: Bundle) -> list[str]:
    """What is summed of one person's rows, as SQL over the rows below a release."""
    return [f"{'MAX' if bundle.person else 'SUM'}({steps(part, grid_of(bundle))})" for part in bundle.parts]


def hashed(names: list[str], unit: str = "_u", salt: str = "$salt") -> str:
    """The order in which keys of a person are kept: by a keyed hash of her and them."""
    text = " || chr(31) || ".join(f"COALESCE('=' || CAST({name} AS VARCHAR), '')" for name in (unit, *names))
    return ", ".join([f"md5({salt} || {text})", *names])


@dataclass
class Writer:
    """The engine's SQL of one part: rows, limited to some keys of a person, sums per person, her weight, sums."""

    release: Release
    limits: Limits
    kept: tuple[int, ...]
    chosen: tuple[int, ...]
    bundles: tuple[Bundle, ...]
    clip: Fraction | None
    more: str = ""
    reads: tuple[Node, ...] = ()

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
        return f"SELECT {', '.join(['_u', *shown])} FROM ({select(self.release.below, read)}) AS q"

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

    def people(self) -> str:
        """The number of different persons under each open key."""
        names = ", ".join(f"_k{i}" for i in self.chosen)
        return f"{self.rows()} SELECT {names}, COUNT(*) AS n FROM few GROUP BY {names}"

    def sql(self) -> str:
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
        return (
            f"{self.rows()}, person AS ({person}), weight AS ({weight}) "
            f"SELECT {head} FROM person AS p JOIN weight AS w ON p._u = w._u{only}{tail}"
        )

    def _others(self, aggregate: Aggregate, place: str) -> tuple[str, list[str]]:
        """The rows with the place or value that an aggregate looks at, each person's number of rows, and the keys."""
        writer = replace(self, bundles=(), more=f"{place} AS _x", reads=(aggregate,))
        names = [f"_k{i}" for i in self.kept]
        return f"{writer.rows()}, person AS (SELECT _u, COUNT(*) AS _n FROM kept GROUP BY _u)", names

    def places(self, aggregate: Aggregate) -> str:
        """Keys, places and the weight of the rows there, for a choice; weights as for sums (semantics 3.1)."""
        head, names = self._others(aggregate, order.place(aggregate))
        most = self.limits.most
        weight = f"CASE WHEN w._n <= {most} THEN {FINE} ELSE ({FINE}::HUGEINT * {most}) // w._n END"
        only = " AND w._n = 1" if self.limits.alone else ""
        keys_ = "".join(f"k.{name}, " for name in names)
        return (
            f"{head} SELECT {keys_}CAST(k._x AS HUGEINT) AS _x,"
            f" CAST(SUM({'1' if self.limits.alone else weight}) AS HUGEINT) AS _w"
            f" FROM kept AS k JOIN person AS w ON k._u = w._u WHERE k._x IS NOT NULL{only} GROUP BY {keys_}k._x"
        )

    def different(self, aggregate: Aggregate) -> str:
        """Keys and the number of different values, of each person at most K by a keyed hash (semantics 3.5)."""
        assert aggregate.arg is not None
        head, names = self._others(aggregate, expression(filtered_to_null(aggregate.arg, aggregate.where)))
        listed = ["_u", *names, "_x"]
        text = " || chr(31) || ".join(f"COALESCE('=' || CAST({name} AS VARCHAR), '')" for name in listed)
        only = " JOIN person AS w ON k._u = w._u AND w._n = 1" if self.limits.alone else ""
        shown = ", ".join(f"k.{name}" for name in listed)
        ranked = ", ".join([f"md5($salt || {text})", *names, "_x"])
        by = "".join(f"{name}, " for name in names)
        tail = f" GROUP BY {', '.join(names)}" if names else ""
        return (
            f"{head}, values_of AS (SELECT {shown} FROM kept AS k{only} WHERE k._x IS NOT NULL GROUP BY {shown}), "
            f"chosen AS (SELECT * FROM values_of QUALIFY row_number() OVER (PARTITION BY _u ORDER BY {ranked})"
            f" <= {self.limits.keys}) SELECT {by}CAST(COUNT(DISTINCT _x) AS HUGEINT) AS n FROM chosen{tail}"
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
