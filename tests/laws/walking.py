"""What the tests of the whole walk share: a gateway over given rows, a crowd, and what is near enough.

Epsilon 10^9 stands for infinity: what is left of the noise is far below the last digit that is shown.
"""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import duckdb

from sfumato.gateway import open_policy

F = Fraction
SURE = 10**9

VISIT = """
city = { values = ["Paris", "Lyon", "Nice"] }
cost = { type = "decimal", min = 0, max = 1000, grid = 0.01 }
age = { type = "integer", min = 0, max = 120 }
day = { type = "date", min = 2024-01-01, max = 2024-12-31 }
well = { type = "boolean" }
"""


def opened(tmp_path, rows, columns=VISIT, *, each=1, privacy="", types=None, name="visit"):
    """A gateway over rows (unit first), written to a database; the budget is as good as endless."""
    names = [line.split("=")[0].strip() for line in columns.strip().splitlines()]
    types = types or {"city": "VARCHAR", "cost": "DECIMAL(18, 4)", "age": "BIGINT", "day": "DATE", "well": "BOOLEAN"}
    place = tmp_path / f"{random.Random().getrandbits(60)}.duckdb"
    with duckdb.connect(str(place)) as connection:
        heads = ", ".join(["ssn VARCHAR", *(f"{n} {types.get(n, 'VARCHAR')}" for n in names)])
        connection.execute(f"CREATE TABLE {name} ({heads})")
        if rows:
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * (len(names) + 1))})", rows)
    if "epsilon" not in privacy:
        privacy = f"epsilon = 1e12\nquery_epsilon = {SURE}\n{privacy}"
    text = f"""
[source]
engine = "duckdb"
files = "{place.name}"
[data]
id = "{place.stem}"
[privacy]
{privacy}
[tables.{name}]
unit = "ssn"
rows_per_unit = {each}
[tables.{name}.columns]
ssn = {{ type = "text", max_length = 11 }}
{columns}
"""
    path = place.with_suffix(".toml")
    path.write_text(text)
    return open_policy(path)


def crowd(people=60, most=5, seed=1):
    """Visits of people with one to five each; some values unknown."""
    r = random.Random(seed)
    return [
        (
            f"{p:03}",
            r.choice(["Paris", "Lyon", None]),
            r.choice([None, round(r.uniform(0, 1000), 2)]),
            r.choice([None, r.randint(0, 120)]),
            f"2024-{r.randint(1, 12):02}-{r.randint(1, 28):02}",
            r.choice([True, False, None]),
        )
        for p in range(people)
        for _ in range(r.randint(1, most))
    ]


def near(shown, true):
    """Equal up to what is left of the noise, and of rounding."""
    if shown is None or true is None or not isinstance(true, int | float | Decimal):
        return shown == true
    return abs(float(shown) - float(true)) <= 1e-3 + 1e-6 * abs(float(true))
