"""Tumult Analytics on Spark, one core: five rows of a person. CPU is that of Python and of the machine below it."""

from __future__ import annotations

import os
import sys
from typing import Any

NEEDS = ("tmlt.analytics==0.21.0",)  # and a Java 17 that is found as `java`
BOUNDS, LENGTH = "itself", "private"
BELOW = True


def offers(data: Any) -> dict[str, Any]:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    import tmlt.analytics as lib

    spark = _spark(data)
    tables = {name: spark.read.parquet(str(data.folder / f"{name}.parquet")).cache() for name in ("visits", "users")}
    budget, five = lib.ApproxDPBudget(data.epsilon, data.delta), lib.MaxRowsPerID(data.bound)

    def session() -> Any:
        built = lib.Session.Builder().with_privacy_budget(budget).with_id_space("person")
        for name, rows in tables.items():
            change = lib.AddRowsWithID(id_column="user_id", id_space="person")
            built = built.with_private_dataframe(name, rows, protected_change=change)
        return built.build()

    def told(query: Any) -> Any:
        return session().evaluate(query, budget).toPandas()

    def visits() -> Any:
        return lib.QueryBuilder("visits")

    def one(query: Any) -> float:
        return told(query).iloc[0, 0]

    def by(query: Any, **keys: list[str]) -> Any:
        found = told(query.groupby(lib.KeySet.from_dict(keys)).count())
        return {tuple(row[:-1]): row[-1] for row in found[[*keys, "count"]].itertuples(index=False)}

    def tags() -> Any:
        open_, half = session(), lib.ApproxDPBudget(data.epsilon / 2, data.delta)
        keys = open_.evaluate(visits().enforce(five).get_groups(["tag"]), half)
        counts = visits().enforce(five).groupby(lib.KeySet.from_dataframe(keys)).count()
        found = open_.evaluate(counts, open_.remaining_privacy_budget).toPandas()
        return dict(zip(found["tag"], found["count"], strict=True))

    def joined() -> Any:
        users = lib.QueryBuilder("users").enforce(lib.MaxRowsPerID(1))
        return visits().enforce(five).join_private(users).enforce(five)

    return {
        "q1": lambda: one(visits().enforce(five).count()),
        "q2": lambda: one(visits().filter("disease = 'Cold'").enforce(five).count()),
        "q3": lambda: one(visits().count_distinct(columns=["user_id"])),
        "q4": lambda: one(visits().enforce(five).sum("cost", 0, 1000)),
        "q5": lambda: one(visits().enforce(five).average("age", 0, 120)),
        "q6": lambda: by(visits().enforce(five), city=data.cities),
        "q7": lambda: by(visits().enforce(five), city=data.cities, disease=data.diseases),
        "q8": tags,
        "q9": lambda: one(visits().enforce(five).median("age", 0, 120)),
        "q10": lambda: one(visits().enforce(five).variance("age", 0, 120)),
        "q11": lambda: by(joined(), region=data.regions),
    }


def _spark(data: Any) -> Any:
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(data.folder / "spark"),
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark
