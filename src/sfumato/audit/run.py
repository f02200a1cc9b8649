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
from sfumato.audit.events import OutputEvent
from sfumato.audit.find import Finder
from sfumato.audit.neighbours import Pair
from sfumato.audit.subjects import Subject
from sfumato.sampling import source
from sfumato.types import show, whole

MISS = Fraction(1, 1000)
"""The whole audit accuses an innocent with at most this probability."""
_LOOKS = ((0.125, 0.04, 2), (0.375, 0.06, 1), (1.0, 0.5, 1), (4.0, 0.2, 1), (16.0, 0.2, 1))
"""After which part of the certifying runs a look is taken, which part of the error it may use, and how many pairs go on
from it.
"""
_EVENTS = (0.45, 0.2, 0.15, 0.1, 0.1)
"""Events that are certified, the most promising first, and which part of the error each may use."""
_PURE = 0.8
"""Which part of the error a claim without delta gives to its own test; the rest is for the bound on delta."""
_ODD = {4.0: 1.0, 16.0: 2.0}
"""Looks that are taken only where what was seen lies so many standard errors above the claim."""
FEWEST = 200


@dataclass(frozen=True)
class AuditVerdict:
    """The result of an audit. `epsilon` and `delta` are lower bounds that hold at `confidence`."""

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
        """One line: refuted, or no violation found."""
        sure = f"{show(100 * self.confidence)} %"
        claim = show(self.claim) + (f", delta {show(self.claim_delta)}" if self.claim_delta else "")
        if not self.refuted:
            return f"no violation found at the claimed epsilon {claim}"
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


def audit(subject: Subject, epsilon: Fraction, delta: Fraction = Fraction(0), samples: int = 100_000) -> AuditVerdict:
    """A lower bound on the privacy loss of a black box, and whether it refutes the claim.

    `samples` is about how often each side of the best pair is run to certify, and up to sixteen times that where what
    was seen lies above the claim; looking for pairs and events takes about `samples` again.

    Guarantee: a subject that is (epsilon, delta)-private for all of its pairs is refuted with probability at most
        1/1000.
    Proof: pairs, views, cells and events are chosen on runs that are not used again. For a fixed event E the claim
        says P(E) <= e^epsilon Q(E) + delta. A fair coin says for each certifying run of which side it is. Each look at
        each event has its part of the error. With a delta, half of it is for a lower bound of P and half for an upper
        bound of Q. Without one, each run that lies in E is of the first side with probability P/(P + Q), independently,
        which is at most e^epsilon/(1 + e^epsilon): one bound of that probability is enough. By the union bound all of
        them hold together with probability at least 1 - MISS, whichever events go on and whenever the looking stops.
    Reference: Clopper and Pearson 1934; Przyborowski and Wilenski, Biometrika 1940 (the coin); Bichsel, Steffen,
        Bogunovic, Vechev, S&P 2021 (events by likelihood).
    Checked by: attacks::an_honest_mechanism_is_not_accused, attacks::bounds_cover,
        attacks::a_wrong_mechanism_is_refuted, attacks::an_event_is_not_certified_on_what_it_was_chosen_from
    """
    samples = whole(samples, "samples", FEWEST)
    finder, best = Finder(subject, float(delta)), _Best()
    claim = float(epsilon), float(delta)
    racing = [
        _Racer(number, event, part) for (number, event), part in zip(finder.search(samples), _EVENTS, strict=False)
    ]
    upto = 0
    for part, share, going in _LOOKS:
        if part in _ODD and not any(racer.above(claim) > _ODD[part] for racer in racing):
            break
        target = max(1, int(samples * part))
        while upto < target:  # in pieces: many runs of a long list would need much memory
            piece = min(samples, target - upto)
            _run(finder, racing, piece)
            upto += piece
        for racer in racing:
            best.look(racer, subject.pairs[racer.number], miss=float(MISS) * share, claim=claim)
        if best.refutes(claim):
            break
        racing.sort(key=lambda racer: -racer.above(claim))
        leading = list(dict.fromkeys(racer.number for racer in racing))[:going]
        racing = [racer for racer in racing if racer.number in leading]
    return AuditVerdict(
        subject.name,
        Fraction(epsilon),
        Fraction(delta),
        best.epsilon,
        best.delta,
        best.refutes(claim),
        finder.runs,
        best.pair,
        best.words,
        best.sizes,
    )


class _Racer:
    """An event of a pair on its way through the looks."""

    def __init__(self, number: int, event: OutputEvent, part: float) -> None:
        self.number, self.event, self.part, self.counts, self.runs = number, event, part, [0, 0], [0, 0]

    @property
    def seen(self) -> tuple[int, int]:
        """How often it was seen on the side that makes it likelier, and on the other."""
        return (self.counts[0], self.counts[1]) if self.event.forward else (self.counts[1], self.counts[0])

    @property
    def run(self) -> tuple[int, int]:
        """How often these sides were run."""
        return (self.runs[0], self.runs[1]) if self.event.forward else (self.runs[1], self.runs[0])

    def above(self, claim: tuple[float, float]) -> float:
        """By how many standard errors what was seen lies above the claim: this decides where to look, nothing else."""
        runs = max(1, min(self.runs))
        often, seldom = (count / max(1, total) for count, total in zip(self.seen, self.run, strict=True))
        factor = math.exp(min(claim[0], 300.0))
        spread = math.sqrt((often + factor**2 * max(seldom, 1 / runs)) / runs)
        return (often - factor * seldom - claim[1]) / spread


def _run(finder: Finder, racing: list[_Racer], runs: int) -> None:
    """Twice so many fresh runs of each pair, of which side a coin says, counted for every event."""
    for number in {racer.number: None for racer in racing}:
        first = source().word(2 * runs).bit_count()
        for side, count in enumerate((first, 2 * runs - first)):
            drawn = finder.draw(number, side, count) if count else None
            for racer in racing:
                if racer.number == number and drawn is not None:
                    racer.counts[side] += racer.event.count(drawn)
                    racer.runs[side] += count


class _Best:
    """The best bounds so far."""

    def __init__(self) -> None:
        self.epsilon = self.delta = self.sizes = 0.0
        self.pair: Pair | None = None
        self.words = ""
        self._named = -1.0  # the bound of the event that is named

    def look(self, racer: _Racer, pair: Pair, *, miss: float, claim: tuple[float, float]) -> None:
        """How often an event was seen among the certifying runs of each side; `miss` is for all events together."""
        event, (first, second), (runs, others) = racer.event, racer.seen, racer.run
        miss *= racer.part
        each = miss / 2 if claim[1] else miss * (1 - _PURE) / 2
        often, seldom = bound_below(first, runs, each), bound_above(second, others, each)
        delta = delta_from(often, seldom, claim[0])
        if claim[1]:
            epsilon = epsilon_from(often, seldom, claim[1])
        else:
            part = bound_below(first, first + second, miss * _PURE)
            epsilon = epsilon_from(part, 1 - part, 0.0)
        self.delta, self.epsilon = max(self.delta, delta), max(self.epsilon, epsilon)
        if not event.view.bits:
            self.sizes = max(self.sizes, epsilon)
        # an event of sizes that refutes the claim is named before one of bits: it says more
        named = epsilon + (1e3 if not event.view.bits and epsilon > claim[0] else 0.0)
        if named > self._named:
            self._named, self.words = named, event.words
            self.pair = pair if event.forward else (pair[1], pair[0])

    def refutes(self, claim: tuple[float, float]) -> bool:
        """Whether the claim cannot hold; both tests say the same but for rounding, so both must."""
        return self.epsilon > claim[0] + 1e-9 and (not claim[1] or self.delta > claim[1])
