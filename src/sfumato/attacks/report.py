"""The referee: claims against the truth, with the base rate, an interval, and the bound of differential privacy.

Comes in: what an attack handed in, and the truth. Goes out: a Report with one of three words. Broken: the attack was
right more often than a guess and than any promise permits, beyond chance, or proved something where nothing is
promised. Allowed: it was right more often than a guess, and the promise itself permits that. Held: it was not.
An accuracy without its base rate says nothing: whoever guesses the commoner value is right that often without asking.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.attacks.base import AttackResult, Bet, Claim, Endpoint, Knowledge, TranscriptEntry
from sfumato.attacks.promise import SURE, chance, most_right, promise_in_words
from sfumato.audit import bound_above, bound_below
from sfumato.types import show

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
    allowed: bool = False
    between: int = 2
    anyway: bool = False

    @property
    def outcome(self) -> str:
        """Broken, allowed or held; or that nothing was claimed, or could be tried."""
        if not self.applicable:
            return "not applicable"
        if not self.claims:
            return "nothing"
        return "broken" if self.succeeded else "allowed" if self.allowed else "held"

    @property
    def unanswered(self) -> bool:
        """Whether it asked, and all that it asked was refused: then nothing was shown, in either direction."""
        return self.applicable and not self.claims and 0 < self.queries == self.refused

    @property
    def rate(self) -> float:
        """How many of the claims are right."""
        return self.right / self.claims if self.claims else 0.0

    @property
    def guess(self) -> float:
        """How often one is right without her row: by the commoner value, or by what everybody else's rows tell."""
        return max(self.base_rate, self.trend)

    @property
    def recovered(self) -> int:
        """People whose secrets must have been known for so many claims to be right, the others being guessed."""
        known = 0 if self.guess >= 1 else round((self.right - self.guess * self.claims) / (1 - self.guess))
        return max(0, self.certain_right, known)

    @property
    def promise(self) -> str | None:
        """What the endpoint's promise permits, in words; None where nothing is promised."""
        if self.total is None:
            return None
        return promise_in_words(float(self.total), self.between, self.base_rate)

    @property
    def short(self) -> str:
        """The outcome in a few words, with the number that decides."""
        if not self.applicable:
            return "–"
        if not self.claims:
            return "not shown: every query was refused" if self.unanswered else "held: nothing claimed"
        if self.succeeded and self.certain and self.interval[0] <= self.base_rate:
            rest = f"; all {self.claims} claims no better than a guess" if self._by_proof_alone else ""
            return f"broken: {self.certain} with certainty{rest}"
        text = f"{self.outcome}: {self.right} of {self.claims} right"
        if self.outcome == "held":
            if self.anyway:
                return f"{text}, also without that row"
            return f"{text}, a guess {100 * self.guess:.0f} %"
        return f"{text} ({100 * self.rate:.0f} %)"

    @property
    def _by_proof_alone(self) -> bool:
        """Whether only the claims with certainty count: all claims together are right no more often than a guess."""
        return self.succeeded and 0 < self.certain < self.claims and self.rate <= self.guess

    @property
    def words(self) -> str:
        """One line for people."""
        if not self.applicable:
            return f"not applicable: {self.reason}"
        if not self.claims:
            refusal = next((text for _, text in self.transcript if text), "")
            return f"nothing: {self.reason}" + (f" ({refusal})" if self.unanswered else "")
        low, high = self.interval
        text = (
            f"{self.right} of {self.claims} right ({100 * self.rate:.1f} %, 95 % interval {100 * low:.1f} % to "
            f"{100 * high:.1f} %; a guess is right {100 * self.base_rate:.1f} % of the time"
        )
        told = self.trend > self.base_rate
        text += f", other people's rows suggest {100 * self.trend:.1f} %)" if told else ")"
        text += f", {self.certain} certain, {self.certain_right} of them right" if self.certain else ""
        return text + self._why()

    def _why(self) -> str:
        """Why a number that looks like success is none, or is one that was permitted."""
        if self.anyway and self.outcome == "held":
            return ": also learnt from everybody else's rows, which no mechanism can prevent and no guarantee covers"
        if self.outcome == "held" and self.rate > self.guess:
            return f": luck alone gets this many right in more than one of {round(1 / SURE):,} trials"
        if self._by_proof_alone:
            return ": broken by the certain claims alone; all claims together are no more accurate than a guess"
        if self.bound is None or self.total is None:
            return ""
        permits = (
            f"under epsilon {float(self.total):g} a claim can be right with probability up to {chance(self.bound)}"
        )
        if self.outcome == "broken":
            return f": more than the guarantee permits; {permits}"
        return f": the guarantee permits this; {permits}" if self.outcome == "allowed" else ""

    def to_dict(self) -> dict[str, Any]:
        """For programs; `document` says what the fields mean."""
        return {
            "attack": self.attack,
            "defence": self.defence,
            "outcome": self.outcome,
            "short": self.short,
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
            "right": self.right,
            "recovered": self.recovered,
            "rate": self.rate,
            "base_rate": self.base_rate,
            "trend": self.trend,
            "interval": list(self.interval),
            "certain": self.certain,
            "certain_right": self.certain_right,
            "bound": self.bound,
            "succeeded": self.succeeded,
            "promise": self.promise,
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
    exact: Callable[[str], int] | None = None,
) -> AttackReport:
    """Run one attack and compare what it claims with the truth.

    `trend` is how often the others' rows tell a secret (`trend.rate_of_trend`): an attack learns something by doing
    better than that and than a guess, and breaks a promise by doing better than the promise permits from there.
    `exact` counts the rows that fulfil a condition, for bets that one does.

    Guarantee: an attack that is right about each person with probability at most that of a guess is called broken or
        allowed at most once in 1000 times, and one that keeps within the promise is called broken at most as often.
    Proof: the people are not chosen by their secrets. Then the number of right claims is at most binomial with that
        probability, and the lower end of its exact interval is above it with probability at most `SURE`.
    Reference: Clopper and Pearson 1934; Steinke, Nasr, Jagielski, Privacy Auditing with One Training Run, 2023.
    Checked by: attacks::a_guess_is_called_held, attacks::what_a_promise_permits_is_not_called_broken
    """
    start, before = time.process_time(), len(endpoint.log)
    spent = endpoint.spent() if endpoint.spent else None
    found: AttackResult = run(endpoint, knowledge)
    whole = time.process_time() - start
    asked = endpoint.log[before:]
    asking = sum(question.seconds for question in asked)
    score = _bets(found.bets, endpoint, truth, exact) if found.bets else _score(found, endpoint, truth, trend)
    right, claims, rate, told, bound = score.right, score.claims, score.rate, score.told, score.bound
    certain = [claim for claim in found.claims if claim.certain]
    interval = (bound_below(right, claims, 0.025), bound_above(right, claims, 0.025)) if claims else (0.0, 1.0)
    sure = _right(certain, truth)
    surely = bound_below(right, claims, SURE) if claims else 0.0
    won = surely > (told if bound is None else bound)
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
        curve=tuple((queries, _right(some, truth) / len(some)) for queries, some in ends if some),
        transcript=tuple((question.sql, question.refusal) for question in _some(asked)),
        trend=0.0 if found.bets else told if found.without else trend,
        allowed=bound is not None and told < surely <= bound,
        between=endpoint.between,
        anyway=bool(found.without),
    )


def _some(asked: Sequence[TranscriptEntry]) -> Sequence[TranscriptEntry]:
    return asked if len(asked) <= _FIRST + _LAST else [*asked[:_FIRST], *asked[-_LAST:]]


def _short(sql: str) -> str:
    return sql if len(sql) <= _LONG else f"{sql[:_LONG]} … ({len(sql):,} characters)"


def _right(claims: Sequence[Claim], truth: Sequence[bool]) -> int:
    return sum(claim.has == truth[claim.person] for claim in claims)


@dataclass(frozen=True)
class _Score:
    """Claims, how many are right, how often a guess is, what is known without her row, what a promise permits."""

    claims: int
    right: int
    rate: float
    told: float
    bound: float | None


def _score(found: AttackResult, endpoint: Endpoint, truth: Sequence[bool], trend: float) -> _Score:
    """Claims about people."""
    rate = max(sum(truth), len(truth) - sum(truth)) / len(truth)
    right, many = _right(found.claims, truth), len(found.without)
    anyway = bound_below(_right(found.without, truth), many, 0.025) if many else 0.0
    told = max(rate, trend, anyway)
    bound = None if endpoint.epsilon is None else most_right(float(endpoint.epsilon), endpoint.between, told)
    return _Score(len(found.claims), right, rate, told, bound)


def _bets(bets: Sequence[Bet], endpoint: Endpoint, truth: Sequence[bool], exact: Callable[[str], int] | None) -> _Score:
    """Bets that one row is singled out: without answers n w (1 - w)^(n - 1), within a promise n w e^epsilon at most."""
    if exact is None:
        return _Score(0, 0, 0.0, 0.0, None)
    rows = exact("1 = 1") or len(truth)
    right = sum(exact(bet.where) == 1 for bet in bets)
    weight = max(bet.weight for bet in bets)
    rate = rows * weight * (1 - weight) ** (rows - 1)
    if endpoint.epsilon is None:
        return _Score(len(bets), right, rate, rate, None)
    bound = min(1.0, rows * weight * math.exp(min(700.0, float(endpoint.epsilon) * endpoint.between)))
    return _Score(len(bets), right, rate, rate, bound)
