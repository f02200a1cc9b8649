"""What comes out of the walk is what was released, in the order that was asked for; keys are chosen by people."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.gateway import Gateway, open_policy
from sfumato.gateway.shown_intervals import within_range

POLICY = """
[source]
engine = "duckdb"
files = { t = "t.csv" }
[data]
id = "d"
[privacy]
epsilon = 1e12
delta = 0.1
query_delta = 1e-6
composition = "pure"
[tables.t]
unit = "u"
rows_per_unit = 4
groups_per_unit = 4
[tables.t.columns]
u = { type = "integer" }
k = { type = "text", max_length = 9 }
c = { values = ["x", "y", "z"], nulls = false }
n = { type = "integer", min = 0, max = 9 }
"""


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gateway]:
    """Two hundred persons with two keys each; one person has four rows under a key of her own."""
    rows = [f"{u},{key},{c},9" for u in range(200) for key, c in (("a", "x"), ("b", "xyz"[u % 3]))]
    rows += ["999,solo,z,9"] * 4
    (tmp_path / "t.csv").write_text("\n".join(["u,k,c,n", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "sfumato.toml").write_text(POLICY, encoding="utf-8")
    with open_policy(tmp_path / "sfumato.toml") as opened:
        yield opened


def test_an_order_and_a_limit_are_obeyed(gate: Gateway) -> None:
    sure = {"epsilon": 10**9}
    bare = gate.sql("SELECT c, COUNT(*) FROM t GROUP BY c", **sure).rows
    assert bare == [("x", 267), ("y", 67), ("z", 70)]
    assert gate.sql("SELECT c, COUNT(*) FROM t GROUP BY c ORDER BY c DESC", **sure).rows == bare[::-1]
    assert gate.sql("SELECT c, COUNT(*) FROM t GROUP BY c LIMIT 1", **sure).rows == bare[:1]
    assert gate.sql("SELECT c, COUNT(*) FROM t GROUP BY c LIMIT 2 OFFSET 1", **sure).rows == bare[1:]
    assert gate.sql("SELECT COUNT(*), c FROM t GROUP BY c", **sure).rows == [(n, c) for c, n in bare]


def test_listed_groups_stand_inside_each_open_key(gate: Gateway) -> None:
    found = gate.sql("SELECT k, c, COUNT(*), SUM(n) FROM t WHERE k <> 'solo' GROUP BY k, c", epsilon=10**9).rows
    counts = [("a", "x", 200), ("a", "y", 0), ("a", "z", 0), ("b", "x", 67), ("b", "y", 67), ("b", "z", 66)]
    assert found == [(k, c, n, 9 * n) for k, c, n in counts]


def test_a_key_is_chosen_by_its_people_not_by_their_rows(gate: Gateway) -> None:
    """One person shows her key once in a million times, however many rows she has there and whatever they hold."""
    for sql in ("SELECT k, COUNT(*) FROM t GROUP BY k", "SELECT k, SUM(n), COUNT(*) FROM t GROUP BY k"):
        assert [row[0] for row in gate.sql(sql, epsilon=4).rows] == ["a", "b"]


FAR = " * 1e30" * 11
"""Beyond the largest double."""


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ("COUNT(*)", pa.int64()),
        ("COUNT(*) * 1000000000000000000", pa.decimal128(38, 0)),
        ("COUNT(*) * 100000000000000000000000000000", pa.float64()),
        (f"COUNT(*)::float8{FAR}", pa.float64()),
        (f"COUNT(*)::float8{FAR} - COUNT(*)::float8{FAR}", pa.float64()),
        ("POWER(COUNT(*), 8) * POWER(COUNT(*), 8) * POWER(COUNT(*), 8) * POWER(COUNT(*), 8)", pa.float64()),
    ],
)
def test_a_frame_holds_whatever_number_is_shown(gate: Gateway, asked: str, kind: pa.DataType) -> None:
    """What has been paid for is not lost for being too large for a type."""
    answer = gate.sql(f"SELECT {asked} AS n FROM t")
    assert answer.to_arrow(exact=True).schema.field("n").type == kind
    assert answer.to_polars().shape == answer.to_pandas().shape == (1, 1)
    assert str(float(answer.to_arrow()["n"][0].as_py())) == str(float(answer.rows[0][0]))


def test_a_number_at_the_end_of_its_range_does_not_look_exact(gate: Gateway) -> None:
    """Zero is shown for a count that noise made negative, with an interval around zero and not of zero alone."""
    ends = []
    for number in range(60):
        answer = gate.sql(
            f"SELECT COUNT(*) AS n, sfumato_error(COUNT(*)) AS e FROM t WHERE k = 'nobody {number}'", epsilon=1
        )
        (low, high) = answer.intervals()[0][0]
        assert answer["e"][0] == max(high - answer["n"][0], answer["n"][0] - low)
        assert low <= answer["n"][0] <= high
        ends.append((answer["n"][0], low, high))
    zeros = [(low, high) for shown, low, high in ends if shown == 0]
    assert len(zeros) > 10
    assert all(low == 0 and high > 0 for low, high in zeros)


@given(st.fractions(-20, 20), st.fractions(0, 9), st.sampled_from([None, 0, 3]), st.sampled_from([None, 4, 10]))
def test_an_interval_in_its_range_holds_what_the_cut_one_holds(middle: Any, half: Any, low: Any, high: Any) -> None:
    unit = Fraction(1, 2 * middle.denominator * half.denominator)  # half of the width is a whole number of these
    wide = [None if end is None else int(end / unit) for end in (middle - half, middle + half, low, high)]
    below, above = (end * unit for end in within_range(*wide))  # type: ignore[arg-type]
    assert below <= above
    assert low is None or below >= low
    assert high is None or above <= high
    for number in (middle - half, middle, middle + half, Fraction(0), Fraction(3), Fraction(4), Fraction(10)):
        possible = (low is None or number >= low) and (high is None or number <= high)
        if possible and middle - half <= number <= middle + half:
            assert below <= number <= above
    room = half if None in (low, high) else min(half, high - low)
    assert above - below >= room
