"""OpenDP by its Polars interface: a person's rows are truncated to five."""

from __future__ import annotations

import os
from typing import Any

NEEDS = ("opendp[polars]==0.16.0",)
BOUNDS, LENGTH = "itself", "private"


def offers(data: Any) -> dict[str, Any]:
    os.environ["POLARS_MAX_THREADS"] = "1"
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    visits = pl.read_parquet(data.folder / "visits.parquet").lazy()
    whole = dp.polars.Margin(by=[], max_length=2 * data.rows, max_groups=1)
    age = pl.col("age").fill_null(0)

    def of(margins: list[Any], delta: float | None = None) -> Any:
        unit = dp.unit_of(contributions=1, identifier=pl.col("user_id"))
        loss = dp.loss_of(epsilon=data.epsilon, delta=delta) if delta else dp.loss_of(epsilon=data.epsilon)
        return dp.Context.compositor(
            data=visits, privacy_unit=unit, privacy_loss=loss, split_evenly_over=1, margins=margins
        ).query()

    def told(query: Any) -> Any:
        return query.release().collect()

    def one(*columns: Any, rows: Any = None) -> tuple[Any, ...]:
        rows = of([whole]) if rows is None else rows
        return told(rows.truncate_per_group(data.bound).select(*columns)).row(0)

    def by(keys: list[str], public: Any, delta: float | None = None) -> Any:
        grouped = of([], delta).truncate_per_group(data.bound).group_by(*keys).agg(dp.len())
        found = told(grouped.with_keys(public) if public is not None else grouped)
        return {row[:-1]: row[-1] for row in found.select(*keys, "len").iter_rows()}

    def per_person(*more: Any) -> tuple[Any, ...]:
        sums = of([whole]).group_by("user_id").agg(pl.col("cost").sum())
        spent = pl.col("cost").fill_null(0.0).dp.sum((0.0, 1000.0 * data.bound))
        return told(sums.select(spent, *more)).row(0)

    def ratio(pair: tuple[float, float]) -> float:
        return pair[0] / pair[1]

    cities = pl.LazyFrame({"city": data.cities})
    return {
        "q1": lambda: one(dp.len())[0],
        "q2": lambda: one(dp.len(), rows=of([whole]).filter(pl.col("disease") == "Cold"))[0],
        "q3": lambda: told(of([whole]).truncate_per_group(1).select(pl.col("user_id").dp.n_unique())).row(0)[0],
        "q4": lambda: per_person()[0],
        "q5": lambda: ratio(one(age.dp.sum((0, 120)), dp.len())),
        "q6": lambda: by(["city"], cities),
        "q7": lambda: by(["city", "disease"], cities.join(pl.LazyFrame({"disease": data.diseases}), how="cross")),
        "q8": lambda: by(["tag"], None, data.delta),
        "q9": lambda: one(age.dp.median(list(range(121))))[0],
        "q12": lambda: ratio(per_person(dp.len())),
    }
