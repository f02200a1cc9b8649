"""One digest, one function, inside relations: respellings that keep values but change how they are held.

The conditions of `test_digests` are about one table of bounded columns. Here numbers have no bounds and may overflow,
the same expression stands on both sides of an outer join, a key is spelt twice in grouping sets, a variance is taken on
another grid, and lists of values stand in another order.
"""

# ruff: noqa: E501  a query stands on one line
from __future__ import annotations

import random
import sys
from collections import Counter, defaultdict
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest

from sfumato.errors import QueryError
from tests.laws import twins

_COLUMNS = {
    "a": ('{ type = "integer", min = -2, max = 3 }', [-2, 0, 1, 3, None], pa.int64()),
    "m": ('{ type = "decimal", min = -1, max = 2, grid = 0.25 }', [-1.0, 0.0, 0.25, 2.0, None], pa.float64()),
    "z": ('{ type = "integer" }', [0, 1, 2, -3, 2**40, -(2**62), None], pa.int64()),
    "s": ('{ values = ["x", "y"] }', ["x", "y", None], pa.string()),
    "t": ('{ values = ["q", "x"] }', ["q", "x", None], pa.string()),
}
_DECLARED = "\n".join(f"{name} = {declared}" for name, (declared, _, _) in _COLUMNS.items())
POLICY = (
    '[source]\nengine = "duckdb"\nfiles = { p = "p.parquet", v = "v.parquet", y = "y.parquet" }\n[data]\nid = "d"\n'
    "[privacy]\nepsilon = 10\ndelta = 0.001\n"
    + "".join(
        f'[tables.{name}]\nunit = "u"\nrows_per_unit = {rows}\n[tables.{name}.columns]\n'
        f'u = {{ type = "integer" }}\n{_DECLARED}\n'
        for name, rows in (("p", 1), ("v", 3))
    )
    + '[tables.y]\npublic = true\n[tables.y.columns]\ng = { type = "integer" }\nn = { type = "integer" }\n'
)
BIG = " * 100000000000000000"
NUMBERS = [
    ["a", "(a + 0)", "(a * 1)", "(0 + a)", "(a + 0.5 - 0.5)", "(-(-a))"],
    ["m", "(m + 0.01 - 0.01)", "(m + 0)", "(1 * m)"],
    ["z", "(z + 0)", "(z * 1)", "(z + 0.5 - 0.5)", f"(z{BIG}{BIG}{BIG} - z{BIG}{BIG}{BIG} + z)"],
    ["(z - z)", f"(z{BIG}{BIG} - z{BIG}{BIG})", f"(z{BIG}{BIG}{BIG} - z{BIG}{BIG}{BIG})", "(z * 0)"],
]
"""In each list one number as people could spell it: equal as numbers, not always as what an engine computes."""
ENDS = ["0", "0.5", "0.00005", "1", "1.0", "0.01388888888888884"]


def numbers(r: random.Random) -> list[str]:
    """Spellings of one number."""
    return r.choice(NUMBERS)


def family(r: random.Random) -> list[str]:  # noqa: PLR0911  one for each kind
    """Queries that look like one another, some of which are one query."""
    kind = r.randrange(7)
    spelt, end, op = numbers(r), r.choice(ENDS), r.choice([">", ">=", "=", "<"])
    if kind == 0:
        scale = r.choice(["", BIG, BIG * 2])
        return [f"SELECT COUNT(*) FROM p WHERE {x}{scale} {op} {e}" for x in spelt for e in (end, r.choice(ENDS))]
    if kind == 1:
        how, inner = r.choice(["LEFT", "FULL"]), r.choice(["1", "0", "'k'", "1 IN (SELECT g FROM y)"])
        joined = f"FROM (SELECT u, {inner} AS x FROM p) b {how} JOIN (SELECT u, {inner} AS x FROM v) c ON b.u = c.u"
        return [f"SELECT COUNT({side}.x) {joined}" for side in "bc"]
    if kind == 2:
        pairs = [(one, other) for one in spelt[:3] for other in spelt[:3]]
        return [
            f"SELECT COUNT(x) FROM (SELECT u, {one} AS x FROM v GROUP BY GROUPING SETS ((u, {one}), (u, {other}))) q"
            for one, other in pairs
        ]
    if kind == 3:
        name = r.choice(["VAR_POP", "STDDEV_SAMP", "AVG", "SUM", "MIN", "MEDIAN"])
        of = r.choice(NUMBERS[:2])
        return [f"SELECT COUNT(*) FROM (SELECT u, {name}({x}) AS k FROM v GROUP BY u) q WHERE k {op} {end}" for x in of]
    if kind == 4:
        parts = ["SELECT u, s AS k FROM p", "SELECT u, t AS k FROM v"]
        return [f"SELECT MODE(k) FROM ({' UNION ALL '.join(o)}) q" for o in (parts, parts[::-1])]
    if kind == 5:
        name = r.choice(["GREATEST", "LEAST", "COALESCE", "NULLIF"])
        return [f"SELECT COUNT(*) FROM p WHERE {name}({x}, {y}) {op} {end}" for x in spelt[:3] for y in ("a", "m", "z")]
    joined = "FROM p b JOIN v c ON b.u = c.u"
    return [f"SELECT COUNT(*) {joined} WHERE {one} {op} {end}" for one in ("b.z", "c.z", "b.a * 1", "b.a", "c.a + 0")]


def rows(r: random.Random, people: int = 12) -> dict[str, pa.Table]:
    """Rows of p, v and y."""
    schema = pa.schema([("u", pa.int64()), *((name, kind) for name, (_, _, kind) in _COLUMNS.items())])

    def row(u: int) -> dict[str, Any]:
        return {"u": u, **{name: r.choice(pool) for name, (_, pool, _) in _COLUMNS.items()}}

    tables = {"p": [row(u) for u in range(people)], "v": [row(u) for u in range(3, people + 3) for _ in range(3)]}
    open_ = pa.Table.from_pylist(
        [{"g": 1, "n": 2}, {"g": 1, "n": 3}], pa.schema([("g", pa.int64()), ("n", pa.int64())])
    )
    return {**{name: pa.Table.from_pylist(listed, schema) for name, listed in tables.items()}, "y": open_}


def compared(seeds: range) -> Counter[str]:
    """Plan many families; where two queries have one digest, their exact numbers are the same on every database."""
    seen, found = Counter[str](), defaultdict[str, set[str]](set)
    worlds = [twins.Here(POLICY, rows(random.Random(seed))) for seed in (1, 2)]
    try:
        for seed in seeds:
            for text in family(random.Random(seed)):
                try:
                    found[worlds[0].planned(text, None).digest].add(text)
                    seen["planned"] += 1
                except QueryError:
                    seen["refused"] += 1
        for texts in found.values():
            seen["alike"] += len(texts) - 1
            for here in worlds if len(texts) > 1 else []:
                plans = {text: here.planned(text, None) for text in sorted(texts)}
                vectors = {t: tuple(sorted(here.vector(p.cuts[0]).items(), key=str)) for t, p in plans.items()}
                assert len(set(vectors.values())) == 1, "\n".join(vectors)
                lists = {str([r.extra for r in p.cuts[0].parts[0].bundles]) for p in plans.values()}
                assert len(lists) == 1, "candidates in another order"
    finally:
        for here in worlds:
            here.close()
    return seen


@pytest.mark.parametrize("count", [120, pytest.param(4000, marks=pytest.mark.slow)])
def test_one_digest_means_one_answer_in_relations(count: int) -> None:
    seen = compared(range(count))
    sys.stdout.write(f"{dict(seen)}\n")
    assert seen["planned"] > 2 * count, seen
    assert seen["alike"] > count // 8, seen


APART = [
    ("SELECT COUNT(*) FROM p WHERE z - z = 0", f"SELECT COUNT(*) FROM p WHERE (z{BIG}{BIG}{BIG}) - (z{BIG}{BIG}{BIG}) = 0"),
    (f"SELECT COUNT(*) FROM p WHERE z{BIG}{BIG} > 0", f"SELECT COUNT(*) FROM p WHERE z{BIG}{BIG} > 0.5"),
    (
        "SELECT COUNT(b.x) FROM (SELECT u, 1 AS x FROM p) b FULL JOIN (SELECT u, 1 AS x FROM v) c ON b.u = c.u",
        "SELECT COUNT(c.x) FROM (SELECT u, 1 AS x FROM p) b FULL JOIN (SELECT u, 1 AS x FROM v) c ON b.u = c.u",
    ),
    (
        "SELECT COUNT(x) FROM (SELECT u, a AS x FROM v GROUP BY GROUPING SETS ((u, a), (u, a + 0))) q",
        "SELECT COUNT(x) FROM (SELECT u, a AS x FROM v GROUP BY GROUPING SETS ((u, a), (u, a))) q",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT u, VAR_POP(m) AS k FROM v GROUP BY u) q WHERE k >= 0.01388888888888884",
        "SELECT COUNT(*) FROM (SELECT u, VAR_POP(m + 0.01 - 0.01) AS k FROM v GROUP BY u) q WHERE k >= 0.01388888888888884",
    ),
    (
        "SELECT MODE(k) FROM (SELECT u, s AS k FROM p UNION ALL SELECT u, t AS k FROM v) q",
        "SELECT MODE(k) FROM (SELECT u, t AS k FROM v UNION ALL SELECT u, s AS k FROM p) q",
    ),
    (
        "SELECT COUNT(*) FROM p JOIN (SELECT DISTINCT g, n FROM y LIMIT 1) w ON p.a = w.g",
        "SELECT COUNT(*) FROM p JOIN (SELECT DISTINCT n, g FROM y LIMIT 1) w ON p.a = w.g",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), APART)
def test_what_an_engine_computes_otherwise_has_another_digest(first: str, second: str) -> None:
    with closing(twins.Here(POLICY, rows(random.Random(1)))) as here:
        assert here.planned(first, None).digest != here.planned(second, None).digest
