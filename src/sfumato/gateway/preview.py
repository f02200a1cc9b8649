"""The free preview: cost, law, scale, expected interval, budget before and after; no data is touched for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.gateway.answer import Spent, law_of, width_of
from sfumato.sql.plain import Plain
from sfumato.sql.plan import Plan
from sfumato.words import as_written, show


@dataclass(frozen=True)
class PreviewColumn:
    """What is known of a column before it is asked for."""

    name: str
    law: str
    scale: Fraction | None
    note: str
    _width: Callable[[Fraction], Fraction | None]

    def half_width(self, confidence: Any = Fraction(95, 100)) -> Fraction | None:
        """± at this confidence, where it does not depend on the answer."""
        return self._width(as_written(confidence, "confidence"))


@dataclass(frozen=True)
class Preview:
    """A question before it is asked; `refused` is None or the error that asking would raise."""

    refused: SfumatoError | None
    cost: Spent | None = None
    before: Spent | None = None
    after: Spent | None = None
    columns: tuple[PreviewColumn, ...] = ()
    notes: tuple[tuple[str | None, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """One document for all doors."""
        return {
            "refused": None if self.refused is None else self.refused.to_dict(),
            "cost": None if self.cost is None else self.cost.to_dict(),
            "before": None if self.before is None else self.before.to_dict(),
            "after": None if self.after is None else self.after.to_dict(),
            "columns": [
                {
                    "name": c.name,
                    "law": c.law,
                    "scale": None if c.scale is None else str(c.scale),
                    "half_width": None if (width := c.half_width()) is None else str(width),
                    "note": c.note,
                }
                for c in self.columns
            ],
            "notes": [list(note) for note in self.notes],
        }


def exact_columns(asked: Plain) -> tuple[PreviewColumn, ...]:
    """The columns of a question about public rows."""
    names = [name for name, _ in asked.question.items]
    return tuple(PreviewColumn(name, "exact", None, "this table is public", lambda _: None) for name in names)


def columns_of(plan: Plan) -> tuple[PreviewColumn, ...]:
    """The columns of a plan, as a preview shows them."""
    result = []
    sources = dict(plan.sources)
    for name, node in plan.question.items:
        law, scale = law_of(plan, node)
        note = ""
        if law == "geometric":
            released = plan.bundles[sources[node].bundle]  # type: ignore[index]
            note = f"one person changes it by at most {show(released.sensitivity)} in all groups together"
        elif law == "derived":
            note = "its interval depends on the answer"
        result.append(PreviewColumn(name, law, scale, note, partial(width_of, plan, node)))
    return tuple(result)
