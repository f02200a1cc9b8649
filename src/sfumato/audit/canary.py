"""The audit by one run: persons who are planted or not by fair coins, and guesses of those coins from what came out.

Comes in: coins and scores. Goes out: a Verdict. Each planted person is an experiment of her own, so one run of a whole
system, its ledger and its SQL included, says as much as many runs of a part.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sfumato.audit.bounds import epsilon_from_guesses, guessing_p_value
from sfumato.audit.run import MISS, AuditVerdict


def verdict_of_guesses(
    name: str,
    coins: Sequence[bool],
    scores: Sequence[Any],
    *,
    middle: Any,
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
) -> AuditVerdict:
    """Guess "planted" where a score is above `middle`, "not" where it is below, nothing where it is there.

    `middle` is fixed before the run. Half of a person's weight above what is there without her is the natural one.
    """
    guesses = [(score > middle, coin) for score, coin in zip(scores, coins, strict=True) if score != middle]
    right = sum(guess == coin for guess, coin in guesses)
    found = epsilon_from_guesses(len(guesses), right, float(MISS), delta=float(delta), planted=len(coins))
    p_value = guessing_p_value(len(guesses), right, float(epsilon), delta=float(delta), planted=len(coins))
    words = f"{right} of {len(guesses)} coins guessed right, {len(coins)} people planted or not"
    refuted = p_value <= float(MISS) and found > float(epsilon)
    return AuditVerdict(name, epsilon, delta, found, 0.0, refuted, 1, None, words, found)
