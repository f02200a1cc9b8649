"""DuckDB: files, a DuckDB database or frames, in this process. All of its SQL is in this package."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sfumato.engines.duckdb.engine import DuckDB
from sfumato.engines.duckdb.prepared_file import PreparedFile, look
from sfumato.engines.duckdb.relations import stored_scans
from sfumato.policy import Policy, with_types


def open_engine(
    policy: Policy, frames: dict[str, Any] | None = None, *, prepared: bool = False, later: bool = False
) -> DuckDB:
    """The engine of a policy; with `prepared`, over the rows that the owner prepared, if they are the policy's."""
    return DuckDB(policy, frames, prepared=_prepared(policy) if prepared else None, later=later)


def _prepared(policy: Policy) -> PreparedFile | None:
    """The rows that the owner prepared, if they are what this policy would read now (semantics 1.4)."""
    found = look(policy, policy.version_at(datetime.now(UTC)))
    if found is None or stored_scans(with_types(policy, found.schemas), found.scans) != found.scans:
        return None
    return found


__all__ = ["DuckDB", "open_engine"]
