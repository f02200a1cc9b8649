"""Engines: one package each, one line in the table."""

from collections.abc import Callable
from typing import Any

from sfumato.engines.base import Engine
from sfumato.errors import PolicyError
from sfumato.policy import ROW, Policy


def _duckdb(policy: Policy, frames: dict[str, Any] | None, prepared: bool, later: bool) -> Engine:
    from sfumato.engines.duckdb import open_engine

    return open_engine(policy, frames, prepared=prepared, later=later)


def _postgres(policy: Policy, frames: dict[str, Any] | None, prepared: bool, later: bool) -> Engine:  # noqa: ARG001  rows stay where they are
    from sfumato.engines.postgres import PostgreSQL

    return PostgreSQL(policy)


def _spark(policy: Policy, frames: dict[str, Any] | None, prepared: bool, later: bool) -> Engine:  # noqa: ARG001  rows stay where they are
    from sfumato.engines.spark import Spark

    return Spark(policy)


ENGINES: dict[str, Callable[[Policy, dict[str, Any] | None, bool, bool], Engine]] = {
    "duckdb": _duckdb,
    "postgres": _postgres,
    "spark": _spark,
}
"""Every engine by name."""


def connect(
    policy: Policy, frames: dict[str, Any] | None = None, *, prepared: bool = False, later: bool = False
) -> Engine:
    """The engine that the policy names; rows that were `prepared` are not loaded again, others at once or `later`."""
    if policy.source.engine not in ENGINES:
        hint = 'Use engine = "duckdb", "postgres" or "spark".'
        raise PolicyError(f'engine "{policy.source.engine}" is not supported yet', hint=hint)
    if policy.source.engine != "duckdb" and any(table.unit == ROW for table in policy.tables.values()):
        hint = "Name a column that identifies a person."
        raise PolicyError(f'unit = "row" needs engine = "duckdb", not "{policy.source.engine}"', hint=hint)
    return ENGINES[policy.source.engine](policy, frames, prepared, later)


__all__ = ["ENGINES", "Engine", "connect"]
