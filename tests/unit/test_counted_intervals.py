"""x * INTERVAL '1 day' of rows: of whole numbers and days or shorter units, added to a time or compared."""

from __future__ import annotations

import pandas as pd
import pytest

import sfumato
from sfumato.errors import QueryError

FRAME = pd.DataFrame({"id": range(3), "at": pd.to_datetime(["2023-03-01", "9999-12-30", None]), "n": [1, 9, 2]})
BOUNDS = {"at": ("2023-01-01 00:00", "9999-12-31 00:00"), "n": (0, 9)}


@pytest.fixture(scope="module")
def gate():
    return sfumato.protect(FRAME, unit="id", rows_per_unit=1, epsilon=10**12, bounds=BOUNDS)


def test_what_leaves_the_years_is_null(gate):
    """Not an error: that would tell whether such a row was there."""
    sql = "SELECT COUNT(*), COUNT(at + n * INTERVAL '1 day'), COUNT(at - INTERVAL '1 hour' * n) FROM data"
    assert gate.sql(sql, epsilon=10**6).rows == [(3, 1, 2)]


REFUSED = {
    "at + n * INTERVAL '1 month' > '2024-01-01'": "months differ in length",
    "at + n * INTERVAL '1 month 3 days' > '2024-01-01'": "months differ in length",
    "at + n * 0.5 * INTERVAL '1 day' > '2024-01-01'": "whole numbers",
    "at + (n / 2.0) * INTERVAL '1 day' > '2024-01-01'": "whole numbers",
    "(n * INTERVAL '1 day')::text = '1 day'": "added to a time or compared",
    "n + n * INTERVAL '1 day' > '2024-01-01'": "a date or a timestamp",
}


@pytest.mark.parametrize("condition", REFUSED)
def test_others_are_refused(condition, gate):
    with pytest.raises(QueryError, match=REFUSED[condition]):
        gate.sql(f"SELECT COUNT(*) FROM data WHERE {condition}", epsilon=1)
