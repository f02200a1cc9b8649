"""python-dp, Google's C++ algorithms one number at a time: the caller bounds by hand and says so."""

from __future__ import annotations

from typing import Any

NEEDS = ("python-dp==1.1.5", "numpy")
BOUNDS, LENGTH = "by hand", "private"


def offers(data: Any) -> dict[str, Any]:
    import numpy as np
    from pydp.algorithms import laplacian as lib

    rows = data.by_hand()
    each = {"epsilon": data.epsilon, "l0_sensitivity": 1, "linf_sensitivity": data.bound}
    ages = {"dtype": "float", "lower_bound": 0, "upper_bound": 120}
    one = {"epsilon": data.epsilon, "l0_sensitivity": 1, "linf_sensitivity": 1, "dtype": "int"}
    spread = {"epsilon": data.epsilon, "l0_sensitivity": data.bound, "linf_sensitivity": 1, "dtype": "int"}

    def count(places: Any) -> float:
        return lib.Count(dtype="int", **each).quick_result(rows.user[places].tolist())

    def few_ages() -> list[float]:
        return rows.age[rows.few()].tolist()

    def by(codes: Any, names: list[Any]) -> dict[Any, float]:
        few = rows.few()
        groups = [few[codes[few] == place] for place in range(len(names))]
        return {
            name: lib.Count(**spread).quick_result(rows.user[group].tolist())
            for name, group in zip(names, groups, strict=True)
        }

    pairs = [(city, disease) for city in data.cities for disease in data.diseases]
    return {
        "q1": lambda: count(rows.few()),
        "q2": lambda: count(rows.few(rows.cold)),
        "q3": lambda: lib.Count(**one).quick_result(np.unique(rows.user).tolist()),
        "q4": lambda: lib.BoundedSum(dtype="float", lower_bound=0, upper_bound=1000, **each).quick_result(
            rows.cost[rows.few()].tolist()
        ),
        "q5": lambda: lib.BoundedMean(**ages, **each).quick_result(few_ages()),
        "q6": lambda: by(rows.city, data.cities),
        "q7": lambda: by(rows.city * len(data.diseases) + rows.disease, pairs),
        "q9": lambda: lib.Median(**ages, **each).quick_result(few_ages()),
        "q10": lambda: lib.BoundedVariance(**ages, **each).quick_result(few_ages()),
    }
