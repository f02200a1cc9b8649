"""Aggregates over private rows: one file each, one line in the table."""

from sfumato.sql.aggregates.base import Kind
from sfumato.sql.aggregates.count import COUNT, COUNT_PERSONS
from sfumato.sql.aggregates.distinct import COUNT_DISTINCT
from sfumato.sql.aggregates.mean import AVG
from sfumato.sql.aggregates.order import ORDERS
from sfumato.sql.aggregates.pair import PAIRS
from sfumato.sql.aggregates.spread import SPREADS
from sfumato.sql.aggregates.total import SUM
from sfumato.sql.aggregates.truth import TRUTHS

AGGREGATES: dict[str, Kind] = {
    kind.name: kind for kind in (COUNT, COUNT_PERSONS, COUNT_DISTINCT, SUM, AVG, *SPREADS, *PAIRS, *TRUTHS, *ORDERS)
}
"""Every aggregate by name."""

__all__ = ["AGGREGATES", "Kind"]
