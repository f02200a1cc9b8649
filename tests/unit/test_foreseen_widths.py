"""What a preview says of intervals that depend on the answer: for a group of a stated size, near to what is drawn."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pytest

import sfumato
from sfumato.gateway.gateway import Gateway

PEOPLE = 1000
ITEMS = (
    "AVG(x)",
    "2 * AVG(x) + 1",
    "AVG(x) - AVG(y)",
    "AVG(x) / AVG(y)",
    "100.0 * COUNT(*) FILTER (WHERE x > 30) / COUNT(*)",
    "VAR_POP(x)",
    "STDDEV_SAMP(x)",
    "COVAR_POP(x, y)",
    "CORR(x, y)",
    "REGR_SLOPE(y, x)",
)


@pytest.fixture(scope="module")
def gate() -> Iterator[Gateway]:
    frame = pd.DataFrame(
        {"id": range(PEOPLE), "x": [i % 61 for i in range(PEOPLE)], "y": [i * 7 % 121 for i in range(PEOPLE)]}
    )
    with (
        pytest.warns(UserWarning, match="no ledger"),
        sfumato.protect(
            frame, unit="id", rows_per_unit=1, epsilon=1000, bounds={"x": (0, 60), "y": (0, 120)}
        ) as opened,
    ):
        yield opened


@pytest.mark.parametrize("item", ITEMS)
def test_the_expected_width_is_near_the_drawn_one(gate: Gateway, item: str) -> None:
    (column,) = gate.explain(f"SELECT {item} AS v FROM data", epsilon=1).columns
    ((ends,),) = gate.sql(f"SELECT {item} AS v FROM data", epsilon=1).intervals()
    expected = column.half_width_for(PEOPLE)
    assert ends is not None
    assert expected is not None
    drawn = float(ends[1] - ends[0]) / 2
    assert drawn / 2.5 < float(expected) < drawn * 2.5
    assert column.half_width() is None
    assert "for about 1,000 rows" in column.note


def test_more_rows_and_more_epsilon_are_narrower(gate: Gateway) -> None:
    (column,) = gate.explain("SELECT AVG(x) FROM data", epsilon=1).columns
    (better,) = gate.explain("SELECT AVG(x) FROM data", epsilon=4).columns
    widths = [column.half_width_for(rows) for rows in (100, 1000, 10_000)]
    assert all(one is not None for one in widths)
    assert widths == sorted(widths, reverse=True)  # type: ignore[type-var]
    assert better.half_width_for(1000) < column.half_width_for(1000)  # type: ignore[operator]
    assert column.half_width_for(1000, "0.5") < column.half_width_for(1000)  # type: ignore[operator]


def test_the_document_has_them(gate: Gateway) -> None:
    columns = gate.explain("SELECT COUNT(*), AVG(x), MEDIAN(x) FROM data", epsilon=1).to_dict()["columns"]
    assert [[one["rows"] for one in column["expected"]] for column in columns] == [[], [100, 1000, 10_000], []]
