"""Aggregates over private rows: one file each, one line in the table."""

from sfumato.sql.aggregates.base import Kind
from sfumato.sql.aggregates.count import COUNT, COUNT_PERSONS
from sfumato.sql.aggregates.mean import AVG
from sfumato.sql.aggregates.total import SUM

AGGREGATES: dict[str, Kind] = {kind.name: kind for kind in (COUNT, COUNT_PERSONS, SUM, AVG)}
"""Every aggregate by name."""

__all__ = ["AGGREGATES", "Kind"]
