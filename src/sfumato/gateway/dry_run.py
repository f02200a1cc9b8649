"""The dry run of a query before anything is charged: below the releases on empty tables, above them over zeros.

Comes in: a plan and an engine. Goes out: nothing, or a QueryError: what the text alone can break is found here, for
free, and counts as no failure of the engine.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato.algebra.finished_tables import FinishedTable
from sfumato.algebra.post_processing import PostProcessing
from sfumato.engines import Engine
from sfumato.errors import EngineError, QueryError
from sfumato.gateway.answer import FREE, build
from sfumato.gateway.answer_codec import first_groups, nothing
from sfumato.gateway.run_and_sample import dry_run
from sfumato.sql.release.plan import Plan


class DryRun:
    """Dry runs over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def below(self, asked: Plan) -> None:
        """The jobs of a plan, on empty tables of the same types: nothing that is known of rows enters."""
        try:
            dry_run(self._engine, _few(asked), nothing(asked, rows=1))
        except EngineError:
            raise QueryError(
                "the engine cannot run this query",
                hint="Rewrite the query; nothing was charged, and the operator's log has the cause.",
            ) from None

    def above(self, asked: Plan) -> None:
        """What lies above the releases, once over zeros, and the jobs as the engine writes them: what cannot be
        computed is refused before anything is paid.
        """
        for cut in asked.cuts:
            for part in cut.parts:
                self._engine.compile(part.job)
        of: dict[str, Any] = {"cost": FREE, "remaining": FREE, "receipt": None, "confidence": Fraction(1, 2)}
        build(_few(asked), nothing(asked, rows=1), finish=self._rehearse, **of)

    def _rehearse(self, last: PostProcessing, released: tuple[FinishedTable, ...]) -> list[tuple[Any, ...]]:
        try:
            return self._engine.rehearse(last, released)
        except EngineError:
            raise QueryError(
                "the post-processing of the released numbers cannot be computed", sqlstate="22000"
            ) from None


def _few(asked: Plan) -> Plan:
    """The plan with one group in each grouping set."""
    return replace(asked, cuts=tuple(first_groups(part) for part in asked.cuts))
