"""Functions that are written at length are bounded: nested in each other they would multiply."""

import pandas as pd
import pytest

import sfumato
from sfumato.errors import QueryError
from sfumato.sql.bind import clauses
from sfumato.sql.read.parser import parse

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
        nested(30, "overlay(", "s", " PLACING ('a'||'b'||'c'||'d') FROM 2 FOR 1)") + " = 'z'",
        " OR ".join(f"repeat({'||'.join(['s'] * 30)}, 100) = '{i}'" for i in range(250)),
        f"{'||'.join(['s'] * 300)} LIKE ANY (ARRAY[{', '.join(repr(str(i)) for i in range(900))}])",
    ],
)
def test_what_multiplies_is_refused_and_not_written_out(gate, condition):
    """Written out, the shortest of these has thousands of millions of parts."""
    with pytest.raises(QueryError) as refused:
        gate.sql(f"SELECT COUNT(*) FROM data WHERE {condition}")
    assert refused.value.sqlstate in ("54001", "54000", "0A000")


PADDING = "||".join(f"'{sign}'" for sign in "abcd")
SHORT = {
    "overlay": "overlay({} PLACING 'x' FROM 1)",
    "overlay of many parts": f"overlay({{}} PLACING ({PADDING}) FROM 2 FOR 1)",
    "an element": "(string_to_array({}, ' '))[2]",
    "the first element": "(string_to_array({}, ' '))[1]",
    "repeat": "repeat({}, 3)",
    "format": "format('%s and %s', {}, 's')",
    "a bucket": "(CASE WHEN width_bucket(length({}), ARRAY[1, 2]) > 1 THEN 'a' END)",
    "a rounded number": "round(length({}), -2)::text",
    "matches": "regexp_count({}, 'ab')::text",
    "a decade": "extract(decade from ({})::date)::text",
    "an element of any": "(CASE WHEN {} = ANY (ARRAY['a', 'b', 'c']) THEN 'a' END)",
}


@pytest.mark.parametrize("name", SHORT)
def test_a_statement_written_at_length_is_a_few_times_longer(name):
    """However shorthands are nested or repeated: it is refused, or has a few nodes for each that was written."""
    written, refused = 0, 0
    for depth in (1, 3, 8, 24):
        for times in (1, 40):
            inner = "s"
            for _ in range(depth):
                inner = SHORT[name].format(inner)
            condition = " OR ".join([f"{inner} = 'z'"] * times)
            try:
                tree = parse(f"SELECT COUNT(*) FROM data WHERE {condition}")
            except QueryError as error:
                assert error.sqlstate in ("54001", "54000", "0A000")  # noqa: PT017  it may also be read
                refused += 1
            else:
                written += 1
                words = 5 * len(condition.split()) + len(condition)
                assert sum(1 for _ in tree.walk()) <= 10_000 + 5 * words
    assert written >= 3, (written, refused)


@pytest.mark.parametrize("count", [65, 3000])
def test_grouping_sets_are_counted_before_they_are_read(gate, monkeypatch, count):
    looked = []
    monkeypatch.setattr(clauses.Clauses, "_key", lambda self, item: looked.append(item))
    sets = ", ".join(f"(x + {i})" for i in range(count))
    with pytest.raises(QueryError, match="more than 64 grouping sets"):
        gate.sql(f"SELECT COUNT(*) FROM data GROUP BY GROUPING SETS ({sets})")
    with pytest.raises(QueryError, match="more than 64 grouping sets"):
        gate.sql("SELECT COUNT(*) FROM data GROUP BY CUBE (x, s, u, t), ROLLUP (x, s, t, w)")
    assert not looked


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
