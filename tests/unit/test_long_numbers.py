"""Numbers that are too long to be written are refused in words, and no message repeats a long one."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import sfumato
from sfumato.errors import InputError
from sfumato.gateway import Query
from sfumato.types import as_written, positive, probability, told, whole

PEOPLE = pd.DataFrame({"ssn": [f"p{i}" for i in range(9)]})
LONG: list[Any] = [
    int("9" * 1_001),
    int("9" * 4_000),
    -int("9" * 4_000),
    "9" * 4_000,
    "9" * 900,
    f"1/{'9' * 900}",
    f"-0.{'1' * 900}",
    Decimal("9" * 900),
    "x" * 900,
    "1e-1000",
    Fraction(1, 3**2_000),
]


@pytest.mark.parametrize("number", LONG, ids=lambda number: f"{type(number).__name__}")
@pytest.mark.parametrize("option", ["epsilon", "within", "confidence", "rows_per_unit"])
def test_a_long_number_is_told_from_an_error_of_ours(option: str, number: Any) -> None:
    """Whatever is answered can be written down, and is short."""
    with sfumato.protect(PEOPLE, unit="ssn", rows_per_unit=1, epsilon=1, name="p") as gate:
        found = gate.preview(Query("SELECT COUNT(*) FROM p", **{option: number}), "owner")
        if found.refused is not None:
            assert found.refused.sqlstate in ("22023", "53400")
            assert len(found.refused.message) + len(found.refused.hint or "") + len(found.refused.detail or "") < 400
        assert found.to_dict()


def test_a_number_has_a_thousand_digits_at_most() -> None:
    assert as_written(10**999) == 10**999
    for number in (10**1001, -(10**1001), 1 << 5_000):
        with pytest.raises(InputError, match="at most 1000 characters"):
            as_written(number)


def test_messages_tell_the_size_of_a_long_number() -> None:
    assert told(Fraction(1, 8)) == "0.125"
    assert told(-(10**300)) == "about -1e300"
    for ask in (
        lambda x: positive(-x, "x"),
        lambda x: probability(x, "x"),
        lambda x: whole(x / 7, "x"),
        lambda x: whole(-x, "x", 0),
    ):
        with pytest.raises(InputError) as refused:
            ask(Fraction(10**300))
        assert len(refused.value.message) < 100
        assert "1e" in refused.value.message
    with pytest.raises(InputError) as refused:
        as_written("x" * 900)
    assert len(refused.value.message) < 150
