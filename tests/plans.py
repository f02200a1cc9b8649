"""The plan of a query, as a gateway makes it."""

from __future__ import annotations

from typing import Any

from sfumato.gateway import Gateway, Query
from sfumato.sql.release.plan import Plan


def plan_of(gate: Gateway, sql: str, epsilon: Any = None, *, rows: int | None = None, noise: str | None = None) -> Plan:
    """Made anew, under its own digest."""
    return gate._planner.fresh(Query(sql, epsilon, rows, noise), gate._clock().date())
