"""Small tables for the corpus: a clinic with timestamps, a shop in the shape of TPC-H, and hits of a web site.

Comes in: nothing. Goes out: rows for plain DuckDB and for the gateway, the same in both, and the policy. Bounds of the
policy hold every row, so nothing is clipped: with a huge epsilon the gateway must answer as plain SQL does.
"""

# ruff: noqa: E501  a table, and a row, stands on one line
from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

AREAS = ["north", "east", "south", "west"]
KINDS = ["check-up", "surgery", "test", "emergency"]
SEGMENTS = ["BUILDING", "AUTOMOBILE", "MACHINERY", "HOUSEHOLD", "FURNITURE"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
MODES = ["AIR", "AIR REG", "MAIL", "SHIP", "TRUCK", "RAIL", "FOB"]
NATIONS = [("ALGERIA", 0), ("BRAZIL", 1), ("CANADA", 1), ("FRANCE", 3), ("GERMANY", 3), ("INDIA", 2), ("JAPAN", 2)]
REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]

SCHEMA = {
    "patient": 'id BIGINT, name VARCHAR, age INTEGER, sex VARCHAR, area VARCHAR, admitted DATE, born DATE, salary DECIMAL(9,2), smoker BOOLEAN, "salary-class" VARCHAR',
    "visit": "visit_id BIGINT, patient_id BIGINT, started_at TIMESTAMP, ended_at TIMESTAMP, kind VARCHAR, cost DECIMAL(8,2), note VARCHAR, day DATE",
    "region": "r_regionkey BIGINT, r_name VARCHAR, r_comment VARCHAR",
    "nation": "n_nationkey BIGINT, n_name VARCHAR, n_regionkey BIGINT, n_comment VARCHAR",
    "area_info": "area VARCHAR, title VARCHAR, inhabitants BIGINT, density DECIMAL(8,2)",
    "part": "p_partkey BIGINT, p_name VARCHAR, p_mfgr VARCHAR, p_brand VARCHAR, p_type VARCHAR, p_size BIGINT, p_container VARCHAR, p_retailprice DECIMAL(8,2)",
    "supplier": "s_suppkey BIGINT, s_name VARCHAR, s_nationkey BIGINT, s_acctbal DECIMAL(8,2), s_comment VARCHAR, s_address VARCHAR, s_phone VARCHAR",
    "partsupp": "ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty BIGINT, ps_supplycost DECIMAL(8,2)",
    "customer": "c_custkey BIGINT, c_name VARCHAR, c_nationkey BIGINT, c_phone VARCHAR, c_acctbal DECIMAL(8,2), c_mktsegment VARCHAR",
    "orders": "o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus VARCHAR, o_totalprice DECIMAL(10,2), o_orderdate DATE, o_orderpriority VARCHAR, o_shippriority BIGINT, o_comment VARCHAR",
    "lineitem": "l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber BIGINT, l_quantity DECIMAL(8,2), l_extendedprice DECIMAL(10,2), l_discount DECIMAL(4,2), l_tax DECIMAL(4,2), l_returnflag VARCHAR, l_linestatus VARCHAR, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct VARCHAR, l_shipmode VARCHAR",
    "hits": '"UserID" BIGINT, "EventTime" TIMESTAMP, "EventDate" DATE, "CounterID" INTEGER, "AdvEngineID" INTEGER, "ResolutionWidth" INTEGER, "SearchPhrase" VARCHAR, "MobilePhoneModel" VARCHAR, "RegionID" INTEGER, "URL" VARCHAR, "Title" VARCHAR, "Referer" VARCHAR, "IsRefresh" INTEGER, "DontCountHits" INTEGER, "TraficSourceID" INTEGER, "SearchEngineID" INTEGER, "ClientIP" BIGINT, "WindowClientWidth" INTEGER, "WindowClientHeight" INTEGER, "IsLink" INTEGER, "IsDownload" INTEGER, "URLHash" BIGINT, "UserAgent" INTEGER, "MobilePhone" INTEGER',
}  # fmt: skip
"""Of each table its columns, in DuckDB's words."""

POLICY = """
[source]
engine = "duckdb"
files = { FILES }
[data]
id = "corpus"
version = "1"
[privacy]
epsilon = 1e18
delta = 0.5
query_delta = 1e-5
query_epsilon = 1e12
composition = "pure"
[tables.patient]
unit = "id"
rows_per_unit = 1
[tables.patient.columns]
id = { type = "integer" }
name = { type = "text", max_length = 20 }
age = { type = "integer", min = 0, max = 120 }
sex = { values = ["f", "m", "x"] }
area = { values = ["north", "east", "south", "west"], nulls = false }
admitted = { type = "date", min = 2023-01-01, max = 2024-12-31 }
born = { type = "date", min = 1930-01-01, max = 2024-12-31 }
salary = { type = "decimal", min = 0, max = 200000, grid = 0.01 }
smoker = { type = "boolean" }
"salary-class" = { values = ["low", "high"] }
[tables.visit]
unit = "patient_id"
rows_per_unit = 20
groups_per_unit = 20
[tables.visit.columns]
visit_id = { type = "integer" }
patient_id = { type = "integer" }
started_at = { type = "timestamp", min = 2023-01-01T00:00:00, max = 2024-12-31T23:59:59 }
ended_at = { type = "timestamp", min = 2023-01-01T00:00:00, max = 2025-01-31T23:59:59 }
kind = { values = ["check-up", "surgery", "test", "emergency"] }
cost = { type = "decimal", min = 0, max = 1000, grid = 0.01 }
note = { type = "text", max_length = 30 }
day = { type = "date", min = 2023-01-01, max = 2024-12-31 }
[tables.area_info]
public = true
[tables.region]
public = true
[tables.nation]
public = true
[tables.part]
public = true
[tables.supplier]
public = true
[tables.partsupp]
public = true
[tables.customer]
unit = "c_custkey"
rows_per_unit = 1
[tables.customer.columns]
c_custkey = { type = "integer" }
c_name = { type = "text", max_length = 25 }
c_nationkey = { type = "integer", min = 0, max = 24 }
c_phone = { type = "text", max_length = 15 }
c_acctbal = { type = "decimal", min = -1000, max = 10000, grid = 0.01 }
c_mktsegment = { values = ["BUILDING", "AUTOMOBILE", "MACHINERY", "HOUSEHOLD", "FURNITURE"] }
[tables.orders]
unit = "o_custkey"
rows_per_unit = 12
groups_per_unit = 12
[tables.orders.columns]
o_orderkey = { type = "integer" }
o_custkey = { type = "integer" }
o_orderstatus = { values = ["F", "O", "P"] }
o_totalprice = { type = "decimal", min = 0, max = 500000, grid = 0.01 }
o_orderdate = { type = "date", min = 1992-01-01, max = 1998-12-31 }
o_orderpriority = { values = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"] }
o_shippriority = { type = "integer", min = 0, max = 1 }
o_comment = { type = "text", max_length = 80 }
[tables.lineitem]
unit = { join = "orders", on = "l_orderkey = o_orderkey" }
rows_per_unit = 60
groups_per_unit = 60
[tables.lineitem.columns]
l_orderkey = { type = "integer" }
l_partkey = { type = "integer" }
l_suppkey = { type = "integer" }
l_linenumber = { type = "integer", min = 1, max = 7 }
l_quantity = { type = "decimal", min = 0, max = 50, grid = 0.01 }
l_extendedprice = { type = "decimal", min = 0, max = 100000, grid = 0.01 }
l_discount = { type = "decimal", min = 0, max = 0.10, grid = 0.01 }
l_tax = { type = "decimal", min = 0, max = 0.08, grid = 0.01 }
l_returnflag = { values = ["A", "N", "R"] }
l_linestatus = { values = ["F", "O"] }
l_shipdate = { type = "date", min = 1992-01-01, max = 1998-12-31 }
l_commitdate = { type = "date", min = 1992-01-01, max = 1998-12-31 }
l_receiptdate = { type = "date", min = 1992-01-01, max = 1998-12-31 }
l_shipinstruct = { values = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"] }
l_shipmode = { values = ["AIR", "AIR REG", "MAIL", "SHIP", "TRUCK", "RAIL", "FOB"] }
[tables.hits]
unit = "UserID"
rows_per_unit = 40
groups_per_unit = 40
[tables.hits.columns]
UserID = { type = "integer" }
EventTime = { type = "timestamp", min = 2013-07-01T00:00:00, max = 2013-07-31T23:59:59 }
EventDate = { type = "date", min = 2013-07-01, max = 2013-07-31 }
CounterID = { type = "integer", min = 0, max = 100 }
AdvEngineID = { type = "integer", min = 0, max = 20 }
ResolutionWidth = { type = "integer", min = 0, max = 4000 }
SearchPhrase = { type = "text", max_length = 40 }
MobilePhoneModel = { type = "text", max_length = 20 }
RegionID = { type = "integer", min = 0, max = 300 }
URL = { type = "text", max_length = 60 }
Title = { type = "text", max_length = 40 }
Referer = { type = "text", max_length = 60 }
IsRefresh = { type = "integer", min = 0, max = 1 }
DontCountHits = { type = "integer", min = 0, max = 1 }
TraficSourceID = { type = "integer", min = -1, max = 10 }
SearchEngineID = { type = "integer", min = 0, max = 20 }
ClientIP = { type = "integer" }
WindowClientWidth = { type = "integer", min = 0, max = 4000 }
WindowClientHeight = { type = "integer", min = 0, max = 4000 }
IsLink = { type = "integer", min = 0, max = 1 }
IsDownload = { type = "integer", min = 0, max = 1 }
URLHash = { type = "integer" }
UserAgent = { type = "integer", min = 0, max = 90 }
MobilePhone = { type = "integer", min = 0, max = 80 }
"""


def _money(r: random.Random, most: int) -> Decimal:
    return Decimal(r.randrange(most * 100)) / 100


def rows() -> dict[str, list[tuple[Any, ...]]]:
    """The rows of every table."""
    r = random.Random(26)
    start, shop = date(2023, 1, 1), date(1992, 1, 1)
    names = ["Ana Silva", "Bob Stone", "Cy Young", "Dee Lane", "Eve O'Hara", "Fay Wu"]
    patient = [
        (i, r.choice(names), r.randrange(100), r.choice("fmx"), r.choice(AREAS), start + timedelta(r.randrange(700)),
         date(1930, 1, 1) + timedelta(r.randrange(30_000)), _money(r, 100_000), r.choice([True, False, None]),
         r.choice(["low", "high"]))
        for i in range(120)
    ]  # fmt: skip
    notes = ["follow-up 12", "blood test", "ref:A-17", "", "no show", "x-ray left arm", None]
    visit = []
    for i in range(500):
        at = datetime(2023, 1, 1) + timedelta(seconds=r.randrange(700 * 86_400))  # noqa: DTZ001  naive, as columns are
        visit.append((i, r.randrange(100), at, at + timedelta(minutes=r.randrange(5, 3000)), r.choice(KINDS),
                      _money(r, 900), r.choice(notes), at.date()))  # fmt: skip
    visit[3] = (*visit[3][:2], None, *visit[3][3:])
    part = [
        (i, r.choice(["green metallic", "forest antique", "hot pink"]), f"Manufacturer#{i % 3}", f"Brand#{10 + i % 5}",
         r.choice(["PROMO BURNISHED COPPER", "ECONOMY ANODIZED STEEL", "MEDIUM POLISHED TIN"]), 1 + i % 50,
         r.choice(["SM CASE", "MED BAG", "LG BOX", "WRAP CASE"]), _money(r, 2000)) for i in range(40)
    ]  # fmt: skip
    supplier = [
        (i, f"Supplier#{i}", i % len(NATIONS), _money(r, 9000), "fine", f"{i} Road", f"1{i}-555") for i in range(10)
    ]
    partsupp = [(i, (i + k) % 10, r.randrange(1, 999), _money(r, 1000)) for i in range(40) for k in range(4)]
    customer = [
        (i, f"Customer#{i:09}", r.randrange(len(NATIONS)), f"{10 + r.randrange(25)}-{i:03}-555", _money(r, 10_000) - 500,
         r.choice(SEGMENTS)) for i in range(60)
    ]  # fmt: skip
    orders, lineitem = [], []
    for o in range(220):
        ordered = shop + timedelta(r.randrange(2350))
        orders.append((o, r.randrange(0, 45), r.choice("FOP"), _money(r, 300_000), ordered, r.choice(PRIORITIES), 0,
                       r.choice(["special packages requests", "fine", "furiously"])))  # fmt: skip
        for n in range(1, r.randrange(2, 6)):
            k = r.randrange(40)
            ship = ordered + timedelta(r.randrange(1, 100))
            lineitem.append((o, k, (k + r.randrange(4)) % 10, n, Decimal(r.randrange(1, 50)), _money(r, 90_000),
                             Decimal(r.randrange(11)) / 100, Decimal(r.randrange(9)) / 100, r.choice("ANR"),
                             r.choice("FO"), ship, ordered + timedelta(r.randrange(30, 90)),
                             ship + timedelta(r.randrange(1, 30)),
                             r.choice(["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]),
                             r.choice(MODES)))  # fmt: skip
    hits = []
    for _ in range(600):
        at = datetime(2013, 7, 1) + timedelta(seconds=r.randrange(31 * 86_400))  # noqa: DTZ001  the same
        hits.append((r.randrange(60), at, at.date(), r.randrange(60, 65), r.choice([0, 0, 0, 2, 3]),
                     r.choice([1024, 1366, 1920]), r.choice(["", "", "karelia", "buy a house", "weather"]),
                     r.choice(["", "", "iPhone", "Nokia"]), r.randrange(5),
                     r.choice(["http://google.com/a", "http://example.com/x", "http://shop.ru/?q=1"]),
                     r.choice(["Google search", "Home", ""]), r.choice(["http://google.com/", "https://www.b.de/z", ""]),
                     r.choice([0, 0, 1]), r.choice([0, 0, 1]), r.choice([-1, 2, 6]), r.choice([0, 2, 3]),
                     r.randrange(9), 1000 + r.randrange(900), 600 + r.randrange(300), r.choice([0, 1]), 0,
                     r.randrange(3), r.randrange(4), r.randrange(4)))  # fmt: skip
    return {
        "patient": patient, "visit": visit, "part": part, "supplier": supplier, "partsupp": partsupp,
        "customer": customer, "orders": orders, "lineitem": lineitem, "hits": hits,
        "region": [(i, name, "") for i, name in enumerate(REGIONS)],
        "nation": [(i, name, k, "") for i, (name, k) in enumerate(NATIONS)],
        "area_info": [(a, a.title(), 1000 * (i + 1), Decimal("12.50") * (i + 1)) for i, a in enumerate(AREAS)],
    }  # fmt: skip


def plain() -> duckdb.DuckDBPyConnection:
    """Plain DuckDB with the tables."""
    connection = duckdb.connect(config={"threads": 1})
    data = rows()
    for name, columns in SCHEMA.items():
        connection.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" * len(data[name][0]))
        connection.executemany(f"INSERT INTO {name} VALUES ({marks})", data[name])
    return connection


def write(connection: duckdb.DuckDBPyConnection, directory: Path) -> Path:
    """The tables as Parquet files, and the policy beside them."""
    for name in SCHEMA:
        connection.execute(f"COPY {name} TO '{directory / name}.parquet' (FORMAT parquet)")
    files = ", ".join(f'{name} = "{name}.parquet"' for name in SCHEMA)
    policy = directory / "sfumato.toml"
    policy.write_text(POLICY.replace("FILES", files))
    return policy
