"""Engines: one file each, one line in the table."""

from collections.abc import Callable
from typing import Any

from sfumato.engines.base import Engine
from sfumato.engines.prepared import Prepared
from sfumato.errors import PolicyError
from sfumato.policy import Policy


def _duckdb(policy: Policy, frames: dict[str, Any] | None, prepared: Prepared | None, later: bool) -> Engine:
    from sfumato.engines.duckdb import DuckDB

    return DuckDB(policy, frames, prepared=prepared, later=later)


ENGINES: dict[str, Callable[[Policy, dict[str, Any] | None, Prepared | None, bool], Engine]] = {"duckdb": _duckdb}
"""Every engine by name."""


def connect(
    policy: Policy, frames: dict[str, Any] | None = None, prepared: Prepared | None = None, *, later: bool = False
) -> Engine:
    """The engine that the policy names; tables that are `prepared` are not loaded again, others at once or `later`."""
    if policy.source.engine not in ENGINES:
        raise PolicyError(f'engine "{policy.source.engine}" is not supported yet', hint='Use engine = "duckdb".')
    return ENGINES[policy.source.engine](policy, frames, prepared, later)


__all__ = ["ENGINES", "Engine", "connect"]
