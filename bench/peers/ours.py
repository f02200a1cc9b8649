"""Ours: the whole walk of a question each time, ledger in memory, each at an epsilon of its own, a little below one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

NEEDS = ()
BOUNDS, LENGTH = "itself", "private"


def offers(data: Any) -> dict[str, Any]:
    from suite import QUESTIONS, opened

    gate, asked = opened(data.folder), iter(range(10**6))

    def ask(sql: str) -> Any:
        # each a little better than the last, so that no stored answer will do
        rows = gate.sql(sql, epsilon=1 - Fraction(10**6 - next(asked), 10**12)).rows
        return rows[0][0] if len(rows[0]) == 1 else {tuple(map(str, row[:-1])): row[-1] for row in rows}

    return {f"q{i}": (lambda sql=QUESTIONS[f"q{i}"]: ask(sql)) for i in range(1, 13)}
