"""Aggregates over rows that a noisy condition selects: the intervals against every number that there can be."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.intervals import selected_rows
from sfumato.intervals.selected_rows import RULES, Row

_VALUES = {
    "sum where": sum,
    "avg where": lambda numbers: Fraction(sum(numbers), len(numbers)),
    "max where": max,
    "min where": min,
}
_numbers = st.integers(-3, 3)
_ends = st.tuples(_numbers, _numbers).map(lambda pair: (Fraction(min(pair)), Fraction(max(pair))))
_rows = st.lists(st.tuples(st.sampled_from([True, False, None]), st.none() | _ends), max_size=4)


def possible(name: str, rows: list[Row]) -> set[Fraction | None]:
    """Every value that SQL may give: each row passes or not, as is stated, and has any whole number of its interval.

    One without an interval may also be NULL.
    """
    choices = []
    for passes, ends in rows:
        numbers = [None, -9, 9] if ends is None else list(range(int(ends[0]), int(ends[1]) + 1))
        choices.append([(p, x) for p in ([passes] if passes is not None else [True, False]) for x in numbers])
    found: set[Fraction | None] = set()
    for world in product(*choices):
        left = [x for p, x in world if p and x is not None]
        found.add(Fraction(len(left)) if name == "count where" else Fraction(_VALUES[name](left)) if left else None)
    return found


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(RULES)), _rows)
def test_what_is_selected_is_within_its_interval(name: str, rows: list[Row]) -> None:
    """It holds every value that there can be, and is no wider than these; None where there may be none, or any."""
    found, values = RULES[name](rows), possible(name, rows)
    free = any(passes is not False and ends is None for passes, ends in rows)
    if found is None:
        assert name != "count where"
        assert None in values or free
    else:
        assert None not in values
        assert found == (min(values), max(values))  # type: ignore[type-var]


def test_rows_that_may_pass_are_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were they counted as if they passed, a sum would miss what is without them."""
    rows: list[Row] = [(True, (Fraction(1), Fraction(2))), (None, (Fraction(5), Fraction(6)))]
    assert RULES["sum where"](rows) == (1, 8)
    plain = selected_rows._sides
    monkeypatch.setattr(selected_rows, "_sides", lambda of: plain([(p is not False, ends) for p, ends in of]))
    assert RULES["sum where"](rows) == (6, 8)
