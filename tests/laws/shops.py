"""Random shops: households with several customers, orders found by a key, lines by a key of two columns; and queries
that put relations on relations: LATERAL, recursion, series, a released top-N, WITH used twice, grouping sets of one
person, joins along keys.
"""

# ruff: noqa: E501  SQL stands on one line
from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import duckdb

Rows = dict[str, list[str]]
UNITS = {
    "INTEGER": str,
    "HUGEINT": lambda i: str(i * 10**30 + i),
    "VARCHAR": lambda i: f"'{'aAbBé'[i]}'",
    "UUID": lambda i: f"'{i:08x}-0000-4000-8000-000000000000'",
}
AREAS = "n", "s", "w"


class Shop:
    """A policy, the rows of each household, and others that it might have."""

    def __init__(self, seed: int) -> None:
        r = self.r = random.Random(seed)
        self.unit, self.adjacency = r.choice(list(UNITS)), r.choice(["add-remove", "add-remove", "replace"])
        self.composition, self.prepared = r.choice(["best", "zcdp", "pure"]), r.random() < 0.3
        self.most = {"c": r.choice([1, 2]), "o": r.choice([1, 2, 3]), "l": r.choice([1, 2, 4])}
        self.partition, self.clip = self.most["c"] == 1 and r.random() < 0.6, r.random() < 0.3
        self._customers = self._orders = 0
        people = range(r.choice([2, 3]))
        self.people, self.others = ({i: self._household(i) for i in people} for _ in range(2))
        names = ["'n'", "'s'", "'e'", "NULL"]
        self.public = [f"{r.choice(names)}, {r.choice('0114')}" for _ in range(r.choice([1, 3, 6]))]

    def _household(self, i: int) -> Rows:
        r, rows = self.r, {"c": list[str](), "o": list[str](), "l": list[str]()}
        for _ in range(r.choice([0, 1, 1, 1, 2, 3])):
            self._customers += 1
            area, x, tag = (
                r.choice(pool)
                for pool in (
                    ["'n'", "'s'", "'w'", "'Q'", "NULL"],
                    ["0", "3", "9", "-7", "NULL"],
                    ["'aa'", "'bb'", "'bbb'", "NULL"],
                )
            )
            rows["c"].append(f"{UNITS[self.unit](i)}, {self._customers}, {area}, {x}, {tag}")
            for _ in range(r.choice([0, 1, 2, 3])):
                self._orders += 1
                for part in r.sample(range(3), r.choice([1, 1, 2])):
                    cost, site, day = (
                        r.choice(["0", "5", "50", "NULL", "-3"]),
                        r.choice(["'n'", "'s'", "NULL"]),
                        r.choice(["'2024-01-05'", "'2024-02-02'", "NULL"]),
                    )
                    rows["o"].append(f"{self._orders}, {part}, {self._customers}, {cost}, {site}, {day}")
                    for _ in range(r.choice([0, 1, 2, 5])):
                        qty, kind = r.choice(["1", "9", "NULL", "-4"]), r.choice(["'aa'", "'x'"])
                        rows["l"].append(f"{self._orders}, {part}, {qty}, {kind}")
        return rows

    def cells(self, *households: Rows) -> set[str]:
        """The cells of a household that has one row there, as the ledger names them."""
        own = [of["c"][0].split(", ")[2].strip("'") for of in households if len(of["c"]) == 1]
        return {f'"{area}"' if area in AREAS else "null" for area in own}

    def write(self, people: dict[int, Rows], home: Path) -> Path:
        """The database and the policy in a folder."""
        home.mkdir()
        with duckdb.connect(str(home / "d.duckdb")) as database:
            database.execute(f"CREATE TABLE c (u {self.unit}, id INTEGER, area VARCHAR, x INTEGER, tag VARCHAR)")
            database.execute(
                "CREATE TABLE o (ok INTEGER, part INTEGER, cid INTEGER, cost INTEGER, site VARCHAR, day DATE)"
            )
            database.execute(
                "CREATE TABLE l (ok INTEGER, part INTEGER, qty INTEGER, kind VARCHAR); CREATE TABLE y (a VARCHAR, n INTEGER)"
            )
            for name, rows in [(name, of[name]) for of in people.values() for name in "col"] + [("y", self.public)]:
                for row in rows:
                    database.execute(f"INSERT INTO {name} VALUES ({row})")
            database.execute(
                "CREATE VIEW vo AS SELECT c.u AS u, o.cost AS x, o.site AS area FROM o JOIN c ON o.cid = c.id"
            )
        (home / "sfumato.toml").write_text(self._policy(), encoding="utf-8")
        return home / "sfumato.toml"

    def _policy(self) -> str:
        unit = '{ type = "integer" }' if self.unit in ("INTEGER", "HUGEINT") else '{ type = "text", max_length = 40 }'
        key = '{ type = "integer" }'
        return f"""
[source]
engine = "duckdb"
files = "d.duckdb"
[data]
id = "d"
[privacy]
epsilon = 1e6
query_epsilon = 1
delta = 0.01
composition = "{self.composition}"
adjacency = "{self.adjacency}"
{'partition = "c.area"' if self.partition else ""}
[tables.c]
unit = "u"
rows_per_unit = {self.most["c"]}
[tables.c.columns]
u = {unit}
id = {key}
area = {{ values = ["n", "s", "w"] }}
x = {{ type = "integer", min = -3, max = 9 }}
tag = {{ type = "text", max_length = 2 }}
[tables.o]
unit = {{ join = "c", on = "cid = id" }}
rows_per_unit = {self.most["o"]}
{"sum_per_unit = { cost = 30 }" if self.clip else ""}
[tables.o.columns]
ok = {key}
part = {{ type = "integer", min = 0, max = 2 }}
cid = {key}
cost = {{ type = "integer", min = 0, max = 20 }}
site = {{ values = ["n", "s"] }}
day = {{ type = "date", min = 2024-01-01, max = 2024-02-10 }}
[tables.l]
unit = {{ join = "o", on = "ok = ok AND part = part" }}
rows_per_unit = {self.most["l"]}
groups_per_unit = 1
l2_per_unit = 1
[tables.l.columns]
ok = {key}
part = {{ type = "integer", min = 0, max = 2 }}
qty = {{ type = "integer", min = -2, max = 5 }}
kind = {{ type = "text", max_length = 2 }}
[tables.y]
public = true
[tables.vo]
unit = "u"
rows_per_unit = 3
[tables.vo.columns]
u = {unit}
area = {{ values = ["n", "s"] }}
x = {key}
"""


_TABLES = {
    "c": {"u": "u", "id": "key", "area": "list", "x": "number", "tag": "text"},
    "o": {"ok": "key", "part": "number", "cid": "key", "cost": "number", "site": "list", "day": "date"},
    "l": {"ok": "key", "part": "number", "qty": "number", "kind": "text"},
    "vo": {"u": "u", "area": "list", "x": "number"},
}
_KEYS = (("ok", "part"), ("ok", "part")), (("cid",), ("id",)), (("id",), ("cid",)), (("u",), ("u",))
_PUBLIC = (
    "y",
    "(SELECT a, SUM(n) AS n FROM y GROUP BY ROLLUP(a))",
    "(SELECT a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY n) AS n FROM y)",
    "(SELECT DISTINCT a, 1 AS n FROM y ORDER BY a LIMIT 2)",
    "(WITH RECURSIVE g AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM g WHERE n < 4) SELECT n, CASE WHEN n < 3 THEN 'n' ELSE 's' END AS a FROM g)",
)
KINDS = (
    *("filter", "public", "pairs", "series", "twice", "union", "keys", "lateral", "stage", "top", "case"),
    *("distinct", "window", "each", "sets", "among", "exists", "full", "own"),
)
"""What is put on a relation; the second line needs the household's own column."""


@dataclass(frozen=True)
class Source:
    """What stands in FROM, and its columns by their kinds."""

    sql: str
    columns: dict[str, str]

    def of(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.columns.items() if kind in kinds]


class Asking:
    """One random query."""

    def __init__(self, r: random.Random) -> None:
        self.r, self.put, self._number = r, Counter[str](), 0
        self._with: list[str] = []
        self.text = self._query()

    def _name(self) -> str:
        self._number += 1
        return f"q{self._number}"

    def _value(self, of: Source, at: str) -> str:
        numbers = of.of("number") or ["1"]
        one, other = (n if n == "1" else f"{at}.{n}" for n in (self.r.choice(numbers), self.r.choice(numbers)))
        forms = (
            one,
            one,
            f"({one} + {other})",
            f"({one} - {other})",
            f"({one} * {other})",
            f"COALESCE({one}, 1)",
            f"GREATEST({one}, {other})",
            f"CASE WHEN {self._test(of, at)} THEN {one} END",
        )
        return self.r.choice(forms)

    def _test(self, of: Source, at: str) -> str:
        found = ["TRUE"]
        for name, kind in of.columns.items():
            forms = {
                "number": "{0} > {1}|{0} = {1}|{0} IS NULL",
                "list": "{0} = 'n'|{0} <> 'n'|{0} IS NULL",
                "text": "{0} LIKE 'a%'|{0} IS NOT NULL",
                "date": "{0} < DATE '2024-02-01'",
                "key": "{0} > 2",
            }
            found += [
                form.format(f"{at}.{name}", self.r.choice([0, 1, 2, 5]))
                for form in forms.get(kind, "").split("|")
                if form
            ]
        return self.r.choice(found)

    def _source(self, depth: int) -> Source:
        if depth <= 0:
            name = self.r.choice(["c", "c", "o", "l", "l", "vo"])
            return Source(name, dict(_TABLES[name]))
        below = self._source(depth - 1)
        kind = self.r.choice(KINDS[: None if below.of("u") else KINDS.index("distinct")])
        found = getattr(self, f"_{kind}")(below, self._name())
        if found is None:
            return below
        self.put[kind] += 1
        return found

    def _all(self, of: Source, at: str) -> str:
        return ", ".join(f"{at}.{name}" for name in of.columns)

    def _more(self, of: Source, at: str, value: str, rest: str, kind: str = "number") -> Source:
        """The columns and one more."""
        name = f"v{self._number}"
        return Source(
            f"(SELECT {self._all(of, at)}, {value} AS {name} FROM {of.sql} {at} {rest})", {**of.columns, name: kind}
        )

    def _where(self, of: Source, at: str, test: str) -> Source:
        return Source(f"(SELECT {self._all(of, at)} FROM {of.sql} {at} WHERE {test})", of.columns)

    def _filter(self, of: Source, at: str) -> Source:
        return self._where(of, at, self._test(of, at))

    def _public(self, of: Source, at: str) -> Source | None:
        if not of.of("list"):
            return None
        join, on = self.r.choice(["JOIN", "LEFT JOIN"]), f"{at}.{self.r.choice(of.of('list'))} = {at}y.a"
        return self._more(of, at, f"{at}y.n", f"{join} {self.r.choice(_PUBLIC)} {at}y ON {on}")

    def _pairs(self, of: Source, at: str) -> Source:
        return self._more(of, at, f"{at}y.n", f"CROSS JOIN {self.r.choice(_PUBLIC)} {at}y")

    def _series(self, of: Source, at: str) -> Source:
        return self._more(of, at, f"{at}g.v", f"CROSS JOIN generate_series(1, {self.r.choice([1, 3])}) AS {at}g(v)")

    def _twice(self, of: Source, at: str) -> Source:
        self._with.append(f"{at}w AS (SELECT {self._all(of, at)} FROM {of.sql} {at})")
        if not of.of("u"):
            return Source(f"{at}w", of.columns)
        return Source(
            f"(SELECT {self._all(of, at)} FROM {at}w {at} JOIN {at}w {at}b ON {at}.{of.of('u')[0]} = {at}b.{of.of('u')[0]})",
            of.columns,
        )

    def _union(self, of: Source, at: str) -> Source:
        other = self._where(of, f"{at}b", self._test(of, f"{at}b")).sql[1:-1]
        return Source(f"(SELECT {self._all(of, at)} FROM {of.sql} {at} UNION ALL {other})", of.columns)

    def _keys(self, of: Source, at: str) -> Source | None:
        other = self._source(self.r.choice([0, 0, 1]))
        for mine, its in _KEYS:
            if {*mine} <= of.columns.keys() and {*its} <= other.columns.keys():
                on = " AND ".join(f"{at}.{a} = {at}b.{b}" for a, b in zip(mine, its, strict=True))
                more = {name: kind for name, kind in other.columns.items() if name not in of.columns}
                shown = ", ".join([self._all(of, at), *(f"{at}b.{name}" for name in more)])
                join = self.r.choice(["JOIN", "JOIN", "LEFT JOIN", "FULL JOIN"])
                return Source(
                    f"(SELECT {shown} FROM {of.sql} {at} {join} {other.sql} {at}b ON {on})", {**of.columns, **more}
                )
        return None

    def _lateral(self, of: Source, at: str) -> Source:
        return self._more(of, at, f"{at}b.v", f"CROSS JOIN LATERAL (SELECT {self._value(of, at)} AS v) {at}b")

    def _stage(self, of: Source, at: str) -> Source:
        inner = self.r.choice(["AVG(cost)", "COUNT(*)", "MAX(cost)", "MEDIAN(cost)"])
        return self._where(of, at, f"{self._value(of, at)} {self.r.choice('<>')} (SELECT {inner} FROM o)")

    def _top(self, of: Source, at: str) -> Source | None:
        if not of.of("list", "text"):
            return None
        table, key = self.r.choice([("o", "site"), ("c", "area"), ("c", "tag"), ("l", "kind")])
        first = f"(SELECT {key} AS k, COUNT(*) AS n FROM {table} GROUP BY {key} ORDER BY n DESC LIMIT 2) {at}t"
        own = f"{at}.{self.r.choice(of.of('list', 'text'))}"
        if self.r.random() < 0.5:
            return self._where(of, at, f"{own} IN (SELECT k FROM {first})")
        return Source(
            f"(SELECT {self._all(of, at)} FROM {of.sql} {at} {self.r.choice(['JOIN', 'LEFT JOIN'])} {first} ON {own} = {at}t.k)",
            of.columns,
        )

    def _case(self, of: Source, at: str) -> Source:
        return self._more(
            of, at, f"CASE WHEN {self._test(of, at)} THEN 'n' WHEN {self._test(of, at)} THEN 's' END", "", "list"
        )

    def _distinct(self, of: Source, at: str) -> Source:
        kept = {name: kind for name, kind in of.columns.items() if kind == "u" or self.r.random() < 0.5}
        return Source(f"(SELECT DISTINCT {', '.join(f'{at}.{name}' for name in kept)} FROM {of.sql} {at})", kept)

    def _window(self, of: Source, at: str) -> Source:
        unit, value = f"{at}.{of.of('u')[0]}", self._value(of, at)
        forms = (
            f"RANK() OVER (PARTITION BY {unit} ORDER BY {value})",
            f"SUM({value}) OVER (PARTITION BY {unit})",
            f"ROW_NUMBER() OVER (PARTITION BY {unit} ORDER BY {self._all(of, at)})",
            f"AVG({value}) OVER (PARTITION BY {unit})",
        )
        return self._more(of, at, self.r.choice(forms), "")

    def _each(self, of: Source, at: str) -> Source:
        form = self.r.choice(["SUM({0})", "COUNT(*)", "MAX({0})", "AVG({0})", "COUNT(DISTINCT {0})", "MEDIAN({0})"])
        unit, having = of.of("u")[0], self.r.choice(["", " HAVING COUNT(*) > 1"])
        return Source(
            f"(SELECT {at}.{unit}, {form.format(self._value(of, at))} AS e{self._number} FROM {of.sql} {at} GROUP BY {at}.{unit}{having})",
            {unit: "u", f"e{self._number}": "number"},
        )

    def _sets(self, of: Source, at: str) -> Source | None:
        keys, unit = of.of("list")[:2], of.of("u")[0]
        if not keys:
            return None
        sets = ", ".join([*(f"({at}.{unit}, {at}.{key})" for key in keys), f"({at}.{unit})"])
        shown = ", ".join(f"{at}.{name}" for name in (unit, *keys))
        return Source(
            f"(SELECT {shown}, COUNT(*) AS e{self._number} FROM {of.sql} {at} GROUP BY GROUPING SETS ({sets}))",
            {unit: "u", **dict.fromkeys(keys, "list"), f"e{self._number}": "number"},
        )

    def _among(self, of: Source, at: str) -> Source:
        return self._where(
            of, at, f"{at}.{of.of('u')[0]} {self.r.choice(['', 'NOT '])}IN (SELECT u FROM vo WHERE x > 1)"
        )

    def _exists(self, of: Source, at: str) -> Source:
        return self._where(
            of,
            at,
            f"{self.r.choice(['', 'NOT '])}EXISTS (SELECT 1 FROM c {at}b WHERE {at}b.u = {at}.{of.of('u')[0]} AND {at}b.x > 0)",
        )

    def _full(self, of: Source, at: str) -> Source:
        return self._more(
            of,
            at,
            f"{at}b.x",
            f"{self.r.choice(['', 'LEFT ', 'FULL '])}JOIN vo {at}b ON {at}.{of.of('u')[0]} = {at}b.u",
        )

    def _own(self, of: Source, at: str) -> Source:
        sums = self.r.choice(["SUM", "MAX", "COUNT"])
        return self._more(of, at, f"(SELECT {sums}({at}b.x) FROM vo {at}b WHERE {at}b.u = {at}.{of.of('u')[0]})", "")

    def _query(self) -> str:
        r, of, at = self.r, self._source(self.r.choice([0, 1, 2, 2, 3])), self._name()
        forms = (
            *(
                "COUNT(*)",
                "SUM({0})",
                "AVG({0})",
                "MIN({0})",
                "MEDIAN({0})",
                "COUNT(DISTINCT {0})",
                "SUM(DISTINCT {0})",
                "VAR_POP({0})",
            ),
            *(
                "COUNT(*) FILTER (WHERE {1})",
                "SUM({0}) FILTER (WHERE {1})",
                "MODE() WITHIN GROUP (ORDER BY {0})",
                "SUM(CASE WHEN {1} THEN 1 ELSE 0 END)",
            ),
        )
        shown = [r.choice(forms).format(self._value(of, at), self._test(of, at)) for _ in range(r.choice([1, 1, 2, 3]))]
        keys = [
            f"{at}.{name}"
            for name in r.sample(
                of.of("list", "text", "number"), min(len(of.of("list", "text", "number")), r.choice([0, 0, 1, 1, 2]))
            )
        ]
        by = f" GROUP BY {r.choice(['', '', 'ROLLUP ', 'CUBE '])}({', '.join(keys)})" if keys else ""
        before = f"WITH {', '.join(self._with)} " if self._with else ""
        where = f" WHERE {at}.area = 'n'" if "area" in of.columns and r.random() < 0.4 else ""
        return f"{before}SELECT {', '.join(keys + shown)} FROM {of.sql} {at}{where}{by}"
