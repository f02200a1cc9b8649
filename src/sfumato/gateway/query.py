"""A query as it comes in from every interface: the text, and the options as they were written."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from sfumato.errors import InputError
from sfumato.types import certainty

OWNER = "owner"
"""The name under which the owner asks: the owner has no share of the budget."""
AUTO: Literal["auto"] = "auto"
"""The noise with the narrower intervals for the same price: see `which_noise`; the rows that count: see `auto_rows`."""
Rows = int | Literal["auto"] | None
NOISES = ("geometric", "gaussian", AUTO)
_WRITTEN = (type(None), str, int, float, Decimal, Fraction)


class QueryTime(NamedTuple):
    """When a query came in: the day that now() stands for, and which rows there are, where rows change by themselves
    (`Engine.marker`).
    """

    day: date
    rows: str = ""


class Query(NamedTuple):
    """SQL with its options. An option that is None is left to the policy; `within` chooses epsilon by a width."""

    sql: str
    epsilon: Any = None
    rows_per_unit: Rows = None
    noise: str | None = None
    within: Any = None
    confidence: Any = Fraction(95, 100)

    def checked(self) -> Query:
        """The same with its confidence as a number; InputError where it is none."""
        return self._replace(confidence=certainty(self.confidence))

    @staticmethod
    def given(query: Query) -> Query:
        """What was given, if it is a query; text belongs to `sql` and `explain`, which have the options."""
        if isinstance(query, Query):
            return query
        raise InputError("not a Query", hint="Pass SQL text to gateway.sql(…) or gateway.explain(…).")

    def key(self, at: QueryTime) -> Hashable | None:
        """The query at a moment as a key of a cache: options by type too, since True is 1 for Python alone.

        None where an option cannot be a part of a key.
        """
        kinds = [type(value) for value in self[1:]]
        if any(kind not in _WRITTEN for kind in kinds):
            return None
        return (*self, *kinds, at.day.toordinal(), at.rows)
