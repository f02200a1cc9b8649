"""Aggregates over private rows: one file each, one line in the table."""

from sfumato.sql.aggregates.base import AggregateKind
from sfumato.sql.aggregates.count import COUNT, COUNT_PERSONS
from sfumato.sql.aggregates.distinct import COUNT_DISTINCT, SUM_DISTINCT
from sfumato.sql.aggregates.mean import AVG, ENDS
from sfumato.sql.aggregates.order import ORDERS
from sfumato.sql.aggregates.pair import PAIRS
from sfumato.sql.aggregates.spread import SPREADS, THIRDS
from sfumato.sql.aggregates.total import SUM
from sfumato.sql.aggregates.truth import TRUTHS

AGGREGATES: dict[str, AggregateKind] = {
    kind.name: kind
    for kind in (COUNT, COUNT_PERSONS, COUNT_DISTINCT, SUM, SUM_DISTINCT, AVG, *SPREADS, *PAIRS, *TRUTHS, *ORDERS)
}
"""Every aggregate by name."""
JOINTS = (THIRDS, ENDS)
"""Sums that several aggregates of one argument come of; the first that is wanted is taken."""

__all__ = ["AGGREGATES", "JOINTS", "AggregateKind"]
