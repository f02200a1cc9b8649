"""PostgreSQL: tables on a live server, read where they are. All SQL of its dialect is in this package."""

from __future__ import annotations

from sfumato.engines.postgres.engine import PostgreSQL

__all__ = ["PostgreSQL"]
