"""The rehearsal: what lies above the cut of a question, computed once over zeros before anything is paid.

Comes in: a plan, and what runs SQL over released numbers. Goes out: nothing, or a QueryError.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sfumato.errors import EngineError, QueryError
from sfumato.gateway.answer import FREE, build
from sfumato.gateway.keeping import first_groups, nothing
from sfumato.sql.plan import Plan
from sfumato.words import Sheet

_REMEMBERED = 1024
"""Rehearsals that are held once."""


class Rehearsal:
    """Rehearsals over one engine."""

    def __init__(self, run: Callable[[str, tuple[Sheet, ...]], list[tuple[Any, ...]]]) -> None:
        self._run, self.tried = run, lru_cache(maxsize=_REMEMBERED)(self._try_above)

    def of(self, asked: Plan) -> None:
        """What lies above the cut, once over zeros: what cannot be computed is refused before anything is paid."""
        draws = nothing(asked, rows=1)
        build(
            replace(asked, cuts=tuple(first_groups(part) for part in asked.cuts)),
            draws,
            run=self._run_above,
            cost=FREE,
            remaining=FREE,
            receipt=None,
            confidence=Fraction(1, 2),
        )

    def _run_above(self, sql: str, released: tuple[Sheet, ...]) -> list[tuple[Any, ...]]:
        """The same statement over the same zeros is the same rehearsal: it is held once."""
        frozen = tuple((sheet.name, sheet.columns, tuple(map(tuple, sheet.values))) for sheet in released)
        return self.tried(sql, frozen)

    def _try_above(self, sql: str, released: tuple[tuple[Any, ...], ...]) -> list[tuple[Any, ...]]:
        try:
            return self._run(sql, tuple(Sheet(*sheet) for sheet in released))
        except EngineError:
            raise QueryError("what is asked of the released numbers cannot be computed", sqlstate="22000") from None
