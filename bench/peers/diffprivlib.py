"""diffprivlib: tools that protect rows. The caller bounds by hand and divides epsilon by five.

A count is cut at the length of its array, which it takes as public, so half of its noise is missing.
"""

from __future__ import annotations

from typing import Any

NEEDS = ("diffprivlib==0.6.6", "scikit-learn<1.6")  # the scikit-learn that it was written for
BOUNDS, LENGTH = "by hand", "public"


def offers(data: Any) -> dict[str, Any]:
    import numpy as np
    from diffprivlib import tools

    rows, epsilon = data.by_hand(), data.epsilon / data.bound

    def cities() -> dict[str, float]:
        told = tools.histogram(rows.city[rows.few()], epsilon=epsilon, bins=50, range=(-0.5, 49.5))[0]
        return dict(zip(data.cities, told, strict=True))

    def pairs() -> dict[tuple[str, str], float]:
        few = rows.few()
        told = tools.histogramdd(
            (rows.city[few], rows.disease[few]), epsilon=epsilon, bins=(50, 20), range=((-0.5, 49.5), (-0.5, 19.5))
        )[0]
        return {(c, d): told[i, j] for i, c in enumerate(data.cities) for j, d in enumerate(data.diseases)}

    def few_ages() -> Any:
        return rows.age[rows.few()]

    return {
        "q1": lambda: tools.count_nonzero(np.ones(len(rows.few())), epsilon=epsilon),
        "q2": lambda: tools.count_nonzero(np.ones(len(rows.few(rows.cold))), epsilon=epsilon),
        "q4": lambda: tools.sum(rows.cost[rows.few()], epsilon=epsilon, bounds=(0, 1000)),
        "q5": lambda: tools.mean(few_ages(), epsilon=epsilon, bounds=(0, 120)),
        "q6": cities,
        "q7": pairs,
        "q9": lambda: tools.median(few_ages(), epsilon=epsilon, bounds=(0, 120)),
        "q10": lambda: tools.var(few_ages(), epsilon=epsilon, bounds=(0, 120)),
    }
