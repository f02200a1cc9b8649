"""Events that tell two neighbours apart: cells ordered by how much likelier one side makes them.

Comes in: training outputs of both sides. Goes out: the event whose lower bound looks best on outputs that the order was
not made from. By the lemma of Neyman and Pearson the best event of each size is a beginning of that order. Nothing here
certifies: that is for fresh outputs alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.outputs import OutputTable, show_row
from sfumato.audit.views import View, views_of
from sfumato.audit.worth import Worth, estimate

_PREVIEW = 4000
"""Runs of each side that say which views are worth more."""
_SHOWN = 2000
"""Runs among which an example is looked for."""
_CAREFUL = 2.7
"""Standard errors down by which a view is fitted, however few runs there are."""
_PLAIN = 0.02
"""How much less an event that is all beyond one number may promise, and still come first: its cells were not chosen."""
_WORTH = 4
"""Events whose views are looked at with all runs."""


@dataclass(frozen=True)
class OutputEvent:
    """A set of outputs, likelier for the first neighbour (`forward`) or for the second one."""

    view: View
    members: NDArray[np.int64]
    forward: bool
    promise: float
    example: str = "none seen"

    def count(self, outputs: OutputTable) -> int:
        """How many of these outputs are in it."""
        return int(np.isin(self.view.cells(outputs), self.members).sum())

    def shown(self, outputs: OutputTable) -> OutputEvent:
        """The same with an example from these outputs, if one of the first is in it."""
        outputs = outputs.rows(0, _SHOWN)
        inside = np.flatnonzero(np.isin(self.view.cells(outputs), self.members))
        return replace(self, example=show_row(outputs, int(inside[0]))) if inside.size else self

    @property
    def words(self) -> str:
        """For people."""
        said = None if self.view.say is None else self.view.say(self.members)
        if said is not None:
            return f"{said}, for example {self.example}"
        cells = f"{len(self.members)} cells" if len(self.members) > 1 else "one cell"
        return f"{self.view.name}: {cells}, for example {self.example}"


def best_events(
    one: OutputTable, other: OutputTable, *, delta: float, sure: float, few: bool = False
) -> list[OutputEvent]:
    """For each view and direction the event with the best estimated lower bound, `sure` standard errors down; the most
    promising first. Where there are many runs, a part of them says which views are worth all.
    """
    named = None
    if min(len(one), len(other)) > 4 * _PREVIEW:
        tried = best_events(one.rows(0, _PREVIEW), other.rows(0, _PREVIEW), delta=delta, sure=1.0, few=few)
        named = {event.view.name for event in tried[:_WORTH]}
        # what looks at sizes is kept beside what looks at bits, and a score beside single cells
        named |= {event.view.name for event in tried if event.view.ordered}
        named |= {event.view.name for event in [e for e in tried if not e.view.bits][:1]}
    worth = partial(estimate, delta=delta, sure=sure)
    fitting = partial(estimate, delta=delta, sure=max(sure, _CAREFUL))
    half = len(one) // 2, len(other) // 2
    fit = one.rows(0, half[0]), other.rows(0, half[1])
    look = one.rows(half[0], len(one)), other.rows(half[1], len(other))
    events = [
        event for view in views_of(*fit, fitting, few=few, named=named) for event in _events_of(view, fit, look, worth)
    ]
    return sorted(events, key=lambda event: -event.promise - (_PLAIN if event.view.ends else 0.0))


def _events_of(
    view: View, fit: tuple[OutputTable, OutputTable], look: tuple[OutputTable, OutputTable], worth: Worth
) -> Iterator[OutputEvent]:
    cells_of = view.cells(fit[0]), view.cells(fit[1])
    ordered = np.unique(np.concatenate(cells_of))[::-1] if view.ordered else _ordered(*cells_of)
    seen = view.cells(look[0]), view.cells(look[1])
    for forward in (True, False):
        cells = ordered if forward else ordered[::-1]
        first, second = seen if forward else seen[::-1]
        often, seldom = _running(first, cells), _running(second, cells)
        bounds = worth(often, len(first), seldom, len(second))
        best = int(np.argmax(bounds))
        yield OutputEvent(view, np.sort(cells[: best + 1]), forward, float(bounds[best]))


def _ordered(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cells by smoothed likelihood ratio, the first side's favourites first."""
    cells, place = np.unique(np.concatenate([first, second]), return_inverse=True)
    a = np.bincount(place[: len(first)], minlength=len(cells)) / len(first)
    b = np.bincount(place[len(first) :], minlength=len(cells)) / len(second)
    unit = 1 / len(first) + 1 / len(second)
    ratio = np.log((a + unit / 2) / (b + unit / 2))
    return np.asarray(cells[np.argsort(-ratio, kind="stable")])


def _running(seen: NDArray[np.int64], cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """How many of `seen` lie in the first 1, 2, ... cells."""
    order = np.argsort(cells)
    found = np.searchsorted(cells[order], seen)
    found = np.minimum(found, len(cells) - 1)
    there = cells[order][found] == seen
    counts = np.bincount(order[found[there]], minlength=len(cells))
    return np.asarray(np.cumsum(counts), float)
