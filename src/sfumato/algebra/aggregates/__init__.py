"""Aggregates over private rows: one file each, one line in the table."""

from sfumato.algebra.aggregates.base import AggregateKind
from sfumato.algebra.aggregates.count import COUNT, COUNT_PERSONS
from sfumato.algebra.aggregates.distinct import COUNT_DISTINCT, SUM_DISTINCT
from sfumato.algebra.aggregates.mean import AVG, ENDS
from sfumato.algebra.aggregates.order import ORDERS
from sfumato.algebra.aggregates.pair import PAIRS
from sfumato.algebra.aggregates.spread import SPREADS, THIRDS
from sfumato.algebra.aggregates.total import SUM
from sfumato.algebra.aggregates.truth import TRUTHS

AGGREGATES: dict[str, AggregateKind] = {
    kind.name: kind
    for kind in (COUNT, COUNT_PERSONS, COUNT_DISTINCT, SUM, SUM_DISTINCT, AVG, *SPREADS, *PAIRS, *TRUTHS, *ORDERS)
}
"""Every aggregate by name."""
JOINTS = (THIRDS, ENDS)
"""Sums that several aggregates of one argument come of; the first that is wanted is taken."""

__all__ = ["AGGREGATES", "JOINTS", "AggregateKind"]
