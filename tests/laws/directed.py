"""Tables and questions made by hand: each is the shortest way to see one rule of the plan bite, or one trap spring.

Persons are single letters. `rows` are texts; a table has the unit u and the columns that are named.
"""

# ruff: noqa: E501  an example stands on one line
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

from sfumato.policy import Policy, from_dict
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.plan import plan
from tests import tableless
from tests.compiled import Rows, compiled
from tests.laws import neighbours
from tests.laws.asking import TODAY
from tests.laws.worlds import World, one

INT = {"type": "integer", "min": 0, "max": 10}
SIGNED = {"type": "integer", "min": -50, "max": 100}
FAR = {"type": "integer", "min": 100, "max": 200}
LIST = {"values": ["x", "y", "z"]}
DAYS = {"type": "integer", "min": 0, "max": 80}
CENTS = {"type": "decimal", "min": 0, "max": 1, "grid": Fraction(1, 100)}


def policy(
    columns: dict[str, Any], rows: int = 1, adjacency: str = "add-remove", name: str = "t", **more: Any
) -> Policy:
    """One table with the unit u, a text of at most 6 characters."""
    table = {"unit": "u", "rows_per_unit": rows, "columns": {"u": {"type": "text", "max_length": 6}, **columns}, **more}
    return policies({name: table}, adjacency)


def policies(
    tables: dict[str, dict[str, Any]], adjacency: str = "add-remove", delta: Any = 0, partition: str | None = None
) -> Policy:
    """A policy of several tables; with delta, open keys may be chosen and Gaussian noise be asked for."""
    privacy = {"epsilon": 100, "adjacency": adjacency} | ({"delta": delta, "query_delta": delta / 100} if delta else {})
    privacy |= {"partition": partition} if partition is not None else {}
    return from_dict(
        {
            "source": {"engine": "duckdb", "files": dict.fromkeys(tables, ":memory:")},
            "data": {"id": "directed"},
            "privacy": privacy,
            "tables": tables,
        }
    )


def planned(
    text: str,
    made: Policy,
    epsilon: Any = 1,
    rows: int | None = None,
    *,
    noise: str | None = None,
    run: Any = tableless.run,
) -> Any:
    """The plan of a question."""
    public = Rows(run)
    question = bind(parse(text), made, TODAY, public)
    return compiled(plan(question, made, Fraction(epsilon), rows, noise=noise, rows=public))


@dataclass(frozen=True)
class Example:
    """A question over small tables."""

    world: World
    text: str
    lowered: int | None = None
    noise: str | None = None
    means: dict[Any, tuple[Any, ...]] | None = None

    @property
    def made(self) -> Policy:
        return self.world.policy

    def check(self, how: Callable[..., Any] = planned) -> Fraction:
        """The neighbour check, and what the sums of the last cut should be where the example says it; `how` plans."""
        asked = how(self.text, self.made, 1, self.lowered, noise=self.noise, run=self.world.run)
        found = neighbours.check(self.world, asked)
        if self.means is not None:
            bench = neighbours.Bench(self.world)
            cut, before = list(neighbours.stages(bench, asked, 1))[-1]
            sums = neighbours.values(cut, neighbours.vector(bench.show(), cut, before))
            wanted = {group: tuple(map(Fraction, numbers)) for group, numbers in self.means.items()}
            if sums != wanted:
                raise neighbours.Broken(f"the sums are {sums}, but should be {wanted}")
        return found


def example(
    made: Policy,
    rows: str,
    text: str,
    others: dict[str | None, str] | None = None,
    *,
    types: str = "VARCHAR",
    **more: Any,
) -> Example:
    """Rows as words: 'a:1,x a:2,y b:' is two rows of a, and one of b whose value is NULL; '*40' repeats a row."""
    name = next(iter(made.tables))
    physical = dict.fromkeys(made.tables[name].columns, types) | {"u": "VARCHAR"}
    lists = {who: [worded(other)] for who, other in (others or {}).items()}
    return Example(one(made, physical, worded(rows), lists), text, **more)


def worded(words: str) -> list[tuple[str | None, ...]]:
    """Rows that are written as words."""
    found: list[tuple[str | None, ...]] = []
    for word in words.split():
        row, _, times = word.partition("*")
        who, _, values = row.partition(":")
        found += [(who if who != "-" else None, *(v or None for v in values.split(",") if ":" in row))] * int(
            times or 1
        )
    return found


_DIARY = {"unit": "u", "rows_per_unit": 3, "columns": {"u": {"type": "text", "max_length": 6}, "d": DAYS}}
BOTH = policies({"t": _DIARY}, delta=Fraction(1, 1000))
SWAPPED = policies({"t": _DIARY}, "replace", Fraction(1, 1000))

EXAMPLES: dict[str, Example] = {
    # weights
    "forty rows count as five": example(policy({"i": INT}, 5), "a:10*40 b:3", "SELECT COUNT(*) FROM t", means={(): (6,)}),
    "seven rows, weights are rounded down": example(policy({"i": INT}, 5), "a:10*7 b:3", "SELECT COUNT(*), SUM(i), AVG(i) FROM t"),
    "one weight over all groups": example(
        policy({"s": LIST}, 5), "a:x*9 a:y*9 a:z*9 b:x", "SELECT s, COUNT(*) FROM t GROUP BY s"
    ),
    "four filters, one price": example(
        policy({"s": LIST}, 5),
        "a:x*20 a:y*20 a:z*20 a:*20",
        "SELECT COUNT(*) FILTER (WHERE s = 'x'), COUNT(*) FILTER (WHERE s = 'y'), COUNT(*) FILTER (WHERE s = 'z'), COUNT(*) FROM t",
    ),
    "a lowered number of rows": example(policy({"i": INT}, 5), "a:10*7 b:3", "SELECT COUNT(*), AVG(i) FROM t", lowered=1),
    # one row a person
    "two rows where one is promised": example(policy({"i": INT}), "a:10*2 b:3", "SELECT COUNT(*) FROM t", means={(): (1,)}),
    "two rows in two groups": example(policy({"s": LIST}), "a:x a:y b:z", "SELECT s, COUNT(*) FROM t GROUP BY s"),
    # a lone SUM
    "a sum of both signs": example(
        policy({"i": SIGNED, "s": LIST}, 2), "a:100,x*9 a:-50,y*18 b:1,x", "SELECT s, SUM(i) FROM t GROUP BY s"
    ),
    "a sum that cancels in one group": example(policy({"i": SIGNED, "s": LIST}, 2), "a:100,x*9 a:-50,x*16 a:-50,y b:1,x", "SELECT s, SUM(i) FROM t GROUP BY s"),
    "a declared clip": example(
        policy({"i": INT}, 5, sum_per_unit={"i": 7}), "a:10*3 b:2", "SELECT SUM(i) FROM t"
    ),
    "a declared clip, one row": example(policy({"i": INT}, 1, sum_per_unit={"i": 7}), "a:10 b:2", "SELECT SUM(i) FROM t"),
    # sizes
    "largest, not the range": example(policy({"i": FAR}), "a:200 b:100", "SELECT SUM(i) FROM t"),
    "two aggregates cost two": example(policy({"i": INT}), "a:10 b:3", "SELECT COUNT(*), SUM(i) FROM t"),
    "ends of a mean": example(policy({"i": SIGNED}, 2), "a:100*9 b:-50*9 c:", "SELECT AVG(i), SUM(i), COUNT(i) FROM t"),
    # domains
    "above the bound": example(policy({"i": INT}), "a:150 b:3", "SELECT SUM(i) FROM t WHERE i >= 0", means={(): (13,)}),
    "a predicate beyond the domain": example(policy({"i": INT}), "a:150 b:3", "SELECT COUNT(*) FROM t WHERE i > 10", means={}),
    "not a number": example(policy({"f": {"type": "double", "min": 0, "max": 9, "grid": 1}}), "a:NaN b:inf c:-inf d:1", "SELECT SUM(f), COUNT(f) FROM t", means={(): (10, 17)}),
    "a text outside of the list": example(policy({"s": LIST}), "a:Q b:x", "SELECT s, COUNT(*) FROM t GROUP BY s"),
    "a truth outside of the list": example(policy({"b": {"values": [True]}}), "a:true b:false", "SELECT b, COUNT(*) FROM t GROUP BY b"),
    "rows of nobody": example(policy({"i": INT}, 5), "-:10*40 a:3", "SELECT COUNT(*), SUM(i) FROM t"),
    "rows of nobody, one row": example(policy({"i": INT}), "-:10 a:3", "SELECT COUNT(*) FROM t", means={(): (1,)}),
    "units alike in the first six characters": example(
        policy({"i": INT}, 2), "abcdefg:1*9 abcdefh:1 abcdefi:1", "SELECT COUNT(*) FROM t"
    ),
    "columns that must be known": example(
        policy({"i": {**INT, "nulls": False}, "s": {**LIST, "nulls": False}}), "a:,x b:3, c:3,x", "SELECT s, SUM(i) FROM t GROUP BY s", means={("x",): (3,)}),
    # persons
    "persons in many groups": example(policy({"s": LIST, "i": INT}, 2), "a:x,1*9 a:y,1*9 a:z,1*9 b:x,1", "SELECT s, COUNT(DISTINCT u) FROM t GROUP BY s"),
    "persons in more groups than rows count": example(
        policy({"i": INT}, 5), "a:0 a:1 a:2 a:3 a:4 a:5 a:6*9 a:7 b:1", "SELECT i, COUNT(DISTINCT u) FROM t GROUP BY i"
    ),
    "persons once": example(policy({"i": INT}, 5), "a:1*4 b:1", "SELECT COUNT(DISTINCT u) FROM t", means={(): (2,)}),
    # replace
    "running totals": example(policy({"d": DAYS}, 5), "a:0 a:7 a:7 a:40 a:80 a:12 a:13 b:3", "SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) FROM t GROUP BY d"),
    "running totals, falling, of one sum": example(policy({"d": DAYS, "i": SIGNED}, 3), "a:0,-50*9 a:7,100*5 a:80,40*2 b:3,7", "SELECT d, SUM(SUM(i)) OVER (ORDER BY d DESC) FROM t GROUP BY d"),
    "running totals under replace": example(policy({"d": DAYS}, 2, "replace"), "a:0 a:7 b:3", "SELECT d, SUM(n) OVER (ORDER BY d) FROM (SELECT d, COUNT(*) AS n FROM t GROUP BY d) AS q", {"a": "a:80 a:30"}),
    "running totals by class": example(policy({"d": DAYS, "s": LIST}, 4), "a:0,x a:7,y a:7,z a:40,x a:80, b:3,x", "SELECT s, d, SUM(COUNT(*)) OVER (PARTITION BY s ORDER BY d) FROM t GROUP BY s, d"),
    "two running totals": example(policy({"d": DAYS, "i": INT}, 2), "a:0,10*2 b:3,7", "SELECT d, SUM(COUNT(*)) OVER (ORDER BY d), SUM(SUM(i)) OVER (ORDER BY d) FROM t GROUP BY d"),
    "running totals with a norm": example(BOTH, "a:0 a:1 a:2 a:3 a:4 a:5 a:6 a:7 a:8 b:3", "SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) FROM t GROUP BY d", noise="gaussian"),
    "running totals with a norm under replace": example(SWAPPED, "a:0*3 b:3", "SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) FROM t GROUP BY d", {"a": "a:60*3"}, noise="gaussian"),
    "running totals of persons": example(BOTH, "a:0 a:1*4 a:2 a:3 a:4 a:5 a:6 b:3", "SELECT d, SUM(COUNT(DISTINCT u)) OVER (ORDER BY d) FROM t GROUP BY d", noise="gaussian"),
    "another group": example(policy({"s": LIST}, 1, "replace"), "a:x b:x", "SELECT s, COUNT(*) FROM t GROUP BY s", {"a": "a:y"}),
    "another sign": example(policy({"i": SIGNED}, 1, "replace"), "a:100 b:3", "SELECT SUM(i + 20) FROM t", {"a": "a:-50"}),
    "the other end of a mean": example(policy({"i": INT}, 1, "replace"), "a:10 b:3", "SELECT AVG(i) FROM t", {"a": "a:0"}),
    "a sum of one sign": example(policy({"i": INT}, 5, "replace"), "a:10*5 b:3", "SELECT SUM(i) FROM t", {"a": "a:0"}),
    "from one filter into another": example(
        policy({"s": LIST}, 1, "replace"), "a:x b:z", "SELECT COUNT(*) FILTER (WHERE s = 'x'), COUNT(*) FILTER (WHERE s = 'y') FROM t", {"a": "a:y"}
    ),
    "from one filter into another, beside a median": example(
        policy({"s": LIST, "i": INT}, 1, "replace"), "a:x,1 b:z,1", "SELECT COUNT(*) FILTER (WHERE s = 'x'), COUNT(*) FILTER (WHERE s = 'y'), MEDIAN(i) FROM t", {"a": "a:y,9"}
    ),
    # the longest row
    "persons behind two filters": example(
        policy({"s": LIST}, 5), "a:x a:y b:x", "SELECT COUNT(DISTINCT u) FILTER (WHERE s = 'x'), COUNT(DISTINCT u) FILTER (WHERE s = 'y') FROM t"
    ),
    "between two constants": example(policy({"i": INT}), "a:4 b:0", "SELECT COUNT(*) FILTER (WHERE i > 3), COUNT(*) FILTER (WHERE i < 5) FROM t"),
    "on a constant": example(policy({"i": INT}), "a:4 b:0", "SELECT COUNT(*) FILTER (WHERE i >= 4), COUNT(*) FILTER (WHERE i <= 4) FROM t"),
    "on the bound": example(policy({"i": INT}), "a:77 b:0", "SELECT COUNT(*) FILTER (WHERE i > 9), COUNT(*) FILTER (WHERE i <> 4) FROM t"),
    "a text that is known": example(policy({"o": {"type": "text", "max_length": 3}}), "a:q b:", "SELECT COUNT(*), COUNT(o) FROM t"),
    "a unit that is known": example(policy({"i": INT}, 5), "a:1*5 b:1", "SELECT COUNT(u), COUNT(*), COUNT(DISTINCT u) FROM t"),
    "a truth that is known": example(policy({"b": {"type": "boolean"}}), "a:t b:", "SELECT COUNT(*), COUNT(b), COUNT(*) FILTER (WHERE b) FROM t"),
    "a truth in several conditions": example(policy({"b": {"type": "boolean"}}), "a:t b:", "SELECT COUNT(b), COUNT(*) FILTER (WHERE b), COUNT(*) FILTER (WHERE b IS NOT FALSE) FROM t"),
    "a moment that is known": example(policy({"w": {"type": "timestamp"}, "d": {"type": "date"}, "f": {"type": "double"}}), "a:2024-01-01,2024-01-01,1 b:,,", "SELECT COUNT(*), COUNT(w), COUNT(d), COUNT(f) FROM t"),
    "constants far outside": example(policy({"i": INT}), "a:4 b:0", "SELECT COUNT(*) FILTER (WHERE i < 1000), COUNT(*) FILTER (WHERE i > -1000) FROM t"),
    "constants far outside, in CASE": example(policy({"i": INT}), "a:4 b:0", "SELECT SUM(i), SUM(CASE WHEN i < 1000 THEN 1 ELSE 0 END), SUM(CASE WHEN i > -1000 THEN 1 ELSE 0 END) FROM t", means={(): (4, 2, 2)}),
    "unknown, in CASE": example(policy({"s": LIST}), "a: b:x c:Q", "SELECT SUM(CASE WHEN s = 'y' OR s IS NULL THEN 1 ELSE 0 END), SUM(CASE WHEN s = 'x' OR s IS NULL THEN 1 ELSE 0 END) FROM t"),
    "unknown": example(policy({"s": LIST}), "a: b:x c:Q", "SELECT COUNT(*) FILTER (WHERE s IS NULL), COUNT(*) FILTER (WHERE s = 'x' OR s IS NULL) FROM t"),
    "conditions that nobody understands": example(policy({"i": INT}), "a:10 b:3", "SELECT COUNT(*) FILTER (WHERE i % 2 = 0), SUM(CASE WHEN i % 5 = 0 THEN 1 ELSE 0 END) FROM t"),
    "doubles that meet no real number": example(
        policy({"f": {"type": "double"}}), "a:0.7 b:0.2", "SELECT COUNT(*) FILTER (WHERE f + 1e20 - 1e20 < 0.5), COUNT(*) FILTER (WHERE f > 0.5) FROM t"
    ),
    "rests below zero": example(policy({"i": SIGNED}), "a:-7 b:7", "SELECT COUNT(*) FILTER (WHERE i % 3 < 0), COUNT(*) FILTER (WHERE i < 0) FROM t"),
    "a quotient that may be NULL": example(policy({"i": INT}), "a:0 b:7", "SELECT COUNT(*) FILTER (WHERE COALESCE(7 / i, 7) = 7), COUNT(*) FILTER (WHERE i = 0) FROM t"),
    # doubles that stray
    "doubles beyond their interval": example(
        policy({"i": INT}), "a:9 b:5", "SELECT SUM(ROUND((CAST(i AS DOUBLE PRECISION) + 1e17) - 1e17)) FROM t"
    ),
    "doubles beyond all bounds": example(
        policy({"i": INT}), "a:9 b:0", f"SELECT SUM(i + ROUND(CAST(i AS DOUBLE PRECISION){' * 1e30' * 11}{' / 1e30' * 11})) FROM t"
    ),
    "a root beyond its interval": example(
        policy({"i": INT}), "a:9 b:5", "SELECT SUM(ROUND(SQRT((CAST(i AS DOUBLE PRECISION) + 1e17) - 1e17))) FROM t"
    ),
    "a cast of a double that strays": example(
        policy({"i": INT}), "a:9 b:5", "SELECT SUM(CAST((CAST(i AS DOUBLE PRECISION) + 1e17) - 1e17 AS NUMERIC(5, 1))) FROM t"
    ),
    "an exact power": example(policy({"i": SIGNED}), "a:100 b:-50", "SELECT SUM(i ^ 3) FROM t", means={(): (875000,)}),
    "an even power": example(policy({"i": {"type": "integer", "min": -10, "max": 3}}), "a:-10 b:2", "SELECT SUM(i ^ 2) FROM t", means={(): (104,)}),
    "what numeric does not hold": example(
        policy({"i": INT}), "a:10 b:9", "SELECT SUM(CAST(i AS NUMERIC(1, 0))), COUNT(CAST(i AS NUMERIC(1, 0))) FROM t", means={(): (9, 0)}
    ),
    "a bucket above all": example(policy({"i": INT}), "a:10 b:0", "SELECT SUM(WIDTH_BUCKET(i, 2, 6, 4)) FROM t", means={(): (5,)}),
    "a rest of either sign": example(policy({"i": SIGNED}), "a:-49 b:49", "SELECT SUM(MOD(i, 50)), SUM(DIV(i, -1)) FROM t"),
    "a text that grows": example(
        policy({"o": {"type": "text", "max_length": 3}}), "a:aaa b:b", "SELECT SUM(LENGTH(REPLACE(o, 'a', 'xyz'))) FROM t", means={(): (10,)}
    ),
    "digits of a number": example(policy({"i": SIGNED}), "a:-50 b:100", "SELECT SUM(LENGTH(i || 'x')) FROM t", means={(): (8,)}),
    "months of unlike length": example(
        policy({"d": {"type": "date", "min": date(2024, 1, 30), "max": date(2024, 1, 31)}}), "a:2024-01-31 b:2024-01-30",
        "SELECT SUM(EXTRACT(year FROM d + INTERVAL '11 months')), SUM(CAST(d + INTERVAL '1 month' AS DATE) - DATE '2024-02-01') FROM t",
    ),
    "a key beyond the domain": example(
        policy({"i": INT}), "a:150 b:3", "SELECT i, COUNT(*) FROM t WHERE i > 10 GROUP BY i", types="BIGINT", means={}
    ),
    "a condition first": example(
        policy({"i": INT}, 2), "a:1*2 a:9*8 b:1", "SELECT COUNT(*) FROM t WHERE i < 5", means={(): (3,)}
    ),
    "persons with many rows": example(
        policy({"s": LIST}, 2), "a:x*8 b:x", "SELECT s, COUNT(DISTINCT u) FROM t GROUP BY s", means={("x",): (2,)}
    ),
    "a clip between two steps": example(
        policy({"m": CENTS}, 5, sum_per_unit={"m": Fraction(3, 200)}), "a:0.5*3 b:0.01", "SELECT SUM(m) FROM t"
    ),
    "a sum of different values": example(
        policy({"i": SIGNED}, 2), "a:100 a:-50 a:99 b:100 b:7 c:7", "SELECT SUM(DISTINCT i) FROM t"
    ),
    "different values of one person": example(policy({"i": SIGNED}, 2), "a:-50 a:-50 a:100 b:-50", "SELECT SUM(DISTINCT i) FROM t"),
    "different values by group": example(
        policy({"s": LIST, "m": CENTS}, 3), "a:x,0.5 a:y,1 a:z,1 a:x,0.25 b:x,0.5 b:y,0.75", "SELECT s, SUM(DISTINCT m), COUNT(*) FROM t GROUP BY s", noise="gaussian"
    ),
    "different values beyond their bounds": example(
        policy({"i": INT}), "a:9 b:5", "SELECT SUM(DISTINCT ROUND((CAST(i AS DOUBLE PRECISION) + 1e17) - 1e17)) FROM t"
    ),
    "an empty table": example(policy({"i": INT}, 2), "", "SELECT COUNT(*), AVG(i) FROM t"),
    "nobody passes": example(policy({"i": INT}, 2), "a:1", "SELECT COUNT(*), AVG(i) FROM t WHERE i = 9"),
    "half a cent": example(policy({"m": CENTS}), "a:0.005 b:0.015 c:0.999 d:1.004", "SELECT SUM(m) FROM t", means={(): ("2.03",)}),
}  # fmt: skip

LOWEST = "-9223372036854775808"
WHOLE: dict[str, Any] = {"i": {"type": "integer"}, "s": {"type": "text", "max_length": 9}, "d": {"type": "date"}}
FULL = WHOLE | {"i": {"type": "integer", "min": -(2**63), "max": 2**63 - 1}}


def oracle(columns: dict[str, Any], row: str, condition: str) -> Example:
    """A condition that must not fail on one row of a while it does on no other's."""
    return example(policy(columns), f"a:{row} b:1,q,2024-01-01", f"SELECT COUNT(*) FROM t WHERE {condition}")


ORACLES: dict[str, Example] = {
    "negate the lowest": oracle(WHOLE, f"{LOWEST},,", "-i > 0"),
    "negate the lowest, declared": oracle(FULL, f"{LOWEST},,", "-i > 0"),
    "size of the lowest": oracle(WHOLE, f"{LOWEST},,", "ABS(i) > 0"),
    "size of the lowest, declared": oracle(FULL, f"{LOWEST},,", "ABS(i) > 0"),
    "the lowest by minus one": oracle(WHOLE, f"{LOWEST},,", "i / -1 > 0"),
    "the lowest by minus one, declared": oracle(FULL, f"{LOWEST},,", "i / -1 > 0"),
    "the rest of the lowest": oracle(WHOLE, f"{LOWEST},,", "i % -1 = 0"),
    "the rest of the lowest, declared": oracle(FULL, f"{LOWEST},,", "i % -1 = 0"),
    "products": oracle(WHOLE, f"{LOWEST},,", "i * i * i * i > 0"),
    "a product on a finer grid": oracle(WHOLE, f"{LOWEST},,", "i * i > 0.000001"),
    "a product rounded": oracle(WHOLE, f"{LOWEST},,", "ROUND(i * i * 0.01) > 0 OR FLOOR(i * i * 0.3) > 0 OR CEIL(i * i * 0.3) > 0"),
    "the rest of a product": oracle(WHOLE, f"{LOWEST},,", "(i * i * 2) % -1 = 0"),
    "a product among finer ones": oracle(WHOLE, f"{LOWEST},,", "GREATEST(i * i, 0.000001) > 0 OR COALESCE(i * i, 0.000001) > 0"),
    "sums": oracle(WHOLE, "9223372036854775807,,", "i + i + i > 0"),
    "compared on a finer grid": oracle(WHOLE, "9223372036854775807,,", "i > 0.0000000001"),
    "a place far outside": oracle(WHOLE, "1,abc,", "CASE WHEN u = 'a' THEN SUBSTRING(s, 5000000000) ELSE '' END = ''"),
    "week of a far day": oracle(WHOLE, "1,,5000000-01-01", "date_trunc('week', d) > DATE '2024-01-01'"),
    "year of the first day": oracle(WHOLE, "1,,-290308-12-23", "date_trunc('year', d) IS NULL"),
    "a far day beside a moment": oracle(WHOLE, "1,,5000000-01-01", "COALESCE(d, TIMESTAMP '2024-01-01 10:00') IS NULL"),
    "a far day compared with a moment": oracle(WHOLE, "1,,5000000-01-01", "d > CASE WHEN i = 1 THEN TIMESTAMP '2024-01-01 10:00' END"),
    "division by what may be zero": oracle(WHOLE, "0,,", "1 / i > 0 OR 1 % i = 0 OR 1.5 / i > 0"),
    "division by a written zero": oracle(WHOLE, "0,,", "CASE WHEN i = 0 THEN 1 / 0 ELSE 1 END = 1 OR i / 0 > 0 OR i % 0 = 0 OR DIV(i, 0) > 0 OR 1.5 / 0 > 0 OR i / (2 - 2) > 0"),
    "a text that is not a number": oracle(WHOLE, "abc,,", "i + 1 > 0"),
    "a logarithm of what has none": oracle(WHOLE, "0,,", "LN(i) > 0 OR LOG(i) > 0 OR LOG(i, 2) > 0 OR LOG(2, -i) > 0"),
    "a root of less than nothing": oracle(WHOLE, "-1,,", "SQRT(i) > 0 OR CBRT(i) > 0 OR POWER(i, 0.5) > 0"),
    "a power beyond all": oracle(WHOLE, f"{LOWEST},,", "POWER(i, i) > 0 OR i ^ 9 > 0 OR EXP(-i) > 0 OR POWER(0, i) > 0 OR i ^ 2 > 0.0001"),
    "a power beyond all, declared": oracle(FULL, f"{LOWEST},,", "i ^ 8 > 0 OR i ^ 3 > 1 OR TRUNC(i / 0.0000001) > 1 OR CAST(EXP(i / 1e17) AS INT) > 0"),
    "rests of the lowest": oracle(WHOLE, f"{LOWEST},,", "MOD(i, -1) = 0 OR DIV(i, -1) > 0 OR i % 0.1 = 0 OR DIV(i, 0.001) > 0"),
    "rests of the lowest, declared": oracle(FULL, f"{LOWEST},,", "MOD(i, -1) = 0 OR DIV(i, -1) > 0 OR i % 0.1 = 0 OR DIV(i, 0.001) > 0"),
    "a bucket of the lowest": oracle(WHOLE, f"{LOWEST},,", "WIDTH_BUCKET(i, 0, 10, 1000000) = 1 OR WIDTH_BUCKET(i * i * i, 10, 0, 3) = 1 OR WIDTH_BUCKET(i / 1e-20 / 1e-20, 0, 1, 3) = 1"),
    "a type that is too small": oracle(WHOLE, f"{LOWEST},,", "CAST(i AS SMALLINT) > 0 OR CAST(i * i * i AS BIGINT) > 0 OR CAST(i AS NUMERIC(3, 1)) > 0 OR CAST(i AS REAL) > 0"),
    "a text that reads as no number": oracle(WHOLE, "1,1e999,", "CAST(s AS INT) > 0 OR CAST(s AS NUMERIC) > 0 OR CAST(s AS NUMERIC(30, 12)) > 0 OR CAST(s AS DATE) IS NULL OR CAST(s AS BOOLEAN)"),
    "a long text that reads as a number": oracle(WHOLE, "1,999999999,", "CAST(s || s || s || s || s AS NUMERIC(30, 12)) > 0 OR CAST(s || s || s AS BIGINT) > 0 OR CAST(s AS SMALLINT) > 0"),
    "a year that is none": oracle(WHOLE, "1,0000-1-1,", "CAST(s AS DATE) + INTERVAL '1 day' > DATE '2024-01-01'"),
    "an interval beyond the calendar": oracle(WHOLE, "1,,9999-12-31", "d + INTERVAL '1 day' > DATE '2024-01-01' OR CAST(d + INTERVAL '9000 years' AS TEXT) = 'x'"),
    "an interval before the calendar": oracle(WHOLE, "1,,0001-01-01", "d - INTERVAL '1 day' > DATE '2024-01-01' OR date_trunc('week', d - INTERVAL '100 months') IS NULL"),
    "a pattern and a strange text": oracle(WHOLE, "1,%_\\,", "s ~ '^[^a]*$' OR s ILIKE '%!%' OR s LIKE '!%' ESCAPE '!' OR REPLACE(s, '', 'x') = '' OR REVERSE(s) = s"),
    "a wide decimal": example(
        policy({"n": {"type": "decimal", "min": 0, "max": 10**20, "grid": 1}}), "a:50000000000000000000 b:1", "SELECT COUNT(*) FROM t WHERE n > 7"
    ),
    "a fine decimal": example(
        policy({"n": {"type": "decimal", "min": 0, "max": 1, "grid": Fraction(1, 10**20)}}), "a:0.5 b:0.25", "SELECT COUNT(*) FROM t WHERE n > 0.3"
    ),
    "rounded to more digits than there are": example(
        policy({"n": {"type": "decimal", "min": 0, "max": 10**8, "grid": 1}}), "a:100000000 b:1", "SELECT COUNT(*) FROM t WHERE ROUND(n, 12) > 5"
    ),
    "halves of 62 bits": example(
        policy({"i": {"type": "integer", "min": 0, "max": 2**62 - 1}}), f"a:{2**62 - 1} b:1", "SELECT COUNT(*) FROM t WHERE ROUND(i * 0.1) > 5"
    ),
    "an unbounded number beside a fine one": example(
        policy({"i": {"type": "integer"}}), f"a:{2**62} b:1", "SELECT COUNT(*) FROM t WHERE CASE WHEN i > 2 THEN i ELSE 0.00000000000000000001 END > 0"
    ),
    "the larger of an unbounded and a fine number": example(
        policy({"i": {"type": "integer"}}), f"a:{2**62} b:1", "SELECT COUNT(*) FROM t WHERE GREATEST(i, 0.00000000000000000001) > 0"
    ),
    "a branch for one person": example(
        policy({"i": INT}), "a:1 b:1", "SELECT COUNT(*) FROM t WHERE CASE WHEN u = 'a' AND i = 1 THEN ROUND(1e17, 6) ELSE 0 END >= 0"
    ),
    "a sum of far decimals": example(
        policy({"n": {"type": "decimal", "min": 0, "max": 9 * 10**16, "grid": Fraction(1, 100)}}, 2), "a:89999999999999999*9 b:1", "SELECT COUNT(*) FROM t WHERE ROUND(n) > 5"
    ),
}  # fmt: skip


def day(text: str) -> date:
    return date.fromisoformat(text)
