"""Looking for the pair and the event that would give a black box away: everything before certification.

Comes in: a Subject. Goes out: events, the most promising first. Nothing here accuses: runs that chose are not counted
again.
"""

from __future__ import annotations

import math

from sfumato.audit.events import OutputEvent, best_events
from sfumato.audit.outputs import OutputTable, together
from sfumato.audit.subjects import Subject

_SURE = 2.0
"""Standard errors of the training runs by which a bound will lie below its estimate: 3.4 of the certifying runs, which
are about ten times as many as those that choose, and one for the choice.
"""
_FINAL = 4
"""Pairs that are left to the certifying runs."""


class Finder:
    """Which pair and which event. What it draws to find them is never counted to certify."""

    def __init__(self, subject: Subject, delta: float) -> None:
        self.subject, self.delta, self.runs = subject, delta, 0
        self._held: dict[int, tuple[list[OutputTable], list[OutputTable]]] = {
            i: ([], []) for i in range(len(subject.pairs))
        }

    def draw(self, number: int, side: int, count: int) -> OutputTable:
        """Fresh runs of one side of a pair."""
        self.runs += count
        return self.subject.sample(self.subject.pairs[number][side], count)

    def search(self, samples: int) -> list[tuple[int, OutputEvent]]:
        """The events to certify, with the pairs that they are of, the most promising first.

        Many pairs get few runs, the promising ones more: a quarter of the field goes on, and at most four of it are
        left to fresh runs, which alone can tell them apart.
        """
        field = list(range(len(self.subject.pairs)))
        rounds = max(1, math.ceil(math.log(len(field), 4)))
        events: dict[int, list[OutputEvent]] = {}
        for turn in range(1, rounds + 1):
            each = max(40, samples // len(field))
            last = turn == rounds
            for i in field:
                self._draw_to_train(i, each)
            events = {i: self._trained(i, sure=_SURE if last else 1.0, few=True) for i in field}
            field = sorted(field, key=lambda i: -events[i][0].promise)
            field = field if last else field[: (len(field) + 3) // 4]
        first = self._trained(field[0], sure=_SURE)  # it alone is looked at in every way
        # beside an event of bits one of sizes, which says whether the noise itself is right; else the other direction
        bits = first[0].view.bits
        others = [e for e in first if (not e.view.bits if bits else e.forward != first[0].forward)]
        beside = [(field[0], other) for other in others[:1]]
        chosen = [(field[0], first[0]), *beside, *((i, events[i][0]) for i in field[1:_FINAL])]
        return [(i, event.shown(self._held[i][0 if event.forward else 1][-1])) for i, event in chosen]

    def _draw_to_train(self, number: int, count: int) -> None:
        for side in (0, 1):
            self._held[number][side].append(self.draw(number, side, count))

    def _trained(self, number: int, *, sure: float, few: bool = False) -> list[OutputEvent]:
        """Events of one pair by the runs that are held of it, the most promising first."""
        one, other = (together(side) for side in self._held[number])
        places = max(one.numbers.shape[1], other.numbers.shape[1])
        sides = _mixed(one.wide(places)), _mixed(other.wide(places))
        return best_events(*sides, delta=self.delta, sure=sure, few=few)


def _mixed(outputs: OutputTable) -> OutputTable:
    """Every other run first: both halves of the training then have early and late runs."""
    halves = slice(0, None, 2), slice(1, None, 2)
    return together([OutputTable(outputs.numbers[half], outputs.symbols[half]) for half in halves])
