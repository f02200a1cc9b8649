"""Functions that are written at length are bounded: nested in each other they would multiply."""

import pandas as pd
import pytest

import sfumato
from sfumato.errors import QueryError

ENDS = f"ARRAY[{', '.join(map(str, range(100)))}]"
ZONES = ("Europe/Paris", "America/New_York", "Europe/London", "America/Chicago")


@pytest.fixture(scope="module")
def gate():
    people = pd.DataFrame(
        {"u": range(9), "t": pd.to_datetime(["2020-07-01"] * 9), "w": pd.to_datetime(["2020-07-01"] * 9)}
    ).assign(x=range(9), s="a b")
    bounds = {"t": ("2019-01-01", "2021-12-31"), "w": ("0002-01-01", "2262-01-01"), "x": (0, 9)}
    with pytest.warns(UserWarning, match="ledger"):
        return sfumato.protect(people, unit="u", rows_per_unit=1, epsilon=100, bounds=bounds)


def nested(count, before, inner, after):
    return before * count + inner + after * count


def in_zones(count):
    found = "t"
    for place in range(count):
        found = f"({found} AT TIME ZONE '{ZONES[place % 4]}')"
    return found


@pytest.mark.parametrize(
    "condition",
    [
        nested(12, "width_bucket(", "x", f", {ENDS})") + " > 3",
        nested(40, "width_bucket(", "x", ", ARRAY[1, 2])") + " > 3",
        nested(6, "repeat(", "s", ", 100)") + " = 'a'",
        nested(30, "(string_to_array(", "s", ", ' '))[2]") + " = 'b'",
        nested(30, "overlay(", "s", " PLACING 'x' FROM 1)") + " = 'b'",
        in_zones(12) + " > '2020-01-01'",
    ],
)
def test_what_multiplies_is_refused_and_not_written_out(gate, condition):
    """Written out, the shortest of these has thousands of millions of parts."""
    with pytest.raises(QueryError) as refused:
        gate.sql(f"SELECT COUNT(*) FROM data WHERE {condition}")
    assert refused.value.sqlstate in ("54001", "54000", "0A000")


def test_a_timestamp_of_many_centuries_has_no_zone(gate):
    with pytest.raises(QueryError, match="too far apart"):
        gate.sql("SELECT COUNT(*) FROM data WHERE (w AT TIME ZONE 'Europe/Paris') > '2020-01-01'")


@pytest.mark.parametrize(
    "condition",
    [
        f"width_bucket(x, {ENDS}) > 3",
        "repeat(s, 20) = 'a'",
        "(string_to_array((string_to_array(s, ' '))[2], 'b'))[1] = ''",
        in_zones(1) + " > '2020-01-01'",
        "date_trunc('day', t, 'Europe/Paris') > '2020-01-01'",
    ],
)
def test_what_people_write_is_written_out(gate, condition):
    assert gate.explain(f"SELECT COUNT(*) FROM data WHERE {condition}").cost.epsilon > 0
