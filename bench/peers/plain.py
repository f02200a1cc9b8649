"""DuckDB without any privacy: the truth, and what a question costs at least."""

from __future__ import annotations

from typing import Any

NEEDS = ()
BOUNDS, LENGTH = "-", "-"


def offers(data: Any) -> dict[str, Any]:
    from suite import QUESTIONS, plain_of

    plain = plain_of(data.folder)

    def ask(sql: str) -> Any:
        rows = plain.execute(sql).fetchall()
        return rows[0][0] if len(rows[0]) == 1 else {row[:-1]: row[-1] for row in rows}

    return {f"q{i}": (lambda sql=QUESTIONS[f"q{i}"]: ask(sql)) for i in range(1, 13)}
