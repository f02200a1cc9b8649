"""The referee: claims against the truth, with the base rate, an interval, and the bound of differential privacy.

Comes in: what an attack handed in, and the truth. Goes out: a Report. An accuracy without its base rate says nothing:
whoever guesses the commoner value is right that often without asking.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.attacks.base import AttackResult, Claim, Endpoint, Knowledge, TranscriptEntry
from sfumato.audit.bounds import bound_above, bound_below
from sfumato.words import show

SURE = 0.001
"""An attack has won if so small a chance is left that it did no better than the base rate."""
_FIRST, _LAST, _LONG = 8, 4, 600
"""Questions of a transcript that are kept, from its beginning and its end; characters of one."""


@dataclass(frozen=True)
class AttackReport:
    """One attack on one endpoint."""

    attack: str
    defence: str
    applicable: bool
    reason: str
    queries: int
    refused: int
    spent: Fraction | None
    total: Fraction | None
    asking: float
    thinking: float
    people: int
    claims: int
    right: int
    base_rate: float
    interval: tuple[float, float]
    certain: int
    certain_right: int
    bound: float | None
    succeeded: bool
    worst: tuple[str, ...]
    advice: str
    curve: tuple[tuple[int, float], ...]
    transcript: tuple[tuple[str, str | None], ...] = ()
    trend: float = 0.0

    @property
    def outcome(self) -> str:
        """One of four words."""
        if not self.applicable:
            return "not applicable"
        return "lost" if self.succeeded else "held" if self.claims else "nothing"

    @property
    def rate(self) -> float:
        """How many of the claims are right."""
        return self.right / self.claims if self.claims else 0.0

    @property
    def words(self) -> str:
        """One line for people."""
        if not self.applicable:
            return f"not applicable: {self.reason}"
        if not self.claims:
            return f"nothing: {self.reason}"
        low, high = self.interval
        text = (
            f"{self.right} of {self.claims} right ({100 * self.rate:.1f} %, {100 * low:.1f} to {100 * high:.1f}; "
            f"a guess has {100 * self.base_rate:.1f} %"
        )
        told = self.trend > self.base_rate
        text += f", the others' rows tell {100 * self.trend:.1f} %)" if told else ")"
        return text + (f", {self.certain} certain, {self.certain_right} of them right" if self.certain else "")

    def to_dict(self) -> dict[str, Any]:
        """For programs; `document` says what the fields mean."""
        return {
            "attack": self.attack,
            "defence": self.defence,
            "outcome": self.outcome,
            "words": self.words,
            "applicable": self.applicable,
            "reason": self.reason,
            "queries": self.queries,
            "refused": self.refused,
            "spent": None if self.spent is None else show(self.spent),
            "total": None if self.total is None else show(self.total),
            "seconds": {"asking": round(self.asking, 3), "thinking": round(self.thinking, 3)},
            "people": self.people,
            "claims": self.claims,
            "recovered": self.right,
            "rate": self.rate,
            "base_rate": self.base_rate,
            "trend": self.trend,
            "interval": list(self.interval),
            "certain": self.certain,
            "certain_right": self.certain_right,
            "bound": self.bound,
            "succeeded": self.succeeded,
            "worst": [_short(sql) for sql in self.worst],
            "advice": self.advice,
            "curve": [list(point) for point in self.curve],
            "transcript": [{"sql": _short(sql), "refused": refusal} for sql, refusal in self.transcript],
        }


def referee(
    name: str,
    run: Any,
    endpoint: Endpoint,
    knowledge: Knowledge,
    truth: Sequence[bool],
    *,
    advice: str,
    trend: float = 0.0,
) -> AttackReport:
    """Run one attack and compare what it claims with the truth.

    `trend` is how often the others' rows tell a secret (`trend.rate_of_trend`): an attack wins by doing better than
    that and than a guess; against a promise, by doing better than the promise allows from there.
    """
    start, before = time.process_time(), len(endpoint.log)
    spent = endpoint.spent() if endpoint.spent else None
    found: AttackResult = run(endpoint, knowledge)
    whole = time.process_time() - start
    asked = endpoint.log[before:]
    asking = sum(question.seconds for question in asked)
    right = _right(found.claims, truth)
    claims = len(found.claims)
    certain = [claim for claim in found.claims if claim.certain]
    rate = max(sum(truth), len(truth) - sum(truth)) / len(truth)
    bound = _bound(endpoint, max(rate, trend))
    interval = (bound_below(right, claims, 0.025), bound_above(right, claims, 0.025)) if claims else (0.0, 1.0)
    sure = _right(certain, truth)
    won = bool(claims) and bound_below(right, claims, SURE) > (max(rate, trend) if bound is None else bound)
    shown = bound is None and 0 < sure == len(certain)  # without a promise one proof is enough: who is shown is shown
    ends = [*found.curve, (len(asked), found.claims)] if found.curve else []
    return AttackReport(
        attack=name,
        defence=endpoint.name,
        applicable=found.applicable,
        reason=found.reason,
        queries=len(asked),
        refused=sum(question.rows is None for question in asked),
        spent=None if endpoint.spent is None or spent is None else endpoint.spent() - spent,
        total=endpoint.epsilon,
        asking=asking,
        thinking=max(0.0, whole - asking) if endpoint.clock is time.process_time else whole,
        people=len(truth),
        claims=claims,
        right=right,
        base_rate=rate,
        interval=interval,
        certain=len(certain),
        certain_right=sure,
        bound=bound,
        succeeded=won or shown,
        worst=found.worst[:3],
        advice=advice,
        curve=tuple((queries, _right(some, truth) / claims) for queries, some in ends if some and claims),
        transcript=tuple((question.sql, question.refusal) for question in _some(asked)),
        trend=trend,
    )


def _some(asked: Sequence[TranscriptEntry]) -> Sequence[TranscriptEntry]:
    return asked if len(asked) <= _FIRST + _LAST else [*asked[:_FIRST], *asked[-_LAST:]]


def _short(sql: str) -> str:
    return sql if len(sql) <= _LONG else f"{sql[:_LONG]} … ({len(sql):,} characters)"


def _right(claims: Sequence[Claim], truth: Sequence[bool]) -> int:
    return sum(claim.has == truth[claim.person] for claim in claims)


def _bound(endpoint: Endpoint, rate: float) -> float | None:
    """The most that a private endpoint allows: odds grow by at most e^epsilon for each step between two secrets."""
    if endpoint.epsilon is None:
        return None
    odds = math.exp(min(700.0, float(endpoint.epsilon) * endpoint.between)) * rate / max(1e-12, 1 - rate)
    return odds / (1 + odds)
