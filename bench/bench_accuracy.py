"""How far answers are from the truth at epsilon 1, on queries like those of TPC-H and ClickBench and on the twelve.

    python bench/bench_accuracy.py [--customers 3000] [--visits 30000] [--runs 9] [--only h,c,t,q]

Data: made here, by DuckDB's hash, so that every run has the same; nobody real, and not the official generators.
Customers, orders and lines as in TPC-H, hits of a site as in ClickBench, visits as in `suite.py`; `t` asks the same of
hits with a long tail: a few people have 262, and the policy does not say how many groups of theirs count ("t33/20" is
t33 with rows_per_unit = 20). Bounds of rows per person are the true ones of the tables, but for the twelve, which have five. `C` is how many rows of
one person count; `auto` estimates it for each query, for a fifth of epsilon. `error` is the median over runs and groups
of the distance to the plain answer, over that answer; a group that is not shown is off by all of it, and groups that
the plain answer does not have are left out. `top` is how many of the first ten groups are shown, on average. `holds` is
how many intervals of 95 % hold the plain number, of `of`: where no bound cuts rows.
To compare two states of the code, run it in both.
"""

# ruff: noqa: E501  a query stands on one line
from __future__ import annotations

import argparse
import statistics
import tempfile
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import suite

from sfumato.engines.duckdb import DuckDB
from sfumato.errors import SfumatoError
from sfumato.gateway import Gateway
from sfumato.ledger import Ledger
from sfumato.policy import from_dict

_LINE = "l_extendedprice * (1 - l_discount)"
SHOP = {
    "h1": f"SELECT l_returnflag, l_linestatus, SUM(l_quantity), SUM(l_extendedprice), SUM({_LINE}), AVG(l_discount), COUNT(*) FROM lineitem WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus",
    "h4": "SELECT o_orderpriority, COUNT(*) FROM orders JOIN lineitem ON l_orderkey = o_orderkey WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01' AND l_returnflag = 'R' GROUP BY o_orderpriority",
    "h5": f"SELECT n_name, SUM({_LINE}) FROM customer, orders, lineitem, supplier, nation, region WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1996-01-01' GROUP BY n_name",
    "h6": "SELECT SUM(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
    "h7": f"SELECT n1.n_name, n2.n_name AS other, SUM({_LINE}) FROM supplier, lineitem, orders, customer, nation n1, nation n2 WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey AND ((n1.n_name = 'NATION1' AND n2.n_name = 'NATION2') OR (n1.n_name = 'NATION2' AND n2.n_name = 'NATION1')) GROUP BY n1.n_name, n2.n_name",
    "h9": f"SELECT n_name, SUM({_LINE}) FROM part, supplier, lineitem, orders, nation WHERE s_suppkey = l_suppkey AND p_partkey = l_partkey AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_type = 'PROMO' GROUP BY n_name",
    "h12": "SELECT l_shipmode, SUM(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) FROM orders, lineitem WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1996-01-01' GROUP BY l_shipmode",
    "h13": "SELECT n, COUNT(*) FROM (SELECT c_custkey, COUNT(o_orderkey) AS n FROM customer LEFT JOIN orders ON c_custkey = o_custkey GROUP BY c_custkey) AS t GROUP BY n",
    "h14": f"SELECT 100.0 * SUM(CASE WHEN p_type = 'PROMO' THEN {_LINE} ELSE 0 END) / SUM({_LINE}) FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-01-01' AND l_shipdate < DATE '1996-01-01'",
    "h19": f"SELECT SUM({_LINE}) FROM lineitem, part WHERE (p_partkey = l_partkey AND p_type = 'PROMO' AND l_quantity <= 20 AND l_shipmode = 'AIR') OR (p_partkey = l_partkey AND p_type = 'STANDARD' AND l_quantity >= 10 AND l_shipmode = 'AIR')",
}
SITE = {
    "c10": "SELECT model, COUNT(DISTINCT user_id) AS n FROM hits GROUP BY model ORDER BY n DESC LIMIT 10",
    "c12": "SELECT phrase, COUNT(*) AS n FROM hits WHERE phrase <> '' GROUP BY phrase ORDER BY n DESC LIMIT 10",
    "c13": "SELECT phrase, COUNT(DISTINCT user_id) AS n FROM hits WHERE phrase <> '' GROUP BY phrase ORDER BY n DESC LIMIT 10",
    "c16": "SELECT region, COUNT(*) AS n FROM hits GROUP BY region ORDER BY n DESC LIMIT 10",
    "c33": "SELECT url, COUNT(*) AS n FROM hits GROUP BY url ORDER BY n DESC LIMIT 10",
    "c37": "SELECT url, COUNT(*) AS n FROM hits WHERE region = 3 GROUP BY url ORDER BY n DESC LIMIT 10",
}
TAIL = {
    name + rows: sql
    for name, sql in {
        "t10": "SELECT url, COUNT(DISTINCT user_id) AS n FROM clicks GROUP BY url ORDER BY n DESC LIMIT 10",
        "t33": "SELECT url, COUNT(*) AS n FROM clicks GROUP BY url ORDER BY n DESC LIMIT 10",
    }.items()
    for rows in ("", "/40", "/20", "/10", "/5")
}


def _pick(seed: str, key: str, count: int) -> str:
    """A whole number below count that depends on a key."""
    return f"(hash('{seed}' || ({key})::VARCHAR) % {count})::INTEGER"


def make(customers: int) -> duckdb.DuckDBPyConnection:
    """All tables, in memory."""
    made = duckdb.connect(config={"threads": 1})
    day = "DATE '1992-01-01' + "
    for name, sql in {
        "region": "SELECT i AS r_regionkey, (['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'])[i + 1] AS r_name FROM range(5) AS t(i)",
        "nation": "SELECT i AS n_nationkey, 'NATION' || i AS n_name, i % 5 AS n_regionkey FROM range(25) AS t(i)",
        "supplier": f"SELECT i AS s_suppkey, {_pick('s', 'i', 25)} AS s_nationkey FROM range({max(50, customers // 15)}) AS t(i)",
        "part": f"SELECT i AS p_partkey, (['PROMO', 'STANDARD', 'SMALL', 'ECONOMY', 'MEDIUM'])[1 + {_pick('p', 'i', 5)}] AS p_type FROM range(2000) AS t(i)",
        "customer": f"SELECT i AS c_custkey, {_pick('c', 'i', 25)} AS c_nationkey FROM range({customers}) AS t(i)",
        "orders": f"SELECT o AS o_orderkey, c AS o_custkey, {day}{_pick('d', 'o', 2400)} AS o_orderdate, (['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'])[1 + {_pick('y', 'o', 5)}] AS o_orderpriority"
        f" FROM (SELECT i AS c, i * 20 + j AS o, j FROM range({customers}) AS t(i), range(20) AS s(j) WHERE i % 3 > 0) WHERE j <= 4 + {_pick('n', 'c', 16)}",
        "lineitem": f"SELECT o_orderkey AS l_orderkey, {_pick('lp', 'k', 2000)} AS l_partkey, {_pick('ls', 'k', max(50, customers // 15))} AS l_suppkey, 1 + {_pick('q', 'k', 50)} AS l_quantity,"
        f" round(900 + {_pick('e', 'k', 94_000)} + {_pick('z', 'k', 100)} / 100, 2) AS l_extendedprice, {_pick('i', 'k', 11)} / 100 AS l_discount, o_orderdate + {_pick('h', 'k', 120)} AS l_shipdate,"
        f" (['A', 'N', 'R'])[1 + {_pick('r', 'k', 3)}] AS l_returnflag, (['O', 'F'])[1 + {_pick('f', 'k', 2)}] AS l_linestatus, (['MAIL', 'SHIP', 'AIR', 'RAIL', 'TRUCK', 'FOB', 'REG AIR'])[1 + {_pick('m', 'k', 7)}] AS l_shipmode"
        f" FROM (SELECT *, o_orderkey * 7 + j AS k FROM orders, range(7) AS t(j) WHERE j <= {_pick('w', 'o_orderkey', 7)})",
        "hits": f"SELECT u AS user_id, {_pick('g', 'u', 20)} AS region, CASE WHEN {_pick('x', 'k', 2)} = 0 THEN '' ELSE 'phrase ' || floor(400 * pow({_pick('ph', 'k', 100_000)} / 100_000, 3))::INTEGER END AS phrase,"
        f" 'url ' || floor(2000 * pow({_pick('ur', 'k', 100_000)} / 100_000, 4))::INTEGER AS url, 'model ' || floor(60 * pow({_pick('mo', 'u', 100_000)} / 100_000, 2))::INTEGER AS model"
        f" FROM (SELECT i AS u, i * 20 + j AS k, j FROM range({customers * 4}) AS t(i), range(20) AS s(j)) WHERE j <= floor(20 * pow({_pick('hits', 'u', 1000)} / 1000, 4))",
        "clicks": f"SELECT u AS user_id, 'url ' || floor(2000 * pow({_pick('ur', 'k', 100_000)} / 100_000, 4))::INTEGER AS url"
        f" FROM (SELECT i AS u, i * 262 + j AS k, j FROM range({customers * 4}) AS t(i), range(262) AS s(j)) WHERE j <= floor(262 * pow({_pick('hits', 'u', 1000)} / 1000, 8))",
    }.items():
        made.execute(f"CREATE TABLE {name} AS {sql}")
    return made


def _number(low: int, high: int, grid: str | None = None) -> dict[str, Any]:
    kind = {"type": "integer"} if grid is None else {"type": "decimal", "grid": Decimal(grid)}
    return {**kind, "min": low, "max": high, "nulls": False}


def policy_of(folder: Path, data: duckdb.DuckDBPyConnection) -> Any:
    """The tables with their true numbers of rows per person; what holds nobody's data is public."""
    key, days = (
        {"type": "integer"},
        {"type": "date", "min": date(1992, 1, 1), "max": date(1999, 12, 31), "nulls": False},
    )

    def most(sql: str) -> int:
        return int(data.execute(f"SELECT max(n) FROM (SELECT count(*) AS n FROM {sql})").fetchone()[0])

    def listed(*values: str) -> dict[str, Any]:
        return {"values": list(values), "nulls": False}

    text = {"type": "text", "max_length": 40}
    names = ("customer", "orders", "lineitem", "hits", "clicks", "part", "supplier", "nation", "region")
    for name in names:
        data.execute(f"COPY {name} TO '{folder}/{name}.parquet' (FORMAT parquet)")
    private = {
        "customer": {"unit": "c_custkey", "rows_per_unit": 1, "columns": {"c_custkey": key, "c_nationkey": _number(0, 24)}},
        "orders": {
            "unit": "o_custkey", "rows_per_unit": most("orders GROUP BY o_custkey"),
            "columns": {"o_orderkey": key, "o_custkey": key, "o_orderdate": days, "o_orderpriority": listed("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")},
        },
        "lineitem": {
            "unit": {"join": "orders", "on": "l_orderkey = o_orderkey"}, "rows_per_unit": most("lineitem JOIN orders ON l_orderkey = o_orderkey GROUP BY o_custkey"),
            "columns": {
                "l_orderkey": key, "l_partkey": key, "l_suppkey": key, "l_quantity": _number(1, 50), "l_extendedprice": _number(900, 95_000, "0.01"), "l_discount": _number(0, 1, "0.01") | {"max": Decimal("0.1")},
                "l_shipdate": days, "l_returnflag": listed("A", "N", "R"), "l_linestatus": listed("O", "F"), "l_shipmode": listed("MAIL", "SHIP", "AIR", "RAIL", "TRUCK", "FOB", "REG AIR"),
            },
        },
        "hits": {
            "unit": "user_id", "rows_per_unit": most("hits GROUP BY user_id"),
            "columns": {"user_id": key, "region": _number(0, 19), "phrase": text, "url": text, "model": text},
        },
        "clicks": {"unit": "user_id", "rows_per_unit": most("clicks GROUP BY user_id"), "columns": {"user_id": key, "url": text}},
    }  # fmt: skip
    public = {
        "part": {"p_partkey": key, "p_type": text}, "supplier": {"s_suppkey": key, "s_nationkey": key},
        "nation": {"n_nationkey": key, "n_name": text, "n_regionkey": key}, "region": {"r_regionkey": key, "r_name": text},
    }  # fmt: skip
    return from_dict(
        {
            "source": {"engine": "duckdb", "files": {name: str(folder / f"{name}.parquet") for name in names}},
            "data": {"id": "accuracy"},
            "privacy": {"epsilon": 10**9, "delta": 0.5, "query_epsilon": 1, "query_delta": 1e-7},
            "tables": {**private, **{name: {"public": True, "columns": columns} for name, columns in public.items()}},
        }
    )


def opened(folder: Path, data: duckdb.DuckDBPyConnection) -> Gateway:
    """The gateway over these tables, its engine on one thread."""
    policy = policy_of(folder, data)
    engine = DuckDB(policy, threads=1, later=True)
    engine.keep(policy, policy.tables)
    book = Ledger.open(
        ":memory:",
        data_id="accuracy",
        composition="best",
        epsilon=10**9,
        delta=Fraction(1, 2),
        policy_digest=policy.digest,
    )
    return Gateway(policy, book, engine, "accuracy")


class Measured(NamedTuple):
    """Over some runs: the mean C, the median error, how much of the first ten is shown, and how many intervals hold."""

    rows: float
    error: float
    top: float
    held: int
    told: int

    @property
    def words(self) -> str:
        """Three columns."""
        return f"{self.rows:>9,.0f} {self.error:>9.2%} {self.top:>6.1f}"


def measured(
    gate: Gateway, plain: duckdb.DuckDBPyConnection, sql: str, runs: int, rows_per_unit: int | str | None = None
) -> Measured | str:
    """Some runs of one query, each charged; or why it is refused."""
    keys = _keys(sql)
    truth = {row[:keys]: row[keys:] for row in plain.execute(sql).fetchall()}
    errors, shown, rows, held, told = [], [], [], 0, 0
    for run in range(runs):
        try:
            answer = gate.sql(sql, epsilon=1 - Fraction(runs - run, 10**12), rows_per_unit=rows_per_unit)
        except SfumatoError as refused:
            return f"refused: {str(refused).splitlines()[0]}"
        assert answer.plan is not None
        rows.append(float(answer.plan.cuts[-1].contribution))
        by_key = {
            row[:keys]: (row[keys:], ends[keys:]) for row, ends in zip(answer.rows, answer.intervals(), strict=True)
        }
        shown.append(sum(group in by_key for group in list(truth)[:10]) / min(10, len(truth)) * 10 if keys else 10)
        for group, numbers in truth.items():
            values, ends = by_key.get(group, ((None,) * len(numbers), (None,) * len(numbers)))
            for exact, value, end in zip(numbers, values, ends, strict=True):
                if exact:
                    errors.append(1.0 if value is None else abs(float(value) - float(exact)) / abs(float(exact)))
                if end is not None and exact is not None:
                    told += 1
                    held += float(end[0]) - 1e-6 <= float(exact) <= float(end[1]) + 1e-6
    return Measured(statistics.mean(rows), statistics.median(errors), statistics.mean(shown), held, told)


def _keys(sql: str) -> int:
    """How many columns of a query are keys: those that GROUP BY names, at its end."""
    _, _, grouped = sql.rpartition("GROUP BY ")
    return 0 if grouped == sql or ")" in grouped else grouped.partition(" ORDER")[0].count(",") + 1


def line(key: str, gate: Gateway, plain: duckdb.DuckDBPyConnection, sql: str, runs: int) -> tuple[bool, bool]:
    """Print how a query does with the bound that is given, and with one that is estimated; whether within 5 %."""
    given = int(key.partition("/")[2] or 0) or None
    usual = measured(gate, plain, sql, runs, given)
    auto = "" if given else measured(gate, plain, sql, runs, "auto")
    held = f"{usual.held:>7,} of {usual.told:<7,}" if isinstance(usual, Measured) and key[0] in "hc" else ""
    texts = [one.words if isinstance(one, Measured) else one for one in (usual, auto)]
    print(f"{key:7}{texts[0]:26}  {texts[1]:26} {held}", flush=True)
    good = [isinstance(one, Measured) and one.error <= 0.05 for one in (usual, auto)]
    return good[0], good[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--customers", type=int, default=3000)
    parser.add_argument("--visits", type=int, default=30_000)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--only", default="h,c,t,q")
    chosen = parser.parse_args()
    print(f"{'':7}{'C':>9} {'error':>9} {'top':>6}  {'auto: C':>9} {'error':>9} {'top':>6}    holds", flush=True)
    only, good = chosen.only.split(","), dict[str, list[tuple[bool, bool]]]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if {"h", "c", "t"} & set(only):
            data = make(chosen.customers)
            with opened(folder, data) as gate:
                for key, sql in {**SHOP, **SITE, **TAIL}.items():
                    if key[0] in only:
                        good.setdefault(key[0], []).append(line(key, gate, data, sql, chosen.runs))
        if "q" in only:
            suite.make(folder, chosen.visits)
            plain = suite.plain_of(folder)
            with suite.opened(folder) as gate:
                for key, sql in suite.QUESTIONS.items():
                    if key.startswith("q"):
                        good.setdefault("q", []).append(line(key, gate, plain, sql, chosen.runs))
    for kind, found in good.items():
        print(f"{kind}: {sum(a for a, _ in found)} of {len(found)} within 5 %; estimated {sum(b for _, b in found)}")


if __name__ == "__main__":
    main()
