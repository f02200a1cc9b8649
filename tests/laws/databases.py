"""Random DuckDB databases and policies over them, opened as an owner opens them: odd types, collations, generated
columns, views, points, a partition, bounds left to "auto", prepared rows; and queries over all of it.
"""

# ruff: noqa: E501  SQL stands on one line
from __future__ import annotations

import random
from pathlib import Path

import duckdb

UNITS = {
    "INTEGER": ("integer", str),
    "HUGEINT": ("integer", lambda i: str(i * 10**30 + i)),
    "UBIGINT": ("integer", lambda i: str(2**64 - 1 - i)),
    "UUID": ("text", lambda i: f"'{i:08x}-0000-4000-8000-000000000000'"),
    "VARCHAR COLLATE NOCASE": ("text", lambda i: f"'{'aAbBé'[i]}'"),
    "ENUM('p0', 'p1', 'p2', 'p3', 'p4')": ("text", lambda i: f"'p{i}'"),
    "BLOB": ("text", lambda i: f"'\\x{i:02x}\\xff'::BLOB"),
    "DECIMAL(20,3)": ("text", lambda i: f"{i}.5"),
    "TIMESTAMPTZ": ("text", lambda i: f"'2024-01-0{i + 1} 00:00:00+00'"),
    "BIT": ("text", lambda i: f"'{'0' * i}1'"),
}
"""Types of units: what the policy calls them, and the unit of each person."""
NUMBERS = {
    "INTEGER": ["{0}"],
    "DOUBLE": ["{0}", "'nan'", "'inf'", "2.5", "-0.0"],
    "VARCHAR": ["'{0}'", "'zz'", "'nan'"],
    "JSON": ["'{0}'", "'\"{0}\"'", "'\"zz\"'", "'[1]'"],
    "DECIMAL(9,2)": ["{0}"],
    "UNION(n INTEGER, s VARCHAR)": ["union_value(n := {0})", "union_value(s := '{0}')", "union_value(s := 'zz')"],
    "VARIANT": ["{0}::VARIANT", "'{0}'::VARIANT", "'zz'::VARIANT"],
    "ENUM('0', '1', '5', '9', '77', 'zz')": ["'{0}'", "'zz'"],
}
"""Types of a column that is declared as whole numbers, and how its values are written."""
AREAS = "VARCHAR", "VARCHAR COLLATE NOCASE", "ENUM('n', 's', 'w', 'q', 'N')"
VIEWS = {
    "vw": "SELECT area, * FROM p WHERE area IS NOT NULL",
    "vj": "SELECT p.u AS u, p.area AS area, v.m AS x FROM p LEFT JOIN v ON p.u = v.u",
    "vu": "SELECT u, s AS area, m AS x FROM v UNION ALL SELECT u, area, k FROM p",
    "vg": "SELECT u, MAX(s) AS area, SUM(m) AS x FROM v GROUP BY u",
}
Rows = dict[str, list[str]]


class Database:
    """A policy, and the rows of each person, and others that she might have."""

    def __init__(self, seed: int) -> None:
        r = self.r = random.Random(seed)
        self.unit, self.number = r.choice(list(UNITS)), r.choice(list(NUMBERS))
        self.adjacency = r.choice(["add-remove", "add-remove", "replace"])
        self.partition, self.auto, self.clip, self.prepared, self.nulls = (
            r.random() < chance for chance in (0.5, 0.3, 0.3, 0.3, 0.85)
        )
        self.area, self.rows_per_unit, self._next = r.choice(AREAS), r.choice([1, 2, 3]), 0
        people = range(r.choice([2, 3]))
        self.people = {i: self._person(i) for i in people}
        self.others = {i: self._person(i) for i in people}
        areas = ["'n'", "'s'", "NULL"]
        self.public = [f"{r.choice(areas)}, {r.choice('0159')}" for _ in range(r.choice([1, 3, 5]))]

    def _person(self, i: int) -> Rows:
        r, unit, p, v = self.r, UNITS[self.unit][1](i), [], []
        for _ in range(r.choice([0, 1, 1, 1, 1, 2])):
            self._next += 1
            x = r.choice([*NUMBERS[self.number], "NULL"]).format(r.choice(["0", "1", "5", "9", "77"]))
            values = (
                r.choice(["'n'", "'s'", "'w'", "'N'", "'q'", "NULL"]),
                x,
                r.choice(["48.81", "48.9", "50", "'nan'", "NULL"]),
                r.choice(["2.23", "2.4", "9", "NULL"]),
                r.choice(["'k'", "'j'", "'kkk'", "NULL"]),
                r.choice(["'2024-01-01 12:00:00+00'", "'2024-02-29 23:59:59.999999+00'", "'1999-01-01'", "NULL"]),
            )
            p.append(", ".join([unit, str(self._next), *values]))
        for _ in range(r.choice([0, 1, 2, 3])):
            values = (
                r.choice(["0", "3", "3", "11", "-4", "NULL"]),
                r.choice(["'c'", "'d'", "NULL"]),
                r.choice(["'n'", "'s'", "NULL"]),
            )
            v += [", ".join([unit, *values])] * r.choice([1, 1, 2, 7])
        return {"p": p, "v": v}

    def write(self, people: dict[int, Rows], home: Path) -> Path:
        """The database and the policy in a folder."""
        home.mkdir()
        with duckdb.connect(str(home / "d.duckdb")) as database:
            database.execute("CREATE MACRO lower(x) AS 'mine'; CREATE SCHEMA other; CREATE TABLE other.p (u INTEGER)")
            database.execute(
                f"CREATE TABLE p (u {self.unit}, id BIGINT UNIQUE, area {self.area}, x {self.number}, lat DOUBLE, lon DOUBLE, o VARCHAR, ts TIMESTAMPTZ, k AS (id % 3), CHECK (id > 0))"
            )
            database.execute(
                f"CREATE TABLE v (u {self.unit}, m INTEGER, c VARCHAR, s VARCHAR); CREATE INDEX i ON v (m)"
            )
            database.execute("CREATE TABLE y (a VARCHAR, n INTEGER)")
            for name, rows in [(name, of[name]) for of in people.values() for name in "pv"] + [("y", self.public)]:
                for row in rows:
                    database.execute(f"INSERT INTO {name} VALUES ({row})")
            for name, query in VIEWS.items():
                database.execute(f"CREATE VIEW {name} AS {query}")
        (home / "sfumato.toml").write_text(self._policy(), encoding="utf-8")
        return home / "sfumato.toml"

    def _policy(self) -> str:
        unit = (
            'u = { type = "integer" }' if UNITS[self.unit][0] == "integer" else 'u = { type = "text", max_length = 40 }'
        )
        area = 'area = { values = ["n", "s", "w"] }'
        own = area if self.nulls else area.replace(" }", ", nulls = false }")
        most = '"auto"' if self.auto else self.rows_per_unit
        clip = f"sum_per_unit = {{ m = {most if self.auto else 5} }}" if self.clip else ""
        views = "".join(
            f'[tables.{name}]\nunit = "u"\nrows_per_unit = 1\n[tables.{name}.columns]\nx = {{ type = "integer" }}\n{unit}\n{area}\n'
            for name in VIEWS
        )
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
adjacency = "{self.adjacency}"
{'partition = "p.area"' if self.partition else ""}
[tables.p]
unit = "u"
rows_per_unit = 1
[tables.p.columns]
k = {{ type = "integer", min = 0, max = 2 }}
{unit}
{own}
x = {{ type = "integer", min = 0, max = 9 }}
lat = {{ type = "decimal", min = 48.8, max = 48.92, grid = 0.01 }}
lon = {{ type = "decimal", min = 2.22, max = 2.48, grid = 0.01 }}
o = {{ type = "text", max_length = 2 }}
ts = {{ type = "timestamp", min = 2024-01-01T00:00:00, max = 2024-03-01T00:00:00 }}
place = {{ type = "point", grid = 9000 }}
[tables.v]
unit = "u"
rows_per_unit = {most}
{clip}
[tables.v.columns]
{unit}
m = {{ type = "integer", min = -2, max = 5 }}
c = {{ type = "text", max_length = 3 }}
s = {{ values = ["n", "s"] }}
[tables.y]
public = true
{views}"""


_KEYS = {
    "p": ["area", "k", "place", "geo_cell(a.lat, a.lon, 6000)", "date_trunc('month', a.ts)", "o", "x"],
    "v": ["s", "c", "m"],
    **{name: ["area", "x"] for name in VIEWS},
}
_AGGREGATES = (
    *("COUNT(*)", "COUNT({0})", "SUM({0})", "AVG({0})", "MIN({0})", "MAX({0})", "MEDIAN({0})", "COUNT(DISTINCT a.u)"),
    *(
        "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY {0})",
        "COUNT(DISTINCT {0})",
        "SUM(DISTINCT {0})",
        "AVG(DISTINCT {0})",
    ),
    *("VAR_POP({0})", "COUNT(*) FILTER (WHERE {0} > 3)", "SUM(CASE WHEN {0} = 5 THEN 1 WHEN {0} < 5 THEN 2 END)"),
    *("MODE() WITHIN GROUP (ORDER BY {0})", "MAX(FLOOR({0} / 3))"),
)
_PUBLIC = (
    "y",
    "(WITH z AS (SELECT a, n FROM y) SELECT s.a, t.n FROM z s JOIN z t ON s.a = t.a)",
    "(SELECT a, COUNT(*) AS n FROM y GROUP BY ROLLUP(a))",
    "(SELECT 'n' AS a, 1 AS n UNION ALL SELECT a, n FROM y)",
)
_FORMS = ("table", "table", "person", "public", "each", "window")


def query(r: random.Random) -> tuple[str, str, str]:
    """A random query; which table, and in which form, it reads."""
    table, form = r.choice(["p", "p", "v", "v", *VIEWS]), r.choice(_FORMS)
    number, keys = ("m" if table == "v" else "x"), list(_KEYS[table])
    area, source = ("s" if table == "v" else "area"), f"{table} a"
    if form == "person":
        other = r.choice(["p", "v", "vg"])
        source += f" {r.choice(['JOIN', 'LEFT JOIN', 'FULL JOIN'])} {other} b ON a.u = b.u"
    elif form == "public":
        source += f" {r.choice(['JOIN', 'LEFT JOIN'])} {r.choice(_PUBLIC)} b ON a.{area} = b.a"
    elif form == "each":
        own = r.choice(["SUM({0})", "MAX({0})", "AVG({0})", "COUNT(DISTINCT {0})", "MEDIAN({0})"]).format(number)
        source, number, keys, area = f"(SELECT u, {own} AS z FROM {table} GROUP BY u) a", "z", ["z"], ""
    elif form == "window":
        own = r.choice(["RANK() OVER (PARTITION BY u ORDER BY {0})", "SUM({0}) OVER (PARTITION BY u)"]).format(number)
        source, number, keys, area = f"(SELECT u, {number}, {own} AS z FROM {table}) a", "z", ["z"], ""
    shown = [r.choice(_AGGREGATES).format(f"a.{number}") for _ in range(r.choice([1, 1, 2, 3]))]
    by = list(
        dict.fromkeys(key if "(" in key else f"a.{key}" for key in r.sample(keys, min(len(keys), r.choice([0, 1, 2]))))
    )
    tests = [
        f"a.{number} > 2",
        f"a.{number} IS NOT NULL",
        "a.u IN (SELECT u FROM v WHERE m > 0)",
        "a.u NOT IN (SELECT u FROM p WHERE x = 5)",
    ]
    tests += [f"a.{area} = 'n'", f"a.{area} IS NULL", f"a.{area} <> 'n'"] if area else []
    tests += [f"a.{number} > (SELECT AVG(m) FROM v)"]
    where = r.sample(tests, r.choice([0, 1, 1, 2]))
    text = f"SELECT {', '.join(by + shown)} FROM {source}" + (f" WHERE {' AND '.join(where)}" if where else "")
    if by:
        text += f" GROUP BY {r.choice(['', '', 'ROLLUP '])}({', '.join(by)})"
    return text, table, form
