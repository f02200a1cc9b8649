"""What an engine is: something that holds the owner's tables and runs the SQL that `sql` wrote, nothing else.

Comes in: engine SQL. Goes out: group keys in the clear, sums sealed as Exact. Whatever an engine says when it fails
goes to the operator's log; the analyst sees one fixed sentence (semantics 6.2).
"""

from __future__ import annotations

import logging
from typing import Any, Protocol

from sfumato.errors import EngineError
from sfumato.policy import Table
from sfumato.words import Exact, Sheet

OPERATOR = logging.getLogger("sfumato.operator")


class Engine(Protocol):
    """One connection to the owner's data."""

    def run(
        self, sql: str, keys: int, sheets: tuple[Sheet, ...] = (), salt: str | None = None
    ) -> list[tuple[tuple[Any, ...], Exact]]:
        """Rows as (group, sealed sums); the first `keys` columns are the group.

        `sheets` are released tables, `salt` is the hash key for SQL that hashes.
        """

    def run_public(self, sql: str, sheets: tuple[Sheet, ...] = ()) -> list[tuple[Any, ...]]:
        """Rows of public and released tables, in the clear."""

    def schema(self, table: Table) -> dict[str, str]:
        """The columns of a table with their types, in the policy's words, as its source declares them."""

    def keep(self, scans: dict[str, str]) -> None:
        """Keep each table as this SELECT gives it, if that saves work: what a question sees stays the same."""

    def stored(self) -> frozenset[str]:
        """The tables that are kept so."""

    def unique(self) -> frozenset[str]:
        """Tables in which each person surely has one row: for the choice of a plan, and nothing else."""

    def counted(self) -> dict[str, tuple[str, ...]]:
        """Tables that are prepared, and what is stored of them, by its names: for the choice of a plan, too."""

    def salt(self) -> str:
        """The hash key by which a person's open keys are kept: a new one each time, or that of the prepared rows."""

    def views(self) -> dict[str, str]:
        """The tables of the policy that are views in the source, with their queries."""

    def close(self) -> None:
        """Let go of the data."""


def failure(error: Exception, *, paid: bool = True) -> EngineError:
    """The one sentence for every cause; the cause goes to the operator."""
    OPERATOR.error("engine failure: %s", error)
    return EngineError(
        "the engine could not run this question",
        detail="The debit stands." if paid else None,
        hint="Ask the owner: the operator's log has the cause.",
    )
