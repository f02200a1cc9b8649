"""Shapes of queries over the tables of `twins`: every kind of relation in every position, by name.

A cell is a kind of public or released relation and the position in which private rows meet it, or a kind of private
relation and what is asked of it. `meetings` and `askings` give every cell; what fills its other places goes round.
"""

# ruff: noqa: E501  a shape of a query stands on one line
from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import cycle

from tests.laws.twins import Asked

PUBLIC = {
    "table": "y",
    "filter": "(SELECT g, n FROM y WHERE g IS NOT NULL) AS y",
    "computed": "(SELECT g + 0 AS g, n || '' AS n FROM y) AS y",
    "distinct": "(SELECT DISTINCT g, n FROM y) AS y",
    "grouped": "(SELECT g, MAX(n) AS n FROM y GROUP BY g) AS y",
    "total": "(SELECT MAX(g) AS g, MIN(n) AS n FROM y) AS y",
    "two empty sets": "(SELECT MAX(g) AS g, MIN(n) AS n FROM y GROUP BY GROUPING SETS ((), ())) AS y",
    "empty sets, limited": "(SELECT 4 AS g, 'a' AS n GROUP BY GROUPING SETS ((), (), ()) LIMIT 2) AS y",
    "rollup": "(SELECT g, MAX(n) AS n FROM y GROUP BY ROLLUP (g)) AS y",
    "rollup, nothing read": "(SELECT n, 4 AS g FROM (SELECT n, COUNT(*) AS c FROM y GROUP BY ROLLUP (n)) AS w) AS y",
    "window over ties": "(SELECT g, n FROM (SELECT g, n, ROW_NUMBER() OVER (ORDER BY n) AS k FROM y) AS w WHERE k <= 2) AS y",
    "first of each": "(SELECT g, n FROM (SELECT g, n, ROW_NUMBER() OVER (PARTITION BY n ORDER BY n) AS k FROM y) AS w WHERE k = 1) AS y",
    "float sum": "(SELECT g, n FROM (SELECT g, n, SUM(CAST(g AS DOUBLE)) OVER (PARTITION BY n) AS t FROM y) AS w WHERE t >= 0) AS y",
    "limited": "(SELECT g, n FROM y ORDER BY n LIMIT 2) AS y",
    "one row": "(SELECT g, n FROM y ORDER BY n LIMIT 1) AS y",
    "offset": "(SELECT g, n FROM y ORDER BY g, n OFFSET 1) AS y",
    "union all": "(SELECT g, n FROM y UNION ALL SELECT g, n FROM y) AS y",
    "union": "(SELECT g, n FROM y UNION SELECT 4, 'a') AS y",
    "except": "(SELECT g, n FROM y EXCEPT SELECT 0, 'a') AS y",
    "intersect": "(SELECT g, n FROM y INTERSECT SELECT g, n FROM y) AS y",
    "join": "(SELECT a.g, b.n FROM y AS a JOIN y AS b ON a.g = b.g) AS y",
    "left join": "(SELECT a.g, b.n FROM y AS a LEFT JOIN y AS b ON a.g = b.g AND b.n = 'x') AS y",
    "cross join": "(SELECT a.g, b.n FROM y AS a CROSS JOIN y AS b) AS y",
    "marked": "(SELECT g, n FROM y WHERE g IN (SELECT g FROM y WHERE n = 'a')) AS y",
    "constant": "(SELECT 4 AS g, 'a' AS n) AS y",
    "with": "w",
}
RELEASED = {
    "release": "(SELECT i AS g, s AS n, COUNT(*) AS c FROM v GROUP BY i, s) AS y",
    "release, total": "(SELECT COUNT(*) AS g, 'a' AS n FROM v) AS y",
    "release, two empty sets": "(SELECT COUNT(*) AS g, 'a' AS n FROM p GROUP BY GROUPING SETS ((), ())) AS y",
    "release, rollup": "(SELECT COUNT(*) AS g, s AS n FROM p GROUP BY ROLLUP (s)) AS y",
    "release, limited": "(SELECT COUNT(*) AS g, s AS n FROM v GROUP BY s ORDER BY 1 LIMIT 1) AS y",
    "release, window": "(SELECT g, n FROM (SELECT s AS n, COUNT(*) AS g, ROW_NUMBER() OVER (ORDER BY MAX(i)) AS k FROM v GROUP BY s) AS w WHERE k <= 2) AS y",
    "release, having": "(SELECT COUNT(*) AS g, s AS n FROM v GROUP BY s HAVING COUNT(*) > 1) AS y",
    "release, distinct": "(SELECT DISTINCT s AS n, 4 AS g FROM p) AS y",
    "release, grouped again": "(SELECT MAX(c) AS g, n FROM (SELECT s AS n, i, COUNT(*) AS c FROM v GROUP BY s, i) AS w GROUP BY n) AS y",
    "release, open": "(SELECT COUNT(*) AS g, o AS n FROM v GROUP BY o) AS y",
    "release, union": "(SELECT COUNT(*) AS g, s AS n FROM v GROUP BY s UNION ALL SELECT 4, 'a') AS y",
    "release, join": "(SELECT q.c AS g, k.n FROM (SELECT 'a' AS n UNION ALL SELECT 'a') AS k JOIN (SELECT s, COUNT(*) AS c FROM v GROUP BY s) AS q ON q.s = k.n) AS y",
    "release, median": "(SELECT CAST(MEDIAN(i) AS INTEGER) AS g, s AS n FROM p GROUP BY s) AS y",
    "release of a release": "(SELECT COUNT(*) AS g, s AS n FROM v WHERE i > (SELECT AVG(i) FROM v) GROUP BY s) AS y",
}
MET = PUBLIC | RELEASED
POSITIONS = {
    "join on a number": "FROM {one} JOIN {item} ON {one}.i = {y}.g",
    "join on a text": "FROM {one} JOIN {item} ON {one}.s = {y}.n",
    "join on both": "FROM {one} JOIN {item} ON {one}.s = {y}.n AND {one}.i = {y}.g",
    "join on an order": "FROM {one} JOIN {item} ON {one}.i < {y}.g",
    "left join": "FROM {one} LEFT JOIN {item} ON {one}.i = {y}.g",
    "left join of all": "FROM {one} LEFT JOIN {item} ON TRUE",
    "cross join": "FROM {one} CROSS JOIN {item}",
    "comma": "FROM {one}, {item} WHERE {one}.s = {y}.n",
    "public first": "FROM {item} JOIN {one} ON {one}.i = {y}.g",
    "right join": "FROM {item} RIGHT JOIN {one} ON {one}.s = {y}.n",
    "twice": "FROM {one} JOIN {item} ON {one}.s = {y}.n JOIN (SELECT n AS k FROM {item}) AS z ON {one}.s = z.k",
    "value": "FROM {one} WHERE {one}.i <= (SELECT MAX(g) FROM {item})",
    "value of a row": "FROM {one} WHERE {one}.i <= (SELECT g FROM {item})",
    "value about the row": "FROM {one} WHERE {one}.i >= (SELECT MIN({y}.g) FROM {item} WHERE {y}.n = {one}.s)",
    "in": "FROM {one} WHERE {one}.s IN (SELECT n FROM {item})",
    "not in": "FROM {one} WHERE {one}.i NOT IN (SELECT g FROM {item})",
    "exists": "FROM {one} WHERE EXISTS (SELECT 1 FROM {item} WHERE {y}.n = {one}.s)",
    "not exists": "FROM {one} WHERE NOT EXISTS (SELECT 1 FROM {item} WHERE {y}.g > {one}.i)",
    "below a person's own": "FROM (SELECT {one}.u, COUNT(*) AS i, MIN({one}.s) AS s, MAX({one}.m) AS m, MIN({one}.o) AS o FROM {one} JOIN {item} ON {one}.s = {y}.n GROUP BY {one}.u) AS q",
    "below distinct": "FROM (SELECT DISTINCT {one}.u, {one}.i, {one}.s, {one}.m, {one}.o FROM {one} LEFT JOIN {item} ON {one}.i = {y}.g) AS q",
    "below a union": "FROM (SELECT {one}.u, {one}.i, {one}.s, {one}.m, {one}.o FROM {one} JOIN {item} ON {one}.s = {y}.n UNION ALL SELECT u, i, s, m, o FROM v) AS q",
    "below a window": "FROM (SELECT {one}.u, {one}.s, {one}.m, {one}.o, COUNT(*) OVER (PARTITION BY {one}.u) AS i FROM {one} CROSS JOIN {item}) AS q",
}
PRIVATE = {
    "one row": "p",
    "several rows": "v",
    "filter": "(SELECT * FROM v WHERE s = 'a') AS q",
    "computed": "(SELECT u, i + 0 AS i, s, m, o FROM v) AS q",
    "join": "(SELECT p.u, v.i, p.s, v.m, v.o FROM p JOIN v ON p.u = v.u) AS q",
    "left join": "(SELECT p.u, p.i, p.s, v.m, p.o FROM p LEFT JOIN v ON p.u = v.u) AS q",
    "full join": "(SELECT u, v.i, p.s, v.m, v.o FROM p FULL JOIN v USING (u)) AS q",
    "one of each": "(SELECT p.u, p.i, t.s, t.m, p.o FROM p JOIN (SELECT u, MAX(s) AS s, MIN(m) AS m FROM v GROUP BY u) AS t ON p.u = t.u) AS q",
    "grouped": "(SELECT u, s, COUNT(*) AS i, MAX(m) AS m, MIN(o) AS o FROM v GROUP BY u, s) AS q",
    "one group": "(SELECT u, MIN(s) AS s, COUNT(*) AS i, MAX(m) AS m, MIN(o) AS o FROM v GROUP BY u) AS q",
    "grouping sets": "(SELECT u, s, SUM(i) AS i, MAX(m) AS m, MIN(o) AS o FROM p GROUP BY GROUPING SETS ((u), (u), (u, s))) AS q",
    "distinct": "(SELECT DISTINCT u, s, i, m, o FROM v) AS q",
    "persons once": "(SELECT DISTINCT u, CASE WHEN u > 1 THEN 2 ELSE 4 END AS i, 'a' AS s, 1.0 AS m, 'x' AS o FROM v) AS q",
    "union all": "(SELECT u, i, s, m, o FROM p UNION ALL SELECT u, i, s, m, o FROM v) AS q",
    "union": "(SELECT u, i, s, m, o FROM p UNION SELECT u, i, s, m, o FROM v) AS q",
    "window": "(SELECT u, s, m, o, RANK() OVER (PARTITION BY u ORDER BY i) AS i FROM v) AS q",
    "in": "(SELECT u, i, s, m, o FROM p WHERE u IN (SELECT u FROM v WHERE s = 'a')) AS q",
    "not exists": "(SELECT u, i, s, m, o FROM p WHERE NOT EXISTS (SELECT 1 FROM v WHERE v.u = p.u AND v.s = 'a')) AS q",
    "own value": "(SELECT u, (SELECT COUNT(*) FROM v WHERE v.u = p.u) AS i, s, m, o FROM p) AS q",
    "except": "(SELECT u, i, s, m, o FROM p WHERE u IN (SELECT u FROM p EXCEPT SELECT u FROM v WHERE i = 0)) AS q",
    "with": "pv",
    "everybody": "(SELECT p.u, p.i, p.s, p.m, p.o FROM p JOIN (SELECT u FROM p UNION SELECT u FROM v) AS t ON p.u = t.u JOIN (SELECT u FROM v UNION SELECT u FROM p) AS w ON w.u = p.u) AS q",
    "persons of either": "(SELECT v.u, v.i, v.s, v.m, v.o FROM v JOIN (SELECT DISTINCT u FROM p FULL JOIN v USING (u)) AS t ON t.u = v.u) AS q",
}
ASKED = {
    "count": "COUNT(*)",
    "sum": "SUM(i)",
    "signed sum": "SUM(m)",
    "mean": "AVG(m)",
    "spread": "VAR_POP(i)",
    "persons": "COUNT(DISTINCT u)",
    "different": "COUNT(DISTINCT o)",
    "sum of different": "SUM(DISTINCT m)",
    "median": "MEDIAN(i)",
    "largest": "MAX(m)",
    "most frequent": "MODE(s)",
    "several": "COUNT(*), SUM(i), AVG(i)",
    "filters": "COUNT(*) FILTER (WHERE s = 'a'), SUM(i) FILTER (WHERE s = 'b')",
    "any": "BOOL_OR(i > 2)",
}
BY = {
    "one group": "{items}",
    "listed": "s, {items}",
    "open": "o, {items}",
    "open and listed": "o, s, {items}",
    "rollup": "s, {items}",
    "two empty sets": "{items}",
    "total so far": "s, SUM(COUNT(*)) OVER (ORDER BY s)",
}
_TAIL = {"listed": " GROUP BY s", "open": " GROUP BY o", "open and listed": " GROUP BY o, s", "rollup": " GROUP BY ROLLUP (s)",
         "two empty sets": " GROUP BY GROUPING SETS ((), ())", "total so far": " GROUP BY s", "one group": ""}  # fmt: skip
WITH = {"w": "WITH w AS (SELECT g, n FROM y) ", "pv": "WITH pv AS (SELECT u, i, s, m, o FROM v) "}


def meeting(kind: str, position: str, one: str, asked: str, by: str) -> str:
    """A query in which rows of `one` meet a public or released relation."""
    item = MET[kind]
    y = "w" if kind == "with" else "y"
    start = POSITIONS[position].format(one=one, item=item, y=y)
    alias = "q" if position.startswith("below") else one
    words = {"u": f"{alias}.u", "i": f"{alias}.i", "s": f"{alias}.s", "m": f"{alias}.m", "o": f"{alias}.o"}
    return (WITH["w"] if kind == "with" else "") + _select(start, asked, by, words)


def asking(private: str, asked: str, by: str) -> str:
    """A query over a private relation."""
    item = PRIVATE[private]
    return WITH.get(item, "") + _select(f"FROM {item}", asked, by, {c: c for c in "uismo"})


def _select(start: str, asked: str, by: str, words: dict[str, str]) -> str:
    items, tail = BY[by].format(items=ASKED[asked]), _TAIL[by]
    for letter, name in words.items():
        items, tail = (_put(text, letter, name) for text in (items, tail))
    return f"SELECT {items} {start}{tail}"


def _put(text: str, letter: str, name: str) -> str:
    """The text with a column's name where a letter stands by itself."""
    result, quoted = [], False
    for i, char in enumerate(text):
        quoted ^= char == "'"
        alone = char == letter and not (
            text[i - 1 : i].isalnum() or text[i + 1 : i + 2].isalnum() or text[i - 1 : i] == "."
        )
        result.append(name if alone and not quoted else char)
    return "".join(result)


def meetings(seed: int = 0) -> Iterator[Asked]:
    """Every kind of public or released relation in every position, over a table of one row and one of several rows."""
    r = random.Random(seed)
    what, by, noise = (cycle(r.sample(list(of), len(of))) for of in (ASKED, BY, ("", "", "gaussian")))
    for kind in MET:
        for position in POSITIONS:
            for one in "pv":
                text = meeting(kind, position, one, next(what), next(by))
                yield Asked(text, next(noise) or None, ((kind, position), (kind, position, one)))


def askings(seed: int = 0) -> Iterator[Asked]:
    """Every kind of private relation with everything that is asked of it, and with every way of grouping."""
    r = random.Random(seed)
    noise = cycle(r.sample(("", "", "gaussian"), 3))
    for private in PRIVATE:
        ways, what = cycle(r.sample(list(BY), len(BY))), cycle(r.sample(list(ASKED), len(ASKED)))
        for asked in ASKED:
            by = next(ways)
            yield Asked(asking(private, asked, by), next(noise) or None, ((private, asked), (private, by)))
        for by in BY:
            yield Asked(asking(private, next(what), by), next(noise) or None, ((private, by),))
