"""PipelineDP, its local backend in plain Python: five random rows of a person, the join done by the caller."""

from __future__ import annotations

from typing import Any

NEEDS = ("pipeline-dp==0.3.1",)
BOUNDS, LENGTH = "itself", "private"


def offers(data: Any) -> dict[str, Any]:
    import pipeline_dp as lib

    metric = lib.Metrics
    rows, region = data.table("visits"), {row[0]: row[2] for row in data.table("users")}
    whole: list[Any] = [0]
    ages = {"min_value": 0, "max_value": 120}
    spent = {"min_sum_per_partition": 0, "max_sum_per_partition": 1000 * data.bound}

    def told(kind: Any, key: Any, public: Any, *, value: int = 0, among: Any = None, **bounds: Any) -> dict[Any, Any]:
        accountant = lib.NaiveBudgetAccountant(total_epsilon=data.epsilon, total_delta=data.delta)
        engine = lib.DPEngine(accountant, lib.LocalBackend())
        asked = lib.AggregateParams(noise_kind=lib.NoiseKind.LAPLACE, metrics=[kind], **bounds)
        columns = lib.DataExtractors(
            privacy_id_extractor=lambda row: row[0], partition_extractor=key, value_extractor=lambda row: row[value]
        )
        found = engine.aggregate(rows if among is None else among, asked, columns, public_partitions=public)
        accountant.compute_budgets()
        return {group: next(iter(answer)) for group, answer in found}

    def one(kind: Any, number: int = data.bound, **more: Any) -> float:
        return told(
            kind, lambda _: 0, whole, max_partitions_contributed=1, max_contributions_per_partition=number, **more
        )[0]

    def by(key: Any, public: Any, **bounds: int) -> dict[Any, float]:
        return told(metric.COUNT, key, public, **(bounds or {"max_contributions": data.bound}))

    apart = {"max_partitions_contributed": data.bound, "max_contributions_per_partition": 1}
    pairs = [(city, disease) for city in data.cities for disease in data.diseases]
    return {
        "q1": lambda: one(metric.COUNT),
        "q2": lambda: one(metric.COUNT, among=[row for row in rows if row[2] == "Cold"]),
        "q3": lambda: one(metric.PRIVACY_ID_COUNT, 1),
        "q4": lambda: one(metric.SUM, value=4, **spent),
        "q5": lambda: one(metric.MEAN, value=3, **ages),
        "q6": lambda: by(lambda row: row[1], data.cities),
        "q7": lambda: by(lambda row: (row[1], row[2]), pairs),
        "q8": lambda: by(lambda row: row[6], None, **apart),
        "q9": lambda: one(metric.PERCENTILE(50), value=3, **ages),
        "q10": lambda: one(metric.VARIANCE, value=3, **ages),
        "q11": lambda: by(lambda row: region[row[0]], data.regions),
    }
