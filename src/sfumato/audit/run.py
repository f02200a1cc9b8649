"""The audit itself: look for a pair and an event, then certify on fresh runs, looking early and often enough to stop.

Comes in: a Subject and a claim. Goes out: a Verdict, "refuted" or "consistent". A black box that was run a finite
number of times can be caught, never cleared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.audit.bounds import bound_above, bound_below, delta_from, epsilon_from
from sfumato.audit.events import Event, best_events
from sfumato.audit.neighbours import Pair
from sfumato.audit.outputs import Outputs, together
from sfumato.audit.subjects import Subject
from sfumato.words import show, whole

MISS = Fraction(1, 1000)
"""The whole audit accuses an innocent with at most this probability."""
_LOOKS = ((0.125, 0.05), (0.375, 0.1), (1.0, 0.85))
"""After which part of the certifying runs a look is taken, and which part of the error it may use."""
_EVENTS = (0.75, 0.25)
"""Events that are certified, the most promising first, and which part of the error each may use."""
_SURE = 2.7
"""Standard errors of the training runs by which a bound will lie below its estimate: 3.4 of the certifying runs, which
are four times as many as those that choose, and one for the choice.
"""
FEWEST = 200


@dataclass(frozen=True)
class Verdict:
    """What was found. `epsilon` and `delta` are lower bounds that hold at `confidence`."""

    name: str
    claim: Fraction
    claim_delta: Fraction
    epsilon: float
    delta: float
    refuted: bool
    runs: int
    pair: Pair | None
    event: str
    sizes: float = 0.0
    """The bound on epsilon by events that do not look at how numbers are stored."""
    confidence: Fraction = 1 - MISS

    @property
    def words(self) -> str:
        """One line: refuted or consistent."""
        sure = f"{show(100 * self.confidence)} %"
        claim = show(self.claim) + (f", delta {show(self.claim_delta)}" if self.claim_delta else "")
        if not self.refuted:
            return f"consistent: could not tell from {claim}"
        if self.claim_delta:
            return f"refuted: delta >= {_down(self.delta, self.claim_delta)} at epsilon {show(self.claim)}, at {sure}"
        return f"refuted: epsilon >= {_down(self.epsilon, self.claim)} at {sure}"

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "subject": self.name,
            "claim": {"epsilon": str(self.claim), "delta": str(self.claim_delta)},
            "verdict": "refuted" if self.refuted else "consistent",
            "words": self.words,
            "epsilon_at_least": self.epsilon,
            "delta_at_least": self.delta,
            "confidence": show(self.confidence),
            "epsilon_at_least_by_size": self.sizes,
            "runs": self.runs,
            "pair": None if self.pair is None else [repr(side) for side in self.pair],
            "event": self.event,
        }


def _down(number: float, claim: Fraction) -> str:
    """Three significant digits, toward zero; more where fewer would not exceed the claim that it refutes."""
    text = "0"
    for digits in range(3, 13):
        step = 10.0 ** (math.floor(math.log10(number)) - digits + 1)
        text = f"{math.floor(number / step) * step:.{digits}g}"
        if Fraction(text) > claim:
            break
    return text


def audit(subject: Subject, epsilon: Fraction, delta: Fraction = Fraction(0), samples: int = 100_000) -> Verdict:
    """A lower bound on what a black box spends, and whether it refutes the claim.

    `samples` is how often each side of a pair is run to certify; looking for the pair and training take less than that
    again.

    Guarantee: a subject that is (epsilon, delta)-private for all of its pairs is refuted with probability at most
        1/1000.
    Proof: pairs, views, cells and events are chosen on runs that are not used again. For a fixed event E the claim
        says P(E) <= e^epsilon Q(E) + delta. Each look at each event has its part of the error, half of it for a lower
        bound of P and half for an upper bound of Q; by the union bound all of them hold together with probability at
        least 1 - MISS, whenever the looking stops.
    Reference: Clopper and Pearson 1934; Bichsel, Steffen, Bogunovic, Vechev, S&P 2021 (events by likelihood).
    Checked by: attacks::an_honest_mechanism_is_not_accused, attacks::bounds_cover,
        attacks::a_wrong_mechanism_is_refuted, attacks::an_event_is_not_certified_on_what_it_was_chosen_from
    """
    samples = whole(samples, "samples", FEWEST)
    finder = _Finder(subject, float(delta))
    found = finder.search(samples)
    best = _Best()
    counted = [[0, 0] for _ in found]
    upto = 0
    for part, share in _LOOKS:
        fresh, upto = max(1, int(samples * part)) - upto, max(1, int(samples * part))
        drawn: dict[int, tuple[Outputs, Outputs]] = {}
        for (number, event), part_of_error, counts in zip(found, _EVENTS, counted, strict=False):
            if number not in drawn and fresh:
                drawn[number] = finder.draw(number, 0, fresh), finder.draw(number, 1, fresh)
            for side in (0, 1) if fresh else ():
                counts[side] += event.count(drawn[number][side])
            miss = float(MISS) * share * part_of_error / 2
            claim = float(epsilon), float(delta)
            best.look(event, finder.subject.pairs[number], counts, runs=upto, miss=miss, claim=claim)
        if best.refutes(epsilon, delta):
            break
    return Verdict(
        subject.name,
        Fraction(epsilon),
        Fraction(delta),
        best.epsilon,
        best.delta,
        best.refutes(epsilon, delta),
        finder.runs,
        best.pair,
        best.words,
        best.sizes,
    )


class _Best:
    """The best bounds so far."""

    def __init__(self) -> None:
        self.epsilon = self.delta = self.sizes = 0.0
        self.pair: Pair | None = None
        self.words = ""

    def look(
        self, event: Event, pair: Pair, counts: list[int], *, runs: int, miss: float, claim: tuple[float, float]
    ) -> None:
        """How often the event was seen among so many certifying runs of each side."""
        first, second = counts if event.forward else counts[::-1]
        often, seldom = bound_below(first, runs, miss), bound_above(second, runs, miss)
        epsilon, delta = epsilon_from(often, seldom, claim[1]), delta_from(often, seldom, claim[0])
        self.delta = max(self.delta, delta)
        if not event.view.bits:
            self.sizes = max(self.sizes, epsilon)
        if epsilon > self.epsilon or self.pair is None:
            self.epsilon, self.words = max(self.epsilon, epsilon), event.words
            self.pair = pair if event.forward else (pair[1], pair[0])

    def refutes(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether the claim cannot hold; both tests say the same but for rounding, so both must."""
        return self.epsilon > float(epsilon) + 1e-9 and (not delta or self.delta > float(delta))


class _Finder:
    """Which pair and which event: everything before certification."""

    def __init__(self, subject: Subject, delta: float) -> None:
        self.subject, self.delta, self.runs = subject, delta, 0

    def draw(self, number: int, side: int, count: int) -> Outputs:
        """Fresh runs of one side of a pair."""
        self.runs += count
        return self.subject.sample(self.subject.pairs[number][side], count)

    def search(self, samples: int) -> list[tuple[int, Event]]:
        """The events to certify. Many pairs get few runs, the promising ones more: a quarter of the field goes on."""
        field = list(range(len(self.subject.pairs)))
        held: dict[int, tuple[list[Outputs], list[Outputs]]] = {i: ([], []) for i in field}
        rounds = math.ceil(math.log(len(field), 4))
        events: dict[int, list[Event]] = {}
        for turn in range(1, rounds + 1):  # later rounds, which decide, get more
            each = max(40, 2 * turn * samples // (rounds * (rounds + 1)) // len(field))
            events = {i: self._train(i, held[i], each, sure=1.0, few=True) for i in field}
            field = sorted(field, key=lambda i: -events[i][0].promise)[: max(1, (len(field) + 3) // 4)]
        first = field[0]
        have = sum(map(len, held[first][0]))
        trained = self._train(first, held[first], max(40, samples // 2 - have), sure=_SURE)
        chosen = [(first, trained[0])]
        # beside an event of bits one of sizes, which says whether the noise itself is right; else the other direction
        bits = trained[0].view.bits
        others = [e for e in trained if (not e.view.bits if bits else e.forward != trained[0].forward)]
        return chosen + [(first, event) for event in others[: len(_EVENTS) - 1]]

    def _train(
        self, number: int, held: tuple[list[Outputs], list[Outputs]], count: int, *, sure: float, few: bool = False
    ) -> list[Event]:
        """Events of one pair, the most promising first."""
        for side in (0, 1):
            held[side].append(self.draw(number, side, count))
        one, other = (together(side) for side in held)
        places = max(one.numbers.shape[1], other.numbers.shape[1])
        sides = _mixed(one.wide(places)), _mixed(other.wide(places))
        return best_events(*sides, delta=self.delta, sure=sure, few=few)


def _mixed(outputs: Outputs) -> Outputs:
    """Every other run first: both halves of the training then have early and late runs."""
    halves = slice(0, None, 2), slice(1, None, 2)
    return together([Outputs(outputs.numbers[half], outputs.symbols[half]) for half in halves])
