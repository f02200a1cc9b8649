"""smartnoise-sql over SQLite, where it has a reader of its own: five rows of a person, drawn anew for each question.

Its epsilon is that of one statistic: a question of several is asked at a part of it each, so that all cost one. Groups
that are public need no threshold (censor_dims); tags are not.
"""

from __future__ import annotations

import sqlite3
from typing import Any

NEEDS = ("smartnoise-sql==1.0.10",)
BOUNDS, LENGTH = "itself", "private"
VISITS = ("user_id", "city", "disease", "age", "cost", "day", "tag")
ASKED = {
    "q1": "SELECT COUNT(*) AS n FROM main.visits",
    "q2": "SELECT COUNT(*) AS n FROM main.visits WHERE disease = 'Cold'",
    "q3": "SELECT COUNT(DISTINCT user_id) AS n FROM main.visits",
    "q4": "SELECT SUM(cost) AS n FROM main.visits",
    "q5": "SELECT AVG(age) AS n FROM main.visits",
    "q6": "SELECT city, COUNT(*) AS n FROM main.visits GROUP BY city",
    "q7": "SELECT city, disease, COUNT(*) AS n FROM main.visits GROUP BY city, disease",
    "q8": "SELECT tag, COUNT(*) AS n FROM main.visits GROUP BY tag",
    "q9": "SELECT MEDIAN(age) AS n FROM main.visits",
    "q10": "SELECT VARIANCE(age) AS n FROM main.visits",
    "q11": "SELECT region, COUNT(*) AS n FROM main.visits JOIN main.users USING (user_id) GROUP BY region",
    "q12": "SELECT AVG(s) AS n FROM (SELECT user_id, SUM(cost) AS s FROM main.visits GROUP BY user_id) AS p",
}


def offers(data: Any) -> dict[str, Any]:
    from snsql import Privacy, from_connection

    rows = sqlite3.connect(":memory:")
    rows.execute(f"CREATE TABLE visits ({', '.join(VISITS)})")
    rows.executemany(f"INSERT INTO visits VALUES ({', '.join('?' * len(VISITS))})", data.table("visits"))
    rows.execute("CREATE TABLE users (user_id, sex, region, zipcode)")
    rows.executemany("INSERT INTO users VALUES (?, ?, ?, ?)", data.table("users"))

    def reader(epsilon: float, open_keys: bool) -> Any:
        return from_connection(
            rows,
            privacy=Privacy(epsilon=epsilon, delta=data.delta),
            metadata=_metadata(data, open_keys),
            engine="sqlite",
        )

    def ask(key: str, readers: dict[str, Any]) -> Any:
        sql, open_keys = ASKED[key], key == "q8"
        if key not in readers:
            costs = reader(data.epsilon, open_keys)._get_mechanism_costs(sql)
            readers[key] = reader(data.epsilon / max(1, sum(cost is not None for cost in costs)), open_keys)
        found = readers[key].execute(sql)[1:]
        return found[0][0] if len(found[0]) == 1 else {tuple(row[:-1]): row[-1] for row in found}

    known: dict[str, Any] = {}
    return {key: (lambda key=key: ask(key, known)) for key in ASKED}


def _metadata(data: Any, open_keys: bool) -> Any:
    text = {"type": "string"}
    common = {
        "max_ids": data.bound,
        "row_privacy": False,
        "sample_max_ids": True,
        "censor_dims": open_keys,
        "clamp_counts": False,
        "user_id": {"type": "int", "private_id": True},
    }
    visits = {
        "city": text,
        "disease": text,
        "age": {"type": "int", "lower": 0, "upper": 120},
        "cost": {"type": "float", "lower": 0.0, "upper": 1000.0},
        "day": {"type": "datetime"},
        "tag": text,
    }
    users = {"sex": text, "region": text, "zipcode": {"type": "int", "lower": 75_000, "upper": 75_019}}
    return {"": {"main": {"visits": common | visits, "users": common | users}}}
