"""Several tables, made by hand: each is the shortest way to see a rule of relations bite, or to see it refuse.

p has one row a person, v several, w and x are behind foreign keys (x over w), y is public. Persons are single letters.
"""

# ruff: noqa: E501  an example stands on one line
from __future__ import annotations

from fractions import Fraction
from typing import Any

from tests.laws.directed import INT, LIST, SIGNED, Example, policies, worded
from tests.laws.worlds import World

TEXT = {"type": "text", "max_length": 3}
UNIT = {"type": "text", "max_length": 6}
KEY = {"type": "integer"}
DELTA = Fraction(1, 10**5)


def tables(**more: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """p(u, k, i, s), v(u, i, s, o), w(k, l, i), x(l, i), and the public y(s, o); `more` changes them."""
    made: dict[str, dict[str, Any]] = {
        "p": {"unit": "u", "rows_per_unit": 1, "columns": {"u": UNIT, "k": KEY, "i": INT, "s": LIST}},
        "v": {"unit": "u", "rows_per_unit": 2, "columns": {"u": UNIT, "i": INT, "s": LIST, "o": TEXT}},
        "w": {"unit": {"join": "p", "on": "k = k"}, "rows_per_unit": 2, "columns": {"k": KEY, "l": KEY, "i": INT}},
        "x": {"unit": {"join": "w", "on": "l = l"}, "rows_per_unit": 2, "columns": {"l": KEY, "i": INT}},
        "y": {
            "public": True,
            "columns": {"s": {"type": "text", "max_length": 9}, "o": {"type": "text", "max_length": 9}},
        },
    }
    return {name: made[name] | more.get(name, {}) for name in made}


def several(
    text: str,
    others: dict[str | None, dict[str, str]] | None = None,
    *,
    adjacency: str = "add-remove",
    delta: Any = DELTA,
    change: dict[str, Any] | None = None,
    noise: str | None = None,
    lowered: int | None = None,
    means: dict[Any, tuple[Any, ...]] | None = None,
    partition: str | None = None,
    **rows: str,
) -> Example:
    """A question over the tables that have rows here."""
    made = policies(tables(**(change or {})), adjacency, delta, partition)
    types = {name: dict.fromkeys(table.columns, "VARCHAR") for name, table in made.tables.items()}
    filled = {name: worded(rows.get(name, "")) for name in made.tables}
    lists = {who: [{name: worded(words) for name, words in other.items()}] for who, other in (others or {}).items()}
    return Example(World(made, types, filled, lists), text, lowered, noise, means)


PEOPLE = "a:1,10,x b:2,3,y c:3,5,z"
VISITS = "a:10,x,q*8 b:3,y,q d:7,z,r*4 -:9,x,q*7"
TIED = "a:9,x,r a:2,x,q a:5,x,s b:7,x,r b:4,x,q"
OPEN_KEYS = "a:1,x,q a:1,x,r a:1,y,s a:1,z,t b:1,x,q c:2,x,r"
FIVE = {"v": {"rows_per_unit": 5, "l2_per_unit": 2}}
NINE = {"v": {"rows_per_unit": 9, "groups_per_unit": 9}}
HALVES = "CASE WHEN i > 5 THEN 'high' ELSE 'low' END"
OWN = "SELECT u, {} AS n FROM v GROUP BY u"

EXAMPLES: dict[str, Example] = {
    # joins of persons
    "rows of one person meet": several("SELECT COUNT(*) FROM p JOIN v ON p.u = v.u", p=PEOPLE, v=VISITS, means={(): (3,)}),
    "units that leading zeros tell apart": several("SELECT COUNT(*) FROM p JOIN v ON p.u = v.u", p="1:1,1,x 01:2,1,x", v="1:1,x,q 01:1,x,q"),
    "units alike as far as they are shown": several("SELECT COUNT(*) FROM p JOIN v ON p.u = v.u", p="abcdefg:1,1,x abcdefh:2,1,x", v="abcdefg:1,x,q abcdefh:1,x,q", means={(): (2,)}),
    "who has no visit stays": several("SELECT COUNT(*), COUNT(v.i), SUM(p.i) FROM p LEFT JOIN v ON p.u = v.u AND v.i > 3", p=PEOPLE, v=VISITS),
    "who has no visit stays, or is counted": several("SELECT COUNT(*), COUNT(*) FILTER (WHERE v.i IS NULL) FROM p LEFT JOIN v ON p.u = v.u", p="a:1,1,x b:2,1,x", v="a:1,x,q", change={"v": {"rows_per_unit": 1, "columns": {"u": UNIT, "i": {**INT, "nulls": False}, "s": LIST, "o": TEXT}}}),
    "who has no visit stays, or is counted in CASE": several("SELECT COUNT(*), SUM(CASE WHEN v.i IS NULL THEN 1 ELSE 0 END) FROM p LEFT JOIN v ON p.u = v.u", p="a:1,1,x b:2,1,x", v="a:1,x,q", change={"v": {"rows_per_unit": 1, "columns": {"u": UNIT, "i": {**INT, "nulls": False}, "s": LIST, "o": TEXT}}}),
    "who has no visit stays, or has a letter": several("SELECT SUM(CASE WHEN v.i IS NULL OR v.i = 3 THEN 1 ELSE 0 END), SUM(CASE WHEN v.i IS NULL OR v.i = 4 THEN 1 ELSE 0 END) FROM p LEFT JOIN v ON p.u = v.u", p="a:1,1,x b:2,1,x", v="a:1,x,q", change={"v": {"rows_per_unit": 1, "columns": {"u": UNIT, "i": {**INT, "nulls": False}, "s": LIST, "o": TEXT}}}),
    "who is in one table only": several("SELECT COUNT(*) FROM p FULL JOIN v ON p.u = v.u", p=PEOPLE, v=VISITS, means={(): (6,)}),
    "a unit of either side": several("SELECT COUNT(DISTINCT u), COUNT(DISTINCT p.u), COUNT(DISTINCT v.u) FROM p FULL JOIN v USING (u)", p=PEOPLE, v=VISITS, means={(): (4, 3, 3)}),
    "units of unlike bounds": several(
        "SELECT SUM(u + 0) FROM p FULL JOIN v USING (u)", p="1:1,1,x 2:2,1,x", v="90:1,x,q",
        change={"p": {"columns": {"u": {"type": "integer", "min": 0, "max": 10}, "k": KEY, "i": INT, "s": LIST}}, "v": {"rows_per_unit": 1, "columns": {"u": {"type": "integer", "min": 0, "max": 100}, "i": INT, "s": LIST, "o": TEXT}}},
    ),
    "every visit with every other": several("SELECT COUNT(*), SUM(m.i) FROM v AS m JOIN v AS n ON m.u = n.u", v=VISITS),
    "a join from the other side": several("SELECT p.s, COUNT(*) FROM v RIGHT JOIN p USING (u) GROUP BY p.s", p=PEOPLE, v=VISITS),
    "joined by whatever is called the same": several("SELECT COUNT(*) FROM p NATURAL JOIN v", p="a:1,1,x b:2,3,y", v="a:1,x,q*9 b:3,y,q b:3,x,q"),
    "a comma and its condition": several("SELECT COUNT(*) FROM p, v WHERE p.u = v.u AND p.i > 4", p=PEOPLE, v=VISITS),
    "joined three times": several("SELECT COUNT(*) FROM p JOIN v ON p.u = v.u LEFT JOIN w ON w.k = p.k", p=PEOPLE, v=VISITS, w="1:5,1 1:6,1 2:7,1"),
    # windows that tell ties apart: every other column decides them, so that the physical order does not
    "V10: rows that tie": several("SELECT SUM(i) FROM (SELECT u, i, ROW_NUMBER() OVER (PARTITION BY u ORDER BY s) AS n FROM v) AS q WHERE n = 1", v=TIED, means={(): (6,)}),
    "rows that tie, one before": several("SELECT SUM(n) FROM (SELECT u, LAG(i) OVER (PARTITION BY u ORDER BY s) AS n FROM v) AS q", v=TIED),
    "rows that tie in a frame": several("SELECT SUM(n) FROM (SELECT u, SUM(i) OVER (PARTITION BY u ORDER BY s ROWS 1 PRECEDING) AS n FROM v) AS q", v=TIED),
    "the first of rows that tie": several("SELECT COUNT(*) FROM (SELECT u, FIRST_VALUE(o) OVER (PARTITION BY u ORDER BY s) AS n FROM v) AS q WHERE n = 'q'", v=TIED),
    "one row of each": several("SELECT SUM(i) FROM (SELECT DISTINCT ON (u) u, i, o FROM v ORDER BY u, o) AS q", v=TIED, means={(): (6,)}),
    "rows in no order": several("SELECT SUM(i) FROM (SELECT u, i, ROW_NUMBER() OVER (PARTITION BY u) AS n FROM v) AS q WHERE n = 1", v=TIED, means={(): (6,)}),
    "groups of one person that tie": several("SELECT SUM(m) FROM (SELECT u, o, MAX(i) AS m, ROW_NUMBER() OVER (PARTITION BY u ORDER BY COUNT(*)) AS n FROM v GROUP BY u, o) AS q WHERE n = 1", v=TIED),
    "groups of one person in no order": several("SELECT SUM(n) FROM (SELECT u, LAG(MAX(i)) OVER (PARTITION BY u) AS n FROM v GROUP BY u, i % 2, o) AS q", v=TIED),
    "one group of each": several("SELECT SUM(m) FROM (SELECT DISTINCT ON (u) u, o, MAX(i) AS m FROM v GROUP BY u, o ORDER BY u, COUNT(*)) AS q", v=TIED),
    # units behind keys
    "a unit behind a key": several("SELECT COUNT(*) FROM w", p="a:1,1,x a:2,1,x b:3,1,x", w="1:5,1*4 2:6,1*4 3:7,1", means={(): (3,)}),
    "a key that leads nowhere": several("SELECT COUNT(*), SUM(i) FROM w", p="a:1,1,x -:2,1,x", w="1:5,1 2:6,10*3 9:7,10*3 -:8,10*3"),
    "two keys on the way": several("SELECT COUNT(*) FROM x", p="a:1,1,x a:2,1,x b:3,1,x", w="1:5,1 2:6,1 3:7,1", x="5:1*4 6:1*4 7:1 9:1*9", means={(): (3,)}),
    "joined by the key": several("SELECT COUNT(*) FROM w JOIN p ON w.k = p.k", p=PEOPLE, w="1:5,1*3 2:6,1 9:6,1"),
    # public tables
    "a public row twice": several("SELECT COUNT(*) FROM v JOIN y ON v.s = y.s", v=VISITS, y="x:1 x:2 y:1 -:3"),
    "a public table that knows nothing": several("SELECT y.o, COUNT(*) FROM v LEFT JOIN y ON v.s = y.s AND y.o <> '2' GROUP BY y.o", v=VISITS, y="x:1 x:2 y:1 -:3"),
    "a public table by any condition": several("SELECT COUNT(*), SUM(v.i) FROM y JOIN v ON v.s < y.s OR v.i > 5", v=VISITS, y="x:1 y:2 z:1 -:3"),
    "listed in a public table": several("SELECT COUNT(*) FROM v WHERE s IN (SELECT s FROM y)", v=VISITS, y="x:1 -:3"),
    "not listed in a public table": several("SELECT COUNT(*) FROM v WHERE s NOT IN (SELECT s FROM y WHERE s IS NOT NULL)", v=VISITS, y="y:1 -:3", means={(): (4,)}),
    "a public table with an unknown": several("SELECT COUNT(*) FROM v WHERE s NOT IN (SELECT s FROM y)", v=VISITS, y="y:1 -:3", means={}),
    # persons who are somewhere
    "who has a visit": several("SELECT COUNT(*) FROM p WHERE u IN (SELECT u FROM v WHERE i > 3)", p=PEOPLE, v=VISITS, means={(): (1,)}),
    "who has none": several("SELECT COUNT(*) FROM p WHERE u NOT IN (SELECT u FROM v)", p=PEOPLE, v=VISITS, means={(): (1,)}),
    "who has a visit like it": several("SELECT COUNT(*) FROM p WHERE EXISTS (SELECT 1 FROM v WHERE v.u = p.u AND v.s = p.s)", p=PEOPLE, v=VISITS),
    "the largest of one's own": several("SELECT COUNT(*) FROM v AS a WHERE i >= ALL (SELECT i FROM v AS b WHERE b.u = a.u AND b.s = 'x')", v=VISITS, means={(): (5,)}),
    "above some of one's own": several("SELECT COUNT(*), SUM(i) FROM p WHERE i > ANY (SELECT i FROM v WHERE v.u = p.u)", p="a:1,10,x b:2,3,y c:3,5,z", v="a:10,x,q a:4,x,q b:3,y,q b:-,y,q"),
    "above all public values": several("SELECT COUNT(*) FROM v WHERE s > ALL (SELECT s FROM y)", v=VISITS, y="x:1 x:3"),
    "above all of a list with an unknown": several("SELECT COUNT(*) FROM v WHERE s > ALL (SELECT s FROM y)", v=VISITS, y="w:1 -:3", means={}),
    "a visit of the same kind": several("SELECT COUNT(*) FROM p WHERE (u, s) IN (SELECT u, s FROM v)", p=PEOPLE, v=VISITS),
    "who has no visit like it": several("SELECT COUNT(*) FROM v WHERE NOT EXISTS (SELECT 1 FROM p WHERE v.u = p.u AND v.i < p.i)", p=PEOPLE, v=VISITS),
    "in one table but not in the other": several("SELECT COUNT(*) FROM (SELECT u, s FROM p EXCEPT SELECT u, s FROM v) AS q", p=PEOPLE, v=VISITS, means={(): (1,)}),
    "in both tables": several("SELECT COUNT(*) FROM (SELECT u, s FROM v INTERSECT SELECT u, s FROM p) AS q", p=PEOPLE, v=VISITS, means={(): (2,)}),
    "in either table": several("SELECT COUNT(*) FROM (SELECT u, s FROM p UNION ALL SELECT u, s FROM v) AS q", p=PEOPLE, v=VISITS),
    "in either table, once": several("SELECT COUNT(*) FROM (SELECT u, s FROM p UNION SELECT u, s FROM v) AS q", p=PEOPLE, v=VISITS),
    "each of her values once": several("SELECT COUNT(*) FROM (SELECT DISTINCT u, s FROM v) AS q", v="abcdefg:1,x,q*9 abcdefh:1,x,q*9", means={(): (2,)}),
    # one person's own numbers
    "her own count": several(f"SELECT SUM(n) FROM ({OWN.format('COUNT(*)')}) AS q", v=VISITS, means={(): (5,)}),
    "her own sum": several(f"SELECT SUM(n) FROM ({OWN.format('SUM(i)')}) AS q", v=VISITS),
    "her own sum of either sign": several(f"SELECT AVG(n) FROM ({OWN.format('SUM(i)')}) AS q", v="a:-50,x,q*9 b:100,x,q*9", change={"v": {"columns": {"u": UNIT, "i": SIGNED, "s": LIST, "o": TEXT}}}),
    "her own mean": several(f"SELECT COUNT(*), SUM(ROUND(n, 1)) FROM ({OWN.format('AVG(i)')}) AS q WHERE n > 3.3", v="a:1,x,q*9 b:10,x,q b:0,x,q b:1,x,q c:3,x,q"),
    "her own different values": several(f"SELECT SUM(n) FROM ({OWN.format('COUNT(DISTINCT i)')}) AS q", v="a:1,x,q a:2,x,q a:3,x,q a:4,x,q b:1,x,q"),
    "her own groups": several("SELECT s, SUM(n) FROM (SELECT u, s, COUNT(*) AS n FROM v GROUP BY u, s) AS q GROUP BY s", v="a:1,x,q*9 a:1,y,q*9 a:1,z,q*9 b:1,x,q"),
    "her own groups and all of them": several("SELECT s, SUM(n) FROM (SELECT u, s, COUNT(*) AS n FROM v GROUP BY u, ROLLUP(s)) AS q GROUP BY s", v="a:1,x,q*9 a:1,y,q*9 b:1,x,q"),
    "who has more than so many": several("SELECT COUNT(*) FROM (SELECT u FROM v GROUP BY u HAVING COUNT(*) > 1 AND MAX(i) > 5) AS q", v=VISITS, means={(): (2,)}),
    "persons of one shown unit": several(f"SELECT COUNT(*) FROM ({OWN.format('MAX(i)')}) AS q", v="abcdefg:1,x,q*9 abcdefh:1,x,q", means={(): (2,)}),
    "her own spread": several(f"SELECT COUNT(*) FROM ({OWN.format('STDDEV_SAMP(i)')}) AS q WHERE n > 1.5", v="a:1,x,q a:5,x,q b:1,x,q"),
    "her own median": several(f"SELECT COUNT(*) FROM ({OWN.format('MEDIAN(i)')}) AS q WHERE n > 2.5", v="a:1,x,q a:5,x,q b:1,x,q"),
    "her own rank": several("SELECT AVG(n) FROM (SELECT u, RANK() OVER (PARTITION BY u ORDER BY i) AS n FROM v) AS q", v="a:1,x,q a:2,x,q a:3,x,q a:3,y,q b:5,x,q"),
    "her own running sum": several("SELECT AVG(n) FROM (SELECT u, SUM(i) OVER (PARTITION BY u ORDER BY i) AS n FROM v) AS q", v="a:10,x,q*7 b:1,x,q"),
    "her own rows in a row": several("SELECT COUNT(*) FROM (SELECT u, i - LAG(i) OVER (PARTITION BY u ORDER BY i) AS n FROM (SELECT DISTINCT u, i FROM v) AS d) AS q WHERE n > 1", v="a:1,x,q a:5,x,q b:1,x,q b:9,x,q"),
    # sub-queries about the row around
    "her own maximum beside her": several("SELECT COUNT(*), SUM(p.i) FROM p WHERE p.i < (SELECT MAX(i) FROM v WHERE v.u = p.u)", p=PEOPLE, v=VISITS),
    "her own count beside her": several("SELECT SUM((SELECT COUNT(*) FROM v WHERE v.u = p.u AND v.s = p.s)) FROM p", p=PEOPLE, v=VISITS),
    "nothing to count": several("SELECT AVG(n) FROM (SELECT p.u, MAX((SELECT COUNT(*) FROM v WHERE v.u = p.u)) AS n FROM p GROUP BY p.u) AS q", p="a:1,1,x b:2,1,x", v="b:1,x,q*2"),
    "nothing to count, and everything": several("SELECT COUNT(*) FILTER (WHERE n < 1), COUNT(*) FROM (SELECT p.u, MAX((SELECT COUNT(*) FROM v WHERE v.u = p.u)) AS n FROM p GROUP BY p.u) AS q", p="a:1,1,x b:2,1,x", v="b:1,x,q*2"),
    # stages
    "above the mean": several("SELECT COUNT(*) FROM v WHERE i > (SELECT AVG(i) FROM v)", v=VISITS),
    "as many as are like it": several("SELECT COUNT(*) FROM v WHERE i > (SELECT COUNT(*) FROM p WHERE p.s = v.s)", p=PEOPLE, v=VISITS),
    "a released table joined back": several("SELECT v.s, COUNT(*), SUM(v.i) FROM v JOIN (SELECT s, COUNT(*) AS n FROM v GROUP BY s) AS r ON v.s = r.s WHERE v.i > r.n GROUP BY v.s", v=VISITS),
    "a released table twice": several("WITH r AS (SELECT s, COUNT(*) AS n FROM v GROUP BY s) SELECT COUNT(*) FROM v JOIN r ON v.s = r.s WHERE v.i > (SELECT MAX(n) FROM r)", v=VISITS),
    # keys
    "open keys": several("SELECT o, COUNT(*), SUM(i) FROM v GROUP BY o", v=OPEN_KEYS),
    "open keys of persons": several("SELECT o, COUNT(DISTINCT u) FROM v GROUP BY o", v=OPEN_KEYS),
    "open keys, one for each": several("SELECT o, COUNT(*) FROM v GROUP BY o", v=OPEN_KEYS, change={"v": {"groups_per_unit": 1}}),
    "open keys of many rows": several("SELECT o FROM v GROUP BY o", v="a:1,x,q*9 b:1,x,q"),
    "an open key beside a list": several("SELECT o, s, COUNT(*) FROM v GROUP BY o, s", v=OPEN_KEYS),
    "an open key and all of them": several("SELECT o, s, COUNT(*) FROM v GROUP BY ROLLUP(o, s)", v=OPEN_KEYS),
    "only open keys": several("SELECT DISTINCT o FROM v", v=OPEN_KEYS),
    "open keys of one row": several("SELECT o, COUNT(*) FROM v GROUP BY o", v=OPEN_KEYS, change={"v": {"rows_per_unit": 1}}),
    "another open key": several("SELECT o, COUNT(*) FROM v GROUP BY o", {"a": {"v": "a:1,x,t"}}, v="a:1,x,q b:1,x,r", change={"v": {"rows_per_unit": 1}}, adjacency="replace"),
    "other open keys": several("SELECT o, COUNT(*), COUNT(DISTINCT u) FROM v GROUP BY o", {"a": {"v": "a:1,x,t a:1,x,u"}}, v="a:1,x,q a:1,x,r b:1,x,r", adjacency="replace"),
    # grouping sets
    "groups and their total": several("SELECT s, COUNT(*) FROM p GROUP BY ROLLUP(s)", p=PEOPLE),
    "all sums of groups": several("SELECT s, i, COUNT(*), SUM(i) FROM p GROUP BY CUBE(s, i)", p=PEOPLE),
    "sets of groups": several("SELECT s, COUNT(*), COUNT(DISTINCT u) FROM v GROUP BY GROUPING SETS ((s), (), (i))", v=VISITS),
    "sets of groups, other rows": several("SELECT s, COUNT(*) FROM p GROUP BY GROUPING SETS ((s), ())", {"a": {"p": "a:1,1,y"}}, p=PEOPLE, adjacency="replace"),
    "a lone sum in sets": several("SELECT s, SUM(i) FROM v GROUP BY ROLLUP(s)", v=VISITS),
    # Gaussian noise
    "a norm over groups": several("SELECT s, COUNT(*) FROM v GROUP BY s", v="a:1,x,q*3 a:1,y,q*4 b:1,x,q", noise="gaussian", change=FIVE),
    "a norm between two numbers": several("SELECT s, COUNT(*) FROM v GROUP BY s", v="a:1,x,q*3 a:1,y,q b:1,x,q", noise="gaussian", change=FIVE),
    "a norm of persons": several("SELECT i, COUNT(DISTINCT u) FROM v GROUP BY i", v="a:1,x,q a:2,x,q a:3,x,q a:4,x,q a:5,x,q a:6,x,q", noise="gaussian", change=FIVE),
    "a norm of two sums": several("SELECT SUM(i), COUNT(*) FROM v", v="a:10,x,q*5 b:1,x,q", noise="gaussian", change=FIVE),
    "a norm under replace": several("SELECT s, SUM(i - 5) FROM v GROUP BY s", {"a": {"v": "a:0,x,q*5"}}, v="a:10,x,q*5 b:1,x,q", noise="gaussian", change=FIVE, adjacency="replace"),
    "open keys and a norm": several("SELECT o, COUNT(*) FROM v GROUP BY o", v=OPEN_KEYS, noise="gaussian"),
    "a norm over sets": several("SELECT s, COUNT(*) FROM v GROUP BY ROLLUP(s)", v="a:1,x,q*3 a:1,y,q*4 b:1,x,q", noise="gaussian", change=FIVE),
    "one row under Gaussian noise": several("SELECT COUNT(*), SUM(i) FROM p", p=PEOPLE, noise="gaussian"),
    # what is not a sum
    "different values": several("SELECT COUNT(DISTINCT i) FROM v", v="a:1,x,q a:2,x,q a:3,x,q a:4,x,q b:9,x,q"),
    "different values by group": several("SELECT s, COUNT(DISTINCT o) FROM v GROUP BY s", {"a": {"v": "a:1,z,m a:1,z,n"}}, v="a:1,x,q a:1,x,r a:1,y,s a:1,y,t b:1,x,u", adjacency="replace"),
    "different values of a list": several("SELECT COUNT(DISTINCT s) FROM v", v="a:1,x,q a:1,y,q a:1,z,q b:1,,q", change=NINE),
    "different values of a list by group": several(f"SELECT {HALVES}, COUNT(DISTINCT s) FROM v GROUP BY 1", v="a:1,x,q a:1,y,q a:1,z,q a:9,x,q a:9,y,q a:9,z,q b:1,,q", change=NINE),
    "different values of a function": several("SELECT COUNT(DISTINCT UPPER(COALESCE(s, 'q'))) FROM v", v="a:1,x,q a:1,y,q a:1,z,q a:1,,q", change=NINE),
    "different rows": several("SELECT COUNT(DISTINCT (s, o)) FROM v", v="a:1,x,q a:2,y,q a:3,x,r a:4,,q a:5,x, b:9,x,q"),
    "different rows of lists": several("SELECT COUNT(DISTINCT (s, i > 5)) FROM v", v="a:1,x,q a:2,x,q a:3,y,q a:8,x,q a:,,q a:7,z,q b:,x,q", change=NINE),
    "different truths": several("SELECT COUNT(DISTINCT i > 5), COUNT(DISTINCT i) FROM v", v="a:1,x,q a:2,x,q a:3,x,q a:8,x,q a:9,x,q a:7,x,q b:,x,q", change=NINE),
    "another of a list": several("SELECT COUNT(DISTINCT s) FROM v", {"a": {"v": "a:1,x,q"}}, v="a:1,x,q a:1,y,q a:1,z,q b:1,x,q", change=NINE, adjacency="replace"),
    "a norm of different values of a list": several(f"SELECT {HALVES}, COUNT(DISTINCT s) FROM v GROUP BY 1", v="a:1,x,q a:1,y,q a:1,z,q a:9,x,q a:9,y,q a:9,z,q b:1,,q", change=NINE, noise="gaussian"),
    "different values under Gaussian noise": several("SELECT s, COUNT(DISTINCT o) FROM v GROUP BY s", v="a:1,x,q a:1,x,r b:1,x,u", noise="gaussian"),
    "a most frequent value": several("SELECT MODE() WITHIN GROUP (ORDER BY i) FROM v", v="a:1,x,q*8 b:2,x,q c:2,x,q"),
    "another most frequent value": several("SELECT s, MODE() WITHIN GROUP (ORDER BY i) FROM p GROUP BY s", {"a": {"p": "a:1,9,y"}}, p=PEOPLE, adjacency="replace"),
    "the largest values by group": several("SELECT s, MAX(i), MIN(i), MEDIAN(i) FROM v GROUP BY s", {"a": {"v": "a:1,z,m*9"}}, v=VISITS, adjacency="replace"),
    "a median beside a count": several("SELECT COUNT(*), MEDIAN(i), COUNT(DISTINCT o) FROM v", v=VISITS),
    "whether anybody is there": several("SELECT EXISTS (SELECT 1 FROM v WHERE i > 8)", v=VISITS),
    "one row if anybody is there": several("SELECT 1 WHERE EXISTS (SELECT 1 FROM v)", v=VISITS),
    "spreads": several("SELECT VAR_POP(i), SUM(i), CORR(i, i), BOOL_AND(i > 3) FROM v", v=VISITS),
    # cells of the policy's partition of people, p.s
    "only her own cell": several("SELECT COUNT(*) FROM p WHERE s = 'x'", p=PEOPLE, partition="p.s"),
    "cells of both sides": several("SELECT COUNT(*) FROM v LEFT JOIN p ON v.u = p.u WHERE p.s = 'x'", p=PEOPLE, v=VISITS, partition="p.s"),
    "who has two rows is in no cell": several("SELECT COUNT(*) FROM p JOIN v ON v.u = p.u WHERE p.s = 'x'", p="a:1,1,x a:2,1,y b:3,1,x", v=VISITS, partition="p.s"),
    "a cell that a join has lost": several("SELECT COUNT(*) FROM v LEFT JOIN p ON v.u = p.u AND p.i > 5 WHERE p.s IS NULL", p="a:1,1,x b:2,9,y", v=VISITS, partition="p.s"),
    "a cell that a condition has lost": several("SELECT COUNT(*) FROM v LEFT JOIN (SELECT * FROM p WHERE s = 'x') AS q ON v.u = q.u WHERE q.s IS NULL", p=PEOPLE, v=VISITS, partition="p.s"),
    "a cell that a full join has lost": several("SELECT COUNT(*) FROM v FULL JOIN p ON v.u = p.u AND v.i = p.i WHERE p.s IS NULL", p="a:1,1,x b:2,9,y", v=VISITS, partition="p.s"),
    "a cell that a value has lost": several("SELECT COUNT(*) FROM v WHERE (SELECT s FROM p WHERE p.u = v.u AND p.i > 5) IS NULL", p="a:1,1,x b:2,9,y", v=VISITS, partition="p.s"),
    "cells of two stages": several("SELECT COUNT(*) FROM p WHERE s = 'x' AND i > (SELECT AVG(i) FROM p WHERE s = 'y')", p=PEOPLE, partition="p.s"),
    "cells of two parts": several("SELECT COUNT(*) FROM (SELECT u FROM p WHERE s <> 'x' UNION ALL SELECT u FROM p WHERE s <> 'z') AS q", p=PEOPLE, partition="p.s"),
    "into another cell": several("SELECT COUNT(*) FROM p WHERE s = 'y'", {"a": {"p": "a:1,1,y"}}, p=PEOPLE, adjacency="replace", partition="p.s"),
    # what is lowered
    "fewer rows after a join": several("SELECT COUNT(*), SUM(v.i) FROM v AS v JOIN v AS z ON v.u = z.u", v=VISITS, lowered=1),
}  # fmt: skip

REFUSED: dict[str, str] = {
    # other persons' rows would decide
    "V2: an unknown in NOT IN": "SELECT COUNT(*) FROM p WHERE u NOT IN (SELECT CASE WHEN u = 'a' THEN NULL ELSE u END FROM v)",
    "P5: another column in IN": "SELECT COUNT(*) FROM p WHERE u IN (SELECT o FROM v)",
    "P5: another column compared": "SELECT COUNT(*) FROM p WHERE s IN (SELECT s FROM v)",
    "P5: a function of the unit": "SELECT COUNT(*) FROM p WHERE UPPER(u) IN (SELECT u FROM v)",
    "values of others in ALL": "SELECT COUNT(*) FROM p WHERE i > ALL (SELECT i FROM v)",
    "values of others like it in ANY": "SELECT COUNT(*) FROM p WHERE i > ANY (SELECT i FROM v WHERE v.s = p.s)",
    "one's own by the side of an outer join in ALL": "SELECT COUNT(*) FROM p AS a WHERE i > ALL (SELECT b.i FROM v AS b LEFT JOIN p AS c ON b.u = c.u WHERE c.u = a.u)",
    "one's own by the side of an outer join in ANY": "SELECT COUNT(*) FROM p AS a WHERE i > ANY (SELECT b.i FROM v AS b LEFT JOIN p AS c ON b.u = c.u WHERE c.u = a.u)",
    "public rows compared with persons": "SELECT COUNT(*) FROM y WHERE s > ALL (SELECT s FROM v)",
    "rows of others in IN": "SELECT COUNT(*) FROM p WHERE (s, i) IN (SELECT s, i FROM v)",
    "an unknown in NOT IN with two columns": "SELECT COUNT(*) FROM p WHERE (u, s) NOT IN (SELECT u, s FROM v)",
    "somebody exists": "SELECT COUNT(*) FROM p WHERE EXISTS (SELECT 1 FROM v WHERE v.i > 3)",
    "somebody like it exists": "SELECT COUNT(*) FROM p WHERE EXISTS (SELECT 1 FROM v WHERE v.s = p.s)",
    "public rows chosen by persons": "SELECT COUNT(*) FROM y WHERE EXISTS (SELECT 1 FROM v WHERE v.s = y.s)",
    "EXCEPT without the person": "SELECT COUNT(*) FROM (SELECT s FROM p EXCEPT SELECT s FROM v) AS q",
    "EXCEPT ALL": "SELECT COUNT(*) FROM (SELECT u FROM v EXCEPT ALL SELECT u FROM p) AS q",
    "EXCEPT of swapped columns": "SELECT COUNT(*) FROM (SELECT u, o FROM v EXCEPT SELECT o, u FROM v) AS q",
    # persons would meet
    "a join on another column": "SELECT COUNT(*) FROM p JOIN v ON p.s = v.s",
    "a join on a shown unit": "SELECT COUNT(*) FROM p JOIN v ON UPPER(p.u) = UPPER(v.u)",
    "a join on either": "SELECT COUNT(*) FROM p JOIN v ON p.u = v.u OR p.s = v.s",
    "a join on less": "SELECT COUNT(*) FROM p JOIN v ON p.u <= v.u",
    "no condition at all": "SELECT COUNT(*) FROM p CROSS JOIN v",
    "through a public table": "SELECT COUNT(*) FROM p JOIN y ON p.s = y.s JOIN v ON y.s = v.s",
    "a unit that is one by name only": "SELECT COUNT(*) FROM (SELECT s AS u FROM p) AS q JOIN v ON q.u = v.u",
    "P7: swapped columns": "SELECT COUNT(*) FROM (SELECT u AS x, o AS z FROM v UNION ALL SELECT o, u FROM v) AS q JOIN p ON q.x = p.u",
    "a key that is another's": "SELECT COUNT(*) FROM x JOIN w ON x.l = w.k",
    # rows of nobody
    "public rows are kept": "SELECT COUNT(*) FROM y LEFT JOIN v ON y.s = v.s",
    "public rows are kept, from the other side": "SELECT COUNT(*) FROM v RIGHT JOIN y ON y.s = v.s",
    "both are kept": "SELECT COUNT(*) FROM v FULL JOIN y ON y.s = v.s",
    "rows of persons and public ones": "SELECT COUNT(*) FROM (SELECT s FROM v UNION ALL SELECT s FROM y) AS q",
    # one person's numbers that others could change
    **{
        f"V10, P6: {call}": f"SELECT COUNT(*) FROM (SELECT u, {call} AS n FROM v GROUP BY u) AS q"
        for call in (
            "FIRST(s)",
            "LAST(s)",
            "ANY_VALUE(s)",
            "MODE() WITHIN GROUP (ORDER BY s)",
            "ARG_MAX(s, i)",
            "ARG_MIN(s, i)",
            "STRING_AGG(s, ',')",
            "ARRAY_AGG(s)",
        )
    },
    "the last of rows that tie": "SELECT COUNT(*) FROM (SELECT u, LAST_VALUE(s) OVER (PARTITION BY u ORDER BY i) AS n FROM v) AS q",
    "a window over all": "SELECT COUNT(*) FROM (SELECT u, RANK() OVER (ORDER BY i) AS n FROM v) AS q",
    "a window over a column": "SELECT COUNT(*) FROM (SELECT u, RANK() OVER (PARTITION BY s ORDER BY i) AS n FROM v) AS q",
    "a window over a shown unit": "SELECT COUNT(*) FROM (SELECT u, RANK() OVER (PARTITION BY UPPER(u) ORDER BY i) AS n FROM v) AS q",
    "V11, P7: a function of the unit as a group": "SELECT COUNT(*) FROM (SELECT LENGTH(u) AS h, SUM(i) AS n FROM v GROUP BY LENGTH(u)) AS q WHERE n > 5",
    "P7: the unit rolled up": "SELECT COUNT(*) FROM (SELECT u, SUM(i) AS n FROM v GROUP BY ROLLUP(u)) AS q",
    "P7: the unit in one set only": "SELECT COUNT(*) FROM (SELECT u, SUM(i) AS n FROM v GROUP BY GROUPING SETS ((u), ())) AS q",
    # rows that others choose
    "DISTINCT ON": "SELECT COUNT(*) FROM (SELECT DISTINCT ON (s) u, i FROM v) AS q",
    "LIMIT below the cut": "SELECT COUNT(*) FROM (SELECT u, i FROM v LIMIT 5) AS q",
    "ORDER BY and LIMIT below the cut": "SELECT COUNT(*) FROM (SELECT u, i FROM v ORDER BY i LIMIT 5) AS q",
    "OFFSET below the cut": "SELECT COUNT(*) FROM (SELECT u, i FROM v OFFSET 1) AS q",
    "a sample": "SELECT COUNT(*) FROM v TABLESAMPLE SYSTEM (50)",
    # persons shown
    "persons": "SELECT u, COUNT(*) FROM v GROUP BY u",
    "rows": "SELECT * FROM v",
    "persons once": "SELECT DISTINCT u FROM v",
    "the largest person": "SELECT MAX(u) FROM v",
    "a value of anybody": "SELECT COUNT(*) FROM p WHERE i > (SELECT i FROM v)",
}
"""Questions that are refused before any data is touched, over the same tables."""
